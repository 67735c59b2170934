"""Naive Bayes models: tables and sums of columns by class, the true rows never excluded, weights refused."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from extras import batches, run
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import recon
from recon.readers.frames.world import violations

KINDS = {"categories": CategoricalNB, "bits": BernoulliNB, "sums": MultinomialNB, "complements": ComplementNB}


def drawn(seed, rows=0, columns=0):
    """Return rows of small whole numbers, and a label."""
    rng = np.random.default_rng(seed)
    n = rows or int(rng.integers(4, 60))
    frame = pd.DataFrame({f"c{k}": rng.integers(0, 3, n) for k in range(columns or int(rng.integers(1, 5)))})
    frame.iloc[0, :], frame.iloc[1, :] = 0, 2
    return frame.assign(y=np.r_[0, 1, rng.integers(0, 2, n - 2)])


def stored(tmp_path, model):
    """Return the path of a stored model."""
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(model))
    return str(path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", batches(8, 100))
def test_the_true_rows_are_never_excluded(kind, seed, tmp_path):
    frame = drawn(seed)
    model = KINDS[kind]().fit(frame.drop(columns="y"), frame.y)
    release = recon.load(stored(tmp_path, model), domain=recon.Domain.from_frame(frame, label="y"))
    assert release.rows.low == release.rows.high == len(frame)
    assert violations(release, frame) == []
    wrong = frame.copy()
    wrong.loc[0, "c0"] = 2
    assert violations(release, wrong)


@pytest.mark.parametrize("kind", KINDS)
def test_worlds_are_those_with_the_same_tables(kind, tmp_path):
    """Every multiset of four rows of one column and a label to which the model fits the same numbers."""
    from itertools import combinations_with_replacement, product

    frame = drawn(3, 4, 1)
    fitted = KINDS[kind]().fit(frame.drop(columns="y"), frame.y)
    release = recon.load(stored(tmp_path, fitted), domain=recon.Domain.from_frame(frame, label="y"))

    def table(rows):
        counted = np.zeros((2, 3), dtype=int)
        for value, label in rows:
            counted[label, value] += 1
        if kind == "categories":
            return counted.tolist()
        return [[int(m.sum()), int(m[1:].sum()) if kind == "bits" else int(m @ [0, 1, 2])] for m in counted]

    cells = list(product(range(3), range(2)))
    truth = table(frame[["c0", "y"]].itertuples(index=False))
    same = sum(table(rows) == truth for rows in combinations_with_replacement(cells, len(frame)))
    assert recon.count(release, "multiset").value == same > 0


def test_a_pipeline_joins_the_categories_of_its_encoder(tmp_path):
    frame = drawn(5, 30, 2)
    words = frame.assign(c0=frame.c0.map({0: "low", 1: "mid", 2: "top"}))
    model = make_pipeline(OrdinalEncoder(), CategoricalNB()).fit(words.drop(columns="y"), words.y)
    release = recon.load(stored(tmp_path, model), domain=recon.Domain.from_frame(words, label="y"))
    assert violations(release, words) == []
    asked = recon.bound(release, {"c0": "top", "y": 1})
    number = int(((words.c0 == "top") & (words.y == 1)).sum())
    assert (asked.min, asked.max) == (number, number)


def test_weights_and_numbers_that_are_not_whole_are_refused(tmp_path, capsys):
    frame = drawn(1, 20, 2)
    weighted = CategoricalNB().fit(frame.drop(columns="y"), frame.y, sample_weight=np.linspace(0.5, 1.7, 20))
    code, _, error = run(capsys, "count", stored(tmp_path, weighted))
    assert code == 3
    assert re.search("class_count_: .* is no count of rows: the model was fitted with weights", error)
    halves = MultinomialNB().fit(frame.drop(columns="y") / 2, frame.y)
    code, _, error = run(capsys, "count", stored(tmp_path, halves))
    assert (code, "feature_count_" in error) == (3, True)
    wrong = CategoricalNB().fit(frame.drop(columns="y"), frame.y)
    wrong.category_count_[1][0, 0] += 1
    assert "category_count_[1]: adds up to" in run(capsys, "count", stored(tmp_path, wrong))[2]


def test_the_tables_are_used(tmp_path, capsys):
    frame = drawn(2, 40, 3)
    for kind in KINDS.values():
        ledger = run(capsys, "inspect", stored(tmp_path, kind().fit(frame.drop(columns="y"), frame.y)), "--all")[1]
        assert re.search(r"  used +class_count_", ledger)
        assert "  unknown" not in ledger
