"""Missing values as values: releases with one value made "missing" against brute force over every dataset without.

The oracle knows no missing values. Each case is one of its random releases and a copy of it in which the last value
of an attribute is the missing one: every test on the attribute is written anew from the values that pass it, so both
files describe the same datasets, row for row, and the engine must say of the copy what brute force says of the first.
"""

from __future__ import annotations

import copy
import itertools
import json
import math
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import oracle
import oracle_coupled
import pandas as pd
import pytest
from extras import batches, encoded, run
from test_against_oracle import close, random_profile
from test_infer import real

import recon
from encoders.domain.domain import AttributeCuts, Domain
from encoders.domain.values import Categorical, Continuous, Grid, Test, View
from encoders.encode.joining import _same_values
from recon.models.exporting import export, restored
from recon.queries.certificates.verifying import verify
from recon.readers.formats.release.parts import to_domain
from recon.readers.formats.release.reading import parse
from recon.readers.formats.release.writing import dump, release_json
from recon.readers.frames.selections import raw_indices
from recon.readers.frames.world import violations
from solvers.foundation.errors import ReleaseError

CONVENTIONS = ("ordered", "multiset")
BATCHES = batches(1, 14)
PER_BATCH = 8


# ---------------------------------------------------------------- the same release, its last value of `name` missing


class Pair:
    """A release of the oracle, the attribute whose last value is missing in the copy, and that copy."""

    def __init__(self, rng: random.Random, release: dict, name: str) -> None:
        self.rng, self.release, self.name = rng, release, name
        self.space = oracle._Space(release)
        self.at = self.space.position[name]
        *self.known, self.last = self.space.values[name]
        self.ordered = all(map(oracle._is_number, self.space.values[name]))
        self.copy = self.made()
        self.got = encoded(self.copy)

    def made(self) -> dict:
        out = copy.deepcopy(self.release)
        domain = out["domain"]
        for attribute in domain["attributes"]:
            if attribute["name"] == self.name:
                attribute["missing"] = True
                if "values" in attribute:
                    attribute["values"] = attribute["values"][:-1]
                else:
                    attribute["max"] = oracle._json_number(self.known[-1])
        for view in domain.get("columns", {}).values():
            if view["attribute"] == self.name:
                test = self.test({k: v for k, v in view.items() if k != "attribute"})
                view.clear()
                view.update(attribute=self.name, **(test if isinstance(test, dict) else {"in": [test]}))
        domain["impossible"] = [self.condition(box) for box in domain.get("impossible", [])]
        for model in out["models"]:
            parts = [model, *model.get("trees", [])]
            for part in itertools.chain(*(p.get(key, []) for p in parts for key in ("nodes", "rules", "statements"))):
                for key in ("if", "where"):
                    if key in part:
                        part[key] = self.condition(part[key])
        return out

    def condition(self, condition: dict) -> dict:
        return {name: self.test(test) if name == self.name else test for name, test in condition.items()}

    def test(self, test: object) -> object:
        """Write a test on the attribute by the values that pass it, in one of the ways there are."""
        passed = [v for v in self.known if oracle._passes(test, v, self.space.values[self.name])]
        gap = oracle._passes(test, self.last, self.space.values[self.name])
        more = {"or_missing": True} if gap else self.rng.choice([{}, {"or_missing": False}])
        if not passed:
            return {"missing": True} if gap else {"above": oracle._json_number(self.known[-1])}
        if passed == self.known and not gap and self.rng.random() < 0.5:
            return {"missing": False}
        given = [oracle._json_number(v) for v in passed]
        first, last = self.known.index(passed[0]), self.known.index(passed[-1])
        if len(passed) == last - first + 1 and self.rng.random() < 0.7:
            return {"at_least": given[0], "at_most": given[-1], **more}
        return given[0] if len(given) == 1 and not gap and self.rng.random() < 0.5 else {"in": given, **more}

    def profile(self, profile: dict) -> dict:
        return {n: "missing" if n == self.name and oracle.canonical(v) == self.last else v for n, v in profile.items()}

    def row(self, cells) -> tuple:
        """Return a row of the copy as the oracle's."""
        values = [None if pd.isna(v) else oracle.canonical(v) for v in cells]
        assert all(v is not None for k, v in enumerate(values) if k != self.at)
        return tuple(self.last if v is None else v for v in values)

    def rows(self, frame: pd.DataFrame) -> tuple:
        return tuple(sorted((self.row(r) for r in frame.itertuples(index=False)), key=repr))

    def frame(self, rows, empty=None) -> pd.DataFrame:
        """Return rows of the oracle as a table of the copy."""
        cells = [[empty if k == self.at and v == self.last else v for k, v in enumerate(row)] for row in rows]
        cells = [[float(v) if isinstance(v, Fraction) else v for v in row] for row in cells]
        return pd.DataFrame(cells, columns=list(self.space.values), dtype=object)


def statistic_of(release: dict, name: str) -> bool:
    parts = itertools.chain(*(model.get("statements", []) for model in release["models"]))
    return any(part.get(kind, {}).get("of") == name for part in parts for kind in ("mean", "total", "median"))


def pairs(test, batch, number=PER_BATCH, kinds=None):
    """Yield random pairs and the rows they were made from; single trees and lists as well as coupled releases."""
    rng = random.Random(f"missing {test} {batch}")
    while number:
        if kinds is None and rng.random() < 0.5:
            release, truth = oracle.random_release(rng)
        else:
            release, truth = oracle_coupled.random_coupled(rng, kinds)
        label = (release["domain"].get("label") or {}).get("name")
        names = [n for n, v in oracle._Space(release).values.items() if len(v) > 1 and n != label]
        names = [n for n in names if not statistic_of(release, n)]
        if names:
            number -= 1
            yield rng, Pair(rng, release, rng.choice(names)), truth


def total(figure):
    return sum(figure.values()) if isinstance(figure, dict) else figure


def test_some_tests_let_missing_pass():
    every = json.dumps([pair.copy for batch in range(2) for _, pair, _ in pairs("count", batch)])
    assert '"or_missing": true' in every
    assert '{"missing": true}' in every
    assert '{"missing": false}' in every


@pytest.mark.slow
@pytest.mark.parametrize("batch", BATCHES)
def test_counts_and_worlds(batch):
    for _, pair, _ in pairs("count", batch):
        for convention in CONVENTIONS:
            assert recon.count(pair.got, convention).value == total(oracle.count(pair.release, convention)), pair.copy
        expected = {tuple(sorted(d, key=repr)) for d in oracle.datasets(pair.release)}
        listed = [pair.rows(world.to_frame()) for world in recon.worlds(pair.got, limit=None)]
        assert len(listed) == len(set(listed))
        assert set(listed) == expected
        guess = recon.reconstruct(pair.got)
        assert pair.rows(guess.to_frame()) in expected
        assert guess.unique == (len(expected) == 1)
        views = guess.to_frame(views=True)
        for name, view in pair.copy["domain"].get("columns", {}).items():
            want = [pair.space.value_at(name, pair.row(r)) for r in guess.to_frame().itertuples(index=False)]
            assert views[name].tolist() == want, view


@pytest.mark.parametrize("batch", BATCHES)
def test_certify_attribute_and_certificates(batch):
    proved = 0
    for rng, pair, truth in pairs("certify", batch):
        profiles = [random_profile(rng, pair.release, truth, full=i == 0) for i in range(3)]
        profiles.append({pair.name: pair.last})
        given = [pair.profile(p) for p in profiles]
        for convention in CONVENTIONS:
            lines = recon.certify(pair.got, given, convention, certificates=True).to_dict("records")
            for profile, line in zip(profiles, lines, strict=True):
                expected = oracle.membership(pair.release, profile, convention)
                for key in ("verdict", "min_count", "max_count"):
                    assert line[key] == expected[key], (pair.copy, profile, key)
                for key in ("probability", "expected_count", "probability_before"):
                    assert close(line[key], expected[key]), (pair.copy, profile, key)
                if line["certificate"] is not None:
                    certificate = json.loads(json.dumps(line["certificate"]))
                    assert [c.error for c in verify(certificate, pair.got).checked] == [""]
                    proved += pair.profile(profile).get(pair.name) == "missing"
        del profiles[-1][pair.name]
        expected = oracle.attribute(pair.release, {}, pair.name, "ordered")
        if pair.got.rows.exact:
            for line in recon.attribute(pair.got, [{}], pair.name).to_dict("records"):
                want = expected[pair.last if line["value"] == "missing" else oracle.canonical(line["value"])]
                assert close(None if math.isnan(line["probability"]) else line["probability"], want["probability"])
                assert (line["min_count"], line["max_count"]) == (want["min_count"], want["max_count"])
    assert proved


@pytest.mark.parametrize("batch", BATCHES)
def test_bounds(batch):
    means = 0
    for rng, pair, truth in pairs("bound", batch):
        where = random_profile(rng, pair.release, truth)
        where.pop(pair.name, None)
        for test in ({"in": [oracle._json_number(v) for v in pair.known]}, oracle._json_number(pair.last)):
            both = {**where, pair.name: test}
            found = recon.bound(pair.got, pair.condition(both))
            want = oracle.bound(pair.release, both, found.convention if found.convention != "assigned" else "ordered")
            assert (found.min, found.max) == (want["min"], want["max"])
            assert close(found.expectation, want["expectation"])
        if pair.ordered:
            means += 1
            both = {**where, pair.name: {"in": [oracle._json_number(v) for v in pair.known]}}
            found = recon.bound(pair.got, {**where, pair.name: {"missing": False}}, pair.name, "ordered")
            want = oracle.bound(pair.release, both, "ordered", of=pair.name)
            assert close(found.min, want["min"]), (pair.copy, where)
            assert close(found.max, want["max"])
            assert close(found.expectation, want["expectation"])
            with pytest.raises(ReleaseError, match="over missing values is not defined"):
                recon.bound(pair.got, where, pair.name)
    assert means


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["mean", "total", "median"])
def test_statistics_of_what_is_not_missing(kind):
    rng, done = random.Random(f"statistics {kind}"), 0
    while done < 12:
        release, truth = oracle_coupled.random_coupled(rng, ["tree", "rule_set"])
        numeric = [n for n, v in oracle._Space(release).values.items() if len(v) > 1 and all(map(oracle._is_number, v))]
        numeric = [n for n in numeric if n != (release["domain"].get("label") or {}).get("name")]
        if not numeric:
            continue
        name = rng.choice(numeric)
        at, values = list(oracle._Space(release).values).index(name), oracle._Space(release).values[name]
        held = sorted(row[at] for row in truth if row[at] != values[-1])
        if not held:
            continue
        n = len(held)
        exact = {
            "mean": Fraction(sum(held), n),
            "total": sum(held),
            "median": Fraction(held[(n - 1) // 2] + held[n // 2], 2),
        }
        figure = {"of": name, "value": round(float(exact[kind]), 3), "within": 0.001}
        where = {name: {"in": [oracle._json_number(v) for v in values[:-1]]}}
        release["models"].append({"kind": "table", "statements": [{"where": where, kind: figure}]})
        pair = Pair(rng, release, name)
        done += 1
        assert recon.count(pair.got, "multiset").value == total(oracle.count(release, "multiset")), pair.copy
        assert violations(pair.got, pair.frame(truth)) == []
        pair.copy["models"][-1]["statements"][0]["where"] = {}
        with pytest.raises(ReleaseError, match=rf"{kind} .*over missing values is not defined"):
            encoded(pair.copy)


@pytest.mark.parametrize("batch", range(2))
def test_the_truth_with_empty_cells(batch):
    """Exactly the oracle's datasets are without violations; empty cells of other attributes stay open."""
    for rng, pair, truth in pairs("truth", batch):
        possible = {tuple(sorted(d, key=repr)) for d in oracle.datasets(pair.release)}
        pool = oracle.rows(pair.release)
        for _ in range(4):
            rows = rng.choice([truth, [rng.choice(pool) for _ in truth]])
            empty = rng.choice([None, math.nan, pd.NA, "", "missing"])
            frame = pair.frame(rows, empty)
            assert (violations(pair.got, frame) == []) == (tuple(sorted(rows, key=repr)) in possible)
        frame = pair.frame(truth, None)
        if len(truth):
            assert raw_indices(pair.got.domain, frame)[:, pair.at].max() <= len(pair.known)


@pytest.mark.parametrize("to", ["mps", "dimacs"])
def test_exports_come_back(to, tmp_path):
    """A world written as a solution of the exported file comes back as its rows."""
    from pysat.solvers import Solver
    from test_export import highs_of

    seen = 0
    for _, pair, _ in pairs("export", 0, 12):
        if not pair.got.rows.exact or not pair.got.rows.low:
            continue
        path = export(pair.got, to, str(tmp_path / f"release.{to}")).path
        if to == "dimacs":
            lines = [line for line in Path(path).read_text().splitlines() if line and line[0] not in "cp"]
            with Solver(bootstrap_with=[[int(x) for x in line.split()[:-1]] for line in lines]) as solver:
                assert solver.solve()
                solution = {f"x{abs(x)}": int(x > 0) for x in solver.get_model()}
        else:
            highs = highs_of(path)
            highs.run()
            columns = highs.getLp().col_names_
            solution = dict(zip(columns, highs.getSolution().col_value, strict=True))
        (tmp_path / "solution").write_text(json.dumps(solution))
        rows = restored(pair.got, f"{path}.map.json", str(tmp_path / "solution")).to_frame()
        expected = {tuple(sorted(d, key=repr)) for d in oracle.datasets(pair.release)}
        assert pair.rows(rows) in expected or to == "mps"
        assert violations(pair.got, rows) == []
        seen += 1
    assert seen > 4


# ---------------------------------------------------------------- files


def test_files_read_back_the_same():
    for _, pair, _ in pairs("files", 0, 20):
        text = dump(release_json(pair.got.domain, pair.got.models, pair.got.declared))
        part = json.loads(text)
        again = encoded(part)
        assert again.domain == pair.got.domain
        assert again.models == pair.got.models


@pytest.mark.parametrize(
    ("test", "text"),
    [
        (Test(high=25.5, missing=True), {"at_most": 25.5, "or_missing": True}),
        (Test(values=(3,), missing=True), {"in": [3], "or_missing": True}),
        (Test(missing=True), {"missing": True}),
        (Test(values=(), missing=True), {"missing": True}),
        (Test(), {"missing": False}),
        (Test(values=(3,)), 3),
    ],
)
def test_tests_as_written(test, text):
    from recon.readers.formats.release.writing import _view_json, test_json

    assert test_json(test) == text
    assert _view_json(View("a", test)) == {"attribute": "a", **(text if isinstance(text, dict) else {"in": [text]})}


def test_tests_in_words():
    assert str(Test(high=25, missing=True)) == "<= 25 (or missing)"
    assert str(Test(values=("a", "b"), missing=True)) == "in ['a', 'b'] (or missing)"
    assert str(Test(missing=True)) == str(Test(values=(), missing=True)) == "is missing"
    assert str(Test()) == "is not missing"


def release_of(attribute, *models, **more):
    domain = {"attributes": [attribute], **more}
    return {"recon": 1, "domain": domain, "rows": 3, "models": list(models)}


AGE = {"name": "age", "min": 18, "max": 90, "missing": True}


def tree(test, *counts):
    return {
        "kind": "tree",
        "nodes": [{"if": {"age": test}, "then": 1, "else": 2}, *({"count": c} for c in counts or (1, 2))],
    }


def test_regions_in_words():
    got = encoded(release_of(AGE, tree({"at_most": 25, "or_missing": True})))
    shown = recon.table(got)
    assert shown["age"].tolist() == ["{18..25, missing}", "26..90", "26..90"]
    got = encoded(release_of({"name": "age", "values": ["a", "b"], "missing": True}, tree({"missing": True})))
    assert recon.table(got)["age"].tolist() == ["{missing}", "{a, b}", "{a, b}"]
    continuous = {**AGE, "resolution": None}
    got = encoded(release_of(continuous, tree({"at_most": 54}), columns={}))
    assert recon.table(got)["age"].tolist() == ["18..54", "{54..90, missing}", "{54..90, missing}"]
    assert any("missing weighs as much as the whole range of age" in line for line in got.assumptions)


def test_missing_of_a_continuous_attribute_weighs_as_much_as_the_range():
    attribute = Continuous("x", Fraction(0), Fraction(3), missing=True)
    cuts = AttributeCuts.at(attribute, {p for r in attribute.ranges(Test(high=1)) for p in r} | set(attribute.gap))
    assert [Fraction(size, sum(cuts.sizes)) for size in cuts.sizes] == [Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)]
    assert attribute.value(attribute.gap[0]) is None
    assert attribute.value((Fraction(3), 0)) == 3
    release = release_of({"name": "x", "min": 0, "max": 3, "resolution": None, "missing": True})
    nodes = [{"if": {"x": {"missing": True}}, "then": 1, "else": 2}, {"count": 3}, {"count": 0}]
    got = encoded({**release, "models": [{"kind": "tree", "nodes": nodes}]})
    assert recon.measure(got).bits_removed_per_row == pytest.approx(1)
    verdicts = recon.certify(got, [{"x": "missing"}, {"x": 1.5}])["verdict"].tolist()
    assert verdicts == ["certain", "impossible"]
    assert recon.bound(got, {"x": {"missing": True}}).min == 3


def test_several_files_must_agree(tmp_path):
    for name, attribute in (("a", AGE), ("b", {**AGE, "missing": False}), ("c", AGE)):
        test = {"at_most": 25} if name == "b" else {"at_most": 40, "or_missing": True}
        (tmp_path / f"{name}.json").write_text(json.dumps(release_of(attribute, tree(test))))
    with pytest.raises(ReleaseError, match="18 to 90, but 18 to 90, or missing in"):
        recon.load(tmp_path / "a.json", tmp_path / "b.json")
    assert recon.count(recon.load(tmp_path / "a.json", tmp_path / "c.json")).value == 3 * 24 * 50**2
    listed = Categorical("age", tuple(range(18, 91)), missing=True)
    assert _same_values(listed, Grid.between("age", 18, 90, missing=True))
    assert not _same_values(listed, Grid.between("age", 18, 90))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"models": [tree({"at_most": 25, "missing": True})]}, ["'missing' stands alone", "or_missing"]),
        ({"models": [tree({"or_missing": True})]}, ["the test is empty"]),
        ({"models": [tree({"at_most": 25, "or_missing": 1})]}, ["or_missing"]),
        ({"models": [tree({"above": 95, "or_missing": True})]}, ["95", "outside", "or missing"]),
        ({"domain": {"attributes": [{**AGE, "missing": False}]}}, ["'age'", "cannot have", '"missing": true']),
        ({"domain": {"attributes": [{"name": "age", "values": ["missing"], "missing": True}]}}, ["rename"]),
        (
            {"domain": {"attributes": [AGE], "label": {"name": "y", "values": [0, 1], "missing": True}}},
            ["label 'y'", "may be missing"],
        ),
        (
            {"domain": {"attributes": [AGE], "columns": {"c": {"attribute": "age", "below": 20}}},
             "models": [{**tree(1), "nodes": [{"if": {"c": {"in": [1], "or_missing": True}}, "then": 1, "else": 2},
                                              {"count": 1}, {"count": 2}]}]},
            ["'c'", "cannot have"],
        ),
    ],
)  # fmt: skip
def test_refusals(change, words):
    release = release_of(AGE, tree({"at_most": 25, "or_missing": True})) | change
    with pytest.raises(ReleaseError) as refused:
        encoded(release)
    assert all(word in str(refused.value) for word in words), str(refused.value)


def test_a_complete_attribute_refuses_missing_profiles():
    got = encoded(release_of({**AGE, "missing": False}, tree({"at_most": 25})))
    found = recon.certify(got, [{"age": "missing"}]).iloc[0]
    assert (found["verdict"], "missing" in found["reason"]) == ("outside", True)
    assert any("without noise or missing values" in line for line in got.assumptions)
    gaps = encoded(release_of(AGE, tree({"at_most": 25})))
    assert not any("without noise or missing values" in line for line in gaps.assumptions)
    assert "missing is one more value of age" in gaps.assumptions


# ---------------------------------------------------------------- commands


def test_commands(tmp_path, capsys):
    release = tmp_path / "release.json"
    release.write_text(json.dumps(release_of(AGE, tree({"missing": True}))))
    profiles, truth = tmp_path / "profiles.csv", tmp_path / "truth.csv"
    profiles.write_text("age\nmissing\n\n25\n")
    code, out, _ = run(capsys, "certify", str(release), "--profiles", str(profiles), "--json")
    lines = json.loads(out)
    assert [line["verdict"] for line in lines] == ["certain", "certain", "possible"]
    assert (code, lines[0]["min_count"], lines[1]["min_count"]) == (0, 1, 3)
    result = tmp_path / "result.json"
    result.write_text(out)
    code, out, _ = run(capsys, "verify", str(result), str(release))
    assert code == 0
    worlds = tmp_path / "world.csv"
    code, _, _ = run(capsys, "reconstruct", str(release), "--out", str(worlds))
    found = pd.read_csv(worlds)
    assert (code, int(found["age"].isna().sum()), len(found)) == (0, 1, 3)
    truth.write_text("age\n30\n\n40\n")
    code, out, _ = run(capsys, "reconstruct", str(release), "--truth", str(truth), "--json")
    assert json.loads(out)["truth"]["is_world"] is True
    truth.write_text("age\n30\n20\n40\n")
    code, out, _ = run(capsys, "reconstruct", str(release), "--truth", str(truth), "--json")
    assert json.loads(out)["truth"]["is_world"] is False
    one = tmp_path / "one.json"
    one.write_text(json.dumps(release_of({**AGE, "min": 90}, tree({"missing": True}))))
    code, out, _ = run(capsys, "reconstruct", str(one), "--certificates", str(tmp_path / "proofs"), "--json")
    assert json.loads(out)["unique"] is True
    result.write_text(out)
    assert run(capsys, "verify", str(result), str(one))[0] == 0
    data = tmp_path / "data.csv"
    data.write_text("age,y\n18,0\n,1\n90,1\n")
    code, out, _ = run(capsys, "domain", str(data))
    domain = to_domain(parse(out.encode(), "memory").domain)
    assert domain.attributes == (Grid.between("age", 18, 90, missing=True),)
    assert any("missing is one more value" in note for note in domain.notes)


# ---------------------------------------------------------------- domains read off data


def test_columns_with_empty_cells():
    frame = pd.DataFrame(
        {
            "whole": [1, 5, None],
            "grid": [0.5, math.nan, 2.25],
            "text": ["a", "", "b"],
            "bit": [1, None, 0],
            "other": pd.array([4, None, 7], dtype="Int64"),
            "kind": pd.Categorical(["x", None, "y"], categories=["y", "x", "z"]),
            "full": [1, 2, 3],
            "y": [0, 1, 0],
        }
    )
    domain = Domain.from_frame(frame, label="y")
    assert domain.attributes == (
        Grid.between("whole", 1, 5, missing=True),
        Grid.between("grid", 0.5, 2.25, 0.01, missing=True),
        Categorical("text", ("a", "b"), missing=True),
        Categorical("bit", (0, 1), missing=True),
        Grid.between("other", 4, 7, missing=True),
        Categorical("kind", ("x", "y", "z"), missing=True),
        Grid.between("full", 1, 3),
    )
    assert raw_indices(domain, frame)[:, 0].tolist() == [0, 4, 5]
    assert "columns 'whole', 'grid', 'text', 'bit', ... (6) have empty cells" in " ".join(domain.notes)
    assert not any("same in every row" in note for note in domain.notes)


def test_empty_cells_that_stay_refused():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, 500)
    hot = pd.DataFrame({f"kind:{v}": (kind == v).astype(float) for v in range(4)})
    hot.iloc[3, 1] = math.nan
    age = rng.integers(0, 60, 500)
    steps = pd.DataFrame({f"age<{v}": (age < v).astype(float) for v in (20, 30, 40)})
    steps.iloc[7, 0] = math.nan
    with pytest.raises(ReleaseError, match=r"'kind:1' has no value in row 4 .*views one attribute"):
        Domain.from_frame(hot, one_hot=[list(hot.columns)])
    with pytest.raises(ReleaseError, match=r"'age<20' has no value in row 8 .*views one attribute"):
        Domain.from_frame(steps)
    domain = Domain.from_frame(hot, independent=True)
    assert [a.missing for a in domain.attributes] == [False, True, False, False]
    for frame, words in (
        (pd.DataFrame({"a": [None, None], "b": [1, 2]}), "'a' has no value in row 1"),
        (pd.DataFrame({"a": ["missing", None]}), "rename"),
    ):
        with pytest.raises(ReleaseError, match=words):
            Domain.from_frame(frame)


@pytest.mark.parametrize("name", ["adult24", "compas14"])
def test_every_row_of_real_data_with_holes_is_inside(name):
    """Holes go into columns that view no other; every row keeps an index, the empty cells the last one."""
    frame, label = real(name)
    frame = frame.head(3000)
    whole = Domain.from_frame(frame, label=label)
    own = [a.name for a in whole.attributes if a.name in frame.columns]
    if not own:
        frame = frame.assign(extra=np.arange(len(frame)) % 50)
        own = ["extra"]
    rng = np.random.default_rng(1)
    holes = {c: rng.random(len(frame)) < 0.1 for c in own[:3]}
    punched = frame.assign(**{c: frame[c].astype(object).mask(hole) for c, hole in holes.items()})
    domain = Domain.from_frame(punched, label=label)
    assert [a.name for a in domain.attributes if a.missing] == [a.name for a in domain.attributes if a.name in holes]
    indices = raw_indices(domain, punched)
    for k, attribute in enumerate(domain.all):
        assert indices[:, k].max() < attribute.span[1]
        if attribute.name in holes:
            assert ((indices[:, k] == attribute.known[1]) == holes[attribute.name]).all()
    for c in own[3:]:
        assert domain.all[domain.place[c]] == whole.all[whole.place[c]]


def test_worlds_keep_their_types():
    got = encoded(release_of(AGE, tree({"missing": True})))
    frame = recon.reconstruct(got).to_frame()
    assert frame["age"].dtype == np.float64
    assert Counter(frame["age"].isna()) == {True: 1, False: 2}
    again = Domain.from_frame(frame.assign(y=[0, 1, 1]), label="y")
    assert again.attributes[0].missing
    text = encoded(release_of({"name": "age", "values": ["a", "b"], "missing": True}, tree({"missing": True}, 2, 1)))
    cells = recon.reconstruct(text).to_frame()["age"].tolist()
    assert sum(isinstance(c, str) for c in cells) == 1
