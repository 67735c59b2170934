"""Boosted models for tests and benches: COMPAS14, fits, releases, and where the true rows lie in every tree."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from threadpoolctl import threadpool_limits

import recon
from encoders.domain.domain import Domain
from encoders.encode.encoder import EncodedRelease
from recon.readers.frames.world import TrueRows
from solvers.leaf_values.combining import interval_use
from solvers.statements.gradients.boosted import Boosted

DATA = Path(os.environ.get("RECON_DATA", Path(__file__).parents[2] / "shared" / "data"))
LABEL = "recidivate-within-two-years:1"


def compas14(n: int | None = None, seed: int = 0) -> tuple[pd.DataFrame, Domain]:
    """Return n rows of COMPAS14 (None: all 7,206), label last, and the domain of all of them: 640 possible rows.

    `age:*` and `priors*` are one-hot groups. FileNotFoundError without the data folder.
    """
    frame = pd.read_csv(DATA / "compas14.csv.gz")
    domain = Domain.from_frame(frame, label=LABEL)
    rows = frame if n is None else frame.sample(min(n, len(frame)), random_state=seed)
    return rows.reset_index(drop=True), domain


def features_and_label(frame: pd.DataFrame, label: str | None = None) -> tuple[pd.DataFrame, pd.Series]:
    """Return the features of a frame and its label, by default the last column."""
    label = str(frame.columns[-1]) if label is None else label
    return frame.drop(columns=label), frame[label]


def fit_hist(frame: pd.DataFrame, regressor: bool = False, weights: Any = None, **options: Any) -> Any:
    """Return histogram gradient boosting fitted on a frame whose last column is the label; 100 trees, no early stop."""
    kind = HistGradientBoostingRegressor if regressor else HistGradientBoostingClassifier
    x, y = features_and_label(frame)
    with threadpool_limits(1):  # small fits lose much more by waiting for busy cores than they gain
        return kind(**{"early_stopping": False, "random_state": 0, **options}).fit(x, y, sample_weight=weights)


def fit_gb(frame: pd.DataFrame, regressor: bool = False, weights: Any = None, **options: Any) -> Any:
    """Return gradient boosting fitted on a frame whose last column is the label; 100 trees by default."""
    kind = GradientBoostingRegressor if regressor else GradientBoostingClassifier
    x, y = features_and_label(frame)
    return kind(**{"random_state": 0, **options}).fit(x, y, sample_weight=weights)


def release_of(model: Any, domain: Domain) -> EncodedRelease:
    """Return the release of a fitted model, leaf values included."""
    return recon.encode(model, domain)


def true_points(
    release: EncodedRelease, frame: pd.DataFrame, model: int = 0
) -> tuple[Boosted, NDArray[np.int64], NDArray[np.int64]]:
    """Return a boosted model of a release, the leaves (points, trees) of the true rows and their numbers by class.

    Points are the distinct rows without their label; numbers (points, classes) follow `Boosted.labels`. Both are what
    `solvers.leaf_values.combining.interval_use` takes. Of a regression: one number per point.
    """
    boosted = release.statements.boosted[model]
    rows = TrueRows.of(release, frame)
    blocks = release.statements.blocks
    leaves = np.stack([rows.regions(blocks[t.block].boxes) for t in boosted.trees], axis=1)
    if (leaves < 0).any():
        raise ValueError("a true row is in no leaf")
    points, at = np.unique(leaves, axis=0, return_inverse=True)
    label = release.statements.domain.label
    times = np.zeros((len(points), max(1, len(boosted.labels))), dtype=np.int64)
    if not boosted.labels:
        np.add.at(times, (at.reshape(-1), 0), rows.times)
        return boosted, points, times
    assert label is not None
    part = rows.parts[label].argmax(axis=1)[rows.codes[:, label]]
    place = np.full(rows.parts[label].shape[1], -1)
    place[list(boosted.labels)] = np.arange(len(boosted.labels))
    np.add.at(times, (at.reshape(-1), place[part]), rows.times)
    return boosted, points, times


def used_parts(boosted: Boosted, leaves: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how much of its interval every figure of all trees uses, as far as is known: at most 1 for true rows."""
    return np.concatenate(interval_use(boosted, leaves, times))


def exact_parts(
    model: Any, boosted: Boosted, leaves: NDArray[np.int64], times: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return how much of its interval every figure uses, from gradients as scikit-learn computes them, in rationals.

    Stricter than `residuals.used`, which allows for what is not known of coefficients: here the library's own loss
    computes gradients of the library's own scores, and the sums are exact. Hessians of `GradientBoosting*`, which are
    computed from gradients, are the true ones. Of classifiers.
    """
    hist, classes = type(model).__name__.startswith("Hist"), len(boosted.labels)
    start = model._baseline_prediction.ravel() if hist else model._raw_predict_init(np.zeros((1, model.n_features_in_)))
    loss = model._loss
    scores = np.tile(np.asarray(start, dtype=np.float64).reshape(1, -1), (len(leaves), 1))
    parts, before, last = [], scores.copy(), 0
    for t, tree in enumerate(boosted.trees):
        if tree.round != last:
            before, last = scores.copy(), tree.round
        g, h = library_gradients(loss, before, tree.of, classes, np.float32 if hist else np.float64)
        inside = np.zeros((len(tree), len(tree.step)), dtype=bool)
        inside[np.repeat(np.arange(len(tree)), np.diff(tree.start)), tree.leaf] = True
        at = [np.flatnonzero(leaves[:, t] == j) for j in range(len(tree.step))]
        sums = [
            [sum((whole(x[i, k]) ** e * int(times[i, k]) for i in p for k in range(classes)), Fraction(0)) for p in at]
            for x, e in ((g, 1), (h, 1), (g, 2))
        ]
        for i in range(len(tree)):
            factors = (tree.gradient[i], tree.hessian[i], tree.square[i])
            total = sum(
                Fraction(f) * sum(s[j] for j in np.flatnonzero(inside[i]).tolist())
                for f, s in zip(factors, sums, strict=True)
            )
            low, high = Fraction(tree.low[i]), Fraction(tree.high[i])
            parts.append(float(abs(total - (low + high) / 2) / ((high - low) / 2)) if high > low else np.inf)
        scores[:, tree.of] += tree.step[leaves[:, t]]
    return np.array(parts)


def target_parts(model: Any, release: EncodedRelease, frame: pd.DataFrame) -> NDArray[np.float64]:
    """Return how much of its interval every figure of a regression uses, from its own gradients, in rationals."""
    boosted, blocks = release.statements.boosted[0], release.statements.blocks
    rows, hist = TrueRows.of(release, frame), type(model).__name__.startswith("Hist")
    target = frame.iloc[:, -1].to_numpy(dtype=np.float64)
    scores, parts = np.full(len(frame), boosted.start[0]), []
    for tree in boosted.trees:
        leaf = rows.regions(blocks[tree.block].boxes)[rows.back]
        g = (scores - target).astype(np.float32 if hist else np.float64)
        for i in range(len(tree)):
            at = np.isin(leaf, tree.members(i))
            sums = [sum((whole(x) ** e for x in g[at]), Fraction(0)) for e in (1, 2)]
            total = sums[0] * Fraction(tree.gradient[i]) + sums[1] * Fraction(tree.square[i])
            low, high = Fraction(tree.low[i]), Fraction(tree.high[i])
            parts.append(float(abs(total - (low + high) / 2) / ((high - low) / 2)) if high > low else np.inf)
        scores = scores + tree.step[leaf]
    assert (scores == (model._raw_predict(features_and_label(frame)[0]).ravel() if hist else scores)).all()
    return np.array(parts)


def library_gradients(loss: Any, scores: NDArray[np.float64], of: int, classes: int, kind: Any) -> tuple[Any, Any]:
    """Return g as scikit-learn computes it and h (points, classes), for every point with every label."""
    g, h = np.zeros((len(scores), classes), dtype=kind), np.zeros((len(scores), classes), dtype=np.longdouble)
    for k in range(classes):
        y = np.full(len(scores), float(k))
        raw = scores[:, 0].copy() if scores.shape[1] == 1 else np.asfortranarray(scores)
        shape = scores.shape[:1] if scores.shape[1] == 1 else scores.shape
        out, second = np.empty(shape, dtype=kind, order="F"), np.empty(shape, dtype=kind, order="F")
        loss.gradient_hessian(y, raw, gradient_out=out, hessian_out=second)
        if kind is np.float64:
            loss.gradient(y, raw, gradient_out=out)
            exact = scores.astype(np.longdouble)
            exact = exact if scores.shape[1] > 1 else np.concatenate([np.zeros_like(exact), exact], axis=1)
            odds = np.exp(exact - exact.max(axis=1, keepdims=True))
            mine = of if scores.shape[1] > 1 else 1
            h[:, k] = odds[:, mine] / odds.sum(axis=1) * (np.delete(odds, mine, axis=1).sum(axis=1) / odds.sum(axis=1))
        else:
            h[:, k] = second if second.ndim == 1 else second[:, of]
        g[:, k] = out if out.ndim == 1 else out[:, of]
    return g, h


def whole(x: Any) -> Fraction:
    """Return a float of any precision as the rational that it is."""
    return Fraction(*x.as_integer_ratio())


@dataclass(frozen=True)
class Case:
    """A random model, with the rows that it was fitted on (label last), their domain and the options."""

    frame: pd.DataFrame
    domain: Domain
    model: Any
    options: dict[str, Any]

    @property
    def release(self) -> EncodedRelease:
        """Return the release of the model."""
        return release_of(self.model, self.domain)


def random_case(rng: np.random.Generator, family: str, most: int = 300, trees: int = 6) -> Case:
    """Return a random small fit of "gb" or "hist" with 0 (a regression), 2, 3 or 4 classes ("gb0", "hist3", ...)."""
    classes = int(family[-1])
    n = int(rng.integers(10, most))
    columns = int(rng.integers(1, 5))
    kind = rng.integers(3)
    x = rng.integers(0, 4, (n, columns)) if kind else np.round(rng.normal(size=(n, columns)), 3)
    if kind == 1:
        x = (x > 1).astype(int)
    score = x @ rng.normal(size=columns) * rng.choice([0.1, 1.0, 4.0]) + rng.normal(size=n) * rng.choice([0.05, 1.0])
    if classes:
        rank = np.argsort(np.argsort(score)) * classes // n
        y: Any = np.where(rng.random(n) < rng.choice([0.0, 0.2]), rng.integers(0, classes, n), rank)
        y[:classes] = np.arange(classes)
    else:
        y = score * rng.choice([1e-3, 1.0, 1e4]) + rng.choice([0.0, 100.0])
    frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(columns)]).assign(y=y)
    options = random_options(rng, family.startswith("hist"), trees)
    fit = fit_hist if family.startswith("hist") else fit_gb
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit(frame, regressor=not classes, **options)
    return Case(frame, Domain.from_frame(frame, label="y"), model, options)


def random_options(rng: np.random.Generator, hist: bool, trees: int) -> dict[str, Any]:
    """Return random options under which leaf values can be used."""
    pick = {
        "learning_rate": [0.01, 0.1, 0.3, 1.0],
        "max_depth": [1, 2, 3, 6, None],
        "max_features": [1.0, 0.5],
        "random_state": [0, 1],
    }
    if hist:
        pick |= {"l2_regularization": [0.0, 0.0, 1.0, 0.37], "max_leaf_nodes": [3, 8, 31, None], "max_iter": [trees]}
        pick |= {"min_samples_leaf": [1, 2, 5, 20], "max_bins": [4, 255]}
    else:
        pick |= {"max_leaf_nodes": [None, None, 4, 12], "min_samples_leaf": [1, 1, 5], "n_estimators": [trees]}
        pick |= {"ccp_alpha": [0.0, 0.0, 1e-3], "init": [None, None, "zero"], "max_features": [None, 0.5]}
    return {name: values[int(rng.integers(len(values)))] for name, values in pick.items()}


def parts_of(case: Case) -> NDArray[np.float64]:
    """Return how much of its interval every figure of a random case uses, exactly."""
    if not case.release.statements.boosted:
        return np.zeros(0)
    if len(case.release.statements.boosted[0].labels) == 0:
        return target_parts(case.model, case.release, case.frame)
    return exact_parts(case.model, *true_points(case.release, case.frame))
