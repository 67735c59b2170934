"""The attack with a model: what is seen of shadow models tells bins of correlations apart; stacked, never the worse.

Source: Cretu, Guepin and de Montjoye 2021, the model-based attack (shadow models, standardised features, an attack
model per pair of columns). The stacked attack is not in the paper: see `CorrelationVerdicts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recon.attacks.correlation.intervals import pair_interval
from recon.attacks.correlation.model_less import BINS, bin_of, decided, in_one_bin
from recon.attacks.correlation.shadow_models import (
    META,
    Access,
    Networks,
    NetworkTraining,
    Shadows,
    softmax_regressions,
    trained,
    with_ones,
)
from recon.queries.inputs import Bits, Floats, Ints
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits

Meta = Literal["regression", "network"]
METAS: tuple[Meta, ...] = ("regression", "network")
SHADOWS = 400
FOLDS = 5
KEPT = 1e-10  # of the variance of all features: principal components below say nothing


@dataclass(frozen=True, eq=False)
class AttackModels:
    """An attack model for each of some pairs: how features are standardised and turned, and what names the bin."""

    mean: Floats
    turned: Floats
    models: Floats | Networks

    def named(self, features: Floats) -> Ints:
        """Return (rows, pairs) the bin that each pair's model names for features (rows, f)."""
        x = (features - self.mean) @ self.turned
        if isinstance(self.models, Networks):
            scores = self.models.scores(x[None].astype(np.float32))
        else:
            scores = with_ones(x) @ self.models
        found: Ints = scores.argmax(axis=-1).T
        return found


def _fit(features: Floats, truth: Ints, rng: np.random.Generator, meta: Meta = "regression", bins: int = BINS,
        training: NetworkTraining = META, limits: Limits | None = None) -> AttackModels:  # fmt: skip
    """Return the attack models of all pairs, from features (rows, f) and the true bins (rows, pairs).

    Features are standardised. The regression (softmax, L2, C = 1) sees them by their principal components, all but
    those without variance: the same model, found faster. Constant features say nothing and are left out.
    """
    mean, spread = features.mean(axis=0), features.std(axis=0)
    scaled = (features - mean) / np.where(spread > 0, spread, np.inf)
    scale = np.diag(1.0 / np.where(spread > 0, spread, np.inf))
    if meta == "network":
        x = scaled[None]
        return AttackModels(mean, scale, trained(x, truth.T, bins, training, rng, limits))
    if meta != "regression":
        raise ReleaseError(f"attack models are {' or '.join(METAS)}, not '{meta}'")
    _, sizes, axes = np.linalg.svd(scaled, full_matrices=False)
    kept = axes[sizes**2 > KEPT * (sizes**2).sum()].T
    return AttackModels(mean, scale @ kept, softmax_regressions(scaled @ kept, truth, bins, limits=limits))


def _folds(rows: int, count: int, rng: np.random.Generator) -> Ints:
    """Return (rows,) the fold of each row: their sizes differ by one at most."""
    return rng.permutation(np.arange(rows) % count)


def crossed(features: Floats, truth: Ints, rng: np.random.Generator, meta: Meta = "regression", bins: int = BINS,
            count: int = FOLDS, limits: Limits | None = None) -> Ints:  # fmt: skip
    """Return (rows, pairs) the bins named by models that were fitted on the other folds. Raises `ReleaseError`."""
    if len(features) < count:
        raise ReleaseError(f"{len(features)} shadow models are too few for {count} folds")
    fold, found = _folds(len(features), count, rng), np.empty_like(truth)
    for k in range(count):
        one = _fit(features[fold != k], truth[fold != k], rng, meta, bins, limits=limits)
        found[fold == k] = one.named(features[fold == k])
    return found


@dataclass(frozen=True, eq=False)
class CorrelationVerdicts:
    """What attacks say of all pairs of one target (or of each of some targets), (..., pairs) each.

    `model_less`, `model_based`: the bins named; `certain`: the interval of the constraints lies in one bin;
    `expected`, `expected_without`: accuracies on the shadow models, cross-validated and of the model-less answers;
    `doubt`: the standard error of their difference.
    """

    model_less: Ints
    model_based: Ints
    certain: Bits
    expected: Floats
    expected_without: Floats
    doubt: Floats

    @property
    def trusted(self) -> Bits:
        """Return where the model-based answer is taken: right more often by over a standard error, nothing certain."""
        found: Bits = ~self.certain & (self.expected - self.expected_without > self.doubt)
        return found

    @property
    def stacked(self) -> Ints:
        """Return the model-based answers where they are trusted, the model-less ones elsewhere.

        Shadow models are draws of what the attacker takes for possible: up to the error of the accuracies on them it
        is right as often as the model-less attack at least, and where that is certain its answer stands.
        """
        return np.where(self.trusted, self.model_based, self.model_less)


def pairs(d: int) -> tuple[Ints, Ints]:
    """Return the numbers of the two columns of every pair."""
    one, other = np.triu_indices(d, 1)
    return one, other


def verdicts(known: Shadows, access: Access, target: Floats, rho: Floats, rng: np.random.Generator,
             meta: Meta = "regression", bins: int = BINS,
             limits: Limits | None = None) -> CorrelationVerdicts:  # fmt: skip
    """Return what is said of targets (t, f) as the access sees them, from shadow models; constraints rho (t, d).

    One attack model per pair is fitted on all shadow models, and judged by folds of them.
    """
    one, other = pairs(known.truth.shape[-1])
    truth = bin_of(known.truth[:, one, other], bins)
    features = known.features[access]
    inside = crossed(features, truth, rng, meta, bins, limits=limits)
    low, high = pair_interval(rho[:, one], rho[:, other])
    less = decided(low, high, bins, rng)
    right, guessed = inside == truth, truth[None] == less[:, None, :]
    based = _fit(features, truth, rng, meta, bins, limits=limits).named(target)
    without = guessed.mean(axis=1)
    expected = np.broadcast_to(right.mean(axis=0), without.shape)
    doubt = np.std(right[None].astype(np.int8) - guessed, axis=1) / len(truth) ** 0.5
    return CorrelationVerdicts(less, based, in_one_bin(low, high, bins), expected, without, doubt)
