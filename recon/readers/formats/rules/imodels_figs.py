"""FIGS of imodels: a sum of trees, each one a partition of the same training rows.

Every node stores how many rows it holds (`n_samples_`) and the weighted rows per class (`value_sklearn`); pickles also
keep the labels of all rows (`Y`) and which rows each node holds (`idxs`), from which counts follow whatever the
weights were. Source: imodels 3.0.4, imodels/tree/figs.py (`_annotate_node`; `_predict_tree`: x <= threshold: left).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Test, Value
from encoders.models.models import CountKind, Forest, Provenance, Tree, UnusedPublication
from encoders.models.nodes import ModelNode, Nodes, Support
from recon.readers.formats.drafts.binding import free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.rules.plain_values import (
    MAX_PARTS,
    WHOLE_TOLERANCE,
    as_features,
    count,
    index,
    model_features,
    number,
    parts,
)
from recon.readers.formats.sklearn.trees.trees import class_values
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError
from solvers.statements.release import RowCount

KINDS = ("FIGSClassifier", "FIGSRegressor", "FIGSClassifierCV", "FIGSRegressorCV")
Counts = list[tuple[int, ...]]


def read(thing: Thing, form: str) -> Draft:
    """Return the draft of a fitted FIGS: exact class counts per leaf where they follow, else (regression) sizes.

    Raises `ReleaseError` naming the place for nodes that make no trees. Cost: linear in nodes, times the number of
    rows where the file stores which rows each node holds.
    """
    model = thing
    if thing.class_name.endswith("CV"):
        model = thing.get("figs")
        if not isinstance(model, Thing):
            raise ReleaseError("holds no fitted model", place="figs")
    names, named = model_features(model)
    roots = parts(model.get("trees_"), "trees", "trees_")
    trees = [_tree_nodes(root, len(names), f"trees_[{i}]") for i, root in enumerate(roots)]
    classes = None if thing.class_name.startswith("FIGSRegressor") else class_values(model)
    found, note = (None, "") if classes is None else _class_counts(model, trees, classes)
    sizes = [[size(node) for node in tree] for tree in trees]
    counts: tuple[CountKind, ...] = ("size",) if found is None else ("exact",)
    drawn = []
    for t, tree in enumerate(trees):
        supports = [Support(count=n) for n in sizes[t]] if found is None else [Support(c) for c in found[t]]
        nodes = (_built(node, support, names) for node, support in zip(tree, supports, strict=True))
        drawn.append(Tree(Nodes.of(nodes), f"tree {t}"))
    encoder = "" if model.get("categorical_features_") is None else "its categories are 0/1 columns of the domain"
    why = "they are means of what other trees leave" if len(trees) > 1 else note or "the target is a number"
    unused = (
        (UnusedPublication("its leaf values", why, labels=len(trees) == 1),) if len(trees) > 1 or found is None else ()
    )
    return Draft(
        Provenance(f"imodels {thing.class_name} ({form})", counts, unused=unused),
        as_features(names),
        (Forest(tuple(drawn)) if len(drawn) > 1 else Tree(drawn[0].nodes),),
        classes,
        free_label(names),
        RowCount(sizes[0][0], sizes[0][0]),
        named=named,
        reader_notes=tuple(line for line in (note, encoder) if line),
    )


@dataclass(frozen=True)
class FigsNode:
    """One stored node: its Thing, its place, and its children (-1: a leaf)."""

    thing: Thing
    place: str
    feature: int = -1
    threshold: float = 0.0
    left: int = -1
    right: int = -1


def _tree_nodes(root: Any, features: int, place: str) -> list[FigsNode]:
    """Return the nodes of a tree, parents before children; `ReleaseError` for links that make no tree."""
    out: list[FigsNode] = []
    seen: set[int] = set()
    todo = [(root, place)]
    for node, here in todo:  # grows while it is walked: children come behind their parents
        if not isinstance(node, Thing) or node.class_name != "Node":
            raise ReleaseError("is not a node of a tree", place=here)
        if id(node) in seen:
            raise ReleaseError("is the child of two nodes: not a tree", place=here)
        if len(todo) > MAX_PARTS:
            raise ReleaseError(f"has more than {MAX_PARTS:,} nodes", place=place)
        seen.add(id(node))
        left, right = node.get("left"), node.get("right")
        if left is None and right is None:
            out.append(FigsNode(node, here))
            continue
        at = index(node.get("feature"), features, f"{here}.feature")
        threshold = number(node.get("threshold"), f"{here}.threshold")
        out.append(FigsNode(node, here, at, threshold, len(todo), len(todo) + 1))
        # Places name the node, not the path to it, which can be as long as the tree is deep.
        todo += [(left, f"{place} node {len(todo)}"), (right, f"{place} node {len(todo) + 1}")]
    return out


def _built(node: FigsNode, support: Support, names: list[str]) -> ModelNode:
    """Return a node as a published one; inner nodes publish nothing that their leaves do not."""
    if node.left < 0:
        return ModelNode(support)
    return ModelNode(Support(), ((names[node.feature], Test(high=node.threshold)),), node.left, node.right)


def size(node: FigsNode) -> int:
    """Return the training rows of a node; versions that did not store them stored counts."""
    if node.thing.has("n_samples_"):
        return count(node.thing.get("n_samples_"), f"{node.place}.n_samples_")
    return count(float(_weights(node).sum()), f"{node.place}.value_sklearn")


def _weights(node: FigsNode) -> NDArray[np.float64]:
    """Return the weighted rows per class of a node."""
    found = node.thing.get("value_sklearn")
    if (
        not isinstance(found, np.ndarray)
        or found.ndim != 1
        or found.dtype.kind not in "iuf"
        or not np.isfinite(found).all()
    ):
        raise ReleaseError("holds no rows per class", place=f"{node.place}.value_sklearn")
    return found.astype(np.float64)


def _class_counts(
    model: Thing, trees: list[list[FigsNode]], classes: tuple[Value, ...]
) -> tuple[list[Counts] | None, str]:
    """Return the rows per class of every node (None: only sizes are known), and how they were found."""
    stored = _from_rows(model, trees, len(classes))
    if stored is not None:
        text = (
            "class counts follow from the label and the leaves of every row, which the file stores: see recon inspect"
        )
        return stored, text
    found: list[Counts] = []
    for tree in trees:
        found.append([])
        for node in tree:
            share = _weights(node)
            if len(share) != len(classes):
                raise ReleaseError(f"holds {len(share)} classes of {len(classes)}", place=f"{node.place}.value_sklearn")
            whole = np.rint(share)
            if np.abs(share - whole).max() > WHOLE_TOLERANCE or (share < 0).any() or int(whole.sum()) != size(node):
                return None, "rows were weighted: only the number of rows per leaf is known"
            found[-1].append(tuple(int(c) for c in whole))
    if model.get("class_weight") is not None:  # may sum to whole numbers by chance
        return None, "classes were weighted: only the number of rows per leaf is known"
    return found, ""


def _from_rows(model: Thing, trees: list[list[FigsNode]], classes: int) -> list[Counts] | None:
    """Return the rows per class of every node, out of the stored labels and memberships of all rows, if there."""
    labels = model.get("Y")
    if not isinstance(labels, np.ndarray) or labels.ndim != 2 or labels.shape[1] != classes:
        return None
    if not np.isin(labels, (0, 1)).all() or (labels.sum(axis=1) != 1).any():
        return None
    found: list[Counts] = []
    for tree in trees:
        found.append([])
        for node in tree:
            inside = node.thing.get("idxs")
            if not isinstance(inside, np.ndarray) or inside.dtype.kind != "b" or inside.shape != (len(labels),):
                return None
            if int(inside.sum()) != size(node):
                return None
            found[-1].append(tuple(int(c) for c in labels[inside].sum(axis=0)))
    return found
