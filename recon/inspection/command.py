"""The command `recon inspect`: what a file gives away, and a copy without what predictions do not need."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from recon.console import parse_memory, print_json, write_text
from recon.options import Json, Memory

if TYPE_CHECKING:
    from recon.inspection.stripping import Stripped

ModelFile = Annotated[
    str,
    typer.Argument(metavar="FILE", help="Pickle, joblib, skops, PMML, JSON, text, DOT, .rds; - for standard input."),
]
StripTo = Annotated[
    str | None, typer.Option("--strip", metavar="OUT", help="Write a copy without what predictions do not need.")
]
ReportFile = Annotated[str | None, typer.Option("--out", help="Write the findings to this file.")]


def inspect(
    file: ModelFile, strip: StripTo = None, json: Json = False, out: ReportFile = None, memory: Memory = "1G"
) -> None:
    """List what a released file stores outright of its training data; nothing in it is run."""
    from recon.inspection.inspecting import inspect as run
    from recon.inspection.stripping import strip as copy

    limit = parse_memory(memory)
    done = None if strip is None else copy(file, strip, limit)
    found = run(file, limit) if done is None else done.before
    if json:
        more = {} if done is None else {"stripped": stripped_json(done)}
        print_json(found.to_json() | more, out)
        return
    write_text(found.to_text() + "\n", out)
    for line in [] if done is None else stripped_lines(done):
        print(line, file=sys.stderr)


def stripped_json(done: Stripped) -> dict[str, object]:
    """Return what was taken out, what was proved and what is left as a JSON object."""
    return {
        "file": done.after.file, "format": done.after.format, "sha256": done.after.sha256,
        "removed": [f.path for f in done.removed], "proof": list(done.proof),
        "left": [f.to_json() for f in done.after.findings],
    }  # fmt: skip


def stripped_lines(done: Stripped) -> list[str]:
    """Return the same for people."""
    lines = [f"{done.after.file}: a {done.after.format} without " + ", ".join(f.path for f in done.removed)]
    lines += [f"  proved: {line}" for line in done.proof]
    left = [f.path for f in done.after.findings if f.level in {"critical", "high"}]
    lines += [f"  still in it, cannot be taken out: {', '.join(left)}"] if left else []
    return lines
