"""The experiment on correlation inference: small points of every part, tables by hand, findings of what is there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from recon.attacks.correlation.model_less import bin_of, decided, exact_accuracy, overlaps, pair_interval
from recon.experiments import correlation as attacked
from recon.experiments import correlation as basics
from recon.experiments import correlation as published
from recon.experiments.correlation import PARTS
from recon.experiments.experiment import NAMES, Point, experiment
from recon.experiments.running import reproduce, svg
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits

EXPERIMENT = experiment("correlation")
SMALL = (
    {"part": "model-less, exact", "bins": 3, "side": 200},
    {"part": "model-less, cells", "matrices": 60, "every": 25, "seed": 0},
    {"part": "model-less, variables", "n": 3, "targets": 500, "seed": 0},
    {"part": "model-less, variables", "n": 6, "targets": 500, "seed": 0},
    {"part": "linear intervals", "n": 3, "targets": 12, "seed": 0},
    {"part": "linear intervals", "n": 4, "targets": 12, "seed": 0},
    {"part": "marginals", "rows": 4000, "seed": 0},
    {"part": "grid", "kind": "logistic", "shadows": 60, "further": 20, "first_seed": 0, "seeds": 3},
    {"part": "grid", "kind": "network", "shadows": 20, "further": 10, "first_seed": 0, "seeds": 2},
    {"part": "targets", "kind": "logistic", "n": 3, "shadows": 60, "first_seed": 0, "seeds": 4},
    {"part": "targets", "kind": "logistic", "n": 6, "shadows": 60, "first_seed": 0, "seeds": 3},
    {"part": "trainers", "shadows": 12, "first_seed": 0, "seeds": 1},
    {"part": "targets", "kind": "network", "n": 3, "shadows": 20, "first_seed": 0, "seeds": 2},
)


@pytest.fixture(scope="module")
def results():
    """Return the rows of small points of every part, as the store gives them."""
    lines = []
    for parameters in SMALL:
        point = Point("", parameters)
        lines += [{"dataset": "", **parameters, **row} for row in EXPERIMENT.run(point, None, Limits())]
    return pd.DataFrame(lines)


def table_of(results, name):
    """Return a table of the findings."""
    return next(table.frame for table in EXPERIMENT.findings(results).tables if table.name == name)


@pytest.mark.slow
def test_every_part_gives_findings(results):
    found = EXPERIMENT.findings(results)
    assert {one["part"] for one in SMALL} == set(PARTS)
    names = {table.name for table in found.tables}
    more = {"model-less", "model-less-by-variables", "linear-intervals", "marginals", "trainers"}
    assert names == {"grid", "by-variables", "by-correlation"} | more
    assert {figure.name for figure in found.figures} == set(EXPERIMENT.figures)
    assert set(EXPERIMENT.figures) == {
        "grid",
        "by-variables",
        "by-correlation",
        "linear-intervals",
        "model-less",
    }
    for figure in found.figures:
        assert svg(figure).startswith("<?xml")
    for accuracy in published.THEIRS["published"]:
        assert sum(f"published {accuracy:.3f}" in text for text in found.sentences) >= 1
    assert any("0.5630" in text and "published 0.560" in text for text in found.sentences)
    assert found.sentences[-1] == published.DECLARED["NOT_RUN"]
    assert not any("nan" in text for text in found.sentences)


@pytest.mark.sampled(0, 3)
@pytest.mark.parametrize("left", sorted(PARTS))
def test_findings_of_one_part_alone_and_of_all_others(results, left):
    for some in (results[results["part"] == left], results[results["part"] != left]):
        found = EXPERIMENT.findings(some.reset_index(drop=True))
        assert found.tables
        assert all(len(table.frame) for table in found.tables)


@pytest.mark.slow
def test_the_table_of_cells_is_the_means_by_hand(results):
    rows = results[(results["part"] == "grid") & (results["access"] == "weights") & (results["meta"] == "regression")]
    table = table_of(results, "grid").set_index(["kind", "access", "meta"])
    for kind, count in (("logistic", 3), ("network", 2)):
        some = rows.loc[rows["kind"] == kind, "accuracy"].to_numpy()
        line = table.loc[(kind, "weights", "regression")]
        assert len(some) == line["cells"] == count
        assert line["accuracy"] == pytest.approx(some.mean())
        assert line["standard_error"] == pytest.approx(some.std(ddof=1) / count**0.5)
    assert table.loc[("logistic", "both", "network"), "published"] == 0.956
    assert np.isnan(table.loc[("logistic", "closed form", "none"), "published"])


@pytest.mark.slow
def test_the_table_by_variables_is_the_means_by_hand(results):
    rows = results[(results["part"] == "targets") & (results["n"] == 6) & (results["access"] == "predictions")]
    (line,) = [one for one in table_of(results, "by-variables").to_dict("records")
               if one["n"] == 6 and one["access"] == "predictions"]  # fmt: skip
    right = (rows["model_based"] == rows["truth"]).to_numpy(dtype=float).reshape(3, 10)
    assert line["targets"] == 3
    assert line["pairs"] == 10
    assert line["accuracy"] == pytest.approx(right.mean())
    assert line["std_of_pairs"] == pytest.approx(right.mean(axis=0).std())
    assert line["standard_error"] == pytest.approx(right.mean(axis=1).std(ddof=1) / 3**0.5)
    assert line["published"] == 0.6
    assert line["closed_form"] == pytest.approx((rows["closed_form"] == rows["truth"]).mean())


@pytest.mark.slow
def test_rows_of_targets_are_what_the_constraints_say(results):
    rows = results[(results["part"] == "targets")]
    low, high = pair_interval(rows["one"].to_numpy(), rows["other"].to_numpy())
    assert (rows["model_less"].to_numpy() == decided(low, high)).all()
    taken = np.where(rows["trusted"].astype(bool), rows["model_based"], rows["model_less"])
    assert (rows["stacked"].to_numpy() == taken).all()
    possible = overlaps(low, high)[np.arange(len(rows)), rows["truth"].to_numpy(dtype=int)]
    assert (possible > 0).all()


@pytest.mark.slow
def test_cells_are_the_same_for_all_kinds_and_lie_evenly(results):
    cells = results[results["part"] == "grid"].groupby(["cell", "kind"])["one"].first().unstack()
    both = cells.dropna()
    assert len(both) == 2
    assert (both["logistic"] == both["network"]).all()
    middle = np.array([attacked._corner(k) for k in range(100)]) + 0.005
    assert np.abs(middle).max() < 1
    assert len(np.unique(middle, axis=0)) == 100
    low, high = pair_interval(middle[:, 0], middle[:, 1])
    assert abs((overlaps(low, high).max(axis=1) / (high - low)).mean() - exact_accuracy(side=300)) < 0.01


@pytest.mark.slow
def test_the_course_by_constraints_is_exact(results):
    rows = results[(results["part"] == "model-less, exact") & (results["what"] == "at")]
    rng = np.random.default_rng(0)
    for line in rows.iloc[::31].to_dict("records"):
        low, high = pair_interval(line["one"], line["other"])
        truth = rng.uniform(low, high, 20_000)
        assert abs((bin_of(truth) == decided(low, high)).mean() - line["accuracy"]) < 0.02


@pytest.mark.slow
def test_exact_weights_hold_the_truth_and_narrow_the_interval(results):
    table = table_of(results, "linear-intervals").set_index("n")
    assert (table["held"] == 1).all()
    assert table.loc[3, "width"] < 1e-3 < table.loc[4, "width"] < table.loc[4, "width_without"]
    assert table.loc[3, "right"] == 1


@pytest.mark.slow
def test_marginals_are_met(results):
    table = table_of(results, "marginals")
    assert set(table["marginal"]) == set(basics.MARGINALS)
    assert (table["measured"] - table["wanted"]).abs().max() < 0.06
    normal = table[table["marginal"] == "standard normal"]
    assert (normal["unadjusted"] - normal["wanted"]).abs().max() < 3e-3


@pytest.mark.slow
def test_trainers_are_compared_on_the_same_cells(results):
    table = table_of(results, "trainers")
    rows = results[results["part"] == "trainers"]
    assert table["trainer"].tolist() == list(dict.fromkeys(rows["trainer"]))
    assert len(table) == 3
    assert table["accuracy"].tolist() == pytest.approx(rows["accuracy"].tolist())


def test_quick_points_are_some_of_all_and_no_point_is_long():
    version = EXPERIMENT.version
    full = EXPERIMENT.points("full")
    keys = [point.key("correlation", version) for point in full]
    assert len(set(keys)) == len(keys)
    assert {point.key("correlation", version) for point in EXPERIMENT.points("quick")} < set(keys)
    assert max(point.cost for point in full) <= 60
    assert sum(point["seeds"] for point in full if point["part"] == "grid" and point["kind"] == "logistic") >= 60
    assert sum(point["seeds"] for point in full if point["part"] == "grid" and point["kind"] == "network") >= 10
    for n in range(3, 11):
        some = [p for p in full if p["part"] == "targets" and p["kind"] == "logistic" and p["n"] == n]
        assert sum(point["seeds"] for point in some) >= 100
    assert NAMES["correlation"] == "recon.experiments.correlation"


@pytest.mark.slow
def test_points_are_stored_and_drawn(tmp_path):
    some = [Point("", parameters) for parameters in (SMALL[0], SMALL[2], SMALL[9])]
    outcome = reproduce("correlation", str(tmp_path), points=some)
    assert outcome.complete
    assert (tmp_path / "model-less.svg").is_file()
    again = reproduce("correlation", str(tmp_path), points=some)
    assert again.before == 3
    assert again.findings.sentences == outcome.findings.sentences


def test_time_that_is_up_ends_points():
    for parameters in (SMALL[3], SMALL[4], SMALL[7], SMALL[11], SMALL[12]):
        with pytest.raises(Inconclusive, match="time was up"):
            EXPERIMENT.run(Point("", parameters), None, Limits(seconds=0.0))
