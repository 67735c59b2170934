"""What the SaTML 2024 paper left open: equal sizes, nearly best trees, groups, attributes, wide rules, joins, noise."""

__all__ = []
