"""What every report has: what it is about, and text, Markdown, a page or JSON with the same figures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from recon.io.console.output import json_text

if TYPE_CHECKING:
    from recon.report.page.blocks import PagePart

DIGITS = 10_000  # decimal digits printed without being asked
Sections = list[tuple[str, list[str]]]


def number(x: float | None, places: int = 4) -> str:
    """Return a figure for people."""
    return "not defined" if x is None else f"{x:,.{places}f}"


class Rendered(ABC):
    """A report that says what it is about; every format shows the same."""

    @property
    @abstractmethod
    def about(self) -> str:
        """Return the file that the report is about."""

    @property
    @abstractmethod
    def status(self) -> str:
        """Return how the audit ended."""

    @abstractmethod
    def to_dict(self, digits: int = DIGITS) -> dict[str, Any]:
        """Return the report as an object ready for JSON."""

    @abstractmethod
    def formatted(self, form: str, digits: int = DIGITS) -> str:
        """Return the report as "html", "md" or "json"; as text for a `form` that it does not have."""

    @property
    def title(self) -> str:
        """Return the report's title."""
        return f"Audit of {self.about or 'a release'}"

    def to_json(self, digits: int = DIGITS) -> str:
        """Return the report as JSON text, without NaN or Infinity."""
        return self.formatted("json", digits)

    def to_markdown(self) -> str:
        """Return the report as Markdown."""
        return self.formatted("md")

    def to_html(self) -> str:
        """Return the report as one self-contained page, without scripts, that prints well."""
        return self.formatted("html")

    def to_text(self) -> str:
        """Return the report for a terminal."""
        return self.formatted("txt")

    def written_as(self, suffix: str, digits: int = DIGITS) -> str:
        """Return the report in the format of a file's suffix (".html", ".md", ".json", ".sarif", ".xml"), else text."""
        return self.formatted({".xml": "junit"}.get(suffix, suffix.removeprefix(".")), digits)


class PartReport(Rendered):
    """A report that consists of parts and no more: attacks, tables of areas."""

    @abstractmethod
    def parts(self) -> list[PagePart]:
        """Return the report's parts, which every format renders."""

    def formatted(self, form: str, digits: int = DIGITS) -> str:
        """Return the parts as "html" or "md", the object of `to_dict` as "json"; else the parts as text."""
        from recon.report.page.renderers import as_markdown, as_page, as_text

        if form == "json":
            return json_text(self.to_dict(digits))
        title, parts = self.title, self.parts()
        return as_page(title, parts) if form == "html" else (as_markdown if form == "md" else as_text)(title, parts)
