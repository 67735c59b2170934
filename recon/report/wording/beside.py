"""What a report says of remedies, a line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

HELPS = {
    "pinned": "people known exactly", "bits_left_per_person": "bits left per person",
    "smallest_group": "rows in the smallest group",
}  # fmt: skip


def help_line(one: Mapping[str, Any]) -> str:
    """Return one line on a remedy: what it leaves of the figures, what it costs, what the policy says."""
    figures = [f"{interval_text(one[key])} {words}" for key, words in HELPS.items() if one.get(key) is not None]
    accuracy = [] if one.get("accuracy") is None else [f"accuracy {100 * one['accuracy']:.1f} %"]
    said = {"met": ["meets the policy"], "violated": ["does not meet the policy"]}.get(str(one.get("outcome")), [])
    text = ", ".join([*figures, *accuracy, *said]) or str(one.get("note") or one["status"])
    return f"{one['remedy']}: {text}"


def interval_text(ends: Sequence[Any]) -> str:
    """Return a figure, or that it is bounded."""
    least, most = (x if x is None else f"{x:,.2f}" if isinstance(x, float) else f"{x:,}" for x in ends)
    if most is None:
        return f"at least {least}"
    return str(most) if least == most else f"{least} to {most}"
