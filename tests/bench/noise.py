"""Noisy counts: posteriors of a tree, most likely worlds of a private forest, and what noise buys.

    python tests/bench/noise.py [posterior] [forest] [walks] [sweep]

Adult24 (48,842 rows, a tree of 16 leaves) and COMPAS14 (100 rows, 5 trees of depth 3); discrete Laplace noise, fixed
seeds. The row-by-row baseline of the forest is one Boolean per row and column (10 s). Needs scikit-learn.
"""

from __future__ import annotations

import os
import sys
import time
from fractions import Fraction
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
DATA = Path(os.environ.get("RECON_DATA", ROOT.parent / "shared" / "data"))


def discrete_laplace(scale: Fraction):
    """Return the noise of a model."""
    from encoders.models.models import Noise
    from solvers.noise.laws import Law

    return Noise(Law("discrete_laplace", scale))


def adult_tree(rows: int | None = None):
    """Return the exact release of a tree with 16 leaves, and the data."""
    from sklearn.tree import DecisionTreeClassifier

    import recon

    frame = pd.read_csv(DATA / "adult24.csv.gz").head(rows)
    label = frame.columns[-1]
    domain = recon.Domain.from_frame(frame, label=label)
    tree = DecisionTreeClassifier(max_leaf_nodes=16, random_state=0).fit(frame.drop(columns=label), frame[label])
    return recon.encode(tree, domain), frame


def posteriors() -> None:
    """Print the time of exact posteriors and of 1,000 verdicts."""
    import recon
    from recon.measures.sweeping import exact_counts, with_noise
    from solvers.noise.sampling import Randomness

    release, frame = adult_tree()
    _, truth = exact_counts(release)
    print("| ε | counts | posterior | left out | 1,000 verdicts | count at 0.95 |")
    print("|---|---|---|---|---|---|")
    for epsilon in (Fraction(10), Fraction(1), Fraction(1, 10), Fraction(1, 100)):
        dice = Randomness(0)
        noisy = [int(c) + dice.discrete_laplace(1 / epsilon) for c in truth]
        private = with_noise(release, noisy, discrete_laplace(1 / epsilon))
        begun = time.perf_counter()
        found = recon.posterior(private)
        first = time.perf_counter()
        recon.certify(private, frame.head(1000))
        second = time.perf_counter()
        status = recon.count(private).status
        third = time.perf_counter()
        times = [f"{b - a:.2f} s" for a, b in ((begun, first), (first, second), (second, third))]
        print(f"| {float(epsilon):g} | {len(truth)} | {times[0]} | {found.remainder:.1g} | {times[1]} | "
              f"{status}, {times[2]} |")  # fmt: skip


def private_forest(rows_known: bool):
    """Return the release of a private forest (ε = 1 over 5 trees) and its true log-likelihood."""
    return noisy_forest("compas14", 100, (5, 3), 5, rows_known)


def noisy_forest(name: str, rows: int | None, shape: tuple[int, int], scale: int, rows_known: bool = True):
    """Return the release of a forest of (trees, depth) with discrete Laplace noise, and its true log-likelihood."""
    import numpy as np
    from sklearn.ensemble import RandomForestClassifier

    import recon
    from encoders.encode.encoder import encode
    from encoders.models.models import Forest
    from recon.loading.loading import models_of
    from recon.noisy.denoising import filled_tree
    from solvers.noise.sampling import Randomness
    from solvers.statements.release import Rows

    frame = pd.read_csv(DATA / f"{name}.csv.gz")
    label = frame.columns[-1]
    domain = recon.Domain.from_frame(frame, label=label)
    some = frame if rows is None else frame.sample(rows, random_state=0)
    forest = RandomForestClassifier(shape[0], max_depth=shape[1], bootstrap=False, random_state=0)
    exact = models_of(forest.fit(some.drop(columns=label), some[label]), domain)[0]
    dice, log = Randomness(0), 0.0
    law = discrete_laplace(Fraction(scale)).law
    trees = []
    for tree in exact.trees:
        counts = [c for n in tree.nodes if n.condition is None for c in n.support.counts or ()]
        noisy = [int(c) + dice.discrete_laplace(Fraction(scale)) for c in counts]
        log += sum(float(law.log_likelihood(Fraction(p), np.array([c]))[0]) for p, c in zip(noisy, counts, strict=True))
        trees.append(filled_tree(tree, iter(noisy), iter([[]] * len(tree.nodes))))
    made = Forest(tuple(trees), noise=discrete_laplace(Fraction(scale)))
    n = len(some)
    return encode(domain, [made], Rows(n, n) if rows_known else None), log


def walks() -> None:
    """Print how samples of larger private forests mix: seconds are of one core's time, not of the clock."""
    import recon

    sizes = (("compas14", 100, (20, 5), 1_600), ("adult19", None, (10, 5), 48))
    print("| release | draws | CPU | split R-hat | effective draws | trusted |")
    print("|---|---|---|---|---|---|")
    for name, rows, shape, draws in sizes:
        release, _ = noisy_forest(name, rows, shape, 1)
        begun = time.process_time()
        found = recon.sampled(release, draws)
        print(f"| {name}, {release.rows.low:,} rows, {shape[0]} trees of depth {shape[1]}, ε = 1 per count | "
              f"{found.draws:,} | {time.process_time() - begun:.0f} s | {found.rhat:.3f} | {found.ess:.0f} | "
              f"{found.trusted} |", flush=True)  # fmt: skip


def forests() -> None:
    """Print how long the most likely world of a private forest takes."""
    from recon.noisy.denoising import certain_release
    from solvers.foundation.limits import Limits
    from solvers.likelihood.most_likely import most_likely_of
    from solvers.statements.observations import observations

    print("| rows | cells | most likely | proved | log-likelihood | the truth's |")
    print("|---|---|---|---|---|---|")
    for known in (True, False):
        release, log = private_forest(known)
        begun = time.perf_counter()
        sure = certain_release(release, Limits(seconds=60))
        seen = observations(sure)
        system, found = most_likely_of(sure, seen, Limits(seconds=60))
        seconds = time.perf_counter() - begun
        print(f"| {'100' if known else 'not known'} | {len(system.sizes)} ({len(seen)} counts) | {seconds:.2f} s | "
              f"{found.proved} | {found.log_likelihood:.3f} | {log:.3f} |")  # fmt: skip
    sampling(private_forest(True)[0])


def sampling(release) -> None:
    """Print how a sample of the forest's likely worlds mixes."""
    import recon

    for draws in (2_000, 20_000):
        begun = time.perf_counter()
        found = recon.sampled(release, draws)
        print(f"{draws:,} draws: {time.perf_counter() - begun:.1f} s, split R-hat {found.rhat:.3f}, "
              f"effective draws {found.ess:.0f}, trusted: {found.trusted}")  # fmt: skip


def sweeps() -> None:
    """Print what noise buys."""
    import recon
    from recon.cli.commands.noise import sweep_lines

    release, _ = adult_tree(1_000)
    begun = time.perf_counter()
    found = recon.sweep(release, [0.01, 0.1, 1.0, 10.0], draws=20)
    print("\n".join(sweep_lines(found)))
    print(f"{time.perf_counter() - begun:.1f} s")


if __name__ == "__main__":
    sections = {"posterior": posteriors, "forest": forests, "walks": walks, "sweep": sweeps}
    for name in sys.argv[1:] or sections:
        print(f"\n## {name}\n")
        sections[name]()
