"""`recon register`: the earlier releases of a project, listed, checked and added to."""

from __future__ import annotations

import datetime
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from recon.cli.session import Json, ReadingMemory, ReadingSeconds
from recon.io.console.output import aligned, ended_at_once, print_json, print_lines, working
from solvers.foundation.displayed import quote

if TYPE_CHECKING:
    from recon.release.registers.register import Register

Folder = Annotated[str, typer.Argument(metavar="FOLDER", help="The register: a folder with register.toml in it.")]
Add = Annotated[str | None, typer.Option("--add", help="A file that was decided about: copied in and registered.")]
Decision = Annotated[
    str | None,
    typer.Option("--decision", help="release, 'release with changes', withdrawn or 'do not release'."),
]
Date = Annotated[str | None, typer.Option("--date", help="Day of the decision, YYYY-MM-DD; by default today.")]
Note = Annotated[str | None, typer.Option("--note", help="A remark to keep with it.")]
Policy = Annotated[str | None, typer.Option("--policy", help="The policy it was judged by: name and hash are kept.")]
Domain = Annotated[
    str | None, typer.Option("--domain", help="Release file whose domain all releases are read with: copied in.")
]
DataSet = Annotated[str | None, typer.Option("--dataset", help="Which version of the data it is about.")]
Since = Annotated[str | None, typer.Option("--from", help="Data set that this one is made from.")]
Removed = Annotated[int | None, typer.Option("--removed", min=0, help="Rows that left since the data set of --from.")]
Added = Annotated[int | None, typer.Option("--added", min=0, help="Rows that came since the data set of --from.")]
TotalsOf = Annotated[
    str | None, typer.Option("--totals-of", help="It is a table of totals of this column (CSV): for recon magnitudes.")
]
Check = Annotated[bool, typer.Option("--check", help="End with exit code 3 if a file is missing or changed.")]


def register(
    folder: Folder, add: Add = None, decision: Decision = None, date: Date = None, note: Note = None,
    policy: Policy = None, domain: Domain = None, dataset: DataSet = None, since: Since = None,
    removed: Removed = None, added: Added = None, totals_of: TotalsOf = None, check: Check = False,
    seconds: ReadingSeconds = None, memory: ReadingMemory = "1G", json: Json = False,
) -> None:  # fmt: skip
    """List the earlier releases about the same rows, check that they are unchanged, or register another one."""
    from recon.release.registers.register import Register
    from solvers.statements.release import RowCount

    given = {
        "--decision": decision, "--date": date, "--note": note, "--policy": policy, "--domain": domain,
        "--dataset": dataset, "--from": since, "--removed": removed, "--added": added, "--totals-of": totals_of,
    }  # fmt: skip
    if add is None and (idle := [name for name, value in given.items() if value is not None]):
        raise typer.BadParameter(f"{', '.join(idle)} belongs to a file that is added: give it with --add FILE")
    with working(seconds, memory, 1, quiet=True) as limits, ended_at_once():
        if add is None:
            found = Register.read(folder)
        else:
            day = _checked_date(date)
            decided = _checked_decision(decision)
            left, came = (None if k is None else RowCount(k, k) for k in (removed, added))
            found = Register.opened(folder).add(
                add, decided, date=day, note=note or "", policy=policy, domain=domain, dataset=dataset or "",
                origin=since or "", removed=left, added=came, totals=totals_of or "",
            )  # fmt: skip
            print_lines(f"registered: {found.entries[-1].file} ({decided}, {day})", file=sys.stderr)
        states = found.states(limits)
    if json:
        print_json(found.to_json(states))
    else:
        print_lines(*_register_lines(found, states))
    if check:
        found.check()


def _checked_decision(decision: str | None) -> str:
    """Return the decision; wrong usage where it is left out or no decision."""
    from recon.release.registers.index import DECISIONS

    if decision not in DECISIONS:
        said = "is missing" if decision is None else f"is not {quote(decision)}"
        raise typer.BadParameter(f"--decision {said}: choose one of {', '.join(DECISIONS)}")
    return decision


def _checked_date(date: str | None) -> str:
    """Return the day of a decision, today where it is left out; wrong usage for what is no day."""
    from recon.release.registers.index import date_of
    from solvers.foundation.errors import ReleaseError

    try:
        return date_of(datetime.date.today() if date is None else date)
    except ReleaseError as error:
        raise typer.BadParameter(f"--date {error.message}") from None


def _register_lines(found: Register, states: list[str]) -> list[str]:
    """Return the register as lines for people: a table, what is known, and what nobody registered."""
    from recon.release.registers.register import AS_REGISTERED

    head = ("", "file", "date", "decision", "SHA-256", "state", "note")
    table = [head]
    for i, (one, state) in enumerate(zip(found.entries, states, strict=True), 1):
        about = one.dataset and f"data set: {next(one.data_set(one.dataset).lines(), one.dataset)}"
        adds_up = one.totals and f"totals of {one.totals}"
        note = "; ".join(part for part in (one.note, about, adds_up, one.policy and f"policy: {one.policy}") if part)
        shown = state if state == AS_REGISTERED else state.upper()
        table.append(
            (str(i), quote(one.file, 60), one.date, one.decision, f"{one.sha256[:12]}...", shown, quote(note, 100))
        )
    lines = aligned(table)
    title = found.index.name or found.folder
    known = len(found.released) + len(found.totals)
    shared = f"; read with the domain of {quote(found.index.domain)}" if found.index.domain else ""
    rows = "" if found.index.rows is None else f"; {found.index.rows:,} rows"
    wrong = sum(state != AS_REGISTERED for state in states)
    number = "1 release" if len(table) == 2 else f"{len(table) - 1} releases"
    lines = [f"Register {quote(title)}: {number}, {known} published{shared}{rows}", "", *lines]
    if wrong:
        lines += [
            "",
            f"{wrong} of them cannot be joined with a new release: missing, or not the file that was registered",
        ]
    strangers = found.unregistered()
    if strangers:
        names = ", ".join(quote(name, 60) for name in strangers[:10]) + (", ..." if len(strangers) > 10 else "")
        lines += ["", f"not registered, and not looked at: {names}"]
    return lines
