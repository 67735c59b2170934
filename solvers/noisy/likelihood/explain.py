"""Why there is no world: the statements that clash, and for noisy counts the confidence beyond which there is one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from solvers.foundation.errors import ContradictionError, EmptyConfidenceSet, Inconclusive, ReleaseError, Unsupported
from solvers.foundation.exact import complement_text, level_text
from solvers.foundation.limits import Limits
from solvers.noisy.likelihood.most_likely import level_beyond
from solvers.programs.quickxplain import conflict_of
from solvers.statements.observations import widened
from solvers.statements.release import Release


@dataclass(slots=True)
class Clash:
    """The statements of a release that clash, and those that clash whatever the noise; None where not looked for."""

    conflict: tuple[str, ...] | None = None
    beyond_noise: tuple[str, ...] | None = None


def known_conflict(release: Release, limits: Limits) -> tuple[str, ...]:
    """Return the statements that clash, found once per release; it may take some seconds more than the limits.

    Where intervals around noisy counts left fewer rows than were published, those intervals clash, not the rows.
    """
    known = release.derived.part(Clash)
    if known.conflict is None:
        limits.report("there is no world: looking for the statements that clash")
        time_left = limits.stage("explanation")
        sure, found = release.certain_rows, tuple[str, ...]()
        if sure is not None and sure != release.rows:
            found = conflict_of(replace(release, rows=sure), time_left)
        known.conflict = found or conflict_of(release, time_left)
    return known.conflict


def clash_of(release: Release, conflict: tuple[str, ...], limits: Limits) -> tuple[str, ...]:
    """Return the statements that clash whatever the noise, of a release without a dataset at its confidence.

    Raises `EmptyConfidenceSet` where only this confidence leaves none: which statements clash at it, and beyond which
    confidence there is a dataset. `conflict`: what is known to clash here. Looked for once per release.
    """
    if release.confidence in {None, 1}:
        return conflict
    known = release.derived.part(Clash)
    if known.beyond_noise is None:
        known.beyond_noise = _beyond_noise(release, conflict, limits)
    return known.beyond_noise


def _beyond_noise(release: Release, conflict: tuple[str, ...], limits: Limits) -> tuple[str, ...]:
    """Return the statements that clash whatever the noise; see `clash_of`."""
    level = float(release.confidence or 1)
    text = f"no dataset has all its noise inside the joint intervals at confidence {level_text(level)}"
    text += f" ({'; '.join(conflict[:8])})" if conflict else ""
    wide = widened(release)
    try:
        found = level_beyond(wide, limits.stage("level that fits"))
    except ContradictionError:
        return known_conflict(wide, limits)
    except (Inconclusive, Unsupported, ReleaseError):
        if all(o is None or o.law.bounded for o in release.observed):
            return conflict
        text += ": so much noise is improbable, not impossible; ask at a higher confidence"
        raise EmptyConfidenceSet(text, level, conflict) from None
    text += f"; there is one beyond confidence {complement_text(found.improbability)}"
    raise EmptyConfidenceSet(text, level, conflict, found.improbability if found.proved else None)
