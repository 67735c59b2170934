"""Clauses whose auxiliary variables are functions of the inputs: gates, groups of which one holds, and totals.

Every gate is stated both ways, so that an assignment of the inputs leaves no auxiliary free: a formula built with
them has as many models as its inputs have solutions. Equal gates are built once; a literal that is always true is
`TRUE`. Nothing depends on time, memory or the order of a set: the same calls make the same clauses everywhere.

Source: Tseitin, "On the complexity of derivation in propositional calculus", 1968 (gates); Sinz, "Towards an optimal
CNF encoding of Boolean cardinality constraints", CP 2005 (at least j of the first i, here in both directions); Eén,
Sörensson, "Translating pseudo-Boolean constraints into SAT", JSAT 2, 2006 (adders, comparison with a constant).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from solvers.foundation.errors import Inconclusive, TooLarge
from solvers.foundation.limits import Limits
from solvers.statements.release import Release, Summand

TRUE = 1  # variable 1 is true by a clause of its own
FALSE = -TRUE
CLAUSE_BYTES = 600  # what a clause costs here, as text for the solver, and in it; measured
MAX_PAIRWISE = 6  # groups of at most so many literals exclude each other in pairs
LOOK = 1 << 13  # clauses between looks at the limits
WORK = 2.5e-6  # seconds to make a clause; measured
MAX_UNARY = 60_000  # counters with more steps than that add in binary


def size_error(clauses: float) -> TooLarge:
    """Return the refusal to write so many clauses."""
    size = clauses * CLAUSE_BYTES / (1 << 30)
    return TooLarge(f"the CNF row by row needs about {clauses:,.0f} clauses, {size:.1f} GB (--memory)")


def unary_steps(inputs: int, minimum: int) -> int:
    """Return how many variables "at least `minimum` of the inputs" takes by counting in unary."""
    return max(0, min(minimum, inputs + 1) * (inputs - minimum + 1))


class Clauses:
    """A growing list of clauses, with gates. Raises `TooLarge` or `Inconclusive` when the limits are met."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.variables = limits, TRUE
        self.clauses: list[tuple[int, ...]] = [(TRUE,)]
        self._both: dict[tuple[int, ...], int] = {}
        self._counts: dict[tuple[int, ...], dict[tuple[int, int], int]] = {}
        self._sums: dict[tuple[tuple[int, int], ...], tuple[list[int], int]] = {}

    def fresh(self) -> int:
        """Return a new variable."""
        self.variables += 1
        return self.variables

    def add(self, literals: Iterable[int]) -> None:
        """Add a clause, without false literals; a clause that nothing can meet becomes `(FALSE,)`."""
        kept = dict.fromkeys(x for x in literals if x != FALSE)
        if TRUE in kept or any(-x in kept for x in kept):
            return
        self.clauses.append(tuple(kept) or (FALSE,))
        if len(self.clauses) % LOOK == 0:
            self.limits.charge(LOOK * WORK)
            if self.limits.expired():
                raise Inconclusive("the time was up while the CNF row by row was written")
            if len(self.clauses) * CLAUSE_BYTES > self.limits.room:
                raise size_error(len(self.clauses))

    def both(self, literals: Iterable[int]) -> int:
        """Return a literal that is true exactly where all the given ones are."""
        key = tuple(sorted({x for x in literals if x != TRUE}))
        if FALSE in key or any(-x in key for x in key):
            return FALSE
        if len(key) <= 1:
            return key[0] if key else TRUE
        if key not in self._both:
            out = self._both[key] = self.fresh()
            for x in key:
                self.add((-out, x))
            self.add((out, *(-x for x in key)))
        return self._both[key]

    def either(self, literals: Iterable[int]) -> int:
        """Return a literal that is true exactly where one of the given ones is."""
        return -self.both(-x for x in literals)

    def prefixes(self, literals: Sequence[int]) -> list[int]:
        """Return, per position, a literal for "one of the literals up to here"."""
        out: list[int] = []
        for x in literals:
            out.append(self.either((*out[-1:], x)))
        return out

    def one_of(self, literals: Sequence[int], when: int = TRUE) -> list[int]:
        """State that exactly one of the literals holds where `when` does, and none where it does not.

        Returns the prefixes (`prefixes`) where the group is too large for pairs, else nothing.
        """
        self.add((-when, *literals))
        for x in literals:
            self.add((-x, when))
        if len(literals) <= MAX_PAIRWISE:
            for i, x in enumerate(literals):
                for y in literals[:i]:
                    self.add((-x, -y))
            return []
        upto = self.prefixes(literals)
        for x, before in zip(literals[1:], upto, strict=False):
            self.add((-x, -before))
        return upto

    # ------------------------------------------------------------ counts

    def counted(self, literals: Iterable[int], low: int, high: int) -> list[int]:
        """Return literals that all hold exactly where low <= number of true literals <= high."""
        every = list(literals)
        known = every.count(TRUE)
        free = tuple(x for x in every if x not in (TRUE, FALSE))
        low, high = low - known, high - known
        if low > high or high < 0 or low > len(free):
            return [FALSE]
        out = []
        if low > 0:
            out.append(self.at_least(free, low))
        if high < len(free):
            out.append(-self.at_least(free, high + 1))
        return out

    def at_least(self, literals: tuple[int, ...], minimum: int) -> int:
        """Return a literal for "at least so many of the literals", counted in unary, or in binary if that is long."""
        n = len(literals)
        if minimum <= 0 or minimum > n:
            return TRUE if minimum <= 0 else FALSE
        if minimum == 1:
            return self.either(literals)
        if minimum == n:
            return self.both(literals)
        if unary_steps(n, minimum) > MAX_UNARY:
            return self.sum_at_least([(x, 1) for x in literals], minimum)
        table = self._counts.setdefault(literals, {})
        for i in range(1, n + 1):
            for j in range(max(1, minimum - (n - i)), min(i, minimum) + 1):
                if (i, j) not in table:
                    table[i, j] = self._step(table, literals[i - 1], i, j)
        return table[n, minimum]

    def _step(self, table: dict[tuple[int, int], int], x: int, i: int, j: int) -> int:
        """Return the literal for "at least j of the first i", the i-th being x."""
        fewer = TRUE if j == 1 else table[i - 1, j - 1]
        same = FALSE if i == j else table[i - 1, j]
        if fewer == TRUE or same == FALSE:
            return self.either((same, self.both((x, fewer))))
        out = self.fresh()
        self.add((-same, out))
        self.add((-x, -fewer, out))
        self.add((-out, same, x))
        self.add((-out, fewer))
        return out

    # ------------------------------------------------------------ weighted sums

    def summed(self, terms: Sequence[tuple[int, int]], low: int, high: int) -> list[int]:
        """Return literals that all hold exactly where low <= Σ weight <= high; terms are (literal, weight >= 0)."""
        maximum = sum(weight for _, weight in terms)
        if low > high or high < 0 or low > maximum:
            return [FALSE]
        out = []
        if low > 0:
            out.append(self.sum_at_least(terms, low))
        if high < maximum:
            out.append(-self.sum_at_least(terms, high + 1))
        return out

    def sum_at_least(self, terms: Sequence[tuple[int, int]], minimum: int) -> int:
        """Return a literal for "the weights of the true literals sum to at least so many"."""
        key = tuple(terms)
        if key not in self._sums:
            self._sums[key] = self._added(terms)
        bits, base = self._sums[key]
        minimum -= base
        if minimum <= 0 or minimum >> len(bits):
            return TRUE if minimum <= 0 else FALSE
        out = TRUE
        for j, bit in enumerate(bits):
            out = self.both((bit, out)) if minimum >> j & 1 else self.either((bit, out))
        return out

    def _added(self, terms: Sequence[tuple[int, int]]) -> tuple[list[int], int]:
        """Return the bits of the sum of the weights of the true literals, lowest first, less a constant."""
        columns: list[list[int]] = []
        base = 0

        def put(at: int, bit: int) -> None:
            nonlocal base
            while len(columns) <= at:
                columns.append([])
            if bit == TRUE:
                base += 1 << at
            elif bit != FALSE:
                columns[at].append(bit)

        for literal, weight in terms:
            for at in range(weight.bit_length()):
                if weight >> at & 1:
                    put(at, literal)
        bits: list[int] = []
        while len(bits) < len(columns):
            at, done = len(bits), 0
            waiting = columns[at]
            while len(waiting) - done > 1:
                inputs = waiting[done : done + 3]
                done += len(inputs)
                total, carry = self._adder(inputs)
                put(at, total)
                put(at + 1, carry)
            bits.append(waiting[done] if done < len(waiting) else FALSE)
        return bits, base

    def _adder(self, inputs: Sequence[int]) -> tuple[int, int]:
        """Return the lower and the upper bit of the number of true literals among two or three, none constant."""
        for i, x in enumerate(inputs):
            for j, y in enumerate(inputs[:i]):
                if abs(x) == abs(y):
                    rest = inputs[3 - i - j] if len(inputs) == 3 else FALSE
                    return (rest, x) if x == y else (-rest, rest)
        if len(inputs) == 2:
            a, b = inputs
            return self.both((self.either((a, b)), -self.both((a, b)))), self.both((a, b))
        a, b, c = inputs
        total, carry = self.fresh(), self.fresh()
        for flips in range(8):
            x, y, z = (v if flips >> i & 1 else -v for i, v in enumerate((a, b, c)))
            odd = total if flips.bit_count() % 2 else -total
            self.add((-x, -y, -z, odd))
        for x, y in ((a, b), (a, c), (b, c)):
            self.add((-x, -y, carry))
            self.add((x, y, -carry))
        return total, carry


def multiple_bounds(low: int, high: int, unit: int) -> tuple[int, int]:
    """Return the bounds on k that low <= unit * k <= high means, unit not 0."""
    if unit < 0:
        low, high, unit = -high, -low, -unit
    return -(-low // unit), high // unit


STEP_CLAUSES, ADDER_CLAUSES = 4, 14  # per variable of a count in unary, per added bit


def _numbers(one: Summand) -> tuple[int, ...]:
    """Return what rows add by a summand of at most one factor, per part of its attribute; without one, of all."""
    return one.factors[0][1] if one.factors else (one.times,)


def _encoded_attributes(release: Release, raw: bool) -> tuple[int, ...]:
    """Return the attributes that need bits: all with raw values, else those that something names."""
    return tuple(range(len(release.domain.attributes))) if raw else tuple(sorted(release.mentioned()))


def clauses_needed(release: Release, raw: bool) -> float:
    """Return about how many clauses the rows take, an open number of rows by its largest; infinite if unbounded."""
    if release.rows.high is None:
        return float("inf")
    n, per_row, counts = release.rows.high, 0.0, 0.0
    for k in _encoded_attributes(release, raw):
        sizes = release.domain.attributes[k].sizes
        width = (max(sizes) - 1).bit_length() if raw and sizes else 0
        per_row += len(sizes) * (5 + width)
    for block in release.partitions.values():
        per_row += len(block.boxes) * (5 if block.first_match else 2) + len(block.boxes.attribute) + 3 * len(block)
        for low, high in zip(block.low.tolist(), block.high.tolist(), strict=True):
            counts += _count_clauses(n, low, high)
    for listed in (*release.loose.values(), *release.choices.values()):
        for s in listed.members:
            if s.region is not None:
                per_row += sum(2 + len(b.literals) for b in s.boxes)
                counts += _count_clauses(n, s.low, s.high)
                continue
            for numbers in (_numbers(one) for summand in s.summands for one in summand.of_one_factor()):
                counts += n * (max(map(abs, numbers)) * 2).bit_length() * (ADDER_CLAUSES + len(numbers) / 4)
    return n * per_row + counts


def _count_clauses(n: int, low: int, high: int) -> float:
    """Return about how many clauses a count between two bounds takes."""
    if high <= 0 or low > n:
        return n
    clauses = 0.0
    for minimum in ([low] if low > 0 else []) + ([high + 1] if high < n else []):
        steps = unary_steps(n, minimum)
        clauses = max(clauses, STEP_CLAUSES * steps if steps <= MAX_UNARY else 2 * n * ADDER_CLAUSES)
    return clauses
