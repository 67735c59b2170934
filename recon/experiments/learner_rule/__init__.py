"""What knowing the learner's rule gives away beyond the counts, by depth, rows, data set and learner."""

__all__ = []
