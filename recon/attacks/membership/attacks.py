"""The membership attacks by name, and asking one of them from beginning to end, of one black box or of many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from recon.attacks.membership.agnostic import Agnostic
from recon.attacks.membership.attack import Attack, Knowledge, MembershipGuess
from recon.attacks.membership.ensemble import ensemble
from recon.attacks.membership.label_only import LabelOnly
from recon.attacks.membership.likelihood_ratio import LikelihoodRatio
from recon.attacks.membership.shadow_data import one_class
from recon.attacks.membership.shadow_models import ShadowModels
from recon.queries.prediction.records import Floats, Ints, Target
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits

ATTACKS: Mapping[str, Callable[..., Attack]] = MappingProxyType(
    {"mia": ShadowModels, "label-only": LabelOnly, "aloa": Agnostic, "lira": LikelihoodRatio}
)
# settings for one of many local surrogates: .13 to .18 s each on Adult with small trees, 7 s for 40 of them
CHEAP: Mapping[str, Mapping[str, Any]] = MappingProxyType({
    "mia": {"shadows": 2, "trees": 20, "attack_trees": 20},
    "label-only": {"perturbations": 100, "trees": 20, "sample": 400},
    "aloa": {"perturbations": 100, "trees": 20, "sample": 400},
})  # fmt: skip


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
             limits: Limits | None = None, *, anyway: bool = False) -> MembershipGuess:  # fmt: skip
    """Return what an attack says of rows x (n, d) with true labels y, trained on the knowledge.

    `note` says where the scores turned out to say nothing more than right or wrong. `anyway` runs an attack that
    degenerates, with the reason as the note: to show what a paper reports of it, never as a result.

    Raises `Unsupported` with the attack's own reason where it does not apply, `ReleaseError` for no rows.
    """
    if not len(x):
        raise ReleaseError("there are no rows to ask the attack about")
    reason = attack.refuses(target, knowledge)
    if reason is not None and not anyway:
        raise Unsupported(f"the attack '{attack.name}' does not apply: {reason}")
    return guessed(attack, target, knowledge, x, y, seed, limits, reason)


def guessed(attack: Attack, target: Target, knowledge: Knowledge, x: Floats, y: Ints, seed: int,
            limits: Limits | None, reason: str | None) -> MembershipGuess:  # fmt: skip
    """Return what an attack says, trained on the knowledge, with a reason against it if there is one."""
    trained = attack.train(target, knowledge, seed, limits)
    scores = trained.scores(target, x, y)
    return MembershipGuess(
        attack.name, scores, scores > trained.threshold, reason or reservation(scores), trained.threshold
    )


def attacked_locally(attack: Attack, surrogates: Sequence[Target], knowledge: Knowledge, x: Floats, y: Ints, seed: int,
                     limits: Limits | None = None, *, anyway: bool = False) -> MembershipGuess:  # fmt: skip
    """Return what an attack on each local surrogate says, as an ensemble, of rows x (n, d) with true labels y.

    The shadow data are shared, their labels each surrogate's. Attacks by shadow models are chosen by confidence, those
    by labels by threshold. A surrogate that the attack refuses (one that names a single class everywhere, as local
    trees do) has no vote; `note` says how many and why. `anyway`: those with two classes vote although refused, which
    `note` says too. Cost: an attack each; see `CHEAP`.

    Raises `Unsupported` where every surrogate is refused, with the first one's reason, `ReleaseError` for no rows or no
    surrogates.
    """
    if not len(x) or not len(surrogates):
        raise ReleaseError("there are no rows, or no local surrogates, to ask the attack about")
    guesses, reasons, against = [], [], []
    for surrogate, own in zip(surrogates, np.random.SeedSequence(seed).generate_state(len(surrogates)), strict=True):
        reason = attack.refuses(surrogate, knowledge)
        if reason is None or (anyway and one_class(surrogate, knowledge) is None):
            guesses.append(guessed(attack, surrogate, knowledge, x, y, int(own), limits, reason))
            against += [] if reason is None else [reason]
        else:
            reasons.append(reason)
    if not guesses:
        raise Unsupported(f"'{attack.name}' applies to none of {len(reasons)} local surrogates: {reasons[0]}")
    found = ensemble(guesses, "confidence" if isinstance(attack, ShadowModels) else "threshold")
    said = []
    if reasons:
        said.append(f"{len(reasons)} of {len(surrogates)} local surrogates left out, the first because: {reasons[0]}")
    if against:
        said.append(f"{len(against)} of {len(surrogates)} vote although refused, the first because: {against[0]}")
    return replace(found, note="; ".join(said))


def reservation(scores: Floats) -> str:
    """Return that scores say no more than right or wrong: each is 0 or the same one value; "" where they differ."""
    values = np.unique(scores)
    if len(scores) > 1 and (len(values) == 1 or (len(values) == 2 and values[0] == 0.0)):
        return f"every row that does not score 0 scores {values[-1]:g}: the score tells right from wrong at most"
    return ""
