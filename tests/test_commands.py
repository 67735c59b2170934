"""The command line on a real release: what each command prints, in text and JSON, and its exit code."""

from __future__ import annotations

import fcntl
import gzip
import inspect
import json
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pandas as pd
import pytest
import typer
from extras import run
from test_bad_input import RULES, TREE

import recon
from recon.cli.app import app
from recon.cli.session import CommonOptions, with_options

RELEASES = Path(__file__).parents[1] / "examples" / "releases"


@pytest.fixture
def tree(tmp_path):
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(TREE))
    return str(path)


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "rules.json"
    path.write_text(json.dumps(RULES))
    return str(path)


def test_count(tree, capsys):
    code, out, _ = run(capsys, "count", tree, "--json")
    found = json.loads(out)
    sizes = {"leaf 1": 13 * 2 * 3, "leaf 3": 60 * 3, "leaf 4": 60 * 3}
    assert code == 0
    assert {r["name"]: int(r["worlds_per_row"]) for r in found["regions"]} == sizes
    assert int(found["worlds"]) == 78**5 * 180**5
    assert found["assumptions"][0].startswith("the domain is as declared")
    for convention in ("assigned", "ordered", "multiset"):
        code, out, _ = run(capsys, "count", tree, "--convention", convention)
        assert code == 0
        assert f"[convention: {convention}; exact]" in out


def test_digits(tree, capsys):
    _, out, _ = run(capsys, "count", tree, "--json", "--digits", "5")
    assert json.loads(out)["worlds"] is None


def test_independent_columns_and_another_domain(tree, tmp_path, capsys):
    wider = json.loads(json.dumps(TREE))
    wider["domain"]["attributes"].append({"name": "extra", "values": ["p", "q", "r", "s"]})
    other = tmp_path / "domain.json"
    other.write_text(json.dumps({"recon": 1, "domain": wider["domain"]}))
    _, out, _ = run(capsys, "count", tree, "--json", "--domain", str(other))
    found = json.loads(out)
    assert int(found["worlds"]) == 78**5 * 180**5 * 4**10
    _, plain, _ = run(capsys, "count", tree, "--json")
    assert found["dist_g_mentioned"] == pytest.approx(json.loads(plain)["dist_g_mentioned"])
    code, _, err = run(capsys, "count", tree, "--independent-columns")
    assert code == 3  # the tree splits on age itself, which is not a column of its own any more
    assert "'age'" in err


@pytest.mark.parametrize("command", ["worlds", "sample", "reconstruct", "table"])
def test_tables(command, tree, tmp_path, capsys):
    code, out, _ = run(capsys, command, tree)
    assert code == 0
    assert out.splitlines()[0].replace("world,", "").replace("row,region,", "").startswith("age,smoker,city,y")
    code, out, _ = run(capsys, command, tree, "--json")
    assert code == 0
    assert json.loads(out)
    for extension, read in ((".csv", pd.read_csv), (".parquet", pd.read_parquet), (".json", pd.read_json)):
        path = tmp_path / f"out{extension}"
        code, out, _ = run(capsys, command, tree, "--out", str(path))
        assert (code, out) == (0, "")
        assert len(read(path)) % 10 == 0


def test_views(tree, capsys):
    _, out, _ = run(capsys, "sample", tree, "--views", "--seed", "5")
    assert out.splitlines()[0] == "world,age<25,smoker,city,y"


def test_certify_attribute_bound(tree, tmp_path, capsys):
    profiles = tmp_path / "p.csv"
    profiles.write_text("age,smoker,y,age<25\n40,1,1,\n40,1,0,\n,,,1\n")
    code, out, err = run(capsys, "certify", tree, "--profiles", str(profiles), "--json")
    lines = json.loads(out)
    assert code == 0
    assert [line["verdict"] for line in lines] == ["impossible", "possible", "possible"]
    assert set(lines[0]) >= {"profile", "verdict", "min_count", "max_count", "probability", "expected_count"}
    assert {"confidence", "certificate", "probability_before"} <= set(lines[0])
    code, out, err = run(capsys, "certify", tree, "--profiles", str(profiles))
    assert out.startswith("profile,verdict,")
    assert "assuming: the domain is as declared" in err
    profiles.write_text("age,smoker\n40,1\n20,0\n")
    code, out, _ = run(capsys, "attribute", tree, "--profiles", str(profiles), "--sensitive", "y", "--json")
    found = {(line["profile"], line["value"]): line for line in json.loads(out)}
    assert found[0, 0]["certain"] is True
    assert found[1, 0]["probability"] == pytest.approx(0.6)
    code, out, _ = run(capsys, "bound", tree, "--where", '{"age": {"at_most": 30}}', "--json")
    assert json.loads(out)["min"] == json.loads(out)["max"] == 5
    code, out, _ = run(capsys, "bound", tree, "--where", '{"y": 1, "smoker": 0}')
    assert out.startswith("between 2 and 4 rows, 3.0000 expected")


def test_audit_json_text_markdown_and_truth(rules, tmp_path, capsys):
    truth = tmp_path / "truth.csv"
    rows = [(30, 1, "A", 0), (30, 1, "B", 1), (40, 0, "A", 0), (41, 0, "A", 0), (42, 0, "C", 1), (43, 0, "C", 1)]
    truth.write_text("age,smoker,city,y\n" + "\n".join(",".join(map(str, r)) for r in rows) + "\n")
    code, out, _ = run(capsys, "audit", rules, "--json", "--truth", str(truth))
    found = json.loads(out)
    assert code == 0
    assert found["truth"]["is_world"] is True
    assert [b["name"] for b in found["truth"]["baselines"]][:2] == ["uniform rows", "product of marginals"]
    assert found["group_disclosure"]["smallest_group"] == 2
    code, out, _ = run(capsys, "audit", rules, "--truth", str(truth))
    assert "the true rows are a possible world" in out
    truth.write_text(truth.read_text().replace("43,0,C,1", "43,0,C,0"))
    code, out, _ = run(capsys, "audit", rules, "--truth", str(truth))
    assert "NOT a possible world" in out
    assert "default rule, class 0: 2 rows released, 3 in the truth" in out
    truth.write_text("age\n30\n")
    code, _, err = run(capsys, "audit", rules, "--truth", str(truth))
    assert (code, "has no column for the attribute 'smoker'" in err, str(truth) in err) == (3, True, True)
    truth.write_text("age,smoker,city,y\n30,1,A,0\n")
    people = tmp_path / "people.csv"
    people.write_text("age,smoker,city,y\n17,1,A,0\n")
    code, _, err = run(capsys, "audit", rules, "--truth", str(truth), "--population", str(people))
    assert (code, str(people) in err, str(truth) in err) == (3, True, False)
    path = tmp_path / "report.md"
    run(capsys, "audit", rules, "--out", str(path))
    assert path.read_text().startswith("# Audit of ")
    page = tmp_path / "report.html"
    named = json.loads(Path(rules).read_text())
    named["models"][0]["rules"][0]["name"] = "<b>x & y</b>"
    Path(rules).write_text(json.dumps(named))
    run(capsys, "audit", rules, "--out", str(page))
    assert page.read_text().startswith("<!doctype html>")
    assert "&lt;b&gt;x &amp; y&lt;/b&gt;" in page.read_text()
    assert "<b>" not in page.read_text()


def test_domain_takes_codes_for_what_occurs_or_for_the_grid(tmp_path, capsys):
    data, out = tmp_path / "data.csv", tmp_path / "domain.json"
    pd.DataFrame({"code": [1, 20, 300] * 40, "y": [0, 1] * 60}).to_csv(data, index=False)
    code, _, err = run(capsys, "domain", str(data), "--out", str(out))
    assert code == 0
    assert "column 'code' can be the 3 numbers that occur, taken for codes" in err
    assert "recon domain --grid takes all numbers between" in err
    assert json.loads(out.read_text())["domain"]["attributes"] == [{"name": "code", "values": [1, 20, 300]}]
    code, _, err = run(capsys, "domain", str(data), "--grid", "--out", str(out))
    assert code == 0
    assert "column 'code' can be the integers from 1 to 300, as observed" in err
    assert json.loads(out.read_text())["domain"]["attributes"] == [{"name": "code", "min": 1, "max": 300}]
    code, _, err = run(capsys, "domain", str(out), "--grid")
    assert code == 2
    assert "--grid is about columns of a table" in err


def test_domain_convert_schema_engines(tree, tmp_path, capsys):
    data = tmp_path / "rows.csv.gz"
    with gzip.open(data, "wt") as file:
        file.write("age,c:a,c:b,y\n30,1,0,0\n40,0,1,1\n50,1,0,1\n")
    out_path = tmp_path / "domain.json"
    code, _, err = run(capsys, "domain", str(data), "--out", str(out_path))
    assert code == 0
    assert "assumed: columns 'c:a', 'c:b'" in err
    found = json.loads(out_path.read_text())
    assert found["domain"]["source"] == "training data"
    assert found["domain"]["label"] == {"name": "y", "values": [0, 1]}
    code, out, _ = run(capsys, "convert", tree)
    assert code == 0
    again = tmp_path / "again.json"
    again.write_text(out)
    assert recon.count(recon.load(again)).value == recon.count(recon.load(tree)).value
    assert run(capsys, "convert", str(again))[1] == out
    code, out, _ = run(capsys, "schema")
    assert json.loads(out)["title"] == "ReleasePart"
    code, out, _ = run(capsys, "engines", "--json")
    known = [e["name"] for e in json.loads(out)]
    assert known[:6] == ["closed_form", "leaf_values", "likeliest", "assignments", "draws", "histogram"]
    assert {"cpsat", "lp", "rows"} <= set(known)
    assert all(e["status"] == "available" for e in json.loads(out))


@pytest.mark.slow
def test_learn(tmp_path, capsys, data):
    out = tmp_path / "release.json"
    file = data("compas27.csv.gz")
    options = ["--out", str(out), "--width", "2", "--max-length", "6"]
    code, _, err = run(capsys, "learn", "greedy-rule-list", file, *options)
    assert code == 0
    assert "% of the 7,214 training rows right" in err
    code, text, _ = run(capsys, "audit", str(out), "--truth", file, "--json")
    found = json.loads(text)
    assert found["truth"]["is_world"] is True
    assert found["rows"] == 7214
    code, _, err = run(capsys, "learn", "greedy-rule-list", file, "--label", "Race")
    assert code == 3
    assert "'Race'" in err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["compas_tree", "compas_rule_list", "adult_tree", "adult_rule_list"])
def test_released_examples_admit_the_real_rows(name, data):
    from recon.readers.frames.selections import read_table
    from recon.readers.frames.world import violations

    release = recon.load(RELEASES / f"{name}.json")
    truth = read_table(data("compas27.csv.gz" if name.startswith("compas") else "adult24.csv.gz"))
    assert violations(release, truth) == []
    assert set(recon.certify(release, truth.iloc[:500])["verdict"]) <= {"possible", "certain"}


@pytest.mark.slow
def test_ctrl_c_keeps_the_best_bounds(tmp_path):
    """A list far too hard to count: Ctrl-C ends it with bounds, exit 4 and no traceback."""
    import random

    rng = random.Random(0)
    d, rules = 500, 200
    release = {
        "recon": 1,
        "domain": {"attributes": [{"name": f"b{k}", "values": [0, 1]} for k in range(d)]},
        "models": [
            {
                "kind": "rule_list",
                "rules": [
                    {"if": {f"b{k}": rng.randrange(2) for k in rng.sample(range(d), 4)}, "count": 3}
                    for _ in range(rules)
                ]
                + [{"if": {}, "count": 9}],
            }
        ],
    }
    path = tmp_path / "hard.json"
    path.write_text(json.dumps(release))
    process = subprocess.Popen(
        [sys.executable, "-m", "recon", "count", str(path), "--json", "--log-json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    for line in process.stderr:
        if b"box 6 of" in line:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 4, err
    found = json.loads(out)
    assert found["status"] == "bounds"
    assert 0 < found["log2_lower"] < found["log2_upper"] <= d * (3 * rules + 9)
    assert b"Traceback" not in err


@pytest.mark.slow
def test_ctrl_c_while_a_file_is_read_ends_at_once():
    command = [sys.executable, "-m", "recon", "count", "-", "--log-json"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert b"reading -" in process.stderr.readline()
        process.stdin.write(b"{")
        process.stdin.flush()
        while struct.unpack("i", fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4))) != (0,):
            time.sleep(0.01)  # from the message to the reading itself
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=600) == 4
        assert process.stderr.read() == b"recon: stopped before there was an answer\n"


@pytest.mark.slow
def test_a_reader_that_stops_reading_is_no_error(tree):
    command = f"{sys.executable} -m recon table {tree} | head -1; exit ${{PIPESTATUS[0]}}"
    found = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("row,")


def test_mixed_counts_and_an_implicit_default_in_json(tmp_path, capsys):
    domain = {"attributes": [{"name": "a", "values": [0, 1]}], "label": {"name": "y", "values": [0, 1]}}
    nodes = [{"if": {"a": 0}, "then": 1, "else": 2}, {"counts": [1, 2]}, {"count": 3}]
    path = tmp_path / "mixed.json"
    path.write_text(json.dumps({"recon": 1, "domain": domain, "models": [{"kind": "tree", "nodes": nodes}]}))
    for command in ("count", "audit"):
        code, out, err = run(capsys, command, str(path), "--json")
        assert code == 0, err
        assert [r["classes"] for r in json.loads(out)["regions"]] == [[["0", 1], ["1", 2]], []]
    rules = [{"if": {"a": 0}, "counts": [1, 0]}]
    path.write_text(
        json.dumps({"recon": 1, "domain": domain, "rows": 3, "models": [{"kind": "rule_list", "rules": rules}]})
    )
    code, out, _ = run(capsys, "count", str(path), "--json")
    assert [r["rows"] for r in json.loads(out)["regions"]] == [1, 2]


def test_columns_named_like_ours(tmp_path, capsys):
    names = ["world", "row", "region", "joint", "worlds_per_row"]
    domain = {"attributes": [{"name": n, "values": [0, 1]} for n in names]}
    path = tmp_path / "names.json"
    path.write_text(json.dumps({"recon": 1, "domain": domain, "models": [{"kind": "tree", "nodes": [{"count": 2}]}]}))
    assert run(capsys, "worlds", str(path))[1].startswith("world_,world,row,region")
    assert run(capsys, "table", str(path))[1].startswith("row_,region_,world,row,region,joint,worlds_per_row")


def test_a_blank_line_is_an_open_profile(tree, tmp_path, capsys):
    profiles = tmp_path / "p.csv"
    profiles.write_text("age\n\n20\n\n")
    _, out, _ = run(capsys, "certify", tree, "--profiles", str(profiles), "--json")
    assert [line["max_count"] for line in json.loads(out)] == [10, 5]


def _commands(group, path=()):
    for name, one in group.commands.items():
        yield from _commands(one, (*path, name)) if hasattr(one, "commands") else [(*path, name)]


COMMANDS = list(_commands(typer.main.get_command(app)))


@pytest.mark.parametrize("path", [(), *COMMANDS], ids=" ".join)
def test_help_fits_a_screen_and_names_what_an_option_takes(path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit):
        app([*path, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 100
    assert not any(kind in line for line in lines for kind in ("<str>", "<int", "<float>", "list["))


def test_options_that_commands_share_stand_in_panels(capsys):
    with pytest.raises(SystemExit):
        app(["audit", "--help"])
    out = capsys.readouterr().out
    places = [out.index(f"\n{name}:\n") for name in ("Input", "Policy", "People", "Limits", "Output")]
    assert places == sorted(places)
    assert places[3] < out.index("--time SECONDS") < places[4] < out.index("--json")


def test_options_stand_in_the_order_of_their_table_and_show_defaults(capsys):
    """Whatever order a command declares them in: one page reads like the next."""
    for command in ("audit", "count", "certify", "variability"):
        with pytest.raises(SystemExit):
            app([command, "--help"])
        out = capsys.readouterr().out
        shared = [name for name in ("--time", "--memory", "--max-cells", "--confidence", "--workers") if name in out]
        places = [out.index(f"\n  {name} ") for name in shared]
        assert places == sorted(places), command
        assert f"[default: {60.0 if command == 'audit' else 'none'}]" in out


def test_a_command_has_the_common_options_that_it_names():
    """Fields that a command does not name stay at their defaults and are no options of it."""
    seen = []

    @with_options("workers", without={"max_cells": 7}, memory="2G")
    def command(asked: CommonOptions, name: str = "") -> None:
        seen.append((asked, name))

    assert list(inspect.signature(command).parameters) == [
        "name", "seconds", "memory", "workers", "json", "quiet", "log_json",
    ]  # fmt: skip
    command(name="x", seconds=1.0, memory="2G", workers=3, json=True, quiet=False, log_json=False)
    assert seen == [(CommonOptions(seconds=1.0, memory="2G", max_cells=7, workers=3, json=True), "x")]
