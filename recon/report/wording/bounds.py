"""What `recon bound` prints: the least and greatest value of a statistic over all worlds."""

from __future__ import annotations

from typing import Any

from recon.queries.answers.reasons import plain_reasons
from recon.queries.bounds.bound_answer import BoundAnswer
from recon.report.rendering import number
from recon.report.wording.group_report import rows_text
from solvers.foundation.escaping import shown


def bound_json(found: BoundAnswer) -> dict[str, Any]:
    """Return the object that `recon bound --json` prints."""
    keys = ("min", "max", "expectation", "status", "convention", "engine")
    why = {"why_bounds": plain_reasons(found.trail)} if found.status == "bounds" and found.trail else {}
    out = {k: getattr(found, k) for k in keys} | {"assumptions": list(found.assumptions), "trail": list(found.trail)}
    out["informative"] = found.informative
    return out | why


def bound_line(found: BoundAnswer, of: str | None) -> str:
    """Return the line that `recon bound` prints."""
    if found.min is None or found.max is None:
        return f"in no world is there a figure to bound   [{found.convention}; {found.status}]"
    text, of = f"   [{found.convention}; {found.status}]", None if of is None else shown(of)
    if found.informative is False:
        text += "\nthis says no more than the domain and the number of rows do by themselves"
    if found.status == "bounds" and found.trail:
        text += f"\nwhy bounds only: {shown(plain_reasons(found.trail))}"
    if of is None:
        if found.min == found.max:
            return f"{rows_text(int(found.min))} in every world{text}"
        return f"between {found.min:,} and {rows_text(int(found.max))}{expected_text(found)}{text}"
    what = "correlation" if "," in of else "mean"
    if found.min == found.max:
        return f"{what} of {of}: {number(found.min)} in every world that has one{text}"
    return f"{what} of {of}: between {number(found.min)} and {number(found.max)}{expected_text(found)}{text}"


def expected_text(found: BoundAnswer) -> str:
    """Return the mean over worlds for people, and that there is none where it is not known."""
    known = found.expectation
    return ", expected value not known" if known is None else f", {number(known)} expected"
