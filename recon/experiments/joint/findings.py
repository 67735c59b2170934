"""What the results of the four questions say: tables, figures and sentences of correlations and explanations.

What the results say about membership: certificates beside attacks, without noise and with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from recon.attacks.attacking.correlations import DEFINITE, DISCRETE, WORLDS
from recon.attacks.correlation.model_less import bin_of, exact_accuracy
from recon.experiments.drawing import Panel, PanelFigure, PlotLine
from recon.experiments.experiment import ExperimentFindings, ResultTable
from recon.experiments.joint.releases import LEARNERS
from recon.experiments.splits import NAMES

BASELINE = "always in"
NO_NOISE = 100.0  # where the axis of epsilon shows counts without noise
NAMED = {NO_NOISE: "no noise"}
ONCE = ("members_in_once", "others_out_once", "auc_once")
SHARES = ("members_in", "others_out", "coverage", "auc", *ONCE)
SUMS = ("verdicts", "errors", "others_in", "members_once", "others_once", "others_in_once", "settled_rows",
        "certificates", "unknown")  # fmt: skip
MAYBE = ("v", "v_authors", "fidelity", *SUMS, *ONCE)  # columns that small results lack
RATES = ["auc", "auc_low", "auc_high", "recall", "fpr", "advantage", "tpr_at_001", "tpr_at_001_low", "tpr_at_001_high",
         "tpr_at_01", "tpr_at_01_low", "tpr_at_01_high"]  # fmt: skip


def _memberships(some: pd.DataFrame) -> ExperimentFindings:
    """Return what certificates prove and attacks guess of the same rows."""
    keys = ["dataset", "learner"]
    some = some.reindex(columns=[*some.columns, *(n for n in MAYBE if n not in some)])
    proved = some[some["what"] == "certificates"]
    guessed = some[(some["what"] == "attack") & (some["attack"] != BASELINE)]
    certificates = proved.groupby([*keys, "counted"], as_index=False, sort=False).agg(
        **{name: (name, "mean") for name in SHARES}, **{name: (name, "sum") for name in SUMS}
    )
    certificates.insert(5, "undetermined", 1 - certificates["coverage"])
    attacks = guessed.groupby([*keys, "attack", "shadow", "asked_rows"], as_index=False, sort=False)[
        [*RATES, "members", "others"]
    ].mean()
    whole = _overview(some, certificates, attacks)
    tables = [
        ResultTable("membership", whole, "The same rows (2,000 members and 1,800 others), means over splits. "
              "Over true attributes: shares proved in and out, left open, verdicts of which the opposite is true. The "
              "attacks: AUC from and to, and the greatest TPR at FPR 0.1 % and 1 % of any attack and shadow data. "
              "`once`: rows that occur once among all, whose membership is well defined; of these `members_in_once` "
              "is the TPR of certificates at FPR 0. V (Yaghini et al. 2022) of rule lists by its formula and as the "
              "authors' code has it; `both_sides`: rows whose like is on the other side too; `best_auc`: of the best "
              "score that depends on the row alone."),
        ResultTable("certificates", certificates, "Certificates by domain: every column an independent bit, or the "
              "attributes behind the columns. Means over splits of shares, sums of rows; `others_in`: others proved in "
              "by value, because a training row is the same; `auc`: of the verdicts as scores; `once`: rows that occur "
              "once; `certificates` of `settled_rows` verdicts on distinct rows came with a certificate, verified."),
        ResultTable("attacks", attacks,
                    "Attacks on the released models, means over splits; AUC with DeLong's, TPR with "
              "Clopper-Pearson intervals (95 %); rows: all, as many members as others, or those that occur once among "
              "all. Of fewer than 1,000 (100) others no false positive is allowed at 0.1 % (1 %)."),
    ]  # fmt: skip
    return ExperimentFindings(tables, [_coverage_figure(whole)], _membership_sentences(some, certificates, attacks))


def _overview(some: pd.DataFrame, certificates: pd.DataFrame, attacks: pd.DataFrame) -> pd.DataFrame:
    """Return a line per data set and learner: certificates over true attributes, attacks, and V."""
    keys = ["dataset", "learner"]
    means = ["leaves", "accuracy_members", "accuracy_others", "fidelity", "v", "v_authors", "both_sides", "best_auc"]
    models = some[some["what"] == "model"]
    models = models.astype(dict.fromkeys(means, float)).groupby(keys, as_index=False, sort=False)[means].mean()
    true = certificates[certificates["counted"] == "attributes"]
    true = true[[*keys, "members_in", "others_out", "undetermined", "errors", *ONCE]]
    whole = models.merge(true.rename(columns={"auc_once": "auc_once_proved"}), on=keys, how="left")
    for rows, end in (("all", ""), ("once", "_once")):
        lines = attacks[attacks["asked_rows"] == rows].groupby(keys, as_index=False, sort=False).agg(
            **{f"auc_least{end}": ("auc", "min"), f"auc_most{end}": ("auc", "max"),
               f"tpr_at_001{end}": ("tpr_at_001", "max"), f"tpr_at_01{end}": ("tpr_at_01", "max")}
        )  # fmt: skip
        whole = whole.merge(lines, on=keys, how="left")
    order = {name: k for k, name in enumerate((*NAMES, *LEARNERS))}
    return whole.sort_values(keys, key=lambda names: names.map(order), ignore_index=True)


def _coverage_figure(whole: pd.DataFrame) -> PanelFigure:
    """Return certificates against attacks on rows that occur once: AUC of verdicts against the best attack's."""
    panels = []
    for dataset, part in whole.groupby("dataset", sort=False):
        known = part.dropna(subset=["auc_most_once", "auc_once_proved"])
        lines = [PlotLine(one["learner"], [one["auc_most_once"]], [one["auc_once_proved"]], style="points")
                 for one in known.to_dict("records")]  # fmt: skip
        ends = [0.45, 0.75]
        lines.append(PlotLine("as good as the best attack", ends, ends, style="dashed"))
        name = f"{NAMES[str(dataset)]}, 3,600 training rows"
        panels.append(Panel(f"{name}, those that occur once", "AUC of the best attack", "AUC of the verdicts", lines))
        lines = [PlotLine(one["learner"], [one["auc_most"]], [1 - one["undetermined"]], style="points")
                 for one in part.to_dict("records")]  # fmt: skip
        panels.append(Panel(f"{name}, all", "AUC of the best attack", "share settled by proof", lines))
    about = (
        "Left: AUC of certificates as scores (proved in, open, proved out; true attributes) against the greatest AUC "
        "of an attack on the same rows and model, of rows that occur once. Right: share of all rows asked about that "
        "certificates settle. Means over splits."
    )
    return PanelFigure("membership", about, panels)


def _membership_sentences(some: pd.DataFrame, certificates: pd.DataFrame, attacks: pd.DataFrame) -> list[str]:
    """Return what certificates prove without error, what attacks reach, and which were refused."""
    errors, settled = int(certificates["errors"].sum()), int(certificates["settled_rows"].sum())
    held = int(certificates["certificates"].sum())
    out = [
        f"Membership: of {settled:,} verdicts that settle a distinct row, {errors:,} are wrong; {held:,} of them came "
        f"with a certificate that was verified."
    ]
    for dataset, part in certificates.groupby("dataset", sort=False):
        name = NAMES[str(dataset)]
        best = part.sort_values("coverage").to_dict("records")[-1]
        settling = set(part.loc[part["coverage"] > 0, "learner"])
        nothing = [learner for learner in LEARNERS if learner in set(part["learner"]) - settling]
        out.append(
            f"Membership, {name}: most is settled by the {best['learner']} ({best['counted']}): "
            f"{best['members_in']:.1%} of the members proved in, {best['others_out']:.1%} of the others proved out, "
            f"{best['undetermined']:.1%} undetermined; nothing by {', '.join(nothing) or 'none'}."
        )
        for rows, words in (("all", "all rows"), ("once", "rows that occur once")):
            own = attacks[(attacks["dataset"] == dataset) & (attacks["asked_rows"] == rows)]
            if len(own):
                out.append(f"Membership, {name}, {words}: {_attacks_reach(own)}{_proofs_reach(part, rows)}.")
    refused = some[some["what"] == "refused"]
    for attack, part in refused.groupby("attack", sort=False):
        reason = str(part["note"].iloc[0]).partition(":")[0]
        out.append(f"Membership: {attack} was refused {len(part)} times and not run: {reason}.")
    if some["v"].notna().any():
        v = some["v"].dropna()
        out.append(
            f"Membership: V of the rule lists lies between {v.min():.3f} and {v.max():.3f} (1/2: nothing to guess); it "
            "bounds guesses by the rule and the label that a row falls under, not certificates."
        )
    return out


def _attacks_reach(own: pd.DataFrame) -> str:
    """Return in words what the attacks on some rows reach."""
    blind = int(((own["auc_low"] <= 0.5) & (own["auc_high"] >= 0.5)).sum())
    top = own.sort_values("auc").to_dict("records")[-1]
    strict = own.sort_values("tpr_at_001").to_dict("records")[-1]
    return (
        f"attacks' AUC lies between {own['auc'].min():.3f} and {top['auc']:.3f} ({top['attack']}, {top['learner']}), "
        f"{blind} of {len(own)} mean intervals hold .5; the greatest TPR at FPR 0.1 % is {strict['tpr_at_001']:.1%} "
        f"({strict['attack']}, {strict['learner']})"
    )


def _proofs_reach(part: pd.DataFrame, rows: str) -> str:
    """Return in words what certificates reach on rows that occur once; nothing for all rows."""
    known = part.dropna(subset=["auc_once"])
    if rows != "once" or not len(known):
        return ""
    top = known.sort_values("auc_once").to_dict("records")[-1]
    return (
        f"; certificates have an AUC of {top['auc_once']:.3f} ({top['learner']}, {top['counted']}): "
        f"{top['members_in_once']:.1%} of the members in and {top['others_out_once']:.1%} of the others out, "
        f"{int(top['others_in_once'])} of them wrongly in"
    )


def _noise(some: pd.DataFrame) -> ExperimentFindings:
    """Return certificates, bits, accuracy and AUC against epsilon."""
    keys = ["dataset", "learner", "epsilon"]
    some = some.reindex(columns=[*some.columns, *(n for n in PERHAPS if n not in some)])
    covered = some["covered"].astype(bool)
    some = some.assign(errors_inside=some["errors"].where(covered), errors_beyond=some["errors"].where(~covered))
    table = some.groupby(keys, as_index=False, sort=False).agg(
        draws=("draw", "size"), rows=("rows", "first"), counts=("counts", "first"),
        covered=("covered", lambda v: int(v.astype(bool).sum())),
        members_in=("members_in", "mean"), others_out=("others_out", "mean"), coverage=("coverage", "mean"),
        errors_inside=("errors_inside", "sum"), errors_beyond=("errors_beyond", "sum"),
        removed_posterior=("removed_posterior", "mean"), removed_confidence=("removed_confidence", "mean"),
        accuracy_members=("accuracy_members", "mean"), accuracy_others=("accuracy_others", "mean"),
        **{name: (name, "mean") for name in ("auc_mia", "auc_low_mia", "auc_high_mia", "auc_label_only",
                                             "auc_low_label_only", "auc_high_label_only")},
    ).sort_values(keys, ignore_index=True)  # fmt: skip
    about = (
        "Discrete Laplace noise of each epsilon on the released counts (0: none), means over draws and splits: draws "
        "whose joint 95 % intervals hold the true counts, rows proved in and out at that confidence, wrong verdicts in "
        "covered draws and in the others, bits removed per row (posterior, prior on counts; and for certain at the "
        "confidence), accuracy on members and others, AUC of attacks on the noisy release ('noise' shadow data)."
    )
    return ExperimentFindings([ResultTable("noise", table, about)], [_noise_figure(table)], _noise_sentences(table))


PERHAPS = ("errors", "coverage", "members_in", "others_out", "removed_confidence", "auc_mia", "auc_low_mia",
           "auc_high_mia", "auc_label_only", "auc_low_label_only", "auc_high_label_only")  # fmt: skip
MEMBERSHIP_FINDINGS_DRAWN = {"settled by proof": "coverage", "accuracy on others": "accuracy_others",
                             "AUC of mia": "auc_mia",
         "AUC of label-only": "auc_label_only"}  # fmt: skip


def _noise_figure(table: pd.DataFrame) -> PanelFigure:
    """Return shares against epsilon and bits against epsilon, a panel each per data set and learner."""
    panels = []
    for (dataset, learner), part in table.groupby(["dataset", "learner"], sort=False):
        placed = part.assign(at=part["epsilon"].where(part["epsilon"] > 0, NO_NOISE)).sort_values("at")
        x = placed["at"].tolist()
        lines = [
            PlotLine(label, x, placed[name].tolist())
            for label, name in MEMBERSHIP_FINDINGS_DRAWN.items()
            if placed[name].notna().any()
        ]
        title = f"{NAMES[str(dataset)]}, {learner}, {int(part['rows'].iloc[0]):,} rows"
        panels.append(Panel(title, "epsilon", "share of rows, accuracy, AUC", lines, "log", names=NAMED))
        shown = (("posterior", "removed_posterior"), ("at confidence 95 %", "removed_confidence"))
        bits = [PlotLine(label, x, placed[name].tolist()) for label, name in shown]
        panels.append(Panel(title, "epsilon", "bits removed per row", bits, "log", names=NAMED))
    about = (
        "Against epsilon of discrete Laplace noise on the released counts (on the right without noise): rows "
        "settled by proof (at confidence 95 %), accuracy, AUC of two attacks; bits removed per row. Means over draws "
        "and splits."
    )
    return PanelFigure("noise", about, panels)


def _noise_sentences(table: pd.DataFrame) -> list[str]:
    """Return what noise takes from certificates, attacks and accuracy, and when verdicts were wrong."""
    inside, beyond = int(table["errors_inside"].sum()), int(table["errors_beyond"].sum())
    noisy = table[table["epsilon"] > 0]
    draws, covered = int(noisy["draws"].sum()), int(noisy["covered"].sum())
    out = [
        f"Noise: of {draws:,} draws {covered:,} lie inside their joint 95 % intervals; verdicts were wrong for "
        f"{inside:,} rows in these and for {beyond:,} rows in the others."
    ]
    for (dataset, learner), part in table.groupby(["dataset", "learner"], sort=False):
        lines = {line["epsilon"]: line for line in part.to_dict("records")}
        shown = "; ".join(_at_epsilon(e, lines[e]) for e in sorted(lines, key=lambda e: -(e or math.inf)))
        out.append(f"Noise, {NAMES[str(dataset)]}, {learner}: {shown}.")
    return out


def _at_epsilon(epsilon: float, line: dict[Any, Any]) -> str:
    """Return in words what there is at one epsilon."""
    name = f"epsilon {epsilon:g}" if epsilon else "no noise"
    aucs = ", ".join(f"{line[column]:.3f}" for column in ("auc_mia", "auc_label_only") if line[column] == line[column])
    return (
        f"{name}: {line['coverage']:.1%} of rows settled, {line['removed_confidence']:.2f} bits removed for certain, "
        f"accuracy {line['accuracy_others']:.3f}, AUC {aucs or 'of no attack'}"
    )


NOISE = ("noise epsilon=10", "noise epsilon=1", "noise epsilon=0.1")
ATTACKERS = (DEFINITE, DISCRETE, *NOISE[::-1], WORLDS)
SKETCHED = dict(zip((DEFINITE, DISCRETE, WORLDS, *NOISE), (1.887, 0.913, 0.506, 0.507, 0.517, 0.614), strict=True))
ROUNDING = 1e-9
DRAWN = "greedy rule list, 4 rules, width 1"
MODEL = ["dataset", "columns", "model", "counted"]


def findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the tables, figures and sentences of all questions that have results."""
    found = []
    for question, of in QUESTIONS.items():
        some = results[results["question"] == question]
        if len(some):
            found.append(of(some.reset_index(drop=True)))
    return ExperimentFindings(
        [table for one in found for table in one.tables if len(table.frame)],
        [figure for one in found for figure in one.figures if figure.panels],
        [sentence for one in found for sentence in one.sentences],
    )


def _model_names(some: pd.DataFrame) -> list[str]:
    """Return what each line's model is called: its learner and size."""
    return [_model_name(line) for line in some.to_dict("records")]


def _model_name(line: dict[Any, Any]) -> str:
    """Return what a line's model is called."""
    size = f"{line['rules']:.0f} rules" if "list" in line["learner"] else f"depth {line['depth']:.0f}"
    width = f", width {line['width']:.0f}" if line["learner"] == "greedy rule list" else ""
    return f"{line['learner']}, {size}{width}"


def _correlations(some: pd.DataFrame) -> ExperimentFindings:
    """Return how wide the attackers' intervals are, whether they hold the truth, and what they say of its bin."""
    some = some.assign(model=_model_names(some))
    table = _widths(some)
    about = (
        "Intervals of correlations by attacker, each knowing what the one before knows (see the page): columns that "
        "the model tests, pairs of them, mean width, shares of intervals that hold the truth, that are exact (both "
        "ends attained), whose bin (negative, low, positive) is the true one, that lie in one bin. `covered`: draws of "
        "noise inside their joint 95 % intervals. `columns` four: those of the sketch, tested or not."
    )
    tables = [ResultTable("correlations", table, about)]
    sketch = table[table["columns"] == "four"]
    if len(sketch):
        wide = sketch.assign(sketch=sketch["attacker"].map(SKETCHED))
        wide = wide.pivot_table(index=["attacker", "sketch"], columns=["counted", "model"], values="width", sort=False)
        wide.columns = pd.Index([": ".join(map(str, pair)) for pair in wide.columns])
        said = (
            "Mean width over the six pairs of the sketch's four columns of COMPAS: the sketch (a list of four rules "
            "that it does not print) and greedy lists on these columns."
        )
        tables.append(ResultTable("correlations-sketch", wide.reset_index(), said))
    return ExperimentFindings(tables, [_width_figure(table)], _correlation_sentences(some, table))


def _widths(some: pd.DataFrame) -> pd.DataFrame:
    """Return a line per model, way of counting and attacker; means over pairs and draws."""
    out = []
    for key, part in some.groupby(MODEL, sort=False):
        for attacker in ATTACKERS:
            lines = part[part["attacker"] == attacker]
            if not len(lines):
                continue
            by_draw = lines.drop_duplicates("draw")["covered"].dropna()
            out.append(dict(zip(MODEL, key, strict=True)) | {
                "attacker": attacker, "columns_used": int(lines["columns_used"].iloc[0]),
                "rows": int(lines["rows"].iloc[0]),
                "pairs": len(lines.drop_duplicates(["first", "second"])), "width": lines["interval"].mean(),
                "holds": lines["holds"].astype(float).mean(), "exact": (lines["status"] == "exact").mean(),
                "bin_right": lines["bin_right"].astype(float).mean(),
                "bin_sure": lines["bin_sure"].astype(float).mean(), "draws": lines["draw"].nunique(),
                "covered": int(by_draw.astype(bool).sum()) if len(by_draw) else None,
            })  # fmt: skip
    return pd.DataFrame(out)


def _width_figure(table: pd.DataFrame) -> PanelFigure:
    """Return mean widths against epsilon, the attackers without noise dashed."""
    panels = []
    wanted = table[(table["columns"] == "used") & table["model"].str.startswith(DRAWN)]
    for (dataset, counted, model), part in wanted.groupby(["dataset", "counted", "model"], sort=False):
        by = part.set_index("attacker")["width"]
        noisy = [name for name in NOISE if name in by]
        x = [float(name.split("=")[1]) for name in noisy]
        lines = [
            PlotLine(n, x, [float(by[n])] * len(x), style="dashed") for n in (DEFINITE, DISCRETE, WORLDS) if n in by
        ]
        lines.append(PlotLine("worlds under noise", x, [float(by[name]) for name in noisy]))
        name = f"{NAMES[str(dataset)]}, {int(part['rows'].iloc[0]):,} rows"
        title = f"{name}, {counted}: {str(model).partition(', width')[0]}"
        panels.append(Panel(title, "epsilon", "mean width", lines, "log"))
    about = (
        "Mean width of the interval of the correlation of two columns that a released model tests, by what the "
        "attacker knows; below: worlds under discrete Laplace noise of each epsilon, joint confidence 95 %. 2: nothing "
        "is known."
    )
    return PanelFigure("correlations", about, panels)


def _correlation_sentences(some: pd.DataFrame, table: pd.DataFrame) -> list[str]:
    """Return whether the truth is held, whether intervals are nested, how wide they are, and what they say of bins."""
    sure, noisy = some[some["confidence"] == 1], some[some["confidence"] < 1]
    inside = noisy[noisy["covered"].astype(bool)]
    nested, pairs, other = _nesting(some)
    out = [
        f"Correlations: the true one lies in {int(sure['holds'].sum()):,} of {len(sure):,} intervals without noise, in "
        f"{int(inside['holds'].sum()):,} of {len(inside):,} of draws whose noise lies inside its joint 95 % intervals "
        f"and in {int(noisy['holds'].sum()):,} of all {len(noisy):,} with noise.",
        f"Correlations: with each attacker's interval inside that of the one who knows less (positive definite, exact "
        f"discrete, worlds under noise, worlds) {nested:,} of {pairs:,} chains of a pair and a draw are nested; "
        f"of draws whose noise lies outside its joint intervals, about which nothing follows, there are {other:,}.",
    ]
    lists = table[(table["columns"] == "used") & table["model"].str.contains("list")]
    for (dataset, counted), part in lists.groupby(["dataset", "counted"], sort=False):
        by = part.groupby("attacker")["width"].mean()
        shown = ", ".join(f"{name} {by[name]:.3f}" for name in ATTACKERS if name in by)
        where = f"{NAMES[str(dataset)]}, rule lists, {counted!s}"
        out.append(f"Correlations, {where}: mean width {shown}.")
    used = some[some["columns"] == "used"].astype({"bin_right": float, "bin_sure": float})
    rates: dict[Any, dict[Any, Any]] = used.groupby("attacker")[["bin_right", "bin_sure"]].mean().to_dict("index")
    said = [f"{name} {rates[name]['bin_right']:.0%} right, {rates[name]['bin_sure']:.0%} for certain"
            for name in (DEFINITE, DISCRETE, WORLDS) if name in rates]  # fmt: skip
    if said:
        truths = used.drop_duplicates(["first", "second", *MODEL])["truth"].to_numpy(dtype=np.float64)
        commonest = np.bincount(bin_of(truths)).max() / len(truths)
        out.append(
            f"Bins (negative, low, positive) of the columns that models test: {'; '.join(said)}; on the uniform grid "
            f"of the literature the first of them is right in {exact_accuracy(side=400):.1%}. Here the commonest bin "
            f"alone is right in {commonest:.0%}."
        )
    return [*out, *_sketch_sentences(table)]


def _nesting(some: pd.DataFrame) -> tuple[int, int, int]:
    """Return how many chains (a pair, a draw, an epsilon) are nested, of how many, and draws left out.

    A draw whose noise lies outside its joint intervals is left out: it need not hold what exact counts leave.
    """
    keys = [*MODEL, "first", "second"]
    ends = {name: some[some["attacker"] == name].set_index(keys)[["low", "high"]] for name in
            (DEFINITE, DISCRETE, WORLDS)}  # fmt: skip
    nested = total = other = 0
    for _, part in some[some["attacker"].isin(NOISE)].groupby(["attacker", "draw"]):
        covered = part["covered"].astype(bool)
        other += int(part.loc[~covered].groupby(MODEL).ngroups)
        lines = part[covered].set_index(keys)[["low", "high"]]
        chain = [ends[DEFINITE].loc[lines.index], ends[DISCRETE].loc[lines.index], lines, ends[WORLDS].loc[lines.index]]
        good = np.ones(len(lines), dtype=bool)
        for outer, inner in pairwise(chain):
            good &= (outer["low"].to_numpy() <= inner["low"].to_numpy() + ROUNDING) & (
                inner["high"].to_numpy() <= outer["high"].to_numpy() + ROUNDING
            )
        nested, total = nested + int(good.sum()), total + len(lines)
    return nested, total, other


def _sketch_sentences(table: pd.DataFrame) -> list[str]:
    """Return our widths on the sketch's columns beside the sketch's."""
    some = table[(table["columns"] == "four") & (table["counted"] == "bits")]
    out = []
    for model, part in some.groupby("model", sort=False):
        by = part.set_index("attacker")["width"]
        shown = ", ".join(f"{name} {by[name]:.3f} ({SKETCHED[name]:.3f})" for name in ATTACKERS if name in by)
        out.append(
            f"Correlations on the sketch's four columns of COMPAS ({model}; the sketch's list is not printed): {shown}."
        )
    return out


def _explanations(some: pd.DataFrame) -> ExperimentFindings:
    """Return how many bits explanations with their counts take away, beside REVEAL's difference of recalls."""
    shown = ["dataset", "rows", "what", "explained", "statements", "distinct", "before_per_row", "removed_low",
             "removed_high", "exact", "engine", "recall_black_box", "recall_explainer", "delta_recall",
             "fpr_black_box", "fpr_explainer", "auc_black_box", "auc_explainer", "fidelity"]  # fmt: skip
    table = some.reindex(columns=shown).sort_values(shown[:4], ignore_index=True)
    table = table.astype(dict.fromkeys(["rows", "explained", "statements", "distinct"], int))
    about = (
        "Explanations of a forest of 100 trees, released with the numbers of training rows per class that meet each "
        "rule (LORE: `statements` different rules of so many explained records; TREPAN: leaves of one tree): bits "
        "removed of `before_per_row` per row (rows in order, true attributes), exact or between rigorous bounds; "
        "beside them Shokri's attack on the forest and on its explainers (local ones: the ensemble), shadow data "
        "'noise'."
    )
    panels = []
    for dataset, part in table.groupby("dataset", sort=False):
        lines = []
        for rows, of in part[part["what"] == "LORE"].groupby("rows"):
            low, high = of["removed_low"].tolist(), of["removed_high"].tolist()
            lines.append(
                PlotLine(f"{rows} rows", of["explained"].tolist(), low, low, high, [not e for e in of["exact"]])
            )
        for rows, of in part[part["what"] == "TREPAN"].groupby("rows"):
            x = [0.0, float(part["explained"].max())]
            lines.append(PlotLine(f"TREPAN, {rows} rows", x, [float(of["removed_low"].iloc[0])] * 2, style="dashed",
                              like=f"{rows} rows"))  # fmt: skip
        title = f"{NAMES[str(dataset)]}, {' and '.join(map(str, sorted(set(part['rows']))))} rows"
        panels.append(Panel(title, "explained records", "bits removed per row", lines))
        recall = [PlotLine(f"{rows} rows", of["explained"].tolist(), of["delta_recall"].tolist())
                  for rows, of in part[part["what"] == "LORE"].groupby("rows")]  # fmt: skip
        panels.append(Panel(title, "explained records", "delta recall", recall))
    drawn = (
        "Left: bits removed per training row by local explanations with their counts, at least (band: and at most), "
        "dashed: by TREPAN's tree. Right: REVEAL's delta recall of the ensemble of attacks on the same surrogates."
    )
    return ExperimentFindings([ResultTable("explanations", table, about)], [PanelFigure("explanations", drawn, panels)],
                    _explanation_sentences(table))  # fmt: skip


def _explanation_sentences(table: pd.DataFrame) -> list[str]:
    """Return per data set and number of rows what explanations take away, and what the difference of recalls says."""
    out = []
    for (dataset, rows), part in table.groupby(["dataset", "rows"], sort=False):
        shown = "; ".join(_amount(line) for line in part.to_dict("records"))
        out.append(
            f"Explanations, {NAMES[str(dataset)]}, a forest of {rows} rows, of {part['before_per_row'].iloc[0]:.2f} "
            f"bits per row: {shown}."
        )
    known = table.dropna(subset=["delta_recall"])
    if len(known):
        local = known[known["what"] == "LORE"]
        spread = ", ".join(f"{what} {part['delta_recall'].min():+.2f} to {part['delta_recall'].max():+.2f}"
                           for what, part in known.groupby("what"))  # fmt: skip
        out.append(
            f"Explanations: delta recall of the same surrogates is {spread}, their AUC "
            f"{known['auc_explainer'].min():.3f} to {known['auc_explainer'].max():.3f} (the forests' "
            f"{known['auc_black_box'].min():.3f} to {known['auc_black_box'].max():.3f}): "
            f"it {_agreement(local)} as more explanations take more bits away."
        )
    return out


def _amount(line: dict[Any, Any]) -> str:
    """Return in words what one set of explanations takes away."""
    what = "TREPAN's tree" if line["what"] == "TREPAN" else f"{line['explained']} explanations"
    low, high = line["removed_low"], line["removed_high"]
    return f"{what} remove{'s' if what.startswith('T') else ''} " + (
        f"{low:.2f}" if line["exact"] else f"{low:.2f} to {high:.2f}"
    )


def _agreement(local: pd.DataFrame) -> str:
    """Return whether the difference of recalls grows with the number of explanations."""
    steps = [np.diff(part.sort_values("explained")["delta_recall"]) for _, part in local.groupby(["dataset", "rows"])]
    every = np.concatenate(steps) if steps else np.zeros(0)
    if not len(every):
        return "was not measured for several numbers"
    grown = int((every > 0).sum())
    return f"grows in {grown} of {len(every)} steps"


QUESTIONS: dict[str, Callable[[pd.DataFrame], ExperimentFindings]] = {
    "correlations": _correlations,
    "membership": _memberships,
    "explanations": _explanations,
    "noise": _noise,
}
