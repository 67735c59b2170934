"""Statistics that other models publish: counts of training rows over conjunctions of tests, as drafts."""

__all__ = ["itemsets", "naive_bayes_rds"]
