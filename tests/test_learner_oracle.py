"""The oracle of the learner's rule against itself: its ways to one number agree, and scikit-learn's fits lie in it."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter

import learner_cases as cases
import learner_fact_oracle as facts
import learner_list_oracle as lists
import learner_oracle as trees
import learner_products as products
import numpy as np
import pytest
from learner_oracle import Node, Settings

from solvers.foundation.errors import ReleaseError

DEPTH_TWO = Settings(max_depth=2)
FITS = [
    (4, 2, 2, Settings()),
    (4, 2, 2, Settings("entropy", max_depth=1)),
    (4, 2, 2, Settings(min_samples_leaf=2)),
    (4, 2, 2, Settings(min_impurity_decrease=0.125)),
    (4, 2, 2, Settings("entropy", max_leaf_nodes=2)),
    (3, 2, 3, Settings("entropy", min_samples_split=3)),
]
LONG_FITS = [
    (5, 2, 2, Settings()),
    (5, 2, 2, Settings("entropy", max_leaf_nodes=3)),
    (6, 2, 2, Settings(max_leaf_nodes=3, min_samples_leaf=2)),
    (6, 2, 2, Settings(min_impurity_decrease=0.05, min_samples_split=3)),
    (5, 2, 3, Settings("entropy", max_leaf_nodes=4)),
    (6, 2, 2, Settings(min_weight_fraction_leaf=0.3)),
    (4, 3, 2, Settings(max_depth=2)),
    (4, 3, 2, Settings("entropy", max_leaf_nodes=3)),
    (5, 3, 2, Settings(max_depth=2, min_samples_leaf=2)),
]


def all_trees(n, columns, classes, settings):
    """Return for every tree that any dataset may lead to the datasets with it, and with it alone."""
    could, strict = Counter(), Counter()
    for rows, times in trees.multisets(n, columns, classes):
        possible = trees.possible_trees(rows, classes, settings)
        for tree in possible:
            could[tree] += times
            strict[tree] += times * (len(possible) == 1)
    return could, strict


def agree(n, columns, classes, settings):
    """Fit every dataset: each fit's tree is possible, every possible tree appears; all four ways count the same."""
    for rows, _ in trees.multisets(n, columns, classes):
        possible = trees.possible_trees(rows, classes, settings)
        seen = set()
        for seed in range(400):
            seen.add(trees.fitted(rows, classes, settings, seed))
            if seen >= possible and seed >= 2:
                break
        assert seen == possible, rows
    could, strict = all_trees(n, columns, classes, settings)
    for tree in could:
        times = trees.orderings(tree)
        grown = trees.by_growing(tree, columns, settings)
        assert (grown.could * times, grown.strict * times) == (could[tree], strict[tree])
        if settings.max_leaf_nodes is None or len(tree.leaves) < settings.max_leaf_nodes:
            same_without_growing(tree, columns, settings, grown)


def same_without_growing(tree, columns, settings, grown):
    assert trees.by_fillings(tree, columns, settings) == grown
    for strict, count in ((False, grown.could), (True, grown.strict)):
        by_column = products.by_columns(tree, columns, settings, strict=strict)
        assert math.prod(all_of_it for _, all_of_it in by_column) == grown.worlds
        assert math.prod(kept for kept, _ in by_column) * trees.grown_by_rule(tree, settings) == count
        assert products.by_states(tree, columns, settings, strict=strict) == [kept for kept, _ in by_column]


@pytest.mark.sampled(1, 2)
@pytest.mark.parametrize(("n", "columns", "classes", "settings"), FITS)
def test_every_fit_of_every_dataset_is_in_the_set_and_all_of_it_appears(n, columns, classes, settings):
    agree(n, columns, classes, settings)


@pytest.mark.long
@pytest.mark.parametrize(("n", "columns", "classes", "settings"), LONG_FITS)
def test_every_fit_of_more_datasets(n, columns, classes, settings):
    agree(n, columns, classes, settings)


@pytest.mark.slow
def test_rows_in_every_order_lead_to_the_same_trees():
    """The multisets stand for their orderings: fit datasets themselves, rows in order."""
    rng, settings = np.random.default_rng(4), Settings(max_leaf_nodes=3)
    for _ in range(40):
        rows = [(tuple(rng.integers(0, 2, 3).tolist()), int(rng.integers(2))) for _ in range(5)]
        orders = [rows, rows[::-1], sorted(rows)]
        found = {frozenset(trees.fitted(order, 2, settings, seed) for seed in range(12)) for order in orders}
        assert len(found) == 1


def check_case(seed, **kinds):
    case = cases.random_case(seed, **kinds)
    grown = trees.by_growing(case.tree, case.columns, case.settings)
    limit = case.settings.max_leaf_nodes
    if limit is None or len(case.tree.leaves) < limit:
        same_without_growing(case.tree, case.columns, case.settings, grown)
    elif len(case.tree.leaves) == limit:  # the best-first order only takes worlds away
        wide = trees.by_fillings(case.tree, case.columns, case.settings)
        assert grown.could <= wide.could
        assert grown.strict <= wide.strict
    return grown


@pytest.mark.slow
def test_all_ways_agree_on_random_trees():
    found = [check_case(seed, free=9) for seed in range(100)]
    assert sum(w.could > w.strict for w in found) > len(found) / 10
    assert sum(w.strict > 0 for w in found) > len(found) / 10
    assert sum(w.could == 0 for w in found) > 0


@pytest.mark.slow
def test_all_ways_agree_on_random_trees_of_three_classes():
    for seed in range(40):
        check_case(seed, free=9, classes=3)


@pytest.mark.long
@pytest.mark.parametrize("batch", range(10))
def test_all_ways_agree_on_many_random_trees(batch):
    for seed in range(1000 + 300 * batch, 1300 + 300 * batch):
        check_case(seed, free=12, classes=2 + seed % 2)


def test_the_leaf_rule_can_be_left_out():
    for seed in range(60):
        case = cases.random_case(seed, free=9)
        without = trees.by_fillings(case.tree, case.columns, case.settings, leaf_rule=False)
        assert without.could >= trees.by_fillings(case.tree, case.columns, case.settings).could
        if trees.grown_by_rule(case.tree, case.settings):
            by_column = products.by_columns(case.tree, case.columns, case.settings, leaf_rule=False)
            assert math.prod(kept for kept, _ in by_column) == without.could


def test_a_column_without_a_filling_is_found_at_the_lowest_node():
    """Both halves are split on column 1, which alone tells the classes apart: it should have been first."""
    halves = Node((1, 1), 1, Node((1, 0)), Node((0, 1)))
    tree = Node((2, 2), 0, halves, halves)
    assert trees.by_growing(tree, 3, DEPTH_TWO).could == 0
    assert products.emptied(tree, 3, DEPTH_TWO) == {(0, 1)}
    assert [kept for kept, _ in products.by_columns(tree, 3, DEPTH_TWO)] == [1, 0, 6]  # column 2: no gain at the root


def best_first_bounds(seeds):
    """Compare products that know the order in which a best-first tree grew with growing every dataset."""
    asked = exact = tighter = 0
    for seed in seeds:
        case = cases.random_case(seed, free=9)
        tree, settings = case.tree, case.settings
        if len(tree.leaves) != settings.max_leaf_nodes or not trees.grown_by_rule(tree, settings):
            continue
        grown = trees.by_growing(tree, case.columns, settings)
        lower, upper = products.best_first_products(tree, case.columns, settings)
        assert lower <= grown.strict
        assert grown.could <= upper <= trees.by_fillings(tree, case.columns, settings).could
        asked, exact = asked + 1, exact + ((lower, upper) == (grown.strict, grown.could))
        tighter += upper < trees.by_fillings(tree, case.columns, settings).could
    return asked, exact, tighter


@pytest.mark.slow
def test_waiting_leaves_improve_no_more_than_nodes_taken_after_them():
    asked, exact, tighter = best_first_bounds(range(350))
    assert exact > 0.9 * asked > 25
    assert tighter > 0


@pytest.mark.long
def test_waiting_leaves_of_more_trees():
    asked, exact, _ = best_first_bounds(range(1000, 5000))
    assert exact > 0.9 * asked


def test_figures_by_hand():
    """Two rows of two classes and two columns: either column alone, or both, may tell them apart."""
    stump = Node((1, 1), 0, Node((1, 0)), Node((0, 1)))
    assert trees.by_growing(stump, 2, Settings()) == trees.Worlds(4, 4, 2)  # column 1 ties where it differs
    leaf = Node((1, 1))
    assert trees.by_growing(leaf, 2, Settings()) == trees.Worlds(16, 4, 4)  # both columns constant
    assert trees.by_growing(leaf, 2, Settings(max_depth=0)) == trees.Worlds(16, 16, 16)
    assert trees.by_growing(leaf, 2, Settings(min_samples_leaf=2)) == trees.Worlds(16, 16, 16)
    assert trees.by_growing(leaf, 2, Settings(min_impurity_decrease=0.6)) == trees.Worlds(16, 16, 16)
    assert trees.by_growing(leaf, 2, Settings(min_impurity_decrease=0.5)) == trees.Worlds(16, 4, 4)


def test_floats_decide_some_exact_ties():
    """Of 60 rows, two splits of exactly one gain may differ in the last bit of their scores: one of them never wins."""
    total, of_gain = (25, 35), {}
    for ones in np.ndindex(26, 36):
        zeros = trees.minus(total, ones)
        if Settings().allows(zeros, ones, 60):
            of_gain.setdefault(products.exact_score(zeros, ones), set()).add(trees.score("gini", zeros, ones))
    assert any(len(floats) > 1 for floats in of_gain.values())


def test_the_heap_is_a_heap():
    rng = np.random.default_rng(0)
    for _ in range(200):
        heap, gone = [], []
        for gain in rng.integers(0, 5, 12):
            trees.push_heap(heap, trees._Open((1, 1), 0, None, float(gain)))
        while heap:
            gone.append(trees.pop_heap(heap).gain)
        assert gone == sorted(gone, reverse=True)


# --- rule lists -----------------------------------------------------------------------------------------------------

LISTS = [
    (4, 2, 2, lists.ListSettings()),
    (5, 2, 2, lists.ListSettings(2, 3)),
    (4, 2, 2, lists.ListSettings(negations=False)),
    (3, 2, 3, lists.ListSettings(max_length=2)),
    (4, 2, 2, lists.ListSettings(ties="authors")),
    (5, 2, 2, lists.ListSettings(2, ties="authors")),
]
LONG_LISTS = [
    (4, 3, 2, lists.ListSettings(max_length=3)),
    (5, 3, 2, lists.ListSettings(2)),
    (6, 2, 2, lists.ListSettings()),
    (5, 3, 2, lists.ListSettings(negations=False)),
    (5, 2, 3, lists.ListSettings()),
]


def lists_agree(n, columns, classes, settings):
    found = lists.by_fitting(n, columns, classes, settings)
    assert sum(found.values()) == (classes * 2**columns) ** n
    for model, datasets in found.items():
        assert lists.consistent(model)
        found_here = lists.by_fillings(model, columns, settings)
        assert found_here.could * lists.orderings(model) == datasets
        by_column = lists.by_columns(model, columns, settings)
        assert math.prod(kept for kept, _ in by_column) == found_here.could
        assert math.prod(every for _, every in by_column) == found_here.worlds
        if settings.ties == "fewest":
            assert lists.by_states(model, columns, settings) == by_column


@pytest.mark.sampled(1, 3)
@pytest.mark.parametrize(("n", "columns", "classes", "settings"), LISTS)
def test_lists_of_every_dataset(n, columns, classes, settings):
    lists_agree(n, columns, classes, settings)


@pytest.mark.long
@pytest.mark.parametrize(("n", "columns", "classes", "settings"), LONG_LISTS)
def test_lists_of_more_datasets(n, columns, classes, settings):
    lists_agree(n, columns, classes, settings)


def test_a_list_by_hand():
    """Rows of class 0 and 1 with one column: "column 0 is 1" captures one row, as "is 0" would, and comes first."""
    model = lists.RuleList(((0, 1, (1, 0)),), (0, 1))
    assert lists.by_fillings(model, 1, lists.ListSettings()).could == 1
    other = lists.RuleList(((0, 0, (0, 1)),), (1, 0))
    assert lists.by_fillings(other, 1, lists.ListSettings()).could == 0
    assert lists.by_fillings(lists.RuleList((), (1, 1)), 1, lists.ListSettings()).could == 2  # constant
    assert lists.by_fillings(lists.RuleList((), (1, 1)), 1, lists.ListSettings(max_length=1)).could == 4


def test_the_learner_refuses_what_it_cannot_read():
    with pytest.raises(ReleaseError):
        lists.learned([((2,), 0), ((0,), 1)], 2, lists.ListSettings())


# --- hard facts of fitted trees -------------------------------------------------------------------------------------


def facts_hold(seeds):
    kinds = Counter()
    for seed in seeds:
        for one in facts.random_fits(seed):
            assert one.broken() == [], seed
            kinds.update(facts.facts_of(one.fit))
            kinds["fits"] += 1
    return kinds


@pytest.mark.slow
def test_facts_of_random_fits():
    kinds = facts_hold(range(200))
    assert kinds["fits"] >= 250
    assert min(kinds[name] for name in ("leaf", "midpoint", "between", "children", "beaten")) > 20


@pytest.mark.long
@pytest.mark.parametrize("batch", range(7))
def test_facts_of_ten_thousand_random_fits(batch):
    assert facts_hold(range(1000 * (batch + 1), 1000 * (batch + 2)))["fits"] > 1430


@pytest.mark.slow
def test_other_rows_break_the_facts():
    """Each fact can fail: rows with one column mixed, or replaced, do not satisfy a tree's facts."""
    rng, broken = np.random.default_rng(3), Counter()
    for seed in range(250):
        for one in facts.random_fits(seed):
            mixed = one.data.copy()
            c = int(rng.integers(one.fit.columns))
            mixed[:, c] = facts.random_values(rng, len(mixed)) if rng.random() < 0.5 else rng.permuted(mixed[:, c])
            broken.update({fact.split()[0] for fact in one.broken(mixed)})
    assert min(broken[name] for name in ("midpoint", "children", "beaten")) > 10, broken
    assert broken["leaf"] > 0


@pytest.mark.parametrize(
    ("settings", "column", "fits"),
    [
        ({}, [5, 5, 5, 6], False),
        ({}, [5, 5, 5, 5 + 1e-9], True),
        ({}, [5, 5, 5, np.nan], False),
        ({"min_samples_leaf": 2}, [5, 5, 5, 6], True),
        ({"min_samples_leaf": 2}, [5, 5, 6, 6], False),
        ({"min_samples_split": 5}, [5, 5, 6, 6], True),
        ({"max_depth": 1}, [5, 5, 5, 6], False),
        ({"max_leaf_nodes": 2}, [5, 5, 5, 6], False),
        ({"min_weight_fraction_leaf": 0.3}, [5, 5, 5, 6], True),
        ({"min_impurity_decrease": 0.2}, [5, 5, 5, 6], True),
        ({"ccp_alpha": 0.2}, [5, 5, 5, 6], True),
        ({"splitter": "random"}, [5, 5, 5, 6], False),
        ({"splitter": "random"}, [5, 5, 5, np.nan], True),
        ({"splitter": "random", "min_samples_leaf": 2}, [5, 5, 6, 6], True),
    ],
)
def test_a_leaf_says_that_nothing_could_be_split(settings, column, fits):
    """Four rows alike in one leaf, fitted: would others in their place have been split?"""
    one = grown([[0, 5]] * 4, [0, 1, 0, 1], **settings)
    assert one.tree.node_count == 1
    assert one.broken() == []
    others = np.array([[0, v] for v in column], dtype=np.float32)
    assert one.broken(others) == ([] if fits else ["leaf at 0"])
    if fits and "splitter" not in settings:
        assert grown(others, [0, 1, 0, 1], **settings).tree.node_count == 1


def grown(data, labels, **settings):
    """Return a fitted classifier with its rows."""
    from sklearn.tree import DecisionTreeClassifier

    values, weight = np.array(data, dtype=np.float32), np.ones(len(labels))
    model = DecisionTreeClassifier(**settings).fit(values, labels)
    return facts.Fitted(values, np.array(labels), weight, model.tree_, facts.fit_of(model, len(labels), weight))


def test_a_column_of_tiny_steps_is_drawn_in_vain():
    """With one column per node, a chain of values without a gap may be the one: the other column is never tried."""
    data, labels = [[0, 0], [9e-8, 1], [1.8e-7, 0], [1.8e-7, 1]], [0, 1, 0, 1]
    tried = [grown(data, labels, max_features=1, random_state=seed) for seed in range(50)]
    assert {one.tree.node_count for one in tried} == {1, 3}
    assert not any(one.broken() for one in tried)
    assert grown(data, labels).tree.node_count == 3
    unsplit = next(one for one in tried if one.tree.node_count == 1)
    of_all = dataclasses.replace(unsplit, fit=dataclasses.replace(unsplit.fit, tried=2))
    assert of_all.broken() == ["leaf at 0"]  # if both columns had been tried, it would have been split


def test_rounding_makes_a_split_without_gain_a_loss():
    """Refused although `min_impurity_decrease` is 0: no leaf fact for regression, nor for entropy of many classes."""
    from sklearn.tree import DecisionTreeRegressor

    a, b = -12.459109472530653, -7.322673547034516
    flat = DecisionTreeRegressor().fit([[0.0], [0.0], [1.0], [1.0]], [a, b, a, b])
    assert flat.tree_.node_count == 1
    assert flat.tree_.impurity[0] > 6
    counts, ones = (5, 10, 10, 5, 10, 5), (4, 8, 8, 4, 8, 4)
    assert trees.improvement("entropy", trees.minus(counts, ones), ones, 45) + trees.EPSILON < 0
    labels = np.repeat(np.arange(6), counts).tolist()
    column = [[int(i < one)] for c, one in zip(counts, ones, strict=True) for i in range(c)]
    assert grown(column, labels, criterion="entropy").tree.node_count == 1
    assert grown(column, labels, criterion="gini").tree.node_count > 1


def test_tiny_steps_large_whole_numbers_and_gaps():
    """0, 9e-8, 1.8e-7 and 2^24, 2^24 + 1 are one value; rows without a value may be split off, threshold infinite."""
    for values in ([0, 9e-8, 1.8e-7, 1.8e-7], [2**24, 2**24 + 1, 2**24, 2**24 + 1]):
        one = grown([[v] for v in values], [0, 1, 0, 1])
        assert one.tree.node_count == 1
        assert one.broken() == []
    one = grown([[1.0], [1.0], [np.nan], [np.nan]], [0, 0, 1, 1])
    assert one.tree.threshold[0] == np.inf
    assert one.broken() == []
    assert one.broken(np.array([[1.0], [np.nan], [np.nan], [np.nan]], dtype=np.float32)) != []
    assert one.broken(np.ones((4, 1), dtype=np.float32)) != []
