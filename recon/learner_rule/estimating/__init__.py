"""Estimates where no exact count under the learner's rule is made: shares at a confidence, bounds on worlds."""

__all__ = ["bounds", "estimates"]
