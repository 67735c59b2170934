"""A release as statements about one unknown dataset, laws of noise, and questions about it, as data.

>>> import pandas as pd
>>> import recon
>>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
>>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
>>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
>>> len(release.statements.blocks)
1
"""

__all__ = ["boxes", "gradients", "noise", "observations", "questions", "regions", "release", "row_problem"]
