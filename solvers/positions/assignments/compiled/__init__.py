"""The inner loops of propagation compiled by numba (extra `fast`), with the same results as those in numpy."""
