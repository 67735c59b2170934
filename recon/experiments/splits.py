"""The training and test rows of the experiments: which rows, drawn how."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from encoders.domain.domain import Domain

COUNTED = ("bits", "attributes")  # every column an independent bit (the paper's), or the attributes behind the columns
NAMES = {"compas27": "COMPAS", "adult24": "Adult"}  # of the reconstruction paper's data, in the order of its figures
ADULT_ROWS = 4_884  # drawn of Adult's for every split, a tenth, as the authors' program does
TEST_SHARE = 0.2
SAMPLED = ("adult19", "adult24")


@dataclass(frozen=True, eq=False)
class TrainTestSplit:
    """Features and label of training and test rows, and all rows together as a frame with the label last."""

    x: pd.DataFrame
    y: pd.Series
    x_test: pd.DataFrame
    y_test: pd.Series
    whole: pd.DataFrame

    @property
    def rows(self) -> int:
        """Return the number of training rows."""
        return len(self.x)


def train_test_sample(dataset: str, frame: pd.DataFrame, seed: int) -> TrainTestSplit:
    """Return the reconstruction paper's split: 20 % test rows by scikit-learn's `train_test_split(random_state=seed)`.

    Of Adult a tenth is drawn first, anew for every seed, as the authors' program does: all their rule lists come out of
    these rows (`sample_without_replacement(48842, 4884, random_state=seed)`). Cost: a copy of the rows.
    """
    from sklearn.model_selection import train_test_split
    from sklearn.utils.random import sample_without_replacement

    whole = frame
    if dataset in SAMPLED:
        whole = frame.iloc[sample_without_replacement(len(frame), min(ADULT_ROWS, len(frame)), random_state=seed)]
    label = whole.columns[-1]
    x, x_test, y, y_test = train_test_split(
        whole.drop(columns=label), whole[label], test_size=TEST_SHARE, random_state=seed
    )
    return TrainTestSplit(x, y, x_test, y_test, whole)


def shuffled(frame: pd.DataFrame, rows: int, seed: int) -> TrainTestSplit:
    """Return the first `rows` rows in the random order of a seed for training, all others for testing."""
    order = np.random.default_rng(seed).permutation(len(frame))
    x, y = frame.iloc[:, :-1], frame.iloc[:, -1]
    inside, outside = order[:rows], order[rows:]
    return TrainTestSplit(x.iloc[inside], y.iloc[inside], x.iloc[outside], y.iloc[outside], frame)


def domain_of(frame: pd.DataFrame, counted: str = "bits") -> Domain:
    """Return what rows can be, the label last: independent bits, or one-hot groups and thresholds as attributes."""
    return Domain.from_frame(frame, label=str(frame.columns[-1]), independent=counted == "bits")
