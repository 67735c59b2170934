"""The interaction graph of a release as GraphML, for programs that draw and measure graphs.

Source: Brandes, Eiglsperger, Lerner, "GraphML primer", 2001; networkx writes and reads it.

Values and boxes of parts as a release file writes them, in JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from encoders.domain.values import Categorical, Continuous, Position, plain_number
from encoders.encode.encoder import EncodedRelease
from encoders.parts.base import CutDomain
from solvers.foundation.displayed import escape_text, json_shown
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits
from solvers.proofs.export.interaction import attribute_graph, cell_graph, components
from solvers.statements.boxes import Box, spans

if TYPE_CHECKING:
    from networkx import Graph

KEPT = 1 << 18  # values of literals that are kept while boxes are written
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
    runs: list[tuple[Any, Any]] = []
    for a, b in spans(mask):
        start = runs.pop()[0] if runs and runs[-1][1] == cuts.edges[a] else cuts.edges[a]
        runs.append((start, cuts.edges[b]))
    attribute, gaps = cuts.attribute, []
    if runs and runs[-1][1] > attribute.known[1]:  # a range says nothing about missing values
        start, gaps = runs.pop()[0], [{"missing": True}]
        runs += [(start, attribute.known[1])] if start < attribute.known[1] else []
    if isinstance(attribute, Continuous):
        return [_range_json(a, b) for a, b in runs] + gaps
    if isinstance(attribute, Categorical):
        return [attribute.value(i) for a, b in runs for i in range(a, b)] + gaps
    return [
        attribute.value(a) if b == a + 1 else {"at_least": attribute.value(a), "at_most": attribute.value(b - 1)}
        for a, b in runs
    ] + gaps


def _range_json(start: Position, end: Position) -> dict[str, Any]:
    """Return a range of numbers as a release file writes it: an open end is left out, all numbers are not missing."""
    low = {} if isinstance(start[0], float) else {"above" if start[1] else "at_least": plain_number(start[0])}
    high = {} if isinstance(end[0], float) else {"at_most" if end[1] else "below": plain_number(end[0])}
    return low | high or {"missing": False}


def boxes_json(cut: CutDomain) -> Callable[[Box], dict[str, Any]]:
    """Return what writes a box: attribute -> the values that it allows; literals are kept, up to `KEPT` values."""
    values: dict[tuple[int, int], list[Any]] = {}
    kept = 0

    def box_json(box: Box) -> dict[str, Any]:
        nonlocal kept
        if kept > KEPT:
            values.clear()
            kept = 0
        for literal in box.literals:
            if literal not in values:
                values[literal] = values_json(cut, *literal)
                kept += len(values[literal])
        return {cut.cuts[k].attribute.name: values[k, m] for k, m in box.literals}

    return box_json


NODES = ("attributes", "cells")


@dataclass(frozen=True, eq=False)
class DrawnGraph:
    """A graph and what to know about it; the graph's own attribute `about` says the same."""

    graph: Graph[str]
    about: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Yield GraphML line by line, the same for the same release."""
        from networkx import generate_graphml

        yield "<?xml version='1.0' encoding='utf-8'?>\n"
        yield from (f"{line}\n" for line in generate_graphml(self.graph))


def interaction_graph(release: EncodedRelease, nodes: str, about: tuple[str, ...], limits: Limits) -> DrawnGraph:
    """Return the graph of the attributes or of the cells of a release; `about` is said before what nodes mean.

    Raises `ReleaseError` for other nodes, `TooLarge` (--max-cells, --memory), `ContradictionError` where propagation
    leaves no cell, `Inconclusive` when time is up.
    """
    if nodes not in NODES:
        raise ReleaseError(f"a graph of '{nodes}' is not drawn: choose {' or '.join(NODES)}")
    if nodes == "attributes":
        graph = attribute_graph(release.statements, limits)
    else:
        values = boxes_json(release.cut)
        graph = cell_graph(release.statements, lambda boxes: json_shown(dumped(list(map(values, boxes)))), limits)
    about = (*about, *_meaning(nodes, len(components(graph))))
    graph.graph["about"] = escape_text("; ".join(about))
    return DrawnGraph(graph, about)


def _meaning(nodes: str, number: int) -> tuple[str, ...]:
    """Return what nodes, edges and the components are."""
    one = "component" if number == 1 else "components"
    if nodes == "attributes":
        return (
            "nodes are attributes, an edge says in how many statements both are named and which come first",
            f"{number:,} {one}: with the number of rows known, no statement ties attributes of different ones",
        )
    return (
        "nodes are the cells that bound propagation leaves free (c), the statements that still tie them (s), and "
        "choices between alternatives; an edge says how often a row of the cell counts in the statement (coef)",
        "at_least and at_most of a statement bound the rows in its free cells alone",
        f"{number:,} {one}: cells of different ones have nothing to do with each other",
    )
