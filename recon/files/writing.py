"""Writing files: whole or not at all, and readable by the owner alone where they hold people's rows."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import IO, Any

from solvers.foundation.errors import ReleaseError

PUBLIC, PRIVATE = 0o666, 0o600  # before the umask
PRINTED = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


@contextlib.contextmanager
def writing(path: str, *, private: bool = False, binary: bool = False) -> Iterator[IO[Any]]:
    """Yield a file to write; it takes the place of `path` when the block ends without an error, else nothing changes.

    The temporary file stands in the same folder, so that the last step is one rename. `private`: readable and
    writable by the owner alone (reconstructed or drawn rows). What is no regular file (a device, a pipe such as
    /dev/stdout) is written as it is. Raises `ReleaseError` naming the path where it cannot be written.
    """
    target = os.path.realpath(path)
    mode: dict[str, Any] = {"mode": "wb"} if binary else {"mode": "w", "encoding": "utf-8", "newline": ""}
    part = None
    try:
        if os.path.exists(target) and not os.path.isfile(target):
            with open(_printed(path) if path in PRINTED else target, **mode) as file:
                yield file
            return
        handle, part = tempfile.mkstemp(prefix=f".{os.path.basename(target)[:40]}.", dir=os.path.dirname(target))
        with open(handle, **mode) as file:
            yield file
        os.chmod(part, PRIVATE if private else mode_of(target))
        os.replace(part, target)
        part = None
    except OSError as error:
        raise ReleaseError(f"cannot be written: {error.strerror or error}", file=path) from None
    finally:
        if part is not None:
            with contextlib.suppress(OSError):
                os.unlink(part)


def _printed(path: str) -> int | str:
    """Return a handle of standard output, which may have left its number to others; the path where it is no file."""
    try:
        sys.stdout.flush()
        return os.dup(sys.stdout.fileno())
    except (AttributeError, OSError, ValueError):
        return path


def mode_of(target: str) -> int:
    """Return the permissions of a file that is replaced, those of a new file where there is none."""
    with contextlib.suppress(OSError):
        return os.stat(target).st_mode & 0o777
    return PUBLIC & ~umask()


def umask() -> int:
    """Return the process's mask for new files."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
