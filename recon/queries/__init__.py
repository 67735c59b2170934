"""The questions of the contract: worlds, figures, people, bounds, noise, certificates; each asks the engines."""

__all__ = [
    "answers",
    "black_box",
    "bounds",
    "certificates",
    "inputs",
    "leaf_values",
    "located",
    "measures",
    "noisy",
    "query_answers",
    "questions",
    "tables",
    "versions",
]
