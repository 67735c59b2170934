"""Worlds of rows told apart, one row per position in the order of the training file."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from solvers.cells.worlds.row_lists import RandomSource, draw_box, index_type
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.positions.assignments.domains import Places
from solvers.positions.sizes import BoxedRows
from solvers.statements.boxes import Attribute, Box
from solvers.statements.release import Release, RowWorld

Row = tuple[int, ...]
MOST_STATES = 20_000  # ways to go on that are kept together while orders are counted
TRIES = 10_000  # draws of a row before it is given up that one avoids the impossible boxes


def box_of(release: Release, places: Places, i: int) -> Box:
    """Return the place of row i as a box, without parts that no row can have (impossible boxes of one attribute)."""
    literals, barred = [], dict[int, int]()
    for one in release.impossible:
        if len(one.literals) == 1:
            ((k, parts),) = one.literals
            barred[k] = barred.get(k, 0) | parts
    for k, attribute in enumerate(release.domain.attributes):
        start, end = int(places.start[i, k]), int(places.end[i, k])
        if k in places.sets:
            mask = sum(1 << p for p in np.flatnonzero(places.sets[k][i]).tolist())
        else:
            mask = (1 << end) - (1 << start)
        mask &= ~barred.get(k, 0)
        if mask != attribute.full:
            literals.append((k, mask))
    return Box(tuple(literals))


def draw_placed(release: Release, places: Places, unique: bool | None, note: str, random: RandomSource) -> RowWorld:
    """Return a world with a raw row of every place, drawn uniformly, in the order of the rows.

    Raises `Inconclusive` where no draw of a row avoids the impossible boxes.
    """
    rows = [draw_possible(release, box_of(release, places, i), random) for i in range(len(places.start))]
    width = len(release.domain.attributes)
    values = np.concatenate(rows) if rows else np.zeros((0, width), dtype=index_type(release.domain))
    return RowWorld(values, np.ones(len(rows), dtype=np.int64), unique=unique, note=note)


def draw_parts(release: Release, parts: Ints, note: str, random: RandomSource) -> RowWorld:
    """Return a world of rows given by their parts (rows, attributes), values inside a part drawn."""
    rows = [
        draw_box(release.domain, Box(tuple((k, 1 << p) for k, p in enumerate(row))), 1, random)
        for row in parts.tolist()
    ]
    width = len(release.domain.attributes)
    values = np.concatenate(rows) if rows else np.zeros((0, width), dtype=index_type(release.domain))
    return RowWorld(values, np.ones(len(rows), dtype=np.int64), note=note)


def draw_possible(release: Release, box: Box, random: RandomSource) -> NDArray[np.int64]:
    """Return (1, attributes) a row of a box that is in no impossible box, uniform among them."""
    for _ in range(TRIES):
        row = draw_box(release.domain, box, 1, random)
        if not any(inside(release, one, row[0]) for one in release.impossible):
            return row
    raise Inconclusive(f"no row was found in {TRIES:,} draws that avoids the impossible combinations")


def inside(release: Release, box: Box, row: NDArray[np.int64]) -> bool:
    """Return whether a row, by its raw values, is in a box."""
    return all(mask >> part_of(release.domain.attributes[k], int(row[k])) & 1 for k, mask in box.literals)


def part_of(attribute: Attribute, value: int) -> int:
    """Return the part of a raw value."""
    return int(np.searchsorted(np.array(attribute.ends[1:], dtype=object), value, side="right"))


def list_placed(release: Release, rows: BoxedRows, limits: Limits) -> Iterator[RowWorld]:
    """Yield the datasets with a raw row of every box, each once up to the order of rows; lazily, in memory."""
    known: set[tuple[tuple[int, ...], ...]] = set()
    every = [list(values_of(release, rows.places, i)) for i in range(len(rows.sizes))] if len(rows.sizes) else []
    for step, found in enumerate(itertools.product(*every)):
        if step % 256 == 0:
            limits.check("worlds were listed")
        if (key := tuple(sorted(found))) in known:
            continue
        known.add(key)
        orders = {} if (number := orders_of(key, every)) is None else {"orders": number}
        values: NDArray[np.int64] = np.array(found, dtype=index_type(release.domain)).reshape(
            len(found), len(release.domain.attributes)
        )
        yield RowWorld(values, np.ones(len(found), dtype=np.int64), figures=orders)


def orders_of(rows: Sequence[Row], every: Sequence[Sequence[Row]]) -> int | None:
    """Return in how many orders rows have one of the values `every[i]` at each position i; None where that is long.

    Positions with the same values are one group, filled after the other; rows that no later group can take have to be
    used up, so that what is left to choose stays small where few values are shared.
    """
    groups = Counter(frozenset(values) for values in every)
    ordered = sorted(groups, key=len)
    last = {row: g for g, members in enumerate(ordered) for row in members}
    kinds = Counter(rows)
    at = list(kinds)
    states = {tuple(kinds.values()): 1}
    for g, members in enumerate(ordered):
        found: dict[tuple[int, ...], int] = {}
        inside = [k for k, row in enumerate(at) if row in members]
        for left, ways in states.items():
            for taken in _shares([(left[k], last[at[k]] == g) for k in inside], groups[members]):
                rest = list(left)
                for k, n in zip(inside, taken, strict=True):
                    rest[k] -= n
                number = math.factorial(groups[members]) // math.prod(map(math.factorial, taken))
                found[tuple(rest)] = found.get(tuple(rest), 0) + ways * number
                if len(found) > MOST_STATES:
                    return None
        states = found
    return states.get((0,) * len(at), 0)


def _shares(left: Sequence[tuple[int, bool]], total: int) -> Iterator[tuple[int, ...]]:
    """Yield how many of each kind are taken, `total` in all: at most those left, all of them where it says so."""
    if not left:
        if not total:
            yield ()
        return
    (most, whole), *others = left
    needed = sum(n for n, all_of in others if all_of)
    room = sum(n for n, _ in others)
    for n in range(most if whole else max(0, total - room), min(most, total - needed) + 1):
        yield from ((n, *rest) for rest in _shares(others, total - n))


def values_of(release: Release, places: Places, i: int) -> Iterator[tuple[int, ...]]:
    """Yield the raw rows of a place that are in no impossible box."""
    ranges = []
    named = dict(box_of(release, places, i).literals)
    for k, attribute in enumerate(release.domain.attributes):
        mask, ends = named.get(k, attribute.full), attribute.ends
        ranges.append([v for p in range(len(attribute.sizes)) if mask >> p & 1 for v in range(ends[p], ends[p + 1])])
    for found in itertools.product(*ranges):
        if not any(inside(release, one, np.array(found, dtype=object)) for one in release.impossible):
            yield found
