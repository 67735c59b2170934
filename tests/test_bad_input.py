"""Bad input: one clear sentence with file, place and value; the exit code of the contract; never a traceback."""

from __future__ import annotations

import copy
import json
import subprocess
import sys

import pytest
from extras import run

TREE = {
    "recon": 1,
    "domain": {
        "attributes": [
            {"name": "age", "min": 18, "max": 90},
            {"name": "smoker", "values": [0, 1]},
            {"name": "city", "values": ["A", "B", "C"]},
        ],
        "label": {"name": "y", "values": [0, 1]},
        "columns": {"age<25": {"attribute": "age", "below": 25}},
    },
    "rows": 10,
    "models": [
        {
            "kind": "tree",
            "nodes": [
                {"if": {"age": {"at_most": 30}}, "then": 1, "else": 2, "counts": [6, 4]},
                {"counts": [3, 2]},
                {"if": {"smoker": 1}, "then": 3, "else": 4},
                {"counts": [2, 0]},
                {"counts": [1, 2]},
            ],
        }
    ],
}
RULES = {
    "recon": 1,
    "domain": TREE["domain"],
    "models": [
        {
            "kind": "rule_list",
            "rules": [
                {"if": {"smoker": 1}, "counts": [1, 1], "name": "smokers"},
                {"if": {"smoker": 1, "city": "A"}, "counts": [0, 0], "name": "never"},
                {"if": {}, "counts": [2, 2]},
            ],
        }
    ],
}


def edited(change, base=TREE):
    release = copy.deepcopy(base)
    change(release)
    return release


def nodes(release):
    return release["models"][0]["nodes"]


MALFORMED = [
    (lambda r: r.update(colour=1), ["colour", "unknown key"]),
    (lambda r: nodes(r)[1].update(weight=3), ["models[0].nodes[1].weight", "unknown key"]),
    (lambda r: r["domain"]["attributes"][0].update(kind="int"), ["domain.attributes[0].kind", "unknown key"]),
    (lambda r: r.update(rows="ten"), ["rows", "'ten'"]),
    (lambda r: r.update(rows=-1), ["rows", "-1"]),
    (lambda r: r.update(rows=11), ["rows is 11", "sum to 10"]),
    (lambda r: r.update(rows={"at_least": 5, "at_most": 3}), ["rows", "at_most 3", "at_least 5"]),
    (lambda r: r.update(recon=2), ["recon", "2"]),
    (lambda r: r.pop("recon"), ["recon", "missing"]),
    (lambda r: r.pop("domain"), ["domain", "missing"]),
    (lambda r: r.update(models=[]), ["models", "no model"]),
    (lambda r: nodes(r).clear(), ["models[0].nodes", "[]"]),
    (lambda r: nodes(r)[0].pop("else"), ["models[0].nodes[0]", "'then' and 'else'"]),
    (lambda r: nodes(r)[0].update(then=9), ["models[0].nodes[0].then", "no node 9"]),
    (lambda r: nodes(r)[2].update(then=0), ["models[0].nodes[2].then", "node 0", "root"]),
    (lambda r: nodes(r)[2].update(then=1), ["models[0].nodes[2].then", "node 1", "child of node 0"]),
    (lambda r: nodes(r).append({"counts": [0, 0]}), ["models[0].nodes[5]", "no other node leads"]),
    (lambda r: nodes(r)[1].clear(), ["models[0].nodes[1]", "'counts' or 'count'"]),
    (lambda r: nodes(r)[1].update(count=5), ["models[0].nodes[1]", "not both"]),
    (lambda r: nodes(r)[0].update({"if": {}}), ["models[0].nodes[0].if", "exactly one attribute"]),
    (lambda r: nodes(r)[0].update({"if": {"age": 20, "city": "A"}}), ["models[0].nodes[0].if", "one attribute"]),
    (lambda r: nodes(r)[0].update({"if": {"height": 20}}), ["models[0].nodes[0].if", "'height'", "neither"]),
    (lambda r: nodes(r)[0].update({"if": {"age": {"at_most": 120}}}), ["nodes[0].if", "120", "'age'", "18 to 90"]),
    (lambda r: nodes(r)[0].update({"if": {"age": 17}}), ["nodes[0].if", "17", "'age'"]),
    (lambda r: nodes(r)[0].update({"if": {"age": "20"}}), ["nodes[0].if", "'20'", "'age'"]),
    (lambda r: nodes(r)[0].update({"if": {"city": "D"}}), ["nodes[0].if", "'D'", "'city'"]),
    (lambda r: nodes(r)[0].update({"if": {"age<25": {"at_most": 2}}}), ["nodes[0].if", "2", "'age<25'"]),
    (lambda r: nodes(r)[0].update({"if": {"age": {}}}), ["nodes[0].if.age", "empty"]),
    (lambda r: nodes(r)[0].update({"if": {"age": {"at_most": 20, "below": 30}}}), ["if.age", "one range"]),
    (lambda r: nodes(r)[0].update({"if": {"age": {"between": 30}}}), ["if.age.between", "unknown key"]),
    (lambda r: nodes(r)[0].update({"if": {"y": 1}}), ["nodes[0].if", "label 'y'"]),
    (lambda r: nodes(r)[1].update(counts=[3]), ["nodes[1].counts", "1 counts", "2 values"]),
    (lambda r: nodes(r)[1].update(counts=[-3, 2]), ["nodes[1].counts[0]", "-3"]),
    (lambda r: nodes(r)[1].update(counts=[3.5, 2]), ["nodes[1].counts[0]", "3.5"]),
    (lambda r: nodes(r)[1].update(counts=[1e300, 2]), ["nodes[1]", "2^53"]),
    (lambda r: nodes(r)[1].update(counts="3,2"), ["nodes[1].counts", "'3,2'"]),
    (lambda r: nodes(r)[0].update(counts=[5, 5]), ["nodes[0]", "[5, 5]", "[6, 4]"]),
    (lambda r: nodes(r)[0].update(then="1"), ["nodes[0].then", "'1'"]),
    (lambda r: r["domain"]["attributes"].append({"name": "age", "values": [1]}), ["domain", "'age'", "twice"]),
    (lambda r: r["domain"]["columns"].update(city={"attribute": "age", "below": 25}), ["'city'", "twice"]),
    (lambda r: r["domain"]["columns"].update(x={"attribute": "height", "below": 25}), ["'x'", "'height'"]),
    (lambda r: r["domain"]["columns"].update(x={"attribute": "age", "below": 250}), ["'x'", "250"]),
    (lambda r: r["domain"]["attributes"].clear(), ["domain"]),
    (lambda r: r["domain"]["attributes"].append({"name": "z"}), ["attributes[3]", "'z'", "'values'"]),
    (lambda r: r["domain"]["attributes"].append({"name": "z", "values": []}), ["attributes[3].values"]),
    (lambda r: r["domain"]["attributes"].append({"name": "z", "values": [1, True]}), ["attributes[3]", "twice"]),
    (lambda r: r["domain"]["attributes"].append({"name": "z", "values": [2, 1]}), ["attributes[3]", "ascend"]),
    (lambda r: r["domain"]["attributes"].append({"name": "z", "min": 5, "max": 1}), ["attributes[3]", "below min 5"]),
    (
        lambda r: r["domain"]["attributes"].append({"name": "z", "min": 0, "max": 1, "resolution": 0.3}),
        ["attributes[3]", "not on the grid"],
    ),
    (
        lambda r: r["domain"]["attributes"].append({"name": "z", "min": 0, "max": 1, "resolution": 0}),
        ["attributes[3]", "not positive"],
    ),
    (lambda r: r["domain"].update(impossible=[{"age": {"below": 5}}]), ["domain.impossible[0]", "5"]),
    (
        lambda r: r["models"].append({"kind": "forest", "trees": [{"nodes": [{"counts": [1, 2], "distinct": 2}]}]}),
        ["models[1].trees[0].nodes[0].distinct", "2 different rows among 3"],
    ),
    (lambda r: r["models"].append({"kind": "table"}), ["models[1].statements", "missing"]),
    (
        lambda r: r["models"].append(
            {"kind": "forest", "bootstrap": True, "trees": [{"nodes": [{"count": 10, "distinct": 11}]}]}
        ),
        ["models[1].trees[0].nodes[0].distinct", "11 different rows"],
    ),
    (
        lambda r: r["models"].append({"kind": "table", "statements": [{"count": 11}]}),
        ["models[1]", "rows is 10", "sum to 11"],
    ),
    (lambda r: r["models"].append({"rules": []}), ["models[1]", "'kind'"]),
    (lambda r: nodes(r)[0].update({"if": {"age": [20]}}), ["nodes[0].if.age", '{"in": [1, 2]}', "[20]"]),
    (lambda r: nodes(r)[0].update({"if": {"age": {"at_most": 10**400}}}), ["nodes[0].if", "more than 308 digits"]),
    (lambda r: nodes(r)[1].update(counts=[2**52, 2**52]), ["models[0]"]),
    (lambda r: r.update(rows=10**30), ["rows", "2^53"]),
    (lambda r: r["domain"]["attributes"][0].update(name="\ud800"), ["surrogate"]),
    (lambda r: nodes(r)[1].update(distinct=3), ["models[0].nodes[1].distinct", "3 different rows among"]),
    (lambda r: r["models"][0].update(dataset="before"), ["models[0]", "data set 'before'", "'datasets'"]),
    (lambda r: r["models"][0].update(kind="oak"), ["models[0]", "oak"]),
    (lambda r: r["models"][0].update(noise={"law": "laplace", "scale": 0}), ["models[0].noise", "0"]),
    (lambda r: r["models"][0].update(noise={"law": "laplace"}), ["models[0].noise", "epsilon", "missing"]),
    (lambda r: r["models"][0].update(noise={"law": "cauchy", "scale": 1}), ["models[0].noise.law", "cauchy"]),
    (lambda r: r["models"][0].update(noise={"law": "laplace", "scale": 1, "epsilon": 1}), ["models[0].noise", "both"]),
    (
        lambda r: r["models"][0].update(noise={"law": "laplace", "scale": 1, "decided": "the splits"}),
        ["models[0].noise.decided", "the splits"],
    ),
    (
        lambda r: r["models"][0].update(noise={"law": "laplace", "scale": 1, "adjusted": True}),
        ["models[0].noise.adjusted"],
    ),
    (lambda r: r["models"].append(5), ["models[1]", "5"]),
    (lambda r: r["domain"].pop("label"), ["nodes[", "need a label"]),
]


@pytest.mark.parametrize("case", range(len(MALFORMED)))
def test_malformed_release(case, tmp_path, capsys):
    change, words = MALFORMED[case]
    path = tmp_path / "release.json"
    path.write_text(json.dumps(edited(change)))
    code, out, err = run(capsys, "count", str(path))
    assert code == 3, err
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    for word in [str(path), *words]:
        assert word in err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["empty"]),
        ("   \n", ["empty"]),
        ("a,b\n1,2\n", ["is of no format that is read"]),
        ('{"recon": 1,', ["not JSON", "line 1"]),
        ('{"recon": 1, "recon": 1}', ["'recon'", "twice"]),
        ('{"recon": 1, "rows": NaN}', ["NaN"]),
        ('{"recon": 1, "rows": Infinity}', ["Infinity"]),
        ('{"a":' * 100_000, ["JSON"]),
        ('{"recon": ' + "9" * 5000 + "}", ["number"]),
        ("[1]", ["neither a release file"]),
    ],
)
def test_not_a_release(text, words, tmp_path, capsys):
    path = tmp_path / "release.json"
    path.write_text(text)
    code, _, err = run(capsys, "count", str(path))
    assert code == 3
    assert len(err.strip().splitlines()) == 1
    if not text.startswith('{"a":'):
        for word in words:
            assert word in err


def test_binary_and_missing_files(tmp_path, capsys):
    path = tmp_path / "release.json"
    path.write_bytes(b'{"recon": "\xff\xfe"}')
    assert run(capsys, "count", str(path))[0] == 3
    code, _, err = run(capsys, "count", str(tmp_path / "none.json"))
    assert code == 3
    assert "none.json" in err
    assert run(capsys, "count", str(tmp_path))[0] == 3


@pytest.mark.slow
def test_a_huge_file_that_is_not_json_is_refused_at_once(tmp_path, capsys):
    path = tmp_path / "release.json"
    with path.open("wb") as file:
        file.truncate(200 << 20)
    code, _, err = run(capsys, "count", str(path))
    assert code == 3
    assert "is of no format that is read" in err


def test_files_of_different_rows_contradict_each_other(tmp_path, capsys):
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, release in zip(paths, (TREE, RULES), strict=True):
        path.write_text(json.dumps(release))
    code, out, err = run(capsys, "count", *map(str, paths))
    assert code == 5
    for word in (f"{paths[0]}: 10 rows", f"{paths[1]}: 6 rows"):
        assert word in out + err


def test_contradiction_names_the_rule(tmp_path, capsys):
    path = tmp_path / "rules.json"
    path.write_text(json.dumps(RULES))
    assert run(capsys, "count", str(path))[0] == 0
    broken = edited(lambda r: r["models"][0]["rules"][1].update(counts=[0, 3]), RULES)
    path.write_text(json.dumps(broken))
    code, out, _ = run(capsys, "count", str(path), "--json")
    found = json.loads(out)
    assert code == 5
    assert (found["status"], found["worlds"], found["log2_worlds"], found["log2_upper"]) == ("unsat", "0", None, None)
    assert found["conflict"] == ["rule list, never, class 1: 3 rows, but no row can be there"]
    for command in (["count"], ["audit"], ["worlds"], ["table"], ["bound", "--where", '{"smoker": 1}']):
        code, out, err = run(capsys, command[0], str(path), *command[1:])
        assert code == 5, command
        assert "never" in out + err


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["bound", "FILE", "--where", "{"], 2, "--where"),
        (["bound", "FILE", "--where", '{"age": 30, "age": 40}'], 2, "twice"),
        (["bound", "FILE", "--where", "[1]"], 2, "--where"),
        (["bound", "FILE", "--where", '{"height": 1}'], 3, "height"),
        (["bound", "FILE", "--where", '{"age": {"at_most": 200}}'], 3, "200"),
        (["count", "FILE", "--convention", "sideways"], 2, "sideways"),
        (["count", "FILE", "--memory", "lots"], 2, "--memory"),
        (["count", "FILE", "--time", "-1"], 2, "--time"),
        (["count"], 2, "FILE"),
        (["count", "-", "-"], 3, "standard input"),
        (["dance"], 2, "dance"),
        (["count", "FILE", "--domain", "nowhere.json"], 3, "nowhere.json"),
        (["worlds", "FILE", "--out", "/nowhere/x.csv"], 3, "/nowhere/x.csv"),
    ],
)
def test_wrong_usage(arguments, code, word, tmp_path, capsys):
    path = tmp_path / "release.json"
    path.write_text(json.dumps(TREE))
    got, _, err = run(capsys, *(str(path) if a == "FILE" else a for a in arguments))
    assert got == code, err
    assert word in err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("age,shoe\n20,44\n", ["'shoe'"]),
        ("age,age\n20,44\n", []),
        ("", ["empty"]),
        ("age,smoker\n5,20,1\n", ["line 2", "3 fields", "2"]),
        ("age,smoker\n20\n", ["line 2", "1 fields"]),
        ("age,age\n20,30\n", ["'age'", "twice"]),
    ],
)
def test_bad_profiles_are_refused_by_name(text, words, tmp_path, capsys):
    release, profiles = tmp_path / "release.json", tmp_path / "profiles.csv"
    release.write_text(json.dumps(TREE))
    profiles.write_text(text)
    code, _, err = run(capsys, "certify", str(release), "--profiles", str(profiles))
    assert code == 3
    for word in [str(profiles), *words]:
        assert word in err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("age\n17\n", ["row 1", "'age'", "17"]),
        ("age\n20\nold\n", ["row 2", "'age'", "'old'"]),
        ("city\nZ\n", ["row 1", "'city'", "'Z'"]),
        ("age,age<25\n30,1\n", ["row 1", "'age'", "age<25=1"]),
        ("age\n20.5\n", ["row 1", "20.5"]),
        ("age\n1_8\n", ["row 1", "1_8"]),
    ],
)
def test_profiles_outside_the_domain_are_told_by_name(text, words, tmp_path, capsys):
    release, profiles = tmp_path / "release.json", tmp_path / "profiles.csv"
    release.write_text(json.dumps(TREE))
    profiles.write_text(text)
    code, out, err = run(capsys, "certify", str(release), "--profiles", str(profiles))
    assert code == 4
    assert "outside" in out
    for word in [str(profiles), *words]:
        assert word in err


def test_unbounded_rows_are_inconclusive(tmp_path, capsys):
    open_ended = edited(lambda r: (r["models"][0]["rules"].pop(), r.update(rows={"at_least": 5})), RULES)
    path = tmp_path / "rules.json"
    path.write_text(json.dumps(open_ended))
    code, _, err = run(capsys, "count", str(path))
    assert code == 4
    assert "unbounded" in err


def test_standard_input_and_the_installed_command(tmp_path):
    text = json.dumps(TREE).encode()
    found = subprocess.run(
        [sys.executable, "-m", "recon", "count", "-", "--json"], input=text, capture_output=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["rows"] == 10


def test_a_figure_beyond_all_doubles_is_refused_in_a_sentence(tmp_path, capsys):
    of_age = {"mean": {"of": "age", "value": 1e308, "within": 0.25}}
    attributes = [{"name": "age", "min": 20, "max": 24}]
    release = {"recon": 1, "domain": {"attributes": attributes, "source": "declared"}, "rows": 5,
               "models": [{"kind": "table", "statements": [of_age]}]}  # fmt: skip
    path = tmp_path / "huge.json"
    path.write_text(json.dumps(release))
    code, _, said = run(capsys, "count", path)
    assert code == 3
    assert "the sum over the rows may be 2^10" in said
