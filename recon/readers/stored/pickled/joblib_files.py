"""joblib's files: a pickle with the bytes of each array right behind the object that describes it, maybe compressed.

The layout is that of joblib/numpy_pickle.py (joblib 0.10 to 1.6): after a `NumpyArrayWrapper` (subclass, shape, order,
dtype, allow_mmap, since 1.2 numpy_array_alignment_bytes) stand, if the last is given, one byte that says how many bytes
of padding follow, then the array in its own order; for arrays of objects stands a whole pickle of the array instead.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from typing import Any, Protocol

from recon.io.files.opening import current, size_text
from recon.readers.stored.objects.arrays import shaped, to_dtype
from recon.readers.stored.pickled.pickles import Machine, PickleBudget, Thing, check_end
from solvers.foundation.errors import ReleaseError

_WRAPPER = "joblib.numpy_pickle.NumpyArrayWrapper"  # maybe inside sklearn.externals
_OLD_WRAPPERS = ("NDArrayWrapper", "ZNDArrayWrapper")
_CHUNK = 1 << 20
_SUSPICIOUS = 64 << 20  # bytes of content
_MAX_FOLD = 2_000  # content per compressed byte; zlib reaches 1,032 with zeros
_LZMA_MEMORY = 128 << 20  # bytes a decoder may use; joblib's own highest level needs 65 MiB


class JoblibMachine(Machine):
    """The machine for joblib's files: a wrapper on the stack is replaced by the array whose bytes follow it."""

    arrays = 0

    def build(self) -> None:
        """Record a state; where that completes a wrapper of joblib, read the array behind it."""
        super().build()
        thing = self.stack[-1]
        kind = thing.kind
        if kind.endswith(_WRAPPER):
            self.stack[-1] = self.array(thing)
            self.arrays += 1
        elif kind.startswith(("joblib.", "sklearn.externals.joblib.")) and thing.class_name in _OLD_WRAPPERS:
            raise ReleaseError(
                "the arrays are in files beside this one (joblib before 0.10): load it and save it again with joblib 1"
            )

    def array(self, wrapper: Thing) -> Any:
        """Return the array behind a wrapper: an ndarray, or the Thing of an array of objects."""
        fields = wrapper.fields()
        dtype = to_dtype(fields.get("dtype"))
        if dtype is None:
            raise ReleaseError("an array of joblib has a type that is not read")
        if dtype.hasobject:
            inner = Machine(self.data, self.budget, self.at)
            found = inner.run()
            self.at = inner.at
            self.odd += inner.odd
            return found
        if fields.get("numpy_array_alignment_bytes") is not None:
            self.odd += len(self.take(self.number(1)).strip(b"\xff"))
        array = shaped(self.data, dtype, fields.get("shape"), fields.get("order") == "F", self.at)
        self.at += array.nbytes
        return array


def read_joblib(data: bytes, budget: PickleBudget) -> tuple[Any, int, bool, int]:
    """Return the root of a joblib file or plain pickle, its protocol, whether it holds arrays of joblib, odd bytes.

    Odd are the bytes that the root does not reach, or that no pickler writes.
    """
    machine = JoblibMachine(data, budget)
    root = machine.run()
    check_end(data, machine.at)
    return root, machine.protocol, machine.arrays > 0, machine.odd


def header_bytes(data: bytes) -> int:
    """Return the bytes of notes in a gzip header: an extra field, a comment, a name beyond 64 characters."""
    if data[:2] != b"\x1f\x8b" or len(data) < 12:
        return 0
    flags, at, total = data[3], 10, 0
    if flags & 4:
        size = int.from_bytes(data[at : at + 2], "little")
        at, total = at + 2 + size, total + size
    for flag, most in ((8, 64), (16, 0)):
        if flags & flag:
            end = data.find(b"\0", at)
            total += max(0, end - at - most)
            at = end + 1
    return total


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


def compression(data: bytes) -> str | None:
    """Return the name of the compression that the first bytes show, as joblib does; None where they show none."""
    if data[:2] == b"\x1f\x8b":
        return "gzip"
    if data[:3] == b"BZh":
        return "bz2"
    if data[:6] == b"\xfd7zXZ\x00":
        return "xz"
    if data[:2] == b"\x5d\x00":
        return "lzma"
    if data[:1] == b"\x78" and len(data) > 1 and (data[0] * 256 + data[1]) % 31 == 0:
        return "zlib"
    if data[:4] == b"\x04\x22\x4d\x18":
        return "lz4"
    return "old" if data[:4] == b"ZF0x" else None


def _decoder(name: str) -> _Decoder:
    if name == "bz2":
        return bz2.BZ2Decompressor()
    if name in {"xz", "lzma"}:
        form = lzma.FORMAT_XZ if name == "xz" else lzma.FORMAT_ALONE
        return lzma.LZMADecompressor(form, memlimit=_LZMA_MEMORY)
    return zlib.decompressobj(15 if name == "zlib" else 31)


def beginning(data: bytes, name: str) -> bytes:
    """Return the first bytes of the content, empty where there are none to be had."""
    try:
        return _decoder(name).decompress(data[:_CHUNK], 1_000)
    except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError):
        return b""


def decompress(data: bytes, name: str, memory: int) -> bytes:
    """Return the content of one compressed stream, at most `memory` bytes.

    Raises `ReleaseError` where it is broken, cut short, larger, or followed by something else.
    """
    decoder, parts, size, budget = _decoder(name), [], 0, current()
    view, at, rest = memoryview(data), 0, b""
    try:
        while not decoder.eof:
            if not rest and getattr(decoder, "needs_input", True):
                rest, at = bytes(view[at : at + _CHUNK]), at + _CHUNK
                if not rest:
                    raise ReleaseError(f"the {name} stream ends before its end is marked: the file is cut short")
            part = decoder.decompress(rest, _CHUNK)
            rest = getattr(decoder, "unconsumed_tail", b"")
            size += len(part)
            if size > memory:
                raise ReleaseError(f"the {name} stream holds more than the {size_text(memory)} allowed (--memory)")
            budget.bytes(len(part), f"the {name} stream")
            budget.check()
            if size > _SUSPICIOUS and size > _MAX_FOLD * len(data):
                raise ReleaseError(f"the {name} stream grows more than {_MAX_FOLD:,}-fold: it is refused as a bomb")
            parts.append(part)
    except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as error:
        if isinstance(error, ReleaseError):
            raise
        raise ReleaseError(f"the {name} stream is broken ({str(error)[:100]})") from None
    if len(decoder.unused_data) + max(0, len(data) - at):
        raise ReleaseError(f"bytes follow the end of the {name} stream")
    return b"".join(parts)
