"""Shadow models of correlation inference: data with the known correlations, models trained on them, what one sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import expit

from recon.attacks.correlation.copula import Marginal, copula
from recon.attacks.correlation.matrices import constrained_matrices
from recon.attacks.correlation.trainers import TARGET, Networks, NetworkTraining, logistic, trained
from recon.queries.inputs import Floats, Ints
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits

Kind = Literal["logistic", "network"]
Access = Literal["predictions", "weights", "canonical", "both"]
KINDS: tuple[Kind, ...] = ("logistic", "network")
ACCESSES: tuple[Access, ...] = ("predictions", "weights", "canonical", "both")
ROWS = 1000  # of each data set
ASKED = 100  # auxiliary rows, as the code of the journal version has (the paper's text: 1000)
TOGETHER = 100  # models trained at once: their data stay small


@dataclass(frozen=True, eq=False)
class LogisticModels:
    """m logistic regressions: coefficients (m, d + 1), the intercept last."""

    coefficients: Floats

    def answers(self, x: Floats) -> Floats:
        """Return (m, rows) the probability of class 1."""
        found: Floats = expit(self.coefficients[:, :-1] @ x.T + self.coefficients[:, -1:])
        return found


Models = LogisticModels | Networks


def fitted(x: Floats, y: Ints, kind: Kind, rng: np.random.Generator, training: NetworkTraining = TARGET,
           limits: Limits | None = None) -> Models:  # fmt: skip
    """Return a model for each data set x (m, rows, d), y (m, rows) of 0 and 1; see `logistic` and `trained`."""
    if kind == "logistic":
        return LogisticModels(logistic(x, y, limits=limits))
    if kind == "network":
        return trained(x, y, 2, training, rng, limits)
    raise ReleaseError(f"there are shadow models of the kinds {', '.join(KINDS)}, not '{kind}'")


def answers(models: Models, x: Floats) -> Floats:
    """Return (m, rows) the probability of class 1 that each model gives each row."""
    return models.answers(x) if isinstance(models, LogisticModels) else models.probabilities(x)[..., 1]


def _seen(models: Models, access: Access, asked: Floats) -> Floats:
    """Return (m, features) what an attacker with this access sees of each model.

    predictions: probabilities of class 1 on the rows `asked`; weights: all parameters; canonical: the same with hidden
    neurons in canonical order; both: predictions and canonical weights (of linear models there is nothing to order).
    """
    if access not in ACCESSES:
        raise ReleaseError(f"attackers see {', '.join(ACCESSES)}, not '{access}'")
    parts = []
    if access in ("predictions", "both"):
        parts.append(answers(models, asked))
    if access != "predictions":
        if isinstance(models, LogisticModels):
            parts.append(models.coefficients)
        else:
            parts.append((models if access == "weights" else models.canonical()).flat())
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True, eq=False)
class Shadows:
    """Shadow models: what each access sees of each (m, features), their correlations (m, d, d), the rows asked."""

    features: dict[Access, Floats]
    truth: Floats
    asked: Floats

    def take(self, index: Any) -> Shadows:
        """Return some of them."""
        return Shadows({name: part[index] for name, part in self.features.items()}, self.truth[index], self.asked)


@dataclass(frozen=True)
class ShadowSetting:
    """What shadow models are: kind, rows of a data set, rows asked, which accesses, marginals (none: standard normal).

    With marginals, the last is the label's, and the correlations are those of the copula's normal variables
    (`recon.attacks.correlation.copula.adjusted` gives them for correlations of the columns).
    """

    kind: Kind = "logistic"
    accesses: tuple[Access, ...] = ("predictions", "weights")
    rows: int = ROWS
    asked: int = ASKED
    training: NetworkTraining = TARGET
    marginals: Sequence[Marginal | None] | None = None


def dataset(matrices: Floats, setting: ShadowSetting, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Return x (m, rows, d) and y (m, rows): the last variable's sign, or whether it is above its median."""
    data = copula(matrices, setting.rows, rng, setting.marginals)
    last = data[..., -1]
    skewed = setting.marginals is not None and setting.marginals[-1] is not None
    cut = np.median(last, axis=1, keepdims=True) if skewed else 0.0
    return data[..., :-1], (last > cut).astype(np.int64)


def auxiliary(rho: Floats, setting: ShadowSetting, rng: np.random.Generator) -> Floats:
    """Return (asked, d) synthetic rows, each from a random matrix of its own with the known correlations."""
    matrices = constrained_matrices(np.broadcast_to(rho, (setting.asked, np.shape(rho)[-1])), rng)
    return copula(matrices, 1, rng, setting.marginals)[:, 0, :-1]


def shadows(rho: Floats, setting: ShadowSetting, rng: np.random.Generator, asked: Floats | None = None,
            limits: Limits | None = None) -> Shadows:  # fmt: skip
    """Return a shadow model for each row of correlations with the label (m, d): Algorithm 3, a copula, a model.

    `asked`: the rows that models are asked about, drawn unless given. Cost: a model's training, m times.
    Source: Cretu, Guepin and de Montjoye 2021, the model-based attack.
    """
    return of_matrices(constrained_matrices(rho, rng), setting, rng, rho if asked is None else None, asked, limits)


def of_matrices(matrices: Floats, setting: ShadowSetting, rng: np.random.Generator, rho: Floats | None = None,
                asked: Floats | None = None, limits: Limits | None = None) -> Shadows:  # fmt: skip
    """Return a model for each matrix (m, n, n); of `rho` and `asked` one is there: what the rows asked are drawn by."""
    if asked is None:
        assert rho is not None
        asked = auxiliary(np.atleast_2d(rho)[np.arange(setting.asked) % len(np.atleast_2d(rho))], setting, rng)
    found: dict[Access, list[Floats]] = {access: [] for access in setting.accesses}
    for first in range(0, len(matrices), TOGETHER):
        x, y = dataset(matrices[first : first + TOGETHER], setting, rng)
        models = fitted(x, y, setting.kind, rng, setting.training, limits)
        for access, parts in found.items():
            parts.append(_seen(models, access, asked))
    features = {access: np.concatenate(parts) for access, parts in found.items()}
    return Shadows(features, matrices[:, :-1, :-1], asked)


def seen_of(target: Any, access: Access, asked: Floats) -> Floats:
    """Return (1, features) what an attacker sees of a released model; see `seen`.

    `target`: a scikit-learn classifier of classes 0 and 1, or anything with its `predict_proba` for predictions.
    Raises `Unsupported` where its weights are not those of a logistic regression.
    """
    parts = []
    if access in ("predictions", "both"):
        known = np.asarray(target.classes_).tolist()
        if known != [0, 1]:
            raise ReleaseError(f"the released model tells classes {known} apart, not 0 and 1")
        parts.append(np.asarray(target.predict_proba(asked), dtype=np.float64)[None, :, 1])
    if access != "predictions":
        parts.append(np.concatenate([linear_weights(target), [float(np.ravel(target.intercept_)[0])]])[None])
    return np.concatenate(parts, axis=1)


def linear_weights(target: Any) -> Floats:
    """Return (d,) the weights of a released linear model of two classes; `Unsupported` where it is none."""
    weights = getattr(target, "coef_", None)
    if weights is None or np.ndim(weights) > 2 or np.size(weights) != np.shape(weights)[-1]:
        raise Unsupported(
            f"the weights of a {type(target).__name__} are not those of one linear model: only its predictions say "
            "something"
        )
    return np.ravel(np.asarray(weights, dtype=np.float64))
