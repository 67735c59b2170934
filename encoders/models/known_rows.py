"""What an adversary knows of everybody: the features of all rows, and of some of them the label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Cell


@dataclass(frozen=True, slots=True, eq=False)
class KnownRows:
    """A table of all rows: in column j row i has the value `values[j][codes[i, j]]` (None: missing).

    Columns are attributes, binary columns or the label of a domain; of the label None says that it is not known.
    Attributes without a column are open. `file` says where the table is from. It is no publication, and stands in no
    release file.
    """

    kind: ClassVar[str] = "known_rows"
    columns: tuple[str, ...]
    values: tuple[tuple[Cell, ...], ...]
    codes: NDArray[np.int32]
    file: str = ""
    name: str = "known rows"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KnownRows):
            return NotImplemented
        mine, theirs = (self.columns, self.file, self.name), (other.columns, other.file, other.name)
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
