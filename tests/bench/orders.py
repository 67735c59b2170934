"""The order of cells: seconds of CPU and width (statements open at once), beside the greedy order by its definition.

    python tests/bench/orders.py

Needs scikit-learn. The plain order is quadratic in cells and left out beyond PLAIN of them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[1])]

PLAIN = 15_000


def width(matrix: NDArray[np.int64], order: list[int]) -> int:
    """Return the greatest number of statements open at once."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    used = matrix != 0
    first, last = np.where(used, place, len(order)).min(axis=1), np.where(used, place, -1).max(axis=1)
    change = np.zeros(len(order) + 1, dtype=np.int64)
    np.add.at(change, first[last >= 0], 1)
    np.add.at(change, last[last >= 0], -1)
    return int(np.cumsum(change).max())


def timed(order: Callable[[NDArray[np.int64]], list[int]], matrix: NDArray[np.int64]) -> str:
    """Return the seconds of CPU of an order, and its width."""
    begun = time.process_time()
    found = order(matrix)
    return f"{time.process_time() - begun:.3f} s, width {width(matrix, found)}"


def matrices() -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield the largest component of releases of real data."""
    from sklearn import datasets, ensemble, tree

    import recon
    from solvers.cells.components import known_presolve
    from solvers.cells.system import system_of
    from solvers.foundation.limits import Limits

    stump: Any = tree.DecisionTreeClassifier(max_depth=1)
    for name, model in (
        ("wine", ensemble.AdaBoostClassifier(stump, n_estimators=20, random_state=0)),
        ("wine", ensemble.BaggingClassifier(n_estimators=10, random_state=0)),
        ("breast_cancer", ensemble.AdaBoostClassifier(stump, n_estimators=20, random_state=0)),
    ):
        data = getattr(datasets, f"load_{name}")(as_frame=True)
        domain = recon.Domain.from_frame(data.data.assign(label=data.target), label="label")
        release = recon.encode(model.fit(data.data, data.target), domain)
        parts = known_presolve(system_of(release.statements, Limits()), Limits()).components
        part = max(parts, key=lambda p: len(p.cells))
        if part.matrix is not None:
            yield f"{name}, {type(model).__name__}", part.matrix


def main() -> None:
    """Print a line per release."""
    from test_budgets import plain_order

    from solvers.histograms.elimination import elimination_order

    for said, matrix in matrices():
        plain = timed(plain_order, matrix) if matrix.shape[1] <= PLAIN else "left out"
        print(
            f"{said}: {matrix.shape[1]:,} cells, {len(matrix)} statements: {timed(elimination_order, matrix)}; {plain}"
        )


if __name__ == "__main__":
    main()
