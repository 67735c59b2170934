"""Groups of binary columns that view one attribute, found by names and data together.

A wrong merge makes the domain too small and falsifies verdicts; a missed one only counts worlds that cannot
exist. So columns are grouped only where names and data agree, and what was assumed is said in a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from encoders.domain.patterns import (
    Pattern,
    bases,
    common_base,
    quoted,
    readings,
    span,
    suffix,
    value_names,
    values_of,
)
from solvers.foundation.errors import ReleaseError

Bits = npt.NDArray[np.bool_]

SURPRISING = 10.0  # expected contradictions under independence before their absence counts as evidence
BOTH_VALUES = 10  # how often both values must occur before unrelated names are taken for a complementary pair


@dataclass(frozen=True)
class ColumnGroup:
    """Columns (by index) that view one attribute: its values, and per column the values where it is 1."""

    columns: tuple[int, ...]
    name: str
    values: tuple[str, ...]
    ones: tuple[tuple[str, ...], ...]
    note: str

    def renamed(self, name: str) -> ColumnGroup:
        """Return the group under another attribute name, also in its note."""
        return replace(self, name=name, note=self.note.replace(f"attribute '{self.name}'", f"attribute '{name}'"))


@dataclass(frozen=True)
class Bitset:
    """The binary columns of a frame: names, values (rows x columns) and how often two are 1 together."""

    names: tuple[str, ...]
    bits: Bits
    together: npt.NDArray[np.int64]

    @classmethod
    def of(cls, names: Sequence[str], columns: Sequence[Bits], rows: int) -> Bitset:
        """Return the columns with their co-occurrence counts (cost rows x columns^2, vectorised)."""
        bits = np.column_stack(columns) if columns else np.zeros((rows, 0), dtype=np.bool_)
        together = np.zeros((len(names), len(names)), dtype=np.int64)
        for start in range(0, rows, 1 << 16):  # float32 counts exactly below 2^24 and multiplies fast
            block = bits[start : start + (1 << 16)].astype(np.float32)
            together += (block.T @ block).astype(np.int64)
        return cls(tuple(names), bits, together)

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return int(self.bits.shape[0])

    def count(self, column: int) -> int:
        """Return how often a column is 1."""
        return int(self.together[column, column])

    def constant(self, column: int) -> bool:
        """Return whether a column is always 0 or always 1."""
        return self.count(column) in {0, self.rows}

    def exclusive(self, columns: Sequence[int]) -> bool:
        """Return whether no two of the columns are 1 in the same row."""
        part = self.together[list(columns)][:, list(columns)]
        return int(part.sum()) == int(part.trace())

    def overlaps_expected(self, columns: Sequence[int]) -> float:
        """Return how many co-occurring pairs independent columns would have: the sum of n * p_i * p_j."""
        ones = self.together.diagonal()[list(columns)].astype(float)
        return float((ones.sum() ** 2 - (ones**2).sum()) / 2 / self.rows)

    def patterns(self, columns: Sequence[int]) -> set[Pattern]:
        """Return the distinct rows of the columns."""
        packed = np.ascontiguousarray(np.packbits(self.bits[:, list(columns)], axis=1))
        _, first = np.unique(packed.view(f"V{packed.shape[1]}").ravel(), return_index=True)
        return {tuple(row) for row in self.bits[first][:, list(columns)].tolist()}

    def impossible_expected(self, columns: Sequence[int], allowed: set[Pattern]) -> float:
        """Return how often independent columns would show a pair of bits that no allowed pattern has."""
        table = np.array(sorted(allowed), dtype=float)
        share = self.together.diagonal()[list(columns)] / self.rows
        total = 0.0
        for a, p in ((table, share), (1 - table, 1 - share)):
            for b, q in ((table, share), (1 - table, 1 - share)):
                total += float(np.triu((a.T @ b == 0) * np.outer(p, q), 1).sum())
        return total * self.rows


def _one_hot(data: Bitset, columns: Sequence[int], base: str, reason: str) -> ColumnGroup:
    """Return the categorical attribute of columns that exclude each other, with "none" where some row needs it."""
    names = [data.names[c] for c in columns]
    values = value_names(names, base)
    always = sum(data.count(c) for c in columns) == data.rows
    name = base or "/".join(names if len(names) <= 3 else [names[0], "...", names[-1]])
    ones = tuple((v,) for v in values)
    how = f"exactly one of them is 1 in every one of the {data.rows:,} rows"
    if not always:
        none = next(v for v in ("none", "none of these", " or ".join(names)) if v not in values)
        values, how = (*values, none), f"at most one of them is 1 (else the value '{none}')"
    note = f"columns {quoted(names)} are one attribute '{name}': {how}{reason}"
    return ColumnGroup(tuple(columns), name, values, ones, note)


def declared_group(data: Bitset, names: list[str]) -> ColumnGroup:
    """Return a declared group; `ReleaseError` where a column is not binary or a row has two ones."""
    for name in names:
        if name not in data.names:
            raise ReleaseError(f"one_hot: column '{name}' is not binary (0 and 1)")
    columns = [data.names.index(name) for name in names]
    twice = data.bits[:, columns].sum(axis=1) > 1
    if twice.any():
        row = int(twice.argmax())
        both = [data.names[c] for c in columns if data.bits[row, c]]
        raise ReleaseError(f"one_hot: row {row + 1} (counted from 1) has {quoted(both)} all 1, in one group")
    return _one_hot(data, columns, common_base(names), ", as declared")


def guess(data: Bitset, taken: set[int], notes: list[str]) -> list[ColumnGroup]:
    """Return the groups that names and data agree on, the largest first; adds what was refused to the notes."""
    free = [c for c in range(len(data.names)) if c not in taken]
    groups: list[ColumnGroup] = []
    found: set[int] = set()
    for base, columns in _candidates([(c, data.names[c]) for c in free]):
        if found.isdisjoint(columns):
            varying = [data.names[c] for c in columns if not data.constant(c)]
            if len(varying) < 2 and not _thresholds(data, columns, base):
                continue  # constant columns show nothing
            if len(varying) > 1 and common_base(varying) != base:
                continue  # only constant columns need this short prefix
            group = _exclusive(data, columns, base, notes) or _ordered(data, columns, base, notes)
            group = group or _nested(data, columns, base)
            if group is not None:
                groups.append(group)
                found.update(group.columns)
    return groups + _pairs(data, [c for c in free if c not in found])


def _candidates(columns: list[tuple[int, str]]) -> Iterator[tuple[str, list[int]]]:
    """Yield (prefix, columns that share it), large groups first, equal groups once under their longest prefix."""
    by_base: dict[str, list[int]] = {}
    for c, name in columns:
        for base in bases(name):
            by_base.setdefault(base, []).append(c)
    longest: dict[tuple[int, ...], str] = {}
    for base, members in by_base.items():
        key = tuple(members)
        if len(members) > 1 and len(base) > len(longest.get(key, "")):
            longest[key] = base
    for key in sorted(longest, key=lambda k: (-len(k), k)):
        yield longest[key], list(key)


def _thresholds(data: Bitset, columns: Sequence[int], base: str) -> bool:
    """Return whether all names are numeric tests and one of them has an operator."""
    spans = [span(suffix(data.names[c], base)) for c in columns]
    return all(spans) and any(s is not None and s.one_sided for s in spans)


def _exclusive(data: Bitset, columns: list[int], base: str, notes: list[str]) -> ColumnGroup | None:
    """Return the one-hot group, None if two columns meet or too few rows speak for "at most one"."""
    if not data.exclusive(columns) or sum(data.count(c) > 0 for c in columns) < 2:
        return None
    expected = data.overlaps_expected(columns)
    if sum(data.count(c) for c in columns) != data.rows and (len(columns) < 3 or expected < SURPRISING):
        if len(columns) > 2 and not _thresholds(data, columns, base):
            names = quoted([data.names[c] for c in columns])
            notes.append(f"columns {names} are never 1 together, but too few rows show it: they stay bits")
        return None
    spans = [span(suffix(data.names[c], base)) for c in columns]
    if all(spans):
        key = {
            c: (s.low is not None, s.low or 0, s.low_open, s.high or 0)
            for c, s in zip(columns, spans, strict=True)
            if s
        }
        columns = sorted(columns, key=lambda c: key[c])
    chance = "" if expected >= SURPRISING else f"; with {data.rows} rows this may be chance: use `strict` if it is"
    return _one_hot(data, columns, base, f" (independent columns would meet {expected:,.0f} times){chance}")


def _ordered(data: Bitset, columns: list[int], base: str, notes: list[str]) -> ColumnGroup | None:
    """Return the ordered attribute whose intervals the columns are, None if names and data do not show one.

    Thresholds (`<25`, `>=30`) are believed as soon as every row agrees with them; intervals without any
    threshold, and names that fit only when a threshold is mirrored, need surprising agreement as well.
    """
    names = [data.names[c] for c in columns]
    spans = [s for s in (span(suffix(name, base)) for name in names) if s is not None]
    if len(spans) < len(columns) or (len(columns) < 3 and data.exclusive(columns)):
        return None
    if all(s.low == s.high for s in spans):
        return None  # single numbers exclude each other: a one-hot group or no group
    seen = data.patterns(columns)
    explicit = any(s.one_sided for s in spans)
    for line, tests, mirrored in readings(spans):
        regions = line.regions(tests)
        allowed = {pattern for _, _, pattern in regions}
        sure = explicit and not mirrored
        if seen <= allowed and (sure or data.impossible_expected(columns, allowed) >= SURPRISING):
            values = values_of(line, regions, seen)
            ones = tuple(tuple(v for v, p in values if p[i]) for i in range(len(columns)))
            note = f"columns {quoted(names)} are tests on one ordered attribute '{base}' with {len(values)} values"
            note += f": all {data.rows:,} rows agree with such an order"
            unseen = [v for v, p in values if p not in seen]
            note += f"; no row has {quoted(unseen)}, which the names allow" if unseen else ""
            wrong = quoted([names[i] for i in mirrored])
            note += f"; the data contradict the names {wrong}, which are read the other way round" if mirrored else ""
            return ColumnGroup(tuple(columns), base, tuple(v for v, _ in values), ones, note)
    if explicit:
        notes.append(
            f"columns {quoted(names)} are named like tests on one attribute '{base}', "
            "but names and data do not agree: they are not grouped by their order"
        )
    return None


def _nested(data: Bitset, columns: list[int], base: str) -> ColumnGroup | None:
    """Return the chain c1 > c2 > ... as an ordered attribute, None if a link is broken or could be chance."""
    chain = sorted(columns, key=lambda c: -data.count(c))
    for outer, inner in pairwise(chain):
        inside = data.count(inner)
        chance = inside * (data.rows - data.count(outer)) / data.rows
        if data.together[outer, inner] != inside or inside == data.count(outer) or chance < SURPRISING:
            return None
    names = [data.names[c] for c in chain]
    short = value_names(names, base)
    values = tuple("+".join(short[:k]) or "none" for k in range(len(chain) + 1))
    if len(set(values)) < len(values):
        values = ("none of these", *values[1:])
    ones = {c: values[k + 1 :] for k, c in enumerate(chain)}
    note = f"columns {quoted(names)} are nested steps of one attribute '{base}': each is 1 only where the one before is"
    return ColumnGroup(tuple(columns), base, values, tuple(ones[c] for c in columns), note)


def _pairs(data: Bitset, columns: list[int]) -> list[ColumnGroup]:
    """Return complementary pairs among columns without a common group, both values seen at least 10 times."""
    out: list[ColumnGroup] = []
    free = [c for c in columns if BOTH_VALUES <= data.count(c) <= data.rows - BOTH_VALUES]
    ones = data.together.diagonal()
    found: set[int] = set()
    for k, a in enumerate(free):
        rest = np.array(free[k + 1 :], dtype=np.intp)
        partners = rest[(data.together[a, rest] == 0) & (ones[a] + ones[rest] == data.rows)]
        partner = next((int(b) for b in partners if int(b) not in found), None)
        if a not in found and partner is not None:
            found.update((a, partner))
            group = _one_hot(data, (a, partner), "", ", and both values are frequent")
            out.append(group)
    return out


def unique_names(groups: list[ColumnGroup], taken: set[str]) -> list[ColumnGroup]:
    """Return the groups with names that no column and no other group has."""
    out = []
    for group in groups:
        name = group.name
        while name in taken:
            name += " group"
        taken.add(name)
        out.append(group if name == group.name else group.renamed(name))
    return out
