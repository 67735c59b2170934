"""Stored scikit-learn models: trees, forests, boosting, pipelines around them."""

__all__ = ["boosting", "pipelines", "trees"]
