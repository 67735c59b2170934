"""The rules that a policy can set, one entry each: everything else about them is derived from here.

A new rule is one entry of `RULES`, and the figure that it looks at (`recon.release.policies.facts.FIGURES`).
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from encoders.models.count_kinds import MEANING
from encoders.models.models import CountKind
from recon.release.policies.checks import (
    PolicyRule,
    ThresholdValues,
    disclosed,
    kinds_of_counts,
    of_groups,
    of_interval,
    profiles,
    stored,
)

Rows = Annotated[int, Meta(ge=1)]
People = Annotated[int, Meta(ge=0)]
Bits = Annotated[int, Meta(ge=0)] | Annotated[float, Meta(ge=0)]
Disclosure = Literal["allowed", "forbidden"] | People
Level = Literal["none", "low", "medium", "high", "critical"]
Verdict = Literal["certain", "possible", "impossible", "outside", "unknown"]


ROWS = ThresholdValues(Rows, "a whole number of rows from 1 up")
PEOPLE = ThresholdValues(People, "a whole number of people from 0 up")
VALUES = ThresholdValues(People, "a whole number of values from 0 up")
BITS = ThresholdValues(Bits, "a number of bits from 0 up")
DISCLOSED = ThresholdValues(
    Disclosure, '"allowed", "forbidden", or the largest number of rows that is allowed, from 0 up'
)  # fmt: skip
KINDS = ThresholdValues(list[CountKind], "a list of " + ", ".join(f'"{kind}"' for kind in MEANING))
LEVELS = ThresholdValues(Level, '"none", "low", "medium", "high" or "critical"')
VERDICTS = ThresholdValues(list[Verdict], 'a list of "certain", "possible", "impossible", "outside", "unknown"')
REMEDY = "recon remedy FILE --policy POLICY --out OUT"
SEEDS = "Take out the seeds that give the bags away: recon inspect FILE --strip OUT"

EVERY = (
    PolicyRule(
        "smallest_group", "smallest_group", of_groups, ROWS,
        title="Smallest group",
        subject="The smallest group has {found}",
        help="rows of the smallest group (leaf, rule, table cell) that is not empty, at least",
        remedy=f"Merge the groups that are too small into larger ones: {REMEDY}.",
        example=10, unit="row", direction="at least", merged="rows of the smallest group", column="smallest_group",
    ),
    PolicyRule(
        "smallest_cell", "smallest_cell", of_groups, ROWS,
        title="Smallest number of rows of one class in a group",
        subject="The rarest class of a group has {found}",
        help="rows of one class in a group, where it has any, at least",
        remedy=f"Merge groups until no class is rare in one, or publish no counts per class: {REMEDY}.",
        example=10, unit="row", direction="at least", merged="rows of one class in a group",
    ),
    PolicyRule(
        "most_pinned", "pinned", of_interval, PEOPLE,
        title="People pinned down exactly",
        subject="{found} are pinned down exactly",
        help="people whose every attribute is certain, at most",
        remedy="Publish fewer or larger groups, fewer trees, or noisy counts; recon audit --remedies tries them.",
        example=0, unit="person", merged="people pinned down exactly", column="pinned",
    ),
    PolicyRule(
        "least_bits_left", "least_bits_left", of_interval, BITS,
        title="Bits left about the most exposed person",
        subject="About the most exposed person {found} are left",
        help="bits left about the most exposed person, at least",
        remedy=f"Merge the groups of the most exposed people into larger ones: {REMEDY}.",
        example=5.0, unit="bit", direction="at least", merged="bits left about the most exposed person",
        column="least_bits_left",
    ),
    PolicyRule(
        "mean_bits_left", "bits_left_per_person", of_interval, BITS,
        title="Bits left per person",
        subject="Per person {found} are left on average",
        help="bits left per person on average, at least",
        remedy="Publish fewer groups, less depth, or fewer trees; recon audit --remedies tries them.",
        example=10.0, unit="bit", direction="at least", merged="bits left per person on average",
        column="bits_left_per_person",
    ),
    PolicyRule(
        "class_disclosure", "class_disclosure", disclosed, DISCLOSED,
        title="Rows in groups of one class only",
        subject="{found} stand in groups of one class only, so that belonging to the group tells the class",
        help="rows in groups of one class only, at most",
        remedy=f"Merge groups of one class with others, or publish no counts per class: {REMEDY}.",
        example="forbidden", unit="row", merged="rows in groups of one class only", column="class_disclosed_rows",
    ),
    PolicyRule(
        "target_disclosure", "target_disclosure", disclosed, DISCLOSED,
        title="Rows whose numeric target is published exactly",
        subject="{found} have their numeric target published exactly",
        help="rows whose numeric target is published exactly, at most",
        remedy="Publish larger groups, or targets that are rounded: a group of one row publishes its target.",
        example="forbidden", unit="row",
    ),
    PolicyRule(
        "most_labels_by_position", "labels_by_position", of_interval, PEOPLE,
        title="Labels proved by position in the training file",
        subject="{found} have their label proved by where they stood in the training file",
        help="rows whose label is proved by their position in the training file, at most",
        remedy=f"{SEEDS}; or train without resampling.",
        example=0, unit="row",
    ),
    PolicyRule(
        "most_values_by_position", "values_by_position", of_interval, VALUES,
        title="Values proved by position in the training file",
        subject="{found} are proved by where their row stood in the training file",
        help="values of attributes that are proved by the position of their row in the training file, at most",
        remedy=f"{SEEDS}; or train without resampling.",
        example=0, unit="value",
    ),
    PolicyRule(
        "kinds_of_counts", "kinds_of_counts", kinds_of_counts, KINDS,
        title="Kinds of counts published",
        subject="The release publishes {found}",
        help="kinds of counts that may be published",
        remedy="Publish the model without these counts, or with noise on them.",
        example=["exact", "size", "noisy"], of_worlds=False,
    ),
    PolicyRule(
        "stored", "stored", stored, LEVELS,
        title="Stored training data",
        subject="Beside the model, the file stores {found}",
        help="the gravest level that data stored in the file may have",
        remedy="Take out what predictions do not need: recon inspect FILE --strip OUT; train without what then stays.",
        example="medium", of_worlds=False,
    ),
    PolicyRule(
        "profiles", "profiles", profiles, VERDICTS,
        title="Verdicts on the given profiles",
        subject="Of the given profiles: {found}",
        help="verdicts that no given profile may have",
        remedy="Publish less about these people, or train without them, and audit again.",
        example=["certain"],
    ),
)  # fmt: skip
RULES = {one.key: one for one in EVERY}  # in the order of the checks
