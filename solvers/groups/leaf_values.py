"""Worlds that meet leaf values of boosted models too: a model of the cells, tied to the coordinates of a lattice.

Figures of boosted models are real linear statements on the cells. In the coordinates of a lattice that is reduced for
them (`solvers.leaf_values.worlds`) what they determine is a constant, and what is left takes small whole numbers.
Statements are rounded outwards, so that "there is none" is certain; worlds are evaluated before they are believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from solvers.cells.system import System
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import EngineError, Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.gradients.boosted import Boosted
from solvers.leaf_values.cells import figures
from solvers.leaf_values.combining import Statements
from solvers.leaf_values.lattice import MOST, unavailable
from solvers.leaf_values.worlds import NEARLY, NONE, Program
from solvers.programs.cell_model import CellModel
from solvers.programs.cpsat import state
from solvers.statements.release import UNBOUNDED, Partition

SIZE = 1 << 56  # of a coordinate times a coefficient: sums stay within 64 bits


class LeafValueModel(CellModel):
    """The CP-SAT model of a system whose worlds meet the leaf values of all its boosted models."""

    def __init__(self, system: System, limits: Limits) -> None:
        """Build the model; raises `Unsupported` where leaf values cannot be stated, `Inconclusive` when time is up."""
        super().__init__(system, limits)
        self.programs = [self.stated(boosted) for boosted in system.release.boosted]

    def stated(self, boosted: Boosted) -> Program:
        """State what a boosted model says; return the program that it is evaluated with."""
        program = Program.of(statements_of(self.system, boosted), self.limits)
        if program is None:
            raise Unsupported(NONE)
        far = [max(map(abs, ends)) for ends in program.room]
        if any(abs(v) * reach > SIZE for vector, reach in zip(program.basis, far, strict=True) for v in vector):
            raise Unsupported("what leaf values leave open takes numbers too large for a program")
        _, steps = program.written(False, self.model)
        index = [step.index for step in steps]
        for i, c in enumerate(program.free.tolist()):
            terms = [(s, -vector[i]) for s, vector in zip(index, program.basis, strict=True) if vector[i]]
            columns, coefs = [self.variables[c].index, *(s for s, _ in terms)], [1, *(v for _, v in terms)]
            state(self.model, columns, coefs, (program.point[i], program.point[i]))
        return program

    def histogram(self, value: Any) -> Ints:
        """Return the histogram of a solution, checked against every statement and figure."""
        z = super().histogram(value)
        if not all(program.meets(z) for program in self.programs):
            raise Inconclusive(NEARLY)
        return z


def statements_of(system: System, boosted: Boosted) -> Statements:
    """Return what counts and the figures of a boosted model say of the cells; raises `Unsupported` for others."""
    bounds, linear = system.bounds, system.linear
    if system.choices or bool((bounds.upper >= UNBOUNDED).any()):
        raise Unsupported("leaf values are not used together with alternatives, or an open number of rows")
    leaves, classes = leaves_of(system, boosted), classes_of(system, boosted)
    given = figures(boosted, leaves, len(linear))
    at = given.row, given.cell
    own = np.arange(len(given.cell)), classes[given.cell]
    shape = len(given), linear.columns
    middle, radius = (csr_matrix((v[own], at), shape=shape) for v in (given.middle, given.radius))
    counts = csr_matrix((linear.coef.astype(np.float64), (linear.row, linear.col)), shape=(len(linear), linear.columns))
    low, high = (
        np.where(np.abs(ends) >= UNBOUNDED, sign * np.inf, ends.astype(np.float64))
        for ends, sign in ((linear.low, -1), (linear.high, 1))
    )
    nothing = csr_matrix(counts.shape)
    return Statements(
        vstack([counts, middle]).tocsr(), vstack([nothing, radius]).tocsr(), np.concatenate([low, given.low]),
        np.concatenate([high, given.high]), np.arange(len(linear) + len(given), dtype=np.int64),
        np.arange(linear.columns, dtype=np.int64), bounds.lower, bounds.upper,
    )  # fmt: skip


def leaves_of(system: System, boosted: Boosted) -> Ints:
    """Return the leaf of every cell in every tree (cells, trees)."""
    linear, index = system.linear, system.index
    out = np.full((linear.columns, len(boosted.trees)), -1, dtype=np.int64)
    for t, b in enumerate(boosted.blocks):
        block = system.release.blocks[b]
        assert isinstance(block, Partition)
        span = slice(int(linear.start[index.first[b]]), int(linear.start[index.first[b + 1]]))
        out[linear.col[span], t] = block.region[linear.row[span] - index.first[b]]
    if (out < 0).any():
        raise Unsupported("a cell is in no leaf of a tree")
    return out


def classes_of(system: System, boosted: Boosted) -> Ints:
    """Return the class of every cell; raises `Unsupported` where one can hold several, or none of the model's."""
    release = system.release
    k = release.domain.label
    if k is None:
        raise Unsupported("the domain has no label")
    number = {1 << label: i for i, label in enumerate(boosted.labels)}
    out = np.full(len(system.sizes), -1, dtype=np.int64)
    masks = np.zeros(len(system.sizes), dtype=np.int64)
    held = system.layout.parts_of(system.words[:, system.layout.span(k)], k)
    for c, parts in zip(system.cell.tolist(), held, strict=True):
        masks[c] |= sum(1 << p for p, one in enumerate(parts) if one)
    for c, mask in enumerate(masks.tolist()):
        out[c] = number.get(mask, -1)
    if ((out < 0) & (system.bounds.upper > 0)).any():
        raise Unsupported("a cell can hold rows of several classes")
    return np.maximum(out, 0)


@dataclass(slots=True)
class KnownModel:
    """The model of the worlds of a system, and whether what meets it is a world."""

    model: CellModel | None = None
    whole: bool = False


def world_model(system: System, limits: Limits) -> tuple[CellModel, bool]:
    """Return a model of the worlds of a system, and whether all that was published is in it. Remembered.

    Leaf values are left out where they cannot be stated: with more than `MOST` open cells, or without python-flint.
    """
    known, release = system.derived.part(KnownModel), system.release
    if known.model is not None:
        return known.model, known.whole
    labelled = all(one.labels for one in release.boosted)
    if release.boosted and labelled and len(system.free) <= MOST and not unavailable():
        try:
            known.model = LeafValueModel(system, limits)
        except (Unsupported, EngineError):
            known.model = None
    used = known.model is not None or not release.boosted
    known.whole = used and not release.loosened and not release.bags and not release.coarse
    if known.model is None:
        known.model = CellModel(system, limits)
    return known.model, known.whole
