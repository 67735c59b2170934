"""Masks over parts: their runs of set bits, and long masks kept as runs.

A threshold on an attribute of n parts allows a run of them. As a number that takes n bits; a tree of n leaves over n
parts would take n^2. Kept as its two ends it takes 16 bytes, and becomes a number where somebody asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray


def spans(mask: int) -> list[tuple[int, int]]:
    """Return the runs of set bits of a mask as (first, behind the last), in order.

    Cost: linear in the length of the mask, whatever the number of runs; asking bit by bit is quadratic, because each
    shift copies the mask.
    """
    if mask <= 0:
        return []
    low, high = (mask & -mask).bit_length() - 1, mask.bit_length()
    if mask.bit_count() == high - low:
        return [(low, high)]
    bits = np.unpackbits(np.frombuffer(mask.to_bytes((high + 7) // 8, "little"), dtype=np.uint8), bitorder="little")
    edges = np.flatnonzero(np.diff(bits, prepend=np.uint8(0), append=np.uint8(0))).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


@dataclass(frozen=True, eq=False)
class RunMasks:
    """Masks of one run each, `first[i]` to `end[i]` (not included; equal: no part), read like an array of numbers."""

    first: NDArray[np.int64]
    end: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.first)

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice | NDArray[Any]) -> NDArray[np.object_]: ...
    def __getitem__(self, at: int | slice | NDArray[Any]) -> int | NDArray[np.object_]:
        """Return one mask, or an array of them (dtype object)."""
        if isinstance(at, (int, np.integer)):
            return run(int(self.first[at]), int(self.end[at]))
        found = np.empty(len(self.first[at]), dtype=object)
        found[:] = [run(a, b) for a, b in zip(self.first[at].tolist(), self.end[at].tolist(), strict=True)]
        return found

    def tolist(self) -> list[int]:
        """Return the masks as numbers."""
        return [run(a, b) for a, b in zip(self.first.tolist(), self.end.tolist(), strict=True)]


def run(first: int, end: int) -> int:
    """Return the mask of the parts from `first` to before `end`."""
    return (1 << end) - (1 << first)
