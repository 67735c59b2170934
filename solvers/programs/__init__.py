"""A release as constraint programs (CP-SAT) over cells or rows, and what they answer.

>>> import pandas as pd
>>> import recon
>>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
>>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
>>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
>>> from solvers.foundation.limits import Limits
>>> from solvers.cells.system import system_of
>>> from solvers.programs.linear_program import first_histogram
>>> system = system_of(release.statements, Limits())
>>> first_histogram(system.linear, system.bounds, Limits()).tolist()
[2, 1, 1]
"""

__all__ = [
    "bounded_answers",
    "cell_model",
    "columns",
    "concave",
    "cpsat",
    "dual_bounds",
    "interval",
    "linear_program",
    "local_search",
    "quickxplain",
    "row_model",
    "verdicts",
]
