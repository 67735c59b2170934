"""Linear statements: what the rows of groups add up to, with any coefficients, as statements in whole numbers.

Coefficients and bounds are exact fractions. A statement is scaled by the least number that makes all its coefficients
whole, then divided by what they have in common; bounds are rounded inwards, which loses nothing. A union of conditions
becomes disjoint regions. An attribute with more than `MAX_VALUES` values in a group stays coarse: the sum is then
bounded by the least and greatest number of each part, from both sides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from encoders.domain.domain import Domain
from encoders.domain.values import Position
from encoders.models.linear_figures import LinearFigure, LinearTerm
from encoders.parts.base import CutDomain, Resolutions
from encoders.parts.statistics import LARGEST, MAX_VALUES, PartNumbers, numbers_of, numeric
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.boxes import Box, Region
from solvers.statements.release import UNBOUNDED, RowCount, Statement, Summand

MAX_COMBINATIONS = 1_000_000  # of parts of the attributes that a term multiplies
ROUNDED_FROM = 1 << 52  # sums that may be so large are stated with coefficients rounded to fewer digits
KEPT = 1 << 44  # of which this is the largest sum


def term_cuts(domain: Domain, terms: Iterable[LinearTerm]) -> dict[int, set[Position]]:
    """Return where attributes that are summed are cut: at every value in the groups that sum them (at most 2,000)."""
    out: dict[int, set[Position]] = {}
    for term in terms:
        for condition in term.conditions if term.of else ():
            held = domain.resolve(condition)
            for name in term.of:
                k = numeric(domain, name)
                if name in domain.columns:
                    domain.cut_points(dict([domain.view_ranges(name)]), out)
                    continue
                ranges = held.get(k, (domain.all[k].span,))
                if sum(b - a for a, b in ranges) <= MAX_VALUES:
                    out.setdefault(k, set()).update(p for a, b in ranges for p in range(a, b + 1))
                out.setdefault(k, set()).add(domain.all[k].known[1])
    return out


WeightedTerm = tuple[Fraction, Region, tuple[tuple[int, tuple[int, ...]], ...]]  # times, where, numbers by attribute
Weighted = list[WeightedTerm]


@dataclass(frozen=True, eq=False)
class _Product:
    """Rows of a region add `times` the product of numbers: per attribute the least and the greatest of each part."""

    region: Region
    times: Fraction
    factors: tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...]

    @property
    def coarse(self) -> bool:
        """Return whether some part holds several numbers."""
        return any(least != greatest for _, least, greatest in self.factors)

    def end(self, greatest: bool, source: str) -> WeightedTerm:
        """Return `times`, the region, and factors that are at most (or at least) what rows add."""
        upper = greatest == (self.times > 0)
        if not self.coarse:
            return self.times, self.region, tuple((k, least) for k, least, _ in self.factors)
        if len(self.factors) > 1 and any(min(least) < 0 for _, least, _ in self.factors):
            message = f"a product of attributes, one of more than {MAX_VALUES:,} values and one with negative numbers"
            raise Unsupported(f"{source}: {message}, is not encoded")
        return self.times, self.region, tuple((k, high if upper else low) for k, low, high in self.factors)


def _products(
    term: LinearTerm, cut: CutDomain, resolved: Resolutions, numbers: dict[str, PartNumbers], source: str
) -> Iterator[_Product]:
    """Yield what a term adds, by disjoint regions."""
    boxes = [cut.box(resolved[condition]) for condition in term.conditions]
    for i, box in enumerate(boxes):
        by_attribute: dict[int, list[PartNumbers]] = {}
        for name in term.of:
            if name not in numbers:
                numbers[name] = numbers_of(cut, name)
            numbers[name].refuse_missing(box, source)
            by_attribute.setdefault(numbers[name].of, []).append(numbers[name])
        times, factors = term.times, []
        for k, several in by_attribute.items():
            mask = dict(box.literals).get(k, -1)
            least, greatest = _multiplied(several, mask)
            unit = math.gcd(*least, *greatest) or 1
            times *= Fraction(unit, math.prod(one.scale for one in several))
            factors.append((k, tuple(v // unit for v in least), tuple(v // unit for v in greatest)))
        if math.prod(len(set(zip(a, b, strict=True))) for _, a, b in factors) > MAX_COMBINATIONS:
            raise Unsupported(f"{source}: more than {MAX_COMBINATIONS:,} combinations of values are multiplied")
        yield _Product(Region(box, tuple(boxes[:i])), times, tuple(factors))


def _multiplied(several: Sequence[PartNumbers], mask: int) -> tuple[list[int], list[int]]:
    """Return per part the least and greatest product of numbers of one attribute; 0 outside the mask."""
    least, greatest = [], []
    for part, ends in enumerate(zip(*(zip(one.least, one.greatest, strict=True) for one in several), strict=True)):
        low = high = 1 if mask >> part & 1 else 0
        for a, b in ends:
            found = [x * y for x in (low, high) for y in (a, b)]
            low, high = min(found), max(found)
        least.append(low)
        greatest.append(high)
    return least, greatest


def _added_up(every: Weighted) -> Weighted:
    """Return terms of which those over the same region and attribute (or numbers) are one; none that adds nothing."""
    found: dict[object, WeightedTerm] = {}
    for times, region, factors in every:
        key = (region, tuple(k for k, _ in factors) if len(factors) == 1 else factors)
        if key in found and len(factors) == 1:
            before, _, ((k, coefs),) = found[key]
            common = math.lcm(before.denominator, times.denominator)
            often = int(before * common), int(times * common)
            sums = [often[0] * a + often[1] * b for a, b in zip(coefs, factors[0][1], strict=True)]
            unit = math.gcd(*sums) or 1
            found[key] = (Fraction(unit, common), region, ((k, tuple(v // unit for v in sums)),))
        else:
            found[key] = (times + (found[key][0] if key in found else 0), region, factors)
    return [one for one in found.values() if one[0] and all(any(coefs) for _, coefs in one[2])]


def _summands_of(every: Weighted, unit: Fraction) -> tuple[Summand, ...]:
    """Return terms divided by a unit, as summands; one of a single attribute has all in its numbers."""
    out = []
    for times, region, factors in every:
        share = times / unit
        if len(factors) == 1:
            k, coefs = factors[0]
            out.append(Summand(region, 1, ((k, tuple(int(share * c) for c in coefs)),)))
        else:
            out.append(Summand(region, int(share), factors))
    return tuple(out) or (Summand(Region(Box()), 0),)


def _unit_of(every: Weighted) -> Fraction:
    """Return the greatest number of which all coefficients are multiples."""
    parts = [times * (math.gcd(*factors[0][1]) if len(factors) == 1 else 1) for times, _, factors in every]
    common = math.lcm(*(x.denominator for x in parts))
    return Fraction(math.gcd(*(int(x * common) for x in parts)) or 1, common)


def _largest(every: Weighted) -> Fraction:
    """Return a number that no row adds more than, or takes away more than."""
    return sum((abs(t) * math.prod(max(map(abs, c)) for _, c in factors) for t, _, factors in every), Fraction(0))


def _rounded_terms(every: Weighted, step: Fraction, up: bool, source: str) -> Weighted:
    """Return terms with coefficients rounded up or down to multiples of a step."""

    def near(x: Fraction) -> Fraction:
        return (math.ceil(x / step) if up else math.floor(x / step)) * step

    out: Weighted = []
    for times, region, factors in every:
        if len(factors) == 1:
            k, coefs = factors[0]
            out.append((step, region, ((k, tuple(int(near(times * c) / step) for c in coefs)),)))
        elif all(min(coefs) >= 0 for _, coefs in factors):
            out.append((near(times), region, factors))
        else:
            message = "its coefficients have too many digits for a product of attributes with negative numbers"
            raise Unsupported(f"{source}: {message}")
    return _added_up(out)


def _power_of_two(number: Fraction) -> Fraction:
    """Return the greatest power of two that is at most a positive number."""
    found = Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length())
    return found if found <= number else found / 2


def linear_statements(
    figure: LinearFigure, cut: CutDomain, resolved: Resolutions, rows: RowCount, source: str,
    numbers: dict[str, PartNumbers],
) -> list[Statement]:  # fmt: skip
    """Return the statements of a linear figure: one, or where parts are coarse or numbers long, one per bound.

    `numbers`: those of names that figures before it had, over the same domain; what it needs beside is added.
    Raises `ReleaseError` where sums may exceed 2^62, `Unsupported` for products that are not encoded.
    """
    products = [p for term in figure.terms for p in _products(term, cut, resolved, numbers, source)]
    coarse = any(p.coarse for p in products)
    most = _added_up([p.end(True, source) for p in products])
    least = _added_up([p.end(False, source) for p in products]) if coarse else most
    n = None if rows.high is None else max(1, rows.high)
    sizes = [_largest(one) * (n or 1) for one in (least, most)]
    if any(size >= ROUNDED_FROM * _unit_of(one) for size, one in zip(sizes, (least, most), strict=True)):
        step, coarse = _power_of_two(max(sizes) / KEPT), True
        least, most = _rounded_terms(least, step, False, source), _rounded_terms(most, step, True, source)
    low, high = figure.interval
    if not coarse:
        return [_between(most, low, high, n, source)]
    out = [] if high is None else [_between(least, None, high, n, source)]
    out += [] if low is None else [_between(most, low, None, n, source)]
    return [replace(one, coarse=True) for one in out]


@dataclass(frozen=True, eq=False)
class NoisySum:
    """A sum that noise was added to: it is `unit` times (what the statement sums - `shift`), which is 0 to `most`."""

    statement: Statement
    unit: Fraction
    shift: int
    most: int | None


def noisy_sum(
    figure: LinearFigure, whole: bool, cut: CutDomain, resolved: Resolutions, rows: RowCount, source: str
) -> NoisySum:
    """Return the statement of a sum with noise, without bounds; `whole`: the noise is made of whole numbers.

    What rows take away is added for every row where their number is known, so that no sum is negative. Raises
    `Unsupported` where it is not, for coarse attributes, and for whole noise on sums that are not whole.
    """
    numbers: dict[str, PartNumbers] = {}
    products = [p for term in figure.terms for p in _products(term, cut, resolved, numbers, source)]
    if any(p.coarse for p in products):
        raise Unsupported(
            f"{source}: noise on sums of an attribute with more than {MAX_VALUES:,} values is not encoded"
        )
    every = _added_up([p.end(True, source) for p in products])
    unit = _unit_of(every)
    if whole and unit.denominator != 1:
        raise Unsupported(f"{source}: its noise is whole, and its coefficients are not")
    unit = Fraction(1) if whole else unit
    summands = _summands_of(every, unit)
    under = sum(min(0, one.extremes[0]) for one in summands)
    if under and not rows.exact:
        raise Unsupported(f"{source}: noise on a sum that may be negative is encoded only where 'rows' is known")
    if under:
        summands = (*summands, Summand(Region(Box()), -under))
    most = None if rows.high is None else rows.high * sum(max(0, one.extremes[1]) for one in summands)
    if most is not None and most >= LARGEST:
        raise Unsupported(f"{source}: the sum over the rows may be beyond 2^62")
    return NoisySum(Statement(summands, 0, UNBOUNDED, source), unit, -under * rows.low, most)


def _between(every: Weighted, low: Fraction | None, high: Fraction | None, rows: int | None, source: str) -> Statement:
    """Return that terms add up to low..high, in the smallest whole numbers; `rows` at most (None: any number)."""
    unit = _unit_of(every)
    most = int(_largest(every) / unit) * (rows or 1)
    if most >= LARGEST:
        raise ReleaseError(f"{source}: the sum over the rows may be 2^{most.bit_length() - 1} or more, beyond 2^62")
    far = LARGEST if rows is None else most + 1  # beyond all sums one bound says what any other does
    lower = -UNBOUNDED if low is None else max(-far, min(math.ceil(low / unit), far))
    upper = UNBOUNDED if high is None else max(-far, min(math.floor(high / unit), far))
    if rows is None:  # sums may lie beyond: such a bound is none
        lower, upper = (-UNBOUNDED if lower == -far else lower), (UNBOUNDED if upper == far else upper)
    return Statement(_summands_of(every, unit), lower, upper, source)
