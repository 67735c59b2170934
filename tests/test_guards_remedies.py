"""Guards of remedies that no other test reaches: each fails where its guard is left out."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from test_guards_releasing import left, versions_of_people
from test_remedies import policy

import recon
from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Continuous, Test
from encoders.encode.encoder import encode
from encoders.models.models import Forest, PublishedFigure, Rule, RuleList, Table, Tree
from encoders.models.nodes import ModelNode, Support
from recon.readers.inspection.inspecting import inspect
from recon.release.registers.versions import comparison, version_relation
from recon.release.remediation import candidates, merging
from recon.release.remediation.candidates import (
    RemedyQuestion,
    TriedRemedy,
    _interval_facts,
    _only_sizes,
    _outcome_of,
    _possible,
    _remedy_line,
    _rounded_counts,
    _stripped,
    _structure_only,
    accuracy,
    blank_line,
    remedies,
)
from recon.release.remediation.merging import merge_leaves
from recon.release.remediation.pruning import NoMerging, alone, groups_of, links_of
from recon.release.remediation.thresholds import Demands
from recon.release.remediation.versions import _line, _remedies_of, _VersionRemedy, _without_some
from solvers.foundation.errors import Inconclusive, ReconError, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.release import RowCount

RELEASES = Path(__file__).parents[1] / "examples" / "releases"
DOMAIN = Domain((Categorical("a", (0, 1, 2, 3)), Categorical("b", (0, 1))), Categorical("y", (0, 1)))
A = (("a", Test((0, 1))),)
NOBODY = RemedyQuestion(None, None, None, (), 0.95)
STRICT = dataclasses.replace(NOBODY, policy=policy(smallest_group=5))
COUNTS = TriedRemedy("counts rounded to multiples of 5", "rounded counts", 5, lambda _: _rounded_counts(of(CLASSES), 5))


def tree(*leaves):
    """Return a tree of one test with these leaves."""
    return Tree((ModelNode(Support(), A, 1, 2), *map(ModelNode, leaves)))


def of(*models, **more):
    return encode(DOMAIN, models, **more)


CLASSES, ROWS = tree(Support((3, 1)), Support((0, 2))), tree(Support(None, 4), Support(None, 2))
DEEPER = Tree((ModelNode(Support(), A, 1, 2), ModelNode(Support(), (("b", Test((0,))),), 3, 4),
               *(ModelNode(Support(None, n)) for n in (9, 1, 3))))  # fmt: skip
BAGGED = Forest((CLASSES,), bootstrap=True)


# ---------------------------------------------------------------- other counts


@pytest.mark.parametrize(
    ("remedy", "model", "said"),
    [
        (_only_sizes, BAGGED, "counts of resamples are of draws"),
        (_only_sizes, ROWS, "the counts are not per class already"),
        (_structure_only, BAGGED, "the number of rows is open"),
        (lambda release: _rounded_counts(release, 5), BAGGED, "its counts are no exact numbers of all rows"),
    ],
)
def test_what_cannot_be_published_otherwise_is_not_tried(remedy, model, said):
    remedy(of(CLASSES))
    with pytest.raises(Unsupported, match=said):
        remedy(of(model))


def test_of_nobody_no_bits_are_left_and_no_group_is_the_smallest():
    facts = _interval_facts(of(tree(Support((0, 0)), Support((0, 0)))), Limits())
    assert (facts["least_bits_left"], facts["smallest_group"], facts["smallest_cell"]) == (None, None, None)
    assert facts["pinned"] == [0, 0]
    some = _interval_facts(of(CLASSES), Limits())
    assert (some["least_bits_left"], some["smallest_group"], some["smallest_cell"]) == ([2.0, 2.0], [2, 2], [1, 1])


# ---------------------------------------------------------------- lines


def test_what_takes_long_is_not_measured_again(monkeypatch):
    monkeypatch.setattr(candidates, "_remedy_line", lambda remedy, *_: (blank_line(remedy), None))
    never = dataclasses.replace(candidates.STAGES["measured once"], cap=-1.0)
    release, tried = of(Forest((CLASSES, CLASSES))), {}
    for seconds, stages in (("any", candidates.STAGES | {"measured once": never}), ("none", candidates.STAGES)):
        monkeypatch.setattr(candidates, "STAGES", stages)
        lines = remedies(release, None, Limits())
        tried[seconds] = {one["kind"] for one in lines if "to measure this forest once takes" in one["note"]}
    assert tried == {"any": {"counts"}, "none": set()}


def test_without_a_file_no_command_is_named():
    """The command is of the file that was read."""
    found = {}
    for file in ("", "tree.json"):
        (one,) = (x for x in _possible(of(CLASSES, file=file), STRICT, 0) if x.setting == "policy")
        found[file] = one.command
    assert found[""] is None
    assert found["tree.json"].startswith("recon remedy tree.json --policy")


def test_what_has_no_one_model_of_leaves_has_no_remedy():
    assert list(_possible(of(CLASSES), NOBODY, 0))
    assert list(_possible(of(CLASSES, CLASSES), NOBODY, 0)) == []


@pytest.mark.parametrize(("before", "left"), [(None, [1.0, 3.0]), ({"bits_left_per_person": [2.0, 2.5]}, [2.0, 3.0])])
def test_what_was_published_exactly_is_one_of_the_counts_that_rounding_leaves(monkeypatch, before, left):
    monkeypatch.setattr(candidates, "figures_of", lambda *_, **__: {"bits_left_per_person": [1.0, 3.0]})
    assert _remedy_line(COUNTS, NOBODY, Limits(), before)[0]["bits_left_per_person"] == left


@pytest.mark.parametrize(
    ("error", "asked", "status", "outcome"),
    [
        (Inconclusive("late"), NOBODY, "unknown", None),
        (Inconclusive("late"), STRICT, "unknown", "inconclusive"),
        (Unsupported("never"), STRICT, "not tried", None),
    ],
)
def test_a_remedy_that_fails_says_whether_it_was_tried(error, asked, status, outcome):
    def make(limits):
        raise error

    line, facts = _remedy_line(TriedRemedy("words", "merge", 5, make), asked, Limits())
    assert (line["status"], line["outcome"], line["note"], facts) == (status, outcome, str(error), None)


def test_without_a_policy_there_is_no_outcome():
    facts = {"smallest_group": [2, 2]}
    assert _outcome_of(facts, NOBODY, ()) is None
    assert _outcome_of(facts, STRICT, ()) == "violated"


def test_a_file_is_stripped_whether_or_not_figures_are_known():
    stored = inspect(RELEASES / "compas_forest.pkl")
    gone = sum(one.removable for one in stored.findings)
    asked = dataclasses.replace(STRICT, stored=(stored,))
    for facts, outcome in ((None, None), ({"smallest_group": [2, 2]}, "violated")):
        (line,) = _stripped(blank_line(COUNTS), facts, asked)
        assert (line["kind"], line["setting"], line["outcome"]) == ("strip", gone, outcome)
        first = next(one.path for one in stored.findings if one.removable)
        assert line["note"].startswith(f"{gone} findings removed, counts unchanged: {first}, ")


def test_only_predicted_labels_are_judged():
    rows = pd.DataFrame({"a": [0, 3], "b": [0, 1], "y": [0, 1]})
    assert accuracy(of(CLASSES), rows) == (1.0, 2)
    with pytest.raises(Unsupported, match="there are no rows to judge"):
        accuracy(of(CLASSES), rows.iloc[:0])
    with pytest.raises(ReconError):
        accuracy(encode(Domain(DOMAIN.attributes), [ROWS]), rows)


# ---------------------------------------------------------------- merges


def test_a_leaf_of_the_tree_is_no_merge():
    """Where nothing is merged no node becomes a leaf."""
    found = {k: merge_leaves(of(DEEPER), {"smallest_group": k}, Limits()).collapsed for k in (1, 4, 5)}
    assert found == {1: ((),), 4: ((1,),), 5: ((0,),)}


def test_leaves_are_merged_before_what_is_above_them():
    groups = groups_of(DEEPER, DOMAIN, Limits())
    assert list(merging._further([groups], ((),), Demands(mean_bits_left=1.0), Limits())) == [(0, 1), (0, 0)]


def model(**said):
    return SimpleNamespace(**{"noise": None, "unit": "leaf", "mergeable": False, "name": "m", "origin": "file", **said})


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ([model(unit="node"), model(unit="node")], "partitions by 2 variables in one file are not merged"),
        ([model(unit="node"), model()], "a regression tree whose leaves say totals of the target is not merged"),
        ([model(unit="node"), model(origin=None)], "a release of 2 models is not merged"),
        ([model(kind="boosting", scores="classes")], "its leaf values say more than its counts"),
        ([model(kind="table", scores="")], "the table 'm' has no leaves with parents to merge"),
    ],
)
def test_what_is_not_merged_says_why(models, said):
    with pytest.raises(Unsupported, match=said):
        merging._mergeable(SimpleNamespace(noisy=False, models=tuple(models)))


def test_a_rule_list_without_a_default_has_nothing_to_merge_into():
    assert len(links_of(RuleList((Rule(A, Support((3, 1))), Rule((), Support((0, 2))))))) == 3
    for rules in ((), (Rule(A, Support((3, 1))),)):
        with pytest.raises(Unsupported, match="has no default rule with a count"):
            links_of(RuleList(rules))


def test_groups_over_a_continuous_attribute_have_no_size():
    domain = Domain((Continuous("bmi", Fraction(10), Fraction(60)),))
    nodes = (ModelNode(Support(), (("bmi", Test(high=22.5)),), 1, 2), *(ModelNode(Support(None, n)) for n in (4, 2)))
    assert groups_of(Tree(nodes), domain, Limits(), sized=False).rows == (6, 4, 2)
    with pytest.raises(Unsupported, match=r"how many different rows fit each group of '.*' is not known exactly"):
        groups_of(Tree(nodes), domain, Limits())


@pytest.mark.parametrize(("limit", "said"), [("MAX_PAIRS", "prunings of two branches"), ("MAX_GRID", "combinations")])
def test_rule_lists_that_are_too_large_to_search_are_refused(monkeypatch, limit, said):
    rules = of(RuleList((Rule(A, Support((3, 1))), Rule((), Support((0, 2))))))
    assert merge_leaves(rules, {"mean_bits_left": 1.0}, Limits()).merges in {0, 1}
    monkeypatch.setattr(merging, limit, 0)
    with pytest.raises(TooLarge, match=f"{said}.* are too many"):
        merge_leaves(rules, {"mean_bits_left": 1.0}, Limits())


def test_groups_of_one_class_are_merged_only_where_a_policy_forbids_them(monkeypatch):
    """The same where the tree is too large for the exact search."""
    for combinations in (merging.MAX_GRID, 0):
        monkeypatch.setattr(merging, "MAX_GRID", combinations)
        for more, merges in (({}, 0), ({"class_disclosure": "forbidden"}, 1)):
            assert merge_leaves(of(CLASSES), {"most_pinned": 0, **more}, Limits()).merges == merges


def test_where_one_leaf_per_tree_is_not_enough_the_rule_is_named():
    with pytest.raises(NoMerging, match=r"one leaf per tree for everybody leaves .*mean_bits_left"):
        merge_leaves(of(Forest((CLASSES, CLASSES))), {"mean_bits_left": 50.0}, Limits())


def test_a_search_with_too_many_combinations_is_not_begun(monkeypatch):
    a, ones = np.arange(3), np.ones(3)
    front = merging.Front(a, a, a, ones, a, a)
    assert len(merging._undominated(front)) == 1
    monkeypatch.setattr(merging, "MAX_GRID", 26)
    with pytest.raises(TooLarge, match="27 combinations of merges, people and rows are too many"):
        merging._undominated(front)


def test_a_tree_alone_counts_different_rows_where_it_says_how_many():
    leaves = Support((3, 1), distinct=2), Support((0, 2))
    found = alone(Forest((tree(*leaves),), bootstrap=True), 0).nodes.leaf_counts
    assert [(one.counts, one.count) for one in found] == [(None, 2), ((0, 2), None)]


# ---------------------------------------------------------------- versions


@pytest.fixture
def held(tmp_path):
    """Return two versions of six people, one of whom left, as they are compared."""
    _, april, register = versions_of_people(tmp_path)
    new = recon.load(april)
    return comparison(new, register, version_relation(new, register, None, None), Limits()).held


def test_groups_are_merged_to_the_policys_size_beside_the_usual_ones(held):
    tried = {}
    for name, asked in (("nobody", None), ("seven", policy(smallest_group=7)), ("other", policy(most_pinned=0))):
        tried[name] = [one.setting for one in _remedies_of(held, asked, 0) if one.kind == "merge of versions"]
    assert tried == {"nobody": [5, 10, 11, 20], "seven": [5, 7, 10, 11, 20], "other": [5, 10, 11, 20]}


def test_where_nobody_left_nothing_would_help(held):
    none = dataclasses.replace(held.made, removed=RowCount(0, 0))
    datasets = tuple(none if one == held.made else one for one in held.relation.datasets)
    relation = dataclasses.replace(held.relation, datasets=datasets)
    assert list(_remedies_of(dataclasses.replace(held, relation=relation), None, 0)) == []


@pytest.mark.parametrize(
    ("possible", "asked", "figures", "outcome"),
    [
        (7, None, ([0, 0], [4, 7]), None),
        (7, policy(smallest_group=3), ([0, 0], [4, 7]), "violated"),
        (None, policy(smallest_group=2), (None, None), "met"),
    ],
)
def test_a_line_has_the_figures_that_are_known_and_the_outcome_of_a_policy(possible, asked, figures, outcome):
    who = left(RowCount(3, 3), 0, possible)
    who.fewest = (4, 7)
    remedy = _VersionRemedy("not published", "merge of versions", 5, lambda limits: ((of(CLASSES), who), ""))
    line = _line(remedy, asked, Limits(), (), False)
    assert (line["removed_pinned"], line["removed_candidates"]) == figures
    assert (line["outcome"], "Policy: " in line["sentence"]) == (outcome, asked is not None)


@pytest.mark.parametrize("model", [CLASSES, ROWS, RuleList((Rule(A, Support((3, 1))), Rule((), Support(None, 2))))])
def test_those_who_leave_besides_are_drawn_from_the_counts(model):
    fewer = _without_some(of(model), 5, np.random.default_rng(0))
    assert fewer.rows == RowCount(1, 1)
    shapes = [
        [part.support and (part.support.counts is None) for part in one.parts()] for one in (model, fewer.models[0])
    ]
    assert shapes[0] == shapes[1]
    for people in (6, 7):
        with pytest.raises(Unsupported, match="or there are too few"):
            _without_some(of(model), people, np.random.default_rng(0))


@pytest.mark.parametrize("models", [(CLASSES, CLASSES), (Forest((CLASSES, CLASSES)),), (BAGGED,)])
def test_nobody_is_drawn_from_counts_of_several_models_or_of_draws(models):
    with pytest.raises(Unsupported, match="from the exact counts of one tree or list"):
        _without_some(of(*models), 1, np.random.default_rng(0))


def test_nobody_is_drawn_from_counts_of_some_rows():
    table = Table((PublishedFigure(A, count=3),), "t")
    with pytest.raises(Unsupported, match="do not say where all of its rows are"):
        _without_some(of(table, rows=RowCount(9, 9)), 1, np.random.default_rng(0))
