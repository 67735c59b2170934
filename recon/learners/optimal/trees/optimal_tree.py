"""The tree with the fewest training errors among all trees of a depth with leaves of a size, and the proof of it.

The optimal trees of every number of leaves, from the same nodes as those of every depth.

Every column is an independent bit here, so that a tree takes from each row as many bits as the row is tested: of
equally accurate trees with as many leaves, those that test the rows least (most) leave most (least) open. Numbers of
errors and of tests add up over leaves, and so does a whole number made of both, errors first.

Solvers of others for optimal trees, each in a process of its own: they print, crash, and do not hear Ctrl-C.

STreeD: van der Linden, de Weerdt, Demirović, NeurIPS 2023 (pystreed). DL8.5: Aglin, Nijssen, Schaus, AAAI 2020
(pydl8.5); it is what the experiments of Ferry et al., SaTML 2024, ran, and its claim of an optimum is not believed
(docs/learners.md).

The optimal trees of every depth up to a greatest one, from the nodes of the deepest alone.
"""

from __future__ import annotations

import base64
import importlib.util
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from threading import Event
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from encoders.domain.values import Value
from encoders.models.learner_facts import Learner
from encoders.models.models import Provenance, Tree
from recon.learners.optimal.trees.lattice import LEAF, Edges, Lattice, best_tree, bounds, errors_of, tree_lattice
from recon.learners.optimal.trees.table import (
    DistinctRows,
    Shape,
    TreeNode,
    as_model,
    counted_nodes,
    depth_of,
    distinct_rows,
    errors,
    leaf_of_rows,
    leaves,
)
from recon.learners.optimal.trees.tied_trees import Ties, tied_trees
from recon.learners.rule_lists.estimator import (
    BinaryClassifier,
    binary_columns,
    is_whole,
    labels_of,
    support_rows,
    training_data,
)
from solvers.foundation.errors import EngineError, Inconclusive, ReleaseError, Unsupported, installing
from solvers.foundation.limits import Limits
from solvers.foundation.native import run

if TYPE_CHECKING:
    from encoders.domain.domain import Domain

HOME = "recon.learners.optimal.trees.optimal_tree"
SLACK = 2.0  # seconds that a solver may take beyond its own time limit before it is killed
PACKAGES = {
    "streed": ("pystreed", installing("learn")),
    "dl85": ("pydl85", "pip install pydl8.5, which builds with a C++ compiler"),
}


@dataclass(frozen=True)
class SolvedTree:
    """What a solver returned: the shape of its tree, the errors it says it makes, whether it says it is optimal.

    `shape` None with `errors` None: it found no tree in its time.
    """

    shape: Shape
    errors: int | None
    optimal: bool


def solve_tree(
    solver: str, bits: NDArray[np.bool_], codes: NDArray[np.intp], depth: int, least: int, limits: Limits
) -> SolvedTree:
    """Return what `streed` or `dl85` makes of rows of bits with class codes, within the time of `limits`.

    Raises `Unsupported` where the package is not installed, `TooLarge` and `EngineError` as
    `solvers.foundation.native`.
    """
    package, how = PACKAGES[solver]
    if importlib.util.find_spec(package) is None:
        raise Unsupported(f"the solver '{solver}' needs the package {package}, which is not installed: {how}")
    seconds = limits.solver_seconds()
    payload = {
        "bits": base64.b64encode(np.packbits(bits, axis=1).tobytes()).decode(),
        "rows": len(bits), "columns": bits.shape[1], "codes": codes.tolist(), "depth": depth, "least": least,
        "seconds": seconds if math.isfinite(seconds) else 1e6,
    }  # fmt: skip
    try:
        with limits.noted():
            reply = run(f"{HOME}:in_{solver}", payload, limits.beyond(seconds + SLACK))
    except Inconclusive:
        return SolvedTree(None, None, False)
    return SolvedTree(reply["shape"], reply["errors"], reply["optimal"])


def _table_of(payload: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows and classes of a payload."""
    raw = np.frombuffer(base64.b64decode(payload["bits"]), dtype=np.uint8).reshape(payload["rows"], -1)
    bits = np.unpackbits(raw, axis=1, count=payload["columns"]).astype(np.int64)
    return bits, np.array(payload["codes"], dtype=np.int64)


def in_streed(payload: Any) -> Any:
    """Return STreeD's tree; called in a process of its own."""
    import warnings

    from pystreed import STreeDClassifier

    bits, codes = _table_of(payload)
    model = STreeDClassifier(
        max_depth=payload["depth"], min_leaf_node_size=payload["least"], time_limit=payload["seconds"]
    )
    warnings.simplefilter("ignore")  # "No feasible tree found"
    model.fit(bits, codes)
    if not model.is_fitted():
        return {"shape": None, "errors": None, "optimal": False}

    def shape(node: Any) -> Any:
        if node.is_leaf_node():
            return None
        return [int(node.feature), shape(node.left_child), shape(node.right_child)]

    wrong = int((np.asarray(model.predict(bits)) != codes).sum())
    return {"shape": shape(model.tree_), "errors": wrong, "optimal": bool(model.fit_result.is_optimal())}


def in_dl85(payload: Any) -> Any:
    """Return DL8.5's tree, in which rows with 1 go left; called in a process of its own."""
    from pydl85 import DL85Classifier

    bits, codes = _table_of(payload)
    model = DL85Classifier(
        max_depth=payload["depth"], min_sup=payload["least"], time_limit=max(1, math.ceil(payload["seconds"]))
    )
    model.fit(bits, codes)
    if not isinstance(model.tree_, dict):
        return {"shape": None, "errors": None, "optimal": False}

    def shape(node: Any) -> Any:
        if "feat" not in node:
            return None
        return [int(node["feat"]), shape(node["right"]), shape(node["left"])]

    return {"shape": shape(model.tree_), "errors": round(float(model.error_)), "optimal": not model.timeout_}


Solver = Literal["streed", "own", "dl85"]
SOLVERS = ("streed", "own", "dl85")
DEEPEST = 20  # tests on a path that STreeD allows
MEMORY = 4 << 30  # bytes for a solver, or for the nodes of all trees
PROVERS = {"own": "recon's dynamic program", "streed": "STreeD"}


class OptimalTreeClassifier(BinaryClassifier):
    """Decision tree over binary columns with the fewest training errors, with scikit-learn's estimator interface.

    `max_depth`: tests on a path at most. `min_support`: training rows that every leaf must hold, a share of all rows
    (float: int(share * rows), as in the paper) or a number (int), at least one. `seconds`: of the solver. `solver`:
    "streed" (pystreed, extra `learn`), "dl85" (pydl8.5), or "own", the dynamic program over all nodes (no extra; the
    fastest where many rows are alike, as columns of published tables are).

    After `fit`: `nodes_` (parents first), `errors_` (training rows that are wrong), `bound_` (every such tree makes at
    least so many), `gap_` = errors_ - bound_, `optimal_` (the gap is proved to be 0) and `certified_by_` (the solver
    that proved it: "streed" or "own"; "" where nobody did), `claimed_` (what the solver itself said: DL8.5's claims
    are wrong at times and count for nothing), `classes_`, `feature_names_in_`, `n_features_in_`, `solver_seconds_`.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> tree = recon.OptimalTreeClassifier(max_depth=2, solver="own").fit(rows[["smoker", "old"]], rows["ill"])
    >>> tree.errors_, tree.optimal_
    (0, True)
    """

    def __init__(
        self, max_depth: int = 3, min_support: float | int = 1, seconds: float = 60.0, solver: Solver = "streed"
    ) -> None:
        self.max_depth = max_depth
        self.min_support = min_support
        self.seconds = seconds
        self.solver = solver

    fitted = "nodes_"
    nodes_: tuple[TreeNode, ...]

    def fit(
        self, X: Any, y: ArrayLike, limits: Limits | None = None,  # noqa: N803 - scikit-learn's name
    ) -> OptimalTreeClassifier:  # fmt: skip
        """Return the fitted tree; where the time ends first, the best one found, with `optimal_` False and a gap.

        `limits` replace `seconds` where they are given.
        Raises `ReleaseError` for bad parameters, a column that is not binary, missing labels, unequal lengths;
        `Unsupported` where the solver's package is missing; `EngineError` where its tree breaks the limits.
        """
        rows, least = self.prepared(X, y)
        began = time.monotonic()
        limits = replace(limits or Limits(seconds=float(self.seconds)), memory=MEMORY)
        possible = len(self.classes_) > 1 and len(rows.bits) > 1 and rows.total >= 2 * least
        if self.solver == "own" or not possible:
            self._own(rows, least, limits)
        else:
            _, bits, _ = training_data(X, y)
            codes = np.searchsorted(self.classes_, labels_of(y, len(bits)))
            self._native(rows, bits, codes, least, limits)
        self.finished(time.monotonic() - began)
        return self

    def prepared(self, X: Any, y: ArrayLike) -> tuple[DistinctRows, int]:  # noqa: N803
        """Return the distinct rows of checked training data and the fewest rows of a leaf; notes columns and classes.

        Raises what `fit` raises for bad input.
        """
        names, bits, target = training_data(X, y)
        least = self._least(len(bits))
        codes = self._noted_classes(names, target)
        return distinct_rows(bits, codes, len(self.classes_)), least

    def taken(self, lattice: Lattice) -> None:
        """Take the best tree of a lattice and the bound that it proves."""
        found, rows = bounds(lattice), lattice.rows
        self.nodes_ = counted_nodes(best_tree(lattice, found), rows.bits, rows.weight)
        self.errors_, self.bound_, self.claimed_ = errors(self.nodes_), found.least, lattice.complete
        self.certified_by_ = "own" if self.errors_ == self.bound_ else ""

    def finished(self, seconds: float) -> None:
        """Note how long it took and what is proved."""
        self.solver_seconds_ = seconds
        self.gap_ = self.errors_ - self.bound_
        self.optimal_ = self.gap_ == 0

    def _least(self, n: int) -> int:
        """Return the fewest rows of a leaf; `ReleaseError` for parameters that make no sense."""
        if not is_whole(self.max_depth) or not 1 <= self.max_depth <= DEEPEST:
            raise ReleaseError(f"max_depth must be a whole number from 1 to {DEEPEST}, not {self.max_depth!r}")
        if self.solver not in SOLVERS:
            raise ReleaseError(f"solver must be one of {', '.join(SOLVERS)}, not {self.solver!r}")
        numeric = isinstance(self.seconds, (int, float, np.number)) and not isinstance(self.seconds, bool)
        if not numeric or not self.seconds > 0:
            raise ReleaseError(f"seconds must be a number above 0, not {self.seconds!r}")
        return max(1, int(support_rows(self.min_support, n)))

    def _own(self, rows: DistinctRows, least: int, limits: Limits) -> None:
        """Take the tree and the bound of the dynamic program."""
        self.taken(tree_lattice(rows, int(self.max_depth), least, limits, prune=True))

    def _native(
        self, rows: DistinctRows, bits: NDArray[np.bool_], codes: NDArray[np.intp], least: int, limits: Limits
    ) -> None:
        """Take a solver's tree after checking it; where it proved nothing, our bound, and our tree if it is better."""
        varying = np.flatnonzero(bits.any(axis=0) & ~bits.all(axis=0))
        found = solve_tree(self.solver, bits[:, varying], codes, int(self.max_depth), least, limits)
        if found.errors is not None:
            nodes = counted_nodes(_renamed(found.shape, varying), rows.bits, rows.weight)
            few = min(sum(leaf.counts) for leaf in leaves(nodes))
            if few < least or depth_of(nodes) > self.max_depth or errors(nodes) != found.errors:
                raise EngineError(
                    f"{self.solver} returned a tree of depth {depth_of(nodes)} with a leaf of {few} rows and "
                    f"{errors(nodes)} errors, it says {found.errors} (limits: depth {self.max_depth}, {least} rows)"
                )
            if self.solver == "streed" and found.optimal:
                self.nodes_, self.errors_, self.bound_ = nodes, found.errors, found.errors
                self.claimed_, self.certified_by_ = True, "streed"
                return
        short = Limits(stop=limits.stop, memory=MEMORY).stage("bound of a tree")  # of work, whatever the clock says
        self._own(rows, least, limits if self.solver == "dl85" and limits.work_left() > short.work_left() else short)
        if found.errors is not None and (self.solver == "dl85" or found.errors <= self.errors_):
            self.nodes_, self.errors_ = nodes, found.errors
        self.certified_by_ = "own" if self.errors_ == self.bound_ else ""
        self.claimed_ = found.optimal

    def summary(self) -> str:
        """Return leaves, errors and what is proved in words."""
        proof = f"the fewest possible, as {PROVERS.get(self.certified_by_, '')} proved"
        if not self.optimal_:
            proof = f"not proved to be the fewest: at least {self.bound_:,} are unavoidable, a gap of {self.gap_:,}"
        return f"{len(leaves(self.nodes_))} leaves, depth {depth_of(self.nodes_)}, {self.errors_:,} errors ({proof})"

    def apply(self, X: Any) -> NDArray[np.intp]:  # noqa: N803 - scikit-learn's name
        """Return for every row the number in `nodes_` of the leaf it reaches."""
        self._check_fitted()
        _, bits = binary_columns(X, [str(n) for n in self.feature_names_in_], type(self).__name__)
        return leaf_of_rows(self.nodes_, bits)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return (rows, classes) shares of the training rows in each row's leaf."""
        at = self.apply(X)
        counts = np.array([node.counts for node in self.nodes_], dtype=float)
        shares: NDArray[np.float64] = (counts / counts.sum(axis=1, keepdims=True))[at]
        return shares

    def to_model(self, name: str = "tree", label_values: Sequence[Value] | None = None) -> Tree:
        """Return the published tree with class counts at its leaves, in the order of `label_values` (the domain's).

        Raises `ReleaseError` where a class is not among them. A value that no row had counts 0.
        """
        order = self._order(label_values)
        model = as_model(self.nodes_, [str(n) for n in self.feature_names_in_], order, name)
        if not self.optimal_:  # without a proof nothing follows from how it was chosen
            return model
        least = self._least(sum(sum(leaf.counts) for leaf in leaves(self.nodes_)))
        learner = Learner(
            "optimal tree", "errors", max_depth=int(self.max_depth), min_samples_leaf=least,
            columns=self.n_features_in_, source="the file",
        )  # fmt: skip
        return replace(model, origin=Provenance("", (), learner=learner))

    def ties(
        self, X: Any, y: ArrayLike, *, slack: int = 0, minimal: bool = True, domain: Domain | None = None,  # noqa: N803
        limits: Limits | None = None,
    ) -> tuple[Ties, ...]:  # fmt: skip
        """Return all trees as good as the best one, or up to `slack` errors worse; see `tied_trees`.

        Scores are bits that leaves leave open: with columns as independent bits, or over a `domain` of attributes.
        Needs no fit: the parameters and the rows are enough.
        """
        names, bits, target = training_data(X, y)
        codes = np.unique(target, return_inverse=True)[1].reshape(-1)
        rows = distinct_rows(bits, codes, int(codes.max()) + 1, domain, names)
        limits = limits or Limits(seconds=float(self.seconds), memory=MEMORY)
        return tied_trees(
            rows, int(self.max_depth), self._least(len(bits)), slack=slack, minimal=minimal, limits=limits
        )


def _renamed(shape: Any, columns: NDArray[np.intp]) -> Any:
    """Return a shape with the numbers of some columns replaced by theirs among all."""
    return None if shape is None else (int(columns[shape[0]]), _renamed(shape[1], columns), _renamed(shape[2], columns))


Keys = NDArray[np.int64]
Tests = Literal["fewest", "most"]
NONE = 1 << 60  # no tree; two of them add up without an overflow, and no sum with one is half of it
BATCH = 1 << 19  # splits looked at together


@dataclass(frozen=True, eq=False)
class SizedTrees:
    """Of all trees with `leaves` leaves and the fewest `errors`: the tests on the way of all rows, fewest and most.

    `fewest_tree`, `most_tree`: a fitted tree each. Bits left open: rows x columns - tests.
    """

    leaves: int
    errors: int
    fewest: int
    most: int
    fewest_tree: OptimalTreeClassifier
    most_tree: OptimalTreeClassifier


def trees_by_leaves(
    X: Any, y: ArrayLike, most_leaves: int, min_support: float | int = 1, seconds: float = 60.0, memory: int = 4 << 30,  # noqa: N803
    stop: Event | None = None, limits: Limits | None = None,
) -> list[SizedTrees]:  # fmt: skip
    """Return the optimal trees with exactly 2, 3, ... `most_leaves` leaves; sizes that no tree has are left out.

    `limits` replace `seconds`, `memory` and `stop` where they are given.
    A tree with k leaves has at most k - 1 tests on a path, so nothing limits the depth. Raises `Inconclusive` where
    time or memory is up or `stop` is set, and what `OptimalTreeClassifier.fit` raises for bad input. Cost: see `grown`,
    and splits x leaves².
    """
    began = time.monotonic()
    limits = limits or Limits(seconds=seconds, memory=memory, stop=stop or Event())
    learner = OptimalTreeClassifier(max(1, most_leaves - 1), min_support, seconds, "own")
    rows, least = learner.prepared(X, y)
    lattice = tree_lattice(rows, most_leaves - 1, least, limits, prune=False)
    if not lattice.complete:
        raise Inconclusive(f"not all trees were looked at: {lattice.stopped}")
    unit = rows.total * most_leaves + 1  # more than all tests: an error weighs more
    ends: tuple[Tests, ...] = ("fewest", "most")
    found = {which: _keys_of(lattice, most_leaves, unit, which, limits) for which in ends}
    out = []
    for size in range(2, most_leaves + 1):
        trees, tests = {}, {}
        for which, keys in found.items():
            key = int(keys[0][0, size - 1])
            if key == NONE:
                break
            tree = OptimalTreeClassifier(max(1, most_leaves - 1), min_support, seconds, "own")
            tree.prepared(X, y)
            tree.nodes_ = counted_nodes(_member(lattice, keys, unit, which, (0, 0, size)), rows.bits, rows.weight)
            tree.errors_ = tree.bound_ = errors(tree.nodes_)
            tree.claimed_, tree.certified_by_ = True, "own"
            tree.finished(time.monotonic() - began)
            trees[which], tests[which] = tree, abs(key - tree.errors_ * unit)
        if len(trees) == len(found):
            one = trees["fewest"]
            out.append(SizedTrees(size, one.errors_, tests["fewest"], tests["most"], one, trees["most"]))
    return out


def _keys_of(lattice: Lattice, most_leaves: int, unit: int, which: Tests, limits: Limits) -> list[Keys]:
    """Return per level and node the least key of a subtree with 1, 2, ... leaves; `NONE` where there is none.

    A key is errors x unit plus (or, for the most tests, minus) the tests of the rows from the root on.
    """
    out: list[Keys] = []
    for depth in range(len(lattice.levels) - 1, -1, -1):
        level, below = lattice.levels[depth], out[-1] if out else None
        widest = max(1, most_leaves - depth)  # every test above has another branch
        keys = np.full((len(level.boxes), widest), NONE, dtype=np.int64)
        if len(keys):
            keys[:, 0] = _leaf_keys(level.counts, depth, unit, which)
        assert level.edges is not None
        edges = level.edges
        for some in _whole_nodes(edges):
            limits.check("trees are put together by their leaves")
            zero, one = (_child_keys(edges, some, side, depth + 1, below, widest, unit, which) for side in (0, 1))
            first = np.flatnonzero(np.diff(edges.node[some], prepend=-1))
            for size in range(2, widest + 1):
                best = np.min([zero[:, i - 1] + one[:, size - i - 1] for i in range(1, size)], axis=0)
                least = np.minimum.reduceat(best, first)
                keys[edges.node[some][first], size - 1] = np.where(least >= NONE >> 1, NONE, least)
        out.append(keys)
    return out[::-1]


def _whole_nodes(edges: Edges) -> list[slice]:
    """Return runs of splits, those of a node in one run."""
    starts, total = [0], len(edges.node)
    while starts[-1] < total:
        last = min(starts[-1] + BATCH, total) - 1
        starts.append(int(np.searchsorted(edges.node, edges.node[last], side="right")))
    return [slice(a, b) for a, b in pairwise(starts)]


def _leaf_keys(counts: NDArray[np.int32], depth: int, unit: int, which: Tests) -> Keys:
    """Return the keys of leaves at a depth from their rows per class."""
    tests = counts.sum(axis=-1).astype(np.int64) * depth
    found: Keys = errors_of(counts) * unit + (tests if which == "fewest" else -tests)
    return found


def _child_keys(
    edges: Edges, some: slice, side: int, depth: int, below: Keys | None, widest: int, unit: int, which: Tests
) -> Keys:
    """Return (splits, leaves) the keys of one child of some splits."""
    keys = np.full((some.stop - some.start, max(1, widest - 1)), NONE, dtype=np.int64)
    keys[:, 0] = _leaf_keys(edges.counts[some, side], depth, unit, which)
    if below is not None:
        child = edges.child[some, side]
        inner = child != LEAF
        keys[inner] = below[child[inner], : keys.shape[1]]
    return keys


def _member(lattice: Lattice, keys: list[Keys], unit: int, which: Tests, at: tuple[int, int, int]) -> Shape:
    """Return a subtree with the least key of a node: its level, its number, and how many leaves it has."""
    depth, node, size = at
    if size == 1:
        return None
    level = lattice.levels[depth]
    assert level.edges is not None
    start, end = (int(i) for i in np.searchsorted(level.edges.node, (node, node + 1)))
    below = keys[depth + 1] if depth + 1 < len(keys) else None
    widest = keys[depth].shape[1]
    zero, one = (
        _child_keys(level.edges, slice(start, end), side, depth + 1, below, widest, unit, which) for side in (0, 1)
    )
    for i in range(1, size):
        hit = np.flatnonzero(zero[:, i - 1] + one[:, size - i - 1] == keys[depth][node, size - 1])
        if len(hit):
            e = int(hit[0])
            parts = [
                None if child == LEAF else _member(lattice, keys, unit, which, (depth + 1, int(child), k))
                for child, k in zip(level.edges.child[start + e], (i, size - i), strict=True)
            ]
            return int(level.edges.column[start + e]), parts[0], parts[1]
    raise AssertionError("a key that no tree has")


def _shallower(lattice: Lattice, depth: int) -> Lattice:
    """Return the lattice of trees of a lesser depth: the same nodes, those of the last level being leaves.

    It is complete where every split above that depth was looked at, whether or not the deeper ones were.
    """
    if depth >= lattice.depth:
        return lattice
    levels = list(lattice.levels[:depth])
    if levels and (edges := levels[-1].edges) is not None:
        levels[-1] = replace(levels[-1], edges=replace(edges, child=np.full_like(edges.child, LEAF)))
    whole = all(level.edges is not None for level in levels)
    return Lattice(lattice.rows, depth, lattice.least, levels, "" if whole else lattice.stopped)


def optimal_trees(
    X: Any, y: ArrayLike, max_depth: int, min_support: float | int = 1, seconds: float = 60.0, memory: int = 4 << 30,  # noqa: N803
    stop: Event | None = None,
) -> list[OptimalTreeClassifier]:  # fmt: skip
    """Return the fitted optimal trees of depths 1 to `max_depth`, each as `OptimalTreeClassifier(solver="own")` has it.

    The nodes of trees of all depths are those of the deepest, so all cost little more than the last one. `seconds` and
    `memory` (bytes) are for all together, `stop` ends the search as the seconds do; depths that they do not reach have
    `optimal_` False and a gap.
    """
    began = time.monotonic()
    trees = [OptimalTreeClassifier(d, min_support, seconds, "own") for d in range(1, max_depth + 1)]
    rows, least = trees[-1].prepared(X, y)
    for tree in trees[:-1]:
        tree.prepared(X, y)
    limits = Limits(seconds=seconds, memory=memory, stop=stop or Event())
    lattice = tree_lattice(rows, max_depth, least, limits, prune=True)
    for depth, tree in enumerate(trees, start=1):
        tree.taken(_shallower(lattice, depth))
        tree.finished(time.monotonic() - began)
    return trees
