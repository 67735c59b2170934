"""Profiles, conditions and data frames turned into selections of rows and raw value indices.

A column of a frame is an attribute, the label, or a binary view of an attribute; several views of one attribute
are intersected. Text from a CSV file is matched with the declared values, then read as a number. An empty cell of a
profile is open; of an attribute that may be missing, the cell "missing" asks for that, and of whole rows the empty one.

How much of every part of an attribute some ranges of positions hold.

Cells that no row of the domain can have, each told with its row, its column and why.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import GUESSED, Condition, Domain
from encoders.domain.infer import plain_columns
from encoders.domain.values import (
    MISSING,
    AnyAttribute,
    Categorical,
    Continuous,
    Grid,
    Ranges,
    Test,
    Value,
    from_text,
    intersection,
)
from encoders.encode.encoder import EncodedRelease, untested
from encoders.encode.typed_rows import column_of
from encoders.parts.base import CutDomain
from recon.io.files.opening import current
from recon.io.files.tables import read_parquet, reading, text_columns, without_row_numbers
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits
from solvers.statements.questions.query import Selections

if TYPE_CHECKING:
    import pandas as pd

DOUBT = "the domain is a guess from the model file: declare it (--domain)"
SHOWN = 20


@dataclass(frozen=True, slots=True)
class Odd:
    """A cell (or cells of one attribute that contradict each other): its row from 0, its column, and what is wrong."""

    row: int
    column: str
    value: Any
    why: str

    def __str__(self) -> str:
        return f"{self.place}: {self.why}"

    @property
    def place(self) -> str:
        """Return where it stands, rows counted from 1."""
        return f"row {self.row + 1}, column {self.column}" if self.column else f"row {self.row + 1}"


def doubt(domain: Domain) -> str:
    """Return what else may be wrong with a value that does not fit: a guessed domain."""
    return f"; {DOUBT}" if domain.source == GUESSED else ""


def odd_lines(odd: Sequence[Odd]) -> list[str]:
    """Return a line per cell, at most `SHOWN`, and how many more there are."""
    more = [f"and {len(odd) - SHOWN:,} more"] if len(odd) > SHOWN else []
    return [*map(str, odd[:SHOWN]), *more]


def refusal(odd: Sequence[Odd], domain: Domain, file: str) -> ReleaseError:
    """Return the refusal of a table with such cells: it lists them."""
    if len(odd) == 1:
        return ReleaseError(odd[0].why + doubt(domain), place=odd[0].place, file=file)
    listed = "; ".join(odd_lines(odd))
    return ReleaseError(f"{len(odd):,} cells lie outside the domain: {listed}{doubt(domain)}", file=file)


def _part_sizes(cut: CutDomain, k: int, ranges: Ranges) -> tuple[int, ...]:
    """Return how many values of each part of attribute k the ranges hold.

    A single number of a continuous attribute has no length; it counts as one unit of its part, so that "in
    some world" stays right while shares are not given.
    """
    cuts = cut.cuts[k]
    if isinstance(cuts.attribute, Continuous):
        return _continuous_sizes(cut, k, ranges)
    sizes = [0] * len(cuts.sizes)
    for start, end in ranges:
        for part in range(cuts.part(start), cuts.part(end - 1) + 1):
            low, high = cuts.bounds(part)
            sizes[part] += int(min(end, high) - max(start, low)) * (1 if cuts.weights is None else cuts.weights[part])
    return tuple(sizes)


def _continuous_sizes(cut: CutDomain, k: int, ranges: Ranges) -> tuple[int, ...]:
    """Return the scaled lengths of the ranges inside each part: 1 or more where touched, all only where whole."""
    cuts = cut.cuts[k]
    (first, _), (last, side) = cuts.attribute.span
    bounded = isinstance(cuts.attribute, Continuous) and cuts.attribute.bounded  # without an end there is no length
    whole = last - first if bounded else 0
    scale = sum(cuts.sizes) / (whole * (2 if side == 2 else 1)) if whole else 0  # "missing" weighs as much
    sizes = [0] * len(cuts.sizes)
    for start, end in ranges:
        for part in range(cuts.part(start), min(cuts.part(end), len(sizes) - 1) + 1):
            low, high = cuts.bounds(part)
            a, b = max(start, low), min(end, high)
            if (a, b) == (low, high):
                sizes[part] = cuts.sizes[part]
            elif a < b:
                gaps = (b[1] == 2) - (a[1] == 2)
                length = max(1, int((b[0] - a[0] + gaps * whole) * scale)) if bounded else 1
                sizes[part] = min(cuts.sizes[part] - 1, sizes[part] + length)
    return tuple(sizes)


NAMES_SHOWN = 8
TRUTHS = {"True": "1", "False": "0", "TRUE": "1", "FALSE": "0", "true": "1", "false": "0", "": ""}


def read_table(path: str, limits: Limits | None = None) -> pd.DataFrame:
    """Return a table (CSV, spreadsheet or .parquet) as a frame; texts are matched with the domain later.

    Raises `ReleaseError` when the file is missing, empty, no table or too large for the memory, `Inconclusive` where
    the time is up (`limits`, beside the budget that it draws on). A gzip-compressed CSV is read as such.
    """
    import pandas as pd

    with reading(path, limits):
        if path.lower().endswith(".parquet"):
            frame = plain_columns(read_parquet(path))
        else:
            texts = text_columns(path)
            frame = pd.DataFrame({n: np.array(c, dtype=object) for n, c in texts.items()})
    frame.attrs.update(text=not path.lower().endswith(".parquet"), file=path)
    return without_row_numbers(frame)


def numbers_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with text columns turned into numbers where every cell is one; True and False are bits."""
    import pandas as pd

    if not frame.attrs.get("text"):
        return frame
    out: dict[str, pd.Series[Any]] = {}
    for name in frame.columns:
        cells = frame[name]
        if set(cells.unique()) <= TRUTHS.keys() and set(cells.unique()) != {""}:
            cells = cells.map(TRUTHS)
        try:
            out[name] = pd.to_numeric(cells)
        except ValueError:
            out[name] = cells.where(cells != "")
    return pd.DataFrame(out)


def missing(value: object) -> bool:
    """Return whether a cell is empty: None, NaN or empty text."""
    import pandas as pd

    return value is None or value is pd.NA or value == "" or (isinstance(value, float) and math.isnan(value))


def whole_rows(frame: pd.DataFrame, domain: Domain) -> pd.DataFrame:
    """Return a frame of whole rows with "missing" in the empty cells of attributes that may be missing."""
    gaps = {a.name for a in domain.all if a.missing}
    columns = [i for i, name in enumerate(frame.columns) if str(name) in gaps]
    out = frame.copy(deep=False) if columns else frame
    for i in columns:
        cells = frame.iloc[:, i].astype(object)
        empty = cells.isna() | (cells == "")
        if empty.any():
            out.isetitem(i, cells.where(~empty, MISSING).to_numpy())
    return out


def one_of(domain: Domain, name: str, values: Sequence[Value]) -> Test:
    """Return the test for some values of a column; "missing" is one where the attribute may be missing."""
    k = domain.place.get(name)
    if k is None or not domain.all[k].missing:
        return Test(values=tuple(values))
    given = tuple(v for v in values if v != MISSING)
    return Test(values=given, missing=len(given) < len(values))


def columns_by_attribute(frame: pd.DataFrame, domain: Domain) -> dict[int, list[int]]:
    """Return, per attribute index, the positions of the frame's columns that speak about it.

    Raises `ReleaseError` for a name the domain does not have, or one that stands twice.
    """
    found: dict[int, list[int]] = {}
    seen: set[str] = set()
    for i, raw in enumerate(frame.columns):
        name = str(raw)
        if name in seen:
            raise ReleaseError(f"the column '{name}' stands twice")
        seen.add(name)
        if name in domain.place:
            found.setdefault(domain.place[name], []).append(i)
        elif name in domain.columns:
            found.setdefault(domain.view_ranges(name)[0], []).append(i)
        else:
            hint = _label_hint(frame, domain, name)
            message = f"'{name}' is neither an attribute nor a column of the domain ({_names_of(domain)}){hint}"
            raise ReleaseError(message)
    return found


def _label_hint(frame: pd.DataFrame, domain: Domain, name: str) -> str:
    """Return what to say of an unknown column of a frame without the label: that it, or another, may be the label."""
    names = [str(raw) for raw in frame.columns]
    if domain.label is None or domain.label.name in names:
        return ""
    if len(names) > 1 and not any(one in domain.place or one in domain.columns for one in names):
        return "; none of the columns is: if one is the label, say which (--label NAME)"
    return f"; if it is the label, say so (--label '{name}')"


def _names_of(domain: Domain) -> str:
    """Return which label and columns a domain has, for the refusal of another name."""
    label = "" if domain.label is None else f"its label is '{domain.label.name}'; "
    others = [f"'{n}'" for n in (*(a.name for a in domain.attributes), *domain.columns)]
    return f"{label}its columns are {', '.join(others[:NAMES_SHOWN])}{', ...' if len(others) > NAMES_SHOWN else ''}"


def cell_ranges(domain: Domain, name: str, value: Any, text: bool) -> tuple[int, Ranges]:
    """Return the attribute and the positions that one cell of a frame allows."""
    plain = value.item() if isinstance(value, np.generic) else value
    k = domain.place.get(name)
    if isinstance(plain, str) and text:
        plain = from_text(plain, domain.all[k] if k is not None else Categorical(name, (0, 1)))
    wanted = one_of(domain, name, (plain,))
    if k is not None and isinstance(domain.all[k], Continuous) and not wanted.missing:
        return k, (domain.all[k].point(plain),)
    return domain.ranges(name, wanted)


def frame_ranges(
    frame: pd.DataFrame, domain: Domain, untested: Collection[int] = (), odd: list[Odd] | None = None
) -> dict[int, tuple[NDArray[np.int64], list[Ranges]]]:
    """Return, per attribute that the frame speaks about, a code per row and the positions of each code.

    A missing cell constrains nothing; `untested` attributes take any value. Values outside the domain, and columns that
    contradict each other, go into `odd` (such cells then constrain nothing); without it, `ReleaseError` lists them.
    Cost: linear in cells.
    """
    out: dict[int, tuple[NDArray[np.int64], list[Ranges]]] = {}
    frame = frame if frame.attrs.get("text") else plain_columns(frame)
    found, file = list[Odd](), frame.attrs.get("file", "")
    try:
        for k, columns in columns_by_attribute(frame, domain).items():
            out[k] = _attribute_ranges(frame, domain, k, columns, k in untested, found)
    except ReleaseError as error:
        raise ReleaseError(error.message + doubt(domain), place=error.place, file=file) from None
    found.sort(key=lambda one: one.row)
    if found and odd is None:
        raise refusal(found, domain, file)
    if odd is not None:
        odd += found
    return out


def _attribute_ranges(
    frame: pd.DataFrame, domain: Domain, k: int, columns: list[int], untested: bool, odd: list[Odd]
) -> tuple[NDArray[np.int64], list[Ranges]]:
    """Return a code per row and the positions of each code, for one attribute; see `frame_ranges`. `odd` grows."""
    text = bool(frame.attrs.get("text"))
    names = [str(frame.columns[i]) for i in columns]
    current().check()
    if len(columns) == 1 and names[0] in domain.place:
        indices = _whole_numbers(frame.iloc[:, columns[0]], domain.all[k], text)
        if indices is not None:
            values, back = np.unique(indices, return_inverse=True)
            return back.reshape(-1), [((i, i + 1),) for i in values.tolist()]
    coded = [distinct_cells(frame, i) for i in columns]
    stacked = np.stack([codes for codes, _ in coded], axis=1)
    distinct, back = np.unique(stacked, axis=0, return_inverse=True)
    every: list[Ranges] = []
    wrong: dict[int, list[tuple[str, Any, str]]] = {}
    for code, combination in enumerate(distinct.tolist()):
        cells = [None if c < 0 else values[c] for c, (_, values) in zip(combination, coded, strict=True)]
        found = _combined(domain, k, names, cells, text)
        if isinstance(found, list) and not untested:
            wrong[code] = found
            every.append((domain.all[k].span,))
        else:  # of untested ones: one value among others, no statement tells them apart
            every.append(((0, 1),) if isinstance(found, list) else found)
    back = back.reshape(-1)
    if wrong:
        rows = np.flatnonzero(np.isin(back, list(wrong))).tolist()
        odd += [Odd(row, *one) for row in rows for one in wrong[int(back[row])]]
    return back, every


def _whole_numbers(column: pd.Series[Any], attribute: AnyAttribute, text: bool) -> NDArray[np.int64] | None:
    """Return the indices of an integer column on an integer attribute, all inside its range, else None.

    The quick path for columns with very many distinct values; whatever is unusual takes the careful one.
    """
    import pandas as pd

    if not isinstance(attribute, Grid) or attribute.step != 1 or attribute.count > 1 << 62:
        return None
    if not len(column) or column.isna().any():
        return None
    if not pd.api.types.is_integer_dtype(column.dtype):
        kind = pd.api.types.infer_dtype(column)
        if kind != "integer" and not (text and kind == "string" and column.str.fullmatch(r"-?[0-9]{1,18}").all()):
            return None
        try:
            column = column.astype(np.int64)
        except OverflowError:
            return None
    values = column.to_numpy()
    if values.dtype.kind != "i":
        return None
    low, high = int(attribute.minimum), int(attribute.maximum)
    if int(values.min()) < low or int(values.max()) > high:
        return None
    return values.astype(np.int64) - low


def distinct_cells(frame: pd.DataFrame, i: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return a code per row (-1: missing) and the distinct cells; `ReleaseError` for lists and tests."""
    import pandas as pd

    column = frame.iloc[:, i]
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":  # no object per row
        codes, values = pd.factorize(column.to_numpy(), use_na_sentinel=True)
        return codes, values.astype(object)
    cells = column.to_numpy(dtype=object)
    try:
        codes, values = pd.factorize(cells, use_na_sentinel=True)
    except TypeError:
        row = next(r for r, c in enumerate(cells) if not isinstance(c, Hashable))
        message = f"{cells[row]!r} is not a value: a profile gives one value per column, or leaves it open"
        raise ReleaseError(message, place=f"row {row + 1}, column '{frame.columns[i]}'") from None
    return codes.astype(np.int64), np.asarray(values, dtype=object)


def _combined(
    domain: Domain, k: int, names: list[str], cells: list[Any], text: bool
) -> Ranges | list[tuple[str, Any, str]]:
    """Return the positions of attribute k that all given cells of a row allow.

    Where there are none: a list of what is wrong: column, value and why (no column where several contradict each
    other).
    """
    found: Ranges = (domain.all[k].span,)
    wrong: list[tuple[str, Any, str]] = []
    given = [(name, value) for name, value in zip(names, cells, strict=True) if not missing(value)]
    for name, value in given:
        try:
            found = intersection(found, cell_ranges(domain, name, value, text)[1])
        except ReleaseError as error:
            wrong.append((f"'{name}'", value, error.message))
    if not found and not wrong:
        sentence = ", ".join(f"{name}={value}" for name, value in given)
        wrong.append(("", None, f"no value of '{domain.all[k].name}' has {sentence}"))
    return wrong or found


def selections_of(
    release: EncodedRelease, rows: int, found: dict[int, tuple[NDArray[np.int64], list[Ranges]]]
) -> Selections:
    """Return one selection per row; equal part sizes share a code, code 0 is the full attribute."""
    codes = np.zeros((rows, len(release.cut.cuts)), dtype=np.int32)
    tables: list[tuple[tuple[int, ...], ...]] = []
    for k, cuts in enumerate(release.cut.cuts):
        known: dict[tuple[int, ...], int] = {cuts.sizes: 0}
        if k in found:
            back, every = found[k]
            codes[:, k] = np.array(_codes_of(release.cut, k, every, known), dtype=np.int32)[back]
        tables.append(tuple(known))
    return Selections(codes, tuple(tables))


def _codes_of(cut: CutDomain, k: int, every: list[Ranges], known: dict[tuple[int, ...], int]) -> list[int]:
    """Return the code of each set of positions; `known` (part sizes -> code) grows.

    Single values of one part are alike, so a column with many distinct values costs one look-up each.
    """
    cuts, by_part, codes = cut.cuts[k], dict[int, int](), []
    single = not isinstance(cuts.attribute, Continuous)
    for ranges in every:
        if single and len(ranges) == 1 and ranges[0][1] - ranges[0][0] == 1:
            part = cuts.part(ranges[0][0])
            if part not in by_part:
                by_part[part] = known.setdefault(_part_sizes(cut, k, ranges), len(known))
            codes.append(by_part[part])
        else:
            codes.append(known.setdefault(_part_sizes(cut, k, ranges), len(known)))
    return codes


def select_frame(release: EncodedRelease, frame: pd.DataFrame) -> Selections:
    """Return one selection per profile (row) of a frame; see `frame_ranges` for refusals."""
    return selections_of(release, len(frame), profile_ranges(release, frame))


def profile_ranges(release: EncodedRelease, frame: pd.DataFrame) -> dict[int, tuple[NDArray[np.int64], list[Ranges]]]:
    """Return what profiles say of each attribute, any value of one that no test uses; see `frame_ranges`."""
    return frame_ranges(frame, release.domain, untested(release.domain, release.cut))


def odd_cells(release: EncodedRelease, frame: pd.DataFrame) -> list[Odd]:
    """Return the cells of profiles that no row of the domain can have, by row; `ReleaseError` for unknown columns."""
    found: list[Odd] = []
    frame_ranges(frame, release.domain, untested(release.domain, release.cut), found)
    return found


def select_conditions(release: EncodedRelease, conditions: Sequence[Condition], place: str = "where") -> Selections:
    """Return one selection per condition."""
    resolved = [release.domain.resolve(c, place) for c in conditions]
    found: dict[int, tuple[NDArray[np.int64], list[Ranges]]] = {}
    for k, cuts in enumerate(release.cut.cuts):
        if any(k in r for r in resolved):
            every = [r.get(k, (cuts.attribute.span,)) for r in resolved]
            found[k] = np.arange(len(resolved)), every
    return selections_of(release, len(resolved), found)


def raw_indices(domain: Domain, frame: pd.DataFrame) -> NDArray[Any]:
    """Return (rows, attributes) raw value indices of whole rows, the label last; see `whole_rows`.

    Raises `ReleaseError` where a row leaves an attribute open, or an attribute is continuous.
    """
    found, file = frame_ranges(whole_rows(frame, domain), domain), frame.attrs.get("file", "")
    out: NDArray[Any] = np.empty((len(frame), len(domain.all)), dtype=object)
    for k, attribute in enumerate(domain.all):
        if isinstance(attribute, Continuous):
            raise ReleaseError(f"attribute '{attribute.name}' is continuous: give it a 'resolution'")
        if k not in found:
            raise ReleaseError(f"the data say nothing about the attribute '{attribute.name}'", file=file)
        back, every = found[k]
        current().check()
        for code, ranges in enumerate(every):
            if len(ranges) != 1 or ranges[0][1] - ranges[0][0] != 1:
                row = int(np.flatnonzero(back == code)[0]) + 1
                raise ReleaseError(f"the columns leave '{attribute.name}' open", place=f"row {row}", file=file)
        out[:, k] = np.array([r[0][0] for r in every], dtype=object)[back]
    return out.astype(np.int64) if all(c.span[1] < 1 << 62 for c in domain.all) else out


def as_condition(where: dict[str, Any] | Condition) -> Condition:
    """Return a condition given as in a release file (`{"age": {"below": 25}}`) or ready-made."""
    if isinstance(where, tuple):
        return where
    from recon.readers.formats.release.parts import to_condition
    from recon.readers.formats.release.reading import converted
    from recon.readers.formats.release.schema import ConditionPart

    try:
        part = converted(where, ConditionPart)
    except ReleaseError as error:
        raise ReleaseError(error.message, place=f"where.{error.place}" if error.place else "where") from None
    return to_condition(part, "where")


LEFT, CAME, STAYED = "removed", "added", "kept"


def of_rows(release: EncodedRelease, of: str) -> dict[str, int]:
    """Return the binary columns that rows of some data sets have: a condition that stands beside a profile's.

    `of`: the name of a data set, or "removed", "added", "kept" between the one that is made from another one and that;
    of several such pairs with the name of the later one ("removed:april"). Raises `ReleaseError` for any other name,
    and of a release of one data set.
    """
    related = release.related
    if related is None:
        raise ReleaseError(f"the models are all of one data set: there are no rows of '{of}'")
    column = partial(column_of, release.domain.attributes[-1].name)
    if of in related.number:
        return {column(of): 1}
    word, _, later = of.partition(":")
    if word not in (LEFT, CAME, STAYED):
        known = ", ".join(f"'{name}'" for name in related.number)
        raise ReleaseError(f"there are no rows of '{of}': give {LEFT}, {CAME}, {STAYED} or a data set ({known})")
    made = [one for one in related.datasets if one.origin is not None and later in ("", one.name)]
    if len(made) != 1:
        pairs = [f"{word}:{one.name}" for one in related.datasets if one.origin is not None]
        advice = f"give {' or '.join(pairs)}" if pairs else "no data set is made 'from' another one"
        raise ReleaseError(f"'{of}' is said of two data sets, one made from the other: {advice}")
    before, after = column(str(made[0].origin)), column(made[0].name)
    return {before: int(word != CAME), after: int(word != LEFT)}


def with_rows_of(release: EncodedRelease, profiles: pd.DataFrame, of: str | None) -> pd.DataFrame:
    """Return profiles asked of the rows of some data sets (`of_rows`), themselves where nobody says of which.

    Where there is a population, nobody means the rows of the data.
    """
    of = data_of(release) if of is None else of
    return profiles if of is None else profiles.assign(**of_rows(release, of))


def data_of(release: EncodedRelease) -> str | None:
    """Return the data set that a release is of, where an adversary knows its population; else None."""
    return None if release.knowledge is None else release.knowledge.data or None


__all__ = ["Test", "as_condition", "raw_indices", "read_table", "select_conditions", "select_frame"]
