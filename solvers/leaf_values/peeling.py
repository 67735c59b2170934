"""Linear algebra with error bounds: whole numbers of rows that weighted sums of statements determine, taken out, and again.

Weights are candidates from an orthogonal decomposition, never believed: every bound is that of `combining.implied`.
Before anything is fixed the least-squares residual is tried as a contradiction of the statements.

Source: Golub, Van Loan, "Matrix Computations", 4th edition, 2013, section 5.4 (QR with column pivoting).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Ints
from solvers.foundation.limits import Limits
from solvers.leaf_values.cells import System
from solvers.leaf_values.combining import Statements, around, implied, moved

Floats = NDArray[np.float64]
RESOLVED = 1.0  # rows: directions known no better than this are taken as unknown
NEAR = 0.5  # rows: estimated errors of candidates
FLOOR = 2.0**-52
CHUNK = 1 << 24  # numbers in a matrix of weights
GRID = 60  # binary digits of weights behind the point
ROUNDS = 20


class Contradicted(Exception):
    """No numbers of rows agree with the statements: an assumption about the training fails. `str` says which."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Forms i: Σ coefficient * x[column] over start[i]..start[i + 1] in low[i]..high[i], by the weights (k, sources)."""

    start: Ints
    column: Ints
    coefficient: Ints
    low: Ints
    high: Ints
    weights: Any
    source: Ints

    def __len__(self) -> int:
        return len(self.low)


@dataclass(eq=False)
class Level:
    """What is known about the rows x[cell, class] of the cells at a level; grows by facts, its bounds shrink.

    `given` are counts and figures, then the facts of earlier levels; `added` those found here. `next` is the number
    that the next fact has as a source.
    """

    given: System
    lower: Ints
    upper: Ints
    next: int
    columns: Ints  # (cells, classes): numbers in proofs
    names: Any  # source -> what a statement is, in words
    batches: list[Batch] = field(default_factory=list)

    @property
    def open(self) -> NDArray[np.bool_]:
        """Return (cells, classes): which numbers are not known."""
        return self.lower < self.upper

    def record(self, batch: Batch) -> Ints:
        """Keep a batch of forms and return their source numbers."""
        self.batches.append(batch)
        first = self.next
        self.next += len(batch)
        return np.arange(first, self.next, dtype=np.int64)


def peel(level: Level, limits: Limits) -> None:
    """Fix what weighted sums determine until nothing changes or the time is up; raises `Contradicted`."""
    for turn in range(ROUNDS):
        propagate(level)
        if not level.open.any():
            return
        changed = False
        for variables in (sums_of_cells, single_columns):
            if limits.expired():
                return
            step = variables(level)
            if step is not None and determine(level, step, limits):
                changed = True
                propagate(level)
        limits.report(f"leaf values: {int(level.open.any(axis=1).sum()):,} cells open after round {turn + 1}")
        if not changed:
            return


def propagate(level: Level) -> None:
    """Shrink bounds by single counts until nothing changes, each by the statement that says most."""
    given = level.given
    whole = (given.radius == 0).all(axis=1) & ((given.middle == 0) | (given.middle == 1)).all(axis=1)
    rows = np.ones(len(given), dtype=bool)
    rows[given.row[~whole]] = False
    e, k = np.nonzero((given.middle == 1) & rows[given.row][:, None])
    row, at = given.row[e], (given.cell[e], k)
    while True:
        lower, upper = level.lower, level.upper
        least = np.bincount(row, lower[at].astype(np.float64), minlength=len(given))
        most = np.bincount(row, upper[at].astype(np.float64), minlength=len(given))
        if bool((rows & ((least > given.high) | (most < given.low))).any()):
            i = int(np.flatnonzero(rows & ((least > given.high) | (most < given.low)))[0])
            raise Contradicted(f"{level.names(int(given.source[i]))}: counts contradict what leaf values determine")
        top = (given.high - least)[row] + lower[at]
        bottom = (given.low - most)[row] + upper[at]
        better = (top < upper[at]) | (bottom > lower[at])
        if not better.any():
            return
        shrink(level, row, e, k, top, bottom)


def shrink(level: Level, row: Ints, e: Ints, k: Ints, top: Floats, bottom: Floats) -> None:
    """Take over the best bounds that counts imply, with the count that implies each as its proof."""
    from scipy.sparse import csr_matrix

    given, classes = level.given, level.lower.shape[1]
    column = given.cell[e] * classes + k
    lower, upper = level.lower.copy(), level.upper.copy()
    found: list[tuple[Ints, Ints, Ints, Ints]] = []
    for ends, sign in ((top, 1.0), (-bottom, -1.0)):
        order = np.lexsort((ends, column))
        first = order[np.unique(column[order], return_index=True)[1]]
        flat = (level.upper if sign > 0 else -level.lower).ravel()[column[first]]
        first = first[ends[first] < flat]
        values = (sign * ends[first]).astype(np.int64)
        (upper if sign > 0 else lower).ravel()[column[first]] = values
        found.append((column[first], row[first], values, np.full(len(first), sign, dtype=np.int64)))
    at, rows, _, _ = (np.concatenate(x) for x in zip(*found, strict=True))
    if bool((lower > upper).any()):
        raise Contradicted("counts contradict what leaf values determine")
    n, source = len(at), given.source[rows]
    first_low = np.concatenate([level.lower.ravel()[found[0][0]], lower.ravel()[found[1][0]]])  # upper ends come first
    level.lower, level.upper = lower, upper
    number, index = np.unique(source, return_inverse=True)
    weights = csr_matrix((np.ones(n), (np.arange(n), index.reshape(-1))), shape=(n, len(number)))
    ends2 = first_low, upper.ravel()[at]
    level.record(Batch(np.arange(n + 1), level.columns.ravel()[at], np.ones(n, dtype=np.int64), *ends2, weights, number))


@dataclass(frozen=True, eq=False)
class Step:
    """Statements on whole numbers z, each of them a sum of numbers of rows: what one decomposition is made of.

    Row i is statement `rows[i]` of the level. z[j] is the sum of the columns over start[j]..start[j + 1]. Statement
    `helper[c]` says the sum of a cell one of whose columns was taken out (c of them), `taken` (rows, c) are the
    coefficients of these columns: a combination with weights w contains the helpers -w @ taken times.
    """

    statements: Statements
    rows: Ints
    start: Ints
    column: Ints
    helper: Ints
    taken: Any


def sums_of_cells(level: Level) -> Step | None:
    """Return the statements that weigh all the open classes of a cell alike, on the open rows of cells."""
    from scipy.sparse import csr_matrix

    given, is_open = level.given, level.open
    at = is_open[given.cell]
    some = at.any(axis=1)
    first = np.argmax(at, axis=1)
    middle = given.middle[np.arange(len(at)), first]
    alike = np.where(at, given.middle == middle[:, None], True).all(axis=1)
    rows = np.ones(len(given), dtype=bool)
    rows[given.row[~alike]] = False
    used = np.zeros(len(given), dtype=bool)
    used[given.row[some & (middle != 0)]] = True
    rows &= used
    cells = np.flatnonzero(is_open.sum(axis=1) > 1)
    single = is_open.sum(axis=1) == 1
    cells = np.flatnonzero(is_open.any(axis=1))
    if not rows.any() or bool(single[cells].all()):
        return None
    kept = rows[given.row] & some
    number, place = compact(rows), compact(is_open.any(axis=1))
    shape = (int(rows.sum()), len(cells))
    index = number[given.row[kept]], place[given.cell[kept]]
    matrix = csr_matrix((middle[kept], index), shape=shape)
    radius = csr_matrix((np.where(at, given.radius, 0.0).max(axis=1)[kept], index), shape=shape)
    low, high = behind(level, rows)
    lower = np.where(is_open, level.lower, 0).sum(axis=1)[cells]
    upper = np.where(is_open, level.upper, 0).sum(axis=1)[cells]
    numbers = np.flatnonzero(rows)
    c, k = np.nonzero(is_open)
    start = np.concatenate([[0], np.cumsum(is_open.sum(axis=1)[cells])])
    found = Statements(matrix, radius, low, high, given.source[numbers], cells, lower, upper)
    none = np.zeros(0, dtype=np.int64)
    return Step(found, numbers, start, c * is_open.shape[1] + k, none, csr_matrix((len(numbers), 0)))


def single_columns(level: Level) -> Step | None:
    """Return all statements on the open columns; one of each cell whose sum is known is taken out."""
    from scipy.sparse import csr_matrix, diags

    given, is_open = level.given, level.open
    classes = is_open.shape[1]
    helper, total = known_sums(level)
    out = np.zeros_like(is_open)
    known = np.flatnonzero((helper >= 0) & (is_open.sum(axis=1) > 1))
    last = classes - 1 - np.argmax(is_open[:, ::-1], axis=1)
    out[known, last[known]] = True
    variables = (is_open & ~out).ravel()
    if not variables.any():
        return None
    rows = np.zeros(len(given), dtype=bool)
    rows[given.row[(is_open[given.cell] & (given.middle != 0)).any(axis=1)]] = True
    rows[helper[known]] = False
    numbers, number, place = np.flatnonzero(rows), compact(rows), compact(variables)
    middle, radius = flat(given, is_open, rows, number)
    z = int(variables.sum())
    x = np.flatnonzero(is_open.ravel())
    # x = T z + constant: a column that was taken out is the sum of its cell less the others
    mine = x[variables[x]]
    others = mine[(helper >= 0)[mine // classes]]
    taken = known * classes + last[known]
    where = np.concatenate([mine, last[others // classes] + others // classes * classes])
    value = np.concatenate([np.ones(len(mine)), -np.ones(len(others))])
    transform = csr_matrix((value, (where, place[np.concatenate([mine, others])])), shape=(is_open.size, z))
    matrix = (middle @ transform).tocsr()
    rounding = (abs(middle) @ abs(transform)) * 2.0**-52 if len(known) else matrix * 0.0
    constant = np.zeros(is_open.size, dtype=np.int64)
    constant[taken] = total[known]
    low, high = behind(level, rows)
    low, high = moved(middle, radius * 0.0, constant, low, high)
    lower, upper = level.lower.ravel()[mine], level.upper.ravel()[mine]
    # what radii add up to over all open columns, by their upper bounds
    wide = (radius @ level.upper.ravel().astype(np.float64)) * (1 + 2.0**-40)
    low, high = np.nextafter(low - wide, -np.inf), np.nextafter(high + wide, np.inf)
    found = Statements(matrix, rounding.tocsr(), low, high, given.source[numbers], mine, lower, upper)
    coefficients = middle[:, taken]
    return Step(found, numbers, np.arange(z + 1), mine, helper[known], coefficients)


def compact(kept: NDArray[np.bool_]) -> Ints:
    """Return the number of each among those kept, -1 for others."""
    return np.where(kept, np.cumsum(kept) - 1, -1)


def flat(given: System, use: NDArray[np.bool_], rows: NDArray[np.bool_], number: Ints) -> tuple[Any, Any]:
    """Return the coefficients and radii of some statements over the columns used, as sparse matrices by columns."""
    from scipy.sparse import csr_matrix

    kept = rows[given.row]
    e, k = np.nonzero(use[given.cell] & kept[:, None] & ((given.middle != 0) | (given.radius != 0)))
    index = number[given.row[e]], given.cell[e] * use.shape[1] + k
    shape = (int(rows.sum()), use.size)
    return csr_matrix((given.middle[e, k], index), shape=shape), csr_matrix((given.radius[e, k], index), shape=shape)


def behind(level: Level, rows: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the intervals of some statements less what is known, rounded outwards."""
    given, fixed = level.given, ~level.open
    middle, radius = flat(given, fixed & (level.lower > 0), rows, compact(rows))
    return moved(middle, radius, level.lower.ravel(), given.low[rows], given.high[rows])


def known_sums(level: Level) -> tuple[Ints, Ints]:
    """Return, per cell, a statement that says how many open rows it has (-1: none), and how many."""
    given, is_open = level.given, level.open
    at = is_open[given.cell]
    ones = np.where(at, (given.middle == 1) & (given.radius == 0), True).all(axis=1) & at.any(axis=1)
    touched = np.bincount(given.row[at.any(axis=1)], minlength=len(given))
    alone = (touched == 1) & (given.low == given.high)
    e = np.flatnonzero(ones & alone[given.row])
    # what is fixed in a statement must be whole too: sums of counts only
    whole = np.ones(len(given), dtype=bool)
    odd = ((given.radius != 0) | ((given.middle != 0) & (given.middle != 1))).any(axis=1)
    whole[given.row[odd]] = False
    e = e[whole[given.row[e]]]
    helper = np.full(len(is_open), -1, dtype=np.int64)
    helper[given.cell[e]] = given.row[e]
    total = np.zeros(len(is_open), dtype=np.int64)
    cells = np.flatnonzero(helper >= 0)
    if len(cells):
        fixed = np.where(is_open, 0, level.lower)
        mass = np.bincount(given.row, (given.middle * fixed[given.cell]).sum(axis=1), minlength=len(given))
        total[cells] = np.rint(given.low[helper[cells]] - mass[helper[cells]]).astype(np.int64)
    return helper, total


def determine(level: Level, step: Step, limits: Limits) -> bool:
    """Fix what the statements of a step determine, and return whether something was; raises `Contradicted`."""
    from scipy.linalg import qr, solve_triangular

    given = step.statements
    reach = np.maximum(np.abs(given.lower), np.abs(given.upper)).astype(np.float64)
    size = abs(given.middle) @ reach
    half = (given.high - given.low) / 2 + given.radius @ reach + FLOOR * size + 1e-300
    used = np.flatnonzero((half < size) & np.isfinite(half))
    if not len(used):
        return False
    offset = (given.low + given.high)[used] / 2 / half[used]
    scaled = given.middle[used].toarray()
    scaled /= half[used][:, None]
    limits.report(f"leaf values: {scaled.shape[0]:,} statements on {scaled.shape[1]:,} numbers")
    q, r = qr(scaled, mode="economic", overwrite_a=True, check_finite=False)
    q2, r2, pivot = qr(r, mode="economic", pivoting=True, check_finite=False)
    rank = int((np.abs(np.diag(r2)) > RESOLVED).sum())
    q = q @ q2[:, :rank]
    projected = q.T @ offset
    contradiction(level, step, used, half, offset - q @ projected)
    if not rank or limits.expired():
        return False
    inverse = solve_triangular(r2[:rank, :rank], np.eye(rank), check_finite=False)
    loose = np.abs(inverse @ r2[:rank, rank:]) @ reach[pivot[rank:]]
    noise = np.sqrt((inverse**2).sum(axis=1))
    good = np.flatnonzero((loose < NEAR) & (noise < NEAR))
    if not len(good):
        return False
    point = np.zeros(len(reach))
    point[pivot[:rank]] = inverse @ projected
    at = np.clip(np.rint(point), given.lower, given.upper).astype(np.int64)
    near = around(given, at)
    changed = False
    piece = max(1, CHUNK // len(given.low))
    for i in range(0, len(good), piece):
        if limits.expired():
            break
        weights = np.zeros((len(good[i : i + piece]), len(given.low)))
        weights[:, used] = rounded((inverse[good[i : i + piece]] @ q.T) / half[used])
        changed |= fix(level, step, near, at, pivot[good[i : i + piece]], weights)
    return changed


def rounded(weights: Floats) -> Floats:
    """Return weights as whole multiples of 2^-GRID, so that they are exact in proofs."""
    found: Floats = np.rint(np.ldexp(weights, GRID))
    return np.ldexp(found, -GRID)


def contradiction(level: Level, step: Step, used: Ints, half: Floats, residual: Floats) -> None:
    """Raise `Contradicted` where the residual of least squares, as a weighted sum of statements, leaves no numbers."""
    worst = float(np.abs(residual).max(initial=0.0))
    if worst <= 1.0:
        return
    weights = np.zeros((1, len(half)))
    weights[0, used] = residual / worst / half[used]
    low, high = implied(step.statements, np.zeros((1, len(step.statements.lower))), weights)
    if low[0] > 0 or high[0] < 0:
        i = int(step.rows[used[np.argmax(np.abs(residual))]])
        raise Contradicted(f"{level.names(int(level.given.source[i]))} misses by {worst:.1e} times its bound")


def fix(level: Level, step: Step, near: Statements, at: Ints, which: Ints, weights: Floats) -> bool:
    """Take over the bounds of z[which] that weights prove, where they are one whole number, and record the proof."""
    from scipy.sparse import csr_matrix

    forms = np.zeros((len(which), len(at)))
    forms[np.arange(len(which)), which] = 1.0
    low, high = implied(near, forms, weights)
    least, most = np.ceil(low) + at[which], np.floor(high) + at[which]
    if bool((least > most).any()):
        raise Contradicted("no whole number of rows is left for a cell")
    found = np.flatnonzero(least == most)
    if not len(found):
        return False
    value = least[found].astype(np.int64)
    which, weights = which[found], weights[found]
    given = step.statements
    if bool(((value < given.lower[which]) | (value > given.upper[which])).any()):
        raise Contradicted("leaf values and counts contradict each other")
    helpers = rounded(np.asarray(-(weights @ step.taken))) if len(step.helper) else np.zeros((len(value), 0))
    source = np.concatenate([given.source, level.given.source[step.helper]])
    proof = csr_matrix(np.concatenate([weights, helpers], axis=1))
    spans = [np.arange(step.start[j], step.start[j + 1]) for j in which.tolist()]
    start = np.concatenate([[0], np.cumsum([len(s) for s in spans])]).astype(np.int64)
    column = step.column[np.concatenate(spans)]
    many = np.diff(start) > 1
    batch = Batch(start, level.columns.ravel()[column], np.ones(len(column), dtype=np.int64), value, value, proof, source)
    numbers = level.record(batch)
    single = np.flatnonzero(~many)
    flat_lower, flat_upper = level.lower.ravel(), level.upper.ravel()
    flat_lower[column[start[single]]] = value[single]
    flat_upper[column[start[single]]] = value[single]
    if many.any():
        level.given = with_facts(level, [column[start[i] : start[i + 1]] for i in np.flatnonzero(many)], value[many], numbers[many])
    return True


def with_facts(level: Level, forms: Sequence[Ints], value: Ints, numbers: Ints) -> System:
    """Return the statements of a level with sums of columns of one cell each that are known now."""
    classes = level.lower.shape[1]
    middle = np.zeros((len(forms), classes))
    for i, columns in enumerate(forms):
        middle[i, columns % classes] = 1.0
    cell = np.array([int(columns[0]) // classes for columns in forms], dtype=np.int64)
    ends = value.astype(np.float64)
    facts = System(np.arange(len(forms)), cell, middle, np.zeros_like(middle), ends, ends.copy(), numbers)
    return System.joined([level.given, facts], classes)
