"""What Ctrl-C does, from the first import to the last line: once to end the work, twice to end the program."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from types import FrameType
from typing import Any, NoReturn

_IN_COMMAND: ContextVar[bool] = ContextVar("in command", default=False)


class Stopped(KeyboardInterrupt):
    """A Ctrl-C. CPython ends a process by the signal where a plain `KeyboardInterrupt` came inside of `exec`."""


def stopped(number: int, frame: FrameType | None) -> NoReturn:
    """Raise `Stopped`: what Ctrl-C does in a process of ours while there is nothing to keep."""
    raise Stopped


class FirstInterrupt:
    """What the first Ctrl-C does: set the event `stop`; the second raises. `late`: it came when the work was done."""

    def __init__(self, stop: Any) -> None:
        self.stop = stop
        self.done = self.late = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Be the handler of a signal."""
        if self.stop.is_set():
            raise Stopped
        self.stop.set()
        self.late = self.done

    @contextlib.contextmanager
    def heard(self) -> Iterator[None]:
        """Hear Ctrl-C in the block; in a command (`interrupts_of_a_command`) until its answer is written."""
        before = signal.getsignal(signal.SIGINT)
        if isinstance(before, FirstInterrupt) and before.late:  # between two files of a command
            raise Stopped
        signal.signal(signal.SIGINT, self)
        try:
            yield
        finally:
            self.done = True
            if not _IN_COMMAND.get():
                signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def interrupts_of_a_command() -> Iterator[None]:
    """Let one Ctrl-C end neither what was worked out in the block nor what is written of it.

    Afterwards it does what it did before, but in a process of ours, where the answer is all that there is.
    """
    before, main = signal.getsignal(signal.SIGINT), threading.current_thread() is threading.main_thread()
    token = _IN_COMMAND.set(main)
    try:
        yield
    finally:
        _IN_COMMAND.reset(token)
        if main and before is not stopped:
            signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def ended_at_once() -> Iterator[None]:
    """Let Ctrl-C end the program at once while there is nothing to keep: no bounds are known yet."""
    before = signal.signal(signal.SIGINT, stopped)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
