"""What the SaTML 2024 paper left open: equal sizes, equally good trees, groups, true attributes, widths, joins, noise."""
