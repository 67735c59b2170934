"""One possible row as a CP-SAT model over the boxes of a release: the best row for given multipliers, and the proof.

Source: the one-row problem over trees: Mišić, "Optimization of tree ensembles", Operations Research 68, 2020; CP-SAT
(Google OR-Tools).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from ortools.sat.python import cp_model

from solvers.foundation.array_types import Ints
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.programs.cpsat import refuse, rounded, run
from solvers.programs.row_model import RowLiterals
from solvers.statements.boxes import Box
from solvers.statements.release import ANY_LABEL, Partition

if TYPE_CHECKING:
    from solvers.programs.columns.incidence import Incidence, Priceable

MAX_WEIGHT = 1 << 58  # what all multipliers together may weigh of one row


class OneRow(RowLiterals):
    """One possible row as a CP-SAT model: an integer per attribute, a Boolean per region; the label may be given."""

    def __init__(self, incidence: Incidence, label: int, limits: Limits) -> None:
        """Make the model; raises `Inconclusive` when time is up."""
        domain = incidence.release.domain
        super().__init__(cp_model.CpModel(), domain, range(len(domain.attributes)))
        self.incidence, self.label = incidence, max(0, label)
        if label != ANY_LABEL and domain.label is not None:
            self.model.add(self.parts[domain.label] == label)
        self.terms: list[list[tuple[int, int, Any]]] = []  # groups of which one counts: (statement, coef, literal)
        for box in incidence.release.impossible:
            self.model.add_bool_or([~x for x in self.halves(box)])
        for (block, _, _), table in zip(incidence.partitions, incidence.tables, strict=True):
            if limits.expired():
                raise Inconclusive("the time was up while the model of one row was made")
            self.terms.append(self._ordered(block, table) if block.first_match else self._covering(block, table))
        for loose in incidence.loose:
            self.terms.append(self._loose(loose))

    def _covering(self, block: Partition, table: Ints) -> list[tuple[int, int, Any]]:
        """Add disjoint boxes: exactly one holds the row; those that share a side exclude what is beyond it together."""
        out, sides = list[tuple[int, int, Any]](), dict[int, tuple[Any, list[Any]]]()
        for box, s in zip(block.boxes, table[:, self.label].tolist(), strict=True):
            if self.incidence.empty[s] or box.empty:
                continue
            leaf = self.model.new_bool_var("")
            out.append((s, 1, leaf))
            for literal in self.halves(box):
                sides.setdefault(literal.index, (literal, []))[1].append(leaf)
        self.model.add_exactly_one([leaf for _, _, leaf in out])
        for literal, leaves in sides.values():
            self.model.add_at_most_one([~literal, *leaves])
        return out

    def _ordered(self, block: Partition, table: Ints) -> list[tuple[int, int, Any]]:
        """Add a rule list: the first box that holds the row."""
        out, free = list[tuple[int, int, Any]](), self.model.new_constant(1)
        for box, s in zip(block.boxes, table[:, self.label].tolist(), strict=True):
            hit = self.every([free, *self.halves(box)])
            if self.incidence.empty[s]:
                self.model.add_bool_or([~hit])
            out.append((s, 1, hit))
            free = self.every([free, ~hit])
        self.model.add_bool_or([~free])
        return out

    def _loose(self, x: Priceable) -> list[tuple[int, int, Any]]:
        """Add a statement of its own, by groups of parts that count alike."""
        s = x.statement
        here = [*self.halves(s.region.box), *(~self.every(self.halves(b)) for b in s.region.minus)]
        groups = {1: ~0}
        if s.of is not None:
            groups = {c: sum(1 << p for p, d in enumerate(s.coefs) if c == d) for c in set(s.coefs) if c}
        out = []
        for c, mask in groups.items():
            counted = self.every([*here, *([] if s.of is None else [self.inside(s.of, mask)])])
            if self.incidence.empty[x.number]:
                self.model.add_bool_or([~counted])
            out.append((x.number, c, counted))
        return out

    def best(
        self, weights: Ints, box: Box | None, inside: bool, minimum: int | None, limits: Limits
    ) -> tuple[Ints | None, int]:
        """Return the row inside (outside) the box of greatest -Σ weights a(row) and a proved bound on that worth.

        With `minimum`, only rows worth at least so much are looked for; `minimum` - 1 as bound says that there is none.
        """
        base, partitions = -int(weights[self.incidence.total]), len(self.incidence.partitions)
        priced = [[(-int(weights[s]) * c, x) for s, c, x in group] for group in self.terms]
        bound = base + sum(max([w for w, _ in g], default=0) for g in priced[:partitions])
        bound += sum(max(0, w) for g in priced[partitions:] for w, _ in g)
        if minimum is not None and bound < minimum:
            return None, minimum - 1
        literals = [] if box is None else self.halves(box)  # made before the model is copied
        model = self.model.clone()
        if box is not None and inside:
            model.add_bool_and(literals)
        elif box is not None:
            model.add_bool_or([~x for x in literals])
        flat = [(w, x) for g in priced for w, x in g if w]
        worth = cp_model.LinearExpr.weighted_sum([x for _, x in flat], [w for w, _ in flat]) + base
        if minimum is not None:
            model.add(worth >= minimum)
        model.maximize(worth)
        seen: list[float] = []  # an UNKNOWN status comes with a bound of 0, which means nothing
        options: dict[str, Any] = {"stop_after_first_solution": minimum is not None, "best_bound_callback": seen.append}
        status, solver = run(model, limits, **options)
        refuse(model, status)
        if status == cp_model.INFEASIBLE:
            return None, -MAX_WEIGHT if minimum is None else minimum - 1
        bound = min([bound, *(rounded(b, True) for b in seen)])
        if status == cp_model.UNKNOWN:
            return None, bound if minimum is None else max(bound, minimum - 1)
        row = np.array([solver.value(x) for x in self.parts.values()], dtype=np.int64)
        return row, min(bound, rounded(solver.best_objective_bound, True))
