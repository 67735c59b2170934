"""Boosted models for tests and benches: COMPAS14, fits, releases, and where the true rows lie in every tree."""

from __future__ import annotations

import os
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

import recon
from encoders.domain.domain import Domain
from encoders.encode.encoder import EncodedRelease
from recon.frames.true_rows import TrueRows
from solvers.statements.boosted import Boosted

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
    `solvers.leaf_values.residuals.used` takes. Of a regression: one number per point.
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
