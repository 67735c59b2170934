"""What keeps bounds on numbers of worlds and of rows true although floats err: each guard against its adverse input.

Every test here fails when its guard is taken out. The reference is computed with 60 decimal digits or in fractions,
from inputs that err as much as their documentation allows.
"""

from __future__ import annotations

import itertools
import math
import random
import sys
from dataclasses import replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from solvers.cells.components import DENSE_BYTES, Component, presolve
from solvers.cells.linear_system import SparseStatements, propagate
from solvers.cells.system import system_of
from solvers.engines.cells import _add_logs
from solvers.foundation.errors import EngineError, Inconclusive, TooLarge
from solvers.foundation.limits import Limits
from solvers.histograms import branches
from solvers.programs.interval.bracket import Bracket, BracketCase, WorkStretch, _meets
from solvers.programs.interval.lagrangian_dual import (
    FACTORIAL_WORK,
    LAMBDA,
    NEWTON_BYTES,
    NEWTON_WORK,
    PIVOT_WORK,
    SHARES,
    SLACK,
    STEEPEST,
    TABLEAU_BYTES,
    DualProblem,
    Mixture,
    Tableau,
    _log_factorials,
    _log_weights,
    _outward,
    _prefix_sums,
)
from solvers.programs.interval.neighbourhoods import (
    PAIR_BYTES,
    PAIR_WORK,
    Blocks,
    HistogramNeighbourhood,
    log2_ratio,
    moves_of,
)
from solvers.statements.boxes import Attribute, Box, Region, RowSpace
from solvers.statements.regions.capture_bounds import SHIFT, _fixed_point, _share, bound_plain
from solvers.statements.regions.diagram import Measure
from solvers.statements.regions.first_match import FirstMatch
from solvers.statements.release import Release, RowCount, Statement

EXACT = Context(prec=60)
NONE = np.zeros(0, dtype=np.int64)


def never():
    return False


def whole(*values):
    return np.array(values, dtype=np.int64)


# ---------------------------------------------------------------- the Lagrangian bound


def tilt_of(matrix, sums, room, size=3, convention="ordered"):
    """Return the dual problem of cells 0..room tied by equations, every cell with `size` rows."""
    table = np.array(matrix, dtype=np.int64).reshape(-1, len(room))
    part = Component(np.arange(len(room)), whole(*room), np.arange(len(table)), table, whole(*sums), whole(*sums))
    return DualProblem.of(part, [size] * len(room), np.zeros(len(room), dtype=np.int64), convention)


def lowered(tilt):
    """Return a dual problem whose logs of weights are too small by all that their documentation allows."""
    return replace(tilt, buckets=tuple(replace(b, logs=b.logs - SLACK * b.sizes) for b in tilt.buckets))


def by_hand(tilt, lam, shares=None):
    """Return the bound of the module's text with the logs as they are, in 60 digits."""
    grid = [Fraction(round(x * LAMBDA), LAMBDA) for x in tilt.project(lam).tolist()]
    matrix = tilt.matrix.toarray().astype(np.int64)
    with localcontext(EXACT):
        total = -sum((decimal(x) * int(b) for x, b in zip(grid, tilt.bound, strict=True)), Decimal(0))
        for bucket in tilt.buckets:
            for i, c in enumerate(bucket.at.tolist()):
                slope = decimal(sum((x * int(a) for x, a in zip(grid, matrix[:, c], strict=True)), Fraction(0)))
                terms = [Decimal(log) + slope * y for y, log in enumerate(bucket.logs[i].tolist()) if log > -math.inf]
                total += entropy(terms, Fraction(1) if shares is None else Fraction(int(shares[c]), SHARES))
        return total


def entropy(terms, s):
    """Return s ln Σ e^(x/s) in 60 digits, the greatest x where s = 0."""
    top = max(terms)
    with localcontext(EXACT):
        if s == 0:
            return top
        return top + decimal(s) * sum(((x - top) / decimal(s)).exp() for x in terms).ln()


def decimal(x):
    with localcontext(EXACT):
        return Decimal(x.numerator) / Decimal(x.denominator)


@pytest.mark.parametrize("convention", ["ordered", "multiset"])
@pytest.mark.parametrize("room", [(5,), (300, 2), (40, 41, 42)])
def test_the_upper_bound_holds_for_logs_that_err_as_much_as_they_may(convention, room):
    """Without equations the bound is the number itself: the slack is all that keeps it above."""
    tilt = tilt_of([], [], room, size=10**6, convention=convention)
    true = by_hand(tilt, np.zeros(0))
    assert true <= Decimal(lowered(tilt).bound_of(np.zeros(0))) <= true * Decimal("1.00000000001")


@pytest.mark.sampled(7)
@pytest.mark.parametrize("convention", ["ordered", "multiset"])
@pytest.mark.parametrize("size", [1, 9, 1 << 52, (1 << 53) + 1, 10**40])
def test_logs_of_weights_err_no_more_than_they_say(convention, size):
    """The slack that every bound adds is that of the logs, for cells of one row and of 10^40, in blocks and beyond."""
    with localcontext(EXACT):
        logs, magnitudes = _log_weights(size, 3, 700, convention, _log_factorials(703))
        below, above = Decimal(6).ln(), sum((Decimal(size + i).ln() for i in range(3)), Decimal(0))
        for y in range(701):
            top = above if convention == "multiset" else (3 + y) * Decimal(size).ln()
            assert abs(Decimal(logs[y]) - (top - below)) <= Decimal(SLACK) * Decimal(magnitudes[y])
            assert abs(Decimal(magnitudes[y]) - (top + below)) <= Decimal(2.0**-40) * (top + below)
            below, above = below + Decimal(4 + y).ln(), above + Decimal(size + 3 + y).ln()


def test_sums_of_prefixes_are_right_to_the_last_places():
    terms = np.random.default_rng(2).random(1000) * 1e3
    with localcontext(EXACT):
        true, found = Decimal(0), _prefix_sums(terms)
        for k in range(1001):
            assert abs(Decimal(found[k]) - true) <= Decimal(2.0**-44) * true
            true += Decimal(terms[k]) if k < 1000 else 0


@pytest.mark.parametrize("seed", range(20))
def test_the_upper_bound_holds_with_multipliers_and_shares(seed):
    """λ, dual values and shares of every size: what floats round is made up for, and no more than that."""
    dice = np.random.default_rng(seed)
    room = dice.integers(1, 60, 6).tolist()
    matrix = dice.integers(0, 3, (3, 6)) * dice.choice([1, 1, 10**6])
    tilt = tilt_of(matrix, dice.integers(1, 10**9, 3).tolist(), room, size=int(dice.choice([1, 9, 10**12])))
    lam = dice.normal(size=len(tilt.row)) * dice.choice([1e-6, 1.0, 1e3, 1e5])
    for shares in (None, dice.choice([0, 1, SHARES // 3, SHARES], 6)):
        true, found = by_hand(tilt, lam, shares), Decimal(lowered(tilt).bound_of(lam, shares))
        slope = np.abs(tilt.matrix.toarray()).T @ np.abs(tilt.project(lam))
        size = float(np.abs(tilt.project(lam)) @ np.abs(tilt.bound)) + float((slope * tilt.part.room).sum())
        size += sum(float(b.sizes.max(axis=1).sum()) for b in tilt.buckets) + 10
        assert true <= found <= true + Decimal(size * 2.0**-40)


def test_sums_of_exponentials_are_rounded_up():
    """Many equal terms, terms far apart, and shares down to the least: floats err to both sides, the bound does not."""
    dice = np.random.default_rng(4)
    for width in (1, 2, 7, 300):
        x = np.concatenate(
            [dice.normal(size=(40, width)) * dice.choice([0.1, 10.0, 3e4], (40, 1)), np.full((9, width), 0.1)]
        )
        s = dice.choice([0.0, 1.0, 1 / 3, 0.02, 2.0**-20], len(x))
        found = _outward(x, s)
        for row, a, b in zip(x.tolist(), s.tolist(), found.tolist(), strict=True):
            true = entropy([Decimal(v) for v in row], Fraction(a))
            assert true < Decimal(b) < true + Decimal((abs(b) + 1) * 1e-13)


def test_the_sign_of_a_multiplier_is_kept():
    """An inequality's multiplier of the wrong sign would cut worlds off: it is 0 instead."""
    part = Component(whole(0), whole(9), whole(0), np.array([[1]]), whole(3), whole(7))
    tilt = DualProblem.of(part, [1], whole(0), "ordered")
    count = sum(Fraction(1, math.factorial(y)) for y in range(3, 8))
    for lam in (-5.0, 0.0, 5.0):
        for other in (-5.0, 0.0, 5.0):
            assert tilt.bound_of(np.array([lam, other])) >= math.log(count)


def test_multipliers_are_kept_to_their_signs_and_below_the_steepest():
    part = Component(whole(0), whole(9), whole(0, 1), np.array([[1], [1]]), whole(3, 4), whole(7, 4))
    tilt = DualProblem.of(part, [1], whole(0), "ordered")
    assert tilt.sign.tolist() == [0, 1, -1]
    assert tilt.project(np.full(3, 1e9)).tolist() == [STEEPEST, STEEPEST, 0]
    assert tilt.project(np.full(3, -1e9)).tolist() == [-STEEPEST, 0, -STEEPEST]
    assert tilt.project(np.array([-0.5, 0.5, -0.5])).tolist() == [-0.5, 0.5, -0.5]


# ---------------------------------------------------------------- sets of independent columns


def test_shares_of_a_mixture_are_exact_whatever_the_weights():
    """Weights are floats that do not add up to 1; the shares used are those of an exact mixture all the same."""
    mixture = Mixture.__new__(Mixture)
    mixture.tilt = tilt_of([], [], (1, 1, 1))
    mixture.sets = [whole(0), whole(1), whole(2)]
    for weights in ([1 / 3] * 3, [0.1, 0.2, 0.7], [1 - 1e-9, 5e-10, 5e-10], [0.3333, 0.3333, 0.3333]):
        mixture.weights = np.array(weights)
        assert int((SHARES - mixture.whole_share).sum()) == SHARES
        assert (mixture.whole_share >= 0).all()


def test_columns_are_independent_in_whole_numbers_too():
    """Columns that floats cannot distinguish, or that only look independent, are told exactly."""
    big = 1 << 26
    matrix = np.array([[big, big + 1, 1], [big - 1, big, 1], [1, 1, 0]], dtype=np.int64)
    table = Tableau(matrix, np.array([3.0, 2.0, 1.0]), never)
    assert len(table.basis) == 2, "the third row is the difference of the others, the third column too"
    assert round(abs(np.linalg.det(np.array([[big, big + 1], [big - 1, big]], dtype=object).astype(float)))) in range(9)
    expired = Tableau(np.eye(5, dtype=np.int64), np.ones(5), lambda: True)
    assert len(expired.basis) == 1, "out of time, the columns found so far stand"


# ---------------------------------------------------------------- the bracket


def case(sizes=(4, 9), rows=20, convention="ordered"):
    """Return a system of two cells that share a number of rows, nothing else stated."""
    domain = RowSpace((Attribute("a", sizes),))
    one = Statement.count(Region(Box(((0, 1),))), 1, rows - 1, "a count")
    system = system_of(Release(domain, RowCount(rows, rows), ((one,),)), Limits())
    return BracketCase(system, system.linear, system.bounds, rows, convention)


def true_log2(value):
    with localcontext(EXACT):
        return Decimal(value.numerator).ln() / Decimal(2).ln() - Decimal(value.denominator).ln() / Decimal(2).ln()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("convention", ["ordered", "multiset"])
def test_weights_of_histograms_are_bracketed(convention):
    """log2 of a product of thousands of factors, floats that err both ways: its bounds hold it, and are close."""
    for k in range(1, 160):
        made = case(sizes=(3**k, 7 * k + 1), rows=40 + 3 * k, convention=convention)
        first = made.system.sizes.index(3**k)
        z = whole(40 + 2 * k, 40 + 2 * k)
        z[first] = k
        if convention == "ordered":
            true = Fraction(math.factorial(40 + 3 * k) * 3 ** (k * k) * (7 * k + 1) ** (40 + 2 * k),
                            math.factorial(k) * math.factorial(40 + 2 * k))  # fmt: skip
        else:
            true = Fraction(math.comb(3**k + k - 1, k) * math.comb(9 * k + 40, 40 + 2 * k))
        low, high = made.weight(z, np.ones(2, dtype=bool))
        assert Decimal(low) < true_log2(true) < Decimal(high)
        assert high - low < 1e-11 * high


def test_ratios_of_counts_are_bracketed():
    dice = random.Random(3)
    for _ in range(300):
        below = dice.getrandbits(dice.choice([3, 60, 400])) + 1
        above = below * dice.choice([1, 3, 2**30]) + dice.getrandbits(dice.choice([1, 64, 500]))
        low, high = log2_ratio(above, below)
        true = true_log2(Fraction(above, below))
        assert Decimal(low) <= true < Decimal(high)
        assert high - low < 1e-12 * (1 + high)


def test_what_blocks_add_is_rounded_down():
    part = Component(whole(0), whole(1), NONE, np.zeros((0, 1), dtype=np.int64), NONE, NONE)
    blocks = Blocks(HistogramNeighbourhood(part, whole(0), (1,), whole(0), "ordered"))
    dice = np.random.default_rng(1)
    for _ in range(50):
        blocks.gains = {(i,): float(x) for i, x in enumerate(dice.random(30) * 100)}
        assert Fraction(blocks.log2) < sum(map(Fraction, blocks.gains.values()), Fraction(0))
        assert blocks.log2 > 0.999 * math.fsum(blocks.gains.values())


def test_bounds_of_a_bracket_are_rounded_outwards():
    """The sum of the pieces' logs is a float: it is moved to the safe side, up and down."""
    made = case()
    bracket = Bracket(made, WorkStretch(Limits(), 10.0), count_small=True)
    bracket.run()
    true = true_log2(Fraction(sum(math.comb(20, k) * 4**k * 9 ** (20 - k) for k in range(1, 20))))
    assert Decimal(bracket.low) < true < Decimal(bracket.high)
    assert bracket.high - bracket.low < 1e-9
    piece = bracket.pieces[0]
    for bound in np.random.default_rng(5).random(50) * 1e3:
        piece.upper = math.inf
        bracket.improve(piece, float(bound))
        with localcontext(EXACT):
            assert Decimal(piece.upper) > Decimal(float(bound)) / Decimal(2).ln()
        assert piece.upper < bound / math.log(2) * (1 + 1e-12)


@pytest.mark.parametrize("y", [(25,), (-1,), (19,)], ids=["too many", "too few", "beyond its room"])
def test_a_histogram_found_by_search_is_checked(y):
    bracket = Bracket(case(), WorkStretch(Limits(), 10.0), count_small=False)
    piece = bracket.pieces[0]
    wrong = np.resize(whole(*y), len(piece.part.cells))
    with pytest.raises(EngineError, match="does not meet its statements"):
        bracket.start(piece, wrong)


def test_meeting_the_statements_is_computed_anew():
    matrix = np.array([[1, 1], [0, 2]], dtype=np.int64)
    assert _meets(matrix, whole(2, 0), whole(2, 4), whole(1, 1))
    assert not _meets(matrix, whole(3, 0), whole(9, 9), whole(1, 1))
    assert not _meets(matrix, whole(0, 0), whole(1, 9), whole(1, 1))
    assert not _meets(matrix, whole(-9, -9), whole(9, 9), whole(-1, 1))


def test_a_lower_bound_above_the_upper_one_is_an_error():
    bracket = Bracket(case(), WorkStretch(Limits(), 10.0), count_small=True)
    bracket.lower_bound = 1e6
    with pytest.raises(EngineError, match="exceeds the upper bound"):
        bracket.run()


def test_sums_over_numbers_of_rows_keep_their_side():
    dice = np.random.default_rng(6)
    for _ in range(40):
        logs = (dice.random(int(dice.integers(1, 40))) * dice.choice([3, 900])).tolist()
        with localcontext(EXACT):
            true = sum((Decimal(2) ** Decimal(x) for x in logs), Decimal(0)).ln() / Decimal(2).ln()
        assert Decimal(_add_logs(logs, False)) <= true <= Decimal(_add_logs(logs, True))
        assert len(logs) == 1 or true < Decimal(_add_logs(logs, True)) < true * Decimal("1.000000000001")
        assert len(logs) == 1 or max(logs) < 9 or true - Decimal(_add_logs(logs, False)) < Decimal("1e-9")
        if len(logs) > 5 and max(logs) < 9:
            assert Decimal(_add_logs(logs, False)) < true


# ---------------------------------------------------------------- what bounds take is charged before it is made


def chain_of(cells):
    """Return the component of cells 0..cells, 1 row in each, of whose neighbours the sums are known."""
    matrix = np.eye(cells - 1, cells, dtype=np.int64) + np.eye(cells - 1, cells, 1, dtype=np.int64)
    sums = np.full(cells - 1, 2)
    return Component(np.arange(cells), np.full(cells, 2), np.arange(cells - 1), matrix, sums, sums)


@pytest.mark.parametrize(
    "limits", [Limits(memory=NEWTON_BYTES * 101), Limits().at_most(NEWTON_WORK * 1_001 + 2 * FACTORIAL_WORK)]
)
def test_a_bound_is_made_of_as_many_statements_as_memory_and_work_allow_for(limits):
    """A matrix over all pairs of statements was made, and factored, whatever it took; a bound of some is a bound."""
    part, lower = chain_of(30), np.zeros(30, dtype=np.int64)
    some, every = (DualProblem.of(part, [3] * 30, lower, "ordered", one) for one in (limits, Limits()))
    assert (len(some.row), len(every.row)) == (10, 29)
    found = [one.bound_of(one.minimise(np.zeros(len(one.row)), np.ones(30), never)) for one in (some, every)]
    assert found[0] > found[1] > 30 * math.log(3)  # 0 or 2 rows in every second cell are further histograms
    assert limits.meter.used >= 10**3 * NEWTON_WORK


@pytest.mark.parametrize(("size", "convention"), [(3, "ordered"), (3, "multiset"), (1 << 60, "multiset")])
def test_logarithms_of_rows_are_charged_by_the_rows(size, convention):
    """A cell of 4,000,000,000 rows, two of them open, took 32 GB for a table of logarithms of factorials."""
    part = chain_of(2)
    lower, limits = np.full(2, 4 * 10**9), Limits(memory=2**30)
    with pytest.raises(TooLarge, match="need about 160,000 MB of memory"):
        DualProblem.of(part, [size] * 2, lower, convention, limits)
    with pytest.raises(Inconclusive, match="too little time"):
        DualProblem.of(part, [size] * 2, lower // 10**4, convention, Limits().at_most(1e-3))


def test_steps_of_a_tableau_are_charged_by_its_entries(monkeypatch):
    """A step over 400 statements and 4,000 cells, 20 ms, counted like any other; 400 of them make a basis."""
    made = case()
    bracket = Bracket(made, WorkStretch(Limits(), 10.0), count_small=False)
    piece, bracket.budget = bracket.pieces[0], WorkStretch(limits := Limits(), 1e6)
    piece.part = chain_of(200)
    piece.tilt = DualProblem.of(piece.part, [3] * 200, np.zeros(200, dtype=np.int64), "ordered")
    piece.lam, steps, pivot = np.zeros(199), [], Tableau.pivot
    monkeypatch.setattr(Tableau, "pivot", lambda self, *at: (steps.append(at), pivot(self, *at)))
    bracket.sharpen(piece, 0.9)
    assert len(steps) >= 199
    assert limits.meter.used > 198 * PIVOT_WORK * 199 * 200
    bracket.budget = WorkStretch(Limits(memory=TABLEAU_BYTES * 199 * 200 - 1), 1e6)
    done = len(steps)
    bracket.sharpen(piece, 0.9)
    assert len(steps) == done


@pytest.mark.parametrize("limits", [Limits(memory=PAIR_BYTES * 16), Limits().at_most(PAIR_WORK * 16.5)])
def test_pairs_of_cells_are_as_many_as_memory_and_work_allow_for(limits, monkeypatch):
    part = Component(np.arange(8), np.full(8, 9), whole(0), np.ones((1, 8), dtype=np.int64), whole(20), whole(20))
    around = HistogramNeighbourhood(
        part, whole(1, 2, 3, 4, 5, 6, 7, 8), (3,) * 8, np.zeros(8, dtype=np.int64), "ordered"
    )
    assert {cell for move in moves_of(around, Limits()) for cell in move} == set(range(8))
    assert {cell for move in moves_of(around, limits) for cell in move} <= {4, 5, 6, 7}
    assert limits.meter.used >= 16 * PAIR_WORK


def test_components_share_the_memory_of_their_matrices():
    """Each was 160 MB at most, however many there were."""
    row, col = np.repeat(np.arange(3), 3), np.arange(9)
    sums = SparseStatements.of(row, col, np.ones(9, dtype=np.int64), (np.full(3, 4),) * 2, 9)
    bounds = propagate(sums, np.zeros(9, dtype=np.int64), np.full(9, 5))
    found = presolve(sums, bounds, (), Limits(memory=DENSE_BYTES * 7)).components
    assert [one.matrix is None for one in found] == [False, False, True]


# ---------------------------------------------------------------- the local lemma


def satisfied(odds, near, shares):
    """Tell whether shares meet the lemma's condition, in fractions."""
    one = Fraction(1, 1 << SHIFT)
    return all(Fraction(*odds[h]) <= shares[h] * one * math.prod(1 - shares[k] * one for k in near[h]) for h in odds)


def cycle(length, p):
    """Return boxes of probability p, each clashing with both neighbours, as (odds, neighbours, clash bits)."""
    near = {h: sorted({(h - 1) % length, (h + 1) % length} - {h}) for h in range(length)}
    return dict.fromkeys(near, (p.numerator, p.denominator)), near, [sum(1 << k for k in near[h]) for h in near]


@pytest.mark.parametrize("length", [2, 3, 8])
def test_the_lemma_holds_in_whole_numbers(length):
    """Just above what the lemma bears its floats creep past the bottleneck and look nearly solved: that is refused."""
    bears = Fraction(1, 4) if length == 2 else Fraction(4, 27)
    for step in (-1, 1):
        for k in range(4, 40):
            odds, near, clashes = cycle(length, bears * (1 + step * Fraction(3, 4) ** k))
            shares, worst = _fixed_point(odds, clashes)
            assert shares is None or satisfied(odds, near, shares), (step, k)
            assert shares is None or step < 0
            assert shares is not None or worst in odds
    assert _fixed_point(*cycle(length, bears * Fraction(9, 10))[::2])[0] is not None


@pytest.mark.parametrize("off", [1e-3, 1e-6, 3e-5])
def test_shares_that_floats_find_too_small_are_refused(monkeypatch, off):
    """exp that errs downwards gives shares below the fixed point, which would claim more rows than are left."""
    module, true = sys.modules[_fixed_point.__module__], np.exp
    refused = 0
    for p in (Fraction(1, 5), Fraction(1, 9), Fraction(1, 1000)):
        odds, near, clashes = cycle(2, p)
        with monkeypatch.context() as patch:
            patch.setattr(module.np, "exp", lambda x: true(x) * (1 - off))
            shares, _ = _fixed_point(odds, clashes)
        refused += shares is None
        assert shares is None or satisfied(odds, near, shares)
    assert refused == (3 if off > 1e-5 else 0)


def test_what_is_left_is_rounded_down_and_up():
    dice = random.Random(2)
    for _ in range(200):
        size = dice.choice([1, 2, 10, 10**30]) * dice.randint(1, 9)
        shares = {h: dice.randrange(1, 1 << SHIFT) for h in range(dice.randint(0, 5))}
        pending = dice.getrandbits(5)
        left = size * math.prod(
            (1 - Fraction(x, 1 << SHIFT) for h, x in shares.items() if pending >> h & 1), start=Fraction(1)
        )
        found = _share(size, shares, pending)
        assert found <= max(left, 1)
        assert found > left - 1
    assert _share(0, {}, -1) == 0
    assert _share(1, {0: (1 << SHIFT) - 1}, -1) == 1, "a positive share of rows is a row at least"


@pytest.mark.parametrize("seed", range(30))
def test_bounds_without_a_diagram_hold(seed):
    """Regions of short random lists, by the lemma and by independent boxes, against a count of every row."""
    dice = random.Random(seed)
    sizes = [tuple(dice.choice([1, 2, 10**9]) for _ in range(dice.randint(2, 3))) for _ in range(5)]
    boxes = [
        Box(tuple((k, dice.randrange(1, (1 << len(sizes[k])) - 1)) for k in sorted(dice.sample(range(5), 2))))
        for _ in range(7)
    ]
    reduced = FirstMatch(sizes, [*boxes, Box()])
    measure = Measure.of(reduced)
    for j, region in enumerate([*boxes, Box()]):
        if (task := reduced.tasks[j]) is None:
            continue
        rows = itertools.product(*(range(len(s)) for s in sizes))
        true = sum(
            math.prod(s[p] for s, p in zip(sizes, row, strict=True))
            for row in rows
            if Region(region, tuple(boxes[:j])).holds(row)
        )
        low, high = bound_plain(reduced, measure, task, lambda: False)
        assert low <= true <= high


@pytest.mark.parametrize(("size", "low", "room"), [(1, 0, 3), (5, 0, 4), (7, 3, 5), (10**20, 2, 3)])
def test_multiset_weights_are_binomial_coefficients(size, low, room):
    found = branches.weights_of(size, low, room, "multiset")
    assert found == [math.comb(size + low + y - 1, low + y) for y in range(room + 1)]


def test_multiset_weights_of_more_factors_than_fit_are_refused():
    """A figure of 2^31 rows in one cell would be a number of 2^31 factors: no clock is looked at inside of one."""
    with pytest.raises(TooLarge, match="2,147,483,634 factors"):
        branches.weights_of(10**26, 2**31 - 78, 64, "multiset")
    assert branches.weights_of(1, 2**31, 1, "multiset") == [1, 1]  # one value: nothing to choose
