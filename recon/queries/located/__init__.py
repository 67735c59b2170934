"""What a release proves about the row at every position of the training file, in the values of its domain."""

__all__ = ["against_truth", "boxes", "placed_rows", "positions"]
