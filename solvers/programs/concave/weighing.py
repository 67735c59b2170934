"""A rough fractional histogram for noisy counts by multiplicative weights: it says with which cells to begin.

Source: Arora, Hazan, Kale, "The multiplicative weights update method", Theory of Computing 8, 2012; Hardt, Ligett,
McSherry, "A simple and practical algorithm for differentially private data release" (MWEM), NIPS 2012.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from solvers.foundation.array_types import Floats
from solvers.foundation.limits import Limits
from solvers.programs.concave.terms import Gains

ROUNDS = 100
STEP = 2.0  # greatest change of a logarithm in the first round
MIN_LOG = 0.3  # what a count of nothing is taken for, and the least logarithm's number


def weighed(gains: Gains, by_cell: Any, rows: int, limits: Limits) -> Floats:
    """Return weights (cells,) that sum to the number of rows, with counts near the best ones; `by_cell` (cells, gains).

    Every round weights grow where a row more is worth more: secants as wide as half of the mean distance from the best
    counts stand for the slopes. Cost: two products with the matrix per round.
    """
    matrix = csr_array(by_cell, dtype=np.float32)
    by_gain = csr_array(matrix.T)
    which = np.arange(len(gains), dtype=np.int64)
    sizes = np.maximum(1.0, np.diff(by_gain.indptr))
    logs = matrix @ np.log(np.maximum(gains.best, MIN_LOG) / sizes) / max(1.0, matrix.nnz / matrix.shape[0])
    for turn in range(ROUNDS):
        weights = np.exp(np.maximum(logs - logs.max(), -60.0))
        weights *= rows / weights.sum()
        if limits.expired():
            break
        counts = by_gain @ weights
        reach = max(1.0, float(np.abs(counts - gains.best).mean()) / 2)
        below = np.clip(np.rint(counts - reach), gains.low, gains.high).astype(np.int64)
        above = np.clip(np.rint(counts + reach), gains.low, gains.high).astype(np.int64)
        slope = (gains.values(which, above) - gains.values(which, below)) / np.maximum(1, above - below)
        worth = matrix @ slope
        worth -= float(worth @ weights) / rows
        logs = np.log(np.maximum(weights, np.exp(-60.0))) + STEP / (1 + turn / 4) ** 0.5 * worth / max(
            1e-300, float(np.abs(worth).max())
        )
    return np.asarray(weights, dtype=np.float64)
