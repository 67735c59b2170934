"""Forests of R's ranger in .rds and .RData files: a hazard, shares or a class in every leaf.

A survival forest has the times of all training rows, at which of
them somebody left; of every leaf Σ d / n up to each of them, of the rows that its tree drew. Sizes of leaves are not
stored. In a tree that saw every row once
(`replace = FALSE, sample.fraction = 1`) hazards are a curve with sixteen digits of at most so many people as there are
rows; of rows drawn without replacement its numbers are least ones; of rows drawn with replacement an event proves one
row. A split sends values up to a midpoint, compared in double precision, to the left.

A probability forest stores of every leaf the shares of its classes among the rows that its tree drew: the least whole
numbers with these shares follow, the number of rows does not. In a tree that saw every row once the classes of a leaf
are a multiple of them, and the leaves have all rows together; of rows drawn without replacement they are least
numbers; of rows drawn with replacement a share above 0 proves one row. A forest of classes stores the commonest class
of a leaf, one of numbers the mean: somebody is there.

Source: ranger 0.12 to 0.17, src/TreeSurvival.cpp (`computeDeathCounts`, `createEmptyNodeInternal`),
src/ForestSurvival.cpp (`setUniqueTimepoints`), src/TreeProbability.cpp (`addToTerminalNodes`),
src/TreeClassification.cpp (`estimate`), R/ranger.R.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from operator import attrgetter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Condition
from encoders.domain.values import AnyAttribute, Categorical, Value, equals, plain_number
from encoders.models.linear_figures import LinearFigure, LinearTerm
from encoders.models.models import AnyModel, CountKind, Provenance, PublishedFigure, Table, UnusedPublication
from encoders.models.nodes import UNPUBLISHED
from recon.readers.formats.drafts.binding import Binder, Feature, free_label
from recon.readers.formats.drafts.drafts import Draft, bind
from recon.readers.formats.printed.rpart_rds import (
    DUMMIES,
    GENERATED,
    NOTHING,
    Model,
    Parts,
    models_in,
    named_parts,
    resolved,
    response,
    vector,
)
from recon.readers.formats.sklearn.trees.arrays import MAX_NODES, TreeArrays, only_sizes
from recon.readers.formats.sklearn.trees.draft import CategorySplit, CountedTree, TreesDraft
from recon.readers.formats.sklearn.trees.survival import (
    BEGUN,
    CURVES,
    NAMED_ALIKE,
    SurvivalDraft,
    Times,
    node_curve,
)
from recon.readers.formats.sklearn.trees.trees import node_conditions
from recon.readers.formats.statistics.column_tables import texts_or_numbers
from recon.readers.formats.statistics.shares import DOUBLE, simplest
from recon.readers.formats.statistics.survival_curves import EVENT, TIME, Curve
from recon.readers.stored.binary.rds import RObject
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

FORMAT = "R ranger object (.rds)"
LISTED = "hazards are at all times at which somebody left (time.interest was left out)"
ONCE = "every tree saw every row once (replace = FALSE, sample.fraction = 1)"
DRAWN = "each tree was fitted on rows drawn {} replacement"
CLASSES, SHARES, MEANS = "Classification", "Probability estimation", "Regression"
COUNTS: dict[str, CountKind] = {CLASSES: "label", SHARES: "ratio", MEANS: "distinct"}  # by kind of forest
KINDS = frozenset(COUNTS)
CHOSEN = ("holdout", "inbag", "case.weights")  # arguments with which a tree may not see every row
OCCUR = "every class that the forest names has a training row (class.values)"
SAID = {  # what is assumed, by kind of forest
    CLASSES: ("a leaf holds the class of which its tree drew most rows there", OCCUR),
    SHARES: ("the shares of a leaf are those of the rows that its tree drew", OCCUR),
    MEANS: (),
}
_MORE: tuple[tuple[str, str, Literal["sizes", "labels"]], ...] = (  # newer versions and other settings
    ("num.samples.nodes", "the rows of nodes (node.stats) are not read", "sizes"),
    ("random.node.values", "the label of a random row of every leaf (quantreg) is not used", "labels"),
)
MAX_STATED = 10_000  # figures of leaves
MAX_DENOMINATOR = 1 << 24  # two fractions of such denominators differ by more than double precision moves one
Numbers = NDArray[np.float64]


def ranger_object(root: RObject) -> Model | None:
    """Return the only forest of ranger in an R object, else None."""
    models = models_in(root)
    return models[0] if len(models) == 1 and "ranger" in models[0].value.classes else None


def read_ranger_rds(value: RObject, holder: RObject = NOTHING) -> Draft:
    """Return what a forest of ranger publishes. Cost: linear in nodes times classes, or times training times.

    `holder`: the object that it was taken out of.

    Raises `ReleaseError` naming the part that is broken, `Unsupported` for unordered splits and times that were chosen.
    """
    parts = named_parts(value)
    call, forest = _arguments(parts.get("call", NOTHING)), named_parts(parts.get("forest", NOTHING))
    if not forest:
        raise Unsupported("the forest was not kept (write.forest = FALSE): it holds no trees")
    names = [str(v) for v in _vector(forest, "independent.variable.names")]
    if not names:
        raise Unsupported("a forest of ranger before 0.12 is not read: fit it with a later version")
    kind = _text(parts, "treetype")
    if kind == "Survival":
        return _survival(parts, call, forest, names)
    if kind not in KINDS:
        raise ReleaseError(f"is '{kind[:40]}', no kind of forest that is known", place="m$treetype")
    return _of_classes(parts, call, forest, names, named_parts(holder))


def _survival(parts: Parts, call: Parts, forest: Parts, names: list[str]) -> Draft:
    """Return what a survival forest publishes."""
    if "time.interest" in call:
        raise Unsupported("hazards at chosen times (time.interest) are not read: leave time.interest out")
    rows = _count(parts, "num.samples")
    times = _times(_numbers(forest, "unique.death.times"), rows)
    every = {name: _list(forest, name) for name in ("child.nodeIDs", "split.varIDs", "split.values", "chf")}
    if len({len(one) for one in every.values()}) > 1 or not every["chf"]:
        raise ReleaseError("has not as many links, tests and hazards as trees", place="m$forest")
    sets = _CategorySets(forest, names)
    counted, found = list[CountedTree](), list[tuple[int, int, Curve | None]]()
    for number, (children, columns, ends, hazards) in enumerate(zip(*every.values(), strict=True)):
        tree = _tree(children, columns, ends, sets, len(names), f"tree {number + 1}")
        counted.append(tree)
        found += [(number, k, c) for k, c in _leaf_curves(hazards, tree, times, rows, f"tree {number + 1}")]
    whole, replaced = _sampling(parts, call, len(counted), rows)
    if whole:  # every event shows in some leaf
        had = {t for _, _, curve in found if curve is not None for t in curve.times}
        times = tuple((t, t in had) for t, _ in times)
    return _draft(names, times, counted, found, sets, rows, whole, replaced, "inbag.counts" in parts)


def _draft(
    names: list[str], times: Times, trees: list[CountedTree], found: list[tuple[int, int, Curve | None]],
    sets: _CategorySets, rows: int, whole: bool, replaced: bool, bags: bool,
) -> SurvivalDraft:  # fmt: skip
    """Return the draft of trees and curves; `bags`: the object says how often each tree drew every row."""
    unused = []
    if not whole:
        why = "they are of drawn rows: that each event was somebody's in its leaf is stated, and no more"
        unused.append(
            UnusedPublication(CURVES, why if replaced else "of drawn rows: stated as least numbers", about="rows")
        )
    if bags and not whole:
        unused.append(UnusedPublication("inbag.counts", "how often each tree drew every row is not used", about="rows"))
    unused.append(UnusedPublication("predictions of rows (chf, survival)", "they are not used", about="rows"))
    if {TIME, EVENT} & set(names):
        found, times, unused = [], (), [UnusedPublication(CURVES, NAMED_ALIKE, about="rows")]
    hints = {TIME: Categorical(TIME, tuple(t for t, _ in times)), EVENT: Categorical(EVENT, (0, 1))} if times else {}
    notes = (ONCE,) if whole else (DRAWN.format("with" if replaced else "without"),)
    return SurvivalDraft(
        Provenance(FORMAT, ("size",) if whole else ("distinct",), (*notes, LISTED, BEGUN), unused=tuple(unused)),
        tuple(Feature(name, name) for name in (*names, *hints)),
        rows=RowCount(rows, rows),
        hints=hints,
        trees=tuple(trees),
        forest=len(trees) > 1 or not whole,
        resampled=not whole,
        replaced=replaced,
        sets=sets.pairs,
        curves=tuple(found),
        times=times,
    )


def _of_classes(parts: Parts, call: Parts, forest: Parts, names: list[str], holder: Parts) -> LeafClassesDraft:
    """Return what a forest of classes, of shares of classes or of numbers publishes."""
    rows, kind = _count(parts, "num.samples"), _text(parts, "treetype")
    links, columns, ends = (_list(forest, name) for name in ("child.nodeIDs", "split.varIDs", "split.values"))
    held = _list(forest, "terminal.class.counts") if kind == SHARES else links
    if len({len(one) for one in (links, columns, ends, held)}) > 1 or not links:
        raise ReleaseError("has not as many links, tests and shares as trees", place="m$forest")
    codes = [] if kind == MEANS else _plain_numbers(forest.get("class.values", NOTHING), "m$forest$class.values")
    classes = _class_names(codes, [str(v) for v in _vector(forest, "levels")])
    whole, replaced = _sampling(parts, call, len(links), rows)
    drawn = MAX_DENOMINATOR if _may_have(call, "inbag") else rows
    weighed = kind == CLASSES and _may_have(call, "class.weights")
    sets, counted, found, stated = _CategorySets(forest, names), list[CountedTree](), list[LeafClasses](), 0
    for number, tested in enumerate(zip(links, columns, ends, strict=True)):
        place = f"tree {number + 1}"
        tree = _tree(*tested, sets, len(names), place)
        counted.append(tree)
        at = np.flatnonzero(tree.arrays.leaf).tolist()
        if kind == SHARES:
            least = _leaf_shares(held[number], at, len(tree.arrays.leaf), len(codes), drawn, place)
        elif kind == CLASSES and not weighed:
            values = _plain_numbers(ends[number], place)
            least = [_commonest(codes, values[k], f"{place}, node {k}") for k in at]
        else:
            least = [()] * len(at)
        leaves = [LeafClasses(number, k, few) for k, few in zip(at, least, strict=True)]
        leaves = with_multiples(leaves, rows) if whole else [one.drawn_again() if replaced else one for one in leaves]
        stated += sum(one.figures for one in leaves)
        found += leaves if stated <= MAX_STATED or not number else []
    unused = [UnusedPublication("predictions of rows", "they are not used", about="rows")]
    if "inbag.counts" in parts and not whole:
        unused.append(UnusedPublication("inbag.counts", "how often each tree drew every row is not used", about="rows"))
    if weighed:
        why = "classes were weighted (class.weights), or dots in the call may say so"
        unused.append(UnusedPublication("the classes of leaves", why, labels=True))
    if kind == MEANS:
        unused.append(
            UnusedPublication("the means of leaves", "the number of rows behind them is not known", labels=True)
        )
    unused += [UnusedPublication(name, why, about=about) for name, why, about in _MORE if name in parts | forest]
    if found[-1].tree + 1 < len(counted):
        why = f"the leaves of the first {found[-1].tree + 1:,} trees make the {MAX_STATED:,} figures that are stated"
        unused.append(UnusedPublication("the trees after these", why, about="rows"))
    notes = (ONCE if whole else DRAWN.format("with" if replaced else "without"), *SAID[MEANS if weighed else kind])
    caret = holder.get("contrasts", NOTHING).kind == "list"
    return LeafClassesDraft(
        Provenance(FORMAT, (COUNTS[MEANS if weighed else kind],), notes, unused=tuple(unused)),
        tuple(Feature(name, name) for name in names),
        classes=classes or None,
        label=free_label(names, _label_of(parts, call, holder)),
        rows=RowCount(rows, rows),
        reader_notes=(DUMMIES,) if caret else (),
        trees=tuple(counted),
        forest=len(counted) > 1 or not whole,
        resampled=not whole,
        replaced=replaced,
        sets=sets.pairs,
        leaves=tuple(found),
        commonest=kind == CLASSES and not weighed,
    )


def _class_names(codes: list[float], levels: list[str]) -> tuple[Value, ...]:
    """Return the classes that `class.values` numbers: levels of a factor, else the values themselves."""
    if len(set(codes)) < len(codes):
        raise ReleaseError("names a class twice", place="m$forest$class.values")
    if not levels:
        return tuple(plain_number(Fraction(code)) for code in codes)
    if any(code != int(code) or not 0 < code <= len(levels) for code in codes):
        raise ReleaseError(f"numbers none of {len(levels)} levels", place="m$forest$class.values")
    every = texts_or_numbers(levels)
    return tuple(every[int(code) - 1] for code in codes)


def _leaf_shares(
    held: RObject, at: list[int], nodes: int, classes: int, drawn: int, place: str
) -> list[tuple[int, ...]]:
    """Return of every leaf of a tree the least rows of its classes that have the shares it stores."""
    stored = held.values if held.kind == "list" else ()
    if len(stored) != nodes:
        raise ReleaseError("has not one list of shares for every node", place=place)
    known, out = dict[tuple[float, ...], tuple[int, ...]](), list[tuple[int, ...]]()
    for k in at:
        shares = tuple(_plain_numbers(stored[k], place))
        if len(shares) != classes:
            raise ReleaseError(f"has {len(shares)} shares of {classes} classes", place=f"{place}, node {k}")
        if shares not in known:
            known[shares] = fewest_rows(shares, drawn, f"{place}, node {k}")
        out.append(known[shares])
    return out


def _commonest(codes: list[float], value: float, place: str) -> tuple[int, ...]:
    """Return one row of the class that a leaf holds."""
    if value not in codes:
        raise ReleaseError(f"holds {value:g}, which is none of the classes (class.values)", place=place)
    return tuple(int(code == value) for code in codes)


def _label_of(parts: Parts, call: Parts, holder: Parts) -> str:
    """Return the name of the label as the formula or the call says it."""
    named = _text(parts, "dependent.variable.name") or _text(call, "dependent.variable.name")
    formulas = call.get("formula", NOTHING), call.get("[1]", NOTHING), holder.get("terms", NOTHING)
    found = ("" if named in GENERATED else named, *map(response, formulas))
    return next((one for one in found if one), "label")


def _arguments(call: RObject) -> Parts:
    """Return the arguments of a call by their names, others by their position ("[1]")."""
    inside = call.parts[1:] if call.kind == "call" else []
    return {name or f"[{k + 1}]": resolved(below) for k, (name, below) in reversed(list(enumerate(inside)))}


def _may_have(call: Parts, name: str) -> bool:
    """Return whether a call may have an argument: R takes the beginning of its name for it, and dots may hold it."""
    dots = any(one.kind == "symbol" and one.values == "..." for one in call.values())
    return dots or any(name.startswith(one) for one in call)


def _sampling(parts: Parts, call: Parts, trees: int, rows: int) -> tuple[bool, bool]:
    """Return whether every tree saw each row once, and whether rows were drawn with replacement."""
    told = parts.get("replace", NOTHING)
    replaced = _may_have(call, "inbag") or not (
        told.kind == "logical" and list(vector(told, "replace")) in ([False], [0])
    )
    if "inbag.counts" in parts:
        bags = [vector(one, "inbag.counts") for one in _list(parts, "inbag.counts")]
        if len(bags) != trees or any(len(one) != rows for one in bags):
            raise ReleaseError(f"has not {rows:,} numbers for each of {trees} trees", place="m$inbag.counts")
        return all(v == 1 for one in bags for v in one), replaced
    share = NOTHING if any(_may_have(call, one) for one in CHOSEN) else call.get("sample.fraction", NOTHING)
    return (not replaced and share.kind in {"double", "integer"} and vector(share, "call") == [1]), replaced


def _times(found: Numbers, rows: int) -> Times:
    """Return the different times of the training rows; at which of them somebody had the event is not said."""
    if not 0 < len(found) <= rows or not np.isfinite(found).all() or (np.diff(found) <= 0).any():
        raise ReleaseError("has no ascending times, at most one for each row", place="m$forest$unique.death.times")
    return tuple((plain_number(Fraction(t)), None) for t in found.tolist())


@dataclass(frozen=True, eq=False)
class _CategorySets:
    """Factors of a forest: their levels in the order in which splits compare them; `pairs` as of `TreesDraft.sets`."""

    levels: dict[int, tuple[Value, ...]]
    pairs: dict[int, list[CategorySplit]]

    def __init__(self, forest: Parts, names: list[str]) -> None:
        ordered = [bool(v) for v in _vector(forest, "is.ordered")] or [True] * len(names)
        stored = _list(forest, "covariate.levels") if "covariate.levels" in forest else [NOTHING] * len(names)
        if not len(names) == len(ordered) == len(stored):
            raise ReleaseError(f"has not one entry for each of {len(names)} columns", place="m$forest")
        if not all(ordered):
            name = names[ordered.index(False)][:60]
            raise Unsupported(
                f"splits of '{name}' into sets of levels are not read: fit it with respect.unordered.factors = 'order'"
            )
        held = {
            k: tuple(str(v) for v in vector(one, "levels")) for k, one in enumerate(stored) if one.kind != "nothing"
        }
        object.__setattr__(self, "levels", held)
        object.__setattr__(self, "pairs", {k: [] for k in held})

    def number(self, feature: int, end: float) -> float:
        """Return the threshold of a split: of factors the number of its pair of sets of levels."""
        if feature not in self.levels:
            return end
        levels, first = self.levels[feature], int(np.floor(end))
        if not 0 < first < len(levels):
            raise ReleaseError(f"has a split after level {end:g} of {len(levels)}", place="m$forest$split.values")
        self.pairs[feature].append((levels[:first], levels[first:]))
        return float(len(self.pairs[feature]) - 1)


def _tree(
    children: RObject, columns: RObject, ends: RObject, sets: _CategorySets, features: int, place: str
) -> CountedTree:
    """Return the arrays of one tree, whose nodes have no sizes."""
    both = children.values if children.kind == "list" else ()
    links = [np.array(_plain_numbers(one, place)) for one in both]
    at, values = np.array(_plain_numbers(columns, place)), np.array(_plain_numbers(ends, place))
    if len(links) != 2 or {len(one) for one in (*links, at, values)} != {len(at)} or not 0 < len(at) <= MAX_NODES:
        raise ReleaseError("has not as many links as tests", place=place)
    leaf = (links[0] == 0) & (links[1] == 0)
    if any((one != np.clip(np.rint(one), 0, len(at))).any() for one in links):
        raise ReleaseError("has a link that is no number of a node", place=place)
    if not np.isin(at[~leaf], np.arange(features)).all() or not np.isfinite(values[~leaf]).all():
        raise ReleaseError(f"tests columns that are none of the {features}, or has no threshold", place=place)
    feature = np.where(leaf, -1, np.where(leaf, 0, at)).astype(np.int64)
    numbers = zip(feature.tolist(), values.tolist(), strict=True)
    threshold = np.array([-2.0 if f < 0 else sets.number(f, end) for f, end in numbers])
    left, right = (np.where(leaf, -1, link).astype(np.int64) for link in links)
    none, one, size = np.zeros(len(at)), np.ones(len(at), dtype=np.int64), np.full(len(at), UNPUBLISHED, dtype=np.int64)
    arrays = TreeArrays(
        left, right, feature, threshold, none.astype(bool), none, one, one.astype(np.float64), none[:, None]
    )
    arrays.check(features, place)
    return CountedTree(arrays, only_sizes(size, 1, ""))


def _leaf_curves(
    hazards: RObject, tree: CountedTree, times: Times, rows: int, place: str
) -> list[tuple[int, Curve | None]]:
    """Return the leaves of a tree with their curves (None: nobody there had the event)."""
    stored = hazards.values if hazards.kind == "list" else ()
    if len(stored) != len(tree.arrays.leaf):
        raise ReleaseError("has not one list of hazards for every node", place=place)
    out: list[tuple[int, Curve | None]] = []
    for k in np.flatnonzero(tree.arrays.leaf).tolist():
        hazard = np.array(_plain_numbers(stored[k], place))
        if hazard.shape != (len(times),):
            raise ReleaseError(f"has not a hazard of node {k} at each of {len(times)} times", place=place)
        out.append((k, node_curve(hazard, None, times, rows, f"{place}, node {k}")))
    return out


def _plain_numbers(value: RObject, place: str) -> list[float]:
    found: list[Any] = vector(value, place)
    if not all(isinstance(v, (int, float)) for v in found):
        raise ReleaseError("has something else than numbers", place=place)
    return [float(v) for v in found]


def _vector(parts: Parts, name: str) -> list[object]:
    return vector(parts[name], f"m$forest${name}") if name in parts else []


def _numbers(parts: Parts, name: str) -> Numbers:
    return np.array(_plain_numbers(parts.get(name, NOTHING), f"m$forest${name}"), dtype=np.float64)


def _list(parts: Parts, name: str) -> list[RObject]:
    found = parts.get(name, NOTHING)
    if found.kind != "list":
        raise ReleaseError("is no list", place=f"m$forest${name}")
    return list(found.values)


def _text(parts: Parts, name: str) -> str:
    found = parts.get(name, NOTHING)
    return str(next(iter(found.values), "")) if found.kind == "character" else ""


def _count(parts: Parts, name: str) -> int:
    found = _plain_numbers(parts.get(name, NOTHING), f"m${name}")
    if len(found) != 1 or not 0 < found[0] < 1 << 40 or found[0] != int(found[0]):
        raise ReleaseError("is no number of rows", place=f"m${name}")
    return int(found[0])


@dataclass(frozen=True)
class LeafClasses:
    """A leaf of a tree: the least rows of every class that it can have (of numbers none), and how many times as many.

    `most` is None where rows were drawn, which may be any number of times as many.
    """

    tree: int
    node: int
    fewest: tuple[int, ...]
    most: int | None = None

    @property
    def figures(self) -> int:
        """Return how many figures the leaf makes at most."""
        return 2 * max(1, len(self.fewest))

    def drawn_again(self) -> LeafClasses:
        """Return the leaf of a tree whose rows were drawn with replacement: one row of a class may be all of it."""
        return replace(self, fewest=tuple(min(1, rows) for rows in self.fewest))


@dataclass(frozen=True, eq=False)
class LeafClassesDraft(TreesDraft):
    """Trees without sizes, and what their leaves say of classes; `commonest`: which one is the commonest there."""

    leaves: tuple[LeafClasses, ...] = ()
    commonest: bool = False

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return a table of what the leaves say; `Unsupported` for a domain in which a tested column has gaps."""
        for number in sorted({f for t in self.trees for f in t.feature[~t.arrays.leaf].tolist()}):
            name = self.features[number].name
            place = binder.domain.place.get(name)
            if place is not None:
                self._check(binder.domain.all[place], number in self.sets)
        table = Table(tuple(self._stated()), "leaves", origin=self.origin)
        return (replace(bind(table, binder), origin=self.origin),)

    def _check(self, attribute: AnyAttribute, leveled: bool) -> None:
        """Refuse a tested attribute with gaps, and one of texts where the forest does not name levels."""
        name = attribute.name[:60]
        if attribute.missing:
            raise Unsupported(
                f"the file does not say where rows without a value of '{name}' go: declare it without missing values"
            )
        if isinstance(attribute, Categorical) and not attribute.numeric and not leveled:
            raise Unsupported(
                f"the values of '{name}' are no numbers, and the forest compares the numbers of its levels without "
                "naming them: declare it as whole numbers, 1 for the first level in R, or fit with "
                "respect.unordered.factors = 'order'"
            )

    def _stated(self) -> Iterator[PublishedFigure]:
        """Yield a figure of every class of the forest, and those of every leaf."""
        for value in self.classes or ():
            yield PublishedFigure(((self.label, equals(value)),), low=1, name=f"somebody of class {value}")
        for number, leaves in groupby(self.leaves, attrgetter("tree")):  # those of the trees that are stated
            paths = node_conditions(self.trees[number], [f.name for f in self.features], self.sets)
            for leaf in leaves:
                yield from self._of_leaf(leaf, paths[leaf.node])

    def _of_leaf(self, leaf: LeafClasses, path: Condition) -> Iterator[PublishedFigure]:
        """Yield what one leaf says: least numbers; of a tree that saw every row once multiples, in proportion."""
        name = f"tree {leaf.tree + 1}, node {leaf.node}"
        if not leaf.fewest:
            yield PublishedFigure(path, low=1, name=name)
            return
        found = [(*path, (self.label, equals(value))) for value in self.classes or ()]
        top = max(range(len(found)), key=leaf.fewest.__getitem__)
        for k, (where, rows) in enumerate(zip(found, leaf.fewest, strict=True)):
            if leaf.most is None:
                if rows:
                    yield PublishedFigure(where, low=rows, name=name)
                continue
            if self.commonest:
                terms = LinearTerm((found[top],)), LinearTerm((where,), (), Fraction(-1))
                more = LinearFigure(terms, low=Fraction(0))
                yield (
                    PublishedFigure(where, low=1, name=name)
                    if k == top
                    else PublishedFigure((), linear=more, name=f"the commonest class of {name}")
                )
                continue
            if leaf.most == 1 or not rows:
                yield PublishedFigure(where, count=rows, name=name)
                continue
            yield PublishedFigure(where, low=rows, high=rows * leaf.most, name=name)
            if k != top:
                terms = (
                    LinearTerm((where,), (), Fraction(leaf.fewest[top])),
                    LinearTerm((found[top],), (), -Fraction(rows)),
                )
                even = LinearFigure(terms, Fraction(0), Fraction(0))
                yield PublishedFigure((), linear=even, name=f"the shares of {name}")


def fewest_rows(shares: Sequence[float], drawn: int, place: str) -> tuple[int, ...]:
    """Return the least whole numbers that have these shares; `drawn`: how many rows a tree has at most.

    Raises `ReleaseError` for shares that no number of rows has.
    """
    found = []
    for share in shares:
        if not 0 <= share <= 1:
            raise ReleaseError(f"has {share:g} as the share of a class", place=place)
        value = Fraction(share)
        found.append(simplest(max(value - value * DOUBLE, Fraction(0)), value + value * DOUBLE))
    rows = math.lcm(*(one.denominator for one in found))
    if sum(found) != 1 or rows > min(drawn, MAX_DENOMINATOR):
        shown = ", ".join(f"{share:.6g}" for share in shares[:6])
        raise ReleaseError(
            f"has shares of its classes ({shown}) that no number of rows up to {drawn:,} has: they were changed after "
            "the fit (hshrink), give the forest as it was fitted",
            place=place,
        )
    return tuple(int(one * rows) for one in found)


def with_multiples(leaves: Sequence[LeafClasses], rows: int) -> list[LeafClasses]:
    """Return the leaves of one tree, which have so many rows together, with how many times as many each can have.

    Raises `ReleaseError` where they have more rows at least.
    """
    least = [max(1, sum(one.fewest)) for one in leaves]
    spare = rows - sum(least)
    if spare < 0:
        raise ReleaseError(
            f"has leaves of {sum(least):,} rows at least, of {rows:,}", place=f"tree {leaves[0].tree + 1}"
        )
    return [replace(one, most=1 + spare // size) for one, size in zip(leaves, least, strict=True)]
