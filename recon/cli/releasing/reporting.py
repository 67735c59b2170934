"""The command `recon report`: the result of an audit in another format, or held against another policy.

How the commands about a release begin and end: its policy read before all else, its verdict as the exit code.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recon.io.console.options import suffix
from recon.io.console.output import of_error, of_verdict, print_error, print_lines, write_text
from solvers.foundation.errors import ReconError

if TYPE_CHECKING:
    from recon.release.policies.policy import Policy
    from recon.report.stored_report import AuditReport


@contextlib.contextmanager
def ending(code: int) -> Iterator[None]:
    """End with an exit code that is fixed before the block prints or writes.

    Where that fails, or is stopped, the reason is said, and the code is that of the failure only if it was 0.
    """
    try:
        yield
    except (ReconError, OSError, MemoryError, KeyboardInterrupt) as error:
        print_error(error)
        code = code or of_error(error)
    raise typer.Exit(code)


def policy_of(path: str | None) -> Policy | None:
    """Return the policy of a file or preset, before anything is read; wrong usage where it is none."""
    from recon.release.policies.policy import read_policy

    return None if path is None else read_policy(path)


def ended(report: AuditReport, quietly: bool) -> int:
    """Return the exit code of a report: of its policy where there is one; `quietly`: the verdict is not shown yet."""
    told = report.assessment
    if report.status != "unsat" and quietly:
        line = f"not assessed: {NO_POLICY}" if told is None else f"{told.verdict}: {told.sentence}"
        print_lines(line, file=sys.stderr)
    return of_verdict(report.status, None if told is None else told.outcome)


NO_POLICY = "no policy was given (--policy FILE, or preset:NAME)"
SUFFIXES = {".html": "html", ".md": "md", ".txt": "txt", ".json": "json", ".sarif": "sarif", ".xml": "junit"}
FORMATS = tuple(SUFFIXES.values())


def _known_format(name: str | None) -> str | None:
    """Return the format; wrong usage for an unknown one."""
    if name not in {None, *FORMATS}:
        raise typer.BadParameter(f"there is no format '{name}': choose {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    return name


Result = Annotated[
    str, typer.Argument(metavar="RESULT", help="What recon audit FILE --json printed; - for standard input.")
]
To = Annotated[
    str | None,
    typer.Option("--to", help="html, md, txt, json, sarif or junit; by default as --out ends.", callback=_known_format),
]
ByPolicy = Annotated[
    str | None, typer.Option("--policy", help="Assess the result again by this policy (TOML file, or preset:NAME).")
]
ReportTo = Annotated[
    str | None, typer.Option("--out", help="Write to this file (.html, .md, .txt, .json, .sarif, .xml for JUnit).")
]


def report(result: Result, to: To = None, policy: ByPolicy = None, out: ReportTo = None) -> None:
    """Show the result of an audit as a page, Markdown, text, SARIF or JUnit; nothing is computed again."""
    from recon.report.results import as_read, filled, read_document
    from recon.report.stored_report import rendered

    form = _output_format(to, out)
    demanded = None
    if policy is not None:
        from recon.release.policies.policy import read_policy

        demanded = read_policy(policy)
    document = read_document(result)
    if demanded is not None:
        from recon.report.results import reassessed

        document = reassessed(document, demanded)
    with ending(of_verdict("exact", _outcome(document))):
        said = as_read(document)
        write_text(rendered(said if form == "json" else filled(said), form), out, private=True)


def _outcome(document: dict[str, Any]) -> str:
    """Return what the assessment says, "met" where there is none: without a policy nothing fails."""
    assessment = document.get("assessment")
    return "met" if assessment is None else str(assessment["outcome"])


def _output_format(to: str | None, out: str | None) -> str:
    """Return the format that was asked for; wrong usage where --out ends like another one."""
    end = suffix(out)
    if not end:
        return to or "txt"
    if to is None:
        if end not in SUFFIXES:
            raise typer.BadParameter(f"'{end}' is not written: end --out in {', '.join(SUFFIXES)}, or say --to")
        return SUFFIXES[end]
    if end in SUFFIXES and SUFFIXES[end] != to:
        raise typer.BadParameter(f"--to {to} and --out '{out}' disagree: leave one of them out")
    return to
