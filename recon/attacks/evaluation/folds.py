"""Means over folds with intervals, and the folds of rows themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recon.attacks.evaluation.figures import Evaluation
from recon.queries.prediction.records import Ints
from solvers.foundation.errors import ReleaseError


@dataclass(frozen=True)
class FoldMean:
    """A mean over folds and the ends of its t-interval; of one fold the ends are NaN, of none all three."""

    mean: float
    low: float
    high: float
    folds: int

    def __str__(self) -> str:
        return f"{self.mean:.3f}" if self.folds < 2 else f"{self.mean:.3f} ({self.low:.3f} to {self.high:.3f})"


def spread(values: Sequence[float], confidence: float = 0.95) -> FoldMean:
    """Return the mean of a figure's values over folds with Student's interval; what is no number is left out.

    Folds share training rows, so their values are not independent: the interval is somewhat too narrow (Bengio and
    Grandvalet 2004: no unbiased estimator exists). It is not cut at 0 or 1.
    """
    from scipy.special import stdtrit

    found = np.array([v for v in values if np.isfinite(v)], dtype=np.float64)
    n = len(found)
    if n < 2:
        return FoldMean(float(found.mean()) if n else float("nan"), float("nan"), float("nan"), n)
    mean = float(found.mean())
    reach = float(stdtrit(n - 1, 0.5 + confidence / 2) * found.std(ddof=1) / np.sqrt(n))
    return FoldMean(mean, mean - reach, mean + reach, n)


def averaged(folds: Sequence[Evaluation], confidence: float = 0.95) -> dict[str, FoldMean]:
    """Return every figure of several folds' evaluations: mean and interval."""
    rows = [fold.row() for fold in folds]
    return {name: spread([row[name] for row in rows], confidence) for name in (rows[0] if rows else {})}


def folded(rows: int, folds: int, rng: np.random.Generator) -> list[Ints]:
    """Return the row numbers of each of `folds` test parts: disjoint, all rows, sizes that differ by one at most.

    Raises `ReleaseError` for fewer than two folds or fewer rows than folds.
    """
    if folds < 2 or rows < folds:
        raise ReleaseError(f"{rows} rows cannot be cut into {folds} folds")
    return [np.sort(part).astype(np.int64) for part in np.array_split(rng.permutation(rows), folds)]
