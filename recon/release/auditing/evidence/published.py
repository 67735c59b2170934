"""Published counts as groups: who was counted is a group of so many people, whatever else its region may hold.

A leaf of a tree on a resample counts drawn rows: with d different ones among them there are d people who were drawn and
lie in the leaf. Where only draws are counted, c of them are of 1 to c people. Noisy counts are no such groups.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from encoders.encode.encoder import EncodedRelease
from encoders.encode.marginals import figures_of, stated
from encoders.models.models import Forest, Table
from encoders.models.nodes import UNPUBLISHED, CountTable
from recon.readers.frames.describe import condition_text
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import ReleaseError, Unsupported

Place = Mapping[str, Any]
LISTED = 1_000  # of each kind, the smallest first
DRAWN = "drawn rows"


def published_groups(release: EncodedRelease) -> tuple[list[Place], list[Place]]:
    """Return groups and cells (of one class, with `class`) that were counted and that no statement carries as such.

    Leaves of trees on resamples, drawn rows that boosted models count, and all counts of tables where the number of
    rows is open; of each kind the smallest. Linear in leaves and figures.
    """
    groups: list[Place] = []
    cells: list[Place] = []
    for model in release.models:
        if isinstance(model, Forest) and model.resampled and model.noise is None:
            groups += of_leaves(release, model, drawn_rows)
            cells += of_leaves(release, model, drawn_of_classes)
        if isinstance(model, Table) and model.noise is None:
            for by_class, place in of_table(release, model):
                (cells if by_class else groups).append(place)
    columns = list(of_columns(release))
    return smallest([*groups, *columns]), smallest([*cells, *columns])


def of_columns(release: EncodedRelease) -> Iterator[Place]:
    """Yield the groups that figures of single columns count: the sum of a column of 0 and 1 is a count."""
    for figures in figures_of(release):
        with contextlib.suppress(Unsupported, ReleaseError):
            for one in stated(figures, release.domain, release.rows) if figures.make is None else ():
                if one.source.endswith(f", sum of {figures.column}") and set(one.weights.tolist()) == {0, 1}:
                    for value, rows in ((1, one.low), (0, (figures.rows or 0) - one.low)):
                        if rows > 0:
                            where = f"{figures.column} = {value}"
                            yield {"name": one.source, "where": where, "rows": [rows, rows]}


def smallest(places: list[Place]) -> list[Place]:
    """Return the places with the fewest rows."""
    return sorted(places, key=lambda one: (one["rows"][1], one["rows"][0]))[:LISTED]


class DrawnGroup(NamedTuple):
    """Least and most people behind some counts of a tree's leaves, and the number of their class (-1: any).

    In a world with many rows there, bags exist that drew the most of them.
    """

    leaf: Ints
    label: Ints
    low: Ints
    high: Ints


def drawn_rows(model: Forest, table: CountTable) -> DrawnGroup:
    """Return how many different people were drawn into every leaf: between the ends, both 0 where nobody was."""
    total = np.zeros(len(table), dtype=np.int64)
    np.add.at(total, np.repeat(np.arange(len(table)), np.diff(table.start)), table.values.astype(np.int64))
    low = np.minimum(total, 1) if model.bootstrap else total
    high, at = total.copy(), np.arange(len(table))
    if table.distinct is not None:
        given = table.distinct != UNPUBLISHED
        low[given] = high[given] = table.distinct[given].astype(np.int64)
    return DrawnGroup(at, np.full(len(at), -1), low, high)


def drawn_of_classes(model: Forest, table: CountTable) -> DrawnGroup:
    """Return the same of every class that was counted in a leaf."""
    rows = drawn_rows(model, table)
    leaf, counts = np.repeat(np.arange(len(table)), np.diff(table.start)), table.values.astype(np.int64)
    total = np.zeros(len(table), dtype=np.int64)
    np.add.at(total, leaf, counts)
    at = np.flatnonzero(table.by_class[leaf] & (counts > 0))
    own, held = counts[at], leaf[at]
    if not model.bootstrap:
        return DrawnGroup(held, at - table.start[held], own, own)
    # of d different people at most as many are of other classes as draws are, and one at least of each that was drawn
    others = np.bincount(held, minlength=len(table))[held] - 1
    low, high = np.maximum(1, rows.low[held] - (total[held] - own)), np.minimum(own, rows.high[held] - others)
    return DrawnGroup(held, at - table.start[held], low, high)


def of_leaves(release: EncodedRelease, model: Forest, drawn: Callable[[Forest, CountTable], DrawnGroup]) -> list[Place]:
    """Return the smallest groups of drawn rows in the leaves of a forest, with their conditions."""
    found = [drawn(model, tree.nodes.leaf_counts) for tree in model.trees if tree.noise is None]
    if not found:
        return []
    tree = np.repeat(np.arange(len(found)), [len(one.leaf) for one in found])
    leaf, label, low, high = (np.concatenate(column) for column in zip(*found, strict=True))
    filled = np.flatnonzero(high > 0)
    order = filled[np.argsort(high[filled], kind="stable")][:LISTED]
    boxes = {block.kind: block.boxes for block in release.statements.partitions.values()}
    attribute = release.domain.label
    out: list[Place] = []
    for i in order.tolist():
        name, j = model.trees[int(tree[i])].name, int(leaf[i])
        held = boxes.get(name, boxes.get(f"{model.name}, {name}"))
        where = "" if held is None or j >= len(held) else condition_text(release.cut, held[j])
        place = {
            "name": f"{DRAWN} in leaf {j} of {name}",
            "where": where,
            "rows": [int(low[i]), int(high[i])],
            "reached": int(high[i]),
        }
        known = label[i] >= 0 and attribute is not None
        out.append(place | ({"class": str(attribute.value(int(label[i])))} if known and attribute is not None else {}))
    return out


def of_table(release: EncodedRelease, model: Table) -> Iterator[tuple[bool, Place]]:
    """Yield the counts of a table, and whether each is of one class, but for those that statements carry."""
    label = None if release.domain.label is None else release.domain.label.name
    for i, figure in enumerate(model.statements):
        low = figure.count if figure.count is not None else figure.low
        high = figure.count if figure.count is not None else low if figure.drawn else figure.high
        if not low or high is None or not figure.condition or (release.rows.high is not None and not figure.drawn):
            continue
        of_class = [t.values[0] for name, t in figure.condition if name == label and t.values]
        where = condition_text(release.cut, release.cut.box(release.domain.resolve(figure.condition)))
        name = f"{DRAWN} in {figure.name}" if figure.drawn else figure.name or f"statement {i}"
        place = {"name": name, "where": where, "rows": [int(low), int(high)]}
        yield bool(of_class), place | ({"class": str(of_class[0])} if of_class else {})
