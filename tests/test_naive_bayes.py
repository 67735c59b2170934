"""Naive Bayes models: tables and sums of columns by class, the true rows never excluded, weights refused."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from extras import batches, run
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import recon
from encoders.domain.values import Categorical, Grid, Test, View
from encoders.encode.encoder import encode
from recon.readers.formats.statistics.naive_bayes import read_bayes_rds
from recon.readers.frames.world import violations
from recon.readers.loading.loading import bind_draft
from recon.readers.stored.binary.rds import RObject
from solvers.foundation.errors import ReconError, ReleaseError
from solvers.foundation.limits import Limits

KINDS = {
    "categories": CategoricalNB, "bits": BernoulliNB, "sums": MultinomialNB, "complements": ComplementNB,
    "means": GaussianNB,
}  # fmt: skip
CORPUS = Path(__file__).parent / "corpus"


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


@pytest.mark.sampled(24)
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
        if kind == "means":
            return [[int(m.sum()), int(m @ [0, 1, 2]), int(m @ [0, 1, 4])] for m in counted]
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
    assert re.search("class_count_: .* is not a count of rows: the model was fitted with weights", error)
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


@pytest.mark.parametrize("resolution", [1, 4, 10])
def test_means_of_classes_are_sums_over_the_grid(resolution, tmp_path):
    """A mean times the rows of its class is a sum up to rounding; over a grid one sum is that near."""
    rng = np.random.default_rng(resolution)
    frame = pd.DataFrame({"a": rng.integers(0, 400, 90) / resolution, "y": rng.integers(0, 2, 90)})
    fitted = GaussianNB().fit(frame[["a"]], frame.y)
    release = recon.load(stored(tmp_path, fitted), domain=recon.Domain.from_frame(frame, label="y"))
    totals = [f.statistic for f in release.models[-1].statements if f.statistic is not None]
    squares = [f.linear for f in release.models[-1].statements if f.linear is not None]
    assert len(squares) == 2
    assert all(one.low == one.high for one in squares)
    assert violations(release, frame) == []
    assert [float(t.value) for t in totals] == pytest.approx([frame.a[frame.y == k].sum() for k in (0, 1)], abs=1e-9)
    assert {t.within for t in totals} == {0}
    assert release.models[0].origin.unused == ()
    swapped = frame.copy()  # the same sums, others of squares
    swapped.loc[[0, 1], "a"] += np.array([1, -1]) / resolution
    swapped.loc[1, "y"] = swapped.y[0]
    assert violations(release, swapped)


def test_means_that_no_sum_has_and_columns_without_a_grid_are_named_as_unused(tmp_path, capsys):
    frame = drawn(6, 30, 2)
    fitted = GaussianNB().fit(frame.drop(columns="y"), frame.y)
    fitted.theta_[0, 1] += 0.003
    domain = recon.Domain.from_frame(frame, label="y")
    release = recon.load(stored(tmp_path, fitted), domain=domain)
    unused = {one.what: one.why for one in release.models[0].origin.unused}
    assert "no sum of values of the domain is as near to" in unused["the means of 'c1'"]
    assert violations(release, frame) == []
    bare = recon.load(stored(tmp_path, fitted))
    assert "no 'resolution'" in {one.what: one.why for one in bare.models[0].origin.unused}["the means of 'c0'"]
    fitted.theta_[0, 1] = np.nan
    assert "theta_: has the mean nan" in run(capsys, "count", stored(tmp_path, fitted))[2]


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["bayes_e1071", "bayes_e1071_laplace", "bayes_e1071_gaps"])
def test_e1071_counts_are_those_of_its_rows(name):
    """Shares of levels with and without laplace, means, rows that have no value in some columns."""
    frame = pd.read_csv(CORPUS / f"{name.removesuffix('_laplace')}.csv")
    release = recon.load(str(CORPUS / f"{name}.rds"), domain=recon.Domain.from_frame(frame, label="ill"))
    assert (release.rows.low, release.rows.high) == (80, 80)
    assert violations(release, frame) == []
    wrong = frame.copy()
    wrong.loc[0, "smoker"] = not wrong.smoker[0]
    assert violations(release, wrong)
    rows = int(((frame.town == "Ulm") & (frame.ill == "no")).sum())
    asked = recon.bound(release, {"town": "Ulm", "ill": "no"})
    assert asked.min <= rows <= asked.max
    assert asked.min == asked.max or name.endswith("gaps")  # fewer rows with another laplace have the same shares


def test_e1071_with_gaps_needs_a_domain_that_has_them(capsys):
    whole = pd.read_csv(CORPUS / "bayes_e1071.csv")
    with pytest.raises(recon.ReconError, match="'town' was missing in some training rows"):
        recon.load(str(CORPUS / "bayes_e1071_gaps.rds"), domain=recon.Domain.from_frame(whole, label="ill"))
    bits = dict.fromkeys(("town", "smoker"), View("age", Test(high=30)))  # of which no row is without a value
    columns = recon.Domain((Grid.between("age", 20, 60, 1),), Categorical("ill", ("no", "yes")), bits)
    with pytest.raises(recon.ReconError, match="but the domain has no missing value of 'age'"):
        recon.load(str(CORPUS / "bayes_e1071_gaps.rds"), domain=columns)
    ledger = run(capsys, "inspect", str(CORPUS / "bayes_e1071.rds"), "--all")[1]
    assert "  unknown" not in ledger
    assert "  used     m$apriori" in ledger


@pytest.mark.parametrize("kind", ["sums", "complements", "means"])
def test_sums_without_a_domain_do_not_take_columns_for_bits(kind, tmp_path):
    frame = drawn(8, 40, 2)
    release = recon.load(stored(tmp_path, KINDS[kind]().fit(frame[["c0", "c1"]], frame.y)))
    assert recon.count(release).status != "unsat"
    assert any("no 'resolution'" in one.why for one in release.models[0].origin.unused)


@pytest.mark.parametrize("seed", batches(10, 100))
def test_shares_of_e1071_never_exclude_the_true_rows(seed):
    """The object as R builds it, with any laplace, and gaps in every other file."""
    frame, laplace = drawn(seed, columns=2), [0.0, 0.0, 1.0, 0.5][seed % 4]
    frame = frame.assign(c0=frame.c0.map({0: "p", 1: "q", 2: "r"}), c1=frame.c1.astype(float))
    if seed % 2:
        frame.loc[np.random.default_rng(seed).random(len(frame)) < 0.2, ["c0", "c1"]] = None, np.nan
    try:
        draft = read_bayes_rds(e1071_object(frame, laplace))
    except ReconError as error:
        return pytest.fail(str(error)) if "which was it?" not in str(error) else None
    domain = recon.Domain.from_frame(frame, label="y")
    release = encode(*bind_draft(draft, domain), draft.rows)
    assert violations(release, frame) == []
    return None


@pytest.mark.parametrize(
    ("share", "why"),
    [(0.0, "shares that sum to 0.[0-9]+ in a class, not to 1"), (1.5, "1.5 as the"), (np.nan, "nan as")],
)
def test_shares_of_e1071_that_are_those_of_no_class_are_named(share, why):
    frame = drawn(4, columns=2)
    whole = e1071_object(frame.assign(c0=frame.c0.map({0: "p", 1: "q", 2: "r"})), 0.0)
    read_bayes_rds(whole)
    cells = whole.values[1].values[0].values
    cells[np.argmax(cells)] = share
    with pytest.raises(ReleaseError, match=rf"tables\$c0: has .*{why}"):
        read_bayes_rds(whole)


def e1071_object(frame, laplace):
    """Return the R object of a fit, by the formulas of naiveBayes.default."""

    def texts(*values):
        return RObject("character", list(values))

    def named(entries, title):
        return {"dimnames": RObject("list", entries, {"names": texts(*title)})}

    classes = ["0", "1"]
    tables = {}
    for name in ("c0", "c1"):
        column = frame[name]
        mine = [column[frame.y == k].dropna() for k in (0, 1)]
        if name == "c1":
            cells, levels = [[m.mean(), m.std()] for m in mine], RObject("nothing", None)
        else:
            known = sorted(column.dropna().unique())
            levels = texts(*known)
            cells = [[((m == v).sum() + laplace) / (len(m) + laplace * len(known)) for v in known] for m in mine]
        shape = RObject("integer", np.array([2, len(cells[0])]))
        values = np.array(cells, dtype=float).ravel(order="F")
        tables[name] = RObject("double", values, {"dim": shape, **named([texts(*classes), levels], ["Y", name])})
    counts = np.array([(frame.y == k).sum() for k in (0, 1)])
    parts = {
        "apriori": RObject("integer", counts, named([texts(*classes)], ["y"])),
        "tables": RObject("list", list(tables.values()), {"names": texts(*tables)}), "levels": texts(*classes),
    }  # fmt: skip
    return RObject("list", list(parts.values()), {"names": texts(*parts), "class": texts("naiveBayes")})


@pytest.mark.slow
def test_profiles_beside_sums_of_many_data_sets_are_decided_by_little_work(tmp_path):
    """CP-SAT tried to list the histograms, and the clock ended that: with other work beside all stayed unknown."""
    rng = np.random.default_rng(7)
    people = {"age": rng.integers(20, 40, 40), "smoker": rng.integers(0, 2, 40), "rooms": rng.integers(1, 5, 40)}
    frame = pd.DataFrame(people).assign(y=np.r_[0, 1, rng.integers(0, 2, 38)])
    model = MultinomialNB().fit(frame.drop(columns="y"), frame.y)
    release = recon.load(stored(tmp_path, model), domain=recon.Domain.from_frame(frame, label="y"))
    limits = Limits(600.0)  # of the clock, which no busy machine reaches; the work is counted below
    assert set(recon.certify(release, frame.head(5), limits=limits).verdict) == {"possible"}
    assert limits.meter.used < 20
