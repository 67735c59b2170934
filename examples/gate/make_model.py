"""Writes model.json: a decision tree on 300 made-up patients, grown until its leaves hold single people."""

import json
from pathlib import Path

import numpy as np
from sklearn.tree import DecisionTreeClassifier

ATTRIBUTES = [
    {"name": "age", "min": 18, "max": 90},
    {"name": "sex", "values": ["female", "male"]},
    {"name": "earlier stays", "min": 0, "max": 12},
    {"name": "ward", "values": ["surgery", "medicine", "geriatrics", "cardiology"]},
]
LABEL = {"name": "readmitted", "values": ["no", "yes"]}
VIEWS = {"sex = male": ("sex", "male"), **{f"ward = {ward}": ("ward", ward) for ward in ATTRIBUTES[3]["values"]}}


def main() -> None:
    drawn = np.random.default_rng(18)
    age, stays = drawn.integers(18, 91, 300), drawn.poisson(2, 300).clip(0, 12)
    sex, ward = drawn.integers(0, 2, 300), drawn.integers(0, 4, 300)
    risk = 0.1 + 0.3 * (age > 65) + 0.1 * np.minimum(stays, 4) - 0.1 * (ward == 0)
    readmitted = drawn.random(300) < risk
    features = np.column_stack([age, stays, sex == 1, *(ward == k for k in range(4))])
    names = ["age", "earlier stays", *VIEWS]
    tree = DecisionTreeClassifier(max_depth=6, random_state=0).fit(features, readmitted).tree_
    nodes = []
    for i in range(tree.node_count):
        if tree.children_left[i] < 0:
            counts = np.rint(tree.value[i][0] * tree.n_node_samples[i]).astype(int)
            nodes.append({"counts": counts.tolist()})
        else:
            test = {names[tree.feature[i]]: {"at_most": float(tree.threshold[i])}}
            nodes.append({"if": test, "then": int(tree.children_left[i]), "else": int(tree.children_right[i])})
    columns = {view: {"attribute": attribute, "in": [value]} for view, (attribute, value) in VIEWS.items()}
    domain = {"attributes": ATTRIBUTES, "label": LABEL, "columns": columns, "source": "declared"}
    release = {"recon": 1, "domain": domain, "rows": 300, "models": [{"kind": "tree", "nodes": nodes}]}
    Path(__file__).with_name("model.json").write_text(json.dumps(release, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
