"""All that follows from the results: the tables, the figures, and the ranks with their critical differences.

What the results say in words, each figure computed from them.

The paper's tables with the columns that they leave out: means over folds, deltas, refusals by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd

from recon.attacks.attribute_guesses import AGREEMENT, BOTH, IMPUTED
from recon.attacks.evaluation import DELTAS, Evaluation, FoldMean, Ranking, critical_difference, fold_mean, meaning
from recon.experiments.drawing import Panel, PanelFigure, PlotLine, Ranks
from recon.experiments.experiment import ExperimentFindings, ResultTable
from recon.experiments.findings import Texts
from recon.experiments.reveal.measuring import ALWAYS, BALANCED, PAPER, ROWS_OF, SINGLE, TITLES
from recon.experiments.reveal.published import (
    COUNTED,
    F1,
    LARGEST,
    NOT_OFFLINE,
    OTHERS,
    QUOTED,
    ROUNDING,
    TRIAL,
    f1_range,
)
from recon.experiments.reveal.published import DELTAS as PRINTED_DELTAS

FIGURES = [one.name for one in fields(Evaluation)]
CASE = ["dataset", "part", "model", "attack", "shadow", "test_set", "explanations"]
EXTRA = ["fold", "kind", "reason", "refused", "applies", "local_fidelity", "hit", "nodes", "column", "way", "note"]
BY_FOLDS = ("recall", "delta_recall", "advantage")
SHOWN = ["precision", "recall", "f1", "accuracy", *(f"delta_{name}" for name in DELTAS), "fpr", "advantage",
         *(f"{name}_{end}" for name in BY_FOLDS for end in ("low", "high")), "auc", "auc_low", "auc_high", "tpr_at_001",
         "tpr_at_001_low", "tpr_at_001_high", "tpr_at_01", "tpr_at_01_low", "tpr_at_01_high", "members", "others",
         "folds", "note"]  # fmt: skip
ABOUT = (
    "Means over folds. `delta_*`: explainer minus its black box under the same attack. `fpr`: of the rows not trained "
    "on, the share called members; `advantage`: recall - fpr; `tpr_at_001`, `tpr_at_01`: recall at a false positive "
    "rate of at most 0.1 % and 1 %; intervals of 95 %: of `recall`, `delta_recall` and `advantage` Student's over "
    "folds, of `auc` and `tpr_*` the means of the folds' own ends (DeLong, Clopper-Pearson). `note`: why an attack "
    "does not apply. Test set: two training rows to one other, as 3-fold cross-validation gives."
)
TEXTS = Texts("reveal", ABOUT=ABOUT)


def complete(results: pd.DataFrame) -> pd.DataFrame:
    """Return results with every column that is asked for, empty where no point had it; deltas beside attacks."""
    found = results.reindex(columns=list(dict.fromkeys([*results.columns, *CASE, *EXTRA, *FIGURES])))
    found["shadow"] = found["shadow"].astype(object).fillna("none")
    found["box"] = found["model"].astype(str).str.rpartition("-")[2]
    return _with_deltas(found)


def _with_deltas(found: pd.DataFrame) -> pd.DataFrame:
    """Return results whose attacks on explainers stand beside the same attack on their black box."""
    keys = ["dataset", "fold", "box", "attack", "shadow", "test_set"]
    attacks = found[(found["kind"] == "attack") & found["part"].isin(["global", "local"])]
    own = attacks[(attacks["model"] == attacks["box"]) & (attacks["part"] == "global")]
    compared = [*DELTAS, "fpr"]
    boxes = own[[*keys, *compared]].drop_duplicates(keys)
    joined = found.merge(boxes, on=keys, how="left", suffixes=("", "_box"))
    other = (joined["kind"] == "attack") & (joined["model"] != joined["box"])
    for name in compared:
        joined[f"delta_{name}"] = (joined[name] - joined[f"{name}_box"]).where(other)
    return joined


def means(results: pd.DataFrame) -> pd.DataFrame:
    """Return the attacks' figures, means over folds, a line per data set, model, attack, shadow data and test set."""
    attacks = results[results["kind"] == "attack"]
    numbers = [*FIGURES, *(f"delta_{name}" for name in (*DELTAS, "fpr")), "applies"]
    grouped = attacks.groupby(CASE, dropna=False, sort=False)
    found = grouped[numbers].mean()
    found["folds"] = grouped["fold"].nunique()
    for name in BY_FOLDS:
        ends = [fold_mean(values.tolist()) for _, values in grouped[name]]
        found[f"{name}_low"], found[f"{name}_high"] = [one.low for one in ends], [one.high for one in ends]
    return found.reset_index()


def over_folds(results: pd.DataFrame, figure: str, **case: str | int) -> FoldMean:
    """Return the mean and t-interval over folds of one figure of one case (columns and their values)."""
    return fold_mean([float(v) for v in select_lines(results, **case)[figure]])


def select_lines(frame: pd.DataFrame, **case: str | int) -> pd.DataFrame:
    """Return the lines of a frame with these values."""
    keep = np.ones(len(frame), dtype=bool)
    for name, value in case.items():
        keep &= (frame[name] == value).to_numpy()
    return frame[keep]


def tables(results: pd.DataFrame, average: pd.DataFrame) -> list[ResultTable]:
    """Return all tables that have a line."""
    found = [
        TEXTS.table("table1-performance", _performances(results)),
        *(ResultTable(f"table{k}-{part}-{shadow}", _attack_table(results, average, part, shadow),
                f"Attacks on {part} targets, shadow data: {shadow}. {ABOUT}")
          for k, part, shadow in ((2, "global", "noise"), (3, "global", "random"), (4, "local", "noise"),
                                  (5, "local", "random"))),
        TEXTS.table("statistical", _attack_table(results, average, "global", "statistical")),
        TEXTS.table("test-sets", _test_set_table(average)),
        TEXTS.table("reference", _reference(average)),
        TEXTS.table("duplicates", _copy_table(results)),
        TEXTS.table("attributes", attributes(results)),
        TEXTS.table("printed", recomputed_cells()),
        TEXTS.table("first-trial", trial(average)),
    ]  # fmt: skip
    return [table for table in found if len(table.frame)]


def _titled(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the data sets' names as they are read."""
    return frame.assign(dataset=frame["dataset"].map(TITLES).fillna(frame["dataset"])).reset_index(drop=True)


def _performances(results: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy and fidelity by data set and model."""
    lines = results[results["kind"] == "performance"]
    numbers = ["train_accuracy", "test_accuracy", "train_fidelity", "test_fidelity", "local_fidelity", "hit", "nodes"]
    lines = lines.reindex(columns=[*lines.columns, *(n for n in numbers if n not in lines.columns)])
    lines = lines.drop_duplicates(["dataset", "fold", "model"])
    found = lines.groupby(["dataset", "model"], sort=False)[numbers].agg("mean").reset_index()
    return _titled(found)


def _attack_table(results: pd.DataFrame, average: pd.DataFrame, part: str, shadow: str) -> pd.DataFrame:
    """Return one of the paper's tables: attacks on global or local targets under one kind of shadow data.

    Local ones have their black box beside them; where an attack did not apply in any fold, its line says why.
    """
    of = average[(average["part"] == part) & (average["test_set"] == PAPER) & average["shadow"].isin([shadow, "none"])]
    refused = results[(results["kind"] == "refused") & (results["part"] == part) & (results["shadow"] == shadow)]
    some = of[of["shadow"] == shadow]
    if not len(some) and not len(refused):
        return pd.DataFrame()
    reasons = refused.groupby(["dataset", "model", "attack"], sort=False)["reason"].first().reset_index()
    there = set(some[["dataset", "model", "attack"]].itertuples(index=False, name=None))
    absent = [key not in there for key in reasons[["dataset", "model", "attack"]].itertuples(index=False, name=None)]
    gone = reasons[np.array(absent, dtype=bool)].assign(
        note=lambda frame: "does not apply: " + frame["reason"].astype(str)
    )
    always = of[of["shadow"] == "none"].drop_duplicates("dataset").assign(model="any")
    lines = pd.concat([one for one in (of[of["shadow"] == shadow], gone, always) if len(one)], ignore_index=True)
    order = ["dataset", "attack", "model", *(["explanations", "applies"] if part == "local" else [])]
    lines = lines.reindex(columns=[*order, *SHOWN]).sort_values(order[:3], kind="stable")
    return _titled(lines)


def _test_set_table(average: pd.DataFrame) -> pd.DataFrame:
    """Return the attacks on the other test sets."""
    lines = average[(average["test_set"] != PAPER) & (average["part"] != "reference")]
    shown = [*CASE, "precision", "recall", "fpr", "advantage", "auc", "auc_low", "auc_high", "tpr_at_01", "members",
             "others", "folds"]  # fmt: skip
    return _titled(lines[shown].drop_duplicates(CASE))


def _reference(average: pd.DataFrame) -> pd.DataFrame:
    """Return LiRA beside the other attacks on its target."""
    lines = average[(average["part"] == "reference")]
    return _titled(lines[["dataset", "model", "attack", "test_set", *(n for n in SHOWN if not n.startswith("delta")
                                                                     and n != "note")]])  # fmt: skip


def _copy_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return how many rows are on both sides."""
    lines = results[results["kind"] == "duplicates"].drop_duplicates(["dataset", "fold"])
    numbers = ["rows", "distinct", "members_both", "others_both", "best_auc", "best_advantage"]
    if not len(lines):
        return pd.DataFrame()
    return _titled(lines.groupby("dataset", sort=False)[numbers].mean().reset_index())


def attributes(results: pd.DataFrame) -> pd.DataFrame:
    """Return how well a column is guessed, way by way."""
    lines = results[results["kind"] == "attribute"]
    if not len(lines):
        return pd.DataFrame()
    outside = ["others_low", "others_high"]
    numbers = ["members", "members_low", "members_high", "others", *outside, "gain", "gain_low", "gain_high"]
    found = lines.groupby(["dataset", "column", "way"], sort=False)[numbers].mean()
    return _titled(found.assign(advantage=found["members"] - found["others"]).reset_index())


def recomputed_cells() -> pd.DataFrame:
    """Return the paper's cells that do not follow from their neighbours, recomputed from what is printed."""
    lines = []
    for cell in F1:
        least, greatest, again = cell.recomputed - ROUNDING, cell.recomputed + ROUNDING, cell.recomputed
        if cell.precision is not None and cell.recall is not None:
            least, greatest = f1_range(cell.precision, cell.recall)
            again = 2 * cell.precision * cell.recall / (cell.precision + cell.recall)
        lines.append([cell.table, cell.data, cell.attack, cell.target, "F1", cell.precision, cell.recall, cell.printed,
                      again, least, greatest])  # fmt: skip
    for one in PRINTED_DELTAS:
        least, greatest, again = one.recomputed - ROUNDING, one.recomputed + ROUNDING, one.recomputed
        if one.explainer is not None and one.black_box is not None:
            again = one.explainer - one.black_box
            least, greatest = again - 2 * ROUNDING, again + 2 * ROUNDING
        lines.append([one.table, one.data, one.attack, one.target, "delta of recall", one.explainer, one.black_box,
                      one.printed, again, least, greatest])  # fmt: skip
    columns = [
        "table",
        "data",
        "attack",
        "target",
        "figure",
        "from",
        "and",
        "printed",
        "recomputed",
        "least",
        "greatest",
    ]
    found = pd.DataFrame(lines, columns=columns)
    low, high = found["printed"] - ROUNDING, found["printed"] + ROUNDING
    return found.assign(possible=(high >= found["least"]) & (low <= found["greatest"]))


def trial(average: pd.DataFrame) -> pd.DataFrame:
    """Return a first trial's figures beside ours."""
    lines = []
    for (shadow, name), (recall, fpr, auc) in TRIAL.items():
        ours = select_lines(average, dataset="adult24", part="global", attack="mia", shadow=shadow, test_set=PAPER,
                      model={"TREPAN-like": "enriched-RF"}.get(name, name))  # fmt: skip
        if len(ours):
            mine = [float(ours[figure].iloc[0]) for figure in ("recall", "fpr", "auc")]
            lines.append(["adult24", "mia", shadow, name, recall, mine[0], fpr, mine[1], auc, mine[2]])
    columns = [
        "dataset",
        "attack",
        "shadow",
        "target",
        "recall_trial",
        "recall",
        "fpr_trial",
        "fpr",
        "auc_trial",
        "auc",
    ]
    return _titled(pd.DataFrame(lines, columns=columns))


EXPLAINERS = ("TREPAN-RF", "enriched-RF")
MATRIX = ("mia", "label-only", "aloa", "aloa (additive)")
TELLING = ("lira", "mia", "mia (true class)", "label-only")
NEAR = 0.05  # of an AUC to 1/2


def _sentences(results: pd.DataFrame, average: pd.DataFrame, ranked: Mapping[str, Ranking]) -> list[str]:
    """Return all sentences that the results allow."""
    return [
        *_signs(results),
        *_loud(average),
        *_always(average),
        *_test_sets(average),
        *_copies(results),
        *_singles(average),
        *_faithful(results),
        *_references(results),
        *_guessed(results),
        *_locals_(average),
        *_refusals(results),
        *(f"Global targets by {name}: {one.sentence()}." for name, one in ranked.items()),
        *_arithmetic(),
        *_trials(average),
        f"Not reproduced: {'; '.join(NOT_OFFLINE)}.",
    ]


def _signs(results: pd.DataFrame) -> list[str]:
    """Return the sign of the delta of recall of mia, explainers of the forest minus the forest, by shadow data."""
    out = []
    for dataset, title in TITLES.items():
        for name in EXPLAINERS:
            parts = []
            for shadow in ("noise", "random"):
                case = {"dataset": dataset, "model": name, "attack": "mia", "shadow": shadow, "test_set": PAPER}
                some = select_lines(results, kind="attack", part="global", **case)["delta_recall"].dropna()
                if len(some):
                    gain, false = fold_mean(some.tolist()), over_folds(results, "delta_fpr", part="global", **case)
                    parts.append(f"{gain.mean:+.2f} under {shadow} shadow data ({int((some > 0).sum())} of {len(some)} "
                                 f"folds positive; of the false positive rate {false.mean:+.2f})")  # fmt: skip
            if parts:
                out.append(f"{title}, mia, {name} minus RF: delta recall {', '.join(parts)}.")
    return out


def _evaluation(line: Mapping[Any, Any]) -> Evaluation:
    """Return a line of means as an evaluation."""
    return Evaluation(**{name: line[name] for name in FIGURES})


def _loud(average: pd.DataFrame) -> list[str]:
    """Return what the gain of recall of mia on explainers means, and the largest gain of the paper's attacks."""
    out = []
    for dataset, title in TITLES.items():
        some = select_lines(average, dataset=dataset, part="global", test_set=PAPER)
        gains = some[some["delta_recall"].notna() & some["attack"].isin(MATRIX)].sort_values("delta_recall")
        plain = [(select_lines(gains, attack="mia", shadow="noise", model=name), "") for name in EXPLAINERS]
        for line, largest in [*plain, (gains.iloc[-1:], ", the largest gain")]:
            for one in line.to_dict("records"):
                box = select_lines(
                    some, attack=one["attack"], shadow=one["shadow"], model=one["model"].rpartition("-")[2]
                )
                name = f"{title}, {one['attack']} with {one['shadow']} shadow data on {one['model']}{largest}"
                out.append(f"{meaning(name, _evaluation(one), _evaluation(box.to_dict('records')[0]))}.")
    quoted = f"{QUOTED.printed:+.2f} (Table {QUOTED.table}, {QUOTED.data}) is {QUOTED.recomputed:+.2f} recomputed"
    return [*out, f"The paper's largest delta of recall is {LARGEST:+.2f}; its {quoted}."] if out else []


def _always(average: pd.DataFrame) -> list[str]:
    """Return the precision of always saying IN beside the precisions of all attacks."""
    out = []
    for dataset, title in TITLES.items():
        some = select_lines(average, dataset=dataset, test_set=PAPER)
        some = some[some["part"].isin(["global", "local"])]
        base, rest = some[some["attack"] == ALWAYS], some[some["attack"] != ALWAYS]
        precision = rest["precision"].dropna()
        if len(base) and len(precision):
            low, high = precision.quantile([0.1, 0.9]).tolist()
            near, of = int(((rest["auc"] - 0.5).abs() < NEAR).sum()), len(rest)
            out.append(f"{title}: always IN has precision {base['precision'].iloc[0]:.3f}, recall 1, AUC .5; four "
                       f"fifths of {of} attacks have a precision of {low:.3f} to {high:.3f} (their recalls go from "
                       f"{rest['recall'].min():.2f} to {rest['recall'].max():.2f}), and {near} of {of} an AUC within "
                       f"{NEAR} of 1/2.")  # fmt: skip
    return out


def _test_sets(average: pd.DataFrame) -> list[str]:
    """Return how accurate attacks are on a balanced test set, where always IN is right on half."""
    out = []
    for dataset, title in TITLES.items():
        some = select_lines(average, dataset=dataset, test_set=BALANCED, part="global")
        some = some[some["attack"] != ALWAYS].sort_values("accuracy")
        for line in some.iloc[-1:].to_dict("records"):
            out.append(f"{title}, balanced test set (always IN is right on .500): the most accurate attack, "
                       f"{line['attack']} with {line['shadow']} shadow data on {line['model']}, is right on "
                       f"{line['accuracy']:.3f}, the median one on {some['accuracy'].median():.3f}.")  # fmt: skip
    return out


def _copies(results: pd.DataFrame) -> list[str]:
    """Return what rows on both sides leave of the question."""
    lines = select_lines(results, kind="duplicates", fold=0).drop_duplicates("dataset")
    return [f"{TITLES[line['dataset']]}, first fold: {line['sentence']}" for line in lines.to_dict("records")]


def _singles(average: pd.DataFrame) -> list[str]:
    """Return what attacks find out of rows that have no like, beside what they find out of all."""
    out = []
    for dataset, title in TITLES.items():
        some = select_lines(average, dataset=dataset, test_set=SINGLE, shadow="noise")
        some = some[some["model"].isin(("RF", *EXPLAINERS)) & some["attack"].isin(TELLING)]
        parts = []
        for (attack, model), one in some.groupby(["attack", "model"], sort=False):
            line = one.sort_values("part").iloc[-1]  # of both, the reference has the same rows
            whole = select_lines(average, dataset=dataset, test_set=PAPER, shadow="noise", attack=str(attack),
                           model=str(model), part=str(line["part"]))  # fmt: skip
            parts.append(f"{attack} on {model} AUC {line['auc']:.3f} ({line['auc_low']:.3f} to {line['auc_high']:.3f}; "
                         f"all rows {whole['auc'].iloc[0]:.3f})")  # fmt: skip
        if parts:
            rows = some[["members", "others"]].mean()
            out.append(f"{title}, rows that occur once ({rows['members']:.0f} trained on, {rows['others']:.0f} not): "
                       f"{'; '.join(parts)}.")  # fmt: skip
    return out


def _faithful(results: pd.DataFrame) -> list[str]:
    """Return accuracy and fidelity of TREPAN apart."""
    out = []
    for dataset, title in TITLES.items():
        found = {}
        for name in ("RF", *EXPLAINERS):
            case = {"kind": "performance", "part": "global", "dataset": dataset, "model": name}
            lines = select_lines(results, **case)
            if len(lines):
                found[name] = lines[["test_accuracy", "test_fidelity"]].astype(float).mean()
        if len(found) > 1 and "RF" in found:
            parts = [f"{name} accuracy {one['test_accuracy']:.3f}, fidelity {one['test_fidelity']:.3f}"
                     for name, one in found.items() if name != "RF"]  # fmt: skip
            out.append(f"{title}, other rows: RF accuracy {found['RF']['test_accuracy']:.3f}; {'; '.join(parts)}.")
    return out


def _references(results: pd.DataFrame) -> list[str]:
    """Return what LiRA finds where the other attacks find little."""
    out = []
    for dataset, title in TITLES.items():
        some = select_lines(results, kind="attack", part="reference", dataset=dataset, test_set=PAPER)
        parts = []
        for name in dict.fromkeys(some["attack"].tolist()):
            one = some[some["attack"] == name]
            auc, rates = (
                fold_mean(one["auc"].tolist()),
                one[["tpr_at_001", "tpr_at_01", "tpr_at_01_low", "tpr_at_01_high"]].mean(),
            )
            parts.append(TEXTS.say("references", name=name, auc=auc, rates=rates))  # fmt: skip
        if parts:
            others = int(some["others"].iloc[0])
            out.append(f"{title}, RF, all rows (others: {others:,}; 0.1 % of them allow {others // 1000} false "
                       f"positives): {'; '.join(parts)}.")  # fmt: skip
    return out


def _guessed(results: pd.DataFrame) -> list[str]:
    """Return whether a model helps to guess a column beyond imputation without it."""
    table = attributes(results)
    out = []
    for title in TITLES.values() if len(table) else ():
        lines = table[table["dataset"] == title].to_dict("records")
        ways = {line["way"]: line for line in lines}
        if not {IMPUTED, AGREEMENT, BOTH} <= set(ways):
            continue
        plain, agreed, best = ways[IMPUTED], ways[AGREEMENT], ways[BOTH]
        helps = "adds" if best["gain_low"] > 0 else "takes off" if best["gain_high"] < 0 else "adds nothing clear:"
        out.append(TEXTS.say("guessed", title=title, plain=plain, agreed=agreed, best=best, helps=helps))  # fmt: skip
    return out


def _locals_(average: pd.DataFrame) -> list[str]:
    """Return recall and AUC of local ensembles by the number of explained records."""
    out = []
    for dataset, title in TITLES.items():
        some = select_lines(average, dataset=dataset, part="local", model="LORE-RF", test_set=PAPER)
        some = some.sort_values("explanations", kind="stable")
        parts = []
        for (attack, shadow), one in some.groupby(["attack", "shadow"], sort=False):
            recall, auc = ("/".join(f"{v:.2f}" for v in one[name]) for name in ("recall", "auc"))
            parts.append(f"{attack} ({shadow}) recall {recall}, AUC {auc}")
        if parts:
            steps = "/".join(f"{n:.0f}" for n in sorted(set(some["explanations"])))
            out.append(f"{title}, ensembles on LORE of RF at {steps} explained records: {'; '.join(parts)}.")
    return out


def _refusals(results: pd.DataFrame) -> list[str]:
    """Return which attacks do not apply to whole targets, and why."""
    lines = results[(results["kind"] == "refused") & results["part"].isin(["global"])]
    out = []
    for (attack, dataset, reason), some in lines.groupby(["attack", "dataset", "reason"], sort=False):
        models = ", ".join(dict.fromkeys(some["model"].tolist()))
        out.append(f"{TITLES[str(dataset)]}: {attack} does not apply to {models}: {reason}.")
    return out


def _arithmetic() -> list[str]:
    """Return how many of the paper's cells do not follow from their neighbours."""
    table = recomputed_cells()
    wrong = table[~table["possible"]]
    far = wrong.assign(off=(wrong["printed"] - wrong["recomputed"]).abs()).sort_values("off").to_dict("records")[-1]
    return [
        f"Of {len(table)} cells of the paper held against their neighbours {len(wrong)} cannot come from them by "
        f"rounding; the farthest: Table {far['table']}, {far['data']}, {far['attack']} on {far['target']}, "
        f"{far['figure']} {far['recomputed']:.2f} printed {far['printed']:.2f}. Counted {COUNTED}. Also: "
        f"{'; '.join(OTHERS)}."
    ]


def _trials(average: pd.DataFrame) -> list[str]:
    """Return how far a first trial's figures are from ours."""
    table = trial(average)
    if not len(table):
        return []
    recall, auc = ((table[f"{name}_trial"] - table[name]).abs().max() for name in ("recall", "auc"))
    return [f"A first trial on Adult (80/20, {len(table)} of its targets): recalls differ by at most {recall:.2f} from "
            f"ours (67/33), AUCs by at most {auc:.3f}."]  # fmt: skip


MODELS = ("DT", "RF", "NN", "TREPAN-RF", "TREPAN-NN", "enriched-RF", "enriched-NN", "LORE-RF", "LORE-NN",
          "merged LORE-RF", "merged LORE-NN")  # fmt: skip
GLOBAL = MODELS[:7]
RANKED = {"recall": "recall, as in the paper", "auc": "AUC"}


def findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the tables, figures and sentences of all results that are there."""
    whole = complete(results)
    average = means(whole)
    ranked = _rankings(average)
    figures = [_by_fpr(average), _gains(average), _curves(whole), local(average), ranks(ranked)]
    found = tables(whole, average)
    if ranked:
        found.append(TEXTS.table("ranks", _rank_table(ranked)))  # fmt: skip
    return ExperimentFindings(found, [one for one in figures if one.panels], _sentences(whole, average, ranked))


def _panels(average: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the attacks of each data set that is there, on the paper's test set."""
    some = average[(average["test_set"] == PAPER) & (average["part"] != "reference") & (average["attack"] != ALWAYS)]
    parts = [(f"{title}, {ROWS_OF[dataset]}", some[some["dataset"] == dataset]) for dataset, title in TITLES.items()]
    return [(title, part) for title, part in parts if len(part)]


def _by_fpr(average: pd.DataFrame) -> PanelFigure:
    """Return recall against the false positive rate: a point per attack, targets by colour."""
    found = []
    for title, part in _panels(average):
        lines = [PlotLine(name, some["fpr"].tolist(), some["recall"].tolist(), style="points")
                 for name in MODELS if len(some := part[part["model"] == name])]  # fmt: skip
        chance = PlotLine("no information", [0, 1], [0, 1], style="dashed")
        found.append(Panel(title, "false positive rate", "recall", [*lines, chance]))
    return TEXTS.figure("recall-by-fpr", found)


def _gains(average: pd.DataFrame) -> PanelFigure:
    """Return AUC against the delta of recall: a point per attack on an explainer."""
    found = []
    for title, part in _panels(average):
        there = part[part["delta_recall"].notna()]
        lines = [PlotLine(name, some["delta_recall"].tolist(), some["auc"].tolist(), style="points")
                 for name in MODELS[3:] if len(some := there[there["model"] == name])]  # fmt: skip
        if lines:
            ends = [float(there["delta_recall"].min()), float(there["delta_recall"].max())]
            found.append(
                Panel(title, "delta recall", "AUC", [*lines, PlotLine("chance", ends, [0.5, 0.5], style="dashed")])
            )
    return TEXTS.figure("gain-and-auc", found)


def _curves(results: pd.DataFrame) -> PanelFigure:
    """Return the curves of LiRA and the other attacks on random forests, both axes logarithmic."""
    some = results[results["kind"] == "curve"]
    found = []
    for dataset, title in TITLES.items():
        part = some[some["dataset"] == dataset]
        lines = []
        for name in dict.fromkeys(part["attack"].tolist()):
            mean = part[part["attack"] == name].groupby("fpr")["recall"].mean()
            mean = mean[mean > 0]
            lines.append(PlotLine(name, mean.index.tolist(), mean.tolist(), style="step"))
        if lines:
            ends = [float(part["fpr"].min()), float(part["fpr"].max())]
            lines.append(PlotLine("no information", ends, ends, style="dashed"))
            found.append(
                Panel(
                    f"{title}, {ROWS_OF[dataset]}, RF", "false positive rate", "true positive rate", lines, "log", "log"
                )
            )
    return TEXTS.figure("curves", found)


def local(average: pd.DataFrame) -> PanelFigure:
    """Return recall and AUC of ensembles against the number of explained records."""
    found = []
    for title, part in _panels(average):
        some = part[(part["part"] == "local") & (part["model"] == "LORE-RF")]
        for figure, what in (("recall", "recall"), ("auc", "AUC")):
            lines = [PlotLine(f"{attack}, {shadow}", one["explanations"].tolist(),
                          one[figure].tolist())
                     for (attack, shadow), one in some.groupby(["attack", "shadow"], sort=False)]  # fmt: skip
            if lines:
                found.append(Panel(title, "explained records", what, lines))
    return TEXTS.figure("local", found)


def _rankings(average: pd.DataFrame) -> dict[str, Ranking]:
    """Return the ranks of global targets by recall and by AUC, where enough conditions have all of them."""
    some = select_lines(average, part="global", test_set=PAPER)
    some = some[some["attack"] != ALWAYS]
    found = {}
    for figure in RANKED:
        table = some.pivot_table(index=["dataset", "attack", "shadow"], columns="model", values=figure, sort=False)
        table = table[[name for name in GLOBAL if name in table.columns]]
        if table.shape[1] >= 3 and len(table.dropna()) >= 2:
            found[figure] = critical_difference(table)
    return found


def ranks(ranked: dict[str, Ranking]) -> PanelFigure:
    """Return critical-difference diagrams: targets by mean rank, bars below join those that are not apart."""
    found = []
    for figure, of in ranked.items():
        drawn = Ranks(of.treatments, of.ranks, of.pairs.to_numpy().tolist(), of.critical_difference)
        title = f"by {RANKED[figure]}, {of.blocks} combinations"
        found.append(Panel(title, "", "", ranks=drawn))
    return TEXTS.figure("ranks", found)


def _rank_table(ranked: dict[str, Ranking]) -> pd.DataFrame:
    """Return the mean ranks by both figures."""
    lines: list[Sequence[object]] = [
        (figure, name, rank, of.blocks, of.left_out, of.p, of.critical_difference)
        for figure, of in ranked.items() for name, rank in zip(of.treatments, of.ranks, strict=True)
    ]  # fmt: skip
    columns = ["by", "target", "mean_rank", "conditions", "left_out", "friedman_p", "critical_difference"]
    return pd.DataFrame(lines, columns=columns)
