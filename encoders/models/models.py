"""Published models (and tables) as frozen values: what was released, before it becomes statements.

Counts follow the order of the label's values. Indices, not references, link a tree's nodes, so that a file with
a cycle can be named instead of looped over.

What kind of counts a published model has: per class, sizes, shares, labels, with noise or without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from encoders.domain.domain import Condition
from encoders.domain.values import Value
from encoders.models.knowledge import ColumnFigures, GroupQuestion, KnownPositions, KnownRows
from encoders.models.learner_facts import Learner
from encoders.models.ledger import PrivacyLedger
from encoders.models.linear_figures import ConditionChange, LinearFigure
from encoders.models.nodes import CountTable, ModelNode, Nodes, Published, Support
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.gradients.boosted import Gradients
from solvers.statements.noise.laws import Neighbours, NoiseLaw

__all__ = [  # of `nodes` and `knowledge` of this room; what follows is public as well
    "ColumnFigures", "GroupQuestion", "KnownPositions", "KnownRows", "ModelNode", "Nodes", "Published", "Support",
]  # fmt: skip

StatisticKind = Literal["mean", "total", "median"]


@dataclass(frozen=True, slots=True)
class Noise:
    """The law of the noise on a model's counts, and the privacy budget it was stated by (None: by its scale).

    `ledger`: what every step of the learner spent, where the publisher says it. No answer rests on it.
    """

    law: NoiseLaw
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    sensitivity: Fraction | None = None
    neighbours: Neighbours | None = None
    ledger: PrivacyLedger | None = None


CountKind = Literal["exact", "bag", "distinct", "ratio", "size", "label", "noisy"]


class UnusedPublication(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Figures of a file that no statement carries: what they are, and why not; a part of release files.

    `labels`: each is about the labels of the rows of one published group, and of nothing else, so that no smaller group
    follows from them. `about`: "rows", "labels", "sizes" or "columns", what else it is about. Without both anything may
    follow.
    """

    what: str
    why: str
    labels: bool = False
    about: Literal["", "rows", "labels", "sizes", "columns"] = ""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a reader found a model: the file's format, what kind of counts it holds, and what that rests on.

    `exact`: training rows per class; `bag`: rows of a bootstrap sample; `distinct`: how many different training rows a
    sample holds; `ratio`: shares of classes; `size`: rows, whatever their class; `label`: which class is the
    commonest; `noisy`: counts with noise. `notes` are assumptions that every answer carries. `single`: the model
    compares values as 32-bit numbers; for the words only in which its thresholds are said. `learner`: who chose the
    model, and with which settings, where that is known. `unused`: what the file publishes and no statement carries;
    `columns`: what it publishes of single columns. `understood`: of a table, how it was read, a line per thing.
    `freedom`: of a regression, the least and the most that its rows less its coefficients can be. `format` is "" for
    what a release file of ours says.
    """

    format: str
    counts: tuple[CountKind, ...]
    notes: tuple[str, ...] = ()
    single: bool = field(default=False, compare=False)
    learner: Learner | None = None
    unused: tuple[UnusedPublication, ...] = field(default=(), compare=False)
    columns: tuple[ColumnFigures, ...] = field(default=(), compare=False)
    understood: tuple[str, ...] = field(default=(), compare=False)
    freedom: tuple[int, int | None] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PublishedPart:
    """A node, rule or figure: where it stands in its model, its condition (leaves: None), how many rows it publishes.

    `support` is None of a figure that is not a count.
    """

    path: str
    condition: Condition | None
    support: Support | None
    name: str | None = None


SupportChange = Callable[[Support], Support]


class PublishedModel:
    """What every kind of published model offers: its parts, and itself with other conditions and counts.

    A new kind says its `unit` and both of `parts` and `mapped`; the rest follows from them, or is refused by the name
    of the kind (`unsupported`). Trees have faster ways than node by node.
    """

    __slots__ = ()
    kind: ClassVar[str] = "model"
    unit: ClassVar[str] = "part"  # what a part is called
    group: ClassVar[str] = "group"  # what counts rows: a leaf, a rule, a figure
    disjoint: ClassVar[bool] = False  # whether groups, those of each tree, share no row
    name: str
    predicts: ClassVar[bool] = False  # whether its counts or leaf values say a class for every row
    dataset: str = ""  # of related data sets the one whose rows it is about; a kind without the field is of no other
    bootstrap: bool = False  # whether its trees drew rows with replacement
    multiplicities: NDArray[np.int32] | None = None  # how often each row is in the bag of each tree, where known

    def parts(self) -> Iterator[PublishedPart]:
        """Yield the parts in the order of the release file; `Unsupported` of a kind that has none."""
        raise unsupported(self, "its parts are not known")

    def mapped(self, condition: ConditionChange, support: SupportChange) -> Self:
        """Return the model with its conditions and supports changed; equal conditions are asked for once per tree."""
        raise unsupported(self, "its conditions and counts cannot be replaced")

    def conditions(self) -> Iterator[Condition]:
        """Yield every condition; of each tree those of several nodes once."""
        return (part.condition for part in self.parts() if part.condition is not None)

    def count_tables(self) -> list[CountTable]:
        """Return what the leaves of every tree, or the rules, publish; none of a table."""
        return [CountTable.of([part.support for part in self.parts() if part.support is not None])]

    def size(self) -> int:
        """Return the number of parts."""
        return sum(1 for _ in self.parts())

    def groups(self) -> int:
        """Return the number of leaves, rules or figures."""
        return self.size()

    def figures(self) -> tuple[PublishedFigure, ...]:
        """Return what a table publishes; of other kinds nothing."""
        return ()

    def members(self) -> tuple[Tree, ...]:
        """Return the trees: of an ensemble its own, of a tree itself, of other kinds none."""
        return ()

    def with_trees(self, change: Callable[[Tree], Tree]) -> Self:
        """Return the model with every tree changed; a kind without trees as it is."""
        return self

    def without_bags(self) -> Self:
        """Return the model without what it says of which rows its trees drew."""
        return self

    def relabelled(self, numbers: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Self:
        """Return the model with other numbers for the labels that it names beside its counts."""
        return self

    @property
    def resampled(self) -> bool:
        """Return whether its counts are of resamples of the training rows."""
        return False

    @property
    def scores(self) -> Literal["", "classes", "number"]:
        """Return what its leaf values add up to beside its counts: scores of classes, a number, or nothing."""
        return ""

    @property
    def mergeable(self) -> bool:
        """Return whether its groups can be merged: they share no row, and say nothing but their counts."""
        return self.disjoint and not self.scores


def published_of(models: Iterable[Any]) -> list[AnyModel]:
    """Return the models among what is encoded together: no questions, and nothing that an adversary knows."""
    return [cast("AnyModel", model) for model in models if isinstance(model, PublishedModel)]


def boosted_of(models: Iterable[object]) -> list[Boosting]:
    """Return the boosted models among some."""
    return [model for model in models if isinstance(model, Boosting)]


def kind_words(model: PublishedModel) -> str:
    """Return the kind of a model in words."""
    return model.kind.replace("_", " ")


def unsupported(model: object, why: str) -> Unsupported:
    """Return the refusal of what is not made for a kind of model, which it names."""
    return Unsupported(f"a model of the kind '{getattr(model, 'kind', type(model).__name__)}' is not taken here: {why}")


def _mapped_tree(nodes: Nodes, condition: ConditionChange, support: SupportChange) -> Nodes:
    """Return the nodes of a tree with their conditions and supports changed."""
    found = nodes.translated(condition)
    return found.counting(CountTable.of([support(one) for one in found.counts]))


@dataclass(frozen=True, slots=True)
class Tree(PublishedModel):
    """A decision tree; node 0 is the root. Given as any sequence of `ModelNode`, kept as arrays."""

    kind: ClassVar[str] = "tree"
    unit: ClassVar[str] = "node"
    group: ClassVar[str] = "leaf"
    disjoint: ClassVar[bool] = True
    predicts: ClassVar[bool] = True
    nodes: Nodes
    name: str = "tree"
    noise: Noise | None = None
    origin: Provenance | None = None
    dataset: str = ""

    def __post_init__(self) -> None:
        """Turn nodes given one by one into arrays."""
        if not isinstance(self.nodes, Nodes):
            object.__setattr__(self, "nodes", Nodes.of(self.nodes))

    def parts(self) -> Iterator[PublishedPart]:
        """Yield every node."""
        return (
            PublishedPart(f"nodes[{i}]", node.condition, node.support, node.name) for i, node in enumerate(self.nodes)
        )

    def mapped(self, condition: ConditionChange, support: SupportChange) -> Tree:
        """Return the tree with its conditions and supports changed."""
        return replace(self, nodes=_mapped_tree(self.nodes, condition, support))

    def conditions(self) -> Iterator[Condition]:
        """Yield every condition that is tested, once."""
        return self.nodes.tested()

    def count_tables(self) -> list[CountTable]:
        """Return what the leaves publish."""
        return [self.nodes.leaf_counts]

    def size(self) -> int:
        """Return the number of nodes."""
        return len(self.nodes)

    def groups(self) -> int:
        """Return the number of leaves."""
        return len(self.nodes.leaves)

    def members(self) -> tuple[Tree, ...]:
        """Return the tree itself."""
        return (self,)

    def with_trees(self, change: Callable[[Tree], Tree]) -> Tree:
        """Return the tree changed."""
        return change(self)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its condition (antecedent) and how many rows it captures."""

    condition: Condition
    support: Support
    name: str | None = None


class _Ruled(PublishedModel):
    """What rule lists and rule sets share."""

    __slots__ = ()
    unit: ClassVar[str] = "rule"
    group: ClassVar[str] = "rule"
    rules: tuple[Rule, ...]

    def parts(self) -> Iterator[PublishedPart]:
        """Yield every rule."""
        return (
            PublishedPart(f"rules[{i}]", rule.condition, rule.support, rule.name) for i, rule in enumerate(self.rules)
        )

    def mapped(self, condition: ConditionChange, support: SupportChange) -> Self:
        """Return the model with the conditions and supports of its rules changed."""
        rules = tuple(replace(r, condition=condition(r.condition), support=support(r.support)) for r in self.rules)
        return replace(self, rules=rules)  # type: ignore[type-var]  # those derived from it are dataclasses


@dataclass(frozen=True, slots=True)
class RuleList(_Ruled):
    """An ordered rule list: each row belongs to the first rule whose condition it meets."""

    kind: ClassVar[str] = "rule_list"
    disjoint: ClassVar[bool] = True
    predicts: ClassVar[bool] = True
    rules: tuple[Rule, ...]
    name: str = "rule list"
    noise: Noise | None = None
    origin: Provenance | None = None
    dataset: str = ""


@dataclass(frozen=True, slots=True)
class RuleSet(_Ruled):
    """Rules that may overlap; each says how many rows meet its condition, and leaves the rest open."""

    kind: ClassVar[str] = "rule_set"
    rules: tuple[Rule, ...]
    name: str = "rule set"
    noise: Noise | None = None
    origin: Provenance | None = None
    dataset: str = ""


class _Ensemble(PublishedModel):
    """What kinds of several trees share."""

    __slots__ = ()
    unit: ClassVar[str] = "tree"
    group: ClassVar[str] = "leaf"
    disjoint: ClassVar[bool] = True
    predicts: ClassVar[bool] = True
    trees: tuple[Tree, ...]

    def parts(self) -> Iterator[PublishedPart]:
        """Yield every node of every tree."""
        for t, tree in enumerate(self.trees):
            yield from (replace(part, path=f"trees[{t}].{part.path}") for part in tree.parts())

    def mapped(self, condition: ConditionChange, support: SupportChange) -> Self:
        """Return the model with the conditions and supports of its trees changed."""
        trees = tuple(tree.mapped(condition, support) for tree in self.trees)
        return replace(self, trees=trees)  # type: ignore[type-var]  # those derived from it are dataclasses

    def conditions(self) -> Iterator[Condition]:
        """Yield the conditions of every tree."""
        return (condition for tree in self.trees for condition in tree.nodes.tested())

    def count_tables(self) -> list[CountTable]:
        """Return what the leaves of every tree publish."""
        return [tree.nodes.leaf_counts for tree in self.trees]

    def size(self) -> int:
        """Return the number of trees."""
        return len(self.trees)

    def groups(self) -> int:
        """Return the number of leaves of all trees."""
        return sum(tree.groups() for tree in self.trees)

    def members(self) -> tuple[Tree, ...]:
        """Return the trees."""
        return self.trees

    def with_trees(self, change: Callable[[Tree], Tree]) -> Self:
        """Return the model with every tree changed."""
        return replace(self, trees=tuple(map(change, self.trees)))  # type: ignore[type-var]


@dataclass(frozen=True, slots=True, eq=False)
class Forest(_Ensemble):
    """Trees about the same rows: each was fitted on all of them, or on a resample, its bag.

    `bootstrap`: bags are drawn with replacement, counts are of rows with repetition; `subsample`: without replacement,
    on some of the rows. `multiplicities` (trees, rows): how often each row is in each tree's bag, None where that is
    not known; any whole numbers are taken, and kept as read-only int32 (100 trees of 50,000 rows: 20 MB). `labels`: of
    every row beside its multiplicities the number of its label's value, where that was published by position.
    """

    kind: ClassVar[str] = "forest"
    trees: tuple[Tree, ...]
    name: str = "forest"
    noise: Noise | None = None
    origin: Provenance | None = None
    bootstrap: bool = False
    multiplicities: NDArray[np.int32] | None = None
    subsample: bool = False
    labels: tuple[int, ...] | None = None
    dataset: str = ""

    def __post_init__(self) -> None:
        """Refuse multiplicities that are no table of whole numbers, with `ReleaseError`."""
        if self.multiplicities is not None:
            object.__setattr__(self, "multiplicities", _read_only(self.multiplicities))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Forest):
            return NotImplemented
        mine, theirs = self.multiplicities, other.multiplicities
        same = mine is theirs or (mine is not None and theirs is not None and np.array_equal(mine, theirs))
        return same and self._rest() == other._rest()

    def __hash__(self) -> int:
        return hash(self._rest())

    def _rest(self) -> tuple[object, ...]:
        """Return everything but the multiplicities, which tuples cannot compare."""
        own = self.trees, self.name, self.noise, self.origin, self.bootstrap, self.subsample
        return *own, self.labels, self.dataset

    @property
    def resampled(self) -> bool:
        """Return whether the trees were fitted on resamples."""
        return self.bootstrap or self.subsample

    def without_bags(self) -> Forest:
        """Return the forest without its multiplicities, and without labels by position, which rest on them."""
        return replace(self, multiplicities=None, labels=None)

    def relabelled(self, numbers: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Forest:
        """Return the model with other numbers for its labels by position."""
        return self if self.labels is None else replace(self, labels=numbers(self.labels))


def _read_only(multiplicities: Any) -> NDArray[np.int32]:
    """Return a table (trees, rows) of whole numbers as read-only int32; `ReleaseError` where it is none."""
    try:
        found = np.asarray(multiplicities)
    except ValueError:
        raise ReleaseError("multiplicities: every tree needs one number per training row") from None
    if found.ndim != 2 or (found.size and not np.issubdtype(found.dtype, np.integer)):
        raise ReleaseError("multiplicities are whole numbers, trees x training rows")
    if found.size and not 0 <= int(found.min()) <= int(found.max()) <= np.iinfo(np.int32).max:
        raise ReleaseError(f"multiplicities lie between 0 and 2^31 - 1, not {found.min()} to {found.max()}")
    whole: NDArray[np.int32] = found.astype(np.int32, copy=bool(found.flags.writeable))  # nobody may change ours
    whole.flags.writeable = False
    return whole


@dataclass(frozen=True, eq=False)
class TreeSums:
    """What one tree of a boosted model publishes beside counts.

    `step` (leaves, in file order): what each leaf adds to score `of` when round `round` ends. Figure i is about the
    rows of node `node[i]`: low[i] <= gradient[i] Σg + hessian[i] Σh + square[i] Σg² <= high[i], exactly as these
    doubles stand, for gradients g and hessians h of `Gradients`. `what[i]` says in a word what was published ("value").
    """

    round: int
    of: int
    step: NDArray[np.float64]
    node: NDArray[np.int64]
    gradient: NDArray[np.float64]
    hessian: NDArray[np.float64]
    square: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    what: tuple[str, ...]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSums):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    def __hash__(self) -> int:
        return hash((self.round, self.of, self.what, self.step.tobytes()))


@dataclass(frozen=True, slots=True)
class Boosting(_Ensemble):
    """A boosted model: trees that count all the rows, and sums of gradients in intervals.

    `sums` has one entry per tree, trees in the order of their rounds (from 0). `start`: the scores from which gradients
    of the first round follow, `base`: those to which steps add up. `labels[k]`: the label index of class k (two
    classes: of 0 and 1), () for a real target.
    """

    kind: ClassVar[str] = "boosting"
    trees: tuple[Tree, ...]
    sums: tuple[TreeSums, ...]
    gradients: Gradients
    start: tuple[float, ...]
    base: tuple[float, ...]
    labels: tuple[int, ...]
    name: str = "boosting"
    noise: Noise | None = None
    origin: Provenance | None = None
    dataset: str = ""

    @property
    def scores(self) -> Literal["", "classes", "number"]:
        """Return whether its scores are of classes or of a real target."""
        return "classes" if self.labels else "number"

    def relabelled(self, numbers: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Boosting:
        """Return the model with other numbers for its labels."""
        return replace(self, labels=numbers(self.labels))

    @property
    def forest(self) -> Forest:
        """Return the trees as what they count."""
        return Forest(self.trees, self.name, None, self.origin)


@dataclass(frozen=True, slots=True)
class Statistic:
    """A mean, total or median of an attribute or column, as written: it lies within value ± within."""

    kind: StatisticKind
    of: str
    value: Value
    within: Value = 0


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """One published figure about the rows that meet a condition (an empty one: everybody).

    A count, an interval of counts (`low`, `high`), a statistic or `linear` (its terms have conditions). `suppressed`:
    which rule hid a count; nothing is then known beyond an interval. `drawn`: `low` is the number of rows drawn.
    """

    condition: Condition
    count: Published | None = None
    low: int | None = None
    high: int | None = None
    statistic: Statistic | None = None
    suppressed: Literal["primary", "secondary", "unknown"] | None = None
    name: str | None = None
    drawn: bool = False
    linear: LinearFigure | None = None


@dataclass(frozen=True, slots=True)
class Table(PublishedModel):
    """Published figures about groups of rows.

    `complete`: of the attributes that a figure names together, combinations that no figure is about hold no row.
    """

    kind: ClassVar[str] = "table"
    unit: ClassVar[str] = "figure"
    group: ClassVar[str] = "figure"
    statements: tuple[PublishedFigure, ...]
    name: str = "table"
    noise: Noise | None = None
    origin: Provenance | None = None
    complete: bool = False
    dataset: str = ""

    def parts(self) -> Iterator[PublishedPart]:
        """Yield every figure."""
        for i, figure in enumerate(self.statements):
            support = None if figure.count is None else Support(count=figure.count)
            yield PublishedPart(f"statements[{i}]", figure.condition, support, figure.name)

    def conditions(self) -> Iterator[Condition]:
        """Yield the condition of every figure, and those of its terms."""
        for one in self.statements:
            yield from (one.condition, *(() if one.linear is None else one.linear.conditions))

    def mapped(self, condition: ConditionChange, support: SupportChange) -> Table:
        """Return the table with the conditions and counts of its figures changed."""
        every = []
        for one in self.statements:
            count = None if one.count is None else support(Support(count=one.count)).count
            linear = one.linear and one.linear.mapped(condition)
            every.append(replace(one, condition=condition(one.condition), count=count, linear=linear))
        return replace(self, statements=tuple(every))

    def count_tables(self) -> list[CountTable]:
        """Return none: groups of a table overlap."""
        return []

    def figures(self) -> tuple[PublishedFigure, ...]:
        """Return the figures."""
        return self.statements


AnyModel = Tree | RuleList | RuleSet | Forest | Table | Boosting


MEANING: dict[CountKind, str] = {
    "exact": "training rows per class",
    "bag": "drawn rows per class of a resample, one training row may count several times",
    "distinct": "how many different training rows a resample holds",
    "ratio": "shares of classes, the number of rows behind them unknown",
    "size": "training rows, whatever their class",
    "label": "only which class is the commonest",
    "noisy": "counts with noise",
}


def kinds_of(model: AnyModel) -> tuple[CountKind, ...]:
    """Return the kinds of a model's counts: as its reader declared them, else by what is in it."""
    if model.noise is not None:
        return ("noisy",)
    if model.origin is not None and model.origin.format:
        return model.origin.counts
    if model.resampled:
        return ("bag", "distinct") if model.bootstrap else ("distinct",)
    tables = model.count_tables()
    if not tables:  # a table of figures
        return ("exact",)
    found: list[CountKind] = []
    if any(t.by_class.any() for t in tables):
        found.append("exact")
    if any((t.published & ~t.by_class).any() for t in tables):
        found.append("size")
    return tuple(found)
