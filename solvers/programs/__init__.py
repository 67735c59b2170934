"""A release as constraint programs (CP-SAT) over cells or rows, and what they answer."""

__all__ = [
    "bounded_answers",
    "cell_model",
    "columns",
    "concave",
    "cpsat",
    "dual_bounds",
    "feasibility",
    "interval",
    "linear_program",
    "local_search",
    "quickxplain",
    "row_model",
    "verdicts",
]
