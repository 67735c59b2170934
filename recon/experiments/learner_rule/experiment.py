"""The experiment: trees, rule lists, forests, persons and one-hot groups, by depth, rows, data set and learner.

The table of bits by depth, rows, data set and learner, figures, and what they say in sentences.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from recon.experiments.declaration import Declaration, named_lines, records, where
from recon.experiments.experiment import ExperimentFindings, Point, Scalar, Size
from recon.experiments.learner_rule.fits import run

DECLARED = Declaration("learner_rule")


def _findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the tables, figures and sentences of all results that are there."""
    missing = results["reason"].fillna("") != ""
    done, limits = results[~missing], results[missing]
    kept = [c for c in ("question", "dataset", "used_rows", "depth", "reason") if c in limits]
    exact = _with_texts(where(done, question=("tree", "rule list")))
    asked, trees, lists = (where(some, question=question) for some, question in
                           ((done, "persons"), (exact, "tree"), (exact, "rule list")))  # fmt: skip
    drawn = where(trees, criterion="gini", leaf=1)
    trees, lists = (some.sort_values(by) if len(some) else some for some, by in ((trees, "per"), (lists, "extra_low")))
    names = [c for c in asked if str(c).startswith(("members", "others", "values_"))]
    columns = ["dataset", "used_rows", "trees", "depth", "size", "accuracy"]
    bits = ["dataset", "used_rows", "depth", "size", "world_bits", "removed_at_least", "estimate", "events"]
    frames = {
        "bits": _bits_table(exact), "trees": trees, "lists": lists, "asked": asked,
        "limits": limits[kept].reset_index(drop=True),
        "persons": asked.reset_index(drop=True)[["dataset", "used_rows", "depth", *names]] if len(asked) else asked,
        "forest": _with_intervals(where(done, question="forest"), columns, counts="counts", extra="extra"),
        "groups": _with_intervals(where(done, question="groups"), bits, interval="extra"),
        "drawn": named_lines(drawn, DECLARED["TITLES"]),
    }  # fmt: skip
    found = records(trees)
    return DECLARED.findings(
        frames, ends=list(zip(("Least", "Most"), (found[0], found[-1]), strict=True)) if found else []
    )


def _bits_table(exact: pd.DataFrame) -> pd.DataFrame:
    """Return the table: one line per model."""
    if not len(exact):
        return exact
    names = {"text": "learner", "used_rows": "rows", "size": "leaves_or_rules", "counts_low": "counts",
             "leaves_bits": "leaves", "per": "per_row"}  # fmt: skip
    shown = ["dataset", "text", "used_rows", "size", "accuracy", "world_bits", "counts_low"]
    exact = _with_texts(exact).astype({"size": int})
    found = _with_intervals(exact, [*shown, "leaves_bits", "per"], **{k: k for k in ("inner", "extra", "strict")})
    found = found[[*shown, "inner", "extra", "strict", "leaves_bits", "per"]].rename(columns=names)
    return found.sort_values(["dataset", "learner", "rows"], kind="stable", ignore_index=True)


def _with_texts(exact: pd.DataFrame) -> pd.DataFrame:
    """Return lines of models with their learners in words and the bits per row that the rule removes."""
    if not len(exact):
        return exact
    rows = exact["used_rows"].astype(int)
    return exact.assign(text=[*map(_learner_text, records(exact))], used_rows=rows, per=exact["extra_low"] / rows)


def _learner_text(row: Mapping[str, Any]) -> str:
    """Return the learner of a row in a few words."""
    if row["question"] == "rule list":
        return f"GreedyRL, support {row['support']:g}, {int(row['length'])} rules"
    leaf = int(row["leaf"])
    depth = f"{int(row['depth']):2d}"
    return f"tree {row['criterion']}, depth {depth}" + (f", {leaf} rows per leaf" if leaf > 1 else "")


def _with_intervals(some: pd.DataFrame, columns: list[str], **intervals: str) -> pd.DataFrame:
    """Return columns of lines, and further ones of both ends as text."""
    if not len(some):
        return some
    found = {name: [_interval(a, b) for a, b in zip(some[f"{of}_low"], some[f"{of}_high"], strict=True)]
             for name, of in intervals.items()}  # fmt: skip
    return some[columns].assign(**found).reset_index(drop=True)


def _interval(low: float, high: float) -> str:
    """Return bounds on bits as text: one number where both read the same to a thousandth, else rounded outwards."""
    if low is None or math.isnan(low):
        return ""
    if f"{low:.3f}" == f"{high:.3f}":
        return f"{low:,.3f}" if math.isfinite(low) else "inf"
    return f"{math.floor(low * 1000) / 1000:,.3f} to " + (
        f"{math.ceil(high * 1000) / 1000:,.3f}" if math.isfinite(high) else "inf"
    )


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


EXPERIMENT = DECLARED.experiment(_points, run, _findings)
