"""Native solvers in a thread of their own, so that Ctrl-C is heard while they work.

Python runs signal handlers in the main thread only, between two of its own steps: a solver called there would hear
nothing until its time limit. CP-SAT's own handler would end the program after its first solve.
"""

from __future__ import annotations

import atexit
import importlib.util
import math
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from solvers.foundation.errors import Inconclusive

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
) -> T:
    """Return `work()`, run in a thread; after `stop`, `interrupt` is called and what it still returns is taken.

    The same where the work takes `LATE` more than the `seconds` that the solver was given: some of their steps do not
    look at the clock. Raises `Inconclusive` where the work does not end soon after that (it is left behind), and what
    it raises.
    """
    until = time.monotonic() + seconds + LATE
    found: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive() and not stop.is_set() and time.monotonic() < until:
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


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which linear algebra uses one thread, where `threadpoolctl` is installed.

    Factors of some hundred rows are 10 times slower on two threads than on one while other work shares the cores.
    """
    if importlib.util.find_spec("threadpoolctl") is None:
        return nullcontext()
    limits: AbstractContextManager[object] = importlib.import_module("threadpoolctl").threadpool_limits(1, "blas")
    return limits
