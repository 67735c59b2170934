"""The models whose release is attacked: learners by name, what each publishes of its training rows, counts included."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from encoders.domain.domain import Condition, Domain
from encoders.domain.values import Test, equals
from encoders.encode.encoder import EncodedRelease
from encoders.encode.encoder import encode as encode_models
from encoders.models.models import AnyModel, ModelNode, Nodes, RuleList, Support, Tree
from recon.attacks.explainers.lore import lore
from recon.attacks.explainers.sampling import chosen
from recon.attacks.explainers.surrogate import Surrogate
from recon.attacks.explainers.trepan import trepan
from recon.learners.optimal.lists.optimal_rule_list import OptimalRuleListClassifier
from recon.learners.optimal.trees.by_depth import optimal_trees
from recon.learners.rule_lists.estimator import RuleListClassifier
from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier
from recon.queries.inputs import RecordColumns, Records, Target
from recon.readers.loading.loading import encode
from solvers.foundation.limits import Limits

COUNTED = ("bits", "attributes")  # every column an independent bit, or the true attributes behind the columns
TREES = 100  # of the forest that is explained
NEIGHBOURS = 1000  # of a local explanation
MINIMUM = 1000  # labelled rows that decide at a node of TREPAN


@dataclass(frozen=True, eq=False)
class JointRelease:
    """What is released: a model of ours or a fitted scikit-learn tree; the rule list behind it, where it is one.

    `fidelity`: of a surrogate, the share of its training rows of which it says what its black box says.
    """

    model: Any
    rules: RuleListClassifier | None = None
    fidelity: float | None = None

    def over(self, domain: Domain) -> EncodedRelease:
        """Return the release over a domain."""
        if isinstance(self.model, Tree | RuleList):
            return encode_models(domain, [self.model])
        return encode(self.model, domain)


def domain_of(frame: pd.DataFrame, counted: str) -> Domain:
    """Return what rows can be, read off all rows of the data: independent bits, or the attributes behind them."""
    return Domain.from_frame(frame, label=str(frame.columns[-1]), independent=counted == "bits")


def published(learner: str, rows: pd.DataFrame, settings: Mapping[str, Any], limits: Limits) -> JointRelease:
    """Return what a learner (`LEARNERS`) publishes of training rows, the label their last column.

    `settings`: seed, support (rows in a leaf or rule, a share), width, rules, depth, fit_seconds.
    """
    return LEARNERS[learner](rows.iloc[:, :-1], rows.iloc[:, -1], settings, limits)


def _greedy_list(x: pd.DataFrame, y: pd.Series, at: Mapping[str, Any], _: Limits) -> JointRelease:
    """Return GreedyRL's list of so many rules and the default one."""
    found = GreedyRuleListClassifier(at["width"], at["support"], at["rules"] + 1).fit(x, y)
    return JointRelease(found.to_model(), found)


def _optimal_list(x: pd.DataFrame, y: pd.Series, at: Mapping[str, Any], _: Limits) -> JointRelease:
    """Return the list with the fewest errors that was found in time."""
    found = OptimalRuleListClassifier(at["rules"], at["support"], seconds=at["fit_seconds"]).fit(x, y)
    return JointRelease(found.to_model(), found)


def _greedy_tree(x: pd.DataFrame, y: pd.Series, at: Mapping[str, Any], _: Limits) -> JointRelease:
    """Return scikit-learn's tree of limited depth; depth 0: full-grown, whatever the support."""
    from sklearn.tree import DecisionTreeClassifier

    limit = {"max_depth": at["depth"], "min_samples_leaf": at["support"]} if at["depth"] else {}
    return JointRelease(DecisionTreeClassifier(random_state=at["seed"], **limit).fit(x, y))


def _full_tree(x: pd.DataFrame, y: pd.Series, at: Mapping[str, Any], limits: Limits) -> JointRelease:
    """Return scikit-learn's tree at its defaults."""
    return _greedy_tree(x, y, {**at, "depth": 0}, limits)


def _optimal_tree(x: pd.DataFrame, y: pd.Series, at: Mapping[str, Any], _: Limits) -> JointRelease:
    """Return the tree with the fewest errors of the depth that was found in time."""
    least = max(1, int(at["support"] * len(x)))
    found = optimal_trees(x, y, at["depth"], least, at["fit_seconds"])[-1]
    return JointRelease(found.to_model(label_values=found.classes_.tolist()))


def forest_of(x: Any, y: Any, seed: int) -> Target:
    """Return the forest that is explained."""
    from sklearn.ensemble import RandomForestClassifier

    found: Target = RandomForestClassifier(TREES, random_state=seed, n_jobs=1).fit(x, y)
    return found


def _network_of(x: Any, y: Any, seed: int) -> Target:
    """Return the feed-forward network that is explained."""
    from sklearn.neural_network import MLPClassifier

    network = MLPClassifier((50, 20), early_stopping=True, random_state=seed)
    found: Target = network.fit(x, y)
    return found


def _trepan_of(black_box: Callable[[Any, Any, int], Target]) -> Callable[..., JointRelease]:
    """Return the learner that explains a black box by TREPAN and counts the training rows at the leaves."""

    def explained(x: pd.DataFrame, y: pd.Series, at: Mapping[str, Any], limits: Limits) -> JointRelease:
        rows = Records.of(pd.concat([x, y], axis=1))
        target = black_box(rows.x, rows.y, at["seed"])
        found = trepan(target, rows.x, rows.columns, len(rows.classes), seed=at["seed"], minimum=MINIMUM, limits=limits)
        return _counted_tree(found, target, rows)

    return explained


def _lore_tree(x: pd.DataFrame, y: pd.Series, at: Mapping[str, Any], limits: Limits) -> JointRelease:
    """Return LORE's local tree about one record of the forest, with the counts of all training rows at its leaves."""
    rows = Records.of(pd.concat([x, y], axis=1))
    target = forest_of(rows.x, rows.y, at["seed"])
    record = rows.x[chosen(rows.x, 1, at["seed"])[0]]
    found = lore(target, record, rows.x, rows.columns, len(rows.classes), seed=at["seed"], size=NEIGHBOURS,
                 limits=limits)  # fmt: skip
    return _counted_tree(found.surrogate, target, rows)


def _counted_tree(found: Surrogate, target: Target, rows: Records) -> JointRelease:
    """Return a surrogate as a released tree with the counts of its training rows per class."""
    return JointRelease(counted(found, rows), fidelity=found.fidelity(target, rows.x))


def counted(found: Surrogate, rows: Records) -> Tree:
    """Return a surrogate as a published tree with the counts of rows per class at its leaves."""
    return Tree(Nodes.of(_as_node(one, rows.columns) for one in found.nodes(rows.x, rows.y)), name=found.kind)


def _as_node(node: Mapping[str, Any], columns: RecordColumns) -> ModelNode:
    """Return a node as in a release file as a value."""
    if "counts" in node:
        return ModelNode(Support(tuple(node["counts"])))
    return ModelNode(Support(), as_condition(node["if"], columns), node["then"], node["else"])


def as_condition(given: Mapping[str, Any], columns: RecordColumns) -> Condition:
    """Return conditions on columns as an explainer writes them; those on bits as values."""
    continuous = dict(zip(columns.names, columns.continuous, strict=True))
    tests = []
    for name, test in given.items():
        if not continuous[name]:
            tests.append((name, equals(0 if isinstance(test, Mapping) else int(test))))
        elif isinstance(test, Mapping):
            tests.append((name, Test(low=test.get("above"), high=test.get("at_most"), low_open="above" in test)))
    return tuple(tests)


LEARNERS: dict[str, Callable[..., JointRelease]] = {
    "greedy rule list": _greedy_list,
    "optimal rule list": _optimal_list,
    "greedy tree": _greedy_tree,
    "optimal tree": _optimal_tree,
    "full-grown tree": _full_tree,
    "TREPAN of a forest": _trepan_of(forest_of),
    "TREPAN of a network": _trepan_of(_network_of),
    "LORE tree of a forest": _lore_tree,
}


def leaves(model: AnyModel) -> int:
    """Return the leaves or rules of a model that count rows."""
    if isinstance(model, Tree):
        return len(model.nodes.leaves)
    return len(model.rules) if isinstance(model, RuleList) else 0


def shuffled_rows(frame: pd.DataFrame, rows: int, others: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return so many training rows and others in the random order of a seed; fewer others where there are no more."""
    order = np.random.default_rng(seed).permutation(len(frame))
    inside, outside = order[:rows], order[rows : rows + others]
    return frame.iloc[inside].reset_index(drop=True), frame.iloc[outside].reset_index(drop=True)
