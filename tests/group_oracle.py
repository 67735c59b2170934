"""Brute force over sets of people: the smallest group and the classes that follow, from all datasets of tiny domains.

Shares no code with the engine: datasets are those that `oracle` lists, a group is any set of possible rows (their label
left out, or kept), and every set is looked at in every dataset.
"""

from __future__ import annotations

import numpy as np
import oracle

NONE = None  # no set is never empty
MOST = 12  # kinds of people; every subset of them is looked at


def tables(release: dict, by_label: bool) -> np.ndarray | None:
    """Count the people of every kind in every dataset (datasets, kinds); None where there are too many kinds."""
    cut = len(release["domain"]["attributes"]) if release["domain"].get("label") and not by_label else None
    kinds = sorted({row[:cut] for row in oracle.rows(release)}, key=repr)
    worlds = oracle.datasets(release)
    if len(kinds) > MOST or not worlds or len(worlds) << len(kinds) > 40_000_000:
        return None
    place = {kind: i for i, kind in enumerate(kinds)}
    out = np.zeros((len(worlds), len(kinds)), dtype=np.int64)
    for w, world in enumerate(worlds):
        for row in world:
            out[w, place[row[:cut]]] += 1
    return out


def smallest_group(release: dict, by_label: bool) -> int | str | None:
    """Give the least number of people that a never empty set has at most; NONE for no such set, "many" if not tried."""
    counts = tables(release, by_label)
    if counts is None:
        return "many"
    best = NONE
    for number in range(1, 1 << counts.shape[1]):
        chosen = [i for i in range(counts.shape[1]) if number >> i & 1]
        inside = counts[:, chosen].sum(axis=1)
        if inside.min() >= 1 and (best is NONE or inside.max() < best):
            best = int(inside.max())
    return best


def known_classes(release: dict) -> int | str:
    """Give the fewest people, over all datasets, whose kind has one class in all of them; "many" if not tried."""
    cut = len(release["domain"]["attributes"])
    worlds = oracle.datasets(release)
    if not worlds:
        return "many"
    classes: dict[tuple, set] = {}
    for world in worlds:
        for row in world:
            classes.setdefault(row[:cut], set()).add(row[cut])
    return min(sum(len(classes[row[:cut]]) == 1 for row in world) for world in worlds)
