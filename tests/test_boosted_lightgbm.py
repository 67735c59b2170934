"""LightGBM's leaf values as sums of gradients: files of the real library, against its arithmetic in plain numpy."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from encoders.domain.domain import Domain
from encoders.domain.values import Test
from encoders.encode.encoder import encode
from encoders.models.models import Boosting, Forest
from recon.readers.formats.boosters.lightgbm.file import text_booster
from recon.readers.formats.boosters.lightgbm.model import LightGBMFeatures, _grow, read_lightgbm, read_lightgbm_text
from recon.readers.formats.boosters.lightgbm.rates import (
    EPSILON,
    MORE,
    UNIT,
    FirstLeaf,
    NumberSpan,
    Sizes,
    _by_pairs,
    _common,
    _significant,
    digits,
    errors,
    rate_of,
)
from recon.readers.formats.boosters.lightgbm.sums import _odd_parameter, _score_ranges, _snapped
from recon.readers.formats.boosters.pickled import read as read_saved
from recon.readers.formats.boosters.shared import BoosterTree, split_of
from recon.readers.formats.drafts.binding import Binder
from recon.readers.stored.pickled.stored_files import open_stored
from solvers.foundation.errors import Unsupported
from solvers.leaf_values.combining import interval_use
from tests.boosted_cases import true_points

HERE = Path(__file__).parent / "golden" / "boosted" / "lightgbm-4.7.0"
ROWS = pd.read_csv(HERE / "rows.csv")
BINARY = ("defaults.txt", "ridge.txt", "ridge.json", "goss.txt", "categories.txt", "continued.txt", "few.pkl")
ODD = {
    "lambda_l1: 0.5": "lambda_l1",
    "max_delta_step: 0.3": "max_delta_step",
    "path_smooth: 1": "path_smooth",
    "use_quantized_grad: 1": "use_quantized_grad",
    "is_unbalance: 1": "is_unbalance",
    "scale_pos_weight: 2": "scale_pos_weight",
    "boosting: dart": "dart",
    "device_type: gpu": "gpu",
    "num_machines: 2": "num_machines",
    "forcedsplits_filename: splits.json": "forcedsplits_filename",
    "monotone_constraints: 1,0,0,0,0": "monotone_constraints",
}


def text_of(file):
    return (HERE / file).read_text(encoding="utf-8")


def labelled(file):
    """Return the rows with the label as the model names its values: as numbers but in pickles."""
    label = "level" if file == "classes.txt" else "again"
    frame = ROWS.drop(columns=["again", "level"]).assign(label=ROWS[label])
    if file.endswith(".pkl"):
        return frame
    order = sorted(frame["label"].unique())
    return frame.assign(label=frame["label"].map(order.index))


@pytest.mark.parametrize("how", ["dart", "linear"])
def test_json_of_dart_and_of_linear_trees_gives_no_sums_of_gradients(how):
    found = json.loads(text_of("ridge.json"))
    assert isinstance(read_lightgbm(found).models[0], Boosting)
    found["tree_info"][3]["shrinkage"] *= 0.8 if how == "dart" else 1
    text = json.dumps(found)
    if how == "linear":
        text = text.replace('"leaf_weight":', '"leaf_const": 0, "leaf_features": [], "leaf_coeff": [], "leaf_weight":')
    draft = read_lightgbm(json.loads(text))
    assert not any(isinstance(m, Boosting) for m in draft.models)
    assert any("dart" in u.why if how == "dart" else u.what == "its leaf values" for u in draft.origin.unused)
    assert draft.rows.low == len(ROWS)


def draft_of(file, change=lambda text: text):
    if file.endswith(".pkl"):
        return read_saved(open_stored((HERE / file).read_bytes()).root, "pickle")
    text = change(text_of(file))
    return read_lightgbm(json.loads(text)) if file.endswith(".json") else read_lightgbm_text(text)


def released(draft, frame):
    domain = Domain.from_frame(frame, label="label")
    return encode(domain, draft.bound(Binder(draft, domain)), draft.rows)


def parts(draft, frame):
    """Return per tree the used parts of the intervals for the true rows."""
    return interval_use(*true_points(released(draft, frame), frame))


def rounded(decimals):
    def change(text):
        def numbers(found):
            return f"{found[1]}=" + " ".join(f"{float(x):.{decimals}f}" for x in found[2].split())

        return re.sub(r"^(leaf_value|leaf_weight)=(.*)$", numbers, text, flags=re.MULTILINE)

    return change


# ------------------------------------------------------------------ files of the library


@pytest.mark.parametrize("file", [*BINARY, "classes.txt"])
def test_the_training_rows_are_inside_every_figure(file):
    draft, frame = draft_of(file), labelled(file)
    model = draft.models[0]
    assert isinstance(model, Boosting)
    assert len(model.trees) == len(model.sums)
    assert max(part.max() for part in parts(draft, frame) if len(part)) <= 1
    width = np.concatenate([s.high - s.low for s in model.sums])
    assert len(width) > 50
    assert (width == 0).mean() > 0.9  # sums of float32 numbers are multiples of one power of two


@pytest.mark.parametrize("file", ["defaults.txt", "classes.txt"])
def test_one_row_with_another_label_is_outside(file):
    draft, frame = draft_of(file), labelled(file)
    frame.loc[7, "label"] = 1 - min(1, frame.loc[7, "label"])
    assert max(part.max() for part in parts(draft, frame)) > 1e4


def leaves_of(tree, x):
    """Return the leaf of every row in a stored tree of numeric splits, by its definition."""
    at = np.zeros(len(x), dtype=int)
    feature, threshold = np.array(tree.feature), np.array(tree.threshold)
    left, right = np.array(tree.left), np.array(tree.right)
    for _ in range(len(feature)):
        inner = at >= 0
        here = np.where(inner, at, 0)
        below = x[np.arange(len(x)), feature[here]] <= threshold[here]
        at = np.where(inner, np.where(below, left[here], right[here]), at)
    return -1 - at


def test_figures_are_the_sums_of_the_librarys_own_gradients_to_the_last_bit():
    booster, model = text_booster(text_of("defaults.txt")), draft_of("defaults.txt").models[0]
    columns, frame = LightGBMFeatures.of(booster), labelled("defaults.txt")
    x, y = frame.iloc[:, :-1].to_numpy(dtype=float), frame["label"].to_numpy()
    share = y.mean()
    score = np.full(len(y), math.log(share / (1 - share)))
    assert model.start == (score[0],)
    exact = 0
    for t, (tree, sums) in enumerate(zip(booster.trees, model.sums, strict=True)):
        sign = 2 * y - 1
        response = -sign / (1 + np.exp(sign * score))
        gradient = response.astype(np.float32).astype(float)
        hessian = (np.abs(response) * (1 - np.abs(response))).astype(np.float32).astype(float)
        leaf = leaves_of(tree, x)
        grown = _grow(tree, columns)
        for what, node, low, high in zip(sums.what, sums.node, sums.low, sums.high, strict=True):
            mine = leaf == grown.children[node][0]
            found = math.fsum((gradient if what == "value" else hessian)[mine])
            assert low <= found <= high
            exact += low == found == high
        value = np.array(tree.value)[leaf]
        score = value if t == 0 else score + value
    assert exact > 0.99 * sum(map(len, (s.low for s in model.sums)))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("decimals", [8, 6, 5])
def test_rounded_values_are_read_with_the_width_of_their_rounding(decimals):
    draft, frame = draft_of("defaults.txt", rounded(decimals)), labelled("defaults.txt")
    model = draft.models[0]
    assert isinstance(model, Boosting)
    half = 0.5 * 10.0**-decimals
    assert len(model.sums) * half <= model.gradients.score_error <= len(model.sums) * half * 1.001
    found = parts(draft, frame)
    assert max(part.max() for part in found) <= 1
    assert max(part.max() for part in found) > 1e-3  # the widths are no more than what rounding needs, by far
    frame.loc[7, "label"] = 1 - frame.loc[7, "label"]
    assert max(part.max() for part in parts(draft, frame)) > 1


def test_weights_are_seen_in_the_first_round_and_leaf_values_left_out():
    draft = draft_of("weights.txt")
    assert isinstance(draft.models[0], Forest)
    assert "leaf values are not used: the rows of each class in the first round are not proved" in str(
        draft.reader_notes
    )


@pytest.mark.parametrize("line", ODD)
def test_parameters_that_change_leaf_values_are_named(line):
    key = line.partition(":")[0]
    draft = draft_of("ridge.txt", lambda text: re.sub(rf"\[{key}: .*\]", f"[{line}]", text))
    assert isinstance(draft.models[0], Forest)
    assert "leaf values are not used" in str(draft.reader_notes)
    scaled = key in {"boosting", "device_type", "num_machines", "forcedsplits_filename"}  # later, or not at all
    assert (draft.classes, draft.origin.counts) == (((0, 1), ("exact", "size")) if scaled else (None, ("size",)))
    booster = text_booster(re.sub(rf"\[{key}: .*\]", f"[{line}]", text_of("ridge.txt")))
    assert ODD[line] in _odd_parameter(booster)


@pytest.mark.parametrize("what", ["leaf_value=1e308", "leaf_weight=-1e308", "leaf_weight=1e300", "shrinkage=0"])
def test_figures_without_sense_are_left_out(what):
    key, _, number = what.partition("=")

    def change(text):
        last = text.rindex(f"{key}=")
        line = text[last : text.index("\n", last)]
        parts = line.partition("=")[2].split()
        return text.replace(line, f"{key}={' '.join([number, *parts[1:]])}")

    draft = draft_of("ridge.txt", change)
    assert isinstance(draft.models[0], Forest)
    assert "not a figure of training" in str(draft.reader_notes)


@pytest.mark.parametrize(
    ("old", "new", "rows", "counts"),
    [
        ("feature_names=", "average_output\nfeature_names=", None, ("size",)),  # a random forest
        ("feature_names=", "monotone_constraints=1 0 0 0 0\nfeature_names=", 500, ("size",)),
        ("[bagging_fraction: 1]\n", "[bagging_fraction: 0.5]\n[bagging_freq: 1]\n", None, ("size",)),
        ("[learning_rate: 0.123457]", "[learning_rate: 2]\n[boosting: goss]", None, ("size",)),  # from round 0 on
        ("[learning_rate: 0.123457]", "[learning_rate: 0.123457]\n[boosting: goss]", 500, ("exact", "size")),
        ("parameters:", "nothing:", 500, ("exact", "size")),  # of version 2 and before: as JSON
        ("objective=binary sigmoid:1", "objective=lambdarank", 500, ("size",)),
    ],
)
def test_what_a_file_says_of_its_training_decides_what_its_leaves_count(old, new, rows, counts):
    def change(text):
        assert old in text
        return re.sub(r"\[bagging_freq: 0\]\n", "", text).replace(old, new, 1)

    draft = draft_of("ridge.txt", change)
    assert (draft.rows.low, draft.rows.high, draft.origin.counts) == (500, rows, counts)
    assert (draft.classes is None) == ("exact" not in counts)


@pytest.mark.parametrize("path", [HERE / "ridge.json", HERE.parents[1] / "models" / HERE.name / "binary.json"])
def test_one_tree_of_json_names_neither_rate_nor_lambda(path):
    found = json.loads(path.read_text(encoding="utf-8"))
    draft = read_lightgbm(found | {"tree_info": found["tree_info"][:1]})
    assert (draft.classes, draft.rows.high) == (None, None)
    with pytest.raises(Unsupported, match="no tree of the LightGBM model has a split"):
        read_lightgbm(found | {"tree_info": [{"tree_structure": {"leaf_value": 0.5}, "shrinkage": 1}]})


@pytest.mark.parametrize("times", [1 + 1e-9, 1 + 2e-8])
def test_a_first_round_of_several_rates_gives_no_sums(times):
    """Rows of the classes are whole within some 1e-7 of them; one rate must explain the values to the last digits."""
    text = text_of("defaults.txt")
    line = next(one for one in text.splitlines() if one.startswith("leaf_value="))
    first, *more = map(float, line.partition("=")[2].split())
    start = draft_of("defaults.txt").models[0].start[0]
    draft = draft_of(
        "defaults.txt",
        lambda text: text.replace(line, "leaf_value=" + " ".join(map(repr, [start + (first - start) * times, *more]))),
    )
    assert isinstance(draft.models[0], Forest)
    assert draft.origin.counts == ("exact", "size")
    assert "one learning rate does not explain the first round's values" in str(draft.reader_notes)


def test_leaves_below_categories_that_are_not_listed_give_no_values():
    """With more than max_cat_to_onehot categories lambda is cat_l2 more: who does not know that uses other leaves."""
    infos = next(one for one in text_of("categories.txt").splitlines() if one.startswith("feature_infos="))
    parts = infos.partition("=")[2].split()
    found = {}
    for name, change in (("listed", parts), ("not", [parts[0], "none", "none", *parts[3:]])):
        draft = draft_of(
            "categories.txt", lambda text, new=change: text.replace(infos, f"feature_infos={' '.join(new)}")
        )
        assert isinstance(draft.models[0], Boosting)
        found[name] = [what.count("value") for what in (sums.what for sums in draft.models[0].sums)]
    booster = text_booster(text_of("categories.txt"))
    assert found["listed"] == [len(tree.value) for tree in booster.trees]
    below = [
        {k for node, kind in enumerate(tree.kind) if kind & 1 for k in (tree.left[node], tree.right[node]) if k < 0}
        for tree in booster.trees
    ]
    assert found["not"] == [len(tree.value) - len(mine) for tree, mine in zip(booster.trees, below, strict=True)]


def test_other_objectives_are_named():
    for objective in ("multiclassova num_class:3", "regression", "lambdarank", ""):
        booster = replace(text_booster(text_of("ridge.txt")), objective=objective)
        assert "the objective is" in _odd_parameter(booster)
    assert _odd_parameter(text_booster(text_of("ridge.txt"))) is None


def without_inner(text):
    """Return a model file without the counts of inner nodes, which other leaves would contradict."""
    return re.sub(r"internal_count=.*\n", "", text)


def test_trees_of_sampled_rows_add_to_no_score():
    draft = draft_of("goss.txt")
    model = draft.models[0]
    assert len(model.trees) == 4  # GOSS draws rows from round 1 / 0.25 on
    assert all(len(s.low) for s in model.sums)
    # a tree that saw fewer rows in the middle, of a file whose parameters draw none: trees of other rows
    booster = text_booster(text_of("defaults.txt"))
    count = " ".join(map(str, booster.trees[10].count))
    fewer = " ".join(map(str, [booster.trees[10].count[0] - 1, *booster.trees[10].count[1:]]))
    cut = draft_of(
        "defaults.txt", lambda text: without_inner(text.replace(f"leaf_count={count}", f"leaf_count={fewer}"))
    )
    held = [len(s.low) > 0 for s in cut.models[0].sums]
    assert held == [True] * 10
    assert [len(one.models[0].trees) for one in cut.others[1:]] == [len(booster.trees) - 11]


def test_lambda_and_rates_of_many_digits_are_solved():
    frame = labelled("ridge.txt")
    for file in ("ridge.txt", "ridge.json"):  # lambda 1.2345678: six digits in the text, none in the JSON
        found = np.concatenate([s.high - s.low for s in draft_of(file).models[0].sums])
        assert found.max() < 1e-9
        assert max(part.max() for part in parts(draft_of(file), frame)) <= 1
    assert "neither cut off nor smoothed" in str(draft_of("ridge.json").origin.notes)
    assert "neither cut off nor smoothed" not in str(draft_of("ridge.txt").origin.notes)


def test_large_files_say_that_bundles_are_assumed_clean():
    def wide(text):
        def many(found):
            return "leaf_count=" + " ".join(str(100 * int(n)) for n in found[1].split())

        return without_inner(re.sub(r"leaf_count=(.*)", many, text))

    def off(text):
        return wide(text).replace("[enable_bundle: 1]", "[enable_bundle: 0]")

    assert "bundled" in str(draft_of("ridge.txt", wide).origin.notes)
    assert "bundled" not in str(draft_of("ridge.txt").origin.notes)
    assert "bundled" not in str(draft_of("ridge.txt", off).origin.notes)


# ------------------------------------------------------------------ arithmetic, from outside


def histogram_tree(rng, gradient, bins, depth):
    """Return a tree grown as LightGBM sums: (grown, rows per node, stored sums per node), splits at random.

    `bins` (features, rows). The root is summed over rows in some order; the smaller child's histogram anew, its most
    frequent bin as what is left of the node's sum; the larger child's by subtraction; children by adding bins up.
    """
    features, size = len(bins), int(bins.max()) + 1
    frequent = [np.bincount(b, minlength=size).argmax() for b in bins]

    def anew(rows, total):
        out = np.zeros((features, size))
        for f in range(features):
            for i in rng.permutation(rows):
                out[f, bins[f, i]] += gradient[i]
            rest = total
            for b in range(size):
                if b != frequent[f]:
                    rest -= out[f, b]
            out[f, frequent[f]] = rest
        return out

    total = 0.0
    for i in rng.permutation(len(gradient)):
        total += gradient[i]
    out, members, stored = BoosterTree(), [], []
    todo = [(np.arange(len(gradient)), float(total), None, 0, -1, 0)]
    while todo:
        rows, total, held, level, parent, side = todo.pop(0)
        here = len(out.splits)
        if parent >= 0:
            left, right = out.children[parent]
            out.children[parent] = (here, right) if side == 0 else (left, here)
        members.append(rows)
        stored.append(total)
        held = anew(rows, total) if held is None else held
        f, cut = int(rng.integers(features)), int(rng.integers(1, size))
        below = bins[f, rows] < cut
        if level == depth or not 0 < below.sum() < len(rows):
            out.splits.append(None)
            out.children.append((-1, -1))
            continue
        out.splits.append(object())
        out.children.append((-1, -1))
        right = 0.0
        for b in range(size - 1, cut - 1, -1):
            right += held[f, b]
        left = total - right
        right = total - left
        sides = [(rows[below], left), (rows[~below], right)]
        small = int(below.sum() >= (~below).sum())
        mine = anew(*sides[small])
        for k in (0, 1):
            todo.append((*sides[k], mine if k == small else held - mine, level + 1, here, k))
    return out, members, stored


@pytest.mark.parametrize("seed", range(12))
def test_sums_are_as_near_as_is_said(seed):
    rng = np.random.default_rng(seed)
    n, wide = int(rng.integers(50, 800)), seed % 2
    sizes = 10.0 ** -rng.uniform(0, 9, n) if wide else rng.uniform(0.01, 1, n)
    gradient = (sizes * rng.choice([-1, 1], n)).astype(np.float32).astype(float)
    bins = rng.integers(0, int(rng.integers(2, 12)), (3, n))
    grown, members, stored = histogram_tree(rng, gradient, bins, 6)
    known = Sizes(float(np.abs(gradient).min()), float(np.abs(gradient).max()), float(np.abs(gradient).sum()))
    assert known.exact != wide
    assert all(Fraction(g) % Fraction(known.unit) == 0 for g in gradient.tolist())
    found = errors(grown, [len(m) for m in members], known, known)
    for rows, total, off in zip(members, stored, found.gradient, strict=True):
        true = sum(map(Fraction, gradient[rows].tolist()))
        assert abs(Fraction(total) - true) <= Fraction(off)
    assert wide == any(found.gradient)
    assert min(found.hessian[1:]) >= EPSILON  # kEpsilon is added even where nothing is rounded


def test_sums_of_a_stump_are_off_by_what_its_two_levels_add():
    """Leaves remember their numbers in the file (here 1 and 0), which lead to no other node."""
    grown = BoosterTree([split_of("x", Test(high=1), True), None, None], [(1, 2), (1, -1), (0, -1)])
    exact, wide = Sizes(0.25, 1.0, 100.0), Sizes(1e-9, 1.0, 1e9)
    assert (exact.exact, wide.exact) == (True, False)
    found = errors(grown, [100, 40, 60], exact, exact)
    assert found.gradient == [0.0, 0.0, 0.0]
    assert found.hessian == [0.0, *[6 * EPSILON + 12 * UNIT * 1.0 * 100 * MORE] * 2]
    root = MORE * 100 * UNIT * 100 * 1.0
    found = errors(grown, [100, 40, 60], wide, wide)
    assert found.gradient == pytest.approx([root, *[root + MORE * UNIT * 100 * (8 * 100 + 24)] * 2], rel=1e-12)


def test_two_leaves_give_lambda_where_their_weights_differ():
    def leaf(weight, ridge, rate=0.1):
        ratio = rate / (weight + ridge)
        return FirstLeaf(NumberSpan.near(ratio, 1e-15), NumberSpan.near(weight, 1e-15), listed=False)

    for ridge in (0.0, 1.0, 2.5):
        found = _by_pairs([leaf(3.0, ridge), leaf(40.0, ridge), leaf(7.0, ridge)])
        assert found.low <= ridge <= found.high <= ridge + 1e-9
        found = _by_pairs([leaf(3.0, ridge), leaf(40.0, ridge)])
        assert found is not None
        assert found.low <= ridge <= found.high
    assert _by_pairs([]) is None
    assert _common([], NumberSpan(0, 0), NumberSpan(0, 0)) is None
    a, b = (FirstLeaf(NumberSpan(x, x), NumberSpan(w, w), listed=False) for x, w in ((0.5, 2.0), (0.25, 4.0)))
    assert _by_pairs([a, b]) == NumberSpan(0, 0)
    assert _by_pairs([a, replace(a, weight=b.weight)]) is None  # no lambda explains one value of two weights
    assert _by_pairs([leaf(3.0, 1.0)]) is None
    assert _by_pairs([leaf(3.0, 1.0), leaf(3.0, 1.0)]) is None  # any lambda
    assert _by_pairs([leaf(3.0, -1.0), leaf(40.0, -1.0)]) is None  # a lambda below 0 alone


@pytest.mark.parametrize("file", ["defaults.txt", "classes.txt", "categories.txt"])
def test_scores_lie_within_their_bounds(file):
    booster = text_booster(text_of(file))
    k = booster.per_round
    trees = [(*divmod(t, k), tree) for t, tree in enumerate(booster.trees)]
    frame = labelled(file)
    x = frame.iloc[:, :-1].to_numpy(dtype=float)
    rough, fine = (list(_score_ranges(trees, np.zeros(k), 0.0, boxes)) for boxes in (1, 4096))
    for a, b in zip(rough, fine, strict=True):
        assert (a.low <= b.low + 1e-9).all()
        assert (b.high <= a.high + 1e-9).all()
    assert fine[-1].high[0] < rough[-1].high[0] or file != "defaults.txt"
    if file == "categories.txt":
        return
    first = leaves_of(trees[0][2], x)
    score = np.zeros((len(x), k))
    for (turn, of, tree), bound in zip(trees, fine, strict=True):
        if of == 0:
            held = score.copy()
        assert turn == 0 or ((bound.low <= held) & (held <= bound.high)).all()
        if turn and k == 1:
            assert (held[:, 0] <= bound.odds[0][first]).all()
            assert (-held[:, 0] <= bound.odds[1][first]).all()
        score[:, of] += np.array(tree.value)[leaves_of(tree, x)]


def test_printed_numbers():
    assert digits([[0.1234567890123456, 0.5], [0.25]]) == 0
    assert digits([[0.123457, 0.5], [-0.25]]) == pytest.approx(0.5e-6)
    assert digits([[1e-07, 0.5]]) == pytest.approx(0.5e-7)
    assert digits([[0.5]]) == 0
    assert [_significant(x) for x in (0.1, 0.05, 0.123457, 1.0, 100.0, 1e-05)] == [1, 1, 6, 1, 1, 1]
    booster = text_booster(text_of("ridge.txt"))
    tree = replace(booster.trees[1], rate=0.2)
    wide = rate_of(booster, tree, NumberSpan(0.1, 0.1), 0.0)  # one tree of that rate: it may be scheduled
    assert wide.low < 0.2 * (1 - 4e-6)
    assert wide.high > 0.2 * (1 + 4e-6)
    assert rate_of(booster, booster.trees[1], NumberSpan(0.1234567, 0.1234567), 0.0) == NumberSpan(0.1234567, 0.1234567)
    fine = replace(booster.trees[1], rate=0.1234567891)
    assert rate_of(booster, fine, NumberSpan(0.1, 0.1), 0.0).high == pytest.approx(0.1234567891, rel=1e-13)


def test_intervals_are_cut_to_multiples_with_care():
    assert _snapped(0.9, 1.1, 0.25) == (1.0, 1.0)
    assert _snapped(0.9, 1.6, 0.25) == (1.0, 1.5)
    assert _snapped(0.1, 0.2, 0.25) == (0.1, 0.2)  # no multiple: no rows fit, and the interval still says so
    assert _snapped(-0.3, -0.2, 0.0) == (-0.3, -0.2)
    assert _snapped(1e30, 2e30, 0.25) == (1e30, 2e30)
