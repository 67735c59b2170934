"""What leaf values of boosted models hold: sums over training rows, rated by their digits and number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recon.readers.inspection.findings.findings import Finding, Level

if TYPE_CHECKING:
    from recon.readers.formats.drafts.drafts import Draft

RULE = "leaf-values"
BOOSTERS = ("GradientBoosting", "LightGBM", "LGBM", "XGB", "CatBoost", "Booster")
DOUBLE, SINGLE = 53.0, 24.0  # bits that a number holds at most
MAX_DECIMALS = 17  # decimals of a double
FEW_DECIMALS = 3  # decimals that say little, as long as trees are few
_REMEDY = (
    "round them before publishing, leave out what predictions do not need (counts, inner values, gains), or publish "
    "fewer trees: recon audit --remedies says what is given back then"
)


def leaf_value_findings(draft: Draft, rows: int | None) -> list[Finding]:
    """Return one finding on a boosted model's leaf values; none where the reader reads none as statements.

    High where they hold a bit or more per training row (a label is one), medium where less, or their number is not
    known, info for a single tree with few digits.
    """
    values = [v for v in _values_of(draft) if v.size]
    if not values:
        return []
    every = np.concatenate(values)
    digits, each = _decimals(every), _bits(every)
    total = each * every.size
    level: Level = "medium"
    if len(values) == 1 and digits <= FEW_DECIMALS:
        level = "info"
    elif rows and total >= rows:
        level = "high"
    per_row = "" if not rows else f", {total / rows:,.1f} per training row"
    shown = f"{digits} decimals" if digits < MAX_DECIMALS else "all digits of a number"
    what = f"{every.size:,} leaf values of {len(values):,} trees, {shown}"
    follows = (
        "each is a quotient of two sums over the training rows of its leaf, whose terms follow from the other trees: "
        f"together they hold about {total:,.0f} bits{per_row}; recon audit works out which rows they determine"
    )
    return [Finding(level, RULE, "(leaf values)", what, follows, _REMEDY, values=tuple(every[:3].tolist()))]


def _values_of(draft: Draft) -> list[NDArray[np.float64]]:
    """Return the leaf values of every tree, as stored; [] where they are no statements on the rows."""
    from encoders.models.models import Boosting
    from recon.readers.formats.sklearn.pipelines.pipeline import PipelineDraft

    if isinstance(draft, PipelineDraft) and draft.inner is not None:
        return _values_of(draft.inner)
    said = getattr(draft, "values", None)  # of scikit-learn: the trees hold what the file holds
    if said is not None and hasattr(draft, "trees"):
        return [np.asarray(t.arrays.value, dtype=float)[t.arrays.leaf, 0] for t in draft.trees]
    return [np.asarray(s.step, dtype=float) for m in draft.models if isinstance(m, Boosting) for s in m.sums]


def _decimals(values: NDArray[np.float64]) -> int:
    """Return how many decimals half of the values need at least, 17 for all that a double has."""
    for k in range(MAX_DECIMALS):
        if np.mean(np.round(values, k) == values) >= 0.5:
            return k
    return MAX_DECIMALS


def _bits(values: NDArray[np.float64]) -> float:
    """Return how many bits a value holds at most, by its decimals and its precision."""
    digits = _decimals(values)
    cap = SINGLE if bool((values == values.astype(np.float32)).all()) else DOUBLE
    if digits == MAX_DECIMALS:
        return cap
    reach = float(np.abs(values).max(initial=0.0))
    return min(cap, math.log2(2 * reach * 10.0**digits + 1))


def boosted(names: Sequence[str]) -> bool:
    """Return whether a class or format among the names is a boosted model's."""
    return any(booster in name for name in names for booster in BOOSTERS)
