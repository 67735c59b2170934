"""Counts of areas that contradict each other: found, and named as an irreducible set, against programs over people."""

import random

import numpy as np
import pytest
from area_cases import TUPLES, drawn, table, within
from scipy.optimize import Bounds, LinearConstraint, milp

from recon.queries.tables.answering import count_areas
from recon.queries.tables.variability import variability
from solvers.foundation.errors import ContradictionError, Inconclusive
from solvers.tables.contradictions import irreducible


def fit(areas, smallest, cells, listed):
    """Return whether some number of people, each in one of the smallest areas, has these counts."""
    held = np.array([[within(a, area, areas) and t in cells[name][0] for a in smallest for t in TUPLES]
                     for area, name in listed], float).reshape(len(listed), -1)  # fmt: skip
    n, value = len(smallest) * len(TUPLES), list(listed.values())
    found = milp(np.zeros(n), constraints=LinearConstraint(held, value, value) if value else None,
                 integrality=np.ones(n), bounds=Bounds(0, 20))  # fmt: skip
    assert found.status in {0, 2}
    return found.status == 0


@pytest.mark.parametrize(
    "seeds", [16, pytest.param(40, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.long)]
)
def test_what_is_named_contradicts_itself_and_no_less_does(seeds):
    """One or two counts changed, at any level: refused exactly where nothing fits; what is named fits without any."""
    refused = several = zeros = 0
    for seed in range(seeds):
        rng = random.Random(seed)
        areas, smallest, _, cells, listed = drawn(rng)
        for key in rng.sample(sorted(listed), rng.randint(1, 2)):
            listed[key] = max(0, listed[key] + rng.choice((-1, 1, 1, 2)))
        fits = fit(areas, smallest, cells, listed)
        tables = table(areas, cells, listed)
        if fits:
            count_areas(tables)
            continue
        refused += 1
        with pytest.raises(ContradictionError, match="'t' contradict") as caught:
            count_areas(tables)
        named = {}
        for line in caught.value.conflict:
            text, _, number = line.rpartition(" = ")
            area, _, cell = text.partition(": ")
            cell = cell[: -len(cell) // 2].strip()  # its table has the same name, in brackets
            named[area, cell] = int(number)
            assert listed[area, cell] == int(number), seed
        assert not fit(areas, smallest, cells, named), (seed, named)
        for key in named:
            assert fit(areas, smallest, cells, {k: v for k, v in named.items() if k != key}), (seed, named, key)
        several += len({area for area, _ in named}) > 1
        zeros += 0 in named.values()
        with pytest.raises((ContradictionError, Inconclusive)):
            variability(tables)
    assert refused > seeds / 3
    assert several > seeds / 10
    assert zeros > seeds / 10


def test_what_clashes_is_reduced_and_what_does_not_is_kept():
    assert irreducible(9, lambda some: {2, 5, 6} <= set(some)) == [2, 5, 6]
    assert irreducible(5, lambda some: {1, 2} <= set(some) or {3, 4} <= set(some)) in ([1, 2], [3, 4])
    assert irreducible(4, lambda some: False) == [0, 1, 2, 3]
    assert irreducible(4, lambda some: True) == []
