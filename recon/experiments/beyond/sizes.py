"""Models of equal size, of wider rules, and the same models counted over true attributes beside independent bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from encoders.domain.domain import Domain
from encoders.encode.encoder import EncodedRelease
from encoders.encode.encoder import encode as encode_models
from encoders.models.models import RuleList, Tree
from recon.experiments.experiment import Point, Row
from recon.experiments.ferry2024.fits import FITS, LimitedFit, least_rows, row, with_bounds
from recon.experiments.splits import TrainTestSplit
from recon.learners.optimal.lists.optimal_rule_list import OptimalRuleListClassifier
from recon.learners.optimal.trees.by_depth import optimal_trees
from recon.learners.optimal.trees.optimal_tree import trees_by_leaves
from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier
from recon.queries.measures.measures import measure
from recon.readers.loading.loading import encode
from solvers.foundation.limits import Limits

COUNTED = ("bits", "attributes")  # every column an independent bit (the paper's), or the attributes behind the columns
LONGEST = 10  # rules before the default


def domain_of(some: TrainTestSplit, counted: str = "bits") -> Domain:
    """Return what rows can be: independent bits, or one-hot groups and nested thresholds as one attribute each."""
    return Domain.from_frame(some.whole, label=str(some.y.name), independent=counted == "bits")


def released(fit: LimitedFit, domain: Domain) -> EncodedRelease:
    """Return what is published of a model."""
    published = fit.published
    return encode_models(domain, [published]) if isinstance(published, Tree | RuleList) else encode(published, domain)


def _figures(learner: str, fits: Iterator[LimitedFit], some: TrainTestSplit, limits: Limits) -> Iterator[Row]:
    """Yield the figures of models as in the paper's experiment, without the leaks per row."""
    domain = domain_of(some)
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
        fits = (
            LimitedFit(size, tree, tree.to_model(label_values=tree.classes_.tolist()), tree.bound_)
            for size, tree in trees
        )
        out += _figures(learner, fits, some, limits)
    out += _figures("greedy trees", _greedy_trees(point, some), some, limits)
    for learner in ("optimal rule lists", "greedy rule lists"):
        short = (fit for fit in FITS[learner](point, some, limits) if fit.limit < point["most_leaves"])
        out += _figures(learner, short, some, limits)
    return out


def _greedy_trees(point: Point, some: TrainTestSplit) -> Iterator[LimitedFit]:
    """Yield scikit-learn's trees grown best first to so many leaves."""
    from sklearn.tree import DecisionTreeClassifier

    for leaves in range(2, point["most_leaves"] + 1):
        tree = DecisionTreeClassifier(
            max_leaf_nodes=leaves, min_samples_leaf=least_rows(point, some), random_state=1 + point["seed"]
        ).fit(some.x, some.y)
        yield LimitedFit(leaves, tree, tree)


def models(point: Point, some: TrainTestSplit, learner: str, deepest: int, limits: Limits) -> Iterator[LimitedFit]:
    """Yield the paper's models of one learner, trees up to some depth only."""
    if learner == "optimal trees":
        least, seconds = least_rows(point, some), point["cap_seconds"]
        for tree in optimal_trees(some.x, some.y, deepest, least, seconds, stop=limits.stop):
            yield LimitedFit(tree.max_depth, tree, tree.to_model(label_values=tree.classes_.tolist()), tree.bound_)
        return
    for fit in FITS[learner](point, some, limits):
        if learner == "greedy trees" and fit.limit > deepest:
            return
        yield fit


def attributes(point: Point, some: TrainTestSplit, limits: Limits) -> list[Row]:
    """Return the same models of one learner counted over independent bits and over true attributes."""
    domains = {counted: domain_of(some, counted) for counted in COUNTED}
    out = []
    for fit in models(point, some, point["learner"], point["depth"], limits):
        line: Row = {"limit": fit.limit}
        for counted, domain in domains.items():
            found = measure(released(fit, domain), "assigned", limits)
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
        found: Any = GreedyRuleListClassifier(point["width"], point["support"], LONGEST + 1)
        found.fit(some.x, some.y)
        fits = _beginnings(found)
    else:
        best = OptimalRuleListClassifier(LONGEST, point["support"], seconds=point["cap_seconds"], width=point["width"])
        best.fit(some.x, some.y, limits.stop)
        fits = with_bounds(best, {})
    return list(_figures(learner, fits, some, limits))


def _beginnings(found: Any) -> Iterator[LimitedFit]:
    """Yield the lists of the first 1, 2, ... rules of a greedy list: greedy lists are beginnings of one another."""
    whole: Sequence[Any] = found.rules_
    for length in range(1, len(whole)):
        rest = [sum(counts) for counts in zip(*(counts for _, counts in whole[length:]), strict=True)]
        found.rules_ = [*whole[:length], ((), rest)]
        yield LimitedFit(length, found, found.to_model())
