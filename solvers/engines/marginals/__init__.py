"""Figures of single attributes beside counts: sums, extremes and the values that occur, and worlds that have them."""
