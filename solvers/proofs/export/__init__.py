"""A release as models and files that other solvers read: cells, rows, clauses, graphs."""

__all__ = ["formats", "integer_program", "interaction", "world_rows"]
