"""In what share of a release's worlds a greedy learner could have chosen its tree: a dynamic program per column."""

from __future__ import annotations

from solvers.foundation.limits import Limits
from solvers.greedy.chosen import ChosenTree, GreedyRule, RuleShare


def tree_share(
    tree: ChosenTree,
    columns: int,
    rule: GreedyRule,
    limits: Limits,
    *,
    strict: bool = False,
    leaf_rule: bool = True,
) -> RuleShare:
    """Return the share of the worlds in which the learner could have chosen this tree, with rigorous bounds.

    `strict`: every other column's gain is below the chosen one's, so that any sequence of draws chooses this tree.
    `leaf_rule`: whether open leaves count as what they say, that no admissible split was left.
    """
    raise NotImplementedError
