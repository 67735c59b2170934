"""A population with public 4-way tables, a sample with a released tree: how many counts F are proved, CPU seconds.

`python tests/bench/population.py DATA.csv [PEOPLE SAMPLE PROFILES KIND]`; KIND: rule_lists (one partition per table:
combinations that are not listed are 0), complete (figures of one table model that says it is complete) or table. The
one-hot columns of Adult19 become attributes; the eight with the most values are used (docs/adversary.md).
"""

from __future__ import annotations

import itertools
import json
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.tree import DecisionTreeClassifier

import recon

WAYS, ATTRIBUTES = 4, 8


def drawn(data: str, people: int) -> pd.DataFrame:
    """Return so many rows of data as single-valued attributes, the label last."""
    rows = pd.read_csv(data).sample(people, random_state=0).reset_index(drop=True)
    groups: dict[str, list[str]] = {}
    for name in rows.columns[:-1]:
        own = str(name).rpartition("_")[0] if str(name).startswith("capital") else str(name).partition("_")[0]
        groups.setdefault(own, []).append(str(name))
    out = {g: rows[some].to_numpy() @ [1 << i for i in range(len(some))] for g, some in groups.items()}
    frame = pd.DataFrame(out)
    frame = frame[sorted(frame.columns, key=lambda name: -frame[name].nunique())[:ATTRIBUTES]]
    coded = {name: pd.factorize(frame[name])[0] for name in frame.columns}
    return pd.DataFrame(coded).assign(y=rows[rows.columns[-1]].to_numpy())


def tables_of(frame: pd.DataFrame, kind: str) -> list[dict[str, Any]]:
    """Return all 4-way tables of the attributes as models of a release file."""
    models: list[dict[str, Any]] = []
    figures: list[dict[str, Any]] = []
    for some in itertools.combinations(frame.columns[:-1], WAYS):
        counts = frame.groupby(list(some)).size()
        listed = [(dict(zip(some, map(int, at), strict=True)), int(n)) for at, n in counts.items()]
        if kind == "rule_lists":
            rules = [{"if": where, "count": n} for where, n in listed]
            models.append({"kind": "rule_list", "rules": [*rules, {"if": {}, "count": 0}]})
        figures += [{"where": where, "count": n} for where, n in listed]
    return models or [{"kind": "table", "statements": figures, **({"complete": True} if kind == "complete" else {})}]


def main(data: str, people: int, sample: int, profiles: int, kind: str) -> None:
    """Print a line of the table."""
    frame = drawn(data, people)
    features = list(frame.columns[:-1])
    inside = frame.sample(sample, random_state=1)
    tree = DecisionTreeClassifier(random_state=0).fit(inside[features], inside["y"])
    domain = recon.Domain.from_frame(frame, "y")
    attributes = [{"name": n, "values": list(range(int(frame[n].max()) + 1))} for n in features]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        file = {"recon": 1, "domain": {"attributes": attributes, "label": {"name": "y", "values": [0, 1]}},
                "rows": people, "models": tables_of(frame, kind)}  # fmt: skip
        (place / "tables.json").write_text(json.dumps(file))
        (place / "knows.json").write_text(json.dumps({"recon_adversary": 1, "population": {"tables": "tables.json"}}))
        release = recon.encode(tree, recon.load(str(place / "tables.json")).domain)
        asked = inside[features].drop_duplicates().head(profiles).reset_index(drop=True)
        found = recon.population(release, str(place / "knows.json"), asked, recon.Limits(seconds=300))
    truth = [int((frame[features] == one).all(axis=1).sum()) for _, one in asked.iterrows()]
    low, high = found["population_min"], found["population_max"]
    exact = int((low == high).sum())
    wrong = sum(not a <= t <= b for a, t, b in zip(low, truth, high, strict=True))
    width = float((high - low).median())
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(f"| {people:,} people, sample of {sample}, {kind} | {exact} of {len(asked)} F exact, median width {width:g}, "
          f"{wrong} wrong | {used.ru_utime + used.ru_stime:.1f} CPU s, {len(domain.all)} attributes")  # fmt: skip


if __name__ == "__main__":
    given = sys.argv[2:]
    defaults = ["500", "50", "20", "rule_lists"]
    n, k, p, kind = [*given, *defaults[len(given) :]]
    main(sys.argv[1], int(n), int(k), int(p), kind)
