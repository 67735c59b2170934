"""How many worlds there are where rows are told apart: exactly where the leaves of all rows are known, else bounds.

Where every row i takes a known value in every tree, the worlds are the products of one raw row from each box B_i, the
points that its values share: |B_1| ... |B_n| datasets by position. From one choice of values that meets every count
follow as many worlds at least; what is left for the rows bounds them from above.

Datasets without their order: rows whose boxes meet, directly or by way of others, form groups. A dataset is an order of
at most Π k! of those with the same rows (k: rows of a group), as every raw row stays within its group; and it is drawn
from the union of the group's boxes, of U raw rows: at most Π C(U + k - 1, k), which is exact where a group's boxes are
equal. Any dataset has at least one order and none more than n!.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from solvers.foundation.array_types import Bits
from solvers.foundation.errors import EngineError, Inconclusive
from solvers.foundation.exact import Factor, log2_multisets, multiset_factors
from solvers.foundation.limits import Limits
from solvers.positions.assignments.domains import Places
from solvers.positions.assignments.solving import Assigned
from solvers.positions.known_world import known_world, values_in
from solvers.positions.settled import settled
from solvers.positions.sizes import SLACK, BoxedRows, bits_left, boxed, log2_whole
from solvers.questions.answers import CountAnswer
from solvers.questions.query import Convention
from solvers.statements.row_problem import RowProblem


@dataclass(frozen=True)
class DatasetBits:
    """log2 of the number of datasets of rows in known boxes, by position, and of those without an order.

    The latter as bounds, `exact` where they are equal but for rounding.
    """

    ordered: float
    multiset: tuple[float, float]
    exact: bool


def numbers_of(rows: BoxedRows) -> DatasetBits:
    """Return how many datasets rows in known boxes are."""
    ordered = math.fsum(map(log2_whole, rows.sizes)) if all(rows.sizes) else -math.inf
    low = high = 0.0
    exact = True
    for group in groups(rows):
        boxes = {key: rows.sizes[same[0]] for key, same in enumerate(group)}
        k = sum(map(len, group))
        union = sum(boxes.values())
        most = log2_multisets(union, k) if union else -math.inf
        if len(group) == 1:
            low, high = low + most, high + most
            continue
        exact = False
        orders = math.lgamma(k + 1) / math.log(2)
        own = math.fsum(len(same) * log2_whole(rows.sizes[same[0]]) for same in group)
        least = max(log2_multisets(rows.sizes[same[0]], len(same)) for same in group) if union else -math.inf
        low += max(0.0, least, own - orders - SLACK)
        high += min(most, own) + SLACK
    return DatasetBits(ordered, (low, max(low, high)), exact)


def groups(rows: BoxedRows) -> list[list[list[int]]]:
    """Return the groups of rows whose boxes meet, directly or by way of others: per group the rows with equal boxes."""
    same = rows.same()
    first = [one[0] for one in same]
    parent = list(range(len(same)))

    def root(a: int) -> int:
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        return a

    for a, i in enumerate(first):
        for b in np.flatnonzero(meeting(rows.places, i, first[:a])).tolist():
            parent[root(b)] = root(a)
    found: dict[int, list[list[int]]] = {}
    for a, one in enumerate(same):
        found.setdefault(root(a), []).append(one)
    return list(found.values())


def meeting(places: Places, i: int, others: list[int]) -> Bits:
    """Return which of some rows have boxes that share a point with that of row i."""
    start, end = places.start[others], places.end[others]
    meets: Bits = (np.maximum(start, places.start[i]) < np.minimum(end, places.end[i])).all(axis=1)
    for allowed in places.sets.values():
        meets &= (allowed[others] & allowed[i]).any(axis=1)
    return meets


def count_placed(state: Assigned, convention: Convention, limits: Limits) -> CountAnswer:
    """Return the number of worlds where leaves are known, else bounds: from below by one world that is looked for."""
    problem = state.problem
    known = settled(state, limits)
    if known is not None and known.conflict:
        return CountAnswer("unsat", convention=convention, conflict=(known.conflict,))
    if known is not None and known.free:
        return counted(problem, known.rows, convention)
    upper = float(np.sum(bits_left(state, limits)) * (1.0 + 1e-12))
    if upper == -math.inf:
        return CountAnswer("unsat", convention=convention)
    found = known_world(state, limits.limited().stage("world of positions"))
    if found.contradicted:
        return CountAnswer("unsat", convention=convention, conflict=(found.reason,))
    relative = problem.release.domain.relative
    lower = -math.inf if relative else 0.0  # a true release has a world, see `solvers.questions.relaxed`
    if found.parts and problem.exhaustive:
        try:
            rows = boxed(problem, values_in(problem, next(iter(found.parts.values()))), limits)
            numbers = numbers_of(rows)
            lower = (numbers.ordered if convention == "ordered" else numbers.multiset[0]) - SLACK
        except (Inconclusive, EngineError):  # the sizes of its rows are not exact
            pass
    trail = () if found.parts else (found.reason,)
    bounds = lower, max(lower, upper)
    return CountAnswer("bounds", convention=convention, bounds=bounds, relative=relative, trail=trail)


def counted(problem: RowProblem, rows: BoxedRows, convention: Convention) -> CountAnswer:
    """Return the number of worlds where every row is in a known box and nothing else is said."""
    n, numbers, relative = problem.rows, numbers_of(rows), problem.release.domain.relative
    if convention == "ordered":
        factors = list(Counter(size for size in rows.sizes if size != 1).items())
        return CountAnswer.of_rows(convention, n, factors, relative)
    if not numbers.exact:
        return CountAnswer("bounds", convention=convention, bounds=numbers.multiset, relative=relative)

    def per_rows() -> dict[int, list[Factor]]:
        return {n: [f for same in rows.same() for f in multiset_factors(rows.sizes[same[0]], len(same))]}

    bits = numbers.multiset[0]
    return CountAnswer(
        "exact",
        convention=convention,
        bounds=(bits, bits),
        per_rows=per_rows,
        log2_per_rows={n: bits},
        relative=relative,
    )
