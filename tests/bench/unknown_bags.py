"""Bags unknown: does the likelihood of the bags tell more than covering every leaf? A trial on COMPAS14.

A forest of scikit-learn with its seeds taken out of the file. A world must explain what every leaf counts (covering);
`recon.reconstruct` goes on to worlds that make the bags' counts likely (solvers.local_search.likely). Printed is how
far the worlds are from the truth: mean share of the columns that differ after the best matching of rows within classes,
beside the covering world that the search starts from, and rows drawn from the columns' own frequencies (which nobody
has without the data). The log-likelihoods are those of the covering world, the likely one and the truth.

`python tests/bench/unknown_bags.py [rows] [trees] [runs]`. Needs scikit-learn.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from sklearn.ensemble import RandomForestClassifier

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
DATA = ROOT / "../shared/data/compas14.csv.gz"
SECONDS = 120.0


def stripped(X, y, count: int, seed: int, path: Path):
    """Return the release of a forest whose file has no seeds."""
    import recon

    forest = RandomForestClassifier(count, random_state=seed).fit(X, y)
    for one in (forest, *forest.estimators_):
        one.random_state = None
    joblib.dump(forest, path)
    return recon.load(path)


def covering(statements, seed: int):
    """Return the world that covers, parts of all attributes, -1: any."""
    from solvers.foundation.limits import Limits
    from solvers.local_search.annealing import searched
    from solvers.local_search.problem import problem_of

    problem = problem_of(statements, Limits())
    found = searched(problem, seed, Limits(seconds=SECONDS), likely=True).world
    rows = np.full((problem.rows, len(statements.domain.attributes)), -1, dtype=np.int64)
    rows[:, problem.attributes] = found
    return rows


def numbers(X, random):
    """Return 0/1 rows of parts; a column that no tree asks about has one part: drawn."""
    return np.where(X < 0, random.integers(0, 2, X.shape), X)


def parts(statements, rows):
    """Return 0/1 rows as parts."""
    sizes = [len(a.sizes) for a in statements.domain.attributes]
    return np.where(np.array(sizes) > 1, rows, -1)


def distance(X, Z, y, labels):
    """Return the mean share of columns that differ after the best matching within classes."""
    total = 0.0
    for k in (0, 1):
        cost = (X[y == k][:, None, :] != Z[labels == k][None, :, :]).mean(axis=2)
        total += cost[linear_sum_assignment(cost)].sum() + max(0, len(cost) - cost.shape[1])
    return total / len(y)


def main() -> None:
    """Print the distances of some runs."""
    import recon
    from solvers.foundation.limits import Limits
    from solvers.local_search.likely import log_likelihood

    rows, count, runs = (int(a) for a in (*sys.argv[1:], *("50", "10", "8")[len(sys.argv) - 1 :]))
    data = pd.read_csv(DATA)
    print(f"COMPAS14, {rows} rows x {count} trees; distance to the truth (0: the same rows)")
    print("| run | covering | likely | frequencies | log-likelihood: covering, likely, truth | CPU s |")
    print("|---|---|---|---|---|---|")
    found = []
    for run in range(runs):
        part = data.sample(rows, random_state=run)
        X, y = part.iloc[:, :-1].to_numpy(), part.iloc[:, -1].to_numpy()
        random = np.random.default_rng(run)
        with tempfile.TemporaryDirectory() as folder:
            release = stripped(X, y, count, run, Path(folder) / "model.joblib")
        statements, begun = release.statements, time.process_time()
        world = recon.reconstruct(release, run, Limits(seconds=SECONDS)).to_frame().to_numpy()
        took = time.process_time() - begun
        covered = covering(statements, run)
        drawn = np.stack([random.permutation(X[:, j]) for j in range(X.shape[1])], axis=1)
        worlds = (numbers(covered, random), world, np.column_stack([drawn, y]))
        line = [distance(X, Z[:, :-1], y, Z[:, -1]) for Z in worlds]
        every = (covered, parts(statements, world), parts(statements, np.column_stack([X, y])))
        values = [log_likelihood(statements, Z) for Z in every]
        found.append(line)
        cells = [f"{run}", *(f"{x:.3f}" for x in line), ", ".join(f"{v:.0f}" for v in values), f"{took:.1f}"]
        print("| " + " | ".join(cells) + " |", flush=True)
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / math.sqrt(runs)
    print("| mean | " + " | ".join(f"{m:.3f} ± {e:.3f}" for m, e in zip(mean, error, strict=True)) + " | | |")


main()
