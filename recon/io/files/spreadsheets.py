"""CSV that spreadsheets can open: a text that they would take for a formula is quoted, and our readers undo it.

A cell that begins with =, +, -, @, a tab or a line end can run a command when the file is opened (CWE-1236, "CSV
injection"; OWASP). Texts, and names of columns, that begin so get an apostrophe in front, as spreadsheets themselves
mark text; a text that begins with apostrophes and one of those gets one more, so that nothing is lost. Numbers stay.
"""

from __future__ import annotations

import csv
import re
from contextvars import ContextVar
from typing import IO, TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

RAW: ContextVar[bool] = ContextVar("raw", default=False)  # --raw: cells as they are, written and read
FORMULA = re.compile("'*[=+\\-@\t\r\n\uff0b\uff0d\uff1d\uff20]")


def guarded(cell: Any) -> Any:
    """Return a cell for CSV: a text that would be a formula with an apostrophe in front, else what it is."""
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell


def unguarded(cell: Any) -> Any:
    """Return what `guarded` was given for this cell."""
    return cell[1:] if isinstance(cell, str) and cell[:1] == "'" and FORMULA.match(cell) else cell


def of_each(frame: pd.DataFrame, change: Any) -> pd.DataFrame:
    """Return a frame with names and texts changed; numbers and the frame's own attributes stay."""
    out = frame.copy(deep=False)
    for i in range(len(frame.columns)):
        column = frame.iloc[:, i]
        if any(change(cell) is not cell for cell in texts_in(column)):
            out.isetitem(i, column.map(change).astype(object).to_numpy())
    out.columns = [change(name) for name in frame.columns]
    return out


def texts_in(column: pd.Series[Any]) -> list[Any]:
    """Return what stands in a column that is not one of numbers, each value once: there are few, and many rows."""
    if column.dtype.kind in "iufb":
        return []
    try:
        return list(column.unique())
    except TypeError:  # cells that cannot be told apart by hashing
        return column.tolist()


def write_csv(frame: pd.DataFrame, file: IO[Any], header: bool = True) -> None:
    """Write a frame as CSV without its index, guarded unless --raw was given; lines end alike on every system."""
    kept = frame if RAW.get() else of_each(frame, guarded)
    texts = (texts_in(kept.iloc[:, i]) for i in range(len(kept.columns)))
    # The writer quotes the line ends that it writes itself; a lone \r would end a line for readers.
    every = any("\r" in name for name in map(str, kept.columns))
    every = every or any(isinstance(cell, str) and "\r" in cell for column in texts for cell in column)
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if every else csv.QUOTE_MINIMAL
    kept.to_csv(file, index=False, header=header, lineterminator="\n", quoting=quoting)


def read_back(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a CSV file's frame as it was before `write_csv`; as it is where --raw was given."""
    return frame if RAW.get() else of_each(frame, unguarded)
