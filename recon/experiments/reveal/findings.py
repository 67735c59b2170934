"""All that follows from the results: the tables, the figures, and the ranks with their critical differences.

What the results say in words, each figure computed from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from recon.attacks.attribute_guesses import AGREEMENT, BOTH, IMPUTED
from recon.attacks.evaluation import Evaluation, Ranking, critical_difference, meaning, spread
from recon.experiments.drawing import Panel, PanelFigure, PlotLine, Ranks
from recon.experiments.experiment import ExperimentFindings, ResultTable
from recon.experiments.reveal.measuring import ALWAYS, BALANCED, PAPER, ROWS_OF, SINGLE, TITLES
from recon.experiments.reveal.published import COUNTED, LARGEST, NOT_OFFLINE, OTHERS, QUOTED
from recon.experiments.reveal.tables import (
    FIGURES,
    attributes,
    chosen,
    complete,
    means,
    over_folds,
    printed,
    tables,
    trial,
)

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
                some = chosen(results, kind="attack", part="global", **case)["delta_recall"].dropna()
                if len(some):
                    gain, false = spread(some.tolist()), over_folds(results, "delta_fpr", part="global", **case)
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
        some = chosen(average, dataset=dataset, part="global", test_set=PAPER)
        gains = some[some["delta_recall"].notna() & some["attack"].isin(MATRIX)].sort_values("delta_recall")
        plain = [(chosen(gains, attack="mia", shadow="noise", model=name), "") for name in EXPLAINERS]
        for line, largest in [*plain, (gains.iloc[-1:], ", the largest gain")]:
            for one in line.to_dict("records"):
                box = chosen(some, attack=one["attack"], shadow=one["shadow"], model=one["model"].rpartition("-")[2])
                name = f"{title}, {one['attack']} with {one['shadow']} shadow data on {one['model']}{largest}"
                out.append(f"{meaning(name, _evaluation(one), _evaluation(box.to_dict('records')[0]))}.")
    quoted = f"{QUOTED.printed:+.2f} (Table {QUOTED.table}, {QUOTED.data}) is {QUOTED.recomputed:+.2f} recomputed"
    return [*out, f"The paper's largest delta of recall is {LARGEST:+.2f}; its {quoted}."] if out else []


def _always(average: pd.DataFrame) -> list[str]:
    """Return the precision of always saying IN beside the precisions of all attacks."""
    out = []
    for dataset, title in TITLES.items():
        some = chosen(average, dataset=dataset, test_set=PAPER)
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
        some = chosen(average, dataset=dataset, test_set=BALANCED, part="global")
        some = some[some["attack"] != ALWAYS].sort_values("accuracy")
        for line in some.iloc[-1:].to_dict("records"):
            out.append(f"{title}, balanced test set (always IN is right on .500): the most accurate attack, "
                       f"{line['attack']} with {line['shadow']} shadow data on {line['model']}, is right on "
                       f"{line['accuracy']:.3f}, the median one on {some['accuracy'].median():.3f}.")  # fmt: skip
    return out


def _copies(results: pd.DataFrame) -> list[str]:
    """Return what rows on both sides leave of the question."""
    lines = chosen(results, kind="duplicates", fold=0).drop_duplicates("dataset")
    return [f"{TITLES[line['dataset']]}, first fold: {line['sentence']}" for line in lines.to_dict("records")]


def _singles(average: pd.DataFrame) -> list[str]:
    """Return what attacks find out of rows that have no like, beside what they find out of all."""
    out = []
    for dataset, title in TITLES.items():
        some = chosen(average, dataset=dataset, test_set=SINGLE, shadow="noise")
        some = some[some["model"].isin(("RF", *EXPLAINERS)) & some["attack"].isin(TELLING)]
        parts = []
        for (attack, model), one in some.groupby(["attack", "model"], sort=False):
            line = one.sort_values("part").iloc[-1]  # of both, the reference has the same rows
            whole = chosen(average, dataset=dataset, test_set=PAPER, shadow="noise", attack=str(attack),
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
            lines = chosen(results, **case)
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
        some = chosen(results, kind="attack", part="reference", dataset=dataset, test_set=PAPER)
        parts = []
        for name in dict.fromkeys(some["attack"].tolist()):
            one = some[some["attack"] == name]
            auc, rates = (
                spread(one["auc"].tolist()),
                one[["tpr_at_001", "tpr_at_01", "tpr_at_01_low", "tpr_at_01_high"]].mean(),
            )
            parts.append(f"{name} AUC {auc}, true positive rate {rates['tpr_at_001']:.2%} at a false one of 0.1 %, "
                         f"{rates['tpr_at_01']:.2%} ({rates['tpr_at_01_low']:.2%} to {rates['tpr_at_01_high']:.2%}) at "
                         "1 %")  # fmt: skip
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
        out.append(f"{title}, attribute inference of {plain['column']} from a random forest's answers: without the "
                   f"model {plain['members']:.3f} of the training rows are guessed right, by agreement with the label "
                   f"{agreed['members']:.3f} (of other rows {agreed['others']:.3f}), imputed with the model's answers "
                   f"{best['members']:.3f}: the model {helps} {best['gain']:+.3f} ({best['gain_low']:+.3f} to "
                   f"{best['gain_high']:+.3f}).")  # fmt: skip
    return out


def _locals_(average: pd.DataFrame) -> list[str]:
    """Return recall and AUC of local ensembles by the number of explained records."""
    out = []
    for dataset, title in TITLES.items():
        some = chosen(average, dataset=dataset, part="local", model="LORE-RF", test_set=PAPER)
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
    table = printed()
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
        found.append(ResultTable("ranks", _rank_table(ranked),
                                 "Mean ranks (1: most exposed) of global targets over data "
                           "sets, attacks and shadow data, by recall and by AUC, with Friedman's p and Nemenyi's "
                           "critical difference at .05."))  # fmt: skip
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
    about = (
        "Recall against the false positive rate of every attack under all shadow data, means over folds, a colour per "
        "target; on the dashed line an attack knows nothing of membership, whatever its recall."
    )
    return PanelFigure("recall-by-fpr", about, found)


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
    about = (
        "AUC of every attack on an explainer against its gain of recall over the black box (the paper's measure of "
        "exposure), means over folds; dashed: scores that tell nothing."
    )
    return PanelFigure("gain-and-auc", about, found)


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
    about = (
        "True against false positive rates of LiRA (16 shadow models), of the attacks by shadow models (class of the "
        "attack model predicted or true) and by labels on random forests, means over folds; dashed: chance."
    )
    return PanelFigure("curves", about, found)


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
    about = (
        "Recall and AUC of ensembles of attacks on local trees (LORE of RF) against the number of explained records, "
        "means over folds; aloa does not apply to the bits of COMPAS and Adult."
    )
    return PanelFigure("local", about, found)


def _rankings(average: pd.DataFrame) -> dict[str, Ranking]:
    """Return the ranks of global targets by recall and by AUC, where enough conditions have all of them."""
    some = chosen(average, part="global", test_set=PAPER)
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
    about = (
        "Critical-difference diagrams: mean ranks (1: most exposed) of global targets over data sets, attacks and "
        "shadow data, by recall (left) and by AUC (right); bars join targets that Nemenyi's test does not tell apart "
        "at .05; below, the critical difference."
    )
    return PanelFigure("ranks", about, found)


def _rank_table(ranked: dict[str, Ranking]) -> pd.DataFrame:
    """Return the mean ranks by both figures."""
    lines: list[Sequence[object]] = [
        (figure, name, rank, of.blocks, of.left_out, of.p, of.critical_difference)
        for figure, of in ranked.items() for name, rank in zip(of.treatments, of.ranks, strict=True)
    ]  # fmt: skip
    columns = ["by", "target", "mean_rank", "conditions", "left_out", "friedman_p", "critical_difference"]
    return pd.DataFrame(lines, columns=columns)
