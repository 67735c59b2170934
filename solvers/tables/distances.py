"""How far two data sets can lie apart at most: whole multipliers of statements, evaluated in whole numbers.

The distance is L1 over groups of counts. With x and y two solutions and s their sum, a count, or the sum of a group,
adds |x - y| <= min(s, 2 U - s) to it (U: its greatest value above its least). So linear programs over s alone bound
it, exactly what those over x, y and their overlap do; around one data set h it is linear between 0 and U. Any
multipliers are a bound: `bound_of` is all that a checker needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from solvers.tables.atoms import Ints, LiveCounts, Rows, connected

if TYPE_CHECKING:
    import scipy.sparse as sp

    Telescoped = tuple[sp.csr_matrix, Ints, sp.csr_matrix]  # (T A, T left, T) of statements A x = left

SCALE = 2520  # multipliers are whole parts of it
MAX_MEETINGS = 100_000_000  # of two statements in a count, above which they are not compared with each other


def telescoped(matrix: sp.csr_matrix, left: Ints) -> Telescoped | None:
    """Return equivalent statements with few counts each: every statement less the largest that lie in it.

    "Everybody" and "women" become "men" and "women". Of statements that become the same one stays; None where these
    contradict each other. T is whole. Entries are 1.
    """
    import scipy.sparse as sp

    found: Any = matrix
    ways: Any = sp.identity(matrix.shape[0], np.int64, format="csr")
    while True:
        values, kept, of = ways @ left, *_first_of_each(found)
        if (values != values[kept][of]).any():
            return None
        found, ways = found[kept], ways[kept]
        inner, outer = nested(found)
        if not len(inner):
            return found, values[kept], ways
        ones, n = np.ones(len(inner), np.int64), found.shape[0]
        change = sp.identity(n, np.int64, format="csr") - sp.csr_matrix((ones, (outer, inner)), shape=(n, n))
        found, ways = (change @ found).tocsr(), (change @ ways).tocsr()
        found.eliminate_zeros()


def nested(matrix: sp.csr_matrix) -> tuple[Ints, Ints]:
    """Return, of every statement in which others lie, the largest of these: (inner, outer)."""
    sizes = np.diff(matrix.indptr)
    meets = (matrix @ matrix.T).tocoo()
    inside = (meets.data == sizes[meets.row]) & (sizes[meets.row] < sizes[meets.col])
    inner, outer = meets.row[inside], meets.col[inside]
    order = np.lexsort((inner, -sizes[inner], outer))
    outer, first = np.unique(outer[order], return_index=True)
    return inner[order][first], outer


def _first_of_each(matrix: sp.csr_matrix) -> tuple[Ints, Ints]:
    """Return the rows of a matrix, of equal ones the first, and for every row which of them it equals."""
    matrix.sort_indices()
    seen: dict[bytes, int] = {}
    keys = [matrix.indices[a:b].tobytes() for a, b in pairwise(matrix.indptr.tolist())]
    of = np.array([seen.setdefault(key, len(seen)) for key in keys], np.int64)
    return np.unique(of, return_index=True)[1], of


@dataclass(frozen=True, eq=False)
class Distances:
    """Counts of some components and behind them the sums of groups with several of them: `matrix x = left`, 0..`room`.

    `inside`: the columns whose differences are the distance. `columns`: of the open counts. Rows: statements, made of
    those that were published by `ways` (None: they are these), behind them the definitions of the sums of the groups
    `sums`.
    """

    matrix: sp.csr_matrix
    left: Ints
    room: Ints
    inside: NDArray[np.bool_]
    columns: Ints
    sums: Ints
    ways: sp.csr_matrix | None = None

    @cached_property
    def even(self) -> bool:
        """Return whether the distance of any two solutions surely is even.

        It is where the counts inside are a sum of statements modulo 2: then their differences add up to an even number.
        """
        odd = (self.matrix.data % 2).astype(bool)
        owner = np.repeat(np.arange(self.matrix.shape[0]), np.diff(self.matrix.indptr))[odd]
        columns, pivots = self.matrix.indices[odd], dict[int, int]()
        ends = np.searchsorted(owner, np.arange(self.matrix.shape[0] + 1)).tolist()
        whole = [sum(1 << j for j in columns[a:b].tolist()) for a, b in pairwise(ends)]
        for bits in [*whole, sum(1 << j for j in np.flatnonzero(self.inside).tolist())]:
            rest = bits
            while rest and (top := rest.bit_length()) in pivots:
                rest ^= pivots[top]
            pivots[rest.bit_length()] = rest
        return not rest

    def rounded(self, bound: int) -> int:
        """Return a bound on distances, less one where it is odd and they are even."""
        return bound - bound % 2 if bound % 2 and self.even else bound

    @cached_property
    def components(self) -> list[tuple[Ints, Ints, Distances]]:
        """Return the parts that share no statement: rows, columns, and the system of these."""
        entries = self.matrix.tocoo()
        m, n = entries.shape
        of = connected(entries.row.astype(np.int64), m + entries.col.astype(np.int64), m + n)
        out, k = list[tuple[Ints, Ints, Distances]](), len(self.columns)
        for one in np.unique(of[m:]).tolist():
            rows, at = np.flatnonzero(of[:m] == one), np.flatnonzero(of[m:] == one)
            mine = (self.matrix[rows][:, at], self.left[rows], self.room[at], self.inside[at])
            out.append((rows, at, Distances(*mine, self.columns[at[at < k]], self.sums[at[at >= k] - k])))
        return out


def bound_of(d: Distances, multipliers: Ints, around: Ints | None = None) -> int:
    """Return a bound on the distance of two solutions, or of one from `around`, by multipliers in parts of `SCALE`.

    For every pair, 2 m·left + Σ max over s in [0, 2 U] of (min(s, 2 U - s) if inside, minus (mᵀA) s); around h,
    m·left + Σ max over x in {0, U} of |x - h|, minus (mᵀA) x. Whole numbers throughout, rounded down at the end.
    """
    weight = d.matrix.T @ multipliers
    if around is not None:
        ends = [np.where(d.inside, SCALE * np.abs(x - around), 0) - weight * x for x in (0 * d.room, d.room)]
        return int((int(multipliers @ d.left) + int(np.maximum(*ends).sum())) // SCALE)
    gain = np.where(d.inside, SCALE - weight, -weight)
    bend = np.where(d.inside, 2 * SCALE, 0)
    slack = d.room * (np.maximum(gain, 0) + np.maximum(gain - bend, 0))
    return int((2 * int(multipliers @ d.left) + int(slack.sum())) // SCALE)


@dataclass(frozen=True, eq=False)
class OpenCounts:
    """The counts `at` that bounds leave open, and what statements (`rows`) leave for them.

    Counts are told from their least value, `base`: `matrix x = left` with x from 0 to `room`.
    """

    at: Ints
    rows: Ints
    matrix: sp.csr_matrix
    left: Ints
    room: Ints
    base: Ints

    @classmethod
    def of(cls, rows: Rows, low: Ints, high: Ints) -> OpenCounts:
        """Return what bounds leave open of all counts under some statements."""
        import scipy.sparse as sp

        is_open = low < high
        owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
        left = rows.value - np.bincount(owner, low[rows.columns], len(rows)).astype(np.int64)
        inner = is_open[rows.columns]
        at, number = np.flatnonzero(is_open), np.cumsum(is_open) - 1
        entries = (owner[inner], number[rows.columns[inner]])
        matrix = sp.csr_matrix((np.ones(len(entries[0]), np.int64), entries), shape=(len(rows), len(at)))
        used = np.flatnonzero(np.diff(matrix.indptr))
        return cls(at, used, matrix[used], left[used], (high - low)[at], low)

    @cached_property
    def less(self) -> Telescoped:
        """Return the statements telescoped; as they are where they contradict each other or are too many."""
        import scipy.sparse as sp

        meetings = float((np.bincount(self.matrix.indices).astype(float) ** 2).sum())
        found = None if meetings > MAX_MEETINGS else telescoped(self.matrix, self.left)
        return found or (self.matrix, self.left, sp.identity(len(self.left), np.int64, format="csr"))

    @cached_property
    def part(self) -> Ints:
        """Return the component of every open count: of counts that share statements, these telescoped."""
        matrix = self.less[0]
        columns = matrix.indices.astype(np.int64)
        first = columns[matrix.indptr[:-1]]
        return connected(np.repeat(first, np.diff(matrix.indptr)), columns, len(self.at))

    @cached_property
    def row_part(self) -> Ints:
        """Return the component of every statement, these telescoped."""
        matrix = self.less[0]
        return self.part[matrix.indices[matrix.indptr[:-1]]]

    def beside(self, columns: Ints) -> tuple[Ints, Ints]:
        """Return the rows of `less` and the columns of the components that some columns are in."""
        parts = np.unique(self.part[columns])
        return np.flatnonzero(np.isin(self.row_part, parts)), np.flatnonzero(np.isin(self.part, parts))

    def distances(self, label: Ints, published: bool = False) -> Distances | None:
        """Return the components in which open counts have a group (`label` of every count, -1: none); None: in none.

        `published`: all open counts and statements as they are, for a checker.
        """
        import scipy.sparse as sp

        inner = label[self.at] >= 0
        if not inner.any():
            return None
        matrix, left, columns, ways = self.matrix, self.left, np.arange(len(self.at)), None
        if not published:
            rows, columns = self.beside(np.flatnonzero(inner))
            matrix, left, ways = self.less[0][rows][:, columns], self.less[1][rows], self.less[2][rows]
        own, room = label[self.at[columns]], self.room[columns]
        seen, size = np.unique(own[own >= 0], return_counts=True)
        many = seen[size > 1]
        member = np.flatnonzero(np.isin(own, many))
        inside = own >= 0
        if len(many):
            ones = np.ones(len(member), np.int64)
            group = sp.csr_matrix((ones, (np.searchsorted(many, own[member]), member)), shape=(len(many), len(columns)))
            meets = (group @ self.matrix[:, columns].T).tocoo()
            most, whole = np.asarray(group @ room), meets.data == size[size > 1][meets.row]
            np.minimum.at(most, meets.row[whole], self.left[meets.col[whole]])  # a statement holds all of the group
            blocks: Any = [[matrix, None], [-group, sp.identity(len(many), np.int64)]]
            matrix = sp.bmat(blocks, format="csr", dtype=np.int64)
            left, room = np.concatenate([left, np.zeros(len(many), np.int64)]), np.concatenate([room, most])
            inside[member] = False
            inside = np.concatenate([inside, np.ones(len(many), bool)])
        return Distances(matrix, left, room, inside, columns, many, ways)

    def multipliers(self, d: Distances, told: Ints) -> tuple[dict[int, int], dict[int, int]]:
        """Return multipliers of published statements, and of the sums of groups, from those of a system's rows."""
        assert d.ways is not None
        k = d.ways.shape[0]
        rows, sums = d.ways.T @ told[:k], told[k:]
        of_rows = dict(zip(self.rows.tolist(), rows.tolist(), strict=True))
        of_sums = dict(zip(d.sums.tolist(), sums.tolist(), strict=True))
        return {r: m for r, m in of_rows.items() if m}, {g: m for g, m in of_sums.items() if m}

    def multiplied(self, d: Distances, rows: dict[int, int], sums: dict[int, int]) -> Ints:
        """Return multipliers for the rows of a system of published statements from those of these and of sums."""
        told = [rows.get(r, 0) for r in self.rows.tolist()] + [sums.get(g, 0) for g in d.sums.tolist()]
        return np.array(told, np.int64)

    def values(self, columns: Ints, x: Ints, into: Ints) -> Ints:
        """Return `into` with the open counts of some columns as they are in a solution x of these."""
        out = into.copy()
        out[self.at[columns]] = self.base[self.at[columns]] + x[: len(columns)]
        return out


def distance(x: Ints, y: Ints, label: Ints) -> int:
    """Return the distance of two data sets, each a value for every count, over the groups `label` (-1: none)."""
    inner = label >= 0
    return int(np.abs(np.bincount(label[inner], (x - y)[inner])).sum())


def total_of(live: LiveCounts, leaf: int, mine: NDArray[np.bool_]) -> int | None:
    """Return the number of people of a leaf where a count of its own says it."""
    at = np.flatnonzero(live.own & (live.row_area == leaf) & (np.diff(live.rows.starts) == mine.sum()))
    return int(live.rows.value[at[0]]) if len(at) else None


def linear_program(d: Distances, around: Ints | None) -> tuple[Any, ...]:
    """Return the greatest distance as `linprog` takes it: cost, A_ub, b_ub, A_eq, b_eq, bounds."""
    import scipy.sparse as sp

    n, at = d.matrix.shape[1], np.flatnonzero(d.inside)
    if around is not None:
        slope = np.where(d.inside, 1 - 2 * around / np.maximum(1, d.room), 0.0)
        return -slope, None, None, d.matrix, d.left, np.stack([0 * d.room, d.room], axis=1)
    k = len(at)
    pick = sp.csr_matrix((np.ones(k), (np.arange(k), at)), shape=(k, n))
    eye = sp.identity(k, format="csr")
    upper = sp.vstack([sp.hstack([-pick, eye]), sp.hstack([pick, eye])], format="csr")
    ends = np.concatenate([np.zeros(k), 2 * d.room[at]])
    equal = sp.hstack([d.matrix, sp.csr_matrix((d.matrix.shape[0], k))], format="csr")
    bounds = np.stack([np.zeros(n + k), np.concatenate([2 * d.room, d.room[at]])], axis=1)
    return np.concatenate([np.zeros(n), -np.ones(k)]), upper, ends, equal, 2 * d.left, bounds
