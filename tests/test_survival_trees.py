"""Survival trees and forests of scikit-survival: curves of nodes as events and people at risk, bags from seeds."""

from __future__ import annotations

import pickle
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from extras import batches
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor
from sklearn.tree._tree import Tree

import recon
from recon.readers.frames.world import violations

CORPUS = Path(__file__).parent / "corpus"


def drawn(seed):
    """Return random people: two numbers, a time and an event."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 90))
    frame = pd.DataFrame({"age": rng.integers(20, 80, n), "bmi": rng.integers(18, 40, n)})
    frame["time"] = rng.integers(1, int(rng.integers(4, 60)), n) + frame.age // 30
    frame["event"] = (rng.random(n) < 0.6).astype(int)
    return frame


def curves_of(tree, frame, times, weights):
    """Return (nodes, times, 2): the cumulative hazard and the survival of the rows of every node."""
    features = frame[["age", "bmi"]].to_numpy(np.float32)
    paths = tree.decision_path(features)
    out = np.zeros((tree.node_count, len(times), 2))
    for node in range(tree.node_count):
        inside = weights * paths[:, [node]].toarray()[:, 0]
        hazard, survival = 0.0, 1.0
        for k, time in enumerate(times):
            n, d = inside[frame.time >= time].sum(), inside[(frame.time == time) & (frame.event == 1)].sum()
            if d:
                hazard, survival = hazard + d / n, survival * (1 - d / n)
            out[node, k] = hazard, survival
    return out


TREE = type("SurvivalTree", (), {"__module__": "sksurv.tree"})
FOREST = type("RandomSurvivalForest", (), {"__module__": "sksurv.ensemble"})


def pickled(model, monkeypatch):
    """Return the pickle of an object of these classes, whose modules exist that long."""
    for kind in (TREE, FOREST):
        module = types.ModuleType(kind.__module__)
        setattr(module, kind.__name__, kind)
        monkeypatch.setitem(sys.modules, kind.__module__, module)
    monkeypatch.setitem(sys.modules, "sksurv", types.ModuleType("sksurv"))
    return pickle.dumps(model)


def survival(model, frame, weights=None):
    """Return a fitted regression tree or forest as scikit-survival would store it, by classes of the same names."""
    times = np.unique(frame.time).astype(float)
    events = np.array([bool(((frame.time == t) & (frame.event == 1)).any()) for t in times])
    forest = hasattr(model, "estimators_")
    kind = FOREST if forest else TREE
    out = kind()
    state = {k: v for k, v in vars(model).items() if k != "criterion"}
    state |= {"unique_times_": times, "is_event_time_": events, "n_outputs_": len(times)}
    if forest:
        n = len(frame)
        bags = [
            np.bincount(np.random.RandomState(one.random_state).randint(0, n, n, dtype=np.int32), minlength=n)
            if model.bootstrap else np.ones(len(frame)) for one in model.estimators_
        ]  # fmt: skip
        state["estimators_"] = [survival(o, frame, w) for o, w in zip(model.estimators_, bags, strict=True)]
        state = {k: v for k, v in state.items() if k not in {"estimator", "estimator_"}}
    else:
        old = model.tree_.__getstate__()
        values = curves_of(model.tree_, frame, times, np.ones(len(frame)) if weights is None else weights)
        tree = Tree(2, np.full(len(times), 2, dtype=np.intp), len(times))
        tree.__setstate__({**old, "values": values})
        state["tree_"] = tree
    vars(out).update(state)
    return out


@pytest.mark.sampled(1, 2)
@pytest.mark.parametrize("seed", batches(5, 300))
def test_the_true_rows_are_never_excluded(seed, tmp_path):
    with pytest.MonkeyPatch.context() as monkeypatch:
        _fitted_and_held(seed, tmp_path, monkeypatch)


def _fitted_and_held(seed, tmp_path, monkeypatch):
    frame = drawn(seed)
    kind = (DecisionTreeRegressor, RandomForestRegressor)[seed % 2]
    more = {} if seed % 2 == 0 else {"n_estimators": 3, "bootstrap": seed % 4 == 1}
    model = kind(min_samples_leaf=1 + seed % 6, random_state=seed, **more).fit(frame[["age", "bmi"]], frame.time)
    (tmp_path / "model.pkl").write_bytes(pickled(survival(model, frame), monkeypatch))
    domain = recon.Domain.from_frame(pd.concat([frame, frame.assign(event=1 - frame.event)]))
    release = recon.load(str(tmp_path / "model.pkl"), domain=domain)
    assert violations(release, frame) == [], seed
    assert release.rows.low == release.rows.high == len(frame)
    events = [s for s in release.models[-1].statements if s.name and s.name.startswith(("events", "event at"))]
    assert events or not frame.event.any()


@pytest.mark.slow
def test_a_tree_of_twelve_leaves_gives_events_and_people_at_risk():
    release = recon.load(str(CORPUS / "survival_tree.joblib"))
    assert release.models[0].origin.format == "scikit-survival SurvivalTree (joblib, xz)"
    assert release.models[0].origin.unused == ()
    nodes = release.models[0].nodes
    leaves = {f" of node {k}" for k, condition in enumerate(nodes.condition.tolist()) if condition < 0}
    assert len(leaves) == 12
    inside = [s for s in release.models[1].statements if any((s.name or "").endswith(leaf) for leaf in leaves)]
    events = [s for s in inside if s.name.startswith("events")]
    at_risk = [s for s in inside if s.name.startswith("at risk")]
    assert len(events) == len(at_risk) == 198
    assert sum(s.count is not None for s in events) >= 190
    assert sum(s.count is not None for s in at_risk) >= 190


def test_a_forest_is_the_regression_forest_that_it_is_with_bags_from_its_seeds():
    frame = pd.read_csv(CORPUS / "survival_small_rows.csv")
    path = str(CORPUS / "survival_forest.joblib")
    release = recon.load(path, domain=recon.Domain.from_frame(frame))
    assert violations(release, frame) == []
    assert release.models[0].multiplicities.shape == (5, 60)
    assert [one.what for one in release.models[0].origin.unused] == ["the curves of its nodes"]
    found = recon.inspect(path)
    assert not any(one.level == "unknown" for one in found.findings)
