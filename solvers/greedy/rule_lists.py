"""In what share of a release's worlds GreedyRL of width 1 chooses its list: a dynamic program per column.

The tolerance with which the learner compares scores couples the columns in the worlds in which a score is that near the
chosen one without being equal: these count as possible, and the lower bound leaves them out.

Shares of all fillings of a column by its state, the ones of each class among some rows: windows that lie apart.

Where next to nothing is left of the default rule's states, that is in corners far from each other; each has a window of
its own (`solvers.greedy.states`), in its own scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.errors import ContradictionError, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.greedy.conditions import (
    ChosenLevel,
    ListLevel,
    ListRule,
    broken_limit,
    chosen_levels,
    column_mask,
    default_mask,
)
from solvers.greedy.gains import RuleShare
from solvers.greedy.states import (
    StateWindow,
    U,
    binomials,
    convolved,
    free_leaf,
    log2_of,
    normalised,
    point,
    restricted_window,
)

Bools = NDArray[np.bool_]
Mask = Callable[[NDArray[np.int64], NDArray[np.int64]], tuple[Bools, Bools]]  # ones of both classes -> possible, sure
UPWARDS = 1e-6  # by which logarithms of what is lost or doubted are rounded up
DEEP = 700  # bits below the most probable state: less is lost
BLOCK = 1 << 20  # states looked at together
GAP = 48  # states between windows that are kept apart
MAX_WINDOWS = 24  # windows


@dataclass(frozen=True, eq=False)
class Mass:
    """The windows; `lost` and `doubt`: log2 of bounds.

    `lost`: on the share of states that are in no window. `doubt`: on that of states which are kept although the learner
    may have chosen otherwise there.
    """

    windows: tuple[StateWindow, ...]
    lost: float = -math.inf
    doubt: float = -math.inf

    def found(self) -> tuple[float, float]:
        """Return bounds on log2 of the share of all states that are kept, in doubt or not."""
        if not self.windows:
            return -math.inf, self.lost
        top = max(w.exponent for w in self.windows)
        totals = [(w.total, w.exponent - top) for w in self.windows]
        slack = 2 * len(totals) * U
        low = math.fsum(math.ldexp(total[0], power) for total, power in totals) * (1 - slack)
        high = math.fsum(math.ldexp(total[1], power) for total, power in totals) * (1 + slack)
        return log2_of((low, low), top)[0], _log2_sum(log2_of((high, high), top)[1], self.lost)

    def bounds(self) -> tuple[float, float]:
        """Return bounds on log2 of the share of the states in which the learner chooses as it did."""
        low, high = self.found()
        if self.doubt == -math.inf or low == -math.inf:
            return low, high
        certain = 1.0 - math.exp2(min(0.0, self.doubt - low + UPWARDS))
        return (low + math.log2(certain) - UPWARDS if certain > 0 else -math.inf), high


def _log2_sum(a: float, b: float) -> float:
    """Return an upper bound on log2(2^a + 2^b)."""
    if a < b:
        a, b = b, a
    if b == -math.inf:
        return a
    return a + 1.5 * math.exp2(max(b - a, -1000.0)) + 4 * U * (abs(a) + 1)  # log2(1 + x) < 1.5 x


def _at(state: tuple[int, int]) -> Mass:
    """Return a state that is certain."""
    return Mass((point(*state),))


def _free(rows: tuple[int, int], cut: float) -> Mass:
    """Return the states of so many rows of each class, of which nothing is known."""
    return Mass((free_leaf(rows, cut),))


def _remaining_states(rows: tuple[int, int], mask: Mask, limits: Limits) -> Mass:
    """Return the states of so many rows that a mask leaves, wherever they are; cost: linear in all states."""
    sides = binomials(rows[0]), binomials(rows[1])
    first, second = (np.log2(mantissas) + exponents for mantissas, exponents in sides)
    ones = np.arange(rows[1] + 1)
    found: list[NDArray[np.int64]] = []
    unsure: list[Bools] = []
    best, dropped = -math.inf, 0
    step = max(1, BLOCK // len(ones))
    for start in range(0, rows[0] + 1, step):
        limits.check("the states of the default rule are listed")
        a = np.arange(start, min(start + step, rows[0] + 1))
        possible, sure = mask(a[:, None], ones[None, :])
        height = np.where(possible, first[a][:, None] + second[None, :], -np.inf)
        best = max(best, float(height.max()))
        near = possible & (height >= best - DEEP)
        dropped += int(possible.sum() - near.sum())
        found.append(np.argwhere(near) + np.array([start, 0]))
        unsure.append(~sure[near])
    states, doubt = np.concatenate(found), np.concatenate(unsure)
    if not len(states):
        return Mass(())
    near = first[states[:, 0]] + second[states[:, 1]] >= best - DEEP
    dropped += int((~near).sum())
    states, doubt = states[near], doubt[near]
    return Mass(
        tuple(_window(part, sides) for part in _parts(states)),
        math.log2(dropped) + best - DEEP + UPWARDS if dropped else -math.inf,
        math.log2(int(doubt.sum())) + best + UPWARDS if doubt.any() else -math.inf,
    )


def _window(states: NDArray[np.int64], sides: tuple[tuple[NDArray[np.float64], NDArray[np.int64]], ...]) -> StateWindow:
    """Return the window around some states, with nothing at the others."""
    (p, e), (q, g) = sides
    low, high = states.min(axis=0), states.max(axis=0)
    power = e[states[:, 0]] + g[states[:, 1]]
    top = int(power.max())
    mass = np.zeros((int(high[0] - low[0]) + 1, int(high[1] - low[1]) + 1))
    value = p[states[:, 0]] * q[states[:, 1]]
    mass[states[:, 0] - low[0], states[:, 1] - low[1]] = np.ldexp(value, (power - top).astype(np.int32))
    return normalised(StateWindow(int(low[0]), int(low[1]), mass, top, 4 * U))


def _parts(states: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the states in groups with gaps between them, all together where there are too many groups."""
    parts = [states]
    for axis in (0, 1, 0, 1):
        split = []
        for part in parts:
            order = part[np.argsort(part[:, axis], kind="stable")]
            split += np.split(order, np.flatnonzero(np.diff(order[:, axis]) > GAP) + 1)
        parts = split
    return parts if len(parts) <= MAX_WINDOWS else [states]


def _with_group(mass: Mass, group: StateWindow, limits: Limits) -> Mass:
    """Return the states once the rows of a group are added (`group`: its states, see `free_leaf`)."""
    limits.check("the states of a column are added up")
    return replace(mass, windows=tuple(convolved(window, group, limits) for window in mass.windows))


def _agree(mass: Mass, one: Mask, other: Mask) -> bool:
    """Return whether two masks leave the same of the states that are there, and doubt the same."""
    for window in mass.windows:
        (possible, sure), (also, certain) = (mask(*window.states()) for mask in (one, other))
        if (((possible != also) | (sure != certain)) & (window.mass > 0)).any():
            return False
    return True


def _masked(mass: Mass, mask: Mask, cut: float) -> Mass:
    """Return the states that a mask leaves; windows lose a part `cut` of their sums at their edges."""
    windows, lost, doubt = [], mass.lost, mass.doubt
    for window in mass.windows:
        possible, sure = mask(*window.states())
        unsure = float(window.mass[possible & ~sure].sum())
        if unsure > 0:
            doubt = _log2_sum(doubt, math.log2(unsure) + window.exponent + UPWARDS)
        found = restricted_window(window, possible, cut)
        if found.mass.any():
            windows.append(found)
        elif found.lost > 0:
            lost = _log2_sum(lost, math.log2(found.lost) + found.exponent + UPWARDS)
    return Mass(tuple(windows), lost, doubt)


__all__ = ["ListLevel", "ListRule", "broken_limit", "list_share", "united"]
CUTS = (1e-18, 1e-40, 1e-80, 1e-160)  # parts at the edges of windows that are given up, fewer where little is left
Bits = tuple[float, float]  # bounds on a logarithm
SHARP = 1e-8  # bits that this may cost


def list_share(
    levels: Sequence[ListLevel], columns: int, rule: ListRule, limits: Limits, *, default_rule: bool = True
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
    chosen = chosen_levels(levels)
    stopped = not default_rule or (rule.max_length is not None and len(levels) >= rule.max_length)
    passes = [_Passes(chosen, rule, stopped, cut, limits) for cut in CUTS]
    table: dict[tuple[int, tuple[bool, ...]], _ListColumn] = {}
    found = []
    for column in range(columns):
        own = next((j for j, level in enumerate(chosen) if level.column == column), -1)
        key = own, tuple(column < level.column for level in chosen)
        if key not in table:
            table[key] = _column(passes, *key)
        found.append(table[key])
    return _share(found)


@dataclass(frozen=True)
class _ListColumn:
    """Bounds on log2 of a column's share `after` the condition at each level and those below it.

    `exact`: no state was in doubt. `nothing`: the lowest level where no filling is left, -1 where one is.
    """

    after: tuple[tuple[float, float], ...]
    exact: bool
    nothing: int = -1


@dataclass(frozen=True, eq=False)
class _LevelStates:
    """The states of a column after the condition at a level, and the bounds there and at the levels below."""

    mass: Mass
    after: tuple[tuple[float, float], ...]


@dataclass(frozen=True, eq=False)
class _Passes:
    """The passes of all columns up the levels, with windows that lose a part `cut` at their edges.

    Columns share what is the same for them: those that no rule tests differ only in the ties that they win, and most
    windows hold no tie. `known` holds states by what they depend on.
    """

    chosen: tuple[ChosenLevel, ...]
    rule: ListRule
    stopped: bool
    cut: float
    limits: Limits
    known: dict[tuple[object, ...], Any] = field(default_factory=dict)

    def up(self, own: int, masks: list[tuple[Mask, Mask]], wins: tuple[bool, ...]) -> _LevelStates:
        """Return what is left of a column that level `own` tests (-1: none does), the first level's condition last."""
        last = len(self.chosen) - 1
        key: tuple[object, ...] = (own,)
        found: _LevelStates = self._once(key, partial(self._start, own))
        for j in range((last if own < 0 else own) - 1, -1, -1):
            group: StateWindow = self._once(("group", j), partial(free_leaf, self.chosen[j].counts, self.cut))
            more: Mass = self._once((*key, "grown"), partial(_with_group, found.mass, group, self.limits))
            same, other = (*key, wins[j]), (*key, not wins[j])
            kept: Mass = self._once(same, partial(_masked, more, masks[j][wins[j]], self.cut))
            if other not in self.known and _agree(more, *masks[j]):
                self.known[other] = kept
            key = (*key, id(kept))
            found = _LevelStates(kept, (kept.bounds(), *found.after))
        return found

    def _start(self, own: int) -> _LevelStates:
        """Return the states at the lowest level that has a condition."""
        last = len(self.chosen) - 1
        if own >= 0:
            return _LevelStates(_at(self.chosen[own].ones), ((0.0, 0.0),) * (last + 1 - own))
        if self.stopped:
            return _LevelStates(_free(self.chosen[last].rows, self.cut), ((0.0, 0.0),))
        mass = _remaining_states(
            self.chosen[last].rows, partial(default_mask, self.chosen[last], self.rule), self.limits
        )
        return _LevelStates(mass, (mass.bounds(),))

    def _once(self, key: tuple[object, ...], make: Callable[[], Any]) -> Any:
        if key not in self.known:
            self.known[key] = make()
        return self.known[key]


def _column(passes: Sequence[_Passes], own: int, wins: tuple[bool, ...]) -> _ListColumn:
    """Return the share of a column that level `own` tests (-1: none does; below it nothing is taken away).

    `wins`: at which levels it stands before the chosen column.
    """
    chosen, rule = passes[0].chosen, passes[0].rule
    masks: list[tuple[Mask, Mask]] = [
        (partial(column_mask, level, rule, False), partial(column_mask, level, rule, True)) for level in chosen
    ]
    for one in passes:
        found = one.up(own, masks, wins)
        low, high = found.mass.found()
        if low > -math.inf and high - low <= SHARP:
            break
    if own < 0 and rule.limited and not (passes[0].stopped and len(chosen) == 1):
        beyond = _beyond(sum(chosen[0].rows), rule.min_support)
        below = ((low, united((low, high), beyond)[1]) for low, high in found.after[1:])
        return _ListColumn((united(found.after[0], beyond), *below), found.mass.doubt == -math.inf)
    if not found.mass.windows and own > 0:
        own_masks = [pair[win] for pair, win in zip(masks, wins, strict=True)]
        nothing = _emptied(chosen, own, own_masks, passes[0].limits)
        if nothing >= 0:
            after = tuple((-math.inf, -math.inf) if j <= nothing else pair for j, pair in enumerate(found.after))
            return _ListColumn(after, True, nothing)
    return _ListColumn(found.after, found.mass.doubt == -math.inf)


@lru_cache(maxsize=8)
def _beyond(rows: int, least: int) -> Bits:
    """Return bounds on log2 of the share of the fillings of a column with fewer than `least` ones, or zeros."""
    if 2 * least > rows:
        return 0.0, 0.0
    ways, c = 0, 1
    for k in range(least):
        ways += c
        c = c * (rows - k) // (k + 1)
    found = math.log2(2 * ways) - rows
    slack = 8 * U * (rows + 1.0)  # of a logarithm of at most `rows` bits and of the difference
    return found - slack, min(0.0, found + slack)


def united(a: Bits, b: Bits) -> Bits:
    """Return bounds on log2 of the sum of two shares, at most 0."""
    ends = []
    for one, other, sign in ((a[0], b[0], -1), (a[1], b[1], 1)):
        top = max(one, other)
        if top > -math.inf:
            top += math.log2(1.0 + math.exp2(min(one, other) - top))
            top += sign * 8 * U * (abs(top) + 1.0)
        ends.append(min(0.0, top))
    return ends[0], ends[1]


def _emptied(chosen: tuple[ChosenLevel, ...], own: int, masks: list[Mask], limits: Limits) -> int:
    """Return the lowest level above `own` where no state of its column is possible, -1 where some always is.

    Only columns that a rule tests can have none: others may be constant. Cost: linear in all states, per level.
    """
    need = 24 * math.prod(n + 1 for n in chosen[0].rows)
    if need > limits.room:
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


def _share(found: Sequence[_ListColumn]) -> RuleShare:
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
