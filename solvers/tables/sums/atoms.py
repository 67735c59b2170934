"""What published counts can tell apart: every combination of parts of the attributes, grouped by the counts it is in.

A *tuple* is one part of each attribute; a *class* holds the tuples that exactly the same cells count. Incidences are
sparse matrices, so that no object stands for a single cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from solvers.foundation.errors import TooLarge

MAX_TUPLES = 1 << 22
Ints = NDArray[np.int64]
Masks = Sequence[tuple[int, NDArray[np.bool_]]]  # of a box: attribute -> its allowed parts


def incidence(shape: tuple[int, ...], regions: Sequence[Sequence[Masks]]) -> sp.csr_matrix:
    """Return (regions, tuples): 1 where a region, a union of boxes, holds a tuple; `TooLarge` above 4 million."""
    total = int(np.prod([float(s) for s in shape])) if shape else 1
    if total > MAX_TUPLES:
        raise TooLarge(f"the tables cut the attributes into {total:,} combinations, more than {MAX_TUPLES:,}")
    none = np.zeros(0, np.int64)
    columns = [
        places(shape, r[0]) if len(r) == 1 else np.unique(np.concatenate([*(places(shape, b) for b in r), none]))
        for r in regions
    ]
    starts = np.concatenate([[0], np.cumsum([len(c) for c in columns])]).astype(np.int64)
    indices = np.concatenate([*columns, np.zeros(0, np.int64)])
    return sp.csr_matrix((np.ones(len(indices), np.int64), indices, starts), shape=(len(regions), total))


def places(shape: tuple[int, ...], box: Masks) -> Ints:
    """Return the numbers of the tuples in a box, ascending."""
    allowed = dict(box)
    out = np.zeros(1, np.int64)
    for k, size in enumerate(shape):
        parts = np.flatnonzero(allowed[k]) if k in allowed else np.arange(size)
        out = (out[:, None] * size + parts).ravel()
    return out


@dataclass(frozen=True, eq=False)
class Cells:
    """Published cells over the tuples that can exist: `matrix` (cells, tuples), `tuples` their numbers in `shape`."""

    names: tuple[str, ...]
    shape: tuple[int, ...]
    tuples: Ints
    matrix: sp.csr_matrix

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        shape: tuple[int, ...],
        regions: Sequence[Sequence[Masks]],
        impossible: Sequence[Masks],
    ) -> Cells:
        """Return cells with these regions; the impossible boxes hold nobody. Cost: cells times tuples, vectorised."""
        whole = incidence(shape, regions)
        out = np.zeros(whole.shape[1], bool)
        for box in impossible:
            out[places(shape, box)] = True
        kept = np.flatnonzero(~out)
        return cls(tuple(names), shape, kept, whole[:, kept].tocsr())

    @cached_property
    def place(self) -> dict[str, int]:
        """Return the number of every cell by its name."""
        return {name: i for i, name in enumerate(self.names)}

    def classes(self, cells: Ints) -> Ints:
        """Return for every tuple the number of its class under some of the cells."""
        return classes_of(self.matrix[cells])


def classes_of(matrix: sp.csr_matrix) -> Ints:
    """Return a class per column: equal where the columns of a 0/1 matrix are equal, in the order of appearance.

    Columns are grouped by random sums of 64 bits and by length, and then compared entry by entry.
    """
    columns = matrix.tocsc()
    columns.sort_indices()
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 2**63, size=matrix.shape[0], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    lengths = np.diff(columns.indptr)
    sums = sums_of(weights[columns.indices], columns.indptr)
    keys = np.stack([sums, lengths.astype(np.uint64)], axis=1)
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    starts = columns.indptr[:-1]
    offset = np.arange(len(columns.indices)) - np.repeat(starts, lengths)
    like = np.repeat(starts[first[group]], lengths) + offset
    if not np.array_equal(columns.indices, columns.indices[like]):
        raise TooLarge("two combinations that the tables tell apart have the same random sum")
    order = np.argsort(np.argsort(first))
    return order[group].astype(np.int64)


def sums_of(values: NDArray[Any], starts: NDArray[Any]) -> NDArray[Any]:
    """Return the sum of every segment of values between two starts, 0 for empty ones."""
    out = np.zeros(len(starts) - 1, values.dtype)
    full = np.flatnonzero(np.diff(starts))
    if len(full):
        out[full] = np.add.reduceat(values, starts[full])
    return out


def expanded(starts: NDArray[Any], of: Ints) -> tuple[Ints, Ints]:
    """Return where the entries of the segments `of` stand, and which of `of` each belongs to."""
    lengths = starts[of + 1] - starts[of]
    owner = np.repeat(np.arange(len(of)), lengths)
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts[of] - before, lengths) + np.arange(len(owner)), owner
