"""Surrogates that explain a black box: global trees (TREPAN), local trees, rules and counterfactuals (LORE)."""

__all__ = ["lore", "sampling", "surrogate", "trepan"]
