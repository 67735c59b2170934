"""Figures of single columns: what preprocessing publishes, as statements, and who is pinned down beside them.

The oracle goes through all training sets of a tiny domain and fits scikit-learn's own transformers to each.
"""

from __future__ import annotations

import json
import pickle
from collections import Counter
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Grid
from encoders.encode.encoder import figures_of
from encoders.encode.marginals import marginals_of
from recon.cli.app import app
from recon.readers.inspection.inspecting import inspect
from recon.readers.loading.loading import load
from recon.release.auditing.together import _pinned_by_columns
from solvers.cells.system import system_of
from solvers.engines.marginal_worlds import MarginalBoxes
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits

DOMAIN = Domain((Grid.between("x", 0, 3), Categorical("b", (0, 1))), Categorical("y", (0, 1)))
ROWS = list(product(range(4), (0, 1), (0, 1)))
STEPS = {
    "standard": (StandardScaler, ("mean_", "var_")),
    "min-max": (MinMaxScaler, ("data_min_", "data_max_")),
    "max-abs": (MaxAbsScaler, ("max_abs_",)),
    "one-hot": (OneHotEncoder, ("categories_",)),
    "ordinal": (OrdinalEncoder, ("categories_",)),
}
POLICY = 'name = "nobody pinned"\nmost_pinned = 0\n'


def frame(rows):
    return pd.DataFrame(rows, columns=["x", "b", "y"])


def fitted(step, rows, **options):
    table = frame(rows)
    tree = DecisionTreeClassifier(random_state=0, **options)
    return make_pipeline(step, tree).fit(table[["x", "b"]], table["y"])


def stored(model, path):
    path.write_bytes(pickle.dumps(model))
    return str(path)


def same(one, other):
    if isinstance(one, list):
        return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    return np.allclose(one, other, rtol=1e-13, atol=0)


@cache
def refitted(kind):
    """Return every training set of three rows with the figures that the transformer has of it."""
    make, names = STEPS[kind]
    every = list(combinations_with_replacement(ROWS, 3))
    return [(rows, [getattr(make().fit(np.array(rows, dtype=float)[:, :2]), n) for n in names]) for rows in every]


def pinned_by_brute_force(model, kind, rows):
    """Return how many people all training sets with the same figures and the same counts have in common."""
    step, tree, names = model[0], model[-1], STEPS[kind][1]
    known = [r for r in ROWS if kind not in {"one-hot", "ordinal"} or all(r[k] in step.categories_[k] for k in (0, 1))]
    leaf = dict(zip(known, tree.apply(step.transform(frame(known)[["x", "b"]])).tolist(), strict=True))
    wanted, common = Counter((leaf[r], r[2]) for r in rows), None
    for chosen, figures in refitted(kind):
        alike = all(same(one, getattr(step, name)) for one, name in zip(figures, names, strict=True))
        if alike and Counter((leaf.get(r), r[2]) for r in chosen) == wanted:
            common = Counter(chosen) if common is None else common & Counter(chosen)
    return sum(common.values())


@pytest.mark.sampled(0, 3)
@pytest.mark.parametrize("kind", list(STEPS))
def test_nobody_is_called_free_who_is_pinned_down_and_most_often_the_number_is_right(kind, tmp_path):
    rng = np.random.default_rng(len(kind))
    exact = []
    for number in range(8):
        rows = [ROWS[i] for i in rng.integers(0, len(ROWS), 3)]
        if len({y for _, _, y in rows}) < 2:
            rows[0] = (*rows[0][:2], 1 - rows[0][2])
        model = fitted(STEPS[kind][0](), rows, max_depth=int(rng.integers(1, 3)))
        release = load(stored(model, tmp_path / f"{number}.pkl"), domain=DOMAIN)
        assert figures_of(release)
        found = _pinned_by_columns(release, 0, Limits())
        truth = pinned_by_brute_force(model, kind, rows)
        assert found.low <= truth <= found.high
        assert found.worlds
        exact.append(found.high == truth)
    assert sum(exact) >= 6


def people(n=400, rare=40):
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"age": rng.integers(18, 90, n), "smoker": (np.arange(n) < rare).astype(int)})
    table["y"] = ((table["age"] + rng.normal(0, 20, n)) > 50).astype(int)
    domain = Domain((Grid.between("age", 18, 99), Categorical("smoker", (0, 1))), Categorical("y", (0, 1)))
    return table, domain


def recon(*words):
    """Run a command; return its exit code and what it says."""
    found = CliRunner().invoke(app, list(map(str, words)))
    return found.exit_code, found.output


def gate(tmp_path, model, domain, policy=POLICY, name="model.pkl", more=()):
    from recon.readers.formats.release.writing import domain_json, dump

    (tmp_path / "domain.json").write_text(dump({"recon": 1, "domain": {**domain_json(domain), "source": "declared"}}))
    (tmp_path / "policy.toml").write_text(policy)
    path = model if isinstance(model, str) else stored(model, tmp_path / name)
    return recon("gate", path, "--domain", tmp_path / "domain.json", "--policy", tmp_path / "policy.toml", *more)


@pytest.mark.sampled(1, 3)
@pytest.mark.parametrize(
    ("step", "met"),
    [
        (StandardScaler(), True),
        (StandardScaler(with_mean=False), True),
        (MinMaxScaler(), True),
        (MaxAbsScaler(), True),
        (KBinsDiscretizer(4, encode="ordinal", strategy="uniform"), True),
        (
            ColumnTransformer([("bins", KBinsDiscretizer(4, strategy="kmeans"), ["age"])], remainder="passthrough"),
            False,
        ),
        (ColumnTransformer([("one", OneHotEncoder(), ["smoker"])], remainder="passthrough"), True),
        (ColumnTransformer([("one", OneHotEncoder(min_frequency=50), ["smoker"])], remainder="passthrough"), False),
        (OrdinalEncoder(), True),
    ],
)
def test_the_gate_says_met_where_worlds_have_the_figures_of_a_step(step, met, tmp_path):
    table, domain = people()
    model = make_pipeline(step, DecisionTreeClassifier(min_samples_leaf=40, max_depth=3))
    code, said = gate(tmp_path, model.fit(table[["age", "smoker"]], table["y"]), domain)
    assert (code, "release:" in said, "no statement carries" in said) == ((0, True, False) if met else (4, False, True))


def with_gaps(strategy, scaler):
    """Return a pipeline of the usual steps over people of whom some give no hours, and their domain."""
    table, domain = people(n=2_000)
    table["hours"] = np.random.default_rng(5).integers(0, 61, len(table)).astype(float)
    table.loc[table.index % 9 == 4, "hours"] = np.nan
    domain = Domain((*domain.attributes, Grid.between("hours", 0, 60, missing=True)), domain.label)
    steps = [("numbers", make_pipeline(SimpleImputer(strategy=strategy), scaler), ["age", "hours"]),
             ("words", OneHotEncoder(handle_unknown="ignore"), ["smoker"])]  # fmt: skip
    model = make_pipeline(ColumnTransformer(steps), DecisionTreeClassifier(min_samples_leaf=60, max_depth=4))
    return model.fit(table[["age", "smoker", "hours"]], table["y"]), domain, table


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("strategy", "scaler", "met"),
    [
        ("mean", StandardScaler(), True),
        ("median", StandardScaler(), True),
        ("most_frequent", MinMaxScaler(), True),
        ("median", KBinsDiscretizer(4, encode="ordinal"), True),
        ("median", RobustScaler(), False),
    ],
)
def test_pipelines_that_fill_gaps_are_decided_too(strategy, scaler, met, tmp_path):
    model, domain, table = with_gaps(strategy, scaler)
    code, _ = gate(tmp_path, model, domain)
    assert code == (0 if met else 4)
    hours = table["hours"].fillna(61).astype(int)
    values = [table["age"] - 18, table["smoker"], hours]
    for one in marginals_of(load(str(tmp_path / "model.pkl"), domain=domain)):
        if "quantile" not in one.source:  # more than what was published is asked of these
            assert one.met(np.asarray(values[one.attribute]), np.ones(len(table), dtype=np.int64)), one.source


def test_what_cannot_be_stated_keeps_people_open_whom_counts_would_let_go(tmp_path):
    model, domain, _ = with_gaps("mean", StandardScaler())
    for step in model[0].transformers_[0][1]:
        for name in ("mean_", "statistics_"):
            if hasattr(step, name):
                setattr(step, name, getattr(step, name) + 1e-6)  # of no numbers of people
    code, said = gate(tmp_path, model, domain)
    assert (code, "fully known" in said) == (4, True)


@pytest.mark.parametrize("rare", [3, 397])
def test_the_mean_of_a_column_of_bits_counts_a_group(rare, tmp_path):
    table, domain = people(rare=rare)
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(min_samples_leaf=40, max_depth=3))
    policy = 'name = "ten"\nsmallest_group = 10\n'
    code, said = gate(tmp_path, model.fit(table[["age", "smoker"]], table["y"]), domain, policy)
    assert code == 1
    assert "3 rows" in said


@pytest.mark.slow
def test_a_release_file_says_that_figures_of_columns_were_left_out(tmp_path):
    table, domain = people()
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(min_samples_leaf=40, max_depth=3))
    gate(tmp_path, model.fit(table[["age", "smoker"]], table["y"]), domain)
    out = tmp_path / "model.json"
    assert recon("convert", tmp_path / "model.pkl", "--domain", tmp_path / "domain.json", "--out", out)[0] == 0
    (unused,) = json.loads(out.read_text())["models"][0]["unused"]
    assert (unused["about"], "mean_" in unused["what"]) == ("columns", True)
    assert not [one for one in inspect(str(out)).findings if one.level == "unknown"]
    code, said = gate(tmp_path, str(out), domain, more=("--time", "3"))
    assert (code, "figures of single columns" in said) == (4, True)


def test_scores_of_folds_are_taken_out_and_written_down(tmp_path):
    table, domain = people()
    search = GridSearchCV(DecisionTreeClassifier(min_samples_leaf=40), {"max_depth": [2, 3]}, cv=2)
    code, said = gate(tmp_path, search.fit(table[["age", "smoker"]], table["y"]), domain)
    assert (code, "cv_results_" in said) == (4, True)
    asked = ("--domain", tmp_path / "domain.json", "--policy", tmp_path / "policy.toml", "--json")
    (check,) = json.loads(recon("audit", tmp_path / "model.pkl", *asked)[1])["assessment"]["checks"]
    assert (check["would_help"], "--strip" in check["remedy"]) == ("strip", True)
    path, out = tmp_path / "model.pkl", tmp_path / "model.json"
    assert recon("convert", path, "--domain", tmp_path / "domain.json", "--out", out)[0] == 0
    assert {one["about"] for one in json.loads(out.read_text())["models"][0]["unused"]} == {"labels"}
    assert recon("inspect", path, "--strip", tmp_path / "bare.pkl")[0] == 0
    assert gate(tmp_path, str(tmp_path / "bare.pkl"), domain)[0] == 0


def test_only_the_steps_of_the_model_that_is_read_are_stated(tmp_path):
    table, _ = people()
    x, y = table[["age", "smoker"]], table["y"]
    beforehand = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)).fit(x[:50], y[:50])
    search = GridSearchCV(beforehand, {"decisiontreeclassifier__max_depth": [2]}, cv=2).fit(x, y)
    search.estimator = beforehand
    found = {
        one.path: one.stated for one in inspect(stored(search, tmp_path / "s.pkl")).findings if one.rule == "moments"
    }
    assert found == {"best_estimator_.steps[0][1].mean_": True, "estimator.steps[0][1].mean_": False}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"mean_": np.array([50.0, 0.1]) + 1e-7}, "weighted"),
        ({"n_samples_seen_": 399}, "another number"),
    ],
)
def test_a_mean_that_is_none_of_so_many_values_is_no_statement(change, why, tmp_path):
    table, domain = people()
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)).fit(
        table[["age", "smoker"]], table["y"]
    )
    for name, value in change.items():
        setattr(model[0], name, value)
    release = load(stored(model, tmp_path / "m.pkl"), domain=domain)
    with pytest.raises(Unsupported, match=why):
        marginals_of(release)
    assert _pinned_by_columns(release, 0, Limits()).worlds == 0


def test_a_column_that_the_domain_lacks_or_has_as_words_keeps_people_open(tmp_path):
    table, domain = people()
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=1)).fit(
        table[["age", "smoker"]], table["y"]
    )
    path = stored(model, tmp_path / "m.pkl")
    words = Domain((domain.attributes[0], Categorical("smoker", ("no", "yes"))), domain.label)
    for given, why in (
        (Domain(domain.attributes[:1], domain.label), "'smoker' is neither"),
        (words, "are not numbers"),
    ):
        found = _pinned_by_columns(load(path, domain=given), 0, Limits())
        assert (found.worlds, why in found.why) == (0, True)


def test_scales_that_are_not_those_of_the_variances_leave_the_means_open(tmp_path):
    table, domain = people()
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)).fit(
        table[["age", "smoker"]], table["y"]
    )
    model[0].scale_ = model[0].scale_ * 1.1
    path = stored(model, tmp_path / "m.pkl")
    assert not figures_of(load(path, domain=domain))
    assert not any(one.stated for one in inspect(path).findings)


def test_statements_hold_on_the_rows_that_the_figures_are_of(tmp_path):
    table, domain = people()
    for number, step in enumerate((StandardScaler(), MinMaxScaler(), MaxAbsScaler(), OrdinalEncoder())):
        model = make_pipeline(step, DecisionTreeClassifier(max_depth=2)).fit(table[["age", "smoker"]], table["y"])
        release = load(stored(model, tmp_path / f"{number}.pkl"), domain=domain)
        values = np.stack([table["age"] - 18, table["smoker"], table["y"]], axis=1)
        found = marginals_of(release)
        assert found
        for one in found:
            assert one.met(values[:, one.attribute], np.ones(len(values), dtype=np.int64)), one.source
        moved = values + np.array([1, 0, 0])  # everybody is a year older
        assert not all(one.met(moved[:, one.attribute], np.ones(len(values), dtype=np.int64)) for one in found)


@pytest.mark.slow
def test_many_attributes_of_many_values_are_no_hindrance(tmp_path):
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.integers(0, 1000, (600, 12)), columns=[f"v{k}" for k in range(12)])
    domain = Domain(
        tuple(Grid.between(name, 0, 999) for name in table.columns), Categorical("y", (0, 1))
    )  # 120 bits of a row
    label = (table["v0"] > 500).astype(int)
    model = make_pipeline(MinMaxScaler(), DecisionTreeClassifier(max_depth=1)).fit(table, label)
    found = _pinned_by_columns(load(stored(model, tmp_path / "m.pkl"), domain=domain), 0, Limits())
    assert (found.high, found.worlds > 1) == (0, True)


def test_rows_that_break_a_count_or_a_figure_are_no_world(tmp_path):
    table, domain = people()
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)).fit(
        table[["age", "smoker"]], table["y"]
    )
    release = load(stored(model, tmp_path / "m.pkl"), domain=domain)
    boxes = MarginalBoxes.of(system_of(release.statements, Limits()), marginals_of(release), Limits())
    rows = np.stack([table["age"] - 18, table["smoker"], table["y"]], axis=1).astype(np.int64)
    assert boxes.is_world(rows, Limits())
    older, other = rows.copy(), rows.copy()
    older[np.flatnonzero(rows[:, 0] == 30)[0], 0] = 31  # in the same leaf, another sum
    first, last = (int(np.flatnonzero(rows[:, 2] == y)[0]) for y in (0, 1))
    other[first, 2], other[last, 2] = 1, 0  # the same sums, labels exchanged between leaves
    assert not boxes.is_world(older, Limits())
    assert not boxes.is_world(other, Limits())


def test_columns_of_one_attribute_with_equal_figures_are_all_stated(tmp_path):
    table = pd.DataFrame({"job": ["a", "b", "c", "c"] * 50, "y": [0, 0, 1, 0] * 50})  # a and b: the same mean
    domain = Domain((Categorical("job", ("a", "b", "c")),), Categorical("y", (0, 1)))
    steps = (OneHotEncoder(sparse_output=False), StandardScaler(), DecisionTreeClassifier(max_depth=1))
    release = load(stored(make_pipeline(*steps).fit(table[["job"]], table["y"]), tmp_path / "m.pkl"), domain=domain)
    sums = {tuple(one.weights.tolist()): one.low for one in marginals_of(release) if ", sum of job" in one.source}
    assert {(1, 0, 0): 50, (0, 1, 0): 50, (0, 0, 1): 100}.items() <= sums.items()
