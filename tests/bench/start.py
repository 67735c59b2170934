"""What a command costs from start to end: `recon count` of one tree, beside imports and beside older states of recon.

    python tests/bench/start.py [--quick | --lines BEGINNING ...] [--check]

Runs are interleaved after one of each that compiles bytecode, so that whatever else the machine does falls on both. An
older state is taken from git (`git archive`), and runs on the packages that are installed now. What a line says:
harness.py.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

from harness import ROOT, Job, Line, command, main
from records import Spent

COUNT = [sys.executable, "-m", "recon", "count", "examples/releases/compas_tree.json"]
IMPORTS = [sys.executable, "-c", "import numpy, pandas"]
RUNS = 7


def together(runs: list[Spent]) -> Spent:
    """Return the medians of runs."""
    cpu, wall = statistics.median(r.cpu for r in runs), statistics.median(r.wall for r in runs)
    return Spent(cpu, wall, len(runs), 0, max(r.peak for r in runs))


def interleaved(job: str, baseline: str, beside: list[str], folder: Path) -> list[Line]:
    """Run the command in turn with another one in a folder."""
    pairs = [(command(COUNT, PYTHONDONTWRITEBYTECODE=""), command(beside, cwd=folder)) for _ in range(RUNS + 1)][1:]
    ours, theirs = (together(list(each)) for each in zip(*pairs, strict=True))
    spread = {"CPU s": f"{min(a.cpu for a, _ in pairs):.2f} to {max(a.cpu for a, _ in pairs):.2f}"}
    return [Line(job, ours, baseline, theirs, said=spread)]


def imports(job: str) -> list[Line]:
    """Run it in turn with the imports of numpy and pandas."""
    return interleaved(job, "python importing numpy and pandas", IMPORTS, ROOT)


def older(job: str, commit: str) -> list[Line]:
    """Run it in turn with an older state."""
    packed = subprocess.run(["git", "-C", str(ROOT), "archive", commit], check=True, stdout=subprocess.PIPE).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        return interleaved(job, f"the same at {commit}", COUNT, Path(folder))


JOBS = {
    "recon count": Job(imports, ("recon count",)),
    "recon count, before the rooms": Job(older, ("recon count, before the rooms", "80c81fd"), quick=False),
}

if __name__ == "__main__":
    main("start", JOBS)
