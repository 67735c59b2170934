"""Targets of boosted regressions: the truth is never excluded, and bounds are no narrower than what figures say."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from solvers.engines.chain import answer
from solvers.foundation.errors import Inconclusive, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.leaf_values import targets as room
from solvers.statements.boxes import Attribute, Box, Boxes, RowSpace
from solvers.statements.gradients.boosted import Boosted, BoostedTree, Gradients
from solvers.statements.questions.query import Targets
from solvers.statements.release import ANY_LABEL, Partition, Release, RowCount

PARTS = 6
PRECISION = {"float64": np.float64, "float32": np.float32}


def trained(rng, y, x, trees, rounded="float64", square=True, weights=None, depth=2):
    """Return a boosted model of targets y at parts x (rows, 2), and the blocks of its trees."""
    kind = PRECISION[rounded]
    weights = np.ones(len(y)) if weights is None else weights
    start = float(np.mean(y))
    score = np.full(len(y), start)
    blocks, out = [], []
    for t in range(trees):
        boxes = grown(rng, x, [(1 << PARTS) - 1] * 2, depth)
        leaf = np.array([[all(m >> p & 1 for m, p in zip(b, r, strict=True)) for b in boxes].index(True) for r in x])
        g = (score - y).astype(kind).astype(np.float64)
        figures = []
        step = np.zeros(len(boxes))
        for j in range(len(boxes)):
            at = leaf == j
            value = float(np.sum((g * weights)[at]) / weights[at].sum())
            room = 2.0**-50 * at.sum() * float(np.abs(g[at]).sum())
            figures.append(([j], 1.0, -value, 0.0, -room, room))
            step[j] = -0.3 * value
        if square:
            total = float((g * g).sum())
            figures.append((list(range(len(boxes))), 0.0, 0.0, 1.0, total * (1 - 1e-12), total * (1 + 1e-12)))
        start_at = np.cumsum([0, *(len(f[0]) for f in figures)])
        members = np.concatenate([f[0] for f in figures]).astype(np.int32)
        numbers = (np.array([f[k] for f in figures]) for k in range(1, 6))
        names = tuple(f"tree {t}, figure {i}" for i in range(len(figures)))
        out.append(BoostedTree(t, t, 0, step, start_at, members, *numbers, names))
        counts = np.bincount(leaf, minlength=len(boxes))
        blocks.append(partition("tree", [Box(tuple(enumerate(b))) for b in boxes], counts, False))
        score = score + step[leaf]
    return Boosted("model", Gradients("squared_error", rounded=rounded), (start,), (start,), (), tuple(out)), blocks


def grown(rng, x, box, depth):
    """Return the leaves of a random tree as masks per attribute; each has a row."""
    k = int(rng.integers(2))
    have = x[[all(m >> p & 1 for m, p in zip(box, r, strict=True)) for r in x], k]
    if depth == 0 or len(set(have.tolist())) < 2:
        return [box]
    at = int(rng.choice(sorted(set(have.tolist()))[1:]))
    sides = []
    for mask in (box[k] & ((1 << at) - 1), box[k] & ~((1 << at) - 1)):
        sides += grown(rng, x, [mask if i == k else m for i, m in enumerate(box)], depth - 1)
    return sides


def partition(kind, boxes, counts, first_match):
    k = len(boxes)
    label, counts = np.full(k, ANY_LABEL, dtype=np.int32), np.array(counts, dtype=np.int64)
    names = tuple(map(str, range(k)))
    return Partition(kind, Boxes.of(boxes), first_match, np.arange(k, dtype=np.int32), label, counts, counts, names)


def released(model, blocks, x):
    """Return the release with the rows' features known, and the cell of every row."""
    found, cell, counts = np.unique(x, axis=0, return_inverse=True, return_counts=True)
    boxes = [Box(tuple((k, 1 << int(p)) for k, p in enumerate(row))) for row in found]
    known = partition("known rows", [*boxes, Box()], [*counts, 0], True)
    domain = RowSpace(tuple(Attribute(name, (1,) * PARTS) for name in "ab"))
    return Release(domain, RowCount(len(x), len(x)), (*blocks, known), boosted=(model,)), cell.reshape(-1)


def case(seed, rows=12, trees=8, alone=False, **options):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, PARTS, (rows, 2))
    if alone:
        x = np.array([divmod(int(p), PARTS) for p in rng.choice(PARTS * PARTS, rows, replace=False)])
    y = np.round(rng.normal(150, 70, rows)) if options.pop("whole", False) else rng.normal(150, 70, rows)
    model, blocks = trained(rng, y, x, trees, **options)
    release, cell = released(model, blocks, x)
    return release, np.bincount(cell, y), y


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("rounded", ["float64", "float32"])
def test_the_truth_is_never_excluded(rounded):
    """A hundred models, rows that share cells, gradients rounded to single precision or not."""
    narrow = 0
    for seed in range(100):
        release, sums, _ = case(seed, rows=4 + seed % 20, trees=1 + seed % 12, rounded=rounded, depth=1 + seed % 4)
        found = answer(release, Targets())
        assert found.failed == ""
        assert found.worst <= 1
        assert (found.low <= sums).all()
        assert (sums <= found.high).all()
        assert found.rows.sum() == release.rows.low
        narrow += int((found.high - found.low < (1e-9 if rounded == "float64" else 1e-2)).sum())
    assert narrow > 150


@pytest.mark.slow
def test_single_people_without_sums_of_squares():
    """What rounding moves is bounded by the equations themselves where they determine everybody."""
    decided = 0
    for seed in range(40):
        release, sums, _ = case(seed, rows=8, trees=25, alone=True, rounded="float32", square=False, depth=3)
        try:
            found = answer(release, Targets())
        except Unsupported:
            continue
        decided += 1
        assert ((found.low <= sums) & (sums <= found.high)).all()
        assert (found.high - found.low < 0.1).all()
    assert decided > 10


@pytest.mark.slow
def test_bounds_hold_all_that_the_figures_allow():
    """Linear programs over the figures (gradients hardly rounded) reach no target outside the bounds, and come near."""
    met = 0
    for seed in range(25):
        release, sums, _ = case(seed, rows=7, trees=4)
        model = release.boosted[0]
        found = answer(release, Targets(within=(-1000.0, 1000.0)))
        points = room._known_points(release, model)
        given = room._equations(model, points)
        middle, half = room._residuals(given, room._on_grid(sums))
        matrix = given.matrix.toarray()
        scale = np.maximum(half, 1e-7)
        ends = np.concatenate([(middle + scale) / scale, (scale - middle) / scale])
        rows = np.vstack([matrix, -matrix]) / np.tile(scale, 2)[:, None]
        box = [(-1000.0 * n - s, 1000.0 * n - s) for n, s in zip(points.rows.tolist(), sums.tolist(), strict=True)]
        for c in range(len(sums)):
            for side in (1, -1):
                goal = side * np.eye(len(sums))[c]
                far = linprog(-goal, rows, ends, bounds=box, method="highs")
                assert far.status == 0
                reached = sums[c] + side * -far.fun
                if -far.fun > 1e-3:  # not determined: the figures leave room, and so must the bounds, but for squares
                    assert found.high[c] - found.low[c] > 1e-3
                else:
                    met += int(found.high[c] - found.low[c] < 1e-3)
                    assert found.low[c] - 1e-3 <= reached <= found.high[c] + 1e-3
    assert met > 50


def test_whole_targets_are_exact():
    release, sums, _ = case(3, rows=8, trees=30, alone=True, rounded="float32", whole=True, depth=4)
    found = answer(release, Targets(whole=True))
    assert found.status == "exact"
    assert found.low.tolist() == found.high.tolist() == sums.tolist()
    assert answer(release, Targets()).status == "bounds"


def test_what_the_asker_knows_bounds_what_is_open():
    """Without squares, and one tree: the range that is given, and what the leaf's mean makes of it."""
    release, sums, y = case(1, rows=6, trees=1, square=False, depth=1)
    with pytest.raises(Unsupported, match="between which numbers"):
        answer(release, Targets())
    found = answer(release, Targets(within=(float(y.min()), float(y.max()))))
    assert (found.low >= found.rows * y.min() - 1e-9).all()
    assert ((found.low <= sums) & (sums <= found.high)).all()
    assert (found.high - found.low < found.rows * (y.max() - y.min())).any()
    wrong = answer(release, Targets(within=(float(y.max()) + 1.0, float(y.max()) + 2.0)))
    assert wrong.status == "unknown"
    assert wrong.failed


@pytest.mark.slow
def test_hidden_weights_are_a_contradiction():
    """Weights break the figures left over: nothing is said of anybody, and why."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        weights = rng.integers(1, 3, 10).astype(np.float64)
        weights[:2] = 1, 2
        release, _, _ = case(seed, rows=10, trees=20, alone=True, weights=weights, depth=3)
        found = answer(release, Targets())
        assert found.status == "unknown"
        assert "weighted" in found.failed
        assert found.worst > 1
        assert np.isinf(found.low).all()
        assert np.isinf(found.high).all()


def test_scores_that_are_not_known_to_the_last_bit_widen_the_bounds():
    release, sums, _ = case(3, rows=8, trees=30, alone=True, depth=4)
    model = release.boosted[0]
    law = replace(model.gradients, score_error=1e-4, start_error=1e-3)
    wide = answer(replace(release, boosted=(replace(model, gradients=law),)), Targets())
    found = answer(release, Targets())
    assert ((wide.low <= sums) & (sums <= wide.high)).all()
    assert ((wide.high - wide.low) > 100 * (found.high - found.low)).all()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("lie", [0.0, 1e-6, 0.3])
def test_least_squares_that_lie_prove_nothing_wrong(monkeypatch, lie):
    """Weights are proposals: whatever they are, the bounds hold the truth."""
    solve = room.least_squares
    rng = np.random.default_rng(0)

    def lying(matrix, half, width):
        found = solve(matrix, half, width)
        if found is None or lie == 0.0:
            return None if found is None else np.zeros_like(found)
        return found + lie * rng.normal(size=found.shape)

    monkeypatch.setattr(room, "least_squares", lying)
    for seed in range(15):
        release, sums, _ = case(seed, rows=8, trees=12, alone=seed % 2 == 0)
        model = release.boosted[0]
        points = room._known_points(release, model)
        given = room._equations(model, points)
        n = points.rows.astype(np.float64)
        least, most = room._by_squares(model, points, given)
        low, high, _ = room._narrowed(given, n * least, n * most, room._gradient_shifts(given, n, least, most))
        assert ((low <= sums) & (sums <= high)).all()


def test_weights_of_sums_are_exact():
    """What weights leave of a cell is bounded with one rounding: checked against fractions of two doubles."""
    release, _, _ = case(2, rows=9, trees=15)
    given = room._equations(release.boosted[0], room._known_points(release, release.boosted[0]))
    m, n = given.matrix.shape
    dense = given.matrix.toarray()
    for solved in (np.random.default_rng(0).normal(size=(n, m)), np.linalg.pinv(dense)):
        found = room._exactly(given.matrix, solved)
        for c in range(n):
            y = [
                Fraction(a) + Fraction(b) for a, b in zip(found.most[c].tolist(), found.little[c].tolist(), strict=True)
            ]
            for j in range(n):
                left = int(c == j) - sum(w for w, a in zip(y, dense[:, j], strict=True) if a)
                assert abs(left) <= found.rest[c, j]
    known = np.linalg.matrix_rank(dense)
    assert known < n or found.rest.max() < 1e-20


def test_refusals():
    release, _, _ = case(0)
    with pytest.raises(Unsupported, match="known-columns"):
        answer(replace(release, blocks=release.blocks[:-1]), Targets())
    with pytest.raises(Unsupported, match="no leaf values"):
        answer(replace(release, boosted=()), Targets())
    model = release.boosted[0]
    other = replace(model, gradients=Gradients("log_loss"), labels=(0, 1))
    with pytest.raises(Unsupported, match="squared error"):
        answer(replace(release, boosted=(other,)), Targets())
    coarse = replace(release.blocks[-1], boxes=Boxes.of([Box()] * len(release.blocks[-1].boxes)))
    with pytest.raises(Unsupported, match="inside single leaves"):
        answer(replace(release, blocks=(*release.blocks[:-1], coarse)), Targets())
    with pytest.raises(Inconclusive):  # `TooLarge` is a limit
        answer(release, Targets(), Limits(memory=100))
    with pytest.raises(TooLarge, match="memory"):
        room.targets(release, Targets(), Limits(memory=100))
    with pytest.raises(Inconclusive):
        answer(release, Targets(), Limits(seconds=0.0))
