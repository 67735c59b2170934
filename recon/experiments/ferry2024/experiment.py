"""The experiment: four learners on COMPAS and Adult, five supports, five splits, depths and lengths 1 to 10."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from recon.experiments.declaration import Declaration, records, where
from recon.experiments.experiment import ExperimentFindings, Point, Scalar, Size
from recon.experiments.ferry2024.fits import FITS, run
from recon.experiments.splits import NAMES

DECLARED = Declaration("ferry2024", NAMES=NAMES)
MODELS: dict[str, str] = DECLARED["MODELS"]
DEEP, SHOWN = DECLARED["DEEP"], DECLARED["SHOWN"]
PUBLISHED: list[Any] = list(DECLARED.published("dist_g").itertuples(index=False))


def _findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the figures, tables and sentences of all results that are there."""
    fits, ties = results[results["learner"] != "ties"], where(results, learner="ties")
    means = _averaged(fits)
    optimal = fits[fits["learner"].str.startswith("optimal")]
    tied = fits[fits["tied"].notna() & (fits["support"] == SHOWN)] if "tied" in fits else fits.iloc[:0]
    tied = tied[tied["seed"] == tied.groupby("dataset")["seed"].transform("min")].sort_values("limit")
    frames = {
        "published": _beside_published(fits, ties), "compared": _compared(means), "unequal": _exposures(fits),
        "means": means, "drawn": _drawn_lines(means), "per-row": _per_row(fits),
        "optimal": optimal.assign(certified=optimal["certified"].astype(bool), gap=optimal["errors"] - optimal["bound"])
        if len(optimal) else optimal,
        "tied": tied.assign(tied=[f"{int(one):,}" for one in tied["tied"]]) if len(tied) else tied,
    }  # fmt: skip
    return DECLARED.findings(frames)


def _averaged(fits: pd.DataFrame) -> pd.DataFrame:
    """Return means over splits, one line per data set, learner, support and limit."""
    if not len(fits):
        return fits
    rows = [_rows_of(text) for text in fits["leaks"]]
    return DECLARED.aggregate("means", fits.assign(certified=fits["certified"].astype(float), rows=rows))


def _rows_of(leaks: str) -> int:
    """Return the training rows of a fit."""
    return int(sum(rows for rows, _ in json.loads(leaks)))


def _of_models(frame: pd.DataFrame) -> pd.DataFrame:
    """Return lines with what they are about: trees or lists, and the data in words, in the order of the figures."""
    models = frame["learner"].str.partition(" ")[2]
    by_models = models.map({name: k for k, name in enumerate(MODELS)})
    place = frame["dataset"].map({name: k for k, name in enumerate(NAMES)})
    return frame.assign(models=models, by_models=by_models, place=place, words=models.map(MODELS))


def _drawn_lines(means: pd.DataFrame) -> pd.DataFrame:
    """Return the means as they are drawn: hollow where not all are certified, ties as a band where all have them."""
    if not len(means):
        return means
    drawn = {"adult24": ", drawn per split"}
    data = [f"{NAMES[name]}, {rows:,} rows{drawn.get(name, '')}"
            for name, rows in zip(means["dataset"], means["rows"], strict=True)]  # fmt: skip
    found = _of_models(means).assign(data=data, hollow=~(means["certified"].isna() | (means["certified"] == 1)))
    known = found["tied_low"].notna()
    for end, keys in (("", ["dataset", "learner", "support"]), ("7", ["dataset", "learner"])):
        some = known if not end else known.where(found["limit"] == DEEP, True)
        whole = some.groupby([found[key] for key in keys]).transform("all")
        found = found.assign(**{f"low{end}": found["tied_low"].where(whole),
                                f"high{end}": found["tied_high"].where(whole)})  # fmt: skip
    return found


def _per_row(fits: pd.DataFrame) -> pd.DataFrame:
    """Return per data set and learner the share of training rows whose own Dist_G is at most so much."""
    some = fits[(fits["support"] == SHOWN) & (fits["limit"] == DEEP)] if len(fits) else fits
    if not len(some):
        return some
    some = _of_models(some).sort_values(["place", "by_models", "learner"], kind="stable")
    some = some.assign(rows=[_rows_of(text) for text in some["leaks"]], data=some["dataset"].map(NAMES))
    each = some.groupby(["place", "by_models"])
    some = some.assign(rows=each["rows"].transform("sum") // each["learner"].transform("nunique"))
    keys = ["place", "by_models", "data", "words", "rows", "learner"]
    steps = some.groupby(keys, sort=False)["leaks"].apply(lambda leaks: _cumulated(leaks.tolist()))
    return steps.reset_index(level=keys)


def _cumulated(leaks: Sequence[str]) -> pd.DataFrame:
    """Return the distribution of rows' Dist_G as steps from 0 to 1."""
    pairs = np.array([pair for text in leaks for pair in json.loads(text)], dtype=float).reshape(-1, 2)
    order = np.argsort(pairs[:, 1], kind="stable")
    rows, ratio = pairs[order, 0], pairs[order, 1]
    last = np.append(ratio[1:] != ratio[:-1], True)
    x, y = ratio[last], (np.cumsum(rows) / rows.sum())[last]
    return pd.DataFrame({"ratio": np.append(x[:1], x), "share": np.append(0.0, y)})


def _beside_published(fits: pd.DataFrame, ties: pd.DataFrame) -> pd.DataFrame:
    """Return the authors' figures beside ours."""
    out = []
    for one in PUBLISHED:
        mine = where(fits, dataset=one.dataset, learner=one.learner, support=one.support, limit=one.limit)
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


def _tie_spreads(mine: pd.DataFrame, ties: pd.DataFrame, one: Any, minimal: bool) -> pd.DataFrame:
    """Return the spreads of ties of a published figure's limits, one line per split."""
    if one.learner == "optimal rule lists" and minimal and "least_dist_g" in mine:
        return mine[mine["least_dist_g"].notna()]
    if one.learner != "optimal trees" or "minimal" not in ties or "least_dist_g" not in ties:
        return ties.iloc[:0]
    found = where(ties, support=one.support, limit=one.limit, minimal=minimal)
    return found[found["least_dist_g"].notna()]


def _compared(means: pd.DataFrame) -> pd.DataFrame:
    """Return by support whether optimal models leak less: at equal limits, and at equal training accuracy."""
    out = []
    for models, dataset in product(MODELS, NAMES):
        for support, part in where(means, dataset=dataset).groupby("support") if len(means) else ():
            optimal, greedy = (where(part, learner=f"{kind} {models}") for kind in ("optimal", "greedy"))
            if len(optimal) and len(greedy):
                both = optimal.merge(greedy, on="limit", suffixes=("_optimal", "_greedy"))
                best = [optimal.loc[optimal["train_accuracy"] >= one["train_accuracy"] - 1e-12, "dist_g"].max()
                        > one["dist_g"] for one in records(greedy)]  # fmt: skip
                limits = int((both["dist_g_optimal"] > both["dist_g_greedy"]).sum())
                out.append({"dataset": dataset, "models": models, "support": support, "at_limit": limits,
                            "limits": len(both), "at_accuracy": int(sum(best)), "of": len(greedy)})  # fmt: skip
    return pd.DataFrame(out)


def _exposures(fits: pd.DataFrame) -> pd.DataFrame:
    """Return how unequally rows are exposed by the loosest models, by support."""
    out = []
    for (dataset, learner, support), part in where(fits, limit=DEEP).groupby(["dataset", "learner", "support"]):
        line = _cumulated(part["leaks"].tolist())
        low, high = np.interp([0.05, 0.95], line["share"], line["ratio"])
        out.append({"dataset": dataset, "learner": learner, "support": support, "most": low, "least": high})
    return pd.DataFrame(out)


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


EXPERIMENT = DECLARED.experiment(_points, run, _findings)
