"""A class with few rows is given back whole, and a little side knowledge opens the rest: figures of the docs, run."""

from __future__ import annotations

import re
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

import recon
from recon.readers.loading.known_positions import with_known_positions
from solvers.positions.assignments.world import assigned

sklearn = pytest.importorskip("sklearn")
from sklearn.datasets import load_breast_cancer, load_digits, make_classification  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402

PAGE = Path(__file__).parents[1] / "docs" / "random-forest.md"
WORK = 60.0  # seconds, of which the largest case takes a few


def made(rows, rare, **how):
    """Return rows with 20 columns of floats, and a class of about so many of them; `how`: as make_classification's."""
    how = {"n_informative": 8, "flip_y": 0, "weights": [1 - rare / rows], "random_state": 0} | how
    x, y = make_classification(rows, 20, **how)
    return pd.DataFrame(x, columns=[f"c{j}" for j in range(20)]), y


def stored(folder, x, y):
    """Return the release of a default forest that was stored and read."""
    path = folder / "forest.joblib"
    joblib.dump(RandomForestClassifier(random_state=0).fit(x, y), path)
    return recon.load(path)


def figures(release, y):
    """Return labels proved, and the share of leaves proved of every class; no label is wrong."""
    found = assigned(release.statements, recon.Limits(seconds=WORK))
    left, seen = found.domains.labels(), found.problem.times.T > 0
    assert left[np.arange(len(y)), y].all()
    known = found.domains.sizes() == 1
    shares = [float(known[y == k][seen[y == k]].mean()) for k in np.unique(y)]
    return int((left.sum(axis=1) == 1).sum()), shares


def rows_of(page):
    """Yield rows, rare, labels and share of leaves of the rare class as the page's table has them."""
    for line in re.findall(r"^\| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d.]+) % \|", page, re.MULTILINE):
        yield tuple(float(one.replace(",", "")) for one in line)


CASES = list(rows_of(PAGE.read_text(encoding="utf-8")))


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_rare_class_is_given_back(tmp_path, case):
    rows, rare, labels, leaves = case
    x, y = made(int(rows), int(rare))
    assert int(y.sum()) == rare
    found, shares = figures(stored(tmp_path, x, y), y)
    assert found == labels
    assert round(100 * shares[1], 1) == leaves


def real(name):
    """Return rows of real data and who is in the rare class, as the page's second table has them."""
    if name.startswith("breast cancer"):
        data = load_breast_cancer(as_frame=True)
        y = data.target.to_numpy()
        at, rare = np.sort(np.concatenate([np.flatnonzero(y == 1), np.flatnonzero(y == 0)[:40]])), y == 0
    else:
        data = load_digits(as_frame=True)
        at = (
            np.random.default_rng(0).choice(len(data.target), 700, replace=False) if "drawn" in name else np.arange(700)
        )
        rare = data.target.to_numpy() == 3
    return data.data.iloc[at].reset_index(drop=True), rare[at].astype(int)


REAL = re.findall(
    r"^\| (digits.*?|breast cancer, .*?) \| (\d+) \| (\d+) \| (\d+) \| ([\d.]+) % \|$",
    PAGE.read_text(encoding="utf-8"),
    re.MULTILINE,
)


@pytest.mark.long
@pytest.mark.parametrize("case", REAL, ids=str)
def test_the_rare_class_of_real_data(tmp_path, case):
    name, rows, rare, labels, leaves = case
    x, y = real(name)
    assert (len(y), int(y.sum())) == (int(rows), int(rare))
    found, shares = figures(stored(tmp_path, x, y), y)
    assert found == int(labels)
    assert f"{100 * shares[1]:.1f}" == leaves


def test_the_page_has_the_cases():
    assert {(10_000, 50), (4_000, 80), (2_500, 50), (800, 79)} <= {case[:2] for case in CASES}
    assert len(REAL) == 3


@pytest.mark.long
@pytest.mark.parametrize(
    ("columns", "labels", "least"), [((0, 1), 0, 0.02), (tuple(range(10)), 0, 0.4), ((), 150, 0.0)]
)
def test_a_little_knowledge_opens_the_rest(tmp_path, columns, labels, least):
    data = load_breast_cancer(as_frame=True)
    x, y = data.data, data.target
    table = x.iloc[:, list(columns)].assign(position=np.arange(569))
    if labels:
        some = np.random.default_rng(0).permutation(569)[:labels]
        table["label"] = y.astype(object).where(np.isin(np.arange(569), some), None)
    release = with_known_positions(stored(tmp_path, x, y), table)
    found, _ = figures(release, y.to_numpy())
    leaves = recon.positions(release, limits=recon.Limits(seconds=WORK)).attrs["share_leaves_known"]
    assert found == 569
    assert leaves >= least
