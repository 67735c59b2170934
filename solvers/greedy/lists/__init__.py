"""Rule lists that a greedy learner chose: what each level demands of a column, and the states that it leaves."""
