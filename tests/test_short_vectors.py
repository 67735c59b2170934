"""Labels from sums: lattice reduction finds every solution, beside brute force; labels of known rows, proved."""

from __future__ import annotations

import pickle
from contextlib import suppress
from itertools import product

import numpy as np
import pandas as pd
import pytest
from extras import extra, some
from sklearn.naive_bayes import GaussianNB

import recon
import solvers.histograms.short_vectors as short
from solvers.cells.components import Component
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits


def component(matrix, low, high, room):
    """Return a component of statements."""
    many = len(room)
    ends = (np.asarray(x, dtype=np.int64) for x in (low, high))
    return Component(np.arange(many), np.asarray(room), np.arange(len(matrix)), np.asarray(matrix), *ends)


def every_solution(part):
    """Return all solutions, by going through all rows."""
    cells = np.array(list(product(*(range(r + 1) for r in part.room.tolist()))))
    sums = cells @ part.matrix.T
    return {tuple(z) for z in cells[((sums >= part.low) & (sums <= part.high)).all(axis=1)].tolist()}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", some(range(16)))
def test_every_solution_is_found(seed, monkeypatch):
    extra("flint")
    monkeypatch.setattr(short, "MIN_COLUMNS", 1)
    monkeypatch.setattr(short, "run", lambda name, payload, limits, work: short.reduced(payload))
    rng = np.random.default_rng(seed)
    pairs = 4 + seed % 4
    weights = rng.integers(-300, 300, (1 + seed % 3, pairs))
    room = np.repeat(rng.integers(1, 3, pairs), 2)
    labels = np.stack([r := rng.integers(0, room[::2] + 1), room[::2] - r], axis=1).ravel()
    matrix = [np.repeat(np.eye(pairs, dtype=int)[i], 2) for i in range(pairs)]
    matrix += [np.stack([w, 0 * w], axis=1).ravel() for w in weights]
    sums = np.array(matrix) @ labels
    slack = np.where(np.arange(len(matrix)) < pairs, 0, rng.integers(0, 40, len(matrix)) * (seed % 2))
    part = component(matrix, sums - slack, sums + slack, room)
    asked = short.ShortForms.of(part)
    short_ones = asked.shortened()
    assert len(short_ones.forms) <= len(asked.forms)
    for one in (asked, short_ones):
        with suppress(Unsupported):  # no vector of the basis is one
            check(part, one)


def check(part, asked):
    """Compare what the search finds with all solutions."""
    basis = short._beginning_with_a_solution(asked, short.reduced_basis(asked, Limits()))
    search = short.SolutionSearch(asked, basis, Limits())
    assert search.all_found()
    assert len(search.solutions) == len({tuple(z.tolist()) for z in search.solutions})
    assert {tuple(z.tolist()) for z in search.solutions} == every_solution(part)


@pytest.mark.slow
def test_a_proof_that_is_too_much_work_is_none(monkeypatch):
    extra("flint")
    monkeypatch.setattr(short, "MAX_NODES", 3)
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 1 << 40, (2, 40))
    labels = rng.integers(0, 2, 40)
    part = component(weights, weights @ labels, weights @ labels, np.ones(40, dtype=int))
    found = short.solutions(part, Limits())
    assert not found.all
    assert found.found[0].tolist() == labels.tolist()


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    rng = np.random.default_rng(3)
    columns = {f"c{k}": rng.gamma(2, 30, 40).round(3) for k in range(10)}
    rows = pd.DataFrame(columns).assign(ill=rng.integers(0, 2, 40))
    path = tmp_path_factory.mktemp("bayes") / "model.pkl"
    path.write_bytes(pickle.dumps(GaussianNB().fit(rows.drop(columns="ill"), rows.ill)))
    return rows, path


@pytest.mark.slow
def test_labels_of_known_rows_follow_from_means_and_variances(measured):
    extra("flint")
    rows, path = measured
    release = recon.load(path, known_columns=rows.drop(columns="ill"))
    found = recon.labels(release)
    assert found.how.eq("certain").all()
    assert found.label.tolist() == rows.ill.tolist()
    assert found.attrs["status"] == "exact"
    assert any("their values are" in note or "known: they are among" in note for note in release.domain.notes)


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("people", [100, 200])
def test_labels_of_people_with_thirty_measurements_are_certain(people, tmp_path):
    extra("flint")
    from sklearn.datasets import load_breast_cancer

    columns, labels = load_breast_cancer(return_X_y=True, as_frame=True)
    at = np.random.default_rng(0).permutation(len(columns))[:people]
    columns, labels = columns.iloc[at].reset_index(drop=True), labels.iloc[at].tolist()
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(GaussianNB().fit(columns, labels)))
    found = recon.labels(recon.load(path, known_columns=columns))
    assert found.how.eq("certain").all()
    assert found.label.tolist() == labels


@pytest.mark.slow
def test_equations_that_follow_from_others_are_left_out_and_contradictions_found():
    extra("flint")
    rng = np.random.default_rng(5)
    weights = rng.integers(-(1 << 40), 1 << 40, (2, 40))
    weights = np.vstack([weights, weights.sum(axis=0), 3 * weights[0] - weights[1]])
    sums = weights @ (labels := rng.integers(0, 2, 40))
    found = short.solutions(component(weights, sums, sums, np.ones(40, dtype=int)), Limits())
    assert [one.tolist() for one in found.found] == [labels.tolist()]
    assert found.all
    asked = short.ShortForms.of(component(weights, sums, sums, np.ones(40, dtype=int)))
    assert (len(asked.forms), len(asked.shortened().forms)) == (44, 42)
    sums = sums + np.array([0, 0, 1, 0])
    found = short.solutions(component(weights, sums, sums, np.ones(40, dtype=int)), Limits())
    assert found.all
    assert not found.found


def test_statements_that_contradict_each_other_have_no_solution():
    weights = np.vstack([np.ones(40, dtype=int), np.arange(300, 340), -np.arange(300, 340)])
    part = component(weights, [20, 6_000, -5_990], [20, 6_000, -5_990], np.ones(40, dtype=int))
    found = short.solutions(part, Limits())
    assert found.all
    assert not found.found
