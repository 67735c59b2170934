"""Figures of XGBoost's later rounds: the true rows are in every interval, changed ones are not; the rest is named."""

from __future__ import annotations

import copy
import ctypes.util
import json
import math
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from boosted_cases import true_points

import recon
import solvers.foundation.limits as limits_module
from encoders.encode.encoder import encode
from encoders.kinds.boosting import _is_open
from encoders.models.models import Boosting
from recon.readers.formats.boosters.xgboost.file import (
    _below_single,
    dump_booster,
    json_booster,
    sizes,
    starting_shares,
)
from recon.readers.formats.boosters.xgboost.model import (
    LOWER_BOUNDS,
    MADE,
    NOT_STATED,
    NOT_TOLD,
    XGBoostRates,
    _rates_of,
    _single_log,
    _start,
    _to_draft,
    _tree_sums,
    read_xgboost,
)
from recon.readers.formats.detection import read_draft
from recon.readers.formats.drafts.binding import Binder
from recon.readers.frames.world import violations
from solvers.engines.chain import strengthened
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits
from solvers.leaf_values.combining import interval_use
from solvers.statements.release import Partition

GOLDEN = Path(__file__).parent / "golden" / "boosted"
USED = {"xgb_honest.json": (0.3, 1.0), "xgb_shrunk.ubj": (0.1, 2.5)}


def rows():
    return pd.read_csv(GOLDEN / "xgbcat.csv")


def release(file):
    return recon.load(GOLDEN / file, domain=recon.Domain.from_frame(rows(), label="y"))


def parts_used(found, frame):
    return np.concatenate(interval_use(*true_points(found, frame)))


def stored(name="honest"):
    return json.loads((GOLDEN / f"xgb_{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", USED)
def test_the_truth_is_inside_and_changed_rows_are_not(file):
    frame, found = rows(), release(file)
    parts = parts_used(found, frame)
    assert len(parts) > 100
    assert 0.5 < parts.max() <= 1  # rounding to float32 is used up, and nothing more
    assert MADE in str(found.assumptions)
    assert f"learning_rate {USED[file][0]}, reg_lambda {USED[file][1]:.6g}" in str(found.assumptions)
    for i in (0, 7, 99):
        other = frame.copy()
        other.loc[i, "y"] = 1 - other.loc[i, "y"]
        assert parts_used(found, other).max() > 1e3


@pytest.mark.slow
def test_figures_give_back_every_row(monkeypatch):
    """The same on a machine that is a thousand times slower: without a time limit work alone ends a stage."""
    monkeypatch.setattr(limits_module.time, "monotonic", lambda: 1000 * time.perf_counter())
    frame, found = rows(), release("xgb_long.ubj")
    proved = strengthened(found.statements, Limits())
    last = proved.blocks[-1]
    assert isinstance(last, Partition)
    assert proved.settled.surplus == 1086
    assert proved.settled.worst <= 1
    assert (last.low == last.high).all()
    assert int(last.low.sum()) == len(frame)
    assert list(violations(found, frame)) == []


def test_later_trees_say_between_how_many_rows_their_leaves_have():
    frame, found = rows(), release("xgb_honest.json")
    boosted, points, times = true_points(found, frame)
    for tree in boosted.trees[1:]:
        block = found.statements.blocks[tree.block]
        size = np.zeros(len(tree.step), dtype=np.int64)
        np.add.at(size, points[:, tree.block], times.sum(axis=1))
        assert (block.low <= size).all()
        assert (size <= block.high).all()
        assert (block.low > 0).all()  # min_child_weight 1: at least four rows
        assert (block.high < len(frame)).all()


@pytest.mark.parametrize(("name", "why"), [
    ("dart", "dropped and scaled"), ("alpha", "no usual pair"), ("clipped", "no usual pair"), ("odd", "no usual pair"),
    ("drawn", "samples of the rows"),
])  # fmt: skip
def test_what_is_not_used_is_named(name, why):
    draft = read_xgboost(stored(name))
    assert not any(isinstance(m, Boosting) for m in draft.models)
    assert why in str(draft.reader_notes)


def test_several_trees_per_round_are_not_used():
    draft = read_xgboost(stored("forest"))
    assert not any(isinstance(m, Boosting) for m in draft.models)


def test_whole_weights_look_like_repeated_rows_and_are_assumed_away():
    draft = read_draft((GOLDEN / "xgb_weights.json").read_bytes(), 1 << 28)
    assert draft.rows.low == 160 + 54  # every third row twice: nothing in the file tells them from two rows
    assert any("no row was weighted" in note for note in draft.origin.notes)


def first(name="honest"):
    booster = json_booster(stored(name))
    begin = starting_shares(booster)
    return booster.trees[0], sizes(booster.trees[0], begin.shares[0], begin.factor)


def test_rates_are_those_of_the_first_tree_or_none():
    tree, cover = first()
    assert _rates_of(tree, cover) == XGBoostRates(float(np.float32(0.3)), 1.0)
    changed = copy.deepcopy(tree)
    leaf = next(i for i, s in enumerate(tree.grown.splits) if s is None)
    changed.weight[leaf] *= 1.01
    assert "no usual pair" in _rates_of(changed, cover)
    stump = copy.deepcopy(tree)
    stump.weight = [0.0] * len(stump.weight)
    assert _rates_of(stump, cover).startswith(("no", "more than one"))


def test_the_start_is_what_float32_arithmetic_gives():
    assert _start(0.5) == 0
    for base in (0.1, 0.45087427, 0.9, 0.3):
        assert abs(_start(base) - math.log(base / (1 - base))) < 6e-7
        assert float(np.float32(_start(base))) == _start(base)


def test_the_logarithm_is_that_of_the_c_library():
    """Compared with the library here where it is glibc; within a unit of the true logarithm anywhere."""
    random = np.random.default_rng(0)
    numbers = np.exp(random.normal(0, 3, 3000)).astype(np.float32).tolist()
    for x in numbers:
        true = math.log(x)
        assert abs(_single_log(x) - true) <= 0.82 * float(np.spacing(np.float32(abs(true))))
    name = ctypes.util.find_library("m")
    if name == "libm.so.6":
        library = ctypes.CDLL(name)
        library.logf.restype, library.logf.argtypes = ctypes.c_float, [ctypes.c_float]
        assert [library.logf(x) for x in numbers] == list(map(_single_log, numbers))
    for wrong in (0.0, -1.0, math.inf, 1e-45):
        with pytest.raises(ValueError, match="logarithm"):
            _single_log(wrong)


def test_intervals_hold_the_files_rounding_and_the_sums():
    tree, _ = first()
    said = _tree_sums(tree, 0, XGBoostRates(float(np.float32(0.3)), 1.0), 160)
    count = len(tree.cover)
    assert said.what[:count] == ("cover",) * count
    for i in range(count):
        assert said.low[i] < tree.cover[i] < said.high[i]
        step = float(np.spacing(np.float32(tree.cover[i])))
        assert step <= said.high[i] - said.low[i] < 3 * step
    leaves = [w for w in said.what if w == "value"]
    assert len(leaves) == len(said.step) == len(tree.grown.leaves)
    assert tree.grown.links.depths.max() == 3


def test_float32_figures_are_read_as_float32():
    found = stored()
    tree = found["learner"]["gradient_booster"]["model"]["trees"][1]
    booster = json_booster(found)
    assert booster.trees[1].cover[0] == float(np.float32(tree["sum_hessian"][0]))
    assert all(float(np.float32(w)) == w for w in booster.trees[1].weight)


def test_some_tree_must_count_rows():
    frame = rows()
    domain = recon.Domain.from_frame(frame, label="y")
    draft = read_xgboost(stored())
    (model,) = draft.bound(Binder(draft, domain))
    assert [_is_open(tree) for tree in model.trees] == [False] + [True] * 7
    silent = replace(model, trees=model.trees[1:], sums=model.sums[1:])
    with pytest.raises(ReleaseError, match="no tree says how many rows"):
        encode(domain, (silent,))


def test_values_are_rounded_to_single_precision_before_they_are_compared():
    rng = np.random.default_rng(3)
    thresholds = [13.05, 3.84, 0.1, 1.0, 2.0, -7.3, -1.0, 1e-30, 2.0**24 + 2, *rng.normal(size=200)]
    for single in np.array(thresholds, dtype=np.float32):
        end, is_open = _below_single(float(single), False)
        near = [np.nextafter(single, np.float32(side)) for side in (-np.inf, np.inf)]
        tried = [float(x) for x in (single, *near)] + [end, np.nextafter(end, -np.inf), np.nextafter(end, np.inf)]
        for x in tried + [(a + b) / 2 for a in tried for b in tried]:
            assert (np.float32(x) < single) == (x < end or (x == end and not is_open)), (single, x)
    assert _below_single(3.0, True) == (3.0, True)
    assert 13.0499997 < _below_single(float(np.float32(13.05)), False)[0] < 13.05  # the value itself goes right


def test_a_dump_is_read_as_the_library_compares():
    """It prints float32 thresholds with nine digits: 26.2 itself is below 26.2000008, yet goes right, as in JSON."""
    for printed in (26.2000008, 24.2999992, 3, 0.5, -7.30000019, 16777216):
        sides = [{"nodeid": k, "leaf": 0.1, "cover": 2.0} for k in (1, 2)]
        node = {"nodeid": 0, "split": "x", "split_condition": printed, "yes": 1, "no": 2, "missing": 2, "cover": 4.0}
        split = dump_booster([node | {"children": sides}]).trees[0].grown.splits[0]
        single = np.float32(printed)
        near = [np.nextafter(single, np.float32(side)) for side in (-np.inf, np.inf)]
        tried = [float(x) for x in (single, *near)]
        tried += [(a + b) / 2 for a in tried for b in tried] + [round(tried[0], 1), round(tried[0] - 1e-9, 9)]
        for x in tried:
            goes_left = x < split.test.high or (x == split.test.high and not split.test.high_open)
            assert goes_left == (np.float32(x) < single), (printed, x)


def test_settings_of_a_pickle_are_those_of_its_last_training():
    """Figures of the first trees say whether these saw all rows, whatever a later training was set to."""
    found, more = stored(), stored("drawn")
    plain = _to_draft(json_booster(found), None, (), False)
    assert not {NOT_TOLD, LOWER_BOUNDS, NOT_STATED} & set(plain.origin.notes)
    for draws in (None, False):
        draft = _to_draft(json_booster(more), None, (), draws)
        assert (draft.drawn, draft.rows.high) == (True, None)
        assert LOWER_BOUNDS in draft.origin.notes
    model = found["learner"]["gradient_booster"]["model"]
    model["trees"] += more["learner"]["gradient_booster"]["model"]["trees"][:4]
    model["tree_info"] = [0] * len(model["trees"])
    draft = _to_draft(json_booster(found), None, (), False)
    assert len(draft.others) == 1
    assert (draft.drawn, NOT_STATED in draft.origin.notes) == (False, True)
