"""Attributes cut into parts: order, sizes and masks against their definitions in plain fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.domain.domain import UNITS, AttributeCuts
from encoders.domain.values import Categorical, Continuous, Grid, exact
from solvers.foundation.errors import ReleaseError

NUMBERS = st.one_of(
    st.integers(-(10**300), 10**300),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.1, 0.1 + 2**-56, 1 / 3, 5e-324, 1, 2, 1e300]),
).map(exact)
POSITIONS = st.tuples(NUMBERS, st.integers(0, 1))


@pytest.mark.slow
@settings(max_examples=300, derandomize=True)
@given(st.sets(POSITIONS, max_size=12), POSITIONS, POSITIONS, st.booleans())
def test_a_continuous_attribute_is_cut_as_its_definition_says(positions, one, other, missing):
    low, high = sorted((one[0], other[0]))
    if low == high:
        return
    attribute = Continuous("x", low, high, missing=missing)
    positions |= {(high, 1)} if missing else set()
    cuts = AttributeCuts.at(attribute, positions)
    inside = sorted(p for p in positions if (low, 0) < p < attribute.span[1])
    assert list(cuts.inner) == inside
    edges = [(low, 0), *inside, attribute.span[1]]
    weight = [b[0] - a[0] + ((b[1] == 2) - (a[1] == 2)) * (high - low) for a, b in pairwise(edges)]
    if 0 in weight:
        with pytest.raises(ReleaseError, match="resolution"):
            _ = cuts.sizes
        return
    unit = Fraction(UNITS * math.lcm(*(Fraction(w).denominator for w in weight)))
    assert list(cuts.sizes) == [w * unit for w in weight]
    assert min(cuts.sizes) >= UNITS
    for i, start in enumerate(edges):
        assert i == len(inside) + 1 or cuts.part(start) == i
        for j in range(i + 1, len(edges)):
            assert cuts.mask(((start, edges[j]),)) == sum(1 << p for p in range(i, j))


@pytest.mark.parametrize("missing", [False, True])
def test_values_are_cut_by_their_places(missing):
    for attribute in (
        Categorical("x", ("a", "b", "c", "d"), missing=missing),
        Grid.between("x", 0, 3, 1, missing=missing),
    ):
        cuts = AttributeCuts.at(attribute, {0, 1, 3, 4})
        assert cuts.inner == ((1, 3, 4) if missing else (1, 3))
        assert cuts.sizes == ((1, 2, 1, 1) if missing else (1, 2, 1))
        assert cuts.mask(((0, 1), (3, 4))) == 0b101
