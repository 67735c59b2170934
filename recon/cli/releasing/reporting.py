"""The command `recon report`: the result of an audit in another format, or held against another policy."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from recon.cli.releasing.ending import ending
from recon.io.console.exit_codes import of_verdict
from recon.io.console.options import suffix
from recon.io.console.output import write_text

SUFFIXES = {".html": "html", ".md": "md", ".txt": "txt", ".json": "json", ".sarif": "sarif", ".xml": "junit"}
FORMATS = tuple(SUFFIXES.values())


def known_format(name: str | None) -> str | None:
    """Return the format; wrong usage for an unknown one."""
    if name not in {None, *FORMATS}:
        raise typer.BadParameter(f"there is no format '{name}': choose {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    return name


Result = Annotated[
    str, typer.Argument(metavar="RESULT", help="What recon audit FILE --json printed; - for standard input.")
]
To = Annotated[
    str | None,
    typer.Option("--to", help="html, md, txt, json, sarif or junit; by default as --out ends.", callback=known_format),
]
ByPolicy = Annotated[
    str | None, typer.Option("--policy", help="Assess the result again by this policy (TOML file, or preset:NAME).")
]
ReportTo = Annotated[
    str | None, typer.Option("--out", help="Write to this file (.html, .md, .txt, .json, .sarif, .xml for JUnit).")
]


def report(result: Result, to: To = None, policy: ByPolicy = None, out: ReportTo = None) -> None:
    """Show the result of an audit as a page, Markdown, text, SARIF or JUnit; nothing is computed anew."""
    from recon.report.audited import rendered
    from recon.report.results.reading import as_read, filled, read_document

    form = chosen(to, out)
    demanded = None
    if policy is not None:
        from recon.release.policies.policy import read_policy

        demanded = read_policy(policy)
    document = read_document(result)
    if demanded is not None:
        from recon.report.results.reassessing import reassessed

        document = reassessed(document, demanded)
    with ending(of_verdict("exact", outcome(document))):
        said = as_read(document)
        write_text(rendered(said if form == "json" else filled(said), form), out, private=True)


def outcome(document: dict[str, Any]) -> str:
    """Return what the assessment says, "met" where there is none: without a policy nothing fails."""
    assessment = document.get("assessment")
    return "met" if assessment is None else str(assessment["outcome"])


def chosen(to: str | None, out: str | None) -> str:
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
