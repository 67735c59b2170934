"""The statements that figures of single columns make, one by one, and what cannot be stated."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Continuous, Grid, View
from encoders.domain.values import Test as Condition
from encoders.encode.marginals import LARGEST, column_statements
from encoders.models.models import ColumnFigures
from solvers.engines.marginal_statements import Marginal, MarginalColumn
from solvers.foundation.errors import Unsupported
from solvers.statements.release import RowCount

DOMAIN = Domain(
    (
        Grid.between("x", 0, 3), Grid.between("gap", 0, 2, missing=True), Categorical("word", ("a", "b", "c")),
        Categorical("tenth", (0.1, 0.2, 0.7)), Continuous("float", Fraction(0), Fraction(9)),
        Grid.between("wide", 0, 200_000), Grid.between("huge", 10**12, 10**12 + 1), Categorical("fine", (1e-9, 0.1)),
        Categorical("far", (0, 1 << 30)),
    ),
    Categorical("y", (0, 1)),
    {"is b": View("word", Condition(values=("b",))), "is a or c": View("word", Condition(values=("a", "c")))},
)  # fmt: skip
NO_END = LARGEST - 1


TEN = RowCount(10, 10)


def found(many=TEN, **figures):
    """Return (weights, low, high) of every statement of some figures."""
    return [
        (one.weights.tolist(), one.low, one.high)
        for one in column_statements(ColumnFigures(source="S", **figures), DOMAIN, many)
    ]


@pytest.mark.parametrize(
    ("figures", "statements"),
    [
        ({"column": "x"}, []),
        ({"column": "x", "mean": 1.5, "rows": 10}, [([0, 1, 2, 3], 15, 15)]),
        ({"column": "x", "mean": 1.5}, [([0, 1, 2, 3], 15, 15)]),
        ({"column": "x", "mean": 1.1, "rows": 10, "variance": 0.49}, [([0, 1, 2, 3], 11, 11), ([1, 0, 1, 4], 5, 5)]),
        ({"column": "is b", "mean": 0.3}, [([0, 1, 0], 3, 3)]),
        ({"column": "tenth", "mean": 0.38}, [([1, 2, 7], 38, 38)]),
        ({"column": "gap", "mean": 1.25, "rows": 8}, [([1, 1, 1, 0], 8, 8), ([0, 1, 2, 0], 10, 10)]),
        ({"column": "gap", "mean": 4 / 3}, [([-4, -1, 2, 0], 0, 0)]),
        ({"column": "x", "least": 1.0}, [([0, 1, 0, 0], 1, 10), ([1, 0, 0, 0], 0, 0)]),
        ({"column": "x", "greatest": 2.0}, [([0, 0, 1, 0], 1, 10), ([0, 0, 0, 1], 0, 0)]),
        ({"column": "x", "largest": 2.0, "make": lambda v: v - 3},
         [([0, 1, 0, 0], 1, 10), ([1, 0, 0, 0], 0, 0)]),
        ({"column": "x", "quantiles": ((1, 4, 2.0),)},
         [([-3, -3, 1, 1], 8, NO_END), ([3, 3, 3, -1], 8, NO_END)]),
        ({"column": "word", "values": frozenset(["a", "c"])},
         [([1, 0, 0], 1, 10), ([0, 0, 1], 1, 10), ([0, 1, 0], 0, 0)]),
        ({"column": "word", "values": frozenset(["b"]), "gap": False}, [([0, 1, 0], 1, 10), ([1, 0, 1], 0, 0)]),
        ({"column": "gap", "mean": 1.25, "rows": 8, "variance": 0.4375},
         [([1, 1, 1, 0], 8, 8), ([0, 1, 2, 0], 10, 10), ([1, 0, 1, 0], 4, 4)]),
        ({"column": "gap", "quantiles": ((1, 2, 1.0),)}, [([-1, 1, 1, 0], 4, NO_END), ([1, 1, -1, 0], 4, NO_END)]),
        ({"column": "gap", "commonest": 1}, [([-1, 1, 0, 0], 1, NO_END), ([0, 1, -1, 0], 1, NO_END)]),
        ({"column": "is a or c", "mean": 0.3}, [([1, 0, 1], 3, 3)]),
        ({"many": RowCount(0, None), "column": "x", "least": 1.0}, [([0, 1, 0, 0], 1, NO_END), ([1, 0, 0, 0], 0, 0)]),
        ({"many": RowCount(0, None), "column": "word", "values": frozenset("abc")},
         [([1, 0, 0], 1, NO_END), ([0, 1, 0], 1, NO_END), ([0, 0, 1], 1, NO_END), ([0, 0, 0], 0, 0)]),
        ({"column": "word", "commonest": "b"}, [([-1, 1, 0], 1, NO_END), ([0, 1, -1], 1, NO_END)]),
        ({"column": "gap", "values": frozenset([0, 1]), "gap": True},
         [([1, 0, 0, 0], 1, 10), ([0, 1, 0, 0], 1, 10), ([0, 0, 1, 0], 0, 0), ([0, 0, 0, 1], 1, 10)]),
        ({"column": "gap", "values": frozenset([2]), "gap": False},
         [([0, 0, 1, 0], 1, 10), ([1, 1, 0, 0], 0, 0), ([0, 0, 0, 1], 0, 0)]),
        ({"column": "gap", "least": 0.0, "make": lambda v: math.nan if v is None else v},
         [([1, 0, 0, 0], 1, 10), ([0] * 4, 0, 0)]),
    ],
)  # fmt: skip
def test_figures_are_sums_over_the_values_of_an_attribute(figures, statements):
    assert found(**figures) == statements


@pytest.mark.parametrize(
    ("figures", "why"),
    [
        ({"column": "none"}, "neither an attribute nor a column"),
        ({"column": "float", "mean": 1.0}, "no values that could be gone through"),
        ({"column": "wide", "mean": 1.0}, "200,001 values, too many"),
        ({"column": "word", "mean": 1.0}, "not numbers"),
        ({"column": "word", "values": frozenset(["z"])}, "value z is not a value of 'word'"),
        ({"column": "x", "least": 7.0}, "least value is not a value"),
        ({"column": "x", "mean": 1.51, "rows": 10}, "weighted"),
        ({"column": "x", "mean": 1.5, "rows": 9}, "another number"),
        ({"column": "x", "mean": 1.5, "variance": 0.13}, "weighted"),
        ({"column": "x", "quantiles": ((1, 2, 1.5),)}, "between two values"),
        ({"column": "fine", "mean": 0.1}, "too fine"),
        ({"column": "gap", "mean": math.pi}, "none of so many numbers"),
    ],
)
def test_what_cannot_be_stated_is_refused_with_the_reason(figures, why):
    with pytest.raises(Unsupported, match=why):
        found(**figures)


def test_sums_beyond_the_machine_are_refused():
    huge = {"column": "huge", "mean": 1e12 + 0.5}
    assert found(RowCount(2, 2), **huge) == [([10**12, 10**12 + 1], 2 * 10**12 + 1, 2 * 10**12 + 1)]
    with pytest.raises(Unsupported, match="more digits"):  # the mean is near several sums
        found(RowCount(10**6, 10**6), **huge)
    far = {"column": "far", "mean": 2.0**29, "variance": 0.0}
    assert len(found(RowCount(1, 1), **far)) == 2
    with pytest.raises(Unsupported, match="too large"):
        found(RowCount(2, 2), **far)
    with pytest.raises(Unsupported, match="another number"):
        found(RowCount(9, 10), column="x", mean=1.5, rows=10)


def test_a_column_filled_with_its_own_mean_is_of_the_others():
    mean = 4 / 3
    filled = {"column": "gap", "make": lambda v: mean if v is None else v, "mean": mean, "rows": 10}
    spread = (9 * 2 / 9) / 10  # nine numbers about their mean, one gap: 1, 1, 2 three times
    assert found(**filled, variance=spread) == [([1, 1, 1, 0], 9, 9), ([0, 1, 2, 0], 12, 12), ([1, 0, 1, 0], 3, 3)]
    assert found(**filled) == [([1, 1, 1, 0], 9, 9), ([0, 1, 2, 0], 12, 12)]
    with pytest.raises(Unsupported, match="of how many rows"):
        found(**filled, variance=spread + 1e-3)
    with pytest.raises(Unsupported, match="too fine"):
        found(**{**filled, "mean": 1.0})


def test_values_that_are_ruled_out_are_no_class():
    ones = [Marginal(0, np.array(w), low, high, "") for w, low, high in (([0, 1, 1, 2], 3, 4), ([0, 0, 0, 1], 0, 0))]
    column = MarginalColumn.of_marginals(0, 4, ones)
    assert column.of.tolist() == [0, 1, 1, -1]
    assert (column.weights.tolist(), column.low.tolist(), column.high.tolist()) == ([[0, 1]], [3], [4])
    met = [ones[0].met(np.array([1, 3]), np.array(times)) for times in ([1, 1], [2, 1], [1, 2], [2, 0])]
    assert met == [True, True, False, False]
    only = MarginalColumn.of_marginals(0, 4, ones[1:])
    assert (only.of.tolist(), only.weights.shape) == ([0, 0, 0, -1], (0, 1))
    alike = Marginal(0, np.array([-1, 1]), 0, 0, "")  # as many rows of the one value as of the other
    negative = MarginalColumn.of_marginals(0, 2, [alike])
    assert negative.of.tolist() == [0, 1]
    with pytest.raises(Unsupported, match="100,001 values"):
        MarginalColumn.of_marginals(0, 100_001, [])
