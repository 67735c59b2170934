"""Proofs that others can check: the search for them, and releases in files that other solvers read.

>>> import pandas as pd
>>> import recon
>>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
>>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
>>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
>>> from solvers.proofs.export.interaction import attribute_graph
>>> sorted(attribute_graph(release.statements).nodes)
['a0', 'a1', 'a2']
"""

__all__ = ["certificates", "export", "subset_counts"]
