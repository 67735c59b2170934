"""What noisy counts still say: posteriors, verdicts at a confidence, consistent counts, likely worlds."""
