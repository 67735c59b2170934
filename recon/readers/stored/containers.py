"""Which of the stored formats a file is, by its content, and its graph of objects that were never built."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from recon.io.files.budget import shown, within
from recon.readers.stored.pickled import joblib_files, skops_files
from recon.readers.stored.pickled.pickles import PickleBudget
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import collector_paused

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

    `root` is raw (see `recon.readers.stored.objects.things`); `protocol` is the one that `write_pickle` would keep;
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
    with within(memory) as budget, collector_paused():
        return _opened(data, min(memory, budget.left))


def unpacked(data: bytes, memory: int) -> bytes:
    """Return the content of a gzip file, at most `memory` bytes; other bytes as they are."""
    return joblib_files.decompress(data, "gzip", memory) if data[:2] == b"\x1f\x8b" else data


def _opened(data: bytes, memory: int) -> StoredFile | None:
    digest = hashlib.sha256(data).hexdigest()
    packed = joblib_files.compression(data)
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
        if not _is_pickle(joblib_files.beginning(data, packed)):
            return None
        content = joblib_files.decompress(data, packed, memory)
    if len(content) > memory:
        raise ReleaseError(f"the file holds more than the {shown(memory)} allowed (--memory)")
    root, protocol, arrays, odd = joblib_files.read_joblib(content, PickleBudget(memory))
    odd += joblib_files.header_bytes(data)
    return StoredFile(
        ("joblib" if arrays else "pickle") + (f", {packed}" if packed else ""), root, digest, protocol, odd
    )
