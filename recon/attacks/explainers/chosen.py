"""Which records are explained: some from every cluster, near its centre and far from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from recon.attacks.explainers.sampling import distinct
from recon.queries.prediction.records import Floats, Ints
from solvers.foundation.errors import ReleaseError, Unsupported, installing

EACH = 3  # records from each quantile of each cluster
MOST = 12  # clusters that are tried
SAMPLE = 2000  # rows on which the number of clusters is found


def chosen(x: Floats, count: int, seed: int, clusters: int | None = None) -> Ints:
    """Return the numbers of up to `count` of the rows x (n, d): 3 from each quantile of distance of each cluster.

    Columns are divided by their standard deviations, the rows are clustered by k-means (k by `elbow` unless given),
    each cluster is cut by the distance from its centre into so many parts of equal size that 3 of each are `count`
    or a little more, and records are drawn from the parts in turn. Where parts have fewer than 3, others give more.

    Source: Naretto, Monreale, Giannotti 2025 (REVEAL), which names k-means, the elbow and 3 records per quantile for
    40 to 120 records but not the number of quantiles; it follows here from `count`.

    Raises `ReleaseError` (no rows, no positive count), `Unsupported` without scikit-learn. Cost: k-means for k up to
    12 on at most 2,000 rows, and once on all.
    """
    rows = np.asarray(x, dtype=np.float64)
    if count < 1 or not len(rows):
        raise ReleaseError(f"{count} records of {len(rows)} cannot be chosen")
    rng = np.random.default_rng(seed)
    scale = rows.std(axis=0)
    rows = rows / np.where(scale > 0, scale, 1.0)
    some = rows[rng.permutation(len(rows))[:SAMPLE]]
    k = elbow(some, seed) if clusters is None else clusters
    fitted = k_means(rows, max(1, min(k, len(distinct(rows)[0]))), seed)
    far = np.linalg.norm(rows - fitted.cluster_centers_[fitted.labels_], axis=1)
    quantiles = max(1, -(-count // (EACH * len(fitted.cluster_centers_))))
    cells: list[Ints] = []
    for c in range(len(fitted.cluster_centers_)):
        members = np.flatnonzero(fitted.labels_ == c)
        members = members[np.argsort(far[members], kind="stable")]
        cells += [rng.permutation(part) for part in np.array_split(members, quantiles)]
    turns = [int(part[turn]) for turn in range(max(map(len, cells))) for part in cells if turn < len(part)]
    return np.array(turns[:count], dtype=np.int64)


def elbow(x: Floats, seed: int) -> int:
    """Return the number of clusters where the sum of squares bends most: farthest below the line from k = 1 to 12."""
    most = min(MOST, len(distinct(x)[0]))
    if most <= 2:
        return most
    sums = np.array([float(k_means(x, k, seed).inertia_) for k in range(1, most + 1)])
    line = np.linspace(sums[0], sums[-1], most)
    return int(np.argmax(line - sums)) + 1


def k_means(x: Floats, k: int, seed: int) -> Any:
    """Return scikit-learn's k-means, fitted. Raises `Unsupported` where scikit-learn is missing."""
    try:
        from sklearn.cluster import KMeans
    except ImportError:
        raise Unsupported(f"k-means needs scikit-learn: {installing('sklearn')}") from None
    return KMeans(k, n_init=1, random_state=seed).fit(x)
