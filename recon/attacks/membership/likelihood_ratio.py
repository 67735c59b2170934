"""The likelihood ratio attack (LiRA), the strong reference: how confident models with and without the row are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from recon.attacks.membership.shadow_data import Knowledge
from recon.queries.inputs import Bits, Floats, Ints, Records, Target, probabilities
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits

Sample = Callable[[int, np.random.Generator], tuple[Floats, Ints]]
Fit = Callable[[Floats, Ints, int], Target]


def population(records: Records) -> Sample:
    """Return a sampler of an attacker's own rows of the target's law: different ones, all of them where too few."""

    def sample(size: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
        rows = rng.permutation(len(records))[:size]
        return records.x[rows], records.y[rows]

    return sample


@dataclass(frozen=True)
class LikelihoodRatio:
    """LiRA: the logit of the true label's share, against Gaussians of shadow models that had the row and had it not.

    It knows more than the other attacks: `sample(m, rng)` gives m rows (x, y) of the target's law with their true
    labels (`population` of an attacker's own rows), `fit(x, y, seed)` fits the target's kind of model, `size` is the
    number of the target's training rows. Labels are true ones, the shadow data's are not used.

    `online`: shadow models are trained for the very rows asked about: each distinct row is in exactly half of the
    `shadows` (an even number), rows of the sample fill up to `size`; rows are asked about in batches of 2 `size` at
    most. The score is log N(logit; in) - log N(logit; out), the threshold 0. Offline (`online=False`): `shadows` models
    of rows of the sample only, fitted once; the score is (logit - mean out) / deviation out, the threshold its quantile
    1 - `level`. A row of the sample that equals a row asked about is left in: "in" means one copy more.

    Shares are clipped to [`clip`, 1 - `clip`], so that trees and bare labels have logits; deviations are over all rows
    (`pooled`) or per row, `floor` at least. Pooled ones are the default below 64 shadows, where the paper finds them
    better. Cost: `shadows` fits, online again for each batch: about 6 s for 8,400 rows of Adult and forests of 100
    trees on one core. Source: Carlini et al. 2022, "Membership Inference Attacks From First Principles", Algorithm 1
    and its offline variant.
    """

    sample: Sample
    fit: Fit
    size: int
    shadows: int = 16
    online: bool = True
    clip: float = 1e-3
    floor: float = 0.1
    pooled: bool | None = None
    level: float = 0.05

    def __post_init__(self) -> None:
        if self.shadows < 2 or (self.online and self.shadows % 2):
            raise ReleaseError(f"LiRA needs an even number of shadow models, not {self.shadows}")
        if self.size < 2:
            raise ReleaseError(f"LiRA needs the number of the target's training rows, 2 at least, not {self.size}")
        if not (0 < self.clip < 0.5 and self.floor > 0 and 0 < self.level < 1):
            raise ReleaseError(f"LiRA needs 0 < clip < .5, floor > 0, 0 < level < 1, not {self.clip}, {self.floor}, "
                               f"{self.level}")  # fmt: skip

    @property
    def name(self) -> str:
        """Return "lira", or "lira (offline)"."""
        return "lira" if self.online else "lira (offline)"

    def refuses(self, target: Target, knowledge: Knowledge) -> str | None:
        """Return why it does not apply: the black box knows one class, so the true label's share says nothing."""
        if len(target.classes_) < 2:
            return f"the black box knows class {target.classes_[0]} only: one class only says nothing about any row"
        return None

    def train(self, target: Target, knowledge: Knowledge, seed: int, limits: Limits | None = None) -> TrainedRatio:
        """Return the attack trained: offline its shadow models, online those are fitted for the rows asked about.

        Raises `ReleaseError` where the sample has one class only, naming it.
        """
        rng = np.random.default_rng(seed)
        models: list[Target] = []
        for _ in range(0 if self.online else self.shadows):
            if limits is not None:
                limits.check("LiRA's shadow models were trained")
            models.append(self.fitted(*self.sample(self.size, rng), rng))
        return TrainedRatio(self, knowledge.classes, tuple(models), seed, limits)

    def fitted(self, x: Floats, y: Ints, rng: np.random.Generator) -> Target:
        """Return a shadow model of rows; raises `ReleaseError` where they have one class only."""
        if len(y) < 2 or (y == y[0]).all():
            only = f"class {y[0]}" if len(y) else "no row"
            raise ReleaseError(f"a shadow model of LiRA would be trained on {len(y)} rows of one class only: {only}")
        return self.fit(x, y, int(rng.integers(2**31)))


@dataclass(frozen=True, eq=False)
class TrainedRatio:
    """LiRA trained: its settings, and offline its shadow models."""

    attack: LikelihoodRatio
    classes: int
    models: tuple[Target, ...]
    seed: int
    limits: Limits | None = None

    @property
    def threshold(self) -> float:
        """Return 0 for the ratio of likelihoods, the Gaussian's quantile 1 - `level` offline."""
        from scipy.special import ndtri

        return 0.0 if self.attack.online else float(ndtri(1.0 - self.attack.level))

    def scores(self, target: Target, x: Floats, y: Ints) -> Floats:
        """Return (rows,) log likelihood ratios, offline standardised logits; equal rows score equal.

        Online the score of a row depends a little on which rows are asked about with it: they share shadow models.
        """
        if not len(x):
            return np.zeros(0)
        whole, which = np.unique(np.column_stack([x, y]), axis=0, return_inverse=True)
        rows, labels = np.ascontiguousarray(whole[:, :-1]), whole[:, -1].astype(np.int64)
        observed = self.logits(target, rows, labels)
        if not self.attack.online:
            outside = np.array([self.logits(model, rows, labels) for model in self.models])
            mean, deviation = self.gaussian(outside, np.ones(outside.shape, dtype=bool))
            return ((observed - mean) / deviation)[which.reshape(-1)]
        parts, batches = [], -(-len(rows) // (2 * self.attack.size))
        rng = np.random.default_rng(self.seed)
        for batch in np.array_split(np.arange(len(rows)), batches):
            logits, inside = self.shadowed(rows[batch], labels[batch], rng)
            parts.append(_log_density(observed[batch], *self.gaussian(logits, inside))
                         - _log_density(observed[batch], *self.gaussian(logits, ~inside)))  # fmt: skip
        return np.concatenate(parts)[which.reshape(-1)]

    def shadowed(self, x: Floats, y: Ints, rng: np.random.Generator) -> tuple[Floats, Bits]:
        """Return (shadows, rows) logits of shadow models with some of the rows among theirs, and which had which."""
        attack, logits = self.attack, []
        inside = _halves(attack.shadows, len(x), rng)
        for chosen in inside:
            if self.limits is not None:
                self.limits.check("LiRA's shadow models were trained")
            more, labels = attack.sample(max(0, attack.size - int(chosen.sum())), rng)
            model = attack.fitted(np.vstack([x[chosen], more]), np.concatenate([y[chosen], labels]), rng)
            logits.append(self.logits(model, x, y))
        return np.array(logits), inside

    def logits(self, model: Target, x: Floats, y: Ints) -> Floats:
        """Return (rows,) the logit of the share that a model gives to the true label, clipped."""
        shares = probabilities(model, x, self.classes)[np.arange(len(x)), y]
        clipped = np.clip(shares, self.attack.clip, 1.0 - self.attack.clip)
        found: Floats = np.log(clipped) - np.log1p(-clipped)
        return found

    def gaussian(self, logits: Floats, used: Bits) -> tuple[Floats, Floats]:
        """Return (rows,) means and deviations over the shadow models that are used for each row."""
        count = used.sum(axis=0)
        mean = np.where(used, logits, 0.0).sum(axis=0) / count
        squares = np.where(used, (logits - mean) ** 2, 0.0)
        pooled = self.attack.shadows < 64 if self.attack.pooled is None else self.attack.pooled
        variance = np.full(len(mean), squares.sum() / count.sum()) if pooled else squares.sum(axis=0) / count
        return mean, np.maximum(np.sqrt(variance), self.attack.floor)


def _log_density(value: Floats, mean: Floats, deviation: Floats) -> Floats:
    """Return the log density of normal laws at values, without the constant that all share."""
    found: Floats = -0.5 * ((value - mean) / deviation) ** 2 - np.log(deviation)
    return found


def _halves(shadows: int, rows: int, rng: np.random.Generator) -> Bits:
    """Return (shadows, rows) who is in which training set: each row in exactly half of them."""
    rank = rng.random((shadows, rows)).argsort(axis=0).argsort(axis=0)
    inside: Bits = rank < shadows // 2
    return inside
