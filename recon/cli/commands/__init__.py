"""The commands that stand in groups of their own."""
