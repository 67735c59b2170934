"""Candidate rules: single columns and conjunctions of two, as the authors of DP-GreedyRL mine them (card 1 and 2).

`conjunctions` looks at column names only, so its rules are public. `mine` keeps those that enough training rows
meet: that looks at the rows, and no privacy proof covers it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recon.learners.rule_lists.estimator import Antecedent, Literal
from solvers.foundation.errors import ReleaseError


def conjunctions(names: Sequence[str], width: int = 2, negations: bool = True) -> list[Antecedent]:
    """Return every conjunction of 1..width literals on different columns; no data is looked at."""
    literals: list[Literal] = [(n, v) for n in names for v in ((1, 0) if negations else (1,))]
    return [
        chosen
        for size in range(1, width + 1)
        for chosen in combinations(literals, size)
        if len({name for name, _ in chosen}) == size
    ]


def mine(
    rules: Sequence[Antecedent], met: NDArray[Any], weight: NDArray[np.float64], least: float, most: float
) -> tuple[list[Antecedent], NDArray[Any]]:
    """Return the rules met by least..most rows (by number), and their rows of `met`.

    `met` (rules, distinct rows): whether the row meets the rule; `weight` (distinct rows,): how often it occurs.
    """
    support = met @ weight.astype(met.dtype)
    kept = (support >= least) & (support <= most)
    return [rule for rule, k in zip(rules, kept, strict=True) if k], met[kept]


def rule_masks(rules: Sequence[Antecedent], names: Sequence[str], bits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return (rules, rows) booleans: whether the row meets the rule. Cost: rules x rows x literals, one pass each."""
    column = {name: k for k, name in enumerate(names)}
    held = np.stack([~bits.T, bits.T], axis=1)  # (columns, value, rows): one gather per literal of all rules
    out = np.ones((len(rules), len(bits)), dtype=bool)
    for place in range(max((len(rule) for rule in rules), default=0)):
        at = [i for i, rule in enumerate(rules) if len(rule) > place]
        which = [rules[i][place] for i in at]
        out[at] &= held[[column[name] for name, _ in which], [value for _, value in which]]
    return out


def checked_rules(rules: Iterable[Any], names: Sequence[str]) -> list[Antecedent]:
    """Return public rules as tuples of (column, 0 or 1); `ReleaseError` for one that makes no sense."""
    found: list[Antecedent] = []
    for k, rule in enumerate(rules):
        try:
            antecedent = tuple((str(name), int(value)) for name, value in rule)
        except (TypeError, ValueError):
            raise ReleaseError(f"rule {k + 1} must be a sequence of (column, 0 or 1), not {rule!r}") from None
        columns = [name for name, _ in antecedent]
        if not antecedent or len(set(columns)) < len(columns):
            raise ReleaseError(f"rule {k + 1} must have at least one literal and name no column twice: {rule!r}")
        if unknown := [name for name in columns if name not in names]:
            raise ReleaseError(f"rule {k + 1} names the column '{unknown[0]}', which the data do not have")
        if any(value not in (0, 1) for _, value in antecedent):
            raise ReleaseError(f"rule {k + 1} must test for 0 or 1: {rule!r}")
        found.append(antecedent)
    if not found:
        raise ReleaseError("there is no rule to choose from: give at least one")
    return list(dict.fromkeys(found))
