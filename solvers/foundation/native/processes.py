"""Native solvers and counters in a process of their own: it may crash, hang, print or ask for too much memory.

Native libraries abort the process on bad input, print to the standard output, hear neither a time limit nor Ctrl-C and
take what memory they like (docs/engines.md, "Traps of the native libraries"). `run` starts a fresh Python for one call,
so none of that reaches ours: only a result in JSON comes back, or an exception that says how the process ended.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import IO, Any

from solvers.foundation.errors import EngineError, Inconclusive, TooLarge, Unsupported
from solvers.foundation.limits import Limits

POLL = 0.05  # seconds between looks at the limits
STARTED, SENT = 0.1, 5e-8  # seconds of work that a process takes, and a byte of what it is told on both sides; measured
PATIENCE = 5.0  # seconds the pipes of an ended process get to drain
BASE = 256 << 20  # bytes of address space for libraries imported late and what their threads reserve (64 MB each)
TAIL = 4096  # last bytes kept of what the process writes to its standard error
OUT_OF_MEMORY = ("bad_alloc", "memoryerror", "out of memory", "cannot allocate memory")
RAISED = {error.__name__: error for error in (Unsupported, TooLarge, Inconclusive, EngineError)}
START = (  # the path comes first on the standard input, because `solvers` need not be importable without it
    "import json, sys; head = json.loads(sys.stdin.buffer.readline()); sys.path[:] = head['path']; "
    "from solvers.foundation.native.processes import serve; serve(head)"
)


def run(function: str, payload: Any, limits: Limits, *, memory: int | None = None, work: float | None = None) -> Any:
    """Return `function(payload)`, called in a fresh Python process; `function` is "package.module:name".

    Payload and result are JSON (hundreds of MB are fine; whole numbers above 4,300 digits go as hexadecimal text).
    The process may map `memory` bytes (`limits.memory` by default) beyond Python, the payload and the function's
    module, and take `work` seconds of the processor (what is left of `limits` by default). It and its whole process
    group are killed when time is up, soon after `limits.stop`, and when this process is interrupted or dies. Raises
    `Inconclusive` for time, work and stop, `TooLarge` for memory, `EngineError` where it crashes or returns nonsense;
    `Unsupported` and these three pass through from the function. Costs 0.1 s.

    What that takes is counted, and all of `work` where it was taken; what the function did else is for the caller to
    count, by steps that it tells.
    """
    if limits.expired():
        raise Inconclusive(f"{function} was not started: {_why(limits)}")
    most = limits.work_left() if work is None else work
    head = {
        "path": [os.path.abspath(place) for place in sys.path if isinstance(place, str)],
        "function": function,
        "memory": limits.memory if memory is None else memory,
        "parent": os.getpid(),
        "work": None if math.isinf(most) else most,
    }
    message = "\n".join((json.dumps(head), json.dumps(payload, allow_nan=False)))
    child = _Child(message.encode())
    limits.charge(STARTED + SENT * len(message))
    try:
        while child.working():
            if limits.late():
                raise Inconclusive(f"{function} was killed: {_why(limits)}")
    finally:
        child.end()
    if child.overworked() and math.isfinite(most):
        limits.charge(most)
    return child.result(function)


def _why(limits: Limits) -> str:
    return "somebody asked to stop" if limits.stop.is_set() else f"the time limit of {limits.seconds} s is over"


class _Child:
    """A running process; threads feed it and keep its reply and the end of its complaints."""

    def __init__(self, message: bytes) -> None:
        # -P: no file in the current folder may shadow the standard library
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.reply, self.complaints = bytearray(), bytearray()
        pipes = self.process
        self.reader = _thread(_drain, pipes.stdout, self.reply, None)
        complaining = _thread(_drain, pipes.stderr, self.complaints, TAIL)
        self.threads = (self.reader, complaining, _thread(_feed, message, pipes.stdin))

    def working(self) -> bool:
        """Wait a moment and tell whether the process may still reply."""
        self.reader.join(POLL)
        if self.reader.is_alive():  # after its end, where another process of its group holds the pipe
            return self.process.poll() is None
        try:
            self.process.wait(POLL)
        except subprocess.TimeoutExpired:
            return True
        return False

    def end(self) -> None:
        """Kill what is left of the process group and reap the process."""
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()
        self.process.wait()
        for thread in self.threads:
            thread.join(PATIENCE)

    def overworked(self) -> bool:
        """Return whether the process was ended because it had done the work that it was given."""
        return self.process.returncode == -getattr(signal, "SIGXCPU", 24)

    def result(self, function: str) -> Any:
        """Return what the function returned, or raise what became of it."""
        last = self.complaints.decode(errors="replace").strip().rpartition("\n")[2].strip()
        code = self.process.returncode
        try:  # whatever was printed before `serve` began stands on lines before
            kind, content = json.loads(self.reply.rpartition(b"\n")[2])
            if kind not in ("result", *RAISED):
                raise ValueError(kind)
        except (ValueError, TypeError):
            how = f"returned no JSON (exit code {code})" if code >= 0 else f"ended by signal {_signal(code)}"
            if self.overworked():
                raise Inconclusive(f"{function} was ended: it took more work than there was for it") from None
            text = self.complaints.decode(errors="replace").lower()
            if code == -getattr(signal, "SIGKILL", 9) or any(phrase in text for phrase in OUT_OF_MEMORY):
                raise TooLarge(f"{function} needs more memory than it was given ({how}): raise --memory") from None
            raise EngineError(": ".join(part for part in (f"{function} {how}", last) if part)) from None
        if kind == "result":
            return content
        raise RAISED[kind](content)


def _signal(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return str(-code)


def _thread(work: Callable[..., None], *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    thread.start()
    return thread


def _feed(message: bytes, pipe: IO[bytes]) -> None:
    with contextlib.suppress(OSError), pipe:  # a process that ended early reads no more
        pipe.write(message)


def _drain(pipe: IO[bytes], into: bytearray, maximum: int | None) -> None:
    with pipe:
        while block := os.read(pipe.fileno(), 1 << 20):
            into += block
            if maximum is not None:
                del into[:-maximum]


# ---------------------------------------------------------------- in the new process


def serve(head: dict[str, Any]) -> None:
    """Call the function that `head` names with the payload on the standard input, write the reply, end the process.

    Called by the new process alone.
    """
    results = os.dup(1)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)  # what native libraries print must not mix with the reply
    _die_with(head["parent"])
    try:
        reply = json.dumps(_call(head), allow_nan=False)
    except MemoryError:
        reply = json.dumps(_too_large(head))
    except (TypeError, ValueError, RecursionError) as error:
        reply = json.dumps(["EngineError", f"{head['function']} returned what is not JSON: {error}"])
    with os.fdopen(results, "wb") as out:
        out.write(b"\n" + reply.encode())
    os._exit(0)  # no destructor of a native library may spoil what was said


def _call(head: dict[str, Any]) -> tuple[str, Any]:
    name = head["function"]
    try:
        payload = json.loads(sys.stdin.buffer.read())
        module, _, attribute = name.partition(":")
        function = getattr(importlib.import_module(module), attribute)
        _limit_memory(head["memory"])
        _limit_work(head["work"])
        return "result", function(payload)
    except MemoryError:
        return _too_large(head)
    except BaseException as error:
        if type(error).__name__ in RAISED:
            return type(error).__name__, str(error)
        return "EngineError", f"{name} failed: {type(error).__name__}: {error}"


def _too_large(head: dict[str, Any]) -> tuple[str, str]:
    allowed = head["memory"] >> 20
    return "TooLarge", f"{head['function']} needs more than the {allowed:,} MB it was given: raise --memory"


def _limit_memory(maximum: int) -> None:
    """Let this process map so many bytes more than now, where the system can hold it to that; it leaves no core."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:  # no /proc: not Linux
        now = 0
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = [now + BASE + maximum, *(limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY)]
    with contextlib.suppress(ValueError, OSError):  # a system that knows the limit and cannot set it
        resource.setrlimit(resource.RLIMIT_AS, (min(wanted), hard))


def _limit_work(most: float | None) -> None:
    """Let this process work so many seconds more, by its own clock, which stands still while it waits."""
    if most is None or sys.platform == "win32":
        return
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    wanted = math.ceil(used.ru_utime + used.ru_stime + most)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (wanted, wanted + 1))


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies, however it dies (Linux only)."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:  # it died before that
        os._exit(1)


def started_of(pid: int) -> str:
    """Return when a process was started, in ticks since the machine was; "" where there is no such process."""
    with contextlib.suppress(OSError, IndexError), open(f"/proc/{pid}/stat", "rb") as file:
        return file.read(4_096).rpartition(b")")[2].split()[19].decode()
    return ""


def memory_of_group(group: int) -> int:
    """Return the bytes of memory that the processes of a group hold."""
    total = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                if os.getpgid(int(name)) == group:
                    with open(f"/proc/{name}/statm", "rb") as file:
                        total += int(file.read(200).split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total
