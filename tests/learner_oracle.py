"""Brute force over every dataset of a tiny binary domain: in which of them could a greedy learner choose a given tree.

Read from the sources of scikit-learn 1.9.1 (sklearn/tree/_criterion.pyx, _splitter.pyx, _partitioner.pyx, _tree.pyx,
_classes.py) and written anew in plain Python floats, which are C's doubles: `impurity`, `score` and `improvement` are
the library's expressions term by term (`math.log`, not numpy's, whose last bit differs). Nothing here shares code with
the encoders, the engines or the questions.

Four ways to the same numbers, each simpler or closer to the library than the one before:

- `by_columns` (learner_products): the theorem written naively, a product over columns of the fillings of one column
  listed one by one;
- `by_fillings`: every filling of all free cells at once, node by node, no product (depth-first trees);
- `by_growing`: `possible_trees` grows, for every filling, every tree that some sequence of random draws leads to,
  depth-first or best-first with the heap of C++ that the library uses;
- `by_fitting`: scikit-learn itself, fitted on every dataset with many random states.

A tree's worlds are counted in the convention `assigned`: each row's leaf and class is fixed, and every 0/1 filling of
the cells that the paths leave open is a world. "Could": for some sequence of draws; "strict": for every sequence.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

EPSILON = float(np.finfo("double").eps)  # _tree.pyx: a node of no more impurity is pure, a split of less too little
NEVER = -math.inf
Counts = tuple[int, ...]
Row = tuple[tuple[int, ...], int]  # bits of a row, and its class


@dataclass(frozen=True)
class Node:
    """A tree by its root: class counts; an inner node's column, its rows that hold 0 left, those that hold 1 right."""

    counts: Counts
    column: int = -1
    left: Node | None = None
    right: Node | None = None

    @property
    def rows(self) -> int:
        return sum(self.counts)

    def walk(self, depth: int = 0) -> Iterator[tuple[Node, int]]:
        """Yield (node, depth) of all nodes, parents first, left before right: scikit-learn's depth-first order."""
        yield self, depth
        if self.left is not None and self.right is not None:
            yield from self.left.walk(depth + 1)
            yield from self.right.walk(depth + 1)

    @property
    def size(self) -> int:
        """Return the number of nodes."""
        return 1 if self.left is None or self.right is None else 1 + self.left.size + self.right.size

    @property
    def leaves(self) -> list[Node]:
        return [v for v, _ in self.walk() if v.column < 0]


@dataclass(frozen=True)
class Settings:
    """The settings of a DecisionTreeClassifier that look at all columns of every node."""

    criterion: str = "gini"
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_impurity_decrease: float = 0.0
    min_weight_fraction_leaf: float = 0.0
    max_leaf_nodes: int | None = None

    def stops(self, counts: Counts, depth: int, rows: int) -> bool:
        """Return whether the builder makes a leaf before it looks for a split (rows: of the whole training set)."""
        n = sum(counts)
        return (
            (self.max_depth is not None and depth >= self.max_depth)
            or n < max(self.min_samples_split, 2 * self.min_samples_leaf)
            or n < 2 * (self.min_weight_fraction_leaf * rows)
            or impurity(self.criterion, counts) <= EPSILON
        )

    def allows(self, left: Counts, right: Counts, rows: int) -> bool:
        """Return whether the splitter would look at a split: both children occur and are large enough."""
        least = max(1, self.min_samples_leaf)
        weight = self.min_weight_fraction_leaf * rows
        sizes = sum(left), sum(right)
        return min(sizes) >= least and min(sizes) >= weight


@cache
def impurity(criterion: str, counts: Counts) -> float:
    """Return `node_impurity` (and a child's in `children_impurity`, the same expression) of class counts."""
    n = float(sum(counts))
    if criterion == "gini":
        squares = 0.0
        for c in counts:
            squares += float(c) * float(c)
        return 1.0 - squares / (n * n)
    entropy = 0.0
    for c in counts:
        if c > 0:
            share = c / n
            entropy -= share * (math.log(share) / math.log(2.0))
    return entropy


@cache
def score(criterion: str, left: Counts, right: Counts) -> float:
    """Return `proxy_impurity_improvement`, what the splitter compares with a strict >."""
    return -float(sum(right)) * impurity(criterion, right) - float(sum(left)) * impurity(criterion, left)


def improvement(criterion: str, left: Counts, right: Counts, rows: int) -> float:
    """Return `impurity_improvement`, what `min_impurity_decrease` and the best-first heap look at."""
    total = tuple(a + b for a, b in zip(left, right, strict=True))
    n, n_left, n_right = float(sum(total)), float(sum(left)), float(sum(right))
    part = impurity(criterion, total) - (n_right / n * impurity(criterion, right))
    return (n / float(rows)) * (part - (n_left / n * impurity(criterion, left)))


def minus(total: Counts, part: Counts) -> Counts:
    """Return the counts of the other rows."""
    return tuple(a - b for a, b in zip(total, part, strict=True))


def class_counts(rows: Sequence[Row], classes: int) -> Counts:
    """Return the counts per class."""
    seen = Counter(label for _, label in rows)
    return tuple(seen[k] for k in range(classes))


# --- the learner itself, with every outcome of its draws ------------------------------------------------------------


@dataclass(frozen=True)
class Split:
    """A split that could win at a node: the column, the children's rows, the improvement."""

    column: int
    left: tuple[Row, ...]
    right: tuple[Row, ...]
    gain: float


def winners(rows: tuple[Row, ...], classes: int, settings: Settings, total: int) -> list[Split]:
    """Return the splits of the highest score, one per column: the first that is drawn wins, and any may be first."""
    best = NEVER
    found: list[Split] = []
    for c in range(len(rows[0][0])):
        left, right = tuple(r for r in rows if not r[0][c]), tuple(r for r in rows if r[0][c])
        ends = class_counts(left, classes), class_counts(right, classes)
        if not settings.allows(*ends, total):
            continue
        reached = score(settings.criterion, *ends)
        if reached > best:
            best, found = reached, []
        if reached == best:
            found.append(Split(c, left, right, improvement(settings.criterion, *ends, total)))
    return found


def possible_trees(rows: Sequence[Row], classes: int, settings: Settings) -> frozenset[Node]:
    """Return every tree that fitting these rows leads to, over all sequences of random draws."""
    ordered = tuple(sorted(rows))
    if settings.max_leaf_nodes is None:
        return _depth_first(ordered, classes, settings, 0, len(ordered))
    found: set[Node] = set()
    open_prefixes: list[tuple[int, ...]] = [()]
    while open_prefixes:
        prefix = open_prefixes.pop()
        tree, taken, choices = _best_first(ordered, classes, settings, prefix)
        found.add(tree)
        for at in range(len(prefix), len(choices)):
            open_prefixes += [(*taken[:at], other) for other in range(1, choices[at])]
    return frozenset(found)


def _depth_first(rows: tuple[Row, ...], classes: int, settings: Settings, depth: int, total: int) -> frozenset[Node]:
    counts = class_counts(rows, classes)
    splits = [] if settings.stops(counts, depth, total) else winners(rows, classes, settings, total)
    if not splits:
        return frozenset({Node(counts)})
    found = set()
    for split in splits:
        if split.gain + EPSILON < settings.min_impurity_decrease:
            found.add(Node(counts))
            continue
        below = [_depth_first(part, classes, settings, depth + 1, total) for part in (split.left, split.right)]
        found |= {Node(counts, split.column, left, right) for left, right in itertools.product(*below)}
    return frozenset(found)


@dataclass
class _Open:
    """A node on the frontier of a best-first tree."""

    counts: Counts
    depth: int
    split: Split | None
    gain: float = 0.0
    children: tuple[_Open, _Open] | None = None

    def tree(self) -> Node:
        if self.children is None or self.split is None:
            return Node(self.counts)
        return Node(self.counts, self.split.column, self.children[0].tree(), self.children[1].tree())


def _best_first(
    rows: tuple[Row, ...], classes: int, settings: Settings, prefix: tuple[int, ...]
) -> tuple[Node, list[int], list[int]]:
    """Return one run's tree, which winner was taken at each node (first those of `prefix`), and out of how many."""
    taken: list[int] = []
    choices: list[int] = []
    total = len(rows)

    def opened(part: tuple[Row, ...], depth: int) -> _Open:
        counts = class_counts(part, classes)
        splits = [] if settings.stops(counts, depth, total) else winners(part, classes, settings, total)
        if not splits:
            return _Open(counts, depth, None)
        choice = prefix[len(taken)] if len(taken) < len(prefix) else 0
        taken.append(choice)
        choices.append(len(splits))
        split = splits[choice]
        if split.gain + EPSILON < settings.min_impurity_decrease:
            return _Open(counts, depth, None)
        return _Open(counts, depth, split, split.gain)

    root = opened(rows, 0)
    heap, left = [root], (settings.max_leaf_nodes or 0) - 1
    while heap:
        node = pop_heap(heap)
        if node.split is None or left <= 0:
            continue
        left -= 1
        node.children = opened(node.split.left, node.depth + 1), opened(node.split.right, node.depth + 1)
        for child in node.children:
            push_heap(heap, child)
    return root.tree(), taken, choices


def push_heap(heap: list[_Open], new: _Open) -> None:
    """Add a node as std::push_heap does: up past parents of a smaller gain."""
    heap.append(new)
    _up(heap, len(heap) - 1, new)


def _up(heap: list[_Open], hole: int, new: _Open) -> None:
    while hole > 0 and heap[(hole - 1) // 2].gain < new.gain:
        heap[hole] = heap[(hole - 1) // 2]
        hole = (hole - 1) // 2
    heap[hole] = new


def pop_heap(heap: list[_Open]) -> _Open:
    """Take the top as libstdc++'s std::pop_heap does: the hole sinks to the bottom, then the last one rises from it."""
    top, last = heap[0], heap.pop()
    if not heap:
        return top
    n, hole, child = len(heap), 0, 0
    while child < (n - 1) // 2:
        child = 2 * (child + 1)
        if heap[child].gain < heap[child - 1].gain:
            child -= 1
        heap[hole], hole = heap[child], child
    if n % 2 == 0 and child == (n - 2) // 2:
        child = 2 * (child + 1)
        heap[hole], hole = heap[child - 1], child - 1
    _up(heap, hole, last)
    return top


# --- the worlds of a tree -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Worlds:
    """A tree's worlds (`assigned`), those in which it could be chosen, and those in which it always is."""

    worlds: int
    could: int
    strict: int


def assigned_rows(tree: Node, columns: int) -> list[tuple[list[int | None], int, frozenset[int]]]:
    """Return of every row its cells (None where the path leaves them open), class and the nodes it passes."""
    rows: list[tuple[list[int | None], int, frozenset[int]]] = []

    def down(v: Node, number: int, cells: list[int | None], passed: frozenset[int]) -> None:
        passed |= {number}
        if v.left is None or v.right is None:
            rows.extend((list(cells), k, passed) for k, c in enumerate(v.counts) for _ in range(c))
            return
        for bit, (child, at) in enumerate(((v.left, number + 1), (v.right, number + 1 + v.left.size))):
            down(child, at, [bit if c == v.column else old for c, old in enumerate(cells)], passed)

    down(tree, 0, [None] * columns, frozenset())
    return rows


def fillings(tree: Node, columns: int) -> np.ndarray:
    """Return every world, (worlds, rows, columns) of 0 and 1: all fillings of the cells that the paths leave open."""
    rows = assigned_rows(tree, columns)
    cells = [(i, c) for i, (row, _, _) in enumerate(rows) for c in range(columns) if row[c] is None]
    base = np.array([[bit or 0 for bit in row] for row, _, _ in rows], dtype=np.int8)
    table = np.broadcast_to(base, (1 << len(cells), *base.shape)).copy()
    index = np.arange(1 << len(cells))
    for at, (i, c) in enumerate(cells):
        table[:, i, c] = (index >> at) & 1
    return table


def open_leaves(tree: Node, settings: Settings) -> list[bool]:
    """Return for each node of `walk` whether it is a leaf that no limit stopped: no split was found good enough."""
    full = settings.max_leaf_nodes is not None and len(tree.leaves) >= settings.max_leaf_nodes
    return [v.column < 0 and not full and not settings.stops(v.counts, d, tree.rows) for v, d in tree.walk()]


def grown_by_rule(tree: Node, settings: Settings) -> bool:
    """Return whether no limit is broken by the figures alone: inner nodes may be split, children are large enough."""
    for v, depth in tree.walk():
        if v.left is None or v.right is None:
            continue
        gain = improvement(settings.criterion, v.left.counts, v.right.counts, tree.rows)
        if (
            settings.stops(v.counts, depth, tree.rows)
            or not settings.allows(v.left.counts, v.right.counts, tree.rows)
            or gain + EPSILON < settings.min_impurity_decrease
        ):
            return False
    return settings.max_leaf_nodes is None or len(tree.leaves) <= settings.max_leaf_nodes


@dataclass(frozen=True)
class States:
    """Of one node: score and improvement by the ones per class of a column, -inf where no split is looked at."""

    scores: np.ndarray  # shape: counts + 1 per class
    gains: np.ndarray


def states(v: Node, settings: Settings, rows: int) -> States:
    """Return the tables of a node."""
    shape = tuple(c + 1 for c in v.counts)
    scores, gains = np.full(shape, NEVER), np.full(shape, NEVER)
    for ones in np.ndindex(shape):
        zeros = minus(v.counts, ones)
        if settings.allows(zeros, ones, rows):
            scores[ones] = score(settings.criterion, zeros, ones)
            gains[ones] = improvement(settings.criterion, zeros, ones, rows)
    return States(scores, gains)


def by_fillings(tree: Node, columns: int, settings: Settings, *, leaf_rule: bool = True) -> Worlds:
    """Return the counts by looking at every filling, node by node; trees not cut by `max_leaf_nodes`."""
    table, rows = fillings(tree, columns), assigned_rows(tree, columns)
    could = np.full(len(table), grown_by_rule(tree, settings))
    strict = could.copy()
    for i, (v, is_open) in enumerate(zip([v for v, _ in tree.walk()], open_leaves(tree, settings), strict=True)):
        if v.column < 0 and not (is_open and leaf_rule):
            continue
        here = states(v, settings, tree.rows)
        of_class = [
            [r for r, (_, k, passed) in enumerate(rows) if k == label and i in passed] for label in range(len(v.counts))
        ]
        ones = tuple(table[:, part].sum(axis=1, dtype=np.intp) for part in of_class)  # per class (worlds, columns)
        scores, gains = here.scores[ones], here.gains[ones]
        if v.column >= 0:
            others = [c for c in range(columns) if c != v.column]
            chosen = scores[:, [v.column]]
            could &= (scores[:, others] <= chosen).all(axis=1)
            strict &= (scores[:, others] < chosen).all(axis=1)
            continue
        best = scores.max(axis=1)
        wins = (scores == best[:, None]) & (best > NEVER)[:, None]
        small = gains + EPSILON < settings.min_impurity_decrease
        could &= (best == NEVER) | (wins & small).any(axis=1)
        strict &= (small | ~wins).all(axis=1)
    return Worlds(len(table), int(could.sum()), int(strict.sum()))


def by_growing(tree: Node, columns: int, settings: Settings) -> Worlds:
    """Return the counts by growing, for every filling, every tree that the draws may lead to."""
    labels = [k for _, k, _ in assigned_rows(tree, columns)]
    seen: dict[tuple[Row, ...], frozenset[Node]] = {}
    could = strict = worlds = 0
    for world in fillings(tree, columns).tolist():
        key = tuple(sorted((tuple(bits), k) for bits, k in zip(world, labels, strict=True)))
        if key not in seen:
            seen[key] = possible_trees(key, len(tree.counts), settings)
        worlds += 1
        could += tree in seen[key]
        strict += seen[key] == {tree}
    return Worlds(worlds, could, strict)


# --- scikit-learn itself --------------------------------------------------------------------------------------------


def multisets(n: int, columns: int, classes: int) -> Iterator[tuple[tuple[Row, ...], int]]:
    """Yield every multiset of n rows with the number of datasets (rows in order, classes free) that it stands for."""
    kinds = [(bits, k) for bits in itertools.product((0, 1), repeat=columns) for k in range(classes)]
    for rows in itertools.combinations_with_replacement(kinds, n):
        yield rows, math.factorial(n) // math.prod(math.factorial(m) for m in Counter(rows).values())


def orderings(tree: Node) -> int:
    """Return n!/Π c!, the datasets with rows in order per `assigned` world."""
    return math.factorial(tree.rows) // math.prod(math.factorial(c) for leaf in tree.leaves for c in leaf.counts)


def fitted(rows: Sequence[Row], classes: int, settings: Settings, seed: int) -> Node:
    """Return the tree that scikit-learn fits."""
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(
        criterion=settings.criterion,
        max_depth=settings.max_depth,
        min_samples_split=settings.min_samples_split,
        min_samples_leaf=settings.min_samples_leaf,
        min_impurity_decrease=settings.min_impurity_decrease,
        min_weight_fraction_leaf=settings.min_weight_fraction_leaf,
        max_leaf_nodes=settings.max_leaf_nodes,
        random_state=seed,
    )
    data = np.array([bits for bits, _ in rows], dtype=np.float32)
    model.fit(data, np.array([k for _, k in rows]), check_input=False)
    return node_of(model, classes)


def node_of(model: Any, classes: int) -> Node:
    """Return a fitted classifier's tree; classes it has not seen have count 0."""
    tree = model.tree_
    counts = np.zeros((tree.node_count, classes), dtype=int)
    counts[:, model.classes_] = np.rint(tree.value[:, 0, :] * tree.n_node_samples[:, None]).astype(int)

    def build(i: int) -> Node:
        here = tuple(counts[i].tolist())
        if tree.children_left[i] < 0:
            return Node(here)
        return Node(here, int(tree.feature[i]), build(tree.children_left[i]), build(tree.children_right[i]))

    return build(0)


def by_fitting(n: int, columns: int, classes: int, settings: Settings, seeds: int) -> dict[Node, Worlds]:
    """Return for every tree that some fit has the datasets (in order, classes free): all with it, and with it alone.

    `worlds` is the tree's `assigned` worlds times its orderings.
    """
    could: Counter[Node] = Counter()
    strict: Counter[Node] = Counter()
    for rows, times in multisets(n, columns, classes):
        trees = {fitted(rows, classes, settings, seed) for seed in range(seeds)}
        for tree in trees:
            could[tree] += times
            strict[tree] += times * (len(trees) == 1)
    return {t: Worlds(len(fillings(t, columns)) * orderings(t), could[t], strict[t]) for t in could}
