"""Everybody's features, known to an adversary beside a release: a table becomes what it says in the domain's terms."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from encoders.domain.domain import GUESSED, Domain
from encoders.domain.values import AnyAttribute, Cell, Continuous, Listed, exact, is_number
from encoders.encode.encoder import EncodedRelease, with_known_rows
from encoders.models.models import KnownRows
from recon.readers.frames.naming import named_like
from recon.readers.frames.selections import columns_by_attribute, from_text, missing, read_table
from solvers.foundation.errors import ReleaseError

Table = pd.DataFrame | str | os.PathLike[str]
WIDER = "the table of known rows has more values of {} than the model file says: they are among its values"


def known_table(table: Table) -> pd.DataFrame:
    """Return a table of known rows, read from a file where it is a path; `ReleaseError` for anything else."""
    if isinstance(table, str | os.PathLike):
        return read_table(os.fspath(table))
    if not isinstance(table, pd.DataFrame):
        raise ReleaseError(f"known columns are a table or its path, not a {type(table).__name__}")
    return table


def with_known_columns(release: EncodedRelease, table: Table, label: str | None = None) -> EncodedRelease:
    """Return the release beside a table of everybody's features: one line per row, the label left out or with gaps.

    Columns are attributes or binary columns by name, as profiles have them; what the table leaves out stays open.
    Labels that it gives are known as well. `label`: the table's name for the domain's label. Raises `ReleaseError` for
    unknown columns, empty cells, values outside of the domain and another number of rows than the release's.
    """
    frame, notes = named_like(known_table(table), release.domain, own_label(release.domain, label))
    found = with_known_rows(release, known_rows(release.domain, frame))
    return replace(found, reader_notes=(*found.reader_notes, *notes))


def own_label(domain: Domain, label: str | None) -> str | None:
    """Return the name of the label's column; None where the domain has no label: of a regression it is the target."""
    return None if domain.label is None else label


def known_rows(domain: Domain, frame: pd.DataFrame) -> KnownRows:
    """Return the cells of a table, its columns called as in the domain, as the values that they stand for."""
    file, text = str(frame.attrs.get("file", "")), bool(frame.attrs.get("text"))
    try:
        columns_by_attribute(frame, domain)
    except ReleaseError as error:
        raise error.at(file=file) from None
    columns = tuple(map(str, frame.columns))
    codes, values = np.zeros((len(frame), len(columns)), dtype=np.int32), []
    for j, name in enumerate(columns):
        attribute = domain.all[domain.place[name]] if name in domain.place else Listed(name, (0, 1))
        code, distinct = pd.factorize(frame.iloc[:, j].to_numpy(dtype=object), use_na_sentinel=False)
        codes[:, j] = code
        values.append(tuple(_value_of(cell, attribute, text) for cell in distinct))
    return KnownRows(columns, tuple(values), codes, file)


def _value_of(cell: Any, attribute: AnyAttribute, text: bool) -> Cell:
    """Return a cell of a table as a value of an attribute; None for an empty one."""
    found = cell.item() if isinstance(cell, np.generic) else cell
    if missing(found):
        return None
    return from_text(found, attribute) if text and isinstance(found, str) else found


def widened(release: EncodedRelease, table: Table, label: str | None = None) -> Domain:
    """Return a release's guessed domain with the table's values in it; the domain itself where it has them.

    Of a model file that says nothing of its domain: bits that turn out to be numbers are any numbers, ranges get wider.
    """
    domain = release.domain
    if domain.source != GUESSED:
        return domain
    frame, _ = named_like(known_table(table), domain, own_label(domain, label))
    rows = known_rows(domain, frame)
    tested = {a.name: a for a, cuts in zip(domain.all, release.cut.cuts, strict=True) if len(cuts.sizes) > 1}
    found, wider = {a.name: a for a in domain.attributes}, []
    for name, cells in zip(rows.columns, rows.values, strict=True):
        if name in found and name in tested and (better := _holding(tested[name], cells)) is not None:
            found[name] = better
            wider.append(f"'{name}'")
    if not wider:
        return domain
    note = WIDER.format(", ".join(wider))
    return replace(domain, attributes=tuple(found.values()), notes=(*domain.notes, note))


def _holding(attribute: AnyAttribute, cells: Sequence[Cell]) -> AnyAttribute | None:
    """Return an attribute with further numbers in it; None where it has them, or they are none."""
    given = [c for c in cells if c is not None]
    numbers = [exact(c) for c in given if is_number(c)]
    if len(numbers) < len(given) or not numbers:
        return None
    low, high = min(numbers), max(numbers)
    if isinstance(attribute, Continuous):
        if attribute.holds(low) and attribute.holds(high):
            return None
        minimum = None if attribute.minimum is None else min(attribute.minimum, low)
        maximum = None if attribute.maximum is None else max(attribute.maximum, high)
        return Continuous(attribute.name, minimum, maximum, missing=attribute.missing)
    if isinstance(attribute, Listed) and attribute.numeric and set(numbers) - set(attribute.numbers):
        return Continuous(attribute.name, missing=attribute.missing)
    return None
