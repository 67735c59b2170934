"""The constraint models of a release, as objects of ortools, python-sat, highspy and networkx.

`cpsat`, `cnf` and `lp` return a model and its `Mapping`, which turns solutions into worlds and worlds into solutions;
`graph` returns what the statements tie together. Of noisy counts a world is a dataset with every count inside its
interval of the joint confidence (`EncodedRelease.confidence`); the number of solutions is the number of these worlds,
not weighted by how likely the noise is, and `at_confidence` gives another set. docs/own-solver.md shows all of it with
the other solver alone.
"""

from recon.models.exporting import cnf, cpsat, graph, lp
from recon.models.mapping import Mapping

__all__ = ["Mapping", "cnf", "cpsat", "graph", "lp"]
