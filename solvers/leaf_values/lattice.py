"""Whole numbers that linear algebra leaves open, by lattice reduction: forms that statements and integrality determine.

Differences of two solutions are lattice vectors that bounds and intervals keep short. In a reduced basis (LLL) long
vectors cannot take part: their coordinates, whole-number forms of x, are the same in all solutions. What the reduction
finds is never believed: every form comes with the weights of statements and earlier forms that bound it, and the bound
is computed in whole numbers here, rounded outwards.

Source: Lenstra, Lenstra, Lovász, "Factoring polynomials with rational coefficients", Math. Annalen 261, 1982; Aardal,
Hurkens, Lenstra, "Solving a system of linear Diophantine equations with lower and upper bounds on the variables",
Mathematics of Operations Research 25, 2000; bounds rounded inwards: Chvátal, "Edmonds polytopes", 1973.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.errors import EngineError, Inconclusive, TooLarge, installing
from solvers.foundation.limits import Limits
from solvers.foundation.native import run
from solvers.leaf_values.combining import TINY, UNIT, IntegerStatements

Floats = NDArray[np.float64]
MAX_LATTICE_COLUMNS = 400  # columns
ALONE = 64  # more vectors than these are reduced in a process of their own, which hears the clock
POINT = 110  # binary digits behind the point of coefficients and ends, in exact sums
GRID = 64  # the same of weights
SCALE = 64.0  # of the embedding's smallest steps, before it is rounded to whole numbers
FLOOR = 2.0**-24  # least half width of an exact statement in the embedding: what it forbids is longer still
NEW = 0.1  # what a statement must add to those chosen before it, in units of its interval
PROGRAM, PIVOT = 2e-3, 2e-8  # of work: of a linear program, and per pivot and coefficient
LLL = 2e-7  # of work, times the cube of the vectors: 0.2 s for 100, 1 s for 170
DELTA = 0.999  # of LLL: closer to 1 is shorter and slower
ROUNDS = 8  # of reduction, forms and bounds
LARGEST = 1 << 62  # coefficients and values of forms stay below: others keep them in 64 bits
NOTHING = 1e-7  # half widths: a step so small is none, where weights are looked for
WIDTH = 2.0  # of intervals, in doubles, that may hold one whole number only
TRANSFORMED = "solvers.leaf_values.lattice:transformed"
PHASE = "a lattice of cells was reduced"


@dataclass(frozen=True, eq=False)
class LatticeForm:
    """Σ coefficient * x[column] over `terms` (column of the given statements, coefficient) lies in low..high.

    `weights` (m + e,): of the m given statements, then of the e entries before this one in the list, each of which says
    low <= its form <= high. The sum of all with these weights, exactly as these doubles stand, leaves no other whole
    number, with the bounds that are given and those of entries before it with one term and coefficient 1. low > high:
    there is no solution.
    """

    terms: tuple[tuple[int, int], ...]
    weights: Floats
    low: int
    high: int


def unavailable() -> str:
    """Return why lattices are not reduced, "" where they are."""
    if importlib.util.find_spec("flint") is None:
        return f"python-flint is not installed, so no lattices are reduced: {installing('lattice')}"
    return ""


def reduced(given: IntegerStatements, limits: Limits | None = None) -> list[LatticeForm]:
    """Return forms that the statements determine or bound more tightly, each proved by those before it.

    Forms with low == high are known; columns (one term, coefficient 1) with better bounds than given come too. Empty
    where nothing was found in time, the columns with room between their bounds are none or above `MOST`, or
    python-flint is missing (`unavailable`). Statements that contradict each other end in an entry with low > high, or
    prove anything. Cost: LLL of as many vectors as there are such columns (100: 0.2 s, 170: 1 s), then a linear
    program per form that is left.
    """
    free = np.flatnonzero(given.lower < given.upper)
    if unavailable() or not 0 < len(free) <= MAX_LATTICE_COLUMNS:
        return []
    search = LatticeSearch(given, free, limits or Limits())
    with contextlib.suppress(Inconclusive, TooLarge, EngineError):  # what was found before stands
        search.work()
    return search.found


def transformed(payload: list[list[str]]) -> list[list[str]]:
    """Return the unimodular matrix that reduces the rows of a matrix (LLL); whole numbers as hexadecimal text."""
    import flint

    rows = [[int(v, 16) for v in row] for row in payload]
    _, change = flint.fmpz_mat(rows).lll(True, DELTA)
    return [[format(int(v), "x") for v in row] for row in change.tolist()]


def _scaled_integers(values: Floats, digits: int) -> list[int]:
    """Return doubles times 2^digits without what is behind the point, which is less than 1.

    Raises `TooLarge` where these are no doubles.
    """
    if not np.abs(values).max(initial=0.0) < 2.0 ** (1023 - digits):
        raise TooLarge("the leaf values are too large to be scaled to whole numbers")
    return [int(v) for v in np.ldexp(values, digits).ravel().tolist()]


def _dense(matrix: Any) -> Floats:
    """Return a matrix as an array, be it sparse or not."""
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray(), dtype=np.float64)


def _floats(matrix: Any, digits: int = 0) -> Floats:
    """Return a matrix of whole numbers over 2^digits as doubles; `TooLarge` where no double holds one of them."""
    try:
        rows = [[float(int(v)) for v in row] for row in matrix.tolist()]
    except OverflowError:
        raise TooLarge("the vectors of the lattice became too long for doubles") from None
    return np.ldexp(np.array(rows, dtype=np.float64).reshape(matrix.nrows(), matrix.ncols()), -digits)


class WeightedSums:
    """Weighted sums of chosen statements and of forms, in whole numbers.

    Statement i says low[i] <= Σ coefs[i] x <= high[i] over the free columns, all times 2^POINT: the columns that are
    known are taken out, the radius of all coefficients is in the ends.
    """

    def __init__(self, given: IntegerStatements, free: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        import flint

        self.matrix = flint.fmpz_mat
        fixed = np.flatnonzero((given.lower >= given.upper) & (given.lower != 0))
        self.coefs = self.matrix(len(rows), len(free), _scaled_integers(_dense(given.middle[rows][:, free]), POINT))
        of_fixed = self.matrix(len(rows), len(fixed), _scaled_integers(_dense(given.middle[rows][:, fixed]), POINT))
        taken = (of_fixed * self.matrix(len(fixed), 1, given.lower[fixed].tolist())).entries()
        reach = np.maximum(np.abs(given.lower), np.abs(given.upper))
        room = (given.radius[rows] @ reach.astype(np.float64) + TINY) * (1 + (len(reach) + 4) * UNIT)
        cut = int(reach.sum())  # what `whole` left out of coefficients, times the columns
        self.low, self.high = [], []
        for low, high, far, known in zip(given.low[rows], given.high[rows], room, map(int, taken), strict=True):
            off = math.ceil(math.ldexp(far, POINT)) + cut
            self.low.append(math.floor(math.ldexp(low, POINT)) - known - off)
            self.high.append(math.ceil(math.ldexp(high, POINT)) - known + off)
        self.lower = [int(v) for v in given.lower[free]]
        self.upper = [int(v) for v in given.upper[free]]
        self.forms: list[list[int]] = []
        self.ends: list[tuple[int, int]] = []
        self._known: Any = None

    def rest(self, form: list[int], y: Floats, z: Floats) -> list[int]:
        """Return the coefficients of a form minus a weighted sum, over the free columns, times 2^(POINT + GRID)."""
        out = [v << (POINT + GRID) for v in form]
        for weights, rows, digits in ((y, self.coefs, 0), (z, self.known(), POINT)):
            if weights.any():
                taken = (self.matrix(1, len(weights), _scaled_integers(weights, GRID)) * rows).entries()
                out = [v - (int(w) << digits) for v, w in zip(out, taken, strict=True)]
        return out

    def known(self) -> Any:
        """Return the known forms as a matrix."""
        if self._known is None or self._known.nrows() != len(self.forms):
            self._known = self.matrix(len(self.forms), len(self.lower), [v for form in self.forms for v in form])
        return self._known

    def bounds(self, form: list[int], y: Floats, z: Floats) -> tuple[int, int]:
        """Return the least and greatest whole number that a form can be by the sum with weights y and z."""
        top = bottom = 0
        ends = [*zip(self.low, self.high, strict=True), *((a << POINT, b << POINT) for a, b in self.ends)]
        for weight, (low, high) in zip(_scaled_integers(y, GRID) + _scaled_integers(z, GRID), ends, strict=True):
            top += weight * (high if weight > 0 else low)
            bottom += weight * (low if weight > 0 else high)
        for v, low, high in zip(self.rest(form, y, z), self.lower, self.upper, strict=True):
            top += v * (high if v > 0 else low)
            bottom += v * (low if v > 0 else high)
        return -(-bottom >> (POINT + GRID)), top >> (POINT + GRID)


class LatticeSearch:
    """The work: a basis of the differences that are left, forms that are known, and what proves them (`found`).

    `basis` and `dual` hold rows u and forms v with v_i u_j = [i = j]: x = Σ (v_i x) u_i. `open` are the coordinates
    that may differ between solutions, `known` the others in the order of their entries.
    """

    def __init__(self, given: IntegerStatements, free: NDArray[np.int64], limits: Limits) -> None:
        self.limits, self.free, self.statements = limits, free, len(given.low)
        reach = np.maximum(np.abs(given.lower), np.abs(given.upper)).astype(np.float64)
        middle, radius = _dense(given.middle[:, free]), given.radius @ reach
        half = (given.high - given.low) / 2 + radius
        exact = (radius == 0) & (middle == np.rint(middle)).all(axis=1)
        half = np.where(exact, np.maximum(half, FLOOR), half + TINY)
        finite = np.flatnonzero(np.isfinite(half))
        room = (given.upper - given.lower)[free] / 2
        self.rows = finite[_independent_statements(middle[finite] * room / half[finite, None])]
        self.half = half[self.rows]
        self.sums = WeightedSums(given, free, self.rows)
        k = len(free)
        one = [[int(i == j) for j in range(k)] for i in range(k)]
        self.basis, self.dual = list(one), list(one)
        self.open, self.known = list(range(k)), list[int]()
        self.entry: list[int] = []  # of every known coordinate
        self.found: list[LatticeForm] = []
        self._across: Any = None  # the basis of known coordinates, by columns

    def work(self) -> None:
        """Reduce, take out what is known, bound what is not, until nothing more becomes known."""
        for _ in range(ROUNDS):
            before = self.settled
            self.reduce()
            while self.open and self.take(self.by_squares()):
                pass
            if self.open and self.settled == before:
                self.take(self.by_programs())
            self.determined()
            if self.open and not self.contradicted:
                self.bounded()
            if not self.open or self.settled == before or self.contradicted:
                return

    @property
    def settled(self) -> int:
        """Return how many coordinates and columns are known."""
        sums = self.sums
        return len(self.known) + sum(a == b for a, b in zip(sums.lower, sums.upper, strict=True))

    @property
    def contradicted(self) -> bool:
        """Return whether there is no solution."""
        return bool(self.found) and self.found[-1].low > self.found[-1].high

    def embedding(self) -> Floats:
        """Return (open, columns and statements): what a step along an open vector changes, in half widths."""
        matrix = self.sums.matrix
        open_rows = matrix([self.basis[i] for i in self.open])
        room = np.array([b - a for a, b in zip(self.sums.lower, self.sums.upper, strict=True)], dtype=np.float64) / 2
        steps = _floats(open_rows) / np.maximum(room, 2.0**-10)  # known columns: any step is far too long
        return np.hstack([steps, _floats(open_rows * self.sums.coefs.transpose(), POINT) / self.half])

    def reduce(self) -> None:
        """Replace the open vectors by shorter ones."""
        self.limits.check(PHASE)
        if not self.limits.pay(LLL * len(self.open) ** 3):
            raise Inconclusive(f"a lattice of {len(self.open):,} vectors is too much work")
        matrix = self.sums.matrix
        room = max((b - a for a, b in zip(self.sums.lower, self.sums.upper, strict=True)), default=0)
        scale = SCALE * max(1.0, room / 2)  # a step of one row is never rounded to none
        rows = [[format(int(v), "x") for v in row] for row in np.rint(self.embedding() * scale).tolist()]
        alone = len(rows) > ALONE
        change = run(TRANSFORMED, rows, self.limits, work=math.inf) if alone else transformed(rows)
        by = matrix([[int(v, 16) for v in row] for row in change])
        new = (by * matrix([self.basis[i] for i in self.open])).tolist()
        back = by.inv(True)
        if int((by * back)[0, 0]) < 0:  # python-flint 0.9 drops the sign of a determinant of -1
            back = -back
        forms = (back.transpose() * matrix([self.dual[i] for i in self.open])).tolist()
        for i, u, v in zip(self.open, new, forms, strict=True):
            self.basis[i], self.dual[i] = [int(x) for x in u], [int(x) for x in v]

    def by_squares(self, width: float = WIDTH) -> list[tuple[int, Floats, Floats]]:
        """Return the open coordinates that least squares bound well: (coordinate, weights, what is left on columns)."""
        from scipy.linalg import solve_triangular

        steps = self.embedding()
        q, r = np.linalg.qr(steps.T)
        if not np.abs(np.diag(r)).min() > 0:
            return []
        weights = solve_triangular(r, q.T)
        return [self.split(i, w) for i, w in zip(self.open, weights, strict=True) if 2 * np.abs(w).sum() < width]

    def by_programs(self) -> list[tuple[int, Floats, Floats]]:
        """Return the same by linear programs, which find the narrowest interval of every coordinate."""
        programs = Programs(self.embedding())
        out = []
        for i, goal in zip(self.open, np.eye(len(self.open)), strict=True):
            self.limits.check(PHASE)
            top, weights = programs.greatest(goal)
            self.limits.charge(programs.work)
            if 2 * top < WIDTH:
                out.append(self.split(i, weights))
        return out

    def split(self, i: int, weights: Floats) -> tuple[int, Floats, Floats]:
        """Return a coordinate with weights of columns and statements in the embedding as those of the statements."""
        k = len(self.free)
        room = np.array([b - a for a, b in zip(self.sums.lower, self.sums.upper, strict=True)], dtype=np.float64) / 2
        y = weights[k:] / self.half
        return i, np.rint(y * 2.0**GRID) / 2.0**GRID, weights[:k] / np.maximum(room, 2.0**-10)

    def take(self, promising: list[tuple[int, Floats, Floats]]) -> bool:
        """Make those coordinates known whose interval holds one whole number; return whether there were some."""
        some = False
        for i, y, left in promising:
            self.limits.check(PHASE)
            z = self.of_known(self.dual[i], y, left)
            low, high = self.sums.bounds(self.dual[i], y, z)
            if low < high or max(map(abs, (low, *self.dual[i]))) >= LARGEST:
                continue
            self.add(self.dual[i], y, z, low, high)
            if low > high:
                return False
            self.open.remove(i)
            self.known.append(i)
            self.entry.append(len(self.found) - 1)
            self.sums.forms.append(self.dual[i])
            self.sums.ends.append((low, high))
            some = True
        return some

    def of_known(self, form: list[int], y: Floats, left: Floats) -> Floats:
        """Return the weights of known forms beside weights of statements, so that little more than `left` is left."""
        none = np.zeros(len(self.known))
        rest = self.sums.rest(form, y, none)
        off = [v - w for v, w in zip(rest, _scaled_integers(left, POINT + GRID), strict=True)]
        if not self.known:
            return none
        if self._across is None or self._across.ncols() != len(self.known):
            self._across = self.sums.matrix([self.basis[i] for i in self.known]).transpose()
        of = self.sums.matrix(1, len(off), off) * self._across
        weights: Floats = _floats(of, POINT + GRID)[0]
        return weights

    def add(self, form: list[int], y: Floats, z: Floats, low: int, high: int) -> None:
        """Put one more entry on the list."""
        weights = np.zeros(self.statements + len(self.found))
        weights[self.rows] = y
        weights[self.statements + np.array(self.entry, dtype=np.int64)] = z
        terms = tuple((int(self.free[j]), v) for j, v in enumerate(form) if v)
        self.found.append(LatticeForm(terms, weights, low, high))
        if sum(map(abs, form)) == 1 == sum(form):
            j = form.index(1)
            self.sums.lower[j], self.sums.upper[j] = max(low, self.sums.lower[j]), min(high, self.sums.upper[j])

    def determined(self) -> None:
        """Add the columns that no open vector changes."""
        sums = self.sums
        for j in range(len(self.free)):
            if sums.lower[j] < sums.upper[j] and not any(self.basis[i][j] for i in self.open):
                form = [int(c == j) for c in range(len(self.free))]
                y = np.zeros(len(self.rows))
                z = np.array([float(self.basis[i][j]) for i in self.known])
                low, high = sums.bounds(form, y, z)
                if low > sums.lower[j] or high < sums.upper[j]:
                    self.add(form, y, z, low, high)

    def bounded(self) -> None:
        """Bound the columns that open vectors change, by linear programs."""
        steps, k = self.embedding(), len(self.free)
        programs = Programs(steps, self.offset(self.near(steps)))
        for j in range(k):
            self.limits.check(PHASE)
            goal = np.array([float(self.basis[i][j]) for i in self.open])
            if self.sums.lower[j] >= self.sums.upper[j] or not goal.any():
                continue
            form = [int(c == j) for c in range(k)]
            for side in (1.0, -1.0):
                _, weights = programs.greatest(side * goal)
                self.limits.charge(programs.work)
                _, y, left = self.split(0, side * weights)
                z = self.of_known(form, y, left)
                low, high = self.sums.bounds(form, y, z)
                if low > self.sums.lower[j] or high < self.sums.upper[j]:
                    self.add(form, y, z, low, high)
                    if low > high:
                        return

    def ranges(self) -> list[tuple[int, int]]:
        """Return the least and greatest value that the form of every open coordinate can have; proved."""
        steps = self.embedding()
        programs, out = Programs(steps, self.offset(self.near(steps))), []
        for (i, *by_squares), goal in zip(self.by_squares(math.inf), np.eye(len(self.open)), strict=True):
            self.limits.check(PHASE)
            proofs = [
                by_squares,
                *(self.split(i, side * programs.greatest(side * goal)[1])[1:] for side in (1.0, -1.0)),
            ]
            ends = [self.sums.bounds(self.dual[i], y, self.of_known(self.dual[i], y, left)) for y, left in proofs]
            out.append((max(low for low, _ in ends), min(high for _, high in ends)))
        return out

    def near(self, steps: Floats) -> list[int]:
        """Return a whole point with the known forms, near the middles of all intervals."""
        point = [0] * len(self.free)
        for i, (value, _) in zip(self.known, self.sums.ends, strict=True):
            point = [a + value * b for a, b in zip(point, self.basis[i], strict=True)]
        for _ in range(2 if self.open else 0):
            moved = np.rint(np.linalg.lstsq(steps.T, self.offset(point))[0])
            for i, value in zip(self.open, moved.tolist(), strict=True):
                point = [a + int(value) * b for a, b in zip(point, self.basis[i], strict=True)]
        return point

    def offset(self, point: list[int]) -> Floats:
        """Return the middles of columns' bounds and of statements minus what a point has, in half widths."""
        sums = self.sums
        room = np.array([b - a for a, b in zip(sums.lower, sums.upper, strict=True)], dtype=np.float64) / 2
        middle = [(a + b) / 2 - p for a, b, p in zip(sums.lower, sums.upper, point, strict=True)]
        has = (sums.coefs * sums.matrix(len(point), 1, point)).entries()
        ends = zip(sums.low, sums.high, has, strict=True)
        far = [math.ldexp(float(a + b - 2 * int(v)), -POINT - 1) for a, b, v in ends]
        return np.concatenate([np.array(middle) / np.maximum(room, 2.0**-10), np.array(far) / self.half])


class Programs:
    """Linear programs over |c steps - start| <= 1, each over those columns that share an open vector with its goal."""

    def __init__(self, steps: Floats, start: Floats | None = None) -> None:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        self.steps, self.start = steps, np.zeros(steps.shape[1]) if start is None else start
        self.touched, self.work = np.abs(steps) > NOTHING, 0.0  # of work for the last program
        meeting = csr_array(self.touched.astype(np.float64))
        _, self.part = connected_components(meeting @ meeting.T, directed=False)

    def greatest(self, goal: Floats) -> tuple[float, Floats]:
        """Return the greatest goal c (inf: not found), and the weights of columns that prove it.

        goal = steps weights, up to the solver's tolerance.
        """
        from scipy.optimize import linprog  # a quarter of a second, which few commands need

        at = np.flatnonzero(np.isin(self.part, self.part[goal != 0]))
        columns = np.flatnonzero(self.touched[at].any(axis=0))
        rows, start = self.steps[np.ix_(at, columns)].T, self.start[columns]
        weights = np.zeros(self.steps.shape[1])
        ends = np.concatenate([1 + start, 1 - start])
        found = linprog(-goal[at], np.vstack([rows, -rows]), ends, bounds=(None, None), method="highs")
        self.work = PROGRAM + PIVOT * found.nit * rows.size
        if found.status != 0 or found.fun is None:
            return math.inf, weights
        by = -found.ineqlin.marginals
        weights[columns] = by[: len(columns)] - by[len(columns) :]
        return -float(found.fun), weights


def _independent_statements(scaled: Floats) -> NDArray[np.int64]:
    """Return the statements (ascending) that say something beyond those chosen before: pivots of QR, widest first."""
    from scipy.linalg import qr

    _, r, order = qr(scaled.T, mode="economic", pivoting=True)
    rank = int((np.abs(np.diag(r)) > NEW).sum())
    return np.sort(order[:rank]).astype(np.int64)
