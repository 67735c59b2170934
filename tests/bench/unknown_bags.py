"""Bags unknown: does the likelihood of the bags tell more than covering every leaf? A trial on COMPAS14.

    python tests/bench/unknown_bags.py [--quick | --lines BEGINNING ...] [--check]

A forest of scikit-learn with its seeds taken out of the file. A world must explain what every leaf counts (covering);
`recon.reconstruct` goes on to worlds that make the bags' counts likely (solvers.programs.local_search.finding). Kept is
how far the worlds are from the truth: mean share of the columns that differ after the best matching of rows within
classes, beside the covering world that the search starts from, and rows drawn from the columns' own frequencies (which
nobody has without the data). The log-likelihoods are those of the covering world, the likely one and the truth. Needs
scikit-learn. What a line says: harness.py.
"""

from __future__ import annotations

import functools
import math
import tempfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from harness import DATA, Job, Line, main, measured
from scipy.optimize import linear_sum_assignment
from sklearn.ensemble import RandomForestClassifier

SECONDS = 120.0


def stripped(forest, path: Path):
    """Return the release of a forest whose file has no seeds."""
    import recon

    for one in (forest, *forest.estimators_):
        one.random_state = None
    joblib.dump(forest, path)
    return recon.load(path)


def covering(statements, seed: int):
    """Return the world that covers, parts of all attributes, -1: any."""
    from solvers.foundation.limits import Limits
    from solvers.programs.local_search.compiled import searched
    from solvers.programs.local_search.problem import problem_of

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


def runs(job: str, rows: int, count: int, times: int) -> list[Line]:
    """Find a likely world of every run; the line is that of the middle one in seconds of the processor."""
    import recon
    from solvers.foundation.limits import Limits
    from solvers.programs.local_search.finding import log_likelihood

    data, found, spent = pd.read_csv(DATA / "compas14.csv.gz"), [], []
    said: dict[str, str] = {}
    for run in range(times):
        part = data.sample(rows, random_state=run)
        X, y = part.iloc[:, :-1].to_numpy(), part.iloc[:, -1].to_numpy()
        fit = measured(lambda run=run, X=X, y=y: RandomForestClassifier(count, random_state=run).fit(X, y))
        with tempfile.TemporaryDirectory() as folder:
            release = stripped(fit.found, Path(folder) / "model.joblib")
        if not run:
            recon.reconstruct(release, run, Limits(seconds=SECONDS))  # compiles
        limits = Limits(seconds=SECONDS)
        work = measured(functools.partial(recon.reconstruct, release, run, limits), repeats=1)
        world, random = work.found.to_frame().to_numpy(), np.random.default_rng(run)
        covered = covering(release.statements, run)
        drawn = np.stack([random.permutation(X[:, j]) for j in range(X.shape[1])], axis=1)
        worlds = (numbers(covered, random), world, np.column_stack([drawn, y]))
        found.append([distance(X, Z[:, :-1], y, Z[:, -1]) for Z in worlds])
        every = (covered, parts(release.statements, world), parts(release.statements, np.column_stack([X, y])))
        likely = ", ".join(f"{log_likelihood(release.statements, Z):.0f}" for Z in every)
        said[f"run {run}"] = f"{', '.join(f'{x:.3f}' for x in found[-1])}; {likely}"
        spent.append((work, fit))
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / math.sqrt(times)
    for name, m, e in zip(("covering", "likely", "frequencies"), mean, error, strict=True):
        said[name] = f"{m:.3f} ± {e:.3f}"
    work, fit = sorted(spent, key=lambda pair: pair[0].cpu)[times // 2]
    return [Line(job, work, "fit of the forest", fit, less={"distance": round(float(mean[1]), 4)}, said=said)]


JOBS = {"50 rows x 10 trees": Job(runs, ("50 rows x 10 trees", 50, 10, 8))}

if __name__ == "__main__":
    main("unknown_bags", JOBS)
