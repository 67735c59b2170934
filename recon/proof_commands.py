"""The commands that hand a release to others: `verify` re-checks certificates, `export` writes solver input."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recon.console import DONE, INCONCLUSIVE, VIOLATED, print_json, working
from recon.options import DomainFile, Independent, Json, LogJson, MaxCells, Memory, Quiet, Seconds

if TYPE_CHECKING:
    from recon.verifying import Verification

SHOWN = 20  # claims printed one by one

ResultFile = Annotated[
    str, typer.Argument(metavar="RESULT", help="What audit, certify, count or reconstruct --json wrote.")
]
ReleaseFiles = Annotated[
    list[str] | None, typer.Argument(metavar="[FILE...]", help="The release; by default the files that RESULT names.")
]


def verify(
    result: ResultFile, files: ReleaseFiles = None, domain: DomainFile = None, independent: Independent = False,
    steps: Annotated[bool, typer.Option("--steps", help="Print every step of every proof in words.")] = False,
    seconds: Seconds = None, memory: Memory = "1G", json: Json = False, quiet: Quiet = False, log_json: LogJson = False,
) -> None:  # fmt: skip
    """Re-check every certificate in a result from the release alone; no solver is needed."""
    from recon.cli import open_release
    from recon.explaining import explained
    from recon.verifying import named_files, read_result
    from recon.verifying import verify as run

    with working(seconds, memory, 1, quiet, log_json) as limits:
        data = read_result(result, limits.memory)
        folder = os.path.dirname(result) or "."
        release = open_release(files or named_files(data, result), domain, independent, limits)
        found = run(data, release, limits, folder)
        told = explained(data, release, folder, limits) if steps else []
    if json:
        print_json(found.to_dict())
    else:
        print("\n".join([*told, *lines(found)]))
    if found.rejected or found.inconsistent or not found.checked:
        raise typer.Exit(VIOLATED)
    raise typer.Exit(INCONCLUSIVE if found.bare else DONE)


def lines(found: Verification) -> list[str]:
    """Return what a verification found, for people."""
    out = [f"certified ({c.kind}): {c.claim}" for c in found.checked if not c.error][:SHOWN]
    out += [f"REJECTED at {c.place}: {c.claim or 'no claim'}: {c.error}" for c in found.rejected]
    out += [f"REJECTED at {text}" for text in found.inconsistent]
    good = len(found.checked) - len(found.rejected)
    if good > SHOWN:
        out.append(f"... and {good - SHOWN:,} more")
    out.append(f"{good:,} of {len(found.checked):,} certificates verified from the release alone")
    if not found.checked:
        out.append("there is no certificate in the result: nothing is certified")
    if found.bare:
        shown = ", ".join(found.bare[:SHOWN]) + (", ..." if len(found.bare) > SHOWN else "")
        out.append(f"not certified: {len(found.bare):,} results carry no certificate: {shown}")
    out.append("not covered: counts, shares and probabilities that stand beside a verdict")
    return [*out, "assuming: " + "; ".join(found.assumptions)]


def export(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Release file; - for standard input.")],
    to: Annotated[str, typer.Option("--to", help="dimacs, opb, mps or cpsat.")],
    out: Annotated[str, typer.Option("--out", help="File to write; the map back is written beside it.")],
    domain: DomainFile = None, independent: Independent = False, seconds: Seconds = None, memory: Memory = "1G",
    max_cells: MaxCells = 200_000, quiet: Quiet = False, log_json: LogJson = False,
) -> None:  # fmt: skip
    """Write the release for other solvers and counters, with the map back to rows and statements."""
    if to not in ("dimacs", "opb", "mps", "cpsat"):
        raise typer.BadParameter(f"--to is dimacs, opb, mps or cpsat, not '{to}'")
    from recon.cli import open_release
    from recon.exporting import export as run

    with working(seconds, memory, max_cells, quiet, log_json) as limits:
        release = open_release(files, domain, independent, limits)
        found = run(release, to, out, limits)
    if found.map is not None:
        print(f"{found.path}: {found.variables:,} variables, {found.constraints:,} constraints; map back: {found.map}")
        print("\n".join(found.about))


def stored_certificates(found: list[Any], folder: str | None) -> list[Any]:
    """Return certificates, or, with a folder, what names the files into which they were written."""
    from recon.certificates import stored

    if folder is None:
        return found
    return [None if c is None else stored(c, folder, f"certificate-{i:05}") for i, c in enumerate(found)]
