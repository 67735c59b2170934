"""A fitted scikit-learn decision tree as a published model, without importing scikit-learn.

`tree_.value` holds class counts up to scikit-learn 1.3 and fractions since 1.4; an old pickle opened by a new
version still holds counts, so each tree tells by its own data (readers.md, section 2). Predictions compare
float32(x) with the threshold; the cut is put where that comparison changes on the attribute's own values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain import Condition, Domain
from encoders.models import Node, Support, Tree
from encoders.values import AnyAttribute, Continuous, Listed, Test, is_number
from solvers.errors import ReleaseError, Unsupported

EXACT = 1e-6  # counts recovered from fractions must be whole to this precision (measured error: 2e-15)


def is_fitted_tree(model: object) -> bool:
    """Tell whether an object looks like a fitted decision tree classifier."""
    return hasattr(model, "tree_") and hasattr(model, "classes_")


def to_tree(model: Any, domain: Domain, name: str = "tree") -> Tree:
    """Return the published tree of a fitted `DecisionTreeClassifier`; nodes keep their numbers.

    Raises `ReleaseError` where features, classes and domain do not fit, `Unsupported` for weighted rows, several
    outputs or monotonic constraints. That no value was missing in training is assumed, and said so. Cost: linear
    in nodes.
    """
    refuse_other_trees(model, domain)
    splits = Splits(domain, feature_names(model, domain))
    return Tree(to_nodes(model.tree_, splits, class_order(model, domain)), name)


def refuse_other_trees(model: Any, domain: Domain) -> None:
    """Refuse a domain without a label, and trees whose values are not counts of rows."""
    if domain.label is None:
        raise ReleaseError("a classifier needs a domain with a label")
    if getattr(model, "n_outputs_", 1) != 1:
        raise Unsupported("a tree with several outputs is not read")
    if getattr(model, "monotonic_cst", None) is not None:
        raise Unsupported("a tree with monotonic constraints stores clipped values, not counts")


@dataclass(frozen=True)
class Splits:
    """The conditions of the left branches, one object per feature and threshold."""

    domain: Domain
    names: list[str]
    known: dict[tuple[int, float], Condition] = field(default_factory=dict)

    def condition(self, feature: int, threshold: float) -> Condition:
        """Return the condition of the left branch."""
        found = self.known.get((feature, threshold))
        if found is None:
            found = split(self.domain, self.names[feature], threshold)
            self.known[feature, threshold] = found
        return found


def to_nodes(tree: Any, splits: Splits, order: list[int | None]) -> tuple[Node, ...]:
    """Return the nodes of a fitted `tree_`, with class counts in the order of the label's values."""
    counts = class_counts(tree)
    blank = np.zeros(len(counts), dtype=np.int64)
    in_order = np.stack([blank if c is None else counts[:, c] for c in order], axis=1)
    nodes = []
    columns = (tree.children_left, tree.children_right, tree.feature, tree.threshold)
    for row, left, right, feature, threshold in zip(in_order.tolist(), *(c.tolist() for c in columns), strict=True):
        support = Support(tuple(row))
        nodes.append(Node(support) if left < 0 else Node(support, splits.condition(feature, threshold), left, right))
    return tuple(nodes)


def feature_names(model: Any, domain: Domain) -> list[str]:
    """Return the name of every feature: those it was fitted with, else the domain's columns in order."""
    stored = getattr(model, "feature_names_in_", None)
    if stored is None:
        names = [*(a.name for a in domain.attributes), *domain.columns]
        if len(domain.attributes) != model.n_features_in_ or domain.columns:
            raise ReleaseError(
                f"the tree was fitted on {model.n_features_in_} unnamed features: fit it on a DataFrame, "
                "so that its features are named like the domain's columns"
            )
        return names
    for name in stored:
        if name not in domain.place and name not in domain.columns:
            raise ReleaseError(f"the tree's feature '{name}' is neither an attribute nor a column of the domain")
    return [str(name) for name in stored]


def class_order(model: Any, domain: Domain) -> list[int | None]:
    """Return, per value of the label, the tree's class index (None: the tree has never seen it)."""
    if domain.label is None:
        raise ReleaseError("a classifier needs a domain with a label")
    classes = [c.item() if isinstance(c, np.generic) else c for c in model.classes_]
    for value in classes:
        domain.label.point(value)
    values = [domain.label.value(i) for i in range(domain.label.span[1])]
    return [classes.index(v) if v in classes else None for v in values]


def class_counts(tree: Any) -> NDArray[np.int64]:
    """Return (nodes, classes) training rows; `Unsupported` when rows were weighted."""
    rows = np.asarray(tree.n_node_samples, dtype=float)
    weighted = np.asarray(tree.weighted_n_node_samples, dtype=float)
    if not np.allclose(rows, weighted, rtol=1e-9):
        raise Unsupported("the tree was fitted with weights (class_weight or sample_weight): its counts are not rows")
    values = np.asarray(tree.value, dtype=float)[:, 0, :]
    sums = values.sum(axis=1)
    fractions = np.isclose(sums, 1.0) & ~np.isclose(sums, rows)
    single = rows == 1  # counts and fractions of one row look alike, and are
    if not (fractions | single | np.isclose(sums, rows)).all():
        raise Unsupported("tree_.value holds neither class counts nor fractions of them")
    counts = np.where(fractions[:, None], values * rows[:, None], values)
    whole = np.rint(counts)
    if np.abs(counts - whole).max() > EXACT * max(1.0, rows.max()):
        raise Unsupported("tree_.value times the number of rows is not whole: the rows were weighted")
    return whole.astype(np.int64)


def goes_left(value: Any, threshold: float) -> bool:
    """Tell what the predictor does with a value: it compares float32(value) with the threshold."""
    return bool(np.float64(np.float32(value)) <= threshold)


def split(domain: Domain, name: str, threshold: float) -> Condition:
    """Return the condition of the left branch, as a test on the attribute's own values."""
    k = domain.place.get(name)
    if k is None:
        return ((name, Test(values=tuple(v for v in (0, 1) if goes_left(v, threshold)) or None, high=None)),)
    return ((name, threshold_test(domain.all[k], threshold)),)


def threshold_test(attribute: AnyAttribute, threshold: float) -> Test:
    """Return the test for the values that go left, found by bisection (float32 rounding is monotone)."""
    if isinstance(attribute, Continuous):
        if not attribute.minimum <= threshold <= attribute.maximum:
            raise attribute.refuse(threshold, "is a threshold outside the range of")
        return Test(high=threshold)
    if isinstance(attribute, Listed) and not attribute.numeric:
        raise ReleaseError(f"the tree splits '{attribute.name}' at {threshold:g}, but its values are not numbers")
    low, high = 0, attribute.span[1]
    while low < high:
        middle = (low + high) // 2
        if goes_left(attribute.value(middle), threshold):
            low = middle + 1
        else:
            high = middle
    if low in (0, attribute.span[1]):
        side = "above" if low else "below"
        raise ReleaseError(
            f"the threshold {threshold:g} lies {side} every value of '{attribute.name}' ({attribute.describe()})"
        )
    last = attribute.value(low - 1)
    if not is_number(last) or math.isinf(float(last)):
        raise ReleaseError(f"'{attribute.name}' has the value {last!r}, which is no number")
    return Test(high=last)
