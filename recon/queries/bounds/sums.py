"""Figures made of sums over a group of rows, and their distribution over worlds."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from solvers.questions.answers import JointAnswer

Ints = NDArray[np.int64]


def distribution_of(found: JointAnswer, value: Callable[[Ints], float | None]) -> dict[float, float]:
    """Return value -> share among the worlds that have one, ascending."""
    out: dict[float, float] = {}
    for sums, share in zip(found.values, found.shares.tolist(), strict=True):
        if (v := value(sums)) is not None:
            out[v] = out.get(v, 0.0) + share
    whole = math.fsum(out.values())
    return {v: out[v] / whole for v in sorted(out)} if whole else {}


def correlation(sums: Ints) -> float | None:
    """Return Pearson's correlation from (n, Σa, Σb, Σa², Σb², Σab), None where a variance is 0."""
    n, a, b, aa, bb, ab = (int(x) for x in sums)
    left, right = n * aa - a * a, n * bb - b * b
    return (n * ab - a * b) / math.sqrt(left * right) if left > 0 and right > 0 else None
