"""Sums of gradients of boosted models as linear statements: what a row adds follows from its leaves and its class.

A row's gradient in a tree is a number per combination of leaves of the trees before it, and per class. With that
combination as a box the sum over a node is a linear statement with rational coefficients, as any other. Gradients are
known in intervals (`solvers.statements.gradients.boosted`): the sum is bounded from both sides, with coefficients and
ends rounded outwards, so that every world meets the statements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from solvers.foundation.errors import TooLarge
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box, Region
from solvers.statements.gradients.boosted import Boosted, by_tree, entries
from solvers.statements.release import UNBOUNDED, Loose, Release, Statement, Summand

MAX_TERMS = 100_000  # combinations of leaves, times figures and classes
KEPT = 1 << 44  # of which this is the largest sum: what is lost is below 2^-43 of it


def with_stated_sums(release: Release, limits: Limits) -> Release:
    """Return the release with the sums of boosted models as statements where these are not too many.

    Those models are no longer among `boosted`. Sums of real targets stay, and so do all where the number of rows is
    open. Cost: linear in the terms.
    """
    found: list[Statement] = []
    left = []
    for model in release.boosted if release.rows.high is not None else ():
        try:
            found += _statements_of(release, model, limits)
        except TooLarge:
            left.append(model)
    if not found:
        return release
    seen = (*release.observed, None) if release.observed else ()
    return replace(release, blocks=(*release.blocks, Loose(tuple(found))), observed=seen, boosted=tuple(left))


def _statements_of(release: Release, model: Boosted, limits: Limits) -> list[Statement]:
    """Return the sums of a model as statements; `TooLarge` where there are too many terms, or no classes."""
    if not model.labels or release.domain.label is None:
        raise TooLarge(f"{model.name}: sums of a real target")
    out, label = list[Statement](), release.domain.label
    points: list[tuple[Box, tuple[int, ...]]] = [(Box(), ())]
    terms = 0
    for tree in model.trees:
        limits.check("sums of gradients as statements")
        boxes = release.partitions[tree.block].boxes
        met = ((box & boxes[j], (*leaves, j)) for box, leaves in points for j in range(len(boxes)))
        points = [(box, leaves) for box, leaves in met if not box.empty]
        terms += len(points) * len(model.labels) * max(1, len(tree))
        if terms > MAX_TERMS:
            raise TooLarge(f"{model.name}: more than {MAX_TERMS:,} terms")
        leaves = np.array([leaves for _, leaves in points], dtype=np.int64).reshape(len(points), -1)
        *_, (_, rows) = by_tree(model, leaves)
        some = entries(tree, rows, leaves[:, -1])
        regions = [[Region(box & Box(((label, 1 << k),))) for k in model.labels] for box, _ in points]
        for i, name in enumerate(tree.names):
            at = np.flatnonzero(some.figure == i)
            each = [(region, Fraction(float(some.middle[e, k])), Fraction(float(some.radius[e, k])))
                    for e in at.tolist() for k, region in enumerate(regions[int(some.point[e])])]  # fmt: skip
            ends = Fraction(float(tree.low[i])), Fraction(float(tree.high[i]))
            out += _between(each, ends, release.rows.high or 0, name)
    others = ~sum(1 << k for k in model.labels) & (1 << release.domain.labels) - 1
    if others:
        region = Region(Box(((label, others),)))
        out.append(Statement.count(region, 0, 0, f"{model.name}: labels that are no class"))
    return out


def _between(
    terms: Sequence[tuple[Region, Fraction, Fraction]], ends: tuple[Fraction, Fraction], rows: int, source: str
) -> list[Statement]:
    """Return that terms (a region, what a row adds, how far that may be off) add up to between the ends, loosened."""
    largest = max((abs(middle) + radius for _, middle, radius in terms), default=Fraction(0)) * max(1, rows)
    far = max(largest, *map(abs, ends))
    if not largest:
        return []
    scale = Fraction(2) ** math.floor(math.log2(KEPT / far))
    most = [Summand(region, math.ceil((middle + radius) * scale)) for region, middle, radius in terms]
    least = [Summand(region, math.floor((middle - radius) * scale)) for region, middle, radius in terms]
    low, high = math.floor(ends[0] * scale), math.ceil(ends[1] * scale)
    some = ((most, low, UNBOUNDED), (least, -UNBOUNDED, high))
    return [Statement(kept, a, b, source, coarse=True)
            for each, a, b in some if (kept := tuple(one for one in each if one.times))]  # fmt: skip
