"""The global surrogate as REVEAL describes TREPAN: a plain decision tree on enriched data labelled by the black box."""

from __future__ import annotations

from typing import Any

import numpy as np

from recon.attacks.explainers.sampling import IndependentColumns, asked, checked
from recon.attacks.explainers.surrogate import Surrogate
from recon.queries.prediction.records import Floats, Ints, RecordColumns, Target
from solvers.foundation.errors import Unsupported, installing


def fitted_tree(x: Floats, y: Ints, **settings: Any) -> Any:
    """Return scikit-learn's decision tree fitted on rows. Raises `Unsupported` where scikit-learn is missing."""
    try:
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        raise Unsupported(f"a tree on enriched data needs scikit-learn: {installing('sklearn')}") from None
    return DecisionTreeClassifier(**settings).fit(x, y)


def enriched_tree(target: Target, x: Floats, columns: RecordColumns, classes: int, *, seed: int,
                  max_depth: int | None = None,
                  max_leaves: int | None = None, min_leaf: int = 1,
                  samples: int | None = None) -> Surrogate:  # fmt: skip
    """Return a decision tree fitted on rows x (n, d) and `samples` drawn ones (as many as rows), labelled by a target.

    Drawn rows have every column's own values independently (one-hot groups together). `min_leaf`: the least number of
    rows in a leaf. Cost: one query for each distinct row, and the fit. Raises `ReleaseError` without rows,
    `Unsupported` without scikit-learn.

    Source: Naretto, Monreale, Giannotti 2025 (REVEAL), whose text calls this TREPAN; it is not the algorithm of Craven
    and Shavlik (`trepan`), the paper gives no size of the enrichment, and `kind` says which of the two a tree is.
    """
    rows = checked(x, columns)
    rng = np.random.default_rng(seed)
    drawn = IndependentColumns(rows, columns).draw(len(rows) if samples is None else samples, rng)
    both = np.concatenate([rows, drawn])
    said, queries = asked(target, both, classes)
    state = int(rng.integers(2**31))
    limited = {"max_depth": max_depth, "max_leaf_nodes": max_leaves, "min_samples_leaf": min_leaf}
    tree = fitted_tree(both, said, random_state=state, **limited)
    return Surrogate.of(tree, "enriched tree", columns, classes, queries)
