"""A release as clauses for other solvers: the numbered bits of its rows, and rows back from a model of the clauses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from solvers.clauses.lowering import NO_PART as LOWERED_NO_PART
from solvers.clauses.lowering import PRESENT, Bit, Lowered, lower
from solvers.foundation.limits import Limits
from solvers.statements.release import Release

ClauseBit = Bit  # what a variable of a row says
ClauseForm = Lowered  # the clauses, with their bits
EXISTS = PRESENT  # the attribute of a bit that says that its row exists
NO_PART = LOWERED_NO_PART  # the part of a bit that says how far along in a part's values its row is


def clauses_of(release: Release, limits: Limits) -> ClauseForm:
    """Return the clauses of a release over raw values; raises `Unsupported` or `TooLarge` where they are too many."""
    return lower(release, limits, raw=True)


def rows_of(release: Release, variables: int, bits: Sequence[ClauseBit], model: Sequence[int]) -> NDArray[Any]:
    """Return the rows (rows, attributes) that the true variables of a model mean; `EngineError` where none are."""
    none: tuple[tuple[int, ...], ...] = ((),) * (release.rows.high or 0)
    return Lowered(release, True, variables, (), none, tuple(bits)).decode(model)
