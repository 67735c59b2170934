"""A `boosting` model of a release file: its gradients, steps and sums turned into doubles, and back.

A number stands for the double nearest to it; what is written is the shortest decimal of each double, so that whatever
was written is read back bit for bit.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from encoders.models.models import Boosting, Tree, TreeSums
from encoders.models.nodes import Nodes
from recon.readers.formats.release.schema import BoostedNodePart, BoostedTreePart, BoostingPart, SumPart
from solvers.foundation.errors import ReleaseError
from solvers.laws.gradients.boosted import Gradients

OWN = ("value", "weight")  # sums that have a key of their own, at most one of each per node
FACTORS = ("gradient", "hessian", "square")


def double(number: float, place: str) -> float:
    """Return the double nearest to a number of the file; `ReleaseError` where it is not finite."""
    try:
        found = float(number)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        shown = str(number)
        shown = shown if len(shown) <= 24 else shown[:21] + "..."
        raise ReleaseError(f"the number {shown} is beyond the range of doubles", place=place)
    return found


def to_boosting(part: BoostingPart, nodes: Sequence[Nodes], name: str, place: str) -> Boosting:
    """Return a boosted model whose trees have the given nodes; `ReleaseError` naming what does not fit."""
    trees = tuple(Tree(n, t.name or f"tree {i}") for i, (n, t) in enumerate(zip(nodes, part.trees, strict=True)))
    sums = tuple(to_sums(tree, f"{place}.trees[{i}]") for i, tree in enumerate(part.trees))
    start = tuple(double(x, f"{place}.start[{i}]") for i, x in enumerate(part.start))
    base = start if part.base is None else tuple(double(x, f"{place}.base[{i}]") for i, x in enumerate(part.base))
    return Boosting(trees, sums, to_gradients(part, f"{place}.gradients"), start, base, tuple(part.labels), name)


def to_gradients(part: BoostingPart, place: str) -> Gradients:
    """Return how the library computes gradients."""
    given = part.gradients
    names = [f.name for f in fields(Gradients)]
    numbers = {
        n: double(getattr(given, n), f"{place}.{n}") for n in names if n not in ("loss", "scores", "rounded", "stages")
    }
    for name in ("scale", "factor"):
        if numbers[name] <= 0:
            raise ReleaseError(f"{name} must be above 0, not {numbers[name]:g}", place=f"{place}.{name}")
    return Gradients(given.loss, given.scores, given.rounded, **numbers, stages=given.stages)


def to_sums(tree: BoostedTreePart, place: str) -> TreeSums:
    """Return what a tree publishes beside counts; a node's value comes first, then its weight, then its other sums."""
    steps: list[float] = []
    found: list[tuple[int, str, tuple[float, ...]]] = []
    for k, node in enumerate(tree.nodes):
        at = f"{place}.nodes[{k}]"
        if (node.step is None) == (node.condition is None):
            message = "an inner node has no 'step'" if node.condition is not None else "a leaf needs a 'step'"
            raise ReleaseError(message, place=at)
        if node.step is not None:
            steps.append(double(node.step, f"{at}.step"))
        for what, one, where in published(node):
            found.append((k, what, figure(one, f"{at}.{where}")))
    table = np.array([f for _, _, f in found], dtype=np.float64).reshape(-1, len(FACTORS) + 2)
    gradient, hessian, square, low, high = table.T.copy()
    nodes = np.array([k for k, _, _ in found], dtype=np.int64)
    whats = tuple(what for _, what, _ in found)
    return TreeSums(
        tree.round, tree.of, np.array(steps, dtype=np.float64), nodes, gradient, hessian, square, low, high, whats
    )


def published(node: BoostedNodePart) -> Iterator[tuple[str, SumPart, str]]:
    """Yield what each sum of a node is, the sum, and where in the node it stands."""
    for key in OWN:
        one: SumPart | None = getattr(node, key)
        if one is not None:
            yield key, one, key
    for i, named in enumerate(node.sums):
        yield named.what, named, f"sums[{i}]"


def figure(one: SumPart, place: str) -> tuple[float, ...]:
    """Return a sum's factors and the ends of its interval; `ReleaseError` for an empty one, and for no factors."""
    keys = (*FACTORS, "at_least", "at_most")
    found = tuple(double(getattr(one, key), f"{place}.{key}") for key in keys)
    if not any(found[: len(FACTORS)]):
        raise ReleaseError("gives none of 'gradient', 'hessian' and 'square', so that it says nothing", place=place)
    if found[-2] > found[-1]:
        raise ReleaseError(f"the interval from {found[-2]!r} to {found[-1]!r} is empty", place=place)
    return found


def boosting_json(model: Boosting, nodes: Sequence[list[dict[str, Any]]]) -> dict[str, Any]:
    """Return what stands in a file of a boosted model; `nodes`: those of each tree, with their counts."""
    out: dict[str, Any] = {"gradients": gradients_json(model.gradients), "start": list(model.start)}
    if model.base != model.start:
        out["base"] = list(model.base)
    if model.labels:
        out["labels"] = list(model.labels)
    out["trees"] = [
        {"name": tree.name, "round": sums.round, "of": sums.of, "nodes": with_sums(tree, sums, one)}
        for tree, sums, one in zip(model.trees, model.sums, nodes, strict=True)
    ]
    return out


def gradients_json(law: Gradients) -> dict[str, Any]:
    """Return how gradients are computed as it stands in a file: the loss, and what is not at its default."""
    return {f.name: value for f in fields(law) if (value := getattr(law, f.name)) != f.default}


def with_sums(tree: Tree, sums: TreeSums, nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the nodes of a tree with steps and sums."""
    steps = dict(zip(tree.nodes.leaves.tolist(), sums.step.tolist(), strict=True))
    columns = [getattr(sums, key).tolist() for key in (*FACTORS, "low", "high")]
    figures: dict[int, list[tuple[str, dict[str, float]]]] = defaultdict(list)
    for node, what, *numbers in zip(sums.node.tolist(), sums.what, *columns, strict=True):
        factors = {key: x for key, x in zip(FACTORS, numbers, strict=False) if x}
        figures[node].append((what, {**factors, "at_least": numbers[-2], "at_most": numbers[-1]}))
    out = []
    for k, node in enumerate(nodes):
        more: dict[str, Any] = {"step": steps[k]} if k in steps else {}
        for what, one in figures[k]:
            if what in OWN and what not in more:
                more[what] = one
            else:
                more.setdefault("sums", []).append({"what": what, **one})
        out.append({**node, **more})
    return out
