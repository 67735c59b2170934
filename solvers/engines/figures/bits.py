"""Bits of rows before and after a release, and bounds on them that need no count.

Source: Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024, Def. 2 and 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from solvers.cells.partition_cells import cells_of
from solvers.foundation.exact import log2_multisets, log2_worlds
from solvers.foundation.limits import Limits
from solvers.histograms.partition_membership import PriorMembership, Rows
from solvers.programs.columns.single_partitions import partition_releases
from solvers.statements.boxes import Box, RowSpace
from solvers.statements.questions.query import Convention, Selections
from solvers.statements.regions.row_space import Space
from solvers.statements.release import ANY_LABEL, Release

MAX_STEPS = 10_000_000  # rows up to which C(S + n - 1, n) is computed (8 bytes each); above, S^n bounds it
MAX_STEPS_OF_DIST = 1_000_000  # boxes x parts of attributes that marginals are summed over: a second
MAX_LEAVES = 100_000  # leaves of trees whose bounds are computed even when the time is up: a second


def bits_of(space: Space, numbers: Sequence[int], convention: Convention) -> float:
    """Return the bits of which of the possible numbers of rows it is (uniform), and of so many rows of a space."""
    return math.log2(len(numbers)) + mean([uninformed(space, {ANY_LABEL: n}, convention) for n in numbers])


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean; exactly the value where there is one."""
    return values[0] if len(values) == 1 else math.fsum(values) / len(values)


def ratio(part: float, whole: float) -> float | None:
    """Return part / whole, None where there was nothing to know (whole 0)."""
    return part / whole if whole > 0 else None


def uninformed(space: Space, rows: Rows, convention: Convention, factor: int = 1) -> float:
    """Return the bits of rows (label or ANY_LABEL -> how many) before the release, in a space smaller by `factor`.

    `assigned`: n log2 S, the label left out for rows whose cell names it; `ordered`: n log2 S; `multiset`:
    log2 C(S + n - 1, n).
    """
    n = sum(rows.values())
    if n == 0:
        return 0.0
    if convention == "multiset":
        return log2_multisets(space.size // factor, n)
    return math.fsum(c * math.log2(size // factor) for label, c in rows.items() if (size := space.labelled(label)))


def dist_of_mixture(domain: RowSpace, cells: Iterable[tuple[int, Sequence[Box]]]) -> float | None:
    """Return Dist (Def. 2) of rows in no known order: the mean over attributes of H(marginal) / H(attribute).

    `cells`: rows, the same number in every world, and disjoint boxes of each cell. Any row may be in any cell, so that
    all have one marginal: the mixture of the cells' by their shares of the rows. Attributes with one value stay out.
    None without rows, where nothing was unknown, and where the boxes are too many to be summed over.
    """
    held = [(rows, boxes) for rows, boxes in cells if rows]
    everybody, parts = sum(rows for rows, _ in held), sum(len(a.sizes) for a in domain.attributes)
    if not everybody or sum(len(boxes) for _, boxes in held) * parts > MAX_STEPS_OF_DIST:
        return None
    share = [np.zeros(len(a.sizes)) for a in domain.attributes]
    for rows, boxes in held:
        sizes = [box.size(domain) for box in boxes]
        for box, size in zip(boxes, sizes, strict=True):
            named, inside = dict(box.literals), rows / everybody * (size / sum(sizes))
            for k, a in enumerate(domain.attributes):
                mask = named.get(k, (1 << len(a.sizes)) - 1)
                weight = np.array([w if mask >> p & 1 else 0 for p, w in enumerate(a.sizes)], dtype=np.float64)
                share[k] += inside * weight / weight.sum()
    terms = []
    for mass, a in zip(share, domain.attributes, strict=True):
        if a.total > 1:
            known, sizes_of = mass > 0, np.array(a.sizes, dtype=np.float64)
            left = mass[known] * (np.log2(sizes_of[known]) - np.log2(mass[known]))
            terms.append(min(1.0, max(0.0, float(left.sum()) / math.log2(a.total))))
    return mean(terms) if terms else None


def unnamed_factor(release: Release) -> int:
    """Return how many values the attributes that no statement names have together."""
    domain = release.domain
    return domain.size // math.prod(domain.attributes[k].total for k in release.mentioned())


def log2_alone(release: Release, convention: Convention, limits: Limits) -> float:
    """Return an upper bound of log2 of the datasets: what the most telling partition alone leaves, rounded up.

    Infinite where none has exact counts, minus infinity where one counts rows that cannot be. Cost: linear in the
    leaves; of partitions whose sizes take longer, and beyond MAX_LEAVES, only as many as there is time for.
    """
    found, leaves = math.inf, 0
    for one in partition_releases(release) if release.rows.exact and release.single is None else ():
        leaves += sum(map(len, one.partitions.values()))
        boxes = not release.impossible and not any(b.first_match for b in one.partitions.values())
        if limits.expired() and not (boxes and leaves <= MAX_LEAVES):
            break
        cells = cells_of(one, limits)
        bits = log2_worlds(cells.high, cells.block.low, convention)
        found = min(found, bits * (1.0 + 2.0**-50))
    return found


def log2_before(release: Release, convention: Convention, limits: Limits) -> float:
    """Return an upper bound of log2 of the datasets before the release: S^n, of multisets C(S + n - 1, n).

    With n open, the greatest n as often as there are numbers. Rounded up; infinite where n is unbounded.
    """
    low, n = release.rows.low, release.rows.high
    if n is None:
        return math.inf
    space = Space.of(release, limits)
    size = max(1, release.domain.size if space.found is None else space.found.upper[-1])
    found = log2_multisets(size, n) if convention == "multiset" and n <= MAX_STEPS else n * math.log2(size)
    found += math.log2(n - low + 1)
    return found * (1.0 + 2.0**-50)


def without_rows(release: Release, chosen: Selections, limits: Limits) -> NDArray[np.bool_]:
    """Return which selections hold no row of the domain, whatever was released.

    Raises `Inconclusive` or `EngineError` where the sizes are only known between bounds.
    """
    space = Space.of(release, limits)
    empty: NDArray[np.bool_] = PriorMembership(space, chosen, "ordered", {ANY_LABEL}).expected({ANY_LABEL: 1}) == 0.0
    return empty


def bits_before(release: Release, numbers: Sequence[int], convention: Convention, limits: Limits) -> float:
    """Return the bits before the release: which of the possible numbers of rows it is, and of so many rows."""
    return bits_of(Space.of(release, limits), numbers, convention)


def row_bits(release: Release, limits: Limits) -> float:
    """Return the bits of one row before the release; 0 where no row is possible."""
    space = Space.of(release, limits)
    return math.log2(space.size) if space.size else 0.0
