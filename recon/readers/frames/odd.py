"""Cells that no row of the domain can have, each told with its row, its column and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from encoders.domain.domain import GUESSED, Domain
from solvers.foundation.errors import ReleaseError

DOUBT = "the domain is a guess from the model file: declare it (--domain)"
SHOWN = 20


@dataclass(frozen=True, slots=True)
class Odd:
    """A cell (or cells of one attribute that contradict each other): its row from 0, its column, and what is wrong."""

    row: int
    column: str
    value: Any
    why: str

    def __str__(self) -> str:
        return f"{self.place}: {self.why}"

    @property
    def place(self) -> str:
        """Return where it stands, rows counted from 1."""
        return f"row {self.row + 1}, column {self.column}" if self.column else f"row {self.row + 1}"


def doubt(domain: Domain) -> str:
    """Return what else may be wrong with a value that does not fit: a guessed domain."""
    return f"; {DOUBT}" if domain.source == GUESSED else ""


def odd_lines(odd: Sequence[Odd]) -> list[str]:
    """Return a line per cell, at most `SHOWN`, and how many more there are."""
    more = [f"and {len(odd) - SHOWN:,} more"] if len(odd) > SHOWN else []
    return [*map(str, odd[:SHOWN]), *more]


def refusal(odd: Sequence[Odd], domain: Domain, file: str) -> ReleaseError:
    """Return the refusal of a table with such cells: it lists them."""
    if len(odd) == 1:
        return ReleaseError(odd[0].why + doubt(domain), place=odd[0].place, file=file)
    listed = "; ".join(odd_lines(odd))
    return ReleaseError(f"{len(odd):,} cells lie outside the domain: {listed}{doubt(domain)}", file=file)
