"""What noisy counts say: the most likely histogram, posteriors, Markov chains, draws of worlds.

The counts of a cell that noise of at most 1 leaves possible where 4 was published:

>>> import numpy as np
>>> from solvers.noisy.posteriors.convolution import CountWeights
>>> def law(counts):
...     return np.where(abs(counts - 4) <= 1, 0.0, -np.inf)
>>> cell = CountWeights(0, law, None, (0, 10))
>>> cell.low, cell.high
(3, 5)
"""

__all__ = ["likelihood", "posteriors"]
