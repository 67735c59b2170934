"""Stored survival trees and forests of scikit-survival: the regression trees that they are, a curve in every node.

A node has the cumulative hazard and the survival of its rows at each of the training times. In a tree that saw every
row once they are a curve with sixteen digits of a known number of people: its events and people at risk are solved as
those of printed curves (`recon.readers.formats.statistics.survival_curves`). In a bootstrapped tree they are of drawn
rows, so that an event proves one row.

Source: scikit-survival 0.28, tree/tree.py (`_fit`) and tree/_criterion.pyx.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Condition
from encoders.domain.values import Categorical, Test, Value, equals, plain_number
from encoders.models.models import AnyModel, PublishedFigure, Table, UnusedPublication
from recon.readers.formats.drafts.binding import Binder, Feature
from recon.readers.formats.drafts.drafts import Draft, bind
from recon.readers.formats.sklearn.trees import trees
from recon.readers.formats.sklearn.trees.draft import TreesDraft
from recon.readers.formats.statistics.risk_sets import CurveStep, possible_pairs
from recon.readers.formats.statistics.survival_curves import EVENT, TIME, Curve, placed_figures
from recon.readers.stored.objects.raw import Name
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError

REGRESSORS = {  # what reads the nodes
    "SurvivalTree": "DecisionTreeRegressor",
    "ExtraSurvivalTree": "ExtraTreeRegressor",
    "RandomSurvivalForest": "RandomForestRegressor",
    "ExtraSurvivalTrees": "ExtraTreesRegressor",
}
KINDS = tuple(REGRESSORS)
MAX_PROVED = 10_000  # events in leaves of bootstrapped trees that are stated
NEAR = 1e-11  # what double precision may have moved a curve, and less than a person moves a hazard
ROUNDS = 3  # of looking how many rows a leaf has at most
MAX_SOLVED = 100_000_000  # events in leaves times rows, where leaves do not say how many rows they have
CURVES = "the curves of its nodes"
BEGUN = "observation began at the same time for everybody"
NAMED_ALIKE = f"a column of the data is called '{TIME}' or '{EVENT}', as what they are about is"
Times = tuple[tuple[Value, bool | None], ...]
LOW_MEMORY = "the tree was fitted with low_memory: it has a risk in every node, and no curve"


@dataclass(frozen=True, eq=False)
class SurvivalDraft(TreesDraft):
    """Trees of sizes, and what the curves of nodes and the list of training times say of times and events.

    `curves`: by tree and node (None: no event in it), of one tree all nodes, of several their leaves and a root;
    `times` of all rows, and at which of them somebody had the event (None: not known).
    """

    curves: tuple[tuple[int, int, Curve | None], ...] = ()
    times: Times = ()

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the trees, where their nodes have sizes, and a table of the times and of the curves of the leaves."""
        stated = list(self._of_times())
        paths = [trees.node_conditions(t, [f.name for f in self.features], self.sets) for t in self.trees]
        misplaced = self.misplaced and any(a.missing for a in binder.domain.attributes)
        most = {} if misplaced else self._largest_nodes()
        for number, node, curve in () if misplaced else self.curves:
            stated += self._of_node(paths[number][node], node, curve, most.get((number, node)))
        table = Table(placed_figures(stated, binder), "times and events", origin=self.origin)
        counted = all((one.counts.size >= 0).all() for one in self.trees)
        return (*(super().bound(binder) if counted else ()), replace(bind(table, binder), origin=self.origin))

    def _of_times(self) -> Iterator[PublishedFigure]:
        """Yield who leaves when, of all rows: somebody at every time that is listed, nobody at another."""
        before: Value | None = None
        for time, event in self.times:
            here = ((TIME, equals(time)),)
            gap = Test(low=before, low_open=before is not None, high=time, high_open=True)
            yield PublishedFigure(((TIME, gap),), count=0, name=f"nobody leaves, time {gap}")
            yield PublishedFigure(here, low=1, name=f"somebody leaves at {time}")
            had = (*here, (EVENT, equals(1)))
            if event is not None:
                yield (
                    PublishedFigure(had, low=1) if event else PublishedFigure(had, count=0, name=f"no event at {time}")
                )
            before = time
        if before is not None:
            yield PublishedFigure(((TIME, Test(low=before, low_open=True)),), count=0, name=f"nobody after {before}")

    @property
    def solved(self) -> bool:
        """Return whether the pairs behind the curves are looked for: of rows that were drawn once, few enough."""
        work = sum(len(one.times) for _, _, one in self.curves if one is not None and one.rows is None)
        return (
            not (self.resampled and self.replaced) and work * (0 if self.rows is None else self.rows.low) <= MAX_SOLVED
        )

    def _largest_nodes(self) -> dict[tuple[int, int], int]:
        """Return how many rows leaves that do not say it have at most: what the others of their tree leave."""
        rows = 0 if self.rows is None else self.rows.low
        open_leaves = [(number, node, one) for number, node, one in self.curves if one is None or one.rows is None]
        most = dict.fromkeys(((number, node) for number, node, _ in open_leaves), rows)
        for _ in range(ROUNDS if self.solved else 0):
            least = {
                (number, node): 1
                if one is None
                else int(possible_pairs(one.steps, most[number, node], False)[0][1].min())
                for number, node, one in open_leaves
            }
            every = Counter[int]()
            for (number, _), size in least.items():
                every[number] += size
            found = {at: min(most[at], rows - every[at[0]] + size) for at, size in least.items()}
            if found == most:
                break
            most = found
        return most

    def _of_node(self, path: Condition, node: int, curve: Curve | None, most: int | None) -> list[PublishedFigure]:
        """Return what the curve of a node of at most so many rows says; of some of them, drawn once, least numbers."""
        if curve is None:
            none = PublishedFigure((*path, (EVENT, equals(1))), count=0, name=f"no event in node {node}")
            return [] if self.resampled else [none]
        if not self.solved:
            return [
                PublishedFigure((*path, (TIME, equals(t)), (EVENT, equals(1))), low=1, name=f"event at {t}")
                for t in curve.times
            ]
        found = replace(curve, where=path).figures(most)[0]
        if not self.resampled:
            return found
        least = [(one, int(one.low or 0) if one.count is None else int(one.count)) for one in found]
        return [PublishedFigure(one.condition, low=low, name=one.name) for one, low in least if low]


def read(thing: Thing, form: str) -> Draft:
    """Return the draft of a fitted survival tree or forest. Cost: linear in nodes times training times.

    Raises `ReleaseError` for arrays that make no tree or no curve.
    """
    times, found = _training_times(thing), _as_regressor(thing)
    draft = trees.read(found, form)
    assert isinstance(draft, TreesDraft)
    names = [f.name for f in draft.features]
    every = thing.get("estimators_") if thing.has("estimators_") else [thing]
    curves, why = list[tuple[int, int, Curve | None]](), ""
    for number, (one, counted) in enumerate(zip(every, draft.trees, strict=True)):
        values = one.get("tree_").get("values")
        if values.shape[1:] != (len(times), 2):
            why = LOW_MEMORY
        elif not counted.arrays.unweighted and not draft.resampled:
            why = "rows were weighted"
        else:
            at = np.flatnonzero(counted.arrays.leaf | (len(draft.trees) == 1)).tolist()
            at += [0] if not number and not draft.resampled and 0 not in at else []
            sizes = counted.arrays.rows
            curves += [
                (
                    number,
                    k,
                    node_curve(values[k, :, 0], values[k, :, 1], times, int(sizes[k]), f"tree_, node {k}", sized=True),
                )
                for k in at
            ]
    if {TIME, EVENT} & set(names):
        curves, times, why = [], (), NAMED_ALIKE
    events = sum(len(curve.times) for _, _, curve in curves if curve is not None)
    if draft.resampled and curves:
        why = "they are of drawn rows: that each event was somebody's in its leaf is stated, and no more"
        curves = curves if events <= MAX_PROVED else []
    unused = (UnusedPublication(CURVES, why, about="rows"),) if why else ()
    origin = replace(
        draft.origin,
        format=f"scikit-survival {thing.class_name} ({form})",
        notes=(*draft.origin.notes, BEGUN),
        unused=unused,
        learner=None,
    )
    own = {f.name: getattr(draft, f.name) for f in fields(TreesDraft)}
    hints = {TIME: Categorical(TIME, tuple(t for t, _ in times)), EVENT: Categorical(EVENT, (0, 1))} if times else {}
    more = tuple(Feature(name, name) for name in hints)
    said = tuple(note for note in draft.reader_notes if not note.startswith(("a regression tree", "its values")))
    own |= {"origin": origin, "features": (*draft.features, *more), "hints": hints, "reader_notes": said}
    return SurvivalDraft(**own, curves=tuple(curves), times=times)


def _training_times(thing: Thing) -> Times:
    """Return the different times of the training rows in order, and whether each is one of an event."""
    times, events = thing.get("unique_times_"), thing.get("is_event_time_")
    if not isinstance(times, np.ndarray) or times.ndim != 1 or times.dtype.kind != "f" or not len(times):
        raise ReleaseError("has no list of the training times: it is not fitted", place="unique_times_")
    if not isinstance(events, np.ndarray) or events.dtype.kind != "b" or events.shape != times.shape:
        raise ReleaseError("does not say which times are of events", place="is_event_time_")
    if not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise ReleaseError("has times that do not ascend", place="unique_times_")
    return tuple((plain_number(Fraction(t)), e) for t, e in zip(times.tolist(), events.tolist(), strict=True))


def _as_regressor(thing: Thing) -> Thing:
    """Return a model as the regression trees that read its nodes, without the values of its curves."""
    state = {**thing.fields(), "n_outputs_": 1}
    members, tree = thing.get("estimators_"), thing.get("tree_")
    if isinstance(members, list):
        state["estimators_"] = [_as_regressor(one) if isinstance(one, Thing) else one for one in members]
    if isinstance(tree, Thing):
        values = tree.get("values")
        if not isinstance(values, np.ndarray) or values.ndim != 3 or values.dtype.kind != "f":
            raise ReleaseError("has no array of values per node and time", place="tree_")
        none = np.zeros((len(values), 1, 1))
        state["tree_"] = Thing(tree.callable, tree.how, tree.args, tree.kwargs, {**tree.fields(), "values": none})
    name = Name("sklearn.tree", REGRESSORS.get(thing.class_name, thing.class_name))
    return Thing(name, thing.how, (), {}, state)


def node_curve(
    hazard: NDArray[np.float64], survival: NDArray[np.float64] | None, times: Times, rows: int, place: str,
    sized: bool = False,
) -> Curve | None:  # fmt: skip
    """Return the curve of a node of at most so many rows (`sized`: of so many); None where nobody had the event.

    Raises `ReleaseError` naming the place for hazards that fall, and events at a time at which nobody had one.
    """
    wrong = survival is not None and (not np.isfinite(survival).all() or (survival < -NEAR).any())
    if wrong or not np.isfinite(hazard).all() or (np.diff(hazard, prepend=0.0) < -NEAR).any():
        raise ReleaseError("has hazards that fall, or are no numbers", place=place)
    at = np.flatnonzero(np.diff(hazard, prepend=0.0) > 1 / (2 * max(rows, 1) ** 2)).tolist()
    other = next((k for k in at if times[k][1] is False), None)
    if other is not None:
        raise ReleaseError(f"has an event at {times[other][0]}, where nobody had one", place=place)
    steps = tuple(
        CurveStep(
            f"{place}, time {times[k][0]}",
            None if survival is None else (float(survival[k]) - NEAR, float(survival[k]) + NEAR),
            (float(hazard[k]) * (1 - NEAR) - NEAR, float(hazard[k]) * (1 + NEAR) + NEAR),
        )
        for k in at
    )
    name = f" of {place.rpartition(', ')[2]}"
    return Curve((), tuple(times[k][0] for k in at), steps, name, rows=rows if sized else None) if at else None
