"""`recon plan`: which engines would be asked, in which order, why not others, and what is left for them to solve.

Nothing is solved. Cells are listed and bounds propagated, as every engine over cells does first, within the limits.
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from encoders.encode.encoder import EncodedRelease
from recon.queries.answers.counting import convention_of
from recon.readers.loading.loading import Released, release_of
from solvers.engines.chain import ChainStep
from solvers.engines.forecast import Presolved, forecast, presolved
from solvers.foundation.displayed import Displayed, DisplayFacts, escape_text, many
from solvers.foundation.errors import Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import STAGES, Limits
from solvers.proofs.export.interaction import attribute_graph, components
from solvers.statements.questions.query import QUERIES, Convention

if TYPE_CHECKING:
    from rich.table import Table

QUESTIONS = {kind.question: kind.about for kind in QUERIES}
WIDEST = 160  # columns of a table, where the terminal is wider
SOLVED_FIRST = "its leaf values are solved first (leaf_values); questions are then asked with what that proves"
STAGED = (
    "share and floor are of --time and of work, the cap is of work alone: work is counted, so that it is the same on",
    "every machine; a second of it takes about a second. Without --time work alone ends a stage. audit, positions and",
    "remedy have --time 60, unless it is given (--time none: no limit).",
)
NAMED = 12  # attributes of a component named in text


@dataclass(frozen=True, slots=True)
class Interaction:
    """The interaction graph of the attributes: names per component, edges, and why there is none (`reason`)."""

    components: tuple[tuple[str, ...], ...] = ()
    edges: int = 0
    reason: str = ""
    late: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Displayed):
    """What `recon plan` found: what the presolve leaves, which attributes interact, and the engines for each question.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier().fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> found = recon.plan(release, "count")
    >>> found.convention, sorted(found.steps)
    ('assigned', ['count'])
    """

    release: EncodedRelease
    convention: Convention
    left: Presolved
    interaction: Interaction
    steps: Mapping[str, tuple[ChainStep, ...]]

    @property
    def status(self) -> str:
        """Return "unsat" or "empty" where propagation finds no world (at this confidence), "unknown" out of time."""
        if self.left.conflict:
            return "unsat" if self.release.certain else "empty"
        return "unknown" if self.left.late or self.interaction.late else "exact"

    @property
    def boosted(self) -> tuple[str, ...]:
        """Return the boosted models whose leaf values are solved before any question is asked."""
        return tuple(model.name for model in self.release.statements.boosted)

    def _facts(self) -> DisplayFacts:
        left = self.left
        cells = left.reason or f"{many(left.kept, 'statement')} left, {many(left.components, 'component')}"
        lines = [(name, ", ".join(self.asked(name)) or "none") for name in self.steps]
        pairs = [("status", self.status), ("convention", self.convention), ("attributes tied", self.interaction.edges)]
        line = f"{many(len(lines), 'question')}, {cells}, {self.status} ({self.convention})"
        return DisplayFacts(
            line, pairs, ("question", "engines, in their order"), lambda: lines, len(lines), left.conflict
        )

    def asked(self, question: str) -> tuple[str, ...]:
        """Return the engines that do not refuse a question, in the order in which they are asked."""
        return tuple(step.engine for step in self.steps[question] if step.refusal is None)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON."""
        left, rows = self.left, self.release.rows
        widest = left.widest
        known = left.system is not None
        return {
            "recon_plan": 1,
            "release": {"name": os.path.basename(self.release.file), "sha256": self.release.sha256},
            "rows": {"at_least": rows.low, "at_most": rows.high},
            "status": self.status,
            "presolve": {
                "reason": left.reason or None,
                "conflict": list(left.conflict),
                "cells": left.cells if known else None,
                "free_cells": left.cells - left.fixed if known and not left.conflict else None,
                "statements": left.statements if known else None,
                "statements_left": left.kept if known and not left.conflict else None,
                "choices": left.choices if known else None,
                "components": left.joined if known and not left.conflict else None,
                "widest": None
                if widest is None
                else {"cells": widest.cells, "statements": widest.statements, "open_at_once": widest.width},
            },
            "interaction": {
                "reason": self.interaction.reason or None,
                "edges": None if self.interaction.reason else self.interaction.edges,
                "components": None if self.interaction.reason else [list(c) for c in self.interaction.components],
            },
            "solved_first": list(self.boosted),
            "convention": self.convention,
            "questions": [
                {
                    "question": name,
                    "about": QUESTIONS[name],
                    "asked": list(self.asked(name)),
                    "steps": [{"engine": s.engine, "refusal": s.refusal} for s in steps],
                }
                for name, steps in self.steps.items()
            ],
            "stages": [
                {
                    "stage": name,
                    "about": s.about,
                    "share": s.share,
                    "floor": s.floor,
                    "cap": s.cap if s.capped else None,
                }
                for name, s in STAGES.items()
            ],
            "assumptions": list(self.release.assumptions),
        }

    def lines(self) -> Iterator[str]:
        """Yield the plan for people, line by line."""
        yield f"Plan for {self.release.file or 'a release in memory'}"
        yield ""
        yield from _left_lines(self.left)
        yield from _interaction_lines(self.interaction)
        yield from (f"{name}: {SOLVED_FIRST}" for name in self.boosted)
        yield ""
        asked = [(name, " > ".join(self.asked(name)) or "none: every engine refuses") for name in self.steps]
        yield from _table_lines(("question", f"engines in this order (convention: {self.convention})"), asked)
        refused: dict[tuple[str, str], list[str]] = {}
        for name, steps in self.steps.items():
            for step in steps:
                if step.refusal is not None:
                    refused.setdefault((step.engine, step.refusal), []).append(name)
        if refused:
            yield ""
            every = [(e, ", ".join(q) if len(q) < len(self.steps) else "all", why) for (e, why), q in refused.items()]
            yield from _table_lines(("engine", "refuses", "because"), every)
        yield ""
        yield "the first is asked; those behind it where the ones before give up or leave something open"
        yield ""
        yield from _table_lines(("stage", "share", "at least", "at most", "of what is left"), _stage_lines())
        yield ""
        yield from STAGED


def _stage_lines() -> Iterator[tuple[str, ...]]:
    """Yield the stages with what each may take: share, floor and cap, in seconds."""
    for name, stage in STAGES.items():
        floor, cap = f"{stage.floor:g} s" if stage.floor else "", f"{stage.cap:g} s" if stage.capped else ""
        yield name, f"{stage.share:.3g}", floor, cap, stage.about


def _left_lines(left: Presolved) -> Iterator[str]:
    """Yield what the presolve leaves."""
    if left.system is None:
        yield f"cells: {left.reason}"
        return
    yield f"live cells: {left.cells:,}, tied by {left.statements:,} statements"
    if left.conflict:
        yield "left by bound propagation: nothing, the statements contradict each other:"
        yield from (f"  {text}" for text in left.conflict)
        return
    yield f"left by bound propagation: {left.cells - left.fixed:,} free cells, {left.kept:,} statements"
    if left.choices:
        yield f"choices between alternatives: {left.choices:,}"
    if left.widest is None:
        yield "components: none, every cell is fixed"
        return
    open_ = "" if left.widest.width is None else f", of which {left.widest.width:,} are open at once"
    widest = f"the widest of {left.widest.cells:,} cells and {left.widest.statements:,} statements{open_}"
    joined = "" if left.joined == left.components else f" ({left.components:,} without the choices)"
    yield f"components: {left.joined:,}{joined}, {widest}"


def _interaction_lines(found: Interaction) -> Iterator[str]:
    """Yield the components of the attributes."""
    if found.reason:
        yield f"attributes: {found.reason}"
        return
    tied = [part for part in found.components if len(part) > 1]
    alone = len(found.components) - len(tied)
    yield f"attributes that statements tie together: {len(tied):,} component{'s' * (len(tied) != 1)}, {alone:,} alone"
    for part in tied:
        more = f" and {len(part) - NAMED:,} more" if len(part) > NAMED else ""
        yield f"  {', '.join(part[:NAMED])}{more}"


def _table_lines(head: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> list[str]:
    """Return a table as lines of text."""
    from rich.console import Console
    from rich.text import Text

    table = _empty_table(head)
    for line in lines:
        table.add_row(*(Text(escape_text(cell)) for cell in line))
    out = io.StringIO()
    wide = min(WIDEST, shutil.get_terminal_size((120, 40)).columns)
    Console(file=out, width=wide, color_system=None, force_terminal=False).print(table)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def _empty_table(head: tuple[str, ...]) -> Table:
    """Return a table without lines, its last column as wide as there is room."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for i, name in enumerate(head):
        table.add_column(name, overflow="fold", no_wrap=i == 0)
    return table


def plan(
    release: Released,
    question: str | None = None,
    convention: str | None = None,
    limits: Limits | None = None,
) -> Plan:
    """Return which engines would be asked, in which order, and what they start from; nothing is solved.

    `question`: one of `QUESTIONS`, by default all. Raises `ReleaseError` for an unknown question, `Unsupported` for a
    convention that the release does not have. Limits end in reasons inside the plan, not in an exception.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier().fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> recon.plan(release, "count")
    <Plan: 1 question, 0 statements left, 0 components, exact (assigned)>
    """
    release = release_of(release, limits)
    limits = limits or Limits()
    if question is not None and question not in QUESTIONS:
        raise ReleaseError(f"there is no question '{question}': choose {', '.join(QUESTIONS)}")
    chosen = convention_of(release, convention)
    left = presolved(release.statements, limits)
    asked = {kind.question: kind.example(chosen) for kind in QUERIES if question in {None, kind.question}}
    steps = {name: forecast(release.statements, query, left) for name, query in asked.items()}
    return Plan(release, chosen, left, _interaction(release, limits), steps)


def _interaction(release: EncodedRelease, limits: Limits) -> Interaction:
    """Return the components of the attributes, or why they are not known."""
    try:
        graph = attribute_graph(release.statements, limits)
    except (Unsupported, Inconclusive) as error:
        return Interaction(reason=str(error), late=isinstance(error, Inconclusive))
    parts = tuple(tuple(graph.nodes[node]["name"] for node in part) for part in components(graph))
    return Interaction(parts, graph.number_of_edges())
