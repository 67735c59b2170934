"""What Ctrl-C does, from the first import to the last line: once to end the work, twice to end the program."""

from __future__ import annotations

from types import FrameType
from typing import NoReturn


class Stopped(KeyboardInterrupt):
    """A Ctrl-C. CPython ends a process by the signal where a plain `KeyboardInterrupt` came inside of `exec`."""


def stopped(number: int, frame: FrameType | None) -> NoReturn:
    """Raise `Stopped`: what Ctrl-C does in a process of ours while there is nothing to keep."""
    raise Stopped
