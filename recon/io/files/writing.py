"""Writing files: whole or not at all, by one process at a time, and for the owner alone where rows are in them.

Several files that belong together, written piece by piece within limits: all of them or none.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import gzip
import io
import json
import os
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

from recon.io.files.opening import NAMELESS, current
from solvers.foundation.displayed import quote
from solvers.foundation.errors import Inconclusive, ReleaseError
from solvers.foundation.limits import Limits

PUBLIC, PRIVATE = 0o666, 0o600  # before the umask
LOCK, WAIT, LOOK = ".lock", 10.0, 0.05  # behind the name; seconds for another writer, and between looks at its lock
PRINTED = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


@contextlib.contextmanager
def writing(path: str, *, private: bool = False, binary: bool = False, like: str = "") -> Iterator[IO[Any]]:
    """Yield a file to write; it takes the place of `path` when the block ends without an error, else nothing changes.

    The temporary file stands in the same folder, so that the last step is one rename. `private`: readable and
    writable by the owner alone (reconstructed or drawn rows). `like`: a file whose permissions a copy gets. "-" is
    standard output; what is no regular file (a device, a pipe) is written as it is. Raises `ReleaseError` naming the
    path where it cannot be written.
    """
    if not path:
        raise ReleaseError(NAMELESS)
    if path == "-":
        yield sys.stdout.buffer if binary else sys.stdout
        return
    target = os.path.realpath(path)
    mode: dict[str, Any] = {"mode": "wb"} if binary else {"mode": "w", "encoding": "utf-8", "newline": ""}
    part = None
    try:
        if os.path.exists(target) and not os.path.isfile(target):
            with open(_output_handle(path) if path in PRINTED else target, **mode) as file:
                yield file
            return
        handle, part = tempfile.mkstemp(prefix=f".{os.path.basename(target)[:40]}.", dir=os.path.dirname(target))
        with open(handle, **mode) as file:
            yield file
        os.chmod(part, PRIVATE if private else _mode_of(like or target))
        os.replace(part, target)
        part = None
    except OSError as error:
        raise ReleaseError(f"cannot be written: {error.strerror or error}", file=path) from None
    finally:
        if part is not None:
            with contextlib.suppress(OSError):
                os.unlink(part)


def appended(path: str, text: str) -> None:
    """Add a text to a file, made if it is not there (only its owner may read it), and wait until it is on the disk."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(handle, "ab") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(handle)
    except OSError as error:
        raise ReleaseError(f"cannot be written: {error.strerror or error}", file=path) from None


@contextlib.contextmanager
def locked(path: str, wait: float = WAIT) -> Iterator[None]:
    """Let the block be the only one, of all processes that ask for it, that replaces a file.

    The lock is the system's, on `path` with ".lock" behind it, and ends with the process that holds it, however that
    ends: what such a file says of a dead process of this host is taken over. Raises `ReleaseError` after `wait`
    seconds, with who holds it (process, host, since when), or where the folder cannot be written.
    """
    name = path + LOCK
    until = time.monotonic() + wait
    while (handle := _acquire_lock(name)) is None:
        if time.monotonic() >= until:
            holder = _holder(name) or "another process"
            advice = f"try again, or take away {quote(os.path.basename(name))} if that process has ended"
            raise ReleaseError(f"is being written by {holder}: {advice}", file=path)
        current().check()
        time.sleep(LOOK)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)  # before it is let go of: whoever opened it meanwhile sees that it is gone
        os.close(handle)


def _acquire_lock(name: str) -> int | None:
    """Return the handle of a lock file that is ours now and says so, None while somebody else has it."""
    try:
        handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, PUBLIC)
    except PermissionError as error:
        if os.path.exists(name):  # of another user
            return None
        raise ReleaseError(f"cannot be written: {error.strerror}", file=name) from None
    except OSError as error:
        raise ReleaseError(f"cannot be written: {error.strerror}", file=name) from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ReleaseError("is not a regular file, so that nobody can hold it: take it away", file=name)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        ours = os.path.exists(name) and os.path.samestat(os.fstat(handle), os.stat(name))
        if not ours or _lock_holder(os.read(handle, 1_000)).get("host", socket.gethostname()) != socket.gethostname():
            os.close(handle)  # another one stands there by now, or that of a host whose processes we do not see
            return None
        since = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        with contextlib.suppress(OSError):  # of another user: who may write into the folder may wait for it too
            os.fchmod(handle, PUBLIC)
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since}).encode(), 0)
    except BlockingIOError:
        os.close(handle)
        return None
    except BaseException as error:
        os.close(handle)
        if isinstance(error, OSError):
            raise ReleaseError(f"cannot be locked: {error.strerror}", file=name) from None
        raise
    return handle


def _lock_holder(data: bytes) -> dict[str, Any]:
    """Return what a lock file says of its holder; nothing where it says nothing."""
    with contextlib.suppress(ValueError):
        found = json.loads(data)
        return found if isinstance(found, dict) else {}
    return {}


def _holder(name: str) -> str:
    """Return who holds a lock, in words; "" where that is not said."""
    with contextlib.suppress(OSError), open(name, "rb") as file:
        said = _lock_holder(file.read(1_000))
        if said:
            return quote(f"process {said.get('pid')} on {said.get('host')} since {said.get('since')}", 200)
    return ""


def _output_handle(path: str) -> int | str:
    """Return a handle of standard output, which may have left its number to others; the path where it is not a file."""
    try:
        sys.stdout.flush()
        return os.dup(sys.stdout.fileno())
    except (AttributeError, OSError, ValueError):
        return path


def _mode_of(target: str) -> int:
    """Return the permissions of a file that is replaced, those of a new file where there is none."""
    with contextlib.suppress(OSError):
        return os.stat(target).st_mode & 0o777
    return PUBLIC & ~_umask()


def _umask() -> int:
    """Return the process's mask for new files."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


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
                raise ReleaseError("cannot be written: it is not a regular file", file=path)
            handle, part = tempfile.mkstemp(prefix=f".{os.path.basename(target)[:40]}.", dir=os.path.dirname(target))
            os.close(handle)  # a new file that nobody else chose the name of
            parts[part] = target
            _write_one(part, pieces, compressed=path.endswith(".gz"))
            if limits.expired():
                raise Inconclusive("the time was up while the release was written for other solvers")
        for part, target in parts.items():
            os.chmod(part, 0o666 & ~_umask())
            os.replace(part, target)
    except OSError as error:
        raise ReleaseError(f"cannot be written: {error.strerror or error}", file=path) from None
    finally:
        for part in parts:
            with contextlib.suppress(OSError):
                os.unlink(part)


def _write_one(path: str, pieces: Iterable[bytes], *, compressed: bool) -> None:
    """Write one file; compressed without name and time, so that the bytes are the same every time."""
    with contextlib.ExitStack() as stack:
        file: io.BufferedIOBase = stack.enter_context(open(path, "wb"))
        if compressed:
            packed = stack.enter_context(gzip.GzipFile("", "wb", 6, file, 0))
            file = stack.enter_context(io.BufferedWriter(packed, BUFFER))
        file.writelines(pieces)
