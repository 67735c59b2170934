"""What the results of the four questions say: tables, figures and sentences.

Certificates beside attacks, without noise and with it; intervals of correlations; explanations.
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
from recon.experiments.experiment import ExperimentFindings
from recon.experiments.findings import (
    Line,
    Texts,
    averages,
    diagonal,
    level,
    of_questions,
    records,
    series,
    where,
    with_columns,
)  # fmt: skip
from recon.experiments.joint.releases import LEARNERS
from recon.experiments.splits import NAMES

TEXTS = Texts("joint")
BY = ["dataset", "learner"]
BASELINE = "always in"
NO_NOISE = 100.0  # where the axis of epsilon shows counts without noise
ONCE = ("members_in_once", "others_out_once", "auc_once")
SHARES = ("members_in", "others_out", "coverage", "auc", *ONCE)
SUMS = ("verdicts", "errors", "others_in", "members_once", "others_once", "others_in_once", "settled_rows",
        "certificates", "unknown")  # fmt: skip
MAYBE = ("v", "v_authors", "fidelity", *SUMS, *ONCE)  # columns that small results lack
RATES = ("auc", "auc_low", "auc_high", "recall", "fpr", "advantage", "tpr_at_001", "tpr_at_001_low", "tpr_at_001_high",
         "tpr_at_01", "tpr_at_01_low", "tpr_at_01_high", "members", "others")  # fmt: skip
ABOUT_MODELS = ("leaves", "accuracy_members", "accuracy_others", "fidelity", "v", "v_authors", "both_sides", "best_auc")


def findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the tables, figures and sentences of all questions that have results."""
    return of_questions(results, QUESTIONS)


def _last(frame: pd.DataFrame, by: str) -> Line:
    """Return the line with the greatest value of a column."""
    return records(frame.sort_values(by))[-1]


def _memberships(some: pd.DataFrame) -> ExperimentFindings:
    """Return what certificates prove and attacks guess of the same rows."""
    some = with_columns(some, MAYBE)
    proved, guessed = where(some, what="certificates"), where(some, what="attack")
    certificates = averages(proved, [*BY, "counted"], dict.fromkeys(SHARES, "mean") | dict.fromkeys(SUMS, "sum"))
    certificates.insert(5, "undetermined", 1 - certificates["coverage"])
    keys = [*BY, "attack", "shadow", "asked_rows"]
    attacks = averages(guessed[guessed["attack"] != BASELINE], keys, dict.fromkeys(RATES, "mean"))
    whole = _overview(some, certificates, attacks)
    named = (("membership", whole), ("certificates", certificates), ("attacks", attacks))
    tables = [TEXTS.table(name, frame) for name, frame in named]
    return ExperimentFindings(tables, [_coverage_figure(whole)], _membership_sentences(some, certificates, attacks))


def _overview(some: pd.DataFrame, certificates: pd.DataFrame, attacks: pd.DataFrame) -> pd.DataFrame:
    """Return a line per data set and learner: certificates over true attributes, attacks, and V."""
    models = where(some, what="model").astype(dict.fromkeys(ABOUT_MODELS, float))
    models = averages(models, BY, dict.fromkeys(ABOUT_MODELS, "mean"))
    true = where(certificates, counted="attributes")
    true = true[[*BY, "members_in", "others_out", "undetermined", "errors", *ONCE]]
    whole = models.merge(true.rename(columns={"auc_once": "auc_once_proved"}), on=BY, how="left")
    for rows, end in (("all", ""), ("once", "_once")):
        best = {f"auc_least{end}": ("auc", "min"), f"auc_most{end}": ("auc", "max")}
        best |= {f"{name}{end}": (name, "max") for name in ("tpr_at_001", "tpr_at_01")}
        whole = whole.merge(averages(where(attacks, asked_rows=rows), BY, best), on=BY, how="left")
    order = {name: k for k, name in enumerate((*NAMES, *LEARNERS))}
    return whole.sort_values(BY, key=lambda names: names.map(order), ignore_index=True)


def _coverage_figure(whole: pd.DataFrame) -> PanelFigure:
    """Return certificates against attacks on rows that occur once: AUC of verdicts against the best attack's."""
    panels, whole = [], whole.assign(settled=1 - whole["undetermined"])
    for dataset, part in whole.groupby("dataset", sort=False):
        name, known = (
            f"{NAMES[str(dataset)]}, 3,600 training rows",
            part.dropna(subset=["auc_most_once", "auc_once_proved"]),
        )
        for which, lines, x, y, label in (
            ("those that occur once", known, "auc_most_once", "auc_once_proved", "AUC of the verdicts"),
            ("all", part, "auc_most", "settled", "share settled by proof"),
        ):
            drawn = [series(one, lines.loc[[at]], x, y, style="points") for at, one in lines["learner"].items()]
            if which != "all":
                drawn.append(diagonal("as good as the best attack", [0.45, 0.75]))
            panels.append(Panel(f"{name}, {which}", "AUC of the best attack", label, drawn))
    return TEXTS.figure("membership", panels)


def _membership_sentences(some: pd.DataFrame, certificates: pd.DataFrame, attacks: pd.DataFrame) -> list[str]:
    """Return what certificates prove without error, what attacks reach, and which were refused."""
    sums = {name: int(certificates[name].sum()) for name in ("errors", "settled_rows", "certificates")}
    out = [TEXTS.say("verdicts", **sums)]
    for dataset, part in certificates.groupby("dataset", sort=False):
        name, best = NAMES[str(dataset)], _last(part, "coverage")
        settling = set(part.loc[part["coverage"] > 0, "learner"])
        nothing = [learner for learner in LEARNERS if learner in set(part["learner"]) - settling]
        out.append(TEXTS.say("settled", name=name, nothing=", ".join(nothing) or "none", **best))
        for rows, words in (("all", "all rows"), ("once", "rows that occur once")):
            own = where(attacks, dataset=dataset, asked_rows=rows)
            if len(own):
                out.append(f"Membership, {name}, {words}: {_attacks_reach(own)}{_proofs_reach(part, rows)}.")
    for attack, part in where(some, what="refused").groupby("attack", sort=False):
        reason = str(part["note"].iloc[0]).partition(":")[0]
        out.append(f"Membership: {attack} was refused {len(part)} times and not run: {reason}.")
    if some["v"].notna().any():
        out.append(TEXTS.say("vulnerability", least=some["v"].min(), most=some["v"].max()))
    return out


def _attacks_reach(own: pd.DataFrame) -> str:
    """Return in words what the attacks on some rows reach."""
    blind = int(((own["auc_low"] <= 0.5) & (own["auc_high"] >= 0.5)).sum())
    top, strict = _last(own, "auc"), _last(own, "tpr_at_001")
    return TEXTS.say("attacks", least=own["auc"].min(), top=top, strict=strict, blind=blind, number=len(own))


def _proofs_reach(part: pd.DataFrame, rows: str) -> str:
    """Return in words what certificates reach on rows that occur once; nothing for all rows."""
    known = part.dropna(subset=["auc_once"])
    if rows != "once" or not len(known):
        return ""
    top = _last(known, "auc_once")
    return TEXTS.say("proofs", top=top, wrongly=int(top["others_in_once"]))


PERHAPS = ("errors", "coverage", "members_in", "others_out", "removed_confidence", "auc_mia", "auc_low_mia",
           "auc_high_mia", "auc_label_only", "auc_low_label_only", "auc_high_label_only")  # fmt: skip
NOISE_MEANS: dict[str, Any] = {
    "draws": ("draw", "size"), "rows": "first", "counts": "first", "covered": "sum", "members_in": "mean",
    "others_out": "mean", "coverage": "mean", "errors_inside": "sum", "errors_beyond": "sum",
    "removed_posterior": "mean", "removed_confidence": "mean", "accuracy_members": "mean", "accuracy_others": "mean",
    **dict.fromkeys(PERHAPS[5:], "mean"),
}  # fmt: skip
SHARES_DRAWN = {"settled by proof": "coverage", "accuracy on others": "accuracy_others", "AUC of mia": "auc_mia",
                "AUC of label-only": "auc_label_only"}  # fmt: skip
BITS_DRAWN = {"posterior": "removed_posterior", "at confidence 95 %": "removed_confidence"}


def _noise(some: pd.DataFrame) -> ExperimentFindings:
    """Return certificates, bits, accuracy and AUC against epsilon."""
    some = with_columns(some, PERHAPS)
    covered = some["covered"].astype(bool)
    errors = {"errors_inside": some["errors"].where(covered), "errors_beyond": some["errors"].where(~covered)}
    keys = [*BY, "epsilon"]
    table = averages(some.assign(covered=covered, **errors), keys, NOISE_MEANS).sort_values(keys, ignore_index=True)
    return ExperimentFindings([TEXTS.table("noise", table)], [_noise_figure(table)], _noise_sentences(table))


def _noise_figure(table: pd.DataFrame) -> PanelFigure:
    """Return shares against epsilon and bits against epsilon, a panel each per data set and learner."""
    panels = []
    for (dataset, learner), part in table.groupby(BY, sort=False):
        placed = part.assign(at=part["epsilon"].where(part["epsilon"] > 0, NO_NOISE)).sort_values("at")
        title = f"{NAMES[str(dataset)]}, {learner}, {int(part['rows'].iloc[0]):,} rows"
        shares = {label: name for label, name in SHARES_DRAWN.items() if placed[name].notna().any()}
        for label, drawn in (("share of rows, accuracy, AUC", shares), ("bits removed per row", BITS_DRAWN)):
            lines = [series(what, placed, "at", name) for what, name in drawn.items()]
            panels.append(Panel(title, "epsilon", label, lines, "log", names={NO_NOISE: "no noise"}))
    return TEXTS.figure("noise", panels)


def _noise_sentences(table: pd.DataFrame) -> list[str]:
    """Return what noise takes from certificates, attacks and accuracy, and when verdicts were wrong."""
    noisy = table[table["epsilon"] > 0][["draws", "covered"]].sum().astype(int)
    errors = table[["errors_inside", "errors_beyond"]].sum().astype(int)
    out = [TEXTS.say("draws", **noisy, **errors)]
    for (dataset, learner), part in table.groupby(BY, sort=False):
        lines = sorted(records(part), key=lambda line: -(line["epsilon"] or math.inf))
        out.append(f"Noise, {NAMES[str(dataset)]}, {learner}: {'; '.join(map(_at_epsilon, lines))}.")
    return out


def _at_epsilon(line: Line) -> str:
    """Return in words what there is at one epsilon."""
    name = f"epsilon {line['epsilon']:g}" if line["epsilon"] else "no noise"
    aucs = ", ".join(f"{line[column]:.3f}" for column in ("auc_mia", "auc_label_only") if line[column] == line[column])
    return TEXTS.say("at-epsilon", name=name, aucs=aucs or "of no attack", **line)


NOISE = ("noise epsilon=10", "noise epsilon=1", "noise epsilon=0.1")
EXACT = (DEFINITE, DISCRETE, WORLDS)
ATTACKERS = (DEFINITE, DISCRETE, *NOISE[::-1], WORLDS)
SKETCHED = dict(zip((*EXACT, *NOISE), (1.887, 0.913, 0.506, 0.507, 0.517, 0.614), strict=True))
ROUNDING = 1e-9
DRAWN = "greedy rule list, 4 rules, width 1"
MODEL = ["dataset", "columns", "model", "counted"]


def _mean(values: pd.Series) -> float:
    """Return the mean as one sum gives it: grouped means differ in the last digit."""
    return float(values.mean())


OF_ATTACKER: dict[str, Any] = {
    "columns_used": "first", "rows": "first", "pairs": ("pair", "nunique"), "width": ("interval", _mean),
    **{name: (name, _mean) for name in ("holds", "exact", "bin_right", "bin_sure")}, "draws": ("draw", "nunique"),
}  # fmt: skip


def _model_name(line: Line) -> str:
    """Return what a line's model is called: its learner and size."""
    size = f"{line['rules']:.0f} rules" if "list" in line["learner"] else f"depth {line['depth']:.0f}"
    width = f", width {line['width']:.0f}" if line["learner"] == "greedy rule list" else ""
    return f"{line['learner']}, {size}{width}"


def _correlations(some: pd.DataFrame) -> ExperimentFindings:
    """Return how wide the attackers' intervals are, whether they hold the truth, and what they say of its bin."""
    some = some.assign(model=[_model_name(line) for line in records(some)])
    table = _widths(some)
    tables = [TEXTS.table("correlations", table)]
    sketch = where(table, columns="four")
    if len(sketch):
        wide = sketch.assign(sketch=sketch["attacker"].map(SKETCHED))
        wide = wide.pivot_table(index=["attacker", "sketch"], columns=["counted", "model"], values="width", sort=False)
        wide.columns = pd.Index([": ".join(map(str, pair)) for pair in wide.columns])
        tables.append(TEXTS.table("correlations-sketch", wide.reset_index()))
    return ExperimentFindings(tables, [_width_figure(table)], _correlation_sentences(some, table))


def _widths(some: pd.DataFrame) -> pd.DataFrame:
    """Return a line per model, way of counting and attacker; means over pairs and draws."""
    floats = some.astype(dict.fromkeys(("holds", "bin_right", "bin_sure"), float))
    pair = some["first"].astype(str) + "\n" + some["second"].astype(str)
    floats = floats.assign(exact=(some["status"] == "exact").astype(float), pair=pair).astype({"columns_used": int})
    table = averages(floats, [*MODEL, "attacker"], OF_ATTACKER)
    covered = some.drop_duplicates([*MODEL, "attacker", "draw"]).dropna(subset=["covered"])
    covered = averages(
        covered.assign(covered=covered["covered"].astype(bool)), [*MODEL, "attacker"], {"covered": "sum"}
    )
    table = table.merge(covered, on=[*MODEL, "attacker"], how="left")
    models = table.groupby(MODEL, sort=False).ngroup()
    place = table["attacker"].map({name: k for k, name in enumerate(ATTACKERS)})
    keyed = table.assign(by_model=models, place=place).dropna(subset=["place"])
    return keyed.sort_values(["by_model", "place"], ignore_index=True).drop(columns=["by_model", "place"])


def _width_figure(table: pd.DataFrame) -> PanelFigure:
    """Return mean widths against epsilon, the attackers without noise dashed."""
    panels, used = [], where(table, columns="used")
    wanted = used[used["model"].str.startswith(DRAWN)] if len(used) else used
    for (dataset, counted, model), part in wanted.groupby(["dataset", "counted", "model"], sort=False):
        by = part.set_index("attacker")["width"].astype(float).to_dict()
        noisy = {float(name.split("=")[1]): by[name] for name in NOISE if name in by}
        lines = [level(name, list(noisy), by[name]) for name in EXACT if name in by]
        lines.append(PlotLine("worlds under noise", list(noisy), list(noisy.values())))
        name = f"{NAMES[str(dataset)]}, {int(part['rows'].iloc[0]):,} rows"
        panels.append(
            Panel(f"{name}, {counted}: {str(model).partition(', width')[0]}", "epsilon", "mean width", lines, "log")
        )
    return TEXTS.figure("correlations", panels)


def _correlation_sentences(some: pd.DataFrame, table: pd.DataFrame) -> list[str]:
    """Return whether the truth is held, whether intervals are nested, how wide they are, and what they say of bins."""
    sure, noisy = some[some["confidence"] == 1], some[some["confidence"] < 1]
    parts = {"sure": sure, "noisy": noisy, "inside": noisy[noisy["covered"].astype(bool)]}
    held = {name: int(part["holds"].sum()) for name, part in parts.items()}
    nested, pairs, other = _nesting(some)
    out = [
        TEXTS.say("held", held=held, of={name: len(part) for name, part in parts.items()}),
        TEXTS.say("nested", nested=nested, pairs=pairs, other=other),
    ]
    used = where(table, columns="used")
    lists = used[used["model"].str.contains("list")] if len(used) else used
    for (dataset, counted), part in lists.groupby(["dataset", "counted"], sort=False):
        by = part.groupby("attacker")["width"].mean()
        shown = ", ".join(f"{name} {by[name]:.3f}" for name in ATTACKERS if name in by)
        out.append(f"Correlations, {NAMES[str(dataset)]}, rule lists, {counted!s}: mean width {shown}.")
    return [*out, *_bin_sentences(where(some, columns="used")), *_sketch_sentences(table)]


def _bin_sentences(used: pd.DataFrame) -> list[str]:
    """Return how often the bins that intervals name are right, and how often surely."""
    used = used.astype({"bin_right": float, "bin_sure": float})
    rates: dict[Any, dict[Any, Any]] = used.groupby("attacker")[["bin_right", "bin_sure"]].mean().to_dict("index")
    said = [
        f"{name} {rates[name]['bin_right']:.0%} right, {rates[name]['bin_sure']:.0%} for certain"
        for name in EXACT if name in rates
    ]  # fmt: skip
    if not said:
        return []
    truths = used.drop_duplicates(["first", "second", *MODEL])["truth"].to_numpy(dtype=np.float64)
    commonest = np.bincount(bin_of(truths)).max() / len(truths)
    return [TEXTS.say("bins", said="; ".join(said), uniform=exact_accuracy(side=400), commonest=commonest)]


def _nesting(some: pd.DataFrame) -> tuple[int, int, int]:
    """Return how many chains (a pair, a draw, an epsilon) are nested, of how many, and draws left out.

    A draw whose noise lies outside its joint intervals is left out: it need not hold what exact counts leave.
    """
    keys = [*MODEL, "first", "second"]
    ends = {name: where(some, attacker=name).set_index(keys)[["low", "high"]] for name in EXACT}
    nested = total = other = 0
    for _, part in where(some, attacker=NOISE).groupby(["attacker", "draw"]):
        covered = part["covered"].astype(bool)
        other += int(part.loc[~covered].groupby(MODEL).ngroups)
        lines = part[covered].set_index(keys)[["low", "high"]]
        chain = [ends[DEFINITE].loc[lines.index], ends[DISCRETE].loc[lines.index], lines, ends[WORLDS].loc[lines.index]]
        good = np.ones(len(lines), dtype=bool)
        for outer, inner in pairwise(one.to_numpy() for one in chain):
            good &= (outer[:, 0] <= inner[:, 0] + ROUNDING) & (inner[:, 1] <= outer[:, 1] + ROUNDING)
        nested, total = nested + int(good.sum()), total + len(lines)
    return nested, total, other


def _sketch_sentences(table: pd.DataFrame) -> list[str]:
    """Return our widths on the sketch's columns beside the sketch's."""
    out = []
    for model, part in where(table, columns="four", counted="bits").groupby("model", sort=False):
        by = part.set_index("attacker")["width"]
        shown = ", ".join(f"{name} {by[name]:.3f} ({SKETCHED[name]:.3f})" for name in ATTACKERS if name in by)
        out.append(TEXTS.say("sketch", model=model, shown=shown))
    return out


EXPLAINED = ["dataset", "rows", "what", "explained", "statements", "distinct", "before_per_row", "removed_low",
             "removed_high", "exact", "engine", "recall_black_box", "recall_explainer", "delta_recall",
             "fpr_black_box", "fpr_explainer", "auc_black_box", "auc_explainer", "fidelity"]  # fmt: skip


def _explanations(some: pd.DataFrame) -> ExperimentFindings:
    """Return how many bits explanations with their counts take away, beside REVEAL's difference of recalls."""
    table = some.reindex(columns=EXPLAINED).sort_values(EXPLAINED[:4], ignore_index=True)
    table = table.astype(dict.fromkeys(["rows", "explained", "statements", "distinct"], int))
    panels = []
    for dataset, part in table.groupby("dataset", sort=False):
        local, bits = where(part, what="LORE").groupby("rows"), ("removed_low", "removed_high")
        lines = [
            series(f"{rows} rows", of, "explained", bits[0], bits, ~of["exact"].astype(bool)) for rows, of in local
        ]
        ends = [0.0, float(part["explained"].max())]
        for rows, of in where(part, what="TREPAN").groupby("rows"):
            lines.append(level(f"TREPAN, {rows} rows", ends, float(of["removed_low"].iloc[0]), f"{rows} rows"))
        recall = [series(f"{rows} rows", of, "explained", "delta_recall") for rows, of in local]
        title = f"{NAMES[str(dataset)]}, {' and '.join(map(str, sorted(set(part['rows']))))} rows"
        panels += [Panel(title, "explained records", "bits removed per row", lines),
                   Panel(title, "explained records", "delta recall", recall)]  # fmt: skip
    tables, figures = [TEXTS.table("explanations", table)], [TEXTS.figure("explanations", panels)]
    return ExperimentFindings(tables, figures, _explanation_sentences(table))


def _explanation_sentences(table: pd.DataFrame) -> list[str]:
    """Return per data set and number of rows what explanations take away, and what the difference of recalls says."""
    out = []
    for (dataset, rows), part in table.groupby(["dataset", "rows"], sort=False):
        shown = "; ".join(map(_amount, records(part)))
        before = part["before_per_row"].iloc[0]
        out.append(TEXTS.say("explanations", name=NAMES[str(dataset)], rows=rows, before=before, shown=shown))
    known = table.dropna(subset=["delta_recall"])
    if len(known):
        spread = ", ".join(f"{what} {part['delta_recall'].min():+.2f} to {part['delta_recall'].max():+.2f}"
                           for what, part in known.groupby("what"))  # fmt: skip
        aucs = known[["auc_explainer", "auc_black_box"]].agg(["min", "max"]).to_dict()
        grows = _agreement(where(known, what="LORE"))
        out.append(
            TEXTS.say("delta-recall", spread=spread, own=aucs["auc_explainer"], box=aucs["auc_black_box"], grows=grows)
        )
    return out


def _amount(line: Line) -> str:
    """Return in words what one set of explanations takes away."""
    one = line["what"] == "TREPAN"
    what = "TREPAN's tree removes" if one else f"{line['explained']} explanations remove"
    low, high = line["removed_low"], line["removed_high"]
    return f"{what} {low:.2f}" if line["exact"] else f"{what} {low:.2f} to {high:.2f}"


def _agreement(local: pd.DataFrame) -> str:
    """Return whether the difference of recalls grows with the number of explanations."""
    steps = [np.diff(part.sort_values("explained")["delta_recall"]) for _, part in local.groupby(["dataset", "rows"])]
    every = np.concatenate(steps) if steps else np.zeros(0)
    if not len(every):
        return "was not measured for several numbers"
    return f"grows in {int((every > 0).sum())} of {len(every)} steps"


QUESTIONS: dict[str, Callable[[pd.DataFrame], ExperimentFindings]] = {
    "correlations": _correlations,
    "membership": _memberships,
    "explanations": _explanations,
    "noise": _noise,
}
