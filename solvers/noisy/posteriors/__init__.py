"""What noisy counts say beyond the most likely: exact posteriors, Markov chains, draws of worlds."""

__all__ = ["markov_chain", "posterior"]
