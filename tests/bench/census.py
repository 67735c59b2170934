"""Census tables: real tracts, and made-up ones as many as are asked for, area by area.

    python tests/bench/census.py [--quick | --lines BEGINNING ...] [--check]

Jobs begin with tract, 28 tracts, alone, tables of tracts, relaxed, formulation, streaming. Baseline: the release file
read (its cells resolved), of `formulation` our reconstruction beside the model of Abowd et al. (a binary for each
person and value, solved by HiGHS), of `streaming` the lines read by csv. Real tracts: examples/census (public domain).
Made-up ones: tests/synthetic_census.py with the seed that a line says; they are no estimate of real ones. Jobs of 100
tracts are asked for by name; they go on where they were stopped, and several processes may share one. "The nation" in a
line is computed from it: 6,207,027 blocks in 73,000 tracts that cost what these do. What a line says: harness.py.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from harness import ROOT, Job, Line, command, main, measured
from records import Spent

sys.path.append(str(ROOT / "tests"))
SEED = 7
COUPLED = ("tables of tracts", "by multipliers")
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
    exact = sum(a.multisets.exact for a in answer.areas)
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


def synthetic(tracts: int, way: str) -> list[Line]:
    """Return the lines of made-up tracts: widths, by own tables or with those of tracts; or the relaxation.

    By multipliers: data sets are not looked at one by one, every width has a certificate.
    What a tract took and gave is kept below build, for these sources: a job that was stopped goes on.
    """
    import numpy as np
    from synthetic_census import made, written

    from recon.queries.tables.variability import COLUMNS, RELAXED, Variability

    values, people = made(tracts, 100, 45, SEED)
    kept, tract = KeptTracts(way, tracts), values.area.str.partition(":")[0]
    with tempfile.TemporaryDirectory() as folder:
        path = written(folder, values)
        beside = measured(lambda: opened(path), repeats=1)
        for k in kept.missing:
            kept.add(k, one_tract(written(folder, values[tract == f"tract-{k + 1}"], name="one"), way))
    widths = [tuple(line) for one in kept.tracts for line in one["lines"]]
    columns = (*COLUMNS, *RELAXED) if way == "relaxed" else COLUMNS
    told = Variability(widths, (), (), columns, coupled=way in COUPLED).summary()
    work, numbers, n, name = kept.spent("widths"), kept.spent("numbers"), told["areas"], f"{way}, {tracts} x 100"
    seconds = [one["widths"][0] for one in kept.tracts]
    kinds = ["alone", *(["coupled"] if way in COUPLED else ["relaxed"] if way == "relaxed" else [])]
    part = told[kinds[-1]]
    said = {
        "people": len(people), "seed": SEED, "ms a block": round(1000 * work.cpu / n, 1),
        **{f"s a tract, {kind}": round(float(of(seconds)), 2)
           for kind, of in (("average", np.mean), ("median", np.median), ("most", np.max))},
        "percentiles of areas": part["percentiles_of_areas"], "may differ": part["people_may_differ"],
        "nation, computed, hours": round(max(work.cpu / n * BLOCKS, work.cpu / tracts * TRACTS) / 3600),
        "0 by people, %": {kind: shares_of(told[kind]) for kind in kinds},
    }  # fmt: skip
    more = {"exact %": round(100 * part["exact"] / n, 2)}
    if way != "relaxed":
        more["by multipliers %" if way == "by multipliers" else "by multipliers or all data sets %"] = multiplied(
            widths
        )
    lines = [Line(name, work, "read", beside, more=more, said=said)]
    if way == "alone":
        exact = sum(one["exact"] for one in kept.tracts)
        lines.append(Line(f"{name}: number of data sets", numbers, "read", beside,
                          more={"exact %": round(100 * exact / n, 2)},
                          said={"ms a block": round(1000 * numbers.cpu / n, 1)}))  # fmt: skip
    if way == "tables of tracts":
        lines.append(Line(f"{name}: one data set", numbers, "read", beside,
                          more={"tracts": sum(one["exact"] for one in kept.tracts)},
                          said={"s a tract, average": round(numbers.cpu / tracts, 3),
                                "s a tract, most": round(max(one["numbers"][0] for one in kept.tracts), 3),
                                "nation, computed, hours": round(numbers.cpu / tracts * TRACTS / 3600, 1)},
                          ))  # fmt: skip
    return lines


class KeptTracts:
    """What is known of tracts, a file each in a folder below build that is another one where the sources changed.

    Several processes may work for it at once: tracts that are not there yet are taken in any order.
    """

    def __init__(self, name: str, tracts: int) -> None:
        sources = sorted((ROOT / "solvers" / "tables").glob("*.py"))
        digest = hashlib.sha256(b"".join(map(Path.read_bytes, sources))).hexdigest()[:12]
        folder = ROOT / "build" / "bench" / f"census-{name}-{digest}"
        folder.mkdir(parents=True, exist_ok=True)
        self.files = [folder / f"{k + 1}.json" for k in range(tracts)]

    @property
    def missing(self) -> Iterator[int]:
        """Yield the tracts that are not there, looked for one by one."""
        for k in random.sample(range(len(self.files)), len(self.files)):
            if not self.files[k].exists():
                yield k

    def add(self, k: int, found: dict[str, Any]) -> None:
        """Keep what was found of a tract."""
        with tempfile.NamedTemporaryFile("w", dir=self.files[k].parent, delete=False, encoding="utf-8") as file:
            file.write(json.dumps(found))
        os.replace(file.name, self.files[k])

    @cached_property
    def tracts(self) -> list[dict[str, Any]]:
        """Return what was found of all tracts."""
        return [json.loads(file.read_text(encoding="utf-8")) for file in self.files]

    def spent(self, name: str) -> Spent:
        """Return what one thing took in all tracts together."""
        cpu, wall, before, peak = zip(*(tract[name] for tract in self.tracts), strict=True)
        return Spent(sum(cpu), sum(wall), 1, max(before), max(peak))


def one_tract(path: Path, way: str) -> dict[str, Any]:
    """Return what a made-up tract took ([seconds, of the clock, MB before, at the peak]) and what was found.

    `numbers`: its blocks' numbers of data sets (`exact`: how many of them are), or one data set (`exact`: it fits).
    """
    import numpy as np

    from recon.queries.tables.answering import Designs
    from recon.queries.tables.variability import variability
    from solvers.tables.solving import solve_area
    from solvers.tables.widths import Widths

    part = opened(path)
    asked = {"coupled": way in COUPLED, "relaxed": way == "relaxed", "proofs": way == "by multipliers"}
    work = measured(lambda: variability(part, **asked), repeats=1)
    out: dict[str, Any] = {"lines": list(work.found.lines), "widths": plainly(work), "numbers": [0, 0, 0, 0]}
    one = solve_area(Designs(part.system), part.top(0))
    widths = Widths(one, one.live.atom_b[one.live.atom])
    if way == "alone":
        found = measured(lambda: widths.data_sets, repeats=1)
        bounds = sum(low != high for low, high in found.found.values())
        out |= {"numbers": plainly(found), "exact": len(work.found.lines) - bounds}
    if way == "tables of tracts":
        found = measured(lambda: widths._some, repeats=1)
        out |= {"numbers": plainly(found), "exact": bool(np.array_equal(sums(one, found.found), one.live.rows.value))}
    return out


def plainly(work: Spent) -> list[float]:
    """Return what work took, as JSON has it."""
    return [work.cpu, work.wall, work.before, work.peak]


def sums(one: Any, x: Any) -> Any:
    """Return what a data set has in every statement of an area."""
    import numpy as np

    rows = one.live.rows
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    return np.bincount(owner, x[rows.columns], len(rows)).astype(np.int64)


def multiplied(lines: list[tuple[Any, ...]]) -> float:
    """Return the percentage of areas whose width is exact, its upper bound proved in whole numbers by ourselves."""
    return round(100 * sum(line[7] and line[5] == line[6] for line in lines) / len(lines), 2)


def shares_of(part: dict[str, Any]) -> dict[str, float]:
    """Return the percentage of areas with one data set only, by size."""
    return {str(s["people_least"]): round(100 * s["zero"] / s["areas"], 1) for s in part["by_size"] if s["areas"]}


def streamed(areas: int) -> list[Line]:
    """Return the line of areas by the hundred with ten counts each: the whole command, from a CSV file to another.

    All people and areas of the tables must be found again. Of every hundredth area the counts leave something open.
    """
    import numpy as np
    import pandas as pd

    sides = [("men", "M", ""), ("women", "F", ""), ("young", "", "0-64"), ("old", "", "65+")]
    cells = [("all", "", ""), *sides, *((f"{a[0]}, {b[0]}", a[1], b[2]) for a in sides[:2] for b in sides[2:]),
             ("all again", "M|F", "")]  # fmt: skip
    rng, people = np.random.default_rng(SEED), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pd.DataFrame(cells, columns=["cell", "sex", "age"]).to_csv(folder / "cells.csv", index=False)
        domain = [{"name": "sex", "values": ["M", "F"]}, {"name": "age", "values": ["0-64", "65+"]}]
        model = {"kind": "tables", "cells": {"file": "cells.csv"}, "values": {"file": "counts.csv"}}
        release = {"recon": 1, "domain": {"attributes": domain}, "models": [model]}
        (folder / "tables.json").write_text(json.dumps(release), encoding="utf-8")
        with (folder / "counts.csv").open("w", encoding="utf-8") as file:
            file.write("area,cell,value\n")
            for t in range(areas // 100):
                atoms = rng.multinomial(rng.integers(1, 6, 99), [0.4, 0.1, 0.4, 0.1])
                atoms = np.concatenate([atoms.sum(axis=0, keepdims=True), atoms])
                sexes, ages = (atoms.reshape(-1, 2, 2).sum(axis=k) for k in (2, 1))
                total = atoms.sum(axis=1, keepdims=True)
                people += int(total[0, 0])
                for k, counts in enumerate(np.concatenate([total, sexes, ages, atoms, total], axis=1).tolist()):
                    area, kept = f"t{t}:{k}" if k else f"t{t}", 5 if k == 1 else 10
                    file.writelines(f"{area},{c[0] if ',' not in c[0] else chr(34) + c[0] + chr(34)},{n}\n"
                                    for c, n in zip(cells[:kept], counts, strict=False))  # fmt: skip
        beside = command([sys.executable, "-c", READ, str(folder / "counts.csv")])
        work = command([sys.executable, "-m", "recon", "variability", str(folder / "tables.json"), "--out",
                        str(folder / "widths.csv")])  # fmt: skip
        with (folder / "widths.csv").open(encoding="utf-8") as file:
            written = sum(1 for _ in file) - 1
    head = work.found.splitlines()[0]
    assert f"{written:,} smallest areas with people, {people:,} people" in head, head
    return [Line(f"streaming, {areas:,} areas", work, "the file read by csv", beside,
                 same={"smallest areas": written, "people": people, "counts": int(beside.found)})]  # fmt: skip


READ = "import csv, sys; print(sum(1 for _ in csv.reader(open(sys.argv[1]))) - 1)"


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
    "alone, 1 x 100": Job(synthetic, (1, "alone")),
    **{
        f"{way}, {tracts} x 100": Job(synthetic, (tracts, way), quick=False)
        for way in ("alone", "tables of tracts", "relaxed")
        for tracts in (4, 100)
    },
    "by multipliers, 16 x 100": Job(synthetic, (16, "by multipliers"), quick=False),
    **{
        f"formulation {name}": Job(formulation, (name,), quick=name != "200 people")
        for name in ("b", "c", "200 people")
    },
    **{f"streaming, {areas:,} areas": Job(streamed, (areas,), quick=areas < 10**5) for areas in (10**4, 10**6)},
}

if __name__ == "__main__":
    main("census", JOBS)
