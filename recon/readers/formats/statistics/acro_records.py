"""Records of acro (`results.json`): which outputs of a session were checked, how, and which files hold them.

A record has no counts of its own: its tables stand in files beside it, each of which passed or failed by itself. What
the checks leave open is what follows from several outputs together, and from the covariances of a regression.

Source: acro 1.0, record.py (`Records.serialise_json`), acro_regression.py (`MinimumDoFCheck`: 10 degrees of freedom).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from recon.readers.formats.drafts.drafts import Draft
from solvers.foundation.errors import Unsupported

MAX_NAMED = 6  # files in a sentence


@dataclass(frozen=True)
class CheckedOutput:
    """One output: `kind` (table, regression, ...), how acro judged it, `freedom`: its degrees of freedom."""

    name: str
    kind: str
    method: str
    status: str
    mitigation: str
    freedom: int | None
    files: tuple[str, ...]
    failing: int


def looks_like_acro(content: Any) -> bool:
    """Return whether parsed JSON is a record of acro."""
    results = content.get("results") if isinstance(content, dict) else None
    return isinstance(results, dict) and isinstance(content.get("version"), str) and any(
        isinstance(one, dict) and {"status", "type", "outcome", "command"} <= set(one) for one in results.values()
    )  # fmt: skip


def checked_outputs(content: Any) -> Iterator[CheckedOutput]:
    """Yield the outputs of a record. Cost: linear in it."""
    for name, one in content["results"].items():
        if not isinstance(one, dict):
            continue
        held, found = one.get("properties"), one.get("files")
        properties: dict[str, Any] = held if isinstance(held, dict) else {}
        files = [file for file in found if isinstance(file, dict)] if isinstance(found, list) else []
        sums = [file.get("sdc", {}).get("summary") for file in files if isinstance(file.get("sdc"), dict)]
        failing = [v for each in sums if isinstance(each, dict) for v in each.values() if isinstance(v, int)]
        freedom = properties.get("dof")
        yield CheckedOutput(
            str(name)[:60],
            str(one.get("type"))[:20],
            str(properties.get("method", ""))[:20],
            str(one.get("status"))[:20],
            str(properties.get("mitigation", "none"))[:20],
            int(freedom) if isinstance(freedom, (int, float)) and 0 <= freedom < 1 << 53 else None,
            tuple(str(file.get("name"))[:60] for file in files),
            sum(failing),
        )


def table_files(content: Any) -> list[str]:
    """Return the files of all tables in a record."""
    every = (file for one in checked_outputs(content) if one.kind == "table" for file in one.files)
    return [file for file in every if file.endswith(".csv")]


def read_acro(content: Any) -> Draft:
    """Raise `Unsupported`: what a record holds, and how its tables are asked about."""
    files = table_files(content)
    named = " ".join(files[:MAX_NAMED]) + (" ..." if len(files) > MAX_NAMED else "")
    step = f"ask about its tables together, `recon audit {named}`" if files else "it names no table"
    left = "`recon inspect` says what its checks leave open"
    raise Unsupported(f"is a record of acro's checks and has no counts of its own: {step}; {left}")
