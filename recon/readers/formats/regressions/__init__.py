"""Regressions and discriminant analyses: sums over columns, products and responses, from what a fit publishes."""

__all__ = ["discriminants", "generalised_models", "regression_tables"]
