"""Guards of leaf values, one by one: each test fails where the term or the check that it is about is left out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from test_leaf_values import case

from solvers.engines.chain import strengthened
from solvers.foundation.limits import Limits
from solvers.leaf_values import peeling, settling
from solvers.leaf_values.cells import AssumptionError, CellLevel, ColumnSystem, first_cells, with_trees
from solvers.leaf_values.combining import IntegerStatements, implied, moved_intervals
from solvers.leaf_values.settling import Strengthening, strengthened_counts
from solvers.statements.release import ANY_LABEL, Release


def dot(a: np.ndarray, b: np.ndarray) -> Fraction:
    """Return the exact inner product."""
    return sum((Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a, b, strict=True)), Fraction(0))


def test_the_rounding_of_weighted_sums_is_counted() -> None:
    rng = np.random.default_rng(0)
    m = 400
    none = np.zeros(m, dtype=np.int64)
    for _ in range(30):
        ends, weights = rng.normal(size=m) * 1e6, rng.normal(size=(1, m))
        empty = csr_matrix((m, 1))
        given = IntegerStatements(empty, empty, ends, ends, none, none[:1], none[:1], none[:1])
        low, high = implied(given, np.zeros((1, 1)), weights)
        assert Fraction(float(low[0])) <= dot(ends, weights[0]) <= Fraction(float(high[0]))


@pytest.mark.parametrize("radius", [0.0, 1e-9])
def test_what_is_moved_behind_known_numbers_stays_inside(radius: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        a, at = rng.normal(size=50), rng.integers(0, 10**6, 50)
        value = dot(a, at)
        end = np.array([float(value)])
        wide = csr_matrix(np.full((1, 50), radius))
        low, high = moved_intervals(csr_matrix(a[None]), wide, at, end, end)
        for sign in (-1, 0, 1):  # every matrix within the radius
            left = Fraction(float(end[0])) - value - sign * Fraction(radius) * int(at.sum())
            assert Fraction(float(low[0])) <= left <= Fraction(float(high[0]))


def one_moved(release: Release, tree: int, figure: int, by: float = 1e-5) -> Release:
    """Return a release with one figure moved by far more than its width."""
    model = release.boosted[0]
    changed = model.trees[tree]
    move = np.zeros(len(changed))
    move[figure] = by
    changed = replace(changed, low=changed.low + move, high=changed.high + move)
    trees = tuple(changed if t == tree else one for t, one in enumerate(model.trees))
    return replace(release, boosted=(replace(model, trees=trees),))


def test_a_figure_that_proofs_do_not_feel_is_noticed_when_all_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    release = case("hist", 5, 300, 20, max_depth=3)[0].statements
    spoiled = one_moved(release, 19, 1, 1e-12)
    assert "tree 19" in strengthened_counts(spoiled, 0, Limits(20)).failed
    monkeypatch.setattr(settling, "evaluated", lambda *_: [(np.zeros(0), np.zeros(0, dtype=bool))])
    assert not strengthened_counts(spoiled, 0, Limits(20)).failed  # so that it is the evaluation which notices


def test_a_contradiction_is_noticed_before_anything_is_fixed() -> None:
    release = case("hist", 5, 300, 20, max_depth=3)[0].statements
    for change, fails in ((0.0, False), (1e-5, True)):
        level = first_level(one_moved(release, 19, 1, change))
        step = peeling._single_columns(level)
        assert step is not None
        if not fails:
            assert peeling._determine(level, step, Limits(20))
            continue
        with pytest.raises(AssumptionError, match="misses by"):
            peeling._determine(level, step, Limits(20))


def first_level(release: Release) -> CellLevel:
    """Return the cells of all trees with what is said of them, before anything is worked out."""
    work = Strengthening(release, 0, Limits(20))
    cells = first_cells(release, work.base, work.most)
    cells, _ = with_trees(release, work.boosted, cells, len(work.boosted.trees), work.most)
    shape = (len(cells), len(work.boosted.labels))
    low, high = np.zeros(shape, dtype=np.int64), np.full(shape, release.rows.high or 0, dtype=np.int64)
    return work.level(cells, low, high, ColumnSystem.joined([], shape[1]), len(work.index) + len(work.boosted))


def test_single_columns_leave_room_for_every_coefficient_in_its_radius() -> None:
    level = first_level(case("hist", 2, 120, 6, max_depth=2)[0].statements)
    given = level.given
    radius = np.abs(given.middle) * 1e-3 * (given.middle != 1)  # counts stay exact
    numbers = np.random.default_rng(3).integers(0, 5, level.lower.shape)
    for sign in (-1, 1):
        each = ((given.middle + sign * radius) * numbers[given.cell]).sum(axis=1)
        value = np.bincount(given.row, each, minlength=len(given))
        room = 1e-9 * (1 + np.abs(value))
        level.given = replace(given, radius=radius, low=value - room, high=value + room)
        step = peeling._single_columns(level)
        assert step is not None
        z = np.array(
            [numbers.ravel()[step.column[a:b]].sum() for a, b in zip(step.start, step.start[1:], strict=False)]
        )
        total = step.statements.middle @ z
        assert (step.statements.low <= total).all()
        assert (total <= step.statements.high).all()


@pytest.mark.slow
def test_classes_of_a_first_tree_are_dropped_with_the_leaf_values_that_they_follow_from() -> None:
    release = case("hist", 5, 300, 20, max_depth=3)[0].statements
    before = release.blocks[0]
    assert (before.label != ANY_LABEL).all()
    found = strengthened(one_moved(release, 7, 1), Limits(20))
    block = found.blocks[0]
    assert (block.label == ANY_LABEL).all()
    assert block.low.tolist() == np.bincount(before.region, before.low).tolist()
    assert "not used" in found.loosened[-1]
