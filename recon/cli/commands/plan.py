"""`recon plan`: which engines would answer, in which order, and what is left for them to solve; `engines`, `schema`."""

from __future__ import annotations

from typing import Annotated

import typer

from recon.cli.session import finish, open_release
from recon.io.console.options import (
    Confidence,
    ConventionName,
    DomainFile,
    Files,
    Independent,
    Json,
    KnownColumns,
    KnownRows,
    LogJson,
    MaxCells,
    Memory,
    Quiet,
    Seconds,
)
from recon.io.console.output import print_json, print_lines, working

QuestionName = Annotated[
    str | None, typer.Option("--question", help="One kind of question: count, decide, sample, ...; by default all.")
]


def plan(
    files: Files, question: QuestionName = None, domain: DomainFile = None, independent: Independent = False,
    rows: KnownRows = None, known: KnownColumns = None, convention: ConventionName = None,
    seconds: Seconds = None, memory: Memory = "1G",
    max_cells: MaxCells = 200_000, confidence: Confidence = 0.95, json: Json = False, quiet: Quiet = False,
    log_json: LogJson = False,
) -> None:  # fmt: skip
    """Print which engines would be asked, in which order and why not others, and what is left to solve."""
    from recon.queries.questions.planning import QUESTIONS
    from recon.queries.questions.planning import plan as run

    if question is not None and question not in QUESTIONS:
        raise typer.BadParameter(f"--question is one of {', '.join(QUESTIONS)}, not '{question}'")
    with working(seconds, memory, max_cells, quiet, log_json) as limits:
        release = open_release(files, domain, independent, limits, confidence, rows, settle=False, known=known)
        found = run(release, question, convention, limits)
    if json:
        print_json(found.to_dict())
    else:
        print_lines(*found.lines())
    finish(found.status)


Described = Annotated[str, typer.Argument(metavar="[release|report|policy]", help="Of which file.")]


def schema(of: Described = "release") -> None:
    """Print the JSON Schema of release files, of an audit's JSON (report) or of policies."""
    if of == "release":
        from recon.readers.formats.release.schema import json_schema as described
    elif of == "report":
        from recon.report.document.schema import json_schema as described
    elif of == "policy":
        from recon.release.policies.schema import json_schema as described
    else:
        raise typer.BadParameter(f"there is a schema of release, report and policy, not of '{of}'")
    print_json(described())


def engines(json: Json = False) -> None:
    """List the engines and whether they can run here."""
    from solvers.engines.chain import iter_statuses

    found = [{"name": name, "about": about, "status": status} for name, about, status in iter_statuses()]
    if json:
        print_json(found)
    else:
        print_lines(*(line for e in found for line in (f"{e['name']}: {e['status']}", f"  {e['about']}")))
