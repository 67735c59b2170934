"""Rows to ask a black box about: drawn from the columns' own values, on a path of a tree, and asked once each.

The global surrogate as REVEAL describes TREPAN: a plain decision tree on enriched data labelled by the black box.

Which records are explained: some from every cluster, near its centre and far from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recon.attacks.explainers.surrogate import Box, MofN, Surrogate
from recon.queries.inputs import Bits, Floats, Ints, RecordColumns, Target, probabilities
from solvers.foundation.errors import ReleaseError, Unsupported, installing

ROUNDS = 6  # of drawing and throwing away, before rows are moved step by step
SWEEPS = 4  # over all columns, where rows are moved
Path = tuple[tuple[MofN, bool], ...]  # tests from the root, each with its outcome


def checked_rows(x: Floats, columns: RecordColumns) -> Floats:
    """Return rows as numbers. Raises `ReleaseError` where there are none, or other columns than those named."""
    rows = np.asarray(x, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != len(columns.names):
        raise ReleaseError(f"the rows have the shape {rows.shape}, but there are {len(columns.names)} columns")
    if not len(rows):
        raise ReleaseError("there are no rows to draw from: a surrogate needs at least one")
    return rows


def distinct(x: Floats) -> tuple[Ints, Ints]:
    """Return the numbers of the first of equal rows, and for each row which of those it equals.

    Rows are compared by a 64-bit sum of products first, which takes a tenth of the time of sorting whole rows; where
    that sum puts different rows together (never seen), they are sorted.
    """
    first: Ints
    inverse: Ints
    _, first, inverse = np.unique(hashed(x), return_index=True, return_inverse=True)
    if not np.array_equal(x[first][inverse], x):
        _, first, inverse = np.unique(x, axis=0, return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)


def hashed(x: Floats) -> NDArray[np.uint64]:
    """Return (rows,) numbers that are equal for rows with the same bits, and hardly ever for others."""
    factors = np.random.default_rng(0).integers(1, 2**63, size=x.shape[1], dtype=np.uint64) | np.uint64(1)
    bits = np.ascontiguousarray(x, dtype=np.float64).view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(29))) * factors  # a double's low bits are mostly 0: the high ones must move down
    found: NDArray[np.uint64] = (bits ^ (bits >> np.uint64(32))).sum(axis=1, dtype=np.uint64)
    return found


def query_target(target: Target, x: Floats, classes: int) -> tuple[Ints, int]:
    """Return (rows,) what a black box says of rows, and how many it was asked about: equal ones once."""
    if not len(x):
        return np.zeros(0, dtype=np.int64), 0
    first, inverse = distinct(x)
    found: Ints = probabilities(target, x[first], classes).argmax(axis=1)
    return found[inverse], len(first)


def parts(columns: RecordColumns) -> list[Ints]:
    """Return the columns that are drawn together: each one-hot group, each other column alone."""
    grouped = {k for group in columns.groups for k in group}
    alone = [np.array([k]) for k in range(len(columns.names)) if k not in grouped]
    return [*(np.array(group, dtype=np.int64) for group in columns.groups if len(group)), *alone]


@dataclass(frozen=True, eq=False)
class IndependentColumns:
    """A law of rows: every column (or one-hot group) has the values of `pool` (m, d), independently of the others."""

    pool: Floats
    columns: RecordColumns

    def draw(self, count: int, rng: np.random.Generator, box: Box | None = None,
             seeds: Floats | None = None) -> Floats:  # fmt: skip
        """Return (count, d) rows; within a box where one is given, with values of `seeds` where the pool has none."""
        found = np.empty((count, self.pool.shape[1]))
        for part in parts(self.columns):
            found[:, part] = self.values(part, count, rng, box or {}, self.pool if seeds is None else seeds)
        return found

    def values(self, part: Ints, count: int, rng: np.random.Generator, box: Box, seeds: Floats) -> Floats:
        """Return (count, columns of the part) values of the pool that lie in a box, of `seeds` where none does."""
        bounded = [k for k in part.tolist() if k in box]
        if not bounded:
            return self.pool[rng.integers(len(self.pool), size=count)[:, None], part]
        inside = np.ones(len(self.pool), dtype=bool)
        for k in bounded:
            above, most = box[k]
            inside &= (self.pool[:, k] > above) & (self.pool[:, k] <= most)
        source = self.pool[np.ix_(np.flatnonzero(inside), part)] if inside.any() else seeds[:, part]
        return source[rng.integers(len(source), size=count)]


def _on(path: Path, x: Floats) -> Bits:
    """Return (rows,) which rows take a path."""
    found = np.ones(len(x), dtype=bool)
    for test, outcome in path:
        found &= test.holds(x) == outcome
    return found


def _boxed(path: Path) -> tuple[Box, Path]:
    """Return the box of the tests on a path that decide each of their literals, and the tests that do not."""
    box: Box = {}
    others: list[tuple[MofN, bool]] = []
    for test, outcome in path:
        if test.needed == (len(test.literals) if outcome else 1):
            for literal in test.literals:
                box = literal.within(box, outcome)
        else:
            others.append((test, outcome))
    return box, tuple(others)


def conditioned(law: IndependentColumns, path: Path, seeds: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Return (count, d) rows of a law, given that they take a path; `seeds` (at least one) are rows that take it.

    Single tests cut the columns' values down to a box. Rows that miss a real m-of-n test are thrown away; where too
    many would be, seeds are moved instead: every column in turn gets a new value where the row stays on the path
    (Metropolis steps whose law is the conditional one). Raises `ReleaseError` where seeds are missing.
    """
    if not len(seeds):
        raise ReleaseError("no row takes the path that rows are to be drawn on")
    box, others = _boxed(path)
    if not others:
        return law.draw(count, rng, box, seeds)
    kept: list[Floats] = []
    have = 0
    for _ in range(ROUNDS):
        drawn = law.draw(count, rng, box, seeds)
        drawn = drawn[_on(others, drawn)]
        kept.append(drawn)
        have += len(drawn)
        if have >= count:
            break
    if have < count:
        kept.append(_moved_rows(law, path, seeds, count - have, rng))
    return np.concatenate(kept)[:count]


def _moved_rows(law: IndependentColumns, path: Path, seeds: Floats, count: int, rng: np.random.Generator) -> Floats:
    box, others = _boxed(path)
    rows = seeds[rng.integers(len(seeds), size=count)]
    pieces: Sequence[Ints] = parts(law.columns)
    for _ in range(SWEEPS):
        for k in rng.permutation(len(pieces)).tolist():
            moved = rows.copy()
            moved[:, pieces[k]] = law.values(pieces[k], count, rng, box, seeds)
            stays = _on(others, moved)
            rows[stays] = moved[stays]
    return rows


def fitted_tree(x: Floats, y: Ints, **settings: Any) -> Any:
    """Return scikit-learn's decision tree fitted on rows. Raises `Unsupported` where scikit-learn is missing."""
    try:
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        raise Unsupported(f"a tree on enriched data needs scikit-learn: {installing('sklearn')}") from None
    return DecisionTreeClassifier(**settings).fit(x, y)


def enriched_tree(target: Target, x: Floats, columns: RecordColumns, classes: int, *, seed: int,
                  max_depth: int | None = None,
                  max_leaves: int | None = None, min_leaf: int = 1,
                  samples: int | None = None) -> Surrogate:  # fmt: skip
    """Return a decision tree fitted on rows x (n, d) and `samples` drawn ones (as many as rows), labelled by a target.

    Drawn rows have every column's own values independently (one-hot groups together). `min_leaf`: the least number of
    rows in a leaf. Cost: one query for each distinct row, and the fit. Raises `ReleaseError` without rows,
    `Unsupported` without scikit-learn.

    Source: Naretto, Monreale, Giannotti 2025 (REVEAL), whose text calls this TREPAN; it is not the algorithm of Craven
    and Shavlik (`trepan`), the paper gives no size of the enrichment, and `kind` says which of the two a tree is.
    """
    rows = checked_rows(x, columns)
    rng = np.random.default_rng(seed)
    drawn = IndependentColumns(rows, columns).draw(len(rows) if samples is None else samples, rng)
    both = np.concatenate([rows, drawn])
    said, queries = query_target(target, both, classes)
    state = int(rng.integers(2**31))
    limited = {"max_depth": max_depth, "max_leaf_nodes": max_leaves, "min_samples_leaf": min_leaf}
    tree = fitted_tree(both, said, random_state=state, **limited)
    return Surrogate.of(tree, "enriched tree", columns, classes, queries)


EACH = 3  # records from each quantile of each cluster
MAX_CLUSTERS = 12  # clusters that are tried
SAMPLE = 2000  # rows on which the number of clusters is found


def diverse_rows(x: Floats, count: int, seed: int, clusters: int | None = None) -> Ints:
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
    k = _elbow(some, seed) if clusters is None else clusters
    fitted = _k_means(rows, max(1, min(k, len(distinct(rows)[0]))), seed)
    far = np.linalg.norm(rows - fitted.cluster_centers_[fitted.labels_], axis=1)
    quantiles = max(1, -(-count // (EACH * len(fitted.cluster_centers_))))
    cells: list[Ints] = []
    for c in range(len(fitted.cluster_centers_)):
        members = np.flatnonzero(fitted.labels_ == c)
        members = members[np.argsort(far[members], kind="stable")]
        cells += [rng.permutation(part) for part in np.array_split(members, quantiles)]
    turns = [int(part[turn]) for turn in range(max(map(len, cells))) for part in cells if turn < len(part)]
    return np.array(turns[:count], dtype=np.int64)


def _elbow(x: Floats, seed: int) -> int:
    """Return the number of clusters where the sum of squares bends most: farthest below the line from k = 1 to 12."""
    most = min(MAX_CLUSTERS, len(distinct(x)[0]))
    if most <= 2:
        return most
    sums = np.array([float(_k_means(x, k, seed).inertia_) for k in range(1, most + 1)])
    line = np.linspace(sums[0], sums[-1], most)
    return int(np.argmax(line - sums)) + 1


def _k_means(x: Floats, k: int, seed: int) -> Any:
    """Return scikit-learn's k-means, fitted. Raises `Unsupported` where scikit-learn is missing."""
    try:
        from sklearn.cluster import KMeans
    except ImportError:
        raise Unsupported(f"k-means needs scikit-learn: {installing('sklearn')}") from None
    return KMeans(k, n_init=1, random_state=seed).fit(x)
