"""Rule list learners, plain and greedy, and what they share."""
