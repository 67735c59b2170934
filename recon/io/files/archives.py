"""Zip archives: the names in them, and the files of model folders, unpacked within the running budget."""

from __future__ import annotations

import io
import zipfile

from recon.io.files.opening import MAX_FILES, current
from solvers.foundation.errors import ReleaseError


def archive_names(data: bytes, most: int = MAX_FILES) -> list[str]:
    """Return the paths of the first files in a zip archive, at most so many; none where bytes are no archive."""
    if data[:4] != b"PK\x03\x04":
        return []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.namelist()[:most]
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        return []


def archive_files(data: bytes) -> dict[str, bytes]:
    """Return the files of a zip archive by their paths; `ReleaseError` where it is broken or names a path twice."""
    out: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist()[:MAX_FILES]:
                if info.filename in out:
                    raise ReleaseError(f"holds two files {info.filename[:60]}")
                current().bytes(info.file_size)
                with archive.open(info) as member:
                    out[info.filename] = member.read(info.file_size + 1)
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, EOFError) as error:
        raise ReleaseError(f"is a broken archive ({error})") from None
    return {name: content for name, content in out.items() if not name.endswith("/")}
