"""The experiment: four learners on COMPAS and Adult, five supports, five splits, depths and lengths 1 to 10.

Figures 2 to 7 as the paper numbers them, the published numbers beside ours, and what differs in words.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from recon.experiments.drawing import Panel, PanelFigure, PlotLine
from recon.experiments.experiment import Experiment, ExperimentFindings, Point, Scalar, Size
from recon.experiments.ferry2024.fits import FITS, run
from recon.experiments.findings import Texts
from recon.experiments.splits import NAMES

MODELS = {"trees": "decision trees", "rule lists": "rule lists"}
KINDS = ("greedy", "optimal")
LIMIT = {"trees": "maximum depth", "rule lists": "maximum number of rules"}
SIZE = {"trees": "leaves", "rule lists": "rules, default included"}
FINDINGS_SHOWN = 0.01  # minimum support of figure 4 and of the sentences
CLAIM = (
    'The paper: "optimal interpretable models are often more compact and leak less information regarding their '
    'training data than greedily-built ones, for a given accuracy level".'
)
SPLITS = 5  # that the published figures are means of
DEEP = 10  # the limit at which supports are compared
TIED = ("Of optimal rule lists the one is drawn that the search meets first; bands: the least and greatest Dist_G of "
        "all lists as good, means over splits.")  # fmt: skip
TEXTS = Texts("ferry2024", DEEP=DEEP, FINDINGS_SHOWN=FINDINGS_SHOWN, TIED=TIED)


@dataclass(frozen=True)
class PublishedDistance:
    """Dist_G that the authors' own runs give, the mean over splits 0 to 4, independent bits.

    `limit`: depth or rules.
    """

    dataset: str
    learner: str
    support: float
    limit: int
    dist_g: float


# The authors' published result files (trees of scikit-learn and DL8.5, lists of GreedyRL and CORELS): means of five.
PUBLISHED = (
    PublishedDistance("compas27", "greedy trees", 0.01, 5, 0.8172),
    PublishedDistance("compas27", "greedy trees", 0.01, 10, 0.7551),
    PublishedDistance("compas27", "greedy trees", 0.05, 10, 0.8484),
    PublishedDistance("compas27", "optimal trees", 0.01, 5, 0.8209),
    PublishedDistance("compas27", "optimal trees", 0.01, 10, 0.7161),
    PublishedDistance("compas27", "optimal trees", 0.05, 10, 0.8487),
    PublishedDistance("adult24", "greedy rule lists", 0.01, 3, 0.9130),
    PublishedDistance("adult24", "greedy rule lists", 0.01, 5, 0.8889),
    PublishedDistance("adult24", "greedy rule lists", 0.01, 8, 0.8714),
    PublishedDistance("adult24", "greedy rule lists", 0.01, 10, 0.8669),
    PublishedDistance("adult24", "optimal rule lists", 0.01, 3, 0.9101),
    PublishedDistance("adult24", "optimal rule lists", 0.01, 5, 0.8850),
    PublishedDistance("adult24", "optimal rule lists", 0.01, 8, 0.8368),
    PublishedDistance("adult24", "optimal rule lists", 0.01, 10, 0.8269),
)


def _findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the figures, tables and sentences of all results that are there."""
    fits = results[results["learner"] != "ties"]
    means = _averaged(fits)
    figures = [
        by_size(means, "trees", "figure-2a"),
        _by_accuracy(means, "trees", "figure-2b"),
        by_size(means, "rule lists", "figure-3a"),
        _by_accuracy(means, "rule lists", "figure-3b"),
        per_row(fits),
        _by_limit(means, "trees", "leaves", "figure-5a"),
        _by_limit(means, "trees", "dist_g", "figure-5b"),
        _by_limit(means, "rule lists", "leaves", "figure-6a"),
        _by_limit(means, "rule lists", "dist_g", "figure-6b"),
        _by_support(means),
    ]
    published = _beside_published(fits, results[results["learner"] == "ties"])
    comparison, unequal = _compared(means), _exposures(fits)
    sentences = [
        *_published_sentences(published),
        *_comparison_sentences(comparison),
        *_exposure_sentences(unequal),
        *_tie_sentences(fits),
        *_optimality_sentences(fits),
    ]
    tables = [
        TEXTS.table("published", published),
        TEXTS.table("compared", comparison),
        TEXTS.table("unequal", unequal),
        TEXTS.table("means", means),
    ]  # fmt: skip
    return ExperimentFindings(tables, [f for f in figures if f.panels], sentences)


def _averaged(fits: pd.DataFrame) -> pd.DataFrame:
    """Return means over splits, one line per data set, learner, support and limit."""
    if not len(fits):
        return fits
    known = fits.assign(
        certified=fits["certified"].astype(float), rows=[_rows_of(text) for text in fits["leaks"]],
        **{name: fits.get(name, np.nan) for name in ("least_dist_g", "most_dist_g")},
    )  # fmt: skip
    keys = ["dataset", "learner", "support", "limit"]
    return known.groupby(keys, as_index=False).agg(
        splits=("seed", "nunique"), rows=("rows", "first"), leaves=("leaves", "mean"), depth=("depth", "mean"),
        errors=("errors", "mean"), certified=("certified", "mean"), train_accuracy=("train_accuracy", "mean"),
        test_accuracy=("test_accuracy", "mean"), dist_g=("dist_g", "mean"), dist_g_low=("dist_g", "min"),
        dist_g_high=("dist_g", "max"), tied_low=("least_dist_g", "mean"), tied_high=("most_dist_g", "mean"),
        bits_removed_per_row=("bits_removed_per_row", "mean"),
    )  # fmt: skip


def _rows_of(leaks: str) -> int:
    """Return the training rows of a fit."""
    return int(sum(rows for rows, _ in json.loads(leaks)))


def _titled(dataset: str, part: pd.DataFrame) -> str:
    """Return the data in words with the training rows of a split."""
    drawn = ", drawn per split" if dataset == "adult24" else ""
    return f"{NAMES[dataset]}, {int(part['rows'].iloc[0]):,} rows{drawn}"


def _line(part: pd.DataFrame, label: str, x: str, y: str = "dist_g") -> PlotLine:
    """Return means joined in the order of the limit, hollow where not all are certified; the ties as a band."""
    drawn = part.sort_values("limit")
    hollow = [not (np.isnan(c) or c == 1) for c in drawn["certified"]]
    low = high = None
    if y == "dist_g" and drawn["tied_low"].notna().all():
        low, high = drawn["tied_low"].tolist(), drawn["tied_high"].tolist()
    return PlotLine(label, drawn[x].tolist(), drawn[y].tolist(), low, high, hollow)


def _of(means: pd.DataFrame, models: str) -> pd.DataFrame:
    """Return the lines of trees or of rule lists."""
    return means[means["learner"].str.endswith(models)] if len(means) else means


def by_size(means: pd.DataFrame, models: str, name: str) -> PanelFigure:
    """Return Dist_G against the leaves or rules that models have, a panel per support and data set."""
    panels = [Panel(title, SIZE[models], "Dist_G", [_line(one, str(learner), "leaves") for learner, one in lines])
              for title, lines in _by_support_and_data(_of(means, models))]  # fmt: skip
    about = (
        f"Dist_G of {MODELS[models]} against their size, by minimum support; means over splits, joined in the order of "
        f"the {LIMIT[models]}, hollow where optimality is not proved. {TIED if models == 'rule lists' else ''}"
    )
    return PanelFigure(name, about.strip(), panels)


def _by_accuracy(means: pd.DataFrame, models: str, name: str) -> PanelFigure:
    """Return Dist_G against the test accuracy (dashed: on the training rows), a panel per support and data set."""
    panels = []
    for title, lines in _by_support_and_data(_of(means, models)):
        drawn = []
        for learner, one in lines:
            own = _line(one, str(learner), "test_accuracy")
            train = _line(one, f"{learner}, training rows", "train_accuracy")
            drawn += [own, PlotLine(train.label, train.x, train.y, style="dashed", like=own.label)]
        panels.append(Panel(title, "accuracy", "Dist_G", drawn))
    about = (
        f"Dist_G of {MODELS[models]} against accuracy on test rows (marked) and on training rows (dashed), by minimum "
        f"support; means over splits, joined in the order of the {LIMIT[models]}. "
        f"{TIED if models == 'rule lists' else ''}"
    )
    return PanelFigure(name, about.strip(), panels)


def _by_support_and_data(some: pd.DataFrame) -> list[tuple[str, list[tuple[object, pd.DataFrame]]]]:
    """Return a title and the lines by learner for every support and data set, data side by side."""
    out = []
    for support in sorted(some["support"].unique()) if len(some) else ():
        for dataset in NAMES:
            part = some[(some["support"] == support) & (some["dataset"] == dataset)]
            if len(part):
                title = f"{_titled(dataset, part)}, support {support:g}"
                out.append((title, list(part.groupby("learner", sort=True))))
    return out


def _by_limit(means: pd.DataFrame, models: str, y: str, name: str) -> PanelFigure:
    """Return the size or the Dist_G of models against the limit, a line per minimum support."""
    panels = []
    for dataset, kind in product(NAMES, KINDS):
        some = _of(means, models)
        some = some[(some["dataset"] == dataset) & (some["learner"] == f"{kind} {models}")] if len(some) else some
        if len(some):
            drawn = [_line(part, f"support {s:g}", "limit", y) for s, part in some.groupby("support", sort=True)]
            shown = SIZE[models] if y == "leaves" else "Dist_G"
            panels.append(Panel(f"{kind} {models}, {_titled(dataset, some)}", LIMIT[models], shown, drawn))
    what = "Size" if y == "leaves" else "Dist_G"
    about = f"{what} of {MODELS[models]} against the {LIMIT[models]}, a line per minimum support; means over splits."
    return PanelFigure(name, f"{about} {TIED}" if (models, y) == ("rule lists", "dist_g") else about, panels)


def _by_support(means: pd.DataFrame) -> PanelFigure:
    """Return Dist_G of models with the loosest limit against the minimum support."""
    panels = []
    for dataset, models in product(NAMES, MODELS):
        some = _of(means, models)
        some = some[(some["dataset"] == dataset) & (some["limit"] == DEEP)] if len(some) else some
        if len(some):
            drawn = [_line(part.assign(limit=part["support"]), str(learner), "support")
                     for learner, part in some.groupby("learner", sort=True)]  # fmt: skip
            panels.append(Panel(f"{_titled(dataset, some)}, {MODELS[models]}", "minimum support", "Dist_G", drawn))
    return TEXTS.figure("figure-7", panels)


def per_row(fits: pd.DataFrame) -> PanelFigure:
    """Return the share of training rows whose own Dist_G is at most x: whom the model leaks most about."""
    panels = []
    for dataset, models in product(NAMES, MODELS):
        some = fits[fits["learner"].str.endswith(models) & (fits["dataset"] == dataset)] if len(fits) else fits
        some = some[(some["support"] == FINDINGS_SHOWN) & (some["limit"] == DEEP)] if len(some) else some
        drawn = [_cumulated(str(name), part["leaks"].tolist()) for name, part in some.groupby("learner", sort=True)]
        if drawn:
            rows = sum(_rows_of(text) for text in some["leaks"]) // len(drawn)
            title = f"{NAMES[dataset]}, {MODELS[models]}, {rows:,} rows of all splits"
            panels.append(Panel(title, "Dist_G of the row", "share of rows", drawn, unit=True))
    return TEXTS.figure("figure-4", panels)


def _cumulated(name: str, leaks: Sequence[str]) -> PlotLine:
    """Return the distribution of rows' Dist_G as steps from 0 to 1."""
    pairs = np.array([pair for text in leaks for pair in json.loads(text)], dtype=float).reshape(-1, 2)
    order = np.argsort(pairs[:, 1], kind="stable")
    rows, ratio = pairs[order, 0], pairs[order, 1]
    last = np.append(ratio[1:] != ratio[:-1], True)
    x, y = ratio[last].tolist(), (np.cumsum(rows) / rows.sum())[last].tolist()
    return PlotLine(name, [x[0], *x], [0.0, *y], style="step")


def _beside_published(fits: pd.DataFrame, ties: pd.DataFrame) -> pd.DataFrame:
    """Return the authors' figures beside ours."""
    out = []
    for one in PUBLISHED:
        named = (fits["dataset"] == one.dataset) & (fits["learner"] == one.learner)
        mine = fits[named & (fits["support"] == one.support) & (fits["limit"] == one.limit)]
        line = {
            "dataset": one.dataset, "learner": one.learner, "support": one.support, "limit": one.limit,
            "published": one.dist_g, "ours": mine["dist_g"].mean() if len(mine) else np.nan,
            "splits": mine["seed"].nunique(),
        }  # fmt: skip
        for minimal, suffix in ((True, ""), (False, "_of_all")):
            spread = _tie_spreads(mine, ties, one, minimal)
            line["tied_splits" + suffix] = spread["seed"].nunique() if len(spread) else 0
            for end in ("least", "most"):
                line[end + suffix] = spread[f"{end}_dist_g"].mean() if len(spread) else np.nan
            if minimal:
                name = "trees" if "trees" in one.learner else "tied"
                line["models"] = str(spread.sort_values("seed")[name].iloc[0]) if len(spread) else ""
        out.append(line)
    return pd.DataFrame(out)


def _tie_spreads(mine: pd.DataFrame, ties: pd.DataFrame, one: PublishedDistance, minimal: bool) -> pd.DataFrame:
    """Return the spreads of ties of a published figure's limits, one line per split."""
    if one.learner == "optimal rule lists" and minimal and "least_dist_g" in mine:
        return mine[mine["least_dist_g"].notna()]
    if one.learner != "optimal trees" or "minimal" not in ties or "least_dist_g" not in ties:
        return ties.iloc[:0]
    named = (ties["support"] == one.support) & (ties["limit"] == one.limit) & (ties["minimal"] == minimal)
    return ties[named & ties["least_dist_g"].notna()]


def _published_sentences(table: pd.DataFrame) -> list[str]:
    """Return how our figures compare with the authors' own."""
    out = []
    for line in table.to_dict("records"):
        if not line["splits"]:
            continue
        ours, published, splits = float(line["ours"]), float(line["published"]), int(line["splits"])
        limit = "depth" if "trees" in line["learner"] else "length"
        what = f"{NAMES[line['dataset']]}, {line['learner']}, support {line['support']}, {limit} {line['limit']}"
        text = f"{what}: Dist_G {ours:.4f} (mean of {splits} splits), published {published:.4f} (of 5)"
        if line["learner"].startswith("greedy") and splits == SPLITS:
            text += ": the same" if abs(ours - published) < 1e-4 else ": not the same"
        trees = "trees" in line["learner"]
        for suffix, which in (("", "trees as accurate, without needless splits," if trees else "lists as accurate"),
                              ("_of_all", "trees as accurate, of any kind,")):  # fmt: skip
            least, most = float(line["least" + suffix]), float(line["most" + suffix])
            if not np.isnan(least):
                text += f"; {which} lie between {least:.4f} and {most:.4f}"
                if (counted := int(line["tied_splits" + suffix])) == SPLITS:
                    text += f": the published {'inside' if least - 5e-5 <= published <= most + 5e-5 else 'outside'}"
                else:
                    text += f" (counted for {counted} of {SPLITS} splits)"
        if line["models"]:
            text += f" (of the former {int(line['models']):,} in the first split)"
        out.append(text + ".")
    return out


def _compared(means: pd.DataFrame) -> pd.DataFrame:
    """Return by support whether optimal models leak less: at equal limits, and at equal training accuracy."""
    out = []
    for models, dataset in product(LIMIT, NAMES):
        some = _of(means, models)
        some = some[some["dataset"] == dataset] if len(some) else some
        for support, part in some.groupby("support", sort=True) if len(some) else ():
            optimal, greedy = (part[part["learner"] == f"{kind} {models}"] for kind in ("optimal", "greedy"))
            if len(optimal) and len(greedy):
                both = optimal.merge(greedy, on="limit", suffixes=("_optimal", "_greedy"))
                limits = int((both["dist_g_optimal"] > both["dist_g_greedy"]).sum())
                ahead, pairs = _at_equal_accuracy(optimal, greedy)
                out.append({"dataset": dataset, "models": models, "support": support, "at_limit": limits,
                            "limits": len(both), "at_accuracy": ahead, "of": pairs})  # fmt: skip
    return pd.DataFrame(out)


def _comparison_sentences(table: pd.DataFrame) -> list[str]:
    """Return the comparison in words, a sentence per data set and kind of models."""
    out = []
    for (models, dataset), part in table.groupby(["models", "dataset"], sort=False) if len(table) else ():
        lines = part.to_dict("records")
        supports = ", ".join(f"{one['support']:g}" for one in lines)
        limits = ", ".join(f"{one['at_limit']}" for one in lines)
        ahead = ", ".join(f"{one['at_accuracy']}" for one in lines)
        out.append(
            f"{NAMES[str(dataset)]}, {MODELS[str(models)]}, support {supports}: at the same {LIMIT[str(models)]} "
            f"optimal ones leave more open (a larger Dist_G) in {limits} of {lines[0]['limits']} cases; an optimal one "
            f"at least as accurate on the training rows that leaves more open stands beside {ahead} of "
            f"{lines[0]['of']} greedy ones. {CLAIM}"
        )
    return out


def _at_equal_accuracy(optimal: pd.DataFrame, greedy: pd.DataFrame) -> tuple[int, int]:
    """Return beside how many greedy models an optimal one at least as accurate leaves more open, and of how many."""
    best = [
        optimal.loc[optimal["train_accuracy"] >= accuracy - 1e-12, "dist_g"].max()
        for accuracy in greedy["train_accuracy"]
    ]
    return int(np.sum(np.array(best) > greedy["dist_g"].to_numpy())), len(greedy)


def _exposures(fits: pd.DataFrame) -> pd.DataFrame:
    """Return how unequally rows are exposed by the loosest models, by support."""
    some = fits[fits["limit"] == DEEP] if len(fits) else fits
    out = []
    for (dataset, learner, support), part in some.groupby(["dataset", "learner", "support"], sort=True):
        line = _cumulated("", part["leaks"].tolist())
        low, high = np.interp([0.05, 0.95], line.y, line.x)
        out.append({"dataset": dataset, "learner": learner, "support": support, "most": low, "least": high})
    return pd.DataFrame(out)


def _exposure_sentences(table: pd.DataFrame) -> list[str]:
    """Return the exposure of rows in words, of the support shown."""
    return [
        f"{NAMES[one['dataset']]}, {one['learner']}, support {FINDINGS_SHOWN}, limit {DEEP}: the 5 % of rows leaked "
        f"most have a "
        f"Dist_G of at most {one['most']:.2f}, the 5 % leaked least one of at least {one['least']:.2f}."
        for one in (table[table["support"] == FINDINGS_SHOWN] if len(table) else table).to_dict("records")
    ]


def _tie_sentences(fits: pd.DataFrame) -> list[str]:
    """Return how many rule lists are as good as the one drawn, of the first split of every data set."""
    known = fits[fits["tied"].notna() & (fits["support"] == FINDINGS_SHOWN)] if "tied" in fits else fits.iloc[:0]
    out = []
    for dataset, part in known.groupby("dataset", sort=False):
        first = part[part["seed"] == part["seed"].min()].sort_values("limit").to_dict("records")
        counted = "; ".join(f"length {one['limit']}: {int(one['tied']):,}, Dist_G {one['least_dist_g']:.4f} to "
                            f"{one['most_dist_g']:.4f}, drawn {one['dist_g']:.4f}" for one in first)  # fmt: skip
        out.append(f"{NAMES[str(dataset)]}, optimal rule lists, support {FINDINGS_SHOWN}, first split, all that are "
                   f"as good: "
                   f"{counted}.")  # fmt: skip
    return out


def _optimality_sentences(fits: pd.DataFrame) -> list[str]:
    """Return how many optimal fits are certified."""
    some = fits[fits["learner"].str.startswith("optimal")]
    if not len(some):
        return []
    certified = int(some["certified"].astype(bool).sum())
    gap = (some["errors"] - some["bound"]).max()
    return [f"{certified:,} of {len(some):,} optimal fits are certified optimal; the largest gap is {gap:g} errors."]


DATASETS = ("compas27", "adult24")
SUPPORTS = (0.01, 0.02, 0.03, 0.04, 0.05)
SEEDS = (0, 1, 2, 3, 4)
CAP = 240.0  # seconds for all depths or lengths of one optimal learner
COSTS = {"greedy trees": 2.0, "optimal trees": 30.0, "greedy rule lists": 2.0, "optimal rule lists": 2.0}  # seconds
TIES = ((0.01, 5, 10.0), (0.05, 10, 20.0), (0.01, 10, 120.0))  # support, depth, expected seconds: published figures
PUBLISHED_TIES = "compas27"


def _points(size: Size) -> list[Point]:
    """Return a point per data set, learner, support and split, and the spreads of ties beside published figures."""
    quick = size == "quick"
    found = [
        _fitted(dataset, learner, support, seed)
        for dataset in DATASETS
        for learner in FITS
        for support in (SUPPORTS[::4] if quick else SUPPORTS)
        for seed in (SEEDS[:1] if quick else SEEDS)
    ]
    for support, depth, cost in TIES[:2] if quick else TIES:
        for seed, minimal in product(SEEDS[:1] if quick else SEEDS, (True, False)):
            named: dict[str, Scalar] = {"learner": "ties", "support": support, "seed": seed, "cap_seconds": CAP}
            found.append(Point(PUBLISHED_TIES, named | {"depth": depth, "minimal": minimal}, cost))
    return found


def _fitted(dataset: str, learner: str, support: float, seed: int) -> Point:
    """Return the point of one learner; greedy ones need no cap."""
    named: dict[str, Scalar] = {"learner": learner, "support": support, "seed": seed}
    if learner.startswith("optimal"):
        named["cap_seconds"] = CAP
    return Point(dataset, named, COSTS[learner] * (0.01 / support if learner == "optimal trees" else 1))


TREES, LISTS = (tuple(name for name in FITS if name.endswith(kind)) for kind in ("trees", "rule lists"))
SHOWN = (0.01,)  # the support of figure 4
FIGURES: dict[str, dict[str, tuple[Scalar, ...]]] = {
    **{f"figure-{number}": {"learner": TREES} for number in ("2a", "2b", "5a", "5b")},
    **{f"figure-{number}": {"learner": LISTS} for number in ("3a", "3b", "6a", "6b")},
    "figure-4": {"learner": tuple(FITS), "support": SHOWN},
    "figure-7": {"learner": tuple(FITS)},
}


EXPERIMENT = Experiment(
    "ferry2024",
    "what optimal and greedy trees and rule lists leak",
    "Ferry, Aïvodji, Gambs, Huguet, Siala, Probabilistic Dataset Reconstruction from Interpretable Models, SaTML 2024, "
    "Figures 2 to 7.",
    _points,
    run,
    _findings,
    version=2,
    needs={"sklearn": "sklearn"},
    figures=FIGURES,
)
