"""The share of an attribute's fillings in which every choice of a tree stands, from independent uniform draws.

Rows' leaves and classes are published, so that a row's value of an attribute is uniform over what its leaf leaves, and
nodes side by side hold different rows: what happens below one is independent of what happens below the other. So
exactly uniform fillings *given that all choices below a node stand* are pairs of such fillings below its two children,
drawn again until the node's own choice stands too. The share is the product, node by node from below, of the shares of
pairs that stand; each is seen in draws that are independent and exactly of that law, so that Clopper and Pearson's
interval holds for each, and by Bonferroni's inequality for all at once. Where an event is likely no draw is repeated:
what happens at several nodes is then one event. Which nodes close an event is fixed by draws that are not counted.
Source: splitting by levels (Kahn and Harris 1951), with exact draws in place of a chain. Docs: docs/mathematics.md.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recon.learner_rule.estimating.grown import FittedTree, refuse_empty
from recon.learner_rule.estimating.standing import stands
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits

ENOUGH = 0.25  # share of draws for which everything so far stands, below which draws are repeated
PILOT = 400
TRIES = 200  # batches without one draw that stands before an event counts as too rare
COPIES = 12  # of a table, while it is looked at
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


class TooRareError(Exception):
    """No draw in which the choices below a node stand was found."""


@dataclass(eq=False)
class Passing:
    """Draws of one attribute's fillings: `closed` nodes close an event, `seen` has their (hits, draws).

    `sure`: log2 of the share that open leaves leave where they are counted exactly, the same in all draws.
    """

    grown: FittedTree
    attribute: int
    rng: np.random.Generator
    limits: Limits
    closed: set[int]
    pilot: bool = False
    seen: dict[int, tuple[int, int]] = field(default_factory=dict)
    sure: dict[int, float] = field(default_factory=dict)
    reaching: list[Bools] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Work out which values reach each node."""
        self.reaching = self.grown.reaching(self.attribute)

    def draws(self, node: int, size: int) -> tuple[Ints, Bools]:
        """Return tables (size, values, classes) of a node's rows, and which of them stand; of a closed node all do."""
        self.limits.check("fillings of an attribute were drawn")
        table, alive = self.once(node, size)
        if self.pilot and node and node not in self.closed and alive.mean() < ENOUGH:
            self.closed.add(node)
        if node in self.closed or not node:
            self.seen.setdefault(node, (int(alive.sum()), size))
        if node not in self.closed or not node:
            return table, alive
        kept, tries = [table[alive]], 0
        while (found := sum(len(t) for t in kept)) < size:
            tries = tries + 1 if not found else 0
            if tries > TRIES:
                raise TooRareError
            self.limits.check("fillings of an attribute were drawn")
            table, alive = self.once(node, size)
            kept.append(table[alive])
        return np.concatenate(kept)[:size], np.ones(size, dtype=bool)

    def once(self, node: int, size: int) -> tuple[Ints, Bools]:
        """Return tables of one batch, and which stand."""
        grown = self.grown
        if grown.left[node] < 0:
            return self.leaf(node, size)
        table, alive = self.draws(int(grown.left[node]), size)
        other, standing = self.draws(int(grown.right[node]), size)
        table = table + other
        return table, alive & standing & stands(grown, self.attribute, node, table)

    def leaf(self, node: int, size: int) -> tuple[Ints, Bools]:
        """Return tables of a leaf; where one row suffices for a child, open leaves are drawn as they must be."""
        grown, free = self.grown, self.reaching[node]
        refuse_empty(grown, node, free, self.attribute)
        counts, values = grown.counts[node], len(free)
        table = np.zeros((size, values, len(counts)), dtype=np.int64)
        uniform = free / max(free.sum(), 1)
        plain = grown.least == 1 and grown.learner.min_impurity_decrease <= 0
        if not (grown.open_leaf[node] and plain):
            for k in np.flatnonzero(counts):
                table[:, :, k] = self.rng.multinomial(counts[k], uniform, size)
            return table, stands(grown, self.attribute, node, table)
        alike = grown.seen[self.attribute].alike
        sizes = np.bincount(alike, weights=free)
        logs = np.where(sizes > 0, np.log2(np.maximum(sizes, 1)) - math.log2(free.sum()), -np.inf) * counts.sum()
        top = float(logs.max())
        weights = np.exp2(logs - top)
        self.sure[node] = min(0.0, top + math.log2(float(weights.sum())))
        group = self.rng.choice(len(sizes), size, p=weights / weights.sum())
        for one in np.unique(group):
            held, mine = group == one, free & (alike == one)
            for k in np.flatnonzero(counts):
                table[held, :, k] = self.rng.multinomial(counts[k], mine / mine.sum(), int(held.sum()))
        return table, np.ones(size, dtype=bool)


@dataclass(frozen=True)
class Passed:
    """What was seen of one attribute: (hits, draws) of every event, log2 of the exact part, whether all were seen."""

    attribute: int
    events: tuple[tuple[int, int], ...]
    sure: float
    whole: bool

    @property
    def log2(self) -> float:
        """Return the estimate of log2 of the share, -inf where an event was never seen."""
        if not self.whole or any(hits == 0 for hits, _ in self.events):
            return -math.inf
        return self.sure + sum(math.log2(hits / draws) for hits, draws in self.events)


def closing(grown: FittedTree, attribute: int, rng: np.random.Generator, limits: Limits) -> set[int]:
    """Return the nodes at which an attribute's events are closed, from a few draws of their own."""
    pilot = Passing(grown, attribute, rng, limits, set(), pilot=True)
    with suppress(TooRareError):
        pilot.draws(0, PILOT)
    return pilot.closed


def passed(
    grown: FittedTree, attribute: int, closed: set[int], draws: int, rng: np.random.Generator, limits: Limits
) -> Passed:
    """Return what was seen of an attribute in `draws` draws per event; `Inconclusive` where memory is too small."""
    seen, classes = grown.seen[attribute], grown.counts.shape[1]
    needed = draws * max(seen.values, len(seen.owner)) * classes * 8 * COPIES
    if needed > limits.memory:
        raise Inconclusive(f"{draws:,} draws of '{seen.name}' need about {needed / 1e6:,.0f} MB: ask for fewer draws")
    one = Passing(grown, attribute, rng, limits, set(closed))
    whole = True
    try:
        one.draws(0, draws)
    except TooRareError:
        whole = False
    # rounding: a logarithm per leaf
    return Passed(attribute, tuple(one.seen.values()), sum(one.sure.values()), whole)
