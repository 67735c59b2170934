"""Real linear statements on whole numbers of rows, and what weighted sums of them imply, rounding bounded.

Rigorous in doubles: every bound holds for the exact sums of the doubles that are given, by the usual bounds on the
errors of inner products (Higham, "Accuracy and stability of numerical algorithms", 2002, section 3.1).

How much of its interval every figure of a boosted model uses for given numbers of rows: at most 1 where it holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.statements.gradients.boosted import Boosted, by_tree, entries

Floats = NDArray[np.float64]
UNIT = 2.0**-53
TINY = 1e-290  # what underflow may take off
RESOLVED = 1.0  # rows: directions known no better than this are taken as unknown
FLOOR = 2.0**-52
BLOCK, SPARE = 64, 8  # columns that are taken at a time, at most; rows that a sketch of so many has more
CHUNK = 1 << 22  # numbers in a matrix that is made and left again


@dataclass(frozen=True, eq=False)
class IntegerStatements:
    """m statements low <= A x <= high on n whole numbers lower <= x <= upper.

    A lies within `radius` of `middle` (m, n), entry by entry; both may be sparse (scipy, by rows). `source[i]` is the
    number of statement i in proofs (`solvers.kernel.claims.Form`), `column[j]` that of x[j].
    """

    middle: Any
    radius: Any
    low: Floats
    high: Floats
    source: NDArray[np.int64]
    column: NDArray[np.int64]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]


def implied(given: IntegerStatements, forms: Any, weights: Floats) -> tuple[Floats, Floats]:
    """Return bounds (k,), (k,) on `forms` (k, n) @ x that the sums of statements with `weights` (k, m) imply.

    For every x within its bounds: forms x = weights (A x) + (forms - weights A) x. Cost: k times the entries of A.
    """
    slack = 4 * (_terms(given.middle) + 4) * UNIT
    size = np.abs(weights)
    rest = forms - weights @ given.middle
    spread = abs(given.middle) * slack + given.radius
    error = (size @ spread) * (1 + 2 * slack) + np.abs(forms) * slack + TINY
    more, less = rest + error, rest - error
    lower, upper = given.lower.astype(np.float64), given.upper.astype(np.float64)
    positive, negative = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
    top = positive @ given.high + negative @ given.low + np.maximum(more * lower, more * upper).sum(axis=1)
    bottom = positive @ given.low + negative @ given.high + np.minimum(less * lower, less * upper).sum(axis=1)
    ends = np.maximum(np.abs(given.low), np.abs(given.high))
    slack = 4 * (len(given.low) + len(given.lower) + 4) * UNIT
    reach = np.maximum(np.abs(lower), np.abs(upper))
    off = slack * (size @ ends + (np.maximum(np.abs(more), np.abs(less)) * reach).sum(axis=1)) + TINY
    return bottom - off, top + off


def centred_on(given: IntegerStatements, at: NDArray[np.int64]) -> IntegerStatements:
    """Return the statements on x - at, for whole numbers `at`: large counts then cost no digits. A is sparse."""
    low, high = moved_intervals(given.middle, given.radius, at, given.low, given.high)
    return replace(given, low=low, high=high, lower=given.lower - at, upper=given.upper - at)


def moved_intervals(
    middle: Any, radius: Any, at: NDArray[np.int64], low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """Return what is left of the intervals low..high behind A `at`, rounded outwards, for every A within its radius."""
    wide = np.longdouble
    epsilon = float(np.finfo(wide).eps)
    each = middle.data.astype(wide) * at[middle.indices]
    total, size = _by_row(each, middle.indptr), _by_row(np.abs(each), middle.indptr)
    count = int(np.diff(middle.indptr).max(initial=0))
    error = size * ((count + 8) * epsilon) + (radius @ np.abs(at).astype(np.float64)) * (1 + 2.0**-40)
    ends = []
    for end, sign in ((low, -1), (high, 1)):
        left = end.astype(wide) - total + sign * (error + (np.abs(end) + np.abs(total)) * 2 * epsilon)
        ends.append(np.nextafter(left.astype(np.float64), sign * np.inf))
    return ends[0], ends[1]


def _by_row(values: NDArray[Any], start: NDArray[Any]) -> NDArray[Any]:
    """Return the sum of values[start[i]:start[i + 1]] for every i."""
    out = np.zeros(len(start) - 1, dtype=values.dtype)
    some = np.flatnonzero(np.diff(start))
    if len(some):
        out[some] = np.add.reduceat(values, start[some])
    return out


def _terms(matrix: Any) -> int:
    """Return how many entries a column has at most that are not zero."""
    if isinstance(matrix, np.ndarray):
        return int(matrix.shape[0])
    return int(matrix.getnnz(axis=0).max(initial=0))


class Decomposition:
    """Q R of scaled statements (m, n) with weights for combinations of them: no Q is formed. `scaled` is overwritten.

    `variable[i]` has `noise[i]` rows of standard error; directions that are not resolved move it by `loose[i]` rows.
    Columns change places where some are not resolved: at once where n > m, else in what a first step leaves, n rows.
    """

    def __init__(self, scaled: Floats, reach: Floats) -> None:
        from scipy.linalg import lapack, solve_triangular

        m, n = scaled.shape
        self.statements, self.variable, self.rank = m, np.arange(n), n
        self.factors: list[tuple[int, Floats, Floats]] = []  # of Q: from which row on, reflections below the diagonal
        r = scaled
        if n <= m:
            raw, tau, _, _ = lapack.dgeqrf(scaled, lwork=BLOCK * max(1, n), overwrite_a=True)
            self.factors.append((0, raw, tau))
            r = raw[:n]
        if n > m or not np.abs(np.diag(r)).min(initial=np.inf) > RESOLVED:
            r = scaled if n > m else np.asarray(np.triu(r), order="F")
            self.resolve(r)
        rank, step = self.rank, max(1, CHUNK // max(1, self.rank))
        self.inverse = solve_triangular(r[:rank, :rank], np.eye(rank, order="F"), overwrite_b=True, check_finite=False)
        self.loose = np.zeros(rank)
        for j in range(rank, n, step):
            moved = self.inverse @ r[:rank, j : j + step]
            self.loose += np.abs(moved, out=moved) @ reach[self.variable[j : j + step]]
        self.noise = np.sqrt(np.einsum("ij,ij->i", self.inverse, self.inverse))
        self.variable = self.variable[:rank]

    def resolve(self, r: Floats) -> None:
        """Bring columns of r (m, n) forward, some at a time, until what is left of the others is not resolved.

        Which come next is chosen in a random sketch of what is left. Source: Duersch, Gu, "Randomized QR with column
        pivoting", SIAM Journal on Scientific Computing 39, 2017. Cost: m n times the rank.
        """
        from scipy.linalg import lapack

        m, n = r.shape
        dice, k = np.random.default_rng(0), 0
        while k < min(m, n):
            sketch = np.asarray(dice.standard_normal((min(m - k, BLOCK + SPARE), m - k)) @ r[k:, k:], order="F")
            some = min(BLOCK, m - k, n - k)
            chosen = lapack.dgeqp3(sketch, lwork=(BLOCK + 3) * (n + 1), overwrite_a=True)[1][:some] - 1
            self.exchange(r, k, k + chosen)
            panel, place, tau, _, _ = lapack.dgeqp3(np.asarray(r[k:, k : k + some], order="F"))
            part = slice(k, k + some)
            r[:k, part], self.variable[part] = r[:k, part][:, place - 1], self.variable[part][place - 1]
            r[k:, part] = np.triu(panel)
            self.factors.append((k, panel[:, : len(tau)], tau))
            for j in range(k + some, n, step := max(1, CHUNK // m)):
                r[k:, j : j + step] = _reflected(panel[:, : len(tau)], tau, r[k:, j : j + step], True)
            resolved = int((np.abs(np.diag(panel)) > RESOLVED).sum())
            k += resolved
            if not resolved:
                break
        self.rank = k

    def exchange(self, r: Floats, k: int, chosen: NDArray[np.int64]) -> None:
        """Let the chosen columns of r change places with those from k on."""
        ahead = np.arange(k, k + len(chosen))
        out, into = np.setdiff1d(ahead, chosen), np.setdiff1d(chosen, ahead)
        both, other = np.concatenate([out, into]), np.concatenate([into, out])
        r[:, both], self.variable[both] = r[:, other], self.variable[other]

    def times(self, columns: Floats, transposed: bool = False) -> Floats:
        """Return Q (or its transpose) times columns (m, k), which are overwritten."""
        for k, raw, tau in self.factors if transposed else self.factors[::-1]:
            part = slice(k, k + len(raw))
            columns[part] = _reflected(raw, tau, columns[part], transposed)
        return columns

    def solved(self, offset: Floats) -> tuple[Floats, Floats]:
        """Return the least-squares values of the variables, and the residual."""
        turned = self.times(offset[:, None].copy(), transposed=True)
        values = self.inverse @ turned[: self.rank, 0]
        turned[: self.rank] = 0.0
        return values, self.times(turned)[:, 0]

    def weights(self, which: NDArray[np.int64]) -> Floats:
        """Return (which, m): the weights whose combinations are these variables."""
        columns = np.zeros((self.statements, len(which)), order="F")
        columns[: self.rank] = self.inverse[which].T
        return self.times(columns).T


def _reflected(raw: Floats, tau: Floats, columns: Floats, transposed: bool) -> Floats:
    """Return a factor of Q, reflections as LAPACK gives them, or its transpose, times columns."""
    from scipy.linalg.lapack import dormqr

    out, _, _ = dormqr("L", "T" if transposed else "N", raw, tau, columns, BLOCK * max(1, columns.shape[1]))
    return np.asarray(out)


def decomposition_numbers(statements: int, numbers: int) -> int:
    """Return how many doubles a `Decomposition` holds at most: itself with panels, what is turned of it, its inverse.

    Panels and the inverse have as many columns as are resolved.
    """
    least = min(statements, numbers)
    return statements * numbers + (3 * least**2 if numbers <= statements else 2 * least**2)


def scale(given: IntegerStatements) -> tuple[NDArray[np.int64], Floats]:
    """Return the statements that say something, and the half width of every one with what rounding adds."""
    reach = np.maximum(np.abs(given.lower), np.abs(given.upper)).astype(np.float64)
    size = abs(given.middle) @ reach
    half = (given.high - given.low) / 2 + given.radius @ reach + FLOOR * size + 1e-300
    return np.flatnonzero((half < size) & np.isfinite(half)), half


def decomposed(given: IntegerStatements, used: NDArray[np.int64], half: Floats) -> Decomposition:
    """Return the decomposition of the statements that are used."""
    from scipy.sparse import diags

    reach = np.maximum(np.abs(given.lower), np.abs(given.upper)).astype(np.float64)
    scaled = (diags(1 / half[used]) @ given.middle[used]).toarray(order="F")
    return Decomposition(scaled, reach)


def interval_use(boosted: Boosted, leaves: NDArray[np.int64], times: NDArray[np.int64]) -> list[Floats]:
    """Return per tree and figure how far its sum is from the middle of its interval, over half the interval's width.

    Above 1: no sum of numbers within the coefficients' intervals is in the figure's interval. `leaves` (points, trees)
    are the leaves of every point, `times` (points, classes) its rows. Cost: figures times points times classes.
    """
    return [part for part, _ in evaluated(boosted, leaves, times, times)]


def evaluated(
    boosted: Boosted, leaves: NDArray[np.int64], lower: NDArray[np.int64], upper: NDArray[np.int64]
) -> list[tuple[Floats, NDArray[np.bool_]]]:
    """Return the same for rows between `lower` and `upper`, of whose sums the nearest counts, and which are known.

    The second arrays say which figures are about numbers that are all known. Fewer columns of `leaves` than trees: the
    first trees.
    """
    wide = np.longdouble
    epsilon = float(np.finfo(wide).eps)
    out = []
    for t, (tree, rows) in enumerate(by_tree(boosted, leaves)):
        found = entries(tree, rows, leaves[:, t])
        low, high = lower[found.point].astype(wide), upper[found.point].astype(wide)
        middle = found.middle.astype(wide)
        ends = middle * low, middle * high
        figure = found.figure
        least, most = (np.zeros(len(tree), dtype=wide) for _ in range(2))
        np.add.at(least, figure, np.minimum(*ends).sum(axis=1))
        np.add.at(most, figure, np.maximum(*ends).sum(axis=1))
        spread = found.radius * upper[found.point]
        size = np.maximum(np.abs(ends[0]), np.abs(ends[1])).astype(np.float64)
        count = found.point.size * middle.shape[1] + 8
        error = np.bincount(figure, (spread * (1 + 64 * UNIT) + size * (count * epsilon)).sum(axis=1), len(tree))
        center, half = (tree.low + tree.high) / 2, (tree.high - tree.low) / 2
        beyond = np.maximum(np.maximum(least - center, center - most), 0).astype(np.float64)
        room = half + error * (1 + 2.0**-40) + np.abs(center) * 2.0**-51
        with np.errstate(divide="ignore", invalid="ignore"):
            part = beyond / room
        open_ = np.bincount(figure, (lower < upper)[found.point].sum(axis=1), len(tree)) > 0
        out.append((np.where(room > 0, part, np.where(beyond == 0, 0.0, np.inf)), ~open_))
    return out
