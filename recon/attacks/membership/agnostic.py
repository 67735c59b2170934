"""The agnostic attack by labels (ALOA): perturbs without knowing any data; says where that moves nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recon.attacks.membership.attack import Knowledge
from recon.attacks.membership.label_only import (
    TRIALS,
    Perturbations,
    Robust,
    by_robustness,
    check_settings,
    degenerate,
    flipping,
    still,
)
from recon.attacks.membership.shadow_data import one_class
from recon.queries.prediction.records import Target
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits


@dataclass(frozen=True)
class Agnostic:
    """The attack by robustness of labels that knows no data: each value x becomes x · (1 ± u), u uniform.

    `low` <= u < `high` by default .1 to .5, the sign a fair coin, for every value of every one of `perturbations`. A 0
    never moves and a 1 stays above .5, so trees on bits never change their label: every row scores 1, or 0 where the
    prediction is wrong. That is refused, without a continuous column by name, on mixed data by trying. `additive`:
    bits are flipped with probability `flips` instead (one-hot groups turned), and the name says so.

    Meant for "random" shadow data; it takes any. Threshold, `trees` and `sample` as in the attack by labels alone, the
    threshold from the shadow model. Source: Monreale, Naretto and Rizzo 2023 (ALOA); Naretto, Monreale and Giannotti
    2025, whose code has the perturbation.
    """

    perturbations: int = 1000
    low: float = 0.1
    high: float = 0.5
    additive: bool = False
    flips: float = 0.1
    trees: int = 50
    sample: int = 1000

    def __post_init__(self) -> None:
        check_settings(self.perturbations, self.flips, self.trees, self.sample)
        if not 0 <= self.low <= self.high:
            raise ReleaseError(f"values move by 0 <= low <= high of themselves, not by {self.low}, {self.high}")

    @property
    def name(self) -> str:
        """Return "aloa", or "aloa (additive)" where bits are flipped."""
        return "aloa (additive)" if self.additive else "aloa"

    def refuses(self, target: Target, knowledge: Knowledge) -> str | None:
        """Return why it degenerates: no continuous columns, or, tried, no perturbation changes a shadow row's label."""
        if not self.additive and not len(knowledge.columns.numbers):
            return ("there are no continuous columns: x · (1 ± u) never moves a 0 and leaves a 1 above one half, so "
                    "every row that is classified right scores the same; "
                    "in Python attack('aloa', additive=True) flips bits instead")  # fmt: skip
        draws = self.draws(knowledge, TRIALS, np.random.default_rng(0))
        return one_class(target, knowledge) or degenerate(target, draws, knowledge)

    def draws(self, knowledge: Knowledge, count: int, rng: np.random.Generator) -> Perturbations:
        """Return `count` perturbations of the columns."""
        columns = knowledge.columns
        same = still(columns, count)
        shape = same.factors.shape
        factors = 1.0 + rng.choice((-1.0, 1.0), size=shape) * rng.uniform(self.low, self.high, size=shape)
        if not self.additive:
            return Perturbations(factors, same.added, same.flips, same.turns)
        factors[:, columns.bits] = 1.0
        return Perturbations(factors, same.added, *flipping(columns, count, self.flips, rng), columns.groups)

    def train(self, target: Target, knowledge: Knowledge, seed: int, limits: Limits | None = None) -> Robust:
        """Return the attack trained; cost and what is raised as in the attack by labels alone."""
        rng = np.random.default_rng(seed)
        draws = self.draws(knowledge, self.perturbations, rng)
        return by_robustness(target, knowledge, draws, self.trees, self.sample, rng, False, limits)
