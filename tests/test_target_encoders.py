"""Target encoders: counts solved from codes, the true rows never excluded, what has several solutions said."""

from __future__ import annotations

import json
import pickle
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from changed_objects import changed, root_of
from extras import batches, run
from sklearn.preprocessing import TargetEncoder

import recon
from recon.readers.formats.detection import draft_of_object
from recon.readers.formats.statistics import target_encoders
from recon.readers.formats.statistics.target_encoders import (
    _solutions,
    empirical_encoding,
    evidence_encoding,
    filled_encoding,
    read_evidence_json,
    sigmoid_encoding,
    smooth_encoding,
)
from recon.readers.frames.world import violations
from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.pickled.stored_files import open_stored

CORPUS = Path(__file__).parent / "corpus"


def drawn(seed):
    """Return rows of a category and a number, and a label of two classes."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 400))
    frame = pd.DataFrame({"a": rng.choice(list("pqrst"), n), "b": rng.integers(0, 4, n)})
    return frame.assign(y=np.r_[0, 1, rng.random(n - 2) < 0.3 + 0.1 * (frame.a[2:] == "p")].astype(int))


def fitted(tmp_path, frame, **settings):
    """Return the path of a stored encoder."""
    model = TargetEncoder(**settings).fit(frame[["a", "b"]], frame.y)
    path = tmp_path / "encoder.pkl"
    path.write_bytes(pickle.dumps(model))
    return str(path)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", batches(8, 100))
@pytest.mark.parametrize("smooth", ["auto", 5.0, 0.0])
def test_the_true_rows_are_never_excluded(seed, smooth, tmp_path):
    frame = drawn(seed)
    path = fitted(tmp_path, frame, smooth=smooth, target_type="binary")
    domain = recon.Domain.from_frame(frame, label="y")
    for rows in (None, len(frame)):
        try:
            release = recon.load(path, domain=domain, rows=rows)
        except recon.ReconError as error:  # multiples of shares alone, or classes that are pure
            if "say how many there were" not in str(error):
                raise
            continue
        assert release.rows.low == release.rows.high == len(frame)
        assert violations(release, frame) == []
        wrong = frame.copy()
        wrong.loc[0, ["a", "b"]] = [next(v for v in frame[name] if v != frame[name][0]) for name in "ab"]
        assert violations(release, wrong)


def test_every_pair_of_rows_and_events_is_found():
    """Against all pairs up to 60 rows: none that gives a code is left out, and none else is found."""
    n, k = np.array([(n, k) for n in range(1, 61) for k in range(n + 1)], dtype=float).T
    for encoding in (empirical_encoding(0.3), smooth_encoding(5.0, 0.3), sigmoid_encoding(20, 10, 0.464),
                     evidence_encoding(1.0, 0.3, 200), filled_encoding(3 / 7)):  # fmt: skip
        with np.errstate(all="ignore"):
            codes = encoding.code(n, k)
        for at in range(0, len(n), 7):
            alike = np.abs(codes - codes[at]) <= 1e-15 * (n + 64)
            every = sorted(zip(n[alike].astype(int).tolist(), k[alike].astype(int).tolist(), strict=True))
            assert encoding.pairs(float(codes[at]), 60) == every


def test_choices_that_add_up_are_all_met():
    """Against every choice of a pair per category."""
    from itertools import product

    rng = np.random.default_rng(3)
    for _ in range(200):
        column = [sorted({(int(n), int(rng.integers(0, n + 1))) for n in rng.integers(1, 6, 3)}) for _ in range(3)]
        chosen = [one[int(rng.integers(len(one)))] for one in column]
        total = sum(n for n, _ in chosen), sum(k for _, k in chosen)
        every = [way for way in product(*column) if (sum(n for n, _ in way), sum(k for _, k in way)) == total]
        found = _solutions(column, total)
        assert len(found) == min(2, len(every))
        assert set(found) <= set(every)


def test_codes_of_category_encoders_are_counts_of_1000_rows(capsys):
    release = recon.load(str(CORPUS / "target_encoder_ce.joblib"))
    assert (release.rows.low, release.rows.high) == (1000, 1000)
    assert [model.name for model in release.models] == ["race", "deg"]
    assert sum(int(v) for v in release.models[0].count_tables()[0].values) == 1000
    code, out, _ = run(capsys, "count", str(CORPUS / "target_encoder_ce.joblib"))
    assert (code, "1,030,046,499,197,100 datasets" in out) == (0, True)


def test_targets_of_other_kinds_and_codes_that_no_counts_have_are_refused(tmp_path, capsys):
    frame = drawn(3)
    numbers = frame.assign(y=np.arange(len(frame)) / 7)
    error = run(capsys, "count", fitted(tmp_path, numbers, target_type="continuous"))[2]
    assert "the target of the TargetEncoder is continuous: codes are solved of two classes only" in error
    model = TargetEncoder(target_type="binary").fit(frame[["a", "b"]], frame.y)
    path = tmp_path / "encoder.pkl"
    model.encodings_[0][1] += 1e-7
    path.write_bytes(pickle.dumps(model))
    assert recon.load(str(path)).models[0].name == "b"  # the other column is solved, this one named
    assert [one.what for one in recon.load(str(path)).models[0].origin.unused] == ["the codes of 'a'"]
    model.encodings_[1] = model.encodings_[1][:2]
    path.write_bytes(pickle.dumps(model))
    assert "encodings_[1]: has 2 codes for 4 categories" in run(capsys, "count", str(path))[2]
    model.encodings_[1] = np.array([0.1, np.nan, 0.2, 0.3])
    path.write_bytes(pickle.dumps(model))
    assert "encodings_[1]: has the code nan" in run(capsys, "count", str(path))[2]


def test_codes_of_other_rows_are_refused(tmp_path, monkeypatch):
    frame = drawn(3)
    with pytest.raises(recon.ReleaseError, match=r"rows is not a whole number of events \(--rows\)"):
        recon.load(fitted(tmp_path, frame, target_type="binary"), rows=len(frame) + 1)
    drawn_of = np.random.default_rng(0).choice
    of_100, of_150 = (
        pd.DataFrame({"a": drawn_of(list("xyz"), n), "b": drawn_of(list("uvw"), n), "y": [0, 0, 0, 1, 1] * (n // 5)})
        for n in (100, 150)  # of the same share of events
    )
    model, other = (TargetEncoder(target_type="binary", smooth=0.731).fit(f[["a", "b"]], f.y) for f in (of_100, of_150))
    model.encodings_[1] = other.encodings_[1]
    (tmp_path / "mixed.pkl").write_bytes(pickle.dumps(model))
    with pytest.raises(recon.ReleaseError, match="no numbers of rows and of events have these codes"):
        recon.load(str(tmp_path / "mixed.pkl"))
    monkeypatch.setattr(target_encoders, "MAX_SUMS", 0)
    for rows in (None, 1000):
        with pytest.raises(recon.ReleaseError, match="the codes fit several numbers of rows: say how many there were"):
            recon.load(str(CORPUS / "target_encoder_ce.joblib"), rows=rows)


def test_codes_of_rows_without_a_value_are_of_no_category():
    gaps = pd.DataFrame({"a": ["x", "y", None, "x"]})
    model = TargetEncoder(target_type="binary", smooth=2.0).fit(gaps, [0, 1, 1, 0])
    assert draft_of_object(root_of(model), "pickle").columns[0].values == ("x", "y", None)
    assert read_evidence_json({"a": {"1": 0.5, "nan": -0.5, "2": 0.1}}).columns[0].values == (1, None, 2)
    stored = open_stored((ENCODERS / "toad_woe.pkl").read_bytes()).root
    rule = stored.get("_rules")["rooms"]
    assert None not in {v for one in draft_of_object(stored, "pickle").columns for v in one.values}
    with_gap = changed(stored, {"_rules.rooms.value": np.full(len(resolve(rule["value"])), np.nan)})
    assert {v for one in draft_of_object(with_gap, "pickle").columns for v in one.values if one.name == "rooms"} == {
        None
    }


def test_a_column_with_gaps_that_have_no_code_is_named_as_unused():
    frame = pd.read_csv(CORPUS / "target_encoder.csv")
    release = recon.load(str(CORPUS / "target_encoder.pkl"), domain=recon.Domain.from_frame(frame, label="y"))
    assert violations(release, frame) == []
    gaps = recon.Domain.from_frame(frame.assign(town=frame.town.where(frame.index > 3)), label="y")
    release = recon.load(str(CORPUS / "target_encoder.pkl"), domain=gaps)
    assert [model.name for model in release.models] == ["rooms"]
    assert [one.what for one in release.models[0].origin.unused] == ["the codes of 'town'"]


def test_no_rows_are_refused_in_a_sentence(tmp_path):
    """`--rows 0` ended with a division by zero."""
    path = fitted(tmp_path, drawn(1), smooth=5.0, target_type="binary")
    with pytest.raises(recon.ReleaseError, match=r"codes are of one row or more, not of 0 \(--rows\)"):
        recon.load(path, rows=0)


ENCODERS = CORPUS / "encoders"  # of category_encoders 2.11.2, toad 0.1.7 and mlxtend 0.25.0, over pandas 3.1.1
ROWS = ("rows.csv", "toad_bins.csv")


@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [("Count", 0, 2), ("CountTarget", 0, 2), ("LeaveOneOut", 0, 2), ("CatBoost", 0, 2), ("MEstimate", 0, 2),
     ("WOE", 0, 1), ("toad_woe", 1, 3)],
)  # fmt: skip
def test_encoders_of_other_libraries_hold_the_counts_of_their_rows(name, rows, columns):
    frame = pd.read_csv(ENCODERS / ROWS[rows])
    domain = recon.Domain.from_frame(frame, label="ill")
    release = recon.load(str(ENCODERS / f"{name}.pkl"), domain=domain, rows=len(frame))
    assert violations(release, frame) == []
    assert release.rows.low == release.rows.high == 40
    assert len(release.models) == columns
    assert len(release.models[0].origin.unused) == {"WOE": 1, "toad_woe": 1}.get(name, 0)
    town = {"town": frame.town.tolist()[0]} | ({} if name == "Count" else {"ill": 1})
    asked = recon.bound(release, town)
    told = int(np.logical_and.reduce([frame[column] == value for column, value in town.items()]).sum())
    assert asked.min == asked.max == told
    wrong = frame.copy()
    wrong.loc[wrong.town == frame.town[0], "town"] = next(t for t in frame.town if t != frame.town[0])
    assert violations(release, wrong)


def test_weights_of_evidence_need_the_right_number_of_rows_and_encoders_without_counts_are_named(capsys):
    path = str(ENCODERS / "toad_woe.pkl")
    assert "say how many there were (--rows)" in run(capsys, "count", path)[2]
    for rows in ("39", "41"):
        code, _, error = run(capsys, "count", path, "--rows", rows)
        assert code == 3
        assert f"no number of events has these weights of evidence over {rows} rows (--rows)" in error
    assert "solved for up to 3,000 rows, not 3,001" in run(capsys, "count", path, "--rows", "3001")[2]
    code, _, error = run(capsys, "count", str(ENCODERS / "OneHot.pkl"))
    assert code == 3
    assert "OneHotEncoder of category_encoders is not read (pickle): counts of rows are not worked out" in error
    code, _, error = run(capsys, "count", str(ENCODERS / "Count.pkl"), "--rows", "41")
    assert "the categories have 40 rows, not 41 (--rows)" in error


class Encoder:
    """Stands for an encoder of category_encoders."""


def encoder(tmp_path, monkeypatch, name, **state):
    """Return the path of a stored encoder of category_encoders with such attributes."""
    module = ModuleType("category_encoders.made")
    kind = type(name, (Encoder,), {"__module__": module.__name__})
    setattr(module, name, kind)
    for one in state.values():
        if isinstance(one, Encoder):
            setattr(module, type(one).__name__, type(one))
    monkeypatch.setitem(sys.modules, "category_encoders", ModuleType("category_encoders"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    made = kind()
    made.__dict__.update(state)
    path = tmp_path / "encoder.pkl"
    path.write_bytes(pickle.dumps(made))
    return str(path)


def sums(rows, events, categories="ab"):
    """Return the rows and events of categories as category_encoders keeps them."""
    return pd.DataFrame({"sum": events, "count": rows}, index=list(categories))


COUNTS_THAT_ARE_NONE = {
    "a mean of numbers": ({"x": sums([2, 3], [0.5, 1.0])}, r"mapping\['x'\]: 1.5, 0.5 of 'a' are not numbers of rows"),
    "more events than rows": ({"x": sums([2, 3], [3, 1])}, r"-1, 3 of 'a' are not numbers of rows"),
    "columns of other rows": (
        {"x": sums([2, 3], [1, 1]), "y": sums([2, 4], [1, 1])},
        "other rows than those of another",
    ),
    "a category twice": ({"x": sums([2, 3], [1, 1], "aa")}, "has a category twice"),
    "other columns": ({"x": sums([2, 3], [1, 1]).rename(columns={"sum": "mean"})}, "no columns 'sum' and 'count'"),
    "a list": ([1, 2], "has no counts of its columns"),
    "no table": ({"x": {"a": 1}}, "is a pandas DataFrame of a version or with columns that are not known"),
    "numbers of pyarrow": (
        {"x": sums([2, 3], [1, 1]).astype("int64[pyarrow]")},
        "a version or with columns that are not known",
    ),
    "texts": ({"x": sums([2, 3], ["1", "1"])}, "has sums or counts that are not numbers"),
}


@pytest.mark.parametrize("name", COUNTS_THAT_ARE_NONE)
def test_what_is_no_count_of_an_encoder_is_refused_in_one_sentence(name, tmp_path, monkeypatch, capsys):
    mapping, expected = COUNTS_THAT_ARE_NONE[name]
    code, _, error = run(capsys, "count", encoder(tmp_path, monkeypatch, "LeaveOneOutEncoder", mapping=mapping))
    assert code == 3
    assert re.search(expected, error), error


def test_categories_put_together_and_settings_that_no_encoder_takes_are_refused(tmp_path, monkeypatch, capsys):
    counts = pd.Series([3, 2], index=["a", "rest"])
    path = encoder(
        tmp_path, monkeypatch, "CountEncoder", mapping={"x": counts}, _min_group_categories={"x": {"b": "rest"}}
    )
    assert "puts categories of few rows together (min_group_size)" in run(capsys, "count", path)[2]
    for gap, normalized, expected in (
        (
            np.nan,
            {},
            "does not count rows without a value (handle_missing='return_nan'), so that their number is",
        ),
        (2.0, {"x": True}, "keeps shares of rows (normalize=True): fit it with normalize=False"),
    ):
        mapping = {"x": pd.Series([3.0, gap], index=["a", np.nan])}
        path = encoder(tmp_path, monkeypatch, "CountEncoder", mapping=mapping, _normalize=normalized)
        assert expected in run(capsys, "count", path)[2]
    held = type("OrdinalEncoder", (Encoder,), {"__module__": "category_encoders.made"})()
    held.mapping = [{"col": "x", "mapping": pd.Series([1, 2], index=["a", "b"])}]
    codes = {"mapping": {"x": pd.Series([0.3], index=[1])}, "_sum": 3, "_count": 10, "m": 1.0}
    path = encoder(tmp_path, monkeypatch, "MEstimateEncoder", ordinal_encoder=held, **codes)
    assert "mapping['x']: has no code of the category 'b'" in run(capsys, "count", path)[2]
    for state, expected in (
        ({"_sum": 3, "_count": 10, "m": -1.0}, "m: is -1, which no encoder takes"),
        ({"_sum": 11, "_count": 10, "m": 1.0}, "_count: the target adds up to 11 over 10 rows"),
        ({"_sum": 3, "_count": 10.5, "m": 1.0}, "_count: the target adds up to 3 over 10.5 rows"),
        ({"_sum": 3, "_count": 10, "m": True}, "the encoder is not fitted"),
    ):
        path = encoder(tmp_path, monkeypatch, "MEstimateEncoder", mapping={}, **state)
        assert expected in run(capsys, "count", path)[2]


def test_weights_of_evidence_as_json_say_what_the_object_says(tmp_path, capsys):
    frame = pd.read_csv(ENCODERS / "toad_bins.csv")
    domain = recon.Domain.from_frame(frame, label="ill")
    by_text, by_object = (
        recon.load(str(ENCODERS / name), domain=domain, rows=40) for name in ("toad_woe.json", "toad_woe.pkl")
    )
    assert [m.name for m in by_text.models] == [m.name for m in by_object.models]
    held = [[t.values.tolist() for m in one.models for t in m.count_tables()] for one in (by_text, by_object)]
    assert held[0] == held[1]
    assert violations(by_text, frame) == []
    assert not any(one.level == "unknown" for one in recon.inspect(str(ENCODERS / "toad_woe.json")).findings)
    bins = tmp_path / "combiner.json"
    bins.write_text('{"town": [["Bonn"], ["Ulm", "Kiel"]], "age": [29, 31.5]}', encoding="utf-8")
    assert (
        "the ends of bins by column, as toad's combiner exports them: count the rows"
        in run(capsys, "count", str(bins))[2]
    )
    bins.write_text('{"town": [3, 1]}', encoding="utf-8")
    assert 'the key "recon" is missing' in run(capsys, "count", str(bins))[2]


def by_formula(kind, frame, rng):
    """Return the attributes of an encoder of category_encoders, from the formulas of its page."""
    r, most = float(rng.choice([0.5, 1.0, 5.0])), frame.y.sum()
    tables = {name: frame.groupby(name).y.agg(["sum", "count"]) for name in ("a", "b")}
    if kind == "CountEncoder":
        return {"mapping": {name: one["count"] for name, one in tables.items()}}
    if kind == "CountTargetEncoder":
        counts = {name: pd.crosstab(frame[name], frame.y) for name in tables}
        return {"counts_": counts, "_class_labels": [0, 1]}
    if kind in {"LeaveOneOutEncoder", "CatBoostEncoder"}:
        return {"mapping": tables}
    p, n = frame.y.mean(), len(frame)
    weigh = {
        "MEstimateEncoder": lambda k, c: (k + r * p) / (c + r),
        "WOEEncoder": lambda k, c: np.log((k + r) / (most + 2 * r) / ((c - k + r) / (n - most + 2 * r))).where(
            c > 1, 0.0
        ),
        "TargetEncoder": lambda k, c: p * (1 - (w := 1 / (1 + np.exp(-(c - 20) / r)))) + k / c * w,
    }[kind]
    settings = {
        "MEstimateEncoder": {"m": r}, "WOEEncoder": {"regularization": r},
        "TargetEncoder": {"_mean": p, "min_samples_leaf": 20, "smoothing": r},
    }[kind]  # fmt: skip
    inner, mapping = [], {}
    for name, one in tables.items():
        places = pd.Series(range(1, len(one) + 1), index=list(one.index))
        codes = pd.Series(np.asarray(weigh(one["sum"], one["count"]), dtype=float), index=places.to_numpy())
        inner.append({"col": name, "mapping": places})
        mapping[name] = pd.concat([codes, pd.Series([p, p], index=[-1, -2])])
    held = type("OrdinalEncoder", (Encoder,), {"__module__": "category_encoders.made"})()
    held.mapping = inner
    return {"_sum": float(most), "_count": n, "mapping": mapping, "ordinal_encoder": held, **settings}


LIBRARY_KINDS = ("CountEncoder", "CountTargetEncoder", "LeaveOneOutEncoder", "CatBoostEncoder", "MEstimateEncoder",
                 "WOEEncoder", "TargetEncoder", "WOETransformer")  # fmt: skip


@pytest.mark.parametrize("kind", LIBRARY_KINDS)
@pytest.mark.parametrize("seed", batches(2, 60))
def test_encoders_of_other_libraries_never_exclude_the_true_rows(kind, seed, tmp_path):
    rng = np.random.default_rng(seed)
    frame = drawn(seed).head(120 if kind == "WOETransformer" else 400)
    if kind == "WOETransformer":
        odds = frame.y.sum() / (1 - frame.y).sum()
        counts = {name: frame.groupby(name).y.agg(["sum", "count"]) for name in ("a", "b")}
        weights = {
            name: {
                str(v): float(np.log(max(k, 1) / max(n - k, 1) / odds)) for v, (k, n) in one.iterrows()
            } for name, one in counts.items()
        }  # fmt: skip
        path = tmp_path / "weights.json"
        path.write_text(json.dumps(weights), encoding="utf-8")
    else:
        with pytest.MonkeyPatch.context() as patch:
            path = encoder(tmp_path, patch, kind, **by_formula(kind, frame, rng))
    try:
        release = recon.load(str(path), domain=recon.Domain.from_frame(frame, label="y"), rows=len(frame))
    except recon.ReconError as error:  # weights that several numbers of events have
        if "several" not in str(error):
            raise
        return
    assert release.rows.low == release.rows.high == len(frame)
    assert violations(release, frame) == []
