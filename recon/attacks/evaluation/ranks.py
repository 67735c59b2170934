"""Ranks of several treatments over data sets: Friedman's test, Nemenyi's, and a critical-difference diagram's data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from solvers.foundation.errors import ReleaseError, Unsupported, installing


@dataclass(frozen=True, eq=False)
class Ranking:
    """Treatments by mean rank (1: best) over `blocks` of the same conditions.

    `statistic`, `p`: Friedman's test that all are alike; `critical_difference`: of mean ranks, at level `alpha`;
    `groups`: the largest sets of neighbours that are not significantly apart, best first (one of a single treatment is
    left out); `pairs`: Nemenyi's p for each pair; `left_out`: blocks where a treatment has no value.
    """

    treatments: tuple[str, ...]
    ranks: tuple[float, ...]
    blocks: int
    statistic: float
    p: float
    alpha: float
    critical_difference: float
    groups: tuple[tuple[str, ...], ...]
    pairs: pd.DataFrame
    left_out: int = 0

    def sentence(self) -> str:
        """Return it in words."""
        order = ", ".join(f"{name} {rank:.2f}" for name, rank in zip(self.treatments, self.ranks, strict=True))
        differ = "differ" if self.p < self.alpha else "do not differ"
        alike = "; ".join(" and ".join(group) for group in self.groups)
        return (
            f"mean ranks over {self.blocks} conditions: {order}; by Friedman's test they {differ} "
            f"(p = {self.p:.2g}), the critical difference is {self.critical_difference:.2f}; not apart: "
            f"{alike or 'none'}"
        )


def critical_difference(table: pd.DataFrame, alpha: float = 0.05, greater_is_better: bool = True) -> Ranking:
    """Return the ranking of a table's columns (treatments) over its lines (blocks), ties at their mean rank.

    Lines with a gap are left out and counted. Raises `ReleaseError` for fewer than three treatments or two complete
    lines, `Unsupported` without scikit-posthocs.
    Source: Demšar 2006, section 3.2.2 (Friedman's test, Nemenyi's critical difference q sqrt(k(k+1) / 6N)).
    """
    try:
        from scikit_posthocs import posthoc_nemenyi_friedman
    except ImportError:
        raise Unsupported(f"ranks over data sets need scikit-posthocs: {installing('attacks')}") from None
    from scipy.stats import studentized_range

    whole = table.dropna()
    blocks, k = whole.shape
    if k < 3 or blocks < 2:
        raise ReleaseError(f"ranks need three treatments and two conditions with all of them: there are {k}, {blocks}")
    values = whole.to_numpy(dtype=np.float64) * (-1 if greater_is_better else 1)
    ranks, statistic, p = friedman(values)
    apart = float(studentized_range.ppf(1 - alpha, k, np.inf)) * float(np.sqrt(k * (k + 1) / (12 * blocks)))
    order = np.argsort(ranks, kind="stable")
    names = [str(whole.columns[i]) for i in order]
    found = posthoc_nemenyi_friedman(values)
    pairs = pd.DataFrame(found.to_numpy()[np.ix_(order, order)], index=names, columns=names)
    placed = [float(ranks[i]) for i in order]
    return Ranking(tuple(names), tuple(placed), blocks, statistic, p, alpha, apart, neighbours(names, placed, apart),
                   pairs, len(table) - blocks)  # fmt: skip


def friedman(values: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return mean ranks (k,) of values (blocks, k), the smallest 1, Friedman's statistic with ties, and its p.

    Where every block is one tie, the statistic is 0 and p is 1.
    """
    from scipy.stats import friedmanchisquare, rankdata

    ranked = rankdata(values, axis=1)
    ranks = ranked.mean(axis=0)
    if np.ptp(values, axis=1).max() == 0:
        return ranks, 0.0, 1.0
    found = friedmanchisquare(*values.T)
    return ranks, float(found.statistic), float(found.pvalue)


def neighbours(names: list[str], ranks: list[float], apart: float) -> tuple[tuple[str, ...], ...]:
    """Return the largest runs of treatments, in the order of their ranks, whose ends are less than `apart` apart."""
    found: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(j for j in range(first, len(ranks)) if ranks[j] - ranks[first] < apart)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return tuple(tuple(names[a : b + 1]) for a, b in found)
