"""Linked tables with hidden cells: exact intervals of a pattern, and the cheapest pattern beside hypercubes.

    python tests/bench/suppression.py [--quick | --lines BEGINNING ...] [--check]

Jobs begin with audit, patterns, cell by cell, totals. Tables: three of region and a further attribute
(linked_tables.py), with groups of groups. Audited is the pattern of small counts and so many more that none is alone
in a sum (baseline: the cells and their sums made); asked are 10,000 cells, every hidden cell exact, in 60 s of the
processor. Patterns: the hypercube heuristic is the baseline; asked is a cost within 5 % of the least where CP-SAT
proves one, and never an attackable sensitive cell. What a line says: harness.py.
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


def totals(name: str, records: int) -> list[Line]:
    """Return the line of a pattern of a table of totals in two hierarchies, most cells of few respondents, from inside.

    109 regions by 101 branches; the p % rule with 10 %. The baseline is reading the records.
    """
    import tempfile
    from pathlib import Path

    import numpy as np

    from recon.readers.formats.tables.magnitudes import RespondentColumns, table_of_rows
    from recon.release.policies.magnitudes import SENSITIVITY
    from recon.release.remediation.hidden_totals import checked_totals, pattern_of_totals, totals_task
    from solvers.foundation.limits import Limits

    rng = np.random.default_rng(0)
    group, place, branch = (rng.integers(0, n, records) for n in (12, 8, 10))
    kind = np.minimum(8, rng.geometric(0.3, records) - 1)
    sales = np.ceil(np.exp(rng.normal(4, 1.2, records))).astype(int)
    columns = {
        "region": [f"r{a}_{b}" for a, b in zip(group, place, strict=True)],
        "branch": [f"b{a}_{b}" for a, b in zip(branch, kind, strict=True)], "sales": [str(x) for x in sales],
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        trees = []
        for key, letter, many, each in (("region", "r", 12, 8), ("branch", "b", 10, 9)):
            codes = [[f"{letter.upper()}{g}", *(f"@{letter}{g}_{k}" for k in range(each))] for g in range(many)]
            path = Path(folder, f"{key}.hrc")
            path.write_text("".join(f"{code}\n" for group in codes for code in group), encoding="utf-8")
            trees.append(f"{key}={path}")
        what = RespondentColumns("sales")
        made = measured(
            lambda: table_of_rows(columns, [("region", "branch")], what, tuple(trees), 3, "rows"), repeats=1
        )
    asked = totals_task(made.found, {"p": SENSITIVITY["magnitudes.p_percent"](10)}, Limits(), inside=True)
    work = measured(lambda: pattern_of_totals(asked, Limits()), repeats=1)
    audit_work = measured(lambda: checked_totals(asked, work.found.hidden, Limits()), repeats=1)
    assert asked.task.insiders is not None
    return [
        Line(
            f"totals, {name}", work, "records read", made,
            same={
                "attackable": len(work.found.attackable), "from inside": len(audit_work.found.from_inside),
                "sensitive": int(asked.task.sensitive.sum()), "respondents who attack": int(asked.task.insiders.sum()),
            },
            less={"hidden": int(work.found.hidden.sum())},
            said={"audit, CPU s": round(audit_work.cpu, 1)},
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

JOBS["totals, 11,009 cells"] = Job(totals, ("11,009 cells", 12_000), False)

if __name__ == "__main__":
    main("suppression", JOBS)
