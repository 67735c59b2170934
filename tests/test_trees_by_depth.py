"""Optimal trees of all depths from one lattice: the same as each by itself, and bounds where it was cut off."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recon.learners.optimal.trees import optimal_tree as by_depth
from recon.learners.optimal.trees.lattice import tree_lattice
from recon.learners.optimal.trees.optimal_tree import OptimalTreeClassifier, optimal_trees
from solvers.foundation.limits import Limits


def drawn(seed, n=60, columns=6):
    random = np.random.default_rng(seed)
    x = random.integers(0, 2, (n, columns))
    return x, (x[:, 0] ^ x[:, 1] ^ (random.random(n) < 0.3)).astype(int)


@pytest.mark.slow
@given(st.integers(0, 10_000), st.integers(1, 5))
def test_every_depth_is_as_good_as_by_itself(seed, least):
    x, y = drawn(seed, n=30, columns=4)
    for depth, tree in enumerate(optimal_trees(x, y, 4, least), start=1):
        alone = OptimalTreeClassifier(depth, least, solver="own").fit(x, y)
        assert (tree.errors_, tree.optimal_, tree.max_depth) == (alone.errors_, True, depth)
        assert int((tree.predict(x) != y).sum()) == tree.errors_
        assert np.bincount(tree.apply(x)).max() >= least


def test_where_the_deepest_are_not_reached_the_others_are_proved_still(monkeypatch):
    x, y = drawn(1)
    whole = optimal_trees(x, y, 5)

    def cut(rows, depth, least, limits, *, prune):
        lattice = tree_lattice(rows, depth, least, Limits(), prune=prune)
        levels = lattice.levels[:3]
        levels[-1] = type(levels[-1])(levels[-1].boxes, levels[-1].counts, levels[-1].sizes, levels[-1].floor)
        return type(lattice)(rows, depth, least, levels, "cut off")

    monkeypatch.setattr(by_depth, "tree_lattice", cut)
    some = optimal_trees(x, y, 5)
    assert [tree.errors_ for tree in some[:2]] == [tree.errors_ for tree in whole[:2]]
    assert all(tree.optimal_ for tree in some[:2])
    for tree, best in zip(some[2:], whole[2:], strict=True):
        assert tree.bound_ <= best.errors_ <= tree.errors_
    assert not some[4].optimal_
