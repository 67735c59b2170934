"""Cross-tables seen as partitions: loose counts over all combinations of some attributes' values.

The statements stay loose, with their numbers and sources: certificates name them, and the checker of proofs reads no
view. What a tree of the same leaves lets engines do they do with a view of it, which follows from the statements.

Source: Hundepool et al., "Statistical Disclosure Control", 2012 (tables and their margins).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from solvers.statements.boxes import Box, Boxes
from solvers.statements.release import ANY_LABEL, Partition, Release, Statement

TABLE = "cross-table"
Layers = dict[tuple[tuple[int, int], ...], dict[Box, Statement]]


@dataclass(slots=True)
class _CrossTables:
    """The cross-tables of a release."""

    found: tuple[Partition, ...] | None = None


def cross_tables(release: Release) -> tuple[Partition, ...]:
    """Return what the exact counts of the release's loose statements say as partitions, the largest first.

    Counts over the same attributes, of all blocks together, whose values are the same or disjoint, are one table.
    Combinations that no figure counts exactly have the rows that are left: none, or those of the only such combination;
    where several share some rows, the table is no partition of exact counts and left out. A combination that holds
    nobody may be left out of a partition. Cost: linear in the counts, and in the pairs of an attribute's different
    values. Nothing where the number of rows is open.
    """
    known = release.derived.part(_CrossTables)
    if known.found is None:
        tables = (_partition(release, list(layer.values())) for layer in _layers(release).values())
        known.found = tuple(sorted((t for t in tables if t is not None), key=lambda t: -len(t)))
    return known.found


def exact_partitions(release: Release) -> tuple[Partition, ...]:
    """Return the partitions of exact counts: those that the release states, then its cross-tables."""
    stated = (block for block in release.partitions.values() if bool((block.low == block.high).all()))
    return (*stated, *cross_tables(release))


def _layers(release: Release) -> Layers:
    """Return the exact counts of boxes by attributes and, per attribute, by a family of disjoint sets of values."""
    counts = [
        s
        for block in release.loose.values()
        for s in block
        if s.of is None and s.low == s.high and s.region.box.literals and not s.region.minus
    ]
    families = dict[tuple[tuple[int, ...], int], dict[int, int]]()
    out: Layers = {}
    for s in counts:
        names = tuple(k for k, _ in s.region.box.literals)
        at = []
        for k, mask in s.region.box.literals:
            known = families.setdefault((names, k), {})
            at.append((k, _family(known, mask)))
        out.setdefault(tuple(at), {}).setdefault(s.region.box, s)
    return out


def _family(known: dict[int, int], mask: int) -> int:
    """Return the first family that a set of values is in, or is disjoint from all of; it is put into it."""
    if mask not in known:
        taken = {family for other, family in known.items() if other & mask}
        known[mask] = next(i for i in range(len(taken) + 1) if i not in taken)
    return known[mask]


def _partition(release: Release, counts: list[Statement]) -> Partition | None:
    """Return disjoint counts as a partition, None where they do not tell how many rows every combination has."""
    rest = release.rows.low - sum(s.low for s in counts)
    if not release.rows.exact or len(counts) < 2 or rest < 0:
        return None
    boxes, numbers = [s.region.box for s in counts], [s.low for s in counts]
    if rest:
        other = _only_other(release, boxes)
        if other is None:
            return None
        boxes.append(other)
        numbers.append(rest)
    names = (*(s.source for s in counts), *(("the rest",) if rest else ()))
    low, places = np.array(numbers, dtype=np.int64), np.arange(len(boxes), dtype=np.int32)
    label = np.full(len(boxes), ANY_LABEL, dtype=np.int32)
    return Partition(TABLE, Boxes.of(boxes), False, places, label, low, low, names)


def _only_other(release: Release, boxes: list[Box]) -> Box | None:
    """Return the only combination of values that is none of some boxes over the same attributes, None if not one."""
    masks: dict[int, dict[int, None]] = {}
    for box in boxes:
        for k, mask in box.literals:
            masks.setdefault(k, {})[mask] = None
    for k, known in masks.items():
        left = release.domain.attributes[k].full & ~sum(known)
        if left:
            known[left] = None
    if math.prod(map(len, masks.values())) != len(boxes) + 1:
        return None
    # Every value is in as many combinations as there are of the other attributes, but for the one that is missing.
    literals = []
    for k, known in masks.items():
        often = dict.fromkeys(known, 0)
        for mask in _masks_of(boxes, k):
            often[mask] += 1
        literals.append((k, min(often, key=lambda mask: often[mask])))
    return Box.of(literals)


def _masks_of(boxes: Iterable[Box], k: int) -> Iterable[int]:
    """Yield the values that every box allows of an attribute."""
    return (dict(box.literals)[k] for box in boxes)
