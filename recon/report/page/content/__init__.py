"""The parts of a report behind its first page: where it leaks, who, what would help, how it was computed, glossary."""

__all__ = ["computing", "people", "remedies"]
