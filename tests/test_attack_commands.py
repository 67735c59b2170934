"""`recon attack`: what it prints and writes, and the exit codes of its refusals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from extras import extra, run

extra("sklearn")
BITS = list("abcdef")
RELEASES = Path(__file__).parents[1] / "examples" / "releases"
MEMBERSHIP = ("attack", "membership")


def people(rows, seed):
    rng = np.random.default_rng(seed)
    x = (rng.random((rows, 6)) < 0.4).astype(int)
    return pd.DataFrame(x, columns=BITS).assign(ill=(x[:, 0] + x[:, 1] + rng.random(rows) > 1.2).astype(int))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a stored forest of real scikit-learn, its training rows and others, by name."""
    from joblib import dump
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    folder = tmp_path_factory.mktemp("attack")
    train, others = people(100, 1), people(80, 2)
    train.to_csv(folder / "train.csv", index=False)
    others.to_csv(folder / "others.csv", index=False)
    train.head(0).to_csv(folder / "empty.csv", index=False)
    dump(DecisionTreeClassifier(random_state=0).fit(train[BITS], train["ill"]), folder / "tree.joblib")
    forest = RandomForestClassifier(5, bootstrap=False, random_state=0).fit(train[BITS], train["ill"])
    dump(forest, folder / "forest.joblib")
    return folder


def membership(files, model="tree", *more):
    rows = ("--data", str(files / "train.csv"), "--others", str(files / "others.csv"))
    return *MEMBERSHIP, str(files / f"{model}.joblib"), *rows, "--domain", str(files / "train.csv"), *more


@pytest.mark.slow
def test_membership_prints_both_sides_and_json_says_the_same(files, capsys):
    quick = ("--attack", "label-only", "--shadow", "noise")
    code, out, err = run(capsys, *membership(files, "forest", *quick))
    assert (code, err) == (0, "")
    assert "black box: the forest 'forest' (scikit-learn" in out
    assert "as recon read it; nothing of the file was run" in out
    code, said, _ = run(capsys, *membership(files, "forest", *quick, "--json"))
    found = json.loads(said)
    assert code == 0
    assert found["certified"]["errors"] == 0
    assert found["certified"]["members_proved_in"] > 0
    proved = f"proved to be in the training set: {found['certified']['members_proved_in']} of 100 training rows"
    assert proved in out
    assert [one["attack"] for one in found["statistical"] if one["rows"] == "all"] == ["always in", "label-only"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("end", ["html", "md", "json", "txt"])
def test_membership_writes_every_format(files, tmp_path, capsys, end):
    out = tmp_path / f"r.{end}"
    quick = ("--attack", "label-only", "--shadow", "noise", "--limit", "20", "--out", str(out))
    assert run(capsys, *membership(files, "tree", *quick))[0] == 0
    text = out.read_text()
    assert "CERTIFIED" in text or json.loads(text)["kind"] == "membership"
    assert os.stat(out).st_mode & 0o077 == 0  # what is said of people's rows is the owner's


REFUSED = [
    ((), 3, "there are no data beside the model"),
    (("--data", "{train}"), 3, "rows that were not trained on are needed"),
    (("--data", "{empty}", "--others", "{others}"), 3, "empty.csv: there are no rows"),
    (
        ("--data", "{train}", "--others", "{others}", "--attack", "aloa"),
        3,
        "no attack applies: aloa: there are no cont",
    ),
    (("--data", "{train}", "--others", "{others}", "--attack", "x"), 2, "--attack is mia, label-only, aloa or all"),
    (("--data", "{train}", "--others", "{others}", "--shadow", "x"), 2, "--shadow is random"),
    (("--data", "{train}", "--others", "{others}", "--confidence", "1"), 2, "between 0 and 1"),
    (("--data", "{train}", "--others", "{others}", "--folds", "99"), 3, "80 rows that were not trained on cannot be"),
    (("--data", "{train}", "--member", "inside"), 3, "train.csv: there is no column 'inside'"),
    (("--data", "no.csv", "--others", "{others}"), 3, "no.csv: cannot be read"),
]


@pytest.mark.parametrize(("options", "code", "said"), REFUSED, ids=[r[2][:25] for r in REFUSED])
def test_membership_refuses_in_a_sentence(files, capsys, options, code, said):
    named = {name: str(files / f"{name}.csv") for name in ("train", "others", "empty")}
    given = [o.format(**named) for o in options]
    found, out, err = run(capsys, *MEMBERSHIP, str(files / "tree.joblib"), "--label", "ill", *given)
    assert found == code
    assert out == ""
    assert said in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("release", "said"),
    [("census_block.json", "the table 'census block' cannot be attacked"), ("two_trees.json", "it has no label")],
)  # fmt: skip
def test_releases_without_predictions_are_refused_by_name(files, capsys, release, said):
    rows = ("--data", str(files / "train.csv"), "--others", str(files / "others.csv"))
    code, _, err = run(capsys, *MEMBERSHIP, str(RELEASES / release), *rows)
    assert code == 3
    assert said in err


def test_joined_models_have_no_one_prediction(files, capsys):
    code, _, err = run(capsys, *membership(files, "tree", str(files / "forest.joblib")))
    assert code == 3
    assert "a release of 2 models" in err


def test_time_ends_it_with_what_is_there(files, capsys):
    code, out, err = run(capsys, *membership(files, "tree", "--time", "0.01"))
    assert code == 4
    assert "always in" in out
    assert "limits ended the work: what is there so far was written" in err


@pytest.mark.slow
def test_ctrl_c_ends_it_with_what_is_there(files):
    """One SIGINT while shadow models are trained: exit code 4, the report so far, no traceback."""
    command = [sys.executable, "-m", "recon", *membership(files, "forest", "--log-json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if "mia, shadow data" in line:
                break
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 4
    assert "CERTIFIED" in out
    assert "was not finished" in out
    assert "Traceback" not in err


def test_correlation_prints_intervals_of_a_release(files, tmp_path, capsys):
    path = tmp_path / "list.json"
    learn = ("learn", "greedy-rule-list", str(files / "train.csv"), "--max-length", "3", "--out", str(path))
    assert run(capsys, *learn)[0] == 0
    command = ("attack", "correlation", str(path), "--data", str(files / "train.csv"), "--epsilon", "1")
    code, out, _ = run(capsys, *command)
    assert code == 0
    assert "Which attacker knows what" in out
    assert "worlds: mean width" in out
    code, said, _ = run(capsys, *command, "--pair", "a,b", "--json")
    (pair,) = json.loads(said)["pairs"]
    assert {pair["first"], pair["second"]} == {"a", "b"}
    assert run(capsys, *command, "--pair", "a,nope")[0] == 3
    assert run(capsys, *command, "--pair", "a")[0] == 2
    assert run(capsys, "attack", "correlation", str(path), "--data", str(files / "others.csv"))[0] == 3
    code, _, err = run(capsys, "attack", "correlation", str(path))
    assert (code, "no data beside the model" in err) == (3, True)
    assert run(capsys, *command[:-1], "0")[0] == 2


def test_correlation_of_a_linear_model(tmp_path, capsys):
    path = tmp_path / "w.json"
    path.write_text('{"weights": {"a": 1.0, "b": -0.5}, "correlations": {"a": 0.5, "b": -0.3}}')
    code, out, _ = run(capsys, "attack", "correlation", str(path), "--out", str(tmp_path / "r.md"))
    assert (code, out) == (0, "")
    assert "(estimate)" in (tmp_path / "r.md").read_text()
    path.write_text('{"weights": {"a": 1.0, "b": -0.5}, "correlations": {"a": 2, "b": -0.3}}')
    code, _, err = run(capsys, "attack", "correlation", str(path))
    assert (code, "no matrix of correlations has it" in err) == (3, True)


def test_help_names_the_attacks(capsys):
    code, out, _ = run(capsys, "attack", "--help")
    assert code in (0, 2)
    assert "membership" in out
    assert "correlation" in out
