"""`--learner` on count, certify, sample and audit: figures beside those without it, refusals, exit codes."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

import recon
from recon.cli.app import _run_app, app
from recon.release.auditing.auditing import _about, _people_line

COLUMNS = ["owns", "rents", "works", "owes"]


def rows(seed=3, n=40):
    """Return people with four columns, and an answer that depends on two of them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, 2, (n, 4)), columns=COLUMNS)
    frame["answer"] = (frame["owns"] ^ (frame["works"] & rng.integers(0, 2, n))).astype(int)
    return frame


@pytest.fixture
def files(tmp_path):
    """Return the paths of a tree, of its training rows and of a few profiles, and a run of a command on them."""
    frame = rows()
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(frame[COLUMNS], frame["answer"])
    joblib.dump(model, tmp_path / "tree.joblib")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.drop_duplicates().head(6).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


def run(monkeypatch, capsys, folder, command, *options, model="tree.joblib"):
    """Return the exit code, standard output and standard error of a command."""
    given = [command, str(folder / model), "--domain", str(folder / "rows.csv"), "--independent-columns", *options]
    monkeypatch.setattr("sys.argv", ["recon", *given])
    with pytest.raises(SystemExit) as ended:
        _run_app()
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


def test_count_says_what_the_learner_adds(files, monkeypatch, capsys):
    plain = run(monkeypatch, capsys, files, "count")
    code, out, _ = run(monkeypatch, capsys, files, "count", "--learner", "auto")
    assert plain[0] == code == 0
    assert "learner adds" not in plain[1]
    assert set(plain[1].splitlines()) < set(out.splitlines())
    assert "what knowing the learner adds: " in out
    assert "read from the file" in out
    assert "  where it is revealed, most first:" in out
    assert "split of " in out


def test_count_as_json_has_the_figures_as_a_key(files, monkeypatch, capsys):
    plain = json.loads(run(monkeypatch, capsys, files, "count", "--json")[1])
    code, out, _ = run(monkeypatch, capsys, files, "count", "--json", "--learner", "greedy")
    found = json.loads(out)
    rule = found.pop("learner_rule")
    assert code == 0
    assert found.keys() == plain.keys()
    assert rule["world_bits"] == [plain["log2_worlds"]] * 2
    assert rule["extra_bits"][0] > 0
    assert rule["extra_bits"][1] - rule["extra_bits"][0] < 1e-6
    assert rule["bits_left"][0] == pytest.approx(rule["world_bits"][0] - rule["extra_bits"][0])
    assert rule["learner"]["name"] == "sklearn tree"
    assert {part["what"] for part in rule["by_column"]} == set(COLUMNS)


@pytest.mark.parametrize(
    ("learner", "said"),
    [
        ("greedy:max_depth=1", "node 1 is split at depth 1, and max_depth is 1"),
        ("greedy:min_samples_leaf=15", "min_samples_leaf is 15"),
        ("greedy:min_impurity_decrease=0.4", "min_impurity_decrease is 0.4"),
    ],
)
@pytest.mark.parametrize("command", ["count", "audit"])
def test_a_limit_that_the_tree_breaks_is_a_contradiction(files, monkeypatch, capsys, learner, said, command):
    code, _, err = run(monkeypatch, capsys, files, command, "--learner", learner)
    assert code == 5
    assert said in err
    assert "Traceback" not in err


def test_no_filling_of_a_column_is_left(tmp_path, monkeypatch, capsys):
    """Split on a column that says nothing, although the one below splits perfectly: only chance chooses so."""
    frame = pd.DataFrame([[a, b, b] for a in (0, 1) for b in (0, 1)] * 3, columns=["a", "b", "y"])
    for seed in range(50):
        model = DecisionTreeClassifier(max_features=1, random_state=seed).fit(frame[["a", "b"]], frame["y"])
        if model.tree_.feature[0] == 0:
            break
    joblib.dump(model, tmp_path / "tree.joblib")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    code, _, err = run(monkeypatch, capsys, tmp_path, "count", "--learner", "greedy:max_features=none")
    assert code == 5
    assert "node 0 (everybody): whatever column 'b' holds there, the learner would have chosen otherwise" in err
    code, _, err = run(monkeypatch, capsys, tmp_path, "count", "--learner", "greedy")
    assert code == 3
    assert "max_features 1 of 2" in err


def test_a_word_that_is_no_learner_is_wrong_usage(files, monkeypatch, capsys):
    code, _, err = run(monkeypatch, capsys, files, "count", "--learner", "lazy")
    assert code == 2
    assert "there is no learner 'lazy'" in err


def test_certify_under_the_rule(files, monkeypatch, capsys):
    people = ["--profiles", str(files / "people.csv"), "--learner", "auto"]
    code, out, err = run(monkeypatch, capsys, files, "certify", *people, "--json")
    lines = json.loads(out)
    assert code == 0
    assert len(lines) == 6
    assert {line["verdict"] for line in lines} <= {"certain", "possible", "impossible"}
    for line in lines:
        assert line["probability_low"] <= line["probability"] <= line["probability_high"]
        assert line["profile_values"].keys() == {*COLUMNS, "answer"}
    assert "the adversary knows that the model was chosen by a scikit-learn decision tree" in err
    assert "does not use how the learner chose" not in err
    table = run(monkeypatch, capsys, files, "certify", *people)[1]
    assert table.startswith("profile,verdict,verdict_without,by_rule,")
    code, _, err = run(monkeypatch, capsys, files, "certify", *people, "--convention", "multiset")
    assert (code, "as assigned, not multiset" in err) == (3, True)


def test_sample_under_the_rule(files, monkeypatch, capsys):
    code, out, err = run(monkeypatch, capsys, files, "sample", "-k", "2", "--seed", "5", "--learner", "auto")
    again = run(monkeypatch, capsys, files, "sample", "-k", "2", "--seed", "5", "--learner", "auto")
    assert code == 0
    assert out == again[1]
    assert "exactly uniform over the worlds in which the learner could have chosen this tree" in err
    worlds = pd.read_csv(files / "rows.csv")
    assert len(out.splitlines()) == 2 * len(worlds) + 1


@pytest.mark.slow
def test_audit_has_a_section_and_a_key(files, monkeypatch, capsys):
    people = ["--profiles", str(files / "people.csv")]
    plain = run(monkeypatch, capsys, files, "audit", *people)[1]
    code, out, _ = run(monkeypatch, capsys, files, "audit", *people, "--learner", "auto")
    assert code == 0
    assert "What knowing the learner adds" not in plain
    section = out.partition("What knowing the learner adds\n")[2].partition("\n\n")[0]
    assert "bits" in section.splitlines()[0]
    assert "of 6 profiles asked about" in section
    assert "assuming: the seed is not known" in section
    document = json.loads(run(monkeypatch, capsys, files, "audit", *people, "--learner", "auto", "--json")[1])
    assert document["learner_rule"]["people"]["asked"] == 6
    assert "learner_rule" not in json.loads(run(monkeypatch, capsys, files, "audit", "--json")[1])
    page = recon.audit(recon.load(str(files / "tree.joblib")), learner="auto").to_html()
    assert "What knowing the learner adds" in page


def test_forests_keep_facts_and_refuse_what_is_asked_by_name(files, monkeypatch, capsys):
    frame = rows().head(8)
    model = RandomForestClassifier(2, max_depth=1, bootstrap=False, random_state=0).fit(frame[COLUMNS], frame["answer"])
    joblib.dump(model, files / "forest.joblib")
    code, _, err = run(monkeypatch, capsys, files, "count", "--learner", "greedy", model="forest.joblib")
    assert code == 3
    assert "exact counts are made for single greedy trees" in err
    assert "--learner midpoints" in err
    code, out, _ = run(monkeypatch, capsys, files, "count", "--learner", "auto", model="forest.joblib")
    assert code == 0
    assert "no exact count under the learner's rule" in out
    section = run(monkeypatch, capsys, files, "audit", "--learner", "greedy", model="forest.joblib")[1]
    assert "what knowing the learner adds is not worked out: no exact count of 'forest'" in section
    code, _, err = run(monkeypatch, capsys, files, "sample", "--learner", "auto", model="forest.joblib")
    assert (code, "--learner midpoints" in err) == (3, True)


def test_people_are_counted_by_what_the_rule_does_to_them():
    found = pd.DataFrame({
        "verdict": ["certain", "impossible", "possible", "possible", "possible", "outside"],
        "by_rule": [True, True, False, False, False, None],
        "probability": [1.0, 0.0, 0.5, 0.1, 0.2, np.nan],
        "probability_without": [0.5, 0.5, 0.1, 0.5, 0.2, np.nan],
    })  # fmt: skip
    people = _about(found)
    assert people == {"asked": 5, "certain_by_rule": 1, "impossible_by_rule": 1, "likelier": 1, "less_likely": 1}
    line = _people_line(people)
    assert line.strip() == (
        "of 5 profiles asked about, 1 become certain and 1 impossible by the rule alone; 1 at least twice as likely "
        "and 1 at most half as likely as without it"
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("rule", ["auto", "midpoints"])
def test_counts_of_hundreds_of_millions_of_rows_are_answered(tmp_path, rule):
    """Shares below what doubles hold ended with exit code 70, products of a billion bits ran for minutes."""
    dice = np.random.default_rng(0)
    x = dice.integers(0, 4, (60, 4))
    y = (x[:, 0] + x[:, 1] + dice.integers(0, 2, 60) > 3).astype(int)
    model = DecisionTreeClassifier(max_depth=3, random_state=0, criterion="entropy").fit(x, y)
    state = model.tree_.__getstate__()
    nodes = state["nodes"].copy()
    nodes["n_node_samples"] *= 10**7
    nodes["weighted_n_node_samples"] *= 10**7
    model.tree_.__setstate__(state | {"nodes": nodes})
    joblib.dump(model, tmp_path / "tree.joblib")
    pd.DataFrame(x, columns=list("abcd")).assign(y=y).to_csv(tmp_path / "data.csv", index=False)
    words = ["count", str(tmp_path / "tree.joblib"), "--domain", str(tmp_path / "data.csv"), "--learner", rule]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    assert "inf" not in shown.output.split()
    found = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)["learner_rule"]
    assert found["estimate"] is None
    assert found["rows"] == 600_000_000
