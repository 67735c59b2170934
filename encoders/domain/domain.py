"""The declared domain: attributes, label, binary views, impossible boxes, and where it comes from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

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
    intersection,
)
from solvers.foundation.displayed import LINES, NAME, Displayed, DisplayFacts, many, quote, short
from solvers.foundation.errors import ReleaseError

Condition = tuple[tuple[str, Test], ...]

if TYPE_CHECKING:
    import pandas as pd

    from solvers.foundation.plots import Axes

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
