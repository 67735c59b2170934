"""The ways to answer: one module and one class each, listed here in the order in which the chain asks them.

Exact answers come first, the cheapest before the dearer ones; then worlds and bounds over cells; then what needs no
cells; last the model counters of other people, whose figures nobody proved.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solvers.statements.questions.engine import Engine

COUNTERS = (
    ("d4", "D4Engine"),
    ("ganak", "GanakEngine"),
    ("approxmc", "ApproxMCEngine"),
)
ENGINES = (
    ("closed_form", "ClosedFormEngine"),
    ("leaf_values", "LeafValuesEngine"),
    ("likeliest", "LikeliestEngine"),
    ("assignments", "AssignmentsEngine"),
    ("draws", "DrawsEngine"),
    ("histogram", "HistogramEngine"),
    ("cpsat", "CpSatEngine"),
    ("interval", "IntervalEngine"),
    ("lp", "LinearProgramEngine"),
    ("columns", "ColumnsEngine"),
    ("local_search", "LocalSearchEngine"),
    ("sat", "SatEngine"),
    ("rows", "RowsEngine"),
    *COUNTERS,
)


def made(module: str, name: str) -> Engine:
    """Return an engine of the list, its module imported on the way."""
    engine: Engine = getattr(importlib.import_module(f"{__name__}.{module}"), name)()
    return engine
