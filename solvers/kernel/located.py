"""What the values left for rows by position settle: where rows are, how many a box can hold, whether a world is left.

Source: docs/certificates.md, "Removals: rows distinguished".
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import CertificateError, NotVerified
from solvers.foundation.limits import Limits
from solvers.kernel.claims import AtLeast, AtMost, Claim, NoWorld, Removals, RowLocation
from solvers.kernel.proof_format import printable
from solvers.kernel.removals import RemainingDomains
from solvers.statements.boxes import Box
from solvers.statements.release import Release
from solvers.statements.row_problem import Meetings, problem_of


def replayed(release: Release, proof: Removals, limits: Limits) -> LocatedValues:
    """Return what is left after the steps of a proof; `CertificateError` where one of them does not hold."""
    problem = problem_of(release)
    if problem is None:
        raise CertificateError("the rows of this release cannot be distinguished")
    if not release.rows.low == release.rows.high == problem.rows:
        raise CertificateError(f"the bags are of {problem.rows} rows, the release is of another number")
    if problem.slot is not None and len(problem.slot) != problem.rows:
        raise CertificateError("the tree whose leaves distinguish rows does not count all rows")
    if Meetings.room(problem) > limits.room:
        raise NotVerified("not verified: the values of all rows take more memory than allowed (--memory)")
    left = RemainingDomains(Meetings(problem), limits)
    left.replay(proof.steps)
    return LocatedValues(left)


class LocatedValues:
    """What is left for every row, and the claims that follow."""

    def __init__(self, left: RemainingDomains) -> None:
        self.left, self.problem, self.meetings = left, left.problem, left.meetings

    def check(self, claim: Claim) -> None:
        """Return where a claim follows; raise `CertificateError` otherwise."""
        problem = self.problem
        if isinstance(claim, RowLocation):
            if not problem.positions:
                raise CertificateError("the rows of this release have no positions")
            if len(claim.rows) != len(claim.boxes) or any(not 0 <= i < problem.rows for i in claim.rows):
                raise CertificateError("the claim does not give each of its positions a place")
        if self.left.over:
            return
        if isinstance(claim, RowLocation):
            for i, box in zip(claim.rows, claim.boxes, strict=True):
                if not self.within(box, slice(i, i + 1))[0]:
                    raise CertificateError(f"the proof does not show that the row at position {i} is where it is said")
        elif isinstance(claim, AtMost):
            if (found := int(self.meeting(claim.box).sum())) > claim.rows:
                raise CertificateError(
                    f"the proof leaves {found} rows in the box, the claim needs at most {printable(claim.rows)}"
                )
        elif isinstance(claim, AtLeast):
            if (found := int(self.within(claim.box).sum())) < claim.rows:
                raise CertificateError(
                    f"the proof puts {found} rows into the box, the claim needs {printable(claim.rows)}"
                )
        elif isinstance(claim, NoWorld):
            raise CertificateError("the proof leaves every row some value")
        else:
            raise CertificateError("removals do not prove that a world is the only one")

    @cached_property
    def hulls(self) -> tuple[Ints, Ints]:
        """Return (rows, attributes) the first part where a row can be, and the one behind the last."""
        problem = self.problem
        start, end, _ = problem.ends()
        for t in range(problem.trees):
            row, value = np.nonzero(self.meetings.unpacked_tree(self.left.words, t))
            if len(row):
                rows, first = np.unique(row, return_index=True)
                value += problem.first[t]
                start[rows] = np.maximum(start[rows], np.minimum.reduceat(problem.start[value], first, axis=0))
                end[rows] = np.minimum(end[rows], np.maximum.reduceat(problem.end[value], first, axis=0))
        return start, end

    @cached_property
    def sets(self) -> dict[int, Bits]:
        """Return (rows, parts) where a row can be: the label, and attributes whose allowed parts need not be a run."""
        problem, words = self.problem, self.left.words
        out = problem.ends()[2]
        for t in range(problem.trees):
            held = self.meetings.unpacked_tree(words, t)
            seen = held.any(axis=1)
            for k, allowed in problem.sets.items():
                own = allowed[int(problem.first[t]) : int(problem.first[t + 1])]
                out[k][seen] &= held[seen] @ own
        if (label := problem.release.domain.label) is not None:
            out[label] = self.meetings.labels(words)
        return out

    def within(self, box: Box, rows: slice = slice(None)) -> Bits:
        """Return which rows lie in a box in every world."""
        start, end = (x[rows] for x in self.hulls)
        out = np.ones(len(start), dtype=bool)
        for k, mask in box.literals:
            bits = _bits_of(mask, self.problem.parts[k])
            if k in self.sets:
                out &= ~(self.sets[k][rows] & ~bits).any(axis=1)
            else:
                before = _prefix_counts(bits)
                out &= before[end[:, k]] - before[start[:, k]] >= end[:, k] - start[:, k]
        return out

    def values_meeting(self, box: Box) -> Bits:
        """Return which values share a part of every attribute with a box."""
        problem = self.problem
        met = np.ones(len(problem.tree), dtype=bool)
        for k, mask in box.literals:
            bits = _bits_of(mask, problem.parts[k])
            if k in problem.sets:
                met &= (problem.sets[k] & bits).any(axis=1)
            else:
                before = _prefix_counts(bits)
                met &= before[problem.end[:, k]] > before[problem.start[:, k]]
        return met

    def meeting(self, box: Box) -> Bits:
        """Return which rows can lie in a box: in no tree all their values miss it, nor does what the trees leave."""
        problem, (start, end) = self.problem, self.hulls
        out = np.ones(problem.rows, dtype=bool)
        for k, mask in box.literals:
            bits = _bits_of(mask, problem.parts[k])
            before = _prefix_counts(bits)
            if k in self.sets:
                out &= (self.sets[k] & bits).any(axis=1)
            else:
                out &= before[end[:, k]] > before[start[:, k]]
        some = self.meetings.by_tree(self.left.words & self.meetings.packed(self.values_meeting(box)))
        return out & (some | ~self.left.seen).all(axis=1)


def _bits_of(mask: int, parts: int) -> Bits:
    """Return which of an attribute's parts a mask allows."""
    inside = mask & ((1 << parts) - 1)
    found = np.frombuffer(inside.to_bytes(parts // 8 + 1, "little"), dtype=np.uint8)
    return np.unpackbits(found, bitorder="little")[:parts].astype(bool)


def _prefix_counts(bits: Bits) -> Ints:
    """Return how many parts before each, and before the end, are allowed."""
    return np.concatenate([[0], np.cumsum(bits)]).astype(np.int64)
