"""Zip archives: the names in them, and the files of model folders, unpacked within the running budget."""

from __future__ import annotations

import io
import os
import zipfile

from recon.io.files.opening import MAX_FILES, current, file_and_number, files_below
from solvers.foundation.errors import ReleaseError

LISTED = 600  # bytes of a file's name and place in the list of an archive that is open


def _take_list(data: bytes) -> None:
    """Take the bytes that the list of an archive's files needs, before it is made."""
    current().entries(data.count(b"PK\x01\x02"), "the archive's list of files", each=LISTED)


def archive_names(data: bytes) -> list[str]:
    """Return the paths of the files in a zip archive; none where bytes are no archive."""
    if data[:4] != b"PK\x03\x04":
        return []
    with current().lent():
        _take_list(data)
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                return archive.namelist()
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
            return []


def archive_files(data: bytes) -> dict[str, bytes]:
    """Return the files of a zip archive by their paths.

    Raises `ReleaseError` where it is broken, names a path twice, or holds more files than the folder of a model.
    """
    out: dict[str, bytes] = {}
    _take_list(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = [info for info in archive.infolist() if not info.is_dir()]
            if len(files) > MAX_FILES:
                raise ReleaseError(
                    f"holds {len(files):,} files, of a model's folder at most {MAX_FILES:,} are read: zip the folder "
                    "of one model alone"
                )
            for info in files:
                if info.filename in out:
                    raise ReleaseError(f"holds two files {info.filename[:60]}")
                current().bytes(info.file_size)
                with archive.open(info) as member:
                    out[info.filename] = member.read(info.file_size + 1)
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, EOFError) as error:
        raise ReleaseError(f"is a broken archive ({error})") from None
    return out


OWN = frozenset(["MLmodel", "conda.yaml", "python_env.yaml", "requirements.txt", "registered_model_meta"])


def companions(path: str) -> list[tuple[str, int]]:
    """Return the other files below an MLflow folder with their bytes, those that say nothing of rows left out."""
    if path == "-" or not os.path.isdir(path):
        return []
    mine, whole = os.path.realpath(file_and_number(path)[0]), os.path.realpath(path)
    if mine == whole:
        return []
    out = []
    for place, about in files_below(whole):
        name = os.path.relpath(place, whole).replace(os.sep, "/")
        if os.path.commonpath([mine, os.path.realpath(place)]) != mine and name.removeprefix("metadata/") not in OWN:
            out.append((name, about.st_size))
    return out
