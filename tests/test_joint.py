"""The joint experiment: what each question gives on small tables, by hand; and its findings from what is there."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from encoders.encode.encoder import encode
from encoders.models.models import RuleList, Tree
from recon.attacks.attacking.correlations import DEFINITE, DISCRETE, WORLDS
from recon.attacks.attacking.records import population, splits
from recon.attacks.explainers.lore import lores
from recon.attacks.explainers.trepan import trepan
from recon.experiments.experiment import Point, experiment
from recon.experiments.fits import domain_of, released, worlds_left
from recon.experiments.joint import (
    ATTACKERS,
    EXPERIMENT,
    LEARNERS,
    SKETCHED,
    _rules_of,
    _verdicts,
    as_condition,
    counted_surrogate,
    forest_of,
    published,
    shuffled_rows,
)
from recon.experiments.running import _parquet_scalar
from recon.queries.black_box import ReleasedModel
from recon.queries.inputs import RecordColumns, Records, predicted
from recon.readers.frames.world import violations
from solvers.foundation.limits import Limits
from solvers.statements.release import RowCount

FAST = {"support": 0.05, "fit_seconds": 2.0, "width": 2, "rules": 3, "depth": 2, "seed": 0}


@pytest.fixture(scope="module")
def frame():
    """Return 400 rows of five columns, the label mostly the first one."""
    rng = np.random.default_rng(1)
    bits = (rng.random((400, 5)) < [0.5, 0.4, 0.3, 0.5, 0.6]).astype(int)
    label = np.where(rng.random(400) < 0.85, bits[:, 0], 1 - bits[:, 0])
    return pd.DataFrame(np.column_stack([bits, label]), columns=["a", "b", "age", "agent", "c", "y"])


def at(question, **named):
    return Point("compas27", {"question": question, "seed": 0, **named})


def rows_at(point, frame, **more):
    """Return a point's rows as they are stored and put together."""
    lines = EXPERIMENT.run(Point(point.dataset, {**point.parameters, **more}), frame, Limits())
    return [{"dataset": point.dataset, **point.parameters, **more} | {k: _parquet_scalar(v) for k, v in one.items()}
            for one in lines]  # fmt: skip


def reached(model, row):
    """Return which leaf or rule a row (a dict) falls under, in plain Python."""
    if isinstance(model, RuleList):
        return next(i for i, rule in enumerate(model.rules)
                    if all(test.values == (row[name],) for name, test in rule.condition))  # fmt: skip
    at = 0
    while model.nodes[at].condition is not None:
        node = model.nodes[at]
        ((name, test),) = node.condition
        met = row[name] in test.values if test.values is not None else row[name] <= test.high
        at = node.then if met else node.otherwise
    return at


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", list(LEARNERS))
def test_what_is_published_counts_the_training_rows(frame, name):
    inside, _ = shuffled_rows(frame, 150, 150, 0)
    of = published(name, inside, FAST, Limits())
    release = released(of.model, domain_of(frame))
    assert violations(release, inside) == []
    model = release.models[0]
    found = {}
    for row in inside.to_dict("records"):
        found.setdefault(reached(model, row), [0, 0])[row["y"]] += 1
    held = enumerate(model.rules) if isinstance(model, RuleList) else enumerate(model.nodes)
    stated = {i: list((one.support).counts) for i, one in held if one.support.counts is not None}
    assert {i: counts for i, counts in stated.items() if any(counts) and i in found} == found
    assert model.groups() >= 2


def test_members_and_others_are_different_rows(frame):
    numbered = frame.assign(number=np.arange(len(frame)))
    inside, others = shuffled_rows(numbered, 100, 500, 3)
    assert len(inside) == 100
    assert len(others) == 300
    assert not set(inside["number"]) & set(others["number"])


@pytest.mark.parametrize("name", ["full-grown tree", "greedy rule list"])
@pytest.mark.parametrize("counts", ["bits", "attributes"])
def test_verdicts_are_those_by_hand(frame, name, counts):
    inside, others = shuffled_rows(frame.drop(columns=["agent", "c"]), 60, 200, 1)
    model = published(name, inside, {**FAST, "support": 1}, Limits()).model
    release = released(model, domain_of(frame.drop(columns=["agent", "c"]), counts))
    found = population(release, inside, others)
    asked = splits(found, 1, 200, np.random.default_rng(0))[0].asked
    said = _verdicts(release, found, asked, Limits())
    model = release.models[0]
    every = [dict(zip(["a", "b", "age", "y"], row, strict=True)) for row in itertools.product((0, 1), repeat=4)]
    cell = {}  # leaf and label -> rows of the domain in it
    for row in every:
        cell.setdefault((reached(model, row), row["y"]), []).append(row)
    training = inside.to_dict("records")
    held = {key: sum((reached(model, t), t["y"]) == key for t in training) for key in cell}
    for i, row in enumerate(found.table(asked).to_dict("records")):
        key = reached(model, row), row["y"]
        assert said.outside[i] == (held[key] == 0)
        assert said.inside[i] == (held[key] > 0 and len(cell[key]) == 1)
    assert not said.wrong.any()
    assert said.certificates == said.settled
    row = said.row()
    assert row["coverage"] == pytest.approx(np.mean(said.inside | said.outside))
    scores = said.inside.astype(int) - said.outside.astype(int)
    pairs = [(a > b) + (a == b) / 2 for a in scores[said.member] for b in scores[~said.member]]
    assert row["auc"] == pytest.approx(np.mean(pairs))


def test_a_wrong_release_gives_wrong_verdicts_and_they_are_counted(frame):
    """The check that certificates never err can fail: a release of other rows makes it."""
    inside, others = shuffled_rows(frame, 60, 200, 1)
    model = published("full-grown tree", others.head(60), FAST, Limits()).model
    release = released(model, domain_of(frame))
    found = population(release, inside, others.iloc[60:])
    said = _verdicts(release, found, splits(found, 1, 200, np.random.default_rng(0))[0].asked, Limits())
    assert said.row()["errors"] > 0


def _learner(name, **other):
    """Return the parameters of a learner."""
    return {"learner": name, "support": 0.01, "fit_seconds": 8.0, "width": 2, "rules": 10, "depth": 5, **other}


@pytest.mark.slow
def test_membership_lines(frame):
    asked = at("membership", rows=150, asked=300, shadow="noise", **_learner("greedy rule list", width=1, rules=3))
    lines = rows_at(asked, frame)
    what = pd.Series([line["what"] for line in lines])
    assert set(what) == {"model", "certificates", "attack", "refused"}
    (model,) = [line for line in lines if line["what"] == "model"]
    assert 0.5 <= model["v_authors"] <= model["v"] <= 1
    refused = [line["attack"] for line in lines if line["what"] == "refused"]
    assert "aloa" in refused  # there is no continuous column
    attacks = {line["attack"] for line in lines if line["what"] == "attack"}
    assert {"always in", "label-only", "aloa (additive)"} <= attacks


def test_rules_are_counted_by_hand(frame):
    inside, _ = shuffled_rows(frame, 120, 100, 0)
    rows = Records.of(inside)
    local = lores(forest_of(rows.x, rows.y, 0), rows.x[:6], rows.x, rows.columns, 2, seed=0, size=200, generations=3)
    rules = _rules_of(local, rows)
    assert 1 <= len(rules.rules) <= 6
    for rule in rules.rules:
        met = inside
        for name, test in rule.condition:
            met = met[met[name] == test.values[0]]
        assert list(rule.support.counts) == [int((met["y"] == y).sum()) for y in (0, 1)]
    assert violations(encode(domain_of(frame, "bits"), [rules], RowCount(120, 120)), inside) == []


def test_numbers_in_rules():
    columns = RecordColumns(("age", "sex"), (True, False))
    (age, sex) = as_condition({"age": {"above": 3.5, "at_most": 7}, "sex": 1}, columns)
    assert (age[1].low, age[1].high, age[1].low_open, sex[1].values) == (3.5, 7, True, (1,))
    assert as_condition({"sex": {"at_most": 0.5}}, columns)[0][1].values == (0,)


def test_bits_left_by_one_explanation_are_a_binomial(frame):
    inside, _ = shuffled_rows(frame, 40, 40, 0)
    rows = Records.of(inside)
    local = lores(forest_of(rows.x, rows.y, 0), rows.x[:1], rows.x, rows.columns, 2, seed=0, size=200, generations=3)
    rules = _rules_of(local, rows)
    (rule,) = rules.rules
    size = 2 ** (5 - len(rule.condition))  # rows of the domain that meet the rule, of each label
    counts, n = rule.support.counts, 40
    rest = n - sum(counts)
    worlds = (math.factorial(n) // math.prod(map(math.factorial, (*counts, rest)))
              * size ** sum(counts) * (64 - 2 * size) ** rest)  # fmt: skip
    found = worlds_left(encode(domain_of(frame), [rules], RowCount(n, n)), "ordered", 20.0, Limits()).row()
    assert found["exact"]
    assert found["log2_high"] == pytest.approx(math.log2(worlds), abs=1e-6)
    assert found["before"] == pytest.approx(6 * n)
    assert found["removed_low"] == pytest.approx(6 - math.log2(worlds) / n, abs=1e-6)


def test_a_surrogate_as_a_release_predicts_what_its_counts_say(frame):
    inside, others = shuffled_rows(frame, 200, 150, 0)
    rows = Records.of(inside)
    target = forest_of(rows.x, rows.y, 0)
    tree = trepan(target, rows.x, rows.columns, 2, seed=0, minimum=200, max_nodes=4)
    model = counted_surrogate(tree, rows)
    assert isinstance(model, Tree)
    release = encode(domain_of(frame, "attributes"), [model])
    box = ReleasedModel(release, list(frame.columns[:-1]))
    said = predicted(box, others.iloc[:, :-1].to_numpy(dtype=float), 2)
    for one, row in zip(said.tolist(), others.to_dict("records"), strict=True):
        counts = model.nodes[reached(model, row)].support.counts
        assert one == int(counts[1] > counts[0]) or not any(counts)


@pytest.fixture(scope="module")
def results(frame):
    """Return results of one small point per question and setting."""
    some = [
        at("correlations", draws=3, columns="used", counted="bits", **_learner("greedy rule list", width=1, rules=4))
    ]
    for name in ("greedy rule list", "full-grown tree"):
        some.append(at("membership", rows=100, asked=200, shadow="noise", **_learner(name, depth=2)))
    for what, number in (("LORE", 3), ("LORE", 6), ("TREPAN", 0)):
        some.append(at("explanations", what=what, explained=number, most=6, rows=60, cap_seconds=1.0))
    for epsilon in (0.0, 0.5, 10.0):
        noise = {"epsilon": epsilon, "draws": 3, "rows": 50, "asked": 20, "counted": "bits", "cap_seconds": 1.0}
        some.append(at("noise", **noise, **_learner("full-grown tree")))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("recon.experiments.joint.NEIGHBOURS", 150)
        patched.setattr("recon.experiments.joint.TREES", 20)
        return pd.DataFrame([line for point in some for line in rows_at(point, frame)])


@pytest.mark.slow
def test_correlation_lines_hold_the_truth_and_are_nested(results):
    some = results[results["question"] == "correlations"]
    assert some.loc[some["confidence"] == 1, "holds"].all()
    covered = some["covered"].astype("boolean")
    assert some.loc[covered.fillna(False).astype(bool), "holds"].all()
    mean = some.groupby("attacker")["interval"].mean()
    assert mean[WORLDS] <= mean[DISCRETE] <= mean[DEFINITE]
    assert some.groupby("attacker")["draw"].nunique().to_dict() == {
        name: 3 if name.startswith("noise") else 1 for name in ATTACKERS
    }


@pytest.mark.slow
def test_noise_makes_verdicts_wrong_only_where_it_is_larger_than_it_should_be(results):
    some = results[results["question"] == "noise"]
    assert some.loc[some["covered"].astype(bool), "errors"].fillna(0).eq(0).all()
    exact = some[some["epsilon"] == 0].iloc[0]
    assert exact["coverage"] >= some.loc[some["covered"].astype(bool), "coverage"].max()
    assert exact["removed_confidence"] >= some.loc[some["covered"].astype(bool), "removed_confidence"].max() - 1e-9


@pytest.mark.slow
def test_more_explanations_leave_no_more(results):
    some = results[results["question"] == "explanations"].set_index(["what", "explained"])
    assert some.loc[("LORE", 6), "removed_high"] >= some.loc[("LORE", 3), "removed_low"] - 1e-9
    assert (some["removed_low"] <= some["removed_high"]).all()
    assert some.loc[("TREPAN", 0), "exact"]
    delta = some["recall_explainer"].astype(float) - some["recall_black_box"].astype(float)
    assert delta.to_numpy() == pytest.approx(some["delta_recall"].astype(float).to_numpy(), nan_ok=True)


@pytest.mark.slow
def test_findings_say_what_is_there(results):
    found = EXPERIMENT.findings(results)
    names = {table.name: table.frame for table in found.tables}
    assert set(names) == {"correlations", "membership", "certificates", "attacks", "explanations", "noise"}
    assert [figure.name for figure in found.figures] == ["correlations", "membership",
                                                         "explanations", "noise"]  # fmt: skip
    text = "\n".join(found.sentences)
    some = results[results["question"] == "correlations"]
    sure = some[some["confidence"] == 1]
    assert f"the true one lies in {len(sure):,} of {len(sure):,} intervals without noise" in text
    widths = names["correlations"].set_index("attacker")["width"]
    assert widths[WORLDS] == pytest.approx(some.loc[some["attacker"] == WORLDS, "interval"].mean())
    assert f"{WORLDS} {widths[WORLDS]:.3f}" in text
    proved = results[results["what"] == "certificates"]
    assert f"of {int(proved['settled_rows'].sum()):,} verdicts that settle a distinct row, 0 are wrong" in text
    assert "aloa was refused 2 times" in text
    noise = names["noise"].set_index("epsilon")
    by_hand = results[(results["question"] == "noise") & (results["epsilon"] == 10)]
    assert noise.loc[10.0, "accuracy_others"] == pytest.approx(by_hand["accuracy_others"].mean())
    assert "no noise" in text


@pytest.mark.slow
@pytest.mark.parametrize("question", ["correlations", "membership", "explanations", "noise"])
def test_findings_of_one_question_alone(results, question):
    some = results[results["question"] == question]
    some = some.loc[:, some.notna().any()]
    assert EXPERIMENT.findings(some).tables


@pytest.mark.slow
def test_broken_nesting_is_said(results):
    some = results[results["question"] == "correlations"].copy()
    some.loc[some["attacker"] == WORLDS, "low"] = -1.0
    whole, part = (next(s for s in EXPERIMENT.findings(one).sentences if "chains" in s)
                   for one in (results[results["question"] == "correlations"], some))  # fmt: skip
    assert whole != part
    assert " 0 of " in part


def test_points_are_different_and_the_quick_ones_some_of_them():
    of = experiment("joint")
    full, quick = of.points("full"), of.points("quick")
    keys = {point.key("joint", of.version) for point in full}
    assert len(keys) == len(full)
    assert {point.key("joint", of.version) for point in quick} <= keys
    assert {point["question"] for point in quick} == {"correlations", "membership", "explanations", "noise"}
    assert set(SKETCHED) == set(ATTACKERS)
