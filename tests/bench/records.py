"""Lines of benches as they are kept: JSON files in tests/bench/results, and what got worse since the commit."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"

FACTOR = 1.5  # a ratio or memory that grew by more than this is a regression ...
FLOOR_SECONDS, FLOOR_MB = 0.03, 40  # ... if it is more than so many seconds (of the baseline as it is now) or MB
SHARE = 0.05  # fractions may fall by so much: what is reached within a time limit varies
ORDER = [
    "failed", "unsat", "unknown", "no", "incomplete", "bounds", "possible", "complete", "exact", "yes",
]  # of words, worst first  # fmt: skip
PACKAGES = [
    "numpy", "scipy", "pandas", "scikit-learn", "joblib", "ortools", "highspy", "oxidd", "python-sat", "msgspec",
    "numba", "python-flint", "pystreed", "lightgbm", "xgboost", "catboost", "interpret-core",
]  # fmt: skip
KINDS = ("more", "less", "same", "said")
Facts = dict[str, Any]


@dataclass(frozen=True)
class Spent:
    """What work took: seconds of the processor and of the clock, memory in MB before it and at its peak, its result."""

    cpu: float
    wall: float
    repeats: int
    before: int
    peak: int
    found: Any = None


@dataclass(frozen=True)
class Line:
    """One line of a bench (harness.py says what it means); `beside` is the baseline. Results are left out."""

    name: str
    work: Spent
    baseline: str
    beside: Spent
    more: Facts = field(default_factory=dict)
    less: Facts = field(default_factory=dict)
    same: Facts = field(default_factory=dict)
    said: Facts = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("work", "beside"):
            object.__setattr__(self, name, replace(getattr(self, name), found=None))

    def record(self) -> Facts:
        """Return the line as it stands in the JSON file."""
        work, beside = self.work, self.beside
        out: Facts = {"cpu": short(work.cpu), "wall": short(work.wall), "repeats": work.repeats}
        out |= {"baseline": self.baseline, "baseline_cpu": short(beside.cpu), "baseline_wall": short(beside.wall)}
        ratios = (work.cpu / max(beside.cpu, 1e-9), work.wall / max(beside.wall, 1e-9))
        out |= {"ratio": short(ratios[0]), "wall_ratio": short(ratios[1]), "date": date.today().isoformat()}
        out |= {"before_mb": work.before, "peak_mb": work.peak, "baseline_mb": beside.peak - beside.before}
        return out | {k: v for k in KINDS if (v := getattr(self, k))}


def short(x: float) -> float:
    """Return a number with four digits that count."""
    return float(f"{x:.4g}")


def figure(x: float) -> str:
    """Return seconds, bits or a ratio with three digits that count."""
    small = f"{x:.1e}" if 0 < abs(x) < 1e-4 else f"{x:.4f}"
    return small if abs(x) < 0.1 else f"{x:.2f}" if abs(x) < 100 else f"{x:,.0f}"


def told(value: Any) -> str:
    """Return a fact as people read it."""
    if isinstance(value, dict):
        return "; ".join(f"{key} ({told(one)})" if isinstance(one, dict) else f"{key}: {told(one)}"
                         for key, one in value.items())  # fmt: skip
    if isinstance(value, (list, tuple)):
        return ", ".join(map(told, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, (int, float)) else str(value)


def worse(name: str, old: Facts, new: Facts) -> list[str]:
    """Return what got worse in a line, one sentence each."""
    told = []
    if old["baseline"] == new["baseline"]:
        more = (new["ratio"] - old["ratio"]) * new["baseline_cpu"]
        if new["ratio"] > FACTOR * old["ratio"] and more > FLOOR_SECONDS:
            told.append(f"ratio {old['ratio']:g} -> {new['ratio']:g}")
    for what, below in (("peak", 0), ("memory of the work", 1)):
        was, now = (line["peak_mb"] - below * line["before_mb"] for line in (old, new))
        if now > FACTOR * was and now - was > FLOOR_MB:
            told.append(f"{what} {was} MB -> {now} MB")
    for kind, sign in (("more", 1), ("less", -1)):
        for key, was in old.get(kind, {}).items():
            now = new.get(kind, {}).get(key)
            slack = SHARE * abs(was) if isinstance(was, float) else 0
            if now is None or sign * (rank(now) - rank(was)) < -slack:
                told.append(f"{key} {was} -> {now}")
    for key, was in old.get("same", {}).items():
        now = new.get("same", {}).get(key)
        numbers = isinstance(was, float) and isinstance(now, (int, float))
        if abs(now - was) > 1e-6 * abs(was) if numbers else now != was:
            told.append(f"{key} {was} -> {now}")
    return [f"REGRESSION {name}: {one}" for one in told]


def rank(value: Any) -> float:
    """Return a number, or the place of a word in `ORDER`."""
    return float(ORDER.index(value)) if isinstance(value, str) else float(value)


def environment() -> Facts:
    """Return the machine and the versions of what benches stand on."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"model name\s*:\s*(.*)", text)
    gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    machine = f"{os.cpu_count()} x {model[1] if model else platform.machine()}, {gb:.0f} GB, {platform.system()}"
    found = {name: importlib.metadata.version(name) for name in PACKAGES if installed(name)}
    return {"machine": machine, "python": platform.python_version(), "versions": found}


def installed(distribution: str) -> bool:
    """Return whether a package is installed."""
    try:
        return bool(importlib.metadata.version(distribution))
    except importlib.metadata.PackageNotFoundError:
        return False


def belongs(line: str, job: str) -> bool:
    """Return whether a line is one of a job's."""
    return line == job or line.startswith(f"{job}: ")


class Results:
    """The lines of a bench: those of the file, and those that were run."""

    def __init__(self, bench: str, folder: Path = RESULTS) -> None:
        self.path = folder / f"{bench}.json"
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        self.kept: Facts = json.loads(text) if text else {"bench": bench, "environments": {}, "lines": {}}
        show = ["git", "-C", str(folder), "show", f"HEAD:./{self.path.name}"]
        committed = subprocess.run(show, check=False, capture_output=True).stdout
        self.before: Facts = (json.loads(committed) if committed else self.kept)["lines"]
        self.added: Facts = {}
        self.gone: list[str] = []

    def take(self, job: str, lines: list[Line]) -> None:
        """Take in the lines of a job, whose names begin with its own, in place of those that it had, and print them."""
        assert all(belongs(line.name, job) for line in lines), [line.name for line in lines]
        self.kept["lines"] = {n: old for n, old in self.kept["lines"].items() if not belongs(n, job)}
        self.gone += [n for n in self.before if belongs(n, job) and n not in {line.name for line in lines}]
        for line in lines:
            new = self.added[line.name] = line.record()
            facts = [f"{k} {told(v)}" for part in KINDS for k, v in new.get(part, {}).items()]
            cells = [line.name, *(figure(new[k]) for k in ("cpu", "wall"))]
            cells += [f"{line.baseline}: {figure(new['baseline_cpu'])}", figure(new["ratio"])]
            cells += [f"{new['before_mb']} → {new['peak_mb']} (+{new['baseline_mb']})", ", ".join(facts)]
            print(f"| {' | '.join(cells)} |", flush=True)

    def only(self, jobs: Iterable[str]) -> None:
        """Leave out the lines of jobs that are no more."""
        jobs = tuple(jobs)
        self.kept["lines"] = {n: old for n, old in self.kept["lines"].items() if any(belongs(n, j) for j in jobs)}

    def regressions(self) -> list[str]:
        """Return what got worse in the lines that were run."""
        told = [f"REGRESSION {name}: is gone" for name in self.gone]
        both = ((name, self.before[name], new) for name, new in self.added.items() if name in self.before)
        return told + [one for each in both for one in worse(*each)]

    def write(self) -> None:
        """Write the file: sorted, one object per line, its machine and versions by their key in `environments`."""
        own = environment()
        key = hashlib.sha256(json.dumps(own, sort_keys=True).encode()).hexdigest()[:6]
        lines = self.kept["lines"] | {name: {**line, "environment": key} for name, line in self.added.items()}
        lines = dict(sorted(lines.items()))
        every = {**self.kept["environments"], key: own}
        used = {line["environment"] for line in lines.values()}
        out = {**self.kept, "environments": {k: v for k, v in sorted(every.items()) if k in used}, "lines": lines}
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text(json.dumps(out, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        self.kept = out
