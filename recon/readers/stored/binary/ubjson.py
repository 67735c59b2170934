"""UBJSON (draft 12, big-endian) to plain values: the form in which XGBoost saves models, and pickles them.

Nothing is built but numbers, texts, lists and dicts. Every count is checked against the bytes that are left, before
anything of that size is made, and what is made is charged to a budget of bytes.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from solvers.foundation.errors import ReleaseError

DEEPEST = 64  # values inside values; a model of XGBoost has 7
LONGEST_KEY = 10_000  # characters
EACH = 40  # bytes that one value takes in memory, its place in a list among them
NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
_SIZES = {mark: np.dtype(code).itemsize for mark, code in NUMBERS.items()}
_PLAIN = {mark: ">" + {"i1": "b", "u1": "B", "i2": "h", "i4": "i", "i8": "q", "f4": "f", "f8": "d"}[code[1:]]
          for mark, code in NUMBERS.items()}  # fmt: skip
_WORDS = {b"Z": None, b"T": True, b"F": False}


def read_ubjson(data: bytes, memory: int) -> Any:
    """Return the one value in the bytes.

    `memory`: bytes that what is read may take. Raises `ReleaseError` naming the byte where the content is broken, too
    deep or too large. Linear in the bytes.
    """
    reader = _UbjsonReader(data, memory)
    found = reader.value(reader.marker(), 0)
    if reader.at != len(data):
        raise reader.broken(f"{len(data) - reader.at:,} bytes follow its end")
    return found


class _UbjsonReader:
    """The bytes, where in them it stands, and what may still be made of them."""

    def __init__(self, data: bytes, memory: int) -> None:
        self.data, self.at, self.left = data, 0, memory

    def broken(self, message: str) -> ReleaseError:
        """Return the refusal at the place that is read."""
        return ReleaseError(f"the UBJSON is broken: {message}", place=f"byte {self.at}")

    def take(self, size: int) -> bytes:
        """Return the next bytes."""
        found = self.data[self.at : self.at + size]
        if size < 0 or len(found) < size:
            raise self.broken(f"{size:,} bytes are announced, {len(self.data) - self.at:,} are left")
        self.at += size
        return found

    def marker(self) -> bytes:
        """Return the next marker; no-ops are passed over."""
        found = self.take(1)
        while found == b"N":
            found = self.take(1)
        return found

    def charge(self, values: int, more: int = 0) -> None:
        """Count what is going to be made; `ReleaseError` where it is too much."""
        self.left -= EACH * values + more
        if self.left < 0:
            raise ReleaseError("the UBJSON takes more memory than is allowed (--memory)", place=f"byte {self.at}")

    def number(self, mark: bytes) -> Any:
        """Return one number of the marker's type."""
        return struct.unpack(_PLAIN[mark], self.take(_SIZES[mark]))[0]

    def size(self) -> int:
        """Return a length: a whole number with its own marker."""
        mark = self.marker()
        if mark not in NUMBERS or mark in {b"d", b"D"}:
            raise self.broken(f"a length has the type {mark!r}")
        found = int(self.number(mark))
        if not 0 <= found <= len(self.data) - self.at:
            raise self.broken(f"a length of {found:,} with {len(self.data) - self.at:,} bytes left")
        return found

    def text(self, longest: int | None = None) -> str:
        """Return a text with its length before it."""
        size = self.size()
        if longest is not None and size > longest:
            raise self.broken(f"a key of {size:,} bytes")
        self.charge(1, size)
        try:
            return self.take(size).decode("utf-8")
        except UnicodeDecodeError:
            raise self.broken("a text is not UTF-8") from None

    def value(self, mark: bytes, depth: int) -> Any:
        """Return the value behind a marker."""
        if depth > DEEPEST:
            raise self.broken(f"values are nested more than {DEEPEST} deep")
        self.charge(1)
        if mark in NUMBERS:
            return self.number(mark)
        if mark in _WORDS:
            return _WORDS[mark]
        if mark in {b"S", b"H"}:
            return self.text()
        if mark == b"C":
            return self.take(1).decode("latin-1")
        if mark == b"[":
            return self.array(depth)
        if mark == b"{":
            return self.object(depth)
        raise self.broken(f"{mark!r} is not a type")

    def head(self) -> tuple[bytes | None, int | None]:
        """Return the type and the number of a container's values, each None where it is not said."""
        kind, count = None, None
        if self.data[self.at : self.at + 1] == b"$":
            self.at += 1
            kind = self.take(1)
            if kind not in NUMBERS and kind != b"S":  # the others take no bytes, or nest: no writer needs them
                raise self.broken(f"a container is of the type {kind!r}")
            if self.data[self.at : self.at + 1] != b"#":
                raise self.broken("a container names a type and no count")
        if self.data[self.at : self.at + 1] == b"#":
            self.at += 1
            count = self.size()
        return kind, count

    def array(self, depth: int) -> list[Any]:
        """Return a list: of one type of numbers, of a given length, or up to its closing mark."""
        kind, count = self.head()
        if kind in NUMBERS and count is not None and kind is not None:
            raw = self.take(count * _SIZES[kind])
            self.charge(count)
            found: list[Any] = np.frombuffer(raw, NUMBERS[kind]).tolist()
            return found
        out: list[Any] = []
        while len(out) != count:
            mark = kind or self.marker()
            if mark == b"]" and count is None:
                break
            out.append(self.value(mark, depth + 1))
        return out

    def object(self, depth: int) -> dict[str, Any]:
        """Return a dict: keys have no marker."""
        kind, count = self.head()
        out: dict[str, Any] = {}
        while len(out) != count:
            while self.data[self.at : self.at + 1] == b"N":
                self.at += 1
            if count is None and self.data[self.at : self.at + 1] == b"}":
                self.at += 1
                break
            key = self.text(LONGEST_KEY)
            if key in out:
                raise self.broken(f"the key {key[:40]!r} stands twice")
            out[key] = self.value(kind or self.marker(), depth + 1)
        return out
