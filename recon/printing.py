"""What commands print besides single objects: worlds, tables of answers; and how the program ends."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from recon.console import INTERNAL, free_name, print_json, records, write_table

if TYPE_CHECKING:
    from encoders.encoder import EncodedRelease
    from recon.findings import Emptiness


def print_worlds(found: list[Any], views: bool, out: str | None, json: bool) -> None:
    """Print or write worlds: one table with a column `world`, or JSON."""
    import pandas as pd

    frames = [w.to_frame(views) for w in found]
    if json:
        print_json([{"world": i, "rows": records(f)} for i, f in enumerate(frames)], out)
        return
    number = free_name("world", frames[0].columns) if frames else "world"
    for i, frame in enumerate(frames):
        frame.insert(0, number, i)
    write_table(pd.concat(frames) if frames else pd.DataFrame({number: []}), out)


def extreme_world(found: Any, greatest: bool) -> Any:
    """Return a world that attains a bound, None (with the reason on standard error) where there is none to show."""
    from solvers.errors import Inconclusive, Unsupported

    try:
        return found.attained(greatest).to_frame()
    except (Inconclusive, Unsupported) as error:
        print(f"no world: {error}", file=sys.stderr)
        return None


def show(found: Any, out: str | None, json: bool, release: EncodedRelease) -> None:
    """Print or write a table of answers; its assumptions go to standard error."""
    if json:
        print_json(records(found), out)
        for note in found.attrs.get("notes", ()):
            print(note, file=sys.stderr)
        return
    write_table(found, out)
    from recon.provenance import assumption_lines

    for note in found.attrs.get("notes", ()):
        print(note, file=sys.stderr)
    convention = found.attrs["convention"]
    print(f"convention: {convention}; assuming: " + "; ".join(assumption_lines(release)), file=sys.stderr)


def show_emptiness(found: Emptiness, json: bool) -> None:
    """Print that no dataset fits the noisy counts at the confidence, and the proof of it."""
    from recon.noise_report import empty_json, empty_sections

    if json:
        print(f"recon: {found.found}", file=sys.stderr)
        print_json(empty_json(found))
        return
    for title, lines in empty_sections(found):
        print("\n".join([title, *(f"  {line}" for line in lines)]))


def show_verdicts(
    found: Any, profiles: Any, out: str | None, json: bool, release: EncodedRelease, folder: str | None
) -> None:
    """Print or write verdicts; certificates go into JSON, or into files of a folder, else their kinds are named."""
    from recon.certificates import profiles_json
    from recon.proof_commands import stored_certificates
    from recon.statements import proof_word

    proved = found["certificate"].tolist()
    kinds = ["" if c is None else f"{proof_word(c)} ({c['proof']['kind']})" for c in proved]
    stored = stored_certificates(proved, folder, out)
    if json:
        lines = records(found.drop(columns="certificate"))
        told = zip(lines, profiles_json(release, profiles), stored, strict=True)
        print_json([line | {"profile_values": who, "certificate": one} for line, who, one in told], out)
        for note in found.attrs.get("notes", ()):
            print(note, file=sys.stderr)
        return
    show(found.assign(certificate=kinds), out, json, release)


def leave_at_once() -> None:
    """End the program now where Ctrl-C left a solver at work in a thread; else let Python end it."""
    natively = sys.modules.get("solvers.natively")
    if natively is None or not natively.left_behind():
        return
    error = sys.exc_info()[1]
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else INTERNAL)
