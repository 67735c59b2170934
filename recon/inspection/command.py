"""The command `recon inspect`: what a file gives away, and a copy without what predictions do not need."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from recon.console import parse_memory, print_json, tell, write_text
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
    from recon.inspection.inspecting import inspect_bytes, read_file

    limit = parse_memory(memory)
    name, data = read_file(file)
    found = inspect_bytes(data, name, limit)
    if not json:
        write_text(found.to_text() + "\n", out)
    more: dict[str, object] = {}
    try:
        if strip is not None:
            more = copied(data, name, strip, limit, json)
    finally:  # the findings of a file are told even where no copy can be made
        if json:
            print_json(found.to_json() | more, out)


def copied(data: bytes, file: str, out: str, memory: int, json: bool) -> dict[str, object]:
    """Write the copy; say on stderr what was done, or return it as a JSON object under "stripped"."""
    from recon.inspection.stripping import strip_content

    sys.stdout.flush()  # the findings stand before what is said of the copy
    done = strip_content(data, file, out, memory)
    if json:
        return {"stripped": stripped_json(done)}
    tell(*stripped_lines(done), file=sys.stderr)
    return {}


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
    before, after = (one.format.partition(", ")[2] for one in (done.before, done.after))
    if before != after:
        lines.append(f"  compressed with {before or 'nothing'} before, the copy with {after or 'nothing'}")
    left = [f for f in done.after.findings if f.level in {"critical", "high"}]
    return lines + [f"  still in it: {f.path}: {f.remove}" for f in left]
