"""Files that commands write: never over what they read, whole or not at all, private where rows stand, safe to open."""

from __future__ import annotations

import csv
import json
import os
import stat
from pathlib import Path

import pandas as pd
import pytest
import typer
from extras import run

import recon
from recon.cli.app import app
from recon.cli.studies.learn import learn_app
from recon.io.console.guarding import OUTPUTS
from recon.io.console.output import records, write_table, write_text
from recon.io.files.tables import RAW, _guarded, _unguarded
from recon.readers.frames.selections import read_table
from solvers.foundation.errors import ReleaseError

TWO = Path(__file__).parents[1] / "examples" / "releases" / "two_trees.json"
FORMULAS = ["=1+2", "+1", "-1+cmd|' /C calc'!A0", "@SUM(A1)", "\tx", "\rx", "\nx", "'=x", "''-x", "＝1", "-5"]
PLAIN = ["a", "'a", "x=1", "a\rb", 'q"', "a,b", " =1"]


def test_texts_that_a_spreadsheet_would_run_are_quoted_and_read_back(tmp_path):
    frame = pd.DataFrame({"=name": [*FORMULAS, *PLAIN, None], "n": [-1.5] * (len(FORMULAS) + len(PLAIN) + 1)})
    path = tmp_path / "t.csv"
    write_table(frame, str(path))
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, strict=True))
    assert rows[0] == ["'=name", "n"]
    assert [cell for cell, _ in rows[1:-1]] == [*("'" + text for text in FORMULAS), *PLAIN]
    assert {number for _, number in rows[1:]} == {"-1.5"}
    back = read_table(str(path))
    assert list(back.columns) == ["=name", "n"]
    assert back["=name"].tolist() == [*FORMULAS, *PLAIN, ""]
    assert all(_unguarded(_guarded(text)) == text for text in [*FORMULAS, *PLAIN, "", "'", 5, None, -1.5])
    token = RAW.set(True)
    try:
        write_table(frame, str(path))
        assert read_table(str(path))["=name"].tolist() == [*FORMULAS, *PLAIN, ""]
    finally:
        RAW.reset(token)
    assert path.read_text(encoding="utf-8").startswith('"=name"')


def hostile_release(tmp_path):
    values = [*FORMULAS, *PLAIN]
    domain = {"attributes": [{"name": "=a", "values": values}, {"name": "b", "values": [-1, 0]}], "source": "declared"}
    statements = [{"where": {"=a": v, "b": i % 2 - 1}, "count": 1} for i, v in enumerate(values)]
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"recon": 1, "rows": len(values), "domain": domain,
                                "models": [{"kind": "table", "statements": statements}]}))  # fmt: skip
    return str(path), values


@pytest.mark.parametrize("raw", [(), ("--raw",)])
def test_worlds_that_were_written_are_read_as_profiles(tmp_path, capsys, raw):
    path, values = hostile_release(tmp_path)
    people, found = str(tmp_path / "people.csv"), tmp_path / "found.csv"
    assert run(capsys, "reconstruct", path, "--out", people, *raw)[0] == 0
    code, _, err = run(capsys, "certify", path, "--profiles", people, "--out", str(found), *raw)
    assert code == 0, err
    assert read_table(str(found))["verdict"].tolist() == ["certain"] * len(values)
    text = Path(people).read_text(encoding="utf-8")
    assert ("'=1+2" in text) != bool(raw)
    assert ",-1" in text.replace('"', "")
    assert ",'-1" not in text


def test_no_command_writes_over_what_it_reads(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    release, people, model = Path("r.json"), Path("p.csv"), Path("m.json")
    release.write_bytes(TWO.read_bytes())
    model.write_bytes(TWO.read_bytes())
    people.write_text("smoker,age\n1,old\n0,old\n")
    Path("link.json").symlink_to(release)
    os.link(people, "hard.csv")
    os.link(people, "hard.json")  # whose suffix every command writes
    os.mkdir("d")
    before = {path: path.read_bytes() for path in (release, people, model)}
    cases = [
        ("count", "r.json", "--domain", "m.json", "--convention", "ordered"),
        ("audit", "r.json", "--out", "r.json"), ("audit", "r.json", "--out", "./d/../r.json"),
        ("audit", "r.json", "--domain", "m.json", "--out", "m.json"),
        ("audit", "r.json", "--truth", "p.csv", "--out", "hard.json"),
        ("worlds", "r.json", "--out", "link.json"), ("sample", "link.json", "--out", "r.json"),
        ("reconstruct", "r.json", "--out", "r.json"), ("certify", "r.json", "--profiles", "p.csv", "--out", "hard.csv"),
        ("attribute", "r.json", "--profiles", "p.csv", "--sensitive", "age", "--out", "p.csv"),
        ("bound", "r.json", "--where", "{}", "--attained", "min", "--out", "r.json"),
        ("table", "r.json", "--out", "r.json"),
        ("convert", "r.json", "m.json", "--out", "m.json"),
        ("convert", "r.json", "--data", "p.csv", "--out", "hard.json"),
        ("domain", "p.csv", "--out", "hard.json"), ("inspect", "r.json", "--json", "--out", "r.json"),
        ("inspect", "r.json", "--strip", "r.json"), ("inspect", "r.json", "--strip", "x", "--out", "./x"),
        ("export", "r.json", "--to", "mps", "--out", "r.json"), ("posterior", "r.json", "--out", "r.json"),
        ("denoise", "r.json", "--out", "r.json"), ("sweep", "r.json", "--out", "r.json"),
        ("learn", "greedy-rule-list", "p.csv", "--out", "hard.json"),
    ]  # fmt: skip
    for command in cases[1:]:
        code, out, err = run(capsys, *command)
        assert (code, out) == (2, ""), (command, err)
        assert ("overwritten" in err) or ("same file" in err), err
    Path("e.mps.map.json").write_bytes(TWO.read_bytes())
    assert run(capsys, "export", "e.mps.map.json", "--to", "mps", "--out", "e.mps")[0] == 2  # the map would go there
    assert {path: path.read_bytes() for path in before} == before
    assert run(capsys, *cases[0])[0] == 0


def test_a_dash_is_standard_output(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("region,sex,count\nA,f,5\nA,m,7\nB,f,3\n", encoding="utf-8")
    code, out, err = run(capsys, "convert", "t.csv", "--out", "-")
    assert (code, json.loads(out)["recon"], os.listdir()) == (0, 1, ["t.csv"]), err
    code, out, err = run(capsys, "remedy", "t.csv", "--policy", "preset:minimum-cell-10", "--out", "-")
    assert (code, out, os.listdir()) == (2, "", ["t.csv"])
    assert "name a file" in err


def test_every_option_that_names_an_output_is_known():
    """A new option that writes somewhere has to be guarded as well."""
    groups = [typer.main.get_command(one).commands for one in (app, learn_app)]
    commands = [c for group in groups for c in group.values() if not hasattr(c, "commands")]
    found = {p.name for c in commands for p in c.params if "write" in (p.help or "").lower().split() or p.name == "out"}
    assert {"out", "strip"} <= found
    assert found - {"attained", "publish_rows"} <= set(OUTPUTS)


def test_files_with_rows_are_for_the_owner_alone(tmp_path, capsys):
    path, out, people = str(TWO), tmp_path / "o", tmp_path / "p.csv"
    people.write_text("smoker,age\n1,old\n")
    out.write_text("old")
    out.chmod(0o644)
    private = [("worlds",), ("sample",), ("reconstruct",), ("table",), ("certify", "--profiles", str(people)),
               ("audit",), ("bound", "--where", "{}", "--attained", "min")]  # fmt: skip
    for command, *more in private:
        for options in ((), ("--json",)):
            if command == "bound" and options:
                continue
            target = tmp_path / f"{command}.{'json' if options or command == 'audit' else 'csv'}"
            target.write_text("old")
            target.chmod(0o644)
            assert run(capsys, command, path, *more, *options, "--out", str(target))[0] == 0
            assert stat.S_IMODE(target.stat().st_mode) == 0o600, command
    assert run(capsys, "reconstruct", path, "--json", "--certificates", str(tmp_path / "proofs"))[0] == 0
    assert {stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "proofs").iterdir()} == {0o600}
    before = os.umask(0o022)
    try:
        assert run(capsys, "convert", path, "--out", str(tmp_path / "c.json"))[0] == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "c.json").stat().st_mode) == 0o644


@pytest.mark.parametrize("name", ["t.csv", "t.json", "t.parquet", "t.txt"])
def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch, name):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    write, what = (write_text, "new") if name.endswith("txt") else (write_table, pd.DataFrame({"a": [1]}))
    with pytest.raises(ReleaseError, match="No space left"):
        write(what, str(path))
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_domains_with_formulas_are_read_off_tables(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("'=a,y\n'+x,1\nz,0\n")
    found = recon.read_domain(str(path)) if hasattr(recon, "read_domain") else None
    frame = read_table(str(path))
    assert frame["=a"].tolist() == ["+x", "z"]
    assert found is None or found.attributes[0].name == "=a"


@pytest.mark.parametrize("number", [2**53, 2**53 + 1, -(2**53) - 1, 2**62])
def test_numbers_that_other_readers_would_round_are_texts(number):
    """Readers of JSON hold numbers as 64-bit floats: beyond 2^53 the next whole number would be read in its place."""
    (line,) = records(pd.DataFrame({"n": [number]}))
    again = line["n"]
    assert int(float(again)) == number if isinstance(again, int) else again == str(number)
    assert isinstance(again, int) == (abs(number) <= 2**53)
