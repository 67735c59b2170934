"""What a command costs from start to end: CPU of `recon count` of one tree, here and in other checkouts.

    python tests/bench/start.py [runs] [CHECKOUT ...]

Runs are interleaved (this tree, the first other one, ..., this tree, ...) after one run of each that compiles bytecode,
so that whatever else the machine does falls on all of them alike. To compare with an older state:
`git archive OLD | tar -x -C /tmp/old`, then give /tmp/old.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ("-m", "recon", "count", "examples/releases/compas_tree.json")


def cpu(tree: Path) -> float:
    """Return the CPU seconds (user and system) of one run in a checkout."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {"PYTHONPATH": str(tree)}
    subprocess.run([sys.executable, *COMMAND], cwd=tree, env=env, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print median and range per checkout, and the ratio to the last one given."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    trees = [ROOT, *(Path(path).resolve() for path in sys.argv[2:])]
    found: dict[Path, list[float]] = {tree: [] for tree in trees}
    for i in range(runs + 1):
        for tree in trees:
            seconds = cpu(tree)
            if i:
                found[tree].append(seconds)
    print(f"recon {' '.join(COMMAND[2:])}: CPU seconds, {runs} runs each\n")
    print("| checkout | median | range | ratio |\n|---|--:|--:|--:|")
    base = statistics.median(found[trees[-1]])
    for tree, each in found.items():
        median = statistics.median(each)
        print(f"| {tree} | {median:.2f} | {min(each):.2f}–{max(each):.2f} | {median / base:.2f} |")


if __name__ == "__main__":
    main()
