"""The experiment: black boxes, global and local explainers, attacks on all of them, by data set and fold.

Attacks on local explainers: one attack per explained record, and their ensemble.

The paper's tables with the columns that they leave out: means over folds, deltas, refusals by name, ranks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from recon.attacks.attribute_guesses import AGREEMENT, BOTH, IMPUTED
from recon.attacks.evaluation import DELTAS, Evaluation, Ranking, critical_difference, fold_mean, meaning
from recon.attacks.explainers.lore import Explanation, lores, merged_tree
from recon.attacks.explainers.sampling import diverse_rows
from recon.attacks.membership.attacks import CHEAP, attack
from recon.attacks.membership.shadow_data import Attack, MembershipGuess, Rule, ensemble
from recon.experiments.declaration import Declaration, named_lines, records, where, with_columns
from recon.experiments.drawing import Panel, Ranks
from recon.experiments.experiment import Point, Row
from recon.experiments.reveal.measuring import (
    ALWAYS,
    BALANCED,
    PAPER,
    ROWS_OF,
    SINGLE,
    TITLES,
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

DECLARED = Declaration(
    "reveal", TITLES=TITLES, ALWAYS=ALWAYS, PAPER=PAPER, BALANCED=BALANCED, IMPUTED=IMPUTED, AGREEMENT=AGREEMENT,
    BOTH=BOTH,
)  # fmt: skip
ROUNDING = DECLARED["ROUNDING"]
FIGURES = [one.name for one in fields(Evaluation)]
CASE = ["dataset", "part", "model", "attack", "shadow", "test_set", "explanations"]
EXTRA = ["fold", "kind", "reason", "refused", "applies", "local_fidelity", "hit", "nodes", "column", "way", "note",
         "sentence", "train_accuracy", "test_accuracy", "train_fidelity", "test_fidelity"]  # fmt: skip
BY_FOLDS = ("recall", "delta_recall", "advantage")
MODELS = ("DT", "RF", "NN", "TREPAN-RF", "TREPAN-NN", "enriched-RF", "enriched-NN", "LORE-RF", "LORE-NN",
          "merged LORE-RF", "merged LORE-NN")  # fmt: skip
RANKED = {"recall": "recall, as in the paper", "auc": "AUC"}
EXPLAINERS = ("TREPAN-RF", "enriched-RF")
MATRIX = ("mia", "label-only", "aloa", "aloa (additive)")
TELLING = ("lira", "mia", "mia (true class)", "label-only")


def _frames(results: pd.DataFrame) -> dict[str, Any]:
    """Return the lines of the tables, figures and sentences of all results that are there."""
    whole = complete(results)
    average = means(whole)
    ranked = _rankings(average)
    titled = named_lines(average, TITLES)
    judged = titled[titled["attack"] != ALWAYS]
    attacked = judged[(judged["test_set"] == PAPER) & (judged["part"] != "reference")]
    attacked = named_lines(attacked.assign(sized=attacked["dataset"].map(ROWS_OF)), MODELS, "model")
    curves = named_lines(where(whole, kind="curve"), TITLES)
    curves = curves.assign(sized=curves["dataset"].map(ROWS_OF)) if len(curves) else curves
    performance, guessed, copies = (where(whole, kind=kind) for kind in ("performance", "attribute", "duplicates"))
    others = average[(average["test_set"] != PAPER) & (average["part"] != "reference")]
    attributes = DECLARED.aggregate("attributes", guessed)
    frames = {
        "performance": DECLARED.aggregate("performance", performance.drop_duplicates(["dataset", "model", "fold"])),
        "average": titled, "judged": judged, "test-sets": others.drop_duplicates(CASE), "trial": _trial(average),
        "attributes": attributes.assign(advantage=attributes["members"] - attributes["others"])
        if len(attributes) else attributes,
        "reference": where(average, part="reference"), "printed": recomputed_cells(), "ranks": _rank_table(ranked),
        "duplicates": DECLARED.aggregate("duplicates", copies.drop_duplicates(["dataset", "fold"])),
        "signs": _signs(whole), "copies": where(copies, fold=0).drop_duplicates("dataset"),
        "ensembles": where(attacked, part="local", model="LORE-RF").sort_values("explanations", kind="stable"),
        "singles": _singles(titled), "attacked": named_lines(attacked, TITLES), "references": _references(whole),
        "faithful": _faithful(performance), "curves": curves, "curve-means": _curve_means(curves),
        "refused": where(whole, kind="refused", part="global"), "ranked": ranked, "gains": _gains(titled),
    }  # fmt: skip
    for part, shadow in product(("global", "local"), ("noise", "random", "statistical")):
        frames[f"{part}-{shadow}"] = _attack_table(whole, average, part, shadow)
    return frames | {"rank-diagrams": [
        Panel(f"by {RANKED[figure]}, {of.blocks} combinations", "", "",
              ranks=Ranks(of.treatments, of.ranks, of.pairs.to_numpy().tolist(), of.critical_difference))
        for figure, of in ranked.items()
    ]}  # fmt: skip


def complete(results: pd.DataFrame) -> pd.DataFrame:
    """Return results with every column that is asked for, empty where no point had it; deltas beside attacks."""
    found = with_columns(results, *CASE, *EXTRA, *FIGURES)
    found["shadow"] = found["shadow"].astype(object).fillna("none")
    found["box"] = found["model"].astype(str).str.rpartition("-")[2]
    keys, compared = ["dataset", "fold", "box", "attack", "shadow", "test_set"], [*DELTAS, "fpr"]
    own = where(found, kind="attack", part="global")
    boxes = own[own["model"] == own["box"]][[*keys, *compared]].drop_duplicates(keys)
    joined = found.merge(boxes, on=keys, how="left", suffixes=("", "_box"))
    other = (joined["kind"] == "attack") & (joined["model"] != joined["box"])
    for name in compared:
        joined[f"delta_{name}"] = (joined[name] - joined[f"{name}_box"]).where(other)
    return joined


def means(results: pd.DataFrame) -> pd.DataFrame:
    """Return the attacks' figures, means over folds, a line per data set, model, attack, shadow data and test set."""
    numbers = [*FIGURES, *(f"delta_{name}" for name in (*DELTAS, "fpr")), "applies"]
    grouped = where(results, kind="attack").groupby(CASE, dropna=False, sort=False)
    found = grouped[numbers].mean()
    found["folds"] = grouped["fold"].nunique()
    for name in BY_FOLDS:
        ends = [fold_mean(values.tolist()) for _, values in grouped[name]]
        found[f"{name}_low"], found[f"{name}_high"] = [one.low for one in ends], [one.high for one in ends]
    return found.reset_index()


def _attack_table(results: pd.DataFrame, average: pd.DataFrame, part: str, shadow: str) -> pd.DataFrame:
    """Return one of the paper's tables: attacks on global or local targets under one kind of shadow data.

    Local ones have their black box beside them; where an attack did not apply in any fold, its line says why.
    """
    of = where(average, part=part, test_set=PAPER, shadow=(shadow, "none"))
    refused = where(results, kind="refused", part=part, shadow=shadow)
    some, keys = where(of, shadow=shadow), ["dataset", "model", "attack"]
    if not len(some) and not len(refused):
        return pd.DataFrame()
    reasons = refused.groupby(keys, sort=False)["reason"].first().reset_index()
    there = set(some[keys].itertuples(index=False, name=None))
    absent = [key not in there for key in reasons[keys].itertuples(index=False, name=None)]
    gone = reasons[np.array(absent, dtype=bool)]
    gone = gone.assign(note="does not apply: " + gone["reason"].astype(str))
    always = where(of, shadow="none").drop_duplicates("dataset").assign(model="any")
    return pd.concat([one for one in (some, gone, always) if len(one)], ignore_index=True)


def recomputed_cells() -> pd.DataFrame:
    """Return the paper's cells that do not follow from their neighbours, recomputed from what is printed."""
    cells = DECLARED.published("f1").rename(columns={"precision": "from", "recall": "and"}).assign(figure="F1")
    deltas = DECLARED.published("deltas").rename(columns={"explainer": "from", "black_box": "and"})
    lines = records(pd.concat([cells, deltas.assign(figure="delta of recall")]))
    for one in lines:
        again, reach = one["recomputed"], ROUNDING
        one["least"], one["greatest"] = again - reach, again + reach
        if not np.isnan(one["from"]) and one["figure"] == "F1":
            one["recomputed"] = 2 * one["from"] * one["and"] / (one["from"] + one["and"])
            one["least"], one["greatest"] = f1_range(one["from"], one["and"])
        elif not np.isnan(one["from"]):
            again = one["recomputed"] = one["from"] - one["and"]
            one["least"], one["greatest"] = again - 2 * reach, again + 2 * reach
    found = pd.DataFrame(lines)
    low, high = found["printed"] - ROUNDING, found["printed"] + ROUNDING
    return found.assign(possible=(high >= found["least"]) & (low <= found["greatest"]))


def f1_range(precision: float, recall: float) -> tuple[float, float]:
    """Return the least and greatest F1 of figures that round to a printed precision and recall."""
    ends = []
    for sign in (-1, 1):
        p, r = (min(1.0, max(0.0, value + sign * ROUNDING)) for value in (precision, recall))
        ends.append(2 * p * r / (p + r) if p + r else 0.0)
    return ends[0], ends[1]


def _trial(average: pd.DataFrame) -> pd.DataFrame:
    """Return a first trial's figures beside ours."""
    ours = where(average, dataset="adult24", part="global", attack="mia", test_set=PAPER)
    return DECLARED.published("trial").merge(ours.drop_duplicates(["shadow", "model"]), on=["shadow", "model"])


def _signs(results: pd.DataFrame) -> pd.DataFrame:
    """Return the sign of the delta of recall of mia, explainers of the forest minus the forest, by shadow data."""
    some = where(results, kind="attack", part="global", attack="mia", test_set=PAPER, model=EXPLAINERS,
                 shadow=("noise", "random"))  # fmt: skip
    some = some[some["delta_recall"].notna()]
    some = some.assign(up=some["delta_recall"] > 0)
    return named_lines(DECLARED.aggregate("signs", some), TITLES)


def _gains(average: pd.DataFrame) -> list[str]:
    """Return what the gain of recall of mia on explainers means, and the largest gain of the paper's attacks."""
    out = []
    for title, some in where(average, part="global", test_set=PAPER).groupby("title", sort=False):
        gains = some[some["delta_recall"].notna() & some["attack"].isin(MATRIX)].sort_values("delta_recall")
        plain = [(where(gains, attack="mia", shadow="noise", model=name), "") for name in EXPLAINERS]
        for line, largest in [*plain, (gains.iloc[-1:], ", the largest gain")]:
            for one in records(line):
                box = where(some, attack=one["attack"], shadow=one["shadow"], model=one["model"].rpartition("-")[2])
                own, theirs = (Evaluation(**{name: of[name] for name in FIGURES}) for of in (one, records(box)[0]))
                name = f"{title}, {one['attack']} with {one['shadow']} shadow data on {one['model']}{largest}"
                out.append(meaning(name, own, theirs))
    return out


def _singles(average: pd.DataFrame) -> pd.DataFrame:
    """Return what attacks find out of rows that have no like, beside what they find out of all."""
    keys = ["dataset", "attack", "model"]
    some = where(average, test_set=SINGLE, shadow="noise", model=("RF", *EXPLAINERS), attack=TELLING)
    rows = {f"all_{name}": some.groupby("dataset")[name].transform("mean") for name in ("members", "others")}
    some = some.assign(**rows)
    last = some.sort_values("part").drop_duplicates(keys, keep="last")  # of both, the reference has the same rows
    whole = where(average, test_set=PAPER, shadow="noise")[[*keys, "part", "auc"]]
    found = some[keys].drop_duplicates().merge(last, on=keys)
    return found.merge(whole.drop_duplicates([*keys, "part"]), on=[*keys, "part"], suffixes=("", "_whole"))


def _faithful(performance: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy and fidelity of TREPAN apart."""
    lines = where(performance, part="global", model=("RF", *EXPLAINERS))
    found = DECLARED.aggregate("faithful", lines.astype({"test_fidelity": float}))
    return named_lines(named_lines(found, ["RF", *EXPLAINERS], "model"), TITLES)


def _references(results: pd.DataFrame) -> pd.DataFrame:
    """Return what LiRA finds where the other attacks find little."""
    some = where(results, kind="attack", part="reference", test_set=PAPER)
    found = DECLARED.aggregate("references", some, folds=lambda values: str(fold_mean(values.tolist())))
    return named_lines(found, TITLES)


def _curve_means(curves: pd.DataFrame) -> pd.DataFrame:
    """Return mean curves over folds, attacks in the order in which they come."""
    if not len(curves):
        return curves
    order = curves.groupby(["dataset", "attack"], sort=False).ngroup()
    found = curves.assign(order=order).groupby(["order", "dataset", "attack", "fpr"], as_index=False)[["recall"]].mean()
    return found[found["recall"] > 0]


def _rankings(average: pd.DataFrame) -> dict[str, Ranking]:
    """Return the ranks of global targets by recall and by AUC, where enough conditions have all of them."""
    some, found = where(average, part="global", test_set=PAPER), {}
    some = some[some["attack"] != ALWAYS]
    for figure in RANKED:
        table = some.pivot_table(index=["dataset", "attack", "shadow"], columns="model", values=figure, sort=False)
        table = table[[name for name in MODELS[:7] if name in table.columns]]
        if table.shape[1] >= 3 and len(table.dropna()) >= 2:
            found[figure] = critical_difference(table)
    return found


def _rank_table(ranked: dict[str, Ranking]) -> pd.DataFrame:
    """Return the mean ranks by both figures."""
    lines: list[Sequence[Any]] = [
        (figure, name, rank, of.blocks, of.left_out, of.p, of.critical_difference)
        for figure, of in ranked.items() for name, rank in zip(of.treatments, of.ranks, strict=True)
    ]  # fmt: skip
    columns = ["by", "target", "mean_rank", "conditions", "left_out", "friedman_p", "critical_difference"]
    return pd.DataFrame(lines, columns=columns)


COUNTS = (40, 80, 120)  # records that are explained
RULES: dict[str, Rule] = {"mia": "confidence", "label-only": "threshold", "aloa": "threshold"}  # as in the paper
SETTINGS = {**CHEAP, "mia": {**CHEAP["mia"], "trees": 10, "attack_trees": 10}}  # of each of hundreds of attacks
SHADOW_ROWS = 1_000  # of each of them


def _local_rows(point: Point, frame: pd.DataFrame, limits: Limits) -> list[Row]:
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


EXPERIMENT = DECLARED.experiment(
    {"global": global_rows, "local": _local_rows, "reference": reference_rows, "attributes": attribute_rows}, _frames
)
