"""What the results say about membership: certificates beside attacks, without noise and with it."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

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


def memberships(some: pd.DataFrame) -> ExperimentFindings:
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
    whole = overview(some, certificates, attacks)
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
    return ExperimentFindings(tables, [coverage_figure(whole)], membership_sentences(some, certificates, attacks))


def overview(some: pd.DataFrame, certificates: pd.DataFrame, attacks: pd.DataFrame) -> pd.DataFrame:
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


def coverage_figure(whole: pd.DataFrame) -> PanelFigure:
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


def membership_sentences(some: pd.DataFrame, certificates: pd.DataFrame, attacks: pd.DataFrame) -> list[str]:
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
                out.append(f"Membership, {name}, {words}: {attacks_reach(own)}{proofs_reach(part, rows)}.")
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


def attacks_reach(own: pd.DataFrame) -> str:
    """Return in words what the attacks on some rows reach."""
    blind = int(((own["auc_low"] <= 0.5) & (own["auc_high"] >= 0.5)).sum())
    top = own.sort_values("auc").to_dict("records")[-1]
    strict = own.sort_values("tpr_at_001").to_dict("records")[-1]
    return (
        f"attacks' AUC lies between {own['auc'].min():.3f} and {top['auc']:.3f} ({top['attack']}, {top['learner']}), "
        f"{blind} of {len(own)} mean intervals hold .5; the greatest TPR at FPR 0.1 % is {strict['tpr_at_001']:.1%} "
        f"({strict['attack']}, {strict['learner']})"
    )


def proofs_reach(part: pd.DataFrame, rows: str) -> str:
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


def noise(some: pd.DataFrame) -> ExperimentFindings:
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
    return ExperimentFindings([ResultTable("noise", table, about)], [noise_figure(table)], noise_sentences(table))


PERHAPS = ("errors", "coverage", "members_in", "others_out", "removed_confidence", "auc_mia", "auc_low_mia",
           "auc_high_mia", "auc_label_only", "auc_low_label_only", "auc_high_label_only")  # fmt: skip
DRAWN = {"settled by proof": "coverage", "accuracy on others": "accuracy_others", "AUC of mia": "auc_mia",
         "AUC of label-only": "auc_label_only"}  # fmt: skip


def noise_figure(table: pd.DataFrame) -> PanelFigure:
    """Return shares against epsilon and bits against epsilon, a panel each per data set and learner."""
    panels = []
    for (dataset, learner), part in table.groupby(["dataset", "learner"], sort=False):
        placed = part.assign(at=part["epsilon"].where(part["epsilon"] > 0, NO_NOISE)).sort_values("at")
        x = placed["at"].tolist()
        lines = [
            PlotLine(label, x, placed[name].tolist()) for label, name in DRAWN.items() if placed[name].notna().any()
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


def noise_sentences(table: pd.DataFrame) -> list[str]:
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
        shown = "; ".join(at_epsilon(e, lines[e]) for e in sorted(lines, key=lambda e: -(e or math.inf)))
        out.append(f"Noise, {NAMES[str(dataset)]}, {learner}: {shown}.")
    return out


def at_epsilon(epsilon: float, line: dict[Any, Any]) -> str:
    """Return in words what there is at one epsilon."""
    name = f"epsilon {epsilon:g}" if epsilon else "no noise"
    aucs = ", ".join(f"{line[column]:.3f}" for column in ("auc_mia", "auc_label_only") if line[column] == line[column])
    return (
        f"{name}: {line['coverage']:.1%} of rows settled, {line['removed_confidence']:.2f} bits removed for certain, "
        f"accuracy {line['accuracy_others']:.3f}, AUC {aucs or 'of no attack'}"
    )
