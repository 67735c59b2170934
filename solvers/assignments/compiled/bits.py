"""Compiled by numba, with its code kept on disk; and single bits of words.

Compiled code lies beside these files or, where that cannot be written, in numba's folder of the user (NUMBA_CACHE_DIR).
Numbers of mixed sign would become floats: words and shifts are uint64 throughout.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from solvers.statements.meetings import Words

F = TypeVar("F", bound=Callable[..., Any])
ONE, NONE, SHIFT = np.uint64(1), np.uint64(0), np.uint64(58)
DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
LOWEST = np.zeros(64, dtype=np.int64)  # the number of the lowest bit, by the upper six bits of its product
for _bit in range(64):
    LOWEST[(0x03F79D71B4CB0A89 << _bit & (1 << 64) - 1) >> 58] = _bit


def compiled(function: F) -> F:
    """Return a function compiled as part of what calls it."""
    return cast(F, njit(nogil=True, error_model="numpy")(function))


def kept(function: F) -> F:
    """Return a function compiled when first called, kept on disk where some folder can be written."""
    try:
        return cast(F, njit(cache=True, nogil=True, error_model="numpy")(function))
    except RuntimeError:  # no folder for the cache
        return compiled(function)


def fingerprint() -> int:
    """Return a number above 0 that tells the sources apart of all that is compiled.

    What is kept on disk is made anew where its own file changes, not where a file that it calls does. Numbers that a
    function closes over are part of its key there.
    """
    here = Path(__file__).parent
    sources = [*sorted(here.glob("*.py")), *(here.parent / "propagation" / name for name in ("state.py", "tables.py"))]
    return 1 + zlib.crc32(b"".join(path.read_bytes() for path in sources if path.exists()))


@compiled
def lowest(x: np.uint64) -> int:
    """Return the number of the lowest set bit."""
    return LOWEST[((x & (~x + ONE)) * DE_BRUIJN) >> SHIFT]  # type: ignore[no-any-return]


@compiled
def has_any(row: Words, first: int, end: int) -> bool:
    """Return whether some of these words has a bit."""
    for w in range(first, end):  # noqa: SIM110 - a generator is not compiled
        if row[w] != NONE:
            return True
    return False
