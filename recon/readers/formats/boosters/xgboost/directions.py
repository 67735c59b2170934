"""Which values XGBoost took for missing, by the default directions of its splits.

Sparse matrices leave zeros out, and `missing=` names another value: such rows go the default way, whatever a split
compares. Training without missing values has one default direction in all splits (left for `exact`, right for `hist`
and `approx`); with some it is chosen split by split. A threshold beyond a column's greatest value (`hist`: twice it and
1e-5; `exact`: below the least one) tells "present" from "missing". What the figures of the file refute (a side with
rows to which no value goes) is dropped; what stays open is stated as bounds that hold for every reading left.
Source: XGBoost 3.2, src/tree/hist/evaluate_splits.h, src/common/quantile.cc, src/tree/updater_colmaker.cc.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from encoders.domain.domain import GUESSED, Condition
from encoders.domain.values import (
    AnyAttribute,
    Categorical,
    Continuous,
    Ranges,
    Test,
    Value,
    complement,
    equals,
    exact,
    intersection,
    is_number,
    normal,
)
from encoders.models.models import AnyModel, PublishedFigure, Table, UnusedPublication
from recon.readers.formats.boosters.shared import BoosterSplit, BoosterTree
from recon.readers.formats.drafts.binding import Binder, as_test, comparison, passes
from recon.readers.formats.drafts.drafts import Draft
from solvers.foundation.errors import ReleaseError

ENOUGH = 8  # splits of one direction that would have to be chosen alike by chance
MAX_VALUES = 2_000  # of an attribute that are tried as what was taken for missing
LEFT = "it is open which values were taken for missing"
CHOSEN = "splits send missing values to either side, as in training with some: "


@dataclass(frozen=True)
class FirstTreeCounts:
    """A tree of the first round: rows per node (least ones of `drawn`), and of one class where they are proved.

    `most`: how many they are at most, where copies of rows leave that open.
    """

    name: str
    grown: BoosterTree
    rows: tuple[int, ...]
    ones: tuple[int, ...] | None = None
    value: Value = 1
    most: tuple[int, ...] | None = None


@dataclass(frozen=True)
class SplitSides:
    """What a split says over a domain: its attribute, the values below the threshold, where missing ones go."""

    attribute: AnyAttribute
    below: Ranges
    left: bool

    def marked(self, values: Ranges) -> Ranges:
        """Return what goes left where these values were taken for missing."""
        return normal([*self.below, *values]) if self.left else _without(self.below, values, self.attribute)


@dataclass(frozen=True)
class DirectedDraft(Draft):
    """A booster whose splits have default directions; `every`: its trees, `counted`: those of the first round."""

    every: tuple[BoosterTree, ...] = ()
    counted: tuple[FirstTreeCounts, ...] = ()
    drawn: bool = False
    marker: float | None = None

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the models where one reading is left, else bounds on the leaves of the first round."""
        found = Directions(self, binder)
        open_ = found.open_values()
        if open_ == ():
            note = found.note
            return replace(self, origin=replace(self.origin, notes=(*self.origin.notes, note))).plain(binder)
        usual = {0, self.marker}  # another value alone is a guess: any may be the one
        open_ = open_ if found.dense or open_ is None or len(open_) > 1 or open_[0] in usual else None
        if open_ is not None and len(open_) == 1 and not found.dense and (read := self.marked(binder, found, open_[0])):
            return read
        said = "any value" if open_ is None else ", ".join(map(str, open_[:6])) + (", ..." if len(open_) > 6 else "")
        note = (
            f"{CHOSEN if found.mixed else ''}the file does not tell which values were taken for missing (sparse "
            f"matrices, missing=): {said} may have been, and counts are bounds that hold in any case"
        )
        left = self.origin.unused or (UnusedPublication("the figures of its trees", LEFT),)
        origin = replace(self.origin, counts=("size",), notes=(*self.origin.notes, note), unused=left)
        figures = chain.from_iterable(found.bounds(tree, open_) for tree in self.counted)
        return (Table(tuple(figures), "leaves", origin=origin),)

    def plain(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the models as their splits compare."""
        return super().bound(binder)

    def marked(self, binder: Binder, found: Directions, value: Value) -> tuple[AnyModel, ...] | None:
        """Return the models where one value is known to have been taken for missing; None where no test says it."""
        try:
            for (name, test), sides in found.sides.items():
                left = sides.marked(found.point(name, value))
                binder.known[name, test] = ((sides.attribute.name, as_test(sides.attribute, left)),)
            note = f"{CHOSEN if found.mixed else ''}{value} was taken for missing (a sparse matrix, or missing={value})"
            origin = replace(self.origin, notes=(*self.origin.notes, note))
            kept = replace(self, models=tuple(m for m in self.models if not m.figures()), origin=origin)
            figures = (
                [f for tree in self.counted for f in found.classes(tree, value)]
                if self.drawn or len(kept.models) < len(self.models)
                else []
            )
            models = kept.plain(binder) if kept.models else ()
            return (*models, *((Table(tuple(figures), "leaves", origin=origin),) if figures else ()))
        except ReleaseError:
            return None


class Directions:
    """The splits of a draft over a domain, and which readings of them are left."""

    def __init__(self, draft: DirectedDraft, binder: Binder) -> None:
        self.draft, self.binder = draft, binder
        self.sides: dict[tuple[str, Test], SplitSides] = {}
        self.splits: list[tuple[str, Test]] = []
        for split in (s for grown in draft.every for s in grown.splits if s is not None):
            if split.test.values is None:
                self.splits.append((split.feature, split.test))
                if self.splits[-1] not in self.sides:
                    self.sides[self.splits[-1]] = self.of(split)
        lefts = {test.missing for name, test in self.splits if not self.explained(name, test)}
        self.mixed = len(lefts) > 1
        self.special = any(_beyond(test.high) for _, test in self.splits)
        self.hist = lefts == {False}  # whose thresholds are values that were there
        self.alike = not self.mixed and not self.special
        self.dense = not self.mixed and not self.refuted(None)

    @property
    def note(self) -> str:
        """Return what reading the splits as they compare rests on."""
        return (
            f"no value was taken for missing (a sparse matrix, missing=): all {len(self.splits):,} splits send missing "
            "values as training without any does"
        )

    def explained(self, name: str, test: Test) -> bool:
        """Return whether the declared domain has missing values of a split's feature: its direction was chosen."""
        return self.sides[name, test].attribute.missing and self.binder.domain.source != GUESSED

    def of(self, split: BoosterSplit) -> SplitSides:
        """Return the sides of a split."""
        binder, test = self.binder, split.test
        feature = binder.features[split.feature]
        k = binder.domain.place.get(feature.attribute)
        attribute: AnyAttribute = Categorical(feature.attribute, (0, 1)) if k is None else binder.domain.all[k]
        own = test if attribute.missing else replace(test, missing=False)
        try:
            if k is not None:
                pairs = binder.condition(split.feature, test)
                return SplitSides(attribute, attribute.ranges(pairs[0][1]), test.missing)
        except ReleaseError:
            if isinstance(attribute, Continuous) and feature.make is None and own.high is not None:
                all_ = attribute.known[1][0] < exact(own.high)
                return SplitSides(
                    attribute, normal([*([attribute.known] if all_ else []), *_gap(attribute, own)]), own.missing
                )
            if not self.listed_values(attribute, split.feature):
                raise
        compare = comparison(self.draft, feature)
        passed = [
            (i, i + 1) for i, v in enumerate(self.listed_values(attribute, split.feature)) if passes(test, compare(v))
        ]
        return SplitSides(attribute, normal([*passed, *_gap(attribute, own)]), test.missing)

    def point(self, name: str, value: Value) -> Ranges:
        """Return where a feature has this value."""
        feature = self.binder.features[name]
        k = self.binder.domain.place.get(feature.attribute)
        attribute: AnyAttribute = Categorical(feature.attribute, (0, 1)) if k is None else self.binder.domain.all[k]
        if isinstance(attribute, Continuous):
            held = feature.make is None and is_number(value) and attribute.holds(exact(value))
            return (attribute.point(value),) if held else ()
        compare = comparison(self.draft, feature)
        listed = self.listed_values(attribute, name)
        return normal([(i, i + 1) for i, v in enumerate(listed) if compare(v) == value])

    def listed_values(self, attribute: AnyAttribute, name: str) -> tuple[Value, ...]:
        """Return the values of the attribute behind a feature, () where they are no numbers to compare, or too many."""
        if isinstance(attribute, Continuous) or attribute.known[1] > MAX_VALUES:
            return ()
        found = tuple(attribute.value_at(i) for i in range(attribute.known[1]))
        return found if self.binder.features[name].make is not None or all(map(is_number, found)) else ()

    def values(self) -> tuple[Value, ...] | None:
        """Return what may have been taken for missing: 0, negative, least and greatest values; None: any value."""
        out: dict[Value, None] = {0: None}
        for name in dict.fromkeys(name for name, _ in self.splits):
            feature = self.binder.features[name]
            k = self.binder.domain.place.get(feature.attribute)
            attribute: AnyAttribute = Categorical(feature.attribute, (0, 1)) if k is None else self.binder.domain.all[k]
            listed = self.listed_values(attribute, name)
            if not listed:
                return None
            compare = comparison(self.draft, feature)
            found = [v for v in map(compare, listed) if is_number(v)]
            out |= dict.fromkeys((*(v for v in found if v < 0), min(found), max(found)) if found else ())
        return tuple(sorted(out, key=float))

    def open_values(self) -> tuple[Value, ...] | None:
        """Return the values that may have been taken for missing and were compared otherwise; None: any value.

        () where splits are read as they compare. Where splits send missing values to either side, one that goes where
        it compares is among them: zeros, say, were then none.
        """
        values = self.values()
        marker = self.draft.marker
        if marker is not None:  # the file names it; a sparse matrix leaves zeros out beside it
            values = tuple(dict.fromkeys((0, int(marker) if float(marker).is_integer() else marker)))
        if values is None:
            return () if self.alike and len(self.splits) >= ENOUGH else None
        places = {(name, m): self.point(name, m) for name in dict.fromkeys(n for n, _ in self.splits) for m in values}
        left = []
        for m in values:
            contested = [
                key for key in self.splits if self.sides[key].marked(places[key[0], m]) != self.sides[key].below
            ]
            if not contested and not (self.mixed and self.explains(m)):
                continue
            if self.alike and self.dense and len(contested) >= ENOUGH and marker is None:
                continue
            if not self.present(m) and not self.refuted(m):
                left.append(m)
        if not left and not self.dense:
            return None
        return tuple(left)

    def explains(self, m: Value) -> bool:
        """Return whether splits may send missing values to either side because rows had this one.

        Without missing values of a feature there is one side; which one the file does not tell (exact: left).
        """
        odd = ({name for name, test in self.splits if test.missing == side} for side in (False, True))
        return any(all(self.point(name, m) for name in names) for names in odd)

    def present(self, m: Value) -> bool:
        """Return whether a threshold of `hist` is this value, which was there, then."""
        cuts = {float(end) for _, t in self.splits if (end := _threshold(t)) is not None} if self.hist else set()
        single = float(np.float32(m))
        return single in cuts or (single > 0 and float(np.float32(2 * single + 1e-5)) in cuts)

    def refuted(self, m: Value | None) -> bool:
        """Return whether some side that has rows is empty where a value (None: no value) was taken for missing."""
        for counted in self.draft.counted:
            todo: list[tuple[int, dict[str, Ranges]]] = [(0, {})]
            while todo:
                node, path = todo.pop()
                split = counted.grown.splits[node]
                if split is None or split.test.values is not None:
                    if split is not None:
                        todo += [(child, path) for child in counted.grown.children[node]]
                    continue
                sides = self.sides[split.feature, split.test]
                name = sides.attribute.name
                here = path.get(name, (sides.attribute.span,))
                marked = sides.below if m is None else sides.marked(self.point(split.feature, m))
                both = marked, complement(marked, sides.attribute.span)
                for child, side in zip(counted.grown.children[node], both, strict=True):
                    ranges = intersection(here, side)
                    if not ranges:
                        return True
                    todo.append((child, {**path, name: ranges}))
        return False

    def bounds(self, counted: FirstTreeCounts, markers: Sequence[Value] | None) -> Iterator[PublishedFigure]:
        """Yield bounds on the rows of every leaf that hold whichever of some values was taken for missing."""
        for leaf, least, most in self.paths(counted.grown, markers):
            label = self.binder.domain.label
            figures: list[tuple[int, int, Condition, str]] = [
                (counted.rows[leaf], (counted.most or counted.rows)[leaf], (), "")
            ]
            if counted.ones is not None and label is not None and not self.draft.drawn:
                own = self.binder.translate(((self.draft.label, equals(counted.value)),))
                figures.append((counted.ones[leaf], counted.ones[leaf], own, " of the class"))
            for rows, top, more, word in figures:
                name = f"{counted.name}, leaf {leaf}{word}"
                if rows > 0 and (wide := self.condition(most, False)) is not None:
                    yield PublishedFigure((*wide, *more), low=rows, name=name, drawn=self.draft.drawn and not word)
                if not self.draft.drawn and (narrow := self.condition(least, True)) is not None:
                    yield PublishedFigure((*narrow, *more), low=0, high=top, name=name)

    def classes(self, counted: FirstTreeCounts, value: Value) -> Iterator[PublishedFigure]:
        """Yield what is known of every leaf where one value was taken for missing."""
        for leaf, _, most in self.paths(counted.grown, (value,), True):
            wide = self.condition(most, False)
            assert wide is not None
            if self.draft.drawn or counted.most is not None:
                if counted.rows[leaf] > 0:
                    top = None if counted.most is None else counted.most[leaf]
                    name = f"{counted.name}, leaf {leaf}"
                    yield PublishedFigure(wide, low=counted.rows[leaf], high=top, name=name, drawn=top is None)
            elif counted.ones is not None and not self.draft.drawn:
                own = self.binder.translate(((self.draft.label, equals(counted.value)),))
                yield PublishedFigure((*wide, *own), count=counted.ones[leaf], name=f"{counted.name}, leaf {leaf}")

    def paths(
        self, grown: BoosterTree, markers: Sequence[Value] | None, sure: bool = False
    ) -> Iterator[tuple[int, Mapping[str, Ranges], Mapping[str, Ranges]]]:
        """Yield every leaf with what is surely in it, and with what may be in it; `sure`: the one marker is known."""
        todo: list[tuple[int, dict[str, Ranges], dict[str, Ranges]]] = [(0, {}, {})]
        while todo:
            node, least, most = todo.pop()
            split = grown.splits[node]
            if split is None:
                yield node, least, most
                continue
            if split.test.values is not None:
                attribute, left = self.listed(split)
                pairs = [(left, left), (complement(left, attribute.span),) * 2]
            else:
                sides = self.sides[split.feature, split.test]
                attribute = sides.attribute
                places = self.places(split.feature, attribute, markers)
                if sure:
                    left = sides.marked(places)
                    pairs = [(left, left), (complement(left, attribute.span),) * 2]
                else:
                    right = complement(sides.below, attribute.span)
                    grows, shrinks = (sides.below, right) if sides.left else (right, sides.below)
                    pairs = [(grows, normal([*grows, *places])), (_without(shrinks, places, attribute), shrinks)]
                    pairs = pairs if sides.left else pairs[::-1]
            for child, (small, large) in zip(grown.children[node], pairs, strict=True):
                name = attribute.name
                todo.append((
                    child,
                    {**least, name: intersection(least.get(name, (attribute.span,)), small)},
                    {**most, name: intersection(most.get(name, (attribute.span,)), large)},
                ))  # fmt: skip

    def places(self, name: str, attribute: AnyAttribute, markers: Sequence[Value] | None) -> Ranges:
        """Return where some values of a feature are; None: anywhere."""
        if markers is None:
            return (attribute.known,)
        return normal([r for m in markers for r in self.point(name, m)])

    def listed(self, split: BoosterSplit) -> tuple[AnyAttribute, Ranges]:
        """Return the attribute of a split on categories, and what goes left."""
        ((name, test),) = self.binder.condition(split.feature, split.test)
        attribute = self.binder.domain.all[self.binder.domain.place[name]]
        return attribute, attribute.ranges(test)

    def condition(self, path: Mapping[str, Ranges], narrow: bool) -> Condition | None:
        """Return a path as a condition: no larger than it if `narrow`, else no smaller; None where nothing is in it."""
        out = []
        for name, ranges in path.items():
            k = self.binder.domain.place.get(name)
            attribute: AnyAttribute = Categorical(name, (0, 1)) if k is None else self.binder.domain.all[k]
            if not ranges:
                return None
            if ranges == (attribute.span,):
                continue
            several = isinstance(attribute, Continuous) and len([r for r in ranges if r[0] < attribute.known[1]]) > 1
            if several and narrow:
                return None
            hull = normal([(ranges[0][0], ranges[-1][1])]) if several else ranges
            out.append((name, as_test(attribute, hull)))
        return tuple(out)


def _gap(attribute: AnyAttribute, test: Test) -> tuple[tuple[int, int], ...]:
    """Return the position of "missing" where it passes."""
    return (attribute.gap,) if test.missing and attribute.missing else ()


def _without(ranges: Ranges, values: Ranges, attribute: AnyAttribute) -> Ranges:
    return intersection(ranges, complement(values, attribute.span)) if values else ranges


def _threshold(test: Test) -> float | None:
    """Return the float32 threshold behind a test's end (`below_single`)."""
    if not is_number(test.high):
        return None
    near = np.float32(test.high)
    return float(near if float(near) >= test.high else np.nextafter(near, np.float32(np.inf)))


def _beyond(end: Value | None) -> bool:
    """Return whether a threshold is one that XGBoost puts beyond all values of a column."""
    found = _threshold(Test(high=end))
    if found is None or found == 0:
        return False
    if abs(found) < 1.1e-5:  # 0, or the sum of a number and its opposite, and 1e-5 or 1e-6
        return True
    for more in (1e-5, 1e-6, -1e-6):
        half = (found - more) / 2
        short = float(f"{half:.3g}")
        if short and float(np.float32(2 * short + more)) == found and float(np.float32(2 * short)) != found:
            return True
    return False
