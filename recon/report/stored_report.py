"""The report on files whose training rows stand in them: nothing has to be worked out, so that comes first.

A model of neighbours, support vectors or a Gaussian process publishes no counts that could be audited, but it is the
worst file to hand on. `recon audit` ends with this report then, and with exit code 0: the question is answered.

What all audits' reports share: one JSON document, and every format a function of it.

The report on what a release states and its files store: where the number of rows is open, or that is enough.

The parts of the report's document that say what was audited, when, with which command, and how it was computed.
"""

from __future__ import annotations

import math
import platform
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from encoders.encode.encoder import EncodedRelease
from encoders.models.models import kinds_of
from recon.io.console.guarding import suggestion
from recon.io.console.output import date_given, json_text, seconds_said
from recon.io.console.version import VERSION as PROGRAM
from recon.io.files.opening import used_up
from recon.readers.formats.drafts.drafts import not_assessed_lines
from recon.readers.inspection.findings.findings import ROWS, Finding, is_counting
from recon.readers.inspection.inspecting import Inspection, inspect
from recon.readers.loading.settled import as_released, strengthened_release
from recon.release.auditing.auditing import stored_outright
from recon.release.auditing.facts import ROWS_UNSAID, nothing_known, open_facts
from recon.release.auditing.findings import AuditFindings
from recon.release.auditing.together import JointDisclosure, judged_by_programs, judged_together, proofs
from recon.release.policies.assessing import assess
from recon.release.policies.facts import FactTable, KnownFigure, UnknownFigure
from recon.release.policies.policy import Policy
from recon.release.policies.rules import RULES
from recon.report.wording.headline import (
    DIGITS,
    Rendered,
    Sections,
    provenance_json,
    provenance_lines,
    stored_lines,
    understood_sections,
)
from solvers.foundation.errors import ReconError, ReleaseError, Unsupported
from solvers.foundation.limits import CUT, Limits
from solvers.statements.release import UNBOUNDED, Partition

if TYPE_CHECKING:
    from recon.release.auditing.beside import AdversaryAudit
    from recon.release.auditing.findings import AuditFindings
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
    """Return them for people, of commands that have a time limit where none is given; what they cut is said before."""
    time = "no time limit" if limits.seconds is None else f"at most {limits.seconds:g} s (--time)"
    return f"limits: {time}, {limits.memory >> 20:,} MB (--memory)"


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


class AuditReport(Rendered):
    """The report of an audit: `to_dict` is its document, from which pages, Markdown, text, SARIF and JUnit are made."""

    context: Context

    @property
    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """Return what policies look at; see `recon.release.auditing.facts`."""

    @abstractmethod
    def own(self, digits: int = DIGITS) -> dict[str, Any]:
        """Return what only this kind of report has in its document."""

    @abstractmethod
    def sections(self) -> Sections:
        """Return the findings in words as titles and lines; one that begins with a blank belongs to the one before."""

    @abstractmethod
    def audited(self) -> dict[str, Any]:
        """Return what was audited: files, hashes, kinds, rows, attributes."""

    @property
    def found(self) -> AuditFindings | None:
        """Return the findings, None where nothing was counted."""
        return None

    @property
    def assessment(self) -> PolicyAssessment | None:
        """Return what the policy says, None where there was none."""
        return self.context.assessment

    def to_dict(self, digits: int = DIGITS) -> dict[str, Any]:
        """Return the document, ready for JSON: `recon schema report` says what it holds."""
        told = self.assessment
        common = {
            "audit": VERSION,
            "title": self.title,
            "made": dict(self.context.made),
            "audited": self.audited(),
            "facts": dict(self.facts),
            "assessment": None if told is None else told.to_json(),
            "confidential": confidential(self.facts, self.found),
            "remedies": None if self.context.remedies is None else [dict(one) for one in self.context.remedies],
            "adds": None if self.context.adds is None else dict(self.context.adds),
            "versions": None if self.context.versions is None else self.context.versions.to_json(),
            "adversary": None if self.context.adversary is None else self.context.adversary.to_json(),
            "sections": [[title, list(lines)] for title, lines in self.sections()],
        }
        found: dict[str, Any] = plain_json({**self.own(digits), **common})
        return found

    def formatted(self, form: str, digits: int = DIGITS) -> str:
        """Return the document as html, md, json, sarif or junit; as text for any other `form`."""
        return rendered(self.to_dict(digits), form)


def _report_context(facts: Mapping[str, Any], policy: Policy | None, limits: Limits, command: str | None) -> Context:
    """Return what stands around findings that are not counted: when they were made, and what a policy says."""
    from recon.release.policies.assessing import assess

    told = None if policy is None else assess(facts, policy)
    return Context(build_metadata(command, limits.elapsed()), told, limits=limits_json(limits))


def rendered(document: Mapping[str, Any], form: str) -> str:
    """Return a document as html, md, json, sarif or junit; as text for any other `form`. Deterministic."""
    return _formats().get(form, _formats()["txt"])(document)


def _formats() -> dict[str, Callable[[Mapping[str, Any]], str]]:
    """Return what makes every format, imported when it is asked for."""
    from recon.report.page.renderers import markdown_page, page, text_page
    from recon.report.sarif import junit, sarif

    return {"html": page, "md": markdown_page, "txt": text_page, "json": json_text, "sarif": sarif, "junit": junit}


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
        return [line for one in self.inspected for line in _verdict_lines(one)]

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
            "labels_stored": [bool(_labels_of(one)) for one in self.inspected],
            "not_counted": self.why,
            "stored": [one.to_json() for one in self.inspected],
        }

    def sections(self) -> Sections:
        """Return the report's sections as titles and lines."""
        outright = any(one.level == "critical" for file in self.inspected for one in file.findings)
        title = "The training data is stored outright" if outright else "Single training rows are stored in part"
        lines = [line for one in self.inspected for line in _finding_lines(one, len(self.inspected) > 1)]
        rest = [
            f"worlds were not counted: {self.why}",
            "anyone who has the file has what is listed above: there is no uncertainty left to measure",
        ]
        return [(title, self.verdict), ("What the file stores, without any attack", lines), ("What was not done", rest)]


def _verdict_lines(one: Inspection) -> list[str]:
    """Return how many rows a file stores, and in which part of it."""
    held = [f for f in one.findings if f.level == "critical" and f.rule in ROWS]
    labels, rows = _labels_of(one), rows_stored(one)
    of = "" if one.rows is None else f" of {one.rows:,}"
    lines = []
    if held:
        places = ", ".join(dict.fromkeys(f.path for f in held[:4]))
        count = "training rows" if rows is None else f"{rows:,}{of} training rows"
        lines.append(f"{one.file}: {count} are stored in the file unchanged: {places}")
    if labels:
        places = ", ".join(dict.fromkeys(f.path for f in labels[:4]))
        lines.append(f"{one.file}: labels of training rows are stored in the file: {places}")
    if not lines:
        places = ", ".join(dict.fromkeys(f.path for f in one.findings if f.level == "high"))
        text = (
            f"figures on single training rows are stored in the file: {places}" if places else "nothing of single rows"
        )
        lines.append(f"{one.file}: {text}")
    return lines if not held else [*lines, f"{one.file}: do not hand it on: release a model that does not keep rows"]


def rows_stored(one: Inspection) -> int | None:
    """Return how many training rows a file stores: the most that one part of it holds; 0 for none, None: not known."""
    held = [f for f in one.findings if f.level == "critical" and f.rule in ROWS]
    if not held:
        return 0
    return max((f.entries for f in held if f.entries is not None), default=None)


def _labels_of(one: Inspection) -> list[Finding]:
    """Return the findings that are labels of training rows."""
    return [f for f in one.findings if f.level == "critical" and f.rule not in ROWS]


def _finding_lines(one: Inspection, several: bool) -> list[str]:
    """Return a file's findings, the worst first, and where all of them are listed."""
    before = f"{one.file}: " if several else ""
    if one.format.startswith("not inspected"):
        return [f"{one.file}: {one.format}"]
    grave = [f for f in one.findings if f.level in (*GRAVE, "unknown")]
    lines = [f"{before}{f.level}: {f.path}: {f.what}: {f.follows}; remedy: {f.remove}" for f in grave]
    return [*lines, f"{suggestion('inspect', [one.file])} lists everything"]


def _stored_report(files: Sequence[str], error: ReconError, limits: Limits) -> StoredReport | None:
    """Return the report on files that could not be read as counts; None where nothing of single rows is in them.

    `error` says why they could not be read.
    """
    found: list[Inspection] = []
    for file in files:
        try:
            if used_up(file):
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
    report = _stored_report(files, error, limits)
    if report is None:
        raise error
    return replace(report, context=_report_context(report.facts, policy, limits, command))


FACTS_SHOWN = 40
LOOKED_AT = 10_000  # statements
ENOUGH = UnknownFigure(
    "what is published violates the policy already, so the gate did not work it out: recon audit does", "audit"
)
NOT_ASKED = UnknownFigure("the policy does not ask for it, so the gate did not work it out: recon audit does", "audit")


@dataclass(frozen=True)
class ReleaseFacts(AuditReport):
    """What a release states, one line each; `together`: what follows, `unknown`: why nothing else was worked out."""

    release: EncodedRelease
    stored: tuple[Inspection, ...]
    unknown: UnknownFigure = ROWS_UNSAID
    together: JointDisclosure | None = None
    context: Context = field(default_factory=Context)

    @property
    def about(self) -> str:
        """Return the file."""
        return self.release.file

    @property
    def status(self) -> str:
        """Return "unbounded" where the number of rows is, so that worlds cannot be counted; else "bounds"."""
        return "unbounded" if self.release.rows.high is None else "bounds"

    @property
    def title(self) -> str:
        """Return the title."""
        return f"Facts of {self.about or 'a release'}"

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """Return what policies look at: groups that were counted; nothing else can be."""
        return open_facts(self.release, self.stored, self.unknown, self.together).to_json()

    def audited(self) -> dict[str, Any]:
        """Return what was audited: files, hashes, kinds, rows, attributes."""
        return audited(self.release)

    def own(self, digits: int = DIGITS) -> dict[str, Any]:
        """Return what only this kind of report has in its document; there are no long numbers in it."""
        return {
            "file": self.about,
            "status": self.status,
            "not_assessed": not_assessed_lines(self.release),
            "stored": [one.to_json() for one in self.stored],
            "read_from": provenance_json(self.release),
            "statements": _facts(self.release),
            "assumptions": list(self.release.assumptions),
        }

    def sections(self) -> Sections:
        """Return the sections as titles and lines; empty ones are left out."""
        stored = [line for one in self.stored for line in stored_lines(one)]
        follows = [] if self.together is None else [text for text, _ in proofs(self.release, self.together)]
        sections = [
            *understood_sections(self.release),
            ("NOT ASSESSED", not_assessed_lines(self.release)),
            ("What the file stores outright, without any attack", stored),
            ("What the counts are", provenance_lines(self.release)),
            ("What is said about the training rows", _facts(self.release)),
            ("What follows", follows),
            ("What was not worked out", [self.unknown.why]),
            ("This assumes", list(self.release.assumptions)),
        ]  # fmt: skip
        return [(title, lines) for title, lines in sections if lines]


def open_report(release: EncodedRelease, policy: Policy | None, limits: Limits, command: str | None) -> ReleaseFacts:
    """Return the report on a release whose number of rows is open, with what a policy says."""
    found = ReleaseFacts(release, stored_outright(release, limits))
    return replace(found, context=_report_context(found.facts, policy, limits, command))


def settled_early(release: EncodedRelease, policy: Policy, limits: Limits) -> ReleaseFacts | None:
    """Return the report on a release of several models whose counts settle a policy; None where they do not.

    First every count by itself, then all of them together. A violation that is proved stays one, whatever else is
    found, and where all is met and nobody is pinned down nothing else is asked: so no more is worked out. What leaf
    values prove without lattices comes before what takes these. Noisy counts settle nothing here. Cost: linear in the
    counts, and that of `judged_together`.
    """
    if release.noisy:
        return None
    if release.statements.boosted and as_released(release) is release:
        soon = strengthened_release(release, limits, lattices=False)
        together = judged_by_programs(soon, policy.values, limits)
        if _violated(open_facts(soon, (), ENOUGH, together), policy):
            found = ReleaseFacts(soon, stored_outright(soon, limits), ENOUGH, together)
            return replace(found, context=_report_context(found.facts, policy, limits, None))
    release = strengthened_release(release, limits)
    statements = release.statements
    if statements.single is not None:
        return None
    if _violated(open_facts(release, (), ENOUGH), policy):
        found = ReleaseFacts(release, stored_outright(release, limits), ENOUGH)
    elif statements.loosened or statements.bags:
        return None
    else:
        together = judged_together(release, policy.values, limits, early=True)
        found = ReleaseFacts(release, stored_outright(release, limits), NOT_ASKED, together)
        pinned = open_facts(release, found.stored, NOT_ASKED, together)["pinned"]
        known = isinstance(pinned, KnownFigure) and pinned.high == 0 and assess(found.facts, policy).outcome == "met"
        if _violated(open_facts(release, (), ENOUGH, together), policy):
            found = replace(found, unknown=ENOUGH)
        elif not known:
            return None
    return replace(found, context=_report_context(found.facts, policy, limits, None))


def _violated(facts: FactTable, policy: Policy) -> bool:
    """Return whether figures of the worlds violate a policy, whatever else is found."""
    checks = assess(facts, policy).checks
    return any(one.said.outcome == "violated" for one in checks if RULES[one.rule].of_worlds)


def _statement_rows(release: EncodedRelease) -> Iterator[tuple[str, tuple[int, int] | None]]:
    """Yield the source of every statement and the least and most rows of its region, None where it has none.

    A region of a list is its box without all boxes before: of a partition no regions are built.
    """
    for block in release.statements.blocks:
        if isinstance(block, Partition):
            for s, (low, high) in enumerate(zip(block.low.tolist(), block.high.tolist(), strict=True)):
                yield block.source(s), (low, high)
        else:
            for s in range(len(block)):
                one = block.statement(s, release.statements.domain)
                yield one.source, None if one.region is None else (one.low, one.high)


def _facts(release: EncodedRelease) -> list[str]:
    """Return the statements in words, at most `FACTS_SHOWN` of the first `LOOKED_AT`."""
    found: dict[str, None] = {}
    rest = max(0, sum(len(block) for block in release.statements.blocks) - LOOKED_AT)
    more = 0
    for source, interval in islice(_statement_rows(release), LOOKED_AT):
        low, high = interval or (0, 0)
        upper = "" if high >= UNBOUNDED else f", at most {high}"
        noun = "row" if low == 1 else "rows"
        rows = f"exactly {low} {noun}" if low == high else f"at least {low} {noun}{upper}"
        line = source if interval is None else f"{source}: {rows}"
        if line in found or (interval is not None and low <= 0 and high >= UNBOUNDED):
            continue
        if len(found) < FACTS_SHOWN:
            found[line] = None
        else:
            more += 1
    upper = "up to " if rest else ""
    return [*found, *([f"and {upper}{more + rest:,} more"] if more + rest else [])]
