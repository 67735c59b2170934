"""From statements to cells: the row space refined, a sparse whole-number system over live cells, its components."""

__all__ = [
    "bit_boxes",
    "clauses",
    "components",
    "cutting",
    "linear_system",
    "partition_cells",
    "refinement",
    "system",
    "worlds",
]
