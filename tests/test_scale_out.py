"""A Dask cluster of real processes on loopback: a worker killed on the way, refusals, stops, what is shared."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import parallel_cases as cases
import pytest
from extras import extra

from recon.experiments import experiment as experiments
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.foundation.parallel import opening as clusters
from solvers.foundation.parallel.pieces import completed, completed_with, kept_open

ROOT = Path(__file__).parents[1]
WORKER = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0", "--host", "127.0.0.1"]


def written(contact: Path) -> bool:
    """Return whether the contact file is there whole: the scheduler creates the file first and fills it later."""
    with contextlib.suppress(OSError, ValueError):
        return "address" in json.loads(contact.read_text(encoding="utf-8"))
    return False


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """Return a contact file and the address of a scheduler with two workers, and end what is left of them."""
    extra("distributed")
    folder = tmp_path_factory.mktemp("dask")
    contact, started = folder / "scheduler.json", []
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))}

    def start(kind, *options):
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file", str(contact), *options]
        with open(folder / f"{kind}-{len(started)}.log", "wb") as log:
            started.append(subprocess.Popen(command, env=env, stdout=log, stderr=log, cwd=folder))

    try:
        start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        for _ in range(2):
            start("worker", *WORKER)
        cases.after(str(folder), lambda: written(contact))
        yield json.loads(contact.read_text(encoding="utf-8"))["address"]
    finally:
        for one in started:
            with contextlib.suppress(ProcessLookupError):
                one.kill()
            one.wait()


@pytest.mark.slow
def test_refusals_stops_and_what_is_shared(scheduler, tmp_path, capfd):
    limits, folder = Limits(cluster=scheduler), str(tmp_path)
    with kept_open():
        with pytest.raises(ReleaseError) as refused:
            list(completed(cases.fails, ["refused", "fine"], limits))
        assert (refused.value.message, refused.value.place) == ("this is not a number", "models[2].threshold")
        heavy = cases.Heavy(folder, 20_000_000)
        found = [one for _, one in completed_with(heavy, cases.weighs, range(6), limits)]
        assert sorted(k for k, _, _ in found) == list(range(6))
        assert {size for _, size, _ in found} == {20_000_000}
        assert len(list(tmp_path.glob("read-*"))) == len({process for _, _, process in found})


@pytest.mark.slow
def test_asked_to_stop_pieces_on_the_cluster_end_with_what_they_have(scheduler, tmp_path):
    limits, folder = Limits(cluster=scheduler), str(tmp_path)

    def stop():
        cases.after(folder, lambda: len(cases.beginners(folder)) == 2)
        limits.stop.set()

    stopping = threading.Thread(target=stop)
    stopping.start()
    found = list(completed(cases.waits, [(folder, k) for k in range(5)], limits))
    stopping.join()
    assert sorted(found) == [(0, (0, "stopped")), (1, (1, "stopped"))]


@pytest.mark.slow
def test_workers_hear_that_nobody_waits_any_longer(scheduler, tmp_path):
    """What is under way when somebody breaks off (or his program is killed) ends: Dask tells the worker."""
    folder = str(tmp_path)
    code = (
        "import parallel_cases as c; from solvers.foundation.limits import Limits\n"
        "from solvers.foundation.parallel.pieces import completed\n"
        f"list(completed(c.waits, [({folder!r}, k) for k in range(2)], Limits(cluster={scheduler!r})))"
    )
    path = os.pathsep.join((str(ROOT / "tests"), str(ROOT)))
    asking = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path})
    cases.after(folder, lambda: len(cases.beginners(folder)) == 2)
    asking.kill()
    asking.wait()
    cases.after(folder, lambda: len(list(tmp_path.glob("heard-*"))) == 2)


@pytest.mark.slow
def test_a_worker_killed_on_the_way(scheduler, tmp_path, capfd):
    """Nothing is lost and nothing comes twice: the piece of the worker that is killed is done again by the other."""
    folder = str(tmp_path)

    def kill():
        cases.after(folder, lambda: len(cases.beginners(folder)) == 2)
        dead = cases.beginners(folder)[1][1]
        os.kill(dead, signal.SIGKILL)
        cases.after(folder, lambda: not cases.alive(dead))  # in the middle of its piece: none ends before "go"
        Path(folder, "go").touch()

    killing = threading.Thread(target=kill)
    killing.start()
    found = list(completed(cases.waits, [(folder, k) for k in range(6)], Limits(cluster=scheduler)))
    killing.join()
    assert sorted(found) == [(k, (k, "done")) for k in range(6)]
    begun = sorted(k for k, _ in cases.beginners(folder))
    assert len(begun) == 7
    assert set(begun) == set(range(6))
    assert capfd.readouterr().err == ""


ADDRESSES = ["127.0.0.1:1", "tcp://127.0.0.1:1", "nowhere://x:1", "tls://127.0.0.1:1", "::", "x", "silent"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("address", ADDRESSES)
def test_no_scheduler_is_one_sentence(address, monkeypatch, capfd):
    extra("distributed")
    monkeypatch.setattr(clusters, "CONNECT", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it accepts, and never says a word
        address = f"127.0.0.1:{silent.getsockname()[1]}" if address == "silent" else address
        with pytest.raises(Unsupported, match=r"^no Dask scheduler answers at '"):
            list(completed(cases.limited, range(2), Limits(cluster=address)))
    assert capfd.readouterr().err == ""


def test_without_a_scheduler_a_command_ends_with_3(run, tmp_path, monkeypatch):
    extra("distributed")
    monkeypatch.setattr(clusters, "CONNECT", 0.3)
    monkeypatch.setitem(experiments.NAMES, "squares", "experiment_cases")
    found = run("reproduce", "squares", "--out", tmp_path / "out", "--dask", "127.0.0.1:1", code=3)
    assert len(found.stderr.splitlines()) == 1
    assert found.stderr.startswith("recon: no Dask scheduler answers at '127.0.0.1:1': ")
    assert found.stdout == ""
    run("reproduce", "squares", "--out", tmp_path / "out", "--dask", "127.0.0.1:1", "--workers", "2", code=2)
    run("reproduce", "squares", "--out", tmp_path / "out", "--dask", "", code=2)
