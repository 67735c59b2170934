"""Worlds drawn uniformly from those in which a greedy learner could have chosen its tree.

Backward through the dynamic program: a column's state at the root is drawn with its weight, then, node by node, the
states of the two children given their sum; at the leaves the rows with ones are chosen uniformly. Draws use whole
numbers proportional to the weights (rounded up), so the probability q of every outcome is known exactly. Where no
weight was cut off, an outcome of w fillings is then accepted with probability w / (q c), c a bound on all these
ratios just above their mean: what is accepted is exactly uniform. Otherwise the distance from uniform is bounded.
Source: von Neumann, Various techniques used in connection with random digits, 1951 (rejection); docs/mathematics.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.errors import ContradictionError, Inconclusive
from solvers.foundation.limits import Limits
from solvers.greedy.gains import ChosenTree, GreedyRule, check_choice
from solvers.greedy.states import DIRECT, UP, StateWindow, U, log2_of
from solvers.greedy.tree_counts import ChoiceConditions, Passes, check_tree, downwards

MAX_UNCUT_STATES = 40_000  # states of the root for which nothing is cut off: about 400 rows
SHARP = ((1e-22, DIRECT), (1e-120, 2e10), (1e-250, 2e10))  # what is cut off elsewhere, products before transforms
FAR = 1e-6  # a variation distance of one column beyond which less is cut off
DIGITS = 60  # bits of the sum of the whole numbers drawn from
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sampler:
    """Draws columns independently, each uniformly among its fillings under the rule.

    `exact`: whether the draws are exactly uniform, given random bits; otherwise `variation` bounds the total variation
    distance of one whole world from uniform. Rows stand in the order of `leaf_of_row` and `class_of_row` (rows,).
    """

    exact: bool
    variation: float
    leaf_of_row: Ints
    class_of_row: Ints
    tree: ChosenTree
    windows: list[dict[int, StateWindow]] = field(repr=False)
    limits: Limits = field(repr=False)

    @classmethod
    def of(
        cls, tree: ChosenTree, columns: int, rule: GreedyRule, limits: Limits, *, whole: int = MAX_UNCUT_STATES
    ) -> Sampler:
        """Return a sampler; `whole`: states of the root for which nothing is cut off, so that it is exact.

        Raises `ContradictionError` where the rule leaves some column no filling, `Inconclusive` at the limits. Cost
        and memory: the dynamic program's windows of every column are kept.
        """
        check_tree(tree, columns)
        check_choice(tree, rule)
        small = math.prod(int(n) + 1 for n in tree.counts[0]) <= whole
        conditions = ChoiceConditions(tree, rule, False, True, limits.room)
        rounds = [Passes(conditions, *how, limits, keep=True) for how in (((0.0, math.inf),) if small else SHARP)]
        windows: list[dict[int, StateWindow]] = []
        used = set(tree.column.tolist())
        unused = next((c for c in range(columns) if c not in used), columns)
        for column in range(columns):
            if column > unused and column not in used:
                windows.append(windows[unused])
                continue
            windows.append(_kept_windows(rounds, column))
            if sum({id(w): w.mass.nbytes for d in windows for w in d.values()}.values()) > limits.room:
                raise Inconclusive("the memory is too small to keep the states of every column")
        exact = all(w.lost <= 0 and w.relative < 0.1 for found in windows for w in found.values())
        leaves = np.flatnonzero(tree.column < 0)
        sizes = tree.counts[leaves].ravel()
        return cls(
            exact,
            0.0 if exact else min(1.0, sum(_variation(tree, found) for found in windows)),
            np.repeat(np.repeat(leaves, 2), sizes),
            np.repeat(np.tile(np.arange(2), len(leaves)), sizes),
            tree,
            windows,
            limits,
        )

    def column(self, column: int, rng: np.random.Generator) -> Ints:
        """Return states (nodes, 2): ones of each class among each node's rows, of one filling of a column."""
        while True:
            self.limits.check("a world was drawn")
            states, draws = self._descend(column, rng)
            if not self.exact or self._accepted(column, states, draws, rng):
                return states

    def filling(self, column: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return one filling (rows,) of a column, uniform among those under the rule."""
        states, parts = self.column(column, rng), []
        for leaf in np.flatnonzero(self.tree.column < 0):
            for size, ones in zip(self.tree.counts[leaf], states[leaf], strict=True):
                parts.append(rng.permutation(np.arange(size) < ones))
        return np.concatenate(parts)

    def world(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return one world (rows, columns), uniform among those under the rule."""
        return np.stack([self.filling(column, rng) for column in range(len(self.windows))], axis=1)

    def _descend(self, column: int, rng: np.random.Generator) -> tuple[Ints, list[_Draw]]:
        """Return the states of one path down the program, and what was drawn from."""
        tree, windows = self.tree, self.windows[column]
        states = np.zeros((len(tree.column), 2), dtype=np.int64)
        root = windows[0]
        place, draw = _draw_entry(root.mass, root.relative, rng)
        states[0], draws = (root.first + place[0], root.second + place[1]), [draw]
        for node in downwards(tree, ()):
            if tree.column[node] < 0:
                continue
            then, otherwise = int(tree.then[node]), int(tree.otherwise[node])
            if node not in windows or tree.column[node] == column:  # constant below
                filled = (states[node] == tree.counts[node]).all() if node not in windows else None
                states[then] = tree.counts[then] if filled is None or filled else 0
                states[otherwise] = tree.counts[otherwise] if filled else 0
                continue
            pairs, first, second, relative = _pairs(windows[then], windows[otherwise], states[node])
            place, draw = _draw_entry(pairs, relative, rng)
            draws.append(draw)
            states[then] = first + place[0], second + place[1]
            states[otherwise] = states[node] - states[then]
        return states, draws

    def _accepted(self, column: int, states: Ints, draws: list[_Draw], rng: np.random.Generator) -> bool:
        """Return whether a path is kept: with probability w / (q c), w its fillings, q its probability."""
        root = self.windows[column][0]
        least = math.prod(draw.least for draw in draws) * root.total[0] / root.total[1] * (1 - 2.0**-40)
        digits = int(rng.integers(1 << 62))
        if digits + 1 <= least * 2.0**62:
            return True
        bound = Fraction(root.total[1]) * Fraction(2) ** root.exponent
        chance = Fraction(1)
        for draw in draws:
            bound *= draw.most
            chance *= draw.chance
        for leaf in np.flatnonzero(self.tree.column < 0):
            if int(leaf) in self.windows[column]:
                for size, ones in zip(self.tree.counts[leaf].tolist(), states[leaf].tolist(), strict=True):
                    chance /= Fraction(math.comb(size, ones), 1 << size)
        return _below(1 / (bound * chance), digits, rng)


@dataclass(frozen=True)
class _Draw:
    """One draw: its probability, exactly, and bounds on the ratio of the true probability to it.

    `most` over all outcomes, `least` for this one, divided by `most`.
    """

    chance: Fraction
    most: Fraction
    least: float


def _draw_entry(
    weights: NDArray[np.float64], relative: float, rng: np.random.Generator
) -> tuple[tuple[int, int], _Draw]:
    """Return the place of an entry drawn in proportion to weights, whole numbers of 2^60 in all, rounded up."""
    line = weights.ravel()
    places = np.flatnonzero(line)
    positive = line[places]
    total = float(positive.sum())
    shift = DIGITS - math.frexp(total)[1]
    scaled = np.ldexp(positive, shift)
    sums = np.cumsum(np.ceil(scaled).astype(np.int64))
    k = int(np.searchsorted(sums, rng.integers(sums[-1]), side="right"))
    whole = int(sums[k] - (sums[k - 1] if k else 0))
    more = (1 + relative) / (1 - relative) * (1 + len(line) / math.ldexp(total, shift)) * (1 + 4 * len(line) * U) * UP
    least = ((1 - relative) / (1 + relative)) * float(scaled[k]) / whole / more * (1 - 4 * len(line) * U) / UP
    where = divmod(int(places[k]), weights.shape[1])
    return where, _Draw(Fraction(whole, int(sums[-1])), Fraction(more), least)


def _pairs(one: StateWindow, two: StateWindow, state: Ints) -> tuple[NDArray[np.float64], int, int, float]:
    """Return the weights of the states of one child where the two sum to a state, and where they begin."""
    slices, starts = [], []
    for axis, (low, other) in enumerate(((one.first, two.first), (one.second, two.second))):
        least = max(low, int(state[axis]) - other - two.mass.shape[axis] + 1)
        most = min(low + one.mass.shape[axis] - 1, int(state[axis]) - other)
        slices.append((slice(least - low, most - low + 1), int(state[axis]) - other - most, most - least + 1))
        starts.append(least)
    (i, p, s), (j, q, t) = slices
    weights = one.mass[i, j] * two.mass[p : p + s, q : q + t][::-1, ::-1]
    return weights, starts[0], starts[1], ((1 + one.relative) * (1 + two.relative) * (1 + U) - 1) * UP


def _below(chance: Fraction, digits: int, rng: np.random.Generator) -> bool:
    """Return whether a uniform number, whose first 62 binary digits are given, is below a chance; more as needed."""
    while True:
        chance *= 1 << 62
        whole = math.floor(chance)
        if digits != whole:
            return digits < whole
        chance -= whole
        digits = int(rng.integers(1 << 62))


def _variation(tree: ChosenTree, windows: dict[int, StateWindow]) -> float:
    """Return a bound on the total variation distance of a column's path from its law.

    It is at most the sum, over the draws, of the mean distance of one draw from its law: relative errors of weights
    count as they are, as does the rounding to whole numbers. What is lost by children l, r at a node, e_l and e_r in
    sum, e_l |f_r| + |f_l| e_r + e_l e_r of its pairs, weighs at most as much as leads from there to the root: the
    product of the sums of the siblings on the way, over the root's sum.
    """
    root = windows[0]
    base = log2_of(root.total, root.exponent)[0]
    found = root.relative + (root.lost + root.mass.size * 2.0**-50) / root.total[0]
    above = {0: 0.0}
    for node in downwards(tree, ()):
        children = [int(tree.then[node]), int(tree.otherwise[node])]
        if node not in windows or any(child not in windows for child in children):
            continue
        one, two = (windows[child] for child in children)
        found += one.relative + two.relative + min(one.mass.size, two.mass.size) * 2.0**-50
        if (off := one.lost * two.total[1] + two.lost * one.total[1]) > 0:
            found += 2.0 ** min(0.0, math.log2(off) + one.exponent + two.exponent + above[node] - base)
        for child, sibling in ((children[0], two), (children[1], one)):
            above[child] = above[node] + math.log2(sibling.total[1]) + sibling.exponent
    return found * (1 + 1e-6)


def _kept_windows(rounds: list[Passes], column: int) -> dict[int, StateWindow]:
    """Return a column's windows, of the first round whose weights are close, or of the last."""
    for passes in rounds:
        found, _, bad = passes.windows(column)
        if bad is not None:
            raise _nothing(bad, column)
        if found[0].total[0] > 0 and _variation(passes.conditions.tree, found) <= FAR:
            return found
    if found[0].total[0] <= 0:
        raise _nothing(None, column)
    return found


def _nothing(node: int | None, column: int) -> ContradictionError | Inconclusive:
    if node is None:
        return Inconclusive(f"it was not found whether column {column} has a filling left under the learner's rule")
    text = f"node {node}: no filling of column {column} is left under the learner's rule"
    return ContradictionError(f"the learner could not have chosen this tree: {text}", (text,))
