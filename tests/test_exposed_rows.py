"""The training rows beside a release: every figure against brute force, groups against a plain groupby, refusals."""

from __future__ import annotations

import json
import math
import pickle
import random
import re
from collections import Counter
from types import SimpleNamespace

import numpy as np
import oracle
import pandas as pd
import pytest
from extras import batches, encoded
from forests_with_bags import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from test_coupled import releases as coupled

import recon
from recon.experiments.beyond import removed_bits
from recon.experiments.running import load
from recon.queries.located.positions import position_results
from recon.queries.measures.measures import measure
from recon.readers.frames.world import TrueRows
from recon.readers.loading.settled import strengthened_release
from recon.release.auditing.persons import exposed_rows as alike
from recon.release.auditing.persons.exposed_rows import (
    _by_gap,
    _equal_rows,
    _people_in_groups,
    _quartiles,
    exposed_rows,
)
from recon.release.auditing.persons.people import people
from recon.release.auditing.persons.row_groups import row_groups
from recon.release.auditing.persons.wording import who_lines
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits

KEYS = {"position", "group", "bits_left", "worlds_per_row", "group_rows", "pinned"}


def plain(value):
    return float(value) if getattr(value, "denominator", 1) != 1 else value


def names(release):
    domain = release["domain"]
    return [a["name"] for a in domain["attributes"]] + ([domain["label"]["name"]] if domain.get("label") else [])


def table(release, truth):
    return pd.DataFrame([[plain(v) for v in row] for row in truth], columns=names(release), dtype=object)


def published(name):
    """Return a published table, where it can be found."""
    try:
        return load(name)[0]
    except ReleaseError as error:
        pytest.skip(str(error))


def signature(release, row):
    """Return what a release of trees and rule lists tells of a row: its regions, its class where one counts them."""
    trees = oracle._partitions(release)
    regions = [oracle.region_of(release, tree, row) for tree in trees]
    told = any(oracle._gives_classes(tree, region) for tree, region in zip(trees, regions, strict=True))
    return (*regions, row[-1] if told else None)


def brute_force(release, truth):
    """Return of every true row: raw rows that fit what is told, true rows of its group, whether it is always there."""
    fits, groups = {}, {}
    for row in oracle.rows(release):
        fits.setdefault(signature(release, row), []).append(row)
    for row in truth:
        groups.setdefault(signature(release, row), []).append(row)
    worlds = oracle.multisets(release, len(truth))
    out = []
    for row in truth:
        mine = signature(release, row)
        out.append((len(fits[mine]), len(groups[mine]), all(row in world for world in worlds)))
    return out


def persons(release, data, label=None, **options):
    return exposed_rows(release, measure(release), data, label, **options)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("models", [1, 2])
@pytest.mark.parametrize("batch", batches(1, 6))
def test_every_row_is_told_as_brute_force_tells_it(batch, models):
    rng, pinned, open_ = random.Random(f"exposed {batch} {models}"), 0, 0
    for _ in range(40):
        release, truth = oracle.random_release(rng, models=models)
        found = persons(encoded(release), table(release, truth))
        expected = brute_force(release, truth)
        lines = found["most_exposed"]
        assert sorted(one["position"] for one in lines) == list(range(len(truth)))
        assert found["in_all"] == len(truth)
        assert found["by_group"] is None
        for one in lines:
            assert set(one) == KEYS
            fits, rows, always = expected[one["position"]]
            if one["group"] is None:  # of coupled models some cells are not sure to hold rows
                assert models > 1, release
                assert (always, one["bits_left"], one["pinned"]) == (False, None, False), release
                continue
            assert one["worlds_per_row"] == str(fits), release
            assert math.isclose(one["bits_left"], math.log2(fits)), release
            assert one["pinned"] == always == (fits == 1), release
            least, most = one["group_rows"]
            assert least == most == rows if models == 1 else least <= rows <= most, release
            pinned, open_ = pinned + one["pinned"], open_ + (not one["pinned"])
        known = [(one["bits_left"], one["group_rows"][0], one["position"]) for one in lines if one["group"] is not None]
        assert known == sorted(known)
        assert lines[: len(known)] == [one for one in lines if one["group"] is not None]
    assert pinned > 4
    assert open_ > 4


@pytest.mark.parametrize("batch", batches(1, 6))
def test_tables_and_rule_sets_pin_down_who_is_in_every_world(batch):
    pinned = told = 0
    for _, release, truth in coupled("exposed rows", batch, 20):
        found = persons(encoded(release), table(release, truth))
        if not truth:
            assert found["most_exposed"] == []
            continue
        worlds = oracle.multisets(release, len(truth))
        rows = oracle.rows(release)
        for one in found["most_exposed"]:
            always = all(truth[one["position"]] in world for world in worlds)
            assert one["pinned"] == always, release
            if one["group"] is not None:
                told += 1
                assert 1 <= int(one["worlds_per_row"]) <= len(rows)
                assert one["group_rows"][0] >= 1
            pinned += one["pinned"]
    assert pinned > 10
    assert told > pinned


@pytest.mark.parametrize("batch", batches(1, 4))
def test_groups_are_those_of_a_plain_groupby(batch):
    rng, tried = random.Random(f"groups {batch}"), 0
    for _ in range(25):
        release, truth = oracle.random_release(rng)
        if not truth:
            continue
        got, expected = encoded(release), brute_force(release, truth)
        race = [rng.choice(["red", "green", "blue"]) for _ in truth]
        found = persons(got, table(release, truth).assign(race=race), protected="race")
        frame = pd.DataFrame({"race": race, "bits": [math.log2(one[0]) for one in expected]})
        frame["pinned"] = [one[2] for one in expected]
        plainly = frame.groupby("race")
        groups = found["by_group"]["groups"]
        assert found["by_group"]["attribute"] == "race"
        assert len(groups) == len(plainly)
        for one in groups:
            mine = plainly.get_group(one["value"])
            assert one["rows"] == len(mine)
            assert one["pinned"] == int(mine["pinned"].sum())
            assert math.isclose(one["mean_bits_left"], mine["bits"].mean(), abs_tol=1e-12)
            assert one["least_bits_left"] == mine["bits"].min()
            assert 0.0 <= one["mean_share_left"] <= 1.0
        means = [one["mean_bits_left"] for one in groups]
        assert means == sorted(means)
        tried += 1
    assert tried > 16


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize(("file", "name"), [("compas_tree", "compas27"), ("adult_rule_list", "adult24")])
def test_real_releases_beside_every_row_of_their_domain(file, name):
    """Leaves are sized by listing all rows that can be; the figures also are those of the experiment on groups."""
    with open(f"examples/releases/{file}.json") as text:
        raw = json.load(text)
    release, data = recon.load(f"examples/releases/{file}.json"), published(name)
    label = str(data.columns[-1])
    model = raw["models"][0]
    sizes = {}
    for region, rows in oracle.region_rows(raw, model).items():
        sizes[region] = len({row[:-1] for row in rows})
    protected = "Race=African-American" if name == "compas27" else "gender_Male"
    found = persons(release, data, label, protected=protected, top=len(data))
    bits = pd.Series({one["position"]: one["bits_left"] for one in found["most_exposed"]}).sort_index()
    parts, expected = model.get("nodes") or model["rules"], Counter()
    for region, size in sizes.items():
        expected[str(size)] += sum(parts[region]["counts"])
    assert Counter(one["worlds_per_row"] for one in found["most_exposed"]) == +expected
    assert found["in_all"] == len(data) == len(bits)
    removed, before = removed_bits(release, SimpleNamespace(training=data), Limits())
    assert np.allclose(before - removed, bits, atol=1e-9)
    means = bits.groupby(data[protected].astype(str)).mean()
    for one in found["by_group"]["groups"]:
        assert math.isclose(one["mean_bits_left"], means[one["value"]], rel_tol=1e-12)
        assert math.isclose(one["mean_share_left"], means[one["value"]] / before, rel_tol=1e-12)


@pytest.mark.slow
def test_the_page_says_what_comes_out():
    with open("docs/persons.md", encoding="utf-8") as text:
        found = re.findall(r"```(\w*)\n(.*?)```", text.read(), re.DOTALL)
    blocks = [block for language, block in found if language == "text"]
    forest = recon.load("examples/releases/compas_forest.json")
    one = recon.reconstruct(forest).to_frame().head(1).astype(object)
    three = pd.concat([one, one.assign(age="26-45"), one.assign(priors=">3")], ignore_index=True)
    tree, data = recon.load("examples/releases/compas_tree.json"), published("compas27")
    rows = persons(tree, data, str(data.columns[-1]), protected="Race")
    said = who_lines(people(forest, three, Limits()), rows)
    shown = [line.strip() for block in blocks for line in block.splitlines() if line.strip() != "..."]
    assert len(shown) == 16
    assert not set(shown) - {line.strip() for line in said}


def test_an_attribute_that_columns_spell_out_is_grouped_by_its_values():
    release, data = recon.load("examples/releases/compas_tree.json"), published("compas27")
    groups = persons(release, data, str(data.columns[-1]), protected="Race")["by_group"]["groups"]
    races = {column.removeprefix("Race="): int(data[column].sum()) for column in data.columns if "Race=" in column}
    assert {one["value"]: one["rows"] for one in groups} == races


# ---------------------------------------------------------------- data as people have them


LEAVES = [
    {"if": {"age": {"at_most": 30}}, "then": 1, "else": 2},
    {"counts": [1, 0]},
    {"if": {"sex": "f"}, "then": 3, "else": 4},
    {"counts": [0, 2]},
    {"counts": [2, 1]},
]
SMALL = {
    "recon": 1,
    "domain": {
        "attributes": [{"name": "age", "min": 30, "max": 45}, {"name": "sex", "values": ["f", "m"]}],
        "label": {"name": "ill", "values": ["no", "yes"]},
    },
    "models": [{"kind": "tree", "nodes": LEAVES}],
}
PEOPLE = pd.DataFrame(
    {
        "age": [41, 30, 35, 44, 39, 33],
        "sex": ["m", "m", "f", "m", "f", "m"],
        "ill": ["no", "no", "yes", "no", "yes", "yes"],
    }
)


def test_a_small_release_by_hand():
    found = persons(encoded(SMALL), PEOPLE.assign(weight=[50.5, None, 61, 70, 55, 61]), protected="weight")
    first = {"position": 1, "group": "leaf 1, class no", "bits_left": 1.0, "worlds_per_row": "2"}  # 30 years, f or m
    assert found["most_exposed"][0] == first | {"group_rows": [1, 1], "pinned": False}
    order = [one["position"] for one in found["most_exposed"]]  # the others have 15 ages each: small groups first
    assert order == [1, 5, 0, 2, 3, 4]
    values = [(one["value"], one["rows"]) for one in found["by_group"]["groups"]]
    assert values[0] == ("(missing)", 1)
    assert sorted(values[1:]) == [("50.5", 1), ("55", 1), ("61", 2), ("70", 1)]
    assert any("5 groups have fewer than 10 rows" in note for note in found["notes"])
    lines = who_lines(None, found)
    assert "  position 1 in leaf 1, class no (1 row): 1.00 bits left" in lines
    assert not any("fewer about a person" in line for line in lines)  # of groups of few rows nothing is compared
    groups = [
        one | {"rows": 30, "mean_bits_left": b} for one, b in zip(found["by_group"]["groups"], "12345", strict=True)
    ]
    for one in groups:
        one["mean_bits_left"] = float(one["mean_bits_left"])
    groups[0]["rows"] = 29
    compared = who_lines(None, found | {"by_group": {"attribute": "weight", "groups": groups}})
    last = groups[-1]["value"]
    assert any(f"leaves 3.00 bits fewer about a person of '{groups[1]['value']}' than about one of '{last}'" in line
               for line in compared)  # fmt: skip


def test_rows_are_shown_only_where_asked_for():
    data = PEOPLE.assign(diary="zanzibar")
    hidden = persons(encoded(SMALL), data)
    assert "zanzibar" not in json.dumps(hidden)
    assert all(set(one) == KEYS for one in hidden["most_exposed"])
    shown = persons(encoded(SMALL), data, show_rows=True, top=2)["most_exposed"]
    assert [one["row"] for one in shown] == [PEOPLE.iloc[i].to_dict() for i in (1, 5)]
    assert any("1 column is not in the model and not used: 'diary'" in note for note in hidden["notes"])


def test_text_as_a_file_holds_it_gives_the_same(tmp_path):
    PEOPLE.to_csv(tmp_path / "train.csv", index=False)
    text = recon.readers.frames.selections.read_table(str(tmp_path / "train.csv"))
    assert persons(encoded(SMALL), text, protected="age") == persons(encoded(SMALL), PEOPLE, protected="age")


def test_the_label_may_have_another_name():
    renamed = PEOPLE.rename(columns={"ill": "outcome"})
    found = persons(encoded(SMALL), renamed, "outcome", protected="outcome")
    assert found["label"] == "outcome"
    assert found["most_exposed"] == persons(encoded(SMALL), PEOPLE)["most_exposed"]
    assert sum(one["rows"] for one in found["by_group"]["groups"]) == 6


def test_people_who_are_alike_are_counted():
    release = {**SMALL, "models": [{"kind": "tree", "nodes": [{"counts": [3, 2]}]}]}
    data = PEOPLE.iloc[[0, 0, 1, 2, 2]].reset_index(drop=True)
    notes = persons(encoded(release), data)["notes"]
    assert any("4 of 5 rows equal another row" in note for note in notes)


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        (
            PEOPLE.assign(ill=PEOPLE["ill"].to_numpy()[::-1]),
            {},
            r"not the rows that the model was learned from: tree, leaf",
        ),
        (PEOPLE.iloc[:5], {}, "the release is of 6 rows, the truth has 5"),
        (PEOPLE.drop(columns="sex"), {}, "has no column for the attribute 'sex'"),
        (PEOPLE.assign(age=[41, None, 35, 44, 39, 33]), {}, "row 2, column 'age': the cell is empty"),
        (PEOPLE.assign(sex=["m", "m", "x", "m", "f", "m"]), {}, "row 3, column 'sex': 'x' is not a value"),
        (PEOPLE, {"protected": "race"}, "no column 'race'.*'age', 'sex', 'ill'"),
        (PEOPLE, {"label": "sex"}, "is an attribute|said twice"),
    ],
    ids=["another order of labels", "a row short", "no column", "empty", "outside", "protected", "label"],
)
def test_refusals_say_what_is_wrong(data, options, said):
    with pytest.raises(ReleaseError, match=said):
        persons(encoded(SMALL), data, **options)


def test_rows_that_noise_does_not_explain_are_refused_at_the_confidence():
    release = recon.load("examples/releases/noisy_tree.json")
    lines = [{"age": "old", "smoker": 0, "ill": "no"}] * 60
    with pytest.raises(ReleaseError, match=r"intervals at confidence 0\.95: .*; give the training data, or a higher"):
        persons(release, pd.DataFrame(lines, dtype=object))
    fits = next(recon.worlds(release, 1)).to_frame()  # inside the intervals
    told = persons(release, fits)
    assert all(one["group"] is None or one["group_rows"][0] < one["group_rows"][1] for one in told["most_exposed"])


def test_a_column_of_names_is_no_protected_attribute():
    column = pd.Series([f"person {i}" for i in range(101)], dtype=object)
    with pytest.raises(ReleaseError, match=r"'who'.* has 101 different values: give one that groups people"):
        _people_in_groups(column, "who")


@pytest.mark.parametrize("seed", range(20))
def test_numbers_are_cut_at_their_quartiles(seed):
    dice = np.random.default_rng(seed)
    ages = pd.Series(dice.integers(18, 18 + int(dice.integers(14, 60)), 200))
    group, found, note = _people_in_groups(ages, "age")
    if ages.nunique() <= 12:
        return
    assert "was cut at its quartiles" in note
    assert len(found) == group.max() + 1
    quarters = pd.qcut(ages, 4, duplicates="drop", labels=False)
    sizes = np.bincount(group)
    assert len(ages) == sizes.sum()
    assert (sizes > 0).all()
    assert abs(len(sizes) - quarters.nunique()) <= 1
    for name, members in zip(found, (ages[group == g] for g in range(len(found))), strict=True):
        ends = [int(word) for word in name.split() if word.isdigit()]
        if name.startswith("at most"):
            assert members.max() == ends[0]
        elif " to " in name:
            assert ends[0] < members.min()
            assert members.max() == ends[1]
        else:
            assert name.startswith("above")
            assert members.min() > ends[0]


@pytest.mark.slow
@given(st.lists(st.integers(0, 30), min_size=1, max_size=60))
def test_equal_numbers_are_in_one_quarter(numbers):
    group, found = _quartiles(np.array(numbers, dtype=np.float64))
    by_number = pd.Series(group).groupby(pd.Series(numbers))
    assert (by_number.nunique() == 1).all()
    assert set(group.tolist()) == set(range(len(found)))
    assert by_number.first().is_monotonic_increasing


# ---------------------------------------------------------------- other releases


def fitted(seed, rows=300, leaves=25):
    from sklearn.tree import DecisionTreeClassifier

    dice = np.random.default_rng(seed)
    x = pd.DataFrame({"a": dice.normal(size=rows), "b": dice.integers(0, 9, rows) / 4, "c": dice.integers(0, 2, rows)})
    y = ((x["a"] + x["b"] > 1) ^ (dice.random(rows) < 0.2)).astype(int)
    return x, y, DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=seed).fit(x, y)


@pytest.mark.parametrize("seed", range(3))
def test_numbers_of_one_gap_are_looked_at_once_and_nothing_changes(seed, tmp_path, monkeypatch):
    x, y, model = fitted(seed)
    (tmp_path / "tree.pkl").write_bytes(pickle.dumps(model))
    release, data = recon.load(str(tmp_path / "tree.pkl")), x.assign(label=y)
    asked = []
    whole = alike.cell_ranges
    monkeypatch.setattr(alike, "cell_ranges", lambda *a: (asked.append(a[2]), whole(*a))[1])
    near = _by_gap(release, data)
    assert 0 < len(asked) < 300
    assert near["a"].nunique() < 40 < data["a"].nunique()
    figures = measure(release)
    quick, careful = (row_groups(release, figures, TrueRows.of(release, x), Limits()) for x in (near, data))
    assert quick.line.tolist() == careful.line.tolist()
    assert [quick.name(i).split(",")[0] for i in range(300)] == [f"leaf {leaf}" for leaf in model.apply(x)]
    found = persons(release, data)
    assert found["most_exposed"][0]["bits_left"] is None  # the numbers have no values that could be counted
    assert any("declare a domain (--domain)" in note for note in found["notes"])
    sizes = [one["group_rows"][0] for one in found["most_exposed"]]
    assert sizes == sorted(sizes)


@pytest.mark.slow
def test_a_row_lies_in_the_cell_that_its_line_is_about(tmp_path):
    """The bag of a forest of one tree is known in part: its cells are as many as leaves and classes, in other order."""
    data = pd.DataFrame({"a": np.arange(12), "b": np.arange(12) % 4, "y": [0, 0, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1]})
    data.to_csv(tmp_path / "rows.csv", index=False)
    forest = RandomForestClassifier(1, max_depth=1, random_state=3).fit(data[["a", "b"]], data["y"])
    (tmp_path / "forest.pkl").write_bytes(pickle.dumps(forest))
    release = recon.load(str(tmp_path / "forest.pkl"), domain=str(tmp_path / "rows.csv"))
    figures = measure(release)
    found = row_groups(release, figures, TrueRows.of(release, data), Limits())
    cells = [re.sub(r"(\w+) in (\d+)\.\.(\d+)", r"\2 <= \1 <= \3", text) for text in figures.exposure["where"]]
    held = [data.eval(re.sub(r"(\w) = ", r"\1 == ", text)).to_numpy() for text in cells]
    assert len(cells) == 4
    assert all(held[line][i] for i, line in enumerate(found.line))


def test_numbers_outside_the_domain_are_refused_as_ever():
    domain = {"attributes": [{"name": "x", "min": 0, "max": 1, "resolution": None}]}
    tree = [{"if": {"x": {"at_most": 0.5}}, "then": 1, "else": 2}, {"count": 2}, {"count": 1}]
    release = encoded({"recon": 1, "domain": domain, "models": [{"kind": "tree", "nodes": tree}]})
    data = pd.DataFrame({"x": [0.1, 0.25, 0.75]})
    found = persons(release, data)
    assert [one["position"] for one in found["most_exposed"]] == [2, 0, 1]
    assert not any(one["pinned"] for one in found["most_exposed"])
    with pytest.raises(ReleaseError, match=r"1\.5 is outside"):
        persons(release, data.assign(x=[0.1, 0.25, 1.5]))


def test_rows_that_leaf_values_give_back_are_pinned():
    release = recon.load("tests/golden/boosted_log.json")
    with open("tests/golden/boosted_log.json") as text:
        raw = json.load(text)
    (truth,) = oracle.multisets(raw, 5)
    data = table(raw, truth)
    found = persons(release, data)
    assert all(one["pinned"] and one["bits_left"] == 0.0 for one in found["most_exposed"])
    assert found["in_all"] == 5
    few = Limits(cells=1)  # no cells of the models together: what the leaf values prove is left
    again = strengthened_release(recon.load("tests/golden/boosted_log.json"))
    bare = exposed_rows(again, measure(again, limits=few), data, None, limits=few)
    assert all(one["pinned"] and one["worlds_per_row"] == "1" for one in bare["most_exposed"])
    assert any("leaf values reveal 5 of the rows" in note for note in bare["notes"])


@pytest.mark.slow
def test_rows_are_told_by_position_where_bags_are_known():
    known = tried = 0
    for rng, case in cases("exposed rows", 30):
        release = encoded(case.release)
        data = pd.DataFrame(case.truth, dtype=object)
        if release.domain.continuous or data.isna().any().any() or len(data) < 2:
            continue
        try:
            found, figures = position_results(release), measure(release, limits=Limits(seconds=5))
        except (recon.Inconclusive, recon.Unsupported):
            continue
        tried += 1
        told = exposed_rows(release, figures, data, None, positions=found, top=len(data))
        whole = np.stack([column.exact for column in found.columns]).all(axis=0)
        for one in told["most_exposed"]:
            assert one["pinned"] or not whole[one["position"]]
            assert one["bits_left"] is not None
            assert one["bits_left"] == 0.0 or not one["pinned"]
            known += one["pinned"]
        assert any("by position" in note for note in told["notes"])
        back = data.iloc[::-1].reset_index(drop=True)
        if rng.random() < 0.5 and not back.equals(data):
            try:
                turned = exposed_rows(release, figures, back, None, positions=found)
            except ReleaseError:
                continue  # bags tell the rows apart, so that another order is another data set
            assert turned["in_all"] == len(data)
    assert tried > 5
    assert known > 5


@pytest.mark.slow
def test_rows_without_bits_are_ordered_by_how_narrow_their_positions_are(tmp_path):
    from sklearn.ensemble import RandomForestClassifier

    x, y, _ = fitted(1, 40)
    forest = RandomForestClassifier(4, max_depth=4, random_state=2).fit(x, y)
    (tmp_path / "forest.pkl").write_bytes(pickle.dumps(forest))
    release = recon.load(str(tmp_path / "forest.pkl"))
    found, figures = position_results(release), measure(release, limits=Limits(seconds=3))
    told = exposed_rows(release, figures, x.assign(label=y), None, positions=found, top=40)
    width = np.mean([column.width for column in found.columns], axis=0)
    order = [one["position"] for one in told["most_exposed"] if one["bits_left"] is None]
    assert len(order) > 20
    assert np.all(np.diff(width[order]) >= 0)
    turned = x.assign(label=y).iloc[::-1]
    with_order, without = (exposed_rows(release, figures, turned, None, positions=p, top=40) for p in (found, None))
    assert with_order["most_exposed"] == without["most_exposed"]
    assert any("not in the order in which the model was fitted" in note for note in with_order["notes"])


def test_words_of_a_hostile_release_are_inert():
    hostile = "<script>\n\u202e=cmd|" + "x" * 10_000
    one = {"position": 0, "group": hostile, "bits_left": 0.5, "group_rows": [0, 3], "pinned": False}
    groups = [
        {"value": hostile, "rows": 31, "mean_bits_left": b, "pinned": 0, "least_bits_left": b} for b in (1.0, 2.0)
    ]
    found = {
        "most_exposed": [one],
        "in_all": 1,
        "by_group": {"attribute": hostile, "groups": groups},
        "notes": [hostile],
    }
    text = "".join(lines := who_lines(None, found))
    assert not set("\n\u202e") & set(text)
    assert len(text) < 5_000
    assert "0 to 3 rows" in lines[1]
    assert who_lines(None, None) == []


@settings(max_examples=50)
@given(st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 2)), max_size=30))
def test_equal_rows_are_found(rows):
    frame = pd.DataFrame(rows, columns=["x", "y"], dtype=object)
    first, back = _equal_rows(frame)
    assert len(back) == len(rows)
    assert sorted(first.tolist()) == first.tolist()
    assert [rows[first[i]] for i in back.tolist()] == rows
    assert len(first) == len(set(rows))
