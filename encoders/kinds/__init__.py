"""One encoder per kind of model.

>>> import pandas as pd
>>> import recon
>>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
>>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
>>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
>>> from encoders.encode.encoder import encoder_of
>>> type(encoder_of(release.models[0])).__name__
'RuleListEncoder'
"""

__all__ = ["known_rows", "noisy_counts", "question", "split_midpoints", "table", "tree"]
