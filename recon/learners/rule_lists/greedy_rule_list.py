"""GreedyRL: a rule list grown from the top, each rule the conjunction with the lowest weighted Gini impurity.

Source: the greedy baseline of Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models",
SaTML 2024 (CART-like: minimise the impurity after the split). x and not-x have the same impurity after the split: of
equal candidates the authors' program takes the one whose captured part is purer (its share times its Gini), and it
chooses among conjunctions with a support on all training rows in [min_support, 1 - min_support]. Both were found by
comparison with their lists (tests/test_greedy_rule_list.py).

Candidate rules: single columns and conjunctions of two, as the authors of DP-GreedyRL mine them (card 1 and 2).

`conjunctions` looks at column names only, so its rules are public. `mine` keeps those that enough training rows
meet: that looks at the rows, and no privacy proof covers it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from encoders.models.learner_facts import Learner, Ties
from recon.learners.rule_lists.estimator import (
    Antecedent,
    Literal,
    RuleListClassifier,
    distinct_rows,
    is_whole,
    support_rows,
    training_data,
)
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


TIE = 1e-12  # impurities closer than this (relative) are equal: what is left is rounding
DIGITS = 9  # decimals of rows to which impurities of captured parts are compared: the rest is rounding


@dataclass(frozen=True, eq=False)
class LiteralTable:
    """Distinct rows: `truth` (rows, literals) bool, whether each literal holds; `weight` (rows, classes) counts."""

    truth: NDArray[np.bool_]
    weight: NDArray[np.float64]

    def keep(self, rows: NDArray[np.bool_]) -> LiteralTable:
        """Return the table of some rows."""
        return LiteralTable(self.truth[rows], self.weight[rows])

    def captured(self, single: bool) -> NDArray[np.float64]:
        """Return the rows per class that every literal, or every pair of literals, captures; the last axis: classes.

        One matrix product per class counts all pairs at once.
        """
        parts = (self.weight[:, c] for c in range(self.weight.shape[1]))
        if single:
            return np.stack([self.truth.T @ part for part in parts], axis=-1)
        return np.stack([self.truth.T @ (self.truth * part[:, None]) for part in parts], axis=-1)


@dataclass(frozen=True, eq=False)
class _Rule:
    """How candidates are compared: literals per rule, rows a rule captures at least, and which of equal ones is first.

    `whole`: all training rows, where candidates are limited by their support on them (None: they are not).
    """

    width: int
    least: float
    ties: Ties
    whole: LiteralTable | None


class GreedyRuleListClassifier(RuleListClassifier):
    """Greedy rule list over binary columns, with scikit-learn's estimator interface.

    `width`: literals per rule at most. `min_support`: rows that a rule must capture, a share of all rows (float)
    or a number (int). `max_length`: rules at most, the default rule included (None: no limit). `negations`:
    whether "column = 0" is a literal too. `ties`: of candidates with equal impurity after the split "authors" takes the
    one whose captured part is purer (share times Gini), among conjunctions with a support on all rows in
    [min_support, 1 - min_support], as the authors' program; "fewest" the one that captures fewer rows, among all that
    capture enough (recon 0.1's rule, kept so that stored results can be repeated).

    After `fit`: `rules_`, a list of (literals, class counts), the default rule last with no literals; `classes_`;
    `learner_`, the settings with the support in rows.
    Cost per rule: distinct rows x (literals)^width / literals, vectorised.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> recon.GreedyRuleListClassifier().fit(rows[["smoker", "old"]], rows["ill"]).rules_
    [((('smoker', 0),), [2, 0]), ((('old', 1),), [0, 1]), ((), [1, 0])]
    """

    def __init__(
        self,
        width: int = 1,
        min_support: float | int = 0.0,
        max_length: int | None = None,
        negations: bool = True,
        ties: Ties = "authors",
    ) -> None:
        self.width = width
        self.min_support = min_support
        self.max_length = max_length
        self.negations = negations
        self.ties = ties

    def fit(self, X: Any, y: ArrayLike) -> GreedyRuleListClassifier:  # noqa: N803 - scikit-learn's name
        """Return the fitted list.

        Raises `ReleaseError` for bad parameters, a column that is not binary, missing labels, unequal lengths.
        """
        names, bits, target = training_data(X, y)
        least = self._least(len(bits))
        codes = self._noted_classes(names, target)
        literals = [(name, v) for name in names for v in ((1, 0) if self.negations else (1,))]
        distinct, back = distinct_rows(bits)
        weight = np.zeros((len(distinct), len(self.classes_)))
        np.add.at(weight, (back, codes), 1)
        truth = np.stack([distinct[:, names.index(n)] == bool(v) for n, v in literals], axis=1)
        table = LiteralTable(truth, weight)
        rule = _Rule(self.width, least, self.ties, table if self.ties == "authors" else None)
        self.rules_ = self._grow(table, literals, rule)
        longest = None if self.max_length is None else int(self.max_length)
        self.learner_ = Learner(
            "greedy rule list", "gini", width=int(self.width), max_length=longest, min_support=int(least),
            negations=bool(self.negations), ties=self.ties, columns=len(names), source="the file",
        )  # fmt: skip
        return self

    def _least(self, n: int) -> float:
        """Return the fewest rows that a rule captures; `ReleaseError` for parameters that make no sense."""
        sizes: dict[str, Any] = {"width": self.width, "max_length": self.max_length}
        for name, value in sizes.items():
            if not (is_whole(value) and value >= 1) and (value is not None or name == "width"):
                raise ReleaseError(f"{name} must be a whole number of at least 1, not {value!r}")
        if self.ties not in get_args(Ties):
            raise ReleaseError(f"ties must be {' or '.join(map(repr, get_args(Ties)))}, not {self.ties!r}")
        return float(max(1, math.ceil(support_rows(self.min_support, n))))

    def _grow(
        self, table: LiteralTable, literals: list[Literal], rule: _Rule
    ) -> list[tuple[tuple[Literal, ...], list[int]]]:
        """Return the rules in order, the default rule last."""
        rules: list[tuple[tuple[Literal, ...], list[int]]] = []
        while self.max_length is None or len(rules) < self.max_length - 1:
            chosen = _best_conjunction(table, rule)
            if chosen is None:
                break
            hit = np.asarray(table.truth[:, list(chosen)].all(axis=1))
            counts = np.rint(table.weight[hit].sum(axis=0)).astype(int).tolist()
            rules.append((tuple(literals[i] for i in chosen), counts))
            table = table.keep(~hit)
        return [*rules, ((), np.rint(table.weight.sum(axis=0)).astype(int).tolist())]


Candidate = tuple[float, float, float, int, tuple[int, ...]]  # score, impurity and rows captured, literals


def _best_conjunction(table: LiteralTable, rule: _Rule) -> tuple[int, ...] | None:
    """Return the literals of the conjunction with the lowest weighted Gini after the split, None without a gain.

    Ties: the purer captured part ("authors"), the smaller one, then fewer literals, then the first in the columns'
    order. Minimising Σ_side (n_side / n) (1 - Σ_c p_c²) is maximising Σ_side Σ_c n_side,c² / n_side, which is what is
    compared.
    """
    total = table.weight.sum(axis=0)
    n = float(total.sum())
    if n < 1:
        return None
    base = float((total**2).sum() / n)
    best: Candidate | None = None
    for size in range(1, rule.width + 1):
        for fixed in combinations(range(table.truth.shape[1]), max(0, size - 2)):
            part = table.keep(np.asarray(table.truth[:, list(fixed)].all(axis=1))) if fixed else table
            if fixed and part.weight.sum() < rule.least:
                continue
            found = _best_of(part, total, rule, fixed, single=size == 1)
            if found is not None and (best is None or _better(found, best)):
                best = found
    if best is None or best[0] <= base + TIE * max(1.0, base):
        return None
    return best[-1]


def _better(a: Candidate, b: Candidate) -> bool:
    """Return whether candidate a comes before b: higher score, then all else ascending."""
    if abs(a[0] - b[0]) > TIE * max(1.0, abs(b[0])):
        return a[0] > b[0]
    return a[1:] < b[1:]


def _best_of(
    part: LiteralTable, total: NDArray[np.float64], rule: _Rule, fixed: tuple[int, ...], *, single: bool
) -> Candidate | None:
    """Return the best single literal, or pair beyond those that are `fixed`, within the part that these capture."""
    captured = part.captured(single)
    inside, n = captured.sum(axis=-1), total.sum()
    allowed = (inside >= rule.least) & (inside < n)
    if not single:
        allowed &= np.triu(np.ones(allowed.shape, dtype=bool), k=1)
        allowed[: (fixed[-1] if fixed else -1) + 1] = False
    if rule.whole is not None:
        whole = rule.whole.keep(np.asarray(rule.whole.truth[:, list(fixed)].all(axis=1)))
        allowed &= whole.captured(single).sum(axis=-1) <= rule.whole.weight.sum() - rule.least
    if not allowed.any():
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = (captured**2).sum(axis=-1) / inside
        score = squares + ((total - captured) ** 2).sum(axis=-1) / (n - inside)
        purer = np.round(inside - squares, DIGITS) if rule.ties == "authors" else np.zeros(inside.shape)
    score = np.where(allowed, score, -np.inf)
    top = float(score.max())
    tied = map(tuple, np.argwhere(score >= top - TIE * max(1.0, abs(top))).tolist())
    at = min(tied, key=lambda at: (purer[at], inside[at], at))
    return float(score[at]), float(purer[at]), float(inside[at]), len(fixed) + len(at), (*fixed, *at)
