"""Tables with hidden cells: what the shown ones leave of them, and which to hide so that nothing is revealed."""

__all__ = ["dominance", "intervals", "linked_cells", "patterns", "rounding", "table_lines"]
