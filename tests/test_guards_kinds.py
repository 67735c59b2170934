"""Guards of the kinds of models: each refusal is reached by a model that lacks one thing, and what is right passes."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from encoders.domain.domain import GUESSED, Domain
from encoders.domain.values import Categorical, Grid, Test, View
from encoders.encode.encoder import encode
from encoders.encode.known import with_known_rows
from encoders.kinds.boosting import _leaves_below
from encoders.kinds.forest import _known_bags
from encoders.kinds.known_rows import KnownRegions
from encoders.kinds.split_midpoints import Midpoints, _node_counts, node_regions
from encoders.kinds.tree import leaf_boxes
from encoders.models.knowledge import KnownRows
from encoders.models.linear_figures import LinearFigure, LinearTerm
from encoders.models.models import (
    Boosting,
    Forest,
    Noise,
    PublishedFigure,
    Rule,
    RuleList,
    RuleSet,
    Statistic,
    Table,
    Tree,
    TreeSums,
)
from encoders.models.nodes import ModelNode, Support
from recon.readers.loading.known_positions import known_rows
from solvers.engines.figures.partition import PartitionFigures
from solvers.foundation.errors import EngineError, ReleaseError
from solvers.foundation.limits import Limits
from solvers.statements.gradients.boosted import Gradients
from solvers.statements.noise.laws import NoiseLaw
from solvers.statements.release import UNBOUNDED, Partition, RowCount

DOMAIN = Domain((Grid.between("age", 0, 9), Categorical("a", ("x", "y", "z"))), Categorical("y", (0, 1)))
X, Y = (("a", Test(("x",))),), (("y", Test((1,))),)
OLD = (("age", Test(low=5)),)


BARE = Support()


def tree(*leaves, condition=X, inner=BARE):
    """Return a tree of one test."""
    return Tree((ModelNode(inner, condition, 1, 2), *map(ModelNode, leaves)))


def refused(models, said, domain=DOMAIN, rows=None):
    with pytest.raises(ReleaseError, match=said):
        encode(domain, models, rows)


ROWS, CLASSES = tree(Support(None, 2), Support(None, 3)), tree(Support((2, 1)), Support((0, 3)))

# ---------------------------------------------------------------- boosted models

ONE = np.ones(1)
SUMS = TreeSums(0, 0, np.array([0.1, 0.2]), np.array([1]), ONE, 0 * ONE, 0 * ONE, -ONE, ONE, ("value",))
LAW = Gradients("log_loss", "float64", "float64", 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
BOOSTED = Boosting((ROWS,), (SUMS,), LAW, (0.0,), (0.0,), (0, 1))
TWO = replace(BOOSTED, trees=(ROWS, ROWS), sums=(SUMS, SUMS))


def of_sums(**more):
    return replace(BOOSTED, sums=(replace(SUMS, **more),))


def of_two_sums(nodes=(0, 1), low=(-1, -1)):
    two = np.ones(2)
    return of_sums(
        node=np.array(nodes), gradient=two, hessian=0 * two, square=0 * two, low=np.array(low), high=two,
        what=("value", "value"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (replace(BOOSTED, trees=(tree(Support(), Support()),)), "no tree says how many rows its leaves have"),
        (replace(TWO, sums=(replace(SUMS, round=1), SUMS)), "round 0 after round 1"),
        (replace(TWO, sums=(SUMS,)), "1 lists of sums for 2 trees"),
        (replace(BOOSTED, start=(0.0, 0.0)), "'log_loss' with 2 classes has 1 scores to start from, not 2"),
        (replace(BOOSTED, base=()), "'log_loss' with 2 classes has 1 scores to start from, not 0"),
        (replace(BOOSTED, gradients=replace(LAW, loss="squared_error")), "the target of 'squared_error' is a number"),
        (replace(BOOSTED, labels=(0, 2)), "the label has 2 values, the model 2 classes"),
        (replace(BOOSTED, labels=(1, 1)), "the label has 2 values, the model 2 classes"),
        (replace(BOOSTED, labels=(0,)), "the label has 2 values, the model 1 classes"),
        (of_sums(step=np.zeros(3)), "3 steps for 2 leaves"),
        (of_sums(of=1), "there is no score 1"),
        (of_sums(of=-1), "there is no score -1"),
        (of_sums(what=()), "the lists of the sums are not equally long"),
        (of_sums(high=np.ones(2)), "the lists of the sums are not equally long"),
        (of_sums(node=np.array([3])), "a sum is about a node that does not exist"),
        (of_sums(node=np.array([-1])), "a sum is about a node that does not exist"),
        (of_two_sums(nodes=(0, 3)), "a sum is about a node that does not exist"),
        (of_two_sums(nodes=(0, -1)), "a sum is about a node that does not exist"),
        (of_two_sums(low=(-1, 2)), "an interval is empty, or a number is not finite"),
        (of_sums(low=2 * ONE), "an interval is empty, or a number is not finite"),
        (of_sums(high=np.inf * ONE), "an interval is empty, or a number is not finite"),
    ],
)
def test_sums_that_do_not_fit_their_trees_are_refused(model, said):
    encode(DOMAIN, [BOOSTED])
    encode(DOMAIN, [of_two_sums()])
    encode(DOMAIN, [of_sums(low=ONE)])  # one value is an interval, too
    refused([model], said)


def test_of_more_than_two_classes_every_one_has_a_score():
    three = replace(DOMAIN, label=Categorical("y", (0, 1, 2)))
    model = replace(BOOSTED, gradients=replace(LAW, loss="softmax"), start=(0,) * 3, base=(0,) * 3, labels=(0, 1, 2))
    assert encode(three, [model]).rows == RowCount(5, 5)
    refused([model], "the label has 2 values, the model 3 classes")


def open_tree(law, hessians, **more):
    """Return between how many of 5 rows the three leaves of a tree without counts have; the first says a sum."""
    chain = (ModelNode(BARE, OLD, 1, 2), ModelNode(BARE), ModelNode(BARE, X, 3, 4), ModelNode(BARE), ModelNode(BARE))
    low, high = math.nextafter(math.fsum(hessians), 0), math.nextafter(math.fsum(hessians), math.inf)
    plain = {"node": np.array([1]), "gradient": 0 * ONE, "hessian": ONE, "low": low * ONE, "high": high * ONE}
    sums = replace(SUMS, round=1, step=np.zeros(3), **plain | more)
    labels, two = ((), None) if law.loss == "squared_error" else ((0, 1), DOMAIN.label)
    zeros = (0.0,) * (2 if law.loss == "softmax" else 1)
    trees = (ROWS, Tree(chain))
    model = replace(BOOSTED, trees=trees, sums=(SUMS, sums), gradients=law, labels=labels, start=zeros, base=zeros)
    found = encode(Domain(DOMAIN.attributes, two), [model]).statements.blocks[1]
    return found.low.tolist(), found.high.tolist()


@pytest.mark.parametrize(
    ("law", "hessian"),
    [
        (replace(LAW, loss="squared_error", scale=3.0, factor=9.0), lambda p: 1.0),
        (replace(LAW, scale=2.0), lambda p: 4 * p * (1 - p)),
        (replace(LAW, scale=0.5), lambda p: p * (1 - p) / 4),
        (replace(LAW, loss="softmax", scale=5.0, factor=2.0), lambda p: 2 * p * (1 - p)),
    ],
)
def test_a_leaf_without_a_count_has_as_many_rows_as_its_hessians_need(law, hessian):
    """Rows of the largest hessian are all proved; of others never more than there are."""
    assert open_tree(law, [hessian(0.5)] * 4) == ([4, 0, 0], [5, 1, 1])
    for shares in ([0.5, 0.1, 0.9], [0.2] * 5, [1e-9]):
        (least, *_), _ = open_tree(law, [hessian(p) for p in shares])
        assert 0 < least <= len(shares)


@pytest.mark.parametrize(
    "more",
    [{"gradient": ONE}, {"square": ONE}, {"hessian": -ONE}, {"low": -ONE}, {"low": 0 * ONE}, {"hessian": 0 * ONE}],
)
def test_a_sum_of_other_than_hessians_needs_no_rows(more):
    assert open_tree(LAW, [0.25] * 4, **more) == ([0] * 3, [5] * 3)


def test_gradients_that_are_0_whatever_the_rows_need_none():
    assert open_tree(replace(LAW, scale=0.0), [0.25] * 4) == ([0] * 3, [5] * 3)


def test_a_number_as_a_target_has_no_classes():
    model = replace(BOOSTED, gradients=replace(LAW, loss="squared_error"), labels=())
    assert encode(Domain(DOMAIN.attributes), [model]).rows == RowCount(5, 5)


def test_links_that_are_no_tree_are_refused_wherever_they_are_met():
    cyclic = Tree((ModelNode(Support(), X, 1, 0), ModelNode(Support(None, 2)), ModelNode(Support(None, 2))))
    for work in (lambda: _leaves_below(cyclic, np.array([0])), lambda: node_regions(cyclic, DOMAIN),
                 lambda: _node_counts(cyclic), lambda: leaf_boxes(cyclic, None, None)):  # fmt: skip
        with pytest.raises(EngineError, match="a tree is encoded only after it was checked"):
            work()


# ---------------------------------------------------------------- forests

BAGGED = Forest((CLASSES,), bootstrap=True)
KNOWN = replace(BAGGED, multiplicities=[[2, 1, 3]])
LABELLED = replace(KNOWN, labels=(0, 0, 1))
SUBSET = Forest((CLASSES,), subsample=True)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Forest(()), "the forest has no trees"),
        (replace(BAGGED, subsample=True), "with replacement .* or without, not both"),
        (replace(BAGGED, labels=(0, 0, 1)), "labels by position need 'multiplicities'"),
        (replace(LABELLED, labels=(0, 1)), "2 labels for 3 rows"),
        (replace(LABELLED, labels=(0, 0, 2)), "2 is no number of a value of 'y'"),
        (replace(KNOWN, multiplicities=[[2, 1, 3], [2, 1, 3]]), "2 bags for 1 trees"),
        (replace(SUBSET, multiplicities=[[2, 1, 1, 1, 1]]), "a row counts 2 times in a sample without replacement"),
        (replace(KNOWN, multiplicities=[[2, 1, 2]]), "they sum to 5, but the tree counts 6 rows"),
        (replace(KNOWN, multiplicities=[[5, 1]]), "they are of 2 rows, but the counts need 3"),
        (replace(KNOWN, trees=(tree(Support((2, 1), distinct=2), Support((0, 3), distinct=2)),)),
         "3 different rows are drawn, but the tree counts 4"),
        (replace(Forest((CLASSES,)), multiplicities=[[1] * 6]), "only resampled rows have them"),
        (replace(Forest((CLASSES,)), labels=(0,) * 6), "only resampled rows have them"),
        (Forest((tree(Support(None, (1 << 53) - 1), Support(None, 2)),)), r"trees\[0\]: the counts sum to 9007"),
        (Forest((CLASSES, ROWS)), r"the tree counts 5 rows, trees\[0\] counts 6"),
    ],
)  # fmt: skip
def test_bags_that_do_not_fit_their_trees_are_refused(model, said):
    refused([model], said)


def test_bags_that_fit_are_read():
    """Trees of resamples count what they saw, of as many rows as are known."""
    half = tree(Support((2, 1), distinct=2), Support((0, 3)))
    for model, rows in ((BAGGED, None), (KNOWN, 3), (LABELLED, 3), (replace(BAGGED, trees=(CLASSES, ROWS)), None),
                        (replace(KNOWN, trees=(half,)), 3), (replace(SUBSET, multiplicities=[[1] * 6]), 6),
                        (SUBSET, None), (Forest((CLASSES,)), 6)):  # fmt: skip
        found = encode(DOMAIN, [model])
        known = model.multiplicities is not None
        assert (found.rows.high, bool(found.statements.bags)) == (rows, known)
        assert (found.statements.blocks[0].draws is None) is (known or not model.resampled)
        assert any("the bags are known" in line for line in found.assumptions) is known
    counted = replace(LABELLED, trees=(tree(Support(None, 3), Support(None, 3)),))
    refused([counted], "the domain has no label", Domain(DOMAIN.attributes))
    with pytest.raises(EngineError, match="the bags of this forest are not known"):
        _known_bags(BAGGED, (), 0, None)


SETS = [s for width in range(2, 6) for s in combinations(range(6), width)]


@pytest.mark.parametrize(
    ("counts", "distinct", "more"),
    [
        ((2, 1), 2, []),  # a row of each class: nothing is left to say
        ((2, 2), 3, [(3, None)]),  # all classes together: a second partition
        ((3, 2, 0), 4, [(4, 0b011)]),  # not of the third class
        ((3, 0, 0), 2, []),
        ((3, 0, 2), 4, [(4, 0b101)]),
        ((1, 1, 2), 4, []),
        ((1, 2, 2), 4, [(4, None), (3, 0b110)]),
        ((1,) * 7, 7, []),
        ((2,) * 6, 11, [(11, None)] + [(2 * len(s) - 1, sum(1 << c for c in s)) for s in SETS]),
    ],
)
def test_classes_say_together_what_none_says_alone(counts, distinct, more):
    domain = replace(DOMAIN, label=Categorical("y", tuple(range(len(counts)))))
    leaves = tree(Support(counts, distinct=distinct), Support((0,) * len(counts), distinct=0))
    encoded = encode(domain, [Forest((leaves,), bootstrap=True)])
    assert not any("used in part only" in line for line in encoded.assumptions)
    _, *blocks = encoded.statements.blocks
    found = []
    for block in blocks:
        if isinstance(block, Partition):
            found.append((int(block.low[0]), None))
            assert block.low[1] == 0
        else:
            found += [(one.low, dict(one.region.box.literals)[2]) for one in block]
    assert found == more


def test_where_the_fewest_rows_are_all_rows_every_count_is_exact():
    """Two draws are of one row or of two, but the two others need a row each, and there are three."""
    one = tree(Support((2, 1)), Support((0, 1)))
    for model, rows in ((replace(KNOWN, trees=(one,), multiplicities=[[1, 2, 1]]), None),
                        (Forest((one,), bootstrap=True), RowCount(3, 3))):  # fmt: skip
        found = encode(DOMAIN, [model], rows).statements.blocks[0]
        assert (found.low.tolist(), found.high.tolist()) == ([1, 1, 0, 1], [1, 1, 0, 1])


@pytest.mark.parametrize(
    ("rows", "low", "high"), [(None, 1, UNBOUNDED), (RowCount(2), 2, UNBOUNDED), (RowCount(0, 9), 1, 9)]
)
def test_a_tree_of_one_leaf_counts_everybody(rows, low, high):
    found = encode(DOMAIN, [Forest((Tree((ModelNode(Support(None, 4)),)),), bootstrap=True)], rows)
    assert (found.statements.single.low.tolist(), found.statements.single.high.tolist()) == ([low], [high])


# ---------------------------------------------------------------- noise

WHOLE, REAL = Noise(NoiseLaw("discrete_laplace", Fraction(1))), Noise(NoiseLaw("laplace", Fraction(1)))
CLAMPED = Noise(NoiseLaw("laplace", Fraction(1), clamped=True))


def linear(*terms, **more):
    return PublishedFigure((), linear=LinearFigure(terms, **more))


def table(*figures, **more):
    return Table(figures, "t", **more)


COUNTED, TERM = PublishedFigure(X, count=2), LinearTerm((X,))
NOT_YET = "noisy counts of resamples"


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (replace(BAGGED, noise=WHOLE), "noisy counts of resamples .* are not read yet"),
        (replace(BOOSTED, noise=WHOLE), "noise on its counts is not read"),
        (table(COUNTED, complete=True, noise=WHOLE), "which combinations hold no row is exact"),
        (replace(tree(Support(None, 1.5), Support(None, 2)), noise=WHOLE), "the noisy count 1.5: it is fractional"),
        (replace(tree(Support(None, 1.5), Support(None, 0)), noise=REAL), "a count of exactly 0 has probability 0"),
        (table(PublishedFigure(X, low=1, high=2), noise=WHOLE), "an interval of counts is in a table whose 'noise'"),
        (table(PublishedFigure(X, statistic=Statistic("mean", "age", 4)), noise=WHOLE), "a mean is in a table whose"),
        (
            table(linear(TERM, low=Fraction(1), high=Fraction(2)), noise=WHOLE),
            "a sum with noise is published as 'value'",
        ),
        (table(linear(TERM, value=Fraction(1), within=Fraction(1)), noise=WHOLE), "a sum with noise is published as"),
        (table(linear(TERM, value=Fraction(1, 2)), noise=WHOLE), "the noisy sum 0.5: it is fractional"),
        (table(linear(replace(TERM, times=Fraction(-1)), value=Fraction(1)), noise=CLAMPED), "with positive 'times'"),
        (table(linear(replace(TERM, of=("age",)), value=Fraction(1)), noise=CLAMPED), "only sums of counts"),
        (table(linear(TERM, replace(TERM, times=Fraction(-1)), value=Fraction(1)), noise=CLAMPED), "positive 'times'"),
    ],
)
def test_noise_that_no_law_explains_is_refused(model, said):
    refused([model], said, rows=RowCount(0, 50))


@pytest.mark.parametrize(
    "model",
    [
        replace(tree(Support(None, 1), Support(None, 0)), noise=WHOLE),
        replace(tree(Support(None, 1), Support(None, 0)), noise=REAL),
        replace(tree(Support(None, 1.5), Support(None, 0)), noise=CLAMPED),
        replace(tree(Support((1, 2)), Support((0, 7)), inner=Support((2, 8))), noise=WHOLE),
        replace(tree(Support(None, 3), Support(None, 4), inner=Support(None, 9)), noise=WHOLE),
        table(COUNTED, linear(TERM, value=Fraction(1)), PublishedFigure(Y, suppressed="unknown"), noise=WHOLE),
        table(linear(TERM, replace(TERM, times=Fraction(0)), value=Fraction(1)), noise=CLAMPED),
        replace(RuleSet((Rule(X, Support(None, 2)), Rule(OLD, Support((1, 2))))), noise=WHOLE),
    ],
)
def test_noisy_counts_leave_the_rows_open(model):
    found = encode(DOMAIN, [model], RowCount(0, 50))
    assert (found.noisy, found.certain, found.rows.exact) == (True, False, False)


def test_noisy_figures_of_a_table_leave_their_sums_open():
    """Noise of at most 1: a count is between two numbers, twice a count of 6 is of 3 rows, and nothing else is said."""
    law = Noise(NoiseLaw("truncated_laplace", Fraction(1), bound=Fraction(1)))
    sum_of_two = linear(replace(TERM, times=Fraction(2)), value=Fraction(6))
    noisy = table(COUNTED, sum_of_two, PublishedFigure(Y, suppressed="unknown"), noise=law)
    found = [[(one.low, one.high) for one in b] for b in encode(DOMAIN, [noisy], RowCount(0, 50)).statements.blocks]
    assert found == [[(1, 3)], [(3, 3)]]


@pytest.mark.parametrize("rows", [RowCount(1), RowCount(0, 50)])
def test_of_a_noisy_list_without_a_default_the_rest_is_open(rows):
    rules = replace(RuleList((Rule(X, Support(None, 2)),)), noise=WHOLE)
    most = UNBOUNDED if rows.high is None else rows.high
    found = encode(DOMAIN, [rules], rows).statements.single
    assert (found.low[1], found.high[1]) == (0, most)


def test_noisy_counts_that_no_law_gives_are_named_by_place():
    odd = tree(Support(None, 1.5), Support(None, 2))
    for model, place in (
        (odd, r"nodes\[1\]"), (Forest((odd,)), r"trees\[0\]\.nodes\[1\]"), (RuleSet((Rule(X, Support(None, 1.5)),)),
        r"rules\[0\]"), (table(PublishedFigure(X, count=1.5)), r"statements\[0\]\.count"),
    ):  # fmt: skip
        refused([replace(model, noise=WHOLE)], rf"^models\[0\]\.{place}: the noisy count 1.5", rows=RowCount(0, 50))


BUDGET = {"epsilon": Fraction(1), "sensitivity": Fraction(1), "neighbours": "replace"}


def test_a_budget_is_told_where_it_was_stated_whole():
    for left_out in ({}, *({name: None} for name in BUDGET)):
        told = " ".join(encode(DOMAIN, [replace(ROWS, noise=replace(WHOLE, **BUDGET | left_out))]).assumptions)
        whole = "(ε = 1, sensitivity 1, neighbours by replacing a row, for these counts)"
        assert (whole in told, "neighbours by" in told) == (not left_out, not left_out)


@pytest.mark.parametrize("law", ["gaussian", "discrete_gaussian", "laplace"])
@pytest.mark.parametrize("epsilon", [None, Fraction(1)])
def test_the_mechanism_of_a_gaussian_law_by_budget_is_assumed(law, epsilon):
    told = " ".join(encode(DOMAIN, [replace(ROWS, noise=Noise(NoiseLaw(law, Fraction(1)), epsilon))]).assumptions)
    assert ("analytic Gaussian" in told) is (law != "laplace" and epsilon is not None)
    assert ("discrete law's δ" in told) is (law == "discrete_gaussian" and epsilon is not None)


@pytest.mark.parametrize(
    ("value", "noise", "said"),
    [(Fraction(1), REAL, True), (Fraction(3, 2), REAL, False), (Fraction(1), WHOLE, False)],
)
def test_whole_numbers_under_a_continuous_law_are_doubted(value, noise, said):
    told = encode(DOMAIN, [table(COUNTED, linear(TERM, value=value), noise=noise)], RowCount(0, 50)).assumptions
    assert any("whole counts under a continuous law" in line for line in told) is said


def test_noise_may_be_on_sums_from_which_rows_are_taken():
    taken = table(linear(replace(TERM, times=Fraction(-1)), value=Fraction(-1)), noise=WHOLE)
    assert encode(DOMAIN, [taken], RowCount(9, 9)).noisy


def test_noisy_counts_of_inner_nodes_are_those_of_their_rows():
    """Noise of at most 1: of x and y together, of x and z of x alone; leaves have counts of their own."""
    law = Noise(NoiseLaw("truncated_laplace", Fraction(1), bound=Fraction(1)))
    few, leaf = Support((3, 4)), Support((9, 9))
    nodes = (ModelNode(BARE, (("a", Test(("x", "y"))),), 1, 2), ModelNode(few, X, 3, 4), *(ModelNode(leaf),) * 3)
    found = encode(DOMAIN, [replace(Tree(nodes), noise=law)], RowCount(0, 99))
    leaves, inner = found.statements.blocks
    assert (leaves.low.tolist(), leaves.high.tolist()) == ([8] * 6, [10] * 6)
    said = [(one.low, one.high, dict(one.region.box.literals)) for one in inner]
    assert said == [(2, 4, {1: 0b011, 2: 0b01}), (3, 5, {1: 0b011, 2: 0b10})]


def test_whether_one_row_is_in_several_counts_is_said_of_the_budget():
    budget = replace(WHOLE, epsilon=Fraction(1), sensitivity=Fraction(1), neighbours="add_remove")
    rules = (Rule(X, Support(None, 2)), Rule(OLD, Support(None, 2)))
    inner = tree(Support(None, 3), Support(None, 4), inner=Support(None, 9))
    models = (RuleList((*rules, Rule((), Support(None, 3)))), RuleSet(rules), ROWS, inner)
    every = [encode(DOMAIN, [replace(m, noise=budget)], RowCount(0, 50)).assumptions for m in models]
    found = [re.search(r"can change (\d+) of its counts, so the stated", " ".join(lines)) for lines in every]
    assert [one and one[1] for one in found] == [None, "2", None, "2"]
    for law, said in (("laplace", True), ("gaussian", False)):  # whose sensitivity is the root of a sum of squares
        noise = replace(budget, law=NoiseLaw(law, Fraction(1)), sensitivity=Fraction(3, 2))
        lines = encode(DOMAIN, [replace(inner, noise=noise)]).assumptions
        assert any("can change 2 of its counts" in line for line in lines) is said


def test_noisy_counts_that_are_missing_or_fractional_are_refused():
    refused([replace(tree(Support(), Support(None, 2)), noise=WHOLE)], "a leaf needs 'counts' or 'count'")
    rules = RuleSet((Rule(OLD, Support((1, 1.5))),))
    refused([replace(rules, noise=WHOLE)], "the noisy count 1.5: it is fractional", rows=RowCount(0, 50))


# ---------------------------------------------------------------- rules, tables and trees


@pytest.mark.parametrize(
    "model", [Forest((ROWS,)), RuleList((Rule(X, Support(None, 2)), Rule((), Support(None, 3)))), ROWS]
)
def test_counts_of_everybody_are_the_number_of_rows(model):
    assert encode(DOMAIN, [model], RowCount(5, 5)).rows == RowCount(5, 5)
    refused([model], "rows is 6, but the counts sum to 5", rows=RowCount(6, 6))


@pytest.mark.parametrize("kind", [RuleList, RuleSet])
def test_every_rule_has_a_count(kind):
    refused([kind((Rule(X, Support()), Rule((), Support(None, 2))))], "a rule needs 'counts' or 'count'")


def test_a_list_without_a_default_says_how_many_rows_there_are_elsewhere():
    rules = RuleList((Rule(X, Support(None, 2)),))
    for rows, left in ((RowCount(5, 5), (3, 3)), (RowCount(5), (3, UNBOUNDED)), (RowCount(0, 50), (0, 48))):
        found = encode(DOMAIN, [rules], rows).statements.single
        assert list(zip(found.low, found.high, strict=True)) == [(2, 2), left]
    assert encode(DOMAIN, [RuleList((*rules.rules, Rule((), Support(None, 3))))]).rows == RowCount(5, 5)
    refused([rules], "'rows' must say how many rows there are")


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        (replace(linear(TERM, value=Fraction(1)), count=2), "and no other figure beside"),
        (replace(linear(TERM, value=Fraction(1)), condition=X), "a linear figure has its conditions in its terms"),
        (replace(linear(TERM, value=Fraction(1)), suppressed="unknown"), "and no other figure beside"),
        (replace(linear(TERM, value=Fraction(1)), statistic=Statistic("mean", "age", 4)), "and no other figure beside"),
        (linear(value=Fraction(1)), "there is no term to add up"),
        (linear(TERM), "'value': what do the terms add up to"),
        (linear(TERM, value=Fraction(1), low=Fraction(1)), "or 'value', not both"),
        (linear(TERM, low=Fraction(2), high=Fraction(1)), "at_most 1 is below at_least 2"),
        (linear(TERM, value=Fraction(1), within=Fraction(-1)), "-1 is negative"),
        (linear(TERM, low=Fraction(1), within=Fraction(1)), "'within' goes with 'value' only"),
        (linear(LinearTerm(()), value=Fraction(1)), "no condition of which one must hold"),
        (PublishedFigure(X, count=2, suppressed="unknown"), "a suppressed figure has no 'count'"),
        (PublishedFigure(X, low=2, suppressed="primary"), "primary suppression needs 'at_least' and 'at_most'"),
        (PublishedFigure(X, high=2, suppressed="primary"), "primary suppression needs 'at_least' and 'at_most'"),
        (PublishedFigure(X), "give one of 'count'"),
        (PublishedFigure(X, count=2, low=1), ", not several"),
        (PublishedFigure(X, low=2, high=1), "at_most 1 is below at_least 2"),
        (PublishedFigure(X, statistic=Statistic("mean", "age", float("nan"))), "nan is not a finite number"),
        (PublishedFigure(X, statistic=Statistic("mean", "age", 4, -1)), "-1 is negative"),
    ],
)
def test_figures_that_say_nothing_or_too_much_are_refused(figure, said):
    refused([table(figure)], said, rows=RowCount(0, 50))


def test_figures_that_say_one_thing_are_read():
    figures = (COUNTED, PublishedFigure(OLD, low=2, high=2), linear(TERM, low=Fraction(2), high=Fraction(2)),
               linear(TERM, low=Fraction(2)), linear(TERM, high=Fraction(2)),
               linear(TERM, value=Fraction(1), within=Fraction(1)), PublishedFigure((), count=9),
               PublishedFigure(Y, low=2, high=3, suppressed="primary"),
               PublishedFigure(OLD, statistic=Statistic("mean", "age", 6)))  # fmt: skip
    found = encode(DOMAIN, [table(*figures)])
    assert found.rows == RowCount(9, 9)
    assert sum(map(len, found.statements.blocks)) >= len(figures)
    refused([table(PublishedFigure((), count=9), PublishedFigure((), count=8))], "everybody is 8 rows here, but 9 rows")


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ((), "the tree has no nodes"),
        (
            (ModelNode(Support(), X, 1, 3), ModelNode(Support(None, 1)), ModelNode(Support(None, 1))),
            "there is no node 3",
        ),
        ((ModelNode(Support(), X, 1, 0), ModelNode(Support(None, 1))), "node 0 is already the root: not a tree"),
        ((ModelNode(Support(), X, 1, 1), ModelNode(Support(None, 1))), "node 1 is already a child of node 0"),
        ((ModelNode(Support(None, 1)), ModelNode(Support(None, 1))), r"nodes\[1\]: no other node leads to this one"),
        (tree(Support(None, 1), Support(None, 1), condition=Y).nodes, "a test on the label 'y' mixes classes"),
        (tree(Support(None, 1), Support(None, 1), condition=(*X, *OLD)).nodes, "must test exactly one attribute"),
        (tree(Support(None, 1 << 53), Support(None, 1)).nodes, r"more than 2\^53 rows"),
        (tree(Support(None, (1 << 53) - 1), Support(None, 2)).nodes, "the counts sum to 9007199254740993, more than"),
        (tree(Support((2, 1), distinct=2), Support((0, 3))).nodes, "2 different rows among 3: only a bootstrap sample"),
    ],
)
def test_nodes_that_make_no_tree_are_refused(nodes, said):
    refused([Tree(nodes)], said)


def test_a_column_that_views_the_label_is_no_split():
    viewed = replace(DOMAIN, columns={"ill": View("y", Test((1,))), "old": View("age", Test(low=5))})
    by_label, by_age = (tree(Support((2, 1)), Support((0, 3)), condition=((n, Test((1,))),)) for n in ("ill", "old"))
    assert encode(viewed, [by_age]).rows == RowCount(6, 6)
    refused([by_label], "a test on the label 'y' mixes classes", viewed)


def test_trees_of_as_many_rows_as_floats_count_are_read():
    assert encode(DOMAIN, [tree(Support(None, (1 << 53) - 1), Support(None, 1))]).rows == RowCount(1 << 53, 1 << 53)


def test_tests_in_the_middle_of_many_values_are_no_thresholds():
    """A leaf for each odd number below 80 of 100, and one for all others; then one for all from 90 on before them."""
    domain, odd = Domain((Grid.between("age", 0, 99),)), range(1, 80, 2)
    for before in ((), (Test(low=90),)):
        nodes = []
        for test in (*before, *(Test((k,)) for k in odd)):
            nodes += [ModelNode(BARE, (("age", test),), len(nodes) + 1, len(nodes) + 2), ModelNode(Support(None, 1))]
        statements = encode(domain, [Tree((*nodes, ModelNode(Support(None, 1))))]).statements
        first = [10] * len(before)
        assert PartitionFigures.of(statements, Limits()).sizes == (*first, *[1] * len(odd), 100 - sum(first) - len(odd))


def test_of_two_values_a_threshold_says_no_more_than_the_counts():
    """Of three values it does: both neighbours occur."""
    attributes = (Grid.between("bit", 0, 1), Grid.between("few", 0, 2), Grid.between("gap", 0, 1, missing=True))
    domain = Domain(attributes, columns={"some": View("few", Test(low=1))})
    for name, written, said, left_out in (
        ("bit", True, False, 0), ("bit", False, False, 0), ("some", True, False, 0), ("few", True, True, 0),
        ("few", False, False, 1), ("gap", True, False, 1),
    ):  # fmt: skip
        model = tree(Support(None, 2), Support(None, 3), condition=((name, Test(high=0.5)),))
        splits = Midpoints(domain, certain=True, written=written, pairs=9)
        assert bool(splits.facts(model, "tree", node_regions(model, domain))) is said
        assert sum(splits.left_out.values()) == left_out


TEN = Domain((Grid.between("few", 0, 9),))


def halves(end, **more):
    """Return the alternatives of the one fact of a test at a number, each as (positions, least, most rows)."""
    model = tree(Support(None, 2), Support(None, 3), condition=(("few", Test(**end)),))
    (fact,) = Midpoints(TEN, **{"certain": True, "written": True, "pairs": 9} | more).facts(
        model, "tree", node_regions(model, TEN)
    )
    return fact.alternatives


@pytest.mark.parametrize("end", [{"high": 4.5}, {"low": 4.5, "low_open": True}])
def test_readings_of_a_threshold_are_the_pairs_around_it_and_one_for_all_farther_off(end):
    around = [(4 - k, 5 + k) for k in range(5)]
    for pairs in (3, 5, 9):
        found, seen = halves(end, pairs=pairs), []
        for alternative in found:
            none = [ranges for one in alternative if one.high == 0 for _, ranges in one.where]
            some = [ranges[0][0] for one in alternative if one.low == 1 for _, ranges in one.where]
            seen.append((some, none))
        told = [([lo, hi], [((lo + 1, hi),)] if hi > lo + 1 else []) for lo, hi in around[:pairs]]
        assert seen == told + ([([], [((2, 8),)])] if pairs == 3 else [])


@pytest.mark.parametrize(
    ("at", "said"), [(2.5, ["3, 4, 5 just above"]), (3.5, ["4, 5, 6, ... just above"]), (7.5, ["6, 7 just below"])]
)
def test_of_a_sample_one_of_the_pairs_occurs(at, said):
    """Where all values of a side are possible, the counts say so already."""
    (alternative,) = halves({"high": at}, certain=False)
    assert [one.text for one in alternative] == [f"a row with {text} it" for text in said]


@pytest.mark.parametrize("certain", [True, False])
def test_where_two_values_are_left_a_threshold_says_nothing(certain):
    """The first test says that a row has 1 or less next to 2; below it only 0 and 1 are left."""
    chain = (ModelNode(BARE, (("few", Test(high=1.5)),), 1, 2), ModelNode(BARE, (("few", Test(high=0.5)),), 3, 4))
    model = Tree((*chain, *(ModelNode(Support(None, n)) for n in (2, 3, 4))))
    domain = Domain((Grid.between("few", 0, 2),))
    found = Midpoints(domain, certain, written=True, pairs=9).facts(model, "tree", node_regions(model, domain))
    assert [(fact.node, len(fact.alternatives), bool(fact.alternatives[0])) for fact in found] == [(0, 1, True)]


# ---------------------------------------------------------------- known rows

RELEASE = encode(DOMAIN, [CLASSES])


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ({"age": [3] * 6, "a": ["x"] * 5 + [None]}, "'a' is empty: everybody's features must be known"),
        ({"age": [3] * 6, "a": ["x"] * 5 + ["w"]}, "'w'"),
    ],
)
def test_rows_that_leave_a_feature_open_are_refused(frame, said):
    with_known_rows(RELEASE, known_rows(DOMAIN, pd.DataFrame({"a": ["x"] * 3 + ["z"] * 3})))
    with pytest.raises(ReleaseError, match=said):
        with_known_rows(RELEASE, known_rows(DOMAIN, pd.DataFrame(frame)))


def told(columns, *lines):
    """Return known rows as they stand."""
    values = tuple(tuple(dict.fromkeys(column)) for column in zip(*lines, strict=True)) or ((),) * len(columns)
    codes = [[values[j].index(cell) for j, cell in enumerate(line)] for line in lines]
    return KnownRows(columns, values, np.array(codes, dtype=np.int32).reshape(len(lines), len(columns)))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (told(("a",)), "there are no rows: everybody's features are needed"),
        (told(("y",), (0,)), "there is no column of a feature"),
        (told(("a", "b"), ("x", 1)), "'b' is neither an attribute nor a column of the domain"),
    ],
)
def test_tables_without_rows_or_features_are_refused(rows, said):
    with pytest.raises(ReleaseError, match=said):
        with_known_rows(RELEASE, rows)


def test_a_second_statement_about_the_leaves_of_a_tree_is_no_second_bag():
    leaves = tree(Support((2, 2), distinct=3), Support((1, 0), distinct=1))
    (bags,) = encode(DOMAIN, [Forest((leaves,), bootstrap=True, multiplicities=[[2, 1, 1, 1]])]).statements.bags
    assert [len(one.boxes) for one in bags.trees] == [2]


VIEWS = {"old": View("age", Test(low=5)), "very old": View("age", Test(low=8))}
COLUMNS = replace(DOMAIN, columns=VIEWS)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (told(("old",), *[(0,)] * 3, *[(1,)] * 3), "'old' leave 'age' open where the release distinguishes its values"),
        (told(("old", "very old"), *[(0, 0)] * 5, (0, 1)), "no value of 'age' has old=0, very old=1"),
    ],
)
def test_columns_that_leave_an_attribute_open_or_contradict_each_other_are_refused(rows, said):
    """The release asks who is at least 3."""
    release = encode(COLUMNS, [tree(Support((2, 1)), Support((0, 3)), condition=(("age", Test(low=3)),))])
    with pytest.raises(ReleaseError, match=said):
        with_known_rows(release, rows)
    coarse = encode(COLUMNS, [tree(Support((2, 1)), Support((0, 3)), condition=(("age", Test(low=5)),))])
    assert with_known_rows(coarse, told(("old",), *[(0,)] * 3, *[(1,)] * 3)).known is not None


def test_an_empty_cell_of_a_column_is_nobodys_missing_value():
    """That an attribute may be missing says what is empty there, not in the columns that view it."""
    domain = Domain((Grid.between("age", 0, 9, missing=True),), Categorical("y", (0, 1)), columns=VIEWS)
    release = encode(domain, [tree(Support((2, 1)), Support((0, 3)), condition=OLD)])
    known = with_known_rows(release, told(("age",), *[(7,)] * 3, *[(None,)] * 3)).known
    assert known is not None
    with pytest.raises(ReleaseError, match=r"row 4, column 'old': 'old' is empty"):
        with_known_rows(release, told(("old",), *[(1,)] * 3, *[(None,)] * 3))


def test_of_what_no_statement_tests_only_declared_values_are_held_against_the_table():
    asked = tree(Support((2, 1)), Support((0, 3)), condition=OLD)
    rows = told(("age", "a"), *[(9, "w")] * 3, *[(1, "x")] * 3)
    guessed = encode(replace(DOMAIN, source=GUESSED), [asked])
    assert with_known_rows(guessed, rows).known is not None
    with pytest.raises(ReleaseError, match="'w'"):
        with_known_rows(encode(DOMAIN, [asked]), rows)
    right = told(("age", "a"), *[(9, "z")] * 3, *[(1, "x")] * 3)
    found = KnownRegions.of(right, encode(DOMAIN, [asked]).cut)
    assert [[k for k, _ in box.literals] for box in found.boxes] == [[0], [0]]
    by_text = encode(replace(DOMAIN, source=GUESSED), [CLASSES])
    found = KnownRegions.of(right, by_text.cut)
    assert [dict(box.literals) for box in found.boxes] == [{1: 0b10}, {1: 0b01}]  # z, then x
    with pytest.raises(ReleaseError, match="row 1, column 'age': 'old'"):
        with_known_rows(by_text, told(("age", "a"), *[("old", "x")] * 3, *[(1, "z")] * 3))


def test_labels_are_known_where_somebody_said_them():
    lines = (("x", 0), ("x", 0), ("x", 1), ("z", 1), ("z", 1), ("z", 1))
    with_labels, without = told(("a", "y"), *lines), told(("a",), *((a,) for a, _ in lines))
    blocks = [len(with_known_rows(RELEASE, rows).statements.blocks) for rows in (with_labels, without)]
    assert blocks == [3, 2]
    some = told(("a", "y"), ("x", 0), ("x", None), ("x", None), *[("z", None)] * 3)
    *_, labels = with_known_rows(RELEASE, some).statements.blocks  # that of one row: not of class 1
    assert (labels.low.tolist(), labels.high.tolist()) == ([1, 0, 0, 0, 0, 0], [3, 2, 3, 3, 0, 0])
    unlabelled = encode(Domain(DOMAIN.attributes), [ROWS])
    assert len(with_known_rows(unlabelled, told(("a",), *[("x",)] * 2, *[("y",)] * 3)).statements.blocks) == 2
