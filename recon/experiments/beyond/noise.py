"""What noise on the counts leaves: by the posterior of two priors and at a confidence, beside exact counts."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from encoders.encode.encoder import EncodedRelease
from encoders.models.models import Noise
from recon.experiments.beyond.sizes import domain_of, models, released
from recon.experiments.experiment import Point, Row
from recon.experiments.splits import TrainTestSplit
from recon.queries.answers.counting import count
from recon.queries.measures.sweeping import accuracy, exact_counts, removed_per_row, taken_by_the_prior, with_noise
from recon.queries.noisy.posterior import posterior
from solvers.foundation.errors import EmptyConfidenceSet
from solvers.foundation.limits import Limits
from solvers.laws.noise.laws import NoiseLaw
from solvers.laws.noise.sampling import Randomness
from solvers.noisy.posteriors.posterior import Prior

PRIORS: tuple[Prior, ...] = ("counts", "worlds")


def noised(point: Point, some: TrainTestSplit, limits: Limits) -> list[Row]:
    """Return a line per draw of discrete Laplace noise on the counts of one model, and one without noise (ε 0).

    The model is of the first `rows` training rows (0: of all). ε is that of the counts, add or remove one row; the
    model's shape was chosen on exact rows and is not private.
    """
    n = point["rows"] or some.rows
    part = replace(some, x=some.x.head(n), y=some.y.head(n))
    fit = next(f for f in models(point, part, point["learner"], point["depth"], limits) if f.limit == point["limit"])
    release = released(fit, domain_of(some))
    block, truth = exact_counts(release)
    left = count(release, "ordered", limits).bounds[1]
    out: list[Row] = [{
        "epsilon": 0.0, "draw": 0, "accuracy": accuracy(block, truth, truth.astype(np.float64)), "counts": len(truth),
        "removed_confidence": removed_per_row(release, left, limits), "log2_confidence": left, "status": "exact",
        **{f"removed_{prior}": removed_per_row(release, left, limits) for prior in PRIORS},
        **{f"prior_alone_{prior}": taken_by_the_prior(release, truth, prior, limits) for prior in PRIORS},
    }]  # fmt: skip
    dice = Randomness(point["seed"])
    epsilon = Fraction(repr(float(point["epsilon"])))
    noise = Noise(NoiseLaw("discrete_laplace", 1 / epsilon), epsilon, Fraction(0), Fraction(1), "add_remove")
    for draw in range(point["draws"]):
        limits.check("noise is drawn")
        noisy = [int(c) + dice.discrete_laplace(noise.law.scale) for c in truth]
        private = with_noise(release, noisy, noise)
        line: Row = {"epsilon": float(epsilon), "draw": draw, "counts": len(truth)}
        line["accuracy"] = accuracy(block, truth, np.array(noisy, dtype=np.float64))
        out.append(line | left_by(private, point["cap_seconds"], limits))
    return out


def left_by(private: EncodedRelease, seconds: float, limits: Limits) -> Row:
    """Return what noisy counts leave: posteriors of both priors, and the worlds at the joint confidence of 0.95.

    Of worlds that are only bounded the most there can be: what is removed for certain at the confidence.
    """
    line: Row = {}
    for prior in PRIORS:
        left = posterior(private, prior, limits).entropy_bits
        line |= {f"log2_{prior}": left, f"removed_{prior}": removed_per_row(private, left, limits)}
    try:
        found = count(private, "ordered", limits.lasting(min(seconds, limits.left())))
    except EmptyConfidenceSet:
        return line | {"status": "empty"}
    high = found.bounds[1]
    if not math.isfinite(high):
        return line | {"status": "empty" if high < 0 else "unknown"}
    return line | {
        "status": found.status, "log2_confidence": high, "removed_confidence": removed_per_row(private, high, limits)
    }  # fmt: skip
