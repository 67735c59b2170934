"""What histograms of people are over: attributes, whole or in bins, and people of a file as counts of a top area.

A schema is a list of names: an attribute, binned as the tables of the smallest areas tell its values apart; with bins
that begin at given values (`age:5/18/65`); or a name that the release declares, which stands for such a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import from_text
from recon.queries.tables.tables import Tables
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.tables.atoms import Ints, LiveCounts, described

if TYPE_CHECKING:
    import pandas as pd


def _lower_cells(tables: Tables) -> Ints:
    """Return the cells that are known of areas which lie in others, or are top areas without parts."""
    cells = tables.counts.lower_cells
    levels, complete = tables.levels
    return np.union1d(cells, np.flatnonzero(complete & np.isin(levels, levels[cells])))


def histogram_cells(tables: Tables, schema: Sequence[str]) -> Ints:
    """Return the cell of the histogram that every tuple of `tables.system` is in.

    Raises `ReleaseError` for a name that is not an attribute, bins that no cell cuts, an empty schema.
    """
    if not schema:
        raise ReleaseError("the schema names no attribute", place="schema")
    names: list[str] = []
    for text in schema:
        names += tables.schema.get(text, (text,))
    out = np.zeros(len(tables.system.tuples), np.int64)
    parts = np.unravel_index(tables.system.tuples, tables.system.shape)
    for text in names:
        name, _, bins = text.partition(":")
        k = tables.domain.place.get(name)
        if k is None:
            known = ", ".join([*(a.name for a in tables.domain.all), *tables.schema][:20])
            said = f"'{name}' is neither an attribute nor a declared name: there are {known}"
            raise ReleaseError(said, place="schema")
        code = _binned(tables, k, bins.split("/")) if bins else _told_apart(tables, k)
        _, out = np.unique(out * (int(code.max()) + 1) + code[parts[k]], return_inverse=True)
        out = out.ravel().astype(np.int64)
    return out


def _binned(tables: Tables, k: int, bins: Sequence[str]) -> Ints:
    """Return the bin of every part of an attribute; bins begin at the values given."""
    attribute, cuts = tables.domain.all[k], tables.cuts[k]
    edges = []
    for text in bins:
        try:
            edge = attribute.cut(from_text(text, attribute), False)
        except ReleaseError as error:
            raise error.at(place="schema") from None
        if edge not in cuts.edges:
            raise ReleaseError(f"no cell cuts '{attribute.name}' at {text}: no table distinguishes both sides",
                               place="schema")  # fmt: skip
        edges.append(cuts.edges.index(edge))
    return np.searchsorted(np.unique(edges), np.arange(tables.system.shape[k]), side="right").astype(np.int64)


def _told_apart(tables: Tables, k: int) -> Ints:
    """Return the bin of every part of an attribute: parts that no cell of smaller areas tells apart share one."""
    system = tables.system
    if "lower" not in tables.derived:
        grid = np.full(int(np.prod(system.shape)), -1, np.int64)
        grid[system.tuples] = told_apart(tables)
        tables.derived["lower"] = grid.reshape(system.shape)
    slices = np.moveaxis(tables.derived["lower"], k, 0).reshape(system.shape[k], -1)
    known: dict[bytes, int] = {}
    return np.array([known.setdefault(one.tobytes(), len(known)) for one in slices], np.int64)


def _atoms(live: LiveCounts) -> Ints:
    """Return the atom of every tuple."""
    design = live.design
    of_b = np.full(int(design.b.max(initial=-1)) + 1, -1)
    of_pair = np.full(len(design.size), -1)
    whole = live.atom_pair < 0
    of_b[live.atom_b[whole]] = np.flatnonzero(whole)
    of_pair[live.atom_pair[~whole]] = np.flatnonzero(~whole)
    by_pair = np.where(live.split[design.group], of_b[design.pair_b], of_pair)
    out: Ints = by_pair[design.pair]
    return out


def told_apart(tables: Tables) -> Ints:
    """Return the class of every tuple under the tables of smaller areas."""
    return tables.system.classes(_lower_cells(tables))


def _atom_ranges(live: LiveCounts, cells: Ints) -> tuple[Ints, Ints]:
    """Return the least and greatest cell of the histogram in every atom."""
    atom = _atoms(live)
    least, most = np.full(len(live.atom_b), len(cells), np.int64), np.full(len(live.atom_b), -1, np.int64)
    np.minimum.at(least, atom, cells)
    np.maximum.at(most, atom, cells)
    return least, most


def inside_one(live: LiveCounts, cells: Ints) -> NDArray[np.bool_]:
    """Return which counts of an area lie in one cell of the histogram."""
    least, most = _atom_ranges(live, cells)
    out: NDArray[np.bool_] = (least == most)[live.atom]
    return out


def labels(tables: Tables, live: LiveCounts, cells: Ints | None, schema: Sequence[str]) -> Ints:
    """Return the cell of the histogram that every count of a top area is in.

    Without `cells`: what the tables of its smaller areas tell apart, those among them that are not used, too.

    Raises `Unsupported` where the area's tables do not tell apart what the schema does.
    """
    if cells is None:
        return live.atom_b[live.atom]
    atom = _atoms(live)
    least, most = _atom_ranges(live, cells)
    bad = np.flatnonzero((least != most)[live.atom])
    if len(bad):
        inner = np.flatnonzero(atom == live.atom[bad[0]])
        first = inner[0]
        other = inner[cells[inner] != cells[first]][0]
        parts = np.unravel_index(tables.system.tuples[[first, other]], tables.system.shape)
        differ = [a.name for a, (p, q) in zip(tables.domain.all, parts, strict=True) if p != q]
        raise Unsupported(
            f"the tables of area '{live.top.names[0]}' do not distinguish all values of {', '.join(differ)} that the "
            f"schema {','.join(schema)} does: give wider bins (NAME:5/18/65), or leave the attribute out"
        )
    out: Ints = least[live.atom]
    return out


People = tuple[tuple[str, ...], Ints, Ints]  # names of areas; of everybody the number of one, and a tuple


def people_in(tables: Tables, people: pd.DataFrame) -> People:
    """Return the area and the tuple of everybody in a frame of whole rows.

    Raises `ReleaseError` naming row and column for what is not a smallest area, no value, or nobody that can exist.
    """
    file, text = people.attrs.get("file", ""), bool(people.attrs.get("text"))
    wanted = [tables.area, *(a.name for a in tables.domain.all)]
    if lacking := [n for n in wanted if n not in people.columns]:
        raise ReleaseError(f"there is no column '{lacking[0]}': whole rows have {', '.join(wanted[:20])}", file=file)
    place: dict[str, int] = {}

    def area_of(cell: Any) -> int:
        part, _, i = tables.counts.of_name(str(cell))
        if i < 0 or not part.smallest[i]:
            raise ReleaseError(f"'{cell}' is not a smallest area of the tables")
        return place.setdefault(str(cell), len(place))

    codes = []
    for k, name in enumerate(wanted):

        def part(cell: Any, k: int = k) -> int:
            attribute = tables.domain.all[k - 1]
            value = from_text(cell, attribute) if text and isinstance(cell, str) else cell
            value = value.item() if isinstance(value, np.generic) else value
            return tables.cuts[k - 1].part(attribute.point(value)[0])

        column = people[name].tolist()
        known: dict[Any, int] = {}
        for i, cell in enumerate(column):
            if cell not in known:
                try:
                    known[cell] = part(cell) if k else area_of(cell)
                except ReleaseError as error:
                    raise error.at(place=f"row {i + 1}, column '{name}'", file=file) from None
        codes.append(np.array([known[cell] for cell in column], np.int64))
    tuples = np.ravel_multi_index(codes[1:], tables.system.shape) if len(people) else codes[0]
    at = np.searchsorted(tables.system.tuples, tuples)
    found = np.minimum(at, len(tables.system.tuples) - 1)
    bad = np.flatnonzero(tables.system.tuples[found] != tuples)
    if len(bad):
        raise ReleaseError("nobody like this exists: the domain says that it is impossible", place=f"row {bad[0] + 1}",
                           file=file)  # fmt: skip
    return tuple(place), codes[0], found


def counts_of(tables: Tables, live: LiveCounts, people: People) -> Ints:
    """Return the people of a top area as a value for each of its counts.

    Raises `ReleaseError` naming a count where they do not agree with the tables.
    """
    design, names = live.design, live.top.names
    local = {name: i for i, name in enumerate(names)}
    of = np.array([local.get(name, -1) for name in people[0]], np.int64)[people[1]]
    inner = of >= 0
    leaf, tuples, width = of[inner], people[2][inner], len(live.atom_b)
    keys, key = live.leaf * width + live.atom, leaf * width + _atoms(live)[tuples]
    order = np.argsort(keys)
    at = np.minimum(np.searchsorted(keys[order], key), max(0, len(keys) - 1))
    found = order[at] if len(keys) else at
    bad = np.flatnonzero(keys[found] != key) if len(keys) else np.arange(len(key))
    if len(bad):
        raise ReleaseError(f"the people do not agree with the tables: area '{names[int(leaf[bad[0]])]}' has somebody "
                           "whom a count of 0 leaves out", place="people")  # fmt: skip
    out = np.bincount(found, minlength=len(keys)).astype(np.int64)
    owner = np.repeat(np.arange(len(live.rows)), np.diff(live.rows.starts))
    total = np.bincount(owner, out[live.rows.columns], len(live.rows)).astype(np.int64)
    wrong = np.flatnonzero(total != live.rows.value)
    if len(wrong):
        r = int(wrong[0])
        raise ReleaseError(f"the people do not agree with the tables: {described(tables.system, live, r)}, but they "
                           f"have {total[r]:,}", place="people")  # fmt: skip
    v = np.bincount(design.pair_v[design.pair[tuples]], minlength=len(live.v_count))
    in_split = np.zeros(len(live.v_count), bool)
    in_split[design.pair_v[live.split[design.group]]] = True
    if (v[in_split] != live.v_count[in_split]).any():
        raise ReleaseError(f"the people do not agree with the tables: of area '{names[0]}' a count over finer cells "
                           "than those of its parts is another", place="people")  # fmt: skip
    return out
