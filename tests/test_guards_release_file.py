"""Guards of the release file: one thing of a file that is read is changed, and the words that refuse it."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from fractions import Fraction as F

import pytest

from encoders.domain.values import Continuous
from encoders.models.models import PublishedFigure, Tree
from encoders.models.nodes import ModelNode, Support
from recon.readers.formats.release import writing
from recon.readers.formats.release.parts import to_domain, to_exact, to_models, to_related, to_row_count, to_rows
from recon.readers.formats.release.reading import parse, parse_adversary, related_of, strict_json
from recon.readers.formats.release.schema import RowsPart
from recon.readers.formats.release.writing import dump, figure, release_json
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

ATTRIBUTES = [{"name": "age", "min": 0, "max": 9}, {"name": "bmi", "min": 10.5, "max": 60, "resolution": None},
              {"name": "a", "values": ["x", "y"]}]  # fmt: skip
LABEL = {"name": "y", "values": [0, 1]}
NODES = [{"if": {"age": {"at_most": 4}}, "then": 1, "else": 2}, {"counts": [2, 1]}, {"count": 3}]
SPENT = {"step": "counts", "mechanism": "laplace", "epsilon": 1.0, "delta": 0.0, "standing": "guaranteed"}
LEDGER = {"epsilon": 1.0, "delta": 0.0, "neighbours": "add_remove", "assumes": [], "standing": "guaranteed",
          "entries": [SPENT]}  # fmt: skip
BUDGET = {"law": "discrete_laplace", "epsilon": 1.0, "sensitivity": 1, "neighbours": "add_remove"}
SUM = {"hessian": 1.0, "at_least": 0.5, "at_most": 1.5}
BOOSTED = {"kind": "boosting", "gradients": {"loss": "log_loss"}, "start": [0.0], "base": [0.5], "labels": [0, 1],
           "trees": [{"round": 0, "nodes": [{"if": {"a": "x"}, "then": 1, "else": 2}, {"count": 2, "step": 0.5},
                                            {"count": 3, "step": -0.5, "value": SUM}]}]}  # fmt: skip


def release(*models, **more):
    return {"recon": 1, "domain": {"attributes": ATTRIBUTES, "label": LABEL}, "models": list(models), **more}


def tree(**more):
    return {"kind": "tree", "nodes": NODES, **more}


def figures(*statements, **more):
    return {"kind": "table", "statements": list(statements), **more}


def read(file):
    """Return domain, rows, models and relations of a file, or of its text."""
    found = parse((file if isinstance(file, str) else json.dumps(file)).encode(), "f.json")
    return to_domain(found.domain), to_rows(found), to_models(found), to_related(found)


def with_test(**test):
    return release(tree(nodes=[{**NODES[0], "if": {"age": test}}, *NODES[1:]]))


def with_attribute(**attribute):
    return release(tree()) | {"domain": {"attributes": [*ATTRIBUTES, {"name": "b", **attribute}]}}


def noisy(**noise):
    return release(tree(noise={**BUDGET, **noise}))


def boosted(path, value):
    """Return a boosted model with one entry changed."""
    out = copy.deepcopy(BOOSTED)
    inner = out
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return release(out)


HUGE = 10**400
LEAF = ("trees", 0, "nodes", 2)
MEAN = {"of": "age", "value": 1}
SETS = [{"name": "m"}, {"name": "n"}]
TERM = {"where": {"a": "x"}}


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (with_test(missing=True, at_most=4), "'missing' stands alone in a test"),
        (with_test(missing=True, or_missing=True), "'missing' stands alone in a test"),
        (with_test(or_missing=True), "the test is empty: give 'in', 'at_most'"),
        (with_test(**{"in": [1], "at_most": 4}), "the keys .* do not make one range"),
        (with_test(at_most=4, below=5), "do not make one range"),
        (with_test(at_least=4, above=5), "do not make one range"),
        (json.dumps(with_test(at_most=777)).replace("777", "1e999"), "the number inf is not finite"),
        (with_attribute(values=[1, 2], min=1), "'b' has 'values' and a range"),
        (with_attribute(values=[1, 2], max=1), "'b' has 'values' and a range"),
        (with_attribute(values=[1, 2], resolution=None), "'b' has 'values' and a range"),
        (json.dumps(with_attribute(values=[777])).replace("777", "1e999"), "'b': the value inf is not finite"),
        (json.dumps(with_attribute(min=0, max=777)).replace("777", "1e999"), "'b': the number inf is not finite"),
        (with_attribute(min=0), "'b' needs 'values', or 'min' and 'max'"),
        (with_attribute(max=0), "'b' needs 'values', or 'min' and 'max'"),
        (release(tree(nodes=[NODES[0], {"counts": [1, 2], "count": 3}, NODES[2]])), "'counts' or 'count', not both"),
        (release(tree(nodes=[NODES[0], {"counts": [1.5, 2]}, NODES[2]])), "the count 1.5 is not a number of rows"),
        (release(tree(nodes=[NODES[0], {"count": -1}, NODES[2]])), "the count -1 is not a number of rows"),
        (json.dumps(release(tree())).replace('"count": 3', '"count": 1e999'), "the count inf is not a number of rows"),
        (release(tree(nodes=[{"then": 1, "else": 2}, *NODES[1:]])), "a node with 'then' or 'else' needs 'if'"),
        (release(tree(nodes=[{"if": {"a": "x"}, "then": 1}, *NODES[1:]])), "an inner node needs 'then' and 'else'"),
        (release(figures({"linear": [TERM], "value": "x"})), "'x'"),
        (release(figures({"linear": [TERM], "value": "1e101"})), "a number of more than 100 digits is given"),
        (json.dumps(release(figures({"linear": [TERM], "value": 777}))).replace("777", "1e999"), "not a finite number"),
        (release(figures({"linear": [{**TERM, "any": [{}]}], "value": 1})), "give 'where' or 'any', not both"),
        (release(figures({"linear": [{"of": []}], "value": 1})), "the list is empty: leave 'of' out"),
        (release(figures({"count": 1, "value": 1})), "'value' is not taken beside 'linear'"),
        (release(figures({"at_least": 1, "within": 1})), "'within' is not taken beside 'linear'"),
        (release(figures({"at_least": 1.5})), "1.5 is not a whole number"),
        (release(figures({"mean": MEAN, "total": MEAN})), "give one of 'mean', 'total', not several"),
        (release(figures({"at_most": -1})), "the count -1 is not a number of rows"),
        (release({"kind": "tables", "cells": [], "values": []}), r"models\[0\]: tables of areas are asked about by"),
        (release(tree(), relations=[{"disjoint": ["m", "n"]}]), "relations are between data sets"),
        (release(tree(), datasets=SETS, relations=[{"disjoint": ["m", "n"], "of": "n"}]),
         "a relation has 'disjoint' alone, or 'parts' and 'of'"),
        (release(tree(), datasets=SETS, relations=[{"parts": ["m", "n"]}]), "'parts' and 'of'"),
        (release(tree(), rows=(1 << 53) + 1), r"more than 2\^53 rows are not counted"),
        (release(tree(), rows={"at_least": 1, "at_most": (1 << 53) + 1}), r"more than 2\^53 rows are not counted"),
        (release(tree(), rows=-1), "-1"),
        (release(tree(), rows={"at_least": 9, "at_most": 8}), "at_most 8 is below at_least 9"),
        (release(tree(learner={"name": "sklearn forest"})), "a tree is learned by .*, not by 'sklearn forest'"),
        (release(tree(learner={"name": "sklearn tree", "width": 2})), "belongs to rule lists, not to 'sklearn tree'"),
        (release(tree(learner={"name": "sklearn tree", "ccp_alpha": HUGE})), "the number inf is not finite"),
        (release(tree(learner={"name": "sklearn tree", "min_weight_fraction_leaf": 0.6})), "at most 0.5, but it"),
        (noisy(decided="which"), "the draws also decided|decided"),
        (noisy(adjusted=True), "counts adjusted to add up no longer carry independent noise"),
        (noisy(scale=1.0), "give 'scale' or 'epsilon', 'sensitivity', 'neighbours', not both"),
        (noisy(bound=3), "'bound' belongs to 'scale'"),
        (release(tree(noise={"law": "laplace", "epsilon": 1.0})), "'sensitivity' and 'neighbours' missing"),
        (noisy(epsilon=0), "epsilon must be above 0, not 0"),
        (noisy(sensitivity=-1), "sensitivity must be above 0, not -1"),
        (noisy(law="gaussian", delta=1.0), "delta must be between 0 and 1 for gaussian noise"),
        (noisy(law="truncated_laplace", delta=0), "delta must be between 0 and 1 for truncated_laplace"),
        (noisy(delta=0.5), "discrete_laplace noise has delta 0, not 0.5"),
        (json.dumps(noisy(epsilon=777)).replace("777", "1e999"), "epsilon must be a finite number"),
        (noisy(epsilon=HUGE), "is beyond the range of doubles"),
        (noisy(ledger={**LEDGER, "epsilon": 2.0}), "the entries spend epsilon 1 in all, not 2"),
        (noisy(ledger={**LEDGER, "delta": 0.5}), "the entries spend delta 0 in all, not 0.5"),
        (noisy(ledger={**LEDGER, "standing": "claimed"}), "the worst entry is 'guaranteed'"),
        (release(tree(noise=BUDGET, nodes=[NODES[0], {"count": (1 << 53) + 1}, NODES[2]])), r"not between -2\^53"),
        (boosted(("gradients", "scale"), 0), "scale must be above 0, not 0"),
        (boosted(("gradients", "factor"), -1), "factor must be above 0, not -1"),
        (boosted(("start",), [HUGE]), "is beyond the range of doubles"),
        (boosted(("trees", 0, "nodes", 0, "step"), 1.0), "an inner node has no 'step'"),
        (boosted((*LEAF, "step"), None), "a leaf needs a 'step'"),
        (boosted((*LEAF, "value"), {**SUM, "hessian": 0}), "gives none of 'gradient', 'hessian' and 'square'"),
        (boosted((*LEAF, "value"), {**SUM, "at_most": 0.25}), "the interval from 0.5 to 0.25 is empty"),
        ("", "the file is empty"),
        ("  \n", "the file is empty"),
        ("[1]", "is not a release file: it starts with"),
        ({"recon_adversary": 1}, "is what an adversary knows, not a release"),
        ({"domain": {}, "models": []}, 'the key "recon" is missing'),
        ({"recon": True, "domain": {}, "models": []}, 'the key "recon" is missing'),
        (json.dumps(release(tree())).replace('"count": 3', '"count": 3, "count": 3'), "the key 'count' stands twice"),
        (release(tree(more=1)), r"models\[0\].more: unknown key"),
        (release(tree(nodes=[{**NODES[0], "if": {"a": {"in": "x"}}}, *NODES[1:]])), r"nodes\[0\].if.a"),
    ],
)  # fmt: skip
def test_a_file_with_one_thing_wrong_is_refused_by_name(file, said):
    with pytest.raises((ReleaseError, Unsupported), match=said):
        read(file)


def test_what_is_right_is_read_as_it_stands():
    file = release(tree(), BOOSTED, figures({"count": 3}, {"mean": MEAN}), rows={"at_least": 6})
    domain, rows, models, related = read(file)
    assert (domain.label.name, rows, related) == ("y", RowCount(6, None), None)
    assert [(s.counts, s.count) for s in models[0].nodes.leaf_counts] == [((2, 1), None), (None, 3)]
    assert (models[1].start, models[1].base) == ((0.0,), (0.5,))
    assert [(f.count, f.statistic and f.statistic.kind) for f in models[2].statements] == [(3, None), (None, "mean")]
    assert domain.all[1] == Continuous("bmi", Fraction(21, 2), Fraction(60))
    assert read(release(tree()) | {"domain": {"attributes": ATTRIBUTES}})[0].label is None
    assert read(with_attribute(min=0, resolution=None))[0].all[-1] == Continuous("b", Fraction(0), None)
    ((figure,),) = [model.statements for model in read(release(figures({"linear": [TERM], "at_least": 1})))[2]]
    assert (figure.low, figure.linear.low) == (None, 1)
    three = [{"name": name} for name in "mno"]
    assert read(release(tree(), datasets=three, relations=[{"parts": ["m", "n"], "of": "o"}]))[3].parts == (
        (("m", "n"), "o"),
    )


@pytest.mark.parametrize("two", [2, 2.0])
def test_forests_are_read_with_different_rows_and_labels(two):
    """A whole number may be written as 2.0."""
    nodes = [NODES[0], {"counts": [two, 1], "distinct": 2}, {"counts": [0, 2]}]
    forest = {"kind": "forest", "bootstrap": True, "trees": [{"nodes": nodes}], "labels": [0, 0, 1, 1]}
    (found,) = read(release({**forest, "multiplicities": [[1, 1, 1, 2]]}))[2]
    assert [(s.counts, s.distinct) for s in found.trees[0].nodes.leaf_counts] == [((2, 1), 2), ((0, 2), None)]
    assert found.labels == (0, 0, 1, 1)
    assert read(release({key: value for key, value in forest.items() if key != "labels"}))[2][0].labels is None


def test_noise_is_read_with_its_law_bound_and_ledger():
    for noise, bound, spent in ((BUDGET | {"ledger": LEDGER}, False, True), (BUDGET, False, False),
                                ({"law": "truncated_laplace", "scale": 1.0, "bound": 3}, True, False),
                                ({"law": "laplace", "scale": 1.0}, False, False),
                                (BUDGET | {"law": "truncated_laplace", "delta": 0.25}, True, False)):  # fmt: skip
        (found,) = read(release(tree(noise=noise)))[2]
        assert (found.noise.law.bound is not None, found.noise.ledger is not None) == (bound, spent)


def test_data_sets_of_their_own_file_are_an_object_with_them():
    assert related_of({"datasets": [{"name": "m"}]}) is not None
    for found in ([], {}, {"relations": []}, {"datasets": [{"name": "m"}], "more": 1}):
        with pytest.raises(ReleaseError):
            related_of(found)


@pytest.mark.parametrize(
    ("text", "said"),
    [("x", "is not what an adversary knows"), (json.dumps(release(tree())), 'is a release file: the key "recon_adv'),
     ("{}", 'is not what an adversary knows: the key "recon_adversary" is missing')],
)  # fmt: skip
def test_what_an_adversary_knows_says_so(text, said):
    assert parse_adversary(b'{"recon_adversary": 1}', "f.json").rows == []
    with pytest.raises(ReleaseError, match=said):
        parse_adversary(text.encode(), "f.json")


def test_what_cannot_be_read_back_is_not_written(monkeypatch):
    domain, _, (model,), _ = read(release(tree()))
    assert read(dump(release_json(domain, [model], None)))[2] == [model]
    twice = ModelNode(Support(), (*model.nodes[0].condition, *model.nodes[0].condition), 1, 2)
    with pytest.raises(ReleaseError, match="two tests of one attribute cannot be written"):
        release_json(domain, [Tree((twice, model.nodes[1], model.nodes[2]))], None)
    assert writing._figure_json(PublishedFigure((), count=3)) == {"where": {}, "count": 3}
    assert "count" not in writing._figure_json(PublishedFigure((), low=3))
    with pytest.raises(ReleaseError, match="cannot be written so that it reads back the same"):
        dump(release(tree(), about="ours"))


MOST, DIGITS = 1 << 53, 10**100
NUMBERS = [  # what reads a number, the number, what it is: None where it is refused
    (to_row_count, 0, RowCount(0, 0)), (to_row_count, MOST, RowCount(MOST, MOST)), (to_row_count, MOST + 1, None),
    (to_row_count, -1, None), (to_row_count, RowsPart(3, 3), RowCount(3, 3)), (to_row_count, RowsPart(3, 2), None),
    (to_row_count, RowsPart(3), RowCount(3, None)), (to_row_count, RowsPart(0, MOST + 1), None),
    (to_row_count, None, None),
    (to_exact, DIGITS - 1, DIGITS - 1), (to_exact, DIGITS, None), (to_exact, -DIGITS, None),
    (to_exact, 1 - DIGITS, 1 - DIGITS),
    (to_exact, f"1/{DIGITS - 1}", F(1, DIGITS - 1)), (to_exact, f"1/{DIGITS}", None), (to_exact, 0.1, F(1, 10)),
    (to_exact, float("inf"), None), (to_exact, float("nan"), None), (to_exact, "x", None),
    (figure, MOST, MOST), (figure, MOST + 1, None), (figure, -MOST, -MOST), (figure, -MOST - 1, None),
    (figure, 2.5, F(5, 2)),
    (figure, float("nan"), None), (figure, float("-inf"), None), (figure, 10**400, None), (figure, -0.0, 0),
]  # fmt: skip


@pytest.mark.parametrize(("read", "number", "found"), NUMBERS)
def test_numbers_of_a_file_are_read_up_to_their_limits(read, number, found):
    if found is None and number is not None:
        with pytest.raises(ReleaseError, match=r"^here"):
            read(number, "here")
    else:
        assert read(number, "here") == found


def test_the_key_that_stands_twice_is_named():
    assert strict_json('{"a": 1, "b": [{"a": 2}]}') == {"a": 1, "b": [{"a": 2}]}
    with pytest.raises(ReleaseError, match="the key 'b' stands twice in one object"):
        strict_json('{"a": 1, "b": 2, "c": 3, "b": 4}')
