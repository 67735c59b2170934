"""The experiment: trees, rule lists, forests, persons and one-hot groups, by depth, rows, data set and learner.

The table of bits by depth, rows, data set and learner, figures, and what they say in sentences.

One point of the experiment: a model fitted, what its counts remove, and what knowing its learner removes beside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from encoders.domain.domain import Domain
from encoders.encode.encoder import EncodedRelease
from recon.experiments.declaration import Declaration, named_lines, records, where
from recon.experiments.experiment import ExperimentFindings, Point, Row
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


def _rule_list_row(point: Point, some: TrainTestSplit, limits: Limits) -> Row:
    """Return the exact figures of one greedy rule list of single tests."""
    model = GreedyRuleListClassifier(1, point["support"], point["length"], ties=point["ties"]).fit(some.x, some.y)
    found = learner_rule(_released(model, some), limits=limits)
    return _figures(found) | {"size": len(model.rules_), "accuracy": float(model.score(some.x, some.y))}


def _forest_row(point: Point, some: TrainTestSplit, limits: Limits) -> Row:
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


def _groups_row(point: Point, some: TrainTestSplit, limits: Limits) -> Row:
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
    "rule list": _rule_list_row,
    "forest": _forest_row,
    "persons": persons,
    "groups": _groups_row,
}


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


EXPERIMENT = DECLARED.experiment(run, _findings)
