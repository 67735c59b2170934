"""A system as a CP-SAT model over its free cells: one integer per cell, one Boolean per alternative.

Source: `solvers.programs.cpsat`; histograms over cells, Ferry et al., SaTML 2024.

All histograms of a system as branches without any freedom, where CP-SAT can list them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.components import known_presolve, simplified
from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import EngineError, Unsupported
from solvers.foundation.limits import Limits
from solvers.histograms.branches import HistogramBranch
from solvers.histograms.short_vectors import disjoint_sums
from solvers.programs.cpsat import CellVariables, refuse, rounded_bound, run, solutions


@dataclass(frozen=True, eq=False)
class SolveResult:
    """What a solve said: `bounds` on the extreme asked for (equal where proved), the best histogram, or `none`."""

    bounds: tuple[int, int]
    histogram: Ints | None
    none: bool = False
    proved: bool = False


class CellModel(CellVariables):
    """The CP-SAT model of a system; solved as often as asked, each time with another objective."""

    def __init__(self, system: CellSystem, limits: Limits | None = None) -> None:
        """Build the model; raises `Inconclusive` when time is up."""
        super().__init__(system.bounds.lower, system.bounds.upper, limits)
        self.system = system
        if all(p.matrix is not None for p in known_presolve(system, self.limits).components):
            linear = simplified(system, self.limits)
            self.statements(linear, range(len(linear)))
        else:
            self.statements(system.linear, np.flatnonzero(system.always).tolist())
        self.alternatives(system.linear, system.choices)

    def histogram(self, value: Any) -> Ints:
        """Return the histogram of a solution, checked against every statement."""
        z = self.values(value)
        if not self.system.satisfied(z):
            raise EngineError("CP-SAT gave a histogram that breaks a statement")
        return z

    def solve(self, objective: Any, greatest: bool, limits: Limits, model: Any = None) -> SolveResult:
        """Return the extreme of an expression over the free cells (None: any histogram).

        `model`: a clone of this model that says more, to be solved in its place.
        """
        from ortools.sat.python import cp_model

        model = model or self.model
        model.clear_objective()
        if objective is not None:
            (model.maximize if greatest else model.minimize)(objective)
        status, solver = run(model, limits)
        refuse(model, status)
        if status == cp_model.INFEASIBLE:
            return SolveResult((0, 0), None, none=True)
        if status == cp_model.UNKNOWN:
            return SolveResult((0, 0), None)
        z = self.histogram(solver.value)
        if objective is None:
            return SolveResult((0, 0), z, proved=True)
        value, proved = round(solver.objective_value), status == cp_model.OPTIMAL
        limit = value if proved else rounded_bound(solver.best_objective_bound, greatest)
        ends = (value, max(value, limit)) if greatest else (min(value, limit), value)
        return SolveResult(ends, z, proved=proved)

    def every(self, limits: Limits) -> Iterator[Ints]:
        """Yield every histogram once; raises `Inconclusive` after what was found when limits end the search."""
        self.model.clear_objective()  # type: ignore[no-untyped-call]
        yield from solutions(self.model, self.histogram, limits)


MAX_LISTED = 2_000
HOPELESS = 1e6 * MAX_LISTED  # histograms on average over all that the statements could say: one is hardly listed whole
MAX_FREE = 400  # free cells; with more, histograms are listed only for releases with alternatives
MAX_ROWS = 60  # rows; below, sums of values are listed row by row


def listed_histograms(system: CellSystem, limits: Limits) -> tuple[HistogramBranch, ...] | str:
    """Return one branch per histogram, () where there is none, or why they are too many to list.

    Raises `Inconclusive` when its share of the time is up, which is little where many are expected.
    """
    if not system.choices and len(system.free) > MAX_FREE:
        return f"{len(system.free):,} free cells are too many to list histograms"
    many = _expected_logarithm(system) > math.log(HOPELESS)
    own = limits.stage("listed histograms, of many" if many else "listed histograms")
    found: dict[bytes, Ints] = {}
    try:
        for z in _histograms(system, own):
            found.setdefault(z.tobytes(), z)
            if len(found) > MAX_LISTED:
                return f"more than {MAX_LISTED:,} histograms"
    except Unsupported as error:
        return str(error)
    return tuple(HistogramBranch.single(system, z) for z in found.values())


def _expected_logarithm(system: CellSystem) -> float:
    """Return the logarithm of the mean number of histograms over all that the statements could say of as many rows.

    That many stand under each of the values that a statement's sum can take (pigeonhole), whichever was published.
    Disjoint groups of cells whose rows are known, such as the labels of a known person, are filled each by itself. 0
    where alternatives or an open number of rows leave no such mean, and for counts alone, which list fast.
    """
    rows, free, linear = system.release.rows, system.free, system.linear
    if system.choices or not rows.exact or not len(free) or bool((linear.coef == 1).all()):
        return 0.0
    place = np.full(len(system.sizes), -1)
    place[free] = np.arange(len(free))
    matrix = np.zeros((len(linear), len(free)), dtype=np.int64)
    inside = place[linear.col] >= 0
    np.add.at(matrix, (linear.row[inside], place[linear.col[inside]]), linear.coef[inside])
    bounds, known = system.bounds, linear.low == linear.high
    given = linear.low - linear.sums(bounds.lower)  # of what is free
    sums = list(disjoint_sums(matrix, known & (given >= 0)))
    open_rows = rows.low - int(bounds.lower.sum())
    group, held = np.full(len(free), len(sums)), [*given[sums].tolist(), max(0, open_rows - int(given[sums].sum()))]
    for g, row in enumerate(sums):
        group[matrix[row] == 1] = g
    order = np.argsort(group, kind="stable")
    names, starts = np.unique(group[order], return_index=True)
    some = np.array(held, dtype=np.float64)[names]
    room = np.add.reduceat(np.log1p((bounds.upper - bounds.lower)[free][order].astype(np.float64)), starts)
    ways = [
        min(math.lgamma(n + k) - math.lgamma(n + 1) - math.lgamma(k), log)
        for n, k, log in zip(some.tolist(), np.bincount(group)[names].tolist(), room.tolist(), strict=True)
    ]
    ends = [better.reduceat(matrix[:, order], starts, axis=1) @ some for better in (np.minimum, np.maximum)]
    values = ends[1] - ends[0] + 1
    said = np.clip((linear.high - linear.low).astype(np.float64) + 1, 1, values)
    return float(sum(ways) - np.log(values / said).sum())


def _histograms(system: CellSystem, limits: Limits) -> Iterator[Ints]:
    """Yield every histogram; under sums of values row by row where rows have fewer values than there are cells."""
    rows = system.release.rows
    values = rows.low * len(system.release.domain.attributes)
    if rows.exact and rows.low <= MAX_ROWS and values < len(system.free) and any(system.linear.coef != 1):
        from solvers.programs.row_model import RowModel

        for found in RowModel(system.release, limits).every():
            yield histogram_of(system, found)
    else:
        yield from CellModel(system, limits).every(limits)


def histogram_of(system: CellSystem, rows: NDArray[np.int64]) -> Ints:
    """Return the histogram of rows given by their parts (-1: an attribute that no statement names)."""
    z = np.zeros(len(system.sizes), dtype=np.int64)
    layout = system.layout
    for row in rows:
        inside = np.ones(len(system.words), dtype=bool)
        for k, part in enumerate(row.tolist()):
            if part >= 0:
                word = system.words[:, layout.at[k] + part // 64]
                inside &= (word >> np.uint64(part % 64) & np.uint64(1)).astype(bool)
        z[system.cell[np.flatnonzero(inside)[:1]]] += 1
    if not system.satisfied(z):
        raise EngineError("CP-SAT gave rows that break a statement")
    return z
