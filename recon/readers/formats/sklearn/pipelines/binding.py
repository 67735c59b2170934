"""Tests on prepared columns as tests on raw attributes, where a column need not grow with the attribute.

`recon.readers.formats.drafts.binding` bisects, which suits columns that grow with their attribute (scaled, binned,
ordinal ones). A one-hot column is 1 in the middle and 0 around it: here the values that pass are gone through.

What the steps of a pipeline say about the values of columns: categories, ranges, gaps, and figures of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from encoders.domain.domain import GUESSED, Condition, Domain
from encoders.domain.values import (
    MISSING,
    AnyAttribute,
    Categorical,
    Cell,
    Continuous,
    Grid,
    Test,
    Value,
    exact,
    is_number,
)
from encoders.models.models import AnyModel, ColumnFigures, Provenance, Table, UnusedPublication
from encoders.models.nodes import Nodes
from recon.readers.formats.drafts.binding import Binder, Feature, has, listed_test, missing_test, passes
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.sklearn.pipelines.columns import Imputed, OutsideTest, StepColumn
from recon.readers.formats.statistics.column_figures import column_figures
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError
from solvers.statements.release import RowCount

OTHER = "other"
JOINED_VALUES = 1_000  # combinations of values of a row up to which figures of columns are stated beside the model
NO_VALUES = "the file does not say which values it has: declare a domain (--domain)"


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

    `stated`: figures of columns that become statements. `sampled`: which ranges are of so many rows, drawn if there
    were more.
    """

    values: dict[int, dict[Value, None]] = field(default_factory=dict)
    ranges: dict[int, tuple[Fraction, Fraction]] = field(default_factory=dict)
    sampled: dict[int, int] = field(default_factory=dict)
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
        marked = any(m.constant and m.fill == MISSING for m in steps)  # what gaps are called anyway
        found: dict[Value, None] = {v: None for v in values if not (marked and v == MISSING)}
        found |= {m.mark: None for m in steps if m.mark is not None}
        if others:
            found |= {_beyond(found): None}
        known = self.values.setdefault(column.source, found)
        if known.keys() != found.keys():
            self.values[column.source] = known | found
        if missing:
            self.gaps[column.source] = True

    def ranged(self, column: StepColumn, low: float, high: float, drawn: int | None = None) -> None:
        """Note the least and the greatest training value of a column; `drawn`: of so many rows if there were more."""
        if column.near and column.direction and -math.inf < low < high:
            self.ranges[column.source] = exact(low), exact(high)
            self.sampled.pop(column.source, None)
            if drawn is not None:
                self.sampled[column.source] = drawn

    def attribute(self, source: int, name: str) -> AnyAttribute | None:
        """Return the raw column as an attribute, None where the steps do not say which values it has."""
        missing = self.gaps.get(source, False)
        values: list[Value] = list(self.values.get(source, ()))
        if values:
            if all(is_number(v) for v in values):
                values.sort(key=exact)
            if missing and MISSING in values:
                raise ReleaseError(f"'{name}' has gaps and a category '{MISSING}': give a domain (--domain)")
            return Categorical(name, tuple(values), missing=missing)
        if source in self.ranges:
            return Continuous(name, *self.ranges[source], missing=missing)
        return None


def of_all_rows(
    hints: Mapping[str, AnyAttribute], sampled: Mapping[str, int], rows: RowCount | None
) -> dict[str, AnyAttribute]:
    """Return attributes without the ranges that are of so many rows where there may have been more."""
    return {
        name: Continuous(name, missing=attribute.missing)
        if isinstance(attribute, Continuous)
        and name in sampled
        and (rows is None or rows.high is None or rows.high > sampled[name])
        else attribute
        for name, attribute in hints.items()
    }


def either(one: AnyAttribute | None, other: AnyAttribute) -> AnyAttribute | None:
    """Return an attribute with the values of both, None where one has a list of values and the other a range."""
    missing = one is not None and (one.missing or other.missing)
    if isinstance(one, Categorical) and isinstance(other, Categorical):
        values: list[Value] = list(dict.fromkeys((*one.values, *other.values)))
        if all(is_number(v) for v in values):
            values.sort(key=exact)
        return replace(one, values=tuple(values), missing=missing)
    if isinstance(one, Continuous) and isinstance(other, Continuous):
        lows, highs = (one.minimum, other.minimum), (one.maximum, other.maximum)
        low = None if None in lows else min(x for x in lows if x is not None)
        high = None if None in highs else max(x for x in highs if x is not None)
        return replace(one, minimum=low, maximum=high, missing=missing)
    return one if one == other else None


def numbered(names: Sequence[str]) -> list[str]:
    """Return the names, equal ones numbered."""
    seen: dict[str, int] = {}
    taken, out = set(names), []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found = name
        while seen[name] > 1 and found in taken:
            found = f"{name} ({seen[name]})"
            seen[name] += found in taken
        taken.add(found)
        out.append(found)
    return out


def figures_beside(
    stated: Iterable[ColumnStatements],
    names: Sequence[str],
    domain: Domain,
    hints: Mapping[str, AnyAttribute],
    rows: RowCount | None,
) -> tuple[tuple[ColumnFigures, ...], Table | None, tuple[UnusedPublication, ...]]:
    """Return figures of raw columns (`names`), the same as a table beside the model, and those that are not used.

    There is no table where rows have too many values. It tells every value of a column that it sums apart, so that the
    model alone is counted much faster. Columns whose values were guessed, for no step and no test says them, have none.
    """
    every = [one.named(names) for one in stated]
    figures = tuple(one for one in every if domain.source != GUESSED or one.column in hints)
    left = tuple(
        UnusedPublication(f"the figures of '{one.column}'", NO_VALUES, about="columns")
        for one in every
        if one not in figures
    )
    if not figures or domain.continuous or math.prod(a.span[1] for a in domain.all) > JOINED_VALUES:
        return figures, None, left
    found, unused = column_figures(figures, domain, rows)
    if not found:
        return figures, None, (*left, *unused)
    origin = Provenance("scikit-learn Pipeline", ("exact",), unused=tuple(unused))
    return figures, Table(tuple(found), "columns", origin=origin), left


def _beyond(values: Iterable[Value]) -> Value:
    """Return a value that stands for all that are not listed."""
    known = list(values)
    if known and all(is_number(v) for v in known):
        return int(max(exact(v) for v in known)) + 1
    other = OTHER
    while other in known:
        other += "_"
    return other


MAX_VALUES = 100_000


@dataclass
class PipelineBinder(Binder):
    """A binder that knows the columns behind the features."""

    columns: dict[str, StepColumn] = field(default_factory=dict)

    @classmethod
    def of(
        cls, draft: Draft, columns: Sequence[StepColumn], raw: Sequence[str], named: bool, domain: Domain
    ) -> PipelineBinder:
        """Return the binder of a pipeline's draft; unnamed raw columns are those of the domain in order."""
        if not named and [a.name for a in domain.attributes] != list(raw):
            names = domain.in_order
            if names is None or len(names) != len(raw):
                raise ReleaseError(
                    f"the pipeline was fitted on {len(raw)} unnamed columns: give a domain of as many columns in "
                    f"the same order{has(names)}, or fit the pipeline on a DataFrame, whose columns have names"
                )
            own = [
                c.feature(f.name, names[c.source], draft.single) for c, f in zip(columns, draft.features, strict=True)
            ]
            draft = replace(draft, features=tuple(own), named=True)
        by_name = {f.name: c for f, c in zip(draft.features, columns, strict=True)}
        return cls(draft if draft.named else replace(draft, named=True), domain, columns=by_name)

    def test(self, attribute: AnyAttribute, feature: Feature, test: Test, compare: Callable[[Cell], Value]) -> Test:
        """Return the test on the attribute's own values that a test on the feature is."""
        column = self.columns[feature.name]
        if not column.maps:
            return super().test(attribute, feature, test, compare)
        if column.tells_missing and not attribute.missing:
            message = (
                f"the model tests whether '{attribute.name}' is missing, but the domain has no missing value of it"
            )
            raise ReleaseError(f'{message}: declare it with "missing": true')
        if isinstance(attribute, Categorical):
            if test.bare:
                return missing_test(attribute, feature, test, compare)
            return listed_test(attribute, feature, test, compare, attribute.missing and passes(test, compare(None)))
        if test.bare or isinstance(attribute, Continuous) or column.direction > 0:
            return super().test(attribute, feature, test, compare)
        return _among(attribute, feature, test, compare)


def straight(model: AnyModel, domain: Domain) -> AnyModel:
    """Return the model with the branches swapped of every split that asks for what lies outside a range."""
    if model.members():
        known: dict[int, tuple[Condition, ...]] = {}
        return model.with_trees(lambda tree: replace(tree, nodes=_swapped(tree.nodes, domain, known)))
    for condition in model.conditions():
        if any(isinstance(test, OutsideTest) for _, test in condition):
            why = f"'{condition[0][0]}' is binned one-hot for a model that is not a tree"
            raise ReleaseError(f"{why}: declare a domain (--domain) that gives it a 'resolution'")
    return model


def _swapped(nodes: Nodes, domain: Domain, known: dict[int, tuple[Condition, ...]]) -> Nodes:
    """Return splits by the ranges themselves: the rows inside them go where the others do not.

    `known`: the conditions that became of a table, by its id, so that trees go on sharing one.
    """
    outside = np.array([isinstance(condition[0][1], OutsideTest) for condition in nodes.conditions], dtype=bool)
    if not outside.any():
        return nodes
    table = nodes.conditions
    if id(table) not in known:
        known[id(table)] = tuple(
            _inner_condition(c, domain) if out else c for c, out in zip(table, outside.tolist(), strict=True)
        )
    flipped = np.append(outside, False)[nodes.condition]  # leaves, whose number is -1, stay
    children = np.where(flipped[:, None], nodes.children[:, ::-1], nodes.children)
    return replace(nodes, conditions=known[id(table)], children=children)


def _inner_condition(condition: Condition, domain: Domain) -> Condition:
    """Return the condition that the range itself makes, of one that asks for what lies outside."""
    name, test = condition[0]
    missing = domain.all[domain.place[name]].missing and not test.missing
    return ((name, Test(None, test.low, test.high, test.low_open, test.high_open, missing)),)


def _among(attribute: Grid, feature: Feature, test: Test, compare: Callable[[Cell], Value]) -> Test:
    """Return the values of a grid that pass: as a range where they are one. Cost: linear in the values."""
    size = attribute.count
    if size > MAX_VALUES:
        raise ReleaseError(
            f"'{attribute.name}' has {size:,} values, too many for the one-hot column '{feature.name}': "
            "give it a coarser 'resolution', or list its values"
        )
    passed = [i for i in range(size) if passes(test, compare(attribute.value_at(i)))]
    missing = attribute.missing and passes(test, compare(None))
    if not passed and missing:
        return Test(values=(), missing=True)
    if len(passed) == size and attribute.missing and not missing:
        return Test()
    if len(passed) in (0, size):
        raise ReleaseError(f"the model's test '{feature.name}' {test} does not tell values of '{attribute.name}' apart")
    first, last = passed[0], passed[-1]
    if last - first + 1 > len(passed):
        return Test(values=tuple(attribute.value_at(i) for i in passed), missing=missing)
    low = None if first == 0 else attribute.value_at(first)
    return Test(low=low, high=None if last == size - 1 else attribute.value_at(last), missing=missing)
