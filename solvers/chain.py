"""The chain: the cheapest engine that does not refuse answers; the others' reasons stay with the answer.

Engines are imported one at a time, when it is their turn (`solvers.engines.ENGINES`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from solvers.engines import ENGINES, made
from solvers.foundation.errors import ContradictionError, Inconclusive, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.questions.engine import Engine
from solvers.questions.query import Answer, Query
from solvers.questions.relaxed import loosen
from solvers.statements.release import Release

A = TypeVar("A", bound=Answer)


@dataclass(frozen=True, slots=True)
class Step:
    """One engine of the chain and why it refuses a question before any work (None: it would be asked)."""

    engine: str
    refusal: str | None


def engines() -> Iterator[Engine]:
    """Yield one of every engine in the order of the chain; each is imported when it is yielded."""
    for module, name in ENGINES:
        yield made(module, name)


def engines_for(query: Query) -> Iterator[Engine]:
    """Yield the engines that answer this kind of question, in the order of the chain."""
    return (engine for engine in engines() if isinstance(query, engine.answers))


def plan(release: Release, query: Query) -> tuple[Step, ...]:
    """Return the engines that answer this kind of question, in the order of the chain, with every refusal.

    Nothing is solved: an engine without a refusal may still find out that cells or clauses are too many.
    """
    return tuple(Step(e.name, e.missing() or e.refuses(release, query)) for e in engines_for(query))


def answer(release: Release, query: Query, limits: Limits | None = None) -> Answer:
    """Return the answer of the cheapest engine that accepts the question.

    The refusals before it, and engines that gave up within the limits, stay in `Answer.trail`. Raises `Unsupported`
    with every reason when all refuse, `Inconclusive` when some of them met a limit. Of a loosened release the answer is
    what that of the engine proves (`solvers.questions.relaxed`).
    """
    limits = limits or Limits()
    trail: list[str] = []
    limited = False
    for engine in engines_for(query):
        reason = engine.missing() or engine.refuses(release, query)
        if reason is not None:
            trail.append(f"{engine.name}: {reason}")
            continue
        begun = time.perf_counter()
        try:
            found = engine.answer(release, query, limits)
        except (Unsupported, Inconclusive) as error:
            limited = limited or isinstance(error, Inconclusive | TooLarge)
            trail.append(f"{engine.name}: {error}")
            continue
        if found.status == "unsat" and not found.conflict:
            from solvers.likelihood.explain import known_conflict

            found = replace(found, conflict=known_conflict(release, limits))
        if release.loosened:
            found = loosen(release, query, found)
        seconds = time.perf_counter() - begun
        return replace(found, engine=engine.name, seconds=seconds, trail=(*trail, *found.trail))
    if limited:
        raise Inconclusive("; ".join(trail))
    raise Unsupported(f"no engine answers {type(query).__name__} for this release", tuple(trail))


def ask(release: Release, query: Query, kind: type[A], limits: Limits | None = None) -> A:
    """Return `answer(...)`, checked to be of the kind that the question calls for.

    Raises `ContradictionError` when the release has no world, `Inconclusive` when limits leave no answer.
    """
    if release.rows.high is None:
        raise Inconclusive("the number of rows is unbounded, so there are infinitely many worlds: give 'rows' (--rows)")
    try:
        found = answer(release, query, limits)
    except Unsupported as error:
        if release.rows.exact:
            raise
        raise Inconclusive(str(error)) from None
    if found.status == "unsat":
        from solvers.likelihood.explain import clash_of

        found = replace(found, conflict=clash_of(release, found.conflict, limits or Limits()))
        if kind.__name__ != "CountAnswer":
            message = "the statements contradict each other: there is no possible world"
            raise ContradictionError(message, found.conflict)
    if found.status == "unknown":
        raise Inconclusive("; ".join(found.trail) or f"{found.engine} found no answer within its limits")
    if not isinstance(found, kind):
        raise TypeError(f"{found.engine} answered {type(query).__name__} with a {type(found).__name__}")
    return found


def iter_statuses() -> Iterator[tuple[str, str, str]]:
    """Yield (name, what it is for, status) of every engine."""
    for engine in engines():
        yield engine.name, engine.about, engine.missing() or "available"
