"""Guards of readers of boosters: one thing changed in a file of the real library, and the words that refuse it."""

from __future__ import annotations

import functools
import io
import itertools
import json
import math
import struct
import zipfile
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from changed_objects import GONE, changed, in_r, sentence_of

import recon
from encoders.domain.values import Test
from recon.readers.formats.boosters.catboost_file import (
    Symmetric,
    _branching,
    _cbm_bias,
    _cbm_trees,
    _trainings,
    cbm_booster,
    json_booster,
)
from recon.readers.formats.boosters.catboost_model import read_catboost
from recon.readers.formats.boosters.lightgbm.file import (
    IS_NAN,
    IS_ZERO,
    NONE,
    StoredLightGBMTree,
    _text_info,
    text_booster,
)
from recon.readers.formats.boosters.lightgbm.model import LightGBMFeatures, _to_split, read_lightgbm
from recon.readers.formats.boosters.pickled import read as read_pickled
from recon.readers.formats.boosters.ranger import (
    _class_names,
    _sampling,
    _times,
    ranger_object,
    read_ranger_rds,
)
from recon.readers.formats.boosters.shared import BoosterSplit, BoosterTree
from recon.readers.formats.boosters.spark import SparkColumns, SparkPart, _labels, _SparkNodes, read_spark
from recon.readers.formats.boosters.xgboost.file import StoredXGBoostTree, _values_of, sizes
from recon.readers.formats.boosters.xgboost.file import json_booster as xgboost_json
from recon.readers.formats.boosters.yggdrasil import _message, _varint
from recon.readers.formats.detection import read_draft
from recon.readers.formats.drafts.binding import passes
from recon.readers.formats.printed.rpart_rds import named_parts, read_rpart_rds
from recon.readers.stored.binary.rds import RObject, read_rds
from recon.readers.stored.pickled.stored_files import open_stored
from solvers.statements.release import RowCount

GOLDEN, CORPUS = Path(__file__).parent / "golden" / "models", Path(__file__).parent / "corpus"
FILES = {
    "lgb": GOLDEN / "lightgbm-4.7.0/binary.json",
    "lgb categories": GOLDEN / "lightgbm-4.7.0/categories.json",
    "xgb": GOLDEN / "xgboost-3.2.0/half.json",
    "xgb categories": GOLDEN / "xgboost-3.2.0/categories.json",
    "xgb dump": GOLDEN / "xgboost-3.2.0/half.dump.json",
    "xgb dump categories": GOLDEN / "xgboost-3.2.0/categories.dump.json",
    "cat": GOLDEN / "catboost-1.2.10/binary.json",
    "cat categories": GOLDEN / "catboost-1.2.10/categories.json",
    "cat branches": GOLDEN / "catboost-1.2.10/lossguide.json",
    "treelite": CORPUS / "treelite_forest.json",
}
parsed = functools.cache(lambda name: json.loads(FILES[name].read_text(encoding="utf-8")))
LEARNER = "learner.learner_model_param"
TREE = "learner.gradient_booster.model.trees.0"
NODE, SECOND = "tree_info.0.tree_structure", "tree_info.1.tree_structure"
SPLIT = "oblivious_trees.0.splits.0"
DATA = "model_info.params.data_processing_options"

REFUSED = [
    # LightGBM's JSON
    ("lgb", {"feature_names": "abc"}, "feature_names: a list of names is expected"),
    ("lgb", {"feature_names.0": 7}, "feature_names: a list of names is expected"),
    ("lgb", {"feature_names.0": "smoker"}, "feature_names: a name stands twice"),
    ("lgb", {"tree_info": []}, "tree_info: a list of trees is expected"),
    ("lgb", {"tree_info": 7}, "tree_info: a list of trees is expected"),
    ("lgb", {"pandas_categorical": [7]}, "pandas_categorical: lists of categories are expected"),
    ("lgb", {"tree_info.0": 7}, "tree_info: a list of trees is expected"),
    ("lgb", {"pandas_categorical": 7}, "pandas_categorical: lists of categories are expected"),
    ("lgb", {"pandas_categorical": [[None]]}, "pandas_categorical: a category is neither text nor a number"),
    ("lgb", {"num_tree_per_iteration": 0}, "num_tree_per_iteration: 0 trees per round"),
    ("lgb", {"tree_info.0.shrinkage": "x"}, "'x' is not a finite number"),
    ("lgb", {"tree_info.0.shrinkage": True}, "'True' is not a finite number"),
    ("lgb", {f"{NODE}.left_child": None}, "left_child: a node is missing"),
    ("lgb", {f"{NODE}.missing_type": "Some"}, "missing_type: 'Some' is not None, Zero or NaN"),
    ("lgb", {f"{NODE}.decision_type": "<"}, "decision_type: '<' is neither '<=' nor '=='"),
    ("lgb", {f"{NODE}.split_feature": 99}, "split_feature: feature 99 is none of"),
    ("lgb", {f"{NODE}.split_feature": 0.5}, "split_feature: '0.5' is not a whole number"),
    ("lgb", {f"{NODE}.internal_count": 7}, "internal_count[0] is 7, but the leaves below it have 90 rows"),
    ("lgb", {f"{NODE}.threshold": 1e308}, "sends every row to one side"),
    ("lgb categories", {"pandas_categorical": lambda found: found[:1]}, "which is which cannot be told"),
    ("lgb categories", {f"{NODE}.threshold": "9"}, "the categories [9] of 'grade' are not all known"),
    ("lgb categories", {f"{NODE}.threshold": "0||3"}, "the categories [0, 3] of 'grade' are not all known"),
    # XGBoost's JSON
    ("xgb", {"learner": 7}, "is not JSON of XGBoost's save_model(): 'learner' is missing|neither a release file nor"),
    ("xgb", {"learner.gradient_booster.name": "gblinear"}, "XGBoost's booster 'gblinear' has no trees"),
    ("xgb", {"learner.gradient_booster": GONE}, "learner.gradient_booster: is missing or no object"),
    ("xgb", {f"{LEARNER}.num_feature": "0"}, "XGBoost models without features or of several targets are not read"),
    ("xgb", {f"{LEARNER}.num_target": "2"}, "XGBoost models without features or of several targets are not read"),
    ("xgb", {f"{LEARNER}.num_feature": "0.5"}, "num_feature: '0.5' is not a whole number"),
    ("xgb", {f"{LEARNER}.num_feature": "9007199254740993"}, "num_feature: '9007199254740993' is not a whole number"),
    ("xgb", {f"{LEARNER}.num_feature": "-9007199254740993"}, "num_feature: '-9007199254740993' is not a whole number"),
    ("xgb", {f"{LEARNER}.base_score": "x"}, "base_score: 'x' is not a finite float32 number"),
    ("xgb", {f"{LEARNER}.base_score": "1e39"}, "base_score: '1e39' is not a finite float32 number"),
    ("xgb", {f"{LEARNER}.base_score": "-1e39"}, "base_score: '-1e39' is not a finite float32 number"),
    ("xgb", {f"{LEARNER}.base_score": "3.4028234663852886e38"}, "base_score 3.40282e+38 is not a share"),
    ("xgb", {f"{LEARNER}.base_score": "2"}, "base_score 2 is not a share"),
    ("xgb", {f"{LEARNER}.base_score": "1"}, "base_score 1 is not a share"),
    ("xgb", {f"{LEARNER}.base_score": "0"}, "base_score 0 is not a share"),
    ("xgb", {"learner.feature_names": "abc"}, "names are expected"),
    ("xgb", {"learner.feature_names.0": 7}, "names are expected"),
    ("xgb", {"learner.feature_names": lambda found: found[:1]}, "learner.feature_names: 5 names are expected"),
    ("xgb", {"learner.feature_names.0": "smoker"}, "learner.feature_names: a name stands twice"),
    ("xgb", {"learner.gradient_booster.model.trees": 7}, "model.trees: a list of 2 is expected"),
    ("xgb", {"learner.gradient_booster.model.tree_info": 7}, "model.tree_info: a list is expected"),
    ("xgb", {TREE: 7}, "trees[0]: no object"),
    ("xgb", {f"{TREE}.left_children": []}, "trees[0]: 0 nodes"),
    ("xgb", {f"{TREE}.base_weights": lambda found: found[:-1]}, "trees[0].base_weights: a list of 7 is expected"),
    ("xgb", {"learner.gradient_booster.model.tree_info.0": -1}, "trees[0]: 7 nodes"),
    ("xgb", {f"{TREE}.split_type": [0]}, "split_type: a list of 7 is expected"),
    ("xgb", {f"{TREE}.split_type": "0000000"}, "split_type: a list of 7 is expected"),
    ("xgb", {f"{TREE}.left_children.0": 0.5}, "trees[0]: the link to node 0.5 makes no tree"),
    ("xgb", {f"{TREE}.left_children.0": 7}, "trees[0]: the link to node 7 makes no tree"),
    ("xgb", {f"{TREE}.left_children.0": 99}, "trees[0]: the link to node 99 makes no tree"),
    ("xgb", {f"{TREE}.left_children.0": 0}, "trees[0]: the link to node 0 makes no tree|makes no tree"),
    ("xgb", {f"{TREE}.split_indices.0": 9}, "split_indices[0]: feature 9 is none of 5"),
    ("xgb", {f"{TREE}.split_indices.0": 5}, "split_indices[0]: feature 5 is none of 5"),
    ("xgb", {f"{TREE}.sum_hessian": lambda found: [0.998 * x for x in found]}, "are not whole numbers of rows"),
    ("xgb", {f"{TREE}.sum_hessian": lambda found: [1.002 * x for x in found]}, "are not whole numbers of rows"),
    ("xgb", {"learner.objective.reg_loss_param": {"scale_pos_weight": "2"}}, "weighs its classes (scale_pos_weight)"),
    ("xgb", {"learner.objective.name": "rank:pairwise"}, "covers of XGBoost's objective 'rank:pairwise' are sums"),
    ("xgb categories", {f"{TREE}.categories_segments.0": 99}, "the categories 99..1"),
    ("xgb categories", {f"{TREE}.categories_segments.0": -1}, "the categories -1.."),
    ("xgb categories", {f"{TREE}.categories_sizes.0": 0}, "the categories 0..0 are not there"),
    ("xgb categories", {f"{TREE}.categories_sizes.0": 99}, "the categories 0..99 are not there"),
    ("xgb categories", {f"{TREE}.categories.0": 99}, "of 'grade' are not all known"),
    ("xgb categories", {"learner.gradient_booster.model.cats.enc.0.offsets": ["x"] * 3}, "of 'city' are not texts"),
    # XGBoost's dumps
    ("xgb dump", {"1": 7}, "trees[1]: a node is not an object"),
    ("xgb dump", {"0.children.0": 7}, "'yes', 'no' and 'missing' do not name its two children"),
    ("xgb dump", {"0.yes": 9}, "node 0: 'yes', 'no' and 'missing' do not name its two children"),
    ("xgb dump", {"0.missing": 9}, "node 0: 'yes', 'no' and 'missing' do not name its two children"),
    ("xgb dump", {"0.split": 7}, "node 0: a split needs a feature and two children"),
    ("xgb dump", {"0.children": lambda found: found[:1]}, "node 0: a split needs a feature and two children"),
    ("xgb dump", {"0.children": "ab"}, "node 0: a split needs a feature and two children"),
    ("xgb dump", {"0.split_condition": GONE}, "the split of indicator 'age' has no condition: use save_model"),
    ("xgb dump", {"0.children.0.cover": GONE}, "the XGBoost dump has no covers: dump it again with with_stats=True"),
    ("xgb dump categories", {"0.split_condition": []}, "the categories [] of 'grade' are not all known"),
    ("xgb dump categories", {"0.split_condition": [-1]}, "the categories [-1] of 'grade' are not all known"),
    ("xgb dump categories", {"0.split_condition": [-1, 1]}, "the categories [-1, 1] of 'grade' are not all known"),
    # CatBoost's JSON
    ("cat", {"features_info": 7}, "is not JSON of CatBoost's save_model|of no format that is read"),
    ("cat", {"features_info.float_features": 7}, "features_info.float_features: no list of objects"),
    ("cat", {"features_info.float_features.0": 7}, "features_info.float_features: no list of objects"),
    ("cat", {"features_info.float_features.0.nan_value_treatment": "Gone"}, "missing values are treated 'Gone'"),
    ("cat", {"features_info.float_features.0.flat_feature_index": GONE}, "a column has no flat_feature_index"),
    ("cat", {"features_info.float_features.0.flat_feature_index": 1}, "the columns are not numbered one by one"),
    ("cat", {"features_info.float_features.0.flat_feature_index": -1}, "the columns are not numbered one by one"),
    ("cat", {"features_info.float_features.0.feature_id": "smoker"}, "features_info: a name stands twice"),
    ("cat", {"oblivious_trees": []}, "the CatBoost model has no trees: it says nothing about its rows"),
    ("cat", {"oblivious_trees.0": 7}, "oblivious_trees[0]: no list of splits"),
    ("cat", {"oblivious_trees.0.splits": 7}, "oblivious_trees[0]: no list of splits"),
    ("cat", {"oblivious_trees.0.splits": lambda found: found * 9}, "oblivious_trees[0]: no list of splits"),
    ("cat", {"oblivious_trees.0.splits": lambda found: found[:1]}, "oblivious_trees[0]: not 2 leaves"),
    ("cat", {"oblivious_trees.0.leaf_weights": GONE}, "holds no leaf weights: it says nothing about numbers of rows"),
    ("cat", {"oblivious_trees.0.leaf_weights.0": -1}, "tree 0: a leaf weight is negative"),
    ("cat", {"oblivious_trees.0.leaf_weights.0": "x"}, "tree 0, leaf weight: 'x' is not a finite number"),
    ("cat", {"oblivious_trees.0.leaf_values.0": None}, "tree 0: 'None' is not a finite number"),
    ("cat", {SPLIT: 7}, "tree 0: a split has no type"),
    ("cat", {f"{SPLIT}.float_feature_index": 99}, "tree 0: column 99 is none of"),
    ("cat", {f"{SPLIT}.float_feature_index": GONE}, "tree 0: column None is none of"),
    ("cat", {f"{SPLIT}.float_feature_index": 5}, "tree 0: column 5 is none of 5"),
    ("cat", {"features_info": {}}, "tree 0: column 3 is none of 0"),
    ("cat", {"oblivious_trees.0.leaf_weights": "xxxxxxxx"}, "oblivious_trees[0]: not 8 leaves"),
    ("cat", {"oblivious_trees.0.leaf_values": 7}, "oblivious_trees[0]: not 8 leaves"),
    ("cat", {"oblivious_trees.0.leaf_values.0": True}, "tree 0: 'True' is not a finite number"),
    ("cat", {"oblivious_trees.0.leaf_weights.0": 5.5}, "tree 0 has a leaf of weight 5.5: rows were weighted"),
    ("cat", {"oblivious_trees.0.leaf_weights.0": 1 << 53}, "has a leaf of weight 9.0072e+15: rows were weighted"),
    ("cat", {f"{DATA}.class_weights": [1, 2]}, "the CatBoost model weighs its classes"),
    ("cat", {f"{DATA}.auto_class_weights": "Balanced"}, "the CatBoost model weighs its classes"),
    ("cat", {"scale_and_bias": [1, ["x"]]}, "scale_and_bias: 'x' is not a finite number"),
    ("cat", {"model_info.params.task_type": "GPU"}, "were never compared with rows|GPU"),
    ("cat", {"model_info.params.loss_function.type": "Huber"}, "of CatBoost's objective 'Huber' were never compared"),
    ("cat branches", {"trees.0": 7}, "trees[0]: a node is not an object"),
    ("cat branches", {"trees.0.left": GONE}, "trees[0]: a node is not an object"),
    ("cat branches", {"trees.0.split.split_type": GONE}, "tree 0: a split has no type"),
    # treelite's JSON
    ("treelite", {"num_feature": 0}, "num_feature: has 0 features"),
    ("treelite", {"trees": []}, "trees: has no trees"),
    ("treelite", {"trees": {"a": 1}}, "trees: has no trees"),
    ("treelite", {"trees.0.nodes.1.data_count": True}, "has the data_count True, which is no number of rows"),
    ("treelite", {"trees.0.nodes.1.data_count": 1 << 53}, "has the data_count 9007199254740992, which is no number"),
    ("treelite", {"trees.0.nodes.0.left_child": 0.5}, "has the left_child 0.5 of"),
    ("treelite", {"trees.0.nodes.0.split_feature_id": 3}, "has the split_feature_id 3 of 3"),
    ("treelite", {"trees.0": 7}, "trees[0]: has no list of nodes"),
    ("treelite", {"trees.0.nodes": []}, "trees[0]: has no list of nodes"),
    ("treelite", {"trees.0.nodes.0": 7}, "trees[0]: has no list of nodes"),
    ("treelite", {"trees.0.nodes.1.node_id": 7}, "trees[0].nodes[1]: has the number 7"),
    ("treelite", {"trees.0.nodes.1.data_count": 0.5}, "has the data_count 0.5, which is no number of rows"),
    ("treelite", {"trees.0.nodes.1.data_count": -1}, "has the data_count -1, which is no number of rows"),
    ("treelite", {"trees.0.nodes.0.threshold": True}, "has the threshold True"),
    ("treelite", {"trees.0.nodes.0.left_child": True}, "has the left_child True of"),
]


def read_json(found):
    return read_draft(json.dumps(found).encode(), 1 << 28)


@pytest.mark.parametrize(("file", "changes", "said"), REFUSED, ids=lambda one: one if isinstance(one, str) else "")
def test_a_changed_file_is_refused_with_the_reason(file, changes, said):
    found = sentence_of(read_json, changed(parsed(file), changes))
    assert any(words in found for words in said.split("|")), found


@pytest.mark.parametrize("file", FILES)
def test_the_files_are_read_as_they_are(file):
    assert not sentence_of(read_json, parsed(file))


TEXT = (GOLDEN / "lightgbm-4.7.0/categories.txt").read_text()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (TEXT[TEXT.index("\nTree=0") :], "", "the LightGBM model has no trees"),
        ("num_leaves=5", "num_leaves=0", "Tree=0.num_leaves: 0 leaves"),
        ("num_leaves=5", "num_leaves=9007199254740993", "'9007199254740993' is not a whole number"),
        ("num_leaves=5", "num_leaves=-9007199254740993", "'-9007199254740993' is not a whole number"),
        ("leaf_count=17", "leaf_count=9007199254740993", "'9007199254740992.0' is not a whole number"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=-1", "num_tree_per_iteration: -1 trees per round"),
        ("num_leaves=5", "num_leaves=x", "Tree=0.num_leaves: 'x' is not a finite number"),
        ("split_feature=1 2 0 2", "split_feature=1 2 0", "Tree=0.split_feature: there are 3 numbers, not 4"),
        ("split_feature=1 2 0 2", "split_feature=1 2 0 9", "Tree=0.split_feature: feature 9 is none of 4"),
        ("split_feature=1 2 0 2", "split_feature=1 2 0 1.5", "Tree=0.split_feature: '1.5' is not a whole number"),
        ("leaf_count=17 30 15 20 18", "leaf_count=-3 30 15 20 38", "Tree=0.leaf_count: the count -3 is negative"),
        ("leaf_count=17 30", "leaf_count=17 31", "both cannot be true; save the model as it was fitted"),
        ("leaf_count=17 30 15 20 18", "leaf_count=", "Tree=0: 'leaf_count' is missing"),
        ("left_child=3 -2 -3 -1", "left_child=0 -2 -3 -1", "Tree=0: the link to node 0 makes no tree"),
        ("left_child=3 -2 -3 -1", "left_child=9 -2 -3 -1", "Tree=0: the link to node 9 makes no tree"),
        ("left_child=3 -2 -3 -1", "left_child=4 -2 -3 -1", "Tree=0: the link to node 4 makes no tree"),
        ("left_child=3 -2 -3 -1", "left_child=-6 -2 -3 -1", "Tree=0: the link to node -6 makes no tree"),
        ("left_child=3 -2 -3 -1", "left_child=-5 -2 -3 -1", "Tree=0: some node is reached by no path"),
        ("threshold=0 45", "threshold=7 45", "Tree=0.threshold: the bit set 7 is not in the tree"),
        ("threshold=0 45", "threshold=2 45", "Tree=0.threshold: the bit set 2 is not in the tree"),
        ("cat_boundaries=0 1 2", "cat_boundaries=0 0 2", "Tree=0: the categories [] of 'grade' are not all known"),
        ("cat_boundaries=0 1 2", "cat_boundaries=2 1 2", "Tree=0.threshold: the bit set 0 is not in the tree"),
        ("feature_names=city grade", "feature_names=city city", "feature_names: a name stands twice"),
    ],
)
def test_a_changed_text_is_refused_with_the_reason(old, new, said):
    assert old in TEXT
    assert said in sentence_of(read_draft, TEXT.replace(old, new, 1).encode(), 1 << 28)


def goes_left(value, missing, default_left, threshold):
    """Return where LightGBM sends a value (include/LightGBM/tree.h, NumericalDecision)."""
    if value is None and missing == IS_NAN:
        return default_left
    value = 0.0 if value is None else value
    return default_left if missing == IS_ZERO and abs(value) <= 1e-35 else value <= threshold


@pytest.mark.parametrize("missing", [NONE, IS_ZERO, IS_NAN])
@pytest.mark.parametrize("ends", [(-5, 5), (0, 5), (1, 5), (-5, 0), (-5, -1), None])
def test_splits_send_values_where_lightgbm_does(missing, ends):
    low, high = ends or (-5, 5)
    columns = LightGBMFeatures(("x",), {} if ends is None else {"x": ends}, {}, frozenset("x" * (missing == IS_NAN)))
    read = 0
    for default_left, threshold in itertools.product((0, 1), (-1e308, -1e300, -3.0, -1e-35, 0.0, 1e-35, 2.0, 1e300)):
        tree = StoredLightGBMTree("t", [0], [threshold], [2 * default_left | 4 * missing])
        only_gaps = missing == IS_NAN and threshold > 0 and not default_left
        endless = abs(threshold) >= 1e300 and missing != IS_ZERO and not only_gaps
        refused = sentence_of(_to_split, tree, 0, columns)
        if refused:
            assert ("sends every row" in refused) == endless
            continue
        assert not endless
        split, swapped = _to_split(tree, 0, columns)
        read += 1
        for value in (None, -5, -3, -2.5, -1, 0, 1, 2, 2.5, 5):
            if value is None or low <= value <= high:
                left = bool(goes_left(value, missing, default_left, threshold)) != swapped
                sides = [split.test, *([] if split.opposite is None else [split.opposite])]
                assert [met(side, value) for side in sides] == [left, not left][: len(sides)], (value, threshold)
    assert read > 4


def met(test, value):
    return test.missing if value is None else not test.missing if test.bare else passes(test, value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[0:5]", (0, 5)), ("[-5:1e299]", (-5, 1e299)), ("[5:5]", (5, 5)), ("[5:4]", None), ("[0:1e300]", None),
        ("[-1e300:0]", None), ("[0:inf]", None), ("[-inf:0]", None), ("[nan:0]", None), ("0:1:-1", (0, 1, -1)),
        ("none", None), ("[0]", None),
    ],
)  # fmt: skip
def test_ranges_and_categories_of_lightgbm(text, found):
    assert _text_info(text) == found


def test_as_many_leaves_and_columns_as_may_be(monkeypatch):
    wide = {f"{LEARNER}.num_feature": "7", "learner.feature_names": [], "learner.feature_types": []}
    wide = changed(parsed("xgb"), wide)
    for module, at, read, given, said in (
        ("lightgbm", 5, text_booster, TEXT, "Tree=0.num_leaves: 5 leaves"),
        ("xgboost", 7, xgboost_json, wide, "XGBoost models without features or of several targets"),
    ):
        monkeypatch.setattr(f"recon.readers.formats.boosters.{module}.file.MAX_NODES", at)
        assert read(given).trees
        monkeypatch.setattr(f"recon.readers.formats.boosters.{module}.file.MAX_NODES", at - 1)
        assert said in sentence_of(read, given)


def test_classes_of_a_model_of_numbers_are_left_out():
    assert read_lightgbm(changed(parsed("lgb"), {"objective": "regression"}), (0, 1, 2)).classes is None
    leaf = "0\nnum_leaves=1\nnum_cat=0\nleaf_value=0.5\nshrinkage=1\n"
    alone = TEXT[: TEXT.index("\nTree=") + 6] + leaf + TEXT[TEXT.index("\nTree=1") :]
    assert text_booster(alone).trees[0].start == 0.5


@pytest.mark.parametrize(
    ("changes", "low", "high"),
    [
        ({}, 90, 90),
        ({"tree_info.0.shrinkage": 0.1}, 90, None),  # from 0 on: drawn rows would leave no trace
        ({f"{SECOND}.internal_count": 91, f"{SECOND}.right_child.internal_count": 47,
          f"{SECOND}.right_child.right_child.leaf_count": 27}, 91, None),
    ],
)  # fmt: skip
def test_json_of_lightgbm_shows_that_no_rows_were_drawn_or_leaves_it_open(changes, low, high):
    assert read_lightgbm(changed(parsed("lgb"), changes)).rows == RowCount(low, high)


@pytest.mark.parametrize(
    ("objective", "counts"),
    [
        ("binary sigmoid:1", ("exact", "size")), ("binary", ("exact", "size")), ("binary sigmoid:0", ("size",)),
        ("binary sigmoid:-1", ("size",)), ("binary sigmoid:2", ("size",)), ("cross_entropy", ("size",)),
        ("multiclass num_class:1", ("size",)), ("", ("size",)),
    ],
)  # fmt: skip
def test_objectives_of_lightgbm_whose_values_prove_classes(objective, counts):
    assert read_lightgbm(changed(parsed("lgb"), {"objective": objective})).origin.counts == counts


def test_a_text_of_one_tree_or_without_a_setting_that_is_off_proves_classes():
    one = TEXT[: TEXT.index("\nTree=1")] + "\n" + TEXT[TEXT.index("\nend of trees") :]
    for text, counts in ((one, ("exact",)), (TEXT.replace("[lambda_l1: 0]\n", ""), ("exact", "size"))):
        assert read_draft(text.encode(), 1 << 28).origin.counts == counts


CANCELLED = """tree
version=v4
num_class=1
num_tree_per_iteration=1
objective=binary sigmoid:1
feature_names=x
feature_infos=[0:9]

Tree=0
num_leaves=3
split_feature=0 0
threshold=2.5 6.5
decision_type=2 2
left_child=-1 -2
right_child=1 -3
leaf_value=-0.1 0.1 0
leaf_weight=1 1 0.5
leaf_count=4 4 2
internal_value=0 0
shrinkage=0.1

Tree=1
num_leaves=2
split_feature=0
threshold=2.5
decision_type=2
left_child=-1
right_child=-2
leaf_value={values}
leaf_weight={weights}
leaf_count=4 6
internal_value=0
shrinkage=0.1

end of trees

parameters:
[learning_rate: 0.1]
end of parameters
"""


def test_a_leaf_of_as_many_rows_of_both_classes_says_nothing_of_the_learning_rate():
    """1, 3 and 1 rows of the class among 4, 4 and 2, from a score of 0: the gradients of the third leaf cancel."""
    scores, ones = np.repeat([-0.1, 0.1, 0.0], (4, 4, 2)), np.array([1, 0, 0, 0, 1, 1, 1, 0, 1, 0])
    share = 1 / (1 + np.exp(-scores))
    sums = [[float(part.astype(np.float32).astype(float).sum()) for part in (found[:4], found[4:])]
            for found in (share - ones, share * (1 - share))]  # fmt: skip
    values = " ".join(repr(-0.1 * g / h) for g, h in zip(*sums, strict=True))
    text = CANCELLED.format(values=values, weights=" ".join(map(repr, sums[1])))
    (model,) = read_draft(text.encode(), 1 << 28).models
    assert [node.support.counts for node in model.members()[0].nodes if node.condition is None] == [
        (3, 1), (1, 3), (1, 1)
    ]  # fmt: skip
    assert model.scores


@pytest.mark.parametrize("rate", [0.1, 0, -0.1])
def test_classes_follow_whatever_rate_a_later_tree_names(rate):
    def root(file):
        draft = read_lightgbm(file)
        return draft.origin.counts, draft.models[0].members()[0].nodes[0].support

    assert root(changed(parsed("lgb"), {"tree_info.1.shrinkage": rate})) == root(parsed("lgb"))


def test_leaf_values_are_not_used_where_the_classes_of_one_first_tree_are_not_proved():
    file = json.loads((GOLDEN / "lightgbm-4.7.0/classes.json").read_text(encoding="utf-8"))
    assert read_lightgbm(file).models[0].scores
    at = "tree_info.1.tree_structure"
    node = file["tree_info"][1]["tree_structure"]
    while "leaf_count" not in node:
        node, at = node["left_child"], f"{at}.left_child"
    draft = read_lightgbm(changed(file, {f"{at}.leaf_weight": 2 * node["leaf_weight"]}))
    assert any("of each class in the first round are not proved" in note for note in draft.reader_notes)
    assert not draft.models[0].scores


def test_a_leaf_without_rows_is_one():
    text = TEXT.replace("leaf_count=17 30", "leaf_count=47 0", 1).replace("internal_count", "not_said")
    assert not sentence_of(read_draft, text.encode(), 1 << 28)


def test_a_text_that_only_begins_like_a_model_is_none():
    from recon.readers.formats.boosters.lightgbm.model import read_lightgbm_text
    from recon.readers.formats.boosters.xgboost.model import read_xgboost_dump

    assert "it must start with 'tree' and name 'num_class'" in sentence_of(read_lightgbm_text, "tree\nx=1\n")
    for none in ([], {}, {"x": 1}, 7):
        assert "a list of trees is expected" in sentence_of(read_xgboost_dump, none)


@pytest.mark.parametrize(
    ("file", "changes", "said"),
    [
        ("lightgbm-4.7.0/binary.pkl", {"_Booster": None}, "the LGBMClassifier in the pickle was not fitted"),
        ("lightgbm-4.7.0/binary.pkl", {"_Booster._handle": GONE, "_Booster.handle": GONE}, "holds no model text"),
        ("catboost-1.2.10/binary.pkl", {"__model": None}, "the CatBoostClassifier in the pickle was not fitted"),
        ("xgboost-3.2.0/half.pkl", {"_Booster": None}, "the XGBClassifier in the pickle was not fitted"),
        (
            "xgboost-3.2.0/half.pkl",
            {"_Booster.handle": "text"},
            "is of an old version: save_model('model.json') is read",
        ),
        ("lightgbm-4.7.0/binary.pkl", {"_classes": np.arange(3)}, "classes: 3 classes are given for a model of 2"),
        ("xgboost-3.2.0/half.pkl", {"_le": GONE, "_classes": np.arange(3)}, "classes: 3 classes are given for a model"),
    ],
)
def test_a_changed_pickle_is_refused_with_the_reason(file, changes, said):
    root = open_stored((GOLDEN / file).read_bytes()).root
    assert not sentence_of(read_pickled, root, "pickle")
    assert said in sentence_of(read_pickled, changed(root, changes), "pickle")


class Core:
    """Stands for the part of a .cbm file with the trees: numbers by the place of their field."""

    def __init__(self, **fields):
        self.fields = {int(name[1:]): value for name, value in fields.items()}

    def whole(self, at, default=0):
        return self.fields.get(at, default)

    def numbers(self, at, kind):
        return np.array(self.fields.get(at, ()), dtype=kind)

    def real(self, at, default):
        return self.fields.get(at, default)

    def place(self, at):
        return None


KNOWN = [(0, 0.5)]
STUMP = {"f1": [0], "f2": [1], "f8": [0.1, 0.2], "f9": [3, 4]}  # splits, sizes, values, weights
CORES = [
    ({"f0": 0}, "the sizes of the trees do not add up"),
    ({"f0": 10_001, "f8": [0.1] * 20_002}, "the sizes of the trees do not add up"),
    ({"f2": [-1]}, "the sizes of the trees do not add up"),
    ({"f2": [-1, 2]}, "the sizes of the trees do not add up"),
    ({"f2": [2]}, "the sizes of the trees do not add up"),
    ({"f1": [-1]}, "a split has a negative number"),
    ({"f1": [0, -1], "f2": [2]}, "a split has a negative number"),
    ({"f9": [3, float("inf")]}, "tree 0, leaf weight: 'inf' is not a finite number"),
    ({"f9": []}, "holds no leaf weights: it says nothing about numbers of rows"),
    ({"f8": [0.1]}, "1 values of 2 leaves"),
    ({"f1": [0] * 17, "f2": [17]}, "tree 0: 17 levels"),
    ({"f8": [0.1], "f9": [3]}, "tree 0: 2 leaves of 1"),
    ({"f8": [0.1] * 3, "f9": [3] * 3}, "3 leaf weights for 2 leaves"),
    ({"f9": [3, -4]}, "tree 0: a leaf weight is negative"),
]


@pytest.mark.parametrize(("changes", "said"), CORES)
def test_a_changed_cbm_file_is_refused_with_the_reason(changes, said):
    assert said in sentence_of(_cbm_trees, Core(**{**STUMP, **changes}), KNOWN)
    assert _cbm_trees(Core(**STUMP), KNOWN) == [Symmetric(((0, 0.5),), (3.0, 4.0), (0.1, 0.2))]
    assert _cbm_trees(Core(**STUMP | {"f1": [5]}), KNOWN)[0].splits == (None,)  # on categories


def test_trees_of_a_cbm_file_as_small_and_as_large_as_they_come():
    leaf = Core(f2=[0], f8=[0.1], f9=[3])
    assert _cbm_trees(leaf, KNOWN) == [Symmetric((), (3.0,), (0.1,))]
    assert _cbm_trees(Core(**STUMP | {"f0": 10_000, "f8": [0.1] * 20_000}), KNOWN)[0].value == ()
    (deepest,) = _cbm_trees(Core(f1=[0] * 16, f2=[16], f8=[0.1] * (1 << 16), f9=[1] * (1 << 16)), KNOWN)
    one = {"splits": parsed("cat")["oblivious_trees"][0]["splits"][:1] * 16}
    one |= {"leaf_weights": [1] * (1 << 16), "leaf_values": [0.1] * (1 << 16)}
    read = json_booster(changed(parsed("cat"), {"oblivious_trees": [one]})).trees[0]
    assert len(deepest.splits) == len(read.splits) == 16


@pytest.mark.parametrize(
    ("fields", "bias"),
    [
        ({}, 0.0),
        ({"f15": 0.25}, 0.25),
        ({"f16": [0.5]}, 0.5),
        ({"f16": [0.5, 1.0]}, None),
        ({"f14": 2.0, "f16": [0.5]}, None),
    ],
)
def test_a_cbm_file_names_the_score_that_rows_start_at_or_scales_it(fields, bias):
    assert _cbm_bias(Core(**fields)) == bias


def test_links_of_a_cbm_file_that_make_no_tree(monkeypatch):
    figures = np.array([3.0, 4.0]), np.array([0.1, 0.2])
    leaf = 0xFFFFFFFF
    good = [[1, 2], [0, 0], [0, 0]]
    splits, leaves = [(0, 0.5), None, None], [leaf, 0, 1]
    (tree,) = _branching(splits, [3], good, leaves, figures, 1)
    assert (tree.children[0], tree.weight[1:], tree.value[1:]) == ((1, 2), (3.0, 4.0), (0.1, 0.2))
    for diffs, names, said in (
        (good[:2], leaves, "not every node has its children"),
        (good, leaves[:2], "not every node has its children"),
        ([[1, 9], *good[1:]], leaves, "the links of node 0 make no tree"),
        ([[1, 3], *good[1:]], leaves, "the links of node 0 make no tree"),
        ([[0, 1], *good[1:]], leaves, "the links of node 0 make no tree"),
        ([[1, 0], *good[1:]], leaves, "the links of node 0 make no tree"),
        (good, [leaf, 0, 7], "the links of node 2 make no tree"),
        ([[1, 1], *good[1:]], leaves, "some node is reached by no path or by two"),
    ):
        assert said in sentence_of(_branching, splits, [3], diffs, names, figures, 1)
    more = [*splits, None], [4], [*good, [0, 0]], [*leaves, 1]
    assert "some node is reached by no path" in sentence_of(_branching, *more, figures, 1)
    monkeypatch.setattr("recon.readers.formats.boosters.catboost_file.MAX_NODES", 3)
    assert _branching(splits, [3], good, leaves, figures, 1) == [tree]
    monkeypatch.setattr("recon.readers.formats.boosters.catboost_file.MAX_NODES", 2)
    assert "some node is reached by no path" in sentence_of(_branching, splits, [3], good, leaves, figures, 1)


def test_forms_of_cbm_files_that_are_not_read():
    data = (GOLDEN / "catboost-1.2.10/binary.cbm").read_bytes()
    assert "CatBoost's format 'FlabuffersModel_v2' is not read" in sentence_of(
        read_draft, data.replace(b"FlabuffersModel_v1", b"FlabuffersModel_v2"), 1 << 28
    )
    for cut in (b"CBM1\x09\x00\x00\x00" + bytes(8), data[:-9], b"CBM2" + data[4:]):
        assert "is not a CatBoost model: its core is cut short" in sentence_of(cbm_booster, cut)
    text = struct.pack("<I", 18) + b"FlabuffersModel_v1" + bytes(2)
    table = struct.pack("<IHHHHiI", 12, 6, 8, 4, 0, 8, 4) + text  # a table of one field, a text: no core
    assert "CatBoost's format 'FlabuffersModel_v1' is not read" in sentence_of(
        cbm_booster, b"CBM1" + struct.pack("<I", len(table)) + table
    )
    for few in (0, 4, 8):
        assert "byte 0: " in sentence_of(cbm_booster, b"CBM1" + bytes([few, 0, 0, 0]) + bytes(few))
    scores = {7: None, (1, (0.5,)): 0.5, (2, (0.5,)): None, (1, (0.5, 1.0)): None, (1,): None}
    for given, bias in scores.items():
        written = [one if isinstance(one, int) else list(one) for one in given] if isinstance(given, tuple) else given
        assert json_booster(changed(parsed("cat"), {"scale_and_bias": written})).bias == bias
    assert json_booster(changed(parsed("cat"), {"scale_and_bias": GONE})).bias == 0
    told = {"model_info.training": {"metrics": 7}}, {"model_info.training": {"metrics": {"learn_metrics_history": [1]}}}
    assert [json_booster(changed(parsed("cat"), one)).trainings[0].trees for one in told] == [0, 1]


def leaves_of_classes(counts, weights=(5, 9, 20, 13, 1, 4, 21, 18), each=0.25, ridge=3, rate=0.5, **settings):
    """Return the first tree of a model, with the values that such rows of the second class give its leaves."""
    rows = zip(weights, counts, strict=True)
    values = [rate * (k - n / 2) / (n * each + ridge) for n, k in rows]
    file = changed(parsed("cat"), {"oblivious_trees": lambda found: found[:1]})
    learner = {f"model_info.params.tree_learner_options.{key}": value for key, value in settings.items()}
    return changed(file, {"oblivious_trees.0.leaf_weights": list(weights), "oblivious_trees.0.leaf_values": values}
                   | {"model_info.params.boosting_options.learning_rate": rate,
                      "model_info.params.tree_learner_options.l2_leaf_reg": ridge} | learner)  # fmt: skip


@pytest.mark.parametrize(
    ("first", "n", "proved"),
    [
        (0, 5, True), (5, 5, True), (-1, 5, False), (6, 5, False), (1.5, 5, False),
        (2 + 4.9e-6, 5, True), (2 - 4.9e-6, 5, True), (2 + 5.1e-6, 5, False), (2 - 5.1e-6, 5, False),
        (7, 100_000, True), (7, 100_001, False),
    ],
)  # fmt: skip
def test_values_of_catboost_prove_classes_where_all_are_whole_numbers_of_rows(first, n, proved):
    counts, weights = (first, 9, 20, 13, 0, 4, 21, 18), (n, 9, 20, 13, 1, 4, 21, 18)
    (model,) = read_catboost(leaves_of_classes(counts, weights)).models
    (tree,) = model.members()
    found = sorted(node.support.counts or (node.support.count,) for node in tree.nodes if node.condition is None)
    told = [(m - round(k), round(k)) if proved else (m,) for m, k in zip(weights, counts, strict=True)]
    assert found == sorted(told)


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        ({"leaf_estimation_method": "Exact", "each": 1}, {}),
        ({"leaf_estimation_iterations": 2}, {}),
        ({"ridge": 0}, {}),  # never compared with rows
        ({"ridge": -0.125}, {}),
        ({"ridge": 1e9}, {}),
        ({"l2_leaf_reg": "3"}, {}),
        ({"rate": 0}, {}),
        ({"rate": -0.5}, {}),
        ({"rate": 1e9}, {}),
        ({}, {"oblivious_trees.0.leaf_values": lambda found: found * 2}),
        ({}, {"scale_and_bias": [2, [0]]}),
    ],
)
def test_values_of_catboost_that_say_no_classes_leave_sizes(settings, more):
    counts = (2, 9, 20, 13, 0, 4, 21, 18)
    assert read_catboost(leaves_of_classes(counts)).origin.counts == ("exact",)
    file = changed(leaves_of_classes(counts, **settings), more)
    assert read_catboost(file).origin.counts == ("size",)
    assert read_catboost(leaves_of_classes((2, 9, 20, 13, 0, 4, 21, 18)), (0, 1, 2)).origin.counts == ("size",)


LEARNT = "learner.gradient_booster.model.cats"
READ = [
    ("xgb categories", {LEARNT: 7}),
    ("xgb categories", {f"{LEARNT}.enc.0": 7}),
    ("xgb categories", {f"{LEARNT}.enc.0": {"values": []}}),
    ("xgb categories", {f"{LEARNT}.enc.0": {"values": 7}}),
    ("xgb categories", {f"{LEARNT}.enc.0": {"values": [3, "a"], "offsets": [0, 1, 2]}}),
    ("xgb categories", {f"{LEARNT}.enc.0": {"values": [3, 5, 7, 9, 11], "offsets": None}}),
    ("lgb", {"feature_infos.age": 7}),
    ("lgb categories", {"pandas_categorical.1": [1, 2, 2.5]}),
    ("lgb", {"tree_info.0.tree_structure.internal_count": -1}),
]


@pytest.mark.parametrize(("file", "changes"), READ)
def test_what_says_less_is_read(file, changes):
    assert not sentence_of(read_json, changed(parsed(file), changes))


def test_classes_of_a_pickle_that_are_no_values_are_left_out():
    root = open_stored((GOLDEN / "lightgbm-4.7.0/binary.pkl").read_bytes()).root
    assert read_pickled(root, "pickle").classes == ("no", "yes")
    for none in (np.array([None, 1]), np.array("no"), np.array([["no", "yes"]])):
        assert read_pickled(changed(root, {"_classes": none}), "pickle").classes == (0, 1)
    boosted = open_stored((GOLDEN / "xgboost-3.2.0/half.pkl").read_bytes()).root
    for missing, marker in ((float("inf"), None), (float("nan"), None), (None, None), ("x", None), (-1, -1.0)):
        assert read_pickled(changed(boosted, {"missing": missing}), "pickle").marker == marker


def test_rows_fewer_than_a_tree_of_treelite_counts():
    path = str(FILES["treelite"])
    assert "different rows, more than 3 (--rows)" in sentence_of(lambda: recon.load(path, rows=3))


# ---------------------------------------------------------------- Spark


class Step:
    """Stands for a step of Spark ML with labels."""

    settings: ClassVar = {}

    def __init__(self, labels):
        self.labels = labels

    def table(self):
        return [{"labelsArray": [self.labels]}]


COLUMNS = SparkColumns(("x0", "x1"), {1: ("a", "b")}, "label", (0, 1), False)


@pytest.mark.parametrize(
    ("stats", "size", "boosted", "weighted", "said"),
    [
        ([1.0], 1, False, False, "has not 2 impurityStats of a node"),
        ([1.0, 2.0], 4, False, False, "has rows per class that do not make its rows (rawCount)"),
        ([1.5, 1.5], 3, False, False, "has rows per class that do not make its rows (rawCount)"),
        ([-1.0, 4.0], 3, False, False, "has rows per class that do not make its rows (rawCount)"),
        ([1.0, 1.5], None, False, False, "has numbers of rows that are not whole"),
        ([1.0, 1.5], 2.5, False, False, "has numbers of rows that are not whole"),
        ([1.0, 1.5], None, False, True, "Spark before 3.0 does not store these: fit it without weightCol"),
        ([1.0, 2.0], 3, False, False, ""),
        ([1.0, 1.5], 3, False, True, ""),
        ([3.0, 1.0, 3.0], 3, True, False, ""),
    ],
)
def test_what_nodes_of_spark_count(stats, size, boosted, weighted, said):
    reader = _SparkNodes(COLUMNS, {"weightCol": "w"} if weighted else {})
    found = sentence_of(reader._counts, np.array([stats]), [size], 0, boosted, "data")
    assert said in found
    assert bool(found) == bool(said)


@pytest.mark.parametrize(
    ("stats", "sizes_", "said"),
    [
        ([[1, 2], [0, 0]], [3, 0], ""),
        ([[1, 2], [1, 1]], [3, 2.5], "has numbers of rows that are not whole"),
        ([[1, 2], [2.0**53, 0]], [3, 2.0**53], "has numbers of rows that are not whole"),
        ([[1, 2], [2.0**53 - 1, 0]], [3, 2.0**53 - 1], ""),
        ([[1, 2, 0], [1.5, 0.5, 1]], [3, 3], "has rows per class that do not make its rows"),
        ([[1, 2], [-1, 4]], [3, 3], "has rows per class that do not make its rows"),
        ([[1, 2], [1, 1]], [3, 3], "has rows per class that do not make its rows"),
    ],
)
def test_every_node_of_spark_counts_whole_rows(stats, sizes_, said):
    found = sentence_of(_SparkNodes(COLUMNS, {})._counts, np.array(stats, dtype=float), sizes_, 0, False, "data")
    assert said in found
    assert bool(found) == bool(said)


@pytest.mark.parametrize(
    ("at", "given", "many", "said"),
    [
        (2, [0.5], -1, "tests column 2 of 2"),
        (0, [float("inf")], -1, "has no threshold of 'x0'"),
        (1, [0.5], -1, "has no threshold of 'x1'"),
        (1, [0], 3, "has a split on 3 categories of 'x1'"),
        (1, [2], 2, "has a split on 2 categories of 'x1'"),
        (1, [1], 2, ""),
        (1, [0, 1], 2, ""),
        (0, [0.5], -1, ""),
    ],
)
def test_what_nodes_of_spark_test(at, given, many, said):
    split = {"featureIndex": at, "leftCategoriesOrThreshold": given, "numCategories": many}
    found = sentence_of(_SparkNodes(COLUMNS, {})._test, split, "data")
    assert said in found
    assert bool(found) == bool(said)


@pytest.mark.parametrize(
    ("covers", "rows"),
    [
        ((0.5, 0.25, 0.25), [2, 1, 1]),  # a leaf of one row
        ((0.5, 0.5, 0.0), None),
        ((262_140 / 2, 262_140 / 4, 262_140 / 4), [524_280, 262_140, 262_140]),
        ((262_144 / 2, 262_144 / 4, 262_144 / 4), None),  # 32 bits leave every other number out
        ((0.75, 0.5, 0.5), None),
    ],
)
def test_covers_of_xgboost_that_are_numbers_of_rows(covers, rows):
    split = BoosterSplit("x", Test(high=1), Test(low=1, low_open=True))
    grown = BoosterTree([split, None, None], [(1, 2), (-1, -1), (-1, -1)])
    found = sizes(StoredXGBoostTree("tree 0", 0, grown, list(covers), [0.0] * 3), 0.5, 1.0)
    assert (None if found is None else found.rows.tolist()) == rows


@pytest.mark.parametrize(("codes", "values"), [((0, 2), ("a", "c")), ((0, 3), None), ((-1, 1), None), ((), None)])
def test_categories_of_xgboost_are_those_that_the_file_names(codes, values):
    told = {"g": ["a", "b", "c"]}
    if values is None:
        assert f"the categories {list(codes)} of 'g' are not all known" in sentence_of(
            _values_of, codes, "g", told, "t"
        )
        return
    assert _values_of(codes, "g", told, "t") == values


NODES = {"id": 0, "leftChild": -1, "rightChild": -1, "impurityStats": [1.0, 2.0], "rawCount": 3}


@pytest.mark.parametrize(
    ("changes", "most", "said"),
    [
        ({}, 1, ""),
        ({}, 0, "has not the nodes 0, 1, 2, ..."),
        ({"id": 1}, 1, "has not the nodes 0, 1, 2, ..."),
        ({"impurityStats": [[1.0, 2.0]]}, 1, "has not the nodes 0, 1, 2, ..."),
        ({"impurityStats": [1.0, math.inf]}, 1, "has not the nodes 0, 1, 2, ..."),
        ({"impurityStats": [1.0, math.nan]}, 1, "has not the nodes 0, 1, 2, ..."),
        ({"impurityStats": 7}, 1, "has nodes without links, tests or impurityStats"),
    ],
)
def test_nodes_of_spark_are_numbered_and_have_figures(changes, most, said, monkeypatch):
    monkeypatch.setattr("recon.readers.formats.boosters.spark.MAX_NODES", most)
    found = sentence_of(_SparkNodes(COLUMNS, {}).tree, [NODES | changes], 0, False)
    assert said in found
    assert bool(said) == bool(found)


@pytest.mark.parametrize(("told", "found"), [(1, 1), (3, 3), (0, None), (4, None), (2.0, None), (None, None)])
def test_numbers_of_what_a_model_of_spark_has(told, found):
    part = SparkPart("M", {"k": told}, {}, {})
    assert part.whole("k", 3) == found if found else "a whole number from 1 to 3" in sentence_of(part.whole, "k", 3)


@pytest.mark.parametrize(
    ("inputs", "more", "said"),
    [
        (["a", "b"], [], ""),
        (None, [], "makes the model's 2 columns in a way that is not read"),
        (["a"], [], "makes the model's 2 columns in a way that is not read"),
        (["a", "b", "c"], [], "makes the model's 2 columns in a way that is not read"),
        (["a", "a"], [], "makes the model's 2 columns in a way that is not read"),
        (["a", "b"], [SparkPart("Bucketizer", {}, {"inputCol": "c", "outputCol": "b"}, {})], "columns by Bucketizer"),
        (["a", "b"], [SparkPart("PCAModel", {}, {"inputCol": "c", "outputCol": "v"}, {})], "columns by PCAModel"),
        (["a", "b"], [SparkPart("Bucketizer", {}, {"inputCol": "c", "outputCol": "d"}, {})], ""),
    ],
)
def test_columns_that_a_pipeline_of_spark_makes(inputs, more, said):
    model = SparkPart("GBTRegressionModel", {"numFeatures": 2}, {"labelCol": "y", "featuresCol": "v"}, {})
    joined = SparkPart("VectorAssembler", {}, {"inputCols": inputs, "outputCol": "v"}, {})
    steps = [*([] if inputs is None else [joined]), *more, model]
    found = sentence_of(SparkColumns.of, model, steps)
    assert said in found
    assert bool(said) == bool(found)
    assert found or SparkColumns.of(model, steps).names == ("a", "b")


@pytest.mark.parametrize("steps", [7, [], [7], ["a", 7], "ab"])
def test_a_pipeline_of_spark_that_does_not_name_its_steps(steps):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        told = {"class": "org.apache.spark.ml.PipelineModel", "paramMap": {"stageUids": steps}}
        made.writestr("metadata/part-0", json.dumps(told))
    assert "does not name its steps" in sentence_of(read_spark, out.getvalue())


def test_labels_of_spark_and_files_that_are_none():
    assert _labels(Step(["a", "b"])) == [("a", "b")]
    for labels in ([], ["a", "a"], 7):
        assert "has no different labels" in sentence_of(_labels, Step(labels))
    assert "does not say of which class of Spark ML it is" in sentence_of(SparkPart.of, {"metadata/part-0": b"[1]"})


# ---------------------------------------------------------------- YDF and ranger


def test_protocol_buffers_that_are_cut_off():
    assert "holds a number of more than 64 bits" in sentence_of(_varint, b"\xff" * 12, 0)
    for cut in (b"\x12\x09ab", b"\x12", b"\x0b\x01"):
        assert "header.pb: is no protocol buffer, or was cut off" in sentence_of(_message, cut, "header.pb")


def test_forests_of_ranger_with_other_links():
    root = read_rds((CORPUS / "ranger_survival.rds").read_bytes())
    forest = ["forest", "child.nodeIDs", "0"]
    short = RObject("double", np.zeros(1))
    for path, new, said in (
        (forest, lambda links: RObject("list", list(links.values)[:1]), "has not as many links as tests"),
        (
            forest[:2],
            lambda trees: RObject("list", list(trees.values)[:1]),
            "as many links, tests and hazards as trees",
        ),
        (forest[:2], lambda trees: RObject("list", []), "as many links, tests and hazards as trees"),
        ([*forest, "0"], short, "has not as many links as tests"),
        (["forest", "chf", "0"], lambda held: RObject("list", list(held.values)[:1]), "one list of hazards for every"),
        (["forest", "split.values", "0"], RObject("character", ["x"]), "has something else than numbers"),
        (["num.samples"], RObject("character", ["x"]), "has something else than numbers"),
    ):
        assert said in sentence_of(read_ranger_rds, in_r(root, path, new))
    assert ranger_object(root).value is root
    assert ranger_object(read_rds((GOLDEN / "rpart-4.1.19/people.rds").read_bytes())) is None
    other = in_r(root, ["treetype"], RObject("character", ["Tweedie"]))
    assert "is 'Tweedie', no kind of forest that is known" in sentence_of(read_ranger_rds, other)
    other = read_rds((CORPUS / "ranger_survival.rds").read_bytes())
    assert ranger_object(RObject("list", [root, other])) is None
    assert "holds several forests of ranger" in sentence_of(
        read_rpart_rds, b"", 1 << 30, RObject("list", [root, other])
    )


@pytest.mark.parametrize("file", ["ranger_survival.rds", "ranger_shares.rds"])
def test_a_forest_of_ranger_without_trees(file):
    root = read_rds((CORPUS / file).read_bytes())
    for name in ("child.nodeIDs", "split.varIDs", "split.values", "chf", "terminal.class.counts"):
        if name in named_parts(named_parts(root)["forest"]):
            root = in_r(root, ["forest", name], RObject("list", []))
    assert "has not as many links, tests and" in sentence_of(read_ranger_rds, root)


@pytest.mark.parametrize(
    ("codes", "levels", "found"),
    [
        ([1, 2], ["b", "a"], ("b", "a")), ([2], ["b", "a"], ("a",)), ([2, 7], [], (2, 7)), ([0], ["b", "a"], None),
        ([3], ["b", "a"], None), ([1.5], ["b", "a"], None), ([1, 1], ["b", "a"], None),
    ],
)  # fmt: skip
def test_classes_that_ranger_numbers(codes, levels, found):
    if found is None:
        assert "m$forest$class.values: " in sentence_of(_class_names, codes, levels)
        return
    assert _class_names(codes, levels) == found


@pytest.mark.parametrize(
    ("times", "rows", "good"),
    [([1, 2], 2, True), ([1, 2], 1, False), ([], 2, False), ([1, 1], 2, False), ([2, 1], 2, False),
     ([1, math.inf], 2, False), ([1, math.nan], 2, False), ([-math.inf, 1], 2, False)],
)  # fmt: skip
def test_times_of_ranger_ascend(times, rows, good):
    found = sentence_of(_times, np.array(times, dtype=float), rows)
    assert ("has no ascending times" in found) == (not good)


@pytest.mark.parametrize(
    ("bags", "whole", "refused"),
    [
        ([[1, 1, 1], [1, 1, 1]], True, False), ([[1, 1, 1], [1, 0, 1]], False, False),
        ([[2, 1, 0], [1, 1, 1]], False, False),
        ([[1, 1, 1]], None, True), ([[1, 1, 1], [1, 1]], None, True), ([[1, 1], [1, 1]], None, True),
    ],
)  # fmt: skip
def test_how_often_each_tree_of_ranger_drew_every_row(bags, whole, refused):
    parts = {"replace": RObject("logical", np.array([0])),
             "inbag.counts": RObject("list", [RObject("integer", np.array(bag)) for bag in bags])}  # fmt: skip
    if refused:
        assert "has not 3 numbers for each of 2 trees" in sentence_of(_sampling, parts, {}, 2, 3)
        return
    assert _sampling(parts, {}, 2, 3) == (whole, False)


def test_every_training_of_a_sum_of_models_is_named():
    """`sum_models` numbers the trainings from 0 on; those of `init_model` come before what goes on from them."""
    told = {f"model{k}:params": json.dumps({"iterations": k}) for k in (0, 2, 10, 150)}
    told["model10:initModel:params"] = json.dumps({"iterations": 7})
    found = [(one.params["iterations"], one.summed) for one in _trainings(told)]
    assert found == [(0, True), (2, True), (7, True), (10, True), (150, True)]
