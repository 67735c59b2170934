"""Statistical attacks and certificates on the same releases and rows: membership, correlations, explanations, noise."""

__all__ = []
