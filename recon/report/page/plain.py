"""The report for a terminal: a short verdict first, then the findings in words, then what was asked for besides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from recon.release.auditing.persons.wording import who_lines
from recon.report.page.advice import AdviceStep
from recon.report.page.blocks import (
    NOT_KNOWN,
    Block,
    ChartBlock,
    CommandList,
    Document,
    PagePart,
    PairBlock,
    SentenceBlock,
    TableBlock,
    sentence_of,
)
from recon.report.page.content.helping import helping
from recon.report.page.content.people import added
from recon.report.page.words import SPOKEN, SYMBOLS, first_page
from solvers.foundation.displayed import shown_lines

WITH_POLICY = "recon policy --init writes one to edit, --policy FILE holds a release to it"
SHOWN = 20  # rows of a table
# A terminal may know no such signs; the words that stand beside them say the same.
TYPED = str.maketrans({"…": "...", "“": '"', "”": '"', "–": "-"})
MARKS = {f"{sign} " for sign in SYMBOLS.values()}


def text_page(document: Document) -> str:
    """Return the document as a terminal prints it: one line is one line, whatever names are in it."""
    verdict = [f"  {line}" for line in _verdict_lines(document)]
    pieces = [sentence_of(document["title"]), "", "Verdict", *(line.translate(TYPED) for line in verdict)]
    for title, lines in document["sections"]:
        pieces += ["", title, *(f"  {line}" for line in lines)]
    people = who_lines(document.get("profiles"), document.get("persons"))
    pieces += ["", "Who", *(f"  {line}" for line in people)] if people else []
    for part in (added(document), helping(document)):
        if part is not None:
            pieces += [line.translate(TYPED) for line in _part_lines(part)]
    return shown_lines(pieces) + "\n"


def _verdict_lines(document: Document) -> Iterator[str]:
    """Yield the first page in short: verdict, why, three numbers, what to do; without a policy what stands out."""
    first = first_page(document)
    if document.get("assessment") is None:
        yield f"{first.verdict.upper()} ({WITH_POLICY})"
        yield from (f"note: {sentence}" for _, sentence in first.reasons)
        known = [number.line for number in first.numbers if number.value != NOT_KNOWN]
        yield from ["; ".join(known)] if known else []
        yield from [f"confidential: {first.confidential}"] if first.confidential else []
        # What a domain would settle, and who is most exposed, is said in sections of their own below.
        yield from _command_lines([one for one in first.steps if one.command.startswith("recon inspect")], "first: ")
        return
    yield first.verdict.upper()
    yield first.against
    if first.policy:
        yield first.policy
    yield from (f"{SPOKEN[outcome]}: {sentence}" for outcome, sentence in first.reasons)
    if first.more_reasons:
        yield f"  {first.more_reasons.partition(',')[0]}"
    for number in first.numbers:
        yield f"{number.line}{f' ({number.note})' if number.value == NOT_KNOWN and number.note else ''}"
    yield from [f"confidential: {first.confidential}"] if first.confidential else []
    yield "what to do:"
    for at, one in enumerate(first.steps, 1):
        yield from (f"  {line}" for line in _command_lines([one], f"{at}. "))


def _command_lines(steps: Iterable[AdviceStep], before: str) -> Iterator[str]:
    """Yield steps as sentences, each with its command below."""
    for one in steps:
        yield f"{before}{one.text}"
        yield from [f"{' ' * len(before)}{one.command}"] if one.command else []


def _part_lines(part: PagePart) -> Iterator[str]:
    """Yield a part as a title with lines behind blanks."""
    yield from ("", part.title)
    for block in part.blocks:
        yield from (f"  {line}" for line in _block_lines(block))


def _block_lines(block: Block) -> Iterator[str]:
    """Yield a block as lines; nothing of a drawing, whose figures stand in a table."""
    if isinstance(block, ChartBlock):
        return
    if isinstance(block, TableBlock):
        yield from _table_lines(block)
        return
    if block.title:
        yield block.title
    if isinstance(block, SentenceBlock):
        yield from block.lines
    elif isinstance(block, PairBlock):
        yield from (f"{term}: {text}" for term, text in block.pairs)
    elif isinstance(block, CommandList):
        for what, command in block.commands:
            yield from (f"{what}:", f"  {command}")


def _table_lines(block: TableBlock) -> Iterator[str]:
    """Yield each row as a line: its name, then every figure with its heading."""
    yield f"{block.caption}:"
    for row in block.rows[:SHOWN]:
        rest = [
            f"{title.lower()} {cell}"
            for title, cell in zip(block.head[1:], map(_unmarked, row[1:]), strict=True)
            if cell != "-"
        ]
        yield f"  {row[0]}: {'; '.join(rest)}" if rest else f"  {row[0]}"
    if len(block.rows) > SHOWN:
        yield f"  and {len(block.rows) - SHOWN:,} more in the .html, .md and .json reports"


def _unmarked(cell: str) -> str:
    """Return a cell without the sign before its words."""
    return cell[2:] if cell[:2] in MARKS else cell
