"""Compiled code kept on disk: under the fingerprint of what it is made of, and not made where the time is short."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from extras import extra
from sklearn.ensemble import RandomForestClassifier

import recon
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.foundation.native import KeptFunction, cached_compiled, fingerprint, ready_to_call
from solvers.positions.assignments.loops import RowLoops, fastest
from solvers.statements.row_problem import problem_of


def made(sources):
    """Return a function that closes over a number."""

    def plus(x):
        return x + 1 if sources else 0

    return cached_compiled(plus)


def test_a_fingerprint_tells_contents_apart(tmp_path):
    one, other = tmp_path / "a.py", tmp_path / "b.py"
    one.write_text("x")
    first = fingerprint([one, other])
    assert first > 0
    assert fingerprint([other, one]) == first
    other.write_text("y")
    assert fingerprint([one, other]) != first


def test_what_compiled_loops_are_made_of_is_there():
    extra("numba")
    from solvers.positions.assignments import loops
    from solvers.programs.local_search import compiled

    beside = Path(compiled.__file__).parent
    every = [*loops.SOURCES, *(beside / name for name in compiled.SOURCES)]
    assert [path for path in every if not path.exists()] == []  # else a change of it would not be seen
    assert {"domains.py", "counts.py", "loops.py"} <= {path.name for path in loops.SOURCES}


def test_values_of_a_large_problem_are_tried_with_the_loops_that_it_was_propagated_with(monkeypatch):
    from solvers.positions.assignments import propagation as engine

    seen = []
    monkeypatch.setattr(engine, "SMALL", 0)
    monkeypatch.setattr(engine, "fastest", lambda limits: seen.append("fastest") or RowLoops())
    rows = pd.DataFrame({"x": [0, 1, 2, 3] * 4, "y": [0, 1, 1, 0] * 4})
    forest = RandomForestClassifier(3, random_state=0).fit(rows[["x"]], rows["y"])
    release = recon.encode(forest, recon.Domain.from_frame(rows, "y"))
    engine.Propagation(problem_of(release.statements)).run(Limits())
    assert seen == ["fastest", "fastest"]  # propagation, and the values tried, though they are few


def test_what_is_kept_is_found_by_others_with_the_same_sources_alone(tmp_path, monkeypatch):
    extra("numba")
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    first = made(7)
    assert not first.before()
    assert not ready_to_call([first], Limits(seconds=5))
    assert ready_to_call([first], Limits(seconds=60))
    assert ready_to_call([first], Limits())
    assert first(1) == 2
    assert first.before()
    assert made(7).before()
    assert ready_to_call([made(7)], Limits(seconds=5))
    assert not made(8).before()
    assert made(7)(4) == 5


@pytest.mark.parametrize("rest", [b"cno.longer_there\nProblemTables\n.", b"\x80\x05", b""])
def test_what_an_earlier_version_kept_is_thrown_away(rest, tmp_path, monkeypatch):
    extra("numba")
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    assert made(7)(1) == 2
    (index,) = tmp_path.rglob("*.nbi")
    version = pickle.dumps(made(7).dispatcher._cache._cache_file._version)
    index.write_bytes(version + rest)
    assert not made(7).before()
    assert made(7)(1) == 2
    assert made(7).before()


def test_without_a_folder_it_is_compiled_all_the_same(monkeypatch):
    numba = extra("numba")
    plain = numba.njit

    def refuse(cache=False, **options):
        if cache:
            raise RuntimeError("no locator available")
        return plain(**options)

    monkeypatch.setattr("numba.njit", refuse)
    assert made(3)(1) == 2


def test_propagation_does_not_compile_where_the_time_is_short(monkeypatch):
    extra("numba")
    monkeypatch.setattr("solvers.foundation.native.KeptFunction.before", lambda _: False)
    assert not fastest(Limits(seconds=5)).kept
    assert fastest(Limits(seconds=60)).kept


class Slow:
    """Stands in for a function that numba has not compiled yet."""

    signatures = ()

    def __init__(self):
        self.begun, self.done = threading.Event(), threading.Event()

    def __call__(self, x):
        return x + 1

    def compile(self, types):
        self.begun.set()
        self.done.wait(60)


class SlowAndDone(Slow):
    """Takes 400 seconds by a clock of its own."""

    def __init__(self, clock):
        super().__init__()
        self.clock = clock

    def compile(self, types):
        self.clock.now += 400.0


def test_compiling_counts_neither_as_work_nor_by_the_clock(monkeypatch):
    extra("numba")
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr("solvers.foundation.limits.time", SimpleNamespace(monotonic=lambda: clock.now))
    limits = Limits(seconds=30.0, started=clock.now - 29.75)
    function = KeptFunction(SlowAndDone(clock))
    assert ready_to_call([function], limits)
    assert function(1) == 2
    assert limits.meter.paused == 400.0
    assert limits.meter.used == 0.0
    assert not limits.late()
    clock.now += 0.25
    assert limits.late()


def test_compiling_ends_at_ctrl_c(monkeypatch):
    extra("numba")
    monkeypatch.setattr("solvers.foundation.native.SOLVER_PATIENCE", 0.1)
    slow, limits = Slow(), Limits()
    function = KeptFunction(slow)
    assert ready_to_call([function], limits)
    threading.Thread(target=lambda: (slow.begun.wait(), limits.stop.set())).start()
    with pytest.raises(Inconclusive, match="stopped"):
        function(1)
    slow.done.set()


def cpu_of(process: int) -> float:
    """Return the processor's seconds that a process took so far."""
    used = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells what a process took")
def test_ctrl_c_ends_a_command_that_compiles(tmp_path):
    extra("numba")
    file = Path(__file__).parents[1] / "examples" / "releases" / "diabetes_forest.joblib"
    settings = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "recon", "positions", str(file), "--log-json"], text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=settings,
    )  # fmt: skip
    for line in process.stderr:
        if "loops are compiled" in line:
            break
    before = cpu_of(process.pid)
    process.send_signal(signal.SIGINT)
    while process.poll() is None and cpu_of(process.pid) < before + 3.0:
        time.sleep(0.05)
    assert process.poll() == 4
    process.stderr.close()
