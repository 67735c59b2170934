"""Release files of kind `tables` opened: cells, areas and counts inline or in files beside them, several joined."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

from encoders.domain.domain import Domain
from recon.io.files.opening import current, read_bytes
from recon.queries.tables.counts import GroupedCounts, coded
from recon.queries.tables.tables import Cell, Tables, defined, definitions
from recon.readers.formats.detection import may_have_tables
from recon.readers.formats.release import reading
from recon.readers.formats.release.schema import CellPart, ConditionPart, FilePart, ReleasePart, TablesPart
from recon.readers.stored.pickled.stored_files import gunzip
from solvers.foundation.errors import ReleaseError, Unsupported


def opened_tables(files: Sequence[str]) -> Tables | None:
    """Return the tables in release files, joined where there are several; None where no file holds any.

    Raises `ReleaseError` and `ContradictionError` as `Tables`, `Unsupported` beside models of other kinds.
    """
    parts: list[tuple[str, str, ReleasePart]] = []
    held = []
    for path in files:
        found = _part(path)
        held.append(found is not None)
        if found is not None:
            parts.append((path, *found))
    if not any(held):
        return None
    if not all(held):
        raise Unsupported(f"{files[held.index(False)]}: tables of areas are joined with tables of areas alone")
    return _join_tables(parts)


def _part(path: str) -> tuple[str, ReleasePart] | None:
    if not may_have_tables(path):
        return None
    data, sha256 = read_bytes(path)
    part = reading.parse(gunzip(data, current().left), path)
    kinds = {m.kind for m in part.models}
    if "tables" not in kinds:
        return None
    if kinds != {"tables"}:
        raise Unsupported(f"{path}: tables of areas are joined with tables of areas alone, not with models")
    return sha256, part


def _join_tables(parts: Sequence[tuple[str, str, ReleasePart]]) -> Tables:
    cells: dict[str, Cell] = {}
    counts = GroupedCounts(any(getattr(m, "areas", ()) for _, _, part in parts for m in part.models))
    parents: dict[str, str | None] = {}
    complete: set[str] = set()
    disjoint: set[str] = set()
    domain: Domain | None = None
    schema: dict[str, list[str]] = {}
    hashes, names = [], set()
    for path, sha256, part in parts:
        hashes.append(sha256)
        own = reading.to_domain(part.domain)
        if domain is not None and (own.all, own.columns, own.impossible) != (
            domain.all,
            domain.columns,
            domain.impossible,
        ):
            raise ReleaseError(
                "its domain is another one than that of the first file: tables are joined over one", file=path
            )
        domain = domain or own
        for i, model in enumerate(part.models):
            place = f"models[{i}]"
            assert isinstance(model, TablesPart)
            _refuse(model, place, path)
            names.add(model.area)
            for name, parts_of in model.schema.items():
                if schema.setdefault(name, parts_of) != parts_of:
                    raise ReleaseError(f"'{name}' is the name of two schemas", place=f"{place}.schema", file=path)
            found = _cells(model, own, place, path, hashes)
            for cell in found:
                if cells.setdefault(cell.name, cell) != cell:
                    raise ReleaseError(f"the cell '{cell.name}' is defined twice, differently", place=place, file=path)
            tables = {c.table for c in found}
            chosen = set(tables if model.complete is True else model.complete or ())
            for key, told in (("complete", chosen), ("disjoint", set(model.disjoint))):
                if unknown := sorted(told - tables):
                    raise ReleaseError(f"'{unknown[0]}' is the table of no cell", place=f"{place}.{key}", file=path)
            complete |= chosen
            disjoint |= set(model.disjoint)
            _areas(model, parents, place, path)
            given = _path_beside(path, model.values, hashes) if isinstance(model.values, FilePart) else model.values
            number = {name: k for k, name in enumerate(cells)}
            try:
                coded(given, {c.name: number[c.name] for c in found}, counts)
            except ReleaseError as error:
                raise error.at(place=f"{place}.values", file=path) from None
    if len(names) > 1:
        raise ReleaseError(f"the area is called {' and '.join(sorted(names))}: give one name", file=parts[-1][0])
    try:
        return Tables(counts, list(cells.values()), parents or None, sorted(complete), domain,
                      names.pop(),
                      [p for p, _, _ in parts], hashes, schema, sorted(disjoint))  # fmt: skip
    except ReleaseError as error:
        raise error.at(file=parts[0][0]) from None


def _refuse(model: TablesPart, place: str, path: str) -> None:
    for key in ("noise", "dataset", "read_from", "unused"):
        if getattr(model, key) is not None:
            raise ReleaseError("tables of areas have no such key in this version", place=f"{place}.{key}", file=path)


def _areas(model: TablesPart, parents: dict[str, str | None], place: str, path: str) -> None:
    for a in model.areas:
        if parents.setdefault(a.name, a.parent) != a.parent:
            message = f"area '{a.name}' lies in '{parents[a.name]}' and in '{a.parent}'"
            raise ReleaseError(message, place=f"{place}.areas", file=path)


def _cells(model: TablesPart, domain: Domain, place: str, path: str, hashes: list[str]) -> list[Cell]:
    if isinstance(model.cells, FilePart):
        beside = _path_beside(path, model.cells, hashes)
        return defined(definitions(beside), domain, beside)[0]
    found = []
    for i, part in enumerate(model.cells):
        at = f"{place}.cells[{i}]"
        given = _conditions(part, at, path)
        try:
            conditions = tuple(reading.to_condition(c, at) for c in given)
        except ReleaseError as error:
            raise error.at(file=path) from None
        found.append(Cell(part.name, conditions, part.table, part.level))
    return found


def _conditions(part: CellPart, place: str, path: str) -> list[ConditionPart]:
    if (part.where is None) == (part.any is None):
        raise ReleaseError("give one of 'where' (a condition) and 'any' (several)", place=place, file=path)
    return [part.where] if part.where is not None else list(part.any or ())


def _path_beside(path: str, part: FilePart, hashes: list[str]) -> str:
    """Return the path of a file beside a release file, and remember its hash; `ReleaseError` for one elsewhere."""
    if os.path.basename(part.file) != part.file or part.file in {"", ".", ".."}:
        raise ReleaseError(f"'{part.file}' is not a name of a file beside this one", file=path)
    found = os.path.join(os.path.dirname(path), part.file)
    digest = hashlib.sha256()
    from recon.io.files.opening import open_regular

    with open_regular(found) as (file, _):
        while piece := file.read(1 << 20):
            digest.update(piece)
    hashes.append(digest.hexdigest())
    return found
