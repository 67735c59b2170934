"""Count the worlds of a published rule list with OR-Tools and PySAT alone: 108, or 54 without an order of rows."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from ortools.sat.python import cp_model
from pysat.solvers import Cadical153

import recon

BITS = [{"name": name, "values": [0, 1]} for name in ("a1", "a2", "a3")]
RULES = [
    {"if": {"a1": 1, "a2": 1}, "counts": [0, 2]},
    {"if": {"a3": 1}, "counts": [2, 0]},
    {"if": {}, "counts": [0, 1]},
]
DOMAIN = {"attributes": BITS, "label": {"name": "y", "values": [0, 1]}}


class Count(cp_model.CpSolverSolutionCallback):
    """Counts the solutions of a CP-SAT model."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    def on_solution_callback(self) -> None:
        """Count one more."""
        self.number += 1


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "list.json"
    path.write_text(json.dumps({"recon": 1, "domain": DOMAIN, "models": [{"kind": "rule_list", "rules": RULES}]}))
    release = recon.load(path)
for convention in ("assigned", "multiset"):
    model, _ = recon.models.cpsat(release, by="rows", convention=convention)
    solver, found = cp_model.CpSolver(), Count()
    solver.parameters.enumerate_all_solutions = True
    solver.parameters.num_workers = 1
    solver.solve(model, found)
    cnf, mapping = recon.models.cnf(release, convention)
    shown, number = {int(name[1:]) for name in mapping.projection}, 0
    with Cadical153(bootstrap_with=cnf.clauses) as sat:
        while sat.solve():
            number += 1
            sat.add_clause([-x for x in sat.get_model() if abs(x) in shown])
    print(f"{convention}: OR-Tools {found.number}, PySAT {number}, recon {recon.count(release, convention).value}")
