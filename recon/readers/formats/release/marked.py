"""Whether a file may be a release file with tables of areas: told by its bytes, before anything is read from it."""

from __future__ import annotations

import os

from recon.io.files.budget import current
from recon.io.files.opening import opened, read_whole
from recon.readers.stored.rewriting import unpacked
from solvers.foundation.errors import ReconError

KEYS = (b'"tables"', b'"recon"')


def marked(path: str) -> bool:
    """Return whether a regular file is JSON that names tables; its bytes are given back to the budget."""
    if path == "-" or not os.path.isfile(path):
        return False
    try:
        with opened(path) as (file, _):
            head = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
        if not head.startswith((b"{", b"\x1f\x8b")):
            return False
        budget = current()
        with budget.lent():
            data = unpacked(read_whole(path), budget.left)
            return data[:64].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and all(key in data for key in KEYS)
    except (ReconError, OSError):
        return False
