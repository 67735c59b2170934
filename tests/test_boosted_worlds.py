"""Worlds of boosted models: found ones meet all figures, all datasets say whether there are others."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from encoders.domain.domain import Domain
from solvers.engines.chain import answer, strengthened
from solvers.foundation.errors import TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.leaf_values import worlds
from solvers.leaf_values.combining import interval_use
from solvers.leaf_values.worlds import LeafValueProblem, one_world
from solvers.statements.boxes import Box
from solvers.statements.questions.query import MostLikely
from solvers.statements.release import Loose
from tests.boosted_cases import fit_gb, fit_hist, release_of


def case(seed, rows=8, trees=2, hist=False, columns=2):
    """Return a release of a small boosted model and the frame that it was fitted on."""
    rng = np.random.default_rng(seed)
    names = list("abcd")[:columns]
    every = pd.DataFrame(list(itertools.product((0, 1), repeat=columns + 1)), columns=[*names, "y"])
    frame = every.sample(rows, replace=True, random_state=seed).reset_index(drop=True)
    frame.loc[:1, "y"] = [0, 1]
    depth = int(rng.integers(1, 3))
    model = (
        fit_hist(frame, max_iter=trees, max_depth=depth, min_samples_leaf=1)
        if hist
        else fit_gb(frame, n_estimators=trees, max_depth=depth)
    )
    return release_of(model, Domain.from_frame(every, label="y")).statements, frame


def numbers_of(release, frame_or_world):
    """Return the rows per cell and class of the problem's cells."""
    problem = LeafValueProblem.of(release, Limits())
    times = np.zeros(problem.level.lower.shape, dtype=np.int64)
    layout, label = problem.cells.layout, release.domain.label
    boxes = [dict(b.literals) for b in layout.boxes(problem.cells.words)]
    for row, count in frame_or_world:
        at = [c for c, b in enumerate(boxes) if all(m >> row[k] & 1 for k, m in b.items() if k != label)]
        times[at[0], release.boosted[0].labels.index(row[label])] += count
        assert len(at) == 1
    return problem, times


def meets_all(problem, times):
    """Return whether counts and figures hold."""
    given = problem.level.given
    whole = (given.radius == 0).all(axis=1) & (given.middle == np.rint(given.middle)).all(axis=1)
    counts = np.zeros(len(given))
    np.add.at(counts, given.row, (given.middle * times[given.cell]).sum(axis=1))
    rows = np.ones(len(given), dtype=bool)
    rows[given.row[~whole]] = False
    if bool(((counts < given.low) | (counts > given.high))[rows].any()):
        return False
    return all(
        part.max(initial=0.0) <= 1 for part in interval_use(problem.release.boosted[0], problem.cells.leaves, times)
    )


def histograms(problem, n):
    """Yield all numbers of n rows per cell and class."""
    size = problem.level.lower.size
    for bars in itertools.combinations(range(n + size - 1), size - 1):
        ends = np.array([-1, *bars, n + size - 1])
        yield (np.diff(ends) - 1).reshape(problem.level.lower.shape)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("hist", [False, True])
def test_worlds_against_all_datasets(hist):
    """The world found is one of those that meet everything, and `unique` says whether there is another."""
    settled = set()
    for seed in range(8):
        release, frame = case(seed, rows=5 + seed % 3, hist=hist)
        found = answer(release, MostLikely())
        assert (found.status, found.engine) == ("exact", "leaf_values")
        world = next(found.worlds)
        problem, times = numbers_of(release, zip(world.values.tolist(), world.times.tolist(), strict=True))
        assert world.times.sum() == len(frame)
        assert meets_all(problem, times)
        every = [z for z in histograms(problem, len(frame)) if meets_all(problem, z)]
        assert any((z == times).all() for z in every)
        truth = [(tuple(row), 1) for row in frame.to_numpy().tolist()]
        assert meets_all(problem, numbers_of(release, truth)[1])
        others = "no other numbers" in world.note
        assert others == (len(every) == 1)
        assert (world.unique is False) or len(every) == 1
        settled.add(others)
    assert True in settled


def test_numbers_that_nothing_meets_are_no_world():
    """A figure moved away from the truth: no world is left, and the figures are named as the reason."""
    release, _ = case(1, rows=9)
    model = release.boosted[0]
    tree = model.trees[0]
    moved = replace(tree, low=tree.low + 0.37, high=tree.high + 0.37)
    wrong = replace(release, boosted=(replace(model, trees=(moved, *model.trees[1:])),))
    found = one_world(wrong, MostLikely(), Limits())
    assert found.status == "unsat"
    assert found.conflict


def test_the_same_world_without_the_lattice(monkeypatch):
    """Too many columns for lattices: the numbers of rows are sought themselves."""
    release, _ = case(4, rows=12, trees=3, columns=3)
    monkeypatch.setattr(worlds, "MAX_LATTICE_COLUMNS", 0)
    world = next(answer(release, MostLikely()).worlds)
    problem, times = numbers_of(release, zip(world.values.tolist(), world.times.tolist(), strict=True))
    assert meets_all(problem, times)


def test_a_settled_release_has_the_same_worlds():
    """What leaf values prove is one more block; the world found meets the model's own release too."""
    release, _ = case(5, rows=12, trees=2, columns=3)
    strong = strengthened(release, Limits(seconds=20))
    world = next(answer(strong, MostLikely()).worlds)
    problem, times = numbers_of(release, zip(world.values.tolist(), world.times.tolist(), strict=True))
    assert meets_all(problem, times)


def test_impossible_rows_are_in_no_world():
    """Boxes without rows are left out of cells that meet them."""
    release, frame = case(2, rows=7, columns=3)
    have = set(map(tuple, frame.to_numpy().tolist()))
    empty = next(r for r in itertools.product((0, 1), repeat=4) if r not in have)
    impossible = (Box(tuple((k, 1 << v) for k, v in enumerate(empty))),)
    for seed in range(5):
        world = next(answer(replace(release, impossible=impossible), MostLikely(seed)).worlds)
        assert empty not in set(map(tuple, world.values.tolist()))


def test_refusals(monkeypatch):
    release, _ = case(0)
    with pytest.raises(Unsupported, match="disjoint boxes"):
        one_world(replace(release, blocks=(*release.blocks, Loose(()))), MostLikely(), Limits())
    with pytest.raises(Unsupported, match="one boosted model"):
        one_world(replace(release, boosted=release.boosted * 2), MostLikely(), Limits())
    with pytest.raises(TooLarge):
        one_world(release, MostLikely(), Limits(cells=1))
    with pytest.raises(Unsupported, match="no single dataset can be named"):
        answer(replace(release, loosened=("something",)), MostLikely())
    monkeypatch.setattr(worlds, "ENTRIES", -1)
    with pytest.raises(TooLarge, match="too many"):
        one_world(release, MostLikely(), Limits())
    monkeypatch.setattr(worlds, "unavailable", lambda: "python-flint is not installed")
    with pytest.raises(Unsupported, match="python-flint"):
        one_world(release, MostLikely(), Limits())
