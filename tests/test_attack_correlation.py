"""Correlations attacked through released models: linear ones in closed form, releases by what attackers know."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from extras import extra
from test_hostile_text import HOSTILE, harmless

import recon
from recon.attacks.attacking.correlations import correlations
from recon.attacks.attacking.linear import ALONE, MODEL, LinearModel, attack_correlation, read_linear
from recon.report.correlation_report import CorrelationReport
from solvers.foundation.errors import ReleaseError, Unsupported

RELEASES = Path(__file__).parents[1] / "examples" / "releases"

CORRELATIONS = np.array([[1, 0.4, 0.3, 0.5], [0.4, 1, 0.1, -0.2], [0.3, 0.1, 1, 0.3], [0.5, -0.2, 0.3, 1]])


def rows(columns=2, n=4000, seed=0):
    """Return Gaussian columns of odd scales and a label, 1 where the last variable is above 0."""
    keep = [*range(columns), 3]
    z = np.random.default_rng(seed).multivariate_normal(np.zeros(4), CORRELATIONS, n)[:, keep]
    frame = pd.DataFrame(z[:, :-1] * [10.0, 0.1, 3.0][:columns] + 7, columns=list("abc")[:columns])
    return frame.assign(y=(z[:, -1] > 0).astype(int))


def least_squares(frame):
    """Return the linear model whose weights follow from the rows without any rounding or penalty."""
    x, y = frame.drop(columns="y").to_numpy(), frame["y"].to_numpy()
    w = np.linalg.lstsq(np.column_stack([x - x.mean(axis=0)]), y - y.mean(), rcond=None)[0]
    return LinearModel(tuple(frame.columns[:-1]), w, "w.json", "JSON")


def test_two_columns_of_a_least_squares_model_are_given_back_exactly():
    frame = rows()
    found = attack_correlation(least_squares(frame), frame)
    line = found.frame.set_index("attacker").loc[MODEL]
    assert line["estimate"] == pytest.approx(np.corrcoef(frame["a"], frame["b"])[0, 1], abs=1e-9)
    alone = found.frame.set_index("attacker").loc[ALONE]
    r = [np.corrcoef(frame[c], frame["y"])[0, 1] for c in "ab"]
    half = np.sqrt((1 - r[0] ** 2) * (1 - r[1] ** 2))
    assert (alone["low"], alone["high"]) == pytest.approx((r[0] * r[1] - half, r[0] * r[1] + half))


def test_three_columns_are_bounded_and_the_bounds_hold():
    frame = rows(3)
    found = attack_correlation(least_squares(frame), frame)
    own = found.frame[found.frame["attacker"] == MODEL]
    assert len(own) == 3
    assert own["holds"].all()
    alone = found.frame[found.frame["attacker"] == ALONE]
    assert (own["width"].to_numpy() < alone["width"].to_numpy()).all()
    (one,) = attack_correlation(least_squares(frame), frame, [("c", "a")]).frame["first"].unique()
    assert one == "c"


@pytest.mark.parametrize("kind", ["plain", "scaled", "text"])
def test_stored_models_are_read_without_being_run(tmp_path, kind):
    linear = extra("sklearn.linear_model")
    joblib = extra("joblib")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    frame = rows()
    model = linear.LogisticRegression(C=1e4)
    label = frame["y"].map({0: "no", 1: "yes"}) if kind == "text" else frame["y"]
    model = make_pipeline(StandardScaler(), model) if kind == "scaled" else model
    joblib.dump(model.fit(frame[["a", "b"]], label), tmp_path / "m.joblib")
    read = read_linear(str(tmp_path / "m.joblib"))
    assert read.names == ("a", "b")
    found = attack_correlation(read, frame.assign(y=label)).frame
    assert found.set_index("attacker").loc[MODEL, "estimate"] == pytest.approx(0.4, abs=0.05)


def test_what_is_no_linear_model_is_left_to_the_other_readers(tmp_path):
    assert read_linear(str(RELEASES / "compas_tree.json")) is None
    assert read_linear(str(RELEASES / "compas_forest.pkl")) is None
    assert read_linear(str(RELEASES / "boosted_model.txt")) is None
    assert read_linear("-") is None
    (tmp_path / "x.json").write_text('{"learner": {"weights": NaN}}')  # not ours to judge
    assert read_linear(str(tmp_path / "x.json")) is None
    (tmp_path / "n.json").write_bytes(b"\xff\xfe")
    assert read_linear(str(tmp_path / "n.json")) is None


def written(tmp_path, content):
    path = tmp_path / "w.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def test_weights_and_correlations_in_json_need_no_data(tmp_path):
    read = read_linear(written(tmp_path, {"weights": {"a": 1.0, "b": -0.5}, "correlations": {"a": 0.5, "b": -0.3}}))
    found = attack_correlation(read, None)
    line = found.frame.set_index("attacker").loc[MODEL]
    # R w = kappa rho by hand: (1 - r/2) / .5 = (r - 1/2) / -.3, so .3 (1 - r/2) = .5 (1/2 - r)
    assert line["estimate"] == pytest.approx(-0.05 / 0.35)
    assert line["truth"] is None
    text = CorrelationReport(read, found, 0.95, 0).to_text()
    assert "linear model: -0.143 (estimate)" in text
    assert "an estimate, not a proof" in text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"weights": {"a": 1, "b": 2}, "correlations": {"a": 1.5, "b": 0}}, "'a' with the label is 1.5: no matrix"),
        ({"weights": {"a": -1, "b": 0.5}, "correlations": {"a": 0.5, "b": -0.3}}, "no correlation matrix has these"),
        ({"weights": {"a": 1, "b": 2}, "correlations": {"a": 0.5}}, "'b' has a weight or a correlation"),
        ({"weights": {"a": 1}}, "there are 1"),
        ({"weights": {"a": 1, "b": "x"}}, "weights.b: 'x' is not a number"),
        ({"weights": [1, 2]}, "is an object"),
        (
            {"weights": {"a": 1, "b": 2}, "correlations": {"a": 0.5, "b": 0.6}, "standardised": False},
            "say nothing without the columns' deviations",
        ),
        ({"weights": {"a": 1, "b": 2}, "correlation": {"a": 0.5, "b": 0}}, "correlation: unknown key"),
        ({"weights": {"a": 1, "b": 2}, "standardised": "no"}, "standardised: is true or false, not 'no'"),
        ('{"weights": {"a": NaN, "b": 1}}', "NaN"),
        ({"weights": {"a": 1, "b": 2}}, "no data beside the model"),
    ],
)
def test_bad_weights_are_named(tmp_path, content, said):
    with pytest.raises(ReleaseError, match=said):
        attack_correlation(read_linear(written(tmp_path, content)), None)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.drop(columns="a"), "a weight for 'a', and the rows no such column"),
        (lambda f: f.assign(z=1)[["a", "b", "z", "y"]], "the model has no column 'z'"),
        (lambda f: f.assign(a=1.0), "column 'a' is constant"),
        (lambda f: f.assign(y=1), "the label 'y' has 1 values"),
        (lambda f: f.assign(b=["x", *f["b"][1:]]), "row 1: column 'b' holds no number"),
        (lambda f: f[:0], "there are no rows"),
    ],
)
def test_rows_that_do_not_fit_a_linear_model_are_named(change, said):
    frame = rows(n=50)
    with pytest.raises(ReleaseError, match=said):
        attack_correlation(least_squares(frame), change(frame))
    with pytest.raises(ReleaseError, match="no column 'nope'"):
        attack_correlation(least_squares(frame), frame, label="nope")
    with pytest.raises(ReleaseError, match="has no column 'q'"):
        attack_correlation(least_squares(frame), frame, [("a", "q")])
    with pytest.raises(ReleaseError, match="with itself"):
        attack_correlation(least_squares(frame), frame, [("a", "a")])


def test_hostile_stored_weights_are_refused(tmp_path):
    linear = extra("sklearn.linear_model")
    joblib = extra("joblib")
    frame = rows(n=60)
    for change, error, said in [
        (lambda m: setattr(m, "coef_", np.array([[1.0, np.nan]])), ReleaseError, "not a number"),
        (lambda m: setattr(m, "coef_", "weights"), ReleaseError, "is it fitted"),
        (lambda m: setattr(m, "coef_", np.ones((3, 2))), Unsupported, "3 classes"),
        (lambda m: delattr(m, "coef_"), ReleaseError, "is it fitted"),
    ]:
        model = linear.LogisticRegression().fit(frame[["a", "b"]], frame["y"])
        change(model)
        joblib.dump(model, tmp_path / "m.joblib")
        with pytest.raises(error, match=said):
            read_linear(str(tmp_path / "m.joblib"))


@pytest.fixture(scope="module")
def released():
    rng = np.random.default_rng(2)
    x = pd.DataFrame(rng.integers(0, 2, (300, 3)), columns=list("abc"))
    y = (x["a"] + x["b"] + rng.random(300) > 1.4).astype(int)
    model = recon.GreedyRuleListClassifier(width=1, min_support=0.05, max_length=3).fit(x, y)
    frame = x.assign(y=y)
    return recon.encode(model, recon.Domain.from_frame(frame, label="y")), frame


def test_a_release_is_asked_as_the_function_below_and_the_label_may_be_called_otherwise(released):
    release, frame = released
    direct = correlations(release, frame, epsilons=(1.0,), seed=3)
    found = attack_correlation(release, frame.rename(columns={"y": "ill"}), epsilons=(1.0,), label="ill", seed=3)
    pd.testing.assert_frame_equal(direct.frame, found.frame)
    with pytest.raises(ReleaseError, match="no data beside the model"):
        attack_correlation(release, None)


def test_the_report_shows_every_attacker_and_pair(released):
    release, frame = released
    found = attack_correlation(release, frame, epsilons=(1.0,))
    report = CorrelationReport(release, found, 0.95, 0)
    said = json.loads(report.to_json())
    assert (said["attack"], said["kind"], said["status"]) == (1, "correlation", "exact")
    names = [one["attacker"] for one in said["attackers"]]
    assert names == ["positive definite", "exact discrete", "noise epsilon=1", "worlds"]
    assert all(one["holds"] == one["pairs"] for one in said["attackers"])
    assert [one["attacker"] for one in said["pairs"][0]["intervals"]] == names
    widths = [one["mean_width"] for one in said["attackers"]]
    assert widths[0] > widths[1] >= widths[3]
    text = report.to_text()
    assert "'a' and 'b'" in text
    assert "the truth inside" in text
    assert "OUTSIDE" not in text


def test_hostile_column_names_stay_inert():
    frame = rows(n=80)
    model = LinearModel((HOSTILE, "b"), np.array([1.0, 2.0]), HOSTILE, HOSTILE)
    report = CorrelationReport(model, attack_correlation(model, frame.rename(columns={"a": HOSTILE})), 0.95, 0)
    for text in (report.to_text(), report.to_markdown(), report.to_html(), report.to_json()):
        harmless(text, "a report")
    assert "<b>" not in report.to_html()
