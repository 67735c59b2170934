"""Brute force over every dataset of a tiny binary domain: in which of them does GreedyRL of width 1 learn a given list.

Two ways that share nothing: `by_fitting` runs the learner itself on every dataset and groups them by the list that
comes out; `by_fillings` fills the open cells of one list's rows in every way and compares, level by level, exact
fractions (Ferry et al., SaTML 2024: the highest Σ_side Σ_class n²/n_side; ties: the purer captured part ("authors"),
then fewer captured rows, then the first literal, "column is 1" before "column is 0"; with "authors" among literals
whose support on all rows is at least min_support and leaves as many rows).

A list's worlds are counted in the convention `assigned`: each row's rule and class is fixed.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from learner_oracle import Row, Worlds, multisets

from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier

Counts = tuple[int, ...]


@dataclass(frozen=True)
class RuleList:
    """Rules (column, value, class counts) in order, and the counts of the rows that no rule captures."""

    rules: tuple[tuple[int, int, Counts], ...]
    default: Counts

    @property
    def parts(self) -> list[Counts]:
        return [*(counts for _, _, counts in self.rules), self.default]


@dataclass(frozen=True)
class ListSettings:
    """The settings of a GreedyRuleListClassifier of width 1; `min_support` in rows."""

    min_support: int = 1
    max_length: int | None = None
    negations: bool = True
    ties: str = "fewest"

    def candidate(self, support: int, rows: int) -> bool:
        """Return whether literals of a column with so many ones in all rows are candidates."""
        least = max(1, self.min_support)
        return self.ties == "fewest" or least <= support <= rows - least


def learned(rows: Sequence[Row], classes: int, settings: ListSettings) -> RuleList:
    """Return the list that the learner itself finds; classes that it has not seen have count 0."""
    model = GreedyRuleListClassifier(1, settings.min_support, settings.max_length, settings.negations, settings.ties)
    model.fit(np.array([bits for bits, _ in rows]), np.array([k for _, k in rows]))
    names = [str(name) for name in model.feature_names_in_]
    seen = model.classes_.tolist()
    parts = []
    for literals, found in model.rules_:
        counts = tuple(int(found[seen.index(k)]) if k in seen else 0 for k in range(classes))
        parts.append((*((names.index(str(name)), value) for name, value in literals), counts))
    return RuleList(tuple((literal[0], literal[1], counts) for literal, counts in parts[:-1]), parts[-1][0])


def orderings(model: RuleList) -> int:
    """Return n!/Π c!, the datasets with rows in order per `assigned` world."""
    cells = [c for part in model.parts for c in part]
    return math.factorial(sum(cells)) // math.prod(math.factorial(c) for c in cells)


def by_fitting(n: int, columns: int, classes: int, settings: ListSettings) -> dict[RuleList, int]:
    """Return for every list that comes out the number of datasets, rows in order and classes free."""
    found: Counter[RuleList] = Counter()
    for rows, times in multisets(n, columns, classes):
        found[learned(rows, classes, settings)] += times
    return dict(found)


def fillings(model: RuleList, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all fillings (worlds, rows, columns) of the cells left open, and each row's rule and class."""
    fixed: list[list[int | None]] = []
    rule, label = [], []
    for j, counts in enumerate(model.parts):
        cells: list[int | None] = [None] * columns
        for column, value, _ in model.rules[:j]:
            cells[column] = 1 - value
        if j < len(model.rules):
            cells[model.rules[j][0]] = model.rules[j][1]
        for k, c in enumerate(counts):
            fixed += [list(cells)] * c
            rule += [j] * c
            label += [k] * c
    cells_open = [(i, c) for i, row in enumerate(fixed) for c in range(columns) if row[c] is None]
    base = np.array([[bit or 0 for bit in row] for row in fixed], dtype=np.int8)
    table = np.broadcast_to(base, (1 << len(cells_open), *base.shape)).copy()
    index = np.arange(1 << len(cells_open))
    for at, (i, c) in enumerate(cells_open):
        table[:, i, c] = (index >> at) & 1
    return table, np.array(rule, dtype=int), np.array(label, dtype=int)


@cache
def gain(inside: Counts, outside: Counts) -> Fraction:
    """Return Σ_side Σ_class n²/n_side, exactly."""
    return sum((Fraction(sum(c * c for c in side), sum(side)) for side in (inside, outside)), Fraction(0))


def key_of(inside: Counts, outside: Counts, settings: ListSettings) -> tuple[Fraction, Fraction, int]:
    """Return what literals are compared by, but for their order; less is first."""
    purity = sum(inside) - Fraction(sum(c * c for c in inside), sum(inside))
    return -gain(inside, outside), purity if settings.ties == "authors" else Fraction(0), sum(inside)


def first(
    ones: list[list[int]], total: Counts, settings: ListSettings, candidates: Sequence[bool] | None = None
) -> tuple[int, int] | None:
    """Return the literal (column, value) that comes first, by the ones per class of each column; None: none gains."""
    keys = []
    for c, part in enumerate(ones):
        if candidates is not None and not candidates[c]:
            continue
        for v in (1, 0) if settings.negations else (1,):
            inside = tuple(part) if v else tuple(t - x for t, x in zip(total, part, strict=True))
            outside = tuple(t - x for t, x in zip(total, inside, strict=True))
            if max(1, settings.min_support) <= sum(inside) < sum(total):
                keys.append((*key_of(inside, outside, settings), 2 * c + (v == 0)))
    best = min(keys, default=None)
    if best is None or -best[0] <= Fraction(sum(c * c for c in total), sum(total)):
        return None
    return best[3] // 2, 1 - best[3] % 2


def consistent(model: RuleList) -> bool:
    """Return whether every rule can capture its rows: no column is asked for again once its value is settled."""
    return len({column for column, _, _ in model.rules}) == len(model.rules)


def by_fillings(model: RuleList, columns: int, settings: ListSettings, *, default_rule: bool = True) -> Worlds:
    """Return the counts by looking at every filling; the learner draws nothing, so `strict` is `could`."""
    table, rule, label = fillings(model, columns)
    classes = len(model.default)
    good = np.full(len(table), settings.max_length is None or len(model.parts) <= settings.max_length)
    support = table.sum(axis=1, dtype=int)
    for j in range(len(model.parts)):
        last = j == len(model.rules)
        if last and (not default_rule or (settings.max_length is not None and len(model.parts) >= settings.max_length)):
            continue
        here = rule >= j
        total = tuple(int((here & (label == k)).sum()) for k in range(classes))
        ones = np.stack([table[:, here & (label == k), :].sum(axis=1, dtype=int) for k in range(classes)], axis=-1)
        wanted = None if last else model.rules[j][:2]
        key = np.concatenate([ones.reshape(len(ones), -1), support], axis=1)
        distinct, which = np.unique(key, axis=0, return_inverse=True)
        each = []
        for line in distinct:
            part, overall = line[: columns * classes].reshape(columns, classes).tolist(), line[columns * classes :]
            there = [settings.candidate(int(s), len(rule)) for s in overall]
            each.append(first(part, total, settings, there) == wanted)
        good &= np.array(each)[which.reshape(-1)]
    return Worlds(len(table), int(good.sum()), int(good.sum()))


def by_columns(
    model: RuleList, columns: int, settings: ListSettings, *, default_rule: bool = True, top: int = 0
) -> list[tuple[int, int]]:
    """Return per column (fillings that every level's condition keeps, all fillings), of the rows of levels >= top."""
    stopped = settings.max_length is not None and len(model.parts) >= settings.max_length
    levels = range(top, len(model.parts) - (stopped or not default_rule))
    found = []
    for c in range(columns):
        cells = [(j, k, fixed_bit(model, j, c)) for j, part in enumerate(model.parts) for k in range(len(part))
                 for _ in range(part[k]) if j >= top]  # fmt: skip
        kept = every = 0
        for bits in itertools.product(*((0, 1) if bit is None else (bit,) for _, _, bit in cells)):
            ones = [[0] * len(model.default) for _ in model.parts]
            for bit, (j, k, _) in zip(bits, cells, strict=True):
                ones[j][k] += bit
            every += 1
            there = settings.candidate(sum(map(sum, ones)), sum(map(sum, model.parts))) or top > 0
            tested = any(column == c for column, _, _ in model.rules)
            holds = all(stands(model, j, c, ones, settings) for j in levels)
            kept += (holds and there) if tested else (holds or (not there and bool(levels)))
        found.append((kept, every))
    return found


def by_states(model: RuleList, columns: int, settings: ListSettings) -> list[tuple[int, int]]:
    """Return `by_columns` for tens of rows: whole numbers by ones per class, level by level from the last."""
    stopped = settings.max_length is not None and len(model.parts) >= settings.max_length
    found = []
    for c in range(columns):
        states, every = {(0,) * len(model.default): 1}, 1
        for j in reversed(range(len(model.parts))):
            part, bit = model.parts[j], fixed_bit(model, j, c)
            choices = (
                itertools.product(*(range(n + 1) for n in part)) if bit is None else [tuple(bit * n for n in part)]
            )
            more: Counter[Counts] = Counter()
            for own in choices:
                ways = math.prod(math.comb(n, a) for n, a in zip(part, own, strict=True)) if bit is None else 1
                for state, x in states.items():
                    more[tuple(a + b for a, b in zip(state, own, strict=True))] += ways * x
            every *= 2 ** sum(part) if bit is None else 1
            free = stopped and j == len(model.rules)
            ones = [[0] * len(model.default)] * j
            states = {s: x for s, x in more.items() if free or stands(model, j, c, [*ones, list(s)], settings)}
        found.append((sum(states.values()), every))
    return found


def fixed_bit(model: RuleList, level: int, column: int) -> int | None:
    """Return what the rules say of a column in the rows of a level, None if nothing."""
    for j, (c, value, _) in enumerate(model.rules[: level + 1]):
        if c == column:
            return value if j == level else 1 - value
    return None


def stands(model: RuleList, level: int, column: int, ones: list[list[int]], settings: ListSettings) -> bool:
    """Return whether no literal of a column comes before the one chosen at a level, by its ones per level and class."""
    classes = range(len(model.default))
    total = tuple(sum(part[k] for part in model.parts[level:]) for k in classes)
    here = [sum(part[k] for part in ones[level:]) for k in classes]
    if level == len(model.rules):
        return first([here], total, settings) is None
    chosen, value, inside = model.rules[level]
    outside = tuple(t - x for t, x in zip(total, inside, strict=True))
    mine = (*key_of(inside, outside, settings), 2 * chosen + 1 - value)
    for v in (1, 0) if settings.negations else (1,):
        part = tuple(here) if v else tuple(t - x for t, x in zip(total, here, strict=True))
        rest = tuple(t - x for t, x in zip(total, part, strict=True))
        admissible = max(1, settings.min_support) <= sum(part) < sum(total)
        if admissible and (*key_of(part, rest, settings), 2 * column + 1 - v) < mine:
            return False
    return True


def emptied(
    model: RuleList, columns: int, settings: ListSettings, *, default_rule: bool = True
) -> set[tuple[int, int]]:
    """Return the lowest (level, column) of every column at which none of its fillings is left."""
    found: dict[int, int] = {}
    for j in range(len(model.parts)):
        kept = by_columns(model, columns, settings, default_rule=default_rule, top=j)
        found |= {c: j for c in range(columns) if not kept[c][0]}
    return {(j, c) for c, j in found.items()}


def random_case(seed: int, *, free: int = 12) -> tuple[RuleList, int, ListSettings]:
    """Return a tiny list, its columns and settings: one that is learned, or (one in three) any list.

    4 to 6 rows, 2 to 4 columns, two classes; at most `free` open cells, so 2^free worlds.
    """
    rng = np.random.default_rng(seed)
    while True:
        n, columns = int(rng.integers(4, 7)), int(rng.integers(2, 5))
        settings = ListSettings(
            int(rng.choice([1, 1, 2])), [None, None, 1, 2, 3, 4][rng.integers(6)], bool(rng.random() < 0.7),
            str(rng.choice(["authors", "fewest"])),
        )  # fmt: skip
        if rng.random() < 0.7:
            rows = [(tuple(rng.integers(0, 2, columns).tolist()), int(rng.integers(2))) for _ in range(n)]
            model = learned(rows, 2, settings)
        else:
            model = _any_list(rng, n, columns, settings.negations)
        depths = [j + (j < len(model.rules)) for j in range(len(model.parts))]
        cells = sum(sum(part) * (columns - depth) for part, depth in zip(model.parts, depths, strict=True))
        if cells <= free and (model.rules or rng.random() < 0.2):
            return model, columns, settings


def _any_list(rng: np.random.Generator, n: int, columns: int, negations: bool) -> RuleList:
    """Return a list of rules that gain something, each on another column, in an order that nothing says is greedy."""
    left, rules = rng.multinomial(n, [0.5, 0.5]), []
    for column in rng.permutation(columns)[: int(rng.integers(1, columns + 1))]:
        part = rng.integers(0, left + 1)
        if not 0 < part.sum() < left.sum():
            continue
        inside, outside, total = (tuple(x.tolist()) for x in (part, left - part, left))
        if gain(inside, outside) > Fraction(sum(c * c for c in total), sum(total)):
            rules.append((int(column), int(rng.random() < 0.6 or not negations), inside))
            left = left - part
    return RuleList(tuple(rules), tuple(left.tolist()))
