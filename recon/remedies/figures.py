"""Figures of a release that a policy looks at, asked for as cheaply as they are exact: before and after a remedy.

One partition with exact counts (a tree, a rule list) answers by its cells, with nothing solved. Other releases are
measured together within the limits: then figures are intervals, and their ends bounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from encoders.encode.encoder import EncodedRelease
from encoders.models.count_kinds import kinds_of
from recon.measures.measures import measure
from recon.measures.unordered import bits_left
from solvers.figures.partition import PartitionFigures
from solvers.foundation.errors import EmptyConfidenceSet, Inconclusive, ReconError, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.release import ANY_LABEL, Partition

Facts = dict[str, Any]
SHOWN = ("pinned", "bits_left_per_person", "least_bits_left", "smallest_group", "smallest_cell", "class_disclosure")
GROUPS = 10_000  # groups and cells that stand in the figures one by one


def figures_of(release: EncodedRelease, limits: Limits) -> Facts:
    """Return the figures of a release in the keys that policies look at: intervals, a None end where none is known.

    `rows`, `pinned`, `bits_before_per_person`, `bits_left_per_person`, `least_bits_left`, `smallest_group`, `groups`,
    `smallest_cell`, `cells`, `class_disclosure`, `kinds_of_counts`, `confidence`, `status`, `not_known`. Bits are of
    datasets without an order of rows. Cost: of one partition with exact counts linear in cells, else that of `measure`.
    """
    n = release.rows
    facts: Facts = {
        "rows": [n.low, n.high],
        "kinds_of_counts": sorted({kind for model in release.models for kind in kinds_of(model)}),
        "confidence": release.confidence,
        "not_known": {},
    }
    facts |= of_groups(release)
    if PartitionFigures.refusal(release.statements) is None and n.exact:
        return facts | of_partition(release, limits)
    try:
        return facts | of_system(release, limits)
    except EmptyConfidenceSet as error:
        status, why = "empty", str(error)
    except (Inconclusive, TooLarge, Unsupported) as error:
        status, why = "unknown", str(error)
    unknown = ("pinned", "bits_left_per_person", "least_bits_left", "bits_before_per_person")
    not_known = dict.fromkeys(unknown, why)
    return facts | dict.fromkeys(unknown) | {"status": status, "not_known": facts["not_known"] | not_known}


def of_groups(release: EncodedRelease) -> Facts:
    """Return what counts say of single groups: the smallest, the fewest rows of one class, groups of one class."""
    groups: list[dict[str, Any]] = []
    cells: list[dict[str, Any]] = []
    pure: list[dict[str, Any]] = []
    most = release.rows.high
    disclosed = [(0, 0)]
    for block in release.statements.partitions.values():
        before = len(pure)
        for region, statements in block.by_region.items():
            name = block.names[region]
            low = [int(block.low[s]) for s in statements]
            high = [int(block.high[s]) for s in statements]
            ends = [sum(low), bounded(sum(high), most)]
            if ends[1] != 0:
                groups.append({"name": name, "where": "", "rows": ends})
            if int(block.label[statements[0]]) == ANY_LABEL:
                continue
            for s, a, b in zip(statements, low, high, strict=True):
                if b:
                    text = block.labels[int(block.label[s])]
                    cells.append({"name": name, "class": text, "rows": [a, bounded(b, most)]})
            possible = [i for i, b in enumerate(high) if b]
            if len(possible) == 1 < len(statements):
                text = block.labels[int(block.label[statements[possible[0]]])]
                pure.append({"name": name, "class": text, "rows": ends})
        low_sum = sum(g["rows"][0] for g in pure[before:])
        disclosed.append((low_sum, low_sum if exact(block) else maybe_pure(block, most)))
    lows, highs = [a for a, _ in disclosed], [b for _, b in disclosed]
    known = bool(groups)
    return {
        "smallest_group": smallest(groups) if known else None,
        "groups": sorted(groups, key=by_rows)[:GROUPS],
        "groups_in_all": len(groups),
        "smallest_cell": smallest(cells) if cells else None,
        "cells": sorted(cells, key=by_rows)[:GROUPS],
        "cells_in_all": len(cells),
        "class_disclosure": {
            "rows": [max(lows), None if None in highs else max(h for h in highs if h is not None)],
            "groups": sorted(pure, key=by_rows)[:GROUPS],
            "groups_in_all": len(pure),
        },
    }


def bounded(high: int, most: int | None) -> int | None:
    """Return an upper end that is no more than everybody; None where nothing bounds it."""
    if most is not None:
        return min(high, most)
    return high if high < 1 << 53 else None


def exact(block: Partition) -> bool:
    """Return whether all counts of a partition are exact."""
    return bool((block.low == block.high).all())


def maybe_pure(block: Partition, most: int | None) -> int | None:
    """Return the most rows that groups of one class can have, where counts are intervals."""
    total = 0
    for statements in block.by_region.values():
        if int(block.label[statements[0]]) != ANY_LABEL and sum(int(block.low[s]) > 0 for s in statements) <= 1:
            total += max(int(block.high[s]) for s in statements)
    return bounded(total, most)


def by_rows(one: Mapping[str, Any]) -> tuple[float, float, str]:
    """Return the order of groups: fewest rows first."""
    low, high = one["rows"]
    return (low, math.inf if high is None else high, one["name"])


def smallest(found: Sequence[Mapping[str, Any]]) -> list[int | None]:
    """Return the least rows that the smallest group that is not empty can have, and the most."""
    low = min(max(1, one["rows"][0]) for one in found)
    sure = [one["rows"][1] for one in found if one["rows"][0] > 0 and one["rows"][1] is not None]
    return [low, min(sure, default=None)]


def of_partition(release: EncodedRelease, limits: Limits) -> Facts:
    """Return people, and bits, of one partition with exact counts: exact where the sizes of its regions are."""
    cells = PartitionFigures.of(release.statements, limits)
    counts, n = cells.vectors[0], int(cells.vectors[0].sum())
    filled = np.flatnonzero(counts).tolist()
    if not n or release.statements.domain.relative:
        why = "nobody is in it" if not n else "an attribute has no smallest step: raw rows cannot be counted"
        empty = [0, 0] if not n else None
        unknown = dict.fromkeys(("bits_left_per_person", "least_bits_left", "bits_before_per_person"))
        return unknown | {"pinned": empty, "status": "exact", "not_known": dict.fromkeys(unknown, why)}
    if any(cells.sizes[s] == 0 and cells.exact for s in filled):
        return {"pinned": None, "bits_left_per_person": None, "least_bits_left": None, "bits_before_per_person": None,
                "status": "unsat", "not_known": {"pinned": "the statements contradict each other"}}  # fmt: skip
    low, high = cells.datasets().bounds
    before = cells.unordered()
    pinned = cells.determined()
    sizes = [max(1, cells.sizes[s]) for s in filled]
    least = min(map(math.log2, sizes))
    open_end = cells.exact
    return {
        "pinned": [pinned, pinned] if open_end else [0, pinned],
        "bits_before_per_person": None if before is None else before / n,
        "bits_left_per_person": [max(0.0, low) / n, max(0.0, high) / n],
        "least_bits_left": [least, least if open_end else None],
        "status": "exact" if cells.exact else "bounds",
    }


def of_system(release: EncodedRelease, limits: Limits) -> Facts:
    """Return people and bits of any other release, as it is measured within the limits."""
    found = measure(release, "multiset", limits)
    if found.status == "unsat":
        return {"pinned": None, "bits_left_per_person": None, "least_bits_left": None, "bits_before_per_person": None,
                "status": "unsat", "not_known": {"pinned": "the statements contradict each other"}}  # fmt: skip
    n, left, known = found.rows, bits_left(found), found.figures == "exact"
    pinned, least = found.determined_rows, found.smallest_region
    missing = {}
    if pinned is None:
        missing["pinned"] = "which cells surely hold rows was not found within the limits"
    if left is None or not n:
        missing["bits_left_per_person"] = "the datasets were not counted"
    bits = None if least is None or least < 1 else math.log2(least)
    return {
        "pinned": None if pinned is None else [pinned, pinned if known else release.rows.high],
        "bits_before_per_person": found.unordered_before / n if n and found.unordered_before is not None else None,
        "bits_left_per_person": [left[0] / n, left[1] / n] if left is not None and n else None,
        "least_bits_left": None if bits is None else [bits if known else 0.0, bits],
        "status": found.status,
        "not_known": missing,
    }


def whole_facts(release: EncodedRelease, limits: Limits) -> Facts:
    """Return the figures, with "why not" in place of a refusal."""
    try:
        return figures_of(release, limits)
    except ReconError as error:
        unknown: Facts = dict.fromkeys((*SHOWN, "rows", "groups", "cells"))
        return unknown | {"status": "unknown", "not_known": dict.fromkeys(SHOWN, str(error))}
