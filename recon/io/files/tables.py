"""Tables as files, read within the running budget: text line by line, Parquet wholly in a process of its own.

CSV that spreadsheets can open: a text that they would take for a formula is quoted, and our readers undo it.

A cell that begins with =, +, -, @, a tab or a line end can run a command when the file is opened (CWE-1236, "CSV
injection"; OWASP). Texts, and names of columns, that begin so get an apostrophe in front, as spreadsheets themselves
mark text; a text that begins with apostrophes and one of those gets one more, so that nothing is lost. Numbers stay.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, Literal

from recon.io.files.opening import budget_within, current, open_regular, read_whole, waited
from recon.io.files.sheets import WORKBOOKS, workbook_sheet
from solvers.foundation.errors import EngineError, Inconclusive, ReleaseError, TooLarge, installing
from solvers.foundation.limits import Limits

if TYPE_CHECKING:
    import pandas as pd

RAW: ContextVar[bool] = ContextVar("raw", default=False)  # --raw: cells as they are, written and read
_DECIMAL = re.compile(r"-?\d{1,15},\d{1,15}")
FORMULA = re.compile("'*[=+\\-@\t\r\n\uff0b\uff0d\uff1d\uff20]")


def _guarded(cell: Any) -> Any:
    """Return a cell for CSV: a text that would be a formula with an apostrophe in front, else what it is."""
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell


def _unguarded(cell: Any) -> Any:
    """Return what `guarded` was given for this cell."""
    return cell[1:] if isinstance(cell, str) and cell[:1] == "'" and FORMULA.match(cell) else cell


def _of_each(frame: pd.DataFrame, change: Any) -> pd.DataFrame:
    """Return a frame with names and texts changed; numbers and the frame's own attributes stay."""
    out = frame.copy(deep=False)
    for i in range(len(frame.columns)):
        column = frame.iloc[:, i]
        if any(change(cell) is not cell for cell in _texts_in(column)):
            out.isetitem(i, column.map(change).astype(object).to_numpy())
    out.columns = [change(name) for name in frame.columns]
    return out


def _texts_in(column: pd.Series[Any]) -> list[Any]:
    """Return what stands in a column that is not one of numbers, each value once: there are few, and many rows."""
    if column.dtype.kind in "iufb":
        return []
    try:
        return list(column.unique())
    except TypeError:  # cells that cannot be distinguished by hashing
        return column.tolist()


def write_csv(frame: pd.DataFrame, file: IO[Any], header: bool = True) -> None:
    """Write a frame as CSV without its index, guarded unless --raw was given; lines end alike on every system."""
    kept = frame if RAW.get() else _of_each(frame, _guarded)
    texts = (_texts_in(kept.iloc[:, i]) for i in range(len(kept.columns)))
    # The writer quotes the line ends that it writes itself; a lone \r would end a line for readers.
    every = any("\r" in name for name in map(str, kept.columns))
    every = every or any(isinstance(cell, str) and "\r" in cell for column in texts for cell in column)
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if every else csv.QUOTE_MINIMAL
    kept.to_csv(file, index=False, header=header, lineterminator="\n", quoting=quoting)


LINE = 72  # bytes of a list
CELL = 74  # bytes of a cell's text beside its letters, its place in the line and in the column
CHARACTER_BYTES = 24  # of a text of one letter, which Python has once
BATCH = 10_000  # rows
HEAD = 4096  # bytes that tell a text from bytes
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
OBJECT = 60  # bytes of a text as pandas holds it, beside its letters
CHILD = "recon.io.files.tables:unpack_frame"


class Metered(io.RawIOBase):
    """A stream whose bytes are taken from the running budget as they come: a stream may unpack to anything.

    `held` False: what is read is not kept, only time is counted.
    """

    def __init__(self, inner: Any, held: bool = True) -> None:
        self.inner, self.budget, self.held = inner, current(), held

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, into: Any, /) -> int:
        """Read some bytes; `ReleaseError` where they are more than the budget has."""
        if self.inner is sys.stdin.buffer:
            waited(self.inner)
        part = (self.inner.read1 if hasattr(self.inner, "read1") else self.inner.read)(len(into))
        if self.held:
            self.budget.bytes(len(part), "the table")
        self.budget.check()
        into[: len(part)] = part
        return len(part)


@contextlib.contextmanager
def table_text(path: str, held: bool = True) -> Iterator[IO[str]]:
    """Yield the text of a table ("-": standard input; .gz: unpacked); only regular files are opened.

    `held` False: it is not kept, so that no memory is counted.
    """
    with contextlib.ExitStack() as stack:
        if path == "-":
            raw: Any = sys.stdin.buffer
        else:
            raw, size = stack.enter_context(open_regular(path))
            if not size:  # empty, or what the kernel shows as a file
                raw = io.BytesIO()
            elif path.lower().endswith(".gz"):
                raw = stack.enter_context(gzip.GzipFile(fileobj=raw))
        held_bytes = io.BufferedReader(Metered(raw, held))
        yield io.TextIOWrapper(held_bytes, encoding=encoding_of(held_bytes.peek(2)), newline="")


def encoding_of(data: bytes) -> str:
    """Return how a text is written by how it begins: UTF-16 with its mark (R and spreadsheets on Windows), or UTF-8."""
    return "utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"


def metered(lines: Iterable[list[str]]) -> Iterator[list[str]]:
    """Yield the lines of a table after their cells were taken from the running budget (their letters are already)."""
    budget = current()
    for line in lines:
        short = sum(len(cell) < 2 for cell in line)
        budget.entries(1, "the table", LINE + CELL * (len(line) - short) + CHARACTER_BYTES * short)
        yield line


def read_parquet(path: str) -> pd.DataFrame:
    """Return a Parquet file as a frame. Raises `ImportError` without pyarrow, `ReleaseError` where it is too large.

    Pages may unpack to anything, and the numbers in the file need not be true: so only a process that may take so much
    memory and no more (`solvers.foundation.native`) opens it. It reads batch by batch, writes what it read
    as plain columns (Arrow's stream format), and says what the whole table takes; this process reads these columns
    alone.
    """
    (frame,) = _parquet_frames(path, whole=True)
    return frame


def parquet_frames(path: str) -> Iterator[pd.DataFrame]:
    """Yield a Parquet file in frames of at most `BATCH` rows; raises as `read_parquet`, but for its size as a whole."""
    yield from _parquet_frames(path, whole=False)


def _parquet_frames(path: str, whole: bool) -> Iterator[pd.DataFrame]:
    import pyarrow.ipc  # missing, it is named before a process is started

    from solvers.foundation.native import run

    budget = current()
    with open_regular(path) as (_, size):
        budget.bytes(size if whole else 0)
    left = budget.seconds_left()
    limits = Limits(None if left == float("inf") else max(0.0, left), budget.left)
    with tempfile.TemporaryDirectory() as folder:
        plain = os.path.join(folder, "columns")
        most = budget.left if whole else shutil.disk_usage(folder).free // 2
        try:
            kind, found = run(CHILD, {"path": path, "most": most, "to": plain}, limits)
        except TooLarge:
            kind, found = "large", 0
        except EngineError as error:
            raise ReleaseError(f"is not a table: reading it ended its process ({str(error)[:100]})") from None
        if kind == "broken":
            raise ReleaseError(f"is not a table: {found}")
        if whole or kind == "large":
            budget.bytes(budget.left + 1 if kind == "large" else found, "the table")
        with open_regular(plain) as (file, _):
            try:
                stream = pyarrow.ipc.open_stream(file)
                parts = [stream.read_all()] if whole else stream
                for part in parts:
                    yield part.to_pandas()
            except (
                pyarrow.ArrowException,
                LookupError,
                TypeError,
                AttributeError,
            ) as error:  # what says how pandas held it may be anything
                raise ReleaseError(f"is not a table: {_first_line(error)}") from None


def unpack_frame(asked: dict[str, Any]) -> tuple[str, Any]:
    """Return ("bytes", what a Parquet file takes as a frame), ("large", 0) beyond `most`, or ("broken", why).

    Its columns are written to the file `to`, plainly. Called in a process of its own.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_memory_pool(pa.system_memory_pool())  # the others reserve more than the process may have
    total = 0
    try:
        file = pq.ParquetFile(asked["path"], thrift_string_size_limit=100 << 20, thrift_container_size_limit=1 << 20)
        with pa.OSFile(asked["to"], "wb") as sink, pa.ipc.new_stream(sink, file.schema_arrow) as columns:
            for batch in file.iter_batches(batch_size=BATCH, use_threads=False):
                total += 2 * batch.nbytes
                texts = sum(not pa.types.is_primitive(field.type) for field in batch.schema)
                total += OBJECT * texts * len(batch)
                batch.validate(full=True)  # texts that are none would fail whoever looks at them
                if total > asked["most"]:
                    return "large", 0
                columns.write_batch(batch)
    except (MemoryError, pa.ArrowMemoryError):
        return "large", 0
    except (pa.ArrowException, OSError, ValueError) as error:
        return "broken", _first_line(error)
    return "bytes", total


def _first_line(error: Exception) -> str:
    """Return the beginning of what an error says."""
    return str(error).partition("\n")[0][:200]


def undecodable(error: UnicodeDecodeError, place: str = "") -> str:
    """Return that a text is not in UTF-8, where, and what to do; "" where the bytes read are no text at all."""
    if _CONTROLS.search(error.object[:HEAD]):
        return ""
    # the letters of a code page of Windows, not bytes
    return f"is text, but not in UTF-8{place}: save it as UTF-8 (of spreadsheets: CSV UTF-8)"


@contextlib.contextmanager
def reading(path: str, limits: Limits | None = None) -> Iterator[None]:
    """Take what a table that cannot be read raises to `ReleaseError`, and time that is up to `Inconclusive`."""
    try:
        with budget_within(limits=limits):
            yield
    except Inconclusive as error:
        raise Inconclusive(f"{path}: {error}") from None
    except ImportError:
        raise ReleaseError(f"Parquet needs an extra: {installing('parquet')}", file=path) from None
    except OSError as error:
        raise ReleaseError(f"cannot be read: {error.strerror or error}", file=path) from None
    except ReleaseError as error:
        raise error.at(file=path) from None
    except EOFError as error:
        raise ReleaseError(f"is cut off: {error}", file=path) from None
    except UnicodeDecodeError as error:
        why = undecodable(error) or "is not a table: its bytes are no text (give a CSV, Parquet or spreadsheet file)"
        raise ReleaseError(why, file=path) from None
    except zlib.error:
        raise ReleaseError("cannot be unpacked: its gzip data are damaged (make it anew)", file=path) from None
    except (ValueError, csv.Error) as error:
        raise ReleaseError(f"is not a table: {str(error).splitlines()[0]}", file=path) from None


def csv_lines(text: IO[str]) -> Iterator[list[str]]:
    """Yield the names of the columns and then every line of a CSV text, strictly: it has one field per column.

    Fields are parted by what the header has most of: commas, semicolons (numbers then may have decimal commas) or tabs.
    Empty fields beyond the columns are dropped, blank lines at the end too; a blank line of a table with one column
    is an empty cell. Raises `ReleaseError` naming the line otherwise.
    """
    first = text.readline()
    mark = max(",;\t", key=first.count)
    yield from _strict_lines(csv.reader(chain([first], text), strict=True, delimiter=mark), mark != ",")


def _strict_lines(lines: Iterator[list[str]], commas: bool, unit: str = "line") -> Iterator[list[str]]:
    """Yield the names of the columns and every line; see `csv_lines`. `commas`: a number may have a decimal comma."""
    names = next(lines, [])
    if not names:
        raise ReleaseError("the file is empty")
    if len(set(names)) < len(names):
        double = next(n for k, n in enumerate(names) if n in names[:k])
        raise ReleaseError(f"the column '{double}' stands twice")
    yield names
    blank = 0  # lines, so far
    for i, line in enumerate(lines, start=2):
        while len(line) > len(names) and line[-1] == "":
            line.pop()
        if not line:
            blank += 1
            continue
        if blank and len(names) > 1:
            raise ReleaseError(f"0 fields, but the header has {len(names)}", place=f"{unit} {i - blank}")
        yield from ([""] for _ in range(blank))
        blank = 0
        if len(line) != len(names):
            raise ReleaseError(f"{len(line)} fields, but the header has {len(names)}", place=f"{unit} {i}")
        yield [cell.replace(",", ".") if _DECIMAL.fullmatch(cell) else cell for cell in line] if commas else line


def _sheet_lines(path: str) -> Iterator[list[str]]:
    """Return the rows of a spreadsheet, all as wide as the first: the names of the columns and what is below them."""
    sheet = workbook_sheet(read_whole(path))
    width = max((len(row.cells) for row in sheet.rows), default=0)
    return iter([[*row.cells, *[""] * (width - len(row.cells))] for row in sheet.rows])


def text_columns(path: str) -> dict[str, list[str]]:
    """Return the columns of a CSV file or spreadsheet as texts; what `write_csv` quoted is as it was.

    Raises as `csv_lines`.
    """
    if path.lower().endswith(WORKBOOKS):
        names, *lines = metered(_strict_lines(_sheet_lines(path), False, "row"))
    else:
        with table_text(path) as text:
            names, *lines = metered(csv_lines(text))
    columns = zip(*lines, strict=True) if lines else [()] * len(names)
    out: dict[str, list[str]] = {}
    for name, cells in zip(names, columns, strict=True):
        quoted = not RAW.get() and any(cell[:1] == "'" for cell in cells)
        out[name if RAW.get() else _unguarded(name)] = [_unguarded(c) for c in cells] if quoted else list(cells)
    return out


__all__ = [
    "csv_lines",
    "metered",
    "parquet_frames",
    "read_parquet",
    "reading",
    "table_text",
    "text_columns",
    "unpack_frame",
]


NUMBERED = {"", "Unnamed: 0", "index", "rownames", "row.names"}  # how row numbers are called where they are
ROW_NUMBERS = "its first column counts the rows (written by pandas or R): it is left out, no attribute of anybody"


def counts_rows(name: str, cells: list[str]) -> bool:
    """Return whether a first column only counts the rows, from 0 or 1."""
    return name in NUMBERED and any(cells == list(map(str, range(k, k + len(cells)))) for k in (0, 1))


def without_row_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame without a first column that only counts the rows, from 0 or 1; `attrs` then have a note."""
    if len(frame.columns) < 2 or len(frame) < 2 or str(frame.columns[0]) not in NUMBERED:
        return frame
    if not counts_rows(str(frame.columns[0]), list(map(str, frame.iloc[:, 0].tolist()))):
        return frame
    out = frame.iloc[:, 1:].copy()
    out.attrs = {**frame.attrs, "note": ROW_NUMBERS}
    return out
