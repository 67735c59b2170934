"""Sums of products from an inverse that was published with so many digits: X'X from the covariance of coefficients.

With V = t (X'X)^-1 known up to D (entry by entry) and G = X'X, V0 G V0 = t (V0 - D) + D G D for the published V0: every
entry of V0 G V0 - t V0 is at most t |D| + |D| G |D|. That is one linear inequality on the sums G per printed number,
with no inverse in it. A first enclosure of G is a float inverse R with its error bounded in whole numbers:
E = 1 - R V has rows below 1 in a weighted norm, so that V^-1 - R = (1 - E)^-1 E R. Then each sum that may still have
several values is bounded by multipliers of the inequalities: floats choose them, whole numbers check what follows. Sums
of whole columns are whole; one that is settled is known to all others.

Source: Rump, "Verification methods", Acta Numerica 19, 2010, sections 10.1 and 10.3 (enclosed inverses); Neumaier,
Shcherbina, "Safe bounds in linear and mixed-integer programming", Mathematical Programming 99, 2004 (rigorous bounds
from approximate multipliers).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.errors import ContradictionError, ReleaseError
from solvers.foundation.exact import short_number

BITS = 96  # of the numbers that are calculated with, after every column was given the size 1
MULTIPLIER_BITS = 60
MAX_COLUMNS = 64
MAX_UNKNOWN = 400  # sums that are bounded together
PASSES, STEPS = 4, 12  # over all open sums; of reweighting for one
Ends = tuple[Fraction, Fraction]
Integers = NDArray[Any]  # Python's whole numbers, of any length
NOT_KNOWN = (
    "so few digits leave everything open (a matrix without an inverse has them too): print more, and leave columns out "
    "that are combinations of others"
)


@dataclass(frozen=True, eq=False)
class PublishedInverse:
    """t (X'X)^-1 as it was published: `middle` up to `off`, with t between the two ends of `scale`."""

    middle: Sequence[Sequence[Fraction]]
    off: Sequence[Sequence[Fraction]]
    scale: Ends

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self.middle)


@dataclass(frozen=True, eq=False)
class SumStructure:
    """What is known of sums of products before: which pairs have one sum, of what each is a multiple, and its ends.

    `place[i][j]`: the number of the sum of columns i and j. `unit` None: any number. `ends`: None is no end.
    """

    place: Sequence[Sequence[int]]
    unit: Sequence[Fraction | None]
    ends: Sequence[tuple[Fraction | None, Fraction | None]]
    names: Sequence[str]


def _powers(inverse: PublishedInverse) -> list[int]:
    """Return the exponent of two next to the root of every entry on the diagonal."""
    diagonal = [float(inverse.middle[i][i]) for i in range(len(inverse))]
    if not all(v > 0 and math.isfinite(v) for v in diagonal):
        raise ReleaseError(f"the covariance of a coefficient with itself is {min(diagonal):.6g}, not above 0")
    return [round(math.log2(v) / 2) for v in diagonal]


def _scaled_matrix(inverse: PublishedInverse, powers: Sequence[int]) -> tuple[Integers, Integers]:
    """Return the entries by columns of size 1, in units of 2^-BITS, and how far each may be off, rounding included."""
    size = len(inverse)
    middle, off = np.empty((size, size), dtype=object), np.empty((size, size), dtype=object)
    for i in range(size):
        for j in range(size):
            unit = Fraction(2) ** (BITS - powers[i] - powers[j])
            middle[i, j] = round(inverse.middle[i][j] * unit)
            off[i, j] = math.ceil(inverse.off[i][j] * unit) + 1
    return middle, off


def _ceiled(values: Integers, bits: int) -> Integers:
    """Return whole numbers divided by a power of two, rounded up."""
    return -((-values) >> bits)


def _enclosed_inverse(middle: Integers, off: Integers) -> tuple[Integers, Integers]:
    """Return an approximate inverse, in units of 2^-BITS, and how far each entry of any inverse may lie from it.

    Raises `ReleaseError` where some matrix that near may have none.
    """
    size, one = len(middle), 1 << BITS
    floats = middle.astype(np.float64) / one
    try:
        found = np.linalg.inv((floats + floats.T) / 2)
    except np.linalg.LinAlgError:
        found = np.full((size, size), np.nan)
    if not np.isfinite(found).all() or (np.diag(found) <= 0).any() or np.abs(found).max() > 1e15:
        raise ReleaseError(NOT_KNOWN)
    near = np.vectorize(lambda v: round(Fraction(v) * one), otypes=[object])(found)
    error = np.abs(near @ middle - (one << BITS) * np.eye(size, dtype=int).astype(object)) + np.abs(near) @ off
    error = _ceiled(error, BITS)
    weight = np.array([max(1, round(math.sqrt(v) * 1024)) for v in np.diag(found)], dtype=object)
    share = max(Fraction(int(a), int(b) << BITS) for a, b in zip(error @ weight, weight, strict=True))
    if 2 * share >= 1:
        raise ReleaseError(NOT_KNOWN)
    first = _ceiled(error @ np.abs(near), BITS)
    rest = share / (1 - share)
    off_inverse = first.copy()
    for j in range(size):
        largest = max(Fraction(int(a), int(b)) for a, b in zip(first[:, j], weight, strict=True))
        off_inverse[:, j] += np.array([math.ceil(rest * largest * int(w)) for w in weight], dtype=object)
    return near, np.minimum(off_inverse, off_inverse.T)


def enclosed_sums(inverse: PublishedInverse) -> list[list[Ends]]:
    """Return the least and the greatest sum of products of every pair of columns. Cost: cubic in columns.

    Raises `ReleaseError` where so few digits leave everything open.
    """
    if len(inverse) > MAX_COLUMNS:
        raise ReleaseError(f"more than {MAX_COLUMNS} coefficients are not solved for")
    powers = _powers(inverse)
    near, off = _enclosed_inverse(*_scaled_matrix(inverse, powers))
    out = []
    for i, power in enumerate(powers):
        line = []
        for j, other in enumerate(powers):
            unit = Fraction(2) ** -(BITS + power + other)
            line.append(product_of(((near[i, j] - off[i, j]) * unit, (near[i, j] + off[i, j]) * unit), inverse.scale))
        out.append(line)
    return out


def product_of(one: Ends, other: Ends) -> Ends:
    """Return the ends of a product of two intervals."""
    every = [a * b for a in one for b in other]
    return min(every), max(every)


def settled_sums(inverse: PublishedInverse, structure: SumStructure) -> list[Ends]:
    """Return the ends of every sum of a structure, as multiples of its unit.

    Raises `ContradictionError` naming the sum that no data set has. Cost: a least-squares problem of all sums for every
    one that is open, `STEPS` times `PASSES` at most.
    """
    enclosed = enclosed_sums(inverse)
    low: list[Fraction | None] = [ends[0] for ends in structure.ends]
    high: list[Fraction | None] = [ends[1] for ends in structure.ends]
    for i, line in enumerate(enclosed):
        for j, (least, most) in enumerate(line):
            k = structure.place[i][j]
            _refuse_outside(structure, k, (least, most))
            low[k] = least if low[k] is None else max(low[k], least)  # type: ignore[type-var]
            high[k] = most if high[k] is None else min(high[k], most)  # type: ignore[type-var]
    ends = [_whole_ends(structure, k, (low[k] or Fraction(0), high[k] or Fraction(0))) for k in range(len(low))]
    if len(ends) > MAX_UNKNOWN:
        return ends
    for _ in range(PASSES):
        open_sums = [k for k, unit in enumerate(structure.unit) if unit is not None and ends[k][0] < ends[k][1]]
        if not open_sums:
            break
        before = list(ends)
        _narrow(inverse, structure, ends, open_sums)
        if before == ends:
            break
    return ends


def _refuse_outside(structure: SumStructure, k: int, found: Ends) -> None:
    """Raise `ContradictionError` where the digits give a sum that no rows with the attributes of the domain have."""
    least, most = structure.ends[k]
    above = most is not None and found[0] > most
    if not above and (least is None or found[1] >= least):
        return
    sum_found, end, side = (found[0], most, "most") if above else (found[1], least, "least")
    assert end is not None
    raise ContradictionError(
        f"the digits give {structure.names[k]} a sum of {short_number(sum_found, 10)}, and rows with the values of the "
        f"domain have at {side} {short_number(end, 10)}: the attributes of the domain do not fit the columns of the "
        "fit (in the order of the file, where it has no names), or a digit was changed; give the domain of the rows "
        "that were fitted",
        (f"the covariances, at {structure.names[k]}",),
    )


def _whole_ends(structure: SumStructure, k: int, ends: Ends) -> Ends:
    """Return ends as multiples of the unit of a sum; `ReleaseError` where none lies between them."""
    unit, (low, high) = structure.unit[k], ends
    if unit is not None:
        low, high = unit * math.ceil(low / unit), unit * math.floor(high / unit)
    if low > high:
        number = "no number" if unit is None else "no whole number" if unit == 1 else f"no multiple of {unit}"
        between = f"{short_number(ends[0], 10)} to {short_number(ends[1], 10)}"
        raise ContradictionError(
            f"{number} of {structure.names[k]} has these digits ({between} follow from them): a digit was changed, "
            "rows were weighted, or the errors are robust or clustered; publish what an unweighted OLS prints, "
            "cov_type='nonrobust'",
            (f"the covariances, at {structure.names[k]}",),
        )
    return low, high


def _narrow(inverse: PublishedInverse, structure: SumStructure, ends: list[Ends], open_sums: Sequence[int]) -> None:
    """Narrow the ends of open sums, in place, by the inequalities that all printed numbers make together."""
    powers = _powers(inverse)
    middle, off = _scaled_matrix(inverse, powers)
    size, many = len(inverse), len(ends)
    sizes = [Fraction(0)] * many  # unknown are the sums by such sizes, and the scale at the end
    for line, power in zip(structure.place, powers, strict=True):
        for k, other in zip(line, powers, strict=True):
            sizes[k] = max(sizes[k], Fraction(2) ** -(power + other))
    system, limits = _inequalities(structure.place, powers, middle, off, sizes, ends)
    system[:, many] = [-(int(middle[a, c]) << BITS) for a, c in zip(*np.triu_indices(size), strict=True)]
    least = [math.ceil(inverse.scale[1] * int(off[a, c])) for a, c in zip(*np.triu_indices(size), strict=True)]
    limits = (limits + np.array(least, dtype=object)) << BITS
    boxes = [(low / size, high / size) for (low, high), size in zip(ends, sizes, strict=True)] + [inverse.scale]
    free = [k for k, (low, high) in enumerate(boxes) if low < high]
    floats = np.array(system[:, free], dtype=object)
    scales = np.array([float(v) for v in limits])
    matrix = np.array([[float(v) for v in line] for line in floats]) / scales[:, None]
    halves = np.array([float((boxes[k][1] - boxes[k][0]) / 2) for k in free])
    matrix = np.vstack([matrix, np.diag(1 / halves)])
    for k in open_sums:
        at = free.index(k)
        wanted = np.zeros(len(free))
        wanted[at] = 1.0
        chosen = _multipliers(matrix, wanted)[: len(system)] / scales
        exact = np.array([round(Fraction(v) * (1 << (2 * BITS + MULTIPLIER_BITS))) for v in chosen], dtype=object)
        low, high = _implied(system, limits, exact, boxes, k)
        found = max(ends[k][0], low * sizes[k]), min(ends[k][1], high * sizes[k])
        ends[k] = _whole_ends(structure, k, found)
        boxes[k] = (ends[k][0] / sizes[k], ends[k][1] / sizes[k])


def _inequalities(
    place: Sequence[Sequence[int]],
    powers: Sequence[int],
    middle: Integers,
    off: Integers,
    sizes: Sequence[Fraction],
    ends: Sequence[Ends],
) -> tuple[Integers, Integers]:
    """Return the entries of V0 G V0 above the diagonal in terms of sums by their sizes, and those of |D| G |D| at most.

    In units of 2^-2 BITS, and of 2^-BITS; the last column is left for the scale.
    """
    pairs = list(zip(*np.triu_indices(len(powers)), strict=True))
    system = np.zeros((len(pairs), len(sizes) + 1), dtype=object)
    tops = np.empty(off.shape, dtype=object)
    for i, line in enumerate(place):
        for j, k in enumerate(line):
            unit = Fraction(2) ** (powers[i] + powers[j])
            tops[i, j] = math.ceil(max(map(abs, ends[k])) * unit * (1 << BITS))
            system[:, k] += int(sizes[k] * unit) * np.array([middle[a, i] * middle[j, c] for a, c in pairs])
    beside = _ceiled(off @ tops @ off, 2 * BITS)
    return system, np.array([beside[a, c] for a, c in pairs], dtype=object)


def _multipliers(matrix: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return multipliers y of rows with matrix' y = wanted, whose sizes add up to about the least."""
    weight = np.ones(len(matrix))
    found = np.zeros(len(matrix))
    for _ in range(STEPS):
        normal = matrix.T @ (weight[:, None] * matrix)
        normal[np.diag_indices_from(normal)] *= 1 + 1e-13
        try:
            found = weight * (matrix @ np.linalg.solve(normal, wanted))
        except np.linalg.LinAlgError:
            return found
        weight = np.abs(found) + 1e-9 * np.abs(found).max()
    return found


def _implied(system: Integers, limits: Integers, exact: Integers, boxes: Sequence[Ends], wanted: int) -> Ends:
    """Return the ends of an unknown that multipliers of the inequalities prove: exact, whatever the multipliers are."""
    unit = 1 << (2 * BITS + MULTIPLIER_BITS)
    left = -(exact @ system)
    left[wanted] += unit
    low = high = Fraction(0)
    for share, (least, most) in zip(left, boxes, strict=True):
        if share:
            ends = (int(share) * least, int(share) * most)
            low, high = low + min(ends), high + max(ends)
    across = int(np.abs(exact) @ limits)
    return (low - across) / unit, (high + across) / unit
