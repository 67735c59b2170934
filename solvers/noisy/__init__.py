"""What noisy counts say: the most likely histogram, posteriors, Markov chains, draws of worlds."""

__all__ = ["likelihood", "posteriors"]
