"""A release in files for other solvers, with the map back."""
