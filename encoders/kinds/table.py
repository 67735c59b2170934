"""A table of published figures as statements: counts, intervals, suppressed cells, means, totals, medians, sums.

Source: Hundepool et al., "Statistical Disclosure Control", 2012 (primary and secondary suppression).
"""

from __future__ import annotations

from collections.abc import Sequence

from encoders.domain.domain import Condition, Domain
from encoders.domain.values import Position, exact, is_number
from encoders.models.linear_figures import LinearFigure, condition_text, short_text
from encoders.models.models import PublishedFigure, PublishedModel, Statistic, Table
from encoders.parts.base import CutDomain, Encoder, Resolutions, check_count
from encoders.parts.linear import linear_statements, term_cuts
from encoders.parts.statistics import PartNumbers, StatisticGroup, numbers_of, numeric, statements_of, value_cuts
from solvers.foundation.errors import ReleaseError
from solvers.statements.boxes import Box, Region
from solvers.statements.release import UNBOUNDED, Block, Choice, Loose, RowCount, Statement


class TableEncoder(Encoder[Table]):
    """Tables: loose statements, and a choice per median."""

    def check(self, model: Table, domain: Domain, place: str) -> None:
        """Refuse figures that say nothing or two things, numbers that are none, and two counts of everybody."""
        for i, figure in enumerate(model.statements):
            _check_figure(figure, domain, f"{place}.statements[{i}]")
        everybody = {f.count: i for i, f in enumerate(model.statements) if not f.condition and f.count is not None}
        if len(everybody) > 1:
            (first, _), (second, i) = list(everybody.items())[:2]
            message = f"everybody is {second} rows here, but {first} rows in another figure of the table"
            raise ReleaseError(message, place=f"{place}.statements[{i}].count")

    def conditions(self, model: Table, place: str) -> list[tuple[Condition, str]]:
        """Return the condition of every figure."""
        out = [(figure.condition, f"{place}.statements[{i}].where") for i, figure in enumerate(model.statements)]
        for i, linear in _linear_figures(model):
            for j, term in enumerate(linear.terms):
                out += [(one, f"{place}.statements[{i}].linear[{j}]") for one in term.conditions]
        return out

    def further_cuts(self, model: Table, domain: Domain) -> dict[int, set[Position]]:
        """Return every value of an attribute with a statistic (at most 2,000), and the ends of columns with one.

        Of attributes in linear figures the values in the groups that sum them.
        """
        out = term_cuts(domain, (term for _, linear in _linear_figures(model) for term in linear.terms))
        names = {f.statistic.of for f in model.statements if f.statistic is not None}
        for k, cuts in value_cuts(domain, names).items():
            out.setdefault(k, set()).update(cuts)
        return out

    def total(self, model: Table) -> int | None:
        """Return the count of everybody, None where it is not in the table."""
        return next((int(f.count) for f in model.statements if not f.condition and f.count is not None), None)

    def blocks(
        self, model: Table, cut: CutDomain, resolved: Resolutions, rows: RowCount, place: str
    ) -> tuple[Block, ...]:
        """Return the loose statements as one block, those on what is not listed last, and one choice per median."""
        boxes = [cut.box(resolved[figure.condition]) for figure in model.statements]
        counts = {b: f.count for b, f in zip(boxes, model.statements, strict=True) if f.count is not None}
        if rows.exact:
            counts.setdefault(Box(), rows.low)
        numbers: dict[str, PartNumbers] = {}
        loose: list[Statement] = []
        choices: list[Choice] = []
        for i, (figure, box) in enumerate(zip(model.statements, boxes, strict=True)):
            name, source = name_of(model, i), source_of(model, i)
            if figure.linear is not None:
                loose += linear_statements(figure.linear, cut, resolved, rows, source, numbers)
                continue
            if figure.statistic is None:
                loose += _count_statements(figure, Region(box), source)
                continue
            if figure.statistic.of not in numbers:
                numbers[figure.statistic.of] = numbers_of(cut, figure.statistic.of)
            group = StatisticGroup.of(box, numbers[figure.statistic.of], rows, source)
            why = f"{name} (a {figure.statistic.kind} was published, so the group is not empty)"
            try:
                found = statements_of(figure.statistic, group, odd=bool((counts.get(box) or 0) % 2))
            except ReleaseError as error:
                raise error.at(place=f"{place}.statements[{i}]") from None
            if figure.statistic.kind != "total":
                loose.append(Statement.count(Region(box), 1, UNBOUNDED, why))
            if isinstance(found, Choice):
                choices.append(found)
            else:
                loose += found
        loose += not_listed(model, boxes) if model.complete else ()
        return (*((Loose(tuple(loose)),) if loose else ()), *choices)


def _linear_figures(model: Table) -> list[tuple[int, LinearFigure]]:
    """Return the linear figures of a table and their numbers."""
    return [(i, figure.linear) for i, figure in enumerate(model.statements) if figure.linear is not None]


def _check_linear(figure: PublishedFigure, domain: Domain, place: str) -> None:
    """Refuse a linear figure without terms, or that says nothing or too much, or that sums what is not numeric."""
    linear = figure.linear
    assert linear is not None
    if figure.condition or figure.suppressed is not None or figure.count is not None or figure.statistic is not None:
        raise ReleaseError("a linear figure has its conditions in its terms, and no other figure beside", place=place)
    if not linear.terms:
        raise ReleaseError("there is no term to add up", place=f"{place}.linear")
    bounds = linear.low is not None or linear.high is not None
    if bounds == (linear.value is not None):
        more = ", not both" if bounds else ": what do the terms add up to?"
        raise ReleaseError(f"give 'at_least' and 'at_most', or 'value'{more}", place=place)
    if linear.low is not None and linear.high is not None and linear.high < linear.low:
        raise ReleaseError(f"at_most {linear.high} is below at_least {linear.low}", place=place)
    if linear.within < 0 or (linear.within and linear.value is None):
        what = f"{linear.within} is negative" if linear.within < 0 else "'within' goes with 'value' only"
        raise ReleaseError(what, place=f"{place}.within")
    for j, term in enumerate(linear.terms):
        if not term.conditions:
            raise ReleaseError("there is no condition of which one must hold", place=f"{place}.linear[{j}].any")
        for name in term.of:
            try:
                numeric(domain, name)
            except ReleaseError as error:
                raise error.at(place=f"{place}.linear[{j}].of") from None


def _check_figure(figure: PublishedFigure, domain: Domain, place: str) -> None:
    """Refuse a figure that is not exactly one of a count, an interval, a statistic or a suppressed count."""
    if figure.linear is not None:
        _check_linear(figure, domain, place)
        return
    interval = figure.low is not None or figure.high is not None
    given = [figure.count is not None, interval, figure.statistic is not None]
    if figure.suppressed is not None:
        if given[0] or given[2]:
            message = "a suppressed figure has no 'count', 'mean', 'total' or 'median': give its bounds, or nothing"
            raise ReleaseError(message, place=f"{place}.suppressed")
        if figure.suppressed == "primary" and (figure.low is None or figure.high is None):
            message = "primary suppression needs 'at_least' and 'at_most': which counts does the rule hide?"
            raise ReleaseError(message, place=f"{place}.suppressed")
    elif sum(given) != 1:
        ask = "give one of 'count', 'at_least' and 'at_most', 'mean', 'total', 'median', 'linear', 'suppressed'"
        raise ReleaseError(f"{ask}{', not several' if any(given) else ''}", place=place)
    for count in (figure.count, figure.low, figure.high):
        if count is not None:
            check_count(int(count), place)
    if figure.low is not None and figure.high is not None and figure.high < figure.low:
        raise ReleaseError(f"at_most {figure.high} is below at_least {figure.low}", place=place)
    if figure.statistic is not None:
        _check_statistic(figure.statistic, domain, f"{place}.{figure.statistic.kind}")


def _check_statistic(statistic: Statistic, domain: Domain, place: str) -> None:
    """Refuse a statistic of what is not numeric, and numbers that are none."""
    try:
        numeric(domain, statistic.of)
    except ReleaseError as error:
        raise error.at(place=f"{place}.of") from None
    for word, value in (("value", statistic.value), ("within", statistic.within)):
        if not is_number(value):
            raise ReleaseError(f"{value!r} is not a finite number", place=f"{place}.{word}")
    if exact(statistic.within) < 0:
        raise ReleaseError(f"{statistic.within} is negative", place=f"{place}.within")


def _count_statements(figure: PublishedFigure, region: Region, source: str) -> list[Statement]:
    """Return the statement of a count or an interval, none for a suppressed count without bounds."""
    if figure.count is not None:
        return [Statement.count(region, int(figure.count), int(figure.count), source)]
    if figure.low is None and figure.high is None:
        return []
    return [Statement.count(region, figure.low or 0, UNBOUNDED if figure.high is None else figure.high, source)]


def not_listed(model: Table, boxes: Sequence[Box]) -> list[Statement]:
    """Return that nobody is in combinations that are not listed: a statement per set of attributes, as they appear."""
    listed: dict[frozenset[str], dict[Box, None]] = {}
    for figure, box in zip(model.statements, boxes, strict=True):
        if figure.condition:
            listed.setdefault(frozenset(name for name, _ in figure.condition), {})[box] = None
    return [
        Statement.count(
            Region(Box(), tuple(some)), 0, 0, f"{model.name} (complete: no other rows by {' and '.join(sorted(names))})"
        )
        for names, some in listed.items()
    ]


def name_of(model: PublishedModel, i: int) -> str:
    """Return how messages name figure i: "table, statement 3"."""
    return f"{model.name}, {model.figures()[i].name or f'statement {i}'}"


def source_of(model: PublishedModel, i: int) -> str:
    """Return a human-readable source of figure i: "table, statement 3 (mean of age where sex = F)"."""
    return f"{name_of(model, i)} ({_figure_text(model.figures()[i])})"


def _figure_text(figure: PublishedFigure) -> str:
    """Format a figure: "mean of age = 36.7 ± 0.05 where sex = F"."""
    if figure.linear is not None:
        return figure.linear.text
    kind = "suppressed count" if figure.suppressed else "count"
    if figure.statistic is not None:
        within = f" ± {figure.statistic.within}" if figure.statistic.within else ""
        kind = f"{figure.statistic.kind} of {figure.statistic.of} = {figure.statistic.value}{within}"
    where = condition_text(figure.condition)
    return f"{kind} where {short_text(where)}" if where else kind
