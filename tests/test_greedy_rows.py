"""Single rows under a greedy learner's rule: states by exact integers, in windows and without."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers.foundation.errors import ContradictionError, Inconclusive
from solvers.foundation.limits import Limits
from solvers.greedy import marginals as module
from solvers.greedy.gains import ChosenTree, GreedyRule, leaves_allowed, splits_allowed
from solvers.greedy.marginals import (
    ColumnMarginal,
    StateMarginals,
    States,
    StateSupports,
    _difference_states,
    _runs,
    _sum_states,
    expected_rows,
    some_row,
)


def tree_of(shape, leaves, opens=()):
    """Return a tree from nested (column, otherwise, then), leaves numbered from the left with their counts."""
    then, otherwise, column, counts, is_open = [], [], [], [], []
    numbers = iter(range(len(leaves)))

    def add(part):
        here = len(column)
        for line, value in ((then, -1), (otherwise, -1), (column, -1), (counts, None), (is_open, False)):
            line.append(value)
        if part is None:
            leaf = next(numbers)
            counts[here], is_open[here] = np.array(leaves[leaf]), leaf in opens
            return here
        column[here] = part[0]
        otherwise[here], then[here] = add(part[1]), add(part[2])
        counts[here] = counts[otherwise[here]] + counts[then[here]]
        return here

    add(shape)
    whole = [np.array(line, dtype=np.int64) for line in (then, otherwise, column)]
    return ChosenTree(*whole, np.array(counts, dtype=np.int64), np.array(is_open))


def exact_weights(tree, rule, column, held=None):
    """Return {node: {state: fillings}} of a column by whole numbers, with one leaf's state held where that is given."""
    out = {}

    def weights(node):
        n0, n1 = tree.counts[node].tolist()
        if tree.column[node] == column:
            right = tuple(tree.counts[tree.then[node]].tolist())
            found = {right: 1}
            for leaf in below(tree, node):  # rows below are constant: a held state must be just that
                value = in_side(tree, node, leaf)
                if held and held[0] == leaf and held[1] != tuple(int(n) * value for n in tree.counts[leaf]):
                    found = {}
            out[node] = found
            return found
        if tree.column[node] < 0:
            found = {(a, b): math.comb(n0, a) * math.comb(n1, b) for a in range(n0 + 1) for b in range(n1 + 1)}
            mask = np.ones((n0 + 1, n1 + 1), dtype=bool)
            if tree.open_leaf[node] and n0 and n1:
                mask, _ = leaves_allowed((n0, n1), np.arange(n0 + 1)[:, None], np.arange(n1 + 1)[None, :], rule)
            if held and held[0] == node:
                found = {held[1]: found[held[1]]}
        else:
            one, two = weights(int(tree.then[node])), weights(int(tree.otherwise[node]))
            found = {}
            for (a, b), x in one.items():
                for (c, d), y in two.items():
                    found[a + c, b + d] = found.get((a + c, b + d), 0) + x * y
            chosen = tuple(tree.counts[tree.then[node]].tolist())
            mask, _ = splits_allowed((n0, n1), chosen, np.arange(n0 + 1)[:, None], np.arange(n1 + 1)[None, :], rule)
        out[node] = {s: x for s, x in found.items() if mask[s]}
        return out[node]

    return weights(0)


def below(tree, node):
    """Return the leaves below a node."""
    if tree.column[node] < 0:
        return [node]
    return below(tree, int(tree.otherwise[node])) + below(tree, int(tree.then[node]))


def in_side(tree, node, leaf):
    return int(leaf in below(tree, int(tree.then[node])))


def exact_marginals(tree, rule, column, leaf):
    """Return {state: probability} of a column at a leaf as fractions."""
    total = sum(exact_weights(tree, rule, column).values())
    n0, n1 = tree.counts[leaf].tolist()
    states = [(a, b) for a in range(n0 + 1) for b in range(n1 + 1)]
    return {s: Fraction(sum(exact_weights(tree, rule, column, (leaf, s)).values()), total) for s in states}


SHAPE = (0, (1, None, None), (2, None, (1, None, None)))
leaf_counts = st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda c: sum(c) > 0)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(leaf_counts, min_size=5, max_size=5), st.sets(st.integers(0, 4)), st.integers(1, 2))
def test_states_at_leaves_are_those_of_exact_integers(leaves, opens, least):
    """Support and probability of every state of every leaf: used columns, and one that no node splits on."""
    tree = tree_of(SHAPE, leaves, opens)
    rule = GreedyRule(int(tree.counts[0].sum()), min_samples_leaf=least)
    for column in (0, 1, 3):
        total = sum(exact_weights(tree, rule, column).values())
        if not total:
            with pytest.raises(ContradictionError):
                StateSupports(tree, rule, Limits()).leaves(column)
            continue
        states, likely = (
            StateSupports(tree, rule, Limits()).leaves(column),
            StateMarginals(tree, rule, Limits()).leaves(column),
        )
        for leaf in below(tree, 0):
            for state, true in exact_marginals(tree, rule, column, leaf).items():
                assert states[leaf][state] == (true > 0)
                low, high = at(likely[leaf], tree.counts[leaf], state)
                assert low - 1e-12 <= true <= high + 1e-12
                assert high - low < 1e-9


def at(states, counts, state):
    """Return the bounds on the probability of one state."""
    factors = [(np.arange(n + 1) == s).astype(float) for n, s in zip(counts.tolist(), state, strict=True)]
    return states.expected(*factors)


def test_windows_that_are_cut_still_hold_the_truth():
    """A few hundred rows: weights are cut off and convolved by transforms, and the slack says how much is missing."""
    tree = tree_of((0, (1, None, None), None), [(60, 45), (50, 70), (66, 80)])
    rule = GreedyRule(int(tree.counts[0].sum()))
    found = StateMarginals(tree, rule, Limits()).leaves(3)
    assert any(window.lost > 0 for window in found_windows(tree, rule))
    for leaf in below(tree, 0):
        n0, n1 = tree.counts[leaf].tolist()
        for factors in ((np.arange(n0 + 1) / n0, np.ones(n1 + 1)), (np.ones(n0 + 1), np.arange(n1 + 1) / n1)):
            low, high = found[leaf].expected(*factors)
            assert low <= 0.5 <= high  # the rule is the same for a column and its negation
            assert high - low < 1e-6


def found_windows(tree, rule):
    from solvers.greedy.tree_counts import ChoiceConditions, Passes

    passes = Passes(ChoiceConditions(tree, rule, False, True), module.CUT, module.DIRECT, Limits(), keep=True)
    return passes.windows(3)[0].values()


def test_without_the_slack_the_truth_would_be_lost(monkeypatch):
    """What is cut off matters: cut sharply, the weights found lack more than their roundings explain."""
    tree = tree_of((0, (1, None, None), None), [(60, 45), (50, 70), (66, 80)])
    monkeypatch.setattr(module, "CUT", 1e-3)
    found = StateMarginals(tree, GreedyRule(int(tree.counts[0].sum())), Limits()).leaves(3)
    low, high = found[below(tree, 0)[0]].expected(np.arange(61) / 60, np.ones(46))
    assert low <= 0.5 <= high
    assert found[below(tree, 0)[0]].slack > 1e-4
    assert low < 0.5 - 1e-5


def binomial(n, p=0.5):
    return np.array([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])


@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("value", [0, 1])
def test_some_row_matches_with_the_probability_of_free_rows(columns, value):
    """Free columns: every row matches with probability 2^-columns, independently."""
    free = States(0, 0, np.outer(binomial(6), binomial(5)), 0.0, 1e-15)
    asked = [ColumnMarginal(free, value)] * columns
    low, high = some_row((6, 5), asked)
    assert low <= 1 - (1 - 0.5**columns) ** 11 <= high
    assert high - low < 1e-10
    low, high = some_row((6, 5), asked, (False, True))
    assert low - 1e-15 <= 1 - (1 - 0.5**columns) ** 5 <= high
    first, second = expected_rows((6, 5), asked)
    assert first == pytest.approx((6 * 0.5**columns,) * 2)
    assert second == pytest.approx((5 * 0.5**columns,) * 2)


def test_some_row_of_rows_that_are_all_alike():
    """All rows have one value, 0 or 1: there is one row that matches or all do; moments alone would not say that."""
    n = 30
    weights = np.zeros((n + 1, n + 1))
    weights[0, 0] = weights[n, n] = 0.5
    alike = States(0, 0, weights, 0.0, 1e-15)
    low, high = some_row((n, n), [ColumnMarginal(alike, 1)] * 20)
    assert low <= 2.0**-20 <= high
    assert high < 2.0**-18 * n  # E[X] = 60 / 2^20 bounds it
    assert low == pytest.approx(2.0**-20, rel=1e-6)  # by the second moment


def test_sums_of_sets_of_states():
    one = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 1, 0]], dtype=bool)
    two = np.array([[0, 1, 0], [1, 0, 1]], dtype=bool)
    sums = np.zeros((4, 6), dtype=bool)
    for i, j in np.argwhere(one):
        for k, m in np.argwhere(two):
            sums[i + k, j + m] = True
    assert (_sum_states(one, two) == sums).all()
    assert (_sum_states(two, one) == sums).all()
    back = _difference_states(sums, two, one.shape)
    for i, j in np.ndindex(one.shape):
        assert back[i, j] == any(sums[i + k, j + m] for k, m in np.argwhere(two))
    assert [x.tolist() for x in _runs(one)] == [[0, 0, 2], [0, 2, 1], [1, 3, 3]]


def test_limits_and_memory():
    tree = tree_of((0, None, None), [(600, 500), (400, 700)])
    rule = GreedyRule(2200)
    with pytest.raises(Inconclusive, match="memory"):
        StateSupports(tree, rule, Limits(memory=1_000_000)).leaves(1)
    with pytest.raises(Inconclusive, match="time"):
        StateSupports(tree, rule, Limits(seconds=0)).leaves(1)
    with pytest.raises(Inconclusive):
        StateMarginals(tree, rule, Limits(seconds=0)).leaves(1)


def test_nothing_is_left_of_a_column():
    """A leaf of two rows that differ in every class, below a split of no gain at all."""
    tree = tree_of((0, None, None), [(1, 1), (1, 1)], {0, 1})
    found = StateSupports(tree, GreedyRule(4), Limits())
    assert {n: [tuple(s) for s in np.argwhere(mask)] for n, mask in found.leaves(1).items()} == {
        1: [(0, 0), (1, 1)],
        2: [(0, 0), (1, 1)],
    }
    assert not found.fits(1, {1: np.array([[False, True], [True, False]])})
    assert found.fits(1, {1: np.array([[True, True], [True, False]])})
