"""Equations x + y = 2·threshold between two rows of a column: chains of rows with one free number, or none.

Every row of a chain is plus or minus that number plus a constant. A cycle of odd length says both of one row and
settles it. Two rows of a chain differ, or add up to, what is known exactly: whoever would have to be next to a
threshold with another sum, or greater than a row that is known to be greater, does not have the value next to it.

With two classes there are no odd cycles, because a best split by Gini or entropy lies between rows of different classes
(Fayyad, Irani, "On the handling of continuous-valued attributes in decision tree generation", Machine Learning 8,
1992): all rows of one class up and all others down by the same number leaves every sum as it is. With three there are.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from solvers.foundation.array_types import Bits, Ints
from solvers.positions.midpoints.members import Members, ranged
from solvers.positions.midpoints.state import SEVERAL, MidpointState

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
                        self.odd.append(closed(links, column, root, (row, other), node, total))
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


def closed(
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


def barred(state: MidpointState, members: Members, known: list[KnownSums | None]) -> Bits:
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
        out[own] |= behind(side[own], rows, found.group[rows], found.constant[rows], members.sure[own])
        pairs_barred(state, members, c, found, out)
    return out


def behind(side: Ints, row: Ints, group: Ints, constant: Ints, sure: Bits) -> Bits:
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


def pairs_barred(
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
    entries = [candidates(state, members, nodes, which, out) for which in (0, 1)]
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


def candidates(state: MidpointState, members: Members, nodes: Ints, which: int, out: Bits) -> tuple[Ints, Ints]:
    """Return the members that may have the value next to the threshold of some nodes, and the place of their node."""
    entries, _ = ranged(members.start, 2 * nodes + which)
    place = np.repeat(np.arange(len(nodes)), np.diff(members.start)[2 * nodes + which])
    low, high = (state.right_low, state.right_high) if which else (state.left_low, state.left_high)
    row, column = members.row[entries], state.splits.column[nodes[place]]
    kept = (state.high[row, column] >= low[nodes[place]]) & (state.low[row, column] <= high[nodes[place]])
    kept &= ~out[entries]
    return entries[kept], place[kept]
