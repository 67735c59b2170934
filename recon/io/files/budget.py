"""One running budget of bytes, entries and time, which every reader, table and archive of a command draws on.

A file is written by others: a number in it may ask for gigabytes, a reference may be repeated a thousand times, a
stream may unpack to anything. Whatever is read says here what it takes before it takes it. The budget of a command
stands in a context variable, so that a reader draws on it without carrying it: `drawing(limits)` sets it, `within`
narrows it for one file. Sizes are rough, and never below what CPython takes for the structure in question.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import NoReturn, TypeVar

from solvers.foundation.errors import Inconclusive, ReleaseError
from solvers.foundation.limits import TIME_UP, Limits

MEMORY = 1 << 30  # bytes that reading may take unless told otherwise (--memory)
ENTRY = 100  # bytes of one small object: a number or short text and its place in a list
LOOK = 2_000  # entries between looks at the clock
GRACE = 2.0  # seconds beyond --time that reading may end in: a file that is read by then still gets its bounds
AGAIN = 1.0  # seconds to the next signal, should somebody have caught what the first raised

T = TypeVar("T")


class ReadingBudget:
    """What reading may still take: `left` bytes of memory, and time (`limits`); `above` is drawn on too.

    `rings`: the clock may break into whatever runs, by a signal (a command line does nothing else at that time).
    """

    def __init__(
        self,
        memory: int = MEMORY,
        limits: Limits | None = None,
        above: ReadingBudget | None = None,
        rings: bool = False,
    ) -> None:
        self.limit = self.own = memory
        self.limits, self.above = limits, above
        self.rings: bool = rings or (above is not None and above.rings)
        self.until_look = LOOK

    @property
    def left(self) -> int:
        """Return how many bytes may still be taken."""
        return self.own if self.above is None else min(self.own, self.above.left)

    def bytes(self, size: int, what: str = "the file") -> None:
        """Take `size` bytes; `ReleaseError` naming --memory where they are not there."""
        if size > self.left:
            raise ReleaseError(f"{what} needs more than the {shown(self.smallest)} of memory allowed (--memory)")
        one: ReadingBudget | None = self
        while one is not None:
            one.own -= size
            one = one.above

    def entries(self, count: int, what: str = "the file", each: int = ENTRY) -> None:
        """Take `count` small objects of `each` bytes, and look at the clock now and then."""
        self.bytes(count * each, what)
        self.until_look -= count
        if self.until_look <= 0:
            self.until_look = LOOK
            self.check()

    def check(self) -> None:
        """Raise `Inconclusive` where the time is up."""
        if self.seconds_left() <= 0:
            raise Inconclusive(TIME_UP)

    def seconds_left(self) -> float:
        """Return the seconds that reading may still last, infinity without a limit."""
        limits = self.time
        if limits is None or limits.seconds is None:
            return float("inf")
        return limits.seconds + GRACE - limits.elapsed()

    @contextmanager
    def ringing(self) -> Iterator[None]:
        """Have a signal end the block when the time is up, where `rings` and nothing else does already.

        This hears the clock in every loop of every reader, however long it is; only the main thread gets signals.
        """
        left = self.seconds_left()
        main = threading.current_thread() is threading.main_thread()
        if not self.rings or left == float("inf") or not main or not hasattr(signal, "setitimer") or _Ringing.on:
            yield
            return
        self.check()
        before = signal.signal(signal.SIGALRM, _rung)
        _Ringing.on = True
        signal.setitimer(signal.ITIMER_REAL, left, AGAIN)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            _Ringing.on = False

    @property
    def time(self) -> Limits | None:
        """Return the limits whose time counts, None without any."""
        return self.limits if self.limits is not None or self.above is None else self.above.time

    @property
    def smallest(self) -> int:
        """Return the least of the limits that this budget and those above began with."""
        return self.limit if self.above is None else min(self.limit, self.above.smallest)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Give back afterwards what the block takes: its objects are gone then."""
        before: list[tuple[ReadingBudget, int]] = []
        one: ReadingBudget | None = self
        while one is not None:
            before.append((one, one.own))
            one = one.above
        try:
            yield
        finally:
            for budget, own in before:
                budget.own = own


class _Ringing:
    on = False


def _rung(number: int, frame: FrameType | None) -> NoReturn:
    raise Inconclusive(TIME_UP)


_CURRENT: ContextVar[ReadingBudget | None] = ContextVar("budget", default=None)


def current() -> ReadingBudget:
    """Return the budget that is drawn on; outside of any, a fresh one."""
    found = _CURRENT.get()
    return ReadingBudget() if found is None else found


@contextmanager
def drawing(limits: Limits, rings: bool = False) -> Iterator[ReadingBudget]:
    """Let everything inside draw on one budget, of the limits' memory and time: that of a command."""
    with _set(ReadingBudget(limits.memory, limits, rings=rings)) as budget:
        yield budget


@contextmanager
def within(memory: int | None = None, limits: Limits | None = None) -> Iterator[ReadingBudget]:
    """Let everything inside draw on the budget that there is, and take at most `memory` bytes and `limits` of it."""
    above = _CURRENT.get()
    if memory is None:
        memory = limits.memory if limits is not None else MEMORY if above is None else above.left
    with _set(ReadingBudget(memory, limits, above)) as budget, budget.ringing():
        yield budget


@contextmanager
def _set(budget: ReadingBudget) -> Iterator[ReadingBudget]:
    token = _CURRENT.set(budget)
    try:
        yield budget
    finally:
        _CURRENT.reset(token)


def metered_step(value: T) -> T:
    """Return a value as it is and look at the clock now and then: a step of a parser that is not ours."""
    current().entries(1, each=0)
    return value


def shown(size: int) -> str:
    """Return bytes for people: "256 MB"."""
    return f"{size >> 20:,} MB" if size >= 1 << 20 else f"{size:,} bytes"


def parsed_json(text: str | bytes, what: str = "the JSON text") -> None:
    """Take the bytes that parsed JSON will need, before it is parsed: objects, lists, texts and numbers, counted."""
    marks: tuple[str, ...] | tuple[bytes, ...] = ("{", "[", ",", '"')
    if isinstance(text, bytes):
        marks = (b"{", b"[", b",", b'"')
    count: Callable[..., int] = text.count
    objects, lists, commas, quotes = (count(mark) for mark in marks)
    # CPython 3.11: a dict of up to 5 keys 184 bytes, a list 56 and 8 a place, a number 32, a text 49 and its letters;
    # keys are shared, a small number too. Signs inside of texts are counted too: that is on the safe side.
    current().bytes(len(text) + 190 * objects + 64 * lists + 24 * commas + 26 * quotes, what)
    current().check()


def parsed_xml(data: bytes, what: str = "the XML text") -> None:
    """Take the bytes that a parsed XML tree will need, before it is parsed: elements and attributes, counted."""
    current().bytes(2 * len(data) + 250 * data.count(b"<") + 150 * data.count(b"="), what)
    current().check()


def read_text(text: str, what: str = "the text") -> None:
    """Take the bytes that a text cut into lines and words will need."""
    current().bytes(8 * len(text) + 200 * text.count("\n"), what)
    current().check()
