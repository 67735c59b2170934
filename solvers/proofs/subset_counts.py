"""Secret bits from counts of subsets: the bits that fit, found, and who has no other, proved by linear programs.

Bits are found by least squares and by flips that lessen what counts miss. Each proof is one linear program over the
multipliers: as many rows as people, the counts as columns. Only its right side changes from person to person, so that
the dual simplex begins at the basis of the last. Multipliers are rounded to whole numbers and checked by the kernel.

Source: Dwork, McSherry, Talwar, "The price of privacy and the limits of LP decoding", STOC 2007 (decoding, which
guesses); HiGHS (Huangfu, Hall, "Parallelizing the dual revised simplex method", 2018).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.limits import Limits
from solvers.kernel.subset_counts import BitProof, SubsetCounts, slack

SCALE = 1 << 30  # of multipliers as whole numbers
RIDGE = 1e-6
PIVOTS = 10  # per person, of the program about all at once
MAX_PIVOTS = 1_000_000  # of one person's
FLIPS = 50  # flips per person that are tried
SURE = 1e-6  # what an optimum in floating point must lack of 1 for a proof to be tried
PHASE = "secret bits were proved"


def fitting_bits(counts: SubsetCounts) -> tuple[Ints, bool]:
    """Return bits (n,), and whether all counts are theirs; else they are the nearest that were found.

    Cost: one least squares solution, then flips, each linear in queries times people.
    """
    members = counts.members.astype(np.float64)
    middle = (counts.low + counts.high) / 2.0
    squares = members.T @ members + RIDGE * np.eye(counts.people)  # fewer counts than people leave it singular
    bits = (np.linalg.solve(squares, members.T @ middle) > 0.5).astype(np.int64)
    return _flipped(counts, bits, members)


def _flipped(counts: SubsetCounts, bits: Ints, members: Floats) -> tuple[Ints, bool]:
    """Return bits after single flips and swaps that lessen the sum of what counts miss, as long as there are some."""
    now = members @ bits
    low, high = (one.astype(np.float64)[:, None] for one in (counts.low, counts.high))

    def missed(sums: Floats) -> Floats:
        over: Floats = np.maximum(sums - high, 0) ** 2 + np.maximum(low - sums, 0) ** 2
        return over

    best, tried = float(missed(now[:, None]).sum()), 0
    while best > 0 and tried < FLIPS * len(bits):
        tried += 1
        moves = members * (1 - 2 * bits)
        after = (missed(now[:, None] + moves)).sum(axis=0)
        k = int(after.argmin())
        if after[k] >= best:
            break
        now = now + moves[:, k]
        bits[k] = 1 - bits[k]
        best = float(after[k])
    return bits, best == 0.0


@dataclass(frozen=True, slots=True)
class BitRange:
    """What is known of one person's bit: the share in [0, 1] that the relaxation leaves the other bit, and a proof."""

    person: int
    left: float
    proof: BitProof | None


def proved_bits(counts: SubsetCounts, bits: Ints, limits: Limits, people: Sequence[int] = ()) -> Iterator[BitRange]:
    """Yield a line per person (all by default), whether no other bit is possible; ends early when time is up.

    `bits` fit all counts. Cost: one program of n rows and 2 q + 2 n columns each, warm-started.
    """
    program = _MultiplierProgram(counts, bits, limits)
    left, multipliers = program.solve(None, PIVOTS * counts.people)
    if left < 1 - SURE:  # nobody's bit can be flipped: one sum proves all
        used = np.flatnonzero(multipliers)
        proof = BitProof(tuple(used.tolist()), tuple(multipliers[used].tolist()))
        if all(slack(counts, person, int(bits[person]), proof) > 0 for person in range(counts.people)):
            yield from (BitRange(person, left, proof) for person in people or range(counts.people))
            return
    for person in people or range(counts.people):
        if limits.expired():
            return
        limits.report(f"{PHASE}: person {person:,} of {counts.people:,}")
        left, multipliers = program.solve(person)
        found: BitProof | None = None
        if left < 1 - SURE:
            used = np.flatnonzero(multipliers)
            proof = BitProof(tuple(used.tolist()), tuple(multipliers[used].tolist()))
            found = proof if slack(counts, person, int(bits[person]), proof) > 0 else None
        yield BitRange(person, left, found)


class _MultiplierProgram:
    """The least bound on how far one bit can be from what it is, over multipliers of counts; kept for all people.

    With d_k = 1 where a bit is flipped: maximise d_i where low <= B d <= high, 0 <= d <= 1. Its dual is solved.
    """

    def __init__(self, counts: SubsetCounts, bits: Ints, limits: Limits) -> None:
        import highspy
        from scipy.sparse import csc_matrix, hstack, identity

        flips = (counts.members * (1 - 2 * bits)).astype(np.float64)
        now = counts.members @ bits
        self.queries, self.people = len(flips), len(bits)
        self.last: int | None = -1
        self.limits, self.steps, self.most, self.ended = limits, 0, 0, False
        rows = csc_matrix(flips.T)
        matrix = hstack([rows, -rows, identity(self.people), -identity(self.people)], format="csc")
        nothing = np.zeros(self.people)
        costs = np.concatenate([counts.high - now, now - counts.low, nothing + 1, nothing]).astype(np.float64)
        self.solver = highspy.Highs()
        self.solver.HandleUserInterrupt = True
        self.solver.cbSimplexInterrupt.subscribe(self._step)
        for name, value in (("output_flag", False), ("threads", 1), ("solver", "simplex"), ("presolve", "off")):
            self.solver.setOptionValue(name, value)
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = matrix.shape[1], self.people
        program.col_cost_, program.col_lower_ = costs, np.zeros(matrix.shape[1])
        program.col_upper_ = np.full(matrix.shape[1], highspy.kHighsInf)
        program.row_lower_ = program.row_upper_ = nothing
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_, program.a_matrix_.index_ = matrix.indptr, matrix.indices
        program.a_matrix_.value_ = matrix.data
        self.solver.passModel(program)

    def _step(self, event: Any) -> None:
        """End a solve when the time is up, or after more pivots than it may take."""
        if self.ended and not self.steps:  # HiGHS keeps what it was told at the last solve
            event.data_in.user_interrupt = self.ended = False
        self.steps += 1
        if self.steps > self.most or self.limits.expired():
            self.ended = True
            event.interrupt()

    def solve(self, person: int | None, pivots: int = MAX_PIVOTS) -> tuple[float, Ints]:
        """Return the bound on one person's flip (None: on the number of flips), and the counts' multipliers, whole.

        After so many pivots, or when the time is up, there is no bound: 1.
        """
        import highspy

        self.steps, self.most = 0, pivots

        if person is None or self.last is None:
            every, side = np.arange(self.people, dtype=np.int32), np.full(self.people, float(person is None))
            self.solver.changeRowsBounds(self.people, every, side, side)
        elif self.last >= 0:
            self.solver.changeRowBounds(self.last, 0.0, 0.0)
        if person is not None:
            self.solver.changeRowBounds(person, 1.0, 1.0)
        self.last = person
        self.solver.run()
        if self.solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return 1.0, np.zeros(self.queries, dtype=np.int64)
        found = np.array(self.solver.getSolution().col_value)
        upper, lower = found[: self.queries], found[self.queries : 2 * self.queries]
        bound = float(self.solver.getInfo().objective_function_value)
        return bound, np.rint((upper - lower) * SCALE).astype(np.int64)
