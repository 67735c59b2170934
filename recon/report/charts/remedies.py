"""What remedies change: new figures beside old."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def remedy_bars(remedies: Sequence[Mapping[str, Any]]) -> str:
    """Return the figures as inline SVG, "" where there is nothing to draw."""
    return ""
