"""A piece of work as it travels, and what is done with it where it arrives.

Everything crosses as bytes that this module pickles and reads itself, so that whatever carries them (a pipe, a
cluster) never fails on what is in them, and an exception comes back as the same class with all that it says.

What all pools have in common.
"""

from __future__ import annotations

import itertools
import math
import pickle
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from solvers.foundation.errors import EngineError
from solvers.foundation.limits import Limits, Meter


@dataclass(frozen=True)
class LimitShare:
    """The limits of one piece as they travel.

    `started` and `end` are moments of this machine's clock, which all its processes share; elsewhere (None) the piece
    has its seconds from when it is begun. `work`: what is left of it (None: no end), for each piece anew. `name`: the
    stage that all pieces are of.
    """

    seconds: float | None
    memory: int
    cells: int
    started: float | None = None
    end: float | None = None
    work: float | None = None
    name: str = ""

    @classmethod
    def here(cls, limits: Limits) -> LimitShare:
        """Return what a piece may take in a process of this machine: the same clock, its part of the memory."""
        memory = limits.room // max(1, limits.workers)
        paused, end = limits.meter.paused, limits.end
        moments = limits.started + paused, None if end is None else end + paused
        return cls(limits.seconds, memory, limits.cells, *moments, _finite(limits.work_left()), limits.name)

    @classmethod
    def elsewhere(cls, limits: Limits) -> LimitShare:
        """Return what a piece may take on another machine: all the time left, all the memory."""
        seconds = _finite(limits.clock_left())
        return cls(seconds, limits.memory, limits.cells, work=_finite(limits.work_left()), name=limits.name)

    def limits(self, stop: threading.Event) -> Limits:
        """Return the limits of a piece that begins now, and ends soon after `stop` is set."""
        work = math.inf if self.work is None else self.work
        found = Limits(self.seconds, self.memory, self.cells, stop=stop, work=work, name=self.name)
        return found if self.started is None else replace(found, started=self.started, end=self.end)


def _finite(seconds: float) -> float | None:
    """Return seconds, None for no end."""
    return None if math.isinf(seconds) else seconds


@dataclass(frozen=True)
class Job:
    """A piece as it travels: the function and the piece pickled, its limits, and which shared value it wants."""

    content: bytes
    share: LimitShare
    shared: str | None = None


def pack_call(function: Callable[..., Any], piece: Any) -> bytes:
    """Return a function of a module and its piece as bytes."""
    return pickle.dumps((function, piece), pickle.HIGHEST_PROTOCOL)


def done(job: Job, stop: threading.Event, shared: Callable[[str], Any]) -> bytes:
    """Return what became of a job, for `unpacked`; called where it is done, never raises an `Exception`."""
    limits = job.share.limits(stop)
    try:
        function, piece = pickle.loads(job.content)
        first = () if job.shared is None else (shared(job.shared),)
        found = function(*first, piece, limits)
        return pickle.dumps((True, found, *_metered(limits)), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        return _failure(error, limits)


def _metered(limits: Limits) -> tuple[float, tuple[str, ...]]:
    """Return the work that was counted, and the stages that the clock cut."""
    return limits.meter.used, tuple(limits.meter.cut)


def _failure(error: Exception, limits: Limits | None = None) -> bytes:
    """Return an exception as bytes: as itself, or, where its class does not travel, as `EngineError`."""
    metered = _metered(limits or Limits())
    try:
        reply = pickle.dumps((False, error, *metered), pickle.HIGHEST_PROTOCOL)
        pickle.loads(reply)  # classes with arguments of their own can be written and not be read
    except Exception:
        told = " ".join(f"{type(error).__name__}: {error}".split())
        return pickle.dumps((False, EngineError(told), *metered), pickle.HIGHEST_PROTOCOL)
    return reply


def unpack_reply(reply: bytes, meter: Meter) -> Any:
    """Return what a piece returned, or raise what it raised; the meter has its work and what the clock cut."""
    good, found, *metered = pickle.loads(reply)
    meter.add(*metered)
    if good:
        return found
    raise found


class Deadline:
    """How long to wait for pieces that are under way when time is up or somebody asked to stop.

    They hear of it themselves and end with what they have; those that do not are given up after `patience` seconds.
    """

    def __init__(self, limits: Limits, patience: float) -> None:
        self.limits, self.patience = limits, patience
        self.since: float | None = None

    def met(self) -> bool:
        """Return whether nothing more may be begun."""
        if self.since is None and self.limits.late():
            self.since = time.monotonic()
        return self.since is not None

    def over(self) -> bool:
        """Return whether nobody waits any longer."""
        return self.met() and self.since is not None and time.monotonic() > self.since + self.patience


class DiedError(Exception):
    """The process that worked on a piece is gone, and did not say what became of the piece."""


Reply = bytes | DiedError  # of one job


class Pool(ABC):
    """Processes that do jobs: what is handed out has a ticket, and each ticket comes back once unless it is dropped."""

    def __init__(self) -> None:
        self.tickets = itertools.count()
        self.values: dict[str, tuple[Any, bytes]] = {}  # by name: shared values, held so that no other has their id
        self.names = itertools.count()

    def named(self, value: Any) -> str:
        """Return the name of a value that many pieces share; it is pickled once, and sent once to each process."""
        for name, (known, _) in self.values.items():
            if known is value:
                return name
        name = f"{id(self)}-{next(self.names)}"
        self.values[name] = (value, pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
        return name

    @abstractmethod
    def free(self, under_way: int) -> int:
        """Return how many more jobs can be handed out while so many are under way."""

    @abstractmethod
    def job(self, content: bytes, shared: str | None, limits: Limits) -> Job:
        """Return a job with its share of the limits."""

    @abstractmethod
    def begin(self, job: Job) -> int:
        """Hand a job out and return its ticket."""

    @abstractmethod
    def ended(self, seconds: float) -> list[tuple[int, Reply]]:
        """Return the tickets that came back, waiting for the first so many seconds at most."""

    @abstractmethod
    def stop(self) -> None:
        """Ask all that is under way to end with what it has."""

    @abstractmethod
    def drop(self) -> None:
        """End what is under way, without waiting; its tickets do not come back."""

    @abstractmethod
    def close(self) -> None:
        """End everything: afterwards no process of this pool is left here, and no work on a cluster."""
