"""Stored objects in files: which format a file is, by its content, and its graph of objects that are never built.

A file of joblib is a pickle with the bytes of each array right behind the object that describes it, maybe compressed.

The layout is that of joblib/numpy_pickle.py (joblib 0.10 to 1.6): after a `NumpyArrayWrapper` (subclass, shape, order,
dtype, allow_mmap, since 1.2 numpy_array_alignment_bytes) stand, if the last is given, one byte that says how many bytes
of padding follow, then the array in its own order; for arrays of objects stands a whole pickle of the array instead.
"""

from __future__ import annotations

import bz2
import hashlib
import lzma
import re
import zlib
from dataclasses import dataclass
from typing import Any, Protocol

from recon.io.files.opening import budget_within, current, size_text
from recon.readers.stored.objects.arrays import shaped, to_dtype
from recon.readers.stored.pickled import skops_files
from recon.readers.stored.pickled.pickles import Machine, PickleBudget, Thing, check_end
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import collector_paused

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


# How pickles without a protocol byte (protocols 0 and 1) begin: a global, or an object, list, dict or tuple.
_EARLY = re.compile(
    rb"c[A-Za-z_][\w.]*\n[A-Za-z_][\w.]*\n|"
    rb"\(+(?:[dlt]p\d+\n|[dl][aq.(]|[ic][A-Za-z_][\w.]*\n[A-Za-z_][\w.]*\n|S['\"][^\n]*\n|[VIFL][^\n]*\np?\d*|X.{4}|U.)|"
    rb"[\]}]q",
    re.DOTALL,
)


_LATEST = 9  # protocols above 5 are refused by name, not taken for something else


@dataclass(frozen=True)
class StoredFile:
    """A stored file: its format ("pickle", "joblib", "joblib, zlib", "skops"), its root, and what identifies it.

    `root` is raw (see `recon.readers.stored.pickled.pickles`); `protocol` is the one that `write_pickle` would keep;
    `sha256` is of the file as it stands. `odd`: bytes of the container that the root does not reach.
    """

    format: str
    root: Any
    sha256: str
    protocol: int
    odd: int = 0


def _is_pickle(data: bytes) -> bool:
    """Return whether the first bytes are those of a pickle."""
    if data[:1] == b"\x80":
        return len(data) > 1 and data[1] <= _LATEST
    return _EARLY.match(data[:2_000]) is not None


def open_stored(data: bytes, memory: int = 1 << 30) -> StoredFile | None:
    """Return the content of a pickle, joblib or skops file; None where the bytes are none of these.

    Nothing in the file is imported, built or run. `memory`: bytes that the content after decompression and its objects
    may take, at most what is left of the command's budget. Raises `ReleaseError` where the file is broken, larger, or
    would run code, `Inconclusive` where the time is up.
    """
    with budget_within(memory) as budget, collector_paused():
        return _open_stored(data, min(memory, budget.left))


def gunzip(data: bytes, memory: int) -> bytes:
    """Return the content of a gzip file, at most `memory` bytes; other bytes as they are."""
    return decompress(data, "gzip", memory) if data[:2] == b"\x1f\x8b" else data


def _open_stored(data: bytes, memory: int) -> StoredFile | None:
    digest = hashlib.sha256(data).hexdigest()
    packed = compression(data)
    if packed in {"lz4", "old"}:
        what = "compressed with lz4" if packed == "lz4" else "of joblib before 0.10"
        raise ReleaseError(f"the file is {what}, which is not read: save it again with compress=3")
    if data[:4] == b"PK\x03\x04":
        root = skops_files.read_skops(data, memory)
        return None if root is None else StoredFile("skops", root[0], digest, 5, skops_files.odd_bytes(data))
    if packed is None:
        if not _is_pickle(data):
            return None
        content = data
    else:
        if not _is_pickle(beginning(data, packed)):
            return None
        content = decompress(data, packed, memory)
    if len(content) > memory:
        raise ReleaseError(f"the file holds more than the {size_text(memory)} allowed (--memory)")
    root, protocol, arrays, odd = read_joblib(content, PickleBudget(memory))
    odd += header_bytes(data)
    return StoredFile(
        ("joblib" if arrays else "pickle") + (f", {packed}" if packed else ""), root, digest, protocol, odd
    )
