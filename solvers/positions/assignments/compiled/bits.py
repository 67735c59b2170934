"""Compiled by numba; and single bits of words.

Numbers of mixed sign would become floats: words and shifts are uint64 throughout.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from solvers.statements.meetings import Words

F = TypeVar("F", bound=Callable[..., Any])
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
ONE, NONE, SHIFT = np.uint64(1), np.uint64(0), np.uint64(58)
DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
LOWEST = np.zeros(64, dtype=np.int64)  # the number of the lowest bit, by the upper six bits of its product
for _bit in range(64):
    LOWEST[(0x03F79D71B4CB0A89 << _bit & (1 << 64) - 1) >> 58] = _bit


def compiled(function: F) -> F:
    """Return a function compiled as part of what calls it."""
    return cast(F, njit(**OPTIONS)(function))


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
