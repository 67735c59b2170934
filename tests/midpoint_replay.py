"""What was found between midpoints, done again step by step in whole numbers: no search, no floating point.

Independent of `state`, `members`, `chains` and `locating`: rows are gone through one by one, numbers are multiples of
2^-1100 (every float is one), and a step that its rows do not justify is refused.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.errors import ReconError
from solvers.positions.assignments.domains import Domains
from solvers.positions.midpoints.locating import LocatedRows
from solvers.positions.midpoints.splits import Applied, Attained, Barred, Cycled, TreeSplits
from solvers.statements.row_problem import RowProblem

SCALE = 1100  # every float64 is a multiple of 2^-1074
FINEST = SCALE - 149  # the smallest number of single precision
MOST = (2**24 - 1) << (SCALE + 104)
Span = list[int]  # least, most


class StepError(ReconError):
    """A step does not follow from those before it."""


def _number(x: float) -> int:
    """Return a float as a multiple of 2^-1100."""
    over, under = float(x).as_integer_ratio()
    return over * ((1 << SCALE) // under)


def _floor(x: int) -> int:
    """Return the greatest number of single precision that is at most x."""
    bits = max(abs(x).bit_length() - 24, FINEST)
    return min((x >> bits) << bits, MOST)


def _ceil(x: int) -> int:
    """Return the least number of single precision that is at least x."""
    return -_floor(-x)


class MidpointReplay:
    """Intervals of rows and nodes, and the leaves left, as the steps so far prove them."""

    def __init__(
        self, problem: RowProblem, domains: Domains, splits: TreeSplits, ranges: NDArray[np.float64] | None
    ) -> None:
        self.problem, self.splits = problem, splits
        self.columns = len(splits.attribute)
        self.tree, self.column = splits.tree.tolist(), splits.column.tolist()
        self.threshold = [_number(t) for t in splits.threshold.tolist()]
        self.values: list[dict[int, set[int]]] = [{} for _ in range(problem.rows)]
        own = set(self.tree)
        for i in range(problem.rows):
            for v in domains.of_row(i).tolist():
                if int(problem.tree[v]) in own:
                    self.values[i].setdefault(int(problem.tree[v]), set()).add(v)
        self.path: dict[int, dict[int, bool]] = {}
        for v in set().union(*(vs for row in self.values for vs in row.values())):
            leaf = int(splits.first_leaf[problem.tree[v]] + problem.region[v])
            at = slice(int(splits.start[leaf]), int(splits.start[leaf + 1]))
            self.path[v] = dict(zip(splits.node[at].tolist(), splits.left[at].tolist(), strict=True))
        self.around = [[[-MOST, self.cut(s)[0]], [self.cut(s)[1], MOST]] for s in range(len(self.tree))]
        self.ends: list[tuple[int | None, int | None]] = [(None, None)] * self.columns
        if ranges is not None:
            self.ends = [
                (None if np.isnan(low) else _number(low), None if np.isnan(high) else _number(high))
                for low, high in ranges.tolist()
            ]
        start = [[-MOST if low is None else low, MOST if high is None else high] for low, high in self.ends]
        self.spans = [[list(span) for span in start] for _ in range(problem.rows)]
        self.out: set[tuple[int, int]] = set()  # side, row: does not have the value next to the threshold
        self.beside: dict[int, tuple[dict[int, bool], dict[int, bool]]] = {}
        self.boxed(range(problem.rows))

    def cut(self, s: int) -> tuple[int, int]:
        """Return the greatest value that node s sends left, and the least that it sends right.

        Nodes that share a cut of the domain share these: no value of the domain lies between their thresholds.
        """
        same = (self.splits.column == self.splits.column[s]) & (self.splits.part == self.splits.part[s])
        found = [_floor(_number(t)) for t in np.unique(self.splits.threshold[same]).tolist()]
        return min(found), _ceil(max(found) + 1)

    def members(self, s: int) -> tuple[dict[int, bool], dict[int, bool]]:
        """Return the rows that may lie left and right of node s, and whether they are sure to."""
        if s not in self.beside:
            sides: tuple[dict[int, bool], dict[int, bool]] = ({}, {})
            for i, trees in enumerate(self.values):
                found = [self.path[v].get(s) for v in trees.get(self.tree[s], ())]
                for which, goes in enumerate((True, False)):
                    if goes in found:
                        sides[which][i] = all(one is goes for one in found)
            self.beside[s] = sides
        return self.beside[s]

    def narrow(self, i: int, c: int, low: int, high: int) -> None:
        """Narrow a row; refuse the whole where nothing is left."""
        span = self.spans[i][c]
        span[0], span[1] = max(span[0], low), min(span[1], high)
        if span[0] > span[1]:
            raise StepError(f"row {i} has no value left in column {c}")

    def sums(self, s: int) -> tuple[int, int]:
        """Return what the two values around a threshold add up to at least and at most: twice it, where not rounded."""
        t, (a, b) = self.threshold[s], self.around[s]
        if t == 0:
            return 0, 0
        tiny = 1 << (abs(t).bit_length() - 29)
        near = min(2 * t - _floor(2 * t), _ceil(2 * t) - 2 * t)
        if near > 4 * tiny or all(x >= tiny or y <= -tiny or x == y == 0 for x, y in (a, b)):
            return 2 * t, 2 * t
        x = float(self.splits.threshold[s])
        return 2 * _number(float(np.nextafter(x, -np.inf))), 2 * _number(float(np.nextafter(x, np.inf)))

    def candidates(self, s: int, which: int) -> list[int]:
        """Return the rows on one side of a node that may have the value next to its threshold."""
        low, high = self.around[s][which]
        spans, c = self.spans, self.column[s]
        return [
            i
            for i in self.members(s)[which]
            if (2 * s + which, i) not in self.out and spans[i][c][1] >= low and spans[i][c][0] <= high
        ]

    def applied(self, s: int) -> None:
        """Narrow the values around a threshold by the rows beside it, and they by the values."""
        c, (a, b), sides = self.column[s], self.around[s], self.members(s)
        for which, span in enumerate((a, b)):
            may = [i for i in sides[which] if (2 * s + which, i) not in self.out]
            if not may:
                raise StepError(f"nobody is beside node {s}")
            inner = [self.spans[i][c] for i, sure in sides[which].items() if sure]
            every = [self.spans[i][c] for i in may]
            low, high = min(x for x, _ in every), max(y for _, y in every)
            if which == 0:
                low = max([low, *(x for x, _ in inner)])
            else:
                high = min([high, *(y for _, y in inner)])
            span[0], span[1] = max(span[0], low), min(span[1], high)
        for _ in range(2):
            least, most = self.sums(s)
            a[0], a[1] = max(a[0], _ceil(least - b[1])), min(a[1], _floor(most - b[0]))
            b[0], b[1] = max(b[0], _ceil(least - a[1])), min(b[1], _floor(most - a[0]))
        for which, span in enumerate((a, b)):
            if span[0] > span[1]:
                raise StepError(f"no value is left beside node {s}")
            found = self.candidates(s, which)
            if not found:
                raise StepError(f"nobody can have the value beside node {s}")
            if len(found) == 1:
                self.narrow(found[0], c, *span)
            for i, sure in sides[which].items():
                if sure:
                    self.narrow(i, c, *((-MOST, a[1]) if which == 0 else (b[0], MOST)))

    def equation(self, s: int) -> tuple[int, int, int]:
        """Return the two rows next to a threshold and what they add up to; refuse where that is not settled."""
        left, right = self.candidates(s, 0), self.candidates(s, 1)
        least, most = self.sums(s)
        if len(left) != 1 or len(right) != 1 or least != most:
            raise StepError(f"node {s} gives no equation between two rows")
        return left[0], right[0], least

    def chains(self, nodes: Iterable[int], c: int) -> dict[int, tuple[int, int, int]]:
        """Return row -> chain, sign and constant, as the equations of some nodes of a column say."""
        beside: dict[int, list[tuple[int, int]]] = {}
        for s in nodes:
            if self.column[s] == c:
                a, b, total = self.equation(s)
                beside.setdefault(a, []).append((b, total))
                beside.setdefault(b, []).append((a, total))
        found: dict[int, tuple[int, int, int]] = {}
        for root in beside:
            if root not in found:
                found[root] = root, 1, 0
                queue = deque([root])
                while queue:
                    row = queue.popleft()
                    for other, total in beside[row]:
                        if other not in found:
                            found[other] = root, -found[row][1], total - found[row][2]
                            queue.append(other)
        return found

    def behind(self, i: int, others: Iterable[int], chains: dict[int, tuple[int, int, int]], greatest: bool) -> bool:
        """Return whether another row is known to be greater (less), or equal and earlier."""
        if i not in chains:
            return False
        root, sign, own = chains[i]
        for j in others:
            if j != i and j in chains and chains[j][:2] == (root, sign):
                ahead = chains[j][2] - own if greatest else own - chains[j][2]
                if ahead > 0 or (ahead == 0 and j < i):
                    return True
        return False

    def attained(self, step: Attained) -> None:
        """Give the least or the greatest value of a column to the one row that can have it."""
        c, end = step.column, self.ends[step.column][step.greatest]
        if end is None:
            raise StepError(f"the range of column {c} is not known")
        chains = self.chains(step.nodes.tolist(), c)
        held = [i for i in range(self.problem.rows) if self.spans[i][c][0] <= end <= self.spans[i][c][1]]
        left = [i for i in held if not self.behind(i, held, chains, step.greatest)]
        if len(left) != 1:
            raise StepError(f"{len(left)} rows can have an end of column {c}")
        self.narrow(left[0], c, end, end)

    def cycled(self, step: Cycled) -> None:
        """Settle a row by an odd closed walk of equations: x = s1 - (s2 - (... - x))."""
        row, sign, constant = step.row, 1, 0
        for s in step.nodes:
            a, b, total = self.equation(s)
            if row not in (a, b) or self.column[s] != step.column:
                raise StepError(f"the walk breaks at node {s}")
            row, sign, constant = (b if row == a else a), -sign, total - constant
        if row != step.row or sign != -1 or constant % 2:
            raise StepError(f"the walk from row {step.row} settles nothing")
        self.narrow(row, step.column, constant // 2, constant // 2)

    def barred(self, step: Barred) -> None:
        """Bar members by order or by sums, in the chains of the equations of some nodes."""
        chains = [self.chains(step.nodes.tolist(), c) for c in range(self.columns)]
        late = []
        for key in step.keys.tolist():
            side, i = divmod(key, self.problem.rows)
            s, which = divmod(side, 2)
            rows = self.members(s)[which]
            sure = [j for j, always in rows.items() if always]
            if self.behind(i, sure, chains[self.column[s]], which == 0):
                self.out.add((side, i))
            else:
                late.append((s, which, i))
        for s, which, i in late:
            if any(self.pair(s, i, k, chains) for k in self.candidates(s, 1 - which)):
                raise StepError(f"row {i} may be next to the threshold of node {s}")
        self.out.update((2 * s + which, i) for s, which, i in late)  # only now: two may not bar each other

    def pair(self, s: int, i: int, k: int, chains: Sequence[dict[int, tuple[int, int, int]]]) -> bool:
        """Return whether rows i and k, whichever is left, may be the two next to the threshold of node s."""
        c, (least, most) = self.column[s], self.sums(s)
        (x, y), (z, w) = self.spans[i][c], self.spans[k][c]
        if x + z > most or y + w < least:
            return False
        if least != most or i not in chains[c] or k not in chains[c] or chains[c][i][0] != chains[c][k][0]:
            return True
        (_, sign, own), (_, other, theirs) = chains[c][i], chains[c][k]
        if sign != other:
            return bool(own + theirs == least)
        return bool(2 * x <= least + own - theirs <= 2 * y)

    def boxed(self, rows: Iterable[int]) -> None:
        """Drop values whose leaf has no room left for a row, and narrow the row to the leaves left."""
        for i in rows:
            for t, values in self.values[i].items():
                boxes = {v: self.box(v) for v in values}
                kept = {v for v in values if self.room(i, boxes[v])}
                if not kept:
                    raise StepError(f"row {i} has no leaf left in tree {t}")
                if kept != values:
                    self.values[i][t] = kept
                    for s in {s for v in values for s in self.path[v]}:
                        self.beside.pop(s, None)
                for c in range(self.columns):
                    found = [boxes[v].get(c, (-MOST, MOST)) for v in kept]
                    self.narrow(i, c, min(x for x, _ in found), max(y for _, y in found))

    def box(self, v: int) -> dict[int, tuple[int, int]]:
        """Return what the rows of a leaf have at least and at most in the columns on its path."""
        out: dict[int, tuple[int, int]] = {}
        for s, left in self.path[v].items():
            low, high = out.get(self.column[s], (-MOST, MOST))
            a, b = self.around[s]
            out[self.column[s]] = (low, min(high, a[1])) if left else (max(low, b[0]), high)
        return out

    def room(self, i: int, box: dict[int, tuple[int, int]]) -> bool:
        """Return whether a row may lie in a box."""
        return all(self.spans[i][c][0] <= y and x <= self.spans[i][c][1] for c, (x, y) in box.items())


def _proves(
    problem: RowProblem, domains: Domains, splits: TreeSplits, ranges: NDArray[np.float64] | None, found: LocatedRows
) -> bool:
    """Return whether the steps of `found`, done again from the leaves left (`domains`), prove all its intervals.

    Raises `StepError` for a step that does not follow. Cost: every step row by row in Python: for some hundred rows.
    """
    at = MidpointReplay(problem, domains, splits, ranges)
    for step in found.steps:
        if isinstance(step, Applied):
            for s in step.nodes.tolist():
                at.applied(s)
        elif isinstance(step, Attained):
            at.attained(step)
        elif isinstance(step, Cycled):
            at.cycled(step)
        elif isinstance(step, Barred):
            at.barred(step)
        else:
            at.boxed(step.rows.tolist())
    return all(
        (np.isinf(low) or _number(low) <= span[0]) and (np.isinf(high) or span[1] <= _number(high))
        for row, lows, highs in zip(at.spans, found.low.tolist(), found.high.tolist(), strict=True)
        for span, low, high in zip(row, lows, highs, strict=True)
    )
