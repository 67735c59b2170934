"""The interaction graph of a release as GraphML, for programs that draw and measure graphs.

Source: Brandes, Eiglsperger, Lerner, "GraphML primer", 2001; networkx writes and reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from encoders.encode.encoder import EncodedRelease
from recon.models.boxes import boxes_json, dumped
from solvers.foundation.errors import ReleaseError
from solvers.foundation.escaping import json_shown, shown
from solvers.foundation.limits import Limits
from solvers.proofs.export.interaction import attribute_graph, cell_graph, components

if TYPE_CHECKING:
    from networkx import Graph

NODES = ("attributes", "cells")


@dataclass(frozen=True, eq=False)
class Drawn:
    """A graph and what to know about it; the graph's own attribute `about` says the same."""

    graph: Graph[str]
    about: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Yield GraphML line by line, the same for the same release."""
        from networkx import generate_graphml

        yield "<?xml version='1.0' encoding='utf-8'?>\n"
        yield from (f"{line}\n" for line in generate_graphml(self.graph))


def interaction_graph(release: EncodedRelease, nodes: str, about: tuple[str, ...], limits: Limits) -> Drawn:
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
    graph.graph["about"] = shown("; ".join(about))
    return Drawn(graph, about)


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
