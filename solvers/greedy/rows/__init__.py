"""Single rows under a greedy learner's rule: which values they can have, and how likely each is."""
