"""What the steps of a pipeline say about the values of columns: categories, ranges, gaps, and figures of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from encoders.domain.values import MISSING, AnyAttribute, Continuous, Listed, Value, exact, is_number
from encoders.models.column_figures import ColumnFigures
from recon.readers.formats.sklearn.pipelines.columns import Imputed, StepColumn
from recon.readers.stored.objects.things import Thing
from solvers.foundation.errors import ReleaseError

OTHER = "other"


@dataclass(frozen=True)
class ColumnStatements:
    """The figures of one column as it comes to a step, and where they stand: attributes of the step."""

    column: StepColumn
    owner: Thing
    attributes: frozenset[str]
    figures: ColumnFigures

    def named(self, names: Sequence[str]) -> ColumnFigures:
        """Return the figures of the raw column, by its name."""
        make = self.column.make if self.column.maps else None
        return replace(self.figures, column=names[self.column.source], make=make)


@dataclass
class Hints:
    """What is known of raw columns, by their number; `said` are sentences about it, `work` what reading has cost.

    `stated`: figures of columns that become statements.
    """

    values: dict[int, dict[Value, None]] = field(default_factory=dict)
    ranges: dict[int, tuple[Fraction, Fraction]] = field(default_factory=dict)
    gaps: dict[int, bool] = field(default_factory=dict)
    reader_notes: dict[str, None] = field(default_factory=dict)
    stated: list[ColumnStatements] = field(default_factory=list)
    floats: bool = False
    work: int = 0

    def state(self, column: StepColumn, owner: Thing, attributes: str, figures: ColumnFigures) -> None:
        """Note figures of a column that stand in some attributes (words) of a step."""
        self.stated.append(ColumnStatements(column, owner, frozenset(attributes.split()), figures))

    def listed(self, column: StepColumn, values: Iterable[Value], missing: bool, others: bool) -> None:
        """Note the categories of a column; `others`: training rows may have had values beyond them."""
        if not column.near:
            return
        steps = [m for m in column.maps if isinstance(m, Imputed)]
        filled = {m.fill for m in steps if m.constant}
        found: dict[Value, None] = {v: None for v in values if v not in filled}
        found |= {m.mark: None for m in steps if m.mark is not None}
        if others:
            found |= {beyond(found): None}
        known = self.values.setdefault(column.source, found)
        if known.keys() != found.keys():
            self.values[column.source] = known | found
        if missing:
            self.gaps[column.source] = True

    def ranged(self, column: StepColumn, low: float, high: float) -> None:
        """Note the smallest and the largest training value of a column."""
        if column.near and column.direction and low < high:
            self.ranges[column.source] = exact(low), exact(high)

    def attribute(self, source: int, name: str) -> AnyAttribute | None:
        """Return the raw column as an attribute, None where the steps do not say which values it has."""
        missing = self.gaps.get(source, False)
        values: list[Value] = list(self.values.get(source, ()))
        if values:
            if all(is_number(v) for v in values):
                values.sort(key=exact)
            if missing and MISSING in values:
                raise ReleaseError(f"'{name}' has gaps and a category '{MISSING}': give a domain (--domain)")
            return Listed(name, tuple(values), missing=missing)
        if source in self.ranges:
            return Continuous(name, *self.ranges[source], missing=missing)
        return None


def beyond(values: Iterable[Value]) -> Value:
    """Return a value that stands for all that are not listed."""
    known = list(values)
    if known and all(is_number(v) for v in known):
        return int(max(exact(v) for v in known)) + 1
    other = OTHER
    while other in known:
        other += "_"
    return other
