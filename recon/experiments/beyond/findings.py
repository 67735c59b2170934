"""What the results say about people and worlds: groups, joined models, noise; and the findings of all questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from recon.experiments.beyond.groups import CHANCE, DRAWS, LEAST_ROWS
from recon.experiments.beyond.model_findings import (
    ROWS,
    by_dataset,
    matched_size,
    nearly_best,
    records,
    rule_width,
    splits,
    true_attributes,
)
from recon.experiments.drawing import Panel, PanelFigure, PlotLine
from recon.experiments.experiment import ExperimentFindings, ResultTable
from recon.experiments.splits import NAMES

DRAWN = {"compas27": ("race", "sex", "age"), "adult24": ("sex and age",)}  # kinds of groups with a panel
PERHAPS = ("certified", "bound", "gap", "chance", "removed_confidence")  # figures that no line may have
EVERYBODY = "everybody"
ACROSS, DOWN = "optimal trees", "optimal rule lists"


def findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the figures, tables and sentences of all questions that have results."""
    found = []
    for question, of in QUESTIONS.items():
        some = results[results["question"] == question]
        if len(some):  # columns of other questions only cost time
            found.append(of(some.loc[:, some.notna().any() | some.columns.isin(PERHAPS)]))
    figures = [figure for one in found for figure in one.figures if figure.panels]
    return ExperimentFindings(
        [table for one in found for table in one.tables if len(table.frame)],
        figures,
        [sentence for one in found for sentence in one.sentences],
    )


def _ordered(some: pd.DataFrame, keys: list[str]) -> list[tuple[Any, pd.DataFrame]]:
    """Return groups of lines, data sets in the order of `NAMES`."""
    if not len(some):
        return []
    return sorted(some.groupby(keys), key=lambda pair: (list(NAMES).index(pair[0][0]), *pair[0][1:]))


def _groups(some: pd.DataFrame) -> ExperimentFindings:
    """Return how exposed the rows of each group are, and the greatest differences."""
    keys = ["dataset", "counted", "learner", "kind", "group"]
    values = ["rows", "share", "removed", "dist_g", "exposed"]
    means = some.groupby(keys, as_index=False)[values].mean()
    panels = []
    true = means[means["counted"] == "attributes"]
    for dataset, name, part in by_dataset(true):
        for kind in DRAWN[dataset]:
            chosen = part[part["kind"].isin([kind, EVERYBODY])]
            wide = chosen.pivot_table(index="group", columns="learner", values=["removed", "rows"])
            if ("removed", ACROSS) not in wide or ("removed", DOWN) not in wide:
                continue
            both = wide.dropna(subset=[("removed", ACROSS), ("removed", DOWN)])
            drawn = [
                PlotLine(EVERYBODY if group == EVERYBODY else f"{group} ({line['rows', ACROSS]:,.0f})",
                     [line["removed", ACROSS]], [line["removed", DOWN]], style="points")
                for group, line in both.iterrows()
            ]  # fmt: skip
            across, down = (f"bits removed per row, {learner}" for learner in (ACROSS, DOWN))
            panels.append(Panel(f"{name}, {kind}, {ROWS[dataset]}", across, down, drawn))
    about = (
        "Bits removed about a training row of each group (its mean rows in brackets) by the optimal tree of depth 5 "
        "and by the optimal list of 10 rules; true attributes, row's leaf or rule and label known; means over splits."
    )
    gaps = _differences(some)
    tables = [
        ResultTable("groups", means,
                    "Means over splits: training rows of a group, their share, bits removed per row, Dist_G "
              "of the group, and the share of its rows among the tenth of all rows most exposed (0.1 for everybody)."),
        ResultTable("group-gaps", gaps,
                    f"The greatest difference of bits removed per row between two groups of {LEAST_ROWS} "
              f"rows or more, mean over splits, and what {CHANCE:.0%} of {DRAWS} random groupings into the same "
              "sizes stay below; the most and least exposed group (by means over splits) with their rows."),
    ]  # fmt: skip
    return ExperimentFindings(tables, [PanelFigure("groups", about, panels)], _gap_sentences(gaps))


def _differences(some: pd.DataFrame) -> pd.DataFrame:
    """Return the greatest difference per data set, way of counting, learner and kind of group."""
    if "gap" not in some:
        return pd.DataFrame()
    keys, out = ["dataset", "counted", "learner", "kind"], []
    for key, part in some[some["gap"].notna()].groupby(keys):
        each = part.drop_duplicates("seed")
        means = part.groupby("group")[["rows", "removed", "dist_g"]].mean()
        large = means[part.groupby("group")["rows"].min() >= LEAST_ROWS]
        if len(large) < 2:
            continue
        most, least = (str(getattr(large["removed"], end)()) for end in ("idxmax", "idxmin"))
        out.append(
            dict(zip(keys, key, strict=True))
            | {"splits": len(each), "gap": each["gap"].mean(), "chance": each["chance"].mean(),
               "beyond_chance": int((each["gap"] > each["chance"]).sum())}
            | {f"{word}_{name}": value for word, group in (("most", most), ("least", least))
               for name, value in {"exposed": group, **large.loc[group].to_dict()}.items()}
        )  # fmt: skip
    return pd.DataFrame(out)


def _gap_sentences(gaps: pd.DataFrame) -> list[str]:
    """Return per data set and kind of group the greatest difference of all learners, over true attributes."""
    out = []
    some = gaps[gaps["counted"] == "attributes"] if len(gaps) else gaps
    for (dataset, kind), part in _ordered(some, ["dataset", "kind"]):
        one = records(part.sort_values("gap"))[-1]
        above = int((part["beyond_chance"] == part["splits"]).sum())
        out.append(
            f"Groups, {NAMES[str(dataset)]}, {kind}: the greatest difference is that of {one['learner']}, "
            f"{one['gap']:.2f} bits removed per row (true attributes): {one['most_exposed']} "
            f"{one['most_removed']:.2f} ({one['most_rows']:.0f} rows), {one['least_exposed']} "
            f"{one['least_removed']:.2f} ({one['least_rows']:.0f} rows); random groups of these sizes differ by less "
            f"than {one['chance']:.2f} in {CHANCE:.0%} of draws. The difference is beyond chance in every split for "
            f"{above} of {len(part)} learners."
        )
    return out


def _joined(some: pd.DataFrame) -> ExperimentFindings:
    """Return what models leave alone, in pairs, and all together."""
    keys = ["dataset", "rows", "convention", "models"]
    values = ["n", "exact", "before", "log2_low", "log2_high", "removed_low", "removed_high"]
    alone = _added_up(some)
    means = alone.assign(exact=alone["exact"].astype(float)).groupby(keys, as_index=False)[[*values, "added"]].mean()
    means = means.assign(size=means["models"].str.count(r"\+")).sort_values([*keys[:3], "size"]).drop(columns="size")
    panels = []
    for _, name, part in by_dataset(alone):
        for _, sized in part[part["convention"] == "multiset"].groupby("rows"):
            drawn = [
                PlotLine(str(models), g["added"].repeat(3).tolist(), _spans(g))
                for models, g in sized.groupby("models", sort=False)
            ]
            ends = [0.0, float(sized["added"].max())]
            drawn.append(PlotLine("added up", ends, ends, style="dashed"))
            panels.append(Panel(f"{name}, {int(sized['n'].iloc[0]):,} rows", "bits removed per row by each, added up",
                                "bits removed per row together", drawn))  # fmt: skip
    about = (
        "Bits removed per row of the datasets without an order of rows (`multiset`), true attributes, by models of "
        "the same rows together, against the sum of what each removes alone; a point per split, a bar where the "
        "number of worlds is only bounded; below the dashed line models repeat one another."
    )
    table = ResultTable("joined", means,
                        "Means over splits: rows, the share of splits in which the number of worlds is "
                  "exact, bits before the release, log2 of the worlds left and bits removed per row (at least, at "
                  "most), and the sum of what the models remove alone (midpoints).")  # fmt: skip
    return ExperimentFindings([table], [PanelFigure("joined", about, panels)], list(_joined_sentences(means, alone)))


def _spans(part: pd.DataFrame) -> list[float]:
    """Return least, most and a break per line, so that a bar is drawn for each."""
    return [float(v) for pair in zip(part["removed_low"], part["removed_high"], strict=True) for v in (*pair, np.nan)]


def _added_up(some: pd.DataFrame) -> pd.DataFrame:
    """Return the lines with what their models remove alone, added up (midpoints of bounds)."""
    keys = ["dataset", "rows", "seed", "convention"]
    middle = (some["removed_low"] + some["removed_high"]) / 2
    alone = {(*key, models): value for *key, models, value in zip(*(some[k] for k in keys), some["models"], middle,
                                                                  strict=True)}  # fmt: skip
    sums = [
        sum(alone.get((*key, name), np.nan) for name in str(models).split(" + "))
        for *key, models in zip(*(some[k] for k in keys), some["models"], strict=True)
    ]
    return some.assign(added=sums)


def _joined_sentences(means: pd.DataFrame, alone: pd.DataFrame) -> Iterator[str]:
    """Yield per data set and size what all models leave together."""
    for (dataset, rows), part in _ordered(means[means["convention"] == "multiset"], ["dataset", "rows"]):
        largest = max(part["models"], key=len)
        named = {one["models"]: one for one in records(part)}
        whole = named[largest]
        each = ", ".join(f"{name} {_shown(named[name])}" for name in largest.split(" + ") if name in named)
        seeds = alone[(alone["dataset"] == dataset) & (alone["rows"] == rows)]["seed"].nunique()
        same = means[(means["dataset"] == dataset) & (means["rows"] == rows) & (means["models"] == largest)]
        order = records(same[same["convention"] == "ordered"])
        exact = "exact" if part["exact"].min() == 1 else f"exact in {part['exact'].mean():.0%} of counts, else bounds"
        yield (
            f"Joined, {NAMES[str(dataset)]}, {whole['n']:,.0f} rows, {splits(seeds)} ({exact}): of "
            f"2^{whole['before']:,.0f} datasets {_span(whole, 'log2', ',.0f', '2^')} are left by {largest} together; "
            f"bits removed per row: {each}; together {_shown(whole)}, against {whole['added']:.3f} if what each "
            "removes added up"
            + (
                f"; with the rows in order {_shown(order[0])} of {order[0]['before'] / order[0]['n']:.2f}"
                if order
                else ""
            )
            + "."
        )


def _span(one: dict[str, Any], name: str, form: str, before: str = "") -> str:
    """Return a figure or its bounds in words."""
    low, high = (f"{before}{one[f'{name}_{end}']:{form}}" for end in ("low", "high"))
    return low if low == high else f"{low} to {high}"


def _shown(one: dict[str, Any]) -> str:
    """Return the bits removed per row."""
    return _span(one, "removed", ".3f")


def _noise(some: pd.DataFrame) -> ExperimentFindings:
    """Return what noisy counts remove, by the posterior of two priors and for certain at the confidence."""
    lines = some.assign(
        empty=(some["status"] == "empty").astype(float), exact=(some["status"] == "exact").astype(float)
    )
    if "removed_confidence" not in lines:
        lines = lines.assign(removed_confidence=np.nan)
    lines = lines.assign(released=np.where(lines["epsilon"] > 0, lines["epsilon"], np.inf))
    keys = ["dataset", "rows", "learner", "released"]
    values = [
        "accuracy",
        "removed_counts",
        "removed_worlds",
        "removed_confidence",
        "empty",
        "exact",
        "prior_alone_counts",
    ]
    means = lines.groupby(keys, as_index=False)[[v for v in values if v in lines]].mean()
    panels = []
    for dataset, name, part in by_dataset(means):
        for key, group in part.groupby(["rows", "learner"], sort=True):
            rows, learner = int(group["rows"].iloc[0]), key[1]
            noisy, true = group[np.isfinite(group["released"])], group[np.isinf(group["released"])]
            drawn = [
                PlotLine(label, noisy["released"].tolist(), noisy[column].tolist()) for column, label in LABELS.items()
            ]
            for one in records(true):
                ends = [float(noisy["released"].min()), float(noisy["released"].max())] if len(noisy) else [0.1, 10.0]
                drawn.append(PlotLine("without noise", ends, [one["removed_counts"]] * 2, style="dashed"))
            sized = f"{rows:,} rows" if rows else ROWS[dataset]
            panels.append(Panel(f"{name}, {sized}, {learner}", "ε of the counts", "bits removed per row", drawn,
                                x_scale="log"))  # fmt: skip
    about = (
        "Bits removed per row (rows in order, columns as independent bits) by the counts of one model with discrete "
        "Laplace noise: by the posterior with each prior, and for certain in all datasets that fit the noise at "
        "confidence 0.95; means over splits and draws."
    )
    table = ResultTable("noise", means, "Means over splits and draws: training accuracy of the noisy majorities; bits "
                  "removed per row by the posterior with prior `counts` (uniform over count vectors) and `worlds` "
                  "(uniform over sequences of rows) and for certain at confidence 0.95; the share of draws that no "
                  "dataset fits there, and of those counted exactly (else bounded); what the prior `counts` takes by "
                  "itself. ε (`released`) is infinite without noise.")  # fmt: skip
    return ExperimentFindings([table], [PanelFigure("noise", about, panels)], _noise_sentences(means))


LABELS = {
    "removed_counts": "posterior, prior counts",
    "removed_worlds": "posterior, prior worlds",
    "removed_confidence": "for certain at 0.95",
}


def _noise_sentences(means: pd.DataFrame) -> list[str]:
    """Return per data set, rows and learner what is removed at each ε, as a share of what exact counts remove."""
    out = []
    for (dataset, rows, learner), part in _ordered(means, ["dataset", "rows", "learner"]):
        true = part[np.isinf(part["released"])]
        noisy = part[np.isfinite(part["released"])].sort_values("released")
        if not len(true) or not len(noisy):
            continue
        whole = float(true["removed_counts"].iloc[0])
        each = "; ".join(
            f"ε {one['released']:g}: {one['removed_counts'] / whole:.0%}, {one['removed_worlds'] / whole:.0%}, "
            f"{one['removed_confidence'] / whole:.0%}"
            for one in records(noisy)
        )
        sized = f"{int(rows):,}" if rows else "all"
        out.append(
            f"Noise, {NAMES[str(dataset)]}, {learner}, {sized} rows: exact counts remove {whole:.3f} bits per row "
            "(rows in order); of them noisy counts remove by the posterior with prior counts, with prior worlds, and "
            f"for certain at confidence 0.95: {each}."
        )
    return out


QUESTIONS: dict[str, Callable[[pd.DataFrame], ExperimentFindings]] = {
    "matched size": matched_size,
    "nearly best trees": nearly_best,
    "groups": _groups,
    "true attributes": true_attributes,
    "rule width": rule_width,
    "joined": _joined,
    "noise": _noise,
}
