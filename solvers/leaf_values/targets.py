"""Real targets of a boosted regression whose rows are known but for them: rigorous intervals, cell by cell.

A leaf's figure is one linear equation in its rows' targets: raw scores follow from features and file, so that with the
rows of every cell known only the sums of targets per cell are open. Least squares proposes them, and weights of figures
that prove intervals around them: S - x = Y (A S - A x) + (1 - Y A) (S - x), where A S is published, A x is computed in
whole numbers, and what is known of S before bounds the last term.

Gradients are rounded, which moves sums by more where targets are farther from scores. How far they can be at most is
taken from published sums of squares, from the asker (`within`), or from the equations themselves: a bound G on all
distances implies a bound α + β G, so that G <= α / (1 - β) where β < 1.

Source: docs/mathematics.md, "Boosted models"; Neumaier, "Interval methods for systems of equations", 1990, section 4.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from solvers.cells.cutting import Covering, WordLayout, pack_rows
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.errors import TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.leaf_values.combining import TINY, UNIT
from solvers.statements.boxes import Boxes
from solvers.statements.gradients.boosted import Boosted
from solvers.statements.questions.answers import Status, TargetsAnswer
from solvers.statements.questions.query import Targets
from solvers.statements.release import ANY_LABEL, Partition, Release

POINT = 90  # binary digits behind the point of scores and targets, in exact sums
ROUNDS = 6  # with the same weights, each with the intervals of the one before
BETTER = 0.5  # an interval so much narrower is worth one more round
MIN_INTERVAL_SHARE = 1e-6  # of the widest interval: what narrower ones count for in least squares
CUT = 1e-13  # of the largest singular value: what is smaller is noise
NEAR = 1e-4  # a cell whose weights leave less than this is known by its figures alone
PHASE = "targets were bounded"
NOT_SQUARED = "the target of the model is not a number (its loss is not the squared error)"
NO_ROWS = (
    "it is not known how many rows lie in every cell of all trees: give the features of everybody (--known-columns)"
)
NO_BOUND = (
    "gradients are rounded, and nothing bounds how far single targets are from their scores: "
    "say between which numbers the targets lie"
)
BROKEN = (
    "they contradict each other as those of one training by squared error on these rows: rows were weighted or drawn, "
    "training went on from another model, or the rows are others"
)


@dataclass(frozen=True, eq=False)
class OccupiedCells:
    """Cells with rows: `region` of block `block`, number of `rows`, and the leaf of every tree, (cells, trees)."""

    block: int
    region: Ints
    rows: Ints
    leaves: Ints


@dataclass(frozen=True, eq=False)
class Equations:
    """Figures on sums of targets: A S (A (m, cells) of 0 and 1) lies in low..high, up to what rounding moves.

    `low`, `high` are whole numbers over 2^POINT. The rounded gradients of figure i move its ends by `fixed[i]` and
    `part` times the distances of its rows' targets from the `scores` (cells, trees) in tree `tree[i]`.
    """

    matrix: Any
    low: list[int]
    high: list[int]
    tree: Ints
    scores: Floats
    fixed: Floats
    part: float


def targets(release: Release, query: Targets, limits: Limits) -> TargetsAnswer:
    """Return rigorous intervals for the sums of targets in every cell; see `TargetsAnswer`.

    Raises `Unsupported` where rows are not known or nothing bounds what rounding moves, `TooLarge` beyond the memory.
    Cost: least squares of figures times cells times cells, a few times; memory figures times cells times 40 bytes.
    """
    model = release.boosted[query.model]
    if model.gradients.loss != "squared_error":
        raise Unsupported(NOT_SQUARED)
    points = _known_points(release, model)
    given = _equations(model, points)
    m, n = given.matrix.shape
    if 40 * (m + n) * n > limits.room:
        raise TooLarge(f"{m:,} figures over {n:,} cells take {40 * (m + n) * n >> 20:,} MB, above the limit (--memory)")
    boxes = release.partitions[points.block].boxes
    answer = TargetsAnswer(
        "unknown",
        boxes=Boxes.of([boxes[j] for j in points.region.tolist()]),
        block=points.block,
        region=points.region,
        rows=points.rows,
        low=np.full(n, -np.inf),
        high=np.full(n, np.inf),
        surplus=m - _rank(given.matrix),
    )
    found = _target_bounds(model, points, given, query, limits)
    if found is None or found.worst > 1:
        return replace(answer, failed=BROKEN, worst=math.inf if found is None else found.worst, trail=(BROKEN,))
    status: Status = "exact" if bool((found.low == found.high).all()) else "bounds"
    return replace(answer, status=status, low=found.low, high=found.high, worst=found.worst)


def _known_points(release: Release, model: Boosted) -> OccupiedCells:
    """Return the cells of a block that has an exact number of rows for every region, each in one leaf of every tree."""
    layout = WordLayout(release.domain)
    reason = NO_ROWS
    for b in reversed([b for b in release.partitions if b not in model.blocks]):
        block = release.partitions[b]
        if (block.low != block.high).any() or not _one_each(block):
            continue
        at = np.flatnonzero(block.low > 0)
        region = block.region[at].astype(np.int64)
        words = layout.rows(Boxes.of([block.boxes[j] for j in region.tolist()]))
        leaves = np.zeros((len(at), len(model.trees)), dtype=np.int64)
        for t, tree in enumerate(model.trees):
            covering = Covering(layout, release.partitions[tree.block].boxes)
            alive = np.repeat(pack_rows(np.ones((1, len(tree.step)), dtype=bool)), len(at), axis=0)
            piece, leaf = covering.meet(words, alive)
            if len(piece) != len(at):
                break
            leaves[piece, t] = leaf
        else:
            return OccupiedCells(b, region, block.low[at].astype(np.int64), leaves)
        reason = f"{block.kind}: its regions are not inside single leaves of every tree"
    raise Unsupported(reason)


def _one_each(block: Partition) -> bool:
    """Return whether every region has one statement, for any label."""
    return bool((block.label == ANY_LABEL).all()) and len(set(block.region.tolist())) == len(block.region)


def _scores_of(model: Boosted, leaves: Ints) -> Floats:
    """Return the raw scores (points, trees) that the gradients of every tree follow from, bit for bit."""
    sums = np.full(len(leaves), model.base[0])
    before = np.full(len(leaves), model.start[0])
    out, last = np.zeros(leaves.shape), 0
    for t, tree in enumerate(model.trees):
        if tree.round != last:
            before, last = sums.copy(), tree.round
        out[:, t] = before
        total = sums + tree.step[leaves[:, t]]
        sums = total.astype(np.float32).astype(np.float64) if model.gradients.scores == "float32" else total
    return out


def fixed_point(values: Floats) -> list[int]:
    """Return doubles times 2^POINT without what is behind the point, which is less than 1."""
    return [int(v) for v in np.ldexp(values, POINT).tolist()]


def _equations(model: Boosted, points: OccupiedCells) -> Equations:
    """Return the figures that are linear in the targets as equations on sums of targets by cell."""
    from scipy.sparse import csr_array

    law = model.gradients
    scores = _scores_of(model, points.leaves)
    rows, columns, low, high, trees, fixed = [], [], [], [], [], []
    noise = law.relative + law.absolute
    for t, tree in enumerate(model.trees):
        error = law.start_error if tree.round == 0 else law.score_error
        weighed = [n * f for n, f in zip(points.rows.tolist(), fixed_point(scores[:, t]), strict=True)]
        for i in range(len(tree)):
            if tree.square[i] or not tree.gradient[i]:
                continue
            at = np.flatnonzero(np.isin(points.leaves[:, t], tree.members(i)))
            n = int(points.rows[at].sum())
            a, b = Fraction(tree.gradient[i]), Fraction(tree.hessian[i])
            total = sum(weighed[j] for j in at.tolist())
            ends = sorted((b * n - Fraction(end)) / a for end in (tree.low[i], tree.high[i]))
            low.append(total + math.floor(ends[0] * 2**POINT) - n)
            high.append(total + math.ceil(ends[1] * 2**POINT) + n)
            rows.append(np.full(len(at), len(low) - 1))
            columns.append(at)
            trees.append(t)
            fixed.append(n * (error + law.absolute * 2 + noise * abs(float(b / a))) * (1 + 2.0**-40))
    if not low:
        raise Unsupported("no figure of the model is linear in the targets")
    row, column = np.concatenate(rows), np.concatenate(columns)
    matrix = csr_array((np.ones(len(row)), (row, column)), shape=(len(low), len(points.rows)))
    part = (law.relative + (2.0**-53 if law.rounded == "float64" else 2.0**-24)) * (1 + 2.0**-20)
    return Equations(matrix, low, high, np.array(trees, dtype=np.int64), scores, np.array(fixed), part)


def _rank(matrix: Any) -> int:
    """Return the rank of a matrix of 0 and 1, as far as doubles tell."""
    values = np.linalg.eigvalsh((matrix.T @ matrix).toarray())
    return int((values > 1e-9 * max(1.0, float(values.max(initial=0.0)))).sum())


@dataclass(frozen=True, eq=False)
class TargetSumBounds:
    """Bounds (cells,) on sums of targets; `worst`: see `TargetsAnswer`."""

    low: Floats
    high: Floats
    worst: float


def _target_bounds(
    model: Boosted, points: OccupiedCells, given: Equations, query: Targets, limits: Limits
) -> TargetSumBounds | None:
    """Return bounds on the sums of targets, None where they contradict each other; `Unsupported` without a start.

    Bounds on single targets are narrowed with the sums where a cell is one person, and with them what rounding moves.
    """
    n, alone = points.rows.astype(np.float64), points.rows == 1
    single = _by_squares(model, points, given)
    if query.within is not None:
        single = np.maximum(single[0], query.within[0]), np.minimum(single[1], query.within[1])
    if not (np.isfinite(single[0]).all() and np.isfinite(single[1]).all()):
        implied = _contracted(given, limits) if alone.all() else None
        if implied is None:
            raise Unsupported(NO_BOUND)
        single = implied
    least, most = _inwards(*single) if query.whole else single
    low, high = np.nextafter(n * least, -np.inf), np.nextafter(n * most, np.inf)
    fit: WeightedTargets | None = None
    for _ in range(ROUNDS):
        limits.check(PHASE)
        if (low > high).any():
            return None
        before = high - low
        low, high, fit = _narrowed(given, low, high, _gradient_shifts(given, n, least, most), fit)
        low, high = _inwards(low, high) if query.whole else (low, high)
        least, most = np.where(alone, np.maximum(least, low), least), np.where(alone, np.minimum(most, high), most)
        if fit.worst > 1 or not (high - low < BETTER * before).any():
            break
    assert fit is not None
    return None if (low > high).any() else TargetSumBounds(low, high, fit.worst)


def _inwards(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the least and greatest whole numbers in intervals."""
    return np.ceil(low), np.floor(high)


def _by_squares(model: Boosted, points: OccupiedCells, given: Equations) -> tuple[Floats, Floats]:
    """Return bounds on the target of every row in a cell from published sums of squares; infinite without.

    q Σg² + a Σg <= e is Σ (g + a / 2q)² <= e / q + n (a / 2q)², so that no g is farther from -a / 2q than the root.
    """
    law = model.gradients
    low, high = np.full(len(points.rows), -np.inf), np.full(len(points.rows), np.inf)
    for t, tree in enumerate(model.trees):
        error = law.start_error if tree.round == 0 else law.score_error
        for i in np.flatnonzero(tree.square > 0).tolist():
            at = np.flatnonzero(np.isin(points.leaves[:, t], tree.members(i)))
            n = int(points.rows[at].sum())
            a, b, q = (Fraction(v[i]) for v in (tree.gradient, tree.hessian, tree.square))
            off = a / (2 * q)
            square = (Fraction(tree.high[i]) - b * n + 2 * abs(b) * n * Fraction(law.relative + law.absolute)) / q
            root = math.sqrt(max(0.0, float(square + n * off * off))) * (1 + 2.0**-50)
            middle = float(off)  # y = F - g
            room = (root + abs(middle) * 2.0**-50) * (1 + 2 * given.part) + abs(middle) * 2 * given.part
            room += 2 * law.absolute + error + np.abs(given.scores[at, t]) * 2.0**-50 + TINY
            low[at] = np.maximum(low[at], given.scores[at, t] + middle - room)
            high[at] = np.minimum(high[at], given.scores[at, t] + middle + room)
    return low, high


def _contracted(given: Equations, limits: Limits) -> tuple[Floats, Floats] | None:
    """Return bounds on targets that the equations imply whatever they are, one row per cell; None without."""
    n = np.ones(given.matrix.shape[1])
    x = given.scores[:, 0].copy()
    for last in (False, True):
        limits.check(PHASE)
        middle, half = _residuals(given, x)
        half = half + _gradient_shifts(given, n, x, x)
        if (weights := least_squares(given.matrix, half, None)) is None:
            return None
        if last:
            exact = _exactly(given.matrix, weights)
            shift, far = _implied_by(exact, middle, half)
            size = np.abs(exact.most) + np.abs(exact.little)
            grows = (exact.rest.sum(axis=1) + size @ (given.part * given.matrix.sum(axis=1))) * (1 + 2.0**-30)
            if not grows.max() < 1:
                return None
            reach = float((((np.abs(shift) + far) / (1 - grows)).max()) * (1 + 2.0**-40))
            return np.nextafter(x - reach, -np.inf), np.nextafter(x + reach, np.inf)
        x = _on_grid(x + weights @ middle)
    return None


def _narrowed(
    given: Equations, low: Floats, high: Floats, moves: Floats, fit: WeightedTargets | None = None
) -> tuple[Floats, Floats, WeightedTargets]:
    """Return narrower bounds on sums of targets from finite ones; with the fit of an earlier round, or a new one."""
    fit = fit or _fitted(given, low, high, moves)
    middle, half = _residuals(given, fit.x)
    shift, far = _implied_by(fit.weights, middle, half + moves)
    before = np.maximum(high - fit.x, fit.x - low) * (1 + 2.0**-50)
    room = (far + fit.weights.rest @ before) * (1 + 2.0**-40) + (np.abs(fit.x) + np.abs(shift)) * 2.0**-51 + TINY
    return np.maximum(low, fit.x + shift - room), np.minimum(high, fit.x + shift + room), fit


@dataclass(frozen=True, eq=False)
class WeightedTargets:
    """The best sums of targets `x` (cells,), the weights behind them, and `worst`; see `TargetsAnswer`."""

    x: Floats
    weights: FigureWeights
    worst: float


def _fitted(given: Equations, low: Floats, high: Floats, moves: Floats) -> WeightedTargets:
    """Return the sums of targets that use least of the figures' intervals and of finite bounds, by least squares."""
    start = _on_grid(low + (high - low) / 2)
    middle, half = _residuals(given, start)
    half = half + moves
    room = (high - low) / 2
    room = np.maximum(room, MIN_INTERVAL_SHARE * max(1.0, float(room.max(initial=0.0))))
    weights = least_squares(given.matrix, half, room)
    assert weights is not None
    x = _on_grid(start + weights @ middle)
    middle, _ = _residuals(given, x)
    used = np.concatenate([middle / half, (x - start) / room])
    off = np.abs(x) * 2.0**-48 + 2.0 ** (1 - POINT // 2)  # of doubles, and of the grid
    blur = np.concatenate([given.matrix @ off / half, off / room])
    worst = float(np.linalg.norm(used) / (np.sqrt(len(used)) * 1.001 + np.linalg.norm(blur)))
    return WeightedTargets(x, _exactly(given.matrix, weights), worst)


def _gradient_shifts(given: Equations, n: Floats, least: Floats, most: Floats) -> Floats:
    """Return by how much rounded gradients may move every figure where targets of a cell lie in least..most."""
    distance = np.maximum(np.abs(given.scores - least[:, None]), np.abs(given.scores - most[:, None])) * n[:, None]
    row = np.repeat(np.arange(given.matrix.shape[0]), np.diff(given.matrix.indptr))
    total = np.bincount(row, distance[given.matrix.indices, given.tree[row]], minlength=given.matrix.shape[0])
    return (given.fixed + given.part * total) * (1 + 2.0**-30)


def _on_grid(x: Floats) -> Floats:
    """Return doubles that `whole` keeps exactly."""
    return np.ldexp(np.rint(np.ldexp(x, POINT // 2)), -(POINT // 2))


def _residuals(given: Equations, x: Floats) -> tuple[Floats, Floats]:
    """Return the middles and, rounded up, the half widths of the figures' intervals behind sums of targets x."""
    values, starts = fixed_point(x), given.matrix.indptr.tolist()
    columns = given.matrix.indices.tolist()
    middle, half = np.zeros(len(given.low)), np.zeros(len(given.low))
    for i, (low, high) in enumerate(zip(given.low, given.high, strict=True)):
        at = sum(values[j] for j in columns[starts[i] : starts[i + 1]])
        middle[i] = math.ldexp(float(low + high - 2 * at), -POINT - 1)
        half[i] = math.ldexp(float(high - low), -POINT - 1)
    return middle, half * (1 + 2.0**-50) + np.abs(middle) * 2.0**-52 + TINY


def least_squares(matrix: Any, half: Floats, room: Floats | None) -> Floats | None:
    """Return weights (cells, figures) that solve A S = b by least squares in units of `half`, of S in units of `room`.

    Directions that doubles do not tell from those of which no figure speaks are left as they are. None where nothing is
    said of `room` and there are such.
    """
    scale = np.ones(matrix.shape[1]) if room is None else room
    q, r = np.linalg.qr(matrix.toarray() * scale / half[:, None])
    u, s, v = np.linalg.svd(r)
    known = s > CUT * s.max(initial=0.0)
    if room is None and (len(s) < len(scale) or not known.all()):
        return None
    inner = np.where(known, s / (s * s + (room is not None)), 0.0)
    solved: Floats = ((v[: len(s)].T * inner) @ (q @ u).T) * scale[:, None] / half
    return solved


@dataclass(frozen=True, eq=False)
class FigureWeights:
    """Weights of figures `most` + `little` (cells, figures), and bounds `rest` (cells, cells) on |1 - weights A|.

    Both are whole numbers over powers of two that are large enough for sums over a cell's figures to be exact: A is of
    0 and 1. So `rest` has no more than one rounding.
    """

    most: Floats
    little: Floats
    rest: Floats


def _exactly(matrix: Any, solved: Floats) -> FigureWeights:
    """Return weights near those that were solved for, with a smaller rest where it should be none (Newton's step)."""
    across = matrix.T.tocsr()
    total = float((across @ np.abs(solved).T).max(initial=1.0))
    digits = 50 - math.ceil(math.log2(total + 1))
    finer = digits + 51 - math.ceil(math.log2(len(solved.T) + 1))
    most = np.ldexp(np.rint(np.ldexp(solved, digits)), -digits)
    little, first = solved - most, np.eye(len(solved)) - (across @ most.T).T
    rest = first
    for _ in range(3):
        little = np.ldexp(np.rint(np.ldexp(little, finer)), -finer)
        little = np.where(np.abs(little) <= 2.0**-digits, little, 0.0)
        rest = first - (across @ little.T).T
        better = np.abs(rest).max(axis=1) < NEAR
        little = little + np.where(better[:, None], rest, 0.0) @ solved
    little = np.ldexp(np.rint(np.ldexp(little, finer)), -finer)
    little = np.where(np.abs(little) <= 2.0**-digits, little, 0.0)
    rest = first - (across @ little.T).T
    return FigureWeights(most, little, np.abs(rest) * (1 + 2.0**-50) + TINY)


def _implied_by(weights: FigureWeights, middle: Floats, half: Floats) -> tuple[Floats, Floats]:
    """Return what weights of figures imply of S - x beside their rest: `shift` ± `far`, rounded up."""
    size = np.abs(weights.most) + np.abs(weights.little)
    slack = 2 * (len(half) + 4) * UNIT
    shift = weights.most @ middle + weights.little @ middle
    return shift, (size @ half + slack * (size @ np.abs(middle))) * (1 + slack) + TINY
