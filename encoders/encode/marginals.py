"""Figures of single columns as statements on the values of one attribute, over a declared domain.

Means and variances are sums of numbers and of squares about the mean, divided by their number. They were computed in
64-bit floats, so that the sum is near what they say; it is stated where one whole number (or decimal) is so near.
Quantiles and commonest values are stated as more than was published: that enough rows have them, whatever way quantiles
are counted. Worlds that have these have the figures; that there are none says nothing.

Source: scikit-learn, `_incremental_mean_and_var` (sklearn/utils/extmath.py); Higham, "The accuracy of floating point
summation", SIAM J. Sci. Comput. 14, 1993 (a pairwise sum of n terms errs by at most log2 n roundings of their sizes).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Cell, Continuous, Grid, Value, exact, is_number
from encoders.encode.encoder import EncodedRelease, figures_of
from encoders.models.models import ColumnFigures
from solvers.foundation.errors import Unsupported
from solvers.statements.release import RowCount

if TYPE_CHECKING:
    from solvers.engines.marginal_statements import Marginal

ERROR = Fraction(1, 1 << 46)  # of a pairwise sum of floats, in parts of the sum of the terms' sizes
FINEST = 1 << 20  # parts of one that numbers may have
LARGEST = 1 << 59  # of a sum


def marginals_of(release: EncodedRelease) -> list[Marginal]:
    """Return the statements of all figures of single columns, each once.

    Raises `Unsupported` naming the figures that cannot be stated. Cost: figures times values of their attribute.
    """
    every = [one for figures in figures_of(release) for one in column_statements(figures, release.domain, release.rows)]
    found: dict[tuple[int, bytes, int, int], Marginal] = {}
    for one in every:
        found.setdefault((one.attribute, one.weights.tobytes(), one.low, one.high), one)
    return list(found.values())


def column_statements(figures: ColumnFigures, domain: Domain, rows: RowCount) -> Iterator[Marginal]:
    """Yield the statements of one column's figures over so many rows."""
    from solvers.engines.marginal_statements import Marginal

    if figures.drawn is not None and (rows.high is None or rows.high > figures.drawn):
        raise Unsupported(f"{figures.source}: the figures are of {figures.drawn:,} rows, drawn if there were more")
    k, cells = _cells_of(figures.column, domain)
    made = [cell if figures.make is None else figures.make(cell) for cell in cells]
    values = [None if v is None or (isinstance(v, float) and math.isnan(v)) else v for v in made]
    for what, weights, low, high in (*_of_values(figures, values, rows), *_of_numbers(figures, values, rows)):
        if max(map(abs, weights), default=0) * max(1, rows.high or 1) >= LARGEST or max(abs(low), abs(high)) >= LARGEST:
            raise Unsupported(f"{figures.source}: sums over the rows of '{figures.column}' are too large")
        if low > 0 and not any(weights):
            raise Unsupported(f"{figures.source}: the {what} is not a value of '{figures.column}' in the domain")
        yield Marginal(k, np.array(weights, dtype=np.int64), low, high, f"{figures.source}, {what} of {figures.column}")


def _cells_of(column: str, domain: Domain) -> tuple[int, list[Cell]]:
    """Return the attribute behind a column, and the column's cell for each of its values."""
    from solvers.engines.marginal_statements import MAX_VALUES

    k = domain.place.get(column)
    ranges: Any = None
    if k is None and column not in domain.columns:
        raise Unsupported(f"'{column}' is neither an attribute nor a column of the domain: declare it (--domain)")
    if k is None:
        k, ranges = domain.view_ranges(column)
    attribute = domain.all[k]
    if isinstance(attribute, Continuous):
        raise Unsupported(f"'{attribute.name}' has no values that could be gone through: declare them (--domain)")
    assert isinstance(attribute, Categorical | Grid)
    known = attribute.known[1]
    if known > MAX_VALUES:
        raise Unsupported(f"'{attribute.name}' has {known:,} values, too many to go through")
    if ranges is not None:
        positions = range(attribute.span[1])
        return k, [int(any(start <= i < end for start, end in ranges)) for i in positions]
    return k, [*(attribute.value_at(i) for i in range(known)), *([None] if attribute.missing else [])]


Sum = tuple[str, Sequence[int], int, int]


def _of_values(figures: ColumnFigures, values: Sequence[Value | None], rows: RowCount) -> Iterator[Sum]:
    """Yield which values occur: each of them in a row at least, no other in any; and which most rows have."""
    if figures.commonest is not None:
        for value in sorted({v for v in values if v is not None and v != figures.commonest}, key=str):
            yield "commonest value", [(v == figures.commonest) - (v == value) for v in values], 1, LARGEST - 1
    among = figures.values if figures.values is not None else figures.among
    if among is None:
        return
    most = rows.high if rows.high is not None else LARGEST - 1
    for value in sorted(figures.values or (), key=str):
        yield f"value {value}", [int(v == value) for v in values], 1, most
    known = [v is not None and v in among for v in values]
    yield "no other value", [int(not k and v is not None) for k, v in zip(known, values, strict=True)], 0, 0
    if figures.gap is not None and any(v is None for v in values):
        yield "missing value", [int(v is None) for v in values], int(figures.gap), most if figures.gap else 0


def _of_numbers(figures: ColumnFigures, values: Sequence[Value | None], rows: RowCount) -> Iterator[Sum]:
    """Yield extremes, the number of rows with a number, and sums."""
    published = (figures.mean, figures.least, figures.greatest, figures.largest, *figures.quantiles)
    if all(one is None for one in published):
        return
    if not all(v is None or is_number(v) for v in values):
        raise Unsupported(f"{figures.source}: '{figures.column}' has values that are not numbers")
    numbers = [None if v is None else exact(v) for v in values]
    most = rows.high if rows.high is not None else LARGEST - 1
    sized = [None if x is None else abs(x) for x in numbers]
    for name, found, end, sign in (
        ("least value", numbers, figures.least, 1), ("greatest value", numbers, figures.greatest, -1),
        ("greatest absolute value", sized, figures.largest, -1),
    ):  # fmt: skip
        if end is not None:
            at = exact(end)
            yield name, [int(x == at) for x in found], 1, most
            yield f"nothing beyond the {name}", [int(x is not None and (at - x) * sign > 0) for x in found], 0, 0
    for j, parts, value in figures.quantiles:
        at = exact(value)
        if at not in numbers:
            raise Unsupported(f"{figures.source}: {value:g} lies between two values of '{figures.column}'")
        below = [0 if x is None else j - parts * (x < at) for x in numbers]
        until = [0 if x is None else parts * (x <= at) - j for x in numbers]
        yield from ((f"quantile {value:g}", one, 2 * parts, LARGEST - 1) for one in (below, until))
    if figures.mean is not None:
        yield from _sums(figures, numbers, rows)


def _sums(figures: ColumnFigures, numbers: Sequence[Fraction | None], rows: RowCount) -> Iterator[Sum]:
    """Yield the number of rows with a number, their sum, and the sum of squares about a whole number near the mean."""
    own, missing, n = figures.source, any(x is None for x in numbers), figures.rows
    if n is None and missing:
        yield from _mean_of_some(figures, numbers, rows)
        return
    n = rows.low if n is None else n
    if not missing and (n, n) != (rows.low, rows.high):
        raise Unsupported(f"{own}: the mean is of {n:,} rows, the counts are of another number")
    scale = math.lcm(*(x.denominator for x in numbers if x is not None))
    if scale > FINEST and not missing and numbers[-1] is not None:
        yield from _filled(figures, numbers, n)
        return
    if scale > FINEST:
        raise Unsupported(f"{own}: '{figures.column}' has numbers too fine to be summed exactly")
    whole = [None if x is None else int(x * scale) for x in numbers]
    greatest = max((abs(x) for x in whole if x is not None), default=0)
    mean = exact(figures.mean or 0) * scale
    total, squares = _only(_nearest(mean * n, ERROR * n * greatest), figures), None
    if figures.variance is not None:
        spread = exact(figures.variance) * scale * scale * n
        squares = _only(_squares_about(mean, n, spread, n * greatest), figures)
    yield from _moments(whole, n, total, squares, round(mean))


def _moments(whole: Sequence[int | None], n: int, total: int, squares: int | None, near: int) -> Iterator[Sum]:
    """Yield how many rows have a number where some have none, the sum, and that of squares about `near` if known."""
    if any(x is None for x in whole):
        yield "rows with a number", [int(x is not None) for x in whole], n, n
    yield "sum", [x or 0 for x in whole], total, total
    if squares is not None:
        yield "sum of squares", [0 if x is None else (x - near) ** 2 for x in whole], squares, squares


def _squares_about(mean: Fraction, n: int, spread: Fraction, size: int) -> tuple[int, int]:
    """Return the least and the greatest sum of squares about the whole number near a mean, by that about the mean.

    `size`: what the sizes of all numbers can sum to.
    """
    return _nearest(spread + n * (mean - round(mean)) ** 2, ERROR * (4 * spread + Fraction(size, 8)))


def _ratio(figures: ColumnFigures, rows: int) -> Fraction:
    """Return the mean as the quotient of whole numbers, the lower one a number of rows."""
    found = exact(figures.mean or 0).limit_denominator(max(1, rows))
    if float(found) != figures.mean:
        raise Unsupported(f"{figures.source}: the mean of '{figures.column}' is none of so many numbers")
    return found


def _mean_of_some(figures: ColumnFigures, numbers: Sequence[Fraction | None], rows: RowCount) -> Iterator[Sum]:
    """Yield that the numbers that are there have the mean, however many they are."""
    scale = math.lcm(*(x.denominator for x in numbers if x is not None))
    mean = _ratio(figures, (rows.high or 0) * scale)
    weights = [0 if x is None else int((x - mean) * scale * mean.denominator) for x in numbers]
    yield "mean", weights, 0, 0


def _filled(figures: ColumnFigures, numbers: Sequence[Fraction | None], n: int) -> Iterator[Sum]:
    """Yield statements on a column whose gaps (the last of the values) were filled with the mean of the others.

    How many others there are is one of the numbers of rows that agree with mean and variance, the greatest.
    """
    given = [x for x in numbers[:-1] if x is not None]
    scale = math.lcm(*(x.denominator for x in given))
    if scale > FINEST or numbers[-1] is None or not math.isclose(float(numbers[-1]), figures.mean or 0, rel_tol=1e-12):
        raise Unsupported(f"{figures.source}: '{figures.column}' has numbers too fine to be summed exactly")
    mean = _ratio(replace(figures, mean=float(numbers[-1])), n * scale) * scale
    spread, whole = exact(figures.variance or 0) * scale * scale * n, [int(x * scale) for x in given]
    greatest = max(map(abs, whole), default=0)
    for there in range(n - n % mean.denominator, 0, -mean.denominator):
        low, high = _squares_about(mean, there, spread, n * greatest)
        if figures.variance is None or low == high:
            squares = None if figures.variance is None else low
            yield from _moments([*whole, None], there, int(mean * there), squares, round(mean))
            return
    raise Unsupported(f"{figures.source}: of how many rows the mean of '{figures.column}' is, is not known")


def _nearest(value: Fraction, error: Fraction) -> tuple[int, int]:
    """Return the least and the greatest whole number so near; the least is the greater where there is none."""
    return math.ceil(value - error), math.floor(value + error)


def _only(ends: tuple[int, int], figures: ColumnFigures) -> int:
    """Return the one whole number between ends; `Unsupported` where there is none, or several."""
    low, high = ends
    if low == high:
        return low
    why = "the rows were weighted, or the numbers rounded" if low > high else "it takes more digits than it has"
    raise Unsupported(f"{figures.source}: which sum of '{figures.column}' it is of is not known ({why})")
