"""Exit codes, situation by situation, against the table in docs/commands.md; written out here by hand."""

from __future__ import annotations

import itertools
import json
import signal
import stat
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import typer
from extras import run
from policy_cases import facts_of, policy_of

from recon.cli import app as command_line
from recon.cli.output.printing import ended, ending
from recon.cli.output.printing import policy_of as policy_read
from recon.cli.releasing.policy import _gate_json, _gated, _write_results
from recon.cli.session import finish
from recon.io.console.output import (
    GRAVITY,
    OF_STATUS,
    gravest,
    interrupts_of_a_command,
    json_text,
    of_error,
    of_status,
    of_verdict,
    parse_memory,
    print_error,
    print_lines,
    records,
    working,
    write_table,
    write_text,
)
from recon.release.policies.assessing import assess
from solvers.foundation.errors import (
    ContradictionError,
    EngineError,
    Inconclusive,
    PolicyError,
    ReleaseError,
    Unsupported,
)
from solvers.foundation.limits import Limits

GOLDEN = Path(__file__).with_name("golden")


@pytest.mark.parametrize(
    ("status", "code"),
    [("exact", 0), ("stored", 0), ("unbounded", 0), ("bounds", 4), ("unknown", 4), ("empty", 4), ("unsat", 5)],
)
def test_an_answer_ends_by_its_status(status, code):
    assert of_status(status) == code
    with pytest.raises(typer.Exit) as ended_with:
        finish(status)
    assert ended_with.value.exit_code == code
    assert status in OF_STATUS


def test_a_status_that_nobody_knows_is_no_success():
    assert of_status("settled") == of_status("") == 4
    assert of_verdict("exact", "perhaps") == 4


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ContradictionError("c", ()), 5), (PolicyError("p"), 2), (Inconclusive("i"), 4), (KeyboardInterrupt(), 4),
        (MemoryError(), 4), (ReleaseError("r"), 3), (Unsupported("u"), 3), (FileNotFoundError("f"), 3),
        (PermissionError("f"), 3), (EngineError("e"), 3), (ValueError("v"), 70), (RecursionError(), 70),
        (AssertionError(), 70),
    ],
)  # fmt: skip
def test_a_refusal_ends_by_its_kind(error, code):
    assert of_error(error) == code


@pytest.mark.parametrize("status", ["exact", "bounds", "unknown", "empty", "unsat", "stored", "unbounded"])
@pytest.mark.parametrize(("outcome", "code"), [("met", 0), ("violated", 1), ("inconclusive", 4), (None, None)])
def test_with_a_policy_its_outcome_ends_it_unless_nothing_fits(status, outcome, code):
    expected = of_status(status) if code is None else 5 if status == "unsat" else code
    assert of_verdict(status, outcome) == expected


@pytest.mark.parametrize(
    ("status", "figures", "code"),
    [
        ("exact", {}, 0), ("exact", {"pinned": [3, 3]}, 1), ("exact", {"pinned": [0, 3]}, 4),
        ("bounds", {}, 0), ("unsat", {}, 5), ("unsat", {"pinned": [3, 3]}, 5), ("empty", {}, 4),
    ],
)  # fmt: skip
def test_an_audit_ends_by_its_policy_and_a_contradiction_stays_one(status, figures, code, capsys):
    told = assess(facts_of(status=status, **figures), policy_of(most_pinned=0))
    assert ended(SimpleNamespace(status=status, assessment=told), quietly=True) == code
    shown = capsys.readouterr().err
    assert shown == ("" if status == "unsat" else f"{told.verdict}: {told.sentence}\n")
    assert ended(SimpleNamespace(status=status, assessment=told), quietly=False) == code
    assert capsys.readouterr().err == ""
    assert ended(SimpleNamespace(status=status, assessment=None), quietly=True) == of_status(status)


def test_of_several_the_gravest_counts():
    order = [0, 4, 5, 3, 1, 2, 70]  # a violation is never hidden behind a file that cannot be read
    assert list(GRAVITY) == order
    for pair in itertools.product(order, repeat=2):
        assert gravest(pair) == max(pair, key=order.index)
    assert gravest([0, 130, 1]) == 130  # a code that the table does not know is no success
    assert gravest([]) == 0


# How commands end: what is printed, and what is written


def failing(error):
    if error is not None:
        raise error


@pytest.mark.parametrize(
    ("error", "code", "shown"),
    [
        (None, 0, ""), (ReleaseError("a  b"), 3, "recon: a b\n"), (OSError("full"), 3, "recon: full\n"),
        (MemoryError(), 4, "recon: out of memory before there was an answer\n"),
        (KeyboardInterrupt(), 4, "recon: stopped before there was an answer\n"),
        (ContradictionError("c", ("leaf 1", "leaf 2")), 5, "recon: c\n  leaf 1\n  leaf 2\n"),
    ],
)  # fmt: skip
def test_a_command_ends_with_its_code_unless_it_was_0_and_something_fails(error, code, shown, capsys):
    for fixed in (0, 1, 4):
        with pytest.raises(typer.Exit) as stopped, ending(fixed):
            failing(error)
        assert stopped.value.exit_code == (fixed or code)
        assert capsys.readouterr() == ("", shown)


def test_what_nobody_foresaw_is_an_error_of_ours(capsys):
    with pytest.raises(KeyError), ending(0):
        raise KeyError("x")
    print_error(KeyError("x"))
    assert capsys.readouterr().err == "recon: internal error: KeyError: 'x'\n"
    print_lines()
    print_lines("a\nb", 3)
    assert capsys.readouterr().out == "a\\x0ab\n3\n"


def test_a_policy_is_read_where_one_is_named(tmp_path):
    assert policy_read(None) is None
    (tmp_path / "p.toml").write_text("most_pinned = 3")
    assert policy_read(str(tmp_path / "p.toml")).values == {"most_pinned": 3}
    with pytest.raises(PolicyError):
        policy_read(str(tmp_path / "none.toml"))


@pytest.mark.parametrize(
    ("text", "size"),
    [("512M", 512 << 20), ("2g", 2 << 30), (" 4 GB ", 4 << 30), ("1.5G", 3 << 29), ("2048K", 2 << 20),
     ("1048576", 1 << 20), ("1M", 1 << 20), ("1048575", None), ("1048576G", None), ("0M", None),
     ("1T", None), ("", None)],
)  # fmt: skip
def test_memory_is_read_as_it_is_meant(text, size):
    if size is None:
        with pytest.raises(ValueError, match=r"is not between|is not a size"):
            parse_memory(text)
    else:
        assert parse_memory(text) == size


def test_tables_keep_their_values(tmp_path, capsys):
    frame = pd.DataFrame({
        "a": [(1 << 53) + 1, -(1 << 53) - 1, 1 << 53], "b": [float("nan"), 1.5, float("inf")],
        "c": pd.array([1, None, 3], dtype="Int64"), "d": ["x", None, "=1+1"],
    })  # fmt: skip
    told = records(frame.iloc[:2])
    assert told[0] == {"a": "9007199254740993", "b": None, "c": 1, "d": "x"}
    assert told[1] == {"a": "-9007199254740993", "b": 1.5, "c": None, "d": None}
    assert type(told[0]["c"]) is int
    assert records(frame)[2]["a"] == 1 << 53
    mixed = pd.DataFrame({"a": pd.Series([np.int64(1 << 60), np.float64("nan"), pd.NA], dtype=object)})
    assert [one["a"] for one in records(mixed)] == [str(1 << 60), None, None]
    write_table(frame[["a"]], None)
    assert capsys.readouterr().out.splitlines() == ["a", str((1 << 53) + 1), str(-(1 << 53) - 1), str(1 << 53)]
    for name in ("t.csv", "t.JSON", "t.parquet", "t.txt"):
        path = tmp_path / name
        more = {"private": True} if name == "t.csv" else {}
        if name == "t.txt":
            write_text("x\n", str(path))
        else:
            write_table(frame[["a"]].set_index(pd.Index([5, 6, 7])), str(path), **more)
        assert capsys.readouterr().out == ""
        private = stat.S_IMODE(path.stat().st_mode) == 0o600
        assert private == (name == "t.csv")
    assert list(pd.read_parquet(tmp_path / "t.parquet").index) == [0, 1, 2]
    assert (tmp_path / "t.csv").read_text().splitlines()[1] == str((1 << 53) + 1)
    assert json.loads((tmp_path / "t.JSON").read_text())[0] == {"a": str((1 << 53) + 1)}
    assert pd.read_parquet(tmp_path / "t.parquet")["a"].tolist() == frame["a"].tolist()
    with pytest.raises(ValueError, match="JSON"):
        json_text({"a": float("nan")})
    write_text("x\n", None)
    assert capsys.readouterr().out == "x\n"


HALVES = {
    "recon": 1, "domain": {
        "attributes": [{"name": "a", "values": [0, 1]}, {"name": "b", "min": 0, "max": 99}],
        "label": {"name": "y", "values": [0, 1]},
    },
    "models": [{"kind": "tree", "nodes": [{"if": {"a": 0}, "then": 1, "else": 2}, {"counts": [9, 9]},
                                          {"counts": [9, 9]}]}],
}  # fmt: skip
GATED = {
    "met": (HALVES, 0, "release: The policy ours is met."),
    "violated": (HALVES, 1, "do not release: The release violates the one threshold of the policy ours (smallest"),
    "open": ({**HALVES, "models": [{"kind": "rule_set", "rules": [{"if": {"a": 0}, "count": 40}]}]}, 4,
             "not assessed: The one threshold of the policy ours is open (smallest group): "),
    "contradiction": ({**HALVES, "models": [*HALVES["models"], {"kind": "tree", "nodes": [{"count": 7}]}]}, 5,
                      "not audited"),
    "malformed": ({**HALVES, "rows": 7}, 3, "not audited"),
    "missing": (None, 3, "not audited"),
}  # fmt: skip


@pytest.mark.parametrize("name", GATED)
def test_a_gate_says_one_line_and_one_code_of_a_file(name, tmp_path, capsys):
    release, code, line = GATED[name]
    path = tmp_path / "r.json"
    if release is not None:
        path.write_text(json.dumps(release))
    found = _gated(str(path), None, policy_of(smallest_group=19 if name == "violated" else 18), Limits(60), 0.95, 0)
    assert (found.code, found.file) == (code, str(path))
    assert found.line.startswith(f"{path}: {line}")
    told = _gate_json(found)
    assert (told["file"], told["exit_code"]) == (str(path), code)
    read = line != "not audited"
    assert (found.document is not None) == read
    assert told["verdict"] == (line.partition(":")[0] if read else None)
    assert found.line == f"{path}: " + (f"{told['verdict']}: {told['sentence']}" if read else line)
    assert told["sentence"]
    shown = capsys.readouterr().err
    assert shown.startswith("" if read else "recon: ")
    assert bool(shown) != read
    assert read or told["sentence"] in " ".join(shown.split())  # the reason stands on standard error once
    junit, sarif = tmp_path / "g.xml", tmp_path / "g.sarif"
    _write_results([found], str(sarif), str(junit))
    cases = {"met": "<testcase", "violated": "<failure", "open": "<error"}.get(name, "<error")
    assert cases in junit.read_text()
    assert json.loads(sarif.read_text())["runs"][0]["results"] == [] if name == "met" else sarif.exists()
    _write_results([found], None, None)


@pytest.mark.parametrize(
    ("names", "code"), [(["met"], 0), (["met", "violated"], 1), (["violated", "missing"], 1), (["met", "missing"], 3)]
)
def test_a_gate_ends_with_the_gravest_and_writes_over_nothing_that_it_reads(names, code, tmp_path, capsys):
    for name in {*names} - {"missing"}:
        (tmp_path / f"{name}.json").write_text(json.dumps(HALVES if name == "met" else {
            **HALVES, "models": [{"kind": "tree", "nodes": [{"count": 5}]}]}))  # fmt: skip
    (tmp_path / "p.toml").write_text("smallest_group = 18")
    files = [tmp_path / f"{name}.json" for name in names]
    ends, out, _ = run(capsys, "gate", *files, "--policy", tmp_path / "p.toml")
    assert ends == code
    lines = out.splitlines() if len(files) == 1 else out[: out.index("\n\n")].splitlines()
    assert len(files) == 1 or max(map(len, lines)) <= 120
    shown = [line.split(": ")[0].removeprefix("...") for line in lines]
    assert all(str(file).endswith(one) for file, one in zip(files, shown, strict=True))
    if len(files) == 2:
        assert "\n2 files: 1 " in out
        assert out.count("missing.json: not audited: ") == ("missing" in names)
    ends, out, _ = run(capsys, "gate", *files, "--policy", tmp_path / "p.toml", "--json", "--junit", tmp_path / "g.xml")
    assert ends == code
    assert [one["file"] for one in json.loads(out)] == [str(one) for one in files]
    assert (tmp_path / "g.xml").exists()
    for taken in (files[0], tmp_path / "p.toml"):
        for option in ("--junit", "--sarif"):
            assert run(capsys, "gate", *files, "--policy", tmp_path / "p.toml", option, taken)[0] == 2


def test_ctrl_c_while_an_answer_is_written_does_not_lose_it(monkeypatch, capsys):
    """What was worked out is written, then Ctrl-C does what it did before; the second ends the command."""
    before, written = signal.getsignal(signal.SIGINT), command_line.write_text

    def interrupted(times):
        def write(*given, **options):
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
            written(*given, **options)

        monkeypatch.setattr(command_line, "write_text", write)
        return run(capsys, "audit", str(GOLDEN / "tree_plain.json"))

    code, out, _ = interrupted(1)
    assert (code, out.startswith("Audit of "), "Traceback" in out) == (0, True, False)
    code, out, err = interrupted(2)
    assert (code, out, err.splitlines()[-1]) == (4, "", "recon: stopped before there was an answer")
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_between_two_files_of_a_command_ends_it():
    before = signal.getsignal(signal.SIGINT)
    with interrupts_of_a_command():
        with working(None, "1G", 1_000, quiet=True) as limits:
            assert not limits.stop.is_set()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt), working(None, "1G", 1_000, quiet=True):
            pass
    assert signal.getsignal(signal.SIGINT) is before
