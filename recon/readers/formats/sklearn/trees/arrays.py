"""The node arrays of a stored scikit-learn tree, checked: whoever wrote the file may have put anything into them.

The structured array `nodes` has one record per node; its fields grew with the versions (`missing_go_to_left` since
1.3) and are read by name. `values` is (nodes, outputs, classes). Two figures of one node that cannot both be true are
refused: whoever changed one of them left the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recon.readers.stored.objects.things import Thing
from solvers.foundation.errors import ReleaseError, Unsupported

FIELDS = (
    "left_child",
    "right_child",
    "feature",
    "threshold",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
)
MAX_NODES = 50_000_000
SAME = 1e-6  # relative: figures that training computes twice, in double precision, in another order
CHANCE = 20.0  # bits: coincidences that are together less likely than one in a million are none


@dataclass(frozen=True, eq=False)
class TreeArrays:
    """One stored tree: links, tests and figures per node; `value` is (nodes, classes) of its only output.

    `rows` is n_node_samples, `weighted` weighted_n_node_samples, `missing_left` False everywhere in files of versions
    without missing values. Leaves have `left` -1.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    impurity: NDArray[np.float64]
    rows: NDArray[np.int64]
    weighted: NDArray[np.float64]
    value: NDArray[np.float64]

    @classmethod
    def of(cls, tree: Any, features: int, place: str = "tree_") -> TreeArrays:
        """Return the arrays of a stored `sklearn.tree._tree.Tree` over so many features.

        Raises `ReleaseError` naming the place for arrays that make no tree, `Unsupported` for several outputs.
        """
        if not isinstance(tree, Thing) or tree.class_name != "Tree":
            raise ReleaseError("holds no fitted tree", place=place)
        nodes, values = tree.get("nodes"), tree.get("values")
        names = getattr(getattr(nodes, "dtype", None), "names", None) or ()
        lacking = [f for f in FIELDS if f not in names]
        if not isinstance(nodes, np.ndarray) or nodes.ndim != 1 or lacking:
            raise ReleaseError(f"has no node array with the fields of a tree ({', '.join(lacking)})", place=place)
        if not isinstance(values, np.ndarray) or values.ndim != 3 or values.dtype.kind != "f":
            raise ReleaseError("has no array of values per node, output and class", place=place)
        if len(values) != len(nodes) or not 0 < len(nodes) <= MAX_NODES:
            raise ReleaseError(f"has {len(nodes)} nodes and values of {len(values)}", place=place)
        if values.shape[1] != 1:
            raise Unsupported("a tree with several outputs is not read: fit one tree per output")
        try:
            found = cls(
                nodes["left_child"].astype(np.int64),
                nodes["right_child"].astype(np.int64),
                nodes["feature"].astype(np.int64),
                nodes["threshold"].astype(np.float64),
                nodes["missing_go_to_left"].astype(bool)
                if "missing_go_to_left" in names
                else np.zeros(len(nodes), dtype=bool),
                nodes["impurity"].astype(np.float64),
                nodes["n_node_samples"].astype(np.int64),
                nodes["weighted_n_node_samples"].astype(np.float64),
                values[:, 0, :].astype(np.float64),
            )
        except (TypeError, ValueError) as error:
            raise ReleaseError(f"has node fields that are not numbers ({error})", place=place) from None
        found.check(features, place)
        return found

    @property
    def leaf(self) -> NDArray[np.bool_]:
        """Return which nodes are leaves."""
        return self.left < 0

    def check(self, features: int, place: str) -> None:
        """Raise `ReleaseError` unless the links make one tree, features are in range and figures are numbers."""
        inner, n = ~self.leaf, len(self.left)
        for name, children in (("left_child", self.left[inner]), ("right_child", self.right[inner])):
            bad = np.flatnonzero((children <= 0) | (children >= n))
            if len(bad):
                node = int(np.flatnonzero(inner)[bad[0]])
                raise ReleaseError(f"node {node} has the {name} {children[bad[0]]} of {n} nodes", place=place)
        parents = np.bincount(np.concatenate([self.left[inner], self.right[inner]]), minlength=n)
        if n > 1 and (parents[1:] != 1).any():
            node = int(np.flatnonzero(parents[1:] != 1)[0]) + 1
            raise ReleaseError(f"node {node} is the child of {parents[node]} nodes", place=place)
        # Every node but the root has one parent: it is a tree unless some nodes hang in a circle of their own.
        level, seen = np.zeros(1, dtype=np.int64), 0
        while len(level):
            seen += len(level)
            level = level[inner[level]]
            level = np.concatenate([self.left[level], self.right[level]])
        if seen != n:
            raise ReleaseError(f"{n - seen} of its nodes cannot be reached from the root", place=place)
        outside = np.flatnonzero(inner & ((self.feature < 0) | (self.feature >= features)))
        if len(outside):
            node = int(outside[0])
            raise ReleaseError(f"node {node} tests feature {self.feature[node]} of {features}", place=place)
        if np.isnan(self.threshold[inner]).any() or np.isneginf(self.threshold[inner]).any():
            raise ReleaseError("has a threshold that is not a number", place=place)
        figures = (self.weighted, *self.value.T)
        if not all(np.isfinite(f).all() for f in figures) or (self.rows < 0).any() or (self.rows > 1 << 53).any():
            raise ReleaseError("has figures that are not numbers of rows", place=place)

    def agree(self, place: str, criterion: object = None, rows: str = "n_node_samples") -> None:
        """Raise `ReleaseError`, naming both paths and values, where two figures of one node cannot both be true.

        Inner nodes hold what their two children hold together. Rows whose weights are below 1 do not add up to whole
        weights in leaf after leaf. `criterion`: values are of classes, impurities theirs by it.
        `rows`: what the file calls the numbers of rows.
        """
        self._add_up(f"{place}.nodes['{rows}']", self.rows.astype(np.float64))
        self._add_up(f"{place}.nodes['weighted_n_node_samples']", self.weighted)
        self._whole_weights(place)
        sums = self.value.sum(axis=1, keepdims=True)
        if isinstance(criterion, str) and (self.value >= 0).all() and (sums > 0).all():
            shares = self.value / sums
            self._impurities(place, shares, criterion)
            for k, held in enumerate((shares * self.weighted[:, None]).T):
                self._add_up(f"class {k} of {place}.values", held)

    def _add_up(self, name: str, figures: NDArray[np.float64]) -> None:
        inner = np.flatnonzero(~self.leaf)
        sums = figures[self.left[inner]] + figures[self.right[inner]]
        bad = np.flatnonzero(np.abs(sums - figures[inner]) > SAME * np.maximum(1.0, np.abs(figures[inner])))
        if len(bad):
            node, both = int(inner[bad[0]]), (int(self.left[inner[bad[0]]]), int(self.right[inner[bad[0]]]))
            raise ReleaseError(
                f"{name}[{node}] says {figures[node]:g} rows, but its two children, [{both[0]}] and [{both[1]}], have "
                f"{sums[bad[0]]:g} together: both cannot be true; save the model as it was fitted"
            )

    def _whole_weights(self, place: str) -> None:
        held, rows = self.weighted[self.leaf], self.rows[self.leaf]
        over = rows > held * (1 + SAME) + SAME
        if (np.abs(held - np.rint(held)) > SAME * np.maximum(1.0, held)).any() or not over.any():
            return
        divisor = int(np.gcd.reduce(rows[over]))
        if float(over.sum()) * max(1.0, float(np.log2(divisor))) < CHANCE:
            return
        node = int(np.flatnonzero(self.leaf)[np.flatnonzero(over)[0]])
        raise ReleaseError(
            f"{place}.nodes['n_node_samples'][{node}] is {int(self.rows[node]):,}, but "
            f"{place}.nodes['weighted_n_node_samples'][{node}] is {self.weighted[node]:g}: both cannot be true, here "
            f"and in {int(over.sum()) - 1:,} more leaves, for rows that weigh less than 1 do not add up to whole "
            "weights in every leaf; save the model as it was fitted"
        )

    def _impurities(self, place: str, p: NDArray[np.float64], criterion: str) -> None:
        expected = impurities(p, criterion)
        if expected is None:
            return
        bad = np.flatnonzero(~(np.abs(expected - self.impurity) <= SAME * max(1.0, float(np.log2(p.shape[1])))))
        if len(bad):
            node = int(bad[0])
            raise ReleaseError(
                f"{place}.nodes['impurity'][{node}] is {self.impurity[node]:g}, but {place}.values[{node}] has the "
                f"impurity {expected[node]:g} ({criterion}): both cannot be true; save the model as it was fitted"
            )


def impurities(shares: NDArray[np.float64], criterion: str) -> NDArray[np.float64] | None:
    """Return the impurity of every node by its shares of the classes, None for a criterion that is not known."""
    if criterion == "gini":
        return np.asarray(1 - (shares**2).sum(axis=1))
    if criterion in {"entropy", "log_loss"}:
        positive = np.where(shares > SAME, shares, 1)
        return np.asarray(-(positive * np.log2(positive)).sum(axis=1))
    return None
