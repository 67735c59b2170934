"""What an adversary knows beside a release: statements about rows, people, and how likely rows are to begin with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from encoders.domain.domain import Condition
from encoders.models.models import KnownRows, Table

PositionWeights = Mapping[int, int]  # position of a value -> whole weight; -1: of every other value


@dataclass(frozen=True, slots=True, eq=False)
class KnownFigures:
    """Figures that an adversary knows, as a table has them; no publication. `dataset`: whose rows ("": the release's).

    The name of every figure says where it stands in the adversary's file.
    """

    kind: ClassVar[str] = "known_figures"
    table: Table
    dataset: str = ""

    @property
    def name(self) -> str:
        """Return how messages call the figures."""
        return self.table.name


@dataclass(frozen=True, slots=True)
class WeighedBox:
    """How likely rows of a box are: `inside` for each combination of values there, beside `outside` for any other.

    The weights are the numbers of values that an attribute of its own can have there: nobody published it.
    """

    condition: Condition
    inside: int
    outside: int


@dataclass(frozen=True, eq=False)
class AdversaryKnowledge:
    """All that an adversary knows, in the terms of one domain; `people`: those of a population.

    `weights`: by the number of an attribute, how likely each value is beside the others; `boxes`: the same of
    combinations of values. `lines`: what every answer
    then assumes. `data`: the data set that the release is of, where there is a population ("": none). `file` and
    `sha256` name it in certificates.
    """

    file: str
    sha256: str
    figures: tuple[KnownFigures, ...] = ()
    people: KnownRows | None = None
    weights: Mapping[int, PositionWeights] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    data: str = ""
    boxes: tuple[WeighedBox, ...] = ()

    @property
    def weighed(self) -> bool:
        """Return whether rows are not equally likely to begin with."""
        return bool(self.weights or self.boxes)

    @property
    def models(self) -> tuple[KnownFigures | KnownRows, ...]:
        """Return what becomes statements."""
        return (*self.figures, *(() if self.people is None else (self.people,)))

    def to_dict(self) -> dict[str, object]:
        """Return what a certificate says of it."""
        return {"file": self.file, "sha256": self.sha256}
