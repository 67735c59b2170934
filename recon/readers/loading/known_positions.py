"""What an attacker knows of rows by their position in the training file, beside a release: a table with gaps."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from encoders.encode.encoder import EncodedRelease
from encoders.models.models import KnownPositions
from recon.io.files.opening import read_whole
from recon.readers.frames.naming import named_like
from recon.readers.frames.selections import missing, profile_ranges, selections_of
from recon.readers.loading.known_columns import Table, known_table, own_label
from solvers.engines.chain import ask
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import ContradictionError, Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.positions.assignments.domains import Domains
from solvers.questions.answers import LocatedAnswer
from solvers.questions.query import Locate
from solvers.statements.bags import NOTHING, KnownValues
from solvers.statements.release import Release
from solvers.statements.row_problem import bags_with_most, problem_of

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
    rest, notes = named_like(rest, release.domain, own_label(release.domain, label))
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
        bags=tuple(replace(one, known=known) if one is bags else one for one in release.statements.bags),
        assumptions=(*release.statements.assumptions, line),
    )
    return replace(release, statements=beside, beside=about, reader_notes=(*release.reader_notes, *notes))


def _positions_in(frame: pd.DataFrame, rows: int, file: str) -> Ints:
    """Return the positions of a table's lines; `ReleaseError` naming the first that cannot be, or stands twice."""
    out = np.zeros(len(frame), dtype=np.int64)
    for i, cell in enumerate(frame[POSITION].tolist()):
        number = pd.to_numeric(cell, errors="coerce")
        if missing(cell) or pd.isna(number) or number % 1 or not 0 <= number < rows:
            message = f"'{cell}' is no position: they are whole numbers from 0 to {rows - 1:,}"
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
