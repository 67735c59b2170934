"""What a learner's rule says of training rows beside a model's counts: counts, or one of several readings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from encoders.domain.values import Ranges
from encoders.models.learner import Learner

Where = tuple[tuple[int, Ranges], ...]  # attribute -> the positions that rows of a group have


@dataclass(frozen=True, slots=True)
class GroupCount:
    """Between `low` and `high` rows (None: any number) lie in a group; `text` says so in words."""

    where: Where
    low: int
    high: int | None
    text: str


@dataclass(frozen=True, slots=True)
class LearnerFact:
    """One fact: exactly one of the alternatives holds, each a conjunction of counts; no dataset fits two.

    `name` says which node of which tree it is about, `rows` how many rows that `node` has (weight among facts), and
    `attribute` which attribute of these rows.
    """

    name: str
    alternatives: tuple[tuple[GroupCount, ...], ...]
    rows: int
    node: int
    attribute: int


@dataclass(frozen=True, slots=True)
class FactLimits:
    """How many facts a release may take: what is left out is said, and what is kept still holds.

    `pairs`: readings of one midpoint, the nearest, and one more for all that lie farther off; `values`: those of one
    leaf and attribute; `combinations`: alternatives of all facts multiplied; `cells`: an upper bound on the cells of a
    release of one tree; `statements`: of all facts.
    """

    pairs: int = 8
    values: int = 64
    combinations: int = 1_024
    cells: int = 4_096
    statements: int = 4_000


@dataclass(frozen=True, slots=True)
class LearnerFacts:
    """Facts that follow from knowing the learners of some of a release's models, and what was left out, in words.

    They are no publication, and stand in no release file.
    """

    kind: ClassVar[str] = "learner_facts"
    learners: tuple[Learner, ...]
    facts: tuple[LearnerFact, ...] = ()
    notes: tuple[str, ...] = ()
    name: str = "learner facts"
