"""The constraint models of a release, as objects of ortools, python-sat, highspy and networkx.

`cpsat`, `cnf` and `lp` return a model and its `Mapping`, which turns solutions into worlds and worlds into solutions;
`graph` returns what the statements tie together. docs/own-solver.md shows all of it with the other solver alone.
"""

from recon.models.constraint_models import cnf, cpsat, graph, lp
from recon.models.mapping import Mapping

__all__ = ["Mapping", "cnf", "cpsat", "graph", "lp"]
