"""Frequent antecedents, mined level by level (Apriori): with differentially private supports, or with exact ones.

Source: Agrawal, Srikant, "Fast algorithms for mining association rules", VLDB 1994 (candidates from the level below);
the private form is the simple level-wise one after Zeng, Naughton, Cai, "On differentially private frequent itemset
mining", PVLDB 6(1), 2012, with their truncation of long rows but without the steps that choose sizes from the data.

Proof of privacy. A row with at most d true literals meets at most C(d, i) antecedents of i literals, so one row more or
less changes at most min(C(d, i), candidates) supports of a level, each by 1; a replaced row at most
min(2 C(d, i), candidates). Discrete Laplace noise of that sensitivity times levels / ε makes each level
ε / levels-private (Ghosh, Roughgarden, Sundararajan 2012), and the next candidates depend on noisy supports only, so
the levels' budgets add up to ε. Filtering and sorting by noisy supports is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from recon.learners.rule_lists.brl_posterior import bit_mask
from recon.learners.rule_lists.estimator import Antecedent, Literal
from solvers.statements.noise.laws import Neighbours
from solvers.statements.noise.sampling import Randomness

Support = Callable[[int, list[int]], list[int]]  # (level, true supports) -> supports as published


@dataclass(frozen=True)
class Mining:
    """What is mined: antecedents of 1..`width` literals that at least `least` rows meet, all public numbers.

    `negations`: "column = 0" is a literal too. `most_items`: true literals that a row can have (None: all columns);
    what a row has beyond, in the columns' order, is ignored. `most`: antecedents at most, the best supported ones.
    """

    width: int = 2
    least: float = 1.0
    negations: bool = False
    most_items: int | None = None
    most: int | None = None


@dataclass(frozen=True)
class Mined:
    """Antecedents by falling support, and those supports (noisy ones when mined privately)."""

    antecedents: list[Antecedent]
    supports: list[int]


def mine_exactly(names: list[str], bits: NDArray[np.bool_], mining: Mining) -> Mined:
    """Return the frequent antecedents by their true supports: no differential privacy."""
    return _apriori(names, bits, mining, lambda _, counts: counts)


def mine_privately(
    names: list[str], bits: NDArray[np.bool_], mining: Mining,
    epsilon: Fraction, neighbours: Neighbours, randomness: Randomness,
) -> Mined:  # fmt: skip
    """Return the antecedents with frequent noisy supports, ε-differentially private (proof: this module's docstring).

    Cost: candidates x rows / 64 machine words, and one exact noise draw per candidate.
    """
    held = items_held(len(names), mining)

    def noisy(level: int, counts: list[int]) -> list[int]:
        scale = _level_sensitivity(held, level, len(counts), neighbours) * mining.width / epsilon
        return [count + randomness.discrete_laplace(scale) for count in counts]

    return _apriori(names, bits, mining, noisy)


def items_held(columns: int, mining: Mining) -> int:
    """Return how many literals a row can meet: one per column at most, fewer where the caller says so."""
    return columns if mining.most_items is None else min(columns, mining.most_items)


def _level_sensitivity(held: int, level: int, candidates: int, neighbours: Neighbours) -> int:
    """Return the most that one row changes a level's supports, summed (their L1 sensitivity)."""
    return min((2 if neighbours == "replace" else 1) * math.comb(held, level), candidates)


def _apriori(names: list[str], bits: NDArray[np.bool_], mining: Mining, publish: Support) -> Mined:
    """Return the frequent antecedents; each level's supports are seen only through `publish`."""
    literals, masks = _literal_masks(names, bits, mining)
    found: dict[tuple[int, ...], int] = {}
    frequent: dict[tuple[int, ...], int] = {(): (1 << len(bits)) - 1}  # itemset -> the rows that meet it
    for level in range(1, mining.width + 1):
        candidates = _next_level(frequent, literals)
        if not candidates:
            break
        met = {items: frequent[items[:-1]] & masks[items[-1]] for items in candidates}
        published = publish(level, [rows.bit_count() for rows in met.values()])
        kept = {items: s for items, s in zip(candidates, published, strict=True) if s >= mining.least}
        found |= kept
        frequent = {items: met[items] for items in kept}
    best = sorted(found, key=lambda items: -found[items])[: mining.most]
    return Mined([tuple(literals[i] for i in items) for items in best], [found[items] for items in best])


def _next_level(frequent: dict[tuple[int, ...], int], literals: list[Literal]) -> list[tuple[int, ...]]:
    """Return the itemsets of one literal more, all of whose parts are frequent, with no column twice."""
    if list(frequent) == [()]:
        return [(i,) for i in range(len(literals))]
    last = sorted({items[-1] for items in frequent})
    grown = (
        (*items, one)
        for items in sorted(frequent)
        for one in last
        if one > items[-1] and literals[one][0] not in {literals[i][0] for i in items}
    )
    return [items for items in grown if all(part in frequent for part in combinations(items, len(items) - 1))]


def _literal_masks(names: list[str], bits: NDArray[np.bool_], mining: Mining) -> tuple[list[Literal], list[int]]:
    """Return the literals and the rows that meet each, after rows with too many of them lost the last ones."""
    literals = [(name, value) for name in names for value in ((1, 0) if mining.negations else (1,))]
    truth = np.repeat(bits, 2, axis=1) if mining.negations else bits.copy()
    if mining.negations:
        truth[:, 1::2] = ~truth[:, 1::2]
    truth &= np.cumsum(truth, axis=1) <= items_held(len(names), mining)
    return literals, [bit_mask(truth[:, k]) for k in range(truth.shape[1])]
