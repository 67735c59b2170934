"""Models fitted on real data, written to files, read back: the training data satisfy every statement that is read."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from extras import extra

import recon
from recon.readers.frames.world import violations

tree = extra("sklearn.tree")
ensemble = extra("sklearn.ensemble")
joblib = extra("joblib")


def weights(rows: int) -> np.ndarray:
    return np.random.default_rng(5).integers(1, 4, rows) / 2


FITS = {
    "plain": lambda x, y: tree.DecisionTreeClassifier(max_depth=9, random_state=0).fit(x, y),
    "entropy": lambda x, y: tree.ExtraTreeClassifier(criterion="entropy", random_state=0).fit(x, y),
    "balanced": lambda x, y: tree.DecisionTreeClassifier(max_depth=9, class_weight="balanced").fit(x, y),
    "class weights": lambda x, y: ensemble.RandomForestClassifier(
        5, bootstrap=False, class_weight={0: 1, 1: 3.7}, random_state=0
    ).fit(x, y),
    "weighted": lambda x, y: tree.DecisionTreeClassifier(max_depth=7).fit(x, y, sample_weight=weights(len(y))),
    "monotonic": lambda x, y: tree.DecisionTreeClassifier(
        max_depth=7, monotonic_cst=[1, -1] + [0] * (x.shape[1] - 2)
    ).fit(x, y),
    "forest": lambda x, y: ensemble.RandomForestClassifier(8, random_state=0).fit(x, y),
    "half": lambda x, y: ensemble.RandomForestClassifier(8, max_samples=0.5, random_state=0).fit(x, y),
    "balanced forest": lambda x, y: ensemble.RandomForestClassifier(8, class_weight="balanced").fit(x, y),
    "subsample": lambda x, y: ensemble.RandomForestClassifier(8, class_weight="balanced_subsample", max_depth=6).fit(
        x, y
    ),
    "extra trees": lambda x, y: ensemble.ExtraTreesClassifier(5, random_state=0).fit(x, y),
    "bagging": lambda x, y: ensemble.BaggingClassifier(max_features=0.7, random_state=0).fit(x, y),
    "pasting": lambda x, y: ensemble.BaggingClassifier(max_samples=0.4, bootstrap=False, random_state=0).fit(x, y),
    "adaboost": lambda x, y: ensemble.AdaBoostClassifier(tree.DecisionTreeClassifier(max_depth=3), n_estimators=4).fit(
        x, y
    ),
    "boosting": lambda x, y: ensemble.GradientBoostingClassifier(n_estimators=5, random_state=0).fit(x, y),
    "histograms": lambda x, y: ensemble.HistGradientBoostingClassifier(max_iter=4, random_state=0).fit(x, y),
    "regression": lambda x, y: tree.DecisionTreeRegressor(max_depth=6).fit(x, y),
    "regression forest": lambda x, y: ensemble.RandomForestRegressor(4, max_depth=6).fit(x, y),
}
# What each file must say, so that a reader which states nothing does not pass.
KINDS = {
    "weighted": {"size"},
    "monotonic": {"exact", "size"},
    "adaboost": {"exact", "size"},
    "boosting": {"exact", "size"},
    "histograms": {"exact", "size"},
    "regression": {"size"},
    "regression forest": {"distinct"},
    "pasting": {"distinct"},
    **{key: {"bag", "distinct"} for key in ("forest", "half", "balanced forest", "subsample", "bagging")},
}


def real(data, name: str, rows: int) -> pd.DataFrame:
    return pd.read_csv(data(name)).sample(rows, random_state=1).reset_index(drop=True)


@pytest.mark.sampled(3, 12)
@pytest.mark.parametrize("name", ["compas14.csv.gz", "credit21.csv.gz"])
@pytest.mark.parametrize("fit", FITS)
def test_the_training_data_satisfy_what_is_read(data, tmp_path, name, fit):
    frame = real(data, name, 1_000)
    label = frame.columns[-1]
    domain = recon.Domain.from_frame(frame, label=label)
    model = FITS[fit](frame.drop(columns=label), frame[label])
    path = tmp_path / "model.bin"  # the name says nothing
    if fit in {"forest", "balanced"}:
        joblib.dump(model, path, compress=3)
    else:
        path.write_bytes(pickle.dumps(model))
    release = recon.load(path, domain=domain)
    assert violations(release, frame) == []
    found = set(release.models[0].origin.counts)
    assert found <= KINDS.get(fit, {"exact"})
    assert found & KINDS.get(fit, {"exact"}) - {"size"} or "size" in KINDS.get(fit, ())
    wrong = frame.assign(**{label: 1 - frame[label]})
    assert violations(release, wrong) != [] or found <= {"size", "distinct"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("fit", ["plain", "balanced", "forest", "extra trees", "bagging", "histograms"])
def test_missing_values(data, tmp_path, fit):
    """From scikit-learn 1.8 on; earlier versions put such rows into wrong leaves (test_sklearn_files)."""
    frame = real(data, "compas14.csv.gz", 1_500).astype(float)
    label, rng = frame.columns[-1], np.random.default_rng(2)
    frame[label] = frame[label].astype(int)
    gaps = [c for c in frame.columns if ":" not in c or c.startswith("sex")][:4]
    gaps = [c for c in gaps if c != label] or [frame.columns[0]]
    for column in gaps:
        frame.loc[rng.random(len(frame)) < 0.2, column] = np.nan
    domain = recon.Domain.from_frame(frame, label=label, independent=True)
    assert any(a.missing for a in domain.attributes)
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(FITS[fit](frame.drop(columns=label), frame[label])))
    release = recon.load(path, domain=domain)
    assert violations(release, frame) == []


def test_numbers_between_the_grid_of_a_float_column_are_cut_where_the_model_cuts(data, tmp_path):
    """Adult's attributes as random decimals: thresholds fall where float32 puts them."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.integers(0, 10_000, 2_000) / 10_000, "b": rng.integers(-500, 500, 2_000) / 7})
    frame["b"] = frame["b"].round(3)
    frame["y"] = rng.integers(0, 2, 2_000)
    path = tmp_path / "m"
    path.write_bytes(pickle.dumps(FITS["entropy"](frame[["a", "b"]], frame["y"])))
    release = recon.load(path, domain=recon.Domain.from_frame(frame, label="y"))
    assert violations(release, frame) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("fit", ["plain", "forest", "extra trees", "histograms"])
def test_without_a_domain_one_is_guessed_and_every_answer_says_so(data, tmp_path, fit):
    frame = real(data, "compas14.csv.gz", 800)
    label = frame.columns[-1]
    path = tmp_path / "model"
    path.write_bytes(pickle.dumps(FITS[fit](frame.drop(columns=label), frame[label])))
    release = recon.load(path)
    renamed = frame.rename(columns={label: release.domain.label.name})
    assert violations(release, renamed) == []
    assert any("model file" in line for line in release.assumptions)
