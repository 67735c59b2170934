"""Boosted trees: the first tree exactly, later ones as far as it is proved."""

__all__ = ["catboost_file", "catboost_model", "lightgbm", "shared", "xgboost", "yggdrasil"]
