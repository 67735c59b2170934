"""Upper bounds on the weighted number of histograms of a component, valid under floating-point rounding.

For every λ and every set T of cells whose columns in the equations are independent,
    Σ_y Π_c w_c(y_c)  <=  e^(-λ·b) · Π_{c not in T} Σ_y w_c(y) e^(λ·a_c y) · Π_{c in T} max_y w_c(y) e^(λ·a_c y),
because the cells outside T determine those inside. Hölder's inequality turns a mixture of such sets into
    e^(-λ·b) · Π_c (Σ_y (w_c(y) e^(λ·a_c y))^(1/s_c))^(s_c),     s_c = the share of the sets that leave c out,
jointly convex in λ and s. With no set (s = 1) it is the Lagrangian (exponential family) bound.

Source: Barvinok, "Matrices with prescribed row and column sums", Linear Algebra Appl. 436, 2012 (the Lagrangian
bound); Bennett, Carbery, Christ, Tao, "Finite bounds for Hölder-Brascamp-Lieb multilinear inequalities", Math. Res.
Lett. 17, 2010 (the mixture; here all maps are single coordinates, where Hölder's inequality alone proves it).

Rounding: λ and s are dyadic and λ·a_c, λ·b are exact integers. Logs of weights are sums of positive terms in blocks
of 256, hence off by less than 2^-43 of their terms; every term of every sum is first raised by that much.

Mixtures of sets of independent columns: which cells the others determine.

For the bounds of `solvers.programs.interval.lagrangian_dual`.

A tableau over a prime field holds one basis of the columns; the heaviest basis is reached by exchanging columns
(optimal in a matroid). Independence modulo the prime implies independence, so every set is proved by its tableau.

Source: Edmonds, "Matroids and the greedy algorithm", Math. Programming 1, 1971; Frank, Wolfe, "An algorithm for
quadratic programming", Naval Res. Logist. Quart. 3, 1956 (the mixture).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from solvers.cells.components import Component
from solvers.cells.linear_system import FREE
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.errors import Inconclusive
from solvers.foundation.exact import DOUBLE
from solvers.foundation.limits import Limits
from solvers.foundation.native import one_thread
from solvers.statements.questions.query import Convention

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LAMBDA = 1 << 32  # λ are multiples of 1 / LAMBDA
SHARES = 1 << 20  # s are multiples of 1 / SHARES
STEEPEST = 1 << 12  # |λ| at most; beyond, exp has nothing left to gain
SLACK = 2.0**-43  # relative error of a log of a weight, see the module's text
MIN_SHARE = 0.02  # s of the search; raising s only raises the bound
GOOD = 1e-4  # nats: a Newton step that gains less ends the search
MAX_STEPS = 150
NEWTON_BYTES = 48  # of a pair of statements in a Newton step: the product, sparse and dense, damped, its factor
NEWTON_WORK = 1e-10  # of three statements in a Newton step or in the search for independent ones
FACTORIAL_BYTES, FACTORIAL_WORK = 40, 3e-8  # of a number of rows up to which logarithms are added
FRACTION_WORK = 2e-7  # of one where a cell's size is beyond doubles


def _prefix_sums(terms: Floats) -> Floats:
    """Return 0 and the sums of the first 1, 2, ... terms; blocks keep the error below 2^-44 of Σ|terms|."""
    block = 256
    padded = np.zeros(-(-max(1, len(terms)) // block) * block)
    padded[: len(terms)] = terms
    inner = np.cumsum(padded.reshape(-1, block), axis=1)
    return np.concatenate([[0.0], (inner + _prefix(inner[:, -1])[:, None]).reshape(-1)[: len(terms)]])


def _prefix(sums: Floats) -> Floats:
    """Return the sums before each entry, exactly rounded running sums (two-sum compensation)."""
    out, total, low = np.zeros(len(sums)), 0.0, 0.0
    for i, x in enumerate(sums.tolist()):
        out[i] = total + low
        moved = total + x
        back = moved - total
        low += (total - (moved - back)) + (x - back)
        total = moved
    return out


def _log_factorials(maximum: int) -> Floats:
    """Return ln k! for k = 0..most."""
    return _prefix_sums(np.log(np.arange(1, maximum + 1, dtype=np.float64)))


def _log_weights(size: int, low: int, room: int, convention: Convention, factorials: Floats) -> tuple[Floats, Floats]:
    """Return (logs, magnitudes) of the weights of low + y rows, y = 0..room; errors are SLACK times magnitude.

    `ordered`: ln(size^z / z!), `multiset`: ln C(size + z - 1, z), z = low + y.
    """
    z = np.arange(low, low + room + 1)
    below = factorials[z]
    if convention == "ordered":
        above = z * math.log(size)
    elif size + low + room < DOUBLE:
        above = _prefix_sums(np.log(float(size) + np.arange(low + room, dtype=np.float64)))[z]
    else:
        # size + i = size (1 + i / size): the second log is below 2^-20, its own rounding below that of the first.
        above = z * math.log(size) + _prefix_sums(np.array([(i / size) for i in range(low + room)]))[z]
    return above - below, above + below


@dataclass(frozen=True, eq=False)
class Bucket:
    """Cells of similar room: `at` are positions, `logs` and `sizes` (cells, width) logs of weights and magnitudes."""

    at: Ints
    y: Floats
    logs: Floats
    sizes: Floats


@dataclass(frozen=True, eq=False)
class DualProblem:
    """A component's dual problem: rows (several for an interval) with their bound and the sign λ may have (0: any)."""

    part: Component
    buckets: tuple[Bucket, ...]
    row: Ints
    bound: Ints
    sign: Ints

    @classmethod
    def of(
        cls, part: Component, sizes: Sequence[int], lower: Ints, convention: Convention, limits: Limits | None = None
    ) -> DualProblem:
        """Return the dual problem; `sizes` and `lower` are those of all cells of the system.

        Of more statements than memory and work allow for, the first: a bound without some is a bound all the same.
        Raises `TooLarge` or `Inconclusive` where even the logarithms of the weights take more.
        """
        minimum, limits = lower[part.cells], limits or Limits()
        _hold_weights(part, sizes, minimum, convention, limits)
        factorials = _log_factorials(int((minimum + part.room).max(initial=1)))
        widths = np.ceil(np.log2(part.room + 1)).astype(np.int64)
        buckets = []
        for width in np.unique(widths).tolist():
            at = np.flatnonzero(widths == width).astype(np.int64)
            w = int(part.room[at].max()) + 1
            logs, magnitudes = np.full((len(at), w), -np.inf), np.zeros((len(at), w))
            for i, c in enumerate(at.tolist()):
                found = _log_weights(
                    sizes[int(part.cells[c])], int(minimum[c]), int(part.room[c]), convention, factorials
                )
                logs[i, : len(found[0])], magnitudes[i, : len(found[1])] = found
            buckets.append(Bucket(at, np.arange(w, dtype=np.float64), logs, magnitudes))
        equal = part.low == part.high
        at_least = np.flatnonzero(~equal & (part.low > -FREE // 2))
        at_most = np.flatnonzero(~equal & (part.high < FREE // 2))
        most = _most_statements(limits)
        stated = np.flatnonzero(equal)[:most]
        limits.charge(newton_work(len(stated)))
        same = _independent_rows(part, stated)
        row = np.concatenate([same, at_least, at_most]).astype(np.int64)[:most]
        bound = np.concatenate([part.low[same], part.low[at_least], part.high[at_most]])[:most]
        sign = np.repeat(np.array([0, 1, -1]), [len(same), len(at_least), len(at_most)])[:most]
        return cls(part, tuple(buckets), row, bound, sign)

    @cached_property
    def matrix(self) -> csr_array:
        """Return the rows of the dual problem, sparse."""
        from scipy.sparse import csr_array

        if self.part.matrix is None:
            raise TypeError("the component has no matrix")
        return csr_array(self.part.matrix[self.row].astype(np.float64))

    @property
    def cells(self) -> int:
        """Return the number of cells."""
        return len(self.part.cells)

    def moments(self, slope: Floats, share: Floats) -> tuple[float, Floats, Floats]:
        """Return Σ_c s ln Σ e^(x/s) with the means and variances under the terms' shares; not rounded outward."""
        total, mean, variance = 0.0, np.zeros(self.cells), np.zeros(self.cells)
        for bucket in self.buckets:
            s = share[bucket.at]
            x = (bucket.logs + slope[bucket.at, None] * bucket.y) / s[:, None]
            top = x.max(axis=1)
            terms = np.exp(x - top[:, None])
            whole = terms.sum(axis=1)
            total += float((s * (top + np.log(whole))).sum())
            first = terms @ bucket.y / whole
            mean[bucket.at] = first
            variance[bucket.at] = np.maximum(terms @ bucket.y**2 / whole - first**2, 0.0)
        return total, mean, variance

    def peaks(self, slope: Floats) -> Floats:
        """Return -ln of the greatest probability of every cell's law under the tilt."""
        out = np.zeros(self.cells)
        for bucket in self.buckets:
            x = bucket.logs + slope[bucket.at, None] * bucket.y
            out[bucket.at] = np.log(np.exp(x - x.max(axis=1)[:, None]).sum(axis=1))
        return out

    def rates(self, slope: Floats, share: Floats) -> tuple[float, Floats]:
        """Return Σ_c s ln Σ e^(x/s) and its derivative in s, the entropy of the terms' shares (>= 0)."""
        total, out = 0.0, np.zeros(self.cells)
        for bucket in self.buckets:
            s = share[bucket.at]
            x = (bucket.logs + slope[bucket.at, None] * bucket.y) / s[:, None]
            x = x - x.max(axis=1)[:, None]
            terms = np.exp(x)
            whole = terms.sum(axis=1)
            mean = np.where(terms > 0, terms * np.where(np.isfinite(x), x, 0.0), 0.0).sum(axis=1) / whole
            out[bucket.at] = np.log(whole) - mean
            total += float((s * np.log(whole)).sum())
        return total, out

    def slope(self, lam: Floats) -> Floats:
        """Return λ·a_c per cell."""
        found: Floats = self.matrix.T @ lam
        return found

    def minimise(self, lam: Floats, share: Floats, expired: Callable[[], bool]) -> Floats:
        """Return λ where the bound with these shares is nearly least.

        Cost: a Cholesky factor of the statements per step. Any λ gives a valid bound, so it may stop at any time.
        """
        with one_thread():
            return self.descend(lam, share, expired)

    def descend(self, lam: Floats, share: Floats, expired: Callable[[], bool]) -> Floats:
        """Return the λ of `minimise`, by projected, damped Newton steps."""
        s, damping = np.maximum(share, MIN_SHARE), 1e-6
        lam = self.project(lam)
        total, mean, variance = self.moments(self.slope(lam), s)
        value = total - float(lam @ self.bound)
        for _ in range(MAX_STEPS):
            gradient: Floats = np.asarray(self.matrix @ mean - self.bound, dtype=np.float64)
            held = (self.sign != 0) & (lam == 0) & (gradient * self.sign > 0)
            free = np.flatnonzero(~held)
            if not len(free) or expired():
                break
            rows = self.matrix[free]
            hessian = np.asarray((rows.multiply(variance / s) @ rows.T).todense(), dtype=np.float64)
            gained = 0.0
            while damping < 1e6:
                if gained < 0 and expired():  # each further factor is a step of its own
                    return lam
                step = np.zeros(len(lam))
                step[free] = _newton(hessian, gradient[free], damping)
                trial = self.project(lam + step)
                found, new_mean, new_variance = self.moments(self.slope(trial), s)
                gained = value - (found - float(trial @ self.bound))
                if gained > 0:
                    lam, value, mean, variance = trial, value - gained, new_mean, new_variance
                    damping = max(damping / 10, 1e-9)
                    break
                damping *= 10
            if gained < GOOD:
                break
        return lam

    def project(self, lam: Floats) -> Floats:
        """Return λ inside its signs and below the steepest that is useful."""
        low, high = np.where(self.sign > 0, 0.0, -STEEPEST), np.where(self.sign < 0, 0.0, STEEPEST)
        return np.clip(lam, low, high)

    def bound_of(self, lam: Floats, share: Ints | None = None) -> float:
        """Return an upper bound on the ln of the weighted number of histograms, rounded outward.

        `share`: s times SHARES, from `solvers.programs.interval.lagrangian_dual`; None: all of them (the Lagrangian
        bound).
        """
        whole = [int(x) for x in np.rint(self.project(lam) * LAMBDA).tolist()]
        slope = [0] * self.cells
        sparse = self.matrix.tocoo()
        for r, c, a in zip(sparse.row.tolist(), sparse.col.tolist(), sparse.data.tolist(), strict=True):
            slope[c] += whole[r] * int(a)
        dual = Fraction(sum(x * b for x, b in zip(whole, self.bound.tolist(), strict=True)), LAMBDA)
        exact = np.array([x / LAMBDA for x in slope])  # quotients of integers are correctly rounded
        shares = np.full(self.cells, 1.0) if share is None else share / SHARES
        parts = [float(-dual), abs(float(dual)) * 2.0**-52]
        for bucket in self.buckets:
            tilt = exact[bucket.at, None] * bucket.y
            x = bucket.logs + tilt
            x = x + SLACK * (bucket.sizes + np.abs(tilt) + 1.0)
            parts += _outward(x, shares[bucket.at]).tolist()
        total = math.fsum(parts)
        return total + 2.0**-50 * abs(total)


def newton_work(statements: int) -> float:
    """Return the work of one factor of a matrix over pairs of statements."""
    return NEWTON_WORK * float(statements) ** 3


def _most_statements(limits: Limits) -> int:
    """Return of how many statements a matrix over their pairs may be made and factored."""
    most, work = math.isqrt(limits.room // NEWTON_BYTES), limits.work_left()
    return most if math.isinf(work) else min(most, math.floor(math.cbrt(work / NEWTON_WORK)))


def _hold_weights(part: Component, sizes: Sequence[int], minimum: Ints, convention: Convention, limits: Limits) -> None:
    """Refuse logarithms of so many rows that memory or work does not allow for them, before they are added up."""
    rows = (minimum + part.room).astype(np.float64)
    limits.hold(FACTORIAL_BYTES * float(rows.max(initial=1.0)), "logarithms of factorials of the rows of a cell")
    work = FACTORIAL_WORK * float(rows.max(initial=1.0))
    if convention != "ordered":
        beyond = np.array([sizes[c] >= DOUBLE - n for c, n in zip(part.cells.tolist(), rows.tolist(), strict=True)])
        work += float((np.where(beyond, FRACTION_WORK, FACTORIAL_WORK) * rows).sum())
    if not limits.pay(work):
        raise Inconclusive("too little time to add up logarithms of factorials of the rows of a cell")


def _independent_rows(part: Component, rows: Ints) -> Ints:
    """Return rows that span all the given ones, by a pivoted Cholesky factor of their Gram matrix.

    Equations that follow from others add nothing to the bound, and a bound without some is a bound all the same.
    """
    from scipy.linalg.lapack import dpstrf
    from scipy.sparse import csr_array

    if part.matrix is None or not len(rows):
        return rows
    matrix = csr_array(part.matrix[rows].astype(np.float64))
    gram = np.asarray((matrix @ matrix.T).todense(), dtype=np.float64)
    _, order, rank, _ = dpstrf(gram, tol=1e-7 * float(gram.max()))
    return np.sort(rows[order[:rank] - 1])


def _newton(hessian: Floats, gradient: Floats, damping: float) -> Floats:
    """Return the damped Newton step, 0 where the matrix is too ill-conditioned for this damping."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    damped = hessian + damping * np.diag(1.0 + np.diag(hessian))
    try:
        found: Floats = cho_solve(cho_factor(damped, lower=True, check_finite=False), -gradient)
    except LinAlgError:
        return np.zeros(len(gradient))
    return found


def _outward(x: Floats, share: Floats) -> Floats:
    """Return an upper bound of s ln Σ e^(x/s) per row, of max x where s = 0.

    The terms lie in [0, 1]: their sum is off by less than (3 + width) 2^-52 of itself, exp(x - top) by an argument's
    rounding, 2^-52 |x - top| / s, which s times its log turns into at most 2^-52 |x - top|: added to x.
    """
    top = x.max(axis=1)
    down = (x - top[:, None]) * (1.0 - 2.0**-50)  # at most 0
    s = np.where(share > 0, share, 1.0)
    whole = np.exp(down / s[:, None]).sum(axis=1)
    logs = np.log(whole * (1.0 + (8 + x.shape[1]) * 2.0**-52)) * (1.0 + 2.0**-50)
    found: Floats = np.where(share > 0, top + s * logs, top)
    return np.asarray(found + 2.0**-50 * (np.abs(found) + 1.0))


PRIME = (1 << 31) - 1  # products of two residues fit into 63 bits
STEPS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005)
TABLEAU_BYTES = 40  # of an entry of a tableau, with the copies that a step makes
PIVOT_WORK = 1.5e-8  # of an entry of a tableau in one step, about
ENOUGH = 0.05  # nats: the mixture is within this of the best


class Tableau:
    """Columns modulo a prime, reduced so that those of `basis` (row -> column) are unit vectors."""

    def __init__(self, matrix: NDArray[np.int64], weight: Floats, expired: Callable[[], bool]) -> None:
        """Reduce with the heaviest columns first: the basis of greatest weight. Cost: rank² times columns.

        Out of time, the columns found so far stand; they are independent too.
        """
        self.table: NDArray[np.int64] = matrix % PRIME
        chosen: list[int] = []
        used = np.zeros(len(matrix), dtype=bool)
        rows: list[int] = []
        for c in np.argsort(-weight, kind="stable").tolist():
            candidates = np.flatnonzero((self.table[:, c] != 0) & ~used)
            if len(candidates):
                row = int(candidates[0])
                self.pivot(row, c)
                used[row] = True
                rows.append(row)
                chosen.append(c)
                if used.all() or expired():
                    break
        self.table, self.basis = self.table[rows], np.array(chosen, dtype=np.int64)

    def circuits(self) -> list[tuple[int, ...]]:
        """Return, per column outside the basis, itself and the basis columns that it depends on, shortest first."""
        inside = set(self.basis.tolist())
        outside = [c for c in range(self.table.shape[1]) if c not in inside]
        found = [(c, *self.basis[np.flatnonzero(self.table[:, c])].tolist()) for c in outside]
        return sorted((tuple(sorted(f)) for f in found), key=lambda f: (len(f), f))

    def pivot(self, row: int, column: int) -> None:
        """Make a column the unit vector of a row."""
        scale = pow(int(self.table[row, column]), -1, PRIME)
        self.table[row] = self.table[row] * scale % PRIME
        others = np.flatnonzero(self.table[:, column])
        others = others[others != row]
        along = np.flatnonzero(self.table[row])
        factor = self.table[others, column]
        at = np.ix_(others, along)
        self.table[at] = (self.table[at] + (PRIME - factor)[:, None] * self.table[row, along]) % PRIME

    def improve(self, weight: Floats, expired: Callable[[], bool]) -> Ints:
        """Return the basis of greatest weight, by exchanges that each gain the most (any basis, should time be up)."""
        while not expired():
            inside = weight[self.basis]
            lightest = np.where(self.table != 0, inside[:, None], np.inf).min(axis=0, initial=np.inf)
            gain = weight - lightest
            gain[self.basis] = 0.0
            column = int(np.argmax(gain))
            if gain[column] <= 1e-9:
                break
            hit = np.flatnonzero(self.table[:, column])
            row = int(hit[np.argmin(inside[hit])])
            self.pivot(row, column)
            self.basis[row] = column
        return self.basis.copy()


class Mixture:
    """A growing mixture of bases; `share` is, per cell, the share of bases that leave it out."""

    def __init__(self, tilt: DualProblem, slope: Floats, alive: NDArray[np.bool_], expired: Callable[[], bool]) -> None:
        """Start with the basis of the cells with the greatest entropy; `alive` are the cells worth a place in it."""
        if tilt.part.matrix is None:
            raise TypeError("the component has no matrix")
        self.tilt = tilt
        self.cells = np.flatnonzero(alive)
        equal = tilt.part.low == tilt.part.high
        self.tableau = Tableau(tilt.part.matrix[equal][:, self.cells], tilt.peaks(slope)[self.cells], expired)
        self.sets: list[Ints] = [self.cells[self.tableau.basis]]
        self.weights = np.ones(1)

    @property
    def share(self) -> Floats:
        """Return s per cell."""
        out = np.ones(self.tilt.cells)
        for members, weight in zip(self.sets, self.weights.tolist(), strict=True):
            out[members] -= weight
        return np.clip(out, 0.0, 1.0)

    @property
    def whole_share(self) -> Ints:
        """Return s times SHARES in whole numbers: an exact mixture of the sets, weights rounded to multiples."""
        parts = np.floor(self.weights * SHARES).astype(np.int64)
        parts[0] += SHARES - parts.sum()
        out = np.full(self.tilt.cells, SHARES, dtype=np.int64)
        for members, part in zip(self.sets, parts.tolist(), strict=True):
            out[members] -= part
        return out

    def grow(self, slope: Floats, steps: int, expired: Callable[[], bool]) -> None:
        """Mix in bases that lower the bound (Frank-Wolfe steps with a line search). Cost: a basis per step."""
        share = self.share
        for _ in range(steps):
            clipped = np.maximum(share, MIN_SHARE)
            value, rate = self.tilt.rates(slope, clipped)
            basis = self.cells[self.tableau.improve(rate[self.cells], expired)]
            corner = np.ones(len(share))
            corner[basis] = 0.0
            if expired() or float(rate @ (share - corner)) < ENOUGH:
                break
            tried = [(self.tilt.rates(slope, np.maximum((1 - a) * share + a * corner, MIN_SHARE))[0], a) for a in STEPS]
            best, a = min(tried)
            if best >= value:
                break
            self.sets.append(basis)
            self.weights = np.append(self.weights * (1 - a), a)
            share = (1 - a) * share + a * corner
