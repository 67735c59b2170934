"""Tables of counts as offices publish them: their layout, what hides a cell, how a table was understood."""

__all__ = ["cells", "counted", "dialects", "hierarchies", "magnitudes", "status_tables"]
