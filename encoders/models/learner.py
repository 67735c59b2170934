"""Which learner chose a model, and with which settings: what an adversary who knows the learner's rule knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
