"""Train a tree on your own rows, and see what releasing it with its counts gives away (needs scikit-learn)."""

from __future__ import annotations

from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import recon

frame = load_iris(as_frame=True).frame
tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame.drop(columns="target"), frame["target"])

# Lengths in steps of 0.1 between the least and the greatest seen: say so, or declare your own domain.
domain = recon.Domain.from_frame(frame, label="target")
release = recon.encode(tree, domain)
print(recon.audit(release, truth=frame).to_text())
