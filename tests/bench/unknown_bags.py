"""Bags unknown: does the likelihood of the bags tell more than covering every leaf? A trial on COMPAS14.

A world must hold at least d rows in every leaf with d different drawn rows (covering). Among these, a world with r
rows in the leaf makes bags with these counts likelier in proportion to C(r, d): a bag of n draws that gives leaf l
the count c_l from d_l different rows is one of Π_l C(r_l, d_l) surj(c_l, d_l) n! / Π c_l! in n^n, and only C(r_l,
d_l) depends on the world. The trial anneals both objectives from the same random rows, and prints how far the worlds
are from the truth: mean share of the columns that differ after the best matching of rows within classes, beside rows
drawn from the columns' own frequencies.

`python tests/bench/unknown_bags.py [rows] [trees] [runs]`.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from sklearn.ensemble import RandomForestClassifier

DATA = "../shared/data/compas14.csv.gz"
BARRED = -50.0  # of a leaf, per row that is missing


def tables(forest, X, y, n):
    """Return per tree (node arrays, d per leaf and class), and the log-weights of r rows where d were drawn."""
    trees = []
    for tree in forest.estimators_:
        t = tree.tree_
        distinct = np.zeros((t.node_count, 2), dtype=int)
        classes = np.round(t.value[:, 0] * t.weighted_n_node_samples[:, None]).astype(int)
        for leaf in np.flatnonzero(t.children_left < 0):
            c, d = classes[leaf], int(t.n_node_samples[leaf])
            if (c > 0).sum() == 1:
                distinct[leaf, int(np.argmax(c))] = d
            else:  # the least of each class that explains both
                distinct[leaf] = np.maximum((c > 0).astype(int), d - c[::-1])
        trees.append((t.children_left, t.children_right, t.feature, t.threshold, distinct))
    log = np.array(
        [[math.log(math.comb(r, d)) if r >= d else BARRED * (d - r) for d in range(n + 1)] for r in range(n + 1)]
    )
    return trees, log


def leaf(tree, x):
    """Return the leaf of a row."""
    left, right, feature, threshold, _ = tree
    i = 0
    while left[i] >= 0:
        i = left[i] if x[feature[i]] <= threshold[i] else right[i]
    return i


def anneal(trees, log, y, columns, steps, likely, seed):
    """Return rows that cover every leaf; `likely`: annealed for the likelihood of the bags as well."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 2, (len(y), columns))
    at = np.array([[leaf(t, x) for x in X] for t in trees])
    filled = [np.zeros(t[4].shape, dtype=int) for t in trees]
    for t in range(len(trees)):
        np.add.at(filled[t], (at[t], y), 1)

    def worth(t, i, k):
        d, r = trees[t][4][i, k], filled[t][i, k]
        return log[r, d] if likely else min(0.0, BARRED * (d - r))

    for step in range(steps):
        heat = 3.0 * (1 - step / steps) + 0.02
        i, j = int(random.integers(len(y))), int(random.integers(columns))
        X[i, j] ^= 1
        moved, gain = [], 0.0
        for t, tree in enumerate(trees):
            new = leaf(tree, X[i])
            if new != (old := at[t, i]):
                gain -= worth(t, old, y[i]) + worth(t, new, y[i])
                filled[t][old, y[i]] -= 1
                filled[t][new, y[i]] += 1
                gain += worth(t, old, y[i]) + worth(t, new, y[i])
                moved.append((t, old, new))
        if gain >= 0 or random.random() < math.exp(gain / heat):
            for t, _, new in moved:
                at[t, i] = new
            continue
        X[i, j] ^= 1
        for t, old, new in moved:
            filled[t][old, y[i]] += 1
            filled[t][new, y[i]] -= 1
    missing = sum(int(np.maximum(0, trees[t][4] - filled[t]).sum()) for t in range(len(trees)))
    value = sum(
        log[r, d] for t in range(len(trees)) for r, d in zip(filled[t].ravel(), trees[t][4].ravel(), strict=True)
    )
    return X, missing, value


def distance(X, Z, y):
    """Return the mean share of columns that differ after the best matching within classes."""
    total = 0.0
    for k in (0, 1):
        cost = (X[y == k][:, None, :] != Z[y == k][None, :, :]).mean(axis=2)
        total += cost[linear_sum_assignment(cost)].sum()
    return total / len(y)


def main() -> None:
    """Print the distances of some runs."""
    rows, count, runs = (int(a) for a in (*sys.argv[1:], *("50", "10", "6")[len(sys.argv) - 1 :]))
    data = pd.read_csv(DATA)
    print(f"COMPAS14, {rows} rows x {count} trees; distance to the truth (0: the same rows)")
    print("run  covering  likelihood  frequencies  missing rows  log-likelihood (covering, likelihood, truth)")
    found = []
    for run in range(runs):
        part = data.sample(rows, random_state=run)
        X, y = part.iloc[:, :-1].to_numpy(), part.iloc[:, -1].to_numpy()
        forest = RandomForestClassifier(count, random_state=run).fit(X, y)
        trees, log = tables(forest, X, y, rows)
        covered = anneal(trees, log, y, X.shape[1], 60_000, False, run)
        likely = anneal(trees, log, y, X.shape[1], 60_000, True, run)
        random = np.random.default_rng(run)
        drawn = np.stack([random.permutation(X[:, j]) for j in range(X.shape[1])], axis=1)
        truth = 0.0
        for tree in trees:
            filled = np.zeros(tree[4].shape, dtype=int)
            np.add.at(filled, ([leaf(tree, x) for x in X], y), 1)
            truth += sum(log[r, d] for r, d in zip(filled.ravel(), tree[4].ravel(), strict=True))
        line = [distance(X, Z, y) for Z in (covered[0], likely[0], drawn)]
        found.append(line)
        values = f"{covered[2]:.0f}, {likely[2]:.0f}, {truth:.0f}"
        print(
            f"{run:3}  {line[0]:8.3f}  {line[1]:10.3f}  {line[2]:11.3f}  {covered[1]:6},{likely[1]:4}  {values:>20}",
            flush=True,
        )
    print(
        "mean",
        np.round(np.mean(found, axis=0), 3),
        "standard error",
        np.round(np.std(found, axis=0) / math.sqrt(runs), 3),
    )


main()
