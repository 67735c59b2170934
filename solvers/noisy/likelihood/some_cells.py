"""A system over some possible rows only, where all cells are too many to be written down.

What is found there is a dataset like any other; bounds come from elsewhere (`multipliers.proved_anywhere`). Rows
are drawn at random, then by the prices of the linear relaxation over those known so far (column generation).

Source: Gilmore and Gomory, Operations Research 9, 1961; `solvers.programs.columns.pricing` for the search for rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from solvers.cells.bit_boxes import WordLayout
from solvers.cells.linear_system import SparseStatements, propagate
from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.foundation.numeric_limits import DOUBLE
from solvers.programs.columns.pricing import Pricer
from solvers.programs.concave.fractional import relax
from solvers.programs.concave.terms import Gains
from solvers.statements.boxes import Box, Boxes
from solvers.statements.regions.row_space import Space
from solvers.statements.release import UNBOUNDED, Release

DRAWN = 2_000  # random rows at once
MAX_ROWS = 20_000  # rows in all
ROUNDS = 30
SCALE = 1 << 20  # prices are whole numbers over this
CHEAP = 1e-6

GainsOf = Callable[[CellSystem], Gains]


def some_system(release: Release, gains_of: GainsOf, limits: Limits) -> tuple[CellSystem, Gains]:
    """Return a system over some rows of a release, each a cell of its own, and its gains over all counts.

    Raises `Inconclusive` where no possible row was found. Cost: half of the time left at most.
    """
    share = limits.stage("noisy rows")
    pricer = Pricer(release, limits)
    nothing = np.zeros(pricer.incidence.total + 1, dtype=np.int64)
    rows = possible(pricer, pricer.improve(drawn(release, pricer), nothing, 0, Box(), limits=share))
    if not len(rows):
        raise Inconclusive("no possible row was found at random: give the rows' domain, or a larger --max-cells")
    system = over(release, pricer, rows)
    gains = gains_of(ranged(system))
    for turn in range(ROUNDS):
        if share.expired() or len(rows) >= MAX_ROWS:
            break
        share.report(f"rows for the noisy counts: round {turn}, {len(rows):,} rows")
        found = relax(system, gains, share.stage("noisy relaxation"))
        if found.rows is None:
            break
        weights = -np.rint(SCALE * found.worth).astype(np.int64)
        held = rows[found.rows > CHEAP]
        near = np.concatenate([drawn(release, pricer), held[:DRAWN]])
        new = possible(pricer, np.concatenate([near, pricer.improve(near, weights, 0, Box(), limits=share)]))
        new = new[pricer.worth(new, weights)[0] > CHEAP * SCALE]
        more = np.unique(np.concatenate([rows, new]), axis=0)
        if len(more) == len(rows):
            break
        rows, system = more, over(release, pricer, more)
    return system, gains


def drawn(release: Release, pricer: Pricer) -> Ints:
    """Return random rows, as the part of every attribute."""
    parts = [pricer.random.integers(len(a.sizes), size=DRAWN) for a in release.domain.attributes]
    return np.stack(parts, axis=1).astype(np.int64)


def possible(pricer: Pricer, rows: Ints) -> Ints:
    """Return the possible ones among some rows, each once."""
    rows = np.unique(rows, axis=0)
    return rows[pricer.incidence.columns(rows)[2]]


def over(release: Release, pricer: Pricer, rows: Ints) -> CellSystem:
    """Return the system over some rows."""
    statements, coefs, _ = pricer.incidence.columns(rows)
    k, total = len(rows), pricer.incidence.total
    stated = pricer.incidence.bounds
    low = np.array([-UNBOUNDED if a is None else a for a in stated[0]], dtype=np.int64)
    high = np.array([UNBOUNDED if b is None else b for b in stated[1]], dtype=np.int64)
    column = np.repeat(np.arange(k, dtype=np.int64), statements.shape[1])
    linear = SparseStatements.of(statements.reshape(-1), column, coefs.reshape(-1), (low, high), k)
    layout = WordLayout(release.domain)
    boxes = [Box(tuple((a, 1 << int(p)) for a, p in enumerate(row))) for row in rows]
    words = layout.rows(Boxes.of(boxes))
    sizes = tuple(layout.sizes(words).tolist())
    maximum = release.rows.high if release.rows.high is not None else DOUBLE
    found = propagate(linear, np.zeros(k, dtype=np.int64), np.full(k, maximum, dtype=np.int64))
    return CellSystem(
        release, Space.of(release, Limits()), layout, words, np.arange(k, dtype=np.int64),
        sizes, sizes, linear, (), found, total, False,
    )  # fmt: skip


def ranged(system: CellSystem) -> CellSystem:
    """Return the system with a cell for every statement alone, so that no count is bounded by the rows known."""
    linear, m = system.linear, len(system.linear)
    every = np.arange(m, dtype=np.int64)
    wide = SparseStatements.of(
        np.concatenate([linear.row, every]),
        np.concatenate([linear.col, linear.columns + every]),
        np.concatenate([linear.coef, np.ones(m, dtype=np.int64)]),
        (linear.low, linear.high),
        linear.columns + m,
    )
    maximum = system.release.rows.high or 0
    bounds = replace(
        system.bounds,
        lower=np.zeros(linear.columns + m, dtype=np.int64),
        upper=np.full(linear.columns + m, maximum, dtype=np.int64),
        conflict=None,
    )
    return replace(system, linear=wide, bounds=bounds)


def fits(release: Release) -> bool:
    """Return whether a release can be searched over some rows: no alternatives, rows bounded, every count of rows."""
    return not release.choices and release.rows.high is not None
