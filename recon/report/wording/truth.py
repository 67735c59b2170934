"""What a report says where the true rows are given: is the truth a world, how much is given back."""

from __future__ import annotations

from typing import Any

from recon.release.auditing.findings import TruthCheck
from recon.report.wording.group_report import SHOWN
from recon.report.wording.headline import finite


def truth_json(check: TruthCheck) -> dict[str, Any]:
    """Return the truth check as an object ready for JSON."""
    out: dict[str, Any] = {"is_world": check.is_world, "violated": list(check.violated), "note": check.note}
    out |= {"trail": list(check.trail)} if check.trail else {}
    if check.comparison is not None:
        match = check.comparison.match
        out["reconstruction"] = {
            "rows_right": match.rows_right,
            "share_right": match.share_right,
            "cells_right": finite(match.cells_right),
            "unique_rows": match.unique_rows,
            "unique_right": match.unique_right,
            "unique_proved": check.proved,
        }
        out["baselines"] = [
            {"name": b.name, "share_right": b.share_right, "cells_right": finite(b.cells_right)}
            for b in check.comparison.baselines
        ]
    return out


def truth_lines(check: TruthCheck) -> list[str]:
    """Return the lines on the truth."""
    lines = ["the true rows are a possible world" if check.is_world else "the true rows are NOT a possible world:"]
    lines += list(check.violated[:SHOWN])
    if check.comparison is None:
        return [*lines, check.note]

    def shares(rows: float, cells: float | None) -> str:
        return f"{100 * rows:.1f} % of rows, {'-' if cells is None else f'{100 * cells:.1f} %'} of cells right"

    match = check.comparison.match
    lines.append(f"one reconstruction: {shares(match.share_right, match.cells_right)}")
    lines += [f"baseline, {b.name}: {shares(b.share_right, b.cells_right)}" for b in check.comparison.baselines]
    lines += [match.note] if match.note else []
    proved = "not decided" if check.proved is None else f"{check.proved:,}"
    lines.append(
        f"rows that occur once in the truth: {match.unique_rows:,}; given back: {match.unique_right:,}; "
        f"in every possible world: {proved}"
    )
    return lines
