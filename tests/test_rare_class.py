"""A class with few rows is given back whole, and a little side knowledge opens the rest: figures of the docs, run."""

from __future__ import annotations

import re
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

import recon
from recon.readers.loading.known_positions import with_known_positions
from solvers.positions.assignments.world import assigned

sklearn = pytest.importorskip("sklearn")
from ortools.sat.python import cp_model  # noqa: E402
from sklearn.datasets import load_breast_cancer, load_digits, make_classification  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.ensemble._forest import _generate_sample_indices  # noqa: E402

PAGE = Path(__file__).parents[1] / "docs" / "random-forest.md"
WORK = 60.0  # seconds, of which the largest case takes a few


def made(rows, rare, **how):
    """Return rows with 20 columns of floats, and a class of about so many of them; `how`: as make_classification's."""
    how = {"n_informative": 8, "flip_y": 0, "weights": [1 - rare / rows], "random_state": 0} | how
    x, y = make_classification(rows, 20, **how)
    return pd.DataFrame(x, columns=[f"c{j}" for j in range(20)]), y


def stored(folder, x, y):
    """Return the release of a default forest that was stored and read."""
    path = folder / "forest.joblib"
    joblib.dump(RandomForestClassifier(random_state=0).fit(x, y), path)
    return recon.load(path)


def figures(release, y):
    """Return labels proved, and the share of leaves proved of every class; no label is wrong."""
    found = assigned(release.statements, recon.Limits(seconds=WORK))
    left, seen = found.domains.labels(), found.problem.times.T > 0
    assert left[np.arange(len(y)), y].all()
    known = found.domains.sizes() == 1
    shares = [float(known[y == k][seen[y == k]].mean()) for k in np.unique(y)]
    return int((left.sum(axis=1) == 1).sum()), shares


def rows_of(page):
    """Yield rows, rare, labels and share of leaves of the rare class as the page's table has them."""
    for line in re.findall(r"^\| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d.]+) % \|", page, re.MULTILINE):
        yield tuple(float(one.replace(",", "")) for one in line)


CASES = list(rows_of(PAGE.read_text(encoding="utf-8")))


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_rare_class_is_given_back(tmp_path, case):
    rows, rare, labels, leaves = case
    x, y = made(int(rows), int(rare))
    assert int(y.sum()) == rare
    found, shares = figures(stored(tmp_path, x, y), y)
    assert found == labels
    assert round(100 * shares[1], 1) == leaves


def real(name):
    """Return rows of real data and who is in the rare class, as the page's second table has them."""
    if name.startswith("breast cancer"):
        data = load_breast_cancer(as_frame=True)
        y = data.target.to_numpy()
        at, rare = np.sort(np.concatenate([np.flatnonzero(y == 1), np.flatnonzero(y == 0)[:40]])), y == 0
    else:
        data = load_digits(as_frame=True)
        at = (
            np.random.default_rng(0).choice(len(data.target), 700, replace=False) if "drawn" in name else np.arange(700)
        )
        rare = data.target.to_numpy() == 3
    return data.data.iloc[at].reset_index(drop=True), rare[at].astype(int)


REAL = re.findall(
    r"^\| (digits.*?|breast cancer, .*?) \| (\d+) \| (\d+) \| (\d+) \| ([\d.]+) % \|$",
    PAGE.read_text(encoding="utf-8"),
    re.MULTILINE,
)


@pytest.mark.long
@pytest.mark.parametrize("case", REAL, ids=str)
def test_the_rare_class_of_real_data(tmp_path, case):
    name, rows, rare, labels, leaves = case
    x, y = real(name)
    assert (len(y), int(y.sum())) == (int(rows), int(rare))
    found, shares = figures(stored(tmp_path, x, y), y)
    assert found == int(labels)
    assert f"{100 * shares[1]:.1f}" == leaves


def test_the_page_has_the_cases():
    assert {(10_000, 50), (4_000, 80), (2_500, 50), (800, 79)} <= {case[:2] for case in CASES}
    assert len(REAL) == 3


def other_worlds(found, rare):
    """Yield leaves of the rare rows, (row, tree) -> value, of data sets that show what is left of them to be possible.

    An own program of CP-SAT: values left, weights, numbers of different rows, and which boxes of a row meet.
    """
    problem, model, left = found.problem, cp_model.CpModel(), {}
    for i in rare.tolist():
        for v in found.domains.of_row(i).tolist():
            left.setdefault((i, int(problem.tree[v])), []).append(v)
    one = {(i, v): model.new_bool_var("") for (i, t), values in left.items() for v in values}
    for (i, _), values in left.items():
        model.add_exactly_one(one[i, v] for v in values)
    for v in {v for _, v in one}:
        own, times = [i for i, w in one if w == v], problem.times[problem.tree[v]]
        model.add(sum(int(times[i]) * one[i, v] for i in own) == int(problem.weight[v]))
        model.add_linear_constraint(sum(one[i, v] for i in own), int(problem.low[v]), int(problem.high[v]))
    for (i, t), values in left.items():
        rest = np.array([w for j, w in one if j == i and problem.tree[w] != t])
        for v in values if len(values) > 1 else ():
            start, end = np.maximum(problem.start[v], problem.start[rest]), problem.end[rest]
            for w in rest[(start >= np.minimum(problem.end[v], end)).any(axis=1)].tolist():
                model.add_bool_or(~one[i, v], ~one[i, w])
    solver, shown = cp_model.CpSolver(), set()
    solver.parameters.num_workers = 1
    for (i, t), v in ((at, v) for at, values in left.items() if len(values) > 1 for v in values):
        if (i, v) in shown:
            continue
        model.clear_assumptions()
        model.add_assumption(one[i, v])
        assert solver.solve(model) == cp_model.OPTIMAL, (i, t, v)
        world = {(j, int(problem.tree[w])): w for (j, w), b in one.items() if solver.value(b)}
        shown |= {(j, w) for (j, _), w in world.items()}
        yield world


def boxes_of(tree):
    """Return (nodes, columns): above which threshold, and up to which, the rows of every node of a tree lie."""
    low = np.full((tree.node_count, tree.n_features), -np.inf)
    high = -low
    for node in np.flatnonzero(tree.children_left >= 0).tolist():  # parents come before their children
        for child, ends in ((tree.children_left[node], high), (tree.children_right[node], low)):
            low[child], high[child] = low[node], high[node]
            ends[child, tree.feature[node]] = tree.threshold[node]
    return low, high


def has_the_forest(forest, x, y):
    """Return whether rows have the counts of every leaf of a forest, by scikit-learn's own bags and walk."""
    for tree in forest.estimators_:
        times = np.bincount(_generate_sample_indices(tree.random_state, len(x), len(x), None), minlength=len(x))
        leaf, counts = tree.apply(x), np.zeros((tree.tree_.node_count, 2))
        np.add.at(counts, (leaf, y), times)
        different = np.bincount(leaf[times > 0], minlength=tree.tree_.node_count)
        leaves = tree.tree_.children_left < 0
        stored = tree.tree_.value[:, 0] * tree.tree_.weighted_n_node_samples[:, None]
        if not np.allclose(counts[leaves], stored[leaves]) or (different != tree.tree_.n_node_samples)[leaves].any():
            return False
    return True


@pytest.mark.long
def test_what_is_left_open_of_the_rare_class_is_open(tmp_path):
    x, y = made(800, 79)
    release = stored(tmp_path, x, y)
    found = assigned(release.statements, recon.Limits(seconds=WORK))
    sizes, rare, seen = found.domains.sizes(), y == 1, set()
    forest = joblib.load(tmp_path / "forest.joblib")
    boxes = [boxes_of(tree.tree_) for tree in forest.estimators_]
    nodes = [np.flatnonzero(tree.tree_.children_left < 0) for tree in forest.estimators_]
    assert has_the_forest(forest, x.to_numpy(np.float32), y)
    for world in other_worlds(found, np.flatnonzero(rare)):
        rows = x.to_numpy(np.float32).copy()
        for i in np.flatnonzero(rare).tolist():
            at = [(t, nodes[t][found.problem.region[v]]) for (j, t), v in world.items() if j == i]
            low = np.max([boxes[t][0][node] for t, node in at], axis=0)
            high = np.min([boxes[t][1][node] for t, node in at], axis=0)
            outside = (rows[i] <= low) | (rows[i] > high)
            low = np.where(np.isinf(low), np.where(np.isinf(high), 1, high) - 1, low)
            rows[i, outside] = ((low + np.where(np.isinf(high), low + 1, high)) / 2)[outside]
        assert has_the_forest(forest, rows, y)  # another data set from which the same forest is grown
        seen |= {(i, t, v) for (i, t), v in world.items()}
    left = {(i, t) for i, t in np.argwhere(sizes > 1).tolist() if rare[i]}
    shown = [(i, t) for i, t, _ in seen if (i, t) in left]
    assert len(left) == 256  # of 5,009: no method proves more than 94.89 %
    assert {at: shown.count(at) for at in left} == {(i, t): int(sizes[i, t]) for i, t in left}


@pytest.mark.long
@pytest.mark.parametrize(
    ("columns", "labels", "least"), [((0, 1), 0, 0.02), (tuple(range(10)), 0, 0.4), ((), 150, 0.0)]
)
def test_a_little_knowledge_opens_the_rest(tmp_path, columns, labels, least):
    data = load_breast_cancer(as_frame=True)
    x, y = data.data, data.target
    table = x.iloc[:, list(columns)].assign(position=np.arange(569))
    if labels:
        some = np.random.default_rng(0).permutation(569)[:labels]
        table["label"] = y.astype(object).where(np.isin(np.arange(569), some), None)
    release = with_known_positions(stored(tmp_path, x, y), table)
    found, _ = figures(release, y.to_numpy())
    leaves = recon.positions(release, limits=recon.Limits(seconds=WORK)).attrs["share_leaves_known"]
    assert found == 569
    assert leaves >= least
