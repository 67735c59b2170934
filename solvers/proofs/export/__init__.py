"""A release as models and files that other solvers read: cells, rows, clauses, graphs."""
