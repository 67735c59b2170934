"""The experiment: black boxes, global and local explainers, attacks on all of them, by data set and fold.

A target is built, attacked, and what the attacks find is judged; local explainers by one attack per explained record
and their ensemble. The paper's tables with the columns that they leave out: means over folds, deltas, refusals, ranks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from recon.attacks.attribute_guesses import AGREEMENT, BOTH, IMPUTED, attribute_inference
from recon.attacks.evaluation import (
    DELTAS,
    Evaluation,
    Ranking,
    always_in,
    balanced,
    critical_difference,
    curve,
    duplicates,
    evaluated,
    fold_mean,
    folded,
    meaning,
    unique_rows,
)
from recon.attacks.explainers.lore import Explanation, lores, merged_tree
from recon.attacks.explainers.sampling import diverse_rows, enriched_tree
from recon.attacks.explainers.trepan import trepan
from recon.attacks.membership.attacks import CHEAP, attack, reservation
from recon.attacks.membership.shadow_data import (
    Attack,
    Kind,
    Knowledge,
    LikelihoodRatio,
    MembershipGuess,
    Rule,
    ensemble,
    knowledge,
    population,
)
from recon.experiments.drawing import Panel, Ranks
from recon.experiments.experiment import Declaration, Point, Row, named_lines, records, where, with_columns
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
    whole = dataset_records(dataset, frame)
    order = np.random.default_rng([seed, 1]).permutation(len(whole))
    cut = int(SHADOW * len(whole))
    inside, shadow = whole.take(order[cut:]), whole.take(order[:cut])
    test = folded(len(inside), FOLDS, np.random.default_rng([seed, 2]))[fold]
    trained = np.setdiff1d(np.arange(len(inside)), test)
    return MembershipFold(inside.take(trained), inside.take(test), shadow)


def dataset_records(dataset: str, frame: pd.DataFrame) -> Records:
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


MODELS = ("DT", "RF", "NN", "TREPAN-RF", "TREPAN-NN", "enriched-RF", "enriched-NN", "LORE-RF", "LORE-NN",
          "merged LORE-RF", "merged LORE-NN")  # fmt: skip
DECLARED = Declaration(
    "reveal", TITLES=TITLES, ALWAYS=ALWAYS, PAPER=PAPER, BALANCED=BALANCED, IMPUTED=IMPUTED, AGREEMENT=AGREEMENT,
    BOTH=BOTH, SINGLE=SINGLE, ROWS_OF=ROWS_OF, MODELS=MODELS, folds=lambda values: str(fold_mean(values.tolist())),
)  # fmt: skip
ROUNDING = DECLARED["ROUNDING"]
FIGURES = [one.name for one in fields(Evaluation)]
CASE = ["dataset", "part", "model", "attack", "shadow", "test_set", "explanations"]
EXTRA = ["fold", "kind", "reason", "refused", "applies", "local_fidelity", "hit", "nodes", "column", "way", "note",
         "sentence", "train_accuracy", "test_accuracy", "train_fidelity", "test_fidelity"]  # fmt: skip
BY_FOLDS = ("recall", "delta_recall", "advantage")
RANKED = {"recall": "recall, as in the paper", "auc": "AUC"}
EXPLAINERS = ("TREPAN-RF", "enriched-RF")
MATRIX = ("mia", "label-only", "aloa", "aloa (additive)")


def _frames(results: pd.DataFrame) -> dict[str, Any]:
    """Return the lines of the tables, figures and sentences of all results that are there."""
    whole = complete(results)
    average = means(whole)
    ranked = _rankings(average)
    frames = {
        "whole": whole, "means": average, "printed": recomputed_cells(), "ranks": _rank_table(ranked), "ranked": ranked,
        "gains": _gains(named_lines(average, TITLES)),
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
