"""A release as constraint programs (CP-SAT) over cells or rows, and what they answer."""
