"""What keeps bounds from linear programs true although floats err: each guard against its adverse input.

Duals that are rounded the wrong way in rooms of 10^12 rows, solvers that answer nonsense, sums beyond 64 bits.
"""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from ortools.sat.python import cp_model
from test_guards import meets, system, table

from solvers.cells.linear_system import FREE
from solvers.cells.system import system_of
from solvers.foundation.exact import exact_dot
from solvers.foundation.limits import Limits
from solvers.programs.cpsat import run, state
from solvers.programs.dual_bounds import LARGEST, integer_duals, rounded_duals, safe_bound
from solvers.programs.linear_program import (
    CellProgram,
    LinearProgram,
    ProgramSolution,
    Relaxation,
    SumSearch,
    Violation,
    _by_program,
)
from solvers.statements.boxes import Attribute, Box, Region, RowSpace
from solvers.statements.release import UNBOUNDED, Choice, Release, RowCount, Statement

HUGE = 10**12
PAIRS = [((1, 1, 0), 3, UNBOUNDED), ((0, 1, 1), 3, UNBOUNDED), ((1, 0, 1), 3, UNBOUNDED)]


@pytest.mark.parametrize("p", [11, 13, 17, 19, 23, 29, 31, 37])
def test_bounds_of_linear_programs_hold_in_rooms_of_any_size(p):
    """A dual of 1/p is no multiple of what duals are rounded to: what it leaves of a cost counts 10^12 times."""
    found = system([((0, 2, p), -UNBOUNDED, 2 * p * HUGE)], (0, 100 * HUGE), 3)
    place = next(row for row in table(found)[0] if p in row)
    relaxed = Relaxation(found)
    for weights in ((0, 1, 1), (0, 1, 2), (0, 2, p - 1)):
        coefs = np.array([dict(zip((0, 2, p), weights, strict=True))[a] for a in place], dtype=np.int64)
        true = max(2 * p * HUGE * w // a for w, a in zip(weights[1:], (2, p), strict=True))
        assert true <= relaxed.bound(coefs, True, Limits()) <= true * 1.001
        assert -true * 1.001 <= relaxed.bound(-coefs, False, Limits()) <= -true


def by_hand(linear, ends, costs, values, over):
    """Return the bound of `dual_bounds`, in whole numbers."""
    total, reduced = Fraction(0), [over * int(c) for c in costs]
    values = [int(y) for y in values]
    for s, (low, high) in enumerate(zip(linear.low.tolist(), linear.high.tolist(), strict=True)):
        if (high >= FREE and values[s] < 0) or (low <= -FREE and values[s] > 0):
            values[s] = 0
        total += values[s] * (low if values[s] > 0 else high) if values[s] else 0
    for s, c, a in zip(linear.row.tolist(), linear.col.tolist(), linear.coef.tolist(), strict=True):
        reduced[c] -= values[s] * a
    total += sum(r * int(low if r > 0 else up) for r, low, up in zip(reduced, *ends, strict=True))
    return math.ceil(total / over)


@pytest.mark.parametrize("seed", range(12))
def test_any_multipliers_prove_exactly_what_they_prove(seed):
    """Multipliers, costs and coefficients of every size, beyond 64 bits too, and of sides without a bound."""
    dice = random.Random(seed)
    size = dice.choice([1, 10**5, 10**12])
    sums = [([dice.randrange(-3, 4) * size for _ in range(4)], -UNBOUNDED if dice.random() < 0.3 else 1 - 9 * size,
             UNBOUNDED if dice.random() < 0.3 else 300 * size) for _ in range(3)]  # fmt: skip
    made = system(sums, (2, 10**15 // size), 4)
    ends = made.bounds.lower, made.bounds.upper
    for _ in range(40):
        most = dice.choice([3, 1 << 20, 1 << 40, 1 << 52])
        values = np.array([dice.randrange(-most, most) for _ in range(len(made.linear))], dtype=np.int64)
        costs = np.array([dice.randrange(-9, 9) * dice.choice([1, 10**9, 10**17]) for _ in ends[0]], dtype=np.int64)
        over = dice.choice([1, 7, 1 << 20])
        assert safe_bound(made.linear, ends, costs, values, over) == by_hand(made.linear, ends, costs, values, over)


def test_duals_are_rounded_to_what_floats_hold():
    """Whatever is not a number is 0, whatever is huge is cut: no multiplier is beyond 2^52, none is made up."""
    duals = np.array([math.nan, math.inf, -math.inf, 1e300, -1e300, 0.5, -1 / 3])
    assert integer_duals(duals, 6).tolist() == [0, 0, 0, LARGEST, -LARGEST, 3, -2]
    low, high = np.full(7, -5), np.array([9, 9, 9, 9, FREE, 9, FREE])
    for over, y in rounded_duals(duals, low, high):
        assert np.abs(y).max() <= LARGEST
        assert y[6] == 0, "its upper side is open"
        assert y[4] == 0
        assert abs(y[5] / over - 0.5) <= 0.5 / over
    assert not list(rounded_duals(np.zeros(3), low[:3], high[:3]))


def lying(dice):
    """Return a stand-in for a solved program, with made-up numbers in every place."""

    def run(self, limits):
        rows, columns = self.solver.getNumRow(), self.solver.getNumCol()
        scale = 10.0 ** float(dice.integers(-2, 7))
        kinds = dice.choice([0.0, 0.4, 1.0, 2.0, 7.0, 1e9], columns) * dice.choice([1, 1, -1], columns)
        dual = dice.normal(size=rows) * scale
        dual[dice.random(rows) < 0.1] = math.nan
        return ProgramSolution(True, bool(dice.random() < 0.3), float(dice.normal() * scale), kinds, dual)

    return run


@pytest.mark.slow
def test_bounds_hold_whatever_the_solver_answers(monkeypatch):
    found = system([((0, 1, 2, 5), 3, 25), ((4, 1, 0, 3), 2, 21)], (0, 8), 4)
    rows, low, high = table(found)
    worlds = [z for z in itertools.product(range(9), repeat=4) if sum(z) <= 8 and meets(z, rows, low, high)]
    dice = np.random.default_rng(0)
    monkeypatch.setattr(LinearProgram, "run", lying(dice))
    for _ in range(150):
        relaxed = Relaxation(found)
        coefs = dice.integers(-4, 5, found.linear.columns)
        for greatest, best in ((True, max), (False, min)):
            true = best(int(coefs @ np.array(z)) for z in worlds)
            bound = relaxed.bound(coefs, greatest, Limits())
            assert bound >= true if greatest else bound <= true
        assert not relaxed.refutes(Limits()), "there are worlds"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("feasible", [False, True])
def test_a_program_is_not_believed(monkeypatch, feasible):
    """A linear program that answers a wrong solution, or wrong multipliers, settles nothing."""
    found = system(PAIRS[: 2 if feasible else 3], (1, 4), 3)  # all three: twice the rows are at least 9
    assert found.bounds.conflict is None
    assert _by_program(found, Limits()).solvable is feasible
    dice, true, seen = np.random.default_rng(5), LinearProgram.run, set()
    lie = lying(dice)

    def answered(self, limits):
        honest, other = true(self, limits), lie(self, limits)
        x = honest.x if dice.random() < 0.2 else other.x
        dual = honest.duals if dice.random() < 0.2 else other.duals
        return ProgramSolution(True, other.infeasible, other.value, x, dual)

    monkeypatch.setattr(LinearProgram, "run", answered)
    for _ in range(150):
        seen.add(_by_program(found, Limits()).solvable)
    assert seen == {None, feasible}


def test_true_multipliers_refute():
    """Three sums of two that need more rows than there are: propagation does not see it, multipliers prove it."""
    for most in (4, 5):
        made = system(PAIRS, (1, most), 3)
        assert Relaxation(made).refutes(Limits()) == (most == 4)
        program = CellProgram(made.linear, made.bounds.lower, made.bounds.upper)
        found = program.violation(Limits())
        assert found is not None
        refuted = program.refutation(found)
        assert (refuted is not None) == (most == 4)
        if refuted is not None:
            nothing = np.zeros(made.linear.columns, dtype=np.int64)
            assert by_hand(made.linear, program.ends, nothing, refuted[1], refuted[0]) > 0


def test_sums_for_certificates_have_the_signs_of_the_sides_they_use():
    """A weight above 0 uses the upper side of a statement, one below 0 the lower one: else it proves nothing."""
    made = system(PAIRS, (1, 4), 3)
    search = SumSearch(made.linear, made.bounds.lower, made.bounds.upper)
    for one in search.refuting(1, Limits()) or ():
        for s, y in one.multipliers:
            assert (made.linear.high[s] < FREE) if y > 0 else (made.linear.low[s] > -FREE)


def test_many_statements_are_added_up_beyond_64_bits():
    """Each product fits into 64 bits, eight of them do not."""
    made = system([((1 << 20, 0), -UNBOUNDED, (1 << 30) + i) for i in range(9)], (0, 100), 2)
    ends, costs = (made.bounds.lower, made.bounds.upper), np.zeros(made.linear.columns, dtype=np.int64)
    values = np.full(len(made.linear), -(1 << 40), dtype=np.int64)
    assert safe_bound(made.linear, ends, costs, values) == by_hand(made.linear, ends, costs, values, 1)


def test_products_that_fit_add_up_beyond_64_bits():
    assert exact_dot(np.full(4, 1 << 30), np.full(4, 1 << 31)) == 1 << 63


@pytest.mark.parametrize("enforced", [False, True])
def test_a_statement_that_nothing_meets(enforced):
    model = cp_model.CpModel()
    x, literal = model.new_int_var(0, 5, "x"), model.new_bool_var("it holds")
    state(model, [x.index], [1], (2, 1), literal.index if enforced else None)
    model.maximize(literal)
    status, solver = run(model, Limits(seconds=60.0))
    if enforced:
        assert status == cp_model.OPTIMAL
        assert not solver.value(literal)
    else:
        assert status == cp_model.INFEASIBLE


def test_a_solution_outside_the_cells_is_none(monkeypatch):
    """Statements may be met by cells below 0: no dataset has those."""
    found = system(PAIRS[:2], (1, 4), 3)
    at = next(c for c in range(3) if all(row[c] for row in table(found)[0]))
    other = (at + 1) % 3
    z = np.zeros(3)
    z[[at, other]] = 4, -1
    assert meets(z.astype(int).tolist(), *table(found))
    answer = lambda self, limits: Violation(0.0, z, np.zeros(len(self.linear)))  # noqa: E731
    monkeypatch.setattr(CellProgram, "violation", answer)
    assert _by_program(found, Limits()).solvable is None
    z[other] = 0
    assert found.bounds.upper[at] == 4
    assert _by_program(found, Limits()).solvable is True


def test_without_an_answer_bounds_are_those_of_the_cells(monkeypatch):
    found = system(PAIRS, (1, 4), 3)
    monkeypatch.setattr(CellProgram, "solve", lambda self, costs, limits: None)
    monkeypatch.setattr(CellProgram, "violation", lambda self, limits: None)
    relaxed = Relaxation(found)
    assert relaxed.bound(np.ones(3, dtype=np.int64), False, Limits()) >= 0
    assert not relaxed.refutes(Limits())
    assert _by_program(found, Limits()).solvable is None


def test_duals_of_either_sign_say_something():
    for duals, says in (([], False), ([0.0, 0.0], False), ([0.0, -1.0], True), ([1.0, 0.0], True)):
        assert Violation(0.0, np.zeros(1), np.array(duals)).refutes == says


def test_a_solution_without_the_choices_settles_nothing(monkeypatch):
    """What meets both alternatives is not a world: one of them holds, and the program leaves that out."""
    every = Region(Box())
    stated = tuple(Statement.sum(every, 1, 1, "a sum", of=0, coefs=c) for c in ((1, 0), (0, 1)))
    release = Release(
        RowSpace((Attribute("a", (1, 1)),)), RowCount(2, 2), (Choice(((stated[0],), (stated[1],)), "either"),)
    )
    made = system_of(release, Limits())
    answer = lambda self, limits: Violation(0.0, np.array([1.0, 1.0]), np.zeros(len(self.linear)))  # noqa: E731
    monkeypatch.setattr(CellProgram, "violation", answer)
    assert _by_program(made, Limits()).solvable is not True
