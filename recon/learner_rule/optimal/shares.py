"""Rigorous upper bounds on the share of a release's worlds in which no known alternative makes fewer errors.

Given every row's leaf and class, rows are independent and uniform over the leaf, and so are the attributes that no leaf
fixes: inequalities over disjoint sets of such attributes hold independently, and the share in which all of them hold is
the product of their shares (docs/mathematics.md). Two columns that the release does not mention are interchangeable: an
inequality over one of them has a copy over the other, which holds as often.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from encoders.encode.encoder import EncodedRelease
from recon.learner_rule.optimal.alternatives import Alternative, under
from recon.learner_rule.optimal.classes import ModelClass
from recon.learner_rule.optimal.replaced import Replaced
from solvers.engines.chain import ask
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.questions.answers import CountAnswer
from solvers.questions.query import Count

FLOATS = 2.0**-40  # relative: far more than sums of logarithms are off
Bits = tuple[float, float]


@dataclass(frozen=True)
class ShareUpperBound:
    """An upper bound `high` on log2 of the share of worlds (at most 0), and the alternatives that prove it.

    `places`: where replacements prove it instead. `exact`: the share in which all of `alternatives` hold is known,
    between `low` and `high`; else `low` is -infinity.
    """

    low: float
    high: float
    alternatives: tuple[Alternative, ...]
    exact: bool = False
    places: tuple[Replaced, ...] = ()


def ordered_bits(release: EncodedRelease, limits: Limits) -> Bits:
    """Return bounds on log2 of the ordered worlds, rounded outwards; -infinity twice where there is none."""
    found = ask(release.statements, Count("ordered"), CountAnswer, limits)
    if found.status == "unsat":
        return -math.inf, -math.inf
    low, high = found.bounds
    return low - FLOATS * max(1.0, abs(low)), high + FLOATS * max(1.0, abs(high))


def joint_share(
    release: EncodedRelease, alternatives: Sequence[Alternative], base: Bits, limits: Limits
) -> ShareUpperBound | None:
    """Return the share under all of some inequalities, None where no engine bounds it within the limits."""
    try:
        low, high = ordered_bits(under(release, alternatives), limits)
    except (Unsupported, Inconclusive):
        return None
    if math.isinf(high) and high > 0:
        return None
    exact = high - low <= 4 * FLOATS * max(1.0, abs(high)) or high == -math.inf
    return ShareUpperBound(low - base[1], min(0.0, high - base[0]), tuple(alternatives), exact)


def fixed_attributes(release: EncodedRelease, columns: Sequence[str]) -> frozenset[int] | None:
    """Return the attributes that every leaf fixes as far as the columns tell; None where leaves are no products.

    None too where something else couples the attributes: other models, known rows, impossible rows.
    """
    cut = under(release, [Alternative("", tuple((((name, 1),), 0) for name in columns), 0)])
    statements = cut.statements
    if len(release.models) != 1 or release.known is not None or statements.impossible or not release.rows.exact:
        return None
    (block, *_), fixed = statements.blocks, set(range(len(release.domain.all)))
    part = statements.partitions.get(0)
    if part is None or block is not part or part.open_counts:
        return None
    for j in range(len(part.boxes)):
        region = part.region_of(j)
        masks = dict(region.box.literals)
        for box in region.minus:
            if any(masks.get(k, -1) & mask == 0 for k, mask in box.literals):
                continue  # it takes nothing away
            left = [(k, mask) for k, mask in box.literals if masks.get(k, full(cut, k)) & ~mask]
            if len(left) != 1:
                return None
            k, mask = left[0]
            masks[k] = masks.get(k, full(cut, k)) & ~mask
        fixed = {k for k in fixed if masks.get(k, full(cut, k)).bit_count() == 1}
    return frozenset(fixed)


def full(release: EncodedRelease, k: int) -> int:
    """Return the mask of all parts of an attribute."""
    return release.statements.domain.attributes[k].full


def fresh_columns(release: EncodedRelease, models: ModelClass) -> list[str]:
    """Return the columns that are attributes of their own and that nothing in the release mentions."""
    mentioned = release.statements.mentioned()
    place = release.domain.place
    viewed = {view.attribute for view in release.domain.columns.values()}
    return [n for n in models.columns if n in place and n not in viewed and place[n] not in mentioned]


def product_share(
    release: EncodedRelease, models: ModelClass, found: Sequence[Alternative], base: Bits, limits: Limits
) -> ShareUpperBound:
    """Return the best product of shares of single inequalities over disjoint attributes, copies included.

    Each of `found` (the most telling first) is counted alone while there is time; then the one that removes most bits
    per attribute is taken with all its copies, then the next one over what attributes are left. Where leaves are no
    products, the best single one. Cost: a count per alternative.
    """
    single: list[tuple[float, Alternative]] = []
    for one in found:
        if limits.expired():
            break
        alone = joint_share(release, [one], base, limits)
        if alone is not None and alone.high < 0.0:
            single.append((alone.high, one))
    if not single:
        return ShareUpperBound(-math.inf, 0.0, ())
    columns = tuple(dict.fromkeys(name for _, one in single for name in one.columns))
    fixed = fixed_attributes(release, columns)
    if fixed is None:
        high, one = min(single, key=lambda pair: pair[0])
        return ShareUpperBound(-math.inf, high, (one,))
    fresh = set(fresh_columns(release, models))

    def attributes(one: Alternative) -> set[str]:
        return {n for n in one.columns if attribute_of(release, n) not in fixed}

    single.sort(key=lambda pair: pair[0] / max(1, len(attributes(pair[1]))))
    left, taken, total, chosen = sorted(fresh), set[int](), 0.0, []
    for high, one in single:
        own = attributes(one)
        moved, shared = [n for n in one.columns if n in fresh], own - fresh
        if not own:
            continue  # it says something of the counts alone, which hold
        while len(left) >= len(moved) and not {attribute_of(release, n) for n in shared} & taken:
            names = dict(zip(moved, left[: len(moved)], strict=True))
            left = left[len(moved) :]
            taken |= {attribute_of(release, n) for n in shared}
            chosen.append(one.renamed(names))
            total += high
            if not moved:
                break
    return ShareUpperBound(-math.inf, total * (1.0 - FLOATS), tuple(chosen))


def attribute_of(release: EncodedRelease, name: str) -> int:
    """Return the attribute that a column belongs to."""
    place = release.domain.place
    return place[name] if name in place else release.domain.view_ranges(name)[0]
