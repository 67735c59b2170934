"""Figures by trees, depth and rows, the number of worlds, and what they say beside the paper.

The authors' own results for single forests, from the result files of their code, and how ours stand beside them.

The experiment: three data sets, no bootstrap, bags that the file gives away, bags unknown; trees, depth and rows.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from recon.experiments.draft2024.questions import BASELINES, GROUPS, KNOWN, NAMES, NONE, UNKNOWN, ZEROS, run
from recon.experiments.drawing import Panel, PanelFigure, PlotLine
from recon.experiments.experiment import Experiment, ExperimentFindings, Point, Scalar, Size
from recon.experiments.findings import Texts, averages, by_title, joined_findings, series, where

PUBLISHED_ROWS = 100
SAME = 1e-9  # accuracies are shares of 100 and of 1,400 rows


@dataclass(frozen=True)
class PublishedRun:
    """One run: 100 training rows, forest and solver as given, CP-SAT on 16 threads."""

    dataset: str
    bootstrap: bool
    trees: int
    depth: int | None
    seed: int
    train_accuracy: float
    test_accuracy: float
    error: float
    seconds: float


# github.com/vidalt/DRAFT, results/results_cp-sat (commit 4064270): those of the runs drawn here that could be had.
PUBLISHED = (
    PublishedRun("compas14", False, 1, None, 0, 0.87, 743 / 1400, 111 / 1400, 0.8),
    PublishedRun("compas14", False, 1, None, 1, 0.76, 833 / 1400, 141 / 1400, 1.1),
    PublishedRun("compas14", False, 10, None, 0, 0.87, 781 / 1400, 0.0, 5.4),
    PublishedRun("compas14", False, 10, None, 1, 0.76, 855 / 1400, 4 / 1400, 14.1),
    PublishedRun("compas14", False, 10, None, 2, 0.83, 840 / 1400, 2 / 1400, 6.9),
    PublishedRun("compas14", False, 100, None, 1, 0.76, 861 / 1400, 0.0, 107.6),
    PublishedRun("compas14", False, 100, None, 2, 0.83, 838 / 1400, 0.0, 103.2),
    PublishedRun("compas14", False, 100, 3, 0, 0.73, 920 / 1400, 6 / 1400, 41.7),
    PublishedRun("compas14", True, 1, None, 0, 0.74, 805 / 1400, 292 / 1400, 3601.6),
    PublishedRun("compas14", True, 10, None, 0, 0.84, 820 / 1400, 89 / 1400, 3621.9),
    PublishedRun("compas14", True, 10, None, 1, 0.75, 836 / 1400, 68 / 1400, 3624.7),
    PublishedRun("compas14", True, 20, None, 1, 0.76, 846 / 1400, 61 / 1400, 3638.4),
    PublishedRun("compas14", True, 50, None, 1, 0.76, 849 / 1400, 52 / 1400, 3687.8),
    PublishedRun("compas14", True, 50, None, 2, 0.83, 841 / 1400, 63 / 1400, 3716.0),
    PublishedRun("compas14", True, 100, None, 1, 0.76, 867 / 1400, 58 / 1400, 7448.2),
    PublishedRun("compas14", True, 100, 5, 0, 0.79, 909 / 1400, 94 / 1400, 3733.5),
    PublishedRun("adult19", False, 1, None, 2, 0.97, 1049 / 1400, 207 / 1900, 0.8),
    PublishedRun("adult19", False, 10, None, 0, 0.96, 1055 / 1400, 63 / 1900, 272.9),
    PublishedRun("adult19", False, 10, None, 3, 0.94, 1084 / 1400, 97 / 1900, 25.3),
    PublishedRun("adult19", False, 100, None, 0, 0.96, 1088 / 1400, 2 / 1900, 296.1),
    PublishedRun("adult19", False, 100, None, 1, 0.96, 1026 / 1400, 0.0, 120.8),
    PublishedRun("adult19", False, 100, None, 2, 0.97, 1082 / 1400, 1 / 1900, 126.3),
    PublishedRun("adult19", False, 100, 3, 0, 0.88, 1088 / 1400, 94 / 1900, 220.5),
    PublishedRun("adult19", False, 100, 5, 1, 0.91, 1058 / 1400, 4 / 1900, 62.4),
    PublishedRun("adult19", True, 1, None, 0, 0.85, 957 / 1400, 371 / 1900, 10802.7),
    PublishedRun("adult19", True, 10, None, 1, 0.96, 968 / 1400, 223 / 1900, 10826.4),
    PublishedRun("adult19", True, 20, None, 0, 0.96, 1074 / 1400, 187 / 1900, 10848.0),
    PublishedRun("adult19", True, 50, None, 0, 0.96, 1057 / 1400, 153 / 1900, 10919.6),
    PublishedRun("adult19", True, 100, None, 0, 0.96, 1067 / 1400, 155 / 1900, 10968.2),
    PublishedRun("adult19", True, 100, None, 2, 0.97, 1087 / 1400, 113 / 1900, 18288.4),
    PublishedRun("credit21", False, 10, None, 0, 0.98, 1051 / 1400, 73 / 2100, 22.0),
    PublishedRun("credit21", False, 10, None, 1, 0.92, 982 / 1400, 46 / 2100, 21.9),
    PublishedRun("credit21", True, 20, None, 0, 0.98, 1083 / 1400, 276 / 2100, 7248.4),
    PublishedRun("credit21", True, 50, None, 0, 0.98, 1068 / 1400, 244 / 2100, 7282.0),
)


def _published_comparison(results: pd.DataFrame) -> pd.DataFrame:
    """Return a line per published run and kind of bags that was run here: both errors, and whether forests agree."""
    out, mine = [], {}
    for line in results[results["rows"] == PUBLISHED_ROWS].to_dict("records"):
        depth = None if pd.isna(line["depth"]) else int(line["depth"])
        mine[line["dataset"], line["bags"], line["trees"], depth, line["seed"]] = line
    for one in PUBLISHED:
        for bags in (KNOWN, UNKNOWN) if one.bootstrap else (NONE,):
            if (own := mine.get((one.dataset, bags, one.trees, one.depth, one.seed))) is None:
                continue
            apart = [abs(own[f"{part}_accuracy"] - getattr(one, f"{part}_accuracy")) for part in ("train", "test")]
            out.append({
                "dataset": one.dataset, "bags": bags, "trees": one.trees, "depth": one.depth, "seed": one.seed,
                "published": one.error, "ours": own["error"], "unique": own["unique"],
                "same_forest": max(apart) < SAME, "published_seconds": one.seconds,
            })  # fmt: skip
    return pd.DataFrame(out)


def _sentences(pairs: pd.DataFrame) -> list[str]:
    """Return how our errors compare with the published ones, forest by forest, where there is more than one tree."""
    out = []
    pairs = pairs[pairs["trees"] > 1] if len(pairs) else pairs
    for bags, what in WHAT.items():
        some = pairs[(pairs["bags"] == bags) & pairs["same_forest"].astype(bool)] if len(pairs) else pairs
        for name in NAMES:
            part = some[some["dataset"] == name] if len(some) else some
            if not len(part):
                continue
            done = part[part["ours"].notna()]
            text = f"{NAMES[name]}, {what}: of {len(part)} forests of several trees whose errors the authors published"
            if len(done) < len(part):
                text += f" {len(part) - len(done)} gave us no data set within the time"
            if len(done):
                ours, theirs = done["ours"].to_numpy(dtype=float), done["published"].to_numpy(dtype=float)
                text += (
                    f" {'; of the others' if len(done) < len(part) else ''} our error is smaller in "
                    f"{int(np.sum(ours < theirs - 1e-9))}, equal in {int(np.sum(abs(ours - theirs) <= 1e-9))}, larger "
                    f"in {int(np.sum(ours > theirs + 1e-9))}; means {ours.mean():.4f} (ours) and {theirs.mean():.4f}"
                )
            low, high = part["published_seconds"].min(), part["published_seconds"].max()
            taken = f"{low:,.0f} to {high:,.0f} s" if f"{low:,.0f}" != f"{high:,.0f}" else f"{low:,.0f} s"
            out.append(f"{text}; their solver took {taken} a forest.".replace("  ", " ").replace(" ;", ";"))
    return out


WHAT = {
    NONE: "no bootstrap",
    KNOWN: "bootstrap, bags read off the file (the authors took them for unknown)",
    UNKNOWN: "bootstrap, bags unknown (ours uses the number of different rows in every node as well)",
}


ROWS, MOST = 100, 100
TEXTS = Texts("draft2024", ROWS=ROWS)
LABELS = {NONE: "no bootstrap", KNOWN: "bootstrap, bags known", UNKNOWN: "bootstrap, bags unknown"}
CLAIM = (
    'The paper: forests "without bootstrap aggregation but with feature randomization are susceptible to a complete '
    "reconstruction. This holds true even with a small number of trees. Even with bootstrap aggregation, the majority "
    'of the data can also be reconstructed".'
)
MISSING = "hollow where some forest gave no data set within its time"

MEANS: dict[str, Any] = {
    "forests": ("seed", "nunique"), "found": "sum", "error": "mean", "rows_right": "mean", "certain": "mean",
    "exact": "sum", "unique": "sum", "log2_low": "mean", "log2_high": "mean", **dict.fromkeys(BASELINES, "mean"),
    "test_accuracy": "mean",
}  # fmt: skip


def findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the figures, tables and sentences of all results that are there."""
    deepest = results.groupby("dataset")["deepest"].transform("max")  # where forests without a maximum are drawn
    results = results.assign(grown=results["depth"].isna(), size=results["depth"].fillna(deepest))
    simple, results = where(results, bags=ZEROS), results[results["bags"] != ZEROS]
    table, pairs = _averaged(results), _published_comparison(results)
    base, none = where(results, rows=ROWS), pairs.iloc[:0]
    figures = [
        _error_panels(base[base["grown"]], pairs, "trees", "errors-by-trees", "number of trees",
               f"full-grown trees, {ROWS} rows; crosses: the authors' runs on the same forests"),
        _error_panels(where(base, trees=MOST), none, "size", "errors-by-depth", "maximum depth",
               f"{MOST} trees, {ROWS} rows; forests without a maximum stand at the deepest tree of all"),
        _error_panels(where(results, grown=True, trees=MOST), none, "rows", "errors-by-rows", "training rows",
               f"{MOST} full-grown trees"),
        _worlds(base[base["grown"]]),
    ]  # fmt: skip
    said = [*_by_trees(table), *_sentences(pairs), *_completed(results, simple, pairs), *_by_rows(results)]
    said += [*_about_worlds(table), *_unfinished(results)]
    tables = [TEXTS.table("means", table), TEXTS.table("published", pairs)]
    return ExperimentFindings(tables, joined_findings(ExperimentFindings(figures=figures)).figures, said)


def _averaged(results: pd.DataFrame) -> pd.DataFrame:
    """Return means over seeds, one line per data set, kind of bags, rows, trees and depth."""
    known = results.assign(
        depth=results["depth"].fillna(0).astype(int),  # 0: no maximum
        found=results["error"].notna(), exact=results["count"] == "exact", unique=results["unique"].eq(True),
    )  # fmt: skip
    return averages(known, ["dataset", "bags", "rows", "trees", "depth"], MEANS, sort=True)


def _line(label: str, part: pd.DataFrame, x: str, y: str, dashed: bool = False) -> PlotLine | None:
    """Return means over seeds with the range as a band, hollow where some forest has none; None where all have none.

    Where no forest has one the line is broken.
    """
    found: dict[float, list[float]] = {}
    for at, value in zip(part[x].astype(float).tolist(), part[y].astype(float).tolist(), strict=True):
        found.setdefault(at, []).append(value)
    kept = {at: [v for v in values if not math.isnan(v)] or [math.nan] for at, values in sorted(found.items())}
    where, means = list(kept), [math.fsum(values) / len(values) for values in kept.values()]
    if all(map(math.isnan, means)):
        return None
    if dashed:
        return PlotLine(label, where, means, style="dashed")
    hollow = [len(values) < len(found[at]) for at, values in kept.items()]
    return PlotLine(label, where, means, [min(v) for v in kept.values()], [max(v) for v in kept.values()], hollow)


def _error_panels(results: pd.DataFrame, pairs: pd.DataFrame, by: str, name: str, axis: str, what: str) -> PanelFigure:
    """Return errors against trees, depth or rows, a panel per data set."""
    panels = []
    for dataset, title, some in by_title(results, NAMES):
        lines = [_line(label, where(some, bags=bags), by, "error") for bags, label in LABELS.items()]
        lines += [_line(label, some, by, y, dashed=True) for y, label in BASELINES.items()]
        lines += _authors(where(pairs, dataset=dataset)) if len(pairs) else []
        shown = title if by == "rows" else f"{title}, {ROWS} rows"
        kept = [one for one in lines if one is not None]
        panels.append(Panel(shown, axis, "error", kept, x_scale="linear" if by == "size" else "log"))
    return TEXTS.figure(name, panels, about="errors", axis=axis, what=what, MISSING=MISSING)


def _authors(pairs: pd.DataFrame) -> list[PlotLine]:
    """Return the authors' runs on full-grown trees as points."""
    out = []
    for bootstrap, bags in ((False, NONE), (True, UNKNOWN)):
        some = pairs[(pairs["bags"] != NONE) == bootstrap]
        some = where(some, depth=None).drop_duplicates(["trees", "seed"])
        if len(some):
            label = LABELS[bags]
            out.append(series(f"authors, {label}", some, "trees", "published", style="points", like=label))
    return out


def _worlds(results: pd.DataFrame) -> PanelFigure:
    """Return bounds on the number of worlds against the number of trees."""
    known, panels = results[results["log2_high"].notna()], []
    known = known.assign(exact=known["count"] == "exact", log2_low=known["log2_low"].fillna(0.0))
    for _, title, part in by_title(known, NAMES):
        lines = []
        for bags, label in LABELS.items():
            if len(some := where(part, bags=bags)):
                how = {"log2_low": "mean", "log2_high": "mean", "exact": "all"}
                table = averages(some, ["trees"], how, sort=True)
                lines.append(series(label, table, "trees", "log2_high", ("log2_low", "log2_high"), ~table["exact"]))
        panels.append(Panel(f"{title}, {ROWS} rows", "number of trees", "log2 of the worlds", lines, "log", "symlog"))
    return TEXTS.figure("worlds-by-trees", panels)


def _by_trees(table: pd.DataFrame) -> list[str]:
    """Return what few and many full-grown trees give back."""
    out = []
    some = table[(table["rows"] == ROWS) & (table["depth"] == 0) & (table["found"] > 0)]
    for (dataset, bags), part in some.groupby(["dataset", "bags"], sort=False):
        ordered = part.sort_values("trees")
        shown = (ordered["trees"].min(), 10, ordered["trees"].max())
        told = [_setting(one) for one in ordered.to_dict("records") if one["trees"] in shown]
        most = ordered.iloc[-1]
        out.append(
            f"{NAMES[str(dataset)]}, {LABELS[str(bags)]}, error: {'; '.join(told)}; random rows "
            f"{most['error_uniform']:.4f}, column frequencies {most['error_frequencies']:.4f}."
        )
    if out:
        out.append(_claimed(some))
    return out


def _setting(one: Mapping[Hashable, Any]) -> str:
    """Return a line of the means in words."""
    proved = "" if np.isnan(one["certain"]) else f", {one['certain']:.0%} proved to be in the data"
    only = f"the only world in {one['unique']} of {one['forests']} forests"
    trees = f"{one['trees']} tree{'s' if one['trees'] > 1 else ''}"
    return f"{trees} {one['error']:.4f} ({one['rows_right']:.0%} of the rows given back{proved}, {only})"


def _claimed(some: pd.DataFrame) -> str:
    """Return the paper's claim, and in how many settings it is met."""
    told = []
    for bags, label in LABELS.items():
        part = some[(some["bags"] == bags) & (some["trees"] >= 10)]
        if len(part):
            told.append(
                f"{label}: all rows in {int((part['error'] < 1e-9).sum())}, the majority in "
                f"{int((part['rows_right'] > 0.5).sum())} of {len(part)} settings"
            )
    return f"{CLAIM} With 10 or more full-grown trees ({ROWS} rows), {'; '.join(told)} (means over seeds)."


def _by_rows(results: pd.DataFrame) -> list[str]:
    """Return how errors change with the rows."""
    out = []
    some = results[results["grown"] & (results["trees"] == MOST) & results["error"].notna()]
    for bags, part in some.groupby("bags", sort=False):
        told = [
            f"{NAMES[str(dataset)]} "
            + ", ".join(f"{error:.4f} ({rows})" for rows, error in one.groupby("rows")["error"].mean().items())
            for dataset, one in part.groupby("dataset", sort=False)
            if one["rows"].nunique() > 1
        ]
        if told:
            out.append(f"{MOST} full-grown trees, {LABELS[str(bags)]}, errors by rows: {'; '.join(told)}.")
    return out


def _about_worlds(table: pd.DataFrame) -> list[str]:
    """Return whether a small error means that the attacker knows that it is small."""
    some = table[(table["rows"] == ROWS) & (table["depth"] == 0) & (table["bags"] != UNKNOWN) & (table["found"] > 0)]
    near = some[(some["error"] < 0.05)]
    if not len(near):
        return []
    only = int((near["unique"] == near["forests"]).sum())
    return [
        f"Of {len(near)} settings with known or no bags and a mean error below 0.05, the world is proved to be the "
        f"only one for every forest in {only}: in the others a world is near the truth, but the release does not say "
        "so."
    ]


def _completed(results: pd.DataFrame, simple: pd.DataFrame, pairs: pd.DataFrame) -> list[str]:
    """Return what it is worth to take for 0 what one tree leaves open."""
    out = []
    for dataset, part in simple.groupby("dataset", sort=False):
        here = (results["dataset"] == dataset) & (results["bags"] == NONE) & (results["trees"] == 1)
        even = results[here & results["grown"] & results["seed"].isin(part["seed"])]
        if not even["error"].notna().any():
            continue
        text = (
            f"{NAMES[str(dataset)]}, one tree, no bootstrap: {part['ones'].mean():.0%} of the values are 1; a data set "
            f"whose open columns are 0 has an error of {part['error'].mean():.4f}, ours, drawn evenly, of "
            f"{even['error'].mean():.4f}"
        )
        theirs = pairs[(pairs["dataset"] == dataset) & (pairs["trees"] == 1) & (pairs["bags"] == NONE)]
        if len(theirs):
            text += f" (the authors' in {len(theirs)} of these forests {theirs['published'].mean():.4f})"
        out.append(f"{text}: which one is found says nothing about what the tree gives away.")
    return out


def _unfinished(results: pd.DataFrame) -> list[str]:
    """Return where no world was found."""
    out = []
    for bags, label in LABELS.items():
        some = results[results["bags"] == bags]
        if none := int(some["error"].isna().sum()):
            time = sorted(set(some.loc[some["error"].isna(), "cap_seconds"]))
            within = f"{time[0]:g} s" if len(time) == 1 else f"{time[0]:g} to {time[-1]:g} s"
            out.append(
                f"{label.capitalize()}: {none} of {len(some)} forests gave no data set within {within} of the clock."
            )
    return out


EXPERIMENT_ROWS = 100  # training rows, as in the paper
MAX_TREES = 100  # trees, scikit-learn's default
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
    found += [_forest(name, bags, EXPERIMENT_ROWS, MAX_TREES, None, 0, 12.0) for name in HARD for bags in (NONE, KNOWN)]
    return [*found, _forest("compas14", NONE, EXPERIMENT_ROWS, 20, 3, 0, 4.0)]


def full() -> list[Point]:
    """Return every forest: by trees, by depth with 100 trees, by rows with 100 full-grown trees."""
    found: list[Point] = []
    for name in GROUPS:
        hard = name in HARD
        found += _grid(name, NONE, range(3 if hard else 5), MORE_ROWS)
        found += _grid(name, KNOWN, range(2 if hard else 3), MORE_ROWS)
        found += [_forest(name, ZEROS, EXPERIMENT_ROWS, 1, None, seed) for seed in range(5)]
        if hard:
            found += [_forest(name, UNKNOWN, EXPERIMENT_ROWS, trees, None, 0) for trees in (1, 10, MAX_TREES)]
        else:
            found += _grid(name, UNKNOWN, range(3), MORE_ROWS[:2], range(1))
    return found


def _grid(
    name: str, bags: str, seeds: Sequence[int], rows: Sequence[int], fewer: Sequence[int] = range(2)
) -> Iterator[Point]:
    """Yield the forests of one data set and kind of bags; by depth and by rows with `fewer` seeds."""
    for trees, seed in product(TREES, seeds):
        yield _forest(name, bags, EXPERIMENT_ROWS, trees, None, seed)
    for depth, seed in product(DEPTHS[name in HARD :], fewer):  # with the least depth, hard ones are hopeless
        yield _forest(name, bags, EXPERIMENT_ROWS, MAX_TREES, depth, seed)
    for n, seed in product(rows, fewer):
        yield _forest(name, bags, n, MAX_TREES, None, seed)


def _forest(
    name: str, bags: str, rows: int, trees: int, depth: int | None, seed: int, cap: float | None = None
) -> Point:
    usual = LONGER if bags == KNOWN and trees >= ENOUGH else CAPS.get(bags, 0.0)
    seconds = usual if cap is None else cap
    named: dict[str, Scalar] = {"bags": bags, "rows": rows, "trees": trees, "depth": depth, "seed": seed}
    return Point(name, named | {"cap_seconds": seconds}, COSTS[bags])


FIGURES: dict[str, dict[str, tuple[Scalar, ...]]] = {
    "errors-by-trees": {"rows": (EXPERIMENT_ROWS,), "depth": (None,)},
    "errors-by-depth": {"rows": (EXPERIMENT_ROWS,), "trees": (MAX_TREES,)},
    "errors-by-rows": {"trees": (MAX_TREES,), "depth": (None,)},
    "worlds-by-trees": {"rows": (EXPERIMENT_ROWS,), "depth": (None,)},
}


EXPERIMENT = Experiment(
    "draft2024",
    "how much of their training rows forests give back",
    "Ferry, Fukasawa, Pascal, Vidal, Trained Random Forests Completely Reveal your Dataset, ICML 2024, Section 7.2 "
    "and Appendix B.",
    _points,
    run,
    findings,
    needs={"sklearn": "sklearn"},
    figures=FIGURES,
)
