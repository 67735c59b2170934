"""The experiment: trees, rule lists, forests, persons and one-hot groups, by depth, rows, data set and learner.

The table of bits by depth, rows, data set and learner, figures, and what they say in sentences.

One point of the experiment: a model fitted, what its counts remove, and what knowing its learner removes beside.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from encoders.encode.encoder import EncodedRelease
from recon.experiments.experiment import Declaration, Point, Row
from recon.experiments.fits import TrainTestSplit, domain_of, fitted, shuffled
from recon.learner_rule.chosen_model import learner_of
from recon.learner_rule.counting import learner_rule
from recon.learner_rule.estimating.bounds import worlds_at_most
from recon.learner_rule.estimating.estimates import estimated_share
from recon.learner_rule.figures import Bits
from recon.learner_rule.verdicts import attribute, certify
from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier
from recon.readers.loading.loading import encode
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits

ENDS = {"min": "least", "max": "greatest"}
SENSITIVE = 6  # columns asked about in turn, evenly spread over all


def run(point: Point, frame: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return a point's rows: one, or a reason why there is no figure within its seconds."""
    some = _drawn_rows(frame, point["rows"], point["seed"])
    capped = limits.lasting(point["cap_seconds"])
    try:
        return [{"used_rows": some.rows, **QUESTIONS[point["question"]](point, some, capped), "reason": ""}]
    except Inconclusive as error:
        limits.check("a point was under way")
        return [{"used_rows": some.rows, "reason": str(error)}]


def _drawn_rows(frame: pd.DataFrame, rows: int, seed: int) -> TrainTestSplit:
    """Return the first rows in the random order of a seed for training; 0: all of them, as the file has them."""
    if rows:
        return shuffled(frame, min(rows, len(frame)), seed)
    x, y = frame.iloc[:, :-1], frame.iloc[:, -1]
    return TrainTestSplit(x, y, x.iloc[:0], y.iloc[:0], frame)


def _fitted_tree(point: Point, some: TrainTestSplit) -> Any:
    """Return scikit-learn's tree of a point."""
    return fitted("tree", some.x, some.y, criterion=point["criterion"], max_depth=point["depth"],
                  min_samples_leaf=point["leaf"], random_state=0)  # fmt: skip


def _released(model: Any, some: TrainTestSplit, counted: str = "bits") -> EncodedRelease:
    """Return a model as a release: columns as independent bits, or one-hot groups as what they are."""
    return encode(model, domain_of(some.training, counted))


def _rule_figures(model: Any, size: int, some: TrainTestSplit, limits: Limits) -> Row:
    """Return the figures of what a model's learner's rule adds to its counts."""
    found = learner_rule(_released(model, some), limits=limits)
    out: Row = {"exact": found.exact, "world_bits": found.bits[0], "world_bits_high": found.bits[1]}
    out |= _interval_columns("counts", found.counts_bits) | _interval_columns("extra", found.extra_bits)
    out |= _interval_columns("inner", found.bits_without_leaves) | _interval_columns("strict", found.strict_bits)
    parts = [one for one in found.by_node if one.kind in {"leaf", "default rule"}]
    columns = [one for one in found.by_column if math.isfinite(one.bits[0])]
    if found.facts:
        out["facts"] = "; ".join(found.facts)
    return out | {
        "leaves_bits": sum(one.bits[0] for one in parts),
        "most_column": columns[0].what if columns else "",
        "most_column_bits": columns[0].bits[0] if columns else None,
        "most_place": found.by_node[0].what if found.by_node else "",
        "most_place_bits": found.by_node[0].bits[0] if found.by_node else None,
        "size": size, "accuracy": float(model.score(some.x, some.y)),
    }  # fmt: skip


def _interval_columns(name: str, bits: Bits | None) -> Row:
    """Return the ends of an interval by name."""
    return {f"{name}_low": None if bits is None else bits[0], f"{name}_high": None if bits is None else bits[1]}


def _tree_row(point: Point, some: TrainTestSplit, limits: Limits) -> Row:
    """Return the exact figures of one tree."""
    model = _fitted_tree(point, some)
    return _rule_figures(model, int(model.get_n_leaves()), some, limits)


def _rule_list_row(point: Point, some: TrainTestSplit, limits: Limits) -> Row:
    """Return the exact figures of one greedy rule list of single tests."""
    model = GreedyRuleListClassifier(1, point["support"], point["length"], ties=point["ties"]).fit(some.x, some.y)
    return _rule_figures(model, len(model.rules_), some, limits)


def _forest_row(point: Point, some: TrainTestSplit, limits: Limits) -> Row:
    """Return bounds for a forest of which only the hard facts of its thresholds and leaves are used."""
    model = fitted("forest", some.x, some.y, n_estimators=point["trees"], max_depth=point["depth"],
                   max_features=point["features"], bootstrap=False, random_state=0)  # fmt: skip
    return _rule_figures(model, sum(int(one.get_n_leaves()) for one in model.estimators_), some, limits)


def _persons_row(point: Point, some: TrainTestSplit, limits: Limits) -> Row:
    """Return how many persons become certain or impossible only by the rule, members and others, and columns of them.

    Members: the first `persons` training rows; others as many rows of the data that were not trained on. A column of a
    member whose other columns and label are known counts where its value is certain only by the rule.
    """
    release = _released(_fitted_tree(point, some), some)
    inside = some.training.head(point["persons"])
    outside = some.x_test.assign(**{str(some.y.name): some.y_test}).head(point["persons"])
    out: Row = {"members": len(inside), "others": len(outside)}
    for name, people in (("members", inside), ("others", outside)):
        found = certify(release, people.reset_index(drop=True), "auto", limits)
        for verdict in ("certain", "impossible"):
            out[f"{name}_{verdict}"] = int((found["verdict"] == verdict).sum())
            out[f"{name}_{verdict}_by_rule"] = int((found["by_rule"] & (found["verdict"] == verdict)).sum())
        ratio = found["probability"] / found["probability_without"].astype(float)
        known = ratio[np.isfinite(ratio) & (ratio > 0)]
        for end in ("min", "max"):
            out[f"{name}_{ENDS[end]}_ratio"] = float(known.agg(end)) if len(known) else None
    return out | _columns_inferred(release, inside, limits)


def _columns_inferred(release: EncodedRelease, people: pd.DataFrame, limits: Limits) -> Row:
    """Return how many values of single columns are certain by the counts and only by the rule, over some columns."""
    names = list(people.columns[:-1])
    asked = [names[i] for i in np.linspace(0, len(names) - 1, min(SENSITIVE, len(names))).astype(int)]
    values = before = after = 0
    for name in asked:
        found = attribute(release, people.drop(columns=name).reset_index(drop=True), name, "auto", limits)
        values += found["profile"].nunique()
        sure = found["certain"].astype(bool) & ~found["certain_without"].fillna(False).astype(bool)
        before += int(found["certain_without"].fillna(False).astype(bool).sum())
        after += int(sure.sum())
    return {"values_asked": values, "values_certain": before, "values_certain_by_rule": after}


def _groups_row(point: Point, some: TrainTestSplit, limits: Limits) -> Row:
    """Return an estimate where one-hot groups are attributes of several values, beside a rigorous bound."""
    model = _fitted_tree(point, some)
    release = _released(model, some, "attributes")
    learner = learner_of(release, "auto")
    assert learner is not None
    found = estimated_share(release, learner, limits, seed=point["seed"], draws=point["draws"])
    at_most = worlds_at_most(release, learner, limits)
    return {
        **_interval_columns("extra", found.extra_bits), "estimate": -found.middle, "confidence": found.confidence,
        "events": len(found.events), "world_bits": at_most.bits[0], "world_bits_high": at_most.bits[1],
        "removed_at_least": at_most.least_removed, "size": int(model.get_n_leaves()),
        "accuracy": float(model.score(some.x, some.y)),
    }  # fmt: skip


QUESTIONS: dict[str, Callable[[Point, TrainTestSplit, Limits], Row]] = {
    "tree": _tree_row,
    "rule list": _rule_list_row,
    "forest": _forest_row,
    "persons": _persons_row,
    "groups": _groups_row,
}


DECLARED = Declaration("learner_rule")
INTERVALS = ("counts", "extra", "inner", "strict")


def _frames(results: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the points that have figures, with their intervals as texts."""
    done = results[results["reason"].fillna("") == ""]
    return {"done": done.assign(**{
        name: [*map(_interval, done[f"{name}_low"], done[f"{name}_high"])]
        for name in INTERVALS if f"{name}_low" in done
    })}  # fmt: skip


def _interval(low: float, high: float) -> str:
    """Return bounds on bits as text: one number where both read the same to a thousandth, else rounded outwards."""
    if low is None or math.isnan(low):
        return ""
    if f"{low:.3f}" == f"{high:.3f}":
        return f"{low:,.3f}" if math.isfinite(low) else "inf"
    return f"{math.floor(low * 1000) / 1000:,.3f} to " + (
        f"{math.ceil(high * 1000) / 1000:,.3f}" if math.isfinite(high) else "inf"
    )


EXPERIMENT = DECLARED.experiment(run, _frames)
