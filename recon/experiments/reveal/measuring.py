"""One point of the experiment: a target is built, attacked, and what the attacks find is judged.

The rows of the experiment: training rows, others and the attacker's, fold by fold, and the black boxes on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd

from recon.attacks.attribute_guesses import attribute_inference
from recon.attacks.evaluation import Evaluation, always_in, balanced, curve, duplicates, evaluated, folded, unique_rows
from recon.attacks.explainers.sampling import enriched_tree
from recon.attacks.explainers.trepan import trepan
from recon.attacks.membership.attacks import attack, reservation
from recon.attacks.membership.shadow_data import Attack, Kind, Knowledge, LikelihoodRatio, knowledge, population
from recon.experiments.experiment import Point, Row
from recon.experiments.fits import fitted
from recon.queries.inputs import Bits, Floats, Ints, RecordColumns, Records, Target, predicted
from solvers.foundation.limits import Limits

SHADOW = 0.3  # of the rows go to the attacker, unlabelled for him until he asks the target
FOLDS = 3
ADULT = 12_000  # rows drawn
MIXED = 6_000  # rows of the mixture
TITLES = {"compas27": "COMPAS", "adult24": "Adult", "": "Mixture"}
ROWS_OF = {"compas27": "7,214 rows", "adult24": "12,000 rows", "": "6,000 rows"}  # in all, black boxes' and attacker's
GROUPS = {  # columns of which exactly one is 1 in each row
    "compas27": (("Race=",),),
    "adult24": (("gender_",), ("age_",), ("hours_per_week_",), ("capital_gain_",), ("capital_loss_",)),
    "": (),
}
SENSITIVE = {"compas27": ("Race=",), "adult24": ("gender_",), "": ("b1",)}


@dataclass(frozen=True, eq=False)
class MembershipFold:
    """One fold: rows that are trained on, rows that are not, and rows of the same law that the attacker has.

    `open_columns`: the columns as the attacker knows them, without one-hot groups: he knows how many there are.
    """

    train: Records
    test: Records
    shadow: Records

    @property
    def open_columns(self) -> RecordColumns:
        """Return the columns without groups."""
        return RecordColumns(self.train.columns.names, self.train.columns.continuous)

    @property
    def asked(self) -> tuple[Records, Bits]:
        """Return all rows that attacks are asked about, and which of them are training rows (the first ones)."""
        parts = (self.train, self.test)
        rows = Records(np.vstack([p.x for p in parts]), np.concatenate([p.y for p in parts]), *self.law)
        return rows, np.arange(len(rows)) < len(self.train)

    @property
    def law(self) -> tuple[RecordColumns, tuple[Any, ...]]:
        """Return columns and classes."""
        return self.train.columns, self.train.classes


def case(dataset: str, frame: pd.DataFrame, fold: int, seed: int = 0) -> MembershipFold:
    """Return a fold: of 70 % of the rows (D_b) two thirds are trained on, one third is not; 30 % are the attacker's."""
    whole = records(dataset, frame)
    order = np.random.default_rng([seed, 1]).permutation(len(whole))
    cut = int(SHADOW * len(whole))
    inside, shadow = whole.take(order[cut:]), whole.take(order[:cut])
    test = folded(len(inside), FOLDS, np.random.default_rng([seed, 2]))[fold]
    trained = np.setdiff1d(np.arange(len(inside)), test)
    return MembershipFold(inside.take(trained), inside.take(test), shadow)


def records(dataset: str, frame: pd.DataFrame) -> Records:
    """Return the rows of a data set: COMPAS whole, 12,000 rows of Adult, or the mixture."""
    if not dataset:
        return _mixture()
    if len(frame) > ADULT:
        frame = frame.sample(ADULT, random_state=0)
    names = [str(name) for name in frame.columns[:-1]]
    groups = [[i for i, name in enumerate(names) if name.startswith(words)] for words in GROUPS.get(dataset, ())]
    return Records.of(frame, columns=RecordColumns.of(frame.iloc[:, :-1], groups))


@lru_cache(maxsize=1)
def _mixture(rows: int = MIXED, seed: int = 0) -> Records:
    """Return rows of a mixture of Gaussians: eight continuous columns, two bits, three classes.

    Nine components with centres and spreads drawn, three per class; a bit is 1 with a probability of its own in each
    component; one label in ten is drawn again; columns are put on [0, 1], the range that an attacker without data
    supposes. The paper's SYNTH is not published: this one is ours.
    """
    rng = np.random.default_rng([seed, 3])
    centres, spreads = rng.normal(0, 1.5, (9, 8)), rng.uniform(0.5, 1.5, (9, 8))
    chance = rng.uniform(0.1, 0.9, (9, 2))
    of = rng.integers(0, 9, rows)
    numbers = centres[of] + spreads[of] * rng.normal(size=(rows, 8))
    low, high = numbers.min(axis=0), numbers.max(axis=0)
    numbers = (numbers - low) / (high - low)
    bits = rng.random((rows, 2)) < chance[of]
    y = np.where(rng.random(rows) < 0.1, rng.integers(0, 3, rows), of % 3).astype(np.int64)
    names = (*(f"x{k}" for k in range(1, 9)), "b1", "b2")
    return Records(np.column_stack([numbers, bits]), y, RecordColumns(names, (True,) * 8 + (False,) * 2), (0, 1, 2))


def random_forest(x: Floats, y: Ints, seed: int) -> Any:
    """Return a forest of 100 full-grown trees: scikit-learn's defaults, as in the authors' code."""
    return fitted("forest", x, y, n_estimators=100, random_state=seed)


def _neural_network(x: Floats, y: Ints, seed: int) -> Any:
    """Return a feed-forward network: standardised columns, layers of 64 and 32, 60 epochs of Adam; sizes are ours."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of epochs is the setting
        network = fitted("network", scaler.transform(x), y, hidden_layer_sizes=(64, 32), max_iter=60, random_state=seed)
    return Pipeline([("scaler", scaler), ("network", network)])


def black_box(name: str, rows: Records, seed: int) -> Target:
    """Return a black box trained on rows: a full-grown tree with its defaults, as the authors', and the others."""
    boxes: dict[str, Callable[[Floats, Ints, int], Any]] = {
        "DT": lambda x, y, seed: fitted("tree", x, y, random_state=seed), "RF": random_forest, "NN": _neural_network,
    }  # fmt: skip
    found: Target = boxes[name](rows.x, rows.y, seed)
    return found


PAPER, BALANCED, SINGLE = "as in the paper", "balanced", "rows that occur once"
ALWAYS = "always IN"
PERTURBATIONS = 300  # the paper has 1,000: the scores' own noise is below .03
LEAF = 5  # rows in a leaf of the tree on enriched data: with fewer it answers without probabilities
SHADOWS = 16  # of LiRA
GRID = np.geomspace(0.001, 1, 31)  # false positive rates at which curves are kept
Spec = tuple[str, Kind, dict[str, Any]]


def _specs(bits_only: bool) -> list[Spec]:
    """Return the attacks on a global target with their shadow data: the paper's matrix, and what is beside it."""
    few = {"perturbations": PERTURBATIONS}
    found: list[Spec] = [("mia", kind, {}) for kind in ("noise", "random", "statistical")]
    found += [(name, kind, few) for name in ("label-only", "aloa") for kind in ("noise", "random")]
    found.append(("mia", "noise", {"by": "true"}))
    if bits_only:
        found += [("aloa", kind, {**few, "additive": True}) for kind in ("noise", "random")]
        found.append(("label-only", "noise", {**few, "flips": 0.6}))
    return found


def built(name: str, of: MembershipFold, seed: int, limits: Limits) -> tuple[Target, Target]:
    """Return a target by name, and the black box that it is, or explains: "RF", "TREPAN-RF", "enriched-RF"."""
    how, _, whom = name.rpartition("-")
    box = black_box(whom, of.train, seed)
    columns, classes = of.law
    if how == "TREPAN":
        return trepan(box, of.train.x, columns, len(classes), seed=seed, limits=limits), box
    if how == "enriched":
        return enriched_tree(box, of.train.x, columns, len(classes), seed=seed, min_leaf=LEAF), box
    return box, box


def shadow_data(of: MembershipFold, kind: Kind, seed: int, most: int | None = None) -> Knowledge:
    """Return the attacker's shadow data, as many as he has rows, `most` at most."""
    rng = np.random.default_rng([seed, 7])
    size = len(of.shadow) if most is None else min(most, len(of.shadow))
    return knowledge(kind, of.open_columns, len(of.train.classes), size, rng, of.shadow.x)


def global_rows(point: Point, frame: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return how good and how faithful one target is, and what each attack finds out from it."""
    seed, name = int(point["fold"]), str(point["target"])
    of = case(point.dataset, frame, seed)
    target, box = built(name, of, seed, limits)
    rows, member = of.asked
    judge = Judge(name, rows, member, seed)
    found = [performance(name, target, box, of), *judge.always()]
    for attack_name, kind, settings in _specs(not len(of.open_columns.numbers)):
        limits.check("targets were attacked")
        made = attack(attack_name, **settings)
        label = f"{made.name} (bits flip with .6)" if "flips" in settings else made.name
        found += attack_result(judge, made, label, target, shadow_data(of, kind, seed), limits)
    return found


def attack_result(judge: Judge, made: Attack, name: str, target: Target, of: Knowledge, limits: Limits) -> list[Row]:
    """Return what one attack finds out, or why it does not apply."""
    reason = made.refuses(target, of)
    if reason is not None:
        return [{"kind": "refused", "model": judge.model, "attack": name, "shadow": of.kind, "reason": reason}]
    trained = made.train(target, of, judge.seed, limits)
    scores = trained.scores(target, judge.rows.x, judge.rows.y)
    return judge.rows_of(name, of.kind, scores, scores > trained.threshold)


class Judge:
    """The rows that attacks on one model are asked about, and the test sets on which they are judged."""

    def __init__(self, model: str, rows: Records, member: Bits, seed: int) -> None:
        self.model, self.rows, self.member, self.seed = model, rows, member, seed

    @cached_property
    def sets(self) -> list[tuple[str, Ints]]:
        """Return the test sets by name: all rows, as many members as others, and rows that have no like."""
        found = [(PAPER, np.arange(len(self.rows))),
                 (BALANCED, balanced(self.member, np.random.default_rng([self.seed, 11])))]  # fmt: skip
        single = np.flatnonzero(unique_rows(self.rows.numbered()))
        if len(single) < len(self.rows) and len(set(self.member[single].tolist())) == 2:
            found.append((SINGLE, single))
        return found

    def rows_of(self, attack_name: str, shadow: str, scores: Floats, decided: Bits, **more: Any) -> list[Row]:
        """Return a line per test set."""
        note = reservation(scores)
        return [_line(self.model, attack_name, shadow, which, evaluated(scores[at], decided[at], self.member[at]),
                     note=note, **more) for which, at in self.sets]  # fmt: skip

    def always(self) -> list[Row]:
        """Return what calling everybody a member is worth, and how many rows are on both sides."""
        copies = duplicates(self.rows.numbered(), self.member)
        found: list[Row] = [_line(self.model, ALWAYS, "none", which, always_in(self.member[at]))
                            for which, at in self.sets]  # fmt: skip
        return [*found, {"kind": "duplicates", "model": self.model, **asdict(copies), "sentence": copies.sentence()}]


def _line(model: str, attack_name: str, shadow: str, which: str, of: Evaluation, **more: Any) -> Row:
    return {"kind": "attack", "model": model, "attack": attack_name, "shadow": shadow, "test_set": which, **of.row(),
            **more}  # fmt: skip


def performance(name: str, target: Target, box: Target, of: MembershipFold, **more: Any) -> Row:
    """Return accuracy, and apart from it fidelity to the black box (none where it is the black box), and size."""
    classes = len(of.train.classes)
    found: Row = {"kind": "performance", "model": name, "nodes": getattr(target, "size", None)}
    for part, rows in (("train", of.train), ("test", of.test)):
        said = predicted(target, rows.x, classes)
        found[f"{part}_accuracy"] = float(np.mean(said == rows.y))
        same = float(np.mean(said == predicted(box, rows.x, classes)))
        found[f"{part}_fidelity"] = None if target is box else same
    return {**found, **more}


def reference_rows(point: Point, frame: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return what LiRA finds out of a random forest from all rows, beside the other attacks, and their curves."""
    seed, name = int(point["fold"]), str(point["target"])
    of = case(point.dataset, frame, seed)
    target, _ = built(name, of, seed, limits)
    rows, member = of.asked
    judge, shadow = Judge(name, rows, member, seed), shadow_data(of, "noise", seed)
    lira = LikelihoodRatio(population(of.shadow), random_forest, len(of.train), SHADOWS)
    found: list[Row] = []
    for made in (lira, attack("mia"), attack("mia", by="true"), attack("label-only", perturbations=PERTURBATIONS)):
        if made.refuses(target, shadow) is not None:
            continue
        trained = made.train(target, shadow, seed, limits)
        scores = trained.scores(target, rows.x, rows.y)
        found += judge.rows_of(made.name, "noise", scores, scores > trained.threshold)
        fpr, tpr = curve(scores, member)
        at = np.searchsorted(fpr, GRID, side="right") - 1  # the most that does not exceed it
        found += [{"kind": "curve", "model": name, "attack": made.name, "fpr": x, "recall": y}
                  for x, y in zip(GRID.tolist(), tpr[at].tolist(), strict=True)]  # fmt: skip
    return found


def attribute_rows(point: Point, frame: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return how well one column is guessed with a black box's answers, and without them."""
    seed, name = int(point["fold"]), str(point["target"])
    of = case(point.dataset, frame, seed)
    target, _ = built(name, of, seed, limits)
    rows, member = of.asked
    words = SENSITIVE[point.dataset]
    at = [i for i, column in enumerate(of.train.columns.names) if column.startswith(words)]
    found = attribute_inference(target, rows, member, at, of.shadow, seed)
    return [{"kind": "attribute", "model": name, "column": words[0].rstrip("=_"), **asdict(one)} for one in found]
