"""Noisy counts: the most likely histogram, the exact posterior, Markov chains."""
