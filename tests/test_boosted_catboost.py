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
