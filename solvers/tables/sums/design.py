"""Which cells a top area is solved over: what lower areas cannot see is split off where nothing is lost.

Lower tables tell classes B apart, those of the top area classes V. Where all of a connected group of B and V meet, and
the top area's tables determine the count of every V of it, data sets over B whose sums over the group agree are
exactly those that extend: rows and columns of a two-way table with known margins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from solvers.tables.sums.atoms import Cells, Ints


@dataclass(frozen=True, eq=False)
class Design:
    """The classes of one pattern of published cells: `lower` cells are known below the top area, `upper` of it alone.

    A *pair* is a class B and a class V that share tuples (`pair_b`, `pair_v`, `size` tuples). `group` of a pair: its
    connected group; `whole`: all B and V of the group meet, in one tuple each.
    """

    lower: Ints
    upper: Ints
    b: Ints  # of tuples
    pair: Ints  # of tuples
    pair_b: Ints
    pair_v: Ints
    size: Ints
    group: Ints
    whole: np.ndarray  # of groups
    lower_matrix: sp.csr_matrix  # (lower cells, B)
    upper_matrix: sp.csr_matrix  # (upper cells, V)

    @classmethod
    def of(cls, cells: Cells, lower: Ints, upper: Ints) -> Design:
        """Return the classes that the cells known of lower areas, and those of the top area, tell apart."""
        b, v = cells.classes(lower), cells.classes(upper)
        nb, nv = int(b.max(initial=-1)) + 1, int(v.max(initial=-1)) + 1
        keys, pair, size = np.unique(b * max(nv, 1) + v, return_inverse=True, return_counts=True)
        pair_b, pair_v = keys // max(nv, 1), keys % max(nv, 1)
        graph = sp.coo_matrix((np.ones(len(keys)), (pair_b, nb + pair_v)), shape=(nb + nv, nb + nv))
        groups, named = connected_components(graph, directed=False)
        bs, vs = np.bincount(named[:nb], minlength=groups), np.bincount(named[nb:], minlength=groups)
        group = named[pair_b].astype(np.int64)
        whole = np.bincount(group, minlength=groups) == bs * vs
        whole &= np.bincount(group, weights=size > 1, minlength=groups) == 0
        first_b, first_v = _first(b, nb), _first(v, nv)
        return cls(
            lower, upper, b, pair.ravel().astype(np.int64), pair_b, pair_v, size.astype(np.int64), group, whole,
            cells.matrix[lower][:, first_b].tocsr(), cells.matrix[upper][:, first_v].tocsr(),
        )  # fmt: skip


def _first(classes: Ints, number: int) -> Ints:
    out = np.zeros(number, np.int64)
    out[classes[::-1]] = np.arange(len(classes))[::-1]
    return out


def determined(matrix: sp.csr_matrix, values: Ints, unknown: np.ndarray) -> tuple[np.ndarray, Ints]:
    """Return which columns a system `matrix x = values` determines one row at a time, and their values.

    `unknown`: the columns that are not known to be 0. A row with one unknown column left gives its value; repeated
    until no row does. Values may come out negative: then nothing fits.
    """
    rows = matrix.tocsr()
    x = np.zeros(matrix.shape[1], np.int64)
    open_columns = unknown.copy()
    rest = values.astype(np.int64).copy()
    ids = np.arange(matrix.shape[1], dtype=np.int64)
    while open_columns.any():
        left = rows @ open_columns.astype(np.int64)
        single = np.flatnonzero(left == 1)
        if not len(single):
            break
        which = (rows[single] @ (open_columns * ids)).astype(np.int64)
        new, at = np.unique(which, return_index=True)
        x[new] = rest[single[at]]
        open_columns[new] = False
        step = np.zeros_like(x)
        step[new] = x[new]
        rest -= rows @ step
    return unknown & ~open_columns, x
