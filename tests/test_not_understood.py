"""recon inspect never says "nothing" of what it did not understand; counts are as grave as what they allow."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import pickle
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from extras import extra
from typer.testing import CliRunner

from recon.readers.formats.detection import read_draft
from recon.readers.inspection.findings.findings import SMALL, Finding, graded, of_draft
from recon.readers.inspection.inspecting import inspect, inspect_bytes
from recon.readers.inspection.stripping import strip
from recon.readers.stored.binary.ubjson import read_ubjson
from recon.readers.stored.pickled.stored_files import open_stored

extra("sklearn")
MODELS = Path(__file__).parent / "golden" / "models"
SECRET = b"name,age\nalice,31\nbob,44\n" * 3


class Unknown:
    """A class that no rule knows."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


def unknown(data):
    return [f for f in inspect_bytes(data).findings if f.level == "unknown"]


def of(**fields):
    return pickle.dumps(Unknown(**fields))


@pytest.mark.parametrize(("content", "size"), [
    ({"blob": SECRET}, len(SECRET)),
    ({"blob": bytearray(SECRET)}, len(SECRET)),
    ({"blobs": [b"abc", SECRET, 1]}, len(SECRET) + 3),
    ({"blobs": {"a": SECRET}}, len(SECRET)),
    ({"blobs": np.array([SECRET, None], dtype=object)}, len(SECRET)),
    ({"few": np.arange(6.0).reshape(3, 2)}, 48),
    ({"words": ["alice", "bob"]}, 8),
    ({"notes": "alice is 31 " * 50}, 600),
    ({"numbers": [1.5, 2.5, 3.5]}, 24),
    ({"names": np.array(["alice", "bob"], dtype=object)}, 8),
])  # fmt: skip
def test_bytes_of_what_nobody_knows_are_told(content, size):
    found = unknown(of(**content))
    assert any(f"{size:,} bytes" in f.what for f in found), found
    assert "nothing" not in inspect_bytes(of(**content)).to_text().partition("found:")[2].partition("\n")[0]


def test_settings_are_no_finding():
    assert unknown(of(depth=3, rate=0.5, name="fast", flag=True, nothing=None, tags=[])) == []


def test_plain_values_are_told_too():
    (one,) = unknown(pickle.dumps({"rows": [[1, 2], [3, 4]], "n": 2}))
    assert "45 bytes" in one.what  # five numbers, and the keys


@pytest.mark.parametrize("pack", [
    lambda d: d, zlib.compress, gzip.compress, bz2.compress, lambda d: zlib.compress(gzip.compress(d)),
    lambda d: pickle.dumps({"inner": d}),
])  # fmt: skip
def test_what_is_packed_inside_is_opened(pack):
    inner = (MODELS / "leaky" / "KNeighborsClassifier.pkl").read_bytes()
    found = inspect_bytes(of(model=pack(inner))).findings
    assert found[0].level == "critical"
    assert found[0].path.startswith("model(")
    assert "_fit_X" in " ".join(f.path for f in found)


def test_what_is_packed_too_deep_or_is_no_archive_is_told():
    deep = SECRET
    for _ in range(9):
        deep = zlib.compress(deep)
    assert len(unknown(of(model=deep))) == 1
    assert unknown(of(model=gzip.compress(SECRET)[:-9]))[0].rule == "not-understood"
    assert unknown(of(model=b"\x89HDF\r\n\x1a\n" + SECRET))[0].rule == "not-understood"
    bomb = zlib.compress(zlib.compress(bytes(50_000_000)))
    (one,) = [f for f in inspect_bytes(of(model=bomb), memory=1 << 20).findings if f.level == "unknown"]
    assert "more than the 1 MB of memory" in one.follows


def test_bytes_that_an_object_is_called_with_are_told():
    class Called:
        def __reduce__(self):
            return Unknown, (), {"a": 1}

    tensor = b"\x80\x04\x8c\x05torch\x8c\x0f_rebuild_tensor\x93C" + bytes([len(SECRET)]) + SECRET + b"\x85R."
    assert f"{len(SECRET)} bytes" in unknown(tensor)[0].what
    assert inspect_bytes(pickle.dumps(Unknown())).findings == ()


@pytest.mark.parametrize("file", ["catboost-1.2.10/binary.pkl", "xgboost-3.2.0/half.pkl"])
def test_pickles_of_boosters_are_no_all_clear(file):
    found = inspect(MODELS / file)
    (counts,) = [f for f in found.findings if f.rule in {"leaf-counts", "leaf-hessians"}]
    assert (counts.level, found.rows) == ("high", 90)
    assert not [f for f in found.findings if f.level == "unknown"]


def test_catboost_says_what_its_file_says():
    data = (MODELS / "catboost-1.2.10/lossguide.json").read_text(encoding="utf-8")
    weights = [int(w) for w in json.dumps(json.loads(data)["trees"]).split('"weight": ')[1:] for w in [w.split("}")[0]]]
    counts = next(f for f in inspect(MODELS / "catboost-1.2.10/lossguide.cbm").findings if f.rule == "leaf-counts")
    assert counts.smallest == min(w for w in weights if w)
    assert f"({weights.count(1)} leaves have one row)" in counts.follows
    rules = {f.rule for f in inspect(MODELS / "catboost-1.2.10/categories.pkl").findings}
    assert "category-tables" in rules
    assert "class-shares" in {f.rule for f in inspect(MODELS / "catboost-1.2.10/regression.cbm").findings}
    damaged = bytearray((MODELS / "catboost-1.2.10/binary.pkl").read_bytes())
    at = damaged.index(b"CBM1") + 12
    damaged[at : at + 8] = b"\xff" * 8
    assert unknown(bytes(damaged))[0].path == "__model"


def test_keys_that_no_library_writes_are_told():
    files = ["lightgbm-4.7.0/binary.json", "catboost-1.2.10/binary.json", "rpart-4.1.19/people.json"]
    for file, where in [("xgboost-3.2.0/half.json", ("learner", "rows")), *((f, ("rows",)) for f in files)]:
        content = json.loads((MODELS / file).read_text(encoding="utf-8"))
        assert unknown(json.dumps(content).encode()) == [], file
        inner = content
        for key in where[:-1]:
            inner = inner[key]
        inner[where[-1]] = [["alice", 31]]
        (one,) = unknown(json.dumps(content).encode())
        assert one.path == ".".join(where)
    content = json.loads((MODELS / "xgboost-3.2.0/half.json").read_text(encoding="utf-8"))
    content["learner"]["attributes"]["data"] = "alice,31;bob,44"
    assert unknown(json.dumps(content).encode())[0].path == "learner.attributes.data"
    whole = read_ubjson((MODELS / "xgboost-3.2.0/half.ubj").read_bytes(), 1 << 24)
    assert "learner" in whole


@pytest.mark.parametrize("file", [
    "sklearn-1.9.1/text_people_2.txt", "sklearn-1.9.1/dot_people_default.dot", "rpart-4.1.19/people.txt",
    "lightgbm-4.7.0/binary.txt", "corels-1.1.29/list_with_counts.txt", "xgboost-3.2.0/half.dump.txt",
])  # fmt: skip
def test_lines_that_are_no_part_of_a_model_are_told(file):
    data = (MODELS / file).read_bytes()
    assert unknown(data) == []
    (one,) = unknown(data + b"\nalice;31;yes\nbob;44;no\n")
    assert "21 bytes of 2 lines" in one.what


def test_extensions_of_pmml_are_told():
    text = (MODELS / "pmml-written" / "forest_majority.pmml").read_text(encoding="utf-8")
    before = unknown(text.encode())
    more = text.replace("</Header>", '<Extension name="rows">alice,31</Extension></Header>')
    assert more != text
    assert unknown(more.encode()) != before


def test_members_of_an_archive_that_nothing_names_are_told():
    data = (MODELS / "sklearn-1.9.1" / "forest.skops").read_bytes()
    assert unknown(data) == []
    copy = io.BytesIO(data)
    with zipfile.ZipFile(copy, "a") as archive:
        archive.writestr("rows.csv", SECRET)
    (one,) = unknown(copy.getvalue())
    assert "rows.csv" in one.path


# ------------------------------------------------------------------ how grave counts are


def fitted(name, **parameters):
    import sklearn.ensemble
    import sklearn.tree

    x = np.random.default_rng(0).normal(size=(200, 3))
    kind = getattr(sklearn.tree, name, None) or getattr(sklearn.ensemble, name)
    return kind(random_state=0, **parameters).fit(x, (x[:, 0] > 0).astype(int))


def counts_of(data):
    return next(f for f in inspect_bytes(data).findings if f.rule in {"tree", "counts"})


def test_levels_say_what_counts_allow():
    large = counts_of(pickle.dumps(fitted("DecisionTreeClassifier", max_depth=1)))
    assert (large.level, large.models) == ("medium", 1)
    assert large.smallest >= SMALL
    grown = counts_of(pickle.dumps(fitted("ExtraTreeClassifier", max_features=1)))
    assert (grown.level, grown.smallest) == ("high", 1)
    assert "run recon audit: this can be everything" in grown.follows
    forest = counts_of(pickle.dumps(fitted("RandomForestClassifier", n_estimators=2, max_depth=1, min_samples_leaf=60)))
    assert (forest.level, forest.models) == ("high", 2)
    sized = [Finding("medium", "tree", "tree_", "", "", "", smallest=60, models=k) for k in (1, 2)]
    assert graded(sized[:1])[0].level == "medium"
    assert "2 trees, lists or tables are about the same rows" in graded(sized[1:])[0].follows
    assert "was not worked out" in graded([Finding("medium", "counts", "", "", "", "")])[0].follows
    assert graded([Finding("medium", "moments", "", "", "", "")])[0].level == "medium"
    for text, level in (("a,count\nx,12\ny,40\n", "medium"), ("a,count\nx,9\ny,40\n", "high")):
        assert counts_of(text.encode()).level == level


def test_stripping_does_not_make_a_forest_look_safe(tmp_path):
    path, out = tmp_path / "forest.pkl", tmp_path / "copy.pkl"
    path.write_bytes(pickle.dumps(fitted("RandomForestClassifier", n_estimators=5)))
    worst = inspect(path).findings[0].level
    done = strip(path, out)
    assert "bag-seeds" in {f.rule for f in done.removed}
    assert worst == "high" == inspect(out).findings[0].level


def test_isolation_forests_are_read():
    from sklearn.ensemble import IsolationForest

    x = np.random.default_rng(0).integers(0, 5, (300, 3)).astype(float)
    for size, exact in ((64, False), (300, True)):
        model = IsolationForest(n_estimators=4, max_samples=size, random_state=0).fit(x)
        data = pickle.dumps(model)
        found = {f.rule: f.level for f in inspect_bytes(data).findings}
        assert found["tree"] == found.get("bag-seeds", "high") == "high"
        draft = read_draft(data, 1 << 28)
        assert (draft.rows.low, draft.rows.high) == (300, 300)
        assert draft.classes is None
        assert draft.resampled == (not exact)
        if not exact:
            drawn = np.array([np.bincount(s, minlength=300) for s in model.estimators_samples_])
            assert (draft.multiplicities == drawn).all()
        assert of_draft(draft)[1] == 4
    assert open_stored(data).root.class_name == "IsolationForest"


# ------------------------------------------------------------------ several files


def run(*arguments):
    from recon.cli.app import app

    return CliRunner().invoke(app, ["inspect", *map(str, arguments)])


def test_several_files(tmp_path):
    good, bad = MODELS / "leaky" / "SVC.pkl", tmp_path / "bad.pkl"
    bad.write_bytes(b"\x80\x04nonsense")
    done = run(good, bad, MODELS / "leaky" / "KMeans.pkl")
    assert done.exit_code == 3
    assert done.output.index("SVC.pkl") < done.output.index("NOT INSPECTED") < done.output.index("KMeans.pkl")
    title, head, first, second, third, empty = done.output.split("\n")[:6]
    assert title == "3 files"
    assert head.split()[:3] == ["file", "format", "rows"]
    assert head.split()[3] == "critical"
    assert [line[head.index("format") :].split()[0] for line in (first, second, third)] == ["pickle", "NOT", "pickle"]
    assert int(first[head.index("critical") :].split()[0]) > 0
    assert not empty
    told = json.loads(run(good, bad, good, "--json").stdout)
    assert [set(t) == {"file", "error"} for t in told] == [False, True, False]
    assert told[0] == json.loads(run(good, "--json").stdout)
    assert run(good, good).exit_code == 0
    assert run(good, good, "--strip", tmp_path / "copy.pkl").exit_code == 2
    assert run("-", "-").exit_code == 2


@pytest.mark.slow
def test_many_packed_values_share_one_budget():
    bomb = zlib.compress(bytes(30_000_000))
    found = unknown(of(blobs=[bomb + bytes([i]) for i in range(3)], others=[b"%d" % i for i in range(1_100)]))
    assert sum("places not understood" in f.what for f in found) >= 1
    total = sum(int(f.what.partition(" ")[0].replace(",", "")) for f in found)
    assert total == 3 * (len(bomb) + 1) + sum(len(b"%d" % i) for i in range(1_100))


def pipeline(scaled_rows=None):
    """Return a pipeline over named columns, one of them scaled, fitted on 400 rows; the scaler alone on so many."""
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import MinMaxScaler
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    names = [f"column-{i}: whether it is the case" for i in range(14)]
    table = pd.DataFrame(rng.integers(0, 2, (400, 14)), columns=names)
    columns = ColumnTransformer([("scaled", MinMaxScaler(), [names[0]])], remainder="passthrough")
    model = Pipeline([("columns", columns), ("tree", DecisionTreeClassifier(min_samples_leaf=60, random_state=0))])
    model.fit(table, table[names[1]] ^ (rng.random(400) < 0.1))
    if scaled_rows:
        model[0].transformers_[0][1].n_samples_seen_ = scaled_rows
    return model


def test_names_of_columns_may_stand_twice_but_nothing_beside_them():
    model = pipeline()
    assert unknown(pickle.dumps(model)) == []
    model[0]._remainder = (*model[0]._remainder[:2], [f"row {i}: 31, 1, 0" for i in range(20)])
    assert any("_remainder" in one.path for one in unknown(pickle.dumps(model)))


@pytest.mark.parametrize(("rows", "opened"), [(None, False), (399, True)])
def test_a_number_of_rows_is_unused_only_where_it_is_another_one(tmp_path, rows, opened):
    from recon.readers.loading.loading import load
    from recon.release.auditing.facts import _beside_rows
    from recon.release.policies.facts import FactTable, KnownFigure

    file = tmp_path / "pipeline.pkl"
    file.write_bytes(pickle.dumps(pipeline(rows)))
    counted = FactTable("exact", figures={"smallest_group": KnownFigure(60, 60)})
    assert (_beside_rows(counted, [inspect(file)], load(str(file)))["smallest_group"] != KnownFigure(60, 60)) == opened
