"""An experiment from its points to its figures: what is stored is not run again, what is found is stored at once."""

from __future__ import annotations

import importlib.util
import json
import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pandas as pd

from recon.experiments.datasets import load
from recon.experiments.drawing import svg
from recon.experiments.experiment import NAMES, Experiment, ExperimentFindings, Point, Size, experiment, of_module
from recon.experiments.store import Run, Store, parquet, together, versions
from recon.io.files.spreadsheets import write_csv
from recon.io.files.writing import writing
from solvers.foundation.errors import EngineError, ReconError, Unsupported, installing
from solvers.foundation.limits import Limits
from solvers.foundation.parallel.pieces import completed


@dataclass(frozen=True)
class RunOutcome:
    """What a call left behind: points done before, now, failed (with why) and still to do; the findings so far."""

    folder: str
    before: int
    now: int
    failed: tuple[tuple[str, str], ...]
    left: int
    findings: ExperimentFindings
    results: pd.DataFrame
    seconds: float

    @property
    def complete(self) -> bool:
        """Return whether every point is stored."""
        return not self.left and not self.failed


@dataclass(frozen=True)
class TravellingPoint:
    """A point as it travels: everything is found by name where it is done."""

    module: str
    point: Point
    data: str | None


def reproduce(name: str, out: str, size: Size = "full", data: str | None = None, limits: Limits | None = None,
              points: Sequence[Point] | None = None, figures: Sequence[str] = ()) -> RunOutcome:  # fmt: skip
    """Run an experiment's points that are not stored in `out` yet, then write its tables and figures there.

    Dear points are begun first, on `limits.workers` processes or `limits.cluster`. When time is up, or at Ctrl-C, what
    is stored is drawn, and the same call goes on from there; a point that was under way then is left, whatever it had
    by then. A point that raises is named, the others go on. `figures`: those that are drawn (none: all). Raises
    `ReleaseError` where data are missing or `out` is no folder to write into, `Unsupported` where a package is missing
    (all before anything is run), `EngineError` where processes die again and again or a cluster is lost (what is stored
    by then is drawn).
    """
    limits = limits or Limits()
    of, begun = experiment(name), time.monotonic()
    parquet()
    for package, extra in of.needs.items():
        if importlib.util.find_spec(package) is None:
            raise Unsupported(f"{name} needs {package}: {installing(extra)}")
    wanted = list(of.points(size) if points is None else points)
    hashes = {dataset: load(dataset, data)[1] if dataset else "" for dataset in {p.dataset for p in wanted}}
    store = Store(out, of)
    store.opened()
    done: dict[int, Run] = {}
    for i, point in limits.paced(enumerate(wanted), "stored results are read"):
        if (run := store.read(point, hashes[point.dataset])) is not None:
            done[i] = run
    before, failed = len(done), []
    numbers = sorted((i for i in range(len(wanted)) if i not in done), key=lambda i: -wanted[i].cost)
    missing = [TravellingPoint(NAMES[name], wanted[i], data) for i in numbers]
    lost: EngineError | None = None
    try:
        for k, found in completed(worked, missing, limits, what=f"points of {name}"):
            if found is None:
                continue
            point = missing[k].point
            if isinstance(found, str):
                failed.append((str(point), found))
                continue
            done[numbers[k]] = found
            store.write(point, found)
    except EngineError as error:  # what is there is drawn first
        lost = error
    left = len(wanted) - len(done) - len(failed)
    finished = [(wanted[i], done[i]) for i in sorted(done)]
    results = together(finished)
    findings = of.findings(results) if len(results) else ExperimentFindings()
    if figures:
        findings = replace(findings, figures=[one for one in findings.figures if one.name in figures])
    outcome = RunOutcome(
        out, before, len(done) - before, tuple(failed), left, findings, results, time.monotonic() - begun
    )
    written(store, outcome, [run.manifest for _, run in finished], size)
    if lost is not None:
        raise lost
    return outcome


class Over(threading.Event):
    """What asks a point to stop: whoever asks the command to, or the end of the command's time."""

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.limits = limits

    def is_set(self) -> bool:
        """Return whether nobody waits for the point any longer."""
        return super().is_set() or self.limits.expired()


def worked(work: TravellingPoint, limits: Limits) -> Run | str | None:
    """Return one point's results, or why it has none; None where it was under way when time was up or somebody stopped.

    A point's caps are its parameters alone, never what is left of the command's time: what is stored is the same
    whenever it was begun.
    """
    limits = replace(limits, seconds=None, end=None, stop=Over(limits))
    of, wall, cpu = of_module(work.module), time.monotonic(), time.process_time()
    started = time.time()
    try:  # on a cluster the data may be missing where this runs
        frame, digest = kept(work.point.dataset, work.data) if work.point.dataset else (None, "")
        rows = of.run(work.point, frame, limits)
    except (ReconError, MemoryError, ArithmeticError) as error:
        return None if limits.expired() else f"{type(error).__name__}: {error}"
    if limits.expired():
        return None
    manifest: dict[str, Any] = {
        "experiment": of.name, "version": of.version, "dataset": work.point.dataset, "data_sha256": digest,
        "parameters": dict(work.point.parameters), "versions": versions(), "started": started,
        "seconds": time.monotonic() - wall, "cpu_seconds": time.process_time() - cpu,
    }  # fmt: skip
    return Run(manifest, [{name: plain(value) for name, value in row.items()} for row in rows])


@lru_cache(maxsize=1)
def kept(dataset: str, folder: str | None) -> tuple[pd.DataFrame, str]:
    """Return a table as `load` does, kept by every process for its next point; it is not to be written to."""
    return load(dataset, folder)


def plain(value: Any) -> Any:
    """Return a scalar that Parquet keeps: numpy's as Python's, whole numbers beyond 64 bits as text."""
    value = value.item() if hasattr(value, "item") else value
    return str(value) if isinstance(value, int) and abs(value) >= 1 << 63 else value


def written(store: Store, outcome: RunOutcome, manifests: Sequence[dict[str, Any]], size: Size) -> None:
    """Write all rows, the tables, the figures, and a page that shows them."""
    folder, of = store.folder, store.of
    folder.mkdir(parents=True, exist_ok=True)
    if len(outcome.results):
        with writing(str(folder / "results.parquet"), binary=True) as file:
            outcome.results.to_parquet(file, index=False)
    with writing(str(folder / "manifest.json")) as file:
        json.dump(whole(of, outcome, manifests, size), file, indent=1)
        file.write("\n")
    lines = [f"# {of.name}: {of.about}", "", of.source, "", state(outcome), ""]
    for table in outcome.findings.tables:
        with writing(str(folder / f"{table.name}.csv")) as file:
            write_csv(table.frame, file)
        text = markdown(table.frame)
        with writing(str(folder / f"{table.name}.md")) as file:
            file.write(f"{table.about}\n\n{text}")
        lines += [f"## {table.name}", "", table.about, "", text]
    for figure in outcome.findings.figures:
        with writing(str(folder / f"{figure.name}.svg")) as file:
            file.write(svg(figure, outcome.findings.figures))
        lines += [f"## {figure.name}", "", f"![{figure.about}]({figure.name}.svg)", "", figure.about, ""]
    lines += [f"- {sentence}" for sentence in outcome.findings.sentences]
    with writing(str(folder / "README.md")) as file:
        file.write("\n".join(lines).rstrip() + "\n")


def whole(of: Experiment, outcome: RunOutcome, manifests: Sequence[dict[str, Any]], size: Size) -> dict[str, Any]:
    """Return the manifest of all: what was run on what, with which versions, and for how long."""
    return {
        "experiment": of.name, "version": of.version, "size": size, "source": of.source,
        "points": len(manifests), "left": outcome.left, "failed": [list(one) for one in outcome.failed],
        "data_sha256": {m["dataset"]: m["data_sha256"] for m in manifests if m["dataset"]},
        "versions": sorted({json.dumps(m["versions"], sort_keys=True) for m in manifests}),
        "seconds": math.fsum(m["seconds"] for m in manifests),
        "cpu_seconds": math.fsum(m["cpu_seconds"] for m in manifests),
        "seconds_of_this_call": outcome.seconds,
    }  # fmt: skip


def state(outcome: RunOutcome) -> str:
    """Return in a sentence how far the experiment is."""
    total = outcome.before + outcome.now + outcome.left + len(outcome.failed)
    text = f"{outcome.before + outcome.now:,} of {total:,} points are stored ({outcome.before:,} were before)"
    if outcome.failed:
        text += f", {len(outcome.failed)} failed, the first: {outcome.failed[0][0]}: {outcome.failed[0][1]}"
    return text + (f"; {outcome.left:,} are left: the same command goes on." if outcome.left else ".")


def markdown(frame: pd.DataFrame) -> str:
    """Return a frame as a Markdown table: numbers to four digits after the point, nothing for what is missing."""

    def shown(value: Any) -> str:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return ""
        if isinstance(value, float):
            return f"{value:.4f}".rstrip("0").rstrip(".") if abs(value) < 1e6 else f"{value:.4g}"
        return str(value).replace("|", "\\|").replace("\n", " ")

    head = [str(c) for c in frame.columns]
    body = [[shown(v) for v in line] for line in frame.astype(object).itertuples(index=False)]
    rows = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"
