"""What a greedy learner's rule gives away, beside fitting the tree: COMPAS and Adult, by depth and rows.

    python tests/bench/learner_rule.py [--quick | --lines BEGINNING ...] [--check]

Rows are the first of RandomState(1).permutation, trees scikit-learn's with random_state 1. Bits that the rule takes off
the worlds, for some sequence of draws, to 0.001 ("with the leaf rule", "inner nodes only"; "for every seed": strict),
beside the bits of the worlds before; how far apart the rigorous bounds are; and a world drawn. A line fails that takes
more than 60 s or 2 GB. Needs scikit-learn. What a line says: harness.py.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from harness import DATA, Job, Line, main, measured

sys.path.append(str(Path(__file__).resolve().parents[1]))  # greedy_trees

SECONDS, MEMORY = 60.0, 2 << 10  # of one line, memory in MB
CASES = (
    ("compas27", 3, 7_214, {}),
    ("compas27", 5, 7_214, {}),
    ("compas27", 5, 300, {}),
    ("compas27", 10, 100, {}),
    ("compas27", 10, 300, {}),
    ("compas27", 10, 7_214, {}),
    ("compas27", 10, 7_214, {"criterion": "entropy"}),
    ("compas27", 10, 7_214, {"min_samples_leaf": 20}),
    ("compas27", 10, 7_214, {"min_impurity_decrease": 1e-4}),
    ("adult24", 6, 1_000, {}),
    ("adult24", 5, 48_842, {}),
)


def bits_of(tree: Any, columns: int) -> int:
    """Return the bits of the worlds (assigned): one for each row and each column that its path does not fix."""
    from greedy_trees import leaves_of

    return sum(int(tree.counts[leaf].sum()) * (columns - len(fixed)) for leaf, fixed in leaves_of(tree))


def counted(job: str, name: str, depth: int, n: int, options: dict[str, Any]) -> list[Line]:
    """Count with and without the leaf rule, for every seed, and draw a world."""
    from greedy_trees import chosen_tree
    from sklearn.tree import DecisionTreeClassifier

    from recon.experiments.running import load
    from solvers.foundation.limits import Limits
    from solvers.greedy.gains import GreedyRule
    from solvers.greedy.sampling import Sampler
    from solvers.greedy.tree_counts import tree_share

    table, _ = load(name, str(DATA))
    rows = table.to_numpy()[np.random.RandomState(1).permutation(len(table))[:n]]
    X, y = rows[:, :-1], rows[:, -1]
    fit = measured(lambda: DecisionTreeClassifier(max_depth=depth, random_state=1, **options).fit(X, y))
    tree = chosen_tree(fit.found, depth, 2, options.get("min_samples_leaf", 1))
    rule, columns, limits = GreedyRule(n, **options), X.shape[1], Limits(memory=MEMORY << 20)
    work = measured(lambda: tree_share(tree, columns, rule, limits), repeats=1)
    inner = tree_share(tree, columns, rule, limits, leaf_rule=False)
    strict = tree_share(tree, columns, rule, limits, strict=True)
    drawn = measured(lambda: Sampler.of(tree, columns, rule, limits).world(np.random.default_rng(1)), repeats=1)
    assert work.cpu <= SECONDS, f"{work.cpu:.0f} s"
    assert work.peak <= MEMORY, f"{work.peak} MB"
    low, high = work.found.log2
    same = {"world bits": bits_of(tree, columns)}
    same |= {"inner nodes only": round(-inner.log2[1], 3), "with the leaf rule": round(-high, 3)}
    sure = "no world" if strict.nothing_at else round(-strict.log2[1], 3)
    said = {"for every seed": sure, "width": float(f"{high - low:.1g}"), "nodes": len(tree.column)}
    said |= {"a world drawn, s": round(drawn.cpu, 1)}
    return [Line(job, work, "fit", fit, same=same, said=said)]


def jobs() -> dict[str, Job]:
    """Return the jobs by their names."""
    out = {}
    for name, depth, n, options in CASES:
        how = ", ".join(f"{k} {v}" for k, v in options.items()) or "criterion gini"
        job = f"{name}, {how}: depth {depth}, {n:,} rows"
        out[job] = Job(counted, (job, name, depth, n, options), n < 48_842, ("sklearn",))
    return out


JOBS = jobs()

if __name__ == "__main__":
    main("learner_rule", JOBS)
