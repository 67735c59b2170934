"""A release as clauses over bits of rows, for SAT solvers, model counters and proof checkers."""

__all__ = ["gates", "lowering", "sat"]
