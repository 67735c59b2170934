"""The ways to answer: a class each, of one kind in a module, listed here in the order in which the chain asks them.

Exact answers come first, the cheapest before the dearer ones; then worlds and bounds over cells; then what needs no
cells; last the model counters of other people, whose figures nobody proved.

>>> import pandas as pd
>>> import recon
>>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
>>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
>>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
>>> from solvers.foundation.limits import Limits
>>> from solvers.engines.chain import answer
>>> from solvers.statements.questions.query import Count
>>> answer(release.statements, Count("ordered"), Limits())
<CountAnswer: 192 worlds, exact (ordered)>
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solvers.statements.questions.engine import Engine

COUNTERS = (
    ("counters", "D4Engine"),
    ("counters", "GanakEngine"),
    ("counters", "ApproxMCEngine"),
)
ENGINES = (
    ("closed_form", "ClosedFormEngine"),
    ("leaf_values", "LeafValuesEngine"),
    ("histograms", "LikeliestEngine"),
    ("assignments", "AssignmentsEngine"),
    ("searches", "DrawsEngine"),
    ("histograms", "HistogramEngine"),
    ("histograms", "CpSatEngine"),
    ("bounds", "IntervalEngine"),
    ("bounds", "LinearProgramEngine"),
    ("bounds", "ColumnsEngine"),
    ("searches", "LocalSearchEngine"),
    ("searches", "SatEngine"),
    ("searches", "RowsEngine"),
    *COUNTERS,
)


def load_engine(module: str, name: str) -> Engine:
    """Return an engine of the list, its module imported on the way."""
    engine: Engine = getattr(importlib.import_module(f"{__name__}.{module}"), name)()
    return engine
