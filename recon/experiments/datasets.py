"""The papers' data by name: found in a folder, checked by shape and checksum. Nothing a user audits needs them.

Looked for in this order: the folder given, the environment variable RECON_DATA, the folder shared/data beside this
checkout, the user's cache. The published discretisations do not follow from OpenML's raw tables, so nothing is
fetched: whoever has the files puts them into one of these folders.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from solvers.foundation.errors import ReleaseError


@dataclass(frozen=True)
class Source:
    """A published table: its file, shape with the label, whether the label stands first (then there is no header)."""

    file: str
    rows: int
    columns: int
    sha256: str  # of the file as it is when unpacked
    label_first: bool = False


SOURCES = {
    "compas27": Source("compas27.csv.gz", 7_214, 28,
                       "df5eccc8e4468568b1e1d28859f9c2b33925e3cc1c8eaacb5e479609e088fbf4"),
    "compas14": Source("compas14.csv.gz", 7_206, 15,
                       "88aa496e8b32e549f089f457fd3244e1706860bee5e6162d259090a91b5bee17"),
    "adult24": Source("adult24.csv.gz", 48_842, 25, "933f173cf3f67b9da098b155c13c93650d43a45e6b80a05621adf03bd6531b69"),
    "adult19": Source("adult19.csv.gz", 48_842, 20, "09c54f274f1b4b16c9fa6e6a7ef7b80c65bad852ea6b16381970d81ee3a99b02"),
    "credit21": Source("credit21.csv.gz", 29_986, 22,
                       "e1c6fce3d9487a8fce82277c6649b91f9fb3e5f79ad1770e7b8e44a0189a43d6"),
    "mushroom": Source("mushroom.txt.gz", 8_124, 120,
                       "1c79653e52e83b0b34ad5d2e7cf390b23470db8e7949a8b70c37b3498d2f0516", label_first=True),
    "german-credit": Source("german-credit.txt.gz", 1_000, 113,
                            "e828409b23b9e7d23fb45359742d4dbbc244976e06d47fe63a1bb8de41e2c313", label_first=True),
    "kr-vs-kp": Source("kr-vs-kp.txt.gz", 3_196, 74,
                       "993c24e179e1b184c363f907a03a7d92618ac1baa69922755ac9c4ff7262bef6", label_first=True),
    "tic-tac-toe": Source("tic-tac-toe.txt.gz", 958, 28,
                          "a3a513c38721fd0e8800e8dc42eee2724d982540e762159812f8f83f70fe07b3", label_first=True),
}  # fmt: skip


def folders(given: str | None = None) -> list[Path]:
    """Return where data are looked for, in order."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "recon"
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    named = [Path(folder) for folder in (given, os.environ.get("RECON_DATA")) if folder]
    return [*named, beside, cache]


def load(name: str, folder: str | None = None) -> tuple[pd.DataFrame, str]:
    """Return a table by name, its label as the last column, and the SHA-256 of its file unpacked.

    Where a folder is given, only that one is looked into. Raises `ReleaseError` where no folder holds the file (packed
    or not), and where it is not the published one.
    """
    source = SOURCES[name]
    places = [Path(folder)] if folder else folders()
    plain = source.file.removesuffix(".gz")
    found = next((p / file for p in places for file in (source.file, plain) if (p / file).is_file()), None)
    if found is None:
        looked = ", ".join(str(place) for place in places)
        raise ReleaseError(f"the data '{name}' ({source.file}) are in none of: {looked}; give their folder: --data")
    try:
        content = found.read_bytes()
        content = gzip.decompress(content) if found.suffix == ".gz" else content
    except (OSError, EOFError) as error:
        raise ReleaseError(f"cannot be read: {error}", file=str(found)) from None
    digest = hashlib.sha256(content).hexdigest()
    if digest != source.sha256:
        raise ReleaseError(f"is not the published file: SHA-256 {digest[:16]}..., not {source.sha256[:16]}...",
                           file=str(found))  # fmt: skip
    frame = table(content, source)
    assert frame.shape == (source.rows, source.columns)
    return frame, digest


def table(content: bytes, source: Source) -> pd.DataFrame:
    """Return a file's rows with the label last; columns without names are x1, x2, ... and y."""
    if not source.label_first:
        return pd.read_csv(io.BytesIO(content))
    raw = pd.read_csv(io.BytesIO(content), sep=r"\s+", header=None)
    raw.columns = ["y", *(f"x{k}" for k in range(1, raw.shape[1]))]
    return raw[[*raw.columns[1:], "y"]]
