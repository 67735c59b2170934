"""What rows can be: attributes and their values, groups of columns, impossible boxes."""

__all__ = ["bands", "domain", "infer", "values"]
