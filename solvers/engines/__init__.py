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

COUNTERS = (  # names, with module and class
    ("d4", "counters.D4Engine"),
    ("ganak", "counters.GanakEngine"),
    ("approxmc", "counters.ApproxMCEngine"),
)
ENGINES = (
    ("closed_form", "closed_form.ClosedFormEngine"),
    ("leaf_values", "leaf_values.LeafValuesEngine"),
    ("likeliest", "cells.LikeliestEngine"),
    ("assignments", "rows.AssignmentsEngine"),
    ("draws", "rows.DrawsEngine"),
    ("histogram", "cells.HistogramEngine"),
    ("cpsat", "cells.CpSatEngine"),
    ("interval", "cells.IntervalEngine"),
    ("lp", "cells.LinearProgramEngine"),
    ("columns", "cells.ColumnsEngine"),
    ("local_search", "rows.LocalSearchEngine"),
    ("sat", "rows.SatEngine"),
    ("rows", "rows.RowsEngine"),
    *COUNTERS,
)
