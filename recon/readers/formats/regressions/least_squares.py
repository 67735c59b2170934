"""Linear regressions with the covariance of their coefficients: sums of columns and of products of two, over all rows.

A fit by least squares publishes b = (X'X)^-1 X'y and t (X'X)^-1, with t the variance of the residuals: X'X follows up
to t, X'y = X'X b, and with t and the number of rows y'y. Every number is known to its last digit, and numbers of
doubles to what rounding leaves of them, so that every sum is an interval, of columns of 0 and 1 mostly one whole
number: how many rows have both. statsmodels' objects hold (X'X)^-1 with 16 digits, with their data or without
(`remove_data`), whichever errors they report; tables are text (`regression_tables`).

Source: statsmodels 0.13 to 0.15, regression/linear_model.py (`normalized_cov_params`, by `pinv`); Wedin, "Perturbation
theory for pseudo-inverses", BIT 13, 1973.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Condition, Domain
from encoders.domain.values import AnyAttribute, Categorical, Continuous, Grid, Value, equals
from encoders.models.linear_figures import LinearFigure, LinearTerm
from encoders.models.models import AnyModel, Provenance, PublishedFigure, Table, UnusedPublication
from encoders.parts.statistics import MAX_VALUES
from recon.readers.formats.drafts.binding import Binder, Feature, free_label, other_columns
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.regressions.sums_of_products import (
    Ends,
    PublishedInverse,
    SumStructure,
    enclosed_sums,
    product_of,
    settled_sums,
)
from recon.readers.formats.rules.plain_values import texts
from recon.readers.formats.statistics.additive_models import span_of
from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ContradictionError, ReleaseError, Unsupported
from solvers.foundation.exact import short_number
from solvers.statements.release import RowCount

KINDS = ("RegressionResultsWrapper", "OLSResults", "RegressionResults")
ROUNDING = Fraction(16, 1 << 53)  # of a pseudo-inverse in doubles, times condition, columns and the root of rows
UNWEIGHTED = "the rows were fitted without weights, by ordinary least squares"
DOUBLES = "numbers of full length were worked out in double precision by a backward stable method (pinv, qr)"
SINGULAR = (
    "the covariance is singular: some columns are combinations of others, so that X'X does not follow; leave one value "
    "of every category out and fit again"
)
NO_ROWS = "with neither the number of rows nor the variance of residuals the sums follow but for a factor: give --rows"
COARSE = f"a column of more than {MAX_VALUES:,} values is not multiplied by one with numbers below 0"
CONSTANTS = {"const", "intercept", "(intercept)", "constant", "_cons"}
_PATSY = re.compile(r"(?:C\()?([^\[\](),]+)(?:,[^\[\]]*)?\)?\[(?:T\.)?(.+)\]")
NOT_THERE = "the domain has no column of this name"


@dataclass(frozen=True)
class DesignColumn:
    """A column of X (or y) over a domain: rows that meet a condition count with the value of an attribute, or with 1.

    `unit`: of what its values are multiples; None where a sum of it cannot be stated, for the reason in `why`.
    `coarse`: its attribute has so many values that cells hold several.
    """

    where: Condition = ()
    of: tuple[str, ...] = ()
    unit: Fraction | None = Fraction(1)
    ends: Ends = (Fraction(0), Fraction(1))
    why: str = ""
    coarse: bool = False

    def beside(self, other: DesignColumn) -> str:
        """Return why the product with a column cannot be summed over cells of many values; "" where it can."""
        many = (self.coarse or other.coarse) and len(self.of) + len(other.of) > 1
        return COARSE if many and min(self.ends[0], other.ends[0]) < 0 else ""

    @property
    def bit(self) -> bool:
        """Return whether it is 0 or 1 in every row."""
        return not self.of and self.unit is not None


@dataclass(frozen=True, eq=False)
class CovarianceDraft(Draft):
    """A regression before its columns are known: (X'X)^-1 times a scale, coefficients, both with what they may be off.

    `columns`: names in order, "" the constant. `weights` () where there are no coefficients. `scale` None: not
    published. `unscaled`: the inverse is without it. `free`: rows less coefficients.
    """

    columns: tuple[str, ...] = ()
    middle: tuple[tuple[Fraction, ...], ...] = ()
    off: tuple[tuple[Fraction, ...], ...] = ()
    weights: tuple[Ends, ...] = ()
    scale: Ends | None = None
    unscaled: bool = False
    response: str = ""

    def of_rows(self, rows: int) -> Draft:
        """Return the draft where the number of rows is said, which no file says otherwise."""
        if self.rows is not None and not self.rows.low <= rows <= (self.rows.high or rows):
            raise ReleaseError(f"the regression is of {self.rows.low:,} rows, not {rows:,}")
        return guessed(replace(self, rows=RowCount(rows, rows), hints={}))

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the table of sums over a domain; what cannot be stated is named as unused."""
        columns = [_design_column(name, binder) for name in self.columns]
        names = [name for name in self.columns if name]
        if names and all(one.why == NOT_THERE for name, one in zip(self.columns, columns, strict=True) if name):
            raise other_columns(names, "the regression")
        answer = response_column(self.response, binder)
        place = self.origin.unused
        left = [
            _unused_column(name, one.why) for name, one in zip(self.columns, columns, strict=True) if one.unit is None
        ]
        figures: list[PublishedFigure] = []
        sums = self._settled(columns, binder.domain, figures, left)
        if not self.weights:
            left.append(UnusedPublication("sums with the response", "no coefficients stand there", labels=True))
        elif answer.unit is None:
            left.append(UnusedPublication(f"the coefficients of '{self.response}'", answer.why, labels=True))
        else:
            self._with_response(columns, answer, sums, figures, left)
        figures = list(dict.fromkeys(figures))
        if self.rows is not None and self.rows.exact:
            figures.insert(0, PublishedFigure((), count=self.rows.low, name="all rows"))
        free = freedom_within(self.rows, len(self.columns))
        origin = replace(self.origin, unused=(*place, *dict.fromkeys(left)), freedom=free)
        return (Table(tuple(figures), "sums of products", origin=origin),) if figures else ()

    @property
    def inverse(self) -> PublishedInverse:
        """Return the inverse; `Unsupported` where neither its scale nor the number of rows is known."""
        if self.unscaled:
            return PublishedInverse(self.middle, self.off, (Fraction(1), Fraction(1)))
        if self.scale is not None:
            return PublishedInverse(self.middle, self.off, self.scale)
        rows = self.rows
        if rows is None or rows.high is None or "" not in self.columns:
            raise Unsupported(NO_ROWS if "" in self.columns else NO_ROWS.replace("--rows", "a line sigma,... beside"))
        at = self.columns.index("")
        least, most = enclosed_sums(PublishedInverse(self.middle, self.off, (Fraction(1), Fraction(1))))[at][at]
        if least <= 0:
            raise ReleaseError(
                f"the digits leave the number of rows open: {short_number(least)} to {short_number(most)}"
            )
        return PublishedInverse(self.middle, self.off, (rows.low / most, rows.high / least))

    def _settled(
        self,
        columns: Sequence[DesignColumn],
        domain: Domain,
        figures: list[PublishedFigure],
        left: list[UnusedPublication],
    ) -> list[list[Ends]]:
        """Return the ends of all sums of products of two columns, and add what they say to the figures, or why not."""
        numbers: dict[object, int] = {}
        units: list[Fraction | None] = []
        ends: list[tuple[Fraction | None, Fraction | None]] = []
        names: list[str] = []
        said: list[tuple[DesignColumn, DesignColumn] | None] = []
        place = [[0] * len(columns) for _ in columns]
        for i, one in enumerate(columns):
            for j, other in enumerate(columns[: i + 1]):
                key, pair = _pair_key(one, other, i, j, domain)
                if key not in numbers:
                    numbers[key] = len(units)
                    units.append(_pair_unit(one, other))
                    ends.append(self._range(one, other, key))
                    both = [self.columns[k][:60] for k in dict.fromkeys((j, i)) if self.columns[k]]
                    names.append(f"'{' and '.join(both)}'")
                    said.append(pair)
                place[i][j] = place[j][i] = numbers[key]
        settled = settled_sums(self.inverse, SumStructure(place, units, ends, names))
        for pair, (low, high), name in zip(said, settled, names, strict=True):
            if pair is None:
                continue
            if why := pair[0].beside(pair[1]):
                left.append(UnusedPublication(f"the covariance of {name}", why, about="columns"))
            else:
                figures.append(_figure(pair, low, high, name))
        return [[settled[k] for k in line] for line in place]

    def _range(self, one: DesignColumn, other: DesignColumn, key: object) -> tuple[Fraction | None, Fraction | None]:
        """Return what sums of a product can be at all, given the number of rows."""
        if key == "none":
            return Fraction(0), Fraction(0)
        if one.unit is None or other.unit is None:
            return None, None
        rows = self.rows
        low, high = product_of(one.ends, other.ends)
        if key == "all" and rows is not None:
            return Fraction(rows.low), None if rows.high is None else Fraction(rows.high)
        if rows is None or rows.high is None:
            return (Fraction(0) if low >= 0 else None), None
        return min(Fraction(0), rows.high * low) if low < 0 else rows.low * low, rows.high * max(Fraction(0), high)

    def _with_response(
        self,
        columns: Sequence[DesignColumn],
        answer: DesignColumn,
        sums: Sequence[Sequence[Ends]],
        figures: list[PublishedFigure],
        left: list[UnusedPublication],
    ) -> None:
        """Add the sums of products with the response, and of its squares where the scale is published."""
        found = [_product_sum(line, self.weights) for line in sums]
        for one, name, ends in zip(columns, self.columns, found, strict=True):
            unit = _pair_unit(one, answer)
            if unit is not None:
                both = f"'{f'{name[:60]} and ' if name else ''}{self.response[:60]}'"
                if why := one.beside(answer):
                    left.append(UnusedPublication(f"the coefficient of {both}", why, labels=True, about="columns"))
                    continue
                figures.append(_whole_figure((one, answer), ends, unit, both, self.rows))
        if self.scale is None or self.rows is None or not self.rows.exact or (answer.bit and "" in self.columns):
            return  # of 0 and 1 the squares are the sum itself
        if answer.beside(answer):
            return
        free = self.rows.low - len(columns)
        explained = _product_sum(found, self.weights)
        squares = (explained[0] + free * self.scale[0], explained[1] + free * self.scale[1])
        unit = _pair_unit(answer, answer)
        assert unit is not None
        figures.append(_whole_figure((answer, answer), squares, unit, f"squares of '{self.response[:60]}'", self.rows))


def _product_sum(sums: Sequence[Ends], weights: Sequence[Ends]) -> Ends:
    """Return the ends of the sum of products of intervals."""
    every = [product_of(one, other) for one, other in zip(sums, weights, strict=True)]
    return sum((low for low, _ in every), Fraction(0)), sum((high for _, high in every), Fraction(0))


def _unused_column(name: str, why: str) -> UnusedPublication:
    return UnusedPublication(f"the covariances of '{name[:60]}'", why, about="columns")


def _pair_unit(one: DesignColumn, other: DesignColumn) -> Fraction | None:
    return None if one.unit is None or other.unit is None else one.unit * other.unit


def _pair_key(
    one: DesignColumn, other: DesignColumn, i: int, j: int, domain: Domain
) -> tuple[object, tuple[DesignColumn, DesignColumn] | None]:
    """Return which sum the product of two columns has ("all": the rows, "none": 0), and how it is stated."""
    if one.unit is None or other.unit is None:
        return (i, j), None
    if one.bit and other.bit:
        where = tuple(dict.fromkeys((*one.where, *other.where)))
        if not where:
            return "all", None
        if not all(domain.resolve(where).values()):
            return "none", None
        return frozenset(where), (DesignColumn(where), DesignColumn())
    return (frozenset((*one.where, *other.where)), tuple(sorted((*one.of, *other.of)))), (one, other)


def _figure(pair: tuple[DesignColumn, DesignColumn], low: Fraction, high: Fraction, name: str) -> PublishedFigure:
    """Return a sum as a figure: of two columns of 0 and 1 a number of rows."""
    where = tuple(dict.fromkeys((*pair[0].where, *pair[1].where)))
    of = (*pair[0].of, *pair[1].of)
    label = f"sum of {name}" if of else f"rows with {name}"
    if not of and low == high:
        return PublishedFigure(where, count=int(low), name=label)
    if not of:
        return PublishedFigure(where, low=max(0, math.ceil(low)), high=math.floor(high), name=label)
    return PublishedFigure((), linear=LinearFigure((LinearTerm((where,), of),), low, high), name=label)


def _whole_figure(
    pair: tuple[DesignColumn, DesignColumn], ends: Ends, unit: Fraction, name: str, rows: RowCount | None
) -> PublishedFigure:
    """Return a sum as a multiple of its unit; `ReleaseError` where the digits leave none."""
    low, high = unit * math.ceil(ends[0] / unit), unit * math.floor(ends[1] / unit)
    if pair[0].bit and pair[1].bit:
        low = max(low, Fraction(0))
        high = high if rows is None or rows.high is None else min(high, Fraction(rows.high))
    if low > high:
        raise ContradictionError(
            f"no {'number of rows' if pair[0].bit and pair[1].bit else 'sum'} of {name} has these digits "
            f"({short_number(ends[0], 10)} to {short_number(ends[1], 10)} follow from the coefficients): a digit was "
            "changed, rows were weighted, or the covariances are of another fit; publish coefficients and covariances "
            "of one fit",
            (f"the coefficients, at {name}",),
        )
    return _figure(pair, low, high, name)


def _design_column(name: str, binder: Binder) -> DesignColumn:
    """Return what a column of X is over the domain: an attribute, a binary column, or a value of an attribute."""
    if not name:
        return DesignColumn(ends=(Fraction(1), Fraction(1)))
    feature = binder.features.get(name)
    domain, known = binder.domain, name if feature is None else feature.attribute
    if known in domain.columns:
        return DesignColumn(((known, equals(1)),))
    if known in domain.place:
        return attribute_column(domain.all[domain.place[known]], known)
    if (found := _PATSY.fullmatch(name)) and (own := found[1].strip()) in domain.place:
        value = _value_called(domain.all[domain.place[own]], found[2])
        if value is not None:
            return DesignColumn(((own, equals(value)),))
    for attribute in domain.all if name not in domain.place else ():
        rest = name.removeprefix(attribute.name) if name.startswith(attribute.name) else ""
        value = _value_called(attribute, rest.strip(" _=:.")) if rest else None
        if value is not None and (isinstance(value, str) or not rest[0].isalnum()):  # "age2" is no age of 2
            return DesignColumn(((attribute.name, equals(value)),))
    return DesignColumn(unit=None, why=NOT_THERE)


def _value_called(attribute: AnyAttribute, text: str) -> Value | None:
    """Return the value of an attribute that is written so."""
    if not isinstance(attribute, Categorical):
        return None
    short = text.removesuffix(".0")
    return next((v for v in attribute.values if str(v) in {text, short}), None)


def attribute_column(attribute: AnyAttribute, name: str) -> DesignColumn:
    """Return an attribute as a column: values of which all are multiples of a unit."""
    if attribute.missing:
        return DesignColumn(unit=None, why="rows may have no value of it in the domain: which were fitted is not known")
    if isinstance(attribute, Continuous):
        return DesignColumn(unit=None, why="the domain gives it no 'resolution', so that its values cannot be summed")
    if isinstance(attribute, Categorical) and not attribute.numeric:
        return DesignColumn(unit=None, why="its values in the domain are not numbers")
    if isinstance(attribute, Categorical):
        if set(attribute.numbers) <= {0, 1}:
            return (
                DesignColumn(((name, equals(attribute.values[attribute.numbers.index(Fraction(1))])),))
                if (Fraction(1) in attribute.numbers)
                else DesignColumn(unit=None, why="it is always 0 in the domain")
            )
        scale = math.lcm(1, *(v.denominator for v in attribute.numbers))
        unit = Fraction(math.gcd(*(int(v * scale) for v in attribute.numbers)) or 1, scale)
    else:
        assert isinstance(attribute, Grid)
        scale = math.lcm(attribute.minimum.denominator, attribute.step.denominator)
        unit = Fraction(math.gcd(int(attribute.minimum * scale), int(attribute.step * scale)), scale)
    low, high = span_of(attribute)
    return DesignColumn(of=(name,), unit=unit, ends=(low, high), coarse=attribute.known[1] > MAX_VALUES)


def response_column(name: str, binder: Binder) -> DesignColumn:
    """Return what y is over the domain: the attribute of its name, or else the label."""
    domain = binder.domain
    feature = binder.features.get(name)
    known = name if feature is None else feature.attribute
    if known not in domain.place and known not in domain.columns:
        if domain.label is None:
            return DesignColumn(unit=None, why="the domain has neither a column of this name nor a label")
        known = domain.label.name
    if known in domain.columns:
        return DesignColumn(((known, equals(1)),))
    return attribute_column(domain.all[domain.place[known]], known)


def freedom_within(rows: RowCount | None, coefficients: int) -> tuple[int, int | None]:
    """Return the least and the most that the rows of a regression less its coefficients can be (None: no end)."""
    low, high = (0, None) if rows is None else (rows.low, rows.high)
    return max(0, low - coefficients), None if high is None else max(0, high - coefficients)


def guessed(draft: CovarianceDraft) -> CovarianceDraft:
    """Return the draft with the number of rows, where it follows, and columns that may be of 0 and 1 as such.

    Of 0 and 1 are those whose sum is that of their squares, a whole number as far as the digits say.
    """
    if draft.scale is None and not draft.unscaled and (draft.rows is None or "" not in draft.columns):
        return draft
    hints: dict[str, AnyAttribute] = {one.name: Continuous(one.name) for one in draft.features}
    if "" not in draft.columns:
        return replace(draft, hints=hints)
    sums, at = enclosed_sums(draft.inverse), draft.columns.index("")
    low, high = math.ceil(sums[at][at][0]), math.floor(sums[at][at][1])
    rows = draft.rows or RowCount(max(1, low), max(1, high))
    if not rows.low <= high or not low <= (rows.high or low):
        ends = f"{short_number(sums[at][at][0], 10)} to {short_number(sums[at][at][1], 10)}"
        raise ContradictionError(
            f"the digits of the covariances are of {ends} rows{'' if draft.rows is None else f', not {rows.low:,}'}: "
            "rows were weighted, errors are robust or clustered, or the variance is of another fit; publish "
            "what one unweighted OLS prints, cov_type='nonrobust'",
            ("the covariances, at the number of rows",),
        )
    for j, name in enumerate(draft.columns):
        least, most = max(sums[at][j][0], sums[j][j][0]), min(sums[at][j][1], sums[j][j][1], Fraction(high))
        if name and max(1, math.ceil(least)) <= most:
            hints[name] = Categorical(name, (0, 1))
    if draft.weights and draft.response in hints and draft.scale is not None and rows.exact:
        found = [_product_sum(line, draft.weights) for line in sums]
        explained, left = _product_sum(found, draft.weights), rows.low - len(sums)
        least = max(explained[0] + left * draft.scale[0], found[at][0])
        if math.ceil(least) <= min(explained[1] + left * draft.scale[1], found[at][1]):
            hints[draft.response] = Categorical(draft.response, (0, 1))
    return replace(draft, rows=rows, hints=hints)


def float_errors(inverse: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
    """Return how far entries of (X'X)^-1 that was worked out in doubles may be off.

    A pseudo-inverse is that of a matrix nearby: its rows are off by the condition of X times its norm.
    """
    values = np.linalg.eigvalsh((inverse + inverse.T) / 2)
    if not np.isfinite(values).all() or values[0] <= 0:
        return np.full(inverse.shape, np.inf)
    norm = math.sqrt(values[-1])
    each = float(ROUNDING) * (math.sqrt(rows) + len(values)) * math.sqrt(values[-1] / values[0]) * norm
    roots = np.sqrt(np.maximum(np.diag(inverse), 0))
    return np.asarray(each * (roots[:, None] + roots[None, :]) + each * each)


def read(thing: Thing, form: str) -> Draft:
    """Return what a fitted regression of statsmodels says of its columns.

    Raises `Unsupported` naming weights and other models, `ReleaseError` for what is broken or has no inverse.
    """
    found = thing.get("_results", thing)
    model = found.get("model") if isinstance(found, Thing) else None
    if not isinstance(model, Thing) or model.class_name != "OLS":
        name = getattr(model, "class_name", "this")
        raise Unsupported(
            f"of statsmodels' linear models OLS is read, not {name}: its sums are of rows by weight; fit OLS, or "
            "publish coefficients alone (`recon inspect` says what the file holds)"
        )
    weights, inverse = resolve(found.get("params")), resolve(found.get("normalized_cov_params"))
    rows, rank = model.get("nobs"), model.get("rank")
    if not isinstance(weights, np.ndarray) or weights.ndim != 1 or not np.isfinite(weights).all() or not weights.size:
        raise ReleaseError("has no coefficients", place="params")
    size = len(weights)
    if not isinstance(inverse, np.ndarray) or inverse.shape != (size, size) or not np.isfinite(inverse).all():
        raise ReleaseError("has no covariance of the coefficients", place="normalized_cov_params")
    if not isinstance(rows, (int, float)) or rows != int(rows) or not size < rows < 1 << 40:
        raise ReleaseError(f"{rows} is not a number of rows", place="model.nobs")
    if isinstance(rank, int) and rank < size:
        raise Unsupported(SINGULAR)
    names, response, named = _names_in(model, size)
    place = getattr(model.get("data"), "get", lambda *_: None)("const_idx")
    scale = next((v for v in (found.get("scale"), _cached_values(found).get("scale")) if isinstance(v, float)), None)
    form, names = f"statsmodels OLS ({form})", ["const" if j == place else name for j, name in enumerate(names)]
    return of_doubles(form, names, inverse, weights.tolist(), int(rows), scale, True, response, named)


def without_constant(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of columns with "" for the constant; `ReleaseError` where two are called like it."""
    columns = tuple("" if name.lower() in CONSTANTS else name for name in names)
    if len(set(columns)) < len(columns):
        raise ReleaseError("two columns have one name, or are called like the constant")
    return columns


def of_doubles(
    form: str, names: Sequence[str], inverse: NDArray[np.float64], weights: Sequence[float], rows: int | None,
    scale: float | None, unscaled: bool, response: str = "response", named: bool = True,
) -> Draft:  # fmt: skip
    """Return the draft of an inverse and coefficients with 16 digits; `unscaled`: without the variance of residuals.

    Raises `Unsupported` for a matrix without an inverse.
    """
    size = len(names)
    if inverse.shape != (size, size) or not np.isfinite(inverse).all() or len(weights) not in {0, size}:
        raise ReleaseError(f"has no covariance of its {size} coefficients with each other")
    off = float_errors(inverse, rows or 1_000_000)
    if not math.isfinite(off[0, 0]):  # then all of them
        raise Unsupported(SINGULAR)
    columns = without_constant(names)
    each = weight_errors(inverse, np.array(weights), scale, rows) if rows and len(weights) else Fraction(0)
    near = ROUNDING * (size + math.isqrt(rows or 0))
    return guessed(
        CovarianceDraft(
            Provenance(form, ("size",), (UNWEIGHTED, DOUBLES)),
            tuple(Feature(name, name) for name in (*filter(None, columns), *([response] if named else []))),
            label=free_label(columns, response),
            named=named,
            rows=None if rows is None else RowCount(rows, rows),
            columns=columns,
            middle=tuple(tuple(map(Fraction, line)) for line in ((inverse + inverse.T) / 2).tolist()),
            off=tuple(tuple(map(Fraction, line)) for line in off.tolist()),
            weights=tuple((Fraction(b) - each, Fraction(b) + each) for b in weights),
            scale=None if scale is None else (Fraction(scale) * (1 - near), Fraction(scale) * (1 + near)),
            unscaled=unscaled,
            response=response if response not in columns else free_label(columns, response),
        )
    )


def _cached_values(found: Thing) -> Mapping[Any, Any]:
    """Return what a result of statsmodels has worked out and keeps."""
    cache = found.get("_cache")
    return cache if isinstance(cache, dict) else {}


def weight_errors(
    inverse: NDArray[np.float64], weights: NDArray[np.float64], scale: float | None, rows: int
) -> Fraction:
    """Return how far coefficients may be off: errors of the rows of the pseudo-inverse times the size of y.

    Where the variance of residuals is not known, the size of y is a hundred times what the fit explains of it.
    """
    values = np.linalg.eigvalsh((inverse + inverse.T) / 2)
    explained = float(weights @ np.linalg.solve(inverse, weights))
    size = math.sqrt(max(explained, 0.0) * (1 if scale is not None else 10_000) + rows * (scale or 0.0))
    each = 4 * float(ROUNDING) * (math.sqrt(rows) + len(values)) * math.sqrt(values[-1] / values[0] * values[-1]) * size
    return Fraction(each)


def _names_in(model: Thing, size: int) -> tuple[list[str], str, bool]:
    """Return the names of the columns and of the response, and whether the file has them.

    Raises `Unsupported` where a formula made the columns, and their names are left out.
    """
    data = model.get("data")
    get = data.get if isinstance(data, Thing) else lambda *_: None
    formula = next((v for v in (get("formula"), model.get("formula")) if isinstance(v, str)), "")
    cache, response = get("_cache"), formula.partition("~")[0].strip()
    kept: Mapping[Any, Any] = cache if isinstance(cache, dict) else {}
    found = next((v for v in (texts(get("xnames")), texts(kept.get("xnames")), _axis(get("orig_exog"))) if v), None)
    own = next(
        (v for v in (get("ynames"), kept.get("ynames"), next(iter(_axis(get("orig_endog")) or ()), None)) if v), None
    )
    response = own if isinstance(own, str) else response or "response"
    if found is not None and len(found) == size == len(set(found)):
        return found, response, True
    if formula:
        raise Unsupported(f"the names of the columns that the formula '{formula[:80]}' made are not stored")
    place = get("const_idx")
    inner = [j for j in range(size) if j != place]
    return [f"x{inner.index(j)}" if j != place else "const" for j in range(size)], response, False


def _axis(frame: Any) -> list[str] | None:
    """Return the names of a stored pandas table's columns, or the name of a stored column."""
    manager = frame.get("_mgr") if isinstance(frame, Thing) else None
    axes = manager.args[1] if isinstance(manager, Thing) and len(manager.args) > 1 else None
    named = frame.get("_name") if isinstance(frame, Thing) else None
    if isinstance(named, str):
        return [named]
    return texts(axes[0]) if isinstance(axes, list) and axes else None
