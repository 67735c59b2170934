"""In what share of a release's worlds a greedy learner could have chosen its tree: a dynamic program per column.

Where every leaf's class counts are published, every row's leaf and class are fixed (`assigned`), so columns are
independent, and each comparison of the learner reads one column's state (ones of each class among a node's rows)
against constants of the release. Up the tree, a node's weights by state are the convolution of its children's, kept
where the column lets the node's choice stand (`solvers.greedy.gains`); where the node splits on the column itself, its
state is that of the published counts and below it the column is constant. The share of the fillings of a column is
what remains at the root; that of the worlds is the product over the columns. Columns that a subtree does not use have
the same weights there, which are computed once. Proved in docs/mathematics.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.errors import Inconclusive, ReleaseError
from solvers.foundation.limits import Limits
from solvers.greedy.gains import (
    ChosenTree,
    GreedyRule,
    RuleShare,
    check_choice,
    leaves_allowed,
    splits_allowed,
    two_classes,
)
from solvers.greedy.states import (
    DIRECT,
    Mask,
    StateWindow,
    choice_of_leaf,
    convolved,
    free_leaf,
    log2_of,
    point,
    restricted_window,
    sums_reached,
)

CUTS = ((1e-18, DIRECT), (1e-40, 1e9), (1e-120, 2e10), (1e-250, 2e10))  # what is cut, products before transforms
LEAF_BYTES = 120  # per state of an open leaf, while its states are looked at
WIDTH = 1e-6  # bits between the bounds of all columns together that are worth another round
Bits = tuple[float, float]


def tree_share(
    tree: ChosenTree,
    columns: int,
    rule: GreedyRule,
    limits: Limits,
    *,
    strict: bool = False,
    leaf_rule: bool = True,
    width: float = WIDTH,
) -> RuleShare:
    """Return the share of the worlds in which the learner could have chosen this tree, with rigorous bounds.

    `strict`: every other column's gain is below the chosen one's, so that any sequence of draws chooses this tree: a
    lower bound on the share in which one does, whatever the seed. `leaf_rule`: whether open leaves count as what they
    say, that no admissible split was left; without it the share is at least as large. `width`: bits between the bounds
    below which no column is computed anew with sharper cuts. Cost: a convolution per inner node and, for every column,
    per inner node above its splits. Raises `Unsupported` for more than two classes, `ContradictionError` where a split
    breaks a limit of the rule, `Inconclusive` at the limits.
    """
    check_tree(tree, columns)
    check_choice(tree, rule)
    conditions = ChoiceConditions(tree, rule, strict, leaf_rule, limits.room)
    found: dict[int, _TreeColumn] = {}
    used = sorted({int(c) for c in tree.column if c >= 0})
    asked = [*used, *[c for c in range(columns) if c not in used][:1]]
    for cut, direct in CUTS:
        passes = Passes(conditions, cut, direct, limits)
        for column in asked:
            found[column] = passes.column(column)
            if found[column].log2[0] == -np.inf and found[column].nothing_at is None:
                bad = _empty_node(conditions, column, limits)
                found[column] = found[column] if bad is None else replace(found[column], nothing_at=bad)
        asked = [c for c in asked if found[c].wide(width / columns)]
        if not asked:
            break
    unused = next((c for c in found if c not in used), -1)
    every = [found[c if c in found else unused] for c in range(columns)]
    return _share(tree, every, conditions.exact)


def check_tree(tree: ChosenTree, columns: int) -> None:
    """Raise `Unsupported` or `ReleaseError` where the arrays are no tree of two classes over so many columns."""
    two_classes(tree.counts)
    for node, column in enumerate(tree.column):
        if column >= columns:
            raise ReleaseError(f"node {node} splits on column {column}, there are {columns}")
        if column < 0:
            continue
        children = tree.counts[tree.then[node]] + tree.counts[tree.otherwise[node]]
        if (children != tree.counts[node]).any():
            raise ReleaseError(f"node {node} has {tree.counts[node].tolist()} rows, its children {children.tolist()}")


@dataclass(eq=False)
class ChoiceConditions:
    """Which states let a node's choice stand, by windows; kept from one column to the next."""

    tree: ChosenTree
    rule: GreedyRule
    strict: bool
    leaf_rule: bool
    memory: int = 1 << 30
    exact: bool = True
    known: dict[int, tuple[int, int, Mask]] = field(default_factory=dict)

    def counts(self, node: int) -> tuple[int, int]:
        """Return the rows of each class at a node."""
        return int(self.tree.counts[node, 0]), int(self.tree.counts[node, 1])

    def split(self, node: int, window: StateWindow) -> Mask:
        """Return where in a window the split of an inner node stands."""
        shape = window.mass.shape
        first, second, mask = self.known.get(node, (window.first, window.second, np.zeros((0, 0), dtype=bool)))
        i, j = window.first - first, window.second - second
        if i < 0 or j < 0 or i + shape[0] > mask.shape[0] or j + shape[1] > mask.shape[1]:
            chosen = self.counts(int(self.tree.then[node]))
            mask, exact = splits_allowed(self.counts(node), chosen, *window.states(), self.rule, self.strict)
            self.exact &= exact
            self.known[node], i, j = (window.first, window.second, mask), 0, 0
        return mask[i : i + shape[0], j : j + shape[1]]

    def leaf(self, node: int) -> Mask | None:
        """Return which states (n0 + 1, n1 + 1) of a leaf are left, None where all are."""
        n0, n1 = self.counts(node)
        if not (self.leaf_rule and self.tree.open_leaf[node] and n0 and n1):
            return None
        if LEAF_BYTES * (n0 + 1) * (n1 + 1) > self.memory:
            raise Inconclusive(f"the memory is too small for {(n0 + 1) * (n1 + 1):,} states of the leaf {node}")
        states = np.arange(n0 + 1)[:, None], np.arange(n1 + 1)[None, :]
        mask, exact = leaves_allowed((n0, n1), *states, self.rule, self.strict)
        self.exact &= exact
        return mask


@dataclass(frozen=True, eq=False)
class _TreeColumn:
    """What the dynamic program found for a column: bounds on its share, the bits lost by node, where all was lost."""

    log2: Bits
    lost: dict[int, Bits]
    nothing_at: int | None

    def wide(self, width: float) -> bool:
        return self.nothing_at is None and not self.log2[1] - self.log2[0] <= width


@dataclass(eq=False)
class Passes:
    """Runs the dynamic program column by column; what does not depend on the column is kept, `keep`: all else too."""

    conditions: ChoiceConditions
    cut: float
    direct: float
    limits: Limits
    keep: bool = False
    free: dict[int, StateWindow] = field(default_factory=dict)
    lost: dict[int, Bits] = field(default_factory=dict)

    def column(self, column: int) -> _TreeColumn:
        """Return what is left of one column."""
        windows, lost, bad = self.windows(column)
        low, high = log2_of(windows[0].total, windows[0].exponent)
        return _TreeColumn((min(low, 0.0), min(high, 0.0)), lost, bad)

    def windows(self, column: int) -> tuple[dict[int, StateWindow], dict[int, Bits], int | None]:
        """Return a column's weights by node, the bits lost by node, and the node at which no state is left.

        The nodes are those at which no split above has made the column constant, the root at least; where no state is
        left at one, those above it are not among them, and the root has none.
        """
        tree, windows, lost = self.conditions.tree, dict[int, StateWindow](), dict[int, Bits]()
        uses = _using(tree, column)
        for node in _upwards(tree, column):
            if uses[node] or node not in self.free:
                windows[node], bits = self._node(node, column, windows)
                if bits is not None:
                    (lost if uses[node] else self.lost)[node] = bits
                if not uses[node]:
                    self._share(node, windows[node])
            windows[node] = windows[node] if uses[node] else self.free[node]
            if not uses[node] and node in self.lost:
                lost[node] = self.lost[node]
            if not windows[node].mass.any() and windows[node].lost <= 0:
                return {**windows, 0: windows[node]}, lost, node
            if not self.keep and tree.column[node] >= 0 and tree.column[node] != column:
                del windows[int(tree.then[node])], windows[int(tree.otherwise[node])]
        return windows, lost, None

    def _share(self, node: int, window: StateWindow) -> None:
        self.free[node] = window
        if sum(w.mass.nbytes for w in self.free.values()) > self.limits.room:
            raise Inconclusive("the memory is too small to keep the states of the nodes")

    def _node(self, node: int, column: int, windows: dict[int, StateWindow]) -> tuple[StateWindow, Bits | None]:
        tree, conditions = self.conditions.tree, self.conditions
        if tree.column[node] < 0:
            mask = conditions.leaf(node)
            if mask is None:
                return free_leaf(conditions.counts(node), self.cut), None
            window = choice_of_leaf(conditions.counts(node), mask)
            return window, _bits_between((0.0, 0.0), log2_of(window.total, window.exponent))
        if tree.column[node] == column:
            return point(*conditions.counts(int(tree.then[node]))), None
        self.limits.check("the states of the columns were counted")
        children = [windows[int(child)] for child in (tree.otherwise[node], tree.then[node])]
        before = [log2_of(w.total, w.exponent) for w in children]
        window = convolved(children[0], children[1], self.limits, direct=self.direct)
        window = restricted_window(window, conditions.split(node, window), self.cut)
        given = before[0][0] + before[1][0], before[0][1] + before[1][1]
        return window, _bits_between(given, log2_of(window.total, window.exponent))


def _bits_between(before: Bits, after: Bits) -> Bits:
    if after[0] == -np.inf:
        return (0.0 if before[0] == -np.inf else max(0.0, before[0] - after[1])), np.inf
    return max(0.0, before[0] - after[1]), before[1] - after[0]


def _empty_node(conditions: ChoiceConditions, column: int, limits: Limits) -> int | None:
    """Return the first node, from below, at which no filling of a column is left; None where one is, exactly.

    States that can be reached, without weights; for where the bounds on the weights include 0. Every state of a node
    is looked at: (n0 + 1)(n1 + 1).
    """
    tree, reached = conditions.tree, dict[int, Mask]()
    for node in _upwards(tree, column):
        limits.check("it was looked whether a column has a filling left")
        n0, n1 = conditions.counts(node)
        every = np.ones((n0 + 1, n1 + 1), dtype=bool)
        if tree.column[node] < 0:
            mask = conditions.leaf(node)
            reached[node] = every if mask is None else mask
        elif tree.column[node] == column:
            reached[node] = ~every
            reached[node][conditions.counts(int(tree.then[node]))] = True
        else:
            sums = sums_reached(reached.pop(int(tree.then[node])), reached.pop(int(tree.otherwise[node])), limits)
            reached[node] = sums & conditions.split(node, StateWindow(0, 0, np.zeros(sums.shape)))
        if not reached[node].any():
            return node
    return None


def _using(tree: ChosenTree, column: int) -> NDArray[np.bool_]:
    """Return (nodes,) whether a node or one below it splits on a column."""
    out = tree.column == column
    for node in reversed(list(downwards(tree, ()))):
        if tree.column[node] >= 0:
            out[node] |= out[tree.then[node]] | out[tree.otherwise[node]]
    return np.asarray(out)


def downwards(tree: ChosenTree, stops: Iterable[int]) -> Iterable[int]:
    """Yield the nodes, each before those below it, without those below a split on one of the columns `stops`."""
    open_nodes, closed = [0], set(stops)
    while open_nodes:
        node = open_nodes.pop()
        yield node
        if tree.column[node] >= 0 and int(tree.column[node]) not in closed:
            open_nodes += [int(tree.then[node]), int(tree.otherwise[node])]


def _upwards(tree: ChosenTree, column: int) -> list[int]:
    """Return the nodes at which a column is not constant by a split above, children first, the root last."""
    return list(downwards(tree, (column,)))[::-1]


def _share(tree: ChosenTree, columns: list[_TreeColumn], exact: bool) -> RuleShare:
    bad = [(c.nothing_at, i) for i, c in enumerate(columns) if c.nothing_at is not None]
    lost, slack = [], len(columns) * 2.0**-50
    for node in range(len(tree.column)):
        found = [c.lost[node] for c in columns if node in c.lost]
        lost.append((sum(low for low, _ in found) * (1 - slack), sum(high for _, high in found) * (1 + slack)))
    low, high = sum(c.log2[0] for c in columns), sum(c.log2[1] for c in columns)
    return RuleShare(
        (low - slack * abs(low) if bad == [] else -np.inf, min(0.0, high + slack * abs(high)) if not bad else -np.inf),
        [c.log2 for c in columns],
        lost,
        max(bad, key=lambda at: tree.links.depths[at[0]]) if bad else None,
        exact,
    )
