"""What an officer's trial by hand on real files found: sentences that led nowhere, or said more than is known."""

import json
import pickle
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import recon
from recon.cli.app import main
from recon.queries.measures.measures import measure
from recon.release.auditing import auditing as gathering
from recon.report.wording.headline import headline_lines
from solvers.foundation.limits import Limits


def run(capsys, *arguments):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["recon", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
    return (stopped.value.code or 0, *capsys.readouterr())


@pytest.fixture
def model(tmp_path):
    """A tree on a share and a whole number, without names; beside it its data with names, one share of 40 decimals."""
    drawn = np.random.default_rng(0)
    rows = np.stack([drawn.random(60), drawn.integers(0, 9, 60).astype(float)], axis=1)
    rows[0, 0] = 1e-40
    labels = (rows[:, 0] > 0.4).astype(int)
    (tmp_path / "tree.pkl").write_bytes(pickle.dumps(DecisionTreeClassifier(random_state=0).fit(rows, labels)))
    pd.DataFrame(rows, columns=["share", "age"]).assign(ill=labels).to_csv(tmp_path / "data.csv", index=False)
    return tmp_path


def test_no_advice_that_was_followed_already(model, capsys):
    tree, data = str(model / "tree.pkl"), str(model / "data.csv")
    _, guessed, _ = run(capsys, "audit", tree)
    assert "run recon audit" in guessed
    assert "unless they are shares" in guessed
    code, said, _ = run(capsys, "audit", tree, "--domain", data)
    assert code == 0
    assert "--domain DATA.csv (rows" not in said
    assert "look like bits" not in said
    assert "give them values, or a resolution that fits their decimals; then run recon audit" in said
    code, out, _ = run(capsys, "audit", tree, "--domain", data, "--json")
    found = json.loads(out)["not_assessed"]
    assert found["looks_like"] == {"bits": [], "integers": [], "others": ["share"]}
    assert found["run"] == [f"recon audit {tree} --domain domain.json"]


def test_counts_are_no_kind_of_harmless_statistics(model, capsys):
    tree = str(model / "tree.pkl")
    _, said, _ = run(capsys, "audit", tree)
    assert "counts of training rows: what they reveal is the rest of this report; recon inspect" in said
    assert "kind of exact statistics" not in said


def test_a_report_inspects_before_it_counts(model, monkeypatch):
    release, order = recon.load(str(model / "tree.pkl"), domain=str(model / "data.csv")), []
    measured, asked = gathering.measure, gathering.stored_outright
    monkeypatch.setattr(gathering, "stored_outright", lambda *a: (order.append("inspected"), asked(*a))[1])
    monkeypatch.setattr(gathering, "measure", lambda *a: (order.append("measured"), measured(*a))[1])
    recon.audit(release, limits=Limits())
    assert order == ["inspected", "measured"]


def test_a_table_has_no_number_of_rows_where_a_number_has_no_grid(model):
    guessed = recon.table(recon.load(str(model / "tree.pkl")))
    assert guessed["worlds_per_row"].isna().all()


def test_of_columns_that_are_all_unknown_none_is_guessed_to_be_the_label(model, capsys):
    tree, data = str(model / "tree.pkl"), str(model / "data.csv")
    code, _, said = run(capsys, "certify", tree, "--profiles", data)
    assert code == 3
    assert "none of the columns is: if one is the label, say which (--label NAME)" in said
    assert "--label 'share'" not in said
    assert run(capsys, "certify", tree, "--profiles", data, "--label", "ill")[0] == 0


def small(folder):
    """Return a table of one count over one bit."""
    domain = {"attributes": [{"name": "a", "values": [0, 1]}]}
    models = [{"kind": "table", "statements": [{"where": {"a": 1}, "count": 1}]}]
    (folder / "t.json").write_text(json.dumps({"recon": 1, "domain": domain, "rows": 5, "models": models}))
    return recon.load(str(folder / "t.json"))


def test_a_profile_is_numbered_where_all_lie_outside(tmp_path):
    found = recon.certify(small(tmp_path), pd.DataFrame({"a": [7, 8]}))
    assert (found["profile"].dtype.kind, found["profile"].tolist()) == ("i", [0, 1])


def test_a_bound_that_is_all_of_it_says_so(tmp_path):
    found = measure(small(tmp_path))
    before = found.unordered_before
    open_count = replace(found.datasets, status="bounds", bounds=(0.0, before * (1 + 1e-12)))
    lines = headline_lines(replace(found, datasets=open_count))
    assert f"bits left beyond the order of rows: at most all of {before:,.1f}" in lines


@pytest.mark.slow
def test_a_forest_whose_bags_are_known_says_how_to_draw_all_the_same(tmp_path, capsys):
    drawn = np.random.default_rng(1)
    rows, labels = drawn.integers(0, 2, (12, 2)), drawn.integers(0, 2, 12)
    (tmp_path / "f.pkl").write_bytes(pickle.dumps(RandomForestClassifier(2, random_state=0).fit(rows, labels)))
    forest, plain = str(tmp_path / "f.pkl"), str(tmp_path / "plain.json")
    code, _, said = run(capsys, "sample", forest)
    assert code == 3
    assert "Sample:" not in said
    assert "(recon convert FILE --without-bags --out release.json)" in said
    code, _, said = run(capsys, "reconstruct", forest)
    assert code == 0
    assert "rows in the order of the training file" in said
    assert run(capsys, "convert", forest, "--without-bags", "--out", plain)[0] == 0
    assert run(capsys, "reconstruct", plain)[0] == 0


def test_inspect_and_audit_agree_on_the_smallest_count(tmp_path, capsys):
    rows = np.array([[0]] * 20 + [[1]] * 30)
    labels = np.array([0] * 17 + [1] * 3 + [0] * 12 + [1] * 18)
    (tmp_path / "t.pkl").write_bytes(pickle.dumps(DecisionTreeClassifier(random_state=0).fit(rows, labels)))
    file = str(tmp_path / "t.pkl")
    assert "the smallest published count is 3 rows" in run(capsys, "inspect", file)[1]
    _, said, _ = run(capsys, "audit", file)
    assert "groups below 10 rows: none" in said
    assert "counts of one class below 10 rows, in larger groups: 1: leaf 1, class 1 (3)" in said
    found = json.loads(run(capsys, "audit", file, "--json")[1])["group_disclosure"]
    assert found["small_class_counts"] == [{"name": "leaf 1", "class": "1", "rows": 3}]


def test_what_is_inspected_is_what_was_read(model, tmp_path):
    path = tmp_path / "copy.pkl"
    path.write_bytes((model / "tree.pkl").read_bytes())
    release = recon.load(str(path), domain=str(model / "data.csv"))
    (same,) = recon.audit(release, limits=Limits()).findings.stored
    assert same.findings
    path.write_bytes(pickle.dumps({"another": "model"}))
    (other,) = recon.audit(release, limits=Limits()).findings.stored
    assert not other.findings
    assert other.format == "not inspected: the file has changed since the release was read; run the audit again"
    several = recon.load(str(model / "tree.pkl"), str(model / "tree.pkl"), domain=str(model / "data.csv"))
    assert all(one.findings for one in recon.audit(several, limits=Limits()).findings.stored)
