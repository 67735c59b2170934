"""Treelite's JSON: trees of scikit-learn and LightGBM with the rows of every node, as far as the original had them.

Treelite keeps `data_count`, the training rows of a node: of scikit-learn the different ones that a tree drew, of
LightGBM those of its bag. It does not keep how rows were drawn, so that counts are of a part of the rows, each once:
least numbers. Where `--rows` says that every tree saw all of them, they are the rows of every leaf.

Source: treelite 4.8, src/json_serializer.cc, include/treelite/tree.h.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoders.domain.values import Continuous
from encoders.models.models import AnyModel, Provenance, UnusedPublication
from recon.io.files.opening import current
from recon.readers.formats.drafts.binding import Binder, Feature
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.sklearn.trees.arrays import MAX_NODES, TreeArrays, only_sizes
from recon.readers.formats.sklearn.trees.draft import CountedTree, TreesDraft
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

FORMAT = "treelite's JSON"
MAX_FEATURES = 1_000_000
PART = (
    "treelite does not say how rows were drawn: each tree counts different rows of one training set, which may be a "
    "part of them (--rows that every tree counts says that it is all)"
)
ALL = "every tree counts as many rows as --rows says there are, so that it saw all of them, each once"
DOUBLE = "columns that may be any number were compared in double precision"
VALUES = "treelite does not say what made them"
NEAR = (
    "so near a value of the domain that 32 bits move it over, and treelite does not say if columns were compared in 32 "
    "bits: declare a domain without that value, or give the original model file"
)
NO_COUNTS = (
    "its nodes have no data_count, as those of XGBoost and CatBoost: give the original model file, which is read"
)


@dataclass(frozen=True, eq=False)
class TreeliteDraft(TreesDraft):
    """Trees that count different rows of a part of the training rows."""

    def missing(self) -> Iterator[str]:
        """Yield nothing: where missing values would go does not show that there were some."""
        return iter(())

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the forest over the binder's domain.

        Raises `ReleaseError` naming a column some value of which goes elsewhere where numbers of 32 bits are compared.
        """
        found = super().bound(binder)
        short = super(TreeliteDraft, replace(self, single=True)).bound(
            Binder(replace(self, single=True), binder.domain)
        )
        for one, other in zip(found, short, strict=True):
            for mine, its in zip(one.conditions(), other.conditions(), strict=True):
                name = mine[0][0]
                continuous = isinstance(binder.domain.all[binder.domain.place[name]], Continuous)
                if not continuous and binder.domain.resolve(mine) != binder.domain.resolve(its):
                    raise ReleaseError(f"the threshold {mine[0][1]} of '{name}' is {NEAR}")
        return found

    def of_rows(self, rows: int | None) -> Draft:
        """Return the draft of so many rows: exact sizes where every tree counts all of them."""
        roots = {int(one.arrays.rows[0]) for one in self.trees}
        if rows is None:
            return self
        if rows < max(roots):
            raise ReleaseError(f"a tree counts {max(roots):,} different rows, more than {rows:,} (--rows)")
        if roots != {rows}:
            return replace(self, rows=RowCount(rows, rows))
        origin = replace(self.origin, counts=("size",), notes=(ALL, DOUBLE))
        return replace(self, origin=origin, resampled=False, rows=RowCount(rows, rows))


def read_treelite(content: dict[str, Any]) -> Draft:
    """Return what treelite's JSON says. Cost: linear in nodes.

    Raises `ReleaseError` naming the node for what is no tree, `Unsupported` for nodes without counts, for splits on
    categories, and other comparisons than < and <=.
    """
    number, trees = content.get("num_feature"), content.get("trees")
    if not isinstance(number, int) or not 0 < number <= MAX_FEATURES:
        raise ReleaseError(f"has {str(number)[:20]} features", place="num_feature")
    if not isinstance(trees, list) or not trees:
        raise ReleaseError("has no trees", place="trees")
    short = content.get("threshold_type") == "float32"
    counted = tuple(_tree(one, number, f"trees[{i}]", short) for i, one in enumerate(trees))
    rows = max(int(one.arrays.rows[0]) for one in counted)
    return TreeliteDraft(
        Provenance(
            FORMAT,
            ("distinct",),
            (PART, DOUBLE),
            unused=(
                UnusedPublication("the values of its leaves", "treelite does not say what made them", labels=True),
            ),
        ),
        tuple(Feature(f"x{i}", f"x{i}") for i in range(number)),
        rows=RowCount(rows),
        named=False,
        trees=counted,
        forest=True,
        resampled=True,
        replaced=False,
    )


def _tree(tree: Any, features: int, place: str, short: bool) -> CountedTree:
    """Return the arrays of one tree; `short`: its thresholds are numbers of 32 bits."""
    nodes = tree.get("nodes") if isinstance(tree, dict) else None
    if not isinstance(nodes, list) or not 0 < len(nodes) <= MAX_NODES or not all(isinstance(n, dict) for n in nodes):
        raise ReleaseError("has no list of nodes", place=place)
    current().bytes(200 * len(nodes))
    n = len(nodes)
    left, right, feature = (np.full(n, -1, dtype=np.int64) for _ in range(3))
    threshold, missing = np.full(n, -2.0), np.zeros(n, dtype=bool)
    rows = np.zeros(n, dtype=np.int64)
    for i, node in enumerate(nodes):
        here = f"{place}.nodes[{i}]"
        if node.get("node_id") != i:
            raise ReleaseError(f"has the number {str(node.get('node_id'))[:20]}", place=here)
        rows[i] = _node_rows(node.get("data_count"), here)
        if "leaf_value" in node:
            continue
        left[i], right[i] = (_index_of(node.get(key), n, key, here) for key in ("left_child", "right_child"))
        feature[i] = _index_of(node.get("split_feature_id"), features, "split_feature_id", here)
        threshold[i], missing[i] = _threshold(node, short, here), node.get("default_left") is True
    none, weighted = np.zeros((n, 1)), rows.astype(np.float64)
    arrays = TreeArrays(left, right, feature, threshold, missing, np.zeros(n), rows, weighted, none)
    arrays.check(features, place)
    arrays.agree(place, rows="data_count")
    return CountedTree(arrays, only_sizes(rows, 1, ""))


def _threshold(node: dict[str, Any], short: bool, place: str) -> float:
    """Return the greatest number that goes left at a node."""
    kind, how, found = (node.get(key) for key in ("node_type", "comparison_op", "threshold"))
    if kind != "numerical_test_node":
        raise Unsupported(
            f"{place} splits on categories, and treelite does not say which there are: give the original model file"
        )
    if how not in {"<=", "<"}:
        raise Unsupported(f"{place} compares by {str(how)[:10]!r}: trees that compare by < or <= are read")
    if not isinstance(found, (int, float)) or isinstance(found, bool) or math.isnan(found):
        raise ReleaseError(f"has the threshold {str(found)[:20]}", place=place)
    if how == "<=":
        return float(found)
    below = np.nextafter(np.float32(found), np.float32(-np.inf)) if short else np.nextafter(found, -np.inf)
    return float(below)


def _node_rows(value: Any, place: str) -> int:
    """Return the rows of a node."""
    if value is None:
        raise Unsupported(f"{place}: {NO_COUNTS}")
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 53:
        raise ReleaseError(f"has the data_count {str(value)[:20]}, which is no number of rows", place=place)
    return value


def _index_of(value: Any, number: int, key: str, place: str) -> int:
    """Return the number of a node or a feature."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < number:
        raise ReleaseError(f"has the {key} {str(value)[:20]} of {number}", place=place)
    return value
