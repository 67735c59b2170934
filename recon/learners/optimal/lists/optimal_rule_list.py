"""Optimal rule lists: the fewest training errors that a list of so many rules can make, proved where time allows.

Source: Angelino, Larus-Stone, Alabi, Seltzer, Rudin, "Learning certifiably optimal rule lists for categorical data",
JMLR 18 (2018), for the problem and the bounds; the search is `recon.learners.optimal.lists.rule_list_search`.

How many rule lists of one literal per rule make the fewest errors, and between which Dist_G they lie: exact.

Every column an independent bit, a rule of one literal halves the rows that are left, so that a list removes one bit of
every training row that is still there before each of its rules: rows left, summed over rules. That sum adds up along a
list like its errors do. So prefixes are merged where they leave the same rows with the same errors, with their number
and their least and greatest sum; a prefix whose rows left cost too many errors, whatever follows, is left out.
Source: Ferry et al., SaTML 2024, eq. 12 (the score); `rule_list_search` (the sets of rows left, their floors).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from encoders.models.learner_facts import Learner
from recon.learners.optimal.lists.rule_list_search import Rules, best_lists
from recon.learners.optimal.lists.rule_table import (
    Arithmetic,
    Extensions,
    RuleTable,
    Words,
    arithmetic,
    extensions,
    rule_table,
    work_of_extensions,
)
from recon.learners.rule_lists.estimator import Antecedent, RuleListClassifier, is_whole, support_rows, training_data
from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier, conjunctions
from solvers.foundation.errors import Inconclusive, ReleaseError, TooLarge, Unsupported
from solvers.foundation.limits import SECONDS, Limits

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


WIDEST = 3  # literals per rule: beyond, there are too many rules for any length
MOST_CELLS = 1 << 30  # of the table of rules and distinct rows, one byte each


@dataclass(frozen=True)
class PathEntry:
    """The best list found of at most `length` rules (the default rule not counted).

    `errors`: its training errors. `bound`: what no such list falls below, errors + regularisation x rows x rules: a
    whole number where there is no regularisation. `certified`: whether the list attains the bound. `rules`: as
    `rules_` of the classifier, the default rule last.
    """

    length: int
    errors: int
    bound: float
    certified: bool
    rules: list[tuple[Antecedent, list[int]]]


class OptimalRuleListClassifier(RuleListClassifier):
    """Rule list over binary columns with the fewest training errors, with scikit-learn's estimator interface.

    `max_length`: rules at most, WITHOUT the default rule (`GreedyRuleListClassifier` and its `max_length` count it).
    `min_support`: rows that a rule must capture, those of earlier rules not counted: a share of all rows (float) or a
    number (int); the default rule needs none. `negations`: whether "column = 0" is a literal too. `regularisation`:
    what a rule costs, in errors per training row (the λ of CORELS). `seconds`: time limit, None for none. `width`:
    literals per rule at most; the larger, the less is certified in the time.

    After `fit`: `rules_`, a list of (literals, class counts), the default rule last with no literals; `errors_` of it;
    `bound_`: what errors + regularisation x rows x rules of no list falls below; `gap_`: by how much the list found is
    above it, 0.0 where it is optimal (`optimal_`); `path_`: one `PathEntry` per length 0..`max_length`; `classes_`.
    Never more errors than the greedy list of the same length, support and width, where there is no regularisation.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.OptimalRuleListClassifier(max_length=1).fit(rows[["smoker", "old"]], rows["ill"])
    >>> model.errors_, model.optimal_
    (1, True)
    """

    def __init__(
        self,
        max_length: int = 5,
        min_support: float | int = 0.0,
        negations: bool = True,
        regularisation: float = 0.0,
        seconds: float | None = SECONDS,
        width: int = 1,
    ) -> None:
        self.max_length = max_length
        self.min_support = min_support
        self.negations = negations
        self.regularisation = regularisation
        self.seconds = seconds
        self.width = width

    def fit(
        self, X: Any, y: ArrayLike, stop: Event | None = None, limits: Limits | None = None,  # noqa: N803 - scikit-learn's name
    ) -> OptimalRuleListClassifier:  # fmt: skip
        """Return the fitted list; `stop` ends the search as `seconds` does, `limits` replace both.

        Raises `ReleaseError` for bad parameters, a column that is not binary, missing labels, unequal lengths.
        """
        names, bits, target = training_data(X, y)
        least = self._least(len(bits))
        own = None if self.seconds is None else float(self.seconds)
        limits = limits or Limits(seconds=own, stop=stop or Event())
        if not len(bits):
            raise ReleaseError(f"0 rows of {len(names)} columns: there must be some of both")
        self._check_size(len(names), len(bits))
        self.learner_ = None
        greedy = GreedyRuleListClassifier(self.width, least, self.max_length + 1, self.negations).fit(X, y)
        self.classes_ = greedy.classes_
        codes = np.searchsorted(self.classes_, target)
        self._note_columns(names)
        table = rule_table(names, bits, codes, conjunctions(names, self.width, self.negations), least)
        penalty = Fraction(repr(float(self.regularisation))) * len(bits)
        path = best_lists(table, self.max_length, penalty, limits, [_indices_of(table, greedy.rules_)])
        self.path_ = tuple(
            PathEntry(b.length, b.errors, _number(b.bound), b.certified, _estimator_rules(table, b.rules))
            for b in path.best
        )
        last = path.best[-1]
        self.rules_, self.errors_, self.optimal_ = self.path_[-1].rules, last.errors, last.certified
        self.bound_, self.gap_ = self.path_[-1].bound, float(last.objective - last.bound)
        if self.optimal_ and not self.regularisation:  # without a proof nothing follows from how it was chosen
            self.learner_ = Learner(
                "optimal rule list", "errors", width=int(self.width), max_length=int(self.max_length) + 1,
                min_support=least, negations=bool(self.negations), columns=len(names), source="the file",
            )  # fmt: skip
        return self

    def ties(self, X: Any, y: ArrayLike, *, limits: Limits | None = None) -> tuple[TiedLists, ...]:  # noqa: N803
        """Return how many lists are as good as the fitted one, by length, and their Dist_G; see `tied_lists`.

        The list is fitted to the same rows. Raises `Unsupported` for wider rules and a price per rule, `Inconclusive`
        where a length is not proved or the ties are too many to be distinguished in time.
        """
        self._check_fitted()
        if self.width > 1 or self.regularisation:
            raise Unsupported("ties are counted of rules of one literal, without a price per rule")
        open_lengths = [entry.length for entry in self.path_ if not entry.certified]
        if open_lengths:
            raise Inconclusive(f"the fewest errors of at most {open_lengths[0]} rules are not proved")
        names, bits, target = training_data(X, y)
        codes = np.searchsorted(self.classes_, target)
        table = rule_table(names, bits, codes, conjunctions(names, 1, self.negations), self._least(len(bits)))
        within = limits or Limits(seconds=None if self.seconds is None else float(self.seconds))
        return tied_lists(table, len(names), [entry.errors for entry in self.path_], within)

    def _least(self, n: int) -> int:
        """Return the fewest rows that a rule captures; `ReleaseError` for parameters that make no sense."""
        if not (is_whole(self.max_length) and self.max_length >= 0):
            raise ReleaseError(f"max_length must be a whole number of at least 0, not {self.max_length!r}")
        if not (is_whole(self.width) and 1 <= self.width <= WIDEST):
            raise ReleaseError(f"width must be a whole number from 1 to {WIDEST}, not {self.width!r}")
        for name, value in (("regularisation", self.regularisation), ("seconds", self.seconds)):
            numeric = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
            if not (numeric and value is not None and 0 <= value < math.inf) and not (
                value is None and name == "seconds"
            ):
                raise ReleaseError(f"{name} must be a number of at least 0, not {value!r}")
        return max(1, math.ceil(support_rows(self.min_support, n)))

    def _check_size(self, columns: int, rows: int) -> None:
        """Raise `TooLarge` where the rules of this width are too many to be written down."""
        values = 2 if self.negations else 1
        rules = sum(math.comb(columns, size) * values**size for size in range(1, self.width + 1))
        if rules * min(rows, 1 << min(columns, 40)) > MOST_CELLS:
            raise TooLarge(f"{rules:,} rules of up to {self.width} literals over {rows:,} rows: choose a smaller width")

    def verdict(self) -> list[str]:
        """Return what is proved about the fitted list, and per length, in lines of text."""
        self._check_fitted()
        lines = []
        for entry in self.path_:
            what = "optimal" if entry.certified else f"not certified: no list has fewer than {entry.bound:g}"
            if self.regularisation and not entry.certified:
                what = f"not certified: no list has an objective below {entry.bound:g}"
            lines.append(f"at most {entry.length} rules before the default: {entry.errors:,} training errors, {what}")
        return lines


def _indices_of(table: RuleTable, rules: Sequence[tuple[Antecedent, Any]]) -> Rules:
    """Return the indices of a list's rules in a table."""
    return tuple(table.place[antecedent] for antecedent, _ in rules[:-1])


def _estimator_rules(table: RuleTable, rules: Rules) -> list[tuple[Antecedent, list[int]]]:
    """Return a list as the estimator has it: literals and the class counts of the rows captured, default rule last."""
    free = np.ones(len(table.weight), dtype=bool)
    out: list[tuple[Antecedent, list[int]]] = []
    for rule in rules:
        hit: NDArray[np.bool_] = free & table.truth[:, rule]
        out.append((table.antecedents[rule], table.weight[hit].sum(axis=0).tolist()))
        free &= ~hit
    return [*out, ((), table.weight[free].sum(axis=0).tolist())]


def _number(value: Fraction) -> float:
    """Return a bound as a whole number where it is one, else the next float below."""
    if value.denominator == 1:
        return int(value)
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)
