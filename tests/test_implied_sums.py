"""Sums left out because they follow from their parts: brute force finds the same solutions without them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from solvers.cells.components import presolve
from solvers.cells.linear_system import SparseStatements, propagate, separating_sums

CELLS = 5


def system(rows, cells=CELLS):
    """Return statements (coefficients by cell, low, high) as a sparse system."""
    entries = [(r, c, a) for r, (coefs, _, _) in enumerate(rows) for c, a in coefs.items() if a]
    row, col, coef = (np.array([e[k] for e in entries], dtype=np.int64) for k in range(3))
    bounds = tuple(np.array([one[k] for one in rows], dtype=np.int64) for k in (1, 2))
    return SparseStatements.of(row, col, coef, bounds, cells)


def solutions(rows, cells=CELLS, most=2):
    """Return every solution with at most so many rows in a cell."""
    met = lambda z, one: one[1] <= sum(a * z[c] for c, a in one[0].items()) <= one[2]  # noqa: E731
    return {z for z in product(range(most + 1), repeat=cells) if all(met(z, one) for one in rows)}


def sums(*parts, low=None, high=None):
    """Return the statement that cells add up to a number, or lie within bounds."""
    return dict.fromkeys(parts, 1), low, low if high is None else high


HALVES = [sums(0, 1, low=2), sums(2, 3, 4, low=3)]


def test_a_total_that_its_parts_give_is_left_out():
    rows = [sums(0, 1, 2, 3, 4, low=5), *HALVES]
    assert separating_sums(system(rows), ()).tolist() == [True, False, False]
    found = presolve(system(rows), propagate(system(rows), np.zeros(CELLS, dtype=np.int64), np.full(CELLS, 5)))
    assert sorted(part.cells.tolist() for part in found.components) == [[0, 1], [2, 3, 4]]


@pytest.mark.parametrize(
    ("total", "parts"),
    [
        (sums(0, 1, 2, 3, 4, low=6), HALVES),  # no solution: somebody must see that
        (sums(0, 1, 2, 3, 4, low=4, high=6), HALVES),  # no equation
        (({0: 1, 1: 1, 2: 2, 3: 1, 4: 1}, 5, 5), HALVES),  # cells count differently
        (sums(0, 1, 2, 3, 4, low=5), [sums(0, 1, low=2), sums(2, 3, 4, low=3, high=4)]),
        (sums(0, 1, 2, 3, 4, low=5), [({0: 1, 1: 2}, 2, 2), sums(2, 3, 4, low=3)]),
        (sums(0, 1, 2, 3, 4, low=5), [sums(0, 1, low=2), sums(1, 2, 3, 4, low=3)]),  # they overlap
        (sums(0, 1, 2, 3, 4, low=5), [sums(0, 1, low=2), sums(2, 3, low=3)]),  # a cell is missing
        (sums(0, 1, 2, 3, 4, low=5), [*HALVES, sums(1, 2, low=1)]),  # it separates nothing
    ],
)
def test_any_other_total_stays(total, parts):
    assert not separating_sums(system([total, *parts]), ()).any()


def test_a_total_that_is_asked_for_stays():
    assert not separating_sums(system([sums(0, 1, 2, 3, 4, low=5), *HALVES]), (0,)).any()


def test_of_two_that_say_the_same_one_stays():
    rows = [sums(0, 1, 2, 3, 4, low=5), sums(0, 1, 2, 3, 4, low=5)]
    assert not separating_sums(system(rows), ()).any()


statements = st.lists(
    st.tuples(st.sets(st.integers(0, CELLS - 1), min_size=1), st.integers(0, 4), st.integers(0, 1)), max_size=3
)


@given(st.lists(st.integers(0, 2), min_size=CELLS, max_size=CELLS), statements, st.integers(0, 4), st.data())
def test_no_solution_comes_and_none_goes(groups, others, wrong, data):
    """The sums of a partition, their total, and others, mostly equations; all true of a world, or one is wrong."""
    world = data.draw(st.tuples(*[st.integers(0, 2)] * CELLS))
    parts = [{c for c in range(CELLS) if groups[c] == g} for g in sorted(set(groups))]
    rows = [sums(*cells, low=sum(world[c] for c in cells)) for cells in [set(range(CELLS)), *parts]]
    for cells, less, slack in others:
        low = sum(world[c] for c in cells) - (less == 0)
        rows.append(sums(*cells, low=low, high=low + slack + (less == 0)))
    if wrong < len(rows):
        coefs, low, high = rows[wrong]
        rows[wrong] = coefs, low + 1, high + 1
    order = data.draw(st.permutations(range(len(rows))))
    rows = [rows[k] for k in order]
    out = separating_sums(system(rows), ())
    event(f"{out.sum()} left out")
    assert solutions(rows) == solutions([one for one, left_out in zip(rows, out, strict=True) if not left_out])
