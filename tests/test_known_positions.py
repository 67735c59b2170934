"""What an attacker knows by position beside a forest: the truth is never excluded, and certificates want the table."""

from __future__ import annotations

import json
from itertools import pairwise

import joblib
import known_cases
import numpy as np
import pandas as pd
import pytest
from extras import run

import recon

sklearn = pytest.importorskip("sklearn")
from sklearn.datasets import load_breast_cancer  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("seed", range(8))
def test_the_truth_is_never_excluded(seed):
    assert known_cases.failures(seed) == []


@pytest.fixture(scope="module")
def cancer(tmp_path_factory):
    """A forest of 25 trees on 80 rows and 10 columns, its rows, and a table of 20 labels and one column."""
    place = tmp_path_factory.mktemp("known")
    data = load_breast_cancer(as_frame=True)
    x, y = data.data.iloc[:80, :10], data.target.iloc[:80]
    joblib.dump(RandomForestClassifier(25, random_state=0).fit(x, y), place / "forest.joblib")
    truth = x.assign(label=y)
    truth.to_csv(place / "rows.csv", index=False)
    known = pd.DataFrame({"position": range(80), "mean radius": x["mean radius"], "label": y.astype(object)})
    known.loc[20:, "label"] = None
    known.to_csv(place / "known.csv", index=False)
    return place


@pytest.mark.slow
def test_certificates_with_knowledge_want_the_table(cancer, capsys):
    file, table = str(cancer / "forest.joblib"), str(cancer / "known.csv")
    code, out, _ = run(capsys, "positions", file, "--truth", str(cancer / "rows.csv"), "--known", table, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["truth"]["inside"]
    assert found["known"] == found["certificate"]["known"]
    assert (found["known"]["positions"], found["known"]["values"]) == (80, 100)
    assert any(found["known"]["sha256"] in line for line in found["assumptions"])
    given = [line for line in found["positions"] if line["given"]]
    assert {line["attribute"] for line in given} == {"mean radius", "label"}
    assert len(given) == 100
    result = cancer / "result.json"
    result.write_text(out)
    assert run(capsys, "verify", str(result), file, "--known", table)[0] == 0
    code, out, err = run(capsys, "verify", str(result), file)
    assert code == 1
    assert "give verify that table" in out + err
    other = cancer / "other.csv"
    changed = pd.read_csv(table)
    changed.loc[3, "label"] = np.nan
    changed.to_csv(other, index=False)
    code, out, err = run(capsys, "verify", str(result), file, "--known", str(other))
    assert code == 1
    assert "another table" in out + err
    forged = json.loads(result.read_text())
    del forged["certificate"]["known"]
    result.write_text(json.dumps(forged))
    assert run(capsys, "verify", str(result), file)[0] == 1


@pytest.mark.slow
def test_knowledge_that_contradicts_is_named(cancer, capsys, tmp_path):
    file, table = str(cancer / "forest.joblib"), pd.read_csv(cancer / "known.csv")
    wrong = tmp_path / "wrong.csv"
    table.loc[7, "label"] = 1 - table.loc[7, "label"]
    table.to_csv(wrong, index=False)
    code, out, err = run(capsys, "positions", file, "--known", str(wrong))
    assert code == 5
    assert "what is known" in out + err
    assert "position" in out + err
    alone = tmp_path / "alone.csv"
    row = (
        pd.read_csv(cancer / "rows.csv")
        .iloc[[3]]
        .assign(position=3, label=1 - pd.read_csv(cancer / "rows.csv")["label"][3])
    )
    row.to_csv(alone, index=False)
    code, out, err = run(capsys, "positions", file, "--known", str(alone))
    assert code == 5
    assert "position 3" in out + err


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mean radius\n1\n", "has no column 'position'"),
        ("position,mean radius\n-1,3\n", "'-1' is not a position"),
        ("position,mean radius\n1.5,3\n", "'1.5' is not a position"),
        ("position,mean radius\n80,3\n", "whole numbers from 0 to 79"),
        ("position,mean radius\n1,3\n1,4\n", "position 1 stands twice"),
        ("position,weight\n1,3\n", "weight"),
        ("position,mean radius\n1,\n", "says nothing"),
        ("position,label\n1,7\n", "label"),
    ],
)
def test_tables_that_cannot_be(cancer, capsys, tmp_path, text, said):
    table = tmp_path / "t.csv"
    table.write_text(text)
    code, _, err = run(capsys, "positions", str(cancer / "forest.joblib"), "--known", str(table))
    assert code == 3
    assert said in err
    assert "t.csv" in err


@pytest.mark.long
def test_which_columns_open_the_labels(cancer, capsys, tmp_path):
    from recon.queries.questions.which_columns import which_columns

    x, y = load_breast_cancer(as_frame=True, return_X_y=True)
    x, y = x.iloc[:80, :6], y.iloc[:80]
    path = tmp_path / "few.joblib"
    joblib.dump(RandomForestClassifier(10, random_state=0).fit(x, y), path)
    truth = x.assign(label=y)
    truth.to_csv(tmp_path / "rows.csv", index=False)
    release = recon.load(path)
    found = which_columns(release, truth, recon.Limits(seconds=60))
    assert found[0].names == ()
    assert found[0].labels < 80
    assert found[1].labels > found[0].labels
    assert all(b.names[: len(a.names)] == a.names for a, b in pairwise(found))
    best = found[-1]
    beside = truth[list(best.names)].assign(position=range(80))
    again = recon.positions(release, known=beside, truth=truth)
    assert again.attrs["labels_known"] >= best.labels
    assert again.attrs["truth"]["inside"]
    assert run(capsys, "positions", str(path), "--which-columns")[0] == 2
    code, out, _ = run(capsys, "positions", str(path))
    assert code in (0, 4)
    assert "labels are open: they have about" in out
    assert "more time changes nothing" in out


def test_a_try_of_which_columns_is_bounded_by_work(cancer, monkeypatch):
    from recon.queries.questions import which_columns as search

    release, truth, seen = recon.load(cancer / "forest.joblib"), pd.read_csv(cancer / "rows.csv"), []

    def placed(release, limits):
        seen.append((limits.work_left(), limits.seconds))
        raise search.Inconclusive("nothing")

    monkeypatch.setattr(search, "position_results", placed)
    assert search.which_columns(release, truth) == []
    assert seen == [(search.WORK, None)]


@pytest.mark.slow
def test_an_audit_says_which_columns_open_everything(tmp_path):
    """A real forest, nothing replaced: the search comes before worlds are counted, which take whatever is left."""
    x, y = load_breast_cancer(as_frame=True, return_X_y=True)
    rows = x.iloc[:80, :3].round(0).assign(label=y[:80])
    path = tmp_path / "three.joblib"
    joblib.dump(RandomForestClassifier(6, random_state=0).fit(rows.iloc[:, :3], rows["label"]), path)
    release = recon.load(path, domain=recon.Domain.from_frame(rows, "label"))
    report = recon.audit(release, domain_rows=rows, limits=recon.Limits().at_most(8))
    assert (
        "knowing mean perimeter of everybody gives all 80 labels by position, and 69.8 % of leaves" in report.to_text()
    )
    told = json.loads(report.to_json())["positions"]["which_columns"]
    assert [(one["columns"], one["labels_known"]) for one in told] == [([], 5), (["mean perimeter"], 80)]
    alone = recon.positions(release, known=rows[["mean perimeter"]].assign(position=range(80)), truth=rows)
    assert alone.attrs["labels_known"] == 80
    assert alone.attrs["truth"]["inside"]


@pytest.mark.slow
def test_an_audit_searches_columns_in_a_share_of_its_work(cancer, monkeypatch):
    """Not where no true rows are given, nor where they do not fit what is proved."""
    from recon.release.auditing import auditing

    asked, every = [], pd.read_csv(cancer / "rows.csv")
    truth = every.iloc[:, :3].round(0).assign(label=every["label"])
    path = cancer / "three.joblib"
    joblib.dump(RandomForestClassifier(6, random_state=0).fit(truth.iloc[:, :3], truth["label"]), path)
    release = recon.load(path, domain=recon.Domain.from_frame(truth, "label"))
    limits = recon.Limits().at_most(20)
    located = auditing.by_position(release, limits)

    def found(release, rows, limits, alone):
        asked.append((limits.work_left(), alone))
        return []

    monkeypatch.setattr("recon.queries.questions.which_columns.which_columns", found)
    for rows in (None, truth.assign(label=1 - truth["label"]), truth.iloc[:-1], truth):
        left = limits.work_left()
        auditing._opening_columns(release, located, auditing.AuditInputs(domain_rows=rows), limits)
        assert len(asked) == (rows is truth)
    assert asked == [(pytest.approx(0.4 * left, rel=0.05), located)]


def test_the_search_of_columns_ends_with_the_first_that_opens_everything(cancer, monkeypatch):
    from recon.queries.questions import which_columns as search

    release, truth, tried = recon.load(cancer / "forest.joblib"), pd.read_csv(cancer / "rows.csv"), []

    def opened(release, frame, names, limits):
        tried.append(names)
        return search.OpenedLabels(tuple(names), (0, 3, 80, 7)[min(len(tried) - 1, 3)], 80, 0.0, True)

    monkeypatch.setattr(search, "_labels_with_known", opened)
    found = search.which_columns(release, truth)
    assert [one.labels for one in found] == [0, 80]
    assert len(tried) == 3
