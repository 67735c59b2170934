"""How well correlations of training data are inferred from models: the figures of the 2021 paper, and exact bounds."""

__all__ = []
