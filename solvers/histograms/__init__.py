"""Exact counting over histograms: a multivalued decision diagram per component, and what it answers."""
