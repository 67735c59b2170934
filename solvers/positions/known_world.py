"""One world of rows by position, searched for once and remembered with the release: leaves of its rows, and its box.

Whatever a row of it is, another of the same leaves may stand in its place where nothing but the trees was published.

How many worlds there are where rows are distinguished: exactly where the leaves of all rows are known, else bounds.

Where every row i takes a known value in every tree, the worlds are the products of one raw row from each box B_i, the
points that its values share: |B_1| ... |B_n| datasets by position. From one choice of values that meets every count
follow as many worlds at least; what is left for the rows bounds them from above.

Datasets without their order: rows whose boxes meet, directly or by way of others, form groups. A dataset is an order of
at most Π k! of those with the same rows (k: rows of a group), as every raw row stays within its group; and it is drawn
from the union of the group's boxes, of U raw rows: at most Π C(U + k - 1, k), which is exact where a group's boxes are
equal. Any dataset has at least one order and none more than n!.

Worlds of rows distinguished, one row per position in the order of the training file.

How many raw rows are left for rows distinguished: exactly where a row's place is known, bounds from above elsewhere.

Rows whose leaves are all known: whether they meet every count, and the box of raw rows that each is in.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from solvers.cells.system import Space
from solvers.cells.worlds import RandomSource, draw_box, index_type
from solvers.foundation.array_types import Bits, Floats, Ints
from solvers.foundation.errors import EngineError, Inconclusive
from solvers.foundation.exact import Factor, log2_multisets, multiset_factors
from solvers.foundation.limits import Limits
from solvers.positions.assignments.domains import Places
from solvers.positions.assignments.world import Assigned
from solvers.statements.boxes import Attribute, Box
from solvers.statements.questions.answers import CountAnswer
from solvers.statements.questions.query import Convention
from solvers.statements.release import UNPUBLISHED, Release, RowWorld
from solvers.statements.row_problem import RowProblem

TOGETHER = 1 << 20  # values of rows that are looked at at once
VALUE_WORK = 2e-8  # seconds of work of one of them in one attribute
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
        for rows in _chunks(problem.rows, len(problem.values(t))):
            row, at = np.nonzero(state.domains.of_tree(t, rows))
            if not len(row):
                continue
            limits.charge(VALUE_WORK * len(row) * len(attributes))
            logs = _shared_bits(problem, places, lengths, row + rows[0], at + int(problem.first[t]))
            first = np.flatnonzero(np.diff(row, prepend=-1))
            top = np.maximum.reduceat(logs, first)
            shift = np.where(np.isfinite(top), top, 0.0)
            scaled = np.exp2(logs - np.repeat(shift, np.diff(np.append(first, len(row)))))
            with np.errstate(divide="ignore"):
                whole = np.log2(np.add.reduceat(scaled, first)) + shift
            seen = row[first] + rows[0]
            found[seen] = np.minimum(found[seen], whole)
    return found + SLACK


def _chunks(rows: int, each: int) -> Iterator[Ints]:
    """Yield the numbers of all rows, so many at once that with `each` values they stay few."""
    step = max(1, TOGETHER // max(1, each))
    return (np.arange(first, min(first + step, rows)) for first in range(0, rows, step))


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


Row = tuple[int, ...]
MOST_STATES = 20_000  # ways to go on that are kept together while orders are counted
TRIES = 10_000  # draws of a row before it is given up that one avoids the impossible boxes


def _box_of(release: Release, places: Places, i: int) -> Box:
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
    rows = [_draw_possible(release, _box_of(release, places, i), random) for i in range(len(places.start))]
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


def _draw_possible(release: Release, box: Box, random: RandomSource) -> NDArray[np.int64]:
    """Return (1, attributes) a row of a box that is in no impossible box, uniform among them."""
    for _ in range(TRIES):
        row = draw_box(release.domain, box, 1, random)
        if not any(_row_in_box(release, one, row[0]) for one in release.impossible):
            return row
    raise Inconclusive(f"no row was found in {TRIES:,} draws that avoids the impossible combinations")


def _row_in_box(release: Release, box: Box, row: NDArray[np.int64]) -> bool:
    """Return whether a row, by its raw values, is in a box."""
    return all(mask >> part_of(release.domain.attributes[k], int(row[k])) & 1 for k, mask in box.literals)


def part_of(attribute: Attribute, value: int) -> int:
    """Return the part of a raw value."""
    return int(np.searchsorted(np.array(attribute.ends[1:], dtype=object), value, side="right"))


def list_placed(release: Release, rows: BoxedRows, limits: Limits) -> Iterator[RowWorld]:
    """Yield the datasets with a raw row of every box, each once up to the order of rows; lazily, in memory."""
    known: set[tuple[tuple[int, ...], ...]] = set()
    every = [list(_values_of(release, rows.places, i)) for i in range(len(rows.sizes))] if len(rows.sizes) else []
    for step, found in enumerate(itertools.product(*every)):
        if step % 256 == 0:
            limits.check("worlds were listed")
        if (key := tuple(sorted(found))) in known:
            continue
        known.add(key)
        orders = {} if (number := _orders_of(key, every)) is None else {"orders": number}
        values: NDArray[np.int64] = np.array(found, dtype=index_type(release.domain)).reshape(
            len(found), len(release.domain.attributes)
        )
        yield RowWorld(values, np.ones(len(found), dtype=np.int64), figures=orders)


def _orders_of(rows: Sequence[Row], every: Sequence[Sequence[Row]]) -> int | None:
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


def _values_of(release: Release, places: Places, i: int) -> Iterator[tuple[int, ...]]:
    """Yield the raw rows of a place that are in no impossible box."""
    ranges = []
    named = dict(_box_of(release, places, i).literals)
    for k, attribute in enumerate(release.domain.attributes):
        mask, ends = named.get(k, attribute.full), attribute.ends
        ranges.append([v for p in range(len(attribute.sizes)) if mask >> p & 1 for v in range(ends[p], ends[p + 1])])
    for found in itertools.product(*ranges):
        if not any(_row_in_box(release, one, np.array(found, dtype=object)) for one in release.impossible):
            yield found


@dataclass(slots=True)
class PositionWorlds:
    """Worlds that were found, by seed; why none was found in the longest search, its seconds, whether there is none."""

    parts: dict[int, Ints] = field(default_factory=dict)
    reason: str = ""
    seconds: float = 0.0
    contradicted: bool = False


def known_world(state: Assigned, limits: Limits, seed: int | None = None) -> PositionWorlds:
    """Return what is known of one world; searched for where none is, and more time is left than was spent in vain.

    `seed` None: any world will do. Its parts, (rows, attributes), meet every statement of the release: evaluated.
    """
    known = state.problem.release.derived.part(PositionWorlds)
    wanted = 0 if seed is None else seed
    if wanted in known.parts or (seed is None and known.parts) or known.contradicted:
        return known
    left = limits.remaining()
    if known.reason and left[0] <= known.seconds:
        return known
    from solvers.positions.assignments.world import find_world

    found = find_world(state, limits, wanted)
    if found.parts is not None:
        known.parts[wanted] = found.parts
    else:
        known.reason, known.contradicted = found.reason or "no world was found", found.contradicted
        known.seconds = 0.0 if limits.stop.is_set() else max(known.seconds, limits.spent(left))
    return known


def values_in(problem: RowProblem, parts: Ints) -> Ints:
    """Return (rows, trees): the value of every tree that rows given by their parts lie in, -1 where it saw them not.

    Raises `EngineError` where a row lies in none or in several. Cost: rows times values times attributes.
    """
    chosen = np.full((problem.rows, problem.trees), -1, dtype=np.int64)
    for t in range(problem.trees):
        seen = np.flatnonzero(problem.times[t] > 0)
        values = np.array(problem.values(t), dtype=np.int64)
        held = np.ones((len(seen), len(values)), dtype=bool)
        for k in range(parts.shape[1]):
            at = parts[seen, k]
            if k in problem.sets:
                held &= problem.sets[k][values][:, at].T
            else:
                held &= (at[:, None] >= problem.start[values, k]) & (at[:, None] < problem.end[values, k])
        if (held.sum(axis=1) != 1).any():
            raise EngineError("a row of a world lies in no leaf of a tree, or in several")
        chosen[seen, t] = values[held.argmax(axis=1)] if len(values) else -1
    return chosen


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
    for group in _groups(rows):
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


def _groups(rows: BoxedRows) -> list[list[list[int]]]:
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
        for b in np.flatnonzero(_meeting(rows.places, i, first[:a])).tolist():
            parent[root(b)] = root(a)
    found: dict[int, list[list[int]]] = {}
    for a, one in enumerate(same):
        found.setdefault(root(a), []).append(one)
    return list(found.values())


def _meeting(places: Places, i: int, others: list[int]) -> Bits:
    """Return which of some rows have boxes that share a point with that of row i."""
    start, end = places.start[others], places.end[others]
    meets: Bits = (np.maximum(start, places.start[i]) < np.minimum(end, places.end[i])).all(axis=1)
    for allowed in places.sets.values():
        meets &= (allowed[others] & allowed[i]).any(axis=1)
    return meets


def count_placed(state: Assigned, convention: Convention, limits: Limits) -> CountAnswer:
    """Return the number of worlds where leaves are known, else bounds: from below by one world that is looked for."""
    problem = state.problem
    known = determined_rows(state, limits)
    if known is not None and known.conflict:
        return CountAnswer("unsat", convention=convention, conflict=(known.conflict,))
    if known is not None and known.free:
        return _count_answer(problem, known.rows, convention)
    upper = float(np.sum(bits_left(state, limits)) * (1.0 + 1e-12))
    if upper == -math.inf:
        return CountAnswer("unsat", convention=convention)
    found = known_world(state, limits.limited().stage("world of positions"))
    if found.contradicted:
        return CountAnswer("unsat", convention=convention, conflict=(found.reason,))
    relative = problem.release.domain.relative
    lower = -math.inf if relative else 0.0  # a true release has a world, see `solvers.statements.questions.answers`
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


def _count_answer(problem: RowProblem, rows: BoxedRows, convention: Convention) -> CountAnswer:
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
