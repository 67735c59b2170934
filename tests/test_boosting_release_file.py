"""Boosted models in release files: written and read back bit for bit, what is malformed refused in one sentence."""

from __future__ import annotations

import copy
import json
import math
import struct
from pathlib import Path

import numpy as np
import oracle
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recon
from encoders.domain.values import Test as Passes
from encoders.models.models import Boosting, Provenance, Tree, TreeSums
from encoders.models.nodes import ModelNode, Support
from recon.readers.formats.release.reading import parse, to_models
from recon.readers.formats.release.writing import dump, release_json
from solvers.foundation.errors import ReleaseError
from solvers.statements.gradients.boosted import Gradients, by_tree, entries
from solvers.statements.release import RowCount

GOLDEN = Path(__file__).parent / "golden"
LOG = json.loads((GOLDEN / "boosted_log.json").read_text())
NAMES = ("boosted_log", "boosted_open", "boosted_softmax")


def doubles(least=-math.inf, most=math.inf):
    """Doubles of any size: drawn as bits, so that every exponent is as likely."""
    words = st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0])
    return words.filter(lambda x: math.isfinite(x) and least <= x <= most) | st.sampled_from([1.0, 0.1, 5e-324])


@st.composite
def models(draw):
    """A boosted model of one score over trees of one split; sums in the order in which a file has them."""
    trees, sums, first = [], [], draw(st.integers(0, 3))
    for t in range(draw(st.integers(1, 3))):
        counts = draw(st.tuples(st.integers(0, 9), st.integers(0, 9)))
        nodes = [
            ModelNode(Support(), (("a", Passes(values=(t % 2,))),), 1, 2),
            *(ModelNode(Support(count=c)) for c in counts),
        ]
        found = []
        for node in range(3):
            whats = draw(st.lists(st.sampled_from(["value", "weight", "impurity", "value"]), max_size=4))
            own = [w for w in ("value", "weight") if w in whats]
            rest = list(whats)
            for one in own:
                rest.remove(one)
            for what in own + rest:
                factors = [draw(doubles()), draw(doubles()), draw(st.sampled_from([0.0, 1.0, -0.5]))]
                low, high = sorted((draw(doubles()), draw(doubles())))
                found.append((node, what, *(factors if any(factors) else [1.0, 0.0, 0.0]), low, high))
        columns = [np.array([f[i] for f in found], dtype=float) for i in range(2, 7)]
        node = np.array([f[0] for f in found], dtype=np.int64)
        steps = np.array([draw(doubles()), draw(doubles())])
        sums.append(TreeSums(first + t, 0, steps, node, *columns, tuple(f[1] for f in found)))
        trees.append(Tree(nodes, draw(st.sampled_from([f"tree {t}", "grown"]))))
    positive = doubles(0.0).filter(bool)
    law = Gradients(
        draw(st.sampled_from(["log_loss", "squared_error"])),
        draw(st.sampled_from(["float64", "float32"])),
        draw(st.sampled_from(["float64", "float32"])),
        draw(positive), draw(positive), *(draw(doubles(0.0)) for _ in range(4)),
    )  # fmt: skip
    labels = draw(st.sampled_from([(0, 1), (1, 0)])) if law.loss == "log_loss" else ()
    start, base = draw(doubles()), draw(doubles())
    return Boosting(tuple(trees), tuple(sums), law, (start,), (base,), labels, "b", None, Provenance("x", ("size",)))


def domain():
    return recon.Domain.from_frame(pd.DataFrame({"a": [0, 1], "y": [0, 1]}), label="y")


def bits(model):
    """Every number of a model, bit for bit."""
    arrays = [a.tobytes() for s in model.sums for a in (s.step, s.gradient, s.hessian, s.square, s.low, s.high)]
    return arrays, struct.pack(f"<{2 * len(model.start)}d", *model.start, *model.base), model.gradients


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(models())
def test_what_is_written_is_read_back_bit_for_bit(model):
    text = dump(release_json(domain(), [model], RowCount(5, 5)))
    (again,) = to_models(parse(text.encode(), "f"))
    assert again == model
    assert bits(again) == bits(model)


@pytest.mark.parametrize("name", NAMES)
def test_golden_files_are_read_and_written_as_they_are(name):
    text = (GOLDEN / f"{name}.json").read_text()
    release = recon.load(GOLDEN / f"{name}.json")
    assert dump(release_json(release.domain, release.models, None)) == text


@pytest.mark.parametrize("name", NAMES)
def test_a_file_says_what_the_oracle_reads_in_it(name):
    """Which datasets meet the counts and the sums: the statements as encoded, against plain Python."""
    release = json.loads((GOLDEN / f"{name}.json").read_text())
    counted = copy.deepcopy(release)
    for node in (n for m in counted["models"] for t in m["trees"] for n in t["nodes"]):
        for key in ("value", "weight", "sums"):
            node.pop(key, None)
    worlds, wider = (set(map(tuple, oracle.datasets(one))) for one in (release, counted))
    assert worlds < wider
    encoded = recon.load(GOLDEN / f"{name}.json")
    (model,) = encoded.statements.boosted
    for rows in wider:
        assert met(encoded, model, rows) == (rows in worlds)


def frame(encoded, rows):
    return pd.DataFrame(list(rows), columns=[a.name for a in encoded.domain.all])


def coefficients(tree, rows, leaf):
    """Return middles and radii of the coefficients of a tree's figures for points in given leaves of it."""
    found = entries(tree, rows, leaf)
    shape = (len(tree), len(leaf), rows.gradient.low.shape[1])
    middle, radius = np.zeros(shape), np.zeros(shape)
    middle[found.figure, found.point], radius[found.figure, found.point] = found.middle, found.radius
    return middle, radius


def met(encoded, model, rows):
    """Tell whether rows meet all sums, by the intervals of `solvers.statements.gradients.boosted`."""
    domain, label = encoded.domain, encoded.domain.label
    leaves = np.array([[leaf(encoded, tree.block, row) for tree in model.trees] for row in rows])
    classes = [model.labels.index(label.point(row[-1])[0]) for row in rows]
    assert len(domain.all) == len(rows[0])
    for t, (tree, terms) in enumerate(by_tree(model, leaves)):
        found = coefficients(tree, terms, leaves[:, t])
        own = np.arange(len(rows)), classes
        middle, radius = (a[:, own[0], own[1]].sum(axis=1) for a in found)
        if (middle + radius < tree.low).any() or (middle - radius > tree.high).any():
            return False
    return True


def leaf(encoded, block, row):
    """Return the leaf of a tree that a row is in, by its boxes."""
    cuts, partition = encoded.cut.cuts, encoded.statements.partitions[block]
    at = [cuts[k].part(a.point(v)[0]) for k, (a, v) in enumerate(zip(encoded.domain.all, row, strict=True))]
    inside = [all(mask >> at[k] & 1 for k, mask in partition.boxes[j].literals) for j in range(len(partition.boxes))]
    assert sum(inside) == 1
    return inside.index(True)


BAD = {
    "a leaf needs a 'step'": ("trees[0].nodes[1]", lambda m: m["trees"][0]["nodes"][1].pop("step")),
    "an inner node has no 'step'": ("trees[0].nodes[0]", lambda m: m["trees"][0]["nodes"][0].update(step=1)),
    "says nothing": ("trees[0].nodes[1].weight", lambda m: m["trees"][0]["nodes"][1]["weight"].pop("hessian")),
    "is empty": ("trees[0].nodes[1].weight", lambda m: m["trees"][0]["nodes"][1]["weight"].update(at_least=9)),
    "It must be 'log_loss', 'softmax' or 'squared_error', but it is 'hinge'": (
        "gradients.loss",
        lambda m: m["gradients"].update(loss="hinge"),
    ),
    "It must be 'float32' or 'float64', but it is 'half'": (
        "gradients.rounded",
        lambda m: m["gradients"].update(rounded="half"),
    ),
    "scale must be above 0, not -1": ("gradients.scale", lambda m: m["gradients"].update(scale=-1)),
    "has 1 scores to start from, not 2": ("start", lambda m: m.update(start=[0, 1], base=[0])),
    "has 1 scores to start from, not 0": ("base", lambda m: m.update(base=[])),
    "the label has 2 values, the model 3 classes": ("labels", lambda m: m.update(labels=[0, 1, 2])),
    "the label has 2 values, the model 2 classes": ("labels", lambda m: m.update(labels=[0, 2])),
    "there is no score 1": ("trees[1].of", lambda m: m["trees"][1].update(of=1)),
    "round 0 after round 1": ("trees[2].round", lambda m: m["trees"][2].update(round=0)),
    "unknown key": ("trees[0].nodes[1].wait", lambda m: m["trees"][0]["nodes"][1].update(wait=1)),
    "is missing": ("gradients", lambda m: m.pop("gradients")),
    "noise on its counts is not read": ("noise", lambda m: m.update(noise={"law": "laplace", "scale": 1})),
    "the tree counts 6 rows, trees[0] counts 5": (
        "trees[1]",
        lambda m: m["trees"][1]["nodes"][1].update(count=m["trees"][1]["nodes"][1]["count"] + 1),
    ),
    "is beyond the range of doubles": ("start[0]", lambda m: m.update(start=[10**400])),
}


@pytest.mark.parametrize("words", BAD)
def test_what_is_malformed_is_named(words, tmp_path):
    place, spoil = BAD[words]
    release = copy.deepcopy(LOG)
    spoil(release["models"][0])
    path = tmp_path / "release.json"
    path.write_text(json.dumps(release))
    with pytest.raises(ReleaseError, match="models") as caught:
        recon.load(path)
    text = str(caught.value)
    assert words in text
    assert f"models[0].{place}" in text
    assert str(path) in text
    assert "\n" not in text


def test_a_real_target_has_no_classes(tmp_path):
    release = copy.deepcopy(LOG)
    model = release["models"][0]
    model["gradients"]["loss"] = "squared_error"
    path = tmp_path / "release.json"
    path.write_text(json.dumps(release))
    with pytest.raises(ReleaseError, match=r"is a number, it has no classes"):
        recon.load(path)
    model.pop("labels")
    path.write_text(json.dumps(release))
    (found,) = recon.load(path).statements.boosted
    assert found.labels == ()


def test_files_of_two_models_name_and_number_them(tmp_path):
    release = copy.deepcopy(LOG)
    release["models"][0].pop("name")
    path = tmp_path / "release.json"
    path.write_text(json.dumps(release))
    found = recon.load(path, path)
    assert [m.name for m in found.statements.boosted] == ["boosting 0", "boosting 1"]
    assert [m.blocks for m in found.statements.boosted] == [(0, 1, 2, 3), (4, 5, 6, 7)]
    assert found.statements.boosted[1].trees[0].names[0] == "tree 0, leaf 1, value"
