"""One way to show a report: its title and sections as text, Markdown, a page or JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from recon.io.console.output import json_text
from solvers.foundation.displayed import html, markdown, shown_lines

DIGITS = 10_000  # decimal digits printed without being asked
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "h1{font-size:1.4rem}h2{font-size:1.1rem;border-bottom:1px solid #ccc;break-after:avoid}"
    "ul{padding-left:1.2rem}li.more{list-style:none;color:#555;margin-bottom:.3rem}"
)
Sections = list[tuple[str, list[str]]]


def number(x: float | None, places: int = 4) -> str:
    """Return a figure for people."""
    return "not defined" if x is None else f"{x:,.{places}f}"


class Rendered(ABC):
    """A report that says what it is about and has sections of lines; every format shows the same."""

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
    def sections(self) -> Sections:
        """Return the sections as titles and lines; a line that begins with a blank belongs to the one before."""

    @property
    def title(self) -> str:
        """Return the report's title."""
        return f"Audit of {self.about or 'a release'}"

    def to_json(self, digits: int = DIGITS) -> str:
        """Return the report as JSON text, without NaN or Infinity."""
        return json_text(self.to_dict(digits))

    def to_markdown(self) -> str:
        """Return the report as Markdown."""
        pieces = [f"# {markdown(self.title)}", ""]
        for title, lines in self.sections():
            pieces += [f"## {markdown(title)}", "", *(f"- {markdown(line)}" for line in lines), ""]
        return "\n".join(pieces)

    def to_html(self) -> str:
        """Return the report as one self-contained page, without scripts, that prints well."""
        title = html(self.title)
        pieces = [f"<h1>{title}</h1>"]
        for heading, lines in self.sections():
            items = "".join(f"<li{' class=more' if x.startswith(' ') else ''}>{html(x.strip())}</li>" for x in lines)
            pieces.append(f"<h2>{html(heading)}</h2><ul>{items}</ul>")
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f"<style>{STYLE}</style></head><body>{''.join(pieces)}</body></html>\n"
        )

    def to_text(self) -> str:
        """Return the report for a terminal."""
        pieces = [self.title]
        for title, lines in self.sections():
            pieces += ["", title, *(f"  {line}" for line in lines)]
        return shown_lines(pieces) + "\n"

    def written_as(self, suffix: str, digits: int = DIGITS) -> str:
        """Return the report in the format of a file's suffix (".json", ".md", ".html"); text for any other."""
        formats = {".json": lambda: self.to_json(digits), ".md": self.to_markdown, ".html": self.to_html}
        return formats.get(suffix, self.to_text)()
