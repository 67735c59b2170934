"""What everything rests on: errors, limits, exact whole numbers, array types, what is remembered."""

__all__ = ["array_types", "displayed", "errors", "exact", "limits", "native", "parallel", "plots", "structures"]
