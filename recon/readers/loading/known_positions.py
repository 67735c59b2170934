"""What an attacker knows of rows by their position in the training file, beside a release: a table with gaps.

Everybody's features, known to an adversary beside a release: a table becomes what it says in the domain's terms.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from encoders.domain.domain import GUESSED, Domain
from encoders.domain.infer import plain_columns
from encoders.domain.values import AnyAttribute, Categorical, Cell, Continuous, Grid, exact, from_text, is_number
from encoders.encode.encoder import EncodedRelease
from encoders.encode.known import with_known_rows
from encoders.models.models import KnownPositions, KnownRows
from encoders.parts.statistics import MAX_VALUES
from recon.io.files.opening import read_whole
from recon.readers.frames.describe import named_like
from recon.readers.frames.selections import (
    columns_by_attribute,
    missing,
    profile_ranges,
    read_table,
    selections_of,
)
from solvers.engines.chain import ask
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import ContradictionError, Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.positions.assignments.domains import Domains
from solvers.statements.questions.answers import LocatedAnswer
from solvers.statements.questions.query import Locate
from solvers.statements.release import NOTHING, KnownValues, Release
from solvers.statements.row_problem import bags_with_most, problem_of

Table = pd.DataFrame | str | os.PathLike[str]
LISTED = "everybody's values of {} are known: they are among those of the table of known rows"
WIDER = "the table of known rows has more values of {} than the model file says: they are among its values"


def known_table(table: Table) -> pd.DataFrame:
    """Return a table of known rows, read from a file where it is a path; `ReleaseError` for anything else."""
    if isinstance(table, str | os.PathLike):
        return read_table(os.fspath(table))
    if not isinstance(table, pd.DataFrame):
        raise ReleaseError(f"known columns are a table or its path, not a {type(table).__name__}")
    return plain_columns(table)


def with_known_columns(
    release: EncodedRelease, table: Table, label: str | None = None, by_value: bool = False
) -> EncodedRelease:
    """Return the release beside a table of everybody's features: one line per row, the label left out or with gaps.

    Columns are attributes or binary columns by name, as profiles have them; what the table leaves out stays open.
    Labels that it gives are known as well. `label`: the table's name for the domain's label. `by_value`: cells are cut
    at every value of the table. Raises `ReleaseError` for
    unknown columns, empty cells, values outside of the domain and another number of rows than the release's.
    """
    frame, notes = named_like(known_table(table), release.domain, _own_label(release.domain, label))
    found = with_known_rows(release, replace(known_rows(release.domain, frame), by_value=by_value))
    return replace(found, reader_notes=(*found.reader_notes, *notes))


def _own_label(domain: Domain, label: str | None) -> str | None:
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
        attribute = domain.all[domain.place[name]] if name in domain.place else Categorical(name, (0, 1))
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
    domain = _with_listed_values(release, table, label)
    if domain.source != GUESSED:
        return domain
    frame, _ = named_like(known_table(table), domain, _own_label(domain, label))
    rows = known_rows(domain, frame)
    tested = {a.name: a for a, cuts in zip(domain.all, release.cut.cuts, strict=True) if len(cuts.sizes) > 1}
    found, wider = {a.name: a for a in domain.attributes}, []
    for name, cells in zip(rows.columns, rows.values, strict=True):
        if name in found and name in tested and (better := _holding(tested[name], cells)) is not None:
            found[name] = better
            wider.append(f"'{name}'")
    if not wider:
        return domain  # as it is where no values were listed either
    note = WIDER.format(", ".join(wider))
    return replace(domain, attributes=tuple(found.values()), notes=(*domain.notes, note))


def _with_listed_values(release: EncodedRelease, table: Table, label: str | None) -> Domain:
    """Return a release's domain with columns of very many numbers that are summed, and not tested, as the table's own.

    Sums over all numbers that could be are stated in part only, or not at all; these are known of everybody.
    """
    domain, summed = release.domain, _summed_names(release)
    if not summed:
        return domain
    rows = known_rows(domain, named_like(known_table(table), domain, _own_label(domain, label))[0])
    own, found = None if domain.label is None else domain.label.name, {a.name: a for a in domain.attributes}
    untested = {a.name: a for a, cuts in zip(domain.all, release.cut.cuts, strict=True) if len(cuts.sizes) == 1}
    for name, cells in zip(rows.columns, rows.values, strict=True):
        attribute = untested.get(name)
        if name == own or name not in summed or attribute is None or not all(map(is_number, cells)):
            continue
        if isinstance(attribute, Continuous) or (isinstance(attribute, Grid) and attribute.known[1] > MAX_VALUES):
            numbers = {exact(c): c for c in cells if c is not None}
            found[name] = Categorical(name, tuple(numbers[v] for v in sorted(numbers)))
    listed = [f"'{name}'" for name in found if found[name] is not untested.get(name, found[name])]
    if not listed:
        return domain
    said = ", ".join(listed[:SHOWN]) + (f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else "")
    return replace(domain, attributes=tuple(found.values()), notes=(*domain.notes, LISTED.format(said)))


def _summed_names(release: EncodedRelease) -> set[str]:
    """Return the columns that published figures sum, or would sum if the domain gave them a grid."""
    figures = [figure for model in release.models for figure in model.figures()]
    names = {name for figure in figures if figure.linear is not None for name in figure.linear.names}
    names |= {figure.statistic.of for figure in figures if figure.statistic is not None}
    if any(one.about == "columns" for m in release.models if m.origin is not None for one in m.origin.unused):
        names |= {a.name for a in release.domain.attributes if isinstance(a, Continuous)}
    return names


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
    if isinstance(attribute, Categorical) and attribute.numeric and set(numbers) - set(attribute.numbers):
        return Continuous(attribute.name, missing=attribute.missing)
    return None


POSITION = "position"
LINE = "beside the release {values:,} values at {positions:,} positions are known: {names} (table of SHA-256 {sha256})"
ROUNDS = 12  # tries at what in a table contradicts a release
SHOWN = 5  # cells of a row that are named


def with_known_positions(release: EncodedRelease, table: Table, label: str | None = None) -> EncodedRelease:
    """Return the release beside a table of what is known by position: `position`, any attributes, the label.

    One line per known row, an empty cell is not known; positions count from 0, in the order in which `fit` got rows.
    The table becomes statements on the rows by position, with a line of its own among the assumptions. `label`: the
    table's name for the label. Without bags the release is returned as it is: nothing is told by position. Raises
    `ReleaseError` naming the table for unknown columns, positions that cannot be, and values outside of the domain.
    """
    if not release.statements.bags:
        return release
    if release.noisy:
        raise Unsupported("what is known by position is not joined with noisy counts")
    frame = known_table(table)
    file, text = str(frame.attrs.get("file", "")), frame.attrs.copy()
    if POSITION not in frame.columns:
        message = f"has no column '{POSITION}': what is known is a table of {POSITION} (from 0) and attributes"
        raise ReleaseError(message, file=file)
    bags = bags_with_most(release.statements.bags)
    rows = _positions_in(frame, bags.rows, file)
    rest = frame.drop(columns=POSITION)
    rest.attrs.update(text)
    rest, notes = named_like(rest, release.domain, _own_label(release.domain, label))
    try:
        ranges = profile_ranges(release, rest)
    except ReleaseError as error:
        raise error.at(file=file) from None
    given = np.zeros((bags.rows, len(release.domain.all)), dtype=bool)
    for k, (codes, every) in ranges.items():
        full = release.cut.cuts[k].attribute.span
        given[rows, k] = np.array([one != (full,) for one in every], dtype=bool)[codes]
    if not given.any():
        raise ReleaseError("says nothing: every cell is empty", file=file)
    chosen = selections_of(release, len(rows), ranges)
    attributes = np.flatnonzero(given.any(axis=0)).tolist()
    codes = np.zeros((len(attributes), bags.rows), dtype=np.int64)
    codes[:, rows] = chosen.codes[:, attributes].T
    known = KnownValues(tuple(attributes), codes, tuple(np.array(chosen.sizes[k]) > 0 for k in attributes))
    names = tuple(release.domain.all[k].name for k in attributes)
    about = KnownPositions(file, _sha256_of(table, frame), names, given, _cells_of(rest, rows))
    line = LINE.format(values=about.values, positions=about.positions, names=", ".join(names[:SHOWN]) + (
        f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""), sha256=about.sha256)  # fmt: skip
    beside = replace(
        release.statements,
        bags=tuple(
            replace(one, known=one.known.joined(known)) if one is bags else one for one in release.statements.bags
        ),
        assumptions=(*release.statements.assumptions, line),
    )
    return replace(release, statements=beside, beside=about, reader_notes=(*release.reader_notes, *notes))


def _positions_in(frame: pd.DataFrame, rows: int, file: str) -> Ints:
    """Return the positions of a table's lines; `ReleaseError` naming the first that cannot be, or stands twice."""
    out = np.zeros(len(frame), dtype=np.int64)
    for i, cell in enumerate(frame[POSITION].tolist()):
        number = pd.to_numeric(cell, errors="coerce")
        if missing(cell) or pd.isna(number) or number % 1 or not 0 <= number < rows:
            message = f"'{cell}' is not a position: they are whole numbers from 0 to {rows - 1:,}"
            raise ReleaseError(message, place=f"row {i + 1}", file=file)
        out[i] = int(number)
    distinct, first = np.unique(out, return_index=True)
    if len(distinct) < len(out):
        again = int(np.setdiff1d(np.arange(len(out)), first)[0])
        raise ReleaseError(f"position {out[again]} stands twice", place=f"row {again + 1}", file=file)
    return out


def _sha256_of(table: Table, frame: pd.DataFrame) -> str:
    """Return the SHA-256 of a table's file, of one in memory that of the file that `to_csv(index=False)` writes."""
    if isinstance(table, str | os.PathLike):
        return hashlib.sha256(read_whole(os.fspath(table))).hexdigest()
    return hashlib.sha256(frame.to_csv(index=False).encode("utf-8", "surrogatepass")).hexdigest()


def _cells_of(frame: pd.DataFrame, rows: Ints) -> dict[int, str]:
    """Return the known cells of every position in words, some of many."""
    names, out = [str(name) for name in frame.columns], {}
    for i, line in zip(rows.tolist(), frame.itertuples(index=False, name=None), strict=True):
        said = [f"{name} = {cell}" for name, cell in zip(names, line, strict=True) if not missing(cell)]
        out[i] = ", ".join(said[:SHOWN]) + (", ..." if len(said) > SHOWN else "")
    return out


def contradicting(release: EncodedRelease, limits: Limits) -> ContradictionError:
    """Return the error that names what in the table contradicts a release, as far as the limits let it be found.

    A row that no tree has a leaf for, or the first position whose values, with those before it, leave no data set.
    Cost: about `ROUNDS` times what rows by position take.
    """
    about, statements = release.beside, release.statements
    assert about is not None
    table = f"what is known ({about.file or 'a table'})"

    def fits(positions: Ints) -> bool:
        try:
            ask(_only(statements, positions), Locate(), LocatedAnswer, limits)
        except ContradictionError:
            return False
        return True

    if nowhere := _without_leaf(statements):
        i, t = nowhere
        message = f"{table} contradicts the release: no leaf of tree {t} can hold position {i} ({about.cells.get(i)})"
        return ContradictionError(message, (f"position {i}: {about.cells.get(i)}",))
    every = np.flatnonzero(about.given.any(axis=1))
    low, high = 0, len(every)  # the first `low` positions fit, the first `high` do not
    try:
        if not fits(every[:0]):
            return ContradictionError("the release contradicts itself, whatever is known beside it", ())
        for _ in range(ROUNDS):
            if high - low <= 1 or limits.expired():
                break
            middle = (low + high) // 2
            low, high = (middle, high) if fits(every[:middle]) else (low, middle)
    except (Inconclusive, Unsupported):
        pass
    if high - low > 1:
        first, last = int(every[low]), int(every[high - 1])
        message = f"{table} contradicts the release: a value at positions {first} to {last}, with those before"
        return ContradictionError(message, (f"positions {first} to {last}",))
    i = int(every[high - 1])
    message = f"{table} contradicts the release: the values of position {i}, with those of the positions before it"
    return ContradictionError(message, (f"position {i}: {about.cells.get(i)}",))


def _only(statements: Release, positions: Ints) -> Release:
    """Return the statements with what is known of some positions alone."""
    out = []
    for bags in statements.bags:
        known = bags.known
        if known.attributes and not len(positions):
            known = NOTHING
        elif known.attributes:
            codes = np.zeros_like(known.codes)
            codes[:, positions] = known.codes[:, positions]
            known = replace(known, codes=codes)
        out.append(replace(bags, known=known))
    return replace(statements, bags=tuple(out))


def _without_leaf(statements: Release) -> tuple[int, int] | None:
    """Return a known position and a tree that drew it without a leaf for it, None where every tree has some."""
    problem = problem_of(statements)
    if problem is None:
        return None
    found: Any = np.argwhere((Domains(problem).sizes() == 0) & (problem.times.T > 0))
    return (int(found[0][0]), int(found[0][1])) if len(found) else None
