"""Logistic regressions beside everybody's columns: sums over the rows of class 1, the true labels never excluded."""

from __future__ import annotations

import math
import pickle
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from extras import batches
from sklearn.linear_model import LogisticRegression

import recon
from recon.readers.frames.world import violations
from solvers.foundation.errors import ReleaseError, Unsupported

CORPUS = Path(__file__).parent / "corpus"


def people(seed, rows, columns, bits):
    """Return columns of 0 and 1, or of numbers with two decimals, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    found = rng.integers(0, 2, (rows, columns)) if bits else rng.normal(0, 3, (rows, columns)).round(2)
    frame = pd.DataFrame(found, columns=[f"a{k}" for k in range(columns)])
    weights = rng.normal(size=columns) / 3
    labels = (rng.random(rows) < 1 / (1 + np.exp(-frame.to_numpy() @ weights))).astype(int)
    labels[:2] = [0, 1]
    return frame, pd.Series(labels, name="label")


def stored(folder, model):
    path = folder / "model.pkl"
    path.write_bytes(pickle.dumps(model))
    return path


@pytest.mark.parametrize("seed", batches(6, 100))
def test_the_true_labels_are_never_excluded(seed, tmp_path):
    frame, labels = people(seed, 20 + seed % 50, 2 + seed % 9, bits=seed % 2 == 0)
    strength = (0.1, 1.0, 10.0)[seed % 3]
    solver = ("lbfgs", "newton-cg", "newton-cholesky")[seed // 3 % 3]
    model = LogisticRegression(C=strength, solver=solver, fit_intercept=seed % 5 != 0, max_iter=1000).fit(frame, labels)
    release = recon.load(stored(tmp_path, model), known_columns=frame)
    assert violations(release, frame.assign(label=labels)) == []
    if model.fit_intercept:
        assert violations(release, frame.assign(label=1 - labels)) or 2 * labels.sum() == len(labels)


def test_as_many_data_sets_as_there_are_by_brute_force(tmp_path):
    frame, labels = people(1, 14, 3, bits=True)
    model = LogisticRegression().fit(frame, labels)
    release = recon.load(stored(tmp_path, model), known_columns=frame)
    wanted = [labels.sum(), *(frame.T @ labels)]
    have = set()
    for guess in product((0, 1), repeat=len(frame)):
        y = np.array(guess)
        if [y.sum(), *(frame.T @ y)] == wanted:
            have.add(tuple(sorted(zip(map(tuple, frame.to_numpy().tolist()), guess, strict=True))))
    assert recon.count(release, "multiset").value == len(have)


def test_sums_of_the_defaults_are_exact(tmp_path):
    frame, labels = people(0, 60, 14, bits=True)
    model = LogisticRegression().fit(frame, labels)
    release = recon.load(stored(tmp_path, model), known_columns=frame)
    ends = [(s.linear.low, s.linear.high) for s in release.models[0].statements if s.linear is not None]
    assert [math.ceil(a) for a, _ in ends] == [math.floor(b) for _, b in ends]
    assert [math.ceil(a) for a, _ in ends] == [*(frame.T @ labels).tolist(), int(labels.sum())]


def test_statsmodels_stores_its_gradient():
    frame = pd.read_csv(CORPUS / "statsmodels_logit.csv")
    columns = frame.drop(columns="ill")
    release = recon.load(CORPUS / "statsmodels_logit.pkl", known_columns=columns)
    assert violations(release, frame.rename(columns={"ill": "label"})) == []
    ends = [(s.linear.low, s.linear.high) for s in release.models[0].statements if s.linear is not None]
    assert max(float(b - a) for a, b in ends) < 1e-5
    with pytest.raises(ReleaseError, match="60"):
        recon.load(CORPUS / "statsmodels_logit.pkl", known_columns=columns.head(50))


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"solver": "liblinear"}, "stops at no known gradient"),
        ({"penalty": "l1", "solver": "saga"}, "stops at no known gradient"),
        ({"class_weight": "balanced"}, "rows by weight"),
        ({"max_iter": 1}, "took all of its 1 steps"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_holds_no_equation_is_refused(settings, why, tmp_path):
    frame, labels = people(2, 30, 3, bits=False)
    path = stored(tmp_path, LogisticRegression(**settings).fit(frame, labels))
    with pytest.raises(Unsupported, match=why):
        recon.load(path, known_columns=frame)


def test_without_columns_it_says_what_is_needed(tmp_path):
    frame, labels = people(3, 30, 3, bits=True)
    path = stored(tmp_path, LogisticRegression().fit(frame, labels))
    with pytest.raises(Unsupported, match="--known-columns"):
        recon.load(path)
    with pytest.raises(ReleaseError, match="no column 'a2'"):
        recon.load(path, known_columns=frame.drop(columns="a2"))
