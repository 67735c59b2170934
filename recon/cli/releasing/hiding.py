"""`recon remedy` of tables of counts: cells are hidden until no count below the policy's threshold is given away."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import typer

from recon.cli.session import open_release
from recon.io.console.options import CommonOptions, suffix
from recon.io.console.output import VIOLATED, print_json, print_lines

if TYPE_CHECKING:
    from encoders.encode.encoder import EncodedRelease
    from encoders.models.models import Table
    from recon.release.policies.policy import Policy
    from recon.release.remediation.hiding import HiddenCells
    from solvers.foundation.limits import Limits
    from solvers.suppression.patterns import SuppressionPattern

THRESHOLDS = ("smallest_group", "smallest_cell")


def hide_in_tables(
    asked: CommonOptions, release: EncodedRelease, policy: Policy, out: str, limits: Limits, register: str | None,
    domain: str | None, method: str,
) -> None:  # fmt: skip
    """Write the tables with cells hidden where the exact audit finds that nothing is given away; else end with 1."""
    from recon.io.files.writing import writing
    from recon.release.remediation.hiding import hide_cells
    from recon.report.document.metadata import limits_json, limits_line
    from solvers.foundation.errors import Unsupported

    if suffix(out) not in {".json", ".csv"}:
        raise typer.BadParameter(f"'{out}' would be a model: tables are written to .json or .csv")
    wanted = [policy.values[key] for key in THRESHOLDS if isinstance(policy.values.get(key), int)]
    if not wanted:
        raise typer.BadParameter("cells of tables are hidden for a policy with smallest_group or smallest_cell")
    joined, earlier = release, 0
    if register is not None:
        joined = open_release([*release.files, *_known_files(register)], domain, False, limits, settle=False)
        earlier = len(joined.models) - len(release.models)
    limits.report("cells to hide are searched")
    try:
        found = hide_cells(joined, max(wanted), limits, earlier, method)
        content = _content(release, found.tables, out)
    except Unsupported as error:
        if not str(error).startswith("no pattern"):
            raise
        print_lines(f"recon: {error}", limits_line(limits), file=sys.stderr)
        raise typer.Exit(VIOLATED) from None
    _check_read_back(content, out, release, found.tables, limits)
    if found.holds:
        with writing(out, binary=True) as written:
            written.write(content)
    if asked.json:
        print_json(_as_json(release.file, out if found.holds else None, found) | {"limits": limits_json(limits)})
    else:
        print_lines(*_lines_of(release.file, out if found.holds else None, found))
        print_lines(limits_line(limits), file=sys.stderr)
    if not found.holds:
        raise typer.Exit(VIOLATED)


def _known_files(folder: str) -> list[str]:
    """Return the files of a register that are known outside; `ReleaseError` where one is not as registered."""
    from recon.release.registers.register import Register
    from solvers.foundation.errors import ReleaseError

    found = Register.read(folder)
    for entry in found.released:
        if (state := found.state(entry)) != "as registered":
            raise ReleaseError(f"{state}: what it says cannot count as known", file=found.path(entry))
    return [found.path(entry) for entry in found.released]


def _content(release: EncodedRelease, tables: tuple[Table, ...], out: str) -> bytes:
    """Return what the file will hold: CSV of one table, else a release file."""
    from recon.cli.releasing.remedy import alone
    from recon.readers.formats.printed.written_tables import table_text
    from recon.readers.formats.release.writing import dump, release_json

    if suffix(out) == ".csv":
        if len(tables) != 1:
            raise typer.BadParameter(f"CSV holds one table, not {len(tables)}: write .json")
        return table_text(tables[0], release.domain).encode()
    return dump(release_json(release.domain, [alone(table) for table in tables], release.rows)).encode()


def _check_read_back(
    content: bytes, out: str, release: EncodedRelease, tables: tuple[Table, ...], limits: Limits
) -> None:
    """Raise `Unsupported` unless the file, read again, says what the tables say: the audit was of these."""
    from recon.readers.loading.loading import load
    from solvers.foundation.errors import ReleaseError, Unsupported

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "hidden" + suffix(out))
        with open(path, "wb") as file:
            file.write(content)
        try:
            again = load(path, domain=release.domain, memory=limits.memory, limits=limits)
            same = _said(again, again.models) == _said(release, tables)
        except ReleaseError:
            same = False
    if not same:
        why = "is not read back as it was audited, so that nothing was written"
        raise Unsupported(f"the table in {suffix(out)} {why}: write .json")


def _said(release: EncodedRelease, tables: Any) -> list[Any]:
    """Return the figures of tables in an order: whom they are about, and between which numbers they are."""
    out = []
    for table in tables:
        for figure in table.figures():
            where = tuple(sorted(release.domain.resolve(figure.condition).items()))
            ends = (figure.count, figure.count) if figure.count is not None else (figure.low or 0, figure.high)
            out.append((where, ends))
    return sorted(out, key=repr)


def _pattern_json(pattern: SuppressionPattern, found: HiddenCells) -> dict[str, Any]:
    """Return a pattern as an object ready for JSON."""
    hidden = int(pattern.hidden.sum())
    return {"hidden": hidden, "further": hidden - found.sensitive, "cost": pattern.cost, "how": pattern.how,
            "attackable": len(pattern.attackable)}  # fmt: skip


def _as_json(file: str, written: str | None, found: HiddenCells) -> dict[str, Any]:
    """Return what was found as one object."""
    pattern = found.pattern
    return {
        "file": file, "outcome": "met" if found.holds else "violated", "written": written,
        "threshold": found.threshold, "cells": found.cells, "sensitive": found.sensitive,
        "narrowest": found.least, "least_cost": pattern.bound or None, "attacks": pattern.attacks,
        "pattern": _pattern_json(pattern, found), "hypercube": _pattern_json(found.other, found),
    }  # fmt: skip


def _lines_of(file: str, written: str | None, found: HiddenCells) -> list[str]:
    """Return what was found in words."""
    pattern, hidden = found.pattern, int(found.pattern.hidden.sum())
    small = f"{found.sensitive:,} counts below {found.threshold:,}, or hidden before"
    lines = [f"{file}: {small}; {hidden:,} cells are hidden in all"]
    proved = f", at least {pattern.bound:,} of any" if 0 < pattern.bound < pattern.cost else ""
    cheapest = " (no pattern hides fewer)" if 0 < pattern.bound >= pattern.cost else proved
    lines.append(f"  further people in hidden cells  {pattern.cost:,}{cheapest}: {pattern.how}")
    other = found.other
    undone = f"; {len(other.attackable):,} sensitive cells are too narrow in it" if len(other.attackable) else ""
    lines.append(f"  by hypercubes                   {other.cost:,}{undone}")
    if found.least is not None:
        lines.append(f"  narrowest sensitive cell        {found.least:,} rows between the least and the most")
    if written is None:
        return [*lines, f"nothing was written: {len(pattern.attackable):,} sensitive cells stay too narrow"]
    return [*lines, f"written: {written}, read again and audited exactly"]
