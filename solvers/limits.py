"""How long, and how large, an engine may work before it must stop with its best bounds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Event


@dataclass(frozen=True, slots=True)
class Limits:
    """Time in seconds (wall clock, from construction), memory in bytes, and the number of live cells.

    `seconds=None` means no time limit. Engines ask `expired()` between steps; `progress` is called with
    a short text (and may be ignored).
    """

    seconds: float | None = None
    memory: int = 1 << 30
    cells: int = 200_000
    progress: Callable[[str], None] | None = None
    stop: Event = field(default_factory=Event)
    started: float = field(default_factory=time.monotonic)

    def elapsed(self) -> float:
        """Return the seconds since the limits were set."""
        return time.monotonic() - self.started

    def expired(self) -> bool:
        """Tell whether the time is up, or somebody asked to stop (`stop`, set by Ctrl-C)."""
        return self.stop.is_set() or (self.seconds is not None and self.elapsed() >= self.seconds)

    def left(self) -> float:
        """Return the seconds left, infinity without a limit."""
        return float("inf") if self.seconds is None else max(0.0, self.seconds - self.elapsed())

    def lasting(self, seconds: float) -> Limits:
        """Return the same limits with so many seconds from now."""
        return replace(self, seconds=seconds, started=time.monotonic())

    def report(self, text: str) -> None:
        """Show a line of progress where somebody listens."""
        if self.progress is not None:
            self.progress(text)
