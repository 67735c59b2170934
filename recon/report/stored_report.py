"""The report on files whose training rows stand in them: nothing has to be worked out, so that comes first.

A model of neighbours, support vectors or a Gaussian process publishes no counts that could be audited, but it is the
worst file to hand on. `recon audit` ends with this report then, and with exit code 0: the question is answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from recon.io.console.suggesting import suggestion
from recon.readers.inspection.findings.findings import Finding
from recon.readers.inspection.findings.severity import ROWS, is_counting
from recon.readers.inspection.inspecting import Inspection, inspect
from recon.release.auditing.facts import nothing_known
from recon.report.audited import AuditReport, around
from recon.report.document.making import Context, audited_files
from recon.report.rendering import DIGITS, Sections
from solvers.foundation.errors import ReconError, ReleaseError, Unsupported
from solvers.foundation.limits import Limits

if TYPE_CHECKING:
    from recon.release.policies.policy import Policy

GRAVE = ("critical", "high")


@dataclass(frozen=True)
class StoredReport(AuditReport):
    """What files store outright where nothing else can be audited; `why` says why not.

    `to_json`, `to_markdown`, `to_html` and `to_text` show the same.
    """

    inspected: tuple[Inspection, ...]
    why: str
    context: Context = field(default_factory=Context)

    @property
    def about(self) -> str:
        """Return the first file."""
        return self.inspected[0].file

    @property
    def status(self) -> str:
        """Return "stored": the answer is in the files themselves."""
        return "stored"

    @property
    def verdict(self) -> list[str]:
        """Return the first lines: that rows are stored, how many and where, of every file."""
        return [line for one in self.inspected for line in verdict_lines(one)]

    @property
    def facts(self) -> Mapping[str, Any]:
        """Return what policies look at: what the files store."""
        return nothing_known(self.inspected, f"worlds were not counted: {self.why}").to_json()

    def audited(self) -> dict[str, Any]:
        """Return what was audited: files, hashes, formats."""
        return audited_files(self.inspected)

    def own(self, digits: int = DIGITS) -> dict[str, Any]:
        """Return what only this kind of report has in its document; there are no long numbers in it."""
        return {
            "file": self.inspected[0].file,
            "status": self.status,
            "verdict": self.verdict,
            "rows": self.inspected[0].rows,
            "rows_stored": [rows_stored(one) for one in self.inspected],
            "labels_stored": [bool(labels_of(one)) for one in self.inspected],
            "not_counted": self.why,
            "stored": [one.to_json() for one in self.inspected],
        }

    def sections(self) -> Sections:
        """Return the report's sections as titles and lines."""
        outright = any(one.level == "critical" for file in self.inspected for one in file.findings)
        title = "The training data is stored outright" if outright else "Single training rows are stored in part"
        lines = [line for one in self.inspected for line in finding_lines(one, len(self.inspected) > 1)]
        rest = [
            f"worlds were not counted: {self.why}",
            "who has the file has what is listed above: there is no uncertainty left to measure in it",
        ]
        return [(title, self.verdict), ("What the file stores, without any attack", lines), ("What was not done", rest)]


def verdict_lines(one: Inspection) -> list[str]:
    """Return how many rows a file stores, and in which part of it."""
    held = [f for f in one.findings if f.level == "critical" and f.rule in ROWS]
    labels, rows = labels_of(one), rows_stored(one)
    of = "" if one.rows is None else f" of {one.rows:,}"
    lines = []
    if held:
        places = ", ".join(dict.fromkeys(f.path for f in held[:4]))
        count = "training rows" if rows is None else f"{rows:,}{of} training rows"
        lines.append(f"{one.file}: {count} stand in the file as they are: {places}")
    if labels:
        places = ", ".join(dict.fromkeys(f.path for f in labels[:4]))
        lines.append(f"{one.file}: labels of training rows stand in the file: {places}")
    if not lines:
        places = ", ".join(dict.fromkeys(f.path for f in one.findings if f.level == "high"))
        text = f"figures on single training rows stand in the file: {places}" if places else "nothing of single rows"
        lines.append(f"{one.file}: {text}")
    return lines if not held else [*lines, f"{one.file}: do not hand it on: release a model that does not keep rows"]


def rows_stored(one: Inspection) -> int | None:
    """Return how many training rows a file stores: the most that one part of it holds; 0 for none, None: not known."""
    held = [f for f in one.findings if f.level == "critical" and f.rule in ROWS]
    if not held:
        return 0
    return max((f.entries for f in held if f.entries is not None), default=None)


def labels_of(one: Inspection) -> list[Finding]:
    """Return the findings that are labels of training rows."""
    return [f for f in one.findings if f.level == "critical" and f.rule not in ROWS]


def finding_lines(one: Inspection, several: bool) -> list[str]:
    """Return a file's findings, the worst first, and where all of them are listed."""
    before = f"{one.file}: " if several else ""
    if one.format.startswith("not inspected"):
        return [f"{one.file}: {one.format}"]
    grave = [f for f in one.findings if f.level in (*GRAVE, "unknown")]
    lines = [f"{before}{f.level}: {f.path}: {f.what}: {f.follows}; remedy: {f.remove}" for f in grave]
    return [*lines, f"{suggestion('inspect', [one.file])} lists everything"]


def stored_report(files: Sequence[str], error: ReconError, limits: Limits) -> StoredReport | None:
    """Return the report on files that could not be read as counts; None where nothing of single rows is in them.

    `error` says why they could not be read.
    """
    found: list[Inspection] = []
    for file in files:
        try:
            if file == "-":
                raise Unsupported("standard input can be read once: save it and run recon inspect")
            found.append(inspect(file, limits.memory, limits))
        except (ReleaseError, Unsupported) as other:
            found.append(Inspection(file, f"not inspected: {other}", "", None, ()))
    found.sort(key=lambda one: not any(f.level == "critical" for f in one.findings))
    findings = [f for one in found for f in one.findings]
    outright = any(f.level == "critical" for f in findings)
    counted = any(is_counting(f.rule) for f in findings)  # then something else is wrong: a domain that does not fit
    if not outright and (counted or not any(f.level == "high" for f in findings)):
        return None
    return StoredReport(tuple(found), str(error))


def stored_instead(
    files: list[str], error: ReconError, limits: Limits, policy: Policy | None, command: str | None
) -> StoredReport:
    """Return the report on files whose rows stand in them, with what the policy says; raises `error` for others."""
    report = stored_report(files, error, limits)
    if report is None:
        raise error
    return replace(report, context=around(report.facts, policy, limits, command))
