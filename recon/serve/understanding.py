"""What was understood of files, as JSON on standard output: run as a process of its own, within limits.

python -m recon.serve.understanding --time 60 --memory 1G [--domain FILE] FILE...
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from recon.io.console.output import INTERNAL, print_error, print_json, working
from recon.readers.inspection.inspecting import inspect
from recon.readers.loading.loading import load
from recon.report.wording.headline import provenance_lines
from solvers.foundation.errors import ReconError
from solvers.foundation.limits import Limits

SHOWN = 200  # attributes, findings or models that are listed


def understood(files: Sequence[str], domain: str | None, limits: Limits) -> dict[str, Any]:
    """Return what the files are, what they store outright, and which models, rows and attributes were read.

    `files`: per file its format, rows and findings, or why it was not inspected. `models`: one line each; `rows`:
    bounds; `attributes`: name, values, how many; `assumed`; or `refused`: why nothing could be read.
    """
    found: dict[str, Any] = {"files": [_inspected(file, limits) for file in files]}
    try:
        release = load(*files, domain=domain, limits=limits)
    except (ReconError, OSError) as error:
        return found | {"refused": " ".join(str(error).split())}
    rows = list(release.domain.to_frame().rename(columns={"values": "values_"}).itertuples())
    return found | {
        "line": release._facts().line,
        "models": provenance_lines(release)[:SHOWN],
        "rows": [release.rows.low, release.rows.high],
        "attributes": [
            {"name": str(one.name), "role": str(one.role), "values": str(one.values_)} for one in rows[:SHOWN]
        ],
        "attributes_in_all": len(rows),
        "domain": release.domain.origin,
        "assumed": list(release.assumptions),
    }


def _inspected(file: str, limits: Limits) -> dict[str, Any]:
    """Return what a file stores outright, as JSON."""
    try:
        one = inspect(file, limits=limits)
    except (ReconError, OSError) as error:
        return {"file": file, "refused": " ".join(str(error).split())}
    kept = ("level", "what", "follows", "path")
    whole = one.to_json()
    return {
        "file": file, "format": one.format, "sha256": one.sha256, "rows": one.rows,
        "findings": [{key: finding[key] for key in kept} for finding in whole["findings"][:SHOWN]],
        "findings_in_all": len(whole["findings"]),
    }  # fmt: skip


def main() -> None:
    """Print what was understood of the files that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m recon.serve.understanding")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--domain")
    parser.add_argument("--time", type=float, default=60.0)
    parser.add_argument("--memory", default="1G")
    given = parser.parse_args()
    with working(given.time, given.memory, 200_000, quiet=True) as limits:
        try:
            found = understood(given.files, given.domain, limits)
        except Exception as error:
            print_error(error)
            raise SystemExit(INTERNAL) from None
    print_json(found)


if __name__ == "__main__":
    main()
