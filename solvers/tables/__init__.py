"""Published counts of a hierarchy of areas: each top area by itself, over the coarsest cells that lose nothing.

>>> from solvers.tables.two_way import number
>>> number(rows=[2, 1], columns=[1, 2])
2
"""

__all__ = ["atoms", "distances", "replay", "solving", "two_way", "widths"]
