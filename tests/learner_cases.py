"""Random tiny trees and settings for the oracle of the learner's rule, by seed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from learner_oracle import EPSILON, Counts, Node, Settings, improvement, minus, possible_trees


@dataclass(frozen=True)
class Case:
    """A tree over some columns and the settings of the learner that is said to have grown it."""

    tree: Node
    columns: int
    settings: Settings


def random_case(seed: int, *, free: int = 12, classes: int = 2) -> Case:
    """Return a tiny tree and settings: one the learner can grow, or (one in four) any tree of its depth.

    4 to 6 rows, 2 to 4 columns, depth 1 to 3; at most `free` open cells, so 2^free worlds.
    """
    rng = np.random.default_rng(seed)
    while True:
        n, columns = int(rng.integers(4, 7)), int(rng.integers(2, 5))
        settings = random_settings(rng, n)
        if rng.random() < 0.75:
            rows = [(tuple(rng.integers(0, 2, columns).tolist()), int(rng.integers(classes))) for _ in range(n)]
            trees = sorted(possible_trees(rows, classes, settings), key=repr)
            tree = trees[rng.integers(len(trees))]
        else:
            counts = tuple(rng.multinomial(n, [1 / classes] * classes).tolist())
            tree = _any_tree(rng, counts, tuple(range(columns)), settings.max_depth or 3)
        open_cells = n * columns - sum(leaf.rows * depth for leaf, depth in tree.walk() if leaf.column < 0)
        if open_cells <= free and (tree.column >= 0 or rng.random() < 0.2):
            return Case(tree, columns, _at_the_edge(rng, tree, settings) if rng.random() < 0.15 else settings)


def _at_the_edge(rng: np.random.Generator, tree: Node, settings: Settings) -> Settings:
    """Return settings whose `min_impurity_decrease` is within rounding of some split's improvement."""
    walk = [v for v, _ in tree.walk() if v.rows > 1]
    v = walk[rng.integers(len(walk))]
    while True:
        ones = tuple(int(rng.integers(c + 1)) for c in v.counts)
        if 0 < sum(ones) < v.rows:
            gain = improvement(settings.criterion, minus(v.counts, ones), ones, tree.rows)
            return replace(
                settings, min_impurity_decrease=max(0.0, gain + float(rng.choice([0, 1, 1.5, 2, -1])) * EPSILON)
            )


def random_settings(rng: np.random.Generator, rows: int) -> Settings:
    """Return settings that matter for so few rows; `min_impurity_decrease` often right at a split's improvement."""
    decrease = 0.0
    if rng.random() < 0.3:
        decrease = float(rng.choice([1e-9, 0.05, 0.1, 1 / 6, 0.125, 0.2, 0.25, 0.5]))
    return Settings(
        criterion=str(rng.choice(["gini", "entropy"])),
        max_depth=[None, 1, 2, 2, 3][rng.integers(5)],
        min_samples_split=int(rng.choice([2, 2, 2, 3, 4])),
        min_samples_leaf=int(rng.choice([1, 1, 2])),
        min_impurity_decrease=decrease,
        min_weight_fraction_leaf=float(rng.choice([0.0, 0.0, 0.0, 0.0, 0.3])),
        max_leaf_nodes=[None, None, None, 2, 3, 4][rng.integers(6)],
    )


def _any_tree(rng: np.random.Generator, counts: Counts, columns: tuple[int, ...], depth: int) -> Node:
    """Return a tree of these counts whose splits follow no rule, with no empty child."""
    if depth == 0 or not columns or sum(counts) < 2 or rng.random() < 0.25:
        return Node(counts)
    column = columns[rng.integers(len(columns))]
    left = tuple(int(rng.integers(c + 1)) for c in counts)
    if not 0 < sum(left) < sum(counts):
        return Node(counts)
    rest = tuple(c for c in columns if c != column)
    below = [_any_tree(rng, part, rest, depth - 1) for part in (left, minus(counts, left))]
    return Node(counts, column, below[0], below[1])
