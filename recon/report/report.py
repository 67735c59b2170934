"""The report: what an audit found as one JSON document and as sections in words; asks nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from recon.certificates.assumed import contradicted
from recon.certificates.certificate_format import certified_lines
from recon.queries.leaf_values.wording import audit_json as leaf_value_json
from recon.queries.leaf_values.wording import audit_lines as leaf_value_lines
from recon.queries.located.wording import audit_json, audit_lines
from recon.queries.measures.exposed import curve_points, exposed_groups, exposed_in_all
from recon.readers.formats.drafts.suggesting import not_assessed_json, not_assessed_lines
from recon.release.auditing.facts import facts_of
from recon.release.auditing.findings import AuditFindings
from recon.report.audited import AuditReport
from recon.report.document.drawing import drawing
from recon.report.document.making import Context, audited, how
from recon.report.rendering import DIGITS, Sections
from recon.report.wording.counts import count_json
from recon.report.wording.group_report import exposure_lines, group_json, group_lines, interval_lines
from recon.report.wording.headline import (
    headline_json,
    headline_lines,
    worlds_lines,
)
from recon.report.wording.noise_report import bought_json, empty_json, empty_sections, noise_lines
from recon.report.wording.provenance import assumption_lines, doubts, provenance_json, provenance_lines, stored_lines
from recon.report.wording.truth import truth_json, truth_lines
from solvers.foundation.display.displayed import NAME, Displayed, DisplayFacts
from solvers.foundation.escaping import named
from solvers.foundation.exact import level_text

if TYPE_CHECKING:
    import pandas as pd

    from solvers.foundation.display.plots import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Report(Displayed, AuditReport):
    """A finished audit; `to_json`, `to_markdown`, `to_html` and `to_text` show the same figures.

    `context`: when and how it was made, and what a policy says.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier().fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> report = recon.audit(release)
    >>> print(report.to_text().splitlines()[0])
    Audit of a release
    >>> report.to_markdown().splitlines()[0]
    '# Audit of a release'
    """

    findings: AuditFindings
    context: Context = field(default_factory=Context)

    @property
    def found(self) -> AuditFindings:
        """Return the findings."""
        return self.findings

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """Return what policies look at; see `recon.release.auditing.facts`."""
        found = facts_of(self.findings)
        if self.status == "unsat":  # also together with earlier releases: then no figure of this one alone counts
            found = replace(found, status="unsat")
        together = (self.context.adds or {}).get("differences")
        return (found.with_groups("smallest_group", together) if together else found).to_json()

    def audited(self) -> dict[str, Any]:
        """Return what was audited: files, hashes, kinds, rows, attributes."""
        return audited(self.findings.release)

    @property
    def about(self) -> str:
        """Return the file of the release."""
        return self.findings.release.file

    @property
    def status(self) -> str:
        """Return exact, bounds, unsat, or empty: at the confidence asked for, no dataset fits the noisy counts."""
        if self.context.adds is not None and self.context.adds["after"]["status"] == "unsat":
            return "unsat"  # with the earlier releases, even where this one alone has worlds
        return self.findings.measures.status if self.findings.empty is None else "empty"

    def _facts(self) -> DisplayFacts:
        found = self.findings
        measured, stored = found.measures._facts(), [one for each in found.stored for one in each.findings]
        smallest = found.groups.smallest
        pairs = [
            ("file", found.release.file), ("SHA-256", found.release.sha256), ("status", self.status),
            *(pair for pair in measured.pairs if pair[0] != "status"),
            ("smallest published group", smallest), ("findings stored in the file", len(stored) or None),
        ]  # fmt: skip
        line = f"audit of {named(self.about or 'a release', NAME)}: {measured.line}"
        more = "to_text(), to_html(), to_markdown() and to_json() give the whole report; to_frame(), plot()"
        return DisplayFacts(line, pairs, notes=found.release.assumptions, more=more)

    def to_frame(self) -> pd.DataFrame:
        """Return the figures as one line, so that reports make a table: file, and those of `Measures.to_frame`."""
        frame = self.findings.measures.to_frame()
        frame["status"] = self.status
        frame.insert(0, "file", self.about)
        return frame

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return axes with how exposed rows are, see `Measures.plot`."""
        return self.findings.measures.plot(ax)

    def own(self, digits: int = DIGITS) -> dict[str, Any]:
        """Return what only this kind of report has in its document."""
        found = self.findings
        head = {"file": found.release.file, "read_from": provenance_json(found.release)}
        if found.empty is not None:
            return head | empty_json(found.empty)
        leaf_values = found.determined, found.determined_truth, found.remedies
        out = {
            **head,
            **({} if found.positions is None else {"positions": audit_json(found.positions, found.positions_truth)}),
            **({"leaf_values": leaf_value_json(*leaf_values)} if found.determined else {}),
            **({} if found.learner_rule is None else {"learner_rule": dict(found.learner_rule)}),
            "without_row_order": headline_json(found.measures, digits),
            "not_assessed": not_assessed_json(found.release),
            **count_json(found.release, found.measures, digits),
            "group_disclosure": group_json(found.groups),
            "interval_cells": [cell.to_json() for cell in found.intervals.cells],
            "interval_cells_recovered": found.intervals.recovered,
            "interval_cells_left_out": found.intervals.left_out,
        }
        if found.stored:
            out["stored"] = [one.to_json() for one in found.stored]
        if found.truth is not None:
            out["truth"] = truth_json(found.truth)
        if found.bought is not None:
            out["without_noise"] = bought_json(found.bought)
        if found.certificate is not None:
            out["certificate"] = found.certificate
        out["how"] = how(found, self.context)
        return out | exposure_json(found)

    def sections(self) -> Sections:
        """Return the report's sections as titles and lines."""
        found = self.findings
        if found.empty is not None:
            return empty_sections(found.empty)
        if found.measures.status == "unsat":
            conflict = [*found.measures.counted.conflict, *certified_lines(found.certificate), *doubts(found.release)]
            why = contradicted(found.release)
            conflict = [*([f"then {why}"] if why else []), *conflict]
            return [("No possible world: the statements contradict each other", conflict)]
        noise, certain = noise_lines(found.release, found.measures, found.bought), found.release.certain
        level = (
            ""
            if certain
            else f", at confidence {level_text(found.release.confidence)} (rows: at least; never for certain)"
        )
        at = "" if certain else f", at confidence {level_text(found.release.confidence)}"
        lines = headline_lines(found.measures)
        first = lines or worlds_lines(found.measures)
        unassessed, hidden = not_assessed_lines(found.release), interval_lines(found.intervals)
        stored = [line for one in found.stored for line in stored_lines(one)]
        leaves = leaf_value_lines(found.determined, found.determined_truth, found.remedies)
        located = [] if found.positions is None else audit_lines(found.positions, found.positions_truth)
        out = [
            *([("What this file gives back, by position in the training file", located)] if located else []),
            *([("What the leaf values give back", leaves)] if leaves else []),
            *([("NOT ASSESSED", unassessed)] if unassessed else []),
            *([("What the file stores outright, without any attack", stored)] if stored else []),
            ("What an adversary is left with" + at, [*first, *certified_lines(found.certificate)]),
            *([("What the noise leaves", noise)] if noise else []),
            *learner_section(found),
            *([("The same counted otherwise", worlds_lines(found.measures, stated=True))] if lines else []),
            ("Who is most exposed" + level, exposure_lines(found.measures)),
            *([("Suppressed and interval cells: what they can still be" + at, hidden)] if hidden else []),
            ("What the counts say without any reconstruction" + level, group_lines(found)),
        ]
        if found.truth is not None:
            out.append(("The true rows", truth_lines(found.truth)))
        out.append(("What the counts are", provenance_lines(found.release)))
        return [*out, ("This assumes", assumption_lines(found.release))]


def learner_section(found: AuditFindings) -> Sections:
    """Return the section on what knowing the learner adds; none where nobody asked."""
    return [] if found.learner_rule is None else [("What knowing the learner adds", list(found.learner_rule["lines"]))]


def exposure_json(found: AuditFindings) -> dict[str, Any]:
    """Return who is exposed and where, for tables and charts: groups, curve, attributes, the model drawn, persons."""
    m = found.measures
    if m.status == "unsat":
        return {}
    return {
        "exposed": exposed_groups(m),
        "exposed_in_all": exposed_in_all(m),
        "curve": curve_points(m),
        "attribute_bits": list(found.attribute_bits),
        "forced": found.forced,
        "drawing": drawing(found.release, m),
        "profiles": found.profiles,
        "persons": found.persons,
    }
