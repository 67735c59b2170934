"""Linear algebra with error bounds: whole numbers of rows that weighted sums determine, taken out, and again.

Weights are candidates from an orthogonal decomposition, never believed: every bound is that of `combining.implied`.
Before anything is fixed the least-squares residual is tried as a contradiction of the statements.

Source: Golub, Van Loan, "Matrix Computations", 4th edition, 2013, section 5.4 (QR with column pivoting).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Ints
from solvers.foundation.limits import Limits
from solvers.foundation.native import one_thread
from solvers.leaf_values.cells import TURN, AssumptionError, Batch, CellLevel, add_facts, behind, compact, flat
from solvers.leaf_values.combining import (
    CHUNK,
    Decomposition,
    IntegerStatements,
    centred_on,
    decomposed,
    decomposition_numbers,
    implied,
    moved_intervals,
    scale,
)

Floats = NDArray[np.float64]
NEAR = 0.5  # rows: estimated errors of candidates
HELD = 1 << 23  # weights of one step that are held
SPEED, PART = 2e10, 0.75  # operations in a second, of the memory: cells, facts and weights take the rest
GRID = 60  # binary digits of weights behind the point
ROUNDS = 20


def peel(level: CellLevel, limits: Limits) -> None:
    """Fix what weighted sums determine until nothing changes or the time is up; raises `AssumptionError`."""
    for turn in range(ROUNDS):
        if not limits.pay(TURN * level.given.middle.size):
            return
        propagate(level)
        if not level.open.any():
            return
        changed = False
        for variables in (_sums_of_cells, _single_columns):
            if limits.expired():
                return
            step = variables(level)
            if step is not None and _determine(level, step, limits):
                changed = True
                propagate(level)
        limits.report(f"leaf values: {int(level.open.any(axis=1).sum()):,} cells open after round {turn + 1}")
        if not changed:
            return


def propagate(level: CellLevel) -> None:
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
            raise AssumptionError(f"{level.names(int(given.source[i]))}: counts contradict what leaf values determine")
        top = (given.high - least)[row] + lower[at]
        bottom = (given.low - most)[row] + upper[at]
        better = (top < upper[at]) | (bottom > lower[at])
        if not better.any():
            return
        _shrink(level, row, e, k, top, bottom)


def _shrink(level: CellLevel, row: Ints, e: Ints, k: Ints, top: Floats, bottom: Floats) -> None:
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
        raise AssumptionError("counts contradict what leaf values determine")
    n, source = len(at), given.source[rows]
    first_low = np.concatenate([level.lower.ravel()[found[0][0]], lower.ravel()[found[1][0]]])  # upper ends come first
    level.lower, level.upper = lower, upper
    number, index = np.unique(source, return_inverse=True)
    weights = csr_matrix((np.ones(n), (np.arange(n), index.reshape(-1))), shape=(n, len(number)))
    ends2 = first_low, upper.ravel()[at]
    level.record(
        Batch(np.arange(n + 1), level.columns.ravel()[at], np.ones(n, dtype=np.int64), *ends2, weights, number)
    )


@dataclass(frozen=True, eq=False)
class PeelingStep:
    """Statements on whole numbers z, each of them a sum of numbers of rows: what one decomposition is made of.

    Row i is statement `rows[i]` of the level. z[j] is the sum of the columns over start[j]..start[j + 1]. Statement
    `helper[c]` says the sum of a cell one of whose columns was taken out (c of them), `taken` (rows, c) are the
    coefficients of these columns: a combination with weights w contains the helpers -w @ taken times. `known`: z is
    said by one statement.
    """

    statements: IntegerStatements
    rows: Ints
    start: Ints
    column: Ints
    helper: Ints
    taken: Any
    known: NDArray[np.bool_]


def _sums_of_cells(level: CellLevel) -> PeelingStep | None:
    """Return the statements that weigh all the open classes of a cell alike, on the open rows of cells."""
    from scipy.sparse import csr_matrix

    given, is_open = level.given, level.open
    at = is_open[given.cell]
    some = at.any(axis=1)
    first = np.argmax(at, axis=1)
    middle = given.middle[np.arange(len(at)), first]
    alike = np.where(at, given.middle == middle[:, None], True).all(axis=1)
    rows: NDArray[np.bool_] = np.ones(len(given), dtype=bool)
    rows[given.row[~alike]] = False
    said = np.bincount(given.row[some & (middle != 0)], minlength=len(given)) > 0
    rows = np.asarray(rows & said, dtype=bool)
    cells = np.flatnonzero(is_open.any(axis=1))
    known = _known_sums(level)[0][cells] >= 0
    if not rows.any() or bool((known | (is_open.sum(axis=1)[cells] == 1)).all()):
        return None
    kept = rows[given.row] & some
    number, place = compact(rows), compact(np.asarray(is_open.any(axis=1), dtype=bool))
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
    found = IntegerStatements(matrix, radius, low, high, given.source[numbers], cells, lower, upper)
    none = np.zeros(0, dtype=np.int64)
    return PeelingStep(found, numbers, start, c * is_open.shape[1] + k, none, csr_matrix((len(numbers), 0)), known)


def _single_columns(level: CellLevel) -> PeelingStep | None:
    """Return all statements on the open columns; one of each cell whose sum is known is taken out."""
    from scipy.sparse import csr_matrix

    given, is_open = level.given, level.open
    classes = is_open.shape[1]
    helper, total = _known_sums(level)
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
    low, high = moved_intervals(middle, radius * 0.0, constant, low, high)
    lower, upper = level.lower.ravel()[mine], level.upper.ravel()[mine]
    # what radii add up to over all open columns, by their upper bounds
    wide = (radius @ level.upper.ravel().astype(np.float64)) * (1 + 2.0**-40)
    low, high = np.nextafter(low - wide, -np.inf), np.nextafter(high + wide, np.inf)
    found = IntegerStatements(matrix, rounding.tocsr(), low, high, given.source[numbers], mine, lower, upper)
    coefficients = middle[:, taken]
    return PeelingStep(found, numbers, np.arange(z + 1), mine, helper[known], coefficients, np.zeros(z, dtype=bool))


def _known_sums(level: CellLevel) -> tuple[Ints, Ints]:
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


@dataclass(eq=False)
class Again:
    """A step whose decomposition is made again when somebody asks for it, once for all its forms."""

    step: PeelingStep
    used: Ints
    half: Floats

    @cached_property
    def found(self) -> Decomposition:
        """Return the decomposition."""
        return decomposed(self.step.statements, self.used, self.half)


@dataclass(frozen=True, eq=False)
class Recomputed:
    """The weights of many forms, computed again when they are asked for: rows of the forms `which` of a step."""

    again: Again
    which: Ints

    def __getitem__(self, forms: Any) -> Any:
        """Return the weights of some forms, sparse."""
        from scipy.sparse import csr_matrix

        found, step = self.again.found, self.again.step
        place = np.argsort(found.variable)
        at = place[np.searchsorted(found.variable, self.which[forms], sorter=place)]
        return csr_matrix(_with_helpers(step, _weights_of(found, self.again.used, self.again.half, at)))


def _weights_of(found: Decomposition, used: Ints, half: Floats, which: Ints) -> Floats:
    """Return (which, statements): weights as multiples of a power of two."""
    out = np.zeros((len(which), len(half)))
    out[:, used] = _grid_weights(found.weights(which) / half[used])
    return out


def _with_helpers(step: PeelingStep, weights: Floats) -> Floats:
    """Return the weights of the statements of a step and, behind them, of the sums that columns were taken out by."""
    if not len(step.helper):
        return weights
    return np.concatenate([weights, _grid_weights(np.asarray(-(weights @ step.taken)))], axis=1)


def _determine(level: CellLevel, step: PeelingStep, limits: Limits) -> bool:
    """Fix what the statements of a step determine, and return whether something was; raises `AssumptionError`."""
    given = step.statements
    used, half = scale(step.statements)
    if not len(used):
        return False
    if not affordable(len(used), len(given.lower), limits):
        return False
    limits.report(f"leaf values: {len(used):,} statements on {len(given.lower):,} numbers")
    with one_thread():
        found = decomposed(given, used, half)
        limits.charge(_work_of(len(used), len(given.lower), found.rank))
        point, residual = found.solved((given.low + given.high)[used] / 2 / half[used])
        _contradiction(level, step, used, half, residual)
        good = np.flatnonzero((found.loose < NEAR) & (found.noise < NEAR) & ~step.known[found.variable])
        at = np.zeros(len(given.lower))
        at[found.variable] = point
        near_by = np.clip(np.rint(at), given.lower, given.upper).astype(np.int64)
        near = centred_on(given, near_by)
        changed = False
        piece = max(1, CHUNK // max(given.middle.shape))
        again = Again(step, used, half) if len(good) * len(given.low) > HELD else None
        for i in range(0, len(good), piece):
            if limits.expired():
                break
            limits.report(f"leaf values: {i:,} of {len(good):,} numbers")
            some = good[i : i + piece]
            weights = _weights_of(found, used, half, some)
            changed |= _fix(level, step, near, near_by, found.variable[some], weights, again)
    return changed


def _work_of(statements: int, numbers: int, rank: int) -> float:
    """Return the work of a decomposition and its weights, where so many numbers are resolved."""
    return 5.0 * statements * numbers * rank / SPEED


def affordable(statements: int, numbers: int, limits: Limits) -> bool:
    """Return whether memory and time are enough for a decomposition and its weights."""
    fits = 8 * decomposition_numbers(statements, numbers) < PART * limits.room
    return fits and limits.affords(_work_of(statements, numbers, min(statements, numbers)))


def _grid_weights(weights: Floats) -> Floats:
    """Return weights as whole multiples of 2^-GRID, so that they are exact in proofs."""
    found: Floats = np.rint(np.ldexp(weights, GRID))
    return np.ldexp(found, -GRID)


def _contradiction(level: CellLevel, step: PeelingStep, used: Ints, half: Floats, residual: Floats) -> None:
    """Raise `AssumptionError` where the residual of least squares, as a weighted sum, leaves no numbers."""
    worst = float(np.abs(residual).max(initial=0.0))
    if worst <= 1.0:
        return
    weights = np.zeros((1, len(half)))
    weights[0, used] = residual / worst / half[used]
    low, high = implied(step.statements, np.zeros((1, len(step.statements.lower))), weights)
    if low[0] > 0 or high[0] < 0:
        i = int(step.rows[used[np.argmax(np.abs(residual))]])
        raise AssumptionError(f"{level.names(int(level.given.source[i]))} misses by {worst:.1e} times its bound")


def _fix(
    level: CellLevel,
    step: PeelingStep,
    near: IntegerStatements,
    at: Ints,
    which: Ints,
    weights: Floats,
    again: Again | None,
) -> bool:
    """Take over the bounds of z[which] that weights prove, where they are one whole number, and record the proof.

    `again`: what weights are computed from when they are asked for, where they are too many to be held.
    """
    from scipy.sparse import csr_matrix

    forms = np.zeros((len(which), len(at)))
    forms[np.arange(len(which)), which] = 1.0
    low, high = implied(near, forms, weights)
    least, most = np.ceil(low) + at[which], np.floor(high) + at[which]
    if bool((least > most).any()):
        raise AssumptionError("no whole number of rows is left for a cell")
    found = np.flatnonzero(least == most)
    if not len(found):
        return False
    value = least[found].astype(np.int64)
    which, weights = which[found], weights[found]
    given = step.statements
    if bool(((value < given.lower[which]) | (value > given.upper[which])).any()):
        raise AssumptionError("leaf values and counts contradict each other")
    source = np.concatenate([given.source, level.given.source[step.helper]])
    proof = csr_matrix(_with_helpers(step, weights)) if again is None else Recomputed(again, which)
    spans = [np.arange(step.start[j], step.start[j + 1]) for j in which.tolist()]
    start = np.concatenate([[0], np.cumsum([len(s) for s in spans])]).astype(np.int64)
    column = step.column[np.concatenate(spans)]
    batch = Batch(
        start, level.columns.ravel()[column], np.ones(len(column), dtype=np.int64), value, value, proof, source
    )
    numbers = level.record(batch)
    single = np.flatnonzero(np.diff(start) == 1)
    flat_lower, flat_upper = level.lower.ravel(), level.upper.ravel()
    flat_lower[column[start[single]]] = value[single]
    flat_upper[column[start[single]]] = value[single]
    add_facts(level, batch, numbers, column)
    return True
