"""What GreedyRL of width 1 demands of a column at each level of its list, in the learner's own arithmetic.

The learner is `recon.learners.rule_lists.greedy_rule_list`: in double precision, among literals whose score is within
`TIE` of the best, it takes the one whose captured part is purer (`ties` "authors"), then the smaller captured part,
then the first column, "= 1" before "= 0". With "authors" only literals with a support on all rows in [min_support,
all - min_support] are candidates: both literals of a column are, or none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TIE = 1e-12  # the learner's: scores closer than this (relative) are equal
DIGITS = 9  # the learner's: decimals to which impurities of captured parts are compared
Pair = tuple[int, int]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class ListLevel:
    """One rule of a list: `column` = `value`, and the rows of each class that it captures; the default rule: -1."""

    column: int
    value: int
    counts: tuple[int, ...]


@dataclass(frozen=True)
class ListRule:
    """The settings of GreedyRL of width 1: `min_support` in rows, `max_length` counts the default rule (None: none).

    `negations`: whether "column = 0" is a literal too. `ties`: "authors" or "fewest", see the module.
    """

    min_support: int = 1
    max_length: int | None = None
    negations: bool = True
    ties: str = "fewest"

    @property
    def limited(self) -> bool:
        """Return whether candidates have an upper limit on their support as well."""
        return self.ties == "authors"

    def impurity(self, a: Ints, b: Ints) -> Floats:
        """Return what equal scores are compared by first: rows times Gini of the captured part, 0 where nothing is."""
        inside = (a + b).astype(float)
        if not self.limited:
            return np.zeros(inside.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Floats = np.round(inside - (a.astype(float) ** 2 + b.astype(float) ** 2) / inside, DIGITS)
        return np.nan_to_num(found)

    def candidate(self, support: Ints, rows: int) -> Bools:
        """Return whether a literal that holds in so many of all rows is a candidate."""
        found: Bools = (support >= self.min_support) & (support <= rows - self.min_support)
        return found if self.limited else np.ones(found.shape, dtype=bool)


@dataclass(frozen=True, eq=False)
class ChosenLevel:
    """A level as the conditions see it: rows of each class left before it, and the literal that was chosen.

    `counts`: rows that it captures, `ones`: rows left before it whose column is 1. `reach`: see `reached`. `top`: it is
    the first level, where all rows are left.
    """

    rows: Pair
    column: int
    counts: Pair
    ones: Pair
    score: float
    base: float
    reach: float = -math.inf
    top: bool = False


def broken_limit(levels: Sequence[ListLevel], columns: int, rule: ListRule) -> str | None:
    """Return in a sentence which limit or order a list breaks whatever the other columns hold, None where none.

    Levels are numbered from 0. Also looked at: the literal with the same two parts as the chosen one.
    """
    if not levels or levels[-1].column >= 0:
        return "it has no default rule"
    if rule.max_length is not None and len(levels) > rule.max_length:
        return f"it has {len(levels)} rules with the default rule, and max_length is {rule.max_length}"
    seen: set[int] = set()
    for j, level in enumerate(chosen_levels(levels)[:-1]):
        captured, rows = sum(level.counts), sum(level.rows)
        value = levels[j].value
        if level.column >= columns:
            return f"rule {j} tests column {level.column} of {columns}"
        if level.column in seen:
            return f"rule {j} tests a column again that is constant in the rows left"
        seen.add(level.column)
        if captured < rule.min_support:
            return f"rule {j} captures {captured:,} rows, and min_support is {rule.min_support:,}"
        if captured >= rows:
            return f"rule {j} captures all {rows:,} rows that are left, and a rule captures fewer"
        if not value and not rule.negations:
            return f"rule {j} asks for 0, and negations are off"
        if level.score <= level.base + TIE * max(1.0, level.base):
            return f"rule {j} lowers no impurity"
        other = rows - captured
        parts = np.array([level.counts, np.subtract(level.rows, level.counts)])
        mine, opposite = rule.impurity(parts[:, 0], parts[:, 1]).tolist()
        first = (opposite, other, value) < (mine, captured, 1 - value)
        if rule.negations and other >= rule.min_support and first:
            before = f"the opposite test with the same score {other:,}"
            return f"rule {j} captures {captured:,} rows, and {before}: that comes first"
        if not j and rule.limited and other < rule.min_support:
            return f"rule {j} captures all but {other:,} rows, and min_support is {rule.min_support:,}"
    return None


def chosen_levels(levels: Sequence[ListLevel]) -> tuple[ChosenLevel, ...]:
    """Return the levels without the default rule, and that as the last one with column -1 (score: nothing to beat)."""
    out = []
    rows = np.array([level.counts for level in levels], dtype=np.int64)
    for j, level in enumerate(levels):
        left_over = rows[j:].sum(axis=0)
        total = left_over.astype(float)
        n = float(total.sum())
        base = float((total**2).sum() / n) if n else 0.0
        pair = (int(left_over[0]), int(left_over[1]))
        own = (int(rows[j][0]), int(rows[j][1]))
        score = float(_scores(np.array(own[0]), np.array(own[1]), pair)) if level.column >= 0 else math.inf
        ones = own if level.value else (pair[0] - own[0], pair[1] - own[1])
        reach = _tie_thresholds(pair, score) if level.column >= 0 else -math.inf
        out.append(ChosenLevel(pair, level.column, own, ones, score, base, reach, not j))
    return tuple(out)


def _scores(a: Ints, b: Ints, rows: Pair) -> Floats:
    """Return the learner's score of literals that capture a and b rows of the two classes, in its own arithmetic.

    Both literals of a column have the same. NaN or infinite where all rows or none are captured.
    """
    inside, n = (a + b).astype(float), float(sum(rows))
    captured = a.astype(float) ** 2 + b.astype(float) ** 2
    others = (rows[0] - a).astype(float) ** 2 + (rows[1] - b).astype(float) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = captured / inside + others / (n - inside)
    return found


def _lowered(score: Floats | float) -> Floats:
    """Return from which score on others are tied with one, as the learner computes it."""
    found: Floats = score - TIE * np.maximum(1.0, np.abs(score))
    return found


def _tie_thresholds(rows: Pair, chosen: float) -> float:
    """Return below which scores may stay untied in a world whose best score is above the chosen one, and tied with it.

    That is the greatest lower end of ties with a state's score above `chosen` that still takes it in, -inf without
    such a state: then only equal scores are ties (always so for a few hundred rows, as distinct ones differ by
    16 / rows^4 at least). Scores are convex in the ones of class 1: those just above `chosen` stand beside two
    crossings per number of ones of class 0. Cost: linear in the rows of class 0 but for a logarithm.
    """
    a = np.arange(rows[0] + 1)
    middle = a * rows[1] // max(rows[0], 1) if rows[0] else np.array([rows[1] // 2])
    best = -math.inf
    for ends in (np.full(len(a), rows[1] + 1), np.full(len(a), -1)):
        near, far = middle.copy(), ends.copy()  # the score is above `chosen` from between them on
        while (open_ := np.abs(far - near) > 1).any():
            half = np.where(open_, (near + far) // 2, near)
            above = open_ & (_scores(a, half, rows) > chosen)
            near, far = np.where(open_ & ~above, half, near), np.where(above, half, far)
        step = 1 if ends[0] > 0 else -1
        for k in range(-4, rows[1] + 6):
            b = far + step * k
            score = _scores(a, np.clip(b, 0, rows[1]), rows)
            band = (b >= 0) & (b <= rows[1]) & (score > chosen) & (_lowered(score) <= chosen)
            if band.any():
                best = max(best, float(_lowered(score[band]).max()))
            elif k > 4:
                break
    return best


def column_mask(level: ChosenLevel, rule: ListRule, wins: bool, a: Ints, b: Ints) -> tuple[Bools, Bools]:
    """Return in which states of another column its literals may come after the chosen one, and in which they surely do.

    `wins`: the column stands before the chosen one, so that it comes first where score and captured rows are equal. A
    literal that comes first must not be tied with the best one, whose score may be another column's. At the first level
    states of columns that are no candidates are left out.
    """
    n, captured = sum(level.rows), sum(level.counts)
    inside = a + b
    score = _scores(a, b, level.rows)
    below = _lowered(score) <= level.score
    tied = float(_lowered(level.score))
    purity = float(rule.impurity(*(np.array(x) for x in level.counts)))
    possible = sure = rule.candidate(inside, n) if level.top else np.ones(inside.shape, dtype=bool)
    literals = ((a, b), (level.rows[0] - a, level.rows[1] - b))
    for own in literals if rule.negations else literals[:1]:
        size, impurity = own[0] + own[1], rule.impurity(*own)
        allowed = (size >= rule.min_support) & (size < n)
        first = (size < captured) | ((size == captured) & wins)
        first = (impurity < purity) | ((impurity == purity) & first)
        possible = possible & (~allowed | (below & (~first | (score < max(tied, level.reach)))))
        sure = sure & (~allowed | (below & (~first | (score < tied))))
    return possible, sure & possible


def default_mask(level: ChosenLevel, rule: ListRule, a: Ints, b: Ints) -> tuple[Bools, Bools]:
    """Return in which states a column may have, and surely has, no literal worth another rule."""
    n, inside = sum(level.rows), a + b
    score, most = _scores(a, b, level.rows), level.base + TIE * max(1.0, level.base)
    allowed = (inside >= rule.min_support) & (inside < n)
    if rule.negations:
        allowed = allowed | ((n - inside >= rule.min_support) & (inside > 0))
    there = rule.candidate(inside, n) if level.top else np.ones(inside.shape, dtype=bool)
    return there & (~allowed | (_lowered(score) <= most)), there & (~allowed | (score <= most))
