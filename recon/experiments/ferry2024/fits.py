"""The models of the experiment: four learners, every depth or length from 1 to 10, and what each of them leaks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from encoders.domain.domain import Domain
from encoders.encode.encoder import encode as encode_models
from encoders.models.models import published_of
from recon.experiments.experiment import Point, Row
from recon.experiments.splits import TrainTestSplit, train_test_sample
from recon.learners.optimal.lists.optimal_rule_list import OptimalRuleListClassifier
from recon.learners.optimal.trees.optimal_tree import MEMORY, OptimalTreeClassifier, optimal_trees
from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier
from recon.queries.measures.measures import measure
from recon.readers.loading.loading import encode
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits

DEEPEST = 10


@dataclass(frozen=True, eq=False)
class LimitedFit:
    """A fitted model with its limit (depth, or number of rules) and what is proved about its training errors."""

    limit: int
    model: Any
    published: Any  # what is encoded: a fitted scikit-learn tree, a Tree or a RuleList
    bound: float | None = None  # no model within the limits makes fewer errors; None: a greedy one, nothing is claimed
    more: Row = field(default_factory=dict)  # further figures


def run(point: Point, frame: pd.DataFrame | None, limits: Limits) -> list[Row]:
    """Return a row per depth or length of one learner, or the spread of one depth's optimal trees."""
    assert frame is not None
    some = train_test_sample(point.dataset, frame, point["seed"])
    if point["learner"] == "ties":
        return [_ties(point, some, limits)]
    domain = Domain.from_frame(some.whole, label=str(some.y.name), independent=True)
    fits = _tied_lists if point["learner"] == "optimal rule lists" else FITS[point["learner"]]
    return [row(fit, some, domain, limits) for fit in fits(point, some, limits)]


def least_rows(point: Point, some: TrainTestSplit) -> int:
    """Return the fewest rows of a leaf, as the authors' code rounds it for trees: int(support * n).

    For rule lists it does not round: captured / n >= support, which is what a share means to our learners.
    """
    return int(point["support"] * some.rows)


def _greedy_trees(point: Point, some: TrainTestSplit, limits: Limits) -> Iterator[LimitedFit]:
    """Yield scikit-learn's trees as the paper fits them (`random_state=1 + seed`)."""
    from sklearn.tree import DecisionTreeClassifier

    for depth in range(1, DEEPEST + 1):
        tree = DecisionTreeClassifier(
            max_depth=depth, min_samples_leaf=least_rows(point, some), random_state=1 + point["seed"]
        ).fit(some.x, some.y)
        yield LimitedFit(depth, tree, tree)


def _best_trees(point: Point, some: TrainTestSplit, limits: Limits) -> Iterator[LimitedFit]:
    """Yield trees of certified optimal training accuracy, all depths from one search."""
    least, seconds = least_rows(point, some), point["cap_seconds"]
    for tree in optimal_trees(some.x, some.y, DEEPEST, least, seconds, stop=limits.stop):
        yield LimitedFit(tree.max_depth, tree, tree.to_model(label_values=tree.classes_.tolist()), tree.bound_)


def _greedy_lists(point: Point, some: TrainTestSplit, limits: Limits) -> Iterator[LimitedFit]:
    """Yield the paper's greedy rule lists of width 1; a limit of L is L rules and the default rule."""
    for length in range(1, DEEPEST + 1):
        found = GreedyRuleListClassifier(width=1, min_support=point["support"], max_length=length + 1)
        found.fit(some.x, some.y)
        yield LimitedFit(length, found, found.to_model())


def _best_lists(point: Point, some: TrainTestSplit, limits: Limits) -> Iterator[LimitedFit]:
    """Yield optimal rule lists of width 1, all lengths from one search: of the ties the list that it meets first."""
    yield from with_bounds(_fitted_lists(point, some, limits), {})


def _fitted_lists(point: Point, some: TrainTestSplit, limits: Limits) -> OptimalRuleListClassifier:
    found = OptimalRuleListClassifier(DEEPEST, point["support"], seconds=point["cap_seconds"])
    return found.fit(some.x, some.y, limits.stop)


def _tied_lists(point: Point, some: TrainTestSplit, limits: Limits) -> Iterator[LimitedFit]:
    """Yield the same lists, beside each how many are as good and between which Dist_G, where that is known in time."""
    found = _fitted_lists(point, some, limits)
    within = Limits(seconds=point["cap_seconds"], memory=MEMORY, stop=limits.stop)
    spread: dict[int, Row] = {}
    try:
        for one in found.ties(some.x, some.y, limits=within):
            low, high = one.dist_g
            spread[one.length] = {"tied": str(one.lists), "least_dist_g": low, "most_dist_g": high}
    except Inconclusive:
        limits.check("optimal lists were counted")
    yield from with_bounds(found, spread)


def with_bounds(found: OptimalRuleListClassifier, more: Mapping[int, Row]) -> Iterator[LimitedFit]:
    """Yield the best list of every length with the bound that no list falls below, and further figures by length."""
    for entry in found.path_[1:]:
        found.rules_ = entry.rules
        yield LimitedFit(entry.length, found, found.to_model(), entry.bound, more.get(entry.length, {}))


FITS = {
    "greedy trees": _greedy_trees,
    "optimal trees": _best_trees,
    "greedy rule lists": _greedy_lists,
    "optimal rule lists": _best_lists,
}


def row(fit: LimitedFit, some: TrainTestSplit, domain: Domain, limits: Limits) -> Row:
    """Return the figures of one model; `leaks` is JSON: rows and Dist_G of a row, for every leaf or rule with rows."""
    models = published_of([fit.published])
    release = encode_models(domain, models) if models else encode(fit.published, domain)
    found = measure(release, "assigned", limits)
    errors = int((fit.model.predict(some.x) != some.y).sum())
    exposure = found.exposure
    leaks = exposure.groupby("region")[["rows", "entropy_reduction_ratio"]].agg(
        {"rows": "sum", "entropy_reduction_ratio": "first"}
    )
    return {
        "limit": fit.limit,
        "leaves": len(leaks),
        "depth": _deepest(release.models[0]),
        "errors": errors,
        "bound": None if fit.bound is None else float(fit.bound),
        "certified": None if fit.bound is None else errors <= fit.bound,
        "train_accuracy": 1 - errors / some.rows,
        "test_accuracy": float((fit.model.predict(some.x_test) == some.y_test).mean()),
        "dist_g": found.dist_g,
        "bits_removed_per_row": found.bits_removed_per_row,
        "log2_worlds": found.entropy_bits,
        "leaks": json.dumps([[int(n), float(ratio)] for n, ratio in leaks.itertuples(index=False) if n]),
        **fit.more,
    }


def _deepest(model: Any) -> int:
    """Return the tests on the longest path of a tree, or the rules of a list before its default."""
    if not model.members():
        return int(model.groups()) - 1
    depths = {0: 0}
    for at, node in enumerate(model.nodes):  # parents come before their children
        if node.condition is not None:
            depths[node.then] = depths[node.otherwise] = depths[at] + 1
    return max(depths.values())


def _ties(point: Point, some: TrainTestSplit, limits: Limits) -> Row:
    """Return how many trees are as accurate as the best one, and between which Dist_G they lie."""
    learner = OptimalTreeClassifier(point["depth"], least_rows(point, some), point["cap_seconds"], "own")
    within = Limits(seconds=point["cap_seconds"], memory=MEMORY, stop=limits.stop)
    try:
        found = learner.ties(some.x, some.y, minimal=point["minimal"], limits=within)[0]
    except Inconclusive as error:
        return {"limit": point["depth"], "certified": False, "why": str(error)}
    low, high = found.dist_g
    return {
        "limit": point["depth"], "certified": True, "errors": found.errors, "trees": str(found.trees),
        "least_dist_g": low, "most_dist_g": high, "train_accuracy": 1 - found.errors / some.rows,
    }  # fmt: skip
