"""The same commands on one process, on two, and on a Dask cluster of two workers on this machine.

    python tests/bench/scale_out.py [--quick | --lines BEGINNING ...] [--check]

Jobs begin with small, remedies, truth, files, counties, sweep, dask. Needs scikit-learn, pystreed (sweep), distributed
(dask) and the data folder (RECON_DATA). The baseline of a line is the same command on one process, so that a ratio
above 1 is what spreading costs in processor seconds, start of the processes included. What it gains is on the clock:
`times as fast`, and the seconds themselves, which need two free cores. What is printed must be the same but for seconds
and the steps of proofs: a line that differs ends the job. What a line says: harness.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness import DATA, ROOT, Job, Line, command, main
from records import Spent

sys.path.append(str(Path(__file__).parents[1]))

AGAIN = "the same on one process"
RECON = [sys.executable, "-m", "recon"]
VARYING = ("seconds", "proof", "seal")
PLAIN = {"OMP_NUM_THREADS": "1", "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}  # docs/scale-out.md
DASK_WORKER = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--memory-limit", "0", "--host", "127.0.0.1"]


def plain(found: Any) -> Any:
    """Return JSON without what differs from run to run."""
    if isinstance(found, dict):
        return {k: plain(v) for k, v in found.items() if k not in VARYING}
    return [plain(one) for one in found] if isinstance(found, list) else found


def compared(name: str, arguments: list[str], *, spread: tuple[str, ...] = ("--workers", "2"), **said: Any) -> Line:
    """Return the line of an audit on one process and spread; they must print the same."""
    runs = [command([*RECON, *arguments, "--json", "--quiet", *how]) for how in ((), spread)]
    one, two = (plain(json.loads(run.found)) for run in runs)
    assert one == two, [k for k in one if one[k] != two.get(k)]
    return line(name, runs[1], runs[0], status=one["status"], **said)


def line(name: str, spread: Spent, alone: Spent, **said: Any) -> Line:
    """Return the line of work that was spread beside that which was not."""
    clock = {"s alone": round(alone.wall, 1), "s": round(spread.wall, 1)}
    return Line(name, spread, AGAIN, alone, said={"times as fast": round(alone.wall / spread.wall, 2), **clock, **said})


def small() -> list[Line]:
    """An audit of under two seconds: no process is started."""
    release = str(ROOT / "examples/releases/compas_tree.json")
    return [compared("small: audit of a tree", ["audit", release])]


def boosted(folder: Path, rows: int) -> list[str]:
    """Return how a boosted model on COMPAS14 at its defaults is named to an audit."""
    import joblib
    from boosted_cases import compas14, fit_hist

    kept, _ = compas14(rows)
    joblib.dump(fit_hist(kept), folder / "model.joblib")
    compas14()[0].to_csv(folder / "all.csv", index=False)
    return [str(folder / "model.joblib"), "--domain", str(folder / "all.csv"), "--label", str(kept.columns[-1])]


def remedies(rows: int, *spread: str) -> list[Line]:
    """What rounded leaf values and fewer trees would give back: a minute of the clock at most for each."""
    with tempfile.TemporaryDirectory() as made:
        arguments = ["audit", *boosted(Path(made), rows), "--remedies", "--time", "900"]
        name = f"remedies {rows:,} rows"
        return [compared(f"dask: {name}", arguments, spread=spread) if spread else compared(name, arguments)]


def truth(data: str, rows: int, trees: int) -> list[Line]:
    """Which of the true rows are in every world, and three baselines: most of the time is reading and counting."""
    import joblib
    import pandas as pd
    from sklearn.ensemble import RandomForestClassifier

    frame = pd.read_csv(DATA / f"{data}.csv.gz")
    kept = frame.sample(rows, random_state=0)
    forest = RandomForestClassifier(trees, bootstrap=False, random_state=0)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        joblib.dump(forest.fit(kept.iloc[:, :-1], kept.iloc[:, -1]), folder / "forest.joblib")
        frame.to_csv(folder / "all.csv", index=False)
        kept.to_csv(folder / "rows.csv", index=False)
        named = [str(folder / "forest.joblib"), "--domain", str(folder / "all.csv"), "--label", frame.columns[-1]]
        arguments = ["audit", *named, "--truth", str(folder / "rows.csv"), "--population", str(folder / "all.csv")]
        return [compared(f"truth: forest {data} {rows:,} x {trees}", arguments)]


def files(number: int, trees: int) -> list[Line]:
    """Forests about the same rows, each a file of its own."""
    import joblib
    import pandas as pd
    from sklearn.ensemble import RandomForestClassifier

    frame = pd.read_csv(DATA / "adult19.csv.gz")
    label, rows = frame.columns[-1], frame.sample(20_000, random_state=0)
    with tempfile.TemporaryDirectory() as made:
        named = []
        for seed in range(number):
            forest = RandomForestClassifier(trees, bootstrap=False, random_state=seed)
            named.append(str(Path(made) / f"forest{seed}.joblib"))
            joblib.dump(forest.fit(rows.drop(columns=label), rows[label]), named[-1])
        frame.to_csv(Path(made) / "all.csv", index=False)
        size = sum(Path(one).stat().st_size for one in named) // 1_000_000
        arguments = ["audit", *named, "--domain", str(Path(made) / "all.csv"), "--label", label, "--memory", "8G"]
        return [compared(f"files: {number} forests of {trees} trees", arguments, MB=size)]


def counties(number: int, people: int) -> list[Line]:
    """Margins of age, sex and origin by county, as statistics offices publish them."""
    from margin_cases import margins

    values = {"age": [f"{10 * k}-{10 * k + 9}" for k in range(8)], "sex": ["f", "m"], "origin": list("abcd")}
    with tempfile.TemporaryDirectory() as made:
        path = margins(Path(made) / "margins.json", [people] * number, values)
        arguments = ["audit", str(path), "--memory", "4G"]
        return [compared(f"counties: {number} of {people} people", arguments)]


def swept(folder: Path, *spread: str) -> Spent:
    """Return the quick points of ferry2024, done in a folder of their own."""
    out = str(folder / "-".join(("out", *(s.strip("-") for s in spread[:1]), str(len(spread)))))
    return command([*RECON, "reproduce", "ferry2024", "--quick", "--quiet", "--out", out, *spread])


def sweep() -> list[Line]:
    """The quick points of an experiment."""
    with tempfile.TemporaryDirectory() as made:
        alone, spread = swept(Path(made)), swept(Path(made), "--workers", "2")
        return [line("sweep: reproduce ferry2024 --quick", spread, alone, points=20)]


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """Start a scheduler and two workers on this machine; yield the address."""
    contact, started = folder / "scheduler.json", []
    env = {**os.environ, **PLAIN, "PYTHONPATH": str(ROOT)}

    def start(kind: str, *options: str) -> None:
        begun = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file", str(contact), *options]
        quiet = subprocess.DEVNULL
        started.append(subprocess.Popen(begun, env=env, stdout=quiet, stderr=quiet, cwd=folder))

    try:
        start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        for _ in range(2):
            start("worker", *DASK_WORKER)
        while not contact.exists():
            time.sleep(0.1)
        yield str(json.loads(contact.read_text(encoding="utf-8"))["address"])
    finally:
        for one in reversed(started):
            one.terminate()
            one.wait()


def dask(rows: int) -> list[Line]:
    """The same on a cluster; processor seconds are those of the command alone: the workers are not its children."""
    with tempfile.TemporaryDirectory() as made, cluster(Path(made)) as address:
        alone, spread = swept(Path(made)), swept(Path(made), "--dask", address)
        return [line("dask: reproduce ferry2024 --quick", spread, alone), *remedies(rows, "--dask", address)]


JOBS = {
    "small": Job(small),
    "remedies 1,000 rows": Job(remedies, (1_000,), needs=("sklearn",), quick=False),
    "truth": Job(truth, ("credit21", 5_000, 100), needs=("sklearn",), quick=False),
    "files": Job(files, (4, 30), needs=("sklearn",)),
    "counties": Job(counties, (100, 20)),
    "sweep": Job(sweep, needs=("pystreed",), quick=False),
    "dask": Job(dask, (1_000,), needs=("distributed", "pystreed"), quick=False),
}

if __name__ == "__main__":
    main("scale_out", JOBS)
