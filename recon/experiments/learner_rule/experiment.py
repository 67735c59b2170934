"""The experiment: trees, rule lists, forests, persons and one-hot groups, by depth, rows, data set and learner.

The table of bits by depth, rows, data set and learner, figures, and what they say in sentences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any

import pandas as pd

from recon.experiments.drawing import Panel, PanelFigure, PlotLine
from recon.experiments.experiment import Experiment, ExperimentFindings, Point, ResultTable, Scalar, Size
from recon.experiments.findings import Texts
from recon.experiments.learner_rule.fits import run

TEXTS = Texts("learner_rule")

TITLES = {"compas27": "COMPAS (27 columns)", "adult24": "Adult (24 columns)"}
LEFT_OUT = "limits"


def _findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the tables, figures and sentences of all results that are there."""
    done = results[results["reason"].fillna("") == ""]
    exact = done[done["question"].isin(["tree", "rule list"])].copy()
    tables = [ResultTable("bits", _bits_table(exact), BITS)] if len(exact) else []
    for question, make, about in FINDINGS_OTHERS:
        some = done[done["question"] == question]
        if len(some):
            tables.append(ResultTable(question, make(some), about))
    missing = results[results["reason"].fillna("") != ""]
    if len(missing):
        kept = [c for c in ("question", "dataset", "used_rows", "depth", "reason") if c in missing]
        tables.append(ResultTable(LEFT_OUT, missing[kept].reset_index(drop=True), "Points without a figure, and why."))
    trees = exact[exact["question"] == "tree"] if len(exact) else exact
    figures = [_depth_figure(trees)] if len(trees) else []
    sentences = [*_tree_sentences(trees), *_list_sentences(exact), *_person_sentences(done), *_group_sentences(done)]
    return ExperimentFindings(tables, [f for f in figures if f.panels], sentences)


BITS = (
    "What knowing the learner adds, exact (`assigned`; where two numbers are given they are rigorous bounds). "
    "`world_bits`: log2 of the worlds that the counts leave; `counts`: bits that they remove of one bit per row and "
    "column; `inner`: bits that the comparisons at splits remove beside, `extra`: with what open leaves say; `strict`: "
    "if every seed must give this model (inf: no data set has that); `leaves`: the part of open leaves; `per_row`: "
    "extra bits per training row."
)


def _bits_table(exact: pd.DataFrame) -> pd.DataFrame:
    """Return the table: one line per model."""
    return pd.DataFrame({
        "dataset": exact["dataset"],
        "learner": [_learner_text(row) for row in exact.to_dict("records")],
        "rows": exact["used_rows"].astype(int),
        "leaves_or_rules": exact["size"].astype(int),
        "accuracy": exact["accuracy"],
        "world_bits": exact["world_bits"],
        "counts": exact["counts_low"],
        "inner": [_interval(a, b) for a, b in zip(exact["inner_low"], exact["inner_high"], strict=True)],
        "extra": [_interval(a, b) for a, b in zip(exact["extra_low"], exact["extra_high"], strict=True)],
        "strict": [_interval(a, b) for a, b in zip(exact["strict_low"], exact["strict_high"], strict=True)],
        "leaves": exact["leaves_bits"],
        "per_row": exact["extra_low"] / exact["used_rows"],
    }).sort_values(["dataset", "learner", "rows"], kind="stable", ignore_index=True)  # fmt: skip


def _learner_text(row: dict[Hashable, Any]) -> str:
    """Return the learner of a row in a few words."""
    if row["question"] == "rule list":
        return f"GreedyRL, support {row['support']:g}, {int(row['length'])} rules"
    leaf = int(row["leaf"])
    depth = f"{int(row['depth']):2d}"
    return f"tree {row['criterion']}, depth {depth}" + (f", {leaf} rows per leaf" if leaf > 1 else "")


def _interval(low: float, high: float) -> str:
    """Return bounds on bits as text: one number where both read the same to a thousandth, else rounded outwards."""
    if low is None or math.isnan(low):
        return ""
    if f"{low:.3f}" == f"{high:.3f}":
        return f"{low:,.3f}" if math.isfinite(low) else "inf"
    return f"{math.floor(low * 1000) / 1000:,.3f} to " + (
        f"{math.ceil(high * 1000) / 1000:,.3f}" if math.isfinite(high) else "inf"
    )


def _person_table(some: pd.DataFrame) -> pd.DataFrame:
    """Return verdicts that the rule alone gives, a line per model."""
    names = [c for c in some.columns if c.startswith(("members", "others", "values_"))]
    return some[["dataset", "used_rows", "depth", *names]].reset_index(drop=True)


def _forest_table(some: pd.DataFrame) -> pd.DataFrame:
    """Return bounds for forests."""
    extra = [_interval(a, b) for a, b in zip(some["extra_low"], some["extra_high"], strict=True)]
    counts = [_interval(a, b) for a, b in zip(some["counts_low"], some["counts_high"], strict=True)]
    kept = some[["dataset", "used_rows", "trees", "depth", "size", "accuracy"]].reset_index(drop=True)
    return kept.assign(counts=counts, extra=extra)


def _group_table(some: pd.DataFrame) -> pd.DataFrame:
    """Return estimates beside rigorous bounds."""
    extra = [_interval(a, b) for a, b in zip(some["extra_low"], some["extra_high"], strict=True)]
    kept = some[["dataset", "used_rows", "depth", "size", "world_bits", "removed_at_least", "estimate", "events"]]
    return kept.reset_index(drop=True).assign(interval=extra)


FINDINGS_OTHERS: tuple[tuple[str, Callable[[pd.DataFrame], pd.DataFrame], str], ...] = (
    ("persons", _person_table, "Persons under a tree's rule: the first rows that were trained on (`members`) and rows "
     "that were not (`others`); certain and impossible, and those that are so only by the rule (`_by_rule`). `ratio`: "
     "probability of being in the data under the rule over that without. `values`: of columns of members whose other "
     "columns and label are known: asked, certain by the counts, certain only by the rule."),
    ("forest", _forest_table, "Forests, `bootstrap=False`: bounds on the bits (`ordered`) that the counts remove, and "
     "that the hard facts of thresholds and leaves remove beside. Which columns were drawn at a node is not used."),
    ("groups", _group_table,
     "Trees where one-hot groups are attributes of several values: an estimate of the bits that "
     "the rule removes with its interval at confidence .95, not exact, beside the bits that the conditions on single "
     "binary columns remove for certain (`removed_at_least`)."),
)  # fmt: skip


def _depth_figure(trees: pd.DataFrame) -> PanelFigure:
    """Return extra bits per row by depth: a panel per data set, a line per number of rows."""
    panels = []
    plain = trees[(trees["criterion"] == "gini") & (trees["leaf"] == 1)]
    for dataset, title in TITLES.items():
        lines = []
        of_it = plain[plain["dataset"] == dataset].sort_values("depth")
        for rows in sorted(set(of_it["used_rows"])):
            part = of_it[of_it["used_rows"] == rows]
            share = part["extra_low"] / part["used_rows"]
            lines.append(PlotLine(f"{int(rows):,} rows", part["depth"].tolist(), share.tolist()))
        if lines:
            panels.append(Panel(title, "depth", "bits per row that the rule removes", lines))
    return TEXTS.figure("by-depth", panels)


def _tree_sentences(trees: pd.DataFrame) -> list[str]:
    """Return where a tree's rule gives away most and least, beside the counts."""
    if not len(trees):
        return []
    ordered = trees.assign(per=trees["extra_low"] / trees["used_rows"]).sort_values("per").to_dict("records")
    out = []
    for word, row in (("Least", ordered[0]), ("Most", ordered[-1])):
        out.append(
            f"{word} per row: {row['dataset']}, {int(row['used_rows']):,} rows, {_learner_text(row)}: "
            f"{row['extra_low']:,.3f} bits ({row['per']:.4f} per row) beside {row['counts_low']:,.1f} of the counts."
        )
    more = trees[trees["extra_low"] > trees["counts_low"]]
    out.append(f"Of {len(trees)} trees the rule removes more bits than the counts in {len(more)}.")
    leaves = trees[trees["leaves_bits"] > trees["extra_low"] / 2]
    out.append(f"Leaves that were not split remove more than the splits in {len(leaves)} of {len(trees)} trees.")
    return out


def _list_sentences(exact: pd.DataFrame) -> list[str]:
    """Return what the rule of greedy lists removes at most."""
    lists = exact[exact["question"] == "rule list"] if len(exact) else exact
    if not len(lists):
        return []
    row = lists.sort_values("extra_low").to_dict("records")[-1]
    return [
        f"Rule lists: at most {row['extra_low']:,.3f} bits ({row['dataset']}, {int(row['used_rows']):,} rows, "
        f"{_learner_text(row)}), beside {row['counts_low']:,.1f} of the counts."
    ]


def _person_sentences(done: pd.DataFrame) -> list[str]:
    """Return how many persons and values the rule alone decides."""
    some = done[done["question"] == "persons"]
    if not len(some):
        return []
    asked = int((some["members"] + some["others"]).sum())
    names = [[f"{who}_{word}_by_rule" for who in ("members", "others")] for word in ("certain", "impossible")]
    sure, never = (int(some[pair].to_numpy().sum()) for pair in names)
    values, held = int(some["values_asked"].sum()), int(some["values_certain_by_rule"].sum())
    return [
        f"Of {asked:,} persons asked about under {len(some)} trees {sure:,} become certain and {never:,} impossible "
        f"only by the rule; of {values:,} values of members {held:,} become certain only by it."
    ]


def _group_sentences(done: pd.DataFrame) -> list[str]:
    """Return the estimates in words."""
    some = done[done["question"] == "groups"].to_dict("records")
    return [
        f"One-hot groups as attributes, {row['dataset']}, {int(row['used_rows']):,} rows, depth {int(row['depth'])}: "
        f"about {row['estimate']:,.1f} bits ({_interval(row['extra_low'], row['extra_high'])} at confidence .95), "
        f"of {row['world_bits']:,.1f} bits of worlds."
        for row in some
    ]


DEPTHS = tuple(range(1, 11))
ROWS = (100, 300, 1000, 0)  # 0: all
WIDE = ("compas27", "adult24")
FEW = 300
OTHERS = ("compas14", "adult19", "credit21", "german-credit", "tic-tac-toe", "kr-vs-kp", "mushroom")
CAP = 180.0  # seconds of one point
MANY_CAP = 1800.0  # of many rows, and of verdicts
FOREST_CAP = 30.0
LISTS = ((0.01, 5), (0.01, 8), (0.05, 5), (0.05, 8))  # support, rules at most


def _points(size: Size) -> list[Point]:
    """Return the points of all questions; quick: some of them, on COMPAS."""
    if size == "quick":
        return _quick()
    out = [_tree(d, rows, depth) for d in WIDE for rows in ROWS for depth in DEPTHS]
    out += [_tree(d, rows, depth, "entropy") for d in WIDE for rows in (100, 1000, 0) for depth in (3, 5, 10)]
    out += [_tree(d, rows, depth, leaf=5) for d in WIDE for rows in (300, 1000) for depth in (3, 5, 10)]
    out += [_tree(d, rows, depth) for d in OTHERS for rows in (300, 0) for depth in (3, 5, 10)]
    out += [rule_list(d, rows, *how) for d in (*WIDE, "german-credit") for rows in ROWS for how in LISTS]
    out += [_forest(d, trees, depth) for d in WIDE for trees in (1, 2, 5) for depth in (5, 0)]
    out += [_persons(d, rows, depth) for d in WIDE for rows in (100, 300) for depth in (3, 5, 10)]
    out += [_groups(d, rows, depth) for d in WIDE for rows in (100, 300) for depth in (3, 5, 10)]
    return out


def _quick() -> list[Point]:
    """Return a few points of every question."""
    out = [_tree("compas27", rows, depth) for rows in (100, 300) for depth in (1, 3, 5, 10)]
    out += [_tree("compas27", 100, 5, "entropy"), _tree("compas27", 300, 5, leaf=5)]
    out += [rule_list("compas27", 300, 0.01, 8), _forest("compas27", 1, 0)]
    return [*out, _persons("compas27", 100, 5), _groups("compas27", 100, 3)]


def _question_point(dataset: str, question: str, rows: int, cost: float, cap: float, **named: Scalar) -> Point:
    """Return a point; `rows` 0: all, `cap`: seconds at most."""
    return Point(dataset, {"question": question, "rows": rows, "seed": 0, "cap_seconds": cap, **named}, cost)


def _tree(dataset: str, rows: int, depth: int, criterion: str = "gini", leaf: int = 1) -> Point:
    """Return a point of exact counts for a scikit-learn tree."""
    cost = 0.2 * depth * (40 if not rows else 1 + rows / 300)
    return _question_point(
        dataset, "tree", rows, cost, CAP if 0 < rows <= FEW else MANY_CAP, depth=depth, criterion=criterion, leaf=leaf
    )


def rule_list(dataset: str, rows: int, support: float, length: int) -> Point:
    """Return a point of exact counts for GreedyRL of width 1."""
    named: dict[str, Scalar] = {"support": support, "length": length, "ties": "authors"}
    return _question_point(dataset, "rule list", rows, 2.0 + rows / 500, MANY_CAP, **named)


def _forest(dataset: str, trees: int, depth: int) -> Point:
    """Return a point of hard facts for a forest of 100 rows without resampling; depth 0: not limited."""
    return _question_point(dataset, "forest", 100, 30.0, FOREST_CAP, trees=trees, depth=depth or None, features="sqrt")


def _persons(dataset: str, rows: int, depth: int) -> Point:
    """Return a point of verdicts on single persons."""
    named: dict[str, Scalar] = {"depth": depth, "criterion": "gini", "leaf": 1, "persons": 100}
    return _question_point(dataset, "persons", rows, 4.0 * depth, MANY_CAP, **named)


def _groups(dataset: str, rows: int, depth: int) -> Point:
    """Return a point of an estimate over one-hot groups as attributes."""
    named: dict[str, Scalar] = {"depth": depth, "criterion": "gini", "leaf": 1, "draws": 4000}
    return _question_point(dataset, "groups", rows, 5.0 * depth, MANY_CAP, **named)


EXPERIMENT = Experiment(
    "learner_rule",
    "what knowing how a model was chosen gives away beside its counts",
    "The open question of Ferry, Aïvodji, Gambs, Huguet, Siala, Probabilistic Dataset Reconstruction from "
    "Interpretable Models, SaTML 2024 (arXiv 2308.15099): what an adversary learns who knows the learner's rule.",
    _points,
    run,
    _findings,
    figures={"by-depth": {"question": ("tree",), "criterion": ("gini",), "leaf": (1,), "rows": ROWS}},
)
