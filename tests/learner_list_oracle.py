"""Brute force over every dataset of a tiny binary domain: in which of them does GreedyRL of width 1 learn a given list.

Two ways that share nothing: `by_fitting` runs the learner itself on every dataset and groups them by the list that
comes out; `by_fillings` fills the open cells of one list's rows in every way and compares, level by level, exact
fractions (Ferry et al., SaTML 2024: the highest Σ_side Σ_class n²/n_side; ties: fewer captured rows, then the first
literal, "column is 1" before "column is 0").

A list's worlds are counted in the convention `assigned`: each row's rule and class is fixed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from learner_oracle import Row, Worlds, multisets

from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier

Counts = tuple[int, ...]


@dataclass(frozen=True)
class RuleList:
    """Rules (column, value, class counts) in order, and the counts of the rows that no rule captures."""

    rules: tuple[tuple[int, int, Counts], ...]
    default: Counts

    @property
    def parts(self) -> list[Counts]:
        return [*(counts for _, _, counts in self.rules), self.default]


@dataclass(frozen=True)
class ListSettings:
    """The settings of a GreedyRuleListClassifier of width 1; `min_support` in rows."""

    min_support: int = 1
    max_length: int | None = None
    negations: bool = True


def learned(rows: Sequence[Row], classes: int, settings: ListSettings) -> RuleList:
    """Return the list that the learner itself finds; classes that it has not seen have count 0."""
    model = GreedyRuleListClassifier(1, settings.min_support, settings.max_length, settings.negations)
    model.fit(np.array([bits for bits, _ in rows]), np.array([k for _, k in rows]))
    names = [str(name) for name in model.feature_names_in_]
    seen = model.classes_.tolist()
    parts = []
    for literals, found in model.rules_:
        counts = tuple(int(found[seen.index(k)]) if k in seen else 0 for k in range(classes))
        parts.append((*((names.index(str(name)), value) for name, value in literals), counts))
    return RuleList(tuple((literal[0], literal[1], counts) for literal, counts in parts[:-1]), parts[-1][0])


def orderings(model: RuleList) -> int:
    """Return n!/Π c!, the datasets with rows in order per `assigned` world."""
    cells = [c for part in model.parts for c in part]
    return math.factorial(sum(cells)) // math.prod(math.factorial(c) for c in cells)


def by_fitting(n: int, columns: int, classes: int, settings: ListSettings) -> dict[RuleList, int]:
    """Return for every list that comes out the number of datasets, rows in order and classes free."""
    found: Counter[RuleList] = Counter()
    for rows, times in multisets(n, columns, classes):
        found[learned(rows, classes, settings)] += times
    return dict(found)


def fillings(model: RuleList, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all fillings (worlds, rows, columns) of the cells left open, and each row's rule and class."""
    fixed: list[list[int | None]] = []
    rule, label = [], []
    for j, counts in enumerate(model.parts):
        cells: list[int | None] = [None] * columns
        for column, value, _ in model.rules[:j]:
            cells[column] = 1 - value
        if j < len(model.rules):
            cells[model.rules[j][0]] = model.rules[j][1]
        for k, c in enumerate(counts):
            fixed += [list(cells)] * c
            rule += [j] * c
            label += [k] * c
    cells_open = [(i, c) for i, row in enumerate(fixed) for c in range(columns) if row[c] is None]
    base = np.array([[bit or 0 for bit in row] for row in fixed], dtype=np.int8)
    table = np.broadcast_to(base, (1 << len(cells_open), *base.shape)).copy()
    index = np.arange(1 << len(cells_open))
    for at, (i, c) in enumerate(cells_open):
        table[:, i, c] = (index >> at) & 1
    return table, np.array(rule, dtype=int), np.array(label, dtype=int)


def gain(inside: Counts, outside: Counts) -> Fraction:
    """Return Σ_side Σ_class n²/n_side, exactly."""
    return sum((Fraction(sum(c * c for c in side), sum(side)) for side in (inside, outside)), Fraction(0))


def consistent(model: RuleList) -> bool:
    """Return whether every rule can capture its rows: no column is asked for again once its value is settled."""
    return len({column for column, _, _ in model.rules}) == len(model.rules)


def by_fillings(model: RuleList, columns: int, settings: ListSettings, *, default_rule: bool = True) -> Worlds:
    """Return the counts by looking at every filling; the learner draws nothing, so `strict` is `could`."""
    table, rule, label = fillings(model, columns)
    classes = len(model.default)
    literals = [(c, v) for c in range(columns) for v in ((1, 0) if settings.negations else (1,))]
    good = np.full(len(table), settings.max_length is None or len(model.parts) <= settings.max_length)
    for j in range(len(model.parts)):
        last = j == len(model.rules)
        if last and (not default_rule or (settings.max_length is not None and len(model.parts) >= settings.max_length)):
            continue
        here = rule >= j
        total = tuple(int((here & (label == k)).sum()) for k in range(classes))
        base = Fraction(sum(c * c for c in total), sum(total))
        ones = np.stack([table[:, here & (label == k), :].sum(axis=1, dtype=int) for k in range(classes)], axis=-1)
        for w in np.flatnonzero(good):
            keys = []
            for i, (c, v) in enumerate(literals):
                inside = tuple((ones[w, c] if v else np.array(total) - ones[w, c]).tolist())
                outside = tuple(t - x for t, x in zip(total, inside, strict=True))
                if max(1, settings.min_support) <= sum(inside) < sum(total):
                    keys.append((-gain(inside, outside), sum(inside), i))
            best = min(keys, default=None)
            if best is not None and -best[0] <= base:
                best = None
            wanted = None if last else literals.index(model.rules[j][:2]) if model.rules[j][:2] in literals else -1
            good[w] = (None if best is None else best[2]) == wanted
    return Worlds(len(table), int(good.sum()), int(good.sum()))
