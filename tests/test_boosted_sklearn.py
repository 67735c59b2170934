"""scikit-learn's boosting: what leaf values are said to say holds for the rows fitted on, within tight intervals."""

from __future__ import annotations

import contextlib
import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from boosted_cases import (
    exact_parts,
    fit_gb,
    fit_hist,
    library_gradients,
    parts_of,
    random_case,
    release_of,
    true_points,
    used_parts,
)
from changed_objects import root_of
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection._split import _validate_shuffle_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_sklearn_files import BY_NAME, frame_of, released

import recon
from encoders.domain.values import Categorical
from encoders.models.models import Boosting, Forest
from recon.readers.formats.release.writing import dump, release_json
from recon.readers.formats.sklearn.boosting.boosting import _with_held_out
from recon.readers.formats.sklearn.boosting.draft import UNIT, pairwise
from recon.readers.formats.sklearn.boosting.histogram import _exact_sums, _hessians, _least_share
from recon.readers.frames.world import violations
from recon.readers.loading.loading import draft_of
from solvers.foundation.errors import ReleaseError
from solvers.statements.gradients.boosted import rows_at
from solvers.statements.release import RowCount

FITS = {"gb2": 25, "hist2": 25, "gb3": 6, "hist3": 6, "gb4": 3, "hist4": 3, "gb0": 15, "hist0": 15}


def rows(n: int = 120, classes: int = 2, seed: int = 0) -> pd.DataFrame:
    """Return rows of four columns of few values; the label has so many classes (0: a real number)."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (n, 4))
    score = x @ [1.0, 0.5, -1.0, 0.2] + rng.normal(size=n)
    y = score if not classes else np.minimum(np.argsort(np.argsort(score)) * classes // n, classes - 1)
    return pd.DataFrame(x, columns=list("abcd")).assign(y=y)


def released_from(model, frame: pd.DataFrame) -> recon.EncodedRelease:
    return release_of(model, recon.Domain.from_frame(frame, label="y"))


def named(release) -> np.ndarray:
    """Return what every figure of the first boosted model is about, in a word."""
    return np.array([name.rsplit(", ")[-1] for tree in release.statements.boosted[0].trees for name in tree.names])


# ---------------------------------------------------------------- the truth is inside


@pytest.mark.sampled(1, 4)
@pytest.mark.parametrize("family", FITS)
def test_figures_hold_for_gradients_as_the_library_computes_them(family):
    rng = np.random.default_rng(7)
    used = 0
    for _ in range(FITS[family]):
        case = random_case(rng, family, most=120, trees=4)
        parts = parts_of(case)
        assert (parts <= 1).all(), (family, case.options, len(case.frame))
        used += len(parts) > 0
    assert used > 0.6 * FITS[family]


@pytest.mark.long
@pytest.mark.parametrize("family", FITS)
def test_figures_hold_for_many_fits(family):
    rng = np.random.default_rng(8)
    for _ in range(20 * FITS[family]):
        case = random_case(rng, family, most=400, trees=8)
        assert (parts_of(case) <= 1).all(), (family, case.options, len(case.frame))


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("fit", [fit_gb, fit_hist])
def test_gradients_of_the_library_lie_within_what_is_said_of_them(fit, classes):
    frame = rows(80, classes)
    model = fit(frame, **({"n_estimators": 3} if fit is fit_gb else {"max_iter": 3}))
    law = replace(released_from(model, frame).statements.boosted[0].gradients, score_error=0.0, start_error=0.0)
    rng = np.random.default_rng(3)
    widest = 38.0 if classes == 2 else 2.0  # of softmax the law is for scores as far apart as this model's
    scores = (
        rng.uniform(-1, 1, (4000, 1 if classes == 2 else classes)) * rng.choice([0.01, 0.1, 1.0], (4000, 1)) * widest
    )
    for of in range(scores.shape[1]):
        g, h = library_gradients(model._loss, scores, of, classes, np.float32 if fit is fit_hist else np.float64)
        said = rows_at(law, scores, of, classes, False)
        assert (said.gradient.low <= g).all()
        assert (g <= said.gradient.high).all()
        assert (said.hessian.low[:, None] <= h).all()
        assert (h <= said.hessian.high[:, None]).all()


@pytest.mark.sampled(1, 2)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fit", [fit_gb, fit_hist])
def test_intervals_are_no_wider_than_rounding_needs(fit, classes):
    frame = rows(600, classes)
    model = fit(frame, learning_rate=0.1)
    release = released_from(model, frame)
    found = true_points(release, frame)
    parts = used_parts(*found)
    assert parts.max() <= 1
    width = np.concatenate([(t.high - t.low) / 2 for t in found[0].trees])[named(release) == "value"]
    rounding = 600 * 600 * UNIT if fit is fit_gb else 600 * 8 * UNIT  # sums by pairs; exact sums and one quotient
    assert np.median(width) < rounding
    assert width.max() > 1e-18


@pytest.mark.slow
def test_scores_are_those_of_the_library_to_the_last_bit():
    for classes in (2, 3):
        frame = rows(150, classes)
        for model in (fit_gb(frame, n_estimators=25), fit_hist(frame, max_iter=25, min_samples_leaf=3)):
            boosted, leaves, _ = true_points(released_from(model, frame), frame)
            scores = np.tile(boosted.base, (len(leaves), 1))
            for t, tree in enumerate(boosted.trees):
                scores[:, tree.of] += tree.step[leaves[:, t]]
            raw = model.decision_function(frame.drop(columns="y"))
            assert {tuple(r) for r in scores.tolist()} == {tuple(np.atleast_1d(r).tolist()) for r in raw}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["gradient_boosting", "gradient_boosting_3", "hist_boosting", "hist_boosting_3"])
def test_files_of_other_versions_hold_too(name):
    for entry in [*BY_NAME[name], *(BY_NAME["hist_boosting_missing"] if name == "hist_boosting" else [])]:
        frame = frame_of(entry)
        release = released(entry, frame)
        old = tuple(int(x) for x in entry["library"].split()[-1].split(".")[:2]) < (1, 4)
        if old and name.endswith("3"):
            assert not release.statements.boosted
            assert any("so old a version" in line for line in release_notes(entry))
            continue
        parts = used_parts(*true_points(release, frame))
        assert len(parts) > 5
        assert parts.max() <= 1


def release_notes(entry) -> tuple[str, ...]:
    from test_sklearn_files import read

    return tuple(read(entry).reader_notes)


# ---------------------------------------------------------------- what is derived


def test_impurities_give_back_the_residuals_of_leaves():
    frame = rows(400)
    model = fit_gb(frame, n_estimators=20)
    release = released_from(model, frame)
    leaves = sum(len(t.step) for t in release.statements.boosted[0].trees)
    inner = sum(int((e.tree_.children_left >= 0).sum()) for e in model.estimators_.ravel())
    found = named(release)
    assert (found == "value").sum() == leaves
    assert inner + 0.9 * leaves <= (found == "residuals").sum() <= inner + leaves
    assert (found == "squares").sum() >= 0.9 * leaves


def test_gains_give_back_the_hessians_of_leaves():
    frame = rows(400)
    release = released_from(fit_hist(frame, max_iter=20), frame)
    leaves = sum(len(t.step) for t in release.statements.boosted[0].trees)
    assert (named(release) == "gain").sum() >= 0.9 * leaves


def test_a_stump_has_no_hessians():
    frame = rows(60)
    release = released_from(fit_hist(frame, max_iter=3, max_leaf_nodes=2), frame)
    assert set(named(release)) == {"value"}


def test_hidden_weights_and_parts_of_the_rows_show():
    frame = rows(300)
    weights = np.random.default_rng(1).integers(1, 3, len(frame))
    release = released_from(fit_hist(frame, weights=weights, max_iter=10), frame)
    parts = used_parts(*true_points(release, frame))
    assert np.median(parts) > 1e6


@pytest.mark.slow
def test_sums_that_are_not_exact_are_bounded_all_the_same():
    frame = rows(200)
    model = fit_hist(frame, learning_rate=1.0, max_iter=60, min_samples_leaf=1)
    release = released_from(model, frame)
    boosted, leaves, times = true_points(release, frame)
    assert not _exact_sums(200.0, _least_share(60.0, 2))
    parts = exact_parts(model, boosted, leaves, times)
    assert parts.max() <= 1
    kinds = {name.rsplit(", ")[-1] for name in boosted.trees[-1].names}
    assert kinds == {"value"}  # gains say nothing where sums are rounded


@pytest.mark.slow
def test_sums_by_pairs_pass_through_few_additions():
    rng = np.random.default_rng(0)
    for n in (1, 5, 9, 100, 129, 1000, 4097, 100_000):
        terms = rng.random(n)
        off = abs(Fraction(float(terms.sum())) - sum(map(Fraction, terms.tolist())))
        assert float(off) <= float(pairwise(np.array([float(n)]))[0]) * UNIT * math.fsum(terms)
    assert pairwise(np.array([7.0, 128.0, 1e6])).tolist() == [7.0, 28.0, 41.0]


def test_hessians_are_infinitely_wide_where_values_agree():
    frame = rows(60)
    model = fit_hist(frame, max_iter=1, max_depth=2, min_samples_leaf=5)
    draft = draft_of(model)
    tree = draft.trees[0].arrays
    low, high = _hessians(tree, np.zeros(len(tree.left)), np.ones(len(tree.left)), 0.0)
    inner = np.flatnonzero(~tree.leaf)[1:]
    below = np.concatenate([tree.left[inner], tree.right[inner]])
    assert len(below)
    assert np.isinf(low[below]).all()
    assert np.isinf(high[below]).all()


# ---------------------------------------------------------------- what is not used, and why

NOT_USED = {
    "part": (lambda f: fit_gb(f, subsample=0.8), "a part of the rows"),
    "weights": (lambda f: fit_gb(f, weights=[1, 2] * (len(f) // 2)), "sample_weight"),
    "classes weighted": (lambda f: fit_hist(f, class_weight="balanced"), "class_weight"),
    "continued": (lambda f: fit_gb(f, warm_start=True), "warm_start"),
    "continued histograms": (lambda f: fit_hist(f, warm_start=True), "warm_start"),
    "exponential": (lambda f: fit_gb(f, loss="exponential"), "its loss is 'exponential'"),
    "monotonic": (lambda f: fit_hist(f, monotonic_cst=[1, 0, 0, 0]), "monotonic_cst"),
    "start": (lambda f: fit_gb(f, init=LogisticRegression()), "the model that it starts from"),
    "uniform": (lambda f: fit_gb(f, init=DummyClassifier(strategy="uniform")), "the model that it starts from"),
    "no steps": (lambda f: fit_gb(f, learning_rate=0.0), "learning rate"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NOT_USED)
def test_leaf_values_that_say_something_else_are_not_used(name):
    frame = rows(100)
    fit, reason = NOT_USED[name]
    release = released_from(fit(frame), frame)
    assert isinstance(release.models[0], Forest)
    assert not release.statements.boosted
    assert any(reason in line for line in release.reader_notes), release.reader_notes


def changed(model, **values):
    """Return a model with other attributes than it was fitted with: what anybody may write into a file."""
    for name, value in values.items():
        setattr(model, name, value)
    return model


def with_nodes(model, field: str, at: int, value):
    """Return a histogram model with another figure at a node of its first tree."""
    model._predictors[0][0].nodes[field][at] = value
    return model


HOSTILE = {
    "loss": (lambda f: changed(fit_gb(f), loss=["log_loss"]), "loss"),
    "criterion": (lambda f: changed(fit_gb(f), criterion=["mse"]), "criterion"),
    "another criterion": (lambda f: changed(fit_gb(f), criterion="mae"), "criterion"),
    "rate": (lambda f: changed(fit_hist(f), learning_rate="0.1"), "learning rate"),
    "start": (lambda f: changed(fit_hist(f), _baseline_prediction=np.array([[np.nan]])), "the scores that it starts"),
    "ridge": (lambda f: changed(fit_hist(f), l2_regularization=-1.0), "the scores that it starts"),
    "value": (lambda f: with_nodes(fit_hist(f), "value", 1, 1e200), "not those of training"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", HOSTILE)
def test_figures_that_no_training_gives_are_not_used(name):
    frame = rows(100)
    make, reason = HOSTILE[name]
    draft = draft_of(make(frame))
    assert draft.values is None
    assert any(reason in line for line in draft.reader_notes), draft.reader_notes


def test_rows_that_do_not_add_up_are_refused():
    with pytest.raises(ReleaseError, match=r"tree 0 of _predictors.nodes\['count'\]\[0\] says 100 rows, but its two"):
        draft_of(with_nodes(fit_hist(rows(100)), "count", 1, 3))


def test_a_gain_that_is_no_number_leaves_values():
    frame = rows(100)
    release = released_from(with_nodes(fit_hist(frame, max_iter=1), "gain", 1, np.inf), frame)
    assert set(named(release)) == {"value"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("loss", ["absolute_error", "huber", "quantile", "poisson", "gamma"])
def test_regressions_of_other_losses_are_read_as_sizes(loss):
    frame = rows(100, 0).assign(y=lambda f: f["y"] ** 2 + 1)
    fit = fit_hist if loss in {"poisson", "gamma"} else fit_gb
    release = released_from(
        fit(frame, regressor=True, loss=loss, **({"max_iter": 3} if fit is fit_hist else {})), frame
    )
    assert isinstance(release.models[0], Forest)
    assert any(f"its loss is '{loss}'" in line for line in release.reader_notes)


@pytest.mark.parametrize(
    ("fit", "share", "low"), [(fit_gb, 0.1, 123), (fit_gb, 0.5, 122), (fit_hist, 0.25, 92), (fit_hist, 7, 116)]
)
def test_rows_held_out_are_training_rows_too(fit, share, low):
    frame = rows(123)
    stops = {"n_estimators": 30} if fit is fit_gb else {"max_iter": 9, "early_stopping": True}
    model = fit(frame, n_iter_no_change=3, validation_fraction=share, **stops)
    release = released_from(model, frame)
    assert isinstance(release.models[0], Forest)
    assert (release.rows.low, release.rows.high) == (low, 123)
    assert not violations(release, frame)
    assert any("least number of training rows" in line for line in release.assumptions)
    assert any("held out" in line for line in release.reader_notes)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.5, 0.75, 0.8, 0.9, 0.99, 7])
def test_of_how_many_rows_some_were_held_out(share):
    """The library divides every number of rows, and what trees then saw gives all numbers back that divide alike."""
    thing = root_of(GradientBoostingClassifier(validation_fraction=share))
    by_seen = {}
    for n in range(1, 500):
        with contextlib.suppress(ValueError):  # no row would be left
            by_seen.setdefault(_validate_shuffle_split(n, share, None)[0], []).append(n)
    by_seen.popitem()  # more rows than these may leave as many
    assert len(by_seen) > 2
    for seen, numbers in by_seen.items():
        assert _with_held_out(thing, seen) == RowCount(numbers[0], numbers[-1])


def test_what_a_converted_file_says_of_rows_held_out_is_understood(tmp_path):
    release, file = released_from(fit_hist(rows(60), max_iter=2, early_stopping=True), rows(60)), tmp_path / "r.json"
    file.write_text(dump(release_json(release.domain, release.models, release.rows)), encoding="utf-8")
    assert "held out" in file.read_text(encoding="utf-8")
    assert {f.level for f in recon.inspect(file).findings} == {"high"}


@pytest.mark.slow
def test_continued_training_on_as_many_rows_is_an_assumption_that_is_named():
    frame = rows(100)
    other = frame.assign(a=frame["b"], b=frame["c"], c=frame["d"], d=frame["a"])
    for fit in (fit_gb, fit_hist):
        model = fit(frame, warm_start=True)
        assert any("not continued on other rows" in line for line in released_from(model, frame).assumptions)
        size = "n_estimators" if fit is fit_gb else "max_iter"
        model.set_params(**{size: getattr(model, size) + 2}).fit(other.drop(columns="y"), other["y"])
        release = released_from(model, frame)
        assert any("not continued on other rows" in line for line in release.assumptions)
        assert violations(release, frame)  # what the assumption is for


def test_training_continued_on_other_rows_is_not_used():
    frame = rows(100)
    model = GradientBoostingClassifier(n_estimators=3, warm_start=True, random_state=0)
    model.fit(frame.drop(columns="y"), frame["y"])
    model.set_params(n_estimators=6).fit(frame.drop(columns="y")[:90], frame["y"][:90])
    model.set_params(warm_start=False)
    release = released_from(model, frame)
    assert isinstance(release.models[0], Forest)
    assert any("different rows" in line for line in release.reader_notes)


def test_a_histogram_regression_needs_ends_of_the_label():
    frame = rows(80, 0)
    model = fit_hist(frame, regressor=True, max_iter=3)
    wide = recon.Domain.from_frame(frame, label="y")
    assert isinstance(release_of(model, wide).models[0], Boosting)
    assert isinstance(release_of(model, replace(wide, label=None)).models[0], Forest)


def test_first_trees_and_sizes_are_said_as_before():
    frame = rows(120)
    for model in (fit_gb(frame, n_estimators=4), fit_hist(frame, max_iter=4)):
        release = released_from(model, frame)
        first, later = release.statements.blocks[0], release.statements.blocks[1]
        assert set(first.label.tolist()) == {0, 1}
        assert set(later.label.tolist()) == {-1}
        assert violations(release, frame) == []


def test_pipelines_and_files_say_the_same(tmp_path):
    frame = rows(120)
    x, y = frame.drop(columns="y"), frame["y"]
    model = make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=5, random_state=0)).fit(x, y)
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(model))
    domain = recon.Domain.from_frame(frame, label="y")
    release = recon.load(str(path), domain=domain)
    boosted, leaves, times = true_points(release, frame)
    assert len(boosted) > 10
    assert used_parts(boosted, leaves, times).max() <= 1


def test_labels_in_the_order_of_the_domain():
    frame = rows(120)
    frame["y"] = np.where(frame["y"] == 1, "yes", "no")
    model = fit_gb(frame, n_estimators=5)
    read = recon.Domain.from_frame(frame, label="y")
    turned = replace(read, label=Categorical("y", values=("yes", "no")))
    release = release_of(model, turned)
    assert release.statements.boosted[0].labels == (1, 0)
    assert exact_parts(model, *true_points(release, frame)).max() <= 1


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["hist", "gb"])
def test_trees_of_one_leaf_still_say_how_many_rows_have_each_class(kind):
    frame = pd.DataFrame({"a": [0, 0, 0, 0, 0], "y": [1, 0, 1, 1, 0]})
    model = (fit_hist if kind == "hist" else fit_gb)(frame)
    release = released_from(model, frame)
    first = release.statements.blocks[0]
    assert (len(first), first.low.tolist(), first.high.tolist()) == (2, [2, 3], [2, 3])


def people(n: int = 150) -> pd.DataFrame:
    """Return rows with a number, names, codes and a truth value; the label hangs on all of them."""
    r = np.random.default_rng(3)
    towns = ["Ulm", "Bonn", "Jena", "Kiel", "Trier"]
    frame = pd.DataFrame({"num": r.integers(0, 9, n).astype(float), "town": r.choice(towns, n)})
    frame = frame.assign(code=r.integers(0, 6, n) * 3.0, flag=r.integers(0, 2, n).astype(bool))
    score = frame.town.isin(["Ulm", "Kiel"]) * 2 + frame.num / 4 + (frame.code == 9) * 2 + frame.flag
    return frame.assign(y=(score + r.normal(size=n) * 0.5 > 2.5).astype(int))


CATEGORIES = {
    "from_dtype": lambda x: x.assign(town=x["town"].astype("category"), code=x["code"].astype("category")),
    ("town", "code"): lambda x: x,
    (1, 2): lambda x: x.assign(town=x["town"].map({"Bonn": 0.0, "Jena": 1.0, "Kiel": 2.0, "Trier": 3.0, "Ulm": 4.0})),
    "missing": lambda x: x.assign(
        town=x["town"].mask(x.index % 7 == 0).astype("category"), num=x["num"].mask(x.index % 5 == 0)
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", CATEGORIES, ids=str)
def test_categories_of_histogram_boosting_are_those_of_the_rows(how):
    frame = people()
    x, y = CATEGORIES[how](frame.drop(columns="y")), frame["y"]
    given = "from_dtype" if how == "missing" else how if isinstance(how, str) else list(how)
    model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5, categorical_features=given)
    model.fit(x.astype(float).to_numpy() if how == (1, 2) else x, y)
    flags = [nodes["is_categorical"] for (p,) in model._predictors if (nodes := p.nodes)["is_categorical"].any()]
    assert flags  # there are splits on categories
    text = {c: x[c].astype(object) for c in x if str(x[c].dtype) == "category"}
    rows_ = x.assign(**text, y=y)
    release = recon.encode(model, recon.Domain.from_frame(rows_, label="y"))
    assert violations(release, rows_) == []
    assert release.models[0].origin.counts == ("exact", "size")
    assert any("sums of gradients over sets of categories are not derived" in line for line in release.reader_notes)
    # one row in another category is another data set
    target = 4 if how == (1, 2) else "Ulm"
    k = int(np.flatnonzero((rows_["town"] == rows_["town"].iloc[1]) & (rows_["town"] != target))[0])
    other = rows_.assign(town=rows_["town"].where(rows_.index != k, target))
    assert violations(release, other) != []


@pytest.mark.slow
def test_codes_of_categories_that_the_file_does_not_name_are_refused():
    frame = people()
    model = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5, categorical_features=["town"])
    model.fit(frame.drop(columns="y"), frame["y"])
    model._preprocessor.transformers_[0][1].categories_ = []
    with pytest.raises(ReleaseError, match="names no categories of its columns"):
        released_from(model, frame)
    model._preprocessor.transformers_[0][1].categories_ = [np.array(["a", "b", "c", "d", "e"], dtype=object)]
    model._bin_mapper.bin_thresholds_[0] = np.array([0.0])
    with pytest.raises(ReleaseError, match="splits on categories that the model does not name"):
        released_from(model, frame)


def test_rows_held_out_of_those_with_weight_0_are_an_assumption():
    frame = rows(100)
    model = GradientBoostingClassifier(n_estimators=3, n_iter_no_change=2, random_state=0)
    weight = np.arange(100) % 3 != 0  # a tenth of all rows is held out, whatever they weigh
    release = released_from(model.fit(frame.drop(columns=frame.columns[-1]), frame.iloc[:, -1], weight * 1.0), frame)
    assert any("no row had weight 0" in line for line in release.assumptions)
