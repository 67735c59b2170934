"""In how many rows a profile can be, and must be, from what is left for every row distinguished.

A row of a world lies in one of the values left for it in every tree that saw it, and in its place, which all of them
leave. So it is in a box only where some value left in every such tree meets the box and the place does; and it surely
is where the place lies inside. A leaf holds no more different rows than its counts allow, and no fewer.

Cost: of a box, values times the attributes that it names, and rows times packed words.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from solvers.cells.system import Space
from solvers.foundation.array_types import Bits, Floats, Ints
from solvers.foundation.exact import log_absent_multiset
from solvers.foundation.limits import Limits
from solvers.histograms.partition_membership import PriorMembership
from solvers.positions.assignments.domains import Places
from solvers.positions.assignments.world import Assigned
from solvers.positions.known_world import DeterminedRows, known_world, numbers_of, places_of, values_in
from solvers.statements.boxes import Box
from solvers.statements.questions.answers import DecideAnswer, ShareAnswer, settled_share
from solvers.statements.questions.query import Decide, Selections, ShareQuery
from solvers.statements.release import ANY_LABEL, Release

NEARLY = float(np.nextafter(1.0, 0.0))  # a share below 1 that rounding made 1
STEPS = 16  # boxes between two looks at the clock


def _allowed_parts(mask: int, parts: int) -> Bits:
    bits = np.frombuffer((mask & ((1 << parts) - 1)).to_bytes((parts + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(bits, bitorder="little")[:parts].astype(bool)


@dataclass(frozen=True, eq=False)
class PartRegions:
    """Some regions, each a run of parts per attribute, or for attributes in `sets` any parts; see `Places`."""

    start: Ints
    end: Ints
    sets: dict[int, Bits]

    def meet(self, box: Box, parts: tuple[int, ...]) -> tuple[Bits, Bits]:
        """Return which regions may share a point with a box, and which lie inside."""
        meets, within = np.ones(len(self.start), dtype=bool), np.ones(len(self.start), dtype=bool)
        for k, mask in box.literals:
            allowed = _allowed_parts(mask, parts[k])
            if k in self.sets:
                meets &= (self.sets[k] & allowed).any(axis=1)
                within &= ~(self.sets[k] & ~allowed).any(axis=1)
                continue
            before = np.concatenate([[0], np.cumsum(allowed)])
            inside = before[self.end[:, k]] - before[self.start[:, k]]
            meets &= inside > 0
            within &= inside == self.end[:, k] - self.start[:, k]
        return meets, within


@dataclass(frozen=True, eq=False)
class Membership:
    """What boxes are met with: the values of all trees, the places of all rows, and what is left of either for each.

    `single` (V,): how many rows surely lie in a value. `first`: where the words of `trees` that have values begin.
    """

    state: Assigned
    values: PartRegions
    places: PartRegions
    single: Ints
    seen: Bits
    trees: Ints
    first: Ints

    @classmethod
    def of(cls, state: Assigned) -> Membership:
        """Return the tables of a state."""
        problem, places, packing = state.problem, state.places, state.domains.packing
        single = np.zeros(len(problem.tree), dtype=np.int64)
        for t in range(problem.trees):
            left = state.domains.of_tree(t)
            single[list(problem.values(t))] = left[left.sum(axis=1) == 1].sum(axis=0)
        trees = np.flatnonzero(np.diff(packing.first))
        values = PartRegions(problem.start.astype(np.int64), problem.end.astype(np.int64), problem.sets)
        seen = problem.times.T[:, trees] > 0
        return cls(state, values, _regions_of(places), single, seen, trees, packing.first[:-1][trees])

    def can(self, box: Box) -> tuple[Bits, Bits]:
        """Return which rows can lie in a box, and which values meet it."""
        parts = self.state.problem.parts
        hit, _ = self.values.meet(box, parts)
        found, _ = self.places.meet(box, parts)
        if box.empty:
            return np.zeros_like(found), np.zeros_like(hit)
        if len(self.trees) and found.any():
            kept = (self.state.domains.words[found] & self.words(hit)) != 0
            some = np.logical_or.reduceat(kept, self.first, axis=1)
            found[found] = (some | ~self.seen[found]).all(axis=1)
        return found, hit

    def must(self, box: Box) -> Bits:
        """Return which rows surely lie in a box."""
        _, within = self.places.meet(box, self.state.problem.parts)
        return within & (not box.empty)

    def most(self, box: Box) -> int:
        """Return how many rows at most lie in a box."""
        problem = self.state.problem
        can, hit = self.can(box)
        held = np.bincount(problem.tree, weights=np.where(hit, problem.high, 0), minlength=problem.trees)
        inside = (can[:, None] & self.seen).sum(axis=0)
        bound = np.minimum(held[self.trees].astype(np.int64), inside) + (can[:, None] & ~self.seen).sum(axis=0)
        return int(min(can.sum(), bound.min(initial=problem.rows)))

    def least(self, box: Box) -> int:
        """Return how many rows at least lie inside a box."""
        if box.empty:
            return 0
        problem = self.state.problem
        _, inner = self.values.meet(box, problem.parts)
        must = self.must(box)
        sure = np.where(inner, np.maximum(problem.low, self.single), 0)
        held = np.bincount(problem.tree, weights=sure, minlength=problem.trees)[self.trees].astype(np.int64)
        bound = held + (must[:, None] & ~self.seen).sum(axis=0)
        return int(max(must.sum(), bound.max(initial=0)))

    def words(self, values: Bits) -> NDArray[np.uint64]:
        """Return some of the values as a row of packed words."""
        packing = self.state.domains.packing
        out = np.zeros(packing.words, dtype=np.uint64)
        np.bitwise_or.at(out, packing.word[values], np.uint64(1) << packing.bit[values])
        return out


def _regions_of(places: Places) -> PartRegions:
    return PartRegions(places.start.astype(np.int64), places.end.astype(np.int64), places.sets)


def decide_placed(release: Release, state: Assigned, query: Decide, limits: Limits) -> DecideAnswer:
    """Return bounds on the rows of every selection; where time is up, 0 to all rows for those that are left.

    Those that are open are possible where a row of a known world can be replaced by one of them (`reached`).
    """
    chosen = query.selections
    low = np.zeros(len(chosen), dtype=np.int64)
    high = np.full(len(chosen), state.problem.rows, dtype=np.int64)
    late = _bound_selections(Membership.of(state), chosen, low, high, limits)
    before = _before_release(release, state.problem.rows, query, limits)
    mean = np.where(low == high, low.astype(np.float64), np.nan)
    unsettled = (low <= 0) & (high > 0)
    unsettled[unsettled] = ~_reached_selections(state, chosen, np.flatnonzero(unsettled), limits)
    return DecideAnswer.of(low, high, before, expected=mean, trail=late, open=unsettled)


def _reached_selections(state: Assigned, chosen: Selections, at: NDArray[np.intp], limits: Limits) -> Bits:
    """Return which of the selections `at` some world has a row in, and some world none.

    Every row of a world may be any raw row of the box of its leaves where nothing but the trees was published, and no
    row is impossible: so a box that meets a selection may give it a row, and one that is not inside need not.
    """
    problem = state.problem
    none = np.zeros(len(at), dtype=bool)
    if not len(at) or not problem.exhaustive or problem.release.loosened or problem.release.impossible:
        return none
    found = known_world(state, limits.limited().stage("world of positions")).parts
    if not found:
        return none
    regions = _regions_of(places_of(problem, values_in(problem, next(iter(found.values())))))
    boxes = Selections(chosen.codes[at], chosen.sizes).boxes()
    out = none
    for i, (met, held) in enumerate(boxes):
        some, inside = regions.meet(met, problem.parts)[0], regions.meet(held, problem.parts)[1]
        out[i] = bool(some.any()) and not met.empty and (held.empty or not inside.any())
    return out


def _bound_selections(table: Membership, chosen: Selections, low: Ints, high: Ints, limits: Limits) -> tuple[str, ...]:
    """Put bounds on the rows of selections into `low` and `high`; return what is said where time was up."""
    limits = limits.stage("profiles by position")
    for q, (met, held) in enumerate(chosen.boxes()):
        if q % STEPS == 0 and q and limits.expired():
            return (f"the time was up after {q:,} of {len(chosen):,} profiles were met with the rows",)
        low[q], high[q] = table.least(held), table.most(met)
    return ()


def share_placed(state: Assigned, query: ShareQuery, free: bool, limits: Limits) -> ShareAnswer:
    """Return bounds on shares, exact where rows are `free`: each in a box of its own, without impossible boxes.

    Of x rows of `inner` and y others, x + y at most `outer`'s most: x / (x + y) is least where x is and then y is
    greatest, and the other way round. Row by row: every row that can be one of `inner` is in the greatest share, and
    every other that need not be in `outer` is not; the least is the same of the others.
    """
    table = Membership.of(state)
    bounds: list[tuple[Ints, Ints]] = []
    for chosen in (query.inner, query.other, query.outer):
        low = np.zeros(len(chosen), dtype=np.int64)
        high = np.full(len(chosen), state.problem.rows, dtype=np.int64)
        _bound_selections(table, chosen, low, high, limits)
        bounds.append((low, high))
    (least, most), (others, rest), (_, every) = bounds
    rest, most = np.minimum(rest, every - least), np.minimum(most, every - others)
    with np.errstate(invalid="ignore", divide="ignore"):
        lower = np.where(least > 0, least / (least + rest), np.where(rest > 0, 0.0, 1.0))
        upper = np.where(others > 0, most / (most + others), np.where(most > 0, 1.0, 0.0))
    none = (most <= 0) & (rest <= 0)
    lower, upper = np.where(none, np.nan, lower), np.where(none, np.nan, upper)
    pairs = zip(query.inner.boxes(), query.other.boxes(), query.outer.boxes(), strict=True)
    limits = limits.stage("profiles by position")
    for q, ((inner, _), (other, _), (_, outer)) in enumerate(pairs):
        if q % STEPS == 0 and q and limits.expired():
            return ShareAnswer("bounds", lower=lower, upper=upper)
        ones, zeros, free_to_leave = table.can(inner)[0], table.can(other)[0], ~table.must(outer)
        lower[q] = np.maximum(lower[q], 1.0 - _greatest_share(zeros, ones, free_to_leave))
        upper[q] = np.minimum(upper[q], _greatest_share(ones, zeros, free_to_leave))
    return ShareAnswer("exact" if free else "bounds", lower=lower, upper=upper)


def _greatest_share(ones: Bits, zeros: Bits, leave: Bits) -> float:
    """Return the greatest share of ones among ones and zeros, by which of them rows can be and which can be neither.

    NaN where no row can be either.
    """
    x, y = int(ones.sum()), int((zeros & ~ones & ~leave).sum())
    if x + y:
        return x / (x + y)
    return 0.0 if zeros.any() else math.nan


def decide_settled(release: Release, known: DeterminedRows, query: Decide, limits: Limits) -> DecideAnswer:
    """Return the rows of every selection over all worlds, and the shares, where every row is in a box of its own.

    The worlds are all datasets with a raw row of each box, so that rows are independent: row i is in a selection with
    the share of its box that the selection has. Impossible boxes must not cut them. Shares of datasets without an order
    are known where rows that share raw rows have the same box (`Numbers.exact`), else the answer is "bounds".
    """
    chosen, places = query.selections, known.rows.places
    regions, parts = _regions_of(places), tuple(len(a.sizes) for a in release.domain.attributes)
    n, q = len(known.rows.sizes), len(chosen)
    low, high, absent, mean = (np.zeros(q) for _ in range(4))
    orderless = query.convention == "multiset"
    told = not orderless or numbers_of(known.rows).exact
    groups = [(same[0], known.rows.sizes[same[0]], len(same)) for same in known.rows.same()] if orderless else []
    tables = [_shares_of(release, places, k, chosen.sizes[k]) for k in range(len(parts))]
    for i, (met, held) in enumerate(chosen.boxes()):
        if i % STEPS == 0:
            limits.check("profiles were met with the rows")
        share = np.ones(n)
        for k, code in enumerate(chosen.codes[i].tolist()):
            if code:
                share *= tables[k](code)
        meets, within = regions.meet(met, parts)[0], regions.meet(held, parts)[1]
        low[i], high[i] = (within & (not held.empty)).sum(), (meets & (not met.empty)).sum()
        share = np.where(within, 1.0, np.minimum(share, NEARLY))
        mean[i] = share.sum()
        with np.errstate(divide="ignore"):
            absent[i] = (
                sum(log_absent_multiset(float(share[j]), size, k) for j, size, k in groups)
                if orderless
                else np.log1p(-share).sum()
            )
    least, most = low.astype(np.int64), high.astype(np.int64)
    shares = -np.expm1(absent) if told else np.full(q, np.nan)
    mean = mean if told else np.where(low == high, low, np.nan)
    return DecideAnswer.of(
        least,
        most,
        _before_release(release, n, query, limits),
        "exact" if told else "bounds",
        probability=settled_share(least, most, shares),
        expected=mean,
        open=np.zeros(q, dtype=bool),
    )


def _shares_of(release: Release, places: Places, k: int, sizes: tuple[tuple[int, ...], ...]) -> Callable[[int], Floats]:
    """Return, as a function of a code of attribute k, which share of each place's values the code allows."""
    whole = _held_values(release.domain.attributes[k].sizes, places, k)
    return lambda code: _held_values(sizes[code], places, k) / whole


def _held_values(sizes: tuple[int, ...], places: Places, k: int) -> Floats:
    """Return (rows,) how many values parts of these sizes have in every place."""
    if k in places.sets:
        inside: Floats = places.sets[k].astype(np.float64) @ np.array(sizes, dtype=np.float64)
        return inside
    ends = np.array([0, *accumulate(sizes)], dtype=object)
    found: Floats = (ends[places.end[:, k]] - ends[places.start[:, k]]).astype(np.float64)
    return found


def _before_release(release: Release, n: int, query: Decide, limits: Limits) -> tuple[Floats, Floats]:
    """Return the share of n rows with one in a selection, and their mean number, before the release."""
    prior = PriorMembership(Space.of(release, limits), query.selections, query.convention, {ANY_LABEL})
    return -np.expm1(prior.log_absent({ANY_LABEL: n})), prior.expected({ANY_LABEL: n})
