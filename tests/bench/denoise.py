"""Consistent counts of noisy releases: the bound proved, the log-likelihood found, the truth's, the gap and the time.

    python tests/bench/denoise.py [compas] [compas-columns] [adult] [adult-columns] [few] [tree] [--seconds 60]

Real data, discrete Laplace noise of scale 1 on every count (ε = 1 per count), fixed seeds. `...-columns`: every column
a bit of its own (32,528 and 97,294 cells), else one-hot columns are one attribute. The whole command `recon denoise` is
run, reading included. Baseline: HiGHS' branch and bound on the same counts and cells for as long. Needs scikit-learn.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
DATA = Path(os.environ.get("RECON_DATA", ROOT.parent / "shared" / "data"))


def noisy_forest(name: str, rows: int | None, trees: int, depth: int, independent: bool):
    """Return (release file, log-likelihood of the true counts) of a forest with noisy counts."""
    from sklearn.ensemble import RandomForestClassifier

    import recon
    from encoders.models.models import Forest, Noise
    from recon.formats.release.writing import dump, release_json
    from recon.loading.loading import models_of
    from recon.noisy.denoising import filled_tree
    from solvers.noise.laws import Law
    from solvers.noise.sampling import Randomness
    from solvers.statements.release import Rows

    frame = pd.read_csv(DATA / name)
    label = frame.columns[-1]
    domain = recon.Domain.from_frame(frame, label=label, independent=independent)
    some = frame if rows is None else frame.sample(rows, random_state=0)
    forest = RandomForestClassifier(trees, max_depth=depth, bootstrap=False, random_state=0)
    exact = models_of(forest.fit(some.drop(columns=label), some[label]), domain)[0]
    dice, noise, log, made = Randomness(0), Noise(Law("discrete_laplace", Fraction(1))), 0.0, []
    for tree in exact.trees:
        counts = [c for n in tree.nodes if n.condition is None for c in n.support.counts or ()]
        noisy = [int(c) + dice.discrete_laplace(Fraction(1)) for c in counts]
        pairs = zip(noisy, counts, strict=True)
        log += sum(float(noise.law.log_likelihood(Fraction(p), np.array([c]))[0]) for p, c in pairs)
        made.append(filled_tree(tree, iter(noisy), iter([[]] * len(tree.nodes))))
    written = release_json(domain, [Forest(tuple(made), noise=noise)], Rows(len(some), len(some)))
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
    "compas": lambda: noisy_forest("compas14.csv.gz", None, 100, 3, False),
    "compas-columns": lambda: noisy_forest("compas14.csv.gz", None, 100, 3, True),
    "adult": lambda: noisy_forest("adult19.csv.gz", None, 10, 5, False),
    "adult-columns": lambda: noisy_forest("adult19.csv.gz", None, 10, 5, True),
    "few": lambda: noisy_forest("compas14.csv.gz", 100, 20, 5, True),
    "tree": one_tree,
}


def baseline(path: Path, seconds: float) -> float:
    """Return the log-likelihood that HiGHS' branch and bound finds on the same program; -inf where it finds none."""
    import recon
    from recon.noisy.denoising import certain_release
    from solvers.cells.system import system_of
    from solvers.concave.fractional import Master
    from solvers.concave.terms import Gains
    from solvers.foundation.limits import Limits
    from solvers.likelihood.most_likely import gains_of
    from solvers.statements.observations import observations

    sure = certain_release(recon.load(str(path)), Limits())
    system = system_of(sure, Limits())
    gains, begun = Gains(gains_of(system, observations(sure))), time.perf_counter()
    master = Master(system, gains, Limits())
    master.add_cells(np.flatnonzero(~master.taken))
    cells = np.array(master.column_of_cell, dtype=np.int32)
    master.program.integral(cells)
    master.program.option("time_limit", seconds - (time.perf_counter() - begun))
    master.program.solver.run()
    z = system.bounds.lower.copy()
    values = np.array(master.program.solver.getSolution().col_value)
    z[master.cells] = np.rint(values[cells]).astype(np.int64) if len(values) else 0
    return gains.total(system.linear.sums(z)) if system.satisfied(z) else -np.inf


def main() -> None:
    """Print one line per release."""
    words = sys.argv[1:]
    seconds = float(words[words.index("--seconds") + 1]) if "--seconds" in words else 60.0
    chosen = [w for w in words if w in RELEASES] or list(RELEASES)
    print("| release | bound | found | the truth's | gap | seconds (CPU) | HiGHS alone | its gap / ours |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name in chosen:
        text, truth = RELEASES[name]()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "release.json"
            path.write_text(text, encoding="utf-8")
            command = [
                sys.executable,
                "-m",
                "recon",
                "denoise",
                str(path),
                "--json",
                "--quiet",
                "--time",
                f"{seconds:g}",
            ]
            before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout)
            wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime - before.ru_utime
            other = baseline(path, seconds)
        bound, value, gap = (found[k] for k in ("log_likelihood_bound", "log_likelihood", "gap"))
        ratio = "-" if not np.isfinite(other) else f"{(bound - other) / gap:.1f}" if gap > 1e-4 else "proved"
        behind = "-" if truth is None else f"{truth:,.1f}"
        alone = f"{other:,.1f}" if np.isfinite(other) else "none found"
        print(f"| {name} | {bound:,.1f} | {value:,.1f} | {behind} | {gap / abs(bound):.2%} | {wall:.1f} ({cpu:.1f}) | "
              f"{alone} | {ratio} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
