"""Opening files: regular ones only, no more of them than the budget has, and standard input by pieces.

Which file a path means: the model of an MLflow folder, and one model of several by its number (`FILE#2`).

One running budget of bytes, entries and time, which every reader, table and archive of a command draws on.

A file is written by others: a number in it may ask for gigabytes, a reference may be repeated a thousand times, a
stream may unpack to anything. Whatever is read says here what it takes before it takes it. The budget of a command
stands in a context variable, so that a reader draws on it without carrying it: `drawing(limits)` sets it, `within`
narrows it for one file. Sizes are rough, and never below what CPython takes for the structure in question.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import select
import signal
import stat
import sys
import threading
import weakref
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import IO, NoReturn, TypeVar

from solvers.foundation.errors import Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import TIME_UP, Limits

MEMORY = 1 << 30  # bytes that reading may take unless told otherwise (--memory)
ENTRY = 100  # bytes of one small object: a number or short text and its place in a list
LOOK = 2_000  # entries between looks at the clock
GRACE = 2.0  # seconds beyond --time that reading may end in: a file that is read by then still gets its bounds
WORK = 1.3e-8  # seconds of work that a byte stands for: 200 MB of nodes, texts and cells are read in 2 to 3 seconds
AGAIN = 1.0  # seconds to the next signal, should somebody have caught what the first raised

T = TypeVar("T")


class ReadingBudget:
    """What reading may still take: `left` bytes of memory, and time (`limits`); `above` is drawn on too.

    There is one account of a command: what reading takes of the outermost budget is held on the meter of its limits
    like what engines hold (`Limits.room`), and counts as work (`Limits.charge`).

    `rings`: the clock may break into whatever runs, by a signal (a command line does nothing else at that time).
    """

    def __init__(
        self, memory: int = MEMORY, limits: Limits | None = None, above: ReadingBudget | None = None,
        rings: bool = False,
    ) -> None:  # fmt: skip
        self.limit = self.own = memory
        self.limits, self.above = limits, above
        self.rings: bool = rings or (above is not None and above.rings)
        self.until_look = LOOK

    @property
    def left(self) -> int:
        """Return how many bytes may still be taken."""
        if self.above is not None:
            return min(self.own, self.above.left)
        return self.own if self.limits is None else min(self.own, self.limits.room)

    def bytes(self, size: int, what: str = "the file") -> None:
        """Take `size` bytes; `ReleaseError` naming --memory where they are not there."""
        if size > self.left:
            raise ReleaseError(f"{what} needs more than the {size_text(self.smallest)} of memory allowed (--memory)")
        self._hold(size)
        if (limits := self.time) is not None:
            limits.charge(WORK * size)

    def _hold(self, size: int) -> None:
        """Count so many bytes as taken, here and above; below 0: as given back."""
        self.own -= size
        if self.above is not None:
            self.above._hold(size)
        elif self.limits is not None:
            self.limits.meter.held += size

    def keep(self, made: object, size: int, taken: int) -> None:
        """Give back what was taken beyond so many bytes, and these when what was made of them is gone."""
        self._hold(size - taken)
        weakref.finalize(made, self._hold, -size).atexit = False

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
        before = self.own
        try:
            yield
        finally:
            self._hold(self.own - before)


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
    """Let everything inside draw on one budget, of the limits' memory and time: that of a command.

    The MLmodel of a folder is opened once in it.
    """
    token = _MLMODELS.set({})
    try:
        with _set(ReadingBudget(limits.memory, limits, rings=rings)) as budget:
            yield budget
    finally:
        _MLMODELS.reset(token)


@contextmanager
def budget_within(memory: int | None = None, limits: Limits | None = None) -> Iterator[ReadingBudget]:
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


def size_text(size: int) -> str:
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


NAMELESS = "an empty text was given as the name of a file: give the name (of a script: is a variable in it empty?)"
CHUNK = 1 << 20
_READ: ContextVar[dict[str, bytes] | None] = ContextVar("read", default=None)
_MLMODELS: ContextVar[dict[str, str] | None] = ContextVar("mlmodels", default=None)  # their texts, by path
WAIT = 0.25  # seconds between looks at the clock while standard input brings nothing


@contextlib.contextmanager
def open_regular(path: str) -> Iterator[tuple[IO[bytes], int]]:
    """Yield a regular file to read from, and its size; `ReleaseError` naming it where it is none, or cannot be read.

    The file is opened without waiting (a pipe would wait for its writer) and looked at after that, so that nothing
    can take its place in between; where it is written to in the meantime, what was read is refused. A link to a regular
    file is one. This is the one place that decides about folders.
    """
    if not path:
        raise ReleaseError(NAMELESS)
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        raise ReleaseError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=path[:200]) from None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(file.fileno())
        if stat.S_ISDIR(found.st_mode):
            raise ReleaseError("cannot be read: Is a directory (a folder); give a file in it", file=path)
        if not stat.S_ISREG(found.st_mode):
            raise ReleaseError(
                "is not a regular file (a pipe, device or socket): save it to a file, or pass it as standard input (-)",
                file=path,
            )
        yield file, found.st_size
        now = os.fstat(handle)
        if (now.st_size, now.st_mtime_ns) != (found.st_size, found.st_mtime_ns):
            raise ReleaseError("was written to while it was read: run it again when that is done", file=path)


def read_whole(path: str) -> bytes:
    """Return the bytes of a regular file, "-": of standard input; all are taken from the budget first.

    A file whose size is given as 0 is not read: what the kernel shows as a file (/proc) says so and may never end.
    Raises `ReleaseError` naming the file, `Inconclusive` where the time is up.
    """
    budget = current()
    try:
        if path == "-":
            return _read_stream(sys.stdin.buffer)
        if os.path.isdir(path) and _is_whole_model(path):
            return folder_archive(path)
        with open_regular(path) as (file, size):
            budget.check()
            budget.bytes(size)
            parts, met = list[bytes](), 0
            while met < size and (part := file.read(min(CHUNK, size - met))):
                parts.append(part)
                met += len(part)
                budget.check()
            if met < size or (size and file.read(1)):
                raise ReleaseError(f"is not a regular file, or changes while it is read: it should have {size:,} bytes")
            return b"".join(parts)
    except OSError as error:
        raise ReleaseError(f"cannot be read: {error.strerror or error}", file=path) from None
    except ReleaseError as error:
        raise error.at(file=path) from None


@contextlib.contextmanager
def files_opened_once() -> Iterator[None]:
    """Let the block read a file once that it asks for twice (`read_once`): the second reader gets the same bytes."""
    token = _READ.set({})
    try:
        yield
    finally:
        _READ.reset(token)


def read_once(path: str) -> bytes:
    """Return the bytes of a file as `read_whole` does; within `files_opened_once`, those that were read before.

    They are kept for one more reader, not longer: they are large. Standard input is kept: nobody can read it again.
    """
    read = _READ.get()
    if read is None:
        return read_whole(path)
    if path in read:
        data = read[path] if path == "-" else read.pop(path)
        current().bytes(len(data))
        return data
    data = read[path] = read_whole(path)
    return data


def used_up(path: str) -> bool:
    """Return whether a file that was read before cannot be read again: standard input that was not kept."""
    return path == "-" and path not in (_READ.get() or ())


def _read_stream(stream: IO[bytes]) -> bytes:
    """Return what a stream of unknown length brings; each piece is taken from the budget, waiting ends in time."""
    budget, parts = current(), list[bytes]()
    while True:
        waited(stream)
        part = getattr(stream, "read1", stream.read)(CHUNK)
        if not part:
            return b"".join(parts)
        budget.bytes(len(part), "standard input")
        parts.append(part)


def waited(stream: IO[bytes]) -> None:
    """Return when a stream has something to read, or has no handle to ask; `Inconclusive` where the time is up."""
    budget = current()
    budget.check()
    if budget.time is None:
        return
    try:
        handle = stream.fileno()
        while not select.select([handle], [], [], WAIT)[0]:
            budget.check()
    except (OSError, ValueError):  # no handle (a test's stream), or none that can be asked
        return


MAX_FILES = 20_000  # of the folder of one model: H2O writes two files for every tree and class


def _is_whole_model(folder: str) -> bool:
    """Return whether a folder is a model by itself: of Spark ML, or of YDF."""
    about = os.path.join(folder, "metadata")
    spark = os.path.isdir(about) and any(name.startswith("part-") for name in os.listdir(about))
    return spark or os.path.isfile(os.path.join(folder, "data_spec.pb"))


def files_below(folder: str) -> list[tuple[str, os.stat_result]]:
    """Return the paths of all that stands in a folder and in those inside but folders, in order, links as themselves.

    Raises `ReleaseError` where a folder cannot be read, and for too many files.
    """

    def unread(error: OSError) -> NoReturn:
        raise ReleaseError(f"cannot be read: {error.strerror or error}", file=error.filename)

    found = list[tuple[str, os.stat_result]]()
    for above, below, files in os.walk(folder, onerror=unread):
        below.sort()
        linked = [name for name in below if os.path.islink(os.path.join(above, name))]
        found += [(path, os.lstat(path)) for path in (os.path.join(above, name) for name in sorted([*files, *linked]))]
        if len(found) > MAX_FILES:
            raise ReleaseError(f"holds more than {MAX_FILES:,} files: give the folder of one model", file=folder)
    return found


def folder_archive(folder: str) -> bytes:
    """Return the files of a folder and of those inside as a zip archive: the same bytes for the same files.

    Empty files and Hadoop's checksums (.NAME.crc) are left out. Raises `ReleaseError` for links, pipes and devices, and
    as `files_below`.
    """
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, about in files_below(folder):
            if not stat.S_ISREG(about.st_mode):
                raise ReleaseError("is a link, pipe or device in the folder of a model: put the file itself", file=name)
            if not about.st_size or re.fullmatch(r"\..*\.crc", os.path.basename(name)):
                continue
            content = read_whole(name)
            current().bytes(len(content))
            archive.writestr(zipfile.ZipInfo(os.path.relpath(name, folder).replace(os.sep, "/")), content)
    return made.getvalue()


LARGEST = 1 << 20  # bytes of an MLmodel file
# What MLflow's flavours call their file, in the order of preference where MLmodel does not say.
NAMES = (
    "model.pkl", "model.skops", "model.joblib", "model.cb", "model.cbm", "model.xgb", "model.ubj", "model.json",
    "model.lgb", "model.txt", "sparkml",
)  # fmt: skip
# Keys of a flavour in MLmodel: scikit-learn, python_function, and the boosters.
_KEYS = re.compile(
    r"^[ \t]+(pickled_model|model_path|data|model_file|model_data)[ \t]*:[ \t]*['\"]?"
    r"([^'\"#\s](?:[^'\"#\n]*[^'\"#\s])?)['\"]?[ \t\r]*(?:#.*)?$",
    re.MULTILINE,
)


def file_and_number(path: str) -> tuple[str, int | None]:
    """Return the file that a path means, and the number behind its "#" (None: it has none).

    A folder of an MLflow model means its model file, one of Spark ML or YDF itself; `ReleaseError` for others.
    """
    file, number = path, None
    if "#" in path and path != "-" and not os.path.exists(path):
        before, _, behind = path.rpartition("#")
        if before and re.fullmatch(r"[1-9]\d{0,5}", behind):
            file, number = before, int(behind)
    return (_model_file(file) if file != "-" and os.path.isdir(file) else file), number


def _model_file(folder: str) -> str:
    """Return the path of the model in an MLflow folder: as MLmodel names it, else by its name.

    MLmodel is read line by line: no YAML is needed for the one name, which must be that of a file inside the folder.
    """
    about = os.path.join(folder, "MLmodel")
    if not os.path.lexists(about):
        if _is_whole_model(folder):
            return folder
        what = "is a folder without MLmodel: give a file, or the folder that MLflow, Spark ML or YDF wrote"
        raise ReleaseError(what, file=folder)
    if os.path.islink(about):  # what it says is quoted: it must be the folder's own
        raise ReleaseError("is a link: put the file itself into the folder", file=about)
    known = _MLMODELS.get()
    told = None if known is None else known.get(about)
    if told is None:
        with open_regular(about) as (file, size):
            if size > LARGEST:
                raise ReleaseError(f"has {size:,} bytes, more than {LARGEST:,}: give the model file itself", file=about)
            told = file.read(LARGEST).decode("utf-8", "replace")
        if known is not None:
            known[about] = told
    candidates = [name for _, name in sorted(_KEYS.findall(told), key=lambda found: found[0] != "pickled_model")]
    inside = os.path.realpath(folder)
    for name in (*candidates, *NAMES):
        path = os.path.join(folder, name)
        real = os.path.realpath(path)
        known_kind = os.path.isfile(real) or (os.path.isdir(real) and _is_whole_model(real))
        if known_kind and os.path.commonpath([inside, real]) == inside and real != inside:
            return path
    named = ", ".join(candidates[:3]) or "none"
    barred = next((name for name in candidates if os.path.lexists(os.path.join(folder, name))), None)
    why = "" if barred is None else f", and {barred} is no regular file of the folder (a link out of it, a pipe)"
    raise Unsupported(f"no model file that is read: MLmodel names {named}{why}: give the model file itself")


BOM = b"\xef\xbb\xbf"


def content_start(data: bytes) -> bytes:
    """Return bytes behind the mark of UTF-8 and spaces."""
    return data.lstrip(BOM + b" \t\r\n")


def read_bytes(path: str, once: bool = False) -> tuple[bytes, str]:
    """Return a file's bytes and their SHA-256; see `recon.io.files.opening.read_whole` for refusals, `read_once`."""
    data = read_once(path) if once else read_whole(path)
    return data, hashlib.sha256(data).hexdigest()


SHOWN, ALL = "shown", "all"
_RANGE = re.compile(r"(\d{1,15})(?:(\.\.)(\d{1,15})?)?")


@dataclass(frozen=True, slots=True)
class HiddenRange:
    """Between which counts a hidden cell lies: of one mark, or ("") of all; `high` None: no end."""

    mark: str
    low: int
    high: int | None


@dataclass(frozen=True)
class TableOptions:
    """What a person says about a table of counts.

    `count_columns`: the columns of counts. `hidden`: what marks hide. `totals`: "shown" (they add up what is shown),
    "all", or "" (not said). `total_labels`: labels that stand for all values; "none": no others do. `rounding`: to
    multiples of this number (1: not at all; None: not said), `nearest` to the nearest. `sheet`: the sheet's name.
    `hierarchies`: "district=districts.hrc", "district=region" (see `recon.readers.formats.tables.hierarchies`).
    `metadata`: the .rda file of a table file of τ-ARGUS; `missing_codes`: what it says of codes that lie in no other,
    each behind its column.

    >>> import recon
    >>> said = recon.TableOptions.said(suppressed=["1..4"], rounding=5)
    >>> said.hidden[0].high, said.rounding
    (4, 5)
    """

    count_columns: tuple[str, ...] = ()
    hidden: tuple[HiddenRange, ...] = ()
    totals: str = ""
    total_labels: tuple[str, ...] = ()
    rounding: int | None = None
    nearest: bool = False
    sheet: str | None = None
    hierarchies: tuple[str, ...] = ()
    metadata: str | None = None
    missing_codes: tuple[tuple[str, str], ...] = ()

    @classmethod
    def said(
        cls,
        count_column: Sequence[str] = (),
        suppressed: Sequence[str] = (),
        totals: str | None = None,
        total_label: Sequence[str] = (),
        rounding: str | int | None = None,
        sheet: str | None = None,
        hierarchy: Sequence[str] = (),
        metadata: str | None = None,
    ) -> TableOptions:
        """Return the options as a person writes them: "1..4", "x=0..", "5", "5:nearest". `ReleaseError` for others."""
        for one in hierarchy:
            if not all(one.partition("=")[::2]):
                raise ReleaseError(f"--hierarchy is COLUMN=FILE, or COLUMN=COLUMN of the table, not {one!r}")
        if totals not in {None, SHOWN, ALL}:
            raise ReleaseError(f"--totals is shown or all, not {totals!r}")
        base, _, how = str(1 if rounding is None else rounding).partition(":")
        if not re.fullmatch(r"[1-9]\d{0,5}", base) or how not in {"", "nearest", "random"}:
            raise ReleaseError(f"--rounding is a whole number such as 5 (or 5:nearest), not {rounding!r}")
        return cls(
            tuple(count_column),
            tuple(map(_hidden_range, suppressed)),
            totals or "",
            tuple(total_label),
            None if rounding is None else int(base),
            how == "nearest",
            sheet,
            tuple(hierarchy),
            metadata,
        )

    def of_some(self) -> dict[str, str]:
        """Return what is said of some tables, not of all: a key for anyone who uses it, and how it was said."""
        marks = {f"mark {one.mark.lower()}": f"--suppressed '{one.mark}=...'" for one in self.hidden if one.mark}
        labels = {f"label {one}": f"--total-label '{one}'" for one in self.total_labels if one != "none"}
        trees = {f"column {one.partition('=')[0]}": f"--hierarchy {one}" for one in self.hierarchies}
        sheet = {} if self.sheet is None else {"sheet": f"--sheet '{self.sheet}'"}
        return marks | labels | trees | sheet | ({} if self.metadata is None else {"metadata": "--metadata"})

    def without_effect(self, heeded: frozenset[str], columns: Sequence[str]) -> str:
        """Return why something that is said of some tables is about none of them, "" where all of it was heeded.

        `heeded`: the keys of `of_some` that a table heeded, `columns`: what the tables' columns are called.
        """
        reasons = {
            "column": f"no table has a column '{{}}': there are {', '.join(map(repr, columns))}",
            "mark": "no cell of a count is '{}'",
            "label": "no attribute has the value '{}'",
            "sheet": "none of the files is a spreadsheet",
            "metadata": "no table file (.tab) of τ-ARGUS was read",
        }
        left = ((*key.partition(" ")[::2], how) for key, how in self.of_some().items() if key not in heeded)
        kind, name, how = next(left, ("", "", ""))
        return f"{how} has no effect: {reasons[kind].replace('{}', name)}" if how else ""

    def range_of(self, mark: str) -> HiddenRange | None:
        """Return what is said of a mark: of itself, else of all."""
        own = [one for one in self.hidden if one.mark and one.mark.lower() == mark.lower()]
        return next(iter([*own, *(one for one in self.hidden if not one.mark)]), None)


def _hidden_range(text: str) -> HiddenRange:
    mark, _, said = text.rpartition("=")
    found = _RANGE.fullmatch(said.strip())
    if found is None or (found[3] is not None and int(found[3]) < int(found[1])):
        raise ReleaseError(f"--suppressed is a range of counts such as 1..4, or of one mark 'x=1..4', not {text!r}")
    low = int(found[1])
    high = low if not found[2] else None if found[3] is None else int(found[3])
    return HiddenRange(mark.strip(), low, high)


_TABLE_OPTIONS: ContextVar[TableOptions] = ContextVar("table_options", default=TableOptions())  # noqa: B039 (frozen)


def table_options() -> TableOptions:
    """Return what is said of the tables that are read now."""
    return _TABLE_OPTIONS.get()


@contextlib.contextmanager
def table_read_as(options: TableOptions | None) -> Iterator[None]:
    """Read the tables of the block as the options say (None: as before)."""
    if options is None:
        yield
        return
    token = _TABLE_OPTIONS.set(options)
    try:
        yield
    finally:
        _TABLE_OPTIONS.reset(token)
