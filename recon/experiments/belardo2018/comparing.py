"""What the results say in words, beside the thesis's tables and its claim."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from recon.experiments.belardo2018.fits import MINED, PLAIN
from recon.experiments.belardo2018.published import CLAIM, DEVIATIONS, IN_SAMPLE, LENGTHS, OUT_OF_SAMPLE

BASE = "base_measure"
Titles = Mapping[str, str]


def sentences(fits: pd.DataFrame, means: pd.DataFrame, titles: Titles, mixed: float) -> list[str]:
    """Return all sentences that the results allow."""
    return [
        *(text for dataset in OUT_OF_SAMPLE for text in beside_published(means, dataset, titles[dataset])),
        *(text for dataset in OUT_OF_SAMPLE for text in in_and_out(means, dataset, titles[dataset])),
        *(text for dataset in titles for text in order(means, dataset, titles[dataset])),
        *(text for dataset in titles for text in lengths(means, dataset, titles[dataset])),
        *(text for dataset in titles for text in laws_apart(fits, dataset, titles[dataset])),
        *(text for dataset in titles for text in posteriors(means, dataset, titles[dataset])),
        *mixing_sentences(means, titles, mixed),
        *longer_sentences(means, titles),
        f"The thesis's claim: {CLAIM}; its antecedents, like ours but in {MINED!r}, are chosen on the training rows "
        "without privacy, so that those lists have no guarantee, whatever epsilon.",
    ]


def fewest(means: pd.DataFrame, dataset: str) -> int:
    """Return the fewest steps of the plain list's chains and of those it is held against, 0 where there are none."""
    steps = means.loc[(means["dataset"] == dataset) & means["law"].isin([PLAIN, BASE]), "steps"]
    return int(steps.min()) if len(steps) else 0


def at(means: pd.DataFrame, dataset: str, law: str, epsilon: float | None, steps: int | None = None) -> Any:
    """Return the line of one law and budget, with the fewest steps unless given; None where it is not there."""
    steps = fewest(means, dataset) if steps is None else steps
    some = means[(means["dataset"] == dataset) & (means["law"] == law)]
    some = some[some["epsilon"].isna()] if epsilon is None else some[some["epsilon"] == epsilon]
    some = some[some["steps"] == steps]
    return some.iloc[0] if len(some) else None


def beside_published(means: pd.DataFrame, dataset: str, title: str) -> list[str]:
    """Return our AUC beside Table 6.1, budget by budget."""
    parts = []
    for epsilon, theirs in OUT_OF_SAMPLE[dataset].items():
        ours = at(means, dataset, PLAIN if epsilon is None else BASE, epsilon)
        if ours is not None:
            spread = DEVIATIONS.get((dataset, epsilon))
            printed = f"{theirs:.3f}" + ("" if spread is None else f" ± {spread:.3f}")
            parts.append(f"{'plain' if epsilon is None else f'epsilon {epsilon:g}'} {spread_of(ours)} ({printed})")
    return [
        f"{title}, AUC on other rows with {BASE} after {fewest(means, dataset):,} steps (± standard deviation over "
        f"splits; in brackets the thesis's Table 6.1): {', '.join(parts)}."
    ] if parts else []  # fmt: skip


def spread_of(ours: Any) -> str:
    """Return a mean AUC with its standard deviation, where there are several splits."""
    return f"{ours['auc']:.3f}" + (f" ± {ours['auc_sd']:.3f}" if ours["splits"] > 1 else "")


def in_and_out(means: pd.DataFrame, dataset: str, title: str) -> list[str]:
    """Return how far AUC on training rows and on other rows are apart, here and in the thesis."""
    apart, theirs = [], []
    for epsilon, inside in IN_SAMPLE[dataset].items():
        ours = at(means, dataset, PLAIN if epsilon is None else BASE, epsilon)
        if ours is not None:
            apart.append(float(ours["train_auc"] - ours["auc"]))
            theirs.append(inside - OUT_OF_SAMPLE[dataset][epsilon])
    if not apart:
        return []
    return [
        f"{title}: AUC on training rows less that on other rows lies between {min(apart):+.3f} and {max(apart):+.3f} "
        f"over plain and all epsilon; in the thesis (A.1 less 6.1) between {min(theirs):+.3f} and {max(theirs):+.3f}."
    ]


def order(means: pd.DataFrame, dataset: str, title: str) -> list[str]:
    """Return whether AUC falls with the budget."""
    lines = [at(means, dataset, PLAIN, None), *(at(means, dataset, BASE, e) for e in (0.9, 0.5, 0.1, 0.01))]
    found = [float(line["auc"]) for line in lines if line is not None]
    if len(found) < len(lines):
        return []
    falls = sum(a > b for a, b in pairwise(found))
    return [
        f"{title}: from plain over epsilon 0.9, 0.5 and 0.1 to 0.01 the mean AUC of {BASE} falls in {falls} of 4 "
        f"steps; plain ({found[0]:.3f}) above 0.9 ({found[1]:.3f}) above 0.01 ({found[-1]:.3f}): "
        f"{'yes' if found[0] > found[1] > found[-1] else 'no'}."
    ]


def lengths(means: pd.DataFrame, dataset: str, title: str) -> list[str]:
    """Return how long lists are under each law."""
    some = means[(means["dataset"] == dataset) & means["epsilon"].notna()]
    parts = [
        f"{law} {part['rules'].min():.1f} to {part['rules'].max():.1f} rules ({part['used'].min():.1f} to "
        f"{part['used'].max():.1f} of them capture a row)"
        for law, part in some.groupby("law", sort=False)
    ]
    plain = at(means, dataset, PLAIN, None)
    if not parts or plain is None:
        return []
    text = f"{title}: mean lengths over all epsilon: {', '.join(parts)}; plain {plain['rules']:.1f}"
    if dataset in LENGTHS:
        low, high = LENGTHS[dataset]
        text += f"; in the thesis {low} to {high}"
        tempered = some.loc[some["law"] == "tempered_prior", "rules"]
        if len(tempered) and tempered.min() > high:
            text += ", too few for tempered_prior, the law that it prints"
    return [text + "."]


def laws_apart(fits: pd.DataFrame, dataset: str, title: str) -> list[str]:
    """Return what the other laws change in AUC on the same splits."""
    some = fits[(fits["dataset"] == dataset) & fits["epsilon"].notna()]
    steps = some.groupby("law")["steps"].min()
    some = some[some["steps"] == some["law"].map(steps)]
    table = some.pivot_table(index=["epsilon", "seed"], columns="law", values="auc")
    parts = []
    for law in ("monotone", "tempered_prior", MINED):
        if BASE not in table or law not in table:
            continue
        apart = (table[law] - table[BASE]).dropna().groupby(level="epsilon").agg(["mean", "std", "count"])
        shown = [
            f"{line['mean']:+.3f} ± {line['std'] / np.sqrt(line['count']):.3f} at {epsilon:g}"
            for epsilon, line in apart.iterrows()
            if line["count"] > 1
        ]
        if shown:
            parts.append(f"{law} ({steps[law]:,}) {', '.join(shown)}")
    if not parts:
        return []
    return [
        f"{title}: AUC less that of {BASE} ({steps[BASE]:,} steps) on the same splits (± standard error): "
        f"{'; '.join(parts)}."
    ]


def posteriors(means: pd.DataFrame, dataset: str, title: str) -> list[str]:
    """Return how much log posterior privacy costs."""
    plain = at(means, dataset, PLAIN, None)
    ours = [(e, line) for e in (0.9, 0.5, 0.1, 0.01) if (line := at(means, dataset, BASE, e)) is not None]
    if plain is None or not ours:
        return []
    parts = [f"{line['per_row']:.3f} at epsilon {epsilon:g}" for epsilon, line in ours]
    return [f"{title}: log posterior per training row, {BASE}: {', '.join(parts)}; plain {plain['per_row']:.3f} nats."]


def mixing_sentences(means: pd.DataFrame, titles: Titles, limit: float) -> list[str]:
    """Return where chains have not mixed, by data set and number of steps."""
    out = []
    for (dataset, steps), part in means.groupby(["dataset", "steps"], sort=False):
        bad = part[~(part["r_hat"] <= limit)]
        named = [
            PLAIN if law == PLAIN else f"{law} (epsilon {', '.join(f'{e:g}' for e in some['epsilon'])})"
            for law, some in bad.groupby("law", sort=False)
        ]
        out.append(
            f"{titles[str(dataset)]}, {steps:,} steps: median split R-hat is at most {limit} in {len(part) - len(bad)} "
            f"of {len(part)} cases; chains have not mixed: {'; '.join(named) if named else 'none'}."
        )
    return out


def longer_sentences(means: pd.DataFrame, titles: Titles) -> list[str]:
    """Return what longer chains change."""
    out = []
    for dataset, title in titles.items():
        some = means[(means["dataset"] == dataset) & (means["law"] == BASE)]
        if some["steps"].nunique() < 2:
            continue
        few, many = int(some["steps"].min()), int(some["steps"].max())
        parts = []
        for epsilon in sorted(some["epsilon"].unique(), reverse=True):
            one, other = at(means, dataset, BASE, epsilon, few), at(means, dataset, BASE, epsilon, many)
            if one is not None and other is not None:
                parts.append(f"{one['auc']:.3f} and {other['auc']:.3f} at epsilon {epsilon:g}")
        if parts:
            out.append(f"{title}, AUC of {BASE} after {few:,} and after {many:,} steps: {', '.join(parts)}.")
    return out
