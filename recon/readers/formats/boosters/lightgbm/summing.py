"""How far LightGBM's own sums of gradients and hessians may be from the sums of the float32 numbers it adds.

LightGBM 4.7.0, src/treelearner: gradients and hessians are float32, sums are double. The root's sum runs over all rows,
in blocks if there are threads (leaf_splits.hpp). Every node holds a histogram per feature: that of the child with fewer
rows is summed anew, its most frequent bin is what the others leave of the node's sum (Dataset::FixHistogram), that of
the other child is its parent's minus its sibling's (feature_histogram.hpp, Subtract). A split adds bins up for one
child, the other gets the difference to the node's sum; kEpsilon is added to hessians on the way and taken off again.

*Exact case.* All gradients of a tree are float32 numbers of at least some size, hence multiples of one power of two,
`unit`. While no sum over some of the rows is above 2^53 units, every sum, difference and histogram bin is a double:
nothing is rounded, in whatever order and in however many threads. Only kEpsilon moves hessians off the multiples.

*Errors are not amplified.* Let e be the error of a node's sum. Bins but the most frequent one have errors of their own
sums alone; that bin has what they leave of e, so that a child's error is at most e plus what is rounded on its level
(u = 2^-53, a the rows of the nearest node above whose histograms were summed anew, A the sum of sizes over them): bins
2 a u A, the most frequent bin 4 a u A, adding bins up 2 a u A, and per level of differences a few u A. Adding m numbers
in any order is off by at most (m - 1) u / (1 - m u) times the sum of their sizes (Higham, "Accuracy and stability of
numerical algorithms", 2002, section 4.2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from recon.readers.formats.boosters.shared import BoosterTree

UNIT = 2.0**-53
EPSILON = 1.2e-15  # above kEpsilon = 1e-15f
MORE = 1.01  # 1 / (1 - m u), and the rounding of what is computed here


@dataclass(frozen=True)
class Sizes:
    """What is known of all gradients (or hessians) of a tree: float32 numbers, in size between `least` and `most`.

    No sum over some of the rows is greater in size than `total`.
    """

    least: float
    most: float
    total: float

    @property
    def unit(self) -> float:
        """Return a power of two of which all of them are multiples."""
        return math.ldexp(1.0, max(-149, math.frexp(self.least)[1] - 24) if self.least > 0 else -149)

    @property
    def exact(self) -> bool:
        """Return whether no sum over rows is rounded."""
        return self.total <= 2.0**53 * self.unit


@dataclass(frozen=True)
class Errors:
    """How far a tree's stored sums may be from those of its rows, per node."""

    gradient: list[float]
    hessian: list[float]


def errors(grown: BoosterTree, rows: Sequence[int], gradient: Sizes, hessian: Sizes) -> Errors:
    """Return the errors of a tree's nodes, `rows` (nodes,) in them; children stand behind their parents."""
    return Errors(_of_gradients(grown, rows, gradient), _of_hessians(grown, rows, hessian))


def _of_gradients(grown: BoosterTree, rows: Sequence[int], of: Sizes) -> list[float]:
    """Return the errors of the sums of gradients per node."""
    return [0.0] * len(rows) if of.exact else _rounded(grown, rows, of.most, 0.0)


def _of_hessians(grown: BoosterTree, rows: Sequence[int], of: Sizes) -> list[float]:
    """Return the errors of the sums of hessians per node.

    In the exact case only kEpsilon and its consequences are rounded: per level at most twelve times u H at a split, and
    six per level in what histograms hold beside their node's sum.
    """
    if not of.exact:
        return _rounded(grown, rows, of.most, 8 * EPSILON)
    out, beside = [0.0] * len(rows), [0.0] * len(rows)
    for i, (split, links) in enumerate(zip(grown.splits, grown.children, strict=True)):
        if split is None:
            continue
        size = UNIT * of.most * rows[i] * MORE
        for child in links:
            out[child] = out[i] + beside[i] + 6 * EPSILON + 12 * size
            beside[child] = beside[i] + EPSILON + 6 * size
    return out


def _rounded(grown: BoosterTree, rows: Sequence[int], most: float, more: float) -> list[float]:
    """Return errors of sums per node where every addition may be rounded; `more` is added on every level."""
    out = [MORE * rows[0] * UNIT * rows[0] * most] * len(rows)
    anew, depth = list(rows[:1]) * len(rows), [0] * len(rows)
    for i, (split, links) in enumerate(zip(grown.splits, grown.children, strict=True)):
        if split is None:
            continue
        off = MORE * UNIT * most * anew[i] * (8 * anew[i] + 12 * depth[i] + 24) + more
        for child, other in (links, links[::-1]):
            out[child], depth[child] = out[i] + off, depth[i] + 1
            anew[child] = rows[child] if rows[child] < rows[other] else anew[i]
    return out
