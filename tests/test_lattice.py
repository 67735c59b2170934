"""What linear algebra leaves open, by lattice reduction: forms hold at every whole point, whatever is proposed."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from solvers.foundation.errors import EngineError, TooLarge
from solvers.foundation.limits import Limits
from solvers.leaf_values import lattice
from solvers.leaf_values.combining import IntegerStatements
from solvers.leaf_values.lattice import MAX_LATTICE_COLUMNS, reduced, unavailable


def statements(middle, low, high, lower, upper, radius=None):
    middle = np.array(middle, dtype=np.float64)
    radius = np.zeros_like(middle) if radius is None else radius
    low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    lower, upper = np.array(lower, dtype=np.int64), np.array(upper, dtype=np.int64)
    return IntegerStatements(middle, radius, low, high, np.arange(len(low)), np.arange(len(lower)), lower, upper)


def random_statements(rng, n, least=0):
    """Return statements that a random whole point meets, and that point."""
    m = int(rng.integers(1, n + 2))
    lower = rng.integers(least, 2, n)
    upper = lower + rng.integers(0, 4, n)
    x = rng.integers(lower, upper + 1)
    middle = rng.normal(size=(m, n)) * 10.0 ** rng.integers(-3, 3, (m, 1))
    whole = rng.random(m) < 0.3
    middle[whole] = rng.integers(-2, 3, (int(whole.sum()), n))
    middle[rng.random((m, n)) < 0.2] = 0.0
    radius = np.abs(middle) * rng.choice([0.0, 1e-9, 1e-3]) * rng.random((m, n))
    radius[whole] = 0.0
    room = 10.0 ** rng.integers(-6, 1, m) * rng.random(m)
    room[whole] = rng.integers(0, 2, int(whole.sum()))
    # the true coefficients lie anywhere within the radius
    true = middle + radius * rng.uniform(-0.99, 0.99, (m, n))
    at = true @ x
    slack = 1e-12 * (np.abs(true) @ np.abs(x))
    slack[whole] = 0.0
    off = rng.uniform(0, 1, m) * room
    off[whole] = 0.0
    return statements(middle, at - off - slack, at - off + room + slack, lower, upper, radius), x


def points(given):
    """Return all whole points within the bounds that meet the statements for some coefficients, in exact numbers."""
    ranges = [range(a, b + 1) for a, b in zip(given.lower.tolist(), given.upper.tolist(), strict=True)]
    rows = [
        ([Fraction(v) for v in a], [Fraction(v) for v in r], Fraction(lo), Fraction(hi))
        for a, r, lo, hi in zip(given.middle, given.radius, given.low, given.high, strict=True)
    ]

    def meets(x):
        for a, r, low, high in rows:
            total = sum(v * p for v, p in zip(a, x, strict=True))
            far = sum(v * abs(p) for v, p in zip(r, x, strict=True))
            if total + far < low or total - far > high:
                return False
        return True

    return [x for x in itertools.product(*ranges) if meets(x)]


def proved(given, found):
    """Assert every entry from those before it, in rational numbers; return the bounds of columns they end in."""
    lower, upper = given.lower.tolist(), given.upper.tolist()
    middle = given.middle if isinstance(given.middle, np.ndarray) else given.middle.toarray()
    radius = given.radius if isinstance(given.radius, np.ndarray) else given.radius.toarray()
    m = len(given.low)
    for e, entry in enumerate(found):
        assert entry.weights.shape == (m + e,)
        assert entry.weights.dtype == np.float64
        rest = [Fraction(0)] * len(lower)
        for j, coefficient in entry.terms:
            rest[j] += coefficient
        top = bottom = Fraction(0)
        for i, y in enumerate(map(Fraction, entry.weights.tolist())):
            if not y:
                continue
            if i < m:
                reach = [max(abs(a), abs(b)) for a, b in zip(lower, upper, strict=True)]
                far = sum(Fraction(r) * z for r, z in zip(radius[i], reach, strict=True))
                ends = y * (Fraction(given.low[i]) - far), y * (Fraction(given.high[i]) + far)
                coefficients = [(j, Fraction(v)) for j, v in enumerate(middle[i]) if v]
            else:
                ends = y * found[i - m].low, y * found[i - m].high
                coefficients = found[i - m].terms
            top, bottom = top + max(ends), bottom + min(ends)
            for j, v in coefficients:
                rest[j] -= y * v
        for v, a, b in zip(rest, lower, upper, strict=True):
            top, bottom = top + max(v * a, v * b), bottom + min(v * a, v * b)
        assert top < entry.high + 1
        assert bottom > entry.low - 1
        if len(entry.terms) == 1 and entry.terms[0][1] == 1:
            j = entry.terms[0][0]
            lower[j], upper[j] = max(lower[j], entry.low), min(upper[j], entry.high)
    return np.array(lower), np.array(upper)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(4))
def test_forms_hold_at_every_whole_point(seed):
    """Whatever is found is proved by its weights, and holds wherever the statements do."""
    rng = np.random.default_rng(seed)
    some = 0
    for turn in range(60):
        given, x = random_statements(rng, int(rng.integers(1, 6)), least=-1 if turn % 3 == 0 else 0)
        found = reduced(given)
        proved(given, found)
        every = points(given)
        assert tuple(x.tolist()) in every
        for entry in found:
            values = {sum(c * p[j] for j, c in entry.terms) for p in every}
            assert entry.low <= min(values)
            assert max(values) <= entry.high
        some += bool(found)
    assert some > 20  # of 60


@pytest.mark.parametrize("seed", range(3))
def test_steps_of_one_row_among_many_are_seen(seed):
    """Numbers up to 40,000 from three sums: a step of one row must not be rounded to none in the embedding."""
    rng = np.random.default_rng(seed)
    room, x = 40_000, rng.integers(0, 40_000, 6)
    coefficients = np.vstack([rng.uniform(0.1, 1, (2, 6)), np.ones(6)])
    at, half = coefficients @ x, np.array([1e-8, 1e-8, 0.0])
    none, number = np.zeros(6, dtype=np.int64), np.arange(6)
    empty = csr_matrix(coefficients.shape)
    given = IntegerStatements(
        csr_matrix(coefficients), empty, at - half, at + half, number[:3], number, none, np.full(6, room)
    )
    known = {one.terms[0][0]: one.low for one in reduced(given) if len(one.terms) == 1 and one.low == one.high}
    assert known == dict(enumerate(x.tolist()))


def test_what_one_statement_determines():
    """Twenty bits from one real number: only rounding to whole numbers knows them."""
    rng = np.random.default_rng(5)
    coefficients, x = rng.random(20), rng.integers(0, 2, 20)
    at = float(coefficients @ x)
    given = statements([coefficients], [at - 1e-11], [at + 1e-11], np.zeros(20), np.ones(20))
    lower, upper = proved(given, found := reduced(given))
    assert lower.tolist() == upper.tolist() == x.tolist()
    assert all(entry.low == entry.high for entry in found if len(entry.terms) > 1)


def test_sparse_statements_and_known_columns_are_the_same():
    """Columns that are known already are taken out, sparse matrices read like others."""
    rng = np.random.default_rng(8)
    coefficients, x = rng.random((2, 14)), rng.integers(0, 5, 14)
    lower, upper = np.zeros(14, dtype=np.int64), np.full(14, 4)
    lower[3:7] = upper[3:7] = x[3:7]
    at = coefficients @ x
    dense = statements(coefficients, at - 1e-11, at + 1e-11, lower, upper)
    sparse = IntegerStatements(
        csr_matrix(coefficients), csr_matrix((2, 14)), dense.low, dense.high, dense.source, dense.column, lower, upper
    )
    for given in (dense, sparse):
        low, high = proved(given, reduced(given))
        assert low.tolist() == high.tolist() == x.tolist()


def test_a_part_is_known_where_the_rest_is_not():
    """Columns 0 and 1 can be exchanged, the others are determined: forms of both kinds, and no more."""
    coefficients = np.array([[1.0, 1.0, 0.7548776662466927, 0.5698402909980532]])
    x = np.array([2, 3, 4, 1])
    at = coefficients @ x
    given = statements(coefficients, at - 1e-9, at + 1e-9, [0] * 4, [5] * 4)
    lower, upper = proved(given, found := reduced(given))
    assert (lower[2:].tolist(), upper[2:].tolist()) == ([4, 1], [4, 1])
    assert (lower[:2] < upper[:2]).all()
    assert any(entry.low == entry.high and len(entry.terms) > 1 for entry in found)


def test_bounds_shrink_where_nothing_is_known():
    """3 x + 3 y + z = 7 within 0..9: x and y are at most 2."""
    given = statements([[3, 3, 1]], [7], [7], [0] * 3, [9] * 3)
    _, upper = proved(given, reduced(given))
    assert upper.tolist() == [2, 2, 7]


def test_contradictions_end_the_list():
    """Two x at 3, whatever the bounds: no whole number is left."""
    found = reduced(statements([[2.0, 0.0], [0.0, 1.0]], [3.0, 0.0], [3.0, 5.0], [0, 0], [9, 9]))
    assert found[-1].low > found[-1].high


def test_an_infinite_end_is_no_end():
    given = statements([[1.0, 1.0], [1.0, -1.0]], [-np.inf, 0.0], [9.0, 0.0], [0, 0], [9, 9])
    _, upper = proved(given, reduced(given))
    assert upper.tolist() == [9, 9]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("lie", ["nothing", "shear", "zeros"])
def test_a_reduction_that_lies_proves_nothing_wrong(monkeypatch, lie):
    """The reduction, and the solver of programs, only propose: their mistakes cost forms, never truth."""

    def transformed(rows):
        k = len(rows)
        change = [[int(i == j) for j in range(k)] for i in range(k)]
        if lie == "shear":  # of determinant -1 or 1
            change = [
                [1 - 2 * (i == 0) if i == j else (i + 2 * j) % 5 - 2 if j < i else 0 for j in range(k)]
                for i in range(k)
            ]
        return [[format(v, "x") for v in row] for row in change]

    def greatest(self, goal):
        return 0.1, np.random.default_rng(1).normal(size=self.steps.shape[1]) if lie != "zeros" else self.start * 0

    monkeypatch.setattr(lattice, "transformed", transformed)
    monkeypatch.setattr(lattice.Programs, "greatest", greatest)
    rng = np.random.default_rng(11)
    for _ in range(40):
        given, _ = random_statements(rng, int(rng.integers(2, 5)))
        found = reduced(given)
        proved(given, found)
        for entry in found:
            values = {sum(c * p[j] for j, c in entry.terms) for p in points(given)}
            assert entry.low <= min(values)
            assert max(values) <= entry.high


def test_a_radius_counts():
    """A coefficient of which half a unit is not known determines nothing that its middle would."""
    wide = statements([[1.0, 0.0]], [3.0], [3.0], [0, 0], [9, 1], radius=np.array([[0.4, 0.0]]))
    lower, upper = proved(wide, reduced(wide))
    assert lower[0] <= 3 / 1.4
    assert upper[0] >= 3 / 0.6


def test_what_is_not_reduced(monkeypatch):
    """Too many columns, none, no time, no package: nothing is found, and the package is named."""
    n = MAX_LATTICE_COLUMNS + 1
    assert reduced(statements(np.ones((1, n)), [1.0], [1.0], np.zeros(n), np.ones(n))) == []
    assert reduced(statements([[1.0]], [1.0], [1.0], [1], [1])) == []
    given = statements([[1.0, 0.3]], [1.3], [1.3], [0, 0], [5, 5])
    assert reduced(given, Limits(seconds=0.0)) == []
    assert unavailable() == ""
    monkeypatch.setattr(lattice.importlib.util, "find_spec", lambda name: None)
    assert ".[lattice]" in unavailable()
    assert reduced(given) == []


def test_many_columns_are_reduced_in_a_process_of_their_own(monkeypatch):
    """With the same forms; a process that fails or has no time costs forms, no more."""
    rng = np.random.default_rng(2)
    coefficients, x = rng.random((4, 12)), rng.integers(0, 4, 12)
    at = coefficients @ x
    given = statements(coefficients, at - 1e-11, at + 1e-11, np.zeros(12), np.full(12, 3))
    found = reduced(given)
    monkeypatch.setattr(lattice, "ALONE", 4)
    assert [(f.terms, f.low) for f in reduced(given, Limits(seconds=60))] == [(f.terms, f.low) for f in found]
    lower, upper = proved(given, found)
    assert lower.tolist() == upper.tolist() == x.tolist()

    def fails(*_, **__):
        raise EngineError("crashed")

    monkeypatch.setattr(lattice, "run", fails)
    assert reduced(given) == []


def test_vectors_that_no_double_holds_end_the_search_and_nothing_else(monkeypatch):
    """Long vectors turned up in a boosted model of 44 cells (tests/golden/honest/xgboost_compas14.json)."""
    flint = pytest.importorskip("flint")
    with pytest.raises(TooLarge, match="too long for doubles"):
        lattice._floats(flint.fmpz_mat([[10**400]]))
    given, _ = random_statements(np.random.default_rng(3), 6)
    monkeypatch.setattr(lattice.LatticeSearch, "embedding", lambda self: lattice._floats(flint.fmpz_mat([[10**400]])))
    assert reduced(given) == []
