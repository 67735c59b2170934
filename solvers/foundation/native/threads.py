"""Native solvers in a thread of their own, so that Ctrl-C is heard while they work.

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
import importlib.util
import math
import pickle
import threading
import time
import zlib
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar

from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import FAR, STAGES, Limits

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
                run_in_thread(lambda: self.dispatcher.compile(types), self.limits.stop, processor=FAR * COMPILING)
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
    return limits.seconds is None or limits.seconds >= COMPILING or all(one.before() for one in every)


T = TypeVar("T")
POLL = 0.05  # seconds between looks at the stop event
PATIENCE = 5.0  # seconds a solver gets to stop by itself
LATE = 0.5  # seconds that it may take beyond its time limit, and then to stop


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

    The same where the work takes `LATE` more than the `seconds` that the solver was given, or more than so many of the
    `processor` (of its thread, where the system tells them): some of their steps look at no limit. Raises
    `Inconclusive` where the work does not end soon after that (it is left behind), and what it raises.
    """
    until = time.monotonic() + seconds + LATE
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
            thread.join(PATIENCE if stop.is_set() else LATE)
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
