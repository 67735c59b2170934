"""Linked tables with hidden cells: exact intervals of a pattern, and the cheapest pattern beside hypercubes.

    python tests/bench/suppression.py [--quick | --lines BEGINNING ...] [--check]

Jobs begin with audit, patterns, cell by cell. Tables: three of region and a further attribute (linked_tables.py), with
groups of groups. Audited is the pattern of small counts and so many more that none is alone in a sum (baseline: the
cells and their sums made); asked are 10,000 cells, every hidden cell exact, in 60 s of the processor. Patterns:
the hypercube heuristic is the baseline; asked is a cost within 5 % of the least where CP-SAT proves one, and never an
attackable sensitive cell. What a line says: harness.py.
"""

from __future__ import annotations

import sys

from harness import ROOT, Job, Line, main, measured

sys.path.append(str(ROOT / "tests"))
LARGE = "10,276 cells"


def audit(seed: int) -> list[Line]:
    """Return the line of the audit of one pattern."""
    from linked_tables import closed, task

    from solvers.foundation.limits import Limits

    made = measured(lambda: task(LARGE, seed=seed), repeats=1)
    found = made.found
    hidden = closed(found)
    found.sensitive[:] = hidden
    work = measured(lambda: found.audited(hidden, Limits()), repeats=1)
    ends = work.found
    wide = (ends.high - ends.low)[hidden]
    return [
        Line(
            f"audit, {LARGE}, seed {seed}", work, "cells made", made,
            same={"hidden": int(hidden.sum()), "exact": int(ends.tight[hidden].sum())},
            said={"recovered": int((wide == 0).sum()), "linear programs": ends.programs, "searches": ends.searches},
        )
    ]  # fmt: skip


def by_cells(name: str, seed: int) -> list[Line]:
    """Return the line of a pattern made cell by cell, as it is of more than 3,000 cells, beside the hypercubes."""
    from linked_tables import task

    from solvers.foundation.limits import Limits
    from solvers.suppression.patterns import hypercube_pattern, incremental_pattern

    found = task(name, seed=seed)
    corners = measured(lambda: hypercube_pattern(found, Limits()), repeats=1)
    work = measured(lambda: incremental_pattern(found, Limits()), repeats=1)
    return [
        Line(
            f"cell by cell, {name}, seed {seed}", work, "hypercubes", corners,
            same={"attackable": len(found.attackable(work.found, Limits())), "sensitive": int(found.sensitive.sum())},
            less={"cost": found.cost_of(work.found)},
            said={
                "cost of hypercubes": found.cost_of(corners.found),
                "attackable by hypercubes": len(found.attackable(corners.found, Limits())),
            },
        )
    ]  # fmt: skip


def patterns(name: str, seed: int) -> list[Line]:
    """Return the line of the cheapest pattern of some tables, beside the hypercube heuristic."""
    from linked_tables import task

    from solvers.foundation.limits import Limits
    from solvers.suppression.patterns import cheapest_pattern, hypercube_pattern

    found = task(name, seed=seed)
    corners = measured(lambda: hypercube_pattern(found, Limits()), repeats=1)
    work = measured(lambda: cheapest_pattern(found, Limits(work=600.0)), repeats=1)
    best = work.found
    return [
        Line(
            f"patterns, {name}, seed {seed}", work, "hypercubes", corners,
            same={"attackable": len(best.attackable), "sensitive": int(found.sensitive.sum())},
            less={"cost": best.cost, "above the proved least, %": round(100 * best.gap, 2)},
            said={
                "cost of hypercubes": found.cost_of(corners.found),
                "attackable by hypercubes": len(found.attackable(corners.found, Limits())), "attacks": best.attacks,
            },
        )
    ]  # fmt: skip


JOBS = {f"audit, {LARGE}, seed {seed}": Job(audit, (seed,), seed == 0) for seed in range(3)}
JOBS |= {
    f"patterns, {name}, seed {seed}": Job(patterns, (name, seed), name == "736 cells" and seed == 0)
    for name in ("736 cells", "1,066 cells")
    for seed in range(3)
}
JOBS |= {
    f"cell by cell, {name}, seed {seed}": Job(by_cells, (name, seed), name == "736 cells" and seed == 0)
    for name in ("736 cells", "4,089 cells", LARGE)
    for seed in range(3 if name != LARGE else 1)
}

if __name__ == "__main__":
    main("suppression", JOBS)
