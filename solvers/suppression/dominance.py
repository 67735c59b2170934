"""Which cells of a table of sums are sensitive, by the contributions behind them, and how far they must stay open.

A cell's total X is the sum of contributions x1 >= x2 >= ... of respondents; those of one holding count as one. Whoever
contributed x2 can take X - x2 for a bound on x1. A sensitive cell is hidden, and what is shown must leave a value of X
plus the protection level possible, and one of X less it.

    (n, k)        x1 + ... + xn > k % of X               level (100 / k) (x1 + ... + xn) - X
    (p, q)        X - x1 - x2 < (p / q) x1               level (p / q) x1 - (X - x1 - x2)
    p %           (p, 100)
    contributors  fewer than so many                     level a share of X (the safety range), at least 1
    request       x1 > k % of X, and it asked for it     level (100 / k) x1 - X, or a share of X
    zero          all contributions are 0                level said by the rule

Of a sample, a record of weight w stands for w respondents who contribute the same: x1 >= x2 >= ... are those of all
respondents, of a weight that is not whole in parts.

Source: Hundepool, Domingo-Ferrer, Franconi, Giessing, Nordholt, Spicer, de Wolf, "Statistical Disclosure Control",
Wiley 2012, sections 4.2.1 and 4.2.2 (rules; upper protection levels); Cox, "Linear sensitivity measures in statistical
disclosure control", Journal of Statistical Planning and Inference 5, 1981; tau-ARGUS user's manual 4.1, 2014 (holdings,
safety range, request rule, zero rule, sampling weights).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np

from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import Unsupported


@dataclass(frozen=True, eq=False)
class Contributions:
    """Totals of cells in whole units, the number of contributors of each, and the `largest` contributions, (cells, k).

    `largest` falls along a row, 0 where there is none. A cell's contributors are holdings where there are any. `asked`:
    which requests the largest contributor of each made (1, 2, or 3: both; None: nobody says), `unit`: how many units
    are 1.
    """

    totals: Ints
    contributors: Ints
    largest: Ints
    asked: Ints | None = None
    unit: int = 1

    def of(self, cells: Ints) -> Contributions:
        """Return the contributions of some cells."""
        asked = None if self.asked is None else self.asked[cells]
        return Contributions(self.totals[cells], self.contributors[cells], self.largest[cells], asked, self.unit)


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


@dataclass(frozen=True)
class RequestRule:
    """The rule of foreign trade: the largest contributor is more than k % of the total and asked for protection.

    `shares`: k for whoever made request 1, then 2; `margin`: a share of the total (in %) to stay open by (0: the level
    of the (1, k) rule).
    """

    shares: tuple[Fraction, ...]
    margin: Fraction = Fraction(0)
    looks_at: int = 1

    def levels(self, cells: Contributions) -> Ints:
        """Return the protection level of each cell, 0 of one that is not sensitive; `Unsupported` without requests."""
        if cells.asked is None:
            raise Unsupported("nothing says who asked for protection: the request rule needs a column of requests")
        out = np.zeros(len(cells.totals), dtype=np.int64)
        for number, share in enumerate(self.shares):
            pairs = zip(cells.largest[:, 0].tolist(), cells.totals.tolist(), strict=True)
            over = [max(0, _ceiling(100 * x / share - total)) for x, total in pairs]
            wide = [max(1, _ceiling(self.margin * total / 100)) for total in cells.totals.tolist()]
            levels = np.array([level and (b if self.margin else level) for level, b in zip(over, wide, strict=True)])
            out = np.maximum(out, np.where(cells.asked & (1 << number), levels, 0))
        return out.astype(np.int64)


@dataclass(frozen=True)
class ZeroRule:
    """The rule of cells whose contributions are all 0: each of them is known; `level` is what it must stay open by."""

    level: Fraction
    looks_at: int = 0

    def levels(self, cells: Contributions) -> Ints:
        """Return the protection level of each cell, 0 of one that is not sensitive."""
        nothing = (cells.contributors > 0) & (cells.totals == 0)
        return np.where(nothing, max(1, _ceiling(self.level * cells.unit)), 0).astype(np.int64)


@dataclass(frozen=True)
class RecordNotes:
    """What is said of records beside their values: `weights` in units of 1 / `scale`, and which requests they made."""

    weights: Sequence[int] | None = None
    scale: int = 1
    asks: Sequence[int] | None = None


def contributions_of(
    records: Iterable[tuple[Iterable[int], str, int]], cells: int, most: int, notes: RecordNotes | None = None
) -> Contributions:
    """Return the contributions of cells by records (cells that it belongs to, its holding, its value >= 0).

    Records of one holding in a cell are one contribution; `most`: how many of the largest are kept. With weights,
    each record its own holding: totals and contributions are in units times `scale`. Linear in the records times their
    cells.
    """
    said = notes or RecordNotes()
    held: list[dict[str, int]] = [{} for _ in range(cells)]
    weights: list[dict[str, int]] = [{} for _ in range(cells)]
    asks: list[dict[str, int]] = [{} for _ in range(cells)]
    for i, (places, holding, value) in enumerate(records):
        for at in places:
            held[at][holding] = held[at].get(holding, 0) + value
            if said.weights is not None:
                weights[at][holding] = said.weights[i]
            if said.asks is not None:
                asks[at][holding] = asks[at].get(holding, 0) | said.asks[i]
    asked = None if said.asks is None else np.array([_asked_by_largest(*two) for two in zip(held, asks, strict=True)])
    if said.weights is None:
        return replace(_largest(held, most), asked=asked)
    return replace(_contributions_of_sample(held, weights, said.scale, most), asked=asked)


def _asked_by_largest(held: Mapping[str, int], asks: Mapping[str, int]) -> int:
    """Return which requests the largest contributor made, of several that are equal any of them."""
    first, out = max(held.values(), default=0), 0
    for holding, value in held.items():
        out |= asks[holding] if value == first else 0
    return out


def _largest(held: list[dict[str, int]], most: int) -> Contributions:
    """Return the contributions of what holdings have in each cell."""
    largest = np.zeros((len(held), most), dtype=np.int64)
    for at, one in enumerate(held):
        first = sorted(one.values(), reverse=True)[:most]
        largest[at, : len(first)] = first
    totals = np.array([sum(one.values()) for one in held], dtype=np.int64)
    return Contributions(totals, np.array([len(one) for one in held], dtype=np.int64), largest)


def _contributions_of_sample(
    held: list[dict[str, int]], weights: list[dict[str, int]], scale: int, most: int
) -> Contributions:
    """Return the contributions of all respondents that the records of a sample stand for."""
    largest, totals = np.zeros((len(held), most), dtype=np.int64), np.zeros(len(held), dtype=np.int64)
    for at, one in enumerate(held):
        totals[at] = sum(value * weights[at][key] for key, value in one.items())
        slot, room = 0, scale  # a respondent is a slot of a whole weight
        for value, weight in sorted(((value, weights[at][key]) for key, value in one.items()), reverse=True):
            left = weight
            while left and slot < most:
                part = min(left, room)
                largest[at, slot] += value * part
                left, room = left - part, room - part
                slot, room = (slot, room) if room else (slot + 1, scale)
    return Contributions(totals, np.array([len(one) for one in held], dtype=np.int64), largest)


def levels_of(rules: Mapping[str, SensitivityRule], cells: Contributions) -> tuple[Ints, dict[str, Bits]]:
    """Return the greatest level that any rule asks for of each cell, and which cells each rule calls sensitive."""
    each = {name: rule.levels(cells) for name, rule in rules.items()}
    nothing = np.zeros(len(cells.totals), dtype=np.int64)
    return np.max([nothing, *each.values()], axis=0), {name: levels > 0 for name, levels in each.items()}
