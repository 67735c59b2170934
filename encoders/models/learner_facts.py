"""What a learner's rule says of training rows beside a model's counts: counts, or one of several readings.

Which learner chose a model, and with which settings: what an adversary who knows the learner's rule knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from encoders.domain.values import Ranges

LearnerName = Literal["sklearn tree", "sklearn forest", "greedy rule list", "optimal tree", "optimal rule list"]
Ties = Literal["authors", "fewest"]  # which of equal candidates GreedyRL takes (recon.learners.rule_lists)


@dataclass(frozen=True)
class Learner:
    """A learner and its settings; a field is None where it is not known or does not apply.

    `criterion` gini, entropy, squared_error ...; `splitter` best or random; limits as scikit-learn calls them:
    `min_samples_split` and `min_samples_leaf` as numbers of rows (fractions already worked out), `max_features` as the
    number of columns tried per node (None: all), `max_leaf_nodes` (None: depth-first). `bootstrap`: rows were drawn.
    `width`, `max_length` (the default rule included), `min_support` (rows) of rule lists, and whether "column = 0" is
    a literal too (`negations`) and which of equal rules comes first (`ties`; None: not known). `columns`: how many the
    learner chose among. `monotonic`: splits were held to signs. `version` of the library, `source`
    where the settings were read ("the file", "--learner").
    """

    name: LearnerName
    criterion: str | None = None
    splitter: str = "best"
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_fraction_leaf: float = 0.0
    max_features: int | None = None
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    ccp_alpha: float = 0.0
    weighted: bool = False
    bootstrap: bool = False
    width: int | None = None
    max_length: int | None = None
    min_support: int | None = None
    negations: bool = True
    ties: Ties | None = None
    columns: int | None = None
    monotonic: bool = False
    version: str = ""
    source: str = ""


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
