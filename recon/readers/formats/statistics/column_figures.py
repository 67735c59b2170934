"""Figures of single columns as figures of a table: what holds of all rows, whichever way a library counts quantiles.

What a transformer stores of a column (means, variances, extremes, quantiles, categories) is about what the steps before
it make of the raw values. Each figure becomes a count or a linear figure over the raw values that pass, and says no
more than was published: a quantile lies between two neighbours of the ordered rows around its place, of which every
definition takes one or a mixture (numpy has nine), and rows may have been rounded to 32 bits before.

Source: Hyndman, Fan, "Sample quantiles in statistical packages", The American Statistician 50, 1996.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from encoders.domain.domain import Condition, Domain
from encoders.domain.values import (
    AnyAttribute,
    Categorical,
    Cell,
    Continuous,
    Grid,
    Test,
    Value,
    exact,
    is_number,
    normal,
    plain_number,
)
from encoders.models.linear_figures import LinearFigure, LinearTerm
from encoders.models.models import AnyModel, ColumnFigures, PublishedFigure, Table, UnusedPublication
from recon.readers.formats.drafts.binding import Binder, Feature, as_test, single, single_ends
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.statistics.column_tables import DOUBLE, JOINED, SINGLE, ColumnMean
from solvers.foundation.exact import short_number
from solvers.statements.release import RowCount

WEIGHTED = "the rows had no weights (sample_weight): weights that are all whole numbers look like counts of rows"
MAX_VALUES = 2_000  # of an attribute that are gone through one by one
FEW = 200  # different values that are stated one by one
NEAR, FAR = 1e-7, 10  # how near (in parts) a quantile is to the row that it is, and how many times that to others
MAX_ROWS = 1 << 31  # where nobody says how many there are at most
Stated = Iterator[PublishedFigure | str]
Passes = Callable[[Fraction], bool]


def column_figures(
    every: Sequence[ColumnFigures], domain: Domain, rows: RowCount | None
) -> tuple[list[PublishedFigure], list[UnusedPublication]]:
    """Return what figures of columns say of all rows, and those that cannot be stated over the domain.

    Cost: linear in figures times values of their attribute.
    """
    found: dict[PublishedFigure, None] = {}
    left: dict[UnusedPublication, None] = {}
    for figures in every:
        column = _PreparedColumn.of(figures, domain)
        for one in [column] if isinstance(column, str) else _figures(figures, column, rows):
            if isinstance(one, str):
                left[UnusedPublication(f"{figures.source} of '{figures.column}'", one, about="columns")] = None
            else:
                found[one] = None
    return list(found), list(left)


@dataclass(frozen=True)
class _PreparedColumn:
    """A column as a step gets it: the raw attribute (None: a column of 0 and 1) and what was made of each value.

    `made` None: too many values to go through, or no grid; nothing was changed then. In it None is no value.
    """

    name: str
    attribute: AnyAttribute | None
    made: tuple[Value | None, ...] | None
    changed: bool

    @classmethod
    def of(cls, figures: ColumnFigures, domain: Domain) -> _PreparedColumn | str:
        """Return a column over a domain, or why its figures cannot be stated."""
        name, make = figures.column, figures.make
        place = domain.place.get(name)
        if place is None and name not in domain.columns:
            return "the domain has no column of this name"
        attribute = None if place is None else domain.all[place]
        if isinstance(attribute, Continuous) or (attribute is not None and attribute.known[1] > MAX_VALUES):
            if make is not None:
                return f"a step before it changes the column, which has no list of at most {MAX_VALUES:,} values"
            return cls(name, attribute, None, False)
        cells: tuple[Cell, ...] = (0, 1)
        if attribute is not None:
            assert isinstance(attribute, Categorical | Grid)
            gap = (None,) if attribute.missing else ()
            cells = (*(attribute.value_at(i) for i in range(attribute.known[1])), *gap)
        made = [cell if make is None else make(cell) for cell in cells]
        known = tuple(None if v is None or (isinstance(v, float) and math.isnan(v)) else v for v in made)
        return cls(name, attribute, known, make is not None)

    @property
    def gaps(self) -> bool:
        """Return whether a row may have no value."""
        if self.made is not None:
            return None in self.made
        assert self.attribute is not None
        return self.attribute.missing

    @property
    def numeric(self) -> bool:
        """Return whether all values are numbers, and there are some."""
        if self.made is None:
            return not isinstance(self.attribute, Categorical) or self.attribute.numeric
        return all(v is None or is_number(v) for v in self.made) and any(v is not None for v in self.made)

    def with_values(self, passes: Callable[[Value], bool]) -> Condition | None:
        """Return the rows with a value that passes, of those gone through; () for all, None for none of them."""
        assert self.made is not None
        return self._among([v is not None and passes(v) for v in self.made])

    def beyond(self, end: Fraction, below: bool) -> Condition | None:
        """Return the rows whose number lies below an end, or above it, whether or not it was rounded to 32 bits."""
        if self.made is not None:
            side = _side(end, below)
            return self.with_values(lambda v: side(exact(v)) and side(exact(single(v))))
        return self._within(_rounded_range(end, below))

    def at(self, end: Fraction) -> Condition | None:
        """Return the rows with a number, as it is or rounded to 32 bits; None where nobody can have it.

        Of numbers without a grid those that are not beyond it: none of them can be told from the numbers around it.
        """
        if self.made is not None:
            return self.with_values(lambda v: end in (exact(v), exact(single(v))))
        number = plain_number(end)
        if not isinstance(self.attribute, Continuous) and exact(single(number)) != end:
            return self._within(Test(low=number, high=number))
        below, above = _rounded_range(end, True), _rounded_range(end, False)
        return self._within(
            Test(low=below.high, low_open=not below.high_open, high=above.low, high_open=not above.low_open)
        )

    def _within(self, test: Test) -> Condition | None:
        """Return the rows with a number in a range, whose ends may lie outside the domain; None where nobody can."""
        attribute = self.attribute
        assert attribute is not None
        first, last = _ends_of(attribute)
        low, high = (None if end is None else exact(end) for end in (test.low, test.high))
        if (low is not None and last is not None and low > last) or (
            high is not None and first is not None and high < first
        ):
            return None
        if low is not None and first is not None and low < first:
            test = replace(test, low=None, low_open=False)
        if high is not None and last is not None and high > last:
            test = replace(test, high=None, high_open=False)
        ranges = attribute.ranges(test)
        if not ranges or ranges == (attribute.span,):
            return () if ranges else None
        return ((self.name, as_test(attribute, ranges) if isinstance(attribute, Grid) else test),)

    @property
    def known(self) -> Condition:
        """Return the rows that have a value."""
        if self.made is None:
            return ((self.name, Test()),) if self.gaps else ()
        return self.with_values(lambda _: True) or ()

    @property
    def without_value(self) -> Condition:
        """Return the rows that have no value; call it where there may be some."""
        assert self.made is not None
        return self._among([v is None for v in self.made]) or ()

    def _among(self, passed: Sequence[bool]) -> Condition | None:
        """Return the rows with one of the values."""
        if not any(passed) or all(passed):
            return () if any(passed) else None
        if self.attribute is None:
            return ((self.name, Test(values=(int(not passed[0]),))),)
        return ((self.name, as_test(self.attribute, normal([(i, i + 1) for i, kept in enumerate(passed) if kept]))),)


def _figures(figures: ColumnFigures, column: _PreparedColumn, rows: RowCount | None) -> Stated:
    """Yield the figures of a column, and in words what cannot be stated."""
    numbers = (figures.mean, figures.least, figures.greatest, figures.largest, *figures.quantiles)
    if any(one is not None for one in numbers) and not column.numeric:
        yield "its values in the domain are no numbers"
        return
    if figures.drawn is not None and (rows is None or rows.high is None or rows.high > figures.drawn):
        yield f"it was worked out of at most {figures.drawn:,} rows, drawn if there were more: say how many (--rows)"
        return
    name = figures.column
    values = _sorted_rows(figures, column)
    if values is not None:
        for number, times in Counter(values).items():
            where = column.at(number)
            assert where is not None
            yield PublishedFigure(where, count=times, name=f"quantiles of {name}, the sorted rows")
        return
    if figures.least is not None:
        end = exact(figures.least)
        yield from _extreme(column, f"least value of {name}", [end], [(end, True)])
    if figures.greatest is not None:
        end = exact(figures.greatest)
        yield from _extreme(column, f"greatest value of {name}", [end], [(end, False)])
    if figures.largest is not None:
        end = exact(figures.largest)
        yield from _extreme(column, f"largest size of {name}", [end, -end], [(end, False), (-end, True)])
    for j, parts, value in figures.quantiles:
        yield from _quantile(column, f"quantile {j}/{parts} of {name}", j, parts, exact(value))
    yield from _value_figures(figures, column)
    if figures.mean is not None:
        yield from _moments(figures, figures.mean, column, rows)


def _sorted_rows(figures: ColumnFigures, column: _PreparedColumn) -> list[Fraction] | None:
    """Return the numbers of all rows where there is a quantile for each of them; None where there is not.

    Quantiles were worked out between rows, so that the last digit may be another: each is the one value near it.
    """
    if figures.rows is None or figures.least is None or figures.greatest is None or column.gaps or column.made is None:
        return None
    if len(figures.quantiles) + 2 != figures.rows or figures.mean is not None:
        return None
    known = sorted({float(v) for v in column.made if v is not None})
    found = []
    for value in (figures.least, *(value for _, _, value in figures.quantiles), figures.greatest):
        at = bisect_left(known, value)
        near = sorted((abs(x - value), x) for x in known[max(0, at - 1) : at + 2])
        if near[0][0] > NEAR * max(1.0, abs(value)) or (len(near) > 1 and near[1][0] < FAR * max(near[0][0], NEAR)):
            return None
        found.append(exact(near[0][1]))
    return found


def _extreme(
    column: _PreparedColumn, name: str, ends: Sequence[Fraction], beyond: Sequence[tuple[Fraction, bool]]
) -> Stated:
    """Yield that some row is at one of the ends, and that none lies beyond: below an end (True), or above it."""
    held = list(dict.fromkeys(one for one in map(column.at, ends) if one is not None))
    if not held:
        yield f"{short_number(ends[0], 10)} is no value of it in the domain"
        return
    for end, below in beyond:
        nobody = column.beyond(end, below)
        if nobody is not None:
            yield PublishedFigure(nobody, count=0, name=f"beyond the {name}")
    if len(held) == 1:
        yield PublishedFigure(held[0], low=1, name=name)
    else:
        yield PublishedFigure((), linear=LinearFigure((LinearTerm(tuple(held)),), Fraction(1)), name=name)


def _ends_of(attribute: AnyAttribute) -> tuple[Fraction | None, Fraction | None]:
    """Return the least and the greatest number of an attribute, None where it has none."""
    if isinstance(attribute, Categorical):
        return attribute.numbers[0], attribute.numbers[-1]
    return attribute.minimum, attribute.maximum


def _rounded_range(end: Fraction, below: bool) -> Test:
    """Return the test for what lies below an end, or above it, whether or not it was rounded to 32 bits."""
    at = plain_number(end)
    test = Test(high=at, high_open=True) if below else Test(low=at, low_open=True)
    rounded = single_ends(test)
    nearer = rounded.high if below else rounded.low
    return rounded if nearer is not None and _side(end, below)(exact(nearer)) else test


def _side(end: Fraction, below: bool) -> Passes:
    """Return the test for numbers on one side of an end."""
    return (lambda x: x < end) if below else (lambda x: x > end)


def _quantile(column: _PreparedColumn, name: str, j: int, parts: int, value: Fraction) -> Stated:
    """Yield that no more than j / parts of the rows (and one) lie below a quantile, and of the rest no more above it.

    With n rows the quantile lies between those at the places n j / parts - 1 and n j / parts of the ordered rows,
    rounded outwards.
    """
    for below, rest in ((True, -j), (False, j - parts)):
        found = column.beyond(value, below)
        if found is not None:
            terms = LinearTerm((found,), (), Fraction(parts)), LinearTerm((column.known,), (), Fraction(rest))
            where = "below" if below else "above"
            yield PublishedFigure(
                (), linear=LinearFigure(terms, high=Fraction(parts - 1)), name=f"rows {where} the {name}"
            )


def _value_figures(figures: ColumnFigures, column: _PreparedColumn) -> Stated:
    """Yield which values occur, that no other does, and which none has more rows than."""
    if figures.commonest is None and figures.values is None and figures.among is None:
        return
    if column.made is None:
        yield f"the domain has no list of at most {MAX_VALUES:,} values of it"
        return
    name = figures.column
    if figures.commonest is not None:
        most = column.with_values(lambda v: v == figures.commonest)
        others = list(dict.fromkeys(v for v in column.made if v is not None and v != figures.commonest))
        if most is None or len(others) > FEW:
            why = "is no value of it in the domain" if most is None else f"is one of more than {FEW} values"
            yield f"{figures.commonest} {why}"
            others = []
        for value in others:
            other = column.with_values(lambda v, value=value: v == value)  # type: ignore[misc]
            if most is not None and other is not None:
                terms = LinearTerm((most,)), LinearTerm((other,), (), Fraction(-1))
                yield PublishedFigure((), linear=LinearFigure(terms, Fraction(0)), name=f"commonest value of {name}")
    among = figures.values if figures.values is not None else figures.among
    if among is None:
        return
    for value in sorted(figures.values or (), key=str):
        held = column.with_values(lambda v, value=value: v == value)  # type: ignore[misc]
        if held is None:
            yield f"{value} is no value of it in the domain"
        else:
            yield PublishedFigure(held, low=1, name=f"value {value} of {name}")
    nobody = column.with_values(lambda v: v not in among)
    if nobody is not None:
        yield PublishedFigure(nobody, count=0, name=f"other values of {name}")
    if figures.gap is not None and column.gaps:
        gap = column.without_value
        count, low = (None, 1) if figures.gap else (0, None)
        yield PublishedFigure(gap, count=count, low=low, name=f"gaps of {name}")


def _moments(figures: ColumnFigures, average: float, column: _PreparedColumn, rows: RowCount | None) -> Stated:
    """Yield the number of rows with a value, their sum and the sum of their squares, as near as rounding leaves."""
    n, name = figures.rows, figures.column
    if n is not None and (column.gaps or rows is None):
        yield PublishedFigure(column.known, count=n, name=f"rows with {name}")
    if n is None and not column.gaps and rows is not None and rows.exact:
        n = rows.low
    most = n if n is not None else (rows.high if rows is not None and rows.high is not None else MAX_ROWS)
    if column.changed:
        yield from _changed_moments(figures.column, average, column, n)
        return
    given = Fraction(0)
    if column.made is None or any(v is not None and exact(v) != exact(single(v)) for v in column.made):
        given = SINGLE  # rows of 32 bits are as far from the domain's values
    mean = ColumnMean(name, average, n, most, variance=figures.variance, given=given)
    total = mean.statistic(column.attribute, name)
    if isinstance(total, str):
        yield total
        return
    yield PublishedFigure(column.known, statistic=total, name=f"{total.kind} of {name}")
    squared = mean.squares(column.attribute, name, column.known)
    if isinstance(squared, str):
        yield squared
    elif squared is not None:
        yield PublishedFigure((), linear=squared, name=f"squares of {name}")


def _changed_moments(name: str, average: float, column: _PreparedColumn, n: int | None) -> Stated:
    """Yield the sum of what was made of the values: so much for every row with one of them, in an interval."""
    assert column.made is not None
    values = list(dict.fromkeys(v for v in column.made if v is not None))
    if n is None or len(values) > FEW:
        why = "of how many rows the mean is, is not known" if n is None else f"it has more than {FEW} values"
        yield f"{why} after the steps before"
        return
    terms, error = _changed_terms(column, n)
    if terms:
        total = n * Fraction(average)
        figure = LinearFigure(tuple(terms), total - error, total + error)
        yield PublishedFigure((), linear=figure, name=f"total of what becomes of {name}")


def _changed_terms(column: _PreparedColumn, n: int, beside: Condition = ()) -> tuple[list[LinearTerm], Fraction]:
    """Return what every row adds to the sum of what was made of its value, and how far the sum of n rows may be off.

    `beside`: what else holds of the rows.
    """
    assert column.made is not None
    values = list(dict.fromkeys(v for v in column.made if v is not None))
    largest = max([abs(exact(v)) for v in values], default=Fraction(1))
    error = n * ((JOINED * (n + 8) * DOUBLE + SINGLE) * max(largest, Fraction(1)))
    terms = []
    for value in values:
        where = column.with_values(lambda v, value=value: v == value)  # type: ignore[misc]
        if where is not None and exact(value):
            terms.append(LinearTerm(((*where, *beside),), (), exact(value)))
    return terms, error


@dataclass(frozen=True)
class MeansDraft(Draft):
    """A model with means of columns: totals where the domain has values to sum.

    What the steps of a pipeline make of a column is summed over what they make of the domain's values.
    """

    means: tuple[ColumnMean, ...] = ()

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the models over a domain with a table of totals; what cannot be summed is named as unused."""
        figures, left = [], list[UnusedPublication]()
        for one in self.means:
            feature = binder.features[one.feature]
            if feature.make is not None:
                changed = _changed_total(one, feature, binder)
                if isinstance(changed, str):
                    left.append(_unused_sums(one, changed))
                else:
                    figures.append(changed)
                continue
            of = feature.attribute
            place = binder.domain.place.get(of)
            attribute = None if place is None else binder.domain.all[place]
            gap = attribute is not None and attribute.missing
            mean = replace(one, rows=one.most) if one.rows is None and not gap else one
            known_name = place is not None or of in binder.domain.columns
            found = mean.statistic(attribute, of) if known_name else "the domain has no column of this name"
            if isinstance(found, str):
                left.append(_unused_sums(one, found))
                continue
            known = ((one.feature, Test()),) if gap else ()
            where = binder.translate((*one.where, *known))
            figures.append(PublishedFigure(where, statistic=found, name=one.name))
            squared = mean.squares(attribute, of, where)
            if isinstance(squared, LinearFigure):
                figures.append(PublishedFigure((), linear=squared, name=f"{one.name}, squares"))
            elif squared is not None:
                left.append(
                    UnusedPublication(
                        f"the variances of '{one.feature}'", squared, labels=bool(one.where), about="columns"
                    )
                )
            if known and one.rows is not None:
                figures.append(PublishedFigure(where, count=one.rows, name=f"{one.name}, rows with a value"))
        origin = replace(self.origin, unused=(*self.origin.unused, *dict.fromkeys(left)))
        mine = self.tables(binder)
        if figures:
            mine = (*mine, Table(tuple(figures), "sums of columns"))
        return tuple(replace(model, origin=origin) for model in mine)

    def tables(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the models beside the means over a domain."""
        return super().bound(binder)


def _unused_sums(one: ColumnMean, why: str) -> UnusedPublication:
    """Return that the means or sums of a column are not stated."""
    what = f"the {'means' if one.total is None else 'sums'} of '{one.feature}'"
    return UnusedPublication(what, why, labels=bool(one.where), about="columns")


def _changed_total(one: ColumnMean, feature: Feature, binder: Binder) -> PublishedFigure | str:
    """Return the sum of what a pipeline makes of a column over some rows, or why it cannot be stated."""
    column = _PreparedColumn.of(ColumnFigures(feature.attribute, "", make=feature.make), binder.domain)
    if isinstance(column, str):
        return column
    assert column.made is not None
    if one.rows is None or None in column.made:
        return "of how many rows the mean is, is not known after the steps before"
    if not column.numeric or len(set(column.made)) > FEW:
        return f"the steps before it make no numbers of it, or more than {FEW}"
    terms, error = _changed_terms(column, one.rows, binder.translate(one.where))
    total = Fraction(one.total) if one.total is not None else one.rows * Fraction(one.mean)
    if not terms:
        return "the steps before it make 0 of all its values"
    figure = LinearFigure(tuple(terms), total - error, total + error)
    return PublishedFigure((), linear=figure, name=f"what becomes of {one.name}")
