"""Whether a bound says more than the domain and the number of rows do by themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from encoders.domain.domain import Condition
from encoders.encode.encoder import EncodedRelease, encode
from encoders.models.models import PublishedFigure, Table
from solvers.foundation.errors import ContradictionError, Inconclusive, Unsupported
from solvers.foundation.limits import Limits

if TYPE_CHECKING:
    from recon.queries.bounds.bound_answer import BoundAnswer

Ask = Callable[[EncodedRelease, Condition, "tuple[str, ...] | None", "str | None", Limits], "BoundAnswer"]


def informative(
    release: EncodedRelease, where: Condition, names: tuple[str, ...], found: BoundAnswer, ask: Ask
) -> bool | None:
    """Return whether bounds say more than the same question asked of the domain and the number of rows alone.

    None where that was not found out: of correlations that are bounded at all, and within the stage "domain alone".
    """
    if found.min is None or found.max is None:
        return True
    if len(names) == 2:
        return False if (found.min, found.max) == (-1.0, 1.0) else None
    try:
        known = ask(rows_alone(release), where, names or None, "ordered", Limits().stage("domain alone"))
    except (Inconclusive, Unsupported, ContradictionError):
        return None
    if known.min is None or known.max is None:
        return None
    return found.min > known.min or found.max < known.max


def rows_alone(release: EncodedRelease) -> EncodedRelease:
    """Return a release of the same domain that only says how many rows there are."""
    rows = release.declared if release.declared is not None and release.declared.high is not None else release.rows
    everybody = Table((PublishedFigure((), None, rows.low, rows.high),), "the number of rows")
    return encode(release.domain, [everybody], rows)
