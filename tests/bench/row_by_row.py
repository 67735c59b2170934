"""Forest reconstruction row by row, as the literature does it: the baseline of `forests.py`.

An independent formulation for CP-SAT of the attack of Ferry, Fukasawa, Pascal, Vidal, "Trained Random Forests
Completely Reveal your Dataset" (ICML 2024), for forests without bootstrap. It imports nothing of recon.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
from ortools.sat.python import cp_model

WORKERS = 2
Path = tuple[tuple[int, bool], ...]  # (feature, whether it is 1), from the root to a leaf


def leaves(tree) -> Iterator[tuple[Path, list[int]]]:
    """Yield the path to every leaf of a fitted `tree_` over binary features, and its rows per class."""
    fractions = tree.value[:, 0, :] / tree.value[:, 0, :].sum(axis=1, keepdims=True)
    counts = np.rint(fractions * tree.n_node_samples[:, None]).astype(int)
    waiting: list[tuple[int, Path]] = [(0, ())]
    while waiting:
        node, path = waiting.pop()
        if tree.children_left[node] < 0:
            yield path, counts[node].tolist()
            continue
        feature = int(tree.feature[node])
        waiting.append((int(tree.children_left[node]), (*path, (feature, False))))
        waiting.append((int(tree.children_right[node]), (*path, (feature, True))))


def build(forest, columns: Sequence[str], groups: Sequence[tuple[Sequence[str], bool]], n: int):
    """Return the model, its literals per row and column, and the class of every row.

    One Boolean per row and column; one-hot groups; one Boolean per tree, leaf and row that implies the literals on
    the leaf's path; every row in exactly one leaf of each tree; per leaf and class the sum of its Booleans is the
    count. Rows are interchangeable and the root says how many have each class, so that the literals of row and
    class are constants: the rows are sorted by class, and a leaf has Booleans only for rows of a class it counts.
    """
    model = cp_model.CpModel()
    x = [[model.new_bool_var("") for _ in columns] for _ in range(n)]
    place = {name: i for i, name in enumerate(columns)}
    for row in x:
        for names, exactly in groups:
            literals = [row[place[name]] for name in names]
            (model.add_exactly_one if exactly else model.add_at_most_one)(literals)
    trees = [list(leaves(estimator.tree_)) for estimator in forest.estimators_]
    totals = np.sum([counts for _, counts in trees[0]], axis=0).tolist()
    assert sum(totals) == n, f"the forest counts {sum(totals)} rows, not {n}"
    class_of = [c for c, total in enumerate(totals) for _ in range(total)]
    for tree in trees:
        in_leaf: list[list[cp_model.IntVar]] = [[] for _ in range(n)]
        for path, counts in tree:
            per_class: list[list[cp_model.IntVar]] = [[] for _ in counts]
            for k, c in enumerate(class_of):
                if counts[c]:
                    here = model.new_bool_var("")
                    for feature, one in path:
                        model.add_implication(here, x[k][feature] if one else x[k][feature].negated())
                    in_leaf[k].append(here)
                    per_class[c].append(here)
            for literals, count in zip(per_class, counts, strict=True):
                if count:
                    model.add(sum(literals) == count)
        for literals in in_leaf:
            model.add_exactly_one(literals)
    return model, x, class_of


def reconstruct(forest, columns, groups, n, seconds):
    """Return (rows or None, seconds, status): a dataset that agrees with a fitted forest, if found in time.

    `columns` are the forest's binary features in order, `groups` pairs of one-hot columns and whether exactly one
    (else at most one) of them is 1. Rows are (n, columns + 1), the class (0-based) last. The seconds include
    building the model; the limit is for the search.
    """
    begun = time.perf_counter()
    model, x, class_of = build(forest, columns, groups, n)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = WORKERS
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model)
    rows = None
    if status in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        rows = np.array([[*(solver.value(v) for v in row), c] for row, c in zip(x, class_of, strict=True)])
    return rows, time.perf_counter() - begun, solver.status_name(status)
