"""The base class of engines and the chain: the cheapest engine that does not refuse answers.

Engines are the modules of `solvers/engines`, found by file name and imported on use; each has one class `KindEngine`.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, TypeVar

from solvers.foundation.errors import (
    ContradictionError,
    EmptyConfidenceSet,
    Inconclusive,
    ReleaseError,
    TooLarge,
    Unsupported,
)
from solvers.foundation.exact import complement_text, level_text
from solvers.foundation.limits import Limits
from solvers.questions.query import Answer, Enumerate, MostLikely, Query, Sample
from solvers.questions.relaxed import loosen
from solvers.statements.release import Release

EXPLAIN = 10.0  # seconds that the explanation of a contradiction may take even where no time is left
A = TypeVar("A", bound=Answer)


class Engine(ABC):
    """One way to answer questions. Capabilities are data on the class; a refusal always carries its reason."""

    name: ClassVar[str]
    rank: ClassVar[int]  # cheap engines have low ranks and are asked first
    answers: ClassVar[tuple[type, ...]]  # the kinds of question
    needs: ClassVar[tuple[str, ...]] = ()  # importable packages
    extra: ClassVar[str] = ""  # the extra that installs them
    about: ClassVar[str] = ""

    @abstractmethod
    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why this engine does not answer, or None."""

    @abstractmethod
    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return the answer; limits end in a status, not in an exception."""

    @classmethod
    def missing(cls) -> str | None:
        """Return which package is not installed and how to get it, or None."""
        for package in cls.needs:
            if importlib.util.find_spec(package) is None:
                how = f"recon-worlds[{cls.extra}]" if cls.extra else "recon-worlds"
                return f"{package} is not installed: pip install '{how}'"
        return None


COARSE = "an attribute whose values are summed has too many values to cut at each: worlds are bounded, not built"


def no_coupling(release: Release, query: Query) -> str | None:
    """Return why no engine over cells of several blocks answers, None where they may."""
    if release.rows.high is None:
        return "the number of rows is unbounded"
    if getattr(query, "convention", None) == "assigned":
        return "'assigned' worlds need one partition with exact counts"
    if release.domain.relative and isinstance(query, Enumerate | Sample | MostLikely):
        return "a continuous attribute has no 'resolution': there are no discrete worlds"
    return None


def engines() -> list[Engine]:
    """Return one of every engine, cheapest first."""
    from solvers import engines as folder

    found = [
        importlib.import_module(f"solvers.engines.{module.name}").KindEngine()
        for module in pkgutil.iter_modules(folder.__path__)
    ]
    return sorted(found, key=lambda e: e.rank)


def answer(release: Release, query: Query, limits: Limits | None = None) -> Answer:
    """Return the answer of the cheapest engine that accepts the question.

    The refusals before it, and engines that gave up within the limits, stay in `Answer.trail`. Raises `Unsupported`
    with every reason when all refuse, `Inconclusive` when some of them met a limit. Of a loosened release the answer is
    what that of the engine proves (`solvers.questions.relaxed`).
    """
    limits = limits or Limits()
    trail: list[str] = []
    limited = False
    for engine in engines():
        if not isinstance(query, engine.answers):
            continue
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
            found = replace(found, conflict=known_conflict(release, limits))
        if release.loosened:
            found = loosen(release, query, found)
        seconds = time.perf_counter() - begun
        return replace(found, engine=engine.name, seconds=seconds, trail=(*trail, *found.trail))
    if limited:
        raise Inconclusive("; ".join(trail))
    raise Unsupported(f"no engine answers {type(query).__name__} for this release", tuple(trail))


def known_conflict(release: Release, limits: Limits) -> tuple[str, ...]:
    """Return the statements that clash, found once per release; it may take some seconds more than the limits.

    Where intervals around noisy counts left fewer rows than were published, those intervals clash, not the rows.
    """
    if "conflict" not in release.memo:
        from solvers.conflicts.quickxplain import conflict_of

        limits.report("there is no world: looking for the statements that clash")
        time_left = limits.lasting(max(EXPLAIN, limits.left()))
        sure, found = release.certain_rows, tuple[str, ...]()
        if sure is not None and sure != release.rows:
            found = conflict_of(replace(release, rows=sure), time_left)
        release.memo["conflict"] = found or conflict_of(release, time_left)
    known: tuple[str, ...] = release.memo["conflict"]
    return known


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
        found = replace(found, conflict=clash_of(release, found.conflict, limits or Limits()))
        if kind.__name__ != "CountAnswer":
            message = "the statements contradict each other: there is no possible world"
            raise ContradictionError(message, found.conflict)
    if found.status == "unknown":
        raise Inconclusive("; ".join(found.trail) or f"{found.engine} found no answer within its limits")
    if not isinstance(found, kind):
        raise TypeError(f"{found.engine} answered {type(query).__name__} with a {type(found).__name__}")
    return found


def clash_of(release: Release, conflict: tuple[str, ...], limits: Limits) -> tuple[str, ...]:
    """Return the statements that clash whatever the noise, of a release without a dataset at its confidence.

    Raises `EmptyConfidenceSet` where only this confidence leaves none: which statements clash at it, and beyond which
    confidence there is a dataset. `conflict`: what is known to clash here. Looked for once per release.
    """
    if release.confidence in {None, 1}:
        return conflict
    if "clash" not in release.memo:
        release.memo["clash"] = beyond_noise(release, conflict, limits)
    found: tuple[str, ...] = release.memo["clash"]
    return found


def beyond_noise(release: Release, conflict: tuple[str, ...], limits: Limits) -> tuple[str, ...]:
    """Return the statements that clash whatever the noise; see `clash_of`."""
    from solvers.likelihood.most_likely import level_beyond
    from solvers.statements.observations import widened

    level = float(release.confidence or 1)
    said = f"no dataset has all its noise inside the joint intervals at confidence {level_text(level)}"
    said += f" ({'; '.join(conflict[:8])})" if conflict else ""
    wide = widened(release)
    try:
        found = level_beyond(wide, limits.lasting(EXPLAIN))
    except ContradictionError:
        return known_conflict(wide, limits)
    except (Inconclusive, Unsupported, ReleaseError):
        if all(o is None or o.law.bounded for o in release.observed):
            return conflict
        said += ": so much noise is improbable, not impossible; ask at a higher confidence"
        raise EmptyConfidenceSet(said, level, conflict) from None
    said += f"; there is one beyond confidence {complement_text(found.improbability)}"
    raise EmptyConfidenceSet(said, level, conflict, found.improbability if found.proved else None)


def iter_statuses() -> Iterator[tuple[str, str, str]]:
    """Yield (name, what it is for, status) of every engine."""
    for engine in engines():
        yield engine.name, engine.about, engine.missing() or "available"
