"""How the released models in `examples/releases` were made.

    python examples/make_releases.py FOLDER_WITH_COMPAS_AND_ADULT

Needs scikit-learn, lightgbm and the data, which are not shipped. Each release of a model holds it with its counts and
the domain read off the training rows; no raw row, but for the default forest of diabetes, whose file is as it was
saved and whose rows scikit-learn publishes. The other forest's domain is read off all 7,206 people, of whom 300 train
it. The boosted model is of 200 people who were made up; its domain says what each column can be. The census block
needs no data: its figures are published. In `examples/versions` are two trees, of before and after one person left.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import recon
from recon.readers.formats.release.writing import dump, release_json

HERE = Path(__file__).parent / "releases"
TREE_DEPTH, LIST_LENGTH = 5, 10
FOREST_ROWS, FOREST_TREES = 300, 30
BOOSTED_ROWS = 200
VERSION_ROWS = 1_000

CENSUS_ABOUT = (
    "The census block of seven people of Garfinkel, Abowd, Martindale, Understanding Database Reconstruction Attacks "
    "on Public Data, CACM 62(3), 2019. Counts of 0, 1 or 2 people are suppressed; nobody under 15 is married."
)
CENSUS_FIGURES = (  # who, count, median age, mean age, the mean's rounding
    ("everybody", {}, 7, 30, 38, 0),
    ("female", {"sex": "female"}, 4, 30, 33.5, 0),
    ("male", {"sex": "male"}, 3, 30, 44, 0),
    ("black", {"race": "black"}, 4, 51, 48.5, 0),
    ("white", {"race": "white"}, 3, 24, 24, 0),
    ("married", {"status": "married"}, 4, 51, 54, 0),
    ("black female", {"sex": "female", "race": "black"}, 3, 36, 36.7, 0.05),
)
CENSUS_SUPPRESSED = (
    ("single adults", {"status": "single", "age": {"at_least": 18}}),
    ("black male", {"sex": "male", "race": "black"}),
    ("white male", {"sex": "male", "race": "white"}),
    ("white female", {"sex": "female", "race": "white"}),
    ("under 5", {"age": {"below": 5}}),
    ("under 18", {"age": {"below": 18}}),
    ("64 and over", {"age": {"at_least": 64}}),
)


def trees_and_lists(data: str) -> None:
    """Train and write a tree and a rule list per data set."""
    for name, file in (("compas", "compas27.csv.gz"), ("adult", "adult24.csv.gz")):
        frame = pd.read_csv(Path(data) / file)
        label = frame.columns[-1]
        x, y = frame.drop(columns=label), frame[label]
        domain = recon.Domain.from_frame(frame, label=label)
        tree = DecisionTreeClassifier(max_depth=TREE_DEPTH, random_state=0).fit(x, y)
        rules = recon.GreedyRuleListClassifier(width=2, min_support=0.01, max_length=LIST_LENGTH).fit(x, y)
        for kind, model in (("tree", tree), ("rule_list", rules)):
            write(f"{name}_{kind}.json", recon.encode(model, domain))


def forest(data: str) -> None:
    """Train and write a forest of full-grown trees, without bootstrap, on a few of the people."""
    frame = pd.read_csv(Path(data) / "compas14.csv.gz")
    label = frame.columns[-1]
    rows = frame.sample(FOREST_ROWS, random_state=0)
    model = RandomForestClassifier(FOREST_TREES, bootstrap=False, random_state=0)
    model.fit(rows.drop(columns=label), rows[label])
    write("compas_forest.json", recon.encode(model, recon.Domain.from_frame(frame, label=label)))


def pickled_forest(data: str) -> None:
    """Train and pickle a forest as people do, with bootstrap and balanced classes: its file stores too much."""
    frame = pd.read_csv(Path(data) / "compas14.csv.gz")
    label = frame.columns[-1]
    rows = frame.sample(FOREST_ROWS, random_state=0)
    model = RandomForestClassifier(10, class_weight="balanced", max_depth=5, random_state=0)
    (HERE / "compas_forest.pkl").write_bytes(pickle.dumps(model.fit(rows.drop(columns=label), rows[label])))


def default_forest() -> None:
    """Train a forest with the defaults on 100 people's floats, and store it as people do, beside the rows."""
    data = load_diabetes(as_frame=True, scaled=False)
    rows = data.data.assign(progressed=(data.target > data.target.median()).astype(int)).head(100)
    np.random.seed(1)  # the model has no seed of its own, and the file stays the same
    model = RandomForestClassifier().fit(rows.drop(columns="progressed"), rows["progressed"])
    joblib.dump(model, HERE / "diabetes_forest.joblib", compress=("gzip", 9))
    rows.to_csv(HERE / "diabetes_rows.csv", index=False)


def made_up_people(n: int = BOOSTED_ROWS) -> pd.DataFrame:
    """Return people drawn at random, whose illness depends on the rest."""
    rng = np.random.default_rng(0)
    age, smokes = rng.integers(0, 5, n), (rng.random(n) < 0.3).astype(int)
    male, weight = rng.integers(0, 2, n), rng.integers(0, 3, n)
    score = -2 + 0.5 * age + 0.9 * smokes + 0.7 * weight - 0.4 * male - 0.3 * age * smokes
    ill = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    return pd.DataFrame({"age_band": age, "weight_band": weight, "smokes": smokes, "male": male, "ill": ill})


def boosted_model() -> None:
    """Train LightGBM with the defaults on binned data, and store its text and the domain."""
    import lightgbm

    rows = made_up_people()
    model = lightgbm.LGBMClassifier(n_jobs=1, verbose=-1).fit(rows.drop(columns="ill"), rows["ill"])
    model.booster_.save_model(str(HERE / "boosted_model.txt"))
    attributes = [{"name": name, "min": 0, "max": int(rows[name].max())} for name in rows.columns[:-1]]
    domain = {"recon": 1, "domain": {"attributes": attributes, "label": {"name": "ill", "values": [0, 1]}}}
    (HERE.parent / "boosted_domain.json").write_text(dump(domain), encoding="utf-8")


def write(file: str, release: recon.EncodedRelease) -> None:
    """Write a release of a model, and print how many worlds it leaves."""
    text = dump(release_json(release.domain, release.models, release.rows))
    (HERE / file).write_text(text, encoding="utf-8")
    print(f"{file}: {recon.count(release).log2:,.1f} bits left")


def census_block() -> None:
    """Write the published figures of the census block."""
    figures: list[dict[str, Any]] = []
    for who, where, count, median, mean, within in CENSUS_FIGURES:
        rounding = {"within": within} if within else {}
        figures += [
            {"name": f"count of {who}", "where": where, "count": count},
            {"name": f"median age of {who}", "where": where, "median": {"of": "age", "value": median}},
            {"name": f"mean age of {who}", "where": where, "mean": {"of": "age", "value": mean, **rounding}},
        ]
    for who, where in CENSUS_SUPPRESSED:
        figures.append({"name": who, "where": where, "suppressed": "primary", "at_least": 0, "at_most": 2})
    attributes = [
        {"name": "age", "min": 0, "max": 125},
        {"name": "sex", "values": ["female", "male"]},
        {"name": "race", "values": ["black", "white"]},
        {"name": "status", "values": ["single", "married"]},
    ]
    impossible = [{"age": {"below": 15}, "status": "married"}]
    domain = {"attributes": attributes, "impossible": impossible, "source": "declared"}
    table = {"kind": "table", "name": "census block", "statements": figures}
    text = dump({"recon": 1, "domain": domain, "rows": 7, "models": [table]})
    head = '{"recon": 1,\n'
    (HERE / "census_block.json").write_text(
        text.replace(head, f'{head} "about": "{CENSUS_ABOUT}",\n', 1), encoding="utf-8"
    )
    print(f"census_block.json: {recon.count(recon.load(HERE / 'census_block.json'), 'multiset').value} possible world")


def versions(data: str) -> None:
    """Fit a tree on six yes-or-no columns of 1,000 people of COMPAS, and again after one of them was removed."""
    folder, people = HERE.parent / "versions", pd.read_csv(f"{data}/compas14.csv.gz")
    label, draw = people.columns[-1], np.random.default_rng(0)
    names = ["sex:Male", "juvenile-felonies:>0", "juvenile-misdemeanors:>0", "juvenile-crimes:>0", "priors:>3"]
    columns = [*names, "current-charge-degree:Misdemeanor"]
    before = people.iloc[draw.choice(len(people), VERSION_ROWS, replace=False)]
    after = before.drop(index=before.index[[int(draw.integers(VERSION_ROWS))]])
    folder.mkdir(exist_ok=True)
    for name, rows in (("march", before), ("april", after)):
        model = DecisionTreeClassifier(random_state=0).fit(rows[columns], rows[label])
        joblib.dump(model, folder / f"{name}.joblib", compress=3)
    print(f"versions: {recon.difference(str(folder / 'march.joblib'), str(folder / 'april.joblib'))}")


def main(data: str) -> None:
    """Make every release."""
    HERE.mkdir(exist_ok=True)
    versions(data)
    trees_and_lists(data)
    forest(data)
    pickled_forest(data)
    default_forest()
    boosted_model()
    census_block()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "../shared/data")
