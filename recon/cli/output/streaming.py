"""Worlds written as they are drawn: nothing is held but a few of them, and what was written stays.

A table has a column `world`; JSON is an array of objects with `world` and `rows`. Parquet gets row groups of many
worlds each.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any, Protocol

import numpy as np

from recon.io.console.output import failure_of, records, unique_column_name
from recon.io.files.tables import write_csv
from recon.io.files.writing import writing
from solvers.foundation.displayed import json_shown
from solvers.foundation.errors import Inconclusive, ReleaseError, installing

if TYPE_CHECKING:
    import pandas as pd

    from recon.readers.frames.world import World

BATCH = 4_096  # rows, or worlds, that are written at a time
GROUP = 100_000  # rows of a row group of Parquet


class Sink(Protocol):
    """Takes worlds in order, several in one frame."""

    def add(self, first: int, rows: Sequence[int], frame: pd.DataFrame) -> None:
        """Write the worlds numbered from `first`, of so many rows each."""

    def close(self) -> None:
        """Write what belongs behind the last world."""


def write_worlds(found: Iterator[World], views: bool, out: str | None, as_json: bool) -> tuple[list[str], str]:
    """Write worlds as they come, to stdout or to a file that its owner alone can read.

    Returns what the worlds have noted (each note once), and why they ended early ("" where they did not): a limit or
    Ctrl-C ends the file behind the last world found. Memory: the rows of a few small worlds, or of one large one (of
    Parquet a row group).
    """
    notes: dict[str, None] = {}
    written, rows, early = 0, 0, ""
    with _sink_of(out, as_json) as sink:
        batch: list[World] = []
        try:
            for world in found:
                batch.append(world)
                notes.setdefault(world.note)
                rows += world.rows
                if out is None and failure_of(sys.stdout) is not None:
                    break  # nobody takes them any more
                if rows >= BATCH or len(batch) >= BATCH:
                    written, rows = _flushed(sink, written, batch, views), 0
        except Inconclusive as error:
            if not written and not batch:
                raise
            early = f"{error}; what was found until then is written"
        _flushed(sink, written, batch, views)
        sink.close()
    return [note for note in notes if note], early


def _flushed(sink: Sink, written: int, batch: list[World], views: bool) -> int:
    """Write the worlds of a batch, empty it, and return how many are written in all."""
    if batch:
        if isinstance(sink, JsonWorlds):
            sink.weights = [world.weight for world in batch] if not sink.flat else []
        sink.add(written, [world.rows for world in batch], _concatenated_worlds(batch).to_frame(views))
    written += len(batch)
    batch.clear()
    return written


def _concatenated_worlds(batch: Sequence[World]) -> World:
    """Return the rows of several worlds, one world behind the other."""
    if len(batch) == 1:
        return batch[0]
    values = np.concatenate([world.inner.values for world in batch])
    rows = replace(batch[0].inner, values=values, times=np.concatenate([world.inner.times for world in batch]))
    return replace(batch[0], inner=rows)


@contextlib.contextmanager
def _sink_of(out: str | None, as_json: bool) -> Iterator[Sink]:
    """Yield what writes worlds in the format that the option or the name of the file asks for."""
    if out is None:
        yield JsonWorlds(sys.stdout) if as_json else CsvWorlds(sys.stdout)
    elif out.lower().endswith(".parquet") and not as_json:
        with writing(out, private=True, binary=True) as file:
            yield ParquetWorlds(file, out)
    else:
        with writing(out, private=True) as file:
            yield JsonWorlds(file, not as_json) if as_json or out.lower().endswith(".json") else CsvWorlds(file)


class CsvWorlds:
    """CSV: one header, then the rows of every world."""

    def __init__(self, file: IO[str]) -> None:
        self.file, self.name = file, ""

    def add(self, first: int, rows: Sequence[int], frame: pd.DataFrame) -> None:
        """Write some worlds."""
        header = not self.name
        self.name = self.name or unique_column_name("world", frame.columns)
        write_csv(_numbered(frame, self.name, first, rows), self.file, header)

    def close(self) -> None:
        """Write the header where there was no world."""
        if not self.name:
            self.file.write("world\n")


def _numbered(frame: pd.DataFrame, name: str, first: int, rows: Sequence[int]) -> pd.DataFrame:
    """Return a frame of several worlds with the number of each row's world in front."""
    frame.insert(0, name, np.repeat(np.arange(first, first + len(rows)), rows))
    return frame


class JsonWorlds:
    """JSON: an array with one object per world, or (`flat`) one per row.

    `weights`: of the worlds written next, for how many worlds of its convention each stands (None: not known).
    """

    def __init__(self, file: IO[str], flat: bool = False) -> None:
        self.file, self.flat, self.begun, self.weights = file, flat, False, list[int | None]()

    def add(self, first: int, rows: Sequence[int], frame: pd.DataFrame) -> None:
        """Write some worlds."""
        if self.flat:
            self.put(records(_numbered(frame, unique_column_name("world", frame.columns), first, rows)))
            return
        ends = np.cumsum(rows).tolist()
        pairs = enumerate(zip([0, *ends], ends, strict=False), start=first)
        found = [{"world": i, "rows": records(frame.iloc[start:end])} for i, (start, end) in pairs]
        for one, weight in zip(found, self.weights, strict=False):
            if weight is not None:
                one["weight"] = weight if weight <= 1 << 53 else str(weight)
        self.put(found)

    def put(self, found: list[dict[str, Any]]) -> None:
        """Write some objects."""
        if found:
            text = json_shown(json.dumps(found, ensure_ascii=False, allow_nan=False, indent=1))
            self.file.write((",\n" if self.begun else "[\n") + text[2:-2])
            self.begun = True

    def close(self) -> None:
        """Close the array."""
        self.file.write("\n]\n" if self.begun else "[]\n")


class ParquetWorlds:
    """Parquet: row groups of whole worlds; the first world says what type a column has."""

    def __init__(self, file: IO[bytes], out: str) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise ReleaseError(f"Parquet needs an extra: {installing('parquet')}", file=out) from None
        self.arrow: Any = pyarrow
        self.file, self.out, self.name = file, out, ""
        self.writer: Any = None
        self.kept: list[pd.DataFrame] = []

    def add(self, first: int, rows: Sequence[int], frame: pd.DataFrame) -> None:
        """Keep some worlds, and write the row group when it is full."""
        self.name = self.name or unique_column_name("world", frame.columns)
        self.kept.append(_numbered(frame, self.name, first, rows))
        if sum(map(len, self.kept)) >= GROUP:
            self.flush()

    def flush(self) -> None:
        """Write the worlds kept as one row group."""
        import pandas as pd

        frame = pd.concat(self.kept, ignore_index=True) if self.kept else pd.DataFrame({"world": []}, dtype="int64")
        self.kept.clear()
        try:
            schema = None if self.writer is None else self.writer.schema
            table = self.arrow.Table.from_pandas(frame, schema=schema, preserve_index=False)
        except (self.arrow.ArrowInvalid, self.arrow.ArrowTypeError) as error:
            text = "a column has values of several types, which Parquet does not hold: write .csv or .json"
            raise ReleaseError(f"{text} ({' '.join(str(error).split())})", file=self.out) from None
        if self.writer is None:
            self.writer = self.arrow.parquet.ParquetWriter(self.file, table.schema)
        self.writer.write_table(table)

    def close(self) -> None:
        """Write what is kept, and the end of the file."""
        if self.kept or self.writer is None:
            self.flush()
        self.writer.close()
