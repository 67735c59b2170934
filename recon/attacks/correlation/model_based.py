"""The attack with a model: what is seen of shadow models tells bins of correlations apart; stacked, never the worse.

Source: Cretu, Guepin and de Montjoye 2021, the model-based attack (shadow models, standardised features, an attack
model per pair of columns). The stacked attack is not in the paper: see `CorrelationVerdicts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recon.attacks.correlation.intervals import linear_intervals, pair_interval
from recon.attacks.correlation.matrices import checked_constraints, named
from recon.attacks.correlation.model_less import BINS, bin_of, decided, in_one_bin
from recon.attacks.correlation.shadow_models import (
    META,
    Access,
    Networks,
    NetworkTraining,
    Shadows,
    ShadowSetting,
    linear_weights,
    seen_of,
    shadows,
    softmax_regressions,
    trained,
    with_ones,
)
from recon.queries.inputs import Bits, Floats, Ints
from solvers.foundation.errors import ReleaseError, Unsupported
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


@dataclass(frozen=True)
class InferredCorrelations:
    """What is inferred of one pair of columns; bins by number, 0 is the most negative.

    `low`, `high`: the interval that is certain given the constraints; `answer`: of the stacked attack; `expected`,
    `expected_without`: accuracies of both attacks on shadow models; `linear`: an estimate of the interval that a
    released linear model leaves, None where there is none.
    """

    one: str
    other: str
    low: float
    high: float
    model_less: int
    model_based: int
    answer: int
    certain: bool
    expected: float
    expected_without: float
    linear: tuple[float, float] | None


def _infer(target: Any, rho: Any, setting: ShadowSetting | None = None, access: Access = "predictions",
          count: int = SHADOWS, seed: int = 0, names: Sequence[str] | None = None, meta: Meta = "regression",
          bins: int = BINS, limits: Limits | None = None) -> list[InferredCorrelations]:  # fmt: skip
    """Return what a released model says of every pair of its training columns, beside what the constraints say.

    `target`: a black box of classes 0 and 1 over standardised columns (`predict_proba`), or a linear model for accesses
    to weights; `rho` (d,): the columns' correlations with the label's variable. Raises `ReleaseError` for constraints
    that no matrix has, `Unsupported` for weights that are not linear. Cost: the training of `count` shadow models.
    """
    given, rng = checked_constraints(rho, names), np.random.default_rng(seed)
    if given.ndim != 1 or len(given) < 2:
        raise ReleaseError(f"pairs of columns need 2 correlations with the label at least, not {given.size}")
    setting = setting or ShadowSetting(accesses=(access,))
    if setting.kind == "network" and access != "predictions":
        raise Unsupported("weights of a released network are not read here: only access 'predictions' is for networks")
    known = shadows(np.broadcast_to(given, (count, len(given))), setting, rng, limits=limits)
    found = verdicts(known, access, seen_of(target, access, known.asked), given[None], rng, meta, bins, limits)
    left = linear_intervals(linear_weights(target), given) if hasattr(target, "coef_") else None
    low, high = pair_interval(given[:, None], given[None, :])
    out = []
    for k, (i, j) in enumerate(zip(*pairs(len(given)), strict=True)):
        out.append(InferredCorrelations(
            named(names, int(i)), named(names, int(j)), float(low[i, j]), float(high[i, j]),
            int(found.model_less[0, k]), int(found.model_based[0, k]), int(found.stacked[0, k]),
            bool(found.certain[0, k]), float(found.expected[0, k]), float(found.expected_without[0, k]),
            None if left is None else (float(left[0][i, j]), float(left[1][i, j])),
        ))  # fmt: skip
    return out
