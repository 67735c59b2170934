"""Killed writers, full disks and files that change: nothing reported as stored is lost, nothing is half there."""

from __future__ import annotations

import os
import random
import resource
import signal
import time
from pathlib import Path

import pandas as pd
import pytest

from recon.cli.app import app
from recon.experiments.experiment import Declaration, Point
from recon.experiments.running import Run, Store
from recon.io.files import opening
from recon.io.files.opening import files_opened_once, open_regular, read_once, read_whole
from recon.io.files.writing import writing
from recon.release.registers.register import Register
from solvers.foundation.errors import ReleaseError

DAY = "2026-03-02"
MODEL = Path(__file__).parent / "golden" / "models" / "sklearn-1.9.1" / "tree.pkl"
SQUARES = Declaration("squares", "[experiment]")


def of(i):
    """Return a point, and what is stored of it: some pages of rows, so that to write them takes a moment."""
    return Point("", {"x": i}), Run({"data_sha256": "d", "x": i}, [{"x": i, "row": k} for k in range(400)])


def forked(work):
    """Run a function in a process of its own that says on a pipe what it has done; return both."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            work(lambda i: os.write(writer, b"%d\n" % i))
            os._exit(0)
        except BaseException:
            os._exit(1)
    os.close(writer)
    return pid, reader


def killed(pairs, least, seconds):
    """Kill processes so many seconds after each had done `least` things, and return what they had done by then."""
    done = []
    for pid, reader in pairs:
        said = b""
        while said.count(b"\n") < least and (more := os.read(reader, 1 << 12)):
            said += more
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        with os.fdopen(reader, "rb") as rest:
            done += [int(line) for line in (said + rest.read()).split()]
    return done


@pytest.mark.slow
def test_forty_kills_lose_nothing(tmp_path):
    """Two writers each, of a register and of the store of an experiment, killed at random moments."""
    dice, register, store = random.Random(5), tmp_path / "r", Store(tmp_path / "s", SQUARES)
    files = tmp_path / "files"
    files.mkdir()
    for i in range(500):
        (files / f"{i}.txt").write_text(f"release {i}\n" * 50, encoding="utf-8")
    kept, held, begun = set(), set(), 0

    def add(some):
        def work(say):
            for i in some:
                Register.opened(register).add(files / f"{i}.txt", "do not release", date=DAY)
                say(i)

        return work

    def put(some):
        def work(say):
            for i in some:
                store.write(*of(i))
                say(i)

        return work

    for _ in range(10):  # of two registering and two storing writers
        ranges = [range(begun + k, begun + 40, 2) for k in range(2)]
        begun += 40
        writers = [forked(work(some)) for work in (add, put) for some in ranges]
        kept.update(killed(writers[:2], dice.randint(0, 2), dice.uniform(0.0, 0.02)))
        held.update(killed(writers[2:], dice.randint(0, 2), dice.uniform(0.0, 0.02)))
    found = Register.read(register)
    assert set(found.states()) <= {"as registered"}
    assert {f"{i}.txt" for i in kept} <= {one.file for one in found.entries}
    stored = store.read([(of(i)[0], "d") for i in range(begun)])
    for i in range(begun):
        point, run = of(i)
        assert i not in held or store.path(point).exists()
        assert stored[i] == (run if store.path(point).exists() else None)
    assert len(kept) > 4
    assert len(held) > 4
    Register.opened(register).add(files / "499.txt", "do not release", date=DAY)  # no lock of a dead one is waited for


def test_a_full_disk_leaves_what_was_there(tmp_path):
    """Writing stops after some bytes (a limit of the system, as a full disk does): refused, and nothing is left."""
    store, target, (point, run) = Store(tmp_path / "s", SQUARES), tmp_path / "out.txt", of(1)
    store.opened()
    target.write_text("before", encoding="utf-8")
    (tmp_path / "release.txt").write_text("x" * 40_000, encoding="utf-8")

    def text():
        with writing(str(target)) as file:
            file.write("y" * 40_000)

    def work(say):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_024, 1_024))
        attempts = (
            lambda: store.write(point, run), text,
            lambda: Register.opened(tmp_path / "r").add(tmp_path / "release.txt", "do not release", date=DAY),
        )  # fmt: skip
        for i, attempt in enumerate(attempts):
            with pytest.raises(ReleaseError, match="cannot be written"):
                attempt()
            say(i)

    pid, reader = forked(work)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    with os.fdopen(reader, "rb") as said:
        assert said.read().split() == [b"0", b"1", b"2"]
    assert target.read_text(encoding="utf-8") == "before"
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["out.txt", "release.txt"]


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" * 100, encoding="utf-8")
    assert len(read_whole(str(path))) == 400

    def written(size):
        with open_regular(str(path)) as (file, _):
            file.read(8)
            Path(path).write_text("c,d\n" * size, encoding="utf-8")

    for size in (100, 7):
        with pytest.raises(ReleaseError, match="was written to while it was read"):
            written(size)
    assert pd.read_csv(path).shape == (6, 2)


def test_an_audit_reads_a_model_file_once(monkeypatch, tmp_path):
    """Its first bytes are looked at before, only for which command answers (`marked`)."""
    model, seen, before = str(MODEL), [], opening.read_whole
    monkeypatch.setattr(opening, "read_whole", lambda path: (seen.append(path), before(path))[1])
    app(["audit", model, "--out", str(tmp_path / "report.json"), "--quiet"], standalone_mode=False)
    assert seen.count(model) == 1
    assert "not inspected" not in (tmp_path / "report.json").read_text(encoding="utf-8")
    with files_opened_once():
        path = tmp_path / "release.json"
        path.write_text("first", encoding="utf-8")
        assert read_once(str(path)) == b"first"
        path.write_text("second", encoding="utf-8")
        assert [read_once(str(path)), read_once(str(path))] == [b"first", b"second"]
