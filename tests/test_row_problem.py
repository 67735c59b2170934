"""The problem on rows by position (`solvers.statements.row_problem`) against all datasets by position of tiny releases.

Every world keeps every weight and every bound; where no statement is left out, nothing else does.
"""

from __future__ import annotations

import itertools

import forests_with_bags
import numpy as np
import pandas as pd
import pytest
from extras import batches, encoded

from recon.readers.frames.selections import profile_ranges
from solvers.statements.release import UNPUBLISHED
from solvers.statements.row_problem import problem_of

MOST_SEQUENCES = 4_000


def parts_of(case, got):
    """Return the part of every attribute in which each row of the oracle lies: (rows, attributes)."""
    worlds = case.worlds
    lines = [worlds.finite.raw(row, worlds.names) for row in worlds.rows]
    frame = pd.DataFrame([{k: "missing" if v is None else v for k, v in line.items()} for line in lines], dtype=object)
    out = np.zeros((len(lines), len(got.cut.cuts)), dtype=int)
    for k, (back, every) in profile_ranges(got, frame).items():
        first = [got.cut.cuts[k].part(ranges[0][0]) for ranges in every]
        out[:, k] = [first[code] for code in back]
    return out


def held(problem, parts):
    """Return which values hold each row: (values, rows)."""
    inside = np.ones((len(problem.tree), len(parts)), dtype=bool)
    for k in range(parts.shape[1]):
        part = parts[:, k]
        inside &= (problem.start[:, [k]] <= part) & (part < problem.end[:, [k]])
        if k in problem.sets:
            inside &= problem.sets[k][:, part]
    return inside


def keeps(problem, inside, world):
    """Say whether a sequence of rows has the weights, the bounds, and the published numbers of different rows."""
    mine = inside[:, list(world)]  # values x positions
    times = problem.times[problem.tree]
    drawn = mine & (times > 0)
    weights, numbers = (mine * times).sum(axis=1), drawn.sum(axis=1)
    if not ((problem.low <= numbers) & (numbers <= problem.high)).all() or not (weights == problem.weight).all():
        return False
    for t in range(problem.trees):
        for j, published in enumerate(problem.distinct[t].tolist()):
            here = [v for v in problem.values(t) if problem.region[v] == j]
            if published != UNPUBLISHED and drawn[here].any(axis=0).sum() != published:
                return False
    return True


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", batches(2, 42))
def test_worlds_are_those_of_the_problem(batch):
    exhaustive = 0
    for _, case in forests_with_bags.cases(f"row problem {batch}", 20, with_others=batch % 2 == 1):
        got = encoded(case.release)
        problem = problem_of(got.statements)
        inside = held(problem, parts_of(case, got))
        for t in range(problem.trees):
            assert inside[list(problem.values(t))].sum(axis=0).max(initial=0) <= 1  # values of a tree are disjoint
        for world in case.worlds.listed[:: 1 + len(case.worlds.listed) // 300].tolist():
            assert keeps(problem, inside, world), (world, case.release)
        if problem.exhaustive and len(case.worlds.rows) ** case.worlds.n <= MOST_SEQUENCES:
            exhaustive += 1
            every = itertools.product(range(len(case.worlds.rows)), repeat=case.worlds.n)
            kept = {world for world in every if keeps(problem, inside, world)}
            assert kept == case.worlds.written, case.release
    assert exhaustive


def test_rows_are_those_of_a_tree_whose_columns_others_ask_too():
    """Three columns tell all rows apart; the first, in no table with another, would say nothing of these."""
    domain = {"attributes": [{"name": name, "values": [0, 1, 2]} for name in "abc"]}
    one = [{"where": {name: v}, "count": 1} for name in "abc" for v in range(3)]
    pair = [{"where": {"b": v, "c": (v + 1) % 3}, "count": 1} for v in range(3)]
    release = {"recon": 1, "rows": 3, "domain": domain, "models": [{"kind": "table", "statements": one + pair}]}
    problem = problem_of(encoded(release).statements)
    assert problem is not None
    asked = problem.end[problem.slot] - problem.start[problem.slot] < 3
    assert not asked[:, 0].any()
    assert asked[:, 1:].any(axis=1).all()
