"""The ledger: nothing is passed over, whatever it stands in; honest models raise no alarm."""

from __future__ import annotations

import copy
import gzip
import io
import json
import pickle
import re
import tracemalloc
import warnings
import zipfile
from array import array
from collections import Counter, OrderedDict, deque, namedtuple
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest
from extras import extra
from holder_cases import in_leaves, opcodes, opcodes_of, to_rds
from holders import KINDS, failures

import recon
from encoders.domain.domain import Domain
from recon.readers.formats.release.writing import domain_json
from recon.readers.inspection.documents.booster_text import lightgbm_as_json
from recon.readers.inspection.documents.leftovers import own_texts
from recon.readers.inspection.findings.findings import about
from recon.readers.inspection.inspecting import inspect, inspect_bytes
from recon.readers.inspection.ledger.forms import HERE, document_ledger, is_name, more_than_settings
from recon.readers.inspection.ledger.implied import of_document
from recon.readers.inspection.ledger.lines import _json_spaces
from recon.readers.inspection.ledgers import ledger_of
from recon.readers.inspection.objects.traversal import _stray
from recon.readers.inspection.searching import searched
from recon.readers.inspection.stripping import strip
from recon.readers.loading.settled import uses_of
from recon.readers.stored.binary.rds import RObject
from solvers.foundation.errors import ReconError

extra("sklearn")
from scipy.interpolate import make_interp_spline  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.covariance import GraphicalLasso  # noqa: E402
from sklearn.datasets import load_iris  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.kernel_approximation import PolynomialCountSketch  # noqa: E402
from sklearn.linear_model import SGDClassifier  # noqa: E402
from sklearn.multiclass import OutputCodeClassifier  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.neural_network import BernoulliRBM, MLPClassifier  # noqa: E402
from sklearn.preprocessing import MaxAbsScaler, SplineTransformer, StandardScaler  # noqa: E402

GOLDEN = Path(__file__).parent / "golden"
FOUND = {
    "popped_bytes.pkl": ("unknown", "(beside the content)"),
    "py_bunch2.joblib": ("critical", "['data']"),
    "py_gmm_rows.joblib": ("critical", "means_"),
    "py_kde_scipy.joblib": ("critical", "dataset"),
    "py_kdtree_sk.joblib": ("critical", "(state)"),
    "lm_docall.rds": ("unknown", "m$call"),
    "strip_lm_env.rds": ("unknown", 'attr(m$terms, ".Environment")$hiv'),
    "ranger_prob_nopred.rds": ("high", "m$forest$terminal.class.counts"),
    "names_hold_rows.json": ("unknown", "(texts)"),
    "lightgbm_feature_name_holds_rows.txt": ("unknown", "feature_names"),
}


@pytest.mark.parametrize("file", FOUND)
def test_rows_hidden_in_known_places_are_found(file):
    assert FOUND[file] in {(f.level, f.path) for f in inspect(GOLDEN / "inspect" / file).findings}


def fitted():
    from sklearn.tree import DecisionTreeClassifier

    draw = np.random.default_rng(0)
    x = draw.normal(size=(60, 3))
    return DecisionTreeClassifier(max_depth=2, random_state=0).fit(x, x[:, 0] > 0)


HOLDERS = {
    "text": "0,0,0;1,7,1;2,14,0;3,21,1",
    "integer": 10**200 + 7,
    "dict": {f"person {i}": i for i in range(20)},
    "list one short": list(range(59)),
    "floats": [1.5, 2.5, 3.5],
    "bytes": bytes(range(40)),
    "array": np.arange(12.0),
    "set": {"alice", "bob", "carol"},
}


@pytest.mark.parametrize("name", HOLDERS)
def test_what_hangs_on_an_estimator_is_not_understood(name):
    model = fitted()
    model.note_ = HOLDERS[name]
    assert "unknown" in {f.level for f in inspect_bytes(pickle.dumps(model)).findings}


IRIS = load_iris(return_X_y=True)
PEOPLE = [(18 + 7 * i % 71, 12_000 + 7_919 * i, i % 2) for i in range(24)]
DAY = datetime(2020, 1, 1, tzinfo=UTC)
Level = Enum("Level", "no yes")
Person = namedtuple("Person", "age income ill")
FLAT = [value for row in PEOPLE for value in row]
SORTS = {  # of values that pickles have in lists: no sort is one that the walk passes over
    "complex": [complex(a, b) for a, b, _ in PEOPLE], "complex set": {complex(a, b) for a, b, _ in PEOPLE},
    "complex keys": {complex(a, b): None for a, b, _ in PEOPLE}, "complex array": np.array([a + 1j for a in FLAT]),
    "complex objects": np.array([complex(a) for a in FLAT], dtype=object),
    "decimal": [Decimal(v) for v in FLAT], "fraction": [Fraction(a, b) for a, b, _ in PEOPLE],
    "date": [DAY.date() + timedelta(a) for a, _, _ in PEOPLE], "time": [DAY + timedelta(a, b) for a, b, _ in PEOPLE],
    "difference": {timedelta(a, b) for a, b, _ in PEOPLE}, "date keys": {DAY + timedelta(a): 0 for a, _, _ in PEOPLE},
    "bytes": [bytes(row[::2]) for row in PEOPLE], "bytearray": [bytearray(row[::2]) for row in PEOPLE],
    "view": bytes(memoryview(bytes(FLAT[::3]))), "array": array("l", FLAT), "deque": deque(FLAT),
    "frozen": frozenset(PEOPLE), "sets": set(map(frozenset, PEOPLE)), "range": [range(a, b) for a, b, _ in PEOPLE],
    "slice": [slice(*row) for row in PEOPLE], "counter": Counter(FLAT), "ordered": OrderedDict.fromkeys(FLAT),
    "scalars": [np.float32(v) for v in FLAT], "types": [(int, str, float)[v % 3] for v in FLAT],
    "empty lists": [[[], ()][v % 2] for v in FLAT], "empty arrays": [np.empty((a, 0, b)) for a, b, _ in PEOPLE],
    "units": [np.datetime64(b, "s") for _, b, _ in PEOPLE], "long": np.array(FLAT, "g"),
    "no numbers": np.array([0x7FF8 << 48 | v for v in FLAT], "u8").view("f8"),
    "generators": [np.random.default_rng(v) for v in FLAT], "objects": [object() for _ in FLAT],
    "named": [Person(*row) for row in PEOPLE], "enumeration": [Level(v % 2 + 1) for v in FLAT],
    "state": np.random.RandomState(3),
}  # fmt: skip


@pytest.mark.sampled(7)
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("sort", SORTS)
def test_values_of_every_sort_are_told_wherever_they_hang(sort, outputs):
    whole = fitted() if outputs == 1 else fitted_for_two()
    raw = pickle.dumps(whole)
    assert not {f.path for f in inspect_bytes(raw).findings if f.level == "unknown"}
    for attribute in ("note_", "max_features", "class_weight", "feature_names_in_", "classes_"):
        model = pickle.loads(raw)
        vars(model)[attribute] = SORTS[sort]
        try:
            found = inspect_bytes(pickle.dumps(model)).findings
        except ReconError:
            continue
        assert any(f.level in {"unknown", "critical", "high"} and attribute in f.path for f in found), attribute


def test_keys_that_are_objects_are_no_seeds():
    model = fitted()
    model.scores_ = {np.float64(0.5): {"random_state": 1}, "random_state": 2}
    assert "unknown" in {f.level for f in inspect_bytes(pickle.dumps(model)).findings}


def test_empty_lists_taken_off_the_stack_are_told():
    raw = pickle.dumps(fitted(), 2)[:-1] + opcodes([[[], ()][v % 2] for v in FLAT]) + b"0."
    assert "(beside the content)" in {f.path for f in inspect_bytes(raw).findings if f.level == "unknown"}


def fitted_for_two():
    from sklearn.tree import DecisionTreeClassifier

    x = np.random.default_rng(0).normal(size=(60, 3))
    return DecisionTreeClassifier(max_depth=2, random_state=0).fit(x, x[:, :2] > 0)


def test_classes_are_different_labels_and_no_more_than_the_model_has():
    for labels in (
        [0, 1, 1],
        [0.0, float("nan"), float("nan")],
        [[0], [1]],
        [b"no", b"yes"],
        list(range(24)),
        [0, 1, 2],
    ):
        model = fitted()
        model.classes_ = labels
        assert "classes_" in {f.path for f in inspect_bytes(pickle.dumps(model)).findings if f.level == "unknown"}
    model = fitted()
    model.classes_ = np.array(["no", "yes"], dtype=object)
    assert not {f.path for f in inspect_bytes(pickle.dumps(model)).findings if f.level == "unknown"}


def test_sizes_of_trees_are_those_of_their_nodes():
    raw = pickle.dumps(fitted(), 2)
    name = raw.index(b"node_count")  # behind the depth of the tree, before the number of nodes
    for at in (name - 6, raw.index(b"K", name) + 1):
        assert raw[at - 1] == ord("K")
        changed = raw[:at] + bytes([raw[at] + 40]) + raw[at + 1 :]
        assert "tree_.nodes" in {f.path for f in inspect_bytes(changed).findings if f.level == "unknown"}


def test_words_of_a_generator_are_drawn():
    from sklearn.linear_model import SGDClassifier

    x = np.random.default_rng(0).normal(size=(60, 3))
    model = SGDClassifier(random_state=np.random.RandomState(1)).fit(x, x[:, 0] > 0)
    assert not {f.path for f in inspect_bytes(pickle.dumps(model)).findings if f.level == "unknown"}
    state = model.random_state.get_state()
    model.random_state.set_state((state[0], np.resize(np.array(FLAT, "u4"), 624), *state[2:]))
    assert {f.path for f in inspect_bytes(pickle.dumps(model)).findings if f.level == "unknown"}


def test_parameters_of_many_models_hold_no_rows():
    from sklearn.pipeline import FeatureUnion
    from sklearn.preprocessing import KBinsDiscretizer

    def unknown(bins):
        steps = [("b", KBinsDiscretizer(n_bins=number)) for number in bins]
        found = inspect_bytes(pickle.dumps(FeatureUnion(steps))).findings
        return {f.path for f in found if f.level == "unknown"}

    assert not unknown([5] * 24 + list(range(5, 13)))
    assert unknown([b for _, b, _ in PEOPLE])


NEURAL = MLPClassifier((5, 4), max_iter=5, random_state=0)
AVERAGED = SGDClassifier(average=True, random_state=0)
LINE = make_interp_spline(np.sort([float(b) for _, b, _ in PEOPLE]), [float(a) for a, _, _ in PEOPLE])


@pytest.mark.parametrize(("attribute", "value"), [
    ("max_depth", list(range(30))), ("class_weight", {i: float(i) for i in range(200)}), ("criterion", "x" * 90),
    ("random_state", 7**300), ("feature_names_in_", np.array(["a" * 500, "b", "c"], dtype=object)),
])  # fmt: skip
def test_known_attributes_hold_no_more_than_fits_had(attribute, value):
    model = fitted()
    setattr(model, attribute, value)
    found = {f.path for f in inspect_bytes(pickle.dumps(model)).findings if f.level == "unknown"}
    assert attribute in found


@pytest.mark.parametrize(("model", "changes"), [
    (NEURAL, {}), (AVERAGED, {}), (OutputCodeClassifier(GaussianNB(), random_state=0), {}),
    (BernoulliRBM(3, n_iter=2, random_state=0), {}), (PolynomialCountSketch(n_components=4, random_state=0), {}),
    (SplineTransformer(knots="quantile"), {"bsplines_": [LINE]}),  # a curve through rows is no basis
    (GraphicalLasso(1.0), {"costs_": [tuple(row) for row in PEOPLE]}),
    (StandardScaler(), {"n_samples_seen_": [complex(a, b) for a, b, _ in PEOPLE]}),
    (StandardScaler(), {"n_samples_seen_": [b for _, b, _ in PEOPLE]}),
    (MaxAbsScaler(), {"max_abs_": np.array(PEOPLE, float).reshape(-1)}),
    (GaussianNB(), {"class_prior_": [float(b) for _, b, _ in PEOPLE]}),
], ids=lambda one: type(one).__name__ if hasattr(one, "fit") else "-".join(one))  # fmt: skip
def test_what_was_decided_by_hand_is_no_alarm_and_other_values_there_are(model, changes):
    draw = np.random.default_rng(0)
    x = draw.random((40, 3)).round(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(model).fit(x, x[:, 0] > 0.5)
    grave = {"unknown", "critical", "high"}
    before = [f for f in inspect_bytes(pickle.dumps(model)).findings if f.level in grave]
    assert {f.path for f in before} <= {"class_count_", "(the model)"}  # of naive Bayes: rows of every class
    for name, value in changes.items():
        setattr(model, name, value)
        told = [f.path for f in inspect_bytes(pickle.dumps(model)).findings if f.level in grave]
        assert any(path.startswith(name) for path in told)


def test_classes_of_a_booster_hold_no_lists():
    raw = (GOLDEN / "models" / "lightgbm-4.7.0" / "categories.pkl").read_bytes()
    before = {f.path for f in inspect_bytes(raw).findings if f.level == "unknown"}
    bits = b"](" + b"\x88\x89\x89\x88" * 20 + b"e"
    key = b"u\x8c\x1a_fitted_with_feature_names"
    changed = re.sub(rb"\x95.{8}", b"", raw, count=1, flags=re.DOTALL)  # without frames
    assert changed.count(key) == 1
    changed = changed.replace(key, b"uX\x05\x00\x00\x00x_735" + bits + b"s" + key[1:])
    assert {f.path for f in inspect_bytes(changed).findings if f.level == "unknown"} - before == {"_class_map"}


def pushed(data, attribute, value):
    """Return a pickle without frames with one more key in the state of its root."""
    raw = re.sub(rb"\x95.{8}", b"", data, count=1, flags=re.DOTALL)
    at = [end for (name, _, _, end), after in pairwise(opcodes_of(raw)) if name == "SETITEMS" and after[0] == "BUILD"][
        -1
    ]
    return raw[:at] + opcodes(attribute) + opcodes(value) + b"s" + raw[at:]


@pytest.mark.parametrize(("file", "attribute", "value"), [
    ("catboost-1.2.10/binary.pkl", "_prediction_values_change", [[31.0, 1.0], [44.0, 0.0]]),
    ("catboost-1.2.10/binary.pkl", "_prediction_values_change", [float(i) for i in range(40)]),
    ("lightgbm-4.7.0/binary.pkl", "_class_map", {"no": 0, "yes": 1, "x": np.arange(20)}),
    ("lightgbm-4.7.0/binary.pkl", "_other_params", {"verbose": -1, "x": np.arange(90) % 2 == 0}),
    ("sklearn-1.9.1/tree.pkl", "n_classes_", {i: i for i in range(20)}),
])  # fmt: skip
def test_attributes_hold_values_of_the_kinds_that_fits_have(file, attribute, value):
    raw = (GOLDEN / "models" / file).read_bytes()
    assert attribute in {f.path for f in inspect_bytes(pushed(raw, attribute, value)).findings if f.level == "unknown"}


def test_figures_of_columns_that_are_stated_have_the_kinds_that_fits_have():
    from sklearn.model_selection import GridSearchCV
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    x = np.random.default_rng(0).integers(0, 3, (60, 3)).astype(float)
    scaler, encoder = StandardScaler().fit(x), OneHotEncoder().fit(x)
    search = GridSearchCV(fitted(), {"max_depth": [1, 2]}, cv=3).fit(x, x[:, 0] > 0)
    scaler.n_samples_seen_ = encoder.drop_idx_ = {i: 12 * i for i in range(60)}
    search.best_params_ = x[:, 0] > 0
    for model, path in ((scaler, "n_samples_seen_"), (encoder, "drop_idx_"), (search, "best_params_")):
        grave = {f.path for f in inspect_bytes(pickle.dumps(model)).findings if f.level in {"unknown", "high"}}
        assert path in grave


def test_categories_of_a_booster_are_those_of_its_text():
    raw = (GOLDEN / "models" / "lightgbm-4.7.0" / "categories.pkl").read_bytes()
    at = raw.index(b"\x8c\x12pandas_categorical\x94]\x94(") + 24
    changed = raw[:at] + opcodes(["alice", "bob"]) + raw[at:]
    found = {f.path for f in inspect_bytes(changed).findings if f.level == "unknown"}
    assert "_Booster.pandas_categorical" in found


def test_types_of_numbers_in_lists_hold_nothing():
    raw = (GOLDEN / "models" / "catboost-1.2.10" / "categories.pkl").read_bytes()
    at = next(end for (name, _, _, end), after in pairwise(opcodes_of(raw)) if name == "BUILD" and after[1] is not None)
    changed = raw[:at] + b"}" + opcodes("data") + opcodes("31;1,44;0,52;1" * 9) + b"sb" + raw[at:]
    found = {f.path for f in inspect_bytes(changed).findings if f.level == "unknown"}
    assert "_prediction_values_change" in found


@pytest.mark.parametrize(("rows", "told"), [(5, False), (30, True)])
def test_parameters_of_many_trees_hold_no_rows(rows, told):
    from sklearn.ensemble import RandomForestClassifier

    draw = np.random.default_rng(0)
    x = draw.normal(size=(60, 3))
    model = RandomForestClassifier(30, max_depth=2, random_state=0).fit(x, x[:, 0] > 0)
    for tree, row in zip(model.estimators_[:rows], x, strict=False):
        tree.ccp_alpha = float(row[0])
    assert ("unknown" in {f.level for f in inspect_bytes(pickle.dumps(model)).findings}) is told


def test_a_few_small_values_change_nothing_and_many_do():
    for count, unknown in ((8, 0), (9, 1)):
        model = fitted()
        for i in range(count):
            setattr(model, f"extra{i}_", i + 0.5)
        found = inspect_bytes(pickle.dumps(model))
        assert len([f for f in found.findings if f.level == "unknown"]) == unknown
        assert sum(e.status == "unknown" for e in found.ledger.entries) == count


def test_padding_of_records_is_read():
    model = fitted()
    data = bytearray(pickle.dumps(model))
    before = inspect_bytes(bytes(data))
    nodes = model.tree_.__getstate__()["nodes"]
    raw = nodes.tobytes()
    at = bytes(data).index(raw)
    assert nodes.dtype.itemsize == 64  # a byte says where missing values go; seven follow it
    data[at + 57 : at + 64] = b"alice31"
    after = inspect_bytes(bytes(data))
    assert "unknown" not in {f.level for f in before.findings}
    assert "tree_.nodes" in {f.path for f in after.findings if f.level == "unknown"}


def test_copies_of_trees_keep_memory_that_a_stripped_copy_has_not(tmp_path):
    model = RandomForestClassifier(3, random_state=0).fit(*IRIS)
    nodes = model.estimators_[1].tree_.__getstate__()["nodes"]
    data = bytearray(pickle.dumps(model))
    at = bytes(data).index(nodes.tobytes())
    data[at + 57 : at + 64] = np.float64(IRIS[0][0, 0]).tobytes()[:7]  # as copy.deepcopy leaves it
    (one,) = [f for f in inspect_bytes(bytes(data)).findings if f.level == "unknown"]
    assert (one.path, one.rule, one.removable) == ("estimators_[1].tree_.nodes", "padding", True)
    assert any(e.status == "used" and e.path.endswith("tree_.nodes") for e in inspect_bytes(bytes(data)).ledger.entries)
    path, out = tmp_path / "copy.pkl", tmp_path / "stripped.pkl"
    path.write_bytes(data)
    found = strip(path, out)
    assert "unknown" not in {f.level for f in found.after.findings}
    assert "fields of records are 0 in 1 array" in found.proof[0]
    again = pickle.loads(out.read_bytes())
    assert np.array_equal(again.predict_proba(IRIS[0]), model.predict_proba(IRIS[0]))


def test_containers_hold_nothing_beside_their_content():
    plain = pickle.dumps(fitted())
    assert "unknown" not in {f.level for f in inspect_bytes(gzip.compress(plain)).findings}
    made = io.BytesIO()
    with gzip.GzipFile("x" * 300, "wb", fileobj=made) as packed:
        packed.write(plain)
    assert "unknown" in {f.level for f in inspect_bytes(made.getvalue()).findings}
    skops = (GOLDEN / "models" / "sklearn-1.9.1" / "forest.skops").read_bytes()
    assert "unknown" not in {f.level for f in inspect_bytes(skops).findings}
    copy = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(skops)) as old, zipfile.ZipFile(copy, "w") as new:
        for info in old.infolist():
            info.comment = b"alice,31,yes;bob,44,no"
            new.writestr(info, old.read(info.filename))
    assert "unknown" in {f.level for f in inspect_bytes(copy.getvalue()).findings}


def test_series_with_named_values_are_no_rows():
    found = inspect_bytes(pickle.dumps(pd.Series([0.25, 0.5], index=["Berne", "Oslo"])))
    assert "critical" not in {f.level for f in found.findings}
    assert inspect_bytes(pickle.dumps(pd.Series(np.arange(9.0)))).findings[0].level == "critical"


@pytest.mark.parametrize(("file", "kept", "rows"), [
    ("ebm_small.joblib", {"columns", ""}, 26), ("ce_TargetEncoder.joblib", {"columns", "labels", ""}, None),
])  # fmt: skip
def test_aggregates_are_no_rows(file, kept, rows):
    found = inspect(GOLDEN / "inspect" / file)
    grave = {f.rule for f in found.findings if f.level not in {"medium", "info"}}
    assert grave == ({"published-counts"} if rows is None else {"bin-counts"})  # bins of one person
    assert {about(f) for f in found.findings} == kept
    assert found.rows == (1000 if rows is None else rows)


@pytest.mark.parametrize(("kind", "before", "after"), [
    ("text cut short", "\nfeature_infos=", "\nfeature_inf"),
    ("dump with rows behind", "]", ", 31, 1, 44, 0, 52, 1, 19, 0]"),
    ("more names than columns", '"feature_names":[', '"feature_names":["p31_44_0","p52_1_19","p0_27_1",'),
])  # fmt: skip
def test_what_only_a_reader_passes_over_is_not_understood(kind, before, after):
    file = {
        "text": "lightgbm-4.7.0/binary.txt",
        "dump": "xgboost-3.2.0/half.dump.json",
        "more": "xgboost-3.2.0/half.json",
    }
    text = (GOLDEN / "models" / file.get(kind.partition(" ")[0], "xgboost-3.2.0/half.json")).read_text()
    assert "unknown" not in {f.level for f in inspect_bytes(text.encode()).findings}
    changed = after.join(text.rsplit(before, 1))
    assert changed != text
    assert "unknown" in {f.level for f in inspect_bytes(changed.encode()).findings}


WEKA = "J48 pruned tree\n------\n\na <= 0.6: no (50.0)\na > 0.6\n|   b = x: yes (48.0/1.0)\n|   b = y: no (2.0)\n"
XGB = "booster[0]:\n0:[a<48] yes=1,no=2,missing=1,gain=1.5,cover=8.5\n\t1:leaf=0.5,cover=4\n\t2:leaf=-0.5,cover=4.5\n"
RPART = (
    "n= 80 \n\nnode), split, n, loss, yval, (yprob)\n      * denotes terminal node\n\n1) root 80 37 no (0.5 0.5) *\n"
)
CORELS = "RULELIST:\nif [a && not b]:\n  y = No [27, 7]\nelse \n  y = Yes [10, 43]\n"


@pytest.mark.parametrize(("text", "line"), [
    (WEKA, "note: 31 yes 44 no 52 yes"), (WEKA, "Size of the tree : 31 44 52 19 27"),
    (CORELS, "if [31, 1; 44, 0; 52, 1; 19, 0; 27, 1]:"), (CORELS, "else 31 44 52 19 27 no yes no"),
    (XGB, "3:leaf=0.3104405211900027011310440521190"), (RPART, "2) x24|1,53|0,58|0,35|1< 3 80 37 no (0.5 0.5) *"),
])  # fmt: skip
def test_lines_that_no_printed_tree_has_are_not_understood(text, line):
    assert "unknown" not in {f.level for f in inspect_bytes(text.encode()).findings}
    assert "unknown" in {f.level for f in inspect_bytes((text + line + "\n").encode()).findings}


def test_names_are_no_numbers_one_behind_the_other():
    for name in ("at 2020-01-01 00:00:00", "income_10_000_to_20_000_", "0.5 < x <= 1.5"):
        assert is_name(name)
    for name in ("24 226564 1 53 191304 0 58 221900 0", "24_226564_1_53_191304_0_58_221900_0", "x 1:2:3:4:5:6:7:8"):
        assert not is_name(name)


def test_rows_are_searched_value_by_value():
    from sklearn.neighbors import KNeighborsClassifier

    draw = np.random.default_rng(0)
    rows = pd.DataFrame(draw.normal(size=(30, 4)), columns=list("abcd"))
    labels = (rows["a"] > 0).astype(int)
    neighbours = KNeighborsClassifier().fit(rows.to_numpy(), labels)
    stored = searched(pickle.dumps(neighbours), rows)
    assert ("stored-row", "_fit_X", 30) in {(f.rule, f.path, f.entries) for f in stored}
    assert searched(pickle.dumps(fitted()), rows) == []


OF_IMODELS = ["brs", "figs", "figs_regressor", "greedy", "greedy_tree", "hs_tree", "one_r", "boosted_rules"]
MODELS = [
    *sorted((GOLDEN / "models").glob("sklearn-1.9.1/*.pkl")),
    *sorted((GOLDEN / "models").glob("sklearn-*/*.skops")),
    *(GOLDEN / "models" / "imodels-3.0.4" / f"{name}.pkl" for name in OF_IMODELS),
]


@pytest.mark.sampled(30)
@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.name)
def test_honest_models_hold_nothing_unknown(path):
    assert [(f.path, f.what) for f in inspect(path).findings if f.level == "unknown"] == []


def test_a_release_file_whose_names_hold_rows_is_not_released(tmp_path):
    from typer.testing import CliRunner

    from recon.cli.app import app

    policy = tmp_path / "policy.toml"
    policy.write_text('smallest_group = 10\nstored = "none"\n')
    done = CliRunner().invoke(app, ["gate", str(GOLDEN / "inspect" / "names_hold_rows.json"), "--policy", str(policy)])
    assert done.exit_code not in {0, 3}
    assert "rated unknown" in done.output


def noted(tmp_path, change=lambda notes: notes):
    """Write a release file over a domain read off one-hot columns, its notes changed; return findings nobody knows."""
    rng = np.random.default_rng(0)
    place, step = rng.integers(0, 4, 500), rng.integers(0, 3, 500)
    columns = {f"a_long_name_of_a_place:{v}": (place == k).astype(int) for k, v in enumerate("ABCD")}
    columns |= {f"priors>{k}": (step > k).astype(int) for k in range(2)}
    frame = pd.DataFrame({**columns, "y": rng.integers(0, 2, 500)})
    domain = domain_json(Domain.from_frame(frame, label="y"))
    assert max(map(len, domain["notes"])) > 100
    domain["notes"] = change(domain["notes"])
    model = {"kind": "table", "statements": [{"count": 500}]}
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"recon": 1, "domain": domain, "models": [model]}))
    return [f.what for f in inspect(path).findings if f.level == "unknown"]


def test_notes_that_recon_writes_are_known_and_others_are_not(tmp_path):
    assert noted(tmp_path) == []
    assert noted(tmp_path, lambda notes: [*notes, "row 1: " + "34 years, 51 kg, " * 8])
    assert noted(tmp_path, lambda notes: [one.replace("place:A", "place of Jane Roe, 34") for one in notes])
    assert noted(tmp_path, lambda notes: [one.replace("500", "1" * 60) for one in notes])
    assert noted(tmp_path, lambda notes: [one.replace("500", str(k)) for one in notes for k in range(100, 200)])


def test_sentences_of_private_learners_are_known_and_as_their_sources_have_them():
    known = json.loads((HERE / "sentences.json").read_text(encoding="utf-8"))
    spec = spec_from_file_location("sentences", GOLDEN / "harmless" / "sentences.py")
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    assert made.parts() == known
    said = "one count, which a row moves by 1 at most; exact sampler (Canonne, Kamath, Steinke, NeurIPS 2020)"
    texts = [said, f"{said}; person 31 is ill", "person 31 earns 52,000 and is ill; person 44 earns 19,500 and is not"]
    content = {"domain": {}, "models": [{"noise": {"ledger": {"assumes": texts}}}]}
    assert own_texts(content) == [said]


@pytest.mark.sampled(1, 5)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_hidden_in_honest_files_are_told(kind):
    for seed in range(17):  # `make safety` draws 5,000
        ways, wrong = failures(kind, seed)
        assert wrong == [], seed
        assert ways["files"] == 1


LONGER = {  # what follows a text in a model -> path that is told
    ("models/lightgbm-4.7.0/binary.txt", "left_child=[^\n]*", " 31 45 1"): "trees.*.left_child",
    ("models/lightgbm-4.7.0/categories.txt", "cat_threshold=[^\n]*", " 31 45 1"): "trees.*.cat_threshold",
    ("models/lightgbm-4.7.0/binary.txt", "\nnum_cat=0", "\nnum_cat=31 45 1 27 20"): "trees.*.num_cat (again)",
    ("models/xgboost-3.2.0/half.json", '"categories_nodes": ?\\[', "31, 45"): "trees.*.categories_nodes",
    ("models/xgboost-3.2.0/half.json", '"categories_segments": ?\\[', "31, 45"): "trees.*.categories_segments",
    ("models/catboost-1.2.10/binary.json", '"borders": ?\\[\\n? *43.5', ", 44, 45"): "float_features.*.borders",
    ("models/rpart-4.1.19/plants.json", '"ylevels": ?\\[', '"31", "45",'): "ylevels",
}


@pytest.mark.parametrize("place", LONGER, ids=str)
def test_lists_are_as_long_as_the_figures_that_fix_them(place):
    file, text, more = place
    raw = (GOLDEN / file).read_bytes()
    found = re.search(text.encode(), raw)
    changed = raw[: found.end()] + more.encode() + raw[found.end() :]
    before, after = ({f.path for f in inspect_bytes(one).findings if f.level == "unknown"} for one in (raw, changed))
    assert [one for one in after - before if one.endswith(LONGER[place])]


def test_nodes_that_no_node_leads_to_are_not_understood():
    content = json.loads((GOLDEN / "models" / "xgboost-3.2.0" / "half.json").read_bytes())
    tree = content["learner"]["gradient_booster"]["model"]["trees"][0]
    for key, value in tree.items():
        if isinstance(value, list) and value:
            value.extend([-1, -1] if "children" in key else [0, 0])
    tree["tree_param"]["num_nodes"] = str(len(tree["parents"]))
    found = {f.path for f in inspect_bytes(json.dumps(content).encode()).findings if f.level == "unknown"}
    assert [one for one in found if one.endswith("left_children")]


SPACES = "".join("\t" if int(b) else " " for byte in b"31,45000,1;44,52000,0;52,61000,1" for b in f"{byte:08b}")
WRITTEN = {  # what stands in a model, and what is put in its place, \\0 what stood there
    ("models/xgboost-3.2.0/half.json", "^", SPACES): "(spelling)",
    ("models/catboost-1.2.10/binary.json", "\\{", "\\0" + SPACES): "(spelling)",
    ("models/lightgbm-4.7.0/binary.json", "\\d\\.\\d{3,}(?=,)", "\\g<0>0000000000000000310450001"): "(spelling)",
    ("models/lightgbm-4.7.0/binary.txt", "\n\n", "\n" + SPACES + "\n"): "(spelling)",
    ("models/sklearn-1.9.1/text_people_2.txt", "\n", SPACES + "\n"): "(spelling)",
    ("models/sklearn-1.9.1/text_people_2.txt", "^", "|--- x <= 0.5\n" + "|  |   |--- a <= 1.5\n" * 90): "(spelling)",
    ("models/rpart-4.1.19/people.pmml", "(?=<Header)", SPACES): "(spelling)",
    ("models/nyoka-5.5.0/tree.pmml", "</Timestamp>", "\n" + SPACES + "\\0"): "(comments)",
    ("models/rpart-4.1.19/people.pmml", "<PMML ", '<PMML xmlns:r="http://x.org/3145000144520000" '): "PMML/@xmlns:r",
    (
        "models/rpart-4.1.19/people.pmml",
        "<PMML ",
        f'<!DOCTYPE PMML SYSTEM "{"3145000144520000" * 9}"><PMML ',
    ): "(comments)",
    (
        "models/sklearn-1.9.1/dot_people_named.dot",
        'fillcolor="[^"]*"',
        'fillcolor="31;1,44;0,52;1,19;0,27;1"',
    ): "(drawing)",
}


@pytest.mark.parametrize("place", WRITTEN, ids=str)
def test_how_values_are_written_holds_nothing(place):
    file, text, more = place
    raw = (GOLDEN / file).read_text(encoding="utf-8")
    changed = re.sub(text, more.replace("\\0", "\\g<0>"), raw, count=9)
    before, after = (
        {f.path for f in inspect_bytes(one.encode()).findings if f.level == "unknown"} for one in (raw, changed)
    )
    assert WRITTEN[place] in after - before


def test_ways_in_which_libraries_write_json_are_told_apart_from_marks():
    values = {"a": [1.5, {"b": [2, 3]}, "c d"], "e": {"f": None, "g": [[1, 2], [3]]}}
    for many in ({"indent": 2}, {"indent": "\t"}, {"separators": (",", ":")}, {}):
        assert _json_spaces(json.dumps([values] * 40, **many).encode()) == 0
    marked = re.sub(r", ", lambda m: ", " if m.start() % 3 else ",", json.dumps([values] * 40))
    assert _json_spaces(marked.encode()) > 64


def test_a_long_string_is_passed_over_in_little_memory():
    """A pattern that keeps a way back for each character took 120 bytes of memory for it: 1.2 GB for 10 MB."""
    data = b'{"a": "' + b"x" * 2_000_000 + b'", "b":  1}'
    tracemalloc.start()
    assert _json_spaces(data) <= 64
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 4 * len(data)


def test_leaves_and_unreached_nodes_hold_nothing():
    raw = (GOLDEN / "models" / "sklearn-1.9.1" / "tree.pkl").read_bytes()
    changed = in_leaves(Random(1), raw)
    assert changed is not None
    found = [(f.path, f.level) for f in inspect_bytes(changed).findings]
    assert ("tree_.nodes", "unknown") in found
    nodes = np.zeros(3, [("left_child", "i8"), ("right_child", "i8"), ("feature", "i8"), ("threshold", "f8")])
    nodes["left_child"], nodes["right_child"], nodes["feature"], nodes["threshold"] = [1, -1, -1], [2, -1, -1], -2, -2
    assert _stray(nodes) == 0
    nodes["right_child"][0] = 1
    assert _stray(nodes) == nodes.itemsize


def test_leaves_of_trees_grown_best_first_keep_a_side():
    from sklearn.tree import DecisionTreeClassifier

    draw = np.random.default_rng(0)
    columns = draw.normal(size=(300, 3))
    labels = columns[:, 0] + draw.normal(size=300) > 0
    model = DecisionTreeClassifier(max_leaf_nodes=20, min_samples_leaf=5, random_state=0).fit(columns, labels)
    nodes = model.tree_.__getstate__()["nodes"]
    sides = (nodes["left_child"] < 0) & (nodes["missing_go_to_left"] == 1)
    assert sides.sum() >= 3
    assert _stray(nodes, 8) == 0
    assert _stray(nodes) == sides.sum()
    assert "unknown" not in {f.level for f in inspect_bytes(pickle.dumps(model)).findings}
    nodes["missing_go_to_left"][sides.nonzero()[0][:2]] = 2, 3
    nodes["impurity"][sides.nonzero()[0][2]] = 0.0
    assert _stray(nodes, 8) == 3


def test_leaves_of_histograms_keep_gains_where_the_number_of_leaves_ended_growth():
    from sklearn.ensemble import HistGradientBoostingClassifier

    draw = np.random.default_rng(0)
    x = draw.normal(size=(400, 3))
    model = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=4, early_stopping=False)
    raw = pickle.dumps(model.fit(x, x.sum(axis=1) > 0))
    nodes = model._predictors[0][0].nodes
    assert (nodes["gain"][nodes["is_leaf"] != 0] > 0).any()
    assert not {f.path for f in inspect_bytes(raw).findings if f.level == "unknown"}
    assert _stray(nodes, 4) == 0 < _stray(nodes, 5)


def test_names_of_many_columns_are_told_where_the_number_of_columns_is_not():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler())
    vars(model)["feature_names_in_"] = np.array([f"column {i}" for i in range(24)], dtype=object)
    assert not {f.path for f in inspect_bytes(pickle.dumps(model)).findings if f.level == "unknown"}


def test_leaf_values_of_catboost_are_as_many_as_leaves():
    content = json.loads((GOLDEN / "models" / "catboost-1.2.10" / "binary.json").read_text())
    assert not {f.path for f in inspect_bytes(json.dumps(content).encode()).findings if f.level == "unknown"}
    content["oblivious_trees"][2]["leaf_values"] += FLAT[:30]
    found = {f.path for f in inspect_bytes(json.dumps(content).encode()).findings if f.level == "unknown"}
    assert found == {"oblivious_trees.*.leaf_values"}


def test_a_state_given_to_an_array_twice_is_not_understood():
    raw = re.sub(rb"\x95.{8}", b"", (GOLDEN / "models/leaky/KMeans.pkl").read_bytes(), count=1, flags=re.DOTALL)
    steps = opcodes_of(raw)
    begin = next(at for _, argument, at, _ in steps if argument == "labels_")
    at = next(end for name, _, start, end in steps if name == "BUILD" and start > begin)
    changed = raw[:at] + b"}" + opcodes("note") + opcodes([True, None, False] * 30) + b"sb" + raw[at:]
    assert ("labels_", "unknown") in {(f.path, f.level) for f in inspect_bytes(changed).findings}


def test_categories_are_no_text():
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder().fit([["a"], ["b"]])
    assert "unknown" not in {f.level for f in inspect_bytes(pickle.dumps(encoder)).findings}
    encoder.categories = "71 242608 1\n22 187154 1\n" * 9
    assert ("categories", "unknown") in {(f.path, f.level) for f in inspect_bytes(pickle.dumps(encoder)).findings}


def test_what_nothing_in_a_file_of_catboost_leads_to_is_told():
    raw = (GOLDEN / "models" / "catboost-1.2.10" / "binary.cbm").read_bytes()
    size = int.from_bytes(raw[4:8], "little")
    rows = b"31,45000,1;44,52000,0;52,61000,1" * 3
    changed = raw[:4] + (size + len(rows)).to_bytes(4, "little") + raw[8 : 8 + size] + rows + raw[8 + size :]
    assert "(between its parts)" in {f.path for f in inspect_bytes(changed).findings if f.level == "unknown"}


def test_a_number_of_leaves_that_the_tree_does_not_have_makes_nothing():
    content = lightgbm_as_json((GOLDEN / "models" / "lightgbm-4.7.0" / "binary.txt").read_text())
    assert of_document("LightGBM model as text", content, True)
    content["trees"][0]["num_leaves"] = 30_000_000
    tracemalloc.start()
    try:
        assert of_document("LightGBM model as text", content, True) == {}
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_documents_have_a_status_for_every_value():
    content = (GOLDEN / "models" / "xgboost-3.2.0" / "half.json").read_bytes()
    statuses = {one.path.rpartition(".")[0].rpartition(".")[2]: one.status for one in ledger_of(content).entries}
    assert (statuses["split_indices"], statuses["loss_changes"]) == ("assumed", "implied")
    keys = json.loads(content) | {"alice 31 yes; bob 44 no": {}}
    assert [one.bytes for one in ledger_of(json.dumps(keys).encode()).entries if one.status == "unknown"] == [23]
    changed = json.loads(content)
    changed["learner"]["gradient_booster"]["model"]["trees"][0]["loss_changes"] += [31.0, 44.0]
    odd = [one for one in ledger_of(json.dumps(changed).encode()).entries if one.status == "unknown"]
    assert [(one.path.rpartition(".")[2], one.bytes) for one in odd] == [("loss_changes", 16)]


STATED = {  # file -> statuses of some of its figures, by the end of their path
    "sklearn-1.9.1/forest.pkl": {"nodes.n_node_samples": "used", "nodes.impurity": "implied", "tree_.values": "used",
                                 "nodes.threshold": "assumed"},
    "sklearn-1.9.1/regressor.pkl": {"nodes.impurity": "unused", "tree_.values": "unused"},
    "sklearn-1.9.1/hist_boosting.pkl": {"nodes.count": "used", "nodes.value": "used", "nodes.bin_threshold": "assumed"},
    "sklearn-1.9.1/gradient_boosting.pkl": {"nodes.impurity": "used", "tree_.values": "used"},
    "sklearn-1.9.1/pipeline_scaler.pkl": {"mean_": "unused", "nodes.n_node_samples": "used"},
    "xgboost-3.2.0/half.json": {"sum_hessian.*": "used", "loss_changes.*": "implied", "base_weights.*": "unused"},
    "xgboost-3.2.0/half.pkl": {"sum_hessian.*)": "used", "parents.*)": "implied"},
    "lightgbm-4.7.0/binary.txt": {"leaf_value.*": "used", "internal_count.*": "implied", "threshold.*": "assumed"},
    "lightgbm-4.7.0/binary.json": {"leaf_count": "used", "internal_value": "implied", "split_gain": "implied"},
    "catboost-1.2.10/binary.cbm": {"leaf_weights": "used", "splits": "assumed"},
    "nyoka-5.5.0/tree.pmml": {"Node/@recordCount": "used", "SimplePredicate/@value": "assumed"},
    "rpart-4.1.19/people.pmml": {"ScoreDistribution/@recordCount": "used", "Node/@score": "implied"},
    "rpart-4.1.19/people.rds": {"m$frame": "used", "m$splits": "assumed", "m$y": "unused", "m$cptable": "unused"},
    "rpart-4.1.19/people.txt": {"lines": "used"},
    "sklearn-1.9.1/dot_people_default.dot": {"lines": "used"},
    "xgboost-3.2.0/half.dump.json": {"cover": "used"},
    "xgboost-3.2.0/half.dump.txt": {"lines": "unused"},
    "corels-1.1.29/list_with_counts.txt": {"lines": "used"},
}  # fmt: skip


@pytest.mark.parametrize("file", STATED)
def test_figures_are_used_where_statements_carry_them(file):
    path = GOLDEN / "models" / file
    try:
        uses = uses_of(recon.load(path))
    except recon.Unsupported:
        uses = None
    entries = ledger_of(path.read_bytes(), uses=uses).entries
    assert "unknown" not in {one.status for one in entries}
    for end, status in STATED[file].items():
        assert status in {one.status for one in entries if one.path.endswith(end)}, end
        if status == "used":
            words = ("statements 0 to", "sums of gradients")
            assert all(any(w in one.why for w in words) for one in entries if one.status == "used")
    assert all(one.status != "used" for one in ledger_of(path.read_bytes()).entries)


def test_counts_of_nodes_that_contradict_each_other_are_not_understood():
    model = fitted()
    state = model.tree_.__getstate__()
    state["nodes"]["n_node_samples"][0] *= 3
    model.tree_.__setstate__(state)
    found = inspect_bytes(pickle.dumps(model))
    assert ("unknown", "tree_.nodes") in {(f.level, f.path) for f in found.findings}
    content = json.loads((GOLDEN / "models" / "xgboost-3.2.0" / "half.json").read_text())
    content["learner"]["gradient_booster"]["model"]["trees"][0]["sum_hessian"][0] *= 3
    assert "unknown" in {f.level for f in inspect_bytes(json.dumps(content).encode()).findings}
    content = json.loads((GOLDEN / "models" / "xgboost-3.2.0" / "half.dump.json").read_text())
    content[0]["cover"] *= 3
    assert "unknown" in {f.level for f in inspect_bytes(json.dumps(content).encode()).findings}


def test_impurities_are_implied_only_where_they_come_out():
    model = fitted()
    state = model.tree_.__getstate__()
    state["nodes"]["impurity"][1] += 0.25
    model.tree_.__setstate__(state)
    entries = {one.path: one.status for one in ledger_of(pickle.dumps(model)).entries}
    assert entries["tree_.nodes.impurity"] == "unused"


def test_the_command_lists_everything_with_the_statements_that_carry_it():
    from typer.testing import CliRunner

    from recon.cli.app import app

    done = CliRunner().invoke(app, ["inspect", str(GOLDEN / "models" / "rpart-4.1.19" / "people.rds"), "--all"])
    assert "used     m$frame, R values, 327 bytes: statements 0 to 3" in done.output
    assert "unused   m$where" in done.output


@pytest.mark.slow
def test_large_trees_and_sums_of_boosters_are_understood():
    text = (GOLDEN / "models" / "lightgbm-4.7.0" / "binary.txt").read_text()
    content, leaves = lightgbm_as_json(text), 255
    tree = content["trees"][0]
    tree["num_leaves"] = str(leaves)
    for key, value in tree.items():
        if isinstance(value, list):
            size = leaves if key.startswith("leaf_") else leaves - 1
            tree[key] = (value * leaves)[:size]
    tree["left_child"] = [*map(str, range(1, leaves - 1)), str(-leaves)]
    tree["right_child"] = [str(-1 - k) for k in range(leaves - 1)]
    tree["leaf_count"] = tree["leaf_weight"] = ["1"] * leaves
    tree["internal_count"] = tree["internal_weight"] = [str(leaves - k) for k in range(leaves - 1)]
    assert not document_ledger("LightGBM model as text", content).unknown()
    content["trees"] *= 300
    del content["tree_sizes"]  # as before version 2.3
    assert not document_ledger("LightGBM model as text", content).unknown()
    tree["right_child"] += ["44", "31"]
    assert "trees.*.right_child" in {e.path for e in document_ledger("LightGBM model as text", content).unknown()}
    for path in (GOLDEN / "readers" / "continued").glob("*.cbm"):
        assert "unknown" not in {f.level for f in inspect(path).findings}


def test_what_newer_and_other_programs_write_into_documents_is_known():
    content = json.loads((GOLDEN / "models" / "xgboost-3.2.0" / "half.json").read_text())
    model = content["learner"]["gradient_booster"]["model"]
    for more, told in ((0, False), (30, True)):
        model["weight_drop"] = [0.5] * (len(model["trees"]) + more)
        found = {f.path for f in inspect_bytes(json.dumps(content).encode()).findings if f.level == "unknown"}
        assert ("learner.gradient_booster.model.weight_drop" in found) == told
    text = '<PMML version="4.4"><Header>{}</Header><RegressionModel x-mathContext="{}"><RegressionTable intercept="1">'
    text += '<NumericPredictor name="a" coefficient="2.5"/></RegressionTable></RegressionModel></PMML>'
    by = '<Extension name="{}" value="{}" extender="A Generator"/>'
    known, rows = by.format("user", "dennis") + by.format("lambda", "0.0791801758867202"), by.format("rows", "alice,31")
    for extension, precision, told in (
        (known, "float", False), (rows * 9, "float", True), (by.format("rows", "31,44,52,19"), "float", True),
        (known, "44,31,1,52,19,0", True), (known.replace("/>", "><b c='1'/></Extension>"), "float", True),
        (known + rows.replace("A G", "31 G"), "float", True),
    ):  # fmt: skip
        found = inspect_bytes(text.format(extension, precision).encode()).findings
        assert ("unknown" in {f.level for f in found}) == told
        assert "(coefficients)" in {f.path for f in found}


def test_old_texts_of_lightgbm_and_many_categories_are_understood():
    text = (GOLDEN / "models" / "lightgbm-4.7.0" / "categories.txt").read_text()
    old = text.replace("end of trees\n", "").replace("feature_importances:", "feature importances:")
    assert old != text
    assert "unknown" not in {f.level for f in inspect_bytes(old.encode()).findings}
    for line, words in (("cat_boundaries", " 0" * 40), ("cat_threshold", " 31" * 200)):
        longer = re.sub(rf"^{line}=.*$", rf"\g<0>{words}", text, flags=re.MULTILINE)
        assert longer != text
        assert "unknown" in {f.level for f in inspect_bytes(longer.encode()).findings}


@pytest.mark.parametrize(("levels", "told"), [
    ([[f"c{i}" for i in range(12)], ["low"]], False), ([[f"c{i}" for i in range(40)]], True), ([["x" * 80, "y"]], True),
    ([[";".join(f"{a},{b}" for a, b, _ in PEOPLE[:4])]], True), ([["a"], ["b"], ["c"]], True), ([FLAT], True),
])  # fmt: skip
def test_categories_of_lightgbm_are_names_and_few_more_than_its_codes(levels, told):
    folder = GOLDEN / "models" / "lightgbm-4.7.0"
    text, dump = (folder / "categories.txt").read_text(), json.loads((folder / "categories.json").read_text())
    line = "pandas_categorical:" + json.dumps(levels)
    for changed in (re.sub(r"^pandas_categorical:.*$", line, text, flags=re.MULTILINE),
                    json.dumps({**dump, "pandas_categorical": levels})):  # fmt: skip
        assert ("unknown" in {f.level for f in inspect_bytes(changed.encode()).findings}) is told


@pytest.mark.parametrize(("levels", "told"), [
    ([f"c{i}" for i in range(200)], False), ([f"c{i}" for i in range(300)], True), (["x" * 80, "y"], True),
    ([f"{a}, {b}, {c}, {a}, {b}" for a, b, c in PEOPLE], True),
])  # fmt: skip
def test_categories_of_an_encoder_are_names_and_bounded_in_number(levels, told):
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder().fit(np.array(levels, dtype=object)[:, None])
    assert (
        "categories_" in {f.path for f in inspect_bytes(pickle.dumps(encoder)).findings if f.level == "unknown"}
    ) is told


def test_values_that_a_repeated_key_replaces_are_told_and_searched():
    text = (GOLDEN / "models" / "lightgbm-4.7.0" / "binary.json").read_text()
    before = {f.path for f in inspect_bytes(text.encode()).findings}
    changed = text.replace('"version":', f'"version": {json.dumps(PEOPLE)}, "version":', 1).encode()
    assert changed != text.encode()
    assert {f.path for f in inspect_bytes(changed).findings} - before == {"(repeated keys)"}
    rows = pd.DataFrame(PEOPLE, columns=["age", "income", "ill"])
    assert any(f.path.startswith("(repeated keys)") for f in searched(changed, rows))
    assert not any(f.path.startswith("(repeated keys)") for f in searched(text.encode(), rows))


@pytest.mark.parametrize(("times", "told"), [(1, False), (9, True)])
def test_a_few_small_attributes_of_other_programs_change_nothing_in_pmml(times, told):
    text = (GOLDEN / "models" / "rpart-4.1.19" / "people.pmml").read_text()
    more = " ".join(f'x-part{i}="average"' for i in range(times))
    changed = text.replace("<TreeModel ", f"<TreeModel {more} ", 1)
    assert changed != text
    assert ("unknown" in {f.level for f in inspect_bytes(changed.encode()).findings}) is told


def test_losses_of_catboost_keep_labels_from_met():
    found = inspect(GOLDEN / "models" / "catboost-1.2.10" / "binary.cbm").findings
    assert {f.path.rpartition(".")[0] for f in found if f.rule == "ledger-labels"} == {
        "model_info.training.metrics.learn_metrics_history.*", "model_info.training.metrics.learn_best_error",
    }  # fmt: skip


def test_counts_that_a_reader_states_are_used():
    entries = {one.path: one.status for one in inspect(GOLDEN / "models" / "sklearn-1.9.1" / "tree.pkl").ledger.entries}
    assert (entries["tree_.nodes"], entries["tree_.values"]) == ("used", "used")


def test_settings_of_a_booster_hold_no_rows():
    honest = {"learner": {"generic_param": {"device": "cpu", "seed": "0"}, "metrics": [{"name": "logloss"}]}}
    assert not more_than_settings(honest)
    for rows in ([31.0] * 9, {"p1": 31, "p2": 44}, "31,1;44,0;52,1;19,0;27,1", "x" * 65):
        assert more_than_settings({**honest, "rows": rows})


def r_model(kind, **parts):
    held = {"names": RObject("character", list(parts)), "class": RObject("character", [kind])}
    return to_rds(RObject("list", list(parts.values()), held))


def numbers(size, *dim):
    return RObject("double", np.arange(size) / 7, {"dim": RObject("integer", np.array(dim))} if dim else {})


@pytest.mark.parametrize(("kind", "parts", "rows", "told"), [
    ("coxph", {"n": numbers(1), "coefficients": numbers(2), "y": numbers(456, 228, 2), "residuals": numbers(228)}, None,
     {("critical", "m$y"), ("high", "m$residuals")}),
    ("polr", {"zeta": numbers(2), "fitted.values": numbers(1200, 400, 3)}, 400, {("high", "m$fitted.values")}),
    ("density", {"x": numbers(512), "y": numbers(512), "bw": numbers(1)}, None,
     {("medium", "m$x"), ("medium", "m$y"), ("medium", "m$bw")}),
    ("ecdf", {"x": numbers(40), "y": numbers(40)}, 40, {("critical", "m$x"), ("high", "m$y")}),
    ("prcomp", {"sdev": numbers(2), "rotation": numbers(4, 2, 2), "x": numbers(80, 40, 2)}, None,
     {("critical", "m$x")}),
    ("kmeans", {"cluster": numbers(40), "centers": numbers(6, 3, 2), "totss": numbers(1)}, None,
     {("high", "m$cluster"), ("medium", "m$centers")}),
    ("hclust", {"order": numbers(40), "labels": RObject("character", [f"p{i}" for i in range(40)])}, None,
     {("high", "m$order"), ("critical", "m$labels")}),
    ("smooth.spline", {"x": numbers(40), "y": numbers(40), "w": numbers(40)}, 40,
     {("critical", "m$x"), ("critical", "m$y"), ("high", "m$w")}),
    ("kmeans", {"totss": numbers(1), "dots": numbers(30)}, None, {("unknown", "m$dots")}),
])  # fmt: skip
def test_what_models_of_r_keep_is_graded_and_rows_are_counted_once(kind, parts, rows, told):
    found = inspect_bytes(r_model(kind, **parts))
    assert {(f.level, f.path) for f in found.findings} == told
    assert rows is None or found.rows == rows


@pytest.mark.parametrize("around", [
    lambda m: {"model": m, "features": list("abc")}, lambda m: (m, list("abc")), lambda m: {"clf": m, "threshold": 0.5},
    lambda m: {"models": {"income": m, "age": [m]}, "meta": {"trained": "2026-01-01", "author": "office"}},
])  # fmt: skip
def test_a_dict_around_a_model_is_no_alarm_and_rows_in_it_are(around):
    model = fitted()
    model.feature_names_in_ = np.array(list("abc"), dtype=object)[: model.n_features_in_]
    plain = {f.level for f in inspect_bytes(pickle.dumps(around(model))).findings}
    assert "unknown" not in plain
    for hidden in ([31, 1, 44, 0, 52, 1, 19, 0, 27, 1], "alice 31 yes;" * 6, [True, False] * 5, {(31, 1): None}):
        held = around(model)
        held = held | {"meta": hidden} if isinstance(held, dict) else (*held, hidden)
        assert "unknown" in {f.level for f in inspect_bytes(pickle.dumps(held)).findings}


def test_leaves_of_xgboost_have_no_figures_of_splits():
    model = json.loads((GOLDEN / "models" / "xgboost-3.2.0" / "half.json").read_text())
    assert "unknown" not in {f.level for f in inspect_bytes(json.dumps(model).encode()).findings}
    for key in ("loss_changes", "split_indices", "default_left"):
        changed = copy.deepcopy(model)
        for tree in changed["learner"]["gradient_booster"]["model"]["trees"]:
            for at, child in enumerate(tree["left_children"]):
                tree[key][at] = 1 if child == -1 else tree[key][at]
        found = inspect_bytes(json.dumps(changed).encode()).findings
        assert [f.path for f in found if f.level == "unknown" and f.path.endswith(key)], key


def test_times_and_rights_of_members_are_those_of_one_archive():
    skops = (GOLDEN / "models" / "sklearn-1.9.1" / "forest.skops").read_bytes()

    def written(time, rights):
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(skops)) as old, zipfile.ZipFile(out, "w") as new:
            for at, info in enumerate(old.infolist()):
                info.date_time, info.external_attr = time(at, info.date_time), rights(at, info.external_attr)
                new.writestr(info, old.read(info.filename))
        return {f.level for f in inspect_bytes(out.getvalue()).findings}

    assert "unknown" not in written(lambda at, t: t, lambda at, r: r)
    assert "unknown" in written(lambda at, t: (1980 + at % 100, 2, 3, 0, 0, 0), lambda at, r: r)
    assert "unknown" in written(lambda at, t: t, lambda at, r: 31 + at)


def test_headers_of_arrays_have_three_entries_written_in_one_way():
    skops = (GOLDEN / "models" / "sklearn-1.9.1" / "forest.skops").read_bytes()
    array = next(n for n in zipfile.ZipFile(io.BytesIO(skops)).namelist() if n.endswith(".npy"))
    for old, new in ((b"{'descr'", b"{  'descr'"), (b", }", b", 'note': [31, 1, 44, 0, 52, 1, 19, 0]}"),
                     (b", }", b", } # 31 1 44 0 52 1 19 0"), (b", }", b", }")):  # fmt: skip
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(skops)) as archive, zipfile.ZipFile(out, "w") as written:
            for info in archive.infolist():
                content = archive.read(info.filename)
                if info.filename == array:
                    size = int.from_bytes(content[8:10], "little")
                    header = content[10 : 10 + size].replace(old, new, 1)
                    content = content[:8] + len(header).to_bytes(2, "little") + header + content[10 + size :]
                written.writestr(info, content)
        if old == new:
            assert "unknown" not in {f.level for f in inspect_bytes(out.getvalue()).findings}
        else:
            with pytest.raises(ReconError, match="more in its header"):
                inspect_bytes(out.getvalue())


def test_the_encoding_of_an_r_file_is_a_name():
    content = gzip.decompress((GOLDEN / "inspect" / "strip_lm_env.rds").read_bytes())
    body = content[14:] if content[5] == 0 and content[:2] == b"X\n" else b""
    name = int.from_bytes(content[14:18], "big") if content[2:6] == b"\0\0\0\3" else None
    behind = content[18 + name :] if name is not None else body
    head = b"X\n\0\0\0\3" + content[6:14]
    for text, right in (("UTF-8", True), ("31,yes;44,no;52,yes;19,no;27,yes;63,no;20,no", False)):
        changed = head + len(text).to_bytes(4, "big") + text.encode() + behind
        if right:
            assert inspect_bytes(changed).format.startswith("R ")
        else:
            with pytest.raises(ReconError, match="name of its encoding"):
                inspect_bytes(changed)


def test_rows_are_searched_in_files_of_every_kind():
    draw = np.random.default_rng(3)
    rows = pd.DataFrame({"a": draw.integers(10**4, 10**6, 30), "b": np.round(draw.normal(size=30), 5),
                         "c": draw.integers(2_000, 9_000, 30), "d": draw.integers(0, 4, 30)})  # fmt: skip
    line = " ".join(map(str, rows.iloc[7].tolist()))
    for name in ("lightgbm-4.7.0/binary.txt", "rpart-4.1.19/people.pmml", "xgboost-3.2.0/half.json"):
        raw = (GOLDEN / "models" / name).read_bytes()
        assert not [f for f in searched(raw, rows) if f.level == "critical"], name
        if name.endswith("json"):
            changed = raw.replace(b'"learner":{', b'"learner":{"note":' + json.dumps(line).encode() + b",", 1)
        elif name.endswith("pmml"):
            changed = raw.replace(b"</Header>", b"<Note>" + line.encode() + b"</Note></Header>", 1)
        else:
            changed = raw.replace(b"\n\nTree=0", b"\nnote=" + line.encode() + b"\n\nTree=0", 1)
        assert changed != raw
        assert [f for f in searched(changed, rows) if f.rule == "stored-row" and "row 8 " in f.follows], name
    from sklearn.neighbors import KNeighborsClassifier

    few = rows[["d"]].assign(
        c=rows.c // 2_000, e=draw.integers(0, 6, 30)
    )  # values that many rows share: lines of a matrix
    stored = searched(pickle.dumps(KNeighborsClassifier().fit(few.to_numpy(), rows.d)), few)
    assert ("stored-row", "_fit_X") in {(f.rule, f.path) for f in stored}
    wide = np.hstack([draw.normal(size=(30, 1_100)), few.to_numpy()])  # the same among a thousand columns of others
    stored = searched(pickle.dumps(KNeighborsClassifier().fit(wide, rows.d)), few)
    assert ("stored-row", "_fit_X") in {(f.rule, f.path) for f in stored}


def test_a_second_list_makes_no_room_for_a_first():
    model = json.loads((GOLDEN / "models" / "xgboost-3.2.0" / "categories.json").read_text())
    hidden = [31, 48200, 1, 44, 51900, 0, 52, 31700, 1, 19, 27, 63]
    booster = model["learner"]["gradient_booster"]["model"]
    tree = booster["trees"][0]
    tree["categories_sizes"] = [*tree["categories_sizes"], 1_000]
    before = {f.path for f in inspect_bytes(json.dumps(model).encode()).findings if f.level == "unknown"}
    tree["categories"] = [*tree["categories"], *hidden]
    after = {f.path for f in inspect_bytes(json.dumps(model).encode()).findings if f.level == "unknown"}
    assert [path for path in after - before if path.endswith(".categories")]
    booster["cats"]["enc"][0]["offsets"] = hidden
    last = {f.path for f in inspect_bytes(json.dumps(model).encode()).findings if f.level == "unknown"}
    assert [path for path in last - after if path.endswith("offsets")]


def test_keys_of_categories_are_no_rows():
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(sparse_output=False).fit(np.array([["a"], ["b"]], dtype=object))
    assert "unknown" not in {f.level for f in inspect_bytes(pickle.dumps(encoder)).findings}
    encoder._missing_indices = {(31, 48200, 1): None}
    encoder.n_features_in_ = np.arange(3)  # says nothing of how many columns there are
    found = inspect_bytes(pickle.dumps(encoder)).findings
    assert [f for f in found if f.level == "unknown" and f.path == "_missing_indices"]


def test_classes_that_extend_others_are_known_by_them_and_by_their_own():
    from sklearn.ensemble import RandomForestRegressor

    draw = np.random.default_rng(0)
    plain = RandomForestRegressor(3, min_samples_leaf=20).fit(draw.normal(size=(200, 3)), draw.normal(size=200))
    for module, name, target in (
        ("quantile_forest._quantile_forest", "RandomForestQuantileRegressor", {"default_quantiles": 0.5}),
        ("quantile_forest._quantile_forest", "NoForest", {}),
    ):
        raw = pickle.dumps(plain, protocol=2)
        changed = raw.replace(b"csklearn.ensemble._forest\nRandomForestRegressor\n", f"c{module}\n{name}\n".encode(), 1)
        assert raw != changed
        model = inspect_bytes(changed)
        assert ("unknown" in {f.level for f in model.findings}) == (name == "NoForest"), target
