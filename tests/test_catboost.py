"""CatBoost and UBJSON files of the real libraries: their counts are those of the training data, broken ones end."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from encoders.domain.domain import Domain
from encoders.encode.encoder import encode
from encoders.models.models import Boosting, Forest
from recon.readers.formats.boosters.catboost_file import MAGIC, cbm_booster, json_booster
from recon.readers.formats.boosters.catboost_model import (
    NONE_BESIDE_CATEGORIES,
    NOT_WEIGHTED,
    TOGETHER,
    _to_draft,
    read_catboost,
)
from recon.readers.formats.boosters.xgboost.model import LOWER_BOUNDS, NOT_STATED, read_xgboost, read_xgboost_ubj
from recon.readers.formats.boosters.xgboost.model import NOT_WEIGHTED as XGB_NOT_WEIGHTED
from recon.readers.formats.detection import read_draft
from recon.readers.formats.drafts.binding import Binder
from recon.readers.formats.release.reading import strict_json
from recon.readers.frames.world import violations
from recon.readers.stored.binary.ubjson import DEEPEST, read_ubjson
from solvers.foundation.errors import ReleaseError, Unsupported

GOLDEN = Path(__file__).parent / "golden" / "models"
INDEX = {e["file"]: e for e in json.loads((GOLDEN / "index.json").read_text(encoding="utf-8"))}
CAT = [f for f in INDEX if f.startswith("catboost") and "weighted" not in f]
UBJ = [f for f in INDEX if f.startswith("xgboost") and f.endswith((".ubj", ".pkl"))]
ROOM = 1 << 28


def draft_of(file):
    return read_draft((GOLDEN / file).read_bytes(), ROOM)


def broken(draft, file):
    """Return what the training data violates of a draft's statements, its label as the file names it."""
    frame = pd.read_csv(GOLDEN / INDEX[file]["data"])
    label = frame.columns[-1]
    if draft.classes is not None and not set(frame[label]) & set(draft.classes):
        codes = {v: i for i, v in enumerate(sorted(frame[label].unique()))}
        frame = frame.assign(**{label: frame[label].map(codes)})
    domain = Domain.from_frame(frame, label=label)
    return violations(encode(domain, draft.bound(Binder(draft, domain)), draft.rows), frame)


def trees_of(draft):
    return draft.models[0].trees if isinstance(draft.models[0], (Boosting, Forest)) else (draft.models[0],)


def leaves_of(tree):
    return [n.support for n in tree.nodes if n.condition is None]


@pytest.mark.parametrize("file", CAT)
def test_catboost_files_say_what_the_training_data_says(file):
    draft, truth = draft_of(file), INDEX[file]["truth"]
    assert broken(draft, file) == []
    assert draft.rows.low == draft.rows.high == INDEX[file]["rows"]
    assert NOT_WEIGHTED in draft.origin.notes
    held = [t for t in truth["trees"] if len(t["leaves"]) > 1]  # trees on categories alone have one leaf left
    for t, (tree, of) in enumerate(zip(trees_of(draft), held, strict=True)):
        sizes = sorted(s.total for s in leaves_of(tree) if s.total)
        assert sizes == sorted(sum(c) for c in of["counts"])
        if t == 0 and "exact" in draft.origin.counts:
            assert sorted(s.counts for s in leaves_of(tree) if s.total) == sorted(tuple(c) for c in of["counts"])
    assert ("exact" in draft.origin.counts) == (not any(w in file for w in ("classes", "regression")))


def test_rows_held_out_by_a_fraction_are_training_rows_too():
    file = "catboost-1.2.10/binary.json"
    found = json.loads((GOLDEN / file).read_text(encoding="utf-8"))
    assert broken(read_catboost(found), file) == []
    settings = found["model_info"]["params"]
    settings = settings if isinstance(settings, dict) else json.loads(settings)
    settings["data_processing_options"]["eval_fraction"] = 0.25
    found["model_info"]["params"] = settings
    draft = read_catboost(found)
    frame = pd.read_csv(GOLDEN / INDEX[file]["data"])
    label, n = frame.columns[-1], len(frame)
    domain = Domain.from_frame(frame, label=label)
    held_out = pd.concat([frame, frame.iloc[: n // 3]])
    assert (draft.rows.low, draft.rows.high) == (n, None)
    assert violations(encode(domain, draft.bound(Binder(draft, domain)), draft.rows), held_out) == []
    assert any("eval_fraction" in note and "least number" in note for note in draft.origin.notes)


def test_one_tree_with_splits_beside_others_may_be_of_other_rows():
    found = json.loads((GOLDEN / "catboost-1.2.10/binary.json").read_text(encoding="utf-8"))
    first = found["oblivious_trees"][0]
    for trees in ([first], [{"splits": [], "leaf_values": [0.1], "leaf_weights": [sum(first["leaf_weights"])]}, first]):
        notes = read_catboost({**found, "oblivious_trees": trees}).origin.notes
        assert any("on the same rows" in note for note in notes) == (len(trees) > 1)


def test_categories_are_left_out_and_said():
    draft = draft_of("catboost-1.2.10/categories.cbm")
    assert TOGETHER in draft.reader_notes
    assert NONE_BESIDE_CATEGORIES in draft.origin.notes  # a fit with weights of 0 and 1 counts other rows there
    assert NONE_BESIDE_CATEGORIES not in draft_of("catboost-1.2.10/binary.cbm").origin.notes


def test_the_forms_of_one_catboost_model_say_the_same():
    for name in ("binary", "classes", "categories", "lossguide"):
        found = [draft_of(f"catboost-1.2.10/{name}.{end}") for end in ("cbm", "json")]
        assert found[0].models == found[1].models
        assert found[0].features == found[1].features
        assert (found[0].classes, found[0].rows) == (found[1].classes, found[1].rows)


def test_catboost_with_weights_is_refused():
    with pytest.raises(Unsupported, match="weighs its classes"):
        draft_of("catboost-1.2.10/weighted_classes.cbm")
    found = strict_json((GOLDEN / "catboost-1.2.10/binary.json").read_text(encoding="utf-8"))
    found["oblivious_trees"][1]["leaf_weights"][0] += 0.5
    with pytest.raises(Unsupported, match="rows were weighted"):
        read_catboost(found)
    found["oblivious_trees"][1]["leaf_weights"][0] += 0.5
    with pytest.raises(Unsupported, match="not of the same rows"):
        read_catboost(found)


@pytest.mark.parametrize("change", [
    lambda p: p["boosting_options"].update(learning_rate=0.4),
    lambda p: p["tree_learner_options"].update(leaf_estimation_iterations=5),
    lambda p: p["tree_learner_options"].update(monotone_constraints={"0": 1}),
    lambda p: p["loss_function"].update(type="CrossEntropy"),
    lambda p: p.clear(),
])  # fmt: skip
def test_classes_are_not_claimed_where_the_values_do_not_prove_them(change):
    found = strict_json((GOLDEN / "catboost-1.2.10/binary.json").read_text(encoding="utf-8"))
    change(found["model_info"]["params"])
    assert read_catboost(found).origin.counts == ("size",)


@pytest.mark.parametrize("change", [
    lambda p: p.update(task_type="GPU"), lambda p: p["loss_function"].update(type="YetiRank"),
])  # fmt: skip
def test_settings_that_were_never_tried_are_refused(change):
    found = strict_json((GOLDEN / "catboost-1.2.10/binary.json").read_text(encoding="utf-8"))
    change(found["model_info"]["params"])
    with pytest.raises(Unsupported, match="never compared"):
        read_catboost(found)


@pytest.mark.slow
def test_damaged_cbm_files_end_in_a_sentence():
    data = (GOLDEN / "catboost-1.2.10/lossguide.cbm").read_bytes()
    generator, refused = np.random.default_rng(0), 0
    for _ in range(300):
        bad = bytearray(data)
        for place in generator.integers(0, len(data) if generator.integers(2) else 80, 2):
            bad[place] = generator.integers(256)
        try:
            read_draft(bytes(bad), ROOM)
        except (ReleaseError, Unsupported):
            refused += 1
    assert refused > 50
    for end in range(0, len(data), 97):
        with pytest.raises((ReleaseError, Unsupported)):
            read_draft(data[:end] or b"CBM1", ROOM)


def test_a_cbm_file_cannot_take_more_than_its_budget():
    data = (GOLDEN / "catboost-1.2.10/binary.cbm").read_bytes()
    with pytest.raises(ReleaseError, match="more memory"):
        cbm_booster(data, 1_000)
    with pytest.raises(ReleaseError, match="cut short"):
        cbm_booster(MAGIC + struct.pack("<I", 1 << 31) + b"x" * 100)


def test_a_tree_that_no_row_can_walk_is_refused():
    found = strict_json((GOLDEN / "catboost-1.2.10/binary.json").read_text(encoding="utf-8"))
    tree = found["oblivious_trees"][0]
    tree["splits"][1] = {**tree["splits"][0], "border": tree["splits"][0]["border"] + 1}
    tree["leaf_weights"] = [1] * 8  # a leaf above the higher border and below the lower one
    for one in found["oblivious_trees"][1:]:
        one["leaf_weights"] = [1] * 8
    with pytest.raises(ReleaseError, match="no row can reach"):
        _to_draft(json_booster(found), None)


# ------------------------------------------------------------------ XGBoost's UBJSON


@pytest.mark.sampled(7)
@pytest.mark.parametrize("file", UBJ)
def test_ubjson_says_what_json_says(file):
    draft = draft_of(file)
    same = read_xgboost(strict_json((GOLDEN / file).with_suffix(".json").read_text(encoding="utf-8")))
    assert draft.features == same.features
    assert broken(draft, file) == []
    if "classes" in file:  # three classes from base_score 0.5: only the pickle says that no rows were drawn
        assert same.rows.high is None
        assert (draft.rows.high is None) == file.endswith(".ubj")
        return
    assert draft.models == same.models
    assert (draft.rows, draft.origin.counts) == (same.rows, same.origin.counts)
    # A pickle holds the settings too: that no tree saw a sample of the rows is then no assumption.
    assert (NOT_STATED in draft.origin.notes) == file.endswith(".ubj")
    assert (XGB_NOT_WEIGHTED in draft.origin.notes) == file.endswith(".pkl")


def test_a_pickled_booster_that_drew_rows_gives_least_numbers():
    from recon.readers.stored.pickled.stored_files import open_stored

    root = open_stored((GOLDEN / "xgboost-3.2.0/half.pkl").read_bytes()).root
    data = bytes(root.get("_Booster").get("handle"))
    key = b"L" + struct.pack(">q", 9) + b"subsample" + b"SL" + struct.pack(">q", 1)
    assert data.count(key + b"1") == 1
    drawn = data.replace(key + b"1", key[:-9] + b"L" + struct.pack(">q", 3) + b"0.5")
    assert LOWER_BOUNDS in read_xgboost_ubj(drawn, ROOM).origin.notes
    assert read_xgboost_ubj(drawn, ROOM).rows.high is None


def ubj(value):
    """Return a value as UBJSON, written the plain way."""
    if value is None or isinstance(value, bool):
        return {None: b"Z", True: b"T", False: b"F"}[value]
    if isinstance(value, int):
        return b"L" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"D" + struct.pack(">d", value)
    if isinstance(value, str):
        raw = value.encode()
        return b"SL" + struct.pack(">q", len(raw)) + raw
    if isinstance(value, list):
        return b"[" + b"".join(map(ubj, value)) + b"]"
    return b"{" + b"".join(ubj(k)[1:] + ubj(v) for k, v in value.items()) + b"}"


def test_ubjson_of_every_kind():
    value = {"a": [1, -2.5, None, True, "ü"], "b": {"c": [], "d": {}}, "": "x" * 300}
    assert read_ubjson(ubj(value), ROOM) == value
    assert read_ubjson(b"[$U#i\x03\x01\x02\xff", ROOM) == [1, 2, 255]
    assert read_ubjson(b"[$d#U\x02" + struct.pack(">2f", 0.5, -1), ROOM) == [0.5, -1.0]
    assert read_ubjson(b"[#i\x02i\x01Z", ROOM) == [1, None]
    assert read_ubjson(b"{#i\x01i\x01ai\x07", ROOM) == {"a": 7}
    assert read_ubjson(b"[NI\x01\x00Nl\x00\x00\x00\x01NCx]", ROOM) == [256, 1, "x"]


@pytest.mark.parametrize("data", [
    b"", b"x", b"[", b"{", b"[i", b"Si", b"Si\xff", b"SL" + b"\x7f" * 8, b"[$U#L" + b"\x7f" * 8, b"[$Z#L" + b"\x7f" * 8,
    b"[$[#i\x01", b"[$U", b"[#d\x00\x00\x00\x00", b"i\x01i", b"{i\x01ai\x01i\x01ai\x01}", b"Si\x01\xff",
    b"[" * (DEEPEST + 2) + b"]" * (DEEPEST + 2), b"[#l\x7f\xff\xff\xff" + b"Z" * 10,
])  # fmt: skip
def test_broken_ubjson_is_refused(data):
    with pytest.raises(ReleaseError, match="UBJSON"):
        read_ubjson(data, ROOM)


def test_ubjson_keeps_its_budget():
    with pytest.raises(ReleaseError, match="more memory"):
        read_ubjson(b"[" + b"Z" * 100_000 + b"]", 1_000_000)
    with pytest.raises(ReleaseError, match="more memory"):
        read_ubjson(b"[$U#l\x00\x01\x86\xa0" + b"\x00" * 100_000, 1_000_000)


def test_damaged_ubjson_ends_in_a_sentence():
    data = (GOLDEN / "xgboost-3.2.0/categories.ubj").read_bytes()
    generator, refused = np.random.default_rng(0), 0
    for _ in range(200):
        bad = bytearray(data)
        for place in generator.integers(0, len(data), 3):
            bad[place] = generator.integers(256)
        try:
            read_draft(bytes(bad), ROOM)
        except (ReleaseError, Unsupported):
            refused += 1
    assert refused > 20
