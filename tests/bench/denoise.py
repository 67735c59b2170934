"""Consistent counts of noisy releases: the bound proved, the log-likelihood found, the gap; beside HiGHS alone.

    python tests/bench/denoise.py [--quick | --lines BEGINNING ...] [--check]

Real data, discrete Laplace noise of scale 1 on every count (ε = 1 per count), fixed seeds. "columns": every column a
bit of its own (32,528 and 97,294 cells), else one-hot columns are one attribute. The whole command `recon denoise` is
run with `--time 60`, reading included. Baseline: HiGHS' branch and bound on the same counts and cells for as long.
Needs scikit-learn and the data folder (RECON_DATA). What a line says: harness.py.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
from harness import DATA, Job, Line, command, main, measured

SECONDS = 60.0


def noisy_forest(name: str, rows: int | None, trees: int, depth: int, independent: bool):
    """Return (release file, log-likelihood of the true counts) of a forest with noisy counts."""
    from sklearn.ensemble import RandomForestClassifier

    import recon
    from encoders.models.models import Forest, Noise
    from recon.queries.noisy.denoising import _filled_tree
    from recon.readers.formats.release.writing import dump, release_json
    from recon.readers.loading.loading import models_of
    from solvers.statements.noise.laws import NoiseLaw
    from solvers.statements.noise.sampling import Randomness
    from solvers.statements.release import RowCount

    frame = pd.read_csv(DATA / name)
    label = frame.columns[-1]
    domain = recon.Domain.from_frame(frame, label=label, independent=independent)
    some = frame if rows is None else frame.sample(rows, random_state=0)
    forest = RandomForestClassifier(trees, max_depth=depth, bootstrap=False, random_state=0)
    exact = models_of(forest.fit(some.drop(columns=label), some[label]), domain)[0]
    dice, noise, log, made = Randomness(0), Noise(NoiseLaw("discrete_laplace", Fraction(1))), 0.0, []
    for tree in exact.trees:
        counts = [c for n in tree.nodes if n.condition is None for c in n.support.counts or ()]
        noisy = [int(c) + dice.discrete_laplace(Fraction(1)) for c in counts]
        pairs = zip(noisy, counts, strict=True)
        log += sum(float(noise.law.log_likelihood(Fraction(p), np.array([c]))[0]) for p, c in pairs)
        made.append(_filled_tree(tree, iter(noisy), iter([[]] * len(tree.nodes))))
    written = release_json(domain, [Forest(tuple(made), noise=noise)], RowCount(len(some), len(some)))
    return dump(written), log


def one_tree(leaves: int = 1000, rows: int = 48_842):
    """Return (release file, None) of one noisy tree with so many leaves."""
    dice = np.random.default_rng(0)
    counts = (
        dice.multinomial(rows, np.full(leaves, 1 / leaves))
        + dice.geometric(0.63, leaves)
        - dice.geometric(0.63, leaves)
    )

    def nodes(low: int, high: int, at: int):
        if high - low == 1:
            return [{"count": int(counts[low])}]
        middle = (low + high) // 2
        left = nodes(low, middle, at + 1)
        right = nodes(middle, high, at + 1 + len(left))
        return [{"if": {"a": {"below": middle}}, "then": at + 1, "else": at + 1 + len(left)}, *left, *right]

    noise = {"law": "discrete_laplace", "scale": 1}
    model = {"kind": "tree", "noise": noise, "nodes": nodes(0, leaves, 0)}
    domain = {"attributes": [{"name": "a", "min": 0, "max": leaves - 1}]}
    return json.dumps({"recon": 1, "domain": domain, "rows": rows, "models": [model]}), None


RELEASES = {
    "tree, 1,000 leaves": one_tree,
    "compas14 7,206 x 100 x depth 3": lambda: noisy_forest("compas14.csv.gz", None, 100, 3, False),
    "compas14 7,206 x 100 x depth 3, columns": lambda: noisy_forest("compas14.csv.gz", None, 100, 3, True),
    "adult19 48,842 x 10 x depth 5": lambda: noisy_forest("adult19.csv.gz", None, 10, 5, False),
    "adult19 48,842 x 10 x depth 5, columns": lambda: noisy_forest("adult19.csv.gz", None, 10, 5, True),
    "compas14 100 x 20 x depth 5": lambda: noisy_forest("compas14.csv.gz", 100, 20, 5, False),
    "compas14 100 x 20 x depth 5, columns": lambda: noisy_forest("compas14.csv.gz", 100, 20, 5, True),
}


def baseline(path: Path, seconds: float) -> float:
    """Return the log-likelihood that HiGHS' branch and bound finds on the same program; -inf where it finds none."""
    import recon
    from recon.queries.noisy.denoising import certain_release
    from solvers.cells.system import system_of
    from solvers.foundation.limits import Limits
    from solvers.noisy.likelihood.most_likely import gains_of
    from solvers.programs.concave.fractional import ConcaveMaster
    from solvers.programs.concave.terms import Gains
    from solvers.statements.observations import observations

    sure = certain_release(recon.load(str(path)), Limits())
    system = system_of(sure, Limits())
    gains, begun = Gains(gains_of(system, observations(sure))), time.perf_counter()
    master = ConcaveMaster(system, gains, Limits())
    master.add_cells(np.flatnonzero(~master.taken))
    cells = np.array(master.column_of_cell, dtype=np.int32)
    master.program.integral(cells)
    master.program.option("time_limit", seconds - (time.perf_counter() - begun))
    master.program.solver.run()
    z = system.bounds.lower.copy()
    values = np.array(master.program.solver.getSolution().col_value)
    z[master.cells] = np.rint(values[cells]).astype(np.int64) if len(values) else 0
    return gains.total(system.linear.sums(z)) if system.satisfied(z) else -np.inf


def consistent(job: str) -> list[Line]:
    """Run the command on a release, and HiGHS alone."""
    text, truth = RELEASES[job]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.json"
        path.write_text(text, encoding="utf-8")
        words = ["-m", "recon", "denoise", str(path), "--json", "--quiet", "--time", f"{SECONDS:g}"]
        work = command([sys.executable, *words])
        beside = measured(lambda: baseline(path, SECONDS), repeats=1)
    found = json.loads(work.found)
    bound, value, gap = (found[k] for k in ("log_likelihood_bound", "log_likelihood", "gap"))
    more = {"found": round(value, 1)}
    less = {"bound": round(bound, 1), "gap %": round(100 * gap / abs(bound), 2) if gap > 1e-4 else 0}
    said = {"HiGHS alone": round(beside.found, 1) if np.isfinite(beside.found) else "none found"}
    said |= {} if truth is None else {"the truth's": round(truth, 1)}
    return [Line(job, work, "HiGHS alone", beside, more=more, less=less, said=said)]


QUICK = ("tree, 1,000 leaves", "compas14 100 x 20 x depth 5")
JOBS = {name: Job(consistent, (name,), name in QUICK) for name in RELEASES}

if __name__ == "__main__":
    main("denoise", JOBS)
