"""Figures 2 to 7, the published numbers beside ours, and what differs in words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from recon.experiments.drawing import Figure, Line, Panel
from recon.experiments.experiment import Findings, Table

NAMES = {"compas27": "COMPAS", "adult24": "Adult (a tenth)"}
MODELS = {"trees": "decision trees", "rule lists": "rule lists"}
LIMIT = {"trees": "maximum depth", "rule lists": "maximum number of rules"}
SHOWN = 0.01  # minimum support of the figures by size and accuracy
CLAIM = (
    'The paper: "optimal interpretable models are often more compact and leak less information regarding their '
    'training data than greedily-built ones, for a given accuracy level".'
)
SPLITS = 5  # that the published figures are means of
DEEP = 10  # the limit at which supports are compared


@dataclass(frozen=True)
class Published:
    """Dist_G that the authors' own runs give on COMPAS, the mean over splits 0 to 4, independent bits."""

    learner: str
    support: float
    depth: int
    dist_g: float


# The authors' published result files (scikit-learn's trees and DL8.5's), means over their five runs.
PUBLISHED = (
    Published("greedy trees", 0.01, 5, 0.8172),
    Published("greedy trees", 0.01, 10, 0.7551),
    Published("greedy trees", 0.05, 10, 0.8484),
    Published("optimal trees", 0.01, 5, 0.8209),
    Published("optimal trees", 0.01, 10, 0.7161),
    Published("optimal trees", 0.05, 10, 0.8487),
)


def findings(results: pd.DataFrame) -> Findings:
    """Return the figures, tables and sentences of all results that are there."""
    fits = results[results["learner"] != "ties"]
    means = averaged(fits)
    figures = [
        by_size(means, "trees", "figure-2"),
        by_accuracy(means, "trees", "figure-3"),
        by_size(means, "rule lists", "figure-4"),
        by_accuracy(means, "rule lists", "figure-5"),
        by_constraints(means),
        per_row(fits),
    ]
    published = beside_published(fits, results[results["learner"] == "ties"])
    sentences = [
        *published_sentences(published),
        *compared(means),
        *spread_sentences(fits),
        *proved(fits),
    ]
    tables = [
        Table("published", published, "The authors' figures on COMPAS beside ours: Dist_G (independent bits), means "
              "over splits; of optimal trees the least and greatest Dist_G of the trees as accurate without needless "
              "splits and their number (first split); `least_of_all`, `most_of_all`: with needless splits too."),
        Table("means", means, "Means over splits by data, learner, minimum support and limit (depth, or rules without "
              "the default): Dist_G, bits removed per row, accuracies, leaves; `certified`: the share proved optimal."),
    ]  # fmt: skip
    return Findings(tables, [f for f in figures if f.panels], sentences)


def averaged(fits: pd.DataFrame) -> pd.DataFrame:
    """Return means over splits, one line per data set, learner, support and limit."""
    if not len(fits):
        return fits
    known = fits.assign(certified=fits["certified"].astype(float))
    keys = ["dataset", "learner", "support", "limit"]
    return known.groupby(keys, as_index=False).agg(
        splits=("seed", "nunique"), leaves=("leaves", "mean"), depth=("depth", "mean"), errors=("errors", "mean"),
        certified=("certified", "mean"), train_accuracy=("train_accuracy", "mean"),
        test_accuracy=("test_accuracy", "mean"), dist_g=("dist_g", "mean"), dist_g_low=("dist_g", "min"),
        dist_g_high=("dist_g", "max"), bits_removed_per_row=("bits_removed_per_row", "mean"),
    )  # fmt: skip


def lines(some: pd.DataFrame, x: str, y: str = "dist_g") -> list[Line]:
    """Return a line per learner: means, the range over splits as a band, hollow where not all are certified."""
    out = []
    for learner, part in some.groupby("learner", sort=True):
        drawn = part.sort_values([x, "limit"])
        hollow = [not (np.isnan(c) or c == 1) for c in drawn["certified"]]
        low, high = (drawn[f"dist_g_{end}"].tolist() if x == "limit" else None for end in ("low", "high"))
        out.append(Line(str(learner), drawn[x].tolist(), drawn[y].tolist(), low, high, hollow))
    return out


def of(means: pd.DataFrame, models: str) -> pd.DataFrame:
    """Return the lines of trees or of rule lists."""
    return means[means["learner"].str.endswith(models)] if len(means) else means


def by_size(means: pd.DataFrame, models: str, name: str) -> Figure:
    """Return Dist_G against the limit and against the leaves or rules that models have."""
    panels = []
    for dataset, part in at_support(of(means, models)):
        panels.append(Panel(f"{NAMES[dataset]}, by limit", LIMIT[models], "Dist_G", lines(part, "limit")))
        size = "leaves" if models == "trees" else "rules, default included"
        panels.append(Panel(f"{NAMES[dataset]}, by size", size, "Dist_G", lines(part, "leaves")))
    about = (
        f"Dist_G of {MODELS[models]} with minimum support {SHOWN} against the {LIMIT[models]} (band: range over "
        "splits) and against their size; means over splits, hollow where optimality is not proved."
    )
    return Figure(name, about, panels)


def by_accuracy(means: pd.DataFrame, models: str, name: str) -> Figure:
    """Return Dist_G against training and test accuracy."""
    panels = []
    for dataset, part in at_support(of(means, models)):
        for which in ("train", "test"):
            panels.append(
                Panel(f"{NAMES[dataset]}, {which}", f"{which} accuracy", "Dist_G", lines(part, f"{which}_accuracy"))
            )
    about = f"Dist_G of {MODELS[models]} with minimum support {SHOWN} against accuracy; means over splits."
    return Figure(name, about, panels)


def at_support(means: pd.DataFrame, support: float = SHOWN) -> list[tuple[str, pd.DataFrame]]:
    """Return the lines of one support, by data set."""
    some = means[means["support"] == support] if len(means) else means
    return [(name, some[some["dataset"] == name]) for name in NAMES if len(some) and (some["dataset"] == name).any()]


def by_constraints(means: pd.DataFrame) -> Figure:
    """Return Dist_G of models with the loosest limit against the minimum support."""
    panels = []
    for dataset, models in product(NAMES, MODELS):
        some = of(means, models)
        some = some[(some["dataset"] == dataset) & (some["limit"] == DEEP)] if len(some) else some
        if len(some):
            title = f"{NAMES[dataset]}, {LIMIT[models]} {DEEP}"
            panels.append(Panel(title, "minimum support", "Dist_G", lines(some, "support")))
    about = f"Dist_G against the minimum support of a leaf or rule, limit {DEEP}; means over splits."
    return Figure("figure-6", about, panels)


def per_row(fits: pd.DataFrame) -> Figure:
    """Return the share of training rows whose own Dist_G is at most x: whom the model leaks most about."""
    panels = []
    for dataset, models in product(NAMES, MODELS):
        some = fits[fits["learner"].str.endswith(models) & (fits["dataset"] == dataset)] if len(fits) else fits
        some = some[(some["support"] == SHOWN) & (some["limit"] == DEEP)] if len(some) else some
        drawn = [cumulated(str(name), part["leaks"].tolist()) for name, part in some.groupby("learner", sort=True)]
        if drawn:
            panels.append(Panel(f"{NAMES[dataset]}, {MODELS[models]}", "Dist_G of the row", "share of rows", drawn))
    about = (
        f"Share of training rows of which at most so much is left open (Dist_G of the row; minimum support {SHOWN}, "
        f"limit {DEEP}, rows of all splits): left is leaked most."
    )
    return Figure("figure-7", about, panels)


def cumulated(name: str, leaks: Sequence[str]) -> Line:
    """Return the distribution of rows' Dist_G as steps."""
    pairs = np.array([pair for text in leaks for pair in json.loads(text)], dtype=float).reshape(-1, 2)
    order = np.argsort(pairs[:, 1], kind="stable")
    rows, ratio = pairs[order, 0], pairs[order, 1]
    last = np.append(ratio[1:] != ratio[:-1], True)
    return Line(name, ratio[last].tolist(), (np.cumsum(rows) / rows.sum())[last].tolist(), style="step")


def beside_published(fits: pd.DataFrame, ties: pd.DataFrame) -> pd.DataFrame:
    """Return the authors' figures beside ours."""
    out = []
    for one in PUBLISHED:
        named = (fits["dataset"] == "compas27") & (fits["learner"] == one.learner)
        mine = fits[named & (fits["support"] == one.support) & (fits["limit"] == one.depth)]
        line = {
            "learner": one.learner, "support": one.support, "depth": one.depth, "published": one.dist_g,
            "ours": mine["dist_g"].mean() if len(mine) else np.nan, "splits": mine["seed"].nunique(),
        }  # fmt: skip
        for minimal, suffix in ((True, ""), (False, "_of_all")):
            spread = tied(ties, one, minimal)
            line["tied_splits" + suffix] = spread["seed"].nunique() if len(spread) else 0
            for end in ("least", "most"):
                line[end + suffix] = spread[f"{end}_dist_g"].mean() if len(spread) else np.nan
            if minimal:
                line["trees"] = str(spread.sort_values("seed")["trees"].iloc[0]) if len(spread) else ""
        out.append(line)
    return pd.DataFrame(out)


def tied(ties: pd.DataFrame, one: Published, minimal: bool) -> pd.DataFrame:
    """Return the spreads of ties of a published figure's limits, one line per split."""
    if one.learner != "optimal trees" or "least_dist_g" not in ties:
        return ties.iloc[:0]
    named = (ties["support"] == one.support) & (ties["limit"] == one.depth) & (ties["minimal"] == minimal)
    return ties[named & ties["least_dist_g"].notna()]


def published_sentences(table: pd.DataFrame) -> list[str]:
    """Return how our figures compare with the authors' own."""
    out = []
    for line in table.to_dict("records"):
        if not line["splits"]:
            continue
        ours, published, splits = float(line["ours"]), float(line["published"]), int(line["splits"])
        what = f"COMPAS, {line['learner']}, support {line['support']}, depth {line['depth']}"
        text = f"{what}: Dist_G {ours:.4f} (mean of {splits} splits), published {published:.4f} (of 5)"
        if line["learner"] == "greedy trees" and splits == SPLITS:
            text += ": the same" if abs(ours - published) < 1e-4 else ": not the same"
        for suffix, which in (("", "without needless splits"), ("_of_all", "of any kind")):
            least, most = float(line["least" + suffix]), float(line["most" + suffix])
            if not np.isnan(least):
                text += f"; trees as accurate, {which}, lie between {least:.4f} and {most:.4f}"
                if (counted := int(line["tied_splits" + suffix])) == SPLITS:
                    text += f": the published {'inside' if least - 5e-5 <= published <= most + 5e-5 else 'outside'}"
                else:
                    text += f" (counted for {counted} of {SPLITS} splits)"
        if line["trees"]:
            text += f" (of the former {int(line['trees']):,} in the first split)"
        out.append(text + ".")
    return out


def compared(means: pd.DataFrame) -> list[str]:
    """Return whether optimal models leak less: at equal limits, and at equal training accuracy."""
    out = []
    for models, limit in LIMIT.items():
        for dataset, part in at_support(of(means, models)):
            optimal, greedy = (part[part["learner"] == f"{kind} {models}"] for kind in ("optimal", "greedy"))
            if not len(optimal) or not len(greedy):
                continue
            both = optimal.merge(greedy, on="limit", suffixes=("_optimal", "_greedy"))
            limits = int((both["dist_g_optimal"] > both["dist_g_greedy"]).sum())
            ahead, pairs = at_equal_accuracy(optimal, greedy)
            out.append(
                f"{NAMES[dataset]}, {MODELS[models]}, support {SHOWN}: at the same {limit} optimal ones leave "
                f"more open (a larger Dist_G) in {limits} of {len(both)} cases; an optimal one at least as accurate on "
                f"the training rows that leaves more open stands beside {ahead} of {pairs} greedy ones. {CLAIM}"
            )
    return out


def at_equal_accuracy(optimal: pd.DataFrame, greedy: pd.DataFrame) -> tuple[int, int]:
    """Return beside how many greedy models an optimal one at least as accurate leaves more open, and of how many."""
    best = [
        optimal.loc[optimal["train_accuracy"] >= accuracy - 1e-12, "dist_g"].max()
        for accuracy in greedy["train_accuracy"]
    ]
    return int(np.sum(np.array(best) > greedy["dist_g"].to_numpy())), len(greedy)


def spread_sentences(fits: pd.DataFrame) -> list[str]:
    """Return how unequally rows are exposed by the loosest models."""
    out = []
    some = fits[(fits["support"] == SHOWN) & (fits["limit"] == DEEP)] if len(fits) else fits
    for (dataset, learner), part in some.groupby(["dataset", "learner"], sort=True):
        line = cumulated("", part["leaks"].tolist())
        low, high = np.interp([0.05, 0.95], line.y, line.x)
        out.append(
            f"{NAMES[str(dataset)]}, {learner}, support {SHOWN}, limit {DEEP}: the 5 % of rows leaked most have a "
            f"Dist_G of at most {low:.2f}, the 5 % leaked least one of at least {high:.2f}."
        )
    return out


def proved(fits: pd.DataFrame) -> list[str]:
    """Return how many optimal fits are certified."""
    some = fits[fits["learner"].str.startswith("optimal")]
    if not len(some):
        return []
    certified = int(some["certified"].astype(bool).sum())
    gap = (some["errors"] - some["bound"]).max()
    return [f"{certified:,} of {len(some):,} optimal fits are certified optimal; the largest gap is {gap:g} errors."]
