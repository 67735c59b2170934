"""One tree from several local explanations: of one record (stable) or of many (a global surrogate from local ones)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recon.attacks.explainers.enriched import fitted_tree
from recon.attacks.explainers.lore import Explanation
from recon.attacks.explainers.surrogate import Surrogate
from solvers.foundation.errors import ReleaseError


def merged(explanations: Sequence[Explanation], *, seed: int = 0, max_depth: int | None = None,
           max_leaves: int | None = None, min_leaf: int = 2) -> Surrogate:  # fmt: skip
    """Return one decision tree fitted to the neighbourhoods of all explanations together.

    A row that stands in several neighbourhoods counts that often: what lies near several explained records weighs
    more. The black box is not asked again, every neighbourhood keeps what it said. `queries`: of all explanations.

    Guidotti et al. 2022 merge the trees themselves, as tables of their leaves that are intersected and then fitted
    again. That needs thresholds for coverage and precision which neither paper gives, and its tree answers, where
    leaves overlap, by votes of trees outside of their own neighbourhoods. Fitting to the union instead says of every
    neighbour what the black box said, has no thresholds, and with k neighbourhoods of one record is LORE with a
    sample k times as large, which is what makes it stable. Cost: one fit.

    Raises `ReleaseError` where there is no explanation or they are of different columns, `Unsupported` without
    scikit-learn.
    """
    if not explanations:
        raise ReleaseError("there are no explanations to merge")
    columns, classes = explanations[0].surrogate.columns, explanations[0].surrogate.classes
    for k, one in enumerate(explanations):
        if (one.surrogate.columns, one.surrogate.classes) != (columns, classes):
            raise ReleaseError(f"explanation {k} is of other columns or classes than explanation 0")
    x = np.concatenate([one.neighbourhood.x for one in explanations])
    said = np.concatenate([one.neighbourhood.labels for one in explanations])
    tree = fitted_tree(x, said, random_state=seed, max_depth=max_depth, max_leaf_nodes=max_leaves,
                       min_samples_leaf=max(1, min(min_leaf, len(x))))  # fmt: skip
    return Surrogate.of(tree, "lore merged", columns, classes, sum(one.queries for one in explanations))
