"""The fenced blocks of a page of docs/: what is to be run, how it is to end, and what it is said to print.

A page is Markdown as GitHub and the site show it. Blocks are marked by their language and by HTML comments, which
readers do not see:

- ```sh: commands. Each must end with exit code 0; `<!-- exit 1 -->` before or after says how the last one ends.
- ```console: lines that begin with `$ ` are commands, what follows each is its output.
- ```python: run as a script; all of a page share their names.
- ```text: what the block before it prints: to standard output, to standard error, or to both, one after the other.
  A line `...` stands for any lines, `...` inside a line for any text; all else, figures above all, must be the same.
- `<!-- file: NAME -->` before any other block: it is written to that file.
- `<!-- not run: WHY -->` before a block: neither it nor the output after it is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```[ ]*$", re.DOTALL | re.MULTILINE
)
NOT_RUN, FILE = (re.compile(rf"<!-- {what}: (.+?) -->") for what in ("not run", "file"))
EXIT = re.compile(r"<!-- exit (\d+) -->")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, its line in the page, and what the comments around it say."""

    language: str
    text: str
    line: int
    exit: int = 0
    file: str | None = None
    not_run: str | None = None
    output: str | None = field(default=None, compare=False)

    @property
    def runs(self) -> bool:
        """Whether the block is one that is run or written."""
        return self.not_run is None and (self.file is not None or self.language in {"sh", "console", "python"})


def near(text: str) -> str:
    """Return the comments, and nothing else, at the end of a text."""
    lines = text.rstrip().splitlines()
    kept = []
    while lines and (not lines[-1].strip() or lines[-1].strip().startswith("<!--")):
        kept.append(lines.pop())
    return "\n".join(reversed(kept))


def after(text: str) -> str:
    """Return the comments, and nothing else, at the beginning of a text."""
    kept = []
    for line in text.splitlines():
        if line.strip() and not line.strip().startswith("<!--"):
            break
        kept.append(line)
    return "\n".join(kept)


def found(pattern: re.Pattern[str], *texts: str) -> str | None:
    """Return what a comment says in the first text that has it."""
    return next((hit.group(1) for text in texts if (hit := pattern.search(text))), None)


def fences(page: str) -> Iterator[Block]:
    """Yield every fenced block of a page, in order."""
    end = 0
    for hit in FENCE.finditer(page):
        before, behind = near(page[end : hit.start()]), after(page[hit.end() :])
        indent = len(hit["indent"])
        text = "".join(line[indent:] if line.strip() else line for line in hit["text"].splitlines(keepends=True))
        line = page.count("\n", 0, hit.start()) + 1
        ends = int(found(EXIT, before, behind.partition("<!-- not run")[0]) or 0)
        yield Block(hit["language"], text, line, ends, found(FILE, before), found(NOT_RUN, before))
        end = hit.end()


def blocks(path: Path) -> list[Block]:
    """Return what is to be run of a page, in order, each with the output that the page prints for it.

    Raises AssertionError where an output follows nothing.
    """
    listed: list[Block] = []
    for block in fences(path.read_text(encoding="utf-8")):
        if block.language == "text" and block.file is None and block.not_run is None:
            assert listed, f"{path.name}:{block.line}: an output without a command"
            last = listed[-1]
            assert last.output is None, f"{path.name}:{block.line}: a second output of the block in line {last.line}"
            listed[-1] = Block(**{**last.__dict__, "output": block.text})
        elif block.runs or block.language in {"sh", "console", "python"}:
            listed.append(block)
    return [block for block in listed if block.runs]


def alike(said: list[str], printed: list[str]) -> bool:
    """Return whether lines are as a page says them, whose `...` inside a line stand for any text."""
    return len(said) == len(printed) and all(
        re.fullmatch(".*".join(re.escape(part) for part in one.rstrip().split("...")), other.rstrip())
        for one, other in zip(said, printed, strict=True)
    )


def agrees(said: str, printed: str) -> bool:
    """Return whether what was printed is what a page says, whose lines `...` stand for any lines."""
    pieces: list[list[str]] = [[]]
    for line in said.strip("\n").splitlines():
        if line.strip() == "...":
            pieces.append([])
        else:
            pieces[-1].append(line)
    lines = printed.strip("\n").splitlines()
    first, *between = pieces
    if not between:
        return alike(first, lines)
    *between, last = between
    at, end = len(first), len(lines) - len(last)
    if at > end or not alike(first, lines[:at]) or not alike(last, lines[end:]):
        return False
    for piece in between:  # where a piece stands first leaves the most room for those behind it
        at = next(
            (i + len(piece) for i in range(at, end - len(piece) + 1) if alike(piece, lines[i : i + len(piece)])), -1
        )
        if at < 0:
            return False
    return True


def commands(block: Block) -> list[tuple[str, str | None]]:
    """Return the commands of a block with the output that stands after each (None: not said)."""
    if block.language != "console":
        return [(block.text, block.output)]
    listed: list[tuple[str, str]] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            listed.append((line[2:], ""))
        else:
            assert listed, f"line {block.line}: an output without a command"
            listed[-1] = (listed[-1][0], f"{listed[-1][1]}{line}\n")
    return [(command, said or None) for command, said in listed]
