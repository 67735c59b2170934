"""A guessed range has no end, a profile outside the domain gets its line, and so does one that nobody had time for."""

import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from extras import run
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import recon
from encoders.domain.values import Continuous
from recon.readers.formats.drafts.drafts import alike
from recon.readers.formats.release.schema import json_schema
from recon.readers.formats.release.writing import dump, release_json
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
KINDS = {
    "tree": lambda seed: DecisionTreeClassifier(random_state=seed),
    "forest": lambda seed: RandomForestClassifier(2, bootstrap=False, max_features=1, random_state=seed),
    "bootstrap": lambda seed: RandomForestClassifier(2, random_state=seed),
    "random thresholds": lambda seed: ExtraTreesClassifier(2, random_state=seed),
}


def saved(path, model):
    path.write_bytes(pickle.dumps(model))
    return str(path)


def table(seed=0, rows=60):
    dice = np.random.default_rng(seed)
    x = pd.DataFrame({"a": dice.normal(size=rows), "b": dice.normal(size=rows) * 1e6})
    return x, (x.a + x.b / 1e6 + dice.normal(size=rows) / 3 > 0).astype(int)


# ---------------------------------------------------------------- a guessed range excludes nobody


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=6, derandomize=True)
@given(data=st.lists(st.tuples(FLOATS, FLOATS, st.integers(0, 1)), min_size=4, max_size=8), seed=st.integers(0, 9))
def test_no_training_row_is_outside_a_guessed_domain(kind, data, seed, tmp_path_factory):
    x = pd.DataFrame([row[:2] for row in data], columns=["a", "b"], dtype=np.float32)
    y = np.array([row[2] for row in data])
    path = saved(tmp_path_factory.mktemp("m") / "m.pkl", KINDS[kind](seed).fit(x, y))
    release = recon.load(path)
    rows = x.astype(float).assign(label=y).to_dict("records")
    halves = [a.name for a in release.domain.attributes if not isinstance(a, Continuous)]
    rows = [{k: v for k, v in row.items() if k not in halves} for row in rows]  # never used, or cut at one half
    said = recon.certify(release, rows, certificates=False)
    assert not set(said["verdict"]) & {"outside", "impossible"}
    assert (said["max_count"] >= 1).all()


@pytest.mark.slow
def test_no_row_of_breast_cancer_is_outside(tmp_path):
    data = load_breast_cancer(as_frame=True)  # the largest radius error is 2.873; the tree's thresholds end below 1
    path = saved(tmp_path / "m.pkl", DecisionTreeClassifier(random_state=0).fit(data.data, data.target))
    said = recon.certify(recon.load(path), data.data.assign(label=data.target), certificates=False)
    assert said["verdict"].unique().tolist() == ["possible"]


def test_beyond_the_thresholds_the_answers_are_those_of_a_wide_domain(tmp_path):
    """The same tree over a domain that reaches far beyond every row: the outside oracle of the open ends."""
    x, y = table()
    path = saved(tmp_path / "m.pkl", DecisionTreeClassifier(max_depth=3, random_state=0).fit(x, y))
    open_ends = recon.load(path)
    wide = {"recon": 1, "domain": {
        "attributes": [{"name": n, "min": -1e9, "max": 1e9, "resolution": None} for n in "ab"],
        "label": {"name": "label", "values": [0, 1]}}, "models": []}  # fmt: skip
    (tmp_path / "wide.json").write_text(json.dumps(wide))
    closed = recon.load(path, domain=str(tmp_path / "wide.json"))
    dice = np.random.default_rng(1)
    asked = [{"a": v, "label": c} for v in (-9e8, -5, 0, 5, 9e8) for c in (0, 1)]
    asked += [{"a": float(v), "b": float(w) * 1e6} for v, w in dice.normal(size=(20, 2)) * 3]
    columns = ["verdict", "min_count", "max_count"]
    one, other = (recon.certify(r, asked)[columns].to_numpy().tolist() for r in (open_ends, closed))
    assert one == other
    for where in ({"a": {"above": 4}}, {"b": {"below": -5e6}, "label": 1}, {"a": {"at_least": -1, "below": 1}}):
        one, other = (recon.bound(r, where) for r in (open_ends, closed))
        assert (one.min, one.max, one.expectation) == (other.min, other.max, None)


def test_what_needs_the_sizes_of_regions_is_not_given(tmp_path, capsys):
    x, y = table()
    path = saved(tmp_path / "m.pkl", DecisionTreeClassifier(max_depth=3, random_state=0).fit(x, y))
    release = recon.load(path)
    assert not any("lies outside" in line for line in release.assumptions)
    assert any("'a' is any number" in line for line in release.assumptions)
    code, out, _ = run(capsys, "count", path, "--json")
    found = json.loads(out)
    nulls = ("bits_removed_per_row", "dist_g", "entropy_bits", "uninformed_bits", "determined_rows", "smallest_region")
    assert (code, {k: found[k] for k in nulls}) == (0, dict.fromkeys(nulls))
    assert all(r["bits_removed"] is None and r["worlds_per_row"] is None for r in found["regions"])
    leaves = sum(r["rows"] for r in found["regions"])
    assert leaves == len(x)
    told = recon.attribute(release, [{"a": 0.1}, {"a": 3.0, "b": 3e6}], "label")
    mixed = (~told["certain"]) & (told["max_count"] > 0)
    assert told.loc[mixed, "probability"].isna().all()
    assert told["probability_before"].isna().all()
    with pytest.raises(Unsupported, match="no region has a share"):
        recon.bound(release, {"a": {"above": 0}}).distribution()
    with pytest.raises(ReleaseError, match="cannot be summed"):
        recon.bound(release, {}, of="a")


def test_open_ends_are_written_and_read_again(tmp_path, capsys):
    x, y = table()
    path = saved(tmp_path / "m.pkl", DecisionTreeClassifier(max_depth=3, random_state=0).fit(x, y))
    release = recon.load(path)
    text = dump(release_json(release.domain, release.models, release.declared))
    assert json.loads(text)["domain"]["attributes"] == [{"name": n, "resolution": None} for n in "ab"]
    again = tmp_path / "again.json"
    again.write_text(text)
    assert recon.load(str(again)).domain == release.domain
    assert recon.load(str(again)).statements.blocks[0].low.tolist() == release.statements.blocks[0].low.tolist()
    code, out, _ = run(capsys, "domain", path)
    assert (code, json.loads(out)["domain"]) == (0, json.loads(text)["domain"])
    assert "either end may be left out" in json.dumps(json_schema())


@pytest.mark.parametrize("ends", [{"min": 0}, {"max": 0}, {}])
def test_one_end_may_be_left_out(ends, tmp_path):
    attribute = {"name": "a", "resolution": None, "missing": True, **ends}
    cut = {"above": 1, "or_missing": True} if "max" not in ends else {"below": -1}
    nodes = [{"if": {"a": cut}, "then": 1, "else": 2}, {"count": 2}, {"count": 0}]
    release = {"recon": 1, "domain": {"attributes": [attribute]}, "models": [{"kind": "tree", "nodes": nodes}]}
    (tmp_path / "r.json").write_text(json.dumps(release))
    got = recon.load(str(tmp_path / "r.json"))
    inside, far = (-7, -1e300) if "max" in ends else (7, 1e300)
    said = recon.certify(got, [{"a": inside}, {"a": far}, {"a": -inside}, {"a": "missing"}])["verdict"].tolist()
    other = "impossible" if not ends else "outside"
    assert said == ["possible", "possible", other, "possible" if "max" not in ends else "impossible"]
    integers = {**release, "domain": {"attributes": [{"name": "a", **ends}]}}
    (tmp_path / "i.json").write_text(json.dumps(integers))
    with pytest.raises(ReleaseError, match="'min' and 'max'"):
        recon.load(str(tmp_path / "i.json"))


def test_regions_of_open_ranges_in_words_and_in_maps(tmp_path, capsys):
    x, y = table()
    path = saved(tmp_path / "m.pkl", DecisionTreeClassifier(max_depth=2, random_state=0).fit(x, y))
    code, out, _ = run(capsys, "count", path, "--json")
    told = [r["where"] for r in json.loads(out)["regions"]]
    assert code == 0
    assert any(re.search(r"[ab] <= -?\d", text) for text in told)
    assert any(re.search(r"[ab] > -?\d", text) for text in told)
    assert "inf" not in "".join(told)
    release = recon.load(path)
    assert release.cut.unsized == ("a", "b")
    code, out, err = run(capsys, "export", path, "--to", "mps", "--out", str(tmp_path / "p.mps"))
    assert code == 0, err
    described = next(p.read_text() for p in tmp_path.iterdir() if "map" in p.name)
    assert '"at_most"' in described
    assert "Infinity" not in described


# ---------------------------------------------------------------- profiles outside the domain

TREE = {"recon": 1, "domain": {
    "attributes": [{"name": "age", "min": 18, "max": 90}, {"name": "city", "values": ["A", "B"]}],
    "label": {"name": "y", "values": [0, 1]}, "columns": {"young": {"attribute": "age", "below": 30}}},
    "models": [{"kind": "tree", "nodes": [
        {"if": {"age": {"below": 30}}, "then": 1, "else": 2}, {"counts": [0, 2]}, {"counts": [3, 1]}]}]}  # fmt: skip


@pytest.fixture
def tree_file(tmp_path):
    (tmp_path / "tree.json").write_text(json.dumps(TREE))
    return str(tmp_path / "tree.json")


def test_a_value_outside_stops_nobody_else(tree_file, tmp_path, capsys):
    profiles = tmp_path / "p.csv"
    profiles.write_text("age,city,young\n20,A,\n17,C,\n40,B,\n40,A,1\nold,A,\n")
    code, out, err = run(capsys, "certify", tree_file, "--profiles", str(profiles), "--json")
    lines = json.loads(out)
    assert code == 4
    assert [line["verdict"] for line in lines] == ["possible", "outside", "possible", "outside", "outside"]
    assert [line["profile"] for line in lines] == list(range(5))
    alone = recon.certify(recon.load(tree_file), [{"age": 20, "city": "A"}, {"age": 40, "city": "B"}])
    for i, j in ((0, 0), (2, 1)):
        assert [lines[i][k] for k in ("min_count", "max_count")] == alone.loc[j, ["min_count", "max_count"]].tolist()
        assert lines[i]["probability"] == pytest.approx(alone.loc[j, "probability"])
        assert lines[i]["reason"] is None
    for i in (1, 3, 4):
        empty = ("min_count", "max_count", "probability", "probability_before", "expected_count", "certificate")
        assert {lines[i][k] for k in empty} == {None}
    assert "17" in lines[1]["reason"]
    assert "'C'" in lines[1]["reason"]
    for words in ("row 2, column 'age': 17", "row 2, column 'city': 'C'", "row 4", "row 5, column 'age': 'old'"):
        assert words in err
    code, out, _ = run(capsys, "certify", tree_file, "--profiles", str(profiles))
    assert code == 4
    assert out.splitlines()[2].startswith("1,outside,,,,,,,")
    profiles.write_text("age,shoe\n20,44\n17,44\n")  # an unknown column is still refused
    assert run(capsys, "certify", tree_file, "--profiles", str(profiles))[0] == 3
    profiles.write_text("age\n" + "200\n" * 50)
    code, out, err = run(capsys, "certify", tree_file, "--profiles", str(profiles))
    assert (code, out.count("outside,"), err.count("  row "), "and 30 more" in err) == (4, 50, 20, True)


def test_a_result_with_rows_outside_is_verified(tree_file, tmp_path, capsys):
    profiles, result = tmp_path / "p.csv", tmp_path / "result.json"
    profiles.write_text("age,y\n20,0\n17,1\n")
    code, out, _ = run(capsys, "certify", tree_file, "--profiles", str(profiles), "--json")
    assert code == 4
    result.write_text(out)
    assert run(capsys, "verify", str(result), tree_file)[0] == 0
    forged = json.loads(out)
    forged[1]["profile_values"] = {"age": 20, "y": 1}  # certain: nobody may call it outside
    result.write_text(json.dumps(forged))
    code, said, _ = run(capsys, "verify", str(result), tree_file)
    assert code == 1
    assert "outside" in said


def test_attribute_answers_the_others(tree_file, tmp_path, capsys):
    profiles = tmp_path / "p.csv"
    profiles.write_text("age,city\n20,A\n17,A\n")
    code, out, err = run(capsys, "attribute", tree_file, "--profiles", str(profiles), "--sensitive", "y", "--json")
    lines = json.loads(out)
    assert (code, [line["profile"] for line in lines]) == (4, [0, 0, 1])
    assert [line["certain"] for line in lines] == [False, True, None]
    assert "17" in lines[2]["reason"]
    assert "row 2, column 'age'" in err


def test_a_truth_outside_the_domain_lists_every_cell(tree_file, tmp_path, capsys):
    truth = tmp_path / "t.csv"
    truth.write_text("age,city,y\n20,A,1\n17,A,1\n40,Z,0\n40,B,0\n40,B,0\n40,B,1\n")
    code, _, err = run(capsys, "reconstruct", tree_file, "--truth", str(truth))
    assert code == 3
    for words in (str(truth), "2 cells", "row 2, column 'age'", "row 3, column 'city'"):
        assert words in err


# ---------------------------------------------------------------- which column is which


def test_the_label_under_another_name(tree_file, tmp_path, capsys):
    profiles = tmp_path / "p.csv"
    profiles.write_text("age,ill\n20,0\n20,1\n")
    code, _, err = run(capsys, "certify", tree_file, "--profiles", str(profiles))
    assert (code, "--label 'ill'" in err) == (3, True)
    code, out, _ = run(capsys, "certify", tree_file, "--profiles", str(profiles), "--label", "ill", "--json")
    assert (code, [line["verdict"] for line in json.loads(out)]) == (0, ["impossible", "possible"])
    truth = tmp_path / "t.csv"
    truth.write_text("age,city,ill\n20,A,1\n20,A,1\n40,A,0\n40,B,0\n40,B,0\n40,B,1\n")
    code, out, _ = run(capsys, "audit", tree_file, "--truth", str(truth), "--label", "ill", "--json")
    assert (code, json.loads(out)["truth"]["is_world"]) == (0, True)
    bare = tmp_path / "b.csv"
    bare.write_text("age\n20\n")
    code, out, _ = run(
        capsys, "attribute", tree_file, "--profiles", str(bare), "--label", "ill", "--sensitive", "ill", "--json"
    )
    assert (code, [line["certain"] for line in json.loads(out)]) == (0, [False, True])


def test_a_label_that_no_table_has_is_refused(tree_file, tmp_path, capsys):
    data, bare = tmp_path / "d.csv", tmp_path / "b.csv"
    data.write_text("age,city,ill\n20,A,1\n20,A,1\n40,A,0\n40,B,0\n40,B,0\n40,B,1\n")
    bare.write_text("age\n20\n")
    both = ("--domain", str(data), "--profiles", str(bare))
    assert run(capsys, "certify", tree_file, *both, "--label", "ill")[0] == 0
    for command in (
        ("certify", tree_file, *both),
        ("audit", tree_file, *both[:2]),
        ("difference", tree_file, tree_file, *both[:2]),
    ):
        code, out, err = run(capsys, *command, "--label", "il")
        assert (code, out, "'--label': " in err, "has no column 'il'" in err) == (2, "", True, True)


def test_names_that_differ_in_signs_are_matched_where_it_is_clear(tmp_path, capsys):
    assert alike(["mean radius", "x"], ["mean_radius", "y"]) == {"mean radius": "mean_radius"}
    assert alike(["mean radius", "mean-radius"], ["mean_radius"]) == {}
    assert alike(["mean radius"], ["mean_radius", "mean[radius"]) == {}
    assert alike(["mean radius", "mean_radius"], ["mean_radius"]) == {}
    x, y = table()
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(x.rename(columns={"a": "a_1_", "b": "b_2"}), y)
    path = saved(tmp_path / "m.pkl", model)
    data = x.rename(columns={"a": "a[1]", "b": "b 2"}).round(2).assign(label=y)
    data.to_csv(tmp_path / "d.csv", index=False)
    code, _, err = run(capsys, "certify", path, "--profiles", str(tmp_path / "d.csv"))
    assert (code, "'a[1]' as 'a_1_'" in err) == (0, True)
    release = recon.load(path, domain=recon.Domain.from_frame(data, label="label"))
    assert any("'b_2' as 'b 2'" in line for line in release.assumptions)


def test_a_model_of_an_unnamed_array_takes_the_columns_in_order(tmp_path, capsys):
    dice = np.random.default_rng(3)
    kind = dice.integers(0, 3, 40)
    data = pd.DataFrame({"kind=a": (kind == 0) * 1, "age": dice.integers(18, 60, 40), "kind=b": (kind == 1) * 1,
                         "kind=c": (kind == 2) * 1})  # fmt: skip
    y = ((kind == 1) | (data["age"] > 40)).astype(int)
    named = saved(tmp_path / "named.pkl", DecisionTreeClassifier(max_depth=3, random_state=0).fit(data, y))
    bare = saved(tmp_path / "bare.pkl", DecisionTreeClassifier(max_depth=3, random_state=0).fit(data.to_numpy(), y))
    data.assign(y=y).to_csv(tmp_path / "d.csv", index=False)
    told = [run(capsys, "count", path, "--domain", str(tmp_path / "d.csv"), "--json") for path in (named, bare)]
    assert [code for code, _, _ in told] == [0, 0]
    one, other = (json.loads(out) for _, out, _ in told)
    assert (one["worlds"], one["regions"]) == (other["worlds"], other["regions"])
    run(capsys, "domain", str(tmp_path / "d.csv"), "--out", str(tmp_path / "d.json"))
    code, out, _ = run(capsys, "count", bare, "--domain", str(tmp_path / "d.json"), "--json")
    assert (code, json.loads(out)["worlds"]) == (0, one["worlds"])
    # without a domain, a table's columns are taken in order as well
    code, out, err = run(capsys, "certify", bare, "--profiles", str(tmp_path / "d.csv"), "--label", "y")
    assert (code, "in order" in err) == (0, True)
    assert "impossible" not in out
    data[["age", "kind=a"]].assign(y=y).to_csv(tmp_path / "few.csv", index=False)
    code, _, err = run(capsys, "count", bare, "--domain", str(tmp_path / "few.csv"))
    assert (code, "this one has 2" in err) == (3, True)
    assert "no names of the model's 4 features" in err  # an array, or statsmodels' remove_data: the file does not say


# ---------------------------------------------------------------- rows are always printed


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["forest", "bootstrap"])
@pytest.mark.parametrize("stopped", [False, True])
def test_without_time_there_are_rows_all_the_same(kind, stopped, tmp_path):
    x, y = table()
    path = saved(tmp_path / "m.pkl", KINDS[kind](0).fit(x, y))
    limits = Limits(seconds=None if stopped else 0.0)
    if stopped:
        limits.stop.set()
    people = [*x.head(3).to_dict("records"), {"a": "x"}]
    found = recon.certify(recon.load(path, domain=None), people, limits=limits)
    assert len(found) == 4
    assert found["verdict"].tolist()[3] == "outside"
    assert set(found["verdict"].tolist()[:3]) <= {"unknown", "possible"}
    assert found["min_count"].tolist()[:3] == [0, 0, 0]
    assert all(0 < most <= len(x) for most in found["max_count"].tolist()[:3])
    told = recon.attribute(recon.load(path), people[:2], "label", limits=limits)
    assert (len(told), told.attrs["status"]) == (4, "bounds")
    assert ((told["lower"] >= 0) & (told["upper"] <= 1)).all()


def test_the_command_prints_what_it_could_not_decide(tmp_path, capsys):
    x, y = table()
    path = saved(tmp_path / "m.pkl", KINDS["forest"](0).fit(x, y))
    x.head(3).to_csv(tmp_path / "p.csv", index=False)
    code, out, err = run(capsys, "certify", path, "--profiles", str(tmp_path / "p.csv"), "--time", "0")
    assert code == 4
    assert len(re.findall(r",unknown,0,\d+,", out)) == 3
    assert "not decided: 3 profiles; the clock (--time) cut short: the command as a whole" in err
    open_rows = json.loads(json.dumps(TREE)) | {"rows": {"at_least": 3}}
    open_rows["models"] = [{"kind": "rule_set", "rules": [{"if": {"age": {"below": 30}}, "counts": [0, 2]}]}]
    (tmp_path / "open.json").write_text(json.dumps(open_rows))
    (tmp_path / "q.csv").write_text("age\n20\n")
    code, out, err = run(capsys, "certify", str(tmp_path / "open.json"), "--profiles", str(tmp_path / "q.csv"))
    assert (code, "0,unknown,0,," in out, "the number of rows is open" in err) == (4, True, True)


# ---------------------------------------------------------------- what to do, and what says nothing


def test_rows_without_a_domain_say_first_what_to_do(tmp_path, capsys):
    """One world is given by the gaps between thresholds; drawing and listing them needs single values."""
    x, y = table()
    path = saved(tmp_path / "m.pkl", DecisionTreeRegressor(max_depth=2).fit(x, y * 1))
    classifier = saved(tmp_path / "c.pkl", DecisionTreeClassifier(max_depth=2).fit(x, y))
    for command in (("sample", classifier), ("worlds", classifier), ("sample", path)):
        code, out, err = run(capsys, *command, "--rows", "60")
        assert (code, out) == (3, "")
        assert err.startswith("recon: give --domain")
        assert len(err) < 250
    for file in (classifier, path):
        code, out, err = run(capsys, "reconstruct", file, "--rows", "60")
        assert code == 0
        assert len(out.splitlines()) == 61
        assert "one of several possible worlds" in err


@pytest.mark.slow
def test_a_bound_that_says_nothing_is_labelled(tree_file, capsys):
    def asked(*arguments):
        code, out, _ = run(capsys, "bound", tree_file, *arguments)
        assert code == 0
        return out

    told = {
        '{"city": "A"}': False,  # 0 to all rows
        "{}": False,
        '{"age": {"below": 30}}': True,
        '{"age": {"below": 20}}': True,  # no more than 2
        '{"y": 1}': True,
    }
    for where, informative in told.items():
        assert json.loads(asked("--where", where, "--json"))["informative"] is informative
        assert ("no more than the domain" in asked("--where", where)) is not informative
    assert json.loads(asked("--where", '{"city": "A"}', "--of", "age", "--json"))["informative"] is False
    assert json.loads(asked("--where", "{}", "--of", "age", "--json"))["informative"] is True
