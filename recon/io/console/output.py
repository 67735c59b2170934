"""What all commands share: limits with progress and Ctrl-C, tables written by extension.

Exit codes: one table of what happened and the code that says so (docs/commands.md, "Exit codes").

Standard input, output and error: none of them can change how a command ends.

What a reader no longer takes (| head) is let go of, and the command goes on to the end that it would have had.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import itertools
import json
import math
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO

from recon.io.console.interrupts import Stopped, stopped
from recon.io.files.tables import write_csv
from recon.io.files.writing import writing
from solvers.foundation.displayed import json_shown, shown_lines
from solvers.foundation.errors import (
    ContradictionError,
    Inconclusive,
    PolicyError,
    ReconError,
    ReleaseError,
    installing,
    not_installed,
)

if TYPE_CHECKING:
    import pandas as pd

    from solvers.foundation.limits import Limits

ESCAPED = "recon.escaped"  # what an encoding lacks, as escapes that JSON knows too


class Channel(io.RawIOBase):
    """An open handle to write to: after a first failure nothing more is written, and nothing raised.

    `failure` is what went wrong, None as long as nothing did.
    """

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.failure: OSError | None = None

    def writable(self) -> bool:
        """Return that it can be written to."""
        return True

    def fileno(self) -> int:
        """Return the handle."""
        return self.handle

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        return os.isatty(self.handle)

    def write(self, data: Any, /) -> int:
        """Write some bytes and return how many; all of them where nobody takes them any more."""
        while self.failure is None:
            try:
                return os.write(self.handle, data)
            except BlockingIOError:  # whoever gave us this handle made it one that does not wait
                select.select([], [self.handle], [])
            except OSError as error:
                self.failure = error
        return len(data)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    r"""Return the characters that an encoding lacks as escapes such as \u20ac, two of them above U+FFFF."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{text[i : i + 2].hex()}" for i in range(0, len(text), 2)), error.end


def take_channels() -> None:
    """Open what the caller closed, and put channels in the place of standard output and error.

    Standard output is left to what recon prints: native solvers write debugging lines into it, whatever one asks.
    """
    codecs.register_error(ESCAPED, _escaped)
    for handle in (0, 1, 2):
        try:
            os.fstat(handle)
        except OSError:  # closed: the next file would get its number, and what natives print
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(os.fdopen(0, "rb", closefd=False), "utf-8")
    if _is_ours(sys.stdout, 1):
        kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        sys.stdout = _over(kept, sys.stdout, os.isatty(kept))
    if _is_ours(sys.stderr, 2):
        sys.stderr = _over(2, sys.stderr, True)


def _is_ours(stream: Any, handle: int) -> bool:
    """Return whether a stream is the one of the process, or is missing; what stands before it is written."""
    if stream is None:
        return True
    try:
        if stream.fileno() != handle:
            return False
        stream.flush()
    except (AttributeError, OSError, ValueError):  # it is not a file
        return False
    return True


def _over(handle: int, before: Any, by_lines: bool) -> io.TextIOWrapper:
    """Return a text stream over a channel, encoded as the stream before it."""
    encoding, errors = ("utf-8", "strict") if before is None else (before.encoding, before.errors)
    rule = ESCAPED if errors in {"strict", "backslashreplace"} else errors
    return io.TextIOWrapper(io.BufferedWriter(Channel(handle)), encoding, rule, line_buffering=by_lines)


def failure_of(stream: Any) -> OSError | None:
    """Return why nothing is written to a stream any more, None where it is written."""
    channel = getattr(getattr(stream, "buffer", None), "raw", None)
    return channel.failure if isinstance(channel, Channel) else None


def lost_output() -> OSError | None:
    """Return why what was printed is not where it should be; None where it is, or where its reader left by choice."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()
    found = failure_of(sys.stdout)
    return None if found is None or found.errno == errno.EPIPE else found


DONE, VIOLATED, USAGE, UNREADABLE, INCONCLUSIVE, CONTRADICTION, INTERNAL = 0, 1, 2, 3, 4, 5, 70
INTERRUPTED = 130  # what typer returns for a Ctrl-C of its own
OF_STATUS = {
    "exact": DONE,
    "stored": DONE,  # rows stand in the files: the question is answered
    "unbounded": DONE,  # what is stated was asked for, and is printed
    "bounds": INCONCLUSIVE,
    "unknown": INCONCLUSIVE,
    "empty": INCONCLUSIVE,  # no dataset fits at this confidence
    "unsat": CONTRADICTION,
}
OF_OUTCOME = {"met": DONE, "violated": VIOLATED, "inconclusive": INCONCLUSIVE}  # of a policy
OF_ERROR = (  # the first that an error is one of
    (ContradictionError, CONTRADICTION),
    (PolicyError, USAGE),
    ((Inconclusive, KeyboardInterrupt, MemoryError), INCONCLUSIVE),
    ((ReconError, OSError), UNREADABLE),
)
GRAVITY = (DONE, INCONCLUSIVE, CONTRADICTION, UNREADABLE, VIOLATED, USAGE, INTERNAL)  # of several, the last counts


def of_status(status: str) -> int:
    """Return the exit code of an answer by its status; of one that nobody knows: inconclusive."""
    return OF_STATUS.get(status, INCONCLUSIVE)


def of_verdict(status: str, outcome: str | None) -> int:
    """Return the exit code of an audit: of its policy's outcome where there is one and some training set fits."""
    if outcome is None or status == "unsat":
        return of_status(status)
    return OF_OUTCOME.get(outcome, INCONCLUSIVE)


def of_error(error: BaseException) -> int:
    """Return the exit code of a refusal; a package that is not installed makes a file unreadable."""
    if not_installed(error) is not None:
        return UNREADABLE
    return next((code for kinds, code in OF_ERROR if isinstance(error, kinds)), INTERNAL)


def gravest(codes: Iterable[int]) -> int:
    """Return the code of several answers together; one that nobody knows is the gravest."""
    return max(codes, key=lambda code: GRAVITY.index(code) if code in GRAVITY else len(GRAVITY), default=DONE)


UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def print_error(error: BaseException) -> None:
    """Print one clear sentence on stderr, and the conflicting statements of a contradiction."""
    if isinstance(error, KeyboardInterrupt):
        print_lines("recon: stopped before there was an answer", file=sys.stderr)
        return
    if isinstance(error, MemoryError):
        print_lines("recon: out of memory before there was an answer", file=sys.stderr)
        return
    missing = not_installed(error)
    known = missing is not None or isinstance(error, (ReconError, OSError))
    text = missing or " ".join(str(error).split())
    print_lines(
        f"recon: {text}" if known else f"recon: internal error: {type(error).__name__}: {text}", file=sys.stderr
    )
    print_lines(*(f"  {source}" for source in getattr(error, "conflict", ())), file=sys.stderr)


def print_lines(*lines: object, file: TextIO | None = None) -> None:
    """Print lines for people (file None: to standard output), each by itself: what others wrote cannot add one.

    This is the one place where text is printed; names, values and paths in it are shown by
    `solvers.foundation.displayed`.
    """
    if lines:
        print(shown_lines(lines), file=file)


def aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table with columns below each other; a line may have fewer cells than the first."""
    widths = [max(len(line[k]) for line in table if k < len(line)) for k in range(len(table[0]))]
    return ["  ".join(cell.ljust(widths[k]) for k, cell in enumerate(line)).rstrip() for line in table]


def parse_memory(text: str) -> int:
    """Return bytes of a size such as 512M or 2G; `ValueError` otherwise."""
    cleaned = text.strip().upper().removesuffix("B")
    unit = cleaned[-1:] if cleaned[-1:] in UNITS else ""
    try:
        size = float(cleaned[: len(cleaned) - len(unit)]) * UNITS[unit]
    except ValueError:
        raise ValueError(f"{text!r} is not a size: a number, and {', '.join(filter(None, UNITS))} or nothing") from None
    if not 1 << 20 <= size < 1 << 50:
        raise ValueError(f"{text!r} is not between 1M and 1,000,000G")
    return int(size)


WHOLE: ContextVar[Limits | None] = ContextVar("whole", default=None)  # of a command that does others: one clock


@contextlib.contextmanager
def working(
    seconds: float | None, memory: str, max_cells: int, quiet: bool = False, log_json: bool = False
) -> Iterator[Limits]:
    """Yield limits that show progress on a terminal (or as JSON lines) and stop at the first Ctrl-C.

    After the first Ctrl-C the engines return their best bounds; a second one ends the program. See
    `recon.io.console.interrupts`. What the clock cut is said on standard error, also where the answer is printed
    without a word of it: a certificate that was not found in time is none.
    """
    from recon.io.files.opening import drawing
    from solvers.foundation.limits import Limits
    from solvers.foundation.native import outer_bounds

    shown: Callable[[str], None] | None = None
    with contextlib.ExitStack() as stack:
        if log_json:
            shown = partial(_json_lines, begun=time.monotonic(), seconds=seconds)
        elif not quiet and sys.stderr.isatty():
            from rich.console import Console

            phase = Phase(seconds)
            stack.enter_context(Console(stderr=True).status(phase))
            shown = phase.set
        limits = Limits(seconds=seconds, memory=parse_memory(memory), cells=max_cells, progress=shown)
        if seconds is not None and (whole := WHOLE.get()) is not None:  # its part of the work alone
            limits = replace(limits, seconds=whole.seconds, started=whole.started, end=whole.end)

        def told(kind: type[BaseException] | None, *_: object) -> None:
            whole = kind is not None and issubclass(kind, Inconclusive)  # whose sentence says that the time was up
            if any(limits.meter.cut) or not whole:
                print_lines(*limits.cut_short(), file=sys.stderr)

        stack.push(told)
        stack.enter_context(FirstInterrupt(limits.stop).heard())
        stack.enter_context(drawing(limits, rings=True))
        stack.enter_context(outer_bounds(limits))
        yield limits


class Phase:
    """What is being done and for how long, as a line that rich draws anew several times a second."""

    def __init__(self, seconds: float | None, text: str = "reading") -> None:
        self.seconds, self.text, self.begun = seconds, text, time.monotonic()

    def set(self, text: str) -> None:
        """Name the phase."""
        self.text = text

    def __rich__(self) -> str:
        """Return the phase and the seconds used, of those there are: "counting  10 of 15 s"."""
        from rich.markup import escape

        used, text = f"{time.monotonic() - self.begun:.0f}", escape(shown_lines([self.text]))
        return f"{text}  {used} s" if self.seconds is None else f"{text}  {used} of {self.seconds:g} s"


def _json_lines(text: str, begun: float, seconds: float | None) -> None:
    """Print a line of progress as JSON on stderr: the phase, the seconds used, and of how many (null: no limit)."""
    used = {"elapsed": round(time.monotonic() - begun, 3), "seconds": seconds}
    print(json.dumps({"event": "progress", "text": text, "time": time.time(), **used}), file=sys.stderr, flush=True)


def unique_column_name(name: str, taken: Iterable[object]) -> str:
    """Return the name, with underscores behind it until no column has it."""
    names = {str(t) for t in taken}
    while name in names:
        name += "_"
    return name


def print_json(value: Any, out: str | None = None, private: bool = False) -> None:
    """Print a value as JSON on stdout or to a file (see `write_text`); NaN and Infinity are refused."""
    write_text(json_text(value), out, private)


def json_text(value: Any) -> str:
    """Return a value as JSON text in which nothing hidden stands as it is; NaN and Infinity are refused."""
    return json_shown(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1)) + "\n"


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a frame as JSON objects: NaN becomes null, numpy numbers plain, long integers decimal strings."""

    def plain(value: Any) -> Any:
        value = value.item() if hasattr(value, "item") else value
        if type(value).__name__ == "NAType" or (isinstance(value, float) and math.isnan(value)):
            return None
        return str(value) if isinstance(value, int) and abs(value) > 1 << 53 else value

    return [{str(k): plain(v) for k, v in line.items()} for line in frame.to_dict("records")]


def write_table(frame: pd.DataFrame, out: str | None, private: bool = False) -> None:
    """Write a frame to stdout as CSV, or to a file: Parquet, JSON or CSV by its extension.

    Texts that a spreadsheet would run are quoted in CSV, unless --raw was given (`recon.io.files.tables`).
    `private`: it holds people's rows, only the owner may read the file.
    """
    if out is None:
        write_csv(frame, sys.stdout)
    elif out.lower().endswith(".parquet"):
        with writing(out, private=private, binary=True) as file:
            try:
                frame.to_parquet(file, index=False)
            except ImportError:
                raise ReleaseError(f"Parquet needs an extra: {installing('parquet')}", file=out) from None
    elif out.lower().endswith(".json"):
        print_json(records(frame), out, private)
    else:
        with writing(out, private=private) as file:
            write_csv(frame, file)


def write_tables(frames: Iterator[pd.DataFrame], out: str, private: bool = False) -> None:
    """Write frames with the same columns as one table to a file, as `write_table`; CSV and Parquet one by one."""
    import pandas as pd

    first, rest = next(frames), list(itertools.islice(frames, 1))
    kind = out.lower().rpartition(".")[2]
    if not rest or kind == "json":
        write_table(pd.concat([first, *rest, *frames]) if rest else first, out, private)
        return
    parts = itertools.chain([first], rest, frames)
    with writing(out, private=private, binary=kind == "parquet") as file:
        if kind == "parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            schema = pa.Schema.from_pandas(first, preserve_index=False)
            with pq.ParquetWriter(file, schema) as into:
                for part in parts:
                    into.write_table(pa.Table.from_pandas(part, schema, preserve_index=False))
            return
        for i, part in enumerate(parts):
            write_csv(part, file, header=not i)


def write_text(text: str, out: str | None, private: bool = False) -> None:
    """Write text to a file, whole or not at all, or to stdout. `private`: it holds people's rows."""
    if out is None:
        sys.stdout.write(text)
        return
    with writing(out, private=private) as file:
        file.write(text)


def date_given() -> int | None:
    """Return the date (seconds since 1970) that stands in for the clock in documents: `SOURCE_DATE_EPOCH`, None: none.

    Where it is set that clock stands still: the same command on the same file writes the same bytes.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return int(epoch) if epoch.isdecimal() else None


def seconds_said(seconds: float, digits: int = 3) -> float:
    """Return the seconds that something took, as documents say it: 0 where a date stands in for the clock."""
    return round(seconds, digits) if date_given() is None else 0.0


_IN_COMMAND: ContextVar[bool] = ContextVar("in command", default=False)


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
