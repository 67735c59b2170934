"""Distances of two data sets against all pairs: statements telescoped, multipliers, parity, components, searches."""

import itertools
import random

import numpy as np
import pytest
from scipy.sparse import csr_matrix as sparse

from solvers.tables import widths
from solvers.tables.counting import number
from solvers.tables.distances import SCALE, Distances, bound_of, telescoped
from solvers.tables.widths import Width, width

NONE = np.zeros(0, np.int64)


def drawn(rng, most=2):
    """Return a system of a few statements, and all its solutions."""
    n, m = rng.randint(2, 5), rng.randint(1, 3)
    matrix = np.array([[int(rng.random() < 0.6) for _ in range(n)] for _ in range(m)])
    room = np.array([rng.randint(1, most) for _ in range(n)])
    left = matrix @ np.array([rng.randint(0, u) for u in room])
    inside = np.array([rng.random() < 0.7 for _ in range(n)])
    fits = np.array([v for v in itertools.product(*(range(u + 1) for u in room)) if (matrix @ v == left).all()])
    return Distances(sparse(matrix), left, room, inside, np.arange(n), NONE), fits


def test_distances_are_even_where_statements_add_up_to_the_counts_inside():
    """Exactly where some of the statements do, modulo 2; then an odd bound is one too many, else it may be attained."""
    rng, seen, odd = random.Random(6), set(), 0
    for _ in range(150):
        d, fits = drawn(rng)
        rows = d.matrix.toarray()
        some = itertools.product((0, 1), repeat=len(rows))
        assert d.even == any(((np.array(c) @ rows - d.inside) % 2 == 0).all() for c in some)
        apart = np.abs(fits[:, None, d.inside] - fits[None, :, d.inside]).sum(axis=2)
        assert not d.even or not (apart % 2).any()
        assert [d.rounded(k) for k in range(6)] == ([0, 0, 2, 2, 4, 4] if d.even else [*range(6)])
        assert d.rounded(int(apart.max())) == apart.max()
        odd += bool(apart.max() % 2)
        seen.add(d.even)
    assert seen == {False, True}
    assert odd > 20
    twice = Distances(sparse([[2, 1]]), np.array([2]), np.array([1, 2]), np.array([True, True]), np.arange(2), NONE)
    assert not twice.even  # 2 x + y = 2: (1, 0) and (0, 2) are 3 apart


def test_a_search_closes_a_width_from_any_pair(monkeypatch):
    """Begun from two solutions, whichever: all distances are tried that parity lets be, of two and around one."""
    monkeypatch.setattr(widths, "_pairs", lambda *_: ())
    rng = random.Random(8)
    for _ in range(40):
        d, fits = drawn(rng)
        x, y = (fits[rng.randrange(len(fits))] for _ in range(2))
        for center in (None, x):
            ends = fits if center is None else center[None]
            far = int(np.abs(fits[:, None, d.inside] - ends[None, :, d.inside]).sum(axis=2).max())
            begun = Width(0, d.rounded(2 * int(d.room.sum()))).with_pair(d, y, x)
            assert begun.low == np.abs(x - y)[d.inside].sum()
            found = widths._closed_width(d, begun, None, center)
            assert (found.low, found.high) == (far, far)
            assert any((found.x == v).all() for v in fits)
            assert any((found.y == v).all() for v in ends)
            assert np.abs(found.x - found.y)[d.inside].sum() == far


@pytest.mark.parametrize("searched", [None, (np.array([1, 0]), np.array([0, 2]))], ids=["undecided", "no solutions"])
def test_a_search_that_decides_nothing_leaves_the_bounds(searched, monkeypatch):
    """Where it is cut off, or gives what does not fit, it is asked once, and no bound is moved."""
    asked = []
    monkeypatch.setattr(widths, "_searched", lambda *given: asked.append(given[1:3]) or searched)
    monkeypatch.setattr(widths, "_pairs", lambda *_: ())
    d = Distances(sparse([[1, 1]]), np.array([2]), np.array([2, 1]), np.array([True, True]), np.arange(2), NONE)
    begun = Width(0, 4).with_pair(d, np.array([2, 0]), np.array([2, 0]))
    assert widths._closed_width(d, begun, None, None) is begun
    assert asked == [(2, 4)]


def test_a_pair_that_is_no_solution_says_nothing():
    d = Distances(sparse([[1, 1]]), np.array([2]), np.array([3, 1]), np.array([True, True]), np.arange(2), NONE)
    good, loose = np.array([2, 0]), Width(0, 4)
    for bad in ([1, 0], [3, -1], [0, 2]):  # another sum; below 0; more than there is room for
        for pair in ((good, np.array(bad)), (np.array(bad), good), (NONE, NONE)):
            assert loose.with_pair(d, *pair) is loose
    same = loose.with_pair(d, good, good)
    assert (same.low, same.x.tolist()) == (0, [2, 0])  # a data set is better than none
    further = same.with_pair(d, good, np.array([1, 1]))
    assert further.low == 2
    assert further.with_pair(d, good, good) is further


@pytest.mark.slow
def test_components_parity_and_searches_against_all_pairs():
    """Two systems beside each other: bounds by components, which distances are even, what a search finds and denies."""
    rng, evens = random.Random(4), 0
    for _ in range(25):
        blocks, left, room = [], [], []
        for _ in range(2):
            n = rng.randint(2, 3)
            rows = np.array([[int(rng.random() < 0.7) for _ in range(n)] for _ in range(rng.randint(1, 2))])
            most = np.array([rng.randint(1, 2) for _ in range(n)])
            blocks.append(rows)
            left.append(rows @ np.array([rng.randint(0, u) for u in most]))
            room.append(most)
        matrix = np.zeros((len(blocks[0]) + len(blocks[1]), len(room[0]) + len(room[1])), np.int64)
        matrix[: len(blocks[0]), : len(room[0])] = blocks[0]
        matrix[len(blocks[0]) :, len(room[0]) :] = blocks[1]
        left, room = np.concatenate(left), np.concatenate(room)
        inside = np.array([rng.random() < 0.8 for _ in room])
        fits = np.array([v for v in itertools.product(*(range(u + 1) for u in room)) if (matrix @ v == left).all()])
        apart = np.abs(fits[:, None, inside] - fits[None, :, inside]).sum(axis=2)
        far = int(apart.max())
        system = Distances(sparse(matrix), left, room, inside, np.arange(len(room)), NONE)
        assert len(system.components) >= 2
        assert not system.even or not (apart % 2).any()
        evens += system.even
        loose = Width(0, int(room.sum()), multipliers=np.zeros(len(left), np.int64))
        closed = widths._width_by_components(system, loose, None, None, False)
        assert (closed.low, closed.high) == (far, far)
        assert not far or np.abs(closed.x - closed.y)[inside].sum() == far
        assert len(widths._searched(system, far + 1, int(room.sum()), None)[0]) == 0
        x, y = widths._searched(system, far, far, None)
        assert np.abs(x - y)[inside].sum() == far
    assert 0 < evens < 25


@pytest.mark.sampled(1)
@pytest.mark.parametrize("paired", [0, widths.MAX_PAIRED])
def test_multipliers_are_bounds_whatever_they_are(paired, monkeypatch):
    """Any whole numbers in place of the solver's multipliers bound all pairs; what the solver gave is mostly sharp."""
    monkeypatch.setattr(widths, "MAX_PAIRED", paired)  # above so many counts pairs are found in turns
    rng, sharp, lower = random.Random(0), 0, 0
    for _ in range(40):
        system, fits = drawn(rng, 3)
        for center in (None, fits[rng.randrange(len(fits))]):
            ends = fits if center is None else [center]
            far = max(np.abs(p - q)[system.inside].sum() for p in fits for q in ends)
            told = width(system, center)
            assert told.low <= far <= told.high
            assert told.low == far or not paired
            lower += told.low < far
            sharp += told.high == far
            for _ in range(5):
                any_numbers = np.array([rng.randint(-3 * SCALE, 3 * SCALE) for _ in system.left])
                assert far <= bound_of(system, any_numbers, center)
    assert sharp > 70
    assert lower < 4


@pytest.mark.slow
def test_statements_less_what_lies_in_them_have_the_same_solutions():
    """Numbers, and the statements themselves, against all vectors; statements that contradict each other have none."""
    rng = random.Random(3)
    for seed in range(60):
        n = rng.randint(2, 7)
        rows = {tuple(sorted(rng.sample(range(n), rng.randint(1, n)))) for _ in range(rng.randint(1, 6))} | {
            tuple(range(n))
        }
        matrix = np.array([[int(j in row) for j in range(n)] for row in rows])
        matrix = np.concatenate([matrix, matrix[:1]])  # one twice
        high = np.array([rng.randint(0, 2) for _ in range(n)])
        left = matrix @ np.array([rng.randint(0, u) for u in high])
        every = np.array(list(itertools.product(*(range(u + 1) for u in high))))
        fits = every[(every @ matrix.T == left).all(axis=1)]
        less, values, ways = telescoped(sparse(matrix), left)
        assert np.array_equal((ways @ sparse(matrix)).toarray(), less.toarray()), seed
        assert set(less.data.tolist()) <= {1}
        assert np.array_equal(
            (every @ less.T.toarray() == values).all(axis=1), (every @ matrix.T == left).all(axis=1)
        ), seed
        wide = np.concatenate([np.ones((1, n + 13), np.int64), np.pad(matrix, ((0, 0), (0, 13)))])  # beyond the few
        some, none = np.zeros(n + 13, np.int64), np.concatenate([high, np.zeros(13, np.int64)])
        told = np.concatenate([left[[list(rows).index(tuple(range(n)))]], left])
        assert number(sparse(wide), told, some, none) == len(fits), seed
        left[-1] += 1
        assert telescoped(sparse(matrix), left) is None
