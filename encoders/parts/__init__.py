"""What the kinds of models share: cut domains, the base class, supports, statistics."""

__all__ = ["base", "statistics"]
