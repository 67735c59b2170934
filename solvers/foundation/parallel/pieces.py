"""Independent pieces of work, done one after the other, on local processes, or on a Dask cluster.

One interface for all three: `completed` yields each piece's result once, as soon as it is there. A piece whose process
died is done again. What is yielded depends on function and pieces alone, not on where they are done.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from solvers.foundation.errors import EngineError
from solvers.foundation.limits import Limits, Meter
from solvers.foundation.parallel.opening import Cluster, Processes
from solvers.foundation.parallel.work import Deadline, DiedError, Pool, pack_call, unpack_reply

P = TypeVar("P")
R = TypeVar("R")
S = TypeVar("S")
TRIES = 3  # processes that may die of one piece before it is given up
POLL = 0.05  # seconds between looks at the limits
PATIENCE = 2.0  # seconds that pieces under way get to end when time is up or somebody asked to stop
TELLING = 1.0  # seconds before which nothing is said of the pace
STARTING = 1.5  # seconds of work for which no process is started: that, and what it imports, takes about as long


def completed(
    function: Callable[[P, Limits], R], pieces: Sequence[P], limits: Limits, *, what: str = "pieces",
    alone: float = 0.0,
) -> Iterator[tuple[int, R]]:  # fmt: skip
    """Yield (number of the piece, function(piece, limits)), every piece at most once, in the order they are done.

    With `limits.workers` above 1 or `limits.cluster` the function, the pieces and the results are pickled, the function
    is one of a module, and pieces are handed out in their order, so that the dearest should stand first. No piece is
    begun when time is up or somebody asked to stop; those under way end with what they have, or are given up after
    `PATIENCE`: what was not done is not yielded. `alone`: for so many seconds pieces are done here, and longer where
    the rest looks short too, so that nothing is started or sent for little work. An exception of the function ends the
    iteration. Raises `Unsupported` where the cluster cannot be reached, has no workers or Dask is not installed,
    `EngineError` where `TRIES` processes died of one piece, or a cluster is lost.
    """
    yield from _distributed(function, partial(function), None, pieces, limits, what, alone)


def completed_with(
    shared: S, function: Callable[[S, P, Limits], R], pieces: Sequence[P], limits: Limits, *, what: str = "pieces",
    alone: float = 0.0,
) -> Iterator[tuple[int, R]]:  # fmt: skip
    """Yield (number of the piece, function(shared, piece, limits)) as `completed` does.

    `shared` travels once to every process, not once with every piece; what is remembered in it stays there.
    """
    yield from _distributed(function, partial(function, shared), shared, pieces, limits, what, alone)


def _distributed(
    function: Callable[..., R], here: Callable[[P, Limits], R], shared: Any, pieces: Sequence[P], limits: Limits,
    what: str, alone: float,
) -> Iterator[tuple[int, R]]:  # fmt: skip
    """Yield the numbers and results of pieces done here, and, as far as it is worth it, elsewhere.

    Where some may be done elsewhere, each may take the work that was left before the first, wherever it is done and
    whatever others took by then: work is counted when all are done.
    """
    todo, worked, pace = _Queue(len(pieces)), 0.0, _Progress(what, len(pieces))
    alike = limits.workers > 1 or bool(limits.cluster)
    tally, each = Meter(), limits
    if alike:
        each = replace(limits, work=limits.work_left(), meter=Meter(limits.meter.paused))
    try:
        while todo and not limits.late():
            if _worth_sending(limits, len(todo), len(pieces) - len(todo), worked, alone):
                break
            k, begun = todo.pop(), time.monotonic()
            limits.report(pace.line(k + 1, k))
            own = replace(each, workers=1, cluster=None, meter=Meter(limits.meter.paused) if alike else limits.meter)
            result = here(pieces[k], own)
            worked += time.monotonic() - begun
            if alike:
                tally.add(own.meter.used, own.meter.cut)
                each.meter.paused = limits.meter.paused = own.meter.paused
            yield k, result
        if not todo or limits.late():
            return
        with pool(limits) as hands:
            try:
                yield from _handed_out(hands, function, shared, pieces, todo, each, tally, pace)
            finally:
                hands.drop()
    finally:
        limits.meter.add(tally.used, (*tally.cut, *each.meter.cut))


class _Progress:
    """How far pieces are: how many of how many, how many a second so far, and how long the rest takes at that pace."""

    def __init__(self, what: str, number: int) -> None:
        self.what, self.number, self.begun = what, number, time.monotonic()

    def line(self, at: int, done: int) -> str:
        """Return the line of progress at a piece, so many being done."""
        text, used = f"{self.what}: {at} of {self.number}", time.monotonic() - self.begun
        if not done or used < TELLING:
            return text
        left = (self.number - done) * used / done
        unit, size = ("h", 3600) if left >= 7200 else ("min", 60) if left >= 120 else ("s", 1)
        return f"{text}, {done / used:.3g} a second, {left / size:.0f} {unit} left"


class _Queue:
    """The numbers of pieces that are left; those that are to be done again first."""

    def __init__(self, number: int) -> None:
        self.next, self.number = 0, number
        self.again: list[int] = []

    def __len__(self) -> int:
        return self.number - self.next + len(self.again)

    def pop(self) -> int:
        """Take the next one."""
        if self.again:
            return self.again.pop()
        self.next += 1
        return self.next - 1


def _worth_sending(limits: Limits, left: int, done: int, worked: float, alone: float) -> bool:
    """Return whether pieces left are to be done elsewhere, after so many took so many seconds here."""
    if not limits.cluster and (limits.workers <= 1 or left <= 1):
        return False
    if worked < alone:
        return False
    return not done or not alone or left * worked / done > 2 * STARTING  # of which two processes save a half


def _handed_out(
    hands: Pool, function: Callable[..., R], shared: Any, pieces: Sequence[P], todo: _Queue, limits: Limits,
    tally: Meter, pace: _Progress,
) -> Iterator[tuple[int, R]]:  # fmt: skip
    """Yield the numbers and results of pieces done by a pool; those of processes that died are handed out anew.

    `tally` counts their work.
    """
    name = None if shared is None else hands.named(shared)
    begun: dict[int, int] = {}  # ticket -> piece
    deaths: Counter[int] = Counter()
    deadline, told = Deadline(limits, PATIENCE), False
    while (todo and not deadline.met()) or (begun and not deadline.over()):
        while todo and not deadline.met() and hands.free(len(begun)) > 0:
            k = todo.pop()
            begun[hands.begin(hands.job(pack_call(function, pieces[k]), name, limits))] = k
        if deadline.met() and not told and limits.stop.is_set():
            hands.stop()
            told = True
        for ticket, reply in hands.ended(POLL):
            k = begun.pop(ticket)
            if isinstance(reply, DiedError):
                deaths[k] += 1
                if deaths[k] >= TRIES:
                    raise EngineError(
                        f"{TRIES} processes that worked on one of the {pace.what} died ({reply}), most likely for want "
                        f"of memory: use fewer workers; {len(todo) + len(begun) + 1} of {len(pieces)} were left"
                    )
                todo.again.append(k)
                continue
            result: R = unpack_reply(reply, tally)
            done = len(pieces) - len(todo) - len(begun)
            limits.report(pace.line(done, done))
            yield k, result


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
    made = _made_for(limits)
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


def _made_for(limits: Limits) -> Pool:
    """Return a new pool; `Unsupported` where a cluster cannot be reached."""
    return Cluster(limits.cluster) if limits.cluster else Processes(limits.workers)
