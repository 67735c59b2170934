"""The attack by labels alone: around training rows a model's label is steadier under perturbation than elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recon.attacks.membership.attack import Knowledge
from recon.attacks.membership.shadow_data import constant_columns, labelled, one_class
from recon.attacks.membership.shadow_models import forest, half
from recon.queries.prediction.records import Bits, Floats, Ints, RecordColumns, Target, predicted
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits

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


def still(columns: RecordColumns, count: int) -> Perturbations:
    """Return `count` perturbations that change nothing."""
    shape = (count, len(columns.names))
    turns = np.zeros((count, len(columns.groups)), dtype=np.int64)
    return Perturbations(np.ones(shape), np.zeros(shape), np.zeros(shape, dtype=bool), turns, columns.groups)


def flipping(columns: RecordColumns, count: int, flips: float, rng: np.random.Generator) -> tuple[Bits, Ints]:
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


def robustness(
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
    answers = of_bits if packed else of_numbers
    said = answers(target, draws, distinct, classes, step, limits)
    found[right] = (said == labels[:, None]).mean(axis=1)[which.reshape(-1)]
    return found


def of_numbers(target: Target, draws: Perturbations, x: Floats, classes: int, step: int, limits: Limits | None) -> Ints:
    """Return (rows, k) the target's labels of the perturbed rows."""
    parts = []
    for i in range(0, len(x), step):
        if limits is not None:
            limits.check("perturbed rows were asked about")
        parts.append(predicted(target, draws.of(x[i : i + step]), classes).reshape(-1, len(draws)))
    return np.vstack(parts)


def of_bits(target: Target, draws: Perturbations, x: Floats, classes: int, step: int, limits: Limits | None) -> Ints:
    """Return (rows, k) the target's labels of the perturbed rows, each distinct one asked about once."""
    keys = np.concatenate([key(draws.of(x[i : i + step])) for i in range(0, len(x), step)])
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


def key(bits: Floats) -> NDArray[np.uint64]:
    """Return (rows, words) the bits of each row in as few words as they need."""
    packed = np.packbits(bits.astype(bool), axis=1)
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))).view(np.uint64)


def best_threshold(scores: Floats, member: Bits) -> float:
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


def degenerate(target: Target, draws: Perturbations, knowledge: Knowledge) -> str | None:
    """Return what was measured where the black box changes its label for no perturbed shadow row; None otherwise."""
    x = knowledge.x[:TRIED]
    shares = robustness(target, draws, x, predicted(target, x, knowledge.classes), knowledge.classes)
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
        return robustness(target, self.draws, x, y, self.classes, self.limits)


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
        check_settings(self.perturbations, self.flips, self.trees, self.sample)
        if not self.noise >= 0:
            raise ReleaseError(f"noise is a number of standard deviations, 0 or more, not {self.noise}")
        if self.asked not in {"shadow", "target"}:
            raise ReleaseError(f"the threshold comes from the shadow model or the target, not '{self.asked}'")

    def refuses(self, target: Target, knowledge: Knowledge) -> str | None:
        """Return why it does not apply: one class only, or no perturbation changes any shadow row's label."""
        draws = self.draws(knowledge, TRIALS, np.random.default_rng(0))
        return one_class(target, knowledge) or degenerate(target, draws, knowledge)

    def draws(self, knowledge: Knowledge, count: int, rng: np.random.Generator) -> Perturbations:
        """Return `count` perturbations; a column that is constant in the shadow data gets no noise."""
        same, columns = still(knowledge.columns, count), knowledge.columns
        numbers = columns.numbers
        spread = self.noise * knowledge.x[:, numbers].std(axis=0)
        fixed = set(constant_columns(columns, knowledge.x))
        spread[[columns.names[j] in fixed for j in numbers.tolist()]] = 0.0  # rounding leaves a little
        same.added[:, numbers] = rng.standard_normal((count, len(numbers))) * spread
        return Perturbations(same.factors, same.added, *flipping(columns, count, self.flips, rng), columns.groups)

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
        return by_robustness(target, knowledge, draws, self.trees, self.sample, rng, asks_target, limits)


def by_robustness(target: Target, knowledge: Knowledge, draws: Perturbations, trees: int, sample: int,
                  rng: np.random.Generator, ask_target: bool, limits: Limits | None) -> Robust:  # fmt: skip
    """Return an attack whose threshold separates a shadow model's training rows best from its other rows."""
    y = labelled(target, knowledge)
    inside = half(len(y), rng)
    model = forest(knowledge.x[inside], y[inside], trees, rng)
    each = max(1, sample // 2)
    rows = np.concatenate([rng.permutation(np.flatnonzero(part))[:each] for part in (inside, ~inside)])
    asked = target if ask_target else model
    labels = predicted(model, knowledge.x[rows], knowledge.classes) if ask_target else y[rows]
    shares = robustness(asked, draws, knowledge.x[rows], labels, knowledge.classes, limits)
    return Robust(draws, knowledge.classes, best_threshold(shares, inside[rows]), limits)


def check_settings(perturbations: int, flips: float, trees: int, sample: int) -> None:
    """Raise `ReleaseError` naming a setting that makes no attack."""
    if min(perturbations, trees) < 1 or sample < 2:
        raise ReleaseError(f"an attack by labels needs a perturbation, a tree and two rows at least, not "
                           f"{perturbations}, {trees}, {sample}")  # fmt: skip
    if not 0 <= flips <= 1:
        raise ReleaseError(f"bits flip with a probability in 0 to 1, not {flips}")
