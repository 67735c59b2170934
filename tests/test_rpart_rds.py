"""rpart models from .rds files: they state what the JSON form does, the training data agrees, hostile files end."""

from __future__ import annotations

import copy
import gzip
import json
import random
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from encoders.domain.domain import Domain
from encoders.encode.encoder import encode
from recon.readers.formats.drafts.binding import Binder, passes
from recon.readers.formats.drafts.drafts import guess_domain
from recon.readers.formats.printed import rpart_rds
from recon.readers.formats.printed.rpart_rds import read_rpart_rds
from recon.readers.formats.printed.rpart_text import read_rpart_json
from recon.readers.formats.release.reading import strict_json
from recon.readers.frames.world import violations
from recon.readers.stored.binary.rds import RObject, read_rds
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

GOLDEN = Path(__file__).parent / "golden" / "models"
FILES = [e for e in json.loads((GOLDEN / "index.json").read_text(encoding="utf-8")) if e["file"].endswith(".rds")]
RPART = GOLDEN / "rpart-4.1.19"
MEMORY = 1 << 26


def content(name):
    """Return a golden file without its compression."""
    raw = (RPART / name).read_bytes()
    return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw


def golden(name):
    return read_rds(content(name), MEMORY)


@pytest.fixture
def reading(monkeypatch):
    """Read an R object as if it stood in a file."""

    def read(root):
        monkeypatch.setattr(rpart_rds, "read_rds", lambda data, memory: root)
        return read_rpart_rds(b"", MEMORY)

    return read


def texts(*values):
    return RObject("character", list(values))


def listed(*classes, **parts):
    """Return an R list with names and classes."""
    attributes = {"names": texts(*parts)} | ({"class": texts(*classes)} if classes else {})
    return RObject("list", list(parts.values()), attributes)


def changed(root, **parts):
    """Return a copy of an R list with other parts, or more of them."""
    return listed(*root.classes, **(dict(root.parts) | parts))


NULL = RObject("nothing", None)


def stated(draft):
    """Return the draft's statements, thresholds to 12 digits: the golden JSON has 15."""
    (tree,) = draft.models
    found = []
    for n in tree.nodes:
        condition = n.condition
        if condition is not None:
            ((name, test),) = condition
            ends = [e if e is None else float(f"{e:.12g}") for e in (test.low, test.high)]
            condition = name, replace(test, low=ends[0], high=ends[1])
        found.append((condition, n.support, n.then, n.otherwise))
    return found


def test_all_golden_files_are_tested():
    assert {e["file"] for e in FILES} == {f"rpart-4.1.19/{p.name}" for p in RPART.glob("*.rds")}
    assert len(FILES) == 8


@pytest.mark.parametrize("entry", FILES, ids=lambda e: e["file"].partition("/")[2])
def test_golden(entry):
    frame = pd.read_csv(GOLDEN / entry["data"])
    draft = read_rpart_rds((GOLDEN / entry["file"]).read_bytes(), MEMORY)
    assert (draft.origin.format, draft.origin.counts) == ("R rpart object (.rds)", ("exact",))
    assert draft.label == frame.columns[-1]
    assert draft.rows == RowCount(len(frame), len(frame))
    assert draft.slack is None
    assert [str(c) for c in draft.classes] == entry["truth"]["classes"]
    (tree,) = draft.models
    leaves = [list(n.support.counts) for n in tree.nodes if n.condition is None]
    assert leaves == entry["truth"]["counts"]
    domain = Domain.from_frame(frame, label=frame.columns[-1])
    release = encode(domain, draft.bound(Binder(draft, domain)), draft.rows)
    assert violations(release, frame) == []
    wrong = frame.copy()
    wrong.iloc[0, -1] = next(v for v in domain.label.values if v != wrong.iloc[0, -1])
    assert violations(release, wrong) != []
    guessed = guess_domain(draft)
    encode(guessed, draft.bound(Binder(draft, guessed)), draft.rows)
    assert sum("m$where and m$y" in s for s in draft.reader_notes) == 1


@pytest.mark.parametrize("path", sorted(RPART.glob("*.json")), ids=lambda p: p.name)
def test_statements_are_those_of_the_json_form(path):
    draft = read_rpart_rds(path.with_suffix(".rds").read_bytes(), MEMORY)
    other = read_rpart_json(strict_json(path.read_text(encoding="utf-8")))
    assert (draft.features, draft.classes, draft.hints, draft.rows) == (
        other.features, other.classes, other.hints, other.rows,
    )  # fmt: skip
    assert draft.origin.notes == other.origin.notes
    assert stated(draft) == stated(other)


def test_thresholds_have_all_digits():
    """R sends a bmi of 24.2 left at (24.1 + 24.3) / 2, which is more than 24.2; 15 digits say that it is 24.2."""
    draft = read_rpart_rds((RPART / "people_prior.rds").read_bytes(), MEMORY)
    ends = {test.high for name, test in draft.tests() if name == "bmi"}
    assert ends == {(24.1 + 24.3) / 2}
    assert min(ends) > 24.2
    frame = pd.read_csv(GOLDEN / "data" / "people.csv")
    domain = Domain.from_frame(frame, label="sick")
    (tree,) = draft.bound(Binder(draft, domain))
    ((_, test),) = next(n.condition for n in tree.nodes if n.condition and n.condition[0][0] == "bmi")
    assert passes(test, 24.2)


def test_nodes_are_numbered_by_row_names_of_every_form(reading):
    root, truth = golden("people.rds"), reading(golden("people.rds")).models
    names = dict(root.parts)["frame"].attributes
    assert len(truth[0].nodes) == 3
    for form in ([1, 2, 3], [-(1 << 31), 3], [-(1 << 31), -3]):
        names["row.names"] = RObject("integer", np.array(form, dtype=np.int32))
        assert reading(root).models == truth
    names["row.names"] = texts("1", "2", "3")
    assert reading(root).models == truth
    for form in ([-(1 << 31), 4], [1, 2], [1, 2, 4]):
        names["row.names"] = RObject("integer", np.array(form, dtype=np.int32))
        with pytest.raises(ReleaseError):
            reading(root)
    names["row.names"] = texts("1", "two", "3")
    with pytest.raises(ReleaseError, match=r"row\.names"):
        reading(root)


def test_variables_may_be_a_factor(reading):
    """R wrote them so until 4.0."""
    root = golden("shop.rds")
    frame = dict(root.parts)["frame"]
    truth, place = reading(root).models, [n for n, _ in frame.parts].index("var")
    values = frame.values[place].values
    levels = sorted(set(values))
    codes = np.array([levels.index(v) + 1 for v in values], dtype=np.int32)
    frame.values[place] = RObject("integer", codes, {"levels": texts(*levels), "class": texts("factor")})
    assert reading(root).models == truth
    codes[0] = len(levels) + 1
    with pytest.raises(ReleaseError, match="frame\\$var: has a value that is none of its"):
        reading(root)


def test_levels_that_no_row_has_are_no_classes(reading):
    """rpart counts 0 of a level between others, and nothing of levels after the last that a row has."""
    root = golden("people.rds")
    truth = reading(root)
    root.attributes["ylevels"] = texts("no", "yes", "never")
    found = reading(root)
    assert (found.models, found.classes) == (truth.models, ("no", "yes"))
    root.attributes["ylevels"] = texts("no", "maybe", "yes")
    table = next(v for n, v in dict(root.parts)["frame"].parts if n == "yval2")
    columns = table.values.reshape((3, 6), order="F")
    none = np.zeros((3, 1))
    wide = np.hstack([columns[:, :2], none, columns[:, 2:4], none, columns[:, 4:]])
    table.values = wide.ravel(order="F")
    table.attributes["dim"] = RObject("integer", np.array([3, 8], dtype=np.int32))
    found = reading(root)
    assert (found.models, found.classes) == (truth.models, ("no", "yes"))


def test_rows_of_other_weights_leave_sizes(reading):
    root = golden("people.rds")
    weights = next(v for n, v in dict(root.parts)["frame"].parts if n == "wt")
    weights.values = weights.values * 2
    draft = reading(root)
    assert draft.origin.counts == ("size",)
    assert [n.support.count for n in draft.models[0].nodes if n.condition is None] == [44, 46]


def test_rows_left_out_are_told(reading):
    root = golden("people.rds")
    root.values.append(RObject("integer", np.arange(1, 6), {"class": texts("omit")}))
    root.attributes["names"].values.append("na.action")
    assert any("5 rows with missing values" in s for s in reading(root).reader_notes)


def test_a_factor_with_a_missing_level_is_refused(reading):
    root = golden("shop.rds")
    dict(root.attributes["xlevels"].parts)["city"].values[0] = None
    with pytest.raises(Unsupported, match="NA is a level of the factor 'city'"):
        reading(root)


def symbol(name):
    return RObject("reference", RObject("symbol", name))


def call(*parts):
    return RObject("call", [("", p) for p in parts])


def test_the_label_is_the_column_that_the_formula_explains(reading):
    root = golden("people.rds")
    forms = [
        (symbol("sick"), "sick"),
        (call(symbol("factor"), symbol("sick")), "sick"),
        (call(symbol("$"), symbol("people"), symbol("sick")), "sick"),
        (call(symbol("I"), call(symbol(">"), symbol("age"), symbol("x"))), "label"),
        (symbol(".outcome"), "label"),
        (symbol("age"), "age_"),
        (texts("sick"), "label"),
        (call(), "label"),
    ]
    for left, name in forms:
        assert reading(changed_tree(root, call(symbol("~"), left, symbol("age")))).label == name
    assert reading(changed_tree(root, NULL)).label == "label"


def changed_tree(root, terms):
    """Return an rpart object with another formula."""
    found = changed(root, terms=terms)
    return RObject("list", found.values, root.attributes | {"names": found.attributes["names"]})


def test_containers_are_opened(reading):
    tree = golden("people.rds")
    truth = reading(tree).models
    environment = RObject("environment", [("(enclosing)", listed(other=tree)), ("tree", tree)])
    environment.values.append(("self", RObject("reference", environment)))
    held = {
        "m$a$b": listed(x=RObject("integer", np.arange(3)), a=listed(b=tree)),
        "m$tree": environment,
        "m[[1]]": RObject("list", [tree, listed("lm", tree=golden("shop.rds"))]),
        "m$fit": listed("_rpart", "model_fit", lvl=texts("no", "yes"), fit=tree),
        "m$finalModel": listed("train", finalModel=tree, preProcess=NULL, control=listed(sampling=NULL)),
        "m$best$finalModel": listed(best=listed("train", "train.formula", finalModel=tree)),
    }
    for path, root in held.items():
        draft = reading(root)
        assert draft.models == truth
        assert f"only {path} is read, an rpart model" in draft.reader_notes
        assert any(f"{path}$where" in s for s in draft.reader_notes)


def test_the_formula_of_a_caret_model_names_the_label(reading):
    tree = changed_tree(golden("people.rds"), call(symbol("~"), symbol(".outcome"), symbol(".")))
    train = listed(
        "train", "train.formula",
        finalModel=tree, terms=call(symbol("~"), symbol("sick"), symbol(".")), contrasts=listed(city=texts("x")),
    )  # fmt: skip
    draft = reading(train)
    assert draft.label == "sick"
    assert any("columns of 0 and 1" in s for s in draft.reader_notes)


def test_what_is_no_single_tree_is_refused(reading):
    tree, forest = golden("people.rds"), listed("randomForest.formula", "randomForest", y=texts("no"))
    train = listed("train", finalModel=tree, preProcess=listed("preProcess", mean=texts()))
    sampled = listed("train", finalModel=tree, control=listed(sampling=listed(name=texts("up"))))
    refused = [
        (listed(a=tree, b=listed(c=golden("shop.rds"))), r"2 rpart models \(m\$a, m\$b\$c\)"),
        (forest, "y, votes and oob.times outright"),
        (listed("rfsrc", "grow", "surv", yvar=texts("no")), r"hold the training rows outright \(m\$xvar, m\$yvar"),
        (listed("train", finalModel=forest), "y, votes and oob.times outright"),
        (listed(a=listed("ranger"), b=listed("ranger")), "several forests of ranger"),
        (listed("train", finalModel=listed("kknn")), "class 'kknn' in one of class 'train'"),
        (train, r"caret changed the columns before the fit \(m\$preProcess\)"),
        (sampled, "caret sampled the rows"),
        (listed("classbagg", mtrees=RObject("list", [tree])), r"class 'classbagg' are not read.*recon inspect"),
        (listed("train", finalModel=NULL), "class 'train' are not read"),
        (RObject("integer", np.arange(3)), "no model but R's type 'integer'"),
        (NULL, "no model"),
        (listed(a=NULL), "no model but R's type 'list'"),
        (RObject("reference", RObject("symbol", "x")), "no model"),
    ]
    for root, why in refused:
        with pytest.raises(Unsupported, match=why):
            reading(root)
    with pytest.raises(ReleaseError, match="frame"):
        reading(listed("rpart"))


def test_absurd_sizes_end(reading):
    """Splits that all refer to one list of levels, and matrices larger than their values, are refused at once."""
    root = golden("shop.rds")
    size = 100_000
    dict(root.attributes["xlevels"].parts)["city"].values = [f"c{k}" for k in range(size)]
    frame = dict(root.parts)["frame"]
    names = dict(frame.parts)
    for name in ("n", "wt", "ncompete", "nsurrogate"):
        names[name].values = np.ones(201, dtype=np.int64)
    names["var"].values = ["city"] * 200 + ["<leaf>"]
    with pytest.raises(ReleaseError, match="more than 10,000,000 levels"):
        reading(root)
    root = golden("shop.rds")
    for dim in ([1 << 30, 1 << 30], [-28, -5], [140], [28, 6], [0, 0]):
        dict(root.parts)["splits"].attributes["dim"] = RObject("integer", np.array(dim, dtype=np.int64))
        with pytest.raises(ReleaseError, match="splits: is not a matrix"):
            reading(root)


@pytest.mark.parametrize("where", ["class", "names", "xlevels"])
def test_texts_that_are_arrays_are_refused(reading, where):
    """A damaged file may hold numbers where R has texts."""
    root = golden("shop.rds")
    held = dict(root.attributes["xlevels"].parts)["city"] if where == "xlevels" else root.attributes[where]
    held.values = [*held.values[1:], np.arange(3)]
    with pytest.raises(
        ReleaseError, match=r"xlevels\$city: has a part that is not text" if where == "xlevels" else None
    ):
        reading(root)


def test_vectors_beyond_a_limit_and_tables_of_other_classes_are_refused(reading, monkeypatch):
    root = golden("people.rds")
    table = next(v for n, v in dict(root.parts)["frame"].parts if n == "yval2")
    for wide, high in ((9, 2), (2, 9)):  # an odd number of columns, and none for shares
        table.attributes["dim"] = RObject("integer", np.array([high, wide], dtype=np.int32))
        with pytest.raises(ReleaseError, match=r"frame\$yval2: has no counts of 2 classes"):
            reading(root)
    monkeypatch.setattr(rpart_rds, "MAX_PARTS", 2)
    with pytest.raises(ReleaseError, match=r"frame\$var: has 3 values, more than 2"):
        reading(golden("people.rds"))


RAW = {p.name: content(p.name) for p in sorted(RPART.glob("*.rds"))}


def try_to_read(data):
    """Read a broken file; only refusals may come out, and what is read must fit a guessed domain or refuse."""
    begun = time.process_time()
    try:
        draft = read_rpart_rds(data, MEMORY)
        draft.bound(Binder(draft, guess_domain(draft)))
        read = True
    except (ReleaseError, Unsupported):
        read = False
    assert time.process_time() - begun < 30
    return read


def fuzz_bytes(times, seed):
    """Read files with changed, lost and doubled bytes, most of them in the part that the reader looks at."""
    rng = random.Random(seed)
    read = 0
    for _ in range(times):
        data = bytearray(RAW[rng.choice(list(RAW))])
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(14, len(data) if rng.random() < 0.3 else len(data) // 4)
            what = rng.random()
            if what < 0.8:
                data[place] = rng.choice([rng.randrange(256), data[place] ^ 1 << rng.randrange(8), 0, 255])
            elif what < 0.9:
                del data[place : place + rng.randint(1, 8)]
            else:
                data[place:place] = data[place : place + rng.randint(1, 64)]
        read += try_to_read(bytes(data))
    return read


STRANGE = [0, -1, 1, 2, 3, 1 << 31, -(1 << 31), 1 << 53, 0.5, float("nan"), float("inf"), -1e300]
LOOKED_AT = {"frame", "splits", "csplit", "method", "terms"}


def bare(root):
    """Return the object without the parts that the reader does not look at."""
    parts = {name: value for name, value in root.parts if name in LOOKED_AT}
    parts["terms"].attributes = {}
    found = listed(**parts)
    return RObject("list", found.values, root.attributes | found.attributes)


def damaged(root, rng):
    """Return the object with one of its parts replaced, shortened, renamed or of another type."""
    root = copy.deepcopy(root)
    todo, found = [root], []
    while todo:
        value = todo.pop()
        found.append(value)
        todo += [v for _, v in value.parts] + list(value.attributes.values())
    at = rng.choice(found)
    what = rng.randrange(5)
    if what == 0:
        other = rng.choice(found)
        at.kind, at.values = other.kind, copy.deepcopy(other.values)
    elif what == 1:
        at.attributes = copy.deepcopy(rng.choice(found).attributes)
    elif isinstance(at.values, np.ndarray) and len(at.values):
        if what == 2:
            at.values = at.values[: rng.randrange(len(at.values))]
        else:
            values = at.values.astype(np.float64 if at.kind == "double" else np.int64)
            value = rng.choice(STRANGE)
            fits = at.kind == "double" or abs(value) < 1 << 60
            values[rng.randrange(len(values))] = value if fits else 7
            at.values = values
    elif isinstance(at.values, list) and at.values:
        k = rng.randrange(len(at.values))
        if what == 2:
            del at.values[k]
        else:
            at.values[k] = (
                at.values[rng.randrange(len(at.values))] if at.kind != "character" else rng.choice([None, ""])
            )
    return root


def fuzz_objects(times, seed, reading):
    """Read objects with damaged parts."""
    rng = random.Random(seed)
    roots = [bare(golden(name)) for name in RAW]
    read = 0
    for _ in range(times):
        root = damaged(rng.choice(roots), rng)
        begun = time.process_time()
        try:
            draft = reading(root)
            draft.bound(Binder(draft, guess_domain(draft)))
            read += 1
        except (ReleaseError, Unsupported):
            pass
        assert time.process_time() - begun < 30
    return read


@pytest.mark.slow
def test_fuzz(reading):
    assert 20 < fuzz_bytes(300, 1) < 290
    assert 20 < fuzz_objects(300, 1, reading) < 290


@pytest.mark.long
def test_fuzz_long(reading):
    assert 1_000 < fuzz_bytes(10_000, 2) < 9_900
    assert 1_000 < fuzz_objects(10_000, 2, reading) < 9_900


@pytest.mark.parametrize("name", ["people.rds", "shop_ascii.rds"])
def test_files_cut_short_are_refused(name):
    data = RAW[name]
    for k in range(20, len(data) - 40, len(data) // 60):
        assert not try_to_read(data[:k])
