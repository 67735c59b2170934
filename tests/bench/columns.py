"""What column generation adds to single trees where the cells are too many: breast cancer, 569 rows, 30 features.

    python tests/bench/columns.py [--quick | --lines BEGINNING ...] [--check]

Per forest (full-grown trees without bootstrap, decimal grids read off the data) 100 true rows and 100 rows with one
value changed: how many are proved impossible or certain within 60 s by the engine `columns`, and for how many a
fractional world shows that no linear program can tell ("possible"), beside single trees alone. Needs scikit-learn.
What a line says: harness.py.
"""

from __future__ import annotations

from typing import Any

from forests import breast_cancer
from harness import Job, Line, main, measured

SECONDS = 60.0  # the limit of every question


def figures(answer: Any) -> dict[str, int]:
    """Return how many rows are impossible and certain, and the sum of the greatest numbers of rows."""
    return {
        "impossible": int((answer.high == 0).sum()),
        "certain": int((answer.low > 0).sum()),
        "sum of the greatest": int(answer.high.sum()),
    }


def generated(job: str, trees: int, changed: bool) -> list[Line]:
    """Ask about 100 rows: column generation, and trees one by one."""
    import recon
    from recon.readers.frames.selections import select_frame
    from solvers.engines.cells import ColumnsEngine
    from solvers.foundation.limits import Limits
    from solvers.programs.columns.master import KnownMaster, MasterProgram, decide_apart
    from solvers.statements.questions.query import Decide

    domain, fit, *both = breast_cancer(trees)
    release = recon.encode(fit.found, domain)
    query = Decide(select_frame(release, both[changed]), "ordered")
    beside = measured(lambda: decide_apart(release.statements, query, Limits()), repeats=1)
    release.statements.derived.part(KnownMaster).master = None
    copies: list[MasterProgram] = []
    copied = MasterProgram.copied
    MasterProgram.copied = lambda self: copies.append(copied(self)) or copies[-1]  # that of the questions, to look into
    work = measured(lambda: ColumnsEngine().answer(release.statements, query, Limits(seconds=SECONDS)), repeats=1)
    found, alone = figures(work.found), figures(beside.found)
    more = {k: found[k] for k in ("impossible", "certain")}
    less = {"sum of the greatest": float(found["sum of the greatest"])}
    if copies:
        more["possible"] = sum(copies[-1].hopeless(met, True) for met, _ in query.selections.boxes())
    said = {"cells made": len(copies[-1].rows) if copies else 0, "status": work.found.status}
    said |= {f"single trees: {k}": v for k, v in alone.items()}
    return [Line(job, work, "single trees", beside, more=more, less=less, said=said)]


JOBS = {
    f"{trees} trees, {what}": Job(generated, (f"{trees} trees, {what}", trees, changed), trees == 10)
    for trees in (10, 30, 100)
    for what, changed in (("true rows", False), ("one value changed", True))
}

if __name__ == "__main__":
    main("columns", JOBS)
