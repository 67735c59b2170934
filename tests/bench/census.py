"""Census tables: real tracts, and made-up ones as many as are asked for, area by area.

    python tests/bench/census.py [--quick | --lines BEGINNING ...] [--check]

Jobs begin with tract, 28 tracts, alone, tables of tracts, formulation. Baseline: the release file read (its cells
resolved), of `formulation` our reconstruction beside the model of Abowd et al. (a binary for each person and value,
solved by HiGHS). Real tracts: tests/census (public domain). Made-up ones: tests/synthetic_census.py with the seed that
a line says; they are no estimate of real ones. The jobs of the issue that are larger are samples of it: 4 tracts of 100
blocks alone, 1 with the tables of tracts (`--lines "tables of tracts, 4"` is asked for by name). "The nation" in a line
is computed from it: 6,207,027 blocks in 73,000 tracts that cost what these do. What a line says: harness.py.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness import ROOT, Job, Line, command, main, measured

sys.path.append(str(ROOT / "tests"))
SEED = 7
TRACTS, BLOCKS = 73_000, 6_207_027  # of the United States in 2010, with people


def opened(path: Path) -> Any:
    """Return the tables of a release file, with what their cells distinguish."""
    from recon.queries.tables.reading import opened_tables

    tables = opened_tables([str(path)])
    assert tables is not None
    assert len(tables.system.names)
    return tables


def tract(name: str) -> list[Line]:
    """Return the line of a real tract of the Bureau's test models: the whole command."""
    import pandas as pd
    from synthetic_census import CELLS, written

    import recon

    with tempfile.TemporaryDirectory() as folder:
        values = pd.read_csv(CELLS.with_name(f"tract_{name}.csv.gz"), dtype=str)
        path = written(folder, values, ["P12"])
        beside = measured(lambda: opened(path), repeats=1)
        work = command([sys.executable, "-m", "recon", "variability", str(path), "--json"], repeats=1)
        told = json.loads(work.found)
        found = recon.count(recon.Tables(values, CELLS, complete=["P12"]))
    same = {"data sets": found.multiset[0], "certain": found.certain, "people": found.people[0]}
    more = {"status": found.status, "widths of 0": told["all_tables"]["coupled"]["zero"]}
    return [Line(f"tract {name}", work, "read", beside, more=more, same=same)]


def real() -> list[Line]:
    """Return the lines of 28 real tracts that were selected because their people are the only ones."""
    import numpy as np
    import pandas as pd
    from synthetic_census import CELLS, written
    from test_census import counted_cells

    from recon.queries.tables.answering import by_size, counted_with_proofs
    from recon.queries.tables.proofs import verify_areas
    from recon.queries.tables.variability import variability
    from solvers.foundation.limits import Limits

    people = pd.read_csv(CELLS.with_name("people_28_tracts.csv.gz"), dtype={"block": str})
    with tempfile.TemporaryDirectory() as folder:
        path = written(folder, counted_cells(people))
        beside = measured(lambda: opened(path), repeats=1)
        widths = measured(variability, lambda: opened(path), repeats=1)
        sums = measured(lambda t: counted_with_proofs(t, Limits()), lambda: opened(path), repeats=1)
        answer, proofs = sums.found
        checked = measured(lambda t: verify_areas(list(proofs.values()), t, Limits()), lambda: opened(path), repeats=1)
    told = widths.found.summary()
    sizes = [len(json.dumps(p)) for p in proofs.values()]
    exact = sum(a.multiset[0] == a.multiset[1] for a in answer.areas)
    return [
        Line("28 tracts: widths", widths, "read", beside, said={"people": told["people"]},
             same={"blocks": told["areas"], "0 by own tables": told["alone"]["zero"], "0": told["coupled"]["zero"]}),
        Line("28 tracts: years", sums, "read", beside, same={"certain": answer.certain},
             said={"certain by people, %": {str(x["people_least"]): round(100 * x["people_certain"] / x["people"], 1)
                                            for x in by_size(answer) if x["people"]}},
             more={"only data set over bins": sum(a.unique is True for a in answer.areas), "multiset exact": exact}),
        Line("28 tracts: certificates", checked, "read", beside, less={"largest, bytes": max(sizes)},
             more={"verified": sum(not c.error for c in checked.found)},
             said={"median, bytes": int(np.median(sizes))}),
    ]  # fmt: skip


def synthetic(tracts: int, coupled: bool) -> list[Line]:
    """Return the lines of made-up tracts: widths, numbers of data sets, and beside them the relaxation."""
    import numpy as np
    from synthetic_census import made, written

    from recon.queries.tables.answering import Designs
    from recon.queries.tables.variability import variability
    from solvers.tables.solving import solve_area
    from solvers.tables.widths import Widths

    values, people = made(tracts, 100, 45, SEED)
    with tempfile.TemporaryDirectory() as folder:
        path = written(folder, values)
        beside = measured(lambda: opened(path), repeats=1)
        work = measured(lambda t: variability(t, coupled=coupled), lambda: opened(path), repeats=1)
        tables = opened(path)
    told = work.found.summary()
    part, n = told["coupled" if coupled else "alone"], told["areas"]
    said = {"people": len(people), "seed": SEED, "ms a block": round(1000 * work.cpu / n, 1),
            "percentiles of areas": part["percentiles_of_areas"], "may differ": part["people_may_differ"]}  # fmt: skip
    more = {"exact %": round(100 * part["exact"] / n, 2), "by multipliers or all data sets %": multiplied(work.found)}
    name = f"{'tables of tracts' if coupled else 'alone'}, {tracts} x 100"
    lines = [Line(name, work, "read", beside, more=more, said=said)]
    ones = [solve_area(Designs(tables.system), tables.top(k)) for k in range(tracts)]
    widths = [Widths(one, one.live.atom_b[one.live.atom]) for one in ones]
    if coupled:
        lines[0].said["s a tract"] = round(work.cpu / tracts, 2)
        lines[0].said["nation, computed, hours"] = round(work.cpu / tracts * TRACTS / 3600)
        found = measured(lambda: [w._some for w in widths], repeats=1)
        fit = [
            bool(np.array_equal(sums(one, x), one.live.rows.value)) for one, x in zip(ones, found.found, strict=True)
        ]
        lines.append(Line(f"{name}: one data set", found, "read", beside, more={"tracts": sum(fit)},
                          said={"s a tract": round(found.cpu / tracts, 3),
                                "nation, computed, hours": round(found.cpu / tracts * TRACTS / 3600, 1)}))  # fmt: skip
        relaxed = measured(lambda: variability(tables, relaxed=True, coupled=False), repeats=1)
        ways = {"alone": told["alone"], "relaxed": relaxed.found.summary()["relaxed"], "coupled": part}
        shares = {way: shares_of(one) for way, one in ways.items()}
        lines.append(Line(f"{name}: relaxed", relaxed, "coupled", work, said={"0 by people, %": shares}))
    else:
        lines[0].said["nation, computed, hours"] = round(work.cpu / n * BLOCKS / 3600)
        found = measured(lambda: [w.data_sets for w in widths], repeats=1)
        bounds = sum(low != high for one in found.found for low, high in one.values())
        lines.append(Line(f"{name}: number of data sets", found, "read", beside,
                          more={"exact %": round(100 * (n - bounds) / n, 2)},
                          said={"ms a block": round(1000 * found.cpu / n, 1)}))  # fmt: skip
    return lines


def sums(one: Any, x: Any) -> Any:
    """Return what a data set has in every statement of an area."""
    import numpy as np

    rows = one.live.rows
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    return np.bincount(owner, x[rows.columns], len(rows)).astype(np.int64)


def multiplied(found: Any) -> float:
    """Return the percentage of areas whose width is exact, its upper bound proved in whole numbers by ourselves."""
    i = found.columns.index("by_multipliers")
    return round(100 * sum(line[i] and line[5] == line[6] for line in found.lines) / len(found.lines), 2)


def shares_of(part: dict[str, Any]) -> dict[str, float]:
    """Return the percentage of areas with one data set only, by size."""
    return {str(s["people_least"]): round(100 * s["zero"] / s["areas"], 1) for s in part["by_size"] if s["areas"]}


def formulation(name: str) -> list[Line]:
    """Return the line of a tract solved once: by us, and by a binary for each person and value (HiGHS)."""
    import pandas as pd
    from synthetic_census import CELLS, made

    import recon
    from recon.queries.tables.answering import Designs
    from solvers.tables.solving import solve_area
    from solvers.tables.widths import Widths

    if name == "200 people":
        tables = recon.Tables(made(1, 5, 45, 3)[0], CELLS, complete=True)
    else:
        tables = recon.Tables(pd.read_csv(CELLS.with_name(f"tract_{name}.csv.gz")), CELLS, complete=["P12"])
    assert len(tables.system.names)

    def ours() -> Any:
        one = solve_area(Designs(tables.system), tables.top(0))
        return Widths(one, one.live.atom)._some, int(one.people[0])

    work = measured(ours, repeats=3)
    theirs = measured(lambda: by_person(tables), repeats=1)
    binaries, rows, solving = theirs.found
    said = {"people": work.found[1], "their binaries": binaries, "their rows": rows, "solving alone, s": solving,
            "their time over ours": round(theirs.cpu / work.cpu, 1)}  # fmt: skip
    return [Line(f"formulation {name}", work, "a binary for each person and value", theirs, said=said)]


def by_person(tables: Any) -> tuple[int, int, float]:
    """Solve a tract with a binary for each person and value that no count of 0 leaves out; return sizes and seconds."""
    import numpy as np
    import scipy.sparse as sp
    from scipy.optimize import Bounds, LinearConstraint, milp

    top, matrix = tables.top(0), tables.system.matrix.astype(float)
    zeros = [np.asarray((matrix[row == 0]).sum(axis=0)).ravel() == 0 for row in top.values]
    columns, owner = [], []
    everybody = int(np.asarray(matrix.sum(axis=1)).ravel().argmax())  # a cell that counts everybody
    blocks = []
    for leaf in top.leaves.tolist():
        alive = np.flatnonzero(zeros[leaf] & zeros[0])
        for _ in range(int(top.values[leaf, everybody])):
            columns.append(alive)
            owner.append(leaf)
            blocks.append(len(alive))
    tuples = np.concatenate(columns)
    area = np.repeat(owner, blocks)
    person = np.repeat(np.arange(len(blocks)), blocks)
    parts = [sp.csr_matrix((np.ones(len(tuples)), (person, np.arange(len(tuples)))), shape=(len(blocks), len(tuples)))]
    values = [np.ones(len(blocks))]
    for a, row in enumerate(top.values):
        known = np.flatnonzero(row > 0)
        inside = np.flatnonzero((area == a) | (a == 0))
        chosen = sp.csr_matrix((np.ones(len(inside)), (tuples[inside], inside)), shape=(matrix.shape[1], len(tuples)))
        parts.append(matrix[known] @ chosen)
        values.append(row[known].astype(float))
    whole, told = sp.vstack(parts, format="csr"), np.concatenate(values)
    begun = time.process_time()
    found = milp(np.zeros(len(tuples)), constraints=LinearConstraint(whole, told, told), bounds=Bounds(0, 1),
                 integrality=np.ones(len(tuples)), options={"time_limit": 120})  # fmt: skip
    assert found.x is not None, "HiGHS found none in 120 s"
    return len(tuples), whole.shape[0], round(time.process_time() - begun, 2)


JOBS = {
    **{f"tract {name}": Job(tract, (name,)) for name in "abc"},
    "28 tracts": Job(real),
    "alone, 4 x 100": Job(synthetic, (4, False), quick=False),
    "alone, 1 x 100": Job(synthetic, (1, False)),
    "tables of tracts, 1 x 100": Job(synthetic, (1, True), quick=False),
    "tables of tracts, 4 x 100": Job(synthetic, (4, True), quick=False),
    "alone, 100 x 100": Job(synthetic, (100, False), quick=False),
    "tables of tracts, 100 x 100": Job(synthetic, (100, True), quick=False),
    **{
        f"formulation {name}": Job(formulation, (name,), quick=name != "200 people")
        for name in ("b", "c", "200 people")
    },
}

if __name__ == "__main__":
    main("census", JOBS)
