"""What is left for rows distinguished, asked about: verdicts on profiles, bounds on the number of worlds, worlds.

>>> from solvers.positions.known_world import log2_whole
>>> log2_whole(2**70)
70.0
"""

__all__ = ["assignments", "known_world", "midpoints", "verdicts"]
