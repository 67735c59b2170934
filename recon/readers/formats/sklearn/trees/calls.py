"""Ensembles that were fitted in several calls (`warm_start`): the trees of the last call, where others saw other rows.

Every call of `fit` draws from the rows that it was given, and nothing says that two calls were given the same ones. The
file has the number of rows of the last call only; trees of other calls are told by the number of rows that they drew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from recon.readers.formats.sklearn.trees.seeds import Root, root_of
from recon.readers.stored.objects.things import Thing

SAME_ROWS = "warm_start is set: all calls of fit are taken to have been given the same rows"
WHOLE = 1e-6  # weighted rows of a root are whole numbers to this precision


@dataclass(frozen=True)
class Calls:
    """The ensemble as the last call of `fit` left it (`last`), its first member's number, and what is to be said."""

    last: Thing
    first: int
    assumes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def last_call(forest: Thing) -> Calls:
    """Return an ensemble without the members that an earlier call of `fit` fitted on another number of rows.

    Without `warm_start` there was one call; with it, and equal numbers of rows, that the rows are the same is assumed.
    """
    members = forest.get("estimators_")
    if forest.get("warm_start") is not True or not isinstance(members, list) or len(members) < 2:
        return Calls(forest, 0)
    roots = [root_of(m) for m in members]
    known = [root for root in roots if root is not None]
    if len(known) < len(roots) or not all(abs(r.weight - round(r.weight)) < WHOLE for r in known):
        return Calls(forest, 0, (SAME_ROWS,))
    drawn = drawn_by(known)
    first = len(drawn) - 1
    while first and drawn[first - 1] == drawn[-1]:
        first -= 1
    if not first or in_blocks(drawn) > len(drawn) // 2 + 1:  # one call; or totals that weights made
        return Calls(forest, 0, (SAME_ROWS,))
    others = ", ".join(f"{n:,}" for n in dict.fromkeys(drawn[:first]))
    note = (
        f"the ensemble was fitted in several calls (warm_start): its first {first:,} trees drew {others} rows, those "
        f"of the last call {drawn[-1]:,}; the first ones may be about other rows and are left out"
    )
    return Calls(without(forest, first), first, (SAME_ROWS,) if in_blocks(drawn) > 2 else (), (note,))


def drawn_by(roots: list[Root]) -> list[int]:
    """Return how many rows every tree drew."""
    return [round(root.weight) for root in roots]


def in_blocks(drawn: list[int]) -> int:
    """Return the number of runs of equal numbers."""
    return 1 + int(np.count_nonzero(np.diff(drawn)))


def without(forest: Thing, first: int) -> Thing:
    """Return the ensemble from its member number `first` on."""
    fields: dict[str, Any] = dict(forest.fields())
    for name in ("estimators_", "estimators_features_"):
        held = forest.get(name)
        if isinstance(held, list):
            fields[name] = held[first:]
    return Thing(forest.callable, forest.how, forest.args, forest.kwargs, fields)
