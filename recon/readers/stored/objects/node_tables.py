"""The node tables of stored scikit-learn trees: found, and walked as scikit-learn walks, by everybody who makes copies.

That a copy predicts what its file predicts rests on this one walk: the same points through both tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.array_types import Ints
from solvers.foundation.structures import BinaryTree

CHILDREN = ("left_child", "right_child")
LEAF = -1  # what scikit-learn writes for the children of a leaf
NUMBERS = 16_000_000  # in the points of one tree
LEAST = 6  # points at random, and thresholds, whatever the number of columns


def is_tree(value: Any) -> bool:
    """Return whether a value of a stored graph is a tree of scikit-learn with its node table."""
    return isinstance(value, Thing) and value.kind.startswith("sklearn.tree.") and value.has("nodes")


def links_of(nodes: NDArray[Any]) -> BinaryTree:
    """Return the links of a node table."""
    return BinaryTree.of_sides(*(nodes[side] for side in CHILDREN))


def points_of(nodes: NDArray[Any], random: int, thresholds: int, generator: np.random.Generator) -> NDArray[np.float32]:
    """Return (points, columns): so many at random in the range of the thresholds, and below, on and above so many.

    Both are fewer where columns are many. Some of the random ones miss values, where the table says where these go.
    """
    inner = np.flatnonzero(nodes["left_child"] >= 0)
    if not len(inner):
        return np.zeros((1, 1), np.float32)
    features = nodes["feature"][inner].astype(np.int64)
    columns = int(features.max()) + 1
    most = max(LEAST, NUMBERS // columns // 4)
    with np.errstate(over="ignore"):
        cuts = nodes["threshold"][inner].astype(np.float32)
    finite = cuts[np.isfinite(cuts)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    chosen = generator.permutation(len(inner))[: min(thresholds, most)]
    random = min(random, most)
    found = generator.uniform(low - 1, high + 1, (random + 3 * len(chosen), columns)).astype(np.float32)
    for k, side in enumerate((-np.inf, 0.0, np.inf)):
        near = cuts[chosen]
        near = near if side == 0.0 else np.nextafter(near, np.float32(side), dtype=np.float32)
        at = random + k * len(chosen)
        found[np.arange(at, at + len(chosen)), features[chosen]] = near
    if "missing_go_to_left" in (nodes.dtype.names or ()):
        gone = random // 5
        found[:gone][generator.random((gone, columns)) < 0.3] = np.nan
    return found


def leaf_of(nodes: NDArray[Any], points: NDArray[np.float32]) -> Ints:
    """Return the leaf that each point reaches, as scikit-learn walks: x <= threshold goes left."""
    at = np.zeros(len(points), dtype=np.int64)
    missing = nodes["missing_go_to_left"] != 0 if "missing_go_to_left" in (nodes.dtype.names or ()) else None
    active = np.flatnonzero(nodes["left_child"][at] >= 0)
    while len(active):
        here = nodes[at[active]]
        value = points[active, here["feature"]]
        left = value <= here["threshold"]
        if missing is not None:
            left |= np.isnan(value) & missing[at[active]]
        at[active] = np.where(left, here["left_child"], here["right_child"])
        active = active[nodes["left_child"][at[active]] >= 0]
    return at
