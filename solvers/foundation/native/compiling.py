"""Loops compiled by numba (extra `fast`), kept on disk under a fingerprint of their sources, where time allows it.

Compiled code lies beside its source or, where that cannot be written, in numba's folder of the user (NUMBA_CACHE_DIR).
What numba keeps there is made anew where the file of the kept function changes, by its time and size: not where a file
that it calls does, nor where another process still runs older loops. So a kept function closes over a `fingerprint` of
all that it calls, which numba then makes part of its key.
"""

from __future__ import annotations

import importlib.util
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from solvers.foundation.limits import STAGES, Limits

COMPILING = STAGES["compiled loops"].floor  # nothing interrupts it: 10 to 20 seconds of a processor were seen


def installed() -> bool:
    """Return whether numba is there."""
    return importlib.util.find_spec("numba") is not None


def fingerprint(sources: Iterable[Path]) -> int:
    """Return a number above 0 that tells files apart by what they hold; files that are not there count as empty.

    A function made for it closes over it and uses it, so that it is part of the key of what is kept on disk.
    """
    return 1 + zlib.crc32(b"".join(path.read_bytes() for path in sorted(sources) if path.exists()))


def kept(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Return a function compiled when first called, kept on disk where some folder can be written."""
    from numba import njit

    try:
        return njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # no folder for the cache
        return njit(**options)(function)  # type: ignore[no-any-return]


def ready(functions: Iterable[Callable[..., Any]], limits: Limits) -> bool:
    """Return whether kept functions can be called: all are compiled already, or there is time to do it.

    Time is that of the whole budget, not of a share of it: what is compiled serves whoever comes later.
    """
    return limits.lasting(2 * COMPILING).left() >= COMPILING or all(map(_compiled_before, functions))


def _compiled_before(function: Any) -> bool:
    """Return whether a kept function was compiled in this process, or lies on disk, made of the sources as they are.

    For whatever types: no release makes others than those before it.
    """
    if function.signatures:
        return True
    try:  # numba offers no other way to look without compiling
        cache = function._cache
        wanted = cache._index_key((), function.targetctx.codegen())[1:]
        return any(key[1:] == wanted for key in cache._cache_file._load_index())
    except (AttributeError, OSError, RuntimeError, TypeError, ValueError):
        return False
