"""Discriminant analyses and principal components: sums of columns and of products, the truth never excluded."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from extras import batches
from score_cases import moment_failures
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import recon
from recon.readers.formats.detection import read_draft
from recon.readers.frames.world import violations
from solvers.foundation.errors import ContradictionError, ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.release import RowCount

CORPUS = Path(__file__).parent / "corpus"
ROWS = pd.read_csv(CORPUS / "glm_rows.csv")


def stored(folder, model):
    path = folder / "model.pkl"
    path.write_bytes(pickle.dumps(model))
    return path


def linear(release):
    """Return the ends of all sums by name."""
    every = [one for model in release.models for one in model.statements if one.linear is not None]
    return {one.name: (one.linear.low, one.linear.high) for one in every}


@pytest.mark.parametrize("seed", batches(14, 200))
def test_the_true_rows_are_never_excluded(seed):
    assert moment_failures(seed)[0] == []


def test_quadratic_analyses_count_pairs_of_properties_in_every_class(tmp_path):
    rng = np.random.default_rng(2)
    people = pd.DataFrame(rng.integers(0, 2, (50, 3)), columns=["smoker", "old", "poor"]).assign(ill=[0, 1] * 25)
    model = QuadraticDiscriminantAnalysis().fit(people.drop(columns="ill"), people.ill)
    release = recon.load(stored(tmp_path, model), domain=recon.Domain.from_frame(people, label="ill"), rows=50)
    assert violations(release, people) == []
    for value in (0, 1):
        asked = recon.bound(release, {"smoker": 1, "old": 1, "ill": value})
        assert asked.min == asked.max == int(people[people.ill == value][["smoker", "old"]].all(axis=1).sum())


@pytest.mark.parametrize(("file", "products"), [("lda.rds", 0), ("qda.rds", 10)])
def test_analyses_of_r_give_sums_by_class(file, products):
    rows = ROWS[["age", "smoker", "pressure", "sex"]]
    release = recon.load(CORPUS / file, domain=recon.Domain.from_frame(rows, label="sex"))
    assert release.rows.low == release.rows.high == 60
    assert violations(release, rows) == []
    found = linear(release)
    assert len(found) == products
    assert all(low == high for low, high in found.values())
    totals = [one.statistic.value for model in release.models for one in model.statements if one.statistic is not None]
    assert len(totals) == 6
    assert int(rows[rows.sex == "M"].age.sum()) in totals


def test_the_number_of_rows_is_asked_for_and_checked(tmp_path):
    people = ROWS[["age", "smoker", "ill"]]
    path = stored(tmp_path, LinearDiscriminantAnalysis().fit(people[["age", "smoker"]], people.ill))
    domain = recon.Domain.from_frame(people, label="ill")
    with pytest.raises(Unsupported, match=r"a multiple of 30 rows, .*: give --rows, or --known-columns"):
        recon.load(path, domain=domain)
    with pytest.raises(ContradictionError, match="are not of 59 rows: the number of rows is a multiple of 30"):
        recon.load(path, domain=domain, rows=59)
    beside = recon.load(path, known_columns=people[["age", "smoker"]])
    assert violations(beside, people.rename(columns={"ill": "label"})) == []


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (LinearDiscriminantAnalysis(), "directions that distinguish classes"),
        (LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3), "drawn towards another matrix"),
        (QuadraticDiscriminantAnalysis(reg_param=0.1), "drawn towards another matrix"),
        (PCA(1), "only 1 of 2 components are kept"),
        (PCA(2, svd_solver="randomized"), "finds components approximately"),
    ],
)
def test_covariances_that_do_not_follow_are_named(model, why, tmp_path):
    people = ROWS[["age", "smoker", "ill"]]
    alone = isinstance(model, PCA)
    path = stored(tmp_path, model.fit(people[["age", "smoker"]], None if alone else people.ill))
    rows = people[["age", "smoker"]] if alone else people
    release = recon.load(path, domain=recon.Domain.from_frame(rows, label=None if alone else "ill"), rows=60)
    assert violations(release, rows) == []
    assert linear(release) == {}
    assert any(why in one.why for one in release.models[0].origin.unused)


@pytest.mark.parametrize("size", [1e3, 1e12])
@pytest.mark.parametrize("model", [QuadraticDiscriminantAnalysis(), LinearDiscriminantAnalysis("lsqr"), PCA()], ids=str)
def test_a_large_column_that_the_domain_has_not_leaves_sums_open(model, size, tmp_path):
    """It was taken as 0, for the rounding too: honest files contradicted themselves."""
    rng, alone = np.random.default_rng(4), isinstance(model, PCA)
    people = pd.DataFrame(rng.integers(0, 2, (60, 3)), columns=["smoker", "old", "ill"])
    columns = people[["smoker", "old"]].assign(income=size * rng.random(60))
    path = stored(tmp_path, model.fit(columns, None if alone else people.ill))
    rows = people[["smoker", "old"]] if alone else people
    release = recon.load(path, domain=recon.Domain.from_frame(rows, label=None if alone else "ill"), rows=60)
    assert violations(release, rows) == []
    products = [low == high for low, high in linear(release).values()]
    assert products.count(True) == (len(products) if size < 1e9 else 0)
    assert products


def test_shares_of_classes_are_of_some_numbers_of_rows(tmp_path):
    people = ROWS[["age", "smoker", "ill"]]
    path = stored(tmp_path, LinearDiscriminantAnalysis().fit(people[["age", "smoker"]], people.ill))
    draft = read_draft(path.read_bytes(), 1 << 30)
    for shares, rows, counts in (
        ((0.25, 0.75), 8, (2, 6)), ((0.25, 0.75), 6, None), ((0.35, 0.65), 4, None), ((1e-12, 1 - 1e-12), 9, None),
    ):  # fmt: skip
        given = replace(draft, shares=shares)
        if counts is None:
            with pytest.raises(ContradictionError, match=f"are not of {rows} rows"):
                given.of_rows(rows)
        else:
            (table,) = given.of_rows(rows).models
            assert tuple(one.count for one in table.statements) == (rows, *counts)
    third = replace(draft, classes=("a", "b", "c"), shares=(1 / 3,) * 3, class_means=np.zeros((3, 2)))
    with pytest.raises(ContradictionError, match="are not of 4 rows"):  # all of them are above a whole number
        third.of_rows(4)
    assert third.of_rows(6).rows == RowCount(6, 6)
    half = replace(draft, classes=("a", "b", "c"), shares=(0.25, 0.25, 0.5), class_means=np.zeros((3, 2)))
    with pytest.raises(ContradictionError, match="are not of 6 rows"):  # the last share alone is of a whole number
        half.of_rows(6)


def test_what_is_no_sum_of_rows_is_refused(tmp_path):
    people = ROWS[["age", "smoker", "ill"]]
    given = LinearDiscriminantAnalysis(priors=[0.5, 0.5]).fit(people[["age", "smoker"]], people.ill)
    with pytest.raises(Unsupported, match="its priors were given"):
        recon.load(stored(tmp_path, given), rows=60)
    changed = PCA().fit(people[["age", "smoker"]])
    changed.explained_variance_ = changed.explained_variance_ * 1.01
    domain = recon.Domain.from_frame(people[["age", "smoker"]])
    with pytest.raises(ContradictionError, match="no sum of products of 'age' has these digits") as error:
        recon.load(stored(tmp_path, changed), domain=domain)
    assert error.value.conflict == ("the covariance of 'age'",)
    changed.mean_ = np.array([np.inf, 0.5])
    with pytest.raises(ReleaseError, match="mean_: holds inf"):
        recon.load(stored(tmp_path, changed), domain=domain)


def test_components_behind_a_scaler_do_not_contradict_a_domain_that_nobody_declared(tmp_path):
    """Its columns were taken as 0 or 1, for nothing compares them, and the sums then had no world (exit code 5)."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.integers(0, 2, 30), "b": rng.integers(0, 4, 30), "c": rng.integers(0, 3, 30)})
    path = stored(tmp_path, make_pipeline(StandardScaler(), PCA()).fit(rows))
    release = recon.load(path)
    assert [type(one).__name__ for one in release.domain.all] == ["Continuous"] * 3
    assert recon.count(release).value is None
    declared = recon.load(path, domain=recon.Domain.from_frame(rows))
    assert violations(declared, rows) == []


@pytest.mark.slow
def test_profiles_beside_sums_of_products_over_few_cells_are_decided(tmp_path):
    """Their histograms were listed row by row, of 24 cells and 12 rows, until the time was up."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.integers(0, 2, 12), "b": rng.integers(0, 4, 12), "c": rng.integers(0, 3, 12)})
    release = recon.load(stored(tmp_path, PCA().fit(rows)), domain=recon.Domain.from_frame(rows))
    assert set(recon.certify(release, rows.head(3), limits=Limits(600.0)).verdict) == {"possible"}
