"""A fitted scikit-learn forest (without bootstrap) as a published model, without importing scikit-learn.

The trees of a forest number the classes; the labels and the names of the features are on the forest.
"""

from __future__ import annotations

from typing import Any

from encoders.domain import Domain
from encoders.models import Forest, Tree
from recon.formats.sklearn_tree import Splits, class_order, feature_names, refuse_other_trees, to_nodes
from solvers.errors import Unsupported


def is_fitted_forest(model: object) -> bool:
    """Tell whether an object looks like a fitted RandomForestClassifier or ExtraTreesClassifier."""
    family = any(base.__name__ == "ForestClassifier" for base in type(model).__mro__)
    return family and hasattr(model, "estimators_") and hasattr(model, "classes_")


def to_forest(model: Any, domain: Domain, name: str = "forest") -> Forest:
    """Return the published trees of a fitted forest; nodes keep their numbers.

    Raises `Unsupported` for a forest of bootstrap samples, and whatever `sklearn_tree.to_tree` refuses. Cost: linear
    in nodes; a threshold that occurs often is looked up once.
    """
    if model.bootstrap:
        raise Unsupported(
            "the forest was fitted on bootstrap samples, so that its counts are not of the training rows: "
            "fit it with bootstrap=False, or wait for the version that reads such forests"
        )
    refuse_other_trees(model, domain)
    splits, order = Splits(domain, feature_names(model, domain)), class_order(model, domain)
    trees = []
    for t, tree in enumerate(model.estimators_):
        refuse_other_trees(tree, domain)
        trees.append(Tree(to_nodes(tree.tree_, splits, order), f"tree {t}"))
    return Forest(tuple(trees), name)
