"""Statistics that other models publish: counts of training rows over conjunctions of tests, as drafts."""

__all__ = [
    "acro_records",
    "additive_models",
    "column_figures",
    "column_tables",
    "itemsets",
    "model_card",
    "naive_bayes",
    "risk_sets",
    "shares",
    "survival_curves",
    "target_encoders",
]
