"""What the figures of PMML's trees state: counts, sizes, shares or labels, as exactly as the file proves them.

Source: Data Mining Group, PMML 4.4, "Tree Model" (recordCount, ScoreDistribution).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from encoders.domain.domain import Condition
from encoders.domain.values import Test, Value, equals
from encoders.models.models import AnyModel, CountKind, PublishedFigure, Statistic, Table
from encoders.models.nodes import Support
from recon.readers.formats.pmml.fields import Fields
from recon.readers.formats.pmml.trees import PmmlNode, Unrolled, unroll
from solvers.foundation.errors import ReleaseError, TooLarge, Unsupported
from solvers.statements.release import RowCount

WHOLE_TOLERANCE = 1e-6  # relative; shares are written with 15 digits, recordCounts exactly
SHARES = "the shares of classes in leaves are of rows, none of them weighted"
LABELS = "a leaf's class is the commonest among its training rows, of which there are some"
SAMPLES = "each tree was fitted on a resample: a positive count says only that there is such a training row"
DISTINCT = "Nyoka writes how many different training rows a node holds (n_node_samples)"
SPREAD = "leaves that missing values reach by surrogates or defaults have upper bounds instead of counts"

Place = tuple[str, int]
How = Literal["counts", "shares of rows", "sizes", "ratios", "labels"]


@dataclass(frozen=True)
class PmmlAnswer:
    """The models of a file with what is to be said about them."""

    models: tuple[AnyModel, ...]
    kinds: tuple[CountKind, ...]
    notes: tuple[str, ...] = ()
    rows: RowCount | None = None
    classes: tuple[Value, ...] | None = None
    reader_notes: tuple[str, ...] = ()


@dataclass
class PmmlReading:
    """A tree of the file: nodes, the label and its classes as written -> value, the strategies, the writer."""

    fields: Fields
    nodes: list[PmmlNode]
    label: str
    labels: dict[str, Value] | tuple[()]
    missing: str
    last: bool
    writer: str

    def __post_init__(self) -> None:
        self.classes = tuple(dict(self.labels).values()) if self.labels else ()
        self.leaves = [n for n in self.nodes if not n.children]
        self.how = self.kind()

    def kind(self) -> How:
        """Return what the leaves' figures are; `Unsupported` where they are nothing that is known."""
        rows = [n.rows for n in self.leaves]
        root = self.nodes[0].rows
        ones = all(r is None or abs(r - 1) < WHOLE_TOLERANCE for r in rows) and (
            root is None or abs(root - 1) < WHOLE_TOLERANCE
        )
        if all(r is None for r in rows) and self.labels:  # what is written of classes sums to 1, or to rows
            sums = [sum(c or 0.0 for c, _ in n.shares.values()) for n in self.leaves]
            ones = all(abs(s - 1) < WHOLE_TOLERANCE or not s for s in sums)
        if self.labels and not ones:
            if all(self.counts(n) is not None for n in self.leaves):
                return "counts"
            if all(self.scaled(n) is not None for n in self.leaves):
                return "shares of rows"
        if not ones and all(r is not None and r == round(r) for r in rows):
            return "sizes"
        if self.labels and all(self.ratios(n) is not None for n in self.leaves):
            return "ratios"
        counted = [c for n in self.leaves for c, _ in n.shares.values() if c is not None]
        if any(c != round(c) for c in counted):
            raise Unsupported("the PMML tree's recordCounts are not whole numbers: its rows were weighted")
        if counted:
            raise Unsupported("some leaves of the PMML tree have no recordCounts, or such as do not sum to their rows")
        if self.labels and len(self.classes) > 1 and all(n.score is not None for n in self.leaves):
            return "labels"
        raise Unsupported("the PMML tree has neither recordCounts nor shares of classes: it says nothing about rows")

    def counts(self, node: PmmlNode) -> tuple[int, ...] | None:
        """Return a node's rows per class where they are written as such."""
        found = [node.shares.get(text, (None, None))[0] for text in self.labels]
        if all(c is None for c in found):
            return None
        values = [c or 0.0 for c in found]
        if any(c != round(c) for c in values):
            return None
        return tuple(round(c) for c in values) if node.rows in (None, sum(values)) else None

    def ratios(self, node: PmmlNode) -> list[float] | None:
        """Return the shares of classes in a node, None where they do not sum to 1."""
        for at in (0, 1):
            found = [node.shares.get(text, (0.0, 0.0))[at] for text in self.labels]
            values = [x for x in found if x is not None]
            if len(values) == len(found) and node.shares and abs(sum(values) - 1) < 1e-6:
                return values
        return None

    def scaled(self, node: PmmlNode) -> tuple[int, ...] | None:
        """Return a node's rows per class where it has shares of them and its number of rows."""
        found = self.ratios(node)
        if found is None or node.rows is None:
            return None
        values = [x * node.rows for x in found]
        error = WHOLE_TOLERANCE * (1 + node.rows)
        if error >= 0.25 or any(abs(v - round(v)) > error for v in values):
            return None
        out = tuple(round(v) for v in values)
        return out if sum(out) == node.rows else None

    def figures(self, node: PmmlNode) -> tuple[int, ...] | None:
        """Return a node's rows per class, or its number of rows alone; None where it does not say."""
        if self.how == "sizes":
            return None if node.rows is None or node.rows != round(node.rows) else (round(node.rows),)
        return self.counts(node) if self.how == "counts" else self.scaled(node)

    def at(self, place: Place | None) -> tuple[int, ...] | None:
        """Return the rows of a leaf, or those of an inner node that are in none of its children."""
        if place is None:
            return (0,) * (1 if self.how == "sizes" else len(self.classes))
        node = self.nodes[place[1]]
        own = self.figures(node)
        if place[0] == "leaf" or own is None:
            return own
        below = [self.figures(self.nodes[c]) for c in node.children]
        if any(b is None for b in below):
            return None
        left = tuple(n - sum(b[k] for b in below if b is not None) for k, n in enumerate(own))
        if min(left) < 0:
            raise ReleaseError("its children have more rows than itself", place=node.place)
        return left

    def unrolled(self, present: bool = False) -> Unrolled:
        """Return the tree in binary splits (`present`: of the rows without missing values)."""
        return unroll(self.nodes, self.fields, self.missing, self.last, present)


def tree_answer(tree: PmmlReading) -> PmmlAnswer:
    """Return what one tree states."""
    try:
        found, every = tree.unrolled(), True
    except TooLarge:
        if tree.how in ("ratios", "labels"):
            raise
        found, every = tree.unrolled(present=True), False
    if len(found.grown.splits) == 1:
        raise Unsupported("the PMML tree has no split")
    if tree.how in ("ratios", "labels"):
        return _shares_answer(tree, found)
    kinds: tuple[CountKind, ...] = ("size",) if tree.how == "sizes" else ("exact",)
    classes = None if tree.how == "sizes" else tree.classes
    notes = (
        ("shares times rows are not whole: the rows were weighted, only sizes are stated",)
        if (tree.how == "sizes" and tree.labels and any(n.shares for n in tree.leaves))
        else ()
    )
    figures = {i: tree.at(place) for i, place in found.holds.items()}
    total = _root_figures(tree)
    lost = None in found.holds.values() and not _all_below(tree)
    if every and found.single and not lost and None not in figures.values():
        supports = [
            _support(figures[i] or (), tree) if i in figures else Support() for i in range(len(found.grown.splits))
        ]
        n = sum(sum(f or ()) for f in figures.values())
        said = tree.nodes[0].rows if total is None else sum(total)
        if said is not None and abs(said - n) > WHOLE_TOLERANCE:
            raise ReleaseError(f"its leaves have {n} rows, it has {said:.15g}", place=tree.nodes[0].place)
        return PmmlAnswer((found.grown.tree(supports, "tree"),), kinds, (), RowCount(n, n), classes, notes)
    if total is None:
        raise Unsupported("the PMML tree does not say how many rows its root has, and leaves are at several places")
    table = Table(tuple(_bounds(tree, found, total, every)), "leaves")
    n = sum(total)
    return PmmlAnswer((table,), kinds, (), RowCount(n, n), classes, (*notes, SPREAD))


def _support(figures: tuple[int, ...], tree: PmmlReading) -> Support:
    """Return the support of a leaf."""
    return Support(count=figures[0]) if tree.how == "sizes" else Support(figures)


def _root_figures(tree: PmmlReading) -> tuple[int, ...] | None:
    """Return the rows of the root, from its leaves where it does not say."""
    own = tree.figures(tree.nodes[0])
    if own is not None:
        return own
    leaves = [tree.figures(n) for n in tree.leaves]
    if tree.nodes[0].rows is not None or tree.last:
        return None
    return tuple(sum(column) for column in zip(*(f for f in leaves if f is not None), strict=True))


def _all_below(tree: PmmlReading) -> bool:
    """Return whether every row of a node is in one of its children, as far as the file says."""
    for node in tree.nodes:
        if node.children and node.rows is not None:
            below = [tree.nodes[c].rows for c in node.children]
            if None not in below and abs(sum(b or 0.0 for b in below) - node.rows) > WHOLE_TOLERANCE:
                return False
    return True


def _bounds(tree: PmmlReading, found: Unrolled, total: tuple[int, ...], every: bool) -> list[PublishedFigure]:
    """Return exact figures of leaves that stand at one place, and upper bounds of every place of the others."""
    often: dict[Place, int] = {}
    for place in found.holds.values():
        if place is not None:
            often[place] = often.get(place, 0) + 1
    out = (
        [_class_figure(tree, (), k, n, "root", exact=True) for k, n in enumerate(total)] if tree.how != "sizes" else []
    )
    for i, path in found.grown.paths():
        place = found.holds[i]
        if place is None or path is None or any(test == Test(missing=True) for _, test in path):
            continue
        figures = tree.at(place)
        if figures is None:
            continue
        name = f"{tree.nodes[place[1]].place}{', rest' if place[0] == 'stay' else ''}"
        alone = every and often[place] == 1
        out += [_class_figure(tree, path, k, n, name, exact=alone) for k, n in enumerate(figures)]
    return out


def _class_figure(tree: PmmlReading, path: Condition, k: int, rows: int, name: str, exact: bool) -> PublishedFigure:
    """Return a figure of one class (of all rows where the tree has sizes): a count, or "at most"."""
    where = path if tree.how == "sizes" else (*path, (tree.label, equals(tree.classes[k])))
    return PublishedFigure(where, count=rows, name=name) if exact else PublishedFigure(where, high=rows, name=name)


def _shares_answer(tree: PmmlReading, found: Unrolled) -> PmmlAnswer:
    """Return the shares (or the commonest class) of every leaf at one place, as means of its classes."""
    figures: list[PublishedFigure] = []
    once = {place for place, n in Counter(found.holds.values()).items() if n == 1 and place is not None}
    for i, path in found.grown.paths():
        place = found.holds[i]
        if place not in once or path is None:
            continue
        node = tree.nodes[place[1]]
        if tree.how == "ratios":
            ratios = tree.ratios(node)
            for value, share in list(zip(tree.classes, ratios or (), strict=False))[: max(1, len(tree.classes) - 1)]:
                statistic = Statistic("mean", f"{tree.label}={value}", share, 1e-9)
                figures.append(PublishedFigure(path, statistic=statistic, name=node.place))
        elif place[0] == "leaf":
            value = dict(tree.labels)[str(node.score)]
            low = Fraction(1, len(tree.classes))
            middle, wide = float((1 + low) / 2), float((1 - low) / 2) + 1e-9
            statistic = Statistic("mean", f"{tree.label}={value}", middle, wide)
            figures.append(PublishedFigure(path, statistic=statistic, name=node.place))
    if not figures:
        raise Unsupported("no leaf of the PMML tree has a share of classes that holds for one box")
    ratio = tree.how == "ratios"
    notes = (
        "the file has shares of classes but no numbers of rows" if ratio else "the file has no counts, only classes",
    )
    return PmmlAnswer(
        (Table(tuple(figures), "leaves"),), ("ratio",) if ratio else ("label",), (SHARES if ratio else LABELS,),
        None, tree.classes, notes,
    )  # fmt: skip


def forest_answer(trees: Sequence[PmmlReading]) -> PmmlAnswer:
    """Return least numbers of rows per leaf: every tree was fitted on a resample, as far as one can know."""
    figures: list[PublishedFigure] = []
    nyoka = all(t.writer == "Nyoka" for t in trees)
    rows = 1
    for t, tree in enumerate(trees):
        try:
            found = tree.unrolled()
        except TooLarge:
            continue
        held = [p for p in found.holds.values() if p is not None]
        if len(set(held)) != len(held):
            continue
        for i, path in found.grown.paths():
            place = found.holds[i]
            if place is None or place[0] != "leaf" or path is None:
                continue
            node = tree.nodes[place[1]]
            name = f"tree {t}, {node.place}"
            if nyoka and node.rows is not None and node.rows == round(node.rows) and node.rows > 0:
                figures.append(PublishedFigure(path, low=round(node.rows), name=name))
            for text, value in dict(tree.labels).items():
                if any((x or 0.0) > 1e-9 for x in node.shares.get(text, ())):
                    figures.append(PublishedFigure((*path, (tree.label, equals(value))), low=1, name=name))
            if not nyoka and not tree.labels and (node.rows or 0.0) > 0:
                figures.append(PublishedFigure(path, low=1, name=name))
        if nyoka and tree.nodes[0].rows is not None:
            rows = max(rows, int(tree.nodes[0].rows))
    if not figures:
        raise Unsupported("the PMML forest has no counts or shares in leaves that hold for one box")
    kinds: tuple[CountKind, ...] = ("distinct", "bag") if nyoka else ("bag",)
    notes = (SAMPLES, DISTINCT) if nyoka else (SAMPLES,)
    lines = ("the file does not say whether rows were resampled: only least numbers are stated",)
    return PmmlAnswer(
        (Table(tuple(figures), "leaves"),), kinds, notes, RowCount(rows, None), trees[0].classes or None, lines
    )
