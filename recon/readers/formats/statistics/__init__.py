"""Statistics that other models publish: counts of training rows over conjunctions of tests, as drafts."""

__all__ = ["additive_models", "itemsets", "naive_bayes_rds"]
