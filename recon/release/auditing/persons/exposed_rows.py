"""The training rows beside the release: whom it exposes most, by position, and which groups of people.

Rows are told by their position in the data, from 0 as `recon positions` counts them; their values only where asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.encode.encoder import EncodedRelease
from recon.certificates.issuing import json_value
from recon.queries.located.placed_rows import PlacedRows
from recon.queries.measures.figures import Measures
from recon.readers.frames.naming import named_like
from recon.readers.frames.selections import missing, whole_rows
from recon.readers.frames.true_rows import TrueRows, demand_attributes, violations
from recon.readers.loading.settled import as_released
from recon.release.auditing.persons.alike import by_gap, equal_rows
from recon.release.auditing.persons.at_positions import with_positions
from recon.release.auditing.persons.protected import by_group, protected_column
from recon.release.auditing.persons.row_groups import RowGroups, row_groups
from solvers.foundation.errors import ReleaseError
from solvers.foundation.escaping import named
from solvers.foundation.exact import level_text
from solvers.foundation.limits import Limits

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 5  # names of columns in a sentence
UNSIZED = "an attribute has no values that could be counted: declare a domain (--domain)"


def exposed_rows(
    release: EncodedRelease,
    measures: Measures,
    data: pd.DataFrame,
    label: str | None,
    protected: str | None = None,
    show_rows: bool = False,
    limits: Limits | None = None,
    top: int = 20,
    positions: PlacedRows | None = None,
) -> dict[str, Any]:
    """Return the `persons` object of an audit: the most exposed training rows, and exposure by group; ready for JSON.

    `measures` are those of the release; `label` is the data's name for the domain's label. `most_exposed`: at most
    `top` rows, fewest bits left first, then rows of small groups, then by position (from 0); `bits_left` is given the
    row's leaf or rule and class (or cell), None where no figure is known. `protected`: a column of the data, of the
    model or not. Columns that the model does not know are left out, which the notes say. `show_rows`: with the values
    of the rows listed, by the names of the domain. `positions`: what is proved of every position of the training file
    (of forests whose bags are known); used where the data stand in the order of `fit`. Raises `ReleaseError` where the
    data are no possible world of the release (positions would lie), leave a cell empty, lack an attribute, or have a
    value outside the domain; `Inconclusive` when time is up. Cost: linear in cells of the data, and rows times regions
    in bits.
    """
    limits = limits or Limits()
    renamed, notes = named_like(data, release.domain, label)
    rows, unknown = known_columns(renamed, release)
    rows = whole_rows(rows, release.domain)
    refuse_gaps(rows)
    people = rows
    rows = by_gap(release, rows)
    limits.check("the training data beside the release")
    demand_attributes(release, rows)
    seen = TrueRows.of(release, rows)
    refuse_others(release, rows, seen)
    found = row_groups(release, measures, seen, limits)
    if positions is not None:
        found, said_of_order = with_positions(found, positions, people)
        notes = [*notes, said_of_order]
    groups: dict[str, Any] | None = None
    if protected is not None:
        groups, said = by_group(
            found, protected_column(release, data, renamed, protected), protected, data.attrs.get("file", "")
        )
        notes = [*notes, *said]
    unknown = [name for name in unknown if name != protected]
    notes = [*notes, *figure_notes(found, measures), *data_notes(people, unknown)]
    own = label if label is not None else None if release.domain.label is None else release.domain.label.name
    return {
        "label": own,
        "most_exposed": [line(found, i, people if show_rows else None) for i in found.order()[:top].tolist()],
        "in_all": len(found),
        "by_group": groups,
        "notes": notes,
    }


def known_columns(frame: pd.DataFrame, release: EncodedRelease) -> tuple[pd.DataFrame, list[str]]:
    """Return the columns that the domain knows, and the names of the others."""
    domain = release.domain
    names = [str(column) for column in frame.columns]
    kept = [i for i, name in enumerate(names) if name in domain.place or name in domain.columns]
    out = frame.iloc[:, kept]
    out.attrs.update(frame.attrs)
    return out, [name for i, name in enumerate(names) if i not in set(kept)]


def refuse_gaps(rows: pd.DataFrame) -> None:
    """Raise `ReleaseError` for an empty cell of an attribute that is never missing: its row has no group."""
    for i, name in enumerate(map(str, rows.columns)):
        column = rows.iloc[:, i]
        empty = (column.isna() | (column == "")).to_numpy(dtype=bool)
        if empty.any():
            at = int(np.flatnonzero(empty)[0])
            message = f"the cell is empty: fill it in, or declare that '{named(name)}' may be missing"
            place = f"row {at + 1}, column '{named(name)}'"
            raise ReleaseError(message, place=place, file=rows.attrs.get("file", ""))


def refuse_others(release: EncodedRelease, rows: pd.DataFrame, seen: TrueRows) -> None:
    """Raise `ReleaseError` where the data are no possible world of the release, with the first statement they break."""
    broken = violations(as_released(release), rows, seen)
    if not broken:
        return
    more = f" (and {len(broken) - 1:,} more)" if len(broken) > 1 else ""
    if release.noisy and not release.certain:
        level = level_text(release.confidence)
        message = (
            f"the noise would lie outside its intervals at confidence {level}: {broken[0]}{more}; give the training "
        )
        message += "data, or a higher --confidence"
    else:
        message = f"these are not the rows that the model was learned from: {broken[0]}{more}; give its training data"
    raise ReleaseError(message, file=rows.attrs.get("file", ""))


def line(found: RowGroups, i: int, shown: pd.DataFrame | None) -> dict[str, Any]:
    """Return what is said of the row at a position; with its values where they are `shown`."""
    worlds, bits = found.worlds_per_row(i), float(found.bits_left[i])
    least, most = int(found.least[i]), int(found.most[i])
    out: dict[str, Any] = {
        "position": i,
        "group": found.name(i),
        "bits_left": bits if math.isfinite(bits) else None,
        "worlds_per_row": None if worlds is None else str(worlds),
        "group_rows": None if least < 0 else [least, most],
        "pinned": bool(found.pinned[i]),
    }
    return out if shown is None else out | {"row": values(shown, i)}


def values(data: pd.DataFrame, i: int) -> dict[str, Any]:
    """Return a row as an object column -> value, None for empty cells and for numbers that JSON does not have."""
    out = {}
    for name, cell in zip(map(str, data.columns), data.iloc[i].tolist(), strict=True):
        value = None if missing(cell) else json_value(cell)
        plain = isinstance(value, str | int | bool) or (isinstance(value, float) and math.isfinite(value))
        out[name] = value if value is None or plain else str(value)
    return out


def figure_notes(found: RowGroups, measures: Measures) -> list[str]:
    """Return what has to be known to read the figures: what they are given, and of how many rows there are none."""
    where = "her cell (combination of regions)" if measures.of_cells else "her leaf or rule, and class,"
    notes = [f"bits left: what is still not known about a person once {where} is known"]
    without = np.isnan(found.bits_left)
    if without.any():
        notes.append(f"{int(without.sum()):,} of {len(found):,} rows have no figure: {no_figure(found, measures)}")
    given = int(found.given_back.sum())
    if given:
        notes.append(f"leaf values give back {given:,} of the rows")
    return notes


def no_figure(found: RowGroups, measures: Measures) -> str:
    """Return why rows have no figure."""
    if measures.counted.relative:
        return UNSIZED
    if (found.line[np.isnan(found.bits_left)] < 0).all():
        return "the release proves of no cell of theirs that it holds rows"
    return "the sizes of their groups are only known between bounds"


def data_notes(rows: pd.DataFrame, unknown: Iterable[str]) -> list[str]:
    """Return what is to be said of the data: people with equal rows, columns that the model does not know."""
    _, back = equal_rows(rows)
    alike = int((np.bincount(back)[back] > 1).sum())
    notes = [f"{alike:,} of {len(rows):,} rows equal another row in every column that the model knows"] if alike else []
    others = list(unknown)
    if others:
        listed = ", ".join(f"'{named(name)}'" for name in others[:SHOWN]) + (", ..." if len(others) > SHOWN else "")
        many = "1 column is" if len(others) == 1 else f"{len(others):,} columns are"
        notes.append(f"{many} not in the model and not used: {listed}")
    return notes
