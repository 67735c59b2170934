"""The audit: every question an officer asks, asked once, and the true rows beside it."""

__all__ = ["auditing", "evidence", "facts", "findings", "matching", "persons", "together"]
