"""An example of every relation between data sets, on real rows (breast cancer, Wisconsin): the truth is never excluded.

Trees are fitted on the data sets that a relation names; the true rows, each with its type, are asked about.
"""

from __future__ import annotations

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
