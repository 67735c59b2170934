"""The rows of the experiment: training rows, others and the attacker's, fold by fold, and the black boxes on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from recon.attacks.evaluation.folds import folded
from recon.queries.prediction.records import Bits, Floats, Ints, RecordColumns, Records, Target
from solvers.foundation.errors import Unsupported, installing

SHADOW = 0.3  # of the rows go to the attacker, unlabelled for him until he asks the target
FOLDS = 3
ADULT = 12_000  # rows drawn
MIXED = 6_000  # rows of the mixture
TITLES = {"compas27": "COMPAS", "adult24": "Adult", "": "Mixture"}
ROWS_OF = {"compas27": "7,214 rows", "adult24": "12,000 rows", "": "6,000 rows"}  # in all, black boxes' and attacker's
GROUPS = {  # columns of which exactly one is 1 in each row
    "compas27": (("Race=",),),
    "adult24": (("gender_",), ("age_",), ("hours_per_week_",), ("capital_gain_",), ("capital_loss_",)),
    "": (),
}
SENSITIVE = {"compas27": ("Race=",), "adult24": ("gender_",), "": ("b1",)}


@dataclass(frozen=True, eq=False)
class MembershipFold:
    """One fold: rows that are trained on, rows that are not, and rows of the same law that the attacker has.

    `open_columns`: the columns as the attacker knows them, without one-hot groups: he knows how many there are.
    """

    train: Records
    test: Records
    shadow: Records

    @property
    def open_columns(self) -> RecordColumns:
        """Return the columns without groups."""
        return RecordColumns(self.train.columns.names, self.train.columns.continuous)

    @property
    def asked(self) -> tuple[Records, Bits]:
        """Return all rows that attacks are asked about, and which of them are training rows (the first ones)."""
        parts = (self.train, self.test)
        rows = Records(np.vstack([p.x for p in parts]), np.concatenate([p.y for p in parts]), *self.law)
        return rows, np.arange(len(rows)) < len(self.train)

    @property
    def law(self) -> tuple[RecordColumns, tuple[Any, ...]]:
        """Return columns and classes."""
        return self.train.columns, self.train.classes


def case(dataset: str, frame: pd.DataFrame | None, fold: int, seed: int = 0) -> MembershipFold:
    """Return a fold: of 70 % of the rows (D_b) two thirds are trained on, one third is not; 30 % are the attacker's."""
    whole = records(dataset, frame)
    order = np.random.default_rng([seed, 1]).permutation(len(whole))
    cut = int(SHADOW * len(whole))
    inside, shadow = whole.take(order[cut:]), whole.take(order[:cut])
    test = folded(len(inside), FOLDS, np.random.default_rng([seed, 2]))[fold]
    trained = np.setdiff1d(np.arange(len(inside)), test)
    return MembershipFold(inside.take(trained), inside.take(test), shadow)


def records(dataset: str, frame: pd.DataFrame | None) -> Records:
    """Return the rows of a data set: COMPAS whole, 12,000 rows of Adult, or the mixture."""
    if frame is None:
        return mixture()
    if len(frame) > ADULT:
        frame = frame.sample(ADULT, random_state=0)
    names = [str(name) for name in frame.columns[:-1]]
    groups = [[i for i, name in enumerate(names) if name.startswith(words)] for words in GROUPS.get(dataset, ())]
    return Records.of(frame, columns=RecordColumns.of(frame.iloc[:, :-1], groups))


@lru_cache(maxsize=1)
def mixture(rows: int = MIXED, seed: int = 0) -> Records:
    """Return rows of a mixture of Gaussians: eight continuous columns, two bits, three classes.

    Nine components with centres and spreads drawn, three per class; a bit is 1 with a probability of its own in each
    component; one label in ten is drawn again; columns are put on [0, 1], the range that an attacker without data
    supposes. The paper's SYNTH is not published: this one is ours.
    """
    rng = np.random.default_rng([seed, 3])
    centres, spreads = rng.normal(0, 1.5, (9, 8)), rng.uniform(0.5, 1.5, (9, 8))
    chance = rng.uniform(0.1, 0.9, (9, 2))
    of = rng.integers(0, 9, rows)
    numbers = centres[of] + spreads[of] * rng.normal(size=(rows, 8))
    low, high = numbers.min(axis=0), numbers.max(axis=0)
    numbers = (numbers - low) / (high - low)
    bits = rng.random((rows, 2)) < chance[of]
    y = np.where(rng.random(rows) < 0.1, rng.integers(0, 3, rows), of % 3).astype(np.int64)
    names = (*(f"x{k}" for k in range(1, 9)), "b1", "b2")
    return Records(np.column_stack([numbers, bits]), y, RecordColumns(names, (True,) * 8 + (False,) * 2), (0, 1, 2))


def decision_tree(x: Floats, y: Ints, seed: int) -> Any:
    """Return scikit-learn's tree, full-grown: its defaults, as in the authors' code."""
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=seed).fit(x, y)


def random_forest(x: Floats, y: Ints, seed: int) -> Any:
    """Return a forest of 100 full-grown trees: scikit-learn's defaults, as in the authors' code."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(100, random_state=seed).fit(x, y)


def neural_network(x: Floats, y: Ints, seed: int) -> Any:
    """Return a feed-forward network: standardised columns, layers of 64 and 32, 60 epochs of Adam; sizes are ours."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    network = MLPClassifier((64, 32), max_iter=60, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of epochs is the setting
        return make_pipeline(StandardScaler(), network).fit(x, y)


BLACK_BOXES: dict[str, Callable[[Floats, Ints, int], Any]] = {
    "DT": decision_tree, "RF": random_forest, "NN": neural_network,
}  # fmt: skip


def black_box(name: str, rows: Records, seed: int) -> Target:
    """Return a black box trained on rows; `Unsupported` without scikit-learn."""
    try:
        found: Target = BLACK_BOXES[name](rows.x, rows.y, seed)
    except ImportError:
        raise Unsupported(f"black boxes need scikit-learn: {installing('sklearn')}") from None
    return found
