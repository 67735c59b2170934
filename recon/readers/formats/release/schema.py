"""The release file as msgspec structs: one self-contained JSON object, `"recon": 1` (see docs/release-file.md).

The `learner` of a model in a release file turned into settings, and back; what stands at its default is left out.
"""

from __future__ import annotations

import math
from dataclasses import fields
from inspect import cleandoc
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from encoders.models.learner_facts import Learner, LearnerName
from encoders.models.models import UnusedPublication
from solvers.foundation.errors import ReleaseError

Scalar = bool | int | float | str
Number = int | float
Whole = Annotated[int, Meta(ge=0)]
Amount = Annotated[int, Meta(ge=0)] | Annotated[float, Meta(ge=0)]  # constraints belong to one type each
Share = Annotated[int, Meta(ge=0, le=1)] | Annotated[float, Meta(ge=0, le=1)]


class SchemaPart(Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of everything in a release file: unknown keys are refused."""


class TestPart(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A test: one of the keys, or one lower and one upper end for a range; `or_missing` lets missing values pass too.

    `missing` stands alone: true for missing values, false for all others.
    """

    __test__: ClassVar[bool] = False
    is_in: Annotated[tuple[Scalar, ...], Meta(min_length=1)] | None = field(default=None, name="in")
    at_most: Scalar | None = None
    below: Scalar | None = None
    at_least: Scalar | None = None
    above: Scalar | None = None
    or_missing: bool = False
    missing: bool | None = None


ScalarOrTest = Scalar | TestPart
ConditionPart = dict[str, ScalarOrTest]


class ViewPart(TestPart, frozen=True, kw_only=True):
    """A binary column: 1 where the test on the attribute holds, else 0."""

    attribute: str
    equals: Scalar | None = None


class AttributePart(SchemaPart):
    """An attribute: listed `values`, or `min` and `max` (integers; with `resolution` a grid; null: continuous).

    Of a continuous one either end may be left out, or both: the numbers then run on without end.
    `missing`: a cell may be empty, which is one more value (not for the label).
    """

    name: str
    values: Annotated[list[Scalar], Meta(min_length=1)] | None = None
    min: Number | None = None
    max: Number | None = None
    resolution: Annotated[Number | None, Meta(extra_json_schema={"default": 1})] | UnsetType = UNSET
    missing: bool = False


class DomainPart(SchemaPart):
    """Attributes, label, binary columns, impossible boxes and where the domain comes from.

    `order`: attributes and columns (no label) in the order of the data's columns, for models that only number theirs.
    """

    attributes: list[AttributePart]
    label: AttributePart | None = None
    columns: dict[str, ViewPart] = {}
    impossible: list[ConditionPart] = []
    source: str = "declared"
    notes: list[str] = []
    order: list[str] = []


class RowsPart(SchemaPart):
    """An interval for the number of rows."""

    at_least: Whole = 0
    at_most: Whole | None = None


class SupportPart(SchemaPart):
    """How many training rows: per class, or in all; whole and not negative unless the model is noisy."""

    name: str | None = None
    counts: list[Number] | None = None
    count: Number | None = None


class NodePart(SupportPart):
    """A node of a tree: `if`, `then`, `else` (indices of nodes), or a leaf with counts.

    `distinct`: how many different training rows it counts, where rows of a bootstrap sample count several times.
    """

    distinct: Whole | None = None
    condition: ConditionPart | None = field(default=None, name="if")
    then: int | None = None
    otherwise: int | None = field(default=None, name="else")


class RulePart(SupportPart, kw_only=True):
    """A rule: its condition and how many rows it captures."""

    condition: ConditionPart = field(name="if")


class LedgerEntryPart(SchemaPart, kw_only=True):
    """One step of a private learner: what it spent, and whether a proof stands behind it."""

    step: str
    mechanism: str
    epsilon: Amount
    delta: Share = 0
    standing: Literal["guaranteed", "claimed", "none"]
    why: str = ""


class LedgerPart(SchemaPart, kw_only=True):
    """The privacy ledger of the learner that published the counts; the totals must be those of its entries."""

    neighbours: Literal["add_remove", "replace"]
    assumes: list[str] = []
    epsilon: Amount
    delta: Amount = 0
    standing: Literal["guaranteed", "claimed", "none"]
    entries: list[LedgerEntryPart]


class NoisePart(SchemaPart, kw_only=True):
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
    rounded: bool = False
    clamped: bool = False
    decided: str | None = None
    adjusted: bool = False
    ledger: LedgerPart | None = None


class ReadFromPart(SchemaPart, kw_only=True):
    """Where `recon convert` found a model: the format, the kinds of its counts, and what that assumes."""

    format: str
    counts: list[Literal["exact", "bag", "distinct", "ratio", "size", "label", "noisy"]] = []
    notes: list[str] = []


class LearnerPart(SchemaPart, kw_only=True):
    """Which learner chose the model, and with which settings; what is left out is at scikit-learn's default.

    Limits as scikit-learn calls them, in rows and columns (no fractions but `min_weight_fraction_leaf`): see
    docs/release-file.md. `columns`: how many it chose among. `width`, `max_length` (the default rule included) and
    `min_support` are of rule lists, and `ties`: which of equal rules comes first (left out: not known, both are tried).
    """

    name: Literal["sklearn tree", "sklearn forest", "greedy rule list", "optimal tree", "optimal rule list"]
    criterion: str | None = None
    splitter: Literal["best", "random"] = "best"
    max_depth: Annotated[int, Meta(ge=1)] | None = None
    min_samples_split: Annotated[int, Meta(ge=2)] = 2
    min_samples_leaf: Annotated[int, Meta(ge=1)] = 1
    min_weight_fraction_leaf: Share = 0.0
    max_features: Annotated[int, Meta(ge=1)] | None = None
    max_leaf_nodes: Annotated[int, Meta(ge=2)] | None = None
    min_impurity_decrease: Amount = 0.0
    ccp_alpha: Amount = 0.0
    weighted: bool = False
    bootstrap: bool = False
    width: Annotated[int, Meta(ge=1)] | None = None
    max_length: Annotated[int, Meta(ge=1)] | None = None
    min_support: Annotated[int, Meta(ge=1)] | None = None
    negations: bool = True
    ties: Literal["authors", "fewest"] | None = None
    columns: Annotated[int, Meta(ge=1)] | None = None
    monotonic: bool = False
    version: str = ""


class ModelPart(SchemaPart):
    """What every model may carry."""

    name: str | None = None
    dataset: str | None = None
    noise: NoisePart | None = None
    read_from: ReadFromPart | None = None
    unused: list[UnusedPublication] | None = None

    @property
    def kind(self) -> str:
        """Return the kind as it stands in the file."""
        return str(self.__struct_config__.tag)


class TreePart(ModelPart, kw_only=True, tag_field="kind", tag="tree"):
    """A decision tree; node 0 is the root."""

    nodes: Annotated[list[NodePart], Meta(min_length=1)]
    learner: LearnerPart | None = None


class RuleListPart(ModelPart, kw_only=True, tag_field="kind", tag="rule_list"):
    """An ordered rule list."""

    rules: list[RulePart]
    learner: LearnerPart | None = None


class RuleSetPart(ModelPart, kw_only=True, tag_field="kind", tag="rule_set"):
    """Rules that may overlap; counts are supports."""

    rules: list[RulePart]


class ForestTreePart(SchemaPart, kw_only=True):
    """One tree of a forest."""

    name: str | None = None
    nodes: Annotated[list[NodePart], Meta(min_length=1)]


class ForestPart(ModelPart, kw_only=True, tag_field="kind", tag="forest"):
    """Trees over the same rows; with `bootstrap` each over a resample (`multiplicities`: trees x rows, if known).

    `labels`: beside multiplicities, of every row the place of its label among the label's values.

    `resample` "with" is another word for `bootstrap`, "without" says that each tree saw some of the rows once.
    """

    trees: Annotated[list[ForestTreePart], Meta(min_length=1)]
    bootstrap: bool = False
    multiplicities: list[list[int]] | None = None
    labels: list[int] | None = None
    resample: Literal["with", "without"] | None = None
    learner: LearnerPart | None = None


class StatisticPart(SchemaPart, kw_only=True):
    """A mean, total or median of a numeric attribute; `within` is a closed interval around the value."""

    of: str
    value: Number
    within: Amount = 0


class LinearPart(SchemaPart, kw_only=True):
    """`times` the product of the values of `of` (left out: 1), for every row that meets `where`, or one of `any`.

    Numbers may be written as text, too: "37/100", "0.37".
    """

    where: ConditionPart | None = None
    any: Annotated[list[ConditionPart], Meta(min_length=1)] | None = None
    of: str | list[str] | None = None
    times: Number | str = 1


class StatementPart(SchemaPart):
    """One published figure of a table; of a linear one the bounds may be any numbers, as text too."""

    where: ConditionPart = {}
    name: str | None = None
    count: Number | None = None
    at_least: Number | str | None = None
    at_most: Number | str | None = None
    mean: StatisticPart | None = None
    total: StatisticPart | None = None
    median: StatisticPart | None = None
    suppressed: Literal["primary", "secondary", "unknown"] | None = None
    linear: list[LinearPart] | None = None
    value: Number | str | None = None
    within: Number | str | None = None


class TablePart(ModelPart, kw_only=True, tag_field="kind", tag="table"):
    """Published figures about groups of rows; in one that is `complete`, combinations not listed hold no row."""

    statements: list[StatementPart]
    complete: bool = False


class FilePart(SchemaPart, kw_only=True):
    """A table in a file beside this one: its name, without folders."""

    file: str


class CellPart(SchemaPart, kw_only=True):
    """A published cell: who it counts, by one condition (`where`) or by several of which one must hold (`any`).

    `table`: the table that it stands in; `level`: the kind of areas that the table is published for.
    """

    name: str
    table: str = ""
    level: str = ""
    where: ConditionPart | None = None
    any: Annotated[list[ConditionPart], Meta(min_length=1)] | None = None


class AreaPart(SchemaPart, kw_only=True):
    """An area, and the one that it lies in."""

    name: str
    parent: str | None = None


class TablesPart(ModelPart, kw_only=True, tag_field="kind", tag="tables"):
    """Counts of people by cell and area: `values` are [area, cell, value]. Tables in `complete` are 0 where not listed.

    `area`: what profiles call the column with the area that a person lives in. `schema`: names of histograms'
    attributes, each for a list (`recon variability --schema`). `disjoint`: tables whose cells count nobody twice.
    """

    cells: list[CellPart] | FilePart
    values: list[tuple[str, str, Number]] | FilePart
    areas: list[AreaPart] = []
    complete: list[str] | bool = False
    disjoint: list[str] = []
    area: str = "area"
    schema: dict[str, list[str]] = {}


class GradientsPart(SchemaPart, kw_only=True):
    """How the library computes a row's gradient g and hessian h from its raw scores F and label y.

    `log_loss`: p = 1 / (1 + exp(-scale F)), g = scale (p - y), h = factor scale^2 p (1 - p). `softmax`: p is that of
    the class, g = p - [y = k], h = factor p (1 - p). `squared_error`: g = F - y, h = 1. What is computed lies within
    `relative` times its size plus `absolute` of that and is rounded to `rounded`; scores add up in `scores` precision
    and may be off by `score_error` (`start_error` before the first round). `stages`: each step is rounded.
    """

    loss: Literal["log_loss", "softmax", "squared_error"]
    scores: Literal["float64", "float32"] = "float64"
    rounded: Literal["float64", "float32"] = "float64"
    stages: Literal["float64", "float32"] = "float64"
    scale: Number = 1.0
    factor: Number = 1.0
    relative: Amount = 0.0
    absolute: Amount = 0.0
    score_error: Amount = 0.0
    start_error: Amount = 0.0


class SumPart(SchemaPart, kw_only=True):
    """A sum over a node's rows: at_least <= gradient Σg + hessian Σh + square Σg^2 <= at_most."""

    gradient: Number = 0.0
    hessian: Number = 0.0
    square: Number = 0.0
    at_least: Number
    at_most: Number


class NamedSumPart(SumPart, kw_only=True):
    """The same with a word for what was published."""

    what: str


class BoostedNodePart(NodePart):
    """A node of a boosted tree: a leaf has a `step`, what it adds to the score; any node may publish sums."""

    step: Number | None = None
    value: SumPart | None = None
    weight: SumPart | None = None
    sums: list[NamedSumPart] = []


class BoostedTreePart(SchemaPart, kw_only=True):
    """One tree of a boosted model: it was grown in `round` (from 0) and adds to score number `of`."""

    name: str | None = None
    round: Whole
    of: Whole = 0
    nodes: Annotated[list[BoostedNodePart], Meta(min_length=1)]


class BoostingPart(ModelPart, kw_only=True, tag_field="kind", tag="boosting"):
    """A boosted model: trees over all the rows, in the order of their rounds, and sums of gradients in intervals.

    `start`: the scores from which the first gradients follow, `base`: those to which steps add up (left out: `start`).
    `labels`: the number of every class among the label's values, [] where the target is a number.
    """

    gradients: GradientsPart
    start: list[Number]
    base: list[Number] | None = None
    labels: list[Whole] = []
    trees: Annotated[list[BoostedTreePart], Meta(min_length=1)]


AnyModelPart = TreePart | RuleListPart | RuleSetPart | ForestPart | BoostingPart | TablePart | TablesPart


class DataSetPart(SchemaPart, kw_only=True):
    """A data set that models are of, and how it is related to others: numbers are whole or intervals.

    `from`: the version before it, of which `removed` rows left and to which `added` rows came (left out: unknown), or
    `without` the rows of another data set. `union`: all rows of others; `within`: some rows of another one.
    """

    name: Annotated[str, Meta(min_length=1)]
    rows: Whole | RowsPart | None = None
    origin: str | None = field(default=None, name="from")
    removed: Whole | RowsPart | None = None
    added: Whole | RowsPart | None = None
    union: Annotated[list[str], Meta(min_length=1)] | None = None
    within: str | None = None
    without: str | None = None


class RelationPart(SchemaPart, kw_only=True):
    """No row is in two of the `disjoint` data sets, or every row `of` one is in exactly one of its `parts`."""

    disjoint: Annotated[list[str], Meta(min_length=2)] | None = None
    parts: Annotated[list[str], Meta(min_length=1)] | None = None
    of: str | None = None


class ReleasePart(SchemaPart):
    """A release file: the domain, the number of rows and the published models.

    `datasets`, where models are of different rows: each model then names its `dataset`; `relations` between several.
    """

    recon: Literal[1]
    domain: DomainPart
    rows: int | RowsPart | None = None
    datasets: Annotated[list[DataSetPart], Meta(min_length=1)] | None = None
    relations: list[RelationPart] = []
    models: list[AnyModelPart] = []
    about: str | None = None


class KnownRowPart(SchemaPart, kw_only=True):
    """At least so many rows meet a condition; `position`: of one row, where rows of a training file have positions."""

    where: ConditionPart
    rows: Whole = 1
    dataset: str | None = None
    position: Whole | None = None


class KnownStatementPart(StatementPart):
    """A figure as a table has it, about the rows of a data set ("population": of the population)."""

    dataset: str | None = None


class AbsentPart(SchemaPart, kw_only=True):
    """A person of the population who is not in the data."""

    person: Scalar


class WeighedBoxPart(SchemaPart, kw_only=True):
    """How likely each combination of values that meets `where` is, beside 1 of others; boxes that overlap multiply."""

    where: ConditionPart
    weight: Number | str


class PopulationPart(SchemaPart, kw_only=True):
    """All whose rows can be in the data: a list of `people`, or public `tables` about them; `rows`: how many.

    `id`: the column of the list that names people.
    """

    people: str | None = None
    tables: str | list[str] | None = None
    rows: Whole | RowsPart | None = None
    id: str = "person"


class AdversaryPart(SchemaPart, kw_only=True):
    """What an adversary knows beside a release: a file of its own, which is no release.

    `rows`: people known to be in the data; `absent`: people of the population who are not; `columns`: a table of
    everybody's features; `statements`: figures; `weights` and `boxes`: how likely
    values, and combinations of values, are to begin with, beside 1 of every other.
    """

    recon_adversary: Literal[1]
    about: str | None = None
    rows: list[KnownRowPart] = []
    absent: list[AbsentPart] = []
    columns: str | None = None
    statements: list[KnownStatementPart] = []
    weights: dict[str, dict[str, Number | str]] = {}
    boxes: list[WeighedBoxPart] = []
    population: PopulationPart | None = None


SAID = {"UnusedPublication": "UnusedPart"}  # structs that are no part of this module, as the schema names them


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the release file."""
    return schema_of(ReleasePart)


def adversary_schema() -> dict[str, Any]:
    """Return the JSON Schema of the file of what an adversary knows."""
    return schema_of(AdversaryPart)


def schema_of(kind: type[SchemaPart]) -> dict[str, Any]:
    """Return the JSON Schema of a part that is a file of its own."""
    text = msgspec.json.encode(msgspec.json.schema(kind))
    for name, said in SAID.items():
        text = text.replace(name.encode(), said.encode())
    found = msgspec.json.decode(text)
    parts = found["$defs"]
    for part in parts.values():
        part["description"] = cleandoc(part["description"])
    return {**parts.pop(kind.__name__), "$defs": parts}


SOURCE = "the file"
LEARNERS: dict[str, tuple[LearnerName, ...]] = {
    "tree": ("sklearn tree", "optimal tree"),
    "forest": ("sklearn forest",),
    "rule_list": ("greedy rule list", "optimal rule list"),
}
LISTS = ("width", "max_length", "min_support", "ties")


def to_learner(part: LearnerPart, kind: str, place: str) -> Learner:
    """Return the settings of the learner of a model of some kind (tree, forest, rule_list).

    Raises `ReleaseError` for a learner of other models, settings of rule lists on trees, and numbers not finite.
    """
    if part.name not in LEARNERS[kind]:
        said = " or ".join(f"'{name}'" for name in LEARNERS[kind])
        raise ReleaseError(f"a {kind} is learned by {said}, not by '{part.name}'", place=f"{place}.name")
    for name in LISTS:
        if getattr(part, name) is not None and kind != "rule_list":
            raise ReleaseError(f"belongs to rule lists, not to '{part.name}'", place=f"{place}.{name}")
    given = {f.name: getattr(part, f.name) for f in fields(Learner) if f.name != "source"}
    for name in ("min_weight_fraction_leaf", "min_impurity_decrease", "ccp_alpha"):
        given[name] = math.inf if given[name] > 2.0**1023 else float(given[name])  # a whole number has no end in JSON
        if not math.isfinite(given[name]):
            raise ReleaseError(f"the number {given[name]} is not finite", place=f"{place}.{name}")
    share = given["min_weight_fraction_leaf"]
    if share > 0.5:
        raise ReleaseError(f"is at most 0.5, but it is {share}", place=f"{place}.min_weight_fraction_leaf")
    return Learner(**given, source=SOURCE)


def learner_json(learner: Learner) -> dict[str, Any]:
    """Return the settings as they stand in a file: the name, and what is not at its default."""
    shown = (f for f in fields(Learner) if f.name not in {"name", "source"})
    found = {f.name: getattr(learner, f.name) for f in shown if getattr(learner, f.name) != f.default}
    return {"name": learner.name, **found}
