"""In what share of a release's worlds GreedyRL of width 1 chooses its list: a dynamic program per column.

The learner is `recon.learners.rule_lists.greedy_rule_list` as it computes, in double precision: among literals whose
score is within `TIE` of the best it takes the smaller captured part, then the first column, "= 1" before "= 0". The
tolerance couples the columns in the worlds in which a score is that near the chosen one without being equal: these
count as possible, and the lower bound leaves them out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.errors import ContradictionError, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.greedy.chosen import RuleShare
from solvers.greedy.list_states import (
    Binomial,
    Bools,
    Floats,
    Mask,
    Mass,
    agree,
    at,
    binomial,
    free,
    grown,
    left,
    masked,
)

TIE = 1e-12  # the learner's: scores closer than this (relative) are equal
BITS = (60.0, 120.0, 240.0, 480.0)  # below the most probable state: what is looked at, more where little is left
SHARP = -30.0  # log2 of the part of what is found that may be lost
Pair = tuple[int, int]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Level:
    """One rule of a list: `column` = `value`, and the rows of each class that it captures; the default rule: -1."""

    column: int
    value: int
    counts: tuple[int, ...]


@dataclass(frozen=True)
class ListRule:
    """The settings of GreedyRL of width 1: `min_support` in rows, `max_length` counts the default rule (None: none).

    `negations`: whether "column = 0" is a literal too.
    """

    min_support: int = 1
    max_length: int | None = None
    negations: bool = True


@dataclass(frozen=True, eq=False)
class _Chosen:
    """A level as the conditions see it: rows of each class left before it, and the literal that was chosen.

    `counts`: rows that it captures, `ones`: rows left before it whose column is 1.
    """

    rows: Pair
    column: int
    counts: Pair
    ones: Pair
    score: float
    base: float


def list_share(
    levels: Sequence[Level], columns: int, rule: ListRule, limits: Limits, *, default_rule: bool = True
) -> RuleShare:
    """Return the share of the worlds (`assigned`) in which the learner chooses this list, with rigorous bounds.

    `levels` top down, the default rule last; `columns` in all. `by_node` is by level: what the condition at a level
    takes away, given those below it. `default_rule`: whether it counts that no rule was added to the list. The order
    of the learner is exact but for its tolerance, so that bounds meet up to rounding; `exact` says that no state was in
    doubt.

    Raises `Unsupported` for other than two classes, `ContradictionError` naming the level and the limit where the
    learner could not have chosen the list in any world; `TooLarge`, `Inconclusive`. Cost: (levels)^2 products of
    windows of about (9 sqrt rows)^2 states; without a limit on its length also the states of the default rule's rows.
    """
    if any(len(level.counts) != 2 for level in levels):
        raise Unsupported("exact counts under the learner's rule need two classes")
    if why := broken_limit(levels, columns, rule):
        raise ContradictionError(f"the list was not chosen by a greedy rule list with these settings: {why}", (why,))
    chosen = _chosen(levels)
    stopped = not default_rule or (rule.max_length is not None and len(levels) >= rule.max_length)
    sides = tuple((binomial(level.counts[0]), binomial(level.counts[1])) for level in chosen)
    passes = [_Passes(chosen, rule, stopped, bits, limits, sides) for bits in BITS]
    table: dict[tuple[int, tuple[bool, ...]], _Column] = {}
    found = []
    for column in range(columns):
        own = next((j for j, level in enumerate(chosen) if level.column == column), -1)
        key = own, tuple(column < level.column for level in chosen)
        if key not in table:
            table[key] = _column(passes, *key)
        found.append(table[key])
    return _share(found)


def broken_limit(levels: Sequence[Level], columns: int, rule: ListRule) -> str | None:
    """Return in a sentence which limit or order a list breaks whatever the other columns hold, None where none.

    Levels are numbered from 0. Also looked at: the literal with the same two parts as the chosen one.
    """
    if not levels or levels[-1].column >= 0:
        return "it has no default rule"
    if rule.max_length is not None and len(levels) > rule.max_length:
        return f"it has {len(levels)} rules with the default rule, and max_length is {rule.max_length}"
    seen: set[int] = set()
    for j, level in enumerate(_chosen(levels)[:-1]):
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
        if rule.negations and other >= rule.min_support and (other, value) < (captured, 1 - value):
            before = f"the opposite test with the same score {other:,}"
            return f"rule {j} captures {captured:,} rows, and {before}: that comes first"
    return None


def _chosen(levels: Sequence[Level]) -> tuple[_Chosen, ...]:
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
        score = float(scores(np.array(own[0]), np.array(own[1]), pair)) if level.column >= 0 else math.inf
        ones = own if level.value else (pair[0] - own[0], pair[1] - own[1])
        out.append(_Chosen(pair, level.column, own, ones, score, base))
    return tuple(out)


def scores(a: Ints, b: Ints, rows: Pair) -> Floats:
    """Return the learner's score of literals that capture a and b rows of the two classes, in its own arithmetic.

    Both literals of a column have the same. NaN or infinite where all rows or none are captured.
    """
    inside, n = (a + b).astype(float), float(sum(rows))
    captured = a.astype(float) ** 2 + b.astype(float) ** 2
    others = (rows[0] - a).astype(float) ** 2 + (rows[1] - b).astype(float) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = captured / inside + others / (n - inside)
    return found


def lowered(score: Floats | float) -> Floats:
    """Return from which score on others are tied with one, as the learner computes it."""
    found: Floats = score - TIE * np.maximum(1.0, np.abs(score))
    return found


def _mask(level: _Chosen, rule: ListRule, wins: bool, a: Ints, b: Ints) -> tuple[Bools, Bools]:
    """Return in which states of another column its literals may come after the chosen one, and in which they surely do.

    `wins`: the column stands before the chosen one, so that it comes first where score and captured rows are equal.
    """
    n, captured = sum(level.rows), sum(level.counts)
    inside = a + b
    score = scores(a, b, level.rows)
    below = lowered(score) <= level.score
    possible = sure = np.ones(inside.shape, dtype=bool)
    for size in (inside, n - inside) if rule.negations else (inside,):
        allowed = (size >= rule.min_support) & (size < n)
        first = (size < captured) | ((size == captured) & wins)
        possible = possible & (~allowed | (below & (~first | (score < level.score))))
        sure = sure & (~allowed | (below & (~first | (score < lowered(level.score)))))
    return possible, sure & possible


def _default_mask(level: _Chosen, rule: ListRule, a: Ints, b: Ints) -> tuple[Bools, Bools]:
    """Return in which states a column may have, and surely has, no literal worth another rule."""
    n, inside = sum(level.rows), a + b
    score, most = scores(a, b, level.rows), level.base + TIE * max(1.0, level.base)
    allowed = (inside >= rule.min_support) & (inside < n)
    if rule.negations:
        allowed = allowed | ((n - inside >= rule.min_support) & (inside > 0))
    return ~allowed | (lowered(score) <= most), ~allowed | (score <= most)


@dataclass(frozen=True)
class _Column:
    """Bounds on log2 of a column's share `after` the condition at each level and those below it.

    `exact`: no state was in doubt. `nothing`: the lowest level where no filling is left, -1 where one is.
    """

    after: tuple[tuple[float, float], ...]
    exact: bool
    nothing: int = -1


@dataclass(frozen=True, eq=False)
class _Kept:
    """The states of a column after the condition at a level, and the bounds there and at the levels below."""

    mass: Mass
    after: tuple[tuple[float, float], ...]


@dataclass(frozen=True, eq=False)
class _Passes:
    """The passes of all columns up the levels, from the states that are looked at (`bits`).

    Columns share what is the same for them: those that no rule tests differ only in the ties that they win, and most
    windows hold no tie. `known` holds states by what they depend on, `sides` the binomials of every level's group.
    """

    chosen: tuple[_Chosen, ...]
    rule: ListRule
    stopped: bool
    bits: float
    limits: Limits
    sides: tuple[tuple[Binomial, Binomial], ...]
    known: dict[tuple[object, ...], Any] = field(default_factory=dict)

    def up(self, own: int, masks: list[tuple[Mask, Mask]], wins: tuple[bool, ...]) -> _Kept:
        """Return what is left of a column that level `own` tests (-1: none does), the first level's condition last."""
        last = len(self.chosen) - 1
        key: tuple[object, ...] = (own,)
        found: _Kept = self._once(key, partial(self._start, own))
        for j in range((last if own < 0 else own) - 1, -1, -1):
            more: Mass = self._once((*key, "grown"), partial(grown, found.mass, self.sides[j], self.bits, self.limits))
            same, other = (*key, wins[j]), (*key, not wins[j])
            kept: Mass = self._once(same, partial(masked, more, masks[j][wins[j]], self.bits))
            if other not in self.known and agree(more, *masks[j]):
                self.known[other] = kept
            key = (*key, id(kept))
            found = _Kept(kept, (kept.bounds(), *found.after))
        return found

    def _start(self, own: int) -> _Kept:
        """Return the states at the lowest level that has a condition."""
        last, bits = len(self.chosen) - 1, self.bits
        if own >= 0:
            return _Kept(at(self.chosen[own].ones), ((0.0, 0.0),) * (last + 1 - own))
        if self.stopped:
            return _Kept(free(self.chosen[last].rows, bits, self.limits), ((0.0, 0.0),))
        mass = left(self.chosen[last].rows, partial(_default_mask, self.chosen[last], self.rule), bits, self.limits)
        return _Kept(mass, (mass.bounds(),))

    def _once(self, key: tuple[object, ...], make: Callable[[], Any]) -> Any:
        if key not in self.known:
            self.known[key] = make()
        return self.known[key]


def _column(passes: Sequence[_Passes], own: int, wins: tuple[bool, ...]) -> _Column:
    """Return the share of a column that level `own` tests (-1: none does; below it nothing is taken away).

    `wins`: at which levels it stands before the chosen column.
    """
    chosen, rule = passes[0].chosen, passes[0].rule
    masks: list[tuple[Mask, Mask]] = [(partial(_mask, c, rule, False), partial(_mask, c, rule, True)) for c in chosen]
    for one in passes:
        found = one.up(own, masks, wins)
        if found.mass.lost <= found.after[0][1] + SHARP and found.mass.windows:
            break
    if not found.mass.windows and own > 0:
        own_masks = [pair[win] for pair, win in zip(masks, wins, strict=True)]
        nothing = _emptied(chosen, own, own_masks, passes[0].limits)
        if nothing >= 0:
            after = tuple((-math.inf, -math.inf) if j <= nothing else pair for j, pair in enumerate(found.after))
            return _Column(after, True, nothing)
    return _Column(found.after, found.mass.doubt == -math.inf)


def _emptied(chosen: tuple[_Chosen, ...], own: int, masks: list[Mask], limits: Limits) -> int:
    """Return the lowest level above `own` where no state of its column is possible, -1 where some always is.

    Only columns that a rule tests can have none: others may be constant. Cost: linear in all states, per level.
    """
    need = 24 * math.prod(n + 1 for n in chosen[0].rows)
    if need > limits.memory:
        raise TooLarge(f"whether any filling is left takes {need / 1e9:.1f} GB to settle: give more --memory")
    low = chosen[own].ones
    there = np.ones((1, 1), dtype=bool)
    for j in range(own - 1, -1, -1):
        limits.check("the states of a column are listed")
        for axis, more in enumerate(chosen[j].counts):  # any number of the group's rows may be ones
            sums = np.cumsum(np.pad(there, [(1, more) if i == axis else (0, 0) for i in (0, 1)]), axis=axis)
            later, before = np.arange(1, there.shape[axis] + more + 1), np.arange(there.shape[axis] + more) - more
            there = np.take(sums, later, axis) > np.take(sums, np.maximum(before, 0), axis)
        a, b = (start + np.arange(n) for start, n in zip(low, there.shape, strict=True))
        there = there & masks[j](a[:, None], b[None, :])[0]
        if not there.any():
            return j
    return -1


def _share(found: Sequence[_Column]) -> RuleShare:
    """Return the shares of all columns together, by column and by level."""
    by_level = []
    for j in range(len(found[0].after)):
        pairs = [(c.after[j], c.after[j + 1] if j + 1 < len(c.after) else (0.0, 0.0)) for c in found]
        low = _sum([max(0.0, above[0] - here[1]) if here[1] > -math.inf else _gone(above) for here, above in pairs])
        high = _sum([max(0.0, above[1] - here[0]) if here[0] > -math.inf else _gone(above) for here, above in pairs])
        by_level.append((max(0.0, low[0]), high[1]))
    total = _sum([c.after[0][0] for c in found])[0], min(0.0, _sum([c.after[0][1] for c in found])[1])
    empty = [(c.nothing, -k) for k, c in enumerate(found) if c.nothing >= 0]
    nothing = (max(empty)[0], -max(empty)[1]) if empty else None
    by_column = [(c.after[0][0], min(0.0, c.after[0][1])) for c in found]
    return RuleShare(total, by_column, by_level, nothing, all(c.exact for c in found))


def _gone(above: tuple[float, float]) -> float:
    """Return the bits that go where nothing is left: infinitely many, none where nothing was left before."""
    return 0.0 if above[1] == -math.inf else math.inf


def _sum(terms: Sequence[float]) -> tuple[float, float]:
    """Return bounds on a sum."""
    if any(math.isinf(t) for t in terms):
        return (next(t for t in terms if math.isinf(t)),) * 2
    found = math.fsum(terms)
    return math.nextafter(found, -math.inf), math.nextafter(found, math.inf)
