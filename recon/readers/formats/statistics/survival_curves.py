"""Survival curves and life tables: how many people died at every time, and how many were at risk.

Read are tables with a column of times and the survival beside it (what lifelines, scikit-survival and R's survfit
write as CSV), numbers at risk and of events where they stand there, R's printed summary(survfit), and life tables over
intervals. Rows of the data are people with `time`, the end of their observation, and `event`, 1 where it was the event.
What stands in no column follows from the digits of the curve (`recon.readers.formats.statistics.risk_sets`), once
somebody says how many people there were.

Sources: as there; R survival 3.5, summary.survfit; lifelines 0.30, utils/survival_table_from_events.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Condition
from encoders.domain.values import AnyAttribute, Continuous, Grid, Test, Value, equals, exact, is_number, plain_number
from encoders.models.models import AnyModel, Provenance, PublishedFigure, Table, UnusedPublication
from recon.io.files.sheets import text_sheet
from recon.readers.formats.drafts.binding import Binder, Feature
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.printed.rpart_rds import attribute, models_in, named_parts, vector
from recon.readers.formats.statistics.life_tables import life_spans, time_of
from recon.readers.formats.statistics.risk_sets import CurveStep, Floats, Pairs, possible_pairs
from recon.readers.formats.statistics.shares import ERRORS, TableCells, column_name, csv_cells, intervals, whole_cell
from recon.readers.stored.binary.rds import RObject
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

CURVE, LIFE = "table of counts: survival curve", "table of counts: life table"
TIME, EVENT = "time", "event"
NAMES = {  # what a column says, by its name
    "time": "time", "times": "time", "timeline": "time", "event at": "time", "interval": "time", "event_at": "time",
    "survival": "survival", "surv": "survival", "estimate": "survival", "km estimate": "survival", "km": "survival",
    "s(t)": "survival", "survival probability": "survival", "survival function": "survival", "prob": "survival",
    "prob survival": "survival", "kaplan-meier": "survival", "kaplan meier": "survival",
    "na estimate": "hazard", "cumhaz": "hazard", "cumulative hazard": "hazard", "nelson-aalen": "hazard",
    "n.risk": "at risk", "n risk": "at risk", "at risk": "at risk", "nrisk": "at risk", "number at risk": "at risk",
    "nsubs": "at risk", "entering": "at risk", "entered": "at risk",
    "n.event": "events", "n event": "events", "nevent": "events", "observed": "events", "events": "events",
    "deaths": "events", "died": "events",
    "n.censor": "censored", "n censor": "censored", "ncensor": "censored", "censored": "censored",
    "nlost": "censored", "withdrawn": "censored", "lost": "censored",
    "strata": "strata", "stratum": "strata", "group": "strata", "entrance": "entrance", "removed": "removed",
}  # fmt: skip
ROWS = {"nobs", "n", "rows", "people", "subjects", "number of subjects"}
MORE_ROWS = "the curve does not say how many people there were: give --rows (people under observation at the begin)"
LISTED = (
    "the list has every time of an event: a curve at chosen times, or cut off, would have events at others "
    "(with numbers at risk and of events beside it a list is read whatever its times)"
)
UNTIED = "observation began at time 0 for everybody, and all people weigh the same"
FOLLOW = "it follows from the deaths and the people at risk, and is not compared with them"
ERRORS_OF = "the digits do not say if they are of the curve or of its logarithm"
CHOSEN_TIMES = "it is no product over the listed times: they were chosen, or a figure was changed"
EMPTY = "figures of the curve that are empty or nan ({number}) were not published: whatever they are is possible"
CHOSEN = 6  # times in equal steps that are no accident
SLACK = 1e-11  # relative: what sums of logarithms in double precision move a curve
Ends = tuple[float, float] | None
LEVELS = (-1.959963984540054, 1.959963984540054, -1.6448536269514722, 1.6448536269514722, -2.5758293035489004,
          2.5758293035489004)  # fmt: skip
BANDS: tuple[Callable[[Floats, Floats], Floats], ...] = (  # ends of confidence intervals by their formulas
    lambda s, off: np.clip(s * (1 + off), 0, 1),
    lambda s, off: np.clip(np.exp(np.log(s) + off), 0, 1),
    lambda s, off: np.exp(-np.exp(np.log(-np.log(s)) + off / np.log(s))),
)
NONE = {"", "NA", "NaN", "nan", "None"}
_PRINTED = re.compile(r"\s*time\s+n\.risk\s+n\.event\b")


@dataclass(frozen=True)
class Curve:
    """One curve or life table: of whom, its listed times, and what a line says of each.

    `ends`: of a life table, when people of each line leave, and who is at risk at its begin; `lost`: how many leave
    without an event then. `errors`: standard errors of the curve or of its logarithm. `counted`: people at risk and
    events stand in the file; `whole`: somebody leaves at each listed time, nobody at another; `rows`: at the begin.
    """

    where: Condition
    times: tuple[Value, ...]
    steps: tuple[CurveStep, ...]
    name: str = ""
    ends: tuple[tuple[Test, Test], ...] = ()
    lost: tuple[int, ...] = ()
    errors: tuple[Ends, ...] = ()
    counted: bool = False
    whole: bool = False
    rows: int | None = None

    def figures(self, rows: int | None) -> tuple[list[PublishedFigure], int, bool]:
        """Return what holds of so many rows at most, how many times stay open, and whether errors are not used."""
        if rows is not None and self.rows is not None and rows != self.rows and not self.where:
            raise ReleaseError(f"the file says {self.rows:,} people, not {rows:,}")
        most = self.rows or rows or max((step.at_risk or 0 for step in self.steps), default=0)
        if not most:
            raise ReleaseError(MORE_ROWS)
        one = self if self.counted else self._with_flat_times(most)
        known = self.rows if self.rows is not None or self.where else rows
        pairs, unused = one._pairs(most, known is not None)
        out = [] if known is None else [PublishedFigure(self.where, count=known, name=f"all{self.name}")]
        for (at, since), (deaths, at_risk) in zip(self.ends or one._spans(), pairs, strict=True):
            if deaths[0] >= 0:
                out.append(_figure(self._of(at, 1), deaths, f"events, time {at}{self.name}"))
            out.append(_figure(self._of(since), at_risk, f"at risk, time {since}{self.name}"))
        for (at, _), lost in zip(self.ends, self.lost, strict=bool(self.lost)):
            out.append(PublishedFigure(self._of(at, 0), count=lost, name=f"left, time {at}{self.name}"))
        return out + one._between(), sum(len(deaths) > 1 for deaths, _ in pairs), unused

    def _with_flat_times(self, most: int) -> Curve:
        """Return the curve where times without a step are such that somebody left without an event, if that is sure.

        One death of so many people would show in the digits; then the list has every time at which somebody left.
        """
        low, flat, steps = 1.0, 0, list(self.steps)
        for i, step in enumerate(self.steps):
            before = self.steps[i - 1].figure if i else _begin(step)
            if step.figure is None or before is None or step.figure != before:
                low = low if step.survival is None else step.survival[0]
                continue
            drop = (1.0 if step.survival is None else low) / most
            if step.figure[1] - step.figure[0] > drop / 2:
                return self
            steps[i] = replace(step, deaths=0, left=int(self.times[i] != 0))
            flat += 1
        return replace(self, steps=tuple(steps), whole=True) if flat > (not Fraction(self.times[0])) else self

    def _pairs(self, most: int, known: bool) -> tuple[list[Pairs], bool]:
        """Return the pairs of events and people at risk that every time may have, and whether errors are not used.

        Standard errors are of the curve or of its logarithm: which one is known where the other contradicts the curve.
        """
        if self.chosen:
            return [(np.array([one.deaths]), np.array([one.at_risk])) for one in self.steps], False
        found = possible_pairs(self.steps, most, self.whole and known)
        told = list[list[Pairs]]()
        for share in (False, True) if self.errors and not self.counted else ():
            steps = tuple(step.with_error(error, share) for step, error in zip(self.steps, self.errors, strict=True))
            with suppress(ReleaseError):
                told.append(possible_pairs(steps, most, self.whole and known))
        return (told[0], False) if len(told) == 1 else (found, bool(self.errors) and not self.counted)

    def exact(self) -> tuple[list[float], list[float]]:
        """Return the curve that its counts make, and the standard error of its logarithm (Greenwood)."""
        curve, spread, out, errors = 1.0, 0.0, list[float](), list[float]()
        for step in self.steps:
            d, n = step.deaths or 0, step.at_risk or 1
            curve, spread = curve * (1 - d / n), spread + (d / (n * (n - d)) if d < n else math.inf)
            out, errors = [*out, curve], [*errors, math.sqrt(spread)]
        return out, errors

    def _of(self, time: Test, event: int | None = None) -> Condition:
        """Return the condition of those who leave in some time, by an event or not."""
        return (*self.where, (TIME, time), *(((EVENT, equals(event)),) if event is not None else ()))

    @property
    def chosen(self) -> bool:
        """Return whether the times may be chosen ones: events of a line may be of any time since the line before."""
        return (
            self.counted and not self.whole and all(one.survival is None and one.hazard is None for one in self.steps)
        )

    def _spans(self) -> list[tuple[Test, Test]]:
        """Return when the events of each line were, and who was at risk: those who left then or later."""
        since = [None, *self.times[:-1]]
        return [
            (Test(low=a, low_open=a is not None, high=b) if self.chosen else equals(b), Test(low=b))
            for a, b in zip(since, self.times, strict=True)
        ]

    def _between(self) -> list[PublishedFigure]:
        """Return that nobody has an event at a time that is not listed, or that nobody leaves then."""
        if self.ends or (self.chosen):
            return []
        event, what = (None, "nobody leaves") if self.whole else (1, "no event")
        gaps = [Test(high=self.times[0], high_open=True), Test(low=self.times[-1], low_open=True)]
        gaps += [Test(low=a, high=b, low_open=True, high_open=True) for a, b in pairwise(self.times)]
        return [PublishedFigure(self._of(gap, event), count=0, name=f"{what}, time {gap}{self.name}") for gap in gaps]


def _begin(step: CurveStep) -> tuple[float, float] | None:
    """Return a curve before its first time, where the first line says nothing else; else what no line says."""
    start = 0.0 if step.survival is None else 1.0
    return step.figure if step.figure is not None and step.figure[0] <= start <= step.figure[1] else (-1.0, -1.0)


def _figure(where: Condition, found: NDArray[np.int64], name: str) -> PublishedFigure:
    """Return how many rows meet a condition, by the numbers that are possible."""
    least, most = int(min(found)), int(max(found))
    return PublishedFigure(where, count=least, name=name) if least == most else PublishedFigure(
        where, low=least, high=most, name=name
    )  # fmt: skip


@dataclass(frozen=True)
class CurveDraft(Draft):
    """Curves before the number of people is known."""

    curves: tuple[Curve, ...] = ()
    stated: tuple[PublishedFigure, ...] = ()

    def of_rows(self, rows: int | None) -> CurveDraft:
        """Return the draft of so many people: all those of the curves, where they are told by groups."""
        found, left, ignored = list[PublishedFigure](), 0, False
        for curve in self.curves:
            figures, some, errors = curve.figures(rows)
            found, left, ignored = found + figures, left + some, ignored or errors
        unused = self.origin.unused
        if left:
            why = "its digits leave several numbers of events and of people at risk, which are stated as bounds"
            unused = (*unused, UnusedPublication(f"the curve at {left} of its times", why, about="rows"))
        if ignored:
            unused = (*unused, UnusedPublication("the standard errors", ERRORS_OF, about="rows"))
        total = RowCount(rows, rows) if rows is not None else self.rows
        origin, stated = replace(self.origin, unused=unused), tuple(found)
        return replace(self, origin=origin, models=(Table(stated, "curve"),), stated=stated, rows=total)

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the table over a domain; times that it has not are left out of what holds of them."""
        if not self.models:
            raise ReleaseError(MORE_ROWS)
        table = Table(placed_figures(self.stated, binder), "curve")
        return super(CurveDraft, replace(self, models=(table,))).bound(binder)


def placed_figures(stated: Iterable[PublishedFigure], binder: Binder) -> tuple[PublishedFigure, ...]:
    """Return figures over the times that a domain has: what holds of other times is left out.

    Raises `ReleaseError` where it has no times, or rows were counted at one that it has not.
    """
    place = binder.domain.place.get(TIME)
    if place is None:
        raise ReleaseError(f"the domain has no attribute '{TIME}', the end of each observation: call it so")
    kept = []
    for one in stated:
        condition = _clipped_condition(one.condition, binder.domain.all[place])
        if condition is not None:
            kept.append(replace(one, condition=condition))
        elif one.count or one.low:
            raise ReleaseError(f"{one.name} counts rows, but the domain has no such time")
    return tuple(kept)


def _clipped_condition(condition: Condition, time: AnyAttribute) -> Condition | None:
    """Return a condition without the ends that every time of a domain passes, None where none passes it."""
    if isinstance(time, Continuous) and not time.bounded:
        return condition
    known: Any = time.known  # positions of numbers, or of their values in a list
    value_at: Callable[[Any], Value] = time.value_at
    outer = [value_at(p) for p in (known[0], known[1] - (not isinstance(time, Continuous)))]
    least, most = (exact(v) if is_number(v) else None for v in outer)
    if least is None or most is None:
        raise ReleaseError(f"'{TIME}' has values that are no numbers: give times as numbers")
    out: list[tuple[str, Test]] = []
    for name, test in condition:
        if name != TIME:
            out.append((name, test))
        elif test.values is not None:
            if not _has(time, test.values[0]):
                return None
            out.append((name, test))
        else:
            low, high = (None if end is None else exact(end) for end in (test.low, test.high))
            if (low is not None and (low > most or (low == most and test.low_open))) or (
                high is not None and (high < least or (high == least and test.high_open))
            ):
                return None
            begins = low is None or low < least or (low == least and not test.low_open)
            ends = high is None or high > most or (high == most and not test.high_open)
            found = Test(None, None if begins else test.low, None if ends else test.high,
                         not begins and test.low_open, not ends and test.high_open)  # fmt: skip
            if _empty(time, found):
                return None
            out += [] if begins and ends else [(name, found)]
    return tuple(out)


def _empty(time: AnyAttribute, test: Test) -> bool:
    """Return whether no time of a domain with single times lies between two ends."""
    if isinstance(time, Continuous) or test.low is None or test.high is None:
        return False
    return time.cut(test.low, test.low_open) >= time.cut(test.high, not test.high_open)


def _has(time: AnyAttribute, value: Value) -> bool:
    """Return whether a domain has a time."""
    with suppress(ReleaseError):
        time.point(value)
        return True
    return False


def looks_like_survival(head: str) -> bool:
    """Return whether a text begins as R's printed summary of a curve, or with a header of times and survival."""
    if head.startswith("Call: survfit") or _PRINTED.match(head):
        return True
    first, _, rest = head.lstrip("\ufeff \r\n").partition("\n")
    names = [column_name(cell) for row in text_sheet(first).rows for cell in row.cells]
    kinds = {NAMES.get(name) for name in names}
    lifelines = len(names) == 2 and names[0] == "timeline" and bool(re.match(r"[\d.]+,1\.0\s", rest))
    return lifelines or ("time" in kinds and bool({"survival", "hazard"} & kinds or {"at risk", "events"} <= kinds))


def read_survival(text: str) -> Draft:
    """Return the people that a curve or life table counts. Cost: linear in lines times people.

    Raises `ReleaseError` naming the line that is no number of people or no time, or contradicts the lines before it.
    """
    text = text.lstrip("\ufeff")
    printed = text.lstrip().startswith("Call: survfit") or _PRINTED.match(text.lstrip()) is not None
    rows, lines = (None, _printed_lines(text)) if printed else _without_rows(text)
    return _draft_of_lines(lines, rows, f"{'R summary of survfit' if printed else 'CSV'}")


def _draft_of_lines(lines: Sequence[TableCells], rows: int | None, form: str) -> Draft:
    """Return the draft of the lines of a file, told into curves by their groups."""
    if not lines:
        raise ReleaseError("the table has no lines")
    names = list(lines[0].cells)
    kinds = {name: NAMES[name] for name in names if name in NAMES}
    if len(names) == 2 and "survival" not in kinds.values() and "time" in kinds.values():
        kinds |= dict.fromkeys((name for name in names if name not in kinds), "survival")
    double = next((k for k in kinds.values() if list(kinds.values()).count(k) > 1), None)
    if double is not None:
        raise ReleaseError(f"has two columns for {double}", place=lines[0].place)
    of = {kind: name for name, kind in kinds.items()}
    errors = next((name for name in names if name in ERRORS or name in {"std.error", "std.err"}), None)
    groups: dict[str, list[TableCells]] = {}
    for line in lines:
        groups.setdefault(str(line.cells[of["strata"]]).strip() if "strata" in of else "", []).append(line)
    curves = [_curve(some, of, errors, group, rows) for group, some in groups.items()]
    life = any(curve.ends for curve in curves)
    used = {*kinds, "", "index", "unnamed: 0", errors} - {of.get(kind) for kind in ("survival", "hazard") if life}
    other = {name: FOLLOW for name in names if name not in used}
    if all(curve.counted and not curve.ends for curve in curves):
        curves, other = _compared(curves, lines, of, other, errors)
    elif errors is not None and not all(curve.errors for curve in curves):
        other[errors] = FOLLOW
    blank = sum(
        str(line.cells[of[kind]]).strip() in NONE for kind in ("survival", "hazard") if kind in of for line in lines
    )
    return _draft_of(curves, other, form, (EMPTY.format(number=blank),) if blank else ())


def _compared(
    curves: Sequence[Curve], lines: Sequence[TableCells], of: dict[str, str], other: dict[str, str], errors: str | None
) -> tuple[list[Curve], dict[str, str]]:
    """Return counted curves without figures that are not those of their counts, and the columns that are not used."""
    shown = dict[str, list[Ends] | None]()
    for name in (*other, *([errors] if errors else ())):
        shown[name] = None
        with suppress(ReleaseError):
            shown[name] = _figures(lines, name)
    out, unused = list[Curve](), dict[str, str]()
    for curve in curves:
        try:
            possible_pairs(curve.steps, max(step.at_risk or 0 for step in curve.steps), False)
            out.append(curve)
        except ReleaseError:
            unused |= {of[kind]: CHOSEN_TIMES for kind in ("survival", "hazard") if kind in of}
            out.append(replace(curve, steps=tuple(replace(step, survival=None, hazard=None) for step in curve.steps)))
    exact = [one.exact() for one in out]
    shares, spread = (np.array([x for part in exact for x in part[k]]) for k in (0, 1))
    for name, found in shown.items():
        if any(one.chosen for one in out) or not _follows(found, shares, spread):
            unused[name] = FOLLOW
    return out, unused


def _follows(found: Sequence[Ends] | None, curve: Floats, spread: Floats) -> bool:
    """Return whether the figures of a column are standard errors or ends of intervals, of a curve with its spread."""
    if found is None:
        return False
    with np.errstate(all="ignore"):
        bounds = [f(curve, z * spread) for z in LEVELS for f in BANDS]
        for expected in (spread, curve * spread, *bounds):
            ends = zip(found, expected.tolist(), strict=True)
            if all(one is None or not math.isfinite(x) or one[0] <= x <= one[1] for one, x in ends):
                return True
    return False


def curve_object(root: RObject) -> RObject | None:
    """Return the only survival curve (survfit or its summary) in an R object, None where there is none, or others."""
    models = models_in(root)
    found = [one.value for one in models if {"survfit", "summary.survfit"} & set(one.value.classes)]
    return found[0] if len(found) == 1 == len(models) else None


def read_survival_rds(value: RObject) -> Draft:
    """Return the people that an R survival curve counts. Raises as `read_survival`, and for what is no such curve."""
    parts = named_parts(value)
    kind = [str(v) for v in parts["type"].values] if "type" in parts else []
    if "survfitcox" in value.classes or kind != ["right"] or "n.enter" in parts:
        raise Unsupported(
            "R curves of Cox models, late entries and several states are not read: give survfit(Surv(time, event) ~ 1)"
        )
    columns = [name for name in ("time", "n.risk", "n.event", "n.censor", "surv") if name in parts]
    found: dict[str, list[object]] = {name: vector(parts[name], name) for name in columns}
    groups = [""] * len(found.get("time", []))
    if "strata" in parts:
        groups = _strata(parts["strata"], len(groups))
    if {"time", "n.risk", "n.event"} - found.keys() or any(len(one) != len(groups) for one in found.values()):
        raise ReleaseError("has not as many times, people at risk and events: the object is broken")
    lines = []
    for i, group in enumerate(groups):
        cells: dict[str, Any] = {name: str(one[i]) for name, one in found.items()}
        lines.append(TableCells(f"{group or 'm'}, line {i + 1}", cells | ({"strata": group} if group else {})))
    return _draft_of_lines(lines, None, "R survfit object (.rds)")


def _strata(part: RObject, lines: int) -> list[str]:
    """Return the group of every line: names with numbers of lines, or (of a summary) one for each line."""
    entries = vector(part, "strata")
    if "factor" in part.classes:
        return [str(v) for v in entries]
    numbers = [int(str(v)) for v in entries]
    names = [str(v) for v in attribute(part, "names").values or ()]
    if len(names) != len(numbers) or sum(numbers) != lines or min(numbers, default=0) < 0:
        raise ReleaseError("has not one group for every line", place="strata")
    return [name for name, number in zip(names, numbers, strict=True) for _ in range(number)]


def _draft_of(curves: Sequence[Curve], other: dict[str, str], form: str, notes: tuple[str, ...]) -> Draft:
    """Return the draft of curves; `other`: columns that were not looked at."""
    life = any(curve.ends for curve in curves)
    loose = all(c.counted and all(s.figure is None for s in c.steps) for c in curves)
    draft = CurveDraft(
        Provenance(
            f"{LIFE if life else CURVE} ({form})",
            ("exact",),
            (UNTIED, *(() if life or loose else (LISTED,)), *notes),
            unused=tuple(
                UnusedPublication(f"the column '{name[:60]}'", why, about="rows") for name, why in other.items()
            ),
        ),
        tuple(Feature(a, a) for a in (TIME, EVENT, *dict.fromkeys(name for one in curves for name, _ in one.where))),
        hints=_hints(curves),
        groups=True,
        label="label",
        curves=tuple(curves),
    )
    if not all(c.counted or c.rows is not None for c in curves):
        return draft
    known = all(curve.rows is not None for curve in curves)
    least = sum(curve.rows or max(step.at_risk or 0 for step in curve.steps) for curve in curves)
    return replace(draft.of_rows(None), rows=RowCount(least, least if known else None))


def _hints(curves: Sequence[Curve]) -> dict[str, AnyAttribute]:
    """Return the times as a grid of their decimals, to one step after the last: it stands for all that are later."""
    every = [
        Fraction(t)
        for curve in curves
        for t in (*curve.times, *(at.high for at, _ in curve.ends if at.high is not None))
    ]
    step = Fraction(1, math.lcm(*(t.denominator for t in every)))
    last = max(every) + step
    if last / step > 1_000_000:
        return {}
    return {TIME: Grid.between(TIME, 0, plain_number(last), plain_number(step))}


def _without_rows(text: str) -> tuple[int | None, list[TableCells]]:
    """Return how many people a line such as `nobs,500` says there were, and the lines of the table."""
    kept, rows = list[str](), None
    for i, line in enumerate(text.splitlines(), 1):
        name, mark, number = line.replace(";", ",").replace("\t", ",").partition(",")
        if kept and mark and column_name(name) in ROWS and "," not in number:
            rows = whole_cell(number, f"line {i}")
        else:
            kept.append(line)
    return rows, csv_cells("\n".join(kept))


def _printed_lines(text: str) -> list[TableCells]:
    """Return the lines of R's printed summary of a curve, with the group that stands above them."""
    out, names, group = list[TableCells](), list[str](), ""
    for i, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if _PRINTED.match(raw):
            names = re.sub(r"(lower|upper) \d+% CI", r"\1", line).split()
        elif line and not line.startswith(("Call:", "survfit(")) and names and re.match(r"[\d.]", line):
            cells = line.split()
            if len(cells) != len(names):
                raise ReleaseError(f"has {len(cells)} numbers, the line of names {len(names)}", place=f"line {i}")
            found = dict(zip((column_name(name) for name in names), cells, strict=True))
            out.append(TableCells(f"line {i}", {**found, **({"strata": group} if group else {})}))
        elif "=" in line and not names:
            group = "" if line.startswith(("Call", "survfit")) else line
        elif re.fullmatch(r"[^()]{1,200}=[^()]{1,200}", line):
            group = line
        elif line and names:
            raise ReleaseError(f"'{line[:40]}' is no line of a curve", place=f"line {i}")
    return out


def _curve(lines: Sequence[TableCells], of: dict[str, str], errors: str | None, group: str, rows: int | None) -> Curve:
    """Return the curve of the lines of one group."""
    counts: dict[str, list[int]] = {
        kind: [whole_cell(line.cells[of[kind]], line.place) for line in lines]
        for kind in ("at risk", "events", "censored", "entrance")
        if kind in of
    }
    if any(counts.get("entrance", ())[1:]):
        raise Unsupported("people who entered late are not read: nobody says who was under observation when")
    counted, where = {"at risk", "events"} <= counts.keys(), _group(group, of.get("strata", ""), lines[0].place)
    name, steps = f" of {group}" if group else "", list[CurveStep]()
    spans = life_spans(lines, of["time"])
    if spans:
        if not counted:
            raise Unsupported("a life table without people at risk and events is not read: give both columns")
        for line, d, n in zip(lines, counts["events"], counts["at risk"], strict=True):
            if d > n:
                raise ReleaseError(f"counts {d:,} events among {n:,} people at risk", place=line.place)
            steps.append(CurveStep(line.place, deaths=d, at_risk=n))
        times = tuple(0 if at.low is None else at.low for at, _ in spans)
        return Curve(where, times, tuple(steps), name, spans, tuple(counts.get("censored", ())), counted=True)
    times = tuple(time_of(line.cells[of["time"]], line.place) for line in lines)
    for line, (a, b) in zip(lines[1:], pairwise(times), strict=True):
        if Fraction(b) <= Fraction(a):
            raise ReleaseError(f"the time {b} does not follow on {a}", place=line.place)
    if not counted:
        _refuse_chosen(times, lines[0].place)
    shares = {kind: _figures(lines, of[kind]) for kind in ("survival", "hazard") if kind in of}
    nothing: list[None] = [None] * len(lines)
    steps = [
        CurveStep(line.place, s, h, None, d, n)
        for line, s, h, d, n in zip(
            lines, shares.get("survival", nothing), shares.get("hazard", nothing), counts.get("events", nothing),
            counts.get("at risk", nothing), strict=True,
        )
    ]  # fmt: skip
    spread = tuple(_figures(lines, errors)) if errors is not None and "survival" in of else ()
    whole = counted and _leaves_everywhere(counts)
    begin = counts["at risk"][0] if "at risk" in counts and (whole or not Fraction(times[0])) else None
    known = begin if group or rows is None else rows
    if whole:
        steps = [replace(step, left=int(t != 0 and not step.deaths)) for step, t in zip(steps, times, strict=True)]
    return Curve(where, times, tuple(steps), name, (), (), spread, counted, whole, known)


def _leaves_everywhere(counts: dict[str, list[int]]) -> bool:
    """Return whether a list has every time at which somebody leaves: with those who do, all leave one after the other.

    Lists of events alone count people who leave until the next one, and have no line without an event.
    """
    at_risk, events, lost = (counts.get(kind, []) for kind in ("at risk", "events", "censored"))
    after = [*at_risk[1:], 0]
    return 0 in events[1:] and [n - d - c for n, d, c in zip(at_risk, events, lost, strict=False)] == after


def _figures(lines: Sequence[TableCells], name: str) -> list[Ends]:
    """Return between which numbers the figures of a column lie, None where there is none."""
    texts = [str(line.cells[name]).strip() for line in lines]
    given = [(text, f"{line.place}, {name}") for text, line in zip(texts, lines, strict=True) if text not in NONE]
    found = iter(intervals(given))
    out = [None if text in NONE else next(found) for text in texts]
    return [None if one is None else (max(float(one[0]) - SLACK, 0.0), float(one[1]) + SLACK) for one in out]


def _refuse_chosen(times: Sequence[Value], place: str) -> None:
    """Raise `Unsupported` for times in equal steps: somebody chose them, and events were at others."""
    steps = {Fraction(b) - Fraction(a) for a, b in pairwise(times)}
    if len(steps) == 1 and len(times) > CHOSEN:
        raise Unsupported(
            f"a curve at chosen times (each {float(steps.pop()):g} after the last) is not read: give it at the times "
            "of events, or with numbers at risk and of events (n.risk, n.event)"
        )


def _group(text: str, column: str, place: str) -> Condition:
    """Return the condition of a group, as R writes it (sex=1, stage=II) or as the value of a column."""
    if not text:
        return ()
    pairs = [part.partition("=") for part in text.split(", ")] if "=" in text else [(column, "=", text)]
    if any(not name.strip() or not mark for name, mark, _ in pairs):
        raise ReleaseError(f"'{text[:40]}' is not a group such as sex=1", place=place)
    values = [int(v) if re.fullmatch(r"-?\d{1,15}", v.strip()) else v.strip() for _, _, v in pairs]
    return tuple((name.strip(), equals(value)) for (name, _, _), value in zip(pairs, values, strict=True))
