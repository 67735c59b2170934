"""The rows that propagation left open as a model for CP-SAT: one Boolean per row and value left, and cuts.

Of a row and an attribute there is a literal "its part lies below b" for the bounds b of the values left, or, where
masks are no runs of parts, one literal per part. What is fixed is substituted. Two constraints per row, tree and bound
carry most of the weight: of the leaves on one side of a cut and the literal that the row is on the other side at most
one.

Source: Ohrimenko, Stuckey, Codish, "Propagation via lazy clause generation", Constraints 14, 2009 (order literals);
CP-SAT (Perron, Didier, "The CP-SAT-LP solver", CP 2023), which propagates at-most-one constraints best.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np

from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import TooLarge
from solvers.foundation.limits import Limits
from solvers.positions.assignments.domains import Domains, Places
from solvers.programs.cpsat import FOUND, refuse, run, state
from solvers.statements.boxes import Box, spans
from solvers.statements.release import UNPUBLISHED

BYTES = 1_000  # that an entry of a constraint costs CP-SAT with two workers, measured
PHASE = "a model of the open rows was built"


def _negated(literal: int) -> int:
    """Return the number of a literal's negation."""
    return -literal - 1


def _nominal(domains: Domains) -> set[int]:
    """Return the attributes that need a literal per part: some mask on them is no run of parts."""
    found = set(domains.problem.sets)
    for box in domains.problem.release.impossible:
        found |= {k for k, mask in box.literals if len(spans(mask)) > 1}
    return found


class WorldModel:
    """The model: `variable[i, v]` for values of open (row, tree) pairs; `feasible` False where it is seen at once."""

    def __init__(self, domains: Domains, places: Places, limits: Limits) -> None:
        """Write the model; raises `Inconclusive` when time is up, `TooLarge` where it would not fit in memory."""
        from ortools.sat.python import cp_model

        self.domains, self.problem, self.places, self.limits = domains, domains.problem, places, limits
        self.model, self.feasible, self.entries = cp_model.CpModel(), True, 0
        self.variable: dict[tuple[int, int], int] = {}
        self.below: dict[tuple[int, int, int], int] = {}
        self.part: dict[tuple[int, int, int], int] = {}
        self.bounds: dict[tuple[int, int], set[int]] = defaultdict(set)
        self.nominal = _nominal(domains)
        for t in range(self.problem.trees):
            self.tree(t)
        self.impossible()
        self.order()

    def new(self) -> int:
        """Return the number of a new Boolean."""
        number: int = self.model.new_bool_var("").index
        return number

    def clause(self, kind: str, literals: list[int]) -> None:
        """Add `at_most_one`, `exactly_one` or `bool_or` over literals."""
        self.entries += len(literals)
        getattr(self.model.proto.constraints.add(), kind).literals.extend(literals)

    def tree(self, t: int) -> None:
        """Add the values left of a tree's open rows, where they lie, and the counts of its leaves."""
        held = self.domains.of_tree(t)
        for i in self.limits.paced(np.flatnonzero(held.sum(axis=1) > 1).tolist(), PHASE, 16):
            left = self.meeting(i, np.flatnonzero(held[i]) + int(self.problem.first[t]))
            self.feasible &= len(left) > 0
            for v in left.tolist():
                self.variable[i, v] = self.new()
            self.clause("exactly_one", [self.variable[i, v] for v in left.tolist()])
            self.cuts(i, left)
            if self.entries * BYTES > self.limits.room:
                raise TooLarge(f"a model of the open rows needs more than {self.limits.memory >> 20:,} MB (--memory)")
        self.counts(t, held)

    def meeting(self, i: int, values: Ints) -> Ints:
        """Return the values whose boxes share, in every attribute, a part with what is left of a row."""
        start, end = self.places.start[i], self.places.end[i]
        kept = ((self.problem.start[values] < end) & (self.problem.end[values] > start)).all(axis=1)
        for k, sets in self.problem.sets.items():
            kept &= (sets[values] & self.places.sets[k][i]).any(axis=1)
        found: Ints = values[kept]
        return found

    def counts(self, t: int, held: Bits) -> None:
        """Add what the leaves of a tree count, of the rows that are open there."""
        problem, times = self.problem, self.problem.times[t].astype(np.int64)
        single = held.sum(axis=1) == 1
        several = held & ~single[:, None]
        by_leaf: dict[int, tuple[list[int], int]] = {}
        for column, v in enumerate(problem.values(t)):
            rows = np.array(
                [i for i in np.flatnonzero(several[:, column]).tolist() if (i, v) in self.variable], dtype=int
            )
            variables = [self.variable[i, v] for i in rows.tolist()]
            fixed = held[:, column] & single
            weight = int(problem.weight[v]) - int(times[fixed].sum())
            self.sum(variables, times[rows].tolist(), weight, weight)
            there, ones = int(fixed.sum()), [1] * len(rows)
            self.sum(variables, ones, int(problem.low[v]) - there, int(problem.high[v]) - there)
            leaf = int(problem.region[v])
            known, before = by_leaf.get(leaf, ([], 0))
            by_leaf[leaf] = known + variables, before + there
        for leaf, (variables, there) in by_leaf.items():
            if (different := int(problem.distinct[t][leaf])) != UNPUBLISHED:
                self.sum(variables, [1] * len(variables), different - there, different - there)

    def sum(self, variables: list[int], coefs: list[int], low: int, high: int) -> None:
        """Add low <= Σ coefs x <= high."""
        if not variables:
            self.feasible &= low <= 0 <= high
        elif low > 0 or high < sum(coefs):
            self.entries += len(variables)
            state(self.model, variables, coefs, (low, high))

    def cuts(self, i: int, left: Ints) -> None:
        """Tie the values left of a row in one tree to where the row lies: at most one of what exclude each other."""
        problem, places = self.problem, self.places
        start, end = problem.start[left], problem.end[left]
        cutting = ((start > places.start[i]) | (end < places.end[i])).any(axis=0)
        for k in np.flatnonzero(cutting).tolist():
            if k in self.nominal:
                continue
            first, last = int(places.start[i, k]), int(places.end[i, k])
            found = {b for b in {*start[:, k].tolist(), *end[:, k].tolist()} if first < b < last}
            for b in sorted(found):
                literal = self.is_below(i, k, b)
                under, over = left[end[:, k] <= b].tolist(), left[start[:, k] >= b].tolist()
                for values, other in ((under, _negated(literal)), (over, literal)):
                    if values:
                        self.clause("at_most_one", [*(self.variable[i, v] for v in values), other])
        for k in self.nominal:
            self.parts(i, k, left)

    def parts(self, i: int, k: int, left: Ints) -> None:
        """Tie the values left of a row in one tree to its part of an attribute."""
        allowed = self.allowed(k, left)
        left_of_row = self.possible(i, k)
        for p in left_of_row.tolist():
            if not allowed[:, p].all():
                barred = left[~allowed[:, p]].tolist()
                self.clause("at_most_one", [*(self.variable[i, v] for v in barred), self.is_part(i, k, p)])

    def allowed(self, k: int, values: Ints) -> Bits:
        """Return (values, parts): the parts that values allow of an attribute."""
        if k in self.problem.sets:
            return self.problem.sets[k][values]
        part = np.arange(self.problem.parts[k])
        found: Bits = (part >= self.problem.start[values, k, None]) & (part < self.problem.end[values, k, None])
        return found

    def possible(self, i: int, k: int) -> Ints:
        """Return the parts that a row can have of an attribute."""
        if k in self.places.sets:
            found: Ints = np.flatnonzero(self.places.sets[k][i]).astype(np.int64)
            return found
        return np.arange(int(self.places.start[i, k]), int(self.places.end[i, k]), dtype=np.int64)

    def is_below(self, i: int, k: int, b: int) -> int:
        """Return the literal that a row's part of an attribute lies below b."""
        if (i, k, b) not in self.below:
            self.below[i, k, b] = self.new()
            self.bounds[i, k].add(b)
        return self.below[i, k, b]

    def is_part(self, i: int, k: int, p: int) -> int:
        """Return the literal that a row has a part of an attribute; exactly one of those that it can have holds."""
        if (i, k, p) not in self.part:
            several = self.possible(i, k).tolist()
            for q in several:
                self.part[i, k, q] = self.new()
            self.clause("exactly_one", [self.part[i, k, q] for q in several])
        return self.part[i, k, p]

    def order(self) -> None:
        """Say that what lies below a bound lies below the next one."""
        for (i, k), bounds in self.bounds.items():
            ordered = sorted(bounds)
            for a, b in pairwise(ordered):
                self.clause("bool_or", [_negated(self.below[i, k, a]), self.below[i, k, b]])

    def impossible(self) -> None:
        """Keep rows that are open somewhere out of impossible boxes."""
        boxes = self.problem.release.impossible
        for i in sorted({i for i, _ in self.variable}) if boxes else []:
            for box in self.limits.paced(boxes, PHASE):
                literals = self.outside(i, box)
                if literals is not None:
                    self.feasible &= bool(literals)
                    self.clause("bool_or", literals)

    def outside(self, i: int, box: Box) -> list[int] | None:
        """Return literals of which one holds exactly for rows outside a box, None where the row always is outside."""
        meeting: list[tuple[int, int, list[int]]] = []
        for k, mask in box.literals:
            parts = self.possible(i, k).tolist()
            inside = [p for p in parts if mask >> p & 1]
            if not inside:
                return None
            if len(inside) < len(parts):
                meeting.append((k, mask, parts))
        out: list[int] = []
        for k, mask, parts in meeting:
            if k in self.nominal:
                out += [self.is_part(i, k, p) for p in parts if not mask >> p & 1]
                continue
            ((a, b),) = spans(mask)
            out += [self.is_below(i, k, a)] if parts[0] < a else []
            out += [_negated(self.is_below(i, k, b))] if b <= parts[-1] else []
        return out


def solve_assignment(
    domains: Domains, places: Places, limits: Limits, seed: int
) -> tuple[dict[tuple[int, int], int] | None, bool]:
    """Return the value of every open (row, tree) that CP-SAT finds, or None and whether it found that there are none.

    Raises `Inconclusive` when time is up before the model is written, `TooLarge` where it would not fit in memory.
    """
    from ortools.sat.python import cp_model

    written = WorldModel(domains, places, limits)
    if not written.feasible:
        return None, True
    limits.report(f"one world: {len(written.variable):,} leaves of rows are open")
    status, solver = run(written.model, limits, random_seed=seed)
    refuse(written.model, status)
    if status not in FOUND:
        return None, bool(status == cp_model.INFEASIBLE)
    solution = solver.response_proto.solution
    tree = domains.problem.tree
    return {(i, int(tree[v])): v for (i, v), number in written.variable.items() if solution[number]}, False
