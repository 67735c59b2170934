"""The report as one self-contained page: no script, nothing from a network; prints on A4, with a place to sign.

The report as Markdown: the structure of the page, with tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from recon.report.charts.svg import PALETTE
from recon.report.page.blocks import (
    Block,
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
from solvers.foundation.displayed import escape_text, markdown

if TYPE_CHECKING:
    from jinja2 import Environment, Template

SIGN = ("☐ release  ☐ release with changes  ☐ do not release", "Name, role:", "Date:", "Signature:")


def markdown_page(document: Document) -> str:
    """Return the document as Markdown; no text in it can add markup, a link or HTML. Drawings are left out."""
    pieces = [f"# {markdown(sentence_of(document['title'], 160))}", "", *_first_lines(document)]
    for part in parts(document):
        pieces += [f"## {markdown(part.title)}", ""]
        if part.intro:
            pieces += [markdown(part.intro), ""]
        for block in part.blocks:
            pieces += _block_lines(block)
    return "\n".join(pieces).rstrip("\n") + "\n"


def _first_lines(document: Document) -> Iterator[str]:
    """Yield the first page."""
    first = first_page(document)
    if first.confidential:
        yield from (f"**Confidential: describes individuals.** {markdown(first.confidential)}", "")
    yield from (f"## Verdict: {markdown(first.verdict)}", "", markdown(first.against), "")
    if first.policy:
        yield from (markdown(first.policy), "")
    assessed = document.get("assessment") is not None
    yield from (
        f"- {SYMBOLS[outcome] if assessed else '!'} {markdown(sentence)}" for outcome, sentence in first.reasons
    )
    if first.more_reasons:
        yield f"- {markdown(first.more_reasons)}"
    yield ""
    yield from _table(("Number", "Figure", "What it means"),
                     [(one.label, f"{one.value} {one.beside}".strip(), one.note) for one in first.numbers])  # fmt: skip
    yield from ("### What to do", "")
    for at, one in enumerate(first.steps, 1):
        yield f"{at}. {markdown(one.text)}"
        if one.command:
            yield f"   {_code(one.command)}"
    yield from ("", "### What was audited", "")
    yield from _table(("What", "Which"), first.audited)
    yield from ("### What the file stores outright", "", *(f"- {markdown(line)}" for line in first.stored), "")
    yield from ("### Decision", "", *(f"- {line}" for line in SIGN), "")


def _block_lines(block: Block) -> Iterator[str]:
    """Yield a block as lines with an empty one behind it; of a drawing only what no table says."""
    if isinstance(block, ChartBlock):
        yield from (f"### {markdown(block.title)}", "", markdown(block.caption), "") if block.told else ()
        return
    if isinstance(block, TableBlock):
        yield from (f"### {markdown(block.caption)}", "")
        yield from _table(block.head, block.rows)
        if block.more:
            yield from (markdown(block.more), "")
        return
    if isinstance(block, SentenceBlock | PairBlock | CommandList) and block.title:
        yield from (f"### {markdown(block.title)}", "")
    if isinstance(block, SentenceBlock):
        yield from (f"{'  ' * line.startswith(' ')}- {markdown(line.strip())}" for line in block.lines)
        yield ""
    elif isinstance(block, PairBlock):
        yield from (f"- **{markdown(term)}**: {markdown(text)}" for term, text in block.pairs)
        yield ""
    elif isinstance(block, CommandList):
        yield from (f"- {markdown(what)}: {_code(command)}" for what, command in block.commands)
        yield ""


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield a table, and an empty line."""
    titles = [markdown(one) for one in head]
    yield f"| {' | '.join(titles)} |"
    yield f"|{'---|' * len(titles)}"
    for row in rows:
        yield f"| {' | '.join(markdown(cell) or ' ' for cell in row)} |"
    yield ""


def _code(text: str) -> str:
    """Return a command between so many backticks that none in it ends it."""
    command = escape_text(text)
    fence = "`"
    while fence in command:
        fence += "`"
    return f"{fence} {command} {fence}" if "`" in command else f"{fence}{command}{fence}"


KINDS = {TableBlock: "table", SentenceBlock: "lines", PairBlock: "pairs", CommandList: "commands", ChartBlock: "drawn"}
UNBROKEN = 22  # characters of a word that a narrow column does not hold
MARKS = {f"{sign} " for sign in SYMBOLS.values()}  # what an outcome begins with, which stays on one line


def page(document: Document) -> str:
    """Return the document as an HTML page; the same document gives the same bytes.

    Every text of the document is escaped and shown without hidden characters. Cost: linear in the document; about 0.2 s
    for 1,000 groups.
    """
    return _template().render(
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
def _template() -> Template:
    """Return the template of the page, compiled once."""
    return _environment().get_template("page.html.j2")


def _environment() -> Environment:
    """Return the templates' environment: everything is escaped, and what is not defined is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("recon.report.page", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_visible, keep_trailing_newline=True,
    )  # fmt: skip
    found.filters["kind"] = _kind_of
    found.filters["drawing"] = _drawing
    found.filters["classes"] = _classes
    return found


def _visible(value: Any) -> Any:
    """Return what a template prints without hidden characters; markup that the templates made stays as it is."""
    return escape_text(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _kind_of(block: Any) -> str:
    """Return the name of a block's kind, by which the template shows it."""
    return KINDS[type(block)]


def _drawing(svg: str) -> Any:
    """Return a chart of `recon.report.charts`, which escaped all texts in it, as markup."""
    from markupsafe import Markup

    return Markup(svg)


def _classes(table: TableBlock, column: int, cell: str) -> str:
    """Return the attribute with the classes of a cell: n: figures, w: wide, b: words to be broken."""
    long = len(cell) > UNBROKEN and max(map(len, cell.split()), default=0) > UNBROKEN
    names = "n" if column in table.figures else "w" if column in table.wide else ""
    names += " b" if long else " o" if cell[:2] in MARKS else ""
    return f' class="{names.strip()}"' if names else ""
