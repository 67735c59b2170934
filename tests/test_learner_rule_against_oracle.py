"""What is counted under a greedy learner's rule against every dataset of tiny domains: trees and rule lists."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter

import learner_cases as cases
import learner_list_oracle as lists
import learner_oracle as trees
import learner_products as products
import numpy as np
import pytest

from encoders.models.learner_facts import Learner
from recon.learner_rule.chosen_model import check_limits, limits_of, not_used
from solvers.foundation.errors import ContradictionError
from solvers.foundation.limits import Limits
from solvers.greedy.gains import ChosenTree, GreedyRule
from solvers.greedy.rule_lists import ListLevel, ListRule, list_share
from solvers.greedy.sampling import Sampler
from solvers.greedy.tree_counts import tree_share

LIMITS = Limits()
NARROW = 1e-6  # bits between the bounds


def chosen(tree, settings):
    """Return the oracle's tree as the engine's arrays, nodes in the oracle's order."""
    walk = [v for v, _ in tree.walk()]
    then = [i + 1 + v.left.size if v.left else -1 for i, v in enumerate(walk)]
    otherwise = [i + 1 if v.left else -1 for i, v in enumerate(walk)]
    as_numbers = [np.array(x, dtype=np.int64) for x in (then, otherwise, [v.column for v in walk])]
    counts = np.array([v.counts for v in walk], dtype=np.int64)
    return ChosenTree(*as_numbers, counts, np.array(trees.open_leaves(tree, settings)))


def rule_of(tree, settings, arithmetic="float64"):
    least = max(settings.min_samples_leaf, math.ceil(settings.min_weight_fraction_leaf * tree.rows))
    return GreedyRule(tree.rows, settings.criterion, least, settings.min_impurity_decrease, arithmetic)


def inside(bits, count, worlds, *, above=False):
    """Assert that log2(count / worlds) lies in an interval, which is narrow; `above`: at most its upper end."""
    low, high = bits
    assert low <= high <= 0
    if count == 0 and not above:
        assert (low, high) == (-math.inf, -math.inf)
        return
    value = math.log2(count) - math.log2(worlds) if count else -math.inf
    slack = 4e-15 * max(1.0, math.log2(worlds))
    assert value <= high + slack
    if not above:
        assert low - slack <= value
        assert high - low <= NARROW


def tree_agrees(case, *, strict, leaf_rule):
    """Compare the share, each column's share, and where nothing is left."""
    tree, columns, settings = case.tree, case.columns, case.settings
    options = {"strict": strict, "leaf_rule": leaf_rule}
    if not trees.grown_by_rule(tree, settings):
        return "limit"
    share = tree_share(chosen(tree, settings), columns, rule_of(tree, settings), LIMITS, **options)
    found = trees.by_fillings(tree, columns, settings, leaf_rule=leaf_rule)
    count = found.strict if strict else found.could
    if share.exact:
        inside(share.log2, count, found.worlds)
        for bits, (kept, every) in zip(
            share.by_column, products.by_columns(tree, columns, settings, **options), strict=True
        ):
            inside(bits, kept, every)
    else:
        inside(share.log2, count, found.worlds, above=True)
    assert (share.nothing_at is None) == (share.log2[1] > -math.inf)
    if share.nothing_at is not None:
        assert share.nothing_at in products.emptied(tree, columns, settings, **options)
    elif share.exact:
        assert sum(low for low, _ in share.by_node) <= -share.log2[0] + 1e-9
        assert sum(high for _, high in share.by_node) >= -share.log2[1] - 1e-9
    return "nothing" if share.nothing_at else "exact" if share.exact else "bound"


def compare_trees(seeds, free):
    seen = Counter()
    for seed in seeds:
        case = cases.random_case(seed, free=free)
        for strict in (False, True):
            for leaf_rule in (True, False):
                seen[tree_agrees(case, strict=strict, leaf_rule=leaf_rule)] += 1
    return seen


@pytest.mark.slow
def test_shares_of_trees_are_those_of_all_datasets():
    seen = compare_trees(range(150), free=10)
    assert seen["exact"] > 300
    assert seen["nothing"] > 8
    assert seen["bound"] < 9


@pytest.mark.long
@pytest.mark.parametrize("batch", range(8))
def test_shares_of_more_trees(batch):
    compare_trees(range(10_000 + 500 * batch, 10_500 + 500 * batch), free=14)


@pytest.mark.slow
def test_a_split_that_breaks_its_own_limit_is_a_contradiction():
    """What the rule itself is told of: least rows of a child, least decrease, a pure node."""
    refused = 0
    for seed in range(400):
        case = cases.random_case(seed, free=10)
        if trees.grown_by_rule(case.tree, case.settings):
            continue
        kept = dataclasses.replace(case.settings, max_depth=None, min_samples_split=2, max_leaf_nodes=None)
        if trees.grown_by_rule(case.tree, kept):
            continue
        refused += 1
        with pytest.raises(ContradictionError, match="node"):
            tree_share(chosen(case.tree, kept), case.columns, rule_of(case.tree, kept), LIMITS)
    assert refused > 20


@pytest.mark.slow
def test_where_nothing_is_left_unused_the_share_is_that_of_growing_every_dataset():
    """Best-first trees too: where all leaves that may be are there, their order says more, and that is admitted."""
    used = fewer = 0
    for seed in range(250):
        case = cases.random_case(seed, free=9)
        if not trees.grown_by_rule(case.tree, case.settings):
            continue
        tree = chosen(case.tree, case.settings)
        found = trees.by_growing(case.tree, case.columns, case.settings)
        above = bool(not_used(learner_of(case.settings), tree))
        share = tree_share(tree, case.columns, rule_of(case.tree, case.settings), LIMITS)
        inside(share.log2, found.could, found.worlds, above=above)
        used += not above
        fewer += above and share.log2[0] > math.log2(max(found.could, 0.5) / found.worlds) + 1e-9
    assert used > 100
    assert fewer > 0


def learner_of(settings):
    return Learner(
        "sklearn tree",
        settings.criterion,
        max_depth=settings.max_depth,
        min_samples_split=settings.min_samples_split,
        min_samples_leaf=settings.min_samples_leaf,
        min_weight_fraction_leaf=settings.min_weight_fraction_leaf,
        max_leaf_nodes=settings.max_leaf_nodes,
        min_impurity_decrease=settings.min_impurity_decrease,
    )


@pytest.mark.slow
def test_limits_stop_the_leaves_and_forbid_the_splits_of_the_oracle():
    """Open leaves are the oracle's; a tree is refused where its figures break a limit, and only then."""
    refused = asked = 0
    for seed in range(600):
        case = cases.random_case(seed, free=14)
        tree, learner = chosen(case.tree, case.settings), learner_of(case.settings)
        columns = [f"c{c}" for c in range(case.columns)]
        if not trees.grown_by_rule(case.tree, case.settings):
            refused += 1
            with pytest.raises(ContradictionError):
                counted(case, learner, tree, columns)
            continue
        counted(case, learner, tree, columns)
        stopped = open_without_effect(case.tree, case.settings)
        found = limits_of(learner, tree)
        assert (found | stopped == tree.open_leaf | stopped).all()
        asked += int((found & ~stopped).sum())
    assert refused > 20
    assert asked > 20


def counted(case, learner, tree, columns):
    """Count a tree as the questions do: a decrease within rounding of the least is left to the share to refuse."""
    check_limits(learner, tree, "the tree", columns)
    return tree_share(tree, case.columns, rule_of(case.tree, case.settings), LIMITS)


def open_without_effect(tree, settings):
    """Return which nodes are too small for any split: whether a limit stopped them makes no difference."""
    least = max(settings.min_samples_leaf, math.ceil(settings.min_weight_fraction_leaf * tree.rows))
    return np.array([v.rows < 2 * least for v, _ in tree.walk()])


def test_the_tree_of_every_fit_is_among_those_counted():
    """scikit-learn on random rows: its own rows are a world, so the share is at least one filling."""
    rng = np.random.default_rng(8)
    for seed in range(60):
        settings = cases.random_settings(rng, 12)
        n, columns = int(rng.integers(8, 40)), int(rng.integers(2, 6))
        rows = [(tuple(rng.integers(0, 2, columns).tolist()), int(rng.integers(2))) for _ in range(n)]
        tree = trees.fitted(rows, 2, settings, seed)
        share = tree_share(chosen(tree, settings), columns, rule_of(tree, settings), LIMITS)
        assert share.nothing_at is None
        assert share.log2[1] >= -n * columns
        wide = tree_share(chosen(tree, settings), columns, rule_of(tree, settings, "exact"), LIMITS)
        assert wide.log2[1] >= share.log2[0]
        assert not wide.exact


def larger_rows(seed, rows):
    """Return tens of rows whose classes follow the columns a little, and the number of classes."""
    rng = np.random.default_rng(seed)
    columns = int(rng.integers(3, 6))
    bits = rng.integers(0, 2, (rows, columns))
    labels = (rng.random(rows) < 0.3 + 0.3 * bits[:, 0] + 0.2 * bits[:, 1]).astype(int)
    return [(tuple(b), int(k)) for b, k in zip(bits.tolist(), labels.tolist(), strict=True)], 2


def larger(seed, rows):
    """Return a tree that scikit-learn fits to such rows, its columns and settings."""
    data, classes = larger_rows(seed, rows)
    rng = np.random.default_rng(seed)
    settings = trees.Settings(
        str(rng.choice(["gini", "entropy"])),
        max_depth=int(rng.integers(1, 4)),
        min_samples_leaf=int(rng.choice([1, 1, 3])),
        min_impurity_decrease=float(rng.choice([0.0, 0.0, 0.01])),
    )
    return trees.fitted(data, classes, settings, seed), len(data[0][0]), settings


def larger_agrees(seed, rows):
    tree, columns, settings = larger(seed, rows)
    every = [rows - sum(leaf.rows for leaf in passing(tree, c)) for c in range(columns)]
    for strict in (False, True):
        share = tree_share(chosen(tree, settings), columns, rule_of(tree, settings), LIMITS, strict=strict)
        kept = products.by_states(tree, columns, settings, strict=strict)
        for bits, count, cells in zip(share.by_column, kept, every, strict=True):
            inside(bits, count, 1 << cells, above=not share.exact)


@pytest.mark.slow
def test_gains_as_fractions_are_an_upper_bound():
    """Of 40 rows and more, some exact ties are never won in floats: more worlds are left where gains are fractions."""
    differ = 0
    for seed in range(300, 312):
        _, columns, settings = larger(seed, 40)
        settings = dataclasses.replace(settings, criterion="gini", min_impurity_decrease=0.0)
        tree = trees.fitted(*larger_rows(seed, 40), settings, seed)
        kept = products.by_states(tree, columns, settings, exact=True)
        share = tree_share(chosen(tree, settings), columns, rule_of(tree, settings, "exact"), LIMITS)
        for c, (bits, count) in enumerate(zip(share.by_column, kept, strict=True)):
            inside(bits, count, 1 << (40 - sum(v.rows for v in passing(tree, c))))
        floats = products.by_states(tree, columns, settings)
        assert all(a <= b for a, b in zip(floats, kept, strict=True))
        differ += floats != kept
    assert differ > 0


def passing(tree, column):
    """Return the nodes that split on a column: their rows' cells are fixed (a path asks once for a column)."""
    return [v for v, _ in tree.walk() if v.column == column]


def test_shares_at_tens_of_rows_with_the_ties_of_floats():
    for seed in range(12):
        larger_agrees(seed, 16 + seed)


@pytest.mark.long
@pytest.mark.parametrize("batch", range(6))
def test_shares_at_more_rows(batch):
    for seed in range(100 * batch, 100 * batch + 25):
        larger_agrees(seed, 30 + seed % 31)


@pytest.mark.slow
def test_worlds_under_the_rule_are_drawn_uniformly():
    """Every world drawn is one in which the tree could be chosen, and each of a few is drawn as often (chi-square)."""
    rng, looked = np.random.default_rng(5), 0
    for seed in range(200):
        case = cases.random_case(seed, free=6)
        tree, settings = case.tree, case.settings
        if looked == 6 or not trees.grown_by_rule(tree, settings):
            continue
        found = trees.by_fillings(tree, case.columns, settings)
        if not 4 <= found.could <= 24 or found.could == found.worlds:
            continue
        looked += 1
        sampler = Sampler.of(chosen(tree, settings), case.columns, rule_of(tree, settings), LIMITS)
        assert sampler.exact
        drawn = Counter(sampler.world(rng).tobytes() for _ in range(60 * found.could))
        assert len(drawn) == found.could
        statistic = sum((n - 60) ** 2 / 60 for n in drawn.values())
        assert statistic < found.could - 1 + 6 * math.sqrt(2 * found.could)
        labels = sampler.class_of_row.tolist()
        for world in drawn:
            bits = np.frombuffer(world, dtype=bool).reshape(len(labels), case.columns).astype(int).tolist()
            rows = [(tuple(b), k) for b, k in zip(bits, labels, strict=True)]
            wide = dataclasses.replace(settings, max_leaf_nodes=None)
            full = settings.max_leaf_nodes is not None and len(tree.leaves) >= settings.max_leaf_nodes
            assert full or tree in trees.possible_trees(rows, 2, wide)
    assert looked == 6


# --- rule lists -----------------------------------------------------------------------------------------------------


def list_agrees(seed, free):
    """Compare the share of a list with and without what its default rule says, each column's, and what is left."""
    model, columns, settings = lists.random_case(seed, free=free)
    levels = [*(ListLevel(c, v, counts) for c, v, counts in model.rules), ListLevel(-1, 0, model.default)]
    rule = ListRule(settings.min_support, settings.max_length, settings.negations, settings.ties)
    seen = []
    for default_rule in (True, False):
        found = lists.by_fillings(model, columns, settings, default_rule=default_rule)
        try:
            share = list_share(levels, columns, rule, LIMITS, default_rule=default_rule)
        except ContradictionError:
            assert found.could == 0
            seen.append("limit")
            continue
        inside(share.log2, found.could, found.worlds, above=not share.exact)
        kept = lists.by_columns(model, columns, settings, default_rule=default_rule)
        for bits, (count, every) in zip(share.by_column, kept, strict=True):
            inside(bits, count, every, above=not share.exact)
        assert (share.nothing_at is None) == (found.could > 0)
        if share.nothing_at is not None:
            assert share.nothing_at in lists.emptied(model, columns, settings, default_rule=default_rule)
        seen.append("exact" if found.could else "nothing")
    return seen


def compare_lists(seeds, free):
    return Counter(kind for seed in seeds for kind in list_agrees(seed, free))


@pytest.mark.slow
def test_shares_of_lists_are_those_of_all_datasets():
    seen = compare_lists(range(100), free=10)
    assert seen["exact"] > 80
    assert seen["limit"] > 6


def larger_list_agrees(seed, rows):
    """Compare each column's share of a list that was learned on tens of rows, where scores are tied in fractions."""
    data, classes = larger_rows(seed, rows)
    columns, settings = len(data[0][0]), lists.ListSettings(1 + seed % 3, [None, 3, 4][seed % 4 % 3], seed % 5 > 0)
    model = lists.learned(data, classes, settings)
    levels = [*(ListLevel(c, v, counts) for c, v, counts in model.rules), ListLevel(-1, 0, model.default)]
    rule = ListRule(settings.min_support, settings.max_length, settings.negations)
    share = list_share(levels, columns, rule, LIMITS)
    for bits, (count, every) in zip(share.by_column, lists.by_states(model, columns, settings), strict=True):
        assert count > 0
        inside(bits, count, every, above=not share.exact)
    return share.exact


@pytest.mark.slow
def test_shares_of_lists_at_tens_of_rows():
    assert sum(larger_list_agrees(seed, 14 + seed) for seed in range(12)) > 8


@pytest.mark.long
@pytest.mark.parametrize("batch", range(4))
def test_shares_of_lists_at_more_rows(batch):
    assert sum(larger_list_agrees(seed, 26 + seed % 15) for seed in range(15 * batch, 15 * batch + 15)) > 10


def test_where_no_filling_of_a_list_is_left():
    """Rule 1 tests column 1, which alone would have told all rows apart at the top."""
    levels = [ListLevel(0, 1, (1, 0)), ListLevel(1, 1, (2, 0)), ListLevel(-1, 0, (0, 3))]
    share = list_share(levels, 2, ListRule(), LIMITS)
    model = lists.RuleList(((0, 1, (1, 0)), (1, 1, (2, 0))), (0, 3))
    assert lists.by_fillings(model, 2, lists.ListSettings()).could == 0
    assert share.log2 == (-math.inf, -math.inf)
    assert share.nothing_at == (0, 1)
    assert lists.emptied(model, 2, lists.ListSettings()) == {(0, 1)}


@pytest.mark.long
@pytest.mark.parametrize("batch", range(8))
def test_shares_of_more_lists(batch):
    compare_lists(range(10_000 + 500 * batch, 10_500 + 500 * batch), free=14)
