"""Treelite's JSON: the rows of every node, of all rows or of a part of them."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from extras import batches
from sklearn.ensemble import RandomForestClassifier

import recon
from encoders.domain.values import Continuous
from recon.readers.formats.boosters import treelite
from recon.readers.formats.boosters.treelite import _node_rows, _threshold, read_treelite
from recon.readers.frames.world import violations
from solvers.foundation.errors import ReconError
from solvers.statements.release import RowCount

CORPUS = Path(__file__).parent / "corpus"
FOREST = json.loads((CORPUS / "treelite_forest.json").read_text())  # written by treelite 4.8


def of_sklearn(model):
    """Return what treelite writes of a scikit-learn forest: the keys of the file that it wrote, with other nodes."""
    trees = []
    for tree in (one.tree_ for one in model.estimators_):
        nodes = []
        for i in range(tree.node_count):
            node = {"node_id": i}
            if tree.children_left[i] < 0:
                node["leaf_value"] = tree.value[i, 0].tolist()
            else:
                node |= {"split_feature_id": int(tree.feature[i]), "default_left": bool(i % 2)}
                node |= {"node_type": "numerical_test_node", "comparison_op": "<=", "threshold": tree.threshold[i]}
                node |= {"left_child": int(tree.children_left[i]), "right_child": int(tree.children_right[i])}
            counts = {"data_count": int(tree.n_node_samples[i]), "sum_hess": float(tree.weighted_n_node_samples[i])}
            nodes.append(node | counts)
        trees.append({"num_nodes": len(nodes), "has_categorical_split": False, "nodes": nodes})
    return FOREST | {"trees": trees}


def drawn(seed):
    """Return random rows of whole numbers, and a forest on them as treelite writes it."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, 9, (int(rng.integers(10, 80)), 3)), columns=["x0", "x1", "x2"])
    label = (frame.x0 + rng.integers(0, 6, len(frame)) > 6).astype(int)
    label[0], label[1] = 0, 1
    model = RandomForestClassifier(3, max_depth=4, random_state=seed, bootstrap=seed % 2 == 0).fit(
        frame.to_numpy(), label
    )
    return frame, of_sklearn(model)


@pytest.mark.sampled(14)
@pytest.mark.parametrize("seed", batches(16, 300))
def test_the_true_rows_are_never_excluded(seed, tmp_path):
    frame, content = drawn(seed)
    (tmp_path / "model.json").write_text(json.dumps(content))
    domain = recon.Domain.from_frame(frame)
    for said in ({}, {"rows": len(frame)}):
        release = recon.load(str(tmp_path / "model.json"), domain=domain, **said)
        assert violations(release, frame) == [], (seed, said)
    exact = seed % 2 == 1  # every tree saw all rows
    assert release.models[0].origin.counts == (("size",) if exact else ("distinct",))


def test_what_treelite_wrote_is_read_and_inspected():
    frame = pd.read_csv(CORPUS / "treelite_rows.csv")
    path = str(CORPUS / "treelite_forest.json")
    release = recon.load(path, domain=recon.Domain.from_frame(frame))
    assert violations(release, frame) == []
    assert release.models[0].origin.format == "treelite's JSON"
    assert release.rows.low == max(tree["nodes"][0]["data_count"] for tree in FOREST["trees"])
    assert {one.level for one in recon.inspect(path).findings} == {"high"}


BAD = (
    (lambda c: c["trees"][0]["nodes"][1].pop("data_count"), "nodes have no data_count"),
    (lambda c: c["trees"][0]["nodes"][0].update(node_type="categorical_test_node"), "splits on categories"),
    (lambda c: c["trees"][0]["nodes"][0].update(comparison_op=">"), "trees that compare by < or <= are read"),
    (lambda c: c["trees"][0]["nodes"][0].update(data_count=5), "says 5 rows, but its two children"),
    (lambda c: c["trees"][0]["nodes"][0].update(left_child=99), "has the left_child 99 of"),
    (lambda c: c["trees"][0]["nodes"][0].update(split_feature_id=7), "has the split_feature_id 7 of 3"),
    (lambda c: c["trees"][0]["nodes"][0].update(threshold=None), "has the threshold None"),
    (lambda c: c.update(trees=[]), "has no trees"),
    (lambda c: c.update(num_feature=0), "has 0 features"),
    (lambda c: c.pop("num_feature"), "has None features"),
    (lambda c: [c.pop("trees"), c.pop("threshold_type")], 'has its keys ("leaf_output_type", "num_feature", "task_'),
)


@pytest.mark.parametrize(("change", "why"), BAD)
def test_what_is_no_tree_is_refused_in_a_sentence(change, why, tmp_path):
    content = copy.deepcopy(FOREST)
    change(content)
    (tmp_path / "bad.json").write_text(json.dumps(content))
    with pytest.raises(ReconError) as error:
        recon.load(str(tmp_path / "bad.json"))
    assert why in str(error.value)


def test_a_value_that_32_bits_move_over_a_threshold_is_named(tmp_path):
    content = copy.deepcopy(FOREST)
    content["trees"][0]["nodes"][0]["threshold"] = 0.3  # as a number of 32 bits 0.3 is greater
    domain = recon.Domain.from_frame(pd.DataFrame({name: np.arange(91) / 10 for name in ("x0", "x1", "x2")}))
    (tmp_path / "near.json").write_text(json.dumps(content))
    with pytest.raises(ReconError, match="does not say if columns were compared in 32 bits"):
        recon.load(str(tmp_path / "near.json"), domain=domain)


def test_columns_of_any_numbers_are_read_in_double_precision():
    columns = tuple(Continuous(name) for name in ("x0", "x1", "x2"))
    assert recon.load(str(CORPUS / "treelite_forest.json"), domain=recon.Domain(columns)).models[0].trees


def test_fewer_rows_than_the_largest_tree_counts_are_refused():
    roots = sorted(tree["nodes"][0]["data_count"] for tree in FOREST["trees"])
    draft = read_treelite(FOREST)
    assert draft.of_rows(roots[-1]).rows == RowCount(roots[-1], roots[-1])
    assert roots[0] < roots[-1]
    with pytest.raises(ReconError, match=f"a tree counts {roots[-1]} different rows"):
        draft.of_rows(roots[-1] - 1)


@pytest.mark.parametrize("most", ["MAX_FEATURES", "MAX_NODES"])
def test_as_many_features_and_nodes_as_may_be(most, monkeypatch):
    number = FOREST["num_feature"] if most == "MAX_FEATURES" else max(len(tree["nodes"]) for tree in FOREST["trees"])
    monkeypatch.setattr(treelite, most, number)
    assert read_treelite(FOREST).trees
    monkeypatch.setattr(treelite, most, number - 1)
    with pytest.raises(ReconError, match=r"has 3 features|has no list of nodes"):
        read_treelite(FOREST)


def test_figures_at_their_ends():
    assert [_node_rows(n, "p") for n in (0, (1 << 53) - 1)] == [0, (1 << 53) - 1]
    node = {"node_type": "numerical_test_node", "comparison_op": "<", "threshold": 0.0}
    assert _threshold(node, False, "p") == -5e-324
    assert _threshold(node, True, "p") == np.nextafter(np.float32(0), np.float32(-1))
    with pytest.raises(ReconError, match="has the threshold nan"):
        _threshold(node | {"threshold": float("nan")}, False, "p")
