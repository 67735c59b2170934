"""What noisy counts still say: posteriors, verdicts at a confidence, consistent counts, likely worlds."""

__all__ = ["denoising", "likely_worlds", "posterior", "verdicts"]
