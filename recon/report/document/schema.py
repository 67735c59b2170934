"""The document of an audit as msgspec structs: the JSON that every other format is made from, `"audit": 2`.

Keys that a later recon adds are let pass, at every place; what is there must be of its kind.
"""

from __future__ import annotations

from inspect import cleandoc
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from recon.report.document.counted import Counted, Loose
from recon.report.document.parts import (
    Assessment,
    AttributeBits,
    Audited,
    Drawing,
    Exposed,
    Facts,
    Forced,
    How,
    IntervalCell,
    Made,
    Remedy,
    Whole,
)
from recon.report.document.people import Adds, Persons, Profiles

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
        list[Exposed], Meta(description="Groups (leaf or rule, and class), the most exposed first; at most 1,000.")
    ] = []
    exposed_in_all: Whole = 0
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
    how: Annotated[How | None, Meta(description="How the figures were computed.")] = None
    confidential: Annotated[
        str | None, Meta(description="Why the document describes individuals; null: it does not.")
    ] = None

    # What was there before version 2, whose insides are not listed here.
    positions: Annotated[Loose | None, Meta(description="What the file gives back by position in the file.")] = None
    leaf_values: Annotated[Any, Meta(description="What leaf values of boosted models give back.")] = None
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
    without_noise: Annotated[Loose | None, Meta(description="What the noise bought.")] = None
    certificate: Annotated[Any, Meta(description="The certificate of the audit's main claim.")] = None
    verdict: Annotated[list[str], Meta(description="Of files that store rows: that they do, and where.")] = []
    rows_stored: Annotated[list[int | None], Meta(description="Of such files: how many rows each stores.")] = []
    labels_stored: Annotated[list[bool], Meta(description="Of such files: whether each stores labels.")] = []
    not_counted: Annotated[str | None, Meta(description="Of such files: why nothing was counted.")] = None


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the document."""
    found = msgspec.json.schema(Document)
    parts: dict[str, Any] = found["$defs"]
    for part in parts.values():
        if "description" in part:
            part["description"] = cleandoc(part["description"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **parts.pop("Document"), "$defs": parts}
