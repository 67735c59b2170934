"""Compositions of scikit-learn's objects say nothing false of their training rows: some seeds, and old defects."""

from __future__ import annotations

import pickle
from pathlib import Path

import composed_cases
import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, MinMaxScaler, QuantileTransformer, StandardScaler

import recon
from encoders.domain.domain import GUESSED
from encoders.domain.values import Continuous, Test
from recon.readers.formats.drafts.binding import IS_MISSING, Feature, _continuous_test
from recon.readers.frames.world import violations
from recon.readers.loading.settled import uses_of

SEEDS = range(1_000_000, 1_000_060)


@pytest.mark.sampled(2, 6)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_compositions_say_nothing_false(seed: int) -> None:
    told, figures = composed_cases.tried(seed)
    assert not told
    assert figures


@pytest.mark.slow
def test_most_compositions_are_read() -> None:
    """What is drawn is fitted and read often enough for the seeds above to say something."""
    found = [composed_cases.tried(seed)[1] for seed in SEEDS[:12]]
    assert sum(one.get("held", 0) + one.get("folds held", 0) for one in found) >= len(found) // 2


ROWS = pd.DataFrame({"a": [0, 1, 2, 3, 3, 1, 0, 2, 2, 1], "b": [1, 1, 0, 2, 2, 0, 0, 1, 2, 2]})
LABELS = np.array([0, 1, 0, 1, 1, 0, 0, 1, 0, 1])
MODELS = {
    "scaled means": make_pipeline(MinMaxScaler(), GaussianNB()),
    "standardized means": make_pipeline(StandardScaler(), GaussianNB()),
    "sums of bits": make_pipeline(Binarizer(threshold=1.0), MultinomialNB()),
}


@pytest.mark.parametrize("name", MODELS)
def test_sums_of_a_naive_bayes_are_of_what_the_pipeline_makes(name: str, tmp_path: Path) -> None:
    """Sums of prepared columns were stated of the raw ones: the true rows broke them."""
    path, whole = tmp_path / "model.pkl", ROWS.assign(label=LABELS)
    path.write_bytes(pickle.dumps(MODELS[name].fit(ROWS, LABELS)))
    release = recon.load(path, domain=recon.Domain.from_frame(whole, label="label"))
    assert not violations(release, whole)
    changed = whole.assign(a=[3, 0, 2, 1, 3, 1, 0, 2, 2, 1])  # the sum of the column is the same, those of classes not
    assert any("what becomes of" in line for line in violations(release, changed))


def test_figures_of_columns_whose_values_are_guessed_are_not_used(tmp_path: Path) -> None:
    """Nothing says which values a column has that no split tests: it may have any number, and no figure is stated."""
    path = tmp_path / "model.pkl"
    steps = (Binarizer(threshold=1.0), QuantileTransformer(n_quantiles=5), ComplementNB())
    path.write_bytes(pickle.dumps(make_pipeline(*steps).fit(ROWS, LABELS)))
    release = recon.load(path)
    assert release.domain.source == GUESSED
    assert any(line.startswith("'a' has no values") for line in uses_of(release)["columns"].left)
    assert not [m for m in release.models if m.name == "columns"]


def test_a_test_that_every_row_passes_keeps_the_rows_without_a_value() -> None:
    """Steps behind a missing indicator may make the same of both: nobody is on the other side then."""
    feature = Feature("x", "a", lambda _: 0.0, lambda _: Test())
    attribute = Continuous("a", missing=True)
    found = _continuous_test(attribute, feature, Test(high=0.5))
    assert attribute.ranges(found)[0][0][0] < -1e308
    assert attribute.ranges(found)[-1][1] == attribute.ranges(IS_MISSING)[-1][1]
    nobody = _continuous_test(attribute, Feature("x", "a", lambda _: 1.0, lambda _: Test(values=())), Test(high=0.5))
    assert not attribute.ranges(nobody)
