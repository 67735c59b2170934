"""The paper's tables with the columns that they leave out: means over folds, deltas, refusals by name."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pandas as pd

from recon.attacks.evaluation import DELTAS, Evaluation, FoldMean, spread
from recon.experiments.experiment import ResultTable
from recon.experiments.reveal.measuring import PAPER, TITLES
from recon.experiments.reveal.published import DELTAS as PRINTED_DELTAS
from recon.experiments.reveal.published import F1, ROUNDING, TRIAL, f1_range

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
        ends = [spread(values.tolist()) for _, values in grouped[name]]
        found[f"{name}_low"], found[f"{name}_high"] = [one.low for one in ends], [one.high for one in ends]
    return found.reset_index()


def over_folds(results: pd.DataFrame, figure: str, **case: str | int) -> FoldMean:
    """Return the mean and t-interval over folds of one figure of one case (columns and their values)."""
    return spread([float(v) for v in chosen(results, **case)[figure]])


def chosen(frame: pd.DataFrame, **case: str | int) -> pd.DataFrame:
    """Return the lines of a frame with these values."""
    keep = np.ones(len(frame), dtype=bool)
    for name, value in case.items():
        keep &= (frame[name] == value).to_numpy()
    return frame[keep]


def tables(results: pd.DataFrame, average: pd.DataFrame) -> list[ResultTable]:
    """Return all tables that have a line."""
    found = [
        ResultTable("table1-performance", _performances(results),
                    "Accuracy (of the true label) and fidelity (of what the "
              "black box says) apart, means over folds; the paper prints one \"performance\". LORE: each local tree "
              "asked about all rows; `local_fidelity`: in its own neighbourhood; `hit`: of the explained record."),
        *(ResultTable(f"table{k}-{part}-{shadow}", _attack_table(results, average, part, shadow),
                f"Attacks on {part} targets, shadow data: {shadow}. {ABOUT}")
          for k, part, shadow in ((2, "global", "noise"), (3, "global", "random"), (4, "local", "noise"),
                                  (5, "local", "random"))),
        ResultTable("statistical", _attack_table(results, average, "global", "statistical"),
              f"Attacks on global targets, shadow data: statistical (for mia only). {ABOUT}"),
        ResultTable("test-sets", _test_sets(average),
                    "The same attacks on a balanced test set (as many training rows as "
              "others), and on rows that occur once among all, whose membership is well defined. Means over folds."),
        ResultTable("reference", _reference(average),
                    "LiRA with 16 shadow models beside the other attacks on one random "
              "forest, all training rows and others. Means over folds."),
        ResultTable("duplicates", _copies(results),
                    "Rows that are both inside and outside; `best_auc`, `best_advantage`: "
              "of an attacker who knows how often each distinct row is inside and outside."),
        ResultTable("attributes", attributes(results),
                    "How often a column is guessed right (RF), training rows and others; "
              "`gain`: on training rows beyond imputation without the model. Means over folds, intervals: means of "
              "the folds' ends."),
        ResultTable("printed", printed(), "Cells of the paper that do not follow from their neighbours. `least`, "
              "`greatest`: what figures that round to the printed ones give; without printed neighbours on hand "
              "`recomputed` is what was noted when the paper was read."),
        ResultTable("first-trial", trial(average),
                    "A first trial on 12,000 rows of Adult (four training rows to one other) "
              "beside ours; its TREPAN-like tree is our tree on enriched data."),
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


def _test_sets(average: pd.DataFrame) -> pd.DataFrame:
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


def _copies(results: pd.DataFrame) -> pd.DataFrame:
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


def printed() -> pd.DataFrame:
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
        ours = chosen(average, dataset="adult24", part="global", attack="mia", shadow=shadow, test_set=PAPER,
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
