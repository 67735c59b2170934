"""The commands `recon serve`: files, audits and decisions on a page of this machine; `recon decisions`: their log."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from recon.cli.session import Json, Memory, Seconds, known_size, written_as
from recon.io.console.output import UNREADABLE, parse_memory, print_json, print_lines, write_text
from solvers.foundation.displayed import escape_text

if TYPE_CHECKING:
    from recon.release.registers.decisions import DecisionLog

Folder = Annotated[
    str, typer.Argument(metavar="[FOLDER]", help="Where reports and the log of decisions are kept; made if missing.")
]
Port = Annotated[int, typer.Option("--port", min=0, max=65_535, help="Port on this machine; 0: a free one.")]
RegisterFolder = Annotated[
    str | None, typer.Option("--register", metavar="FOLDER", help="Earlier releases that can be judged together.")
]
Most = Annotated[
    str, typer.Option("--most", metavar="SIZE", help="Refuse larger uploads, e.g. 64M.", callback=known_size)
]
ShowRows = Annotated[bool, typer.Option("--show-rows", help="Let reports show values of single people, where asked.")]
LogOut = Annotated[
    str | None, typer.Option("--out", help="Write to this file (.txt; with --json .json).", callback=written_as(".txt"))
]
Browser = Annotated[bool, typer.Option("--browser", help="Open the page in the browser.")]
Log = Annotated[str, typer.Argument(metavar="LOG", help="The log: decisions.jsonl in the folder of recon serve.")]
Verified = Annotated[bool, typer.Option("--verify", help="End with exit code 3 where the log is not whole.")]
Head = Annotated[
    str | None, typer.Option("--head", metavar="HASH", help="A hash noted when a decision was signed: is it there?")
]


def serve(
    folder: Folder = "recon-serve", port: Port = 0, register: RegisterFolder = None, seconds: Seconds = 60.0,
    memory: Memory = "1G", most: Most = "256M", show_rows: ShowRows = False, browser: Browser = False,
) -> None:  # fmt: skip
    """Serve a page on this machine: drop files, see what was understood, audit, decide; Ctrl-C ends it.

    --time and --memory are those of each job; two run at a time.
    """
    from recon.release.registers.register import Register
    from recon.serve.running import RunLimits
    from recon.serve.serving import serve as run

    if register is not None:
        Register.read(register)  # before the page promises it
    limits = RunLimits(60.0 if seconds is None else seconds, memory, show_rows, register)
    run(folder, port, limits, _say, parse_memory(most), browser)


def _say(address: str) -> None:
    """Print where the page is."""
    print_lines(f"open {address}", "only this machine can open it; Ctrl-C ends the server")
    sys.stdout.flush()


def decisions(log: Log, verify: Verified = False, head: Head = None, json: Json = False, out: LogOut = None) -> None:
    """List the decisions in a log and say whether the log is whole: every line has the hash of the line before."""
    from recon.release.registers.decisions import read_decisions

    found = read_decisions(log, head)
    if json:
        print_json(found.to_json(), out)
    else:
        write_text("".join(f"{line}\n" for line in _lines(found)), out)
    if verify and not found.whole:
        raise typer.Exit(UNREADABLE)


def _lines(found: DecisionLog) -> list[str]:
    """Return a log as lines of text."""
    lines = []
    for one in found.decisions:
        files = ", ".join(f"{file.name} ({file.sha256[:12]})" for file in one.files)
        lines += [
            f"{one.number}. {one.at}: {one.decision}: {files}",
            f"   by {one.by}; policy {one.policy.name}, verdict {one.verdict}, recon {one.recon}",
            f"   {one.comment}",
        ]
    lines += [f"not whole: {line}" for line in found.problems]
    if found.cut_off:
        lines.append(f"{found.cut_off} bytes behind the last line: a decision that was never confirmed")
    if found.whole:
        lines.append(f"the log is whole: {len(found.decisions)} decisions, the last line has the hash {found.head}")
    return [escape_text(" ".join(line.split("\n"))) for line in lines]
