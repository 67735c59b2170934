"""Row matching against brute force over permutations, and the baselines."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from baselines import against_baselines
from hypothesis import given, settings
from hypothesis import strategies as st

from recon.release.auditing import matching
from solvers.foundation.errors import ReleaseError

tables = st.integers(1, 3).flatmap(
    lambda width: st.tuples(
        *(st.lists(st.lists(st.integers(0, 2), min_size=width, max_size=width), min_size=1, max_size=5) for _ in "ab")
    )
)


@pytest.mark.slow
@settings(max_examples=200)
@given(tables)
def test_compare_is_brute_force(pair):
    truth, guess = (np.array(t) for t in pair)
    width = truth.shape[1]
    padded = [tuple(r) for r in guess.tolist()] + [None] * max(0, len(truth) - len(guess))
    pairs = [list(zip(truth.tolist(), p, strict=False)) for p in permutations(padded)]
    right = max(sum(tuple(a) == b for a, b in p) for p in pairs)
    cells = max(sum(sum(x == y for x, y in zip(a, b, strict=True)) if b else 0 for a, b in p) for p in pairs)
    found = matching.compare(truth, guess)
    assert found.rows_right == right
    assert found.share_right == right / len(truth)
    assert found.cells_right == pytest.approx(cells / (len(truth) * width))
    rows = [tuple(r) for r in truth.tolist()]
    once = [r for r in rows if rows.count(r) == 1]
    assert (found.unique_rows, found.unique_right) == (len(once), sum(r in padded for r in once))


@settings(max_examples=50)
@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 60))
def test_flow_and_assignment_agree(seed, n, m):
    rng = np.random.default_rng(seed)
    distinct, left, right = matching.group_rows(rng.integers(0, 3, (n, 4)), rng.integers(0, 3, (m, 4)))
    rows, columns = np.flatnonzero(left), np.flatnonzero(right)
    dense = matching._assignment(distinct, np.repeat(rows, left[rows]), np.repeat(columns, right[columns]))
    assert matching._flow(distinct, rows, columns, left[rows], right[columns]) == dense


def test_too_large_a_matching_says_so(monkeypatch):
    monkeypatch.setattr(matching, "MAX_ASSIGNED", 2)
    monkeypatch.setattr(matching, "MAX_ARCS", 2)
    found = matching.compare(np.array([[0], [1], [2]]), np.array([[3], [4], [5]]))
    assert found.cells_right is None
    assert "3 x 3 distinct rows" in found.note


@pytest.mark.slow
def test_baselines_on_real_rows(data):
    """Two halves of COMPAS14 share 87 % of their rows (shared/design): whoever claims more must beat that."""
    rows = pd.read_csv(data("compas14.csv.gz")).to_numpy()
    found = against_baselines(rows, rows, [2] * rows.shape[1], repeats=3)
    assert found.match.share_right == found.match.cells_right == 1
    share = {b.name: b.share_right for b in found.baselines}
    assert share["one half of the truth against the other"] == pytest.approx(0.87, abs=0.015)
    assert share["uniform rows"] < share["product of marginals"] < 0.8
    with_people = against_baselines(rows[:3000], rows[:3000], [2] * rows.shape[1], rows[3000:], repeats=1)
    assert [b.name for b in with_people.baselines][2] == "fresh sample of the population"


def test_huge_values():
    truth = np.array([[10**30, 1], [5, 2]], dtype=object)
    assert matching.compare(truth, truth[::-1]).rows_right == 2
    drawn = matching._uniform([10**30, 2], 50, np.random.default_rng(0))
    assert drawn.shape == (50, 2)
    assert max(drawn[:, 0]) < 10**30
    assert max(drawn[:, 0]) > 10**29


def test_large_indices_of_two_kinds_stay_apart():
    truth, guess = np.array([[2**60 + 1]]), np.array([[2**60]], dtype=np.uint64)
    assert matching.compare(truth, guess).rows_right == 0


def test_a_population_smaller_than_the_truth_is_no_lower_bar():
    rng = np.random.default_rng(0)
    truth, people = rng.integers(0, 2, (1000, 3)), rng.integers(0, 2, (100, 3))
    found = against_baselines(truth, truth, [2] * 3, people)
    assert found.baselines[2].share_right > 0.75  # rows are one of 8: samples of 100 share most of them


def test_tables_of_other_attributes_are_refused():
    with pytest.raises(ReleaseError, match="same attributes"):
        matching.compare(np.zeros((3, 2), int), np.zeros((3, 3), int))
    truth = np.zeros((3, 2), int)
    for refused in ({"totals": [2]}, {"repeats": 0}, {"population": truth[:0]}):
        with pytest.raises(ReleaseError):
            against_baselines(**{"truth": truth, "guess": truth, "totals": [2, 2], **refused})


def test_the_flow_is_used_where_rows_are_many(monkeypatch):
    rng = np.random.default_rng(1)
    truth, guess = rng.integers(0, 3, (80, 5)), rng.integers(0, 3, (60, 5))
    dense = matching.compare(truth, guess)
    monkeypatch.setattr(matching, "MAX_ASSIGNED", 2)
    assert matching.compare(truth, guess) == dense
