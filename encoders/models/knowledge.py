"""What is encoded beside published models: figures of single columns, what an adversary knows, what somebody asks.

What a file publishes of single columns of its training rows, beside counts: means, extremes, categories.

What an adversary knows: of everybody the features, of some the label; or of rows by position some values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Condition
from encoders.domain.values import Cell, Value


@dataclass(frozen=True)
class ColumnFigures:
    """The figures of one column, an attribute or a column of the domain; what is None was not published.

    They are about `make` of its values (None: the values themselves; NaN: no number). `rows`: how many have a number.
    `variance` is that of all rows (divided by their number), `largest` the greatest absolute value. `quantiles` are
    (j, B, value): j of B parts of the rows lie below. `commonest`: the first of the values that most rows have.
    `values`: those that occur, all of them; `among`: some that do, if not all, and no others; `gap`: whether a missing
    one does (None: not said). `source` names the figures. `drawn`: they are of so many rows that were drawn, if there
    were more.
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
    drawn: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class KnownRows:
    """A table of all rows: in column j row i has the value `values[j][codes[i, j]]` (None: missing).

    Columns are attributes, binary columns or the label of a domain; of the label None says that it is not known.
    Attributes without a column are open. `file` says where the table is from. It is no publication, and stands in no
    release file. `dataset`: whose rows, of related data sets ("": the release's). `by_value`: cells are cut at every
    value of the table, so that profiles may ask for one that no statement distinguishes.
    """

    kind: ClassVar[str] = "known_rows"
    columns: tuple[str, ...]
    values: tuple[tuple[Cell, ...], ...]
    codes: NDArray[np.int32]
    file: str = ""
    name: str = "known rows"
    dataset: str = ""
    by_value: bool = False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KnownRows):
            return NotImplemented
        mine, theirs = ((x.columns, x.file, x.name, x.dataset) for x in (self, other))
        return mine == theirs and self.rows == other.rows

    def __hash__(self) -> int:
        return hash((self.columns, self.name, self.codes.shape))

    @property
    def rows(self) -> list[tuple[Cell, ...]]:
        """Return the rows, a value per column."""
        return list(zip(*([v[c] for c in codes] for v, codes in self.by_column()), strict=True))

    def by_column(self) -> list[tuple[tuple[Cell, ...], list[int]]]:
        """Return per column its values and the rows' codes."""
        return [(v, self.codes[:, j].tolist()) for j, v in enumerate(self.values)]


@dataclass(frozen=True, eq=False)
class KnownPositions:
    """What an adversary knows of rows by their position: a table, the attributes that it has, and which values.

    `given` (rows, attributes) bool: the value is known. `sha256`: of the table. `cells`: in words, by position.
    """

    file: str
    sha256: str
    names: tuple[str, ...]
    given: NDArray[np.bool_]
    cells: Mapping[int, str] = field(default_factory=dict)

    @property
    def values(self) -> int:
        """Return how many values are known."""
        return int(self.given.sum())

    @property
    def positions(self) -> int:
        """Return of how many positions some value is known."""
        return int(self.given.any(axis=1).sum())

    def to_dict(self) -> dict[str, object]:
        """Return what a certificate says of the table."""
        return {
            "file": self.file,
            "sha256": self.sha256,
            "positions": self.positions,
            "values": self.values,
            "attributes": list(self.names),
        }


@dataclass(frozen=True, slots=True)
class GroupQuestion:
    """No publication but a question about a group and up to two numeric attributes: cells are cut as it needs."""

    kind: ClassVar[str] = "question"
    condition: Condition
    of: tuple[str, ...] = ()
    name: str = "question"
