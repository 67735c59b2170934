"""What every model counter of other people says about a release, asked by name: estimates, proved by nobody."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, replace

from solvers.engines import COUNTERS
from solvers.engines.chain import load_engine
from solvers.engines.counters import ModelCounter, log2_above
from solvers.foundation.errors import ReconError, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import HASHED
from solvers.statements.questions.query import Convention, Count
from solvers.statements.release import Release


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one counter says: the number of ordered worlds (None: it does not say), its guarantee, seconds, a note.

    The note says why there is no number, or what else there is to know about it.
    """

    engine: str
    value: int | None
    guarantee: str
    seconds: float
    note: str


def estimates(release: Release, convention: Convention, limits: Limits, only: Collection[str] = ()) -> list[Estimate]:
    """Return what every counter says, or those named in `only`; the time left is shared among them.

    A counter that is missing, refuses, crashes, meets a limit or says what cannot be true has no value, and its note
    says why. Counters that should be exact and disagree lose their values too. Raises `Unsupported` for a name that
    is no counter's.
    """
    names = [name for name, _ in COUNTERS]
    if unknown := [name for name in only if name not in names]:
        raise Unsupported(f"there is no counter {unknown[0]!r}: there are {', '.join(names)}")
    every = [load_engine(entry) for name, entry in COUNTERS if not only or name in only]
    asked = [engine for engine in every if isinstance(engine, ModelCounter)]
    found = []
    for done, counter in enumerate(asked):
        found.append(_estimate_of(counter, release, convention, limits.stage("counter", parts=len(asked) - done)))
    return _agreeing_estimates(found)


def _estimate_of(counter: ModelCounter, release: Release, convention: Convention, limits: Limits) -> Estimate:
    """Return what one counter says."""
    begun = time.perf_counter()
    value, note = None, counter.missing() or counter.refuses(release, Count(convention)) or ""
    if not note:
        try:
            value = counter.estimate(release, limits)
            note = "" if value else "that no world was counted is no proof that there is none"
        except ReconError as error:
            note = str(error)
    return Estimate(counter.name, value, counter.guarantee, time.perf_counter() - begun, note)


def _agreeing_estimates(found: list[Estimate]) -> list[Estimate]:
    """Return the estimates, without the values of counters that should be exact and differ."""
    exact = {e.engine: e.value for e in found if e.guarantee == HASHED and e.value is not None}
    if len(set(exact.values())) < 2:
        return found
    text = ", ".join(f"{name} counted 2^{log2_above(value):.6f}" for name, value in exact.items())
    note = f"{text}: they should be equal, so neither may be used"
    return [replace(e, value=None, note=note) if e.engine in exact else e for e in found]
