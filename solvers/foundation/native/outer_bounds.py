"""The outer bounds of a command: what holds where some loop or allocation neither asks for memory nor sees the clock.

Readers draw on a budget, engines look at their limits, and both end with what they have. A number in a file may still
drive something that does neither. A thread looks at the whole process: beyond `--memory`, or some seconds of work
beyond `--time`, a signal breaks into what the main thread does, which ends as if it had seen its limit; where native
code is deaf to that, the process ends with the sentence and exit code 4. One allocation far beyond what is allowed is
refused before it is made.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import TIME_UP, Limits

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

    def run(self) -> None:
        """Look until the block is left."""
        next_signal: float | None = None
        while not self.done.wait(LOOK):
            why, grave = self.excess()
            if not why:
                continue
            if next_signal is None or time.monotonic() >= next_signal:
                if grave and next_signal is not None:  # the last signal was not heard
                    os.write(2, f"recon: {why}\n".encode())
                    os._exit(INCONCLUSIVE)
                next_signal = time.monotonic() + AGAIN
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
            raise Inconclusive(why)


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
