"""What the readers of boosted trees share: trees in file order, paths to leaves, whole numbers behind leaf values.

The first round of a boosted classifier starts from one score for every row, so that a leaf's value and weight are
functions of how many of its rows are positive (Chen, Guestrin, "XGBoost", KDD 2016, eq. 5; Friedman, "Greedy function
approximation", 2001). The libraries compute in float32: a count is taken only where exactly one whole number explains
every leaf.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Condition
from encoders.domain.values import Test, Value, equals
from encoders.models.models import PublishedFigure, Tree, UnusedPublication
from encoders.models.nodes import ModelNode, Nodes, Support
from solvers.foundation.errors import ReleaseError
from solvers.foundation.structures import BinaryTree

MAX_NODES = 2_000_000  # in one tree
VALUES = "its leaf values"
LATER = UnusedPublication("sums in later trees", "they are of residuals, and are not read", labels=True)
PREDICTED = 1e-5  # relative: how far float32 and printed digits take sums from what the tree before says
CLOSE = 0.25  # a computed count that may be off by more tells no whole number from the next
MAX_TRIES = 4_000_000  # figures of leaves, over all counts that are tried


@dataclass(frozen=True, slots=True)
class BoosterSplit:
    """An inner node: its test, and the test of the other side (None where the file cannot say it)."""

    feature: str
    test: Test
    opposite: Test | None


@dataclass
class BoosterTree:
    """One tree as it was read: per node its split (None: a leaf) and children; node 0 is the root."""

    splits: list[BoosterSplit | None] = field(default_factory=list)
    children: list[tuple[int, int]] = field(default_factory=list)

    def link(self, parent: int, side: int, child: int) -> None:
        """Make a node the first (0) or second (1) child of another."""
        pair = self.children[parent]
        self.children[parent] = (child, pair[1]) if side == 0 else (pair[0], child)

    @property
    def leaves(self) -> list[int]:
        """Return the leaves in the order of the nodes."""
        return [i for i, split in enumerate(self.splits) if split is None]

    @property
    def links(self) -> BinaryTree:
        """Return the links alone."""
        left, right = np.array(self.children, dtype=np.int64).reshape(-1, 2).T
        return BinaryTree.of_sides(left, right)

    def tree(self, supports: Sequence[Support], name: str) -> Tree:
        """Return the published tree; equal conditions become one object."""
        known: dict[Condition, Condition] = {}
        nodes = []
        for split, (left, right), support in zip(self.splits, self.children, supports, strict=True):
            if split is None:
                nodes.append(ModelNode(support))
                continue
            condition: Condition = ((split.feature, split.test),)
            nodes.append(ModelNode(support, known.setdefault(condition, condition), left, right))
        return Tree(Nodes.of(nodes), name)

    def paths(self) -> Iterator[tuple[int, Condition | None]]:
        """Yield every leaf with the tests on its path, None where a side cannot be put as a test."""
        todo: list[tuple[int, Condition | None]] = [(0, ())]
        while todo:
            i, path = todo.pop()
            split = self.splits[i]
            if split is None:
                yield i, path
                continue
            left, right = self.children[i]
            other = None if path is None or split.opposite is None else _narrowed(path, split.feature, split.opposite)
            todo.append((right, other))
            todo.append((left, None if path is None else _narrowed(path, split.feature, split.test)))

    def at_least(self, rows: Sequence[int], name: str, most: Sequence[int] | None = None) -> Iterator[PublishedFigure]:
        """Yield "at least so many rows", as many as were drawn (or at most so many), for every leaf with rows."""
        for i, path in self.paths():
            if path and rows[i] > 0:
                high = None if most is None else most[i]
                yield PublishedFigure(path, low=rows[i], high=high, name=f"{name}, leaf {i}", drawn=most is None)

    def of_class(self, counts: Sequence[int], label: str, value: Value, name: str) -> Iterator[PublishedFigure]:
        """Yield how many rows of one class every leaf has."""
        for i, path in self.paths():
            if path is not None:
                yield PublishedFigure((*path, (label, equals(value))), count=counts[i], name=f"{name}, leaf {i}")


def _narrowed(path: Condition, feature: str, test: Test) -> Condition:
    """Return the path with one more test; ends of ranges on one feature are merged, so that paths stay short."""
    for at, (name, old) in enumerate(path):
        if name == feature and old.values is None and test.values is None and not (old.bare or test.bare):
            return (*path[:at], (name, both_tests(old, test)), *path[at + 1 :])
    return (*path, (feature, test))


def both_tests(a: Test, b: Test) -> Test:
    """Return the range of what passes both range tests."""
    lows = [(t.low, t.low_open) for t in (a, b) if t.low is not None]
    highs = [(t.high, not t.high_open) for t in (a, b) if t.high is not None]
    low, low_open = max(lows, default=(None, False))
    high, closed = min(highs, default=(None, True))
    return Test(low=low, high=high, low_open=low_open, high_open=not closed, missing=a.missing and b.missing)


def opposite(test: Test, gaps: bool) -> Test | None:
    """Return the test that passes exactly what this one does not; `gaps`: the attribute may be missing.

    None for listed values (the file need not know all) and for ranges with two ends.
    """
    missing = gaps and not test.missing
    if test.bare:
        return Test(missing=not test.missing)
    if test.values is not None or (test.low is not None and test.high is not None):
        return None
    if test.high is not None:
        return Test(low=test.high, low_open=not test.high_open, missing=missing)
    return Test(high=test.low, high_open=not test.low_open, missing=missing)


def split_of(feature: str, test: Test, gaps: bool) -> BoosterSplit:
    """Return a split; without `gaps` nothing is said about missing values."""
    return BoosterSplit(feature, test if gaps else replace(test, missing=False), opposite(test, gaps))


def sums(grown: BoosterTree, of_leaves: dict[int, int]) -> list[int]:
    """Return the sum over the leaves below every node. Children stand behind their parents."""
    out = [of_leaves.get(i, 0) for i in range(len(grown.splits))]
    for i in reversed(range(len(out))):
        if grown.splits[i] is not None:
            left, right = grown.children[i]
            out[i] = out[left] + out[right]
    return out


def integer_in(value: float, error: float) -> int | None:
    """Return the only whole number within the error of a value, None where there is none.

    Raises `ArithmeticError` where the error is too large to tell.
    """
    if not math.isfinite(value) or not error < CLOSE:
        raise ArithmeticError("float32 figures of so many rows do not tell one count from the next")
    return round(value) if abs(value - round(value)) <= error else None


def one_unknown(
    base: NDArray[np.float64], slope: NDArray[np.float64], rows: NDArray[np.int64], error: NDArray[np.float64]
) -> list[NDArray[np.int64]]:
    """Return all whole counts in 0..rows that are base + t * slope for some t > 0.

    Raises `ArithmeticError` where errors or the number of tries are too large.
    """
    steep = np.flatnonzero(np.abs(slope) > 1e-12)
    if not len(steep):
        return []
    i = int(steep[np.argmin(rows[steep])])
    if rows[i] > MAX_TRIES // max(1, len(rows)):
        raise ArithmeticError("too many counts to try")
    t = (np.arange(rows[i] + 1) - base[i]) / slope[i]
    return different(base + t[t > 0, None] * slope, rows, error + np.abs(slope / slope[i]) * error[i])


def different(
    counts: NDArray[np.float64], rows: NDArray[np.int64], error: NDArray[np.float64]
) -> list[NDArray[np.int64]]:
    """Return the lines of `counts` that are whole numbers in 0..rows within the error, each once."""
    if not bool((error < CLOSE).all()):
        raise ArithmeticError("float32 figures of so many rows do not tell one count from the next")
    if not len(counts):
        return []
    near = np.rint(counts)
    held = (np.abs(counts - near) <= error).all(axis=1) & (near >= 0).all(axis=1) & (near <= rows).all(axis=1)
    found = np.unique(near[held].astype(np.int64), axis=0)
    return list(found)


@dataclass(frozen=True, eq=False)
class RoundMoves:
    """What one tree says of the gradients of all its rows: their sum before it, and how it moves the sum.

    The sum is `before` + ridge * `per_ridge`, up to `off`. Leaves add `step` to the scores of rows whose hessians sum
    up to `hessian`. `sharp`: the factor of scores in log loss, 0 for squared error (hessians do not move).
    """

    before: float
    per_ridge: float
    off: float
    step: NDArray[np.float64]
    hessian: NDArray[np.float64]
    sharp: float = 1.0

    def moved(self) -> tuple[float, float]:
        """Return by how much the leaves move the sum of gradients, and how far that may be off.

        g' = h and |h'| <= s h for log loss of s F: |g(F + v) - g(F) - v h(F)| <= h (e^|s v| - 1 - |s v|) / s.
        """
        size = np.abs(self.step)
        far = np.minimum(size * self.sharp, 50.0)
        bend = (np.expm1(far) - far) / self.sharp if self.sharp else np.zeros(len(size))
        off = float((self.hessian * (bend + PREDICTED * size)).sum())
        return float((self.step * self.hessian).sum()), off


REFUTED = (
    "leaf values, or numbers of rows, that no training on the rows of the trees before gives (continued training, or "
    "rows drawn anew)"
)
SAID_CONTINUED = "the file says that training was continued (init_model), on which rows it does not say"
SAID_SUMMED = "the file says that it is a sum of models, each fitted on rows of its own as far as it says"
NOT_PLACED = "the file says that training was continued or models were summed, but not which trees are of which"
OTHER_TRAININGS = (NOT_PLACED, REFUTED, SAID_CONTINUED, SAID_SUMMED)  # why trees are about other rows


def first_of_other_rows(rounds: Iterable[RoundMoves], ridge: tuple[float, float]) -> int | None:
    """Return the first round whose sum of gradients no training on the rows of those before it has, None without one.

    `ridge`: the ends of the regularisation, which must explain all rounds. Takes no round behind the one that it
    returns. Cost: linear in their leaves.
    """
    low, high = ridge
    for k, (tree, after) in enumerate(pairwise(rounds)):
        moved, off = tree.moved()
        left, slope = after.before - tree.before - moved, after.per_ridge - tree.per_ridge
        off += after.off + tree.off + PREDICTED * (abs(after.before) + abs(tree.before))
        if not math.isfinite(off):
            continue
        if abs(slope) * max(1.0, low) <= off * PREDICTED:
            if abs(left) > off + abs(slope) * low:
                return k + 1
            continue
        ends = sorted((-left + sign * off) / slope for sign in (-1, 1))
        low, high = max(low, ends[0] - PREDICTED * abs(ends[0])), min(high, ends[1] + PREDICTED * abs(ends[1]))
        if low > high:
            return k + 1
    return None


def values_of(texts: Sequence[str]) -> tuple[Value, ...]:
    """Return categories as whole numbers where all of them look so, else as texts."""
    whole = all(re.fullmatch(r"0|-?[1-9]\d{0,14}", text) for text in texts)
    return tuple(int(text) for text in texts) if whole else tuple(texts)


def label_name(features: Sequence[str]) -> str:
    """Return what to call the label of a file that does not name it: no feature's name."""
    return "label" if "label" not in features else "label (of the model)"


def refuse(message: str, place: str) -> ReleaseError:
    """Return the refusal of a malformed file at a place."""
    return ReleaseError(message, place=place)
