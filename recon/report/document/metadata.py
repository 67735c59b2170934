"""The parts of the report's document that say what was audited, when, with which command, and how it was computed."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from encoders.encode.encoder import EncodedRelease
from encoders.models.models import kinds_of
from recon.io.console.guarding import suggestion
from recon.io.console.output import date_given, seconds_said
from recon.io.console.version import VERSION as PROGRAM
from recon.readers.inspection.inspecting import Inspection
from recon.release.auditing.findings import AuditFindings
from recon.release.auditing.together import proofs
from solvers.foundation.limits import CUT, Limits

if TYPE_CHECKING:
    from recon.release.auditing.beside import AdversaryAudit
    from recon.release.policies.assessing import PolicyAssessment
    from recon.release.registers.versions import VersionComparison

VERSION = 2  # of the document: what it holds is docs/commands.md, "The audit's JSON"
CONVENTIONS = {
    "multiset": "a world is a data set without an order of its rows",
    "ordered": "a world is a data set with its rows in order",
    "population": "a world says which people of a public list are in the data, with what the list leaves open",
    "assigned": "a world says for every published group which rows it has, in order inside the group",
}


@dataclass(frozen=True, eq=False)
class Context:
    """What stands around the findings of an audit: when and how it was made, and what was asked beside it.

    `made`: see `made`. `assessment`: the policy's answer (None: there was no policy). `remedies`: what would help,
    `adds`: what the release adds to earlier ones (None: not asked), `versions`: what it and those of another version of
    its data say of who left and came (None: there are none), `adversary`: what is left for one (None: not asked).
    `limits` and `seed` are those of the audit.
    """

    made: Mapping[str, Any] = field(default_factory=dict)
    assessment: PolicyAssessment | None = None
    remedies: Sequence[Mapping[str, Any]] | None = None
    adds: Mapping[str, Any] | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    versions: VersionComparison | None = None
    adversary: AdversaryAudit | None = None


def build_metadata(command: str | None, seconds: float) -> dict[str, Any]:
    """Return when, with which version and command a report was made, in how many seconds.

    The date is UTC to the second; `SOURCE_DATE_EPOCH` (seconds since 1970) stands in for the clock where it is set, so
    that reports can be made again byte for byte: it stands still, and nothing took any time.
    """
    given = date_given()
    now = datetime.now(UTC) if given is None else datetime.fromtimestamp(given, UTC)
    return {
        "recon": PROGRAM,
        "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": command,
        "seconds": seconds_said(seconds),
        "python": platform.python_version(),
    }


def limits_json(limits: Limits) -> dict[str, Any]:
    """Return the limits of an audit: seconds (null: none), bytes of memory, live cells, processes, and what they cut.

    `cut_short`: the stages that the clock cut (null: none did), see `recon plan`.
    """
    return {
        "seconds": limits.seconds,
        "memory": limits.memory,
        "cells": limits.cells,
        "workers": limits.workers,
        "cluster": limits.cluster,
        "cut_short": list(limits.stages_cut()) or None,
    }


def limits_line(limits: Limits) -> str:
    """Return the same for people, of commands that have a time limit where none is given."""
    time = "no time limit" if limits.seconds is None else f"at most {limits.seconds:g} s (--time)"
    return "; ".join((f"limits: {time}, {limits.memory >> 20:,} MB (--memory)", *limits.cut_short()))


def audited(release: EncodedRelease) -> dict[str, Any]:
    """Return what was audited: every file with its hash, the kinds of its models, rows, attributes, the label."""
    files = release.files or ((release.file,) if release.file else ())
    hashes = release.hashes or ((release.sha256,) if len(files) == 1 else (None,) * len(files))
    kinds = list(dict.fromkeys(model.kind.replace("_", " ") for model in release.models))
    formats = list(dict.fromkeys(m.origin.format for m in release.models if m.origin is not None and m.origin.format))
    same = {"kind": ", ".join(kinds), "format": ", ".join(formats) or "release file"}
    return {
        "files": [{"file": f, "sha256": h or None, **same} for f, h in zip(files, hashes, strict=False)],
        "rows": [release.rows.low, release.rows.high],
        "attributes": len(release.domain.all),
        "columns": len(release.domain.attributes),
        "label": None if release.domain.label is None else release.domain.label.name,
        "kinds_of_counts": list(dict.fromkeys(kind for model in release.models for kind in kinds_of(model))),
    }


def audited_files(found: Sequence[Inspection]) -> dict[str, Any]:
    """Return what was audited where no counts could be read: files with their hashes and formats."""
    files = [
        {"file": one.file, "sha256": one.sha256 or None, "kind": "not counted", "format": one.format} for one in found
    ]
    rows = next((one.rows for one in found if one.rows is not None), None)
    everybody = None if rows is None else [rows, rows]
    return {
        "files": files,
        "rows": everybody,
        "attributes": None,
        "columns": None,
        "label": None,
        "kinds_of_counts": [],
    }


def how(found: AuditFindings, context: Context) -> dict[str, Any]:
    """Return how the figures were computed: conventions, what is exact and by which engine, limits, certificates."""
    m = found.measures
    used = list(dict.fromkeys(("multiset", m.convention)))
    numbers = [[f"training sets that agree ({m.convention})", m.status, m.counted.engine]]
    if m.datasets is not None and m.convention != "multiset":
        numbers.append(["the same without the order of rows (multiset)", m.datasets.status, m.datasets.engine])
    numbers.append(["people fully known, bits left of the most exposed", m.figures, m.counted.engine])
    if found.positions is not None:
        numbers.append(["what is proved by position", found.positions.status, "assignments"])
    numbers += [[f"what leaf values reveal: {one.name}", one.status, "leaf values"] for one in found.determined]
    if found.intervals.cells:
        tight = all(cell.tight for cell in found.intervals.cells)
        numbers.append(["feasible intervals of suppressed cells", "exact" if tight else "bounds", m.counted.engine])
    if found.together is not None:
        numbers += [[what, status, "groups of cells"] for what, status in proofs(found.release, found.together)]
    engines = [list(line.partition(": ")[::2]) for line in m.counted.trail if not line.startswith(CUT)]
    return {
        "conventions": [[name, CONVENTIONS[name]] for name in used],
        "numbers": [[what, status, engine or "by hand"] for what, status, engine in numbers],
        "engines": engines,
        "limits": dict(context.limits),
        "seed": context.seed,
        "certificates": _certificates(found),
        "seconds": context.made.get("seconds"),
    }


def _certificates(found: AuditFindings) -> list[dict[str, Any]]:
    """Return the certificates in the document: what each is about, its seal, and the command that re-checks it."""
    files = [one for one in (found.release.files or (found.release.file,)) if one]
    command = suggestion("verify", ["RESULT.json", *files])
    out = []
    if found.certificate is not None:
        about = "there is no possible world" if found.measures.status == "unsat" else "there is no other possible world"
        out.append({"about": about, "certificate": found.certificate.get("seal"), "command": command})
    rows = [] if found.profiles is None else found.profiles["rows"]
    for one in rows:
        if one.get("certificate"):
            about = f"profile {one['position']}: {one['verdict']}"
            out.append({"about": about, "certificate": one["certificate"], "command": command})
    return out


def confidential(facts: Mapping[str, Any], found: AuditFindings | None) -> str | None:
    """Return why the document describes single people, None where it does not."""
    reasons = []
    if _is_positive(facts.get("pinned")):
        reasons.append("it describes people whose every value is known")
    smallest = facts.get("smallest_group")
    if smallest is not None and smallest[0] == 1:
        reasons.append(f"it {'describes' if smallest[1] == 1 else 'may describe'} groups of one person")
    if any(one["level"] in {"critical", "high"} for one in facts.get("stored") or ()):
        reasons.append("it says where single training rows are stored in the file")
    if found is not None and (found.profiles is not None or found.persons is not None):
        reasons.append("it has verdicts or figures on single people")
    if found is not None and (found.positions is not None or found.truth is not None):
        reasons.append("it says what is proved about single rows")
    return "; ".join(reasons) or None


def _is_positive(ends: Sequence[Any] | None) -> bool:
    """Return whether a figure is surely above 0."""
    return ends is not None and bool(ends[0])


def plain_json(value: Any) -> Any:
    """Return a value as JSON holds it: numpy's numbers as Python's, infinities and NaN as null."""
    if isinstance(value, Mapping):
        return {str(key): plain_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(one) for one in value]
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
