"""What noise buys: an exact tree or rule list with discrete Laplace noise on its counts, for several ε, many draws.

Source: Dwork, McSherry, Nissim, Smith, "Calibrating noise to sensitivity in private data analysis", TCC 2006;
Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing privacy mechanisms", STOC 2009 (discrete Laplace).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.encode.encoder import EncodedRelease, encode
from encoders.models.models import Noise
from recon.queries.noisy.denoising import filled
from recon.queries.noisy.posterior import Posterior, posterior
from recon.readers.loading.loading import Released, single_release_of
from solvers.engines.figures.partition import PartitionFigures, bits_before
from solvers.foundation.errors import Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.noisy.posteriors.posterior import Prior
from solvers.statements.noise.laws import Neighbours, NoiseLaw
from solvers.statements.noise.sampling import Randomness
from solvers.statements.release import ANY_LABEL, Partition

LIKELY = 0.95  # posterior probability from which on a membership is called likely
FIGURES = ("accuracy", "bits_removed_per_row", "said", "said_right", "nearest", "typical")
QUANTILES = (0.1, 0.5, 0.9)


def sweep(
    release: Released,
    epsilons: Sequence[float],
    draws: int = 20,
    seed: int = 0,
    neighbours: Neighbours = "add_remove",
    prior: Prior = "counts",
    limits: Limits | None = None,
) -> pd.DataFrame:
    """Return one line per ε of `epsilons` (and one for no noise, ε infinite): quantiles over the draws, by `seed`.

    `neighbours`: what privacy is about, "add_remove" or "replace" one row.
    accuracy: of the noisy majority classes on the training rows (NaN without classes). bits_removed_per_row: as
    `count` says it in convention `ordered`, (n log2 S - what is left) / n, never below 0; left is the posterior's
    entropy, without noise log2 of the number of worlds. The prior `counts` takes some away by itself, however much
    noise there is: `attrs["bits_removed_by_the_prior_alone"]` (None: no time). said: (leaf or rule, class) cells held
    to be occupied or empty with posterior probability 0.95 or more; said_right: the share of those that are. nearest:
    rows to change from the truth to the nearest world in the joint 95 % intervals (NaN: there is none); typical: rows
    to change on average over the posterior.
    Where time is up or somebody stops, the lines found so far are returned, the last ε over the draws it had: `attrs`
    "stopped" then says where. Raises `Unsupported` unless the release is one tree or rule list with exact counts,
    `Inconclusive` where not one draw was done.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> recon.sweep(release, [1.0])[["epsilon", "draws"]]
       epsilon  draws
    0      1.0     20
    1      inf      1
    """
    release = single_release_of(release, limits)
    limits = limits or Limits()
    block, truth = exact_counts(release)
    if draws < 1 or not epsilons:
        raise ReleaseError("a sweep needs at least one epsilon and one draw")
    sensitivity = Fraction(2 if neighbours == "replace" else 1)
    if wrong := [e for e in epsilons if not (math.isfinite(e) and e > 0)]:
        raise ReleaseError(f"epsilon must be above 0 and finite, not {wrong[0]}")
    exact_line = {"epsilon": math.inf, "draws": 1} | _quantiles([without_noise(release, block, truth, limits)])
    random, lines, stopped = Randomness(seed), [], ""
    for epsilon in sorted(epsilons):
        exact = Fraction(repr(float(epsilon)))
        noise = Noise(NoiseLaw("discrete_laplace", sensitivity / exact), exact, Fraction(0), sensitivity, neighbours)
        found: list[dict[str, float]] = []
        try:
            for k in range(draws):
                limits.report(f"epsilon {epsilon:g}: draw {k + 1} of {draws}")
                if limits.expired():
                    raise Inconclusive("the time was up")
                noisy = [int(c) + random.discrete_laplace(noise.law.scale) for c in truth]
                found.append(_one_draw(with_noise(release, noisy, noise), block, truth, prior, limits))
        except Inconclusive as error:
            stopped = f"stopped at epsilon {epsilon:g} after {len(found)} of {draws} draws: {error}"
        if found:
            lines.append({"epsilon": float(epsilon), "draws": len(found)} | _quantiles(found))
        if stopped:
            break
    if not lines:
        raise Inconclusive(stopped)
    out = pd.DataFrame([*lines, exact_line])
    alone = taken_by_the_prior(release, truth, prior, limits)
    out.attrs.update(prior=prior, neighbours=neighbours, confidence=0.95, likely=LIKELY, seed=seed, stopped=stopped,
                     convention="ordered", bits_removed_by_the_prior_alone=alone)  # fmt: skip
    return out


def taken_by_the_prior(release: EncodedRelease, truth: NDArray[np.int64], prior: Prior, limits: Limits) -> float | None:
    """Return the bits per row that the prior takes without any count (None out of time); 0 for `worlds`."""
    noise = Noise(NoiseLaw("discrete_laplace", Fraction(1)))  # any: the entropy of the prior does not depend on it
    try:
        left = posterior(with_noise(release, truth.tolist(), noise), prior, limits).uninformed_bits
    except Inconclusive:
        return None
    return removed_per_row(release, left, limits)


def removed_per_row(release: EncodedRelease, left: float, limits: Limits) -> float:
    """Return (n log2 S - bits left) / n as `count` says it in convention `ordered`; 0 without rows.

    Not against the entropy of the posterior's prior: that is below n log2 S, and what is left can lie above it.
    """
    n = release.rows.low
    return (bits_before(release.statements, [n], "ordered", limits) - left) / n if n else 0.0


def exact_counts(release: EncodedRelease) -> tuple[Partition, NDArray[np.int64]]:
    """Return the partition and its counts; `Unsupported` for other releases."""
    block = release.statements.single
    if block is None or release.noisy or not release.rows.exact:
        raise Unsupported("noise is swept over one tree or rule list with exact counts")
    if not release.models[0].mergeable or release.models[0].unit == "tree" or not bool((block.low == block.high).all()):
        raise Unsupported("noise is swept over one tree or rule list with exact counts")
    return block, block.low


def with_noise(release: EncodedRelease, noisy: list[int], noise: Noise) -> EncodedRelease:
    """Return the release with these noisy counts; the number of rows stays public, as the learner's n is."""
    model = release.models[0]
    model = model.with_trees(lambda tree: replace(tree, nodes=tree.nodes.counting_leaves(tree.nodes.leaf_counts)))
    published = replace(filled(model, iter([noisy])), noise=noise)
    return encode(release.domain, [published], release.rows)


def _one_draw(
    noisy: EncodedRelease, block: Partition, truth: NDArray[np.int64], prior: Prior, limits: Limits
) -> dict[str, float]:
    """Return the figures of one draw."""
    found = posterior(noisy, prior, limits)
    intervals = noisy.statements.partitions[0]
    published = found.counts["published"].to_numpy()
    settled, right = _likely_cells(found, truth)
    return {
        "accuracy": accuracy(block, truth, published),
        "bits_removed_per_row": removed_per_row(noisy, found.entropy_bits, limits),
        "said": float(settled),
        "said_right": right / settled if settled else math.nan,
        "nearest": _nearest(truth, intervals.low, intervals.high),
        "typical": found.distance(truth),
    }


def without_noise(
    release: EncodedRelease, block: Partition, truth: NDArray[np.int64], limits: Limits
) -> dict[str, float]:
    """Return the same figures of the exact release."""
    left = PartitionFigures.of(release.statements, limits).worlds_bits(truth, "ordered")
    return {
        "accuracy": accuracy(block, truth, truth.astype(np.float64)),
        "bits_removed_per_row": removed_per_row(release, left, limits),
        "said": float(len(truth)),
        "said_right": 1.0,
        "nearest": 0.0,
        "typical": 0.0,
    }


def accuracy(block: Partition, truth: NDArray[np.int64], published: NDArray[np.float64]) -> float:
    """Return the share of training rows whose class is their region's majority by the published counts."""
    if not len(truth) or bool((block.label == ANY_LABEL).any()) or not truth.sum():
        return math.nan
    right = 0
    for statements in block.by_region.values():
        right += int(truth[max(statements, key=lambda s: published[s])])
    return right / int(truth.sum())


def _likely_cells(found: Posterior, truth: NDArray[np.int64]) -> tuple[int, int]:
    """Return how many cells are held occupied or empty with probability 0.95, and for how many of them that is so."""
    empty = found.empty()
    settled = (empty <= 1 - LIKELY) | (empty >= LIKELY)
    right = settled & ((empty >= LIKELY) == (truth == 0))
    return int(settled.sum()), int(right.sum())


def _nearest(truth: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]) -> float:
    """Return how many rows change cells at least from the truth to counts in the intervals; NaN if there are none."""
    n = int(truth.sum())
    if bool((low > high).any()) or int(low.sum()) > n or int(np.minimum(high, n).sum()) < n:
        return math.nan
    return float(max(int(np.maximum(low - truth, 0).sum()), int(np.maximum(truth - high, 0).sum())))


def _quantiles(found: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Return the 10 %, 50 % and 90 % quantiles of every figure, without the undefined ones, and how often undefined."""
    out: dict[str, Any] = {}
    for name in FIGURES:
        values = np.array([one[name] for one in found])
        known = values[~np.isnan(values)]
        for q in QUANTILES:
            with np.errstate(invalid="ignore"):  # between two infinite ones lies none
                out[f"{name}_q{round(100 * q)}"] = float(np.quantile(known, q)) if len(known) else math.nan
    out["empty_sets"] = sum(math.isnan(one["nearest"]) for one in found)
    return out
