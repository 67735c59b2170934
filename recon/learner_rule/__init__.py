"""What the learner's rule adds to what was released: worlds, bits, people, by an adversary who knows how it was chosen.

>>> import pandas as pd
>>> import recon
>>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
>>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
>>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
>>> from recon.learner_rule.counting import learner_rule
>>> learner_rule(release)
<LearnerRule: greedy: 0.193 bits beside 4.000 bits of the counts, greedy rule list, 4 rows>
"""

__all__ = ["chosen_model", "counting", "estimating", "facts", "figures", "verdicts"]
