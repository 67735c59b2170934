"""Leaf values of CatBoost: the true rows are in every interval, changed ones are not, and what is not used is named."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from boosted_cases import true_points

import recon
from encoders.models.models import Boosting, Forest
from recon.readers.formats.boosters.catboost_file import json_booster
from recon.readers.formats.boosters.catboost_model import EXP, NEEDED, UNIT, _gradients, _started, _to_draft, _unusable
from recon.readers.formats.detection import read_draft
from recon.readers.frames.world import TrueRows
from solvers.engines.chain import strengthened
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.leaf_values.combining import interval_use

GOLDEN = Path(__file__).parent / "golden" / "boosted"
USED = ["cat_honest.json", "cat_gradient.cbm", "cat_ordered.cbm", "cat_lossguide.json"]


def rows():
    return pd.read_csv(GOLDEN / "xgbcat.csv")


def release(file, frame=None):
    return recon.load(GOLDEN / file, domain=recon.Domain.from_frame(rows() if frame is None else frame, label="y"))


def parts_used(found, frame):
    return np.concatenate(interval_use(*true_points(found, frame)))


@pytest.mark.parametrize("file", USED)
def test_the_truth_is_inside_and_changed_rows_are_not(file):
    frame = rows()
    found = release(file)
    parts = parts_used(found, frame)
    assert len(parts) > 30
    assert parts.max() < 0.2
    assert NEEDED in str(found.assumptions)
    for i in (0, 7, 99):
        other = frame.copy()
        other.loc[i, "y"] = 1 - other.loc[i, "y"]
        assert parts_used(found, other).max() > 1e6


@pytest.mark.slow
def test_leaf_values_give_back_rows():
    frame, found = rows(), release("cat_long.cbm")
    proved = strengthened(found.statements, Limits(seconds=10))
    last = proved.blocks[-1]
    assert proved.settled.worst < 0.2
    known = last.low == last.high
    assert known.any()  # how many depends on the time that is left
    where = TrueRows.of(found, frame)
    for s in range(len(last)):
        held = (where.regions(last.boxes) == last.region[s]) & (frame_labels(where) == last.label[s])
        assert last.low[s] <= int(where.times[held].sum()) <= last.high[s]


def frame_labels(where):
    return where.parts[-1].argmax(axis=1)[where.codes[:, -1]]


@pytest.mark.parametrize(("file", "why"), [
    ("cat_several.cbm", "several steps"), ("cat_monotone.cbm", "monotone"), ("cat_langevin.cbm", "langevin"),
])  # fmt: skip
def test_what_is_not_used_is_named(file, why):
    draft = read_draft((GOLDEN / file).read_bytes(), 1 << 28)
    assert not isinstance(draft.models[0], Boosting)
    assert why in str(draft.reader_notes)


def test_weighted_rows_are_not_taken_for_rows():
    found = read_draft((GOLDEN / "cat_weights.json").read_bytes(), 1 << 28)
    assert isinstance(found.models[0], Forest)  # the regularisation is scaled by the mean weight: counts are not whole


def honest():
    return json.loads((GOLDEN / "cat_honest.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("change", "why"), [
    (lambda p, j: p["loss_function"].update(type="CrossEntropy"), "CrossEntropy"),
    (lambda p, j: p["tree_learner_options"].update(leaf_estimation_method="Exact"), "leaf_estimation_method"),
    (lambda p, j: p["tree_learner_options"].update(dev_leafwise_approxes=True), "leaf by leaf"),
    (lambda p, j: p["boosting_options"].update(model_shrink_rate=0.1), "shrunk"),
    (lambda p, j: p["boosting_options"].update(learning_rate="fast"), "learning_rate"),
    (lambda p, j: p["boosting_options"].update(learning_rate=0), "learning rate is 0"),
    (lambda p, j: j.update(scale_and_bias=[2, [0.0]]), "scaled"),
    (lambda p, j: j["oblivious_trees"][3]["leaf_values"].__setitem__(0, 500.0), "exponential"),
])  # fmt: skip
def test_settings_whose_values_are_something_else_are_named(change, why):
    found = honest()
    change(found["model_info"]["params"], found)
    booster = json_booster(found)
    assert why in _unusable(booster)
    assert not isinstance(_to_draft(booster, None).models[0], Boosting)


def test_a_later_value_that_was_rounded_is_noticed():
    found, frame = honest(), rows()
    value = found["oblivious_trees"][5]["leaf_values"]
    value[1] = round(value[1], 6)
    draft = _to_draft(json_booster(found), None)
    assert isinstance(draft.models[0], Boosting)
    path = GOLDEN / "cat_honest.json"
    assert parts_used(recon.load(path, domain=recon.Domain.from_frame(frame, label="y")), frame).max() < 1
    (low, high), step = (draft.models[0].sums[5].low, draft.models[0].sums[5].high), draft.models[0].sums[5].step
    assert (high - low).max() < 1e-11
    assert round(value[1], 6) in np.round(step, 6)


def test_errors_of_scores_grow_with_trees_and_bias():
    law = _gradients(json_booster(honest()))
    assert law.start_error == 0
    assert 8 * EXP <= law.score_error < 1e-13
    # fast_exp leaves less than 2^-19 of the bias's power of two, and exp is off by half its square
    for bias in (0.3, -1.0, 2.5):
        rest = abs(bias)
        for _ in range(4):
            power = 2.0 ** (np.floor(np.log2(rest)) - 4) if rest else 1.0
            rest -= np.floor(rest / power) * power
        assert rest**2 / 2 + 8 * UNIT <= _started(bias)


def test_a_tree_of_one_leaf_counts_in_the_scores():
    found = honest()
    value = found["oblivious_trees"][2]
    found["oblivious_trees"][2] = {"splits": [], "leaf_values": [0.01], "leaf_weights": [sum(value["leaf_weights"])]}
    model = _to_draft(json_booster(found), None).models[0]
    assert isinstance(model, Boosting)
    assert len(model.trees) == len(model.sums) == 8
    assert model.sums[2].step.tolist() == [0.01]


def trained(found, *names):
    """Return a file whose trees stand twice: the settings of its trainings by these names, each of all the trees."""
    told = {f"{name}params": found["model_info"]["params"] for name in names}
    history = {"metrics": {"learn_metrics_history": [0] * len(found["oblivious_trees"])}}
    told |= {f"{name}training": history for name in names}
    return found | {"oblivious_trees": found["oblivious_trees"] * 2, "model_info": told}


@pytest.mark.parametrize(
    ("names", "first", "why"),
    [
        (("initModel:", ""), ((0, 1), ("exact", "size")), "init_model"),
        (("model0:", "model1:"), (None, ("size",)), "sum of models"),
    ],
)
def test_only_the_first_of_several_trainings_starts_from_the_bias(names, first, why):
    """The second one's trees are those of the first: values that would prove the classes of rows from the bias on."""
    draft = _to_draft(json_booster(trained(honest(), *names)), None)
    (other,) = draft.others
    assert (draft.classes, draft.origin.counts) == first
    assert (other.classes, other.origin.counts) == (None, ("size",))
    assert why in str(draft.origin.notes)


def test_a_first_tree_of_one_leaf_says_nothing_of_the_second():
    """Of 160 rows 68 are of the class; the one leaf of the first tree says so, and later trees start elsewhere."""
    found = honest()
    leaf = {"splits": [], "leaf_values": [0.0], "leaf_weights": [160]}  # G is 0: p is the class's share
    found["scale_and_bias"] = [1, [float(np.log(68 / 92))]]
    found["oblivious_trees"][0] = leaf
    draft = _to_draft(json_booster(found), None)
    assert (draft.classes, draft.origin.counts) == (None, ("size",))
    with pytest.raises(Unsupported, match="no tree of the CatBoost model has a split on a number"):
        _to_draft(json_booster(found | {"oblivious_trees": [leaf, leaf]}), None)


@pytest.mark.parametrize("share", [0, 0.2])
def test_weights_with_a_divisor_are_bounds_from_both_sides_unless_rows_were_held_out(share):
    found = honest()
    for tree in found["oblivious_trees"]:
        tree["leaf_weights"] = [2 * n for n in tree["leaf_weights"]]
    found["model_info"]["params"]["data_processing_options"]["eval_fraction"] = share
    draft = _to_draft(json_booster(found), None)
    assert (draft.rows.low, draft.rows.high) == (160, None if share else 320)
    (table,) = draft.models
    weights = [n for tree in found["oblivious_trees"] for n in tree["leaf_weights"] if n]
    said = [(one.low, one.high) for one in table.statements]
    assert sorted(low for low, _ in said) == sorted(n // 2 for n in weights)
    assert all(high == (None if share else 2 * low) for low, high in said)


def test_a_tree_with_branches_on_categories_proves_no_classes():
    path = GOLDEN.parent / "models" / "catboost-1.2.10" / "lossguide.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    assert "exact" in _to_draft(json_booster(found), None).origin.counts
    for side in ("left", "right"):
        if "split" in found["trees"][0][side]:
            found["trees"][0][side]["split"]["split_type"] = "OnlineCtr"
    draft = _to_draft(json_booster(found), None)
    assert (draft.classes, draft.origin.counts) == (None, ("size",))
    assert (draft.rows.low, draft.rows.high) == (90, 90)
