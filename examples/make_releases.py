"""How the released models in `examples/releases` were made (needs scikit-learn and the data, which are not shipped).

    python examples/make_releases.py FOLDER_WITH_COMPAS_AND_ADULT

Each release holds a model with its counts and the domain read off the training rows; no raw row.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from sklearn.tree import DecisionTreeClassifier

import recon
from recon.formats.writing import dump, release_json

HERE = Path(__file__).parent / "releases"
TREE_DEPTH, LIST_LENGTH = 5, 10


def main(data: str) -> None:
    """Train and write a tree and a rule list per data set."""
    HERE.mkdir(exist_ok=True)
    for name, file in (("compas", "compas27.csv.gz"), ("adult", "adult24.csv.gz")):
        frame = pd.read_csv(Path(data) / file)
        label = frame.columns[-1]
        x, y = frame.drop(columns=label), frame[label]
        domain = recon.Domain.from_frame(frame, label=label)
        tree = DecisionTreeClassifier(max_depth=TREE_DEPTH, random_state=0).fit(x, y)
        rules = recon.GreedyRuleListClassifier(width=2, min_support=0.01, max_length=LIST_LENGTH).fit(x, y)
        for kind, model in (("tree", tree), ("rule_list", rules)):
            release = recon.encode(model, domain)
            text = dump(release_json(release.domain, release.models, release.rows))
            (HERE / f"{name}_{kind}.json").write_text(text, encoding="utf-8")
            print(f"{name}_{kind}.json: {recon.count(release).log2:,.1f} bits left")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "../shared/data")
