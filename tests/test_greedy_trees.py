"""How many worlds a greedy learner's rule leaves: against all matrices of tiny trees, real fits and plain integers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from greedy_trees import chosen_tree, could_choose, leaves_of, worlds
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier
from tree_count_oracle import exact_counts

from solvers.foundation.errors import ContradictionError, Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.greedy.gains import ChosenTree, GreedyRule, splits_allowed
from solvers.greedy.tree_counts import ChoiceConditions, Passes, _empty_node, tree_share

LIMITS = Limits()


def fitted(rows, columns, seed, depth, criterion="gini", leaf=1, decrease=0.0, split=2, noise=0.3):
    """A tree of random rows, its rule, and the settings in plain words."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (rows, columns))
    y = np.where(rng.random(rows) < noise, rng.integers(0, 2, rows), X[:, 0] & X[:, -1])
    y[:2] = 0, 1
    options = {
        "criterion": criterion,
        "min_samples_leaf": leaf,
        "min_impurity_decrease": decrease,
        "max_depth": depth,
        "min_samples_split": split,
    }
    model = DecisionTreeClassifier(**options, random_state=seed).fit(X, y)
    tree = chosen_tree(model, depth, split, leaf)
    return tree, GreedyRule(rows, criterion, leaf, decrease), {**options, "rows": rows}, X, y


def counted(tree, columns, rule, **asked):
    """The product of the columns' exact numbers of fillings."""
    conditions = ChoiceConditions(tree, rule, asked.get("strict", False), asked.get("leaf_rule", True))
    return [sum(exact_counts(conditions, c).values()) for c in range(columns)]


def share_of(log2, number, of):
    """Whether bounds on a logarithm hold a fraction, and are close."""
    if not number:
        return log2[0] == -math.inf
    exact = math.log2(number) - math.log2(of)
    return log2[0] - 1e-12 <= exact <= log2[1] + 1e-12 and log2[1] - log2[0] < 1e-8


CASES = [
    (5, 3, depth, criterion, leaf, decrease, split)
    for depth in (1, 2, 3)
    for criterion in ("gini", "entropy")
    for leaf, decrease, split in ((1, 0.0, 2), (2, 0.0, 2), (1, 0.0, 4), (1, 0.09, 2), (2, 0.05, 2), (1, 0.17, 3))
]


@pytest.mark.sampled(1, 3)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_matrices(case):
    rows, columns, depth, criterion, leaf, decrease, split = case
    for seed in (depth % 2,):
        tree, rule, said, *_ = fitted(rows, columns, seed, depth, criterion, leaf, decrease, split)
        every = list(worlds(tree, columns))
        for strict in (False, True):
            number = sum(could_choose(tree, 0, world, said, strict) for world in every)
            found = tree_share(tree, columns, rule, LIMITS, strict=strict)
            assert math.prod(counted(tree, columns, rule, strict=strict)) == number
            assert share_of(found.log2, number, len(every)), (seed, strict, found.log2, number, len(every))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("depth", [1, 2])
def test_real_fits_lie_inside(criterion, depth):
    """Every matrix of which scikit-learn makes the tree is counted; those of the strict count always make it."""
    tree, _, said, *_ = fitted(5, 3, 4, depth, criterion)
    options = {k: said[k] for k in ("criterion", "max_depth")}
    inside = 0
    for world in list(worlds(tree, 3))[::11]:
        X, y = np.array([row for row, _ in world]), np.array([label for _, label in world])
        could, must = (could_choose(tree, 0, world, said, strict) for strict in (False, True))
        for seed in (0, 1):
            again = chosen_tree(DecisionTreeClassifier(**options, random_state=seed).fit(X, y), depth)
            same = again.column.tolist() == tree.column.tolist() and (again.counts == tree.counts).all()
            assert could or not same
            assert same or not must
            inside += same
    assert inside > 3


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(8, 45),
    st.integers(1, 6),
    st.sampled_from(["gini", "entropy"]),
    st.sampled_from([(1, 0.0), (3, 0.0), (1, 0.01), (2, 0.02)]),
)
def test_windows_and_integers_agree(seed, rows, depth, criterion, limits):
    tree, rule, *_ = fitted(rows, 5, seed, depth, criterion, *limits)
    for asked in ({}, {"strict": True}, {"leaf_rule": False}):
        numbers = counted(tree, 5, rule, **asked)
        found = tree_share(tree, 5, rule, LIMITS, **asked)
        for c in range(5):
            assert share_of(found.by_column[c], numbers[c], 1 << free_rows(tree, c))


def free_rows(tree, column):
    """Rows whose value of a column no path fixes."""
    return sum(int(tree.counts[leaf].sum()) for leaf, fixed in leaves_of(tree) if column not in fixed)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.integers(10, 150), st.integers(2, 8))
def test_the_truth_is_never_excluded_and_more_conditions_leave_less(seed, rows, depth):
    tree, rule, _, _, _ = fitted(rows, 6, seed, depth, noise=0.5)
    full, some = (tree_share(tree, 6, rule, LIMITS, leaf_rule=leaf) for leaf in (True, False))
    strict = tree_share(tree, 6, rule, LIMITS, strict=True)
    exact = tree_share(tree, 6, GreedyRule(rows, arithmetic="exact"), LIMITS)
    assert -math.inf < full.log2[0] <= full.log2[1] <= 0
    assert full.nothing_at is None
    assert full.exact
    assert full.log2[0] <= some.log2[1] + 1e-9
    assert strict.log2[0] <= full.log2[1]
    assert full.log2[0] <= exact.log2[1]
    assert not exact.exact or tree.column[0] < 0


def test_bits_by_node_add_up():
    tree, rule, *_ = fitted(120, 6, 3, 7, noise=0.6)
    found = tree_share(tree, 6, rule, LIMITS)
    low, high = (sum(bits[k] for bits in found.by_node) for k in (0, 1))
    assert low <= -found.log2[0] + 1e-9
    assert -found.log2[1] - 1e-9 <= high
    assert high - low < 1e-7
    assert all(0 <= a <= b for a, b in found.by_node)
    quiet = [v for v in range(len(tree.column)) if tree.column[v] < 0 and not tree.open_leaf[v]]
    assert all(found.by_node[v] == (0, 0) for v in quiet)
    assert any(found.by_node[v][0] > 0 for v in np.flatnonzero(tree.open_leaf)) or not tree.open_leaf.any()


def test_columns_of_no_split_are_alike():
    tree, rule, *_ = fitted(60, 3, 1, 2)
    more = tree_share(tree, 9, rule, LIMITS)
    few = tree_share(tree, 4, rule, LIMITS)
    assert len(set(more.by_column[3:])) == 1
    assert more.log2[0] == pytest.approx(few.log2[0] + 5 * few.by_column[3][0])


def test_ties_that_floats_never_let_win():
    """Two states of one gain whose sums differ in float64: the exact comparison counts more than can be chosen."""
    found = 0
    for counts, chosen in (((24, 36), (0, 12)), ((12, 8), (0, 2)), ((31, 29), (9, 21)), ((30, 30), (0, 4))):
        a, b = np.arange(counts[0] + 1)[:, None], np.arange(counts[1] + 1)[None, :]
        floats, _ = splits_allowed(counts, chosen, a, b, GreedyRule(sum(counts)))
        exact, said = splits_allowed(counts, chosen, a, b, GreedyRule(sum(counts), arithmetic="exact"))
        assert not said
        differs = np.argwhere(exact & ~floats)
        assert not (floats & ~exact).any()
        assert all(gini_sum(counts, s) == gini_sum(counts, chosen) for s in differs)
        found += len(differs)
        for state in differs:
            assert first_wins(counts, tuple(state), chosen)
    assert found


def gini_sum(counts, state):
    (a, b), (c, d) = map(int, state), (counts[0] - int(state[0]), counts[1] - int(state[1]))
    return Fraction(a * a + b * b, a + b) + Fraction(c * c + d * d, c + d)


def first_wins(counts, better, worse):
    """Whether scikit-learn takes the first of two columns with these states in whatever order it draws them."""
    X = np.zeros((sum(counts), 2), dtype=int)
    for k, state in enumerate((better, worse)):
        X[: state[0], k] = 1
        X[counts[0] : counts[0] + state[1], k] = 1
    y = np.repeat([0, 1], counts)
    return all(DecisionTreeClassifier(max_depth=1, random_state=s).fit(X, y).tree_.feature[0] == 0 for s in range(6))


def deep(rows=40):
    return fitted(rows, 4, 2, 4, noise=0.6)


def test_a_tree_that_the_rule_cannot_choose_names_node_and_column():
    """A split without gain at the root, a better one of another column below it."""
    counts = np.array([[20, 20], [10, 10], [10, 10], [10, 0], [0, 10]])
    tree = ChosenTree(
        np.array([1, 3, -1, -1, -1]),
        np.array([2, 4, -1, -1, -1]),
        np.array([0, 1, -1, -1, -1]),
        counts,
        np.array([False, False, True, False, False]),
    )
    found = tree_share(tree, 3, GreedyRule(40), LIMITS)
    assert found.log2 == (-math.inf, -math.inf)
    assert found.nothing_at == (0, 1)
    assert found.by_column[2][0] > -math.inf
    assert _empty_node(ChoiceConditions(tree, GreedyRule(40), False, True), 1, LIMITS) == 0
    assert _empty_node(ChoiceConditions(tree, GreedyRule(40), False, True), 2, LIMITS) is None


@pytest.mark.parametrize("shift", [30, 300])
def test_what_is_far_in_the_tail_is_counted(shift):
    """A root split without gain: the ones of column 1 must make up for those of one child, by Vandermonde's sum."""
    n = 500
    counts = np.array([[2 * n, 2 * n], [n, n], [n, n], [n - 50, n - 50 - shift], [50, 50 + shift]])
    tree = ChosenTree(
        np.array([1, 3, -1, -1, -1]),
        np.array([2, 4, -1, -1, -1]),
        np.array([0, 1, -1, -1, -1]),
        counts,
        np.zeros(5, dtype=bool),
    )
    found = tree_share(tree, 2, GreedyRule(4 * n, arithmetic="exact"), LIMITS)
    exact = math.log2(math.comb(2 * n, n - shift)) - 2 * n
    assert found.by_column[1][0] <= exact <= found.by_column[1][1]
    assert found.by_column[1][1] - found.by_column[1][0] < 1e-6


def test_where_the_bounds_hold_zero_states_are_looked_at(monkeypatch):
    """What is lost may be all there is: then the states themselves say whether one is left."""
    tree, rule, *_ = fitted(40, 4, 2, 4, noise=0.6)
    windows = Passes.windows

    def blurred(self, column):
        found, lost, bad = windows(self, column)
        mass = np.zeros_like(found[0].mass)
        return {**found, 0: type(found[0])(0, 0, mass, 0, 0.0, 1e-9)}, lost, bad

    monkeypatch.setattr(Passes, "windows", blurred)
    found = tree_share(tree, 4, rule, LIMITS)
    assert found.nothing_at is None
    assert found.log2[0] == -math.inf < found.log2[1] < 0


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (GreedyRule(40, min_samples_leaf=30), "min_samples_leaf is 30"),
        (GreedyRule(40, min_impurity_decrease=0.9), "min_impurity_decrease, 0.9"),
    ],
)
def test_a_broken_limit_is_named(rule, why):
    with pytest.raises(ContradictionError, match=why) as error:
        tree_share(deep()[0], 4, rule, LIMITS)
    assert "node 0" in error.value.conflict[0]


def test_a_pure_node_is_never_split():
    nodes = np.array([[4, 0], [2, 0], [2, 0]])
    tree = ChosenTree(
        np.array([1, -1, -1]), np.array([2, -1, -1]), np.array([0, -1, -1]), nodes, np.zeros(3, dtype=bool)
    )
    with pytest.raises(ContradictionError, match="one class only"):
        tree_share(tree, 1, GreedyRule(4), LIMITS)


def test_a_column_is_split_once_on_a_path():
    tree = ChosenTree(
        np.array([1, 3, -1, -1, -1]),
        np.array([2, 4, -1, -1, -1]),
        np.array([0, 0, -1, -1, -1]),
        np.array([[4, 3], [2, 2], [2, 1], [1, 1], [1, 1]]),
        np.zeros(5, dtype=bool),
    )
    with pytest.raises(ContradictionError, match="node 1: column 0 is constant there"):
        tree_share(tree, 2, GreedyRule(7), LIMITS)


def test_least_decreases_are_of_all_rows():
    with pytest.raises(ReleaseError, match="of 41 rows, the root has 40"):
        tree_share(deep()[0], 4, GreedyRule(41, min_impurity_decrease=1e-9), LIMITS)


def test_a_pure_leaf_is_never_open():
    tree, rule, *_ = deep()
    pure = tree.counts.min(axis=1) == 0
    assert (pure & (tree.column < 0)).any()
    marked = ChosenTree(
        tree.then, tree.otherwise, tree.column, tree.counts, tree.open_leaf | (pure & (tree.column < 0))
    )
    assert tree_share(marked, 4, rule, LIMITS).log2 == tree_share(tree, 4, rule, LIMITS).log2


def test_refusals():
    tree = deep()[0]
    three = ChosenTree(tree.then, tree.otherwise, tree.column, np.pad(tree.counts, ((0, 0), (0, 1))), tree.open_leaf)
    with pytest.raises(Unsupported, match="two classes, there are 3"):
        tree_share(three, 4, GreedyRule(40), LIMITS)
    with pytest.raises(ReleaseError, match="there are 1"):
        tree_share(tree, 1, GreedyRule(40), LIMITS)
    wrong = ChosenTree(tree.then, tree.otherwise, tree.column, tree.counts + (tree.column < 0)[:, None], tree.open_leaf)
    with pytest.raises(ReleaseError, match="its children"):
        tree_share(wrong, 4, GreedyRule(40), LIMITS)


def test_limits():
    tree, rule, *_ = deep()
    with pytest.raises(Inconclusive, match="the time was up"):
        tree_share(tree, 4, rule, Limits(seconds=0.0))
    with pytest.raises(Inconclusive, match="memory"):
        tree_share(tree, 4, rule, Limits(memory=100))
