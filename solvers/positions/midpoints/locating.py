"""Where the values of rows lie, given that thresholds are midpoints: intervals narrowed until nothing changes.

Every threshold is half the sum of the greatest value on its left and the least on its right, among the rows of the
bag at its node. Rows that are sure to lie at a node, or may, narrow the two values, and they the rows.

Equations x + y = 2·threshold between two rows of a column: chains of rows with one free number, or none.

Every row of a chain is plus or minus that number plus a constant. A cycle of odd length says both of one row and
settles it. Two rows of a chain differ, or add up to, what is known exactly: whoever would have to be next to a
threshold with another sum, or greater than a row that is known to be greater, does not have the value next to it.

With two classes there are no odd cycles, because a best split by Gini or entropy lies between rows of different classes
(Fayyad, Irani, "On the handling of continuous-valued attributes in decision tree generation", Machine Learning 8,
1992): all rows of one class up and all others down by the same number leaves every sum as it is. With three there are.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.limits import Limits
from solvers.positions.assignments.domains import Domains
from solvers.positions.midpoints.splits import (
    LARGEST,
    Applied,
    Attained,
    Barred,
    Cycled,
    Members,
    NarrowedRows,
    RowValuePairs,
    Step,
    TreeSplits,
    ranged,
)
from solvers.positions.midpoints.state import LEAST_GAIN, SEVERAL, MidpointState, NoMidpointsError
from solvers.statements.row_problem import RowProblem

Link = tuple[int, Fraction, int, int]  # sign, constant, the row before, the node between
BITS = 60  # of constants at the finest scale of their column
MOST_PAIRS = 1024  # of rows that may be next to one threshold


@dataclass(frozen=True, eq=False)
class OddCycle:
    """A closed walk of nodes from `row` back to it whose equations settle its value."""

    row: int
    column: int
    value: Fraction
    nodes: tuple[int, ...]


@dataclass(eq=False)
class MidpointChains:
    """The rows of every column by chains: `links[column][row]` and `chain[column][row]`; `nodes` are the equations."""

    columns: int
    links: list[dict[int, Link]] = field(default_factory=list)
    chain: list[dict[int, int]] = field(default_factory=list)
    odd: list[OddCycle] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, state: MidpointState) -> MidpointChains:
        """Return the chains of all equations that have a row whose value is not settled. Cost: linear."""
        splits = state.splits
        found = np.flatnonzero((state.sole != SEVERAL).all(axis=1) & state.exact)
        rows, column = state.sole[found], splits.column[found]
        open_ = state.low < state.high
        kept = open_[rows[:, 0], column] | open_[rows[:, 1], column]
        out = cls(len(splits.attribute))
        for c in range(out.columns):
            own = kept & (column == c)
            pairs = dict(zip(map(tuple, rows[own].tolist()), found[own].tolist(), strict=True))
            out.add(c, [(a, b, node, 2 * Fraction(float(splits.threshold[node]))) for (a, b), node in pairs.items()])
        return out

    def add(self, column: int, equations: list[tuple[int, int, int, Fraction]]) -> None:
        """Add the equations (row, row, node, sum) of the next column."""
        beside: dict[int, list[tuple[int, int, Fraction]]] = {}
        for a, b, node, total in equations:
            beside.setdefault(a, []).append((b, node, total))
            beside.setdefault(b, []).append((a, node, total))
        links: dict[int, Link] = {}
        chain: dict[int, int] = {}
        for root in beside:
            if root in links:
                continue
            links[root], chain[root] = (1, Fraction(0), -1, -1), root
            queue, settled = deque([root]), False
            while queue:
                row = queue.popleft()
                sign, constant, _, _ = links[row]
                for other, node, total in beside[row]:
                    if other not in links:
                        links[other], chain[other] = (-sign, total - constant, row, node), root
                        queue.append(other)
                        self.nodes.append(node)
                    elif not settled and links[other][0] == sign:
                        settled = True
                        self.odd.append(_closed_walk(links, column, root, (row, other), node, total))
        self.links.append(links)
        self.chain.append(chain)

    def arrays(self, state: MidpointState, c: int) -> KnownSums | None:
        """Return what is known of one column; None where numbers need more than `BITS` bits."""
        links, splits = self.links[c], state.splits
        own = splits.column == c
        sums = [2 * Fraction(x) for x in splits.threshold[own].tolist()]
        scale = max([x.denominator for x in sums] + [link[1].denominator for link in links.values()], default=1)
        most = max([abs(x) for x in sums] + [abs(link[1]) for link in links.values()], default=Fraction(0))
        if not links or most * scale >= 1 << BITS:
            return None
        chain, sign, constant = (np.full(len(state.low), fill, dtype=np.int64) for fill in (-1, 0, 0))
        for row, (s, k, _, _) in links.items():
            chain[row], sign[row], constant[row] = self.chain[c][row], s, int(k * scale)
        total = np.zeros(len(own), dtype=np.int64)
        total[own] = [int(x * scale) for x in sums]
        return KnownSums(chain, sign, constant, total, 1.0 / scale)


@dataclass(frozen=True, eq=False)
class KnownSums:
    """Of one column per row: its chain (-1: none), sign and constant; per node twice its threshold (`total`).

    Constants and totals are whole multiples of `unit`, a power of two.
    """

    chain: Ints
    sign: Ints
    constant: Ints
    total: Ints
    unit: float

    @property
    def group(self) -> Ints:
        """Return a number for rows of one chain and sign, whose order is that of their constants; -1: no chain."""
        return np.where(self.chain < 0, -1, 2 * self.chain + (self.sign > 0))


def _closed_walk(
    links: dict[int, Link], column: int, root: int, between: tuple[int, int], node: int, total: Fraction
) -> OddCycle:
    """Return the walk from the root to a row, over a node to another row, and back to the root."""

    def path(at: int) -> list[int]:
        nodes = []
        while at != root:
            nodes.append(links[at][3])
            at = links[at][2]
        return nodes

    row, other = between
    value = (total - links[row][1] - links[other][1]) / (2 * links[row][0])
    return OddCycle(root, column, value, (*reversed(path(row)), node, *path(other)))


def _barred(state: MidpointState, members: Members, known: list[KnownSums | None]) -> Bits:
    """Return which members cannot have the value next to their node's threshold, those known already among them.

    By order: a row of the same chain is sure to be on the side and nearer to the threshold, or as near and an earlier
    one (of equal ones the first counts as the one that has the value). By sums: with nobody on the
    other side who may be next does the row add up to twice the threshold.
    """
    splits, out = state.splits, members.barred.copy()
    side = np.repeat(np.arange(2 * len(splits.threshold)), np.diff(members.start))
    for c, found in enumerate(known):
        if found is None:
            continue
        own = np.flatnonzero(splits.column[side // 2] == c)
        rows = members.row[own]
        out[own] |= _behind(side[own], rows, found.group[rows], found.constant[rows], members.sure[own])
        _pairs_barred(state, members, c, found, out)
    return out


def _behind(side: Ints, row: Ints, group: Ints, constant: Ints, sure: Bits) -> Bits:
    """Return whose group (-1: none) has a sure member on the same side that is nearer to the threshold.

    Of equal ones the first row counts as nearer: one of those not behind has the value next to the threshold.
    """
    grouped = np.flatnonzero(group >= 0)
    towards = np.where(side[grouped] % 2 == 0, constant[grouped], -constant[grouped])  # greater is nearer
    _, at = np.unique(side[grouped] * (int(group.max(initial=0)) + 1) + group[grouped], return_inverse=True)
    own = sure[grouped]
    number = int(at.max(initial=-1)) + 1
    nearest, first = np.full(number, np.iinfo(np.int64).min), np.full(number, np.iinfo(np.int64).max)
    np.maximum.at(nearest, at[own], towards[own])
    own &= towards == nearest[at]
    np.minimum.at(first, at[own], row[grouped[own]])
    out = np.zeros(len(side), dtype=bool)
    out[grouped] = (towards < nearest[at]) | ((towards == nearest[at]) & (row[grouped] > first[at]))
    return out


def _pairs_barred(
    state: MidpointState,
    members: Members,
    c: int,
    found: KnownSums,
    out: Bits,
) -> None:
    """Bar the members of a column's nodes that no candidate on the other side adds up with, in place."""
    splits = state.splits
    chain, sign, constant, total = found.chain, found.sign, found.constant, found.total
    nodes = np.flatnonzero((splits.column == c) & state.exact)
    entries = [_candidates(state, members, nodes, which, out) for which in (0, 1)]
    counts = [np.bincount(place, minlength=len(nodes)) for _, place in entries]
    product = counts[0] * counts[1]
    usable = (product > 0) & (product <= MOST_PAIRS)
    left, right = (e[usable[p]] for e, p in entries)
    place = entries[0][1][usable[entries[0][1]]]
    first = np.cumsum(np.where(usable, counts[1], 0)) - np.where(usable, counts[1], 0)
    width = counts[1][place]
    one = np.repeat(np.arange(len(left)), width)
    two = np.arange(len(one)) - np.repeat(np.cumsum(width) - width, width) + np.repeat(first[place], width)
    i, k, node = members.row[left[one]], members.row[right[two]], nodes[place[one]]
    double = 2 * splits.threshold[node]
    # A rounded sum lies on the same side of a float as the exact one, or on it: a pair is never dropped wrongly.
    good = (state.low[i, c] + state.low[k, c] <= double) & (state.high[i, c] + state.high[k, c] >= double)
    same = (chain[i] >= 0) & (chain[i] == chain[k])
    good &= ~(same & (sign[i] != sign[k]) & (constant[i] + constant[k] != total[node]))
    settled = (total[node] + constant[i] - constant[k]) * found.unit  # twice x_i, where both have the same sign
    within = (settled >= 2 * state.low[i, c]) & (settled <= 2 * state.high[i, c])
    good &= ~(same & (sign[i] == sign[k]) & ~within)
    for which, at in ((left, one), (right, two)):
        some = np.zeros(len(which), dtype=bool)
        some[at[good]] = True
        out[which[~some]] = True


def _candidates(state: MidpointState, members: Members, nodes: Ints, which: int, out: Bits) -> tuple[Ints, Ints]:
    """Return the members that may have the value next to the threshold of some nodes, and the place of their node."""
    entries, _ = ranged(members.start, 2 * nodes + which)
    place = np.repeat(np.arange(len(nodes)), np.diff(members.start)[2 * nodes + which])
    low, high = (state.right_low, state.right_high) if which else (state.left_low, state.left_high)
    row, column = members.row[entries], state.splits.column[nodes[place]]
    kept = (state.high[row, column] >= low[nodes[place]]) & (state.low[row, column] <= high[nodes[place]])
    kept &= ~out[entries]
    return entries[kept], place[kept]


Floats = NDArray[np.float64]
ASSUMES = (
    "thresholds are midpoints (--learner midpoints): each is half the sum of the two training values around it, as "
    "scikit-learn's splitter 'best' stores it for dense columns without missing values"
)
MAX_SWEEPS = 20_000
ENTRY_BYTES = 160  # of memory per row that may lie beside a node


@dataclass(frozen=True, eq=False)
class LocatedRows:
    """Closed intervals (rows, columns) of the values that the trees saw, float32 numbers as float64; infinite: no end.

    `contradiction`: the thresholds are not midpoints, in one sentence ("": they may be); then the intervals are what
    the leaves alone say. `complete`: nothing more follows; else a limit was met. `removed` (pairs, 2): rows and values
    of the problem that they cannot have. `steps`: what was done, in order, for a checker.
    """

    low: Floats
    high: Floats
    contradiction: str = ""
    complete: bool = True
    removed: Ints = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))
    steps: tuple[Step, ...] = ()

    @property
    def exact(self) -> Bits:
        """Return which values are known to the last bit."""
        same: Bits = self.low == self.high
        return same


def locate(
    problem: RowProblem, domains: Domains, splits: TreeSplits, ranges: Floats | None, limits: Limits
) -> LocatedRows:
    """Return where the values of all rows lie in the columns of the splits, given the values left (`domains`).

    `ranges` (columns, 2): the least and the greatest value of a column over all the rows, NaN where it is not known.
    What a limit cuts short is proved all the same. Cost: sweeps over rows x depth x trees, fewer each time.
    """
    found = RowSearch.of(problem, domains, splits, ranges)
    low, high = found.state.low.copy(), found.state.high.copy()
    try:
        complete = found.run(limits)
    except NoMidpointsError as error:
        return LocatedRows(*_open_intervals(low, high), f"the thresholds are not midpoints: {error}")
    removed = np.concatenate(found.removed) if found.removed else np.zeros((0, 2), dtype=np.int64)
    return LocatedRows(*_open_intervals(found.state.low, found.state.high), "", complete, removed, tuple(found.steps))


def _open_intervals(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return intervals without the ends that every finite number keeps."""
    return np.where(low <= -LARGEST, -np.inf, low) + 0.0, np.where(high >= LARGEST, np.inf, high) + 0.0


def _start_of(problem: RowProblem, domains: Domains, splits: TreeSplits) -> tuple[Floats, Floats]:
    """Return what the values left say of every row and column."""
    places = domains.places()
    low = np.empty((problem.rows, len(splits.attribute)))
    high = np.empty_like(low)
    for c, ((least, most), k) in enumerate(zip(splits.edges(problem), splits.attribute.tolist(), strict=True)):
        start, end = places.start[:, k], np.maximum(places.end[:, k], places.start[:, k] + 1)
        low[:, c], high[:, c] = least[np.minimum(start, len(least) - 1)], most[np.minimum(end, len(most)) - 1]
    return low, high


@dataclass(frozen=True, eq=False)
class NeighbourNodes:
    """The nodes beside which every row may lie: of row i in column c `node[start[i * columns + c]:...]`."""

    start: Ints
    node: Ints

    @classmethod
    def of(cls, rows: int, splits: TreeSplits, members: Members) -> NeighbourNodes:
        """Return the nodes of every row and column."""
        columns = len(splits.attribute)
        node = np.repeat(np.arange(2 * len(splits.threshold)), np.diff(members.start)) // 2
        key = members.row * columns + splits.column[node]
        order = np.argsort(key, kind="stable")
        return cls(np.searchsorted(key[order], np.arange(rows * columns + 1)).astype(np.int64), node[order])

    def nodes(self, keys: Ints) -> Ints:
        """Return the nodes of some rows and columns, ascending."""
        entries, _ = ranged(self.start, keys)
        return np.unique(self.node[entries])


@dataclass(eq=False)
class RowSearch:
    """The search: the state, the pairs of rows and values left, and the steps taken."""

    problem: RowProblem
    splits: TreeSplits
    ranges: Floats
    state: MidpointState
    pairs: RowValuePairs
    steps: list[Step] = field(default_factory=list)
    removed: list[Ints] = field(default_factory=list)
    barred: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    sweeps: int = 0
    changed: bool = False

    @classmethod
    def of(cls, problem: RowProblem, domains: Domains, splits: TreeSplits, ranges: Floats | None) -> RowSearch:
        """Return the search from what the values left say, and the ranges."""
        columns = len(splits.attribute)
        known = np.full((columns, 2), np.nan) if ranges is None else np.asarray(ranges, dtype=np.float64)
        low, high = _start_of(problem, domains, splits)
        state = MidpointState.of(splits, low, high)
        return cls(problem, splits, known, state, RowValuePairs.of(problem, domains, np.unique(splits.tree)))

    def run(self, limits: Limits) -> bool:
        """Narrow until nothing changes; return whether that was reached. Raises `NoMidpointsError`."""
        least, most = (
            np.where(np.isnan(self.ranges[:, end]), s * LARGEST, self.ranges[:, end]) for end, s in ((0, -1), (1, 1))
        )
        np.maximum(self.state.low, least, out=self.state.low)
        np.minimum(self.state.high, most, out=self.state.high)
        every = np.arange(self.problem.rows)
        for c in range(len(least)):
            self.state.check_rows(every, np.full(len(every), c))
        while True:
            members = Members.of(self.problem, self.splits, self.pairs, self.barred)
            if not self.narrow(members, limits):
                return False
            removed = self.boxes()
            if not removed and not self.changed:
                return True

    def narrow(self, members: Members, limits: Limits) -> bool:
        """Apply all nodes, then those beside rows that changed, until none does; False: a limit was met."""
        beside = NeighbourNodes.of(self.problem.rows, self.splits, members)
        dirty = np.arange(len(self.splits.threshold))
        while len(dirty):
            if limits.expired() or self.sweeps >= MAX_SWEEPS:
                return False
            self.sweeps += 1
            if self.sweeps % 16 == 1:
                share = float((self.state.low == self.state.high).mean())
                limits.report(f"midpoints: sweep {self.sweeps}, {share:.1%} of values exact")
            keys, moved = self.state.apply(dirty, members)
            if len(moved):
                self.steps.append(Applied(moved))
            dirty = beside.nodes(np.union1d(keys, self.attained()))
            if not len(dirty):
                members, dirty = self.chains(members, beside)
        return True

    def attained(self, known: list[KnownSums | None] | None = None, nodes: list[int] | None = None) -> Ints:
        """Narrow the one row that can have the least or the greatest value of a column; return what changed.

        Of rows of one chain (`known`, by the equations of `nodes`) only the least or greatest can, the first of equals.
        """
        columns, state, out = len(self.splits.attribute), self.state, []
        equations = np.array(nodes or [], dtype=np.int64)
        for (c, ends), greatest in product(enumerate(self.ranges.tolist()), (False, True)):
            if np.isnan(end := ends[greatest]):
                continue
            held = np.flatnonzero(state.high[:, c] >= end if greatest else state.low[:, c] <= end)
            if known is not None and (chained := known[c]) is not None and len(held) > 1:
                side = np.full(len(held), 0 if greatest else 1)
                sure = np.ones(len(held), dtype=bool)
                held = held[~_behind(side, held, chained.group[held], chained.constant[held], sure)]
            if not len(held):
                word = "greatest" if greatest else "least"
                raise NoMidpointsError(f"no row can have the {word} value {end!r} of {self.splits.names[c]}")
            if len(held) == 1 and state.low[held[0], c] < state.high[held[0], c]:
                if not state.low[held[0], c] <= end <= state.high[held[0], c]:
                    raise NoMidpointsError(f"row {held[0]} cannot have the value {end!r} of {self.splits.names[c]}")
                state.low[held, c] = state.high[held, c] = end
                self.steps.append(Attained(c, greatest, equations))
                out.append(int(held[0]) * columns + c)
        return np.array(out, dtype=np.int64)

    def chains(self, members: Members, beside: NeighbourNodes) -> tuple[Members, Ints]:
        """Settle rows by odd cycles of equations, bar members by chains; return the members, and the nodes to redo."""
        state, columns = self.state, len(self.splits.attribute)
        found = MidpointChains.of(state)
        changed = []
        for cycle in found.odd:
            row, c, value = cycle.row, cycle.column, float(cycle.value)
            if not state.low[row, c] <= value <= state.high[row, c] or value != float(np.float32(value)):
                raise state.refuse(cycle.nodes[0])
            if state.low[row, c] < state.high[row, c]:
                state.low[row, c] = state.high[row, c] = value
                self.steps.append(Cycled(row, c, cycle.nodes))
                changed.append(row * columns + c)
        known = [found.arrays(state, c) for c in range(columns)]
        dirty = beside.nodes(np.union1d(np.array(changed, dtype=np.int64), self.attained(known, found.nodes)))
        out = _barred(state, members, known)
        if (fresh := out & ~members.barred).any():
            keys = members.keys(self.problem.rows)[fresh]
            self.steps.append(Barred(np.array(found.nodes, dtype=np.int64), keys))
            self.barred = np.union1d(self.barred, keys)
            members = replace(members, barred=out)
            dirty = np.union1d(dirty, keys // self.problem.rows // 2)
        return members, dirty

    def boxes(self) -> bool:
        """Drop values whose leaf has no room left for a row, and narrow rows to the leaves left; whether one went."""
        state, splits, pairs = self.state, self.splits, self.pairs
        low, high = _leaf_boxes(state)
        leaf = splits.first_leaf[self.problem.tree[pairs.value]] + self.problem.region[pairs.value]
        alive = np.ones(len(leaf), dtype=bool)
        for c in range(len(splits.attribute)):
            alive &= (low[leaf, c] <= state.high[pairs.row, c]) & (high[leaf, c] >= state.low[pairs.row, c])
        groups = np.add.reduceat(alive.astype(np.int64), pairs.heads)
        if not groups.all():
            at = int(pairs.heads[np.flatnonzero(groups == 0)[0]])
            raise NoMidpointsError(
                f"no leaf of tree {int(self.problem.tree[pairs.value[at]])} is left for row {int(pairs.row[at])}"
            )
        gone = ~alive
        if gone.any():
            self.removed.append(np.stack([pairs.row[gone], pairs.value[gone]], axis=1))
            self.pairs = pairs = RowValuePairs.numbered(self.problem, pairs.row[alive], pairs.value[alive])
            leaf = leaf[alive]
        heads, self.changed = pairs.heads, False
        rows = pairs.row[heads]
        moved = np.zeros(self.problem.rows, dtype=bool)
        for c in range(len(splits.attribute)):
            least, most = state.low[:, c].copy(), state.high[:, c].copy()
            worth = LEAST_GAIN * (most - least)
            np.maximum.at(least, rows, np.minimum.reduceat(low[leaf, c], heads))
            np.minimum.at(most, rows, np.maximum.reduceat(high[leaf, c], heads))
            up, down = least - state.low[:, c] > worth, state.high[:, c] - most > worth
            state.low[up, c], state.high[down, c] = least[up], most[down]
            moved |= up | down
            state.check_rows(rows, np.full(len(rows), c))
        moved[self.removed[-1][:, 0] if gone.any() else []] = True
        self.changed = bool(moved.any())
        if self.changed:
            self.steps.append(NarrowedRows(np.flatnonzero(moved)))
        return bool(gone.any())


def _leaf_boxes(state: MidpointState) -> tuple[Floats, Floats]:
    """Return (leaves, columns) what the rows of every leaf have at least and at most, as its path says."""
    splits = state.splits
    shape = len(splits.start) - 1, len(splits.attribute)
    low, high = np.full(shape, -LARGEST), np.full(shape, LARGEST)
    leaf = np.repeat(np.arange(shape[0]), np.diff(splits.start))
    column = splits.column[splits.node]
    on_left, on_right = splits.left, ~splits.left
    np.minimum.at(high, (leaf[on_left], column[on_left]), state.left_high[splits.node[on_left]])
    np.maximum.at(low, (leaf[on_right], column[on_right]), state.right_low[splits.node[on_right]])
    return low, high
