"""The document of an audit as msgspec structs: the JSON that every other format is made from, `"audit": 2`.

Keys that a later recon adds are let pass, at every place; what is there must be of its kind.

The keys of the document that `recon count --json` prints too: the figures of one convention, and what is behind.

The parts of the document about single people and about earlier releases; see `recon.report.document.schema`.
"""

from __future__ import annotations

from inspect import cleandoc
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from recon.report.document.parts import (
    Assessment,
    AttributeBits,
    Audited,
    Drawing,
    Exposed,
    Facts,
    Float,
    Forced,
    Group,
    How,
    Interval,
    IntervalCell,
    Made,
    MeanExposure,
    Part,
    Remedy,
    Whole,
)


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
    left_out: Annotated[
        list[Earlier], Meta(description="Earlier files that were not joined: not released, or tables of totals.")
    ] = field(default_factory=list)
    differences: Annotated[list[Group], Meta(description="Small groups that only all together single out.")] = field(
        default_factory=list
    )
    differences_in_all: Annotated[Whole | None, Meta(description="null: they were not looked for.")] = 0
    conflict: Annotated[list[str], Meta(description="Statements that cannot hold together.")] = field(
        default_factory=list
    )


class ChangedRows(Part):
    """Those who left, or came, between two versions of the data."""

    rows: Interval
    identified: Annotated[Whole, Meta(description="People known with every value.")]
    profiles_left: Annotated[Whole | None, Meta(description="Different rows that they can be, at most.")] = None
    fewest_profiles: Annotated[
        Interval | None, Meta(description="Fewest different rows of which one surely left (came).")
    ] = None
    exact: bool = True


class VersionRemedy(Part):
    """The comparison under a remedy of the new release; null figures: not known."""

    remedy: str
    kind: str
    setting: int | None
    sentence: str
    removed_pinned: list[int | None] | None = None
    removed_candidates: list[int | None] | None = None
    outcome: str | None = None
    note: str = ""


class Versions(Part):
    """What the release and earlier ones of another version of its data say together; null figures: not worked out."""

    against: list[Earlier]
    before: str
    after: str
    relation: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    conflict: list[str] = field(default_factory=list)
    removed: ChangedRows | None = None
    added: ChangedRows | None = None
    bits: dict[str, Float | None] | None = None
    remedies: list[VersionRemedy] = field(default_factory=list)


Loose = dict[str, Any]
Maybe = Float | None
Bounds = list[Maybe] | None


class Counted(Struct, kw_only=True):
    """Worlds, bits and figures, of which every number is also in words in `sections`; see `recon count --json`."""

    status: Annotated[
        str | None, Meta(description="How the audit ended: exact, bounds, unsat, empty, stored, unbounded.")
    ] = None
    read_from: Annotated[list[Loose], Meta(description="Models: name, format they were read from, counts.")] = []
    convention: Annotated[str | None, Meta(description="What counts as one training set.")] = None
    guarantee: Annotated[str | None, Meta(description="proved, or the confidence.")] = None
    worlds: Annotated[str | None, Meta(description="Possible training sets, a decimal string.")] = None
    log2_worlds: Annotated[Maybe, Meta(description="log2 of their number, where it is exact.")] = None
    log2_lower: Annotated[Maybe, Meta(description="Lower bound on it.")] = None
    log2_upper: Annotated[Maybe, Meta(description="Upper bound on it.")] = None
    per_rows: Annotated[Loose | None, Meta(description="log2 of it by number of rows, where that is open.")] = None
    prior_on_rows: Annotated[str | None, Meta(description="Prior over numbers of rows.")] = None
    datasets: Annotated[str | None, Meta(description="Training sets without the order of rows.")] = None
    log2_datasets: Annotated[Bounds, Meta(description="log2 of their number, least and most.")] = None
    rows: Annotated[int | None, Meta(description="Rows, null where their number is open.")] = None
    uninformed_bits: Annotated[Maybe, Meta(description="Bits before the release.")] = None
    entropy_bits: Annotated[Maybe, Meta(description="Bits left by it.")] = None
    bits_removed_per_row: Annotated[Maybe, Meta(description="Bits that it takes, per row.")] = None
    bits_removed_per_row_bounds: Annotated[Bounds, Meta(description="Bounds on them.")] = None
    dist_g: Annotated[Maybe, Meta(description="Dist_G: the share of bits left.")] = None
    dist_g_bounds: Annotated[Bounds, Meta(description="Bounds on Dist_G.")] = None
    dist_g_mentioned: Annotated[Maybe, Meta(description="Dist_G over the attributes that the models name.")] = None
    dist: Annotated[Maybe, Meta(description="Dist, of independent cells.")] = None
    bits_due_to_order: Annotated[Maybe, Meta(description="Bits due to the order of rules.")] = None
    bits_of_row_order: Annotated[Maybe, Meta(description="Part of the bits left that is the order of rows.")] = None
    bits_of_row_order_bounds: Annotated[Bounds, Meta(description="Bounds on them.")] = None
    figures: Annotated[str | None, Meta(description="exact, or bounds.")] = None
    why_bounds: Annotated[str | None, Meta(description="Why there are bounds only.")] = None
    determined_rows: Annotated[int | None, Meta(description="Rows that are the same in every world.")] = None
    smallest_region: Annotated[str | None, Meta(description="Fewest raw rows that fit a published row.")] = None
    smallest_group: Annotated[int | None, Meta(description="Rows of the smallest published group.")] = None
    regions: Annotated[list[Loose], Meta(description="One object per leaf or rule, in the file's order.")] = []
    confidence: Annotated[Maybe, Meta(description="Confidence of all figures, for noisy counts.")] = None
    improbability: Annotated[Maybe, Meta(description="Where nothing fits: a p-value of the noise.")] = None
    posterior_entropy_bits: Annotated[Maybe, Meta(description="Bits left under the prior.")] = None
    posterior_uninformed_bits: Annotated[Maybe, Meta(description="Bits before, under the prior.")] = None
    posterior_bits_removed_per_row: Annotated[Maybe, Meta(description="Bits taken per row, under the prior.")] = None
    posterior_prior: Annotated[str | None, Meta(description="The prior.")] = None
    posterior_remainder: Annotated[Maybe, Meta(description="Probability that was not summed.")] = None
    posterior_odds_factor: Annotated[Maybe, Meta(description="Factor by which odds of a row can move.")] = None
    conflict: Annotated[list[str], Meta(description="Statements that contradict each other.")] = []
    assumptions: Annotated[list[str], Meta(description="What all figures assume.")] = []
    engine: Annotated[str | None, Meta(description="The engine that answered.")] = None
    trail: Annotated[list[str], Meta(description="What each engine said.")] = []
    seconds: Annotated[Maybe, Meta(description="Seconds that the count took.")] = None
    release_sha256: Annotated[str | None, Meta(description="SHA-256 of the release.")] = None


VERSION = 2
Share = Annotated[float, Meta(ge=0, le=1.000001)]  # sums of shares may end a little beyond 1


class Document(Counted, Struct, kw_only=True):
    """What an audit found, as `recon audit --json` prints it.

    Lists are capped; `..._in_all` beside one says how many there are. An interval is [least, most], most null where no
    upper end is known. What is null is not known or does not apply; `facts.not_known` says why.
    """

    audit: Annotated[Literal[2], Meta(description="Version of this format.")]
    file: Annotated[str, Meta(description="The file that was audited, the first of several.")]
    title: Annotated[str, Meta(description="Title of the report.")]
    sections: Annotated[
        list[tuple[str, list[str]]],
        Meta(description="The findings in words: titles with lines; one that begins with a blank belongs to the last."),
    ]
    made: Annotated[Made, Meta(description="Which recon made the document, when and with which command.")]
    audited: Annotated[Audited, Meta(description="What was audited: the files with their hashes, rows, attributes.")]
    facts: Annotated[Facts, Meta(description="The figures that a policy looks at.")]
    assessment: Annotated[
        Assessment | None, Meta(description="What the policy says of the facts; null: no policy was given.")
    ] = None
    exposed: Annotated[
        list[Exposed],
        Meta(description="Groups (leaf or rule, and class), of one row first, then the most exposed; at most 1,000."),
    ] = []
    exposed_in_all: Whole = 0
    exposed_mean: Annotated[
        MeanExposure | None, Meta(description="Bits left about a person whose group is known, mean over all people.")
    ] = None
    curve: Annotated[
        list[tuple[Share, Share]],
        Meta(description="Increasing pairs: share of bits left, share of people with at most so much."),
    ] = []
    attribute_bits: Annotated[
        list[AttributeBits], Meta(description="What is revealed of each attribute, the most revealed first.")
    ] = []
    forced: Annotated[Forced | None, Meta(description="Rows, and values of attributes, that are certain.")] = None
    drawing: Annotated[Drawing | None, Meta(description="The tree or list as nodes.")] = None
    profiles: Annotated[
        Profiles | None, Meta(description="Whether given people can be, or must be, in the training data.")
    ] = None
    persons: Annotated[Persons | None, Meta(description="How exposed rows of the training data are.")] = None
    remedies: Annotated[
        list[Remedy] | None, Meta(description="The audit under each remedy; the first entry: as published.")
    ] = None
    adds: Annotated[Adds | None, Meta(description="What this release adds to earlier ones of its register.")] = None
    versions: Annotated[
        Versions | None,
        Meta(description="Compared with the release of another version of the data: who left, who came."),
    ] = None
    adversary: Annotated[
        Loose | None, Meta(description="What is left for nobody, for an adversary (_adversary), and the difference.")
    ] = None
    how: Annotated[How | None, Meta(description="How the figures were computed.")] = None
    confidential: Annotated[
        str | None, Meta(description="Why the document describes individuals; null: it does not.")
    ] = None

    # What was there before version 2, whose insides are not listed here.
    positions: Annotated[Loose | None, Meta(description="What the file reveals by position in the file.")] = None
    leaf_values: Annotated[Any, Meta(description="What leaf values of boosted models reveal.")] = None
    learner_rule: Annotated[
        Loose | None, Meta(description="What knowing the learner adds; null: not asked (--learner).")
    ] = None
    without_row_order: Annotated[Loose | None, Meta(description="The headline without the order of rows.")] = None
    not_assessed: Annotated[Any, Meta(description="Why something was not assessed, and what would help.")] = None
    group_disclosure: Annotated[Loose | None, Meta(description="Small groups and groups of one class.")] = None
    interval_cells: Annotated[
        list[IntervalCell], Meta(description="Cells without an exact count, and what is left of them.")
    ] = []
    interval_cells_recovered: Whole = 0
    interval_cells_left_out: Whole = 0
    stored: Annotated[list[Loose], Meta(description="Inspections of the files: what they store outright.")] = []
    truth: Annotated[Loose | None, Meta(description="Comparison with the true rows.")] = None
    without_noise: Annotated[Loose | None, Meta(description="What the noise protects.")] = None
    certificate: Annotated[Any, Meta(description="The certificate of the audit's main claim.")] = None
    verdict: Annotated[list[str], Meta(description="Set for files that store rows: that they do, and where.")] = []
    rows_stored: Annotated[list[int | None], Meta(description="Set for such files: how many rows each stores.")] = []
    labels_stored: Annotated[list[bool], Meta(description="Set for such files: whether each stores labels.")] = []
    not_counted: Annotated[str | None, Meta(description="Set for such files: why nothing was counted.")] = None


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the document."""
    found = msgspec.json.schema(Document)
    parts: dict[str, Any] = found["$defs"]
    for part in parts.values():
        if "description" in part:
            part["description"] = cleandoc(part["description"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **parts.pop("Document"), "$defs": parts}
