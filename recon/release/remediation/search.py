"""The fewest merges of one tree of groups: dynamic programming over its nodes, exact.

A pruning is a set of inner nodes that become leaves; a subtree of m leaves costs m - 1 merges. Rules about single
groups say which nodes may be leaves. Rules about all groups together are sums over the leaves that are left (people
pinned down, rows in pure groups, bits): every node keeps its front of merges, people, rows and bits, of which no entry
is as good as another in all of them. What is dominated at a node is dominated in every whole tree.

Source: Bohanec and Bratko, "Trading accuracy for simplicity in decision trees", Machine Learning 15, 1994 (optimal
prunings of every size by dynamic programming); here over figures of disclosure, with fronts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recon.release.remediation.demands import Demands
from recon.release.remediation.pruning import GroupTree
from solvers.foundation.errors import TooLarge
from solvers.foundation.exact import log2_multisets
from solvers.foundation.limits import Limits

MAX_PAIRS = 5_000_000  # entries of two fronts put together at one node
MAX_GRID = 20_000_000  # merges x people x rows at one node
NEAR = 1e-9  # of the bits wanted: what sums in another order can differ by, and more
Key = tuple[bool, bool, bool]


class LeafSums(NamedTuple):
    """What a leaf adds: people pinned down, rows in pure groups, bits left."""

    pinned: int
    disclosed: int
    bits: float


@dataclass(frozen=True, eq=False)
class Front:
    """Prunings below a node, none as good as another: merges, pinned, disclosed (whole numbers) and bits left.

    `left`, `right`: the entries of the children's fronts that they are made of; -1: the node is a leaf.
    """

    merges: NDArray[np.int64]
    pinned: NDArray[np.int64]
    disclosed: NDArray[np.int64]
    bits: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.merges)

    def take(self, at: NDArray[np.int64]) -> Front:
        """Return some of the entries."""
        whole = self.merges[at], self.pinned[at], self.disclosed[at]
        return Front(*whole, self.bits[at], self.left[at], self.right[at])


def pure(groups: GroupTree, v: int) -> bool:
    """Return whether all rows of a group have one class, and other classes exist."""
    return groups.by_class[v] and len(groups.cells[v]) > 1 and sum(c > 0 for c, _ in groups.cells[v]) == 1


def may_be_leaf(groups: GroupTree, v: int, demands: Demands) -> bool:
    """Return whether a node, as a leaf, meets the rules about single groups; one without rows does."""
    if not groups.rows[v]:
        return True
    if demands.smallest_group is not None and groups.rows[v] < demands.smallest_group:
        return False
    filled = [(c, s) for c, s in groups.cells[v] if c]
    if demands.smallest_cell is not None and groups.by_class[v] and min(c for c, _ in filled) < demands.smallest_cell:
        return False
    if demands.class_disclosure == 0 and pure(groups, v):
        return False
    left = demands.least_bits_left
    return left is None or min(math.log2(s) if s else 0.0 for _, s in filled) >= left


def sums_of(groups: GroupTree, v: int) -> LeafSums:
    """Return what a node adds to the sums if it is a leaf."""
    filled = [(c, s) for c, s in groups.cells[v] if c]
    return LeafSums(
        sum(c for c, s in filled if s == 1),
        groups.rows[v] if pure(groups, v) else 0,
        math.fsum(log2_multisets(s, c) for c, s in filled if s),
    )


def prunings(groups: GroupTree, demands: Demands, limits: Limits) -> Iterator[tuple[int, list[int]]]:
    """Yield prunings that meet the demands by these sums, the fewest merges first: merges, and the nodes made leaves.

    Bits may fall short of what is wanted by rounding (`NEAR`): check each, and take the next where it does. The first
    that holds has the fewest merges of all. Nothing is yielded where no pruning meets the demands. Cost: linear in
    nodes without rules about all groups; with bits on average quadratic in leaves; with rules about people and rows
    times what they allow, squared. Raises `TooLarge` beyond `MAX_PAIRS`, `Inconclusive` out of time.
    """
    fronts = fronts_of(groups, demands, limits)
    root = fronts[0]
    good = np.arange(len(root))
    if demands.mean_bits_left is not None:
        wanted = demands.mean_bits_left * groups.rows[0]
        good = good[root.bits >= wanted - NEAR * max(1.0, abs(wanted))]
    order = np.lexsort((-root.bits[good], root.merges[good]))
    for entry in good[order].tolist():
        yield int(root.merges[entry]), sorted(chosen(groups, fronts, entry))


def fronts_of(groups: GroupTree, demands: Demands, limits: Limits) -> list[Front]:
    """Return the front of every node; see `prunings`."""
    asked = (demands.most_pinned is not None, bool(demands.class_disclosure), demands.mean_bits_left is not None)
    fronts: list[Front] = [NOTHING] * len(groups)
    for v in np.flatnonzero(groups.children[:, 0] < 0).tolist():
        fronts[v] = as_leaf(groups, v, demands, asked)
    for v in groups.order:
        limits.check("merges were searched")
        a, b = groups.children[v].tolist()
        here = as_leaf(groups, v, demands, asked)
        if not any(asked):  # without sums the fewest merges are kept splits wherever both sides can be met
            fronts[v] = paired(fronts[a], fronts[b]) if len(fronts[a]) and len(fronts[b]) else here
        else:
            fronts[v] = undominated(joined(here, allowed(paired(fronts[a], fronts[b]), demands)))
    return fronts


def as_leaf(groups: GroupTree, v: int, demands: Demands, asked: Key) -> Front:
    """Return the front of a node that is a leaf: one entry, or none."""
    if not may_be_leaf(groups, v, demands):
        return NOTHING
    pinned, disclosed, bits = sums_of(groups, v) if any(asked) else LeafSums(0, 0, 0.0)
    one = np.full(1, -1, dtype=np.int64)
    merges, people = np.array([groups.leaves[v] - 1]), np.array([pinned * asked[0]])
    rows = np.array([disclosed * asked[1]])
    return allowed(Front(merges, people, rows, np.array([bits * asked[2]]), one, one), demands)


def paired(a: Front, b: Front) -> Front:
    """Return every entry of one front with every entry of the other."""
    if len(a) * len(b) > MAX_PAIRS:
        raise TooLarge(f"{len(a):,} x {len(b):,} prunings of two branches are too many to be put together")
    left, right = (part.ravel() for part in np.indices((len(a), len(b))))
    one, two = a.take(left), b.take(right)
    merges, pinned, disclosed = one.merges + two.merges, one.pinned + two.pinned, one.disclosed + two.disclosed
    return Front(merges, pinned, disclosed, one.bits + two.bits, left.astype(np.int64), right.astype(np.int64))


def joined(a: Front, b: Front) -> Front:
    """Return the entries of both fronts."""
    names = ("merges", "pinned", "disclosed", "bits", "left", "right")
    return Front(*(np.concatenate([getattr(a, name), getattr(b, name)]) for name in names))


def allowed(front: Front, demands: Demands) -> Front:
    """Return the entries that are not beyond a threshold already: sums of people and rows only grow."""
    keep = np.ones(len(front), dtype=bool)
    if demands.most_pinned is not None:
        keep &= front.pinned <= demands.most_pinned
    if demands.class_disclosure:
        keep &= front.disclosed <= demands.class_disclosure
    return front if keep.all() else front.take(np.flatnonzero(keep))


def undominated(front: Front) -> Front:
    """Return the entries than which no other is at least as good in merges, people, rows and bits."""
    if len(front) < 2:
        return front
    codes, shape = [], []
    for column in (front.merges, front.pinned, front.disclosed):
        values, code = np.unique(column, return_inverse=True)
        codes.append(code)
        shape.append(len(values))
    if math.prod(shape) > MAX_GRID:
        raise TooLarge(f"{math.prod(shape):,} combinations of merges, people and rows are too many")
    flat = np.ravel_multi_index(codes, shape)
    order = np.lexsort((-front.bits, flat))
    first = order[np.flatnonzero(np.diff(flat[order], prepend=-1))]  # of equal whole numbers the most bits
    best = np.full(math.prod(shape), -math.inf)
    best[flat[first]] = front.bits[first]
    best = best.reshape(shape)
    for axis in range(3):  # the most bits of those that are as good in all whole numbers
        best = np.maximum.accumulate(best, axis=axis)
    beside = np.full(shape, -math.inf)  # the same without those that are equal in all of them
    for axis in range(3):
        at, before = [slice(None)] * 3, [slice(None)] * 3
        at[axis], before[axis] = slice(1, None), slice(None, -1)
        beside[tuple(at)] = np.maximum(beside[tuple(at)], best[tuple(before)])
    return front.take(np.sort(first[front.bits[first] > beside.ravel()[flat[first]]]))


def chosen(groups: GroupTree, fronts: list[Front], entry: int) -> list[int]:
    """Return the inner nodes that an entry of the root's front makes leaves."""
    found, stack = [], [(0, entry)]
    while stack:
        v, i = stack.pop()
        a, b = groups.children[v].tolist()
        if a < 0:
            continue
        if fronts[v].left[i] < 0:
            found.append(v)
            continue
        stack += [(a, int(fronts[v].left[i])), (b, int(fronts[v].right[i]))]
    return found


_NONE = np.zeros(0, dtype=np.int64)
NOTHING = Front(_NONE, _NONE, _NONE, np.zeros(0), _NONE, _NONE)
