"""Forests and their rows back, exact and noisy: errors, numbers of worlds and likeliest data against brute force."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from extras import extra

from recon.experiments import draft2024 as exact
from recon.experiments import draft2024 as forests
from recon.experiments import draft2024 as rows
from recon.experiments import draftdp2025 as noisy
from recon.experiments import draftdp2025 as private
from recon.experiments.drawing import Panel, PanelFigure, PlotLine, svg
from recon.experiments.experiment import Point
from recon.experiments.running import load
from solvers.foundation.limits import Limits

TINY = "tiny"
ROWS = list(product((0, 1), repeat=3))  # all that three binary columns can be


@pytest.fixture
def tiny(monkeypatch):
    """Return a table of three columns and a label in which every row occurs; its columns are no groups."""
    extra("sklearn")
    monkeypatch.setitem(rows.GROUPS, TINY, ())
    lines = [(*one, label) for one in ROWS for label in (0, 1)]
    return pd.DataFrame(lines, columns=["a", "b", "c", "y"])


def forest(bags, trees=2, depth=None, seed=0, n=4):
    named = {"bags": bags, "rows": n, "trees": trees, "depth": depth, "seed": seed, "cap_seconds": 30.0}
    return Point(TINY, named)


@pytest.mark.parametrize("seed", range(5))
def test_the_error_is_that_of_the_best_of_all_matchings(seed):
    dice = np.random.default_rng(seed)
    truth, guess = dice.integers(0, 2, (2, 5, 4))
    best = min((truth != guess[list(order)]).mean() for order in permutations(range(5)))
    assert rows.error(truth, guess) == pytest.approx(best)
    assert rows.error(truth, truth[::-1]) == 0
    equal = max(sum((truth[i] == guess[k]).all() for i, k in enumerate(order)) for order in permutations(range(5)))
    assert rows.distances(truth, guess)["rows_right"] == equal / 5


def test_guesses_without_the_release_keep_to_the_domain():
    dice = np.random.default_rng(0)
    blocks = rows._blocks("compas14", 14)
    assert sorted(j for block in blocks for j in block) == list(range(14))
    drawn = rows._uniform(blocks, 400, dice)
    assert (drawn[:, 1:6].sum(axis=1) == 1).all()
    assert (drawn[:, 9:13].sum(axis=1) == 1).all()
    assert abs(drawn[:, 0].mean() - 1 / 2) < 0.1
    assert abs(drawn[:, 3].mean() - 1 / 5) < 0.1
    again = rows._shuffled(blocks, drawn, dice)
    assert (again.sum(axis=0) == drawn.sum(axis=0)).all()
    assert (again[:, 1:6].sum(axis=1) == 1).all()
    assert not (again == drawn).all()


def leaf_counts(tree, table, labels, times):
    """Return per (leaf, class) the weighted rows, and per leaf the different ones, of a table."""
    leaves = tree.apply(table.astype(np.float32))
    weighted = {(v, k): int(times[(leaves == v) & (labels == k)].sum()) for v in set(leaves) for k in (0, 1)}
    return {key: n for key, n in weighted.items() if n}, {v: int((times[leaves == v] > 0).sum()) for v in set(leaves)}


def all_tables(ordered, n=4):
    kinds = [(*one, label) for one in ROWS for label in (0, 1)]
    found = product(kinds, repeat=n) if ordered else combinations_with_replacement(kinds, n)
    return (np.array(one) for one in found)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("bags", "depth", "seed"), [("none", None, 1), ("none", 1, 2), ("known", None, 3)])
def test_a_point_counts_the_worlds_that_brute_force_counts(tiny, bags, depth, seed):
    n = 4 if bags == "none" else 3
    point = forest(bags, depth=depth, seed=seed, n=n)
    (found,) = forests.run(point, tiny, Limits())
    some = rows.training_sample(TINY, tiny, n, seed)
    model = forests._fitted(some, 2, depth, bags != "none", seed)
    times = [np.ones(n, dtype=int)] * 2
    if bags == "known":
        times = [np.bincount(chosen, minlength=n) for chosen in model.estimators_samples_]
    labels = some.y.to_numpy()
    trees = [one.tree_ for one in model.estimators_]
    wanted = [leaf_counts(tree, some.truth, labels, t) for tree, t in zip(trees, times, strict=True)]
    for (_, different), tree in zip(wanted, trees, strict=True):  # what scikit-learn stores
        assert {v: k for v, k in different.items() if k} == {
            v: tree.n_node_samples[v] for v in different if different[v]
        }
    worlds = [
        table for table in all_tables(bags == "known", n)
        if all(
            leaf_counts(tree, table[:, :3], table[:, 3], t)[0] == one[0]
            for tree, t, one in zip(trees, times, wanted, strict=True)
        )
    ]  # fmt: skip
    assert found["count"] == "exact"
    assert 2 ** found["log2_low"] == pytest.approx(len(worlds))
    assert found["log2_high"] == found["log2_low"]
    assert found["unique"] == (len(worlds) == 1)
    errors = [rows.error(some.truth, table[:, :3]) for table in worlds]
    assert min(abs(found["error"] - one) for one in errors) < 1e-12
    if bags == "none":
        least = None
        for table in worlds:
            seen = pd.Series(list(map(tuple, table.tolist()))).value_counts()
            least = (
                {key: min(least[key], k) for key, k in seen.items() if key in least}
                if least is not None
                else dict(seen)
            )
        truth = {(*x, k) for x, k in zip(some.truth.tolist(), labels.tolist(), strict=True)}
        assert found["certain"] == sum(k for key, k in least.items() if key in truth) / n


@pytest.mark.slow
def test_bags_taken_out_leave_more_worlds(tiny):
    counts = {}
    for bags in ("known", "unknown"):
        (found,) = forests.run(forest(bags, seed=3, n=3), tiny, Limits())
        counts[bags] = found["log2_low"], found["log2_high"]
    assert counts["known"][0] - math.log2(math.factorial(3)) <= counts["unknown"][1]
    assert counts["unknown"][1] <= 3 * 4  # never more than all tables with three rows


@pytest.mark.slow
def test_the_forests_are_those_of_the_authors(data):
    extra("sklearn")
    frame, _ = load("compas14", str(Path(data("compas14.csv.gz")).parent))
    named = {"bags": "none", "rows": 100, "trees": 10, "depth": None, "cap_seconds": 4.0}
    points = [Point("compas14", {**named, "seed": seed}) for seed in (0, 1)]
    lines = [{"dataset": "compas14", **p.parameters, **forests.run(p, frame, Limits())[0]} for p in points]
    results = pd.DataFrame(lines)
    (pairs,) = (table.frame for table in forests.EXPERIMENT.findings(results).tables if table.name == "published")
    assert len(pairs) == 2
    assert pairs["same_forest"].all()
    assert (results["error"] < results["error_uniform"]).all()
    made = forests.EXPERIMENT.findings(results)
    assert any("of 2 forests of several trees whose errors the authors published" in one for one in made.sentences)
    (mean,) = made.tables[0].frame.to_dict("records")
    assert mean["error"] == pytest.approx(results["error"].mean())


@pytest.mark.slow
def test_findings_of_what_is_there_so_far(tiny):
    point = forest("none", n=3)
    (found,) = forests.run(point, tiny, Limits())
    line = {"dataset": "compas14", **point.parameters, **found}
    nothing = {**line, "error": None, "rows_right": None, "unique": None, "certain": None, "log2_low": None,
               "log2_high": None, "count": "unknown", "bags": "unknown", "why": "the time was up"}  # fmt: skip
    for lines in ([nothing], [line, nothing], [{**line, "depth": 3, "trees": 100, "rows": 100}]):
        made = forests.EXPERIMENT.findings(pd.DataFrame(lines))
        assert made.tables[0].frame["forests"].sum() == len(lines)
        assert sum("no data set within" in one for one in made.sentences) == sum(one["error"] is None for one in lines)


@pytest.mark.slow
def test_open_columns_taken_for_0_give_a_world(tiny):
    some = rows.training_sample(TINY, tiny, 6, 0)
    model = forests._fitted(some, 1, 2, False, 0)
    tree = model.estimators_[0].tree_
    guess = forests.zeros(tree, some)
    reached = [sorted(tree.apply(table.astype(np.float32))) for table in (guess, some.truth)]
    assert reached[0] == reached[1]
    asked = {int(column) for column in tree.feature if column >= 0}
    assert asked < {0, 1, 2}
    assert not guess[:, [j for j in range(3) if j not in asked]].any()
    point = forest("zeros", trees=1, depth=2, n=6)
    (found,) = forests.run(point, tiny, Limits())
    assert found["error"] == rows.error(some.truth, guess)
    alone = pd.DataFrame([{"dataset": "compas14", **point.parameters, **found}])
    assert forests.EXPERIMENT.findings(alone).sentences == []
    (even,) = forests.run(forest("none", trees=1, n=6), tiny, Limits())
    both = [{"dataset": "compas14", **forest(bags, trees=1, n=6).parameters, **one}
            for bags, one in (("zeros", found), ("none", even))]  # fmt: skip
    both = pd.DataFrame(both).assign(rows=100)
    (said,) = (one for one in forests.EXPERIMENT.findings(both).sentences if "open columns are 0" in one)
    assert f"an error of {found['error']:.4f}, ours, drawn evenly, of {even['error']:.4f}" in said


@pytest.mark.parametrize("of", [exact, noisy])
@pytest.mark.parametrize("size", ["quick", "full"])
def test_no_two_points_are_the_same(of, size):
    keys = [point.key(of.EXPERIMENT.name, of.EXPERIMENT.version) for point in of.EXPERIMENT.points(size)]
    assert len(set(keys)) == len(keys)
    assert {point.dataset for point in of.EXPERIMENT.points("full")} == set(rows.GROUPS)


@pytest.mark.parametrize("seed", range(3))
def test_random_trees_send_every_row_to_one_leaf(tiny, seed):
    some = rows.divided(TINY, tiny, tiny, 9)
    made = private._random_noisy_forest(some, 3, 2, Fraction(1), seed)
    for shape, true in zip(made.trees, made.true, strict=True):
        assert sum(node is None for node in shape) == 4
        order = [at for at, node in enumerate(shape) if node is None]
        counts = np.zeros((4, 2), dtype=int)
        for x, label in zip(some.truth.tolist(), some.y.tolist(), strict=True):
            at = 0
            while (node := shape[at]) is not None:
                column, then, otherwise = node
                at = then if x[column] else otherwise
            counts[order.index(at), label] += 1
        assert (counts == true).all()


@pytest.mark.parametrize(("epsilon", "seed"), [(1.0, 0), (4.0, 1)])
def test_the_likeliest_data_set_is_that_of_brute_force(tiny, epsilon, seed):
    n = 3
    point = Point(TINY, {"rows": n, "trees": 2, "depth": 2, "epsilon": epsilon, "seed": seed, "draws": 0,
                         "cap_seconds": 30.0})  # fmt: skip
    shuffled = tiny.sample(frac=1.0, random_state=seed, ignore_index=True)
    (found,) = private._run(point, shuffled, Limits())
    some = rows.divided(TINY, shuffled, shuffled, n)
    made = private._random_noisy_forest(some, 2, 2, Fraction(str(epsilon)), seed)

    def log_likelihood(table):
        """Return the log-likelihood of discrete Laplace noise, from its formula."""
        ratio, total = math.exp(-epsilon / 2), 0.0
        for shape, noised in zip(made.trees, made.published, strict=True):
            counts = np.zeros_like(noised)
            np.add.at(counts, (private._leaves(shape, table[:, :3]), table[:, 3]), 1)
            total += sum(math.log((1 - ratio) / (1 + ratio)) + abs(k) * math.log(ratio) for k in (noised - counts).flat)
        return total

    assert found["proved"] is True
    assert found["log_likelihood"] == pytest.approx(max(map(log_likelihood, all_tables(ordered=False, n=n))), abs=1e-3)
    truth = np.column_stack([some.truth, some.y])
    assert found["truth_log_likelihood"] == pytest.approx(log_likelihood(truth), abs=1e-6)


@pytest.mark.slow
def test_noisy_points_run_and_are_drawn(tiny):
    named = {"rows": 6, "trees": 2, "depth": 2, "seed": 0, "cap_seconds": 5.0}
    points = [Point(TINY, named | {"epsilon": e, "draws": d}) for e, d in ((0.5, 0), (1e6, 40))]
    lines = [{"dataset": "compas14", **p.parameters, **private._run(p, tiny, Limits())[0]} for p in points]
    assert lines[1]["log_likelihood"] >= lines[1]["truth_log_likelihood"] - 1e-6
    assert 0 <= lines[1]["posterior_error"] <= 1
    nothing = {key: value for key, value in lines[0].items() if key not in {"log_likelihood", "gap"}}
    nothing |= {"error": None, "rows_right": None, "proved": None, "why": "the time was up"}
    for some in (lines, lines[:1], [nothing], [nothing, lines[1]]):
        made = noisy.EXPERIMENT.findings(pd.DataFrame(some))
        assert made.tables[0].frame["forests"].sum() == len(some)
        assert made.sentences


@pytest.mark.slow
def test_few_values_on_a_logarithmic_axis_are_named():
    extra("matplotlib")
    panel = Panel(
        "trees", "number of trees", "error", [PlotLine("", [1, 5, 20, 50], [0.3, 0.2, 0.1, 0.0])], x_scale="log"
    )
    named = re.findall(r">(\d+)</text>", svg(PanelFigure("few", "few trees", [panel])))
    assert named == ["1", "5", "20", "50"]
