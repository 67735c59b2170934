"""A report's parts in three formats: text for a terminal, Markdown, and one self-contained HTML page.

The page has no script and takes nothing from a network; it prints on A4, and an audit's has a place to sign. What a
block is in each format stands here alone: a text as lines of `_text_lines`, Markdown as those of `_markdown_lines`, a
page as a macro of templates/blocks.html.j2. Whatever names are in a block, they stay text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from recon.io.console.version import VERSION
from recon.release.auditing.persons.wording import who_lines
from recon.report.charts.svg import PALETTE
from recon.report.page.advice import helping
from recon.report.page.blocks import (
    NOT_KNOWN,
    AdviceStep,
    Block,
    ChartBlock,
    CommandList,
    Document,
    FirstPage,
    PagePart,
    PairBlock,
    SentenceBlock,
    TableBlock,
    name_of,
    section_parts,
    sentence_of,
)
from recon.report.page.contents import added_part, parts
from recon.report.page.first_page import first_part
from solvers.foundation.displayed import escape_text, markdown, shown_lines

if TYPE_CHECKING:
    from jinja2 import Environment, Template

SIGN = ("☐ release  ☐ release with changes  ☐ do not release", "Name, role:", "Date:", "Signature:")
SYMBOLS = {"warning": "!", "met": "✓", "violated": "✕", "inconclusive": "?", "not applicable": "–"}
# The words for an outcome, for who does not see its symbol.
SPOKEN = {
    "warning": "reveals people", "met": "met", "violated": "not met", "inconclusive": "not settled",
    "not applicable": "does not apply",
}  # fmt: skip
MARKS = {f"{sign} " for sign in SYMBOLS.values()}  # what an outcome begins with, which stays on one line
WITH_POLICY = "recon policy --init writes one to edit, --policy FILE checks a release against it"
SHOWN = 20  # rows of a table in a terminal
# A terminal may know no such signs; the words that stand beside them say the same.
TYPED = str.maketrans({"…": "...", "“": '"', "”": '"', "–": "-"})


def text_page(document: Document) -> str:
    """Return an audit's document as a terminal prints it."""
    return as_text(sentence_of(document["title"]), text_parts(document))


def text_parts(document: Document) -> list[PagePart]:
    """Return the parts of a text: the first page in short, the findings in words, and what was asked for besides."""
    asked = [first_part(document), *section_parts(document["sections"])]
    if document.get("profiles") or document.get("persons"):
        people = who_lines(document.get("profiles"), document.get("persons"))
        asked.append(PagePart("who", "Who", "", [SentenceBlock("", people)]))
    asked += [one for one in (added_part(document) if document.get("adds") else None, helping(document)) if one]
    return asked


def markdown_page(document: Document) -> str:
    """Return an audit's document as Markdown."""
    return as_markdown(sentence_of(document["title"], 160), parts(document))


def page(document: Document) -> str:
    """Return an audit's document as an HTML page; the same document gives the same bytes.

    Cost: linear in the document; about 0.2 s for 1,000 groups.
    """
    return as_page(sentence_of(document["title"], 120), parts(document), document["made"])


def as_text(title: str, parts: Iterable[PagePart]) -> str:
    """Return parts as a terminal prints them: one line is one line, whatever names are in it; no intros."""
    pieces = [title]
    for part in parts:
        pieces += ["", part.title, *(f"  {line}" for block in part.blocks for line in _text_lines(block))]
    return shown_lines(pieces) + "\n"


def as_markdown(title: str, parts: Iterable[PagePart]) -> str:
    """Return parts as Markdown; no text in them can add markup, a link or HTML. Drawings are left out."""
    pieces = [f"# {markdown(title)}", ""]
    for part in parts:
        if not isinstance(part.blocks[0] if part.blocks else None, FirstPage):
            pieces += [f"## {markdown(part.title)}", ""]
        pieces += [markdown(part.intro), ""] if part.intro else []
        for block in part.blocks:
            pieces += _markdown_lines(block)
    return "\n".join(pieces).rstrip("\n") + "\n"


def as_page(title: str, parts: Sequence[PagePart], made: Mapping[str, Any] | None = None) -> str:
    """Return parts as an HTML page, every text escaped and without hidden characters; `made`: version and date."""
    made = made or {"recon": VERSION}
    first = next((block for part in parts for block in part.blocks if isinstance(block, FirstPage)), None)
    return _template().render(
        title=title,
        first=first,
        parts=[part for part in parts if first is None or first not in part.blocks],
        version=name_of(made["recon"], 30),
        date=sentence_of(made.get("date") or "", 30),
        palette=PALETTE,
        symbols=SYMBOLS,
        spoken=SPOKEN,
    )


def _text_lines(block: Block) -> Iterator[str]:
    """Yield a block as lines of text; nothing of a drawing, whose figures stand in a table."""
    match block:
        case FirstPage():
            lines = _verdict_lines(block) if block.assessed else _note_lines(block)
            yield from (line.translate(TYPED) for line in lines)
        case TableBlock():
            yield f"{block.caption}:"
            yield from (f"  {_row_text(block.head, row)}".translate(TYPED) for row in block.rows[:SHOWN])
            if len(block.rows) > SHOWN:
                yield f"  and {len(block.rows) - SHOWN:,} more in the .html, .md and .json reports"
        case SentenceBlock():
            yield from [*([block.title] if block.title else []), *block.lines]
        case PairBlock():
            pairs = [f"{term}: {text}" for term, text in block.pairs]
            yield from [*([block.title] if block.title else []), *pairs]
        case CommandList():
            yield block.title
            for what, command in block.commands:
                yield from (f"{what}:".translate(TYPED), f"  {command}")


def _row_text(head: Sequence[str], row: Sequence[str]) -> str:
    """Return a row as a line: its name, then every figure with its heading."""
    cells = [cell[2:] if cell[:2] in MARKS else cell for cell in row[1:]]
    told = "; ".join(f"{title.lower()} {cell}" for title, cell in zip(head[1:], cells, strict=True) if cell != "-")
    return f"{row[0]}: {told}" if told else row[0]


def _verdict_lines(first: FirstPage) -> Iterator[str]:
    """Yield the first page in short: verdict, why, three numbers, what to do."""
    yield from (first.verdict.upper(), first.against, *([first.policy] if first.policy else []))
    yield from (f"{SPOKEN[outcome]}: {sentence}" for outcome, sentence in first.reasons)
    if first.more_reasons:
        yield f"  {first.more_reasons.partition(',')[0]}"
    for number in first.numbers:
        yield f"{number.line}{f' ({number.note})' if number.value == NOT_KNOWN and number.note else ''}"
    yield from [f"confidential: {first.confidential}"] if first.confidential else []
    yield "what to do:"
    for at, one in enumerate(first.steps, 1):
        yield from (f"  {line}" for line in _step_lines(one, f"{at}. "))


def _note_lines(first: FirstPage) -> Iterator[str]:
    """Yield the first page in short where there was no policy: what stands out, and the numbers that are known.

    What a domain would settle, and who is most exposed, is said in parts of their own.
    """
    yield f"{first.verdict.upper()} ({WITH_POLICY})"
    yield from (f"note: {sentence}" for _, sentence in first.reasons)
    known = [number.line for number in first.numbers if number.value != NOT_KNOWN]
    yield from ["; ".join(known)] if known else []
    yield from [f"confidential: {first.confidential}"] if first.confidential else []
    for one in first.steps:
        if one.command.startswith("recon inspect"):
            yield from _step_lines(one, "first: ")


def _step_lines(one: AdviceStep, before: str) -> Iterator[str]:
    """Yield a step as a sentence with its command below."""
    yield f"{before}{one.text}"
    yield from [f"{' ' * len(before)}{one.command}"] if one.command else []


def _markdown_lines(block: Block) -> Iterator[str]:
    """Yield a block as lines of Markdown with an empty one behind it; of a drawing only what no table says."""
    match block:
        case FirstPage():
            yield from _first_lines(block)
        case TableBlock():
            yield from (*_titled(block.caption), *_table_lines(block.head, block.rows))
            yield from (markdown(block.more), "") if block.more else ()
        case SentenceBlock():
            lines = (f"{'  ' * line.startswith(' ')}- {markdown(line.strip())}" for line in block.lines)
            yield from (*_titled(block.title), *lines, "")
        case PairBlock():
            pairs = (f"- **{markdown(term)}**: {markdown(text)}" for term, text in block.pairs)
            yield from (*_titled(block.title), *pairs, "")
        case CommandList():
            commands = (f"- {markdown(what)}: {_code(command)}" for what, command in block.commands)
            yield from (*_titled(block.title), *commands, "")
        case ChartBlock():
            yield from (*_titled(block.title), markdown(block.caption), "") if block.told else ()


def _first_lines(first: FirstPage) -> Iterator[str]:
    """Yield the first page as lines of Markdown."""
    if first.confidential:
        yield from (f"**Confidential: describes individuals.** {markdown(first.confidential)}", "")
    yield from (f"## Verdict: {markdown(first.verdict)}", "", markdown(first.against), "")
    yield from (markdown(first.policy), "") if first.policy else ()
    yield from (f"- {SYMBOLS[why] if first.assessed else '!'} {markdown(text)}" for why, text in first.reasons)
    yield from [f"- {markdown(first.more_reasons)}"] if first.more_reasons else []
    numbers = [(one.label, f"{one.value} {one.beside}".strip(), one.note) for one in first.numbers]
    yield from ("", *_table_lines(("Number", "Figure", "What it means"), numbers), *_titled("What to do"))
    for at, one in enumerate(first.steps, 1):
        yield from (f"{at}. {markdown(one.text)}", *([f"   {_code(one.command)}"] if one.command else []))
    yield from ("", *_titled("What was audited"), *_table_lines(("What", "Which"), first.audited))
    yield from _markdown_lines(SentenceBlock("What the file stores outright", first.stored))
    yield from (*_titled("Decision"), *(f"- {line}" for line in SIGN), "")


def _titled(title: str) -> list[str]:
    """Return the heading of a block and an empty line; nothing without a title."""
    return [f"### {markdown(title)}", ""] if title else []


def _table_lines(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
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


def stylesheet() -> str:
    """Return the style of the page, for other pages that are to look like it."""
    return _environment().get_template("style.css.j2").render(palette=PALETTE, first=None)


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
