"""The theorem of greedy trees written naively: products over the columns, each column's fillings listed one by one.

Of one column, what a node's split or an open leaf asks is a condition on its ones per class among the node's rows. Also
the bounds that the order of a best-first tree gives, and the same counts by state for tens of rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from learner_oracle import (
    EPSILON,
    NEVER,
    Counts,
    Node,
    Settings,
    assigned_rows,
    improvement,
    minus,
    open_leaves,
    score,
)


def column_fillings(tree: Node, column: int, columns: int, below: int = 0) -> Iterator[dict[int, Counts]]:
    """Yield for every filling of one column, over the rows of node `below`, its ones per class at each node."""
    rows = [row for row in assigned_rows(tree, columns) if below in row[2]]
    bits = [(0, 1) if cells[column] is None else (cells[column],) for cells, _, _ in rows]
    for filling in itertools.product(*bits):
        ones: dict[int, list[int]] = {}
        for bit, (_, k, passed) in zip(filling, rows, strict=True):
            for i in passed:
                ones.setdefault(i, [0] * len(tree.counts))[k] += bit or 0
        yield {i: tuple(part) for i, part in ones.items()}


def kept(
    tree: Node,
    settings: Settings,
    column: int,
    ones: dict[int, Counts],
    nodes: Sequence[int],
    *,
    strict: bool,
    leaf_rule: bool,
) -> bool:
    """Return whether one column's filling breaks the rule at none of some nodes."""
    walk, are_open = list(tree.walk()), open_leaves(tree, settings)
    for i in nodes:
        v = walk[i][0]
        zeros = minus(v.counts, ones[i])
        if v.column == column or not settings.allows(zeros, ones[i], tree.rows):
            continue
        if v.left is not None and v.right is not None:
            mine, chosen = (
                score(settings.criterion, zeros, ones[i]),
                score(settings.criterion, v.left.counts, v.right.counts),
            )
            if mine > chosen or (strict and mine == chosen):
                return False
        elif are_open[i] and leaf_rule:
            gain = improvement(settings.criterion, zeros, ones[i], tree.rows)
            if not gain + EPSILON < settings.min_impurity_decrease:
                return False
    return True


def by_columns(
    tree: Node, columns: int, settings: Settings, *, strict: bool = False, leaf_rule: bool = True
) -> list[tuple[int, int]]:
    """Return per column (fillings that the rule keeps, all fillings); the products are the counts of the theorem."""
    every = range(len(list(tree.walk())))
    found = []
    for c in range(columns):
        all_of_it = list(column_fillings(tree, c, columns))
        kept_of_it = sum(kept(tree, settings, c, ones, every, strict=strict, leaf_rule=leaf_rule) for ones in all_of_it)
        found.append((kept_of_it, len(all_of_it)))
    return found


def by_states(
    tree: Node, columns: int, settings: Settings, *, strict: bool = False, leaf_rule: bool = True, exact: bool = False
) -> list[int]:
    """Return per column the fillings that the rule keeps, for tens of rows: whole numbers by state, node by node.

    `exact`: gains of Gini are compared as fractions, which no learner does.
    """
    walk, are_open = list(tree.walk()), open_leaves(tree, settings)

    def kept_of(i: int, c: int) -> dict[Counts, int]:
        v = walk[i][0]
        if v.left is None or v.right is None:
            found = {
                ones: math.prod(math.comb(n, a) for n, a in zip(v.counts, ones, strict=True))
                for ones in itertools.product(*(range(n + 1) for n in v.counts))
            }
        elif v.column == c:
            return {v.right.counts: 1}
        else:
            found = {}
            below = kept_of(i + 1, c), kept_of(i + 1 + v.left.size, c)
            for (a, x), (b, y) in itertools.product(below[0].items(), below[1].items()):
                both = tuple(p + q for p, q in zip(a, b, strict=True))
                found[both] = found.get(both, 0) + x * y
        return {ones: x for ones, x in found.items() if stands(i, v, ones)}

    def stands(i: int, v: Node, ones: Counts) -> bool:
        zeros = minus(v.counts, ones)
        if not settings.allows(zeros, ones, tree.rows):
            return True
        if v.left is not None and v.right is not None:
            mine: float | Fraction = score(settings.criterion, zeros, ones)
            chosen: float | Fraction = score(settings.criterion, v.left.counts, v.right.counts)
            if exact:
                mine, chosen = exact_score(zeros, ones), exact_score(v.left.counts, v.right.counts)
            return mine < chosen or (mine == chosen and not strict)
        small = improvement(settings.criterion, zeros, ones, tree.rows) + EPSILON < settings.min_impurity_decrease
        return small or not (are_open[i] and leaf_rule)

    return [sum(kept_of(0, c).values()) for c in range(columns)]


def taken_after(tree: Node, settings: Settings) -> dict[int, float]:
    """Return for leaves of a best-first tree the least improvement among the nodes that were split after its parent.

    Such a leaf waited while they were taken: its own best split does not improve more. The order of nodes with equal
    improvements is taken as it comes: then the least one is the same.
    """
    walk = [v for v, _ in tree.walk()]
    children = {i: (i + 1, i + 1 + v.left.size) for i, v in enumerate(walk) if v.left is not None}
    gains = {
        i: improvement(settings.criterion, walk[pair[0]].counts, walk[pair[1]].counts, tree.rows)
        for i, pair in children.items()
    }
    waiting, order = [0] if children else [], []
    while waiting:
        best = max(waiting, key=lambda i: gains[i])
        order.append(best)
        waiting = [i for i in (*waiting, *children[best]) if i in children and i != best]
    found: dict[int, float] = {}
    for at, parent in enumerate(order):
        later = [gains[i] for i in order[at + 1 :]]
        found |= {child: min(later) for child in children[parent] if later and child not in children}
    return found


def best_first_products(tree: Node, columns: int, settings: Settings) -> tuple[int, int]:
    """Return bounds on the worlds of a tree with as many leaves as it may have: fewer than `strict`, more than `could`.

    Products over the columns: a waiting leaf's column improves at most (for the lower bound: less than) as much as the
    nodes that were taken after the leaf joined them. Improvements closer than 1e-12 are equal.
    """
    limits, full = taken_after(tree, settings), replace(settings, max_leaf_nodes=None)
    walk, are_open = list(tree.walk()), open_leaves(tree, full)
    every, lower, upper = range(len(walk)), 1, 1

    def gain_of(i: int, ones: Counts) -> float:
        zeros = minus(walk[i][0].counts, ones)
        if not settings.allows(zeros, ones, tree.rows):
            return NEVER
        gain = improvement(settings.criterion, zeros, ones, tree.rows)
        return NEVER if gain + EPSILON < settings.min_impurity_decrease else gain

    for c in range(columns):
        low = high = 0
        for ones in column_fillings(tree, c, columns):
            above = max((gain_of(i, ones[i]) - limits[i] for i in limits if are_open[i]), default=NEVER)
            wins = kept(tree, settings, c, ones, every, strict=True, leaf_rule=False)
            stands = kept(tree, settings, c, ones, every, strict=False, leaf_rule=False)
            low, high = low + (wins and above < -1e-12), high + (stands and above <= 1e-12)
        lower, upper = lower * low, upper * high
    return lower, upper


def exact_score(left: Counts, right: Counts) -> Fraction:
    """Return what Gini's score is but for a constant: Σ_side Σ_class c²/n_side."""
    return sum((Fraction(sum(c * c for c in side), sum(side)) for side in (left, right)), Fraction(0))


def emptied(
    tree: Node, columns: int, settings: Settings, *, strict: bool = False, leaf_rule: bool = True
) -> set[tuple[int, int]]:
    """Return the (node of `walk`, column) where no filling of the node's rows is left though each child has some."""
    walk = [v for v, _ in tree.walk()]
    none_left = set()
    for i, v in enumerate(walk):
        inside = range(i, i + v.size)
        for c in range(columns):
            fill = column_fillings(tree, c, columns, i)
            if not any(kept(tree, settings, c, ones, inside, strict=strict, leaf_rule=leaf_rule) for ones in fill):
                none_left.add((i, c))
    children = {i: (i + 1, i + 1 + v.left.size) for i, v in enumerate(walk) if v.left is not None}
    return {(i, c) for i, c in none_left if not any((at, c) in none_left for at in children.get(i, ()))}
