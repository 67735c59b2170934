"""Attributes by the bits that a release reveals of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def attribute_bars(attribute_bits: Sequence[Mapping[str, Any]]) -> str:
    """Return the bars as inline SVG, "" where there is nothing to draw."""
    return ""
