"""Exact products of powers, their logarithms, and the counting formulas of the three conventions.

No cancellation eats digits: logarithms are sums of positive terms or of log1p terms, those of factorials are subtracted
with 60 digits. Their cost does not grow with the numbers of rows, which a file may set to anything; exact products,
which are taken apart into prime powers (Legendre's formula), are refused beyond `MAX_FACTORED`.

Up to where whole numbers are exact, in 64 bits and in double precision, and what stands for an open side.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_DOWN, Context, Decimal
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.errors import Inconclusive, ReleaseError

EXACT = 1 << 62  # sums whose terms' absolute values add up to less stay exact in 64 bits
OPEN = 1 << 60  # stands for no bound in sums and in CP-SAT, which refuses bounds near 2^62
MAX_SUM = 1 << 59  # sums over all cells: exact in 64 bits, and below what stands for no bound
DOUBLE = 1 << 53  # whole numbers up to here are exact in double precision


Factor = tuple[int, int]  # (base, exponent); the product over all factors is an integer
STEPS = 1 << 17  # terms that are added one by one
MAX_SIEVED = 2_000_000  # primes up to here are sieved; beyond, binomials stay products
MAX_BITS = 1 << 23  # of a number of worlds that is written out: a second or two
MAX_FACTORED = 100_000_000  # rows whose factorials are taken apart into primes (a sieve of so many bytes)
HALF = Decimal("0.5")
HALF_LOG_TAU = Decimal("0.918938533204672741780329736405617639861397473637783412817151540")  # ln(2π) / 2
BERNOULLI = ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510))


NUMBER = re.compile(r"\s*[-+]?(?=\d|\.\d)\d*(?:\.\d*)?(?:[eE](?P<exponent>[-+]?\d{1,6})|/\d+)?\s*", re.ASCII)
MAX_DIGITS = 1_000  # of a number that somebody wrote in decimal
MAX_EXPONENT = 1_000  # of ten, either way; doubles end at 308


def exact_number(text: str) -> Fraction:
    """Return a number as it is written (1/20, 0.05, 5e-2), exactly; the one reader of numbers that stand in text.

    Raises `ReleaseError` for what is not a number, and, before it is built, for one of more than 1,000 digits or with a
    power of ten beyond 1,000: such as 1e-999999999 take minutes and gigabytes. Cost: the length of the text.
    """
    short = text if len(text) <= 40 else f"{text[:40]}..."
    if len(text) > 2 * MAX_DIGITS + 10 or (found := NUMBER.fullmatch(text)) is None:
        raise ReleaseError(f"{short!r} is not a number, or one of too many digits")
    if max(map(len, text.split("/"))) > MAX_DIGITS or abs(int(found["exponent"] or 0)) > MAX_EXPONENT:
        raise ReleaseError(f"the number {short} has more than {MAX_DIGITS:,} digits, written out")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ReleaseError(f"{short!r} is not a number: it divides by 0") from None


def decimal(value: int) -> str:
    """Return an integer's decimal digits, past Python's limit on printing long integers."""
    if abs(value) < 10**4000:
        return str(value)
    half = int(abs(value).bit_length() / math.log2(10) / 2)
    high, low = divmod(abs(value), 10**half)
    return ("-" if value < 0 else "") + decimal(high) + decimal(low).zfill(half)


def short_number(value: Fraction | float, digits: int = 6) -> str:
    """Return a number of any size for people, with so many significant digits: a file may set it to anything."""
    try:
        return f"{float(value):.{digits}g}"
    except OverflowError:
        exact = Fraction(value)
        size = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)
        return f"{size.divide(Decimal(exact.numerator), Decimal(exact.denominator)).normalize(size):g}"


def level_text(level: Fraction | float) -> str:
    """Return a confidence with all digits that tell it from others: 0.9999999 is not 1."""
    return repr(float(level)).removesuffix(".0")


def complement_text(p: float) -> str:
    """Return 1 - p for p in (0, 1], rounded up: six digits, or "1 - 1.8e-08" where they would all be 9."""
    if p >= 1e-4:
        return f"{math.ceil((1 - p) * 10**6) / 10**6:g}"
    down = Context(prec=3, rounding=ROUND_DOWN).create_decimal(p)
    return f"1 - {float(down):.3g}" if p > sys.float_info.min else "1 - 1e-307"


@lru_cache(maxsize=4)
def _primes(limit: int) -> NDArray[np.int64]:
    """Return the primes up to limit, ascending (sieve of Eratosthenes); `Inconclusive` beyond `MAX_FACTORED`."""
    if limit > MAX_FACTORED:
        raise Inconclusive(f"factorials of more than {MAX_FACTORED:,} rows are not written out")
    sieve = np.ones(limit + 1, dtype=bool)
    sieve[:2] = False
    for p in range(2, math.isqrt(limit) + 1):
        if sieve[p]:
            sieve[p * p :: p] = False
    found: NDArray[np.int64] = np.flatnonzero(sieve).astype(np.int64)
    return found


def _factorial_exponents(n: int, among: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the exponent of each prime in n! (Legendre)."""
    exponents = np.zeros(len(among), dtype=np.int64)
    quotient = n // among
    while quotient.any():
        exponents += quotient
        quotient //= among
    return exponents


def multinomial_factors(counts: Sequence[int]) -> list[Factor]:
    """Return n! / Π counts! as prime powers, n = Σ counts; empty for 1. Cost: O(n / log n) per distinct count."""
    return factorial_ratio(sum(counts), counts)


def factorial_ratio(n: int, below: Sequence[int]) -> list[Factor]:
    """Return n! over the product of the factorials of `below` as (base, exponent) pairs; exponents may be negative.

    Prime powers where n is small; else (k+1)(k+2)...n, k the greatest of `below`, over the other factorials.
    `Inconclusive` where both are too long to be written out.
    """
    others = sorted(below)
    top = others.pop() if others else 0
    written = n > MAX_SIEVED and 0 <= n - top <= MAX_SIEVED
    among = _primes(max(others[-1] if others else 0, 2) if written else max(n, top, 2))
    total = np.zeros(len(among), dtype=np.int64) if written else _factorial_exponents(n, among)
    for value, repeated in Counter(others if written else below).items():
        total -= repeated * _factorial_exponents(value, among)
    kept = total != 0
    product = [(k, 1) for k in range(top + 1, n + 1)] if written else []
    return product + list(zip(among[kept].tolist(), total[kept].tolist(), strict=True))


@lru_cache(maxsize=1 << 16)
def _log_factorial(n: int, digits: int) -> Decimal:
    """Return ln n! with an error below 10^-30 where `digits` is 40 and the length of n (Stirling's series)."""
    context = Context(prec=digits)
    if n < 1_000:
        return context.ln(Decimal(math.factorial(n)))
    z = Decimal(n)
    terms = [context.multiply(context.add(z, HALF), context.ln(z)), z.copy_negate(), HALF_LOG_TAU]
    for k, (above, below) in enumerate(BERNOULLI, 1):
        scale = context.multiply(below * 2 * k * (2 * k - 1), context.power(z, 2 * k - 1))
        terms.append(context.divide(Decimal(above), scale))
    return reduce(context.add, terms)


def log2_factorial_ratio(n: int, below: Iterable[int]) -> float:
    """Return log2 of n! over the product of the factorials of `below` to double precision, for integers of any length.

    Cost: microseconds per different number, however large it is.
    """
    times = Counter(below)
    context = Context(prec=40 + len(str(max([n, *times]))))
    found = _log_factorial(n, context.prec)
    for value, repeated in times.items():
        found = context.subtract(found, context.multiply(Decimal(repeated), _log_factorial(value, context.prec)))
    return float(context.divide(found, context.ln(Decimal(2))))


def multiset_factors(size: int, count: int) -> list[Factor]:
    """Return C(size + count - 1, count), the multisets of `count` out of `size` rows, as `factorial_ratio`."""
    return [] if count == 0 or size == 1 else factorial_ratio(size + count - 1, [count, size - 1])


@dataclass(frozen=True)
class NumberBounds:
    """Two numbers that a number lies between: log2 of each (minus infinity of 0), and whether they are one number.

    `ends`: the two whole numbers; None for one of more than `MAX_BITS` bits, which is not written out.
    """

    log2: tuple[float, float]
    exact: bool
    ends: tuple[int | None, int | None]

    @classmethod
    def of(cls, log2: tuple[float, float], exact: bool, write: Callable[[int], int]) -> NumberBounds:
        """Return the bounds with these logarithms; `write` makes the whole number of an end (0: low, 1: high)."""
        low, high = (write(end) if log2[end] <= MAX_BITS and not (exact and end) else None for end in (0, 1))
        return cls(log2, exact or (low is not None and low == high), (low, low if exact else high))

    @property
    def whole(self) -> tuple[int, int] | None:
        """Return both ends in whole numbers, None where one is too long."""
        low, high = self.ends
        return None if low is None or high is None else (low, high)

    @property
    def logs(self) -> list[float | None]:
        """Return log2 of both ends, None of 0."""
        return [None if math.isinf(x) else x for x in self.log2]


def merged_factors(factors: Iterable[Factor]) -> list[Factor]:
    """Return the product with every base once: prime powers that cancel are gone before anything is multiplied."""
    out = Counter[int]()
    for base, exponent in factors:
        out[base] += exponent
    return [(base, exponent) for base, exponent in out.items() if exponent]


def log2_product(factors: Iterable[Factor]) -> float:
    """Return log2 of the product, each term to double precision and summed exactly (fsum)."""
    return math.fsum(exponent * math.log2(base) for base, exponent in factors)


def product(factors: Iterable[Factor]) -> int:
    """Return the product as an integer; negative exponents divide exactly."""
    above = tree_product([base**e for base, e in _factors_of(factors, 1)])
    below = tree_product([base**e for base, e in _factors_of(factors, -1)])
    return above // below


def _factors_of(factors: Iterable[Factor], sign: int) -> list[Factor]:
    """Return the factors with positive (sign 1) or negative (-1) exponents, exponents made positive."""
    return [(base, sign * e) for base, e in factors if sign * e > 0]


def tree_product(numbers: list[int]) -> int:
    """Return the product, multiplied in pairs so that operands stay of equal length."""
    while len(numbers) > 1:
        paired = [a * b for a, b in zip(numbers[::2], numbers[1::2], strict=False)]
        numbers = paired + ([numbers[-1]] if len(numbers) % 2 else [])
    return numbers[0] if numbers else 1


def log2_multinomial(counts: Sequence[int]) -> float:
    """Return log2(n! / Π counts!) to double precision."""
    return log2_factorial_ratio(sum(counts), counts)


def log2_multisets(size: int, count: int) -> float:
    """Return log2 C(size + count - 1, count) to double precision, for integers of any length.

    Uses Σ_{i<count} log2(1 + (size - 1)/(i + 1)), all terms positive; beyond STEPS terms Stirling's series (Robbins, "A
    remark on Stirling's formula", American Mathematical Monthly 62, 1955: the next term is below 1 / (360 STEPS^3)).
    """
    if count == 0 or size == 1:
        return 0.0
    if count >= size:  # the same number, with fewer terms
        size, count = count + 1, size - 1
    if size >= 1 << 1000:
        # (size + i)/(i + 1) with i/size below 2^-900: the sum of logs needs no correction in double precision.
        return count * math.log2(size) - math.lgamma(count + 1) / math.log(2)
    if count > STEPS:
        a, b = float(size - 1), float(count)
        rest = (1 / a + 1 / b) / (2 * math.pi)
        series = (1 / (a + b) - 1 / a - 1 / b) / 12
        whole = a * math.log1p(b / a) + b * math.log1p(a / b)
        return (whole + math.log(rest) / 2 + series) / math.log(2)
    steps = np.arange(1, count + 1, dtype=np.float64)
    return math.fsum(np.log1p((size - 1) / steps)) / math.log(2)


def log2_worlds(sizes: Sequence[int], counts: NDArray[np.int64], convention: str) -> float:
    """Return log2 of the number of worlds with these counts (minus infinity where there is none)."""
    filled = [(sizes[s], c) for s, c in enumerate(counts.tolist()) if c]
    if any(size == 0 for size, _ in filled):
        return -math.inf
    if convention == "multiset":
        return math.fsum(log2_multisets(size, c) for size, c in filled)
    inside = math.fsum(c * math.log2(size) for size, c in filled)
    return inside if convention == "assigned" else inside + log2_multinomial([c for _, c in filled])


def log_absent_multiset(ratio: float, size: int, count: int) -> float:
    """Return ln of the share of multisets without any of the ratio * size chosen rows of a cell.

    Π_{i<count} (size - m + i)/(size + i) = Π (1 - ratio / (1 + i/size)). Beyond STEPS factors the sum is an integral,
    by Gauss's rule over ranges that double (what it leaves out is below STEPS^-2).
    """
    if count == 0 or ratio == 0.0:
        return 0.0
    if ratio >= 1.0:
        return -math.inf
    inverse = 1 / size if size < 1 << 1000 else 0.0
    terms = [np.log1p(-ratio / (1.0 + np.arange(min(count, STEPS), dtype=np.float64) * inverse))]
    points, weights = np.polynomial.legendre.leggauss(20) if count > STEPS else (np.zeros(0), np.zeros(0))
    begin = float(STEPS)
    while begin < count:
        half = (min(2 * begin, float(count)) - begin) / 2
        middle = begin - 0.5 + half
        terms.append(half * weights * np.log1p(-ratio / (1.0 + (middle + half * points) * inverse)))
        begin += 2 * half
    return math.fsum(np.concatenate(terms))


def log2_sum(logs: list[float]) -> float:
    """Return log2 Σ 2^x."""
    top = max(logs)
    return top if len(logs) == 1 or math.isinf(top) else top + math.log2(math.fsum(2.0 ** (x - top) for x in logs))


def magnitude(values: NDArray[Any]) -> int:
    """Return the greatest absolute value of whole numbers, 0 of none; exact at the ends of 64 bits too."""
    return max(abs(int(values.min())), abs(int(values.max()))) if len(values) else 0


def exact_dot(a: NDArray[Any], b: NDArray[Any]) -> int:
    """Return Σ a b of whole numbers exactly: in 64 bits where it surely fits, in Python integers else."""
    if max(1, magnitude(a)) * max(1, magnitude(b)) * max(1, len(a)) < EXACT:
        return int(a.astype(np.int64) @ b.astype(np.int64))
    return sum(x * y for x, y in zip(a.tolist(), b.tolist(), strict=True) if x)
