"""The release file as pydantic models: one self-contained JSON object, `"recon": 1` (design.md, section 5)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

Scalar = StrictBool | StrictInt | StrictFloat | StrictStr
Number = StrictInt | StrictFloat


class Part(BaseModel):
    """Base of everything in a release file: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class TestPart(Part):
    """A test: one of the keys, or one lower and one upper end for a range."""

    __test__ = False
    is_in: list[Scalar] | None = Field(None, alias="in", min_length=1)
    at_most: Scalar | None = None
    below: Scalar | None = None
    at_least: Scalar | None = None
    above: Scalar | None = None


ConditionPart = dict[StrictStr, Scalar | TestPart]


class ViewPart(TestPart):
    """A binary column: 1 where the test on the attribute holds, else 0."""

    attribute: StrictStr
    equals: Scalar | None = None


class AttributePart(Part):
    """An attribute: listed `values`, or `min` and `max` (integers; with `resolution` a grid; null: continuous)."""

    name: StrictStr
    values: list[Scalar] | None = Field(None, min_length=1)
    min: Number | None = None
    max: Number | None = None
    resolution: Number | None = 1


class DomainPart(Part):
    """Attributes, label, binary columns, impossible boxes and where the domain comes from."""

    attributes: list[AttributePart] = Field(min_length=0)
    label: AttributePart | None = None
    columns: dict[StrictStr, ViewPart] = {}
    impossible: list[ConditionPart] = []
    source: StrictStr = "declared"
    notes: list[StrictStr] = []


class RowsPart(Part):
    """An interval for the number of rows."""

    at_least: StrictInt = Field(0, ge=0)
    at_most: StrictInt | None = Field(None, ge=0)


def _count(value: object) -> object:
    """Accept 3.0 for 3 but no fraction: some writers have no integers."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


CountPart = Annotated[StrictInt, BeforeValidator(_count), Field(ge=0)]


class SupportPart(Part):
    """How many training rows: per class, or in all."""

    name: StrictStr | None = None
    counts: list[CountPart] | None = None
    count: CountPart | None = None


class NodePart(SupportPart):
    """A node of a tree: `if`, `then`, `else` (indices of nodes), or a leaf with counts."""

    condition: ConditionPart | None = Field(None, alias="if")
    then: StrictInt | None = None
    otherwise: StrictInt | None = Field(None, alias="else")


class RulePart(SupportPart):
    """A rule: its condition and how many rows it captures."""

    condition: ConditionPart = Field(alias="if")


class ModelPart(Part):
    """What every model may carry."""

    name: StrictStr | None = None
    dataset: StrictStr | None = None


class TreePart(ModelPart):
    """A decision tree; node 0 is the root."""

    kind: Literal["tree"]
    nodes: list[NodePart] = Field(min_length=1)


class RuleListPart(ModelPart):
    """An ordered rule list."""

    kind: Literal["rule_list"]
    rules: list[RulePart]


AnyModelPart = Annotated[TreePart | RuleListPart, Field(discriminator="kind")]


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
