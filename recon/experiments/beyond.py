"""The experiment: seven questions beyond the paper's figures, on the paper's data, splits and learners.

Models of equal size and of wider rules; the same models over true attributes beside independent bits; trees nearly as
accurate as the best, and which of them leaks least; what noise on the counts leaves; which groups are exposed; what a
tree, a rule list and a forest of the same rows say together.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.domain.domain import Domain
from encoders.domain.values import Categorical
from encoders.encode.encoder import EncodedRelease
from encoders.encode.encoder import encode as encode_models
from encoders.models.models import AnyModel
from recon.experiments.experiment import Declaration, Line, Point, Row, named_lines, records, where, with_columns
from recon.experiments.ferry2024 import DEEPEST, FITS, LimitedFit, least_rows, row, with_bounds
from recon.experiments.fits import (
    COUNTED,
    NAMES,
    TrainTestSplit,
    WorldsLeft,
    confident_worlds,
    domain_of,
    fitted,
    noisy_draws,
    released,
    train_test_sample,
    worlds_left,
)
from recon.learners.optimal.lists.optimal_rule_list import OptimalRuleListClassifier
from recon.learners.optimal.trees.optimal_tree import OptimalTreeClassifier, optimal_trees, trees_by_leaves
from recon.learners.optimal.trees.table import TreeNode, leaves
from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier
from recon.queries.answers.counting import count
from recon.queries.measures.measures import measure
from recon.queries.measures.sweeping import accuracy, exact_counts, removed_per_row, taken_by_the_prior
from recon.queries.noisy.posterior import posterior
from recon.readers.frames.selections import raw_indices
from recon.readers.frames.world import TrueRows
from recon.readers.loading.loading import models_of
from recon.release.auditing.persons.row_groups import row_groups
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.noisy.posteriors.posterior import Prior
from solvers.statements.questions.query import Convention
from solvers.statements.release import RowCount


def _figures(learner: str, fits: Iterator[LimitedFit], some: TrainTestSplit, limits: Limits) -> Iterator[Row]:
    """Yield the figures of models as in the paper's experiment, without the leaks per row."""
    domain = domain_of(some.whole)
    for fit in fits:
        limits.check("models are counted")
        found = row(fit, some, domain, limits)
        found.pop("leaks")
        yield {"learner": learner, **found}


def matched(point: Point, some: TrainTestSplit, limits: Limits) -> list[Row]:
    """Return trees and rule lists, optimal and greedy, with 2, 3, ... `most_leaves` leaves or rules (default included).

    Of the optimal trees with so many leaves two: the one that leaves most open, and the one that leaves least.
    """
    least, seconds = least_rows(point, some), point["cap_seconds"]
    found = trees_by_leaves(some.x, some.y, point["most_leaves"], least, seconds, limits.memory, limits.stop)
    chosen = {"optimal trees": [(t.leaves, t.fewest_tree) for t in found],
              "optimal trees that leak most": [(t.leaves, t.most_tree) for t in found]}  # fmt: skip
    out: list[Row] = []
    for learner, trees in chosen.items():
        out += _figures(learner, (LimitedFit(size, tree, tree.bound_) for size, tree in trees), some, limits)
    settings = {"min_samples_leaf": least, "random_state": 1 + point["seed"]}
    grown = (LimitedFit(size, fitted("tree", some.x, some.y, max_leaf_nodes=size, **settings))
             for size in range(2, point["most_leaves"] + 1))  # fmt: skip
    out += _figures("greedy trees", grown, some, limits)
    for learner in ("optimal rule lists", "greedy rule lists"):
        short = (fit for fit in FITS[learner](point, some, limits) if fit.limit < point["most_leaves"])
        out += _figures(learner, short, some, limits)
    return out


def attributes(point: Point, some: TrainTestSplit, limits: Limits) -> list[Row]:
    """Return the same models of one learner counted over independent bits and over true attributes."""
    domains = {counted: domain_of(some.whole, counted) for counted in COUNTED}
    out = []
    for fit in FITS[point["learner"]](point, some, limits, point["depth"]):
        line: Row = {"limit": fit.limit}
        for counted, domain in domains.items():
            found = measure(released(fit.model, domain), "assigned", limits)
            line |= {
                f"dist_g_{counted}": found.dist_g, f"removed_{counted}": found.bits_removed_per_row,
                f"log2_worlds_{counted}": found.entropy_bits,
                f"before_{counted}": None if found.uninformed_bits is None else found.uninformed_bits / some.rows,
            }  # fmt: skip
        out.append(line)
    return out


def widths(point: Point, some: TrainTestSplit, limits: Limits) -> list[Row]:
    """Return rule lists with rules of up to `width` literals and up to so many rules."""
    learner = f"{point['kind']}, width {point['width']}"
    if point["kind"] == "greedy":
        found: Any = GreedyRuleListClassifier(point["width"], point["support"], DEEPEST + 1)
        fits = _beginnings(found.fit(some.x, some.y))
    else:
        found = OptimalRuleListClassifier(DEEPEST, point["support"], seconds=point["cap_seconds"], width=point["width"])
        fits = with_bounds(found.fit(some.x, some.y, limits.stop))
    return list(_figures(learner, fits, some, limits))


def _beginnings(found: Any) -> Iterator[LimitedFit]:
    """Yield the lists of the first 1, 2, ... rules of a greedy list: greedy lists are beginnings of one another."""
    whole: Sequence[Any] = found.rules_
    for length in range(1, len(whole)):
        rest = [sum(counts) for counts in zip(*(counts for _, counts in whole[length:]), strict=True)]
        found.rules_ = [*whole[:length], ((), rest)]
        yield LimitedFit(length, found)


CONVENTIONS: tuple[Convention, ...] = ("ordered", "multiset")  # rows in order; datasets without an order
Names = tuple[str, ...]


def joint_worlds(point: Point, some: TrainTestSplit, limits: Limits) -> list[Row]:
    """Return the worlds left by every combination of three models of the first `rows` training rows (0: of all)."""
    n = point["rows"] or some.rows
    domain = domain_of(some.whole, "attributes")
    parts = _three_models(point, some.x.head(n), some.y.head(n), domain, limits)
    named = [chosen for size in range(1, len(parts) + 1) for chosen in combinations(parts, size)]
    out: list[Row] = []
    for convention in CONVENTIONS:
        found: dict[Names, WorldsLeft] = {}
        for chosen in named:
            limits.check("worlds are counted")
            release = encode_models(domain, [model for name in chosen for model in parts[name]], RowCount(n, n))
            found[chosen] = worlds_left(release, convention, point["cap_seconds"], limits)
        out += _lines(found, convention)
    return out


def _lines(found: Mapping[Names, WorldsLeft], convention: Convention) -> list[Row]:
    """Return a line per combination: log2 of the worlds and bits removed per row, at least and at most.

    More models leave no more worlds, so that bounds on some models bound others.
    """
    out: list[Row] = []
    for chosen, left in found.items():
        high = min(other.high for names, other in found.items() if set(names) <= set(chosen))
        low = max(other.low for names, other in found.items() if set(names) >= set(chosen))
        bounds = replace(left, low=low, high=high)
        out.append({"models": " + ".join(chosen), "convention": convention, "n": left.rows, **bounds.row()})
    return out


def _three_models(point: Point, x: Any, y: Any, domain: Domain, limits: Limits) -> dict[str, list[AnyModel]]:
    """Return an optimal tree, an optimal rule list and a forest (no bootstrap) of the same rows."""
    least, seconds = max(1, int(point["support"] * len(x))), point["fit_seconds"]
    tree = optimal_trees(x, y, point["depth"], least, seconds, stop=limits.stop)[-1]
    rules = OptimalRuleListClassifier(point["rules"], least, seconds=seconds).fit(x, y, limits.stop)
    forest = fitted("forest", x, y, n_estimators=point["forest_trees"], max_depth=point["forest_depth"],
                    min_samples_leaf=least, bootstrap=False, random_state=1 + point["seed"])  # fmt: skip
    return {"tree": [tree.to_model(label_values=tree.classes_.tolist())], "rule list": [rules.to_model()],
            "forest": list(models_of(forest, domain))}  # fmt: skip


ATTRIBUTES: dict[str, dict[str, str]] = {  # what groups people -> attribute of the domain
    "compas27": {"race": "Race", "sex": "Gender=Male", "age": "Age"},
    "adult24": {"sex": "gender", "age": "age"},
}
TOGETHER = {"compas27": ("race", "sex"), "adult24": ("sex", "age")}  # whose combinations are subgroups
GROUP_NAMES: dict[str, Mapping[object, str]] = {
    "Gender=Male": {0: "women", 1: "men"},
    "gender": {"Female": "women", "Male": "men"},
    "age": {"low": "age low", "high": "age high"},  # as the published data call them
}
LEAST_ROWS = 30  # of a group that differences are taken of: means of fewer rows say little
DRAWS = 200  # of random groups of the same sizes
CHANCE = 0.95  # of such draws differ less than the figure called chance
EXPOSED = 0.1  # of all rows, those with the most bits removed, are called most exposed


def by_group(point: Point, some: TrainTestSplit, limits: Limits) -> list[Row]:
    """Return a line per way of counting, kind of group and group, for the largest model of one learner."""
    *_, fit = FITS[point["learner"]](point, some, limits, point["depth"])
    groups = _groups_of(point.dataset, some)
    out: list[Row] = []
    for counted in COUNTED:
        release = released(fit.model, domain_of(some.whole, counted))
        removed, before = removed_bits(release, some, limits)
        line: Row = {"limit": fit.limit, "counted": counted, "before": before}
        out += (line | one for kind, names in groups.items() for one in _exposures(kind, names, removed, before, point))
    return out


def _groups_of(dataset: str, some: TrainTestSplit) -> dict[str, NDArray[np.str_]]:
    """Return the group of every training row, by what groups people; "everybody" first."""
    domain = domain_of(some.whole, "attributes")
    values = raw_indices(domain, some.training)
    out = {"everybody": np.full(some.rows, "everybody")}
    for kind, name in ATTRIBUTES[dataset].items():
        k = domain.place[name]
        words = GROUP_NAMES.get(name, {})
        attribute = domain.all[k]
        assert isinstance(attribute, Categorical)
        texts = np.array([words.get(v, str(v)) for v in attribute.values])
        out[kind] = texts[values[:, k]]
    both = TOGETHER[dataset]
    pairs = zip(*(out[kind].tolist() for kind in both), strict=True)
    return out | {" and ".join(both): np.array([", ".join(pair) for pair in pairs])}


def removed_bits(release: EncodedRelease, some: TrainTestSplit, limits: Limits) -> tuple[NDArray[np.float64], float]:
    """Return the bits that a tree or rule list removes about each training row, and the bits of a row before.

    Conditional on the row's leaf or rule and its label (`assigned`), as in the paper.
    """
    if release.statements.single is None:
        raise Unsupported("exposure by group is told for one tree or rule list")
    figures = measure(release, "assigned", limits)
    found = row_groups(release, figures, TrueRows.of(release, some.training), limits)
    lines = figures.exposure
    before = float((lines["bits_left"] + lines["bits_removed"]).iloc[0])
    return before - found.bits_left, before


def _among_most(removed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return of every row the chance to be among the most exposed, rows exposed alike being drawn by lot."""
    wanted, rounded = EXPOSED * len(removed), np.round(removed, 9)
    last = np.sort(rounded)[::-1][max(0, int(np.ceil(wanted)) - 1)]
    above, level = rounded > last, rounded == last
    return np.where(above, 1.0, np.where(level, (wanted - above.sum()) / level.sum(), 0.0))


def _exposures(
    kind: str, names: NDArray[np.str_], removed: NDArray[np.float64], before: float, point: Point
) -> list[Row]:
    """Return a line per group: rows, bits removed per row, Dist_G, the share of its rows among the most exposed tenth.

    `gap`: the greatest difference of bits removed per row between two groups of `LEAST_ROWS` rows or more;
    `chance`: what `CHANCE` of random groups of the same sizes stay below.
    """
    found, group = np.unique(names, return_inverse=True)
    group = group.reshape(-1)
    rows = np.bincount(group)
    means = np.bincount(group, removed) / rows
    shares = np.bincount(group, _among_most(removed)) / rows
    large = rows >= LEAST_ROWS
    gap = chance = None
    if large.sum() > 1:
        dice = np.random.default_rng(point["seed"])
        gap = float(np.ptp(means[large]))
        drawn = [float(np.ptp((np.bincount(group, dice.permutation(removed)) / rows)[large])) for _ in range(DRAWS)]
        chance = float(np.quantile(drawn, CHANCE))
    return [
        {
            "kind": kind, "group": str(found[g]), "rows": int(rows[g]), "share": float(rows[g] / len(names)),
            "removed": float(means[g]), "dist_g": 1 - float(means[g]) / before, "exposed": float(shares[g]),
            "gap": gap, "chance": chance,
        }
        for g in range(len(found))
    ]  # fmt: skip


DECLARED = Declaration("beyond", NAMES=NAMES, CHANCE=CHANCE, DRAWS=DRAWS, LEAST_ROWS=LEAST_ROWS)
PRIORS: tuple[Prior, ...] = ("counts", "worlds")
TOLERANCES = (0.0, 0.1, 0.5, 1.0, 2.0)  # percentage points of training accuracy
STEP = 0.05  # of the curves over them
OPTIMAL, MOST = "optimal trees", "optimal trees that leak most"
PAIRS = ((OPTIMAL, "optimal rule lists"), ("greedy trees", "greedy rule lists"))
DRAWN = {"compas27": ("race", "sex", "age"), "adult24": ("sex and age",)}  # kinds of groups with a panel
SAME = ["dataset", "seed", "learner", "leaves"]  # models of other points that are the same
EVERYBODY = "everybody"


def _with_titles(frame: pd.DataFrame) -> pd.DataFrame:
    """Return lines in the order of the data sets, with their titles and training rows in words."""
    found = named_lines(frame, NAMES)
    return found.assign(sized=found["dataset"].map(DECLARED["ROWS"])) if len(found) else found


def _sizes(once: pd.DataFrame) -> pd.DataFrame:
    """Return means over splits by size, of the sizes that all splits have, hollow where some model is not certified."""
    keys = ["dataset", "learner"]
    splits = once.groupby([*keys, "leaves"])["seed"].transform("nunique")
    some = once[splits == once.groupby(keys)["seed"].transform("nunique")]
    some = some.assign(size=some["leaves"], open=some["certified"].astype(float).fillna(1) != 1)
    how = {"size": "mean", "train_accuracy": "mean", "dist_g": "mean", "open": "any"}
    found = some.groupby([*keys, "leaves"], as_index=False).agg(how)
    return _with_titles(found.assign(hollow=found["open"], most=found["learner"] == MOST))


def _as_accurate(few: pd.DataFrame, many: pd.DataFrame) -> pd.DataFrame:
    """Return of each of `few` how much more the smallest of `many` at least as accurate leaves open, and its size."""
    out = []
    for one in records(few):
        able = many[(many["seed"] == one["seed"]) & (many["errors"] <= one["errors"])]
        if len(able):
            chosen = able.sort_values("leaves").iloc[0]
            out.append((chosen["dist_g"] - one["dist_g"], chosen["leaves"] - one["leaves"]))
    return pd.DataFrame(out, columns=["dist_g", "leaves"])


def _matched_size(some: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return trees beside rule lists with as many leaves as rules, and beside those as accurate."""
    once, out = with_columns(some, "certified", "bound").drop_duplicates(SAME), []
    for name, part in named_lines(once, NAMES).groupby("title", sort=False):
        for tree, rules in PAIRS:
            trees, lists = (where(part, learner=learner) for learner in (tree, rules))
            both = trees.merge(lists, on=["seed", "leaves"], suffixes=("_tree", "_list"))
            if not len(both):
                continue
            gap, close = both["dist_g_tree"] - both["dist_g_list"], _as_accurate(lists, trees)
            line = {
                "data": name, "models": tree.split()[0], "splits": part["seed"].nunique(),
                "least": int(both["leaves"].min()), "greatest": int(both["leaves"].max()), "pairs": len(both),
                "more_open": int((gap > 1e-12).sum()), "less_open": int((gap < -1e-12).sum()), "dist_g": gap.mean(),
                "accuracy": (both["train_accuracy_tree"] - both["train_accuracy_list"]).mean(),
                "at_accuracy_pairs": len(close), "unmatched": len(lists) - len(close),
            }  # fmt: skip
            if len(close):
                line |= {"at_accuracy_more_open": int((close["dist_g"] > 1e-12).sum()),
                         "at_accuracy_dist_g": close["dist_g"].to_numpy().mean(),
                         "at_accuracy_leaves": close["leaves"].mean()}  # fmt: skip
            if tree == OPTIMAL:
                worst = where(part, learner=MOST).merge(lists, on=["seed", "leaves"], suffixes=("_tree", "_list"))
                line["worst_less_open"] = int((worst["dist_g_tree"] < worst["dist_g_list"] - 1e-12).sum())
            out.append(line)
    pairs = pd.DataFrame(out)
    return {"matched-size": pairs, "pairs": pairs, "sizes": _sizes(once)}


def _curves_of(some: pd.DataFrame) -> list[list[Line]]:
    """Return the lines of every split, the least loss of accuracy first."""
    return [sorted(records(part), key=lambda line: line["loss"]) for _, part in some.groupby("seed")]


def _at_tolerance(curve: list[Line], tolerance: float) -> Line:
    """Return the last line of a curve that is within a tolerance."""
    return curve[max(0, bisect_right(curve, tolerance + 1e-9, key=lambda line: line["loss"]) - 1)]


def _nearly_best_frames(some: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return how many trees are nearly as accurate as the best, and what choosing among them gains."""
    lines, trees, drawn = [], [], []
    grid = np.arange(0.0, max(TOLERANCES) + STEP / 2, STEP).tolist()
    for (dataset, name), part in named_lines(some, NAMES).groupby(["dataset", "title"], sort=False):
        minimal = part["minimal"].astype(bool)
        for _, deep in part[minimal].groupby("depth"):
            curves, depth = _curves_of(deep), int(deep["depth"].iloc[0])
            best = float(np.mean([_at_tolerance(curve, 0.0)["accuracy"] for curve in curves]))
            for t in grid:
                at = [_at_tolerance(curve, t) for curve in curves]
                ends = {end: float(np.mean([one[end] for one in at])) for end in ("most", "least")}
                drawn.append({"dataset": dataset, "depth": depth, "given_up": t, "at_least": best - t / 100, **ends})
            for tolerance in TOLERANCES:
                lines.append(_tolerated(str(name), depth, tolerance, curves, part[~minimal]))
                first = _at_tolerance(curves[0], tolerance)
                trees.append({"data": name, "depth": depth, "tolerance": tolerance,
                              "errors": first["choice_errors"], "dist_g": first["most"],
                              "tree": first["choice"]})  # fmt: skip
    table = pd.DataFrame(lines)
    words = [f"{int(one):,}" if len(one) < 8 else f"{float(one):.2g}" for one in table["trees"]] if lines else []
    return {"nearly-best-trees": table, "least-leaking-trees": pd.DataFrame(trees),
            "nearly": table.assign(trees_words=words), "tolerated": _with_titles(pd.DataFrame(drawn))}  # fmt: skip


def _tolerated(name: str, depth: int, tolerance: float, curves: list[list[Line]], all_kinds: pd.DataFrame) -> Line:
    """Return one line: means over splits at one tolerance."""
    found, best = (pd.DataFrame([_at_tolerance(curve, at) for curve in curves]) for at in (tolerance, 0.0))
    more = _curves_of(where(all_kinds, depth=depth, seed=curves[0][0]["seed"]))
    rows = (best["errors"] / (1 - best["accuracy"])).mean()
    tests = found["choice_test_accuracy"]
    return {
        "data": name, "depth": depth, "tolerance": tolerance, "splits": len(curves), "least": found["least"].mean(),
        "most": found["most"].mean(), "returned": found["returned"].mean(),
        "gain": (found["most"] - found["returned"]).mean(),
        "accuracy_given_up": (found["choice_errors"] - best["errors"]).mean() / rows * 100,
        "leaves": found["choice_leaves"].mean(), "test_accuracy": tests.mean(),
        "test_difference": (tests - best["choice_test_accuracy"]).mean(), "trees": found["trees"].iloc[0],
        "trees_with_needless_splits": _at_tolerance(more[0], tolerance)["trees"] if more else "",
    }  # fmt: skip


def _true_attributes(some: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the same models counted over independent bits and over true attributes."""
    values = [c for c in map(str, some) if c.split("_")[-1] in {"bits", "attributes"}]
    means = some.groupby(["dataset", "learner", "limit"], as_index=False)[values].mean()
    drawn = _with_titles(means)
    loosest = drawn[drawn["limit"] == drawn.groupby(["dataset", "learner"])["limit"].transform("max")]
    return {"true-attributes": means, "attributes": drawn, "loosest": loosest.assign(name=loosest["title"])}


def _rule_width(some: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return rule lists with wider rules: accuracy and Dist_G, at equal length and at equal accuracy."""
    once, out = with_columns(some, "certified", "bound").drop_duplicates(SAME), []
    for name, part in named_lines(once, NAMES).groupby("title", sort=False):
        for kind, width in ((kind, width) for kind in ("optimal", "greedy") for width in (2, 3)):
            narrow, wide = (where(part, learner=f"{kind}, width {n}") for n in (1, width))
            both = narrow.merge(wide, on=["seed", "leaves"], suffixes=("_1", "_w"))
            if not len(both):
                continue
            close = _as_accurate(narrow, wide)
            out.append({
                "name": name, "kind": kind, "width": width, "pairs": len(both), "narrow": len(narrow),
                "accuracy": (both["train_accuracy_w"] - both["train_accuracy_1"]).mean(), "wide": len(wide),
                "dist_g": (both["dist_g_w"] - both["dist_g_1"]).mean(), "close": len(close),
                "close_dist_g": close["dist_g"].mean(), "proved": wide["certified"].astype(float).sum(),
            })  # fmt: skip
    means = DECLARED.frame("rule-width", once.assign(certified=once["certified"].astype(float)))
    return {"rule-width": means, "widths": _sizes(once), "wider": pd.DataFrame(out)}


def _groups(some: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return how exposed the rows of each group are, and the greatest differences."""
    keys = ["dataset", "counted", "learner", "kind", "group"]
    means = some.groupby(keys, as_index=False)[["rows", "share", "removed", "dist_g", "exposed"]].mean()
    true = where(means, counted="attributes")
    across, down = (where(true, learner=learner) for learner in (OPTIMAL, "optimal rule lists"))
    both = across.merge(down[["dataset", "kind", "group", "removed"]], on=["dataset", "kind", "group"],
                        suffixes=("", "_down")).sort_values("group")  # fmt: skip
    sized = both["group"] + both["rows"].map(" ({:,.0f})".format).astype(str)  # of no rows it would stay a number
    both = both.assign(label=sized.where(both["group"] != EVERYBODY, EVERYBODY))
    drawn = [where(both, dataset=dataset, kind=(kind, EVERYBODY)).assign(drawn=kind)
             for dataset, kinds in DRAWN.items() for kind in kinds]  # fmt: skip
    gaps = _differences(some)
    widest = named_lines(where(gaps, counted="attributes").sort_values("kind") if len(gaps) else gaps, NAMES)
    return {"groups": means, "exposed": _with_titles(pd.concat(drawn)), "group-gaps": gaps, "gaps": widest}


def _differences(some: pd.DataFrame) -> pd.DataFrame:
    """Return the greatest difference per data set, way of counting, learner and kind of group."""
    some = with_columns(some, "gap", "chance")
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


def _joined_models(some: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return what models leave alone, in pairs, and all together, beside what each removes, added up (midpoints)."""
    keys = ["dataset", "rows", "convention", "models"]
    values = ["n", "exact", "before", "log2_low", "log2_high", "removed_low", "removed_high", "added"]
    middle = some.assign(middle=(some["removed_low"] + some["removed_high"]) / 2)
    case = [*keys[:3], "seed"]
    parts = middle.assign(models=middle["models"].str.split(" + ", regex=False), line=middle.index).explode("models")
    own = middle[[*case, "models", "middle"]].drop_duplicates([*case, "models"], keep="last")
    sums = parts[[*case, "models", "line"]].merge(own, on=[*case, "models"], how="left")
    alone = some.assign(added=sums.groupby("line")["middle"].agg(lambda one: one.sum(skipna=False)))
    means = alone.assign(exact=alone["exact"].astype(float)).groupby(keys, as_index=False)[values].mean()
    means = means.assign(size=means["models"].str.count(r"\+")).sort_values([*keys[:3], "size"]).drop(columns="size")
    shown = named_lines(where(alone, convention="multiset"), NAMES).astype({"n": int})
    shown = shown.sort_values("rows", kind="stable").assign(spot=range(len(shown)))
    ends = (shown["removed_low"], shown["removed_high"], pd.Series(np.nan, shown.index))
    spans = pd.concat([shown.assign(removed=value, part=k) for k, value in enumerate(ends)])
    spans = named_lines(spans.sort_values(["spot", "part"]), NAMES)
    most = spans.groupby(["dataset", "rows"])["added"].transform("max")
    spans = spans.assign(from_zero=np.where(spans.groupby(["dataset", "rows"]).cumcount() == 0, 0.0, most))
    words = {"span": _spans(means, "removed", "{:.3f}"), "worlds": _spans(means, "log2", "2^{:,.0f}")}
    splits = alone.groupby(["dataset", "rows"])["seed"].nunique().rename("splits").reset_index()
    told = named_lines(means.assign(**words).merge(splits, on=["dataset", "rows"]), NAMES)
    return {"joined": means, "spans": spans, "together": where(told, convention="multiset"),
            "in_order": where(told, convention="ordered")}  # fmt: skip


def _spans(frame: pd.DataFrame, name: str, form: str) -> list[str]:
    """Return a figure or its bounds in words."""
    ends = zip(frame[f"{name}_low"], frame[f"{name}_high"], strict=True)
    return [" to ".join(dict.fromkeys(map(form.format, pair))) for pair in ends]


def _noise(some: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return what noisy counts remove, by the posterior of two priors and for certain at the confidence."""
    lines = with_columns(some, "removed_confidence")
    empty, exact = ((lines["status"] == word).astype(float) for word in ("empty", "exact"))
    released = np.where(lines["epsilon"] > 0, lines["epsilon"], np.inf)
    keys = ["dataset", "rows", "learner"]
    values = ["accuracy", *(f"removed_{name}" for name in ("counts", "worlds", "confidence")), "empty", "exact",
              "prior_alone_counts"]  # fmt: skip
    lines = lines.assign(empty=empty, exact=exact, released=released)
    means = lines.groupby([*keys, "released"], as_index=False)[[v for v in values if v in lines]].mean()
    drawn = _with_titles(means).astype({"rows": int})
    sized = drawn["sized"].where(drawn["rows"] == 0, drawn["rows"].map("{:,} rows".format))
    words = [f"{rows:,}" if rows else "all" for rows in drawn["rows"]]
    drawn = drawn.assign(noisy=np.isfinite(drawn["released"]), sized=sized, sized_words=words)
    true, noisy = where(drawn, noisy=False), where(drawn, noisy=True)
    ends = noisy.groupby(keys)["released"].agg(["min", "max"]).reset_index()
    ends = true.merge(ends, on=keys, how="left").fillna({"min": 0.1, "max": 10.0})
    whole = noisy.merge(true[[*keys, "removed_counts"]], on=keys, suffixes=("", "_true"))
    names = ("counts", "worlds", "confidence")
    shares = {f"of_{name}": whole[f"removed_{name}"] / whole["removed_counts_true"] for name in names}
    whole = whole.assign(whole=whole["removed_counts_true"], **shares)
    return {"noise": means, "private": drawn, "noisy": whole,
            "without-noise": pd.concat([ends.assign(end=ends[end]) for end in ("min", "max")])}  # fmt: skip


def _noised(point: Point, some: TrainTestSplit, limits: Limits) -> list[Row]:
    """Return a line per draw of discrete Laplace noise on the counts of one model, and one without noise (ε 0).

    The model is of the first `rows` training rows (0: of all). Posteriors of both priors, and the worlds at the joint
    confidence of 0.95: of worlds that are only bounded the most there can be.
    """
    n = point["rows"] or some.rows
    part = replace(some, x=some.x.head(n), y=some.y.head(n))
    fits = FITS[point["learner"]](point, part, limits, point["depth"])
    fit = next(one for one in fits if one.limit == point["limit"])
    release = released(fit.model, domain_of(some.whole))
    block, truth = exact_counts(release)
    left = count(release, "ordered", limits).bounds[1]
    out: list[Row] = [{
        "epsilon": 0.0, "draw": 0, "accuracy": accuracy(block, truth, truth.astype(np.float64)), "counts": len(truth),
        "removed_confidence": removed_per_row(release, left, limits), "log2_confidence": left, "status": "exact",
        **{f"removed_{prior}": removed_per_row(release, left, limits) for prior in PRIORS},
        **{f"prior_alone_{prior}": taken_by_the_prior(release, truth, prior, limits) for prior in PRIORS},
    }]  # fmt: skip
    for draw, private in enumerate(noisy_draws(release, point["epsilon"], point["draws"], point["seed"], limits)):
        line: Row = {"epsilon": float(point["epsilon"]), "draw": draw, "counts": len(truth)}
        for prior in PRIORS:
            found = posterior(private, prior, limits)
            line |= {f"log2_{prior}": found.entropy_bits,
                     f"removed_{prior}": removed_per_row(private, found.entropy_bits, limits)}  # fmt: skip
        line["accuracy"] = accuracy(block, truth, found.counts["published"].to_numpy())
        line["status"], high = confident_worlds(private, point["cap_seconds"], limits)
        if high is not None:
            line |= {"log2_confidence": high, "removed_confidence": removed_per_row(private, high, limits)}
        out.append(line)
    return out


def _nearly_best(point: Point, some: TrainTestSplit, limits: Limits) -> list[Row]:
    """Return a line per number of errors from the fewest to `slack` percent of the rows more: all trees up to there.

    `trees`: how many make at most so many errors (as text: they are many). `least`, `most`: Dist_G over them;
    `choice`: the one that leaves most open, in words, with its leaves and accuracies. `returned`: Dist_G of the tree
    that the learner returns. Dist_G counts columns as independent bits.
    """
    slack = math.floor(point["slack"] * some.rows / 100 + 1e-9)
    learner = OptimalTreeClassifier(point["depth"], least_rows(point, some), point["cap_seconds"], "own")
    within = limits.at_most(point["cap_seconds"])
    found = learner.ties(some.x, some.y, slack=slack, minimal=point["minimal"], limits=within)
    learner.fit(some.x, some.y)
    returned = measure(released(learner, domain_of(some.whole)), "assigned", limits).dist_g
    out: list[Row] = []
    trees, least, most = 0, math.inf, -math.inf
    chosen: Row = {}
    for one in found:
        trees, least = trees + one.trees, min(least, one.dist_g[0])
        if one.dist_g[1] > most + 1e-12:
            most, tree = one.dist_g[1], one.most_tree
            learner.nodes_ = tree
            chosen = {
                "choice": _in_words(tree, [*map(str, learner.feature_names_in_)], learner.classes_.tolist()),
                "choice_errors": one.errors, "choice_leaves": len(leaves(tree)),
                "choice_test_accuracy": float(np.mean(learner.predict(some.x_test) == some.y_test)),
            }  # fmt: skip
        out.append({
            "errors": one.errors, "loss": 100 * (one.errors - found[0].errors) / some.rows,
            "accuracy": 1 - one.errors / some.rows, "trees": str(trees), "least": least, "most": most,
            "returned": returned, **chosen,
        })  # fmt: skip
    return out


def _in_words(nodes: Sequence[TreeNode], names: Sequence[str], classes: Sequence[object]) -> str:
    """Return a tree as text: (test ? where it holds : where not), and at leaves the class and its share of rows.

    >>> node = TreeNode(0, 1, 2, (5, 4))
    >>> _in_words([node, TreeNode(None, -1, -1, (5, 1)), TreeNode(None, -1, -1, (0, 3))], ["a"], [0, 1])
    '(a ? 1 [3 of 3] : 0 [5 of 6])'
    """

    def at(number: int) -> str:
        node = nodes[number]
        if node.column is None:
            best = max(range(len(node.counts)), key=lambda c: node.counts[c])
            return f"{classes[best]} [{node.counts[best]} of {sum(node.counts)}]"
        return f"({names[node.column]} ? {at(node.one)} : {at(node.zero)})"

    return at(0)


QUESTIONS = {  # what runs a question, and the frames of its results
    "matched size": (matched, _matched_size),
    "nearly best trees": (_nearly_best, _nearly_best_frames),
    "groups": (by_group, _groups),
    "true attributes": (attributes, _true_attributes),
    "rule width": (widths, _rule_width),
    "joined": (joint_worlds, _joined_models),
    "noise": (_noised, _noise),
}


def _run(point: Point, frame: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return the rows of a point: those of its question."""
    return QUESTIONS[point["question"]][0](point, train_test_sample(point.dataset, frame, point["seed"]), limits)


EXPERIMENT = DECLARED.experiment(_run, {question: frames for question, (_, frames) in QUESTIONS.items()})
