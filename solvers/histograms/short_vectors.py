"""All histograms of a component, where statements say more than there is to say: by lattice reduction.

Free cells y that meet the statements are short vectors of a lattice. Every statement and every bound is a form f with
low <= f(y) <= high; 2 f - (low + high) then lies within high - low of 0, and is 0 for an equation. Statements with long
coefficients leave few vectors so short. LLL finds one; that there is no other is proved in whole numbers.

The proof. Let b_1, ..., b_m be the reduced basis, the vector that was found first, and w_j a rounded multiple of b_j
less its projection on those before. A solution is v = Σ x_j b_j with entries |v_k| <= c_k. With x_{j+1}, ..., x_m
chosen, u = Σ_{l >= j} a_l w_l for any a gives Σ_k c_k |u_k| >= |<v, u>|, and <v, u> = Σ_l a_l Σ_i x_i <b_i, w_l>,
where what is not chosen adds at most Σ_i X_i |<b_i, w_l>| to each l; X_i bounds |x_i|, by the inverse of the basis.
What breaks this for some a cannot be chosen: x_m, ..., x_2 are gone through that way, from the last on. Products of b
and w are whole numbers; sums of them in doubles count with more than their rounding.

Source: Lenstra, Lenstra, Lovász, "Factoring polynomials with rational coefficients", Math. Annalen 261, 1982; Lagarias,
Odlyzko, "Solving low-density subset sum problems", Journal of the ACM 32, 1985; Fincke, Pohst, "Improved methods for
calculating vectors of short length in a lattice", Mathematics of Computation 44, 1985.
"""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.components import Component, known_presolve
from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import EngineError, Inconclusive, TooLarge, Unsupported, installing
from solvers.foundation.limits import Limits
from solvers.foundation.native import run
from solvers.histograms.branches import HistogramBranch

Numbers = NDArray[Any]  # Python's whole numbers
MIN_COLUMNS, MAX_COLUMNS = 24, 400  # of a lattice; fewer are counted cheaper, more take too long
LONG = 256  # a coefficient from which on statements are looked at
BITS = 1.1  # per column that statements must say at least, so that few vectors are short
MAX_SOLUTIONS = 64
MAX_NODES = 20_000  # of a proof
STEP = 6  # binary digits of the statements that each reduction adds
ROUGH, DELTA = 0.75, 0.9  # of LLL: of the first reductions, and of the last
WORK = 1e-6  # of work, times the cube of the columns
NODE = 1e-4  # of work, for each step of a proof
LARGEST_WIDTH = 1 << 30  # of an interval, above which its form is not made as short as the others
DIGITS, FINER = 46, 40  # of what is orthogonal: at first, and what is added twice
NARROWED = 12  # times that bounds on the coordinates of solutions are narrowed by each other
ROUNDING = 2.0**-40  # more than sums of some hundred doubles are off, relative to the sums of their sizes
REDUCED = "solvers.histograms.short_vectors:reduced"
NO_SOLUTION = "lattice reduction found no solution"
OPEN = "lattice reduction found a solution; whether it is the only one takes too much work to prove"


@dataclass(frozen=True, eq=False)
class ShortForms:
    """Forms over columns y, low <= forms @ y <= high, the first of them the columns: cells are base + own @ y."""

    part: Component
    own: Numbers
    base: Numbers
    forms: Numbers
    low: Numbers
    high: Numbers

    @classmethod
    def of(cls, part: Component) -> ShortForms:
        """Return the forms of a component; of disjoint sums of cells that are known the last cell is no column.

        Raises `Unsupported` where there is no matrix, or too few or too many columns.
        """
        if part.matrix is None:
            raise Unsupported("a component of so many cells has no matrix")
        matrix, room = part.matrix.astype(object), part.room.astype(object)
        given = disjoint_sums(part.matrix, part.low == part.high)
        last = list(given.values())
        kept = np.setdiff1d(np.arange(len(room)), last)
        if not MIN_COLUMNS <= len(kept) <= MAX_COLUMNS:
            raise Unsupported(f"{len(kept):,} columns: lattices of {MIN_COLUMNS} to {MAX_COLUMNS} are reduced")
        own, base = np.eye(len(room), dtype=int).astype(object), np.zeros(len(room), dtype=object)
        for row, cell in given.items():
            own[cell], base[cell] = own[cell] - matrix[row], int(part.low[row])
        own = own[:, kept]
        rest = np.setdiff1d(np.arange(len(matrix)), list(given))
        shift = matrix[rest] @ base
        further = np.vstack([own[last], matrix[rest] @ own])
        low = np.concatenate([-base[last], part.low[rest].astype(object) - shift])
        high = np.concatenate([room[last] - base[last], part.high[rest].astype(object) - shift])
        unit = np.eye(len(kept), dtype=int).astype(object)
        further, low, high = _distinct(further, low, high)
        some = _telling(further, low, high, room[kept])
        forms = np.vstack([unit, further[some]])
        zeros = np.zeros(len(kept), dtype=object)
        return cls(part, own, base, forms, np.concatenate([zeros, low[some]]), np.concatenate([room[kept], high[some]]))

    @property
    def columns(self) -> int:
        """Return how many columns there are."""
        return int(self.forms.shape[1])

    @property
    def bits(self) -> float:
        """Return about how many binary digits of the columns the other forms say."""
        width = (self.high - self.low)[self.columns :].astype(np.float64) + 1
        scaled = self.forms[self.columns :].astype(np.float64) / width[:, None]
        sizes = np.abs(np.diag(np.linalg.qr(scaled.T, mode="r"))) if len(scaled) else np.zeros(0)
        return float(np.log2(np.maximum(sizes, 1.0)).sum())

    def shortened(self) -> ShortForms:
        """Return the same with equations of shorter coefficients, none of which follows from others; forms less those.

        Sums of squares and of values of one column say much of the same, and columns of each other.
        """
        import flint

        n = self.columns
        exact = np.flatnonzero(self.low == self.high)
        exact, wide = exact[exact >= n], np.flatnonzero(self.low < self.high)
        wide = wide[wide >= n]
        if not len(exact):
            return self
        short, change = flint.fmpz_mat(self.forms[exact].tolist()).lll(True, DELTA)
        equations, ends = _whole_numbers(short), _whole_numbers(change) @ self.low[exact]
        some = (equations != 0).any(axis=1)
        if (ends[~some] != 0).any():
            return replace(self, high=self.low - 1)
        equations, ends, rest = equations[some], ends[some], self.forms[wide]
        near, *_ = np.linalg.lstsq(equations.T.astype(np.float64), rest.T.astype(np.float64))
        times = np.array([[int(v) for v in row] for row in np.rint(near.T)], dtype=object).reshape(len(rest), len(ends))
        shift = times @ ends
        forms, low, high = _distinct(rest - times @ equations, self.low[wide] - shift, self.high[wide] - shift)
        kept = _telling(forms, low, high, self.high[:n])
        every = np.concatenate([ends, low[kept]]), np.concatenate([ends, high[kept]])
        return replace(
            self,
            forms=np.vstack([self.forms[:n], equations, forms[kept]]),
            low=np.concatenate([self.low[:n], every[0]]),
            high=np.concatenate([self.high[:n], every[1]]),
        )

    def cells(self, y: Numbers) -> Ints | None:
        """Return the rows of the component's cells, 0 being the least; None where these columns are no solution."""
        found = self.base + self.own @ y
        sums = self.part.matrix.astype(object) @ found  # type: ignore[union-attr]
        fits = [*(found >= 0), *(found <= self.part.room), *(sums >= self.part.low), *(sums <= self.part.high)]
        return found.astype(np.int64) if all(fits) else None


def disjoint_sums(matrix: Ints, known: NDArray[np.bool_]) -> dict[int, int]:
    """Return statements that give a sum of cells, no cell in two of them, each with its last cell; short ones first."""
    sums = np.flatnonzero(known & (matrix >= 0).all(axis=1) & (matrix <= 1).all(axis=1))
    taken, out = np.zeros(matrix.shape[1], dtype=bool), dict[int, int]()
    for row in sums[np.argsort(matrix[sums].sum(axis=1), kind="stable")].tolist():
        inside = matrix[row] == 1
        if inside.any() and not (inside & taken).any():
            taken |= inside
            out[row] = int(np.flatnonzero(inside)[-1])
    return out


def _distinct(forms: Numbers, low: Numbers, high: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return every form once, be it turned around, with all bounds that are given of it."""
    found: dict[tuple[int, ...], tuple[int, int]] = {}
    for form, a, b in zip(forms.tolist(), low.tolist(), high.tolist(), strict=True):
        turned = tuple(-v for v in form)
        key, ends = (turned, (-b, -a)) if tuple(form) < turned else (tuple(form), (a, b))
        least, most = found.get(key, ends)
        found[key] = max(ends[0], least), min(ends[1], most)
    low, high = np.array(list(found.values()), dtype=object).reshape(-1, 2).T.copy()
    return np.array(list(found), dtype=object).reshape(-1, forms.shape[1]), low, high


def _telling(forms: Numbers, low: Numbers, high: Numbers, room: Numbers) -> list[int]:
    """Return the forms that bounds on columns do not imply; ends become those that the bounds allow where nearer."""
    out = []
    for i, form in enumerate(forms):
        least, most = (
            sum(v * r for v, r in zip(form, room, strict=True) if v < 0),
            sum(v * r for v, r in zip(form, room, strict=True) if v > 0),
        )
        if low[i] > least or high[i] < most:
            low[i], high[i] = max(low[i], least), min(high[i], most)
            out.append(i)
    return out


@dataclass(frozen=True, eq=False)
class ReducedBasis:
    """A reduced basis as rows: `coordinates` (y, t) of each, and its entries; a solution has t = 1, |entry| <= caps."""

    coordinates: Numbers
    entries: Numbers
    caps: Numbers


def reduced_basis(asked: ShortForms, limits: Limits) -> ReducedBasis:
    """Return the reduced basis of the lattice of all forms. Cost: about `WORK` times the cube of the columns."""
    n = asked.columns
    limits.check("a lattice was reduced")
    if not limits.pay(WORK * n**3):
        raise Inconclusive(f"a lattice of {n:,} columns is too much work")
    width = asked.high - asked.low
    most = max(1, min(LARGEST_WIDTH, max(int(w) for w in width)))
    equal = most * (math.isqrt(n) + 2)
    times = np.array([equal if w == 0 else max(1, most // int(w)) for w in width], dtype=object)
    rows = np.vstack([2 * asked.forms.T * times, -(asked.low + asked.high) * times])
    mark = np.array([0] * n + [most], dtype=object)[:, None]
    # t stands behind the columns, so that the first n + 1 entries give the coordinates
    whole = np.hstack([rows[:, :n], mark, rows[:, n:]])
    payload = [[format(int(v), "x") for v in row] for row in whole]
    found = run(REDUCED, payload, limits, work=math.inf)
    coordinates = np.array([[int(v, 16) for v in row] for row in found], dtype=object)
    caps = times * width
    return ReducedBasis(coordinates, coordinates @ whole, np.concatenate([caps[:n], [most], caps[n:]]))


def reduced(payload: list[list[str]]) -> list[list[str]]:
    """Return the coordinates of a reduced basis of the rows of a matrix, whole numbers as hexadecimal text.

    The first columns, as many as rows, are zero off the diagonal but for the last row, so that they give coordinates.
    The others are added digit by digit.
    """
    import flint

    whole = np.array([[int(v, 16) for v in row] for row in payload], dtype=object)
    m = len(whole)
    diagonal, last = whole[range(m), range(m)], whole[-1, : m - 1]
    tail = flint.fmpz_mat(whole[:, m:].tolist())
    digits = [max(1, *(int(v).bit_length() for v in column)) for column in whole[:, m:].T]
    basis, left = np.eye(m, dtype=int).astype(object), max(digits, default=0)
    while True:
        left = max(0, left - STEP)
        seen = (flint.fmpz_mat(basis.tolist()) * tail).tolist()
        front = np.hstack([basis[:, :-1] * diagonal[:-1] + basis[:, -1:] * last, basis[:, -1:] * diagonal[-1]])
        some: Any = [
            [*a, *(int(v) >> min(left, most) for v, most in zip(b, digits, strict=True))]
            for a, b in zip(front.tolist(), seen, strict=True)
        ]
        found = _whole_numbers(flint.fmpz_mat(some).lll(False, ROUGH if left else DELTA))[:, :m]
        times = found[:, -1:] // diagonal[-1]
        basis = np.hstack([(found[:, :-1] - times * last) // diagonal[:-1], times])
        if not left:
            return [[format(int(v), "x") for v in row] for row in basis]


@dataclass(frozen=True, eq=False)
class Solutions:
    """Solutions of a component, as rows of its cells; `all`: whether it is proved that there are no others."""

    found: tuple[Ints, ...]
    all: bool


@dataclass(slots=True)
class ShortWorlds:
    """What lattice reduction found of a system: all histograms as branches, or one of them, or why there is none."""

    branches: tuple[HistogramBranch, ...] = ()
    all: bool = False
    why: str = ""


def short_worlds(system: CellSystem, limits: Limits) -> ShortWorlds | None:
    """Return what lattice reduction finds of a system; None where it has no long coefficients, and is not reduced.

    Remembered. Raises `Inconclusive` when time is up.
    """
    if system.choices or not system.release.rows.exact or np.abs(system.linear.coef).max(initial=0) < LONG:
        return None
    known = system.derived.part(_KnownShortWorlds)
    if known.found is None:
        known.found = _short_worlds(system, limits)
    return known.found


@dataclass(slots=True)
class _KnownShortWorlds:
    """What lattice reduction found, once it was asked."""

    found: ShortWorlds | None = None


def _short_worlds(system: CellSystem, limits: Limits) -> ShortWorlds:
    if importlib.util.find_spec("flint") is None:
        return ShortWorlds(why=f"python-flint is not installed, so no lattice is reduced: {installing('lattice')}")
    parts, every, whole = known_presolve(system, limits).components, list[tuple[Ints, ...]](), True
    try:
        for part in parts:
            found = solutions(part, limits)
            every.append(found.found)
            whole = whole and found.all
    except (Unsupported, TooLarge, EngineError) as error:
        return ShortWorlds(why=str(error))
    if math.prod(map(len, every)) > MAX_SOLUTIONS:
        every, whole = [one[:1] for one in every], False
    out = []
    for chosen in product(*every):
        z = system.bounds.lower.copy()
        for part, rows in zip(parts, chosen, strict=True):
            z[part.cells] += rows
        if not system.satisfied(z):
            raise EngineError("lattice reduction gave rows that break a statement")
        out.append(HistogramBranch.single(system, z))
    return ShortWorlds(tuple(out), whole, "" if whole else OPEN)


def solutions(part: Component, limits: Limits) -> Solutions:
    """Return all solutions of a component, or one where the proof is too much work.

    Raises `Unsupported` where statements say too little, or none is found. Cost: `WORK` times the cube of the columns.
    """
    asked = ShortForms.of(part)
    if any(asked.low > asked.high):
        return Solutions((), True)
    if asked.bits < BITS * asked.columns:
        raise Unsupported(f"statements say {asked.bits:,.0f} binary digits of {asked.columns:,} numbers: too few")
    asked = asked.shortened()
    if any(asked.low > asked.high):
        return Solutions((), True)
    basis = _beginning_with_a_solution(asked, reduced_basis(asked, limits))
    search = SolutionSearch(asked, basis, limits)
    whole = search.all_found()
    return Solutions(tuple(search.solutions), whole)


def _beginning_with_a_solution(asked: ShortForms, basis: ReducedBasis) -> ReducedBasis:
    """Return the basis with a solution as its first vector; `Unsupported` where none of its vectors is one."""
    short = (np.abs(basis.entries) <= basis.caps).all(axis=1)
    for i in np.flatnonzero(short & (np.abs(basis.coordinates[:, -1]) == 1)).tolist():
        sign = int(basis.coordinates[i, -1])
        if asked.cells(sign * basis.coordinates[i, :-1]) is not None:
            order = [i, *(j for j in range(basis.entries.shape[0]) if j != i)]
            coordinates, entries = basis.coordinates[order], basis.entries[order]
            coordinates[0], entries[0] = sign * coordinates[0], sign * entries[0]
            return ReducedBasis(coordinates, entries, basis.caps)
    raise Unsupported(NO_SOLUTION)


class SolutionSearch:
    """The search for all solutions, given a basis whose first vector is one: see the module."""

    def __init__(self, asked: ShortForms, basis: ReducedBasis, limits: Limits) -> None:
        import flint

        self.asked, self.basis, self.limits = asked, basis, limits
        q, r = np.linalg.qr(basis.entries.astype(np.float64).T)
        sizes = np.diag(r)
        self.ratio = r / sizes[:, None]
        across = (q * sizes).T
        self.scale = 2.0 ** (DIGITS - np.ceil(np.log2(np.abs(across).max(axis=1))))
        first = np.rint(across * self.scale[:, None])
        w, b = (flint.fmpz_mat([[int(v) for v in row] for row in rows]) for rows in (first, basis.entries))
        for _ in range(2):
            w = _orthogonal(w, b * w.transpose())
            self.scale *= 2.0**FINER
        self.products = _whole_numbers(b * w.transpose())
        self.across = _whole_numbers(w).astype(np.float64)
        inverse = flint.fmpz_mat([[int(v) for v in row] for row in basis.coordinates]).inv(True)
        columns = [max(abs(int(a)), abs(int(b))) for a, b in zip(asked.low, asked.high, strict=True)][: asked.columns]
        self.reach = _narrower(np.array([*columns, 1], dtype=object) @ np.abs(_whole_numbers(inverse)), basis)
        m = len(basis.entries)
        self.rest = [int(sum(self.reach[:j] * np.abs(self.products[:j, j]))) for j in range(m)]
        self.most = [
            int(sum(basis.caps * np.array([abs(int(v)) for v in row], dtype=object))) for row in _whole_numbers(w)
        ]
        self.caps = basis.caps.astype(np.float64)
        self.near = self.products.astype(np.float64)
        self.nodes, self.solutions = 0, list[Ints]()

    def all_found(self) -> bool:
        """Go through all choices, solutions into `solutions`; return whether that was not too much work."""
        x = np.zeros(len(self.reach), dtype=object)
        stack = [self.choices(x, len(x) - 1)]
        while stack:
            j = len(x) - len(stack)
            if not stack[-1]:
                stack.pop()
                x[j] = 0
                continue
            x[j] = stack[-1].pop()
            self.nodes += 1
            if self.nodes > MAX_NODES or len(self.solutions) > MAX_SOLUTIONS or not self.limits.pay(NODE):
                if not self.solutions:
                    self.keep(0 * x)
                return False
            if x[j:].any() and self.impossible(x, j):
                continue
            if j > 1:
                stack.append(self.choices(x, j - 1))
            else:
                self.keep(x)
        return True

    def choices(self, x: Numbers, j: int) -> list[int]:
        """Return what x_j can be by w_j alone, beside those behind it."""
        unit = int(self.products[j, j])
        chosen = int(sum(x[j + 1 :] * self.products[j + 1 :, j]))
        room = self.most[j] + self.rest[j]
        return list(range(-((room + chosen) // unit), (room - chosen) // unit + 1))

    def impossible(self, x: Numbers, j: int) -> bool:
        """Return whether no solution has these x_j, ..., x_m."""
        chosen = x[j:].astype(np.float64)
        a = self.ratio[j:, j:] @ chosen / self.scale[j:]
        sizes = np.abs(a)
        product = a @ (chosen @ self.near[j:, j:]) - sizes @ np.array(self.rest[j:], dtype=np.float64)
        length = self.caps @ np.abs(a @ self.across[j:])
        off = self.caps @ (sizes @ np.abs(self.across[j:])) + sizes @ (np.abs(chosen) @ np.abs(self.near[j:, j:]))
        return bool(product - length > ROUNDING * (off + sizes @ np.array(self.rest[j:], dtype=np.float64)))

    def keep(self, x: Numbers) -> None:
        """Add the solution with these x_2, ..., x_m, if there is one."""
        y = x @ self.basis.coordinates
        y = y + (1 - y[-1]) * self.basis.coordinates[0]
        found = self.asked.cells(y[:-1])
        if found is not None:
            self.solutions.append(found)


def _narrower(reach: Numbers, basis: ReducedBasis) -> Numbers:
    """Return bounds on |x_i| of solutions, narrower than given ones by a rounded pseudo-inverse of the basis.

    With B D = 1 + E for the entries B, x_i = Σ v_k D_ki - Σ x_l E_li: doubles choose D, whole numbers give E.
    """
    import flint
    from scipy.linalg import solve_triangular

    q, r = np.linalg.qr(basis.entries.astype(np.float64).T)
    inverse = solve_triangular(r, q.T).T
    powers = (DIGITS - np.ceil(np.log2(np.abs(inverse).max(axis=0)))).astype(np.int64)
    rounded = np.array([[int(v) for v in row] for row in np.rint(np.ldexp(inverse, powers))], dtype=object)
    product = flint.fmpz_mat([[int(v) for v in row] for row in basis.entries]) * flint.fmpz_mat(rounded.tolist())
    unit = np.array([1 << max(0, int(p)) for p in powers], dtype=object)
    if (powers < 0).any():
        return reach
    across = basis.caps @ np.abs(rounded)
    error = np.abs(_whole_numbers(product) - np.diag(unit))
    for _ in range(NARROWED):
        reach = np.minimum(reach, (across + reach @ error) // unit)
    return reach


def _orthogonal(w: Any, products: Any) -> Any:
    """Return w with so many more digits (`FINER`) that products with the vectors before each are far nearer to 0."""
    import flint
    from scipy.linalg import solve_triangular

    known = _whole_numbers(products).astype(np.float64)
    off = np.triu(solve_triangular(known, np.triu(known, 1), lower=True), 1)
    m = len(off)
    return w * (1 << FINER) - flint.fmpz_mat(m, m, [int(v) for v in np.ldexp(off.T, FINER).ravel()]) * w


def _whole_numbers(matrix: Any) -> Numbers:
    """Return a matrix of flint as an array of whole numbers."""
    return np.array([[int(v) for v in row] for row in matrix.tolist()], dtype=object)
