"""Statistical attacks of the literature on models as black boxes: what they guess, beside what is proved."""

__all__ = ["attacking", "attribute_guesses", "correlation", "evaluation", "explainers", "membership"]
