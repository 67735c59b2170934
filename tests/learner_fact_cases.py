"""Random fits of scikit-learn's trees and forests, with the release of each, its learner's settings and its rows."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

import recon
from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Grid, Test, View
from encoders.models.learner_facts import Learner

TREES = (DecisionTreeClassifier, DecisionTreeClassifier, ExtraTreeClassifier, DecisionTreeRegressor)
FORESTS = (RandomForestClassifier, ExtraTreesClassifier, RandomForestRegressor)


def random_domain(dice):
    """Attributes of all kinds: integers, tenths, tiny steps, listed numbers, bits, a one-hot group, missing cells."""
    kinds = {
        "whole": lambda n: (Grid.between(n, 0, int(dice.integers(1, 12))), None),
        "tenths": lambda n: (Grid.between(n, -1, 1, 0.1), None),
        "tiny": lambda n: (Grid.between(n, 0, 1e-6, 5e-8), None),
        "large": lambda n: (Grid.between(n, 2**24 - 3, 2**24 + 6), None),
        "listed": lambda n: (Categorical(n, (-2, 0, 1, 2.5, 4, 1000)), None),
        "bit": lambda n: (Categorical(n, (0, 1)), None),
        "group": lambda n: (Categorical(n, ("r", "g", "b")), ("r", "g", "b")),
        "partial": lambda n: (Categorical(n, ("r", "g", "b", "w")), ("g", "b")),
        "gaps": lambda n: (Grid.between(n, 0, 4, missing=True), None),
    }
    weights = np.array([4, 2, 1, 1, 2, 3, 2, 1, 1.5])
    chosen = dice.choice(list(kinds), size=int(dice.integers(1, 5)), p=weights / weights.sum())
    attributes, columns = [], {}
    for i, kind in enumerate(chosen):
        attribute, ones = kinds[kind](f"{kind}{i}")
        attributes.append(attribute)
        columns.update({f"{attribute.name}_{v}": View(attribute.name, Test(values=(v,))) for v in ones or ()})
    return tuple(attributes), columns


def random_rows(dice, attributes, columns, n):
    """Rows of the attributes, few of them different, as raw values and as the features that a learner sees."""
    raw = {}
    for a in attributes:
        few = dice.integers(0, a.known[1], size=int(dice.integers(1, 8)))
        if dice.random() < 0.3:
            few = few[:1] + dice.integers(0, 3, size=3)
        at = np.clip(dice.choice(few, size=n), 0, a.known[1] - 1)
        cells = [a.value_at(int(p)) for p in at]
        if a.missing:
            cells = [None if dice.random() < 0.15 else c for c in cells]
        raw[a.name] = cells
    viewed = {view.attribute for view in columns.values()}
    seen = {a.name: np.array(raw[a.name], dtype=float) for a in attributes if a.name not in viewed}
    for name, view in columns.items():
        seen[name] = np.array([float(c == view.test.values[0]) for c in raw[view.attribute]])
    return pd.DataFrame(raw), pd.DataFrame(seen)


def random_model(dice, forest, gaps):
    """A tree or forest with settings drawn at random; `gaps`: the columns have missing cells."""
    kind = FORESTS[dice.integers(len(FORESTS))] if forest else TREES[dice.integers(len(TREES))]
    named = {
        "max_depth": dice.choice([None, None, 1, 2, 4]),
        "min_samples_split": int(dice.choice([2, 2, 2, 5])),
        "min_samples_leaf": int(dice.choice([1, 1, 1, 2, 3])),
        "max_features": dice.choice([None, None, 1, 0.5]),
        "max_leaf_nodes": dice.choice([None, None, 3, 6]),
        "min_impurity_decrease": float(dice.choice([0, 0, 0, 0.01])),
        "ccp_alpha": float(dice.choice([0, 0, 0, 0.02])),
        "random_state": int(dice.integers(2**31)),
    }
    if "Regressor" not in kind.__name__:
        named["criterion"] = str(dice.choice(["gini", "entropy", "log_loss"]))
    if forest:
        named |= {"n_estimators": int(dice.integers(1, 4)), "bootstrap": bool(dice.random() < 0.6)}
    elif kind is not ExtraTreeClassifier:
        named["splitter"] = str(dice.choice(["best", "best", "best", "random"]))
    if gaps:
        named["max_features"] = None
    return kind(**named)


def learner_of(model, features):
    """The settings of a fitted model as a value."""
    forest = hasattr(model, "estimators_")
    tree = model.estimators_[0] if forest else model
    tried = tree.max_features_
    return Learner(
        "sklearn forest" if forest else "sklearn tree",
        tree.criterion,
        tree.splitter,
        tree.max_depth,
        tree.min_samples_split,
        tree.min_samples_leaf,
        tree.min_weight_fraction_leaf,
        None if tried >= features else int(tried),
        tree.max_leaf_nodes,
        tree.min_impurity_decrease,
        tree.ccp_alpha,
        bootstrap=bool(forest and model.bootstrap),
        source="the fit",
    )


def random_fit(seed, path, forest=False):
    """The release of a random fit, its learner and its rows."""
    dice = np.random.default_rng(seed)
    attributes, columns = random_domain(dice)
    n = int(dice.integers(4, 60))
    raw, seen = random_rows(dice, attributes, columns, n)
    gaps = any(a.missing for a in attributes)
    model = random_model(dice, forest, gaps)
    classes = int(dice.integers(2, 4))
    y = dice.integers(0, classes, size=n)
    y[:classes] = range(classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(seen, y.astype(float) if "Regressor" in type(model).__name__ else y)
    path.write_bytes(pickle.dumps(model))
    regression = "Regressor" in type(model).__name__
    label = None if regression else Categorical("y", tuple(range(classes)))
    release = recon.load(path, domain=Domain(attributes, label, columns))
    return release, learner_of(model, seen.shape[1]), raw if regression else raw.assign(y=y)
