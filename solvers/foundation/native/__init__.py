"""Native code in threads and processes of its own (it may hang, crash or take too much memory); loops compiled."""

__all__ = ["outer_bounds", "processes", "threads"]
