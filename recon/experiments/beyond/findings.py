"""What the results say about people and worlds: groups, joined models, noise; and the findings of all questions.

What the results say about models: equal sizes and accuracies, nearly best trees, true attributes, wider rules.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import pandas as pd

from recon.experiments.beyond.groups import CHANCE, DRAWS, LEAST_ROWS
from recon.experiments.drawing import Panel, PlotLine
from recon.experiments.experiment import ExperimentFindings
from recon.experiments.findings import Texts, by_title, of_questions, records
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
    return by_title(some, NAMES)


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
    table = TEXTS.table("matched-size", pairs)  # fmt: skip
    return ExperimentFindings(
        [table], [TEXTS.figure("matched-size", panels)], list(map(_matched_sentence, records(pairs)))
    )


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
    tables = [
        TEXTS.table("nearly-best-trees", table),
        TEXTS.table("least-leaking-trees", pd.DataFrame(trees)),
    ]  # fmt: skip
    return ExperimentFindings(tables, [TEXTS.figure("nearly-best-trees", panels)], _nearly_sentences(table))


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
        each = "; ".join(TEXTS.say("true-attributes", one=one) for one in records(top))
        out.append(
            f"True attributes, {name}: a row has {bits:.2f} bits as independent columns but {attributes:.2f} as true "
            f"attributes, so that only one in 2^{bits - attributes:.1f} of the rows the paper counts can exist; "
            f"counted the one and the other way, {each}. Independent bits understate the share of what is known."
            if (top["dist_g_bits"] > top["dist_g_attributes"]).all()
            else f"True attributes, {name}: a row has {bits:.2f} bits and {attributes:.2f}; {each}."
        )
    table = TEXTS.table("true-attributes", means)  # fmt: skip
    return ExperimentFindings([table], [TEXTS.figure("true-attributes", panels)], out)


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
    table = TEXTS.table("rule-width", means)  # fmt: skip
    return ExperimentFindings([table], [TEXTS.figure("rule-width", panels)], out)


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


TEXTS = Texts("beyond", BITS=BITS, CHANCE=CHANCE, DRAWS=DRAWS, LEAST_ROWS=LEAST_ROWS)

DRAWN = {"compas27": ("race", "sex", "age"), "adult24": ("sex and age",)}  # kinds of groups with a panel
PERHAPS = ("certified", "bound", "gap", "chance", "removed_confidence")  # figures that no line may have
EVERYBODY = "everybody"
ACROSS, DOWN = "optimal trees", "optimal rule lists"


def findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the figures, tables and sentences of all questions that have results."""
    return of_questions(results, QUESTIONS, PERHAPS)


def _groups_in_order(some: pd.DataFrame, keys: list[str]) -> list[tuple[Any, pd.DataFrame]]:
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
    gaps = _differences(some)
    tables = [
        TEXTS.table("groups", means),
        TEXTS.table("group-gaps", gaps),
    ]  # fmt: skip
    return ExperimentFindings(tables, [TEXTS.figure("groups", panels)], _gap_sentences(gaps))


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
    for (dataset, kind), part in _groups_in_order(some, ["dataset", "kind"]):
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


def _joint_table(some: pd.DataFrame) -> ExperimentFindings:
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
    table = TEXTS.table("joined", means)  # fmt: skip
    return ExperimentFindings([table], [TEXTS.figure("joined", panels)], list(_joined_sentences(means, alone)))


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
    for (dataset, rows), part in _groups_in_order(means[means["convention"] == "multiset"], ["dataset", "rows"]):
        largest = max(part["models"], key=len)
        named = {one["models"]: one for one in records(part)}
        whole = named[largest]
        each = ", ".join(f"{name} {_bits_text(named[name])}" for name in largest.split(" + ") if name in named)
        seeds = alone[(alone["dataset"] == dataset) & (alone["rows"] == rows)]["seed"].nunique()
        same = means[(means["dataset"] == dataset) & (means["rows"] == rows) & (means["models"] == largest)]
        order = records(same[same["convention"] == "ordered"])
        exact = "exact" if part["exact"].min() == 1 else f"exact in {part['exact'].mean():.0%} of counts, else bounds"
        yield (
            f"Joined, {NAMES[str(dataset)]}, {whole['n']:,.0f} rows, {splits(seeds)} ({exact}): of "
            f"2^{whole['before']:,.0f} datasets {_span(whole, 'log2', ',.0f', '2^')} are left by {largest} together; "
            f"bits removed per row: {each}; together {_bits_text(whole)}, against {whole['added']:.3f} if what each "
            "removes added up"
            + (
                f"; with the rows in order {_bits_text(order[0])} of {order[0]['before'] / order[0]['n']:.2f}"
                if order
                else ""
            )
            + "."
        )


def _span(one: dict[str, Any], name: str, form: str, before: str = "") -> str:
    """Return a figure or its bounds in words."""
    low, high = (f"{before}{one[f'{name}_{end}']:{form}}" for end in ("low", "high"))
    return low if low == high else f"{low} to {high}"


def _bits_text(one: dict[str, Any]) -> str:
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
    table = TEXTS.table("noise", means)  # fmt: skip
    return ExperimentFindings([table], [TEXTS.figure("noise", panels)], _noise_sentences(means))


LABELS = {
    "removed_counts": "posterior, prior counts",
    "removed_worlds": "posterior, prior worlds",
    "removed_confidence": "for certain at 0.95",
}


def _noise_sentences(means: pd.DataFrame) -> list[str]:
    """Return per data set, rows and learner what is removed at each ε, as a share of what exact counts remove."""
    out = []
    for (dataset, rows, learner), part in _groups_in_order(means, ["dataset", "rows", "learner"]):
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
    "joined": _joint_table,
    "noise": _noise,
}
