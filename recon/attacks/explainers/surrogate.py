"""A tree that stands for a black box: its predictions, how faithful it is, and its nodes as a release file has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recon.queries.inputs import Bits, Floats, Ints, RecordColumns, Target, predicted
from solvers.foundation.errors import ReleaseError, Unsupported

NODES = 200_000  # of an expanded tree; m-of-n tests below each other multiply
Box = dict[int, tuple[float, float]]  # column -> (above, at most) as known on a path


@dataclass(frozen=True)
class Literal:
    """A test of one column: at most a threshold, or above it."""

    column: int
    threshold: float
    at_most: bool

    def holds(self, x: Floats) -> Bits:
        """Return (rows,) where it holds."""
        found: Bits = (x[:, self.column] <= self.threshold) == self.at_most
        return found

    def decided(self, box: Box) -> bool | None:
        """Return whether it holds everywhere in a box, or nowhere; None where that depends."""
        above, most = box.get(self.column, (-np.inf, np.inf))
        if most <= self.threshold:
            return self.at_most
        return not self.at_most if above >= self.threshold else None

    def within(self, box: Box, holds: bool) -> Box:
        """Return the part of a box where it holds, or does not."""
        above, most = box.get(self.column, (-np.inf, np.inf))
        side = (above, min(most, self.threshold)) if holds == self.at_most else (max(above, self.threshold), most)
        return {**box, self.column: side}


@dataclass(frozen=True)
class MofN:
    """A test that holds where at least `needed` of its literals hold; a plain binary test is 1 of 1."""

    needed: int
    literals: tuple[Literal, ...]

    def holds(self, x: Floats) -> Bits:
        """Return (rows,) where it holds."""
        found = np.zeros(len(x), dtype=np.int64)
        for literal in self.literals:
            found += literal.holds(x)
        many: Bits = found >= self.needed
        return many


@dataclass(frozen=True)
class SurrogateNode:
    """A node: the shares of the classes in it; an inner one has a test and its two children by number."""

    shares: tuple[float, ...]
    test: MofN | None = None
    then: int = -1
    other: int = -1


@dataclass(frozen=True)
class _Pending:
    """A node of the expanded tree that is still to be written: where, what for, and the rows in it."""

    slot: int
    node: int
    literal: int
    held: int
    box: Box
    rows: Ints


class Surrogate:
    """A decision tree that imitates a black box: itself a black box over class numbers (`records.Target`).

    `kind`: how it came about ("trepan m-of-n", "trepan binary", "enriched tree", "lore", "lore merged"). `inner`: its
    nodes, 0 the root, children behind their parents. `queries`: how many rows the black box was asked about.
    """

    def __init__(
        self, kind: str, columns: RecordColumns, classes: int, inner: Sequence[SurrogateNode], queries: int = 0
    ) -> None:
        self.kind, self.columns, self.classes, self.inner, self.queries = kind, columns, classes, tuple(inner), queries
        self.classes_: NDArray[Any] = np.arange(classes)

    @classmethod
    def of(cls, fitted: Any, kind: str, columns: RecordColumns, classes: int, queries: int = 0) -> Surrogate:
        """Return a scikit-learn decision tree, fitted on class numbers, as a surrogate.

        scikit-learn compares numbers rounded to 32 bits; here they are compared as they are.
        """
        tree = fitted.tree_
        shares = np.zeros((tree.node_count, classes))
        shares[:, np.asarray(fitted.classes_, dtype=np.int64)] = tree.value[:, 0, :]
        shares /= shares.sum(axis=1, keepdims=True)
        inner = []
        for k, row in enumerate(shares.tolist()):
            then, other = int(tree.children_left[k]), int(tree.children_right[k])
            literal = Literal(int(tree.feature[k]), float(tree.threshold[k]), True)
            inner.append(
                SurrogateNode(tuple(row), MofN(1, (literal,)), then, other) if then >= 0 else SurrogateNode(tuple(row))
            )
        return cls(kind, columns, classes, inner, queries)

    @cached_property
    def _arrays(self) -> tuple[Ints, Floats, Bits, Ints, Ints]:
        """Return per node and literal: column (-1: none), threshold, at most; per node: needed, (then, else)."""
        width = max((len(n.test.literals) for n in self.inner if n.test), default=1)
        shape = (len(self.inner), width)
        column, threshold, at_most = np.full(shape, -1, dtype=np.int64), np.zeros(shape), np.zeros(shape, dtype=bool)
        needed = np.zeros(len(self.inner), dtype=np.int64)
        children = np.full((len(self.inner), 2), -1, dtype=np.int64)
        for k, node in enumerate(self.inner):
            if node.test:
                needed[k], children[k] = node.test.needed, (node.other, node.then)
                for j, literal in enumerate(node.test.literals):
                    column[k, j], threshold[k, j], at_most[k, j] = literal.column, literal.threshold, literal.at_most
        return column, threshold, at_most, needed, children

    @cached_property
    def _shares(self) -> Floats:
        """Return (nodes, classes) the shares."""
        return np.array([n.shares for n in self.inner], dtype=np.float64)

    def leaf(self, x: Floats) -> Ints:
        """Return (rows,) the number of the node where each row ends; the rows walk down together."""
        column, threshold, at_most, needed, children = self._arrays
        x = np.asarray(x, dtype=np.float64)
        at = np.zeros(len(x), dtype=np.int64)
        moving = np.arange(len(x)) if needed[0] else np.zeros(0, dtype=np.int64)
        while len(moving):
            node = at[moving]
            held = (x[moving[:, None], column[node]] <= threshold[node]) == at_most[node]
            passed = (held & (column[node] >= 0)).sum(axis=1) >= needed[node]
            at[moving] = children[node, passed.astype(np.int64)]
            moving = moving[needed[at[moving]] > 0]
        return at

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803 - scikit-learn's name
        """Return (rows, classes) the shares of the leaf where each row (given as (rows, columns)) ends."""
        return np.asarray(self._shares[self.leaf(X)], dtype=np.float64)

    def predict(self, X: Any) -> Ints:  # noqa: N803 - scikit-learn's name
        """Return (rows,) the class numbers; of equally probable ones the first."""
        return np.asarray(self._shares.argmax(axis=1)[self.leaf(X)], dtype=np.int64)

    def fidelity(self, target: Target, x: Floats) -> float:
        """Return the share of rows of which it says what the black box says, right or wrong; not accuracy."""
        return float(np.mean(self.predict(x) == predicted(target, x, self.classes)))

    def accuracy(self, x: Floats, y: Ints) -> float:
        """Return the share of rows whose true label it says; not fidelity."""
        return float(np.mean(self.predict(x) == y))

    @property
    def size(self) -> int:
        """Return the number of nodes, leaves included, an m-of-n test being one."""
        return len(self.inner)

    @property
    def splits(self) -> int:
        """Return the number of nodes with a test."""
        return sum(node.test is not None for node in self.inner)

    @property
    def depth(self) -> int:
        """Return the greatest number of tests on a path, an m-of-n test being one."""
        depth = [0] * len(self.inner)
        for k, node in enumerate(self.inner):
            if node.test:
                depth[node.then] = depth[node.other] = depth[k] + 1
        return max(depth)

    def nodes(self, x: Floats, y: Ints) -> list[dict[str, Any]]:
        """Return the tree as `nodes` of a release-file tree, leaves with the counts of the given rows per class.

        An m-of-n test becomes a tree of single tests that tries its literals in order and goes on as soon as the test
        is decided; tests whose outcome follows from those above are left out. Both kinds of tree send every row to the
        same prediction, but the expanded one has more leaves and so its counts say **more** than one pair of counts
        per leaf of the m-of-n tree would: it is what the release file can express. `x` (rows, columns), `y` (rows,).

        Raises `ReleaseError` where rows and columns do not fit, `Unsupported` beyond `NODES` nodes. Cost: the nodes
        times the rows on a path.
        """
        return [found for found, _ in self._expanded(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.int64))]

    def predictions(self) -> list[int]:
        """Return what it predicts at each node of `nodes`, -1 at those with a test."""
        nothing = np.zeros((0, len(self.columns.names)))
        own = self._shares.argmax(axis=1)
        return [int(own[leaf]) if leaf >= 0 else -1 for _, leaf in self._expanded(nothing, np.zeros(0, dtype=np.int64))]

    def _expanded(self, x: Floats, y: Ints) -> list[tuple[dict[str, Any], int]]:
        """Return the expanded nodes, each with the number of the leaf that it is a part of (-1: it has a test)."""
        if x.shape != (len(y), len(self.columns.names)):
            raise ReleaseError(f"there are {x.shape} values for {len(y)} labels and {len(self.columns.names)} columns")
        found: list[tuple[dict[str, Any], int]] = [({}, -1)]
        pending = [_Pending(0, 0, 0, 0, {}, np.arange(len(x)))]
        while pending:
            at = self._settled(pending.pop())
            node = self.inner[at.node]
            if node.test is None:
                counts = np.bincount(y[at.rows], minlength=self.classes)
                found[at.slot] = ({"counts": counts.tolist()}, at.node)
                continue
            literal = node.test.literals[at.literal]
            if len(found) + 2 > NODES:
                raise Unsupported(f"the {self.kind} tree has over {NODES} nodes once its m-of-n tests are expanded")
            low = x[at.rows, literal.column] <= literal.threshold
            for k, at_most in enumerate((True, False)):
                holds = at_most == literal.at_most
                box = literal.within(at.box, holds)
                rows = at.rows[low == at_most]
                pending.append(_Pending(len(found) + k, at.node, at.literal + 1, at.held + holds, box, rows))
            test = {self.columns.names[literal.column]: {"at_most": literal.threshold}}
            found[at.slot] = ({"if": test, "then": len(found), "else": len(found) + 1}, -1)
            found += [({}, -1), ({}, -1)]
        return found

    def _settled(self, at: _Pending) -> _Pending:
        """Return where a path goes until a test is needed whose outcome does not follow from those before."""
        node, k, held = at.node, at.literal, at.held
        while (test := self.inner[node].test) is not None:
            if held >= test.needed or held + len(test.literals) - k < test.needed:
                node = self.inner[node].then if held >= test.needed else self.inner[node].other
                k = held = 0
                continue
            outcome = test.literals[k].decided(at.box)
            if outcome is None:
                break
            k, held = k + 1, held + outcome
        return _Pending(at.slot, node, k, held, at.box, at.rows)

    def text(self, classes: Sequence[Any] | None = None) -> str:
        """Return the tree as indented lines, the classes by these names or by number."""
        names, lines = self.columns.names, []
        waiting = [(0, 0, "")]
        while waiting:
            number, level, word = waiting.pop()
            node = self.inner[number]
            indent = "  " * level
            if node.test is None:
                k = int(np.argmax(node.shares))
                label = k if classes is None else classes[k]
                lines.append(f"{indent}{word}{label} ({node.shares[k]:.3f})")
                continue
            tests = [f"{names[t.column]} {'<=' if t.at_most else '>'} {t.threshold:g}" for t in node.test.literals]
            many = f"at least {node.test.needed} of: " if len(tests) > 1 else ""
            lines.append(f"{indent}{word}if {many}{', '.join(tests)}")
            waiting += [(node.other, level + 1, "else: "), (node.then, level + 1, "then: ")]
        return "\n".join(lines)
