"""`recon audit`: the report on a release, what a policy says to it, and the exit code that follows."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated

import typer

from recon.cli.output.printing import ended, ending, policy_of, with_other_answers, with_tables
from recon.cli.session import ReleaseOptions, declared_domain, open_release, registered_domain
from recon.io.console.guarding import command_line
from recon.io.console.options import (
    BUDGET,
    AddedRows,
    Digits,
    EarlierReleases,
    PolicyFile,
    Population,
    Remedies,
    RemovedRows,
    ReportOut,
    Truth,
    WithoutNoise,
    suffix,
    with_options,
)
from recon.io.console.output import print_lines, write_text
from recon.io.files.opening import files_opened_once

Profiles = Annotated[
    str | None, typer.Option("--profiles", help="People to ask about, one per line: are they in the data?")
]
Data = Annotated[
    str | None,
    typer.Option("--data", help="The training rows (.csv, .parquet): whose are most exposed, by position."),
]
Protected = Annotated[
    str | None, typer.Option("--protected", help="Column of --data: exposure by its groups (are some hit harder?).")
]
ShowRows = Annotated[bool, typer.Option("--show-rows", help="Values of single people in the report.")]


@with_tables
@with_other_answers
@with_options(
    "rows",
    "known",
    "adversary",
    "label",
    "convention",
    "seed",
    "learner",
    "confidence",
    "workers",
    "dask",
    seconds=BUDGET,
)
def audit(
    asked: ReleaseOptions, policy: PolicyFile = None, register: EarlierReleases = None, removed: RemovedRows = None,
    added: AddedRows = None, profiles: Profiles = None, data: Data = None, protected: Protected = None,
    show_rows: ShowRows = False, remedies: Remedies = False, truth: Truth = None, population: Population = None,
    digits: Digits = 10_000, out: ReportOut = None, without_noise: WithoutNoise = None,
) -> None:  # fmt: skip
    """Report what a release reveals, what would help, and whether it meets a policy."""
    from recon.readers.frames.describe import table_like
    from recon.readers.loading.loading import is_table
    from recon.readers.loading.settled import strengthened_release
    from recon.report.audit import audit as run
    from recon.report.document.metadata import limits_line
    from recon.report.stored_report import open_report
    from solvers.foundation.parallel.pieces import kept_open

    if protected is not None and data is None:
        raise typer.BadParameter("--protected is a column of the training rows: give them with --data")
    if (removed, added) != (None, None) and register is None:
        raise typer.BadParameter(
            "--removed and --added are numbers since the last release of --register: give that too"
        )
    chosen = policy_of(policy)
    form = ".json" if asked.json else suffix(out)
    with asked.working() as whole, kept_open(), files_opened_once():
        limits = asked.within_machine(whole)
        asked = replace(asked, domain=asked.domain or registered_domain(register))
        domain, label = asked.domain, asked.label
        release = asked.release(limits, settle=False, whole=True)
        if release.rows.high is None:  # nothing can be counted, but something is said
            stated = open_report(strengthened_release(release, limits), chosen, limits, command_line())
            violated = stated.assessment is not None and stated.assessment.outcome == "violated"
            if violated or not asked.json:
                write_text(stated.written_as(form, digits), out, private=True)
            if violated:  # by what was published, whatever the number of rows is
                raise typer.Exit(ended(stated, bool(out)))
        real, people, known, given = (table_like(release, path, label) for path in (truth, population, profiles, data))
        table = domain if domain is not None and release.statements.bags and is_table(domain) else None
        exact = None if without_noise is None else open_release([without_noise], domain, asked.independent, limits)
        report = run(release, chosen, convention=asked.convention, truth=real, population=people, without_noise=exact,
                     limits=limits, seed=asked.seed, remedies=remedies, profiles=known, data=given, protected=protected,
                     show_rows=show_rows, register=register, removed=removed, added=added,
                     learner=asked.learner, adversary=asked.adversary,
                     domain_rows=table_like(release, table, label),
                     domain=declared_domain(domain, label) if register else None, command=command_line())  # fmt: skip
    with ending(ended(report, bool(out))):
        write_text(report.written_as(form, digits), out, private=True)
        if not asked.json and out is None:
            print_lines(limits_line(limits), file=sys.stderr)
        if report.findings.empty is not None and (asked.json or out):
            print_lines(f"recon: {report.findings.empty.found}", file=sys.stderr)
