"""What the variables of a model mean: solutions become worlds, worlds solutions, and each solution has a weight.

What a model of a release says, in lines: whether its solutions are the worlds, and what each stands for.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from collections.abc import Mapping as ByName
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.domain.values import Continuous
from encoders.encode.encoder import EncodedRelease
from recon.readers.frames.selections import frame_ranges, whole_rows
from recon.readers.frames.world import World, between, demand_attributes, violations, wrap
from solvers.foundation.displayed import Displayed, DisplayFacts, many, quote
from solvers.foundation.errors import EngineError, ReleaseError, Unsupported
from solvers.foundation.exact import level_text
from solvers.proofs.export.integer_program import IntegerProgram
from solvers.proofs.export.world_rows import ClauseForm, ExportedRows
from solvers.statements.release import UNBOUNDED
from solvers.statements.release import RowWorld as SolverWorld

OUTER = "outer: every world is a solution, not conversely"
CONVENTIONS = {
    "ordered": "a world is a sequence of rows, label included",
    "multiset": "a world is a dataset without an order; rows are sorted by their values, label included",
    "assigned": "the leaf or rule of every row is known, as in the papers, and its label where classes are counted",
}


def title(release: EncodedRelease, to: str) -> tuple[str, ...]:
    """Return the first lines: what this is and of which release."""
    name = os.path.basename(release.file) or "a release in memory"
    text = f"recon export --to {to}: {name}, sha256 {release.sha256 or 'not known'}"
    return text, *(f"assuming: {one}" for one in release.assumptions)


def _outer(unstated: tuple[str, ...]) -> Iterator[str]:
    """Yield that solutions may be no worlds, and what was published that they need not meet."""
    yield OUTER
    yield from (f"left out: {line}" for line in unstated)


def _about_level(release: EncodedRelease) -> Iterator[str]:
    """Yield at which confidence the statements of noisy counts hold."""
    if not release.certain:
        yield f"noisy counts are taken as their joint intervals at confidence {level_text(release.confidence)}"


def about_cells(release: EncodedRelease, program: IntegerProgram, *, relaxed: bool = False) -> Iterator[str]:
    """Yield what the integer program is, what was left out of it, and where it says less than the release."""
    yield (
        f"c0..c{program.cells - 1}: the number of rows in each of {program.cells} live cells, 0 to {program.maximum}; "
        "cells on which all statements agree are one; nothing is presolved"
        if program.cells
        else "there is no live cell"
    )
    yield (
        "left out: cells that a statement of 0 rows empties, or that bound propagation over trees and rule lists "
        "empties while the cells are derived (in every solution they are 0)"
    )
    if program.left_out:
        yield f"left out: {program.left_out} statements that every histogram of {program.maximum} rows or fewer meets"
    if program.selectors:
        yield "yi_a is 1 where alternative a of choice i holds: exactly one does, and which follows from the cells"
        yield "MPS, OPB and linear programs state what an alternative says, s of the map, by big-M: as s_low and s_high"
    yield from _about_level(release)
    if program.system.coarse:
        yield (
            "coarse: statements on sums were loosened (an attribute has too many values to cut at each, coefficients "
            "have too many digits, gradients are known in intervals): every world is a solution, but a solution need "
            "not be a world; infeasible still means that there is no world"
        )
    if relaxed or program.unstated:
        yield from _outer((*(["that rows are whole numbers"] if relaxed else []), *program.unstated))
    if relaxed or program.unstated or program.system.coarse:
        return
    yield "solutions are the histograms over the cells that agree with the release, one to one"
    if not release.statements.domain.relative:
        yield (
            "a solution stands for n! prod(s_c^z_c / z_c!) ordered worlds and prod(C(s_c + z_c - 1, z_c)) multisets, "
            "s_c the raw rows of cell c in the map, z_c its number of rows, n the number of rows"
        )


def about_rows(release: EncodedRelease, rows: ExportedRows) -> Iterator[str]:
    """Yield what models row by row say."""
    if rows.bags is not None:
        yield "rows stand by their position in the training file; the multiplicities of the bags are constants"
    yield from _about_level(release)
    if rows.unstated:
        yield from _outer(rows.unstated)
    else:
        text = f"the number of solutions is the number of worlds in the convention '{rows.convention}'"
        yield f"{text} ({CONVENTIONS[rows.convention]})"
    if not release.rows.exact:
        yield "the number of rows is open: solutions of every possible number of rows are counted together"


WHOLE_TOLERANCE = 1e-5  # a value so near a whole number is that number: solvers in floating point are not nearer
Number = int | float | bool
Solution = ByName[Any, Number] | Sequence[Number]


class ModelForm(Protocol):
    """A model of a release, as a mapping needs it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the variables, in the model's order ("": an auxiliary one)."""

    @property
    def projection(self) -> tuple[str, ...]:
        """Return the names of the variables that a solution is determined by."""

    def world(self, values: Sequence[int]) -> SolverWorld:
        """Return a world of a solution."""

    def values(self, rows: NDArray[Any]) -> dict[str, int]:
        """Return the solution of rows."""

    def weights(self, values: Sequence[int]) -> dict[str, int]:
        """Return for how many worlds a solution stands, by convention."""


@dataclass(frozen=True, eq=False, repr=False)
class Mapping(Displayed):
    """The meaning of a model's variables: between solutions and worlds.

    `release` is what was modelled (with what leaf values prove), `about` what the model is, line by line, the first of
    its file too. A solution is a mapping of names to values, the sequence of all values in the model's order, or, of
    clauses, the sequence of true and false literals. `further` are variables beside those of the worlds.
    """

    release: EncodedRelease
    form: ModelForm
    about: tuple[str, ...]
    relaxed: bool = False
    further: tuple[str, ...] = ()

    @property
    def outer(self) -> tuple[str, ...]:
        """Return what the model leaves out; where that is anything, every world is a solution, not conversely."""
        left = self.form.unstated if isinstance(self.form, IntegerProgram) else self._rows.unstated
        coarse = self.release.statements.coarse
        return (
            *(["that rows are whole numbers"] if self.relaxed else []),
            *(["statements on sums are loosened: an attribute has too many values"] if coarse else []),
            *left,
        )

    @property
    def exact(self) -> bool:
        """Return whether the solutions are the possible worlds, counted by `weight`."""
        return not self.outer

    @property
    def projection(self) -> tuple[str, ...]:
        """Return the names of the variables that settle all others: the projection set of a count."""
        return self.form.projection

    @property
    def variables(self) -> tuple[str, ...]:
        """Return the names of all variables in the model's order ("": an auxiliary one)."""
        return (*self.form.names, *self.further)

    @property
    def _rows(self) -> Any:
        """Return how worlds are written row by row."""
        form: Any = self.form
        return form.rows if isinstance(form, ClauseForm) else form.worlds

    def _facts(self) -> DisplayFacts:
        claim = "solutions are the possible worlds" if self.exact else "every world is a solution, not conversely"
        pairs = [("variables that settle the others", len(self.projection))]
        line, more = f"{many(len(self.variables), 'variable')}, {claim}", "world(), solution(), weight()"
        return DisplayFacts(line, pairs, list(self.projection[:8]), notes=self.about, more=more)

    def world(self, solution: Solution) -> World:
        """Return a world that a solution stands for; by cells the one of the first raw rows, others do as well.

        Raises `ReleaseError` for unknown names, values that are not whole numbers in range, and what is not a solution.
        """
        return self._checked(self._values(solution))

    def weight(self, solution: Solution) -> dict[str, int]:
        """Return for how many worlds a solution stands, by convention; over all solutions they add up to the count.

        Raises `ReleaseError` for what is not a solution, `Unsupported` where not every solution is a world.
        """
        values = self._values(solution)
        self._checked(values)
        if not self.exact:
            raise Unsupported(f"a solution need not be a world, it has no weight; left out: {'; '.join(self.outer)}")
        return self.form.weights(values)

    def solution(self, world: World | pd.DataFrame) -> dict[str, int]:
        """Return the solution of a world or of a table with its rows: the value of every variable of `projection`.

        By cells, of alternatives too. Raises `ReleaseError` where the rows are no possible world, or leave a value
        open, and for a world of other attributes.
        """
        if isinstance(world, World):
            if world.domain.all != self.release.domain.all:
                raise ReleaseError("the world is one of another release: its attributes are others")
            rows = world.indices()
        elif isinstance(world, pd.DataFrame):
            rows = self._indices(world)
        else:
            raise ReleaseError(f"a {type(world).__name__} is not a world: give a World or a table (pandas.DataFrame)")
        known = self.release.statements.rows
        high = UNBOUNDED if known.high is None else known.high
        if not known.low <= len(rows) <= high:
            wanted = f"the release has {between(known.low, high)}"
            raise ReleaseError(f"the rows are no possible world: there are {len(rows)}, {wanted}")
        try:
            found = self.form.values(rows)
        except EngineError as error:
            raise ReleaseError(f"the rows are no possible world: {_reason(error)}") from None
        self.world(found)
        return found

    def _checked(self, values: list[int]) -> World:
        try:
            found = wrap(self.release, self.form.world(values))
        except EngineError as error:
            raise ReleaseError(f"the solution is none of this model: {_reason(error)}") from None
        if not isinstance(self.form, IntegerProgram) and (broken := violations(self.release, found.to_frame())):
            raise ReleaseError(f"the solution is none of this model: {broken[0].replace('the truth', 'the solution')}")
        return found

    def _values(self, solution: Solution) -> list[int]:
        """Return the value of every variable, in the model's order; what is not named is 0."""
        if isinstance(solution, ByName):
            return self._filled(solution, self._places())
        if isinstance(self.form, ClauseForm):
            return self._filled({abs(int(x)): int(x) > 0 for x in solution}, self._places())
        if len(solution) != len(self.variables):
            expected = f"the model {len(self.variables):,} variables"
            raise ReleaseError(f"the solution has {len(solution):,} values, {expected}")
        values = {i: x for i, x in enumerate(solution) if self.variables[i]}
        return self._filled(values, {i: i for i in values})

    def _places(self) -> dict[Any, int]:
        """Return where the variables stand, by name; clauses by number too."""
        place: dict[Any, int] = {name: i for i, name in enumerate(self.variables) if name}
        if isinstance(self.form, ClauseForm):
            place |= {key: i for i in range(len(self.form.names)) for key in (i + 1, str(i + 1))}
        return place

    def _filled(self, solution: ByName[Any, Number], place: dict[Any, int]) -> list[int]:
        out, given = [0] * len(self.form.names), set[int]()
        for name, value in solution.items():
            at = place.get(name)
            if at is None:
                raise ReleaseError(f"the solution names '{quote(str(name))}', which is not a variable of the model")
            if at < len(out):
                out[at] = _integer_value(self.variables[at] or name, value)
                given.add(at)
        if isinstance(self.form, IntegerProgram):
            if not given >= set(range(self.form.cells, len(out))):
                out[self.form.cells :] = self.form.chosen(np.array(out[: self.form.cells], dtype=np.int64))
        elif not isinstance(self.form, ClauseForm):
            names = self.form.names
            left = [name for i, name in enumerate(names) if name and i not in given]
            if left:
                raise ReleaseError(f"the solution does not say '{quote(left[0])}'")
        return out

    def _indices(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Return the raw values of a table's rows."""
        demand_attributes(self.release, frame)
        found, domain = frame_ranges(whole_rows(frame, self.release.domain), self.release.domain), self.release.domain
        columns = []
        for k, attribute in enumerate(domain.all):
            codes, ranges = found[k]
            if isinstance(attribute, Continuous) or any(len(r) != 1 or r[0][1] - r[0][0] != 1 for r in ranges):
                raise ReleaseError(f"the rows leave '{quote(attribute.name)}' open: give every value")
            columns.append([ranges[c][0][0] for c in codes.tolist()])
        big = any(abs(v) >= 1 << 62 for column in columns for v in column)
        return np.array(columns, dtype=object if big else np.int64).T.reshape(len(frame), len(domain.all))


def _integer_value(name: object, value: Number) -> int:
    if isinstance(value, int):
        rounded = int(value)
    else:
        rounded = round(value) if math.isfinite(value) and abs(value - round(value)) <= WHOLE_TOLERANCE else -1
    if rounded < 0 or rounded >= 1 << 62:
        raise ReleaseError(f"the solution gives {quote(str(name))} the value {value}, no whole number from 0 on")
    return rounded


def _reason(error: EngineError) -> str:
    """Return what an error says, without that there is no solution."""
    return str(error).removeprefix("no solution: ").removeprefix("no model: ")
