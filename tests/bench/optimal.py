"""Optimal trees and rule lists on COMPAS27 (leaves of 1 % of the rows), beside greedy ones and STreeD.

    python tests/bench/optimal.py [--quick | --lines BEGINNING ...] [--check]

All trees up to depth 10 come from one run; the baseline is scikit-learn's greedy trees of the same depths. At depth 5
our own program stands beside STreeD (package pystreed). Lists of one literal per rule, beside the greedy list of the
same length. Needs scikit-learn and the data folder (RECON_DATA). What a line says: harness.py.
"""

from __future__ import annotations

from typing import Any

from harness import DATA, Job, Line, main, measured

SUPPORT, SECONDS = 0.01, 120.0
STREED = 5  # the depth at which STreeD is run


def compas() -> tuple[Any, Any]:
    """Return columns and labels."""
    import pandas as pd

    frame = pd.read_csv(DATA / "compas27.csv.gz")
    return frame.iloc[:, :-1], frame.iloc[:, -1]


def trees(job: str, depth: int) -> list[Line]:
    """Learn the optimal trees of all depths, and greedy ones."""
    from sklearn.tree import DecisionTreeClassifier

    from recon.learners.optimal.trees.optimal_tree import optimal_trees

    x, y = compas()
    least, depths = int(SUPPORT * len(x)), range(1, depth + 1)
    work = measured(lambda: optimal_trees(x, y, depth, SUPPORT, SECONDS), repeats=1)
    beside = measured(lambda: [DecisionTreeClassifier(max_depth=d, min_samples_leaf=least).fit(x, y) for d in depths])
    errors = [tree.errors_ for tree in work.found]
    greedy = [int((tree.predict(x) != y).sum()) for tree in beside.found]
    proved = sum(tree.optimal_ for tree in work.found)
    said = {"errors": errors, "greedy errors": greedy}
    baseline = "scikit-learn's trees of the same depths"
    return [Line(job, work, baseline, beside, more={"depths proved": proved}, less={"errors": errors[-1]}, said=said)]


def streed(job: str) -> list[Line]:
    """Learn one optimal tree by our own program and by STreeD, which starts a process of its own."""
    import recon

    x, y = compas()
    own, other = (
        measured(lambda solver=solver: recon.OptimalTreeClassifier(STREED, SUPPORT, SECONDS, solver).fit(x, y))
        for solver in ("own", "streed")
    )
    more = {"proved": "yes" if own.found.optimal_ else "no"}
    same = {"errors": own.found.errors_, "STreeD's errors": other.found.errors_}
    return [Line(job, own, "STreeD", other, more=more, same=same)]


def rule_list(job: str, length: int) -> list[Line]:
    """Learn an optimal rule list of so many rules at most before the default rule, and the greedy one."""
    import recon
    from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier

    x, y = compas()
    least = int(SUPPORT * len(x))
    work = measured(lambda: recon.OptimalRuleListClassifier(length, least, seconds=SECONDS).fit(x, y), repeats=1)
    beside = measured(lambda: GreedyRuleListClassifier(1, least, length + 1).fit(x, y))
    best = work.found.path_
    more = {"lengths proved": sum(one.certified for one in best)}
    less = {"errors": work.found.errors_, "gap": round(float(work.found.gap_), 4)}
    said = {"errors of each": [one.errors for one in best], "greedy errors": int((beside.found.predict(x) != y).sum())}
    return [Line(job, work, "the greedy list", beside, more=more, less=less, said=said)]


JOBS = {
    "trees of depths 1 to 10": Job(trees, ("trees of depths 1 to 10", 10)),
    f"tree of depth {STREED}": Job(streed, (f"tree of depth {STREED}",), needs=("pystreed",)),
    "rule lists to length 6": Job(rule_list, ("rule lists to length 6", 6)),
    "rule lists to length 10": Job(rule_list, ("rule lists to length 10", 10)),
}

if __name__ == "__main__":
    main("optimal", JOBS)
