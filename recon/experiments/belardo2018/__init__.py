"""How well Bayesian rule lists drawn under differential privacy rank, how long they are, and whether chains mixed."""

__all__ = []
