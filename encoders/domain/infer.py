"""A domain read off training data: bits, one-hot groups, thresholds, integers, decimal grids, categories.

Groups of binary columns that view one attribute, found by names and data together.

A wrong merge makes the domain too small and falsifies verdicts; a missed one only counts worlds that cannot
exist. So columns are grouped only where names and data agree, and what was assumed is said in a note.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from encoders.domain.patterns import (
    Pattern,
    bases,
    common_base,
    number_text,
    quoted,
    readings,
    span,
    suffix,
    value_names,
    values_of,
)
from encoders.domain.values import AnyAttribute, Categorical, Continuous, Grid, Test, Value, View, exact, is_number
from solvers.foundation.errors import ReleaseError

if TYPE_CHECKING:
    import pandas as pd

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


def _declared_group(data: Bitset, names: list[str]) -> ColumnGroup:
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


def _guess(data: Bitset, taken: set[int], notes: list[str]) -> list[ColumnGroup]:
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
            group = _exclusive(data, columns, base, notes) or _ordered_group(data, columns, base, notes)
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


def _ordered_group(data: Bitset, columns: list[int], base: str, notes: list[str]) -> ColumnGroup | None:
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


def _unique_names(groups: list[ColumnGroup], taken: set[str]) -> list[ColumnGroup]:
    """Return the groups with names that no column and no other group has."""
    out = []
    for group in groups:
        name = group.name
        while name in taken:
            name += " group"
        taken.add(name)
        out.append(group if name == group.name else group.renamed(name))
    return out


BIT = (0, 1)
MAX_DECIMALS = 30  # of the shortest texts of floats: beyond are numbers below 1e-13
FEW_VALUES, MANY_ROWS, SPREAD = 12, 20, 4  # numbers taken for codes: so few, in so many rows each, so far apart


@dataclass(frozen=True, slots=True)
class InferredDomain:
    """What a domain read off data is made of."""

    attributes: tuple[AnyAttribute, ...]
    label: AnyAttribute | None
    columns: dict[str, View]
    notes: tuple[str, ...]
    order: tuple[str, ...]


def plain_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with dates, times and `Decimal` numbers as a CSV of it has them: as texts and numbers.

    Databases and Parquet files have such columns. Columns of other values are left as they are, and so is the frame
    where there is none. Cost: linear in the cells.
    """
    import pandas as pd

    out = frame
    for i, dtype in enumerate(frame.dtypes):
        column = frame.iloc[:, i]
        made: Any
        if isinstance(dtype, pd.CategoricalDtype):
            plain = _plain_cells(column.cat.categories.to_series())
            made = None if plain is None else column.cat.rename_categories(plain.tolist())
        else:
            made = _plain_cells(column)
        if made is not None:
            out = frame.copy(deep=False) if out is frame else out
            out.isetitem(i, made)
    if out is not frame:
        out.attrs.update(frame.attrs)
    return out


def _plain_cells(column: pd.Series[Any]) -> pd.Series[Any] | None:
    """Return the cells of a column that are dates, times or `Decimal` numbers as a CSV has them; None for others."""
    import pandas as pd

    found = pd.api.types.infer_dtype(column, skipna=True)
    if found.startswith(("date", "time", "period")):
        return column.astype(str).astype(object).where(column.notna(), None)
    if found == "decimal":
        return column.map(lambda n: n if pd.isna(n) else int(n) if n.is_finite() and n % 1 == 0 else float(n))
    return None


def infer(
    df: pd.DataFrame,
    *,
    label: str | None = None,
    one_hot: Sequence[Sequence[str]] = (),
    strict: bool = False,
    independent: bool = False,
    grid: bool = False,
) -> InferredDomain:
    """Return what the rows of a frame suggest of a domain; `notes` say what was assumed, group by group.

    Binary columns become bits, or views of one attribute where names and data agree: exactly one or at most
    one is 1, nested thresholds, intervals of one ordered attribute, complementary pairs. Whole numbers become
    the integers of the observed range, decimals the coarsest decimal grid that holds all values as written (at
    most 30 decimals, else a continuous range), text its sorted values. A column with empty cells (NaN, None, empty
    text) becomes an attribute that may be missing. Every row of the frame is in the domain.

    `label`: the column that is the label, none if None. `one_hot`: groups of columns known to be one attribute.
    `strict`: only those are grouped. `independent`: every column is its own attribute, nothing is grouped. `grid`: a
    column of few numbers that are far apart can be any number between them as well, not those that occur alone.
    Cost: rows x (binary columns)^2, vectorised. Raises `ReleaseError` for an empty frame, doubled or unknown
    column names, infinite values, declared groups in which a row has two ones, and empty cells in the label, in a
    group of columns, or in every row of a column.
    """
    names, df = _names(df), plain_columns(df)
    target_name = None if label is None else str(label)
    declared = _declared(names, target_name, one_hot)
    columns: dict[str, AnyAttribute] = {}
    bits: dict[str, Bits] = {}
    empty: dict[str, int] = {}
    occurring: dict[str, list[Value]] = {}
    for k, name in enumerate(names):
        column = df.iloc[:, k]
        gaps = _empty(column)
        if gaps.any():
            empty[name], column = int(gaps.argmax()) + 1, column[~gaps]
            if name == target_name or not len(column):
                raise ReleaseError(f"column '{name}' has no value in row {empty[name]} (counted from 1)")
        distinct = _distinct(column, name, used_only=name == target_name)
        as_list = name == target_name or str(df.dtypes.iloc[k]) == "category"
        columns[name] = (
            _listed_attribute(name, distinct, name in empty)
            if as_list
            else _attribute(name, distinct, name in empty, len(column), grid)
        )
        if isinstance(columns[name], Categorical) and not (as_list or _binary(distinct)) and is_number(distinct[0]):
            occurring[name] = distinct
        if name != target_name and _binary(distinct):
            bits[name] = np.zeros(len(df), dtype=np.bool_)
            bits[name][~gaps] = column.to_numpy() == 1
    target = None if target_name is None else columns.pop(target_name)
    bitset = Bitset.of(list(bits), list(bits.values()), len(df))
    notes: list[str] = []
    groups: list[ColumnGroup] = []
    if independent:
        notes.append("every column is its own attribute, nothing is grouped: impossible worlds are counted too")
    else:
        groups = [_declared_group(bitset, group) for group in declared]
        taken = {c for group in groups for c in group.columns}
        if strict:
            notes.append("only declared one-hot groups are grouped; every other column is its own attribute")
        else:
            groups += _guess(bitset, taken, notes)
    _refuse_gaps(bitset, groups, empty)
    groups = _unique_names(sorted(groups, key=lambda g: min(g.columns)), set(names))
    notes = [group.note for group in groups] + notes + _column_notes(bitset, columns, occurring)
    attributes, views = _assemble(columns, bitset, groups)
    order = tuple(name for name in names if name != target_name)
    return InferredDomain(attributes, target, views, tuple(notes), order)


def _names(df: pd.DataFrame) -> list[str]:
    """Return the column names as text; `ReleaseError` for an empty frame or a name used twice."""
    names = [str(name) for name in df.columns]
    if not names or len(df) == 0:
        raise ReleaseError("the data are empty: a domain is read off at least one row and one column")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ReleaseError(f"the data have two columns named '{name}'")
        seen.add(name)
    return names


def _declared(names: list[str], label: str | None, one_hot: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the declared groups as text; `ReleaseError` for unknown, doubled or too few names."""
    if label is not None and label not in names:
        raise ReleaseError(f"the data have no column '{label}', which should be the label")
    groups: list[list[str]] = []
    seen: set[str] = set()
    for group in one_hot:
        if isinstance(group, str):
            raise ReleaseError(f"one_hot: a group is a list of column names, not the text {group!r}")
        columns = [str(name) for name in group]
        for name in columns:
            if name not in names:
                raise ReleaseError(f"one_hot: the data have no column '{name}'")
            if name == label:
                raise ReleaseError(f"one_hot: '{name}' is the label and cannot be in a group")
            if name in seen:
                raise ReleaseError(f"one_hot: column '{name}' is named twice")
            seen.add(name)
        if len(columns) < 2:
            raise ReleaseError(f"one_hot: the group {columns} needs at least two columns")
        groups.append(columns)
    return groups


def _empty(column: pd.Series[Any]) -> Bits:
    """Return which cells are NaN, None or empty text."""
    import pandas as pd

    empty = column.isna()
    if not pd.api.types.is_numeric_dtype(column.dtype):
        empty |= column.astype(object) == ""
    return empty.to_numpy(dtype=np.bool_)


def _refuse_gaps(data: Bitset, groups: list[ColumnGroup], empty: dict[str, int]) -> None:
    """Refuse empty cells in a group of columns: they would leave open which value of its attribute the row has."""
    for group in groups:
        for name in (data.names[c] for c in group.columns):
            if name in empty:
                others = quoted([data.names[c] for c in group.columns if data.names[c] != name])
                raise ReleaseError(
                    f"column '{name}' has no value in row {empty[name]} (counted from 1), and views one attribute "
                    f"with {others}: fill the cell, or let every column be its own attribute (`independent`)"
                )


def _distinct(column: pd.Series[Any], name: str, used_only: bool) -> list[Value]:
    """Return the distinct values of a column, numbers ascending, then text (ordered categories as declared).

    Categories that no row has are included unless `used_only`.
    """
    import pandas as pd

    kept = False
    if isinstance(column.dtype, pd.CategoricalDtype):
        used = set(column.unique().tolist())
        found: list[Any] = [v for v in column.cat.categories.tolist() if v in used or (not used_only and v != "")]
        kept = bool(column.cat.ordered)
    elif pd.api.types.is_numeric_dtype(column.dtype):
        found = np.unique(column.to_numpy()).tolist()
    else:
        found = list(dict.fromkeys(column.tolist()))
    values = [_value(v, name) for v in found]
    if kept and not all(is_number(v) for v in values):
        return values
    return sorted(dict.fromkeys(values), key=lambda v: (isinstance(v, str), v))


def _value(value: Any, name: str) -> Value:
    """Return a cell as a plain value: whole numbers and booleans as int, other numbers as float, or text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return str(value)
    if is_number(value):
        return value if isinstance(value, float) and not _is_whole(value) else int(value)
    if isinstance(value, float):
        raise ReleaseError(f"column '{name}' has the value {value}, which is not finite")
    raise ReleaseError(f"column '{name}' has the value {value!r}: neither a number, a boolean nor text")


def _is_whole(value: float) -> bool:
    """Return whether a float is an integer that floats tell apart from its neighbours."""
    return value.is_integer() and abs(value) < 1 << 53


def _binary(distinct: list[Value]) -> bool:
    """Return whether all values are the numbers 0 and 1 (text "0" is not)."""
    return bool(distinct) and all(is_number(v) and v in BIT for v in distinct)


def _listed_attribute(name: str, distinct: list[Value], missing: bool) -> Categorical:
    """Return the listed attribute of the values; (0, 1) where all of them are bits."""
    return Categorical(name, BIT if _binary(distinct) else tuple(distinct), missing=missing)


def _attribute(name: str, distinct: list[Value], missing: bool, rows: int, grid: bool) -> AnyAttribute:
    """Return the attribute of one column of its own: a bit, integers, a decimal grid, a range or a list.

    Few numbers, far apart, in many rows are codes: the values that occur, and none between them, if not `grid`.
    """
    if _binary(distinct) or not all(is_number(v) for v in distinct):
        return _listed_attribute(name, distinct, missing)
    decimals = _decimals(distinct)
    low, high = distinct[0], distinct[-1]
    least = 3 if decimals == 0 else 2
    few = not grid and least <= len(distinct) <= FEW_VALUES and rows >= MANY_ROWS * len(distinct)
    if few and decimals <= MAX_DECIMALS and (high - low) * 10**decimals >= SPREAD * len(distinct):  # type: ignore[operator]
        return Categorical(name, tuple(distinct), missing=missing)
    if decimals <= MAX_DECIMALS:
        return Grid.between(name, low, high, float(f"1e-{decimals}") if decimals else 1, missing)
    if low == high:
        return Categorical(name, (low,), missing=missing)
    return Continuous(name, exact(low), exact(high), missing=missing)


def _decimals(values: list[Value]) -> int:
    """Return how many decimals the numbers need as written; one more than allowed when they need too many."""
    maximum = 0
    for v in values:
        if isinstance(v, float) and not v.is_integer():
            exponent = Decimal(repr(v)).as_tuple().exponent
            maximum = max(maximum, -exponent if isinstance(exponent, int) else 0)
            if maximum > MAX_DECIMALS:
                return MAX_DECIMALS + 1
    return maximum


def _assemble(
    columns: dict[str, AnyAttribute], data: Bitset, groups: list[ColumnGroup]
) -> tuple[tuple[AnyAttribute, ...], dict[str, View]]:
    """Return attributes (a group stands where its first column stood) and the views of grouped columns."""
    group_of = {data.names[c]: group for group in groups for c in group.columns}
    ones = {data.names[c]: v for group in groups for c, v in zip(group.columns, group.ones, strict=True)}
    attributes: list[AnyAttribute] = []
    views: dict[str, View] = {}
    done: set[str] = set()
    for name, attribute in columns.items():
        group = group_of.get(name)
        if group is None:
            attributes.append(attribute)
            continue
        if group.name not in done:
            attributes.append(Categorical(group.name, group.values))
            done.add(group.name)
        views[name] = View(group.name, Test(values=ones[name]))
    return tuple(attributes), views


def _column_notes(data: Bitset, columns: dict[str, AnyAttribute], occurring: Collection[str]) -> list[str]:
    """Return what is assumed about columns of their own: constants, observed ranges, resolutions, categories."""
    notes = []
    constant = [name for c, name in enumerate(data.names) if data.constant(c) and not columns[name].missing]
    if constant:
        notes.append(f"columns {quoted(constant)} are the same in every row; both 0 and 1 are taken as possible")
    for name, a in columns.items():
        if isinstance(a, Grid):
            kind = "the integers" if a.step == 1 else f"the numbers in steps of {float(a.step):g}"
            notes.append(
                f"column '{name}' can be {kind} from {number_text(a.minimum)} to {number_text(a.maximum)}, as observed"
            )
        elif isinstance(a, Continuous):
            notes.append(f"column '{name}' needs more than {MAX_DECIMALS} decimals: continuous, {a.values_text()}")
        elif name in occurring:
            text = "taken for codes, none between them (recon domain --grid takes all numbers between)"
            notes.append(f"column '{name}' can be the {len(a.values)} numbers that occur, {text}")
        elif isinstance(a, Categorical) and a.values != BIT:
            notes.append(f"column '{name}' can be {a.values_text()} ({len(a.values)} in all), no other")
    if gaps := [name for name, a in columns.items() if a.missing]:
        notes.append(f"columns {quoted(gaps)} have empty cells: missing is one more value of each")
    return notes
