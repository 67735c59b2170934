"""A table of published figures as statements: counts, intervals, suppressed cells, means, totals, medians.

Source: Hundepool et al., "Statistical Disclosure Control", 2012 (primary and secondary suppression).
"""

from __future__ import annotations

from collections.abc import Sequence

from encoders.domain.domain import Condition, Domain
from encoders.domain.values import Position, exact, is_number
from encoders.models.models import PublishedFigure, PublishedModel, Statistic, Table
from encoders.parts.base import CutDomain, Encoder, Resolutions, check_count
from encoders.parts.statistics import PartNumbers, StatisticGroup, numbers_of, numeric, statements_of, value_cuts
from solvers.foundation.errors import ReleaseError
from solvers.statements.boxes import Box, Region
from solvers.statements.release import UNBOUNDED, Block, Choice, Loose, RowCount, Statement

MAX_SHOWN = 80  # letters of a condition in a source


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
        return [(figure.condition, f"{place}.statements[{i}].where") for i, figure in enumerate(model.statements)]

    def further_cuts(self, model: Table, domain: Domain) -> dict[int, set[Position]]:
        """Return every value of an attribute with a statistic (at most 2,000), and the ends of columns with one."""
        return value_cuts(domain, {f.statistic.of for f in model.statements if f.statistic is not None})

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
                loose.append(Statement(Region(box), 1, UNBOUNDED, why))
            if isinstance(found, Choice):
                choices.append(found)
            else:
                loose += found
        loose += not_listed(model, boxes) if model.complete else ()
        return (*((Loose(tuple(loose)),) if loose else ()), *choices)


def _check_figure(figure: PublishedFigure, domain: Domain, place: str) -> None:
    """Refuse a figure that is not exactly one of a count, an interval, a statistic or a suppressed count."""
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
        ask = "give one of 'count', 'at_least' and 'at_most', 'mean', 'total', 'median', 'suppressed'"
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
            raise ReleaseError(f"{value!r} is no finite number", place=f"{place}.{word}")
    if exact(statistic.within) < 0:
        raise ReleaseError(f"{statistic.within} is negative", place=f"{place}.within")


def _count_statements(figure: PublishedFigure, region: Region, source: str) -> list[Statement]:
    """Return the statement of a count or an interval, none for a suppressed count without bounds."""
    if figure.count is not None:
        return [Statement(region, int(figure.count), int(figure.count), source)]
    if figure.low is None and figure.high is None:
        return []
    return [Statement(region, figure.low or 0, UNBOUNDED if figure.high is None else figure.high, source)]


def not_listed(model: Table, boxes: Sequence[Box]) -> list[Statement]:
    """Return that nobody is in combinations that are not listed: a statement per set of attributes, as they appear."""
    listed: dict[frozenset[str], dict[Box, None]] = {}
    for figure, box in zip(model.statements, boxes, strict=True):
        if figure.condition:
            listed.setdefault(frozenset(name for name, _ in figure.condition), {})[box] = None
    return [
        Statement(
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
    kind = "suppressed count" if figure.suppressed else "count"
    if figure.statistic is not None:
        within = f" ± {figure.statistic.within}" if figure.statistic.within else ""
        kind = f"{figure.statistic.kind} of {figure.statistic.of} = {figure.statistic.value}{within}"
    where = " and ".join(f"{name} {test}" for name, test in figure.condition)
    if not where:
        return kind
    return f"{kind} where {where if len(where) <= MAX_SHOWN else where[: MAX_SHOWN - 3] + '...'}"
