"""The questions of the contract: each asks the engines and returns what users read."""

__all__ = ["labels", "line_proofs", "planning", "probabilistic", "questions", "which_columns"]
