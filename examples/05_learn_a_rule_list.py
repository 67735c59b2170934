"""Train GreedyRL, release it, and compare a reconstruction with the truth and with guesses that need no release."""

from __future__ import annotations

from pathlib import Path

import recon

# No raw data are shipped: a world drawn from the released COMPAS tree stands for the private rows.
private = recon.sample(recon.load(Path(__file__).parent / "releases" / "compas_tree.json"), k=1, seed=3)[0]
frame = private.to_frame(views=True)
label = "Recidivate-Within-Two-Years"
learner = recon.GreedyRuleListClassifier(width=2, min_support=0.02, max_length=8)
learner.fit(frame.drop(columns=label), frame[label])
release = recon.encode(learner, recon.Domain.from_frame(frame, label=label))
print(recon.audit(release, truth=frame).to_text())
