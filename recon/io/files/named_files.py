"""Files that a result names: opened only inside folders that the user chose, and nothing of them is told.

A result was written by somebody else. What it names may be a pipe that never ends, a device, or a file of the user's
that is nobody's business: only regular files are opened, links followed first, and no refusal quotes them.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from typing import Any

from solvers.foundation.errors import CertificateError
from solvers.kernel.proof_format import quoted

MAX_NAME = 1_000  # characters of a path
MAX_FILES = 1_000  # that one result names as its release
NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
WHERE = "inside the result's folder, or one given with --certificates"


def named_file(name: Any, folders: Sequence[str]) -> str:
    """Return the real path of the regular file that a result calls by this name, inside one of the folders.

    Looked for as seen from each folder, from here, and by its last part alone in the folders after the first.
    Raises `CertificateError` for what is no such file.
    """
    if not isinstance(name, str) or not name or len(name) > MAX_NAME or "\0" in name:
        raise CertificateError(f"{quoted(name)} is not a name of a file")
    roots = [os.path.realpath(folder) for folder in folders]
    for place in _candidates(name, roots):
        with contextlib.suppress(OSError, ValueError):
            real = os.path.realpath(place)
            if stat.S_ISREG(os.lstat(real).st_mode) and any(lies_inside(real, root) for root in roots):
                return real
    raise CertificateError(f"the file {quoted(name)} that it names is not a regular file {WHERE}")


def _candidates(name: str, roots: Sequence[str]) -> Iterator[str]:
    """Yield the paths that a name may stand for."""
    yield from (os.path.join(root, name) for root in roots)
    yield os.path.abspath(name)
    yield from (os.path.join(root, os.path.basename(name)) for root in roots[1:])


def lies_inside(path: str, root: str) -> bool:
    """Return whether a real path lies in a real folder, or below it."""
    return os.path.commonpath([path, root]) == root


def read_regular(path: str, maximum: int) -> bytes:
    """Return the content of a regular file of at most so many bytes; `CertificateError` for anything else."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | NO_LINKS)
        with open(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise CertificateError("a file that it names is not a regular file")
            data = file.read(maximum + 1)
    except OSError as error:
        raise CertificateError(f"a file that it names cannot be read: {error.strerror or error}") from None
    if len(data) > maximum:
        raise CertificateError("a file that it names is larger than --memory allows")
    return data
