"""Which engines would answer a release, and what they would start from: the plan before anything is solved.

The cells are listed and bounds propagated, as every engine over cells does first; what that says of an engine (the
cells are too many, or few enough for others) is among the reasons.
"""

from __future__ import annotations

from dataclasses import dataclass

from solvers.cells.components import Component, known_presolve
from solvers.cells.system import CellSystem, system_of
from solvers.engines.chain import ChainStep, engines_for, refusal
from solvers.foundation.errors import Inconclusive, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.histograms.decision_diagram import elimination_order, width
from solvers.statements.observations import StatementIndex
from solvers.statements.questions.answers import COARSE, FEW_CELLS, Engine
from solvers.statements.questions.query import Query
from solvers.statements.release import Release


@dataclass(frozen=True, slots=True)
class Widest:
    """The component with most cells, and how many of its statements are open at once in the order of counting.

    `width` None: not known within the limits.
    """

    cells: int
    statements: int
    width: int | None


@dataclass(frozen=True, eq=False)
class Presolved:
    """What is left to solve: live cells, those that propagation fixes, statements that still say something, components.

    `system` None: `reason` says why there are no cells, `late` that only the time was missing. `components` are those
    of the unconditional statements, `joined` those with the `choices` between alternatives. `conflict` are statements
    that propagation cannot meet; then nothing is left.
    """

    system: CellSystem | None
    reason: str = ""
    late: bool = False
    conflict: tuple[str, ...] = ()
    fixed: int = 0
    kept: int = 0
    components: int = 0
    joined: int = 0
    widest: Widest | None = None

    @property
    def cells(self) -> int:
        """Return the number of live cells."""
        return 0 if self.system is None else len(self.system.sizes)

    @property
    def statements(self) -> int:
        """Return the number of statements, those of alternatives included."""
        return 0 if self.system is None else len(self.system.linear)

    @property
    def choices(self) -> int:
        """Return the number of choices between alternatives."""
        return 0 if self.system is None else len(self.system.choices)


def presolved(release: Release, limits: Limits) -> Presolved:
    """Return what bound propagation leaves of a release; the limits end in a reason, not in an exception."""
    try:
        system = system_of(release, limits)
        if system.bounds.conflict is not None:
            return Presolved(system, conflict=(StatementIndex(release).source(system.bounds.conflict),))
        found = known_presolve(system, limits)
    except (Unsupported, Inconclusive) as error:
        return Presolved(None, str(error), late=isinstance(error, Inconclusive) and not isinstance(error, TooLarge))
    parts = found.components
    largest = max(parts, key=lambda part: len(part.cells), default=None)
    return Presolved(
        system, fixed=found.fixed, kept=found.kept, components=len(parts), joined=_joined_components(system, parts),
        widest=None if largest is None else _widest(largest, limits),
    )  # fmt: skip


def _widest(part: Component, limits: Limits) -> Widest:
    """Return how large a component is."""
    found = None
    if part.matrix is not None:
        try:
            found = width(part.matrix, elimination_order(part.matrix, limits))
        except Inconclusive:
            found = None
    return Widest(len(part.cells), len(part.statements), found)


def _joined_components(system: CellSystem, parts: tuple[Component, ...]) -> int:
    """Return the number of components when the alternatives of a choice join what they name."""
    if not system.choices:
        return len(parts)
    from networkx import Graph, number_connected_components

    of = {c: i for i, part in enumerate(parts) for c in part.cells.tolist()}
    graph: Graph[int] = Graph()
    graph.add_nodes_from(range(len(parts)))
    linear = system.linear
    for choice in system.choices:
        named = {
            of[c]
            for alternative in choice
            for s in alternative
            for c in linear.col[linear.start[s] : linear.start[s + 1]].tolist()
            if c in of
        }
        graph.add_edges_from((min(named), i) for i in named)
    return int(number_connected_components(graph))


def forecast(release: Release, query: Query, known: Presolved) -> tuple[ChainStep, ...]:
    """Return the engines that answer this kind of question in the order of the chain, with every refusal to expect.

    The first without a refusal is asked first; those behind it only where it gives up within its limits.
    """
    return tuple(
        ChainStep(engine.name, refusal(engine, release, query) or _foreseen(engine, known))
        for engine in engines_for(release, query)
    )


def _foreseen(engine: Engine, known: Presolved) -> str | None:
    """Return why an engine gives up as soon as it has looked at the cells, None where it goes on."""
    if engine.cells == "few" and known.system is None:
        return known.reason
    if known.system is None:
        return None
    if engine.cells == "many":
        return FEW_CELLS
    return COARSE if known.system.coarse and not engine.coarse and not known.conflict else None
