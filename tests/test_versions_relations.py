"""An example of every relation between data sets, on real rows (breast cancer, Wisconsin): the truth is never excluded.

Trees are fitted on the data sets that a relation names; the true rows, each with its type, are asked about.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import recon

NAMES = ["radius", "texture", "smooth"]
DISJOINT = [{"disjoint": ["Lyon", "Graz"]}]


def _rows(n: int = 60) -> pd.DataFrame:
    """Return real rows: thirds of three columns, and the class."""
    data = load_breast_cancer()
    some = np.random.default_rng(3).choice(len(data.data), n, replace=False)
    columns = {name: pd.qcut(data.data[:, k], 3, labels=False)[some] for name, k in zip(NAMES, (0, 1, 4), strict=True)}
    return pd.DataFrame(columns | {"ill": data.target[some]})


ROWS = _rows()
DOMAIN = recon.Domain.from_frame(
    pd.DataFrame([(a, b, c, y) for a in range(3) for b in range(3) for c in range(3) for y in range(2)],
                 columns=[*NAMES, "ill"]), "ill"
)  # fmt: skip
CASES: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, range]]] = {
    "from, removed, added": (
        [{"name": "march"}, {"name": "april", "from": "march", "removed": 1, "added": {"at_least": 0, "at_most": 2}}],
        [],
        {"march": range(40), "april": range(1, 41)},
    ),
    "union": ([{"name": "both", "union": ["Lyon", "Graz"]}, {"name": "Lyon"}, {"name": "Graz"}], DISJOINT,
              {"both": range(50), "Lyon": range(20), "Graz": range(20, 50)}),
    "within": ([{"name": "all"}, {"name": "study", "within": "all"}], [], {"all": range(50), "study": range(10, 30)}),
    "without": ([{"name": "all"}, {"name": "fold", "within": "all", "rows": 10},
                 {"name": "fit", "from": "all", "without": "fold"}], [], {"all": range(50), "fit": range(10, 50)}),
    "disjoint": ([{"name": "Lyon"}, {"name": "Graz"}], DISJOINT, {"Lyon": range(20), "Graz": range(20, 50)}),
    "parts": ([{"name": "all"}, {"name": "a", "within": "all"}, {"name": "b", "within": "all"}],
              [{"parts": ["a", "b"], "of": "all"}], {"all": range(50), "a": range(25), "b": range(25, 50)}),
}  # fmt: skip


def _release(name: str) -> recon.EncodedRelease:
    datasets, relations, held = CASES[name]
    fitted = {}
    for dataset, rows in held.items():
        some = ROWS.iloc[list(rows)]
        model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(some[NAMES].to_numpy(), some["ill"])
        fitted[dataset] = recon.encode(model, DOMAIN)
    return recon.versions(fitted, {"datasets": datasets, "relations": relations})


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_every_relation_on_real_rows(name: str) -> None:
    """Every true row is possible where it is; what is proved of a data set is said of it; certificates hold."""
    release = _release(name)
    sets = CASES[name][2]
    related = release.related
    assert related is not None
    every = ROWS.iloc[sorted({i for rows in sets.values() for i in rows})]
    for dataset, rows in sets.items():
        found = recon.certify(release, ROWS.iloc[list(rows)], "multiset", of=dataset)
        assert set(found["verdict"]) <= {"certain", "possible"}
        real = ROWS.iloc[list(rows)].groupby([*NAMES, "ill"]).size()
        asked = ROWS.iloc[list(rows)].reset_index(drop=True)
        for i, (low, high) in enumerate(zip(found["min_count"], found["max_count"], strict=True)):
            assert low <= real[tuple(asked.loc[i, [*NAMES, "ill"]])] <= high
        proved = [one for one in found["certificate"] if one is not None]
        assert len(recon.verify(proved, release).verified) == len(proved)
    assert release.rows.low <= len(every) <= (release.rows.high or len(every))
    for line in related.lines():
        assert any(line in said for said in release.assumptions)
    assert not any("same rows" in said for said in release.assumptions)
    assert recon.count(release, "multiset").status in ("exact", "bounds")


def test_a_union_says_more_than_its_sites() -> None:
    """The tree of all sites adds to what the sites say: fewer data sets are left."""
    whole = _release("union")
    sites = {name: _release("disjoint") for name in ("sites",)}["sites"]
    assert (recon.count(whole, "multiset").log2 or 0) < (recon.count(sites, "multiset").log2 or 0)


def _file(folder: Path, datasets: list[Any], models: dict[str, list[list[int]]], relations: list[Any] = []) -> Path:  # noqa: B006
    """Return a release file of trees with one split, by data set the counts of both leaves."""
    domain = {"attributes": [{"name": "s", "values": [0, 1]}], "label": {"name": "y", "values": [0, 1]}}
    root = {"if": {"s": 0}, "then": 1, "else": 2}
    trees = [
        {"kind": "tree", "nodes": [root, *({"counts": c} for c in counts)]} | ({"dataset": name} if name else {})
        for name, counts in models.items()
    ]
    path = folder / "some.json"
    document = {"recon": 1, "domain": domain, "datasets": datasets, "models": trees}
    path.write_text(json.dumps(document | ({"relations": relations} if relations else {})))
    return path


A = {"a": [[2, 1], [1, 1]]}
ALL = [{"name": "all", "rows": 7}, {"name": "a"}, {"name": "b", "rows": 3}]
WRONG: dict[str, tuple[list[Any], list[Any], dict[str, list[list[int]]], int, list[str]]] = {
    "cycle": ([{"name": "a", "from": "b"}, {"name": "b", "from": "a"}], [], A, 3, ["'a' and 'b'", "datasets[0]"]),
    "more removed than there are": (
        [{"name": "a", "rows": 5}, {"name": "b", "from": "a", "removed": 6}], [], A, 3,
        ["a has 5 rows", "b is a without 6 rows"],
    ),
    "more removed than a model counts": (
        [{"name": "a"}, {"name": "b", "from": "a", "removed": 6}], [], A, 5, ["models[0]", "5 rows", "without 6 rows"],
    ),
    "disjoint parts that overlap": (
        [{"name": "a", "rows": 5}, {"name": "b", "within": "a", "rows": 2}], [{"disjoint": ["a", "b"]}], A, 3,
        ["b has 2 rows", "b lies within a", "no row is in two of a, b"],
    ),
    "no row can be anywhere": (
        [{"name": "c", "union": ["a", "b"]}, {"name": "a"}, {"name": "b"}, {"name": "x", "within": "a"}],
        [{"disjoint": ["a", "b"]}, {"parts": ["a", "x"], "of": "b"}], A, 3, ["x lies within a", "no row is in two"],
    ),
    "parts that do not add up": (
        [{"name": "all", "rows": 7}, {"name": "a", "rows": 3}, {"name": "b", "rows": 3}],
        [{"parts": ["a", "b"], "of": "all"}], A, 3, ["all has 7 rows", "a has 3 rows", "b has 3 rows", "exactly one"],
    ),
    "a union that does not add up": (
        [{"name": "all", "union": ["a", "b"], "rows": 2}, {"name": "a", "rows": 5}, {"name": "b"}], [], A, 3,
        ["all has 2 rows", "a has 5 rows", "all is all rows of a and b"],
    ),
    "a fold with more rows": (
        [{"name": "a", "rows": 5}, {"name": "b", "within": "a", "rows": 6}, {"name": "c", "from": "a", "without": "b"}],
        [], A, 3, ["a has 5 rows", "b has 6 rows", "b lies within a"],
    ),
    "versions that contradict each other": (
        [{"name": "a"}, {"name": "b", "from": "a", "removed": 1, "added": 0}], [], A | {"b": [[3, 0], [1, 0]]}, 5,
        ["a: tree 0, leaf 1, class 0: at most 2 rows", "b: tree 1, leaf 1, class 0: at least 3",
         "b is a without 1 row"],
    ),
    "numbers that contradict each other": (
        [{"name": "a"}, {"name": "b", "from": "a", "removed": 1, "added": 0}], [], A | {"b": [[1, 1], [1, 0]]}, 5,
        ["some.json: the versions contradict", "models[0] (data set a): 5", "models[1] (data set b): 3",
         "b is a without 1 row"],
    ),
    "unknown data set of a model": ([{"name": "a"}], [], {"z": A["a"]}, 3, ["no data set 'z'", "'a'", "models[0]"]),
    "unknown data set of a relation": (ALL, [{"parts": ["a", "z"], "of": "all"}], A, 3, ["'z'", "relations[0]"]),
    "unknown origin": ([{"name": "a", "from": "z"}], [], A, 3, ["no data set 'z'", "datasets[0]"]),
    "unknown key of a data set": ([{"name": "a", "form": "z"}], [], A, 3, ["datasets[0].form: unknown key"]),
    "unknown key of a relation": (ALL, [{"disjiont": ["a", "b"]}], A, 3, ["relations[0].disjiont: unknown key"]),
    "a relation without 'of'": (ALL, [{"parts": ["a", "b"]}], A, 3, ["relations[0]", "'parts' and 'of'"]),
    "no data set": ([{"name": "a"}], [], {"": A["a"]}, 3, ["models[0]", "give 'dataset'"]),
    "twice": ([{"name": "a"}, {"name": "a"}], [], A, 3, ["'a' is declared twice"]),
    "too many types": (
        [{"name": n} for n in "abcdefg"], [], A, 3,
        ["some.json: datasets: ", "more than 64", "'from' the version before"],
    ),
    "below 0": ([{"name": "a", "rows": -1}], [], A, 3, ["datasets[0].rows", "-1"]),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_hold_is_said_with_both_sides(name: str, tmp_path: Path, run: Any) -> None:
    """The command ends with 3 (relations) or 5 (contradicting versions), and names relation, file and statement."""
    datasets, relations, models, code, said = WRONG[name]
    out = run("count", _file(tmp_path, datasets, models, relations), code=code)
    assert "Traceback" not in out.stderr
    for words in said:
        assert words in out.stdout + out.stderr


def test_a_category_that_came_in_april_is_united_and_said(tmp_path: Path, run: Any) -> None:
    """The domains of two versions differ: values of both are possible, and every answer says so."""
    march = _file(tmp_path, [{"name": "x"}], {"x": [[2, 1], [1, 1]]})
    document = json.loads(march.read_text())
    del document["datasets"], document["models"][0]["dataset"]
    for name, values, counts in (("march", [0, 1], [1, 1]), ("april", [0, 1, 2], [1, 0])):
        document["domain"]["attributes"] = [{"name": "s", "values": values}]
        document["models"][0]["nodes"][2] = {"counts": counts}
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    out = run("difference", tmp_path / "march.json", tmp_path / "april.json").stdout
    assert "'s' has values 0, 1 in" in out
    assert "with those of the other versions values 0, 1, 2" in out


def test_rows_and_positions_that_are_not_there_are_refused(tmp_path: Path, run: Any) -> None:
    """Unknown rows are refused by name, positions without bags in one sentence."""
    datasets = [{"name": "a"}, {"name": "b", "from": "a", "removed": 1, "added": 0}]
    both = _file(tmp_path, datasets, A | {"b": [[2, 1], [1, 0]]})
    people = tmp_path / "people.csv"
    people.write_text("s,y\n0,1\n")
    said = run("certify", both, "--profiles", people, "--of-rows", "nobody", code=3).stderr
    assert "no rows of 'nobody'" in said
    assert "('a', 'b')" in said
    one = json.loads(both.read_text())
    del one["datasets"]
    for k, name in enumerate("ab"):
        single = one | {"models": [{key: v for key, v in one["models"][k].items() if key != "dataset"}]}
        (tmp_path / f"{name}.json").write_text(json.dumps(single))
    err = run("positions", tmp_path / "a.json", tmp_path / "b.json", code=4).stderr
    assert err.startswith("recon: a: nothing is proved by position")
    assert err.count("\n") == 1
