"""A release lowered to clauses over bits of rows: the formula that SAT solvers, counters and proof checkers read.

The same release gives the same clauses on every machine, so that a proof about them is a proof about the release:
whoever checks it builds them anew. Every auxiliary variable is a function of the rows' bits; with raw values the
number of models, not projected, is the number of ordered worlds (summed over the possible numbers of rows).

Source: the row-by-row formulation of Ferry et al., "Trained Random Forests Completely Reveal your Dataset", ICML
2024, for any statements; the direct encoding of values (Walsh, "SAT v CSP", CP 2000); sorted rows after Flener et
al., CP 2002. Gates and totals: `solvers.cells.clauses.gates`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.clauses.gates import (
    CLAUSE_BYTES,
    FALSE,
    TRUE,
    Clauses,
    _encoded_attributes,
    _numbers,
    clauses_needed,
    multiple_bounds,
    size_error,
)
from solvers.foundation.errors import EngineError, Inconclusive, Unsupported
from solvers.foundation.exact import EXACT
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Attribute, Box, Region
from solvers.statements.release import ANY_LABEL, Block, Choice, Loose, Partition, Release, Statement, Summand

PRESENT = NO_PART = -1


@dataclass(frozen=True, slots=True)
class Bit:
    """What a variable of a row says: it is in `part` of `attribute`, or (NO_PART) bit `offset` of its place there.

    `attribute` PRESENT: the row exists, where the number of rows is open.
    """

    variable: int
    row: int
    attribute: int
    part: int = NO_PART
    offset: int = 0


@dataclass(frozen=True, eq=False)
class Lowered:
    """The clauses of a release over `variables` variables (1..variables; 1 is true), and what they mean.

    `raw`: the bits of a row name its raw values (models are ordered worlds), else only parts of named attributes.
    `rows` holds, per row, the variables of its bits; all others are functions of them.
    """

    release: Release
    raw: bool
    variables: int
    clauses: tuple[tuple[int, ...], ...]
    rows: tuple[tuple[int, ...], ...]
    bits: tuple[Bit, ...]

    def projection(self) -> tuple[int, ...]:
        """Return the variables of all rows, in order: a model is determined by them."""
        return tuple(v for row in self.rows for v in row)

    @cached_property
    def named(self) -> tuple[int, ...]:
        """Return the attributes that rows have bits for."""
        return _encoded_attributes(self.release, self.raw)

    def decode(self, model: Iterable[int]) -> NDArray[Any]:
        """Return (rows, attributes) of a model (its literals; those left out are false); absent rows are left out.

        Raw value indices (int64, or Python integers beyond 2^62) where `raw`, else parts, -1 for attributes that
        nothing names. Raises `EngineError` where a row has no or two parts of an attribute.
        """
        true, release = {x for x in model if x > 0}, self.release
        attributes = release.domain.attributes
        big = self.raw and any(a.total > EXACT for a in attributes)
        out: NDArray[Any] = np.full((len(self.rows), len(attributes)), -1, dtype=object if big else np.int64)
        starts = [[0, *accumulate(a.sizes)] for a in attributes]
        present = np.ones(len(out), dtype=bool)
        for k in self.named:
            if len(_parts(attributes[k])) == 1:
                out[:, k] = _parts(attributes[k])[0]
        for bit in self.bits:
            if bit.attribute == PRESENT:
                present[bit.row] = bit.variable in true
            elif bit.part != NO_PART and bit.variable in true:
                if out[bit.row, bit.attribute] != NO_PART:
                    raise EngineError(f"no model: row {bit.row + 1} has two parts of {attributes[bit.attribute].name}")
                out[bit.row, bit.attribute] = bit.part
        if (out[present][:, list(self.named)] == NO_PART).any():
            raise EngineError("no model: a row has no part of some attribute")
        if self.raw:
            for k in self.named:
                out[:, k] = [starts[k][p] if p != NO_PART else p for p in out[:, k].tolist()]
            for bit in self.bits:
                if bit.attribute != PRESENT and bit.part == NO_PART and bit.variable in true:
                    out[bit.row, bit.attribute] += 1 << bit.offset
        return out[present]

    def comments(self) -> Iterator[str]:
        """Yield what each variable of a row says, one line each; values are numbered from 0 in domain order."""
        yield f"variable {TRUE} is true; the bits of rows follow, all other variables are functions of them"
        for bit in self.bits:
            name, row = f"variable {bit.variable}", f"row {bit.row + 1}"
            if bit.attribute == PRESENT:
                yield f"{name}: {row} exists"
                continue
            attribute = self.release.domain.attributes[bit.attribute]
            if bit.part == NO_PART:
                yield f"{name}: {row}, {attribute.name} is {1 << bit.offset} values further in its part"
                continue
            first = sum(attribute.sizes[: bit.part])
            last = first + attribute.sizes[bit.part] - 1
            held = f"value {first}" if first == last else f"values {first}..{last}"
            yield f"{name}: {row}, {attribute.name} in part {bit.part} ({held})"


def lower(release: Release, limits: Limits, *, raw: bool = True, sorted_rows: bool = False) -> Lowered:
    """Return the clauses of a release.

    `sorted_rows` adds that the rows are in lexicographic order, of their parts or, with `raw`, of their values: some
    world meets that if any exists, so refutations stay right and get shorter; with `raw`, models then are datasets
    without an order. Raises `Unsupported` where rows
    cannot be written out, `TooLarge` and `Inconclusive` when the limits are met. Cost: rows times boxes, and per
    statement at most about 60,000 steps of a unary counter.
    """
    return state_clauses(release, limits, raw=raw, sorted_rows=sorted_rows).finish()


def state_clauses(release: Release, limits: Limits, *, raw: bool = True, sorted_rows: bool = False) -> Lowering:
    """Return the same clauses (see `lower`) unfinished, so that literals for further regions can be asked for."""
    made = Lowering(release, limits, raw=raw)
    if sorted_rows:
        made.sort()
    for box in release.impossible:
        for i in range(made.maximum):
            made.out.add(-x for x in made.sides(i, box) or [made.present[i]])
    for block in release.blocks:
        if limits.expired():
            raise Inconclusive("the time was up while the CNF row by row was written")
        made.state(block)
    return made


class Lowering:
    """The rows of a release as bits, and literals for what is said about them; `stated` states the release itself."""

    def __init__(self, release: Release, limits: Limits, *, raw: bool) -> None:
        if release.rows.high is None:
            raise Unsupported("the number of rows is unbounded: rows cannot be written out")
        if raw and release.domain.relative:
            raise Unsupported(
                "a continuous attribute has no 'resolution': its values are not bits (declare it: --domain)"
            )
        if raw and release.coarse:
            raise Unsupported("an attribute whose values are summed has too many values: its values are not bits")
        self.release, self.raw, self.maximum = release, raw, release.rows.high
        self.named = _encoded_attributes(release, raw)
        if (needed := clauses_needed(release, raw)) * CLAUSE_BYTES > limits.room:
            raise size_error(needed)
        self.out, self.bits = Clauses(limits), list[Bit]()
        self.present = [self._present(i) for i in range(self.maximum)]
        for i in range(release.rows.low + 1, self.maximum):
            self.out.add((-self.present[i], self.present[i - 1]))
        self._part: dict[tuple[int, int], dict[int, int]] = {}
        self._upto: dict[tuple[int, int], list[int]] = {}
        self._places: dict[tuple[int, int], list[int]] = {}
        self._inside: dict[tuple[int, int, int], int] = {}
        self._regions: dict[tuple[int, Region], int] = {}
        for i in range(self.maximum):
            for k in self.named:
                self._row(i, k)

    def finish(self) -> Lowered:
        """Return what was stated so far."""
        rows: list[list[int]] = [[] for _ in range(self.maximum)]
        for bit in self.bits:
            rows[bit.row].append(bit.variable)
        every = tuple(tuple(sorted(row)) for row in rows)
        return Lowered(self.release, self.raw, self.out.variables, tuple(self.out.clauses), every, tuple(self.bits))

    def _bit(self, row: int, attribute: int, part: int = NO_PART, offset: int = 0) -> int:
        """Return a new variable of a row."""
        self.bits.append(Bit(self.out.fresh(), row, attribute, part, offset))
        return self.out.variables

    def _present(self, i: int) -> int:
        return TRUE if i < self.release.rows.low else self._bit(i, PRESENT)

    def _row(self, i: int, k: int) -> None:
        """Give row i exactly one part of attribute k and, with raw values, one place in it."""
        attribute, here = self.release.domain.attributes[k], self.present[i]
        parts = _parts(attribute)
        if len(parts) == 1:
            bits = {parts[0]: here}
        else:
            bits = {p: self._bit(i, k, p) for p in parts}
            if upto := self.out.one_of(list(bits.values()), here):
                self._upto[i, k] = upto
        self._part[i, k] = bits
        width = max((attribute.sizes[p] - 1).bit_length() for p in parts) if self.raw and parts else 0
        places = self._places[i, k] = [self._bit(i, k, offset=j) for j in range(width)]
        for place in places:
            self.out.add((here, -place))
        for p, bit in bits.items():
            last = attribute.sizes[p] - 1
            for j, place in enumerate(places):  # place <= last: a 1 where it has 0 needs a 0 where it has 1, above
                if not last >> j & 1:
                    above = [-places[h] for h in range(j + 1, width) if last >> h & 1]
                    self.out.add((-bit, -place, *above))

    def sort(self) -> None:
        """State that the rows that exist are in lexicographic order of their parts and their places in these."""
        for i in range(1, self.maximum):
            alike = self.present[i]
            for k in self.named:
                a, b = self._part[i - 1, k], self._part[i, k]
                parts = list(a)
                for at, p in enumerate(parts):
                    later = sum(1 << q for q in parts[at:])
                    self.out.add((-alike, -a[p], self.inside(i, k, later)))
                same = [self.out.both((a[p], b[p])) for p in parts]
                alike = self.out.both((alike, self.out.either(same)))
                for x, y in zip(reversed(self._places[i - 1, k]), reversed(self._places[i, k]), strict=True):
                    self.out.add((-alike, -x, y))
                    alike = self.out.both((alike, self.out.either((self.out.both((x, y)), self.out.both((-x, -y))))))

    # ------------------------------------------------------------ one row

    def inside(self, i: int, k: int, mask: int) -> int:
        """Return the literal that row i exists and has one of the parts in `mask` of attribute k."""
        bits = self._part[i, k]
        parts = [p for p in bits if mask >> p & 1]
        if len(parts) == len(bits):
            return self.present[i] if bits else FALSE
        key = (i, k, sum(1 << p for p in parts))
        if key not in self._inside:
            if 2 * len(parts) > len(bits):
                rest = sum(1 << p for p in bits if not mask >> p & 1)
                self._inside[key] = self.out.both((self.present[i], -self.inside(i, k, rest)))
            elif (i, k) in self._upto:
                self._inside[key] = self.out.either(self._runs(i, k, set(parts)))
            else:
                self._inside[key] = self.out.either(bits[p] for p in parts)
        return self._inside[key]

    def _runs(self, i: int, k: int, parts: set[int]) -> list[int]:
        """Return literals, one of which holds where row i has one of the parts: one per run of neighbours."""
        bits, upto, out = list(self._part[i, k].items()), self._upto[i, k], []
        start = None
        for at in range(len(bits) + 1):
            held = at < len(bits) and bits[at][0] in parts
            if held and start is None:
                start = at
            elif not held and start is not None:
                if start + 1 == at:
                    out.append(bits[start][1])
                else:
                    out.append(self.out.both((upto[at - 1], *(-x for x in upto[start - 1 : start]))))
                start = None
        return out

    def sides(self, i: int, box: Box) -> list[int]:
        """Return literals that all hold where row i is in a box, if it exists: one per attribute it restricts."""
        return [self.inside(i, k, mask) for k, mask in box.literals]

    def region(self, i: int, region: Region) -> int:
        """Return the literal that row i exists and is in a region."""
        if (i, region) not in self._regions:
            out = self.out.both((self.present[i], *self.sides(i, region.box)))
            if region.minus:
                out = self.out.both((out, *(-self.region(i, Region(box)) for box in region.minus)))
            self._regions[i, region] = out
        return self._regions[i, region]

    # ------------------------------------------------------------ statements

    def state(self, block: Block) -> None:
        """State a block of the release."""
        if isinstance(block, Partition):
            self._partition(block)
        elif isinstance(block, Choice):
            self.out.one_of([self.out.both(x for s in a for x in self.holds(s)) for a in block.alternatives])
        elif isinstance(block, Loose):
            for s in block:
                if (counted := s.region) is not None:
                    self._require([self.region(i, counted) for i in range(self.maximum)], s.low, s.high)
                else:
                    for x in self.holds(s):
                        self.out.add((x,))

    def _partition(self, block: Partition) -> None:
        """State how many rows lie in every region, by class; its regions cover the row space."""
        members: list[list[int]] = [[] for _ in range(len(block.boxes))]
        for i in range(self.maximum):
            free = self.present[i]
            for j, box in enumerate(block.boxes):
                hit = self.region(i, Region(box))
                members[j].append(self.out.both((free, hit)) if block.first_match else hit)
                if block.first_match:
                    free = self.out.both((free, -hit))
            self.out.add((-self.present[i], *(found[i] for found in members)))
        k = self.release.domain.label
        for j, label, low, high in zip(
            block.region.tolist(), block.label.tolist(), block.low.tolist(), block.high.tolist(), strict=True
        ):
            if label == ANY_LABEL or k is None:
                self._require(members[j], low, high)
            elif high <= 0:
                for i, x in enumerate(members[j]):
                    self.out.add((-x, -self.inside(i, k, 1 << label)))
                self._require([], low, high)
            else:
                own = [self.out.both((x, self.inside(i, k, 1 << label))) for i, x in enumerate(members[j])]
                self._require(own, low, high)

    def _require(self, literals: list[int], low: int, high: int) -> None:
        """State that low <= number of true literals <= high."""
        if high == 0:
            for x in literals:
                self.out.add((-x,))
        for x in self.out.counted(literals, low, high):
            self.out.add((x,))

    def holds(self, s: Statement) -> list[int]:
        """Return literals that all hold exactly where a statement does."""
        singles = [one for summand in s.summands for one in summand.of_one_factor()]
        units = {c for one in singles for c in _numbers(one)} - {0}
        if len(units) <= 1:  # a count after all, as in medians
            inner = [x for one in singles for x in self._of_one_number(one)]
            return self.out.counted(inner, *multiple_bounds(s.low, s.high, units.pop() if units else 1))
        terms, shift = list[tuple[int, int]](), 0
        for one in singles:
            minimum = min(0, *_numbers(one))  # weights are at least 0: all rows, absent ones too, count -least more
            shift -= minimum * self.maximum
            terms += self._weighted(one, minimum)
        return self.out.summed(terms, s.low + shift, s.high + shift)

    def _of_one_number(self, one: Summand) -> list[int]:
        """Return per row the literal that a summand, all of whose numbers but 0 are the same, counts it."""
        rows = range(self.maximum)
        if not one.factors:
            return [self.region(i, one.region) for i in rows] if one.times else []
        k, coefs = one.factors[0]
        mask = sum(1 << p for p, c in enumerate(coefs) if c)
        return [self.out.both((self.region(i, one.region), self.inside(i, k, mask))) for i in rows]

    def _weighted(self, one: Summand, minimum: int) -> Iterator[tuple[int, int]]:
        """Yield (literal, weight) of what the rows add by a summand of at most one factor, each -minimum more."""
        numbers = _numbers(one)
        for j in range(max(c - minimum for c in (0, *numbers)).bit_length()):
            mask = sum(1 << p for p, c in enumerate(numbers) if (c - minimum) >> j & 1)
            for i in range(self.maximum):
                region = self.region(i, one.region)
                if one.factors:
                    yield self.out.both((region, self.inside(i, one.factors[0][0], mask))), 1 << j
                elif mask:
                    yield region, 1 << j
                if -minimum >> j & 1:
                    yield -region, 1 << j


def _parts(attribute: Attribute) -> list[int]:
    """Return the parts that hold a value."""
    return [p for p, size in enumerate(attribute.sizes) if size]


__all__ = ["Bit", "Lowered", "Lowering", "clauses_needed", "lower", "state_clauses"]
