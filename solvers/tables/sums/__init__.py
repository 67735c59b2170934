"""Published counts as sums over what they tell apart: cells, areas, what is split off, what follows sum by sum."""
