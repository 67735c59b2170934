"""Forests of real size, stored and read as anybody would: the true row is never excluded at its position.

The model file is all that is given, or the file and a domain. What `positions`, `certify` and `reconstruct` say is
held against the rows that were fitted, in the order in which `fit` got them.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import forests_with_bags
import joblib
import numpy as np
import pandas as pd
import pytest
from extras import batches, encoded
from test_positions_differential import empty, plain

import recon
from encoders.domain.values import Continuous
from recon.readers.frames.selections import profile_ranges, raw_indices
from recon.readers.frames.world import violations
from solvers.engines.chain import ask
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import LocatedAnswer
from solvers.statements.questions.query import Locate

ensemble = pytest.importorskip("sklearn.ensemble")
SETS = ("breast_cancer", "diabetes", "wine", "compas14", "adult19")
BRIEF, LONG = 2.0, 60.0  # seconds: what is said when they are over must be as true as what is said later
FEW_ROWS, MORE_ROWS = (40, 60, 80), (100, 150)
FEW_TREES, MORE_TREES = (10, 20), (30, 50)


# ---------------------------------------------------------------- what is fitted


def rows_of(name: str, data, number: int, rng: random.Random) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows of a data set as `fit` gets them: features and classes."""
    if name in ("compas14", "adult19"):
        frame = pd.read_csv(data(f"{name}.csv.gz"))
        features, labels = frame.iloc[:, :-1], frame.iloc[:, -1].to_numpy()
    else:
        from sklearn import datasets

        found = getattr(datasets, f"load_{name}")(as_frame=True)
        features, labels = found.data, found.target.to_numpy()
        labels = (labels > np.median(labels)).astype(int) if name == "diabetes" else labels
    chosen = rng.sample(range(len(features)), number)
    return features.iloc[chosen].reset_index(drop=True), labels[chosen]


def forest_of(rng: random.Random, rows: int, trees: int) -> Any:
    """Draw a forest and its settings."""
    from sklearn.tree import DecisionTreeClassifier

    own = {
        "max_depth": rng.choice([None, None, None, 3, 6]),
        "min_samples_leaf": rng.choice([1, 1, 1, 2, 5]),
        "criterion": rng.choice(["gini", "gini", "entropy"]),
        "max_features": rng.choice(["sqrt", "sqrt", None, 2]),
    }
    shared = {"n_estimators": trees, "random_state": rng.randrange(1000)}
    samples = rng.choice([None, None, rows // 2, int(rows * 0.8)])
    kind = rng.choice(["forest", "forest", "forest", "default", "no bags", "extra", "extra no bags", "bagging"])
    if kind == "default":
        return ensemble.RandomForestClassifier(**shared)
    if kind == "bagging":
        again = rng.random() < 0.6
        size = rng.choice([rows, rows // 2])
        return ensemble.BaggingClassifier(DecisionTreeClassifier(**own), max_samples=size, bootstrap=again, **shared)
    if kind in ("no bags", "extra no bags"):
        made = ensemble.RandomForestClassifier if kind == "no bags" else ensemble.ExtraTreesClassifier
        return made(bootstrap=False, **own, **shared)
    made = ensemble.ExtraTreesClassifier if kind == "extra" else ensemble.RandomForestClassifier
    return made(bootstrap=True, max_samples=samples, class_weight=rng.choice([None, None, "balanced"]), **own, **shared)


# ---------------------------------------------------------------- what must hold


def true_values(release: recon.EncodedRelease, truth: pd.DataFrame) -> dict[str, list[Any]]:
    """Return the true value of every attribute (and the label) at every position; floats as the trees saw them."""
    domain = release.domain
    found: dict[str, list[Any]] = {}
    indices = None
    for k, attribute in enumerate(domain.all):
        if attribute.name in truth.columns:
            column = truth[attribute.name]
            single = column.dtype.kind == "f"
            found[attribute.name] = [float(np.float32(v)) if single else v for v in column.tolist()]
        else:  # several columns stand for it
            indices = raw_indices(domain, truth) if indices is None else indices
            found[attribute.name] = [attribute.value(int(i)) for i in indices[:, k]]
    return found


def contains(line: dict[str, Any], value: Any) -> bool:
    """Say whether a line of `positions` leaves a value possible."""
    if isinstance(line["values"], (list, tuple, set, frozenset, np.ndarray)):
        stated = [plain(v) for v in line["values"]]
        if value not in stated or (line["exact"] and len(stated) != 1):
            return False
    if isinstance(value, str):
        return True
    low, high = plain(line["low"]), plain(line["high"])
    inside = (empty(low) or low <= value) and (empty(high) or value <= high)
    if not line["exact"] or low is None:
        return inside
    return inside and np.float32(low) == np.float32(value) == np.float32(high)  # all that is read of a float


def nothing_true_is_excluded(release: recon.EncodedRelease, truth: pd.DataFrame, seconds: float) -> None:
    """Check what is said about every position, about the true rows as profiles, and a world where one is given."""
    assert not violations(release, truth)
    if release.statements.bags:
        lines = recon.positions(release, limits=Limits(seconds=seconds))
        true = true_values(release, truth)
        assert len(lines) == len(truth) * len(true)
        for line in lines.to_dict("records"):
            value = true[line["attribute"]][line["position"]]
            assert contains(line, value), (line, value)
    some = truth.iloc[:: max(1, len(truth) // 20)]
    verdicts = recon.certify(release, some, limits=Limits(seconds=BRIEF), certificates=False)
    assert "impossible" not in set(verdicts["verdict"])
    assert (verdicts["max_count"] >= 1).all()


def through_a_file(rng: random.Random, data, folder: Path, size: tuple[int, int], seconds: float) -> None:
    """Fit, store, read, and check; with the domain of the data or without."""
    rows, trees = size
    name = rng.choice(SETS)
    features, labels = rows_of(name, data, rows, rng)
    forest = forest_of(rng, rows, trees).fit(features, labels)
    path = folder / "model.joblib"
    joblib.dump(forest, path)
    truth = features.assign(label=labels)
    domain = None
    if name in ("compas14", "adult19") and rng.random() < 0.6:
        domain = recon.Domain.from_frame(truth, label="label")
    nothing_true_is_excluded(recon.load(path, domain=domain), truth, seconds)


def held(release: dict[str, Any], truth: list[dict[str, Any]]) -> None:
    """Check that what is left at every position of a planted forest holds the true row there."""
    got = encoded(release)
    frame = pd.DataFrame([{k: "missing" if v is None else v for k, v in row.items()} for row in truth], dtype=object)
    parts = np.zeros((len(truth), len(got.cut.cuts)), dtype=int)
    for k, (back, every) in profile_ranges(got, frame).items():
        parts[:, k] = np.array([got.cut.cuts[k].part(ranges[0][0]) for ranges in every])[back]
    found = ask(got.statements, Locate(), LocatedAnswer, Limits(seconds=BRIEF))  # raises where it finds a contradiction
    assert (found.start <= parts).all(), release
    assert (parts < found.end).all(), release
    for k, left in found.sets.items():
        assert left[np.arange(len(parts)), parts[:, k]].all(), release


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("batch", batches(2, 42))
def test_planted_forests_keep_their_rows(batch):
    """Attributes of all kinds and splits that nothing learnt, too many rows to list the worlds."""
    rng = random.Random(f"planted {batch}")
    for _ in range(15):
        n, trees = rng.choice([8, 12, 16, 24, 40]), rng.choice([3, 6, 12, 20])
        release, truth, _ = forests_with_bags.planted(rng, n, trees, with_others=batch % 2 == 1, most_rows=300)
        held(release, truth)


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("batch", batches(3, 9))
def test_the_truth_is_never_excluded(batch, data, tmp_path):
    rng = random.Random(f"truth {batch}")
    through_a_file(rng, data, tmp_path, (rng.choice(FEW_ROWS), rng.choice(FEW_TREES)), BRIEF)


@pytest.mark.long
@pytest.mark.parametrize("batch", range(60))
def test_the_truth_is_never_excluded_at_larger_sizes(batch, data, tmp_path):
    rng = random.Random(f"larger truth {batch}")
    through_a_file(rng, data, tmp_path, (rng.choice(MORE_ROWS), rng.choice(FEW_TREES + MORE_TREES)), LONG)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("name", "rows", "trees"), [("compas14", 100, 30), ("diabetes", 60, 30), ("wine", 60, 30)])
def test_default_forests(name, rows, trees, data, tmp_path):
    """The model people release, fitted with the defaults; a world that is given is one."""
    rng = random.Random(f"default {name}")
    features, labels = rows_of(name, data, rows, rng)
    joblib.dump(ensemble.RandomForestClassifier(trees, random_state=1).fit(features, labels), tmp_path / "m.joblib")
    release = recon.load(tmp_path / "m.joblib")
    nothing_true_is_excluded(release, features.assign(label=labels), BRIEF)
    try:
        world = recon.reconstruct(release, limits=Limits(seconds=BRIEF))
    except (Unsupported, Inconclusive):
        return
    assert not violations(release, world.to_frame(views=True))


@pytest.mark.slow
@pytest.mark.parametrize("batch", batches(1, 27))
def test_midpoints_keep_the_truth(batch, data, tmp_path):
    """The learner's rule on forests of best splits, the least and the greatest values known or not."""
    from sklearn.tree import DecisionTreeClassifier

    rng = random.Random(f"midpoints {batch}")
    rows, trees = rng.choice((30, 40, 60)), rng.choice((10, 20, 30))
    features, labels = rows_of(rng.choice(("breast_cancer", "diabetes", "wine")), data, rows, rng)
    features = features.astype(np.float32).astype(float)
    own = {"max_depth": rng.choice([None, None, 4]), "min_samples_leaf": rng.choice([1, 1, 2])}
    if rng.random() < 0.25:
        forest = ensemble.BaggingClassifier(DecisionTreeClassifier(**own), n_estimators=trees, random_state=batch)
    else:
        forest = ensemble.RandomForestClassifier(trees, random_state=batch, **own)
    joblib.dump(forest.fit(features, labels), tmp_path / "m.joblib")
    release = recon.load(tmp_path / "m.joblib")
    truth = features.assign(label=labels)
    used = [a.name for a in release.domain.attributes if isinstance(a, Continuous)]  # some tree splits on them
    ends = {name: (float(features[name].min()), float(features[name].max())) for name in used}
    true = true_values(release, truth)
    for ranges in (None, ends):
        how = {"learner": "midpoints", "ranges": ranges, "limits": Limits(seconds=BRIEF)}
        lines = recon.positions(release, truth=truth, **how)
        assert lines.attrs["truth"]["inside"], lines.attrs["truth"]
        for line in lines.to_dict("records"):
            value = true[line["attribute"]][line["position"]]
            assert contains(line, value), (line, value)
