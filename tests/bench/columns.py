"""What column generation adds to single trees where the cells are too many: breast cancer, 569 rows, 30 features.

    python tests/bench/columns.py [trees ...]

Per forest (full-grown trees without bootstrap, decimal grids read off the data) 100 true rows and 100 rows with one
value changed: how many are proved impossible or certain within 60 s by single trees alone and by the engine
`columns`, and for how many a fractional world shows that no linear program can tell. Needs scikit-learn.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

SECONDS = 60.0  # the limit of every question
ROWS = 100


def forest_and_rows(trees: int):
    """Return (release, true rows, rows with one value changed)."""
    import numpy as np
    from forests import decimal_domain
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import RandomForestClassifier

    import recon

    frame, label = load_breast_cancer(as_frame=True).frame, "target"
    domain = decimal_domain(frame, label)
    forest = RandomForestClassifier(trees, bootstrap=False, random_state=0)
    forest.fit(frame.drop(columns=label), frame[label])
    real = frame.sample(ROWS, random_state=0).reset_index(drop=True)
    changed, rng = real.copy(), np.random.default_rng(0)
    for i in range(len(changed)):
        grid = domain.attributes[int(rng.integers(len(domain.attributes)))]
        while (drawn := grid.value(int(rng.integers(grid.count)))) == real.loc[i, grid.name]:
            pass
        changed.loc[i, grid.name] = drawn
    return recon.encode(forest, domain), real, changed


def verdicts(answer) -> str:
    """Return how many rows are impossible and certain, and the sum of the greatest numbers of rows."""
    return f"{(answer.high == 0).sum()} / {(answer.low > 0).sum()} / {answer.high.sum():,}"


def lines(trees: int) -> list[list[str]]:
    """Return a line for the true rows and one for the changed ones."""
    from recon.frames.selections import select_frame
    from solvers.columns.master import KnownMaster
    from solvers.columns.single_partitions import decide_apart
    from solvers.engines.columns import ColumnsEngine
    from solvers.foundation.limits import Limits
    from solvers.questions.query import Decide

    release, *both = forest_and_rows(trees)
    out = []
    for what, some in zip(("true", "changed"), both, strict=True):
        chosen = select_frame(release, some)
        query = Decide(chosen, "ordered")
        release.statements.derived.part(KnownMaster).master = None  # every batch starts anew
        begun = time.perf_counter()
        alone = decide_apart(release.statements, query, Limits())
        middle = time.perf_counter()
        found = ColumnsEngine().answer(release.statements, query, Limits(seconds=SECONDS))
        ended = time.perf_counter()
        line = [f"{trees} trees, {ROWS} {what}", verdicts(alone), f"{middle - begun:.2f}", verdicts(found)]
        out.append([*line, f"{ended - middle:.1f}"])
    return out


def main(arguments: list[str]) -> None:
    """Print the table for the numbers of trees given, by default 10, 30 and 100."""
    names = ["rows", "single trees*", "s", "columns*", "s"]
    widths = [24, 16, 6, 16, 6]
    print("* impossible / certain / sum of the greatest numbers of rows\n")
    for cells in (names, ["-" * w for w in widths]):
        print("| " + " | ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)) + " |")
    for trees in map(int, arguments or ("10", "30", "100")):
        for cells in lines(trees):
            print("| " + " | ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
