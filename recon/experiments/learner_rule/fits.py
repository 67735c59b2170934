"""One point of the experiment: a model fitted, what its counts remove, and what knowing its learner removes beside."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from encoders.domain.domain import Domain
from encoders.encode.encoder import EncodedRelease
from recon.experiments.experiment import Point, Row
from recon.experiments.splits import TrainTestSplit, shuffled
from recon.learner_rule.chosen_model import learner_of
from recon.learner_rule.counting import learner_rule
from recon.learner_rule.estimating.bounds import worlds_at_most
from recon.learner_rule.estimating.estimates import estimated_share
from recon.learner_rule.figures import Bits, LearnerRule
from recon.learner_rule.verdicts import attribute, certify
from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier
from recon.readers.loading.loading import encode
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits

SENSITIVE = 6  # columns asked about in turn, evenly spread over all


def run(point: Point, frame: pd.DataFrame | None, limits: Limits) -> list[Row]:
    """Return a point's rows: one, or a reason why there is no figure within its seconds."""
    assert frame is not None
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
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(
        criterion=point["criterion"], max_depth=point["depth"], min_samples_leaf=point["leaf"], random_state=0
    ).fit(some.x, some.y)


def _released(model: Any, some: TrainTestSplit, independent: bool = True) -> EncodedRelease:
    """Return a model as a release: columns as independent bits, or one-hot groups as what they are."""
    whole = some.x.assign(**{str(some.whole.columns[-1]): some.y})
    domain = Domain.from_frame(whole, label=str(whole.columns[-1]), independent=independent)
    return encode(model, domain)


def _figures(found: LearnerRule) -> Row:
    """Return the figures of what a learner's rule adds."""
    out: Row = {"exact": found.exact, "world_bits": found.bits[0], "world_bits_high": found.bits[1]}
    out |= _interval_columns("counts", found.counts_bits) | _interval_columns("extra", found.extra_bits)
    out |= _interval_columns("inner", found.bits_without_leaves) | _interval_columns("strict", found.strict_bits)
    parts = [one for one in found.by_node if one.kind in {"leaf", "default rule"}]
    columns = [one for one in found.by_column if math.isfinite(one.bits[0])]
    return out | {
        "leaves_bits": sum(one.bits[0] for one in parts),
        "most_column": columns[0].what if columns else "",
        "most_column_bits": columns[0].bits[0] if columns else None,
        "most_place": found.by_node[0].what if found.by_node else "",
        "most_place_bits": found.by_node[0].bits[0] if found.by_node else None,
    }


def _interval_columns(name: str, bits: Bits | None) -> Row:
    """Return the ends of an interval by name."""
    return {f"{name}_low": None if bits is None else bits[0], f"{name}_high": None if bits is None else bits[1]}


def tree(point: Point, some: TrainTestSplit, limits: Limits) -> Row:
    """Return the exact figures of one tree."""
    model = _fitted_tree(point, some)
    found = learner_rule(_released(model, some), limits=limits)
    return _figures(found) | {"size": int(model.get_n_leaves()), "accuracy": float(model.score(some.x, some.y))}


def rule_list(point: Point, some: TrainTestSplit, limits: Limits) -> Row:
    """Return the exact figures of one greedy rule list of single tests."""
    model = GreedyRuleListClassifier(1, point["support"], point["length"], ties=point["ties"]).fit(some.x, some.y)
    found = learner_rule(_released(model, some), limits=limits)
    return _figures(found) | {"size": len(model.rules_), "accuracy": float(model.score(some.x, some.y))}


def _forest(point: Point, some: TrainTestSplit, limits: Limits) -> Row:
    """Return bounds for a forest of which only the hard facts of its thresholds and leaves are used."""
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(
        point["trees"], max_depth=point["depth"], max_features=point["features"], bootstrap=False, random_state=0
    ).fit(some.x, some.y)
    found = learner_rule(_released(model, some), limits=limits)
    size = sum(int(one.get_n_leaves()) for one in model.estimators_)
    said = "; ".join(found.facts)
    return _figures(found) | {"size": size, "accuracy": float(model.score(some.x, some.y)), "facts": said}


def persons(point: Point, some: TrainTestSplit, limits: Limits) -> Row:
    """Return how many persons become certain or impossible only by the rule, members and others, and columns of them.

    Members: the first `persons` training rows; others as many rows of the data that were not trained on. A column of a
    member whose other columns and label are known counts where its value is certain only by the rule.
    """
    release = _released(_fitted_tree(point, some), some)
    label = str(some.whole.columns[-1])
    inside = some.x.assign(**{label: some.y}).head(point["persons"])
    outside = some.x_test.assign(**{label: some.y_test}).head(point["persons"])
    out: Row = {"members": len(inside), "others": len(outside)}
    for name, people in (("members", inside), ("others", outside)):
        found = certify(release, people.reset_index(drop=True), "auto", limits)
        for verdict in ("certain", "impossible"):
            out[f"{name}_{verdict}"] = int((found["verdict"] == verdict).sum())
            out[f"{name}_{verdict}_by_rule"] = int((found["by_rule"] & (found["verdict"] == verdict)).sum())
        ratio = found["probability"] / found["probability_without"].astype(float)
        known = ratio[np.isfinite(ratio) & (ratio > 0)]
        out[f"{name}_least_ratio"], out[f"{name}_greatest_ratio"] = _value_range(known)
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


def _value_range(values: pd.Series) -> tuple[float | None, float | None]:
    """Return the least and the greatest, None of none."""
    return (float(values.min()), float(values.max())) if len(values) else (None, None)


def _groups(point: Point, some: TrainTestSplit, limits: Limits) -> Row:
    """Return an estimate where one-hot groups are attributes of several values, beside a rigorous bound."""
    model = _fitted_tree(point, some)
    release = _released(model, some, independent=False)
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
    "tree": tree,
    "rule list": rule_list,
    "forest": _forest,
    "persons": persons,
    "groups": _groups,
}
