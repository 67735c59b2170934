"""Standard input, output and error: none of them can change how a command ends.

What a reader no longer takes (| head) is let go of, and the command goes on to the end that it would have had.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import select
import sys
from typing import Any

ESCAPED = "recon.escaped"  # what an encoding lacks, as escapes that JSON knows too


class Channel(io.RawIOBase):
    """An open handle to write to: after a first failure nothing more is written, and nothing raised.

    `failure` is what went wrong, None as long as nothing did.
    """

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.failure: OSError | None = None

    def writable(self) -> bool:
        """Return that it can be written to."""
        return True

    def fileno(self) -> int:
        """Return the handle."""
        return self.handle

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        return os.isatty(self.handle)

    def write(self, data: Any, /) -> int:
        """Write some bytes and return how many; all of them where nobody takes them any more."""
        while self.failure is None:
            try:
                return os.write(self.handle, data)
            except BlockingIOError:  # whoever gave us this handle made it one that does not wait
                select.select([], [self.handle], [])
            except OSError as error:
                self.failure = error
        return len(data)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    r"""Return the characters that an encoding lacks as escapes such as \u20ac, two of them above U+FFFF."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{text[i : i + 2].hex()}" for i in range(0, len(text), 2)), error.end


def take_channels() -> None:
    """Open what the caller closed, and put channels in the place of standard output and error.

    Standard output is left to what recon prints: native solvers write debugging lines into it, whatever one asks.
    """
    codecs.register_error(ESCAPED, _escaped)
    for handle in (0, 1, 2):
        try:
            os.fstat(handle)
        except OSError:  # closed: the next file would get its number, and what natives print
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(os.fdopen(0, "rb", closefd=False), "utf-8")
    if _is_ours(sys.stdout, 1):
        kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        sys.stdout = _over(kept, sys.stdout, os.isatty(kept))
    if _is_ours(sys.stderr, 2):
        sys.stderr = _over(2, sys.stderr, True)


def _is_ours(stream: Any, handle: int) -> bool:
    """Return whether a stream is the one of the process, or is missing; what stands before it is written."""
    if stream is None:
        return True
    try:
        if stream.fileno() != handle:
            return False
        stream.flush()
    except (AttributeError, OSError, ValueError):  # it is no file
        return False
    return True


def _over(handle: int, before: Any, by_lines: bool) -> io.TextIOWrapper:
    """Return a text stream over a channel, encoded as the stream before it."""
    encoding, errors = ("utf-8", "strict") if before is None else (before.encoding, before.errors)
    rule = ESCAPED if errors in {"strict", "backslashreplace"} else errors
    return io.TextIOWrapper(io.BufferedWriter(Channel(handle)), encoding, rule, line_buffering=by_lines)


def failure_of(stream: Any) -> OSError | None:
    """Return why nothing is written to a stream any more, None where it is written."""
    channel = getattr(getattr(stream, "buffer", None), "raw", None)
    return channel.failure if isinstance(channel, Channel) else None


def lost_output() -> OSError | None:
    """Return why what was printed is not where it should be; None where it is, or where its reader left by choice."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()
    found = failure_of(sys.stdout)
    return None if found is None or found.errno == errno.EPIPE else found
