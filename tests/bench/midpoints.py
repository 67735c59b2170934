"""Values that come back to the last bit where thresholds are midpoints, from proved leaves; the truth is checked.

    python tests/bench/midpoints.py [--quick | --lines BEGINNING ...] [--check]

Diabetes and wine (rows drawn by seed 0, forest by seed 1; classes: quantiles of the target), with and without the
columns' least and greatest values. The work is that of midpoints and leaves in turn, beside that of the leaves alone,
which it starts from. Needs scikit-learn. What a line says: harness.py.
"""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from harness import Job, Line, main, measured
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

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


def data(name: str, classes: int, n: int) -> tuple[Any, Any]:
    """Return n rows and their labels; 0 classes: the target as it is."""
    found = load_wine() if name == "wine" else load_diabetes()
    rows = np.random.RandomState(0).permutation(len(found.target))[:n]
    if name == "wine" or not classes:
        return found.data[rows], found.target[rows]
    return found.data[rows], np.digitize(found.target, np.quantile(found.target, np.arange(1, classes) / classes))[rows]


def in_turn(job: str, name: str, classes: int, n: int, trees: int) -> list[Line]:
    """Return the lines of one case."""
    import positions

    import recon
    from encoders.encode.learner_facts import learnt_splits
    from solvers.foundation.limits import Limits
    from solvers.positions.assignments.world import assigned
    from solvers.positions.midpoints.alternating import locate_in_turn

    positions.warm()
    X, y = data(name, classes, n)
    kind = RandomForestClassifier if classes else RandomForestRegressor
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pkl"
        path.write_bytes(pickle.dumps(kind(trees, random_state=1).fit(X, y)))
        release = recon.load(str(path))
    alone = measured(lambda: assigned(release.statements, Limits(seconds=300)), repeats=1)
    found = alone.found
    splits = learnt_splits(release, found.problem)
    values = X.astype(np.float32).astype(float)[:, splits.attribute]
    ends = np.stack([values.min(axis=0), values.max(axis=0)], axis=1)
    seen, out = found.problem.times.T > 0, []
    for ranges in (None, ends):
        work = measured(
            lambda ranges=ranges: locate_in_turn(found.problem, found.domains, splits, ranges, Limits(seconds=300)),
            repeats=1,
        )
        located, left = work.found
        assert ((located.low <= values) & (values <= located.high)).all(), "a true value is excluded"
        width = np.minimum(located.high, ends[:, 1]) - np.maximum(located.low, ends[:, 0])
        proved = [round(100 * float((d.sizes()[seen] == 1).mean()), 2) for d in (found.domains, left)]
        more = {"exact %": round(100 * float(located.exact.mean()), 1), "leaves %": proved[1]}
        said = {"leaves % alone": proved[0], "mean width": round(float((width / (ends[:, 1] - ends[:, 0])).mean()), 3)}
        told = "unknown" if ranges is None else "known"
        out.append(Line(f"{job}: ranges {told}", work, "the leaves alone", alone, more=more, said=said))
    return out


def jobs() -> dict[str, Job]:
    """Return the jobs by their names."""
    out = {}
    for name, classes, n, trees in CASES:
        job = f"{name} {n} x {trees}, {f'{classes} classes' if classes else 'regression'}"
        out[job] = Job(in_turn, (job, name, classes, n, trees), n == 100)
    return out


JOBS = jobs()

if __name__ == "__main__":
    main("midpoints", JOBS)
