"""The fewest training errors of a rule list, for every length up to a longest one, found and proved.

Branch and bound over prefixes, one length after the other. What a prefix leaves to decide is the set of rows that no
rule has captured yet, so that of the prefixes with equal sets only one with the fewest errors goes on. With rules of
one literal the rows left are the rows of a box: there are few of them.
Source: Angelino, Larus-Stone, Alabi, Seltzer, Rudin, "Learning certifiably optimal rule lists for categorical data",
JMLR 18 (2018): the hierarchical objective bound, the equivalent points bound, the permutation bound (of which the
merging of equal sets is the general form), support bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

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
from solvers.foundation.limits import Limits

BEAMS = (300, 5_000)  # prefixes kept per length by the sweeps that look for good lists before anything is proved
Rules = tuple[int, ...]
History = list[tuple[NDArray[np.int32], NDArray[np.int32]]]  # per length: the parent and the rule of every prefix


@dataclass(frozen=True)
class Best:
    """The best list of at most `length` rules without the default rule.

    `errors`: its training errors; `objective`: with the penalty of its rules; `bound`: no such list has a smaller
    objective; `rules`: indices into the table's antecedents.
    """

    length: int
    errors: int
    objective: Fraction
    bound: Fraction
    rules: Rules

    @property
    def certified(self) -> bool:
        """Return whether no list is better."""
        return self.bound >= self.objective


@dataclass(frozen=True)
class Path:
    """The best lists of at most 0, 1, ... rules, and how many prefixes of each length were looked at."""

    best: tuple[Best, ...]
    prefixes: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Incumbents:
    """The best lists found so far, by their exact number of rules; each rule costs `penalty`."""

    penalty: Fraction
    lists: dict[int, tuple[int, Rules]] = field(default_factory=dict)

    def offer(self, errors: int, rules: Rules) -> None:
        """Keep a list if it is the best of its length."""
        if errors < self.errors(len(rules)):
            self.lists[len(rules)] = errors, rules

    def errors(self, length: int) -> float:
        """Return the errors of the best list of exactly so many rules, infinity where there is none."""
        return self.lists[length][0] if length in self.lists else math.inf

    def best(self, length: int) -> tuple[Fraction, int, Rules]:
        """Return the objective, errors and rules of the best list of at most so many rules; the shortest of equals."""
        return min(
            (errors + self.penalty * rules, errors, self.lists[rules][1])
            for rules, (errors, _) in self.lists.items()
            if rules <= length
        )


@dataclass(frozen=True, eq=False)
class Prefixes:
    """Prefixes of one length, every array (prefixes,).

    `errors`: so far; `floors`: what no completion avoids; `heads`: with the default rule now. `parents` among the
    prefixes that are one rule shorter, and the last of the `rules`; `hashes` of the rows left.
    """

    hashes: Words
    errors: NDArray[np.int64]
    floors: NDArray[np.int64]
    heads: NDArray[np.int64]
    parents: NDArray[np.int32]
    rules: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.errors)

    def take(self, at: NDArray[np.intp] | NDArray[np.bool_]) -> Prefixes:
        """Return some of the prefixes."""
        return Prefixes(
            self.hashes[at], self.errors[at], self.floors[at], self.heads[at], self.parents[at], self.rules[at]
        )


@dataclass(frozen=True, eq=False)
class PrefixMemory:
    """Sets that shorter prefixes left, sorted by hash, with the errors of the best of them."""

    hashes: Words
    errors: NDArray[np.int64]
    sets: Words


@dataclass(frozen=True, eq=False)
class Sweep:
    """How one sweep goes: lists of at most `longest` rules, `most` prefixes kept per length, by `heads` or `floors`."""

    numbers: Arithmetic
    longest: int
    most: int
    by_floor: bool
    limits: Limits


def best_lists(table: RuleTable, longest: int, penalty: Fraction, limits: Limits, known: Sequence[Rules] = ()) -> Path:
    """Return the best rule lists of at most 0..`longest` rules, each with a proved lower bound.

    The objective is errors + `penalty` per rule. `known`: lists to start from (their prefixes count too). When time or
    memory (`limits`) is up, bounds are those of what was not looked at; they are never above the optimum.
    Cost: per length, prefixes x patterns x rules x classes, in products of matrices.
    """
    numbers = arithmetic(table)
    found = Incumbents(penalty)
    for start in [(), *(rules[:k] for rules in known for k in range(1, 1 + min(longest, len(rules))))]:
        errors = table.errors_of(start)
        if errors is not None:
            found.offer(errors, start)
    # Bytes that a prefix needs in a level, among those seen and while levels are merged.
    most = max(1_000, limits.room // (6 * (8 * numbers.outside.shape[1] + 64)))
    bounds = [Fraction(0)] * (longest + 1)
    prefixes: tuple[int, ...] = ()
    for size in (*BEAMS, most):
        sweep = Sweep(numbers, longest, min(size, most), size == most, limits)
        unseen, prefixes = _swept(sweep, found)
        bounds = [max(old, new) for old, new in zip(bounds, _lower_bounds(unseen, found, longest), strict=True)]
        if not unseen or limits.expired():
            break
    best = [(length, *found.best(length)) for length in range(longest + 1)]
    return Path(
        tuple(Best(length, errors, value, min(value, bounds[length]), rules) for length, value, errors, rules in best),
        prefixes,
    )


def _lower_bounds(unseen: dict[int, int], found: Incumbents, longest: int) -> list[Fraction]:
    """Return lower bounds on the objective of lists of at most 0..`longest` rules after one sweep.

    `unseen`: by length, the least floor of the prefixes that were not extended. A list is an incumbent, or at most as
    good as one, or it extends such a prefix by at least one rule.
    """
    return [
        min(
            [found.best(length)[0]]
            + [floor + found.penalty * (rules + 1) for rules, floor in unseen.items() if rules < length]
        )
        for length in range(longest + 1)
    ]


def _ceiling(found: Incumbents, length: int) -> int:
    """Return the floor from which on a prefix of so many rules is of no use: its extensions have one rule more.

    Longer extensions have to be better still, since the best objective falls with the length allowed.
    """
    return math.ceil(found.best(length + 1)[0] - found.penalty * (length + 1))


def _swept(sweep: Sweep, found: Incumbents) -> tuple[dict[int, int], tuple[int, ...]]:
    """Extend prefixes length by length, improving the incumbents.

    Return, by length, the least floor of prefixes that were not extended (none: everything is proved), and how many
    prefixes of every length were.
    """
    numbers = sweep.numbers
    level, sets = _root(numbers), numbers.root
    seen = PrefixMemory(level.hashes, level.errors, sets)
    history: History = []
    unseen: dict[int, int] = {}
    sizes: list[int] = []
    for length in range(sweep.longest):
        done, children = _extended(sweep, found, level, sets, history, unseen)
        sizes.append(done)
        children = _undominated(numbers, sets, seen, children)
        children = children.take(children.floors < _ceiling(found, length + 1))
        if length + 1 == sweep.longest or not len(children):
            break
        children = _kept_prefixes(sweep, children, length + 1, unseen)
        children = children.take(np.argsort(children.floors, kind="stable"))
        sets = sets[children.parents] & numbers.outside[children.rules]
        history.append((children.parents, children.rules))
        level = children
        if len(seen.hashes) + len(level) <= 3 * sweep.most:  # to know fewer of them costs time, nothing else
            seen = _joined_level(seen, level, sets)
    return unseen, tuple(sizes)


def _root(numbers: Arithmetic) -> Prefixes:
    """Return the empty prefix."""
    nothing = np.zeros(1, dtype=np.int32)
    # Its floor matters only if not even the first product was computed.
    floor = int((numbers.table.weight.sum(axis=1) - numbers.table.weight.max(axis=1)).sum())
    floors = np.array([floor], dtype=np.int64)
    return Prefixes(numbers.hashes(numbers.root), np.zeros(1, dtype=np.int64), floors, floors, nothing, nothing)


def _extended(
    sweep: Sweep, found: Incumbents, level: Prefixes, sets: Words, history: History, unseen: dict[int, int]
) -> tuple[int, Prefixes]:
    """Return how many prefixes of a level were extended, and their extensions that may lead to a better list.

    Whatever is left out for want of time or memory goes into `unseen`.
    """
    numbers, length = sweep.numbers, len(history)
    pieces = [level.take(np.zeros(0, dtype=np.intp))]
    size, done = 0, 0
    for start in range(0, len(level), numbers.block):
        if sweep.limits.expired():
            _left_open(unseen, length, level.floors[start:])
            break
        here = slice(start, start + numbers.block)
        added = extensions(numbers, sets[here])
        sweep.limits.charge(work_of_extensions(numbers, len(sets[here])))
        errors = level.errors[here, None] + added.wrong
        _offer_best(found, added, errors, start, history)
        done += len(errors)
        if length + 1 == sweep.longest:
            continue
        pieces.append(_promising(numbers, added, errors, start, sets, _ceiling(found, length + 1)))
        size += len(pieces[-1])
        if size > 2 * sweep.most + (1 << 18):
            pieces = [_kept_prefixes(sweep, _best_prefixes(numbers, sets, pieces), length + 1, unseen)]
            size = len(pieces[0])
    return done, _best_prefixes(numbers, sets, pieces)


def _offer_best(
    found: Incumbents, added: Extensions, errors: NDArray[np.floating], start: int, history: History
) -> None:
    """Offer the best list that ends with one of these rules and a default rule."""
    whole = np.where(added.allowed, errors + added.default, np.inf)
    if not whole.size:
        return
    row, rule = divmod(int(whole.argmin()), whole.shape[1])
    if whole[row, rule] < found.errors(len(history) + 1):
        found.offer(int(whole[row, rule]), (*_traced(history, start + row), rule))


def _traced(history: History, at: int) -> Rules:
    """Return the rules of the prefix number `at` of the last level."""
    rules: list[int] = []
    for parents, chosen in reversed(history):
        rules.append(int(chosen[at]))
        at = int(parents[at])
    return tuple(reversed(rules))


def _promising(
    numbers: Arithmetic, added: Extensions, errors: NDArray[np.floating], start: int, sets: Words, limit: int
) -> Prefixes:
    """Return the extensions that can grow into a list whose floor is below `limit`.

    Not those that leave too few rows for a further rule, and not those on which the default rule makes only errors
    that no list avoids.
    """
    floors = errors + added.floor
    kept = added.allowed & (added.rest > numbers.table.least) & (floors < limit) & (added.default > added.floor)
    row, rule = np.nonzero(kept)
    parents, rules = (start + row).astype(np.int32), rule.astype(np.int32)

    def whole(values: NDArray[np.floating]) -> NDArray[np.int64]:
        return np.asarray(values[row, rule]).astype(np.int64)

    hashes = np.empty(len(row), dtype=np.uint64)
    for at in range(0, len(row), 1 << 15):
        part = slice(at, at + (1 << 15))
        hashes[part] = numbers.hashes(sets[parents[part]] & numbers.outside[rules[part]])
    return Prefixes(hashes, whole(errors), whole(floors), whole(errors + added.default), parents, rules)


def _best_prefixes(numbers: Arithmetic, sets: Words, pieces: Sequence[Prefixes]) -> Prefixes:
    """Return one prefix with the fewest errors for every set of rows left (equal hashes are compared set by set)."""
    fields = ("hashes", "errors", "floors", "heads", "parents", "rules")
    all_of = Prefixes(*(np.concatenate([getattr(piece, name) for piece in pieces]) for name in fields))
    if not len(all_of):
        return all_of
    all_of = all_of.take(np.lexsort((all_of.errors, all_of.hashes)))
    again = np.zeros(len(all_of), dtype=bool)
    again[1:] = all_of.hashes[1:] == all_of.hashes[:-1]
    pairs = np.flatnonzero(again)
    for at in range(0, len(pairs), 1 << 15):
        part = pairs[at : at + (1 << 15)]
        again[part] = (_left_by(numbers, sets, all_of, part) == _left_by(numbers, sets, all_of, part - 1)).all(axis=1)
    return all_of.take(~again)


def _left_by(numbers: Arithmetic, sets: Words, children: Prefixes, at: NDArray[np.intp]) -> Words:
    """Return the sets of rows that some of the extensions leave."""
    return sets[children.parents[at]] & numbers.outside[children.rules[at]]


def _undominated(numbers: Arithmetic, sets: Words, seen: PrefixMemory, children: Prefixes) -> Prefixes:
    """Return the prefixes but those whose rows left were left by a shorter prefix with no more errors."""
    at = np.minimum(np.searchsorted(seen.hashes, children.hashes), len(seen.hashes) - 1)
    worse = (seen.hashes[at] == children.hashes) & (seen.errors[at] <= children.errors)
    which = np.flatnonzero(worse)
    for start in range(0, len(which), 1 << 15):
        part = which[start : start + (1 << 15)]
        worse[part] = (_left_by(numbers, sets, children, part) == seen.sets[at[part]]).all(axis=1)
    return children.take(~worse)


def _joined_level(seen: PrefixMemory, level: Prefixes, sets: Words) -> PrefixMemory:
    """Return the sets seen with those of a level; of equal hashes the one with the fewest errors stays."""
    hashes = np.concatenate([seen.hashes, level.hashes])
    errors = np.concatenate([seen.errors, level.errors])
    order = np.lexsort((errors, hashes))
    first = np.ones(len(order), dtype=bool)
    first[1:] = hashes[order][1:] != hashes[order][:-1]
    order = order[first]
    return PrefixMemory(hashes[order], errors[order], np.concatenate([seen.sets, sets])[order])


def _kept_prefixes(sweep: Sweep, children: Prefixes, length: int, unseen: dict[int, int]) -> Prefixes:
    """Return the most promising prefixes, as many as are kept; what is left out goes into `unseen`."""
    if len(children) <= sweep.most:
        return children
    order = np.argsort(children.floors if sweep.by_floor else children.heads, kind="stable")
    _left_open(unseen, length, children.floors[order[sweep.most :]])
    return children.take(order[: sweep.most])


def _left_open(unseen: dict[int, int], length: int, floors: NDArray[np.int64]) -> None:
    """Note the least floor of prefixes that will not be extended."""
    if len(floors):
        unseen[length] = min(unseen.get(length, int(floors.min())), int(floors.min()))
