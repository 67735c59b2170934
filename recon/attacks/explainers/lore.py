"""LORE: why one decision, by a local tree: the rule that a record meets and those that it just misses.

One tree from several local explanations: of one record (stable) or of many (a global surrogate from local ones).

Rows around one record, bred so that a black box says the same of one half and something else of the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recon.attacks.explainers.sampling import IndependentColumns, checked_rows, distinct, fitted_tree, hashed, parts
from recon.attacks.explainers.surrogate import Box, Surrogate
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


Rule = Mapping[str, Any]  # the conditions of a release file: {column: test}


@dataclass(frozen=True)
class Counterfactual:
    """A rule of another class: all its conditions, those of them that the record does not meet, and its class."""

    rule: Rule
    unmet: Rule
    label: int


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a black box decides as it does about a record, as far as a local tree tells.

    `surrogate`: the local tree. `rule`: the conditions of the record's path. `label`: what the rule concludes, the
    tree's prediction; `said`: what the black box says. `counterfactuals`: the leaves of other classes that miss the
    record by the fewest conditions. `fidelity`: the share of `neighbourhood` of which tree and black box say the same.
    """

    surrogate: Surrogate
    rule: Rule
    label: int
    said: int
    counterfactuals: tuple[Counterfactual, ...]
    fidelity: float
    neighbourhood: Neighbourhood

    @property
    def queries(self) -> int:
        """Return how many rows the black box was asked about."""
        return self.neighbourhood.queries

    def released(self, x: Floats, y: Ints) -> dict[str, Any]:
        """Return the rule as one of a release file's `rule_set`, with the number of rows of each class that meet it.

        `x` (rows, columns) and `y` (rows,) are what the counts are of: the data a black box was trained on, where an
        explanation is published with the support of its rule. Without counts a rule says nothing of those data.
        """
        inside = self.surrogate.leaf(x) == self.surrogate.leaf(self.neighbourhood.record[None, :])
        return {"if": dict(self.rule), "counts": np.bincount(y[inside], minlength=self.surrogate.classes).tolist()}

    @property
    def hit(self) -> bool:
        """Return whether the local tree says of the record itself what the black box says."""
        return self.label == self.said


def lore(target: Target, record: Floats, x: Floats, columns: RecordColumns, classes: int, *, seed: int,
         size: int = 1000,
         generations: int = 10, neighbourhoods: int = 1, max_depth: int | None = None, min_leaf: int = 2,
         limits: Limits | None = None) -> Explanation:  # fmt: skip
    """Return the explanation of what a black box says of a record (d,); x (m, d) are rows of the data.

    `size` neighbours are bred in `generations` (see `bred_neighbourhoods`), and a decision tree of depth
    `max_depth` with `min_leaf` neighbours in a leaf is fitted to what the black box says of them. `neighbourhoods`
    above 1 is the stable version: so many are bred independently, and one tree is fitted to them all (see `merging`
    for why). Where all neighbours are of one class the tree is one leaf, its rule has no condition and there is no
    counterfactual. The record itself is no neighbour, so that the tree may say something else of it (`hit`).

    Source: Guidotti et al. 2018, 2019 (LORE); Guidotti et al., Data Mining and Knowledge Discovery 2022 (several
    neighbourhoods). Theirs fits C4.5 with pruning; here scikit-learn's tree, held small by `min_leaf`.

    Raises `ReleaseError` (no rows, other columns, settings out of range), `Unsupported` without scikit-learn,
    `Inconclusive` by `limits`. Cost: at most `size` * `generations` * `neighbourhoods` queries.
    """
    one = np.asarray(record, dtype=np.float64).reshape(1, -1)
    return lores(target, one, x, columns, classes, seed=seed, size=size, generations=generations,
                 neighbourhoods=neighbourhoods, max_depth=max_depth, min_leaf=min_leaf, limits=limits)[0]  # fmt: skip


def lores(target: Target, records: Floats, x: Floats, columns: RecordColumns, classes: int, *, seed: int,
          size: int = 1000,
          generations: int = 10, neighbourhoods: int = 1, max_depth: int | None = None, min_leaf: int = 2,
          limits: Limits | None = None) -> list[Explanation]:  # fmt: skip
    """Return the explanations of several records (r, d), as `lore` gives one, in less time: queries are shared.

    The first one is that of `lore` with the same seed, the k-th does not depend on the others either (`queries` apart).
    """
    if neighbourhoods < 1 or min_leaf < 1:
        raise ReleaseError(f"neighbourhoods {neighbourhoods} and min_leaf {min_leaf} must be positive")
    rows = np.atleast_2d(np.asarray(records, dtype=np.float64))
    seeds = [(seed, i, k) for i in range(len(rows)) for k in range(neighbourhoods)]
    around = bred_neighbourhoods(target, np.repeat(rows, neighbourhoods, axis=0), x, columns, classes, seeds=seeds,
                   breeding=Breeding(size, generations), limits=limits)  # fmt: skip
    groups = [around[i : i + neighbourhoods] for i in range(0, len(around), neighbourhoods)]
    return [_explanation(one[0].united(one[1:]), columns, classes, seed, max_depth=max_depth, min_leaf=min_leaf)
            for one in groups]  # fmt: skip


def _explanation(around: Neighbourhood, columns: RecordColumns, classes: int, seed: int, **limited: Any) -> Explanation:
    """Return what a tree fitted to a neighbourhood says of its record; `limited`: `max_depth`, `min_leaf`."""
    if not len(around.x):  # every column is constant: nothing but the record itself
        alone = Neighbourhood(around.record, around.said, around.record[None, :], np.array([around.said]), 0)
        around = around.united([alone])
    min_leaf = max(1, min(limited.pop("min_leaf", 1), len(around.x)))
    tree = fitted_tree(around.x, around.labels, random_state=seed, min_samples_leaf=min_leaf, **limited)
    surrogate = Surrogate.of(tree, "lore", columns, classes, around.queries)
    fidelity = surrogate.accuracy(around.x, around.labels)
    rule, label, others = _explained(surrogate, around.record)
    return Explanation(surrogate, rule, label, around.said, others, fidelity, around)


def _explained(surrogate: Surrogate, record: Floats) -> tuple[Rule, int, tuple[Counterfactual, ...]]:
    """Return the rule of a record in a tree of single tests, its class, and the nearest rules of other classes.

    Nearest are those with the fewest columns whose condition the record does not meet (tests of one column on a path
    are one condition, or one at each end); of several such leaves all are returned, in the order of the tree.
    """
    boxes = _leaf_boxes(surrogate)
    own = int(surrogate.leaf(record[None, :])[0])
    says = {leaf: int(np.argmax(surrogate.inner[leaf].shares)) for leaf in boxes}
    unmet = {leaf: [k for k, (above, most) in box.items() if not above < record[k] <= most]
             for leaf, box in boxes.items() if says[leaf] != says[own]}  # fmt: skip
    fewest = min(map(len, unmet.values()), default=0)
    others = tuple(Counterfactual(_conditions(boxes[leaf], surrogate.columns),
                                  _conditions({k: boxes[leaf][k] for k in missed}, surrogate.columns), says[leaf])
                   for leaf, missed in unmet.items() if len(missed) == fewest)  # fmt: skip
    return _conditions(boxes[own], surrogate.columns), says[own], others


def _leaf_boxes(surrogate: Surrogate) -> dict[int, Box]:
    """Return the leaves of a tree of single tests with the box of each: column -> (above, at most)."""
    found: dict[int, Box] = {}
    boxes: dict[int, Box] = {0: {}}
    for k, node in enumerate(surrogate.inner):
        if node.test is None:
            found[k] = boxes[k]
            continue
        if len(node.test.literals) != 1:
            raise ReleaseError(f"node {k} of the {surrogate.kind} tree has an m-of-n test: its paths are no rules")
        literal = node.test.literals[0]
        boxes[node.then], boxes[node.other] = literal.within(boxes[k], True), literal.within(boxes[k], False)
    return found


def _conditions(box: Box, columns: RecordColumns) -> Rule:
    """Return a box as conditions of a release file: 0 or 1 for bits, one or two ends for numbers."""
    found: dict[str, Any] = {}
    for k, (above, most) in box.items():
        if not columns.continuous[k]:
            found[columns.names[k]] = int(above >= 0)
            continue
        ends = {"above": above, "at_most": most}
        found[columns.names[k]] = {name: end for name, end in ends.items() if np.isfinite(end)}
    return found


def merged_tree(explanations: Sequence[Explanation], *, seed: int = 0, max_depth: int | None = None,
           max_leaves: int | None = None, min_leaf: int = 2) -> Surrogate:  # fmt: skip
    """Return one decision tree fitted to the neighbourhoods of all explanations together.

    A row that stands in several neighbourhoods counts that often: what lies near several explained records weighs
    more. The black box is not asked again, every neighbourhood keeps what it said. `queries`: of all explanations.

    Guidotti et al. 2022 merge the trees themselves, as tables of their leaves that are intersected and then fitted
    again. That needs thresholds for coverage and precision which neither paper gives, and its tree answers, where
    leaves overlap, by votes of trees outside of their own neighbourhoods. Fitting to the union instead says of every
    neighbour what the black box said, has no thresholds, and with k neighbourhoods of one record is LORE with a
    sample k times as large, which is what makes it stable. Cost: one fit.

    Raises `ReleaseError` where there is no explanation or they are of different columns, `Unsupported` without
    scikit-learn.
    """
    if not explanations:
        raise ReleaseError("there are no explanations to merge")
    columns, classes = explanations[0].surrogate.columns, explanations[0].surrogate.classes
    for k, one in enumerate(explanations):
        if (one.surrogate.columns, one.surrogate.classes) != (columns, classes):
            raise ReleaseError(f"explanation {k} is of other columns or classes than explanation 0")
    x = np.concatenate([one.neighbourhood.x for one in explanations])
    said = np.concatenate([one.neighbourhood.labels for one in explanations])
    tree = fitted_tree(x, said, random_state=seed, max_depth=max_depth, max_leaf_nodes=max_leaves,
                       min_samples_leaf=max(1, min(min_leaf, len(x))))  # fmt: skip
    return Surrogate.of(tree, "lore merged", columns, classes, sum(one.queries for one in explanations))
