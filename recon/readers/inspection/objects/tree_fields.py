"""The ledger of trees of scikit-learn, field by field: what statements carry, what follows, what says which split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from recon.readers.inspection.findings.findings import Finding, not_understood
from recon.readers.inspection.findings.severity import About
from recon.readers.inspection.ledger.entries import Status
from recon.readers.inspection.ledger.implied import CONTRADICTION, of_sklearn
from recon.readers.inspection.objects.traversal import GraphPlace
from recon.readers.stored.objects.things import Thing

SPLITS = "which split, at which value and gain: says more to who knows the learner's rule and arithmetic"
_COUNTS = frozenset(["n_node_samples", "weighted_n_node_samples", "count"])
_SUMS = frozenset(["value", "gain"])  # of histogram trees
_OF_SPLITS = frozenset([
    "left_child", "right_child", "feature", "threshold", "missing_go_to_left", "feature_idx", "num_threshold", "left",
    "right", "depth", "is_leaf", "bin_threshold", "is_categorical", "bitset_idx",
])  # fmt: skip
_BOOSTED = ("GradientBoosting", "HistGradientBoosting")


@dataclass(frozen=True, slots=True)
class NodeField:
    """A field of an array of nodes ("": the whole array): its status, what it holds, and why."""

    name: str
    bytes: int
    status: Status
    figures: str
    why: str
    about: About = ""


STRAY = "nodes that no other leads to, or values at leaves that no leaf has"
# What leaves have in the fields of splits: of trees, and of those of histogram boosting.
_AT_LEAVES = {"right_child": (-1,), "feature": (-2,), "threshold": (-2.0,), "missing_go_to_left": (0,)}
_AT_LEAVES_OF_BINS = {
    "left": (0,), "right": (0,), "feature_idx": (0,), "num_threshold": (0.0,), "threshold": (0.0,),
    "missing_go_to_left": (0,), "gain": (-1.0, 0.0), "bin_threshold": (0,), "is_categorical": (0,), "bitset_idx": (0,),
}  # fmt: skip


def tree_parts(places: Iterable[GraphPlace], whole: bool) -> tuple[dict[int, list[NodeField]], list[Finding]]:
    """Return the parts of every array of nodes and values by the id of its place; findings on contradictory counts.

    Not `whole`: nothing but the findings.
    """
    found: dict[int, list[NodeField]] = {}
    wrong: list[Finding] = []
    nodes, values = {}, {}
    for place in places:
        kind = "" if place.owner is None else place.owner.class_name
        if kind in {"Tree", "TreePredictor"} and isinstance(place.value, np.ndarray) and not place.nested:
            if place.attribute == "nodes" and place.value.dtype.names:
                nodes[id(place.owner)] = place
            elif place.attribute == "values" and kind == "Tree":
                values[id(place.owner)] = place
    for key, place in nodes.items():
        beside = values.get(key)
        odd = stray(place.value)
        if odd:
            wrong.append(not_understood(place.path, odd, "nodes", STRAY))
        made, boosted = _implied(place, beside, whole)
        if CONTRADICTION in made.values():
            wrong.append(not_understood(place.path, place.value.nbytes, "counts", CONTRADICTION))
            continue
        if not whole:
            continue
        found[id(place)] = [
            _part(name, place.value[name].nbytes, made, boosted, beside) for name in place.value.dtype.names
        ]
        if beside is not None:
            classes = beside.value.ndim == 3 and beside.value.shape[2] > 1 and not boosted
            why = "rows per class" if classes else "means or sums of the target"
            found[id(beside)] = [NodeField("", beside.value.nbytes, "used", "classes" if classes else "values", why)]
    return found, wrong


def stray(nodes: Any) -> int:
    """Return the bytes of nodes of a tree that no other leads to, and of values at leaves that no leaf has."""
    names = set(nodes.dtype.names)
    left, right = ("left_child", "right_child") if "left_child" in names else ("left", "right")
    if not {left, right} <= names or not len(nodes):
        return 0
    leaf = nodes["is_leaf"] != 0 if "is_leaf" in names else nodes[left] < 0
    met = np.zeros(len(nodes), dtype=bool)
    met[0] = True
    for side in (left, right):
        children = nodes[side][~leaf]
        met[children[(children > 0) & (children < len(nodes))]] = True
    odd = int((~met).sum()) * nodes.dtype.itemsize
    for name, usual in (_AT_LEAVES if left == "left_child" else _AT_LEAVES_OF_BINS).items():
        if name in names:
            odd += int((leaf & ~np.isin(nodes[name], usual)).sum()) * nodes.dtype[name].itemsize
    return int(odd)


def _implied(place: GraphPlace, values: GraphPlace | None, whole: bool) -> tuple[Mapping[str, str], bool]:
    """Return what is implied of a tree's nodes, and whether boosting has put other values into it."""
    estimator = place.above.owner if place.above is not None else None
    boosted = whole and any(p.owner is not None and p.owner.class_name.startswith(_BOOSTED) for p in place.way)
    if place.owner is None or place.owner.class_name != "Tree" or estimator is None:
        return {}, boosted
    kept = not boosted and _of(estimator, "monotonic_cst") is None
    held = None if values is None else values.value
    return of_sklearn(place.value, held, _of(estimator, "criterion"), kept, whole), boosted


def _of(thing: Thing, name: str) -> Any:
    return thing.get(name) if thing.has(name) else None


def _part(name: str, size: int, implied: Mapping[str, str], boosted: bool, values: GraphPlace | None) -> NodeField:
    """Return a field of the nodes of a tree."""
    targets = values is not None and values.value.ndim == 3 and values.value.shape[2] == 1
    if name == "impurity" and boosted:
        return NodeField(name, size, "used", "values", "spreads of gradients")
    if name == "impurity" and (targets or name not in implied):
        more = f"; {implied[name]}" if name in implied else ""
        return NodeField(name, size, "unused", "", f"the spread of the target in every node{more}", "labels")
    if name in implied:
        return NodeField(name, size, "implied", "", implied[name])
    if name in _COUNTS:
        return NodeField(name, size, "used", "counts", "numbers of rows")
    if name in _SUMS:
        return NodeField(name, size, "used", "values", "sums of gradients")
    if name in _OF_SPLITS:
        return NodeField(name, size, "assumed", "", SPLITS)
    return NodeField(name, size, "unknown", "", "")
