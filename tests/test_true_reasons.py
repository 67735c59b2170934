"""Refusals that name the true reason: what a line of a file says that cannot be, and the number as it was written."""

from __future__ import annotations

import pytest
from extras import run

import recon
from encoders.domain.values import Grid
from recon.readers.formats.printed.printed_trees import number
from recon.readers.formats.printed.rpart_rds import read_rpart_rds
from recon.readers.formats.rules import corels_saved
from recon.readers.stored.binary.rds import RObject
from solvers.foundation.errors import ReleaseError, Unsupported

TREE = "J48 pruned tree\n------------------\n\na = u\n|   b = x: yes (5.0)\n|   b != {}: no (4.0)\na = v: no (7.0)\n"


def refused(text, tmp_path):
    path = tmp_path / "file.txt"
    path.write_text(text)
    with pytest.raises(ReleaseError) as error:
        recon.load(path)
    return str(error.value)


def test_more_events_than_people_at_risk_in_an_interval_are_named_by_their_line(tmp_path):
    """At single times events may be those since the time before (`summary(fit, times = ...)`), of people who left."""
    spans = "time,n.risk,n.event,n.censor\n0-1,20,2,8\n1-2,10,{},0\n"
    assert refused(spans.format(11), tmp_path).endswith("line 3: counts 11 events among 10 people at risk")
    for text in (spans.format(10), "time,n.risk,n.event\n0,20,2\n5,8,10\n10,0,8\n"):
        (tmp_path / "file.txt").write_text(text)
        assert recon.load(tmp_path / "file.txt", rows=20).models


def test_other_values_on_the_two_sides_of_a_test_of_weka_are_named(tmp_path):
    assert "line 5: 'b = x' and 'b != z' are not the two sides of one test" in refused(TREE.format("z"), tmp_path)
    (tmp_path / "file.txt").write_text(TREE.format("x"))
    assert recon.load(tmp_path / "file.txt").models


def test_a_gate_says_once_why_a_file_is_not_audited(tmp_path, capsys):
    (tmp_path / "ragged.csv").write_text("sex,age,count\nF,1,3\nM,2\n")
    (tmp_path / "p.toml").write_text("smallest_group = 18")
    code, out, said = run(capsys, "gate", tmp_path / "ragged.csv", "--policy", tmp_path / "p.toml")
    assert (code, out) == (3, f"{tmp_path / 'ragged.csv'}: not audited\n")
    assert "line 3: has 2 cells, the header 3" in said


@pytest.mark.parametrize(("step", "more"), [(1e-400, ", or nearer to 0 than"), (0, ""), (-1.5, "")])
def test_a_resolution_that_is_none_is_named(step, more):
    with pytest.raises(ReleaseError, match=f"the resolution {step} is not positive{more}"):
        Grid.between("x", 0, 1, step)


@pytest.mark.parametrize(("text", "why"), [("1e999", "'1e999' is beyond 1.8e308"), ("1-2", "'1-2' is not a number")])
def test_a_printed_number_that_no_model_compares_with_is_named(text, why):
    with pytest.raises(ReleaseError, match=why):
        number(text, "line 3")


def test_itemsets_of_arules_name_what_prints_them():
    root = RObject("S4", None, {"class": RObject("character", ["itemsets"])})
    with pytest.raises(Unsupported, match=r"what they print is: .*arules::inspect\(m\)"):
        read_rpart_rds(b"", 1 << 20, root)


def test_rules_of_corels_beyond_those_that_are_compared_are_named(monkeypatch):
    rules = [{"antecedents": [k + 1], "prediction": True} for k in range(5)]
    saved = {"f": list("abcde"), "r": [*rules, {"antecedents": [0], "prediction": False}], "p": "y"}
    assert corels_saved.read_saved(saved, "pickle").origin.unused == ()
    monkeypatch.setattr(corels_saved, "MAX_COMPARED", 3)
    (unused,) = corels_saved.read_saved(saved, "pickle").origin.unused
    assert (unused.what, unused.labels) == ("the classes of the last 2 rules", True)
