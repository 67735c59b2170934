"""The greatest sum of concave functions of counts: relaxations, rounding, local search, proved bounds."""

__all__ = ["fractional", "local_search", "separable", "terms"]
