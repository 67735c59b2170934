"""The report on a release whose number of rows is open: what it states, and what its files store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from encoders.encode.encoder import EncodedRelease
from recon.auditing.auditing import stored_outright
from recon.auditing.facts import open_facts
from recon.formats.drafts.suggesting import not_assessed_lines
from recon.inspection.inspecting import Inspection
from recon.policies.policy import Policy
from recon.report.audited import Audited, around
from recon.report.document.making import Context, audited
from recon.report.rendering import DIGITS, Sections
from recon.report.wording.provenance import provenance_json, provenance_lines, stored_lines
from solvers.foundation.limits import Limits
from solvers.statements.release import UNBOUNDED

FACTS_SHOWN = 40


@dataclass(frozen=True)
class ReleaseFacts(Audited):
    """What can be said of a release whose number of rows is open: what it states, one line each."""

    release: EncodedRelease
    stored: tuple[Inspection, ...]
    context: Context = field(default_factory=Context)

    @property
    def about(self) -> str:
        """Return the file."""
        return self.release.file

    @property
    def status(self) -> str:
        """Return "unbounded": the number of rows is, so that worlds cannot be counted."""
        return "unbounded"

    @property
    def title(self) -> str:
        """Return the title."""
        return f"Facts of {self.about or 'a release'}"

    @property
    def facts(self) -> Mapping[str, Any]:
        """Return what policies look at: groups that were counted; nothing else can be."""
        return open_facts(self.release, self.stored).to_json()

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
            "statements": facts(self.release),
            "assumptions": list(self.release.assumptions),
        }

    def sections(self) -> Sections:
        """Return the sections as titles and lines; empty ones are left out."""
        stored = [line for one in self.stored for line in stored_lines(one)]
        sections = [
            ("NOT ASSESSED", not_assessed_lines(self.release)),
            ("What the file stores outright, without any attack", stored),
            ("What the counts are", provenance_lines(self.release)),
            ("What is said of the training rows (their number is not: --rows makes worlds countable)",
             facts(self.release)),
            ("This assumes", list(self.release.assumptions)),
        ]  # fmt: skip
        return [(title, lines) for title, lines in sections if lines]


def open_report(release: EncodedRelease, policy: Policy | None, limits: Limits, command: str | None) -> ReleaseFacts:
    """Return the report on a release whose number of rows is open, with what a policy says."""
    found = ReleaseFacts(release, stored_outright(release, limits))
    return replace(found, context=around(found.facts, policy, limits, command))


def facts(release: EncodedRelease) -> list[str]:
    """Return the statements in words, at most `FACTS_SHOWN` of them."""
    found: dict[str, None] = {}
    more = 0
    for statement in release.statements.statements():
        low, high = statement.low, statement.high
        upper = "" if high >= UNBOUNDED else f", at most {high}"
        noun = "row" if low == 1 else "rows"
        interval = f"exactly {low} {noun}" if low == high else f"at least {low} {noun}{upper}"
        line = statement.source if statement.of is not None else f"{statement.source}: {interval}"
        if line in found or (statement.of is None and low <= 0 and high >= UNBOUNDED):
            continue
        if len(found) < FACTS_SHOWN:
            found[line] = None
        else:
            more += 1
    return [*found, *([f"and {more} more"] if more else [])]
