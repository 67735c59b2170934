"""Proofs that others can check: the search for them, and releases in files that other solvers read."""

__all__ = ["certificates", "export"]
