"""The questions of the contract: worlds, figures, people, bounds, noise; each asks the engines and returns tables."""

__all__ = [
    "answers",
    "black_box",
    "bounds",
    "inputs",
    "leaf_values",
    "located",
    "measures",
    "noisy",
    "questions",
    "tables",
]
