"""The report as one self-contained page: no script, nothing from a network; prints on A4, with a place to sign."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from recon.report.charts.svg import PALETTE
from recon.report.page.blocks import (
    ChartBlock,
    CommandList,
    Document,
    PairBlock,
    SentenceBlock,
    TableBlock,
    name_of,
    sentence_of,
)
from recon.report.page.content.computing import parts
from recon.report.page.words import SPOKEN, SYMBOLS, first_page
from solvers.foundation.escaping import shown

if TYPE_CHECKING:
    from jinja2 import Environment, Template

KINDS = {TableBlock: "table", SentenceBlock: "lines", PairBlock: "pairs", CommandList: "commands", ChartBlock: "drawn"}
UNBROKEN = 22  # characters of a word that a narrow column does not hold
MARKS = {f"{sign} " for sign in SYMBOLS.values()}  # what an outcome begins with, which stays on one line


def page(document: Document) -> str:
    """Return the document as an HTML page; the same document gives the same bytes.

    Every text of the document is escaped and shown without hidden characters. Cost: linear in the document; about 0.2 s
    for 1,000 groups.
    """
    return template().render(
        title=sentence_of(document["title"], 120),
        first=first_page(document),
        parts=parts(document),
        assessed=document.get("assessment") is not None,
        version=name_of(document["made"]["recon"], 30),
        date=sentence_of(document["made"].get("date") or "", 30),
        palette=PALETTE,
        symbols=SYMBOLS,
        spoken=SPOKEN,
    )


@cache
def template() -> Template:
    """Return the template of the page, compiled once."""
    return environment().get_template("page.html.j2")


def environment() -> Environment:
    """Return the templates' environment: everything is escaped, and what is not defined is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("recon.report.page", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=visible, keep_trailing_newline=True,
    )  # fmt: skip
    found.filters["kind"] = kind_of
    found.filters["drawing"] = drawing
    found.filters["classes"] = classes
    return found


def visible(value: Any) -> Any:
    """Return what a template prints without hidden characters; markup that the templates made stays as it is."""
    return shown(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def kind_of(block: Any) -> str:
    """Return the name of a block's kind, by which the template shows it."""
    return KINDS[type(block)]


def drawing(svg: str) -> Any:
    """Return a chart of `recon.report.charts`, which escaped all texts in it, as markup."""
    from markupsafe import Markup

    return Markup(svg)


def classes(table: TableBlock, column: int, cell: str) -> str:
    """Return the attribute with the classes of a cell: n: figures, w: wide, b: words to be broken."""
    long = len(cell) > UNBROKEN and max(map(len, cell.split()), default=0) > UNBROKEN
    names = "n" if column in table.figures else "w" if column in table.wide else ""
    names += " b" if long else " o" if cell[:2] in MARKS else ""
    return f' class="{names.strip()}"' if names else ""
