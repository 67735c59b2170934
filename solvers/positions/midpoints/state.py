"""What is known of the values at some moment: intervals of rows, and of the two values around every threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Bits, Ints
from solvers.positions.midpoints.splits import (
    LARGEST,
    Members,
    TreeSplits,
    least_left,
    most_left,
    next_float,
    ranged,
    surely_exact,
    tiny_from,
)

Floats = NDArray[np.float64]
SEVERAL = -1  # instead of the row that attains a value
LEAST_GAIN = 0.01  # of an interval: what narrows it less is left out, or ends would creep by single numbers


class NoMidpointsError(Exception):
    """The thresholds cannot be midpoints of any rows that the trees allow; the message says where it shows."""


@dataclass(eq=False)
class MidpointState:
    """Closed intervals among the numbers of single precision, narrowed in place.

    `low`, `high` (rows, columns). Of node s: `left_low[s]` to `left_high[s]` holds the greatest value on its left,
    `right_low[s]` to `right_high[s]` the least on its right, `least_sum[s]` to `most_sum[s]` (float64) their sum, twice
    the threshold where `exact[s]`. `sole` (nodes, 2): the row that attains each (SEVERAL: not settled).
    """

    splits: TreeSplits
    low: Floats
    high: Floats
    left_low: Floats
    left_high: Floats
    right_low: Floats
    right_high: Floats
    least_sum: Floats
    most_sum: Floats
    exact: Bits
    sole: Ints

    @classmethod
    def of(cls, splits: TreeSplits, low: Floats, high: Floats) -> MidpointState:
        """Return the state in which rows lie in the given intervals, and nothing is known of nodes."""
        n, t = len(splits.threshold), splits.threshold
        exact = surely_exact(t)
        least = np.where(exact, 2 * t, 2 * np.nextafter(t, -np.inf))
        most = np.where(exact, 2 * t, 2 * np.nextafter(t, np.inf))
        ends = np.full(n, -LARGEST), splits.last_left.copy(), next_float(splits.last_left), np.full(n, LARGEST)
        return cls(splits, low, high, *ends, least, most, exact, np.full((n, 2), SEVERAL, dtype=np.int64))

    def refuse(self, node: int) -> NoMidpointsError:
        """Return the refusal that shows at a node."""
        s = self.splits
        place = f"tree {int(s.tree[node])}, the split of {s.names[int(s.column[node])]} at {float(s.threshold[node])!r}"
        return NoMidpointsError(f"no rows that the trees allow have values around this threshold: {place}")

    def check_rows(self, rows: Ints, columns: Ints) -> None:
        """Raise `NoMidpointsError` where a row has no value left."""
        bad = np.flatnonzero(self.low[rows, columns] > self.high[rows, columns])
        if len(bad):
            i, c = int(rows[bad[0]]), int(columns[bad[0]])
            raise NoMidpointsError(f"no value of {self.splits.names[c]} is left for row {i}")

    def apply(self, nodes: Ints, members: Members) -> tuple[Ints, Ints]:
        """Narrow the values around some nodes and of the rows beside them, all from what was known before.

        Returns row * columns + column of what changed, and the nodes at which something did. Raises `NoMidpointsError`.
        """
        sides = [NodeSide.of(self, nodes, members, which) for which in (0, 1)]
        old = [x[nodes] for x in (self.left_low, self.left_high, self.right_low, self.right_high)]
        left_low = np.maximum(old[0], np.maximum(sides[0].least(sure=True), sides[0].least(sure=False)))
        left_high = np.minimum(old[1], sides[0].most(sure=False))
        right_low = np.maximum(old[2], sides[1].least(sure=False))
        right_high = np.minimum(old[3], np.minimum(sides[1].most(sure=True), sides[1].most(sure=False)))
        for _ in range(2):  # the sum narrows each by the other, and may be exact once they are narrower
            self.settle_sums(nodes, left_low, left_high, right_low, right_high)
            least, most = self.least_sum[nodes], self.most_sum[nodes]
            left_low = np.maximum(left_low, least_left(least, right_high))
            left_high = np.minimum(left_high, most_left(most, right_low))
            right_low = np.maximum(right_low, least_left(least, left_high))
            right_high = np.minimum(right_high, most_left(most, left_low))
        new = left_low, left_high, right_low, right_high
        empty = (left_low > left_high) | (right_low > right_high)
        if empty.any():
            raise self.refuse(int(nodes[np.flatnonzero(empty)[0]]))
        moved = np.zeros(len(nodes), dtype=bool)
        for before, now, into in zip(
            old, new, (self.left_low, self.left_high, self.right_low, self.right_high), strict=True
        ):
            moved |= before != now
            into[nodes] = now
        changed = [side.narrow(self, *ends, moved) for side, ends in zip(sides, (new[:2], new[2:]), strict=True)]
        keys = np.unique(np.concatenate(changed))
        self.check_rows(*np.divmod(keys, len(self.splits.attribute)))
        return keys, nodes[moved]

    def settle_sums(
        self, nodes: Ints, left_low: Floats, left_high: Floats, right_low: Floats, right_high: Floats
    ) -> None:
        """Make the sums of nodes exact whose two values are too large, or 0, for their midpoint to be rounded."""
        tiny = tiny_from(self.splits.threshold[nodes])
        sure = np.ones(len(nodes), dtype=bool)
        for low, high in ((left_low, left_high), (right_low, right_high)):
            sure &= (low >= tiny) | (high <= -tiny) | ((low == 0) & (high == 0))
        sure &= ~self.exact[nodes]
        settled = nodes[sure]
        self.exact[settled] = True
        self.least_sum[settled] = self.most_sum[settled] = 2 * self.splits.threshold[settled]


@dataclass(frozen=True, eq=False)
class NodeSide:
    """The rows that lie or may lie on one side of some nodes; entries of `nodes[k]` begin at `first[k]`, `place`: k."""

    which: int
    nodes: Ints
    first: Ints
    place: Ints
    row: Ints
    column: Ints
    sure: Bits
    barred: Bits
    low: Floats
    high: Floats

    @classmethod
    def of(cls, state: MidpointState, nodes: Ints, members: Members, which: int) -> NodeSide:
        """Return the left (0) or right (1) side of some nodes with the intervals as they are."""
        sides = 2 * nodes + which
        width = members.start[sides + 1] - members.start[sides]
        if not width.all():
            raise state.refuse(int(nodes[np.flatnonzero(width == 0)[0]]))
        entries, first = ranged(members.start, sides)
        place = np.repeat(np.arange(len(nodes)), width)
        row, column = members.row[entries], state.splits.column[nodes][place]
        held = state.low[row, column], state.high[row, column]
        return cls(which, nodes, first, place, row, column, members.sure[entries], members.barred[entries], *held)

    def least(self, sure: bool) -> Floats:
        """Return the greatest low end of rows that are sure to be here, or the least of those that may be next."""
        if sure:
            return np.maximum.reduceat(np.where(self.sure, self.low, -LARGEST), self.first)
        return np.minimum.reduceat(np.where(self.barred, LARGEST, self.low), self.first)

    def most(self, sure: bool) -> Floats:
        """Return the least high end of rows that are sure to be here, or the greatest of those that may be next."""
        if sure:
            return np.minimum.reduceat(np.where(self.sure, self.high, LARGEST), self.first)
        return np.maximum.reduceat(np.where(self.barred, -LARGEST, self.high), self.first)

    def narrow(self, state: MidpointState, low: Floats, high: Floats, moved: Bits) -> Ints:
        """Narrow rows to the value that one of them attains, between `low` and `high` per node; return what changed."""
        attains = ~self.barred & (self.high >= low[self.place]) & (self.low <= high[self.place])
        count = np.add.reduceat(attains.astype(np.int64), self.first)
        if (count == 0).any():
            raise state.refuse(int(self.nodes[np.flatnonzero(count == 0)[0]]))
        alone = attains & (count == 1)[self.place]
        state.sole[self.nodes[self.place[alone]], self.which] = self.row[alone]
        capped = alone | self.sure if self.which == 0 else alone
        raised = alone if self.which == 0 else alone | self.sure
        most, least = high[self.place], low[self.place]
        worth = LEAST_GAIN * (self.high - self.low)
        down, up = capped & (self.high - most > worth), raised & (least - self.low > worth)
        np.minimum.at(state.high, (self.row[down], self.column[down]), most[down])
        np.maximum.at(state.low, (self.row[up], self.column[up]), least[up])
        either = down | up
        moved[self.place[either]] = True
        keys: Ints = self.row[either] * len(state.splits.attribute) + self.column[either]
        return keys
