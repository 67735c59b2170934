"""The node arrays of a stored scikit-learn tree, checked, and the class counts that follow from them.

The structured array `nodes` has one record per node; its fields grew with the versions (`missing_go_to_left` since
1.3) and are read by name. `values` is (nodes, outputs, classes). Two figures of one node that cannot both be true are
refused: whoever changed one of them left the other.

`tree_.value` holds (weighted) class counts up to version 1.3 and shares of them since 1.4, whatever version opens the
file, so every node tells by its own sum (readers.md, section 2). Weights per class are solved for, because the
unweighted number of rows stands beside the weighted classes in every node; values clipped by monotonic constraints
are recovered from the impurity. What cannot be recovered exactly is not stated: then sizes are all there is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recon.readers.stored.pickled.pickles import Thing
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
EXACT = 1e-6  # recovered counts must be whole to this precision, relative to the tree (measured error: 2e-15)
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
        if lacking or nodes.ndim != 1:
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

    @property
    def unweighted(self) -> bool:
        """Return whether every row weighs 1, up to rounding."""
        return bool(np.allclose(self.rows, self.weighted, rtol=1e-9, atol=0))

    def check(self, features: int, place: str) -> None:
        """Raise `ReleaseError` unless the links make one tree, features are in range and figures are numbers."""
        inner, n = ~self.leaf, len(self.left)
        for name, children in (("left_child", self.left[inner]), ("right_child", self.right[inner])):
            bad = np.flatnonzero((children <= 0) | (children >= n))
            if len(bad):
                node = int(np.flatnonzero(inner)[bad[0]])
                raise ReleaseError(f"node {node} has the {name} {children[bad[0]]} of {n} nodes", place=place)
        parents = np.bincount(np.concatenate([self.left[inner], self.right[inner]]), minlength=n)
        if (parents[1:] != 1).any():
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
        divisor = int(np.gcd.reduce(rows[over]))
        chance = int(over.sum()) * math.log2(max(2, divisor))
        if chance < CHANCE or (np.abs(held - np.rint(held)) > EXACT * np.maximum(1.0, held * 1e-3)).any():
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
        positive = np.where(shares > 0, shares, 1)
        return np.asarray(-(positive * np.log2(positive)).sum(axis=1))
    return None


MAX_MULTIPLES = 1_000  # ways to draw the classes that are tried, where weights hide how often
MAX_CLIPPED = 1_000_000  # rows up to which double precision tells one impurity from the next

Counts = NDArray[np.int64]
Span = tuple[float, float]


@dataclass(frozen=True, eq=False)
class NodeCounts:
    """What is known of every node: `classes` (nodes, classes), -1 where only `size` (nodes,) is known.

    `note`: how it was recovered, or why not, as a sentence (empty: plain counts). `drawn` (nodes,): of a resample
    without classes how many rows were drawn, repetitions included, `size` being the different ones (None: not known).
    """

    classes: Counts
    size: Counts
    note: str = ""
    drawn: Counts | None = None

    @property
    def whole(self) -> bool:
        """Return whether every node has its classes."""
        return bool((self.classes >= 0).all())


def masses(tree: TreeArrays) -> NDArray[np.float64]:
    """Return (nodes, classes) weighted rows; `ReleaseError` where the values are neither counts nor shares."""
    sums = tree.value.sum(axis=1)
    close = EXACT * np.maximum(1.0, np.abs(tree.weighted))
    counts = np.abs(sums - tree.weighted) <= close
    shares = ~counts & (np.abs(sums - 1.0) <= EXACT)
    if not (counts | shares).all():
        node = int(np.flatnonzero(~(counts | shares))[0])
        raise ReleaseError(f"node {node}: its values sum to {sums[node]:g}, not to its {tree.weighted[node]:g} rows")
    return np.where(shares[:, None], tree.value * tree.weighted[:, None], tree.value)


def _integer_counts(values: NDArray[np.float64]) -> Counts | None:
    """Return the numbers as whole ones, None unless all are within `EXACT` of one."""
    rounded = np.rint(values)
    if np.abs(values - rounded).max() > EXACT * max(1.0, float(values.max()) * 1e-3):
        return None
    return rounded.astype(np.int64)


def only_sizes(size: Counts, classes: int, note: str) -> NodeCounts:
    """Return counts that are sizes alone."""
    return NodeCounts(np.full((len(size), classes), -1, dtype=np.int64), size, note)


Weighting = str | tuple[float, ...] | None  # class_weight: "balanced", "balanced_subsample", or one weight per class


def weighting_of(class_weight: Any, classes: Sequence[Any]) -> Weighting:
    """Return the setting `class_weight` in the order of the classes; None: rows were not weighted by class."""
    if class_weight is None or isinstance(class_weight, str):
        return class_weight
    if isinstance(class_weight, Mapping):
        found = [class_weight.get(c, 1.0) for c in classes]
        if all(isinstance(w, (int, float)) and w > 0 for w in found):
            return tuple(float(w) for w in found)
    return "unknown"


def row_counts(
    tree: TreeArrays, criterion: Any, monotonic: NDArray[np.int64] | None, weighting: Weighting
) -> NodeCounts:
    """Return the training rows per class of a tree that saw every row once."""
    k = tree.value.shape[1]
    if monotonic is not None:
        if not tree.unweighted or not even(weighting):
            return only_sizes(tree.rows, k, "monotonic constraints clip the stored values, and rows were weighted")
        return _monotonic_counts(tree, str(criterion), monotonic)
    mass = masses(tree)
    weights = class_weights(tree, mass, weighting)
    found = None if weights is None else _integer_counts(mass / weights)
    if weights is not None and found is not None and (found.sum(axis=1) == tree.rows).all() and _adds_up(tree, found):
        shown = ", ".join(f"{w:.6g}" for w in weights)
        return NodeCounts(
            found,
            tree.rows,
            ""
            if np.allclose(weights, weights[0])
            else f"classes were weighted ({shown}): counts were solved for, exactly",
        )
    why = "sample_weight" if weighting is None else "class_weight with weights of rows, or no split between classes"
    text = f"rows were weighted ({why}) in a way that hides the classes: only the number of rows per leaf is known"
    return only_sizes(tree.rows, k, text)


def even(weighting: Weighting) -> bool:
    """Return whether the file declares that all classes weigh 1."""
    return weighting is None or (isinstance(weighting, tuple) and all(w == 1 for w in weighting))


def class_weights(tree: TreeArrays, mass: NDArray[np.float64], weighting: Weighting) -> NDArray[np.float64] | None:
    """Return the weight of a row of each class as the file declares it, None where the tree shows other weights.

    Without class weights every row weighs 1. Weights that balance the classes follow from
    rows_i = Σ_k mass_ik / w_k over all nodes, and must be n / (classes * n_k).
    """
    n, used = float(tree.rows[0]), mass[0] > 0
    if isinstance(weighting, tuple):
        return np.array(weighting)
    if weighting is None:
        # Any other constant may be an average of different weights in few nodes.
        return np.ones(mass.shape[1]) if tree.unweighted else None
    if weighting != "balanced":
        return None
    found, _, rank, _ = np.linalg.lstsq(mass[:, used], tree.rows.astype(float), rcond=1e-10)
    if rank < used.sum() or (found * mass[0, used] < 0.5).any():  # what weighs anything has a row
        return None
    out = np.ones(mass.shape[1])
    out[used] = 1 / found
    rows = mass[0] / out
    balanced = np.allclose(out[used], n / (used.sum() * rows[used]), rtol=1e-6, atol=0)
    return out if balanced else None


def _adds_up(tree: TreeArrays, counts: Counts) -> bool:
    """Return whether every inner node counts what its two children count together."""
    inner = ~tree.leaf
    return bool((counts[inner] == counts[tree.left[inner]] + counts[tree.right[inner]]).all())


def bag_counts(tree: TreeArrays, drawn: int | None, weighting: Weighting) -> NodeCounts:
    """Return the drawn rows per class of a tree fitted on a resample (`size`: the different rows among them).

    `drawn`: how many rows were drawn, where the forest says it; else weights cannot be told from repetitions.
    """
    mass = masses(tree)
    k = mass.shape[1]
    found = _integer_counts(mass)
    if even(weighting):
        if found is not None and drawn == int(found[0].sum()) and _fits_a_bag(tree, found):
            return NodeCounts(found, tree.rows)
    elif drawn is not None:
        found = _unique_draws(tree, mass, drawn, weighting)
        if found is not None:
            return NodeCounts(found, tree.rows, "classes were weighted: drawn rows were solved for, exactly")
    text = "rows were weighted in a way that hides the classes: only the number of different rows per leaf is known"
    return only_sizes(tree.rows, k, text)


def drawn_sizes(tree: TreeArrays) -> NodeCounts:
    """Return the drawn and the different rows of a tree without classes that was fitted on a resample.

    Weights that leave no whole numbers, or fewer drawn rows than different ones, hide how many were drawn.
    """
    sizes = only_sizes(tree.rows, 1, "")
    found = _integer_counts(tree.weighted[:, None])
    return sizes if found is None or not _fits_a_bag(tree, found) else replace(sizes, drawn=found[:, 0])


def _unique_draws(tree: TreeArrays, mass: NDArray[np.float64], drawn: int, weighting: Weighting) -> Counts | None:
    """Return the only drawn rows per class that fit the weighted ones, None where there are none or several."""
    fewest = _class_totals(mass)
    if fewest is None:
        return None
    fitting = []
    for totals in _multiples(fewest, drawn):
        if not _as_declared(mass[0], totals, weighting):
            continue
        scale = np.array([t / m if m else 0.0 for t, m in zip(totals, mass[0], strict=True)])
        found = _integer_counts(mass * scale)
        if found is not None and _fits_a_bag(tree, found):
            fitting.append(found)
    return fitting[0] if len(fitting) == 1 else None


def _multiples(fewest: Sequence[int], drawn: int) -> list[list[int]]:
    """Return the multiples of the numbers (0 stays 0) that add up to so many rows; none where they are too many."""
    out: list[list[int]] = [[]]
    for k, one in enumerate(fewest):
        rest = sum(fewest[k + 1 :])
        made = []
        for before in out:
            left = drawn - sum(before) - rest
            if not one or k == len(fewest) - 1:
                made.append([*before, 0 if not one else left])
            elif len(made) + left // one > MAX_MULTIPLES:
                return []
            else:
                made += [[*before, times * one] for times in range(1, left // one + 1)]
        out = made
    fitting = (t for t in out if sum(t) == drawn)
    return [t for t in fitting if all(not one or (n > 0 and n % one == 0) for n, one in zip(t, fewest, strict=True))]


def _as_declared(root: NDArray[np.float64], totals: Sequence[int], weighting: Weighting) -> bool:
    """Return whether the classes' weights in a bag are those of the forest's setting."""
    pairs = [(m / t, m) for m, t in zip(root.tolist(), totals, strict=True) if t]
    if isinstance(weighting, tuple):
        kept = [w for w, t in zip(weighting, totals, strict=True) if t]
        return bool(np.allclose([w for w, _ in pairs], kept, rtol=1e-6, atol=0))
    if weighting == "balanced_subsample":
        return bool(np.allclose([m for _, m in pairs], pairs[0][1], rtol=1e-6, atol=0))
    return weighting == "balanced"


def _fits_a_bag(tree: TreeArrays, counts: Counts) -> bool:
    """Return whether counts add up and no node has more different rows than drawn ones."""
    return _adds_up(tree, counts) and bool((tree.rows <= counts.sum(axis=1)).all())


def _class_totals(mass: NDArray[np.float64]) -> list[int] | None:
    """Return the fewest drawn rows per class that make every node's share of its class a whole number of rows.

    The share of node i in class k is c_ik / b_k, so b_k is the common denominator of the shares.
    """
    out = []
    for column, root in zip(mass.T, mass[0], strict=True):
        if root <= 0:
            out.append(0)
            continue
        shares, total = np.unique(np.round(column / root, 13)), 1
        while len(wrong := np.flatnonzero(np.abs(shares * total - np.rint(shares * total)) > 1e-7 * max(1, total))):
            share = float(shares[wrong[0]])
            total = math.lcm(total, Fraction(share).limit_denominator(1_000_000).denominator)
            if abs(share * total - round(share * total)) > 1e-7 * total:
                return None
        out.append(total)
    return out


def _monotonic_counts(tree: TreeArrays, criterion: str, monotonic: NDArray[np.int64]) -> NodeCounts:
    """Return the classes of a tree with monotonic constraints from its impurities (two classes).

    An impurity says how many rows the rarer class has, not which one it is; the root is never clipped, children sum
    to their parent, and a split on a constrained feature orders its children. Where two readings remain, only the
    sizes of both children are known.
    """
    rarer = _rarer_class(tree.rows, tree.impurity, criterion)
    if rarer is None or tree.value.shape[1] != 2:
        return only_sizes(tree.rows, tree.value.shape[1], "monotonic constraints clip the stored values")
    if len(monotonic) <= tree.feature.max(initial=-1):
        raise ReleaseError(f"has {len(monotonic)} monotonic constraints, but more features", place="monotonic_cst")
    signs = -monotonic  # of class 0, whose share is stored first
    stored = tree.value[:, 0] / np.maximum(tree.value.sum(axis=1), 1e-300)
    first = np.full(len(tree.rows), -1, dtype=np.int64)  # rows of class 0
    first[0] = round(float(stored[0]) * float(tree.rows[0]))
    stack = [(0, -math.inf, math.inf)]
    while stack:
        node, minimum, maximum = stack.pop()
        if tree.left[node] < 0:
            continue
        pair = int(tree.left[node]), int(tree.right[node])
        sign = int(signs[tree.feature[node]])
        found = _readings(tree, pair, rarer, int(first[node]), sign, stored, (minimum, maximum))
        if len(found) == 1:
            first[pair[0]], first[pair[1]] = found.pop()
        inner = _children_bounds(tree, pair, first, sign, (minimum, maximum))
        stack += [(child, *bounds) for child, bounds in zip(pair, inner, strict=True)]
    known = first >= 0
    classes = np.where(
        known[:, None], np.stack([first, tree.rows - first], axis=1), np.where(tree.leaf, -1, 0)[:, None]
    )
    open_leaves = int((~known & tree.leaf).sum())
    text = "monotonic constraints clip the stored values: classes were recovered from the impurities"
    return NodeCounts(classes, tree.rows, text + (f", except in {open_leaves} leaves" if open_leaves else ", exactly"))


def _readings(
    tree: TreeArrays,
    pair: tuple[int, int],
    rarer: Counts,
    total: int,
    sign: int,
    stored: NDArray[np.float64],
    bounds: Span,
) -> set[tuple[int, int]]:
    """Return the rows of class 0 that two children can have: they add up, are in order, and clip to what is stored."""
    sizes = [int(tree.rows[child]) for child in pair]
    options = {
        (a, b)
        for a in (int(rarer[pair[0]]), sizes[0] - int(rarer[pair[0]]))
        for b in (int(rarer[pair[1]]), sizes[1] - int(rarer[pair[1]]))
        if a + b == total and sign * (b * sizes[0] - a * sizes[1]) >= 0
    }
    if len(options) < 2 or sign or math.isnan(bounds[0]):
        return options
    low, high = bounds  # an unconstrained split hands its own bounds on, and children are clipped to them
    return {
        (a, b)
        for a, b in options
        if abs(min(max(a / sizes[0], low), high) - float(stored[pair[0]])) < EXACT
        and abs(min(max(b / sizes[1], low), high) - float(stored[pair[1]])) < EXACT
    }


def _children_bounds(
    tree: TreeArrays, pair: tuple[int, int], first: Counts, sign: int, bounds: Span
) -> tuple[Span, Span]:
    """Return what scikit-learn clips both children to; NaN where the children's classes would have to be known."""
    if not sign:
        return bounds, bounds
    if math.isnan(bounds[0]) or min(first[pair[0]], first[pair[1]]) < 0:
        return (math.nan, math.nan), (math.nan, math.nan)
    low, high = bounds
    middle = sum(float(first[c]) / float(tree.rows[c]) for c in pair) / 2
    return ((low, middle), (middle, high)) if sign > 0 else ((middle, high), (low, middle))


def _rarer_class(rows: Counts, impurity: NDArray[np.float64], criterion: str) -> Counts | None:
    """Return per node the rows of the rarer of two classes; None where an impurity fits no whole number.

    Bisection on the impurity, which rises strictly up to one half.
    """
    if int(rows.max()) > MAX_CLIPPED:
        return None
    low, high = np.zeros(len(rows), dtype=np.int64), rows // 2
    size = np.maximum(rows, 1)
    while (low < high).any():
        middle = (low + high) // 2
        between = (_impurity_of(middle, size, criterion) + _impurity_of(middle + 1, size, criterion)) / 2
        up = (impurity > between) & (low < high)
        low, high = np.where(up, middle + 1, low), np.where(up, high, middle)
    off = np.abs(_impurity_of(low, size, criterion) - impurity)
    return low if bool((off <= 1e-9 / np.maximum(1.0, size / 1000.0)).all()) else None


def _impurity_of(rarer: Counts, rows: Counts, criterion: str) -> NDArray[np.float64]:
    """Return the Gini impurity, or the entropy in bits, of two classes."""
    p = np.minimum(rarer / rows, 1.0)
    if criterion == "gini":
        return np.asarray(1.0 - p**2 - (1.0 - p) ** 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(-np.where(p > 0, p * np.log2(p), 0) - np.where(p < 1, (1 - p) * np.log2(1 - p), 0))
