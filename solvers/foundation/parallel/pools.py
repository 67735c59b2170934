"""What all pools have in common."""

from __future__ import annotations

import itertools
import pickle
from abc import ABC, abstractmethod
from typing import Any

from solvers.foundation.limits import Limits
from solvers.foundation.parallel.work import Job


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
