"""What a search for rule lists works on: rows that no rule tells apart merged, rules of the same rows merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recon.learners.rule_lists.estimator import Antecedent
from recon.learners.rule_lists.greedy_rule_list import rule_masks

Words = NDArray[np.uint64]
EXACT = 1 << 24  # whole numbers up to here are exact in float32, their sums too
CELL, FIGURE = 2e-10, 4e-8  # of work: of a set per pattern and figure of a rule, and per figure, measured


@dataclass(frozen=True, eq=False)
class RuleTable:
    """Patterns (distinct rows) and the rules that can stand in a list over them.

    `truth` (patterns, rules) bool: whether the rule holds; `weight` (patterns, classes): rows. `least`: rows that a
    rule must capture, at least 1. `antecedents`: one per rule, the first of those that hold for the same rows; `place`
    has the rule of each of them.
    """

    truth: NDArray[np.bool_]
    weight: NDArray[np.int64]
    least: int
    antecedents: tuple[Antecedent, ...]
    place: dict[Antecedent, int]

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return int(self.weight.sum())

    def errors_of(self, rules: Sequence[int]) -> int | None:
        """Return the training errors of a list of rules, the default rule behind them.

        None where it is not a list of this search: a rule captures fewer than `least` rows, or all that are left.
        """
        free, errors = np.ones(len(self.weight), dtype=bool), 0
        for rule in rules:
            captured = self.weight[free & self.truth[:, rule]].sum(axis=0)
            free &= ~self.truth[:, rule]
            if captured.sum() < self.least or not self.weight[free].any():
                return None
            errors += int(captured.sum() - captured.max())
        rest = self.weight[free].sum(axis=0)
        return errors + int(rest.sum() - rest.max())


def rule_table(
    names: Sequence[str],
    bits: NDArray[np.bool_],
    codes: NDArray[np.intp],
    antecedents: Sequence[Antecedent],
    least: int,
) -> RuleTable:
    """Return the table of (rows, columns) bits, labels 0..c-1 and the antecedents that may be rules.

    An antecedent that holds for fewer than `least` rows, or for all, never is a rule of a shortest list; of those that
    hold for the same rows the first stays. Rows that no antecedent left tells apart are one pattern.
    """
    distinct, back = np.unique(bits, axis=0, return_inverse=True)
    weight = np.zeros((len(distinct), int(codes.max()) + 1), dtype=np.int64)
    np.add.at(weight, (back.reshape(-1), codes), 1)
    truth = rule_masks(antecedents, names, distinct).T
    support = weight.sum(axis=1) @ truth
    usable = np.flatnonzero((support >= max(1, least)) & (support < len(bits)))
    if not len(usable):
        empty = np.zeros((1, 0), dtype=bool)
        return RuleTable(empty, weight.sum(axis=0)[None], max(1, least), (), {})
    _, first, same = np.unique(truth[:, usable], axis=1, return_index=True, return_inverse=True)
    order = np.argsort(first)
    kept = usable[first[order]]
    rule = np.argsort(order)[same.reshape(-1)]
    place = {antecedents[i]: int(k) for i, k in zip(usable.tolist(), rule, strict=True)}
    patterns, back = np.unique(truth[:, kept], axis=0, return_inverse=True)
    merged = np.zeros((len(patterns), weight.shape[1]), dtype=np.int64)
    np.add.at(merged, back.reshape(-1), weight)
    return RuleTable(patterns, merged, max(1, least), tuple(antecedents[i] for i in kept), place)


def _irreducible(weight: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the errors that every list makes on each pattern: its rows outside its largest class.

    Source: Angelino et al. 2018, the equivalent points bound.
    """
    found: NDArray[np.int64] = weight.sum(axis=1) - weight.max(axis=1)
    return found


@dataclass(frozen=True, eq=False)
class Arithmetic:
    """A table as one matrix, so that a product with sets of patterns gives all counts that a level needs.

    `matrix` (patterns, (classes + 1) (rules + 1)): rows per class and irreducible errors, in each rule and in all.
    `outside` (rules, words): the patterns that a rule does not hold for, packed; `mixers` (words,): odd numbers.
    """

    table: RuleTable
    matrix: NDArray[np.floating]
    outside: Words
    mixers: Words

    @property
    def root(self) -> Words:
        """Return the set of all patterns, (1, words)."""
        return _pack_sets(np.ones((1, len(self.table.weight)), dtype=bool))

    @property
    def block(self) -> int:
        """Return how many sets are looked at in one product: about 16 MiB of counts."""
        return max(16, (1 << 22) // sum(self.matrix.shape))

    def hashes(self, sets: Words) -> Words:
        """Return (sets,) hashes; equal sets have equal ones."""
        mixed = sets * self.mixers
        found: Words = np.bitwise_xor(mixed, mixed >> np.uint64(31)).sum(axis=1, dtype=np.uint64)
        return found


def arithmetic(table: RuleTable) -> Arithmetic:
    """Return the matrices of a table."""
    columns = np.concatenate([table.weight, _irreducible(table.weight)[:, None]], axis=1)
    held = np.concatenate([table.truth, np.ones((len(columns), 1), dtype=bool)], axis=1)
    exact = np.float32 if table.rows < EXACT else np.float64
    matrix = (columns.T[:, :, None] * held).transpose(1, 0, 2).reshape(len(columns), -1).astype(exact)
    outside = _pack_sets(~table.truth.T)
    mixers = np.random.default_rng(0).integers(0, 1 << 63, size=outside.shape[1:], dtype=np.uint64)
    return Arithmetic(table, matrix, outside, mixers | np.uint64(1))


def _pack_sets(sets: NDArray[np.bool_]) -> Words:
    """Return (sets, patterns) booleans as (sets, words) of 64 bits."""
    words = max(1, -(-sets.shape[1] // 64))
    padded = np.zeros((len(sets), 8 * words), dtype=np.uint8)
    held = np.packbits(sets, axis=1)
    padded[:, : held.shape[1]] = held
    return padded.view(np.uint64)


@dataclass(frozen=True, eq=False)
class Extensions:
    """What every rule does to every set of rows left: all arrays (sets, rules), whole numbers.

    `allowed`: whether the rule captures enough rows and leaves some. `captured`: rows. `wrong`: errors of the rule.
    `rest`: rows left behind it, `default`: errors of a default rule on them, `floor`: errors that no list avoids there.
    """

    allowed: NDArray[np.bool_]
    captured: NDArray[np.floating]
    wrong: NDArray[np.floating]
    rest: NDArray[np.floating]
    default: NDArray[np.floating]
    floor: NDArray[np.floating]


def work_of_extensions(numbers: Arithmetic, sets: int) -> float:
    """Return the work (see `Limits`) of `extensions` of so many sets, and of what is made of them."""
    return sets * (CELL * numbers.matrix.size + FIGURE * int(numbers.matrix.shape[1]))


def extensions(numbers: Arithmetic, sets: Words) -> Extensions:
    """Return what the rules do to sets of patterns that are left, (sets, words). Cost: one matrix product."""
    patterns, rules = numbers.table.truth.shape
    left = np.unpackbits(sets.view(np.uint8), axis=1, count=patterns).astype(numbers.matrix.dtype)
    counts = (left @ numbers.matrix).reshape(len(sets), -1, rules + 1)
    inside, total = counts[:, :, :-1], counts[:, :, -1:]
    classes, captured = inside[:, :-1], inside[:, :-1].sum(axis=1)
    behind = total[:, :-1] - classes
    rest = behind.sum(axis=1)
    return Extensions(
        (captured >= numbers.table.least) & (rest > 0),
        captured,
        captured - classes.max(axis=1),
        rest,
        rest - behind.max(axis=1),
        total[:, -1] - inside[:, -1],
    )
