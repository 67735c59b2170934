"""The audit: every question an officer asks, asked once, and the true rows beside it."""

__all__ = ["auditing", "beside", "evidence", "facts", "findings", "matching", "persons", "together"]
