"""What the results say about models: equal sizes and accuracies, nearly best trees, true attributes, wider rules."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pandas as pd

from recon.experiments.drawing import Panel, PanelFigure, PlotLine
from recon.experiments.experiment import ExperimentFindings, ResultTable
from recon.experiments.splits import NAMES

ROWS = {"compas27": "5,771 rows", "adult24": "3,907 rows, drawn per split"}  # training rows
BITS = "columns as independent bits, each row's leaf or rule and label known (`assigned`)"
TOLERANCES = (0.0, 0.1, 0.5, 1.0, 2.0)  # percentage points of training accuracy
STEP = 0.05  # of the curves over them
OPTIMAL, MOST = "optimal trees", "optimal trees that leak most"
Style = Literal["line", "dashed", "points", "step"]
PAIRS = ((OPTIMAL, "optimal rule lists"), ("greedy trees", "greedy rule lists"))


def by_dataset(some: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield dataset, its name and its rows, in the order of `NAMES`."""
    for dataset, name in NAMES.items():
        part = some[some["dataset"] == dataset]
        if len(part):
            yield dataset, name, part


def _line_of(label: str, part: pd.DataFrame, x: str, style: Style = "line") -> PlotLine:
    """Return mean Dist_G over splits against mean `x`, for the sizes that all splits have.

    Points are hollow where some model is not certified.
    """
    whole = part.groupby("leaves")["seed"].nunique()
    groups = part[part["leaves"].isin(whole[whole == part["seed"].nunique()].index)].assign(x=part[x]).groupby("leaves")
    proved = groups["certified"].apply(lambda c: bool(c.astype(float).dropna().eq(1).all()))
    means = groups[["x", "dist_g"]].mean()
    return PlotLine(
        label,
        means["x"].tolist(),
        means["dist_g"].tolist(),
        hollow=(~proved).tolist(),
        style=style,
        like=OPTIMAL if style == "dashed" else "",
    )


def _by_size_and_accuracy(once: pd.DataFrame, size: str) -> list[Panel]:
    """Return per data set Dist_G of every learner against size and against training accuracy."""
    return [
        Panel(f"{name}, {ROWS[dataset]}", label, "Dist_G", [
            _line_of(str(learner), group, x, "dashed" if learner == MOST else "line")
            for learner, group in part.groupby("learner", sort=True)
        ])
        for dataset, name, part in by_dataset(once)
        for x, label in (("leaves", size), ("train_accuracy", "training accuracy"))
    ]  # fmt: skip


def splits(number: int) -> str:
    """Return a number of splits in words."""
    return "1 split" if number == 1 else f"{number} splits"


def matched_size(some: pd.DataFrame) -> ExperimentFindings:
    """Return trees beside rule lists with as many leaves as rules, and beside those as accurate."""
    once = some.drop_duplicates(["dataset", "seed", "learner", "leaves"])
    panels = _by_size_and_accuracy(once, "leaves, or rules with the default")
    pairs = _paired(once)
    about = (
        f"Dist_G of trees and rule lists with as many leaves as rules ({BITS}); means over the splits, sizes that "
        "all of them have. Of the optimal trees with so many leaves the one that leaks least, dashed the one that "
        "leaks most."
    )
    table = ResultTable("matched-size", pairs,
                        "Trees beside rule lists of the same split, means over splits and sizes: how "
                  "many pairs, Dist_G and training accuracy of tree less list; at equal size (leaves = rules, "
                  "default included), and of each list beside the smallest tree at least as accurate; `unmatched`: "
                  "lists as accurate as no tree of the sizes looked at.")  # fmt: skip
    return ExperimentFindings(
        [table], [PanelFigure("matched-size", about, panels)], list(map(_matched_sentence, records(pairs)))
    )


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the lines of a frame."""
    return [{str(k): v for k, v in line.items()} for line in frame.to_dict("records")]


def _paired(once: pd.DataFrame) -> pd.DataFrame:
    """Return a line per data set and kind of learner: trees less lists at equal size and at equal accuracy."""
    out = []
    for _, name, part in by_dataset(once):
        for tree, rules in PAIRS:
            trees, lists = (part[part["learner"] == learner] for learner in (tree, rules))
            both = trees.merge(lists, on=["seed", "leaves"], suffixes=("_tree", "_list"))
            close, unmatched = [], 0
            for one in records(lists):
                able = trees[(trees["seed"] == one["seed"]) & (trees["errors"] <= one["errors"])]
                if not len(able):
                    unmatched += 1
                    continue
                chosen = able.sort_values("leaves").iloc[0]
                close.append((chosen["dist_g"] - one["dist_g"], chosen["leaves"] - one["leaves"]))
            if not len(both):
                continue
            gap, more = both["dist_g_tree"] - both["dist_g_list"], np.array(close).reshape(-1, 2)
            line = {
                "data": name, "models": tree.split()[0], "splits": part["seed"].nunique(),
                "least": int(both["leaves"].min()), "greatest": int(both["leaves"].max()), "pairs": len(both),
                "more_open": int((gap > 1e-12).sum()), "less_open": int((gap < -1e-12).sum()), "dist_g": gap.mean(),
                "accuracy": (both["train_accuracy_tree"] - both["train_accuracy_list"]).mean(),
                "at_accuracy_pairs": len(more), "unmatched": unmatched,
            }  # fmt: skip
            if len(more):
                line |= {
                    "at_accuracy_more_open": int((more[:, 0] > 1e-12).sum()), "at_accuracy_dist_g": more[:, 0].mean(),
                    "at_accuracy_leaves": more[:, 1].mean(),
                }  # fmt: skip
            if tree == OPTIMAL:
                worst = part[part["learner"] == MOST].merge(lists, on=["seed", "leaves"], suffixes=("_tree", "_list"))
                line["worst_less_open"] = int((worst["dist_g_tree"] < worst["dist_g_list"] - 1e-12).sum())
            out.append(line)
    return pd.DataFrame(out)


def _matched_sentence(one: dict[str, Any]) -> str:
    """Return one line of the pairs in words."""
    text = (
        f"Matched size, {one['data']}, {one['models']} models, {splits(one['splits'])}: with as many leaves as rules "
        f"({one['least']} to {one['greatest']}) the tree leaves more open than the rule list in {one['more_open']} "
        f"of {one['pairs']} pairs and less in {one['less_open']}, by {one['dist_g']:+.4f} of Dist_G on average, at "
        f"{100 * one['accuracy']:+.2f} points of training accuracy"
    )
    if one["models"] == "optimal":
        text += (
            " (the least leaking of the optimal trees with so many leaves; the most leaking leaves less open than "
            f"the list in {int(one['worst_less_open'])})"
        )
    if one["at_accuracy_pairs"]:
        text += (
            "; the smallest tree at least as accurate as a list leaves more open in "
            f"{int(one['at_accuracy_more_open'])} of {one['at_accuracy_pairs']} cases, by "
            f"{one['at_accuracy_dist_g']:+.4f} on average, with {one['at_accuracy_leaves']:+.1f} leaves "
            f"({one['unmatched']} lists are more accurate than every such tree)"
        )
    return text + ". The paper compares models of different sizes."


Curve = list[dict[str, Any]]  # the lines of one point, the least loss of accuracy first


def _curves_of(some: pd.DataFrame) -> list[Curve]:
    """Return the lines of every split."""
    return [sorted(records(part), key=lambda line: line["loss"]) for _, part in some.groupby("seed")]


def _at_tolerance(curve: Curve, tolerance: float) -> dict[str, Any]:
    """Return the last line of a curve that is within a tolerance."""
    return curve[max(0, bisect_right(curve, tolerance + 1e-9, key=lambda line: line["loss"]) - 1)]


def nearly_best(some: pd.DataFrame) -> ExperimentFindings:
    """Return how many trees are nearly as accurate as the best, and what choosing among them gains."""
    panels, lines, trees = [], [], []
    grid = np.arange(0.0, max(TOLERANCES) + STEP / 2, STEP)
    for dataset, name, part in by_dataset(some):
        drawn, frontier, minimal = [], [], part["minimal"].astype(bool)
        for _, deep in part[minimal].groupby("depth"):
            depth = int(deep["depth"].iloc[0])
            curves = _curves_of(deep)
            best = float(np.mean([_at_tolerance(curve, 0.0)["accuracy"] for curve in curves]))
            for end, other in (("most", "least"), ("least", "most")):
                means = [float(np.mean([_at_tolerance(c, float(t))[end] for c in curves])) for t in grid]
                least = f"depth {depth}, leaking least"
                drawn.append(
                    PlotLine(f"depth {depth}, leaking {other}", grid.tolist(), means, style="step")
                    if end == "most"
                    else PlotLine(f"depth {depth}, leaking {other}", grid.tolist(), means, style="dashed", like=least)
                )
                if end == "most":
                    accuracies = (best - grid[::-1] / 100).tolist()
                    frontier.append(PlotLine(f"depth {depth}, leaking least", accuracies, means[::-1], style="step"))
            for tolerance in TOLERANCES:
                lines.append(_tolerated(name, depth, tolerance, curves, part[~minimal]))
                first = _at_tolerance(curves[0], tolerance)
                trees.append({
                    "data": name, "depth": depth, "tolerance": tolerance, "errors": first["choice_errors"],
                    "dist_g": first["most"], "tree": first["choice"],
                })  # fmt: skip
        if drawn:
            panels.append(
                Panel(f"{name}, {ROWS[dataset]}", "training accuracy given up (percentage points)", "Dist_G", drawn)
            )
            panels.append(Panel(f"{name}, {ROWS[dataset]}", "training accuracy at least", "Dist_G", frontier))
    table = pd.DataFrame(lines)
    about = (
        "Dist_G of the trees within so many percentage points of the greatest training accuracy of their depth, of "
        f"the one that leaks least and of the one that leaks most; right, the former by accuracy; {BITS}; means over "
        "splits."
    )
    tables = [
        ResultTable("nearly-best-trees", table,
                    "All trees of a depth within a tolerance (percentage points of training "
              "accuracy), means over splits: Dist_G of those that leak most and least, of the optimal one that the "
              "learner returns, accuracy of the one that leaks least and its leaves, test accuracy less that of the "
              "least leaking among the optimal ones; the number of trees in the first split, without needless splits "
              "and with them (where counted)."),
        ResultTable("least-leaking-trees", pd.DataFrame(trees),
                    "The tree that leaks least within each tolerance, first "
              "split: (test ? where it holds : where not), at leaves the class and how many of the leaf's training "
              "rows have it."),
    ]  # fmt: skip
    return ExperimentFindings(tables, [PanelFigure("nearly-best-trees", about, panels)], _nearly_sentences(table))


def _tolerated(name: str, depth: int, tolerance: float, curves: list[Curve], all_kinds: pd.DataFrame) -> Any:
    """Return one line: means over splits at one tolerance."""
    found = [_at_tolerance(curve, tolerance) for curve in curves]
    best = [_at_tolerance(curve, 0.0) for curve in curves]
    more = _curves_of(all_kinds[(all_kinds["depth"] == depth) & (all_kinds["seed"] == curves[0][0]["seed"])])
    return {
        "data": name, "depth": depth, "tolerance": tolerance, "splits": len(curves),
        "least": np.mean([f["least"] for f in found]), "most": np.mean([f["most"] for f in found]),
        "returned": np.mean([f["returned"] for f in found]),
        "gain": np.mean([f["most"] - f["returned"] for f in found]),
        "accuracy_given_up": np.mean([f["choice_errors"] - b["errors"] for f, b in zip(found, best, strict=True)])
        / np.mean([b["errors"] / (1 - b["accuracy"]) for b in best]) * 100,
        "leaves": np.mean([f["choice_leaves"] for f in found]),
        "test_accuracy": np.mean([f["choice_test_accuracy"] for f in found]),
        "test_difference": np.mean([
            f["choice_test_accuracy"] - b["choice_test_accuracy"] for f, b in zip(found, best, strict=True)
        ]),
        "trees": found[0]["trees"],
        "trees_with_needless_splits": _at_tolerance(more[0], tolerance)["trees"] if more else "",
    }  # fmt: skip


def _nearly_sentences(table: pd.DataFrame) -> list[str]:
    """Return per data set, for the greatest depth, what is gained at each tolerance."""
    out = []
    for name, part in table.groupby("data", sort=False) if len(table) else ():
        deep = records(part[part["depth"] == part["depth"].max()])
        gains = "; ".join(
            f"within {one['tolerance']:g} points ({_words(one['trees'])} in the first split) {one['most']:.4f} "
            f"({one['gain']:+.4f}, test accuracy {100 * one['test_difference']:+.2f} points)"
            for one in deep
        )
        out.append(
            f"Nearly best trees, {name}, depth up to {deep[0]['depth']}, {splits(deep[0]['splits'])}: the optimal "
            f"tree that the learner returns has a Dist_G of {deep[0]['returned']:.4f}; the tree that leaks least has "
            f"{gains}. Exact over all trees of that depth and support."
        )
    return out


def _words(number: str) -> str:
    """Return a whole number in few digits."""
    return f"{int(number):,}" if len(number) < 8 else f"{float(number):.2g}"


def true_attributes(some: pd.DataFrame) -> ExperimentFindings:
    """Return the same models counted over independent bits and over true attributes."""
    keys = ["dataset", "learner", "limit"]
    values = [c for c in map(str, some) if c.split("_")[-1] in {"bits", "attributes"}]
    means = some.groupby(keys, as_index=False)[values].mean()
    panels, out = [], []
    for dataset, name, part in by_dataset(means):
        for what, label in (("dist_g", "Dist_G"), ("removed", "bits removed per row")):
            drawn = [
                PlotLine(str(learner), g[f"{what}_bits"].tolist(), g[f"{what}_attributes"].tolist())
                for learner, g in part.groupby("learner", sort=True)
            ]
            ends = [float(part[[f"{what}_bits", f"{what}_attributes"]].to_numpy().min()),
                    float(part[[f"{what}_bits", f"{what}_attributes"]].to_numpy().max())]  # fmt: skip
            drawn.append(PlotLine("equal", ends, ends, style="dashed"))
            panels.append(
                Panel(f"{name}, {ROWS[dataset]}", f"{label}, independent bits", f"{label}, true attributes", drawn)
            )
        top = part[part["limit"] == part.groupby("learner")["limit"].transform("max")]
        bits, attributes = part["before_bits"].iloc[0], part["before_attributes"].iloc[0]
        each = "; ".join(
            f"{one['learner']} (limit {one['limit']:g}) Dist_G {one['dist_g_bits']:.3f} and "
            f"{one['dist_g_attributes']:.3f}, {one['removed_bits']:.2f} and {one['removed_attributes']:.2f} bits "
            "removed per row"
            for one in records(top)
        )
        out.append(
            f"True attributes, {name}: a row has {bits:.2f} bits as independent columns but {attributes:.2f} as true "
            f"attributes, so that only one in 2^{bits - attributes:.1f} of the rows the paper counts can exist; "
            f"counted the one and the other way, {each}. Independent bits understate the share of what is known."
            if (top["dist_g_bits"] > top["dist_g_attributes"]).all()
            else f"True attributes, {name}: a row has {bits:.2f} bits and {attributes:.2f}; {each}."
        )
    about = (
        "The same models (means over splits) counted over columns as independent bits, as the paper does, and over "
        "true attributes (one-hot groups and nested thresholds are one attribute each); every point is a depth or "
        "length."
    )
    table = ResultTable("true-attributes", means,
                        "Means over splits: Dist_G, bits removed per row, log2 of the worlds, and "
                  "bits of a row before the release, over independent bits and over true attributes "
                  "(`assigned`).")  # fmt: skip
    return ExperimentFindings([table], [PanelFigure("true-attributes", about, panels)], out)


def rule_width(some: pd.DataFrame) -> ExperimentFindings:
    """Return rule lists with wider rules: accuracy and Dist_G."""
    once = some.drop_duplicates(["dataset", "seed", "learner", "leaves"])
    panels = _by_size_and_accuracy(once, "rules, default included")
    out = [sentence for _, name, part in by_dataset(once) for sentence in _width_sentences(name, part)]
    keys = ["dataset", "learner", "leaves"]
    known = once.assign(certified=once["certified"].astype(float))
    means = known.groupby(keys, as_index=False).agg(
        splits=("seed", "nunique"), certified=("certified", "mean"), errors=("errors", "mean"),
        bound=("bound", "mean"), train_accuracy=("train_accuracy", "mean"), test_accuracy=("test_accuracy", "mean"),
        dist_g=("dist_g", "mean"), bits_removed_per_row=("bits_removed_per_row", "mean"),
    )  # fmt: skip
    about = f"Dist_G of rule lists with rules of up to 1, 2, 3 literals; {BITS}; hollow: not proved optimal."
    table = ResultTable("rule-width", means,
                        "Means over the splits that have a list with so many rules (default included); "
                  "`certified`: the share proved optimal, `bound`: errors that no list falls below.")  # fmt: skip
    return ExperimentFindings([table], [PanelFigure("rule-width", about, panels)], out)


def _width_sentences(name: str, part: pd.DataFrame) -> list[str]:
    """Return, beside lists of width 1, what wider ones change at equal length and at equal accuracy."""
    out = []
    for kind in ("optimal", "greedy"):
        narrow = part[part["learner"] == f"{kind}, width 1"]
        for width in (2, 3):
            wide = part[part["learner"] == f"{kind}, width {width}"]
            both = narrow.merge(wide, on=["seed", "leaves"], suffixes=("_1", "_w"))
            if not len(both):
                continue
            gap = both["dist_g_w"] - both["dist_g_1"]
            close = []
            for one in records(narrow):
                able = wide[(wide["seed"] == one["seed"]) & (wide["errors"] <= one["errors"])]
                if len(able):
                    close.append(float(able.sort_values("leaves")["dist_g"].iloc[0]) - one["dist_g"])
            text = (
                f"Rule width, {name}, {kind} lists: with as many rules, up to {width} literals instead of 1 change "
                f"training accuracy by {100 * (both['train_accuracy_w'] - both['train_accuracy_1']).mean():+.2f} "
                f"points and Dist_G by {gap.mean():+.4f} on average ({len(both)} pairs)"
            )
            if close:
                text += (
                    "; the shortest of them at least as accurate as a list of width 1 changes Dist_G by "
                    f"{np.mean(close):+.4f} ({len(close)} of {len(narrow)} lists have one)"
                )
            if kind == "optimal":
                text += f"; {int(wide['certified'].astype(float).sum())} of {len(wide)} of the wider are proved optimal"
            out.append(text + ".")
    return out
