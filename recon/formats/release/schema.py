"""The release file as pydantic models: one self-contained JSON object, `"recon": 1` (docs/release-file.md)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    FailFast,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
)
from pydantic.dataclasses import dataclass

from recon.files.budget import told

Scalar = StrictBool | StrictInt | StrictFloat | StrictStr
Number = StrictInt | StrictFloat


# What stands in a file by the hundred thousand is a dataclass with slots: a tenth of a model's memory.
part = dataclass(config=ConfigDict(extra="forbid", populate_by_name=True), slots=True, kw_only=True)


class Part(BaseModel):
    """Base of everything in a release file: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


@part
class TestPart:
    """A test: one of the keys, or one lower and one upper end for a range; `or_missing` lets missing values pass too.

    `missing` stands alone: true for missing values, false for all others.
    """

    __test__: ClassVar[bool] = False
    is_in: list[Scalar] | None = Field(None, alias="in", min_length=1)
    at_most: Scalar | None = None
    below: Scalar | None = None
    at_least: Scalar | None = None
    above: Scalar | None = None
    or_missing: StrictBool = False
    missing: StrictBool | None = None


ConditionPart = dict[StrictStr, Scalar | TestPart]


@part
class ViewPart(TestPart):
    """A binary column: 1 where the test on the attribute holds, else 0."""

    attribute: StrictStr
    equals: Scalar | None = None


class AttributePart(Part):
    """An attribute: listed `values`, or `min` and `max` (integers; with `resolution` a grid; null: continuous).

    Of a continuous one either end may be left out, or both: the numbers then run on without end.
    `missing`: a cell may be empty, which is one more value (not for the label).
    """

    name: StrictStr
    values: list[Scalar] | None = Field(None, min_length=1)
    min: Number | None = None
    max: Number | None = None
    resolution: Number | None = 1
    missing: StrictBool = False


class DomainPart(Part):
    """Attributes, label, binary columns, impossible boxes and where the domain comes from.

    `order`: attributes and columns (no label) in the order of the data's columns, for models that only number theirs.
    """

    attributes: list[AttributePart] = Field(min_length=0)
    label: AttributePart | None = None
    columns: dict[StrictStr, ViewPart] = {}
    impossible: list[ConditionPart] = []
    source: StrictStr = "declared"
    notes: list[StrictStr] = []
    order: list[StrictStr] = []


class RowsPart(Part):
    """An interval for the number of rows."""

    at_least: StrictInt = Field(0, ge=0)
    at_most: StrictInt | None = Field(None, ge=0)


@part
class SupportPart:
    """How many training rows: per class, or in all; whole and not negative unless the model is noisy."""

    name: StrictStr | None = None
    counts: list[Number] | None = None
    count: Number | None = None


@part
class NodePart(SupportPart):
    """A node of a tree: `if`, `then`, `else` (indices of nodes), or a leaf with counts.

    `distinct`: how many different training rows it counts, where rows of a bootstrap sample count several times.
    """

    distinct: StrictInt | None = Field(None, ge=0)
    condition: ConditionPart | None = Field(None, alias="if")
    then: StrictInt | None = None
    otherwise: StrictInt | None = Field(None, alias="else")


@part
class RulePart(SupportPart):
    """A rule: its condition and how many rows it captures."""

    condition: ConditionPart = Field(alias="if")


class LedgerEntryPart(Part):
    """One step of a private learner: what it spent, and whether a proof stands behind it."""

    step: StrictStr
    mechanism: StrictStr
    epsilon: Number = Field(ge=0)
    delta: Number = Field(0, ge=0, le=1)
    standing: Literal["guaranteed", "claimed", "none"]
    why: StrictStr = ""


class LedgerPart(Part):
    """The privacy ledger of the learner that published the counts; the totals must be those of its entries."""

    neighbours: Literal["add_remove", "replace"]
    assumes: list[StrictStr] = []
    epsilon: Number = Field(ge=0)
    delta: Number = Field(0, ge=0)
    standing: Literal["guaranteed", "claimed", "none"]
    entries: list[LedgerEntryPart]


# The first wrong one ends the list (a million refusals would take gigabytes), and each looks at the clock.
Nodes = Annotated[list[Annotated[NodePart, AfterValidator(told)]], FailFast()]
Rules = Annotated[list[Annotated[RulePart, AfterValidator(told)]], FailFast()]


class NoisePart(Part):
    """The law of the noise on a model's counts: its `scale`, or the privacy budget it follows from.

    `bound`: of truncated Laplace noise given by its scale. `rounded`: to whole numbers after the noise. `clamped`:
    negative results were published as 0. `decided`: what else the same draws decided (such releases are refused, and
    so are counts that were `adjusted` to add up), because the law of what was published is then another. `ledger`: what
    the learner's steps spent, for people; no answer rests on it.
    """

    law: Literal["laplace", "discrete_laplace", "gaussian", "discrete_gaussian", "truncated_laplace"]
    scale: Number | None = None
    epsilon: Number | None = None
    delta: Number | None = None
    sensitivity: Number | None = None
    neighbours: Literal["add_remove", "replace"] | None = None
    bound: Number | None = None
    rounded: StrictBool = False
    clamped: StrictBool = False
    decided: StrictStr | None = None
    adjusted: StrictBool = False
    ledger: LedgerPart | None = None


class ReadFromPart(Part):
    """Where `recon convert` found a model: the format, the kinds of its counts, and what that assumes."""

    format: StrictStr
    counts: list[Literal["exact", "bag", "distinct", "ratio", "size", "label", "noisy"]] = []
    notes: list[StrictStr] = []


class ModelPart(Part):
    """What every model may carry."""

    name: StrictStr | None = None
    dataset: StrictStr | None = None
    noise: NoisePart | None = None
    read_from: ReadFromPart | None = None


class TreePart(ModelPart):
    """A decision tree; node 0 is the root."""

    kind: Literal["tree"]
    nodes: Nodes = Field(min_length=1)


class RuleListPart(ModelPart):
    """An ordered rule list."""

    kind: Literal["rule_list"]
    rules: Rules


class RuleSetPart(ModelPart):
    """Rules that may overlap; counts are supports."""

    kind: Literal["rule_set"]
    rules: Rules


class ForestTreePart(Part):
    """One tree of a forest."""

    name: StrictStr | None = None
    nodes: Nodes = Field(min_length=1)


class ForestPart(ModelPart):
    """Trees over the same rows; with `bootstrap` each over a resample (`multiplicities`: trees x rows, if known).

    `resample` "with" is another word for `bootstrap`, "without" says that each tree saw some of the rows once.
    """

    kind: Literal["forest"]
    trees: list[ForestTreePart] = Field(min_length=1)
    bootstrap: StrictBool = False
    multiplicities: list[list[StrictInt]] | None = None
    resample: Literal["with", "without"] | None = None


class StatisticPart(Part):
    """A mean, total or median of a numeric attribute; `within` is a closed interval around the value."""

    of: StrictStr
    value: Number
    within: Number = Field(0, ge=0)


class StatementPart(Part):
    """One published figure of a table."""

    where: ConditionPart = {}
    name: StrictStr | None = None
    count: Number | None = None
    at_least: StrictInt | None = None
    at_most: StrictInt | None = None
    mean: StatisticPart | None = None
    total: StatisticPart | None = None
    median: StatisticPart | None = None
    suppressed: Literal["primary", "secondary", "unknown"] | None = None


class TablePart(ModelPart):
    """Published figures about groups of rows."""

    kind: Literal["table"]
    statements: Annotated[list[Annotated[StatementPart, AfterValidator(told)]], FailFast()]


AnyModelPart = Annotated[TreePart | RuleListPart | RuleSetPart | ForestPart | TablePart, Field(discriminator="kind")]


class ReleasePart(Part):
    """A release file: the domain, the number of rows and the published models."""

    recon: Literal[1]
    domain: DomainPart
    rows: StrictInt | RowsPart | None = None
    models: list[AnyModelPart] = []
    about: StrictStr | None = None


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the release file."""
    return ReleasePart.model_json_schema(by_alias=True)
