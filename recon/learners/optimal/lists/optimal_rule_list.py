"""Optimal rule lists: the fewest training errors that a list of so many rules can make, proved where time allows.

Source: Angelino, Larus-Stone, Alabi, Seltzer, Rudin, "Learning certifiably optimal rule lists for categorical data",
JMLR 18 (2018), for the problem and the bounds; the search is `recon.learners.optimal.lists.rule_list_search`.
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
from recon.learners.optimal.lists.rule_table import RuleTable, rule_table
from recon.learners.optimal.lists.tied_lists import TiedLists, tied_lists
from recon.learners.rule_lists.estimator import Antecedent, RuleListClassifier, is_whole, support_rows, training_data
from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier, conjunctions
from solvers.foundation.errors import Inconclusive, ReleaseError, TooLarge, Unsupported
from solvers.foundation.limits import SECONDS, Limits

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
        """Return of the lists as good as the fitted one, by length, how many there are and their Dist_G; `tied_lists`.

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
