"""What is proved of every top area, kept on disk while the next are solved, so that memory does not grow with areas."""

from __future__ import annotations

import io
import itertools
import json
import os
import pickle
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

import numpy as np

from recon.io.files.writing import appended
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import ReleaseError

MAX_LINES = 100_000  # that are held


class StoredSequence(Sequence[Any]):
    """A sequence in a temporary file of this process, in the order in which things were appended."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - it ends with the sequence
        weakref.finalize(self, self._file.close)
        self._at: list[int] = [0]

    def append(self, item: Any) -> None:
        """Write one more behind all others."""
        self._file.seek(self._at[-1])
        pickle.dump(item, self._file, protocol=5)
        self._at.append(self._file.tell())

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._at) - 1

    def __getitem__(self, k: Any) -> Any:
        """Return item k, or those of a slice."""
        if isinstance(k, slice):
            return tuple(self[i] for i in range(*k.indices(len(self))))
        self._file.seek(self._at[range(len(self))[k]])
        return pickle.load(self._file)  # what was written by this process


class AreaResults:
    """A JSON line per top area behind a first one that says what was asked: in a file named, or in a temporary one.

    Opened, a file of the same question goes on; a last line that was not written to its end is cut off. Raises
    `ReleaseError` for a file of another question, or of none. Cost: 8 bytes of memory per top area.
    """

    def __init__(self, path: str | None, head: Mapping[str, Any], tops: int) -> None:
        self.path, self._at = path, np.full(tops, -1, np.int64)
        if path is None:
            self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - it ends with the results
            weakref.finalize(self, self._file.close)
            self._end = 0
            return
        if not os.path.exists(path):
            appended(path, json.dumps(head) + "\n")
        self._end = self._read(path, head)
        self._file = io.BufferedReader(io.FileIO(path))  # it is a regular file, as was seen
        weakref.finalize(self, self._file.close)

    def _read(self, path: str, head: Mapping[str, Any]) -> int:
        from recon.io.files.opening import open_regular

        other, end = ReleaseError("is not a store of widths: give another file", file=path), 0
        with open_regular(path) as (file, _):
            for i, line in enumerate(file):
                if not line.endswith(b"\n"):
                    break
                try:
                    told = json.loads(line)
                    if i:
                        self._at[int(told["top"])] = end
                        told["lines"], told["proofs"]
                except (ValueError, KeyError, TypeError, IndexError):
                    raise other from None
                if not i and told != head:
                    raise ReleaseError("it stores the widths of other tables or options: give another file", file=path)
                end += len(line)
        os.truncate(path, end)
        if not end:
            appended(path, json.dumps(head) + "\n")
            end = len(json.dumps(head)) + 1
        return end

    @property
    def missing(self) -> Ints:
        """Return the top areas that are not there."""
        return np.flatnonzero(self._at < 0)

    def add(self, k: int, found: Mapping[str, Any]) -> None:
        """Write what was found of top area k."""
        line = json.dumps({"top": k, **found}) + "\n"
        if self.path is None:
            self._file.seek(self._end)
            self._file.write(line.encode())
        else:
            appended(self.path, line)
        self._at[k] = self._end
        self._end += len(line.encode())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield what was found of every top area, in their order."""
        for at in self._at[self._at >= 0].tolist():
            self._file.seek(at)
            yield json.loads(self._file.readline())


class AreaLines(Sequence[Any]):
    """The lines of all areas in results: read when they are asked for."""

    def __init__(self, results: AreaResults, number: int) -> None:
        self._results, self._number = results, number

    @classmethod
    def of(cls, results: AreaResults) -> Sequence[Any]:
        """Return the lines: in memory where they are few."""
        number = sum(len(found["lines"]) for found in results)
        lines = cls(results, number)
        return lines if number > MAX_LINES else tuple(lines)

    def __len__(self) -> int:
        """Return how many there are."""
        return self._number

    def __iter__(self) -> Iterator[Any]:
        """Yield every line."""
        for found in self._results:
            yield from map(tuple, found["lines"])

    def __getitem__(self, k: Any) -> Any:
        """Return line k, or those of a slice. Cost: all before are read."""
        if isinstance(k, slice):
            return tuple(self)[k]
        return next(itertools.islice(self, range(self._number)[k], None))
