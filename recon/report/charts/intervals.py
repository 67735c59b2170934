"""Suppressed and interval cells: what was published, and what is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def interval_bars(interval_cells: Sequence[Mapping[str, Any]]) -> str:
    """Return the intervals as inline SVG, "" where there is nothing to draw."""
    return ""
