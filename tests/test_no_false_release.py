"""The worst error of a policy is a release that should not be: files that leak in ways that no single count shows."""

from __future__ import annotations

import itertools
import json
import random
import re
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from extras import run
from policy_cases import policy_of
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import recon
from encoders.models.models import Forest, Tree
from encoders.models.nodes import ModelNode, Nodes, Support
from recon.io.console.output import INTERNAL
from recon.readers.formats.release.writing import dump, release_json
from recon.release.auditing.evidence import _drawn_of_classes
from recon.release.policies.assessing import assess

DOMAIN = {"attributes": [{"name": "a", "min": 0, "max": 99}, {"name": "b", "min": 0, "max": 99}],
          "label": {"name": "y", "values": [0, 1]}}  # fmt: skip
BITS = {"attributes": [{"name": "a", "values": [0, 1]}, {"name": "b", "values": [0, 1]}],
        "label": {"name": "y", "values": [0, 1]}}  # fmt: skip
BELOW = {"a": {"below": 50}}


def table(*figures, domain=DOMAIN):
    statements = [{"count": n} | ({"where": where} if where else {}) for where, n in figures]
    return {"recon": 1, "domain": domain, "models": [{"kind": "table", "statements": statements}]}


def half(name):
    return {
        "kind": "tree",
        "nodes": [{"if": {name: 0}, "then": 1, "else": 2}, {"counts": [10, 10]}, {"counts": [10, 10]}],
    }


CELLS = [({"a": 0, "b": 0, "y": 0}, 10), ({"a": 1, "b": 0}, 10), ({"a": 0, "b": 0}, 10)]
JOINED = table(*CELLS, domain=BITS)
JOINED["models"] = [half("a"), half("b"), *JOINED["models"]]
FILES = {
    "what is left of everybody is one person": (table(({}, 100), (BELOW, 99)), "smallest_group = 10"),
    "a part of a group, all but one": (
        table(({}, 100), (BELOW, 50), (BELOW | {"b": {"below": 50}}, 49)),
        "smallest_group = 10",
    ),
    "the class follows from several models": (JOINED, 'class_disclosure = "forbidden"'),
}


@pytest.fixture
def judged(tmp_path, capsys):
    def run_gate(file, policy, *options):
        path = tmp_path / "policy.toml"
        path.write_text(policy)
        code, out, err = run(capsys, "gate", file, "--policy", path, *options)
        return code, out + (err if code == 3 else "")  # why a file is not audited

    return run_gate


@pytest.mark.parametrize("name", FILES)
def test_what_several_figures_say_together(name, judged, tmp_path):
    release, policy = FILES[name]
    (tmp_path / "r.json").write_text(json.dumps(release))
    code, out, _ = (*judged(tmp_path / "r.json", policy), None)
    assert code in {1, 4}, out


def test_groups_that_do_not_cut_each_other_are_released(judged, tmp_path):
    (tmp_path / "r.json").write_text(json.dumps(table(({}, 100), (BELOW, 50))))
    code, out = judged(tmp_path / "r.json", "smallest_group = 10")
    assert code == 0, out


@pytest.mark.parametrize("leaf", [1, 2])
def test_targets_that_leaf_values_are(leaf, judged, tmp_path):
    rng = np.random.default_rng(0)
    x, target = rng.integers(0, 1000, (60, 2)), rng.integers(0, 10_000, 60)
    joblib.dump(DecisionTreeRegressor(min_samples_leaf=leaf, random_state=0).fit(x, target), tmp_path / "r.joblib")
    code, out = judged(tmp_path / "r.joblib", 'target_disclosure = "forbidden"')
    assert code == (1 if leaf == 1 else 4), out


@pytest.mark.parametrize("policy", ["most_pinned = 0", "smallest_group = 10", 'class_disclosure = "forbidden"'])
def test_rows_that_stand_in_the_file(policy, judged, tmp_path):
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"a": rng.integers(0, 9, 200), "b": rng.integers(0, 9, 200)})
    y = rng.integers(0, 2, 200)
    model = DecisionTreeClassifier(min_samples_leaf=40, random_state=0).fit(x, y)
    clean = tmp_path / "clean.joblib"
    joblib.dump(model, clean)
    x.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    domain = ("--domain", tmp_path / "rows.csv")
    assert judged(clean, policy, *domain)[0] == 0
    model.X_train_ = x.to_numpy()
    joblib.dump(model, tmp_path / "rows.joblib")
    code, out = judged(tmp_path / "rows.joblib", policy, *domain)
    assert code in {1, 4}, out


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize("policy", ["smallest_cell = 10", 'class_disclosure = "forbidden"'])
@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_classes_that_leaf_values_may_give_back(loss, policy, judged, tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 9, (200, 3)), rng.integers(0, 2, 200)
    model = GradientBoostingClassifier(loss=loss, n_estimators=5, min_samples_leaf=40, random_state=0).fit(x, y)
    joblib.dump(model, tmp_path / "m.joblib")
    code, out = judged(tmp_path / "m.joblib", policy, "--time", "4")  # whatever is found by then, no release
    assert code in {1, 4}, out


@pytest.mark.sampled(1)
@pytest.mark.parametrize("last", [True, False])
def test_every_profile_counts_however_many_there_are(last, tmp_path, capsys):
    (tmp_path / "r.json").write_text(json.dumps({"recon": 1, "domain": BITS, "models": [half("a") | {"name": "t"}]}))
    (tmp_path / "p.toml").write_text('profiles = ["outside"]')
    people = [{"a": 0, "b": 0, "y": 0}] * 10_050 + ([{"a": 7, "b": 0, "y": 0}] if last else [])
    pd.DataFrame(people).to_csv(tmp_path / "people.csv", index=False)
    code, out, _ = run(capsys, "audit", tmp_path / "r.json", "--policy", tmp_path / "p.toml", "--profiles",
                       tmp_path / "people.csv")  # fmt: skip
    assert code == (1 if last else 0), out[:500]


def test_people_whom_only_several_releases_single_out(tmp_path, capsys):
    first, second = table(({}, 100), (BELOW, 60)), table(({}, 100), (BELOW | {"b": {"below": 99}}, 59))
    for name, release in (("march", first), ("november", second)):
        (tmp_path / f"{name}.json").write_text(json.dumps(release))
    policy = tmp_path / "p.toml"
    policy.write_text("smallest_group = 10")
    folder = tmp_path / "register"
    run(capsys, "register", folder, "--add", tmp_path / "march.json", "--decision", "withdrawn", "--date", "2026-03-02")
    code, out, _ = run(capsys, "audit", tmp_path / "november.json", "--register", folder, "--policy", policy)
    assert code in {1, 4}, out
    assert "DO NOT RELEASE" in out


def forged(model, change):
    """Return a fitted tree whose stored nodes and values were changed."""
    tree = model.tree_
    state = dict(tree.__getstate__())
    state["nodes"], state["values"] = state["nodes"].copy(), state["values"].copy()
    change(state["nodes"], state["values"])
    model.tree_ = type(tree)(model.n_features_in_, np.array([2], dtype=np.intp), 1)
    model.tree_.__setstate__(state)
    return model


def scaled(nodes, values):
    nodes["n_node_samples"] *= 100


def raised(nodes, values):
    leaf = nodes["left_child"] == -1
    nodes["n_node_samples"][leaf] = np.maximum(nodes["n_node_samples"][leaf], 50)
    for i in reversed(np.flatnonzero(~leaf).tolist()):
        below = nodes["n_node_samples"][[nodes["left_child"][i], nodes["right_child"][i]]]
        nodes["n_node_samples"][i] = below.sum()


def one_leaf(nodes, values):
    nodes["n_node_samples"][np.flatnonzero(nodes["left_child"] == -1)[0]] += 100


def mixed(nodes, values):
    values[nodes["left_child"] == -1, 0] = [0.4, 0.6]


def mixed_with_impurity(nodes, values):
    mixed(nodes, values)
    nodes["impurity"][nodes["left_child"] == -1] = 0.48


FORGED = {
    scaled: r"nodes\['n_node_samples'\]\[\d+\] is .*nodes\['weighted_n_node_samples'\]\[\d+\] is ",
    raised: r"nodes\['n_node_samples'\]\[\d+\] is 50, .*nodes\['weighted_n_node_samples'\]\[\d+\] is ",
    one_leaf: r"nodes\['n_node_samples'\]\[\d+\] says \d+ rows, but its two children",
    mixed: r"nodes\['impurity'\]\[\d+\] is 0, .*values\[\d+\] has the impurity 0.48 \(gini\)",
    mixed_with_impurity: r"class 0 of .*tree_.values\[\d+\] says .* rows, but its two children",
}


def many_rows():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 30, (300, 4))
    return x, (x[:, 0] + rng.integers(0, 9, 300) > 18).astype(int)


@pytest.mark.parametrize("forest", [False, True])
@pytest.mark.parametrize("change", FORGED, ids=lambda one: one.__name__)
def test_figures_of_one_group_that_cannot_both_be_true(change, forest, judged, tmp_path):
    x, y = many_rows()
    if forest:
        model = RandomForestClassifier(2, bootstrap=False, random_state=0).fit(x, y)
        forged(model.estimators_[1], change)
    else:
        model = forged(DecisionTreeClassifier(random_state=0).fit(x, y), change)
    joblib.dump(model, tmp_path / "m.joblib")
    code, out = judged(tmp_path / "m.joblib", "smallest_group = 10")
    assert code == 3, out
    assert re.search(FORGED[change], out), out
    assert ("estimators_[1].tree_" in out) == forest


@pytest.mark.parametrize("weights", ["half", "balanced", "random", "whole"])
def test_honest_weights_do_not_contradict_numbers_of_rows(weights, judged, tmp_path):
    x, y = many_rows()
    model, rng = DecisionTreeClassifier(random_state=0), np.random.default_rng(1)
    weight = {"half": np.full(300, 0.5), "random": rng.random(300), "whole": rng.integers(1, 5, 300)}.get(weights)
    if weights == "balanced":
        model.set_params(class_weight="balanced")
    joblib.dump(model.fit(x, y, sample_weight=weight), tmp_path / "m.joblib")
    code, out = judged(tmp_path / "m.joblib", "smallest_group = 10")
    assert code == 1, out


GOLDEN = Path(__file__).parent / "golden"
PRESETS = ("minimum-cell-10", "cms-cell-size", "ema-0070")
OPEN = ("smallest_group = 2", "most_pinned = 0", "least_bits_left = 0.5")
UNEVALUATED = [
    "boosted/xgb_alpha.json", "boosted/xgb_clipped.json", "boosted/xgb_drawn.json", "boosted/xgb_dart.json",
    "boosted/cat_monotone.cbm", "boosted/cat_several.cbm", "models/catboost-1.2.10/regression.cbm",
    "boosted/lightgbm-4.7.0/weights.txt",
]  # fmt: skip


@pytest.mark.sampled(1)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_default_forest_is_never_released(preset, capsys):
    file = Path(__file__).parents[1] / "examples" / "releases" / "diabetes_forest.joblib"
    code, out, _ = run(capsys, "gate", file, "--policy", f"preset:{preset}", "--time", "20")
    assert code == 1, out
    assert "do not release" in out


def test_a_count_that_violates_ends_the_gate_at_once(judged, tmp_path, monkeypatch):
    def audited(*_, **__):
        raise AssertionError("the whole audit was made")

    x, y = many_rows()
    joblib.dump(RandomForestClassifier(3, random_state=0).fit(x, y), tmp_path / "leaky.joblib")
    joblib.dump(
        RandomForestClassifier(2, max_depth=1, bootstrap=False, random_state=0).fit(x, y), tmp_path / "large.joblib"
    )
    monkeypatch.setattr("recon.report.audit.audit", audited)
    code, out = judged(tmp_path / "leaky.joblib", "smallest_group = 10\nmost_pinned = 0", "--junit", tmp_path / "x.xml")
    assert (code, "drawn rows in leaf" in out) == (1, True), out
    told = (tmp_path / "x.xml").read_text()
    assert "did not work it out: recon audit does" in told
    assert "run recon audit" in told
    assert judged(tmp_path / "large.joblib", "least_bits_left = 1")[0] == INTERNAL  # it is made there


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("leaf", "codes"), [(1, {1}), (9, {1}), (60, {0, 4})])
@pytest.mark.parametrize("policy", ["smallest_group = 10", "smallest_cell = 2"])
def test_a_count_of_drawn_rows_is_a_group(policy, leaf, codes, judged, tmp_path):
    x, y = many_rows()
    model = RandomForestClassifier(3, min_samples_leaf=leaf, random_state=0).fit(x, y)
    model.set_params(random_state=None)
    for one in model.estimators_:  # no seeds: nobody knows which rows were drawn
        one.set_params(random_state=None)
    if leaf == 9 and policy == "smallest_cell = 2":
        codes = {0, 1, 4}  # a leaf may have two of every class
    joblib.dump(model, tmp_path / "m.joblib")
    code, out = judged(tmp_path / "m.joblib", policy)
    assert code in codes, out


HONEST = 'smallest_group = 10\nsmallest_cell = 10\nclass_disclosure = "forbidden"\nmost_pinned = 0\n'


@pytest.mark.parametrize(("leaf", "code"), [(60, 0), (12, 1)])
def test_an_honest_forest_of_bags_is_released(leaf, code, judged, tmp_path):
    rng = np.random.default_rng(1)
    x = rng.integers(0, 10, (600, 3))
    y = (x[:, 0] + rng.integers(-9, 10, 600) > 4).astype(int)
    model = RandomForestClassifier(4, max_depth=2, min_samples_leaf=leaf, random_state=0).fit(x, y)
    for one in (model, *model.estimators_):
        one.set_params(random_state=None)
    joblib.dump(model, tmp_path / "m.joblib")
    attributes = [{"name": f"x{k}", "min": 0, "max": 9} for k in range(3)]
    domain = {"attributes": attributes, "label": {"name": "y", "values": [0, 1]}}
    (tmp_path / "domain.json").write_text(json.dumps({"recon": 1, "domain": domain}))
    found, out = judged(tmp_path / "m.joblib", HONEST, "--domain", tmp_path / "domain.json")
    assert found == code, out


def most_drawn(count, different, k):
    """Return how many of the different rows that were drawn into a leaf can be of class k, by trying all."""
    ways = itertools.product(*(range(1, c + 1) if c else (0,) for c in count))
    return max((way[k] for way in ways if sum(way) == different), default=None)


def test_how_many_people_draws_of_a_class_can_be():
    rng, tried = random.Random(7), 0
    while tried < 60:
        count = [rng.randint(0, 4) for _ in range(rng.choice([2, 3]))]
        different = rng.randint(1, 6)
        k = rng.randrange(len(count))
        if not count[k] or (truth := most_drawn(count, different, k)) is None:
            continue
        tried += 1
        nodes = Nodes.of([ModelNode(Support(tuple(count), distinct=different))])
        found = _drawn_of_classes(Forest((Tree(nodes),), bootstrap=True), nodes.leaf_counts)
        at = found.label.tolist().index(k)
        assert found.high[at] == truth, (count, different, k)
        assert found.low[at] <= truth


def with_estimator(model, whole):
    model.estimator = whole


def with_base(model, whole):
    model.base_estimator_ = whole


def with_list(model, whole):
    model.history = [DecisionTreeClassifier(), whole]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "beside", [with_estimator, with_base, with_list, None], ids=["estimator", "base", "list", "template"]
)
def test_a_second_model_in_the_file(beside, judged, tmp_path):
    x, y = many_rows()
    whole = DecisionTreeClassifier(random_state=0).fit(x, y)
    model = DecisionTreeClassifier(min_samples_leaf=60, random_state=0)
    forest = VotingClassifier([("a", model)]).fit(x, y)
    if beside is None:
        forest.estimators = [("a", whole)]
    else:
        beside(forest.estimators_[0], whole)
    joblib.dump(forest, tmp_path / "m.joblib")
    code, out = judged(tmp_path / "m.joblib", "smallest_group = 10")
    assert code == 1, out
    assert ".tree_.nodes, 1 row" in out
    code, out = judged(tmp_path / "m.joblib", 'stored = "medium"')
    assert code == 1, out


def test_the_model_that_was_read_is_no_second_one(judged, tmp_path):
    x, y = many_rows()
    search = GridSearchCV(DecisionTreeClassifier(min_samples_leaf=60, random_state=0), {"max_depth": [2]}).fit(x, y)
    for name, model in (("s", search), ("v", VotingClassifier([("a", clone(search))]).fit(x, y))):
        joblib.dump(model, tmp_path / f"{name}.joblib")
        code, out = judged(tmp_path / f"{name}.joblib", 'smallest_group = 10\nstored = "medium"')
        assert code == 0, out


@pytest.mark.sampled(2, 10)
@pytest.mark.parametrize("policy", OPEN)
@pytest.mark.parametrize("file", UNEVALUATED)
def test_leaf_values_that_were_not_evaluated(file, policy, judged):
    code, out = judged(GOLDEN / file, policy, "--time", "2")
    assert code in {1, 4}, out


@pytest.mark.sampled(5)
@pytest.mark.parametrize("policy", OPEN)
@pytest.mark.parametrize(
    "line", ["lambda_l1: 0.5", "path_smooth: 1", "max_delta_step: 0.5", "use_quantized_grad: 1", "is_unbalance: 1"]
)
def test_one_line_of_parameters_that_hides_what_leaf_values_say(line, policy, judged, tmp_path):
    text = (GOLDEN / "models/lightgbm-4.7.0/binary.txt").read_text()
    key = line.partition(":")[0]
    edited = re.sub(rf"\[{key}: [^\]]*\]", f"[{line}]", text)
    assert edited != text
    (tmp_path / "m.txt").write_text(edited)
    code, out = judged(tmp_path / "m.txt", policy, "--time", "2")
    assert code in {1, 4}, out


@pytest.fixture(scope="module")
def smoothed(tmp_path_factory):
    """A boosted model with lambda_l1, whose leaf values are not worked with, and the same as a release file."""
    folder = tmp_path_factory.mktemp("smoothed")
    text = (GOLDEN / "models/lightgbm-4.7.0/binary.txt").read_text()
    (folder / "m.txt").write_text(text.replace("[lambda_l1: 0]", "[lambda_l1: 0.5]"))
    release = recon.load(folder / "m.txt")
    (folder / "m.json").write_text(dump(release_json(release.domain, release.models, release.declared)))
    return folder


def outcomes(found, policy):
    return {check.rule: check.outcome for check in assess(found.facts, policy).checks}


ASKED = policy_of(smallest_group=2, most_pinned=0, class_disclosure="forbidden", most_labels_by_position=0)


def test_what_a_model_file_left_unused_stays_so_in_its_release_file(smoothed):
    found = [recon.audit(recon.load(smoothed / name), limits=recon.Limits(20)) for name in ("m.txt", "m.json")]
    told = [outcomes(one, ASKED) for one in found]
    assert told[0] == told[1]
    assert told[1]["smallest_group"] == told[1]["most_pinned"] == "inconclusive"
    assert next(one.facts["not_used"][0]["why"] for one in found).startswith("its leaf values were not used")


def test_a_release_file_that_does_not_say_what_was_left_out_is_open(smoothed, judged, tmp_path):
    older = json.loads((smoothed / "m.json").read_text())
    for model in older["models"]:
        del model["unused"]
    (tmp_path / "older.json").write_text(json.dumps(older))
    code, out = judged(tmp_path / "older.json", "smallest_group = 2")
    assert code == 4, out
    assert "convert the model again" in out
    for model in older["models"]:  # written by hand: all that it publishes is stated
        del model["read_from"]
    (tmp_path / "own.json").write_text(json.dumps(older))
    code, out = judged(tmp_path / "own.json", "smallest_group = 2")
    assert code == 0, out


@pytest.mark.slow
def test_what_an_earlier_release_left_unused_stays_open_beside_the_next(smoothed, tmp_path, capsys):
    release = json.loads((smoothed / "m.json").read_text())
    count = sum(node["count"] for node in release["models"][0]["trees"][0]["nodes"] if "if" not in node)
    table = {"kind": "table", "statements": [{"count": count}]}
    (tmp_path / "next.json").write_text(json.dumps({**release, "models": [table]}))
    (tmp_path / "p.toml").write_text("smallest_group = 2\n")
    gate = ("audit", tmp_path / "next.json", "--policy", tmp_path / "p.toml", "--json")
    assert run(capsys, *gate)[0] == 0
    for name in ("m.txt", "m.json"):
        folder = tmp_path / f"register of {name}"
        add = ("register", folder, "--add", smoothed / name, "--decision", "release")
        assert run(capsys, *add)[0] == 0
        code, out, _ = run(capsys, *gate, "--register", folder)
        assert code == 4, out
        assert "its leaf values were not used" in json.loads(out)["assessment"]["sentence"]


def test_beside_releases_of_other_rows_nothing_is_met(tmp_path, capsys):
    """Alone it would be released: but the register says that it is about the same rows, and they are not."""
    for name, rows in (("march", 100), ("november", 101)):
        (tmp_path / f"{name}.json").write_text(json.dumps(table(({}, rows), (BELOW, 50))))
    (tmp_path / "p.toml").write_text("smallest_group = 10")
    run(capsys, "register", tmp_path / "r", "--add", tmp_path / "march.json", "--decision", "release")
    gate = ("audit", tmp_path / "november.json", "--policy", tmp_path / "p.toml", "--json")
    assert run(capsys, *gate)[0] == 0
    code, out, _ = run(capsys, *gate, "--register", tmp_path / "r")
    told = json.loads(out)
    assert (code, told["assessment"]["verdict"]) == (5, "not assessed")
    (tmp_path / "told.json").write_text(out)
    code, out, _ = run(capsys, "report", tmp_path / "told.json", "--policy", tmp_path / "p.toml")
    assert code in {4, 5}
    assert "RELEASE" not in out


def test_counts_of_inner_nodes_that_leaves_contradict(judged, tmp_path):
    text = (GOLDEN / "models/lightgbm-4.7.0/binary.txt").read_text()

    def many(found):
        return "leaf_count=" + " ".join(str(100 * int(n)) for n in found[1].split())

    (tmp_path / "m.txt").write_text(re.sub(r"leaf_count=(.*)", many, text))
    code, out = judged(tmp_path / "m.txt", "smallest_group = 10")
    assert code == 3, out
    assert re.search(r"internal_count\[0\] is \d+, but the leaves below it have [\d,]+ rows \(leaf_count\)", out), out


def test_a_count_violates_whatever_the_number_of_rows_is(judged, tmp_path, capsys):
    (tmp_path / "t.csv").write_text("region,sex,count\nnorth,male,3\nnorth,female,15\nsouth,male,*\nsouth,female,19\n")
    code, out = judged(tmp_path / "t.csv", "smallest_group = 10")
    assert code == 1, out
    assert "(line 2, 3 rows" in out
    for command in (("--json",), ()):
        code, out, _ = run(capsys, "audit", tmp_path / "t.csv", "--policy", tmp_path / "policy.toml", *command)
        assert code == 1, out
    code, out = judged(tmp_path / "t.csv", "smallest_group = 3")
    assert code == 4, out


def test_counts_of_all_values_of_an_attribute_are_everybody(tmp_path, capsys):
    table = "region,sex,count\nTotal,F,50\nTotal,M,53\nA,Total,40\nB,Total,{}\n"
    (tmp_path / "t.csv").write_text(table.format(63))
    assert recon.load(tmp_path / "t.csv").rows.low == recon.load(tmp_path / "t.csv").rows.high == 103
    (tmp_path / "n.csv").write_text("region,sex,count\nA,F,20\nA,M,10\nB,Total,40\n")
    assert recon.load(tmp_path / "n.csv").rows.high == 70
    (tmp_path / "t.csv").write_text(table.format(64))
    code, _, err = run(capsys, "audit", tmp_path / "t.csv")
    assert code == 3
    assert "by 'sex' add up to 103 rows, those by 'region' to 104" in err
