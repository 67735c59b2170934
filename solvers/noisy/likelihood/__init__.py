"""The most likely histogram of noisy counts, and from which confidence on there is one."""

__all__ = ["maximum", "most_likely"]
