"""In what share of a release's worlds GreedyRL of width 1 could have chosen its list: a dynamic program per column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from solvers.foundation.limits import Limits
from solvers.greedy.chosen import RuleShare


@dataclass(frozen=True)
class Level:
    """One rule of a list: `column` = `value`, and the rows of each class that it captures; the default rule: -1."""

    column: int
    value: int
    counts: tuple[int, ...]


@dataclass(frozen=True)
class ListRule:
    """The settings of GreedyRL of width 1: `max_length` counts the default rule (None: no limit)."""

    min_support: int = 1
    max_length: int | None = None
    negations: bool = True


def list_share(
    levels: Sequence[Level], columns: int, rule: ListRule, limits: Limits, *, default_rule: bool = True
) -> RuleShare:
    """Return the share of the worlds in which the learner chooses this list."""
    raise NotImplementedError
