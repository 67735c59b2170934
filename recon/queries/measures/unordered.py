"""What a release leaves beyond the order of its rows: datasets counted as multisets, in whatever convention one asks.

A count of sequences (`ordered`, and `assigned` inside each leaf) also counts in which order the rows stand, which is
not what anybody means by what a model gives away: a release that gives back every row still leaves up to log2 n! bits
of it. Figures without the order are the ones in which a tree, and the same tree with a table, can be compared.

Source: docs/mathematics.md, "Possible worlds and their conventions".
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recon.queries.measures.figures import Measures

Ends = tuple[float, float]


def bits_left(m: Measures) -> Ends | None:
    """Return the bits left of a release without the order of rows, least and most (equal where exact).

    With the number of rows open: of its uniform prior and the datasets given it. None where datasets are not counted.
    """
    found = m.datasets
    if found is None or found.relative or found.status == "unsat":
        return None
    if found.status == "exact":
        logs = list(found.log2_per_rows.values())
        left = math.log2(len(logs)) + math.fsum(logs) / len(logs) if logs else found.bounds[0]
        return left, left
    lower, upper = found.bounds
    if m.rows is None:  # the mean of logarithms is at most that of the sum, but has no other bound from it
        lower = 0.0
    elif m.unordered_before is not None:
        upper = min(upper, m.unordered_before)
    return max(0.0, lower), max(0.0, upper)


def row_order(m: Measures) -> Ends | None:
    """Return the bits of the entropy that are the order of rows, least and most (equal where exact).

    The entropy less that of the datasets without an order: log2 of how many orders a dataset has on average, the order
    inside each leaf or rule in the convention `assigned`, 0 in `multiset`. None where either is not known.
    """
    left = bits_left(m)
    if m.convention == "multiset":
        return None if left is None else (0.0, 0.0)
    whole = m.entropy_bounds if m.entropy_bits is None else (m.entropy_bits, m.entropy_bits)
    if left is None or whole is None:
        return None
    minimum, maximum = max(0.0, whole[0] - left[1]), max(0.0, whole[1] - left[0])
    if left[0] < left[1] and m.rows is not None:  # a dataset has n! orders at most
        maximum = min(maximum, math.lgamma(m.rows + 1) / math.log(2) * (1.0 + 2.0**-50))
    return min(minimum, maximum), maximum


def dist_g(m: Measures) -> Ends | None:
    """Return Dist_G without the order of rows, least and greatest (equal where exact); None where it is not defined."""
    left, before = bits_left(m), m.unordered_before
    return None if left is None or not before else (left[0] / before, left[1] / before)


def removed_per_row(m: Measures) -> Ends | None:
    """Return the bits removed per row without the order of rows, least and most; None where that is not defined."""
    left, before = bits_left(m), m.unordered_before
    return None if left is None or before is None or not m.rows else tuple_of(before, left, m.rows)


def tuple_of(before: float, left: Ends, rows: int) -> Ends:
    """Return what bits left leave of the bits before, per row."""
    return (before - left[1]) / rows, (before - left[0]) / rows
