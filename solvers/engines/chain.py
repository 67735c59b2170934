"""The chain: the cheapest engine that does not refuse answers; the others' reasons stay with the answer.

Engines are imported one at a time, when it is their turn (`solvers.engines.ENGINES`).
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from solvers.engines import ENGINES, made
from solvers.foundation.errors import ContradictionError, EngineError, Inconclusive, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.questions.answers import Answer, CountAnswer, DecideAnswer
from solvers.questions.combined import combined, joined, left_open, left_to_others
from solvers.questions.engine import Engine
from solvers.questions.query import (
    Attain,
    Convention,
    Decide,
    Enumerate,
    Joint,
    MostLikely,
    Query,
    Sample,
    Settle,
    Targets,
)
from solvers.questions.relaxed import loosen, unnamed
from solvers.statements.release import Release

if TYPE_CHECKING:
    from solvers.engines.estimates import Estimate

NOTHING = "no answer within the limits"
OF_WORLDS = (Attain, Enumerate, Joint, MostLikely, Sample)  # of single worlds, or of how they share out
A = TypeVar("A", bound=Answer)


@dataclass(frozen=True, slots=True)
class ChainStep:
    """One engine of the chain and why it refuses a question before any work (None: it would be asked)."""

    engine: str
    refusal: str | None


def engines() -> Iterator[Engine]:
    """Yield one of every engine in the order of the chain; each is imported when it is yielded."""
    for module, name in ENGINES:
        yield made(module, name)


def engines_for(release: Release, query: Query) -> Iterator[Engine]:
    """Yield the engines that answer this kind of question, in the order in which they are asked of a release.

    That of the chain; where bags are known, the engines that use them whole come first.
    """
    for whole in (True, False) if release.bags else (None,):
        yield from (e for e in engines() if isinstance(query, e.answers) and whole in {None, e.uses_bags})


def refusal(engine: Engine, release: Release, query: Query) -> str | None:
    """Return why an engine is not asked, None where it is."""
    if release.bags and not engine.uses_bags and isinstance(query, OF_WORLDS):
        return f"it does not use the bags: {unnamed(release)}"
    if release.boosted and not engine.uses_leaf_values and isinstance(query, OF_WORLDS):
        return f"it does not use the leaf values: {unnamed(release)}"
    return engine.missing() or engine.refuses(release, query)


def plan(release: Release, query: Query) -> tuple[ChainStep, ...]:
    """Return the engines that answer this kind of question, in the order of the chain, with every refusal.

    Nothing is solved: an engine without a refusal may still find out that cells or clauses are too many.
    """
    return tuple(ChainStep(e.name, refusal(e, release, query)) for e in engines_for(release, query))


def answer(release: Release, query: Query, limits: Limits | None = None) -> Answer:
    """Return the answer of the cheapest engine that accepts the question, and what others add to it.

    What an engine leaves open (`left_open`) the next ones are asked: where there is no answer yet in any case, for
    better bounds while time is left, of which each gets a part ("behind an answer" of `STAGES`). Whoever is asked
    first may use up the time, so that no answer is worse for those behind it; only the search for a first world leaves
    them a part (`solvers.programs.bounded_answers`). The best bounds of all are the answer, under the name of the
    engine that gave the first; refusals, engines that gave up within the limits and those that added something, or
    failed behind an answer, stay in `Answer.trail`. Raises `Unsupported` with every reason when all refuse,
    `Inconclusive` when some of them met a limit, `EngineError` where one fails before there is an answer. Of a loosened
    release the answer is what that of the engines proves (`solvers.questions.relaxed`). Where bags are known, engines
    that use them whole get a part of the time ("bags"); what they do not settle the others are asked as ever, and what
    these prove is joined.
    """
    limits = limits or Limits()
    begun = time.perf_counter()
    if not release.bags:
        asked = in_turn(release, query, limits, engines_for(release, query))
        found = loosened(release, query, asked.answer(), unused(release, query))
        return finished(release, asked, query, found, begun, limits)
    whole = (e for e in engines_for(release, query) if e.uses_bags)
    asked = in_turn(release, query, limits.stage("bags"), whole)
    found = loosened(release, query, asked.answer(), release.loosened)
    rest = query if found is None else left_to_others(query, found)
    if rest is not None:
        others = (e for e in engines_for(release, rest) if not e.uses_bags)
        more = in_turn(release, rest, limits, others)
        outer = loosened(release, rest, more.answer(), release.unstated)
        asked = ChainResult(found, [*asked.before, *more.before], [], asked.limited or more.limited)
        if found is not None and outer is None:
            found = replace(found, trail=(*found.trail, *more.before))
        elif outer is not None:
            found = outer if found is None else joined(query, found, outer)
    return finished(release, asked, query, found, begun, limits)


def unused(release: Release, query: Query) -> tuple[str, ...]:
    """Return what engines leave out that know no bags; those that name worlds use the leaf values (`refusal`)."""
    lines = release.unstated if release.boosted and not isinstance(query, OF_WORLDS) else release.loosened
    return () if isinstance(query, Settle | Targets) else lines


@dataclass(slots=True)
class ChainResult:
    """What engines said that were asked in turn: the best answer, why those before it gave none, and those behind it.

    `limited`: one of them met a limit.
    """

    best: Answer | None
    before: list[str]
    behind: list[str]
    limited: bool

    def answer(self) -> Answer | None:
        """Return the best answer with what the others said."""
        if self.best is None:
            return None
        behind = self.behind if self.best.status != "unsat" else []
        trail = [*self.before, *(() if self.best.status == "unknown" else self.best.trail), *behind]
        return replace(self.best, trail=tuple(trail))


def in_turn(release: Release, query: Query, limits: Limits, engines: Iterable[Engine]) -> ChainResult:
    """Return what engines say that are asked one after the other until nothing is left open; see `answer`."""
    best: Answer | None = None
    rest = query
    before: list[str] = []
    behind: list[str] = []
    limited = False
    for engine in engines:
        if best is not None and best.status != "unknown" and limits.expired():
            break
        trail = before if best is None or best.status == "unknown" else behind
        reason = refusal(engine, release, rest)
        if reason is not None:
            trail.append(f"{engine.name}: {reason}")
            continue
        try:
            some = limits if best is None or best.status == "unknown" else limits.stage("behind an answer")
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
        found = no_worse(release, rest, found)
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
    return ChainResult(best, before, behind, limited)


def no_worse(release: Release, query: Query, found: Answer) -> Answer:
    """Return an answer whose bounds on selections are no worse than any published count around or inside them."""
    if not (isinstance(query, Decide) and isinstance(found, DecideAnswer)):
        return found
    from solvers.engines.figures.published_counts import sharpened

    return sharpened(release, query.selections, found)


def loosened(release: Release, query: Query, found: Answer | None, unstated: tuple[str, ...]) -> Answer | None:
    """Return an answer for what it proves where something is not used; None stays None."""
    return loosen(release, query, found, unstated) if found is not None and unstated else found


def finished(
    release: Release, asked: ChainResult, query: Query, found: Answer | None, begun: float, limits: Limits
) -> Answer:
    """Return an answer with its seconds, what the clock cut, and where there is no world the statements that clash.

    Raises `Unsupported` or `Inconclusive` where there is no answer; see `answer`.
    """
    if found is None and asked.limited:
        raise Inconclusive("; ".join(asked.before))
    if found is None:
        raise Unsupported(f"no engine answers {type(query).__name__} for this release", tuple(asked.before))
    if found.status == "unsat" and not found.conflict:
        from solvers.noisy.likelihood.explain import known_conflict

        found = replace(found, conflict=known_conflict(release, limits))
    cut = () if found.status in {"exact", "unsat"} else limits.cut_short()
    return replace(found, seconds=time.perf_counter() - begun, trail=(*found.trail, *cut))


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
        from solvers.noisy.likelihood.explain import clash_of

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
