"""Leaf values: the truth is never excluded, proofs replay, spoiled training is noticed, and every guard is needed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from boosted_cases import fit_gb, fit_hist, release_of
from scipy.sparse import csr_matrix

from encoders.domain.domain import Domain
from encoders.encode.encoder import EncodedRelease
from recon.readers.frames.world import TrueRows
from solvers.foundation.errors import TooLarge
from solvers.foundation.limits import Limits
from solvers.kernel.cells import NumberedStatements
from solvers.kernel.claims import Form, LeafValues, Refined, RegionProof
from solvers.kernel.leaf_values.replay import replayed
from solvers.leaf_values import cells, combining, peeling, settling
from solvers.leaf_values.combining import IntegerStatements, centred_on, implied
from solvers.leaf_values.settling import strengthened_counts
from solvers.statements.questions.answers import StrengthenedAnswer

FITS = {"hist": fit_hist, "gb": fit_gb}
TREES = {"hist": "max_iter", "gb": "n_estimators"}


def people(seed: int, rows: int, bits: int = 5) -> tuple[pd.DataFrame, Domain]:
    """Return rows over some bits, label last, and the domain of all of them."""
    rng = np.random.default_rng(seed)
    names = [f"b{i}" for i in range(bits)]
    every = np.array(np.meshgrid(*[[0, 1]] * (bits + 1))).reshape(bits + 1, -1).T
    domain = Domain.from_frame(pd.DataFrame(every, columns=[*names, "y"]), label="y")
    x = rng.random((rows, bits)) < rng.random(bits)
    y = rng.random(rows) < 1 / (1 + np.exp(-(x @ rng.normal(size=bits) * 2 - 0.5)))
    y[:2] = [True, False]
    return pd.DataFrame(np.column_stack([x, y]).astype(int), columns=[*names, "y"]), domain


def case(kind: str, seed: int, rows: int, trees: int, **options: Any) -> tuple[EncodedRelease, pd.DataFrame]:
    """Return a release of a model and the rows that it was fitted on."""
    frame, domain = people(seed, rows)
    return release_of(FITS[kind](frame, **{TREES[kind]: trees, **options}), domain), frame


def truth(release: EncodedRelease, frame: pd.DataFrame, found: StrengthenedAnswer) -> tuple[Any, int]:
    """Return the true rows per cell and label, and how many are in no cell."""
    assert found.boxes is not None
    rows, domain = TrueRows.of(release, frame), release.statements.domain
    assert domain.label is not None
    cell = rows.regions(found.boxes)
    label = rows.parts[domain.label].argmax(axis=1)[rows.codes[:, domain.label]]
    times = np.zeros(found.low.shape, dtype=np.int64)
    np.add.at(times, (cell[cell >= 0], label[cell >= 0]), rows.times[cell >= 0])
    return times, int(rows.times[cell < 0].sum())


def is_true(release: EncodedRelease, frame: pd.DataFrame, found: StrengthenedAnswer) -> bool:
    """Return whether the true rows are within the bounds."""
    times, outside = truth(release, frame, found)
    return outside == 0 and bool(((found.low <= times) & (times <= found.high)).all())


@pytest.mark.slow
@pytest.mark.parametrize("kind", FITS)
def test_the_truth_is_never_excluded_and_the_proof_replays(kind: str) -> None:
    exact = 0
    for seed in range(8):
        rows, trees = 60 + 37 * seed, 2 + 2 * seed
        release, frame = case(kind, seed, rows, trees, max_depth=2 + seed % 2)
        found = strengthened_counts(release.statements, 0, Limits(20))
        assert not found.failed
        assert is_true(release, frame, found)
        assert (found.status == "exact") == bool((found.low == found.high).all())
        assert found.worst <= 1.0
        exact += found.status == "exact"
        out = replayed(
            NumberedStatements(release.statements), LeafValues(0, tuple(found.steps), RegionProof(())), Limits(20)
        )
        low, high = out.lower.reshape(-1, out.labels), out.upper.reshape(-1, out.labels)
        alive = (high > 0).any(axis=1)
        assert np.array_equal(low[alive], found.low)
        assert np.array_equal(high[alive], found.high)
    assert exact >= 4


@pytest.mark.slow
def test_many_trees_leave_nothing_open_and_figures_to_spare() -> None:
    for kind in FITS:
        release, frame = case(kind, 3, 400, 40, max_depth=3)
        found = strengthened_counts(release.statements, 0, Limits(20))
        assert found.status == "exact"
        assert is_true(release, frame, found)
        assert found.surplus > 100
        assert 0 < found.worst < 1


def test_what_is_carried_to_the_next_level_asks_for_memory_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten numbers for each class of each part of a cell, four copies of them, came before anything was asked."""
    release, frame = case("gb", 4, 60, 4, max_depth=2)
    asked: list[int] = []
    hold, carried = settling.hold_numbers, settling.Strengthening.carried

    def heard(numbers: int, *more: Any) -> None:
        asked.append(numbers)
        hold(numbers, *more)

    def checked(self: settling.Strengthening, level: cells.CellLevel, *more: Any) -> cells.ColumnSystem:
        before, found = len(asked), carried(self, level, *more)
        assert asked[before:] == [level.given.middle.size + found.middle.size]
        return found

    monkeypatch.setattr(settling, "hold_numbers", heard)
    monkeypatch.setattr(settling.Strengthening, "carried", checked)
    work = settling.Strengthening(release.statements, 0, Limits(20))
    whole = work.through([1, 2, 3, 4], 0)
    assert whole.cells.leaves.shape[1] == len(asked) == 4
    work.limits = Limits(20, memory=asked[2] * cells.NUMBER_BYTES - 1)
    monkeypatch.setattr(settling, "level_work", lambda *_: 0.0)
    part = work.finished(work.through([1, 2, 3, 4], 0))
    assert part.status == "bounds"
    assert is_true(release, frame, part)
    work.limits = Limits(20, memory=asked[0] * cells.NUMBER_BYTES - 1)
    with pytest.raises(TooLarge, match="statements of leaf values over"):
        work.through([1, 2, 3, 4], 0)


def test_steps_are_made_when_asked_for_and_are_the_same_each_time() -> None:
    release, _ = case("gb", 1, 150, 8, max_depth=2)
    steps = strengthened_counts(release.statements, 0, Limits(20)).steps
    listed = list(steps)
    assert len(steps) == len(listed) > 10
    assert isinstance(steps[0], Refined)
    assert steps[-1] == listed[-1] == steps[len(listed) - 1]
    assert steps[2:5] == tuple(listed[2:5])
    assert all(form.over & (form.over - 1) == 0 for form in listed if isinstance(form, Form))
    with pytest.raises(IndexError):
        steps[len(steps)]


def test_weights_that_are_not_held_are_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    release, _ = case("hist", 4, 200, 12, max_depth=3)
    held = strengthened_counts(release.statements, 0, Limits(20))
    monkeypatch.setattr(peeling, "HELD", 0)
    found = strengthened_counts(release.statements, 0, Limits(20))
    assert len(found.steps) == len(held.steps)
    out = replayed(
        NumberedStatements(release.statements), LeafValues(0, tuple(found.steps), RegionProof(())), Limits(20)
    )
    assert np.array_equal(out.upper.reshape(-1, out.labels)[out.alive], held.high)


@pytest.mark.slow
def test_hidden_weights_are_always_noticed() -> None:
    for seed in range(12):
        frame, domain = people(seed, 300)
        weights = np.random.default_rng(seed).integers(1, 3, len(frame)).astype(float)
        model = fit_hist(frame, max_iter=25, max_depth=3, weights=weights)
        found = strengthened_counts(release_of(model, domain).statements, 0, Limits(20))
        assert found.status == "unknown"
        assert "weighted" in found.failed
        assert found.boxes is None


def test_one_value_moved_is_noticed() -> None:
    release, _ = case("hist", 5, 300, 20, max_depth=3)
    tree = release.statements.boosted[0].trees[7]
    assert not strengthened_counts(release.statements, 0, Limits(20)).failed
    kept = tree.low.copy(), tree.high.copy()
    try:
        tree.low[1] += 1e-6
        tree.high[1] += 1e-6
        assert strengthened_counts(release.statements, 0, Limits(20)).failed
    finally:
        tree.low[:], tree.high[:] = kept


def test_no_time_leaves_true_bounds() -> None:
    release, frame = case("gb", 2, 200, 10, max_depth=3)
    found = strengthened_counts(release.statements, 0, Limits(0.0))
    assert found.status == "bounds"
    assert is_true(release, frame, found)


def exactly(matrix: Any, x: Any) -> list[Fraction]:
    """Return A x in rationals."""
    rows = np.asarray(matrix.todense())
    return [sum((Fraction(float(a)) * int(v) for a, v in zip(row, x, strict=True)), Fraction(0)) for row in rows]


def adverse(seed: int) -> tuple[IntegerStatements, Any, Any]:
    """Return statements with exact ends, weights that invert them in doubles, and the numbers they are about."""
    rng = np.random.default_rng(seed)
    n = 12
    matrix = np.round(rng.normal(size=(n, n)) * 2**20) / 2**20  # sums with whole numbers below 2^20 are exact
    x = rng.integers(2**18, 2**19, n)
    ends = matrix @ x
    number = np.arange(n)
    given = IntegerStatements(
        csr_matrix(matrix), csr_matrix((n, n)), ends, ends.copy(), number, number, np.zeros(n, dtype=np.int64), x * 2
    )
    return given, np.linalg.inv(matrix), x


def outside(seed: int) -> bool:
    """Return whether what weighted sums imply excludes the truth, of which sums are exact."""
    given, weights, x = adverse(seed)
    assert all(Fraction(float(e)) == v for e, v in zip(given.low, exactly(given.middle, x), strict=True))
    low, high = implied(given, np.eye(len(x)), weights)
    return bool(((low > x) | (high < x)).any())


def test_rounding_of_weighted_sums_is_bounded() -> None:
    assert not any(outside(seed) for seed in range(20))


def off(a: int, x: int) -> bool:
    """Return whether a x = ax, divided by a in doubles, excludes x: one product each: no sum to be ordered."""
    one = np.zeros(1, dtype=np.int64)
    ends = np.array([float(a * x)])
    given = IntegerStatements(
        csr_matrix([[float(a)]]), csr_matrix((1, 1)), ends, ends.copy(), one, one, one, np.array([2 * x])
    )  # fmt: skip
    low, high = implied(given, np.eye(1), np.array([[1 / a]]))
    return bool((low[0] > x) | (high[0] < x))


@pytest.mark.slow
def test_without_the_bound_on_rounding_the_truth_is_excluded(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = [(a, x) for a in range(3, 200) for x in range(3, 20)]
    assert not any(off(a, x) for a, x in tried)
    monkeypatch.setattr(combining, "UNIT", 0.0)
    assert sum(off(a, x) for a, x in tried) > 10


def test_radii_of_coefficients_are_used() -> None:
    given, weights, x = adverse(1)
    wide = IntegerStatements(
        given.middle, csr_matrix(np.full(given.middle.shape, 1e-6)), given.low, given.high, given.source, given.column,
        given.lower, given.upper,
    )  # fmt: skip
    moved = np.asarray(given.middle.todense()) + 1e-6  # as true as `middle`
    ends = np.array([float(v) for v in exactly(csr_matrix(moved), x)])
    low, high = implied(IntegerStatements(
        wide.middle, wide.radius, np.nextafter(ends, -np.inf), np.nextafter(ends, np.inf), wide.source, wide.column,
        wide.lower, wide.upper,
    ), np.eye(len(x)), weights)  # fmt: skip
    assert bool(((low <= x) & (x <= high)).all())
    assert bool((high - low > 1e-3).all())


def test_moved_intervals_hold_what_is_left() -> None:
    for seed in range(10):
        given, _, x = adverse(seed)
        at = x - np.random.default_rng(seed).integers(0, 5, len(x))
        near = centred_on(given, at)
        for i, left in enumerate(exactly(given.middle, x - at)):
            assert Fraction(float(near.low[i])) <= left <= Fraction(float(near.high[i]))
        assert bool(((near.lower <= x - at) & (x - at <= near.upper)).all())
