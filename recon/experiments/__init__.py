"""The experiments of the papers and beyond: points run anywhere, stored one by one, drawn from what is stored."""

__all__ = ["experiment", "running"]
