"""Noisy counts: posteriors of a tree, most likely worlds and samples of private forests, and what noise buys.

    python tests/bench/noise.py [--quick | --lines BEGINNING ...] [--check]

Adult24 (48,842 rows, a tree of 16 leaves) and COMPAS14 (100 rows, 5 trees of depth 3); discrete Laplace noise, fixed
seeds. Beside the exact question without noise, or the fit of the forest. Needs scikit-learn and the data folder
(RECON_DATA). What a line says: harness.py.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pandas as pd
from harness import DATA, Job, Line, main, measured

EXACT = "the exact question without noise"
FIT = "fit of the forest"


def discrete_laplace(scale: Fraction):
    """Return the noise of a model."""
    from encoders.models.models import Noise
    from solvers.statements.noise.laws import NoiseLaw

    return Noise(NoiseLaw("discrete_laplace", scale))


def adult_tree(rows: int | None = None):
    """Return the exact release of a tree with 16 leaves, and the data."""
    from sklearn.tree import DecisionTreeClassifier

    import recon

    frame = pd.read_csv(DATA / "adult24.csv.gz").head(rows)
    label = frame.columns[-1]
    domain = recon.Domain.from_frame(frame, label=label)
    tree = DecisionTreeClassifier(max_leaf_nodes=16, random_state=0).fit(frame.drop(columns=label), frame[label])
    return recon.encode(tree, domain), frame


def posterior(job: str, epsilon: Fraction) -> list[Line]:
    """Work out the posterior of the tree's counts, 1,000 verdicts, and the number of worlds at confidence 0.95."""
    import recon
    from recon.queries.measures.sweeping import exact_counts, with_noise
    from solvers.statements.noise.sampling import Randomness

    release, frame = adult_tree()
    _, truth = exact_counts(release)
    dice, some = Randomness(0), frame.head(1000)
    noisy = [int(c) + dice.discrete_laplace(1 / epsilon) for c in truth]
    private = lambda: with_noise(release, noisy, discrete_laplace(1 / epsilon))  # noqa: E731
    exact = lambda: adult_tree()[0]  # noqa: E731
    found = measured(recon.posterior, private)
    alone = measured(recon.count, exact)

    def asked() -> Any:
        made = private()
        recon.posterior(made)  # which verdicts start from
        return made

    verdicts = measured(lambda made: recon.certify(made, some), asked)
    plain = measured(lambda made: recon.certify(made, some), exact)
    worlds = measured(recon.count, private, repeats=1)
    left = {"left out": f"{found.found.remainder:.0e}", "counts": len(truth)}
    more = {"status": worlds.found.status}
    return [
        Line(f"{job}: posterior", found, EXACT, alone, said=left),
        Line(f"{job}: 1,000 verdicts", verdicts, EXACT, plain),
        Line(f"{job}: count at 0.95", worlds, EXACT, alone, more=more),
    ]


def private_forest(rows_known: bool):
    """Return what `noisy_forest` does of a private forest (ε = 1 over 5 trees)."""
    return noisy_forest("compas14", 100, (5, 3), 5, rows_known)


def noisy_forest(name: str, rows: int | None, shape: tuple[int, int], scale: int, rows_known: bool = True):
    """Return (release of a forest of (trees, depth) with discrete Laplace noise, true log-likelihood, fit)."""
    import numpy as np
    from sklearn.ensemble import RandomForestClassifier

    import recon
    from encoders.encode.encoder import encode
    from encoders.models.models import Forest
    from recon.queries.noisy.denoising import _filled_tree
    from recon.readers.loading.loading import models_of
    from solvers.statements.noise.sampling import Randomness
    from solvers.statements.release import RowCount

    frame = pd.read_csv(DATA / f"{name}.csv.gz")
    label = frame.columns[-1]
    domain = recon.Domain.from_frame(frame, label=label)
    some = frame if rows is None else frame.sample(rows, random_state=0)
    forest = RandomForestClassifier(shape[0], max_depth=shape[1], bootstrap=False, random_state=0)
    fit = measured(lambda: forest.fit(some.drop(columns=label), some[label]))
    exact = models_of(fit.found, domain)[0]
    dice, log = Randomness(0), 0.0
    law = discrete_laplace(Fraction(scale)).law
    trees = []
    for tree in exact.trees:
        counts = [c for n in tree.nodes if n.condition is None for c in n.support.counts or ()]
        noisy = [int(c) + dice.discrete_laplace(Fraction(scale)) for c in counts]
        log += sum(float(law.log_likelihood(Fraction(p), np.array([c]))[0]) for p, c in zip(noisy, counts, strict=True))
        trees.append(_filled_tree(tree, iter(noisy), iter([[]] * len(tree.nodes))))
    made = Forest(tuple(trees), noise=discrete_laplace(Fraction(scale)))
    n = len(some)
    return encode(domain, [made], RowCount(n, n) if rows_known else None), log, fit


def forest(job: str, known: bool) -> list[Line]:
    """Find the most likely world of a private forest, and prove it."""
    from recon.queries.noisy.denoising import certain_release
    from solvers.foundation.limits import Limits
    from solvers.noisy.likelihood.most_likely import most_likely_of
    from solvers.statements.observations import observations

    def ask(release: Any) -> Any:
        sure = certain_release(release, Limits(seconds=60))
        return most_likely_of(sure, observations(sure), Limits(seconds=60))

    _, log, fit = private_forest(known)
    work = measured(ask, lambda: private_forest(known)[0])
    system, found = work.found
    said = {"cells": len(system.sizes), "the truth's": round(log, 1)}
    more = {"log-likelihood": round(found.log_likelihood, 3), "proved": "yes" if found.proved else "no"}
    return [Line(job, work, FIT, fit, more=more, said=said)]


def sampled(job: str, name: str, rows: int | None, shape: tuple[int, int], scale: int, draws: int) -> list[Line]:
    """Draw likely worlds of a private forest, and say how the chains mix."""
    import recon

    release, _, fit = noisy_forest(name, rows, shape, scale)
    work = measured(lambda: recon.sampled(release, draws), repeats=1)
    found = work.found
    said = {"draws": found.draws, "split R-hat": f"{found.rhat:.3f}", "trusted": found.trusted}
    return [Line(job, work, FIT, fit, more={"effective draws": round(float(found.ess), 1)}, said=said)]


def sweep(job: str) -> list[Line]:
    """What noise costs and protects: accuracy, bits, and rows from the truth, medians over 20 draws per budget."""
    import recon

    exact = lambda: adult_tree(1_000)[0]  # noqa: E731
    work = measured(lambda release: recon.sweep(release, [0.01, 0.1, 1.0, 10.0], draws=20), exact, repeats=1)
    beside = measured(recon.measure, exact)
    names = {"accuracy": "accuracy", "bits_removed_per_row": "bits removed per row", "typical": "rows to typical"}
    said = {}
    for one in work.found.to_dict("records"):
        epsilon = "exact" if math.isinf(one["epsilon"]) else f"ε = {one['epsilon']:g}"
        said[epsilon] = [f"{what} {one[f'{name}_q50']:.4g}" for name, what in names.items()]
    return [Line(job, work, EXACT, beside, said=said)]


def jobs() -> dict[str, Job]:
    """Return the jobs by their names."""
    out: dict[str, Job] = {}

    def add(name: str, run: Any, *arguments: Any, quick: bool = True) -> None:
        out[name] = Job(run, (name, *arguments), quick)

    for epsilon in (Fraction(10), Fraction(1), Fraction(1, 10), Fraction(1, 100)):
        add(f"tree, ε = {float(epsilon):g}", posterior, epsilon, quick=epsilon != Fraction(1, 10))
    add("forest, most likely world, rows known", forest, True)
    add("forest, most likely world, rows not known", forest, False)
    for draws in (2_000, 20_000):
        add(f"forest, {draws:,} draws", sampled, "compas14", 100, (5, 3), 5, draws, quick=draws < 10_000)
    add("walks, compas14 100 x 20 x depth 5", sampled, "compas14", 100, (20, 5), 1, 1_600, quick=False)
    add("walks, adult19 48,842 x 10 x depth 5", sampled, "adult19", None, (10, 5), 1, 48, quick=False)
    add("sweep", sweep)
    return out


JOBS = jobs()

if __name__ == "__main__":
    main("noise", JOBS)
