"""What a file publishes of single columns of its training rows, beside counts: means, extremes, categories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from encoders.domain.values import Cell, Value


@dataclass(frozen=True)
class ColumnFigures:
    """The figures of one column, an attribute or a column of the domain; what is None was not published.

    They are about `make` of its values (None: the values themselves; NaN: no number). `rows`: how many have a number.
    `variance` is that of all rows (divided by their number), `largest` the greatest absolute value. `quantiles` are
    (j, B, value): j of B parts of the rows lie below. `commonest`: the first of the values that most rows have.
    `values`: those that occur, all of them; `among`: some that do, if not all, and no others; `gap`: whether a missing
    one does (None: not said). `source` names the figures.
    """

    column: str
    source: str
    make: Callable[[Cell], Value] | None = field(default=None, compare=False)
    rows: int | None = None
    mean: float | None = None
    variance: float | None = None
    least: float | None = None
    greatest: float | None = None
    largest: float | None = None
    quantiles: tuple[tuple[int, int, float], ...] = ()
    commonest: Value | None = None
    values: frozenset[Value] | None = None
    among: frozenset[Value] | None = None
    gap: bool | None = None
