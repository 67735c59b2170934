"""Native code held in check: in a process or thread of its own, within the outer bounds of a command; loops compiled.

A solver or counter in a process of its own may crash, hang, print or ask for too much memory. Native libraries
abort the process on bad input, print to the standard output, hear neither a time limit nor Ctrl-C and
take what memory they like (docs/engines.md, "Traps of the native libraries"). `run` starts a fresh Python for one call,
so none of that reaches ours: only a result in JSON comes back, or an exception that says how the process ended.

The outer bounds of a command: what holds where some loop or allocation neither asks for memory nor sees the clock.

Readers draw on a budget, engines look at their limits, and both end with what they have. A number in a file may still
drive something that does neither. A thread looks at the whole process: beyond `--memory`, or some seconds of work
beyond `--time`, a signal breaks into what the main thread does, which ends as if it had seen its limit; where native
code is deaf to that, the process ends with the sentence and exit code 4. One allocation far beyond what is allowed is
refused before it is made.

Native solvers in a thread of their own, so that Ctrl-C is heard while they work.

Python runs signal handlers in the main thread only, between two of its own steps: a solver called there would hear
nothing until its time limit. CP-SAT's own handler would end the program after its first solve.

Loops compiled by numba (extra `fast`), kept on disk under a fingerprint of their sources, where time allows it.

Compiled code lies beside its source or, where that cannot be written, in numba's folder of the user (NUMBA_CACHE_DIR).
What numba keeps there is made anew where the file of the kept function changes, by its time and size: not where a file
that it calls does, nor where another process still runs older loops. So a kept function closes over a `fingerprint` of
all that it calls, which numba then makes part of its key.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import importlib.util
import json
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from types import FrameType
from typing import IO, Any, TypeVar

from solvers.foundation.errors import EngineError, Inconclusive, TooLarge, Unsupported
from solvers.foundation.limits import FAR, STAGES, TIME_UP, Limits

POLL = 0.05  # seconds between looks at the limits
STARTED, SENT = 0.1, 5e-8  # seconds of work that a process takes, and a byte of what it is told on both sides; measured
PATIENCE = 5.0  # seconds the pipes of an ended process get to drain
BASE = 256 << 20  # bytes of address space for libraries imported late and what their threads reserve (64 MB each)
TAIL = 4096  # last bytes kept of what the process writes to its standard error
OUT_OF_MEMORY = ("bad_alloc", "memoryerror", "out of memory", "cannot allocate memory")
RAISED = {error.__name__: error for error in (Unsupported, TooLarge, Inconclusive, EngineError)}
START = (  # the path comes first on the standard input, because `solvers` need not be importable without it
    "import json, sys; head = json.loads(sys.stdin.buffer.readline()); sys.path[:] = head['path']; "
    "from solvers.foundation.native import serve; serve(head)"
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


LOOK = 0.02  # seconds between looks
LATE = 5.0  # seconds of the processor beyond the whole time before the signal; twice as many end the process
AGAIN = 1.0  # seconds to the next signal: whoever caught the last one gets that long
LIBRARIES = 256 << 20  # bytes that the program itself takes, once all that a command needs is imported
ADDRESSES = 2 << 30  # bytes beyond --memory that one process maps and never touches (stacks and arenas of threads)
PER_CORE = 256 << 20  # of these, more for every core
INCONCLUSIVE = 4  # exit code of the contract


@contextlib.contextmanager
def outer_bounds(limits: Limits) -> Iterator[None]:
    """Hold the process to the limits, roughly, while the block runs; does nothing off Linux and off the main thread.

    Raises `Inconclusive` inside of the block, from a signal handler.
    """
    main = threading.current_thread() is threading.main_thread()
    if sys.platform != "linux" or not main or signal.getsignal(signal.SIGUSR1) is not signal.SIG_DFL:
        yield
        return
    watch = _Watch(limits)
    signal.signal(signal.SIGUSR1, watch.heard)
    try:
        with _addresses(limits.memory):
            watch.start()
            yield
    finally:
        watch.done.set()
        watch.join()
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)


class _Watch(threading.Thread):
    """The thread that looks at memory and clock."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(name="outer bounds", daemon=True)
        self.limits, self.done = limits, threading.Event()
        self.maximum = _resident() + max(limits.memory, LIBRARIES)
        self.late = LATE if limits.seconds is None else max(LATE, limits.seconds / 4)
        self.main = threading.get_ident()
        self.end: float | None = None  # the processor's seconds when the time was up
        self.next_signal: float | None = None  # None: none was sent, or the last one found memory to give back

    def run(self) -> None:
        """Look until the block is left."""
        while not self.done.wait(LOOK):
            why, grave = self.excess()
            if not why:
                continue
            due = self.next_signal
            if due is None or time.monotonic() >= due:
                if grave and due is not None:  # the last signal was not heard
                    os.write(2, f"recon: {why}\n".encode())
                    os._exit(INCONCLUSIVE)
                self.next_signal = time.monotonic() + AGAIN
                signal.pthread_kill(self.main, signal.SIGUSR1)

    def excess(self) -> tuple[str, bool]:
        """Return what is exceeded in a sentence ("": nothing), and whether by so much that nobody seems to hear."""
        resident = _resident()
        if resident > self.maximum:
            allowed = f"{self.limits.memory >> 20:,} MB of memory allowed (--memory)"
            return f"more than the {allowed} was needed: give it more", resident > self.maximum + self.limits.memory
        if self.limits.seconds is None or self.limits.elapsed() <= self.limits.seconds:
            return "", False
        used = time.process_time()
        self.end = used if self.end is None else self.end
        return (TIME_UP if used - self.end > self.late else ""), used - self.end > 2 * self.late

    def heard(self, number: int, frame: FrameType | None) -> None:
        """End what the main thread does, unless memory that is free already goes back to the system."""
        if self.done.is_set():
            return
        if _resident() > self.maximum:
            gc.collect()
            with contextlib.suppress(OSError, AttributeError):
                ctypes.CDLL(None).malloc_trim(0)
        why, _ = self.excess()
        if why:
            self.limits.late()  # where it is the clock, that is noted
            raise Inconclusive(why)
        self.next_signal = None


def _resident() -> int:
    """Return the bytes of memory that the process holds."""
    return _statm()[1]


def _statm() -> list[int]:
    """Return the bytes that the process maps, those that it holds, and others, as Linux counts them."""
    with open("/proc/self/statm", "rb") as file:
        return [int(pages) * os.sysconf("SC_PAGE_SIZE") for pages in file.read().split()]


@contextlib.contextmanager
def _addresses(memory: int) -> Iterator[None]:
    """Have the system refuse single allocations far beyond the memory allowed."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = _statm()[0] + memory + ADDRESSES + PER_CORE * (os.cpu_count() or 1)
    if any(limit != resource.RLIM_INFINITY and limit < wanted for limit in (soft, hard)):
        yield
        return
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def make_room(addresses: int) -> None:
    """Let the process map so many more bytes than it does, where its limit would refuse them.

    For what maps much, touches little of it, and ends the process where it may not: threads with stacks of a gigabyte.
    """
    try:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        wanted = _statm()[0] + addresses
    except (ImportError, OSError):  # no such limits, or no such file, on this system
        return
    if resource.RLIM_INFINITY != soft < wanted and (hard == resource.RLIM_INFINITY or wanted <= hard):
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


COMPILING = STAGES["compiled loops"].floor  # 15 to 25 seconds of a processor were seen


def installed() -> bool:
    """Return whether numba is there."""
    return importlib.util.find_spec("numba") is not None


def fingerprint(sources: Iterable[Path]) -> int:
    """Return a number above 0 that tells files apart by what they hold; files that are not there count as empty.

    A function made for it closes over it and uses it, so that it is part of the key of what is kept on disk.
    """
    return 1 + zlib.crc32(b"".join(path.read_bytes() for path in sorted(sources) if path.exists()))


class KeptFunction:
    """A function of numba that is compiled when first called, in a thread: Ctrl-C is heard meanwhile.

    That is done once and serves all later commands: it counts neither as work nor by the clock.
    """

    def __init__(self, dispatcher: Any) -> None:
        self.dispatcher, self.limits, self.made = dispatcher, Limits(), False

    def __call__(self, *given: Any) -> Any:
        """Return what the function does; raises `Inconclusive` where it was not compiled, or somebody asked to stop."""
        if not (self.made or self.before()):
            from numba import typeof

            self.limits.report("loops are compiled, once: 15 to 25 s of a core, beside --time")
            types = tuple(map(typeof, given))
            with self.limits.meter.pause():
                run_in_thread(
                    lambda: self.dispatcher.compile(types),
                    self.limits.stop,
                    processor=FAR * STAGES["compiled loops"].floor,
                )
        self.made = True
        return self.dispatcher(*given)

    def before(self) -> bool:
        """Return whether it was compiled in this process, or lies on disk, made of the sources as they are.

        For whatever types: no release makes others than those before it. What cannot be read (damaged, or it names
        modules that an earlier version of recon had) is thrown away: numba would fail at it in every command.
        """
        if self.made or self.dispatcher.signatures:
            return True
        try:  # numba offers no other way to look without compiling
            cache = self.dispatcher._cache
            wanted = cache._index_key((), self.dispatcher.targetctx.codegen())[1:]
            try:
                kept = cache._cache_file._load_index()
            except (AttributeError, EOFError, ImportError, IndexError, pickle.UnpicklingError, TypeError, ValueError):
                cache.flush()
                return False
            return any(key[1:] == wanted for key in kept)
        except (AttributeError, OSError, RuntimeError, TypeError, ValueError):
            return False


def cached_compiled(function: Callable[..., Any], **options: Any) -> KeptFunction:
    """Return a function compiled when first called, kept on disk where some folder can be written."""
    from numba import njit

    try:
        return KeptFunction(njit(cache=True, **options)(function))
    except RuntimeError:  # no folder for the cache
        return KeptFunction(njit(**options)(function))


def ready_to_call(functions: Iterable[Any], limits: Limits) -> bool:
    """Return whether kept functions can be called: all are compiled already, or so much time was given that it pays.

    The time that was given decides, not what is left of it, so that the same loops do the same everywhere.
    """
    every = list(functions)
    for one in every:
        one.limits = limits
    given = math.inf if limits.seconds is None else limits.seconds
    return given >= COMPILING or all(one.before() for one in every)


T = TypeVar("T")
SOLVER_PATIENCE = 5.0  # seconds a solver gets to stop by itself
SOLVER_LATE = 1.0  # the same where its time is up


_left_behind: list[threading.Thread] = []


def left_behind() -> bool:
    """Return whether a solver that was told to stop is still at work, and would delay the end of the program."""
    return any(thread.is_alive() for thread in _left_behind)


def run_in_thread(
    work: Callable[[], T],
    stop: threading.Event,
    interrupt: Callable[[], None] | None = None,
    seconds: float = math.inf,
    processor: float = math.inf,
) -> T:
    """Return `work()`, run in a thread; after `stop`, `interrupt` is called and what it still returns is taken.

    The same where the work takes more than so many `seconds`, or more than so many of the `processor` (of its thread,
    where the system tells them). Some steps of solvers look at nothing: raises `Inconclusive` where the work does not
    end soon after that (it is left behind), and what it raises.
    """
    until = time.monotonic() + seconds
    found: list[T] = []
    failed: list[BaseException] = []
    clock: list[int | None] = []

    def run() -> None:
        clock.append(_own_clock())
        try:
            found.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive() and not stop.is_set() and time.monotonic() < until and _thread_seconds(clock) < processor:
        thread.join(POLL)
    if thread.is_alive():
        if interrupt is not None:
            interrupt()
            thread.join(SOLVER_PATIENCE if stop.is_set() else SOLVER_LATE)
        if thread.is_alive():
            _left_behind.append(thread)
            atexit.register(thread.join)  # a program that ends under a native solver is aborted
            ended = "stopped" if stop.is_set() else "the time was up"
            raise Inconclusive(f"{ended} while a solver was at work")
    if failed:
        raise failed[0]
    return found[0]


def _own_clock() -> int | None:
    """Return the clock of the processor's seconds of the thread that asks, None where the system has none."""
    try:
        return time.pthread_getcpuclockid(threading.get_ident())
    except (AttributeError, OSError):
        return None


def _thread_seconds(clock: list[int | None]) -> float:
    """Return what the clock of a thread says, 0 where there is none (yet) or the thread ended."""
    with suppress(OSError):
        return time.clock_gettime(clock[0]) if clock and clock[0] is not None else 0.0
    return 0.0


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which linear algebra uses one thread, where `threadpoolctl` is installed.

    Factors of some hundred rows are 10 times slower on two threads than on one while other work shares the cores.
    """
    if importlib.util.find_spec("threadpoolctl") is None:
        return nullcontext()
    limits: AbstractContextManager[object] = importlib.import_module("threadpoolctl").threadpool_limits(1, "blas")
    return limits
