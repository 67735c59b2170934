"""A tree or rule list drawn with exposure as colour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def model_drawing(drawing: Mapping[str, Any] | None) -> str:
    """Return the model as inline SVG, "" where there is nothing to draw."""
    return ""
