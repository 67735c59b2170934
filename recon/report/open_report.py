"""The report on what a release states and its files store: where the number of rows is open, or that is enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any

from encoders.encode.encoder import EncodedRelease
from recon.readers.formats.drafts.suggesting import not_assessed_lines
from recon.readers.inspection.inspecting import Inspection
from recon.readers.loading.settled import as_released, settled_release
from recon.release.auditing.auditing import stored_outright
from recon.release.auditing.facts import ROWS_UNSAID, open_facts
from recon.release.auditing.together import Together, judged_by_programs, judged_together, proofs
from recon.release.policies.assessing import assess
from recon.release.policies.facts import FactTable, KnownFigure, UnknownFigure
from recon.release.policies.policy import Policy
from recon.release.policies.rules import RULES
from recon.report.audited import AuditReport, around
from recon.report.document.making import Context, audited
from recon.report.rendering import DIGITS, Sections
from recon.report.wording.provenance import provenance_json, provenance_lines, stored_lines
from solvers.foundation.limits import Limits
from solvers.statements.release import UNBOUNDED

FACTS_SHOWN = 40
LOOKED_AT = 10_000  # statements
ENOUGH = UnknownFigure(
    "what is published violates the policy already, so that the gate did not work it out: recon audit does", "audit"
)
NOT_ASKED = UnknownFigure(
    "the policy does not ask for it, so that the gate did not work it out: recon audit does", "audit"
)


@dataclass(frozen=True)
class ReleaseFacts(AuditReport):
    """What a release states, one line each; `together`: what follows, `unknown`: why nothing else was worked out."""

    release: EncodedRelease
    stored: tuple[Inspection, ...]
    unknown: UnknownFigure = ROWS_UNSAID
    together: Together | None = None
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
            "statements": facts(self.release),
            "assumptions": list(self.release.assumptions),
        }

    def sections(self) -> Sections:
        """Return the sections as titles and lines; empty ones are left out."""
        stored = [line for one in self.stored for line in stored_lines(one)]
        follows = [] if self.together is None else [text for text, _ in proofs(self.release, self.together)]
        sections = [
            ("NOT ASSESSED", not_assessed_lines(self.release)),
            ("What the file stores outright, without any attack", stored),
            ("What the counts are", provenance_lines(self.release)),
            ("What is said of the training rows", facts(self.release)),
            ("What follows", follows),
            ("What was not worked out", [self.unknown.why]),
            ("This assumes", list(self.release.assumptions)),
        ]  # fmt: skip
        return [(title, lines) for title, lines in sections if lines]


def open_report(release: EncodedRelease, policy: Policy | None, limits: Limits, command: str | None) -> ReleaseFacts:
    """Return the report on a release whose number of rows is open, with what a policy says."""
    found = ReleaseFacts(release, stored_outright(release, limits))
    return replace(found, context=around(found.facts, policy, limits, command))


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
        soon = settled_release(release, limits, lattices=False)
        together = judged_by_programs(soon, policy.values, limits)
        if violated(open_facts(soon, (), ENOUGH, together), policy):
            found = ReleaseFacts(soon, stored_outright(soon, limits), ENOUGH, together)
            return replace(found, context=around(found.facts, policy, limits, None))
    release = settled_release(release, limits)
    statements = release.statements
    if statements.single is not None:
        return None
    if violated(open_facts(release, (), ENOUGH), policy):
        found = ReleaseFacts(release, stored_outright(release, limits), ENOUGH)
    elif statements.loosened or statements.bags:
        return None
    else:
        together = judged_together(release, policy.values, limits, early=True)
        found = ReleaseFacts(release, stored_outright(release, limits), NOT_ASKED, together)
        pinned = open_facts(release, found.stored, NOT_ASKED, together)["pinned"]
        known = isinstance(pinned, KnownFigure) and pinned.high == 0 and assess(found.facts, policy).outcome == "met"
        if violated(open_facts(release, (), ENOUGH, together), policy):
            found = replace(found, unknown=ENOUGH)
        elif not known:
            return None
    return replace(found, context=around(found.facts, policy, limits, None))


def violated(facts: FactTable, policy: Policy) -> bool:
    """Return whether figures of the worlds violate a policy, whatever else is found."""
    checks = assess(facts, policy).checks
    return any(one.said.outcome == "violated" for one in checks if RULES[one.rule].of_worlds)


def facts(release: EncodedRelease) -> list[str]:
    """Return the statements in words, at most `FACTS_SHOWN` of the first `LOOKED_AT`."""
    found: dict[str, None] = {}
    rest = max(0, sum(len(block) for block in release.statements.blocks) - LOOKED_AT)
    more = 0
    for statement in islice(release.statements.statements(), LOOKED_AT):
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
    upper = "up to " if rest else ""
    return [*found, *([f"and {upper}{more + rest:,} more"] if more + rest else [])]
