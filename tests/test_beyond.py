"""The experiment `beyond`: every question against brute force on tiny data, and findings of what is there."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from recon.experiments.beyond import EXPERIMENT, QUESTIONS
from recon.experiments.drawing import svg
from recon.experiments.experiment import Point
from recon.experiments.fits import TrainTestSplit, domain_of
from recon.learners.optimal.lists.optimal_rule_list import OptimalRuleListClassifier
from recon.learners.optimal.trees.optimal_tree import optimal_trees, trees_by_leaves
from solvers.foundation.limits import Limits

PEOPLE = ["gender_Female", "gender_Male", "age_high", "age_low"]


def people(n, seed=0, columns="abc"):
    """Return a split of made-up rows with columns as Adult has them, the training rows being all."""
    dice = np.random.default_rng(seed)
    x = pd.DataFrame(dice.integers(0, 2, (n, len(columns))), columns=list(columns))
    for name, other in (PEOPLE[:2], PEOPLE[2:]):
        x[name] = dice.integers(0, 2, n)
        x[other] = 1 - x[name]
    y = pd.Series(np.where(dice.random(n) < 0.2, dice.integers(0, 2, n), x["a"] & (x["b"] | x["age_high"])), name="y")
    return TrainTestSplit(x, y, x, y, x.assign(y=y))


def bits(n, columns, seed):
    dice = np.random.default_rng(seed)
    x = pd.DataFrame(dice.integers(0, 2, (n, columns)), columns=[f"c{k}" for k in range(columns)])
    y = pd.Series(((x["c0"] ^ x["c1"]) | (dice.random(n) < 0.25)).astype(int), name="y")
    return TrainTestSplit(x, y, x, y, x.assign(y=y))


def asked(question, some, **named):
    point = Point("adult24", {"question": question, "seed": 0, "support": 0.05, "cap_seconds": 30.0, **named})
    return QUESTIONS[question][0](point, some, Limits(seconds=60))


def every_tree(x, y, depth, least, at=0):
    """Yield (leaves, errors, tests of all rows) of every tree, in as many lines as there are trees."""
    yield 1, int(min(y.sum(), len(y) - y.sum())), at * len(y)
    for c in range(x.shape[1]) if depth else ():
        yes = x[:, c] == 1
        if min(yes.sum(), (~yes).sum()) >= least:
            zero, one = (list(every_tree(x[m], y[m], depth - 1, least, at + 1)) for m in (~yes, yes))
            yield from (tuple(map(sum, zip(a, b, strict=True))) for a, b in itertools.product(zero, one))


@pytest.mark.parametrize("seed", range(3))
def test_nearly_best_trees_are_those_of_all_trees(seed):
    some, n = bits(40, 4, seed), 40
    found = asked("nearly best trees", some, depth=2, slack=10.0, minimal=False)
    every = list(every_tree(some.x.to_numpy(), some.y.to_numpy(), 2, 2))
    best = min(errors for _, errors, _ in every)
    assert found[0]["errors"] == best
    for line in found:
        within = [(errors, 1 - tests / (4 * n)) for _, errors, tests in every if errors <= line["errors"]]
        assert int(line["trees"]) == len(within)
        assert line["least"] == pytest.approx(min(d for _, d in within))
        assert line["most"] == pytest.approx(max(d for _, d in within))
        assert line["choice_errors"] == min(e for e, d in within if d == pytest.approx(line["most"]))
    assert found[-1]["errors"] == max(e for _, e, _ in every if e <= best + 4)


@pytest.mark.parametrize("seed", range(3))
def test_optimal_trees_of_every_size_are_the_best_of_all_trees(seed):
    some = bits(30, 4, seed)
    every = list(every_tree(some.x.to_numpy(), some.y.to_numpy(), 4, 2))
    found = trees_by_leaves(some.x, some.y, 5, 2)
    assert [one.leaves for one in found] == [2, 3, 4, 5]
    for one in found:
        least = min(e for k, e, _ in every if k == one.leaves)
        tests = [t for k, e, t in every if k == one.leaves and e == least]
        assert (one.errors, one.fewest, one.most) == (least, min(tests), max(tests))
        for tree in (one.fewest_tree, one.most_tree):
            assert int((tree.predict(some.x) != some.y).sum()) == least


def test_matched_sizes_lose_a_bit_per_test():
    some = bits(60, 5, 1)
    found = asked("matched size", some, most_leaves=5)
    assert {line["learner"] for line in found} == {
        "optimal trees", "optimal trees that leak most", "greedy trees", "optimal rule lists", "greedy rule lists",
    }  # fmt: skip
    tests = {one.leaves: one.fewest for one in trees_by_leaves(some.x, some.y, 5, 3)}
    for line in found:
        if line["learner"] == "optimal trees":
            assert line["leaves"] == line["limit"]
            assert line["bits_removed_per_row"] == pytest.approx(tests[line["leaves"]] / 60)
            assert line["dist_g"] == pytest.approx(1 - tests[line["leaves"]] / 300)
    errors = {(line["learner"], line["leaves"]): line["errors"] for line in found}
    greedy = [leaves for learner, leaves in errors if learner == "greedy trees" and leaves > 1]
    assert greedy
    assert all(errors["optimal trees", leaves] <= errors["greedy trees", leaves] for leaves in greedy)


@pytest.mark.slow
def test_joined_worlds_are_those_of_all_datasets():
    pytest.importorskip("sklearn")
    from sklearn.ensemble import RandomForestClassifier

    some, n = bits(5, 2, 1), 5
    named = {"depth": 2, "rules": 1, "forest_trees": 2, "forest_depth": 1, "rows": 0, "fit_seconds": 10.0}
    found = {(line["models"], line["convention"]): line for line in asked("joined", some, **named)}
    rows = pd.DataFrame(list(itertools.product((0, 1), repeat=3)), columns=["c0", "c1", "y"])
    points = rows[["c0", "c1"]]
    tree = optimal_trees(some.x, some.y, 2, 1, 10)[-1]
    rules = OptimalRuleListClassifier(1, 1).fit(some.x, some.y)
    forest = RandomForestClassifier(2, max_depth=1, bootstrap=False, random_state=1).fit(some.x, some.y)
    ((column, value),) = rules.rules_[0][0]
    places = {
        "tree": [tree.apply(points).tolist()],
        "rule list": [(points[column] == value).tolist()],
        "forest": [one.apply(points.to_numpy()).tolist() for one in forest.estimators_],
    }
    place = {tuple(row): i for i, row in enumerate(rows.to_numpy().tolist())}
    truth = [place[tuple(row)] for row in some.whole.to_numpy().tolist()]
    datasets = list(itertools.product(range(8), repeat=n))

    def same(region):
        """Return the datasets in which every leaf (or rule) holds as many rows of either label as in the truth."""
        key = [(at, label) for at, label in zip(region, rows["y"], strict=True)]
        counts = sorted(key[i] for i in truth)
        return {dataset for dataset in datasets if sorted(key[i] for i in dataset) == counts}

    left = {name: set.intersection(*map(same, regions)) for name, regions in places.items()}
    for (models, convention), line in found.items():
        both = set.intersection(*(left[name] for name in models.split(" + ")))
        worlds = len(both if convention == "ordered" else {tuple(sorted(one)) for one in both})
        assert line["exact"]
        assert line["log2_high"] == pytest.approx(math.log2(worlds), abs=1e-9)
        before = len(datasets) if convention == "ordered" else math.comb(8 + n - 1, n)
        assert line["removed_low"] == pytest.approx(math.log2(before / worlds) / n, abs=1e-9)
    assert len(found) == 14


@pytest.mark.parametrize("learner", ["greedy trees", "optimal rule lists"])
def test_exposure_of_groups_adds_up_to_that_of_everybody(learner):
    some = people(300)
    found = pd.DataFrame(asked("groups", some, learner=learner, depth=3))
    whole = found[found["kind"] == "everybody"].set_index("counted")
    for (counted, kind), part in found.groupby(["counted", "kind"]):
        assert part["rows"].sum() == 300
        assert (part["rows"] * part["removed"]).sum() == pytest.approx(300 * whole["removed"][counted])
        assert (part["rows"] * part["exposed"]).sum() == pytest.approx(30), kind
    women = found[(found["counted"] == "bits") & (found["group"] == "women")]["removed"].iloc[0]
    assert found[found["kind"] == "sex"]["rows"].tolist() == [
        int((some.x["gender_Male"] == sex).sum()) for sex in (1, 0, 1, 0)
    ]
    if learner == "greedy trees":
        from sklearn.tree import DecisionTreeClassifier

        tree = DecisionTreeClassifier(max_depth=3, min_samples_leaf=15, random_state=1).fit(some.x, some.y)
        tests = np.asarray(tree.decision_path(some.x).sum(axis=1)).ravel() - 1
        assert women == pytest.approx(tests[some.x["gender_Female"] == 1].mean())


def test_true_attributes_count_rows_that_can_exist():
    some = people(300)
    for line in asked("true attributes", some, learner="optimal trees", depth=3):
        assert line["before_bits"] == pytest.approx(7)
        assert line["before_attributes"] == pytest.approx(5)  # two of seven columns say the opposite of another
        assert line["log2_worlds_bits"] == pytest.approx(300 * (7 - line["removed_bits"]))
        assert line["removed_attributes"] <= line["removed_bits"] + 1e-9  # here a test takes a bit at most
    assert [a.name for a in domain_of(some.whole, "attributes").attributes] == ["a", "b", "c", "gender", "age"]


def test_greedy_lists_are_beginnings_of_the_longest():
    some = people(200, 3)
    found = asked("rule width", some, kind="greedy", width=2)
    from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier

    for line in found:
        alone = GreedyRuleListClassifier(2, 10, line["limit"] + 1).fit(some.x, some.y)
        assert int((alone.predict(some.x) != some.y).sum()) == line["errors"]


def test_little_noise_removes_as_much_as_none():
    some = people(200, 4)
    named = {"learner": "optimal trees", "depth": 2, "limit": 2, "rows": 0, "draws": 2}
    exact, *noisy = asked("noise", some, epsilon=60.0, **named)
    regions = Counter()
    tree = optimal_trees(some.x, some.y, 2, 10, 10)[-1]
    for leaf, label in zip(tree.apply(some.x).tolist(), some.y.tolist(), strict=True):
        regions[leaf, label] += 1
    depth = {leaf: int((tree.apply(some.x) == leaf).sum()) for leaf, _ in regions}
    assert sum(depth.values()) == 200
    assert exact["counts"] == 2 * len({leaf for leaf, _ in regions})
    for line in noisy:
        for figure in ("removed_counts", "removed_worlds", "removed_confidence"):
            assert line[figure] == pytest.approx(exact[figure], abs=1e-6)
    for line in asked("noise", some, epsilon=0.5, **named)[1:]:
        assert line["removed_confidence"] <= exact["removed_confidence"] + 1e-9


def test_points_are_different_and_cover_every_question():
    for size in ("quick", "full"):
        points = EXPERIMENT.points(size)
        assert len({point.key("beyond", 1) for point in points}) == len(points)
        assert {point["question"] for point in points} == set(QUESTIONS)
        assert all(point.cost <= 120 for point in points)
    quick, full = ({point.key("beyond", 1) for point in EXPERIMENT.points(size)} for size in ("quick", "full"))
    assert quick < full


@pytest.fixture(scope="module")
def results():
    """Return rows of every question on made-up people, as two data sets."""
    some, out = people(120, 6), []
    named = {
        "matched size": [{"most_leaves": 4}],
        "nearly best trees": [{"depth": 2, "slack": 2.0, "minimal": minimal} for minimal in (True, False)],
        "groups": [{"learner": one, "depth": 2} for one in ("optimal trees", "optimal rule lists")],
        "true attributes": [{"learner": "greedy trees", "depth": 2}],
        "rule width": [{"kind": "greedy", "width": width} for width in (1, 2)],
        "joined": [{"depth": 1, "rules": 1, "forest_trees": 1, "forest_depth": 1, "rows": 40, "fit_seconds": 5.0}],
        "noise": [{"learner": "optimal trees", "depth": 1, "limit": 1, "rows": 50, "epsilon": 1.0, "draws": 2}],
    }
    for question, every in named.items():
        for one in every:
            rows = asked(question, some, **one)
            out += [{"dataset": "adult24", "question": question, "seed": 0, **one, **row} for row in rows]
    frame = pd.DataFrame(out)
    return pd.concat([frame, frame.assign(dataset="compas27")], ignore_index=True)


@pytest.mark.slow
def test_findings_of_all_questions(results):
    found = EXPERIMENT.findings(results)
    begun = {sentence.split(",")[0] for sentence in found.sentences}
    assert begun == {"Matched size", "Nearly best trees", "Groups", "True attributes", "Rule width", "Joined", "Noise"}
    assert len({table.name for table in found.tables}) == len(found.tables)
    assert all("nan" not in sentence for sentence in found.sentences)
    assert {figure.name for figure in found.figures} == {
        "matched-size", "nearly-best-trees", "groups", "true-attributes", "rule-width", "joined", "noise",
    }  # fmt: skip
    assert "<svg" in svg(next(figure for figure in found.figures if figure.name == "joined"))


@pytest.mark.slow
def test_incomplete_results_do_not_fail(results):
    for question in QUESTIONS:
        some = results[results["question"] == question]
        assert EXPERIMENT.findings(some).tables
        for part in (some.head(1), some.tail(1)):
            EXPERIMENT.findings(part)
