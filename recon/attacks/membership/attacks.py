"""The membership attacks by name, and asking one of them from beginning to end, of one black box or of many.

The agnostic attack by labels (ALOA): perturbs without knowing any data; says where that moves nothing.

The attack by labels alone: around training rows a model's label is steadier under perturbation than elsewhere.

Shokri's attack: shadow models whose training rows are known teach what the answers for training rows look like.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from recon.attacks.membership.shadow_data import (
    Attack,
    Knowledge,
    LikelihoodRatio,
    MembershipGuess,
    constant_columns,
    labelled,
    one_class,
)
from recon.queries.inputs import Bits, Floats, Ints, RecordColumns, Target, predicted, probabilities
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
            inside = _half(len(y), rng)
            model = _forest(knowledge.x[inside], y[inside], self.trees, rng)
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
            rows = _balanced(np.flatnonzero(belongs == c), member, rng)
            if len(rows) >= 2 * self.least:
                models.append(self.taught_by(shares[rows], member[rows], rng))
                continue
            if everyone is None:
                rows = _balanced(np.arange(len(member)), member, rng)
                everyone = self.taught_by(shares[rows], member[rows], rng)
            models.append(everyone)
            few.append(c)
        return ByClass(tuple(models), tuple(few), self.by)

    def taught_by(self, shares: Floats, member: Bits, rng: np.random.Generator) -> Target:
        """Return a forest that tells the members by the shares."""
        return _forest(shares, member.astype(np.int64), self.attack_trees, rng, self.leaf)


def _half(rows: int, rng: np.random.Generator) -> Bits:
    """Return (rows,) which rows a shadow model is trained on: a random half, the smaller one of an odd number."""
    inside: Bits = np.zeros(rows, dtype=bool)
    inside[rng.permutation(rows)[: rows // 2]] = True
    return inside


def _balanced(rows: Ints, member: Bits, rng: np.random.Generator) -> Ints:
    """Return as many members as others of some rows, drawn without replacement, ascending."""
    inside, outside = rows[member[rows]], rows[~member[rows]]
    size = min(len(inside), len(outside))
    parts = [rng.choice(part, size, replace=False) for part in (inside, outside)]
    found: Ints = np.sort(np.concatenate(parts)).astype(np.int64)
    return found


def _forest(x: Floats, y: Ints, trees: int, rng: np.random.Generator, leaf: int = 1) -> Target:
    """Return a random forest of class numbers, single-threaded; raises `Unsupported` without scikit-learn."""
    try:
        from sklearn.ensemble import RandomForestClassifier
    except ImportError:
        raise Unsupported(f"shadow models need scikit-learn: {installing('sklearn')}") from None
    model: Any = RandomForestClassifier(trees, min_samples_leaf=leaf, random_state=int(rng.integers(2**31)), n_jobs=1)
    return cast(Target, model.fit(x, y))


CHUNK = 1 << 22  # values of perturbed rows at once
TRIED, TRIALS = 200, 50  # shadow rows and perturbations that tell whether an attack degenerates


@dataclass(frozen=True, eq=False)
class Perturbations:
    """The perturbations (k of them), the same for every row: x · `factors` + `added`, then bits that flip.

    `factors`, `added` (k, d); `flips` (k, d), of bits only; `turns` (k, groups): by how many places each one-hot group
    of `groups` turns, so that it stays one-hot. One set of draws for all rows: equal rows score equal, whatever else is
    asked, and a row's share is as if it had draws of its own.
    """

    factors: Floats
    added: Floats
    flips: Bits
    turns: Ints
    groups: tuple[tuple[int, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.factors)

    def of(self, x: Floats) -> Floats:
        """Return (rows · k, d) the perturbations of each row, one row's after the other's."""
        found: Floats = x[:, None, :] * self.factors
        found += self.added
        found = np.where(self.flips, 1.0 - found, found)
        for g, group in enumerate(self.groups):
            places = (np.arange(len(group)) - self.turns[:, g, None]) % len(group)
            found[:, :, group] = x[:, np.array(group)[places]]
        return found.reshape(-1, x.shape[1])


def _still(columns: RecordColumns, count: int) -> Perturbations:
    """Return `count` perturbations that change nothing."""
    shape = (count, len(columns.names))
    turns = np.zeros((count, len(columns.groups)), dtype=np.int64)
    return Perturbations(np.ones(shape), np.zeros(shape), np.zeros(shape, dtype=bool), turns, columns.groups)


def _flipping(columns: RecordColumns, count: int, flips: float, rng: np.random.Generator) -> tuple[Bits, Ints]:
    """Return (count, d) which bits flip, each with probability `flips`, and (count, groups) turns of one-hot groups.

    A group turns, to each of its other values equally likely, with probability `flips` too; its bits do not flip.
    """
    flip: Bits = np.zeros((count, len(columns.names)), dtype=bool)
    grouped = {j for group in columns.groups for j in group}
    loose = [j for j in columns.bits.tolist() if j not in grouped]
    flip[:, loose] = rng.random((count, len(loose))) < flips
    turns: Ints = np.zeros((count, len(columns.groups)), dtype=np.int64)
    for g, group in enumerate(columns.groups):
        if len(group) > 1:
            turns[:, g] = rng.integers(1, len(group), size=count) * (rng.random(count) < flips)
    return flip, turns


def _robustness(
    target: Target, draws: Perturbations, x: Floats, y: Ints, classes: int, limits: Limits | None = None
) -> Floats:
    """Return (rows,) the share of perturbations after which the target's label is unchanged; 0 where it is not `y`.

    Cost: k queries per distinct row that the target gets right, fewer where perturbed rows of bits coincide.
    """
    found: Floats = np.zeros(len(x))
    right = np.flatnonzero(predicted(target, x, classes) == y)
    if not len(right):
        return found
    distinct, first, which = np.unique(x[right], axis=0, return_index=True, return_inverse=True)
    labels = y[right][first]  # the target's own, so the same for all equal rows
    step = max(1, CHUNK // max(1, len(draws) * x.shape[1]))
    packed = np.isin(distinct, (0.0, 1.0)).all() and not draws.added.any() and (draws.factors == 1.0).all()
    answers = _of_bits if packed else _of_numbers
    said = answers(target, draws, distinct, classes, step, limits)
    found[right] = (said == labels[:, None]).mean(axis=1)[which.reshape(-1)]
    return found


def _of_numbers(
    target: Target, draws: Perturbations, x: Floats, classes: int, step: int, limits: Limits | None
) -> Ints:
    """Return (rows, k) the target's labels of the perturbed rows."""
    parts = []
    for i in range(0, len(x), step):
        if limits is not None:
            limits.check("perturbed rows were asked about")
        parts.append(predicted(target, draws.of(x[i : i + step]), classes).reshape(-1, len(draws)))
    return np.vstack(parts)


def _of_bits(target: Target, draws: Perturbations, x: Floats, classes: int, step: int, limits: Limits | None) -> Ints:
    """Return (rows, k) the target's labels of the perturbed rows, each distinct one asked about once."""
    keys = np.concatenate([_key(draws.of(x[i : i + step])) for i in range(0, len(x), step)])
    if keys.shape[1] == 1:
        distinct, which = np.unique(keys[:, 0], return_inverse=True)
    else:
        distinct, which = np.unique(keys, axis=0, return_inverse=True)
    labels: Ints = np.empty(len(distinct), dtype=np.int64)
    step *= len(draws)
    for i in range(0, len(distinct), step):
        if limits is not None:
            limits.check("perturbed rows were asked about")
        part = distinct[i : i + step].reshape(-1, keys.shape[1]).view(np.uint8)
        labels[i : i + step] = predicted(target, np.unpackbits(part, axis=1)[:, : x.shape[1]].astype(float), classes)
    return labels[which.reshape(-1)].reshape(len(x), len(draws))


def _key(bits: Floats) -> NDArray[np.uint64]:
    """Return (rows, words) the bits of each row in as few words as they need."""
    packed = np.packbits(bits.astype(bool), axis=1)
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))).view(np.uint64)


def _best_threshold(scores: Floats, member: Bits) -> float:
    """Return the threshold above which calling rows members is most often right; of equally good ones the lowest.

    Thresholds lie midway between neighbouring scores, 1 below the least (everybody), or at the greatest (nobody).
    """
    order = np.argsort(scores, kind="stable")
    ranked, inside = scores[order], member[order].astype(np.int64)
    below = np.concatenate([[0], np.flatnonzero(np.diff(ranked)) + 1, [len(ranked)]])  # rows at or below a threshold
    others = np.concatenate([[0], np.cumsum(1 - inside)])
    members = np.concatenate([[0], np.cumsum(inside)])
    right = others[below] + members[-1] - members[below]
    cut = int(below[right.argmax()])
    if cut in {0, len(ranked)}:
        return float(ranked[0] - 1.0 if cut == 0 else ranked[-1])
    return float((ranked[cut - 1] + ranked[cut]) / 2)


def _degenerate(target: Target, draws: Perturbations, knowledge: Knowledge) -> str | None:
    """Return what was measured where the black box changes its label for no perturbed shadow row; None otherwise."""
    x = knowledge.x[:TRIED]
    shares = _robustness(target, draws, x, predicted(target, x, knowledge.classes), knowledge.classes)
    if (shares == 1.0).all():
        return (f"the score degenerates: the label of none of {len(x)} shadow rows changes under any of {len(draws)} "
                "perturbations, so every row that is classified right scores 1")  # fmt: skip
    return None


@dataclass(frozen=True, eq=False)
class Robust:
    """A trained attack: the score is the share of perturbations that leave the target's label, 0 if it is wrong."""

    draws: Perturbations
    classes: int
    threshold: float
    limits: Limits | None = None

    def scores(self, target: Target, x: Floats, y: Ints) -> Floats:
        """Return (rows,) each row's robustness in 0 to 1: the target is asked, the true label is `y`."""
        return _robustness(target, self.draws, x, y, self.classes, self.limits)


@dataclass(frozen=True)
class LabelOnly:
    """The attack by robustness of labels: one shadow model, whose training rows set the threshold.

    `perturbations` of each row: Gaussian noise of `noise` standard deviations of the column (in the shadow data) on
    continuous columns, bits flipped with probability `flips`, one-hot groups turned to another value with the same.
    The authors' code flips with .6: then most bits of a row turn, what is asked about lies nearer to its complement,
    and little but right or wrong is left in the score. The default is .1 (about two of Adult's 24 bits), the share of
    values that REVEAL's "noise" draws again: the row's surroundings are asked about. Neither is better everywhere: on
    20 bits learnt by heart the AUC with .1 and .6 is .98 and .76 for the nearest row, but .67 and .76 for a forest,
    where rows that are right only by heart have the least robust labels.

    Whom the queries go to: the scores of asked rows always come from the target. The threshold comes from at most
    `sample` shadow rows, by `asked`: the "shadow" model, as in the text (it has seen half of them), or the "target", as
    in the authors' code, where rows on whose label the two models differ score 0. `trees`: of the shadow forest.

    Source: Choquette-Choo, Tramèr, Carlini and Papernot 2021; Naretto, Monreale and Giannotti 2025.
    """

    perturbations: int = 1000
    flips: float = 0.1
    noise: float = 1.0
    trees: int = 50
    sample: int = 1000
    asked: Literal["shadow", "target"] = "shadow"
    name: str = "label-only"

    def __post_init__(self) -> None:
        _check_settings(self.perturbations, self.flips, self.trees, self.sample)
        if not self.noise >= 0:
            raise ReleaseError(f"noise is a number of standard deviations, 0 or more, not {self.noise}")
        if self.asked not in {"shadow", "target"}:
            raise ReleaseError(f"the threshold comes from the shadow model or the target, not '{self.asked}'")

    def refuses(self, target: Target, knowledge: Knowledge) -> str | None:
        """Return why it does not apply: one class only, or no perturbation changes any shadow row's label."""
        draws = self.draws(knowledge, TRIALS, np.random.default_rng(0))
        return one_class(target, knowledge) or _degenerate(target, draws, knowledge)

    def draws(self, knowledge: Knowledge, count: int, rng: np.random.Generator) -> Perturbations:
        """Return `count` perturbations; a column that is constant in the shadow data gets no noise."""
        same, columns = _still(knowledge.columns, count), knowledge.columns
        numbers = columns.numbers
        spread = self.noise * knowledge.x[:, numbers].std(axis=0)
        fixed = set(constant_columns(columns, knowledge.x))
        spread[[columns.names[j] in fixed for j in numbers.tolist()]] = 0.0  # rounding leaves a little
        same.added[:, numbers] = rng.standard_normal((count, len(numbers))) * spread
        return Perturbations(same.factors, same.added, *_flipping(columns, count, self.flips, rng), columns.groups)

    def train(self, target: Target, knowledge: Knowledge, seed: int, limits: Limits | None = None) -> Robust:
        """Return the attack trained; the shadow rows' labels are the target's.

        Raises `ReleaseError` where the target names one class only, `Unsupported` without scikit-learn. Cost:
        `sample` · `perturbations` queries of the shadow model; then `perturbations` of the target per distinct row
        asked about that it gets right. With the default settings on one core: 3 s for 8,400 rows of Adult's bits (about
        1,000 different ones); 54 s for 8,400 different rows of numbers and a forest, 6 s with 100 perturbations.
        """
        rng = np.random.default_rng(seed)
        draws = self.draws(knowledge, self.perturbations, rng)
        asks_target = self.asked == "target"
        return _by_robustness(target, knowledge, draws, self.trees, self.sample, rng, asks_target, limits)


def _by_robustness(target: Target, knowledge: Knowledge, draws: Perturbations, trees: int, sample: int,
                  rng: np.random.Generator, ask_target: bool, limits: Limits | None) -> Robust:  # fmt: skip
    """Return an attack whose threshold separates a shadow model's training rows best from its other rows."""
    y = labelled(target, knowledge)
    inside = _half(len(y), rng)
    model = _forest(knowledge.x[inside], y[inside], trees, rng)
    each = max(1, sample // 2)
    rows = np.concatenate([rng.permutation(np.flatnonzero(part))[:each] for part in (inside, ~inside)])
    asked = target if ask_target else model
    labels = predicted(model, knowledge.x[rows], knowledge.classes) if ask_target else y[rows]
    shares = _robustness(asked, draws, knowledge.x[rows], labels, knowledge.classes, limits)
    return Robust(draws, knowledge.classes, _best_threshold(shares, inside[rows]), limits)


def _check_settings(perturbations: int, flips: float, trees: int, sample: int) -> None:
    """Raise `ReleaseError` naming a setting that makes no attack."""
    if min(perturbations, trees) < 1 or sample < 2:
        raise ReleaseError(f"an attack by labels needs a perturbation, a tree and two rows at least, not "
                           f"{perturbations}, {trees}, {sample}")  # fmt: skip
    if not 0 <= flips <= 1:
        raise ReleaseError(f"bits flip with a probability in 0 to 1, not {flips}")


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
        _check_settings(self.perturbations, self.flips, self.trees, self.sample)
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
        return one_class(target, knowledge) or _degenerate(target, draws, knowledge)

    def draws(self, knowledge: Knowledge, count: int, rng: np.random.Generator) -> Perturbations:
        """Return `count` perturbations of the columns."""
        columns = knowledge.columns
        same = _still(columns, count)
        shape = same.factors.shape
        factors = 1.0 + rng.choice((-1.0, 1.0), size=shape) * rng.uniform(self.low, self.high, size=shape)
        if not self.additive:
            return Perturbations(factors, same.added, same.flips, same.turns)
        factors[:, columns.bits] = 1.0
        return Perturbations(factors, same.added, *_flipping(columns, count, self.flips, rng), columns.groups)

    def train(self, target: Target, knowledge: Knowledge, seed: int, limits: Limits | None = None) -> Robust:
        """Return the attack trained; cost and what is raised as in the attack by labels alone."""
        rng = np.random.default_rng(seed)
        draws = self.draws(knowledge, self.perturbations, rng)
        return _by_robustness(target, knowledge, draws, self.trees, self.sample, rng, False, limits)


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
    return _guessed(attack, target, knowledge, x, y, seed, limits, reason)


def _guessed(attack: Attack, target: Target, knowledge: Knowledge, x: Floats, y: Ints, seed: int,
            limits: Limits | None, reason: str | None) -> MembershipGuess:  # fmt: skip
    """Return what an attack says, trained on the knowledge, with a reason against it if there is one."""
    trained = attack.train(target, knowledge, seed, limits)
    scores = trained.scores(target, x, y)
    return MembershipGuess(
        attack.name, scores, scores > trained.threshold, reason or reservation(scores), trained.threshold
    )


def reservation(scores: Floats) -> str:
    """Return that scores say no more than right or wrong: each is 0 or the same one value; "" where they differ."""
    values = np.unique(scores)
    if len(scores) > 1 and (len(values) == 1 or (len(values) == 2 and values[0] == 0.0)):
        return f"every row that does not score 0 scores {values[-1]:g}: the score tells right from wrong at most"
    return ""
