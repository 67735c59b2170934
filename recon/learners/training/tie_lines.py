"""What `recon learn optimal-tree --ties` prints: how many trees are as good, and how much they give away."""

from __future__ import annotations

from recon.learners.optimal.trees.optimal_tree import OptimalTreeClassifier
from recon.learners.optimal.trees.tied_trees import Ties
from recon.learners.training.training import TrainingTable

WORDS = {True: "trees in which no split is needless", False: "all trees, with needless splits"}


def tie_lines(table: TrainingTable, learner: OptimalTreeClassifier, slack: int, independent: bool) -> list[str]:
    """Return a line for each number of errors, first of trees without needless splits, then of all.

    Raises `Inconclusive` and `TooLarge` where time or memory end first.
    """
    rows, labels = table.frame.drop(columns=table.label), table.frame[table.label]
    domain = None if independent else table.domain
    found = []
    for minimal, words in WORDS.items():
        found += [
            f"{line(one)} ({words})" for one in learner.ties(rows, labels, slack=slack, minimal=minimal, domain=domain)
        ]
    return found


def line(one: Ties) -> str:
    """Return one number of errors in words."""
    low, high = one.dist_g
    many = (
        f"{one.trees:,}" if one.trees < 10**9 else f"{float(one.trees):.3g}" if one.trees < 10**300 else "over 10^300"
    )
    return f"{one.errors:,} errors: {many} {'tree' if one.trees == 1 else 'trees'}, Dist_G from {low:.4f} to {high:.4f}"
