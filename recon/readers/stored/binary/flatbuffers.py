"""Tables of a FlatBuffers file, read field by field: every offset is checked before it is followed.

The layout is that of the FlatBuffers internals page: a table begins with the distance to its list of fields, which
says where each field stands; vectors and texts begin with their length. A budget bounds what is made of them, since
many fields may point to one vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.errors import ReleaseError

MAX_FIELDS = 1_000  # of one table
EACH = 40  # bytes that one value takes in memory


class Buffer:
    """The bytes of a file, and how much may still be made of them. Nothing of it is built but numbers and texts."""

    def __init__(self, data: bytes, memory: int) -> None:
        self.data, self.left = data, memory
        self.read: list[tuple[int, int]] = []  # where what was read begins and ends

    def number(self, at: int, code: str) -> int:
        """Return the whole number of a numpy type ("<u4") at a place."""
        return int(self.array(at, code, 1)[0])

    def array(self, at: int, code: str, count: int) -> NDArray[Any]:
        """Return so many numbers at a place; `ReleaseError` where they are not all there, or too many."""
        size = count * np.dtype(code).itemsize
        if at < 0 or count < 0 or at + size > len(self.data):
            raise ReleaseError(f"{size:,} bytes are announced, the file has {len(self.data):,}", place=f"byte {at}")
        self.left -= size + EACH * count  # most of them become a list of numbers
        if self.left < 0:
            raise ReleaseError("the file takes more memory than is allowed (--memory)", place=f"byte {at}")
        self.read.append((at, at + size))
        return np.frombuffer(self.data, code, count, at)

    def idle(self) -> int:
        """Return how many bytes other than 0 nobody has read so far."""
        left = np.frombuffer(self.data, "<u1") != 0
        for begin, end in self.read:
            left[begin:end] = False
        return int(left.sum())

    def pointed(self, at: int) -> int:
        """Return the place that the offset at a place points to: always further on, so that nothing runs in circles."""
        offset = self.number(at, "<u4")
        if offset == 0:
            raise ReleaseError("an offset points to itself", place=f"byte {at}")
        return at + offset

    def root(self) -> FlatbufferTable:
        """Return the table that the file begins with."""
        return self.table(self.pointed(0))

    def table(self, at: int) -> FlatbufferTable:
        """Return the table at a place."""
        fields = at - self.number(at, "<i4")
        size = self.number(fields, "<u2")
        if size < 4 or size % 2 or size > 4 + 2 * MAX_FIELDS:
            raise ReleaseError(f"a table's list of fields has {size} bytes", place=f"byte {at}")
        return FlatbufferTable(self, at, tuple(self.array(fields + 4, "<u2", (size - 4) // 2).tolist()))


@dataclass(frozen=True)
class FlatbufferTable:
    """One table: where it stands, and per field its distance from there (0: it is not there)."""

    buffer: Buffer
    at: int
    fields: tuple[int, ...]

    def place(self, field: int) -> int | None:
        """Return where a field stands, None where it is left out."""
        if field >= len(self.fields) or not self.fields[field]:
            return None
        return self.at + self.fields[field]

    def whole(self, field: int, default: int, code: str = "<i4") -> int:
        """Return a whole number."""
        at = self.place(field)
        return default if at is None else self.buffer.number(at, code)

    def real(self, field: int, default: float) -> float:
        """Return a double."""
        at = self.place(field)
        return default if at is None else float(self.buffer.array(at, "<f8", 1)[0])

    def text(self, field: int) -> str:
        """Return a text, "" where it is left out."""
        at = self.place(field)
        return "" if at is None else _text_at(self.buffer, self.buffer.pointed(at))

    def numbers(self, field: int, code: str) -> NDArray[Any]:
        """Return a vector of numbers, empty where it is left out."""
        at = self.place(field)
        if at is None:
            return np.zeros(0, code)
        start = self.buffer.pointed(at)
        return self.buffer.array(start + 4, code, self.buffer.number(start, "<u4"))

    def count(self, field: int) -> int:
        """Return how many entries a vector has, 0 where it is left out."""
        at = self.place(field)
        return 0 if at is None else self.buffer.number(self.buffer.pointed(at), "<u4")

    def bytes(self, field: int, size: int) -> None:
        """Pass over a vector of structures of so many bytes."""
        at = self.place(field)
        if at is not None:
            self.buffer.array(self.buffer.pointed(at) + 4, "<u1", size * self.count(field))

    def inner(self, field: int) -> FlatbufferTable | None:
        """Return a table inside this one, None where it is left out."""
        at = self.place(field)
        return None if at is None else self.buffer.table(self.buffer.pointed(at))

    def places(self, field: int) -> list[int]:
        """Return where the tables or texts of a vector stand."""
        at = self.place(field)
        if at is None:
            return []
        start = self.buffer.pointed(at)
        offsets = self.buffer.array(start + 4, "<u4", self.buffer.number(start, "<u4"))
        return [start + 4 + 4 * i + offset for i, offset in enumerate(offsets.tolist())]

    def tables(self, field: int) -> list[FlatbufferTable]:
        """Return the tables of a vector."""
        return [self.buffer.table(at) for at in self.places(field)]

    def texts(self, field: int) -> list[str]:
        """Return the texts of a vector."""
        return [_text_at(self.buffer, at) for at in self.places(field)]


def _text_at(buffer: Buffer, at: int) -> str:
    """Return the text at a place."""
    raw = buffer.array(at + 4, "<u1", buffer.number(at, "<u4")).tobytes()
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise ReleaseError("a text is not UTF-8", place=f"byte {at}") from None
