"""An experiment from its points to its figures: what is stored is not run again, what is found is stored at once.

The papers' data by name: found in a folder, checked by shape and checksum. Nothing a user audits needs them.

Looked for in this order: the folder given, the environment variable RECON_DATA, the folder shared/data beside this
checkout, the user's cache. The published discretisations do not follow from OpenML's raw tables, so nothing is
fetched: whoever has the files puts them into one of these folders.

Results on disk: one Parquet file per point with its manifest inside, so that nothing is lost and nothing run twice.

OUT/runs/KEY.parquet holds one point's rows; its metadata `recon` is the manifest as JSON: experiment, version,
parameters, data and their hash, versions of what was used, seconds. No server: any Parquet reader opens them.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import io
import json
import math
import os
import platform
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import pandas as pd

from recon.experiments.drawing import svg
from recon.experiments.experiment import NAMES, Declaration, ExperimentFindings, Point, Row, Size, experiment, of_module
from recon.io.files.tables import unpack_frame, write_csv
from recon.io.files.writing import writing
from solvers.foundation.errors import EngineError, ReconError, ReleaseError, TooLarge, Unsupported, installing
from solvers.foundation.limits import Limits
from solvers.foundation.native import run as run_alone
from solvers.foundation.parallel.pieces import completed

MANIFEST = b"recon"
PACKAGES = ("recon-worlds", "numpy", "pandas", "scikit-learn", "ortools", "highspy", "oxidd", "python-sat", "pystreed",
            "pydl8.5", "pyarrow", "joblib", "dask", "scikit-posthocs")  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One finished point: its manifest and its rows."""

    manifest: dict[str, Any]
    rows: list[Row]


@cache
def _versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results may depend on."""
    found = {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


class Store:
    """The folder of one experiment's results."""

    def __init__(self, folder: str | Path, of: Declaration) -> None:
        self.folder, self.of = Path(folder), of
        self.runs = self.folder / "runs"

    def path(self, point: Point) -> Path:
        """Return where a point's results stand."""
        return self.runs / f"{point.key(self.of.name, self.of.version)}.parquet"

    def read(self, wanted: Sequence[tuple[Point, str]], limits: Limits | None = None) -> list[Run | None]:
        """Return the results of points, each with the hash of its data, in this order.

        None where there are none, where they are of other data, or broken off. Anything may stand in a file, so a
        process that may take `limits.memory` bytes and no more unpacks them all first (0.5 s). Raises `TooLarge` where
        they take more, `Inconclusive` where the time is up.
        """
        limits, _ = limits or Limits(), _parquet()
        import pyarrow.ipc

        found: list[Run | None] = [None] * len(wanted)
        places = [self.path(point) for point, _ in wanted]
        there = [(k, str(place)) for k, place in enumerate(places) if place.is_file()]
        left = limits.memory
        with tempfile.TemporaryDirectory() as folder:
            for k, path in limits.paced(_readable(there, folder, limits), "stored results are read"):
                with open(os.path.join(folder, str(k)), "rb") as file:
                    table = pyarrow.ipc.open_stream(file).read_all()
                if (manifest := _manifest(table)).get("data_sha256") != wanted[k][1]:
                    continue
                left -= CELL * table.num_rows * (table.num_columns + 1)
                if left < 0:
                    raise TooLarge(_too_large(path, limits.memory))
                rows = [{name: v for name, v in row.items() if name != EMPTY} for row in table.to_pylist()]
                found[k] = Run(manifest, rows)
        return found

    def opened(self) -> None:
        """Make the folder; `ReleaseError` where results cannot be written there."""
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ReleaseError(f"cannot be written: {error.strerror or error}", file=str(self.runs)) from None

    def write(self, point: Point, run: Run) -> None:
        """Store a point's results, whole or not at all."""
        import pyarrow as pa

        arrow = _parquet()
        rows = run.rows if not run.rows or run.rows[0] else [{EMPTY: True} for _ in run.rows]
        table = pa.Table.from_pandas(pd.DataFrame(rows), preserve_index=False)
        table = table.replace_schema_metadata({MANIFEST: json.dumps(run.manifest)})
        self.opened()
        with writing(str(self.path(point)), binary=True) as file:
            arrow.write_table(table, file)


EMPTY = "_"  # Parquet has no rows without columns
CELL = 100  # bytes of a value in a row, and of the row
LONGEST = 1 << 20  # bytes of a manifest: ours have a thousand
PLAIN = "recon.experiments.running:is_plain"


def _readable(files: Sequence[tuple[int, str]], folder: str, limits: Limits) -> list[tuple[int, str]]:
    """Return those numbered files that are tables, and write each plainly into a folder, by its number.

    A file at which the process ends is none: halves are tried again.
    """
    if not files:
        return []
    try:
        good = run_alone(PLAIN, {"files": files, "most": limits.memory, "to": folder}, limits)
    except EngineError:
        half = len(files) // 2
        return _readable(files[:half], folder, limits) + _readable(files[half:], folder, limits) if half else []
    return [one for one, is_table in zip(files, good, strict=True) if is_table]


def is_plain(asked: dict[str, Any]) -> list[bool]:
    """Return of each file whether it is a table; see `_readable`. Called in a process of its own."""
    left, found = asked["most"], []
    for k, path in asked["files"]:
        kind, size = unpack_frame({"path": path, "most": left, "to": os.path.join(asked["to"], str(k))})
        if kind == "large":
            raise TooLarge(_too_large(path, asked["most"]))
        left -= size if kind == "bytes" else 0
        found.append(kind == "bytes")
    return found


def _too_large(path: str, memory: int) -> str:
    return (
        f"{path}: with this file the stored results take more than {memory >> 20:,} MB: raise --memory, or delete the "
        "file, and its point is run again"
    )


def _manifest(table: Any) -> dict[str, Any]:
    """Return the manifest of a stored table; {} where it holds none."""
    text = (table.schema.metadata or {}).get(MANIFEST, b"")
    try:
        found = json.loads(text) if len(text) <= LONGEST else None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _parquet() -> Any:
    """Return pyarrow's Parquet module; `Unsupported` where it is not installed."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise Unsupported(f"results are stored as Parquet: {installing('parquet')}") from None
    return pyarrow.parquet


def _joined_rows(runs: Sequence[tuple[Point, Run]]) -> pd.DataFrame:
    """Return all rows of points in one frame: dataset and parameters first, then what was found."""
    lines = [{"dataset": point.dataset, **point.parameters, **row} for point, run in runs for row in run.rows]
    return pd.DataFrame(lines)


@dataclass(frozen=True)
class Source:
    """A published table: its file, shape with the label, whether the label stands first (then there is no header)."""

    file: str
    rows: int
    columns: int
    sha256: str  # of the file as it is when unpacked
    label_first: bool = False


SOURCES = {
    "compas27": Source("compas27.csv.gz", 7_214, 28,
                       "df5eccc8e4468568b1e1d28859f9c2b33925e3cc1c8eaacb5e479609e088fbf4"),
    "compas14": Source("compas14.csv.gz", 7_206, 15,
                       "88aa496e8b32e549f089f457fd3244e1706860bee5e6162d259090a91b5bee17"),
    "adult24": Source("adult24.csv.gz", 48_842, 25, "933f173cf3f67b9da098b155c13c93650d43a45e6b80a05621adf03bd6531b69"),
    "adult19": Source("adult19.csv.gz", 48_842, 20, "09c54f274f1b4b16c9fa6e6a7ef7b80c65bad852ea6b16381970d81ee3a99b02"),
    "credit21": Source("credit21.csv.gz", 29_986, 22,
                       "e1c6fce3d9487a8fce82277c6649b91f9fb3e5f79ad1770e7b8e44a0189a43d6"),
    "mushroom": Source("mushroom.txt.gz", 8_124, 120,
                       "1c79653e52e83b0b34ad5d2e7cf390b23470db8e7949a8b70c37b3498d2f0516", label_first=True),
    "german-credit": Source("german-credit.txt.gz", 1_000, 113,
                            "e828409b23b9e7d23fb45359742d4dbbc244976e06d47fe63a1bb8de41e2c313", label_first=True),
    "kr-vs-kp": Source("kr-vs-kp.txt.gz", 3_196, 74,
                       "993c24e179e1b184c363f907a03a7d92618ac1baa69922755ac9c4ff7262bef6", label_first=True),
    "tic-tac-toe": Source("tic-tac-toe.txt.gz", 958, 28,
                          "a3a513c38721fd0e8800e8dc42eee2724d982540e762159812f8f83f70fe07b3", label_first=True),
}  # fmt: skip


def load(name: str, folder: str | None = None) -> tuple[pd.DataFrame, str]:
    """Return a table by name, its label as the last column, and the SHA-256 of its file unpacked.

    Where a folder is given, only that one is looked into. Raises `ReleaseError` where no folder holds the file (packed
    or not), and where it is not the published one.
    """
    source = SOURCES[name]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "recon"
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    named = os.environ.get("RECON_DATA")
    places = [Path(folder)] if folder else [*([Path(named)] if named else []), beside, cache]
    plain = source.file.removesuffix(".gz")
    found = next((p / file for p in places for file in (source.file, plain) if (p / file).is_file()), None)
    if found is None:
        looked = ", ".join(str(place) for place in places)
        raise ReleaseError(f"the data '{name}' ({source.file}) are in none of: {looked}; give their folder: --data")
    try:
        content = found.read_bytes()
        content = gzip.decompress(content) if found.suffix == ".gz" else content
    except (OSError, EOFError) as error:
        raise ReleaseError(f"cannot be read: {error}", file=str(found)) from None
    digest = hashlib.sha256(content).hexdigest()
    if digest != source.sha256:
        raise ReleaseError(f"is not the published file: SHA-256 {digest[:16]}..., not {source.sha256[:16]}...",
                           file=str(found))  # fmt: skip
    frame = _table(content, source)
    assert frame.shape == (source.rows, source.columns)
    return frame, digest


def _table(content: bytes, source: Source) -> pd.DataFrame:
    """Return a file's rows with the label last; columns without names are x1, x2, ... and y."""
    if not source.label_first:
        return pd.read_csv(io.BytesIO(content))
    raw = pd.read_csv(io.BytesIO(content), sep=r"\s+", header=None)
    raw.columns = ["y", *(f"x{k}" for k in range(1, raw.shape[1]))]
    return raw[[*raw.columns[1:], "y"]]


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
    _parquet()
    for package, extra in of.needs.items():
        if importlib.util.find_spec(package) is None:
            raise Unsupported(f"{name} needs {package}: {installing(extra)}")
    wanted = list(of.points(size) if points is None else points)
    hashes = {dataset: load(dataset, data)[1] if dataset else "" for dataset in {p.dataset for p in wanted}}
    store = Store(out, of)
    store.opened()
    done: dict[int, Run] = {}
    for i, run in enumerate(store.read([(point, hashes[point.dataset]) for point in wanted], limits)):
        if run is not None:
            done[i] = run
    before, failed = len(done), []
    numbers = sorted((i for i in range(len(wanted)) if i not in done), key=lambda i: -wanted[i].cost)
    missing = [TravellingPoint(NAMES[name], wanted[i], data) for i in numbers]
    lost: EngineError | None = None
    try:
        for k, found in completed(_point_results, missing, limits, what=f"points of {name}"):
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
    results = _joined_rows(finished)
    findings = of.findings(results) if len(results) else ExperimentFindings()
    if figures:
        findings = replace(findings, figures=[one for one in findings.figures if one.name in figures])
    outcome = RunOutcome(
        out, before, len(done) - before, tuple(failed), left, findings, results, time.monotonic() - begun
    )
    _write_outcome(store, outcome, [run.manifest for _, run in finished], size)
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


def _point_results(work: TravellingPoint, limits: Limits) -> Run | str | None:
    """Return one point's results, or why it has none; None where it was under way when time was up or somebody stopped.

    A point's caps are its parameters alone, never what is left of the command's time: what is stored is the same
    whenever it was begun.
    """
    limits = replace(limits, seconds=None, end=None, work=math.inf, stop=Over(limits))
    of, wall, cpu = of_module(work.module), time.monotonic(), time.process_time()
    started = time.time()
    try:  # on a cluster the data may be missing where this runs
        frame, digest = _cached_table(work.point.dataset, work.data) if work.point.dataset else (pd.DataFrame(), "")
        rows = of.run(work.point, frame, limits)
    except (ReconError, MemoryError, ArithmeticError) as error:
        return None if limits.expired() else f"{type(error).__name__}: {error}"
    if limits.expired():
        return None
    manifest: dict[str, Any] = {
        "experiment": of.name, "version": of.version, "dataset": work.point.dataset, "data_sha256": digest,
        "parameters": dict(work.point.parameters), "versions": _versions(), "started": started,
        "seconds": time.monotonic() - wall, "cpu_seconds": time.process_time() - cpu,
    }  # fmt: skip
    return Run(manifest, [{name: _parquet_scalar(value) for name, value in row.items()} for row in rows])


@lru_cache(maxsize=1)
def _cached_table(dataset: str, folder: str | None) -> tuple[pd.DataFrame, str]:
    """Return a table as `load` does, kept by every process for its next point; it is not to be written to."""
    return load(dataset, folder)


def _parquet_scalar(value: Any) -> Any:
    """Return a scalar that Parquet keeps: numpy's as Python's, whole numbers beyond 64 bits as text."""
    value = value.item() if hasattr(value, "item") else value
    return str(value) if isinstance(value, int) and abs(value) >= 1 << 63 else value


def _write_outcome(store: Store, outcome: RunOutcome, manifests: Sequence[dict[str, Any]], size: Size) -> None:
    """Write all rows, the tables, the figures, and a page that shows them."""
    folder, of = store.folder, store.of
    folder.mkdir(parents=True, exist_ok=True)
    if len(outcome.results):
        with writing(str(folder / "results.parquet"), binary=True) as file:
            outcome.results.to_parquet(file, index=False)
    with writing(str(folder / "manifest.json")) as file:
        json.dump(_whole_manifest(of, outcome, manifests, size), file, indent=1)
        file.write("\n")
    lines = [f"# {of.name}: {of.about}", "", of.source, "", state(outcome), ""]
    for table in outcome.findings.tables:
        with writing(str(folder / f"{table.name}.csv")) as file:
            write_csv(table.frame, file)
        text = _markdown(table.frame)
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


def _whole_manifest(
    of: Declaration, outcome: RunOutcome, manifests: Sequence[dict[str, Any]], size: Size
) -> dict[str, Any]:
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


def _markdown(frame: pd.DataFrame) -> str:
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
