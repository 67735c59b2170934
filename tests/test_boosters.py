"""LightGBM and XGBoost files of the real libraries: their counts, and that the training data satisfies all of it."""

from __future__ import annotations

import copy
import json
import math
import random
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from encoders.domain.domain import Domain
from encoders.domain.values import Test
from encoders.encode.encoder import encode
from encoders.models.models import Boosting, Forest, Table, Tree
from recon.readers.formats.boosters.lightgbm.file import looks_like_lightgbm_text, text_booster
from recon.readers.formats.boosters.lightgbm.model import read_lightgbm, read_lightgbm_text
from recon.readers.formats.boosters.lightgbm.rates import Objective, RateCandidates, Round, class_counts
from recon.readers.formats.boosters.pickled import read as read_saved
from recon.readers.formats.boosters.shared import (
    BoosterTree,
    RoundMoves,
    _narrowed,
    different,
    first_of_other_rows,
    integer_in,
    one_unknown,
    opposite,
    split_of,
    sums,
)
from recon.readers.formats.boosters.xgboost.file import StoredXGBoostTree, XGBoostFile, sizes
from recon.readers.formats.boosters.xgboost.file import class_counts as xgb_counts
from recon.readers.formats.boosters.xgboost.model import (
    _same_rows,
    _statements,
    _without_copies,
    looks_like_xgboost_ubj,
    read_xgboost,
    read_xgboost_dump,
)
from recon.readers.formats.drafts.binding import Binder
from recon.readers.formats.release.reading import strict_json
from recon.readers.frames.world import violations
from recon.readers.stored.pickled.stored_files import open_stored
from solvers.foundation.errors import ReleaseError, Unsupported

GOLDEN = Path(__file__).parent / "golden" / "models"
INDEX = {e["file"]: e for e in json.loads((GOLDEN / "index.json").read_text(encoding="utf-8"))}
LIGHT = [f for f in INDEX if f.startswith("lightgbm") and f.endswith((".txt", ".json"))]
SAVED = [f for f in INDEX if f.startswith("lightgbm") and f.endswith(".pkl")]
XGB = [f for f in INDEX if f.startswith("xgboost") and f.endswith(".json") and ".dump" not in f]
DUMPS = [f for f in INDEX if f.startswith("xgboost") and f.endswith(".dump.json")]


def text_of(file):
    return (GOLDEN / file).read_text(encoding="utf-8")


def data_of(file):
    """Return the training data, the label as the codes 0, 1, ... that the model saw."""
    frame = pd.read_csv(GOLDEN / INDEX[file]["data"])
    label = frame.columns[-1]
    codes = {v: i for i, v in enumerate(sorted(frame[label].unique()))}
    return frame.assign(**{label: frame[label].map(codes)})


def broken(draft, frame):
    domain = Domain.from_frame(frame, label=frame.columns[-1])
    release = encode(domain, draft.bound(Binder(draft, domain)), draft.rows)
    assert release.rows.low <= len(frame)
    return violations(release, frame)


def trees_of(draft):
    first = draft.models[0]
    return first.trees if isinstance(first, Boosting | Forest) else (first,)


def leaf_counts(tree):
    return sorted(n.support.counts for n in tree.nodes if n.condition is None)


def test_there_are_golden_files():
    assert len(LIGHT) >= 8
    assert len(SAVED) >= 4
    assert len(XGB) >= 5
    assert len(DUMPS) >= 5


@pytest.mark.parametrize("file", LIGHT)
def test_lightgbm_files_say_what_the_library_says(file):
    text, truth = text_of(file), INDEX[file]["truth"]
    draft = read_lightgbm_text(text) if file.endswith(".txt") else read_lightgbm(strict_json(text))
    assert broken(draft, data_of(file)) == []
    assert draft.rows.low == draft.rows.high == INDEX[file]["rows"]
    assert "exact" in draft.origin.counts
    classes = len(truth["classes"])
    for t, (tree, held) in enumerate(zip(trees_of(draft), truth["trees"], strict=True)):
        if classes == 2 and t == 0:
            assert leaf_counts(tree) == sorted(tuple(c) for c in held["counts"])
        else:
            found = sorted(n.support.count for n in tree.nodes if n.condition is None)
            assert found == sorted(sum(c) for c in held["counts"])
    if classes > 2:
        table = draft.models[1]
        assert isinstance(table, Table)
        for t in range(classes):
            found = sorted(f.count for f in table.statements if f.name.startswith(f"tree {t},"))
            assert found == sorted(c[t] for c in truth["trees"][t]["counts"])


@pytest.mark.parametrize("file", SAVED)
def test_pickled_lightgbm_models_name_their_classes(file):
    thing = open_stored((GOLDEN / file).read_bytes()).root
    draft = read_saved(thing, "pickle")
    assert list(draft.classes) == INDEX[file]["truth"]["classes"]
    assert broken(draft, pd.read_csv(GOLDEN / INDEX[file]["data"])) == []


@pytest.mark.parametrize("file", XGB)
def test_xgboost_models_say_what_the_library_says(file):
    draft, truth = read_xgboost(strict_json(text_of(file))), INDEX[file]["truth"]
    assert broken(draft, data_of(file)) == []
    assert draft.rows.low == INDEX[file]["rows"]
    if isinstance(draft.models[0], Table):  # three classes from base_score 0.5: nothing tells whether rows were drawn
        assert draft.rows.high is None
        assert "classes" in file
        return
    assert draft.rows.high == INDEX[file]["rows"]
    tree, held = trees_of(draft)[0], truth["trees"][0]["counts"]
    if len(held[0]) == 2:
        found = [n.support for n in tree.nodes if n.condition is None]
        assert sorted(s.total for s in found) == sorted(sum(c) for c in held)
        if "exact" in draft.origin.counts:
            assert sorted(s.counts for s in found) == sorted(tuple(c) for c in held)
    for t, tree in enumerate(trees_of(draft)[:1] if isinstance(draft.models[0], Boosting) else trees_of(draft)):
        sizes_found = sorted(n.support.total for n in tree.nodes if n.condition is None)
        assert sizes_found == sorted(sum(c) for c in truth["trees"][t]["counts"])


def test_most_xgboost_models_give_counts_per_class():
    exact = [f for f in XGB if "exact" in read_xgboost(strict_json(text_of(f))).origin.counts]
    assert len(exact) >= 3, exact


@pytest.mark.parametrize("file", DUMPS)
def test_xgboost_dumps_say_the_truth_or_nothing(file):
    if any(word in file for word in ("classes", "estimated")):
        with pytest.raises(Unsupported, match="save_model"):
            read_xgboost_dump(strict_json(text_of(file)))
        return
    draft = read_xgboost_dump(strict_json(text_of(file)))
    frame = data_of(file)
    if any(frame.dtypes.iloc[:-1].astype(str).isin(["object", "str"])):
        return  # a dump has codes of categories, not their names
    assert "base_score" in str(draft.origin.notes)
    assert broken(draft, frame) == []


def test_xgboost_forms_that_are_not_read_say_what_to_do():
    for file in (f for f in INDEX if f.endswith(".ubj") and f.startswith("xgboost")):
        assert looks_like_xgboost_ubj((GOLDEN / file).read_bytes()[:64])
    thing = open_stored((GOLDEN / "xgboost-3.2.0/half.pkl").read_bytes()).root
    thing.get("_Booster").state["handle"] = b"CONFIG-offset:" + b"binf" * 20  # before XGBoost 1.6
    with pytest.raises(Unsupported, match="save_model"):
        read_saved(thing, "pickle")


# ------------------------------------------------------------------ arithmetic, from outside


def lightgbm_leaves(y, groups, rate, ridge, averaged=True):
    """Return the first tree of LightGBM by its definition, in float32 gradients."""
    n, p = len(y), y.mean() if averaged else 0.5
    start = np.log(p / (1 - p))
    gradient = (np.float32(p) - y.astype(np.float32)).astype(np.float64)
    hessian = np.full(n, np.float32(p * (1 - p)), dtype=np.float64)
    rows = np.bincount(groups)
    total = np.bincount(groups, hessian)
    value = start - rate * np.bincount(groups, gradient) / (total + ridge)
    none = np.zeros(len(rows), dtype=bool)
    return Round(rows, total, value, none, float(f"{start:.6g}"), 1.0 if averaged else rate)


@pytest.mark.parametrize("seed", range(40))
def test_lightgbm_counts_are_those_that_made_the_leaves(seed):
    rng = np.random.default_rng(seed)
    n, leaves = int(rng.integers(20, 3_000)), int(rng.integers(2, 8))
    groups = np.concatenate([np.arange(leaves), rng.integers(0, leaves, n - leaves)])
    y = (rng.random(n) < rng.random(leaves)[groups]).astype(float)
    if not 0 < y.sum() < n:
        return
    rate, ridge = float(rng.choice([0.1, 0.05, 0.3, 1.0])), float(rng.choice([0, 1, 2.5]))
    truth = tuple(np.bincount(groups, y).astype(int).tolist())
    tree = lightgbm_leaves(y, groups, rate, ridge)
    assert class_counts(tree, Objective(), RateCandidates((rate,), (ridge,), (ridge,), True)) == truth
    # without parameters: the right counts or none, whatever lambda was
    assert class_counts(tree, Objective(), RateCandidates((rate,))) in (truth, None)
    assert class_counts(tree, Objective(), RateCandidates(())) in (truth, None)


def test_lightgbm_weights_and_samples_are_not_taken_for_counts():
    rng = np.random.default_rng(1)
    y, groups = (rng.random(200) < 0.4).astype(float), rng.integers(0, 4, 200)
    tree = lightgbm_leaves(y, groups, 0.1, 0)
    heavier = replace(tree, weight=tree.weight * rng.uniform(0.9, 1.1, 4))
    assert class_counts(heavier, Objective(), RateCandidates((0.1,), sure=True)) is None
    sample = rng.random(200) < 0.7  # the values of a sample, the starting score of all rows
    drawn = lightgbm_leaves(y[sample], groups[sample], 0.1, 0)
    mixed = replace(drawn, start=tree.start, value=drawn.value - drawn.start + tree.start)
    assert class_counts(mixed, Objective(), RateCandidates((0.1,), sure=True)) is None


def xgboost_stump(y, groups, eta, ridge, share):
    """Return a first tree of XGBoost as a chain of splits, by its definition, in float32."""
    rows, ones = np.bincount(groups), np.bincount(groups, y)
    h = np.float32(share * (1 - share))
    grown, cover, weight = BoosterTree(), [], []

    def figures(part):
        n, k = rows[part].sum(), ones[part].sum()
        total = float(n) * float(h)
        return np.float32(total), np.float32(-(n * share - k) / (total + ridge))

    leaves = len(rows)
    for j in range(leaves - 1):
        grown.splits.append(split_of("x", Test(high=j + 0.5, high_open=True), True))
        grown.children.append((2 * j + 1, 2 * j + 2))
        total, w = figures(np.arange(leaves) >= j)
        cover.append(float(total)), weight.append(float(w))
        total, w = figures(np.arange(leaves) == j)
        grown.splits.append(None)
        grown.children.append((-1, -1))
        cover.append(float(total)), weight.append(float(np.float32(eta) * w))
    total, w = figures(np.arange(leaves) == leaves - 1)
    grown.splits.append(None)
    grown.children.append((-1, -1))
    cover.append(float(total)), weight.append(float(np.float32(eta) * w))
    return StoredXGBoostTree("tree", 0, grown, cover, weight), rows, ones.astype(int)


@pytest.mark.parametrize("seed", range(40))
def test_xgboost_counts_are_those_that_made_the_leaves_or_none(seed):
    rng = np.random.default_rng(seed)
    n, leaves = int(rng.integers(20, 600)), int(rng.integers(2, 8))
    groups = np.concatenate([np.arange(leaves), rng.integers(0, leaves, n - leaves)])
    y = (rng.random(n) < rng.random(leaves)[groups]).astype(float)
    share = float(np.float32(rng.choice([0.5, max(0.05, min(0.95, y.mean()))])))
    tree, rows, ones = xgboost_stump(y, groups, float(rng.choice([0.3, 0.1, 1])), float(rng.choice([0, 1, 3])), share)
    cover = sizes(tree, share, 1.0)
    assert [int(cover.rows[i]) for i in tree.grown.leaves] == rows.tolist()
    found = xgb_counts(tree, cover)
    if found is not None:
        assert [found[i] for i in tree.grown.leaves] == ones.tolist()


@pytest.mark.parametrize(
    ("covers", "share", "factor"),
    [
        ([1.3, 0.55, 0.75], 0.5, 1.0),  # 5.2 rows, 2.2 and 3
        ([1.5, 0.5, 0.75], 0.5, 1.0),  # 6 rows, 2 and 3
        ([0.5, 0.5, 0.0], 0.5, 1.0),  # no row in a leaf
        ([0.25, 0.5, -0.25], 0.5, 1.0),
        ([5.0, 2.0, 3.0], 1.0, 2.0),  # nobody is of another class: every hessian is 0
        ([300_000.0, 150_000.0, 150_000.0], 0.5, 1.0),  # float32 numbers of so many rows do not tell one from the next
    ],
)
def test_covers_that_are_no_numbers_of_rows_are_none(covers, share, factor):
    tree, rows, _ = xgboost_stump(np.array([1.0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 1]), 0.3, 1.0, 0.5)
    assert (sizes(tree, 0.5, 1.0).rows[[1, 2]] == rows).all()
    with np.errstate(all="raise"):
        assert sizes(replace(tree, cover=covers), share, factor) is None


@pytest.mark.parametrize("base", ["0", "1", "-1", "1e-50", "0.999999999"])
def test_a_base_score_that_is_no_share_in_single_precision_is_refused(base):
    found = strict_json(text_of("xgboost-3.2.0/half.json"))
    found["learner"]["learner_model_param"]["base_score"] = base
    with pytest.raises(Unsupported, match="is not a share"):
        read_xgboost(found)


ROWS, ONES = [4, 6, 10, 14], [1, 3, 3, 11]  # of leaves


def chains(*groups):
    """Return first trees of XGBoost of these groups over these leaves, and their covers."""
    y = np.concatenate([[1.0] * k + [0.0] * (n - k) for n, k in zip(ROWS, ONES, strict=True)])
    tree, _, _ = xgboost_stump(y, np.repeat(np.arange(len(ROWS)), ROWS), 0.3, 1.0, 0.5)
    return [(t, replace(tree, group=group)) for t, group in enumerate(groups)], [sizes(tree, 0.5, 1.0)] * len(groups)


def below(tree, of_leaves):
    return sums(tree.grown, dict(zip(tree.grown.leaves, of_leaves, strict=True)))


def test_even_numbers_of_rows_may_be_copies_unless_those_of_the_classes_are_odd():
    """Of one tree of two classes the leaves have 3 and 1 rows, and so on; of trees of several classes 4, 6, 10, 14."""
    trees, covers = chains(0)
    tree = trees[0][1]
    assert _without_copies(trees, covers, (0, 1)) == ([below(tree, ROWS)], "")
    trees, covers = chains(0, 1, 2)
    found, why = _without_copies(trees, covers, (0, 1, 2))
    assert found == [below(tree, [n // 2 for n in ROWS])] * 3
    assert why


@pytest.mark.parametrize("drawn", [False, True])
def test_what_is_stated_of_first_trees(drawn):
    trees, covers = chains(0)
    tree = trees[0][1]
    rows, ones, half = below(tree, ROWS), below(tree, ONES), below(tree, [n // 2 for n in ROWS])
    (model,), kinds, _, (counted,) = _statements(trees, covers, "y", (0, 1), None, False)
    counts = [(n - k, k) for n, k in zip(rows, ones, strict=True)]
    assert ([node.support.counts for node in model.nodes], kinds) == (counts, ("exact",))
    assert (counted.rows, counted.ones, counted.value, counted.most) == (tuple(rows), tuple(ones), 1, None)
    (model,), _, _, (counted,) = _statements(trees, covers, "y", (), None, False)  # of no classes
    assert ([node.support.total for node in model.nodes], counted.ones) == (rows, None)
    (table,), kinds, _, (counted,) = _statements(trees, covers, "y", (0, 1), [half], drawn)
    most = [None if drawn else n for n in ROWS]
    assert sorted((one.low, one.high) for one in table.statements) == [
        (n // 2, m) for n, m in zip(ROWS, most, strict=True)
    ]
    assert (counted.rows, counted.most, kinds) == (tuple(half), None if drawn else tuple(rows), ("size",))


@pytest.mark.parametrize(("by", "kept"), [(1.2 / 11, 3), (1.2 / 10, 3), (1.2 / 5, 2), (-0.1, 2)])
def test_roots_of_squared_error_move_by_what_leaves_add(by, kept):
    """Leaves of 4 and 6 rows: 1.2 and -1.2 leave the root where it is; then 1.2 over 10 rows and lambda moves it."""
    tree, _, _ = xgboost_stump(np.array([1.0] * 10), np.repeat([0, 1], [4, 6]), 0.3, 1.0, 0.5)
    weights = [0.5, 0.3, -0.2], [0.5, 0.3, 0.0], [0.5 - by, 0.1, 0.1]
    trees = [replace(tree, cover=[10.0, 4.0, 6.0], weight=one) for one in weights]
    booster = XGBoostFile("", ["x"], True, "reg:squarederror", 0, (0.0,), 1, trees)
    assert _same_rows(booster, list(enumerate(trees)), [sizes(one, None, 1.0) for one in trees]) == kept


def test_a_first_round_without_splits_and_dumps_that_prove_nothing_are_refused():
    found = strict_json(text_of("xgboost-3.2.0/half.json"))
    for tree in found["learner"]["gradient_booster"]["model"]["trees"]:
        tree |= {key: value[:1] for key, value in tree.items() if isinstance(value, list) and value}
        tree |= {"left_children": [-1], "right_children": [-1]}
    with pytest.raises(Unsupported, match="no tree of the first round has a split"):
        read_xgboost(found)
    dump = strict_json(text_of("xgboost-3.2.0/half.dump.json"))
    assert read_xgboost_dump(dump).origin.counts == ("exact",)
    with pytest.raises(Unsupported, match="does not prove what its covers count"):
        read_xgboost_dump(dump[:1])  # no second root tells that no rows were drawn
    todo, leaves = [dump[0]], []
    while todo:
        node = todo.pop()
        todo += node.get("children", [])
        leaves += [node] if "leaf" in node else []
    for k, leaf in enumerate(leaves):
        leaf["leaf"] *= 1 + 0.01 * k
    with pytest.raises(Unsupported, match="does not prove what its covers count"):
        read_xgboost_dump(dump)


def test_figures_that_rounding_leaves_open_give_no_counts():
    assert [integer_in(2.9, 0.2), integer_in(2.7, 0.2), integer_in(-1.0, 0.1)] == [3, None, -1]
    for value, error in ((3.0, 0.25), (3.0, math.nan), (math.inf, 0.1), (math.nan, 0.1)):
        with pytest.raises(ArithmeticError, match="do not tell one count from the next"):
            integer_in(value, error)
    rows, none = np.array([2, 3]), np.zeros(2)
    found = one_unknown(none, np.array([0.1, 0.2]), rows, none + 1e-6)
    assert [one.tolist() for one in found] == [[1, 2]]
    with pytest.raises(ArithmeticError, match="too many counts to try"):
        one_unknown(none, np.array([0.1, 0.2]), np.array([3_000_000, 3_000_000]), none)
    assert different(np.array([[1.0, 2.5], [2.0, 3.0], [2.0, 3.0], [3.0, 3.0]]), rows, none)[0].tolist() == [2, 3]
    with pytest.raises(ArithmeticError, match="do not tell one count from the next"):
        different(np.array([[1.0, 2.0]]), rows, np.array([0.1, 0.25]))


def test_rounds_whose_sums_are_not_bounded_tell_nothing():
    """Of squared error: sums of gradients 5, then 5 + 1 * 2 by one leaf of hessian 2 that adds 1."""
    step, hessian = np.array([1.0]), np.array([2.0])
    rounds = [RoundMoves(before, 0.0, 0.0, step, hessian, 0.0) for before in (5.0, 7.0, 9.0)]
    assert first_of_other_rows(rounds, (0.0, 0.0)) is None
    assert first_of_other_rows([*rounds, replace(rounds[0], before=20.0)], (0.0, 0.0)) == 3
    open_ = [rounds[0], replace(rounds[1], before=30.0, off=math.inf), rounds[2], replace(rounds[2], before=11.0)]
    assert first_of_other_rows(open_, (0.0, math.inf)) is None


def test_sides_of_a_split_are_complements():
    for test in (Test(high=3), Test(high=3, high_open=True, missing=True), Test(missing=True), Test(), Test(low=2)):
        other = opposite(test, True)
        for value in (None, 1, 2, 3, 4):
            assert passes(test, value) != passes(other, value)
    assert opposite(Test(values=(1,)), True) is None
    path = _narrowed((("x", Test(high=9, missing=True)),), "x", Test(low=2, low_open=True, missing=True))
    assert path == (("x", Test(low=2, high=9, low_open=True, missing=True)),)


@pytest.mark.parametrize("default_left", [False, True])
@pytest.mark.parametrize(("threshold", "low", "high"), [(2.0, 0, 4), (1e-35, 0, 4), (-2.0, -4, 0), (-1.0, -4, -1)])
def test_zeros_that_count_as_missing_go_the_default_way(default_left, threshold, low, high):
    """The decision of tree.h: whatever is within 1e-35 of zero, or missing, goes the default way, else by comparing."""
    sides = [{f"leaf_{what}": k + 3 for what in ("value", "weight", "count")} for k in (0, 1)]
    node = {"split_feature": 0, "threshold": threshold, "decision_type": "<=", "default_left": default_left,
            "missing_type": "Zero", "left_child": sides[0], "right_child": sides[1]}  # fmt: skip
    infos = {"x": {"min_value": low, "max_value": high, "values": []}}
    found = {"feature_names": ["x"], "feature_infos": infos, "objective": "regression",
             "tree_info": [{"shrinkage": 1, "tree_structure": node}]}  # fmt: skip
    (table,) = read_lightgbm(found).models
    said = {one.low: one.condition[0][1] for one in table.statements}
    assert 3 in said or 4 in said
    for value in (*range(low, high + 1), None):
        goes_left = default_left if not value else value <= threshold
        for rows, left in ((3, True), (4, False)):
            if rows in said and not (value is None and said[rows].values is None and not said[rows].missing):
                assert passes(said[rows], value) == (goes_left is left)


def test_zeros_that_count_as_missing_inside_a_range_are_refused():
    found = strict_json(text_of("lightgbm-4.7.0/binary.json"))
    node = found["tree_info"][0]["tree_structure"]
    name = found["feature_names"][node["split_feature"]]
    found["feature_infos"][name] = {"min_value": -5, "max_value": 99, "values": []}
    for threshold, left in ((2.5, False), (-2.5, True)):
        node.update(missing_type="Zero", threshold=threshold, default_left=left)
        with pytest.raises(Unsupported, match="they lie inside its range"):
            read_lightgbm(found)


def test_ranges_and_categories_that_a_text_of_lightgbm_names():
    text = text_of("lightgbm-4.7.0/binary.txt")
    (line,) = (one for one in text.splitlines() if one.startswith("feature_infos="))
    names = text_booster(text).names
    said = {"[0:5]": (0.0, 5.0), "[-1.5:2e3]": (-1.5, 2000.0), "0:2:1": (0, 2, 1), "none": None, "[-inf:inf]": None,
            "[0:1e308]": None, "[nan:1]": None, "[1]": None, "a:b": None}  # fmt: skip
    for told, found in said.items():
        other = text.replace(line, "feature_infos=" + " ".join([told, *["none"] * (len(names) - 1)]))
        assert text_booster(other).infos == ({} if found is None else {names[0]: found})


def passes(test, value):
    if value is None:
        return test.missing
    if test.bare:
        return not test.missing
    below = test.high is None or value < test.high or (value == test.high and not test.high_open)
    return below and (test.low is None or value > test.low or (value == test.low and not test.low_open))


# ------------------------------------------------------------------ hostile input


def mutated_text(text, rng):
    data = list(text)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data))
        how = rng.randrange(4)
        if how == 0:
            data[at] = rng.choice("0123456789-. =[]:e\n")
        elif how == 1:
            del data[at : at + rng.randint(1, 60)]
        elif how == 2:
            data[at:at] = rng.choice(["-1", "1e308", "nan", "9" * 400, " ", "\n", "=", "inf"])
        else:
            del data[rng.randrange(len(data)) :]
        if not data:
            data = list("tree\nnum_class=1")
    return "".join(data)


JUNK = [
    None,
    -1,
    0,
    1,
    2**70,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x",
    "1e999",
    [],
    {},
    [[]],
    True,
    "[]",
    "0||9",
    10**400,
]


def mutated_json(found, rng):
    found = copy.deepcopy(found)
    for _ in range(rng.randint(1, 3)):
        at, steps = found, rng.randint(1, 14)
        for _ in range(steps):
            if isinstance(at, dict) and at:
                key = rng.choice(list(at))
            elif isinstance(at, list) and at:
                key = rng.randrange(len(at))
            else:
                break
            if rng.random() < 0.2 or not isinstance(at[key], (dict, list)):
                if rng.random() < 0.3:
                    del at[key]
                else:
                    at[key] = rng.choice(JUNK)
                break
            at = at[key]
    return found


def only_refuses(read, given):
    begun, said = time.process_time(), "read"
    try:
        draft = read(given)
        assert draft.models
        list(draft.tests())
    except (ReleaseError, Unsupported) as error:
        said = str(error)
    assert 0 < len(said) < 600
    assert time.process_time() - begun < 30


def fuzz(rounds):
    rng = random.Random(5)
    texts = [text_of(f) for f in LIGHT if f.endswith(".txt")]
    trees = [(read_lightgbm, strict_json(text_of(f))) for f in LIGHT if f.endswith(".json")]
    trees += [(read_xgboost, strict_json(text_of(f))) for f in XGB]
    trees += [(read_xgboost_dump, strict_json(text_of(f))) for f in DUMPS]
    for _ in range(rounds):
        only_refuses(read_lightgbm_text, mutated_text(rng.choice(texts), rng))
        read, found = rng.choice(trees)
        only_refuses(read, mutated_json(found, rng))


@pytest.mark.slow
def test_mutated_boosters_are_refused_or_read():
    fuzz(300)


@pytest.mark.long
def test_many_mutated_boosters_are_refused_or_read():
    fuzz(10_000)


def test_cycles_and_foreign_files_are_refused():
    text = text_of(next(f for f in LIGHT if f.endswith("binary.txt")))
    line = next(x for x in text.splitlines() if x.startswith("left_child="))
    with pytest.raises(ReleaseError, match="no tree"):
        read_lightgbm_text(text.replace(line, "left_child=" + " ".join("0" for _ in line.split())))
    for found in ({}, [], {"learner": 3}, {"tree_info": 1, "feature_names": 2}, [{"nodeid": 0}], None):
        for read in (read_xgboost, read_xgboost_dump, read_lightgbm):
            with pytest.raises((ReleaseError, Unsupported)):
                read(found)
    assert not looks_like_lightgbm_text("treetop")
    with pytest.raises(ReleaseError):
        read_lightgbm_text("tree of life")
    tree = trees_of(read_lightgbm_text(text))[0]
    assert isinstance(tree, Tree)
