"""The splits of released trees whose thresholds their learner put halfway between two training values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Continuous
from encoders.encode.encoder import EncodedRelease
from encoders.kinds.tree import TreeLinks, shape
from encoders.models.models import Forest, Tree
from encoders.parts.resolutions import CutDomain, Resolutions
from solvers.foundation.errors import EngineError, Unsupported
from solvers.positions.midpoints.splits import TreeSplits
from solvers.statements.row_problem import RowProblem, bags_with_most

Ints = NDArray[np.int64]
NO_MIDPOINTS = (
    "midpoints: no threshold of this release is known to lie halfway between two training values: that is what "
    "scikit-learn's trees with splitter='best' do on columns without missing values, in a forest whose bags are known"
)


def learnt_splits(encoded: EncodedRelease, problem: RowProblem) -> TreeSplits:
    """Return the splits of the trees of a problem that are known to be midpoints, with the leaves on either side.

    Raises `Unsupported` where there are none: other learners, random thresholds (extra trees), columns that may miss
    values, forests whose bags are not known.
    """
    trees = _trees_of(encoded, problem)
    if not any(tree.nodes.learnt is not None for tree in trees):
        raise Unsupported(NO_MIDPOINTS)
    found = Gathered(encoded, problem)
    for t, tree in enumerate(trees):
        found.add(t, tree)
    if not found.nodes:
        raise Unsupported(NO_MIDPOINTS)
    return found.splits()


def _trees_of(encoded: EncodedRelease, problem: RowProblem) -> Sequence[Tree]:
    """Return the trees that are the first of a problem: those of the forest whose bags it has."""
    if not problem.positions:
        return ()
    known = [model for model in encoded.models if isinstance(model, Forest) and model.multiplicities is not None]
    bags = problem.release.bags  # those of these forests, in their order
    return known[[one is bags_with_most(bags) for one in bags].index(True)].trees


class Gathered:
    """Splits of trees, collected tree by tree."""

    def __init__(self, encoded: EncodedRelease, problem: RowProblem) -> None:
        self.cut: CutDomain = encoded.cut
        self.problem = problem
        self.resolved = Resolutions()
        self.tree: list[Ints] = []
        self.column: list[Ints] = []
        self.threshold: list[NDArray[np.float64]] = []
        self.part: list[Ints] = []
        self.width: list[Ints] = []
        self.node: list[Ints] = []
        self.left: list[NDArray[np.bool_]] = []
        self.columns: dict[tuple[int, int], int] = {}
        self.seen: dict[tuple[int, int], tuple[NDArray[np.float64], bool]] = {}
        self.nodes = 0

    def add(self, t: int, tree: Tree) -> None:
        """Add the splits of tree t of the problem."""
        nodes, found = tree.nodes, shape(tree.nodes)
        if found is None:
            raise EngineError("a tree is encoded only after it was checked")
        if nodes.learnt is None:
            self.width.append(np.zeros(len(nodes.leaves), dtype=np.int64))
            return
        self.resolved.add_nodes(nodes, self.cut.domain, f"trees[{t}]")
        table = self.resolved.table(nodes)
        inner = np.flatnonzero(nodes.inner)
        codes = nodes.condition[inner]
        passed, single = table.runs(codes, self.cut.cuts)
        attribute = table.attribute[codes].astype(np.int64)
        parts = np.array([len(cut.inner) + 1 for cut in self.cut.cuts], dtype=np.int64)[attribute]
        below = passed[:, 0] == 0  # what passes the test goes left
        above = passed[:, 1] == parts
        missing = np.array([a.missing for a in self.cut.domain.all])[attribute]
        threshold, feature = nodes.learnt.threshold[inner], nodes.learnt.feature[inner]
        kept = single & (below ^ above) & ~missing & np.isfinite(threshold)
        number = np.full(len(nodes), -1, dtype=np.int64)
        number[inner[kept]] = self.nodes + np.arange(int(kept.sum()))
        self.nodes += int(kept.sum())
        pairs = list(zip(attribute[kept].tolist(), feature[kept].tolist(), strict=True))
        self.column.append(np.array([self.columns.setdefault(p, len(self.columns)) for p in pairs], dtype=np.int64))
        for pair in set(pairs):
            self.seen[pair] = nodes.learnt.ends[pair[1]], bool(nodes.learnt.plain[pair[1]])
        self.tree.append(np.full(int(kept.sum()), t, dtype=np.int64))
        self.threshold.append(threshold[kept])
        self.part.append(np.where(below, passed[:, 1], passed[:, 0])[kept])
        left_first = np.ones(len(nodes), dtype=bool)
        left_first[inner] = below
        self.add_paths(found, nodes.leaves, number, left_first)

    def add_paths(self, found: TreeLinks, leaves: Ints, number: Ints, left_first: NDArray[np.bool_]) -> None:
        """Add the nodes on the path to every leaf, in file order; `number`: of a node among the splits, or -1."""
        parent = np.full(len(found.inner), -1, dtype=np.int64)
        on_left = np.zeros(len(found.inner), dtype=bool)
        inner = np.flatnonzero(found.inner)
        for which in (0, 1):
            child = found.children[inner, which].astype(np.int64)
            parent[child] = inner
            on_left[child] = left_first[inner] == (which == 0)
        at, leaf = leaves.copy(), np.arange(len(leaves))
        steps = []
        while len(at):
            above = parent[at]
            at, leaf, side, above = at[above >= 0], leaf[above >= 0], on_left[at][above >= 0], above[above >= 0]
            split = number[above]
            steps.append((leaf[split >= 0], split[split >= 0], side[split >= 0]))
            at = above
        leaf, split, side = (np.concatenate(x) for x in zip(*steps, strict=True))
        order = np.argsort(leaf, kind="stable")
        self.width.append(np.bincount(leaf, minlength=len(leaves)).astype(np.int64))
        self.node.append(split[order])
        self.left.append(side[order])

    def splits(self) -> TreeSplits:
        """Return all that was added."""
        regions = [len(one) for one in self.width]
        start = np.concatenate([[0], np.cumsum(np.concatenate(self.width))]).astype(np.int64)
        names = self.cut.domain.all
        return TreeSplits(
            np.array([k for k, _ in self.columns], dtype=np.int64),
            tuple(names[k].name for k, _ in self.columns),
            np.concatenate(self.tree),
            np.concatenate(self.column),
            np.concatenate(self.threshold),
            np.concatenate(self.part),
            np.concatenate([[0], np.cumsum(regions)]).astype(np.int64),
            start,
            np.concatenate(self.node),
            np.concatenate(self.left),
            np.stack([self.seen[pair][0] for pair in self.columns]),
            np.array([self.seen[pair][1] for pair in self.columns], dtype=bool),
        )


def seen_ranges(
    encoded: EncodedRelease, splits: TreeSplits, given: Mapping[str, tuple[float, float]]
) -> NDArray[np.float64]:
    """Return (columns, 2) the least and greatest value that the trees saw, from those of attributes by name.

    Behind a pipeline they are known where they are the ends of the declared domain (a MinMaxScaler declares them); NaN
    where they are not. What a pipeline makes of them is worked out in 64-bit floats.
    """
    out = np.full((len(splits.attribute), 2), np.nan)
    for c, k in enumerate(splits.attribute.tolist()):
        attribute = encoded.domain.all[k]
        if attribute.name not in given:
            continue
        if splits.plain[c]:
            out[c] = np.array(given[attribute.name], dtype=np.float64).astype(np.float32)
        elif isinstance(attribute, Continuous) and attribute.bounded:
            declared = [float(x) for x in (attribute.minimum, attribute.maximum) if x is not None]
            same = np.array(given[attribute.name], dtype=np.float64) == np.array(declared)
            out[c] = np.where(same, splits.ends[c], np.nan)
    return out
