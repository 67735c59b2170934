"""Which cells of a table of sums are sensitive, by the contributions behind them, and how far they must stay open.

A cell's total X is the sum of contributions x1 >= x2 >= ... of respondents; those of one holding count as one. Whoever
contributed x2 can take X - x2 for a bound on x1. A sensitive cell is hidden, and what is shown must leave a value of X
plus the protection level possible, and one of X less it.

    (n, k)        x1 + ... + xn > k % of X               level (100 / k) (x1 + ... + xn) - X
    (p, q)        X - x1 - x2 < (p / q) x1               level (p / q) x1 - (X - x1 - x2)
    p %           (p, 100)
    contributors  fewer than so many                     level a share of X (the safety range), at least 1

Source: Hundepool, Domingo-Ferrer, Franconi, Giessing, Nordholt, Spicer, de Wolf, "Statistical Disclosure Control",
Wiley 2012, sections 4.2.1 and 4.2.2 (rules; upper protection levels); Cox, "Linear sensitivity measures in statistical
disclosure control", Journal of Statistical Planning and Inference 5, 1981; tau-ARGUS user's manual 4.1, 2014 (holdings,
safety range).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from solvers.foundation.array_types import Bits, Ints


@dataclass(frozen=True, eq=False)
class Contributions:
    """Totals of cells in whole units, the number of contributors of each, and the `largest` contributions, (cells, k).

    `largest` falls along a row, 0 where there is none. A cell's contributors are holdings where there are any.
    """

    totals: Ints
    contributors: Ints
    largest: Ints


class SensitivityRule(Protocol):
    """A rule: how many of the largest contributions it looks at, and the levels of protection that it asks for."""

    @property
    def looks_at(self) -> int:
        """Return how many of the largest contributions it looks at."""

    def levels(self, cells: Contributions) -> Ints:
        """Return the protection level of each cell in whole units, 0 of one that is not sensitive."""


def _ceiling(number: Fraction) -> int:
    """Return the least whole number that is not below a number."""
    return -(-number.numerator // number.denominator)


@dataclass(frozen=True)
class DominanceRule:
    """The (n, k) rule: the n largest contributions are more than k % of the total."""

    n: int
    k: Fraction

    @property
    def looks_at(self) -> int:
        """Return how many of the largest contributions it looks at."""
        return self.n

    def levels(self, cells: Contributions) -> Ints:
        """Return the protection level of each cell, 0 of one that is not sensitive."""
        first = cells.largest[:, : self.n].sum(axis=1)
        pairs = zip(first.tolist(), cells.totals.tolist(), strict=True)
        return np.array([max(0, _ceiling(100 * x / self.k - total)) for x, total in pairs], dtype=np.int64)


@dataclass(frozen=True)
class PriorPosteriorRule:
    """The (p, q) rule, of q = 100 the p % rule: the second contributor knows the first to within p %."""

    p: Fraction
    q: Fraction = Fraction(100)
    looks_at: int = 2

    def levels(self, cells: Contributions) -> Ints:
        """Return the protection level of each cell, 0 of one that is not sensitive."""
        share = self.p / self.q
        first, second = (cells.largest[:, i].tolist() for i in (0, 1))
        each = zip(first, second, cells.totals.tolist(), strict=True)
        return np.array([max(0, _ceiling(share * a - (total - a - b))) for a, b, total in each], dtype=np.int64)


@dataclass(frozen=True)
class ContributorsRule:
    """The rule of a least number of contributors; `share` of its total (in %) is what a cell must stay open by."""

    least: int
    share: Fraction = Fraction(0)
    looks_at: int = 0

    def levels(self, cells: Contributions) -> Ints:
        """Return the protection level of each cell, 0 of one that is not sensitive; nobody's total is no secret."""
        few = (cells.contributors > 0) & (cells.contributors < self.least)
        wide = [max(1, _ceiling(self.share * total / 100)) for total in cells.totals.tolist()]
        return np.where(few, np.array(wide, dtype=np.int64), 0)


def contributions_of(records: Iterable[tuple[Iterable[int], str, int]], cells: int, most: int) -> Contributions:
    """Return the contributions of cells by records (cells that it belongs to, its holding, its value >= 0).

    Records of one holding in a cell are one contribution; `most`: how many of the largest are kept. Linear in the
    records times their cells.
    """
    held: list[dict[str, int]] = [{} for _ in range(cells)]
    for places, holding, value in records:
        for at in places:
            held[at][holding] = held[at].get(holding, 0) + value
    return _largest(held, most)


def _largest(held: list[dict[str, int]], most: int) -> Contributions:
    """Return the contributions of what holdings have in each cell."""
    largest = np.zeros((len(held), most), dtype=np.int64)
    for at, one in enumerate(held):
        first = sorted(one.values(), reverse=True)[:most]
        largest[at, : len(first)] = first
    totals = np.array([sum(one.values()) for one in held], dtype=np.int64)
    return Contributions(totals, np.array([len(one) for one in held], dtype=np.int64), largest)


def levels_of(rules: Mapping[str, SensitivityRule], cells: Contributions) -> tuple[Ints, dict[str, Bits]]:
    """Return the greatest level that any rule asks for of each cell, and which cells each rule calls sensitive."""
    each = {name: rule.levels(cells) for name, rule in rules.items()}
    nothing = np.zeros(len(cells.totals), dtype=np.int64)
    return np.max([nothing, *each.values()], axis=0), {name: levels > 0 for name, levels in each.items()}
