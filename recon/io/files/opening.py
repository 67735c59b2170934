"""Opening files: regular ones only, no more of them than the budget has, and standard input by pieces."""

from __future__ import annotations

import contextlib
import os
import select
import stat
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from typing import IO

from recon.io.files.budget import current
from solvers.foundation.errors import ReleaseError

NAMELESS = "an empty text was given as the name of a file: give the name (of a script: is a variable in it empty?)"
CHUNK = 1 << 20
_READ: ContextVar[dict[str, bytes] | None] = ContextVar("read", default=None)
WAIT = 0.25  # seconds between looks at the clock while standard input brings nothing


@contextlib.contextmanager
def opened(path: str) -> Iterator[tuple[IO[bytes], int]]:
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
                "is no regular file (a pipe, device or socket): save it to a file, or pass it as standard input (-)",
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
            return read_stream(sys.stdin.buffer)
        with opened(path) as (file, size):
            budget.check()
            budget.bytes(size)
            parts, met = list[bytes](), 0
            while met < size and (part := file.read(min(CHUNK, size - met))):
                parts.append(part)
                met += len(part)
                budget.check()
            if met < size or (size and file.read(1)):
                raise ReleaseError(f"is no regular file, or changes while it is read: it should have {size:,} bytes")
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

    They are kept for one more reader, not longer: they are large.
    """
    read = _READ.get()
    if read is None or path == "-":
        return read_whole(path)
    if path in read:
        data = read.pop(path)
        current().bytes(len(data))
        return data
    data = read[path] = read_whole(path)
    return data


def read_stream(stream: IO[bytes]) -> bytes:
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
