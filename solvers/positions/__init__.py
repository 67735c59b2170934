"""What is left for rows told apart, asked about: verdicts on profiles, bounds on the number of worlds, worlds."""

__all__ = ["assignments", "known_world", "midpoints", "sizes", "verdicts"]
