"""The search for a short list of statements that fix every count one after the other (`solvers.tables.replay`)."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import numpy as np

from solvers.tables.areas import Live
from solvers.tables.atoms import Ints, Rows

START = 1 << 36


def steps_for(live: Live) -> list[int] | None:
    """Return statements that fix every count when they are applied in turn; None where propagation leaves some open.

    Statements that fix all that is open in them go first; only where there is none, one that narrows a count.
    """
    return _Search(live.rows, len(live.leaf)).run()


class _Search:
    def __init__(self, rows: Rows, variables: int) -> None:
        self.rows = rows
        self.low, self.high = [0] * variables, [START] * variables
        self.columns = [rows.columns[a:b].tolist() for a, b in pairwise(rows.starts.tolist())]
        self.value = rows.value.tolist()
        owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
        order = np.argsort(rows.columns, kind="stable")
        ends = np.searchsorted(rows.columns[order], np.arange(variables + 1))
        self.of = [owner[order[a:b]].tolist() for a, b in pairwise(ends.tolist())]
        self.least = [0] * len(rows)
        self.most = [START * len(c) for c in self.columns]
        self.open = [len(c) for c in self.columns]
        self.steps: list[int] = []
        self.queue = deque(sorted(range(len(rows)), key=lambda r: len(self.columns[r])))

    def run(self) -> list[int] | None:
        while True:
            while self.queue:
                r = self.queue.popleft()
                if self.open[r] and (self.value[r] in {self.least[r], self.most[r]} or self.open[r] == 1):
                    self.apply(r)
            if not any(self.open):
                return self.steps
            best = self.narrowing()
            if best is None:
                return None
            self.apply(best)

    def apply(self, r: int) -> None:
        """Apply statement r once, every count by the bounds that the others had before."""
        self.steps.append(r)
        value, least, most = self.value[r], self.least[r], self.most[r]
        for j in self.columns[r]:
            low, high = self.low[j], self.high[j]
            if low == high:
                continue
            a, b = max(low, value - (most - high)), min(high, value - (least - low))
            if (a, b) == (low, high):
                continue
            self.low[j], self.high[j] = a, b
            for s in self.of[j]:
                self.least[s] += a - low
                self.most[s] += b - high
                self.open[s] -= a == b
                if self.open[s]:
                    self.queue.append(s)

    def narrowing(self) -> int | None:
        """Return a statement that narrows counts most, None where none does."""
        rows = self.rows
        owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
        low, high = np.array(self.low)[rows.columns], np.array(self.high)[rows.columns]
        value, least, most = (np.array(x)[owner] for x in (self.value, self.least, self.most))
        gain: Ints = np.maximum(0, high - (value - least + low)) + np.maximum(0, value - most + high - low)
        by_row = np.bincount(owner, np.minimum(gain, START), len(rows))
        best = int(by_row.argmax()) if len(by_row) else 0
        return best if len(by_row) and by_row[best] > 0 else None
