"""Groups of people that are small, or of one class, in every possible world: found and proved, or excluded."""

__all__ = ["disclosure", "published", "smallest"]
