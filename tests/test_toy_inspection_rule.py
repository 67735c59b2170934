"""An inspection rule that recon has never heard of, added as docs/extending.md says, through all commands that look.

A tree of scikit-learn that carries an attribute of ours: the first training row, which nothing that predicts reads.
"""

import json
import pickle

import numpy as np
import pytest
from extras import run
from sklearn.tree import DecisionTreeClassifier

from recon.readers.inspection.findings import rules
from recon.readers.inspection.objects import generic

RULE = rules.LeakRule(
    "first-row",
    "DecisionTreeClassifier",
    "first_row_",
    "critical",
    "this is the first training row",
    rules._OUT,
    True,
    claim="present",
)


@pytest.fixture
def registered(monkeypatch):
    """Add the rule at the one place of the list."""
    monkeypatch.setattr(generic, "RULES", (RULE, *generic.RULES))
    generic.rules_of.cache_clear()
    yield
    generic.rules_of.cache_clear()


@pytest.fixture
def file(tmp_path):
    """Return a stored tree with the attribute."""
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(x, [0, 0, 1, 1])
    model.random_state = None
    model.first_row_ = x[0]
    path = tmp_path / "tree.pkl"
    path.write_bytes(pickle.dumps(model))
    return path


def found_in(text):
    """Return the findings of the rule in JSON of a command."""
    stack, found = [json.loads(text)], []
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            found += [one] if one.get("rule") == RULE.name else []
            stack += one.values()
        elif isinstance(one, list):
            stack += one
    return found


def test_it_is_found_named_and_graded(registered, file, capsys):
    code, out, _ = run(capsys, "inspect", str(file), "--json")
    (one,) = found_in(out)
    assert code == 0
    assert (one["path"], one["level"]) == ("first_row_", "critical")
    assert RULE.follows in one["follows"]
    assert RULE.follows in run(capsys, "inspect", str(file))[1]


def test_a_copy_leaves_it_out(registered, file, capsys, tmp_path):
    copy = tmp_path / "copy.pkl"
    code, _, err = run(capsys, "inspect", str(file), "--strip", str(copy))
    assert code == 0, err
    assert pickle.loads(copy.read_bytes()).first_row_ is None  # our own file
    assert found_in(run(capsys, "inspect", str(copy), "--json")[1]) == []


def test_audit_and_gate_hold_it_against_the_policy(registered, file, capsys, tmp_path):
    (tmp_path / "policy.toml").write_text('stored = "high"\n', encoding="utf-8")
    code, out, _ = run(capsys, "audit", str(file), "--json")
    assert code == 0
    assert found_in(out)
    code, out, err = run(capsys, "gate", "--policy", str(tmp_path / "policy.toml"), str(file))
    assert code == 1, err
    assert "stored training data" in out.lower()


def test_without_its_registration_it_is_not_taken_for_harmless(file, capsys):
    code, out, _ = run(capsys, "inspect", str(file), "--json")
    assert code == 0
    assert found_in(out) == []
    assert "first_row_" in out
    assert {one["level"] for one in json.loads(out)["findings"] if "first_row_" in one["path"]} <= {
        "unknown",
        "critical",
        "high",
    }
