"""Values that come back to the last bit where thresholds are midpoints, from proved leaves; the truth is checked.

`python tests/bench/midpoints.py`: diabetes (rows drawn by seed 0, forest by seed 1; classes: quantiles of the target),
with and without the columns' least and greatest values. CPU seconds: of the leaves, and of midpoints after them.
"""

from __future__ import annotations

import pickle
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import recon
from encoders.encode.learnt import learnt_splits
from solvers.assignments.solving import assigned
from solvers.foundation.limits import Limits
from solvers.midpoints.alternating import locate_in_turn

CASES = (
    ("diabetes", 2, 100, 100),
    ("diabetes", 2, 300, 100),
    ("diabetes", 2, 442, 100),
    ("diabetes", 2, 442, 150),
    ("diabetes", 3, 100, 100),
    ("diabetes", 3, 442, 100),
    ("diabetes", 0, 100, 100),
    ("diabetes", 0, 442, 100),
    ("wine", 3, 178, 100),
)


def data(name, classes, n):
    """Return n rows and their labels; 0 classes: the target as it is."""
    found = load_wine() if name == "wine" else load_diabetes()
    rows = np.random.RandomState(0).permutation(len(found.target))[:n]
    if name == "wine" or not classes:
        return found.data[rows], found.target[rows]
    return found.data[rows], np.digitize(found.target, np.quantile(found.target, np.arange(1, classes) / classes))[rows]


def run(name, classes, n, trees):
    """Print the lines of one case."""
    X, y = data(name, classes, n)
    kind = RandomForestClassifier if classes else RandomForestRegressor
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pkl"
        path.write_bytes(pickle.dumps(kind(trees, random_state=1).fit(X, y)))
        release = recon.load(str(path))
    start = time.process_time()
    found = assigned(release.statements, Limits(seconds=300))
    spent = time.process_time() - start
    splits = learnt_splits(release, found.problem)
    values = X.astype(np.float32).astype(float)[:, splits.attribute]
    ends = np.stack([values.min(axis=0), values.max(axis=0)], axis=1)
    seen = found.problem.times.T > 0
    for ranges in (None, ends):
        start = time.process_time()
        located, left = locate_in_turn(found.problem, found.domains, splits, ranges, Limits(seconds=300))
        seconds = time.process_time() - start
        width = np.minimum(located.high, ends[:, 1]) - np.maximum(located.low, ends[:, 0])
        share = width / (ends[:, 1] - ends[:, 0])
        inside = bool(((located.low <= values) & (values <= located.high)).all())
        proved = [float((domains.sizes()[seen] == 1).mean()) for domains in (found.domains, left)]
        print(
            f"{name} {classes or 'regression'} {n}x{trees} ranges {'known' if ranges is not None else 'unknown'}: "
            f"exact {located.exact.mean():.1%}, within 1 % {(share <= 0.01).mean():.1%}, width {share.mean():.3f}, "
            f"leaves {proved[0]:.2%} -> {proved[1]:.2%}, {spent:.1f} + {seconds:.1f} s, truth inside {inside}, "
            f"complete {located.complete}{located.contradiction}",
            flush=True,
        )


if __name__ == "__main__":
    for case in CASES:
        run(*case)
