"""Pricing: the possible row that a set of multipliers values most, with a proved bound on every other row.

The rows that statements tell apart are far too many to write down, but one row is a small problem: one part per
attribute, one region per partition. A vectorised Gibbs search over the parts finds good rows; CP-SAT over the boxes
(`solvers.programs.columns.row_problem`) finds the best and proves that it is.

Source: column generation, Gilmore and Gomory, "A linear programming approach to the cutting-stock problem", Operations
Research 9, 1961; the one-row problem over trees: Mišić, "Optimization of tree ensembles", Operations Research 68, 2020.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.errors import EngineError, Unsupported
from solvers.foundation.limits import Limits
from solvers.foundation.native.threads import one_thread
from solvers.programs.columns.incidence import EVERYWHERE, GIBBS_BYTES, UNLIMITED, Incidence
from solvers.programs.columns.row_problem import MAX_WEIGHT, OneRow
from solvers.statements.boxes import Box
from solvers.statements.release import ANY_LABEL, Release

HEATS = (0.3, 0.1, 0.03, 0.003)  # temperatures of the sweeps, in units of the largest multiplier


@dataclass(frozen=True, eq=False)
class Priced:
    """The best row found (None: none), what it is worth, and a proved bound on the worth of every possible row."""

    row: Ints | None
    value: int
    bound: int


def within(rows: Ints, box: Box) -> NDArray[np.bool_]:
    """Return which rows a box holds."""
    out = np.ones(len(rows), dtype=bool)
    for k, mask in box.literals:
        allowed = np.array([bool(mask >> p & 1) for p in range(int(rows[:, k].max(initial=0)) + 1)])
        out &= allowed[rows[:, k]]
    return out


class Pricer:
    """Finds rows of great value: bonus [row in box] - Σ_j weights_j (how often statement j counts the row)."""

    def __init__(self, release: Release, limits: Limits = UNLIMITED) -> None:
        self.incidence = Incidence(release, limits)
        self.random = np.random.default_rng(0)
        self._models: dict[int, OneRow] = {}

    def copied(self) -> Pricer:
        """Return one that draws as this one would, and shares nothing with it that changes."""
        other = copy.copy(self)
        other.random, other._models = copy.deepcopy(self.random), {}
        return other

    def worth(self, rows: Ints, weights: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Return -Σ_j weights_j a_j(row), exactly, and which rows are possible."""
        statements, coefs, possible = self.incidence.columns(rows)
        return -(weights[statements] * coefs).sum(axis=1), possible

    def fits(self, weights: Ints) -> bool:
        """Return whether sums with these multipliers stay exact in 64 bits."""
        x = self.incidence
        maximum = sum(int(np.abs(weights[f : f + len(p)]).max(initial=0)) for p, _, f in x.partitions)
        maximum += sum(abs(int(weights[y.number])) * max(map(abs, y.statement.coefs), default=1) for y in x.loose)
        return maximum + abs(int(weights[x.total])) < MAX_WEIGHT

    def best(self, weights: Ints, bonus: int, box: Box, above: int | None, limits: Limits) -> Priced:
        """Return the best row by CP-SAT and a proved bound on the worth of every possible row.

        With `above`, the first row found to be worth more will do (the bound then may be as weak as 2^58), and a bound
        equal to it says that there is none. Raises `Unsupported` where sums may exceed 64 bits.
        """
        if not self.fits(weights) or abs(bonus) >= MAX_WEIGHT:
            raise Unsupported("multipliers of one row may exceed 2^58")
        sides: list[tuple[Box | None, bool, int]] = [(None, True, 0)]
        if bonus > 0:  # a row in the box has it; to ask for rows outside it as well would bind more than it helps
            sides = [(box, True, bonus), (None, True, 0)]
        elif bonus:
            sides = [(box, False, 0), (box, True, bonus)]
        k, found = self.incidence.release.domain.label, list[Priced]()
        labels = [ANY_LABEL]
        if k is not None and self.incidence.labelled:
            labels = list(range(len(self.incidence.release.domain.attributes[k].sizes)))
        for label, (where, inside, extra) in product(labels, sides):
            if label not in self._models:
                self._models[label] = OneRow(self.incidence, label, limits)
            minimum = None if above is None else above + 1 - extra
            row, bound = self._models[label].best(weights, where, inside, minimum, limits)
            found.append(Priced(row, self._checked(row, weights) + extra, bound + extra))
            if above is not None and row is not None:
                return Priced(row, found[-1].value, MAX_WEIGHT)
        top = max((f for f in found if f.row is not None), key=lambda f: f.value, default=Priced(None, 0, 0))
        return Priced(top.row, top.value, max(f.bound for f in found))

    def _checked(self, row: Ints | None, weights: Ints) -> int:
        """Return what a row that CP-SAT gave is worth, exactly, after making sure that it is possible."""
        if row is None:
            return 0
        value, possible = self.worth(row[None], weights)
        if not possible[0]:
            raise EngineError("CP-SAT gave a row that a statement excludes")
        return int(value[0])

    def improve(
        self, rows: Ints, weights: Ints, penalty: int, box: Box, kept: Box = EVERYWHERE, limits: Limits = UNLIMITED
    ) -> Ints:
        """Return rows near the given ones that are worth more, not all possible: Gibbs search, attribute by attribute.

        A penalty applies to rows inside the box, and stay in `kept` if they are there. Only for disjoint boxes (trees)
        and counts of boxes, where the worth adds up; else the rows as they are. Ends early, no worse, when time is up.
        """
        if len(some := self.incidence.chunks(rows, GIBBS_BYTES)) > 1:
            return np.concatenate([self.improve(part, weights, penalty, box, kept, limits) for part in some])
        terms = self._terms(weights, -penalty, box)
        if terms is None or not len(rows):
            return rows
        held, worth = terms
        rows, labels = rows.copy(), self.incidence.labels(rows)
        scale = float(np.abs(weights[:-1]).max(initial=1)) + penalty
        value = (worth / scale).astype(np.float32)[:, labels]  # (boxes, rows), which makes rows of memory to gather
        fixed = self.incidence.release.domain.label if self.incidence.labelled else None
        at = {k: np.flatnonzero(~h.all(axis=0)) for k, h in held.items()}  # the boxes that name attribute k
        out = {k: (~h[:, at[k]]).T.astype(np.int16) for k, h in held.items()}  # (at, parts): which parts they exclude
        gain = {k: h[:, at[k]].astype(np.float32) for k, h in held.items()}
        wrong = np.zeros(value.shape, dtype=np.int16)  # how many attributes keep each row out of each box
        for k in held:
            wrong[at[k]] += out[k][:, rows[:, k]]
        barred = {k: [p for p in range(len(held[k])) if not m >> p & 1] for k, m in kept.literals if k in held}
        order = [
            (temperature, k)
            for temperature in HEATS
            for k in self.random.permutation([k for k in held if k != fixed]).tolist()
        ]
        with one_thread():
            for temperature, k in order:
                if limits.expired():
                    break
                others = wrong[at[k]] - out[k][:, rows[:, k]]
                score = gain[k] @ np.where(others == 0, value[at[k]], np.float32(0))
                noise = self.random.random(score.shape, dtype=np.float32) + np.float32(1e-9)
                score -= np.log(-np.log(noise)) * np.float32(temperature)
                score[barred.get(k, [])] = -np.inf
                rows[:, k] = np.argmax(score, axis=0)
                wrong[at[k]] = others + out[k][:, rows[:, k]]
        return rows

    def _terms(self, weights: Ints, bonus: int, box: Box) -> tuple[dict[int, NDArray[np.bool_]], Floats] | None:
        """Return (attribute -> (parts, boxes), worth (boxes, labels)) where worth adds up over boxes, else None."""
        x = self.incidence
        ordered = any(p.first_match for p, _, _ in x.partitions)
        if ordered or any(y.minus or y.statement.of is not None for y in x.loose):
            return None
        worth = np.zeros((x.boxes + 1, x.release.domain.labels))
        bar = 4.0 * (float(np.abs(weights[:-1]).max(initial=1)) + abs(bonus))  # what an impossible row loses
        for (block, first, _), table in zip(x.partitions, x.tables, strict=True):
            worth[first : first + len(block.boxes)] = np.where(x.empty[table], -bar, -weights[table])
        for y in x.loose:
            worth[y.box] = -bar if x.empty[y.number] else -weights[y.number]
        worth[list(x.impossible)] = -bar
        worth[x.boxes] = bonus
        held = {k: np.concatenate([h, np.ones((len(h), 1), dtype=bool)], axis=1) for k, h in x.held.items()}
        for k, mask in box.literals if bonus else ():
            sizes = x.release.domain.attributes[k].sizes
            base = held.get(k, np.ones((len(sizes), x.boxes + 1), dtype=bool))
            base[:, x.boxes] = [bool(mask >> p & 1) for p in range(len(sizes))]
            held[k] = base
        return held, worth
