"""What all published counts say together of groups and classes: proved small or of one class, or that there is none.

Policies ask about the smallest group; the search is asked with their thresholds (`solvers.engines.groups`).

Groups that are proved by position, where known bags tell the rows of the training file apart.

In every world the row at position i lies in its box B_i, a product of values that are left. So of rows in B_i there
are, in every world, at least as many as there are boxes inside B_i, and at most as many as there are that meet it.

Questions of an audit that do not wait for each other: asked here, or on as many processes as there are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from encoders.encode.encoder import EncodedRelease, figures_of
from encoders.encode.marginals import marginals_of
from recon.io.console.guarding import suggestion
from recon.queries.located.placed_rows import PlacedRows
from recon.readers.frames.describe import condition_json, condition_text
from recon.readers.loading.settled import PicklableRelease
from recon.release.policies.facts import (
    FIGURES,
    LISTED,
    AbsentFigure,
    FactTable,
    Help,
    KnownFigure,
    SmallGroups,
    UnknownFigure,
)
from solvers.engines.groups.disclosure import (
    KnownClasses,
    PinnedPeople,
    known_classes,
    known_mixed_world,
    pinned_people,
    smallest_group,
)
from solvers.engines.groups.published import ProvedGroup
from solvers.engines.groups.smallest import UNUSED, SmallestGroup, smallest_by_programs
from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.foundation.parallel.pieces import STARTING, completed_with, running
from solvers.statements.boxes import Box, Region
from solvers.statements.release import UNBOUNDED

if TYPE_CHECKING:
    import pandas as pd

    from recon.release.auditing.matching import Chance

MOST_COMPARED = 1 << 30  # pairs of positions
NAMED = 1_000  # groups that are listed, the smallest first


@dataclass(frozen=True)
class PositionGroups:
    """Groups that are proved by position; every one has a row in every world.

    `groups`: name, where, rows [least, most], the smallest first; `cells`: rows of one class in a group, with `class`.
    `disclosed`: how many rows lie in a group all of whose possible members have one proved class.
    """

    groups: tuple[dict[str, Any], ...] = ()
    cells: tuple[dict[str, Any], ...] = ()
    disclosed: int = 0


def groups_at_positions(found: PlacedRows) -> PositionGroups:
    """Return the groups that positions prove, the `NAMED` smallest of each kind.

    Cost: positions x rows x attributes, and at most `MOST_COMPARED` pairs: beyond, the narrowest boxes alone.
    """
    answer, label = found.answer, found.label
    data = [k for k in range(answer.start.shape[1]) if k != label]
    parts = np.array([len(found.release.cut.cuts[k].inner) + 1 for k in data], dtype=np.int64)
    sets = {i: answer.sets[k] for i, k in enumerate(data) if k in answer.sets}
    boxes = RowBoxes(answer.start[:, data].astype(np.int64), answer.end[:, data].astype(np.int64), parts, sets)
    left = found.labels_left
    rows, cells, disclosed = boxes.counted(left)
    names = () if label is None else [str(found.release.domain.all[label].value(j)) for j in range(left.shape[1])]

    def group(i: int, ends: tuple[int, int]) -> dict[str, Any]:
        literals = tuple((data[k], mask) for k, mask in boxes.masks(i))
        where = condition_text(found.release.cut, Box(literals))
        return {"name": f"who is at position {i} of the training file", "where": where, "rows": [*ends]}

    smallest = sorted(rows.items(), key=lambda one: (one[1][1], one[1][0]))[:NAMED]
    classes = sorted(cells.items(), key=lambda one: (one[1][1], one[1][0]))[:NAMED]
    return PositionGroups(
        tuple(group(i, ends) for i, ends in smallest),
        tuple(group(i, ends) | {"class": names[int(np.argmax(left[i]))]} for i, ends in classes),
        disclosed,
    )


@dataclass(frozen=True, eq=False)
class RowBoxes:
    """Boxes of parts, (rows, attributes) from `start` to before `end`; `sets[attribute]` (rows, parts): of those, left.

    `parts` (attributes,): how many there are.
    """

    start: Ints
    end: Ints
    parts: Ints
    sets: Mapping[int, Bits]

    def counted(self, left: Bits) -> tuple[dict[int, tuple[int, int]], dict[int, tuple[int, int]], int]:
        """Return least and most rows in each different box, and in each with its class where it is proved.

        Boxes, and boxes with a class, by the first row that has them. Last: how many rows have a class that all share
        who may be in their box. `left` (rows, labels): the labels that each row may have.
        """
        narrow = np.log2(np.maximum(self.end - self.start, 1) / self.parts)
        order = np.argsort(narrow.sum(axis=1), kind="stable")[: max(1, MOST_COMPARED // max(1, len(narrow)))]
        rows: dict[int, tuple[int, int]] = {}
        cells: dict[int, tuple[int, int]] = {}
        known, seen, done = left.sum(axis=1) == 1, {}, set()
        disclosed = 0
        for i in order.tolist():
            key = self.start[i].tobytes() + self.end[i].tobytes() + b"".join(s[i].tobytes() for s in self.sets.values())
            if key not in seen:
                seen[key] = self.near(i, np.argsort(narrow[i], kind="stable").tolist())
                rows[i] = int(seen[key][1].sum()), len(seen[key][0])
            if not known[i]:
                continue
            at, inside = seen[key]
            may = (left[at] & left[i]).any(axis=1)
            disclosed += bool((may & known[at]).all())
            if (key, left[i].tobytes()) not in done:
                done.add((key, left[i].tobytes()))
                cells[i] = int((inside & may & known[at]).sum()), int(may.sum())
        return rows, cells, disclosed

    def near(self, i: int, order: Sequence[int]) -> tuple[Ints, Bits]:
        """Return the rows whose boxes meet the one of row i, and which of these boxes lie inside it."""
        at: Ints = np.arange(len(self.start))
        for k in order:
            at = at[(self.start[at, k] < self.end[i, k]) & (self.end[at, k] > self.start[i, k])]
            if k in self.sets:
                at = at[(self.own(at, k) & self.own(i, k)).any(axis=1)]
        inside: Bits = ((self.start[at] >= self.start[i]) & (self.end[at] <= self.end[i])).all(axis=1)
        for k in self.sets:
            inside &= ~(self.own(at, k) & ~self.own(i, k)).any(axis=1)
        return at, inside

    def own(self, at: int | Ints, k: int) -> Bits:
        """Return the parts of attribute k, one of `sets`, that are left of a row, or of each of several."""
        place = np.arange(self.parts[k])
        first, behind = np.asarray(self.start[at, k])[..., None], np.asarray(self.end[at, k])[..., None]
        return np.asarray(self.sets[k][at] & (place >= first) & (place < behind))

    def masks(self, i: int) -> list[tuple[int, int]]:
        """Return the box of a row as attributes with bit masks of parts; those that leave all parts not."""
        out = []
        for k, full in enumerate(self.parts.tolist()):
            if k in self.sets:
                mask = sum(1 << int(p) for p in np.flatnonzero(self.own(i, k)))
            else:
                mask = (1 << int(self.end[i, k])) - (1 << int(self.start[i, k]))
            if mask != (1 << full) - 1:
                out.append((k, mask))
        return out


SMALL_GROUP = 10  # rows, where no policy says
REGIONS = 3  # of a group in words
SMALLER = "smaller ones were not searched for"
NOT_ASKED = "what all counts say together was not worked out"


@dataclass(frozen=True, eq=False)
class JointDisclosure:
    """The smallest group with labels left out and kept, the people whose class follows, and those pinned down.

    None: not asked.
    """

    group: SmallestGroup | None = None
    cell: SmallestGroup | None = None
    classes: KnownClasses | None = None
    pinned: PinnedPeople | None = None

    @property
    def always(self) -> frozenset[str]:
        """Return the figures that hold whatever else leaf values say about the cells, see `Items.never_small`."""
        every = {"smallest_group": self.group, "smallest_cell": self.cell, "class_disclosure": self.classes,
                 "pinned": self.pinned}  # fmt: skip
        return frozenset(key for key, one in every.items() if one is not None and one.always)


def judged_by_programs(release: EncodedRelease, thresholds: Mapping[str, Any], limits: Limits) -> JointDisclosure:
    """Return the small cell, or where the policy has no such threshold the small group, that leaf values soon prove."""
    statements, labelled = release.statements, release.domain.label is not None
    if isinstance(k := thresholds.get("smallest_cell"), int) and labelled:
        return JointDisclosure(cell=smallest_by_programs(statements, k, limits, True))
    k = thresholds.get("smallest_group")
    return JointDisclosure(smallest_by_programs(statements, k, limits) if isinstance(k, int) else None)


def judged_together(
    release: EncodedRelease, thresholds: Mapping[str, Any], limits: Limits, early: bool = False
) -> JointDisclosure:
    """Return what the counts say together, as far as thresholds by their keys (without: 10 rows, no class) need it.

    `early`: nothing else is asked where the smallest cell is proved to be too small.
    """

    def asked(key: str, otherwise: int) -> int:
        value = thresholds.get(key)
        return value if isinstance(value, int) else otherwise

    def some(stage: str = "groups together") -> Limits:
        return limits.stage(stage)

    statements, labelled = release.statements, release.domain.label is not None
    group, cell = asked("smallest_group", SMALL_GROUP), asked("smallest_cell", SMALL_GROUP)

    @cache
    def mixed() -> Ints | None:
        return known_mixed_world(statements, max(group, cell), some())

    cells = smallest_group(statements, cell, some(), True, mixed) if labelled else None
    if early and cells is not None and cells.high < cell and "smallest_cell" in thresholds:
        return JointDisclosure(cell=cells)
    met = cells is not None and cells.low >= cell
    groups = smallest_group(statements, group, some(), mixed=mixed if met else None)
    classes = known_classes(statements, asked("class_disclosure", 0), some(), mixed if met else None)
    return JointDisclosure(
        groups,
        cells,
        classes,
        _pinned_together(release, asked("most_pinned", 0), some("pinned together"), mixed if met else None),
    )


def _pinned_together(
    release: EncodedRelease, most: int, limits: Limits, mixed: Callable[[], Ints | None] | None
) -> PinnedPeople | None:
    """Return how many people all counts together pin down; None where rows have no number of possible values."""
    figures, label = figures_of(release), release.domain.label
    open_values = bool(release.domain.continuous) or release.statements.single is not None
    if any(label is None or not open_values or one.column != label.name for one in figures):
        return _pinned_by_columns(release, most, limits)
    if open_values:
        return None
    return pinned_people(release.statements, most, limits, None if mixed is None else mixed())


def _pinned_by_columns(release: EncodedRelease, most: int, limits: Limits) -> PinnedPeople:
    """Return how many people all counts and all figures of single columns pin down.

    Of these it is proved what worlds prove: nobody is shown to be pinned down.
    """
    from solvers.engines.marginal_worlds import pinned_beside

    try:
        return pinned_beside(release.statements, marginals_of(release), most, limits)
    except (Unsupported, ReleaseError) as error:
        return PinnedPeople(0, UNBOUNDED, why=str(error))


def with_together(release: EncodedRelease, facts: FactTable, found: JointDisclosure | None) -> FactTable:
    """Return the facts with what the counts say together; where that was not asked, nothing is proved not to exist."""
    found = found or JointDisclosure()
    for key, one in (("smallest_group", found.group), ("smallest_cell", found.cell)):
        facts = _with_smallest(release, facts, key, one)
    facts = facts if found.classes is None else _with_classes(release, facts, found.classes)
    return facts if found.pinned is None else _with_pinned(release, facts, found.pinned)


def _with_smallest(release: EncodedRelease, facts: FactTable, key: str, found: SmallestGroup | None) -> FactTable:
    """Return the facts with the smallest group as it is proved."""
    figure, listed = facts[key], facts.listed(key)
    if isinstance(figure, AbsentFigure) or (found is None and not isinstance(figure, KnownFigure)):
        return facts
    high = figure.high if isinstance(figure, KnownFigure) else None
    if found is None:
        return _with_listed(facts, key, KnownFigure(1, high, NOT_ASKED), replace(listed, further=NOT_ASKED))
    if found.high < UNBOUNDED:
        high = found.high if high is None else min(high, found.high)
    low = found.low if found.low < UNBOUNDED else facts.everybody or 0
    low = low if high is None else min(low, high)
    proved = found.group
    if proved is not None and not proved.published and proved.high == high:
        listed = replace(listed, each=[_place(release, proved), *listed.each][:LISTED], in_all=(listed.in_all or 0) + 1)
    if low == high or (low > 1 and not found.why):
        return _with_listed(facts, key, KnownFigure(low, high), replace(listed, further=""))
    why = found.why or SMALLER
    if not isinstance(figure, KnownFigure) and high is None:
        return facts
    return _with_listed(facts, key, KnownFigure(low, high, why, _help_of(found.why)), replace(listed, further=why))


def _help_of(why: str) -> Help:
    """Return what would settle a search that ended early: more time or cells; nothing where figures are not used."""
    return "" if why in {"", UNUSED} else "limits"


def _with_listed(facts: FactTable, key: str, figure: KnownFigure, listed: SmallGroups) -> FactTable:
    return replace(facts.with_figure(key, figure), groups={**facts.groups, FIGURES[key].groups: listed})


def _with_classes(release: EncodedRelease, facts: FactTable, found: KnownClasses) -> FactTable:
    """Return the facts with the people whose class follows from all counts together."""
    key = "class_disclosure"
    figure, listed = facts[key], facts.listed(key)
    if isinstance(figure, AbsentFigure):
        return facts
    known = figure if isinstance(figure, KnownFigure) else KnownFigure(0, release.rows.high, found.why)
    low, tops = max(known.low, found.low), [known.high, None if found.high >= UNBOUNDED else found.high]
    high = min((one for one in tops if one is not None), default=None)
    high = None if high is None else max(low, high)
    if found.why and not isinstance(figure, KnownFigure) and not found.low:
        return facts
    if found.low > known.low:
        label = release.domain.label
        more = [
            _place(release, group) | {"class": str(label.value(number)) if label is not None else None}
            for number, group in found.groups
        ]
        listed = replace(listed, each=[*more, *listed.each][:LISTED], in_all=(listed.in_all or 0) + len(more))
    settled = low == high or not found.why
    why, help = ("", "") if settled else (found.why or known.why, _help_of(found.why))
    return _with_listed(facts, key, KnownFigure(low, high, why, help), listed)  # type: ignore[arg-type]


def _with_pinned(release: EncodedRelease, facts: FactTable, found: PinnedPeople) -> FactTable:
    """Return the facts with the people whom all counts together pin down, where that says more than is known."""
    figure, everybody = facts["pinned"], release.rows.high
    if not isinstance(figure, KnownFigure | UnknownFigure):
        return facts
    why, help = (figure.why, figure.help) if figure.why else (found.why, _help_of(found.why))
    known = figure if isinstance(figure, KnownFigure) else KnownFigure(0, everybody)
    if isinstance(figure, KnownFigure) and figures_of(release):  # who is not pinned down by counts may be with these
        known, why = replace(known, high=everybody), found.why
        help = "domain" if release.domain.continuous else _help_of(why)
    low = max(known.low, found.low)
    highs = [high for high in (known.high, found.high) if high is not None and high < UNBOUNDED]
    high = max(low, min(highs)) if highs else None
    if isinstance(figure, UnknownFigure) and (low, high) == (0, everybody):
        return facts
    return facts.with_figure("pinned", KnownFigure(low, high) if low == high else KnownFigure(low, high, why, help))


def _place(release: EncodedRelease, group: ProvedGroup) -> dict[str, Any]:
    """Return a proved group as facts list it: `where` in words, `how` with the condition that `recon bound` takes."""
    shown = [_region_text(release, one) for one in group.regions[:REGIONS]]
    more = f" or {len(group.regions) - REGIONS:,} more" if len(group.regions) > REGIONS else ""
    where = (shown[0] if len(shown) == 1 else " or ".join(f"({text})" for text in shown)) + more
    high = None if group.high >= UNBOUNDED else group.high
    return {"name": group.source, "where": where, "rows": [group.low, high], "how": _proof(release, group)}


def _proof(release: EncodedRelease, group: ProvedGroup) -> str:
    """Return how a group is proved, with the condition on which `recon bound` agrees where one condition says it."""
    alone = group.regions[0] if len(group.regions) == 1 and not group.regions[0].minus else None
    condition = None if alone is None else condition_json(release.cut, alone.box)
    text = "in every possible world it has so many rows"
    if condition is None:
        return text
    files = release.files if release.files and "-" not in release.files else ["FILE"]
    return f"{text}: {suggestion('bound', files, {'--where': json.dumps(condition)})}"


def _region_text(release: EncodedRelease, region: Region) -> str:
    """Return a region in words."""
    text = condition_text(release.cut, region.box)
    return " and ".join([text, *(f"not ({condition_text(release.cut, box)})" for box in region.minus)])


def proofs(release: EncodedRelease, found: JointDisclosure) -> list[tuple[str, str]]:
    """Return how each figure is proved, in words: by a group, by worlds, or that it is open; (what, status)."""
    out = []
    for name, one in (("smallest group", found.group), ("smallest cell", found.cell)):
        if one is None:
            continue
        if one.always:
            out.append((f"{name}: in every possible world each cell has no row or at least {one.low:,}", "proved"))
        if one.world is not None and one.low > 1:
            out.append((f"{name}: {_world_text(one)}", "proved"))
        if one.group is not None and not one.group.published:
            told = _place(release, one.group)
            out.append((f"{name}: {told['where']}: {told['how']}", "proved"))
        if one.why:
            out.append((f"{name}: {one.why}", "open"))
    if found.classes is not None and found.classes.always:
        text = "in every possible world each cell that can have rows has some of two classes"
        out.append((f"classes that follow: {text}", "proved"))
    if (classes := found.classes) is not None and classes.world is not None:
        inside, rows = classes.world
        text = f"one possible world of {rows:,} rows has {inside:,} of them where nothing but one class is known of"
        out.append((f"classes that follow: {text}", "proved"))
    if (pinned := found.pinned) is not None and pinned.worlds and not pinned.why:
        text = f"{pinned.worlds:,} possible worlds have {pinned.high:,} people in common whose every value is known"
        text += ", and the published figures of single columns" if figures_of(release) else ""
        out.append((f"people fully known: {text}", "proved"))
    return out


def _world_text(found: SmallestGroup) -> str:
    """Return what worlds say that leave no smaller group."""
    assert found.world is not None
    if found.world.worlds == 1:
        cells = f"{found.world.items:,} cells with rows, the smallest of {found.world.fewest:,}"
        return f"one possible world has {cells}, so that no group that is never empty has fewer"
    return f"{found.world.worlds:,} possible worlds leave no group of fewer than {found.low:,} rows that is never empty"


@dataclass(frozen=True)
class AuditContext:
    """What the questions of one audit start from; it travels once to every process.

    `truth` are the true rows, `population` other rows of the same kind, as users give them (None: not given). Their
    indices are worked out where they are needed, once.
    """

    about: PicklableRelease
    truth: pd.DataFrame | None = None
    population: pd.DataFrame | None = None
    seed: int = 0

    @property
    def release(self) -> EncodedRelease:
        """Return the release with what its leaf values prove."""
        return self.about.release

    @cached_property
    def rows(self) -> pd.DataFrame:
        """Return the true rows by the names of the domain; `ReleaseError` where they leave an attribute out."""
        from recon.readers.frames.describe import named_like
        from recon.readers.frames.selections import whole_rows
        from recon.readers.frames.world import demand_attributes

        assert self.truth is not None
        found = whole_rows(named_like(self.truth, self.release.domain)[0], self.release.domain)
        demand_attributes(self.release, found)  # whoever asks first for them says so, in the same words
        return found

    @cached_property
    def real(self) -> NDArray[Any]:
        """Return the value indices of the true rows."""
        from recon.readers.frames.selections import raw_indices

        return raw_indices(self.release.domain, self.rows)

    @cached_property
    def chance(self) -> Chance:
        """Return what is right without the release."""
        from recon.readers.frames.describe import named_like
        from recon.readers.frames.selections import raw_indices
        from recon.release.auditing.matching import Chance

        people, domain = self.population, self.release.domain
        drawn = None if people is None else raw_indices(domain, named_like(people, domain)[0])
        return Chance(self.real, [a.total for a in self.release.cut.solver.attributes], drawn, seed=self.seed)


K = TypeVar("K", bound=Hashable)


Question = tuple[Callable[[AuditContext, Any, Limits], Any], Any]  # a function of a module, and what it is given


def _answer_question(asked: AuditContext, question: Question, limits: Limits) -> Any:
    """Return the answer to one question."""
    function, given = question
    return function(asked, given, limits)


class QuestionBatch:
    """Asks the questions of one audit; as long as they take no time no process is started for them.

    `large`: they will take time, so that they are handed out at once.
    """

    def __init__(self, asked: AuditContext, limits: Limits, large: bool = False) -> None:
        self.asked, self.limits, self.alone = asked, limits, 0.0 if large else STARTING

    def answers(self, questions: Mapping[K, Question], what: str, needed: bool = True) -> dict[K, Any]:
        """Return the answers to questions by their names; they are handed out in their order.

        Those that limits left out are asked here when the others are done, and say themselves what they can within no
        time; they have no answer where they are not `needed`.
        """
        names, pieces = list(questions), list(questions.values())
        alone = 0.0 if running(self.limits) else self.alone
        found = {
            names[k]: x
            for k, x in completed_with(self.asked, _answer_question, pieces, self.limits, what=what, alone=alone)
        }
        if needed:
            found.update(
                (name, _answer_question(self.asked, questions[name], self.limits))
                for name in names
                if name not in found
            )
        return found
