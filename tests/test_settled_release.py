"""Questions of a boosted model start from what its leaf values prove; what is settled is put in by hand here."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import oracle
import pandas as pd
import pytest

import recon
from recon.readers.frames.world import violations
from recon.readers.loading.settled import as_released, strengthened_release
from solvers.engines import chain as settling
from solvers.foundation.errors import Unsupported
from solvers.statements.boxes import Box, Boxes
from solvers.statements.questions.answers import StrengthenedAnswer
from solvers.statements.questions.query import LeafLabelCounts

GOLDEN = Path(__file__).parent / "golden"
LOG = GOLDEN / "boosted_log.json"
TRUTH = oracle.datasets(json.loads(LOG.read_text()))[0]


def load():
    return recon.load(LOG)


def frame(rows=TRUTH):
    return pd.DataFrame(list(rows), columns=["a", "b", "y"])


def everything(release, known=True):
    """Return what a solver that proves all rows of the one dataset says; `known` False: their features alone."""
    cuts = release.cut.cuts
    cells = [Box(((0, 1 << cuts[0].part(a)), (1, 1 << cuts[1].part(b)))) for a in range(3) for b in range(2)]
    times = np.array([[sum(r == (a, b, y) for r in TRUTH) for y in range(2)] for a in range(3) for b in range(2)])
    low = times if known else np.zeros_like(times)
    high = times if known else np.repeat(times.sum(axis=1)[:, None], 2, axis=1)
    status = "exact" if known else "bounds"
    return StrengthenedAnswer(status, boxes=Boxes.of(cells), low=low, high=high, surplus=7, worst=0.5)


@pytest.fixture
def says(monkeypatch):
    """Let the engine give an answer, and count how often it is asked."""
    asked = []

    def with_answer(make):
        whole = settling.answer

        def answer(statements, query, limits):
            if not isinstance(query, LeafLabelCounts):
                return whole(statements, query, limits)
            asked.append(query)
            found = make()
            if isinstance(found, Exception):
                raise found
            return found

        monkeypatch.setattr(settling, "answer", answer)
        return asked

    return with_answer


def test_every_question_starts_from_what_is_proved_and_pays_once(says):
    release = load()
    asked = says(lambda: everything(release))
    assert recon.count(release).value == 5 * 4 * 3 * 2  # orders of five different rows
    assert recon.measure(release, "multiset").counted.value == 1
    assert [len(list(recon.worlds(release)))] == [1]
    world = recon.reconstruct(release)
    assert world.unique
    assert sorted(map(tuple, world.to_frame().to_numpy().tolist())) == sorted(TRUTH)
    verdicts = recon.certify(release, frame(), certificates=False)
    assert verdicts["verdict"].eq("certain").all()
    inferred = recon.attribute(release, frame().drop(columns="y"), "y")
    assert inferred.loc[inferred["certain"], "value"].tolist() == [r[-1] for r in TRUTH]
    number = recon.bound(release, {"a": 2, "y": 1})
    assert (number.min, number.max, number.status) == (1, 1, "exact")
    mean = recon.bound(release, {"y": 1}, "a")
    assert (mean.min, mean.max, mean.status) == (pytest.approx(4 / 3), pytest.approx(4 / 3), "exact")
    assert len(recon.table(release)) == 5
    assert len(asked) == 1
    report = recon.audit(release)
    (said,) = report.to_dict()["leaf_values"]["models"]
    assert [said[k] for k in ("name", "rows", "with_label", "surplus", "worst")] == ["boosting", 5, 5, 7, 0.5]
    assert "What the leaf values reveal" in str(report.written_as(""))
    (line,) = [x for x in verdicts.attrs["assumptions"] if "leaf values:" in x]
    assert line == "boosting: leaf values: 5 of 5 rows are known, with their label; 7 surplus figures hold"


def test_what_is_not_settled_stays_open_and_nothing_is_called_exact(says):
    release = load()
    says(lambda: everything(release, known=False))
    found = recon.count(release)
    assert found.status == "bounds"
    assert any("the leaf values say more" in line for line in found.trail)
    verdicts = recon.certify(release, frame(), certificates=False)
    assert not verdicts["verdict"].eq("impossible").any()
    number = recon.bound(release, {"a": 2})
    assert (number.min, number.max) == (2, 2)
    mean = recon.bound(release, {}, "a")
    assert (mean.min, mean.max, mean.status) == (pytest.approx(1.2), pytest.approx(1.2), "bounds")


def test_where_an_assumption_fails_leaf_values_are_not_used_and_that_is_said(says):
    release = load()
    says(lambda: StrengthenedAnswer("unknown", failed="rows are weighted, or training went on"))
    found = strengthened_release(release)
    assert found.statements.boosted == ()
    line = "boosting: its leaf values are not used: rows are weighted, or training went on"
    assert any(one.startswith(line) and "from tree 1 on trees may be" in one for one in found.assumptions)
    assert any(one.startswith(line) for one in recon.count(release).trail)
    assert recon.count(release).status == "bounds"
    assert as_released(found) is release
    assert strengthened_release(found) is found


def test_without_leaf_values_nothing_is_done(says):
    asked = says(lambda: 1 / 0)
    release = recon.load(GOLDEN / "forest_3.json")
    assert strengthened_release(release) is release
    assert asked == []


def test_what_no_engine_settles_leaves_the_counts(says):
    release = load()
    asked = says(lambda: Unsupported("not this one"))
    assert recon.count(release).status == "bounds"
    assert strengthened_release(release).statements.settled is None
    assert asked


@pytest.mark.slow
def test_the_true_rows_keep_leaf_values_and_others_break_them():
    release = load()
    assert violations(release, frame()) == []
    counted = json.loads(LOG.read_text())
    for node in (n for t in counted["models"][0]["trees"] for n in t["nodes"]):
        for key in ("value", "weight"):
            node.pop(key, None)
    others = [rows for rows in oracle.datasets(counted) if rows != TRUTH]
    assert others
    for rows in others:
        (first, *_) = violations(release, frame(rows))
        assert "times as far from it as what is published allows" in first
        assert first.startswith("boosting, tree ")


def test_without_lattices_the_answer_says_which_extra_would_help(monkeypatch):
    """A release that leaf values leave open: `boosted_open.json`."""
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "flint" else find(name, *more))
    release = strengthened_release(recon.load(GOLDEN / "boosted_open.json"))
    assert any(".[lattice]" in line for line in release.assumptions)
