"""The declared domain: attributes, label, binary views, impossible boxes, and where it comes from.

An attribute cut into parts where conditions need it: the values of a part are distinguished by no statement.

One number for every part of a continuous attribute: what stands for its numbers where a single one is wanted.

Near the middle, and exact in single precision where the part holds such a number: what learners that read 32-bit
floats (scikit-learn, XGBoost) walk it by is then the number itself.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import (
    TRAINING_DATA,
    AnyAttribute,
    Categorical,
    Continuous,
    Grid,
    Position,
    Ranges,
    Test,
    View,
    complement,
    exact,
    intersection,
    plain_number,
)
from solvers.foundation.displayed import LINES, NAME, Displayed, DisplayFacts, many, quote, short
from solvers.foundation.errors import ReleaseError

if TYPE_CHECKING:
    import pandas as pd

    from solvers.foundation.plots import Axes

UNITS = 1 << 64  # a continuous part is at least so many times longer than one number


def _rough(p: Position) -> Any:
    """Return what sorts like a position and is compared faster: floats are never in a wrong order, only equal."""
    if not isinstance(p, tuple):
        return p
    try:
        return float(p[0]), p
    except OverflowError:
        return (math.inf if p[0] > 0 else -math.inf), p


def _key(p: Position) -> object:
    """Return what is equal for equal positions and hashed faster than a fraction."""
    if not isinstance(p, tuple) or isinstance(p[0], float):  # a float: the open end of an unbounded range
        return p
    return p[0].numerator, p[0].denominator, p[1]


Thresholds = NDArray[np.complex128]  # positions x + side·i of a continuous attribute: they sort as positions do


def _as_written(threshold: complex) -> Position:
    """Return the position of a threshold: the number exactly as it is written, and the side."""
    return exact(threshold.real), int(threshold.imag)


@dataclass(frozen=True)
class AttributeCuts:
    """One attribute cut into parts: inner cut positions in order; part p lies between cuts p-1 and p.

    `numbers`: all edges once more as floats, where every cut is a threshold that was written as one (None: not so).
    `weights`: what one value of each part weighs, as an adversary's prior says (None: all alike).
    """

    attribute: AnyAttribute
    inner: tuple[Position, ...]
    numbers: Thresholds | None = field(default=None, compare=False)
    weights: tuple[int, ...] | None = None

    def weighted(self, weights: Mapping[int, int] | None) -> AttributeCuts:
        """Return the attribute with a whole weight per value, cut at every value that has one of its own.

        `weights`: by position, -1 for every other value. Sizes of parts are then sums of weights.
        """
        if weights is None:
            return self
        return replace(self, weights=tuple(weights.get(int(a), weights[-1]) for a in self.edges[:-1]))

    @classmethod
    def at(
        cls, attribute: AnyAttribute, positions: set[Position], thresholds: Thresholds | None = None
    ) -> AttributeCuts:
        """Return the attribute cut at the positions and thresholds strictly inside its span.

        Thresholds are sorted as floats: two different ones are written as different numbers, in the same order.
        """
        start, end = attribute.span
        if thresholds is not None and positions <= {start, end}:
            ends = np.array([complex(float(x), side) for x, side in (start, end)])
            cut = np.unique(thresholds)
            cut = cut[np.searchsorted(cut, ends[0], "right") : np.searchsorted(cut, ends[1])]
            numbers = np.concatenate([ends[:1], cut, ends[1:]])
            return cls(attribute, tuple(map(_as_written, cut.tolist())), numbers)
        if thresholds is not None:
            positions = positions | set(map(_as_written, thresholds.tolist()))
        ordered: list[Position] = sorted(positions, key=_rough)
        return cls(attribute, tuple(ordered[bisect_right(ordered, start) : bisect_left(ordered, end)]))

    def starting_at(self, thresholds: Thresholds) -> NDArray[np.int64]:
        """Return the part that begins at each threshold; all of them must be cuts or ends."""
        if self.numbers is not None:
            return np.searchsorted(self.numbers, thresholds).astype(np.int64)
        places = (self._place[_key(_as_written(one))] for one in thresholds.tolist())
        return np.fromiter(places, np.int64, len(thresholds))

    @property
    def unsized(self) -> bool:
        """Return whether the numbers of a range without an end are distinguished: no part has a share of it."""
        a = self.attribute
        return isinstance(a, Continuous) and not a.bounded and any(p < a.known[1] for p in self.inner)

    def bounds(self, part: int) -> tuple[Position, Position]:
        """Return the first position of a part and the one after its last."""
        return self.edges[part], self.edges[part + 1]

    @cached_property
    def edges(self) -> tuple[Position, ...]:
        """Return all parts + 1 edges."""
        return (self.attribute.span[0], *self.inner, self.attribute.span[1])

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Return the size of every part; lengths of continuous attributes become whole numbers of tiny units.

        The units leave room between one number (one unit) and the shortest part. Raises `ReleaseError` where
        two thresholds differ by a single number, because such a part has no length. A range without an end has no
        lengths: its parts weigh alike, to be distinguished and no more (`unsized`).
        """
        if not isinstance(self.attribute, Continuous):
            weights = self.weights or (1,) * (len(self.inner) + 1)
            return tuple((b - a) * w for (a, b), w in zip(pairwise(self.edges), weights, strict=True))
        if not self.attribute.bounded:
            return (UNITS,) * (len(self.inner) + 1)
        one = math.lcm(*{x.denominator for x, _ in self.edges})
        places = [x.numerator * (one // x.denominator) for x, _ in self.edges]
        lengths = [b - a for a, b in pairwise(places)]
        if self.attribute.missing:
            lengths[-1] += places[-1] - places[0]
        if 0 in lengths:
            x = plain_number(self.edges[lengths.index(0)][0])
            raise self.attribute.refuse(x, "is told from the numbers around it: give a 'resolution' to")
        common = math.gcd(one, *lengths)
        return tuple(x // common * UNITS for x in lengths)

    @cached_property
    def _place(self) -> dict[object, int]:
        """Return the part that begins at each edge: comparing fractions is slow, looking one up is not."""
        return {_key(p): i for i, p in enumerate(self.edges)}

    def part(self, position: Position) -> int:
        """Return the part that a position lies in."""
        return bisect_right(self.inner, position)

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        """Return the raw index behind each part."""
        return tuple(accumulate(self.sizes))

    def position_of_raw(self, index: int) -> int:
        """Return the position that a raw index of a world stands for: as many stand for a value as it weighs."""
        if self.weights is None:
            return index
        part = self.part_of_raw(index)
        before = self._ends[part - 1] if part else 0
        return int(self.edges[part]) + (index - before) // self.weights[part]

    def part_of_raw(self, index: int) -> int:
        """Return the part that a raw index of a world lies in; of any numbers it is not a position, it counts units."""
        return bisect_right(self._ends, index)

    def last_part(self, end: Position) -> int:
        """Return the part that holds the positions just before an end."""
        return bisect_left(self.inner, end)

    def mask(self, ranges: Ranges) -> int:
        """Return the parts inside the ranges, as bits; every end of a range must be a cut or an end."""
        mask = 0
        for one in ranges:
            start, end = self.run(one)
            mask |= (1 << end) - (1 << start)
        return mask

    def meeting(self, ranges: Ranges) -> int:
        """Return the parts that have a position in the ranges, as bits; a part may reach beyond them."""
        mask = 0
        for start, end in ranges:
            mask |= (2 << self.last_part(end)) - (1 << self.part(start))
        return mask

    def run(self, span: tuple[Position, Position]) -> tuple[int, int]:
        """Return the first part inside a range and the one behind its last; both ends must be cuts or ends."""
        return self._place[_key(span[0])], self._place[_key(span[1])]


Middle = float | None  # None: missing


def middles(cuts: AttributeCuts) -> tuple[Middle, ...]:
    """Return a number inside every part of a continuous attribute, None for a part of missing cells alone.

    A part that holds no float at all gets one of its ends (`narrow` names those parts).
    """
    ends = [x for x, _ in cuts.edges if math.isfinite(x)]
    width = float((ends[-1] - ends[0]) / max(1, len(ends) - 1)) if len(ends) > 1 else 1.0
    return tuple(_middle(cuts, low, high, width) for low, high in pairwise(cuts.edges))


def _middle(cuts: AttributeCuts, low: Position, high: Position, width: float) -> Middle:
    """Return the number that stands for the positions from `low` to before `high`; `width`: how far open ends reach."""
    last = cuts.attribute.known[1]
    if low >= last:
        return None
    high = min(high, last)
    left, right = float(low[0]), float(high[0])
    if math.isinf(left):
        left = (0.0 if math.isinf(right) else right) - 2 * max(width, abs(right) / 1024 if math.isfinite(right) else 0)
    if math.isinf(right):
        right = left + 2 * max(width, abs(left) / 1024)
    wanted = left / 2 + right / 2
    single = np.float32(wanted)
    for at in (
        single, np.nextafter(single, np.float32(np.inf)), np.nextafter(single, np.float32(-np.inf)),
        np.float64(wanted), np.float64(right), np.float64(left),
    ):  # fmt: skip
        if _holds(low, high, float(at)):
            return float(at)
    return wanted


def _holds(low: Position, high: Position, x: float) -> bool:
    """Return whether a float lies between two positions; compared as floats, which is how they are written."""
    above = (x, 0) >= (float(low[0]), low[1])
    return math.isfinite(x) and above and (x, 1) <= (float(high[0]), high[1])


def narrow(cuts: AttributeCuts) -> int:
    """Return the parts that hold no number of single precision, as bits; a number of them cannot be given."""
    out = 0
    for part, (x, (low, high)) in enumerate(zip(middles(cuts), pairwise(cuts.edges), strict=True)):
        if x is not None and not (float(np.float32(x)) == x and _holds(low, min(high, cuts.attribute.known[1]), x)):
            out |= 1 << part
    return out


Condition = tuple[tuple[str, Test], ...]


DECLARED = "declared"
AS_BITS = "every column is counted as an independent bit (worlds that cannot exist are counted too)"
FINE_GRID = 1_000_000  # values of a grid: of more, nobody meets one by chance
GUESSED = "model file"  # nobody declared it: what the file says, and its thresholds


@dataclass(frozen=True, repr=False)
class Domain(Displayed):
    """What rows can exist, as declared or as read off data (`source`); `notes` says what was assumed.

    `order`: attributes and columns (without the label) in the order of the data, for models that only number theirs.

    >>> import pandas as pd
    >>> import recon
    >>> recon.Domain.from_frame(pd.DataFrame({"smoker": [0, 1, 1], "ill": [0, 0, 1]}), label="ill")
    <Domain: 1 attribute, label 'ill' (values 0, 1), from training data>
    """

    attributes: tuple[AnyAttribute, ...]
    label: AnyAttribute | None = None
    columns: Mapping[str, View] = field(default_factory=dict)
    impossible: tuple[Condition, ...] = ()
    source: str = DECLARED
    notes: tuple[str, ...] = ()
    order: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [a.name for a in self.all]
        seen: set[str] = set()
        for name in [*names, *self.columns]:
            if name in seen:
                raise ReleaseError(f"the name '{name}' is used twice in the domain")
            seen.add(name)
        if not names:
            raise ReleaseError("the domain has no attributes")
        if isinstance(self.label, Continuous):
            raise ReleaseError(f"the label '{self.label.name}' is continuous: list its values")
        if self.label is not None and self.label.missing:
            raise ReleaseError(f"the label '{self.label.name}' may be missing: only other attributes can be")
        for name in self.columns:
            self.view_ranges(name)
        known = {a.name for a in self.attributes} | set(self.columns)
        if len(set(self.order)) < len(self.order) or not known.issuperset(self.order):
            raise ReleaseError("'order' names the attributes and columns of the domain, each at most once")

    @classmethod
    def from_frame(
        cls,
        df: pd.DataFrame,
        label: str | None = None,
        one_hot: Sequence[Sequence[str]] = (),
        strict: bool = False,
        independent: bool = False,
        grid: bool = False,
    ) -> Domain:
        """Return the domain read off data; see `encoders.domain.infer.infer` for what is found and assumed."""
        from encoders.domain.infer import infer

        found = infer(df, label=label, one_hot=one_hot, strict=strict, independent=independent, grid=grid)
        return cls(found.attributes, found.label, found.columns, (), TRAINING_DATA, found.notes, found.order)

    @cached_property
    def all(self) -> tuple[AnyAttribute, ...]:
        """Return the attributes, the label last."""
        return self.attributes if self.label is None else (*self.attributes, self.label)

    @cached_property
    def place(self) -> dict[str, int]:
        """Return attribute (or label) name -> index in `all`."""
        return {a.name: k for k, a in enumerate(self.all)}

    @property
    def in_order(self) -> tuple[str, ...] | None:
        """Return the names that stand for a model's numbered features, in order; None where columns have none."""
        if self.order:
            return self.order
        label = None if self.label is None else self.label.name
        views = any(view.attribute != label for view in self.columns.values())
        return None if views else tuple(a.name for a in self.attributes)

    @property
    def origin(self) -> str:
        """Return where the domain comes from, in words."""
        return self.source if self.source == DECLARED else f"from {self.source}"

    @property
    def continuous(self) -> tuple[str, ...]:
        """Return the names of the attributes without a grid."""
        return tuple(a.name for a in self.all if isinstance(a, Continuous))

    @property
    def fine(self) -> tuple[str, ...]:
        """Return the names of the attributes without a grid, or with one so fine that a row is told by ranges alone."""
        return tuple(
            a.name for a in self.all if isinstance(a, Continuous) or (isinstance(a, Grid) and a.count > FINE_GRID)
        )

    @cached_property
    def about_missing(self) -> tuple[str, ...]:
        """Return what every answer assumes about missing values; empty where none can be missing."""
        found = [a for a in self.attributes if a.missing]
        notes = [f"missing is one more value of {', '.join(a.name for a in found)}"] if found else []
        heavy = [a.name for a in found if isinstance(a, Continuous)]
        if heavy:
            notes.append(f"missing weighs as much as the whole range of {', '.join(heavy)} (continuous)")
        return tuple(notes)

    @cached_property
    def _views(self) -> dict[str, tuple[int, Ranges]]:
        return {}

    def view_ranges(self, column: str) -> tuple[int, Ranges]:
        """Return the attribute's index and the positions where a binary column is 1."""
        if column not in self._views:
            view = self.columns[column]
            k = self.place.get(view.attribute)
            if k is None:
                raise ReleaseError(f"column '{column}' views '{view.attribute}', which is not an attribute")
            try:
                self._views[column] = k, self.all[k].ranges(view.test)
            except ReleaseError as error:
                raise error.at(place=f"column '{column}'") from None
        return self._views[column]

    def ranges(self, name: str, test: Test) -> tuple[int, Ranges]:
        """Return the attribute's index and the positions that pass a test on an attribute or column."""
        k = self.place.get(name)
        if k is not None:
            return k, self.all[k].ranges(test)
        if name not in self.columns:
            raise ReleaseError(f"'{name}' is neither an attribute nor a column of the domain")
        passed = Categorical(name, (0, 1)).ranges(test)
        k, ones = self.view_ranges(name)
        span = self.all[k].span
        if not passed:
            return k, ()
        if passed == ((0, 2),):
            return k, (span,)
        return k, ones if passed == ((1, 2),) else complement(ones, span)

    def resolve(self, condition: Condition, place: str = "") -> dict[int, Ranges]:
        """Return attribute index -> positions that pass all tests of a condition.

        Raises `ReleaseError` naming the place for an unknown name, a value or a threshold outside the domain.
        """
        out: dict[int, Ranges] = {}
        for name, test in condition:
            try:
                k, found = self.ranges(name, test)
            except ReleaseError as error:
                raise error.at(place=place) from None
            out[k] = intersection(out[k], found) if k in out else found
        return out

    def as_columns(self) -> Domain:
        """Return the domain with every binary column as an independent bit (what the paper's experiments do).

        Attributes without columns stay as they are; impossible boxes that name an attribute with columns
        cannot be kept and are refused.
        """
        viewed = {view.attribute for view in self.columns.values()}
        for condition in self.impossible:
            for name, _ in condition:
                if name in viewed:
                    raise ReleaseError(f"impossible: '{name}' has no meaning once columns are independent bits")
        bits = tuple(Categorical(name, (0, 1)) for name in self.columns)
        kept = tuple(a for a in self.attributes if a.name not in viewed)
        order = tuple(name for name in self.order if name not in viewed)
        notes = tuple(dict.fromkeys((*self.notes, AS_BITS)))
        return replace(self, attributes=kept + bits, columns={}, notes=notes, order=order)

    def _facts(self) -> DisplayFacts:
        free = sum(isinstance(a, Continuous) for a in self.attributes)
        names = many(len(self.attributes), "attribute") + (f" ({free:,} continuous)" if free else "")
        label = (
            "no label"
            if self.label is None
            else f"label {short(self.label.name)} ({quote(self.label.describe(), NAME)})"
        )
        pairs = [
            ("binary columns", len(self.columns)), ("impossible boxes", len(self.impossible)), ("source", self.source),
        ]  # fmt: skip
        return DisplayFacts(
            f"{names}, {label}, {self.origin}", pairs, ("attribute", "values"),
            lambda: [(a.name, a.describe()) for a in self.attributes[:LINES]], len(self.attributes),
            self.notes, "to_frame(), plot()",
        )  # fmt: skip

    def to_frame(self) -> pd.DataFrame:
        """Return one line per attribute, the label last: name, role, kind, values in words, number of values, missing.

        kind: listed, grid or continuous; the number of values (None of continuous attributes) has no missing one.
        """
        import pandas as pd

        lines = [
            (a.name, "label" if a is self.label else "attribute", type(a).__name__.lower(), a.describe(), sizes(a),
             a.missing)
            for a in self.all
        ]  # fmt: skip
        return pd.DataFrame(lines, columns=["name", "role", "kind", "values", "number", "missing"], dtype=object)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return axes with the bits of a value of every attribute: log2 of how many values it has (0: any number).

        Raises `Unsupported` without matplotlib.
        """
        from solvers.foundation.plots import lying_bars

        bits = [math.log2((sizes(a) or 1) + a.missing) for a in self.all]
        return lying_bars([a.name for a in self.all], bits, "Bits of a value", "log2 of the number of values", ax)

    def cut_points(self, resolved: Mapping[int, Ranges], into: dict[int, set[Position]]) -> None:
        """Add the ends of the ranges to the cut positions of each attribute."""
        for k, ranges in resolved.items():
            into.setdefault(k, set()).update(p for pair in ranges for p in pair)


def sizes(attribute: AnyAttribute) -> int | None:
    """Return how many values an attribute has, a missing one left out; None where it may be any number."""
    return None if isinstance(attribute, Continuous) else attribute.known[1]
