"""Statistics that other models publish: counts of training rows over conjunctions of tests, as drafts."""

__all__ = [
    "acro_records",
    "column_figures",
    "discriminants",
    "generalised_models",
    "itemsets",
    "model_card",
    "naive_bayes",
    "regression_tables",
    "risk_sets",
    "shares",
    "survival_curves",
]
