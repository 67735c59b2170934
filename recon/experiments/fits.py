"""What several experiments do: draw rows, fit scikit-learn's models, release one, add noise, see what it leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.domain.domain import Domain
from encoders.encode.encoder import EncodedRelease
from encoders.encode.encoder import encode as encode_models
from encoders.models.models import Noise, published_of
from recon.queries.answers.counting import count
from recon.queries.measures.sweeping import exact_counts, with_noise
from recon.readers.loading.loading import encode
from solvers.engines.figures.partition import bits_before
from solvers.foundation.errors import EmptyConfidenceSet, Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.noise.laws import NoiseLaw
from solvers.statements.noise.sampling import Randomness
from solvers.statements.questions.query import Convention

COUNTED = ("bits", "attributes")  # every column an independent bit (the paper's), or the attributes behind the columns
NAMES = {"compas27": "COMPAS", "adult24": "Adult"}  # of the reconstruction paper's data, in the order of its figures
ADULT_ROWS = 4_884  # drawn of Adult's for every split, a tenth, as the authors' program does
TEST_SHARE = 0.2
SAMPLED = ("adult19", "adult24")
EXACT = 1e-9  # bounds that differ by no more, relatively, are one number


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

    @property
    def training(self) -> pd.DataFrame:
        """Return the training rows, the label last."""
        return self.x.assign(**{str(self.y.name): self.y})


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


def fitted(kind: Literal["tree", "forest", "network"], x: Any, y: Any, **settings: Any) -> Any:
    """Return scikit-learn's classifier of a kind, of features and labels; `settings` are its own."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.tree import DecisionTreeClassifier

    return {"tree": DecisionTreeClassifier, "forest": RandomForestClassifier, "network": MLPClassifier}[kind](
        **settings
    ).fit(x, y)


def released(model: Any, domain: Domain) -> EncodedRelease:
    """Return the release of what was fitted, by scikit-learn or here, or of a published model."""
    models = published_of([model])
    return encode_models(domain, models) if models else encode(model, domain)


@dataclass(frozen=True)
class WorldsLeft:
    """log2 of the worlds before a release of so many rows and after it, at least and at most, and who counted them."""

    rows: int
    before: float
    low: float
    high: float
    engine: str

    def row(self, margin: float = EXACT) -> dict[str, Any]:
        """Return the figures by name: `exact` where the bounds differ by a margin at most; bits removed per row."""
        return {
            "engine": self.engine, "exact": self.high - self.low <= margin * max(1.0, self.high), "before": self.before,
            "log2_low": self.low, "log2_high": self.high, "removed_low": (self.before - self.high) / self.rows,
            "removed_high": (self.before - self.low) / self.rows,
        }  # fmt: skip


def worlds_left(release: EncodedRelease, convention: Convention, seconds: float, limits: Limits) -> WorldsLeft:
    """Return the worlds that a release leaves, exact or between rigorous bounds: within the time, if only trivial."""
    n = release.rows.low
    before = bits_before(release.statements, [n], convention, limits)
    try:
        found = count(release, convention, limits.at_most(seconds))
    except (Inconclusive, Unsupported) as error:
        return WorldsLeft(n, before, 0.0, before, f"none ({str(error)[:80]})")
    return WorldsLeft(n, before, max(0.0, found.bounds[0]), min(found.bounds[1], before), found.engine)


def noisy_draws(release: EncodedRelease, epsilon: float, draws: int, seed: int, limits: Limits
                ) -> Iterator[EncodedRelease]:  # fmt: skip
    """Yield a release of exact counts with discrete Laplace noise on them: epsilon of one row added or removed.

    The model's shape was chosen on exact rows and is not private.
    """
    _, truth = exact_counts(release)
    dice, exact = Randomness(seed), Fraction(repr(float(epsilon)))
    noise = Noise(NoiseLaw("discrete_laplace", 1 / exact), exact, Fraction(0), Fraction(1), "add_remove")
    for _ in range(draws):
        limits.check("noise is drawn")
        yield with_noise(release, [int(c) + dice.discrete_laplace(noise.law.scale) for c in truth], noise)


def covers(noisy: EncodedRelease, truth: NDArray[np.int64]) -> bool:
    """Return whether the joint intervals of noisy counts hold the true ones."""
    own = noisy.statements.partitions[0]
    return bool(((own.low <= truth) & (truth <= own.high)).all())


def confident_worlds(noisy: EncodedRelease, seconds: float, limits: Limits) -> tuple[str, float | None]:
    """Return how worlds were counted that noisy counts leave at the joint confidence, and log2 of the most there are.

    None where nothing fits ("empty"), or the time was up ("unknown").
    """
    try:
        found = count(noisy, "ordered", limits.at_most(seconds))
    except EmptyConfidenceSet:
        return "empty", None
    except Inconclusive:
        return "unknown", None
    high = found.bounds[1]
    return (found.status, high) if np.isfinite(high) else ("empty" if high < 0 else "unknown", None)
