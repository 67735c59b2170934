"""What keeps bounds from linear programs true although floats err: each guard against its adverse input.

Duals that are rounded the wrong way in rooms of 10^12 rows, solvers that answer nonsense, sums beyond 64 bits.
"""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from types import SimpleNamespace

import highspy
import numpy as np
import pytest
from test_guards import meets, system, table

from solvers.cells.linear_system import FREE
from solvers.foundation.limits import Limits
from solvers.programs.feasibility import by_program, combined, refutes
from solvers.programs.linear_program import SCALE, Multipliers, Relaxation
from solvers.statements.release import UNBOUNDED

# ---------------------------------------------------------------- duals of linear programs

HUGE = 10**12


@pytest.mark.parametrize("p", [3, 5, 7, 11, 13, 19, 23, 29])
def test_bounds_of_linear_programs_hold_in_rooms_of_any_size(p):
    """A dual of 1/p is no multiple of 2^-20: what it leaves of a row's cost counts 10^12 times."""
    found = system([((0, 2, p), -UNBOUNDED, 2 * p * HUGE)], (0, 100 * HUGE), 3)
    place = next(row for row in table(found)[0] if p in row)
    relaxed = Relaxation(found)
    for weights in ((0, 1, 1), (0, 1, 2), (0, 2, p - 1)):
        coefs = np.array([dict(zip((0, 2, p), weights, strict=True))[a] for a in place], dtype=np.int64)
        true = max(2 * p * HUGE * w // a for w, a in zip(weights[1:], (2, p), strict=True))
        bound, multipliers = relaxed.bound(coefs, True, Limits())
        assert true <= bound <= true * 1.001
        assert multipliers is not None
        assert -bound <= relaxed.bound(-coefs, False, Limits())[0] <= -true


def hand_bound(relaxed, costs, values):
    """Return the bound of the module's text, in whole numbers."""
    total = Fraction(0)
    reduced = [SCALE * int(c) for c in costs]
    at = row = 0
    for part in relaxed.parts:
        for weights, low, high in zip(part.matrix.tolist(), part.low.tolist(), part.high.tolist(), strict=True):
            y = int(values[row])
            y = 0 if (high >= FREE and y < 0) or (low <= -FREE and y > 0) else y
            total += y * (low if y > 0 else high) if y else 0
            for k, a in enumerate(weights):
                reduced[at + k] -= y * a
            row += 1
        at += len(part.cells)
    total += sum(min(0, r) * int(u) for r, u in zip(reduced, relaxed.room, strict=True))
    return math.ceil(total / SCALE)


@pytest.mark.parametrize("seed", range(12))
def test_any_multipliers_prove_exactly_what_they_prove(seed):
    """Multipliers, costs and coefficients of every size, beyond 64 bits too, and of sides without a bound."""
    dice = random.Random(seed)
    wide = dice.choice([1, 10**5, 10**12])
    sums = [([dice.randrange(-3, 4) * wide for _ in range(4)], -UNBOUNDED if dice.random() < 0.3 else 1 - 9 * wide,
             UNBOUNDED if dice.random() < 0.3 else 300 * wide) for _ in range(3)]  # fmt: skip
    relaxed = Relaxation(system(sums, (0, 10**15 // wide), 4))
    assert len(relaxed.cells)
    for _ in range(25):
        size = dice.choice([3, 1 << 20, 1 << 40, 1 << 62])
        values = np.array([dice.randrange(-size, size) for _ in relaxed.low], dtype=np.int64)
        costs = np.array([dice.randrange(-9, 9) * dice.choice([1, 10**9]) for _ in relaxed.cells], dtype=np.int64)
        made = Multipliers(relaxed.statements, values)
        assert relaxed.proved(costs, made) == hand_bound(relaxed, costs, values)
    assert relaxed.proved(costs, None) == hand_bound(relaxed, costs, [0] * len(relaxed.low))


def lying(status, **answers):
    """Return a stand-in for HiGHS with made-up answers."""
    solution = SimpleNamespace(row_dual=answers.get("dual"))
    return SimpleNamespace(getModelStatus=lambda: status, getSolution=lambda: solution,
                           getDualRay=lambda: (0, True, answers.get("ray")))  # fmt: skip


def test_bounds_hold_whatever_the_solver_answers(monkeypatch):
    found = system([((0, 1, 2, 5), 3, 25), ((4, 1, 0, 3), 2, 21)], (0, 8), 4)
    rows, low, high = table(found)
    worlds = [z for z in itertools.product(range(9), repeat=4) if sum(z) <= 8 and meets(z, rows, low, high)]
    dice = np.random.default_rng(0)
    for _ in range(60):
        relaxed = Relaxation(found)
        n = len(relaxed.low)
        dual = dice.normal(size=n) * dice.choice([0.1, 1.0, 1e6])
        solver = lying(highspy.HighsModelStatus.kOptimal, dual=dual)
        monkeypatch.setattr(relaxed, "_run", lambda costs, limits, solver=solver: solver)
        coefs = dice.integers(-4, 5, found.linear.columns)
        for greatest, best in ((True, max), (False, min)):
            true = best(int(coefs @ np.array(z)) for z in worlds)
            bound = relaxed.bound(coefs, greatest, Limits())[0]
            assert bound >= true if greatest else bound <= true
        ray = lying(highspy.HighsModelStatus.kInfeasible, ray=dice.normal(size=n))
        monkeypatch.setattr(relaxed, "_run", lambda costs, limits, solver=ray: solver)
        assert relaxed.refutes(Limits()) is None, "there are worlds"
    nothing = lying(highspy.HighsModelStatus.kInfeasible, ray=np.zeros(n))
    monkeypatch.setattr(relaxed, "_run", lambda costs, limits: nothing)
    assert relaxed.refutes(Limits()) is None


def test_a_true_ray_refutes():
    """Three sums of two that need more rows than there are: propagation does not see it, multipliers prove it."""
    pairs = [((1, 1, 0), 3, UNBOUNDED), ((0, 1, 1), 3, UNBOUNDED), ((1, 0, 1), 3, UNBOUNDED)]
    relaxed = Relaxation(system(pairs, (1, 4), 3))
    found = relaxed.refutes(Limits())
    assert found is not None
    assert relaxed.proved(np.zeros(len(relaxed.cells), dtype=np.int64), found) > 0
    assert Relaxation(system(pairs, (1, 5), 3)).refutes(Limits()) is None


# ---------------------------------------------------------------- multipliers that refute


@pytest.mark.parametrize("seed", range(8))
def test_sums_that_refute_are_added_up_exactly(seed):
    """Coefficients of 2^40 times multipliers of 2^40 wrap in 64 bits, which would refute what has worlds."""
    dice = random.Random(seed)
    wide = dice.choice([1, 1 << 20, 1 << 40])
    sums = [([dice.randrange(-5, 6) * wide for _ in range(4)], -(1 << 50), 1 << 50) for _ in range(3)]
    found = system(sums, (1, 1000), 4)
    rows, low, high = table(found)
    for _ in range(60):
        values = [dice.randrange(-(1 << 40), 1 << 40) // dice.choice([1, 1 << 30]) for _ in rows]
        weights = [sum(y * r[c] for y, r in zip(values, rows, strict=True)) for c in range(found.linear.columns)]
        need = sum(y * (a if y > 0 else b) for y, a, b in zip(values, low, high, strict=True) if y)
        most = sum(
            w * (u if w > 0 else b)
            for w, b, u in zip(weights, found.bounds.lower.tolist(), found.bounds.upper.tolist(), strict=True)
        )
        made = np.array(values, dtype=np.int64)
        assert combined(found, made).tolist() == weights
        assert refutes(found, made) == (most < need)


@pytest.mark.parametrize("feasible", [False, True])
def test_a_program_is_not_believed(monkeypatch, feasible):
    """A linear program that answers a wrong solution, or wrong multipliers, settles nothing."""
    import scipy.optimize

    pairs = [((1, 1, 0), 3, UNBOUNDED), ((0, 1, 1), 3, UNBOUNDED), ((1, 0, 1), 3, UNBOUNDED)]
    found = system(pairs[: 2 if feasible else 3], (1, 4), 3)  # all three: twice the rows are at least 9
    assert found.bounds.conflict is None
    dice, true, seen = np.random.default_rng(5), scipy.optimize.linprog, set()

    def answered(*given, **named):
        kept = true(*given, **named)
        made = dice.choice([0.0, 0.4, 1.0, 2.0, 7.0, 1e9], 100) * dice.choice([1, 1, -1], 100)
        kept.x = np.resize(made, len(kept.x)) if dice.random() < 0.8 else kept.x
        kept.fun = dice.choice([0.0, 1.0])
        if dice.random() < 0.8:
            kept.ineqlin.marginals = -np.abs(np.resize(dice.permutation(made), len(kept.ineqlin.marginals)))
        return kept

    assert by_program(found, Limits()).solvable is feasible
    monkeypatch.setattr(scipy.optimize, "linprog", answered)
    for _ in range(80):
        seen.add(by_program(found, Limits()).solvable)
    assert seen == {None, feasible}
