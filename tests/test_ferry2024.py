"""The SaTML 2024 figures: the authors' own numbers, the paper's formula written out, and what is drawn of parts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from recon.experiments.datasets import load
from recon.experiments.ferry2024.experiment import TIES, fitted, points
from recon.experiments.ferry2024.findings import PUBLISHED, findings
from recon.experiments.ferry2024.fits import run
from recon.experiments.running import reproduce
from recon.experiments.splits import split
from recon.experiments.store import together
from solvers.foundation.limits import Limits


@pytest.fixture(scope="module")
def compas():
    from conftest import DATA

    if not (DATA / "compas27.csv.gz").exists():
        pytest.skip("no data")  # test_experiments.py fails for want of it
    return load("compas27", str(DATA))[0]


def rows(compas, learner, support, seed):
    return pd.DataFrame(run(fitted("compas27", learner, support, seed), compas, Limits())).set_index("limit")


@pytest.mark.parametrize("support", [0.01, 0.05])
def test_greedy_trees_leak_what_the_authors_published(compas, support):
    found = pd.concat([rows(compas, "greedy trees", support, seed) for seed in range(5)])
    means = found["dist_g"].groupby("limit").mean()
    published = [p for p in PUBLISHED if p.learner == "greedy trees" and p.support == support]
    assert published
    for one in published:
        assert abs(means[one.depth] - one.dist_g) < 1e-4


def test_the_ratio_is_the_papers_formula(compas):
    """Rows of a leaf are free in the columns that no test of its path asks for; who is in which leaf is given."""
    some = split("compas27", compas, 3)
    tree = DecisionTreeClassifier(max_depth=6, min_samples_leaf=int(0.02 * some.rows), random_state=4)
    tree.fit(some.x, some.y)
    paths = tree.decision_path(some.x).toarray().astype(bool)
    bits = 0
    for leaf in np.unique(tree.apply(some.x)):
        inside = paths[:, leaf]
        tested = {int(tree.tree_.feature[k]) for k in np.flatnonzero(paths[inside][0]) if tree.tree_.feature[k] >= 0}
        bits += int(inside.sum()) * (some.x.shape[1] - len(tested))
    found = rows(compas, "greedy trees", 0.02, 3).loc[6]
    assert found["dist_g"] == pytest.approx(bits / some.x.size, abs=1e-12)
    assert found["errors"] == (tree.predict(some.x) != some.y).sum()
    assert found["test_accuracy"] == tree.score(some.x_test, some.y_test)


@pytest.mark.parametrize("learner", ["greedy trees", "greedy rule lists", "optimal rule lists"])
def test_what_rows_leave_open_adds_up(compas, learner):
    found = rows(compas, learner, 0.05, 1)
    assert list(found.index) == list(range(1, 11))
    total = split("compas27", compas, 1).rows
    for _, row in found.iterrows():
        leaks = np.array(json.loads(row["leaks"]))
        assert leaks[:, 0].sum() == total
        assert (leaks[:, 0] >= int(0.05 * total)).sum() >= len(leaks) - 1  # the default rule needs no support
        assert (leaks[:, 0] * leaks[:, 1]).sum() / total == pytest.approx(row["dist_g"], abs=1e-9)


def test_optimal_lists_are_proved_and_no_worse_than_greedy_ones(compas):
    optimal, greedy = (rows(compas, f"{kind} rule lists", 0.01, 2) for kind in ("optimal", "greedy"))
    assert optimal["certified"].all()
    assert (optimal["errors"] == optimal["bound"]).all()
    assert (optimal["errors"] <= greedy["errors"]).all()
    assert (optimal["errors"] < greedy["errors"]).any()
    assert optimal["errors"].is_monotonic_decreasing


def test_a_time_cap_leaves_a_bound_and_no_claim(compas):
    point = fitted("compas27", "optimal trees", 0.01, 0)
    short = type(point)(point.dataset, {**point.parameters, "cap_seconds": 0.05}, point.cost)
    found = pd.DataFrame(run(short, compas, Limits()))
    deep = found[found["limit"] == 10].iloc[0]
    assert not deep["certified"]
    assert deep["bound"] < deep["errors"]
    drawn = findings(together([]) if found.empty else stored([(short, found)]))
    lines = [line for f in drawn.figures for p in f.panels for line in p.lines if line.hollow]
    assert any(any(line.hollow) for line in lines)
    assert any("not proved" in s or "hollow" in s for s in [*drawn.sentences, *(f.about for f in drawn.figures)])


def stored(found):
    """Return results as they are put together from points."""
    return pd.concat(
        [frame.assign(dataset=p.dataset, **dict(p.parameters)) for p, frame in found], ignore_index=True
    )  # fmt: skip


def test_points_are_what_the_paper_ran_and_quick_ones_are_among_them():
    full, quick = points("full"), points("quick")
    keys = {p.key("ferry2024", 1) for p in full}
    assert len(keys) == len(full) == 2 * 4 * 5 * 5 + len(TIES) * 5 * 2
    assert {p.key("ferry2024", 1) for p in quick} < keys
    assert {p["support"] for p in full} == {0.01, 0.02, 0.03, 0.04, 0.05}
    assert {p["seed"] for p in full} == set(range(5))


def test_one_point_is_drawn_and_the_rest_named_as_left(compas, tmp_path, monkeypatch):
    from conftest import DATA

    some = [fitted("compas27", "greedy rule lists", 0.01, seed) for seed in (0, 1)]
    outcome = reproduce("ferry2024", str(tmp_path), data=str(DATA), points=some[:1])
    assert outcome.complete
    assert {f.name for f in outcome.findings.figures} == {"figure-4", "figure-5", "figure-6", "figure-7"}
    assert Path(tmp_path / "figure-4.svg").stat().st_size < 100_000
    again = reproduce("ferry2024", str(tmp_path), data=str(DATA), points=some)
    assert (again.before, again.now) == (1, 1)
    assert set(again.results["seed"]) == {0, 1}


def test_ties_alone_are_drawn_without_a_figure():
    tied = {"learner": "ties", "support": 0.01, "seed": 0, "depth": 5, "minimal": True, "limit": 5, "certified": True}
    line = {"dataset": "compas27", "errors": 1815, "trees": "6784", "least_dist_g": 0.82, "most_dist_g": 0.84} | tied
    drawn = findings(pd.DataFrame([line]))
    assert not drawn.figures
    assert {table.name for table in drawn.tables} == {"published", "means"}
