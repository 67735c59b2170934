"""How many rule lists of one literal per rule make the fewest errors, and between which Dist_G they lie: exact.

Every column an independent bit, a rule of one literal halves the rows that are left, so that a list removes one bit of
every training row that is still there before each of its rules: rows left, summed over rules. That sum adds up along a
list like its errors do. So prefixes are merged where they leave the same rows with the same errors, with their number
and their least and greatest sum; a prefix whose rows left cost too many errors, whatever follows, is left out.
Source: Ferry et al., SaTML 2024, eq. 12 (the score); `rule_list_search` (the sets of rows left, their floors).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recon.learners.optimal.lists.rule_table import (
    Arithmetic,
    Extensions,
    RuleTable,
    Words,
    arithmetic,
    extensions,
    work_of_extensions,
)
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits

MOST_PREFIXES = 4_000_000  # (rows left, errors) kept per length
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TiedLists:
    """All lists of at most `length` rules with `errors` errors, the fewest: how many `lists`, their Dist_G.

    The default rule does not count as a rule, and holds at least one row. Lists differ where their literals do, or
    their order. `dist_g`: the least and the greatest, over independent bits.
    """

    length: int
    errors: int
    lists: int
    dist_g: tuple[float, float]


@dataclass(frozen=True, eq=False)
class _Level:
    """Prefixes of one length merged: rows left, errors, how many there are, least and greatest sum of rows left."""

    sets: Words
    errors: Ints
    number: NDArray[np.object_]
    least: Ints
    most: Ints

    def take(self, at: NDArray[np.intp] | slice) -> _Level:
        """Return some of them."""
        return _Level(self.sets[at], self.errors[at], self.number[at], self.least[at], self.most[at])


@dataclass(slots=True, eq=False)
class _CompleteLists:
    """Complete lists of one length with so many errors: how many, least and greatest sum of rows left."""

    number: int = 0
    least: float = np.inf
    most: float = -np.inf

    def add(self, number: int, least: float, most: float) -> None:
        """Add lists."""
        self.number += number
        self.least, self.most = min(self.least, least), max(self.most, most)


def tied_lists(table: RuleTable, columns: int, optima: Sequence[int], limits: Limits) -> tuple[TiedLists, ...]:
    """Return the ties of at most 0, 1, ... rules; `optima`: the fewest errors of such lists, proved.

    The table's rules are single literals of `columns` columns. Raises `Inconclusive` where time or memory is up.
    Cost: per length, sets of rows left x patterns x rules.
    """
    numbers, copies = arithmetic(table), np.bincount(list(table.place.values()), minlength=len(table.antecedents))
    ends = [{errors: _CompleteLists() for errors in set(optima)} for _ in optima]
    if (whole := table.errors_of(())) in ends[0]:
        ends[0][whole].add(1, 0, 0)
    one = np.zeros(1, dtype=np.int64)
    level = _Level(numbers.root, one, np.array([1], dtype=object), one, one)
    for length in range(1, len(optima)):
        level = _extended(numbers, level, copies, optima, length, ends[length], limits)
    bits = table.rows * columns
    out = []
    for length, errors in enumerate(optima):
        same = [one[errors] for one in ends[: length + 1] if one[errors].number]
        low, high = min(one.least for one in same), max(one.most for one in same)
        out.append(TiedLists(length, errors, sum(one.number for one in same), (1 - high / bits, 1 - low / bits)))
    return tuple(out)


def _extended(
    numbers: Arithmetic, level: _Level, copies: Ints, optima: Sequence[int], length: int, ends: dict[int,
                                                                                                     _CompleteLists],
    limits: Limits,
) -> _Level:  # fmt: skip
    """Return the prefixes of `length` rules that may begin an optimal list; complete lists go into `ends`."""
    wanted = optima[length + 1] if length + 1 < len(optima) else -1  # no prefix goes on after the last length
    pieces = [level.take(slice(0, 0))]
    for start in range(0, len(level.errors) if len(copies) else 0, numbers.block):
        limits.check("optimal rule lists are counted")
        part = level.take(slice(start, start + numbers.block))
        added = extensions(numbers, part.sets)
        limits.charge(work_of_extensions(numbers, len(part.sets)))
        left = (added.captured + added.rest)[:, :1].astype(np.int64)[:, 0]
        least, most = part.least + left, part.most + left
        errors = (part.errors[:, None] + added.wrong).astype(np.int64)
        _complete(part, added, errors, copies, (least, most), ends)
        row, rule = np.nonzero(added.allowed & (added.rest > numbers.table.least) & (errors + added.floor <= wanted))
        pieces.append(_Level(part.sets[row] & numbers.outside[rule], errors[row, rule],
                             part.number[row] * copies[rule], least[row], most[row]))  # fmt: skip
        if sum(len(one.errors) for one in pieces) > MOST_PREFIXES:
            pieces = [_merged_prefixes(numbers, pieces)]
            if len(pieces[0].errors) > MOST_PREFIXES // 2:
                raise Inconclusive(f"more than {MOST_PREFIXES // 2:,} beginnings of optimal lists of {length} rules")
    return _merged_prefixes(numbers, pieces)


def _complete(
    part: _Level,
    added: Extensions,
    errors: Ints,
    copies: Ints,
    sums: tuple[Ints, Ints],
    ends: dict[int, _CompleteLists],
) -> None:
    """Add the lists that end with one of these rules and the default rule."""
    whole = np.where(added.allowed, errors + added.default, -1)
    for wanted, found in ends.items():
        row, rule = np.nonzero(whole == wanted)
        if len(row):
            number = int((part.number[row] * copies[rule]).sum())
            found.add(number, int(sums[0][row].min()), int(sums[1][row].max()))


def _merged_prefixes(numbers: Arithmetic, pieces: Sequence[_Level]) -> _Level:
    """Return prefixes with those that leave the same rows with the same errors as one."""
    whole = _Level(*(np.concatenate([getattr(one, name) for one in pieces])
                     for name in ("sets", "errors", "number", "least", "most")))  # fmt: skip
    if not len(whole.errors):
        return whole
    hashes = numbers.hashes(whole.sets)
    order = np.lexsort((whole.errors, hashes))
    whole, hashes = whole.take(order), hashes[order]
    first = np.ones(len(hashes), dtype=bool)
    same = (hashes[1:] == hashes[:-1]) & (whole.errors[1:] == whole.errors[:-1])
    first[1:] = ~(same & (whole.sets[1:] == whole.sets[:-1]).all(axis=1))
    at = np.flatnonzero(first)
    return _Level(whole.sets[at], whole.errors[at], np.add.reduceat(whole.number, at),
                  np.minimum.reduceat(whole.least, at), np.maximum.reduceat(whole.most, at))  # fmt: skip
