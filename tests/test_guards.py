"""What keeps bounds from linear programs and concave maxima true although floats err: each guard, its adverse input.

Every test here fails when its guard is taken out: duals that are rounded the wrong way in rooms of 10^12 rows, solvers
that answer nonsense, gains that err by all that their documentation allows, counts beyond 64 bits.
"""

from __future__ import annotations

import itertools
import math
import random
import sys
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from solvers.cells.system import system_of
from solvers.foundation.limits import Limits
from solvers.programs.columns.master import MasterProgram
from solvers.programs.concave.local_search import STRETCH, _outwards, _summit
from solvers.programs.concave.terms import (
    ERROR,
    ConcaveTerm,
    Gains,
    _dearest,
    _heaviest,
    _on_the_grid,
    _over,
    binding,
    conjugates,
    gain_bound,
    proved_anywhere,
    rise,
)
from solvers.programs.cpsat import rounded_bound
from solvers.programs.linear_program import Feasibility
from solvers.programs.quickxplain import UNPROVEN, FeasibilityOracle, _without_idle, conflict_of
from solvers.statements.boxes import Attribute, Box, Boxes, Region, RowSpace
from solvers.statements.release import ANY_LABEL, UNBOUNDED, Choice, Partition, Release, RowCount, Statement

EVERY = Region(Box())


def system(sums, rows, parts=2):
    """Return the system of rows of one attribute of some parts, weighed sums of them between two ends."""
    stated = tuple(
        Statement.sum(EVERY, low, high, f"sum {i}", of=0, coefs=tuple(coefs))
        for i, (coefs, low, high) in enumerate(sums)
    )
    return system_of(Release(RowSpace((Attribute("a", (1,) * parts),)), RowCount(*rows), (stated,)), Limits())


def table(found):
    """Return the statements of a system as dense rows of Python integers, with their ends."""
    out = [[0] * found.linear.columns for _ in range(len(found.linear))]
    for r, c, a in zip(found.linear.row.tolist(), found.linear.col.tolist(), found.linear.coef.tolist(), strict=True):
        out[r][c] = a
    return out, found.linear.low.tolist(), found.linear.high.tolist()


def meets(z, rows, low, high):
    """Tell whether a histogram meets statements."""
    sums = (sum(a * k for a, k in zip(row, z, strict=True)) for row in rows)
    return all(a <= n <= b for a, n, b in zip(low, sums, high, strict=True))


# ---------------------------------------------------------------- columns


def test_what_pricing_left_open_is_added_to_every_row():
    """Multipliers alone claim too much: the most that a row is worth beyond them counts once per row."""
    domain = RowSpace((Attribute("a", (1, 1)), Attribute("b", (1, 1))))
    stated = (
        Statement.count(Region(Box(((0, 1),))), 1, 3, "a = 0"),
        Statement.count(Region(Box(((1, 1),))), 0, UNBOUNDED, "b = 0"),
        Statement.sum(EVERY, -4, 9, "a sum", of=1, coefs=(-1, 3)),
    )
    master = MasterProgram(Release(domain, RowCount(2, 5), (stated,)))
    x, dice = master.incidence, random.Random(1)
    rows = np.array(list(itertools.product(range(2), repeat=2)), dtype=np.int64)
    statements, coefs, possible = x.columns(rows)
    assert all(possible)
    counts = [dict(zip(s.tolist(), c.tolist(), strict=True)) for s, c in zip(statements, coefs, strict=True)]
    ends = list(zip(master.low, master.high, strict=True))
    worlds = [
        z
        for z in itertools.product(range(6), repeat=4)
        if all(
            (a is None or a <= n) and (b is None or n <= b)
            for j, (a, b) in enumerate(ends)
            for n in [sum(k * c.get(j, 0) for k, c in zip(z, counts, strict=True))]
        )
    ]
    assert worlds
    tight = 0
    for _ in range(300):
        inside = [bool(b) for b in (rows[:, 0] == 0)]
        sign = dice.choice([1, -1])
        size = dice.choice([2, 1 << 20, 1 << 40])
        weights = np.array([dice.randrange(-size, size) for _ in ends], dtype=np.int64)
        for j, (a, b) in enumerate(ends):
            if (a is None and weights[j] < 0) or (b is None and weights[j] > 0):
                weights[j] = 0
        worth = [
            sign * master.scale * is_in - sum(int(weights[j]) * n for j, n in c.items())
            for is_in, c in zip(inside, counts, strict=True)
        ]
        found = master.proof(weights, max(worth), sign)
        assert not found.proved, "who calls says what is the best"
        true = [sum(k for k, is_in in zip(z, inside, strict=True) if is_in) for z in worlds]
        assert found.value >= max(true) if sign > 0 else found.value <= min(true)
        tight += found.value == (max(true) if sign > 0 else min(true))
        exact = sum(y * (ends[j][1] if y > 0 else ends[j][0]) for j, y in found.multipliers.items())
        assert found.value == sign * (exact // master.scale)
        for is_in, c in zip(inside, counts, strict=True):
            assert sign * found.scale * is_in <= sum(y * c.get(j, 0) for j, y in found.multipliers.items())
    assert tight


# ---------------------------------------------------------------- greatest sums of concave gains


def exact_gain(best, spread, top, count):
    """Return a gain at a count: a parabola."""
    return top - Fraction(count - best) ** 2 / (2 * Fraction(spread) ** 2)


def erring(statement, best, spread, top):
    """Return the gain whose values are too small by their documented error."""

    def value(counts):
        true = top - ((counts - best) / spread) ** 2 / 2
        return true - np.abs(true) * 1e-13

    return ConcaveTerm(statement, value, 0, 60, best, float(value(np.array([best]))[0]))


@pytest.mark.sampled(25)
@pytest.mark.parametrize("seed", range(30))
def test_the_greatest_sum_holds_for_gains_that_err_as_much_as_they_may(seed):
    """Every value is too small by its documented error, and the multipliers are any: the bound is still above."""
    dice = random.Random(seed)
    found = system([((0, 1, 1), 0, 12), ((0, 0, 1), 1, 9)], (10, 20), 3)
    rows, low, high = table(found)
    worlds = [z for z in itertools.product(range(21), repeat=3) if 10 <= sum(z) <= 20 and meets(z, rows, low, high)]
    bests, spreads = [dice.randrange(0, 25) for _ in range(2)], [dice.choice([0.5, 3.0, 2.0**-7]) for _ in range(2)]
    top = dice.choice([0, -(10**6), 10**6])
    sums = [i for i, r in enumerate(rows) if 0 < sum(r) < 3]
    gains = Gains([erring(i, best, spread, top) for i, best, spread in zip(sums, bests, spreads, strict=True)])
    counts = {tuple(int(np.array(z) @ np.array(rows[i])) for i in sums) for z in worlds}
    true = max(sum(exact_gain(b, w, top, k) for b, w, k in zip(bests, spreads, pair, strict=True)) for pair in counts)
    others = np.array([s for s in range(len(rows)) if s not in sums], dtype=np.int64)
    for size in (0.0, 1.0, 300.0, 1e13):
        on = np.array([dice.uniform(-size, size) for _ in sums])
        on_others = np.array([dice.choice([dice.uniform(-size, size), math.inf, math.nan, 1e300]) for _ in others])
        assert Fraction(gain_bound(found, gains, on, others, on_others)) >= true
        assert Fraction(proved_anywhere(found, gains, on)) >= true


def test_a_bound_at_the_optimum_is_tight_and_above():
    """One gain, its own slope: the bound is the gain itself, moved up by its error and no more."""
    for top in (0.0, -3e5, 7e8):
        for best in (0, 7, 40):
            found = system([((0, 1), 0, 40)], (0, 60), 2)
            s = next(i for i, r in enumerate(table(found)[0]) if sorted(r) == [0, 1])
            made = Gains([ConcaveTerm(s, lambda k, b=best, t=top: t - (k - b) ** 2 / 3, 0, 40, best, top)])
            bound = gain_bound(found, made, np.zeros(1), np.zeros(0, dtype=np.int64), np.zeros(0))
            assert top + ERROR * abs(top) <= bound <= top + 4 * ERROR * (abs(top) + 1)


def test_slopes_that_floats_blur_leave_a_slack():
    """Where the best count is told by differences below the floats' error, the slack covers what they hide."""
    flat = [ConcaveTerm(0, lambda k, a=a: 1e6 - a * np.abs(k - 20.0) * 1e-8, 0, 10**6, 0, 1e6) for a in (0.0, 1.0)]
    for g in flat:
        gains = Gains([g])
        for y in (0.0, 1e-9, -1e-9):
            count, value, slack = conjugates(gains, np.array([y]))
            k = np.arange(0, 10**6, 997)
            greatest = float((g.value(k) - g.top - y * k).max())
            assert float(value[0]) - y * int(count[0]) + slack >= greatest + ERROR * 1e6


def test_bounds_on_a_grid_are_rounded_down_only_there():
    on = Gains([ConcaveTerm(0, lambda k: -k / 4.0, 0, 9, 0, 0.0, denominator=4, whole=True)] * 2)
    off = Gains([on.each[0], replace(on.each[0], whole=False)])
    assert _on_the_grid(on, Fraction(-7, 16)) == Fraction(-2, 4)
    assert _on_the_grid(off, Fraction(-7, 16)) == Fraction(-7, 16)
    mixed = Gains([on.each[0], replace(on.each[0], denominator=6)])
    assert _on_the_grid(mixed, Fraction(-1, 13)) == Fraction(-1, 12)


@pytest.mark.parametrize("wide", [1, 1 << 30, 1 << 50])
def test_weights_are_added_up_exactly(wide):
    """The greatest weighed sum over cells, by hand: whole numbers beyond 64 bits too."""
    dice = random.Random(wide)
    found = system([((0, 2, -3, 5), -50, 50)], (3, 9), 4)
    rows, _, _ = table(found)
    cells = list(itertools.product(range(10), repeat=found.linear.columns))
    bounds = list(zip(found.bounds.lower.tolist(), found.bounds.upper.tolist(), strict=True))
    inside = [z for z in cells if 3 <= sum(z) <= 9 and all(a <= k <= b for k, (a, b) in zip(z, bounds, strict=True))]
    for _ in range(20):
        weights = np.array([dice.randrange(-9, 10) * wide for _ in rows], dtype=object)
        worth = [sum(w * r[c] for w, r in zip(weights, rows, strict=True)) for c in range(found.linear.columns)]
        true = max(sum(w * k for w, k in zip(worth, z, strict=True)) for z in inside)
        assert _heaviest(found, weights) == true
        assert _dearest(found, weights) == 9 * sum(max(0, w) for w in weights)


def summed(made, *coefs):
    """Return the number of the statement with some coefficients, in any order of the cells."""
    return next(i for i, row in enumerate(table(made)[0]) if sorted(row) == sorted(coefs))


@pytest.mark.parametrize("seed", range(10))
def test_the_heaviest_rows_between_bounds_of_every_kind(seed):
    """Cells that hold rows for certain, cells that are full soon, numbers of rows that are reached or not."""
    dice = random.Random(seed)
    ends = [(dice.randrange(3), dice.randrange(3, 5)) for _ in range(3)]
    least = sum(low for low, _ in ends)
    few = dice.randrange(least, least + 3)
    rows = few, dice.randrange(few, 13)
    made = system([([int(i == j) for i in range(3)], *ends[j]) for j in range(3)], rows, 3)
    stated, _, _ = table(made)
    limits = list(zip(made.bounds.lower.tolist(), made.bounds.upper.tolist(), strict=True))
    inside = [z for z in itertools.product(*(range(a, b + 1) for a, b in limits)) if rows[0] <= sum(z) <= rows[1]]
    for _ in range(60):
        weights = np.array([dice.randrange(-9, 10) for _ in stated], dtype=object)
        worth = [sum(w * r[c] for w, r in zip(weights, stated, strict=True)) for c in range(made.linear.columns)]
        assert _heaviest(made, weights) == max(sum(w * k for w, k in zip(worth, z, strict=True)) for z in inside)


def test_without_a_greatest_number_of_rows_nothing_is_heaviest():
    made = system([((0, 1), 0, 4)], (1, None))
    with pytest.raises(TypeError, match="unbounded"):
        _heaviest(made, np.zeros(len(made.linear), dtype=object))


def test_multipliers_of_exact_statements_are_paid_for():
    """What a multiplier takes for a side is what rows may bring: without it, the bound is below the gain's top."""
    made = system([((0, 1, 0), 0, 20), ((0, 1, 1), 3, 8)], (5, 20), 3)
    one, other = summed(made, 0, 0, 1), summed(made, 0, 1, 1)
    gains = Gains([ConcaveTerm(one, lambda k: -np.abs(k - 4.0), 0, 20, 4, 0.0)])
    for w in (-300.0, -1.0, 0.0, 1.0, 300.0):
        assert gain_bound(made, gains, np.zeros(1), np.array([other]), np.array([w])) >= 0.0


def test_true_multipliers_prove_the_optimum():
    """A gain that wants 20 of a sum that is at most 8: slope 1 of it, 1 of the sum; without them 12 more."""
    made = system([((0, 1, 0), 0, 20), ((0, 1, 1), 3, 8)], (5, 20), 3)
    one, other = summed(made, 0, 0, 1), summed(made, 0, 1, 1)
    gains = Gains([ConcaveTerm(one, lambda k: -np.abs(k - 20.0), 0, 20, 20, 0.0)])
    nothing = gain_bound(made, gains, np.zeros(1), np.array([other]), np.zeros(1))
    for none in (math.nan, math.inf, -math.inf):
        for y, w in ((0.0, none), (none, 0.0), (none, none)):
            assert gain_bound(made, gains, np.array([y]), np.array([other]), np.array([w])) == nothing
    assert 0 <= nothing < 1e-9
    found = gain_bound(made, gains, np.ones(1), np.array([other]), np.ones(1))
    assert -12 <= found <= -12 + 1e-9
    # the bounds of the cells alone, without the sum: no more than 8 of them either, where rows are of the system
    assert -12 <= gain_bound(made, gains, np.ones(1), np.zeros(0, dtype=np.int64), np.zeros(0)) <= -12 + 1e-9
    assert 0 <= proved_anywhere(made, gains, np.ones(1)) < 1e-9, "20 rows, whatever the system knows of them"


def test_the_last_sum_is_rounded_up():
    """9 (3 2^49 + 1/2) is no float: the nearest one is below it."""
    made = system([((0, 1), 0, 9)], (0, 9), 2)
    s = summed(made, 0, 1)
    gains = Gains([ConcaveTerm(s, lambda k: -0.0 * k, 0, 9, 0, 0.0)])
    y = 3 * 2.0**49 + 0.5
    assert Fraction(gain_bound(made, gains, np.array([y]), np.zeros(0, dtype=np.int64), np.zeros(0))) >= 9 * Fraction(y)


def test_a_row_counts_once_in_a_partition():
    """Of a partition the dearest statement counts, of the others each: per row."""
    boxes = Boxes.of([Box(((0, 1),)), Box(((0, 2),))])
    numbers, none = np.arange(2, dtype=np.int32), np.zeros(2, dtype=np.int64)
    labels = np.full(2, ANY_LABEL, dtype=np.int32)
    leaves = Partition("tree", boxes, False, numbers, labels, none, none + 3, ("x", "y"))
    loose = (Statement.sum(EVERY, 0, 9, "a sum", of=0, coefs=(1, 1)),)
    made = system_of(Release(RowSpace((Attribute("a", (1, 1)),)), RowCount(0, 4), (leaves, loose)), Limits())
    for weights, worth in (((3, 5, 0, 0), 5), ((-3, -5, 0, 0), 0), ((3, 5, 2, 1), 8), ((3, -5, -2, 1), 4)):
        assert _dearest(made, np.array(weights, dtype=object)) == 4 * worth


def test_what_cells_imply_binds_nothing():
    """A side counts where it is above what no rows give; every upper side does, and no statement of a choice."""
    sums = [
        ((1, 0, 0), 0, UNBOUNDED, False),
        ((1, 2, 0), 1, UNBOUNDED, True),
        ((1, 0, 2), 0, 7, True),
        ((1, -1, 0), 0, UNBOUNDED, True),
        ((2, -1, 0), -4, UNBOUNDED, True),
        ((2, 1, 0), -4, UNBOUNDED, False),
        ((2, -2, 3), -UNBOUNDED, UNBOUNDED, False),
    ]
    stated = [Statement.sum(EVERY, low, high, "a sum", of=0, coefs=c) for c, low, high, _ in sums]
    made = system_of(
        Release(
            RowSpace((Attribute("a", (1, 1, 1)),)),
            RowCount(2, 9),
            (tuple(stated), Choice(((stated[1],), (stated[3],)), "c")),
        ),
        Limits(),
    )
    assert binding(made).tolist() == [*(b for *_, b in sums), False, False, True]


@pytest.mark.parametrize("place", [-(10**6), 0, 10**6])
@pytest.mark.parametrize("seen", [0.0, -1e-12])
def test_stairs_that_floats_make_of_a_slope(place, seen):
    """Slopes below the error of a gain look like stairs: the search stops at an end, and the slack is what it missed.

    The stairs rise to the right where every step is taken for flat, and fall where it is taken for a rise.
    """
    wide, way = 10**6, 1 if seen == 0.0 else -1
    start = place if way > 0 else place + wide

    def stairs(k):
        return 1e6 + np.floor(np.abs(k - start) / 7.0) * 7e-8

    best = place + wide if way > 0 else place
    top = float(stairs(np.array([best]))[0])
    gains = Gains([ConcaveTerm(0, stairs, place, place + wide, best, top)])
    count, value, slack = conjugates(gains, np.array([seen]))
    k = np.arange(place, place + wide + 1, 13)
    greatest = float((stairs(k) - top - seen * k).max())
    assert float(value[0]) - seen * int(count[0]) + slack >= greatest


def test_every_gain_is_at_its_own_best_count():
    """Long and short ranges together: none ends the search of the others, and the slack is rounding alone."""
    each = [
        ConcaveTerm(0, lambda k, b=b: -((k - b) ** 2) / 8.0, low, high, min(max(b, low), high), 0.0)
        for b, low, high in ((3, 3, 3), (700, 0, 1000), (-5, -9, 90), (17, 0, 30))
    ]
    count, value, slack = conjugates(Gains(each), np.zeros(4))
    assert count.tolist() == [3, 700, -5, 17]
    assert value.tolist() == [0.0] * 4
    assert slack <= 5 * ERROR


def test_the_slack_grows_with_a_gain_far_below_its_top():
    gains = Gains([ConcaveTerm(0, lambda k: -1e9 * k, 0, 9, 0, 0.0)])
    count, value, slack = conjugates(gains, np.array([-2e9]))
    assert (count.tolist(), value.tolist()) == ([9], [-9e9])
    assert slack >= ERROR * 9e9


def test_slopes_at_the_ends_and_their_errors():
    gains = Gains([ConcaveTerm(0, lambda k: -(k**2) * 1.0, 0, 3, 0, 0.0)])
    which = np.zeros(6, dtype=np.int64)
    assert rise(gains, which, np.arange(-1, 5)).tolist() == [math.inf, -1.0, -3.0, -5.0, -math.inf, -math.inf]
    some = np.array([-5.0, 5.0, math.inf, -math.inf])
    assert _over(some, np.array([-5.0, 5.0, 0.0, 0.0]), np.full(4, 1.0)).tolist() == [1 + 5 * ERROR] * 2 + [0.0, 0.0]


# ---------------------------------------------------------------- secants


def laws():
    """Yield concave functions of a count that rise, fall, bend and break."""
    yield lambda k: -((k - 7.3) ** 2) / 11.0
    yield lambda k: -np.abs(k - 12.4) / 0.37
    yield lambda k: k - np.exp((k - 9.0) / 4.0)
    yield lambda k: np.minimum(k * 0.013, 0.2 - k * 1.77)
    yield lambda k: -np.log1p(np.exp(-k / 3.0)) * 5 - k * 0.001


@pytest.mark.parametrize("unit", [1, 3, 1000, 10**7])
@pytest.mark.parametrize("place", [-30, 0, 10**6])
def test_secants_are_above_the_gain_at_every_count(unit, place):
    """Slopes in whole units are coarse: the line is raised where it would cut off a count, and not by much."""
    for f in laws():
        counts = np.arange(place, place + 41)
        values = f(counts - place)
        best = int(counts[int(np.argmax(values))])
        g = ConcaveTerm(0, lambda k, f=f: f(k - place), place, place + 40, best, float(values.max()))
        for k in range(place, place + 40):
            slope, constant = _outwards(g, k, unit)
            short = unit * (values - g.top) - (slope * (counts - best) + constant)
            assert float(short.max()) <= 2e-6 + 1e-9 * unit, (k, float(short.max()))
            end = k if k >= best else k + 1
            assert float(-short[end - place]) <= abs(end - best) + 1, "a unit per count is all that rounding costs"


def test_whole_slopes_are_kept():
    """Where nothing need be rounded nothing is: floats that are a hair off a whole number count as it."""
    for hair in (0.0, 1e-9, -1e-9):
        g = ConcaveTerm(0, lambda k, h=hair: -(3.0 + h) * np.abs(k - 12.0), 0, 40, 12, 0.0)
        for k in range(40):
            assert _outwards(g, k, 1) == (-3 if k >= 12 else 3, 0)


def test_the_summit_of_a_long_range_is_found():
    dice = random.Random(0)
    for high in (0, 5, STRETCH, STRETCH + 1, 10**9, 1 << 50):
        for top in {0, high, *(dice.randint(0, high) for _ in range(200))}:
            for steep in (1.0, 9.0):
                bent = lambda k, t=top, s=steep: np.where(k < t, k - t, s * (t - k)).astype(np.float64)  # noqa: E731
                found = _summit(bent, 0, high)
                assert top in found
                assert found.min() >= 0
                assert found.max() <= high


@pytest.mark.parametrize(("bound", "most", "least"), [(7.0, 7, 7), (7.4, 7, 8), (6.9999999, 7, 7), (7.0000001, 7, 7)])
def test_bounds_of_whole_objectives_are_rounded_outwards(bound, most, least):
    assert rounded_bound(bound, True) == most
    assert rounded_bound(bound, False) == least


# ---------------------------------------------------------------- conflicts

MARGINS = Release(
    RowSpace((Attribute("a", (1, 1)), Attribute("b", (1, 1)))),
    RowCount(3, 3),
    (
        (
            Statement.count(Region(Box(((0, 1),))), 2, 2, "two with a = 0"),
            Statement.count(Region(Box(((1, 1),))), 2, 2, "two with b = 0"),
            Statement.count(Region(Box(((0, 1), (1, 1)))), 0, 0, "none with both"),
        ),
    ),
)


def test_a_set_that_was_not_shown_to_be_needed_is_called_so(monkeypatch):
    """Where a limit leaves open whether less would do, the last line says so; where nothing is open, it does not."""
    lines = conflict_of(MARGINS, Limits())
    assert len(lines) == 4
    assert UNPROVEN not in lines
    module = sys.modules[conflict_of.__module__]
    true = module.verdict

    def short(system, limits):
        found = true(system, limits)
        return found if found.solvable is False else Feasibility(None)

    monkeypatch.setattr(module, "verdict", short)
    lines = conflict_of(MARGINS, Limits())
    assert lines[-1] == UNPROVEN
    assert len(lines) == 5


@pytest.mark.parametrize("answers", list(itertools.product([True, False, None], repeat=2)))
def test_what_is_needed_and_what_was_proved(monkeypatch, answers):
    """A statement goes only where the others are proved to be impossible; one that is open stays, and is no proof."""
    judge = FeasibilityOracle(SimpleNamespace(mask=lambda groups: groups[0]), Limits())
    turns = iter(answers)
    monkeypatch.setattr(judge, "feasible", lambda on: next(turns))
    groups = [np.array([True, False, False]), np.array([False, True, False])]
    on, proved_all = _without_idle(judge, np.ones(3, dtype=bool), groups)
    assert on.tolist() == [answers[0] is not False, answers[1] is not False, True]
    assert proved_all == (None not in answers)
