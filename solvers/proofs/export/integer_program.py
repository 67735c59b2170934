"""A release as an integer program over its live cells, for solvers that are not ours.

One integer variable per live cell, the rows in it; one constraint per statement; per choice one binary selector and
exactly one of them 1. Its solutions are the histograms that agree with the release, one to one: alternatives exclude
each other, so selectors follow from the histogram. Nothing is presolved here, so that a solver outside checks our
propagation too: every variable runs from 0 to the number of rows.

Source: docs/mathematics.md, "Cells and histograms"; indicator constraints by big-M after Williams, "Model Building in
Mathematical Programming", section 9.2.

A release as a CP-SAT model row by row, one solution per world: x[row, attribute] is the value of a row.

Every other variable is a function of these, so that the number of solutions is the number of worlds in the convention.

Source: the formulation of Ferry et al., SaTML 2024 and ICML 2024; `solvers.programs.row_model`, over values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.clauses.gates import CLAUSE_BYTES
from solvers.cells.system import CellSystem, system_of
from solvers.cells.worlds import filled_cells, list_worlds
from solvers.foundation.array_types import Ints
from solvers.foundation.displayed import escape_text
from solvers.foundation.errors import EngineError, Inconclusive, TooLarge, Unsupported
from solvers.foundation.exact import MAX_BITS, OPEN, log2_multinomial, multinomial_factors, product
from solvers.foundation.limits import Limits
from solvers.positions.known_world import part_of
from solvers.programs.cell_model import histogram_of
from solvers.programs.row_model import RowLiterals, RowModel, literals_needed
from solvers.proofs.export.world_rows import ExportedRows
from solvers.statements.boxes import RowSpace, spans
from solvers.statements.questions.query import Convention
from solvers.statements.release import Release, RowWorld

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


class _RawLiterals(RowLiterals):
    """What a row may be asked whose integers are raw values: 0 for an attribute's first, ..."""

    def __init__(self, model: cp_model.CpModel, domain: RowSpace, row: int, here: tuple[Any, ...]) -> None:
        self.row = row
        super().__init__(model, domain, range(len(domain.attributes)), here)
        for x in self.parts.values():
            for present in here:
                model.add(x == 0).only_enforce_if(~present)

    def _variable(self, k: int) -> Any:
        attribute = self.domain.attributes[k]
        return self.model.new_int_var(0, attribute.total - 1, f"x[{self.row + 1},{escape_text(attribute.name)}]")

    def _full(self, k: int) -> int:
        return sum(1 << p for p, size in enumerate(self.domain.attributes[k].sizes) if size)

    def _values(self, k: int, mask: int) -> cp_model.Domain:
        from ortools.sat.python import cp_model

        ends = self.domain.attributes[k].ends
        held = [(ends[a], ends[b] - 1) for a, b in spans(mask) if ends[a] < ends[b]]
        return cp_model.Domain.from_intervals([list(pair) for pair in held])


def row_sizes(release: Release) -> tuple[float, float]:
    """Return about how many bytes the rows of a release take, in its own order: as clauses, and as a CP-SAT model."""
    rows = ExportedRows.of(release, "ordered")
    named = range(len(release.domain.attributes))
    literals = literals_needed(rows.rest, release.rows.high or 0, named)
    return rows.clauses * CLAUSE_BYTES, float(math.prod(literals))


class RowProgram(RowModel):
    """The CP-SAT model of a release over raw values, a solution per world of its convention."""

    by_parts = False

    def __init__(self, release: Release, convention: Convention, limits: Limits) -> None:
        """Build the model. Raises `Unsupported` where rows cannot be written out, `TooLarge` before they are built."""
        from ortools.sat.python import cp_model

        if release.rows.high is None:
            raise Unsupported("the number of rows is unbounded: rows cannot be written out")
        if release.domain.relative:
            why = "its values are not numbers of a model (declare it: --domain)"
            raise Unsupported(f"a continuous attribute has no 'resolution': {why}")
        if release.coarse:
            raise Unsupported(
                "an attribute whose values are summed has too many values: they are not numbers of a model"
            )
        if any(not 0 < a.total < OPEN for a in release.domain.attributes):
            raise Unsupported("an attribute has no value, or more than 2^60: no model by rows")
        self.worlds = ExportedRows.of(release, convention)
        self.present: list[Any] = []
        super().__init__(self.worlds.rest, limits)
        for a, b in pairwise(self.present):
            self.model.add_implication(b, a)
        for i, s in enumerate(self.worlds.leaves):
            added = self.model.add_bool_or([self.each[i].region(self.worlds.region(s))])
            added.only_enforce_if(*self.each[i].here)
        for one in self.worlds.of_bags:
            literals = [self.each[i].region(one.region) for i, _ in one.rows]
            total = cp_model.LinearExpr.weighted_sum(literals, [weight for _, weight in one.rows])
            self._linear(total, one.total, one.total, None)

    def _number(self, release: Release) -> int:
        return int(release.rows.high or 0)

    def _named(self, release: Release) -> list[int]:
        return list(range(len(release.domain.attributes)))

    def _literals(self, i: int) -> RowLiterals:
        here: tuple[Any, ...] = ()
        if i >= self.release.rows.low:
            here = (self.model.new_bool_var(f"row[{i + 1}]"),)
            self.present += here
        return _RawLiterals(self.model, self.release.domain, i, here)

    def _sort(self) -> None:
        """Sort rows by their values, attribute by attribute, where datasets have no order."""
        from ortools.sat.python import cp_model

        if self.worlds.convention != "multiset":
            return
        for a, b in pairwise(self.each):
            alike = list(b.here)
            for chunk in _chunks([x.total for x in self.release.domain.attributes]):
                left, right = (cp_model.LinearExpr.weighted_sum([r.parts[k] for k, _ in chunk], [w for _, w in chunk])
                               for r in (a, b))  # fmt: skip
                self.model.add(left <= right).only_enforce_if(*alike)
                same = self.model.new_bool_var("")
                self.model.add(left == right).only_enforce_if(same)
                self.model.add(left + 1 <= right).only_enforce_if(*alike, ~same)
                for x in alike:
                    self.model.add_implication(same, x)
                alike = [same]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the variables in the model's order; auxiliary ones have none."""
        return tuple(v.name for v in self.model.proto.variables)

    @property
    def projection(self) -> tuple[str, ...]:
        """Return the names of the variables that a solution is determined by."""
        return tuple(name for name in self.names if name)

    def world(self, values: Sequence[int]) -> RowWorld:
        """Return the rows of a solution given by the value of every variable; `EngineError` where it is none."""
        kept = [row for row in self.each if all(values[x.index] for x in row.here)]
        if [row.row for row in kept] != list(range(len(kept))):  # type: ignore[attr-defined]
            raise EngineError("no solution: a row exists behind one that does not")
        found = np.array([[values[row.parts[k].index] for k in self.named] for row in kept], dtype=np.int64)
        found = found.reshape(len(kept), len(self.named))
        if why := self.worlds.broken(found):
            raise EngineError(f"no solution: {why}")
        return RowWorld(found, np.ones(len(found), dtype=np.int64))

    def values(self, rows: NDArray[Any]) -> dict[str, int]:
        """Return the variables of the projection in the solution of rows given by their raw values."""
        rows, names, out = self.worlds.arranged(rows), self.names, dict[str, int]()
        for i, row in enumerate(self.each):
            out |= {names[x.index]: int(i < len(rows)) for x in row.here}
            out |= {names[x.index]: int(rows[i, k]) if i < len(rows) else 0 for k, x in row.parts.items()}
        return out

    def weights(self, values: Sequence[int]) -> dict[str, int]:
        """Return for how many worlds a solution stands: one of its convention."""
        del values
        return {self.worlds.convention: 1}


def _chunks(totals: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Return the attributes in groups, each with (attribute, weight) of a number that orders them, below 2^60."""
    out: list[list[tuple[int, int]]] = []
    at: list[tuple[int, int]] = []
    size = 1
    for k, total in enumerate(totals):
        if at and size * total >= OPEN:
            out.append(at)
            at, size = [], 1
        at = [(j, weight * total) for j, weight in at] + [(k, 1)]
        size *= total
    return [*out, at] if at else out


STEP = 4_096  # constraints between two looks at the clock
ROWS = "rows"  # the name of the constraint on the number of rows
STATEMENT_BYTES = 100  # of a statement, whether or not it has entries
ENTRY_BYTES = 225  # of a cell in a statement, at the peak; measured, see `IntegerProgram.of`


@dataclass(frozen=True, slots=True)
class Constraint:
    """low <= Σ coefs * variables <= high in whole numbers; a side that is None is open.

    `columns` number variables, cells first. With a `selector` (a column too) it holds where that is 1. `statement`
    is the number of the statement in the system, None for the number of rows and for "exactly one alternative".
    """

    name: str
    columns: Sequence[int]
    coefs: Sequence[int]
    low: int | None
    high: int | None
    selector: int | None = None
    statement: int | None = None

    @property
    def sides(self) -> int:
        """Return how many inequalities it takes; an equality is one."""
        if self.low is not None and self.low == self.high:
            return 1
        return (self.low is not None) + (self.high is not None)


@dataclass(frozen=True, eq=False)
class IntegerProgram:
    """The integer program of a release; `system` has the cells and what the statements say."""

    system: CellSystem
    limits: Limits

    @classmethod
    def of(cls, release: Release, limits: Limits) -> IntegerProgram:
        """Return the program of a release.

        Its memory was measured as the peak of a process over what it had before, per entry and cell: 217 and 225 bytes
        at 660,000 (CP-SAT, HiGHS), 224 and 216 at 162,000, 250 at 87,000 (the example census block); below 21,000 what
        is fixed outweighs the entries, 7 MB at most. About 155 of them are the cells and their entries, which
        `solvers.cells.system.hold` and --max-cells bound before they are derived.

        Raises `Unsupported` for unbounded rows, `TooLarge` for too many cells, `Inconclusive` when time is up.
        """
        if release.rows.high is None:
            raise Unsupported("the number of rows is unbounded, so variables have no upper end: give 'rows'")
        made = cls(system_of(release, limits), limits)
        made.hold(0)
        return made

    def hold(self, more: int) -> None:
        """Refuse a program that does not fit into the memory, with so many bytes more that a format takes."""
        entries, statements = len(self.system.linear.col), len(self.system.linear)
        needed = (entries + self.cells) * ENTRY_BYTES + statements * STATEMENT_BYTES + more
        if needed > self.limits.room:
            size = f"{entries:,} entries of {statements:,} statements over {self.cells:,} cells"
            raise TooLarge(f"the integer program has {size}, {needed / (1 << 30):.2f} GB (--memory)")

    @property
    def cells(self) -> int:
        """Return the number of live cells, the columns 0..cells-1."""
        return len(self.system.sizes)

    @property
    def maximum(self) -> int:
        """Return the greatest number of rows, the upper end of every cell."""
        return int(self.system.release.rows.high or 0)

    @property
    def unstated(self) -> tuple[str, ...]:
        """Return what was published and is not in the program: with it, fewer histograms are those of worlds."""
        return self.system.release.unstated

    @cached_property
    def selectors(self) -> tuple[tuple[int, ...], ...]:
        """Return the column of the selector of every alternative, choice by choice."""
        out, at = [], self.cells
        for choice in self.system.choices:
            out.append(tuple(range(at, at + len(choice))))
            at += len(choice)
        return tuple(out)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names of the variables: c0, c1, ... and, for alternative a of choice i, yi_a."""
        chosen = (f"y{i}_{a}" for i, columns in enumerate(self.selectors) for a in range(len(columns)))
        return (*(f"c{c}" for c in range(self.cells)), *chosen)

    def upper(self, column: int) -> int:
        """Return the upper end of a variable; the lower end is 0."""
        return self.maximum if column < self.cells else 1

    @cached_property
    def reach(self) -> tuple[Ints, Ints]:
        """Return (least, most) of every statement's sum over the histograms of at most so many rows, exactly.

        A row adds at least the least and at most the greatest coefficient, and the number of rows is a constraint.
        """
        linear = self.system.linear
        minimum, maximum = np.zeros(len(linear), dtype=np.int64), np.zeros(len(linear), dtype=np.int64)
        np.minimum.at(minimum, linear.row, linear.coef)
        np.maximum.at(maximum, linear.row, linear.coef)
        return minimum * self.maximum, maximum * self.maximum

    @cached_property
    def sided(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return masks of the statements whose lower / upper bound is not implied by the number of rows.

        Of an equality both ends are kept, if one of them says anything.
        """
        linear, (minimum, maximum) = self.system.linear, self.reach
        low, high = linear.low > minimum, linear.high < maximum
        equal = (linear.low == linear.high) & (low | high)
        if self.system.total is not None:  # written apart, as the number of rows
            low[self.system.total] = high[self.system.total] = equal[self.system.total] = False
        return low | equal, high | equal

    @cached_property
    def written(self) -> Ints:
        """Return the statements that become constraints."""
        low, high = self.sided
        return np.flatnonzero(low | high).astype(np.int64)

    @property
    def left_out(self) -> int:
        """Return how many statements every histogram of at most so many rows meets; they are no constraints."""
        return len(self.system.linear) - len(self.written) - (self.system.total is not None)

    @property
    def number(self) -> int:
        """Return how many constraints there are: statements, the number of rows, one per choice."""
        return 1 + len(self.written) + len(self.selectors)

    def sources(self) -> Callable[[int], str]:
        """Return what says where a statement comes from, asked in their order; none is kept. Cost: linear."""
        every = enumerate(self.system.index.sources())
        last = -1, ""

        def source(s: int) -> str:
            nonlocal last
            while last[0] < s:
                last = next(every)
            return last[1]

        return source

    @cached_property
    def choice_sources(self) -> tuple[str, ...]:
        """Return a human-readable source of every choice."""
        return tuple(block.name for block in self.system.release.choices.values())

    def constraints(self) -> Iterator[Constraint]:
        """Yield every constraint; those of alternatives with their selectors.

        The number of rows comes first, then the statements, then exactly one alternative per choice. Raises
        `Inconclusive` when time is up.
        """
        rows = self.system.release.rows
        yield Constraint(ROWS, range(self.cells), [1] * self.cells, rows.low, self.maximum)
        linear, (lows, highs) = self.system.linear, self.sided
        columns, coefs, start = linear.col.tolist(), linear.coef.tolist(), linear.start.tolist()
        selector = self.selector_of
        for i, s in enumerate(self.written.tolist()):
            if i % STEP == 0 and self.limits.expired():
                raise Inconclusive("the time was up while the release was written for other solvers")
            low = int(linear.low[s]) if lows[s] else None
            high = int(linear.high[s]) if highs[s] else None
            span = slice(start[s], start[s + 1])
            yield Constraint(f"s{s}", columns[span], coefs[span], low, high, selector.get(s), s)
        for i, chosen in enumerate(self.selectors):
            yield Constraint(f"choice{i}", chosen, [1] * len(chosen), 1, 1)

    @cached_property
    def selector_of(self) -> dict[int, int]:
        """Return statement -> column of the selector that it hangs on."""
        pairs = zip(self.system.choices, self.selectors, strict=True)
        return {
            s: column
            for choice, columns in pairs
            for alternative, column in zip(choice, columns, strict=True)
            for s in alternative
        }

    def linear(self) -> Iterator[Constraint]:
        """Yield every constraint with selectors as variables: Σ >= low becomes Σ + (least - low) y >= least, and so on.

        `minimum` and `maximum` are what the sum can be at all (`reach`), so that a selector of 0 leaves the sum free.
        What nothing meets (low > high) becomes 0 = 1: a range of MPS has no sign.
        """
        minimum, maximum = self.reach
        for one in self.constraints():
            if one.selector is None or one.statement is None:
                never = one.low is not None and one.high is not None and one.low > one.high
                yield replace(one, columns=(), coefs=(), low=1, high=1) if never else one
                continue
            bounds, columns = (int(minimum[one.statement]), int(maximum[one.statement])), [*one.columns, one.selector]
            free = replace(one, columns=columns, selector=None)
            if one.low is not None and one.low > bounds[0]:
                coefs = [*one.coefs, bounds[0] - one.low]
                yield replace(free, name=f"{one.name}_low", coefs=coefs, low=bounds[0], high=None)
            if one.high is not None and one.high < bounds[1]:
                coefs = [*one.coefs, bounds[1] - one.high]
                yield replace(free, name=f"{one.name}_high", coefs=coefs, low=None, high=bounds[1])

    # ------------------------------------------------------------ solutions and worlds

    @property
    def projection(self) -> tuple[str, ...]:
        """Return the names of the variables that a solution is determined by: the cells."""
        return self.names[: self.cells]

    def histogram(self, values: Sequence[int]) -> Ints:
        """Return the rows per cell of a solution, `values` of all variables; `EngineError` where it is none."""
        z = np.array(values[: self.cells], dtype=np.int64)
        if not self.system.satisfied(z):
            broken = [s for s in self.system.linear.broken(z).tolist() if self.system.always[s]]
            if not broken:
                raise EngineError("no solution: of some choice not exactly one alternative holds")
            found = int(self.system.linear.sums(z)[broken[0]])
            raise EngineError(f"no solution: {self.system.figure(broken[0])} as released, {found} in the solution")
        if list(values[self.cells :]) != self.chosen(z):
            raise EngineError("no solution: the alternatives chosen are not those that the cells meet")
        return z

    def chosen(self, z: Ints) -> list[int]:
        """Return the selectors of a histogram: 1 for every alternative that holds."""
        wrong = set(self.system.linear.broken(z).tolist())
        return [int(not wrong & set(alternative)) for choice in self.system.choices for alternative in choice]

    def world(self, values: Sequence[int]) -> RowWorld:
        """Return one of the worlds that a solution stands for: the first raw row of every cell, as often as it says."""
        z = self.histogram(values)
        return next(list_worlds(self.system.release.domain, filled_cells(self.system, z)))

    def values(self, rows: NDArray[Any]) -> dict[str, int]:
        """Return the solution of rows given by their raw values; `EngineError` where they are no world."""
        domain, named = self.system.release.domain, self.system.release.mentioned()
        parts = np.full((len(rows), len(domain.attributes)), -1, dtype=np.int64)
        for k in named:
            parts[:, k] = [part_of(domain.attributes[k], int(v)) for v in rows[:, k].tolist()]
        try:
            z = histogram_of(self.system, parts)
        except EngineError:
            raise EngineError("no solution: the rows break a statement") from None
        return dict(zip(self.names, [*z.tolist(), *self.chosen(z)], strict=True))

    def weights(self, values: Sequence[int]) -> dict[str, int]:
        """Return for how many worlds a solution stands, in each convention that is defined."""
        release, z = self.system.release, self.histogram(values).tolist()
        if release.domain.relative:
            raise Unsupported("a continuous attribute has no 'resolution': there is no number of worlds")
        filled = [(size, count) for size, count in zip(self.system.sizes, z, strict=True) if count]
        counts = [count for _, count in filled]
        bits = sum(count * math.log2(size) for size, count in filled) + log2_multinomial(counts)
        if bits > MAX_BITS:
            raise Unsupported(f"a solution stands for a number of worlds with {bits:,.0f} bits: it is not written out")
        inside = math.prod(size**count for size, count in filled)
        orders = product(multinomial_factors(counts))
        several = math.prod(math.comb(size + count - 1, count) for size, count in filled)
        out = {"ordered": orders * inside, "multiset": several}
        single = release.single is not None and release.single.open_counts <= 1 and not release.observed
        return {"assigned": inside, **out} if single else out
