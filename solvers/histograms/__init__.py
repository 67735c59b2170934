"""Exact counting over histograms: a multivalued decision diagram per component, and what it answers."""

__all__ = ["answering", "branches", "decision_diagram", "partition_membership", "system_membership"]
