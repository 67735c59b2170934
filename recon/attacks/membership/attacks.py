"""The membership attacks by name, and asking one of them from beginning to end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from recon.attacks.membership.agnostic import Agnostic
from recon.attacks.membership.attack import Attack, Guess, Knowledge
from recon.attacks.membership.label_only import LabelOnly
from recon.attacks.membership.likelihood_ratio import LikelihoodRatio
from recon.attacks.membership.shadow_models import ShadowModels
from recon.attacks.records import Floats, Ints, Target
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits

ATTACKS: Mapping[str, Callable[..., Attack]] = MappingProxyType(
    {"mia": ShadowModels, "label-only": LabelOnly, "aloa": Agnostic, "lira": LikelihoodRatio}
)
CHEAP: Mapping[str, Mapping[str, Any]] = MappingProxyType({
    "mia": {"shadows": 2, "trees": 20, "attack_trees": 20},
    "label-only": {"perturbations": 100, "trees": 20, "sample": 400},
    "aloa": {"perturbations": 100, "trees": 20, "sample": 400},
})  # fmt: skip
"""Settings for one of many local surrogates: a fraction of a second each, beside the queries of the surrogate."""


def attack(name: str, **settings: Any) -> Attack:
    """Return an attack by name: "mia", "label-only", "aloa", "lira" (which needs `sample`, `fit` and `size`).

    Raises `ReleaseError` naming an attack or a setting that there is not, or values that a setting cannot have.
    """
    if name not in ATTACKS:
        raise ReleaseError(f"there is no membership attack '{name}'; there are {', '.join(ATTACKS)}")
    try:
        return ATTACKS[name](**settings)
    except TypeError as error:
        raise ReleaseError(f"the attack '{name}' does not take these settings: {error}") from None


def attacked(attack: Attack, target: Target, knowledge: Knowledge, x: Floats, y: Ints, seed: int,
             limits: Limits | None = None) -> Guess:  # fmt: skip
    """Return what an attack says of rows x (n, d) with true labels y, trained on the knowledge.

    `note` says where the scores turned out to say nothing more than right or wrong.

    Raises `Unsupported` with the attack's own reason where it does not apply, `ReleaseError` for no rows.
    """
    if not len(x):
        raise ReleaseError("there are no rows to ask the attack about")
    reason = attack.refuses(target, knowledge)
    if reason is not None:
        raise Unsupported(f"the attack '{attack.name}' does not apply: {reason}")
    trained = attack.train(target, knowledge, seed, limits)
    scores = trained.scores(target, x, y)
    return Guess(attack.name, scores, scores > trained.threshold, reservation(scores))


def reservation(scores: Floats) -> str:
    """Return that scores say no more than right or wrong: each is 0 or the same one value; "" where they differ."""
    values = np.unique(scores)
    if len(scores) > 1 and (len(values) == 1 or (len(values) == 2 and values[0] == 0.0)):
        return f"every row that does not score 0 scores {values[-1]:g}: the score tells right from wrong at most"
    return ""
