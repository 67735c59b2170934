"""Loops over whole numbers that are compiled where numba is installed, and run as they are written where it is not.

Both give the same numbers: what is compiled uses whole numbers of 64 bits alone, and no random generator but its own.
Modules with such loops import this one at their top, so they are imported inside functions: loading numba takes time.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., object])


def jitted(function: F) -> F:
    """Return the function compiled at its first call and kept on disk; the function itself without numba.

    It must make no arrays: without counting references to those that it is given (`_nrt`) loops ran 9 times as fast.
    """
    if importlib.util.find_spec("numba") is None:
        return function
    from numba import njit

    options: dict[str, Any] = {"cache": True, "_nrt": False}
    compiled: F = njit(**options)(function)
    return compiled


def is_compiled(function: Callable[..., object]) -> bool:
    """Return whether a function runs as machine code, so that it wants arrays; else lists are faster."""
    return hasattr(function, "py_func")
