"""How long, and how large, an engine may work before it must stop with its best bounds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from threading import Event
from typing import TypeVar

from solvers.foundation.errors import Inconclusive

SECONDS = 60.0  # for one question, where no limit is given
GRACE = 2.0  # seconds beyond the whole budget that shares with a length of their own may reach (a conflict, a proof)
TIME_UP = "the time (--time) was up: give it more"  # of whatever is broken off with nothing to show
STEPS = 256  # of a cheap loop between two looks at the clock
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """Time in seconds (wall clock, from construction), memory in bytes, and the number of live cells.

    `seconds=None` means no time limit. Engines ask `expired()` between steps; `progress` is called with
    a short text (and may be ignored). `end`: the moment beyond which no share of these limits lasts, whatever it was
    given (`lasting`): the whole budget and `GRACE`. `workers`: local processes that independent pieces may be spread
    over, `cluster`: the address of a Dask scheduler that takes them instead (`solvers.parallel`).
    """

    seconds: float | None = None
    memory: int = 1 << 30
    cells: int = 200_000
    progress: Callable[[str], None] | None = None
    stop: Event = field(default_factory=Event)
    started: float = field(default_factory=time.monotonic)
    end: float | None = None
    workers: int = 1
    cluster: str | None = None

    def __post_init__(self) -> None:
        if self.end is None and self.seconds is not None:
            object.__setattr__(self, "end", self.started + self.seconds + GRACE)

    def elapsed(self) -> float:
        """Return the seconds since the limits were set."""
        return time.monotonic() - self.started

    def expired(self) -> bool:
        """Return whether the time is up, or somebody asked to stop (`stop`, set by Ctrl-C)."""
        return self.stop.is_set() or (self.seconds is not None and self.left() <= 0.0)

    def left(self) -> float:
        """Return the seconds left, infinity without a limit."""
        now = time.monotonic()
        own = math.inf if self.seconds is None else self.started + self.seconds - now
        whole = math.inf if self.end is None else self.end - now
        return max(0.0, min(own, whole))

    def lasting(self, seconds: float) -> Limits:
        """Return the same limits with so many seconds from now, but never beyond the end of the whole budget."""
        return replace(self, seconds=seconds, started=time.monotonic())

    def limited(self, seconds: float = SECONDS) -> Limits:
        """Return these limits, with so many seconds from now where they have no time limit."""
        return self.lasting(seconds) if math.isinf(self.left()) else self

    def share(self, part: float, maximum: float = math.inf) -> Limits:
        """Return the same limits with a part of the time left, `maximum` seconds at most."""
        return self.lasting(min(maximum, part * self.left()))

    def solver_seconds(self) -> float:
        """Return the time limit of a native solver: the seconds left, but never none, which some take for no limit."""
        return max(0.001, self.left())

    def report(self, text: str) -> None:
        """Show a line of progress where somebody listens."""
        if self.progress is not None:
            self.progress(text)

    def check(self, phase: str) -> None:
        """Raise `Inconclusive` where the time is up; `phase` says what was being done ("cells are listed")."""
        if self.expired():
            raise Inconclusive(f"{ended(self)} while {phase}")

    def paced(self, items: Iterable[T], phase: str, steps: int = STEPS) -> Iterator[T]:
        """Yield the items, looking at the clock before every `steps`-th of them; see `check`."""
        for i, item in enumerate(items):
            if i % steps == 0:
                self.check(phase)
            yield item


@dataclass(slots=True, eq=False)
class Clock:
    """The limits of whoever asks now, for what is kept from one question to the next; they do not travel with it."""

    limits: Limits = field(default_factory=Limits)

    def __reduce__(self) -> tuple[type[Clock], tuple[()]]:
        return Clock, ()

    def check(self, phase: str) -> None:
        """Raise `Inconclusive` where the time is up; see `Limits.check`."""
        self.limits.check(phase)


def ended(limits: Limits) -> str:
    """Return the reason for stopping: the clock, or somebody who asked to stop."""
    return "stopped" if limits.stop.is_set() else "the time was up"
