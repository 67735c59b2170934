"""The number of data sets of a published table of exact counts, written apart from recon: one cell after the other.

The number is a coefficient of the product over all cells of 1 / (1 - x_s x_t ...), whose variables are the counts that
a cell is in. It is multiplied out cell by cell, and of every count only the rows that are still missing are kept.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np


def number_of_data_sets(release: dict[str, Any]) -> int:
    """Return the number of data sets without their order: histograms over all combinations of single values."""
    counts = counts_of_live_cells(release)
    members = sorted(counts, key=len)
    of = {c: [i for i, cells in enumerate(members) if c in cells] for c in frozenset().union(*members)}
    missing = [set(cells) for cells in members]  # the cells of every count that are not multiplied out yet
    states, begun = Counter({(): 1}), list[int]()
    while any(missing):
        nearest = min((s for s in missing if s), key=len)
        cell = min(nearest, key=lambda c: (len(set(of[c]) - set(begun)), c))
        for cells in missing:
            cells.discard(cell)
        new = [i for i in of[cell] if i not in begun]
        named, fresh = begun + new, tuple(counts[members[i]] for i in new)
        mine = [named.index(i) for i in of[cell]]
        kept, ended = ([k for k, i in enumerate(named) if bool(missing[i]) == stays] for stays in (True, False))
        after = Counter()
        for state, ways in states.items():
            before = (*state, *fresh)
            for rows in range(min(before[k] for k in mine) + 1):
                left = list(before)
                for k in mine:
                    left[k] -= rows
                if not any(left[k] for k in ended):
                    after[tuple(left[k] for k in kept)] += ways
        states, begun = after, [named[k] for k in kept]
    return sum(states.values())


def counts_of_live_cells(release: dict[str, Any]) -> dict[frozenset[int], int]:
    """Return every count above 0 by the cells that it counts: combinations of values in no group that counts 0."""
    attributes = release["domain"]["attributes"]
    every = {a["name"]: a.get("values") or list(range(a["min"], a["max"] + 1)) for a in attributes}
    live = np.ones([len(values) for values in every.values()], dtype=bool)
    known: dict[str, list[int]] = {}

    def region(where: dict[str, Any]) -> Any:
        places = []
        for name, values in every.items():
            key = json.dumps([name, where.get(name)])
            if key not in known:
                known[key] = [i for i, v in enumerate(values) if name not in where or passes(where[name], v)]
            places.append(known[key])
        return np.ix_(*places)

    figures = [({}, release["rows"])]
    figures += [(f.get("where", {}), f["count"]) for model in release["models"] for f in model["statements"]]
    for where, count in figures:
        if not count:
            live[region(where)] = False
    number = np.full(live.shape, -1)
    number[live] = np.arange(live.sum())
    out: dict[frozenset[int], int] = {}
    for where, count in figures:
        if count:
            cells = number[region(where)]
            assert out.setdefault(frozenset(cells[cells >= 0].tolist()), count) == count
    return out


def passes(test: Any, value: Any) -> bool:
    """Return whether a value meets a condition: a value, values, or ends."""
    if not isinstance(test, dict):
        return bool(value == test)
    assert set(test) <= {"in", "at_least", "at_most"}
    return bool(value in test.get("in", [value]) and test.get("at_least", value) <= value <= test.get("at_most", value))
