"""What commands answer about published tables of areas, in place of what they answer about models.

Light to import: the command line does so at every start.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from recon.queries.tables.tables import Tables
    from solvers.foundation.limits import Limits

ALWAYS = {"files", "seconds", "memory", "json", "quiet", "log_json", "max_cells"}
TAKEN = {  # which options of a command mean something for tables
    "count": {"digits"},
    "certify": {"profiles", "out"},
    "audit": {"out", "digits"},
    "verify": {"result"},
}


def with_tables(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that answers about release files of kind `tables` too; everything else is as before."""
    defaults = {name: p.default for name, p in inspect.signature(command).parameters.items()}

    @functools.wraps(command)
    def answering(**given: Any) -> None:
        from recon.io.console.output import working

        with working(given.get("seconds"), given["memory"], 1, given["quiet"], given["log_json"]) as limits:
            tables = _opened(given.get("files") or [])
            if tables is not None:
                for name, value in given.items():
                    if name not in ALWAYS | TAKEN[command.__name__] and value != defaults[name]:
                        option = name.replace("_", "-")
                        raise typer.BadParameter(f"'{option}' means nothing for tables of areas: leave it out")
                ANSWERS[command.__name__](tables, given, limits)
                return
        command(**given)

    return answering


def _opened(files: list[str]) -> Tables | None:
    from recon.readers.formats.release.reading import marked

    if not any(map(marked, files)):
        return None
    from recon.queries.tables.reading import opened_tables

    return opened_tables(files)


def _count(tables: Tables, given: dict[str, Any], limits: Limits) -> None:
    from recon.cli.session import finish
    from recon.io.console.output import print_json, print_lines
    from recon.queries.tables.answering import answer_json, count_lines, counted_with_proofs

    found, proofs = counted_with_proofs(tables, limits)
    if given["json"]:
        print_json(answer_json(found, given["digits"], proofs))
    else:
        print_lines(*count_lines(found))
    finish(found.status)


def _audit(tables: Tables, given: dict[str, Any], limits: Limits) -> None:
    from recon.cli.session import finish
    from recon.io.console.options import suffix
    from recon.io.console.output import json_text, write_text
    from recon.queries.tables.answering import answer_json, audit_lines, counted_with_proofs

    out = given["out"]
    if out is not None and suffix(out) not in {".json", ".txt", ".md"}:
        raise typer.BadParameter(f"reports on tables of areas are text (.txt, .md) or .json, not '{out}'")
    found, proofs = counted_with_proofs(tables, limits)
    as_json = given["json"] or suffix(out) == ".json"
    text = json_text(answer_json(found, given["digits"], proofs)) if as_json else "\n".join(audit_lines(found)) + "\n"
    write_text(text, out, private=True)
    finish(found.status)


def _certify(tables: Tables, given: dict[str, Any], limits: Limits) -> None:
    from recon.cli.session import finish
    from recon.io.console.output import print_json, records, write_table
    from recon.queries.tables.answering import certified
    from recon.readers.frames.selections import read_table

    people = read_table(given["profiles"], limits)
    found = certified(tables, people, limits)
    if given["json"]:
        print_json(records(found), given["out"], private=True)
    else:
        write_table(found, given["out"], private=True)
    finish("unknown" if (found["verdict"] == "unknown").any() else "exact")


def _verify(tables: Tables, given: dict[str, Any], limits: Limits) -> None:
    from recon.io.console.output import DONE, INCONCLUSIVE, VIOLATED, print_json, print_lines
    from recon.queries.certificates.verifying import read_result
    from recon.queries.tables.answering import verified

    found = verified(read_result(given["result"], limits.memory), tables, limits)
    rejected = [c for c in found if c.error and not c.error.startswith("not verified")]
    held = [c for c in found if not c.error]
    if given["json"]:
        print_json({"verified": [c.claim for c in held], "not_verified": [[c.claim, c.error] for c in found if c.error],
                    "assumptions": list(tables.assumptions)})  # fmt: skip
    else:
        print_lines(*(f"certified (statements applied in turn): {c.claim}" for c in held[:20]))
        print_lines(*([f"... and {len(held) - 20:,} more"] if len(held) > 20 else []))
        print_lines(*(f"REJECTED: {c.claim}: {c.error}" for c in rejected))
        print_lines(f"{len(held):,} of {len(found):,} certificates verified; numbers of data sets and of people "
                    "certain have no certificate", "assuming: " + "; ".join(tables.assumptions))  # fmt: skip
    raise typer.Exit(VIOLATED if rejected else DONE if held and len(held) == len(found) else INCONCLUSIVE)


ANSWERS: dict[str, Callable[[Tables, dict[str, Any], Limits], None]] = {
    "count": _count, "audit": _audit, "certify": _certify, "verify": _verify,
}  # fmt: skip
