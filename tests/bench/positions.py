"""Rows distinguished: what propagation proves of default forests whose bags are known; beside the fit of the forest.

    python tests/bench/positions.py [--quick | --lines BEGINNING ...] [--check]

Jobs begin with bags, plain, slots, changed, midpoints, world, far, commands, compiling. Forests are fitted with
random_state=0 on n rows drawn with seed 0 (all rows: as they stand), stored by joblib and read with `recon.load`, so
that the bags are those rebuilt from the seeds. The true leaf of every row is asserted to be left. "plain": the compiled
loops beside the same as they are written, and the same left. Needs scikit-learn, numba and, for COMPAS and Adult, the
data folder (RECON_DATA). What a line says: harness.py.
"""

from __future__ import annotations

import functools
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import DATA, ROOT, Job, Line, command, main, measured
from records import Spent

MEMORY = 2 << 30
SECONDS = 60.0
PLAIN_SECONDS = 300.0  # the limit of the loops as they are written
VERDICTS = 20.0  # the limit of verdicts
FIT = "fit of the forest"


@dataclass(frozen=True)
class Stored:
    """A forest in a file: how to read it (anew), its fit, the table and labels behind it, their domain if declared."""

    path: Path
    fit: Spent
    table: Any
    label: Any
    domain: Any

    def load(self) -> Any:
        """Return the release that the file is read as."""
        import recon

        return recon.load(self.path) if self.domain is None else recon.load(self.path, domain=self.domain)


def rows_of(name: str, n: int) -> tuple[Any, Any, Any]:
    """Return n rows of a data set: table, label, declared domain (None: floats)."""
    import pandas as pd
    import sklearn.datasets

    import recon

    if name in ("compas14", "adult19"):
        frame = pd.read_csv(DATA / f"{name}.csv.gz")
        label = frame.columns[-1]
        domain = recon.Domain.from_frame(frame, label=label)
        frame = frame.sample(n, random_state=0).reset_index(drop=True)
        return frame.drop(columns=label), frame[label], domain
    if name == "made":
        made = sklearn.datasets.make_classification(n, random_state=0)
        return pd.DataFrame(made[0], columns=[f"x{k}" for k in range(20)]), pd.Series(made[1]), None
    table, label = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True, as_frame=True)
    if name == "diabetes":
        label = (label > label.median()).astype(int)
    table = table.sample(n, random_state=0) if n < len(table) else table  # whole: in the order of the file
    return table.reset_index(drop=True), label.loc[table.index].reset_index(drop=True), None


@contextmanager
def stored(name: str, n: int, trees: int, bootstrap: bool = True, seeds: bool = True) -> Iterator[Stored]:
    """Fit a forest and store it, as it is or with its seeds gone."""
    import joblib
    from sklearn.ensemble import RandomForestClassifier

    table, label, domain = rows_of(name, n)
    fit = measured(lambda: RandomForestClassifier(trees, random_state=0, bootstrap=bootstrap).fit(table, label))
    if not seeds:
        for each in (fit.found, *fit.found.estimators_):
            each.random_state = None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forest.joblib"
        joblib.dump(fit.found, path)
        yield Stored(path, fit, table, label, domain)


def read(name: str, n: int, trees: int) -> Any:
    """Return the release of a default forest that was stored and read."""
    with stored(name, n, trees) as case:
        return case.load()


def true_values(problem: Any, forest: Any, table: Any, label: Any) -> Any:
    """Return (rows, trees): the true value of every row by scikit-learn's own leaves, -1 where it was not seen."""
    import numpy as np

    out = np.full((problem.rows, problem.trees), -1)
    kind = np.searchsorted(forest.classes_, label.to_numpy())
    numbers = table.to_numpy().astype(np.float32)
    for t, one in enumerate(forest.estimators_):
        leaves = np.flatnonzero(one.tree_.children_left < 0)
        region = np.searchsorted(leaves, one.apply(numbers))
        own = {(int(problem.region[v]), int(problem.label[v])): v for v in problem.values(t)}
        for i in np.flatnonzero(problem.times[t] > 0).tolist():
            out[i, t] = own[int(region[i]), int(kind[i])]
    return out


def widths(problem: Any, places: Any, true: Any) -> tuple[float, float]:
    """Return the mean share of an attribute's parts that is left to a row, and that its true leaves would leave."""
    import numpy as np

    ours, theirs = [], []
    for k, parts in enumerate(problem.parts):
        if k == problem.release.domain.label:
            continue
        held = np.zeros((problem.rows, parts), dtype=bool)
        allowed = problem.sets.get(k)
        if allowed is None:
            at = np.arange(parts)
            allowed = (at >= problem.start[:, [k]]) & (at < problem.end[:, [k]])
        for i in range(problem.rows):
            held[i] = allowed[true[i][true[i] >= 0]].all(axis=0)
        ours.append(places.sets[k].mean() if k in places.sets else ((places.end - places.start)[:, k] / parts).mean())
        theirs.append(held.mean())
    return float(np.mean(ours)), float(np.mean(theirs))


def warm() -> None:
    """Load the compiled loops, and what propagation imports."""
    from solvers.foundation.limits import Limits
    from solvers.positions.assignments.domains import Domains, DomainState, ProblemTables
    from solvers.positions.assignments.loops import fastest
    from solvers.positions.assignments.propagation import WORK
    from solvers.positions.assignments.world import assigned

    problem = assigned(read("breast_cancer", 40, 5).statements, Limits()).problem
    tables, loops = ProblemTables.of(problem, Limits()), fastest(Limits())
    state = DomainState.of(Domains(problem).words, tables)
    loops.narrow(tables, state, WORK)
    loops.flow(tables, state, 0)


def bags(job: str, name: str, n: int, trees: int, limit: float = SECONDS * 5) -> list[Line]:
    """Work out what is left for every row of a default forest, and replay it."""
    from solvers.foundation.limits import Limits
    from solvers.kernel.removals import RemainingDomains
    from solvers.positions.assignments.world import assigned
    from solvers.statements.row_problem import Meetings

    warm()
    with stored(name, n, trees) as case:
        work = measured(
            lambda release: assigned(release, Limits(seconds=limit, memory=MEMORY)), lambda: case.load().statements
        )
    found = work.found
    problem, seen = found.problem, found.problem.times.T > 0
    true = true_values(problem, case.fit.found, case.table, case.label)
    for i in range(problem.rows):
        assert set(true[i][true[i] >= 0].tolist()) <= set(found.domains.of_row(i).tolist()), "a true leaf is excluded"
    sizes, labels = found.domains.sizes(), found.domains.labels()
    ours, theirs = widths(problem, found.places, true)

    def replayed(left: Any) -> Any:
        left.replay(found.steps)
        return left

    check = measured(replayed, lambda: RemainingDomains(Meetings(problem), Limits()))
    assert not (check.found.words & ~found.domains.words).any()
    more = {"leaves %": round(100 * float((sizes[seen] == 1).mean()), 2)}
    more |= {"rows %": round(100 * float(((sizes == 1) | ~seen).all(axis=1).mean()), 1)}
    more |= {"labels": int((labels.sum(axis=1) == 1).sum()), "ended": "complete" if found.complete else "incomplete"}
    less = {"mean left": round(float(sizes[seen].mean()), 3)}
    said = {"values": len(problem.tree), "width, by the true leaves": f"{ours:.3f}, {theirs:.3f}"}
    return [
        Line(job, work, FIT, case.fit, more=more, less=less, said=said),
        Line(f"{job}: replay by the kernel", check, "propagation", work, said={"steps": len(found.steps)}),
    ]


def plain(job: str, name: str, n: int, trees: int) -> list[Line]:
    """Work out the same with compiled loops and with the same in Python, and compare."""
    import numpy as np

    from solvers.foundation.limits import Limits
    from solvers.positions.assignments.domains import Domains, DomainState, ProblemTables
    from solvers.positions.assignments.loops import RowLoops, fastest
    from solvers.positions.assignments.propagation import Propagation, propagate
    from solvers.statements.row_problem import problem_of

    problem = problem_of(read(name, n, trees).statements)
    warm()
    tables = ProblemTables.of(problem, Limits())

    def made() -> tuple[Any, Any]:
        domains = Domains(problem)
        return domains, DomainState.of(domains.words, tables)

    def settled(loops: Any, given: tuple[Any, Any]) -> Any:
        assert propagate(loops, tables, given[1], [], Limits(seconds=PLAIN_SECONDS))
        return given[0].words

    def whole(loops: Any) -> Any:
        found = Propagation(problem, loops)
        found.run(Limits(seconds=PLAIN_SECONDS, memory=MEMORY))
        return found

    loops, slow = fastest(Limits()), RowLoops()
    first, other = (measured(functools.partial(settled, each), made, repeats=1) for each in (loops, slow))
    assert np.array_equal(first.found, other.found)
    every, plainly = (measured(functools.partial(whole, each), repeats=1) for each in (loops, slow))
    share = [
        round(100 * float((x.found.domains.sizes() == 1).sum() / (problem.times > 0).sum()), 2)
        for x in (every, plainly)
    ]
    said = {"leaves % in Python": share[1], "in Python": "complete" if plainly.found.complete else "stopped"}
    return [
        Line(f"{job}: until nothing changes", first, "the same in Python", other),
        Line(f"{job}: with trials", every, "the same in Python", plainly, more={"leaves %": share[0]}, said=said),
    ]


def slots(job: str, name: str, n: int, trees: int) -> list[Line]:
    """Work out what is left for the rows of a forest without bootstrap, distinguished by the leaves of one tree."""
    from solvers.foundation.limits import Limits
    from solvers.positions.assignments.world import assigned

    warm()
    with stored(name, n, trees, bootstrap=False) as case:
        work = measured(
            lambda release: assigned(release, Limits(seconds=SECONDS * 5, memory=MEMORY)),
            lambda: case.load().statements,
        )
    sizes = work.found.domains.sizes()
    more = {"fixed %": round(100 * float((sizes == 1).mean()), 1)}
    more |= {"ended": "complete" if work.found.complete else "incomplete"}
    return [Line(job, work, FIT, case.fit, more=more, less={"mean left": round(float(sizes.mean()), 3)})]


def changed(job: str, name: str, n: int, trees: int) -> list[Line]:
    """Certify the true rows, and each with one value replaced by that of another row; beside a file without seeds."""
    import numpy as np
    import pandas as pd

    import recon

    warm()
    rng, runs, asked = np.random.default_rng(0), [], None
    for seeds in (True, False):
        with stored(name, n, trees, seeds=seeds) as case:
            release = case.load()
        true = case.table.assign(**{release.domain.label.name: case.label})
        if asked is None:
            asked = true.copy()
            for i in range(n):
                k = int(rng.integers(case.table.shape[1]))
                values = case.table.iloc[:, k][case.table.iloc[:, k] != case.table.iat[i, k]]
                asked.iat[i, k] = values.iloc[int(rng.integers(len(values)))]
        both = pd.concat([asked, true], ignore_index=True)  # `unknown` takes all the time there is
        limits = recon.Limits(seconds=VERDICTS, memory=MEMORY)
        certify = functools.partial(recon.certify, release, both, limits=limits, certificates=False)
        runs.append(measured(certify, repeats=1))
    shares = []
    for run in runs:
        impossible = (run.found["verdict"] == "impossible").to_numpy()
        assert not impossible[n:].any(), "a true row is called impossible"
        shares.append(round(100 * float(impossible[:n].mean()), 1))
    more, said = {"impossible %": shares[0]}, {"without seeds %": shares[1], "limit": f"{VERDICTS:g} s"}
    return [Line(job, runs[0], "the same without seeds", runs[1], more=more, said=said)]


def midpoints(job: str, name: str, n: int, trees: int, known: bool) -> list[Line]:
    """Locate rows with the learner's midpoints, the columns' least and greatest values known or not."""
    import numpy as np

    import recon

    warm()
    with stored(name, n, trees) as case:
        seen = case.table.astype(np.float32).astype(float)
        ends = {c: (seen[c].min(), seen[c].max()) for c in case.table} if known else None
        limits = lambda: recon.Limits(seconds=2 * SECONDS, memory=MEMORY)  # noqa: E731
        work = measured(
            lambda release: recon.positions(release, learner="midpoints", ranges=ends, limits=limits()), case.load
        )
        name = case.load().domain.label.name
    found, truth = work.found, seen.assign(**{name: case.label})
    for column in case.table:
        own = found[found["attribute"] == column]
        low, high, real = (np.asarray(x, dtype=float) for x in (own["low"], own["high"], truth[column]))
        assert ((low <= real) & (real <= high)).all(), f"a true value of {column} is excluded"
    exact = round(100 * float(found[found["attribute"] != name]["exact"].mean()), 1)
    return [Line(job, work, FIT, case.fit, more={"values exact %": exact})]


def world(job: str, name: str, n: int, trees: int, limit: float) -> list[Line]:
    """Find one dataset that agrees with a forest whose bags are known, and compare its rows with the true leaves."""
    import numpy as np

    import recon
    from solvers.foundation.errors import ReconError

    def ask(release: Any) -> Any:
        try:
            return recon.reconstruct(release, limits=recon.Limits(seconds=limit, memory=MEMORY))
        except ReconError as error:
            return f"{type(error).__name__}: {error}"[:120]

    warm()
    with stored(name, n, trees) as case:
        work = measured(ask, case.load, repeats=1)
        label = case.load().domain.label.name
    said: dict[str, Any] = {"limit": f"{limit:g} s"}
    if isinstance(work.found, str):
        return [Line(job, work, FIT, case.fit, more={"world": "no"}, said=said | {"why": work.found})]
    rows, forest = work.found.to_frame(), case.fit.found
    same = float(np.mean(forest.apply(rows[list(case.table)]) == forest.apply(case.table)))
    labels = float((rows[label].to_numpy() == case.label.to_numpy()).mean())
    said |= {"leaves as in truth %": round(100 * same, 1), "labels %": round(100 * labels, 1)}
    return [Line(job, work, FIT, case.fit, more={"world": "yes"}, said=said)]


def commands(job: str, name: str, n: int, trees: int) -> list[Line]:
    """Run the commands with `--time 20` on a forest that nothing follows from."""
    with stored(name, n, trees) as case:
        runs = {
            what: command([sys.executable, "-m", "recon", what, str(case.path), "--time", "20", "--quiet"])
            for what in ("positions", "audit")
        }
    return [Line(f"{job}: recon {what}", run, FIT, case.fit, said={"limit": "20 s"}) for what, run in runs.items()]


def compiling(job: str) -> list[Line]:
    """Load the compiled loops in a fresh interpreter, nothing being kept on disk; beside loading what is kept."""
    folders = [str(ROOT), str(Path(__file__).parent)]
    code = f"import sys; sys.path[:0] = {folders!r}; import positions; positions.warm()"
    with tempfile.TemporaryDirectory() as folder:
        both = [command([sys.executable, "-c", code], NUMBA_CACHE_DIR=folder) for _ in range(2)]
    return [Line(job, both[0], "kept on disk", both[1])]


FORESTS = (
    ("compas14", 100, 30),
    ("adult19", 500, 100),
    ("diabetes", 100, 30),
    ("diabetes", 100, 100),
    ("diabetes", 300, 100),
    ("diabetes", 442, 150),
    ("breast_cancer", 569, 150),
    ("wine", 178, 100),
    ("digits", 500, 100),
)


def jobs() -> dict[str, Job]:
    """Return the jobs by their names."""
    out: dict[str, Job] = {}

    def add(kind: str, run: Callable[..., list[Line]], *case: Any, quick: bool = True, about: str = "") -> None:
        name = f"{kind} {case[0]} {case[1]:,} x {case[2]}{about}"
        out[name] = Job(run, (name, *case), quick)

    for case in FORESTS:
        add("bags", bags, *case)
    for case in FORESTS:
        add("plain", plain, *case, quick=case in FORESTS[:1])
    for case in (("compas14", 100, 20), ("compas14", 100, 100), ("adult19", 500, 50), ("diabetes", 100, 100)):
        add("slots", slots, *case, quick=case[1:] == (100, 20))
    changes = [("diabetes", 100, 30), ("diabetes", 100, 100)]
    for case in (*changes, *(("breast_cancer", n, 100) for n in (100, 300, 569))):
        add("changed", changed, *case, quick=False)
    for known in (True, False):
        about = f", ranges {'known' if known else 'unknown'}"
        add("midpoints", midpoints, "diabetes", 100, 100, known, about=about)
    for case in (("wine", 178, 100), ("breast_cancer", 100, 30), ("diabetes", 100, 30)):
        add("world", world, *case, 120.0, quick=False)
    for case in (("adult19", 1_000, 100), ("breast_cancer", 569, 100), ("adult19", 5_000, 100), ("made", 5_000, 100)):
        add("far", functools.partial(bags, limit=SECONDS), *case, quick=False)
    add("commands", commands, "made", 5_000, 100, quick=False)
    out["compiling"] = Job(compiling, ("compiling",), needs=("numba",))
    return out


JOBS = jobs()

if __name__ == "__main__":
    main("positions", JOBS)
