"""The experiment: black boxes, global and local explainers, attacks on all of them, by data set and fold.

Attacks on local explainers: one attack per explained record, and their ensemble.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from recon.attacks.explainers.lore import Explanation, lores, merged_tree
from recon.attacks.explainers.sampling import diverse_rows
from recon.attacks.membership.attacks import CHEAP, attack
from recon.attacks.membership.shadow_data import Attack, MembershipGuess, Rule, ensemble
from recon.experiments.experiment import Point, Row, Size
from recon.experiments.reveal.findings import DECLARED, findings
from recon.experiments.reveal.measuring import (
    FOLDS,
    Judge,
    MembershipFold,
    attack_result,
    attribute_rows,
    built,
    case,
    global_rows,
    performance,
    reference_rows,
    shadow_data,
)
from recon.queries.inputs import Target, predicted
from solvers.foundation.limits import Limits

COUNTS = (40, 80, 120)  # records that are explained
RULES: dict[str, Rule] = {"mia": "confidence", "label-only": "threshold", "aloa": "threshold"}  # as in the paper
SETTINGS = {**CHEAP, "mia": {**CHEAP["mia"], "trees": 10, "attack_trees": 10}}  # of each of hundreds of attacks
SHADOW_ROWS = 1_000  # of each of them


def _local_rows(point: Point, frame: pd.DataFrame | None, limits: Limits) -> list[Row]:
    """Return what the ensembles of attacks on 40, 80 and 120 local trees find out, and on one tree merged of all.

    The records of 40 and 80 are the first ones of those 120.
    """
    seed, name, kind = int(point["fold"]), str(point["target"]), point["shadow"]
    of = case(point.dataset, frame, seed)
    box, _ = built(name.removeprefix("LORE-"), of, seed, limits)
    explained = explanations(box, of, int(point["explanations"]), seed, limits)
    rows, member = of.asked
    judge, shadow = Judge(name, rows, member, seed), shadow_data(of, kind, seed, SHADOW_ROWS)
    found: list[Row] = [_described(name, explained, box, of)]
    for attack_name, rule in RULES.items():
        made = attack(attack_name, **SETTINGS[attack_name])
        if attack_name == "aloa" and not len(of.open_columns.numbers):  # refused for one reason on every tree
            found += attack_result(judge, made, "aloa", explained[0].surrogate, shadow, limits)
            continue
        found += _ensemble_outcomes(judge, made, rule, explained, shadow, limits)
    whole = merged_tree(explained, seed=seed, min_leaf=5)
    one = Judge(f"merged {name}", rows, member, seed)
    found.append(performance(one.model, whole, box, of, explanations=len(explained)))
    full = shadow_data(of, kind, seed)
    return [*found, *attack_result(one, attack("mia"), "mia", whole, full, limits)]


def explanations(box: Target, of: MembershipFold, count: int, seed: int, limits: Limits) -> list[Explanation]:
    """Return the explanations of so many training rows, chosen by clusters."""
    columns, classes = of.law
    records = of.train.x[diverse_rows(of.train.x, count, seed)]
    return lores(box, records, of.train.x, columns, len(classes), seed=seed, limits=limits)


def _described(name: str, explained: list[Explanation], box: Target, of: MembershipFold) -> Row:
    """Return how faithful local trees are: in their neighbourhoods, of the explained records, and of all rows."""
    found: Row = {"kind": "performance", "model": name, "explanations": len(explained),
                  "nodes": float(np.mean([one.surrogate.size for one in explained])),
                  "local_fidelity": float(np.mean([one.fidelity for one in explained])),
                  "hit": float(np.mean([one.hit for one in explained]))}  # fmt: skip
    for part, rows in (("train", of.train), ("test", of.test)):
        said = predicted(box, rows.x, len(rows.classes))
        trees = np.stack([one.surrogate.predict(rows.x) for one in explained])
        found[f"{part}_accuracy"] = float(np.mean(trees == rows.y))
        found[f"{part}_fidelity"] = float(np.mean(trees == said))
    return found


def _ensemble_outcomes(judge: Judge, made: Attack, rule: Rule, explained: list[Explanation], shadow: Any,
             limits: Limits) -> list[Row]:  # fmt: skip
    """Return what one attack on each local tree finds out as an ensemble, for every number of explained records."""
    guesses: dict[int, tuple[MembershipGuess, float]] = {}
    reasons: list[str] = []
    for k, one in enumerate(explained):
        limits.check("local trees were attacked")
        reason = made.refuses(one.surrogate, shadow)
        if reason is not None:
            reasons.append(reason)
            continue
        trained = made.train(one.surrogate, shadow, judge.seed, limits)
        scores = trained.scores(one.surrogate, judge.rows.x, judge.rows.y)
        guesses[k] = MembershipGuess(made.name, scores, scores > trained.threshold), trained.threshold
    found: list[Row] = []
    for count in COUNTS:
        some = [pair for k, pair in guesses.items() if k < count]
        if not some or count > len(explained):
            continue
        said = ensemble([guess for guess, _ in some], rule, [threshold for _, threshold in some])
        found += judge.rows_of(made.name, shadow.kind, said.scores, said.members, explanations=count,
                               applies=len(some))  # fmt: skip
    for reason, times in Counter(reasons).items():
        found.append({"kind": "refused", "model": judge.model, "attack": made.name, "shadow": shadow.kind,
                      "reason": reason, "refused": times, "explanations": len(explained)})  # fmt: skip
    return found


DATASETS = ("compas27", "adult24", "")
TARGETS = ("DT", "RF", "NN", "TREPAN-RF", "TREPAN-NN", "enriched-RF", "enriched-NN")
LOCAL = ("LORE-RF", "LORE-NN")
SHADOWS = ("noise", "random")
PARTS: dict[str, Callable[[Point, pd.DataFrame | None, Limits], list[Row]]] = {
    "global": global_rows, "local": _local_rows, "reference": reference_rows, "attributes": attribute_rows,
}  # fmt: skip


def _run(point: Point, frame: pd.DataFrame | None, limits: Limits) -> list[Row]:
    """Return one point's rows; `kind` says what a row is about."""
    return PARTS[point["part"]](point, frame, limits)


def _points(size: Size) -> list[Point]:
    """Return a point per data set, fold and target, and shadow data of local ones; quick: some of Adult's first."""
    found = []
    for dataset in DATASETS:
        for fold in range(FOLDS):
            found += [Point(dataset, {"part": "global", "target": name, "fold": fold}, 10.0) for name in TARGETS]
            found += [Point(dataset, {"part": "local", "target": name, "fold": fold, "shadow": kind,
                                      "explanations": COUNTS[-1]}, 25.0)
                      for name in LOCAL for kind in SHADOWS]  # fmt: skip
            if dataset != "compas27":
                found.append(Point(dataset, {"part": "reference", "target": "RF", "fold": fold}, 15.0))
            found.append(Point(dataset, {"part": "attributes", "target": "RF", "fold": fold}, 2.0))
    return [one for one in found if size == "full" or quick(one)]


def quick(point: Point) -> bool:
    """Return whether a point is one of the quick ones."""
    if point.dataset != "adult24" or point["fold"] > 0 or "NN" in point["target"]:
        return False
    return bool(point["part"] != "local" or point["shadow"] == "noise")


EXPERIMENT = DECLARED.experiment(_points, _run, findings)
