"""Rows that are the same: whether one was trained on is then no question about the row alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recon.attacks.evaluation.figures import area
from recon.queries.prediction.records import Bits, Ints


@dataclass(frozen=True)
class Duplicates:
    """How far membership is a property of rows, label included.

    `rows`: all; `distinct`: different ones; `members_both`, `others_both`: rows inside and outside whose like is on
    the other side too. `best_auc`, `best_advantage`: what an attacker reaches on these very rows who knows how often
    each distinct row is inside and outside: no score that depends on the row alone is better.
    """

    rows: int
    distinct: int
    members_both: int
    others_both: int
    best_auc: float
    best_advantage: float

    def sentence(self) -> str:
        """Return it in words."""
        both = self.members_both + self.others_both
        if not both:
            return f"All {self.rows:,} rows ({self.distinct:,} distinct) are either inside or outside, none is both."
        return (
            f"Of {self.rows:,} rows only {self.distinct:,} are distinct; {both:,} ({both / self.rows:.0%}) are the "
            f"same as a row on the other side, so no attack on rows has an AUC above {self.best_auc:.3f} or an "
            f"advantage above {self.best_advantage:.3f} here."
        )


def counted(number: Ints, member: Bits) -> tuple[Ints, Ints]:
    """Return (distinct rows,) how often each is inside and outside; `number` (rows,): which distinct row each is."""
    member = np.asarray(member, dtype=bool)
    _, at = np.unique(number, return_inverse=True)
    size = int(at.max()) + 1 if len(at) else 0
    inside: Ints = np.bincount(at[member], minlength=size).astype(np.int64)
    outside: Ints = np.bincount(at[~member], minlength=size).astype(np.int64)
    return inside, outside


def once(number: Ints) -> Bits:
    """Return (rows,) which rows have no like among all rows, inside or outside: their membership is well defined.

    Where rows are put inside at random, these are a fair test set: a row's being inside says nothing about it. Dropping
    only the rows that are on both sides (`both_sides`) is not: a row with k copies is more often wholly inside than
    wholly outside where more rows are inside, so that the members left have more copies, which a model tells.
    """
    _, at, copies = np.unique(number, return_inverse=True, return_counts=True)
    found: Bits = (copies == 1)[at.reshape(-1)]
    return found


def both_sides(number: Ints, member: Bits) -> Bits:
    """Return (rows,) whose like is both inside and outside; see `once` for what to test on."""
    inside, outside = counted(number, member)
    _, at = np.unique(number, return_inverse=True)
    found: Bits = ((inside > 0) & (outside > 0))[at]
    return found


def duplicates(number: Ints, member: Bits) -> Duplicates:
    """Return how many rows are on both sides, and what that leaves to the best attack. Cost: sorting the rows.

    Source of the best scores: Neyman and Pearson 1933, by the share of a distinct row's copies that is inside.
    """
    member = np.asarray(member, dtype=bool)
    inside, outside = counted(number, member)
    both = (inside > 0) & (outside > 0)
    members, others = int(inside.sum()), int(outside.sum())
    auc, advantage = 0.5, 0.0
    if members and others:
        _, at = np.unique(number, return_inverse=True)
        ratio = (inside / (inside + outside))[at]
        auc = area(ratio[member], ratio[~member])[0]
        advantage = float(np.maximum(0, inside / members - outside / others).sum())
    return Duplicates(len(member), len(inside), int(inside[both].sum()), int(outside[both].sum()), auc, advantage)
