"""How many fillings of a column a greedy learner could have seen, in plain integers, for checks of the floats."""

from __future__ import annotations

from math import comb

import numpy as np

from solvers.greedy.tree_counts import ChoiceConditions, StateWindow, _upwards


def exact_counts(conditions: ChoiceConditions, column: int) -> dict[tuple[int, int], int]:
    """Return the numbers of fillings of a column under the rule by its state at the root, in integers; few rows only.

    The same program in plain arithmetic, for checks: every pair of two children's states is looked at.
    """
    tree, numbers = conditions.tree, dict[int, dict[tuple[int, int], int]]()
    for node in _upwards(tree, column):
        n0, n1 = conditions.counts(node)
        if tree.column[node] < 0:
            mask = conditions.leaf(node)
            states = [(a, b) for a in range(n0 + 1) for b in range(n1 + 1) if mask is None or mask[a, b]]
            numbers[node] = {(a, b): comb(n0, a) * comb(n1, b) for a, b in states}
            continue
        if tree.column[node] == column:
            numbers[node] = {conditions.counts(int(tree.then[node])): 1}
            continue
        sums: dict[tuple[int, int], int] = {}
        for (a, b), x in numbers[int(tree.then[node])].items():
            for (c, d), y in numbers[int(tree.otherwise[node])].items():
                sums[a + c, b + d] = sums.get((a + c, b + d), 0) + x * y
        stands = conditions.split(node, StateWindow(0, 0, np.zeros((n0 + 1, n1 + 1))))
        numbers[node] = {state: x for state, x in sums.items() if stands[state]}
    return numbers[0]
