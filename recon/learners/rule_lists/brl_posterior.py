"""Bayesian rule lists: prior, likelihood, its sensitivity, and the exact law over all lists of a small space.

Source: Letham, Rudin, McCormick, Madigan, "Interpretable classifiers using rules and Bayesian analysis", Annals of
Applied Statistics 9(3), 2015 (prior and likelihood); Belardo, "Knowledge Discovery From Sensitive Data: Differentially
Private Bayesian Rule Lists", 2018 (the tempered law, Lemma 2). The sensitivities here are the corrected ones: Lemma 2
as printed is too small by one row where the neighbour is the larger table.

A list is a tuple of antecedent numbers, in order, none twice; the default rule follows and is not written.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.errors import ReleaseError
from solvers.statements.noise.laws import Neighbours

TargetLaw = Literal["base_measure", "monotone", "tempered_prior"]
Chosen = tuple[int, ...]
SLACK = 1e-6  # share added to a sensitivity: rounding of the log scores (1e-16 of n ln n nats) stays far below it
MEMO = 200_000  # lists whose score is remembered


@dataclass(frozen=True)
class RuleListPrior:
    """Letham et al.'s prior: how long the list is, then the size of each antecedent, then which of that size.

    `sizes`: literals of each antecedent. `length` is λ, the expected number of rules without the default one, `width`
    is η, the expected literals per rule. `longest`: rules at most without the default one (at most all).
    """

    sizes: tuple[int, ...]
    length: float
    width: float
    longest: int

    def log(self, chosen: Chosen) -> float:
        """Return the natural log of the prior probability of a list; the probabilities of all lists sum to 1."""
        left = self.number_of_size.copy()
        weight = {size: math.exp(size * math.log(self.width) - math.lgamma(size + 1)) for size in left}
        total = math.fsum(weight.values())
        found = self.log_length(len(chosen))
        for one in chosen:
            size = self.sizes[one]
            found += math.log(weight[size] / total / left[size])
            left[size] -= 1
            if not left[size]:  # the size is used up: it leaves the normaliser (where imodels' copy goes wrong)
                total = math.fsum(weight[k] for k, number in left.items() if number)
        return found

    def log_length(self, m: int) -> float:
        """Return the log probability of m rules: Poisson(λ) cut at the longest list."""
        return self.log_lengths[m]

    @cached_property
    def number_of_size(self) -> dict[int, int]:
        """Return how many antecedents there are of each size, in the order in which sizes first occur."""
        return dict(Counter(self.sizes))

    @cached_property
    def log_lengths(self) -> list[float]:
        """Return the log probability of every number of rules; chains ask for it at every step."""
        terms = [j * math.log(self.length) - math.lgamma(j + 1) for j in range(self.longest + 1)]
        total = _log_sum(terms)
        return [term - total for term in terms]


@dataclass(frozen=True)
class RuleListLaw:
    """The log weight of a list: `prior` times its log prior plus `likelihood` times its log likelihood."""

    prior: float = 1.0
    likelihood: float = 1.0


def tempered(target: TargetLaw, epsilon: float, sensitivity: float) -> RuleListLaw:
    """Return the law whose perfect sample is ε-differentially private, the log likelihood's sensitivity given.

    `base_measure`: prior · lik^{ε/2Δ}, the exponential mechanism with the public prior as its base measure (the prior
    is not tempered: it is the same for both neighbours). `monotone`: prior · lik^{ε/Δ}, for add/remove only: every row
    lowers the likelihood of every list, so numerator and normaliser move the same way. `tempered_prior`: the thesis's
    (prior · lik)^{ε/2Δ}, private too but drawn to the longest lists, of which there are most.
    """
    rate = epsilon / (2 * sensitivity * (1 + SLACK))
    if target == "monotone":
        return RuleListLaw(1.0, 2 * rate)
    return RuleListLaw(rate if target == "tempered_prior" else 1.0, rate)


def sensitivity(neighbours: Neighbours, rows: int, alpha: tuple[float, float]) -> float:
    """Return the most that one row changes the log likelihood of any list, in nats.

    `rows`: the public number of rows (`replace`), or a public bound on it (`add_remove`). With α = (1, 1) this is
    ln(rows) and ln(rows + 1). A row with label l added to a cell multiplies the likelihood by
    (N_l + α_l) / (N + α_0 + α_1) < 1, least at N_l = 0, N = rows - 1. A replaced row leaves a cell of n - k rows as
    the only one of its label, and joins k rows of its new label in another cell, or changes the label in one cell.
    Cost: one pass over k. Raises `ReleaseError` where there is no row to replace by a different one.
    """
    both = alpha[0] + alpha[1]
    if neighbours == "add_remove":
        return math.log((rows - 1 + both) / min(alpha))
    if rows < 2:
        raise ReleaseError("neighbours 'replace' needs at least 2 rows: with fewer there is nothing to learn from")
    k = np.arange(rows, dtype=float)
    ratios = [(rows - 1 + alpha[1 - old]) / alpha[old] for old in (0, 1)]
    for old in (0, 1):
        for new in (0, 1):
            ratios.append(float(((rows - k - 1 + both) * (k + alpha[new]) / ((k + both) * alpha[old])).max()))
    return math.log(max(ratios))


class Scores:
    """Log prior and log likelihood of lists over one table, remembered per list.

    `masks`: for each antecedent the rows that meet it, one bit per row in a Python integer; `positive`: the rows of
    the second class. `alpha`: (α_0, α_1) of the Beta prior. `normalised`: whether the likelihood carries the Beta
    normaliser once per rule (it is 1 for α = (1, 1); the thesis leaves it out, which changes the law over lengths).
    """

    def __init__(
        self, masks: Sequence[int], positive: int, rows: int, prior: RuleListPrior,
        alpha: tuple[float, float] = (1.0, 1.0), normalised: bool = True,
    ) -> None:  # fmt: skip
        self.masks, self.positive, self.all, self.prior = list(masks), positive, (1 << rows) - 1, prior
        self.alpha = alpha
        constant = math.lgamma(alpha[0] + alpha[1]) - math.lgamma(alpha[0]) - math.lgamma(alpha[1])
        self.constant = constant if normalised else 0.0
        self.terms: dict[tuple[int, int], float] = {}
        self.memo: dict[Chosen, tuple[float, float]] = {}

    def term(self, zeros: int, ones: int) -> float:
        """Return one rule's share of the log likelihood: the log of a Beta integral over its rows' labels."""
        found = self.terms.get((zeros, ones))
        if found is None:
            a, b = zeros + self.alpha[0], ones + self.alpha[1]
            found = self.constant + math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
            self.terms[zeros, ones] = found
        return found

    def split(self, rows: int) -> tuple[int, int]:
        """Return how many of some rows (a bit mask) have the first and the second class."""
        ones = (rows & self.positive).bit_count()
        return rows.bit_count() - ones, ones

    def captures(self, chosen: Chosen) -> list[tuple[int, int]]:
        """Return the class counts of each rule, the default rule last: a row belongs to the first rule it meets."""
        free, found = self.all, []
        for one in chosen:
            hit = free & self.masks[one]
            found.append(self.split(hit))
            free ^= hit
        return [*found, self.split(free)]

    def of(self, chosen: Chosen) -> tuple[float, float]:
        """Return (log prior, log likelihood) of a list; the likelihood has a term for the default rule too."""
        found = self.memo.get(chosen)
        if found is None:
            if len(self.memo) >= MEMO:
                self.memo.clear()
            likelihood = math.fsum(self.term(*pair) for pair in self.captures(chosen))
            found = self.memo[chosen] = (self.prior.log(chosen), likelihood)
        return found

    def log_weight(self, chosen: Chosen, law: RuleListLaw) -> float:
        """Return the log of a list's unnormalised probability under a law."""
        prior, likelihood = self.of(chosen)
        return law.prior * prior + law.likelihood * likelihood


def number_of_lists(antecedents: int, longest: int) -> int:
    """Return how many lists there are, the empty one included: Σ_m A! / (A - m)!."""
    return sum(math.perm(antecedents, m) for m in range(longest + 1))


def _all_lists(antecedents: int, longest: int) -> Iterator[Chosen]:
    """Yield every list, depth first, the empty one first."""
    yield ()
    stack: list[Chosen] = [(one,) for one in reversed(range(antecedents))] if longest else []
    while stack:
        chosen = stack.pop()
        yield chosen
        if len(chosen) < longest:
            stack += [(*chosen, one) for one in reversed(range(antecedents)) if one not in chosen]


@dataclass(frozen=True, eq=False)
class Enumerated:
    """Every list of a space with its log weight under one law: the law itself, exactly."""

    lists: list[Chosen]
    log_weights: NDArray[np.float64]

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Return the lists' probabilities, in the same order."""
        found: NDArray[np.float64] = np.exp(self.log_weights - _log_sum(self.log_weights.tolist()))
        return found


def enumerate_law(scores: Scores, law: RuleListLaw) -> Enumerated:
    """Return the exact law over all lists. Cost: some ten microseconds per list and thousand rows."""
    lists = list(_all_lists(len(scores.masks), scores.prior.longest))
    return Enumerated(lists, np.array([scores.log_weight(chosen, law) for chosen in lists]))


def _log_sum(logs: Sequence[float]) -> float:
    """Return the log of a sum of exponentials, without overflow."""
    top = max(logs)
    return top + math.log(math.fsum(math.exp(value - top) for value in logs))


def bit_mask(column: NDArray[np.bool_]) -> int:
    """Return a column as an integer: bit i is row i."""
    return int.from_bytes(np.packbits(column, bitorder="little").tobytes(), "little")
