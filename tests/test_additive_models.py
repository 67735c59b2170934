"""Explainable Boosting Machines: bins as counts, the true rows never excluded, what is not a count refused."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import additive_files
import numpy as np
import pandas as pd
import pytest
from extras import batches, run

import recon
from encoders.domain.values import Categorical
from encoders.encode.encoder import encode
from recon.readers.formats.statistics import additive_models
from recon.readers.formats.statistics.additive_models import number_of
from recon.readers.formats.statistics.column_tables import texts_or_numbers
from recon.readers.frames.world import violations
from recon.readers.loading.loading import bind_draft

CORPUS = Path(__file__).parent / "corpus"
EXAMPLES = CORPUS.parents[1] / "examples" / "releases"
IRIS = CORPUS.parent / "golden" / "inspect" / "ebm_small.joblib"
MIXED = EXAMPLES / "people_ebm.joblib"


def people():
    """Return the rows of the mixed model: gaps in a number and in a category."""
    return pd.read_csv(EXAMPLES / "people_rows.csv")


def content():
    """Return the mixed model as interpret wrote it in JSON."""
    return json.loads(gzip.decompress((CORPUS / "additive_mixed.json.gz").read_bytes()))


def written(tmp_path, found, name="model.json"):
    """Return the path of JSON content."""
    path = tmp_path / name
    path.write_text(json.dumps(found), encoding="utf-8")
    return str(path)


@pytest.mark.slow
def test_real_models_hold_their_rows_and_both_forms_say_the_same(tmp_path):
    frame = people()
    domain = recon.Domain.from_frame(frame, label="ill")
    stored = recon.load(str(MIXED), domain=domain)
    assert violations(stored, frame) == []
    assert stored.rows.low == stored.rows.high == 40
    by_json = recon.load(str(CORPUS / "additive_mixed.json.gz"), domain=domain)
    names = [tree.name for tree in by_json.models[0].trees]
    assert names == ["age", "weight", "smoker", "town", "age & weight", "age & smoker", "age & town"]
    assert by_json.models[0].trees == stored.models[0].trees[:7]  # beside them the file has bins of equal width
    assert violations(by_json, frame) == []
    wrong = frame.copy()
    wrong.loc[wrong.age.idxmin(), "age"] += 1
    assert violations(by_json, wrong)


@pytest.mark.slow
def test_every_bin_is_counted_as_the_library_counted_it():
    frame = people()
    release = recon.load(str(MIXED), domain=recon.Domain.from_frame(frame, label="ill"))
    for where, rows in (({"weight": {"missing": True}}, 2), ({"town": "Ulm"}, int((frame.town == "Ulm").sum()))):
        asked = recon.bound(release, where)
        assert (asked.min, asked.max) == (rows, rows)


@pytest.mark.slow
def test_rows_of_a_model_without_a_domain(capsys):
    release = recon.load(str(IRIS))
    assert release.rows.low == release.rows.high == 26
    where = '{"sepal length (cm)": {"below": 4.85}}'
    assert "4 rows in every world" in run(capsys, "bound", str(IRIS), "--where", where)[1]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", batches(20, 300))
def test_the_true_rows_are_never_excluded(seed, tmp_path):
    frame = additive_files.drawn(seed)
    path = written(tmp_path, additive_files.model(frame, pairs=3, seed=seed))
    for domain in (recon.Domain.from_frame(frame, label=None), None):
        release = recon.load(path, domain=domain)
        assert violations(release, frame) == []


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(6))
def test_worlds_are_those_that_have_the_same_bins(seed, tmp_path):
    """Every multiset of rows over a small domain of which the model has the same bins, extremes included."""
    frame = additive_files.drawn(seed, rows=4, columns=2, values=3)
    path = written(tmp_path, found := additive_files.model(frame, pairs=1, seed=seed, bins=2))
    domain = additive_files.small_domain(frame, 3)
    release = recon.load(path, domain=domain)
    assert recon.count(release, "multiset").value == additive_files.alike(found, frame, 3) > 0


def test_a_column_of_one_value_has_that_value_without_a_domain(tmp_path):
    """Nothing compares it, but its extremes stand in the file: it is no column of 0 and 1."""
    for value, last in ((0.25, np.nan), (0.0, 0.0), (2.0, 2.0)):
        frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "part": [value, value, last]})
        release = recon.load(written(tmp_path, additive_files.model(frame, pairs=1, seed=0)))
        assert violations(release, frame) == []
        bound = recon.bound(release, {"part": value})
        assert bound.min == bound.max == frame.part.notna().sum()


def test_a_category_that_the_model_does_not_have_is_in_no_row(tmp_path):
    frame = additive_files.drawn(2)
    release = recon.load(
        written(tmp_path, additive_files.model(frame, pairs=1, seed=2)),
        domain=recon.Domain.from_frame(pd.concat([frame, frame.head(1).assign(town="Graz")]), label=None),
    )
    assert violations(release, frame) == []
    assert recon.bound(release, {"town": "Graz"}).max == 0
    assert violations(release, frame.assign(town=["Graz", *frame.town[1:]]))


def test_categories_are_numbers_where_they_are_written_as_such():
    texts = ("1", "2.50", "1.0", "True", "inf", "nan", "10_19", "a")
    assert [number_of(text) for text in texts] == [1, 2.5, 1, 1, None, None, None, None]
    assert texts_or_numbers(["2", "1.5"]) == (2, 1.5)
    assert texts_or_numbers(["TRUE", "FALSE"]) == (1, 0)
    for several in (["1", "1.0"], ["1", "a"]):  # of one number, and of none
        assert texts_or_numbers(several) == tuple(several)


BAD = {
    "weights": (("terms", 0, "bin_weights", 1), 1.5, "terms.0..bin_weights: 1.5 is not a count of rows"),
    "other rows": (("terms", 0, "bin_weights", 1), 90.0, "hold 40 rows, those of another"),
    "a bin too many": (("terms", 2, "bin_weights"), [0.0] * 9, "terms.2..bin_weights: has 9 weights for"),
    "unknown values": (("terms", 0, "bin_weights", -1), 1.0, "values of 'age' that are in none of its bins"),
    "a column that is none": (("terms", 0, "term_features"), ["size"], "columns that the model does not have"),
    "ends that fall": (("features", 0, "cuts", 0, 0), 900.0, "features.0.: has ends of bins that do not ascend"),
    "extremes": (("features", 0, "min"), 900.0, "900 as the least value and"),
    "text for a number": (("terms", 0, "bin_weights", 1), "3", "terms.0..bin_weights.1.: '3' is not a number"),
    "lists of several lengths": (("terms", 0, "bin_weights"), [[1, 2], [3]], "rows of different lengths"),
    "one name twice": (("features", 1, "name"), "age", "ebm.features: two columns are called 'age'"),
    "a word for an end": (("features", 0, "cuts", 0, 0), "a", "features.0..cuts.0..0.: 'a' is not a number"),
    "noise": (("noise_scale_binning",), 2.0, "private Explainable Boosting Machine"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_count_is_refused_in_one_sentence(name, tmp_path, capsys):
    way, value, expected = BAD[name]
    found = content()
    inner = found["ebm"]
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = value
    code, _, error = run(capsys, "count", written(tmp_path, found))
    assert code == 3
    assert re.search(expected, error), error


def test_other_versions_and_levels_of_detail_are_refused_by_name(tmp_path, capsys):
    found = content()
    for term in found["ebm"]["terms"]:
        del term["bin_weights"]
    assert "detail='minimal'" in run(capsys, "count", written(tmp_path, found))[2]
    code, _, error = run(capsys, "count", written(tmp_path, {**content(), "version": "2.0"}))
    assert code == 3
    assert "JSON of version '2.0': the text '1.0' is read" in error


def test_the_counts_are_used_and_a_copy_without_them_holds_none(tmp_path, capsys):
    ledger = run(capsys, "inspect", str(MIXED), "--all")[1]
    assert [line.split()[1] for line in ledger.splitlines() if line.startswith("  used")] == [
        "histogram_weights_,", "bin_weights_,",
    ]  # fmt: skip
    assert "  unknown" not in ledger
    copy = tmp_path / "copy.joblib"
    assert run(capsys, "inspect", str(MIXED), "--strip", str(copy))[0] == 0
    code, _, error = run(capsys, "count", str(copy))
    assert code == 3
    assert "its bin_weights_ were taken out" in error


LEVELS_OF_DETAIL = {  # what to_json leaves out, by its source; "all" is what stands in the corpus
    "all": (), "mergeable": ("best_iteration", "implementation", "implementation_params"),
    "interpretable": ("best_iteration", "implementation", "implementation_params", "bag_weights", "bagged_scores"),
    "minimal": ("best_iteration", "implementation", "implementation_params", "bag_weights", "bagged_scores", "min",
                "max", "num_unique_vals", "histogram_weights", "standard_deviations", "bin_weights"),
}  # fmt: skip


def without(value, keys):
    """Return JSON content without some keys, wherever they stand."""
    if isinstance(value, dict):
        return {key: without(one, keys) for key, one in value.items() if key not in keys}
    return [without(one, keys) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("detail", LEVELS_OF_DETAIL)
def test_json_of_every_level_of_detail_is_understood(detail, tmp_path, capsys):
    """Counts are used where they stand; nothing is left unknown; the remedy holds no counts."""
    found = content()
    inner = without(found["ebm"], LEVELS_OF_DETAIL[detail])
    path = written(tmp_path, {"version": "1.0", "ebm": inner})
    out = run(capsys, "inspect", path, "--all")[1]
    assert "  unknown" not in out
    assert "Explainable Boosting Machine as JSON" in out
    assert ("  used     ebm.terms.*.bin_weights" in out) == (detail != "minimal")
    assert ("40 training rows" in out) == (detail != "minimal")


HIDDEN = {
    "a term's bins": (("terms", 0, "bin_weights"), lambda v: [*v, 37.0, 70.4]),
    "scores": (("terms", 4, "scores", 0), lambda v: [*v, 37.0, 70.4]),
    "bags": (("terms", 4, "bagged_scores"), lambda v: [*v, v[0]]),
    "ends": (("features", 0, "cuts"), lambda v: [*v, *v, [1.5, 2.5, 3.5]]),
    "a histogram": (("features", 0, "histogram_weights"), lambda v: [*v, *range(90)]),
    "a key": (("features", 0, "rows"), lambda v: [[37, 70.4, 1], [40, 71.5, 0]]),
    "a category": (("features", 3, "categories", 0, 0), lambda v: "37, 70.4, 1; 40, 71.5, 0; 41, 72.5, 1"),
    "a term": (("terms",), lambda v: [*v, v[0]]),
    "a setting": (("implementation_params", "objective"), lambda v: "rows 37, 70.4, 1; 40, 71.5, 0; 41, 72.5, 1"),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", HIDDEN)
def test_what_json_holds_beside_its_form_is_unknown(name, tmp_path, capsys):
    way, change = HIDDEN[name]
    found = content()
    inner = found["ebm"]
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = change(inner.get(way[-1]) if isinstance(inner, dict) else inner[way[-1]])
    assert "  unknown" in run(capsys, "inspect", written(tmp_path, found), "--all")[1]


def few_people(number):
    """Return rows of breast cancer measurements, and a file of their bins: single values, 90 tables of pairs.

    As many as the defaults have ("3x" the columns), drawn at random; interpret's own files are large.
    """
    from sklearn.datasets import load_breast_cancer

    every = load_breast_cancer(as_frame=True).data
    frame = every.iloc[np.random.default_rng(0).permutation(len(every))[:number]].reset_index(drop=True)
    return frame, additive_files.model(frame, pairs=90, seed=0)


def bin_of(row, features):
    """Return a row's bins of all columns as a condition."""
    where = {}
    for one in features:
        ends, value = one["cuts"][0], row[one["name"]]
        k = sum(end <= value for end in ends)
        test = ({"at_least": ends[k - 1]} if k else {}) | ({"below": ends[k]} if k < len(ends) else {})
        where |= {one["name"]: test} if test else {}
    return where


@pytest.mark.slow
def test_bins_of_fifty_people_and_thirty_columns_are_certain():
    """Every person's bin of every column holds one row in every world."""
    frame, found = few_people(50)
    draft = additive_models.read_additive_json(found)
    release = encode(*bind_draft(draft, None), draft.rows)
    assert violations(release, frame) == []
    for i in range(50):
        asked = recon.bound(release, bin_of(frame.iloc[i], found["ebm"]["features"]))
        assert (asked.min, asked.max) == (1, 1)


@pytest.mark.slow
def test_fifty_people_are_certified_where_the_values_are_listed(tmp_path):
    """Over a domain of the values that occur every row is certain, each with a certificate that holds.

    With the pairs that interpret chose: of the 30 columns one is in no pair, and that one is open to anybody, since two
    people's values of it may be exchanged without any other count.
    """
    from sklearn.datasets import load_breast_cancer

    every = load_breast_cancer(as_frame=True).data
    frame = every.iloc[np.arange(0, 550, 11)].reset_index(drop=True)
    found = additive_files.model(frame, pairs=additive_files.PAIRED, seed=0)
    single = [name for i, name in enumerate(frame) if all(i not in pair for pair in additive_files.PAIRED)]
    assert (len(frame), len(additive_files.PAIRED), single) == (50, 90, ["texture error"])
    listed = tuple(Categorical(name, tuple(sorted(set(frame[name].tolist())))) for name in frame)
    release = recon.load(written(tmp_path, found), domain=recon.Domain(listed, None))
    proved = recon.certify(release, frame.drop(columns=single))
    assert set(proved.verdict) == {"certain"}
    assert proved.certificate.notna().all()
    wrong = frame.head(5).drop(columns=single)
    wrong["mean radius"] = frame["mean radius"].to_numpy()[5:10]
    assert set(recon.certify(release, wrong).verdict) == {"impossible"}
    other = frame.copy()
    other.loc[[0, 1], single] = frame.loc[[1, 0], single].to_numpy()
    assert not other.equals(frame)
    assert additive_files.model(other, pairs=additive_files.PAIRED, seed=0) == found


def test_the_page_says_how_many_columns_interpret_left_out():
    """Its numbers are those of tests/bench/own_pairs.py, whose draws are those of the pairs below."""
    tests = Path(__file__).parent
    lines = json.loads((tests / "bench" / "results" / "own_pairs.json").read_text(encoding="utf-8"))["lines"]
    left = {name: lines[name]["same"]["columns in no pair"] for name in ("defaults", "one bag", "one bag, 20 rounds")}
    assert {len(one) for one in left.values()} == {8}
    every, bag, rounds = (f"{min(one)} to {max(one)}" for one in left.values())
    page = " ".join((tests.parent / "docs" / "published-models.md").read_text(encoding="utf-8").split())
    said = f"leave {every} columns in no pair, `outer_bags=1` leaves {bag}, and 20 rounds beside it leave {rounds}"
    assert said in page
    unpaired = [
        30 - len({i for pair in some for i in pair}) for some in (additive_files.PAIRED, additive_files.PAIRED_OF_ALL)
    ]
    assert unpaired == [left["defaults"][2], left["one bag"][6]]


@pytest.mark.slow
def test_fifty_people_are_certified_with_all_columns_where_pairs_cover_them(tmp_path):
    """With the pairs of one outer bag, which leave no column out, each row of 30 columns is certain."""
    from sklearn.datasets import load_breast_cancer

    frame = load_breast_cancer(as_frame=True).data.sample(50, random_state=1).reset_index(drop=True)
    assert {i for pair in additive_files.PAIRED_OF_ALL for i in pair} == set(range(30))
    found = additive_files.model(frame, pairs=additive_files.PAIRED_OF_ALL, seed=0)
    listed = tuple(Categorical(name, tuple(sorted(set(frame[name].tolist())))) for name in frame)
    release = recon.load(written(tmp_path, found), domain=recon.Domain(listed, None))
    proved = recon.certify(release, frame)
    assert set(proved.verdict) == {"certain"}
    assert proved.certificate.notna().all()


@pytest.mark.slow
def test_a_data_set_of_a_hundred_people_is_found(tmp_path):
    frame, found = few_people(100)
    listed = tuple(Categorical(name, tuple(sorted(set(frame[name].tolist())))) for name in frame)
    release = recon.load(written(tmp_path, found), domain=recon.Domain(listed, None))
    world = recon.reconstruct(release)
    assert violations(release, world.to_frame()) == []
    assert not world.unique
