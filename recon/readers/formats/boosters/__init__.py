"""Boosted trees: the first tree exactly, later ones as far as it is proved; and forests of other libraries."""

__all__ = ["catboost_file", "catboost_model", "lightgbm", "ranger", "shared", "spark", "xgboost", "yggdrasil"]
