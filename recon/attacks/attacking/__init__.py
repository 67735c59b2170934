"""A release attacked: statistical guesses beside certificates on the same rows, correlations by what is known."""

__all__ = ["correlations", "linear", "membership", "records"]
