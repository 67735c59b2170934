"""What all audits' reports share: one JSON document, and every format a function of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from recon.io.console.output import json_text
from recon.report.document.making import VERSION, Context, confidential, limits_json, made, plain_json
from recon.report.rendering import DIGITS, Rendered

if TYPE_CHECKING:
    from recon.release.auditing.findings import AuditFindings
    from recon.release.policies.assessing import PolicyAssessment
    from recon.release.policies.policy import Policy
    from solvers.foundation.limits import Limits


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
            "sections": [[title, list(lines)] for title, lines in self.sections()],
        }
        found: dict[str, Any] = plain_json({**self.own(digits), **common})
        return found

    def to_json(self, digits: int = DIGITS) -> str:
        """Return the document as JSON text, without NaN or Infinity."""
        return json_text(self.to_dict(digits))

    def to_markdown(self) -> str:
        """Return the report as Markdown."""
        return rendered(self.to_dict(), "md")

    def to_html(self) -> str:
        """Return the report as one self-contained page, without scripts, that prints well."""
        return rendered(self.to_dict(), "html")

    def to_text(self) -> str:
        """Return the report for a terminal."""
        return rendered(self.to_dict(), "txt")

    def written_as(self, suffix: str, digits: int = DIGITS) -> str:
        """Return the report in the format of a file's suffix (".html", ".md", ".json", ".sarif", ".xml"), else text."""
        document = self.to_dict(digits)
        return rendered(document, {".xml": "junit"}.get(suffix, suffix.removeprefix(".")))


def around(facts: Mapping[str, Any], policy: Policy | None, limits: Limits, command: str | None) -> Context:
    """Return what stands around findings that are not counted: when they were made, and what a policy says."""
    from recon.release.policies.assessing import assess

    told = None if policy is None else assess(facts, policy)
    return Context(made(command, limits.elapsed()), told, limits=limits_json(limits))


def rendered(document: Mapping[str, Any], form: str) -> str:
    """Return a document as html, md, json, sarif or junit; as text for any other `form`. Deterministic."""
    return formats().get(form, formats()["txt"])(document)


def formats() -> dict[str, Callable[[Mapping[str, Any]], str]]:
    """Return what makes every format, imported when it is asked for."""
    from recon.report.page.html import page
    from recon.report.page.markdown import markdown_page
    from recon.report.page.plain import text_page
    from recon.report.pipelines.junit import junit
    from recon.report.pipelines.sarif import sarif

    return {"html": page, "md": markdown_page, "txt": text_page, "json": json_text, "sarif": sarif, "junit": junit}
