"""What benches share: work beside a named baseline, a process per job, results kept as JSON, and what got worse.

A bench is a script with jobs, functions that return lines, and ends in `main(NAME, JOBS)`:

    python tests/bench/NAME.py [--quick | --lines BEGINNING ...] [--check]

A line: seconds of the processor (child processes included) and of the clock, medians of the repeats; the same of a
*named baseline* in the same process and session; their ratio, of the processor's seconds because machines are shared;
memory before the work and at its peak, and what the baseline adds; and what was reached: `more` (the more the better:
whole numbers and words must not fall, fractions not by more than 5 %), `less`, `same` (must not change), `said` (not
compared). Results stand in tests/bench/results/NAME.json; lines that were not run stay as they were. Before writing,
each is compared with what is committed; `--check` writes nothing and ends with status 1 where something got worse.
`--quick` leaves long jobs out. Linear algebra has one thread: threads that wait for a busy core spend it.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import multiprocessing
import os
import re
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]  # this state of recon, whatever is installed

from records import Line, Results, Spent  # noqa: E402

DATA = Path(os.environ.get("RECON_DATA", ROOT.parent / "shared" / "data"))
GIVE_UP = 1_800.0  # a job that says nothing for so many seconds is ended
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Job:
    """What makes lines whose names begin with the job's, in a process of its own; `needs`: packages."""

    run: Callable[..., list[Line]]
    arguments: tuple[Any, ...] = ()
    quick: bool = True
    needs: tuple[str, ...] = ()


def spent() -> float:
    """Return the seconds of the processor that this process and its children that ended have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + used.ru_utime + used.ru_stime


def memory(restart: bool = False) -> tuple[int, int]:
    """Return (resident memory now, its peak since the last restart) in MB; the peak twice where no more is told."""
    try:
        if restart:
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        text = Path("/proc/self/status").read_text(encoding="ascii")
        now, peak = (int(re.search(rf"{name}:\s+(\d+)", text)[1]) >> 10 for name in ("VmRSS", "VmHWM"))
        return now, peak
    except (OSError, TypeError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        return peak, peak


def measured(work: Callable[..., Any], prepare: Callable[[], Any] | None = None, repeats: int = 0) -> Spent:
    """Measure work; what `prepare` returns is given to it and made anew, unmeasured, for every repeat.

    Without `repeats`: once where it takes five seconds, else three times at least and 21 at most, for a second. Memory
    is that of the first.
    """
    cpu, wall, found = [], [], None
    before = peak = 0
    while not cpu or (len(cpu) < repeats if repeats else unsettled(wall)):
        given = () if prepare is None else (prepare(),)
        if not cpu:
            gc.collect()
            before = memory(restart=True)[0]
        begun, clock = spent(), time.perf_counter()
        found = work(*given)
        wall.append(time.perf_counter() - clock)
        cpu.append(spent() - begun)
        if len(cpu) == 1:
            peak = memory()[1]
    return Spent(statistics.median(cpu), statistics.median(wall), len(cpu), before, peak, found)


@contextmanager
def stopping(seconds: float) -> Iterator[threading.Event]:
    """Give an event that is set once this process has used so many more seconds of the processor."""
    stop, end = threading.Event(), time.process_time() + seconds

    def watch() -> None:
        while not stop.wait(0.05):
            if time.process_time() >= end:
                stop.set()

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield stop
    finally:
        stop.set()


def unsettled(wall: list[float]) -> bool:
    """Return whether work that took so long is to be repeated."""
    return wall[0] < 5 and (len(wall) < 3 or (sum(wall) < 1 and len(wall) < 21))


ASIDE = """import json, resource, subprocess, sys, time
begun = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)
wall, used = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([used.ru_utime + used.ru_stime, wall, used.ru_maxrss >> 10, done.stdout.decode(), done.returncode]))"""


def from_aside(arguments: list[str], cwd: Path, environment: dict[str, str], stderr: int | None = None) -> list[Any]:
    """Return seconds of the processor and of the clock, MB, output and exit code of a command.

    It is started by a small process, because a child begins with the peak memory of its parent.
    """
    env = {**os.environ, "PYTHONPATH": str(cwd), **environment}
    out = subprocess.run([sys.executable, "-S", "-c", ASIDE, *arguments], cwd=cwd, env=env, check=True,
                         stdout=subprocess.PIPE, stderr=stderr)  # fmt: skip
    found: list[Any] = json.loads(out.stdout)
    return found


def command(arguments: list[str], repeats: int = 1, cwd: Path = ROOT, **environment: str) -> Spent:
    """Measure a command (its first words for a Python: `sys.executable`); the result is what it prints.

    Raises `CalledProcessError` where it fails.
    """
    runs = []
    for _ in range(repeats):
        runs.append(from_aside(arguments, cwd, environment))
        if runs[-1][4]:
            raise subprocess.CalledProcessError(runs[-1][4], arguments)
    cpu, wall, peak = (statistics.median(run[k] for run in runs) for k in range(3))
    return Spent(cpu, wall, repeats, 0, round(peak), runs[-1][3])


def outcome(words: list[str]) -> Spent:
    """Measure a command of recon, whatever its exit code: the result is that code and what it prints."""
    cpu, wall, peak, text, code = from_aside(
        [sys.executable, "-m", "recon", *words], ROOT, {}, stderr=subprocess.DEVNULL
    )
    return Spent(cpu, wall, 1, 0, peak, (code, text))


def aside(to: Any, job: Job) -> None:
    """Send the lines of a job, or what went wrong."""
    try:
        to.send(job.run(*job.arguments))
    except Exception as error:  # the next job goes on
        to.send(f"{type(error).__name__}: {error}")


def lines_of(job: Job) -> list[Line] | str:
    """Return the lines of a job, run in a fresh process, or why there are none."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=aside, args=(theirs, job))
    process.start()
    theirs.close()
    try:
        found = ours.recv() if ours.poll(GIVE_UP) else f"nothing after {GIVE_UP:,.0f} s"
    except EOFError:
        process.join()
        found = f"the process died (exit code {process.exitcode})"
    process.join(5)
    process.kill()
    process.join()
    return found


def main(bench: str, jobs: dict[str, Job], arguments: list[str] | None = None, results: Results | None = None) -> None:
    """Run the jobs asked for, print and keep their lines; status 1 where a job failed or `--check` found worse."""
    parser = argparse.ArgumentParser(usage=f"python tests/bench/{bench}.py [--quick | --lines BEGINNING ...] [--check]")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--lines", nargs="+", default=[""])
    asked = parser.parse_args(arguments)
    names = [n for n in jobs if any(n == word or (word not in jobs and n.startswith(word)) for word in asked.lines)]
    chosen = {n: jobs[n] for n in names if jobs[n].quick or not asked.quick}
    if not chosen:
        sys.exit(f"no job begins so: choose from {', '.join(jobs)}")
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    results, failed = results or Results(bench), False
    results.only(jobs)
    print(f"# {bench}\n\n| line | CPU s | wall s | baseline, CPU s | ratio | MB before, peak | reached |")
    print("|---|--:|--:|---|--:|--:|---|", flush=True)
    for name, job in chosen.items():
        if missing := [package for package in job.needs if importlib.util.find_spec(package) is None]:
            print(f"LEFT OUT {name}: needs {', '.join(missing)}", flush=True)
            continue
        found = lines_of(job)
        if isinstance(found, str):
            failed = True
            print(f"FAILED {name}: {found}", flush=True)
            continue
        results.take(name, found)
        if not asked.check:
            results.write()
    told = results.regressions()
    print(f"\n{len(results.added)} lines, {len(told)} worse than what is committed", *told, sep="\n")
    sys.exit(1 if failed or (asked.check and told) else 0)
