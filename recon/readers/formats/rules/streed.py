"""Trees of pystreed, in memory only: a fitted STreeDClassifier cannot be pickled (its tree and solver are C++ objects).

The tree tests 0/1 columns that a binarizer makes of the attributes: columns that are 0/1 themselves, then categories,
then thresholds; rows with 1 go right. Every node knows its training rows per class, so that counts are exact. The
object also keeps all binarised training rows and their labels (`train_X_`, `train_y_`). Source: pystreed 1.4.0,
pystreed/base.py, pystreed/binarizer.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from encoders.domain.values import Test, Value, equals
from encoders.models.models import Provenance, Tree
from encoders.models.nodes import ModelNode, Nodes, Support
from recon.readers.formats.drafts.binding import free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.rules.plain_values import MAX_PARTS, as_features, count
from recon.readers.formats.sklearn.trees.trees import plain_class
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

KINDS = ("STreeDClassifier",)
Column = tuple[str, Test]


def read(thing: Thing, form: str) -> Draft:
    """Refuse a stored model: what a file holds of it is not the tree. Raises `Unsupported` always."""
    raise Unsupported(
        f"a {thing.class_name} in a {form} file holds no tree (pystreed's trees cannot be pickled): "
        "give the fitted model to recon.attach_counts(model, X, y), or the file that its export_dot writes"
    )


def of_model(model: Any) -> Draft:
    """Return the draft of a fitted STreeDClassifier in memory, with exact class counts.

    Raises `ReleaseError` where it is not fitted, `Unsupported` for labels other than 0, 1, ... Cost: linear in nodes.
    """
    if getattr(model, "tree_", None) is None:
        raise ReleaseError("the STreeDClassifier is not fitted: it has no tree")
    classes = tuple(plain_class(c.item() if hasattr(c, "item") else c) for c in model.classes_)
    if not all(isinstance(c, int) and c >= 0 for c in classes):
        raise Unsupported(f"a STreeDClassifier counts labels 0, 1, ...: fit it on these, not on {list(classes)[:5]}")
    binary, columns, named = _binarised(model)
    names = [f"x{c}" if isinstance(c, int) else str(c) for c in columns]
    nodes = _tree_nodes(model.tree_, binary, classes)
    n = sum(node.support.total or 0 for node in nodes if node.condition is None)
    return Draft(
        Provenance("pystreed STreeDClassifier (in memory)", ("exact",)),
        as_features(names),
        (Tree(Nodes.of(nodes)),),
        classes,
        free_label(names),
        RowCount(n, n),
        named=named,
    )


def _binarised(model: Any) -> tuple[list[Column], list[Any], bool]:
    """Return the test behind every 0/1 column of the tree, the attributes in order, and whether they have names."""
    maker = model.binarizer_
    kinds = [
        [_plain_value(c) for c in part]
        for part in (maker.binary_columns, maker.categorical_columns, maker.continuous_columns)
    ]
    every = [c for part in kinds for c in part]
    named = not all(isinstance(c, int) for c in every)
    name = [[str(c) if named else f"x{c}" for c in part] for part in kinds]
    found: list[Column] = [(c, equals(1)) for c in name[0]]
    if name[1]:
        for column, values in zip(name[1], maker.categorical_binarizer.categories_, strict=True):
            found += [(column, _category(v)) for v in values]
    if name[2]:
        for column, thresholds in zip(name[2], maker.continuous_binarizer.thresholds_, strict=True):
            found += [(column, Test(high=float(t))) for t in thresholds]
    if maker.binary_feature_limiter is None:
        return found, every if named else sorted(every), named
    kept = [_plain_value(c) for c in maker.binary_feature_limiter.select_features_]
    if not all(isinstance(c, int) for c in kept):  # names of columns, as the binarizers wrote them
        written = list(name[0])
        for part in (maker.categorical_binarizer, maker.continuous_binarizer):
            written += [] if part is None else [str(c) for names in part.column_names_ for c in names]
        kept = [written.index(str(c)) for c in kept]
    return [found[c] for c in kept], every if named else sorted(every), named


def _plain_value(value: Any) -> Any:
    """Return a numpy number as a Python one."""
    return value.item() if hasattr(value, "item") else value


def _category(value: Any) -> Test:
    """Return the test for a category, or for several that were put together."""
    values = value if isinstance(value, list) else [value]
    return Test(values=tuple(_plain_value(v) for v in values))


def _tree_nodes(root: Any, columns: Sequence[Column], classes: Sequence[Value]) -> list[ModelNode]:
    """Return the nodes of a tree in memory, parents before children."""
    nodes: list[ModelNode] = []
    todo = [root]
    for i, node in enumerate(todo):  # grows while it is walked
        if len(todo) > MAX_PARTS:
            raise ReleaseError(f"the tree has more than {MAX_PARTS:,} nodes")
        if node.is_leaf_node():
            every = [
                count(_plain_value(c), f"node {i}") for c in node.num_instances_per_class
            ]  # of labels 0, 1, ..., each
            counts = tuple(every[int(c)] if int(c) < len(every) else 0 for c in classes)
            if sum(counts) != node.num_instances:
                raise ReleaseError(f"counts {every} of {node.num_instances} rows", place=f"node {i}")
            nodes.append(ModelNode(Support(counts)))
            continue
        nodes.append(ModelNode(Support(), (columns[node.feature],), len(todo), len(todo) + 1))
        todo += [node.right_child, node.left_child]
    return nodes
