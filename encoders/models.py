"""Published models (and tables) as frozen values: what was released, before it becomes statements.

Counts follow the order of the label's values. Indices, not references, link a tree's nodes, so that a file with
a cycle can be named instead of looped over.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from encoders.domain import Condition
from encoders.values import Value
from solvers.noise import Law, Neighbours

StatisticKind = Literal["mean", "total", "median"]


Published = int | Fraction  # a number of rows, or what noise made of one


@dataclass(frozen=True, slots=True)
class Noise:
    """The law of the noise on a model's counts, and the privacy budget it was stated by (None: by its scale)."""

    law: Law
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    sensitivity: Fraction | None = None
    neighbours: Neighbours | None = None


@dataclass(frozen=True, slots=True)
class Support:
    """How many training rows: per class (`counts`) or in all (`count`); at most one is given.

    Whole numbers, or exact fractions where the model carries noise.
    """

    counts: tuple[Published, ...] | None = None
    count: Published | None = None

    @property
    def total(self) -> int | None:
        """Return the number of rows, None where nothing was published. Of models without noise only."""
        found = sum(self.counts) if self.counts is not None else self.count
        return None if found is None else int(found)


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a tree: an inner node has a condition and two children, a leaf has a support."""

    support: Support
    condition: Condition | None = None
    then: int = -1
    otherwise: int = -1
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Tree:
    """A decision tree; node 0 is the root."""

    kind: ClassVar[str] = "tree"
    nodes: tuple[Node, ...]
    name: str = "tree"
    noise: Noise | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its condition (antecedent) and how many rows it captures."""

    condition: Condition
    support: Support
    name: str | None = None


@dataclass(frozen=True, slots=True)
class RuleList:
    """An ordered rule list: each row belongs to the first rule whose condition it meets."""

    kind: ClassVar[str] = "rule_list"
    rules: tuple[Rule, ...]
    name: str = "rule list"
    noise: Noise | None = None


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Rules that may overlap; each says how many rows meet its condition, and leaves the rest open."""

    kind: ClassVar[str] = "rule_set"
    rules: tuple[Rule, ...]
    name: str = "rule set"
    noise: Noise | None = None


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees that were all fitted on the same rows, without bootstrap."""

    kind: ClassVar[str] = "forest"
    trees: tuple[Tree, ...]
    name: str = "forest"
    noise: Noise | None = None


@dataclass(frozen=True, slots=True)
class Statistic:
    """A mean, total or median of an attribute or column, as written: it lies within value ± within."""

    kind: StatisticKind
    of: str
    value: Value
    within: Value = 0


@dataclass(frozen=True, slots=True)
class Figure:
    """One published figure about the rows that meet a condition (an empty one: everybody).

    It is a count, an interval of counts (`low`, `high`) or a statistic. `suppressed` says which rule hid a count:
    it then has an interval, or nothing is known.
    """

    condition: Condition
    count: Published | None = None
    low: int | None = None
    high: int | None = None
    statistic: Statistic | None = None
    suppressed: Literal["primary", "secondary", "unknown"] | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Published figures about groups of rows."""

    kind: ClassVar[str] = "table"
    statements: tuple[Figure, ...]
    name: str = "table"
    noise: Noise | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """No publication but a question about a group and up to two numeric attributes: cells are cut as it needs."""

    kind: ClassVar[str] = "question"
    condition: Condition
    of: tuple[str, ...] = ()
    name: str = "question"


AnyModel = Tree | RuleList | RuleSet | Forest | Table
