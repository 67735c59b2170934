"""Rows around one record, bred so that a black box says the same of one half and something else of the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recon.attacks.explainers.sampling import IndependentColumns, checked_rows, distinct, hashed, parts
from recon.queries.inputs import Bits, Floats, Ints, RecordColumns, Target, probabilities
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits

TOURNAMENT = 3  # of so many, drawn at random, the fittest is a parent
KEPT = 0.02  # of a population, its fittest, stay as they are
TOGETHER = 20_000  # rows that a black box is asked about in one call


@dataclass(frozen=True)
class Breeding:
    """How a neighbourhood is bred; see `neighbourhoods`."""

    size: int = 1000
    generations: int = 10
    crossover: float = 0.5
    mutation: float = 0.2

    def __post_init__(self) -> None:
        if self.size < 2 or self.generations < 1:
            raise ReleaseError(f"size {self.size} and generations {self.generations} must be 2 and 1 at least")
        if not (0 <= self.crossover <= 1 and 0 < self.mutation <= 1):
            raise ReleaseError(f"crossover {self.crossover} and mutation {self.mutation} must be probabilities, not 0")


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Rows (n, d) around a record and what the black box says of them (n,); `said`: of the record itself."""

    record: Floats
    said: int
    x: Floats
    labels: Ints
    queries: int

    def united(self, others: list[Neighbourhood]) -> Neighbourhood:
        """Return all rows of this neighbourhood and of others, with this one's record."""
        every = [self, *others]
        x, labels = np.concatenate([one.x for one in every]), np.concatenate([one.labels for one in every])
        return Neighbourhood(self.record, self.said, x, labels, sum(one.queries for one in every))


class Memory:
    """A black box that is asked about every distinct row once."""

    def __init__(self, target: Target, classes: int) -> None:
        self.target, self.classes = target, classes
        self.sums = np.zeros(0, dtype=np.uint64)  # ascending, of the rows known
        self.rows: Floats | None = None
        self.labels = np.zeros(0, dtype=np.int64)

    def say(self, x: Floats) -> tuple[Ints, Bits]:
        """Return (rows,) what the black box says, and (rows,) for which of the rows it had to be asked."""
        first, inverse = distinct(x)
        rows = x[first]
        sums = hashed(rows)
        found = np.full(len(rows), -1, dtype=np.int64)
        if self.rows is not None:
            at = np.minimum(np.searchsorted(self.sums, sums), len(self.sums) - 1)
            known = (self.sums[at] == sums) & (self.rows[at] == rows).all(axis=1)
            found[known] = self.labels[at[known]]
        new = np.flatnonzero(found < 0)
        if len(new):
            found[new] = probabilities(self.target, rows[new], self.classes).argmax(axis=1)
            self.keep(sums[new], rows[new], found[new])
        fresh = np.zeros(len(x), dtype=bool)
        fresh[first[new]] = True
        answer: Ints = found[inverse]
        return answer, fresh

    def keep(self, sums: NDArray[np.uint64], rows: Floats, labels: Ints) -> None:
        """Remember what was said of rows."""
        whole = np.concatenate([self.sums, sums])
        order = np.argsort(whole, kind="stable")
        self.sums = whole[order]
        self.rows = (rows if self.rows is None else np.concatenate([self.rows, rows]))[order]
        self.labels = np.concatenate([self.labels, labels])[order]


@dataclass(frozen=True, eq=False)
class Distance:
    """How far rows are from a record, between 0 and 1: bits and one-hot groups match or not, numbers by their range."""

    columns: RecordColumns
    ranges: Floats  # (d,), 1 where a column is constant

    @classmethod
    def of(cls, x: Floats, columns: RecordColumns) -> Distance:
        """Return the distance with the ranges of the columns of rows."""
        ranges = np.ptp(x, axis=0)
        return cls(columns, np.where(ranges > 0, ranges, 1.0))

    def __call__(self, record: Floats, x: Floats) -> Floats:
        """Return (rows,) h/m · share of the h parts that differ + (m-h)/m · Euclidean distance of m-h numbers / range.

        The Euclidean distance is the root of the mean square, so that it is 1 where every number differs by its range.
        """
        pieces = parts(self.columns)
        numbers = [p for p in pieces if len(p) == 1 and self.columns.continuous[int(p[0])]]
        others = [p for p in pieces if not (len(p) == 1 and self.columns.continuous[int(p[0])])]
        found = np.zeros(len(x))
        differs = x != record
        for part in others:
            found += differs[:, part].any(axis=1)
        if numbers:
            index = np.concatenate(numbers)
            scaled = (x[:, index] - record[index]) / self.ranges[index]
            found += len(numbers) * np.minimum(1.0, np.sqrt((scaled**2).mean(axis=1)))
        return np.asarray(found / len(pieces), dtype=np.float64)


def bred_neighbourhoods(target: Target, records: Floats, x: Floats, columns: RecordColumns, classes: int, *,
                   seeds: Sequence[Sequence[int]], breeding: Breeding | None = None,
                   limits: Limits | None = None) -> list[Neighbourhood]:  # fmt: skip
    """Return up to `breeding.size` rows around each of some records (r, d), bred from copies of it.

    Two populations of half the size: one is fit where the black box says the same as of the record, the other where
    it says something else, [same or other] + (1 - distance) - [equal to the record]. In each generation parents win
    tournaments of 3, pairs of them exchange what lies between two points (with probability `crossover`), and of the
    rows with probability `mutation` each value is drawn again with that probability from the data's own values
    (x (m, d); one-hot groups stay together). The last generation is returned, without the record itself; all its
    values are the record's or the data's. `seeds`: for each record; its neighbourhood does not depend on the others,
    but they are bred in step, so that the black box is called once a generation for about 20,000 rows, and about no
    row twice. `queries` counts a row where it was first met.

    Source: Guidotti, Monreale, Ruggieri, Pedreschi, Turini, Giannotti, "Local Rule-Based Explanations of Black Box
    Decision Systems", 2018, Algorithm 2 and its two fitness functions; Guidotti et al., IEEE Intelligent Systems
    34(6), 2019. Beside it: the first generation is copies mutated with probabilities from 0 to 1, not copies, so that
    it holds other classes; the fittest fiftieth of each population stays; numbers are drawn from their values, not
    from a fitted law. The authors' published code rewards the *same* class in both populations; here, as in the
    paper, the second one is rewarded for another class.

    Raises `ReleaseError` (no rows, other columns), `Inconclusive` by `limits`. Cost: at most `size` queries a record
    and generation, and one.
    """
    rows, starts = checked_rows(x, columns), np.atleast_2d(np.asarray(records, dtype=np.float64))
    if starts.shape != (len(seeds), rows.shape[1]):
        raise ReleaseError(f"{len(seeds)} records have the shape {starts.shape}, but there are {rows.shape[1]} columns")
    law, distance, breeding = IndependentColumns(rows, columns), Distance.of(rows, columns), breeding or Breeding()
    found: list[Neighbourhood] = []
    step = max(1, TOGETHER // breeding.size)
    for k in range(0, len(starts), step):
        some = [_Breed(start, law, _part_of(columns), distance, breeding, np.random.default_rng(seed))
                for start, seed in zip(starts[k : k + step], seeds[k : k + step], strict=True)]  # fmt: skip
        found += _bred(some, Memory(target, classes), breeding.generations, limits)
    return found


def _bred(some: list[_Breed], memory: Memory, generations: int, limits: Limits | None) -> list[Neighbourhood]:
    """Return the neighbourhoods of some records, bred in step."""
    said, fresh = memory.say(np.array([one.record for one in some]))
    queries = fresh.astype(np.int64)
    populations = [one.first() for one in some]
    for generation in range(generations):
        if limits is not None:
            limits.check("neighbourhoods were bred")
        labels, fresh = memory.say(np.concatenate(populations))
        size = len(populations[0])
        queries += fresh.reshape(len(some), size).sum(axis=1)
        shares = labels.reshape(len(some), size)
        if generation < generations - 1:
            same = shares == said[:, None]
            fit = [one.fitness(*both) for one, *both in zip(some, populations, same, strict=True)]
            populations = [one.children(*both) for one, *both in zip(some, populations, fit, strict=True)]
    found = []
    for k, (one, population) in enumerate(zip(some, populations, strict=True)):
        other = (population != one.record).any(axis=1)
        found.append(Neighbourhood(one.record, int(said[k]), population[other], shares[k][other], int(queries[k])))
    return found


def _part_of(columns: RecordColumns) -> Ints:
    """Return (d,) which part (one-hot group or single column) each column belongs to."""
    found = np.zeros(len(columns.names), dtype=np.int64)
    for k, part in enumerate(parts(columns)):
        found[part] = k
    return found


@dataclass(frozen=True, eq=False)
class _Breed:
    """How the generations around one record come about: two halves, each from parents of its own."""

    record: Floats
    law: IndependentColumns
    part: Ints
    distance: Distance
    breeding: Breeding
    rng: np.random.Generator

    @property
    def half(self) -> Bits:
        """Return (size,) which rows are of the first population."""
        found: Bits = np.arange(self.breeding.size) < (self.breeding.size + 1) // 2
        return found

    def first(self) -> Floats:
        """Return the first generation: copies of the record, each mutated with a probability of its own.

        With the probability of later generations hardly any copy of a record far inside its class leaves that class,
        and no later generation would find another one either (where 4 columns must change, none of 1,000 rows did).
        """
        copies = np.repeat(self.record[None, :], self.breeding.size, axis=0)
        return self.mutated(copies, self.rng.random(len(copies)))

    def fitness(self, x: Floats, same: Bits) -> Floats:
        """Return (rows,) how fit rows are: the first half where it is said the same of them, the others where not."""
        found: Floats = (same == self.half) + (1 - self.distance(self.record, x)) - (x == self.record).all(axis=1)
        return found

    def children(self, x: Floats, fit: Floats) -> Floats:
        """Return the next generation of rows: selected, crossed, mutated; and of each half the fittest as they are.

        Without those, the few rows of another class that a first generation may hold die out by chance.
        """
        parents = np.concatenate([self.winners(np.flatnonzero(side), fit) for side in (self.half, ~self.half)])
        rows = self.crossed(x[parents])
        chosen = self.rng.random(len(rows)) < self.breeding.mutation
        found = self.mutated(rows, np.where(chosen, self.breeding.mutation, 0.0))
        for members in (np.flatnonzero(self.half), np.flatnonzero(~self.half)):
            kept = max(1, round(KEPT * len(members)))
            found[members[:kept]] = x[members[np.argsort(-fit[members], kind="stable")[:kept]]]
        return found

    def winners(self, members: Ints, fit: Floats) -> Ints:
        """Return the winners of as many tournaments as a population has members."""
        drawn = members[self.rng.integers(len(members), size=(len(members), TOURNAMENT))]
        found: Ints = drawn[np.arange(len(members)), fit[drawn].argmax(axis=1)]
        return found

    def crossed(self, x: Floats) -> Floats:
        """Return rows of which neighbours in each half exchanged the parts between two points."""
        found = x.copy()
        many = int(self.part.max()) + 1
        for members in (np.flatnonzero(self.half), np.flatnonzero(~self.half)):
            pairs = len(members) // 2
            one, other = members[0 : 2 * pairs : 2], members[1 : 2 * pairs : 2]
            ends = np.sort(self.rng.integers(0, many + 1, size=(pairs, 2)), axis=1)
            swap = (self.part >= ends[:, :1]) & (self.part < ends[:, 1:])
            swap &= (self.rng.random(pairs) < self.breeding.crossover)[:, None]
            found[one], found[other] = np.where(swap, x[other], x[one]), np.where(swap, x[one], x[other])
        return found

    def mutated(self, x: Floats, probability: Floats) -> Floats:
        """Return rows with parts drawn again, each of a row with that row's probability."""
        index = np.flatnonzero(probability > 0)
        found = x.copy()
        again = self.rng.random((len(index), int(self.part.max()) + 1)) < probability[index, None]
        found[index] = np.where(again[:, self.part], self.law.draw(len(index), self.rng), x[index])
        return found
