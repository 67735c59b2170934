"""What an adversary knows beside a release: a population, answers about known people, all columns but one.

    python tests/bench/adversary.py [--quick | --lines BEGINNING ...] [--check]

`population`: people of Adult with all public 4-way tables of eight attributes, and a full-grown tree of a sample of 50
of them: of how many profiles of the sample the number F of people is exact, and proved intervals that miss it.
Published as rule lists (what is not listed is 0) or as one table that says it is complete. `queries`: noisy counts of
random halves of people, of whom each has a secret bit: bits right, and proved. `one open column`: 1,000 rows of COMPAS,
a tree of depth 8, everybody's columns known but one: people whose value is certain, and lines that are exact. Needs
scikit-learn and the data folder (RECON_DATA). What a line says: harness.py.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

from harness import DATA, Job, Line, main, measured

WAYS, ATTRIBUTES, SECONDS = 4, 8, 300.0


def drawn(people: int) -> Any:
    """Return so many rows of Adult as single-valued attributes, the label last."""
    import pandas as pd

    rows = pd.read_csv(DATA / "adult19.csv.gz").sample(people, random_state=0).reset_index(drop=True)
    groups: dict[str, list[str]] = {}
    for name in rows.columns[:-1]:
        own = str(name).rpartition("_")[0] if str(name).startswith("capital") else str(name).partition("_")[0]
        groups.setdefault(own, []).append(str(name))
    frame = pd.DataFrame({g: rows[some].to_numpy() @ [1 << i for i in range(len(some))] for g, some in groups.items()})
    frame = frame[sorted(frame.columns, key=lambda name: -frame[name].nunique())[:ATTRIBUTES]]
    coded = {name: pd.factorize(frame[name])[0] for name in frame.columns}
    return pd.DataFrame(coded).assign(y=rows[rows.columns[-1]].to_numpy())


def tables_of(frame: Any, complete: bool) -> list[dict[str, Any]]:
    """Return all 4-way tables of the attributes as models of a release file."""
    models: list[dict[str, Any]] = []
    figures: list[dict[str, Any]] = []
    for some in itertools.combinations(frame.columns[:-1], WAYS):
        counts = frame.groupby(list(some)).size()
        listed = [(dict(zip(some, map(int, at), strict=True)), int(n)) for at, n in counts.items()]
        rules = [{"if": where, "count": n} for where, n in listed]
        models.append({"kind": "rule_list", "rules": [*rules, {"if": {}, "count": 0}]})
        figures += [{"where": where, "count": n} for where, n in listed]
    return [{"kind": "table", "statements": figures, "complete": True}] if complete else models


def population(name: str, people: int, profiles: int, complete: bool) -> list[Line]:
    """Return the line of a population, beside reading its tables."""
    from sklearn.tree import DecisionTreeClassifier

    import recon

    frame = drawn(people)
    features = list(frame.columns[:-1])
    inside = frame.sample(50, random_state=1)
    tree = DecisionTreeClassifier(random_state=0).fit(inside[features], inside["y"])
    attributes = [{"name": n, "values": list(range(int(frame[n].max()) + 1))} for n in features]
    with tempfile.TemporaryDirectory() as folder:
        tables, knows = Path(folder, "tables.json"), Path(folder, "knows.json")
        file = {"recon": 1, "domain": {"attributes": attributes, "label": {"name": "y", "values": [0, 1]}},
                "rows": people, "models": tables_of(frame, complete)}  # fmt: skip
        tables.write_text(json.dumps(file))
        knows.write_text(json.dumps({"recon_adversary": 1, "population": {"tables": "tables.json"}}))
        beside = measured(lambda: recon.load(str(tables)))
        release = recon.encode(tree, beside.found.domain)
        asked = inside[features].drop_duplicates().head(profiles).reset_index(drop=True)
        work = measured(lambda: recon.population(release, str(knows), asked, recon.Limits(seconds=SECONDS)), repeats=1)
    truth = [int((frame[features] == one).all(axis=1).sum()) for _, one in asked.iterrows()]
    low, high = work.found["population_min"], work.found["population_max"]
    wrong = sum(not a <= t <= b for a, t, b in zip(low, truth, high, strict=True))
    alone = sum(x is True for x in work.found["population_unique"])
    more = {"exact": int((low == high).sum()), "proved unique": alone}
    less = {"wrong": wrong, "median width": float((high - low).median())}
    return [Line(name, work, "tables read", beside, more=more, less=less, said={"profiles": len(asked)})]


def queries(name: str, people: int, number: int, noise: int, seconds: float) -> list[Line]:
    """Return the line of noisy counts of random halves of people, beside least squares."""
    import numpy as np

    import recon

    rng = np.random.default_rng(0)
    bits, members = rng.integers(0, 2, people), (rng.random((number, people)) < 0.5).astype(int)
    answers = members @ bits + rng.integers(-noise, noise + 1, number)
    beside = measured(lambda: np.linalg.lstsq(members.astype(float), answers, rcond=None))
    given = recon.QueryAnswers.of(range(people), members, answers, noise)
    work = measured(lambda: recon.secret_bits(given, recon.Limits(seconds=seconds)), repeats=1)
    right = work.found["bit"].to_numpy() == bits
    wrong = int(((work.found["verdict"] == "certain") & ~right).sum())
    more = {"right": int(right.sum()), "proved": int(work.found.attrs["certain"])}
    return [Line(name, work, "least squares", beside, more=more, less={"wrong": wrong}, said={"people": people})]


def open_column(name: str, column: str) -> list[Line]:
    """Return the line of the one column that is not known of everybody, beside the same without that knowledge."""
    import numpy as np
    import pandas as pd
    from sklearn.tree import DecisionTreeClassifier

    import recon

    whole = pd.read_csv(DATA / "compas14.csv.gz")
    label = str(whole.columns[-1])
    some = whole.iloc[np.random.default_rng(0).choice(len(whole), 1_000, replace=False)].reset_index(drop=True)
    tree = DecisionTreeClassifier(max_depth=8, random_state=0).fit(some.drop(columns=label), some[label])
    release = recon.encode(tree, recon.Domain.from_frame(whole, label=label))
    left = [c for c in some.columns if str(c).partition(":")[0] == column]
    known = some.drop(columns=left)
    profiles = known.drop_duplicates().reset_index(drop=True)
    staff = recon.Adversary(columns=known)
    beside = measured(lambda: recon.attribute(release, profiles, column), repeats=1)
    work = measured(lambda: recon.attribute(staff.beside(release), profiles, column), repeats=1)
    people = known.astype(str).agg("|".join, axis=1)
    values = some[left].idxmax(axis=1).str.partition(":")[2].str.lstrip("=")
    key, wrong, sure = profiles.astype(str).agg("|".join, axis=1), 0, 0
    for line in work.found.itertuples():
        own = values[people == key[line.profile]]
        wrong += not line.min_count <= (own == str(line.value)).sum() <= line.max_count
        sure += len(own) if line.certain else 0
    said = {"people": len(some), "groups of people": len(profiles), "status": work.found.attrs["status"]}
    return [Line(name, work, "columns not known", beside, {"people certain": sure}, {"wrong": wrong}, said=said)]


ASKED = {
    "population, 500 people, rule lists": (population, (500, 40, False), True),
    "population, 500 people, a complete table": (population, (500, 40, True), True),
    "population, 2,000 people, rule lists": (population, (2_000, 20, False), False),
    "queries, 100 people x 400, noise at most 2": (queries, (100, 400, 2, 60.0), True),
    "queries, 200 people x 800, noise at most 4": (queries, (200, 800, 4, 60.0), True),
    "queries, 1,000 people x 4,000, noise at most 5": (queries, (1_000, 4_000, 5, 300.0), False),
    "one open column, priors": (open_column, ("priors",), True),
    "one open column, age": (open_column, ("age",), True),
}
JOBS = {name: Job(run, (name, *rest), quick=quick) for name, (run, rest, quick) in ASKED.items()}

if __name__ == "__main__":
    main("adversary", JOBS)
