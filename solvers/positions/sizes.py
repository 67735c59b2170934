"""How many raw rows are left for rows distinguished: exactly where a row's place is known, bounds from above elsewhere.

Rows whose leaves are all known: whether they meet every count, and the box of raw rows that each is in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from solvers.foundation.array_types import Bits, Floats, Ints
from solvers.foundation.errors import EngineError, Inconclusive
from solvers.foundation.limits import Limits
from solvers.positions.assignments.domains import Places
from solvers.positions.assignments.world import Assigned
from solvers.statements.boxes import Attribute
from solvers.statements.regions.row_space import Space
from solvers.statements.release import UNPUBLISHED
from solvers.statements.row_problem import RowProblem

WIDE = 1 << 62  # numbers of values below it are whole in 64 bits
SLACK = 1e-9  # bits that rounding adds to an upper bound: products of d numbers and sums of m are off by (d + m) 2^-52


@dataclass(frozen=True, eq=False)
class Lengths:
    """How many values runs of parts of an attribute have, in units of 2^`shift`: rounded up where that is above 1."""

    floor: Ints
    ceiling: Ints
    shift: int

    @classmethod
    def of(cls, attribute: Attribute) -> Lengths:
        """Return the lengths of an attribute."""
        shift = max(0, attribute.total.bit_length() - WIDE.bit_length() + 1)
        floor = [end >> shift for end in attribute.ends]
        ceiling = [-(-end >> shift) for end in attribute.ends]
        return cls(np.array(floor, dtype=np.int64), np.array(ceiling, dtype=np.int64), shift)

    def log2(self, start: Ints, end: Ints) -> Floats:
        """Return log2 of the values from part `start` to before part `end`, minus infinity where there are none."""
        length = np.where(end > start, self.ceiling[end] - self.floor[np.minimum(start, end)], 0)
        with np.errstate(divide="ignore"):
            found: Floats = np.log2(length.astype(np.float64)) + self.shift
        return found


def bits_left(state: Assigned, limits: Limits) -> Floats:
    """Return (rows,) log2 of an upper bound on how many raw rows every row can be; minus infinity: it can be none.

    No more than its place holds, nor, in any tree that saw it, than the values left hold of the place together.
    Ends with what is known where time is up. Cost: values left times attributes.
    """
    problem, places = state.problem, state.places
    attributes = problem.release.domain.attributes
    lengths = [Lengths.of(a) for a in attributes]
    found = np.zeros(problem.rows)
    for k, attribute in enumerate(attributes):
        if k in places.sets:
            found += _log2_of_parts(attribute, places.sets[k])
        else:
            found += lengths[k].log2(places.start[:, k].astype(np.int64), places.end[:, k].astype(np.int64))
    for t in range(problem.trees):
        if limits.expired():
            break
        row, at = np.nonzero(state.domains.of_tree(t))
        if not len(row):
            continue
        value = at + int(problem.first[t])
        logs = _shared_bits(problem, places, lengths, row, value)
        first = np.flatnonzero(np.diff(row, prepend=-1))
        top = np.maximum.reduceat(logs, first)
        shift = np.where(np.isfinite(top), top, 0.0)
        scaled = np.exp2(logs - np.repeat(shift, np.diff(np.append(first, len(row)))))
        with np.errstate(divide="ignore"):
            whole = np.log2(np.add.reduceat(scaled, first)) + shift
        found[row[first]] = np.minimum(found[row[first]], whole)
    return found + SLACK


def _shared_bits(problem: RowProblem, places: Places, lengths: list[Lengths], row: Ints, value: Ints) -> Floats:
    """Return log2 of how many raw rows, at most, the place of `row[i]` shares with the box of `value[i]`."""
    attributes = problem.release.domain.attributes
    logs = np.zeros(len(row))
    for k, attribute in enumerate(attributes):
        if k in problem.sets:
            logs += _log2_of_parts(attribute, problem.sets[k][value] & places.sets[k][row])
        else:
            start = np.maximum(problem.start[value, k], places.start[row, k]).astype(np.int64)
            logs += lengths[k].log2(start, np.minimum(problem.end[value, k], places.end[row, k]).astype(np.int64))
    return logs


def _log2_of_parts(attribute: Attribute, parts: Bits) -> Floats:
    """Return log2 of how many values some parts have; (n, parts) to (n,)."""
    sizes = np.array(attribute.sizes, dtype=np.float64)
    with np.errstate(divide="ignore"):
        found: Floats = np.log2(parts.astype(np.float64) @ sizes)
    return found


@dataclass(frozen=True, eq=False)
class BoxedRows:
    """Rows each of which is in a box of its own: its parts per attribute, and how many raw rows it has."""

    places: Places
    sizes: list[int]

    def same(self) -> list[list[int]]:
        """Return the rows in groups of equal boxes."""
        groups: dict[bytes, list[int]] = {}
        for i, key in enumerate(self.keys()):
            groups.setdefault(key, []).append(i)
        return list(groups.values())

    def keys(self) -> list[bytes]:
        """Return what tells the boxes of rows apart."""
        held = np.hstack([self.places.start, self.places.end])
        sets = [np.packbits(allowed, axis=1) for allowed in self.places.sets.values()]
        return [b"".join([held[i].tobytes(), *(s[i].tobytes() for s in sets)]) for i in range(len(held))]


def boxed(problem: RowProblem, chosen: Ints, limits: Limits) -> BoxedRows:
    """Return the boxes of rows that take value `chosen[i, t]` (-1: none, the tree did not see them), with exact sizes.

    Raises `Inconclusive` or `EngineError` where impossible boxes keep sizes from being exact.
    """
    places, release = places_of(problem, chosen), problem.release
    space, known, sizes = Space.of(release, limits), dict[bytes, int](), []
    for i, key in enumerate(BoxedRows(places, []).keys()):
        if key not in known:
            limits.check("rows were sized")
            known[key] = space.within(_part_sizes(problem, places, i))
        sizes.append(known[key])
    return BoxedRows(places, sizes)


def _part_sizes(problem: RowProblem, places: Places, i: int) -> dict[int, tuple[int, ...]]:
    """Return the part sizes that the place of row i leaves of the attributes that it narrows."""
    out = {}
    for k, attribute in enumerate(problem.release.domain.attributes):
        sizes, start, end = attribute.sizes, int(places.start[i, k]), int(places.end[i, k])
        if k in places.sets:
            out[k] = tuple(s if a else 0 for s, a in zip(sizes, places.sets[k][i].tolist(), strict=True))
        elif (start, end) != (0, len(sizes)):
            out[k] = tuple(s if start <= p < end else 0 for p, s in enumerate(sizes))
    return out


def places_of(problem: RowProblem, chosen: Ints) -> Places:
    """Return where rows are that take value `chosen[i, t]` (-1: none): the boxes of their values in all trees."""
    n, parts = problem.rows, np.array(problem.parts, dtype=np.int64)
    start, end = np.zeros((n, len(parts)), dtype=np.int64), np.tile(parts, (n, 1))
    sets = {k: np.ones((n, problem.parts[k]), dtype=bool) for k in problem.sets}
    for t in range(problem.trees):
        seen = np.flatnonzero(chosen[:, t] >= 0)
        value = chosen[seen, t]
        start[seen] = np.maximum(start[seen], problem.start[value])
        end[seen] = np.minimum(end[seen], problem.end[value])
        for k, allowed in problem.sets.items():
            sets[k][seen] &= allowed[value]
    return Places(start, end, sets)


def log2_whole(number: int) -> float:
    """Return log2 of a whole number, minus infinity of 0."""
    return math.log2(number) if number else -math.inf


@dataclass(frozen=True, eq=False)
class DeterminedRows:
    """Rows whose leaves are all known. `conflict`: why there is no world ("": none was found).

    `free`: what the boxes of the rows say is all that was published, so that any raw rows of them are a world.
    """

    rows: BoxedRows
    conflict: str
    free: bool


def determined_rows(state: Assigned, limits: Limits) -> DeterminedRows | None:
    """Return the boxes of rows whose leaves are all known; None where some are not, or no exact sizes are found."""
    problem, chosen = state.problem, _fixed_choice(state)
    if chosen is None:
        return None
    try:
        rows = boxed(problem, chosen, limits)
    except (Inconclusive, EngineError):
        return None
    conflict = _disagreement(problem, chosen)
    if not conflict and not all(rows.sizes):
        conflict = f"the leaves of row {rows.sizes.index(0)} of the training file share no possible row"
    return DeterminedRows(rows, conflict, problem.exhaustive and not problem.release.loosened)


def _fixed_choice(state: Assigned) -> Ints | None:
    """Return (rows, trees): the value of every row in every tree, -1 where the tree did not see it; None: not known."""
    problem = state.problem
    seen = problem.times.T > 0
    if not (state.domains.sizes()[seen] == 1).all():
        return None
    chosen = np.full((problem.rows, problem.trees), -1, dtype=np.int64)
    for t in range(problem.trees):
        row, at = np.nonzero(state.domains.of_tree(t))
        chosen[row, t] = at + int(problem.first[t])
    return np.where(seen, chosen, -1)


def _disagreement(problem: RowProblem, chosen: Ints) -> str:
    """Return which count rows that take these values do not meet, in words; "": they meet all."""
    for t in range(problem.trees):
        seen = np.flatnonzero(chosen[:, t] >= 0)
        value = chosen[seen, t]
        times = problem.times[t][seen].astype(np.int64)
        weight = np.bincount(value, weights=times, minlength=len(problem.tree)).astype(np.int64)
        for v in problem.values(t):
            if weight[v] != problem.weight[v]:
                return (
                    f"{problem.names[t][problem.region[v]]}: its rows would count {weight[v]}, not {problem.weight[v]}"
                )
        said = problem.distinct[t]
        found = np.bincount(problem.region[value], minlength=len(said))
        wrong = np.flatnonzero((said != UNPUBLISHED) & (found != said))
        if len(wrong):
            return f"{problem.names[t][wrong[0]]}: {found[wrong[0]]} different rows, not {said[wrong[0]]}"
    return ""
