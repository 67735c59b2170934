"""Greedy learners: in how many data sets their rule chooses what it chose, column by column, with rigorous bounds."""
