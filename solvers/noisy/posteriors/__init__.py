"""What noisy counts say beyond the most likely: exact posteriors, Markov chains, draws of worlds."""
