"""The parts of the document about single people and about earlier releases; see `recon.report.document.schema`."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, field

from recon.report.document.parts import Float, Group, Interval, Part, Whole


class Profile(Part):
    """A given person, and whether somebody like that is in the training data."""

    position: Whole
    verdict: str
    name: str | None
    probability: Float | None
    convention: str | None
    certificate: str | None
    why: str
    profile_values: Annotated[
        dict[str, Any] | None, Meta(description="The given values; only where they were asked for.")
    ] = None


class Profiles(Part):
    """The given people."""

    rows: list[Profile]
    rows_in_all: Whole
    shown: bool = False
    verdicts: Annotated[dict[str, Whole], Meta(description="How many people have each verdict.")] = field(
        default_factory=dict
    )
    positions: Annotated[dict[str, list[Whole]], Meta(description="The first positions of every verdict.")] = field(
        default_factory=dict
    )
    certificates: Annotated[list[dict[str, Any]], Meta(description="Proofs of verdicts, for recon verify.")] = field(
        default_factory=list
    )


class Person(Part):
    """A row of the training data, by position; `row` only where it was asked for."""

    position: Whole
    group: str | None
    bits_left: Float | None
    group_rows: tuple[Whole, Whole] | None
    pinned: bool
    worlds_per_row: str | None = None
    row: dict[str, Any] | None = None


class PeopleGroup(Part):
    """People with one value of a protected attribute, and how exposed they are."""

    value: str
    rows: Whole
    pinned: Whole
    mean_bits_left: Float | None
    least_bits_left: Float | None
    mean_share_left: Float | None = None

    def __post_init__(self) -> None:
        """Refuse a mean without a least figure, or the other way round."""
        if (self.mean_bits_left is None) != (self.least_bits_left is None):
            raise ValueError("mean_bits_left and least_bits_left must be known together")


class ByGroup(Part):
    """Exposure by a protected attribute."""

    attribute: str
    groups: list[PeopleGroup]


class Persons(Part):
    """How exposed the given training rows are, the most exposed first."""

    most_exposed: list[Person]
    in_all: Whole
    label: str | None = None
    by_group: ByGroup | None = None
    notes: list[str] = field(default_factory=list)


class Earlier(Part):
    """An earlier release of the register."""

    file: str
    sha256: str | None = None
    date: str | None = None
    decision: str | None = None


class ReleaseFigures(Part):
    """The figures of some releases together."""

    log2_datasets: Interval | None = None
    bits_left_per_person: Interval | None = None
    pinned: Interval | None = None
    least_bits_left: Interval | None = None
    smallest_group: Interval | None = None
    status: str = ""
    note: str = ""


class Adds(Part):
    """The earlier releases without and with the new one, and the new one alone."""

    register: str
    earlier: list[Earlier] = field(default_factory=list)
    before: ReleaseFigures | None = None
    after: ReleaseFigures | None = None
    alone: ReleaseFigures | None = None
    sentences: list[str] = field(default_factory=list)
    left_out: Annotated[list[Earlier], Meta(description="Earlier files that were not released: not joined.")] = field(
        default_factory=list
    )
    differences: Annotated[list[Group], Meta(description="Small groups that only all together single out.")] = field(
        default_factory=list
    )
    differences_in_all: Annotated[Whole | None, Meta(description="null: they were not looked for.")] = 0
    conflict: Annotated[list[str], Meta(description="Statements that cannot hold together.")] = field(
        default_factory=list
    )
