"""A release in files that other solvers read."""
