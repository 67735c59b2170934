"""Copies of stored scikit-learn models with merged leaves: what is kept predicts the same, what is gone is gone."""

from __future__ import annotations

import io
import pickle
import struct
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

import recon
from encoders.domain.domain import Domain
from encoders.encode.encoder import EncodedRelease
from recon.readers.loading.loading import load
from recon.readers.stored.objects.node_tables import leaf_of, links_of, points_of
from recon.readers.stored.pickled.stored_files import open_stored
from recon.readers.stored.rewriting import write_pickle
from recon.release.remediation import copies
from recon.release.remediation.copies import (
    Copied,
    _owners,
    _tree_things,
    merged_copy,
)
from recon.release.remediation.merging import merge_leaves
from solvers.foundation.errors import EngineError, Unsupported

N = 300


def data(missing: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows of whole numbers and their labels."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 12, (N, 4)).astype(float)
    y = ((x[:, 0] + x[:, 1] * 2 + rng.integers(0, 9, N)) > 18).astype(int)
    if missing:
        x[rng.random((N, 4)) < 0.1] = np.nan
    return pd.DataFrame(x, columns=list("abcd")), y


def domain(x: pd.DataFrame, y: np.ndarray) -> Domain:
    """Return the domain of the rows."""
    return Domain.from_frame(x.assign(y=y), label="y")


def saved(tmp_path: Path, content: bytes, name: str = "model.pkl") -> str:
    """Return the path of a file with this content."""
    path = tmp_path / name
    path.write_bytes(content)
    return str(path)


def copied(path: str, known: Domain, k: int) -> tuple[EncodedRelease, Any, Copied]:
    """Return what was read, the merging for groups of k rows, and the copy."""
    release = load(path, domain=known)
    found = merge_leaves(release, {"smallest_group": k})
    return release, found, merged_copy(Path(path).read_bytes(), release.models, found.collapsed)


def estimators(model: Any) -> list[Any]:
    """Return the fitted trees in a model."""
    model = getattr(model, "best_estimator_", model)
    model = model[-1] if hasattr(model, "steps") else model
    return list(getattr(model, "estimators_", [model]))


def inputs(model: Any, x: pd.DataFrame) -> np.ndarray:
    """Return what the trees in a model get to see."""
    model = getattr(model, "best_estimator_", model)
    return np.asarray(model[:-1].transform(x)) if hasattr(model, "steps") else x.to_numpy()


MODELS = {
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "tree by entropy": lambda: DecisionTreeClassifier(criterion="entropy", max_depth=6, random_state=0),
    "balanced tree": lambda: DecisionTreeClassifier(class_weight="balanced", max_depth=6, random_state=0),
    "extra tree": lambda: ExtraTreeClassifier(max_depth=6, random_state=0),
    "pipeline": lambda: make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=5, random_state=0)),
    "search": lambda: GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [4, 6]}, cv=2),
    "forest": lambda: RandomForestClassifier(3, bootstrap=False, max_depth=4, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(3, max_depth=4, random_state=0),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", MODELS)
def test_scikit_learn_loads_a_copy_that_predicts_the_same_in_kept_leaves(name: str, tmp_path: Path) -> None:
    """Trees, pipelines, searches and forests: kept leaves to the bit, merged ones the value of their inner node."""
    x, y = data()
    model = MODELS[name]().fit(x, y)
    path = saved(tmp_path, pickle.dumps(model))
    release = load(path, domain=domain(x, y))
    forest = "forest" in name or "trees" in name
    collapsed = (
        [some_nodes(t) for t in estimators(model)] if forest else merge_leaves(release, {"smallest_group": 7}).collapsed
    )
    found = merged_copy(Path(path).read_bytes(), release.models, collapsed)
    new = joblib.load(io.BytesIO(found.content))
    assert type(new) is type(model)
    assert repr(new) == repr(model)
    seen = inputs(model, x)
    for before, after, at in zip(estimators(model), estimators(new), collapsed, strict=True):
        assert len(at) > 0
        own = _owners(np.stack([before.tree_.children_left, before.tree_.children_right], axis=1), at)
        assert after.tree_.node_count == len(set(own.tolist())) < before.tree_.node_count
        assert after.get_depth() <= before.get_depth()
        leaf = own[before.tree_.apply(seen.astype(np.float32))]
        assert np.array_equal(after.tree_.predict(seen.astype(np.float32)), before.tree_.value[leaf][:, 0, :])
        kept = leaf == before.tree_.apply(seen.astype(np.float32))
        assert kept.any()
        given = pd.DataFrame(seen, columns=x.columns) if hasattr(before, "feature_names_in_") else seen
        assert np.array_equal(after.predict_proba(given)[kept], before.predict_proba(given)[kept])
    assert new.predict(x).shape == y.shape


def some_nodes(tree: Any) -> list[int]:
    """Return some inner nodes both of whose children are leaves."""
    left, right = tree.tree_.children_left, tree.tree_.children_right
    inner = [v for v in range(len(left)) if left[v] >= 0 and left[left[v]] < 0 and left[right[v]] < 0]
    return inner[:2]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["tree", "tree by entropy", "balanced tree", "pipeline", "search"])
def test_the_copy_read_again_is_the_merged_release(name: str, tmp_path: Path) -> None:
    """Our own reader finds in the copy exactly the release that merging made."""
    x, y = data()
    path = saved(tmp_path, pickle.dumps(MODELS[name]().fit(x, y)))
    _, found, made = copied(path, domain(x, y), 7)
    again = load(saved(tmp_path, made.content, "copy.pkl"), domain=domain(x, y))
    assert again.models[0].nodes == found.release.models[0].nodes  # type: ignore[union-attr]
    assert again.rows == found.release.rows
    assert recon.measure(again).smallest_group == recon.measure(found.release).smallest_group
    assert min(sum(s.counts or ()) for s in again.models[0].nodes.leaf_counts) >= 7  # type: ignore[union-attr]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_files_of_every_protocol_and_compressed_joblib_files_are_copied(protocol: int, tmp_path: Path) -> None:
    """The copy loads whatever form the file had."""
    x, y = data()
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(x, y)
    path = saved(tmp_path, pickle.dumps(model, protocol))
    if protocol == 5:
        path = str(tmp_path / "model.joblib")
        joblib.dump(model, path, compress=3)
    _, found, made = copied(path, domain(x, y), 10)
    assert found.merges > 0
    assert pickle.loads(made.content).tree_.node_count == model.tree_.node_count - 2 * found.merges


def test_nothing_of_a_removed_node_is_left_in_the_file(tmp_path: Path) -> None:
    """Thresholds that only removed nodes had are in no byte of the copy; those of kept nodes are."""
    x, y = data()
    x = x + np.random.default_rng(0).random(x.shape)  # thresholds that no two nodes share
    model = DecisionTreeClassifier(random_state=0).fit(x, y)
    path = saved(tmp_path, pickle.dumps(model))
    release = load(path, domain=domain(x, y))
    at = some_nodes(model)
    made = merged_copy(Path(path).read_bytes(), release.models, [at])
    inner = np.flatnonzero(model.tree_.children_left >= 0).tolist()
    for v in inner:
        held = struct.pack("<d", model.tree_.threshold[v]) in made.content
        assert held is (v not in at)


def test_missing_values_go_where_they_went(tmp_path: Path) -> None:
    """Trees that send missing values left or right are walked with missing values too."""
    x, y = data(missing=True)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(x, y)
    path = saved(tmp_path, pickle.dumps(model))
    release = load(path, domain=domain(x, y))
    at = some_nodes(model)
    new = pickle.loads(merged_copy(Path(path).read_bytes(), release.models, [at]).content)
    leaf = _owners(np.stack([model.tree_.children_left, model.tree_.children_right], axis=1), at)[model.apply(x)]
    assert np.array_equal(new.predict_proba(x), model.tree_.value[leaf][:, 0, :])


def test_a_regressor_keeps_its_values(tmp_path: Path) -> None:
    """A regression tree over a domain without its target counts rows only: its merged leaves predict stored means."""
    x, y = data()
    model = DecisionTreeRegressor(max_depth=6, random_state=0).fit(x, y + x["a"])
    path = saved(tmp_path, pickle.dumps(model))
    with pytest.raises(Unsupported, match="a domain without the target"):
        merge_leaves(load(path, domain=domain(x, y)), {"smallest_group": 12})
    _, found, made = copied(path, Domain(domain(x, y).attributes), 12)
    new = pickle.loads(made.content)
    leaf = _owners(np.stack([model.tree_.children_left, model.tree_.children_right], axis=1), found.collapsed[0])
    assert np.array_equal(new.predict(x), model.tree_.value[leaf[model.apply(x)], 0, 0])


def test_node_tables_of_older_versions_without_a_field_are_copied(tmp_path: Path) -> None:
    """Before 1.3 nodes had no `missing_go_to_left`: the fields that are there are kept, no more."""
    x, y = data()
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(x, y)
    stored = open_stored(pickle.dumps(model))
    assert stored is not None
    (thing,) = _tree_things(stored.root)
    nodes = thing.get("nodes")
    fields = [name for name in nodes.dtype.names if name != "missing_go_to_left"]
    older = np.zeros(len(nodes), dtype=[(name, nodes.dtype[name]) for name in fields])
    for name in fields:
        older[name] = nodes[name]
    copies._set_state(thing, {"nodes": older})
    stored.root.state["_sklearn_version"] = "1.2.2"
    path = saved(tmp_path, write_pickle(stored.root, 4))
    _, found, made = copied(path, domain(x, y), 10)
    again = open_stored(made.content)
    assert again is not None
    kept = _tree_things(again.root)[0].get("nodes")
    assert kept.dtype == older.dtype
    assert len(kept) == len(nodes) - 2 * found.merges


def test_what_holds_other_trees_or_is_no_pickle_is_refused(tmp_path: Path) -> None:
    """Counts of trees beside those that were read would stay in the file: refused, with what to do."""
    x, y = data()
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(x, y)
    release = load(saved(tmp_path, pickle.dumps(model)), domain=domain(x, y))
    model.other_ = DecisionTreeClassifier(max_depth=2, random_state=0).fit(x, y)
    with pytest.raises(Unsupported, match="others would keep their counts"):
        merged_copy(pickle.dumps(model), release.models, [[0]])
    with pytest.raises(Unsupported, match="write a release file"):
        merged_copy(b"{}", release.models, [[0]])
    rules = load("examples/releases/compas_rule_list.json").models
    with pytest.raises(Unsupported, match="has no stored trees"):
        merged_copy(pickle.dumps(model), rules, [[0]])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("values", "other values"), ("threshold", "another threshold"), ("left_child", "sends a point elsewhere"),
        ("n_node_samples", "another n_node_samples"), ("feature", "another feature"), ("leaf", "other leaves"),
        ("rows of a leaf", "another n_node_samples"),
    ],
)  # fmt: skip
def test_a_copy_that_is_wrong_is_not_given_out(
    change: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a wrong edit does to a table, the proof fails and nothing is returned."""
    x, y = data()
    path = saved(tmp_path, pickle.dumps(DecisionTreeClassifier(max_depth=5, random_state=0).fit(x, y)))
    right = copies._replace_tables

    def wrong(thing: Any, at: Any) -> None:
        right(thing, at)
        nodes, values = thing.get("nodes").copy(), thing.get("values").copy()
        inner = int(np.flatnonzero(nodes["left_child"] >= 0)[-1])
        if change == "values":
            values[0, 0, 0] += 1
        elif change == "left_child":
            nodes["left_child"][inner], nodes["right_child"][inner] = (
                nodes["right_child"][inner],
                nodes["left_child"][inner],
            )
        elif change == "leaf":
            nodes["left_child"][inner] = nodes["right_child"][inner] = -1
        elif change == "rows of a leaf":
            nodes["n_node_samples"][np.flatnonzero(nodes["left_child"] < 0)[0]] += 1
        else:
            nodes[change][inner] += 1
        copies._set_state(thing, {"nodes": nodes, "values": values})

    release = load(path, domain=domain(x, y))
    at = merge_leaves(release, {"smallest_group": 10}).collapsed
    monkeypatch.setattr(copies, "_replace_tables", wrong)
    with pytest.raises(EngineError, match=f"a tree of the copy.* {said}.*: nothing was written"):
        merged_copy(Path(path).read_bytes(), release.models, at)


@pytest.mark.parametrize("other", [[1], [1, 2, 3], [1, [2]], [1, 3]])
def test_graphs_that_differ_in_a_value_or_its_place_are_not_the_same(other: Any) -> None:
    assert copies._compared([1, 2], [1, 2]) > 0
    for pair in (([1, 2], other), (other, [1, 2])):
        with pytest.raises(EngineError, match=r"the copy differs from the file at .*: nothing was written"):
            copies._compared(*pair)


def test_a_copy_in_which_something_else_changed_is_not_given_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that is not a table of a tree must be as it was."""
    x, y = data()
    path = saved(tmp_path, pickle.dumps(DecisionTreeClassifier(max_depth=5, random_state=0).fit(x, y)))
    release = load(path, domain=domain(x, y))
    written = copies.write_pickle

    def wrong(root: Any, protocol: int) -> bytes:
        root.state["max_depth"] = 99
        return written(root, protocol)

    monkeypatch.setattr(copies, "write_pickle", wrong)
    with pytest.raises(EngineError, match="max_depth: nothing was written"):
        merged_copy(Path(path).read_bytes(), release.models, [[0]])


def test_the_walker_is_scikit_learns() -> None:
    """Points at, below and above every threshold reach the leaves that scikit-learn sends them to."""
    x, y = data(missing=True)
    model = DecisionTreeClassifier(random_state=0).fit(x, y)
    stored = open_stored(pickle.dumps(model))
    assert stored is not None
    nodes = _tree_things(stored.root)[0].get("nodes")
    points = points_of(nodes, 20_000, len(nodes), np.random.default_rng(1))
    points = np.pad(points, ((0, 0), (0, 4 - points.shape[1])))
    assert np.array_equal(leaf_of(nodes, points), model.tree_.apply(points))
    used = set(nodes["threshold"][links_of(nodes).inner].astype(np.float32).tolist())
    assert used <= set(points.ravel().tolist())
