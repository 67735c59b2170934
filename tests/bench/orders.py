"""The order of cells: seconds of CPU and width (statements open at once), beside the greedy order by its definition.

    python tests/bench/orders.py [--quick | --lines BEGINNING ...] [--check]

Of the largest component of models of real data. The plain order is quadratic in cells: of more than PLAIN cells the
baseline orders the first PLAIN ones only. Needs scikit-learn. What a line says: harness.py.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from harness import Job, Line, main, measured

sys.path.append(str(Path(__file__).resolve().parents[1]))

PLAIN = 12_000


def models() -> dict[str, tuple[str, Any]]:
    """Return the models by what they are, each with its data."""
    from sklearn import ensemble, tree

    stump: Any = tree.DecisionTreeClassifier(max_depth=1)
    return {
        "wine, AdaBoost of 20 stumps": ("wine", ensemble.AdaBoostClassifier(stump, n_estimators=20, random_state=0)),
        "wine, 10 bagged trees": ("wine", ensemble.BaggingClassifier(n_estimators=10, random_state=0)),
        "breast cancer, AdaBoost of 20 stumps": (
            "breast_cancer",
            ensemble.AdaBoostClassifier(stump, n_estimators=20, random_state=0),
        ),
    }


def ordered(job: str) -> list[Line]:
    """Order the cells of the largest component."""
    from sklearn import datasets
    from test_budgets import plain_order

    import recon
    from solvers.cells.components import known_presolve
    from solvers.cells.system import system_of
    from solvers.foundation.limits import Limits
    from solvers.histograms.decision_diagram import elimination_order, width

    name, model = models()[job]
    data = getattr(datasets, f"load_{name}")(as_frame=True)
    domain = recon.Domain.from_frame(data.data.assign(label=data.target), label="label")
    release = recon.encode(model.fit(data.data, data.target), domain)
    parts = known_presolve(system_of(release.statements, Limits()), Limits()).components
    matrix = max(parts, key=lambda p: len(p.cells)).matrix
    assert matrix is not None
    work = measured(lambda: elimination_order(matrix))
    first = matrix[:, :PLAIN]
    beside = measured(lambda: plain_order(first))
    less = {"width": width(matrix, work.found)}
    said: dict[str, Any] = {"cells": matrix.shape[1], "statements": len(matrix)}
    baseline = "the order by its definition"
    if matrix.shape[1] > PLAIN:
        baseline += f", of {PLAIN:,} cells"
    else:
        said["its width"] = width(matrix, beside.found)
    return [Line(job, work, baseline, beside, less=less, said=said)]


JOBS = {name: Job(ordered, (name,)) for name in models()}

if __name__ == "__main__":
    main("orders", JOBS)
