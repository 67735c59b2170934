"""Stored scikit-learn models: trees, forests, boosting, pipelines around them."""
