"""What the learner's rule adds to what was released: worlds, bits, persons, by whoever knows how it was chosen."""

__all__ = ["chosen_model", "counting", "estimating", "facts", "figures", "verdicts"]
