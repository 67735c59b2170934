"""The SaTML 2024 figures: the authors' own numbers, the paper's formula written out, and what is drawn of parts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from recon.experiments.ferry2024 import EXPERIMENT, run
from recon.experiments.fits import train_test_sample
from recon.experiments.running import _joined_rows, load, reproduce
from solvers.foundation.limits import Limits

PUBLISHED = list(EXPERIMENT.published("dist_g").itertuples(index=False))


@pytest.fixture(scope="module")
def compas():
    from conftest import DATA

    if not (DATA / "compas27.csv.gz").exists():
        pytest.skip("no data")  # test_experiments.py fails for want of it
    return load("compas27", str(DATA))[0]


def _fitted(dataset, learner, support, seed):
    """Return the point of one learner."""
    wanted = (dataset, learner, support, seed)
    (found,) = (p for p in EXPERIMENT.points("full") if (p.dataset, p["learner"], p["support"], p["seed"]) == wanted)
    return found


def rows(compas, learner, support, seed):
    return pd.DataFrame(run(_fitted("compas27", learner, support, seed), compas, Limits())).set_index("limit")


@pytest.mark.slow
@pytest.mark.parametrize("support", [0.01, 0.05])
def test_greedy_trees_leak_what_the_authors_published(compas, support):
    found = pd.concat([rows(compas, "greedy trees", support, seed) for seed in range(5)])
    means = found["dist_g"].groupby("limit").mean()
    published = [p for p in PUBLISHED if p.learner == "greedy trees" and p.support == support]
    assert published
    for one in published:
        assert abs(means[one.limit] - one.dist_g) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["greedy", "optimal"])
def test_lists_of_adult_leak_what_the_authors_published(kind):
    """On their rows: ours are theirs (GreedyRL), or theirs lie within the ties at lengths 3 and 5 (CORELS).

    At 8 and 10 what CORELS returned tells more than any list with the fewest errors. Optimal lists never leave more
    open than greedy ones of the same length, as the paper says.
    """
    from conftest import DATA

    if not (DATA / "adult24.csv.gz").exists():
        pytest.skip("no data")  # test_experiments.py fails for want of it
    adult = load("adult24", str(DATA))[0]
    found = pd.concat([pd.DataFrame(run(_fitted("adult24", f"{kind} rule lists", 0.01, seed), adult, Limits()))
                       for seed in range(5)])  # fmt: skip
    means = found.groupby("limit").mean(numeric_only=True)
    published = {p.limit: p.dist_g for p in PUBLISHED if (p.dataset, p.learner) == ("adult24", f"{kind} rule lists")}
    assert sorted(published) == [3, 5, 8, 10]
    if kind == "greedy":
        assert means.loc[list(published), "dist_g"].round(4).to_dict() == published
        return
    assert (found["least_dist_g"] <= found["dist_g"] + 1e-12).all()
    assert (found["dist_g"] <= found["most_dist_g"] + 1e-12).all()
    inside = {k: means.loc[k, "least_dist_g"] - 5e-5 <= v <= means.loc[k, "most_dist_g"] for k, v in published.items()}
    assert inside == {3: True, 5: True, 8: False, 10: False}
    greedy = {p.limit: p.dist_g for p in PUBLISHED if (p.dataset, p.learner) == ("adult24", "greedy rule lists")}
    assert all(means.loc[k, "dist_g"] < greedy[k] for k in greedy)


@pytest.mark.slow
def test_ties_of_optimal_lists_of_the_first_split_of_compas(compas):
    three = rows(compas, "optimal rule lists", 0.01, 0).loc[3]
    assert (three["errors"], three["tied"]) == (1937, "24")
    assert (three["least_dist_g"], three["most_dist_g"]) == pytest.approx((0.9008, 0.9166), abs=5e-5)
    assert three["most_dist_g"] == pytest.approx(0.91663, abs=5e-6)  # the list that CORELS returns


@pytest.mark.slow
def test_the_ratio_is_the_papers_formula(compas):
    """Rows of a leaf are free in the columns that no test of its path asks for; who is in which leaf is given."""
    some = train_test_sample("compas27", compas, 3)
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


@pytest.mark.sampled(1)
@pytest.mark.parametrize("learner", ["greedy trees", "greedy rule lists", "optimal rule lists"])
def test_what_rows_leave_open_adds_up(compas, learner):
    found = rows(compas, learner, 0.05, 1)
    assert list(found.index) == list(range(1, 11))
    total = train_test_sample("compas27", compas, 1).rows
    for _, row in found.iterrows():
        leaks = np.array(json.loads(row["leaks"]))
        assert leaks[:, 0].sum() == total
        assert (leaks[:, 0] >= int(0.05 * total)).sum() >= len(leaks) - 1  # the default rule needs no support
        assert (leaks[:, 0] * leaks[:, 1]).sum() / total == pytest.approx(row["dist_g"], abs=1e-9)


@pytest.mark.slow
def test_optimal_lists_are_proved_and_no_worse_than_greedy_ones(compas):
    optimal, greedy = (rows(compas, f"{kind} rule lists", 0.01, 2) for kind in ("optimal", "greedy"))
    assert optimal["certified"].all()
    assert (optimal["errors"] == optimal["bound"]).all()
    assert (optimal["errors"] <= greedy["errors"]).all()
    assert (optimal["errors"] < greedy["errors"]).any()
    assert optimal["errors"].is_monotonic_decreasing


@pytest.mark.slow
def test_a_time_cap_leaves_a_bound_and_no_claim(compas):
    point = _fitted("compas27", "optimal trees", 0.01, 0)
    short = type(point)(point.dataset, {**point.parameters, "cap_seconds": 0.05}, point.cost)
    found = pd.DataFrame(run(short, compas, Limits()))
    deep = found[found["limit"] == 10].iloc[0]
    assert not deep["certified"]
    assert deep["bound"] < deep["errors"]
    drawn = EXPERIMENT.findings(_joined_rows([]) if found.empty else stored([(short, found)]))
    lines = [line for f in drawn.figures for p in f.panels for line in p.lines if line.hollow]
    assert any(any(line.hollow) for line in lines)
    assert any("not proved" in s or "hollow" in s for s in [*drawn.sentences, *(f.about for f in drawn.figures)])


def stored(found):
    """Return results as they are put together from points."""
    return pd.concat(
        [frame.assign(dataset=p.dataset, **dict(p.parameters)) for p, frame in found], ignore_index=True
    )  # fmt: skip


def test_points_are_what_the_paper_ran_and_quick_ones_are_among_them():
    full, quick = EXPERIMENT.points("full"), EXPERIMENT.points("quick")
    keys = {p.key("ferry2024", 1) for p in full}
    assert len(keys) == len(full) == 2 * 4 * 5 * 5 + 3 * 5 * 2
    assert {p.key("ferry2024", 1) for p in quick} < keys
    assert {p["support"] for p in full} == {0.01, 0.02, 0.03, 0.04, 0.05}
    assert {p["seed"] for p in full} == set(range(5))


@pytest.mark.slow
def test_one_point_is_drawn_and_the_rest_named_as_left(compas, tmp_path, monkeypatch):
    from conftest import DATA

    some = [_fitted("compas27", "greedy rule lists", 0.01, seed) for seed in (0, 1)]
    outcome = reproduce("ferry2024", str(tmp_path), data=str(DATA), points=some[:1])
    assert outcome.complete
    drawn = {f.name: f for f in outcome.findings.figures}
    assert set(drawn) == {f"figure-{name}" for name in ("3a", "3b", "4", "6a", "6b", "7")} < set(EXPERIMENT.figures)
    assert Path(tmp_path / "figure-3b.svg").stat().st_size < 100_000
    assert "COMPAS, 5,771 rows" in drawn["figure-3a"].panels[0].title
    for line in drawn["figure-4"].panels[0].lines:
        assert (line.y[0], line.y[-1], line.x[0]) == (0.0, 1.0, line.x[1])
    joined = drawn["figure-3b"].panels[0].lines[0]  # by the limit, not by accuracy
    assert list(joined.y) == sorted(joined.y, reverse=True)
    assert list(joined.x) == outcome.results.sort_values("limit")["test_accuracy"].tolist()
    again = reproduce("ferry2024", str(tmp_path), data=str(DATA), points=some)
    assert (again.before, again.now) == (1, 1)
    assert set(again.results["seed"]) == {0, 1}


def test_ties_alone_are_drawn_without_a_figure():
    tied = {"learner": "ties", "support": 0.01, "seed": 0, "depth": 5, "minimal": True, "limit": 5, "certified": True}
    line = {"dataset": "compas27", "errors": 1815, "trees": "6784", "least_dist_g": 0.82, "most_dist_g": 0.84} | tied
    drawn = EXPERIMENT.findings(pd.DataFrame([line]))
    assert not drawn.figures
    assert {table.name for table in drawn.tables} == {"published", "compared", "unequal", "means"}


def test_a_figure_has_its_points_and_no_others():
    every = EXPERIMENT.points("full")
    lists = EXPERIMENT.selected(every, EXPERIMENT.figure_names(["3a"]), ["compas27"], "greedy")
    assert {(p.dataset, p["learner"]) for p in lists} == {("compas27", "greedy rule lists")}
    assert len(lists) == 5 * 5
    assert EXPERIMENT.figure_names(["3", "figure-4"]) == ["figure-3a", "figure-3b", "figure-4"]
    assert {p["learner"] for p in EXPERIMENT.selected(every, ["figure-2b"], [], "")} == {
        "greedy trees",
        "optimal trees",
    }
    with pytest.raises(KeyError):
        EXPERIMENT.figure_names(["9"])
