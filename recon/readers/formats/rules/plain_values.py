"""Numbers, lists and names out of stored objects, checked: whoever wrote the file may have put anything into them.

Drafts of models that carry no counts: their structure, and the little that a predicted label says.

A leaf that predicts a class by majority says that the class is at least the commonest there, provided that the leaf
is not empty. The structure is kept beside it, so that `recon.attach_counts` can count rows per leaf or rule.

Trees of pystreed, in memory only: a fitted STreeDClassifier cannot be pickled (its tree and solver are C++ objects).

The tree tests 0/1 columns that a binarizer makes of the attributes: columns that are 0/1 themselves, then categories,
then thresholds; rows with 1 go right. Every node knows its training rows per class, so that counts are exact. The
object also keeps all binarised training rows and their labels (`train_X_`, `train_y_`). Source: pystreed 1.4.0,
pystreed/base.py, pystreed/binarizer.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.domain.domain import Condition
from encoders.domain.values import Test, Value, equals
from encoders.models.models import AnyModel, Provenance, PublishedFigure, RuleList, Statistic, Tree
from encoders.models.nodes import ModelNode, Nodes, Support
from recon.readers.formats.drafts.binding import Binder
from recon.readers.formats.drafts.drafts import Draft, bind
from recon.readers.formats.drafts.facts import Feature, conditions
from recon.readers.formats.sklearn.trees.trees import class_values, feature_names, plain_class
from recon.readers.stored.objects.things import Thing
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

NO_COUNTS = "it carries no counts: recon.attach_counts(model, X, y) counts the training rows per leaf or rule"


@dataclass(frozen=True)
class SkeletonDraft(Draft):
    """A draft whose `models` hold only what labels say; `skeleton` is the model itself, without counts.

    `predicted`: the class of each leaf (in node order) or rule of the skeleton.
    """

    skeleton: Tree | RuleList | None = None
    predicted: tuple[Value, ...] = ()

    def tests(self) -> Iterator[tuple[str, Test]]:
        """Yield the features that the skeleton names, with the tests on them."""
        if self.skeleton is not None:
            for condition in conditions(self.skeleton):
                yield from condition

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return what labels say over the binder's domain; `Unsupported` where they say nothing."""
        if not self.models:
            raise Unsupported(f"the {self.origin.format} says which class is predicted where, but {NO_COUNTS}")
        return super().bound(binder)

    def structure(self, binder: Binder) -> AnyModel | None:
        """Return the skeleton over the binder's domain."""
        return None if self.skeleton is None else bind(self.skeleton, binder)


def commonest(condition: Condition, label: str, value: Value, classes: int, name: str) -> PublishedFigure:
    """Return that a class is at least the commonest of the rows that meet a condition, and that there are some."""
    minimum = 50 if classes == 2 else 100 // classes  # per cent, rounded down
    half = (100 - minimum) / 200
    return PublishedFigure(condition, statistic=Statistic("mean", f"{label}={value}", 1 - half, half), name=name)


def leaf_paths(nodes: Sequence[ModelNode]) -> Iterator[tuple[int, Condition]]:
    """Yield every leaf with the tests on its path; else-sides of single tests only."""
    stack: list[tuple[int, Condition]] = [(0, ())]
    while stack:
        i, path = stack.pop()
        node = nodes[i]
        if node.condition is None:
            yield i, path
            continue
        ((name, test),) = node.condition
        stack.append((node.otherwise, (*path, (name, opposite(test)))))
        stack.append((node.then, (*path, (name, test))))


def opposite(test: Test) -> Test:
    """Return the complement of a test for 0 or 1, or of a one-sided range (these libraries refuse missing values)."""
    if test.values in {(1,), (0,)}:
        return Test(values=(0 if test.values == (1,) else 1,))
    if test.values is None and test.low is None and test.high is not None:
        return Test(low=test.high, low_open=not test.high_open)
    if test.values is None and test.high is None and test.low is not None:
        return Test(high=test.low, high_open=not test.low_open)
    raise Unsupported(f"the test {test} has no complement that is one test")


MAX_ROWS = 1 << 53  # what double precision counts
MAX_PARTS = 1_000_000  # rules or nodes of one model
WHOLE = 1e-6  # a share times a number of rows must be whole to this precision (measured: 2e-13 at 10^5 rows)


def number(value: Any, place: str) -> float:
    """Return a finite number; `ReleaseError` naming the place otherwise."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > 1e300 or math.isnan(value):
        raise ReleaseError(f"holds {shown(value)}, which is no number", place=place)
    return float(value)


def count(value: Any, place: str) -> int:
    """Return a number of rows; `ReleaseError` naming the place otherwise."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= MAX_ROWS:
        raise ReleaseError(f"holds {shown(value)}, which is no number of rows", place=place)
    if value != int(value):
        raise ReleaseError(f"holds {shown(value)}, which is no whole number of rows", place=place)
    return int(value)


def share_of(share: Any, rows: int, place: str) -> int:
    """Return how many of so many rows a share of them is; `ReleaseError` where that is no whole number."""
    if not rows:
        return 0
    found = number(share, place) * rows
    if not -WHOLE <= found <= rows + WHOLE or abs(found - round(found)) > WHOLE * max(1.0, rows * 1e-3):
        raise ReleaseError(f"holds {shown(share)}, which is no share of {rows} rows", place=place)
    return round(found)


def parts(value: Any, what: str, place: str) -> list[Any]:
    """Return a list that is not empty; `ReleaseError` naming the place otherwise."""
    found = value.tolist() if isinstance(value, np.ndarray) and value.ndim == 1 else value
    if not isinstance(found, (list, tuple)) or not found:
        raise ReleaseError(f"holds no {what}: the model is not fitted", place=place)
    if len(found) > MAX_PARTS:
        raise ReleaseError(f"holds {len(found):,} {what}, more than {MAX_PARTS:,}", place=place)
    return list(found)


def index(value: Any, size: int, place: str) -> int:
    """Return an index below `size`; `ReleaseError` naming the place otherwise."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < size:
        raise ReleaseError(f"names feature {shown(value)} of {size}", place=place)
    return value


def shown(value: Any) -> str:
    """Return a value for a message, never long."""
    if isinstance(value, int) and value.bit_length() > 64:
        return "a huge number"
    return f"{value!r:.60}" if isinstance(value, (int, float, str, bool, type(None))) else f"a {type(value).__name__}"


def texts(value: Any) -> list[str] | None:
    """Return names out of a list, an array or a pandas Index; None where there are none."""
    if isinstance(value, Thing):  # pandas: _new_Index(Index, {"data": array, "name": ...})
        from recon.readers.stored.objects.arrays import resolve

        inner = value.args[1] if len(value.args) == 2 else None
        value = resolve(inner["data"]) if isinstance(inner, dict) and "data" in inner else None
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if not isinstance(value, (list, tuple)) or not value or not all(isinstance(v, str) for v in value):
        return None
    return [str(v) for v in value]


def model_features(thing: Thing, also: Sequence[str] = ("feature_names_", "feature_names")) -> tuple[list[str], bool]:
    """Return the name of every feature, and whether they are names (imodels calls features of arrays X0, X1, ...)."""
    if texts(thing.get("feature_names_in_")) is None:
        for attribute in also:
            found = texts(thing.get(attribute))
            if found is not None and len(set(found)) == len(found):
                automatic = any(found == [f"{x}{i}" for i in range(len(found))] for x in ("X", "X_"))
                return found, not automatic
    return feature_names(thing)


def as_features(names: Sequence[str]) -> tuple[Feature, ...]:
    """Return features that are attributes themselves."""
    return tuple(Feature(name, name) for name in names)


def two_classes(thing: Thing) -> tuple[Value, Value]:
    """Return both classes, 0 and 1 in files of versions that did not store them."""
    if not thing.has("classes_"):
        return 0, 1
    found = class_values(thing)
    if len(found) != 2:
        raise ReleaseError(f"has {len(found)} classes, not two", place="classes_")
    return found[0], found[1]


def free_label(names: Sequence[str], label: str = "label") -> str:
    """Return a name for the label that no feature has."""
    while label in names:
        label += "_"
    return label


KINDS = ("STreeDClassifier",)
Column = tuple[str, Test]


def read(thing: Thing, form: str) -> Draft:
    """Refuse a stored model: what a file holds of it is not the tree. Raises `Unsupported` always."""
    raise Unsupported(
        f"a {thing.class_name} in a {form} file holds no tree (pystreed's trees cannot be pickled): "
        "give the fitted model to recon.attach_counts(model, X, y), or the file that its export_dot writes"
    )


def is_streed(model: object) -> bool:
    """Return whether an object looks like a fitted classifier of pystreed."""
    return type(model).__module__.startswith("pystreed") and type(model).__name__ in KINDS


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
    nodes = _grown(model.tree_, binary, classes)
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
        [_plain(c) for c in part]
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
    kept = [_plain(c) for c in maker.binary_feature_limiter.select_features_]
    if not all(isinstance(c, int) for c in kept):  # names of columns, as the binarizers wrote them
        written = list(name[0])
        for part in (maker.categorical_binarizer, maker.continuous_binarizer):
            written += [] if part is None else [str(c) for names in part.column_names_ for c in names]
        kept = [written.index(str(c)) for c in kept]
    return [found[c] for c in kept], every if named else sorted(every), named


def _plain(value: Any) -> Any:
    """Return a numpy number as a Python one."""
    return value.item() if hasattr(value, "item") else value


def _category(value: Any) -> Test:
    """Return the test for a category, or for several that were put together."""
    values = value if isinstance(value, list) else [value]
    return Test(values=tuple(_plain(v) for v in values))


def _grown(root: Any, columns: Sequence[Column], classes: Sequence[Value]) -> list[ModelNode]:
    """Return the nodes of a tree in memory, parents before children."""
    nodes: list[ModelNode] = []
    todo = [root]
    for i, node in enumerate(todo):  # grows while it is walked
        if len(todo) > MAX_PARTS:
            raise ReleaseError(f"the tree has more than {MAX_PARTS:,} nodes")
        if node.is_leaf_node():
            every = [count(_plain(c), f"node {i}") for c in node.num_instances_per_class]  # of labels 0, 1, ..., each
            counts = tuple(every[int(c)] if int(c) < len(every) else 0 for c in classes)
            if sum(counts) != node.num_instances:
                raise ReleaseError(f"counts {every} of {node.num_instances} rows", place=f"node {i}")
            nodes.append(ModelNode(Support(counts)))
            continue
        nodes.append(ModelNode(Support(), (columns[node.feature],), len(todo), len(todo) + 1))
        todo += [node.right_child, node.left_child]
    return nodes
