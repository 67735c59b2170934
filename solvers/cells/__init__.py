"""From statements to cells: the row space refined, a sparse whole-number system over live cells, its components.

>>> import pandas as pd
>>> import recon
>>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
>>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
>>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
>>> from solvers.foundation.limits import Limits
>>> from solvers.cells.partition_cells import cells_of
>>> len(cells_of(release.statements, Limits()).boxes)
4
"""

__all__ = ["clauses", "components", "cutting", "linear_system", "partition_cells", "system", "worlds"]
