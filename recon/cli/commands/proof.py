"""The commands that hand a release to others: `verify` re-checks certificates, `export` writes solver input."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recon.cli.commands.queries import verify_queries
from recon.cli.output.printing import with_tables
from recon.cli.session import (
    AdversaryFile,
    DomainFile,
    Independent,
    Json,
    KnownByPosition,
    KnownColumns,
    KnownRows,
    LearnerRule,
    LogJson,
    Quiet,
    ReadingMemory,
    ReadingSeconds,
    ReleaseOptions,
    open_release,
    with_options,
)
from recon.io.console.output import DONE, INCONCLUSIVE, VIOLATED, print_json, print_lines, working
from solvers.foundation.displayed import quote

if TYPE_CHECKING:
    from encoders.encode.encoder import EncodedRelease
    from recon.queries.certificates.verifying import Verification
    from solvers.foundation.limits import Limits

SHOWN = 20  # claims printed one by one
NOTHING = "nothing to verify: there is no certificate in the result, so that nothing is certified"
MAX_SHOWN = 1_000  # characters of a claim, a place or a refusal

ResultFile = Annotated[
    str, typer.Argument(metavar="RESULT", help="What audit, certify, count or reconstruct --json wrote.")
]
ReleaseFiles = Annotated[
    list[str] | None, typer.Argument(metavar="FILE...", help="The release; by default the files that RESULT names.")
]


@with_tables
def verify(
    result: ResultFile, files: ReleaseFiles = None, domain: DomainFile = None, independent: Independent = False,
    rows: KnownRows = None, known: KnownColumns = None, beside: KnownByPosition = None,
    certificates: Annotated[
        str | None, typer.Option("--certificates", help="Folder of the certificates and releases that RESULT names.")
    ] = None,
    steps: Annotated[bool, typer.Option("--steps", help="Print every step of every proof in words.")] = False,
    adversary: AdversaryFile = None, learner: LearnerRule = "none", seconds: ReadingSeconds = None,
    memory: ReadingMemory = "1G", json: Json = False,
    quiet: Quiet = False, log_json: LogJson = False,
) -> None:  # fmt: skip
    """Re-check every certificate in a result from the release alone; no solver is needed."""
    from recon.queries.certificates.agreement import is_audit
    from recon.queries.certificates.explaining import explained
    from recon.queries.certificates.verifying import certificate_folders, read_result, relations_in
    from recon.queries.certificates.verifying import verify as run

    with working(seconds, memory, 1, quiet, log_json) as limits:
        data = read_result(result, limits.memory)
        if isinstance(data, dict) and "recon_queries" in data:
            verify_queries(data, files, json)
        folder = os.path.dirname(result) or "."
        folders = certificate_folders(folder, certificates)
        options = (domain, independent, limits)
        if files:
            related = relations_in(data, result)
            release = open_release(files, *options, rows=rows, settle=False, known=known, related=related, several=True)
        else:
            release = _open_named(data, result, folders, options, rows, known)
        if beside is not None:
            from recon.readers.loading.known_positions import with_known_positions

            release = with_known_positions(release, beside)
        if learner != "none":
            from recon.learner_rule.counting import asked_learner
            from recon.learner_rule.facts import with_facts

            release = with_facts(release, asked_learner(release, learner), limits)
        found = run(data, release, limits, folder, certificates, adversary=adversary)
        held = {c.place for c in found.checked if not c.error}
        notes = explained(data, release, folders, limits, held) if steps else []
    if json:
        print_json(found.to_dict())
    else:
        print_lines(*notes, *_lines(found, bool(files)))
    if found.rejected or found.inconsistent:
        raise typer.Exit(VIOLATED)
    settled = found.checked or is_audit(data)  # an audit may say nothing that a certificate could prove
    raise typer.Exit(INCONCLUSIVE if found.bare or found.unsettled or not settled else DONE)


def _open_named(
    data: Any, result: str, folders: tuple[str, ...], options: tuple[str | None, bool, Limits], rows: int | None,
    known: str | None = None,
) -> EncodedRelease:  # fmt: skip
    """Return the release that a result names; refusals say nothing of what is in its files."""
    from recon.queries.certificates.verifying import named_files, relations_in
    from solvers.foundation.errors import ReleaseError, Unsupported

    files, related = named_files(data, result, folders), relations_in(data, result)
    try:
        return open_release(files, *options, rows=rows, settle=False, known=known, related=related, several=True)
    except (ReleaseError, Unsupported) as error:
        if isinstance(error, ReleaseError) and error.file and error.file not in files:
            raise  # it is about a file that was given, such as that of --domain
        message = "the release that it names cannot be read: recon verify RESULT FILE... says why"
        raise ReleaseError(message, file=result) from None


def _lines(found: Verification, given: bool) -> list[str]:
    """Return what a verification found, for people; `given`: the user said which release, not the result."""
    verified = found.verified[:SHOWN]
    out = [f"{'certified' if c.confidence == 1 else 'proved'} ({c.kind}): {_short_line(c.claim)}" for c in verified]
    if len(found.verified) > SHOWN:
        out.append(f"... and {len(found.verified) - SHOWN:,} more")
    out += [
        f"REJECTED at {_short_line(c.place)}: {_short_line(c.claim)}: {_short_line(c.error)}" for c in found.rejected
    ]
    out += [f"REJECTED at {_short_line(text)}" for text in found.inconsistent]
    out += [
        f"NOT SETTLED at {_short_line(c.place)}: {_short_line(c.claim)}: {_short_line(c.error)}"
        for c in found.unsettled
    ]
    chosen = "" if given else ", the release that the result itself names"
    if found.checked:
        number = f"{len(found.verified):,} of {len(found.checked):,}"
        out.append(f"{number} certificates verified against {found.release}{chosen}")
    else:
        out.append(f"{NOTHING}; recon certify FILE --profiles PEOPLE --json writes certificates of verdicts")
    out.append(f"SHA-256 of the release: {found.sha256}")
    out += [f"not certified, no certificate proves it: {_short_line(text)}" for text in found.bare[:SHOWN]]
    if len(found.bare) > SHOWN:
        out.append(f"not certified: {len(found.bare) - SHOWN:,} more claims")
    if found.unchecked:
        keys = ", ".join(map(quote, found.unchecked[:SHOWN]))
        out.append(f"not checked, these never have a proof: {keys}{', ...' if len(found.unchecked) > SHOWN else ''}")
    return [*out, "assuming: " + "; ".join(found.assumptions)]


def _short_line(text: str) -> str:
    """Return what somebody else wrote, not longer than a screen, no line of its own by long gaps."""
    return quote(text, MAX_SHOWN)


class _Format(StrEnum):
    DIMACS = "dimacs"
    OPB = "opb"
    MPS = "mps"
    CPSAT = "cpsat"
    GRAPHML = "graphml"


@with_options("confidence")
def export(
    asked: ReleaseOptions,
    to: Annotated[
        _Format | None, typer.Option("--to", help="dimacs, opb, mps, cpsat, or graphml (the interaction graph).")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", help="File to write, with the map back beside it; with --solution, the file of rows."),
    ] = None,
    nodes: Annotated[
        str | None, typer.Option("--nodes", help="For graphml: attributes (default), or cells and their statements.")
    ] = None,
    convention: Annotated[
        str | None, typer.Option("--convention", help="For dimacs: ordered (default), multiset or assigned.")
    ] = None,
    solution: Annotated[
        str | None, typer.Option("--solution", help="What a solver printed for an exported file, to turn into rows.")
    ] = None,
    map_file: Annotated[
        str | None, typer.Option("--map", help="With --solution: the map that was written beside the exported file.")
    ] = None,
) -> None:
    """Write the release for other solvers and counters, with the map back, or turn their solution into rows."""
    if (solution is None) != (map_file is None):
        raise typer.BadParameter(
            "--solution and --map belong together: a solution, and the map beside the exported file"
        )
    if solution is not None and (to, nodes, convention) != (None, None, None):
        raise typer.BadParameter("--to, --nodes and --convention are not used with --solution: the map says them")
    if solution is None and out is None:
        raise typer.BadParameter("--out is missing: the file to write")
    if solution is None and to is None:
        raise typer.BadParameter("--to is missing: dimacs, opb, mps, cpsat or graphml")
    if nodes is not None and (to != "graphml" or nodes not in ("attributes", "cells")):
        raise typer.BadParameter(f"--nodes is attributes or cells, of --to graphml, not '{nodes}' of --to {to}")
    if convention is not None and (to != "dimacs" or convention not in ("assigned", "ordered", "multiset")):
        text = "--convention is assigned, ordered or multiset, of --to dimacs"
        raise typer.BadParameter(f"{text}, not '{convention}' of --to {to}")
    from recon.models.exporting import export as run
    from recon.models.exporting import restored

    with asked.opened(settle=False, several=True) as (release, limits):
        if solution is not None and map_file is not None:
            from recon.cli.output.streaming import write_worlds

            write_worlds(iter([restored(release, map_file, solution, limits)]), False, out, False)
            return
        found = run(release, str(to), str(out), limits, nodes or "attributes", convention)
    if out != "-":
        names = ("variables", "constraints") if found.map else ("nodes", "edges")
        size = f"{found.variables:,} {names[0]}, {found.constraints:,} {names[1]}"
        print_lines(f"wrote {found.path}: {size}" + (f"; map back: {found.map}" if found.map else ""), *found.about)
