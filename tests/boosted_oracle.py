"""Brute force over every dataset of a tiny domain: what the figures of a boosted model leave possible.

A fitted model of scikit-learn (GradientBoosting*, HistGradientBoosting*) is turned into plain nodes (`ensemble`), every
multiset of n rows over a tiny domain is listed, and those are kept whose figures, worked out as the library works them
out, are the published ones. Nothing here shares code with the readers, the encoders or the engines, and nothing is
clever: scores of every row follow from the published leaf values, gradients from the scores, and sums over rows from
counts of rows.

"Equal" means up to the rounding of the library's own sums (`CLOSE`). Datasets that are hardly further off (`CLEAR`)
would make the comparison with anything else a question of taste: such cases are `ambiguous`, and callers skip and count
them. Where others are nearer than `APART` (gradients in single precision), intervals that are honest may admit them:
such cases are `near`, and nobody has to be as exact as this module.

`boosted_anew` is a second, slower way: one dataset, its trees' leaf values from scratch in plain Python, scores from
the values just worked out. The tests compare the two.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

CLOSE = 1e-13  # of the sum of absolute terms: rounding of a dozen additions is below
TINY = 1e-15  # per row, absolute: a gradient p - y near 0 has lost its digits
CLEAR = 1e-11  # of the sum of absolute terms: what is as far off is another figure in double precision
APART = 1e-6  # of the sum of absolute terms: no rounding reaches so far
EVERYTHING = frozenset({"count", "start", "leaf", "inner", "spread"})
Kind = tuple[tuple[float, ...], float]  # features and label of a row


@dataclass(frozen=True)
class Node:
    """One node: a leaf has no children. `value` as stored (shrunk already, of a leaf of "hist")."""

    count: int
    value: float
    feature: int = -1
    threshold: float = 0.0
    left: int = -1
    right: int = -1
    spread: float | None = None  # variance of residuals ("impurity")

    @property
    def leaf(self) -> bool:
        return self.left < 0


@dataclass(frozen=True, eq=False)
class Ensemble:
    """A boosted model: per round one tree per score. `loss`: log, softmax, squared; `kind`: sk or hist."""

    kind: str
    loss: str
    labels: tuple[float, ...]
    rate: float
    l2: float
    start: np.ndarray  # one per score
    shares: tuple[float, ...] | None  # of the labels, or the mean target, where the file says them
    rounds: tuple[tuple[tuple[Node, ...], ...], ...]
    inner: Any = field(default=None, repr=False)  # the library's own loss, for its gradients to the last bit


def ensemble(model: Any) -> Ensemble:
    """Return a fitted model of scikit-learn as plain nodes."""
    squared = not hasattr(model, "classes_")
    labels = () if squared else tuple(float(c) for c in model.classes_)
    loss = "squared" if squared else "log" if len(labels) == 2 else "softmax"
    if hasattr(model, "_predictors"):
        rounds = tuple(tuple(_hist_tree(t.nodes) for t in row) for row in model._predictors)
        start = np.asarray(model._baseline_prediction, dtype=float).ravel()
        return Ensemble(
            "hist", loss, labels, model.learning_rate, model.l2_regularization, start, None, rounds, model._loss
        )
    rounds = tuple(tuple(_tree(t.tree_) for t in row) for row in model.estimators_)
    if isinstance(model.init_, str):
        start, shares = np.zeros(model.estimators_.shape[1]), None
    elif squared:
        start, shares = np.ravel(model.init_.constant_).astype(float), tuple(np.ravel(model.init_.constant_))
    else:
        shares = tuple(model.init_.class_prior_)
        clipped = np.clip(np.array(shares), np.finfo(float).eps, 1 - np.finfo(float).eps)
        link = model._loss.link.link
        start = np.ravel(link(clipped[1:2] if loss == "log" else clipped.reshape(1, -1)))
    return Ensemble("sk", loss, labels, model.learning_rate, 0.0, start, shares, rounds, model._loss)


def _tree(tree: Any) -> tuple[Node, ...]:
    columns = (tree.n_node_samples, tree.value[:, 0, 0], tree.feature, tree.threshold, tree.children_left)
    rows = zip(*columns, tree.children_right, tree.impurity, strict=True)
    return tuple(Node(int(c), float(v), int(f), float(t), int(a), int(b), float(i)) for c, v, f, t, a, b, i in rows)


def _hist_tree(nodes: Any) -> tuple[Node, ...]:
    out = []
    for n in nodes:
        if n["is_leaf"]:
            out.append(Node(int(n["count"]), float(n["value"])))
        else:
            place = int(n["feature_idx"]), float(n["num_threshold"]), int(n["left"]), int(n["right"])
            out.append(Node(int(n["count"]), float(n["value"]), *place))
    return tuple(out)


def reached(tree: Sequence[Node], features: Sequence[float]) -> list[int]:
    """List the nodes on the way of a row, from the root to its leaf."""
    path = [0]
    while not tree[path[-1]].leaf:
        node = tree[path[-1]]
        path.append(node.left if features[node.feature] <= node.threshold else node.right)
    return path


# ---------------------------------------------------------------- gradients, as the library has them


def gradients(model: Ensemble, raw: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return -gradient and hessian of rows with scores `raw` (rows, scores) and labels y, one column per score."""
    if model.loss == "squared":
        residual = y[:, None] - raw
        residual = residual.astype(np.float32).astype(float) if model.kind == "hist" else residual
        return residual, np.ones_like(raw)
    place = np.array([model.labels.index(v) for v in y], dtype=float)
    flat = np.ascontiguousarray(raw[:, 0] if model.loss == "log" else raw)
    if model.kind == "hist":
        g, h = np.empty(flat.shape, np.float32, order="C"), np.empty(flat.shape, np.float32, order="C")
        model.inner.gradient_hessian(place, flat, gradient_out=g, hessian_out=h)
        return -g.reshape(raw.shape).astype(float), h.reshape(raw.shape).astype(float)
    r = -model.inner.gradient(place, flat).reshape(raw.shape)
    one = (place[:, None] == np.arange(raw.shape[1])) if model.loss == "softmax" else place[:, None]
    p = one - r
    return r, p * (1 - p)


# ---------------------------------------------------------------- figures


@dataclass(frozen=True, eq=False)
class Figure:
    """One published figure over counts z of rows per kind; `off` returns residuals, scales and rows per dataset."""

    sort: str  # of `EVERYTHING`
    name: str
    inside: np.ndarray  # kinds that reach the node
    value: float
    r: np.ndarray | None = None
    h: np.ndarray | None = None
    l2: float = 0.0

    def off(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self.sort == "count":
            n = z[:, self.inside > 0].sum(axis=1)
            return np.abs(n - self.value), np.zeros(len(z)), np.zeros(len(z))
        z = z.astype(float)
        n = z @ self.inside
        if self.sort == "spread":
            s, q = z @ (self.r * self.inside), z @ (self.r**2 * self.inside)
            # squares of a child are those of its parent less its sibling's: the root's are what is rounded
            return np.abs(n * self.value - (q - s * s / np.maximum(n, 1))), 2 * (z @ self.r**2), 0 * n
        s, h = z @ (self.r * self.inside), z @ (self.h * self.inside)
        scale = z @ (np.abs(self.r) * self.inside) + abs(self.value) * (h + self.l2)
        return np.abs(s - self.value * (h + self.l2)), scale, n * (1 + abs(self.value))


def figures(model: Ensemble, kinds: Sequence[Kind], which: frozenset[str] = EVERYTHING) -> Iterator[Figure]:
    """Yield the figures of a model, tree by tree, over kinds of rows."""
    y = np.array([label for _, label in kinds])
    ones = np.ones(len(kinds))
    yield from (f for f in _start(model, y, ones) if f.sort in which)
    raw = np.tile(model.start, (len(kinds), 1))
    for i, trees in enumerate(model.rounds):
        r, h = gradients(model, raw, y)
        raw = raw.copy()
        for k, tree in enumerate(trees):
            paths = [reached(tree, x) for x, _ in kinds]
            for number, node in enumerate(tree):
                inside = np.array([float(number in path) for path in paths])
                of = _of_node(model, node, number, f"tree {i}.{k} node {number}", (inside, r[:, k], h[:, k]))
                yield from (f for f in of if f.sort in which)
            values = np.array([tree[path[-1]].value for path in paths])
            raw[:, k] += values if model.kind == "hist" else model.rate * values


def _of_node(model: Ensemble, node: Node, number: int, name: str, parts: tuple[np.ndarray, ...]) -> Iterator[Figure]:
    inside, r, h = parts
    yield Figure("count", f"{name} rows", inside, node.count)
    if node.spread is not None:
        yield Figure("spread", f"{name} spread", inside, node.spread, r)
    if model.kind == "hist":
        if number:  # the root's value is never worked out
            value = node.value / model.rate if node.leaf else node.value
            yield Figure("leaf" if node.leaf else "inner", f"{name} value", inside, value, r, h, model.l2 + 1e-15)
    elif not node.leaf or model.loss == "squared":
        yield Figure("leaf" if node.leaf else "inner", f"{name} mean", inside, node.value, r, np.ones_like(h))
    else:
        share = (len(model.labels) - 1) / len(model.labels) if model.loss == "softmax" else 1.0
        yield Figure("leaf", f"{name} value", inside, node.value, share * r, h)


def _start(model: Ensemble, y: np.ndarray, ones: np.ndarray) -> Iterator[Figure]:
    if model.loss == "squared":
        if model.kind == "hist" or model.shares is not None:
            yield Figure("start", "mean target", ones, float(model.start[0]), y, ones)
        return
    shares = model.shares
    if shares is None and model.kind == "hist":
        e = np.exp(model.start)
        shares = (1 - float(e[0] / (1 + e[0])), float(e[0] / (1 + e[0]))) if model.loss == "log" else tuple(e / e.sum())
    for label, share in zip(model.labels, shares or (), strict=bool(shares)):
        yield Figure("start", f"share of {label:g}", ones, float(share), (y == label).astype(float), ones)


# ---------------------------------------------------------------- worlds


@lru_cache(maxsize=4)
def multisets(kinds: int, n: int) -> np.ndarray:
    """List all multisets of n rows over so many kinds, as counts (multisets, kinds)."""
    z, left = np.zeros((1, 0), dtype=np.int8), np.array([n])
    for _ in range(kinds - 1):
        times = left + 1
        ends = np.cumsum(times)
        here = np.arange(ends[-1]) - np.repeat(ends - times, times)
        z = np.column_stack([np.repeat(z, times, axis=0), here.astype(np.int8)])
        left = np.repeat(left, times) - here
    return np.column_stack([z, left.astype(np.int8)])


@dataclass(frozen=True, eq=False)
class Worlds:
    """The datasets that agree with a model: counts per kind; `ambiguous`, `near`: some other is nearly as good."""

    kinds: tuple[Kind, ...]
    z: np.ndarray
    ambiguous: bool
    near: bool

    @property
    def multiset(self) -> int:
        return len(self.z)

    @cached_property
    def orders(self) -> list[int]:
        n = math.factorial(int(self.z[0].sum())) if len(self.z) else 0
        return [n // math.prod(math.factorial(int(c)) for c in row) for row in self.z]

    @property
    def ordered(self) -> int:
        return sum(self.orders)

    def rows(self, features: Sequence[float | None], label: float | None = None) -> np.ndarray:
        """Count, per world, the rows with these features (None: any) and this label (None: any)."""
        inside = [
            all(f is None or f == v for f, v in zip(features, x, strict=True)) and label in (None, y)
            for x, y in self.kinds
        ]
        return self.z[:, inside].sum(axis=1, dtype=int)

    def probability(self, counts: np.ndarray) -> Fraction:
        """Return the share of ordered worlds with at least one such row."""
        return Fraction(sum(o for o, c in zip(self.orders, counts, strict=True) if c), self.ordered)

    def expected(self, counts: np.ndarray) -> Fraction:
        """Return the mean number of such rows over ordered worlds."""
        return Fraction(sum(o * int(c) for o, c in zip(self.orders, counts, strict=True)), self.ordered)

    def verdict(self, counts: np.ndarray) -> str:
        """Return certain, possible or impossible."""
        return "certain" if counts.min() > 0 else "possible" if counts.max() > 0 else "impossible"

    def has(self, rows: Sequence[Kind]) -> bool:
        """Return whether a dataset is one of them."""
        wanted = np.array([sum(r == k for r in rows) for k in self.kinds])
        return bool((self.z == wanted).all(axis=1).any())


def grid(values: Sequence[Sequence[float]], labels: Sequence[float]) -> tuple[Kind, ...]:
    """List all kinds of rows over values per feature and labels."""
    return tuple((tuple(map(float, x)), float(y)) for x in itertools.product(*values) for y in labels)


def worlds(
    model: Ensemble,
    kinds: Sequence[Kind],
    n: int,
    which: frozenset[str] = EVERYTHING,
    known: Sequence[Sequence[float]] | None = None,
) -> Worlds:
    """Return all datasets of n rows whose figures (of these sorts) are the model's.

    `known`: the features of every row, where they are known and the label is not.
    """
    z, ambiguous, near = multisets(len(kinds), n), False, False
    if known is not None:
        for x in {x for x, _ in kinds}:
            z = z[z[:, [k == x for k, _ in kinds]].sum(axis=1) == sum(tuple(map(float, r)) == x for r in known)]
    found = list(figures(model, kinds, which))
    for sort in ("count", "start", ""):  # what is cheap and leaves few first
        for figure in found:
            if figure.sort != sort and (sort or figure.sort in ("count", "start")):
                continue
            off, scale, rows = figure.off(z)
            keep = off <= CLOSE * scale + TINY * rows
            if figure.sort != "count":
                ambiguous |= bool((~keep & (off <= CLEAR * scale + 100 * TINY * rows)).any())
                near |= bool((~keep & (off <= APART * scale + 1e6 * TINY * rows)).any())
            z = z if keep.all() else z[keep]
    return Worlds(tuple(kinds), z, ambiguous, near)


# ---------------------------------------------------------------- one dataset, from scratch, in plain Python


def boosted_anew(model: Ensemble, rows: Sequence[Kind]) -> list[float]:
    """Return all figures of a binary or squared model with the same trees, fitted anew to a dataset, in one order.

    Per tree and node: rows, and where the file has it the value, and the variance of the residuals; before them the
    start. Scores are sums of the values worked out here, not of the published ones. Empty nodes give nan.
    """
    n = len(rows)
    mean = sum(y for _, y in rows) / n
    raw = [mean] * n
    if model.loss == "log":
        low = 10 * 2**-52 if model.kind == "hist" else 2**-52
        mean = min(max(mean, low), 1 - low)
        raw = [math.log(mean / (1 - mean))] * n
    if model.kind == "sk" and model.shares is None:
        raw = [0.0] * n
    out = [raw[0]]
    for (tree,) in model.rounds:
        parts = [_derivatives(model, s, y) for s, (_, y) in zip(raw, rows, strict=True)]
        paths = [reached(tree, x) for x, _ in rows]
        value = {}
        for number, node in enumerate(tree):
            mine = [part for part, path in zip(parts, paths, strict=True) if number in path]
            figures_of, value[number] = _anew_node(model, node, number, mine)
            out += figures_of
        step = 1.0 if model.kind == "hist" else model.rate
        raw = [s + step * value[path[-1]] for s, path in zip(raw, paths, strict=True)]
    return out


def _derivatives(model: Ensemble, raw: float, y: float) -> tuple[float, float]:
    if model.loss == "squared":
        r = y - raw
        return (float(np.float32(r)) if model.kind == "hist" else r), 1.0
    p = 1 / (1 + math.exp(-raw)) if raw >= 0 else math.exp(raw) / (1 + math.exp(raw))
    r, h = y - p, p * (1 - p)
    return (float(np.float32(r)), float(np.float32(h))) if model.kind == "hist" else (r, h)


def _anew_node(model: Ensemble, node: Node, number: int, parts: list[tuple[float, float]]) -> tuple[list[float], float]:
    count = len(parts)
    if not count:
        return [0.0, math.nan] + ([] if node.spread is None else [math.nan]), math.nan
    total, weight = math.fsum(r for r, _ in parts), math.fsum(h for _, h in parts)
    if model.kind == "hist":
        value = total / (weight + model.l2 + 1e-15) * (model.rate if node.leaf else 1.0) if number else 0.0
        return [float(count), value], value
    mean = total / count
    spread = math.fsum((r - mean) ** 2 for r, _ in parts) / count
    newton = node.leaf and model.loss == "log"
    value = (total / weight if weight / count >= 1e-150 else 0.0) if newton else mean
    return [float(count), value, spread], value


def published(model: Ensemble) -> list[float]:
    """List the figures of a model in the order of `boosted_anew`."""
    out = [float(model.start[0])]
    for (tree,) in model.rounds:
        for node in tree:
            out += [float(node.count), node.value] + ([] if node.spread is None else [node.spread])
    return out
