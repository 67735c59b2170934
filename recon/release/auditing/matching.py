"""How much of the true rows a reconstruction has right, beside what needs no release at all.

Rows are matched at minimum cost, the number of attribute values that differ (Hamming). That distance is a
metric, so some optimal matching pairs equal rows with each other: they are cancelled first, and only the rest is
solved (assignment problem: Kuhn 1955; on grouped rows a transportation problem, by min-cost flow).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recon.io.files.opening import current
from solvers.foundation.errors import EngineError, ReleaseError

MAX_ASSIGNED = 1_500  # rows on each side for the dense assignment
MAX_ARCS = 4_000_000  # pairs of distinct rows for the flow
Rows = NDArray[Any]


@dataclass(frozen=True)
class Match:
    """A reconstruction against the truth.

    `rows_right`: the most rows that can be matched exactly, with multiplicity; `share_right` of the true rows.
    `cells_right`: share of attribute values right under a minimum-cost matching, None where too large (`note`).
    `unique_rows`: rows that occur once in the truth; `unique_right`: of those, how many are in the guess.
    """

    rows: int
    rows_right: int
    share_right: float
    cells_right: float | None
    unique_rows: int
    unique_right: int
    note: str = ""


@dataclass(frozen=True)
class Baseline:
    """What a guess without the release has right, on average over repeats."""

    name: str
    share_right: float
    cells_right: float | None


@dataclass(frozen=True)
class Comparison:
    """A reconstruction and the baselines it must beat."""

    match: Match
    baselines: tuple[Baseline, ...]


def group_rows(truth: Rows, guess: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct rows of both as codes (k, attributes), and how often each occurs in truth and guess."""
    if truth.dtype != guess.dtype:  # int64 beside uint64 would become float64, and large indices equal
        truth, guess = truth.astype(object), guess.astype(object)
    both = np.concatenate([truth, guess])
    codes = np.empty(both.shape, dtype=np.int64)
    for k in range(both.shape[1]):
        current().check()
        codes[:, k] = np.unique(both[:, k], return_inverse=True)[1].reshape(-1)
    current().check()
    distinct, back = np.unique(codes, axis=0, return_inverse=True)
    current().check()
    back = back.reshape(-1)
    in_truth = np.bincount(back[: len(truth)], minlength=len(distinct))
    return distinct, in_truth, np.bincount(back[len(truth) :], minlength=len(distinct))


def compare(truth: Rows, guess: Rows) -> Match:
    """Return how much of the truth (n, attributes) the guess (m, attributes) has right.

    Rows without a partner (m < n) count as wrong in every value. Cost: sorting, then the matching of the rows
    that are not equal. Raises `ReleaseError` for tables that do not have the same attributes.
    """
    if truth.ndim != 2 or guess.ndim != 2 or truth.shape[1] != guess.shape[1]:
        raise ReleaseError(f"truth {truth.shape} and guess {guess.shape} must be rows of the same attributes")
    if not len(truth):
        return Match(0, 0, 1.0, 1.0, 0, 0)
    distinct, in_truth, in_guess = group_rows(truth, guess)
    common = np.minimum(in_truth, in_guess)
    right = int(common.sum())
    distance, note = _matching_cost(distinct, in_truth - common, in_guess - common)
    width = truth.shape[1]
    unpartnered = max(0, len(truth) - len(guess))
    cells = None if distance is None else 1 - (distance + unpartnered * width) / (len(truth) * width)
    once = in_truth == 1
    return Match(
        len(truth), right, right / len(truth), cells, int(once.sum()), int((once & (in_guess > 0)).sum()), note
    )


def _matching_cost(distinct: Rows, left: NDArray[np.int64], right: NDArray[np.int64]) -> tuple[int | None, str]:
    """Return the least total Hamming distance of matching as many rows as possible, or None and why not."""
    rows, columns = np.flatnonzero(left), np.flatnonzero(right)
    if not len(rows) or not len(columns):
        return 0, ""
    if max(left.sum(), right.sum()) <= MAX_ASSIGNED:
        return _assignment(distinct, np.repeat(rows, left[rows]), np.repeat(columns, right[columns])), ""
    if len(rows) * len(columns) <= MAX_ARCS:
        return _flow(distinct, rows, columns, left[rows], right[columns]), ""
    return None, f"{len(rows):,} x {len(columns):,} distinct rows are too many for a minimum-cost matching"


def _hamming(a: Rows, b: Rows) -> NDArray[np.int64]:
    """Return (len(a), len(b)) numbers of attributes that differ."""
    out = np.zeros((len(a), len(b)), dtype=np.int64)
    for k in range(a.shape[1]):
        out += a[:, k, None] != b[None, :, k]
    return out


def _assignment(distinct: Rows, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> int:
    """Return the least cost of the dense assignment problem."""
    from scipy.optimize import linear_sum_assignment

    cost = _hamming(distinct[rows], distinct[columns])
    return int(cost[linear_sum_assignment(cost)].sum())


def _flow(
    distinct: Rows,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    supply: NDArray[np.int64],
    demand: NDArray[np.int64],
) -> int:
    """Return the least cost of the transportation problem between grouped rows."""
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    network = SimpleMinCostFlow()
    cost = _hamming(distinct[rows], distinct[columns])
    tail = np.repeat(np.arange(len(rows)), len(columns))
    head = np.tile(np.arange(len(columns)), len(rows)) + len(rows)
    capacity = np.minimum(supply[tail], demand[head - len(rows)])
    network.add_arcs_with_capacity_and_unit_cost(tail, head, capacity, cost.reshape(-1))
    network.set_nodes_supplies(np.arange(len(rows) + len(columns)), np.concatenate([supply, -demand]))
    if network.solve_max_flow_with_min_cost() != network.OPTIMAL:
        raise EngineError("the transportation problem was not solved")
    return int(network.optimal_cost())


def _uniform(totals: Sequence[int], n: int, rng: np.random.Generator) -> Rows:
    """Return n rows uniform over the product of the attributes (n, attributes)."""
    small = all(total <= 1 << 62 for total in totals)
    if small:
        return np.stack([rng.integers(0, total, n) for total in totals], axis=1)
    exact = random.Random(int(rng.integers(1 << 62)))
    drawn = [exact.randrange(total) for total in totals for _ in range(n)]
    return np.array(drawn, dtype=object).reshape(len(totals), n).T


def marginals(truth: Rows, n: int, rng: np.random.Generator) -> Rows:
    """Return n rows whose columns are drawn independently from the truth's own columns."""
    return np.stack([column[rng.integers(0, len(truth), n)] for column in truth.T], axis=1)


def fresh(population: Rows, n: int, rng: np.random.Generator) -> Rows:
    """Return n rows drawn without replacement from a population (all of it where it is smaller)."""
    return population[rng.permutation(len(population))[:n]]


def halves(truth: Rows, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Return two random halves of the truth."""
    order = rng.permutation(len(truth))
    middle = len(truth) // 2
    return truth[order[:middle]], truth[order[middle : 2 * middle]]


@dataclass(frozen=True)
class Chance:
    """Guesses without the release, each drawn `repeats` times in one order that `seed` fixes.

    `truth` (n, attributes) and `population` are rows as value indices, `totals` how many values each attribute has.
    """

    truth: Rows
    totals: Sequence[int]
    population: Rows | None = None
    repeats: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if self.repeats < 1 or len(self.totals) != self.truth.shape[1]:
            raise ReleaseError(
                f"{self.repeats} repeats, {len(self.totals)} totals for {self.truth.shape[1]} attributes"
            )
        if self.population is not None and not len(self.population):
            raise ReleaseError("the population has no rows")

    @property
    def names(self) -> list[str]:
        """Return the baselines in their order."""
        alone = ["one half of the truth against the other"] if len(self.truth) > 1 else []
        other = alone if self.population is None else ["fresh sample of the population"]
        return ["uniform rows", "product of marginals", *other] if len(self.truth) else []

    def draws(self) -> Iterator[Callable[[], tuple[Rows, Rows]]]:
        """Yield what gives (true rows, rows to compare with), draw by draw; each is to be called in its turn."""
        rng, n, people = np.random.default_rng(self.seed), len(self.truth), self.population
        size = 0 if people is None else min(n, len(people))
        for k in range(len(self.names)):
            for _ in range(self.repeats):
                if k == 0:
                    yield lambda: (self.truth, _uniform(self.totals, n, rng))
                elif k == 1:
                    yield lambda: (self.truth, marginals(self.truth, n, rng))
                elif people is None:
                    yield lambda: halves(self.truth, rng)
                else:
                    yield lambda: (fresh(self.truth, size, rng), fresh(people, size, rng))

    def match(self, draw: int) -> Match:
        """Return one draw beside the truth; those before it are drawn and not compared."""
        for i, made in enumerate(self.draws()):
            pair = made()
            if i == draw:
                return compare(*pair)
        raise IndexError(draw)

    def baselines(self, matches: Sequence[Match | None]) -> tuple[Baseline, ...]:
        """Return the baselines from the matches of all draws in their order; one with a draw missing is left out."""
        out = []
        for k, name in enumerate(self.names):
            found = [m for m in matches[k * self.repeats : (k + 1) * self.repeats] if m is not None]
            if len(found) < self.repeats:
                continue
            cells = [m.cells_right for m in found if m.cells_right is not None]
            mean = sum(cells) / self.repeats if len(cells) == self.repeats else None
            out.append(Baseline(name, sum(m.share_right for m in found) / self.repeats, mean))
        return tuple(out)
