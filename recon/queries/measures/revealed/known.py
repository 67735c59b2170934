"""People who are known: how many are pinned down, and what is left about the most exposed one, as least and most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from encoders.domain.values import Continuous
from encoders.encode.encoder import EncodedRelease
from recon.queries.measures.figures import Measures
from solvers.engines.figures.system import SystemFigures
from solvers.foundation.limits import Limits

DIGITS = 20  # decimals of thresholds that are looked at
Interval = tuple[float, float | None]  # least and most; most None: no upper bound is known
Counts = tuple[int, int | None]


def system_of(release: EncodedRelease, found: Measures, limits: Limits) -> SystemFigures | None:
    """Return the cells of a coupled release that was measured; None of one partition, or where cells have no sizes."""
    known = found.of_cells and found.determined_rows is not None
    return SystemFigures.of(release.statements, limits) if known else None


def pinned(release: EncodedRelease, found: Measures, system: SystemFigures | None) -> Counts | None:
    """Return how many people have every attribute known, least and most; None where regions have no size.

    They lie in cells of one raw row, so that no more of them are pinned down than such cells can hold.
    """
    if found.determined_rows is None:
        return None
    if found.cells_exact if found.of_cells else found.figures == "exact":
        return found.determined_rows, found.determined_rows
    if system is None:
        return found.determined_rows, release.rows.high
    held = sum(upper for size, upper in zip(system.sizes, system.upper.tolist(), strict=True) if size == 1)
    most = held if release.rows.high is None else min(held, release.rows.high)
    return found.determined_rows, max(found.determined_rows, most)


def interval_left(release: EncodedRelease) -> str:
    """Return an attribute of which every part that the models tell apart holds several values; "" where there is none.

    Then nobody is known wholly: whoever has one value of a part can have another, and every statement stays true.
    Values are taken to be as fine as the thresholds and ends: multiples of 1 where thresholds lie halfway between whole
    numbers, of 0.1 where they are 4.95, and so on. Cost: linear in thresholds.
    """
    if release.statements.loose:  # they are about values, not about parts
        return ""
    found = [c for c in release.cut.cuts if isinstance(c.attribute, Continuous) and not c.attribute.missing]
    found.sort(key=lambda one: len(one.inner))
    return next((one.attribute.name for one in found if _all_several(one.edges)), "")


def _all_several(edges: Sequence[tuple[Any, int]]) -> bool:
    """Return whether between each edge and the next lie at least two values as fine as the edges are."""
    numbers = [2 * Fraction(x) for x, _ in edges if math.isfinite(x)]
    digits = next((d for d in range(DIGITS) if all((x * 10**d).denominator == 1 for x in numbers)), DIGITS)
    grid = [x if not math.isfinite(x) else Fraction(x) * 10**digits for x, _ in edges]
    for (low, high), (after, until) in zip(pairwise(grid), pairwise(side for _, side in edges), strict=True):
        if math.isfinite(low) and math.isfinite(high):
            first = math.floor(low) + 1 if after else math.ceil(low)  # side 1 stands just above a number
            last = math.floor(high) if until else math.ceil(high) - 1
            if last <= first:
                return False
    return True


def least_bits(release: EncodedRelease, found: Measures, system: SystemFigures | None) -> Interval | None:
    """Return the bits left of the most exposed person: of groups that surely hold rows at most, of others at least."""
    lines = found.exposure
    if release.domain.continuous or (not len(lines) and system is None):
        return None
    bits, rows, most = (lines[name].to_numpy(dtype=np.float64) for name in ("bits_left", "rows", "rows_most"))
    if not np.isfinite(bits[most > 0]).all():
        return None
    high = min(bits[rows > 0].tolist(), default=None)
    if system is None:
        low = min(bits[most > 0].tolist(), default=None)
        return None if low is None else (low, high)
    # Cells that may hold rows, or not, are no lines of the exposure.
    live = [size for size, upper in zip(system.sizes, system.upper.tolist(), strict=True) if upper > 0 and size > 0]
    lowest = math.log2(min(live)) if live and high != 0.0 else 0.0
    return (lowest if high is None else min(lowest, high)), high
