"""What keeps a figure from saying more than is known: each guard with the file that would be released without it."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
import report_documents as documents
from extras import encoded, run
from policy_cases import facts_of as harmless
from policy_cases import policy_of
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import recon
from recon.queries.measures.attribute_bits import interval_left
from recon.queries.measures.measures import measure
from recon.readers.inspection.findings.findings import Finding
from recon.readers.inspection.inspecting import Inspection
from recon.release.auditing.auditing import group_disclosure, stored_outright
from recon.release.auditing.evidence import with_unused_of_files
from recon.release.auditing.facts import (
    _beside_rows,
    _between,
    _classes,
    _of_resamples,
    by_position,
    no_merging,
    nothing_known,
)
from recon.release.auditing.facts import facts_of as audited
from recon.release.auditing.findings import AuditFindings
from recon.release.policies.assessing import CELLS, HIDING, MERGING, RETRAIN, assess
from recon.release.policies.facts import AbsentFigure, FactTable, KnownFigure, SmallGroups, UnknownFigure
from recon.release.remediation.thresholds import Demands, outcomes
from recon.report.results import _outcome_of
from solvers.foundation.limits import Limits

LABEL = {"name": "y", "values": [0, 1]}
BITS = {"attributes": [{"name": "a", "values": [0, 1]}, {"name": "b", "values": [0, 1]}], "label": LABEL}


def split(name, first, second, value=0):
    nodes = [{"if": {name: value}, "then": 1, "else": 2}, {"counts": first}, {"counts": second}]
    return {"kind": "tree", "name": f"tree {name}", "nodes": nodes}


def release_of(*models, domain=BITS):
    return encoded({"recon": 1, "domain": domain, "models": list(models)})


def found_of(release):
    return AuditFindings(release, measure(release), group_disclosure(release))


def finding(level="critical", rule="raw-data", removable=False):
    return Finding(level, rule, "X_", "an array", "rows", "leave it out", removable)


def inspected(*findings):
    return (Inspection("m.pkl", "pickle", "ab", 3, findings),)


# Facts


def test_two_trees_with_pure_leaves_may_tell_the_class_of_more_people_together():
    trees = [split("a", [30, 0], [30, 60]), split("b", [0, 40], [60, 20])]
    forest = release_of({"kind": "forest", "trees": [{"nodes": one["nodes"]} for one in trees]})
    figure, _ = _classes(found_of(forest))
    assert figure.low == 40
    assert figure.high == 120
    alone, _ = _classes(found_of(release_of(trees[0])))
    assert (alone.low, alone.high) == (30, 30)


def test_a_count_that_may_hold_another_class_is_no_group_of_one_class():
    release = release_of(split("a", [9, 3], [14, 14]))
    (block,) = release.statements.blocks
    high = block.high.copy()
    low = np.where(block.low == 3, 0, block.low)
    maybe = replace(release, statements=replace(release.statements, blocks=(block.bounded(low, high),)))
    assert group_disclosure(maybe).pure == ()
    sure = replace(
        release, statements=replace(release.statements, blocks=(block.bounded(low, np.where(low, high, 0)),))
    )
    assert [one[0] for one in group_disclosure(sure).pure] == ["leaf 1"]


def test_rows_in_the_file_open_what_counts_settled():
    held = FactTable("exact", 1.0, {
        "rows": KnownFigure(50, 50), "pinned": KnownFigure(0, 0), "least_bits_left": KnownFigure(4.0, 4.0),
        "bits_left_per_person": KnownFigure(5.0, 5.0), "smallest_group": KnownFigure(20, 20),
        "class_disclosure": KnownFigure(0, 0),
    }, {"groups": SmallGroups([{"name": "leaf", "where": "", "rows": [20, 20]}], 1)})  # fmt: skip
    found = _beside_rows(held, inspected(finding()))
    assert (found["pinned"].low, found["pinned"].high) == (0, 50)
    assert found["pinned"].why
    assert (found["least_bits_left"].low, found["bits_left_per_person"].low) == (0, 0)
    assert found["smallest_group"] == KnownFigure(1, 1)
    assert found["class_disclosure"].high == 50
    labels = _beside_rows(held, inspected(finding(rule="labels")))
    assert labels["class_disclosure"].high == 50
    assert labels["smallest_group"].high == 20
    assert _beside_rows(held, inspected())["pinned"] == KnownFigure(0, 0)


def test_what_a_resample_drew_may_be_one_row_many_times():
    nodes = [{"if": {"a": 0}, "then": 1, "else": 2}, {"counts": [50, 0]}, {"counts": [50, 0]}]
    forest = {"kind": "forest", "bootstrap": True, "trees": [{"nodes": nodes}]}
    release = encoded({"recon": 1, "domain": BITS, "rows": 100, "models": [forest]})
    held = _of_resamples(release, FactTable("exact", figures={"smallest_group": KnownFigure(50, 50)}))
    assert held["smallest_group"] == KnownFigure(1, 100, held["smallest_group"].why)
    assert [one["rows"] for one in held.listed("smallest_group").each] == [[1, 100], [1, 100]]
    assert isinstance(held["smallest_cell"], UnknownFigure)
    assert assess(held, policy_of(smallest_group=10)).verdict == "not assessed"


def test_cells_of_a_tree_are_not_all_beside_a_resample():
    """Its draws may be of few people of a class, however large every cell of the tree is."""
    forest = {"kind": "forest", "bootstrap": True, "trees": [{"nodes": split("b", [50, 0], [50, 0])["nodes"]}]}
    for leaf in forest["trees"][0]["nodes"][1:]:
        leaf["count"] = sum(leaf.pop("counts"))
    told = release_of(split("a", [20, 20], [30, 30]), forest)
    found = assess(audited(found_of(told)), policy_of(smallest_group=10, smallest_cell=10))
    assert [one.outcome for one in found.checks] == ["inconclusive", "inconclusive"]
    groups = SmallGroups([{"name": "leaf", "rows": [20, 20]}], 1)
    held = _of_resamples(told, FactTable("exact", groups={"groups": groups, "cells": groups}))
    assert {one.outcome for one in assess(held, policy_of(smallest_cell=10)).checks} == {"inconclusive"}


def test_nothing_known_is_open_whatever_is_asked():
    told = nothing_known((), "no counts were read", "rows")
    found = assess(told, policy_of(smallest_group=1, most_pinned=9, least_bits_left=0, class_disclosure=100))
    assert {one.outcome for one in found.checks} == {"inconclusive"}
    assert {one.said.help for one in found.checks} == {"rows"}


# Continuous ranges


def continuous(thresholds, **ends):
    attributes = [{"name": "x", "resolution": None, **ends}, {"name": "b", "values": [0, 1]}]
    models = [split("x", [20, 0], [0, 20], value={"at_most": t}) for t in thresholds]
    return release_of(*models, domain={"attributes": attributes, "label": LABEL})


@pytest.mark.parametrize(
    ("thresholds", "free"),
    [
        ([1.37], True), ([64.5], True), ([64.5, 65.5], False), ([64.5, 66.5], True), ([0.0517, 0.0518], False),
        ([64.5, 65.4378], True), ([4.95, 4.85], False), ([1, 1], True),
    ],
)  # fmt: skip
def test_an_interval_that_may_hold_one_value_only_is_no_interval(thresholds, free):
    """Full-grown trees on whole numbers cut every value off: there an interval is a value."""
    release = continuous(thresholds, min=0, max=100)
    assert bool(interval_left(release)) == free
    pinned = audited(found_of(release))["pinned"]
    assert (pinned == KnownFigure(0, 0, assumes=pinned.assumes)) if free else isinstance(pinned, UnknownFigure)
    if free:
        sentence = assess(audited(found_of(release)), policy_of(most_pinned=0)).checks[0].sentence
        assert "this assumes that x can have several values between any two thresholds" in sentence


def test_bits_of_a_continuous_range_are_not_defined():
    release = continuous([1.5], min=0, max=4)
    told = audited(found_of(release))
    assert all(isinstance(told[key], UnknownFigure) for key in ("least_bits_left", "bits_left_per_person"))
    found = assess(told, policy_of(least_bits_left=3, mean_bits_left=3))
    assert found.verdict == "not assessed"
    assert {one.said.help for one in found.checks} == {"domain"}
    document = recon.audit(release).to_dict()
    assert all(one["bits_left"] is None for one in document["exposed"])
    assert any(one["bits_removed"] for one in document["exposed"])


def test_a_missing_value_is_a_value_of_its_own():
    domain = {"attributes": [{"name": "x", "min": 0, "max": 4, "resolution": None, "missing": True}], "label": LABEL}
    assert interval_left(release_of(split("x", [2, 0], [0, 2], value={"at_most": 1.5}), domain=domain)) == ""


# By position, seeds, what is given away


@pytest.fixture(scope="module")
def forest(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forest")
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"a": rng.integers(0, 4, 40), "b": rng.integers(0, 3, 40), "c": rng.integers(0, 2, 40)})
    y = rng.integers(0, 2, 40)
    x.assign(y=y).to_csv(folder / "rows.csv", index=False)
    joblib.dump(RandomForestClassifier(12, random_state=0).fit(x, y), folder / "leaky.joblib")
    joblib.dump(RandomForestClassifier(3, min_samples_leaf=12, random_state=0).fit(x, y), folder / "large.joblib")
    joblib.dump(DecisionTreeClassifier(random_state=0).fit(x, y), folder / "tree.joblib")
    return folder


@pytest.mark.slow
def test_seeds_whose_bags_were_rebuilt_are_judged_by_what_follows(forest, capsys):
    code, out, _ = run(capsys, "audit", forest / "leaky.joblib", "--domain", forest / "rows.csv", "--json")
    assert code == 0
    facts = json.loads(out)["facts"]
    (seeds,) = [one for one in facts["stored"] if one["rule"] == "bag-seeds"]
    assert seeds["worked_out"]
    assert assess(facts, policy_of(stored="medium")).outcome == "met"
    assert facts["labels_by_position"][0] > 20
    assert facts["values_by_position"][0] > 20
    found = assess(facts, policy_of(most_labels_by_position=0, most_values_by_position=0))
    assert [one.outcome for one in found.checks] == ["violated", "violated"]


def test_seeds_whose_bags_were_not_used_count_as_stored():
    release = release_of(split("a", [30, 0], [30, 60]))
    seeds = inspected(finding("high", "bag-seeds", True))
    unused = AuditFindings(release, measure(release), group_disclosure(release), stored=seeds)
    told = audited(unused)
    assert assess(told, policy_of(stored="medium")).outcome == "violated"
    assert isinstance(by_position(unused)["labels_by_position"], UnknownFigure)
    assert by_position(found_of(release))["labels_by_position"] == KnownFigure(0, 0)
    unfinished = SimpleNamespace(
        complete=False, labels_known=2, rows=9, classes=(), data=[SimpleNamespace(exact=np.array([True, False]))]
    )
    with_bags = SimpleNamespace(
        release=SimpleNamespace(domain=release.domain, statements=SimpleNamespace(bags=(1,))), positions=unfinished,
        stored=seeds,
    )  # fmt: skip
    figures = by_position(with_bags)
    assert (figures["labels_by_position"].low, figures["labels_by_position"].help) == (2, "limits")
    assert figures["values_by_position"] == KnownFigure(1, 9, figures["values_by_position"].why, "limits")
    late = by_position(SimpleNamespace(**{**vars(with_bags), "positions": None}))
    assert {one.help for one in late.values()} == {"limits"}
    no_label = release_of(
        {"kind": "table", "statements": [{"count": 9}]}, domain={"attributes": BITS["attributes"], "label": None}
    )
    assert by_position(found_of(no_label))["labels_by_position"] == AbsentFigure("the domain has no label")


@pytest.mark.parametrize(
    ("facts", "first"),
    [
        ({"pinned": [3, 3]}, "3 people are fully known."),
        ({"labels_by_position": [1, 100]}, "Between 1 and 100 rows have a label proved by their position"),
        ({"values_by_position": [7, 7]}, "7 values are proved by the position of their row"),
        (
            {"stored": [{"level": "critical", "what": "an array", "path": "X_", "rule": "raw-data"}]},
            "Training rows, or",
        ),
    ],
)
def test_a_file_that_gives_people_away_never_gets_a_green_page(facts, first):
    from policy_cases import document_of

    from recon.report.page.first_page import first_page
    from recon.report.sarif import junit, sarif

    document = documents.met() | document_of(harmless(**facts), policy_of(smallest_group=10))
    assessment = document["assessment"]
    assert (assessment["verdict"], assessment["outcome"]) == ("release", "met")
    assert assessment["gives_away"][0]["sentence"].startswith(first)
    assert "reveals people" in assessment["sentence"]
    page = first_page(document)
    assert (page.tone, page.verdict) == ("changes", "meets the policy, but reveals people")
    assert page.reasons[0][0] == "warning"
    levels = [one["level"] for one in json.loads(sarif(document))["runs"][0]["results"]]
    assert levels == ["warning"]
    assert "People revealed" in junit(document)
    clean = document | document_of(harmless(), policy_of(smallest_group=10))
    assert clean["assessment"]["gives_away"] == []
    assert first_page(clean).tone == "good"
    assert json.loads(sarif(clean))["runs"][0]["results"] == []
    assert "People revealed" not in junit(clean)


def test_what_a_check_is_violated_by_is_no_warning_too():
    from recon.report.sarif import _warnings

    said = assess(harmless(pinned=[3, 3], labels_by_position=[2, 9]), policy_of(most_pinned=0)).to_json()
    assert [one["fact"] for one in _warnings(said)] == ["labels_by_position"]
    assert [one["fact"] for one in said["gives_away"]] == ["pinned", "labels_by_position"]
    none = assess(harmless(status="unsat", pinned=[3, 3]), policy_of(most_pinned=0))
    assert none.gives_away == ()


# Policies, remedies


def test_groups_that_were_not_listed_keep_those_listed_from_deciding():
    facts = harmless(smallest_group=[1, 40], not_listed={"groups": "published groups cut each other"})
    (check,) = assess(facts, policy_of(smallest_group=10)).checks
    assert (check.outcome, check.said.why) == ("inconclusive", "published groups cut each other")
    assert assess(harmless(smallest_group=[1, 40]), policy_of(smallest_group=10)).outcome == "met"
    some = harmless(smallest_group=[1, 40], groups_in_all=3)
    assert assess(some, policy_of(smallest_group=10)).outcome == "inconclusive"


def test_what_does_not_apply_to_a_release_keeps_no_merging_from_being_enough():
    facts = harmless(class_disclosure=None, not_applicable={"class_disclosure": "no classes"})
    assert outcomes(facts, Demands(class_disclosure=0)) == {"class_disclosure": "met"}
    assert outcomes(harmless(class_disclosure=None), Demands(class_disclosure=0)) == {
        "class_disclosure": "inconclusive"
    }
    nobody = {"rows": [0, 0], "class_disclosure": None, "smallest_group": None}
    assert set(outcomes(nobody, Demands(class_disclosure=0, smallest_group=5)).values()) == {"met"}
    assert outcomes(harmless(pinned=[0, 3]), Demands(most_pinned=2, smallest_group=31)) == {
        "most_pinned": "inconclusive", "smallest_group": "violated",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "expected"), [("merge", "met"), ("depth", "met"), ("noise", "inconclusive"), ("counts", "inconclusive")]
)
def test_a_remedy_that_changes_counts_has_others_than_the_file(kind, expected):
    remedy = {"kind": kind, "status": "exact", "smallest_group": [30, 30]}
    assert _outcome_of(remedy, harmless(), policy_of(kinds_of_counts=("exact",))) == expected
    assert _outcome_of(remedy, harmless(), policy_of(smallest_group=10)) == "met"
    assert _outcome_of(remedy, harmless(), policy_of(most_labels_by_position=0)) == "inconclusive"
    assert _outcome_of(remedy | {"pinned": [1, 1]}, harmless(), policy_of(most_pinned=0)) == "violated"


def test_merging_is_not_advised_where_groups_cannot_be_merged():
    tree = split("a", [30, 0], [30, 60])
    assert no_merging(release_of(tree)) == ""
    assert "one model" in no_merging(release_of(tree, split("b", [60, 30], [0, 30])))
    assert no_merging(release_of({"kind": "table", "statements": [{"count": 9}]}))
    facts = harmless(smallest_group=[1, 1], no_merging="the leaf values of boosted models say more than their counts")
    (check,) = assess(facts, policy_of(smallest_group=10)).checks
    assert "recon remedy" not in check.remedy
    assert "merged, because the leaf values of boosted models" in check.remedy
    assert "recon remedy" in assess(harmless(smallest_group=[1, 1]), policy_of(smallest_group=10)).checks[0].remedy


def test_more_time_is_advised_only_where_limits_kept_something_open():
    def said(**open_one):
        (check,) = assess(harmless(**open_one), policy_of(most_pinned=0)).checks
        return check.remedy

    assert "time" in said(pinned=[0, 3], would_help={"pinned": "limits"})
    assert "--domain" in said(pinned=None, would_help={"pinned": "domain"})
    nothing = said(pinned=[0, 3])
    assert "time" not in nothing
    assert "no option of the audit settles it" in nothing


# Figures where counts alone say nothing


@pytest.mark.parametrize(
    ("empty", "status", "expected"),
    [(None, "unsat", "unsat"), (object(), "exact", "empty"), (object(), "unsat", "empty")],
)
@pytest.mark.parametrize(("noisy", "confidence"), [(True, 0.9), (False, 1.0)])
def test_where_no_training_set_fits_no_figure_is_known(empty, status, expected, noisy, confidence):
    release = SimpleNamespace(noisy=noisy, confidence=0.9, models=())
    told = audited(SimpleNamespace(release=release, measures=SimpleNamespace(status=status), empty=empty, stored=()))
    assert (told.status, told.confidence) == (expected, confidence)
    assert all(isinstance(figure, UnknownFigure) for figure in told.figures.values())
    assert assess(told, policy_of(smallest_group=1, most_pinned=100)).verdict == "not assessed"


def test_people_known_by_position_are_pinned_whatever_counts_say():
    for release in (release_of(split("a", [30, 0], [30, 60])), continuous([1.37], min=0, max=4)):
        held = replace(found_of(release), positions=SimpleNamespace(rows_known=3, complete=True, classes=()))
        told = audited(held)
        assert told["pinned"].low == 3
        assert told["pinned"].high is None or told["pinned"].high >= 3
        assert told["least_bits_left"] == KnownFigure(0.0, 0.0)
        assert assess(told, policy_of(most_pinned=0)).outcome == "violated"
        assert assess(told, policy_of(most_pinned=2)).gives_away[0]["rows"][0] == 3


def test_limits_are_named_only_where_they_kept_ends_apart():
    late, done = SimpleNamespace(status="bounds"), SimpleNamespace(status="exact")
    assert _between(late, 2, 2) == KnownFigure(2, 2)
    assert _between(done, 2, 5) == KnownFigure(2, 5)
    assert _between(late, 2, 5).help == "limits"
    assert _between(late, 2, None).help == "limits"


def test_profiles_are_those_that_were_asked_about():
    release = release_of(split("a", [30, 0], [30, 60]))
    profiles = {"verdicts": {"certain": 2}, "positions": {"certain": [4, 7]}}
    told = audited(replace(found_of(release), profiles=profiles)).to_json()
    assert told["profiles"] == [{"position": 4, "verdict": "certain"}, {"position": 7, "verdict": "certain"}]
    assert told["profiles_in_all"] == {"certain": 2}
    assert audited(found_of(release)).to_json()["profiles"] is None


def test_without_a_known_smallest_those_listed_are_said():
    groups = [{"name": "leaf 1", "where": "", "rows": [2, 3]}, {"name": "leaf 2", "where": "", "rows": [40, 40]}]
    (check,) = assess(harmless(smallest_group=None, groups=groups), policy_of(smallest_group=10)).checks
    assert (check.outcome, check.said.found) == ("violated", "between 2 and 3 rows")
    large = [{"name": "leaf 1", "where": "", "rows": [20, 30]}, {"name": "leaf 2", "where": "", "rows": [0, 0]}]
    (check,) = assess(harmless(smallest_group=None, groups=large), policy_of(smallest_group=10)).checks
    assert (check.outcome, check.said.found) == ("met", "between 20 and 30 rows")


def test_what_a_policy_asks_for_is_said_in_its_words():
    def said(key, threshold, **more):
        (check,) = assess(harmless(**more), policy_of(**{key: threshold})).checks
        return check.outcome, check.said

    pure = [{"name": "leaf 1", "class": "0", "rows": [4, 4]}, {"name": "leaf 2", "class": "0", "rows": [0, 0]}]
    disclosed = {"class_disclosure": {"rows": [4, 4], "groups": pure, "groups_in_all": 9}}
    outcome, found = said("class_disclosure", "allowed", **disclosed)
    assert (outcome, found.asked, found.places) == ("met", "any number of rows", ())
    outcome, found = said("class_disclosure", "forbidden", **disclosed)
    assert (outcome, found.asked, found.places_in_all) == ("violated", "no row", 9)
    assert [one["name"] for one in found.places] == ["leaf 1"]
    outcome, found = said("class_disclosure", 4, **disclosed)
    assert (outcome, found.asked, found.places) == ("met", "at most 4 rows", ())
    opened = {"class_disclosure": {"rows": [0, 9], "groups": [], "groups_in_all": 0}, "why_open": {
        "class_disclosure": "groups cut each other"}}  # fmt: skip
    assert said("class_disclosure", "forbidden", **opened)[1].why == "groups cut each other"
    assert said("class_disclosure", "forbidden", **opened | {"class_disclosure": {"rows": [9, 9]}})[1].why == ""
    assert said("kinds_of_counts", ())[1].asked == "no counts at all"
    assert said("kinds_of_counts", (), kinds_of_counts=[])[1].found == "no counts"
    asked = {one: said("stored", one)[1].asked for one in ("none", "medium", "critical")}
    assert asked == {"none": "nothing", "medium": "nothing more serious than medium", "critical": "anything"}


# Files that nobody looked at


@pytest.fixture(scope="module")
def keeping(tmp_path_factory):
    """A tree that has its training rows beside it, and a release file with a text that is no name; policies."""
    folder = tmp_path_factory.mktemp("keeping")
    x = pd.DataFrame({"a": [0, 1] * 40, "b": [0, 0, 1, 1] * 20})
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(x, x["a"])
    model.X_train_ = x.to_numpy()
    joblib.dump(model, folder / "model")
    x.assign(y=x["a"]).to_csv(folder / "rows.csv", index=False)
    told = {"kind": "tree", "name": "patient 17 has a = 1; " * 50, "nodes": split("a", [30, 20], [30, 20])["nodes"]}
    (folder / "release").write_text(json.dumps({"recon": 1, "domain": BITS, "models": [told]}))
    (folder / "policy.toml").write_text('name = "p"\nsmallest_group = 10\nmost_pinned = 100\n')
    return folder


@pytest.mark.parametrize(("name", "code"), [("model", 1), ("release", 4)])
def test_standard_input_is_judged_as_the_same_file(name, code, keeping, capsys, monkeypatch):
    """It can be read once: what stands beside the model is looked for in what was read."""
    domain = ("--domain", keeping / "rows.csv") if name == "model" else ()
    told = []
    for file in (str(keeping / name), "-"):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO((keeping / name).read_bytes())))
        told.append(run(capsys, "gate", file, *domain, "--policy", keeping / "policy.toml"))
        told[-1] = (told[-1][0], told[-1][1].replace(file, "FILE"))
    assert told[0] == told[1]
    assert told[0][0] == code


def test_what_a_release_file_leaves_out_is_said_of_standard_input_too(keeping, capsys, monkeypatch):
    texts = []
    for file in (str(keeping / "model"), "-"):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO((keeping / "model").read_bytes())))
        code, out, _ = run(capsys, "convert", file, "--domain", keeping / "rows.csv")
        assert code == 0
        texts.append(json.loads(out)["models"][0])
    assert texts[0] == texts[1]
    assert "what X_train_ says" in json.dumps(texts[0])


def test_what_could_not_be_looked_at_may_say_anything(keeping):
    """Of a model, and of a release file, whose content was not kept or is another one by now."""
    policy = policy_of(smallest_group=10, most_pinned=0, stored="high")
    for name in ("model", "release"):
        release = recon.load(keeping / name, domain=str(keeping / "rows.csv") if name == "model" else None)
        for change in ({"files": ("-",)}, {"sha256": "0" * 64}):
            stored = stored_outright(replace(release, **change), Limits())
            (one,) = stored
            assert one.format.startswith("not inspected: ")
            told = audited(AuditFindings(release, measure(release), group_disclosure(release), stored=stored))
            found = assess(told, policy)
            assert {one.outcome for one in found.checks} == {"inconclusive"}
            assert all("was not inspected: " in check.said.why for check in found.checks)
            assert [check.said.help for check in found.checks[1:]] == ["inspection", "inspection"]
            (first, *_) = with_unused_of_files(replace(release, **change), Limits())
            assert any(one.why.startswith("not inspected: ") for one in first.origin.unused)


def test_cells_of_a_table_are_hidden_and_groups_of_other_models_not_merged():
    """What merging would mend is mended otherwise where it is not possible; every other remedy stays as it is."""
    bad = {"smallest_group": [3, 3], "groups": [], "pinned": [2, 2], "kinds_of_counts": ["exact"]}
    policy = policy_of(smallest_group=10, kinds_of_counts=("noisy",))
    told = {}
    for why in ("", CELLS, "the noise of merged counts adds up"):
        told[why] = [one.remedy for one in assess(harmless(**bad, no_merging=why), policy).checks]
    merged, others = told[""]
    assert (MERGING in merged, MERGING in others) == (True, False)
    assert told[CELLS] == [HIDING, others]
    assert told["the noise of merged counts adds up"] == [
        RETRAIN.format(why="the noise of merged counts adds up"),
        others,
    ]
