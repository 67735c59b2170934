"""Figures by trees, depth and rows, the number of worlds, and what they say beside the paper.

The experiment: three data sets, no bootstrap, bags that the file gives away, bags unknown; trees, depth and rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from recon.experiments.declaration import Declaration, Line, named_lines, records, where
from recon.experiments.draft2024.questions import BASELINES, GROUPS, KNOWN, NAMES, NONE, UNKNOWN, ZEROS, run
from recon.experiments.experiment import ExperimentFindings, Point, Scalar, Size

DECLARED = Declaration("draft2024", NAMES=NAMES)
LABELS: dict[str, str] = DECLARED["LABELS"]
ROWS, MOST = DECLARED["ROWS"], DECLARED["TREES"]
PUBLISHED = DECLARED.published("runs")
SAME = 1e-9  # accuracies are shares of 100 and of 1,400 rows


def findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the figures, tables and sentences of all results that are there."""
    deepest = results.groupby("dataset")["deepest"].transform("max")  # where forests without a maximum are drawn
    results = results.assign(grown=results["depth"].isna(), size=results["depth"].fillna(deepest))
    simple, results = where(results, bags=ZEROS), results[results["bags"] != ZEROS]
    means, pairs = _averaged(results), _published_comparison(results)
    base = where(results, rows=ROWS)
    few = means[(means["rows"] == ROWS) & (means["depth"] == 0) & (means["found"] > 0)]
    grown = results[results["grown"] & (results["trees"] == MOST) & results["error"].notna()]
    frames = {
        "means": means, "published": pairs, "few": few, "compared": _compared(pairs), "authors": _authors(pairs),
        "near": few[(few["bags"] != UNKNOWN) & (few["error"] < 0.05)], "completed": _completed(results, simple, pairs),
        "worlds-by-trees": _worlds(where(base, grown=True)), "by_rows": _by_rows(grown),
        "unfinished": _unfinished(results),
    }  # fmt: skip
    for name, by, some in (("trees", "trees", where(base, grown=True)), ("depth", "size", where(base, trees=MOST)),
                           ("rows", "rows", where(results, grown=True, trees=MOST))):  # fmt: skip
        frames[f"errors-by-{name}"] = named_lines(_spreads(some, ["dataset", "bags", by], "error", by), NAMES)
        guesses = [_spreads(some, ["dataset", by], guess, by).assign(guess=what) for guess, what in BASELINES.items()]
        frames[f"guesses-by-{name}"] = pd.concat(guesses)
    many = [part for bags in LABELS if len(part := where(few[few["trees"] >= 10], bags=bags))]
    return DECLARED.findings(frames, many=many)


def _averaged(results: pd.DataFrame) -> pd.DataFrame:
    """Return means over seeds, one line per data set, kind of bags, rows, trees and depth (0: no maximum)."""
    known = results.assign(
        depth=results["depth"].fillna(0).astype(int), found=results["error"].notna(),
        exact=results["count"] == "exact", unique=results["unique"].eq(True),
    )  # fmt: skip
    return DECLARED.aggregate("means", known)


def _published_comparison(results: pd.DataFrame) -> pd.DataFrame:
    """Return a line per published run and kind of bags that was run here: both errors, and whether forests agree."""
    out: list[Line] = []
    mine: dict[Any, Line] = {}
    for line in records(where(results, rows=ROWS)):
        depth: int | None = None if pd.isna(line["depth"]) else int(line["depth"])
        mine[line["dataset"], line["bags"], line["trees"], depth, line["seed"]] = line
    for one in records(PUBLISHED):
        depth = None if pd.isna(one["depth"]) else int(one["depth"])
        for bags in (KNOWN, UNKNOWN) if one["bootstrap"] else (NONE,):
            if (own := mine.get((one["dataset"], bags, one["trees"], depth, one["seed"]))) is None:
                continue
            apart = [own["train_accuracy"] - one["train_right"] / 100, own["test_accuracy"] - one["test_right"] / 1400]
            out.append({
                "dataset": one["dataset"], "bags": bags, "trees": one["trees"], "depth": depth, "seed": one["seed"],
                "published": one["wrong"] / one["cells"], "ours": own["error"], "unique": own["unique"],
                "same_forest": max(map(abs, apart)) < SAME, "published_seconds": one["seconds"],
            })  # fmt: skip
    return pd.DataFrame(out)


def _compared(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return how our errors compare with the published ones, forest by forest, where there is more than one tree."""
    out = []
    some = pairs[(pairs["trees"] > 1) & pairs["same_forest"].astype(bool)] if len(pairs) else pairs
    for bags, name in product(LABELS, NAMES):
        if not len(part := where(some, bags=bags, dataset=name)):
            continue
        done, taken = part[part["ours"].notna()], part["published_seconds"]
        ours, theirs = done["ours"].astype(float), done["published"]
        ends = dict.fromkeys(f"{end:,.0f}" for end in (taken.min(), taken.max()))
        out.append({
            "dataset": name, "bags": bags, "forests": len(part), "done": len(done), "ours": ours.mean(),
            "theirs": theirs.mean(), "smaller": int((ours < theirs - 1e-9).sum()),
            "equal": int(((ours - theirs).abs() <= 1e-9).sum()), "larger": int((ours > theirs + 1e-9).sum()),
            "taken": " to ".join(ends),
        })  # fmt: skip
    return pd.DataFrame(out)


def _authors(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the authors' runs on full-grown trees, each once."""
    if not len(pairs):
        return pairs
    boot = pairs["bags"].where(pairs["bags"] == NONE, UNKNOWN)
    some = where(pairs.assign(bags=boot), depth=None).drop_duplicates(["dataset", "bags", "trees", "seed"])
    return named_lines(some, LABELS, "bags", "label")


def _spreads(some: pd.DataFrame, keys: list[str], column: str, by: str) -> pd.DataFrame:
    """Return mean, least and greatest of a column, hollow where some forest has none; bags in the order of labels."""

    def mean(values: pd.Series) -> float:
        return math.fsum(values.dropna()) / values.count() if values.count() else math.nan

    if not len(some):
        return some
    groups = some.assign(**{column: some[column].astype(float)}).groupby(keys, as_index=False)[column]
    found = groups.agg(mean=mean, least="min", most="max", known="count", forests="size")
    found = found.assign(at=found[by].astype(float), hollow=found["known"].clip(lower=1) < found["forests"])
    return named_lines(found, LABELS, "bags", "label") if "bags" in keys else found


def _worlds(results: pd.DataFrame) -> pd.DataFrame:
    """Return bounds on the number of worlds by the number of trees."""
    known = results[results["log2_high"].notna()]
    known = known.assign(exact=known["count"] == "exact", log2_low=known["log2_low"].fillna(0.0))
    means = DECLARED.aggregate("worlds", known)
    return named_lines(named_lines(means.assign(hollow=~means["exact"].astype(bool)), LABELS, "bags", "label"), NAMES)


def _by_rows(grown: pd.DataFrame) -> pd.DataFrame:
    """Return mean errors by rows, of data sets that have several numbers of them."""
    some = grown[grown.groupby(["bags", "dataset"])["rows"].transform("nunique") > 1]
    return some.groupby(["bags", "dataset", "rows"], as_index=False, sort=False)[["error"]].mean()


def _completed(results: pd.DataFrame, simple: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return what it is worth to take for 0 what one tree leaves open."""
    out: list[Line] = []
    one_tree = where(results, bags=NONE, trees=1, grown=True)
    for dataset, part in simple.groupby("dataset", sort=False):
        same = where(one_tree, dataset=dataset)
        even = same[same["seed"].isin(part["seed"])]["error"]
        theirs = where(pairs, dataset=dataset, trees=1, bags=NONE)
        if even.notna().any():
            out.append({"dataset": dataset, "ones": part["ones"].mean(), "error": part["error"].mean(),
                        "even": even.mean(), "forests": len(theirs),
                        "published": theirs["published"].mean() if len(theirs) else np.nan})  # fmt: skip
    return pd.DataFrame(out)


def _unfinished(results: pd.DataFrame) -> pd.DataFrame:
    """Return where no world was found."""
    out: list[Line] = []
    for bags, some in results.groupby("bags", sort=False):
        without = some[some["error"].isna()]["cap_seconds"]
        if len(without):
            out.append({"bags": bags, "none": len(without), "forests": len(some), "low": without.min(),
                        "high": without.max()})  # fmt: skip
    return named_lines(pd.DataFrame(out), LABELS, "bags")


TREES = (1, 5, 10, 20, 50, 100)
DEPTHS = (2, 3, 5, 10)  # with 100 trees
MORE_ROWS = (25, 50, 200, 500)
CAPS = {NONE: 15.0, KNOWN: 15.0, UNKNOWN: 30.0}  # seconds for one forest, all questions together
COSTS = {NONE: 2.0, KNOWN: 5.0, UNKNOWN: 15.0, ZEROS: 0.2}
ENOUGH = 20  # trees on known bags that leave little to search: they need their time for sums, and end by themselves
LONGER = 60.0
HARD = ("adult19", "credit21")  # where unknown bags leave too much to search


def _points(size: Size) -> list[Point]:
    """Return a point per forest."""
    return quick() if size == "quick" else full()


def quick() -> list[Point]:
    """Return a few forests of every kind."""
    found = [_forest("compas14", bags, 50, trees, None, 0, 6.0) for bags in CAPS for trees in (5, 20)]
    found += [_forest(name, bags, ROWS, MOST, None, 0, 12.0) for name in HARD for bags in (NONE, KNOWN)]
    return [*found, _forest("compas14", NONE, ROWS, 20, 3, 0, 4.0)]


def full() -> list[Point]:
    """Return every forest: by trees, by depth with 100 trees, by rows with 100 full-grown trees."""
    found: list[Point] = []
    for name in GROUPS:
        hard = name in HARD
        found += _grid(name, NONE, range(3 if hard else 5), MORE_ROWS)
        found += _grid(name, KNOWN, range(2 if hard else 3), MORE_ROWS)
        found += [_forest(name, ZEROS, ROWS, 1, None, seed) for seed in range(5)]
        if hard:
            found += [_forest(name, UNKNOWN, ROWS, trees, None, 0) for trees in (1, 10, MOST)]
        else:
            found += _grid(name, UNKNOWN, range(3), MORE_ROWS[:2], range(1))
    return found


def _grid(
    name: str, bags: str, seeds: Sequence[int], rows: Sequence[int], fewer: Sequence[int] = range(2)
) -> Iterator[Point]:
    """Yield the forests of one data set and kind of bags; by depth and by rows with `fewer` seeds."""
    for trees, seed in product(TREES, seeds):
        yield _forest(name, bags, ROWS, trees, None, seed)
    for depth, seed in product(DEPTHS[name in HARD :], fewer):  # with the least depth, hard ones are hopeless
        yield _forest(name, bags, ROWS, MOST, depth, seed)
    for n, seed in product(rows, fewer):
        yield _forest(name, bags, n, MOST, None, seed)


def _forest(
    name: str, bags: str, rows: int, trees: int, depth: int | None, seed: int, cap: float | None = None
) -> Point:
    usual = LONGER if bags == KNOWN and trees >= ENOUGH else CAPS.get(bags, 0.0)
    seconds = usual if cap is None else cap
    named: dict[str, Scalar] = {"bags": bags, "rows": rows, "trees": trees, "depth": depth, "seed": seed}
    return Point(name, named | {"cap_seconds": seconds}, COSTS[bags])


EXPERIMENT = DECLARED.experiment(_points, run, findings)
