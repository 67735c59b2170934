"""The experiment on the learner's rule: its points, runs on real data, and tables that follow from the results."""

import math
from pathlib import Path

import pandas as pd
import pytest

from recon.experiments import learner_rule as fits
from recon.experiments.experiment import NAMES, Point, experiment
from recon.experiments.learner_rule import _interval
from recon.experiments.running import reproduce
from solvers.foundation.limits import Limits

EXPERIMENT = experiment("learner_rule")


def point_of(question, **other):
    """Return the first point of a question, with other parameters."""
    first = next(one for one in EXPERIMENT.points("full") if one["question"] == question)
    return Point("compas27", {**first.parameters, **other})


@pytest.fixture
def compas(data):
    from recon.experiments.running import load

    data("compas27.csv.gz")
    return load("compas27")[0]


def test_points_are_all_different_and_quick_ones_among_them_or_few():
    keys = {size: {one.key("learner_rule", 1) for one in EXPERIMENT.points(size)} for size in ("full", "quick")}
    assert {size: len(keys[size]) for size in keys} == {size: len(EXPERIMENT.points(size)) for size in keys}
    assert len(keys["quick"]) <= 20
    assert {one["question"] for one in EXPERIMENT.points("quick")} == set(fits.QUESTIONS)
    trees = [one for one in EXPERIMENT.points("full") if one["question"] == "tree" and one.dataset == "compas27"]
    plain = [one["depth"] for one in trees if one["rows"] == 0 and one["criterion"] == "gini" and one["leaf"] == 1]
    assert plain == list(range(1, 11))


def test_rows_are_drawn_once_and_nested(compas):
    few, more, every = (fits._drawn_rows(compas, rows, 0) for rows in (100, 300, 0))
    assert list(few.x.index) == list(more.x.index)[:100]
    assert every.rows == len(compas)


def test_a_tree_of_one_split_on_all_rows_beside_plain_arithmetic(compas):
    """Counts of a stump remove one bit per row; that no column beat it is checked by hand, column by column."""
    point = point_of("tree", rows=200, depth=1)
    (row,) = EXPERIMENT.run(point, compas, Limits())
    assert row["used_rows"] == 200
    assert row["world_bits"] == 200 * 26
    assert row["counts_low"] == 200
    assert 0 <= row["extra_low"] <= row["extra_high"] < row["extra_low"] + 1e-5
    some = fits._drawn_rows(compas, 200, 0)
    model = fits._fitted_tree(point, some)
    chosen = some.x.iloc[:, model.tree_.feature[0]].to_numpy()
    y = some.y.to_numpy()
    n = [int((y == k).sum()) for k in (0, 1)]

    def decrease(a, b):
        sides = ((a, b), (n[0] - a, n[1] - b))
        return sum((s[0] ** 2 + s[1] ** 2) / sum(s) for s in sides if sum(s))

    target = decrease(*(int(chosen[y == k].sum()) for k in (0, 1)))
    kept = sum(
        math.comb(n[0], a) * math.comb(n[1], b)
        for a in range(n[0] + 1)
        for b in range(n[1] + 1)
        if decrease(a, b) <= target * (1 + 1e-12)
    )
    by_hand = -26 * (math.log2(kept) - 200)
    assert row["extra_low"] == pytest.approx(by_hand, rel=1e-3, abs=1e-6)


@pytest.mark.slow
def test_lists_groups_and_persons(compas):
    (row,) = EXPERIMENT.run(point_of("rule list", rows=100, support=0.05, length=3), compas, Limits())
    assert row["extra_low"] > 0
    assert row["world_bits"] > 0
    (row,) = EXPERIMENT.run(point_of("groups", rows=100, depth=2, draws=300), compas, Limits())
    assert row["extra_low"] <= row["estimate"] <= row["extra_high"]
    assert row["removed_at_least"] <= row["extra_high"]
    few = point_of("persons", rows=60, depth=2, persons=4)
    (row,) = EXPERIMENT.run(few, compas, Limits())
    assert (row["members"], row["others"], row["members_impossible"]) == (4, 4, 0)
    assert row["values_asked"] == 4 * fits.SENSITIVE


def test_a_point_without_time_says_so(compas):
    point = point_of("tree", rows=300, depth=5, cap_seconds=0.0)
    (row,) = EXPERIMENT.run(point, compas, Limits())
    assert "time" in row["reason"]
    assert set(row) == {"used_rows", "reason"}


@pytest.fixture
def invented():
    """Return results of three trees and a list, one of them without a figure."""
    base = {"dataset": "compas27", "seed": 0, "reason": "", "accuracy": 0.7, "world_bits": 900.0, "leaf": 1}
    lines = []
    for depth, extra, leaves in ((1, 0.0, 0.0), (5, 20.0, 0.0), (10, 700.0, 600.0)):
        figures = {"counts_low": 600.0, "counts_high": 600.0, "extra_low": extra, "extra_high": extra}
        figures |= {"inner_low": extra - leaves, "inner_high": extra - leaves, "strict_low": math.inf}
        lines.append(base | figures | {
            "question": "tree", "criterion": "gini", "depth": depth, "used_rows": 100, "size": 2**depth,
            "strict_high": math.inf, "leaves_bits": leaves,
        })  # fmt: skip
    lines.append(
        lines[1] | {"question": "rule list", "support": 0.01, "length": 5, "extra_low": 3.0, "extra_high": 3.0}
    )
    lines.append({k: v for k, v in base.items() if k != "world_bits"} | {
        "question": "tree", "criterion": "gini", "depth": 9, "used_rows": 100, "reason": "time was up"})  # fmt: skip
    return pd.DataFrame(lines)


def test_tables_and_sentences_follow_from_the_results(invented):
    found = EXPERIMENT.findings(invented)
    names = [table.name for table in found.tables]
    assert names == ["bits", "limits"]
    table = found.tables[0].frame
    assert len(table) == 4
    assert set(table["strict"]) == {"inf"}
    assert table.loc[table["learner"] == "tree gini, depth 10", "per_row"].item() == 7.0
    text = " ".join(found.sentences)
    assert "Most per row: compas27, 100 rows, tree gini, depth 10: 700.000 bits (7.0000 per row)" in text
    assert "Of 3 trees the rule removes more bits than the counts in 1." in text
    assert "Leaves that were not split remove more than the splits in 1 of 3 trees." in text
    assert "Rule lists: at most 3.000 bits" in text
    assert found.figures[0].panels[0].lines[0].y == [0.0, 0.2, 7.0]


@pytest.mark.parametrize("question", ["tree", "rule list"])
def test_findings_of_incomplete_results(invented, question):
    (table, *_) = EXPERIMENT.findings(invented[invented["question"] == question]).tables
    assert len(table.frame) in {1, 3}
    only_missing = EXPERIMENT.findings(invented[invented["reason"] != ""])
    assert [table.name for table in only_missing.tables] == ["limits"]


def test_intervals_are_rounded_outwards():
    assert _interval(1.00041, 1.00049) == "1.000"
    assert _interval(1.2341, 1.2359) == "1.234 to 1.236"
    assert _interval(2.0, math.inf) == "2.000 to inf"
    assert _interval(math.nan, math.nan) == ""


@pytest.mark.slow
def test_it_is_known_by_name_and_drawn_from_real_data(data, tmp_path):
    folder = Path(data("compas27.csv.gz")).parent
    assert NAMES["learner_rule"] == "recon.experiments.learner_rule"
    few = [point_of("tree", rows=100, depth=depth) for depth in (1, 3)]
    outcome = reproduce("learner_rule", str(tmp_path), "quick", str(folder), points=few)
    assert outcome.complete
    assert len(outcome.results) == 2
    assert "COMPAS" in (tmp_path / "by-depth.svg").read_text()
    assert "compas27" in (tmp_path / "bits.md").read_text()
