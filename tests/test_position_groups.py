"""Groups that positions prove, against every way to put rows into their boxes, and against fitted rows."""

from __future__ import annotations

import itertools
import re

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

import recon
from recon.queries.located.positions import position_results
from recon.release.auditing.together import RowBoxes, groups_at_positions


@st.composite
def boxes(draw):
    """Return up to four boxes over two attributes of three and two parts, one with sets, and the labels left."""
    rows = draw(st.integers(1, 4))
    parts = (3, 2)
    start = np.array([[draw(st.integers(0, p - 1)) for p in parts] for _ in range(rows)])
    end = np.array([[draw(st.integers(int(start[i, k]) + 1, p)) for k, p in enumerate(parts)] for i in range(rows)])
    sets = {}
    if draw(st.booleans()):
        held = np.ones((rows, 3), dtype=bool)
        for i in range(rows):
            if end[i, 0] - start[i, 0] == 3:
                held[i, 1] = draw(st.booleans())
        sets = {0: held}
    left = np.array([draw(st.sampled_from([(True, False), (False, True), (True, True)])) for _ in range(rows)])
    return RowBoxes(start, end, np.array(parts), sets), left


def members(boxed, i):
    """Return the pairs of parts that row i may have."""
    spans = [range(a, b) for a, b in zip(boxed.start[i].tolist(), boxed.end[i].tolist(), strict=True)]
    return {pair for pair in itertools.product(*spans) if 0 not in boxed.sets or boxed.sets[0][i, pair[0]]}


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(boxes())
def test_every_way_to_fill_the_boxes(case):
    boxed, left = case
    n = len(left)
    labels = [[k for k in range(2) if left[i, k]] for i in range(n)]
    rows, cells, disclosed = boxed.counted(left)
    worlds = list(itertools.product(*(itertools.product(sorted(members(boxed, i)), labels[i]) for i in range(n))))
    for i, (low, high) in rows.items():
        held = [sum(pair in members(boxed, i) for pair, _ in world) for world in worlds]
        assert (min(held), max(held)) == (low, high)
    for i, (low, high) in cells.items():
        own = labels[i][0]
        held = [sum(pair in members(boxed, i) and k == own for pair, k in world) for world in worlds]
        assert (min(held), max(held)) == (low, high)
    alike = [
        i for i in range(n)
        if all(len({k for pair, k in world if pair in members(boxed, i)}) == 1 for world in worlds)
        and len({k for world in worlds for pair, k in world if pair in members(boxed, i)}) == 1
    ]  # fmt: skip
    assert disclosed == len(alike)
    assert {frozenset(members(boxed, i)) for i in rows} == {frozenset(members(boxed, i)) for i in range(n)}


def holds(frame, condition):
    """Return which rows meet "age in 13..14 and city = 1"."""
    held = np.ones(len(frame), dtype=bool)
    for part in filter(None, condition.replace("everybody", "").split(" and ")):
        name, low, high = re.fullmatch(r"(\w+) (?:=|in) (\d+)(?:\.\.(\d+))?", part).groups()
        held &= frame[name].between(int(low), int(high or low)).to_numpy()
    return held


@pytest.mark.sampled(1)
@pytest.mark.parametrize("leaf", [1, 4])
def test_the_rows_that_were_fitted_are_so_many(leaf, tmp_path):
    rng = np.random.default_rng(leaf)
    frame = pd.DataFrame({"age": rng.integers(0, 40, 60), "city": rng.integers(0, 3, 60)})
    y = (frame["age"] + rng.integers(0, 15, 60) > 25).astype(int)
    model = RandomForestClassifier(12, min_samples_leaf=leaf, random_state=1).fit(frame, y)
    joblib.dump(model, tmp_path / "m.joblib")
    frame.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    release = recon.load(tmp_path / "m.joblib", domain=str(tmp_path / "rows.csv"))
    found = groups_at_positions(position_results(release))
    assert found.groups
    assert found.cells
    for one in (*found.groups, *found.cells):
        held = holds(frame, one["where"])
        held &= (y == int(one["class"])).to_numpy() if "class" in one else True
        assert one["rows"][0] <= held.sum() <= one["rows"][1], one
        assert one["rows"][0] >= 1
    known = [set(y[holds(frame, one["where"])]) for one in found.groups]
    assert found.disclosed <= sum(len(one) == 1 for one in known) * 60
    if leaf == 1:
        assert found.groups[0]["rows"] == [1, 1]
        assert found.disclosed > 30
