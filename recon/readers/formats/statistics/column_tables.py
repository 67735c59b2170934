"""Columns by themselves: a leaf per category, and sums of a column's values as intervals of what rounding leaves.

A mean times its number of rows is a sum. It was worked out in floats: of n numbers of size at most m, added one by one
and divided, it is off by less than n (n + 8) u m, with u half the last digit of a number of size 1; means of batches
that were joined cost less than 8 times that. Over a grid few sums lie that near, mostly one.

A variance times its number of rows is the sum S of squares about the mean. With a mean that is off by d it is off by
n d^2, and by n + 16 roundings of S and of 2 d sqrt(n S); about a value of the grid it is n times the square of their
distance more, a sum of squares of whole steps, of which mostly one is that near.

Source: Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed. 2002, sections 1.9 and 4.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from encoders.domain.domain import Condition
from encoders.domain.values import AnyAttribute, Categorical, Continuous, Grid, Test, Value, equals, exact, plain_number
from encoders.models.linear_figures import LinearFigure, LinearTerm
from encoders.models.models import PublishedFigure, Statistic, Table, Tree
from encoders.models.nodes import ModelNode, Nodes, Support
from recon.readers.formats.statistics.additive_models import span_of
from solvers.foundation.exact import short_number

DOUBLE, SINGLE = Fraction(1, 1 << 53), Fraction(1, 1 << 24)
JOINED = 8
DIGITS = 14  # of means, so that sums of deviations from them stay in 62 bits


def category_tree(name: str, groups: Sequence[tuple[Test, tuple[int, ...]]]) -> Tree:
    """Return a tree with a leaf of counts per class for each test, and one without rows for what passes none.

    One count alone is of all classes together.
    """
    nodes: list[ModelNode] = []
    for test, counts in groups:
        leaf = Support(counts) if len(counts) > 1 else Support(count=counts[0])
        nodes += [ModelNode(Support(), ((name, test),), len(nodes) + 1, len(nodes) + 2), ModelNode(leaf)]
    others = (0,) * len(groups[0][1])
    nodes.append(ModelNode(Support(others) if len(others) > 1 else Support(count=0), name="others"))
    return Tree(Nodes.of(nodes), name)


def class_rows(rows: Sequence[int], classes: Sequence[Value], label: str) -> Table:
    """Return the table of the rows of all, and of every class."""
    each = zip(classes, rows, strict=True)
    counts = (PublishedFigure(((label, equals(value)),), count=n, name=f"class {value}") for value, n in each)
    return Table((PublishedFigure((), count=sum(rows), name="all rows"), *counts), "rows of classes")


@dataclass(frozen=True)
class ColumnMean:
    """The mean of a feature over the rows that meet a condition and have a value: so many (None: not known).

    `most`: rows at most. `unit`: how far numbers were rounded, `given`: how far the rows were before they were added.
    `total`: the sum of its values, where it was published. `variance`: the sum of squares about the mean over the rows,
    less `smoothing`, which the file adds to it.
    """

    feature: str
    mean: float
    rows: int | None
    most: int
    where: Condition = ()
    unit: Fraction = DOUBLE
    name: str = ""
    total: int | None = None
    variance: float | None = None
    smoothing: float = 0.0
    given: Fraction = Fraction(0)

    def _off(self, largest: Fraction) -> Fraction:
        """Return how far the mean may be from that of the domain's values, at most."""
        return (JOINED * (self.most + 8) * self.unit + self.given) * largest

    def statistic(self, attribute: AnyAttribute | None, of: str) -> Statistic | str:
        """Return the total (the mean, where the rows are not known) of an attribute or column, or why there is none.

        `attribute` None: a column of 0 and 1.
        """
        if isinstance(attribute, Continuous):
            return "the domain gives it no 'resolution', so that its values cannot be summed"
        if isinstance(attribute, Categorical) and not attribute.numeric:
            return "its values in the domain are not numbers"
        if self.total is not None:
            return Statistic("total", of, self.total)
        base, unit, largest = _lattice(attribute)
        each = self._off(largest)
        value = Fraction(self.mean)
        if self.rows is None:
            decimals = max(0, DIGITS - math.ceil(math.log10(float(self.most * largest)) + 1))
            near = round(self.mean, decimals)
            return Statistic("mean", of, near, round(_above(each) + 2 * 10.0**-decimals, decimals + 1))
        total, off = self.rows * value, self.rows * each
        first = math.ceil((total - off - self.rows * base) / unit)
        last = math.floor((total + off - self.rows * base) / unit)
        if first > last:
            return (
                f"no sum of values of the domain is as near to {self.rows:,} times {self.mean:.10g} as rounding leaves"
            )
        only = plain_number(self.rows * base + unit * first)
        if first == last and exact(only) == self.rows * base + unit * first:
            return Statistic("total", of, only)
        near = float(total)
        return Statistic("total", of, near, _above(off + abs(exact(near) - total)))

    def squares(self, attribute: AnyAttribute | None, of: str, where: Condition) -> LinearFigure | str | None:
        """Return the sum of squares about the value of the domain's grid next to the mean, or why there is none.

        None where no variance was published, or the rows are not known. Call it where `statistic` gives a sum.
        """
        n = self.rows
        if self.variance is None or not n:
            return None
        base, unit, largest = _lattice(attribute)
        off, mean = self._off(largest), Fraction(self.mean)
        about = base + unit * round((mean - base) / unit)
        spread = n * (Fraction(self.variance) - Fraction(self.smoothing))
        root = Fraction(math.sqrt(max(0.0, float(spread)) * n) * (1 + 1e-9))
        each = JOINED * (n + 16) * self.unit
        error = each * (4 * abs(spread) + 4 * largest * root + n * Fraction(abs(self.smoothing)))
        error += n * (2 * abs(mean - about) * off + 4 * off * off) + 2 * self.given * largest * root
        value = spread + n * (mean - about) ** 2
        first, last = math.ceil((value - error) / unit**2), math.floor((value + error) / unit**2)
        if first > last or last < 0:
            return (
                f"no sum of squares of values of the domain is as near to {short_number(value, 10)} as rounding leaves"
            )
        terms = (
            LinearTerm((where,), (of, of)),
            LinearTerm((where,), (of,), -2 * about),
            LinearTerm((where,), (), about**2),
        )
        return LinearFigure(tuple(t for t in terms if t.times), unit**2 * max(0, first), unit**2 * last)


def _lattice(attribute: AnyAttribute | None) -> tuple[Fraction, Fraction, Fraction]:
    """Return a value, of which multiple all values differ from it, and the greatest size of one."""
    if attribute is None:
        return Fraction(0), Fraction(1), Fraction(1)
    assert isinstance(attribute, Categorical | Grid)
    low, high = span_of(attribute)
    largest = max(abs(low), abs(high), Fraction(1))
    if isinstance(attribute, Grid):
        return attribute.minimum, attribute.step, largest
    gaps = [number - attribute.numbers[0] for number in attribute.numbers[1:]]
    scale = math.lcm(1, *(gap.denominator for gap in gaps))
    return attribute.numbers[0], Fraction(math.gcd(*(int(gap * scale) for gap in gaps)) or 1, scale), largest


def _above(value: Fraction) -> float:
    """Return a float that is no less than a number."""
    return float(value) * (1 + 1e-12) if value else 0.0


def texts_or_numbers(texts: Sequence[str]) -> tuple[Value, ...]:
    """Return texts as numbers where all of them are different ones, R's TRUE and FALSE as 1 and 0."""
    from recon.readers.formats.statistics.additive_models import number_of

    if set(texts) <= {"TRUE", "FALSE"}:
        return tuple(int(text == "TRUE") for text in texts)
    found = [number_of(text) for text in texts]
    return tuple(texts) if None in found or len(set(found)) < len(found) else tuple(v for v in found if v is not None)
