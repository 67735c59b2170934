"""What everything stands on: errors, limits, exact whole numbers, array types, what is remembered."""
