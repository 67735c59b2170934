"""Shokri's attack: shadow models whose training rows are known teach what the answers for training rows look like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from recon.attacks.membership.attack import Knowledge
from recon.attacks.membership.shadow_data import labelled, one_class
from recon.queries.prediction.records import Bits, Floats, Ints, Target, probabilities
from solvers.foundation.errors import ReleaseError, Unsupported, installing
from solvers.foundation.limits import Limits


@dataclass(frozen=True, eq=False)
class ByClass:
    """A trained attack: by class the forest that tells members from others by the target's shares of the classes.

    `models`: one per class, `pooled` (all classes' rows) where a class had too few rows; `few` lists those classes.
    """

    models: tuple[Target, ...]
    few: tuple[int, ...]
    by: Literal["predicted", "true"]
    threshold: float = 0.5

    def scores(self, target: Target, x: Floats, y: Ints) -> Floats:
        """Return (rows,) how probably each row was trained on, in 0 to 1, 1/2 knowing nothing."""
        classes = len(self.models)
        shares = probabilities(target, x, classes)
        belongs = shares.argmax(axis=1) if self.by == "predicted" else y
        found: Floats = np.full(len(x), 0.5)
        for c, model in enumerate(self.models):
            rows = np.flatnonzero(belongs == c)
            if len(rows):
                distinct, which = np.unique(shares[rows], axis=0, return_inverse=True)
                found[rows] = probabilities(model, distinct, 2)[which.reshape(-1), 1]
        return found


@dataclass(frozen=True)
class ShadowModels:
    """The attack by shadow models: random forests, each trained on a random half of the shadow data.

    `shadows` forests of `trees` full-grown trees. What each says of all shadow rows is the attack data: its training
    half are members, the other half is not, of each class as many of both (the more frequent undersampled). One forest
    of `attack_trees` trees with `leaf` rows per leaf at least learns them per class; a class with fewer than `least`
    members or others uses the forest of all classes' rows.

    `by`: whose class chooses the forest. "predicted" is REVEAL's and blind to a black box that gives labels only: all
    rows of a predicted class look the same (refused by name). "true" is Shokri's, and sees right and wrong answers.

    Source: Shokri, Stronati, Song and Shmatikov 2017, section V; Naretto, Monreale and Giannotti 2025.
    """

    shadows: int = 6
    trees: int = 50
    attack_trees: int = 50
    leaf: int = 10
    least: int = 20
    by: Literal["predicted", "true"] = "predicted"

    def __post_init__(self) -> None:
        if min(self.shadows, self.trees, self.attack_trees, self.leaf, self.least) < 1:
            raise ReleaseError(f"the attack by shadow models needs one of each at least: {self}")
        if self.by not in {"predicted", "true"}:
            raise ReleaseError(f"the class that chooses the attack model is predicted or true, not '{self.by}'")

    @property
    def name(self) -> str:
        """Return "mia", and where it is not REVEAL's, by whose class."""
        return "mia" if self.by == "predicted" else "mia (true class)"

    def refuses(self, target: Target, knowledge: Knowledge) -> str | None:
        """Return why it does not apply: one class only, or labels without probabilities while `by` is "predicted"."""
        reason = one_class(target, knowledge)
        if reason is None and self.by == "predicted":
            shares = probabilities(target, knowledge.x, knowledge.classes)
            if bool(np.isin(shares, (0.0, 1.0)).all()):
                return ("the black box gives each row one class with certainty, no probabilities: all rows of a "
                        "predicted class look the same to this attack; "
                        "in Python attack('mia', by='true') uses the true label")  # fmt: skip
        return reason

    def train(self, target: Target, knowledge: Knowledge, seed: int, limits: Limits | None = None) -> ByClass:
        """Return the attack trained; the shadow rows' labels are the target's.

        Raises `ReleaseError` where the target names one class only, `Unsupported` without scikit-learn. Cost: about
        `shadows` fits of `trees` trees on half the shadow rows; 1 s for 3,600 rows of Adult on one core.
        """
        y = labelled(target, knowledge)
        rng = np.random.default_rng(seed)
        shares, belongs, member = [], [], []
        for _ in range(self.shadows):
            if limits is not None:
                limits.check("shadow models were trained")
            inside = half(len(y), rng)
            model = forest(knowledge.x[inside], y[inside], self.trees, rng)
            shares.append(probabilities(model, knowledge.x, knowledge.classes))
            belongs.append(shares[-1].argmax(axis=1) if self.by == "predicted" else y)
            member.append(inside)
        return self.taught(np.vstack(shares), np.concatenate(belongs), np.concatenate(member), rng, limits)

    def taught(self, shares: Floats, belongs: Ints, member: Bits, rng: np.random.Generator,
               limits: Limits | None) -> ByClass:  # fmt: skip
        """Return the attack models of attack data: shares (rows, classes), each row's class, who is a member."""
        everyone, models, few = None, [], []
        for c in range(shares.shape[1]):
            if limits is not None:
                limits.check("attack models were trained")
            rows = balanced(np.flatnonzero(belongs == c), member, rng)
            if len(rows) >= 2 * self.least:
                models.append(self.taught_by(shares[rows], member[rows], rng))
                continue
            if everyone is None:
                rows = balanced(np.arange(len(member)), member, rng)
                everyone = self.taught_by(shares[rows], member[rows], rng)
            models.append(everyone)
            few.append(c)
        return ByClass(tuple(models), tuple(few), self.by)

    def taught_by(self, shares: Floats, member: Bits, rng: np.random.Generator) -> Target:
        """Return a forest that tells the members by the shares."""
        return forest(shares, member.astype(np.int64), self.attack_trees, rng, self.leaf)


def half(rows: int, rng: np.random.Generator) -> Bits:
    """Return (rows,) which rows a shadow model is trained on: a random half, the smaller one of an odd number."""
    inside: Bits = np.zeros(rows, dtype=bool)
    inside[rng.permutation(rows)[: rows // 2]] = True
    return inside


def balanced(rows: Ints, member: Bits, rng: np.random.Generator) -> Ints:
    """Return as many members as others of some rows, drawn without replacement, ascending."""
    inside, outside = rows[member[rows]], rows[~member[rows]]
    size = min(len(inside), len(outside))
    parts = [rng.choice(part, size, replace=False) for part in (inside, outside)]
    found: Ints = np.sort(np.concatenate(parts)).astype(np.int64)
    return found


def forest(x: Floats, y: Ints, trees: int, rng: np.random.Generator, leaf: int = 1) -> Target:
    """Return a random forest of class numbers, single-threaded; raises `Unsupported` without scikit-learn."""
    try:
        from sklearn.ensemble import RandomForestClassifier
    except ImportError:
        raise Unsupported(f"shadow models need scikit-learn: {installing('sklearn')}") from None
    model: Any = RandomForestClassifier(trees, min_samples_leaf=leaf, random_state=int(rng.integers(2**31)), n_jobs=1)
    return cast(Target, model.fit(x, y))
