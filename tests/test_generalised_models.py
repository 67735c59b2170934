"""Generalised linear models beside everybody's columns: sums over responses, the truth never excluded, bad input."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from boosted_cases import compas14
from extras import batches, extra
from score_cases import as_csv, design_of, failures, fitted
from score_cases import people as fitted_people
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, QuantileTransformer, StandardScaler

import recon
from recon.readers.formats.detection import read_draft
from recon.readers.formats.regressions.score_equations import SumBox
from recon.readers.frames.world import violations
from solvers.cells.system import system_of
from solvers.foundation.errors import ContradictionError, ReconError, ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.programs.cell_model import _expected_logarithm
from solvers.programs.verdicts import VerdictProver
from solvers.statements.questions.answers import Answer

CORPUS = Path(__file__).parent / "corpus"
READ = {  # files of one table of rows: the response, and the columns that the fit has
    "statsmodels_glm.pkl": "ill", "statsmodels_poisson.pkl": "falls", "glm.rds": "ill", "glm_summary.rds": "ill",
    "glm_r.txt": "ill", "glm_statsmodels.txt": "ill", "poisson_statsmodels.txt": "falls",
    "ols_statsmodels.txt": "pressure", "lm_r.txt": "pressure",
}  # fmt: skip


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


@pytest.mark.parametrize("seed", batches(3, 60))
def test_several_classes_have_an_equation_each_and_the_truth_is_never_excluded(seed, tmp_path):
    """Bits: every sum of every class is exact; numbers with decimals: an interval that has it."""
    frame, _ = people(seed, 30 + seed % 60, 2 + seed % 7, bits=seed % 3 != 1)
    rng = np.random.default_rng(seed)
    labels = pd.Series(rng.choice([2, 5, 9, 11][: 3 + seed % 2], len(frame)), name="label")
    labels[:4] = [2, 5, 9, 11 if seed % 2 else 2]
    solver = ("lbfgs", "newton-cg", "newton-cholesky")[seed % 3]
    model = LogisticRegression(C=(0.3, 1.0, 5.0)[seed % 3], solver=solver, fit_intercept=seed % 5 != 0, max_iter=1000)
    release = recon.load(stored(tmp_path, model.fit(frame, labels)), known_columns=frame)
    assert violations(release, frame.assign(label=labels)) == []
    assert (
        violations(release, frame.assign(label=labels.replace({2: 5, 5: 2})))
        or (labels == 2).sum() == (labels == 5).sum()
    )
    ends = [(s.linear.low, s.linear.high) for s in release.models[0].statements if s.linear is not None]
    assert len(ends) == len(model.classes_) * (frame.shape[1] + model.fit_intercept)
    if seed % 3 != 1:
        assert all(math.ceil(a) == math.floor(b) for a, b in ends)
        found = [math.ceil(a) for a, _ in ends]
        wanted = [
            v
            for c in model.classes_
            for v in [*(frame.T @ (labels == c)), *[(labels == c).sum()] * model.fit_intercept]
        ]
        assert found == wanted


def test_fits_by_class_are_refused(tmp_path):
    frame, labels = people(0, 40, 3, bits=True)
    model = LogisticRegression().fit(frame, labels + (frame.a0 & frame.a1))
    model.n_iter_ = np.array([5, 5, 5])
    with pytest.raises(Unsupported, match="a fit by itself for every class"):
        recon.load(stored(tmp_path, model), known_columns=frame)


@pytest.mark.slow
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


def mixed_people(seed, rows):
    """Return columns of numbers and of words, and labels."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "smoker": rng.integers(0, 2, rows),
            "region": rng.choice(["east", "north", "south"], rows),
            "visits": rng.integers(1, 4, rows),
        }
    )
    labels = (rng.random(rows) < 1 / (1 + np.exp(3 - frame.age / 15 - frame.smoker))).astype(int)
    labels[:2] = [0, 1]
    return frame, pd.Series(labels, name="label")


def steps_before(kind):
    """Return the columns that a pipeline takes, and its steps before the model."""
    words = ColumnTransformer(
        [("numbers", StandardScaler(), ["age", "smoker"]), ("words", OneHotEncoder(), ["region", "visits"])]
    )
    return {
        "scaled": (["age", "smoker", "visits"], [StandardScaler()]),
        "between": (["age", "visits"], [SimpleImputer(), MinMaxScaler((-1, 1)), StandardScaler()]),
        "words": (["age", "smoker", "region", "visits"], [words]),
    }[kind]


@pytest.mark.parametrize("kind", ["scaled", "between", "words"])
@pytest.mark.parametrize("seed", batches(2, 60))
def test_behind_steps_the_sums_are_of_the_raw_columns(kind, seed, tmp_path):
    """The equations of scaled and coded columns say every sum over the raw ones; the truth is never excluded."""
    frame, labels = mixed_people(seed, 30 + seed % 40)
    columns, steps = steps_before(kind)
    frame = frame[columns]
    model = make_pipeline(*steps, LogisticRegression(C=(1.0, 10.0)[seed % 2], tol=1e-8, max_iter=5_000))
    release = recon.load(stored(tmp_path, model.fit(frame, labels)), known_columns=frame)
    assert violations(release, frame.assign(label=labels)) == []
    sums = [s.linear for s in release.models[0].statements if s.linear is not None]
    every = [(math.ceil(one.low), math.floor(one.high)) for one in sums]
    assert all(low == high for low, high in every), every
    assert (int(frame.age @ labels),) * 2 in every


def test_behind_steps_without_names_the_table_gives_them(tmp_path):
    frame, labels = mixed_people(3, 40)
    frame = frame[["age", "visits"]]
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8)).fit(frame.to_numpy(), labels)
    release = recon.load(stored(tmp_path, model), known_columns=frame)
    assert violations(release, frame.assign(label=labels)) == []
    with pytest.raises(ReleaseError, match="2 columns without names, the table has 1"):
        recon.load(stored(tmp_path, model), known_columns=frame[["age"]])


def test_without_known_columns_the_steps_are_read_and_the_model_is_named(tmp_path):
    frame, labels = mixed_people(4, 40)
    frame = frame[["age", "visits"]]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame, labels)
    release = recon.load(stored(tmp_path, model), domain=recon.Domain.from_frame(frame.assign(label=labels), "label"))
    assert violations(release, frame.assign(label=labels)) == []
    [unused] = [one for one in release.models[0].origin.unused if "LogisticRegression" in one.what]
    assert "--known-columns" in unused.why


@pytest.mark.parametrize(
    ("steps", "settings", "why"),
    [
        ([QuantileTransformer(n_quantiles=10)], {}, "neither a multiple of it nor whether it has one value"),
        ([StandardScaler()], {"fit_intercept": False}, "without a constant, of columns that a step shifts"),
    ],
)
def test_steps_that_give_no_sum_of_raw_columns_are_refused(steps, settings, why, tmp_path):
    frame, labels = mixed_people(5, 40)
    frame = frame[["age", "visits"]]
    path = stored(tmp_path, make_pipeline(*steps, LogisticRegression(**settings)).fit(frame, labels))
    with pytest.raises(Unsupported, match=why):
        recon.load(path, known_columns=frame)


def test_the_defaults_of_60_people_of_compas_leave_31016_data_sets(tmp_path, data):
    """All 15 sums are exact; the number is that of all ways to give these people labels with the sums."""
    data("compas14.csv.gz")
    frame, domain = compas14()
    people_of = frame.sample(60, random_state=1)
    columns, labels = people_of.drop(columns=domain.label.name), people_of[domain.label.name]
    release = recon.load(stored(tmp_path, LogisticRegression().fit(columns, labels)), known_columns=columns)
    ends = [(s.linear.low, s.linear.high) for s in release.models[0].statements if s.linear is not None]
    assert [math.ceil(a) for a, _ in ends] == [math.floor(b) for _, b in ends]
    assert [math.ceil(a) for a, _ in ends] == [*(columns.T @ labels).tolist(), int(labels.sum())]
    assert recon.count(release, "multiset").value == 31_016
    assert recon.labels(release).how.value_counts().to_dict() == {"open": 53, "certain": 7}


@pytest.mark.parametrize("known", [False, True])
def test_several_fits_in_one_file_are_not_read(known, tmp_path):
    """The last model of a stack is of other columns, those of a calibration of other rows: nothing is stated."""
    frame, labels = people(6, 40, 1, bits=True)
    model = StackingClassifier([("one", LogisticRegression())], final_estimator=LogisticRegression())
    path = stored(tmp_path, model.fit(frame.to_numpy(), labels))
    with pytest.raises(Unsupported, match="several fits in one file" if known else "give --known-columns"):
        recon.load(path, known_columns=frame if known else None)


def test_statsmodels_stores_its_gradient():
    frame = pd.read_csv(CORPUS / "statsmodels_logit.csv")
    columns = frame.drop(columns="ill")
    release = recon.load(CORPUS / "statsmodels_logit.pkl", known_columns=columns)
    assert violations(release, frame.rename(columns={"ill": "label"})) == []
    ends = [(s.linear.low, s.linear.high) for s in release.models[0].statements if s.linear is not None]
    assert max(float(b - a) for a, b in ends) < 1e-5
    with pytest.raises(ReleaseError, match="60"):
        recon.load(CORPUS / "statsmodels_logit.pkl", known_columns=columns.head(50))


@pytest.mark.parametrize("seed", batches(2, 60))
@pytest.mark.filterwarnings("ignore")
def test_every_class_of_mnlogit_has_its_sums_and_the_truth_is_never_excluded(seed, tmp_path):
    """With and without its data, classes that are numbers or words, columns with decimals: all sums are exact."""
    model_of = extra("statsmodels.discrete.discrete_model").MNLogit
    frame, _ = people(seed, 30 + seed % 60, 1 + seed % 5, bits=seed % 3 != 0)
    rng = np.random.default_rng(seed)
    names = ([2, 5, 9, 11], ["mild", "no", "severe", "x"], [0.5, 1.5, 2, 3])[seed % 3][: 3 + seed % 2]
    labels = pd.Series(rng.choice(names, len(frame)), name="ill")
    labels[: len(names)] = names
    settings = {"method": ("newton", "bfgs", "lbfgs")[seed % 3], "maxiter": 1000, "disp": 0}
    fit = model_of(labels, frame.assign(const=1.0) if seed % 5 else frame).fit(**settings)
    if seed % 2:
        fit.remove_data()
    release = recon.load(stored(tmp_path, fit), known_columns=frame)
    assert violations(release, frame.assign(ill=labels)) == []
    ends = [(s.linear.low, s.linear.high) for s in release.models[0].statements if s.linear is not None]
    columns = frame.assign(const=1.0) if seed % 5 else frame
    wanted = [float(v) for name in names for v in columns.T @ (labels == name)]
    assert [float(low) for low, _ in ends] == pytest.approx(wanted)
    assert all(low == high for low, high in ends)


def changed_mnlogit(path, change):
    """Return the object of a stored fit of several classes with a part changed."""
    fit = pickle.loads(path.read_bytes())
    change(fit._results)
    return fit


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda fit: fit.model._ynames_map.pop(2), "has no names of its 3 classes"),
        (lambda fit: fit.model._ynames_map.update({2: "mild"}), "has no names of its 3 classes"),
        (lambda fit: fit.mle_retvals.pop("score"), "fit by the default method, newton"),
        (lambda fit: fit.mle_retvals.update(score=np.zeros(5)), "how far the solver was from the equations"),
        (lambda fit: setattr(fit, "params", fit.params[:, 0]), "has no coefficients"),
        (lambda fit: setattr(fit.model, "offset", np.ones(60)), "offsets or exposures"),
    ],
)
def test_what_mnlogit_does_not_hold_is_named(change, why, tmp_path):
    extra("statsmodels.discrete.discrete_model")
    rows = pd.read_csv(CORPUS / "mnlogit_rows.csv")
    path = stored(tmp_path, changed_mnlogit(CORPUS / "statsmodels_mnlogit.pkl", change))
    with pytest.raises(ReconError, match=why):
        recon.load(path, known_columns=rows[["age", "sex", "smoker"]])


def test_the_first_class_is_off_by_what_all_others_are_together(tmp_path):
    """Gradients of .0004 and .0003 by row, of 60 rows: .042 in the equation of the first class, which has none."""
    extra("statsmodels.discrete.discrete_model")
    rows = pd.read_csv(CORPUS / "mnlogit_rows.csv")
    gradient = np.array([0, 0.0004, 0, 0, 0, -0.0003, 0, 0])
    fit = changed_mnlogit(CORPUS / "statsmodels_mnlogit.pkl", lambda fit: fit.mle_retvals.update(score=gradient))
    draft = read_draft(pickle.dumps(fit), 1 << 30).of_known(rows[["age", "sex", "smoker"]], "severity")
    low, high = draft.members[0].sums.ends()[1]
    assert 0.042 < float(high - low) / 2 < 0.0421


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


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", batches(12, 200))
def test_the_true_rows_of_printed_and_stored_fits_are_never_excluded(seed):
    assert failures(seed)[0] == []


@pytest.mark.parametrize("file", READ)
def test_what_libraries_store_and_print_gives_every_sum_exactly(file):
    """Whatever is read: objects with and without their data, summaries as printed by default."""
    rows = pd.read_csv(CORPUS / "glm_rows.csv")
    columns, response = rows[["age", "sex", "smoker"]], READ[file]
    true = columns.assign(**{response: rows[response]})
    domain = recon.Domain.from_frame(true, label=response) if response == "pressure" else None
    release = recon.load(CORPUS / file, known_columns=columns, domain=domain)
    assert violations(release, true) == []
    found = {s.name: (s.linear.low, s.linear.high) for s in release.models[0].statements if s.linear is not None}
    wanted = [
        int(rows[response].sum()),
        int((rows.age * rows[response]).sum()),
        int((rows.smoker * rows[response]).sum()),
    ]
    ends = sorted(set(found.values()))
    assert all((w, w) in ends for w in [*wanted, int(((rows.sex == "M") * rows[response]).sum())])


def logit(folder, rows, columns):
    """Return people with their labels, and what eight digits of their logistic regression say beside the columns."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(0, 1, (rows, columns)).round(2), columns=[f"a{k}" for k in range(columns)])
    drawn, effects = rng.random(rows), rng.normal(0, 0.5, columns)
    frame["y"] = (drawn < 1 / (1 + np.exp(-frame.to_numpy() @ effects))).astype(int)
    names, design = design_of(frame)
    weights, errors, _ = fitted(design, frame.y.to_numpy(dtype=float), "binomial")
    (folder / "fit.csv").write_text(as_csv(names, weights, errors, rows, "binomial", 8))
    return frame, recon.load(folder / "fit.csv", known_columns=frame.drop(columns="y"))


def test_logit_of_200_rows_in_eight_digits_gives_every_sum(tmp_path):
    """X'y of ten numbers with two decimals, from the coefficients alone."""
    frame, release = logit(tmp_path, 200, 10)
    assert violations(release, frame) == []
    ends = [(s.linear.low, s.linear.high) for s in release.models[0].statements if s.linear is not None]
    assert len(ends) == 11
    assert all(low == high for low, high in ends)
    assert [float(low) for low, _ in ends] == pytest.approx([frame.y.sum(), *(frame.drop(columns="y").T @ frame.y)])


@pytest.mark.slow
def test_labels_of_a_logit_of_200_rows_are_bounded_without_a_world(tmp_path, monkeypatch):
    """By linear programs: CP-SAT finds none in minutes."""
    frame, release = logit(tmp_path, 200, 10)
    searched = []
    monkeypatch.setattr(VerdictProver, "start", lambda _, limits: searched.append(limits.name) or Answer("unknown"))
    true = int(((frame.y == 1) & (frame.a0 > 0)).sum())
    found = recon.bound(release, {"y": 1, "a0": {"above": 0}})
    assert (found.min, true, found.max, int((frame.a0 > 0).sum())) == (36, 52, 68, 96)  # as the page says
    everybody = recon.bound(release, {"y": 1})
    assert (everybody.min, everybody.max, everybody.status) == (frame.y.sum(), frame.y.sum(), "exact")
    recon.bound(release, frame.iloc[0].to_dict() | {"y": 1})
    assert searched == ["profile", "profile", "first world: decide"]  # little, where a world settles nothing


@pytest.mark.parametrize("rows", [9, 12])
def test_so_many_histograms_are_expected_as_there_are_on_average(rows, tmp_path):
    """All labels of known people, over the values that the sums could have had."""
    _, release = logit(tmp_path, rows, 2)
    system = system_of(release.statements, Limits())
    linear, base, free = system.linear, system.bounds.lower, system.free
    pairs = {tuple(linear.col[linear.row == r].tolist()) for r in np.flatnonzero(linear.high == 1)}
    pairs = sorted(pair for pair in pairs if len(pair) == 2 and set(pair) <= set(free.tolist()))
    assert 3 < len(pairs) == len(free) / 2
    sums = []
    for labels in product((0, 1), repeat=len(pairs)):
        z = base.copy()
        z[[pair[y] for pair, y in zip(pairs, labels, strict=True)]] = 1
        sums.append(linear.sums(z))
    values = np.ptp(np.array(sums), axis=0) + 1
    said = np.clip(linear.high - linear.low + 1, 1, values)
    assert _expected_logarithm(system) == pytest.approx(len(pairs) * math.log(2) - np.log(values / said).sum())


def test_columns_that_separate_the_classes_give_every_label():
    """What R prints where it warns of shares of 0 and 1 and takes all its steps: the deviance bounds what is left."""
    rows = pd.DataFrame({"age": range(20, 40), "smoker": [0, 1] * 10})
    found = recon.labels(recon.load(CORPUS / "glm_separated.txt", known_columns=rows))
    assert found["label"].tolist() == [int(age > 31) for age in rows.age]
    assert set(found["how"]) == {"certain"}


def test_coefficients_of_no_responses_are_named(tmp_path):
    frame = fitted_people(4, "binomial", rows=40)
    names, design = design_of(frame)
    weights, errors, _ = fitted(design, frame.y.to_numpy(dtype=float), "binomial")
    weights[1] += 0.01
    (tmp_path / "fit.csv").write_text(as_csv(names, weights, errors, 40, "binomial", 8))
    with pytest.raises(
        ContradictionError, match=r"no responses of these rows have the coefficients: the equation of"
    ) as error:
        recon.load(tmp_path / "fit.csv", known_columns=frame.drop(columns="y"))
    assert error.value.conflict == ("the equation of the constant",)


CSV = "term,coef,std err\n(Intercept),0.5,0.1\na0,0.25,0.1\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (CSV + "family,binomial\nlink,probit\n", "the link probit is not read: its equations weigh every row"),
        (CSV + "family,gamma\n", "of the family gamma is not read"),
        (CSV + "model,MNLogit\n", "of the family mnlogit is not read"),
        (CSV + "family,binomial\nweights,w\n", "a weighted regression is not read"),
        (CSV, r"name the family in a line below them \(family,gaussian"),
        (
            CSV.replace("coef,std err", "std err,coef,z").replace("0.1\n", "0.1,5\n"),
            r"tests of z are not of least squares",
        ),
        ("Call:\nglm(formula = y ~ a0, family = binomial, weights = w)\n\nCoefficients:\n", "a weighted fit"),
        ("Call:\nglm(formula = y ~ a0 + offset(t), family = poisson)\n\nCoefficients:\n", "offsets"),
        (
            (CORPUS / "glm_separated.txt").read_text().replace("1.7208e-09", "17.208"),
            "took all of its 25 steps",
        ),
        ("Call:\nglm(formula = cbind(y, n) ~ a0, family = binomial)\n\nCoefficients:\n", "several trials per row"),
        ("Call:\nglm(formula = y ~ a0, family = binomial)\n\nCoefficients:\n(Intercept)  a0\n  1  2\n", "no table"),
        (
            "   Probit Regression Results\n=====\n       coef    std err\n-----\na0  1.0 0.1 1.0 0.3 0.1 0.2\n",
            "not of Probit",
        ),
    ],
)
def test_what_gives_no_equation_is_refused_by_name(text, why, tmp_path):
    (tmp_path / "fit.txt").write_text(text)
    with pytest.raises(Unsupported, match=why):
        recon.load(tmp_path / "fit.txt", known_columns=pd.DataFrame({"a0": [0, 1] * 10}))


@pytest.mark.slow
def test_sums_that_are_gone_through_together_are_those_of_brute_force():
    """Every choice of whole sums near the middle, tried one by one."""
    rng = np.random.default_rng(3)
    for _ in range(6):
        slopes = rng.normal(size=(3, 3)) @ np.diag([1, 5, 15])
        box = SumBox(
            tuple(Fraction(v).limit_denominator(100) for v in rng.normal(0, 3, 3).tolist()),
            slopes, rng.uniform(0.05, 0.3, 3), rng.uniform(0.001, 0.05, 3),
        )  # fmt: skip
        middle = np.array([float(m) for m in box.middle])
        wide = box.half + np.abs(np.linalg.inv(slopes)) @ box.rest
        alone = np.abs(slopes) @ box.half + box.rest
        span = range(-16, 17)
        near = [z for z in product(span, repeat=3) if (np.abs(z - middle) <= alone).all()]
        fits = [z for z in near if (np.abs(np.linalg.solve(slopes, z - middle)) <= wide).all()]
        found = box.whole_ends([Fraction(1)] * 3)
        if fits:
            assert [(low, high) for low, high in found] == [(min(v), max(v)) for v in zip(*fits, strict=True)]
        else:
            assert any(low > high for low, high in found)
