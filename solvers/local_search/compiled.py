"""The loops as machine code where numba is installed, and as they are written where it is not.

Both give the same numbers: the loops use whole numbers of 64 bits alone, and no random generator but their own.
Compiling takes seconds, once: the code is kept on disk beside the source, or in the user's cache.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from solvers.foundation.limits import Limits
from solvers.local_search import loops

COMPILING = 30.0  # seconds that must be left to compile: 10 on a quiet machine


def loops_for(limits: Limits) -> tuple[Callable[..., Any], Callable[..., Any], bool]:
    """Return the loops `enter` and `anneal`, and whether they are compiled and want arrays; else lists are faster.

    They stay as they are written without numba, and where they were never compiled and the time is short.
    """
    if importlib.util.find_spec("numba") is None:
        return loops.enter, loops.anneal, False
    enter, anneal = compiled()
    if limits.lasting(COMPILING).left() < math.floor(COMPILING) and not on_disk(anneal):
        return loops.enter, loops.anneal, False
    return enter, anneal, True


@cache
def compiled() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the loops as functions that are compiled at their first call.

    They make no arrays: without counting references to those that they are given (`_nrt`) they ran 9 times as fast.
    """
    from numba import njit

    options: dict[str, Any] = {"cache": True, "_nrt": False}
    names = dict(vars(loops))
    for name, function in vars(loops).items():  # in the order of the source: what a loop calls stands above it
        if isinstance(function, FunctionType) and function.__module__ == loops.__name__:
            names[name] = njit(**options)(FunctionType(function.__code__, names, name))
    return names["enter"], names["anneal"]


def on_disk(function: Any) -> bool:
    """Return whether a function was compiled from the source as it is now, or already in this process."""
    if function.signatures:
        return True
    kept = getattr(function, "_cache", None)
    folder, name = getattr(kept, "cache_path", None), f"{loops.__name__.rpartition('.')[2]}.{function.__name__}-"
    if folder is None or not Path(folder).is_dir():
        return False
    changed = Path(loops.__file__).stat().st_mtime
    return any(path.stat().st_mtime >= changed for path in Path(folder).glob(f"{name}*.nbi"))
