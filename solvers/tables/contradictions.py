"""Why no counts fit: published counts that contradict each other, none of them for nothing, those of 0 among them.

Where statements clash, the published counts behind them are looked up (what the top area's tables determine follows
from several), reduced until none can be left out, then the counts of 0 are added without which the rest would fit.
Counts of areas and combinations that the chosen ones do not tell apart are one unknown, so that programs stay small.

Source: Junker, "QuickXplain: preferred explanations and relaxations for over-constrained problems", AAAI 2004.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.errors import ContradictionError
from solvers.tables.atoms import (
    ANY,
    GROUP,
    Cells,
    ClashError,
    Design,
    Ints,
    LiveCounts,
    PublishedCount,
    Rows,
    Top,
    classes_of,
    propagated,
)

if TYPE_CHECKING:
    import scipy.sparse as sp

MAX_TRIED = 400  # sets of statements
MAX_NAMED, NODES = 20, 500


def contradiction_of(cells: Cells, live: LiveCounts, rows: Ints) -> ContradictionError:
    """Return the contradiction of some statements about live counts, by the published counts behind them."""
    n = len(live.leaf)

    def clash(some: list[int], whole: bool) -> bool:
        return not fit(live.rows.chosen(rows[np.array(some, np.int64)]), n, whole)

    whole = not clash(list(range(len(rows))), False)  # else propagation alone is asked
    kept = rows[np.array(irreducible(len(rows), lambda some: clash(some, whole)), np.int64)]
    told = zip(live.row_area[kept].tolist(), live.row_cell[kept].tolist(), strict=True)
    return contradiction(cells, live.top, live.design, list(told))


def contradiction(cells: Cells, top: Top, design: Design, told: Sequence[PublishedCount]) -> ContradictionError:
    """Return the contradiction of some counts that no data set has, each named with its area, cell and number.

    `told`: areas and cells; GROUP - g in place of a cell: what the top area's tables determine of group g.
    """
    found = _published(top, design, told)
    lines = irreducible(len(found), lambda some: not _Kinds.of(top, design, [found[i] for i in some]).fit())
    chosen = [found[i] for i in lines]
    zeros = _zeros(top, design, chosen)
    named = [f"{top.names[a]}: {cells.names[c]} = {int(top.values[a, c]):,}" for a, c in [*chosen, *zeros]]
    more = [f"and {len(named) - MAX_NAMED:,} more counts"] if len(named) > MAX_NAMED + 1 else named[MAX_NAMED:]
    return ContradictionError(f"the counts of area '{top.names[0]}' contradict each other",
                              (*named[:MAX_NAMED], *more))  # fmt: skip


def irreducible(number: int, clash: Callable[[list[int]], bool]) -> list[int]:
    """Return some of so many things that clash together, none of which can be left out.

    Halves are left out where the rest still does, until `MAX_TRIED` sets were tried: then more may be left. All where
    together they do not clash.
    """
    tried = 0

    def needed(kept: list[int], last: list[int], rest: list[int]) -> list[int]:
        nonlocal tried
        tried += 1
        if tried > MAX_TRIED:
            return rest
        if last and clash(kept):
            return []
        if len(rest) <= 1:
            return rest
        half = len(rest) // 2
        right = needed(kept + rest[:half], rest[:half], rest[half:])
        return needed(kept + right, right, rest[:half]) + right

    every = list(range(number))
    return [] if clash([]) else sorted(needed([], [], every)) if clash(every) else every


def fit(rows: Rows, n: int, whole: bool = True) -> bool:
    """Return whether counts may fit some statements: False where propagation, or (`whole`) HiGHS, says that none do."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    try:
        low, high = propagated(rows, np.zeros(n, np.int64), np.full(n, ANY, np.int64))
    except ClashError:
        return False
    if not whole or not len(rows) or np.array_equal(low, high):
        return True
    matrix: Any = csr_array((np.ones(len(rows.columns)), rows.columns, rows.starts), shape=(len(rows), n))
    bounds = Bounds(low, np.minimum(high, max(1, int(rows.value.max()))))
    found = milp(np.zeros(n), constraints=LinearConstraint(matrix, rows.value, rows.value), bounds=bounds,
                 integrality=np.ones(n, np.int64), options={"node_limit": NODES})  # fmt: skip
    return bool(found.status != 2)


def _published(top: Top, design: Design, told: Sequence[PublishedCount]) -> list[PublishedCount]:
    """Return published counts from which what was told follows."""
    out = dict.fromkeys((a, c) for a, c in told if c >= 0)
    if len(top.names) == 1 or all(a for a, _ in told):
        return list(out)
    dead = design.lower_matrix.T @ (top.values[top.leaves][:, design.lower] == 0).T.astype(np.float32)
    alive = np.zeros(design.upper_matrix.shape[1], bool)
    alive[design.pair_v[(np.asarray(dead) == 0).any(axis=1)[design.pair_b]]] = True
    known = np.flatnonzero(top.values[0, design.upper] >= 0)
    matrix = design.upper_matrix[known].tocsr()
    source = _sources(matrix, alive)
    place, asked = {int(c): i for i, c in enumerate(design.upper[known].tolist())}, list[int]()
    for a, c in told:
        if c < 0:
            asked += design.pair_v[design.group == GROUP - c].tolist()
        elif not a and c in place:
            asked += matrix[[place[c]]].indices.tolist()
    seen = set[int]()
    while asked:
        if (v := asked.pop()) in seen or v not in source:
            continue
        seen.add(v)
        out[0, int(design.upper[known[source[v]]])] = None
        asked += matrix[[source[v]]].indices.tolist()
    return list(out)


def _sources(matrix: sp.csr_matrix, alive: NDArray[np.bool_]) -> dict[int, int]:
    """Return of every column that rows determine one at a time which of them does."""
    left, out = alive.copy(), dict[int, int]()
    while left.any():
        single = np.flatnonzero(matrix @ left.astype(np.int64) == 1)
        which = (matrix[single] @ (left * np.arange(len(left)))).astype(np.int64)
        new, at = np.unique(which, return_index=True)
        if not len(new):
            break
        out |= dict(zip(new.tolist(), single[at].tolist(), strict=True))
        left[new] = False
    return out


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Counts that some published ones do not tell apart, each kind an unknown: `matrix` (published, kinds).

    Kind k * P + p: of the areas without parts of class k (`area_class`), pairs of kind p (`pair_kind`). `alive`: that
    no counts of 0 empty.
    """

    matrix: sp.csr_matrix
    value: Ints
    alive: NDArray[np.bool_]
    area_class: Ints
    pair_kind: Ints

    @classmethod
    def of(cls, top: Top, design: Design, told: Sequence[PublishedCount]) -> _Kinds:
        """Return the kinds that some published counts tell apart."""
        import scipy.sparse as sp

        above = np.array([not a and len(top.names) > 1 for a, _ in told], bool)
        area, cell = (np.array([x[i] for x in told], np.int64) for i in (0, 1))
        lower = design.lower_matrix[np.searchsorted(design.lower, cell[~above])].tocsr()
        upper = design.upper_matrix[np.searchsorted(design.upper, cell[above])].tocsr()
        within = np.array([[_lies_in(top, int(leaf), a) for leaf in top.leaves] for a in area[~above].tolist()], bool)
        of_b, of_v = classes_of(lower), classes_of(upper)
        areas = classes_of(sp.csr_matrix(within.reshape(len(lower.indptr) - 1, len(top.leaves)).astype(np.int64)))
        _, first, pairs = np.unique(of_b[design.pair_b] * (int(of_v.max(initial=0)) + 1) + of_v[design.pair_v],
                                    return_index=True, return_inverse=True)  # fmt: skip
        dead: Any = _dead(top, design)
        n = int(areas.max(initial=-1)) + 1
        alive = [np.bincount(pairs.ravel(), ~dead[:, areas == k].all(axis=1)[design.pair_b], len(first)) > 0
                 for k in range(n)]  # fmt: skip
        one_of = np.array([int(np.flatnonzero(areas == k)[0]) for k in range(n)], np.int64)
        rows: list[Any] = [None] * len(told)
        for i, r in enumerate(np.flatnonzero(~above).tolist()):
            rows[r] = sp.kron(within[i][one_of].astype(np.int64)[None], lower[[i]][:, design.pair_b[first]])
        for i, r in enumerate(np.flatnonzero(above).tolist()):
            rows[r] = sp.kron(np.ones((1, n), np.int64), upper[[i]][:, design.pair_v[first]])
        nothing: Any = sp.csr_matrix(np.zeros((0, n * len(first)), np.int64))
        matrix = sp.vstack(rows, format="csr") if rows else nothing
        matrix.eliminate_zeros()  # which products of blocks have
        return cls(matrix, top.values[area, cell], np.concatenate(alive), areas, pairs.ravel())

    def fit(self, besides: Sequence[int] = ()) -> bool:
        """Return whether whole numbers may fit; `besides`: kinds that may hold somebody though they are empty."""
        kept = self.alive.copy()
        kept[list(besides)] = True
        matrix = self.matrix[:, np.flatnonzero(kept)].tocsr()
        matrix.sort_indices()
        starts, columns = (x.astype(np.int64) for x in (matrix.indptr, matrix.indices))
        return fit(Rows(starts, columns, self.value.astype(np.int64)), int(kept.sum()))


def _dead(top: Top, design: Design) -> NDArray[np.bool_]:
    """Return (classes B, areas without parts): where a count of 0 says that nobody is."""
    zeros = (top.values[top.leaves][:, design.lower] == 0).T.astype(np.float32)
    dead: NDArray[np.bool_] = np.asarray(design.lower_matrix.T @ zeros, np.float32) > 0
    return dead


def _lies_in(top: Top, area: int, other: int) -> bool:
    while area > other:  # parts stand behind the area that they lie in
        area = int(top.parent[area])
    return area == other


def _zeros(top: Top, design: Design, chosen: Sequence[PublishedCount]) -> list[PublishedCount]:
    """Return counts of 0 of areas without parts that with the chosen ones leave nothing that fits."""
    kinds = _Kinds.of(top, design, chosen)
    empty = np.flatnonzero(~kinds.alive)
    held = irreducible(len(empty), lambda some: not kinds.fit(np.delete(empty, some).tolist()))
    out, pairs = list[PublishedCount](), int(kinds.pair_kind.max(initial=-1)) + 1
    for k, leaf in zip(kinds.area_class.tolist(), top.leaves.tolist(), strict=True):
        mine = [int(kind % pairs) for kind in empty[held].tolist() if kind // pairs == k]
        wanted = np.unique(design.pair_b[np.isin(kinds.pair_kind, mine)])
        out += [(leaf, c) for c in _covering(design, top.values[leaf], wanted) if (leaf, c) not in chosen]
    return out


def _covering(design: Design, values: Ints, wanted: Ints) -> list[int]:
    """Return cells of 0 that hold all classes B that are wanted, greedily, then without what is not needed."""
    zeros = np.flatnonzero(values[design.lower] == 0)
    held = design.lower_matrix[zeros][:, wanted].toarray().astype(bool)
    left, out = np.ones(len(wanted), bool), list[int]()
    while left.any() and (gain := (held & left).sum(axis=1)).any():
        out.append(int(gain.argmax()))
        left &= ~held[out[-1]]
    for i in list(out):
        rest = [j for j in out if j != i]
        if rest and held[rest].any(axis=0).all():
            out = rest
    return [int(design.lower[zeros[i]]) for i in out]
