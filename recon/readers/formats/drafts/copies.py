"""Counts that have a common divisor: rows that stand in the training data several times, or weigh as if they did.

A weight of 2 doubles every count, class weights those of a class, and copies of rows do the same. Where the counts of
a class, of two leaves or more, are multiples of a number above 1, how many rows all counts stand for is open: from the
quotients on. Boosters weigh rows, not classes: of them the counts of every class are asked for, or such of one class as
chance gives less than once in 64 times.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

CHANCE = 64  # k leaves have a common divisor d by chance once in d^k times


def common_divisor(counts: Iterable[int]) -> int:
    """Return the greatest common divisor of the counts that are not 0; 1 where there are fewer than two of them."""
    found = [n for n in counts if n > 0]
    return math.gcd(*found) if len(found) > 1 else 1


def divided(leaves: Sequence[Sequence[int]], chance: int = 1) -> tuple[list[int], list[int]]:
    """Return the divisor of every column of counts per leaf, and how many rows every leaf has at least.

    Divisors that say nothing are 1: where not every column has one, such as chance gives more than once in `chance`.
    """
    columns = [column for column in zip(*leaves, strict=True) if any(column)]
    found = [common_divisor(column) for column in columns]
    rare = any(d > 1 and d ** sum(n > 0 for n in c) >= chance for d, c in zip(found, columns, strict=True))
    if not rare and min(found, default=1) == 1:
        return [1] * (len(leaves[0]) if leaves else 0), [sum(leaf) for leaf in leaves]
    divisors = [common_divisor(column) for column in zip(*leaves, strict=True)]
    return divisors, [sum(n // d for n, d in zip(leaf, divisors, strict=True)) for leaf in leaves]


def copies_note(divisors: Sequence[int], names: Sequence[object] = ()) -> str:
    """Return what a common divisor means, in words; `names` of the classes."""
    shown = [
        f"{f' of class {name}' if names else ''} of {d}"
        for d, name in zip(divisors, names or [""] * len(divisors), strict=True)
        if d > 1
    ]
    return (
        f"the counts{' and those'.join(shown[:3])} are multiples, so that rows may not stand there once and with "
        "weight 1 (class_weight, sample_weight, copies): how many they are is only known from the quotients on, unless "
        "--rows says it"
    )
