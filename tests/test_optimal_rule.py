"""What it gives away that a model is optimal, beside every data set of tiny domains.

The oracle knows nothing of the code under test: it lists all data sets as tuples, and all models of a class as tuples
of predictions, and compares errors.
"""

from __future__ import annotations

import itertools
import json
import math

import pandas as pd
import pytest
from extras import run
from hypothesis import given, settings
from hypothesis import strategies as st

import recon
from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Grid, View, equals
from encoders.encode.encoder import encode
from encoders.models.learner_facts import Learner
from encoders.models.models import ModelNode, PublishedFigure, Rule, RuleList, Support, Table, Tree
from recon.learner_rule.optimal.classes import class_of
from recon.learner_rule.optimal.competing_models import Alternative, _conjunction, under, without
from recon.learner_rule.optimal.generation import (
    ConstraintGeneration,
    _every_model,
    _fixed_attributes,
    _ordered_bits,
    _product_share,
    optimal_rule,
)
from recon.learner_rule.optimal.swapped_rows import _one_column, replaced_nodes
from recon.learner_rule.optimal.verdicts import certify_under_optimal
from recon.learners.optimal.lists.optimal_rule_list import OptimalRuleListClassifier
from recon.learners.optimal.trees.optimal_tree import OptimalTreeClassifier
from recon.readers.formats.release.writing import dump, release_json
from solvers.foundation.errors import ContradictionError, ReleaseError, Unsupported
from solvers.foundation.limits import Limits

NAMES = ("a", "b", "c")


def domain_of(columns: int) -> Domain:
    return Domain(tuple(Categorical(n, (0, 1)) for n in NAMES[:columns]), Categorical("y", (0, 1)))


def tree_functions(columns, depth):
    """All labelled trees of a depth as predictions for every row of the row space."""
    rows = list(itertools.product((0, 1), repeat=columns))
    found = {tuple(k for _ in rows) for k in (0, 1)}
    for _ in range(depth):
        found |= {
            tuple((f if row[c] else g)[i] for i, row in enumerate(rows))
            for c in range(columns) for f in found for g in found
        }  # fmt: skip
    return found


def list_functions(columns, length):
    """All labelled lists of at most so many rules of one literal, as predictions."""
    rows = list(itertools.product((0, 1), repeat=columns))
    found = {tuple(k for _ in rows) for k in (0, 1)}
    for _ in range(length):
        found |= {
            tuple(label if row[c] == v else f[i] for i, row in enumerate(rows))
            for c in range(columns) for v in (0, 1) for label in (0, 1) for f in found
        }  # fmt: skip
    return found


def place(row):
    return int("".join(map(str, row[:-1])) or "0", 2)


def errors(function, data):
    return sum(function[place(row)] != row[-1] for row in data)


def brute(columns, regions, counts, functions, released_errors):
    """All data sets (ordered) with these counts per region and class; those of them where nothing is better."""
    n = sum(map(sum, counts))
    rows = list(itertools.product((0, 1), repeat=columns + 1))
    every, optimal = [], []
    for data in itertools.product(rows, repeat=n):
        seen = [[0, 0] for _ in counts]
        for row in data:
            seen[regions(row)][row[-1]] += 1
        if seen != [list(c) for c in counts]:
            continue
        every.append(data)
        if min(errors(f, data) for f in functions) >= released_errors:
            optimal.append(data)
    return every, optimal


def stump(counts):
    """a at the root: region 1 where a is 1."""
    one, zero = counts[1], counts[0]
    return Tree((
        ModelNode(Support(), (("a", equals(1)),), 1, 2), ModelNode(Support(tuple(one))),
        ModelNode(Support(tuple(zero))),
    ))  # fmt: skip


def two_level(counts):
    """a, then b where a is 1: regions 0 (a = 0), 1 (a = 1, b = 0), 2 (a = 1, b = 1)."""
    return Tree((
        ModelNode(Support(), (("a", equals(1)),), 1, 4), ModelNode(Support(), (("b", equals(1)),), 2, 3),
        ModelNode(Support(tuple(counts[2]))), ModelNode(Support(tuple(counts[1]))),
        ModelNode(Support(tuple(counts[0]))),
    ))  # fmt: skip


def listed(counts):
    """If a = 1, else if b = 0, else default: regions 0, 1, 2."""
    return RuleList((
        Rule((("a", equals(1)),), Support(tuple(counts[0]))), Rule((("b", equals(0)),), Support(tuple(counts[1]))),
        Rule((), Support(tuple(counts[2]))),
    ))  # fmt: skip


def by_two_level(row):
    return 0 if row[0] == 0 else 1 + row[1]


def by_list(row):
    return 0 if row[0] else (2 if row[1] else 1)


TREE1, TREE2 = Learner("optimal tree", max_depth=1), Learner("optimal tree", max_depth=2)
LIST2 = Learner("optimal rule list", max_length=2, width=1)
CASES = [
    ("stump", 2, stump, lambda row: row[0], [(2, 1), (0, 2)], TREE1),
    ("stump deep", 2, stump, lambda row: row[0], [(2, 0), (1, 1)], TREE2),
    ("stump three columns", 3, stump, lambda row: row[0], [(2, 0), (1, 1)], TREE1),
    ("two levels", 2, two_level, by_two_level, [(1, 1), (0, 1), (1, 0)], TREE2),
    ("two levels three columns", 3, two_level, by_two_level, [(1, 1), (0, 1), (1, 0)], TREE2),
    ("leaves", 2, two_level, by_two_level, [(1, 1), (0, 1), (1, 0)], Learner("optimal tree", max_leaf_nodes=3)),
    ("list", 2, listed, by_list, [(1, 0), (0, 2), (1, 1)], LIST2),
    ("list three columns", 3, listed, by_list, [(1, 0), (0, 1), (1, 1)], LIST2),
]


def functions_of(columns, learner):
    if learner.name == "optimal rule list":
        return list_functions(columns, learner.max_length)
    if learner.max_leaf_nodes is None:
        return tree_functions(columns, learner.max_depth)
    assert learner.max_leaf_nodes == 3
    rows, one = list(itertools.product((0, 1), repeat=columns)), tree_functions(columns, 1)
    ends = tree_functions(columns, 0)
    both = [(f, g) for f in one for g in ends] + [(g, f) for f in one for g in ends]
    return {
        tuple((f if row[c] else g)[i] for i, row in enumerate(rows)) for c in range(columns) for f, g in both
    } | one  # fmt: skip


def known(case):
    _, columns, model, regions, counts, learner = case
    release = encode(domain_of(columns), [model(counts)])
    wrong = sum(sum(c) - max(c) for c in counts)
    every, optimal = brute(columns, regions, counts, functions_of(columns, learner), wrong)
    return release, learner, every, optimal


@pytest.fixture(scope="module", params=CASES, ids=[c[0] for c in CASES])
def case(request):
    return known(request.param)


@pytest.mark.sampled(1)
def test_counts_are_those_of_every_data_set(case):
    release, learner, every, optimal = case
    assert optimal, "the case says nothing"
    found = optimal_rule(release, learner, Limits(seconds=60), draws=10)
    truth = math.log2(len(optimal) / len(every))
    assert found.ordered_bits[0] <= math.log2(len(every)) <= found.ordered_bits[1]
    assert found.share[0] <= truth <= found.share[1]
    assert found.status == "exact"
    assert found.share[1] - found.share[0] < 1e-6
    assert found.witness


def test_every_model_is_every_function(case):
    release, learner, *_ = case
    models = class_of(release, learner)
    columns = len(models.columns)
    found = _every_model(models, Limits())
    rows = list(itertools.product((0, 1), repeat=columns))
    functions = set()
    for one in found:
        predictions = []
        for row in rows:
            labels = [k for path, k in one.leaves if all(row[models.columns.index(n)] == v for n, v in path)]
            assert len(labels) == 1, "leaves are disjoint and cover all rows"
            predictions.append(labels[0])
        functions.add(tuple(predictions))
    assert functions == functions_of(columns, learner)


@pytest.mark.sampled(1, 2)
def test_bounds_without_the_whole_class_contain_the_truth(case, monkeypatch):
    release, learner, every, optimal = case
    monkeypatch.setattr("recon.learner_rule.optimal.generation._every_model", lambda models, limits: None)
    found = optimal_rule(release, learner, Limits(seconds=60), draws=12)
    assert found.status == "bounds"
    assert math.log2(len(optimal) / len(every)) <= found.share[1] <= 0.0
    if found.drawn_better:
        assert found.share[1] < 0.0
    step = max(1, len(optimal) // 200)
    for data in optimal[::step]:  # every inequality holds in every data set of the rule
        frame = pd.DataFrame(data, columns=[*found.models.columns, "y"])
        for one in (*found.alternatives, *found.found):
            assert one.errors(frame[list(found.models.columns)], frame["y"]) >= one.least


@pytest.mark.sampled(3)
def test_verdicts_are_those_of_every_data_set(case):
    release, learner, every, optimal = case
    names = [a.name for a in release.domain.all]
    profiles = list(itertools.product((0, 1), repeat=len(names)))
    frame = pd.DataFrame(profiles, columns=names)
    found = certify_under_optimal(release, frame, learner, Limits(seconds=120))
    verdicts = []
    for row in profiles:
        inside = sum(row in data for data in optimal)
        verdicts.append("impossible" if not inside else "certain" if inside == len(optimal) else "possible")
    assert found["verdict"].tolist() == verdicts
    for line in found.itertuples():
        before = sum(profiles[line.profile] in data for data in every)
        assert line.without_rule == (
            "impossible" if not before else "certain" if before == len(every) else "possible"
        )  # fmt: skip
        if line.rests_on == "the inequalities":
            assert line.certificate is not None
            assert line.inequalities == len(found.attrs["inequalities"][line.profile])
        if line.verdict == "possible":
            assert line.rests_on.startswith("the solver (recon's")
    assert any("fewest training errors" in line for line in found.attrs["assumptions"])


def joined_with_table(condition):
    """A stump of depth 2's class that leaves (1, 1) where a = 0, and one row that meets a condition."""
    model = stump([(1, 1), (2, 0)])
    return encode(domain_of(2), [model, Table((PublishedFigure(condition, 1),))])


@pytest.mark.slow
def test_who_becomes_impossible_and_certain_only_by_the_rule():
    release = joined_with_table((("b", equals(1)),))  # where a = 0 it would tell the two classes apart
    frame = pd.DataFrame({"a": [0, 1, 0, 1], "b": [1, 1, 0, 0], "y": [None, 0, 0, 0]})
    found = certify_under_optimal(release, frame, TREE2, Limits(seconds=60))
    assert found["without_rule"].tolist() == ["possible", "possible", "possible", "certain"]
    assert found["verdict"].tolist() == ["impossible", "certain", "certain", "certain"]
    assert found["rests_on"].tolist() == ["the inequalities"] * 3 + ["the counts"]
    for i in range(3):  # the certificate is of the release with these inequalities, and of no other
        inside = under(release, found.attrs["inequalities"][i], (), found.attrs["assumptions"][0])
        assert len(recon.verify({"certificate": found["certificate"][i]}, inside).verified) == 1
        assert len(recon.verify({"certificate": found["certificate"][i]}, release).rejected) == 1
    bound = optimal_rule(release, TREE2, Limits(seconds=60))
    assert bound.status == "exact"
    assert math.isclose(2 ** bound.share[1], 0.5, rel_tol=1e-6)


@pytest.mark.slow
def test_the_command_says_what_follows_from_optimality(tmp_path, capsys):
    release, path, people = joined_with_table((("b", equals(1)),)), tmp_path / "release.json", tmp_path / "people.csv"
    path.write_text(dump(release_json(release.domain, release.models, None)), encoding="utf-8")
    people.write_text("a,b,y\n0,1,\n1,1,0\n1,0,0\n", encoding="utf-8")
    code, out, err = run(
        capsys, "certify", path, "--profiles", people, "--learner", "optimal:max_depth=2", "--json"
    )  # fmt: skip
    assert code == 0, err
    lines = json.loads(out)
    assert [line["verdict"] for line in lines] == ["impossible", "certain", "certain"]
    assert [line["verdict_without"] for line in lines] == ["possible", "possible", "certain"]
    assert [line["by_rule"] for line in lines] == [True, True, False]
    assert [(line["min_count"], line["max_count"]) for line in lines[:2]] == [(0, 0), (1, 1)]
    assert [line["rests_on"] for line in lines] == ["the inequalities", "the inequalities", "the counts"]
    assert [line["certificate"] is None for line in lines[:2]] == [True, True]
    assert "fewest training errors" in err


@pytest.mark.slow
def test_a_model_that_is_optimal_nowhere_is_refused():
    release = joined_with_table((("a", equals(0)), ("b", equals(1))))
    for ask in (
        lambda: optimal_rule(release, TREE2, Limits(seconds=60)),
        lambda: certify_under_optimal(release, pd.DataFrame({"a": [0]}), TREE2, Limits(seconds=60)),
    ):
        with pytest.raises(ContradictionError, match="no data set is left") as caught:
            ask()
        assert all("no fewer than 1 errors by the tree" in line for line in caught.value.conflict)
    assert optimal_rule(release, TREE2, Limits(seconds=60), gap=1).share == pytest.approx((0.0, 0.0), abs=1e-6)


@pytest.mark.slow
def test_a_gap_leaves_more_worlds():
    release = encode(domain_of(2), [stump([(2, 0), (1, 1)])])
    shares = [optimal_rule(release, TREE2, Limits(seconds=60), gap=gap).share[1] for gap in (0, 1)]
    assert shares == pytest.approx([-1.0, 0.0], abs=1e-6)


REFUSED = [
    (Learner("optimal tree", max_depth=1, min_samples_leaf=2), "depends on the training rows"),
    (Learner("optimal tree", max_depth=1, min_weight_fraction_leaf=0.1), "depends on the training rows"),
    (Learner("optimal tree", max_depth=1, min_samples_split=3), "depends on the rows"),
    (Learner("optimal tree", max_depth=1, weighted=True), "weighted"),
    (Learner("optimal tree", max_depth=1, ccp_alpha=0.1), "price"),
    (Learner("optimal tree", max_depth=1, max_leaf_nodes=3), "depth and by leaves"),
    (Learner("optimal rule list", min_support=2), "min_support"),
    (Learner("optimal rule list", min_support=1), "0 models"),
    (Learner("sklearn tree"), "promises no fewest"),
]


@pytest.mark.parametrize(("learner", "why"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_classes_that_depend_on_the_data_are_refused(learner, why):
    with pytest.raises(Unsupported, match=why):
        optimal_rule(encode(domain_of(2), [stump([(2, 0), (1, 1)])]), learner)


def test_thresholds_and_missing_classes_are_refused():
    ages = Domain((Categorical("a", (0, 1)), Grid.between("age", 18, 90)), Categorical("y", (0, 1)))
    with pytest.raises(Unsupported, match="thresholds"):
        optimal_rule(encode(ages, [stump([(2, 0), (1, 1)])]), TREE1)
    sizes = Tree(
        (ModelNode(Support(), (("a", equals(1)),), 1, 2), ModelNode(Support(None, 2)), ModelNode(Support(None, 1)))
    )
    with pytest.raises(Unsupported, match="no counts per class"):
        optimal_rule(encode(domain_of(2), [sizes]), TREE1)


def test_broken_limits_are_contradictions():
    release = encode(domain_of(2), [two_level([(1, 1), (0, 1), (1, 0)])])
    with pytest.raises(ContradictionError, match="max_depth 1"):
        optimal_rule(release, TREE1)
    with pytest.raises(ContradictionError, match="max_leaf_nodes 2"):
        optimal_rule(release, Learner("optimal tree", max_leaf_nodes=2))
    rules = encode(domain_of(2), [listed([(1, 0), (0, 2), (1, 1)])])
    with pytest.raises(ContradictionError, match="max_length 1"):
        optimal_rule(rules, Learner("optimal rule list", max_length=1))
    with pytest.raises(ContradictionError, match="negations"):
        optimal_rule(rules, LIST2, negations=False)


def test_columns_may_be_views_of_attributes():
    values = Categorical("v", ("x", "y", "z"))
    columns = {f"v={k}": View("v", equals(k)) for k in "xyz"}
    domain = Domain((Categorical("a", (0, 1)), values), Categorical("y", (0, 1)), columns)
    release = encode(domain, [stump([(1, 1), (2, 0)])])
    found = optimal_rule(release, TREE2, Limits(seconds=60))
    # the two rows where a = 0 must have the same value of v: 3 of 9 pairs
    assert found.share[1] >= math.log2(1 / 3) - 1e-9
    assert found.status == "exact" or found.share[0] == -math.inf
    if found.status == "exact":
        assert 2 ** found.share[1] == pytest.approx(1 / 3, rel=1e-6)


literals = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 1)), max_size=3, unique_by=lambda pair: pair[0])


@given(literals, literals)
def test_what_an_antecedent_leaves_is_disjoint_and_whole(rest, antecedent):
    pieces = without(tuple(rest), tuple(antecedent))
    for row in itertools.product((0, 1), repeat=3):
        values = dict(zip(NAMES, row, strict=True))
        inside = all(values[n] == v for n, v in rest) and not all(values[n] == v for n, v in antecedent)
        assert sum(all(values[n] == v for n, v in piece) for piece in pieces) == inside
    both = _conjunction(tuple(rest), tuple(antecedent))
    assert (both is None) == any((n, 1 - v) in antecedent for n, v in rest)


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(0, 1)] * 5), min_size=6, max_size=14), st.integers(0, 1), st.sampled_from([1, 2])
)
def test_the_training_rows_satisfy_every_inequality(data, is_list, size):
    frame = pd.DataFrame(data, columns=[*"abcd", "y"])
    domain = Domain(tuple(Categorical(n, (0, 1)) for n in "abcd"), Categorical("y", (0, 1)))
    if is_list:
        fitted, learner = (
            OptimalRuleListClassifier(size, width=size),
            Learner("optimal rule list", max_length=size, width=size),
        )
    else:
        fitted, learner = OptimalTreeClassifier(size, solver="own"), Learner("optimal tree", max_depth=size)
    fitted.fit(frame[list("abcd")], frame["y"])
    release = encode(domain, [fitted.to_model("m", (0, 1))])
    models = class_of(release, learner)
    assert models.errors == fitted.errors_
    found = ConstraintGeneration(release, models, Limits(seconds=20), draws=6).run(every_draw=True)
    assert not found.empty
    for one in found.alternatives:
        assert one.errors(frame[list("abcd")], frame["y"]) >= one.least == fitted.errors_


def test_shares_multiply_only_where_leaves_are_products():
    domain = domain_of(3)
    rules = (Rule((("a", equals(1)), ("b", equals(1))), Support((2, 0))), Rule((), Support((1, 2))))
    wide, narrow = encode(domain, [RuleList(rules)]), encode(domain, [stump([(2, 1), (0, 2)])])
    assert _fixed_attributes(wide, ("a", "b", "c")) is None  # a and b depend on each other where the rule does not fire
    assert _fixed_attributes(narrow, ("a", "b", "c")) == {0}
    assert _fixed_attributes(joined_with_table((("b", equals(1)),)), ("a", "b")) is None
    learner = Learner("optimal rule list", max_length=1, width=2)
    found = optimal_rule(wide, learner, Limits(seconds=60), draws=20)
    assert len(found.alternatives) <= 2 or found.status == "exact"


def test_copies_over_interchangeable_columns_multiply():
    domain = Domain(tuple(Categorical(n, (0, 1)) for n in "abcdef"), Categorical("y", (0, 1)))
    release = encode(domain, [stump([(2, 1), (0, 2)])])
    models = class_of(release, TREE1)
    better = Alternative("tree", (((("b", 0),), 0), ((("b", 1),), 1)), models.least)
    base = _ordered_bits(release, Limits())
    found = _product_share(release, models, [better], base, Limits())
    assert sorted(one.columns for one in found.alternatives) == [("b",), ("c",), ("d",), ("e",), ("f",)]
    # b would be right everywhere in one of 2^5 data sets
    assert found.high == pytest.approx(5 * math.log2(31 / 32), rel=1e-6)
    assert found.high >= 5 * math.log2(31 / 32)


def test_time_that_is_up_ends_the_search_without_a_claim():
    release = encode(domain_of(3), [stump([(2, 1), (0, 2)])])
    late = optimal_rule(release, TREE1, Limits(seconds=0.0))
    assert (late.status, late.share, late.witness) == ("bounds", (-math.inf, 0.0), False)
    found = ConstraintGeneration(release, class_of(release, TREE1), Limits(seconds=0.0)).run()
    assert found.world is None
    assert not found.empty
    assert found.open


def test_replacements_are_exact_for_stumps_and_bounds_for_others(case):
    release, learner, every, optimal = case
    models = class_of(release, learner)
    found = replaced_nodes(release, models, Limits())
    truth = math.log2(len(optimal) / len(every))
    assert -sum(place.bits for place in found) >= truth - 1e-12
    if learner == TREE1:  # all other stumps are replacements
        assert -sum(place.bits for place in found) == pytest.approx(truth, abs=1e-9)
        (place,) = found
        assert (place.what, place.node, place.columns) == ("split", 0, len(models.columns) - 1)
    loose = class_of(release, learner, gap=models.errors)
    assert replaced_nodes(release, loose, Limits()) == ()  # every model makes at least 0 errors


def test_replacements_where_leaves_may_be_split():
    release = encode(domain_of(3), [stump([(2, 2), (1, 1)])])
    models = class_of(release, TREE2)
    found = replaced_nodes(release, models, Limits())
    # b and c must not help where a = 0, nor where a = 1: (2, 2) has 8 of 16 such fillings at least, (1, 1) has 2 of 4
    assert [place.what for place in found] == ["leaf", "leaf"]
    for place in found:
        zero, one = place.counts
        fine = sum(
            math.comb(zero, a) * math.comb(one, b)
            for a in range(zero + 1)
            for b in range(one + 1)
            if min(a, b) + min(zero - a, one - b) >= place.errors
        )
        assert place.bits == pytest.approx(-2 * math.log2(fine / 2 ** (zero + one)), rel=1e-9)
        assert place.bits <= -2 * math.log2(fine / 2 ** (zero + one)) + 1e-15


def test_replacements_need_independent_columns():
    several = joined_with_table((("b", equals(1)),))
    assert replaced_nodes(several, class_of(several, TREE2), Limits()) == ()
    domain = Domain(
        domain_of(2).attributes, Categorical("y", (0, 1)), impossible=((("a", equals(1)), ("b", equals(1))),)
    )
    release = encode(domain, [stump([(2, 1), (0, 2)])])
    assert replaced_nodes(release, class_of(release, TREE1), Limits()) == ()


@pytest.mark.slow
def test_a_large_node_is_bounded_in_floats_and_a_small_memory_leaves_it_out():
    exact = sum(
        math.comb(40, a) * math.comb(30, b)
        for a in range(41)
        for b in range(31)
        if min(a, b) + min(40 - a, 30 - b) < 27
    )
    bits = -math.log2(1 - exact / 2**70)
    found = _one_column((40, 30), 27, Limits())
    assert bits * (1 - 1e-9) <= found <= bits
    assert _one_column((40, 30), 27, Limits(memory=1000)) == 0.0
    assert _one_column((3000, 2500), 2400, Limits()) > 0.0


@pytest.mark.slow
def test_the_solver_of_others_says_the_same_and_is_named():
    pytest.importorskip("pystreed")
    release = encode(domain_of(2), [stump([(2, 0), (1, 1)])])
    found = certify_under_optimal(
        release, pd.DataFrame({"a": [0], "b": [0], "y": [0]}), TREE2, Limits(seconds=60), solver="streed"
    )
    assert found["verdict"].tolist() == ["possible"]
    assert found["rests_on"].tolist() in (
        ["the solver (STreeD)"],
        ["the solver (STreeD and recon's dynamic program over trees)"],
        ["the solver (recon's dynamic program over trees and STreeD)"],
    )


def test_profiles_outside_the_domain_and_broken_profiles():
    release = encode(domain_of(2), [stump([(2, 0), (1, 1)])])
    found = certify_under_optimal(release, pd.DataFrame({"a": [0, 7]}), TREE2, Limits(seconds=60))
    assert found["verdict"].tolist() == ["certain", "outside"]
    with pytest.raises(ReleaseError, match="gap"):
        optimal_rule(release, TREE2, gap=-1)
