"""Values and boxes of parts as a release file writes them, in JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from encoders.domain.values import Continuous, Listed, Position, plain
from encoders.parts.resolutions import CutDomain
from solvers.statements.boxes import Box

LARGE = 1 << 53  # whole numbers beyond are written as decimal strings, as everywhere


def number(x: int) -> int | str:
    """Return a whole number for JSON; a decimal string beyond 2^53."""
    return x if abs(x) <= LARGE else str(x)


def dumped(value: Any) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def values_json(cut: CutDomain, k: int, mask: int) -> list[Any]:
    """Return the values of some parts of an attribute: values, and ranges as a release file writes them."""
    cuts = cut.cuts[k]
    spans: list[tuple[Any, Any]] = []
    for p in range(len(cuts.sizes)):
        if mask >> p & 1:
            start = spans.pop()[0] if spans and spans[-1][1] == cuts.edges[p] else cuts.edges[p]
            spans.append((start, cuts.edges[p + 1]))
    attribute, gaps = cuts.attribute, []
    if spans and spans[-1][1] > attribute.known[1]:  # a range says nothing about missing values
        start, gaps = spans.pop()[0], [{"missing": True}]
        spans += [(start, attribute.known[1])] if start < attribute.known[1] else []
    if isinstance(attribute, Continuous):
        return [_range_json(a, b) for a, b in spans] + gaps
    if isinstance(attribute, Listed):
        return [attribute.value(i) for a, b in spans for i in range(a, b)] + gaps
    return [
        attribute.value(a) if b == a + 1 else {"at_least": attribute.value(a), "at_most": attribute.value(b - 1)}
        for a, b in spans
    ] + gaps


def _range_json(start: Position, end: Position) -> dict[str, Any]:
    """Return a range of numbers as a release file writes it: an open end is left out, all numbers are not missing."""
    low = {} if isinstance(start[0], float) else {"above" if start[1] else "at_least": plain(start[0])}
    high = {} if isinstance(end[0], float) else {"at_most" if end[1] else "below": plain(end[0])}
    return low | high or {"missing": False}


def boxes_json(cut: CutDomain) -> Callable[[Box], dict[str, Any]]:
    """Return what writes a box: attribute -> the values that it allows; every literal is written once and kept."""
    values: dict[tuple[int, int], list[Any]] = {}

    def box_json(box: Box) -> dict[str, Any]:
        for literal in box.literals:
            if literal not in values:
                values[literal] = values_json(cut, *literal)
        return {cut.cuts[k].attribute.name: values[k, m] for k, m in box.literals}

    return box_json
