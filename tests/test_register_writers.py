"""Registers with several writers at once: real processes, killed ones, locks of others, and what may not be added."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recon.io.files.writing import LOCK, locked, writing
from recon.release.registers.index import INDEX
from recon.release.registers.register import Register
from solvers.foundation.errors import Inconclusive, ReleaseError

ROOT = Path(__file__).parents[1]
DAY = "2026-03-02"


def released(folder, name, values=(0, 1), attribute="a"):
    """Write a release whose content its name says, and return its path."""
    domain = {"attributes": [{"name": attribute, "values": list(values)}]}
    table = {"kind": "table", "name": name, "statements": [{"where": {attribute: 1}, "count": 3}]}
    path = folder / name
    path.write_text(json.dumps({"recon": 1, "domain": domain, "rows": 9, "models": [table]}), encoding="utf-8")
    return path


def forked(work):
    """Run a function in a process of its own, and return its id; exit code 0 where nothing was raised."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return pid


def ended(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.slow
def test_writers_at_once_lose_nothing(tmp_path):
    files = [released(tmp_path, f"{i}.json") for i in range(12)]
    read, write = os.pipe()

    def add(file):
        stale = Register.opened(tmp_path / "r")
        os.close(write)
        os.read(read, 1)  # all begin when the pipe is closed, each with the register as it was before
        stale.add(file, "release", date=DAY)

    processes = [forked(lambda file=file: add(file)) for file in files]
    os.close(write)
    assert [ended(pid) for pid in processes] == [0] * 12
    os.close(read)
    found = Register.read(tmp_path / "r")
    assert {one.file for one in found.entries} == {file.name for file in files}
    assert set(found.states()) == {"as registered"}
    assert sorted(os.listdir(tmp_path / "r")) == sorted([INDEX, *(file.name for file in files)])


@pytest.mark.slow
def test_three_commands_at_once(tmp_path):
    files = [released(tmp_path, f"{i}.json") for i in range(3)]
    command = [sys.executable, "-m", "recon", "register", str(tmp_path / "r"), "--decision", "release", "--add"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    running = [
        subprocess.Popen([*command, str(file)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for file in files
    ]
    for one in running:
        _, said = one.communicate()
        assert one.returncode == 0, said
    assert len(Register.read(tmp_path / "r").entries) == 3


@pytest.mark.slow
@pytest.mark.parametrize("kills", [20, pytest.param(100, marks=pytest.mark.long)])
def test_writers_killed_at_any_moment_leave_a_register(tmp_path, kills):
    rng = random.Random(kills)
    known = set()
    for i in range(kills):
        file = released(tmp_path, f"{i}.json")
        pid = forked(lambda file=file: Register.opened(tmp_path / "r").add(file, "release", date=DAY))
        time.sleep(rng.random() * 0.03)
        os.kill(pid, signal.SIGKILL)
        ended(pid)
        found = Register.opened(tmp_path / "r")
        assert set(found.states()) <= {"as registered"}
        now = {one.file for one in found.entries}
        assert known <= now <= known | {file.name}
        known = now
    last = Register.opened(tmp_path / "r").add(released(tmp_path, "last.json"), "release", date=DAY)
    assert {one.file for one in last.entries} == known | {"last.json"}
    assert not (tmp_path / "r" / (INDEX + LOCK)).exists()


def test_a_writer_killed_with_the_lock_is_taken_over(tmp_path):
    folder = tmp_path / "r"
    folder.mkdir()
    read, write = os.pipe()

    def hold():
        with locked(str(folder / INDEX)):
            os.write(write, b"x")
            time.sleep(60)

    pid = forked(hold)
    os.read(read, 1)
    said = json.loads((folder / (INDEX + LOCK)).read_text(encoding="utf-8"))
    assert (said["pid"], said["host"]) == (pid, socket.gethostname())
    with pytest.raises(ReleaseError, match=rf"is being written by process {pid} on .* since {said['since'][:10]}"):
        _within(folder, 0.2)
    os.kill(pid, signal.SIGKILL)
    ended(pid)
    assert (folder / (INDEX + LOCK)).exists()
    _within(folder, 0.2)
    assert not (folder / (INDEX + LOCK)).exists()


def _within(folder, wait):
    with locked(str(folder / INDEX), wait):
        assert (folder / (INDEX + LOCK)).exists()


def test_the_command_says_who_holds_the_lock_and_changes_nothing(tmp_path, monkeypatch, capsys):
    from extras import run

    monkeypatch.setattr("recon.io.files.writing.locked.__wrapped__.__defaults__", (0.2,))
    folder = tmp_path / "r"
    Register.opened(folder).add(released(tmp_path, "first.json"), "release", date=DAY)
    before = (folder / INDEX).read_bytes()
    second = released(tmp_path, "second.json")
    with locked(str(folder / INDEX)):
        code, _, err = run(capsys, "register", folder, "--add", second, "--decision", "release")
    assert code == 3
    assert f"process {os.getpid()} on {socket.gethostname()} since " in err
    assert (folder / INDEX).read_bytes() == before
    assert not (folder / "second.json").exists()
    assert run(capsys, "register", folder, "--add", second, "--decision", "release")[0] == 0


def test_a_lock_of_another_host_is_left_alone(tmp_path):
    lock = tmp_path / (INDEX + LOCK)
    lock.write_text(json.dumps({"pid": 1, "host": "elsewhere", "since": "2026-03-02T10:00:00+00:00"}), encoding="utf-8")
    with pytest.raises(ReleaseError, match=r"process 1 on elsewhere since 2026-03-02T10:00:00.*take away"):
        _within(tmp_path, 0.1)
    assert lock.exists()
    lock.write_text("{half", encoding="utf-8")  # written by nobody to the end
    _within(tmp_path, 0.1)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/null", path)])
def test_a_lock_that_is_no_file_is_refused_at_once(tmp_path, make):
    make(str(tmp_path / (INDEX + LOCK)))
    begun = time.monotonic()
    with pytest.raises(ReleaseError, match=r"register\.toml\.lock"):
        _within(tmp_path, 5)
    assert time.monotonic() - begun < 4


def test_waiting_for_a_lock_ends_with_the_time(tmp_path):
    from recon.io.files.opening import drawing
    from solvers.foundation.limits import Limits

    with locked(str(tmp_path / INDEX)), drawing(Limits(seconds=-9)), pytest.raises(Inconclusive, match="--time"):
        _within(tmp_path, 5)


def test_an_index_edited_by_hand_meanwhile_is_not_written_over(tmp_path, monkeypatch):
    folder = tmp_path / "r"
    Register.opened(folder).add(released(tmp_path, "first.json"), "release", date=DAY)
    index = folder / INDEX

    def edited(path, **how):
        if str(path).endswith("second.json"):
            index.write_text(index.read_text(encoding="utf-8") + "# a remark\n", encoding="utf-8")
        return writing(path, **how)

    with monkeypatch.context() as patched:
        patched.setattr("recon.release.registers.register.writing", edited)
        with pytest.raises(ReleaseError, match=r"was edited while a release was added: run it again"):
            Register.opened(folder).add(released(tmp_path, "second.json"), "release", date=DAY)
    assert index.read_text(encoding="utf-8").endswith("# a remark\n")
    assert sorted(os.listdir(folder)) == ["first.json", INDEX]
    found = Register.opened(folder).add(tmp_path / "second.json", "release", date=DAY)
    assert [one.file for one in found.entries] == ["first.json", "second.json"]


def test_what_does_not_come_into_a_full_register_leaves_nothing(tmp_path, monkeypatch):
    folder = tmp_path / "r"
    first = released(tmp_path, "first.json")
    Register.opened(folder).add(first, "release", date=DAY)

    def full(path, **how):
        return writing("/dev/full" if str(path).endswith(INDEX) else path, **how)

    second = released(tmp_path, "second.json")
    with monkeypatch.context() as patched:
        patched.setattr("recon.release.registers.register.writing", full)
        with pytest.raises(ReleaseError, match="cannot be written: No space left"):
            Register.opened(folder).add(second, "release", date=DAY)
    assert sorted(os.listdir(folder)) == ["first.json", INDEX]
    assert [one.file for one in Register.opened(folder).add(second, "release", date=DAY).entries][1:] == ["second.json"]


def test_a_domain_that_came_meanwhile_is_not_passed_over(tmp_path, monkeypatch):
    folder = tmp_path / "r"
    Register.opened(folder).add(released(tmp_path, "first.json"), "release", date=DAY)
    domain = tmp_path / "domain.json"
    domain.write_text(json.dumps({"recon": 1, "domain": {"attributes": [{"name": "a", "values": [0, 1]}]}}))
    enter = Register.by_itself

    def late(self):
        monkeypatch.setattr(Register, "by_itself", enter)
        Register.opened(folder).add(released(tmp_path, "x.json"), "release", date=DAY, domain=str(domain))
        return enter(self)

    monkeypatch.setattr(Register, "by_itself", late)
    with pytest.raises(ReleaseError, match="got another domain meanwhile"):
        Register.opened(folder).add(released(tmp_path, "second.json"), "release", date=DAY)
    assert [one.file for one in Register.read(folder).entries] == ["first.json", "x.json"]


def test_what_cannot_be_read_with_the_domain_is_refused(tmp_path):
    domain = tmp_path / "domain.json"
    domain.write_text(json.dumps({"recon": 1, "domain": {"attributes": [{"name": "a", "values": [0, 1]}]}}))
    other = released(tmp_path, "other.json", attribute="b")
    with pytest.raises(ReleaseError, match=r"other\.json.*its domain is that of .*domain\.json"):
        Register.opened(tmp_path / "r").add(other, "release", date=DAY, domain=str(domain))
    assert not (tmp_path / "r").exists()
    found = Register.opened(tmp_path / "r").add(released(tmp_path, "a.json"), "release", date=DAY, domain=str(domain))
    with pytest.raises(ReleaseError, match=r"other\.json.*its domain is that of "):
        found.add(other, "release", date=DAY)
    assert len(found.add(other, "do not release", date=DAY).entries) == 2
    plain = Register.opened(tmp_path / "q").add(other, "release", date=DAY)
    with pytest.raises(ReleaseError, match=r"other\.json"):  # it would be read with that domain from then on
        plain.add(released(tmp_path, "b.json"), "release", date=DAY, domain=str(domain))


def test_copies_keep_the_permissions_of_their_files(tmp_path):
    private, shared = released(tmp_path, "private.json"), released(tmp_path, "shared.json")
    private.chmod(0o600)
    shared.chmod(0o640)
    found = Register.opened(tmp_path / "r").add(private, "release", date=DAY)
    index = tmp_path / "r" / INDEX
    index.chmod(0o660)
    found.add(shared, "release", date=DAY)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "r").iterdir()}
    assert modes == {"private.json": 0o600, "shared.json": 0o640, INDEX: 0o660}
