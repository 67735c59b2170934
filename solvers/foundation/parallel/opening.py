"""Which pool limits ask for, made when it is needed and kept from one question to the next."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

from solvers.foundation.limits import Limits
from solvers.foundation.parallel.cluster import Cluster
from solvers.foundation.parallel.pools import Pool
from solvers.foundation.parallel.processes import Processes

_OPEN: ContextVar[list[tuple[object, Pool]] | None] = ContextVar("pools", default=None)


@contextlib.contextmanager
def kept_open() -> Iterator[None]:
    """Keep the processes that the block uses, and what was sent to them, until its end; none is started for nothing."""
    if _OPEN.get() is not None:  # whoever began keeps them
        yield
        return
    pools: list[tuple[object, Pool]] = []
    before = _OPEN.set(pools)
    try:
        yield
    finally:
        _OPEN.reset(before)
        for _, one in pools:
            one.close()


@contextlib.contextmanager
def pool(limits: Limits) -> Iterator[Pool]:
    """Yield the pool that the limits ask for: the one kept open, else one for the block."""
    asked, kept = (limits.workers, limits.cluster), _OPEN.get()
    for key, one in kept or ():
        if key == asked:
            yield one
            return
    made = made_for(limits)
    if kept is not None:
        kept.append((asked, made))
        yield made
        return
    try:
        yield made
    finally:
        made.close()


def running(limits: Limits) -> bool:
    """Return whether the pool that the limits ask for is open already, so that its use costs nothing more."""
    return any(key == (limits.workers, limits.cluster) for key, _ in _OPEN.get() or ())


def made_for(limits: Limits) -> Pool:
    """Return a new pool; `Unsupported` where a cluster cannot be reached."""
    return Cluster(limits.cluster) if limits.cluster else Processes(limits.workers)
