"""Related data sets: which of them a row can be in together (types), and how many rows there are of each kind.

A model that is published again after a row left, a table of every year, a tree per fold: each release counts the rows
of one data set, and relations say how these are related. A *type* is a nonempty set of data sets; the relations say
which are allowed. Without relations beyond `from`, who comes back counts as one who left and another who came: every
sequence of data sets is such a set of rows, and nothing is excluded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from solvers.foundation.errors import ReleaseError
from solvers.statements.release import RowCount

MAX_TYPES = 64
MAX_STEPS = 200_000  # partial types looked at
ROUNDS = 100  # of narrowing numbers
ANY = RowCount()
NONE = RowCount(0, 0)


def number_words(rows: RowCount) -> str:
    """Return a number of rows in words: "1 row", "0 to 20 rows", "an unknown number of rows"."""
    if rows.exact:
        return f"{rows.low:,} row{'' if rows.low == 1 else 's'}"
    if rows.high is not None:
        return f"{rows.low:,} to {rows.high:,} rows"
    return f"at least {rows.low:,} rows" if rows.low else "an unknown number of rows"


@dataclass(frozen=True)
class DataSet:
    """One data set, and how it is related to others by their names; `rows` None: not declared.

    `origin`: the earlier data set that it is made from, `removed` rows of which left and `added` came (None: unknown),
    or all rows `without` those of another one. It is the `union` of others, or lies `within` one.
    """

    name: str
    rows: RowCount | None = None
    origin: str | None = None
    removed: RowCount | None = None
    added: RowCount | None = None
    union: tuple[str, ...] = ()
    within: str | None = None
    without: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Return the other data sets that it names."""
        return tuple(n for n in (self.origin, *self.union, self.within, self.without) if n is not None)

    def lines(self) -> Iterator[str]:
        """Yield the relations in words."""
        if self.origin is not None and self.without is not None:
            yield f"{self.name} is {self.origin} without the rows of {self.without}"
        elif self.origin is not None:
            change = [] if self.removed == NONE else [f"without {number_words(self.removed or ANY)}"]
            change += [] if self.added == NONE else [f"with {number_words(self.added or ANY)} added"]
            yield f"{self.name} is {self.origin}{'' if not change else ' ' + ' and '.join(change)}"
        if self.union:
            yield f"{self.name} is all rows of {' and '.join(self.union)}"
        if self.within is not None:
            yield f"{self.name} lies within {self.within}"

    def to_json(self) -> dict[str, Any]:
        """Return the data set as it stands in a release file."""
        out: dict[str, Any] = {"name": self.name}
        for key, rows in (("rows", self.rows), ("removed", self.removed), ("added", self.added)):
            if rows is not None:
                out[key] = rows.low if rows.exact else rows_json(rows)
        for key, named in (("from", self.origin), ("within", self.within), ("without", self.without)):
            if named is not None:
                out[key] = named
        return {**out, **({"union": list(self.union)} if self.union else {})}


def rows_json(rows: RowCount) -> dict[str, int]:
    """Return an interval of numbers of rows as it stands in a file."""
    return {"at_least": rows.low} | ({} if rows.high is None else {"at_most": rows.high})


@dataclass(frozen=True)
class StatedNumber:
    """So many rows are of one of the types (bits: by their numbers), and the relation that says so."""

    types: int
    rows: RowCount
    source: str
    dataset: str
    whole: bool = False  # it is the number of rows of the data set


class NumbersError(Exception):
    """No numbers of rows fit; `sources` are the statements that clash."""

    def __init__(self, sources: tuple[str, ...]) -> None:
        super().__init__("; ".join(sources))
        self.sources = sources


@dataclass(frozen=True)
class RelatedDataSets:
    """Data sets, `disjoint` ones, and `parts` that make up another one; `ReleaseError` for what cannot hold.

    `stated`: the relations stand in no file, whoever asked stated them, so that certificates name them; `fewest`: not
    even they said who left or came.
    """

    datasets: tuple[DataSet, ...]
    disjoint: tuple[tuple[str, ...], ...] = ()
    parts: tuple[tuple[tuple[str, ...], str], ...] = ()
    stated: bool = False
    fewest: bool = False

    def __post_init__(self) -> None:
        names = [one.name for one in self.datasets]
        for i, one in enumerate(self.datasets):
            at = f"datasets[{i}]"
            if names.index(one.name) < i:
                raise ReleaseError(f"the data set '{one.name}' is declared twice", place=at)
            self._refuse_unknown(one.names, at)
            if (one.removed, one.added, one.without) != (None, None, None) and one.origin is None:
                message = f"'{one.name}' says who left or came, but not from which data set: give 'from'"
                raise ReleaseError(message, place=at)
            if one.without is not None and (one.removed, one.added) != (None, None):
                raise ReleaseError(f"'{one.name}' gives 'without' and numbers: 'without' says who left", place=at)
        for i, group in enumerate(self._groups):
            self._refuse_unknown(group, f"relations[{i}]")
            if len(set(group)) < len(group):
                raise ReleaseError("a data set stands twice in it", place=f"relations[{i}]")
        self._refuse_cycles()

    @property
    def _groups(self) -> list[tuple[str, ...]]:
        return [*self.disjoint, *((*some, whole) for some, whole in self.parts)]

    def _refuse_unknown(self, names: Sequence[str], place: str) -> None:
        for name in names:
            if name not in self.number:
                known = ", ".join(f"'{n}'" for n in self.number)
                raise ReleaseError(f"there is no data set '{name}': declared are {known}", place=place)

    def _refuse_cycles(self) -> None:
        """Refuse data sets that are made from each other, naming both."""
        above = {one.name: list(one.names) for one in self.datasets}
        for i, one in enumerate(self.datasets):
            seen, stack = {one.name}, [*above[one.name]]
            while stack:
                name = stack.pop()
                if name == one.name:
                    other = next(n for n in one.names if n == one.name or self._reaches(above, n, one.name))
                    raise ReleaseError(
                        f"'{one.name}' and '{other}' are each made from the other", place=f"datasets[{i}]"
                    )
                if name not in seen:
                    seen.add(name)
                    stack += above[name]

    @staticmethod
    def _reaches(above: Mapping[str, list[str]], start: str, goal: str) -> bool:
        seen, stack = {start}, [start]
        while stack:
            for name in above[stack.pop()]:
                if name == goal:
                    return True
                if name not in seen:
                    seen.add(name)
                    stack.append(name)
        return False

    @cached_property
    def number(self) -> dict[str, int]:
        """Return name -> number of every data set."""
        return {one.name: i for i, one in enumerate(self.datasets)}

    @cached_property
    def types(self) -> tuple[int, ...]:
        """Return the sets of data sets that a row can be in, as bits by number; `ReleaseError` for more than 64."""
        rules, out, steps = self._rules(), list[int](), 0
        stack = [(0, 0)]
        while stack:
            kind, known = stack.pop()
            steps += 1
            if known == len(self.datasets):
                if kind:
                    out.append(kind)
                if len(out) <= MAX_TYPES:
                    continue
            if len(out) > MAX_TYPES or steps > MAX_STEPS:
                raise ReleaseError(
                    f"{len(self.datasets)} data sets leave more than {MAX_TYPES} ways for a row to be in several: "
                    "say more of how they are related ('from' the version before, 'disjoint', 'parts' or 'within')",
                    place="datasets",
                )
            for more in (0, 1 << known):
                if all(rule(kind | more) for need, rule in rules if need == known):
                    stack.append((kind | more, known + 1))
        if not out:
            lines = "; ".join(self._relations_of(set(self.number)))
            raise ReleaseError(f"these leave no data set that a row can be in: {lines}", place="datasets")
        return tuple(sorted(out))

    def _rules(self) -> list[tuple[int, Any]]:
        """Return tests of types, each with the greatest number of the data sets that it looks at."""
        out: list[tuple[int, Any]] = []

        def add(names: Sequence[str], test: Any) -> None:
            bits = [1 << self.number[name] for name in names]
            out.append((max(self.number[name] for name in names), lambda kind: test(*(bool(kind & b) for b in bits))))

        for one in self.datasets:
            if one.origin is not None and one.without is not None:
                add((one.name, one.origin, one.without), lambda d, b, f: d == (b and not f))
            elif one.origin is not None:
                if one.removed == NONE:
                    add((one.origin, one.name), lambda b, d: d or not b)
                if one.added == NONE:
                    add((one.origin, one.name), lambda b, d: b or not d)
            if one.union:
                add((one.name, *one.union), lambda d, *some: d == any(some))
            if one.within is not None:
                add((one.name, one.within), lambda d, b: b or not d)
        for group in self.disjoint:
            add(group, lambda *some: sum(some) <= 1)
        for some, whole in self.parts:
            add((whole, *some), lambda d, *each: sum(each) == d)
        if self.versions:
            out.append((len(self.datasets) - 1, self._connected))
        return out

    @property
    def versions(self) -> bool:
        """Return whether the data sets are only versions of each other: who comes back counts as somebody else."""
        plain = all(not one.union and one.within is None and one.without is None for one in self.datasets)
        return plain and not self.disjoint and not self.parts and any(one.origin is not None for one in self.datasets)

    @property
    def whole(self) -> str:
        """Return the data set that has all rows, of which the others are parts; "": none, or versions of each other."""
        found = (name for name in self.number if self.within(name) == self.everybody)
        return "" if self.versions else next(found, "")

    def _connected(self, kind: int) -> bool:
        """Return whether the versions of one first data set that a type has follow one from the other without a gap."""
        first = [
            self._first(one) for i, one in enumerate(self.datasets) if kind >> i & 1 and not self._before(one, kind)
        ]
        return len(set(first)) == len(first)

    def _first(self, one: DataSet) -> str:
        """Return the name of the first version of a data set."""
        while one.origin is not None:
            one = self.datasets[self.number[one.origin]]
        return one.name

    def _before(self, one: DataSet, kind: int) -> bool:
        return one.origin is not None and bool(kind >> self.number[one.origin] & 1)

    @cached_property
    def type_names(self) -> tuple[str, ...]:
        """Return what every type is called: "march only", "march and april"; of parts by the part that has no other."""
        out = []
        for t, kind in enumerate(self.types):
            alone = (name for name in self.number if not self.versions and self.within(name) == 1 << t)
            if name := next(alone, ""):
                out.append(name)
                continue
            names = [one.name for i, one in enumerate(self.datasets) if kind >> i & 1]
            out.append(" and ".join(names) + ("" if len(names) == len(self.datasets) else " only"))
        return tuple(n if out.count(n) == 1 else f"{n} (type {i})" for i, n in enumerate(out))

    def within(self, name: str) -> int:
        """Return the types of the rows of a data set, as bits by the number of the type."""
        at = self.number[name]
        return sum(1 << t for t, kind in enumerate(self.types) if kind >> at & 1)

    @property
    def everybody(self) -> int:
        """Return all types as bits."""
        return (1 << len(self.types)) - 1

    def lines(self) -> list[str]:
        """Return the relations in words, as an assumption each."""
        out = [line for one in self.datasets for line in one.lines()]
        out += [f"no row is in two of {', '.join(group)}" for group in self.disjoint]
        out += [_parts_line(some, whole) for some, whole in self.parts]
        known = {name for one in self.datasets if one.names for name in (one.name, *one.names)}
        known |= {name for group in self._groups for name in group}
        free = [one.name for one in self.datasets if one.name not in known]
        out += [f"nothing is known of how {name} is related to the others" for name in free if len(self.datasets) > 1]
        if self.fewest:
            out.append("who left or came was not said: these are the fewest changes that the numbers of rows allow")
        if self.versions and len(self.datasets) > 2:
            out.append("who comes back counts as one who left and another who came")
        return out

    def stated_numbers(self, rows: Mapping[str, tuple[RowCount, str]]) -> list[StatedNumber]:
        """Return every number that is stated; `rows`: of data sets by what was published, with its source."""
        out = []
        for one in self.datasets:
            own = self.within(one.name)
            if one.rows is not None:
                out.append(StatedNumber(own, one.rows, f"{one.name} has {number_words(one.rows)}", one.name, True))
            if one.name in rows:
                found, source = rows[one.name]
                out.append(StatedNumber(own, found, source, one.name, True))
            if one.origin is not None and one.without is None:
                line, before = next(iter(one.lines())), self.within(one.origin)
                out.append(StatedNumber(before & ~own, one.removed or ANY, f"{line}: who left {one.origin}", one.name))
                out.append(StatedNumber(own & ~before, one.added or ANY, f"{line}: who came to {one.name}", one.name))
        return out

    def numbers(self, stated: Sequence[StatedNumber]) -> list[RowCount]:
        """Return between how many rows are of each type, by what is stated; raises `NumbersError`.

        What exact numbers determine together is solved for, then all are narrowed until nothing changes: sound, the
        narrowest where relations make a tree.
        """
        try:
            found = _determined(stated, len(self.types))
        except NumbersError as error:
            raise self._clash(error.sources, stated) from None
        exact = [one.source for one in stated if one.rows.exact]
        low, high = [found.get(t, 0) for t in range(len(self.types))], [found.get(t) for t in range(len(self.types))]
        why = [list(exact) if t in found else [] for t in range(len(self.types))]
        for _ in range(ROUNDS):
            changed = False
            for one in stated:
                at = [t for t in range(len(self.types)) if one.types >> t & 1]
                least, tops = sum(low[t] for t in at), [high[t] for t in at]
                most = None if None in tops else sum(h for h in tops if h is not None)
                over = one.rows.high is not None and least > one.rows.high
                if over or (most is not None and most < one.rows.low):
                    raise self._clash([*(w for t in at for w in why[t]), one.source], stated)
                for t in at:
                    if one.rows.high is not None:
                        top = one.rows.high - (least - low[t])
                        if (now := high[t]) is None or top < now:
                            high[t], changed = top, True
                            why[t].append(one.source)
                    others = [high[u] for u in at if u != t]
                    rest = None if None in others else sum(h for h in others if h is not None)
                    if rest is not None and one.rows.low - rest > low[t]:
                        low[t], changed = one.rows.low - rest, True
                        why[t].append(one.source)
            if not changed:
                break
        return [RowCount(a, b) for a, b in zip(low, high, strict=True)]

    def _clash(self, sources: Sequence[str], stated: Sequence[StatedNumber]) -> NumbersError:
        """Return what clashes, with the relations of the data sets in it."""
        about = {one.dataset for one in stated if one.source in sources}
        return NumbersError((*dict.fromkeys(sources), *self._relations_of(about)))

    def _relations_of(self, some: Set[str]) -> list[str]:
        """Return the relations of some data sets in words, but for numbers of who left or came."""
        near = [one for one in self.datasets if some & {one.name, *one.names}]
        plain = (one if one.without is not None else replace(one, origin=None) for one in near)
        out = [line for one in plain for line in one.lines()]
        some = {*some, *(name for one in near for name in (one.name, *one.names))}
        out += [f"no row is in two of {', '.join(group)}" for group in self.disjoint if some & set(group)]
        return out + [_parts_line(own, whole) for own, whole in self.parts if some & {*own, whole}]

    def with_rows(self, rows: Mapping[str, RowCount]) -> RelatedDataSets:
        """Return the data sets with numbers of rows that files declare, where they have none."""
        known = (replace(one, rows=rows.get(one.name)) if one.rows is None else one for one in self.datasets)
        return replace(self, datasets=tuple(known))

    def to_json(self) -> dict[str, Any]:
        """Return the two keys of a release file, without an empty one."""
        relations: list[dict[str, Any]] = [{"disjoint": list(group)} for group in self.disjoint]
        relations += [{"parts": list(some), "of": whole} for some, whole in self.parts]
        return {"datasets": [one.to_json() for one in self.datasets]} | ({"relations": relations} if relations else {})


def _determined(stated: Sequence[StatedNumber], types: int) -> dict[int, int]:
    """Return the numbers of rows of types that exact numbers of several leave one value; raises `NumbersError`."""
    sources = tuple(one.source for one in stated if one.rows.exact)
    rows = [
        [Fraction(one.types >> t & 1) for t in range(types)] + [Fraction(one.rows.low)]
        for one in dict.fromkeys(replace(o, source="", dataset="") for o in stated if o.rows.exact)
        if one.types or one.rows.low
    ]
    solved = list[list[Fraction]]()
    for t in range(types):
        pivot = next((row for row in rows if row[t]), None)
        if pivot is None:
            continue
        pivot = [x / pivot[t] for x in pivot]
        rows, solved = (
            [left for row in some if any(left := [a - row[t] * b for a, b in zip(row, pivot, strict=True)])]
            for some in (rows, solved)
        )
        solved.append(pivot)
    alone = {row.index(Fraction(1)): row[-1] for row in solved if sum(map(bool, row[:-1])) == 1}
    if rows or any(value < 0 or value.denominator > 1 for value in alone.values()):
        raise NumbersError(sources)
    return {t: int(value) for t, value in alone.items()}


def _parts_line(some: Sequence[str], whole: str) -> str:
    return f"every row of {whole} is in exactly one of {', '.join(some)}"


def total(numbers: Sequence[RowCount], types: int) -> RowCount:
    """Return between how many rows are of some types (bits)."""
    some = [one for t, one in enumerate(numbers) if types >> t & 1]
    tops = [one.high for one in some]
    return RowCount(sum(one.low for one in some), None if None in tops else sum(h for h in tops if h is not None))
