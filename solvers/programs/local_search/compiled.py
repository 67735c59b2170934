"""The loops as machine code where numba is installed, and as they are written where it is not.

Both give the same numbers: the loops use whole numbers of 64 bits alone, and no random generator but their own.
Compiling takes seconds, once, and is left out where the time is short; see `solvers.foundation.native.compiling`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

from solvers.foundation.limits import Limits
from solvers.foundation.native.compiling import fingerprint, installed, kept, ready
from solvers.programs.local_search import likely_loops, loops

SOURCES = ("loops.py", "likely_loops.py", "problem.py", "compiled.py")


class LoopFunctions(NamedTuple):
    """The loops that are called from outside, and whether they are compiled and want arrays; else lists are faster."""

    enter: Callable[..., Any]
    anneal: Callable[..., Any]
    sway: Callable[..., Any]
    machine: bool


PLAIN = LoopFunctions(loops.enter, loops.anneal, likely_loops.sway, False)


def loops_for(limits: Limits, likely: bool = False) -> LoopFunctions:
    """Return the loops for a search, or for one that goes on to likely worlds.

    They stay as they are written without numba, and where they were never compiled and the time is short.
    """
    if not installed():
        return PLAIN
    made = compiled()
    return made if ready(made[:3] if likely else made[:2], limits) else PLAIN


@cache
def compiled() -> LoopFunctions:
    """Return the loops as functions that are compiled at their first call.

    They make no arrays: without counting references to those that they are given (`_nrt`) they ran 9 times as fast.
    """
    from numba import njit

    options: dict[str, Any] = {"_nrt": False}
    names: dict[str, Any] = {}
    for module in (loops, likely_loops):
        names = {**vars(module), **names}
        for name, function in vars(module).items():  # in the order of the source: what a loop calls stands above it
            if isinstance(function, FunctionType) and function.__module__ == module.__name__:
                names[name] = njit(**options)(FunctionType(function.__code__, names, name))
    made = outer(fingerprint(Path(__file__).parent / name for name in SOURCES))
    first, second, third = (kept(entry(function, names), **options) for function in made)
    return LoopFunctions(first, second, third, True)


def entry(function: Any, names: dict[str, Any]) -> Callable[..., Any]:
    """Return a function that finds compiled loops under their names, and closes over what it closed over."""
    return FunctionType(function.__code__, names, function.__name__, None, function.__closure__)


def outer(sources: int) -> tuple[Callable[..., Any], ...]:
    """Return functions that call the loops, as long as these have sources: numba keeps them under that number."""

    def entered(p: Any, s: Any) -> None:
        if sources:
            enter(p, s)

    def annealed(p: Any, s: Any, iterations: int) -> Any:
        return anneal(p, s, iterations) if sources else 0

    def swayed(p: Any, d: Any, s: Any, c: Any, iterations: int) -> None:
        if sources:
            sway(p, d, s, c, iterations)

    return entered, annealed, swayed


enter, anneal, sway = PLAIN[:3]  # as `outer` names them; compiled ones take their place there
