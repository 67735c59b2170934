"""What every tree that scikit-learn fits says about its training rows, as predicates on (rows, fitted tree).

Read from sklearn/tree/_splitter.pyx, _partitioner.pyx and _tree.pyx of scikit-learn 1.9.1. `facts_of` says which facts
a tree's settings leave standing, `broken` which of them the rows do not satisfy (none, if these are the training rows).

- `children`: both children of every split hold rows, `min_samples_leaf` at least; a node's figures are its rows.
- `midpoint` (splitter "best"): the threshold is lo/2 + hi/2 in double precision of single-precision values lo and hi,
  the largest value left and the smallest right of it among the node's rows, further apart than 1e-7; or it is infinite
  and the rows right of it are exactly those without a value.
- `between` (splitter "random"): least <= threshold < largest value of the node's rows (<= where values are missing).
- `leaf`: a node that no limit stopped, impure, without `min_impurity_decrease`, pruning or monotonic columns, has no
  split that the learner would look at: with `min_samples_leaf` 1 no two neighbouring values further apart than 1e-7,
  and no column with and without missing values. Under `max_features` m of d columns: at most d - m columns have such a
  split, and if one has, some other column is one that the learner draws in vain (`vain`): values whose range is more
  than 1e-7 without any such split.
- `beaten` (splitter "best", Gini or entropy, whole weights): at most d - m columns have a better split than the chosen.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from learner_oracle import EPSILON, NEVER, score

STEP = np.float32(1e-7)  # FEATURE_THRESHOLD
# Criteria whose score of a legal split may be -inf, or whose rounding may make a split of no gain look like a loss of
# more than 2.2e-16, which is refused even where `min_impurity_decrease` is 0 (entropy: of five classes and more).
WITHOUT_LEAF = {"poisson", "squared_error", "absolute_error"}


@dataclass(frozen=True)
class Fit:
    """A fitted tree's settings, worked out: numbers of rows and of columns."""

    criterion: str
    classes: int  # 1: regression
    best: bool
    max_depth: float
    min_samples_split: int
    min_samples_leaf: int
    min_weight_leaf: float
    tried: int  # columns per node
    columns: int
    max_leaf_nodes: float
    min_impurity_decrease: float
    ccp_alpha: float
    monotonic: bool


def fit_of(model: Any, rows: int, weight: np.ndarray) -> Fit:
    """Return the settings of a fitted tree (rows and weight of the whole training set, drawn or not)."""
    least = model.min_samples_leaf
    least = least if isinstance(least, int) else int(np.ceil(least * rows))
    split = model.min_samples_split
    split = split if isinstance(split, int) else max(2, int(np.ceil(split * rows)))
    deepest, widest = model.max_depth, model.max_leaf_nodes
    return Fit(
        criterion=model.criterion,
        classes=int(getattr(model, "n_classes_", 1)),
        best=model.splitter == "best",
        max_depth=np.inf if deepest is None else deepest,
        min_samples_split=max(split, 2 * least),
        min_samples_leaf=least,
        min_weight_leaf=float(model.min_weight_fraction_leaf * weight.sum()),
        tried=model.max_features_,
        columns=model.n_features_in_,
        max_leaf_nodes=np.inf if widest is None else widest,
        min_impurity_decrease=model.min_impurity_decrease,
        ccp_alpha=model.ccp_alpha,
        monotonic=model.monotonic_cst is not None and bool(np.any(model.monotonic_cst)),
    )


def facts_of(fit: Fit) -> frozenset[str]:
    """Return the names of the facts that hold under these settings."""
    facts = {"children", "midpoint" if fit.best else "between"}
    free = not fit.min_impurity_decrease and not fit.ccp_alpha and not fit.monotonic
    rounded = fit.criterion in WITHOUT_LEAF or (fit.criterion != "gini" and fit.classes > 4)
    if free and not rounded:
        facts.add("leaf")
    if fit.best and not fit.monotonic and fit.criterion in ("gini", "entropy", "log_loss"):
        facts.add("beaten")
    return frozenset(facts)


def nodes_rows(tree: Any, data: np.ndarray, drawn: np.ndarray) -> list[np.ndarray]:
    """Return for every node the numbers of the drawn rows (positive weight) that reach it."""
    rows: list[np.ndarray] = [np.empty(0, dtype=int)] * tree.node_count
    rows[0] = np.flatnonzero(drawn)
    for i in range(tree.node_count):
        if tree.children_left[i] < 0:
            continue
        values = data[rows[i], tree.feature[i]]
        gaps = np.isnan(values)
        left = np.where(gaps, bool(tree.missing_go_to_left[i]), values.astype(float) <= tree.threshold[i])
        rows[tree.children_left[i]], rows[tree.children_right[i]] = rows[i][left], rows[i][~left]
    return rows


def splits(values: np.ndarray) -> Iterator[np.ndarray]:
    """Yield every split that the "best" splitter looks at, as the mask of the rows that go left."""
    gaps = np.isnan(values)
    known = np.unique(values[~gaps])
    cuts = [lo for lo, hi in itertools.pairwise(known) if hi > lo + STEP]
    for lo in cuts:
        yield values <= lo
        if gaps.any():
            yield (values <= lo) | gaps
    if gaps.any() and len(known):
        yield ~gaps


def drawn_in_vain(values: np.ndarray) -> bool:
    """Return whether the learner takes a column for one that can be split though no split need come of it."""
    gaps = np.isnan(values)
    known = values[~gaps]
    if not len(known):
        return False
    return bool(gaps.any() or known.max() > known.min() + STEP)


def can_split(values: np.ndarray, weight: np.ndarray, fit: Fit) -> bool:
    """Return whether the learner, once it draws this column, finds a split for certain."""
    if fit.best:
        cuts: Iterator[np.ndarray] = splits(values)
    else:
        known = values[~np.isnan(values)]
        some = len(known) > 0 and bool(known.max() > known.min() + (0 if len(known) < len(values) else STEP))
        # Where the threshold falls is random: only one row on each side is certain.
        return some and fit.min_samples_leaf == 1 and not fit.min_weight_leaf
    return any(
        min(left.sum(), (~left).sum()) >= fit.min_samples_leaf
        and min(weight[left].sum(), weight[~left].sum()) >= fit.min_weight_leaf
        for left in cuts
    )


def broken_leaf(values: np.ndarray, weight: np.ndarray, fit: Fit) -> bool:
    """Return whether the rows (rows, columns) of an unsplit node that no limit stopped should have been split."""
    can = [can_split(values[:, c], weight, fit) for c in range(fit.columns)]
    vain = [not can[c] and drawn_in_vain(values[:, c]) for c in range(fit.columns)]
    return sum(can) > fit.columns - fit.tried or (any(can) and not any(vain))


def broken_split(values: np.ndarray, threshold: float, left: np.ndarray, fit: Fit) -> bool:
    """Return whether a threshold is none that the splitter gives to a node of these values."""
    gaps = np.isnan(values)
    known = values[~gaps]
    if not len(known):
        return True
    if not fit.best:
        low, high = float(known.min()), float(known.max())
        return not (low <= threshold < high or (gaps.any() and threshold == low == high))
    if threshold == np.inf:
        return not (gaps.any() and bool((left == ~gaps).all()))
    below, above = known[known <= threshold], known[known > threshold]
    if not len(below) or not len(above):
        return True
    lo, hi = below.max(), above.min()
    return float(lo) / 2.0 + float(hi) / 2.0 != threshold or not hi > lo + STEP


def counts_of(labels: np.ndarray, weight: np.ndarray, classes: int) -> tuple[int, ...]:
    """Return whole weights per class."""
    return tuple(np.bincount(labels, weight, classes).astype(int).tolist())


def beaten_by(values: np.ndarray, labels: np.ndarray, weight: np.ndarray, left: np.ndarray, fit: Fit) -> int:
    """Return how many columns have a split of a higher score than the chosen one's."""
    classes = int(labels.max()) + 1

    def reached(side: np.ndarray) -> float:
        return score(fit.criterion, counts_of(labels[side], weight[side], classes),
                     counts_of(labels[~side], weight[~side], classes))  # fmt: skip

    chosen = reached(left)
    better = 0
    for c in range(fit.columns):
        best = max(
            (
                reached(side)
                for side in splits(values[:, c])
                if min(side.sum(), (~side).sum()) >= fit.min_samples_leaf
                and min(weight[side].sum(), weight[~side].sum()) >= fit.min_weight_leaf
            ),
            default=NEVER,
        )
        better += best > chosen
    return better


def broken(data: np.ndarray, labels: np.ndarray, weight: np.ndarray, tree: Any, fit: Fit) -> list[str]:
    """Return "fact at node" of every fact that the training rows do not satisfy.

    data (rows, columns) single precision with NaN for missing values; labels codes of classes (zeros for regression);
    weight (rows,): 0 for rows that were not drawn.
    """
    facts, found = facts_of(fit), []
    rows = nodes_rows(tree, data, weight > 0)
    whole = bool((weight == np.rint(weight)).all())
    for i, here in enumerate(rows):
        values = data[here]
        if len(here) != tree.n_node_samples[i]:
            found.append(f"children at {i}")
            continue
        if tree.children_left[i] < 0:
            stopped = (
                tree.impurity[i] <= EPSILON
                or depth_of(tree, i) >= fit.max_depth
                or len(here) < fit.min_samples_split
                or weight[here].sum() < 2 * fit.min_weight_leaf
                or tree.n_leaves >= fit.max_leaf_nodes
            )
            if (
                "leaf" in facts
                and (whole or not fit.min_weight_leaf)
                and not stopped
                and broken_leaf(values, weight[here], fit)
            ):
                found.append(f"leaf at {i}")
            continue
        left = np.isin(here, rows[tree.children_left[i]])
        if min(left.sum(), (~left).sum()) < fit.min_samples_leaf:
            found.append(f"children at {i}")
            continue
        if broken_split(values[:, tree.feature[i]], tree.threshold[i], left, fit):
            found.append(f"{'midpoint' if fit.best else 'between'} at {i}")
        if (
            "beaten" in facts
            and whole
            and beaten_by(values, labels[here], weight[here], left, fit) > (fit.columns - fit.tried)
        ):
            found.append(f"beaten at {i}")
    return found


def depth_of(tree: Any, node: int) -> int:
    """Return a node's distance from the root."""
    parents = {int(child): i for side in (tree.children_left, tree.children_right) for i, child in enumerate(side)}
    depth = 0
    while node:
        node, depth = parents[node], depth + 1
    return depth


# --- random fits of every kind --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fitted:
    """A tree with the rows that it was fitted on; `weight` is 0 for rows that were not drawn."""

    data: np.ndarray
    labels: np.ndarray
    weight: np.ndarray
    tree: Any
    fit: Fit

    def broken(self, data: np.ndarray | None = None) -> list[str]:
        """Return the facts that the training rows, or others in their place, do not satisfy."""
        return broken(self.data if data is None else data, self.labels, self.weight, self.tree, self.fit)


def random_values(rng: np.random.Generator, rows: int, *, few: bool = False) -> np.ndarray:
    """Return a column: binary, whole, real, chains of tiny steps, whole beyond 2^24, huge, tiny."""
    kind = rng.choice([0, 0, 3, 4]) if few else rng.integers(8)
    if kind == 0:
        column = rng.integers(0, 2, rows).astype(float)
    elif kind == 1:
        column = rng.integers(-3, 4, rows).astype(float)
    elif kind == 2:
        column = rng.normal(size=rows)
    elif kind == 3:
        column = rng.integers(0, 5, rows) * 9e-8
    elif kind == 4:
        column = 2.0**24 + rng.integers(0, 6, rows)
    elif kind == 5:
        column = rng.integers(-2, 3, rows) * 1e36
    elif kind == 6:
        column = rng.integers(0, 3, rows) * 1e-45 + rng.integers(0, 2, rows)
    else:
        column = np.round(rng.normal(size=rows), 1) / 3.0
    return column


def random_settings(rng: np.random.Generator, columns: int, rows: int, *, forest: bool, classes: int) -> dict[str, Any]:
    """Return settings for the constructor of a tree or forest; classes 0: regression."""

    def pick(*of: Any) -> Any:
        return of[rng.integers(len(of))]

    some = {
        "criterion": pick("gini", "entropy", "log_loss") if classes else pick("squared_error", "poisson"),
        "max_depth": pick(None, None, 1, 2, 4),
        "min_samples_split": pick(2, 2, 2, 5, 0.2),
        "min_samples_leaf": pick(1, 1, 1, 2, 3, 0.1),
        "min_weight_fraction_leaf": pick(0.0, 0.0, 0.0, 0.1),
        "max_features": pick(None, None, 1, 2, "sqrt", 0.5) if columns > 1 else None,
        "max_leaf_nodes": pick(None, None, None, 3, 6, 40),
        "min_impurity_decrease": pick(0.0, 0.0, 0.0, 0.02),
        "ccp_alpha": pick(0.0, 0.0, 0.0, 0.03),
        "random_state": int(rng.integers(2**31)),
    }
    if not forest:
        some["splitter"] = pick("best", "best", "best", "random")
    if classes == 2 and rng.random() < 0.1:
        some["monotonic_cst"] = rng.integers(-1, 2, columns).tolist()
    if classes and rng.random() < 0.15:
        some["class_weight"] = "balanced"
    return some


def random_fits(seed: int) -> list[Fitted]:
    """Return a random tree, or the trees of a small random forest, fitted with random settings on random rows."""
    from sklearn import ensemble, tree

    rng = np.random.default_rng(seed)
    rows, columns, classes = int(rng.integers(2, 40)), int(rng.integers(1, 6)), int(rng.choice([0, 2, 2, 2, 3]))
    few = bool(rng.random() < 0.4)  # impure leaves that nothing splits need rows that are alike
    columns = min(columns, 3) if few else columns
    data = np.stack([random_values(rng, rows, few=few) for _ in range(columns)], axis=1).astype(np.float32)
    if rng.random() < 0.3:
        data[rng.random(data.shape) < rng.choice([0.1, 0.5])] = np.nan
    labels = rng.integers(0, max(classes, 2), rows)
    forest = rng.random() < 0.3
    kind = rng.integers(2) if forest else 0
    name = ("ExtraTrees" if kind else "RandomForest") if forest else "DecisionTree"
    group = ensemble if forest else tree
    settings = random_settings(rng, columns, rows, forest=forest, classes=classes)
    if "monotonic_cst" in settings or settings["criterion"] == "poisson":
        data = np.nan_to_num(data)  # no such fit with missing values
    if forest:
        settings |= {"n_estimators": 3, "bootstrap": bool(rng.integers(2))}
    model = getattr(group, f"{name}{'Classifier' if classes else 'Regressor'}")(**settings)
    weighted = rng.random() < 0.2 and rows > 3 and "class_weight" not in settings
    given = rng.integers(0, 4, rows).astype(float) if weighted else None
    if given is not None and not given.any():
        given[:] = 1.0
    model.fit(data, labels if classes else labels + rng.random(rows), sample_weight=given)
    return [
        Fitted(data, labels, weight, one.tree_, fit_of(one, rows, weight))
        for one, weight in drawn_rows(model, labels, given)
    ]


def drawn_rows(model: Any, labels: np.ndarray, given: np.ndarray | None) -> list[tuple[Any, np.ndarray]]:
    """Return the trees of a fitted model with the weight of each row in each."""
    from sklearn.utils import compute_sample_weight

    if getattr(model, "bootstrap", False):
        drawn = model.estimators_samples_
        return [
            (one, np.bincount(at, minlength=len(labels)).astype(float))
            for one, at in zip(model.estimators_, drawn, strict=True)
        ]
    weight = np.ones(len(labels)) if given is None else given
    if getattr(model, "class_weight", None) is not None:
        weight = weight * compute_sample_weight(model.class_weight, labels)
    return [(one, weight) for one in getattr(model, "estimators_", [model])]
