"""Shadow models of correlation inference: data with the known correlations, models trained on them, what one sees.

Many small models trained at once: logistic and softmax regressions, perceptrons, and their canonical weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from recon.attacks.correlation.matrices import Marginal, constrained_matrices, copula
from recon.queries.inputs import Floats, Ints
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits

Small = NDArray[np.float32]
Reals = NDArray[np.floating[Any]]
NEWTON = 50  # steps at most
SMALL = 1e-8  # of a step: it has converged
HALVINGS = 30
BETAS, EPSILON = (0.9, 0.999), 1e-8  # Adam's
THINNED = 0.8  # of the networks still trained: those that stopped are then left out


def with_ones(x: Floats) -> Floats:
    """Return rows with a further column of ones, for the intercept."""
    return np.concatenate([x, np.ones((*x.shape[:-1], 1))], axis=-1)


def _logistic(x: Floats, y: Ints, c: float = 1.0, limits: Limits | None = None) -> Floats:
    """Return (m, d + 1) coefficients, the intercept last, of m logistic regressions on x (m, rows, d) and y (m, rows).

    Minimises |w|^2 / 2 + b^2 / 2 + c sum log(1 + exp(-+(w x + b))) for y in 0, 1, what scikit-learn's `liblinear` does
    (L2, the intercept penalised too), to the last digits; by Newton's method with halved steps where one does not
    descend. One class only: still a minimum. Cost: O(m rows d^2) a step, some 6 steps.
    """
    rows, signs = with_ones(x), np.where(y == 1, 1.0, -1.0)
    found = np.zeros((len(rows), rows.shape[-1]))
    going = np.arange(len(rows))
    for _ in range(NEWTON):
        if limits is not None:
            limits.check("logistic regressions were fitted")
        some, labels, now = rows[going], signs[going], found[going]  # a copy, also of all
        margins = labels * (some @ now[:, :, None])[..., 0]
        missed = expit(-margins)
        gradient = now - c * ((labels * missed)[:, None, :] @ some)[:, 0]
        weight = c * missed * (1.0 - missed)
        hessian = np.swapaxes(some, 1, 2) @ (some * weight[..., None])
        hessian += np.eye(rows.shape[-1])
        step = np.asarray(np.linalg.solve(hessian, gradient[..., None])[..., 0], dtype=np.float64)
        found[going] = _descended(some, labels, now, step, c)
        going = going[np.abs(found[going] - now).max(axis=1) > SMALL]
        if not len(going):
            break
    return found


def _descended(rows: Floats, signs: Floats, now: Floats, step: Floats, c: float) -> Floats:
    """Return the coefficients after a step, halved where the objective would grow."""
    if np.abs((rows @ step[:, :, None])[..., 0]).max() < 1.0:
        return now - step  # a short step of Newton's descends: no curvature changes by more than e along it

    def objective(at: Floats) -> Floats:
        margins = signs * (rows @ at[:, :, None])[..., 0]
        loss: Floats = (at**2).sum(axis=1) / 2 + c * np.logaddexp(0.0, -margins).sum(axis=1)
        return loss

    before = objective(now)
    share = np.ones(len(now))
    for _ in range(HALVINGS):
        worse = objective(now - share[:, None] * step) > before + 1e-9 * np.abs(before)
        if not worse.any():
            break
        share[worse] /= 2
    return now - share[:, None] * step


def _softmax(scores: Reals) -> Floats:
    """Return shares along the last axis."""
    found: Floats = _softmax_in_place(scores.astype(np.float64))
    return found


def _softmax_in_place(scores: Any) -> Any:
    """Return shares along the last axis, in the memory of the scores."""
    parts = [scores[..., k] for k in range(scores.shape[-1])]  # reductions over a short axis are slow
    scores -= reduce(np.maximum, parts)[..., None]
    np.exp(scores, out=scores)
    scores /= reduce(np.add, parts)[..., None]
    return scores


def softmax_regressions(x: Floats, y: Ints, classes: int, c: float = 1.0, steps: int = 100,
                        limits: Limits | None = None) -> Floats:  # fmt: skip
    """Return (targets, d + 1, classes) coefficients, the intercept last, for every column of y (rows, targets).

    Minimises |W|^2 / 2 + c sum of cross-entropies, the intercept free, as scikit-learn's `LogisticRegression`; all
    targets share x (rows, d) and one factorisation of a bound of the Hessian, (1/2) x^T x, with Nesterov's momentum
    (begun anew where an objective grows would cost more than it gives: `steps` is what ends it).
    Cost: O(rows d^2 + steps rows d targets classes). Source: Boehning 1992, the bound of the multinomial Hessian.
    """
    rows = with_ones(x)
    penalty = np.ones(rows.shape[1])
    penalty[-1] = 0.0
    bound = c * rows.T @ rows / 2 + np.diag(penalty)
    bound[np.diag_indices_from(bound)] += 1e-9 * np.trace(bound) / len(bound)
    inverse = np.linalg.inv(bound)
    across, targets = np.ascontiguousarray(rows.T), y.shape[1]
    wanted = (np.arange(classes)[:, None, None] == y.T).astype(np.float64)  # (classes, targets, rows): fast reductions
    now = ahead = np.zeros((classes * targets, rows.shape[1]))
    pace = 1.0
    for _ in range(steps):
        if limits is not None:
            limits.check("attack models were fitted")
        shares = (ahead @ across).reshape(wanted.shape)
        shares -= shares.max(axis=0)
        np.exp(shares, out=shares)
        shares /= shares.sum(axis=0)
        shares -= wanted
        found = ahead - (c * shares.reshape(len(now), -1) @ rows + penalty * ahead) @ inverse
        faster = (1 + (1 + 4 * pace**2) ** 0.5) / 2
        ahead = found + (pace - 1) / faster * (found - now)
        now, pace = found, faster
    result: Floats = now.reshape(classes, targets, -1).transpose(1, 2, 0)
    return result


@dataclass(frozen=True)
class NetworkTraining:
    """How networks are trained: hidden layers, Adam's rate, epochs, and when they stop.

    `patience`: epochs without a smaller loss on the `held` share of rows (the best weights are kept); `decay`: of
    weights, added to gradients; `batch`: rows; `stop`: "accuracy" counts wrong rows instead of the loss, as
    scikit-learn's `MLPClassifier` does.
    """

    hidden: tuple[int, ...] = (20, 10)
    rate: float = 0.05
    epochs: int = 100
    patience: int = 5
    held: float = 0.1
    decay: float = 0.0
    batch: int = 200
    stop: Literal["loss", "accuracy"] = "loss"


TARGET = NetworkTraining()  # Cretu et al. 2021: 2 hidden layers, ReLU, Adam, early stop at 5
META = NetworkTraining((50, 20), 0.005, 100, 10, 0.1, 0.05, 100)  # the attack's own network


@dataclass(frozen=True, eq=False)
class Networks:
    """m networks: `weights[l]` (m, in, out) and `biases[l]` (m, out); ReLU between layers, softmax behind the last."""

    weights: tuple[Reals, ...]
    biases: tuple[Reals, ...]

    def scores(self, x: Reals) -> Reals:
        """Return (m, rows, classes) for x (rows, d) or (m, rows, d)."""
        now: Reals = x
        for layer, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            now = now @ w + b[:, None, :]
            if layer < len(self.weights) - 1:
                now = np.maximum(now, 0.0)
        return now

    def probabilities(self, x: Floats) -> Floats:
        """Return (m, rows, classes) shares of the classes."""
        return _softmax(self.scores(x))

    def flat(self) -> Floats:
        """Return (m, parameters): layer by layer its weights, then its biases."""
        parts = [part.reshape(len(part), -1) for pair in zip(self.weights, self.biases, strict=True) for part in pair]
        return np.concatenate(parts, axis=1).astype(np.float64)

    def canonical(self) -> Networks:
        """Return the same functions with hidden neurons in a canonical order: by the sum of their incoming weights.

        Biases and the next layer's rows go along, layer by layer from the input; equal sums are ordered by the bias.
        Whatever order the neurons had, the result is the same. Source: Cretu et al. 2021, canonical weights (after
        Ganju et al. 2018).
        """
        weights, biases = list(self.weights), list(self.biases)
        for layer in range(len(weights) - 1):
            order = np.lexsort((biases[layer], weights[layer].sum(axis=1)), axis=-1)
            weights[layer] = np.take_along_axis(weights[layer], order[:, None, :], axis=2)
            biases[layer] = np.take_along_axis(biases[layer], order, axis=1)
            weights[layer + 1] = np.take_along_axis(weights[layer + 1], order[:, :, None], axis=1)
        return Networks(tuple(weights), tuple(biases))

    def take(self, index: Ints) -> Networks:
        """Return some of the networks."""
        return Networks(tuple(w[index] for w in self.weights), tuple(b[index] for b in self.biases))


def _initial(count: int, sizes: Sequence[int], rng: np.random.Generator) -> list[Small]:
    """Return weights and biases, alternately, uniform as scikit-learn draws them (Glorot and Bengio 2010)."""
    found = []
    for a, b in pairwise(sizes):
        bound = (6.0 / (a + b)) ** 0.5
        found += [rng.uniform(-bound, bound, (count, *shape)).astype(np.float32) for shape in ((a, b), (b,))]
    return found


def _gradients(parts: list[Small], x: Small, wanted: Small) -> list[Small]:
    """Return the gradients of the mean cross-entropy by all parts; x (m, rows, d), wanted (m, rows, classes)."""
    inputs, last = [x], len(parts) - 2
    for k in range(0, len(parts), 2):
        out = inputs[-1] @ parts[k]
        out += parts[k + 1][:, None, :]
        if k < last:
            np.maximum(out, 0.0, out=out)
        inputs.append(out)
    scores = inputs.pop()
    back: Small = _softmax_in_place(scores)
    back -= wanted
    back /= scores.shape[1]
    found: list[Small] = []
    for k in range(last, -1, -2):
        taken = inputs[k // 2]
        found = [np.swapaxes(taken, 1, 2) @ back, back.sum(axis=1), *found]
        if k:
            back = back @ np.swapaxes(parts[k], 1, 2)
            back *= taken > 0
    return found


def _losses(parts: list[Small], x: Small, y: Ints) -> Floats:
    """Return (m,) the mean cross-entropy on held rows."""
    scores = Networks(tuple(parts[::2]), tuple(parts[1::2])).scores(x).astype(np.float64)
    top = scores.max(axis=-1)
    taken = np.take_along_axis(scores, y[..., None], axis=-1)[..., 0]
    found: Floats = (np.log(np.exp(scores - top[..., None]).sum(axis=-1)) + top - taken).mean(axis=1)
    return found


def _mistakes(parts: list[Small], x: Small, y: Ints) -> Floats:
    """Return (m,) the share of held rows that are put into another class."""
    scores = Networks(tuple(parts[::2]), tuple(parts[1::2])).scores(x)
    found: Floats = (scores.argmax(axis=-1) != y).mean(axis=1)
    return found


def trained(x: Floats, y: Ints, classes: int, training: NetworkTraining, rng: np.random.Generator,
            limits: Limits | None = None) -> Networks:  # fmt: skip
    """Return m networks trained on x (m, rows, d), or shared x (1, rows, d), and y (m, rows) class numbers.

    Mini-batches by Adam; all networks see rows in the same order, and stop each at its own time. In single precision.
    Cost: O(epochs m rows parameters).
    """
    count, rows = y.shape
    held = max(1, int(training.held * rows))
    order = rng.permutation(rows)
    wanted = (y[..., None] == np.arange(classes)).astype(np.float32)
    data = x.astype(np.float32)
    apart, fitted = order[:held], order[held:]
    now = _initial(count, (x.shape[-1], *training.hidden, classes), rng)
    best, smallest, waited = [part.copy() for part in now], np.full(count, np.inf), np.zeros(count, dtype=np.int64)
    moments = [[np.zeros_like(part) for part in now] for _ in range(2)]
    going, shared, step = np.arange(count), len(data) == 1, 0
    held_x, held_y = data[:, apart], y[:, apart]
    for _ in range(training.epochs):
        if limits is not None:
            limits.check("networks were trained")
        turn = rng.permutation(fitted)
        for batch in np.array_split(turn, max(1, round(len(turn) / training.batch))):
            step += 1
            found = _gradients(now, data[:, batch], wanted[:, batch])
            _adam(now, found, moments, step, training)
        loss = (_losses if training.stop == "loss" else _mistakes)(now, held_x, held_y)
        better = loss < smallest[going]
        at = going[better]
        smallest[at] = loss[better]
        for kept, part in zip(best, now, strict=True):
            kept[at] = part[better]
        waited[going] = np.where(better, 0, waited[going] + 1)
        still = waited[going] < training.patience
        if not still.any():
            break
        if still.mean() < THINNED:
            going, wanted, held_y = going[still], wanted[still], held_y[still]
            now = [part[still] for part in now]
            moments = [[part[still] for part in some] for some in moments]
            if not shared:
                data, held_x = data[still], held_x[still]
    return Networks(tuple(best[::2]), tuple(best[1::2]))


def _adam(
    parts: list[Small], found: list[Small], moments: list[list[Small]], step: int, training: NetworkTraining
) -> None:
    """Move all parts by one step of Adam, in place. Source: Kingma and Ba 2015, Algorithm 1."""
    pace = np.float32(training.rate * (1 - BETAS[1] ** step) ** 0.5 / (1 - BETAS[0] ** step))
    first, second = moments
    for k, gradient in enumerate(found):
        pulled = gradient + np.float32(training.decay) * parts[k] if training.decay else gradient
        first[k] *= np.float32(BETAS[0])
        first[k] += np.float32(1 - BETAS[0]) * pulled
        second[k] *= np.float32(BETAS[1])
        second[k] += np.float32(1 - BETAS[1]) * pulled**2
        parts[k] -= pace * first[k] / (np.sqrt(second[k]) + np.float32(EPSILON))


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
        return LogisticModels(_logistic(x, y, limits=limits))
    if kind == "network":
        return trained(x, y, 2, training, rng, limits)
    raise ReleaseError(f"there are shadow models of the kinds {', '.join(KINDS)}, not '{kind}'")


def answers(models: Models, x: Floats) -> Floats:
    """Return (m, rows) the probability of class 1 that each model gives each row."""
    return models.answers(x) if isinstance(models, LogisticModels) else models.probabilities(x)[..., 1]


def _observed_features(models: Models, access: Access, asked: Floats) -> Floats:
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
    (`recon.attacks.correlation.matrices.adjusted` gives them for correlations of the columns).
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
            parts.append(_observed_features(models, access, asked))
    features = {access: np.concatenate(parts) for access, parts in found.items()}
    return Shadows(features, matrices[:, :-1, :-1], asked)
