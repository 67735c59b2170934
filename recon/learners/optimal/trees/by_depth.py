"""The optimal trees of every depth up to a greatest one, from the nodes of the deepest alone."""

from __future__ import annotations

import time
from dataclasses import replace
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recon.learners.optimal.trees.lattice import LEAF, Lattice, tree_lattice
from recon.learners.optimal.trees.optimal_tree import OptimalTreeClassifier
from solvers.foundation.limits import Limits


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
