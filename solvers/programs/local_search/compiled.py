"""The loops as machine code where numba is installed, and as they are written where it is not.

Both give the same numbers: the loops use whole numbers of 64 bits alone, and no random generator but their own.
Compiling takes seconds, once, and is left out where the time is short; see `solvers.foundation.native`.

Local search from a start to a world: temperatures, restarts, and a look at the clock between chunks of moves.

How long a round lasts is counted in moves, never in seconds, so that equal seeds give equal rows wherever the time
suffices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from solvers.foundation.array_types import Ints
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.foundation.native import cached_compiled, fingerprint, installed, ready_to_call
from solvers.programs.local_search import loops
from solvers.programs.local_search import loops as likely_loops
from solvers.programs.local_search.loops import KEPT, LoopState
from solvers.programs.local_search.problem import SearchProblem, SearchTables

SOURCES = ("loops.py", "problem.py", "compiled.py")


class LoopFunctions(NamedTuple):
    """The loops that are called from outside, and whether they are compiled and want arrays; else lists are faster."""

    enter: Callable[..., Any]
    anneal: Callable[..., Any]
    sway: Callable[..., Any]
    machine: bool


PLAIN = LoopFunctions(loops.enter, loops.anneal, likely_loops.sway, False)


def _loops_for(limits: Limits, likely: bool = False) -> LoopFunctions:
    """Return the loops for a search, or for one that goes on to likely worlds.

    They stay as they are written without numba, and where they were never compiled and the time is short.
    """
    if not installed():
        return PLAIN
    made = _compiled()
    return made if ready_to_call(made[:3] if likely else made[:2], limits) else PLAIN


@cache
def _compiled() -> LoopFunctions:
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
    made = _outer(fingerprint(Path(__file__).parent / name for name in SOURCES))
    first, second, third = (cached_compiled(_entry(function, names), **options) for function in made)
    return LoopFunctions(first, second, third, True)


def _entry(function: Any, names: dict[str, Any]) -> Callable[..., Any]:
    """Return a function that finds compiled loops under their names, and closes over what it closed over."""
    return FunctionType(function.__code__, names, function.__name__, None, function.__closure__)


def _outer(sources: int) -> tuple[Callable[..., Any], ...]:
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


HOT, COLD = 1.8, 0.7  # the temperatures at the beginning and at the end of a round
ROUND = 1 << 17  # moves of the first round; each further one has twice as many
EFFORT = 1 << 16  # moves per statement and row: who found no world by then is unlikely to find one
STEP = 1024  # moves at one temperature
MOVE, SLOW = 6e-8, 50.0  # of work: of a move per counter, measured; times as much where nothing is compiled
CHUNK = 32  # moves between two looks at the clock where nothing is compiled
WORSE = 32  # by so much worse no move is ever taken


class SearchResult(NamedTuple):
    """How a search ended: (rows, attributes searched) parts of a world or None, the least cost met.

    `end`: the state, the tables and their loops, for going on.
    """

    world: Ints | None
    off: int
    end: tuple[LoopState, SearchTables, LoopFunctions]


def searched(
    problem: SearchProblem, seed: int, limits: Limits, effort: int = EFFORT, likely: bool = False
) -> SearchResult:
    """Search for parts that meet all counts. Cost: the time, or `effort` moves per statement and row.

    Raises `Inconclusive` where there is not even the time to place all rows once. The same seed gives the same rows,
    compiled or not, unless the time ends the search first. `likely`: the state is for going on with likely worlds.
    """
    dice = np.random.default_rng(seed)
    best = -1
    made = _loops_for(limits, likely)
    each = work_of_move(problem, made.machine)
    for tries, length in enumerate(_rounds(problem, effort)):
        if not limits.pay(each * problem.rows):  # every row is placed in every counter, as a move places one
            if not tries:
                raise Inconclusive(f"too little time to begin a local search over {problem.rows:,} rows")
            break
        state, tables = _started(problem, dice, made.machine)
        end = state, tables, made
        made.enter(tables, state)
        for step in range(length // STEP):
            share = step / (length // STEP)
            _heat(state, HOT * (COLD / HOT) ** share)
            chunks = [STEP] if made.machine else [CHUNK] * (STEP // CHUNK)
            for moves in chunks:
                least = int(made.anneal(tables, state, moves))
                best = least if best < 0 else min(best, least)
                if state.numbers[1] == 0:
                    return SearchResult(_rows_of(problem, state), 0, end)
                limits.charge(moves * each)
                if limits.expired():
                    return SearchResult(None, best, end)
            if step % 16 == 0:
                limits.report(f"local search, round {tries + 1}: at best {best:,} rows off")
    return SearchResult(None, best, end)


def work_of_move(problem: SearchProblem, machine: bool) -> float:
    """Return the work of one move."""
    return MOVE * (4 + int(problem.tables.sizes[0])) * (1.0 if machine else SLOW)


def _rounds(problem: SearchProblem, effort: int) -> Iterator[int]:
    """Yield how many moves each round has, until there were `effort` for every statement and row, one at least."""
    length, left = ROUND, max(1, effort * (len(problem.tables.low) + problem.rows))
    while left > 0:
        yield length
        left -= length
        length *= 2


def _heat(state: LoopState, temperature: float) -> None:
    """Set the temperature: a move that is worse by d is taken with probability exp(-d / temperature)."""
    for worse in range(WORSE):
        state.limit[worse] = int(math.exp(-worse / temperature) * (1 << 32))


def _started(problem: SearchProblem, dice: np.random.Generator, machine: bool) -> tuple[LoopState, SearchTables]:
    """Return random rows of every label, and the tables, as arrays for machine code, or as lists."""
    tables = problem.tables
    counters, width, _, label, _, n = tables.sizes.tolist()
    rows = np.empty((n, width), dtype=np.int64)
    for k, parts in enumerate(tables.parts.tolist()):
        rows[:, k] = dice.integers(0, parts, size=n)
    if label >= 0:
        rows[:, label] = np.repeat(np.arange(len(problem.classes)), problem.classes)
    words = dice.integers(1, 1 << 32, size=4)
    statements = len(tables.low)
    state = LoopState(
        rows.reshape(-1), zeros(n * counters), zeros(statements), zeros(statements + 1), zeros(statements), zeros(3),
        words.astype(np.int64), zeros(KEPT * width + 1), zeros(KEPT * counters + 1), zeros(KEPT), zeros(KEPT),
        zeros(width + 1), zeros(WORSE),
    )  # fmt: skip
    if machine:
        return state, tables
    return LoopState(*(x.tolist() for x in state)), SearchTables(*(x.tolist() for x in tables))


def zeros(length: int) -> Any:
    """Return room for whole numbers."""
    return np.zeros(length, dtype=np.int64)


def _rows_of(problem: SearchProblem, state: LoopState) -> Ints:
    return np.array(state.rows, dtype=np.int64).reshape(problem.rows, len(problem.attributes))
