"""Several files that belong together, written piece by piece within limits: all of them or none."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import tempfile
from collections.abc import Iterable, Mapping

from recon.io.files.opening import NAMELESS
from recon.io.files.writing import umask
from solvers.foundation.errors import Inconclusive, ReleaseError
from solvers.foundation.limits import Limits

BUFFER = 1 << 16  # bytes compressed together


def write_all(files: Mapping[str, Iterable[bytes]], limits: Limits) -> None:
    """Write every file under a temporary name beside it, and rename them when all are whole; .gz is compressed.

    Raises `ReleaseError` for a path that cannot be written, `Inconclusive` when time is up; nothing stays then.
    """
    parts: dict[str, str] = {}
    path = ""
    try:
        for path, pieces in files.items():
            if not path:
                raise ReleaseError(NAMELESS)
            target = os.path.realpath(path)
            if os.path.exists(target) and not os.path.isfile(target):
                raise ReleaseError("cannot be written: it is no regular file", file=path)
            handle, part = tempfile.mkstemp(prefix=f".{os.path.basename(target)[:40]}.", dir=os.path.dirname(target))
            os.close(handle)  # a new file that nobody else chose the name of
            parts[part] = target
            write_one(part, pieces, compressed=path.endswith(".gz"))
            if limits.expired():
                raise Inconclusive("the time was up while the release was written for other solvers")
        for part, target in parts.items():
            os.chmod(part, 0o666 & ~umask())
            os.replace(part, target)
    except OSError as error:
        raise ReleaseError(f"cannot be written: {error.strerror or error}", file=path) from None
    finally:
        for part in parts:
            with contextlib.suppress(OSError):
                os.unlink(part)


def write_one(path: str, pieces: Iterable[bytes], *, compressed: bool) -> None:
    """Write one file; compressed without name and time, so that the bytes are the same every time."""
    with contextlib.ExitStack() as stack:
        file: io.BufferedIOBase = stack.enter_context(open(path, "wb"))
        if compressed:
            packed = stack.enter_context(gzip.GzipFile("", "wb", 6, file, 0))
            file = stack.enter_context(io.BufferedWriter(packed, BUFFER))
        file.writelines(pieces)
