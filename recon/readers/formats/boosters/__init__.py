"""Boosted trees: the first tree exactly, later ones as far as it is proved; and forests of other libraries."""

__all__ = ["catboost_file", "catboost_model", "h2o", "lightgbm", "ranger", "shared", "spark", "xgboost", "yggdrasil"]
