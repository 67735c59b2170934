"""Child processes: what comes back, what is refused and how it is said, and that nothing is left running."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from solvers.foundation.errors import EngineError, Inconclusive, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.foundation.native import run

ROOT = Path(__file__).parents[1]
MB = 1 << 20
HERE = "test_child:"  # pytest puts tests/ on the path, and `run` hands the path on
pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")


# ---------------------------------------------------------------- called in the child


def echo(payload):
    return payload


def size(payload):
    return len(payload)


def noise(payload):
    print("c o a line")
    sys.stdout.flush()
    os.write(1, b'["result", "a lie"]\n')
    ctypes.CDLL(None).puts(b"c o from C")
    os.write(2, b"c o complaint\n")
    return payload


def abort(payload):
    os.write(2, b"assertion failed\nlit <= nVars()\n")
    os.abort()


def killed(payload):
    os.kill(os.getpid(), signal.SIGKILL)


def leave(payload):
    os._exit(3)


def close_everything(payload):
    os.closerange(3, 64)
    return payload


def no_json(payload):
    return {1, 2}


def not_a_number(payload):
    return float("nan")


def fails(payload):
    raise ValueError("a clause is strange")


def refuses(payload):
    raise {"Unsupported": Unsupported, "TooLarge": TooLarge, "Inconclusive": Inconclusive}[payload]("because")


def hang(payload):
    while True:
        pass


def loop(marker):
    Path(marker).write_text(str(os.getpid()))
    hang(None)


def loop_with_a_child(marker):
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        Path(marker).write_text(str(other.pid))


def orphan_with_the_pipe(marker):
    if os.fork() == 0:  # keeps every file descriptor, the one for the reply too
        Path(marker).write_text(str(os.getpid()))
        time.sleep(3600)
    while not Path(marker).exists():
        time.sleep(0.01)
    os._exit(1)


def allocate(number):
    return len(bytearray(number))


def native_bad_alloc(payload):
    os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n")
    os.abort()


def modules(payload):
    return sorted({name.partition(".")[0] for name in sys.modules})


# ---------------------------------------------------------------- helpers


def ended(true, patience=120.0):
    """Tell whether something comes true, in the end; the patience only holds off a hang."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        if true():
            return True
        time.sleep(0.01)
    return False


def gone(pid):
    """Tell whether a process ends; one that is dead and not reaped by whoever adopted it counts as gone."""

    def dead():
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            os.kill(pid, 0)
        except OSError:
            return True
        return False

    return ended(dead)


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch):
    """Every process was reaped, every thread has ended."""
    started, before = [], threading.active_count()

    class Watched(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr("solvers.foundation.native.subprocess.Popen", Watched)
    yield
    assert all(process.returncode is not None for process in started)
    assert ended(lambda: threading.active_count() <= before)


def begun(marker):
    assert ended(lambda: marker.exists() and marker.read_text()), "the process did not begin"
    return int(marker.read_text())


# ---------------------------------------------------------------- results


@pytest.mark.sampled(1)
@pytest.mark.parametrize("value", [None, True, 0, -(1 << 2000), 0.1, 'π\n"\x00', [[], {}], {"a": [1, {"b": None}]}])
def test_json_comes_back(value):
    assert run(HERE + "echo", value, Limits()) == value


@pytest.mark.slow
def test_large_payloads_and_results():
    text = "x" * (50 * MB)
    assert run(HERE + "size", text, Limits(memory=16 * MB)) == len(text)  # the payload has its own room
    numbers = list(range(1_000_000))
    assert run(HERE + "echo", numbers, Limits()) == numbers


def test_noise_does_not_mix_with_the_result(capfd):
    assert run(HERE + "noise", [1, 2], Limits()) == [1, 2]
    shown = capfd.readouterr()
    assert shown.out == shown.err == ""


@pytest.mark.slow
def test_elsewhere_and_without_a_path(tmp_path):
    """A folder with files named like the standard library; no PYTHONPATH; `solvers` known to the parent alone."""
    (tmp_path / "json.py").write_text("raise SystemExit('shadowed')")
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from solvers.foundation.native import run\nfrom solvers.foundation.limits import Limits\n"
        "import os; os.chdir(sys.argv[1]); print(run('solvers.foundation.exact:product', [[2, 10]], Limits()))"
    )
    for environment in ({}, {"PYTHONPATH": str(tmp_path / "nowhere")}):
        command = [sys.executable, "-c", code, str(tmp_path)]
        out = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, cwd="/")
        assert out.stdout == "1024\n", out.stderr


def test_start_up_is_light():
    loaded = set(run(HERE + "modules", None, Limits()))
    assert "solvers" in loaded
    assert not loaded & {"numpy", "ortools", "pysat", "highspy", "pandas", "scipy"}


# ---------------------------------------------------------------- failures


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("abort", EngineError, r"ended by signal SIGABRT: lit <= nVars\(\)"),
        ("killed", TooLarge, "memory"),
        ("native_bad_alloc", TooLarge, "memory"),
        ("leave", EngineError, r"returned no JSON \(exit code 3\)"),
        ("close_everything", EngineError, r"returned no JSON \(exit code 1\)"),
        ("no_json", EngineError, "returned what is not JSON.*set"),
        ("not_a_number", EngineError, "returned what is not JSON"),
        ("fails", EngineError, "failed: ValueError: a clause is strange"),
        ("absent", EngineError, "AttributeError.*absent"),
    ],
)
def test_failures_are_said_in_words(name, error, words):
    with pytest.raises(error, match=words) as found:
        run(HERE + name, None, Limits())
    assert type(found.value) is error
    assert HERE + name in str(found.value)


def test_a_module_that_is_not_there():
    with pytest.raises(EngineError, match="no_such_module"):
        run("no_such_module:count", None, Limits())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", [Unsupported, TooLarge, Inconclusive])
def test_refusals_of_the_function_pass_through(kind):
    with pytest.raises(kind, match="because") as found:
        run(HERE + "refuses", kind.__name__, Limits())
    assert type(found.value) is kind


@pytest.mark.slow
def test_memory():
    assert run(HERE + "allocate", 200 * MB, Limits(memory=200 * MB)) == 200 * MB
    with pytest.raises(TooLarge, match="200 MB"):
        run(HERE + "allocate", 800 * MB, Limits(memory=200 * MB))
    assert run(HERE + "allocate", 800 * MB, Limits(memory=200 * MB), memory=1 << 30) == 800 * MB
    with pytest.raises(TooLarge, match="100 MB"):
        run(HERE + "allocate", 800 * MB, Limits(), memory=100 * MB)


# ---------------------------------------------------------------- time, stop, interrupts


@pytest.mark.slow
def test_time_is_up(tmp_path):
    marker = tmp_path / "pid"

    class Ending(Limits):
        """Time that is up as soon as the process is at work, however long it took to begin."""

        def expired(self):
            return marker.exists() and marker.read_text() != ""

    with pytest.raises(Inconclusive, match=r"time limit of 1\.0 s"):
        run(HERE + "loop", str(marker), Ending(seconds=1.0))
    assert gone(begun(marker))
    with pytest.raises(Inconclusive, match=r"time limit of 0\.1 s"):
        run(HERE + "hang", None, Limits(seconds=0.1))


def test_no_time_starts_nothing(tmp_path):
    marker = tmp_path / "pid"
    with pytest.raises(Inconclusive, match="not started"):
        run(HERE + "loop", str(marker), Limits(seconds=0))
    assert not marker.exists()


def test_stop_is_heard_and_the_whole_group_ends(tmp_path):
    marker, limits = tmp_path / "pid", Limits()

    def stop():
        begun(marker)
        limits.stop.set()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(Inconclusive, match="asked to stop"):
        run(HERE + "loop_with_a_child", str(marker), limits)
    thread.join()
    assert gone(begun(marker))


def test_a_process_left_behind_by_the_function_does_not_hold_us_up(tmp_path):
    marker = tmp_path / "pid"
    with pytest.raises(EngineError, match="exit code 1"):
        run(HERE + "orphan_with_the_pipe", str(marker), Limits(seconds=600))
    assert gone(begun(marker))


@pytest.mark.sampled(1)
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's word that a parent died is Linux")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda s: s.name)
def test_an_interrupted_parent_takes_its_child_along(tmp_path, how):
    marker = tmp_path / "pid"
    code = (
        f"import signal, sys; sys.path[:0] = {[str(ROOT), str(ROOT / 'tests')]!r}\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background\n"
        "from solvers.foundation.native import run\nfrom solvers.foundation.limits import Limits\n"
        f"run('test_child:loop', {str(marker)!r}, Limits(seconds=600))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) as parent:
        child = begun(marker)
        parent.send_signal(how)
        _, complaints = parent.communicate(timeout=120)
    assert parent.returncode == -how
    if how == signal.SIGINT:
        assert complaints.rstrip().endswith("KeyboardInterrupt")
    assert gone(child)


def test_the_message_is_json():
    with pytest.raises(TypeError):
        run(HERE + "echo", {1}, Limits())
    with pytest.raises(ValueError, match="Out of range"):
        run(HERE + "echo", json.loads("NaN"), Limits())
