"""Groups of attributes that no statement ties together: numbers of rows and of worlds against all training sets."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import combinations_with_replacement, product
from random import Random

import numpy as np
import pytest
from extras import batches, encoded

from recon.readers.frames.selections import as_condition, select_conditions
from solvers.cells.system import system_of
from solvers.engines.chain import answer
from solvers.engines.independent_groups import count_by_groups, decide_by_groups, independent_groups
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box
from solvers.statements.questions.answers import DecideAnswer
from solvers.statements.questions.query import Decide, Selections
from solvers.statements.release import RowCount

SIZES = {"a": 2, "b": 3, "c": 2, "d": 2}
CELLS = list(product(*map(range, SIZES.values())))
TIED = [("a", "b"), ("c",)]  # of d nothing is published


def drawn(seed, rows=4):
    """Return true rows and what is published of them: numbers of rows over each group, exact or between ends."""
    dice = Random(seed)
    truth = [dice.choice(CELLS) for _ in range(rows)]
    said = []
    for tied in TIED:
        for _ in range(dice.randint(1, 3)):
            where = {k: dice.randrange(SIZES[k]) for k in dice.sample(tied, dice.randint(1, len(tied)))}
            count = sum(holds(where, row) for row in truth)
            ends = {"count": count} if dice.random() < 0.6 else {"at_least": max(0, count - 1), "at_most": count + 1}
            said.append({"where": where, **ends})
    said += [{"where": {"a": 0}, "at_least": 0}, {"where": {"c": 0}, "at_least": 0}]
    return truth, said


def holds(where, row):
    return all(row["abcd".index(k)] == v for k, v in where.items())


def released(said, rows=4):
    attributes = [{"name": k, "values": list(range(n))} for k, n in SIZES.items()]
    table = {"kind": "table", "statements": said}
    return encoded({"recon": 1, "domain": {"attributes": attributes}, "rows": rows, "models": [table]})


def agrees(world, said):
    counts = ((one, sum(holds(one["where"], row) for row in world)) for one in said)
    return all(one.get("count", n) == n and one.get("at_least", 0) <= n <= one.get("at_most", n) for one, n in counts)


@pytest.mark.sampled(1, 7)
@pytest.mark.parametrize("seed", batches(12, 300))
def test_rows_and_worlds_are_those_of_all_training_sets(seed):
    truth, said = drawn(seed)
    release = released(said)
    worlds = [one for one in combinations_with_replacement(CELLS, len(truth)) if agrees(one, said)]
    asked = [{k: v for k, v in zip("abcd", values, strict=True) if v is not None} for values in
             product((None, 0), (None, 0, 2), (None, 1), (None, 0))]  # fmt: skip
    chosen = select_conditions(release, [as_condition(where) for where in asked])
    n = np.full(len(asked), len(truth))
    nothing = DecideAnswer.of(0 * n, n)
    found = decide_by_groups(release.statements, Decide(chosen, "ordered"), nothing, Limits())
    inside = np.array([[sum(holds(where, row) for row in one) for where in asked] for one in worlds])
    assert found.low.tolist() == inside.min(axis=0).tolist()
    assert found.high.tolist() == inside.max(axis=0).tolist()
    assert not found.open.any()
    cells = len(system_of(released(said).statements, Limits()).sizes)
    parts = [len(system_of(group.release, Limits()).sizes) for group in independent_groups(release.statements)]
    if max(parts) < cells:  # else nothing of the other group is open
        asks = Decide(chosen, "ordered", shares=False)
        several = answer(released(said).statements, asks, Limits(cells=cells - 1))
        assert (several.low.tolist(), several.high.tolist()) == (found.low.tolist(), found.high.tolist())
        assert several.engine == "columns"
    orders = [math.factorial(len(one)) // math.prod(map(math.factorial, Counter(one).values())) for one in worlds]
    for convention, number in (("ordered", sum(orders)), ("multiset", len(worlds))):
        counted = count_by_groups(release.statements, convention, Limits())
        assert counted.bounds[0] - 1e-9 <= math.log2(number) <= counted.bounds[1] + 1e-9
        assert counted.value == (number if convention == "ordered" else None)


def test_groups_that_contradict_themselves_leave_no_world():
    said = [{"where": {"a": 0}, "count": 4}, {"where": {"a": 0, "b": 1}, "count": 3}]
    said += [{"where": {"b": 1}, "count": 2}, {"where": {"c": 0}, "at_least": 1}]
    release = released(said).statements
    blank = Selections(np.zeros((1, 4), dtype=np.int32), tuple(((n,),) for n in SIZES.values()))
    nothing = DecideAnswer.of(np.array([0]), np.array([4]))
    assert decide_by_groups(release, Decide(blank, "ordered"), nothing, Limits()) is None
    assert count_by_groups(release, "ordered", Limits()).status == "unsat"


def test_what_is_tied_or_not_exact_is_one_group():
    tied = [{"where": {"a": 0}, "count": 2}, {"where": {"b": 1, "c": 0}, "count": 1}]
    (one, other) = independent_groups(released(tied).statements)
    assert (one.attributes, other.attributes) == ((0,), (1, 2))
    assert independent_groups(released([*tied, {"where": {"a": 1, "b": 0}, "count": 0}]).statements) == ()
    assert independent_groups(replace(released(tied).statements, rows=RowCount(3, 4))) == ()
    box = Box(((0, 1), (1, 1)))
    assert independent_groups(replace(released(tied).statements, impossible=(box,))) == ()


def test_what_is_not_in_statements_leaves_verdicts_open():
    """Groups then bound from outside alone: a world of theirs need not be one of the release."""
    said = [{"where": {"a": 0}, "count": 2}, {"where": {"c": 0}, "count": 2}]
    release = replace(released(said).statements, loosened=("something else",))
    chosen = select_conditions(released(said), [as_condition({"a": 0, "c": 0})])
    nothing = DecideAnswer.of(np.array([0]), np.array([4]))
    found = decide_by_groups(release, Decide(chosen, "ordered"), nothing, Limits())
    assert (found.low[0], found.high[0], found.open[0]) == (0, 2, True)
    assert count_by_groups(release, "ordered", Limits()).bounds[0] == -math.inf
