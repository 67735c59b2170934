"""Counts of subsets of known people, each within a bound: a proof that a person has a secret bit, checked in integers.

A proof gives every count a whole multiplier, positive for its upper end, negative for its lower one. Their sum bounds a
weighted sum of all people's bits from above; where no bits, with that of the person flipped, stay below it, the bit is
proved. Nothing is rounded, and nothing is searched for.

Source: Farkas, "Theorie der einfachen Ungleichungen", 1902; Dinur, Nissim, "Revealing information while preserving
privacy", PODS 2003 (subset counts with bounded noise).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Ints
from solvers.foundation.errors import CertificateError

MAX_MULTIPLIER = 1 << 40  # with 2^20 queries sums stay below 2^62


@dataclass(frozen=True, eq=False)
class SubsetCounts:
    """Queries over n people: `members` (queries, n) 0 or 1, and the least and greatest count of each query."""

    members: NDArray[np.int8]
    low: Ints
    high: Ints

    @property
    def people(self) -> int:
        """Return the number of people."""
        return int(self.members.shape[1])

    def fits(self, bits: Ints) -> bool:
        """Return whether bits (n,) have all counts."""
        counts = self.members @ bits
        return bool(((counts >= self.low) & (counts <= self.high)).all())


@dataclass(frozen=True, slots=True)
class BitProof:
    """A whole multiplier for each of some queries."""

    queries: tuple[int, ...]
    multipliers: tuple[int, ...]


def slack(counts: SubsetCounts, person: int, bit: int, proof: BitProof) -> int:
    """Return by how much the multipliers refute that a person's bit is the other one; above 0: it is proved."""
    queries = np.array(proof.queries, dtype=np.int64)
    y = np.array(proof.multipliers, dtype=np.int64)
    weights = y @ counts.members[queries].astype(np.int64)
    most = int((np.where(y > 0, counts.high[queries], counts.low[queries]) * y).sum())
    least = np.minimum(weights, 0)
    flipped = int(weights[person]) * (1 - bit)
    return int(least.sum()) - int(least[person]) + flipped - most


def check_bit(counts: SubsetCounts, person: int, bit: int, proof: BitProof) -> None:
    """Raise `CertificateError` where a proof does not show that a person (by number) has a bit."""
    _refuse_malformed(counts, person, bit, proof.queries, proof.multipliers)
    if slack(counts, person, bit, proof) <= 0:
        raise CertificateError("the multipliers do not refute the other bit")


def _refuse_malformed(
    counts: SubsetCounts, person: int, bit: int, queries: Sequence[int], multipliers: Sequence[int]
) -> None:
    if not 0 <= person < counts.people or bit not in (0, 1):
        raise CertificateError("it is about nobody, or about no bit")
    if len(queries) != len(multipliers) or len(set(queries)) < len(queries):
        raise CertificateError("it does not have one multiplier for each of its queries")
    if not all(0 <= q < len(counts.members) for q in queries):
        raise CertificateError("it names a query that there is not")
    if not all(abs(y) <= MAX_MULTIPLIER for y in multipliers):
        raise CertificateError("a multiplier is beyond 2^40")
