"""Rows distinguished: what their leaves in all trees prove by position, where the bags of the trees are known.

What every tree counts of a known resample says for each position which leaves it can lie in; leaves of one row must
share a point. Propagation over both to its end leaves places, from which verdicts, bounds and worlds follow. Without
bags, a tree or table whose leaves hold one row each tells rows apart as well: where the cells are too many, that is the
program row by row which finds a world.

Source: see `solvers.statements.row_problem`, `solvers.positions.assignments.world` and `solvers.positions`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from solvers.cells.system import cells_fit, cells_known
from solvers.cells.worlds import RandomSource
from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import Inconclusive, TooLarge, Unsupported
from solvers.foundation.exact import multinomial_factors
from solvers.foundation.limits import Limits
from solvers.positions.assignments.world import Assigned, assigned, room
from solvers.positions.known_world import (
    DeterminedRows,
    boxed,
    count_placed,
    determined_rows,
    draw_parts,
    draw_placed,
    known_world,
    list_placed,
    values_in,
)
from solvers.positions.verdicts import decide_placed, decide_settled, share_placed
from solvers.statements.questions.answers import Answer, CountAnswer, LocatedAnswer, WorldsAnswer, refuted
from solvers.statements.questions.engine import FEW_CELLS, Engine, no_coupling, unanswered
from solvers.statements.questions.query import (
    Convention,
    Count,
    Decide,
    Enumerate,
    Locate,
    MostLikely,
    Query,
    Sample,
    ShareQuery,
)
from solvers.statements.release import Release
from solvers.statements.row_problem import anchored, bags_with_most

UNKNOWN = "the bags are not known (multiplicities), so that rows cannot be distinguished by position"
ALIKE = "without bootstrap rows cannot be distinguished by position"
ANCHORED = "found row by row, rows distinguished by a tree or table whose leaves hold one each; one of many perhaps"
SEVERAL = "a tree or table distinguishes rows, but leaves more than one data set: other engines say how many"
CELLS = 20_000  # where no more are found in time, engines over cells are asked first
UNSETTLED = "the leaves of some rows are not known, so that its worlds are not all datasets that fit the places of rows"
NOTE = "rows in the order of the training file; the leaves of every row are proved, values inside them drawn"
FOUND = (
    "rows in the order of the training file, one of many worlds: leaves of rows that are not proved were searched for, "
    "values inside them drawn"
)


class AssignmentsEngine(Engine):
    """What follows for every position of the training file."""

    name = "assignments"
    answers = (Locate, Count, Decide, ShareQuery, Enumerate, Sample, MostLikely)
    uses_bags = True
    about = "where bags are known, or a table distinguishes rows: the leaves and places of every row, by its position"

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why rows have no positions, or None."""
        if not release.bags:
            if isinstance(query, Count | Decide | MostLikely) and anchored(release):
                return FEW_CELLS if cells_known(release) else no_coupling(release, query)
            return UNKNOWN if any(part.open_counts for part in release.partitions.values()) else ALIKE
        if isinstance(query, Sample) and query.convention == "multiset":
            return "it draws datasets by position: ask for the convention 'ordered'"
        if isinstance(query, MostLikely):  # which number of a part stands for it makes no difference
            return None
        return no_coupling(release, query)

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return what is left for every row, what follows for a question, or that there is no world."""
        if not release.bags:
            limits = limits.limited()
            if _has_few_cells(release, limits):
                raise Unsupported(FEW_CELLS)
            limits = limits.stage("positions of a tree")
        state = assigned(release, limits, not isinstance(query, Locate) or query.tries)
        if state is None:
            if (size := room(release)) > limits.room:
                most = limits.memory >> 20
                raise TooLarge(f"what is left for every row takes {size >> 20:,} MB, above {most:,} MB (--memory)")
            raise Unsupported(ALIKE)
        if not release.bags:
            return _by_slots(release, state, query, limits)
        conflict = _nowhere(state)
        if conflict:
            return refuted(query, conflict)
        if isinstance(query, Locate):
            return _located_answer(state)
        if isinstance(query, Count):
            return count_placed(state, query.convention, limits)
        known = determined_rows(state, limits)
        if known is not None and known.conflict:
            return Answer("unsat", conflict=(known.conflict,))
        whole = known is not None and known.free and not release.impossible
        if isinstance(query, ShareQuery):
            return share_placed(state, query, whole, limits)
        if isinstance(query, Decide):
            if whole and known:
                return decide_settled(release, known, query, limits)
            return decide_placed(release, state, query, limits)
        if isinstance(query, MostLikely) and (known is None or not known.free):
            return _one_world(release, state, query, limits)
        if isinstance(query, Enumerate | Sample | MostLikely):
            return _worlds(release, known, query, limits)
        raise unanswered(query, self.name)


def _has_few_cells(release: Release, limits: Limits) -> bool:
    """Return whether engines over cells should be asked first: they count the worlds, and prove the heaviest."""
    try:
        return cells_fit(release, replace(limits, cells=min(limits.cells, CELLS)).stage("cells of positions"))
    except Inconclusive:
        return False


def _by_slots(release: Release, state: Assigned, query: Query, limits: Limits) -> Answer:
    """Return what follows where a tree or table distinguishes rows: verdicts, a world, a count where it is alone."""
    if state.contradicted:
        return refuted(query)
    if isinstance(query, Decide):  # what is left for every row holds in all worlds, be they one or many
        return decide_placed(release, state, query, limits)
    if (state.domains.sizes() > 1).any() and not isinstance(query, MostLikely):
        raise Unsupported(SEVERAL)
    seed = getattr(query, "seed", 0)
    found = known_world(state, limits, seed)
    if seed not in found.parts:
        return refuted(query) if found.contradicted else Answer("unknown", trail=(found.reason,))
    parts, known = found.parts[seed], not (state.domains.sizes() > 1).any()
    alone = known and set(boxed(state.problem, values_in(state.problem, parts), limits).sizes) == {1}
    if isinstance(query, MostLikely):
        world = draw_parts(release, parts, "" if alone else ANCHORED, RandomSource(seed))
        return WorldsAnswer("exact", worlds=iter([replace(world, unique=True if alone else None)]))
    if not alone:
        raise Unsupported(SEVERAL)
    if isinstance(query, Count):
        return _orders(query.convention, parts)
    raise unanswered(query, AssignmentsEngine.name)


def _orders(convention: Convention, parts: Ints) -> CountAnswer:
    """Return the number of worlds where the rows are known: one, or as many as they have orders."""
    times = np.unique(parts, axis=0, return_counts=True)[1].tolist()
    factors = multinomial_factors(times) if convention == "ordered" else []
    return CountAnswer.of_rows(convention, len(parts), factors)


def _nowhere(state: Assigned) -> tuple[str, ...]:
    """Return which row has no leaf left, in words; () where all have some."""
    if not state.contradicted:
        return ()
    bags = bags_with_most(state.problem.release.bags).name
    wrong = np.argwhere((state.domains.sizes() == 0) & (state.problem.times.T > 0))
    if not len(wrong):
        return (f"{bags}: the multiplicities and the counts of the trees contradict each other",)
    i, t = wrong[0].tolist()
    return (f"{bags}, tree {t}: no leaf is left for row {i} of the training file, which its bag holds",)


def _worlds(
    release: Release, known: DeterminedRows | None, query: Enumerate | Sample | MostLikely, limits: Limits
) -> Answer:
    """Return worlds where the leaves of every row are known and nothing else was published."""
    if known is None or not known.free:
        raise Unsupported(UNSETTLED)
    rows = known.rows
    single = all(size == 1 for size in rows.sizes)
    if isinstance(query, Enumerate):
        return WorldsAnswer("exact", worlds=list_placed(release, rows, limits))
    random = RandomSource(query.seed)
    number = query.k if isinstance(query, Sample) else 1
    drawn = (draw_placed(release, rows.places, single, NOTE, random) for _ in range(number))
    return WorldsAnswer("exact", worlds=drawn)


def _one_world(release: Release, state: Assigned, query: MostLikely, limits: Limits) -> Answer:
    """Return one world, that there is none, or why none was found."""
    found = known_world(state, limits.limited(), query.seed)
    if query.seed in found.parts:
        world = draw_parts(release, found.parts[query.seed], FOUND, RandomSource(query.seed))
        return WorldsAnswer("exact", worlds=iter([world]))
    return Answer("unsat", conflict=(found.reason,)) if found.contradicted else Answer("unknown", trail=(found.reason,))


def _located_answer(state: Assigned) -> LocatedAnswer:
    """Return what is left for the row at every position."""
    places = state.places
    seen = state.problem.times.T > 0
    known = seen & (state.domains.sizes() == 1)
    share = float(known.sum() / seen.sum()) if seen.any() else 1.0
    sets = dict(places.sets)
    if (label := state.problem.release.domain.label) is not None:
        sets[label] = _labels_left(state, label)
    return LocatedAnswer(
        "exact" if share == 1.0 else "bounds",
        start=places.start.astype(np.int64),
        end=places.end.astype(np.int64),
        sets=sets,
        leaves_proved=share,
        complete=state.complete,
        trail=(state.note,) if state.note else (),
        steps=len(state.steps),
        drawn=seen.sum(axis=1),
        leaves=known.sum(axis=1),
    )


def _labels_left(state: Assigned, label: int) -> Bits:
    """Return (rows, labels): the labels left for every row."""
    places, left = state.places, state.domains.labels()
    at = np.arange(left.shape[1])
    return left & (at >= places.start[:, label, None]) & (at < places.end[:, label, None])
