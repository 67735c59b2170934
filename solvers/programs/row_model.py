"""A release lowered row by row to CP-SAT: one integer per row and attribute, one Boolean per row and region.

What stays when the cells are too many, and the quicker way for few rows under statistics of their values. Rows are
sorted, so that every dataset stands for itself once.

Source: the row-by-row formulation of forest reconstruction is that of Ferry et al., "Trained Random Forests
Completely Reveal your Dataset", ICML 2024; sorted rows as symmetry breaking after Flener et al., CP 2002.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.errors import Inconclusive, TooLarge, Unsupported
from solvers.foundation.exact import OPEN
from solvers.foundation.limits import Limits
from solvers.programs.cpsat import FOUND, run, solutions
from solvers.statements.boxes import Box, Region, RowSpace
from solvers.statements.release import (
    ANY_LABEL,
    UNBOUNDED,
    Block,
    Choice,
    Loose,
    Partition,
    Release,
    Statement,
    Summand,
)

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

STATED_BYTES = 900  # what a Boolean with its clauses costs while a model is built: measured 820
IN_BOX, EARLIER_BOX = 4e-5, 2e-6  # of work: a row in a box, and per box before it in a list, measured
LITERAL_BYTES = 6_000  # what a Boolean with its clauses costs CP-SAT, measured with two workers


class RowLiterals:
    """What a row may be asked in a CP-SAT model: one integer per attribute, its part, and literals about them."""

    def __init__(
        self, model: cp_model.CpModel, domain: RowSpace, attributes: Sequence[int], here: tuple[Any, ...] = ()
    ) -> None:
        """Make the integers of some attributes; `here`: the literal that the row exists, where that is open."""
        self.model, self.domain, self.here = model, domain, here
        self.parts = {k: self._variable(k) for k in attributes}
        self._inside: dict[tuple[int, int], Any] = {}
        self._boxes: dict[Box, Any] = {}
        self._regions: dict[Region, Any] = {}

    def _variable(self, k: int) -> Any:
        """Return a new integer for attribute k."""
        return self.model.new_int_var(0, len(self.domain.attributes[k].sizes) - 1, "")

    def _full(self, k: int) -> int:
        """Return the parts that attribute k can have."""
        return self.domain.attributes[k].full

    def _values(self, k: int, mask: int) -> cp_model.Domain:
        """Return what the integer of attribute k is for the parts in `mask`."""
        from ortools.sat.python import cp_model

        return cp_model.Domain.from_values([p for p in range(mask.bit_length()) if mask >> p & 1])

    def inside(self, k: int, mask: int) -> Any:
        """Return the literal that the row has one of the parts in `mask` of attribute k."""
        full = self._full(k)
        mask &= full
        if mask in (0, full):
            return self.model.new_constant(int(mask == full))
        if (k, full & ~mask) in self._inside:
            return ~self._inside[k, full & ~mask]
        if (k, mask) not in self._inside:
            literal = self.model.new_bool_var("")
            for held, when in ((mask, literal), (full & ~mask, ~literal)):
                self.model.add_linear_expression_in_domain(self.parts[k], self._values(k, held)).only_enforce_if(when)
            self._inside[k, mask] = literal
        return self._inside[k, mask]

    def every(self, literals: Sequence[Any]) -> Any:
        """Return a literal for the conjunction."""
        if len(literals) == 1:
            return literals[0]
        out = self.model.new_bool_var("")
        self.model.add_bool_and(literals).only_enforce_if(out)
        self.model.add_bool_or([*(~x for x in literals), out])
        return out

    def whole(self, box: Box) -> list[Any]:
        """Return literals that all hold exactly for rows in the box, one per attribute."""
        return [self.inside(k, mask) for k, mask in box.literals]

    def halves(self, box: Box) -> list[Any]:
        """Return the same, but an interval of parts is two literals, which many boxes share."""
        out = []
        for k, mask in box.literals:
            low = (mask & -mask).bit_length() - 1
            if mask and mask + (1 << low) == 1 << mask.bit_length():
                above, upto = -1 << low, (1 << mask.bit_length()) - 1
                full = self.domain.attributes[k].full
                out += [self.inside(k, m) for m in (above, upto) if m & full != full]
            else:
                out.append(self.inside(k, mask))
        return out

    def box(self, box: Box) -> Any:
        """Return the literal that the row exists and is in a box."""
        if box not in self._boxes:
            literals = [*self.here, *self.whole(box)]
            self._boxes[box] = self.every(literals) if literals else self.model.new_constant(1)
        return self._boxes[box]

    def region(self, region: Region) -> Any:
        """Return the literal that the row is in a region."""
        if region not in self._regions:
            self._regions[region] = self.every([self.box(region.box), *(~self.box(b) for b in region.minus)])
        return self._regions[region]


def _singles(s: Statement) -> list[Summand]:
    """Return the summands of a statement, each of at most one factor."""
    return [one for summand in s.summands for one in summand.of_one_factor()]


def _literals_of(release: Release) -> int:
    """Return how many literals a row takes beside those of its values: of regions, boxes, and steps of sums."""
    regions, boxes, steps = set[Region](), set[Box](release.impossible), set[tuple[Region, int, int]]()
    for listed in (*release.loose.values(), *release.choices.values()):
        for s in listed.members:
            for one in _singles(s):
                regions.add(one.region)
                boxes.update(one.boxes)
                for k, coefs in one.factors:
                    steps.update((one.region, k, int(p)) for p in np.flatnonzero(np.diff(coefs)))
    whole = sum(len(block.boxes) * (1 + block.first_match) + len(block) for block in release.partitions.values())
    return whole + len(boxes) + sum(bool(r.minus) for r in regions) + len(steps)


def literals_needed(release: Release, rows: int, attributes: Sequence[int]) -> tuple[int, int]:
    """Return how many Booleans rows of these attributes take, and how many bytes each."""
    partitions = release.partitions.values()
    regions = sum(len(b.boxes) for b in partitions) + len(release.blocks) - len(partitions)
    values = sum(len(release.domain.attributes[k].sizes) for k in attributes)
    solved, stated = (regions + values) * rows, (_literals_of(release) + values) * rows
    return max((solved, LITERAL_BYTES), (stated, STATED_BYTES), key=math.prod)


class RowModel:
    """The CP-SAT model of a release with a known number of rows, row by row."""

    by_parts = True  # the integer of an attribute is the number of its part

    def __init__(self, release: Release, limits: Limits) -> None:
        from ortools.sat.python import cp_model

        self.release, self.n, self.limits = release, self._number(release), limits
        self.model = cp_model.CpModel()
        named = self._named(release)
        needed, each = literals_needed(release, self.n, named)
        if needed * each > limits.room:
            size = needed * each / (1 << 30)
            raise TooLarge(f"a model row by row needs about {needed:,} Booleans, {size:.1f} GB (--memory)")
        limits.keep(self, needed * each)
        self.named = named
        self.each = [self._literals(i) for i in range(self.n)]
        self._below: dict[tuple[Region, int, int], Any] = {}
        self._scaled: dict[tuple[Region, int], Any] = {}
        self._sort()
        for box in release.impossible:
            for row in self.each:
                self.model.add_bool_or([~x for x in (*row.here, *row.whole(box))])
        for block in release.blocks:
            if limits.expired():
                raise Inconclusive("the time was up while the model row by row was built")
            self._block(block)

    def _number(self, release: Release) -> int:
        """Return the number of rows; `Unsupported` where it is open."""
        if not release.rows.exact:
            raise Unsupported("the number of rows is open: no model row by row")
        return release.rows.low

    def _named(self, release: Release) -> list[int]:
        """Return the attributes that rows have integers for."""
        return sorted(release.mentioned())

    def _literals(self, i: int) -> RowLiterals:
        """Return what row i may be asked."""
        return RowLiterals(self.model, self.release.domain, self.named)

    def _sort(self) -> None:
        """Sort the rows by the number that their parts make, attribute by attribute."""
        from ortools.sat.python import cp_model

        sizes = [len(self.release.domain.attributes[k].sizes) for k in self.named]
        if float(np.prod([float(s) for s in sizes])) >= OPEN:
            return
        keys = []
        for row in self.each:
            weight, terms, weights = 1, [], []
            for k, size in zip(reversed(self.named), reversed(sizes), strict=True):
                terms.append(row.parts[k])
                weights.append(weight)
                weight *= size
            keys.append(cp_model.LinearExpr.weighted_sum(terms, weights))
        for a, b in pairwise(keys):
            self.model.add(a <= b)

    def _block(self, block: Block) -> None:
        if isinstance(block, Partition):
            self._partition(block)
        elif isinstance(block, Choice):
            literals = []
            for alternative in block.alternatives:
                literal = self.model.new_bool_var("")
                literals.append(literal)
                for statement in alternative:
                    self._statement(statement, literal)
            self.model.add_exactly_one(literals)
        elif isinstance(block, Loose):
            for statement in block:
                self._statement(statement, None)

    def _partition(self, block: Partition) -> None:
        """Add the regions of a partition: each row is in exactly one, and counted there by its class."""
        from ortools.sat.python import cp_model

        members: list[list[Any]] = []
        earlier: list[list[Any]] = [[] for _ in range(self.n)]
        for number, box in enumerate(block.boxes):
            self.limits.charge(self.n * (IN_BOX + EARLIER_BOX * number * block.first_match))
            self.limits.check("the model row by row was built")
            found = []
            for i, row in enumerate(self.each):
                here = row.box(box)
                if block.first_match:
                    hit, here = here, row.every([here, *(~x for x in earlier[i])])
                    earlier[i].append(hit)
                found.append(here)
            members.append(found)
        for i, row in enumerate(self.each):  # an absent row is in none
            self.model.add_exactly_one([*(found[i] for found in members), *(~x for x in row.here)])
        k = self.release.domain.label
        for s in range(len(block)):
            found, label = members[int(block.region[s])], int(block.label[s])
            if label != ANY_LABEL and k is not None:
                found = [row.every([x, row.inside(k, 1 << label)]) for x, row in zip(found, self.each, strict=True)]
            self._linear(cp_model.LinearExpr.sum(found), int(block.low[s]), int(block.high[s]), None)

    def _linear(self, total: Any, low: int, high: int, literal: Any) -> None:
        """Add low <= total <= high, enforced by a literal where one is given; nothing is between low > high."""
        from ortools.sat.python import cp_model

        ends = cp_model.Domain(-OPEN if low <= -UNBOUNDED else low, OPEN if high >= UNBOUNDED else high)
        if ends.is_empty():  # CP-SAT drops a sum of nothing with an empty domain
            added = self.model.add_bool_or([])
        else:
            added = self.model.add_linear_expression_in_domain(total, ends)
        if literal is not None:
            added.only_enforce_if(literal)

    def _statement(self, s: Statement, literal: Any) -> None:
        """Add a loose statement."""
        first, *others = [self._total(one) for one in _singles(s)] or [cp_model.LinearExpr.sum([])]
        for one in others:
            first = first + one
        self._linear(first, s.low, s.high, literal)

    def _total(self, one: Summand) -> Any:
        """Return what rows add by a summand of at most one factor: by parts if it grows evenly, else by counts."""
        if not one.factors:
            rows = self.count(one.region)
            return rows if one.times == 1 else one.times * rows
        k, coefs = one.factors[0]
        steps = np.diff(coefs)
        if self.by_parts and len(steps) > 1 and (steps == steps[0]).all() and steps[0]:
            return coefs[0] * self.count(one.region) + int(steps[0]) * self.sum_of_parts(one.region, k)
        total = coefs[-1] * self.count(one.region)
        for p in np.flatnonzero(steps).tolist():
            total = total - int(steps[p]) * self.below(one.region, k, p)
        return total

    def count(self, region: Region) -> Any:
        """Return the number of rows in a region."""
        from ortools.sat.python import cp_model

        return cp_model.LinearExpr.sum([row.region(region) for row in self.each])

    def below(self, region: Region, k: int, part: int) -> Any:
        """Return the number of rows in a region whose part of attribute k is at most `part`."""
        from ortools.sat.python import cp_model

        if (region, k, part) not in self._below:
            mask = (2 << part) - 1
            literals = [row.every([row.region(region), row.inside(k, mask)]) for row in self.each]
            total = self.model.new_int_var(0, self.n, "")
            self.model.add(total == cp_model.LinearExpr.sum(literals))
            self._below[region, k, part] = total
        return self._below[region, k, part]

    def sum_of_parts(self, region: Region, k: int) -> Any:
        """Return the sum of the parts of attribute k over the rows in a region."""
        from ortools.sat.python import cp_model

        if (region, k) not in self._scaled:
            terms, maximum = [], len(self.release.domain.attributes[k].sizes) - 1
            for row in self.each:
                inside, own = row.region(region), self.model.new_int_var(0, maximum, "")
                self.model.add(own == row.parts[k]).only_enforce_if(inside)
                self.model.add(own == 0).only_enforce_if(~inside)
                terms.append(own)
            self._scaled[region, k] = cp_model.LinearExpr.sum(terms)
        return self._scaled[region, k]

    def rows(self, value: Any) -> NDArray[np.int64]:
        """Return (rows, attributes) the parts of a solution; attributes that nothing names are -1."""
        out = np.full((self.n, len(self.release.domain.attributes)), -1, dtype=np.int64)
        for i, row in enumerate(self.each):
            for k, part in row.parts.items():
                out[i, k] = value(part)
        return out

    def first(self) -> tuple[str, NDArray[np.int64] | None]:
        """Return ("found", rows), ("none", None) where there is no world, or ("unknown", None)."""
        from ortools.sat.python import cp_model

        status, solver = run(self.model, self.limits)
        if status in FOUND:
            return "found", self.rows(solver.value)
        return ("none" if status == cp_model.INFEASIBLE else "unknown"), None

    def every(self) -> Iterator[NDArray[np.int64]]:
        """Yield the parts of every dataset, each once; raises `Inconclusive` when the limits end the search."""
        yield from solutions(self.model, self.rows, self.limits)
