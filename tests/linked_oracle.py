"""Hidden cells of tiny linked tables by brute force: every data set of n rows, every cell counted in plain Python.

Shares nothing with `solvers.suppression`: cells are dictionaries of sets of values, data sets are counts of rows.
"""

from __future__ import annotations

import random
from itertools import product


def tree_of(values, rng):
    """Return groups of values, each group inside or outside of any other, single values among them."""
    groups = [{v} for v in values]
    if len(values) > 2 and rng.random() < 0.8:
        cut = rng.randint(1, len(values) - 1)
        groups += [set(values[:cut]), set(values[cut:])]
    return [g for i, g in enumerate(groups) if g not in groups[:i]]


def cells_of(table, groups):
    """Return every cell of a table over some attributes: one group, or all, of each."""
    choices = [[None, *groups[k]] for k in table]
    return [{k: g for k, g in zip(table, chosen, strict=True) if g is not None} for chosen in product(*choices)]


def counted(cell, rows, times):
    """Return how many rows lie in a cell."""
    return sum(n for row, n in zip(rows, times, strict=True) if all(row[k] in g for k, g in cell.items()))


def data_sets(rows, n):
    """Yield how often each row stands in a data set of n rows, every data set once."""
    if len(rows) == 1:
        yield (n,)
        return
    for first in range(n + 1):
        yield from ((first, *rest) for rest in data_sets(rows[1:], n - first))


def case(seed):
    """Return sizes of attributes, tables, cells, true counts, published ends, intervals by brute force, and rows."""
    rng = random.Random(seed)
    sizes = [rng.choice([2, 2, 3]) for _ in range(rng.choice([2, 3, 3]))]
    values = [list(range(s)) for s in sizes]
    tables = (
        [(0, 1)]
        if len(sizes) == 2
        else rng.choice([[(0, 1), (0, 2)], [(0, 1, 2)], [(0, 1), (1, 2)], [(0, 1), (0, 2), (1, 2)]])
    )
    rows = list(product(*values))
    n = rng.randint(1, 6 if len(rows) <= 9 else 5 if len(rows) <= 12 else 3)
    truth = [0] * len(rows)
    for _ in range(n):
        truth[rng.randrange(len(rows))] += 1
    groups = {k: tree_of(v, rng) for k, v in enumerate(values)}
    cells = []
    for table in tables:
        cells += [c for c in cells_of(table, groups) if c not in cells]
    if rng.random() < 0.3:  # not all of them are published
        cells = [c for c in cells if not c or rng.random() < 0.7]
    counts = [counted(c, rows, truth) for c in cells]
    share = rng.choice([0.2, 0.5, 0.8])
    hidden = [bool(c) and rng.random() < share for c in cells]
    bounds = [
        (count, count) if not h else rng.choice([(0, n), (0, max(2, count)), (min(count, 1), n)])
        for h, count in zip(hidden, counts, strict=True)
    ]
    low, high = [n] * len(cells), [0] * len(cells)
    for times in data_sets(rows, n):
        found = [counted(c, rows, times) for c in cells]
        if all(a <= x <= b for x, (a, b) in zip(found, bounds, strict=True)):
            low, high = list(map(min, low, found)), list(map(max, high, found))
    return sizes, tables, cells, counts, bounds, list(zip(low, high, strict=True)), n
