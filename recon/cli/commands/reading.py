"""`recon convert` and `recon domain`: any file that is read, written as a release file or as its domain."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from recon.cli.session import open_files
from recon.io.console.options import DomainFile, Files, Independent, KnownRows, ReadingMemory, ReleaseOut
from recon.io.console.output import parse_memory, print_lines, write_text

if TYPE_CHECKING:
    from encoders.encode.encoder import EncodedRelease

WithoutBags = Annotated[
    bool, typer.Option("--without-bags", help="Leave out which rows each tree drew (multiplicities).")
]
FromForest = Annotated[
    bool, typer.Option("--from-forest", help="What export_text printed is one tree of a bootstrap forest.")
]
Data = Annotated[
    str | None,
    typer.Option("--data", help="Training data (.csv, .parquet): counted per leaf or rule of a model without counts."),
]
Grids = Annotated[
    bool,
    typer.Option("--grid", help="Of columns of few numbers, far apart: all numbers between, too."),
]
Suggest = Annotated[
    bool,
    typer.Option(
        "--suggest",
        help="Of a model file: what looks like a bit or a whole number by its thresholds, to check and edit.",
    ),
]
Label = Annotated[str | None, typer.Option("--label", help="Label column of the data; by default the last.")]


def convert(
    files: Files, domain: DomainFile = None, independent: Independent = False, rows: KnownRows = None,
    without_bags: WithoutBags = False, from_forest: FromForest = False, data: Data = None, label: Label = None,
    memory: ReadingMemory = "1G", out: ReleaseOut = None,
) -> None:  # fmt: skip
    """Read models of any format and write them as one release file (checked, with the domain given)."""
    from encoders.encode.encoder import encode
    from encoders.models.models import Forest
    from recon.readers.formats.release.writing import dump, not_covered, publishable, release_json
    from recon.release.auditing.evidence import with_unused_of_files
    from recon.report.wording.headline import provenance_lines
    from solvers.foundation.limits import Limits

    if data is None:
        release = open_files(
            files, domain, independent, parse_memory(memory), rows=rows, label=label, from_forest=from_forest
        )
    else:
        if rows is not None or independent or from_forest:
            raise typer.BadParameter(
                "--data counts the rows as they are: leave --rows, --independent-columns and --from-forest out"
            )
        release = _counted_from(files, data, label, domain)
    if without_bags:
        models = [replace(m, multiplicities=None) if isinstance(m, Forest) else m for m in release.models]
        release = replace(
            encode(release.domain, models, release.declared, release.file), reader_notes=release.reader_notes
        )
    noisy = any(m.noise is not None for m in release.models)
    found = publishable(release.domain) if noisy else release.domain
    written = with_unused_of_files(release, Limits(memory=parse_memory(memory)))
    write_text(dump(release_json(found, written, release.declared, release.related)), out)
    print_lines(*(f"read: {line}" for line in provenance_lines(release)), file=sys.stderr)
    print_lines(*(not_covered(release.domain) if noisy else ()), file=sys.stderr)


def _counted_from(files: list[str], data: str, label: str | None, domain: str | None) -> EncodedRelease:
    """Return the release of a model that carries no counts, counted on its training data."""
    from recon.readers.frames.selections import numbers_of, read_table
    from recon.readers.loading.attaching import attach_counts
    from recon.readers.loading.loading import read_domain

    if len(files) != 1:
        raise typer.BadParameter("--data counts for one model file, not several")
    frame = numbers_of(read_table(data))
    name = label or str(frame.columns[-1])
    if name not in frame.columns:
        raise typer.BadParameter(f"--label {name}: {data} has no such column")
    declared = None if domain is None else read_domain(domain, label, lenient=True)
    return attach_counts(files[0], frame.drop(columns=name), frame[name], domain=declared)


def domain(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A table (.csv, .csv.gz, .parquet), a release file or a model file.")
    ],
    label: Label = None, independent: Independent = False, suggest: Suggest = False, grid: Grids = False,
    out: ReleaseOut = None,
) -> None:  # fmt: skip
    """Read a domain off data, say what was assumed, and write it to a file to edit and give to --domain."""
    from recon.readers.formats.drafts.suggesting import CHECK
    from recon.readers.formats.release.writing import domain_json, dump
    from recon.readers.loading.loading import is_table, read_domain

    if label is not None and not is_table(data):
        raise typer.BadParameter(f"--label names a column of a table, and {data} is none: its domain says the label")
    if grid and not is_table(data):
        raise typer.BadParameter(f"--grid is about columns of a table, and {data} is none")
    if suggest:
        from recon.readers.formats.drafts.suggesting import suggested_domain
        from recon.readers.loading.loading import load

        found = suggested_domain(load(data))
        found = found.as_columns() if independent else found
    else:
        found = read_domain(data, label, independent, grid=grid)
    write_text(dump({"recon": 1, "domain": domain_json(found)}), out)
    print_lines(*(n if n.startswith((CHECK, "assumed")) else f"assumed: {n}" for n in found.notes), file=sys.stderr)
