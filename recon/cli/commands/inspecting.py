"""The command `recon inspect`: what a file reveals, and a copy without what predictions do not need.

`recon convert` and `recon domain`: any file that is read, written as a release file or as its domain.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recon.cli.session import (
    DomainFile,
    Files,
    Independent,
    Json,
    KnownRows,
    ReadingMemory,
    ReleaseOut,
    open_files,
    written_as,
)
from recon.io.console.guarding import suggestion
from recon.io.console.output import aligned, parse_memory, print_json, print_lines, write_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from encoders.encode.encoder import EncodedRelease
    from recon.readers.inspection.inspecting import Inspection
    from recon.readers.inspection.stripping import Stripped

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
    typer.Option("--grid", help="For columns of few numbers, far apart: include all numbers between."),
]
Suggest = Annotated[
    bool,
    typer.Option(
        "--suggest",
        help="For a model file: a draft by its thresholds (bits, whole numbers), to check and edit.",
    ),
]
Label = Annotated[str | None, typer.Option("--label", help="Label column of the data; by default the last.")]


def convert(
    files: Files, domain: DomainFile = None, independent: Independent = False, rows: KnownRows = None,
    without_bags: WithoutBags = False, from_forest: FromForest = False, data: Data = None, label: Label = None,
    memory: ReadingMemory = "1G", out: ReleaseOut = None,
) -> None:  # fmt: skip
    """Read models of any format and write them as one release file (checked, with the domain given)."""
    from encoders.encode.encoder import reassembled
    from recon.io.files.opening import files_opened_once
    from recon.readers.formats.release.writing import dump, not_covered, publishable, release_json
    from recon.release.auditing.evidence import with_unused_of_files
    from recon.report.wording.headline import provenance_lines
    from solvers.foundation.limits import Limits

    if data is not None and (rows is not None or independent or from_forest):
        raise typer.BadParameter(
            "--data counts the rows as they are: leave --rows, --independent-columns and --from-forest out"
        )
    with files_opened_once():
        if data is None:
            release = open_files(
                files, domain, independent, parse_memory(memory), rows=rows, label=label, from_forest=from_forest
            )
        else:
            release = _counted_from(files, data, label, domain)
        if without_bags:
            release = reassembled(release, models=tuple(model.without_bags() for model in release.models))
        written = with_unused_of_files(release, Limits(memory=parse_memory(memory)))
    noisy = any(m.noise is not None for m in release.models)
    found = publishable(release.domain) if noisy else release.domain
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
    from recon.io.files.sheets import is_table
    from recon.readers.formats.drafts.drafts import CHECK
    from recon.readers.formats.release.writing import domain_json, dump
    from recon.readers.loading.loading import read_domain

    if label is not None and not is_table(data):
        raise typer.BadParameter(f"--label names a column of a table, and {data} is none: its domain says the label")
    if grid and not is_table(data):
        raise typer.BadParameter(f"--grid is about columns of a table, and {data} is none")
    if suggest:
        from recon.readers.formats.drafts.drafts import suggested_domain
        from recon.readers.loading.loading import load

        found = suggested_domain(load(data))
        found = found.as_columns() if independent else found
    else:
        found = read_domain(data, label, independent, grid=grid)
    write_text(dump({"recon": 1, "domain": domain_json(found)}), out)
    print_lines(*(n if n.startswith((CHECK, "assumed")) else f"assumed: {n}" for n in found.notes), file=sys.stderr)


ModelFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Pickle, joblib, skops, PMML, JSON, text, DOT, .rds, MLflow folder; - for standard input.",
    ),
]
StripTo = Annotated[
    str | None, typer.Option("--strip", metavar="OUT", help="Write a copy without what predictions do not need.")
]
ReportFile = Annotated[
    str | None,
    typer.Option(
        "--out", help="Write the findings to this file (.txt; with --json .json).", callback=written_as(".txt")
    ),
]


Whole = Annotated[bool, typer.Option("--all", help="List everything in the file, with its status and bytes.")]
Rows = Annotated[
    str | None, typer.Option("--data", metavar="CSV", help="Search the values of these rows in the file, one by one.")
]


def inspect(
    files: ModelFiles, strip: StripTo = None, data: Rows = None, whole: Whole = False, json: Json = False,
    out: ReportFile = None, memory: ReadingMemory = "1G",
) -> None:  # fmt: skip
    """List what released files store outright of their training data; nothing in them is run."""
    from recon.io.files.opening import file_and_number
    from recon.readers.inspection.inspecting import inspect_bytes, read_file, with_mlflow_folder

    limit = parse_memory(memory)
    if len(files) > 1:
        if strip is not None or data is not None or whole:
            raise typer.BadParameter("--strip, --data and --all look at one file: give one")
        raise typer.Exit(_several(files, limit, json, out))
    name, content = read_file(files[0])
    found = with_mlflow_folder(name, inspect_bytes(content, name, limit))
    if data is not None:
        found = _with_rows(found, content, data, limit)
    if whole:
        found = _with_ledger(found, content, file_and_number(name)[0] if name != "-" else "", limit)
    if not json:
        lines = ["", *found.ledger.to_text()] if whole else []
        write_text("\n".join([found.to_text(), *lines]) + "\n", out)
    more: dict[str, object] = {"ledger": [one.to_json() for one in found.ledger.entries]} if whole else {}
    try:
        if strip is not None:
            more |= _copied(content, file_and_number(name)[0], strip, limit, json)
    finally:  # the findings of a file are told even where no copy can be made
        if json:
            print_json(found.to_json() | more, out)


def _with_ledger(found: Inspection, content: bytes, file: str, memory: int) -> Inspection:
    """Return the inspection with the ledger of the whole file, in which statements say what they carry."""
    from recon.readers.inspection.ledgers import ledger_of
    from recon.readers.loading.loading import load
    from recon.readers.loading.settled import uses_of
    from solvers.foundation.errors import ReconError

    uses, why = None, "no statement is made of standard input: save it as a file"
    if file:
        try:
            uses, why = uses_of(load(file)), ""
        except ReconError as error:
            why = f"no reader states the figures ({str(error)[:200]})"
    return replace(found, ledger=ledger_of(content, memory, uses, why))


def _with_rows(found: Inspection, content: bytes, data: str, memory: int) -> Inspection:
    """Return the inspection with what the file stores of the rows in a table (CSV, Parquet)."""
    from recon.readers.frames.selections import numbers_of, read_table
    from recon.readers.inspection.findings.findings import graded
    from recon.readers.inspection.searching import searched

    rows = numbers_of(read_table(data))
    return replace(found, findings=tuple(graded([*found.findings, *searched(content, rows, memory)])))


def _several(files: list[str], memory: int, json: bool, out: str | None) -> int:
    """Print what each of several files stores, and return the worst exit code; one unreadable stops no other.

    With `json` a list of objects, in the order of the files: an unreadable one has `file` and `error`.
    """
    from recon.io.console.output import DONE, gravest, of_error, print_error
    from recon.readers.inspection.inspecting import inspect as inspected
    from solvers.foundation.errors import ReconError

    if files.count("-") > 1:
        raise typer.BadParameter("standard input (-) can be read once, not twice")
    texts, objects, worst = [], [], DONE
    for file in files:
        try:
            found = inspected(file, memory)
        except (ReconError, OSError) as error:
            worst = gravest((worst, of_error(error)))
            objects.append({"file": file, "error": str(error)})
            if json:
                print_error(error)
            texts.append(f"{file}: NOT INSPECTED: {str(error).removeprefix(f'{file}: ')}\n")
            continue
        texts.append(found.to_text() + "\n")
        objects.append(found.to_json())
    if json:
        print_json(objects, out)
    else:
        write_text("\n".join([f"{len(files):,} files", *_table_of(objects), "", *texts]), out)
    return worst


def _table_of(objects: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line per file below a head: its format, training rows, and how many findings of each level it has."""
    from recon.readers.inspection.findings.findings import LEVELS

    counts = [Counter(one["level"] for one in found.get("findings", ())) for found in objects]
    levels = [level for level in LEVELS if any(count[level] for count in counts)]
    table = [["file", "format", "rows", *levels]]
    for found, count in zip(objects, counts, strict=True):
        rows = found.get("rows")
        about = ["NOT INSPECTED"] if "error" in found else [found["format"], "?" if rows is None else f"{rows:,}"]
        table.append([found["file"], *about, *([] if "error" in found else [f"{count[one]:,}" for one in levels])])
    return aligned(table)


def _copied(data: bytes, file: str, out: str, memory: int, json: bool) -> dict[str, object]:
    """Write the copy; say on stderr what was done, or return it as a JSON object under "stripped"."""
    from recon.readers.inspection.stripping import strip_content

    sys.stdout.flush()  # the findings stand before what is said of the copy
    done = strip_content(data, file, out, memory)
    if json:
        return {"stripped": _stripped_json(done)}
    print_lines(*_stripped_lines(done), file=sys.stderr)
    return {}


def _stripped_json(done: Stripped) -> dict[str, object]:
    """Return what was taken out, what was proved and what is left as a JSON object."""
    return {
        "file": done.after.file, "format": done.after.format, "sha256": done.after.sha256,
        "removed": [f.path for f in done.removed], "proof": list(done.proof),
        "left": [f.to_json() for f in done.after.findings], "advice": _left_advice(done),
    }  # fmt: skip


def _stripped_lines(done: Stripped) -> list[str]:
    """Return the same for people."""
    lines = [f"{done.after.file}: a {done.after.format} without " + ", ".join(f.path for f in done.removed)]
    lines += [f"  proved: {line}" for line in done.proof]
    before, after = (one.format.partition(", ")[2] for one in (done.before, done.after))
    if before != after:
        lines.append(f"  compressed with {before or 'nothing'} before, the copy with {after or 'nothing'}")
    left = [f for f in done.after.findings if f.level in {"critical", "high", "unknown"}]
    lines += [f"  still in it: {f.path}: {f.remove}" for f in left]
    return [*lines, f"  {_left_advice(done)}"]


def _left_advice(done: Stripped) -> str:
    """Return that a copy is no safe file because something was taken out, where counts or more are left in it."""
    from recon.readers.inspection.findings.findings import is_counting

    if any(is_counting(f.rule) for f in done.after.findings):
        return (
            "its counts are unchanged, and can still reveal rows, even all of them: run "
            f"{suggestion('audit', [done.after.file])}"
        )
    return "taking this out does not make the rest safe"
