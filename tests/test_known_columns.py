"""Everybody's features known beside a release: what follows for labels and targets, against brute force."""

from __future__ import annotations

import json
import pickle
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import oracle
import oracle_coupled
import pandas as pd
import pytest
from extras import encoded, run

import recon
from recon.readers.frames.world import violations
from recon.readers.loading.known_positions import with_known_columns
from solvers.foundation.errors import ReleaseError, Unsupported

GOLDEN = Path(__file__).parent / "golden"
LOG = GOLDEN / "boosted_log.json"
ROWS = [(0, 0, 0), (1, 0, 1), (1, 1, 1), (2, 1, 0), (2, 0, 1)]
FEATURES = pd.DataFrame([r[:-1] for r in ROWS], columns=["a", "b"])


def plain(value):
    return float(value) if isinstance(value, Fraction) else value


def possible_labels(release, people, given):
    """Return per person the labels that some dataset leaves: it has the people's features, and the given labels."""
    space = oracle._Space(release)
    wanted = Counter(p[:-1] for p in people)
    fixed = Counter(p for p, known in zip(people, given, strict=True) if known)
    labels = space.values[space.label]
    found = [set() for _ in people]
    for world in oracle.datasets(release, len(people)):
        rows = Counter(world)
        if Counter(r[:-1] for r in world) != wanted or any(rows[p] < n for p, n in fixed.items()):
            continue
        for i, person in enumerate(people):
            found[i] |= {y for y in labels if rows[*person[:-1], y] > fixed[*person[:-1], y]}
    return found


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", range(4))
def test_what_follows_for_labels_is_what_brute_force_says(batch):
    """Random tiny releases of all kinds, their true features known, and some of their labels."""
    rng, told = random.Random(f"labels {batch}"), Counter()
    for _ in range(25):
        release, truth = oracle_coupled.random_coupled(rng)
        if len(truth) < 2 or oracle._Space(release).label is None:
            continue
        got, given = encoded(release), [rng.random() < 0.25 for _ in truth]
        if all(given):
            continue
        names = [a.name for a in got.domain.all]
        table = pd.DataFrame([[plain(v) for v in row] for row in truth], columns=names, dtype=object)
        table[names[-1]] = [y if known else None for y, known in zip(table[names[-1]], given, strict=True)]
        beside = with_known_columns(got, table)
        assert violations(beside, table.assign(**{names[-1]: [plain(r[-1]) for r in truth]})) == []
        found = recon.labels(beside)
        expected = possible_labels(release, truth, given)
        for i, line in enumerate(found.itertuples()):
            assert (line.how == "given") == given[i]
            if line.how == "given":
                assert line.label == plain(truth[i][-1])
                continue
            left = set(line.possible.split(" | "))
            assert {str(plain(y)) for y in expected[i]} <= left, "a label that is possible is excluded"
            assert (line.how == "certain") == (len(left) == 1)
            told[line.how, len(expected[i]) == 1] += 1
    assert told["certain", False] == 0
    assert told["certain", True] > 0


def test_rows_that_no_statement_tells_apart_are_one_region_and_nothing_is_cut():
    release = recon.load(GOLDEN / "tree_classes.json")
    n = release.rows.low
    table = pd.DataFrame({"age": [18, 18, 19, 23] + [22] * (n - 4), "city": ["A", "B", "A", "B"] + ["A"] * (n - 4)})
    beside = with_known_columns(release, table)
    assert beside.cut.cuts == release.cut.cuts
    *_, block = beside.statements.blocks
    assert int(block.low.sum()) == n
    assert (block.low == block.high).all()
    assert block.low[-1] == 0
    assert "everybody's features are known from a table: that is not released" in beside.assumptions
    assert beside.models == release.models


def test_columns_may_be_binary_ones_and_some_may_be_left_out():
    domain = {
        "attributes": [{"name": "age", "min": 18, "max": 30}, {"name": "city", "values": ["A", "B"]}],
        "label": {"name": "y", "values": [0, 1]},
        "columns": {"young": {"attribute": "age", "below": 25}},
    }
    nodes = [{"if": {"young": 1}, "then": 1, "else": 2}, {"counts": [2, 0]}, {"counts": [0, 1]}]
    release = encoded({"recon": 1, "domain": domain, "models": [{"kind": "tree", "nodes": nodes}]})
    found = recon.labels(with_known_columns(release, pd.DataFrame({"young": [1, 0, 1]})))
    assert found["label"].tolist() == [0, 1, 0]
    assert found["how"].tolist() == ["certain"] * 3
    nodes[0]["if"] = {"age": {"below": 20}}
    other = encoded({"recon": 1, "domain": domain, "models": [{"kind": "tree", "nodes": nodes}]})
    with pytest.raises(ReleaseError, match="'young' leave 'age' open where the release distinguishes its values"):
        with_known_columns(other, pd.DataFrame({"young": [1, 0, 1]}))


def test_an_empty_cell_is_missing_where_that_is_a_value():
    domain = {
        "attributes": [{"name": "a", "values": [0, 1], "missing": True}],
        "label": {"name": "y", "values": [0, 1]},
    }
    nodes = [{"if": {"a": {"missing": True}}, "then": 1, "else": 2}, {"counts": [0, 1]}, {"counts": [1, 0]}]
    release = encoded({"recon": 1, "domain": domain, "models": [{"kind": "tree", "nodes": nodes}]})
    found = recon.labels(with_known_columns(release, pd.DataFrame({"a": [None, 1]}, dtype=object)))
    assert found["label"].tolist() == [1, 0]


BAD = {
    "has 4 rows, the release is of 5: everybody's rows are needed, and nobody else's": lambda t: t.iloc[:4],
    "row 2, column 'a': 7 is not a value of attribute 'a'": lambda t: t.assign(a=[0, 7, 1, 2, 2]),
    "'c' is neither an attribute nor a column of the domain": lambda t: t.assign(c=1),
    "row 3, column 'b': 'b' is empty: everybody's features must be known": lambda t: t.assign(b=[0, 0, None, 1, 0]),
    "there is no column of a feature": lambda t: pd.DataFrame({"y": [0, 1, 1, 0, None]}),
    "row 1, column 'y': 'z' is not a value of attribute 'y'": lambda t: t.assign(y=["z", None, None, None, None]),
}


@pytest.mark.parametrize("words", BAD)
def test_a_table_that_does_not_fit_is_refused_by_name(words, tmp_path, capsys):
    table = BAD[words](FEATURES)
    with pytest.raises(ReleaseError) as caught:
        recon.load(LOG, known_columns=table.astype(object))
    assert words in str(caught.value)
    path = tmp_path / "known.csv"
    table.to_csv(path, index=False)
    code, out, err = run(capsys, "count", LOG, "--known-columns", path)
    assert (code, out) == (3, "")
    assert str(path) in err
    assert len(err.splitlines()) == 1


def test_known_labels_that_contradict_the_release_leave_no_world():
    domain = {"attributes": [{"name": "a", "values": [0, 1]}], "label": {"name": "y", "values": [0, 1]}}
    nodes = [{"if": {"a": 0}, "then": 1, "else": 2}, {"counts": [2, 0]}, {"counts": [0, 1]}]
    release = encoded({"recon": 1, "domain": domain, "models": [{"kind": "tree", "nodes": nodes}]})
    table = pd.DataFrame({"a": [0, 0, 1], "y": [None, 1, None]}, dtype=object)
    assert recon.count(with_known_columns(release, table)).status == "unsat"
    assert recon.count(with_known_columns(release, table.assign(a=[0, 1, 1], y=None))).status == "unsat"
    wrong = FEATURES.assign(y=pd.Series([1, None, None, None, None], dtype=object))
    found = recon.count(recon.load(LOG, known_columns=wrong))
    assert found.status != "exact"


def test_who_is_known_is_said_and_others_are_not_asked():
    with pytest.raises(Unsupported, match="nobody's features are known"):
        recon.labels(recon.load(LOG))
    with pytest.raises(ReleaseError, match="every row's 'y' is given"):
        recon.labels(recon.load(LOG, known_columns=FEATURES.assign(y=[r[-1] for r in ROWS])))


def test_one_rows_label_when_all_others_are_known():
    for left in range(len(ROWS)):
        labels = pd.Series([None if i == left else r[-1] for i, r in enumerate(ROWS)], dtype=object)
        found = recon.labels(recon.load(LOG, known_columns=FEATURES.assign(y=labels)))
        assert found["how"].tolist() == ["certain" if i == left else "given" for i in range(len(ROWS))]
        assert found["label"].tolist() == [r[-1] for r in ROWS]


@pytest.fixture(scope="module")
def boosted(tmp_path_factory):
    """A boosted model of 60 people on floats, their features and their labels."""
    from sklearn.ensemble import GradientBoostingClassifier

    dice, folder = np.random.default_rng(3), tmp_path_factory.mktemp("boosted")
    people = pd.DataFrame(dice.normal(size=(60, 4)), columns=["a", "b", "c", "d"])
    labels = ((people["a"] + dice.normal(size=60)) > 0).astype(int)
    model = GradientBoostingClassifier(n_estimators=30, max_depth=4, random_state=0).fit(people, labels)
    (folder / "model.pkl").write_bytes(pickle.dumps(model))
    people.to_csv(folder / "people.csv", index=False)
    people.assign(label=labels).to_csv(folder / "truth.csv", index=False)
    return folder, labels


@pytest.mark.slow
def test_a_boosted_model_gives_back_everybodys_label(boosted, capsys):
    folder, labels = boosted
    files = folder / "model.pkl", "--known-columns", folder / "people.csv"
    out = folder / "labels.csv"
    code, _, err = run(capsys, "labels", *files, "--truth", folder / "truth.csv", "--out", out, "--quiet")
    assert code == 0
    assert pd.read_csv(out)["label"].tolist() == labels.tolist()
    assert "the label 'label' of 60 of 60 rows is certain" in err
    assert "true labels: 60 of the certain ones are right, 0 wrong" in err
    assert f"would be right for {max(labels.sum(), 60 - labels.sum())}" in err
    code, text, _ = run(capsys, "labels", *files, "--json", "--quiet")
    told = json.loads(text)
    assert (code, told["status"]) == (0, "exact")
    assert [row["how"] for row in told["rows"]] == ["certain"] * 60
    assert any("leaf values: 60 of 60 rows are known" in line for line in told["assumptions"])


def test_known_columns_widen_a_guessed_domain(tmp_path):
    """A model that only asks whether a number is above one half, of people who have others than 0 and 1."""
    from sklearn.tree import DecisionTreeClassifier

    people = pd.DataFrame({"children": [0, 0, 1, 1, 1]})
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(people, [0, 0, 1, 1, 1])
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(model))
    assert recon.load(path).domain.attributes[0].describe() == "values 0, 1"
    known = recon.load(path, known_columns=pd.DataFrame({"children": [0, 3, 2, 0, 1]}))
    assert any("has more values of 'children' than the model file says" in line for line in known.assumptions)
    found = recon.labels(known)
    assert found["label"].tolist() == [0, 1, 1, 0, 1]


@pytest.mark.slow
def test_everybodys_target_of_a_regression_is_bounded(tmp_path, capsys):
    from sklearn.ensemble import GradientBoostingRegressor

    dice = np.random.default_rng(5)
    people = pd.DataFrame(dice.normal(size=(40, 3)), columns=["a", "b", "c"])
    target = (people["a"] * 300 + 100 * dice.normal(size=40)).round()
    model = GradientBoostingRegressor(n_estimators=40, max_depth=5, random_state=0).fit(people, target)
    path, table, truth = (tmp_path / name for name in ("model.pkl", "people.csv", "truth.csv"))
    path.write_bytes(pickle.dumps(model))
    people.to_csv(table, index=False)
    people.assign(income=target).to_csv(truth, index=False)
    known = recon.load(path, known_columns=table)
    found = recon.targets(known)
    assert found.attrs["bounded"] == 40
    assert ((found["low"] <= target) & (target <= found["high"])).all()
    assert found.attrs["widest"] < 1e-9
    with pytest.raises(Unsupported, match="ask for targets"):
        recon.labels(known)
    code, _, err = run(
        capsys, "labels", path, "--known-columns", table, "--truth", truth, "--label", "income", "--quiet"
    )
    assert code == 0
    assert "the targets of 40 of 40 rows are bounded" in err
    assert "true targets: 40 inside their bounds, 0 outside" in err


def test_certificates_of_known_rows_are_verified_beside_them(tmp_path, capsys):
    known, people, result = (tmp_path / name for name in ("known.csv", "people.csv", "result.json"))
    release = GOLDEN / "tree_classes.json"
    everybody = oracle.datasets(json.loads(release.read_text()))[0]
    other = next(r for r in oracle.rows(json.loads(release.read_text())) if r[:-1] not in {p[:-1] for p in everybody})
    pd.DataFrame([p[:-1] for p in everybody], columns=["age", "city"]).to_csv(known, index=False)
    pd.DataFrame([other[:-1]], columns=["age", "city"]).to_csv(people, index=False)
    ask = "certify", release, "--profiles", people, "--known-columns", known, "--json", "--out", result, "--quiet"
    code, _, _ = run(capsys, *ask)
    assert code == 0
    (line,) = json.loads(result.read_text())
    assert line["verdict"] == "impossible"
    code, text, _ = run(capsys, "verify", result, release, "--known-columns", known)
    assert code == 0, text
    code, text, _ = run(capsys, "verify", result, release)
    assert code != 0
    assert "--known-columns" in text
