"""Rows told apart: what propagation proves of default forests whose bags are known, seconds of the processor, memory.

    python tests/bench/positions.py [bags plain slots compile changed midpoints world far] [--small]

Needs scikit-learn and, for COMPAS and Adult, the data folder (RECON_DATA). Forests are fitted with random_state=0 on n
rows drawn with seed 0 (all rows: as they stand), stored by joblib and read with `recon.load`, so that the bags are
those rebuilt from the seeds.
The true leaf of every row is asserted to be left. `s` is with the compiled loops read from disk, `check s` a replay of
all steps by the kernel; all are seconds of the processor, because machines are shared, but `wall s`. Every line runs in
a process of its own; `before MB` is its memory up to there, `peak MB` that of the work.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from forests import DATA, ROOT, SECONDS, Cells, Section, figure, peak, print_sections

MEMORY = 2 << 30
PLAIN_SECONDS = 300.0  # the limit of the loops in numpy
VERDICTS = 20.0  # the limit of verdicts


def processor(ask: Callable[[], Any]) -> tuple[float, Any]:
    """Return (seconds of the processor, those of child processes that ended included, result)."""
    begun = spent()
    found = ask()
    return spent() - begun, found


def spent() -> float:
    """Return the seconds of the processor that this process and its children have used."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


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


def loaded(name: str, n: int, trees: int, bootstrap: bool = True, seeds: bool = True) -> tuple[Any, Any, Any, Any]:
    """Return (release, forest, table, label) of a forest that was stored and read, as it is or with its seeds gone."""
    import joblib
    from sklearn.ensemble import RandomForestClassifier

    import recon

    table, label, domain = rows_of(name, n)
    forest = RandomForestClassifier(trees, random_state=0, bootstrap=bootstrap).fit(table, label)
    if not seeds:
        for each in (forest, *forest.estimators_):
            each.random_state = None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forest.joblib"
        joblib.dump(forest, path)
        release = recon.load(path) if domain is None else recon.load(path, domain=domain)
    return release, forest, table, label


def read(name: str, n: int, trees: int, bootstrap: bool) -> tuple[Any, Any, Any, Any]:
    """Return (statements, forest, table, label) of a forest that was stored and read."""
    release, forest, table, label = loaded(name, n, trees, bootstrap)
    return release.statements, forest, table, label


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


def bags(name: str, n: int, trees: int, limit: float = SECONDS * 5) -> list[Cells]:
    """Work out what is left for every row of a default forest."""
    from solvers.assignments.solving import assigned
    from solvers.foundation.limits import Limits
    from solvers.kernel.removals import Left
    from solvers.statements.meetings import Meetings

    release, forest, table, label = read(name, n, trees, True)
    warm()
    before, wall = peak(), time.perf_counter()
    seconds, found = processor(lambda: assigned(release, Limits(seconds=limit, memory=MEMORY)))
    wall = time.perf_counter() - wall
    used, problem, seen = peak(), found.problem, found.problem.times.T > 0
    true = true_values(problem, forest, table, label)
    for i in range(problem.rows):
        assert set(true[i][true[i] >= 0].tolist()) <= set(found.domains.of_row(i).tolist()), "a true leaf is excluded"
    sizes, labels = found.domains.sizes(), found.domains.labels()
    ours, theirs = widths(problem, found.places, true)
    checking, left = processor(lambda: replayed(Left(Meetings(problem), Limits()), found.steps))
    assert not (left.words & ~found.domains.words).any()
    line = [f"{name} {n} x {trees}", f"{len(problem.tree):,}", f"{100 * (sizes[seen] == 1).mean():.2f} %"]
    line += [f"{100 * ((sizes == 1) | ~seen).all(axis=1).mean():.1f} %", f"{(labels.sum(axis=1) == 1).sum()}"]
    line += [f"{sizes[seen].mean():.3f}", f"{ours:.3f} / {theirs:.3f}", figure(seconds), figure(wall)]
    line += [str(found.complete), f"{len(found.steps):,}", figure(checking)]
    return [[*line, str(before), str(used)]]


def plain(name: str, n: int, trees: int) -> list[Cells]:
    """Work out the same without compiled loops, and compare; trials of values apart, because they take longest."""
    import numpy as np

    from solvers.assignments.domains import Domains
    from solvers.assignments.propagation.engine import Propagation
    from solvers.assignments.propagation.fixpoint import Vectorised, fastest, propagate
    from solvers.assignments.propagation.state import State
    from solvers.assignments.propagation.tables import Tables
    from solvers.foundation.limits import Limits
    from solvers.statements.row_problem import problem_of

    problem = problem_of(read(name, n, trees, True)[0])
    warm()
    tables, line, left = Tables.of(problem, Limits()), [f"{name} {n} x {trees}"], []
    for loops in (fastest(Limits()), Vectorised()):
        domains = Domains(problem)
        state, limits = State.of(domains.words, tables), Limits(seconds=PLAIN_SECONDS)
        seconds, settled = processor(functools.partial(propagate, loops, tables, state, [], limits))
        assert settled
        left.append(domains.words)
        line.append(figure(seconds))
    assert np.array_equal(*left)
    found = Propagation(problem, Vectorised())
    seconds, _ = processor(lambda: found.run(Limits(seconds=PLAIN_SECONDS, memory=MEMORY)))
    line += [
        figure(seconds),
        str(found.complete),
        f"{100 * (found.domains.sizes() == 1).sum() / (problem.times > 0).sum():.2f} %",
    ]
    return [line]


def replayed(left: Any, steps: Any) -> Any:
    """Return what is left after a replay of steps."""
    left.replay(steps)
    return left


def slots(name: str, n: int, trees: int) -> list[Cells]:
    """Work out what is left for the rows of a forest without bootstrap, told apart by the leaves of one tree."""
    from solvers.assignments.solving import assigned
    from solvers.foundation.limits import Limits

    release = read(name, n, trees, False)[0]
    warm()
    before = peak()
    seconds, found = processor(lambda: assigned(release, Limits(seconds=SECONDS * 5, memory=MEMORY)))
    sizes = found.domains.sizes()
    line = [f"{name} {n} x {trees}", f"{100 * (sizes == 1).mean():.1f} %", f"{sizes.mean():.3f}", figure(seconds)]
    return [[*line, str(found.complete), str(before), str(peak())]]


def changed(name: str, n: int, trees: int) -> list[Cells]:
    """Certify the true rows, and each with one value replaced by that of another row; and without the seeds."""
    import numpy as np
    import pandas as pd

    import recon

    line, asked = [f"{name} {n} x {trees}"], None
    rng = np.random.default_rng(0)
    for seeds in (True, False):
        release, _, table, label = loaded(name, n, trees, seeds=seeds)
        warm()
        true = table.assign(**{release.domain.label.name: label})
        other = true.copy()
        for i in range(n) if seeds else ():
            k = int(rng.integers(table.shape[1]))
            values = table.iloc[:, k][table.iloc[:, k] != table.iat[i, k]]
            other.iat[i, k] = values.iloc[int(rng.integers(len(values)))]
        asked = other if asked is None else asked
        both = pd.concat([asked, true], ignore_index=True)  # `unknown` takes all the time there is
        limits, wall = recon.Limits(seconds=VERDICTS, memory=MEMORY), time.perf_counter()
        seconds, found = processor(functools.partial(recon.certify, release, both, limits=limits, certificates=False))
        wall, impossible = time.perf_counter() - wall, (found["verdict"] == "impossible").to_numpy()
        line += [f"{100 * impossible[:n].mean():.1f} %", figure(seconds), figure(wall)]
        assert not impossible[n:].any(), "a true row is called impossible"
    return [[*line, str(peak())]]


def midpoints(name: str, n: int, trees: int) -> list[Cells]:
    """Locate rows with the learner's midpoints, the columns' least and greatest values known and not."""
    import numpy as np

    import recon

    lines = []
    for known in (True, False):
        release, _, table, label = loaded(name, n, trees)
        warm()
        seen = table.astype(np.float32).astype(float)
        ends = {c: (seen[c].min(), seen[c].max()) for c in table} if known else None
        truth = seen.assign(**{release.domain.label.name: label})
        limits, wall = recon.Limits(seconds=2 * SECONDS, memory=MEMORY), time.perf_counter()
        seconds, found = processor(
            functools.partial(recon.positions, release, learner="midpoints", ranges=ends, limits=limits)
        )
        wall = time.perf_counter() - wall
        for column in table:
            own = found[found["attribute"] == column]
            low, high, real = (np.asarray(x, dtype=float) for x in (own["low"], own["high"], truth[column]))
            assert ((low <= real) & (real <= high)).all(), f"a true value of {column} is excluded"
        data = found[found["attribute"] != release.domain.label.name]
        line = [f"{name} {n} x {trees}", "known" if known else "unknown", f"{100 * data['exact'].mean():.1f} %"]
        lines.append([*line, figure(seconds), figure(wall), str(peak())])
    return lines


def world(name: str, n: int, trees: int, limit: float) -> list[Cells]:
    """Find one dataset that agrees with a forest whose bags are known, and compare its rows with the true leaves."""
    import numpy as np

    import recon

    release, forest, table, label = loaded(name, n, trees)
    warm()
    before, wall = peak(), time.perf_counter()
    seconds, found = processor(
        lambda: tried(lambda: recon.reconstruct(release, limits=recon.Limits(seconds=limit, memory=MEMORY)))
    )
    wall = time.perf_counter() - wall
    line = [f"{name} {n} x {trees}", figure(seconds), figure(wall)]
    if isinstance(found, str):
        return [[*line, found, "", "", str(before), str(peak())]]
    rows = found.to_frame()
    same = forest.apply(rows[list(table)]) == forest.apply(table)
    labels = (rows[release.domain.label.name].to_numpy() == label.to_numpy()).mean()
    return [[*line, "one world", f"{100 * np.mean(same):.1f} %", f"{100 * labels:.1f} %", str(before), str(peak())]]


def tried(ask: Callable[[], Any]) -> Any:
    """Return an answer, or why there is none."""
    from solvers.foundation.errors import ReconError

    try:
        return ask()
    except ReconError as error:
        return f"{type(error).__name__}: {error}"[:120]


def warm() -> None:
    """Load the compiled loops, and what propagation imports."""
    from solvers.assignments.domains import Domains
    from solvers.assignments.propagation.fixpoint import WORK, fastest
    from solvers.assignments.propagation.state import State
    from solvers.assignments.propagation.tables import Tables
    from solvers.assignments.solving import assigned
    from solvers.foundation.limits import Limits

    problem = assigned(read("breast_cancer", 40, 5, True)[0], Limits()).problem
    tables, loops = Tables.of(problem, Limits()), fastest(Limits())
    state = State.of(Domains(problem).words, tables)
    loops.narrow(tables, state, WORK)
    loops.flow(tables, state, 0)


def compiling(what: str) -> list[Cells]:
    """Load the compiled loops in a fresh interpreter, with and without what is kept on disk."""
    folders = [str(ROOT), str(Path(__file__).parent)]
    code = f"import sys, time; sys.path[:0] = {folders!r}; import positions; begun = time.process_time(); "
    code += "positions.warm(); print(time.process_time() - begun)"
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("nothing kept on disk", "kept on disk"):
            environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
            out = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
            )
            lines.append([f"{what}{name}", figure(float(out.stdout.split()[-1]))])
    return lines


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
SMALL = (("compas14", 100, 10), ("wine", 60, 20))
SECTIONS = {
    "bags": Section(
        "Default forests of full-grown trees, bags from the seeds, propagation, labels, trials",
        "forest:22; values:7; leaves:8; rows:7; labels:6; mean left:9; width / true:13; s:6; wall s:6; "
        "complete:8; steps:7; "
        "check s:7; before MB:9; peak MB:7",
        bags,
        FORESTS,
        SMALL,
    ),
    "plain": Section(
        "The same without compiled loops: propagation alone (compiled, in numpy), then all of it in numpy",
        "forest:22; compiled s:10; numpy s:8; all s:8; complete:8; leaves:8",
        plain,
        FORESTS,
        SMALL,
    ),
    "slots": Section(
        "Forests without bootstrap: rows are the slots of one tree",
        "forest:22; fixed:7; mean left:9; s:6; complete:8; before MB:9; peak MB:7",
        slots,
        (("compas14", 100, 20), ("compas14", 100, 100), ("adult19", 500, 50), ("diabetes", 100, 100)),
        (("compas14", 50, 10),),
    ),
    "changed": Section(
        "One value of a true row replaced by another row's, label given: impossible in 20 s, with bags and without",
        "forest:24; impossible:10; s:6; wall s:6; no seeds:10; s:6; wall s:6; peak MB:7",
        changed,
        (
            ("diabetes", 100, 30),
            ("diabetes", 100, 100),
            ("breast_cancer", 100, 100),
            ("breast_cancer", 300, 100),
            ("breast_cancer", 569, 100),
        ),
        (("diabetes", 60, 20),),
    ),
    "midpoints": Section(
        "With the learner's midpoints: values known to the last bit (float32), least and greatest values known or not",
        "forest:22; ranges:8; exact:8; s:6; wall s:6; peak MB:7",
        midpoints,
        (("diabetes", 100, 100),),
        (("diabetes", 60, 30),),
    ),
    "world": Section(
        "One dataset that agrees with everything, bags known",
        "forest:22; s:6; wall s:6; found:10; leaves as in truth:18; labels:7; before MB:9; peak MB:7",
        world,
        (("wine", 178, 100, 120.0), ("breast_cancer", 100, 30, 120.0), ("diabetes", 100, 30, 120.0)),
        (("wine", 60, 20, 60.0),),
    ),
    "far": Section(
        "As far as it goes (60 s)",
        "forest:22; values:7; leaves:8; rows:7; labels:6; mean left:9; width / true:13; s:6; wall s:6; "
        "complete:8; steps:7; check s:7; before MB:9; peak MB:7",
        functools.partial(bags, limit=SECONDS),
        (("adult19", 1_000, 100), ("breast_cancer", 569, 100), ("adult19", 5_000, 100), ("made", 5_000, 100)),
        (("adult19", 300, 20),),
    ),
    "compile": Section(
        "The compiled loops, loaded (seconds of the processor, a small forest included)",
        "cache:22; s:6",
        compiling,
        (("",),),
        (("",),),
    ),
}


if __name__ == "__main__":
    print_sections(SECTIONS, sys.argv[1:])
