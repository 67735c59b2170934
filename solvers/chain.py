"""The chain: the cheapest engine that does not refuse answers; the others' reasons stay with the answer.

Engines are imported one at a time, when it is their turn (`solvers.engines.ENGINES`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from solvers.engines import ENGINES, made
from solvers.foundation.errors import ContradictionError, EngineError, Inconclusive, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.questions.combined import combined, left_open
from solvers.questions.engine import Engine
from solvers.questions.query import Answer, Convention, CountAnswer, Decide, Query
from solvers.questions.relaxed import loosen
from solvers.statements.release import Release

if TYPE_CHECKING:
    from solvers.engines.estimates import Estimate

NOTHING = "no answer within the limits"
BEHIND = 0.5  # of the time left for an engine behind an answer: proofs and further questions need the rest
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
    """Return the answer of the cheapest engine that accepts the question, and what others add to it.

    What an engine leaves open (`left_open`) the next ones are asked: where there is no answer yet in any case, for
    better bounds while time is left, of which each gets a part (`BEHIND`). Whoever is asked first may use up the time,
    so that no answer is worse for those behind it; only the search for a first world leaves them a part
    (`solvers.programs.bounded_answers`). The best bounds of all are the answer, under the name of the engine that gave
    the first; refusals, engines that gave up within the limits and those that added something, or failed behind an
    answer, stay in `Answer.trail`. Raises `Unsupported` with every reason when all refuse, `Inconclusive` when some of
    them met a limit, `EngineError` where one fails before there is an answer. Of a loosened release the answer is what
    that of the engines proves (`solvers.questions.relaxed`).
    """
    limits = limits or Limits()
    begun = time.perf_counter()
    best: Answer | None = None
    rest = query
    before: list[str] = []
    behind: list[str] = []
    limited = False
    for engine in engines_for(query):
        if best is not None and best.status != "unknown" and limits.expired():
            break
        trail = before if best is None or best.status == "unknown" else behind
        reason = engine.missing() or engine.refuses(release, rest)
        if reason is not None:
            trail.append(f"{engine.name}: {reason}")
            continue
        try:
            some = limits if best is None or best.status == "unknown" else part_of(limits)
            found = replace(engine.answer(release, rest, some), engine=engine.name)
        except (Unsupported, Inconclusive) as error:
            limited = limited or isinstance(error, Inconclusive | TooLarge)
            trail.append(f"{engine.name}: {error}")
            continue
        except EngineError as error:  # what others said stands
            if best is None:
                raise
            trail.append(f"{engine.name}: {error}")
            continue
        if found.status == "unknown":
            trail += [f"{engine.name}: {line}" for line in found.trail or (NOTHING,)]
            best = best or found
        else:
            if best is not None and best.status != "unknown":
                trail += [f"{engine.name}: was asked for what was left open", *found.trail]
            best = found if best is None else combined(best, found)
        left = left_open(query, best)
        if left is None:  # the next engine is not even imported
            break
        rest = left
    if best is not None:
        behind = behind if best.status != "unsat" else []
        trail = [*before, *(() if best.status == "unknown" else best.trail), *behind]
        return finished(release, query, replace(best, trail=tuple(trail), seconds=time.perf_counter() - begun), limits)
    if limited:
        raise Inconclusive("; ".join(before))
    raise Unsupported(f"no engine answers {type(query).__name__} for this release", tuple(before))


def part_of(limits: Limits) -> Limits:
    """Return the limits of an engine that is asked for what another one left open."""
    return limits if math.isinf(limits.left()) else limits.share(BEHIND)


def finished(release: Release, query: Query, found: Answer, limits: Limits) -> Answer:
    """Return an answer with the statements that clash where there is no world, and for what it proves if loosened."""
    if found.status == "unsat" and not found.conflict:
        from solvers.likelihood.explain import known_conflict

        found = replace(found, conflict=known_conflict(release, limits))
    return loosen(release, query, found) if release.loosened else found


def ask(release: Release, query: Query, kind: type[A], limits: Limits | None = None) -> A:
    """Return `answer(...)`, checked to be of the kind that the question calls for.

    Equal selections are decided once. Raises `ContradictionError` when the release has no world, `Inconclusive` when
    limits leave no answer.
    """
    if release.rows.high is None:
        raise Inconclusive("the number of rows is unbounded, so there are infinitely many worlds: give 'rows' (--rows)")
    back = None
    if isinstance(query, Decide):
        distinct, back = query.selections.distinct()
        query = Decide(distinct, query.convention)
    try:
        found = answer(release, query, limits)
    except Unsupported as error:
        if release.rows.exact:
            raise
        raise Inconclusive(str(error)) from None
    if found.status == "unsat":
        from solvers.likelihood.explain import clash_of

        found = replace(found, conflict=clash_of(release, found.conflict, limits or Limits()))
        if not issubclass(kind, CountAnswer):
            message = "the statements contradict each other: there is no possible world"
            raise ContradictionError(message, found.conflict)
    if found.status == "unknown":
        raise Inconclusive("; ".join(found.trail) or f"{found.engine} found no answer within its limits")
    if not isinstance(found, kind):
        raise TypeError(f"{found.engine} answered {type(query).__name__} with a {type(found).__name__}")
    return found if back is None else found.at(back)


def estimates(release: Release, convention: Convention, limits: Limits, only: Collection[str] = ()) -> list[Estimate]:
    """Return what the model counters of other people say, proved by nobody; see `solvers.engines.estimates`."""
    from solvers.engines.estimates import estimates as asked

    return asked(release, convention, limits, only)


def iter_statuses() -> Iterator[tuple[str, str, str]]:
    """Yield (name, what it is for, status) of every engine."""
    for engine in engines():
        yield engine.name, engine.about, engine.missing() or "available"
