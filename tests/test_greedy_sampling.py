"""Worlds drawn under a greedy learner's rule: in the set, each as often as every other."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from greedy_trees import could_choose, labelled
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from sklearn.tree import DecisionTreeClassifier
from test_greedy_trees import fitted
from tree_count_oracle import exact_counts

from solvers.foundation.errors import ContradictionError, Inconclusive
from solvers.foundation.limits import Limits
from solvers.greedy.gains import ChosenTree, GreedyRule
from solvers.greedy.sampling import Sampler, _below
from solvers.greedy.tree_counts import ChoiceConditions

LIMITS = Limits()


def tiny(seed=3, rows=7, columns=3, depth=2, leaf=1):
    tree, rule, said, *_ = fitted(rows, columns, seed, depth, leaf=leaf, noise=0.6)
    return tree, rule, said


def fillings(tree, rule, column):
    """The number of fillings of a column under the rule, in integers."""
    return sum(exact_counts(ChoiceConditions(tree, rule, False, True), column).values())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("whole", [40_000, 0])
def test_every_filling_as_often_as_every_other(whole):
    """Few fillings: counts of 20 for each, by chi-square; with weights cut off and not (here nothing is large)."""
    tree, rule, _ = tiny()
    sampler = Sampler.of(tree, 3, rule, LIMITS, whole=whole)
    rng = np.random.default_rng(11)
    for column in range(3):
        number = fillings(tree, rule, column)
        seen = Counter(sampler.filling(column, rng).tobytes() for _ in range(20 * number))
        assert len(seen) == number
        assert number == 1 or chisquare(list(seen.values())).pvalue > 1e-4


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 500), st.integers(1, 3))
def test_worlds_lie_in_the_set(seed, depth):
    tree, rule, said = tiny(seed, 12, 4, depth)
    sampler = Sampler.of(tree, 4, rule, LIMITS)
    assert sampler.exact
    assert sampler.variation == 0
    world = sampler.world(np.random.default_rng(seed))
    kinds = labelled(tree)
    assert sampler.class_of_row.tolist() == [label for _, label in kinds]
    assert all(world[r, c] == value for r, (fixed, _) in enumerate(kinds) for c, value in fixed.items())
    rows = [(tuple(map(int, row)), label) for row, (_, label) in zip(world, kinds, strict=True)]
    assert could_choose(tree, 0, rows, said)


def test_states_are_those_of_the_rows():
    tree, rule, _ = tiny(5, 40, 4, 5)
    sampler = Sampler.of(tree, 4, rule, LIMITS)
    for column in range(4):
        states = sampler.column(column, np.random.default_rng(2))
        inner = tree.column >= 0
        assert (states[inner] == states[tree.then[inner]] + states[tree.otherwise[inner]]).all()
        assert ((states >= 0) & (states <= tree.counts)).all()
        own = np.flatnonzero(tree.column == column)
        assert (states[own] == tree.counts[tree.then[own]]).all()
        filled = sampler.filling(column, np.random.default_rng(2))
        leaf = int(np.flatnonzero(~inner)[0])
        rows = (sampler.leaf_of_row == leaf) & (sampler.class_of_row == 1)
        assert filled[rows].sum() == states[leaf, 1]


def blurred(sampler, seed, part):
    """The same sampler with weights that are off by a part, and say so."""
    rng, out = np.random.default_rng(seed), []
    for windows in sampler.windows:
        wrong = {}
        for node, window in windows.items():
            mass = window.mass * (1 + part * (2 * rng.random(window.mass.shape) - 1))
            wrong[node] = dataclasses.replace(window, mass=mass, relative=part / (1 - part) + 1e-12)
        out.append(wrong)
    return dataclasses.replace(sampler, windows=out)


@pytest.mark.slow
def test_rejection_makes_up_for_wrong_weights():
    """Weights that are off by a fifth, and say so, give uniform fillings; taken as they are they do not."""
    tree, rule, _ = tiny(3, 6, 3, 1)
    sampler = blurred(Sampler.of(tree, 3, rule, LIMITS), 5, 0.2)
    column = int(np.argmax([fillings(tree, rule, c) for c in range(3)]))
    draws = 1_500
    for exact, uniform in ((True, True), (False, False)):
        rng = np.random.default_rng(4)
        other = dataclasses.replace(sampler, exact=exact)
        seen = Counter(other.filling(column, rng).tobytes() for _ in range(draws))
        assert (chisquare(list(seen.values())).pvalue > 1e-4) == uniform


def test_bounds_of_acceptance_hold():
    """No path is accepted with a probability above 1, none below what is said without looking."""
    tree, rule, _ = tiny(8, 30, 4, 4)
    for part in (0.0, 0.01):
        sampler = blurred(Sampler.of(tree, 4, rule, LIMITS), 1, part)
        rng = np.random.default_rng(0)
        for column, _ in itertools.product(range(4), range(20)):
            states, draws = sampler._descend(column, rng)
            root = sampler.windows[column][0]
            weight = Fraction(1)
            for leaf in np.flatnonzero(tree.column < 0):
                if int(leaf) in sampler.windows[column]:
                    for n, k in zip(tree.counts[leaf].tolist(), states[leaf].tolist(), strict=True):
                        weight *= Fraction(math.comb(n, k), 1 << n)
            chance, bound = Fraction(1), Fraction(root.total[1]) * Fraction(2) ** root.exponent
            for draw in draws:
                chance, bound = chance * draw.chance, bound * draw.most
            accepted = weight / (chance * bound)
            least = math.prod(draw.least for draw in draws) * root.total[0] / root.total[1]
            assert least * (1 - 1e-12) <= accepted <= 1


def test_a_uniform_number_below_a_fraction():
    rng = np.random.default_rng(3)
    half = 1 << 61
    assert _below(Fraction(1, 2), half - 1, rng)
    assert not _below(Fraction(1, 2), half, rng)
    assert not _below(Fraction(1, 3), (1 << 62) // 3 + 1, rng)
    third = [_below(Fraction(1, 3), (1 << 62) // 3, rng) for _ in range(300)]  # the next digits decide
    assert 60 < sum(third) < 140


def test_larger_trees_say_how_far_from_uniform():
    tree, rule, *_ = fitted(900, 9, 2, 4, noise=0.5)
    sampler = Sampler.of(tree, 9, rule, LIMITS)
    assert not sampler.exact
    assert 0 < sampler.variation < 1e-6
    world = sampler.world(np.random.default_rng(9))
    again = DecisionTreeClassifier(max_depth=4, random_state=2).fit(world, sampler.class_of_row)
    assert again.tree_.feature[0] == tree.column[0]
    assert (np.rint(again.tree_.value[0, 0] * 900) == tree.counts[0]).all()


def test_the_tail_is_drawn_from():
    """Where the rule asks for what nearly never happens, less is cut off until it can be drawn."""
    counts = np.array([[800, 800], [400, 400], [400, 400], [350, 150], [50, 250]])
    nodes = np.array([[1, 3, -1, -1, -1], [2, 4, -1, -1, -1], [0, 1, -1, -1, -1]])
    tree = ChosenTree(*nodes, counts, np.zeros(5, dtype=bool))
    sampler = Sampler.of(tree, 2, GreedyRule(1600, arithmetic="exact"), LIMITS)
    assert sampler.exact  # so little is cut off that it is nothing
    states = sampler.column(1, np.random.default_rng(0))
    assert states[1].tolist() == [350, 150]
    assert states[0, 0] == states[0, 1]  # no gain at the root


def test_nothing_to_draw():
    counts = np.array([[20, 20], [10, 10], [10, 10], [10, 0], [0, 10]])
    nodes = np.array([[1, 3, -1, -1, -1], [2, 4, -1, -1, -1], [0, 1, -1, -1, -1]])
    tree = ChosenTree(*nodes, counts, np.arange(5) == 2)
    with pytest.raises(ContradictionError, match="no filling of column 1 is left") as error:
        Sampler.of(tree, 3, GreedyRule(40), LIMITS)
    assert error.value.conflict
    tree, rule, _ = tiny(5, 40, 4, 5)
    with pytest.raises(Inconclusive):
        Sampler.of(tree, 4, rule, Limits(memory=500))
