"""How the worlds of a convention are written row by row: which rows stand for a world, and what each row must be.

`ordered`: every sequence of rows. `multiset`: rows in lexicographic order of their values, so that each dataset stands
for itself once. `assigned`: row i is in a leaf or rule of its own, known beforehand, as in the papers. Where the bags
of trees are known, rows stand in the order of the training file, and multiplicities are constants of theirs.

Source: Ferry et al., SaTML 2024, section III (leaves of rows known); Ferry et al., ICML 2024 (rows and bags).

A release as clauses for other solvers, a model per world of a convention, and rows back from models.

Source: `solvers.cells.clauses.lowering`; conventions row by row: `solvers.proofs.export.world_rows`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.clauses.gates import ADDER_CLAUSES, CLAUSE_BYTES, TRUE, clauses_needed, size_error
from solvers.cells.clauses.lowering import NO_PART, PRESENT, Bit, Lowered, Lowering, state_clauses
from solvers.foundation.errors import EngineError, Unsupported
from solvers.foundation.exact import multinomial_factors, product
from solvers.foundation.limits import Limits
from solvers.positions.known_world import part_of
from solvers.statements.boxes import Box, Region
from solvers.statements.questions.query import Convention
from solvers.statements.release import ANY_LABEL, UNPUBLISHED, Release, RowWorld, TreeBags
from solvers.statements.row_problem import bags_with_most

POSITIONS = "the bags are known (multiplicities), so that rows stand by position: choose the convention 'ordered'"


@dataclass(frozen=True, slots=True)
class BagStatement:
    """The weights of the rows in a region add up to `total`; `rows` are (row, weight) of those that weigh anything."""

    region: Region
    rows: tuple[tuple[int, int], ...]
    total: int
    source: str


@dataclass(frozen=True, eq=False)
class ExportedRows:
    """The rows of a release's worlds in a convention; `bags` are stated position by position (None: none are known)."""

    release: Release
    convention: Convention
    bags: TreeBags | None

    @classmethod
    def of(cls, release: Release, convention: Convention) -> ExportedRows:
        """Return the rows; raises `Unsupported` where the release does not define the convention."""
        known = bags_with_most(release.bags) if release.bags else None
        if known is not None and (not release.rows.exact or release.rows.low != known.rows):
            known = None
        if known is not None and convention != "ordered":
            raise Unsupported(POSITIONS)
        if convention == "assigned" and (release.single is None or release.single.open_counts > 1 or release.observed):
            raise Unsupported("the convention 'assigned' needs exactly one tree or rule list with exact counts")
        return cls(release, convention, known)

    @property
    def unstated(self) -> tuple[str, ...]:
        """Return what was published and is stated nowhere, so that not every solution is a world."""
        left = [bags.left_out for bags in self.release.bags if bags is not self.bags]
        return (*self.release.loosened, *(model.left_out for model in self.release.boosted), *left)

    @cached_property
    def rest(self) -> Release:
        """Return the release without the blocks that the stated bags imply."""
        implied = () if self.bags is None else self.bags.blocks
        kept = [b for b in range(len(self.release.blocks)) if b not in implied]
        observed = tuple(self.release.observed[b] for b in kept) if self.release.observed else ()
        return replace(self.release, blocks=tuple(self.release.blocks[b] for b in kept), observed=observed)

    @cached_property
    def clauses(self) -> float:
        """Return about how many clauses state the rows, infinity where their number has no end."""
        drawn = sum(len(one.rows) * max(n for _, n in one.rows).bit_length() for one in self.of_bags if one.rows)
        return clauses_needed(self.rest, raw=True) + ADDER_CLAUSES * drawn

    @cached_property
    def of_bags(self) -> tuple[BagStatement, ...]:
        """Return what the trees on known bags count, position by position."""
        out, label = [], self.release.domain.label
        for t, tree in enumerate(() if self.bags is None else self.bags.trees):
            assert self.bags is not None
            drawn = tuple((i, n) for i, n in enumerate(self.bags.times[t].tolist()) if n)
            for j, k, count in zip(tree.region.tolist(), tree.label.tolist(), tree.count.tolist(), strict=True):
                box = tree.boxes[j]
                if k != ANY_LABEL and label is not None:
                    box = box & Box(((label, 1 << k),))
                out.append(BagStatement(Region(box), drawn, count, f"{tree.kind}, {tree.names[j]}"))
            once = tuple((i, 1) for i, _ in drawn)
            for j, count in enumerate(tree.distinct.tolist()):
                if count != UNPUBLISHED:
                    name = f"{tree.kind}, {tree.names[j]}, distinct rows"
                    out.append(BagStatement(Region(tree.boxes[j]), once, count, name))
        return tuple(out)

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """Return the statement that every row is fixed to, as far as there are counts; () but for `assigned`."""
        block = self.release.single
        if self.convention != "assigned" or block is None:
            return ()
        low, high = block.low.tolist(), block.high.tolist()
        fixed = [s for s in range(len(block)) if low[s] == high[s] for _ in range(low[s])]
        most = self.release.rows.high or 0
        rest = [s for s in range(len(block)) if low[s] != high[s] for _ in range(most - len(fixed))]
        return tuple([*fixed, *rest][:most])

    def region(self, s: int) -> Region:
        """Return the region of a statement of the single partition, its label folded in."""
        assert self.release.single is not None
        return self.release.single.statement(s, self.release.domain).summands[0].region

    def arranged(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return rows (raw values) in the order that stands for their world; `EngineError` where no order does."""
        if self.convention == "multiset":
            return rows[np.array(sorted(range(len(rows)), key=lambda i: tuple(rows[i].tolist())), dtype=np.int64)]
        if self.convention == "ordered":
            return rows
        waiting: dict[int, list[int]] = {}
        for i, s in enumerate(self.leaves_of(rows)):
            waiting.setdefault(s, []).append(i)
        order = []
        for s in self.leaves[: len(rows)]:
            if not waiting.get(s):
                raise EngineError("no solution: the rows are not in the leaves that the counts say")
            order.append(waiting[s].pop(0))
        return rows[np.array(order, dtype=np.int64)]

    def leaves_of(self, rows: NDArray[Any]) -> list[int]:
        """Return the statement of the single partition that counts each row (-1: none)."""
        block, label = self.release.single, self.release.domain.label
        if block is None:
            return [-1] * len(rows)
        parts = np.array(self.parts_of(rows), dtype=np.int64).reshape(rows.shape)
        region = np.full(len(rows), -1, dtype=np.int64)
        for j, box in enumerate(block.boxes):
            hit = region < 0
            for k, mask in box.literals:
                hit &= np.array([bool(mask >> p & 1) for p in range(len(self.release.domain.attributes[k].sizes))])[
                    parts[:, k]
                ]
            region[hit] = j
        labels = 1 if label is None else len(self.release.domain.attributes[label].sizes)
        value = np.zeros(len(rows), dtype=np.int64) if label is None else parts[:, label]
        return [int(s) for s in np.where(region < 0, -1, block.by_label(labels)[region, value])]

    def weight(self, world: RowWorld) -> int:
        """Return for how many worlds of the convention a dataset without an order stands.

        `ordered`: its orders, n! over those of equal rows. `assigned`: the same leaf by leaf. `multiset`: 1. Where bags
        are known, orders are not all worlds (`solvers.positions.known_world.list_placed` says how many are).
        """
        if self.convention == "multiset":
            return 1
        leaf = self.leaves_of(world.values) if self.convention == "assigned" else [0] * len(world.values)
        times: dict[int, Counter[tuple[int, ...]]] = {}
        for row, s, n in zip(map(tuple, world.values.tolist()), leaf, world.times.tolist(), strict=True):
            times.setdefault(s, Counter())[row] += n
        return product(f for found in times.values() for f in multinomial_factors(list(found.values())))

    def parts_of(self, rows: NDArray[Any]) -> list[list[int]]:
        """Return the part of every value of rows given by their raw values."""
        attributes = self.release.domain.attributes
        return [[part_of(a, int(v)) for a, v in zip(attributes, row, strict=True)] for row in rows.tolist()]

    def broken(self, rows: NDArray[Any]) -> str:
        """Return why rows are no solution for reasons of their order or their bags; "" where they may be one."""
        if self.bags is not None and len(rows) != self.bags.rows:
            return f"it has {len(rows)} rows, the bags are of {self.bags.rows}"
        parts = self.parts_of(rows) if self.bags is not None else []
        for one in self.of_bags:
            found = sum(weight for i, weight in one.rows if one.region.holds(parts[i]))
            if found != one.total:
                return f"{one.source}: {one.total} drawn rows released, {found} in the solution"
        try:
            same = np.array_equal(self.arranged(rows), rows)
        except EngineError:
            same = False
        return "" if same else f"its rows are not in the order of the convention '{self.convention}'"


def weight_in(release: Release, convention: Convention) -> Callable[[RowWorld], int | None]:
    """Return what says for how many worlds of a convention a listed dataset stands (None: not worked out)."""
    if release.bags and convention == "ordered":
        return lambda world: world.figures.get("orders")
    rows = ExportedRows(release, convention, None)
    return rows.weight


ClauseBit = Bit  # what a variable of a row says
NOT_A_PART = NO_PART  # the part of a bit that says how far along in a part's values its row is
EXISTS = PRESENT  # the attribute of a bit that says that its row exists


@dataclass(frozen=True, eq=False)
class ClauseForm:
    """The clauses of a release in a convention: `lowered`, one model per world, and what its rows are."""

    lowered: Lowered
    rows: ExportedRows

    @classmethod
    def of(cls, release: Release, convention: Convention, limits: Limits) -> ClauseForm:
        """Return the clauses; raises `Unsupported` or `TooLarge` where they cannot be written."""
        rows = ExportedRows.of(release, convention)
        if rows.of_bags and not release.domain.relative and rows.clauses * CLAUSE_BYTES > limits.room:
            raise size_error(rows.clauses)
        made = state_clauses(rows.rest, limits, raw=True, sorted_rows=convention == "multiset")
        _fix_leaves(made, rows)
        _state_bags(made, rows)
        return cls(replace(_naming_all(made.finish()), release=release), rows)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names of the variables, x1 first."""
        return tuple(f"x{v}" for v in range(1, self.lowered.variables + 1))

    @property
    def projection(self) -> tuple[str, ...]:
        """Return the names of the variables that a model is determined by."""
        return tuple(f"x{v}" for v in self.lowered.projection())

    def world(self, values: Sequence[int]) -> RowWorld:
        """Return the rows of a model given by the value of every variable; `EngineError` where it is none."""
        found = self.lowered.decode([v for v, x in enumerate(values, 1) if x])
        if (found >= np.array([a.total for a in self.lowered.release.domain.attributes], dtype=object)).any():
            raise EngineError("no model: a row has a value beyond the last of its attribute")
        if why := self.rows.broken(found):
            raise EngineError(f"no model: {why}")
        return RowWorld(found, np.ones(len(found), dtype=np.int64))

    def values(self, rows: NDArray[Any]) -> dict[str, int]:
        """Return the variables of the projection in the model of rows given by their raw values."""
        rows, attributes = self.rows.arranged(rows), self.lowered.release.domain.attributes
        out = {}
        for bit in self.lowered.bits:
            here = bit.row < len(rows)
            if bit.attribute != PRESENT and here:
                attribute, value = attributes[bit.attribute], int(rows[bit.row, bit.attribute])
                part = part_of(attribute, value)
                place = (value - attribute.ends[part]) >> bit.offset & 1
                here = bool(place) if bit.part == NO_PART else part == bit.part
            out[f"x{bit.variable}"] = int(here)
        return out

    def weights(self, values: Sequence[int]) -> dict[str, int]:
        """Return for how many worlds a model stands: one of its convention."""
        del values
        return {self.rows.convention: 1}


def _naming_all(lowered: Lowered) -> Lowered:
    """Return clauses that name every variable of the projection: SAT solvers leave others out of their models."""
    free = dict.fromkeys(lowered.projection())
    for clause in lowered.clauses:
        for x in clause:
            free.pop(abs(x), None)
    return replace(lowered, clauses=(*lowered.clauses, *((TRUE, x) for x in free)))


def _fix_leaves(made: Lowering, rows: ExportedRows) -> None:
    """State that every row is in the leaf that is known beforehand."""
    for i, s in enumerate(rows.leaves):
        made.out.add((-made.present[i], made.region(i, rows.region(s))))


def _state_bags(made: Lowering, rows: ExportedRows) -> None:
    """State what trees on known bags count, multiplicities being weights."""
    for one in rows.of_bags:
        terms = [(made.region(i, one.region), weight) for i, weight in one.rows]
        if all(weight == 1 for _, weight in terms):
            found = made.out.counted((x for x, _ in terms), one.total, one.total)
        else:
            found = made.out.summed(terms, one.total, one.total)
        for x in found:
            made.out.add((x,))
