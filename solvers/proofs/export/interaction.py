"""Which attributes, and which cells, the statements of a release tie together: its interaction graphs.

Attributes that no chain of statements joins say nothing about each other: with the number of rows known, the `ordered`
worlds are those over one component times those over the others. Cells are joined through their statements (the
incidence graph is linear in the entries, joining all cells of a statement would be quadratic); the components are what
engines solve one by one.

Source: primal and incidence graphs of constraint networks, Dechter, "Constraint Processing", 2003, chapter 2; Samer and
Szeider, "Constraint satisfaction with bounded treewidth revisited", JCSS 76(2), 2010.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.components import known_presolve
from solvers.cells.linear_system import FREE
from solvers.cells.system import CellSystem, system_of
from solvers.foundation.displayed import escape_text
from solvers.foundation.errors import ContradictionError, TooLarge
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box
from solvers.statements.observations import StatementIndex
from solvers.statements.release import ANY_LABEL, Block, Choice, Partition, Release

if TYPE_CHECKING:
    from networkx import Graph
    from scipy.sparse import csc_matrix

SHOWN = 5  # sources named on an edge
PAIR_BYTES = 40  # of two attributes named together, both ways, in a sparse matrix and its upper half
EDGE_BYTES = 2_800  # of an edge or node and its attributes in memory and while it is written: measured 2,710 of cells
LETTER_BYTES = 6  # of its texts
PHASE = "the interaction graph was built"
Ints = NDArray[np.int64]
Source = Callable[[int], str]


def attribute_graph(release: Release, limits: Limits | None = None) -> Graph[str]:
    """Return the primal graph: nodes a0, a1, ... are attributes, an edge says that some statement names both.

    Nodes carry `name`, `values` (how many, in decimal digits), `parts`, `label`, `statements` (how many name it) and
    `component`; edges `statements` (how many name both) and `sources`, the first of them in words. A region names the
    attributes of the boxes taken out of it too, a choice those of all its alternatives. Raises `Inconclusive` when time
    is up, `TooLarge` where the graph does not fit into the memory. Cost: per statement, the square of what it names.
    """
    from networkx import Graph
    from scipy.sparse import triu

    limits = limits or Limits()
    graph: Graph[str] = Graph()
    for k, a in enumerate(release.domain.attributes):
        label = k == release.domain.label
        graph.add_node(
            f"a{k}", name=escape_text(a.name), values=str(a.total), parts=len(a.sizes), label=label, statements=0
        )
    sources: dict[tuple[str, str], list[str]] = {}
    for named, source in _incidences(release, limits):
        for k, times in enumerate(np.diff(named.indptr).tolist()):
            graph.nodes[f"a{k}"]["statements"] += times
        most = min(int((np.diff(named.tocsr().indptr).astype(float) ** 2).sum()), named.shape[1] ** 2)
        if most * PAIR_BYTES > limits.room:
            raise TooLarge(f"an interaction graph of up to {most // 2:,} edges (--memory)")
        both = triu(named.T @ named, k=1).tocoo()
        _make_room(graph.number_of_edges() + both.nnz, limits)
        for i, j, times in limits.paced(
            zip(both.row.tolist(), both.col.tolist(), both.data.tolist(), strict=True), PHASE
        ):
            pair = f"a{i}", f"a{j}"
            known = sources.setdefault(pair, [])
            if len(known) < SHOWN:
                known += map(source, _shared(named, i, j)[: SHOWN - len(known)].tolist())
            before = graph.get_edge_data(*pair, default={"statements": 0})
            graph.add_edge(*pair, statements=before["statements"] + times)
    for pair, known in sources.items():
        more = graph.edges[pair]["statements"] - len(known)
        graph.edges[pair]["sources"] = escape_text("; ".join(known) + (f"; and {more:,} more" if more else ""))
    return _numbered(graph)


def _incidences(release: Release, limits: Limits) -> Iterator[tuple[csc_matrix, Source]]:
    """Yield, per block, which attributes (columns) each of its statements (rows) names, and their sources in words.

    A choice counts as one statement. The impossible boxes come last, as statements of 0 rows.
    """
    for block in release.blocks:
        limits.check(PHASE)
        if isinstance(block, Partition):
            yield _partition_incidence(block, release, limits), block.source
            continue
        yield _listed_incidence(block, release)
    boxes = [set(_attributes_of(box)) for box in release.impossible]
    yield _incidence(boxes, len(release.domain.attributes)), "domain.impossible[{}]".format


def _partition_incidence(block: Partition, release: Release, limits: Limits) -> csc_matrix:
    """Return which attributes each statement of a partition names, the label where it counts one label."""
    from scipy.sparse import coo_matrix, csc_matrix

    boxes, columns = block.boxes, len(release.domain.attributes)
    row = np.repeat(np.arange(len(boxes)), np.diff(boxes.start))
    ones = np.ones(len(row), dtype=np.int64)
    regions = coo_matrix((ones, (row, boxes.attribute)), shape=(len(boxes), columns)).tocsr()
    if block.first_match:  # region j is what the boxes before j leave of box j
        if len(boxes) * columns * 2 > limits.room:
            raise TooLarge(f"the attributes named by {len(boxes):,} rules over {columns:,} attributes (--memory)")
        hit = np.maximum.accumulate(regions.astype(bool).toarray(), axis=0)
        if (entries := int(hit.sum(axis=1)[block.region].sum())) * PAIR_BYTES > limits.room:
            raise TooLarge(f"the {entries:,} attributes named by {len(block):,} statements of rules (--memory)")
        regions = coo_matrix(hit).astype(np.int64).tocsr()
    named = regions[block.region]
    labelled = np.flatnonzero(block.label != ANY_LABEL)
    if release.domain.label is not None and len(labelled):
        at = np.full(len(labelled), release.domain.label)
        extra = coo_matrix((np.ones(len(labelled), dtype=np.int64), (labelled, at)), shape=named.shape)
        named = named + extra.tocsr()
    found = csc_matrix(named)
    found.data[:] = 1
    return found


def _listed_incidence(block: Block, release: Release) -> tuple[csc_matrix, Source]:
    """Return which attributes each loose statement names, or a choice as a whole, and the sources in words."""
    columns = len(release.domain.attributes)
    if isinstance(block, Choice):
        return _incidence([block.mentioned(release.domain)], columns), lambda _: block.name
    members = [block.statement(s, release.domain) for s in range(len(block))]
    return _incidence([s.mentioned for s in members], columns), block.source


def _attributes_of(box: Box) -> Iterator[int]:
    """Yield the attributes that a box names."""
    return (k for k, _ in box.literals)


def _incidence(named: Sequence[set[int]], columns: int) -> csc_matrix:
    """Return sets of columns as a matrix of 0 and 1, a row per set."""
    from scipy.sparse import coo_matrix

    row = np.repeat(np.arange(len(named)), [len(one) for one in named])
    column = np.array([k for one in named for k in sorted(one)], dtype=np.int64)
    return coo_matrix((np.ones(len(row), dtype=np.int64), (row, column)), shape=(len(named), columns)).tocsc()


def _shared(named: csc_matrix, i: int, j: int) -> NDArray[Any]:
    """Return the rows that have entries in both columns, in order."""
    first, second = (named.indices[named.indptr[k] : named.indptr[k + 1]] for k in (i, j))
    return np.intersect1d(first, second, assume_unique=True)


def cell_graph(
    release: Release, boxes: Callable[[Sequence[Box]], str] | None = None, limits: Limits | None = None
) -> Graph[str]:
    """Return the incidence graph of what bound propagation leaves: free cells, and statements that still say something.

    Cells c0, c1, ... carry `kind`, `at_least`, `at_most` and `raw_rows` (decimal digits; left out in relative domains),
    and what `boxes` says of them; statements s0, ... `kind`, `source`, `at_least` and `at_most` of the rows in their
    free cells, weighted by `coef` of the edges (an open end is left out; of equal statements the first stands for all).
    Alternatives hang on nodes choice0, ... through their statements. All carry `component`. Raises `ContradictionError`
    where propagation finds no world, `TooLarge` for too many cells or a graph that does not fit into the memory,
    `Inconclusive` when time is up. Cost: linear in the entries.
    """
    from networkx import Graph

    limits = limits or Limits()
    system = system_of(release, limits)
    if system.bounds.conflict is not None:
        broken = StatementIndex(release).source(system.bounds.conflict)
        raise ContradictionError("the statements contradict each other: no cell is left to draw", (broken,))
    graph: Graph[str] = Graph()
    lower, upper, relative = system.bounds.lower, system.bounds.upper, system.release.domain.relative
    held, letters = len(system.linear.row) + len(system.free) + len(system.linear), 0
    _make_room(held, limits)
    for c in limits.paced(system.free.tolist(), PHASE):
        graph.add_node(f"c{c}", kind="cell", at_least=int(lower[c]), at_most=int(upper[c]))
        if not relative:
            graph.nodes[f"c{c}"]["raw_rows"] = str(system.sizes[c])
        if boxes is not None:
            text = graph.nodes[f"c{c}"]["boxes"] = boxes([system.boxes[i] for i in system.pieces[c]])
            _make_room(held, limits, letters := letters + len(text))
    index = StatementIndex(release)
    for s, low, high in limits.paced(_kept_statements(system, limits), PHASE):
        _add_statement(graph, system, index, s, (low, high))
    names = [choice.name for choice in system.release.choices.values()]
    for i, choice in enumerate(system.choices):
        graph.add_node(f"choice{i}", kind="choice", source=escape_text(names[i]))
        for a, alternative in enumerate(choice):
            for s in alternative:
                _add_statement(graph, system, index, s, _ends_left(system, s))
                graph.nodes[f"s{s}"]["alternative"] = a
                graph.add_edge(f"choice{i}", f"s{s}")
    return _numbered(graph)


def _kept_statements(system: CellSystem, limits: Limits) -> Iterator[tuple[int, int, int]]:
    """Yield (statement, low, high) of what propagation leaves to say, of the rows in free cells."""
    for part in known_presolve(system, limits).components:
        if part.matrix is None:
            raise TooLarge(
                f"a component of {len(part.cells):,} cells and {len(part.statements):,} statements (--memory)"
            )
        base = part.matrix @ system.bounds.lower[part.cells]
        for s, low, high, held in zip(*(x.tolist() for x in (part.statements, part.low, part.high, base)), strict=True):
            yield s, low if low <= -FREE else low + held, high if high >= FREE else high + held


def _ends_left(system: CellSystem, s: int) -> tuple[int, int]:
    """Return what statement s leaves for the rows in its free cells."""
    linear, fixed = system.linear, system.bounds.fixed
    span = slice(int(linear.start[s]), int(linear.start[s + 1]))
    col, coef = linear.col[span], linear.coef[span]
    held = int((coef * system.bounds.lower[col])[fixed[col]].sum())
    low, high = int(linear.low[s]), int(linear.high[s])
    return low if low <= -FREE else low - held, high if high >= FREE else high - held


def _add_statement(graph: Graph[str], system: CellSystem, index: StatementIndex, s: int, ends: tuple[int, int]) -> None:
    """Add a statement and its edges to the free cells that it counts."""
    linear, fixed = system.linear, system.bounds.fixed
    graph.add_node(f"s{s}", kind="statement", source=escape_text(index.source(s)))
    if ends[0] > -FREE:
        graph.nodes[f"s{s}"]["at_least"] = ends[0]
    if ends[1] < FREE:
        graph.nodes[f"s{s}"]["at_most"] = ends[1]
    span = slice(int(linear.start[s]), int(linear.start[s + 1]))
    for c, coef in zip(linear.col[span].tolist(), linear.coef[span].tolist(), strict=True):
        if not fixed[c]:
            graph.add_edge(f"c{c}", f"s{s}", coef=coef)


def _make_room(edges: int, limits: Limits, letters: int = 0) -> None:
    """Refuse a graph of so many edges and nodes, and letters of texts on them, that does not fit into the memory."""
    if (size := edges * EDGE_BYTES + letters * LETTER_BYTES) > limits.room:
        raise TooLarge(f"an interaction graph of {edges:,} nodes and edges takes {size / 1e6:,.0f} MB (--memory)")


def components(graph: Graph[str]) -> list[list[str]]:
    """Return the components of a graph, each in the graph's order of nodes, the one of the first node first."""
    from networkx import connected_components

    place = {node: i for i, node in enumerate(graph)}
    found = [sorted(part, key=place.__getitem__) for part in connected_components(graph)]
    return sorted(found, key=lambda part: place[part[0]])


def _numbered(graph: Graph[str]) -> Graph[str]:
    """Return the graph with the number of its component on every node."""
    for i, part in enumerate(components(graph)):
        for node in part:
            graph.nodes[node]["component"] = i
    return graph
