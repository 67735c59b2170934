"""Results on disk: one Parquet file per point with its manifest inside, so that nothing is lost and nothing run twice.

OUT/runs/KEY.parquet holds one point's rows; its metadata `recon` is the manifest as JSON: experiment, version,
parameters, data and their hash, versions of what was used, seconds. No server: any Parquet reader opens them.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import pandas as pd

from recon.experiments.experiment import Experiment, Point, Row
from recon.io.files.writing import writing
from solvers.foundation.errors import ReleaseError, Unsupported, installing

MANIFEST = b"recon"
PACKAGES = ("recon-worlds", "numpy", "pandas", "scikit-learn", "ortools", "highspy", "oxidd", "python-sat", "pystreed",
            "pydl8.5", "pyarrow", "joblib", "dask", "scikit-posthocs")  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One finished point: its manifest and its rows."""

    manifest: dict[str, Any]
    rows: list[Row]


@cache
def versions() -> dict[str, str]:
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

    def __init__(self, folder: str | Path, of: Experiment) -> None:
        self.folder, self.of = Path(folder), of
        self.runs = self.folder / "runs"

    def path(self, point: Point) -> Path:
        """Return where a point's results stand."""
        return self.runs / f"{point.key(self.of.name, self.of.version)}.parquet"

    def read(self, point: Point, digest: str) -> Run | None:
        """Return a point's results; None where there are none, where they are of other data, or broken off."""
        path, arrow = self.path(point), parquet()
        if not path.is_file():
            return None
        try:
            table = arrow.read_table(path)
            manifest = json.loads(table.schema.metadata[MANIFEST])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if manifest.get("data_sha256") != digest:
            return None
        return Run(manifest, [{k: v for k, v in row.items() if k != EMPTY} for row in table.to_pylist()])

    def opened(self) -> None:
        """Make the folder; `ReleaseError` where results cannot be written there."""
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ReleaseError(f"cannot be written: {error.strerror or error}", file=str(self.runs)) from None

    def write(self, point: Point, run: Run) -> None:
        """Store a point's results, whole or not at all."""
        import pyarrow as pa

        arrow = parquet()
        rows = run.rows if not run.rows or run.rows[0] else [{EMPTY: True} for _ in run.rows]
        table = pa.Table.from_pandas(pd.DataFrame(rows), preserve_index=False)
        table = table.replace_schema_metadata({MANIFEST: json.dumps(run.manifest)})
        self.opened()
        with writing(str(self.path(point)), binary=True) as file:
            arrow.write_table(table, file)


EMPTY = "_"  # Parquet has no rows without columns


def parquet() -> Any:
    """Return pyarrow's Parquet module; `Unsupported` where it is not installed."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise Unsupported(f"results are stored as Parquet: {installing('parquet')}") from None
    return pyarrow.parquet


def together(runs: Sequence[tuple[Point, Run]]) -> pd.DataFrame:
    """Return all rows of points in one frame: dataset and parameters first, then what was found."""
    lines = [{"dataset": point.dataset, **point.parameters, **row} for point, run in runs for row in run.rows]
    return pd.DataFrame(lines)
