"""What commands print besides single objects: worlds, tables of answers; and how the program ends."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import typer

from recon.io.console.exit_codes import INCONCLUSIVE, INTERNAL
from recon.io.console.output import print_json, print_lines, records, write_table

if TYPE_CHECKING:
    from encoders.encode.encoder import EncodedRelease
    from recon.release.auditing.findings import Emptiness


def ended_early(notes: list[str], early: str) -> None:
    """Print the notes on the worlds, and end with exit code 4 where a limit ended them."""
    print_lines(*notes, file=sys.stderr)
    if early:
        print_lines(f"recon: {early}", file=sys.stderr)
        raise typer.Exit(INCONCLUSIVE)


def extreme_world(found: Any, greatest: bool) -> Any:
    """Return a world that attains a bound, None (with the reason on standard error) where there is none to show."""
    from solvers.foundation.errors import Inconclusive, Unsupported

    try:
        return found.attained(greatest).to_frame()
    except (Inconclusive, Unsupported) as error:
        print_lines(f"no world: {error}", file=sys.stderr)
        return None


def show(found: Any, out: str | None, json: bool, release: EncodedRelease) -> None:
    """Print or write a table of answers about people; its assumptions go to standard error."""
    if json:
        print_json(records(found), out, private=True)
        print_lines(*found.attrs.get("notes", ()), file=sys.stderr)
        return
    write_table(found, out, private=True)
    from recon.report.wording.provenance import assumption_lines

    print_lines(*found.attrs.get("notes", ()), file=sys.stderr)
    convention = found.attrs["convention"]
    print_lines(f"convention: {convention}; assuming: " + "; ".join(assumption_lines(release)), file=sys.stderr)


def show_emptiness(found: Emptiness, json: bool) -> None:
    """Print that no dataset fits the noisy counts at the confidence, and the proof of it."""
    from recon.report.wording.noise_report import empty_json, empty_sections

    if json:
        print_lines(f"recon: {found.found}", file=sys.stderr)
        print_json(empty_json(found))
        return
    for title, lines in empty_sections(found):
        print_lines(title, *(f"  {line}" for line in lines))


def show_verdicts(
    found: Any,
    profiles: Any,
    out: str | None,
    proofs: list[list[Any]] | None,
    release: EncodedRelease,
    folder: str | None,
) -> None:
    """Print or write verdicts: as JSON with `proofs` of all else that it claims, as a table where they are None.

    Certificates go into JSON, or into files of a folder, else their kinds are named.
    """
    from recon.certificates.certificate_format import proof_word
    from recon.certificates.issuing import profiles_json
    from recon.cli.output.proofs import stored_certificates

    proved = found["certificate"].tolist()
    kinds = ["" if c is None else f"{proof_word(c)} ({c['proof']['kind']})" for c in proved]
    stored = stored_certificates(proved, folder, out)
    if proofs is not None:
        lines = records(found.drop(columns="certificate"))
        every = iter(stored_certificates([c for line in proofs for c in line], folder, out, "proof"))
        more = [[next(every) for _ in line] for line in proofs]
        verdicts = zip(lines, profiles_json(release, profiles), stored, more, strict=True)
        print_json(
            [line | {"profile_values": who, "certificate": one, "proofs": rest} for line, who, one, rest in verdicts],
            out,
            private=True,
        )
        print_lines(*found.attrs.get("notes", ()), file=sys.stderr)
        return
    show(found.assign(certificate=kinds), out, False, release)


def leave_at_once(code: object) -> None:
    """End the program now where Ctrl-C left a solver at work in a thread; else let Python end it."""
    natively = sys.modules.get("solvers.foundation.native.threads")
    if natively is None or not natively.left_behind():
        return
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else INTERNAL)
