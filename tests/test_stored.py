"""Stored models read without the library that made them: everything the live object has, nothing ever run."""

from __future__ import annotations

import bz2
import collections
import gzip
import io
import lzma
import pickle
import struct
import subprocess
import sys
import time
import warnings
import zipfile
import zlib
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from extras import extra

from recon.readers.formats.rules.plain_values import texts
from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.objects.raw import Name
from recon.readers.stored.pickled.pickles import Thing
from recon.readers.stored.pickled.skops_files import SCHEMA
from recon.readers.stored.pickled.stored_files import open_stored
from recon.readers.stored.rewriting import _same, write_pickle, write_skops
from solvers.foundation.errors import ReleaseError

GOLDEN = Path(__file__).parent / "golden" / "models"
RNG = np.random.default_rng(7)
X = np.round(RNG.random((60, 3)) * 4, 1)
Y = RNG.integers(0, 3, 60)


def models():
    extra("sklearn")
    from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.naive_bayes import CategoricalNB, GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    names = np.array(["no", "yes", "don't know"])[Y]
    return {
        "tree": DecisionTreeClassifier(max_depth=3, random_state=np.random.RandomState(3)).fit(X, names),
        "forest": RandomForestClassifier(3, max_depth=3, random_state=0, class_weight={0: 1, 1: 2.5, 2: 1}).fit(X, Y),
        "pipeline": make_pipeline(OneHotEncoder(), StandardScaler(with_mean=False), SVC()).fit(X, Y),
        "neighbours": KNeighborsClassifier(algorithm="kd_tree").fit(X, names.astype(object)),
        "bayes": GaussianNB().fit(X, Y),
        "categories": CategoricalNB().fit(X.astype(int), Y),
        "boosting": GradientBoostingClassifier(n_estimators=2, max_depth=2).fit(X, Y),
        "histogram": HistGradientBoostingClassifier(max_iter=2, random_state=1).fit(X, Y > 0),
    }


@pytest.fixture(scope="module")
def fitted():
    return models()


def agrees(live, raw, found):
    """Compare a live object with what was read, down to the last array; `found` counts what was compared."""
    stack, seen = [(live, resolve(raw), "root")], {}
    while stack:
        a, b, place = stack.pop()
        if id(a) in seen:
            continue
        seen[id(a)] = a
        if isinstance(a, np.ndarray):
            assert isinstance(b, np.ndarray), place
            assert (a.dtype, a.shape) == (b.dtype, b.shape), place
            if a.dtype == object:
                stack += [(u, v, place) for u, v in zip(a.ravel(), b.ravel(), strict=True)]
            else:
                assert a.tobytes() == b.tobytes(), place
                assert not b.flags.writeable
            found["arrays"] += 1
        elif isinstance(a, np.generic):
            assert type(b) in {int, float, str, bool}, place
            assert a == b, place
        elif a is None or isinstance(a, (int, float, str, bytes)):
            assert type(a) is type(b), place
            assert a == b or a != a, place  # noqa: PLR0124 - NaN
        elif type(a) in {list, tuple}:
            assert type(a) is type(b), place
            stack += [(u, v, f"{place}[{i}]") for i, (u, v) in enumerate(zip(a, b, strict=True))]
        elif isinstance(a, dict):
            assert type(b) is dict, place
            assert list(a) == list(b), place
            stack += [(a[key], b[key], f"{place}[{key}]") for key in a]
        elif isinstance(b, Thing):
            call = a.__reduce_ex__(2)
            state = call[2] if len(call) > 2 else None
            if state is None and call[0].__module__ not in {"copyreg", "copy_reg"}:
                stack.append((call[1], resolve(b.args), f"{place}.args"))
            assert b.class_name == type(a).__name__ or b.callable.name.endswith("_ctor"), place
            found["things"] += 1
            if isinstance(state, dict):
                assert set(state) == set(b.attributes), place
                stack += [(state[name], b.get(name), f"{place}.{name}") for name in state]
            else:
                stack.append((state, resolve(b.state), f"{place}.state"))
        else:
            assert isinstance(b, (Name, np.dtype)), (place, a, b)


PACKED = [0, 3, ("gzip", 3), ("bz2", 3), ("lzma", 1), ("xz", 1)]


@pytest.mark.parametrize("protocol", range(6))
def test_every_attribute_of_a_pickle_is_that_of_the_live_object(fitted, protocol):
    found = collections.Counter()
    for model in fitted.values():
        stored = open_stored(pickle.dumps(model, protocol=protocol))
        assert stored.format == "pickle"
        agrees(model, stored.root, found)
    assert found["arrays"] > 90
    assert found["things"] > 45


def dumped(model, compress=0, protocol=None):
    joblib = extra("joblib")
    written = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        joblib.dump(model, written, compress=compress, protocol=protocol)
    return written.getvalue()


@pytest.mark.parametrize("compress", PACKED, ids=str)
def test_every_attribute_of_a_joblib_file_is_that_of_the_live_object(fitted, compress):
    found = collections.Counter()
    for model in fitted.values():
        stored = open_stored(dumped(model, compress))
        name = compress[0] if isinstance(compress, tuple) else "zlib"
        assert stored.format == (f"joblib, {name}" if compress else "joblib")
        agrees(model, stored.root, found)
    assert found["arrays"] > 90


@pytest.mark.parametrize("protocol", range(6))
def test_joblib_at_every_protocol(fitted, protocol):
    for name in ("forest", "neighbours"):
        agrees(fitted[name], open_stored(dumped(fitted[name], 0, protocol)).root, collections.Counter())


def test_arrays_of_every_kind():
    arrays = [
        np.arange(6, dtype=">i4").reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array([[1, "a"], [None, 2.5], [[3], {}]], dtype=object),
        np.asfortranarray(np.array([[1, "a", 3], [None, 2.5, ()]], dtype=object)),
        np.array(["ab", "ü€😀"]),
        np.array([b"ab", b"\xff"]),
        np.array([True, False]),
        np.zeros((0, 3)),
        np.array(5.5),
        np.array([1 + 2j]),
        np.array(["2020-02-03"], dtype="M8[D]"),
        np.array([(1, 2.5, "x")], dtype=[("a", "i8"), ("b", "f4"), ("c", "U3")]),
        np.array([(1, (2, [3, 4]))], dtype=[("a", "i2"), ("b", [("c", "u1"), ("d", "f8", (2,))])]),
        np.zeros(2, dtype=np.dtype([("a", "i1"), ("b", "f8")], align=True)),
        np.float16([1.5]),
    ]
    for protocol in range(6):
        for data in (pickle.dumps(arrays, protocol=protocol), dumped(arrays, 0, protocol), dumped(arrays, 3, protocol)):
            for a, b in zip(arrays, resolve(open_stored(data).root), strict=True):
                assert b.dtype == a.dtype.newbyteorder("="), a.dtype
                assert np.array_equal(a, b)
    assert np.array_equal(resolve(open_stored(pickle.dumps(arrays[0])).root), arrays[0])


@pytest.mark.parametrize("offset", [9, 2**31 - 1, 2**31 - 8, 2**63])
def test_a_field_outside_of_its_dtype_is_refused(offset):
    """numpy adds offset and size in 32 bits, finds that the field lies inside, and reads elsewhere."""
    data = pickle.dumps(np.zeros(2, dtype=[("a", "i8"), ("b", "i8")]), protocol=2)
    packed = offset.to_bytes(17, "little")
    found = [at for at in range(len(data)) if data[at : at + 2] == b"K\x08"]
    broken = [data[:at] + b"\x8a\x11" + packed + data[at + 2 :] for at in found]
    refused = 0
    for one in broken:
        try:
            resolve(open_stored(one).root)
        except ReleaseError as error:
            refused += "has a field of 8 at byte" in str(error)
    assert refused


def test_plain_values_at_every_protocol():
    shared = [1, 2]
    values = {
        "numbers": [0, -1, 255, 256, 65536, -(2**31), 2**31, 2**70, -(2**2100), 0.5, -0.0, float("inf"), True, None],
        "text": ["", "a", "ü\n😀\ud800", "x" * 300],
        "bytes": [b"", b"\x00\xff", b"y" * 300, bytearray(b"abc"), bytearray()],
        "sets": [set(), {1, "a", (1, 2)}, frozenset({None, 2.5}), frozenset()],
        "others": [slice(1, None, 2), 1 + 2j, (), (1,), (1, (2, 3)), shared, shared],
        "mappings": [collections.OrderedDict(b=1, a=2), collections.defaultdict(list, {3: 4}), {(1, "a"): {}}],
        "numpy": [np.int64(-3), np.float32(0.1), np.str_("é"), np.bytes_(b"q"), np.bool_(True), np.complex128(1j)],
        np.int64(5): {np.str_("k"): np.float64(2)},
    }
    for protocol in range(6):
        got = resolve(open_stored(pickle.dumps(values, protocol=protocol)).root)
        assert got == values
        assert got["others"][-1] is got["others"][-2]
        assert all(
            type(a) is type(b) for a, b in zip(got["text"] + got["sets"], values["text"] + values["sets"], strict=True)
        )
        assert [type(a) for a in got["numpy"]] == [int, float, str, bytes, bool, complex]


@pytest.mark.parametrize("kind", ["str", "object"])
def test_names_in_an_index_of_pandas_at_every_protocol(kind):
    """From pandas 3 on names are pyarrow's texts where it is there: the file has their bytes, or what makes them."""
    names = pd.Index(["age", "größe", "sex"], dtype=kind)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert texts(open_stored(pickle.dumps(names, protocol=protocol)).root) == list(names), protocol


def test_things_that_stay_things():
    for protocol in range(2, 6):
        value = [np.random.RandomState(0), partial(int, "5", base=7), Fraction(1, 3), datetime(2020, 1, 2, tzinfo=UTC)]
        root = open_stored(pickle.dumps(value, protocol=protocol)).root
        assert [thing.class_name for thing in root[1:]] == ["partial", "Fraction", "datetime"]
        assert root[1].state[1] == ("5",)
        assert pickle.loads(write_pickle(root, protocol))[1]() == 5
        assert pickle.loads(write_pickle(root, protocol))[2:] == value[2:]


def test_values_that_hold_themselves():
    ring = [1]
    ring += [ring, (ring,), {"ring": ring}]
    box = np.empty(2, object)
    box[0] = box
    for protocol in range(2, 6):
        root = open_stored(pickle.dumps([ring, box], protocol=protocol)).root
        got = resolve(root)
        assert got[0][1] is got[0]
        assert got[0][2][0] is got[0]
        assert got[1][0] is got[1]
        again = pickle.loads(write_pickle(root, protocol))
        assert again[0][1] is again[0]
        assert again[0][2][0] is again[0]
        assert _same(open_stored(write_pickle(root, protocol)).root, root)
        inside = ([],)  # a tuple that is only reached through itself
        inside[0].append(inside)
        got = pickle.loads(write_pickle(open_stored(pickle.dumps(inside, protocol=protocol)).root, protocol))
        assert got[0][0] is got


# --- what Python 2 wrote ------------------------------------------------------------------------------------------

OLD = b"""(dp0
S'name'
p1
S'caf\\xe9'
p2
sS'array'
p3
cnumpy.core.multiarray
_reconstruct
p4
(cnumpy
ndarray
p5
(I0
tp6
S'b'
p7
tp8
Rp9
(I1
(I2
tp10
cnumpy
dtype
p11
(S'i2'
p12
I0
I1
tp13
Rp14
(I3
S'<'
p15
NNNI-1
I-1
I0
tp16
bI00
S'\\x01\\x00\\xff\\xff'
p17
tp18
bsS'old'
p19
(i__main__
Old
p20
(dp21
S'long'
p22
L123456789012345678901L
sbsS'new'
p23
ccopy_reg
_reconstructor
p24
(c__main__
New
p25
c__builtin__
object
p26
Ntp27
Rp28
(dp29
S'x'
p30
F0.5
sbs."""


def test_a_pickle_of_python_2():
    stored = open_stored(OLD)
    got = resolve(stored.root)
    assert stored.format == "pickle"
    assert got["name"] == "café"
    assert np.array_equal(got["array"], np.array([1, -1], "i2"))
    assert (got["old"].kind, got["old"].how) == ("__main__.Old", "inst")
    assert got["old"].get("long") == 123456789012345678901
    assert (got["new"].kind, got["new"].get("x")) == ("__main__.New", 0.5)
    assert _same(open_stored(write_pickle(stored.root, 0)).root, stored.root)
    again = open_stored(b"(c__main__\nOld\nI5\nod}(U\x01xK\x01ub.".replace(b"d}", b"}", 1)).root
    assert (again.how, again.args, again.get("x")) == ("obj", (5,), 1)
    assert _same(open_stored(write_pickle(again, 2)).root, again)


# --- without the library ------------------------------------------------------------------------------------------


def test_a_forest_is_read_without_any_library_of_its_maker(fitted, tmp_path):
    for name, data in {"p": pickle.dumps(fitted["forest"]), "j": dumped(fitted["forest"], 3)}.items():
        (tmp_path / name).write_bytes(data)
    code = f"""
import sys
class Wall:
    def find_spec(self, name, *rest):
        if name.partition(".")[0] in {{"sklearn", "joblib", "skops", "imodels", "scipy", "pandas"}}:
            raise AssertionError("import of " + name)
sys.meta_path.insert(0, Wall())
from pathlib import Path
from recon.readers.stored.pickled.stored_files import open_stored
golden = Path({str(GOLDEN)!r})
files = [Path({str(tmp_path)!r}) / "p", Path({str(tmp_path)!r}) / "j", golden / "sklearn-1.9.1/forest.skops",
         golden / "sklearn-1.2.2/forest.pkl", golden / "imodels-3.0.4/figs.pkl"]
for file in files:
    root = open_stored(file.read_bytes()).root
    print(root.class_name, sum(len(t.get("tree_").get("nodes")) for t in root.get("estimators_", [])))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    lines = found.stdout.split("\n")
    nodes = sum(tree.tree_.node_count for tree in fitted["forest"].estimators_)
    assert lines[:2] == [f"RandomForestClassifier {nodes}"] * 2
    assert lines[4] == "FIGSClassifier 0"


def golden(pattern):
    return sorted(GOLDEN.glob(pattern))


def everything(root):
    """Resolve whatever a graph holds; return its Things."""
    stack, seen, things = [root], {}, []
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, Thing):
            things.append(value)
            resolve(value)
            assert len(value.attributes) == len([n for n in value.fields() if isinstance(n, str)])
            stack += [value.args, value.kwargs, value.state, value.items, value.pairs]
        elif isinstance(value, dict):
            stack += [*value.keys(), *value.values()]
        elif isinstance(value, (list, tuple, set, frozenset)):
            stack += value
    return things


@pytest.mark.sampled(4)
@pytest.mark.parametrize("folder", sorted({p.parent.name for p in golden("*/*.pkl")}))
def test_files_of_the_real_libraries(folder):
    files = [p for p in golden(f"{folder}/*") if p.suffix in {".pkl", ".joblib", ".gz", ".skops"}]
    assert files
    for path in files:
        stored = open_stored(path.read_bytes())
        assert everything(stored.root) or folder.startswith("corels"), path
        if stored.format.startswith("pickle"):
            assert (
                _same(open_stored(write_pickle(stored.root, stored.protocol)).root, stored.root) or stored.protocol < 2
            )


def test_what_is_no_stored_object():
    texts = [
        b"",
        b"a",
        b"x,y\n1,2\n",
        b"col1,col2\n1,2\n",
        b"(see below)\n",
        b'{"recon": 1}',
        b"[1, 2]",
        b"<PMML/>",
        b"xc",
    ]
    for data in [
        *texts,
        b"if [a]: y\n",
        b"n= 300\n",
        gzip.compress(b"a,b\n1,2\n", mtime=0),
        zlib.compress(b"text"),
        b"\x80",
        b"]\n",
    ]:
        assert open_stored(data) is None, data
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("data.pkl", b"x")
    assert open_stored(made.getvalue()) is None
    for path in [p for p in golden("*/*") if p.suffix in {".csv", ".txt", ".dot", ".pmml", ".json", ".rds"}]:
        assert open_stored(path.read_bytes()) is None, path


# --- skops --------------------------------------------------------------------------------------------------------


def alike(a, b):
    """Compare two resolved values of the same model out of two containers."""
    stack, seen, arrays = [(a, b, "root")], set(), 0
    while stack:
        a, b, place = stack.pop()
        if isinstance(a, Thing) and isinstance(b, Thing):
            if (id(a), id(b)) in seen or a.kind.startswith(("numpy.random", "numpy.ma", "functools", "sklearn._loss")):
                continue  # written in another way by each
            seen.add((id(a), id(b)))
            assert a.kind == b.kind, place
            stack += [(resolve(a.items), resolve(b.items), place), (resolve(a.pairs), resolve(b.pairs), place)]
            if a.kind == "scipy.sparse._csr.csr_matrix":
                continue
            assert set(a.attributes) == set(b.attributes), place
            stack += [(a.get(n), b.get(n), f"{place}.{n}") for n in a.attributes]
        elif isinstance(a, np.ndarray) and a.dtype != object:
            assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), place
            arrays += 1
        elif isinstance(a, (list, tuple, np.ndarray)):
            assert type(a) is type(b), place
            assert len(a) == len(b), place
            stack += [(u, v, f"{place}[{i}]") for i, (u, v) in enumerate(zip(a, b, strict=True))]
        elif isinstance(a, dict):
            assert list(a) == list(b), place
            stack += [(a[key], b[key], f"{place}[{key!r}]") for key in a]
        else:
            assert type(a) is type(b), place
            assert a == b or a != a, place  # noqa: PLR0124 - NaN
    return arrays


@pytest.mark.parametrize("path", golden("*/*.skops"), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_skops_files_give_the_same_graph_as_pickles(path):
    stored = open_stored(path.read_bytes())
    twin = open_stored(path.with_suffix(".pkl").read_bytes())
    assert stored.format == "skops"
    assert alike(stored.root, twin.root) >= 2
    assert len(everything(stored.root)) > 2


def archive(nodes, members=(), compression=zipfile.ZIP_STORED):
    import json

    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as written:
        for name, content in dict(members).items():
            written.writestr(name, content)
        written.writestr(SCHEMA, json.dumps({**nodes, "protocol": 2}) if isinstance(nodes, dict) else nodes)
    return made.getvalue()


def node(loader, content=None, module="builtins", name="list", **more):
    return {"__class__": name, "__module__": module, "__loader__": loader, "content": content, **more}


def npy(array):
    written = io.BytesIO()
    np.save(written, array, allow_pickle=False)
    return written.getvalue()


def js(text):
    return node("JsonNode", text, name="str")


def test_nodes_of_skops():
    strings = node("ListNode", [node("TypeNode", name="str")] * 2)
    one = node("NdArrayNode", module="numpy", name="ndarray", type="numpy", file="1.npy", __id__=5)
    names = node("TupleNode", [js("2"), js("1")], name="tuple")
    inner = [node("ListNode", [js("1")]), node("ListNode", [js('"b"')])]
    content = {"a": node("ListNode", [one, one, js("1.5")]), "b": node("SetNode", [js("1")], name="set")}
    keys = node(
        "ListNode", [node("TypeNode", name=n, module=m) for n, m in (("int64", "numpy"), ("NoneType", "builtins"))]
    )
    nodes = [
        node("DictNode", content, name="dict", key_types=strings),
        node("DictNode", {"3": js("true"), "null": js("null")}, name="dict", key_types=keys),
        node("NdArrayNode", inner, module="numpy", name="ndarray", type="json", shape=names),
        node("NdArrayNode", module="numpy", name="float64", type="numpy", file="2.npy"),
        node("BytesNode", name="bytes", file="3.bin"),
        node("SliceNode", {"start": 1, "stop": None, "step": 2}, name="slice"),
        node("DTypeNode", one, module="numpy", name="dtype"),
        node("FunctionNode", module="numpy", name="mean"),
        node("FunctionNode", {"module_path": "numpy", "function": "sum"}, name="function", module="numpy"),
        node("MethodNode", {"func": "fit", "obj": node("ObjectNode", module="a", name="B")}, module="a", name="B"),
        node("FutureNode", [1, {"x": 2}], module="a", name="B"),
        node("SparseMatrixNode", module="scipy.sparse._csr", name="csr_matrix", type="scipy", file="4.npz"),
        node(
            "OperatorFuncNode", module="operator", name="itemgetter", attrs=node("TupleNode", [js("1")], name="tuple")
        ),
    ]
    sparse = io.BytesIO()
    np.savez(sparse, data=np.array([1.5]), shape=np.array([2, 3]))
    members = {"1.npy": npy(np.arange(3)), "2.npy": npy(np.float64(2.5)), "3.bin": b"\x00", "4.npz": sparse.getvalue()}
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        root = open_stored(archive(node("ListNode", nodes), members, compression)).root
        got = resolve(root)
        assert got[0]["a"][0] is got[0]["a"][1]
        assert got[0]["a"][0].tolist() == [0, 1, 2]
        assert got[0]["b"] == {1}
        assert got[1] == {3: True, None: None}
        assert got[2].tolist() == [[1], ["b"]]
        assert got[3:7] == [2.5, b"\x00", slice(1, None, 2), np.dtype("i8")]
        assert [str(name) for name in got[7:9]] == ["numpy.mean", "numpy.sum"]
        assert (got[9].kind, got[9].args[1]) == ("builtins.getattr", "fit")
        assert got[10].state["content"] == [1, {"x": 2}]
        assert got[11].get("_shape") == (2, 3)
        assert got[12].args == (1,)
    assert resolve(open_stored(write_pickle(root[3:9], 5)).root) == got[3:9]


BROKEN_SKOPS = {
    "protocol 3": archive('{"protocol": 3}'),
    "no loader": archive(node("ListNode", [{"x": 1}])),
    "no member": archive(node("NdArrayNode", module="numpy", name="ndarray", type="numpy", file="1.npy")),
    "deep JSON": archive("[" * 100_000),
    "digits": archive(node("ListNode", [js("1" * 6_000)])),
    "deep nodes": archive(b'{"protocol": 2, "__loader__": "ListNode", "content": ['
                          + b'{"__loader__": "ListNode", "content": [' * 150 + b"]}" * 151),
    "itself": archive(node("ListNode", [node("CachedNode", __id__=1)], __id__=1)),
    "objects": archive(node("NdArrayNode", module="numpy", name="ndarray", type="numpy", file="1.npy"),
                       {"1.npy": npy(np.arange(3)).replace(b"'<i8'", b"'|O8'")}),
    "huge shape": archive(node("NdArrayNode", module="numpy", name="ndarray", type="numpy", file="1.npy"),
                          {"1.npy": npy(np.arange(3)).replace(b"(3,), }          ", b"(300000000000,), }")}),
    "a pickle": archive(node("NdArrayNode", module="numpy", name="ndarray", type="numpy", file="1.npy"),
                        {"1.npy": pickle.dumps([1])}),
    "cut": archive(node("ListNode", []))[:-30],
    "os": archive(node("ObjectNode", module="os", name="system")),
    "function": archive(node("FunctionNode", module="builtins", name="eval")),
    "type": archive(node("TypeNode", module="subprocess", name="Popen")),
    "hidden": archive(node("FunctionNode", {"module_path": "posix", "function": "system"}, module="a", name="b")),
    "reduce": archive(node("TreeNode", js("null"), module="os", name="system",
                           __reduce__={"args": node("TupleNode", [js('"ls"')], name="tuple")})),
    "method": archive(node("MethodNode", {"func": "__globals__", "obj": node("ObjectNode", module="a", name="B")},
                           module="a", name="B")),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN_SKOPS)
def test_broken_and_malicious_skops_files(name):
    with pytest.raises(ReleaseError) as refused:
        open_stored(BROKEN_SKOPS[name])
    assert 10 < len(str(refused.value)) < 300
    if name in {"os", "function", "type", "hidden", "reduce", "method"}:
        assert "would run" in str(refused.value)


def test_skops_archives_with_parts_left_out():
    data = (GOLDEN / "sklearn-1.9.1/forest.skops").read_bytes()
    before, root = zipfile.ZipFile(io.BytesIO(data)).namelist(), open_stored(data).root
    made = write_skops(data, [("classes_",), ("estimators_", 1, "tree_", "values")])
    got = open_stored(made).root
    assert got.get("classes_", 1) is None
    assert got.get("estimators_")[1].get("tree_").get("values", 1) is None
    assert got.get("estimators_")[0].get("tree_").get("values") is not None
    assert list(got.attributes) == list(root.attributes)
    gone = set(before) - set(zipfile.ZipFile(io.BytesIO(made)).namelist())
    assert 1 <= len(gone) <= 2
    for path in [(), ("no_such",), ("estimators_", 99), ("estimators_", "x"), ("n_estimators", 0)]:
        with pytest.raises(ReleaseError, match="path"):
            write_skops(data, [path])


# --- writing ------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("protocol", range(6))
def test_a_rewritten_pickle_is_loaded_by_the_real_library(fitted, protocol):
    joblib = extra("joblib")
    for name, model in fitted.items():
        rows = X.astype(int) if name == "categories" else X
        expected = model.predict(rows)
        for data in (pickle.dumps(model, protocol=protocol), dumped(model, 0, protocol), dumped(model, 3, protocol)):
            stored = open_stored(data)
            written = write_pickle(stored.root, stored.protocol)
            assert (pickle.loads(written).predict(rows) == expected).all()
            assert (joblib.load(io.BytesIO(written)).predict(rows) == expected).all()
            if stored.format == "pickle":
                assert _same(open_stored(written).root, stored.root)
                assert written == write_pickle(open_stored(written).root, stored.protocol)


def test_edits_reach_the_real_library(fitted):
    stored = open_stored(pickle.dumps(fitted["forest"]))
    again = open_stored(pickle.dumps(fitted["forest"]))
    tree = again.root.get("estimators_")[0].get("tree_")
    nodes = tree.get("nodes").copy()
    nodes["impurity"] = 0
    tree.state["nodes"] = nodes
    assert (tree.get("nodes")["impurity"] == 0).all()
    del again.root.state["_n_samples"]
    again.root.state["classes_"] = np.array([10, 20, 30])
    again.root.state["n_jobs"] = np.int64(1)
    assert not _same(stored.root, again.root)
    live = pickle.loads(write_pickle(again.root, 5))
    assert (live.estimators_[0].tree_.impurity == 0).all()
    assert (live.estimators_[1].tree_.impurity > 0).any()
    assert not hasattr(live, "_n_samples")
    assert (live.predict(X) == 10 + 10 * fitted["forest"].predict(X)).all()
    with pytest.raises(ReleaseError, match="cannot be written"):
        write_pickle({"x": object()}, 4)
    with pytest.raises(ReleaseError, match="objects"):
        write_pickle(np.array([None]), 4)


@pytest.mark.slow
def test_same_sees_every_difference():
    one = [1, 2.0, "a", (b"x", None), {"k": [np.arange(3)]}, Thing(Name("a", "B"), "newobj", state={"x": 1})]
    assert _same(
        one, [1, 2.0, "a", (b"x", None), {"k": [np.arange(3)]}, Thing(Name("a", "B"), "newobj", state={"x": 1})]
    )
    for place, other in enumerate(
        [
            True,
            2.5,
            "b",
            (b"y", None),
            {"k": [np.arange(3).astype("i4")]},
            Thing(Name("a", "B"), "newobj", state={"x": 2}),
        ]
    ):
        assert not _same(one, [*one[:place], other, *one[place + 1 :]])
    shared = [1]
    assert not _same([shared, shared], [[1], [1]])
    assert _same([shared, shared], [shared, shared])
    assert not _same([0.0], [-0.0])
    assert _same([float("nan")], [float("nan")])
    deep, also = [], []
    for _ in range(100_000):
        deep, also = [deep], [also]
    assert _same(deep, also)


# --- malice -------------------------------------------------------------------------------------------------------


class Runs:
    def __init__(self, function, *args):
        self.call = (function, args)

    def __reduce__(self):
        return self.call


def short(text):
    return b"\x8c" + bytes([len(text)]) + text


def named(module, name):
    return b"\x80\x04" + short(module) + short(name) + b"\x93"


def malicious(marker):
    import os

    command = f"touch {marker}"
    text = command.encode()
    box = np.empty(1, object)
    box[0] = Runs(os.system, command)
    code = f"open({marker!r}, 'w')"
    getattr_, klass = named(b"builtins", b"getattr"), short(b"a") + short(b"B") + b"\x93"
    os_ = short(b"sklearn.base") + short(b"os") + b"\x93"
    return {
        "reduce": pickle.dumps(Runs(os.system, command)),
        "reduce, protocol 0": pickle.dumps(Runs(os.system, command), protocol=0),
        "classic": b"cos\nsystem\n(S'" + text + b"'\ntR.",
        "inst": b"(S'" + text + b"'\nios\nsystem\n.",
        "obj": b"(cos\nsystem\nS'" + text + b"'\no.",
        "eval": pickle.dumps(Runs(eval, code)),
        "exec": pickle.dumps([1, {"a": (Runs(exec, code),)}]),
        "import": pickle.dumps(Runs(__import__, "antigravity")),
        "python 2": b"c__builtin__\nexecfile\n(S'/etc/passwd'\ntR.",
        "object array": dumped([np.arange(3), box]),
        "object array, zlib": dumped([np.arange(3), box], 3),
        "getattr of a module": getattr_ + os_ + short(b"system") + b"\x86R.",
        "getattr and call": getattr_ + klass + short(b"c") + b"\x86R" + short(text) + b"\x85R.",
        "getattr __globals__": getattr_ + klass + short(b"__globals__") + b"\x86R.",
        "dotted": named(b"sklearn.base", b"os.system") + short(text) + b"\x85R.",
        "ufunc": named(b"numpy._core", b"_ufunc_reconstruct") + short(b"os") + short(b"system") + b"\x86R.",
        "numpy loads": named(b"numpy", b"load") + short(b"/tmp/x") + b"\x85R.",
        "six": named(b"sklearn.externals.six.moves.builtins", b"eval") + short(b"1") + b"\x85R.",
        "cloudpickle": named(b"joblib.externals.cloudpickle.cloudpickle", b"_make_function") + b".",
        "pandas": named(b"pandas", b"eval") + short(text) + b"\x85R.",
        "code": named(b"types", b"CodeType") + b")R.",
        "built class": named(b"subprocess", b"Popen") + b")\x81}b.",
        "not a name": named(b"a\x1b[2J", b"b") + b")R.",
        "state of a class": named(b"a", b"B") + b"}b.",
        "persistent": b"\x80\x04" + short(b"x") + b"Q.",
        "extension": b"\x80\x04\x82\x01.",
    }  # fmt: skip


NOT_RUN = {"not a name", "state of a class", "persistent", "extension", "getattr and call"}


def test_nothing_is_run(tmp_path):
    marker = str(tmp_path / "ran")
    for name, data in malicious(marker).items():
        with pytest.raises(ReleaseError) as refused:
            open_stored(data)
        message = str(refused.value)
        assert (": it is refused" in message and "would run" in message) or name in NOT_RUN, (name, message)
        assert message.isprintable(), name
        assert len(message) < 300
    assert not (tmp_path / "ran").exists()
    with pytest.raises(
        ReleaseError, match=r"would run (posix|nt)\.system\(\.\.\.\) when it is opened with pickle: it is"
    ):
        open_stored(malicious(marker)["reduce"])
    pickle.loads(malicious(marker)["reduce"])  # what the others do
    assert (tmp_path / "ran").exists()


def p4(body):
    return b"\x80\x04" + body + b"."


def clashing():
    keys = (b"\x8a\x0a" + (k * ((1 << 61) - 1)).to_bytes(10, "little") + b"N" for k in range(1, 60_000))
    return p4(b"}(" + b"".join(keys) + b"u")


BOMBS = {
    "bytearray": lambda: p4(b"\x96" + struct.pack("<Q", 1 << 40)),
    "bytes": lambda: p4(b"\x8e" + struct.pack("<Q", 1 << 40)),
    "long": lambda: p4(b"\x8b" + struct.pack("<i", (1 << 31) - 1)),
    "frame": lambda: p4(b"\x95" + struct.pack("<Q", 1 << 40)),
    "zlib": lambda: zlib.compress(p4(b"N") + bytes(40 << 20), 1),
    "gzip": lambda: gzip.compress(p4(b"N") + bytes(40 << 20), 1),
    "bz2": lambda: bz2.compress(p4(b"N") + bytes(40 << 20)),
    "xz": lambda: lzma.compress(p4(b"N") + bytes(40 << 20), preset=0),
    "lzma": lambda: lzma.compress(p4(b"N") + bytes(40 << 20), lzma.FORMAT_ALONE, preset=0),
    "zip": lambda: archive(node("ListNode", []), {"1.npy": bytes(40 << 20)}, zipfile.ZIP_DEFLATED),
    "tuples as keys": lambda: p4(b"}K\x01" + b"2\x86" * 60 + b"Ns"),
    "tuples as members": lambda: p4(b"\x8f(K\x01" + b"2\x86" * 60 + b"\x90"),
    "keys that clash": clashing,
    "opcodes": lambda: p4(b"N0" * 5_500_000 + b"N"),
    "lists": lambda: p4(b"(" + b"]" * 200_000 + b"l"),
    "sets": lambda: p4(b"(" + b"\x8f" * 200_000 + b"l"),
    "marks": lambda: p4(b"(" * 200_000),
    "memo": lambda: p4(b"N" + b"\x94" * 500_000),
    "digits": lambda: b"(lp0\nI" + b"1" * 90_000 + b"\na.",
    "shape": lambda: pickle.dumps(np.zeros(2), protocol=4).replace(b"K\x02\x85", b"\x8a\x05\x00\x00\x00\x00\x01\x85"),
    "lz4": lambda: b"\x04\x22\x4d\x18" + bytes(20),
    "old joblib": lambda: b"ZF0x10                ",
    "two pickles": lambda: pickle.dumps([1]) * 2,
    "bytes behind zlib": lambda: zlib.compress(pickle.dumps([1])) + b"x",
    "future protocol": lambda: b"\x80\x06N.",
    "separate arrays": lambda: p4(short(b"joblib.numpy_pickle_compat") + short(b"NDArrayWrapper") + b"\x93)\x81}b"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_at_once(name):
    data = BOMBS[name]()
    begun = time.process_time()
    with pytest.raises(ReleaseError) as refused:
        resolve(open_stored(data, memory=32 << 20).root)
    assert time.process_time() - begun < 30
    assert len(str(refused.value)) < 300


@pytest.mark.slow
def test_depth_and_sharing_cost_no_more_than_size():
    chain = b"".join(b"](h" + bytes([i]) + b"h" + bytes([i]) + b"e\x94" for i in range(200))  # 2^200 paths
    tuples = b"".join(b"h" + bytes([i]) + b"h" + bytes([i]) + b"\x86\x94" for i in range(200))
    for body in (
        b"]" * 100_000 + b"a" * 99_999,
        b"]" + b"\x85" * 100_000,
        b"(]\x94" + chain + b"l",
        b"(]\x94" + tuples + b"l",
    ):
        begun = time.process_time()
        root = open_stored(p4(body)).root
        got = resolve(root)
        assert type(got) is type(root)
        assert _same(open_stored(write_pickle(root, 4)).root, root)
        assert time.process_time() - begun < 30


def test_the_place_of_what_is_wrong_is_named():
    whole = pickle.dumps([1, "abc", {2.5: None}])
    for cut in range(3, len(whole)):
        with pytest.raises(ReleaseError, match=r"^byte \d+"):
            open_stored(whole[:cut])
    with pytest.raises(ReleaseError, match=f"^byte {len(whole)}: 5 bytes follow the end"):
        open_stored(whole + b"abcde")
    wrong = open_stored(pickle.dumps({"a": np.zeros(3)}, protocol=4).replace(b"K\x03\x85", b"K\x04\x85"))
    with pytest.raises(ReleaseError, match=r"shape \(4,\) and type float64 needs 32 bytes, 24 are there"):
        resolve(wrong.root)
