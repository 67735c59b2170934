"""The experiment on private greedy rule lists: its figures recomputed by hand, and findings of what is there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from recon.experiments import ly2024 as fits
from recon.experiments.experiment import NAMES, Point, experiment
from recon.experiments.ly2024 import ENOUGH, RATES
from recon.experiments.running import reproduce
from solvers.foundation.limits import Limits

EXPERIMENT = experiment("ly2024")
SETTINGS = {"without": "", "width": 2, "support": 0.05, "max_length": 4}


@pytest.fixture(scope="module")
def frame():
    """Return 400 rows of five columns, the label mostly the first one."""
    rng = np.random.default_rng(1)
    bits = (rng.random((400, 5)) < [0.5, 0.4, 0.3, 0.5, 0.6]).astype(int)
    label = np.where(rng.random(400) < 0.85, bits[:, 0], 1 - bits[:, 0])
    return pd.DataFrame(np.column_stack([bits, label]), columns=["a", "b", "age", "agent", "c", "y"])


def point(learner, epsilon, first=0, seeds=3, **more):
    return Point("t", {**SETTINGS, "learner": learner, "epsilon": epsilon, "first_seed": first, "seeds": seeds, **more})


def by_hand(rules, frame):
    """Return which rule captures each row and what it predicts, in plain Python."""
    found = []
    for row in frame.to_dict("records"):
        k = next(k for k, (literals, _) in enumerate(rules) if all(row[name] == value for name, value in literals))
        counts = [max(0, c) for c in rules[k][1]]
        if not any(counts):
            counts = [sum(max(0, c[label]) for _, c in rules) for label in (0, 1)]
        found.append((k, int(counts[1] > counts[0])))
    return found


@pytest.mark.parametrize(("learner", "epsilon"), [(fits.GREEDY, None), ("pure", 1.0), ("smooth Laplace", 10.0)])
def test_accuracy_and_vulnerability_are_those_by_hand(frame, learner, epsilon):
    (row,) = fits.run(point(learner, epsilon, first=7, seeds=1), frame, Limits())
    order = np.random.default_rng(7).permutation(400)
    train, test = frame.iloc[order[:280]], frame.iloc[order[280:]]
    rules = None if epsilon is None else fits._public_rules(frame, 2, 0.05)
    fitted = fits.learner(point(learner, epsilon), rules, 7).fit(train.iloc[:, :-1], train["y"])
    assert row["rules"] == len(fitted.rules_) - 1
    tables, right = [], []
    for part in (train, test):
        hits = by_hand(fitted.rules_, part)
        right.append(sum(said == y for (_, said), y in zip(hits, part["y"], strict=True)) / len(part))
        tables.append([[sum(k == r and y == label for (k, _), y in zip(hits, part["y"], strict=True))
                        for label in (0, 1)] for r in range(len(fitted.rules_))])  # fmt: skip
    assert (row["train_accuracy"], row["accuracy"]) == pytest.approx(tuple(right), abs=1e-12)
    share = [np.array(t) / np.sum(t, axis=0) for t in tables]
    tau = np.abs(share[0] - share[1]).sum(axis=0) / 2
    assert row["v"] == pytest.approx(0.5 + 0.5 * tau @ (frame["y"].value_counts().sort_index() / 400), abs=1e-12)
    assert row["majority"] == max(frame["y"].mean(), 1 - frame["y"].mean())


@pytest.mark.parametrize("learner", [fits.GREEDY, *fits.MECHANISMS])
def test_chunks_of_seeds_give_what_single_seeds_give(frame, learner):
    epsilon = None if learner == fits.GREEDY else 2.0
    together = fits.run(point(learner, epsilon), frame, Limits())
    assert together == [row for k in range(3) for row in fits.run(point(learner, epsilon, k, 1), frame, Limits())]
    assert [row["seed"] for row in together] == [0, 1, 2]


def test_columns_go_by_prefix_and_public_rules_by_support(frame):
    assert list(fits.without(frame, "age, b").columns) == ["a", "c", "y"]
    assert list(fits.without(frame, "")) == list(frame)
    assert list(fits.without(frame, "y").columns) == list(frame)  # the label stays
    for rule in (rules := fits._public_rules(frame, 2, 0.3)):
        met = np.all([frame[name] == value for name, value in rule], axis=0).sum()
        assert 120 <= met <= 280
    assert (("a", 1),) in rules


def test_points_are_all_different_and_quick_ones_few():
    for size, most in (("full", 900), ("quick", 120)):
        keys = [one.key("ly2024", 1) for one in EXPERIMENT.points(size)]
        assert len(set(keys)) == len(keys) <= most
    seeds = [(one["first_seed"], one["seeds"]) for one in EXPERIMENT.points("full")
             if (one.dataset, one["without"], one["learner"]) == ("compas27", "", fits.GREEDY)
             and "part" not in one.parameters]  # fmt: skip
    assert sorted(s for first, n in seeds for s in range(first, first + n)) == list(range(100))


@pytest.fixture(scope="module")
def invented():
    """Return results with known differences: smooth Laplace .02 above all others at 10, .02 below them at 0.1."""
    lines = []
    for learner, epsilon in [(fits.GREEDY, None)] + [(m, e) for m in fits.MECHANISMS for e in (0.1, 10.0)]:
        for seed in range(ENOUGH):
            extra = {0.1: -0.02, 10.0: 0.02}.get(epsilon, 0) if learner == "smooth Laplace" else 0
            lines.append({
                "dataset": "compas27", "without": "", "learner": learner, "epsilon": epsilon, "seed": seed,
                "accuracy": 0.6 + extra + seed / 1000 + (seed % 2) / 1e4 * (learner == "pure"), "train_accuracy": 0.6,
                "v": 0.51, "v_authors": 0.505, "rules": 4, "candidates": 9, "standing": "claimed", "majority": 0.52,
            })  # fmt: skip
    return pd.DataFrame(lines)


@pytest.mark.slow
def test_sentences_follow_from_the_results(invented):
    found = fits.EXPERIMENT.findings(invented)
    claim = next(s for s in found.sentences if s.startswith("COMPAS, all columns, smooth Laplace: "))
    assert "more accurate than every mechanism of global sensitivity at epsilon 10;" in claim
    assert "less accurate at 0.1 (than global Laplace and global Gauss and exponential and noisy counts)" in claim
    cauchy = next(s for s in found.sentences if s.startswith("COMPAS, all columns, smooth Cauchy: "))
    assert "not clearly apart from the best of them at 0.1, 10 (" in cauchy
    pure = next(s for s in found.sentences if ": pure, " in s)
    assert "than smooth Laplace at epsilon 0.1, less at 10" in pure
    table = found.tables[0].frame.set_index(["learner", "epsilon"])
    error = invented.loc[invented["learner"] == "exponential", "accuracy"].iloc[:ENOUGH].std() / ENOUGH**0.5
    assert table.loc[("exponential", 10.0), "error"] == pytest.approx(error)
    assert table.loc[("smooth Laplace", 10.0), "published"] == 0.658
    assert table.loc[("smooth Laplace", 0.1), "trial"] == 0.573
    figures = {figure.name: figure for figure in found.figures}
    assert set(figures) == {"noise-amplitude", "accuracy", "accuracy-repaired"} < set(EXPERIMENT.figures)
    greedy = next(line for line in figures["accuracy"].panels[0].lines if line.label == fits.GREEDY)
    assert greedy.style == "dashed"
    assert greedy.y == pytest.approx([0.6045, 0.6045])


def test_noise_of_smooth_mechanisms_falls_with_the_rows_and_is_what_lists_are_drawn_with():
    """Figure 1 of the paper, from the program's own scales: Laplace by hand, global noise the same at every node."""
    figure = fits.EXPERIMENT.findings(pd.DataFrame(columns=["dataset"])).figures[0]
    assert [panel.title for panel in figure.panels][1] == "COMPAS, 5,049 rows, epsilon 1"
    scales = {line.label: dict(zip(line.x, line.y, strict=True)) for line in figure.panels[1].lines}
    each, delta = 1 / 14, 1 / 5049**2 / 4
    beta = each / (2 * np.log(2 / delta))
    for rows in (300, 1000, 5049):
        largest = max(np.exp(-beta * k) * 2 * (n := max(252, rows - k)) / (n + 1) ** 2 for k in range(rows - 251))
        assert scales["smooth Laplace"][rows] == pytest.approx(2 * largest / each, rel=1e-9)
    assert set(scales["global Laplace"].values()) == {0.5 * 9}
    assert scales["smooth Cauchy"][300] > scales["smooth Laplace"][300] > scales["smooth Laplace"][5049]


@pytest.mark.slow
def test_attacks_on_a_list_that_remembers_nothing_find_nothing(frame):
    point = Point("compas27", {"without": "", "learner": fits.GREEDY, "epsilon": None, "width": 1, "support": 0.05,
                               "max_length": 5, "part": "attack", "first_seed": 0, "seeds": 2})  # fmt: skip
    found = pd.DataFrame(fits.run(point, frame, Limits()))
    assert sorted(found["seed"].unique()) == [0, 1]
    for _, one in found.groupby("seed"):
        assert one["fpr"].tolist() == list(RATES)
        assert one["tpr"].is_monotonic_increasing
        assert one["tpr"].iloc[-1] == 1
        assert 0.3 < one["auc"].iloc[0] < 0.7
    drawn = fits.EXPERIMENT.findings(found.assign(dataset="compas27", **point.parameters))
    assert [figure.name for figure in drawn.figures] == ["noise-amplitude", "membership"]
    assert "membership inference, AUC: GreedyRL" in drawn.sentences[-1]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kept", [["GreedyRL"], ["smooth Laplace"], ["pure", "smooth Cauchy"]])
@pytest.mark.parametrize("seeds", [1, ENOUGH])
def test_findings_of_incomplete_results(invented, kept, seeds):
    some = invented[invented["learner"].isin(kept) & (invented["seed"] < seeds)]
    found = fits.EXPERIMENT.findings(some)
    assert len(found.tables[0].frame) == some.groupby(["learner", "epsilon"], dropna=False).ngroups
    assert not any("nan" in sentence and seeds > 1 for sentence in found.sentences)


@pytest.mark.slow
def test_it_is_known_by_name_and_drawn_from_real_data(data, tmp_path):
    folder = Path(data("german-credit.txt.gz")).parent
    assert NAMES["ly2024"] == "recon.experiments.ly2024"
    few = [p for p in EXPERIMENT.points("quick") if p.dataset == "german-credit"][:2]
    outcome = reproduce("ly2024", str(tmp_path), "quick", str(folder), points=few)
    assert outcome.complete
    assert set(outcome.results["majority"]) == {0.7}
    assert (tmp_path / "accuracy.svg").read_text().count("German credit") >= 1
