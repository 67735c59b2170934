"""A domain read off training data: bits, one-hot groups, thresholds, integers, decimal grids, categories."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.domain.groups import Bits, Bitset, ColumnGroup, declared_group, guess, unique_names
from encoders.domain.patterns import quoted, shown
from encoders.domain.values import AnyAttribute, Continuous, Grid, Listed, Test, Value, exact, is_number
from encoders.domain.views import View
from solvers.foundation.errors import ReleaseError

if TYPE_CHECKING:
    import pandas as pd

BIT = (0, 1)
MAX_DECIMALS = 6
FEW_VALUES, MANY_ROWS, SPREAD = 12, 20, 4  # numbers taken for codes: so few, in so many rows each, so far apart


@dataclass(frozen=True, slots=True)
class InferredDomain:
    """What a domain read off data is made of."""

    attributes: tuple[AnyAttribute, ...]
    label: AnyAttribute | None
    columns: dict[str, View]
    notes: tuple[str, ...]
    order: tuple[str, ...]


def infer(
    df: pd.DataFrame,
    *,
    label: str | None = None,
    one_hot: Sequence[Sequence[str]] = (),
    strict: bool = False,
    independent: bool = False,
) -> InferredDomain:
    """Return what the rows of a frame suggest of a domain; `notes` say what was assumed, group by group.

    Binary columns become bits, or views of one attribute where names and data agree: exactly one or at most
    one is 1, nested thresholds, intervals of one ordered attribute, complementary pairs. Whole numbers become
    the integers of the observed range, decimals the coarsest decimal grid that holds all values as written (at
    most 6 decimals, else a continuous range), text its sorted values. A column with empty cells (NaN, None, empty
    text) becomes an attribute that may be missing. Every row of the frame is in the domain.

    `label`: the column that is the label, none if None. `one_hot`: groups of columns known to be one attribute.
    `strict`: only those are grouped. `independent`: every column is its own attribute, nothing is grouped.
    Cost: rows x (binary columns)^2, vectorised. Raises `ReleaseError` for an empty frame, doubled or unknown
    column names, infinite values, declared groups in which a row has two ones, and empty cells in the label, in a
    group of columns, or in every row of a column.
    """
    names = _names(df)
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
            _listed(name, distinct, name in empty)
            if as_list
            else _attribute(name, distinct, name in empty, len(column))
        )
        if isinstance(columns[name], Listed) and len(distinct) > 2 and not as_list and is_number(distinct[0]):
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
        groups = [declared_group(bitset, group) for group in declared]
        taken = {c for group in groups for c in group.columns}
        if strict:
            notes.append("only declared one-hot groups are grouped; every other column is its own attribute")
        else:
            groups += guess(bitset, taken, notes)
    _refuse_gaps(bitset, groups, empty)
    groups = unique_names(sorted(groups, key=lambda g: min(g.columns)), set(names))
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


def _listed(name: str, distinct: list[Value], missing: bool) -> Listed:
    """Return the listed attribute of the values; (0, 1) where all of them are bits."""
    return Listed(name, BIT if _binary(distinct) else tuple(distinct), missing=missing)


def _attribute(name: str, distinct: list[Value], missing: bool, rows: int) -> AnyAttribute:
    """Return the attribute of one column of its own: a bit, integers, a decimal grid, a range or a list.

    Few numbers, far apart, in many rows are codes: the values that occur, and none between them.
    """
    if _binary(distinct) or not all(is_number(v) for v in distinct):
        return _listed(name, distinct, missing)
    decimals = _decimals(distinct)
    low, high = distinct[0], distinct[-1]
    few = 2 < len(distinct) <= FEW_VALUES and rows >= MANY_ROWS * len(distinct)
    if few and decimals <= MAX_DECIMALS and (high - low) * 10**decimals >= SPREAD * len(distinct):  # type: ignore[operator]
        return Listed(name, tuple(distinct), missing=missing)
    if decimals <= MAX_DECIMALS:
        return Grid.between(name, low, high, float(f"1e-{decimals}") if decimals else 1, missing)
    if low == high:
        return Listed(name, (low,), missing=missing)
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
            attributes.append(Listed(group.name, group.values))
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
            notes.append(f"column '{name}' can be {kind} from {shown(a.minimum)} to {shown(a.maximum)}, as observed")
        elif isinstance(a, Continuous):
            notes.append(f"column '{name}' needs more than {MAX_DECIMALS} decimals: continuous, {a.values_text()}")
        elif name in occurring:
            text = "taken for codes, none between them (declare min and max to take all numbers between)"
            notes.append(f"column '{name}' can be the {len(a.values)} numbers that occur, {text}")
        elif isinstance(a, Listed) and a.values != BIT:
            notes.append(f"column '{name}' can be {a.values_text()} ({len(a.values)} in all), no other")
    if gaps := [name for name, a in columns.items() if a.missing]:
        notes.append(f"columns {quoted(gaps)} have empty cells: missing is one more value of each")
    return notes
