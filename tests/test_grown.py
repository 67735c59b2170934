"""Files with grown numbers: no command takes more than it may (tests/grown.py, `make safety`)."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import grown
import pytest

SCRIPT = Path(__file__).with_name("grown.py")


@pytest.mark.parametrize(("seed", "number"), [(2026, 50), pytest.param(2027, 200, marks=pytest.mark.slow)])
def test_commands_keep_to_their_limits(seed, number, tmp_path):
    """In a process of their own, because what pytest holds would count."""
    command = [sys.executable, str(SCRIPT), "--seed", str(seed), "--number", str(number), "--light"]
    command += ["--out", str(tmp_path / "found.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))[str(seed)]
    assert found["wrong"] == [], done.stdout
    assert sum(found["cases"].values()) == number
    assert number < 200 or set(grown.KINDS) - set(found["cases"]) <= {"store", "Parquet"}  # seconds to make, and rare


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("main", "wrong"),
    [
        (lambda: sys.exit(70), "exit code 70"),
        (lambda: os._exit(70), "exit code 70"),
        (lambda: {}["key"], "exit code 99"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "exit code -9"),
        (lambda: sys.exit(print("Traceback (most recent call last)", file=sys.stderr)), "a traceback"),
        (lambda: bytearray(b"x" * (1 << 30)), " MB"),
        (lambda: sum(range(20_000_000)), " s of the processor"),
    ],
)  # fmt: skip
def test_what_a_command_takes_is_seen(monkeypatch, main, wrong):
    monkeypatch.setattr("recon.cli.app.main", main)
    monkeypatch.setattr(grown, "PROCESSOR", 0.1 if "processor" in wrong else 10.0)
    assert wrong in grown.ran(["count"]).wrong()


@pytest.mark.slow
def test_what_one_of_many_commands_in_a_process_takes_is_seen(monkeypatch, tmp_path):
    """The third raises, the fourth ends the process, the fifth takes memory: each is run again apart, the rest not."""
    case = grown.Case("release", grown.RELEASE, (grown.RELEASE.name,), ("count", "@"))
    most = (600 << 20) + (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10)  # children begin with what is here
    monkeypatch.setattr(grown, "MEMORY", most)
    monkeypatch.setattr(grown, "drawn", lambda number, *_: (str(number), case, str(number).encode()))
    deeds = {"2": lambda: {}["key"], "3": lambda: os._exit(70), "4": lambda: len(bytearray(b"x" * (2 << 30)))}

    def main():
        number = Path(sys.argv[2]).read_text(encoding="utf-8")
        sys.exit(deeds[number]() if number in deeds else 0)

    monkeypatch.setattr("recon.cli.app.main", main)
    again = []
    monkeypatch.setattr(grown, "tried", lambda number, *_, **__: again.append(number) or (str(number), None, "again"))
    found = list(grown.tried_together(range(8), 1, {}, tmp_path, False))
    assert again == [2, 3, 4]
    assert [kind for kind, _, _ in found] == list("01234567")
    assert [wrong for _, _, wrong in found] == ["", "", "again", "again", "again", "", "", ""]
    assert all(taken.memory < most and taken.code == 0 for _, taken, wrong in found if not wrong)
    some = grown.tried_together(range(8), 1, {}, tmp_path, False)
    assert next(some)[0] == "0"
    some.close()
    with pytest.raises(ChildProcessError):  # nobody goes on writing into the folder
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.slow
def test_a_process_of_its_own_decides_and_says_the_same(tmp_path):
    words = ["count", str(grown.RELEASE), "--json"]
    alone, within = (grown.ran(words, k, tmp_path / str(k)) for k in (True, False))
    assert (alone.code, alone.said) == (within.code, within.said) == (0, "")
    told = [re.sub(r'"seconds": [\d.e-]+', "", (tmp_path / str(k)).read_text()) for k in (True, False)]
    assert told[0] == told[1] != ""
    assert alone.seconds > within.seconds  # it has to load everything
