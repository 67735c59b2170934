"""The values of an attribute as a learner of 32-bit floats sees them: which lie around a threshold, which are alike.

Source: scikit-learn, tree/_splitter.pyx (`node_split_best`: a threshold is lo/2 + hi/2 in double precision) and
tree/_partitioner.pyx (`next_p`: a value within FEATURE_THRESHOLD of the one before is not told from it).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import AnyAttribute, Continuous, Listed, Ranges

Singles = NDArray[np.float32]
Positions = NDArray[np.int64]
FEATURE_THRESHOLD = np.float32(1e-7)
MAX_VALUES = 1_000_000  # values of an attribute that are looked at one by one


def singles(attribute: AnyAttribute) -> Singles | None:
    """Return the values by position in single precision; None where they are no numbers, without a grid or too many."""
    if isinstance(attribute, Continuous) or (isinstance(attribute, Listed) and not attribute.numeric):
        return None
    if attribute.known[1] > MAX_VALUES:
        return None
    values = np.array([float(attribute.value_at(p)) for p in range(attribute.known[1])])
    with np.errstate(over="ignore"):
        found = values.astype(np.float32)
    return found if np.isfinite(found).all() else None


def positions_in(ranges: Ranges, attribute: AnyAttribute) -> Positions:
    """Return the positions of values in the ranges of a finite attribute, "missing" left out, ascending."""
    end = attribute.known[1]
    parts = [np.arange(a, min(b, end), dtype=np.int64) for a, b in ranges]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def as_ranges(positions: Positions) -> Ranges:
    """Return ascending positions as ranges."""
    if not len(positions):
        return ()
    breaks = np.flatnonzero(np.diff(positions) != 1)
    first, last = positions[np.append(0, breaks + 1)], positions[np.append(breaks, len(positions) - 1)]
    return tuple((int(a), int(b) + 1) for a, b in zip(first, last, strict=True))


def alike(before: Singles, after: Singles) -> NDArray[np.bool_]:
    """Return which values the learner does not tell from the ones before, as it compares them (single precision)."""
    found: NDArray[np.bool_] = after <= before + FEATURE_THRESHOLD
    return found


def chains(values: Singles) -> Positions:
    """Return a number per ascending value, the same for values that a chain of gaps that are too small joins."""
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    return np.append(0, np.cumsum(~alike(values[:-1], values[1:]))).astype(np.int64)


def around(low: Singles, high: Singles, threshold: float) -> list[tuple[np.float32, np.float32]]:
    """Return the pairs of a lower and a higher value that give the threshold, nearest first.

    `low` and `high`: distinct values at most, and above, the threshold, ascending. Each pair is told apart by the
    learner, and has lo/2 + hi/2 == threshold in double precision. Cost: linear in `low`, up to a logarithm.
    """
    if not len(low) or not len(high):
        return []
    a, b = low.astype(np.float64), high.astype(np.float64)
    wanted = 2 * (threshold - a / 2)
    slack = 4 * np.finfo(np.float64).eps * (np.abs(a) + abs(threshold)) + np.finfo(np.float64).tiny
    first, last = np.searchsorted(b, wanted - slack), np.searchsorted(b, wanted + slack, "right")
    width = last - first
    i = np.repeat(np.arange(len(a)), width)
    j = np.repeat(first - (np.cumsum(width) - width), width) + np.arange(int(width.sum()))
    held = (a[i] / 2 + b[j] / 2 == threshold) & ~alike(low[i], high[j])
    i, j = i[held], j[held]
    order = np.argsort(b[j] - a[i], kind="stable")
    return [(low[x], high[y]) for x, y in zip(i[order].tolist(), j[order].tolist(), strict=True)]
