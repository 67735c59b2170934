"""Statistical attacks of the literature on models as black boxes: what they guess, beside what is proved."""
