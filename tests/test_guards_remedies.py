"""Guards of remedies that no other test reaches: each fails where its guard is left out."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_remedies import policy

from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Test
from encoders.encode.encoder import encode
from encoders.models.models import Forest, Rule, RuleList, Tree
from encoders.models.nodes import ModelNode, Support
from recon.readers.inspection.inspecting import inspect
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
from solvers.foundation.errors import Inconclusive, ReconError, TooLarge, Unsupported
from solvers.foundation.limits import Limits

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
    never = dataclasses.replace(candidates.STAGES["measured once"], cap=-1.0)
    release, tried = of(Forest((CLASSES, CLASSES))), {}
    for seconds, stages in (("any", candidates.STAGES | {"measured once": never}), ("none", candidates.STAGES)):
        monkeypatch.setattr(candidates, "STAGES", stages)
        lines = remedies(release, None, Limits(seconds=0))
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
    nodes = (ModelNode(Support(), A, 1, 2), ModelNode(Support(), (("b", Test((0,))),), 3, 4),
             *(ModelNode(Support(None, n)) for n in (9, 1, 3)))  # fmt: skip
    found = {k: merge_leaves(of(Tree(nodes)), {"smallest_group": k}, Limits()).collapsed for k in (1, 4, 5)}
    assert found == {1: ((),), 4: ((1,),), 5: ((0,),)}


def test_rule_lists_that_are_too_large_to_search_are_refused(monkeypatch):
    rules = RuleList((Rule(A, Support((3, 1))), Rule((), Support((0, 2)))))
    assert merge_leaves(of(rules), {"mean_bits_left": 1.0}, Limits()).merges in {0, 1}
    monkeypatch.setattr(merging, "MAX_PAIRS", 0)
    with pytest.raises(TooLarge, match="prunings of two branches are too many"):
        merge_leaves(of(rules), {"mean_bits_left": 1.0}, Limits())


def test_a_search_with_too_many_combinations_is_not_begun(monkeypatch):
    a, ones = np.arange(3), np.ones(3)
    front = merging.Front(a, a, a, ones, a, a)
    assert len(merging._undominated(front)) == 1
    monkeypatch.setattr(merging, "MAX_GRID", 26)
    with pytest.raises(TooLarge, match="27 combinations of merges, people and rows are too many"):
        merging._undominated(front)
